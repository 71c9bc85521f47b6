/* SPDX-License-Identifier: MIT */
#include "drain.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/prctl.h>

#include "base/error.h"
#include "base/os.h"
#include "capture.h"
#include "capture_range.h"
#include "clock.h"
#include "event/brief.h"
#include "log.h"
#include "losses.h"
#include "open_stack.h"
#include "recording.h"
#include "segment.h"
#include "sources.h"

#define BLOCK_SLOTS (16u << 10)
#define BURST_BLOCK_SLOTS (32u << 10) /* allocations foretell more of each other in larger ones */
#define SMALL_RING (8u << 10)
#define USUAL_RING (32u << 10) /* 1 MiB: some 10 ms of the busiest thread */
#define LARGEST_RING (128u << 10)
#define WAIT_AT_MOST_NS 10000000000u
#define SECOND_NS 1000000000u
#define META_BYTES (64u << 10)
#define LINE_BYTES 1024u
#define NAMES_AHEAD (512u << 10)
#define CHURN 64u                    /* new threads that make a look worth it */
#define END_TRACKS 256u              /* in the `end` line */
#define THREAD_LINES_MAX (16u << 20) /* bytes of lines about threads */

enum tp_drain_want { WANT_NOTHING, WANT_PAUSE, WANT_END };

struct tp_drain {
    struct tp_block_encoder *encoder;
    uint32_t block_slots;
    uint64_t *compact; /* open begins, without the gaps */
    char *meta_bytes;
    struct tp_text meta; /* lines not yet written */
    int dir, ring_dir;   /* the drain thread's descriptors, else TP_OS_NO_DIR */
    const char *end_reason;
    struct tp_tls ending; /* counters of the thread that ends the process */
    uint64_t clock_ns;    /* of the last clock line */
    uint64_t tick_ns;     /* of the last turn of once-a-second work */
    uint32_t early_clocks;
    uint64_t start_ns;
    uint64_t discarded;               /* records thrown away because the recording may not grow */
    uint64_t thread_bytes;            /* of meta.jsonl, for threads that come and go */
    uint64_t early_told;              /* of live->early_drops */
    uint32_t tracks_then, rings_then; /* after the last look for threads that are gone */
    uint64_t rings_retry_ns;          /* when to make rings ahead again after a failure */
    uint32_t threads_untold;          /* that came when there was no more room for such lines */
    struct tp_segments segments;
};

static void give_back(struct tp_drain *d, void *workspace, size_t size)
{
    if (d) {
        tp_os_unmap(d->compact, TP_BLOCK_OPEN_MAX * TP_SLOT_BYTES);
        tp_os_unmap(d->meta_bytes, META_BYTES);
    }
    tp_os_unmap(d, sizeof(*d));
    tp_os_unmap(workspace, size);
}

uint32_t tp_drain_block_slots(void)
{
    return tp_agent.config.alloc.choice == TP_ALLOC_ALL ? BURST_BLOCK_SLOTS : BLOCK_SLOTS;
}

/* What makes a good block. */
static uint32_t enough_slots(void)
{
    return tp_drain_block_slots() / 4 * 3;
}

int tp_drain_open(struct tp_live *live)
{
    uint32_t slots = tp_drain_block_slots();
    size_t size = tp_block_encoder_size(slots);
    struct tp_drain *d = tp_os_map(sizeof(*d));
    void *workspace = tp_os_map(size);

    if (d && workspace) {
        d->block_slots = slots;
        d->encoder = tp_block_encoder_init(workspace, size, slots);
        d->compact = tp_os_map(TP_BLOCK_OPEN_MAX * TP_SLOT_BYTES);
        d->meta_bytes = tp_os_map(META_BYTES);
    }
    if (!d || !d->encoder || !d->compact || !d->meta_bytes ||
        tp_segments_init(&d->segments, tp_agent.config.max_size)) {
        give_back(d, workspace, size);
        return -ENOMEM;
    }
    tp_text_init(&d->meta, d->meta_bytes, META_BYTES);
    d->dir = d->ring_dir = TP_OS_NO_DIR;
    d->start_ns = d->clock_ns = tp_os_monotonic_ns();
    live->drain = d;
    return 0;
}

static void write_meta(struct tp_live *live)
{
    tp_recording_meta_text(live, &live->drain->meta);
}

/* Room for a line. */
static void make_room(struct tp_live *live)
{
    if (live->drain->meta.used > META_BYTES - LINE_BYTES)
        write_meta(live);
}

/* Events of threads that got no ring: they are in no ring that outlives the process, so they are
 * told as they come. */
static void tell_early(struct tp_live *live)
{
    struct tp_drain *d = live->drain;
    uint64_t early = atomic_load_explicit(&live->early_drops, memory_order_relaxed);

    if (early == d->early_told)
        return;
    tp_loss_raise(live, TP_LOSS_NO_RING, early); /* from before there were counters, too */
    make_room(live);
    tp_text_format(&d->meta,
                   "{\"t\":\"drop\",\"count\":%llu,\"reason\":\"no ring for the thread\"}\n",
                   (unsigned long long)(early - d->early_told));
    d->early_told = early;
}

/* --- one ring
 * ------------------------------------------------------------------------------------------- */

static void read_thread_name(uint32_t tid, char name[16])
{
    char path[64];
    struct tp_text text;

    memset(name, 0, 16);
    tp_text_init(&text, path, sizeof(path));
    tp_text_format(&text, "/proc/self/task/%u/comm", tid);
    if (tp_os_read_file(path, name, 16) < 0)
        name[0] = '\0';
    name[strcspn(name, "\n")] = '\0';
}

/* The `track` line: at the first records of a track, and again when its thread has another name. */
static void tell_track(struct tp_live *live, struct tp_ring_entry *e)
{
    struct tp_drain *d = live->drain;
    struct tp_text *meta = &d->meta;
    struct tp_thread *t = &live->threads[e->thread];
    uint64_t words[2];
    char name[16];

    atomic_store(&t->renamed, 0);
    read_thread_name(e->header->tid, name);
    if (!name[0]) /* it is gone */
        tp_thread_name(t, name);
    if (e->track_told && (!name[0] || !strcmp(name, e->name)))
        return;
    make_room(live);
    memcpy(e->name, name, sizeof(name));
    memcpy(words, name, sizeof(words));
    for (unsigned i = 0; i < 2; i++)
        atomic_store_explicit(&e->header->name[i], words[i], memory_order_relaxed);
    d->threads_untold += !e->track_told && d->thread_bytes > THREAD_LINES_MAX;
    e->track_told = 1;
    if (d->thread_bytes > THREAD_LINES_MAX)
        return;
    size_t before = meta->used;
    tp_text_format(meta, "{\"t\":\"track\",\"track\":%u,\"tid\":%u,\"kind\":\"thread\",\"name\":",
                   e->header->track, e->header->tid);
    tp_text_json(meta, name, strlen(name));
    tp_text_string(meta, "}\n");
    d->thread_bytes += meta->used - before;
}

/* What a track came to: in the `end` line for those that are there then, in a line of its own
 * before. */
static void put_track_end(struct tp_text *meta, const struct tp_ring_header *ring)
{
    tp_text_format(meta, "{\"t\":\"track_end\",\"track\":%u,\"slots\":%llu,\"dropped\":%llu}\n",
                   ring->track, (unsigned long long)atomic_load(&ring->tail),
                   (unsigned long long)atomic_load(&ring->dropped));
}

/* What a track lost, where it lost something. */
static void put_track_drops(struct tp_text *meta, const struct tp_ring_header *ring)
{
    uint64_t dropped = atomic_load(&ring->dropped);

    if (dropped)
        tp_text_format(meta,
                       "{\"t\":\"drop\",\"track\":%u,\"count\":%llu,\"reason\":\"ring full\"}\n",
                       ring->track, (unsigned long long)dropped);
}

/* Slots of the next block: where the thread may run out of room, so many that it soon has some. */
static uint32_t most_slots(const struct tp_drain *d, const struct tp_ring_entry *e, uint64_t used)
{
    uint32_t most = used > e->slot_count / 8 * 5 ? BLOCK_SLOTS : d->block_slots;

    return used < most ? (uint32_t)used : most;
}

/* What a block takes from the ring's tail on, where it lies. */
static struct tp_block_source find_slots(struct tp_drain *d, const struct tp_ring_entry *e,
                                         uint64_t tail, uint64_t head)
{
    uint32_t n = most_slots(d, e, head - tail), at = (uint32_t)(tail & (e->slot_count - 1));
    uint32_t first = e->slot_count - at < n ? e->slot_count - at : n;
    struct tp_block_source source = {
        .track = e->header->track,
        .first_slot = tail,
        .slots = e->slots + (uint64_t)at * TP_SLOT_WORDS,
        .more = e->slots,
        .slot_count = first,
        .more_count = n - first,
        .is_shared = true,
        .open = d->compact,
        .open_slots = tp_open_stack_compact(e, d->compact, TP_BLOCK_OPEN_MAX),
        .near_ticks = e->near_ticks,
    };

    if (e->before[0])
        memcpy(source.before, e->before, sizeof(source.before));
    else /* a new track, or a ring that was damaged */
        tp_brief_before(source.slots, source.slot_count, source.before);
    return source;
}

/* One block from the ring's tail. Return: slots taken, or negative. */
static int drain_block(struct tp_live *live, struct tp_ring_entry *e, uint64_t tail, uint64_t head)
{
    struct tp_drain *d = live->drain;
    struct tp_block_made made;

    if (!e->near_ticks)
        e->near_ticks = tp_ticks();
    struct tp_block_source source = find_slots(d, e, tail, head);
    memcpy(&source.uuid_low, live->uuid, sizeof(source.uuid_low));
    int error = tp_block_encode(d->encoder, &source, &made);
    if (!error)
        error = tp_segments_append(live, &d->segments, d->dir, made.bytes, made.size, &d->meta);
    if (error && error != -TP_EFULL)
        return error;
    uint32_t n = made.slots;
    tp_open_stack_replay(e, made.ranges, made.range_slots);
    memcpy(e->before, made.last, sizeof(e->before));
    if (error) /* at once before the ring forgets them: whoever dies in between counts them twice */
        tp_loss_raise(live, TP_LOSS_DISCARDED, d->discarded += n);
    atomic_store_explicit(&e->header->tail, tail + n, memory_order_release);
    return (int)n;
}

/* A ring that cannot be read on: our own mistake, or a host that wrote into it. What is left is
 * given up. */
static void give_up_records(struct tp_live *live, struct tp_ring_entry *e, uint64_t tail,
                            uint64_t head)
{
    struct tp_drain *d = live->drain;

    tp_text_format(
        &d->meta,
        "{\"t\":\"drop\",\"track\":%u,\"count\":%llu,\"reason\":\"ring damaged at slot %llu\"}\n",
        e->header->track, (unsigned long long)(head - tail), (unsigned long long)tail);
    memset(e->before, 0, sizeof(e->before));
    atomic_store_explicit(&e->header->tail, head, memory_order_release);
}

static void drain_ring(struct tp_live *live, struct tp_ring_entry *e, bool all)
{
    uint64_t tail = atomic_load_explicit(&e->header->tail, memory_order_relaxed);
    uint64_t head = atomic_load_explicit(&e->header->head, memory_order_acquire);

    if (head == tail)
        return;
    if (!e->track_told && !e->predecessor)
        tell_track(live, e);
    while (tail < head) {
        int n = drain_block(live, e, tail, head);
        if (n == -TP_ECORRUPT)
            give_up_records(live, e, tail, head);
        if (n < 0)
            break;
        tail += (uint32_t)n;
        if (!all && head - tail < enough_slots())
            break;
    }
    e->waiting_since_ns = 0;
}

static bool is_due(struct tp_ring_entry *e, uint64_t now_ns)
{
    uint64_t tail = atomic_load_explicit(&e->header->tail, memory_order_relaxed);
    uint64_t used = atomic_load_explicit(&e->header->head, memory_order_relaxed) - tail;

    if (!used)
        return false;
    if (!e->waiting_since_ns)
        e->waiting_since_ns = now_ns;
    return used >= enough_slots() || used >= e->slot_count / 2 ||
           now_ns - e->waiting_since_ns > WAIT_AT_MOST_NS ||
           atomic_load_explicit(&e->header->closed, memory_order_relaxed);
}

/* A closed and empty ring: what is open goes to its successor, the ring goes. */
static void finish_closed(struct tp_live *live, uint32_t index)
{
    struct tp_ring_entry *e = &live->rings[index];

    if (!atomic_load_explicit(&e->header->closed, memory_order_acquire) || !e->successor ||
        atomic_load(&e->header->head) != atomic_load(&e->header->tail))
        return;
    struct tp_ring_entry *next = &live->rings[e->successor - 1];
    tp_open_stack_move(next, e);
    next->track_told = e->track_told;
    memcpy(next->name, e->name, sizeof(e->name));
    next->near_ticks = e->near_ticks;
    memcpy(next->before, e->before, sizeof(e->before));
    next->predecessor = 0;
    tp_recording_drop_ring(live, live->drain->ring_dir, index);
}

/* A ring that nobody waits for: where the disk has no room for one now, it is asked again later.
 */
static int make_ring_ahead(struct tp_live *live, uint32_t slots, uint32_t least)
{
    struct tp_drain *d = live->drain;

    if (tp_os_monotonic_ns() < d->rings_retry_ns)
        return -EAGAIN;
    int entry = tp_recording_make_ring(live, d->ring_dir, slots, least);
    if (entry < 0)
        d->rings_retry_ns = tp_os_monotonic_ns() + SECOND_NS;
    return entry;
}

/*
 * A thread that records goes on in a ring of the usual size; a ring that filled to a half between
 * two looks is followed by one four times as large.
 */
static void offer_larger(struct tp_live *live, uint32_t index)
{
    struct tp_ring_entry *e = &live->rings[index];
    struct tp_thread *t = &live->threads[e->thread];

    if (e->successor || e->slot_count >= LARGEST_RING || t->entry != index)
        return;
    uint32_t slots = e->slot_count * 4 < LARGEST_RING ? e->slot_count * 4 : LARGEST_RING;
    if (tp_recording_ring_fits(live, slots) != slots)
        return;
    int next = make_ring_ahead(live, slots, 2 * e->slot_count);
    if (next < 0)
        return;
    e->successor = (uint32_t)next + 1;
    live->rings[next].predecessor = index + 1;
    atomic_store_explicit(&t->next_entry, (uint32_t)next + 1, memory_order_release);
}

/* A thread's next allocation tells the time, however few there are; @run behind it may be brief. */
static void let_be_brief(struct tp_thread *t, uint32_t run)
{
    atomic_store_explicit(&t->brief_run, run, memory_order_relaxed);
    atomic_store_explicit(&t->brief_limit, 0, memory_order_relaxed);
}

/* --- all rings
 * ------------------------------------------------------------------------------------------ */

/* Return: the fullest ring's fill, in 1/256. */
static unsigned drain_pass(struct tp_live *live, bool all, bool thread)
{
    uint64_t now_ns = tp_os_monotonic_ns();
    uint32_t count = atomic_load_explicit(&live->ring_count, memory_order_acquire);
    unsigned fullest = 0;

    for (uint32_t i = 0; i < count; i++) {
        struct tp_ring_entry *e = &live->rings[i];
        if (atomic_load_explicit(&e->state, memory_order_acquire) != TP_RING_USED || e->predecessor)
            continue;
        uint64_t used = atomic_load_explicit(&e->header->head, memory_order_relaxed) -
                        atomic_load_explicit(&e->header->tail, memory_order_relaxed);
        unsigned fill = (unsigned)(used * 256 / e->slot_count);
        fullest = fill > fullest ? fill : fullest;
        if (thread && tp_agent.config.alloc.choice == TP_ALLOC_ALL)
            let_be_brief(&live->threads[e->thread], TP_BRIEF_RUN);
        if (all || is_due(e, now_ns))
            drain_ring(live, e, all);
        if (thread && !all && (fill >= 128 || (e->slot_count < USUAL_RING && e->track_told)))
            offer_larger(live, i);
        finish_closed(live, i);
    }
    return fullest;
}

void tp_drain_wake(struct tp_live *live)
{
    if (atomic_load_explicit(&live->drain_bell, memory_order_relaxed) &&
        atomic_exchange(&live->drain_bell, 0))
        tp_os_wake(&live->drain_bell);
}

void tp_drain_tell(struct tp_live *live)
{
    atomic_store(&live->tell_now, 1);
    tp_drain_wake(live);
}

static bool take_lock(struct tp_live *live)
{
    uint32_t free = 0;

    return atomic_compare_exchange_strong(&live->drain_lock, &free, 1);
}

static void once_a_second(struct tp_live *live, uint64_t now_ns)
{
    struct tp_drain *d = live->drain;

    if (d->early_clocks < 2 && now_ns - d->start_ns > (d->early_clocks ? 100000000u : 10000000u)) {
        d->early_clocks++;
        tp_recording_clock_line(&d->meta);
    }
    if (now_ns - d->clock_ns >= SECOND_NS) {
        d->clock_ns = now_ns;
        tp_recording_clock_line(&d->meta);
    }
    uint64_t names = atomic_load(&live->names.allocated);
    uint64_t ahead = names / 2 < NAMES_AHEAD ? names / 2 : NAMES_AHEAD;
    if (names - atomic_load(&live->names.used) < ahead)
        tp_recording_extend_names(live, 0);
}

void tp_drain_here(struct tp_live *live)
{
    const struct tp_segments *segments = &live->drain->segments;

    if (segments->error && tp_os_monotonic_ns() < segments->retry_ns)
        return;
    if (tp_os_pid() != live->pid || !take_lock(live))
        return;
    drain_pass(live, false, false);
    once_a_second(live, tp_os_monotonic_ns());
    tp_sources_look();
    tell_early(live);
    write_meta(live);
    tp_segments_close(live, &live->drain->segments, false, &live->drain->meta);
    atomic_store_explicit(&live->drain_lock, 0, memory_order_release);
}

void tp_drain_retry_now(struct tp_live *live)
{
    live->drain->segments.retry_ns = 0;
}

/* --- the end
 * -------------------------------------------------------------------------------------------- */

static void put_losses(struct tp_live *live, struct tp_text *meta)
{
    struct tp_drain *d = live->drain;
    uint64_t names = atomic_load(&live->names.refused);

    for (uint32_t i = 0; i < atomic_load(&live->ring_count); i++) {
        struct tp_ring_entry *e = &live->rings[i];
        if (atomic_load(&e->state) != TP_RING_USED ||
            atomic_load(&e->header->closed)) /* its successor knows more */
            continue;
        make_room(live);
        put_track_drops(meta, e->header);
    }
    tell_early(live);
    make_room(live);
    if (names)
        tp_text_format(
            meta,
            "{\"t\":\"drop\",\"count\":%llu,\"reason\":\"no room for a name\",\"kind\":\"name\"}\n",
            (unsigned long long)names);
    if (d->threads_untold)
        tp_text_format(
            meta, "{\"t\":\"note\",\"text\":\"%u more threads came and went without a name\"}\n",
            d->threads_untold);
    if (d->discarded)
        tp_text_format(
            meta,
            "{\"t\":\"drop\",\"count\":%llu,\"reason\":\"TPAGENT_MAX_SIZE\",\"kind\":\"slot\"}\n",
            (unsigned long long)d->discarded);
    if (atomic_load(&live->memory_rings))
        tp_text_format(
            meta, "{\"t\":\"note\",\"text\":\"%u rings could not be files: not crash-safe\"}\n",
            atomic_load(&live->memory_rings));
    if (d->segments.error)
        tp_text_format(meta, "{\"t\":\"note\",\"text\":\"blocks could not be written: %s\"}\n",
                       tp_error_text(d->segments.error));
}

/* The tracks that are there at the end; those that the `end` line has no room for get theirs
 * before. */
static void put_track_ends(struct tp_live *live, struct tp_text *meta, bool in_lines)
{
    uint32_t listed = 0;

    for (uint32_t i = 0; i < atomic_load(&live->ring_count); i++) {
        struct tp_ring_entry *e = &live->rings[i];
        if (atomic_load(&e->state) != TP_RING_USED || e->successor)
            continue;
        if (listed++ >= END_TRACKS) {
            if (in_lines) {
                make_room(live);
                put_track_end(meta, e->header);
            }
            continue;
        }
        if (!in_lines)
            tp_text_format(meta, "%s{\"track\":%u,\"slots\":%llu,\"dropped\":%llu}",
                           listed > 1 ? "," : "", e->header->track,
                           (unsigned long long)atomic_load(&e->header->tail),
                           (unsigned long long)atomic_load(&e->header->dropped));
    }
}

/* @counters: of the thread that ends the process */
static void put_end_line(struct tp_live *live, struct tp_text *meta, const char *reason,
                         const struct tp_tls *counters)
{
    uint32_t names = atomic_load(&live->names.next_id);

    tp_text_format(meta, "{\"t\":\"end\",\"reason\":\"%s\",\"ticks\":%llu", reason,
                   (unsigned long long)tp_ticks());
    if (tp_recording_counts())
        tp_text_format(meta, ",\"alloc_calls\":%llu,\"allocated_bytes\":%llu,\"freed_bytes\":%llu",
                       (unsigned long long)counters->alloc_calls,
                       (unsigned long long)counters->allocated_bytes,
                       (unsigned long long)counters->freed_bytes);
    if (live->names.final_bytes)
        tp_text_format(meta, ",\"names\":%u,\"names_bytes\":%llu", names - TP_NAME_FIRST,
                       (unsigned long long)live->names.final_bytes);
    tp_text_string(meta, ",\"tracks\":[");
    put_track_ends(live, meta, false);
    tp_text_string(meta, "]}\n");
}

/* Whether every ring was taken whole. */
static bool all_taken(struct tp_live *live)
{
    for (uint32_t i = 0; i < atomic_load(&live->ring_count); i++) {
        struct tp_ring_entry *e = &live->rings[i];
        if (atomic_load(&e->state) == TP_RING_USED &&
            atomic_load(&e->header->head) != atomic_load(&e->header->tail))
            return false;
    }
    return true;
}

/*
 * The rings' files go; their memory stays: threads of the host may still run, and one may be in the
 * midst of a record.
 */
static void remove_ring_files(struct tp_live *live)
{
    char path[TP_PATH_MAX + 32];
    struct tp_text text;

    for (uint32_t i = 0; i < atomic_load(&live->ring_count); i++) {
        uint32_t state = atomic_load(&live->rings[i].state);
        if (state == TP_RING_NONE || !live->rings[i].number)
            continue;
        tp_text_init(&text, path, sizeof(path));
        tp_text_format(&text, "%s/%u.tpr", live->ring_dir, live->rings[i].number);
        tp_os_unlink(TP_OS_NO_DIR, path, false);
    }
    tp_os_unlink(TP_OS_NO_DIR, live->ring_dir, true);
}

/* What rings say of drops, before their files go. */
static void count_drops(struct tp_live *live)
{
    for (uint32_t i = 0; i < atomic_load(&live->ring_count); i++) {
        const struct tp_ring_entry *e = &live->rings[i];
        if (atomic_load(&e->state) == TP_RING_USED && !atomic_load(&e->header->closed))
            tp_loss_add(live, TP_LOSS_RING_FULL, atomic_load(&e->header->dropped));
    }
}

static void finish(struct tp_live *live, const char *reason)
{
    struct tp_drain *d = live->drain;

    tp_drain_retry_now(live);
    drain_pass(live, true, false);
    atomic_store(&live->state, TP_ENDED); /* the slow way sees it and writes no more */
    tp_threads_make_careful(live);
    for (int i = 0; i < 3; i++) /* a track may go through several rings */
        drain_pass(live, true, false);
    for (uint32_t i = 0; i < atomic_load(&live->ring_count); i++)
        if (atomic_load(&live->rings[i].state) == TP_RING_USED && live->rings[i].track_told)
            tell_track(live, &live->rings[i]);
    tp_segments_close(live, &d->segments, true, &d->meta);
    tp_recording_close_names(live);
    tp_recording_clock_line(&d->meta);
    tp_sources_report(&d->meta, false);
    write_meta(live);
    put_losses(live, &d->meta);
    bool whole = all_taken(live);
    put_track_ends(live, &d->meta, true);
    write_meta(live);
    put_end_line(live, &d->meta, reason, &d->ending);
    write_meta(live);
    if (whole && !d->meta.used) {
        count_drops(live);
        remove_ring_files(live);
    }
    atomic_store(&live->said_full, (uint32_t)-d->segments.error);
}

/* --- the thread
 * ----------------------------------------------------------------------------------------- */

static void fill_stock(struct tp_live *live)
{
    bool all = tp_agent.config.alloc.choice == TP_ALLOC_ALL; /* rings fill at once */

    for (unsigned i = 0; i < TP_STOCK_MADE; i++) {
        if (atomic_load_explicit(&live->stock[i], memory_order_relaxed))
            continue;
        int entry = make_ring_ahead(live, all || i < 2 ? USUAL_RING : SMALL_RING, SMALL_RING / 4);
        if (entry < 0)
            return;
        atomic_store_explicit(&live->rings[entry].state, TP_RING_STOCK, memory_order_relaxed);
        atomic_store_explicit(&live->stock[i], (uint32_t)entry + 1, memory_order_release);
    }
}

/* The larger ring that a thread was offered and did not live to take. */
static void take_offer_back(struct tp_live *live, struct tp_ring_entry *e, struct tp_thread *t)
{
    uint32_t offer = atomic_exchange(&t->next_entry, 0);

    if (!offer)
        return;
    tp_recording_drop_ring(live, live->drain->ring_dir, offer - 1);
    e->successor = 0;
}

static void tell_track_end(struct tp_live *live, const struct tp_ring_entry *e)
{
    struct tp_drain *d = live->drain;
    size_t before;

    make_room(live);
    before = d->meta.used;
    put_track_drops(&d->meta, e->header);
    if (d->thread_bytes <= THREAD_LINES_MAX)
        put_track_end(&d->meta, e->header);
    d->thread_bytes += d->meta.used - before;
}

/* Rings of threads that are gone: drained, then taken back with their control block. */
static void retire_dead(struct tp_live *live)
{
    for (uint32_t i = 0; i < atomic_load(&live->ring_count); i++) {
        struct tp_ring_entry *e = &live->rings[i];
        if (atomic_load(&e->state) != TP_RING_USED || e->predecessor ||
            atomic_load(&e->header->closed) || tp_os_thread_exists(live->pid, e->header->tid))
            continue;
        struct tp_thread *t = &live->threads[e->thread];
        take_offer_back(live, e, t);
        drain_ring(live, e, true);
        if (atomic_load(&e->header->head) != atomic_load(&e->header->tail))
            continue;
        if (e->track_told)
            tell_track(live, e);
        tell_track_end(live, e);
        tp_loss_add(live, TP_LOSS_RING_FULL, atomic_load(&e->header->dropped));
        tp_capture_thread_gone(t);
        if (!tp_recording_recycle_ring(live, i))
            tp_recording_drop_ring(live, live->drain->ring_dir, i);
        tp_os_forget(t->names, TP_NAME_CACHE * sizeof(*t->names)); /* a page */
        memset(t, 0, offsetof(struct tp_thread, state));
        atomic_store_explicit(&t->state, TP_THREAD_FREE, memory_order_release);
    }
}

/* Threads that come and go fast would use up all rings within the second: as many new ones as there
 * are, and the dead are looked for. */
static void watch_churn(struct tp_live *live, bool now)
{
    struct tp_drain *d = live->drain;
    uint32_t tracks = atomic_load(&live->next_track), used = 0;

    uint32_t come = tracks - d->tracks_then;
    if (!now && (come < CHURN || come < d->rings_then))
        return;
    retire_dead(live);
    for (uint32_t i = 0; i < atomic_load(&live->ring_count); i++)
        used += atomic_load(&live->rings[i].state) == TP_RING_USED;
    d->tracks_then = tracks;
    d->rings_then = used;
}

static void tell_new_names(struct tp_live *live)
{
    for (uint32_t i = 0; i < atomic_load(&live->ring_count); i++) {
        struct tp_ring_entry *e = &live->rings[i];
        if (atomic_load(&e->state) == TP_RING_USED && e->track_told &&
            atomic_load(&live->threads[e->thread].renamed))
            tell_track(live, e);
    }
}

static void thread_second(struct tp_live *live, uint64_t now_ns)
{
    struct tp_drain *d = live->drain;

    watch_churn(live, now_ns - d->tick_ns >= SECOND_NS);
    if (!atomic_exchange(&live->tell_now, 0) && now_ns - d->tick_ns < SECOND_NS)
        return;
    d->tick_ns = now_ns;
    tp_sources_tick();
    tp_sources_report(&d->meta, false);
    tell_new_names(live);
}

static uint64_t sleep_for(unsigned fullest, const struct tp_drain *d)
{
    if (d->early_clocks < 2)
        return 10000000;
    if (tp_agent.config.alloc.choice == TP_ALLOC_ALL && fullest < 64)
        return fullest >= 16 ? 5000000 : 10000000; /* so old may a brief record's time be */
    return fullest >= 64 ? 1000000 : fullest >= 16 ? 5000000 : fullest ? 20000000 : 100000000;
}

/* Back to draining on the program's threads, which have other descriptors; nobody asks them for the
 * time any more. */
static bool leave(struct tp_live *live)
{
    struct tp_drain *d = live->drain;
    uint32_t pause = WANT_PAUSE;

    if (!atomic_compare_exchange_strong(&live->want, &pause, WANT_NOTHING))
        return false;
    for (uint32_t i = 0; i < TP_THREADS_MAX; i++)
        if (atomic_load_explicit(&live->threads[i].state, memory_order_relaxed) == TP_THREAD_USED)
            let_be_brief(&live->threads[i], 0);
    tp_segments_close(live, &d->segments, false, &d->meta);
    d->dir = d->ring_dir = TP_OS_NO_DIR;
    atomic_store(&live->state, TP_ARMED);
    atomic_store(&live->drain_lock, 0);
    return true;
}

static void *drain_main(void *argument)
{
    struct tp_live *live = argument;
    struct tp_drain *d = live->drain;

    tp_tls.ours = 1;
    if (tp_os_own_descriptors() < 0) { /* back to draining on the host's threads */
        atomic_store(&live->state, TP_ARMED);
        atomic_store(&live->drain_lock, 0);
        return NULL;
    }
    live->drain_tid = tp_os_tid();
    prctl(PR_SET_NAME, "tpagent", 0, 0, 0);
    d->dir = tp_os_open(TP_OS_NO_DIR, live->dir, O_RDONLY | O_DIRECTORY, 0);
    d->ring_dir = tp_os_open(TP_OS_NO_DIR, live->ring_dir, O_RDONLY | O_DIRECTORY, 0);
    if (d->dir < 0)
        d->dir = TP_OS_NO_DIR;
    if (d->ring_dir < 0)
        d->ring_dir = TP_OS_NO_DIR;
    if (tp_clock_kind == TP_CLOCK_TSC && tp_clock_steps_back())
        tp_text_string(&d->meta,
                       "{\"t\":\"note\",\"text\":\"the clock was seen to go backwards\"}\n");
    while (atomic_load(&live->want) == WANT_NOTHING) {
        fill_stock(live);
        unsigned fullest = drain_pass(live, false, true);
        uint64_t now_ns = tp_os_monotonic_ns();
        once_a_second(live, now_ns);
        tp_capture_tick(tp_ticks());
        thread_second(live, now_ns);
        tell_early(live);
        write_meta(live);
        atomic_store(&live->drain_bell, 1);
        if (atomic_load(&live->want) == WANT_NOTHING && !atomic_load(&live->tell_now))
            tp_os_wait(&live->drain_bell, 1, sleep_for(fullest, d));
        atomic_store(&live->drain_bell, 0);
    }
    if (leave(live))
        return NULL;
    tp_sources_tick();
    finish(live, d->end_reason);
    atomic_store(&live->drain_done, 1);
    tp_os_wake(&live->drain_done);
    return NULL;
}

/*
 * The program's static TLS is cut out of every stack: one with much of it (seen: 256 KiB) makes a
 * small stack EINVAL. 0 is the program's own default.
 */
static int make_drain_thread(struct tp_live *live, tp_make_thread *make_thread)
{
    static const size_t stacks[] = {256u << 10, 2u << 20, 0};
    int error = -EINVAL;

    for (unsigned i = 0; error == -EINVAL && i < sizeof(stacks) / sizeof(stacks[0]); i++)
        error = tp_own_thread_make(make_thread, stacks[i], drain_main, live);
    return error;
}

int tp_drain_start(struct tp_live *live, tp_make_thread *make_thread)
{
    if (!take_lock(live))
        return -EBUSY;
    atomic_store(&live->state, TP_LIVE);
    int error = make_drain_thread(live, make_thread);
    if (error) {
        atomic_store(&live->state, TP_ARMED);
        atomic_store(&live->drain_lock, 0);
    }
    return error;
}

bool tp_drain_pause(struct tp_live *live, uint64_t wait_ns)
{
    uint64_t deadline = tp_os_monotonic_ns() + wait_ns;
    uint32_t nothing = WANT_NOTHING;
    _Atomic uint32_t never = 0;

    if (!atomic_compare_exchange_strong(&live->want, &nothing, WANT_PAUSE))
        return false;
    while (atomic_load(&live->want) == WANT_PAUSE && tp_os_monotonic_ns() < deadline) {
        tp_drain_wake(live);
        tp_os_wait(&never, 0, 100000);
    }
    return atomic_load(&live->want) != WANT_PAUSE;
}

bool tp_drain_end_idle(struct tp_live *live, const char *reason)
{
    char buffer[2048];
    struct tp_text text;

    tp_text_init(&text, buffer, sizeof(buffer));
    tp_recording_clock_line(&text);
    put_end_line(live, &text, reason, &tp_tls);
    if (tp_recording_meta(live, buffer, text.used))
        return false;
    tp_os_unlink(TP_OS_NO_DIR, live->ring_dir, true);
    return true;
}

bool tp_drain_end(struct tp_live *live, const char *reason, uint64_t wait_ns)
{
    uint64_t deadline = tp_os_monotonic_ns() + wait_ns;

    live->drain->ending = tp_tls;
    if (atomic_load(&live->state) == TP_LIVE) {
        live->drain->end_reason = reason;
        atomic_store(&live->want, WANT_END);
        tp_drain_wake(live);
        while (!atomic_load(&live->drain_done) && tp_os_monotonic_ns() < deadline)
            tp_os_wait(&live->drain_done, 0, deadline - tp_os_monotonic_ns());
        return atomic_load(&live->drain_done);
    }
    while (!take_lock(live)) {
        if (tp_os_monotonic_ns() >= deadline)
            return false;
        _Atomic uint32_t never = 0;
        tp_os_wait(&never, 0, 1000000);
    }
    finish(live, reason);
    atomic_store_explicit(&live->drain_lock, 0, memory_order_release);
    return true;
}
