/* SPDX-License-Identifier: MIT */
/*
 * Activity buffers. CUPTI asks for one on a thread of the program: it gets one that lies ready, and
 * only where none does one from the host's malloc. CUPTI gives it back on a thread of its own,
 * which converts it there and may wait a little for room in its ring, or on a thread of the
 * program, which never waits. What found no room keeps its buffer, with names replaced by ids,
 * until our own thread (flusher.c) has converted it; so many buffers may wait as half the limit,
 * and the rest is counted.
 *
 * Each is 1 MiB or more and comes from the host's malloc, since other clients of CUPTI that got one
 * by mistake treat it as theirs. A buffer that CUPTI holds is never touched, not at exit either.
 */
#include <errno.h>

#include "agent.h"
#include "base/os.h"
#include "real.h"
#include "source/cuda/cuda.h"

#define BUFFER_BYTES (1u << 20)
#define BUFFERS_MAX 4096u
#define AHEAD 8u /* made before the first request */
#define WAIT_NS 200000000u
#define SILENT_NS 30000000000u
#define CALLS_SAMPLED 256u

enum buffer_state { BUFFER_NONE, BUFFER_FREE, BUFFER_OUT, BUFFER_TAKEN, BUFFER_WAITING };

struct buffer {
    _Atomic uint32_t state;
    uint8_t *memory;
    struct tp_cuda_walk walk; /* while it waits */
};

static struct {
    struct buffer buffers[BUFFERS_MAX];
    _Atomic uint32_t count; /* entries ever used */
    _Atomic uint32_t waiting;
    _Atomic uint64_t back; /* buffers that CUPTI gave back */
    uint32_t limit;
    uint64_t back_seen, back_ns; /* the watch's */
    uint32_t calls_seen;
    bool silence_told;
} pool;

_Atomic uint32_t tp_cuda_call_sample;

/* A new buffer in @state. Return: NULL at the end of the table or of memory. */
static struct buffer *make_buffer(enum buffer_state state)
{
    uint32_t index = atomic_load(&pool.count);

    do {
        if (index >= BUFFERS_MAX)
            return NULL;
    } while (!atomic_compare_exchange_weak(&pool.count, &index, index + 1));
    struct buffer *b = &pool.buffers[index];
    b->memory = tp_real.malloc ? tp_real.malloc(BUFFER_BYTES) : NULL;
    if (!b->memory)
        return NULL;
    atomic_store_explicit(&b->state, state, memory_order_release);
    return b;
}

int tp_cuda_buffers_open(void)
{
    uint64_t limit = tp_agent.config.cuda_buffers / BUFFER_BYTES;

    pool.limit = limit < 2 ? 2 : limit > BUFFERS_MAX ? BUFFERS_MAX : (uint32_t)limit;
    for (uint32_t i = 0; i < AHEAD && i < pool.limit; i++)
        if (!make_buffer(BUFFER_FREE))
            return i ? 0 : -ENOMEM;
    return 0;
}

static struct buffer *take_free(void)
{
    uint32_t count = atomic_load_explicit(&pool.count, memory_order_acquire);

    for (uint32_t i = 0; i < count; i++) {
        uint32_t free = BUFFER_FREE;
        if (atomic_load_explicit(&pool.buffers[i].state, memory_order_relaxed) == BUFFER_FREE &&
            atomic_compare_exchange_strong(&pool.buffers[i].state, &free, BUFFER_OUT))
            return &pool.buffers[i];
    }
    return NULL;
}

void tp_cuda_buffer_request(uint8_t **ret_buffer, size_t *ret_size, size_t *ret_records)
{
    struct buffer *b = take_free();
    int kept = errno;

    /* before 12.9 no buffer may be a crash: there the limit is passed */
    if (!b && (atomic_load(&pool.count) < pool.limit || tp_cuda.api < TP_CUPTI_12_9))
        b = make_buffer(BUFFER_OUT);
    if (!b)
        atomic_fetch_add(&tp_cuda.lost.buffers, 1);
    *ret_buffer = b ? b->memory : NULL;
    *ret_size = b ? BUFFER_BYTES : 0;
    *ret_records = 0; /* as many as fit */
    errno = kept;
}

static struct buffer *find_out(const uint8_t *memory)
{
    uint32_t count = atomic_load_explicit(&pool.count, memory_order_acquire);

    for (uint32_t i = 0; i < count; i++)
        if (pool.buffers[i].memory == memory) {
            uint32_t out = BUFFER_OUT;
            return atomic_compare_exchange_strong(&pool.buffers[i].state, &out, BUFFER_TAKEN)
                       ? &pool.buffers[i]
                       : NULL;
        }
    return NULL;
}

static void count_dropped(void)
{
    size_t dropped = 0;

    if (tp_cuda.cupti.ActivityGetNumDroppedRecords &&
        tp_cuda.cupti.ActivityGetNumDroppedRecords(NULL, 0, &dropped) == TP_CUPTI_SUCCESS)
        atomic_fetch_add(&tp_cuda.lost.dropped, dropped);
}

/* What found no room waits for the flusher, in its buffer. */
static bool keep_for_later(struct buffer *b, struct tp_cuda_walk *walk)
{
    if (atomic_fetch_add(&pool.waiting, 1) >= (pool.limit + 1) / 2) {
        atomic_fetch_sub(&pool.waiting, 1);
        return false;
    }
    tp_cuda_keep_names(walk);
    b->walk = *walk;
    atomic_store_explicit(&b->state, BUFFER_WAITING, memory_order_release);
    tp_cuda_flusher_wake();
    return true;
}

/*
 * A tee to another client of CUPTI, so that torch.profiler works beside us, belongs here: before
 * the records are converted they would be copied into the client's buffers. For its other half see
 * subscribe() in cupti_start.c.
 */
void tp_cuda_buffer_complete(void *context, uint32_t stream, uint8_t *memory, size_t size,
                             size_t used)
{
    struct buffer *b = tp_cuda_here() ? find_out(memory) : NULL;
    struct tp_cuda_walk walk = {.buffer = memory, .used = used};
    int kept = errno;

    (void)context;
    (void)stream;
    (void)size;
    if (!b)
        return; /* not one of ours: another client's, left alone */
    atomic_fetch_add_explicit(&pool.back, 1, memory_order_relaxed);
    count_dropped();
    /* a thread that has recorded something else, or makes CUDA calls, is the program's */
    bool may_wait = !tp_tls.cuda_correlation && (!tp_tls.thread || tp_tls.converts);
    tp_tls.converts = may_wait;
    if (!tp_cuda_convert(&walk, may_wait ? WAIT_NS : 0)) {
        if (keep_for_later(b, &walk)) {
            errno = kept;
            return;
        }
        tp_cuda_count_rest(&walk);
    }
    atomic_store_explicit(&b->state, BUFFER_FREE, memory_order_release);
    errno = kept;
}

bool tp_cuda_buffers_again(uint64_t wait_ns)
{
    uint32_t count = atomic_load_explicit(&pool.count, memory_order_acquire);
    bool done = true;

    tp_tls.converts = 1;
    for (uint32_t i = 0; i < count && atomic_load(&pool.waiting); i++) {
        struct buffer *b = &pool.buffers[i];
        if (atomic_load_explicit(&b->state, memory_order_acquire) != BUFFER_WAITING)
            continue;
        if (!tp_cuda_convert(&b->walk, wait_ns)) {
            done = false;
            continue;
        }
        atomic_store_explicit(&b->state, BUFFER_FREE, memory_order_release);
        atomic_fetch_sub(&pool.waiting, 1);
    }
    return done;
}

bool tp_cuda_buffers_done(void)
{
    return !atomic_load(&pool.waiting);
}

/*
 * Another client may have registered callbacks of its own, or have switched kinds off: neither is
 * told to us. So many calls as must have filled a buffer, and none came back.
 */
void tp_cuda_buffers_watch(void)
{
    uint64_t now_ns = tp_os_monotonic_ns(), back = atomic_load(&pool.back);
    uint32_t calls = atomic_load(&tp_cuda_call_sample), out = 0;

    if (back != pool.back_seen || !pool.back_ns) {
        pool.back_seen = back;
        pool.back_ns = now_ns;
        pool.calls_seen = calls;
        return;
    }
    for (uint32_t i = 0; i < atomic_load(&pool.count); i++)
        out += atomic_load(&pool.buffers[i].state) == BUFFER_OUT;
    if (pool.silence_told || now_ns - pool.back_ns < SILENT_NS ||
        calls - pool.calls_seen < 20000 + 4000 * out)
        return;
    pool.silence_told = true;
    tp_cuda_lose(TP_CUDA_TAKEN, "another client of CUPTI");
}

void tp_cuda_buffers_forget(void)
{
    /* CUPTI's threads are not in the child; what they held is left where it is */
    for (uint32_t i = 0; i < pool.count; i++)
        atomic_store(&pool.buffers[i].state, BUFFER_NONE);
    atomic_store(&pool.waiting, 0);
    pool.back_ns = 0;
}
