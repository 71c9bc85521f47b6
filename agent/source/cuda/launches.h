/* SPDX-License-Identifier: MIT */
#ifndef TP_SOURCE_CUDA_LAUNCHES_H
#define TP_SOURCE_CUDA_LAUNCHES_H

/*
 * Launches as they came before: kernel, grid, block and shared memory, with the ids of both names.
 * One cache line each, so that a launch of a training step is found with one look where its kernel
 * and its geometry took two, each in a table of its own. Context: hook.
 */

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "intern.h"
#include "seqlock.h"

struct tp_dim3 {
    unsigned x, y, z;
};

struct tp_cuda_launch {
    const void *function; /* as the call names it */
    struct tp_dim3 grid, block;
    uint32_t shared;
};

struct tp_cuda_launch_line {
    _Atomic uint32_t number; /* seqlock.h */
    uint32_t owner;          /* the ids are this process's (intern.h) */
    uint32_t changes;        /* of kernels' names, before the name was looked up */
    uint32_t kernel, geometry;
    struct tp_cuda_launch launch;
} __attribute__((aligned(64)));
_Static_assert(sizeof(struct tp_cuda_launch_line) == 64, "one line");

#define TP_CUDA_LAUNCHES 1024u
extern struct tp_cuda_launch_line tp_cuda_launches[TP_CUDA_LAUNCHES];

/* Times that what a kernel's address stands for has changed. */
extern _Atomic uint32_t tp_cuda_kernel_changes;

static inline struct tp_cuda_launch_line *tp_cuda_launch_line(const struct tp_cuda_launch *l)
{
    uint64_t hash =
        (uintptr_t)l->function * UINT64_C(0x9e3779b97f4a7c15) +
        l->grid.x * UINT64_C(0xd1342543de82ef95) + l->grid.y * UINT64_C(0x8ab8e7d5f3cbb1a9) +
        l->block.x * UINT64_C(0xaef17502108ef2d9) + l->shared * UINT64_C(0xf1357aea2e62a9c5);

    return &tp_cuda_launches[hash >> 54];
}

/** tp_cuda_launch_known - a launch that tp_cuda_launch_keep kept. *ret_ids: its geometry's name id
 * << 32 | its kernel's. Field by field, from registers: the caller has just put them together. */
static inline bool tp_cuda_launch_known(const struct tp_cuda_launch *l, uint64_t *ret_ids)
{
    const struct tp_cuda_launch_line *line = tp_cuda_launch_line(l);
    const struct tp_cuda_launch *k = &line->launch;
    uint32_t before;

    if (!tp_seq_read_begin(&line->number, &before))
        return false;
    uint32_t differs =
        (k->grid.x ^ l->grid.x) | (k->grid.y ^ l->grid.y) | (k->grid.z ^ l->grid.z) |
        (k->block.x ^ l->block.x) | (k->block.y ^ l->block.y) | (k->block.z ^ l->block.z) |
        (k->shared ^ l->shared) | (line->owner ^ tp_names_owner()) |
        (line->changes ^ atomic_load_explicit(&tp_cuda_kernel_changes, memory_order_relaxed));
    *ret_ids = (uint64_t)line->geometry << 32 | line->kernel;
    return k->function == l->function && !differs && tp_seq_read_end(&line->number, before);
}

/** tp_cuda_launch_keep - @changes: of kernels' names, before the kernel's was looked up */
void tp_cuda_launch_keep(const struct tp_cuda_launch *launch, uint32_t changes, uint32_t kernel,
                         uint32_t geometry);

#endif
