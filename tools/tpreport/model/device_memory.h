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

/* Whose blocks they are, as a set: a process has one of them, a run several. */
enum tp_memory_source {
    TP_MEMORY_FRAMEWORK = 1, /* of a framework's own allocator, as it told */
    TP_MEMORY_CUDA = 2,      /* of calls of CUDA */
    TP_MEMORY_SEGMENTS = 4,  /* the same, where a framework's allocator did not tell */
};

/* Start from zeros. */
struct tp_device_memory {
    struct tp_memory_step *steps;
    size_t count, capacity;
    unsigned sources;                 /* a set of enum tp_memory_source */
    struct tp_memory_device *devices; /* these by tp_device_memory_finish */
    size_t device_count;
    struct tp_memory_owner *owners; /* most bytes first */
    size_t owner_count;
};

/** tp_device_memory_source_name - of one source; "mixed" for several, NULL for none */
const char *tp_device_memory_source_name(unsigned sources);

void tp_device_memory_fini(struct tp_device_memory *memory);

/** tp_device_memory_add - in any order. Return: 0 or -ENOMEM. */
int tp_device_memory_add(struct tp_device_memory *memory, const struct tp_memory_step *step);

/** tp_device_memory_finish - all steps are there. Return: 0 or -ENOMEM. */
int tp_device_memory_finish(struct tp_device_memory *memory);

#endif
