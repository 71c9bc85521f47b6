/* SPDX-License-Identifier: MIT */
#ifndef TP_AGENT_WALK_H
#define TP_AGENT_WALK_H

/*
 * The native part of a call stack: return addresses and a hash of them. A thread's stacks differ in
 * a few inner frames mostly, so each walk looks where the last one went: what it has read decides
 * where it goes, and from a frame that stands where it stood the words that were read there need
 * only be compared.
 */

#include <stdbool.h>
#include <stdint.h>

#include "stack.h"
#include "unwind.h"

#define TP_WALK_FRAMES TP_STACK_FRAMES_MAX

/* A thread's last walk, outermost frame last. */
struct tp_last_walk {
    uint8_t busy;   /* a signal handler may come while it is made */
    unsigned first; /* of the frames; TP_WALK_FRAMES: none */
    uintptr_t high;
    struct tp_unwind frames[TP_WALK_FRAMES], inner[TP_WALK_FRAMES];

    /* What the frames outside of each one made of the hash, and how the walk ended, for one that
     * comes to a frame with the same number. */
    uint64_t outer[TP_WALK_FRAMES], inner_outer[TP_WALK_FRAMES];
    unsigned end; /* the last frame */
    unsigned end_count;
    bool python, at_loop, goes_on;
};

struct tp_walk {
    uintptr_t *addresses; /* room for depth of them; innermost first */
    unsigned count, depth;
    bool python;   /* ends at the interpreter's loop */
    bool at_loop;  /* has ended there */
    bool is_known; /* from some frame on as the last one: addresses from there on are left out */
    uint64_t hash; /* whatever it was before, and the addresses */
};

/**
 * tp_walk_stack - add the return addresses from @frame on
 * @walk:  addresses, depth, python and hash are set, the rest is zero
 * @frame: __builtin_frame_address(0) of a function
 * @high:  end of the stack, which is readable from @frame on
 * @last:  of the calling thread, `first` is TP_WALK_FRAMES at the start; NULL: none, is_known stays
 * false
 *
 * Context: hook.
 */
void tp_walk_stack(struct tp_walk *walk, const void *frame, uintptr_t high,
                   struct tp_last_walk *last);

#endif
