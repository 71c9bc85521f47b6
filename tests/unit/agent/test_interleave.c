/* SPDX-License-Identifier: MIT
 * Writer and drain, as they are, one instruction at a time: the processor's trap flag stops them
 * after each. At each stop the files are read as after a death: blocks and rings together must hold
 * every record whose call has returned, once, in order, and nothing that no call made. And at a
 * chosen stop something else happens: the drain takes what there is, or a signal handler records;
 * each instruction is the chosen one in turn. (x86-64 only; what other processors reorder is not
 * seen here.) */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/text.h"
#include "host.h"
#include "trace/file.h"

#define RINGS_MAX 64u
#define LOOK_EVERY 16
#define FIRST_NAME 1000u
#define ADDRESSES 4096u /* slots that a test looks back at most */

enum injection { NOTHING, DRAIN, NESTED };

/* What the reader of a dead process's files knows. */
static struct {
    struct tp_ring_header *maps[RINGS_MAX]; /* by number of the file */
    size_t map_bytes[RINGS_MAX];
    bool there[RINGS_MAX];  /* when the folder was looked at */
    uint64_t segment_bytes; /* looked at so far */
    uint64_t covered;       /* slots that blocks cover */
} reader;

static struct {
    uint32_t track;
    uint64_t returned, begun; /* slots of calls that have returned, that have begun */
    bool in_order;            /* slot 2k is the begin with name FIRST_NAME + k, 2k + 1 its end */
    uint64_t frees_from;      /* … but from here on the free that address_at says; 0: no frees */
    uint64_t address_at[ADDRESSES]; /* by the number of the record's first slot */
    enum injection what;
    long inject_at;
    volatile long steps;
    uint64_t deaths, nested;
} explorer;

static void wrong(const char *what, uint64_t a, uint64_t b)
{
    char line[200];
    struct tp_text text;

    tp_text_init(&text, line, sizeof(line));
    tp_text_format(&text, "not right: %s: %llu, %llu; injection %d at %ld, step %ld\n", what,
                   (unsigned long long)a, (unsigned long long)b, (int)explorer.what,
                   explorer.inject_at, explorer.steps);
    if (write(2, line, text.used) < 0)
        _exit(8);
    _exit(7);
}

/* ---- the reader ---- */

static void read_new_blocks(void)
{
    static uint8_t bytes[1 << 20];
    char path[TP_PATH_MAX + 32];
    struct tp_block_header block;
    struct tp_file_header header;
    struct tp_file_walk walk;
    struct stat info;
    uint64_t offset;

    snprintf(path, sizeof(path), "%s/000001.tpt", tp_agent.live->dir);
    if (stat(path, &info) || (uint64_t)info.st_size == reader.segment_bytes)
        return;
    reader.segment_bytes = (uint64_t)info.st_size;
    int fd = open(path, O_RDONLY);
    ssize_t n = fd < 0 ? -1 : pread(fd, bytes, sizeof(bytes), 0);
    close(fd);
    if (n < 64)
        return; /* just begun */
    if (n == sizeof(bytes))
        wrong("segment too large for this test", (uint64_t)n, 0);
    if (tp_file_header_read(&header, bytes, (uint64_t)n, TP_FILE_MAGIC, NULL))
        wrong("segment's header", (uint64_t)n, 0);
    reader.covered = 0;
    tp_file_walk_init(&walk, bytes, (uint64_t)n, &header);
    while (tp_file_walk_next(&walk, &block, &offset, NULL) == 1) {
        if (block.type != TP_BLOCK_EVENTS || block.track != explorer.track)
            continue;
        if (block.first_slot != reader.covered)
            wrong("blocks have a gap", block.first_slot, reader.covered);
        reader.covered += block.slots;
    }
    if (walk.damaged)
        wrong("damage in the segment", walk.damaged, 0);
}

/* Our own mapping of a ring's file, as long as the file is there. */
static void look_for_ring(uint32_t number)
{
    char path[TP_PATH_MAX + 32];
    struct stat info;

    snprintf(path, sizeof(path), "%s/%u.tpr", tp_agent.live->ring_dir, number);
    reader.there[number] = !stat(path, &info);
    if (!reader.there[number] || reader.maps[number])
        return;
    int fd = open(path, O_RDONLY);
    void *map = mmap(NULL, (size_t)info.st_size, PROT_READ, MAP_SHARED, fd, 0);
    close(fd);
    if (map == MAP_FAILED)
        wrong("mmap", number, 0);
    reader.maps[number] = map;
    reader.map_bytes[number] = (size_t)info.st_size;
}

static void look_at_files(void)
{
    read_new_blocks();
    for (uint32_t n = 1; n < RINGS_MAX && n <= atomic_load(&tp_agent.live->next_ring); n++)
        look_for_ring(n);
}

static void check_free(const uint64_t *slot, const uint64_t *next, uint64_t number)
{
    uint64_t expected = explorer.address_at[number % ADDRESSES];
    unsigned kind = tp_slot_kind(slot);

    if (kind != TP_EVENT_FREE && kind != TP_EVENT_FREE_BRIEF)
        wrong("no free in slot", number, kind);
    if ((kind == TP_EVENT_FREE ? next[0] : slot[2]) != expected)
        wrong("another free in slot", number, expected);
}

static void check_slot(const uint64_t *slot, const uint64_t *next, uint64_t number)
{
    if (explorer.frees_from && number >= explorer.frees_from) {
        check_free(slot, next, number);
        return;
    }
    unsigned kind = number % 2 ? TP_EVENT_API_END : TP_EVENT_API_BEGIN;
    uint32_t name = number % 2 ? 0 : (uint32_t)(FIRST_NAME + number / 2);

    if (tp_slot_kind(slot) != kind || tp_slot_argument(slot) != name)
        wrong("another record in slot", number, tp_slot_argument(slot));
}

static void check_records(const struct tp_ring_view *view, uint64_t from)
{
    for (uint64_t at = from; at < view->head;) {
        const uint64_t *slot = tp_ring_view_slot(view, at);
        unsigned slots = tp_kind_slots(tp_slot_kind(slot));
        if (!slots || at + slots > view->head)
            wrong("no whole record in slot", at, view->head);
        if (explorer.in_order)
            check_slot(slot, tp_ring_view_slot(view, at + 1), at);
        at += slots;
    }
}

/* Number behind the last slot that blocks and rings have without a gap. */
static uint64_t find_end(void)
{
    uint64_t end = reader.covered, before;

    do { /* rings in any order; there are few */
        before = end;
        for (uint32_t n = 1; n < RINGS_MAX; n++) {
            struct tp_ring_view view;
            if (!reader.there[n])
                continue;
            if (tp_ring_view_open(&view, reader.maps[n], reader.map_bytes[n], NULL, NULL))
                wrong("ring is damaged", n, 0);
            if (view.track != explorer.track || view.head <= end || view.tail > end)
                continue;
            check_records(&view, end);
            end = view.head;
        }
    } while (end != before);
    return end;
}

/* The files as they are now, as if the process had just died. The folder is looked at when what it
 * had is not enough, and now and then. */
static void check_death(void)
{
    if (!(explorer.deaths++ % LOOK_EVERY))
        look_at_files();
    uint64_t end = find_end();
    if (end < explorer.returned) {
        look_at_files();
        end = find_end();
    }
    if (end < explorer.returned || (explorer.in_order && end > explorer.begun))
        wrong("slots found, expected from", end, explorer.returned);
}

/* ---- one instruction at a time ---- */

static void set_trap(bool on)
{
    if (on)
        __asm__ volatile("lea -128(%%rsp), %%rsp; pushfq; orq $0x100, (%%rsp); popfq;"
                         "lea 128(%%rsp), %%rsp" ::
                             : "memory", "cc");
    else
        __asm__ volatile("lea -128(%%rsp), %%rsp; pushfq; andq $~0x100, (%%rsp); popfq;"
                         "lea 128(%%rsp), %%rsp" ::
                             : "memory", "cc");
}

static void record_nested(void)
{
    tp_record_begin(TP_EVENT_ITT_BEGIN, TP_CLASS_ITT, 5);
    tp_record_end(TP_EVENT_ITT_END, TP_CLASS_ITT);
    explorer.nested += 2;
}

static void on_trap(int signal)
{
    (void)signal;
    if (++explorer.steps == explorer.inject_at) {
        if (explorer.what == DRAIN)
            tp_drain_here(tp_agent.live);
        else if (explorer.what == NESTED)
            record_nested();
    }
    check_death();
}

/* In short where that is allowed, else whole. */
static void one_free(void)
{
    struct tp_thread *t = tp_tls.thread;
    uint64_t first = t->cursor, address = (first + 1) * 16;
    const struct tp_record record = {
        .kind = TP_EVENT_FREE, .role = TP_ROLE_POINT, .slots = 2, .words = {address, 0, 0, 0}};

    explorer.address_at[first % ADDRESSES] = address;
    explorer.begun = first + record.slots;
    if (!tp_record_brief((uint64_t)TP_EVENT_FREE_BRIEF << 56 | 16, 0, address, 0)) {
        tp_record_write(&record);
        tp_record_allow_brief(t);
    }
    explorer.returned = t->cursor;
}

static void one_call(void)
{
    if (explorer.frees_from) {
        one_free();
        return;
    }
    uint64_t number = explorer.begun++;

    if (number % 2)
        tp_record_end(TP_EVENT_API_END, TP_CLASS_API);
    else
        tp_record_begin(TP_EVENT_API_BEGIN, TP_CLASS_API, (uint32_t)(FIRST_NAME + number / 2));
    explorer.returned++;
}

/* Return: instructions that @calls calls took. */
static long step_through(unsigned calls, enum injection what, long inject_at)
{
    explorer.what = what;
    explorer.inject_at = inject_at;
    explorer.steps = 0;
    set_trap(true);
    for (unsigned i = 0; i < calls; i++)
        one_call();
    set_trap(false);
    return explorer.steps;
}

static void fill(uint64_t slots)
{
    const struct tp_thread *t = tp_tls.thread;

    while (t->cursor - atomic_load(&t->ring->tail) < slots ||
           (!explorer.frees_from && explorer.begun % 2))
        one_call();
}

/* The next larger or smaller ring, offered as the drain does. */
static void offer_ring(uint32_t slots)
{
    struct tp_live *live = tp_agent.live;
    struct tp_thread *t = tp_tls.thread;
    int next = tp_recording_make_ring(live, TP_OS_NO_DIR, slots, slots);

    ck_assert_int_ge(next, 0);
    live->rings[t->entry].successor = (uint32_t)next + 1;
    live->rings[next].predecessor = t->entry + 1;
    atomic_store(&t->next_entry, (uint32_t)next + 1);
    t->limit = t->cursor; /* the next record looks */
}

static void begin(void)
{
    struct sigaction action = {.sa_handler = on_trap};

    memset(&reader, 0, sizeof(reader));
    memset(&explorer, 0, sizeof(explorer));
    explorer.in_order = true;
    sigaction(SIGTRAP, &action, NULL);
    ck_assert_ptr_nonnull(tp_thread_attach());
    explorer.track = tp_tls.thread->track;
    offer_ring(TP_RING_SLOTS_MIN);
    one_call();
    one_call();
    tp_drain_here(tp_agent.live); /* the first ring is closed: it goes */
    check_death();
}

static void finish(const char *what)
{
    uint64_t deaths = explorer.deaths;

    printf("# %s: read as dead after %llu instructions\n", what, (unsigned long long)deaths);
    fflush(stdout);
    atomic_store(&tp_agent.live->state, TP_ARMED);
    ck_assert_uint_gt(deaths, 100);
}

START_TEST(dead_after_any_instruction_of_a_writer)
{
    begin();
    atomic_store(&tp_agent.live->state, TP_LIVE);
    for (int i = 0; i < 12; i++) { /* round the ring more than once */
        step_through(40, NOTHING, 0);
        fill(130);
        tp_drain_here(tp_agent.live);
    }
    finish("writer");
}
END_TEST

START_TEST(dead_after_any_instruction_of_a_writer_that_drains)
{
    begin();
    fill(120);
    long steps = step_through(16, NOTHING, 0);
    ck_assert_int_gt(steps, 5000); /* the drain was among them */
    ck_assert_uint_gt(reader.covered, 100);
    finish("writer and its own drain");
}
END_TEST

START_TEST(drain_at_any_instruction_of_a_writer)
{
    begin();
    atomic_store(&tp_agent.live->state, TP_LIVE); /* nobody drains but the handler */
    long steps = 1;
    for (long at = 1; at <= steps; at++) {
        fill(160);
        steps = step_through(4, DRAIN, at);
        if (steps > 2000)
            wrong("a writer that takes long", (uint64_t)steps, 0);
    }
    finish("drain inside a writer");
}
END_TEST

static void begin_frees(void)
{
    begin();
    explorer.frees_from = tp_tls.thread->cursor;
    atomic_store(&tp_agent.live->state, TP_LIVE);
    atomic_store(&tp_tls.thread->brief_run, 2);
}

START_TEST(dead_after_any_instruction_of_a_writer_in_short)
{
    begin_frees();
    for (int i = 0; i < 12; i++) {
        step_through(40, NOTHING, 0);
        fill(130);
        tp_drain_here(tp_agent.live);
    }
    finish("writer in short");
}
END_TEST

START_TEST(drain_at_any_instruction_of_a_writer_in_short)
{
    long steps = 1;

    begin_frees();
    for (long at = 1; at <= steps; at++) {
        fill(160);
        steps = step_through(2, DRAIN, at); /* a whole one among them, mostly */
        if (steps > 2000)
            wrong("a writer that takes long", (uint64_t)steps, 0);
    }
    finish("drain inside a writer in short");
}
END_TEST

START_TEST(dead_or_drained_at_any_instruction_of_a_change_of_rings)
{
    begin();
    atomic_store(&tp_agent.live->state, TP_LIVE);
    long steps = 1;
    for (long at = 1, turn = 0; at <= steps && turn < 50; at += 1 + steps / 50, turn++) {
        fill(20);
        offer_ring(TP_RING_SLOTS_MIN << (turn % 2 * 2));
        steps = step_through(2, DRAIN, at);
        tp_drain_here(tp_agent.live);
        check_death();
    }
    finish("change of rings");
}
END_TEST

START_TEST(signal_handler_records_at_any_instruction_of_a_writer)
{
    begin();
    explorer.in_order = false; /* slots are more, or other ones, than calls */
    atomic_store(&tp_agent.live->state, TP_LIVE);
    long steps = 1;
    for (long at = 1; at <= steps; at++) {
        explorer.returned = 0;
        fill(4 + (uint64_t)at % 140);
        tp_drain_here(tp_agent.live);
        explorer.returned = 0;
        steps = step_through(4, NESTED, at);
        if (steps > 3000)
            wrong("a writer that takes long", (uint64_t)steps, 0);
    }
    finish("signal handler inside a writer");

    uint64_t count, begins = 0, ends = 0, lost = 0, *slots;
    int64_t depth[TP_CLASS_END] = {0};
    host_end_keep();
    slots = host_collect(explorer.track, 0, &count);
    for (uint64_t i = 0; i < count;) {
        const uint64_t *record = slots + i * TP_SLOT_WORDS;
        const struct tp_kind_info *kind = &tp_kinds[tp_slot_kind(record)];
        begins += kind->role == TP_ROLE_BEGIN;
        ends += kind->role == TP_ROLE_END;
        lost += kind->role == TP_ROLE_LOST ? record[4] : 0;
        depth[kind->class_] += (kind->role == TP_ROLE_BEGIN) - (kind->role == TP_ROLE_END);
        ck_assert_int_ge(depth[kind->class_], 0);
        i += kind->slots;
    }
    free(slots);
    ck_assert_uint_eq(begins, ends);
    lost += atomic_load(&tp_tls.thread->lost_count);
    ck_assert_uint_eq(begins + ends + lost, explorer.begun + explorer.nested);
}
END_TEST

int main(void)
{
    TCase *tests = tcase_create("interleave");

    tcase_add_checked_fixture(tests, host_begin, host_end);
    tcase_add_test(tests, dead_after_any_instruction_of_a_writer);
    tcase_add_test(tests, dead_after_any_instruction_of_a_writer_that_drains);
    tcase_add_test(tests, drain_at_any_instruction_of_a_writer);
    tcase_add_test(tests, dead_after_any_instruction_of_a_writer_in_short);
    tcase_add_test(tests, drain_at_any_instruction_of_a_writer_in_short);
    tcase_add_test(tests, dead_or_drained_at_any_instruction_of_a_change_of_rings);
    tcase_add_test(tests, signal_handler_records_at_any_instruction_of_a_writer);
    return host_run(tests, "interleave");
}
