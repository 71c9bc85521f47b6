/* SPDX-License-Identifier: MIT */
#ifndef TP_SOURCE_MALLOC_HOOKS_H
#define TP_SOURCE_MALLOC_HOOKS_H

/* What libtpagent.so offers libtpagent_new.so, under the name below: the two are built and
 * installed together. All of it is Context: hook. */

#include <stddef.h>
#include <stdint.h>

#define TP_ALLOCATION_HOOKS "tpagent_allocation_hooks"

struct tp_allocation_hooks {
    /* numbers of the calling thread's that change when it allocates and when it frees through the
     * malloc family; that of frees only while something is tried out */
    void (*count)(uint64_t *ret_allocations, uint64_t *ret_frees);
    /* 1: from now on frees change theirs; 0, once for each 1: no more */
    void (*try_out)(int is_on);
    /* a block of an operator new that does not call malloc; @frame: of who the program has called
     */
    void (*allocated)(void *pointer, size_t size, const void *frame);
    /* a block of such an operator is about to be deleted; not NULL */
    void (*freeing)(void *pointer);
};

#endif
