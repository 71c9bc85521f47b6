/* SPDX-License-Identifier: MIT
 * Raw records in JSON, as a profiler's own step from records to events is tested with. */
#include "input/raw_records_json.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "input/json_capture.h"
#include "input/json_reader.h"
#include "input/word_table.h"
#include "model/post_process.h"

enum { MAX_DEPTH = 64, MAX_FRAMES = 1 << 16, REQUIRED = 3 };

enum field_kind {
    FIELD_INTEGER,
    FIELD_SMALL, /* 32 bits */
    FIELD_TINY,  /* 0..255 */
    FIELD_NUMBER,
    FIELD_FLAG,
    FIELD_TEXT,
    FIELD_DEVICE,
    FIELD_SHAPES,
    FIELD_STACK,
    FIELD_ACTIVITY,
};

static const struct field {
    const char *name;
    enum field_kind kind;
    size_t target; /* offset in the record */
} fields[] = {
#define TP_RAW_FIELD(name, kind, target)                                                           \
    {name, FIELD_##kind, offsetof(struct tp_raw_record, target)},
#include "input/raw_record_fields.def"
#undef TP_RAW_FIELD
};

enum { FIELD_COUNT = sizeof(fields) / sizeof(fields[0]), NO_FIELD = -1 };

enum setting { RAW, LIST, TRACE_START, USE_DEVICE, PROFILE_MEMORY, WITH_FLOPS };

static const struct tp_word settings[] = {
    {"raw", RAW},
    {"list", LIST},
    {"trace_start_ns", TRACE_START},
    {"use_device", USE_DEVICE},
    {"profile_memory", PROFILE_MEMORY},
    {"with_flops", WITH_FLOPS},
};

enum place {
    AT_TOP,
    IN_TOP,
    IN_LIST, /* settings */
    IN_RECORDS,
    IN_RECORD,
    IN_STACK,
    IN_SHAPES,
    IN_SKIPPED,
    AT_END,
};

struct parser {
    struct tp_json_reader reader;
    struct tp_raw_records records;
    struct tp_diag *diag;
    struct tp_word field_words[FIELD_COUNT];
    struct tp_word_table field_table, setting_table;
    enum place place, resume;
    int key; /* index of a field, enum setting, or -1 */
    unsigned depth, inner_depth;
    bool saw_records, has_trace_start;
    uint32_t cpu_op; /* string id: the activity of a record that names none */
    int64_t trace_start_ns;
    uint64_t record_count;

    struct tp_raw_record record;
    struct tp_event_details details;
    uint64_t seen; /* bit n: fields[n] was there */
    struct tp_buffer shapes, text;
    uint32_t *frames;
    uint32_t frame_count, frame_capacity;
};

/* ---- errors ---- */

static int fail(struct parser *p, int code, const char *found, const char *expected)
{
    if (p->place < IN_RECORDS || p->place > IN_SHAPES)
        return tp_json_reader_fail(&p->reader, code, "found %s, expected %s", found, expected);
    return tp_json_reader_fail(&p->reader, code, "record %llu%s%s: found %s, expected %s",
                               (unsigned long long)p->record_count, p->key < 0 ? "" : ", ",
                               p->key < 0 || p->place < IN_RECORD ? "" : fields[p->key].name, found,
                               expected);
}

static int fail_memory(struct parser *p, int code)
{
    return tp_json_reader_fail(&p->reader, code, "no memory for record %llu",
                               (unsigned long long)p->record_count);
}

static int fail_string(struct parser *p, const char *bytes, size_t size, const char *expected)
{
    char found[80];
    struct tp_text text;

    tp_text_init(&text, found, sizeof(found));
    tp_text_json(&text, bytes, size < 32 ? size : 32);
    return fail(p, -TP_ETYPE, found, expected);
}

/* ---- values ---- */

static int put_string(struct parser *p, const char *text, size_t size, uint32_t *ret_id)
{
    int result = tp_strings_put(p->records.list->strings, text, size, ret_id);

    return result < 0 ? fail_memory(p, result) : 1;
}

static int take_device(struct parser *p, const char *text, size_t size)
{
    char name[32] = "";

    if (size < sizeof(name))
        memcpy(name, text, size);
    int type = tp_device_type_find(name);
    if (type < 0)
        return fail_string(p, text, size, "a device type such as \"CPU\" or \"CUDA\"");
    p->record.device_type = (uint8_t)type;
    return 1;
}

static int take_string(struct parser *p, const char *text, size_t size)
{
    const struct field *field = &fields[p->key];
    char *at = (char *)&p->record + field->target;

    switch (field->kind) {
    case FIELD_TEXT:
        return put_string(p, text, size, (uint32_t *)(void *)at);
    case FIELD_ACTIVITY:
        return put_string(p, text, size, &p->details.activity_type);
    case FIELD_DEVICE:
        return take_device(p, text, size);
    default:
        return fail_string(p, text, size,
                           field->kind >= FIELD_SHAPES ? "a list" : "a value of its type");
    }
}

static int take_number(struct parser *p, const struct tp_number *number)
{
    const struct field *field = &fields[p->key];
    char *at = (char *)&p->record + field->target;
    int64_t integer = tp_number_truncate(*number);
    bool fits = tp_number_fits(*number);

    switch (field->kind) {
    case FIELD_NUMBER:
        memcpy(at, number, sizeof(*number));
        return 1;
    case FIELD_INTEGER:
        if (!fits && field->target == offsetof(struct tp_raw_record, flops) && !number->high &&
            !number->is_real)
            integer = (int64_t)number->bits.low;
        else if (!fits)
            return fail(p, -TP_ETYPE, "a number", "an integer of 64 bits");
        memcpy(at, &integer, sizeof(integer));
        return 1;
    case FIELD_SMALL:
        if (!fits || integer < INT32_MIN || integer > INT32_MAX)
            return fail(p, -TP_ETYPE, "a number", "an integer of 32 bits");
        memcpy(at, &(int32_t){(int32_t)integer}, sizeof(int32_t));
        return 1;
    case FIELD_TINY:
        if (!fits || integer < 0 || integer > UINT8_MAX)
            return fail(p, -TP_ETYPE, "a number", "an integer from 0 to 255");
        *at = (char)integer;
        return 1;
    default:
        return fail(p, -TP_ETYPE, "a number", "a value of its type");
    }
}

static int take_flag(struct parser *p, bool value)
{
    if (fields[p->key].kind != FIELD_FLAG)
        return fail(p, -TP_ETYPE, value ? "true" : "false", "a value of its type");
    *((char *)&p->record + fields[p->key].target) = value;
    return 1;
}

static int take_frame(struct parser *p, const char *text, size_t size)
{
    if (p->frame_count == MAX_FRAMES)
        return fail(p, -TP_ELIMIT, "more than 65536 frames", "a stack");
    if (p->frame_count == p->frame_capacity) {
        uint32_t capacity = p->frame_capacity ? p->frame_capacity * 2 : 64;
        uint32_t *frames = realloc(p->frames, capacity * sizeof(*frames));
        if (!frames)
            return fail_memory(p, -ENOMEM);
        p->frames = frames;
        p->frame_capacity = capacity;
    }
    return put_string(p, text, size, &p->frames[p->frame_count++]);
}

/* Lists of numbers stay as they are; a deeper list is no shape. */
static int end_shapes(struct parser *p)
{
    p->place = IN_RECORD;
    tp_buffer_reset(&p->text);
    tp_json_shapes(&p->text, p->shapes.bytes, p->shapes.size);
    if (p->shapes.failed || p->text.failed)
        return fail_memory(p, -ENOMEM);
    return put_string(p, p->text.bytes, p->text.size, &p->record.input_shapes);
}

/* "cuda_runtime", "xpu_driver", ... */
static bool is_call(const struct tp_string *activity)
{
    return strstr(activity->bytes, "_runtime") || strstr(activity->bytes, "_driver");
}

static int end_record(struct parser *p)
{
    p->place = IN_RECORDS;
    p->key = NO_FIELD;
    for (int i = 0; i < REQUIRED; i++) {
        if (!(p->seen >> i & 1))
            return fail(p, -TP_ESYNTAX, "none", fields[i].name);
    }
    if (!(p->seen >> 5 & 1)) /* end_thread_id */
        p->record.end_thread = p->record.start_thread;
    p->details.linked_correlation_id = p->record.linked_correlation_id;
    p->record.details = &p->details;
    p->record.is_call = is_call(tp_strings_get(p->records.list->strings, p->details.activity_type));
    int result = tp_raw_records_add(&p->records, &p->record, p->diag);
    if (result < 0) {
        char reason[256];
        snprintf(reason, sizeof(reason), "%.255s", p->diag->text);
        return tp_json_reader_fail(&p->reader, result, "record %llu: %s",
                                   (unsigned long long)p->record_count, reason);
    }
    p->record_count++;
    return 1;
}

/* ---- settings ---- */

static int set_flag(struct parser *p, bool value)
{
    if (p->place == IN_LIST && p->key == PROFILE_MEMORY)
        p->records.list->profile_memory |= value;
    else if (p->place == IN_LIST && p->key == WITH_FLOPS)
        p->records.list->with_flops |= value;
    return 1;
}

static int set_text(struct parser *p, const char *text, size_t size)
{
    return p->place == IN_LIST && p->key == USE_DEVICE
               ? put_string(p, text, size, &p->records.list->use_device)
               : 1;
}

static int set_number(struct parser *p, const struct tp_number *number)
{
    if (p->place != IN_TOP || p->key != TRACE_START)
        return 1;
    if (!tp_number_fits(*number))
        return fail(p, -TP_ETYPE, "a number", "an integer of 64 bits in \"trace_start_ns\"");
    p->trace_start_ns = tp_number_truncate(*number);
    p->has_trace_start = true;
    return 1;
}

/* ---- yajl's side ---- */

static int capture_word(struct parser *p, const char *text, size_t size)
{
    return tp_json_capture_word(&p->shapes, text, size)
               ? 1
               : fail(p, -TP_ELIMIT, "more than 16 MB", "shapes");
}

static int on_null(void *context)
{
    struct parser *p = context;

    return p->place == IN_SHAPES ? fail(p, -TP_ETYPE, "null", "a size") : 1; /* else: default */
}

static int on_boolean(void *context, int value)
{
    struct parser *p = context;

    if (p->place == IN_RECORD)
        return p->key < 0 ? 1 : take_flag(p, value);
    if (p->place == IN_SHAPES || p->place == IN_STACK || p->place == IN_RECORDS)
        return fail(p, -TP_ETYPE, value ? "true" : "false", "something else");
    return set_flag(p, value);
}

static int on_number(void *context, const char *text, size_t size)
{
    struct parser *p = context;
    struct tp_number number;

    if (p->place == IN_SHAPES)
        return capture_word(p, text, size);
    if (p->place == IN_SKIPPED || p->key < 0)
        return 1;
    if (tp_number_parse(text, size, &number) < 0)
        return fail_string(p, text, size, "a finite number");
    if (p->place == IN_RECORD)
        return take_number(p, &number);
    if (p->place == IN_STACK || p->place == IN_RECORDS)
        return fail_string(p, text, size, "something else than a number");
    return set_number(p, &number);
}

static int on_string(void *context, const unsigned char *bytes, size_t size)
{
    struct parser *p = context;
    const char *text = (const char *)bytes;

    switch (p->place) {
    case IN_RECORD:
        return p->key < 0 ? 1 : take_string(p, text, size);
    case IN_STACK:
        return take_frame(p, text, size);
    case IN_SHAPES:
        return fail_string(p, text, size, "a size");
    case IN_RECORDS:
        return fail_string(p, text, size, "a record (an object)");
    default:
        return set_text(p, text, size);
    }
}

static int on_map_key(void *context, const unsigned char *key, size_t size)
{
    struct parser *p = context;

    if (p->place == IN_TOP || p->place == IN_LIST)
        p->key = tp_word_table_find(&p->setting_table, key, size);
    if (p->place != IN_RECORD)
        return 1;
    p->key = tp_word_table_find(&p->field_table, key, size);
    if (p->key >= 0)
        p->seen |= 1ull << p->key;
    return 1;
}

static int skip(struct parser *p)
{
    p->resume = p->place;
    p->place = IN_SKIPPED;
    p->inner_depth = p->depth;
    return 1;
}

static int begin_record(struct parser *p)
{
    tp_raw_record_init(&p->record);
    p->details = tp_event_details_none();
    p->details.activity_type = p->cpu_op;
    p->seen = 0;
    p->key = NO_FIELD;
    p->place = IN_RECORD;
    return 1;
}

static int begin_list(struct parser *p)
{
    if (p->key < 0)
        return skip(p);
    p->inner_depth = p->depth;
    p->frame_count = 0;
    tp_buffer_reset(&p->shapes);
    if (fields[p->key].kind == FIELD_STACK)
        p->place = IN_STACK;
    else if (fields[p->key].kind != FIELD_SHAPES)
        return fail(p, -TP_ETYPE, "a list", "a value of its type");
    else
        p->place = IN_SHAPES;
    return p->place == IN_STACK || tp_json_capture_open(&p->shapes, '[') ? 1 : 0;
}

static int on_start(struct parser *p, bool is_list)
{
    if (++p->depth > MAX_DEPTH)
        return fail(p, -TP_ELIMIT, "more than 64 levels", "less nesting");
    switch (p->place) {
    case AT_TOP:
        p->place = is_list ? IN_RECORDS : IN_TOP;
        p->saw_records = is_list;
        return 1;
    case IN_TOP:
        if (p->key == LIST && !is_list)
            p->place = IN_LIST;
        else if (p->key == RAW && is_list)
            p->place = IN_RECORDS;
        else
            return skip(p);
        p->saw_records |= p->place == IN_RECORDS;
        return 1;
    case IN_RECORDS:
        return is_list ? fail(p, -TP_ETYPE, "a list", "a record (an object)") : begin_record(p);
    case IN_RECORD:
        return is_list || p->key < 0 ? begin_list(p)
                                     : fail(p, -TP_ETYPE, "an object", "a value of its type");
    case IN_SHAPES:
        if (!is_list)
            return fail(p, -TP_ETYPE, "an object", "a size");
        return tp_json_capture_open(&p->shapes, '[')
                   ? 1
                   : fail(p, -TP_ELIMIT, "more than 16 MB", "shapes");
    case IN_STACK:
        return fail(p, -TP_ETYPE, "a list or an object", "a frame (a string)");
    case IN_LIST:
        return skip(p);
    default:
        return 1;
    }
}

static int end_stack(struct parser *p)
{
    int result =
        tp_stacks_put(p->records.list->stacks, p->frames, p->frame_count, &p->record.stack);

    p->place = IN_RECORD;
    return result < 0 ? fail_memory(p, result) : 1;
}

static int on_end(void *context)
{
    struct parser *p = context;

    p->depth--;
    switch (p->place) {
    case IN_SKIPPED:
        if (p->depth < p->inner_depth)
            p->place = p->resume;
        return 1;
    case IN_SHAPES:
        tp_json_capture_close(&p->shapes, ']');
        return p->depth < p->inner_depth ? end_shapes(p) : 1;
    case IN_STACK:
        return end_stack(p);
    case IN_RECORD:
        return end_record(p);
    case IN_LIST:
        p->place = IN_TOP;
        return 1;
    case IN_RECORDS:
        p->place = p->depth ? IN_TOP : AT_END;
        return 1;
    default:
        p->place = AT_END;
        return 1;
    }
}

static int on_start_map(void *context)
{
    return on_start(context, false);
}

static int on_start_array(void *context)
{
    return on_start(context, true);
}

static const yajl_callbacks callbacks = {
    .yajl_null = on_null,
    .yajl_boolean = on_boolean,
    .yajl_number = on_number,
    .yajl_string = on_string,
    .yajl_start_map = on_start_map,
    .yajl_map_key = on_map_key,
    .yajl_end_map = on_end,
    .yajl_start_array = on_start_array,
    .yajl_end_array = on_end,
};

/* ---- the whole ---- */

static int parser_init(struct parser *p, struct tp_event_list *list, struct tp_diag *diag)
{
    memset(p, 0, sizeof(*p));
    p->diag = diag;
    p->key = NO_FIELD;
    for (int i = 0; i < FIELD_COUNT; i++)
        p->field_words[i] = (struct tp_word){fields[i].name, i};
    tp_word_table_init(&p->field_table, p->field_words, FIELD_COUNT);
    tp_word_table_init(&p->setting_table, settings, sizeof(settings) / sizeof(settings[0]));
    tp_raw_records_init(&p->records, list);
    if (tp_strings_put(list->strings, "cpu_op", 6, &p->cpu_op) < 0)
        return tp_diag_fail(diag, -ENOMEM, TP_DIAG_NO_OFFSET, "no memory for a name");
    return tp_json_reader_init(&p->reader, &callbacks, p, diag);
}

/* Allocations as instants of a trace. */
static int mark_memory(const struct tp_raw_records *records, int64_t trace_start_ns)
{
    const struct tp_memory_records *memory = &records->memory;
    struct tp_event_list *list = records->list;
    struct tp_buffer text = {0};
    int result = 0;

    for (uint32_t i = 0; i < memory->count && !result; i++) {
        const struct tp_memory_record *record = &memory->items[i];
        struct tp_trace_mark mark = {
            .phase = 'i', .scope = 't', .has_ts = true, .ts_ns = record->start_ns - trace_start_ns};
        result = tp_strings_put(list->strings, "[memory]", 8, &mark.name);
        if (!result)
            result = tp_strings_put(list->strings, "cpu_instant_event", 17, &mark.category);
        tp_buffer_reset(&text);
        tp_buffer_format(&text, "%lld", (long long)record->thread);
        if (!result)
            result = tp_strings_put(list->strings, text.bytes, text.size, &mark.tid);
        tp_buffer_reset(&text);
        tp_trace_memory_args(&text, record->device_type, record->device_index, record->bytes);
        tp_buffer_char(&text, '}');
        if (!result)
            result = text.failed ? -ENOMEM
                                 : tp_strings_put(list->strings, text.bytes, text.size, &mark.args);
        if (!result)
            result = tp_trace_context_mark(list->trace, &mark);
    }
    tp_buffer_fini(&text);
    return result;
}

/* What a trace tells besides events. */
static int set_trace(struct parser *p, int64_t trace_start_ns)
{
    struct tp_event_list *list = p->records.list;

    if (!list->trace)
        return 0;
    struct tp_trace_source *source = tp_trace_context_source(list->trace);
    source->has_base = true;
    source->base_ns = trace_start_ns;
    int result = mark_memory(&p->records, trace_start_ns);
    return result < 0 ? tp_diag_fail(p->diag, result, TP_DIAG_NO_OFFSET, "no memory for a trace")
                      : 0;
}

static int finish(struct parser *p, int result)
{
    struct tp_raw_records *records = &p->records;
    int64_t start = p->has_trace_start   ? p->trace_start_ns
                    : records->has_start ? records->first_start_ns
                                         : 0;

    if (!result && !p->saw_records)
        result = tp_diag_fail(p->diag, -TP_ESYNTAX, tp_json_reader_offset(&p->reader),
                              "line %llu: found an object without \"raw\", expected that list",
                              (unsigned long long)tp_json_reader_line(&p->reader));
    if (!result)
        result = set_trace(p, start);
    if (!result)
        result = tp_post_process(records, start, p->diag);
    if (result < 0)
        records->list->count = records->first;
    tp_json_reader_fini(&p->reader);
    tp_raw_records_fini(records);
    tp_buffer_fini(&p->shapes);
    tp_buffer_fini(&p->text);
    free(p->frames);
    return result;
}

int tp_raw_records_json_parse(const char *text, size_t size, struct tp_event_list *list,
                              struct tp_diag *diag)
{
    struct parser p;
    int result = parser_init(&p, list, diag);

    if (!result)
        result = tp_json_reader_feed(&p.reader, text, size);
    if (!result)
        result = tp_json_reader_finish(&p.reader);
    return finish(&p, result);
}

static int check_selection(const struct tp_selection *s, struct tp_diag *diag)
{
    if (s && tp_selects(s))
        return tp_diag_fail(diag, -TP_EUNSUPPORTED, TP_DIAG_NO_OFFSET,
                            "nothing can be selected from raw records");
    return 0;
}

static int read_list(struct tp_input *input, struct tp_event_list *list, struct tp_diag *diag)
{
    struct parser p;
    int result = check_selection(input->selection, diag);

    if (result < 0)
        return result;
    result = parser_init(&p, list, diag);
    if (!result)
        result = tp_json_reader_input(&p.reader, input);
    return finish(&p, result);
}

static int probe(const struct tp_input *input)
{
    if (!tp_json_begins(input))
        return 0;
    return memmem(input->head, input->head_size, "\"start_ns\"", 10) ? 92 : 0;
}

const struct tp_input_kind tp_input_raw_records_json = {
    .name = "raw-records",
    .help = "raw records in JSON",
    .probe = probe,
    .read_list = read_list,
};
