/* SPDX-License-Identifier: MIT */
/*
 * The other side of tpagent.h: one exported function, which hands out a table. The header asks for
 * it by name, so that a program needs neither the agent nor a library to link with.
 */
#include "tpagent.h"

#include <string.h>

#include "base/text.h"
#include "points.h"
#include "pool.h"
#include "scope.h"
#include "sources.h"

#define EXPORT __attribute__((visibility("default")))
#define DIMENSIONS_MAX 64u

const struct tpagent_functions *tpagent_functions(unsigned version);
unsigned tpagent_version(void);

static int api_recording(void)
{
    return tp_recording();
}

static uint32_t name_of(const char *name)
{
    uint32_t id = name ? tp_intern_known(TP_NAME_TEXT, name) : TP_NAME_NONE;

    return tp_likely(id) ? id : tp_scope_text(NULL, name);
}

static __attribute__((noinline)) void begin_here(const char *name)
{
    tp_record_begin(TP_EVENT_API_BEGIN, TP_CLASS_API, name_of(name));
}

static void begin(const char *name)
{
    if (tp_likely(tp_may_record()))
        begin_here(name);
}

static void end(void)
{
    if (tp_likely(tp_tls.thread != NULL))
        tp_record_end(TP_EVENT_API_END, TP_CLASS_API);
}

/* As operators have them: [[[2,3]],[""]], one input of unknown type. */
static uint32_t shape_name(const int64_t *sizes, unsigned count)
{
    char small[256];
    char *scratch = count > 8 ? tp_scratch_take() : NULL; /* a size has at most 20 digits */
    struct tp_text text;

    tp_text_init(&text, scratch ? scratch : small, scratch ? TP_SCRATCH_BYTES : sizeof(small));
    tp_text_string(&text, "[[[");
    for (unsigned i = 0; sizes && i < count && i < (scratch ? DIMENSIONS_MAX : 8); i++) {
        if (i)
            tp_text_char(&text, ',');
        tp_text_i64(&text, sizes[i]);
    }
    tp_text_string(&text, "]],[\"\"]]");
    uint32_t id = tp_intern(TP_NAME_SHAPES, text.data, text.used);
    tp_scratch_give(scratch);
    return id;
}

static void write_attribute(const struct tpagent_attribute *attribute)
{
    uint64_t bits = attribute->value.as_unsigned;

    if (!attribute->key)
        return;
    switch (attribute->type) {
    case TPAGENT_SIGNED:
    case TPAGENT_UNSIGNED:
    case TPAGENT_DOUBLE:
        break;
    case TPAGENT_TEXT:
        bits = tp_scope_text(NULL, attribute->value.as_text);
        break;
    case TPAGENT_SHAPE:
        bits = shape_name(attribute->value.as_sizes, attribute->count);
        break;
    default:
        return;
    }
    tp_record_attribute(TP_CLASS_API, tp_intern_text(TP_NAME_KEY, attribute->key),
                        (enum tp_value_type)attribute->type, bits);
}

/* Where the range found no room its attributes are not wanted: they would go to the range around
 * it. */
static void begin_with(const char *name, const struct tpagent_attribute *attributes, unsigned count)
{
    if (!tp_may_record() || !tp_record_begin(TP_EVENT_API_BEGIN, TP_CLASS_API, name_of(name)))
        return;
    for (unsigned i = 0; attributes && i < count; i++)
        write_attribute(&attributes[i]);
}

static void attribute(const struct tpagent_attribute *one)
{
    if (one && tp_may_record() && tp_record_is_open(TP_CLASS_API))
        write_attribute(one);
}

static uint64_t async_begin(const char *name)
{
    return tp_may_record() ? tp_record_async_begin(TP_CLASS_API, name_of(name)) : 0;
}

static void async_end(uint64_t id)
{
    if (id && tp_may_record())
        tp_record_async_end(id);
}

static void mark(const char *name)
{
    if (tp_may_record())
        tp_record_mark(TP_CLASS_API, name_of(name), 0, 0, 0);
}

static void counter(const char *name, enum tpagent_type type, uint64_t bits)
{
    if (type >= TPAGENT_SIGNED && type <= TPAGENT_DOUBLE && tp_may_record())
        tp_record_counter(name_of(name), (enum tp_value_type)type, bits);
}

static void memory(unsigned device_type, unsigned device_index, uint64_t address, int64_t bytes)
{
    if (tp_may_record())
        tp_record_point(TP_EVENT_MEMORY, (device_type & 0xffff) | (device_index & 0xffff) << 16,
                        address, (uint64_t)bytes, 0);
}

static const struct tpagent_functions functions = {
    .size_bytes = sizeof(functions),
    .version = TPAGENT_API_VERSION,
    .recording = api_recording,
    .begin = begin,
    .begin_with = begin_with,
    .end = end,
    .attribute = attribute,
    .async_begin = async_begin,
    .async_end = async_end,
    .mark = mark,
    .counter = counter,
    .memory = memory,
};

EXPORT unsigned tpagent_version(void)
{
    return TPAGENT_API_VERSION;
}

/* A program of a later interface than ours gets the same table, and sees by its size that it is too
 * short. */
EXPORT const struct tpagent_functions *tpagent_functions(unsigned version)
{
    (void)version;
    return tp_source_wanted(TP_SOURCE_API) && tp_recording() ? &functions : NULL;
}

const struct tp_source tp_source_api = {0};
