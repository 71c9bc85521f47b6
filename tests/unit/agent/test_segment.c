/* SPDX-License-Identifier: MIT */
#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "host.h"
#include "segment.h"

static uint64_t noise = 88172645463325252u;

/* Marks whose payload does not compress: about 16 bytes of disk each. */
static void write_noise(int records)
{
    for (int i = 0; i < records; i++) {
        noise ^= noise << 13;
        noise ^= noise >> 7;
        noise ^= noise << 17;
        const struct tp_record mark = {.kind = TP_EVENT_MARK,
                                       .role = TP_ROLE_POINT,
                                       .slots = 2,
                                       .argument = 22,
                                       .words = {0, 0, noise, 0}};
        tp_record_write(&mark);
        tp_record_begin(TP_EVENT_NVTX_PUSH, TP_CLASS_NVTX, 21); /* where an armed process drains */
        tp_record_end(TP_EVENT_NVTX_POP, TP_CLASS_NVTX);
    }
}

static uint64_t bytes_on_disk(unsigned *ret_lowest)
{
    uint64_t total = 0;
    char path[2048];
    struct stat stat_;

    *ret_lowest = 0;
    for (unsigned number = 1; number < 2000; number++) {
        snprintf(path, sizeof(path), "%s/%06u.tpt", tp_agent.live->dir, number);
        if (stat(path, &stat_))
            continue;
        if (!*ret_lowest)
            *ret_lowest = number;
        total += (uint64_t)stat_.st_size;
    }
    return total;
}

static unsigned count_lines(const char *word)
{
    size_t size;
    unsigned count = 0;
    char *meta = host_read("meta.jsonl", &size);

    for (char *p = meta; (p = strstr(p, word)); p++)
        count++;
    free(meta);
    return count;
}

START_TEST(keep_last_stays_under_the_limit_and_says_what_went)
{
    unsigned lowest;

    tp_agent.config.max_size = 1u << 20;
    write_noise(200000);
    uint32_t track = tp_tls.thread->track;
    host_end_keep();
    uint64_t total = bytes_on_disk(&lowest), count;
    ck_assert_uint_le(total, 1u << 20);
    ck_assert_uint_gt(total, 700u << 10);
    ck_assert_uint_gt(lowest, 1);
    ck_assert_uint_eq(count_lines("{\"t\":\"evict\""), lowest - 1);
    free(host_collect(track, UINT64_MAX, &count)); /* what is left is gapless */
    ck_assert_uint_gt(count, 10000);
}
END_TEST

enum { SLOTS = 8192 };

/* A block that does not compress, in @workspace. Return: its bytes. */
static size_t make_block(void *workspace, size_t size, const void **ret_block)
{
    static uint64_t slots[SLOTS * TP_SLOT_WORDS];
    struct tp_block_source source = {.slots = slots, .slot_count = SLOTS};
    struct tp_block_made made;

    for (size_t i = 0; i < SLOTS; i++) {
        slots[i * TP_SLOT_WORDS] = (uint64_t)TP_EVENT_NVTX_POP << 56 | i;
        slots[i * TP_SLOT_WORDS + 2] = noise *= 6364136223846793005u;
    }
    ck_assert_int_eq(tp_block_encode(tp_block_encoder_init(workspace, size, SLOTS), &source, &made),
                     0);
    *ret_block = made.bytes;
    return made.size;
}

/* Whoever is killed between the two must not have lost a segment that nobody tells of. */
START_TEST(a_segment_goes_when_that_is_on_disk)
{
    static struct tp_segments segments;
    static char lines[65536];
    struct tp_text meta;
    unsigned lowest;
    const void *block;
    size_t size = tp_block_encoder_size(SLOTS);
    void *workspace = malloc(size);
    size_t bytes = make_block(workspace, size, &block);

    ck_assert(tp_agent_arm());
    ck_assert_int_eq(tp_segments_init(&segments, 1u << 20), 0);
    tp_text_init(&meta, lines, sizeof(lines));
    do {
        ck_assert_int_eq(
            tp_segments_append(tp_agent.live, &segments, TP_OS_NO_DIR, block, bytes, &meta), 0);
        bytes_on_disk(&lowest);
    } while (lowest == 1);
    free(workspace);
    ck_assert_uint_eq(count_lines("{\"t\":\"evict\""), lowest - 1);
}
END_TEST

/* As on a full disk: each try ends where it began. */
START_TEST(a_segment_that_cannot_be_begun_leaves_one_index)
{
    static struct tp_segments segments;
    static char lines[65536];
    struct tp_text meta;
    char path[2048];
    struct stat before, after;
    unsigned lowest;
    const void *block;
    size_t size = tp_block_encoder_size(SLOTS);
    void *workspace = malloc(size);
    size_t bytes = make_block(workspace, size, &block);
    int error;

    ck_assert(tp_agent_arm());
    ck_assert_int_eq(tp_segments_init(&segments, 1u << 20), 0);
    tp_text_init(&meta, lines, sizeof(lines));
    snprintf(path, sizeof(path), "%s/000002.tpt", tp_agent.live->dir);
    fclose(fopen(path, "w")); /* in its way */
    do
        error = tp_segments_append(tp_agent.live, &segments, TP_OS_NO_DIR, block, bytes, &meta);
    while (!error);
    ck_assert_int_eq(error, -EEXIST);
    bytes_on_disk(&lowest);
    ck_assert_uint_eq(lowest, 1);
    snprintf(path, sizeof(path), "%s/000001.tpt", tp_agent.live->dir);
    ck_assert_int_eq(stat(path, &before), 0);
    for (int i = 0; i < 3; i++) {
        segments.retry_ns = 0;
        ck_assert_int_eq(
            tp_segments_append(tp_agent.live, &segments, TP_OS_NO_DIR, block, bytes, &meta),
            -EEXIST);
    }
    ck_assert_int_eq(stat(path, &after), 0);
    ck_assert_int_eq(after.st_size, before.st_size);
    snprintf(path, sizeof(path), "%s/000002.tpt", tp_agent.live->dir);
    ck_assert_int_eq(remove(path), 0);
    segments.retry_ns = 0;
    ck_assert_int_eq(
        tp_segments_append(tp_agent.live, &segments, TP_OS_NO_DIR, block, bytes, &meta), 0);
    free(workspace);
}
END_TEST

START_TEST(keep_first_stops_and_counts)
{
    unsigned lowest;

    tp_agent.config.max_size = 1u << 20;
    tp_agent.config.when_big = TP_BIG_KEEP_FIRST;
    write_noise(200000);
    uint32_t track = tp_tls.thread->track;
    host_end_keep();
    uint64_t total = bytes_on_disk(&lowest), count;
    ck_assert_uint_le(total, (1u << 20) + 65536); /* and an index */
    ck_assert_uint_eq(lowest, 1);
    free(host_collect(track, 0, &count));
    ck_assert_uint_gt(count, 10000);
    ck_assert_uint_eq(count_lines("\"reason\":\"TPAGENT_MAX_SIZE\""), 1);
}
END_TEST

START_TEST(a_disk_that_refuses_costs_records_not_blocks)
{
    struct rlimit limit = {150000, RLIM_INFINITY};
    uint64_t count;

    ck_assert(tp_agent_arm());
    write_noise(1); /* the ring is made before the limit */
    signal(SIGXFSZ, SIG_IGN);
    ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &limit), 0);
    write_noise(100000);
    uint32_t track = tp_tls.thread->track;
    ck_assert_uint_gt(tp_tls.thread->dropped, 0);
    limit.rlim_cur = RLIM_INFINITY;
    ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &limit), 0);
    tp_drain_retry_now(tp_agent.live);
    write_noise(10);
    uint64_t dropped = tp_tls.thread->dropped;
    host_end_keep();
    uint64_t *slots = host_collect(track, 0, &count), lost = 0;
    for (uint64_t i = 0; i < count; i += tp_kind_slots(tp_slot_kind(slots + i * TP_SLOT_WORDS)))
        if (tp_slot_kind(slots + i * TP_SLOT_WORDS) == TP_EVENT_LOST)
            lost += slots[i * TP_SLOT_WORDS + 4];
    free(slots);
    ck_assert_uint_gt(count, 2000);
    ck_assert_uint_eq(lost, dropped);
}
END_TEST

int main(void)
{
    TCase *tests = tcase_create("segment");

    tcase_add_checked_fixture(tests, host_begin, host_end);
    tcase_add_test(tests, keep_last_stays_under_the_limit_and_says_what_went);
    tcase_add_test(tests, a_segment_goes_when_that_is_on_disk);
    tcase_add_test(tests, a_segment_that_cannot_be_begun_leaves_one_index);
    tcase_add_test(tests, keep_first_stops_and_counts);
    tcase_add_test(tests, a_disk_that_refuses_costs_records_not_blocks);
    return host_run(tests, "segment");
}
