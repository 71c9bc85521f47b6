/* SPDX-License-Identifier: MIT
 * The values of an event in JSON: each field of event_fields.def by its kind, and the lists below
 * one. */
#include "input/event_fields.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "input/json_capture.h"
#include "model/python_text.h"

enum {
    MAX_SHAPES = 4 << 20,
    MAX_FRAMES = 1 << 16,
};

enum field_kind {
    FIELD_INTEGER,
    FIELD_SMALL, /* 32 bits */
    FIELD_TINY,  /* 0..255 */
    FIELD_NUMBER,
    FIELD_FLAG,
    FIELD_TEXT,
    FIELD_TEXT_OR_NULL,
    FIELD_DEVICE,
    FIELD_FORWARD,  /* integer or null = none */
    FIELD_RESOURCE, /* integer or null = the thread */
    FIELD_FLOPS,    /* number or null */
    FIELD_SHAPES,
    FIELD_STACK,
    FIELD_KERNELS,
    FIELD_PARENT,         /* in a trace: the event's number in the file */
    FIELD_DETAIL_INTEGER, /* these three: in the details */
    FIELD_DETAIL_TEXT,
    FIELD_DETAIL_JSON,
};

struct tp_event_field {
    const char *name;
    size_t size;
    enum field_kind kind;
    size_t target; /* offset in the event or its details, a bit, or a number's place */
};

/* The kinds whose target is an offset take it as such; the others as it is. */
#define TARGET_INTEGER(t) offsetof(struct tp_function_event, t)
#define TARGET_SMALL(t) offsetof(struct tp_function_event, t)
#define TARGET_TINY(t) offsetof(struct tp_function_event, t)
#define TARGET_TEXT(t) offsetof(struct tp_function_event, t)
#define TARGET_TEXT_OR_NULL(t) offsetof(struct tp_function_event, t)
#define TARGET_DEVICE(t) offsetof(struct tp_function_event, t)
#define TARGET_FORWARD(t) offsetof(struct tp_function_event, t)
#define TARGET_RESOURCE(t) offsetof(struct tp_function_event, t)
#define TARGET_SHAPES(t) offsetof(struct tp_function_event, t)
#define TARGET_STACK(t) offsetof(struct tp_function_event, t)
#define TARGET_KERNELS(t) offsetof(struct tp_function_event, t)
#define TARGET_PARENT(t) offsetof(struct tp_function_event, t)
#define TARGET_NUMBER(t) t
#define TARGET_FLAG(t) t
#define TARGET_FLOPS(t) t

static const struct tp_event_field fields[] = {
#define TP_EVENT_FIELD(name, kind, target)                                                         \
    {name, sizeof(name) - 1, FIELD_##kind, TARGET_##kind(target)},
#include "input/event_fields.def"
#undef TP_EVENT_FIELD
#define TP_EVENT_DETAIL(name, kind, none)                                                          \
    {#name, sizeof(#name) - 1, FIELD_DETAIL_##kind, offsetof(struct tp_event_details, name)},
#include "model/event_details.def"
#undef TP_EVENT_DETAIL
};

enum { FIELD_COUNT = sizeof(fields) / sizeof(fields[0]), FIRST_OPTIONAL = 4 };
_Static_assert(FIELD_COUNT <= 64, "tp_json_parser has a bit for each");

/* ---- errors: every callback returns 0 to stop ---- */

int tp_json_fail(struct tp_json_parser *p, int code, const char *found, const char *expected)
{
    bool is_inside = p->place >= TP_JSON_IN_EVENTS && p->place <= TP_JSON_IN_DETAIL;
    const char *where = p->place >= TP_JSON_IN_EVENT && is_inside && p->field ? p->field->name : "";

    if (!is_inside)
        return tp_json_reader_fail(p->reader, code, "found %s, expected %s", found, expected);
    return tp_json_reader_fail(p->reader, code, "event %u%s%s: found %s, expected %s",
                               p->event_number, *where ? ", " : "", where, found, expected);
}

int tp_json_fail_memory(struct tp_json_parser *p, int code)
{
    return tp_json_reader_fail(p->reader, code, "no memory for event %u", p->event_number);
}

int tp_json_fail_token(struct tp_json_parser *p, const struct tp_json_token *token,
                       const char *expected)
{
    char found[80];
    struct tp_text text;

    tp_text_init(&text, found, sizeof(found));
    switch (token->type) {
    case TP_JSON_NULL:
        tp_text_string(&text, "null");
        break;
    case TP_JSON_FLAG:
        tp_text_string(&text, token->flag ? "true" : "false");
        break;
    case TP_JSON_NUMBER:
        tp_text_format(&text, "the number %.*s", token->size < 32 ? (int)token->size : 32,
                       token->text);
        break;
    case TP_JSON_STRING:
        tp_text_string(&text, "the string ");
        tp_text_json(&text, token->text, token->size < 32 ? token->size : 32);
        break;
    case TP_JSON_LIST:
        tp_text_string(&text, "a list");
        break;
    case TP_JSON_OBJECT:
        tp_text_string(&text, "an object");
        break;
    }
    return tp_json_fail(p, -TP_ETYPE, found, expected);
}

/* ---- values of an event ---- */

static int put_string(struct tp_json_parser *p, const struct tp_json_token *token, uint32_t *ret_id)
{
    int result = tp_strings_put(p->list->strings, token->text, token->size, ret_id);

    return result < 0 ? tp_json_fail_memory(p, result) : 1;
}

static int take_integer(struct tp_json_parser *p, const struct tp_json_token *token, int64_t low,
                        int64_t high, int64_t *ret, const char *expected)
{
    int64_t value = token->type == TP_JSON_NUMBER ? tp_number_truncate(token->number) : 0;

    if (token->type != TP_JSON_NUMBER || !tp_number_fits(token->number) || value < low ||
        value > high)
        return tp_json_fail_token(p, token, expected);
    *ret = value;
    return 1;
}

int tp_json_take_text(struct tp_json_parser *p, const struct tp_json_token *token, bool nullable,
                      uint32_t *ret_id)
{
    if (token->type == TP_JSON_NULL && nullable) {
        *ret_id = TP_STRING_NONE;
        return 1;
    }
    if (token->type != TP_JSON_STRING)
        return tp_json_fail_token(p, token, nullable ? "a string or null" : "a string");
    return put_string(p, token, ret_id);
}

static int take_device(struct tp_json_parser *p, const struct tp_json_token *token)
{
    char name[32];

    if (token->type == TP_JSON_STRING && token->size < sizeof(name)) {
        memcpy(name, token->text, token->size);
        name[token->size] = '\0';
        int type = tp_device_type_find(name);
        if (type >= 0) {
            p->event.device_type = (uint8_t)type;
            return 1;
        }
    }
    return tp_json_fail_token(p, token, "a device type such as \"CPU\" or \"CUDA\"");
}

static int take_flag(struct tp_json_parser *p, const struct tp_json_token *token, uint16_t bit)
{
    if (token->type != TP_JSON_FLAG)
        return tp_json_fail_token(p, token, "true or false");
    p->event.flags = (uint16_t)(token->flag ? p->event.flags | bit : p->event.flags & ~bit);
    return 1;
}

static int take_number(struct tp_json_parser *p, const struct tp_json_token *token,
                       enum tp_event_number number)
{
    if (token->type != TP_JSON_NUMBER)
        return tp_json_fail_token(p, token, "a number");
    tp_event_set(&p->event, number, token->number);
    return 1;
}

static int begin_list(struct tp_json_parser *p, const struct tp_json_token *token,
                      enum tp_json_place place)
{
    if (token->type != TP_JSON_LIST)
        return tp_json_fail_token(p, token, "a list");
    p->place = place;
    p->frame_count = 0;
    p->shapes_depth = 1;
    tp_buffer_reset(&p->shapes);
    tp_buffer_char(&p->shapes, '[');
    if (place == TP_JSON_IN_KERNELS)
        p->kernel_count = 0;
    return 1;
}

/* Null where a value may be missing; 1 when that was it. */
static bool take_null(struct tp_json_parser *p, const struct tp_json_token *token)
{
    if (token->type != TP_JSON_NULL)
        return false;
    switch (p->field->kind) {
    case FIELD_FORWARD:
        p->event.flags &= (uint16_t)~TP_EVENT_HAS_FWD_THREAD;
        return true;
    case FIELD_RESOURCE:
        p->saw_resource = false;
        return true;
    case FIELD_FLOPS:
        tp_event_set(&p->event, TP_EVENT_FLOPS, tp_number_integer(0));
        p->event.flags |= TP_EVENT_NO_FLOPS;
        return true;
    case FIELD_SHAPES:
        p->event.input_shapes = TP_STRING_NONE;
        return true;
    case FIELD_STACK:
        p->event.stack = TP_STACK_NONE;
        return true;
    case FIELD_KERNELS:
        p->kernel_count = 0;
        return true;
    case FIELD_DETAIL_INTEGER:
    case FIELD_DETAIL_TEXT:
    case FIELD_DETAIL_JSON: /* as good as absent */
        return true;
    default:
        return false;
    }
}

/* ---- details, kept only for who wants them ---- */

static int put_detail(struct tp_json_parser *p)
{
    uint32_t *at = (uint32_t *)(void *)((char *)&p->details + p->field->target);
    int result = p->detail.failed
                     ? -ENOMEM
                     : tp_strings_put(p->list->strings, p->detail.bytes, p->detail.size, at);

    return result < 0 ? tp_json_fail_memory(p, result) : 1;
}

/* One more token of a value that is kept as text. */
static int take_in_detail(struct tp_json_parser *p, const struct tp_json_token *token)
{
    bool good = true;

    switch (token->type) {
    case TP_JSON_NULL:
        good = tp_json_capture_word(&p->detail, "null", 4);
        break;
    case TP_JSON_FLAG:
        good =
            tp_json_capture_word(&p->detail, token->flag ? "true" : "false", token->flag ? 4 : 5);
        break;
    case TP_JSON_NUMBER:
        good = tp_json_capture_word(&p->detail, token->text, token->size);
        break;
    case TP_JSON_STRING:
        good = tp_json_capture_string(&p->detail, token->text, token->size);
        break;
    case TP_JSON_LIST:
    case TP_JSON_OBJECT:
        good = tp_json_capture_open(&p->detail, token->type == TP_JSON_LIST ? '[' : '{');
        break;
    }
    return good ? 1 : tp_json_fail(p, -TP_ELIMIT, "more than 16 MB", "less");
}

static int end_detail(struct tp_json_parser *p, char bracket)
{
    if (!tp_json_capture_close(&p->detail, bracket))
        return tp_json_fail(p, -TP_ELIMIT, "more than 16 MB", "less");
    if (p->depth >= p->skip_depth)
        return 1;
    p->place = TP_JSON_IN_EVENT;
    return put_detail(p);
}

static int take_detail(struct tp_json_parser *p, const struct tp_json_token *token)
{
    char *at = (char *)&p->details + p->field->target;

    if (p->field->kind == FIELD_DETAIL_INTEGER)
        return take_integer(p, token, INT64_MIN, INT64_MAX, (int64_t *)(void *)at, "an integer");
    if (p->field->kind == FIELD_DETAIL_TEXT)
        return tp_json_take_text(p, token, true, (uint32_t *)(void *)at);
    tp_buffer_reset(&p->detail);
    if (!take_in_detail(p, token))
        return 0;
    if (token->type != TP_JSON_LIST && token->type != TP_JSON_OBJECT)
        return put_detail(p);
    p->place = TP_JSON_IN_DETAIL;
    p->skip_depth = p->depth;
    return 1;
}

static int take_in_event(struct tp_json_parser *p, const struct tp_json_token *token)
{
    const struct tp_event_field *field = p->field;
    char *at = (char *)&p->event + field->target;
    int64_t integer = 0;
    int good;

    if (take_null(p, token))
        return 1;
    switch (field->kind) {
    case FIELD_INTEGER:
    case FIELD_FORWARD:
    case FIELD_RESOURCE:
        good = take_integer(p, token, INT64_MIN, INT64_MAX, &integer, "an integer");
        memcpy(at, &integer, sizeof(integer));
        p->saw_resource |= field->kind == FIELD_RESOURCE;
        if (field->kind == FIELD_FORWARD)
            p->event.flags |= TP_EVENT_HAS_FWD_THREAD;
        return good;
    case FIELD_PARENT:
        good = take_integer(p, token, 0, INT32_MAX, &integer, "an event's number");
        p->event.parent = (uint32_t)integer;
        return good;
    case FIELD_SMALL:
        good = take_integer(p, token, INT32_MIN, INT32_MAX, &integer, "an integer of 32 bits");
        memcpy(at, &(int32_t){(int32_t)integer}, sizeof(int32_t));
        return good;
    case FIELD_TINY:
        good = take_integer(p, token, 0, UINT8_MAX, &integer, "an integer from 0 to 255");
        *at = (char)integer;
        return good;
    case FIELD_NUMBER:
        return take_number(p, token, field->target);
    case FIELD_FLOPS:
        p->event.flags &= (uint16_t)~TP_EVENT_NO_FLOPS;
        return take_number(p, token, field->target);
    case FIELD_FLAG:
        return take_flag(p, token, (uint16_t)field->target);
    case FIELD_TEXT:
    case FIELD_TEXT_OR_NULL:
        return tp_json_take_text(p, token, field->kind == FIELD_TEXT_OR_NULL,
                                 (uint32_t *)(void *)at);
    case FIELD_DEVICE:
        return take_device(p, token);
    case FIELD_SHAPES:
        return begin_list(p, token, TP_JSON_IN_SHAPES);
    case FIELD_STACK:
        return begin_list(p, token, TP_JSON_IN_STACK);
    case FIELD_KERNELS:
        return begin_list(p, token, TP_JSON_IN_KERNELS);
    case FIELD_DETAIL_INTEGER:
    case FIELD_DETAIL_TEXT:
    case FIELD_DETAIL_JSON:
        return take_detail(p, token);
    }
    return 0;
}

/* ---- inside the lists of an event ---- */

static int take_in_stack(struct tp_json_parser *p, const struct tp_json_token *token)
{
    if (token->type != TP_JSON_STRING)
        return tp_json_fail_token(p, token, "a string");
    if (p->frame_count == MAX_FRAMES)
        return tp_json_fail(p, -TP_ELIMIT, "more than 65536 frames", "a stack");
    if (p->frame_count == p->frame_capacity) {
        size_t capacity = p->frame_capacity ? p->frame_capacity * 2 : 64;
        uint32_t *frames = realloc(p->frames, capacity * sizeof(*frames));
        if (!frames)
            return tp_json_fail_memory(p, -ENOMEM);
        p->frames = frames;
        p->frame_capacity = capacity;
    }
    return put_string(p, token, &p->frames[p->frame_count++]);
}

static int end_stack(struct tp_json_parser *p)
{
    int result =
        tp_stacks_put(p->list->stacks, p->frames, (uint32_t)p->frame_count, &p->event.stack);

    p->place = TP_JSON_IN_EVENT;
    return result < 0 ? tp_json_fail_memory(p, result) : 1;
}

/* Shapes become the text that Python would print. */
static int take_in_shapes(struct tp_json_parser *p, const struct tp_json_token *token)
{
    char number[TP_NUMBER_TEXT_MAX];
    struct tp_buffer *out = &p->shapes;

    if (out->size && out->bytes[out->size - 1] != '[')
        tp_buffer_string(out, ", ");
    switch (token->type) {
    case TP_JSON_NULL:
        tp_buffer_string(out, "None");
        break;
    case TP_JSON_FLAG:
        tp_buffer_string(out, token->flag ? "True" : "False");
        break;
    case TP_JSON_NUMBER:
        tp_buffer_bytes(out, number, tp_number_print(token->number, number));
        break;
    case TP_JSON_STRING:
        tp_python_string(out, token->text, token->size);
        break;
    case TP_JSON_LIST:
        p->shapes_depth++;
        tp_buffer_char(out, '[');
        break;
    case TP_JSON_OBJECT:
        return tp_json_fail_token(p, token, "a list, number, string or null");
    }
    if (out->failed)
        return tp_json_fail_memory(p, -ENOMEM);
    if (out->size > MAX_SHAPES)
        return tp_json_fail(p, -TP_ELIMIT, "more than 4 MB", "shapes");
    return 1;
}

static int end_shapes(struct tp_json_parser *p)
{
    tp_buffer_char(&p->shapes, ']');
    if (--p->shapes_depth)
        return 1;
    int result = p->shapes.failed ? -ENOMEM
                                  : tp_strings_put(p->list->strings, p->shapes.bytes,
                                                   p->shapes.size, &p->event.input_shapes);
    p->place = TP_JSON_IN_EVENT;
    return result < 0 ? tp_json_fail_memory(p, result) : 1;
}

static int begin_kernel(struct tp_json_parser *p, const struct tp_json_token *token)
{
    if (token->type != TP_JSON_OBJECT)
        return tp_json_fail_token(p, token, "an object with name, device and duration");
    if (p->kernel_count == p->kernel_capacity) {
        size_t capacity = p->kernel_capacity ? p->kernel_capacity * 2 : 16;
        struct tp_kernel *kernels = realloc(p->kernels, capacity * sizeof(*kernels));
        if (!kernels)
            return tp_json_fail_memory(p, -ENOMEM);
        p->kernels = kernels;
        p->kernel_capacity = capacity;
    }
    p->kernels[p->kernel_count++] = (struct tp_kernel){.name = TP_STRING_EMPTY};
    p->kernel_seen = 0;
    p->place = TP_JSON_IN_KERNEL;
    return 1;
}

static int take_in_kernel(struct tp_json_parser *p, const struct tp_json_token *token)
{
    struct tp_kernel *kernel = &p->kernels[p->kernel_count - 1];
    int64_t device = 0;

    if (!strcmp(p->key, "name")) {
        p->kernel_seen |= 1;
        return tp_json_take_text(p, token, false, &kernel->name);
    }
    if (!strcmp(p->key, "device")) {
        p->kernel_seen |= 2;
        int good = take_integer(p, token, INT32_MIN, INT32_MAX, &device, "a device number");
        kernel->device = (int32_t)device;
        return good;
    }
    p->kernel_seen |= 4;
    if (token->type != TP_JSON_NUMBER)
        return tp_json_fail_token(p, token, "a number");
    kernel->duration = token->number;
    return 1;
}

static int end_kernel(struct tp_json_parser *p)
{
    p->place = TP_JSON_IN_KERNELS;
    return p->kernel_seen == 7 ? 1
                               : tp_json_fail(p, -TP_ESYNTAX, "a kernel without one of them",
                                              "name, device, duration");
}

int tp_json_event_take(struct tp_json_parser *p, const struct tp_json_token *token)
{
    switch (p->place) {
    case TP_JSON_IN_EVENT:
        return take_in_event(p, token);
    case TP_JSON_IN_STACK:
        return take_in_stack(p, token);
    case TP_JSON_IN_SHAPES:
        return take_in_shapes(p, token);
    case TP_JSON_IN_KERNELS:
        return begin_kernel(p, token);
    case TP_JSON_IN_DETAIL:
        return take_in_detail(p, token);
    default:
        return take_in_kernel(p, token);
    }
}

int tp_json_event_close(struct tp_json_parser *p, char bracket)
{
    switch (p->place) {
    case TP_JSON_IN_SHAPES:
        return end_shapes(p);
    case TP_JSON_IN_STACK:
        return end_stack(p);
    case TP_JSON_IN_KERNEL:
        return end_kernel(p);
    case TP_JSON_IN_DETAIL:
        return end_detail(p, bracket);
    default:
        p->place = TP_JSON_IN_EVENT;
        return 1;
    }
}

/* ---- whole events ---- */

int tp_json_event_begin(struct tp_json_parser *p, const struct tp_json_token *token)
{
    if (token->type != TP_JSON_OBJECT)
        return tp_json_fail_token(p, token, "an event (an object)");
    tp_function_event_init(&p->event);
    p->details = tp_event_details_none();
    p->seen = 0;
    p->saw_trace_name = p->saw_resource = false;
    p->kernel_count = 0;
    p->field = NULL;
    p->place = TP_JSON_IN_EVENT;
    return 1;
}

static bool in_window(const struct tp_selection *selection, struct tp_number start_us)
{
    double ns = tp_number_to_double(start_us) * 1000.0;

    if (selection->from.kind == TP_INSTANT_RELATIVE && ns < (double)selection->from.ns)
        return false;
    return selection->to.kind != TP_INSTANT_RELATIVE || ns < (double)selection->to.ns;
}

static int64_t start_ns(const struct tp_json_parser *p)
{
    double ns = tp_number_to_double(tp_event_get(&p->event, TP_EVENT_START)) * 1000.0;

    return ns > -9e18 && ns < 9e18 ? (int64_t)ns : 0;
}

static bool is_selected(const struct tp_json_parser *p)
{
    char thread[24];
    struct tp_text text;

    if (!p->selection)
        return true;
    if (!in_window(p->selection, tp_event_get(&p->event, TP_EVENT_START)))
        return false;
    if (!p->selection->thread)
        return true;
    tp_text_init(&text, thread, sizeof(thread));
    tp_text_i64(&text, p->event.thread);
    return !strcmp(thread, p->selection->thread);
}

int tp_json_event_end(struct tp_json_parser *p)
{
    p->place = TP_JSON_IN_EVENTS;
    for (int i = 0; i < FIRST_OPTIONAL; i++) {
        if (!(p->seen >> i & 1)) {
            p->field = NULL;
            return tp_json_fail(p, -TP_ESYNTAX, "none", fields[i].name);
        }
    }
    if (!p->saw_trace_name)
        p->event.trace_name = p->event.name;
    if (!p->saw_resource)
        p->event.device_resource_id = p->event.thread;
    p->event_number++;
    if (p->extent) {
        tp_extent_thread(p->extent, p->event.thread, NULL);
        tp_extent_time(p->extent, start_ns(p));
    }
    if (!is_selected(p))
        return 1;
    int result = tp_event_list_append(p->list, &p->event);
    if (!result && p->list->keeps_details)
        p->list->details[p->list->count - 1] = p->details;
    for (size_t i = 0; !result && i < p->kernel_count; i++)
        result = tp_event_list_append_kernel(p->list, &p->kernels[i]);
    return result < 0 ? tp_json_fail_memory(p, result) : 1;
}

static bool is_detail(const struct tp_event_field *field)
{
    return field->kind >= FIELD_DETAIL_INTEGER;
}

int tp_json_event_key(struct tp_json_parser *p, const unsigned char *key, size_t size)
{
    if (p->place == TP_JSON_IN_DETAIL)
        return tp_json_capture_key(&p->detail, key, size)
                   ? 1
                   : tp_json_fail(p, -TP_ELIMIT, "more than 16 MB", "less");
    p->field = NULL;
    for (int i = 0; i < FIELD_COUNT; i++) {
        if (fields[i].size != size || memcmp(fields[i].name, key, size) != 0)
            continue;
        if ((is_detail(&fields[i]) && !p->list->keeps_details) ||
            (fields[i].kind == FIELD_PARENT && !p->is_part))
            break;
        p->field = &fields[i];
        p->seen |= 1ull << i;
        p->saw_trace_name |= fields[i].target == offsetof(struct tp_function_event, trace_name) &&
                             fields[i].kind == FIELD_TEXT_OR_NULL;
        break;
    }
    return 1;
}

/* ---- an event that is told in another way, and here where it differs ---- */

bool tp_json_event_has(const struct tp_json_parser *p, const char *name)
{
    for (int i = 0; i < FIELD_COUNT; i++) {
        if (!strcmp(fields[i].name, name))
            return p->seen >> i & 1;
    }
    return false;
}

static size_t size_of(enum field_kind kind)
{
    switch (kind) {
    case FIELD_INTEGER:
    case FIELD_FORWARD:
    case FIELD_RESOURCE:
        return sizeof(int64_t);
    case FIELD_TINY:
    case FIELD_DEVICE:
        return 1;
    default:
        return sizeof(uint32_t);
    }
}

static void apply_flag(const struct tp_json_parser *p, struct tp_function_event *event,
                       uint16_t bit)
{
    event->flags = (uint16_t)((event->flags & ~bit) | (p->event.flags & bit));
}

static void apply_field(const struct tp_json_parser *p, const struct tp_event_field *field,
                        struct tp_function_event *event)
{
    switch (field->kind) {
    case FIELD_FLAG:
        apply_flag(p, event, (uint16_t)field->target);
        return;
    case FIELD_FLOPS:
        apply_flag(p, event, TP_EVENT_NO_FLOPS);
        __attribute__((fallthrough));
    case FIELD_NUMBER:
        tp_event_set(event, (enum tp_event_number)field->target,
                     tp_event_get(&p->event, (enum tp_event_number)field->target));
        return;
    case FIELD_FORWARD:
        apply_flag(p, event, TP_EVENT_HAS_FWD_THREAD);
        break;
    case FIELD_KERNELS: /* these join the list, or its details */
    case FIELD_DETAIL_INTEGER:
    case FIELD_DETAIL_TEXT:
    case FIELD_DETAIL_JSON:
        return;
    default:
        break;
    }
    memcpy((char *)event + field->target, (const char *)&p->event + field->target,
           size_of(field->kind));
}

void tp_json_event_apply(const struct tp_json_parser *p, struct tp_function_event *event)
{
    for (int i = 0; i < FIELD_COUNT; i++) {
        if (p->seen >> i & 1)
            apply_field(p, &fields[i], event);
    }
}
