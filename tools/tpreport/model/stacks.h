/* SPDX-License-Identifier: MIT
 * Lists of ids, of strings or of frames (call stacks, innermost first), each stored once; ids of
 * lists are equal iff the lists are. */
#ifndef TP_MODEL_STACKS_H
#define TP_MODEL_STACKS_H

#include <stddef.h>
#include <stdint.h>

enum {
    TP_STACK_NONE = 0,  /* None: no stack recorded */
    TP_STACK_EMPTY = 1, /* [] */
};

struct tp_stack {
    uint64_t first; /* index into the frames */
    uint32_t count;
};

struct tp_stacks {
    struct tp_stack *items;
    uint32_t count, capacity;
    uint32_t *frames; /* string ids */
    uint64_t frame_count, frame_capacity;
    uint32_t *slots; /* open addressing; id + 1, 0 = free */
    uint32_t slot_count;
    uint64_t seed; /* of hashes */
};

/**
 * tp_stacks_init - a pool holding None and the empty list
 * tp_stacks_fini - free it; takes a zeroed pool as well
 *
 * Context: offline. One thread at a time may change a pool; when nobody does, any number may read.
 * Return: 0 or -ENOMEM.
 */
int tp_stacks_init(struct tp_stacks *stacks);
void tp_stacks_fini(struct tp_stacks *stacks);

/**
 * tp_stacks_put - the id of a list of string ids, stored if it is new
 * @frames: copied; innermost first; may be NULL when @count is 0
 *
 * Return: 0, -ENOMEM or -TP_ELIMIT.
 */
int tp_stacks_put(struct tp_stacks *stacks, const uint32_t *frames, uint32_t count,
                  uint32_t *ret_id);

static inline uint32_t tp_stacks_count(const struct tp_stacks *stacks, uint32_t id)
{
    return stacks->items[id].count;
}

/** tp_stacks_frames - borrow the string ids; valid until the next put */
static inline const uint32_t *tp_stacks_frames(const struct tp_stacks *stacks, uint32_t id)
{
    return stacks->frames + stacks->items[id].first;
}

#endif
