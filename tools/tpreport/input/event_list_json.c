/* SPDX-License-Identifier: MIT
 * Event lists in JSON, read as a stream. yajl finds the tokens; a small state machine (enum place)
 * knows where in the document it stands and hands each value to the field it belongs to. Unknown
 * keys are stepped over. */
#include "input/event_list_json.h"

#include <errno.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <yajl/yajl_parse.h>

#include "base/text.h"
#include "model/buffer.h"
#include "model/python_text.h"

enum {
    MAX_DEPTH = 64,
    MAX_STRING = 16 << 20,
    MAX_NUMBER = 512,
    MAX_SHAPES = 4 << 20,
    MAX_FRAMES = 1 << 16,
    CHUNK = 64 << 10,
};

enum place {
    AT_TOP,    /* before the document */
    IN_TOP,    /* its object */
    IN_LIST,   /* "list": settings */
    IN_EVENTS, /* the array of events */
    IN_EVENT,
    IN_STACK,
    IN_SHAPES,
    IN_KERNELS,
    IN_KERNEL,
    IN_SKIPPED, /* below an unknown key */
    AT_END,
};

enum token_type { TOKEN_NULL, TOKEN_FLAG, TOKEN_NUMBER, TOKEN_STRING, TOKEN_LIST, TOKEN_OBJECT };

struct token {
    enum token_type type;
    bool flag;
    struct tp_number number;
    const char *text;
    size_t size;
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
};

struct field {
    const char *name;
    size_t size;
    enum field_kind kind;
    size_t target; /* offset in the event, a bit, or a number's place */
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
#define TARGET_NUMBER(t) t
#define TARGET_FLAG(t) t
#define TARGET_FLOPS(t) t

static const struct field fields[] = {
#define TP_EVENT_FIELD(name, kind, target)                                                         \
    {name, sizeof(name) - 1, FIELD_##kind, TARGET_##kind(target)},
#include "input/event_fields.def"
#undef TP_EVENT_FIELD
};

enum { FIELD_COUNT = sizeof(fields) / sizeof(fields[0]), FIRST_OPTIONAL = 4 };

struct parser {
    yajl_handle yajl;
    uint64_t offset; /* of the present chunk */
    struct tp_event_list *list;
    const struct tp_selection *selection;
    struct tp_diag *diag;
    int result;

    enum place place, resume; /* resume: behind IN_SKIPPED */
    unsigned depth, skip_depth;
    bool saw_events;
    char key[32]; /* in IN_TOP, IN_LIST, IN_KERNEL; "" for one that does not matter */

    const struct field *field; /* of the present event; NULL: unknown */
    struct tp_function_event event;
    uint32_t seen; /* bit n: fields[n] was there */
    uint32_t event_number;
    bool saw_trace_name, saw_resource;

    struct tp_kernel *kernels;
    size_t kernel_count, kernel_capacity;
    unsigned kernel_seen; /* bits: name, device, duration */
    uint32_t *frames;
    size_t frame_count, frame_capacity;
    struct tp_buffer shapes;
    unsigned shapes_depth;
};

/* ---- errors: every callback returns 0 to stop ---- */

static uint64_t here(const struct parser *p)
{
    return p->offset + yajl_get_bytes_consumed(p->yajl);
}

static int fail(struct parser *p, int code, const char *found, const char *expected)
{
    const char *where =
        p->place >= IN_EVENT && p->place <= IN_KERNEL && p->field ? p->field->name : "";

    if (p->place >= IN_EVENTS && p->place <= IN_KERNEL)
        p->result = tp_diag_fail(p->diag, code, here(p), "event %u%s%s: found %s, expected %s",
                                 p->event_number, *where ? ", " : "", where, found, expected);
    else
        p->result = tp_diag_fail(p->diag, code, here(p), "found %s, expected %s", found, expected);
    return 0;
}

static int fail_memory(struct parser *p, int code)
{
    p->result = tp_diag_fail(p->diag, code, here(p), "no memory for event %u", p->event_number);
    return 0;
}

static int fail_token(struct parser *p, const struct token *token, const char *expected)
{
    char found[80];
    struct tp_text text;

    tp_text_init(&text, found, sizeof(found));
    switch (token->type) {
    case TOKEN_NULL:
        tp_text_string(&text, "null");
        break;
    case TOKEN_FLAG:
        tp_text_string(&text, token->flag ? "true" : "false");
        break;
    case TOKEN_NUMBER:
        tp_text_format(&text, "the number %.*s", token->size < 32 ? (int)token->size : 32,
                       token->text);
        break;
    case TOKEN_STRING:
        tp_text_string(&text, "the string ");
        tp_text_json(&text, token->text, token->size < 32 ? token->size : 32);
        break;
    case TOKEN_LIST:
        tp_text_string(&text, "a list");
        break;
    case TOKEN_OBJECT:
        tp_text_string(&text, "an object");
        break;
    }
    return fail(p, -TP_ETYPE, found, expected);
}

/* ---- values of an event ---- */

static int put_string(struct parser *p, const struct token *token, uint32_t *ret_id)
{
    int result = tp_strings_put(p->list->strings, token->text, token->size, ret_id);

    return result < 0 ? fail_memory(p, result) : 1;
}

static int take_integer(struct parser *p, const struct token *token, int64_t low, int64_t high,
                        int64_t *ret, const char *expected)
{
    int64_t value = token->type == TOKEN_NUMBER ? tp_number_truncate(token->number) : 0;

    if (token->type != TOKEN_NUMBER || !tp_number_fits(token->number) || value < low ||
        value > high)
        return fail_token(p, token, expected);
    *ret = value;
    return 1;
}

static int take_text(struct parser *p, const struct token *token, bool nullable, uint32_t *ret_id)
{
    if (token->type == TOKEN_NULL && nullable) {
        *ret_id = TP_STRING_NONE;
        return 1;
    }
    if (token->type != TOKEN_STRING)
        return fail_token(p, token, nullable ? "a string or null" : "a string");
    return put_string(p, token, ret_id);
}

static int take_device(struct parser *p, const struct token *token)
{
    char name[32];

    if (token->type == TOKEN_STRING && token->size < sizeof(name)) {
        memcpy(name, token->text, token->size);
        name[token->size] = '\0';
        int type = tp_device_type_find(name);
        if (type >= 0) {
            p->event.device_type = (uint8_t)type;
            return 1;
        }
    }
    return fail_token(p, token, "a device type such as \"CPU\" or \"CUDA\"");
}

static int take_flag(struct parser *p, const struct token *token, uint16_t bit)
{
    if (token->type != TOKEN_FLAG)
        return fail_token(p, token, "true or false");
    p->event.flags = (uint16_t)(token->flag ? p->event.flags | bit : p->event.flags & ~bit);
    return 1;
}

static int take_number(struct parser *p, const struct token *token, enum tp_event_number number)
{
    if (token->type != TOKEN_NUMBER)
        return fail_token(p, token, "a number");
    tp_event_set(&p->event, number, token->number);
    return 1;
}

static int begin_list(struct parser *p, const struct token *token, enum place place)
{
    if (token->type != TOKEN_LIST)
        return fail_token(p, token, "a list");
    p->place = place;
    p->frame_count = 0;
    p->shapes_depth = 1;
    tp_buffer_reset(&p->shapes);
    tp_buffer_char(&p->shapes, '[');
    if (place == IN_KERNELS)
        p->kernel_count = 0;
    return 1;
}

/* Null where a value may be missing; 1 when that was it. */
static bool take_null(struct parser *p, const struct token *token)
{
    if (token->type != TOKEN_NULL)
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
    default:
        return false;
    }
}

static int take_in_event(struct parser *p, const struct token *token)
{
    const struct field *field = p->field;
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
        return take_text(p, token, field->kind == FIELD_TEXT_OR_NULL, (uint32_t *)(void *)at);
    case FIELD_DEVICE:
        return take_device(p, token);
    case FIELD_SHAPES:
        return begin_list(p, token, IN_SHAPES);
    case FIELD_STACK:
        return begin_list(p, token, IN_STACK);
    case FIELD_KERNELS:
        return begin_list(p, token, IN_KERNELS);
    }
    return 0;
}

/* ---- inside the lists of an event ---- */

static int take_in_stack(struct parser *p, const struct token *token)
{
    if (token->type != TOKEN_STRING)
        return fail_token(p, token, "a string");
    if (p->frame_count == MAX_FRAMES)
        return fail(p, -TP_ELIMIT, "more than 65536 frames", "a stack");
    if (p->frame_count == p->frame_capacity) {
        size_t capacity = p->frame_capacity ? p->frame_capacity * 2 : 64;
        uint32_t *frames = realloc(p->frames, capacity * sizeof(*frames));
        if (!frames)
            return fail_memory(p, -ENOMEM);
        p->frames = frames;
        p->frame_capacity = capacity;
    }
    return put_string(p, token, &p->frames[p->frame_count++]);
}

static int end_stack(struct parser *p)
{
    int result =
        tp_stacks_put(p->list->stacks, p->frames, (uint32_t)p->frame_count, &p->event.stack);

    p->place = IN_EVENT;
    return result < 0 ? fail_memory(p, result) : 1;
}

/* Shapes become the text that Python would print. */
static int take_in_shapes(struct parser *p, const struct token *token)
{
    char number[TP_NUMBER_TEXT_MAX];
    struct tp_buffer *out = &p->shapes;

    if (out->size && out->bytes[out->size - 1] != '[')
        tp_buffer_string(out, ", ");
    switch (token->type) {
    case TOKEN_NULL:
        tp_buffer_string(out, "None");
        break;
    case TOKEN_FLAG:
        tp_buffer_string(out, token->flag ? "True" : "False");
        break;
    case TOKEN_NUMBER:
        tp_buffer_bytes(out, number, tp_number_print(token->number, number));
        break;
    case TOKEN_STRING:
        tp_python_string(out, token->text, token->size);
        break;
    case TOKEN_LIST:
        p->shapes_depth++;
        tp_buffer_char(out, '[');
        break;
    case TOKEN_OBJECT:
        return fail_token(p, token, "a list, number, string or null");
    }
    if (out->failed)
        return fail_memory(p, -ENOMEM);
    if (out->size > MAX_SHAPES)
        return fail(p, -TP_ELIMIT, "more than 4 MB", "shapes");
    return 1;
}

static int end_shapes(struct parser *p)
{
    tp_buffer_char(&p->shapes, ']');
    if (--p->shapes_depth)
        return 1;
    int result = p->shapes.failed ? -ENOMEM
                                  : tp_strings_put(p->list->strings, p->shapes.bytes,
                                                   p->shapes.size, &p->event.input_shapes);
    p->place = IN_EVENT;
    return result < 0 ? fail_memory(p, result) : 1;
}

static int begin_kernel(struct parser *p, const struct token *token)
{
    if (token->type != TOKEN_OBJECT)
        return fail_token(p, token, "an object with name, device and duration");
    if (p->kernel_count == p->kernel_capacity) {
        size_t capacity = p->kernel_capacity ? p->kernel_capacity * 2 : 16;
        struct tp_kernel *kernels = realloc(p->kernels, capacity * sizeof(*kernels));
        if (!kernels)
            return fail_memory(p, -ENOMEM);
        p->kernels = kernels;
        p->kernel_capacity = capacity;
    }
    p->kernels[p->kernel_count++] = (struct tp_kernel){.name = TP_STRING_EMPTY};
    p->kernel_seen = 0;
    p->place = IN_KERNEL;
    return 1;
}

static int take_in_kernel(struct parser *p, const struct token *token)
{
    struct tp_kernel *kernel = &p->kernels[p->kernel_count - 1];
    int64_t device = 0;

    if (!strcmp(p->key, "name")) {
        p->kernel_seen |= 1;
        return take_text(p, token, false, &kernel->name);
    }
    if (!strcmp(p->key, "device")) {
        p->kernel_seen |= 2;
        int good = take_integer(p, token, INT32_MIN, INT32_MAX, &device, "a device number");
        kernel->device = (int32_t)device;
        return good;
    }
    p->kernel_seen |= 4;
    if (token->type != TOKEN_NUMBER)
        return fail_token(p, token, "a number");
    kernel->duration = token->number;
    return 1;
}

static int end_kernel(struct parser *p)
{
    p->place = IN_KERNELS;
    return p->kernel_seen == 7
               ? 1
               : fail(p, -TP_ESYNTAX, "a kernel without one of them", "name, device, duration");
}

/* ---- whole events ---- */

static int begin_event(struct parser *p, const struct token *token)
{
    if (token->type != TOKEN_OBJECT)
        return fail_token(p, token, "an event (an object)");
    tp_function_event_init(&p->event);
    p->seen = 0;
    p->saw_trace_name = p->saw_resource = false;
    p->kernel_count = 0;
    p->field = NULL;
    p->place = IN_EVENT;
    return 1;
}

static bool in_window(const struct tp_selection *selection, struct tp_number start_us)
{
    double ns = tp_number_to_double(start_us) * 1000.0;

    if (selection->from.kind == TP_INSTANT_RELATIVE && ns < (double)selection->from.ns)
        return false;
    return selection->to.kind != TP_INSTANT_RELATIVE || ns < (double)selection->to.ns;
}

static bool is_selected(const struct parser *p)
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

static int end_event(struct parser *p)
{
    p->place = IN_EVENTS;
    for (int i = 0; i < FIRST_OPTIONAL; i++) {
        if (!(p->seen >> i & 1)) {
            p->field = NULL;
            return fail(p, -TP_ESYNTAX, "none", fields[i].name);
        }
    }
    if (!p->saw_trace_name)
        p->event.trace_name = p->event.name;
    if (!p->saw_resource)
        p->event.device_resource_id = p->event.thread;
    p->event_number++;
    if (!is_selected(p))
        return 1;
    int result = tp_event_list_append(p->list, &p->event);
    for (size_t i = 0; !result && i < p->kernel_count; i++)
        result = tp_event_list_append_kernel(p->list, &p->kernels[i]);
    return result < 0 ? fail_memory(p, result) : 1;
}

/* ---- the document around them ---- */

static int take_setting(struct parser *p, const struct token *token)
{
    if (!strcmp(p->key, "use_device"))
        return take_text(p, token, true, &p->list->use_device);
    if (token->type != TOKEN_FLAG)
        return fail_token(p, token, "true or false");
    if (!strcmp(p->key, "profile_memory"))
        p->list->profile_memory = token->flag;
    else
        p->list->with_flops = token->flag;
    return 1;
}

static int take_in_top(struct parser *p, const struct token *token)
{
    if (!strcmp(p->key, "list")) {
        if (token->type != TOKEN_OBJECT)
            return fail_token(p, token, "an object of settings");
        p->place = IN_LIST;
        return 1;
    }
    if (token->type != TOKEN_LIST)
        return fail_token(p, token, "a list of events");
    p->place = IN_EVENTS;
    p->saw_events = true;
    return 1;
}

static int skip(struct parser *p, const struct token *token)
{
    if (token->type != TOKEN_LIST && token->type != TOKEN_OBJECT)
        return 1;
    p->resume = p->place;
    p->place = IN_SKIPPED;
    p->skip_depth = p->depth;
    return 1;
}

static int take(struct parser *p, const struct token *token)
{
    switch (p->place) {
    case AT_TOP:
        if (token->type != TOKEN_OBJECT && token->type != TOKEN_LIST)
            return fail_token(p, token, "an object with \"events\", or a list of events");
        p->place = token->type == TOKEN_OBJECT ? IN_TOP : IN_EVENTS;
        p->saw_events = token->type == TOKEN_LIST;
        return 1;
    case IN_TOP:
        return *p->key ? take_in_top(p, token) : skip(p, token);
    case IN_LIST:
        return *p->key ? take_setting(p, token) : skip(p, token);
    case IN_EVENTS:
        return begin_event(p, token);
    case IN_EVENT:
        return p->field ? take_in_event(p, token) : skip(p, token);
    case IN_STACK:
        return take_in_stack(p, token);
    case IN_SHAPES:
        return take_in_shapes(p, token);
    case IN_KERNELS:
        return begin_kernel(p, token);
    case IN_KERNEL:
        return *p->key ? take_in_kernel(p, token) : skip(p, token);
    case IN_SKIPPED:
    case AT_END:
        break;
    }
    return 1;
}

/* A list or object closes; lists and objects match, yajl has seen to that. */
static int close_place(struct parser *p)
{
    switch (p->place) {
    case IN_SKIPPED:
        if (p->depth < p->skip_depth)
            p->place = p->resume;
        return 1;
    case IN_SHAPES:
        return end_shapes(p);
    case IN_STACK:
        return end_stack(p);
    case IN_KERNEL:
        return end_kernel(p);
    case IN_KERNELS:
        p->place = IN_EVENT;
        return 1;
    case IN_EVENT:
        return end_event(p);
    case IN_EVENTS:
        p->place = p->depth ? IN_TOP : AT_END;
        return 1;
    case IN_LIST:
        p->place = IN_TOP;
        return 1;
    default:
        p->place = AT_END;
        return 1;
    }
}

/* Remember the key if it is one of these (separated by '|'), else "". */
static void keep_key(struct parser *p, const char *known, const unsigned char *key, size_t size)
{
    p->key[0] = '\0';
    while (*known) {
        size_t length = strcspn(known, "|");
        if (length == size && !memcmp(known, key, size)) {
            memcpy(p->key, key, size);
            p->key[size] = '\0';
            return;
        }
        known += length + (known[length] == '|');
    }
}

static void find_field(struct parser *p, const unsigned char *key, size_t size)
{
    p->field = NULL;
    for (int i = 0; i < FIELD_COUNT; i++) {
        if (fields[i].size != size || memcmp(fields[i].name, key, size) != 0)
            continue;
        p->field = &fields[i];
        p->seen |= 1u << i;
        p->saw_trace_name |= fields[i].target == offsetof(struct tp_function_event, trace_name) &&
                             fields[i].kind == FIELD_TEXT_OR_NULL;
        return;
    }
}

/* ---- yajl's side ---- */

static int on_null(void *context)
{
    return take(context, &(struct token){.type = TOKEN_NULL});
}

static int on_boolean(void *context, int value)
{
    return take(context, &(struct token){.type = TOKEN_FLAG, .flag = value});
}

static int on_number(void *context, const char *text, size_t size)
{
    struct parser *p = context;
    struct token token = {.type = TOKEN_NUMBER, .text = text, .size = size};

    if (size > MAX_NUMBER)
        return fail(p, -TP_ELIMIT, "a number of more than 512 digits", "a shorter one");
    if (tp_number_parse(text, size, &token.number) < 0)
        return fail_token(p, &token, "a finite number");
    return take(p, &token);
}

static int on_string(void *context, const unsigned char *text, size_t size)
{
    struct parser *p = context;

    if (size > MAX_STRING)
        return fail(p, -TP_ELIMIT, "a string of more than 16 MB", "a shorter one");
    return take(p, &(struct token){.type = TOKEN_STRING, .text = (const char *)text, .size = size});
}

static int open_place(struct parser *p, enum token_type type)
{
    if (++p->depth > MAX_DEPTH)
        return fail(p, -TP_ELIMIT, "more than 64 levels", "less nesting");
    return take(p, &(struct token){.type = type});
}

static int on_start_map(void *context)
{
    return open_place(context, TOKEN_OBJECT);
}

static int on_start_array(void *context)
{
    return open_place(context, TOKEN_LIST);
}

static int on_end(void *context)
{
    struct parser *p = context;

    p->depth--;
    return close_place(p);
}

static int on_map_key(void *context, const unsigned char *key, size_t size)
{
    struct parser *p = context;

    if (p->place == IN_TOP)
        keep_key(p, "events|list", key, size);
    else if (p->place == IN_LIST)
        keep_key(p, "use_device|profile_memory|with_flops", key, size);
    else if (p->place == IN_KERNEL)
        keep_key(p, "name|device|duration", key, size);
    else if (p->place == IN_EVENT)
        find_field(p, key, size);
    return 1;
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

/* yajl's own complaint ("lexical error: invalid char in json text.") without its line end. */
static int explain_status(struct parser *p, yajl_status status)
{
    if (status == yajl_status_ok)
        return 0;
    if (p->result < 0) /* stopped by a callback */
        return p->result;
    unsigned char *message = yajl_get_error(p->yajl, 0, NULL, 0);
    int length = message ? (int)strcspn((const char *)message, "\n") : 0;
    p->result = tp_diag_fail(p->diag, -TP_ESYNTAX, here(p), "%.*s", length, (const char *)message);
    yajl_free_error(p->yajl, message);
    return p->result;
}

static int parser_init(struct parser *p, const struct tp_selection *selection,
                       struct tp_event_list *list, struct tp_diag *diag)
{
    *p = (struct parser){.list = list, .selection = selection, .diag = diag};
    p->yajl = yajl_alloc(&callbacks, NULL, p);
    if (!p->yajl)
        return tp_diag_fail(diag, -ENOMEM, TP_DIAG_NO_OFFSET, "no memory for a JSON parser");
    yajl_config(p->yajl, yajl_dont_validate_strings, 1); /* bad bytes become U+FFFD */
    return 0;
}

static void parser_fini(struct parser *p)
{
    if (p->yajl)
        yajl_free(p->yajl);
    free(p->kernels);
    free(p->frames);
    tp_buffer_fini(&p->shapes);
}

static int feed(struct parser *p, const void *bytes, size_t size)
{
    int result = explain_status(p, yajl_parse(p->yajl, bytes, size));

    p->offset += size;
    return result;
}

static int finish(struct parser *p)
{
    uint64_t end = p->offset;
    yajl_status status = yajl_complete_parse(p->yajl);

    p->offset = end - (status == yajl_status_ok ? 0 : yajl_get_bytes_consumed(p->yajl));
    int result = explain_status(p, status);
    if (!result && !p->saw_events)
        result = tp_diag_fail(p->diag, -TP_ESYNTAX, end,
                              "found an object without \"events\", expected that list");
    return result;
}

int tp_event_list_json_parse(const char *text, size_t size, const struct tp_selection *selection,
                             struct tp_event_list *list, struct tp_diag *diag)
{
    struct parser p;

    int result = parser_init(&p, selection, list, diag);
    if (!result)
        result = feed(&p, text, size);
    if (!result)
        result = finish(&p);
    parser_fini(&p);
    return result;
}

/* ---- as an input ---- */

static bool contains(const struct tp_input *input, const char *word)
{
    return memmem(input->head, input->head_size, word, strlen(word)) != NULL;
}

static int probe(const struct tp_input *input)
{
    size_t i = 0;

    if (input->is_directory)
        return 0;
    while (i < input->head_size && strchr(" \t\r\n", input->head[i]) && input->head[i])
        i++;
    if (i == input->head_size || (input->head[i] != '{' && input->head[i] != '['))
        return 0;
    if (contains(input, "\"start_us\""))
        return 90;
    if (contains(input, "\"traceEvents\"") || contains(input, "\"ph\""))
        return 0; /* a trace */
    return input->head[i] == '[' || contains(input, "\"events\"") ? 50 : 10;
}

static int check_selection(const struct tp_selection *selection, struct tp_diag *diag)
{
    const char *what =
        selection->has_pid    ? "--pid: an event list has no processes"
        : selection->has_rank ? "--rank: an event list has no ranks"
        : selection->has_step ? "--step: an event list has no steps"
        : selection->from.kind == TP_INSTANT_WALL || selection->to.kind == TP_INSTANT_WALL
            ? "--from, --to: an event list knows seconds from its start, not dates"
            : NULL;

    return what ? tp_diag_fail(diag, -TP_EUNSUPPORTED, TP_DIAG_NO_OFFSET, "%s", what) : 0;
}

static int read_list(struct tp_input *input, struct tp_event_list *list, struct tp_diag *diag)
{
    struct parser p;
    size_t offset = 0;
    char *chunk = malloc(CHUNK);

    int result = chunk ? check_selection(input->selection, diag)
                       : tp_diag_fail(diag, -ENOMEM, TP_DIAG_NO_OFFSET, "no memory to read with");
    if (!result)
        result = parser_init(&p, input->selection, list, diag);
    if (result < 0) {
        free(chunk);
        return result;
    }
    while (!result) {
        ptrdiff_t got = tp_input_read(input, &offset, chunk, CHUNK);
        if (got < 0)
            result =
                tp_diag_fail(diag, (int)got, offset, "can't be read: %s", tp_error_text((int)got));
        if (got <= 0)
            break;
        result = feed(&p, chunk, (size_t)got);
    }
    if (!result)
        result = finish(&p);
    parser_fini(&p);
    free(chunk);
    return result;
}

const struct tp_input_kind tp_input_event_list_json = {
    .name = "event-list",
    .help = "an event list in JSON",
    .probe = probe,
    .read_list = read_list,
};
