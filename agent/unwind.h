/* SPDX-License-Identifier: MIT */
#ifndef TP_AGENT_UNWIND_H
#define TP_AGENT_UNWIND_H

/*
 * Steps from a function to its caller by the call frame information that compilers leave for
 * exceptions (.eh_frame, found by glibc's _dl_find_object, 2.35 and newer), so that functions
 * without frame pointers are seen. What holds behind a call is a rule, one word; rules are kept in
 * a table that all threads share. No lock, no allocation, no system call.
 *
 * Only what compilers make of ordinary functions becomes a rule: the caller's stack begins at a
 * distance from the stack or the frame pointer (or at what lies there, in functions that align
 * their stack), and the frame pointer is where it was, or saved at a distance. The return address
 * is always the word below the caller's stack. x86-64 only; elsewhere every step follows the frame
 * pointer.
 */

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TP_UNWIND_INDEX_BITS 14u

/* Where the caller's stack begins. */
enum tp_unwind_base {
    TP_UNWIND_UNKNOWN, /* not looked for yet */
    TP_UNWIND_STACK,   /* stack pointer + offset */
    TP_UNWIND_FRAME,   /* frame pointer + offset */
    TP_UNWIND_SAVED,   /* the word at frame pointer + offset */
    TP_UNWIND_CHAIN,   /* nothing is known of the code: it may keep frame pointers */
    TP_UNWIND_END,     /* there is no caller, or none that is told in these terms */
    TP_UNWIND_SIGNAL   /* where a handler returns to: what it interrupted has not called it */
};

/* Where the caller's frame pointer is. */
enum tp_unwind_frame {
    TP_UNWIND_SAME,
    TP_UNWIND_BELOW,   /* saved so many bytes below the caller's stack */
    TP_UNWIND_AT_FRAME /* where the frame pointer points to */
};

struct tp_unwind_rule {
    enum tp_unwind_base base;
    enum tp_unwind_frame frame;
    int32_t offset;       /* a multiple of 8 */
    uint32_t frame_below; /* a multiple of 8 */
};

/* Of a function that is in a call: where it goes on, and its stack and frame pointer there. The
 * word below its stack is pc. */
struct tp_unwind {
    uintptr_t pc, sp, bp;
    uintptr_t bp_at; /* where bp was read; 0 nowhere: it is as in the function before;
                        TP_UNWIND_FURTHER: more was read */
};
#define TP_UNWIND_FURTHER 1u

/* A rule and which address it is for: the parts of a number that stands for the address, of which
 * the other part is the place in the table. NULL: there is no table. */
extern _Atomic uint64_t *tp_unwind_table;

/** tp_unwind_start - make the table, if this libc can find call frame information. Context: start.
 */
void tp_unwind_start(void);

/** tp_unwind_find - the rule that holds at an instruction. Context: hook: @pc must lie in an object
 * that stays loaded meanwhile. */
struct tp_unwind_rule tp_unwind_find(uintptr_t pc);

/** tp_unwind_is_signal_return - whether a handler that returns to @pc goes back to what its signal
 * interrupted: all unwinders know that code by what it is. True also where it cannot be read.
 * Context: hook, any address. */
bool tp_unwind_is_signal_return(uintptr_t pc);

/** tp_unwind_learn - as tp_unwind_find, for what is behind the call before @pc; kept in the table.
 * Return: the rule as it stands there. Context: hook. */
uint32_t tp_unwind_learn(uintptr_t pc);

/* A rule in 30 bits: base 3, frame 2, offset 15, frame_below 10. */
#define TP_UNWIND_RULE_BITS 30u

static inline uint64_t tp_unwind_key(uintptr_t pc)
{
    /* an odd factor: no two addresses of 48 bits have the same number */
    return (pc * UINT64_C(0x9e3779b97f4a7c15)) << 16;
}

static inline uint32_t tp_unwind_rule(uintptr_t pc)
{
    _Atomic uint64_t *table = tp_unwind_table;

    if (!table)
        return TP_UNWIND_CHAIN;
    uint64_t key = tp_unwind_key(pc);
    uint64_t seen =
        atomic_load_explicit(&table[key >> (64 - TP_UNWIND_INDEX_BITS)], memory_order_relaxed);
    if (seen && (seen ^ key << TP_UNWIND_INDEX_BITS) >> TP_UNWIND_RULE_BITS == 0)
        return (uint32_t)seen & ((1u << TP_UNWIND_RULE_BITS) - 1);
    return tp_unwind_learn(pc);
}

static inline uintptr_t tp_unwind_word(uintptr_t address)
{
    return *(const uintptr_t *)address;
}

/* Whether a word of the stack is at @at. */
static inline bool tp_unwind_inside(uintptr_t at, uintptr_t low, uintptr_t high)
{
    return at >= low && at <= high - sizeof(at) && at % sizeof(at) == 0;
}

/**
 * tp_unwind_step - from a function to its caller
 * @u:    becomes the caller's
 * @high: end of the thread's stack, which is readable from u->sp on
 *
 * Context: hook. Return: false: there is no caller, or it is not known.
 */
static inline bool tp_unwind_step(struct tp_unwind *u, uintptr_t high)
{
    uint32_t rule = tp_unwind_rule(u->pc);
    uintptr_t low = u->sp, base, bp = u->bp, further = 0;
    intptr_t offset = (intptr_t)((int32_t)(rule << 12) >> 17) * 8;

    switch (rule & 7) {
    case TP_UNWIND_STACK:
        base = u->sp + (uintptr_t)offset;
        break;
    case TP_UNWIND_FRAME:
        base = bp + (uintptr_t)offset;
        break;
    case TP_UNWIND_SAVED:
        base = bp + (uintptr_t)offset;
        if (!tp_unwind_inside(base, low, high))
            return false;
        base = tp_unwind_word(base);
        further = TP_UNWIND_FURTHER;
        break;
    case TP_UNWIND_CHAIN:
        base = bp + 2 * sizeof(base);
        if (bp > high || !tp_unwind_inside(bp, low, high) || base > high)
            return false;
        u->bp = tp_unwind_word(bp);
        u->bp_at = bp;
        u->pc = tp_unwind_word(bp + sizeof(bp));
        u->sp = base;
        return true;
    default:
        return false;
    }
    if (base <= low || base > high || base % sizeof(base))
        return false;
    u->bp_at = 0;
    if ((rule >> 3 & 3) == TP_UNWIND_BELOW) {
        uintptr_t saved = base - (uintptr_t)(rule >> 20 & 0x3ff) * 8;
        if (!tp_unwind_inside(saved, low, high))
            return false;
        u->bp = tp_unwind_word(saved);
        u->bp_at = saved;
    } else if ((rule >> 3 & 3) == TP_UNWIND_AT_FRAME) {
        if (!tp_unwind_inside(bp, low, high))
            return false;
        u->bp = tp_unwind_word(bp);
        u->bp_at = bp;
    }
    u->bp_at = further ? further : u->bp_at;
    u->pc = tp_unwind_word(base - sizeof(base));
    u->sp = base;
    return true;
}

#endif
