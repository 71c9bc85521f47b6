/* SPDX-License-Identifier: MIT */
#ifndef TESTS_UNIT_CUDA_RECORDS_H
#define TESTS_UNIT_CUDA_RECORDS_H

/* Records of CUDA, field by field, as an agent writes them. */

#include "make_recording.h"

struct cuda_place {
    uint32_t stream, context, graph;
    uint16_t device;
    uint64_t node;
};

/* The calling thread is about to call. */
static inline void put_cuda_call(struct recording_track *t, uint64_t ticks, uint32_t correlation)
{
    track_put(t, TP_EVENT_CUDA_CALL, ticks, correlation, NULL);
}

static inline void put_cuda_api(struct recording_track *t, uint64_t ticks, uint32_t name,
                                uint64_t start, uint64_t end, uint32_t correlation, uint32_t tid,
                                bool driver)
{
    uint64_t words[4] = {start, end, (uint64_t)tid << 32 | correlation,
                         (uint64_t)(driver ? 1 : 2) << 32};

    track_put(t, TP_EVENT_CUDA_API, ticks, name, words);
}

static inline void put_place(uint64_t words[8], const struct cuda_place *place)
{
    words[3] = (uint64_t)place->context << 32 | place->stream;
    words[4] = place->node;
    words[5] = (uint64_t)place->device << 32 | place->graph;
}

static inline void put_gpu_kernel(struct recording_track *t, uint64_t ticks, uint32_t name,
                                  uint64_t start, uint64_t end, uint32_t correlation,
                                  uint32_t geometry, const struct cuda_place *place)
{
    uint64_t words[8] = {start, end, (uint64_t)geometry << 32 | correlation};

    put_place(words, place);
    track_put(t, TP_EVENT_GPU_KERNEL, ticks, name, words);
}

/* @kinds: copy kind, source << 8, target << 16 */
static inline void put_gpu_memcpy(struct recording_track *t, uint64_t ticks, uint32_t kinds,
                                  uint64_t start, uint64_t end, uint32_t correlation,
                                  uint64_t bytes, const struct cuda_place *place)
{
    uint64_t words[8] = {start, end, correlation};

    put_place(words, place);
    words[6] = bytes;
    track_put(t, TP_EVENT_GPU_MEMCPY, ticks, kinds, words);
}

static inline void put_gpu_memset(struct recording_track *t, uint64_t ticks, uint32_t memory_kind,
                                  uint64_t start, uint64_t end, uint32_t correlation,
                                  uint64_t bytes, const struct cuda_place *place)
{
    uint64_t words[8] = {start, end, (uint64_t)memory_kind << 32 | correlation};

    put_place(words, place);
    words[6] = bytes;
    track_put(t, TP_EVENT_GPU_MEMSET, ticks, 0, words);
}

static inline void put_gpu_graph(struct recording_track *t, uint64_t ticks, uint64_t start,
                                 uint64_t end, uint32_t correlation, const struct cuda_place *place)
{
    uint64_t words[8] = {start, end, correlation};

    put_place(words, place);
    words[4] = 0;
    words[5] = (uint64_t)place->device << 32;
    track_put(t, TP_EVENT_GPU_GRAPH, ticks, place->graph, words);
}

/* The thread makes a node, or copies @original. */
static inline void put_cuda_node(struct recording_track *t, uint64_t ticks, uint32_t graph,
                                 uint64_t node, uint64_t original)
{
    uint64_t words[4] = {node, original};

    track_put(t, TP_EVENT_CUDA_NODE, ticks, graph, words);
}

static inline void put_cuda_sync(struct recording_track *t, uint64_t ticks, uint32_t type,
                                 uint64_t start, uint64_t end, uint32_t correlation,
                                 uint32_t stream, uint32_t context)
{
    uint64_t words[4] = {start, end, correlation, (uint64_t)context << 32 | stream};

    track_put(t, TP_EVENT_CUDA_SYNC, ticks, type, words);
}

static inline void put_cuda_overhead(struct recording_track *t, uint64_t ticks, uint32_t type,
                                     uint64_t start, uint64_t end, uint32_t tid)
{
    uint64_t words[4] = {start, end, (uint64_t)tid << 32, 0};

    track_put(t, TP_EVENT_CUDA_OVERHEAD, ticks, type, words);
}

static inline void put_cuda_external(struct recording_track *t, uint64_t ticks,
                                     uint32_t correlation, uint8_t type, uint64_t id)
{
    uint64_t words[4] = {id, type};

    track_put(t, TP_EVENT_CUDA_EXTERNAL, ticks, correlation, words);
}

/* @kinds: operation, memory kind << 8, flags << 24 */
static inline void put_cuda_memory(struct recording_track *t, uint64_t ticks, uint32_t kinds,
                                   uint64_t time, uint64_t address, uint64_t bytes,
                                   uint32_t correlation, uint16_t device)
{
    uint64_t words[12] = {time, address, (uint64_t)device << 32 | correlation, 0, bytes};

    track_put(t, TP_EVENT_CUDA_MEMORY, ticks, kinds, words);
}

#endif
