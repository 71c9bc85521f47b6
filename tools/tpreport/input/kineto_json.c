/* SPDX-License-Identifier: MIT
 * The document: an object with "traceEvents" among other things, or the array of entries alone. A
 * small state machine (enum place) knows where each token stands; entries are made into events one
 * by one, so that nothing of the document is held. Writers that were killed leave a comma too many
 * or no end; what they did write counts. */
#include "input/kineto_json.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "input/json_capture.h"
#include "input/json_reader.h"
#include "input/kineto.h"
#include "input/word_table.h"
#include "model/decimal.h"

enum { MAX_DEPTH = 512, MAX_ARGUMENTS = 1 << 16 };

static const struct tp_word keys[] = {
#define TP_KINETO_KEY(id, text) {text, TP_KINETO_##id},
#define TP_KINETO_SPELLING(id, text) {text, TP_KINETO_##id},
#include "input/kineto_words.def"
};

static const struct tp_kineto_category categories[] = {
#define TP_KINETO_CATEGORY(text, kind, activity) {text, activity, TP_KINETO_IS_##kind},
#include "input/kineto_words.def"
};

enum {
    KEY_COUNT = sizeof(keys) / sizeof(keys[0]),
    CATEGORY_COUNT = sizeof(categories) / sizeof(categories[0]),
};

enum place {
    AT_TOP, /* before the document */
    IN_TOP, /* its object */
    IN_DISTRIBUTED,
    IN_SETTINGS, /* "tpreport", which only our own writer makes */
    IN_EVENTS,
    IN_ENTRY,
    IN_ARGS,
    IN_OWN,     /* in what our own writer adds to an entry */
    IN_CAPTURE, /* in an argument that is kept as text */
    IN_SKIPPED,
    AT_END,
};

struct parser {
    struct tp_json_reader reader;
    struct tp_kineto kineto;
    struct tp_diag *diag;
    struct tp_word_table key_table, category_table;
    struct tp_word category_words[CATEGORY_COUNT];
    enum place place, resume;    /* resume: behind IN_SKIPPED */
    int key;                     /* the last one here: enum tp_kineto_key, or -1 */
    unsigned depth, inner_depth; /* inner: where the skipped or captured value began */
    bool keeps_all;              /* arguments as text */
    struct tp_buffer *copy;      /* gets the value of a key of the document as text; NULL: none */
    unsigned copy_depth;
    bool is_array; /* no object around the entries */
    bool saw_events;
    uint64_t entry_count;
};

/* ---- errors ---- */

static int fail(struct parser *p, int code, const char *found, const char *expected)
{
    if (p->place < IN_EVENTS)
        return tp_json_reader_fail(&p->reader, code, "found %s, expected %s", found, expected);
    return tp_json_reader_fail(&p->reader, code, "entry %llu: found %s, expected %s",
                               (unsigned long long)p->entry_count, found, expected);
}

static int fail_memory(struct parser *p, int code)
{
    return tp_json_reader_fail(&p->reader, code, "no memory for entry %llu",
                               (unsigned long long)p->entry_count);
}

static int fail_text(struct parser *p, int code, const char *what, const void *bytes, size_t size,
                     const char *expected)
{
    char found[80];
    struct tp_text text;

    tp_text_init(&text, found, sizeof(found));
    tp_text_string(&text, what);
    tp_text_json(&text, bytes, size < 32 ? size : 32);
    return fail(p, code, found, expected);
}

/* ---- arguments as text ---- */

/* Only FLOPs of convolutions need more than shapes. */
static bool is_kept_argument(const struct parser *p)
{
    const struct tp_kineto_entry *entry = &p->kineto.entry;

    if (p->key != TP_KINETO_CONCRETE_INPUTS)
        return p->key == TP_KINETO_INPUT_DIMS;
    return entry->name == TP_STRING_EMPTY || /* comes behind the arguments */
           !strncmp(tp_strings_get(p->kineto.records.list->strings, entry->name)->bytes,
                    "aten::conv2d", 12);
}

static int begin_argument(struct parser *p, const unsigned char *name, size_t size)
{
    struct tp_kineto_entry *entry = &p->kineto.entry;
    struct tp_buffer *out = &entry->captured;

    if (entry->argument_count == MAX_ARGUMENTS)
        return fail(p, -TP_ELIMIT, "more than 65536 arguments", "fewer");
    if (entry->argument_count == entry->argument_capacity) {
        uint32_t capacity = entry->argument_capacity ? entry->argument_capacity * 2 : 16;
        struct tp_kineto_argument *arguments =
            realloc(entry->arguments, capacity * sizeof(*arguments));
        if (!arguments)
            return fail_memory(p, -ENOMEM);
        entry->arguments = arguments;
        entry->argument_capacity = capacity;
    }
    struct tp_kineto_argument *argument = &entry->arguments[entry->argument_count++];
    *argument = (struct tp_kineto_argument){.key = p->key};
    uint32_t start = (uint32_t)out->size;
    if (!tp_json_capture_key(out, name, size))
        return fail(p, -TP_ELIMIT, "more than 16 MB of arguments", "less");
    argument->name = start + (start ? 3 : 1); /* behind ", \"" */
    argument->name_size = (uint32_t)out->size - argument->name - 3;
    argument->begin = (uint32_t)out->size;
    return 1;
}

/* The value is whole. */
static int end_argument(struct parser *p)
{
    struct tp_kineto_entry *entry = &p->kineto.entry;
    struct tp_kineto_argument *argument = &entry->arguments[entry->argument_count - 1];

    argument->size = (uint32_t)entry->captured.size - argument->begin;
    return entry->captured.failed ? fail_memory(p, -ENOMEM) : 1;
}

static bool is_capturing(const struct parser *p)
{
    return p->place == IN_CAPTURE || (p->place == IN_ARGS && (p->keeps_all || is_kept_argument(p)));
}

/* A scalar. Within limits or not is found out where lists end. */
static int capture(struct parser *p, bool is_string, const void *text, size_t size)
{
    struct tp_buffer *out = &p->kineto.entry.captured;
    bool good =
        is_string ? tp_json_capture_string(out, text, size) : tp_json_capture_word(out, text, size);

    if (!good)
        return fail(p, -TP_ELIMIT, "more than 16 MB of arguments", "less");
    return p->place == IN_ARGS ? end_argument(p) : 1;
}

/* ---- values ---- */

static int take_time(struct parser *p, const char *text, size_t size, int64_t *ret_ns)
{
    int result = tp_decimal_to_ns(text, size, ret_ns);

    if (result == -TP_EVALUE)
        return fail_text(p, -TP_EVALUE, "the time ", text, size, "one within 292 years of 1970");
    if (result < 0)
        return fail_text(p, -TP_ETYPE, "the string ", text, size, "a time in microseconds");
    p->kineto.entry.seen |= UINT64_C(1) << p->key;
    return 1;
}

/* A number of "args"; one that can't be read is as good as none. */
static int take_argument(struct parser *p, const char *text, size_t size)
{
    struct tp_kineto_entry *entry = &p->kineto.entry;
    int64_t value;

    if (tp_decimal_to_integer(text, size, &value) < 0)
        return 1;
    entry->seen |= UINT64_C(1) << p->key;
    switch ((enum tp_kineto_key)p->key) {
    case TP_KINETO_EXTERNAL_ID:
        entry->external_id = value;
        break;
    case TP_KINETO_CORRELATION:
        entry->correlation = value;
        break;
    case TP_KINETO_DEVICE:
        entry->device = (struct tp_kineto_place){.number = value, .is_there = true};
        break;
    case TP_KINETO_STREAM:
        entry->stream = (struct tp_kineto_place){.number = value, .is_there = true};
        break;
    case TP_KINETO_SEQUENCE_NUMBER:
        entry->sequence_nr = value;
        break;
    case TP_KINETO_FWD_THREAD:
        entry->fwd_thread = value;
        break;
    case TP_KINETO_BYTES:
        entry->bytes = value;
        break;
    case TP_KINETO_DEVICE_TYPE:
        entry->device_type = value;
        break;
    case TP_KINETO_PYTHON_ID:
        entry->python_id = value;
        break;
    case TP_KINETO_PYTHON_PARENT_ID:
        entry->python_parent_id = value;
        break;
    case TP_KINETO_PYTHON_MODULE_ID:
        entry->python_module_id = value;
        break;
    default:
        break;
    }
    return 1;
}

static int take_place(struct parser *p, struct tp_kineto_place *place, const char *text,
                      size_t size)
{
    int result = tp_kineto_place_text(p->kineto.records.list->strings, text, size, place);

    return result < 0 ? fail_memory(p, result) : 1;
}

/* A text that only who writes a trace wants. */
static int take_for_trace(struct parser *p, const char *text, size_t size, uint32_t *ret_id)
{
    struct tp_event_list *list = p->kineto.records.list;
    int result = list->trace ? tp_strings_put(list->strings, text, size, ret_id) : 0;

    return result < 0 ? fail_memory(p, result) : 1;
}

static int take_flow_id(struct parser *p, bool is_string, const char *text, size_t size)
{
    struct tp_buffer *out = &p->kineto.text;

    if (!is_string)
        return take_for_trace(p, text, size, &p->kineto.entry.flow_text);
    tp_buffer_reset(out);
    tp_json_capture_string(out, text, size);
    return take_for_trace(p, out->bytes, out->size, &p->kineto.entry.flow_text);
}

static int take_in_entry(struct parser *p, bool is_string, const char *text, size_t size)
{
    struct tp_kineto_entry *entry = &p->kineto.entry;
    int result = 0;

    switch (p->key) {
    case TP_KINETO_NAME:
        result = tp_strings_put(p->kineto.records.list->strings, text, size, &entry->name);
        return result < 0 ? fail_memory(p, result) : 1;
    case TP_KINETO_CATEGORY:
        result = is_string ? tp_word_table_find(&p->category_table, text, size) : -1;
        entry->category = result < 0 ? NULL : &categories[result];
        return take_for_trace(p, text, size, &entry->category_name);
    case TP_KINETO_INSTANT_SCOPE:
        entry->scope = size == 1 ? *text : 0;
        return 1;
    case TP_KINETO_BINDING:
        entry->binding = size == 1 ? *text : 0;
        return 1;
    case TP_KINETO_PHASE:
        entry->phase = is_string && size == 1 ? *text : 0;
        return 1;
    case TP_KINETO_TS:
        return take_time(p, text, size, &entry->ts_ns);
    case TP_KINETO_DUR:
        return take_time(p, text, size, &entry->duration_ns);
    case TP_KINETO_PID:
        return take_place(p, &entry->pid, text, size);
    case TP_KINETO_TID:
        return take_place(p, &entry->tid, text, size);
    case TP_KINETO_FLOW_ID:
        if (!tp_decimal_to_integer(text, size, &entry->flow_id))
            entry->seen |= UINT64_C(1) << p->key;
        return take_flow_id(p, is_string, text, size);
    default:
        return 1;
    }
}

static int take_in_args(struct parser *p, bool is_string, const char *text, size_t size)
{
    int result = 0;

    if (p->key == TP_KINETO_NAME && is_string && p->kineto.entry.phase == 'M')
        result =
            tp_strings_put(p->kineto.records.list->strings, text, size, &p->kineto.entry.own_name);
    else if (p->key == TP_KINETO_CALL_STACK && is_string)
        result = tp_kineto_take_stack(&p->kineto, text, size);
    else if (p->key >= TP_KINETO_EXTERNAL_ID && p->key <= TP_KINETO_PYTHON_MODULE_ID)
        return take_argument(p, text, size);
    return result < 0 ? fail_memory(p, result) : 1;
}

static int take_in_top(struct parser *p, const char *text, size_t size)
{
    int64_t value;

    if (p->key == TP_KINETO_TRACE_EVENTS)
        return fail_text(p, -TP_ETYPE, "", text, size, "a list of entries in \"traceEvents\"");
    if (p->key == TP_KINETO_TRACE_ID && p->place == IN_TOP)
        p->kineto.has_trace_id = true;
    if (p->key < 0 || tp_decimal_to_integer(text, size, &value) < 0)
        return 1;
    if (p->key == TP_KINETO_BASE_TIME && p->place == IN_TOP) {
        p->kineto.base_time_ns = value;
        p->kineto.has_base_time = true;
    } else if (p->key == TP_KINETO_PROFILE_MEMORY && p->place == IN_TOP) {
        p->kineto.profile_memory = value != 0;
    } else if (p->key == TP_KINETO_WITH_FLOPS && p->place == IN_TOP) {
        p->kineto.with_flops = value != 0;
    } else if (p->key == TP_KINETO_RANK && p->place == IN_DISTRIBUTED) {
        p->kineto.rank = value;
        p->kineto.has_rank = true;
    }
    return 1;
}

static int take_in_settings(struct parser *p, bool is_string, const char *text, size_t size)
{
    int64_t value;

    if (p->key == TP_KINETO_USE_DEVICE && is_string) {
        int result =
            tp_strings_put(p->kineto.records.list->strings, text, size, &p->kineto.use_device);
        return result < 0 ? fail_memory(p, result) : 1;
    }
    if (tp_decimal_to_integer(text, size, &value) < 0)
        return 1;
    if (p->key == TP_KINETO_IS_NESTED)
        p->kineto.is_nested = value != 0;
    else if (p->key == TP_KINETO_RESOURCE_IS_THREAD)
        p->kineto.resource_is_thread = value != 0;
    else if (p->key == TP_KINETO_HAS_DERIVED_STACKS)
        p->kineto.has_derived_stacks = value != 0;
    else if (p->key == TP_KINETO_HAS_FLOPS)
        p->kineto.has_flops = value != 0;
    else if (p->key == TP_KINETO_START_NS)
        p->kineto.span_start_ns = value;
    else if (p->key == TP_KINETO_END_NS)
        p->kineto.span_end_ns = value;
    return 1;
}

static int take(struct parser *p, bool is_string, const char *text, size_t size)
{
    int good = 1;

    switch (p->place) {
    case IN_ENTRY:
        return p->key < 0 ? 1 : take_in_entry(p, is_string, text, size);
    case IN_ARGS:
        if (p->key >= 0)
            good = take_in_args(p, is_string, text, size);
        return good && is_capturing(p) ? capture(p, is_string, text, size) : good;
    case IN_CAPTURE:
        return capture(p, is_string, text, size);
    case IN_TOP:
    case IN_DISTRIBUTED:
        return take_in_top(p, text, size);
    case IN_SETTINGS:
        return p->key < 0 ? 1 : take_in_settings(p, is_string, text, size);
    case IN_EVENTS:
        return fail_text(p, -TP_ETYPE, is_string ? "the string " : "the number ", text, size,
                         "an entry (an object)");
    case AT_TOP:
        return fail_text(p, -TP_ETYPE, is_string ? "the string " : "the number ", text, size,
                         "a trace (an object with \"traceEvents\", or a list of entries)");
    default:
        return 1;
    }
}

/* null, true or false */
static int take_word(struct parser *p, const char *word)
{
    if (is_capturing(p))
        return capture(p, false, word, strlen(word));
    if (p->place == AT_TOP || (p->place == IN_EVENTS && *word != 'n'))
        return fail(p, -TP_ETYPE, word, p->place == AT_TOP ? "a trace" : "an entry (an object)");
    if (p->place == IN_ENTRY && (p->key == TP_KINETO_TS || p->key == TP_KINETO_DUR) && *word != 'n')
        return fail(p, -TP_ETYPE, word, "a time in microseconds");
    return 1;
}

/* ---- lists and objects ---- */

static int skip(struct parser *p)
{
    p->resume = p->place;
    p->place = IN_SKIPPED;
    p->inner_depth = p->depth;
    return 1;
}

static int open_capture(struct parser *p, char bracket)
{
    if (p->place == IN_ARGS) {
        p->place = IN_CAPTURE;
        p->inner_depth = p->depth;
    }
    return tp_json_capture_open(&p->kineto.entry.captured, bracket)
               ? 1
               : fail(p, -TP_ELIMIT, "more than 16 MB of arguments", "less");
}

static int open_top(struct parser *p, char bracket)
{
    p->is_array = bracket == '[';
    p->place = p->is_array ? IN_EVENTS : IN_TOP;
    p->saw_events = p->is_array;
    return 1;
}

/* The value of a key of the document, which a trace repeats. */
static void begin_copy(struct parser *p)
{
    if (!p->kineto.records.list->trace)
        return;
    p->copy = p->key == TP_KINETO_DEVICE_PROPERTIES ? &p->kineto.device_properties
                                                    : &p->kineto.distributed_info;
    p->copy_depth = p->depth;
    tp_buffer_reset(p->copy);
}

static int open_in_top(struct parser *p, char bracket)
{
    switch (p->key) {
    case TP_KINETO_TRACE_EVENTS:
        if (bracket == '{')
            return fail(p, -TP_ETYPE, "an object", "a list of entries in \"traceEvents\"");
        p->place = IN_EVENTS;
        p->saw_events = true;
        return 1;
    case TP_KINETO_DEVICE_PROPERTIES:
        begin_copy(p);
        return skip(p);
    case TP_KINETO_DISTRIBUTED_INFO:
        if (bracket == '[')
            return skip(p);
        begin_copy(p);
        p->place = IN_DISTRIBUTED;
        return 1;
    case TP_KINETO_TPREPORT:
        if (bracket == '[')
            return skip(p);
        p->kineto.is_own = true;
        p->place = IN_SETTINGS;
        return 1;
    default:
        return skip(p);
    }
}

static int open_own(struct parser *p)
{
    struct tp_json_parser *own = &p->kineto.own;

    own->list = p->kineto.records.list;
    own->reader = &p->reader;
    own->is_part = true;
    own->event_number = (uint32_t)p->entry_count;
    own->depth = 1;
    p->kineto.entry.has_own = true;
    p->place = IN_OWN;
    return tp_json_event_begin(own, &(struct tp_json_token){.type = TP_JSON_OBJECT});
}

static int open_in_entry(struct parser *p, char bracket)
{
    if (p->key == TP_KINETO_TS || p->key == TP_KINETO_DUR)
        return fail(p, -TP_ETYPE, "a list or an object", "a time in microseconds");
    if (p->key == TP_KINETO_TPREPORT && bracket == '{' && p->kineto.is_own)
        return open_own(p);
    if (p->key != TP_KINETO_ARGS || bracket != '{')
        return skip(p);
    p->place = IN_ARGS;
    return 1;
}

static int open_place(struct parser *p, char bracket)
{
    if (++p->depth > MAX_DEPTH)
        return fail(p, -TP_ELIMIT, "more than 512 levels", "less nesting");
    switch (p->place) {
    case AT_TOP:
        return open_top(p, bracket);
    case IN_TOP:
        return open_in_top(p, bracket);
    case IN_EVENTS:
        if (bracket == '[')
            return fail(p, -TP_ETYPE, "a list", "an entry (an object)");
        tp_kineto_entry_start(&p->kineto.entry);
        p->place = IN_ENTRY;
        return 1;
    case IN_ENTRY:
        return open_in_entry(p, bracket);
    case IN_OWN:
        p->kineto.own.depth++;
        return tp_json_take(
            &p->kineto.own,
            &(struct tp_json_token){.type = bracket == '[' ? TP_JSON_LIST : TP_JSON_OBJECT});
    case IN_ARGS:
        return is_capturing(p) ? open_capture(p, bracket) : skip(p);
    case IN_CAPTURE:
        return open_capture(p, bracket);
    case IN_DISTRIBUTED:
    case IN_SETTINGS:
        return skip(p);
    default:
        return 1;
    }
}

static int close_capture(struct parser *p, char bracket)
{
    if (!tp_json_capture_close(&p->kineto.entry.captured, bracket))
        return fail(p, -TP_ELIMIT, "more than 16 MB of arguments", "less");
    if (p->depth >= p->inner_depth)
        return 1;
    p->place = IN_ARGS;
    return end_argument(p);
}

static int close_entry(struct parser *p)
{
    int result = tp_kineto_entry_end(&p->kineto, p->diag);

    p->place = IN_EVENTS;
    p->entry_count++;
    if (result < 0) { /* with the reason; the place is known here */
        char reason[256];
        snprintf(reason, sizeof(reason), "%.255s", p->diag->text);
        return tp_json_reader_fail(&p->reader, result, "entry %llu: %s",
                                   (unsigned long long)p->entry_count - 1, reason);
    }
    return 1;
}

static int close_own(struct parser *p, char bracket)
{
    struct tp_json_parser *own = &p->kineto.own;

    own->depth--;
    int good = tp_json_close(own, bracket);
    if (own->place == TP_JSON_AT_END)
        p->place = IN_ENTRY;
    return good;
}

static int close_place(struct parser *p, char bracket)
{
    p->depth--;
    switch (p->place) {
    case IN_SKIPPED:
        if (p->depth < p->inner_depth)
            p->place = p->resume;
        return 1;
    case IN_CAPTURE:
        return close_capture(p, bracket);
    case IN_ARGS:
        p->place = IN_ENTRY;
        return 1;
    case IN_ENTRY:
        return close_entry(p);
    case IN_EVENTS:
        p->place = p->is_array ? AT_END : IN_TOP;
        return 1;
    case IN_OWN:
        return close_own(p, bracket);
    case IN_DISTRIBUTED:
    case IN_SETTINGS:
        p->place = IN_TOP;
        return 1;
    default:
        p->place = AT_END;
        return 1;
    }
}

/* ---- yajl's side ---- */

/* Return: as a callback; what is copied can't grow over a document's size. */
static int copied(struct parser *p, bool good)
{
    return good ? 1 : fail(p, -TP_ELIMIT, "more than 16 MB in one value", "less");
}

static int on_word(struct parser *p, const char *word, const struct tp_json_token *token)
{
    if (p->place == IN_OWN)
        return tp_json_take(&p->kineto.own, token);
    if (p->copy && !copied(p, tp_json_capture_word(p->copy, word, strlen(word))))
        return 0;
    return take_word(p, word);
}

static int on_null(void *context)
{
    return on_word(context, "null", &(struct tp_json_token){.type = TP_JSON_NULL});
}

static int on_boolean(void *context, int value)
{
    return on_word(context, value ? "true" : "false",
                   &(struct tp_json_token){.type = TP_JSON_FLAG, .flag = value});
}

static int on_number(void *context, const char *text, size_t size)
{
    struct parser *p = context;

    if (p->place == IN_OWN)
        return tp_json_take_number(&p->kineto.own, text, size);
    if (p->copy && !copied(p, tp_json_capture_word(p->copy, text, size)))
        return 0;
    return take(p, false, text, size);
}

static int on_string(void *context, const unsigned char *text, size_t size)
{
    struct parser *p = context;

    if (p->place == IN_OWN)
        return tp_json_take(&p->kineto.own, &(struct tp_json_token){.type = TP_JSON_STRING,
                                                                    .text = (const char *)text,
                                                                    .size = size});
    if (p->copy && !copied(p, tp_json_capture_string(p->copy, text, size)))
        return 0;
    return take(p, true, (const char *)text, size);
}

static int on_map_key(void *context, const unsigned char *key, size_t size)
{
    struct parser *p = context;

    if (p->copy && !copied(p, tp_json_capture_key(p->copy, key, size)))
        return 0;
    if (p->place == IN_SKIPPED)
        return 1;
    if (p->place == IN_OWN)
        return tp_json_key(&p->kineto.own, key, size);
    if (p->place == IN_CAPTURE)
        return tp_json_capture_key(&p->kineto.entry.captured, key, size)
                   ? 1
                   : fail(p, -TP_ELIMIT, "more than 16 MB of arguments", "less");
    p->key = tp_word_table_find(&p->key_table, key, size);
    return p->place == IN_ARGS && is_capturing(p) ? begin_argument(p, key, size) : 1;
}

static int on_start(struct parser *p, char bracket)
{
    int good = open_place(p, bracket);

    return good && p->copy ? copied(p, tp_json_capture_open(p->copy, bracket)) : good;
}

static int on_end(struct parser *p, char bracket)
{
    bool is_whole = p->copy && p->depth == p->copy_depth;

    if (p->copy && !copied(p, tp_json_capture_close(p->copy, bracket)))
        return 0;
    if (is_whole)
        p->copy = NULL;
    return close_place(p, bracket);
}

static int on_start_map(void *context)
{
    return on_start(context, '{');
}

static int on_end_map(void *context)
{
    return on_end(context, '}');
}

static int on_start_array(void *context)
{
    return on_start(context, '[');
}

static int on_end_array(void *context)
{
    return on_end(context, ']');
}

static const yajl_callbacks callbacks = {
    .yajl_null = on_null,
    .yajl_boolean = on_boolean,
    .yajl_number = on_number,
    .yajl_string = on_string,
    .yajl_start_map = on_start_map,
    .yajl_map_key = on_map_key,
    .yajl_end_map = on_end_map,
    .yajl_start_array = on_start_array,
    .yajl_end_array = on_end_array,
};

/* A comma before a closing bracket. */
static const char *resume_at(void *context, int byte)
{
    struct parser *p = context;

    if (p->place == IN_EVENTS && byte == ']' && p->entry_count)
        return p->is_array ? "[\"\"" : "{\"\":[\"\"";
    return p->place == IN_TOP && byte == '}' ? "{\"\":\"\"" : NULL;
}

/* ---- the whole ---- */

static int parser_init(struct parser *p, struct tp_input *input, struct tp_event_list *list,
                       struct tp_diag *diag)
{
    memset(p, 0, sizeof(*p));
    p->diag = diag;
    p->key = -1;
    p->keeps_all = list->keeps_details;
    for (int i = 0; i < CATEGORY_COUNT; i++)
        p->category_words[i] = (struct tp_word){categories[i].name, i};
    tp_word_table_init(&p->key_table, keys, KEY_COUNT);
    tp_word_table_init(&p->category_table, p->category_words, CATEGORY_COUNT);
    tp_kineto_init(&p->kineto, input, list);
    int result = tp_json_reader_init(&p->reader, &callbacks, p, diag);
    p->reader.resume = resume_at;
    return result;
}

static void parser_fini(struct parser *p)
{
    tp_json_reader_fini(&p->reader);
    tp_kineto_fini(&p->kineto);
}

/* The document is read, or ended too early: then what there is counts, and it is said. */
static int finish(struct parser *p, int result)
{
    struct tp_input *input = p->kineto.input;

    if (result == -TP_ETRUNCATED && p->saw_events) {
        tp_input_lost(input, 1,
                      "the file ends in the middle (byte %" PRIu64 ", line %" PRIu64
                      "), its writer was stopped; %" PRIu64 " entr%s whole",
                      tp_json_reader_offset(&p->reader), tp_json_reader_line(&p->reader),
                      p->entry_count, p->entry_count == 1 ? "y was" : "ies were");
        result = 0;
    }
    if (!result && !p->saw_events)
        result = tp_diag_fail(p->diag, -TP_ESYNTAX, tp_json_reader_offset(&p->reader),
                              "line %llu: found an object without \"traceEvents\", expected that "
                              "list of entries",
                              (unsigned long long)tp_json_reader_line(&p->reader));
    if (!result)
        result = tp_kineto_finish(&p->kineto, p->diag);
    if (result < 0)
        tp_kineto_drop(&p->kineto);
    return result;
}

int tp_kineto_json_parse(struct tp_input *input, const char *text, size_t size,
                         struct tp_event_list *list, struct tp_diag *diag)
{
    struct parser p;
    int result = parser_init(&p, input, list, diag);

    if (!result)
        result = tp_json_reader_feed(&p.reader, text, size);
    if (!result)
        result = tp_json_reader_finish(&p.reader);
    if (p.reader.yajl)
        result = finish(&p, result);
    parser_fini(&p);
    return result;
}

static int read_list(struct tp_input *input, struct tp_event_list *list, struct tp_diag *diag)
{
    struct parser p;
    int result = parser_init(&p, input, list, diag);

    if (!result)
        result = finish(&p, tp_json_reader_input(&p.reader, input));
    parser_fini(&p);
    return result;
}

/* ---- recognising one ---- */

static bool contains(const struct tp_input *input, const char *word)
{
    return memmem(input->head, input->head_size, word, strlen(word)) != NULL;
}

static int probe(const struct tp_input *input)
{
    static const char *const signs[] = {"\"schemaVersion\"",       "\"deviceProperties\"",
                                        "\"distributedInfo\"",     "\"displayTimeUnit\"",
                                        "\"baseTimeNanoseconds\"", "\"otherData\""};
    char first = tp_json_begins(input);

    if (!first)
        return 0;
    if (contains(input, "\"traceEvents\""))
        return 95;
    if (contains(input, "\"ph\""))
        return 80;
    for (size_t sign = 0; sign < sizeof(signs) / sizeof(signs[0]); sign++) {
        if (first == '{' && contains(input, signs[sign]))
            return 70;
    }
    return 0;
}

const struct tp_input_kind tp_input_kineto_json = {
    .name = "kineto",
    .help = "a Kineto or Chrome trace in JSON",
    .probe = probe,
    .read_list = read_list,
};
