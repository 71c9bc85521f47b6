/* SPDX-License-Identifier: MIT */
#include "capture_range.h"

#include <string.h>

#include "agent.h"
#include "base/text.h"
#include "capture.h"
#include "record.h"

enum watched {
    WATCHED_NOT,
    WATCHED_UNIT,      /* its name says so */
    WATCHED_STEP,      /* ProfilerStep* of PyTorch: its number may matter */
    WATCHED_OPTIMIZER, /* steps where there is no ProfilerStep */
};

/* tp_live's capture.units */
#define OPEN_MASK UINT64_C(0x7fffffff)   /* ranges open */
#define BY_OPTIMIZER (UINT64_C(1) << 31) /* steps are counted by optimizer */
#define ONE_STEP (UINT64_C(1) << 32)     /* steps begun */

static const char step_name[] = "ProfilerStep*", optimizer_name[] = "Optimizer.step#";

static bool has_schedule(void)
{
    return tp_agent.config.schedule.active;
}

static bool names_a_range(void)
{
    return tp_agent.config.capture.by == TP_CAPTURE_RANGE;
}

bool tp_capture_range_wants(void)
{
    struct tp_live *live = tp_agent.live;
    uint64_t units = live ? atomic_load(&live->capture.units) : 0;
    uint32_t steps = (uint32_t)(units >> 32);
    bool is_in = units & OPEN_MASK;

    if (!has_schedule())
        return !names_a_range() || is_in;
    /* between two steps that are recorded it stays open */
    return steps && tp_schedule_is_active(&tp_agent.config.schedule, steps - 1) &&
           (is_in || tp_schedule_is_active(&tp_agent.config.schedule, steps));
}

/* --- names
 * ------------------------------------------------------------------------------------------- */

static enum watched watched_of(const struct tp_live *live, uint32_t id)
{
    return id < TP_NAME_FIRST + TP_NAME_LIMIT
               ? atomic_load_explicit(&live->capture.watched[id / 4], memory_order_relaxed) >>
                         id % 4 * 2 &
                     3
               : WATCHED_NOT;
}

static bool is_first_optimizer(struct tp_live *live, uint32_t id)
{
    uint32_t none = 0;

    return atomic_compare_exchange_strong(&live->capture.optimizer, &none, id);
}

static enum watched watch(struct tp_live *live, const struct tp_name_record *record)
{
    const char *name = (const char *)(record + 1);
    size_t size = record->length;
    const char *end = memchr(name, '\0', size);

    if (record->kind == TP_NAME_OPERATOR) {
        size = end ? (size_t)(end - name) : size;
        if (size == sizeof(step_name) - 1 && !memcmp(name, step_name, size))
            return WATCHED_STEP;
    } else if (record->kind == TP_NAME_SCOPED && end) {
        size -= (size_t)(end + 1 - name);
        name = end + 1;
    } else if (record->kind != TP_NAME_TEXT) {
        return WATCHED_NOT;
    }
    if (names_a_range())
        return tp_capture_name_matches(&tp_agent.config.capture, name, size) ? WATCHED_UNIT
                                                                             : WATCHED_NOT;
    return record->kind == TP_NAME_OPERATOR && size >= sizeof(optimizer_name) - 1 &&
                   !memcmp(name, optimizer_name, sizeof(optimizer_name) - 1) &&
                   is_first_optimizer(live, record->id)
               ? WATCHED_OPTIMIZER
               : WATCHED_NOT;
}

void tp_capture_range_name(struct tp_live *live, const struct tp_name_record *record)
{
    if (!names_a_range() && !has_schedule())
        return;
    enum watched watched = watch(live, record);
    if (watched)
        atomic_fetch_or_explicit(&live->capture.watched[record->id / 4],
                                 (uint8_t)(watched << record->id % 4 * 2), memory_order_relaxed);
}

/* The number was taken out of the name; the user may have asked for it. */
static bool step_matches(int64_t number)
{
    char name[40];
    struct tp_text text;

    if (!names_a_range())
        return true;
    tp_text_init(&text, name, sizeof(name));
    tp_text_bytes(&text, step_name, sizeof(step_name) - 2);
    tp_text_char(&text, '#');
    tp_text_i64(&text, number);
    return tp_capture_name_matches(&tp_agent.config.capture, name, text.used) ||
           tp_capture_name_matches(&tp_agent.config.capture, step_name, sizeof(step_name) - 1);
}

static bool begins_a_range(const struct tp_record *record)
{
    return (record->role == TP_ROLE_BEGIN && record->class_ != TP_CLASS_CUDA) ||
           record->kind == TP_EVENT_ASYNC_BEGIN;
}

bool tp_capture_is_unit(const struct tp_record *record)
{
    const struct tp_live *live = tp_agent.live;

    if (!live || !begins_a_range(record))
        return false;
    enum watched watched = watched_of(live, record->argument);
    return watched == WATCHED_UNIT ||
           (watched == WATCHED_STEP && record->kind == TP_EVENT_OP_BEGIN &&
            step_matches((int64_t)record->words[0]));
}

/* --- counting
 * ---------------------------------------------------------------------------------------- */

static void unit_begins(struct tp_live *live, uint64_t ticks)
{
    uint64_t now = atomic_load(&live->capture.units), next;

    do { /* a step of PyTorch: those counted by optimizer are forgotten */
        next = now & BY_OPTIMIZER ? 0 : now;
        next += next & OPEN_MASK ? 1 : ONE_STEP + 1;
    } while (!atomic_compare_exchange_weak(&live->capture.units, &now, next));
    tp_capture_update(ticks);
}

static void unit_ends(struct tp_live *live, uint64_t ticks)
{
    uint64_t now = atomic_load(&live->capture.units);

    do {
        if (!(now & OPEN_MASK) || now & BY_OPTIMIZER)
            return;
    } while (!atomic_compare_exchange_weak(&live->capture.units, &now, now - 1));
    tp_capture_update(ticks);
}

/* One step is over and the next one begins. */
static void optimizer_ends(struct tp_live *live, uint64_t ticks)
{
    uint64_t now = atomic_load(&live->capture.units), next;

    do {
        if (now && !(now & BY_OPTIMIZER))
            return;
        next = ((now & ~OPEN_MASK) | BY_OPTIMIZER | 1) + ONE_STEP;
    } while (!atomic_compare_exchange_weak(&live->capture.units, &now, next));
    tp_capture_update(ticks);
}

static uint32_t depth_of(const struct tp_thread *t, unsigned class_)
{
    return t->depth[class_] + t->skip[class_] + t->unwanted[class_];
}

static void before_begin(struct tp_thread *t, const struct tp_record *record, uint64_t ticks)
{
    struct tp_live *live = tp_agent.live;
    unsigned class_ = record->class_;

    if (watched_of(live, record->argument) == WATCHED_OPTIMIZER && class_ == TP_CLASS_OP) {
        if (!t->optimizer_at)
            t->optimizer_at = depth_of(t, class_) + 1;
    } else if (!t->unit_at[class_] && tp_capture_is_unit(record)) {
        t->unit_at[class_] = depth_of(t, class_) + 1;
        unit_begins(live, ticks);
    }
}

/* Its id is remembered: the end has no name, and may come from another thread. */
static void before_async_begin(const struct tp_record *record, uint64_t ticks)
{
    struct tp_live *live = tp_agent.live;

    if (!record->words[0] || !tp_capture_is_unit(record))
        return;
    for (unsigned i = 0; i < TP_CAPTURE_ASYNC_MAX; i++) {
        uint64_t none = 0;
        if (!atomic_compare_exchange_strong(&live->capture.async[i], &none, record->words[0]))
            continue;
        atomic_fetch_add(&live->capture.async_open, 1);
        unit_begins(live, ticks);
        return;
    }
}

static void after_async_end(const struct tp_record *record, uint64_t ticks)
{
    struct tp_live *live = tp_agent.live;

    for (unsigned i = 0; i < TP_CAPTURE_ASYNC_MAX; i++) {
        uint64_t id = record->words[0];
        if (!atomic_compare_exchange_strong(&live->capture.async[i], &id, 0))
            continue;
        atomic_fetch_sub(&live->capture.async_open, 1);
        unit_ends(live, ticks);
        return;
    }
}

bool tp_capture_before(struct tp_thread *t, const struct tp_record *record, uint64_t ticks)
{
    unsigned class_ = record->class_;

    if (record->role == TP_ROLE_BEGIN)
        before_begin(t, record, ticks);
    else if (record->kind == TP_EVENT_ASYNC_BEGIN)
        before_async_begin(record, ticks);
    else if (record->kind == TP_EVENT_ASYNC_END)
        return record->words[0] && atomic_load(&tp_agent.live->capture.async_open);
    else if (record->role == TP_ROLE_END) {
        uint32_t depth = depth_of(t, class_);
        return depth &&
               (t->unit_at[class_] == depth || (class_ == TP_CLASS_OP && t->optimizer_at == depth));
    }
    return false;
}

void tp_capture_after(struct tp_thread *t, const struct tp_record *record, uint64_t ticks)
{
    uint32_t depth = depth_of(t, record->class_) + 1; /* of what has ended */

    if (record->kind == TP_EVENT_ASYNC_END) {
        after_async_end(record, ticks);
    } else if (t->unit_at[record->class_] == depth) {
        t->unit_at[record->class_] = 0;
        unit_ends(tp_agent.live, ticks);
    } else if (t->optimizer_at == depth) {
        t->optimizer_at = 0;
        optimizer_ends(tp_agent.live, ticks);
    }
}

void tp_capture_thread_gone(struct tp_thread *t)
{
    for (unsigned i = 0; i < TP_CLASS_END; i++)
        if (t->unit_at[i])
            unit_ends(tp_agent.live, tp_ticks());
}
