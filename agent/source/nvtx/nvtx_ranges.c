/* SPDX-License-Identifier: MIT */
/*
 * NVTX ranges and marks.
 *
 * A thread's push/pop ranges are one stack in the recording, while NVTX has one stack a domain.
 * They are the same as long as ranges of different domains nest. For when they cross, the domain of
 * each level is kept beside the thread's block (only once the program has pushed in a domain at
 * all): a pop of a range that is not the innermost is owed, and is written together with the end of
 * the range above it.
 */
#include "source/nvtx/nvtx.h"

#include "agent.h"
#include "intern.h"
#include "points.h"
#include "sources.h"

#define LEVELS 64u
#define OWED UINT16_MAX

/* Domain number by thread block and level; 0 the default one. Deeper levels are not told apart. */
static uint16_t level_domains[TP_THREADS_MAX][LEVELS];
static bool has_domains;

static uint16_t short_number(const struct tp_scope *domain)
{
    return !domain ? 0 : domain->number < OWED ? (uint16_t)domain->number : OWED - 1;
}

/* Note the domain of the range that begins at @depth. Return: its level within its domain. */
static __attribute__((noinline)) int enter_level(const struct tp_scope *domain, uint32_t depth)
{
    uint16_t *levels = level_domains[tp_tls.thread->index], number = short_number(domain);
    int same = 0;

    has_domains = true;
    for (uint32_t i = 0; i < depth && i < LEVELS; i++)
        same += levels[i] == number;
    if (depth < LEVELS)
        levels[depth] = number;
    return same;
}

static inline int push(const struct tp_scope *domain, uint32_t name)
{
    uint32_t depth = tp_record_depth(TP_CLASS_NVTX);
    int level = tp_unlikely(domain || has_domains) ? enter_level(domain, depth) : (int)depth;

    tp_record_begin(TP_EVENT_NVTX_PUSH, TP_CLASS_NVTX, name);
    return level;
}

static __attribute__((noinline)) int push_text(const char *message)
{
    uint32_t name = message ? tp_intern_known(TP_NAME_TEXT, message) : TP_NAME_NONE;

    return push(NULL, tp_likely(name) ? name : tp_scope_text(NULL, message));
}

int tp_nvtx_push(const char *message)
{
    return tp_may_record() ? push_text(message) : TP_NVTX_NOT_TRACKED;
}

int tp_nvtx_push_wide(const wchar_t *message)
{
    return tp_may_record() ? push(NULL, tp_scope_wide(NULL, message)) : TP_NVTX_NOT_TRACKED;
}

/* --- attributes
 * ----------------------------------------------------------------------------------------- */

#define HAS(attributes, field)                                                                     \
    ((attributes)->size >= offsetof(struct tp_nvtx_attributes, field) + sizeof((attributes)->field))

static uint32_t message_of(const struct tp_scope *domain, const struct tp_nvtx_attributes *a)
{
    struct tp_nvtx_string *string;

    if (!HAS(a, message) || !a->message)
        return TP_NAME_NONE;
    switch (a->message_type) {
    case TP_NVTX_MESSAGE_ASCII:
        return tp_scope_text(domain, a->message);
    case TP_NVTX_MESSAGE_WIDE:
        return tp_scope_wide(domain, a->message);
    case TP_NVTX_MESSAGE_REGISTERED:
        string = (struct tp_nvtx_string *)(uintptr_t)a->message;
        return string->name.scope == domain
                   ? tp_held_id(&string->name)
                   : tp_scope_name(domain, string->name.text, string->name.length);
    default:
        return TP_NAME_NONE;
    }
}

/* What attributes say beyond the message; all zero: nothing. */
struct extras {
    uint32_t category, color, payload_type;
    uint64_t payload;
};

static bool read_extras(const struct tp_nvtx_attributes *a, struct extras *ret)
{
    *ret = (struct extras){0};
    if (HAS(a, category))
        ret->category = a->category;
    if (HAS(a, color) && a->color_type == TP_NVTX_COLOR_ARGB)
        ret->color = a->color;
    if (HAS(a, payload) && a->payload_type >= TP_NVTX_PAYLOAD_U64 &&
        a->payload_type <= TP_NVTX_PAYLOAD_F32) {
        ret->payload_type = (uint32_t)a->payload_type;
        ret->payload = a->payload_type >= TP_NVTX_PAYLOAD_U32 ? (uint32_t)a->payload : a->payload;
    }
    return ret->category | ret->color | ret->payload_type;
}

int tp_nvtx_domain_push_ex(const struct tp_scope *domain,
                           const struct tp_nvtx_attributes *attributes)
{
    struct extras extras;

    if (!attributes || !tp_may_record())
        return TP_NVTX_NOT_TRACKED;
    uint32_t name = message_of(domain, attributes);
    if (!read_extras(attributes, &extras))
        return push(domain, name);
    const struct tp_record record = {
        .kind = TP_EVENT_NVTX_PUSH_EX,
        .class_ = TP_CLASS_NVTX,
        .role = TP_ROLE_BEGIN,
        .slots = 2,
        .argument = name,
        .words = {(uint64_t)extras.color << 32 | extras.category, extras.payload_type,
                  extras.payload, 0},
    };
    uint32_t depth = tp_record_depth(TP_CLASS_NVTX);
    int level = domain || has_domains ? enter_level(domain, depth) : (int)depth;
    tp_record_write(&record);
    return level;
}

int tp_nvtx_push_ex(const struct tp_nvtx_attributes *attributes)
{
    return tp_nvtx_domain_push_ex(NULL, attributes);
}

/* --- pop
 * ------------------------------------------------------------------------------------------------
 */

static void say_crossing(void)
{
    static _Atomic uint32_t said;

    if (!atomic_exchange(&said, 1))
        tp_source_say(
            TP_SOURCE_NVTX, TP_SOURCE_STARTED,
            "ranges of different domains cross on a thread: the outer one ends with the inner one");
}

/* The ranges on top whose pops came too early. */
static void end_owed(const uint16_t *levels)
{
    for (uint32_t depth;
         (depth = tp_record_depth(TP_CLASS_NVTX)) && depth <= LEVELS && levels[depth - 1] == OWED;)
        tp_record_end(TP_EVENT_NVTX_POP, TP_CLASS_NVTX);
}

static int pop_in_domain(const struct tp_scope *domain, uint32_t depth)
{
    uint16_t *levels = level_domains[tp_tls.thread->index], number = short_number(domain);
    uint32_t top = depth;
    int same = -1;

    if (depth <= LEVELS)
        while (top && levels[top - 1] != number)
            top--;
    if (!top)
        return TP_NVTX_NO_RANGE;
    for (uint32_t i = 0; i < top && i < LEVELS; i++)
        same += levels[i] == number;
    if (top == depth) {
        tp_record_end(TP_EVENT_NVTX_POP, TP_CLASS_NVTX);
        end_owed(levels);
    } else {
        levels[top - 1] = OWED;
        say_crossing();
    }
    return same;
}

static __attribute__((noinline)) int pop(const struct tp_scope *domain, uint32_t depth)
{
    if (has_domains)
        return pop_in_domain(domain, depth);
    if (domain)
        return TP_NVTX_NO_RANGE;
    tp_record_end(TP_EVENT_NVTX_POP, TP_CLASS_NVTX);
    return (int)depth - 1;
}

int tp_nvtx_domain_pop(const struct tp_scope *domain)
{
    uint32_t depth = tp_record_depth(TP_CLASS_NVTX);

    if (tp_unlikely(!depth))
        return tp_is_off() ? TP_NVTX_NOT_TRACKED : TP_NVTX_NO_RANGE;
    return pop(domain, depth);
}

int tp_nvtx_pop(void)
{
    return tp_nvtx_domain_pop(NULL);
}

/* --- start/end ranges, marks
 * ---------------------------------------------------------------------------- */

uint64_t tp_nvtx_start(const char *message)
{
    return tp_may_record() ? tp_record_async_begin(TP_CLASS_NVTX, tp_scope_text(NULL, message)) : 0;
}

uint64_t tp_nvtx_start_wide(const wchar_t *message)
{
    return tp_may_record() ? tp_record_async_begin(TP_CLASS_NVTX, tp_scope_wide(NULL, message)) : 0;
}

uint64_t tp_nvtx_domain_start_ex(const struct tp_scope *domain,
                                 const struct tp_nvtx_attributes *attributes)
{
    if (!attributes || !tp_may_record())
        return 0;
    return tp_record_async_begin(TP_CLASS_NVTX, message_of(domain, attributes));
}

uint64_t tp_nvtx_start_ex(const struct tp_nvtx_attributes *attributes)
{
    return tp_nvtx_domain_start_ex(NULL, attributes);
}

void tp_nvtx_end(uint64_t id)
{
    if (id && tp_may_record())
        tp_record_async_end(id);
}

void tp_nvtx_domain_end(const struct tp_scope *domain, uint64_t id)
{
    (void)domain;
    tp_nvtx_end(id);
}

void tp_nvtx_mark(const char *message)
{
    if (tp_may_record())
        tp_record_mark(TP_CLASS_NVTX, tp_scope_text(NULL, message), 0, 0, 0);
}

void tp_nvtx_mark_wide(const wchar_t *message)
{
    if (tp_may_record())
        tp_record_mark(TP_CLASS_NVTX, tp_scope_wide(NULL, message), 0, 0, 0);
}

void tp_nvtx_domain_mark_ex(const struct tp_scope *domain,
                            const struct tp_nvtx_attributes *attributes)
{
    struct extras extras;

    if (!attributes || !tp_may_record())
        return;
    read_extras(attributes, &extras);
    tp_record_mark(TP_CLASS_NVTX, message_of(domain, attributes), extras.category,
                   extras.payload_type, extras.payload);
}

void tp_nvtx_mark_ex(const struct tp_nvtx_attributes *attributes)
{
    tp_nvtx_domain_mark_ex(NULL, attributes);
}
