/* SPDX-License-Identifier: MIT */
#include "host.h"

#include <dirent.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/os.h"
#include "clock.h"
#include "sources.h"
#include "trace/file.h"

struct tp_agent tp_agent;

/* The sources of the agent, doing nothing. */
#define TP_SOURCE(NAME, name, fallback, help) const struct tp_source tp_source_##name;
#include "sources.def"
#undef TP_SOURCE

bool tp_agent_here(void)
{
    return tp_agent.live && tp_agent.live->pid == tp_os_pid();
}

bool tp_recording(void)
{
    return tp_agent.live && atomic_load(&tp_agent.live->state) < TP_ENDED;
}

bool tp_agent_arm(void)
{
    struct tp_live *live = tp_agent.live;
    uint32_t state = atomic_load(&live->state);

    if (state == TP_ARMED || state == TP_LIVE)
        return true;
    if (state != TP_ASLEEP || !atomic_compare_exchange_strong(&live->state, &state, TP_ARMING))
        return false;
    int error = tp_recording_open(live);
    if (!error)
        error = tp_recording_open_names(live);
    if (!error)
        error = tp_drain_open(live);
    ck_assert_int_eq(error, 0);
    atomic_store(&live->state, TP_ARMED);
    return true;
}

void tp_agent_go_live(void)
{
}

void tp_agent_go_live_if_busy(void)
{
}

void host_begin(void)
{
    char *environment[] = {NULL};

    memset(&tp_agent, 0, sizeof(tp_agent));
    memset(&tp_tls, 0, sizeof(tp_tls));
    tp_config_read(&tp_agent.config, environment);
    strcpy(tp_agent.host, "host");
    strcpy(tp_agent.run_dir, "/tmp/tpagent-unit-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(tp_agent.run_dir));
    tp_clock_choose();
    tp_agent.live = tp_os_map(sizeof(*tp_agent.live));
    ck_assert_ptr_nonnull(tp_agent.live);
}

void host_live(void)
{
    ck_assert(tp_agent_arm());
    ck_assert_int_eq(tp_drain_start(tp_agent.live, pthread_create), 0);
}

static int remove_one(const char *path, const struct stat *stat, int flag, struct FTW *walk)
{
    (void)stat;
    (void)flag;
    (void)walk;
    return remove(path);
}

void host_end_keep(void)
{
    if (atomic_load(&tp_agent.live->state) >= TP_ARMED &&
        atomic_load(&tp_agent.live->state) < TP_ENDED)
        ck_assert(tp_drain_end(tp_agent.live, "exit", 10000000000u));
}

void host_end(void)
{
    host_end_keep();
    nftw(tp_agent.run_dir, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

char *host_read(const char *name, size_t *ret_size)
{
    char path[2048];
    struct stat stat;

    snprintf(path, sizeof(path), "%s/%s", tp_agent.live->dir, name);
    int fd = open(path, O_RDONLY);
    if (fd < 0)
        return NULL;
    ck_assert_int_eq(fstat(fd, &stat), 0);
    char *bytes = malloc((size_t)stat.st_size + 1);
    ck_assert_int_eq(read(fd, bytes, (size_t)stat.st_size), stat.st_size);
    bytes[stat.st_size] = '\0';
    *ret_size = (size_t)stat.st_size;
    close(fd);
    return bytes;
}

static void collect_segment(const char *name, uint32_t track, uint64_t **slots, uint64_t *next,
                            uint64_t *count)
{
    struct tp_diag diag = {0};
    struct tp_file_header header;
    struct tp_block_header block_header;
    struct tp_file_walk walk;
    struct tp_block block;
    uint64_t offset;
    size_t size;
    char *bytes = host_read(name, &size);

    if (!bytes)
        return;
    struct tp_block_decoder *decoder = tp_block_decoder_create();
    ck_assert_int_eq(tp_file_header_read(&header, bytes, size, TP_FILE_MAGIC, &diag), 0);
    tp_file_walk_init(&walk, bytes, size, &header);
    while (tp_file_walk_next(&walk, &block_header, &offset, &diag) == 1) {
        if (block_header.type != TP_BLOCK_EVENTS || block_header.track != track)
            continue;
        ck_assert_msg(
            !tp_block_decode(decoder, bytes + offset, size - offset, offset, &block, &diag), "%s",
            diag.text);
        if (*next == UINT64_MAX)
            *next = block.header.first_slot;
        ck_assert_uint_eq(block.header.first_slot, *next);
        *next += block.header.slots;
        *slots = realloc(*slots, (*count + block.slot_count) * TP_SLOT_BYTES);
        memcpy(*slots + *count * TP_SLOT_WORDS, block.slots,
               block.slot_count * (size_t)TP_SLOT_BYTES);
        *count += block.slot_count;
    }
    tp_block_decoder_destroy(decoder);
    free(bytes);
}

uint64_t *host_collect(uint32_t track, uint64_t from, uint64_t *ret_count)
{
    uint64_t *slots = NULL, next = from;
    char name[16];

    *ret_count = 0;
    for (unsigned number = 1; number < 1000; number++) {
        snprintf(name, sizeof(name), "%06u.tpt", number);
        collect_segment(name, track, &slots, &next, ret_count);
    }
    return slots;
}

int host_run(TCase *tests, const char *name)
{
    Suite *suite = suite_create(name);

    tcase_set_timeout(tests, 240);
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
