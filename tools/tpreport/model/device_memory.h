/* SPDX-License-Identifier: MIT
 * Memory of devices over time: what was allocated and freed, the most at once, and what was live at
 * the end with the operator that allocated it. */
#ifndef TP_MODEL_DEVICE_MEMORY_H
#define TP_MODEL_DEVICE_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Something is allocated or freed. */
struct tp_memory_step {
    int64_t ns;              /* from the run's start */
    int64_t bytes;           /* signed; of a free that does not say its size 0 */
    uint64_t address, space; /* see struct tp_live_block */
    uint32_t owner;          /* string id of the operator; TP_STRING_NONE none */
    int32_t device;
    bool is_free;
};

/* A device's sums; @curve has at most TP_MEMORY_POINTS points, each the most of its stretch. */
#define TP_MEMORY_POINTS 200u

struct tp_memory_device {
    int32_t device;
    uint64_t allocations, frees, unknown_frees; /* the last: of blocks that are not known */
    int64_t allocated, freed;                   /* bytes */
    int64_t live, peak, peak_ns;
    struct tp_memory_point {
        int64_t ns, bytes;
    } * curve;
    size_t curve_count;
};

/* Blocks that are live at the end, by device and operator. */
struct tp_memory_owner {
    int32_t device;
    uint32_t owner;
    uint64_t blocks;
    int64_t bytes;
};

/* Start from zeros. */
struct tp_device_memory {
    struct tp_memory_step *steps;
    size_t count, capacity;
    bool by_framework; /* its own allocator's, of any process; else what calls of CUDA tell */
    struct tp_memory_device *devices; /* these by tp_device_memory_finish */
    size_t device_count;
    struct tp_memory_owner *owners; /* most bytes first */
    size_t owner_count;
};

void tp_device_memory_fini(struct tp_device_memory *memory);

/** tp_device_memory_add - in any order. Return: 0 or -ENOMEM. */
int tp_device_memory_add(struct tp_device_memory *memory, const struct tp_memory_step *step);

/** tp_device_memory_finish - all steps are there. Return: 0 or -ENOMEM. */
int tp_device_memory_finish(struct tp_device_memory *memory);

#endif
