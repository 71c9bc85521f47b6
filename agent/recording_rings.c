/* SPDX-License-Identifier: MIT */
/* The rings of a recording: files that are real before they are used, and memory for what finds no
 * room in files. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "base/error.h"
#include "base/os.h"
#include "base/text.h"
#include "losses.h"
#include "recording.h"
#include "trace/file.h"

#define SMALL_SLOTS (2u << 10)
#define FILE_MODE 0600u /* nobody else is to read it */

static uint64_t ring_bytes(uint32_t slot_count)
{
    return TP_RING_HEADER_BYTES + (uint64_t)slot_count * TP_SLOT_BYTES;
}

static void put_ring_path(struct tp_text *text, const struct tp_live *live, int dir,
                          uint32_t number, const char *end)
{
    if (dir == TP_OS_NO_DIR)
        tp_text_format(text, "%s/", live->ring_dir);
    tp_text_format(text, "%u.tpr%s", number, end);
}

/* A ring file made real under another name, then renamed: who sees the name sees a whole ring. */
static int make_ring_file(struct tp_live *live, int dir, struct tp_ring_entry *e,
                          uint32_t slot_count)
{
    char path[TP_PATH_MAX + 32], making[TP_PATH_MAX + 32];
    struct tp_text text;
    uint64_t bytes = ring_bytes(slot_count);

    tp_text_init(&text, path, sizeof(path));
    put_ring_path(&text, live, dir, e->number, "");
    tp_text_init(&text, making, sizeof(making));
    put_ring_path(&text, live, dir, e->number, ".new");
    int fd = tp_os_open(dir, making, O_RDWR | O_CREAT | O_EXCL, FILE_MODE);
    if (fd < 0)
        return fd;
    int error = tp_os_allocate(fd, 0, bytes);
    e->header = error ? NULL : tp_os_map_file(fd, bytes, true);
    tp_os_close(fd);
    if (!e->header) {
        tp_os_unlink(dir, making, false);
        return error ? error : -ENOMEM;
    }
    tp_ring_header_init(e->header, live->uuid, live->pid, e->number, slot_count);
    error = tp_os_rename(dir, making, path);
    if (error) {
        tp_os_unmap(e->header, bytes);
        e->header = NULL;
        tp_os_unlink(dir, making, false);
    }
    return error;
}

static struct tp_ring_entry *claim_entry(struct tp_live *live)
{
    uint32_t count = atomic_load(&live->ring_count);

    for (uint32_t i = 0; i < TP_RINGS_MAX; i++) {
        uint32_t none = TP_RING_NONE;
        if (!atomic_compare_exchange_strong(&live->rings[i].state, &none, TP_RING_MAKING))
            continue;
        while (count < i + 1 && !atomic_compare_exchange_weak(&live->ring_count, &count, i + 1))
            ;
        return &live->rings[i];
    }
    return NULL;
}

/*
 * A quarter of the room for rings is kept for small ones, so that threads that come late get one,
 * too.
 */
uint32_t tp_recording_ring_fits(struct tp_live *live, uint32_t slot_count)
{
    uint64_t total = tp_agent.config.ring_total, used = atomic_load(&live->ring_bytes);

    for (; slot_count >= TP_RING_SLOTS_MIN; slot_count /= 4)
        if (used + ring_bytes(slot_count) <= (slot_count > SMALL_SLOTS ? total / 4 * 3 : total))
            return slot_count;
    return 0;
}

static uint32_t reserve_room(struct tp_live *live, uint32_t slot_count)
{
    uint64_t used = atomic_load(&live->ring_bytes);

    for (;;) {
        slot_count = tp_recording_ring_fits(live, slot_count);
        if (!slot_count ||
            atomic_compare_exchange_strong(&live->ring_bytes, &used, used + ring_bytes(slot_count)))
            return slot_count;
    }
}

static void give_room(struct tp_live *live, uint32_t slot_count)
{
    if (slot_count)
        atomic_fetch_sub(&live->ring_bytes, ring_bytes(slot_count));
}

static void finish_ring(struct tp_ring_entry *e, uint32_t slot_count)
{
    e->slots = (uint64_t *)((char *)e->map + TP_RING_HEADER_BYTES);
    e->slot_count = slot_count;
    e->map_bytes = ring_bytes(slot_count);
    tp_os_dont_fork(e->map, e->map_bytes);
}

int tp_recording_make_ring(struct tp_live *live, int dir, uint32_t slot_count, uint32_t least)
{
    int error;

    slot_count = reserve_room(live, slot_count);
    struct tp_ring_entry *e = slot_count >= least ? claim_entry(live) : NULL;
    if (!e) {
        give_room(live, slot_count);
        return -TP_ELIMIT;
    }
    uint32_t reserved = slot_count;
    e->number = 1 + atomic_fetch_add(&live->next_ring, 1);
    while ((error = make_ring_file(live, dir, e, slot_count)) && slot_count / 4 >= least)
        slot_count /= 4;
    if (error) {
        atomic_store(&e->state, TP_RING_NONE);
        give_room(live, reserved);
        return error;
    }
    e->map = e->header;
    finish_ring(e, slot_count);
    atomic_fetch_sub(&live->ring_bytes, ring_bytes(reserved) - e->map_bytes);
    return (int)(e - live->rings);
}

/* A place for the header of a ring in memory. */
static struct tp_ring_header *claim_header(struct tp_live *live)
{
    for (uint32_t i = 0; live->names.map && i < TP_MEMORY_RINGS_MAX; i++) {
        uint64_t bit = UINT64_C(1) << i;
        if (!(atomic_fetch_or(&live->memory_headers, bit) & bit))
            return (struct tp_ring_header *)(void *)(live->names.map + TP_MEMORY_RINGS_AT +
                                                     (uint64_t)i * TP_MEMORY_RING_BYTES);
    }
    return NULL;
}

static void give_header(struct tp_live *live, struct tp_ring_header *header)
{
    uint64_t offset = (uint64_t)((char *)header - live->names.map) - TP_MEMORY_RINGS_AT;

    atomic_fetch_and(&live->memory_headers, ~(UINT64_C(1) << offset / TP_MEMORY_RING_BYTES));
}

int tp_recording_make_memory_ring(struct tp_live *live, uint32_t slot_count)
{
    slot_count = reserve_room(live, slot_count < SMALL_SLOTS ? slot_count : SMALL_SLOTS);
    struct tp_ring_header *header = slot_count ? claim_header(live) : NULL;
    struct tp_ring_entry *e = header ? claim_entry(live) : NULL;

    if (e)
        e->map = tp_os_map(ring_bytes(slot_count));
    if (!e || !e->map) {
        if (e)
            atomic_store(&e->state, TP_RING_NONE);
        if (header)
            give_header(live, header);
        give_room(live, slot_count);
        return e ? -ENOMEM : -TP_ELIMIT;
    }
    tp_ring_header_init(header, live->uuid, live->pid, 0, slot_count);
    e->header = header;
    e->number = 0;
    finish_ring(e, slot_count);
    atomic_fetch_add(&live->memory_rings, 1);
    return (int)(e - live->rings);
}

/* The first places of the stock take any ring, so that the others hold little memory. */
static _Atomic uint32_t *free_place(struct tp_live *live, uint32_t slot_count)
{
    for (unsigned i = slot_count > SMALL_SLOTS ? 0 : TP_STOCK_MADE;
         i < (slot_count > SMALL_SLOTS ? TP_STOCK_MADE : TP_STOCK); i++)
        if (!atomic_load(&live->stock[i]))
            return &live->stock[i];
    return NULL;
}

bool tp_recording_recycle_ring(struct tp_live *live, uint32_t entry)
{
    struct tp_ring_entry *e = &live->rings[entry];
    _Atomic uint32_t *place = e->number ? free_place(live, e->slot_count) : NULL;
    struct tp_ring_entry kept = {.number = e->number,
                                 .header = e->header,
                                 .slots = e->slots,
                                 .map = e->map,
                                 .map_bytes = e->map_bytes,
                                 .slot_count = e->slot_count,
                                 .open = e->open,
                                 .open_room = e->open_room};

    if (!place)
        return false;
    tp_ring_unclaim(e->header);
    memcpy((char *)e + sizeof(e->state), (char *)&kept + sizeof(e->state),
           sizeof(*e) - sizeof(e->state));
    atomic_store_explicit(&e->state, TP_RING_STOCK, memory_order_relaxed);
    atomic_store_explicit(place, entry + 1, memory_order_release);
    return true;
}

void tp_recording_drop_ring(struct tp_live *live, int dir, uint32_t entry)
{
    struct tp_ring_entry *e = &live->rings[entry];
    char path[TP_PATH_MAX + 32];
    struct tp_text text;

    if (e->number) {
        tp_text_init(&text, path, sizeof(path));
        put_ring_path(&text, live, dir, e->number, "");
        tp_os_unlink(dir, path, false);
    } else {
        tp_ring_unclaim(e->header);
        give_header(live, e->header);
    }
    tp_os_unmap(e->map, e->map_bytes);
    if (e->open)
        tp_os_unmap(e->open, (uint64_t)e->open_room * 2 * TP_SLOT_BYTES);
    atomic_fetch_sub(&live->ring_bytes, e->map_bytes);
    memset((char *)e + sizeof(e->state), 0, sizeof(*e) - sizeof(e->state));
    atomic_store_explicit(&e->state, TP_RING_NONE, memory_order_release);
}
