/* SPDX-License-Identifier: MIT */
#include "stack.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "agent.h"
#include "base/os.h"
#include "intern.h"
#include "python_frames.h"
#include "record.h"
#include "unwind.h"
#include "walk.h"

#define CACHE_LINES 1024u
#define PYTHON_LINES 256u
#define FRAME_LINES 1024u
#define ADDRESS_LINES 1024u
#define INNER_FRAMES 8u
#define MET_SHIFT 46
#define MET_LINES (1u << (64 - MET_SHIFT))
#define ID_MASK ((UINT64_C(1) << 21) - 1) /* ids are below 2^20 + 16 */
#define PAGE ((uintptr_t)4096)
#define STACK_MAX (UINT64_C(64) << 20)
#define ROOM_FOR_DRAIN (UINT64_C(256) << 10)

/* The first thread's stack may grow from its top down to there; nothing else is ever put in
 * between. */
static uintptr_t first_low, first_high;

/* By hash what is left of it, of stacks met while names are scarce. NULL without memory. */
static _Atomic uint32_t *met;

void tp_stack_start(void)
{
    uint64_t limit = tp_os_stack_limit();

    /* the kernel puts these bytes above the first frame */
    first_high = (uintptr_t)tp_os_auxval_random() & ~(uintptr_t)15;
    limit = limit < STACK_MAX ? limit : STACK_MAX;
    first_low = first_high > limit ? first_high - limit : first_high;
}

const char *tp_stack_start_frames(void)
{
    met = tp_os_map(MET_LINES * sizeof(*met));
    tp_unwind_start();
    return tp_python_frames_start();
}

int tp_stack_is_roomy(void)
{
    uintptr_t here = (uintptr_t)__builtin_frame_address(0);

    return here < first_high && here > first_low + ROOM_FOR_DRAIN;
}

uintptr_t tp_stack_first_end(void)
{
    return first_high;
}

/*
 * Bounds of the stack that @here is on. The own variables of a thread that was made later lie at
 * the top of its stack; what is between must be readable, page by page, which a guard page or a
 * hole is not. The first thread's lie elsewhere.
 */
static __attribute__((noinline)) bool find_bounds(uintptr_t here)
{
    uintptr_t high = (uintptr_t)&tp_tls, page = here & ~(PAGE - 1);

    if (here < first_high && here >= first_low) {
        tp_tls.stack_low = first_low;
        tp_tls.stack_high = first_high;
        return true;
    }
    if (page == tp_tls.no_stack || tp_tls.thread->tid == tp_agent.live->pid)
        return false;
    uintptr_t known =
        tp_tls.stack_high == high && here < tp_tls.stack_low ? tp_tls.stack_low : high;
    if (here >= high || high - here > STACK_MAX || !tp_os_readable(page, known - page)) {
        tp_tls.no_stack = page;
        return false;
    }
    tp_tls.stack_low = page;
    tp_tls.stack_high = high;
    return true;
}

#if defined(__x86_64__)
/* e8 with four bytes, or ff with the register field 2 and what an address takes. */
int tp_stack_is_after_call(uint64_t before)
{
    uint8_t b[8];

    __builtin_memcpy(b, &before, sizeof(b));
    if (b[3] == 0xe8)
        return 1;
    for (unsigned i = 1; i < 7; i++)
        if (b[i] == 0xff && (b[i + 1] & 0x38) == 0x10 && i != 3)
            return 1;
    return 0;
}
#elif defined(__aarch64__)
int tp_stack_is_after_call(uint64_t before)
{
    uint32_t instruction = (uint32_t)(before >> 32);

    return (instruction & 0xfc000000) == 0x94000000 || (instruction & 0xfffffc1f) == 0xd63f0000;
}
#else
int tp_stack_is_after_call(uint64_t before)
{
    (void)before;
    return 0;
}
#endif

/* A stack in parts: native frames, and outside of them those of Python. */
struct stack {
    uintptr_t native[TP_STACK_FRAMES_MAX];
    uint32_t ids[TP_STACK_FRAMES_MAX]; /* of the native ones; TP_NAME_NONE: not made yet */
    struct tp_python_frame python[TP_STACK_FRAMES_MAX];
    unsigned native_count, python_count;
    uint64_t python_hash;
    bool is_gapless; /* the interpreter is the caller of the last native one */
};

/* What a thread keeps of stacks. A line is one word, an id and what is left of a hash: whatever a
 * signal handler puts there, the two belong together. */
struct tp_thread_stacks {
    _Atomic uint64_t lines[CACHE_LINES];
    _Atomic uint64_t python[PYTHON_LINES];     /* those of Python's frames alone */
    _Atomic uint64_t frames[FRAME_LINES];      /* names of single ones of these */
    _Atomic uint64_t addresses[ADDRESS_LINES]; /* names of addresses */
    struct tp_last_walk last;
};

#define ADDRESS_SHIFT 54
#define LINE_SHIFT 54
#define FRAME_SHIFT 54
#define PYTHON_LINE_SHIFT 56

_Static_assert(ADDRESS_LINES == 1u << (64 - ADDRESS_SHIFT), "lines by the key's highest bits");
_Static_assert(FRAME_LINES == 1u << (64 - FRAME_SHIFT), "lines by the key's highest bits");
_Static_assert(CACHE_LINES == 1u << (64 - LINE_SHIFT), "lines by the hash's highest bits");
_Static_assert(PYTHON_LINES == 1u << (64 - PYTHON_LINE_SHIFT), "lines by the hash's highest bits");

static inline bool is_kept(_Atomic uint64_t *line, uint64_t hash, uint32_t *ret_id)
{
    uint64_t seen = line ? atomic_load_explicit(line, memory_order_relaxed) : 0;

    *ret_id = (uint32_t)(seen & ID_MASK);
    return seen && (seen & ~ID_MASK) == (hash & ~ID_MASK);
}

static inline void keep_id(_Atomic uint64_t *line, uint64_t hash, uint32_t id)
{
    if (line && id >= TP_NAME_FIRST)
        atomic_store_explicit(line, (hash & ~ID_MASK) | id, memory_order_relaxed);
}

/* Between the last native frame that is known and the interpreter. */
#define GAP "(native functions left out)"

/*
 * What is told of a stack where there is little room for names, and of how much of all room they
 * may use for that: stacks that are met for the first time less than those that are met again, so
 * that these, which are few and have most of the allocations, are whole to the end.
 */
static const struct level {
    uint8_t native, python; /* frames, innermost ones */
    uint8_t first, again;   /* shares of all room */
} levels[] = {
    {4, 2, 40, 58},
    {1, 1, 44, 60},
    {1, 0, 48, TP_NAMES_OF_STACKS},
};
#define LEVELS (sizeof(levels) / sizeof(levels[0]))
#define SHORT_FRAMES 8 /* of both, and what is left out of each */
#define WHOLE_FIRST 24u
#define WHOLE_AGAIN 56u

/* From so many bytes on an allocation's stack counts as met again. */
#define LARGE (UINT64_C(16) << 10)

static uint32_t intern_stack(unsigned share, const uint32_t *ids, unsigned count)
{
    return tp_intern_within(share, TP_NAME_STACK, ids, count * sizeof(*ids));
}

static uint32_t intern_text(const char *text)
{
    return tp_intern_text(TP_NAME_TEXT, text);
}

/* The name of a frame of Python: to tell it takes long. */
static uint32_t frame_id(const struct tp_python_frame *frame, struct tp_thread_stacks *stacks)
{
    uint64_t key = tp_python_frame_key(frame) * UINT64_C(0x9e3779b97f4a7c15);
    _Atomic uint64_t *line = stacks ? &stacks->frames[key >> FRAME_SHIFT] : NULL;
    uint32_t id;

    if (is_kept(line, key, &id))
        return id;
    id = tp_python_frame_id(frame);
    keep_id(line, key, id);
    return id;
}

/* Of Python's frames alone: many stacks have the same ones. */
static uint32_t python_id(unsigned share, const struct stack *stack,
                          struct tp_thread_stacks *stacks)
{
    uint64_t hash = stack->python_hash * UINT64_C(0x9e3779b97f4a7c15);
    _Atomic uint64_t *line = stacks ? &stacks->python[hash >> PYTHON_LINE_SHIFT] : NULL;
    uint32_t ids[TP_STACK_FRAMES_MAX], id;

    if (is_kept(line, hash, &id))
        return id;
    for (unsigned i = 0; i < stack->python_count; i++) {
        ids[i] = frame_id(&stack->python[i], stacks);
        if (ids[i] < TP_NAME_FIRST)
            return ids[i];
    }
    id = intern_stack(share, ids, stack->python_count);
    keep_id(line, hash, id);
    return id;
}

/* The bytes before an address that nobody knows as code, which may not be there. */
static bool read_before(uintptr_t address, uint64_t *ret)
{
    uintptr_t from = address - sizeof(*ret);

    return tp_os_read_memory(ret, &from, 1) == 1;
}

static bool is_behind_call(uintptr_t address)
{
    uint64_t code;
    const void *before = tp_unwind_before(address, sizeof(code));

    if (before)
        __builtin_memcpy(&code, before, sizeof(code));
    else if (!read_before(address, &code))
        return false;
    return tp_stack_is_after_call(code);
}

/* The name of an address, if it has one. An address's key tells it apart from all others. */
static uint32_t known_address(struct tp_thread_stacks *stacks, uint64_t address)
{
    uint64_t key = tp_unwind_key(address);
    _Atomic uint64_t *line = stacks ? &stacks->addresses[key >> ADDRESS_SHIFT] : NULL;
    uint32_t id;

    key <<= 64 - ADDRESS_SHIFT; /* the line says the rest */
    if (is_kept(line, key, &id))
        return id;
    id = tp_intern_within(0, TP_NAME_ADDRESS, &address, sizeof(address));
    keep_id(line, key, id);
    return id;
}

/*
 * How many of the native frames are such: behind a call. The first one is, it is where we return
 * to, and those that have a name were looked at then.
 */
static unsigned cut(struct stack *stack, struct tp_thread_stacks *stacks)
{
    for (unsigned i = 0; i < stack->native_count; i++) {
        stack->ids[i] = known_address(stacks, stack->native[i]);
        if (i && stack->ids[i] == TP_NAME_NONE && !is_behind_call(stack->native[i]))
            return i;
    }
    return stack->native_count;
}

/* The name of a native frame. */
static uint32_t address_id(unsigned share, const struct stack *stack, unsigned i)
{
    uint64_t address = stack->native[i];

    return stack->ids[i] != TP_NAME_NONE
               ? stack->ids[i]
               : tp_intern_within(share, TP_NAME_ADDRESS, &address, sizeof(address));
}

static unsigned put_native(unsigned share, const struct stack *stack, unsigned count, uint32_t *ids)
{
    for (unsigned i = 0; i < count; i++) {
        ids[i] = address_id(share, stack, i);
        if (ids[i] < TP_NAME_FIRST)
            return i + 1; /* which says why there is no more */
    }
    return count;
}

/* @share: 0: a name that there is, or none. Return: its id; one that says why there is none. */
static uint32_t whole_id(unsigned share, const struct stack *stack, unsigned native,
                         struct tp_thread_stacks *stacks)
{
    uint32_t ids[TP_STACK_FRAMES_MAX + 2];
    unsigned n = put_native(share, stack, native, ids);

    if (n && ids[n - 1] < TP_NAME_FIRST)
        return ids[n - 1];
    if (stack->python_count) {
        if (!stack->is_gapless || native < stack->native_count)
            ids[n++] = intern_text(GAP);
        ids[n++] = python_id(share, stack, stacks);
        if (ids[n - 1] < TP_NAME_FIRST)
            return ids[n - 1];
    }
    if (n > INNER_FRAMES + 1) { /* stacks that differ inside have the rest in common */
        uint32_t outer = intern_stack(share, ids + INNER_FRAMES, n - INNER_FRAMES);
        if (outer < TP_NAME_FIRST)
            return outer;
        ids[INNER_FRAMES] = outer;
        n = INNER_FRAMES + 1;
    }
    return intern_stack(share, ids, n);
}

/* The innermost frames of each kind. */
static uint32_t shortened_id(const struct level *level, unsigned share, const struct stack *stack,
                             unsigned native, struct tp_thread_stacks *stacks)
{
    uint32_t ids[SHORT_FRAMES];
    unsigned told = native < level->native ? native : level->native;
    unsigned python = stack->python_count < level->python ? stack->python_count : level->python;
    unsigned n = put_native(share, stack, told, ids);

    if (n && ids[n - 1] < TP_NAME_FIRST)
        return ids[n - 1];
    if (told < native)
        ids[n++] = intern_text(TP_STACK_CUT);
    else if (stack->python_count && (!stack->is_gapless || native < stack->native_count))
        ids[n++] = intern_text(GAP);
    for (unsigned i = 0; i < python; i++) {
        ids[n] = frame_id(&stack->python[i], stacks);
        if (ids[n++] < TP_NAME_FIRST)
            return ids[n - 1];
    }
    if (python < stack->python_count && (python || told == native))
        ids[n++] = intern_text(TP_STACK_CUT);
    return intern_stack(share, ids, n);
}

static bool is_met_again(uint64_t hash)
{
    uint32_t tag = (uint32_t)hash | 1;

    return met &&
           atomic_exchange_explicit(&met[hash >> MET_SHIFT], tag, memory_order_relaxed) == tag;
}

/* @ret_is_final: whether it will be the same the next time. */
static __attribute__((noinline)) uint32_t make_id(struct stack *stack, uint64_t hash,
                                                  uint64_t weight, struct tp_thread_stacks *stacks,
                                                  bool *ret_is_final)
{
    bool is_roomy = tp_names_are_within(WHOLE_FIRST);
    bool is_again = !is_roomy && (is_met_again(hash) || weight >= LARGE);
    unsigned native = cut(stack, stacks);

    tp_python_frames_meet(stack->native, native);
    uint32_t id = whole_id(is_roomy   ? WHOLE_FIRST
                           : is_again ? WHOLE_AGAIN
                                      : 0,
                           stack, native, stacks);
    *ret_is_final = is_roomy || is_again || id >= TP_NAME_FIRST;
    if (id >= TP_NAME_FIRST)
        return id;
    tp_intern_count_refused(0);
    for (unsigned i = 0; id < TP_NAME_FIRST && i < LEVELS; i++)
        id = shortened_id(&levels[i], is_again ? levels[i].again : levels[i].first, stack, native,
                          stacks);
    return id < TP_NAME_FIRST ? intern_text(TP_STACK_CUT) : id;
}

static struct tp_thread_stacks *stacks_of(struct tp_thread *t)
{
    if (tp_unlikely(!t->stacks)) {
        t->stacks = tp_os_map(sizeof(*t->stacks));
        if (t->stacks)
            t->stacks->last.first = TP_WALK_FRAMES;
    }
    return t->stacks;
}

uint32_t tp_stack_id(const void *frame, unsigned depth, uint64_t weight)
{
    struct tp_thread_stacks *stacks = stacks_of(tp_tls.thread);
    uintptr_t here = (uintptr_t)frame;
    struct stack stack;
    struct tp_walk w = {.addresses = stack.native, .depth = depth};
    bool is_final;
    uint32_t id;

    if (tp_unlikely(here < tp_tls.stack_low || here >= tp_tls.stack_high) && !find_bounds(here))
        w.depth = 1; /* this frame is there, whatever it is on */
    stack.python_count = tp_python_frames(stack.python, depth, &w.hash);
    stack.python_hash = w.hash;
    w.python = stack.python_count > 0;
    tp_walk_stack(&w, frame, tp_tls.stack_high, w.depth > 1 && stacks ? &stacks->last : NULL);
    if (!w.count && !stack.python_count)
        return TP_NAME_NONE;
    uint64_t hash = (w.hash ^ w.at_loop) * UINT64_C(0xbf58476d1ce4e5b9);
    hash ^= hash >> 32;
    _Atomic uint64_t *line = stacks ? &stacks->lines[hash >> LINE_SHIFT] : NULL;
    if (tp_likely(is_kept(line, hash, &id)))
        return id;
    if (w.is_known) { /* its addresses are wanted after all */
        w = (struct tp_walk){.addresses = stack.native, .depth = w.depth, .python = w.python};
        tp_walk_stack(&w, frame, tp_tls.stack_high, NULL);
    }
    stack.native_count = w.count;
    stack.is_gapless = w.at_loop;
    id = make_id(&stack, hash, weight, stacks, &is_final);
    if (is_final)
        keep_id(line, hash, id);
    return id;
}
