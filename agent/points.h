/* SPDX-License-Identifier: MIT */
#ifndef TP_AGENT_POINTS_H
#define TP_AGENT_POINTS_H

/* Records that several sources write alike: marks, counters, attributes, ranges that may end on
 * another thread. Context: hook. */

#include "agent.h"
#include "intern.h"
#include "record.h"

/* Types of a counter's or an attribute's value, as event_kinds.def has them. */
enum tp_value_type {
    TP_VALUE_SIGNED = 1,
    TP_VALUE_UNSIGNED = 2,
    TP_VALUE_DOUBLE = 3,
    TP_VALUE_TEXT = 4,
    TP_VALUE_SHAPE = 5
};

/** tp_is_off - tp_recording the other way round, without a call */
static inline bool tp_is_off(void)
{
    const struct tp_live *live = tp_agent.live;

    return !live || atomic_load_explicit(&live->state, memory_order_relaxed) >= TP_ENDED;
}

/**
 * tp_may_record - whether a record can be written here and now; false where nothing is recorded or
 * this thread has no ring
 *
 * To be asked once, first: whoever goes on without it counts an event that finds no ring twice.
 */
static inline bool tp_may_record(void)
{
    const struct tp_thread *t = tp_tls.thread;

    return tp_likely(t && t->slots && !tp_is_careful(t)) || (!tp_is_off() && tp_names_ready());
}

/** tp_record_is_open - whether the innermost range of @class_ is there and was written: attributes
 * belong to it */
static inline bool tp_record_is_open(unsigned class_)
{
    const struct tp_thread *t = tp_tls.thread;

    return t && t->depth[class_] && !t->skip[class_] && !tp_thread_is_unwanted(t, class_);
}

/** tp_next_range_id - a number that no start/end range of this process has, never 0 */
uint64_t tp_next_range_id(void);

static inline bool tp_record_point(unsigned kind, uint32_t argument, uint64_t word4, uint64_t word5,
                                   uint64_t word6)
{
    const struct tp_record record = {
        .kind = (uint8_t)kind,
        .role = TP_ROLE_POINT,
        .slots = 2,
        .argument = argument,
        .words = {word4, word5, word6, 0},
    };
    return tp_record_write(&record);
}

/** tp_record_async_begin - a range of @class_ begins. Return: its id, for tp_record_async_end on
 * any thread. */
static inline uint64_t tp_record_async_begin(unsigned class_, uint32_t name)
{
    uint64_t id = tp_next_range_id();

    tp_record_point(TP_EVENT_ASYNC_BEGIN, name, id, class_, 0);
    return id;
}

static inline void tp_record_async_end(uint64_t id)
{
    tp_record_point(TP_EVENT_ASYNC_END, 0, id, 0, 0);
}

static inline void tp_record_mark(unsigned class_, uint32_t name, uint32_t category,
                                  uint32_t payload_type, uint64_t payload)
{
    tp_record_point(TP_EVENT_MARK, name, (uint64_t)category << 8 | class_, payload_type, payload);
}

static inline void tp_record_counter(uint32_t name, enum tp_value_type type, uint64_t bits)
{
    tp_record_point(TP_EVENT_COUNTER, name, type, bits, 0);
}

/** tp_record_attribute - @key is of kind TP_NAME_KEY; of the innermost open range of @class_ */
static inline void tp_record_attribute(unsigned class_, uint32_t key, enum tp_value_type type,
                                       uint64_t bits)
{
    tp_record_point(TP_EVENT_ATTRIBUTE, key, (uint64_t)class_ << 8 | type, bits, 0);
}

static inline uint64_t tp_double_bits(double value)
{
    uint64_t bits;

    __builtin_memcpy(&bits, &value, sizeof(bits));
    return bits;
}

#endif
