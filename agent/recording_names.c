/* SPDX-License-Identifier: MIT */
/* names.tpn, the file of a recording's names, and the memory that goes with it. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "base/error.h"
#include "base/os.h"
#include "base/text.h"
#include "losses.h"
#include "recording.h"
#include "trace/file.h"

#define NAMES_FIRST (128u << 10) /* most processes have fewer; then twice as much each time, */
#define NAMES_STEP (1u << 20)    /* but no larger step than that */
#define EXTENDING_TURNS 50       /* for somebody else who makes the file larger */
#define EXTENDING_TURN_NS 20000u
#define STRAGGLERS (8u << 10) /* bytes that names find which are made while the file is closed */
#define ROOM_TO_SPARE (UINT64_C(64) << 20)
#define NAMES_RETRY_NS 1000000000u /* after a refusal by the disk */
#define FILE_MODE 0600u            /* nobody else is to read it */

static void put_names_path(const struct tp_live *live, char path[TP_PATH_MAX + 16])
{
    struct tp_text text;

    tp_text_init(&text, path, TP_PATH_MAX + 16);
    tp_text_format(&text, "%s/names.tpn", live->dir);
}

static int open_names_file(const struct tp_live *live, int flags)
{
    char path[TP_PATH_MAX + 16];

    put_names_path(live, path);
    return tp_os_open(TP_OS_NO_DIR, path, flags | O_NOFOLLOW, FILE_MODE);
}

static const uint64_t table_bytes = TP_NAME_TABLE * sizeof(uint64_t);
static const uint64_t cache_bytes =
    (uint64_t)TP_THREADS_MAX * TP_NAME_CACHE * sizeof(struct tp_name_cache);

void tp_recording_unmap_names(struct tp_live *live)
{
    char path[TP_PATH_MAX + 16];

    tp_os_unmap(live->names.map, TP_NAMES_FILE_LIMIT);
    tp_os_unmap((void *)live->names.table, table_bytes);
    tp_os_unmap(live->name_caches, cache_bytes);
    live->names.map = NULL;
    live->names.table = NULL;
    live->name_caches = NULL;
    put_names_path(live, path);
    tp_os_unlink(TP_OS_NO_DIR, path, false);
}

int tp_recording_open_names(struct tp_live *live)
{
    uint8_t header[TP_FILE_HEADER_BYTES];
    char path[TP_PATH_MAX + 16];
    int fd = open_names_file(live, O_RDWR | O_CREAT | O_EXCL);

    put_names_path(live, path);
    tp_recording_fail_at(path, fd);
    if (fd < 0)
        return fd;
    int error = tp_os_allocate(fd, 0, NAMES_FIRST);
    live->names.map = error ? NULL : tp_os_map_file(fd, TP_NAMES_FILE_LIMIT, false);
    tp_os_close(fd);
    live->names.table = tp_os_map(table_bytes);
    live->name_caches = tp_os_map(cache_bytes);
    if (!live->names.map || !live->names.table || !live->name_caches) {
        tp_recording_unmap_names(live);
        return error ? error : -ENOMEM;
    }
    tp_os_dont_fork(live->names.map, TP_NAMES_FILE_LIMIT);
    tp_os_dont_fork((void *)live->names.table, table_bytes);
    tp_os_dont_fork(live->name_caches, cache_bytes);
    tp_names_header_write(header, live->uuid);
    memcpy(live->names.map, header, sizeof(header));
    atomic_store(&live->names.next_id, TP_NAME_FIRST);
    atomic_store(&live->names.used, TP_NAMES_HEADER_BYTES);
    atomic_store(&live->names.allocated, NAMES_FIRST);
    return 0;
}

int tp_recording_extend_names(struct tp_live *live, uint64_t need)
{
    uint64_t allocated = atomic_load(&live->names.allocated);
    uint64_t step = allocated < NAMES_STEP ? allocated : NAMES_STEP;
    _Atomic uint32_t never = 0;
    int error = 0;

    if (!allocated || allocated + step > TP_NAMES_FILE_LIMIT)
        return -TP_ELIMIT;
    uint64_t retry_ns = atomic_load(&live->names.retry_ns);
    if (retry_ns && tp_os_monotonic_ns() < retry_ns)
        return -EAGAIN;
    for (int i = 0; atomic_exchange(&live->names.extending, 1); i++) {
        if (atomic_load(&live->names.used) + need <= atomic_load(&live->names.allocated))
            return 0;
        if (i == EXTENDING_TURNS)
            return -EAGAIN;
        tp_os_wait(&never, 0, EXTENDING_TURN_NS);
    }
    if (atomic_load(&live->names.allocated) == allocated) {
        int fd = open_names_file(live, O_RDWR);
        error = fd < 0 ? fd : tp_os_allocate(fd, allocated, step);
        if (fd >= 0)
            tp_os_close(fd);
        if (!error)
            atomic_store(&live->names.allocated, allocated + step);
        atomic_store(&live->names.retry_ns, error ? tp_os_monotonic_ns() + NAMES_RETRY_NS : 0);
    }
    atomic_store(&live->names.extending, 0);
    return error;
}

/*
 * What is not written is given back to the disk, and reads as zeros; the file keeps its size. A
 * store that comes all the same takes a block again, so this is done only where the disk has some.
 */
static void give_back_blocks(const struct tp_live *live, int fd, uint64_t from, uint64_t to)
{
    uint64_t free_bytes, all_bytes;

    if (tp_os_free_space(fd, &free_bytes, &all_bytes) || free_bytes < ROOM_TO_SPARE)
        return;
    tp_os_give_back(fd, from, to - from);
    if (!atomic_load(&live->memory_rings))
        tp_os_give_back(fd, 4096, TP_NAMES_HEADER_BYTES - 4096);
}

void tp_recording_close_names(struct tp_live *live)
{
    atomic_store(&live->names.allocated, 0); /* no more claims, no more steps */
    if (!live->names.map)
        return;
    /* A thread that looked just before may still claim one name: that much room stays. */
    uint64_t used = (atomic_load(&live->names.used) + 4095) & ~UINT64_C(4095);
    uint64_t keep = used + TP_NAME_LENGTH_LIMIT + 4096;
    int fd = open_names_file(live, O_RDWR);
    struct tp_os_stat stat;
    if (fd < 0)
        return;
    if (!tp_os_stat(fd, &stat)) {
        bool cut = stat.size > keep && !tp_os_truncate(fd, keep);
        live->names.final_bytes = cut ? keep : stat.size;
        if (cut)
            give_back_blocks(live, fd, used + STRAGGLERS, keep);
    }
    tp_os_close(fd);
}
