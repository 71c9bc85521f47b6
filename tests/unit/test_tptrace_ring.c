/* SPDX-License-Identifier: MIT
 * Rings that are used while they are read. */
#include "unit.h"

#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/error.h"
#include "input/tptrace_ring.h"
#include "make_recording.h"
#include "ring/ring.h"

#define SLOTS 1024u
#define RING_BYTES (TP_RING_HEADER_BYTES + SLOTS * TP_SLOT_BYTES)

struct live_ring {
    char folder[256], path[300];
    struct tp_ring_header *header;
    _Atomic bool stop;
    pthread_t thread;
};

static void make_ring(struct live_ring *ring)
{
    static const uint8_t uuid[16] = {1};

    memset(ring, 0, sizeof(*ring));
    make_temporary(ring->folder);
    snprintf(ring->path, sizeof(ring->path), "%s/1.tpr", ring->folder);
    int fd = open(ring->path, O_RDWR | O_CREAT, 0600);
    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(ftruncate(fd, RING_BYTES), 0);
    ring->header = mmap(NULL, RING_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    ck_assert_ptr_ne(ring->header, MAP_FAILED);
    close(fd);
    tp_ring_header_init(ring->header, uuid, 1, 1, SLOTS);
    ring->header->track = 5;
    ring->header->tid = 55;
}

static void remove_ring(struct live_ring *ring)
{
    munmap(ring->header, RING_BYTES);
    remove_tree(ring->folder);
}

/* Writer and drain in one: slot n holds n, the tail follows in jumps. */
static void *use_ring(void *argument)
{
    struct live_ring *ring = argument;
    struct tp_ring_header *header = ring->header;
    uint64_t *slots = (uint64_t *)((char *)header + TP_RING_HEADER_BYTES), tail = 0;

    for (uint64_t n = 0; !ring->stop; n++) {
        if (n - tail == SLOTS) {
            tail += SLOTS / 2 + n % 300;
            atomic_store_explicit(&header->tail, tail, memory_order_release);
        }
        uint64_t *slot = slots + (n & (SLOTS - 1)) * TP_SLOT_WORDS;
        slot[0] = (uint64_t)TP_EVENT_OP_END << 56;
        slot[2] = n;
        atomic_store_explicit(&header->head, n + 1, memory_order_release);
    }
    return NULL;
}

START_TEST(a_ring_in_use_gives_what_is_still_valid)
{
    struct live_ring live;
    unsigned moved = 0;

    make_ring(&live);
    ck_assert_int_eq(pthread_create(&live.thread, NULL, use_ring, &live), 0);
    while (!atomic_load(&live.header->head))
        sched_yield();
    for (int i = 0; i < 4000; i++) {
        struct tptrace_ring ring;
        struct tp_diag diag;
        int error = tptrace_ring_read(&ring, live.path, NULL, &diag);
        if (error) { /* head and tail were read a lap apart: said, and nothing is taken */
            ck_assert_int_eq(error, -TP_ECORRUPT);
            continue;
        }
        moved += ring.count > 0;
        for (uint64_t s = 0; s < ring.count; s++)
            ck_assert_uint_eq(ring.slots[s * TP_SLOT_WORDS + 2], ring.first_slot + s);
        free(ring.slots);
    }
    live.stop = true;
    pthread_join(live.thread, NULL);
    ck_assert_uint_gt(moved, 0);
    remove_ring(&live);
}
END_TEST

START_TEST(damaged_rings_are_errors_with_their_place)
{
    struct live_ring live;
    struct tptrace_ring ring;
    struct tp_diag diag;
    uint8_t other[16] = {2};

    make_ring(&live);
    ck_assert_int_eq(tptrace_ring_read(&ring, live.path, other, &diag), -TP_EFOREIGN);
    ck_assert_str_eq(diag.file, live.path);
    atomic_store(&live.header->head, 5);
    ck_assert_int_eq(tptrace_ring_read(&ring, live.path, NULL, &diag), 0);
    ck_assert_uint_eq(ring.count, 5);
    ck_assert_uint_eq(ring.tid, 55);
    free(ring.slots);
    atomic_store(&live.header->tail, 6);
    ck_assert_int_eq(tptrace_ring_read(&ring, live.path, NULL, &diag), -TP_ECORRUPT);
    atomic_store(&live.header->tail, 0);
    live.header->slot_count = 77;
    ck_assert_int_eq(tptrace_ring_read(&ring, live.path, NULL, &diag), -TP_ECORRUPT);
    ck_assert_int_eq(truncate(live.path, 100), 0);
    ck_assert_int_eq(tptrace_ring_read(&ring, live.path, NULL, &diag), -TP_ETRUNCATED);
    ck_assert_int_eq(tptrace_ring_read(&ring, live.folder, NULL, &diag), -TP_EFOREIGN);
    remove_ring(&live);
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {a_ring_in_use_gives_what_is_still_valid,
                                  damaged_rings_are_errors_with_their_place};

    return unit_run("tptrace_ring", NULL, NULL, tests, UNIT_COUNT(tests));
}
