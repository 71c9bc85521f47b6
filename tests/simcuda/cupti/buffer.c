/* SPDX-License-Identifier: MIT */
/*
 * Activity buffers. A slot holds the buffer that is being filled: one for all threads, or one a
 * thread (attribute 9; on by default from 13.0). A full buffer goes to a queue that the worker
 * thread, or whoever flushes, hands to `complete`.
 *
 * SIMCUDA_ORDER says when the record of a piece of device work is written: api (after its outermost
 * API record; the default), device (before it), late (when the host waited for it, or flushes),
 * shuffle (any record any time: one of the last 64, by SIMCUDA_SEED). SIMCUDA_RECORDS_PER_BUFFER
 * splits earlier than the size demands. SIMCUDA_NULL_BUFFER=crash|drop: what a NULL buffer does
 * (crash before API 27). SIMCUDA_EMPTY_BUFFERS=1: a forced flush hands out empty buffers too.
 * SIMCUDA_KILL_IN_FLUSH=N: SIGKILL when the client has read N records in flushes and wants more.
 */
#include "cupti.h"

#include <stdio.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

struct sim_buffer_calls sim_buffer_calls;

enum order { ORDER_API, ORDER_DEVICE, ORDER_LATE, ORDER_SHUFFLE };
enum { SHUFFLED = 64 };

struct held {
    uint64_t end; /* of the work; 0: not device work */
    uint32_t kind, bytes;
    uint8_t record[SIM_RECORD_MAX];
};

struct slot {
    pthread_mutex_t lock;
    uint8_t *bytes;
    size_t size, used, max_records, records;
    struct held *held;
    size_t held_count, held_room;
    bool owned;
    struct slot *next;
};

struct full {
    uint8_t *bytes;
    size_t size, used;
    struct full *next;
};

static struct {
    pthread_mutex_t lock; /* slots, queue, worker */
    pthread_cond_t wake;
    pthread_mutex_t delivering; /* one buffer at a time is in `complete` */
    struct slot *slots;
    struct full *queue, **queue_end;
    bool worker_runs;
    uint32_t period_ms;
    uint64_t dropped;
    enum order order;
    uint64_t records_per_buffer, seed;
    bool null_crashes, empty_too, chosen;
    uint64_t flushes;         /* running */
    int64_t read_before_kill; /* -1: no kill */
} state = {.lock = PTHREAD_MUTEX_INITIALIZER,
           .wake = PTHREAD_COND_INITIALIZER,
           .delivering = PTHREAD_MUTEX_INITIALIZER,
           .read_before_kill = -1,
           .queue_end = &state.queue};
static struct slot shared = {.lock = PTHREAD_MUTEX_INITIALIZER};
static __thread struct slot *own;
static __thread bool in_callback;
static pthread_key_t slot_key;

bool sim_in_buffer_callback(void)
{
    return in_callback;
}

static void give_up_slot(void *slot)
{
    pthread_mutex_lock(&state.lock);
    ((struct slot *)slot)->owned = false;
    pthread_mutex_unlock(&state.lock);
}

static void choose(void)
{
    const struct sim_core *core = sim_cupti_core_if_there();
    if (!core)
        return;
    const char *order = core->text("ORDER"), *null = core->text("NULL_BUFFER");
    state.order = !strcmp(order, "device")    ? ORDER_DEVICE
                  : !strcmp(order, "late")    ? ORDER_LATE
                  : !strcmp(order, "shuffle") ? ORDER_SHUFFLE
                                              : ORDER_API;
    state.records_per_buffer = core->number("RECORDS_PER_BUFFER", 0);
    state.seed = core->number("SEED", 1) | 1;
    state.null_crashes = *null ? !strcmp(null, "crash") : sim_cupti_api() < 27;
    state.empty_too = core->number("EMPTY_BUFFERS", 0);
    state.read_before_kill = (int64_t)core->number("KILL_IN_FLUSH", UINT64_MAX);
    pthread_key_create(&slot_key, give_up_slot);
    state.slots = &shared;
}

static void choose_once(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, choose);
}

static struct slot *new_slot(void)
{
    pthread_mutex_lock(&state.lock);
    struct slot *slot = state.slots;
    while (slot && (slot == &shared || slot->owned))
        slot = slot->next;
    if (!slot) {
        slot = calloc(1, sizeof *slot);
        pthread_mutex_init(&slot->lock, NULL);
        slot->next = state.slots;
        state.slots = slot;
    }
    slot->owned = true;
    pthread_mutex_unlock(&state.lock);
    pthread_setspecific(slot_key, slot);
    return slot;
}

static struct slot *slot_of_thread(void)
{
    if (!sim_buffers_per_thread())
        return &shared;
    if (!own)
        own = new_slot();
    return own;
}

static struct full *take_full(void)
{
    pthread_mutex_lock(&state.lock);
    struct full *full = state.queue;
    if (full && !(state.queue = full->next))
        state.queue_end = &state.queue;
    pthread_mutex_unlock(&state.lock);
    return full;
}

/* False when there was nothing to hand out; then none is in `complete` either. */
static bool deliver_one(void)
{
    SIM_ENTER(sim_cupti_core_if_there(), "the completion of a buffer");
    pthread_mutex_lock(&state.delivering);
    struct full *full = take_full();
    if (full) {
        in_callback = true;
        sim_buffer_calls.complete(NULL, 0, full->bytes, full->size, full->used);
        in_callback = false;
        free(full);
    }
    pthread_mutex_unlock(&state.delivering);
    return full;
}

static struct timespec after_ms(uint64_t ms)
{
    struct timespec time;
    clock_gettime(CLOCK_REALTIME, &time);
    time.tv_sec += (time_t)(ms / 1000);
    time.tv_nsec += (long)(ms % 1000) * 1000000;
    if (time.tv_nsec >= 1000000000) {
        time.tv_sec++;
        time.tv_nsec -= 1000000000;
    }
    return time;
}

/* Hands full buffers out as they come, and flushes once a period, however many come. */
static void *work(void *unused)
{
    (void)unused;
    pthread_mutex_lock(&state.lock);
    for (;;) {
        uint32_t period_ms = state.period_ms;
        struct timespec until = after_ms(period_ms ? period_ms : 1000000);
        int timed_out = 0;
        while (!timed_out && state.period_ms == period_ms) {
            while (!state.queue && !timed_out && state.period_ms == period_ms)
                timed_out = pthread_cond_timedwait(&state.wake, &state.lock, &until);
            pthread_mutex_unlock(&state.lock);
            if (timed_out && period_ms)
                sim_buffers_flush(false);
            while (deliver_one())
                ;
            pthread_mutex_lock(&state.lock);
        }
    }
    return NULL;
}

/* Under state.lock. */
static void start_worker(void)
{
    pthread_t thread;
    sigset_t all, before;
    if (state.worker_runs)
        return;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    state.worker_runs = !pthread_create(&thread, NULL, work, NULL);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (state.worker_runs)
        pthread_detach(thread);
}

/* Under the slot's lock. */
static void retire(struct slot *slot)
{
    if (!slot->bytes)
        return;
    struct full *full = malloc(sizeof *full);
    *full = (struct full){slot->bytes, slot->size, slot->used, NULL};
    slot->bytes = NULL;
    slot->size = slot->used = slot->records = 0;
    pthread_mutex_lock(&state.lock);
    *state.queue_end = full;
    state.queue_end = &full->next;
    start_worker();
    pthread_cond_signal(&state.wake);
    pthread_mutex_unlock(&state.lock);
}

static bool request(struct slot *slot)
{
    uint8_t *bytes = NULL;
    size_t size = 0, max_records = 0;
    in_callback = true;
    sim_buffer_calls.request(&bytes, &size, &max_records);
    in_callback = false;
    if (!bytes || !size) {
        if (state.null_crashes) {
            fprintf(stderr, "simcuda: a NULL buffer crashes before API 27\n");
            abort();
        }
        return false;
    }
    if ((uintptr_t)bytes % 8 || size < SIM_RECORD_MAX)
        sim_cupti_core_if_there()->misuse("a buffer of %zu bytes at %p", size, (void *)bytes);
    if (!sim_buffers_zeroed())
        memset(bytes, 0, size);
    slot->bytes = bytes;
    slot->size = size;
    slot->used = slot->records = 0;
    slot->max_records = max_records;
    if (state.records_per_buffer && (!max_records || max_records > state.records_per_buffer))
        slot->max_records = state.records_per_buffer;
    return true;
}

static void drop(void)
{
    __atomic_add_fetch(&state.dropped, 1, __ATOMIC_RELAXED);
}

void sim_buffers_drop(void)
{
    drop();
}

/* Room for a record; NULL and one more dropped when there is none. Under the slot's lock. */
static uint8_t *room(struct slot *slot, size_t bytes)
{
    if (slot->bytes && (slot->used + bytes > slot->size ||
                        (slot->max_records && slot->records == slot->max_records)))
        retire(slot);
    if (!slot->bytes && !request(slot)) {
        drop();
        return NULL;
    }
    uint8_t *at = slot->bytes + slot->used;
    slot->used += bytes;
    slot->records++;
    return at;
}

static struct held *hold(struct slot *slot)
{
    if (slot->held_count == slot->held_room) {
        slot->held_room = slot->held_room ? slot->held_room * 2 : SHUFFLED;
        slot->held = realloc(slot->held, slot->held_room * sizeof *slot->held);
    }
    return &slot->held[slot->held_count++];
}

static void write_held(struct slot *slot, const struct held *held)
{
    uint8_t *at = room(slot, held->bytes);
    if (at)
        memcpy(at, held->record, held->bytes);
}

static size_t random_below(size_t count)
{
    uint64_t x = __atomic_load_n(&state.seed, __ATOMIC_RELAXED);
    x ^= x << 13;
    x ^= x >> 7;
    x ^= x << 17;
    __atomic_store_n(&state.seed, x, __ATOMIC_RELAXED);
    return x % count;
}

static void write_any(struct slot *slot)
{
    size_t i = random_below(slot->held_count);
    struct held chosen = slot->held[i];
    slot->held[i] = slot->held[--slot->held_count];
    write_held(slot, &chosen);
}

/* A kernel that a forced flush finds running has no end. */
static void forget_end(struct held *held)
{
    size_t at = held->kind == SIM_RECORD_GRAPH ? 16 : 24;
    memset(held->record + at, 0, 8);
}

/* Writes what is held: all, or only the work that is over by @until. Under the slot's lock. */
static void release(struct slot *slot, uint64_t until, bool all)
{
    if (state.order == ORDER_SHUFFLE) {
        while (slot->held_count)
            write_any(slot);
        return;
    }
    size_t kept = 0;
    for (size_t i = 0; i < slot->held_count; i++) {
        struct held *held = &slot->held[i];
        bool over = held->end <= until;
        if (!over && !all) {
            slot->held[kept++] = *held;
            continue;
        }
        if (!over)
            forget_end(held);
        write_held(slot, held);
    }
    slot->held_count = kept;
}

void sim_buffer_put(const struct sim_record *record, uint64_t work_end)
{
    size_t bytes = sim_record_size(record->kind);
    if (!bytes || !sim_buffer_calls.request)
        return;
    choose_once();
    SIM_ENTER(sim_cupti_core_if_there(), "a record");
    struct slot *slot = slot_of_thread();
    pthread_mutex_lock(&slot->lock);
    if (state.order == ORDER_SHUFFLE || (work_end && state.order != ORDER_DEVICE)) {
        struct held *held = hold(slot);
        *held = (struct held){.end = work_end, .kind = record->kind, .bytes = (uint32_t)bytes};
        sim_record_lay_out(record, held->record);
        if (state.order == ORDER_SHUFFLE && slot->held_count >= SHUFFLED)
            write_any(slot);
    } else {
        uint8_t *at = room(slot, bytes);
        if (at)
            sim_record_lay_out(record, at);
    }
    pthread_mutex_unlock(&slot->lock);
}

void sim_buffers_call_over(void)
{
    if (state.order != ORDER_API || !sim_buffer_calls.request)
        return;
    choose_once();
    struct slot *slot = slot_of_thread();
    SIM_ENTER(sim_cupti_core_if_there(), "a record");
    pthread_mutex_lock(&slot->lock);
    release(slot, UINT64_MAX, true);
    pthread_mutex_unlock(&slot->lock);
}

static void each_slot(void (*visit)(struct slot *, bool forced), bool forced)
{
    pthread_mutex_lock(&state.lock);
    struct slot *slot = state.slots;
    pthread_mutex_unlock(&state.lock);
    for (; slot; slot = slot->next) { /* slots are only added, in front */
        pthread_mutex_lock(&slot->lock);
        visit(slot, forced);
        pthread_mutex_unlock(&slot->lock);
    }
}

static void release_slot(struct slot *slot, bool forced)
{
    release(slot, state.order == ORDER_LATE ? sim_cupti_core_if_there()->now() : UINT64_MAX,
            forced);
}

/* Unforced: the shared buffer when all its work is over; a thread's own one is left to fill. */
static void flush_slot(struct slot *slot, bool forced)
{
    release_slot(slot, forced);
    if (forced && state.empty_too && !slot->bytes)
        request(slot);
    if (forced || ((slot == &shared || slot == own) && !slot->held_count))
        if (slot->used || (forced && state.empty_too))
            retire(slot);
}

void sim_buffers_release_late(void)
{
    if (state.order == ORDER_LATE)
        each_slot(release_slot, false);
}

bool sim_buffers_kill_now(void)
{
    return state.read_before_kill >= 0 && __atomic_load_n(&state.flushes, __ATOMIC_RELAXED) &&
           __atomic_fetch_sub(&state.read_before_kill, 1, __ATOMIC_RELAXED) == 0;
}

int sim_buffers_flush(bool forced)
{
    choose_once();
    __atomic_add_fetch(&state.flushes, 1, __ATOMIC_RELAXED);
    each_slot(flush_slot, forced);
    while (deliver_one())
        ;
    __atomic_sub_fetch(&state.flushes, 1, __ATOMIC_RELAXED);
    return CUPTI_OK;
}

int sim_buffers_flush_period(uint32_t ms)
{
    pthread_mutex_lock(&state.lock);
    state.period_ms = ms;
    if (ms)
        start_worker();
    pthread_cond_signal(&state.wake);
    pthread_mutex_unlock(&state.lock);
    return CUPTI_OK;
}

uint64_t sim_buffers_take_dropped(void)
{
    return __atomic_exchange_n(&state.dropped, 0, __ATOMIC_RELAXED);
}
