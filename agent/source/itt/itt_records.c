/* SPDX-License-Identifier: MIT */
/*
 * What the program's ITT calls become. Tasks of a thread nest: ITT_BEGIN and ITT_END. What may
 * overlap or end on another thread (overlapped tasks, regions, frames, events) becomes an async
 * range, whose number is made from the program's own id, so that nothing has to be remembered
 * between begin and end. Attributes go to the innermost task.
 */
#include "source/itt/itt.h"

#include <string.h>

#include "base/os.h"
#include "base/text.h"
#include "notes.h"

#define TEXT_BYTES 384u

void tp_itt_task_begin(struct tp_itt_domain *domain, struct tp_itt_id id, struct tp_itt_id parent,
                       struct tp_itt_string *name)
{
    (void)id;
    (void)parent;
    if (tp_likely(tp_may_record()))
        tp_record_begin(TP_EVENT_ITT_BEGIN, TP_CLASS_ITT, tp_itt_name(domain, name));
}

/* To ask the loader for the function's name would take its lock: the address has to do. */
void tp_itt_task_begin_function(struct tp_itt_domain *domain, struct tp_itt_id id,
                                struct tp_itt_id parent, void *function)
{
    char buffer[32];
    struct tp_text text;

    (void)id;
    (void)parent;
    if (!tp_may_record())
        return;
    tp_text_init(&text, buffer, sizeof(buffer));
    tp_text_format(&text, "%p", function);
    tp_record_begin(TP_EVENT_ITT_BEGIN, TP_CLASS_ITT,
                    tp_scope_name(tp_itt_scope(domain), buffer, text.used));
}

void tp_itt_task_end(struct tp_itt_domain *domain)
{
    (void)domain;
    if (tp_likely(tp_tls.thread != NULL))
        tp_record_end(TP_EVENT_ITT_END, TP_CLASS_ITT);
}

/* --- ranges that may overlap
 * ---------------------------------------------------------------------------- */

/* A number that is the same at begin and end; apart from those that are counted from 1 by its
 * highest bit. */
static uint64_t range_id(uint64_t a, uint64_t b, uint64_t c, uint64_t d)
{
    const uint64_t parts[] = {a, b, c, d};

    return tp_name_hash(0, parts, sizeof(parts)) | UINT64_C(1) << 63;
}

static void begin_range(uint64_t id, uint32_t name)
{
    tp_record_point(TP_EVENT_ASYNC_BEGIN, name, id, TP_CLASS_ITT, 0);
}

void tp_itt_range_begin(struct tp_itt_domain *domain, struct tp_itt_id id, struct tp_itt_id parent,
                        struct tp_itt_string *name)
{
    (void)parent;
    if (tp_may_record())
        begin_range(range_id(id.d1, id.d2, id.d3, 0), tp_itt_name(domain, name));
}

void tp_itt_range_end(struct tp_itt_domain *domain, struct tp_itt_id id)
{
    (void)domain;
    if (tp_may_record())
        tp_record_async_end(range_id(id.d1, id.d2, id.d3, 0));
}

static uint64_t frame_id(const struct tp_itt_domain *domain, const struct tp_itt_id *id)
{
    static const struct tp_itt_id none;

    id = id ? id : &none;
    return range_id(id->d1, id->d2, id->d3, (uintptr_t)domain);
}

static uint32_t frame_name(struct tp_itt_domain *domain)
{
    return tp_scope_text(tp_itt_scope(domain), "frame");
}

void tp_itt_frame_begin(struct tp_itt_domain *domain, const struct tp_itt_id *id)
{
    if (tp_may_record())
        begin_range(frame_id(domain, id), frame_name(domain));
}

void tp_itt_frame_end(struct tp_itt_domain *domain, const struct tp_itt_id *id)
{
    if (tp_may_record())
        tp_record_async_end(frame_id(domain, id));
}

/* It is over already, and a track's records go forward in time: a mark that says how long it was.
 */
void tp_itt_frame_submit(struct tp_itt_domain *domain, const struct tp_itt_id *id,
                         unsigned long long begin, unsigned long long end)
{
    (void)id;
    if (tp_may_record())
        tp_record_mark(TP_CLASS_ITT, frame_name(domain), 0, 1, end - begin);
}

unsigned long long tp_itt_timestamp(void)
{
    return tp_os_monotonic_ns();
}

int tp_itt_event_start(int event)
{
    uint32_t name = tp_may_record() ? tp_itt_event_name(event) : TP_NAME_NONE;

    if (name)
        begin_range(range_id((uint64_t)event, tp_tls.thread->tid, 0, 1), name);
    return 0;
}

int tp_itt_event_end(int event)
{
    if (tp_may_record() && tp_itt_event_name(event))
        tp_record_async_end(range_id((uint64_t)event, tp_tls.thread->tid, 0, 1));
    return 0;
}

/* --- instants and attributes
 * ---------------------------------------------------------------------------- */

void tp_itt_marker(struct tp_itt_domain *domain, struct tp_itt_id id, struct tp_itt_string *name,
                   int scope)
{
    (void)id;
    (void)scope;
    if (tp_may_record())
        tp_record_mark(TP_CLASS_ITT, tp_itt_name(domain, name), 0, 0, 0);
}

/* Collection goes on: what the program would leave out is its own wish at that moment, and is
 * shown. */
static void control_mark(const char *what)
{
    if (tp_may_record())
        tp_record_mark(TP_CLASS_ITT, tp_scope_text(NULL, what), 0, 0, 0);
}

void tp_itt_pause(void)
{
    control_mark("__itt_pause");
}

void tp_itt_resume(void)
{
    control_mark("__itt_resume");
}

void tp_itt_thread_name(const char *name)
{
    if (name)
        tp_note(TP_NOTE_THREAD, "itt", NULL, tp_os_tid(), name, strlen(name));
}

static size_t type_bytes(int type)
{
    static const uint8_t bytes[] = {0, 8, 8, 4, 4, 2, 2, 4, 8};

    return type >= 0 && type <= TP_ITT_DOUBLE ? bytes[type] : 0;
}

/* The value at @data. Return: its type in the recording, 0 for one that we do not know. */
static enum tp_value_type read_value(int type, const void *data, uint64_t *ret_bits)
{
    int64_t number = 0;
    float small;

    switch (type) {
    case TP_ITT_U64:
    case TP_ITT_S64:
    case TP_ITT_DOUBLE:
        memcpy(&number, data, 8);
        break;
    case TP_ITT_U32:
        number = *(const uint32_t *)data;
        break;
    case TP_ITT_S32:
        number = *(const int32_t *)data;
        break;
    case TP_ITT_U16:
        number = *(const uint16_t *)data;
        break;
    case TP_ITT_S16:
        number = *(const int16_t *)data;
        break;
    case TP_ITT_FLOAT:
        memcpy(&small, data, sizeof(small));
        *ret_bits = tp_double_bits((double)small);
        return TP_VALUE_DOUBLE;
    default:
        return 0;
    }
    *ret_bits = (uint64_t)number;
    if (type == TP_ITT_DOUBLE)
        return TP_VALUE_DOUBLE;
    return type == TP_ITT_S64 || type == TP_ITT_S32 || type == TP_ITT_S16 ? TP_VALUE_SIGNED
                                                                          : TP_VALUE_UNSIGNED;
}

/* Several numbers become a text: [1,2,3]. Floating-point ones are shown with three places. */
static void put_value(struct tp_text *text, int type, const void *data)
{
    uint64_t bits = 0;
    double real;
    enum tp_value_type kind = read_value(type, data, &bits);

    if (kind == TP_VALUE_SIGNED) {
        tp_text_i64(text, (int64_t)bits);
    } else if (kind == TP_VALUE_UNSIGNED) {
        tp_text_u64(text, bits);
    } else {
        memcpy(&real, &bits, sizeof(real));
        if (!(real > -1e15 && real < 1e15)) {
            tp_text_string(text, "null");
            return;
        }
        if (real < 0)
            tp_text_char(text, '-');
        uint64_t thousandths = (uint64_t)((real < 0 ? -real : real) * 1000 + 0.5);
        tp_text_format(text, "%llu.%03u", (unsigned long long)(thousandths / 1000),
                       (unsigned)(thousandths % 1000));
    }
}

static uint32_t list_text(int type, size_t count, const void *data)
{
    char buffer[TEXT_BYTES];
    struct tp_text text;

    tp_text_init(&text, buffer, sizeof(buffer));
    tp_text_char(&text, '[');
    for (size_t i = 0; i < count && text.used + 40 < sizeof(buffer); i++) {
        if (i)
            tp_text_char(&text, ',');
        put_value(&text, type, (const char *)data + i * type_bytes(type));
    }
    tp_text_char(&text, ']');
    return tp_intern(TP_NAME_TEXT, buffer, text.used);
}

static void add_metadata(const struct tp_itt_string *key, int type, size_t count, const void *data)
{
    uint64_t bits = 0;

    if (!key || !data || !count || !type_bytes(type) || !tp_may_record() ||
        !tp_record_is_open(TP_CLASS_ITT))
        return;
    enum tp_value_type value_type = count > 1 ? TP_VALUE_TEXT : read_value(type, data, &bits);
    if (count > 1)
        bits = list_text(type, count, data);
    tp_record_attribute(TP_CLASS_ITT, tp_itt_key(key), value_type, bits);
}

void tp_itt_metadata(struct tp_itt_domain *domain, struct tp_itt_id id, struct tp_itt_string *key,
                     int type, size_t count, const void *data)
{
    (void)domain;
    (void)id;
    add_metadata(key, type, count, data);
}

void tp_itt_metadata_scope(struct tp_itt_domain *domain, int scope, struct tp_itt_string *key,
                           int type, size_t count, const void *data)
{
    (void)domain;
    (void)scope;
    add_metadata(key, type, count, data);
}

/* A length of 0 says that the text is terminated. */
static void add_text(const struct tp_itt_string *key, const char *text, size_t length)
{
    if (!key || !text || !tp_may_record() || !tp_record_is_open(TP_CLASS_ITT))
        return;
    uint32_t id = tp_intern(TP_NAME_TEXT, text, length ? strnlen(text, length) : strlen(text));
    tp_record_attribute(TP_CLASS_ITT, tp_itt_key(key), TP_VALUE_TEXT, id);
}

void tp_itt_metadata_text(struct tp_itt_domain *domain, struct tp_itt_id id,
                          struct tp_itt_string *key, const char *text, size_t length)
{
    (void)domain;
    (void)id;
    add_text(key, text, length);
}

void tp_itt_metadata_text_scope(struct tp_itt_domain *domain, int scope, struct tp_itt_string *key,
                                const char *text, size_t length)
{
    (void)domain;
    (void)scope;
    add_text(key, text, length);
}

/* --- counters
 * ------------------------------------------------------------------------------------------- */

static void set_counter(struct tp_counter *counter, enum tp_value_type type, uint64_t bits)
{
    if (type)
        tp_record_counter(tp_held_id(&counter->name), type, bits);
}

void tp_itt_counter_set(struct tp_itt_counter *handle, const void *value)
{
    struct tp_counter *counter = value && tp_may_record() ? tp_itt_counter_of(handle) : NULL;
    uint64_t bits = 0;

    if (!counter)
        return;
    enum tp_value_type type = read_value(counter->type, value, &bits);
    atomic_store_explicit(&counter->value, bits, memory_order_relaxed);
    set_counter(counter, type, bits);
}

void tp_itt_counter_set_at(struct tp_itt_counter *handle, void *clock, unsigned long long time,
                           const void *value)
{
    (void)clock;
    (void)time;
    tp_itt_counter_set(handle, value);
}

static void add_to_counter(struct tp_counter *counter, uint64_t delta)
{
    bool with_sign = false;

    if (!counter || counter->type >= TP_ITT_FLOAT)
        return;
    uint64_t value =
        delta + atomic_fetch_add_explicit(&counter->value, delta, memory_order_relaxed);
    with_sign =
        counter->type == TP_ITT_S64 || counter->type == TP_ITT_S32 || counter->type == TP_ITT_S16;
    set_counter(counter, with_sign ? TP_VALUE_SIGNED : TP_VALUE_UNSIGNED, value);
}

void tp_itt_counter_up_by(struct tp_itt_counter *handle, unsigned long long delta)
{
    if (tp_may_record())
        add_to_counter(tp_itt_counter_of(handle), delta);
}

void tp_itt_counter_up(struct tp_itt_counter *handle)
{
    tp_itt_counter_up_by(handle, 1);
}

void tp_itt_counter_down_by(struct tp_itt_counter *handle, unsigned long long delta)
{
    tp_itt_counter_up_by(handle, 0 - delta);
}

void tp_itt_counter_down(struct tp_itt_counter *handle)
{
    tp_itt_counter_down_by(handle, 1);
}

void tp_itt_counter_up_by_v3(struct tp_itt_domain *domain, struct tp_itt_string *name,
                             unsigned long long delta)
{
    if (name && tp_may_record())
        add_to_counter(tp_itt_counter_named(domain, name), delta);
}

void tp_itt_counter_up_v3(struct tp_itt_domain *domain, struct tp_itt_string *name)
{
    tp_itt_counter_up_by_v3(domain, name, 1);
}

void tp_itt_counter_down_by_v3(struct tp_itt_domain *domain, struct tp_itt_string *name,
                               unsigned long long delta)
{
    tp_itt_counter_up_by_v3(domain, name, 0 - delta);
}

void tp_itt_counter_down_v3(struct tp_itt_domain *domain, struct tp_itt_string *name)
{
    tp_itt_counter_down_by_v3(domain, name, 1);
}
