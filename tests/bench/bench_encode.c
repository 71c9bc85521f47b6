/* SPDX-License-Identifier: MIT
 *
 * Bytes an operator and nanoseconds a record, encoded and decoded, on a generated training stream:
 * one thread that repeats a step of nested operators of about 200 names: a dozen kinds of layers,
 * some many times in a row, with times jittered at 2.5 ticks a nanosecond, shapes, autograd
 * sequence numbers and the counters of a host allocator. The seed is fixed.
 *
 * Then the same of streams of allocations: a random one of 4,096 live blocks of 16 to 4,096 bytes
 * is replaced, by the block of its size that was freed last or by a new one; and a loop as of an
 * interpreter, of few sizes, most of them given back in reverse order. Once as whole records, once
 * with all but one of 16 brief.
 */
#include <limits.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "records.h"
#include "trace/block.h"

#define STEP_OPS 1500
#define NAMES 200
#define STEPS 100
#define PASSES 7
#define DEPTH_MAX 7
#define PAIRS 300000
#define LIVE 4096
#define LOOP_STEPS 600
#define LOOP_DEPTH 24
#define WHOLE_ONE_IN 16
#define FIRST_TICKS UINT64_C(1000000000000)
#define HEAP_START UINT64_C(0x55d0c0de0010)

/* One operator of the step as it always is. */
struct op {
    uint32_t name, shapes;
    uint8_t depth, scope;
    bool differentiable;
    double before_ns,
        inside_ns; /* from the event before to its begin; from the last event inside to its end */
    uint32_t calls, bytes, freed;
};

struct stream {
    struct random random;
    struct op ops[STEP_OPS];
    uint64_t *slots;
    uint32_t used, room;
    double ns;
    uint64_t calls, allocated, freed, sequence, operators, records;
};

static double uniform(struct random *random)
{
    return (double)(random_u64(random) >> 11) * 0x1p-53;
}

static double normal(struct random *random)
{
    double u = 1 - uniform(random), v = uniform(random);

    return sqrt(-2 * log(u)) * cos(6.283185307179586 * v);
}

static void make_layer(struct random *random, struct op *ops, unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        struct op *op = &ops[i];
        unsigned deeper = i ? ops[i - 1].depth + 1u : 0, depth;
        depth =
            random_below(random, 100) < 45 ? deeper : (unsigned)random_below(random, deeper + 1);
        depth = depth < DEPTH_MAX ? depth : DEPTH_MAX;
        /* a few names are most of the calls */
        op->name = 16 + (uint32_t)(NAMES * pow(uniform(random), 3));
        op->shapes =
            random_below(random, 5) ? 216 + op->name + (uint32_t)random_below(random, 4) * 200 : 0;
        op->depth = (uint8_t)depth;
        op->differentiable = random_below(random, 4) == 0;
        op->before_ns = 300 * exp(0.8 * normal(random));
        op->inside_ns = 900 * exp(1.2 * normal(random));
        op->calls = random_below(random, 3) ? 0 : 1 + (uint32_t)random_below(random, 5);
        op->bytes = op->calls * (24 + 16 * (uint32_t)random_below(random, 30));
        op->freed = random_below(random, 3) ? 0 : 24 + 16 * (uint32_t)random_below(random, 60);
    }
}

static void make_step(struct stream *stream)
{
    struct random *random = &stream->random;

    for (unsigned used = 0; used < STEP_OPS;) {
        struct op layer[80];
        unsigned count = 30 + (unsigned)random_below(random, 50);
        unsigned repeats = random_below(random, 2) ? 1 : 1 + (unsigned)random_below(random, 12);
        make_layer(random, layer, count);
        for (; repeats && used < STEP_OPS; repeats--)
            for (unsigned i = 0; i < count && used < STEP_OPS; i++)
                stream->ops[used++] = layer[i];
    }
}

static double jitter(struct random *random, double ns)
{
    double usual = ns * exp(0.15 * normal(random));

    return random_below(random, 500) ? usual : usual + 20000 * uniform(random);
}

static void put(struct stream *stream, unsigned kind, const struct op *op)
{
    uint64_t *slot = stream->slots + (size_t)stream->used * TP_SLOT_WORDS;
    uint64_t ticks = FIRST_TICKS + (uint64_t)(stream->ns * 2.5);

    slot[0] = (uint64_t)kind << 56 | ticks;
    slot[1] = stream->calls << 32;
    slot[2] = stream->allocated;
    slot[3] = stream->freed;
    if (kind == TP_EVENT_OP_BEGIN) {
        slot[1] |= op->name;
        slot[4] = op->differentiable ? stream->sequence++ : UINT64_MAX;
        slot[5] = UINT64_C(1) << 32;
        slot[6] = op->shapes;
        slot[7] = op->scope;
    }
    stream->used += tp_kind_slots(kind);
    stream->records++;
}

static void allocate(struct stream *stream, const struct op *op)
{
    stream->calls += op->calls;
    stream->allocated += op->bytes;
    stream->freed += op->freed;
    if (random_below(&stream->random, 50) == 0) {
        stream->calls++;
        stream->allocated += 24 + 16 * random_below(&stream->random, 100);
    }
}

static void end(struct stream *stream, const struct op *op)
{
    stream->ns += jitter(&stream->random, op->inside_ns);
    allocate(stream, op);
    put(stream, TP_EVENT_OP_END, op);
}

static void run_step(struct stream *stream)
{
    const struct op *open[DEPTH_MAX + 1];
    unsigned depth = 0;

    for (unsigned i = 0; i < STEP_OPS; i++) {
        const struct op *op = &stream->ops[i];
        while (depth > op->depth)
            end(stream, open[--depth]);
        stream->ns += jitter(&stream->random, op->before_ns);
        put(stream, TP_EVENT_OP_BEGIN, op);
        stream->operators++;
        open[depth++] = op;
    }
    while (depth)
        end(stream, open[--depth]);
}

/* Blocks by size, in units of 16 bytes. */
struct heap {
    struct {
        uint64_t address, bytes;
    } live[LIVE];
    uint64_t freed[257][LIVE];
    uint32_t freed_count[257];
    uint64_t top;
};

static uint64_t *put_allocation(struct stream *stream, unsigned kind, double ns)
{
    static const struct op op;
    uint64_t *slot = stream->slots + (size_t)stream->used * TP_SLOT_WORDS;

    stream->ns += jitter(&stream->random, ns);
    put(stream, kind, &op);
    return slot;
}

static void give_block(struct stream *stream, struct heap *heap, unsigned at)
{
    uint64_t address = heap->live[at].address, unit = heap->live[at].bytes / 16;

    stream->freed += heap->live[at].bytes;
    put_allocation(stream, TP_EVENT_FREE, 50)[4] = address;
    heap->freed[unit][heap->freed_count[unit]++] = address;
}

static void take_block(struct stream *stream, struct heap *heap, unsigned at, uint64_t asked)
{
    uint64_t bytes = ((asked + 23) & ~UINT64_C(15)) - 8, unit = bytes / 16, address = heap->top;

    if (heap->freed_count[unit])
        address = heap->freed[unit][--heap->freed_count[unit]];
    else
        heap->top += bytes + 8;
    heap->live[at].address = address;
    heap->live[at].bytes = bytes;
    stream->calls++;
    stream->allocated += bytes;
    uint64_t *slot = put_allocation(stream, TP_EVENT_ALLOC, 150);
    slot[4] = address;
    slot[5] = bytes;
    slot[6] = bytes - asked;
    stream->operators++;
}

static void replace_block(struct stream *stream, struct heap *heap)
{
    unsigned at = (unsigned)random_below(&stream->random, LIVE);
    uint64_t asked = UINT64_C(16) << random_below(&stream->random, 8);

    asked += random_below(&stream->random, asked);
    if (heap->live[at].address)
        give_block(stream, heap, at);
    take_block(stream, heap, at, asked);
}

/* Of what an interpreter's loop does: a number is the size of a block that it takes, 0 gives the
 * last one back. */
static unsigned make_loop(struct random *random, uint16_t loop[LOOP_STEPS])
{
    static const uint16_t sizes[] = {28, 32, 40, 48, 56, 56, 64, 72, 88, 120, 232, 416, 544};
    unsigned steps = 0, depth = 0;

    while (steps < LOOP_STEPS - LOOP_DEPTH) {
        bool takes = depth == 0 || (depth < LOOP_DEPTH && random_below(random, 2));
        loop[steps++] = takes ? sizes[random_below(random, sizeof(sizes) / 2)] : 0;
        depth += takes ? 1 : UINT_MAX;
    }
    while (depth--)
        loop[steps++] = 0;
    return steps;
}

/* Now and then a block stays, in place of one that stayed before. */
static void run_loop(struct stream *stream, struct heap *heap, const uint16_t *loop, unsigned steps)
{
    unsigned depth = 0;

    for (unsigned i = 0; i < steps; i++) {
        if (loop[i])
            take_block(stream, heap, depth++, loop[i]);
        else
            give_block(stream, heap, --depth);
        if (random_below(&stream->random, 40))
            continue;
        unsigned at = LOOP_DEPTH + (unsigned)random_below(&stream->random, 200);
        if (heap->live[at].address)
            give_block(stream, heap, at);
        take_block(stream, heap, at, 56);
    }
}

static double now_ns(void)
{
    struct timespec time;

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time); /* others use the machine too */
    return (double)time.tv_sec * 1e9 + (double)time.tv_nsec;
}

struct result {
    double encode_ns, decode_ns, bytes, plain_bytes;
};

/* Blocks are made of copies in a near cache, as those of a drain are. */
static int run(const struct stream *stream, uint32_t room, struct tp_block_encoder *encoder,
               struct tp_block_decoder *decoder, struct result *result)
{
    static uint64_t copy[TP_BLOCK_SLOTS_MAX * TP_SLOT_WORDS];
    struct tp_block_source source = {.near_ticks = FIRST_TICKS};

    for (uint32_t at = 0, count; at < stream->used; at += count) {
        struct tp_block_made made;
        struct tp_block block;
        source.first_slot = at;
        source.slots = copy;
        source.slot_count = stream->used - at < room ? stream->used - at : room;
        memcpy(copy, stream->slots + (size_t)at * TP_SLOT_WORDS,
               (size_t)source.slot_count * TP_SLOT_BYTES);
        double start = now_ns();
        if (tp_block_encode(encoder, &source, &made))
            return 1;
        double middle = now_ns();
        if (tp_block_decode(decoder, made.bytes, made.size, 0, &block, NULL))
            return 1;
        count = made.slots;
        memcpy(source.before, made.last, sizeof(source.before));
        result->decode_ns += now_ns() - middle;
        result->encode_ns += middle - start;
        result->bytes += (double)made.size;
        result->plain_bytes += block.header.payload_bytes;
    }
    return 0;
}

/* The best of some passes. */
static int measure(const struct stream *stream, const char *what, uint32_t room)
{
    size_t size = tp_block_encoder_size(room);
    void *workspace = NULL;
    struct tp_block_decoder *decoder = tp_block_decoder_create();
    struct tp_block_encoder *encoder =
        posix_memalign(&workspace, 16, size) ? NULL : tp_block_encoder_init(workspace, size, room);
    struct result best = {.encode_ns = INFINITY, .decode_ns = INFINITY};
    double operators = (double)stream->operators, records = (double)stream->records;

    for (unsigned pass = 0; pass < PASSES; pass++) {
        struct result result = {0};
        if (!encoder || !decoder || run(stream, room, encoder, decoder, &result))
            return 1;
        best.encode_ns = fmin(best.encode_ns, result.encode_ns);
        best.decode_ns = fmin(best.decode_ns, result.decode_ns);
        best.bytes = result.bytes;
        best.plain_bytes = result.plain_bytes;
    }
    printf("%6u slots a block: %.2f bytes %s (%.1f before zstd), %.1f ns a record to "
           "encode, %.1f to "
           "decode, workspace %zu KiB\n",
           room, best.bytes / operators, what, best.plain_bytes / operators,
           best.encode_ns / records, best.decode_ns / records, size >> 10);
    tp_block_decoder_destroy(decoder);
    free(workspace);
    return 0;
}

static int measure_rooms(const struct stream *stream, const char *what)
{
    int failed = 0;

    for (uint32_t room = 2048; room <= TP_BLOCK_SLOTS_MAX; room *= 2)
        failed |= measure(stream, what, room);
    return failed;
}

static int make_stream(struct stream *stream, uint32_t room)
{
    *stream = (struct stream){.random = {20240607}, .room = room};
    stream->slots = calloc(room, TP_SLOT_BYTES);
    return !stream->slots;
}

static int measure_operators(void)
{
    struct stream stream;

    if (make_stream(&stream, STEPS * STEP_OPS * 3))
        return 1;
    make_step(&stream);
    for (unsigned i = 0; i < STEPS; i++)
        run_step(&stream);
    printf("training stream: %llu operators, %llu records, %u slots\n",
           (unsigned long long)stream.operators, (unsigned long long)stream.records, stream.used);
    int failed = measure_rooms(&stream, "an operator");
    free(stream.slots);
    return failed;
}

/* As whole records, then all but one of 16 of them brief. */
static int measure_allocations(struct stream *stream, const char *what)
{
    int failed = 0;

    for (unsigned whole_one_in = 1; whole_one_in <= WHOLE_ONE_IN;
         whole_one_in += WHOLE_ONE_IN - 1) {
        stream->used = records_shorten(&stream->random, stream->slots, stream->used, whole_one_in);
        printf("%s, %s: %llu, %llu records, %u slots\n", what, whole_one_in > 1 ? "brief" : "whole",
               (unsigned long long)stream->operators, (unsigned long long)stream->records,
               stream->used);
        failed |= measure_rooms(stream, "an allocation and its free");
    }
    return failed;
}

static int measure_pairs(struct heap *heap)
{
    struct stream stream;

    if (make_stream(&stream, PAIRS * 4))
        return 1;
    heap->top = HEAP_START;
    for (unsigned i = 0; i < PAIRS; i++)
        replace_block(&stream, heap);
    int failed = measure_allocations(&stream, "random blocks replaced");
    free(stream.slots);
    return failed;
}

static int measure_loop(struct heap *heap)
{
    static uint16_t loop[LOOP_STEPS];
    struct stream stream;

    if (make_stream(&stream, PAIRS * 4))
        return 1;
    memset(heap, 0, sizeof(*heap));
    heap->top = HEAP_START;
    unsigned steps = make_loop(&stream.random, loop);
    while (stream.used + steps * 6 < stream.room)
        run_loop(&stream, heap, loop, steps);
    int failed = measure_allocations(&stream, "an interpreter's loop");
    free(stream.slots);
    return failed;
}

int main(void)
{
    struct heap *heap = calloc(1, sizeof(*heap));

    if (!heap)
        return 1;
    int failed = measure_operators();
    failed |= measure_pairs(heap);
    failed |= measure_loop(heap);
    free(heap);
    return failed;
}
