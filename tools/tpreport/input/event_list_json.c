/* SPDX-License-Identifier: MIT
 * Event lists in JSON, read as a stream. yajl finds the tokens; a small state machine (enum place)
 * knows where in the document it stands and hands each value to the field it belongs to. Unknown
 * keys are stepped over. */
#include "input/event_list_json.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "input/event_fields.h"

enum {
    MAX_DEPTH = 64,
    MAX_STRING = 16 << 20,
    MAX_NUMBER = 512,
};

/* ---- the document around them ---- */

static int take_setting(struct tp_json_parser *p, const struct tp_json_token *token)
{
    p->saw_settings = true;
    if (!strcmp(p->key, "use_device"))
        return tp_json_take_text(p, token, true, &p->list->use_device);
    if (token->type != TP_JSON_FLAG)
        return tp_json_fail_token(p, token, "true or false");
    if (!strcmp(p->key, "profile_memory"))
        p->list->profile_memory = token->flag;
    else
        p->list->with_flops = token->flag;
    return 1;
}

static int take_in_top(struct tp_json_parser *p, const struct tp_json_token *token)
{
    if (!strcmp(p->key, "list")) {
        if (token->type != TP_JSON_OBJECT)
            return tp_json_fail_token(p, token, "an object of settings");
        p->place = TP_JSON_IN_LIST;
        return 1;
    }
    if (token->type != TP_JSON_LIST)
        return tp_json_fail_token(p, token, "a list of events");
    p->place = TP_JSON_IN_EVENTS;
    p->saw_events = true;
    return 1;
}

static int skip(struct tp_json_parser *p, const struct tp_json_token *token)
{
    if (token->type != TP_JSON_LIST && token->type != TP_JSON_OBJECT)
        return 1;
    p->resume = p->place;
    p->place = TP_JSON_IN_SKIPPED;
    p->skip_depth = p->depth;
    return 1;
}

int tp_json_take(struct tp_json_parser *p, const struct tp_json_token *token)
{
    switch (p->place) {
    case TP_JSON_AT_TOP:
        if (token->type != TP_JSON_OBJECT && token->type != TP_JSON_LIST)
            return tp_json_fail_token(p, token, "an object with \"events\", or a list of events");
        p->place = token->type == TP_JSON_OBJECT ? TP_JSON_IN_TOP : TP_JSON_IN_EVENTS;
        p->saw_events = token->type == TP_JSON_LIST;
        return 1;
    case TP_JSON_IN_TOP:
        return *p->key ? take_in_top(p, token) : skip(p, token);
    case TP_JSON_IN_LIST:
        return *p->key ? take_setting(p, token) : skip(p, token);
    case TP_JSON_IN_EVENTS:
        return tp_json_event_begin(p, token);
    case TP_JSON_IN_EVENT:
        return p->field ? tp_json_event_take(p, token) : skip(p, token);
    case TP_JSON_IN_KERNEL:
        return *p->key ? tp_json_event_take(p, token) : skip(p, token);
    case TP_JSON_IN_STACK:
    case TP_JSON_IN_SHAPES:
    case TP_JSON_IN_KERNELS:
    case TP_JSON_IN_DETAIL:
        return tp_json_event_take(p, token);
    case TP_JSON_IN_SKIPPED:
    case TP_JSON_AT_END:
        break;
    }
    return 1;
}

/* A list or object closes; lists and objects match, yajl has seen to that. */
int tp_json_close(struct tp_json_parser *p, char bracket)
{
    switch (p->place) {
    case TP_JSON_IN_SKIPPED:
        if (p->depth < p->skip_depth)
            p->place = p->resume;
        return 1;
    case TP_JSON_IN_SHAPES:
    case TP_JSON_IN_STACK:
    case TP_JSON_IN_KERNEL:
    case TP_JSON_IN_KERNELS:
    case TP_JSON_IN_DETAIL:
        return tp_json_event_close(p, bracket);
    case TP_JSON_IN_EVENT:
        if (!p->is_part)
            return tp_json_event_end(p);
        p->place = TP_JSON_AT_END;
        return 1;
    case TP_JSON_IN_EVENTS:
        p->place = p->depth ? TP_JSON_IN_TOP : TP_JSON_AT_END;
        return 1;
    case TP_JSON_IN_LIST:
        p->place = TP_JSON_IN_TOP;
        return 1;
    default:
        p->place = TP_JSON_AT_END;
        return 1;
    }
}

/* Remember the key if it is one of these (separated by '|'), else "". */
static void keep_key(struct tp_json_parser *p, const char *known, const unsigned char *key,
                     size_t size)
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

/* ---- yajl's side ---- */

static int on_null(void *context)
{
    return tp_json_take(context, &(struct tp_json_token){.type = TP_JSON_NULL});
}

static int on_boolean(void *context, int value)
{
    return tp_json_take(context, &(struct tp_json_token){.type = TP_JSON_FLAG, .flag = value});
}

int tp_json_take_number(struct tp_json_parser *p, const char *text, size_t size)
{
    struct tp_json_token token = {.type = TP_JSON_NUMBER, .text = text, .size = size};

    if (size > MAX_NUMBER)
        return tp_json_fail(p, -TP_ELIMIT, "a number of more than 512 digits", "a shorter one");
    if (tp_number_parse(text, size, &token.number) < 0)
        return tp_json_fail_token(p, &token, "a finite number");
    return tp_json_take(p, &token);
}

static int on_number(void *context, const char *text, size_t size)
{
    return tp_json_take_number(context, text, size);
}

static int on_string(void *context, const unsigned char *text, size_t size)
{
    struct tp_json_parser *p = context;

    if (size > MAX_STRING)
        return tp_json_fail(p, -TP_ELIMIT, "a string of more than 16 MB", "a shorter one");
    return tp_json_take(p, &(struct tp_json_token){
                               .type = TP_JSON_STRING, .text = (const char *)text, .size = size});
}

static int open_place(struct tp_json_parser *p, enum tp_json_type type)
{
    if (++p->depth > MAX_DEPTH)
        return tp_json_fail(p, -TP_ELIMIT, "more than 64 levels", "less nesting");
    return tp_json_take(p, &(struct tp_json_token){.type = type});
}

static int on_start_map(void *context)
{
    return open_place(context, TP_JSON_OBJECT);
}

static int on_start_array(void *context)
{
    return open_place(context, TP_JSON_LIST);
}

static int on_end_map(void *context)
{
    struct tp_json_parser *p = context;

    p->depth--;
    return tp_json_close(p, '}');
}

static int on_end_array(void *context)
{
    struct tp_json_parser *p = context;

    p->depth--;
    return tp_json_close(p, ']');
}

int tp_json_key(struct tp_json_parser *p, const unsigned char *key, size_t size)
{
    if (p->place == TP_JSON_IN_TOP)
        keep_key(p, "events|rows|list", key, size);
    else if (p->place == TP_JSON_IN_LIST)
        keep_key(p, "use_device|profile_memory|with_flops", key, size);
    else if (p->place == TP_JSON_IN_KERNEL)
        keep_key(p, "name|device|duration", key, size);
    else if (p->place == TP_JSON_IN_EVENT || p->place == TP_JSON_IN_DETAIL)
        return tp_json_event_key(p, key, size);
    return 1;
}

static int on_map_key(void *context, const unsigned char *key, size_t size)
{
    return tp_json_key(context, key, size);
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

/* A list that does not say under which settings it was recorded shows what its events have. */
static void derive_settings(struct tp_json_parser *p)
{
    struct tp_event_list *list = p->list;

    for (uint32_t i = p->first_event; i < list->count; i++) {
        const struct tp_function_event *event = &list->events[i];
        if (list->use_device == TP_STRING_NONE)
            list->use_device = event->use_device;
        list->profile_memory |= tp_number_sign(tp_event_get(event, TP_EVENT_CPU_MEMORY)) ||
                                tp_number_sign(tp_event_get(event, TP_EVENT_DEVICE_MEMORY));
        list->with_flops |= tp_number_sign(tp_event_get(event, TP_EVENT_FLOPS)) > 0;
    }
}

static int parser_init(struct tp_json_parser *p, struct tp_json_reader *reader,
                       const struct tp_selection *selection, struct tp_event_list *list,
                       struct tp_diag *diag)
{
    *p = (struct tp_json_parser){
        .reader = reader, .list = list, .selection = selection, .first_event = list->count};
    return tp_json_reader_init(reader, &callbacks, p, diag);
}

void tp_json_parser_fini(struct tp_json_parser *p)
{
    free(p->kernels);
    free(p->frames);
    tp_buffer_fini(&p->shapes);
    tp_buffer_fini(&p->detail);
}

static int finish(struct tp_json_parser *p)
{
    if (!p->saw_events)
        return tp_diag_fail(p->reader->diag, -TP_ESYNTAX, tp_json_reader_offset(p->reader),
                            "line %llu: found an object without \"events\", expected that list",
                            (unsigned long long)tp_json_reader_line(p->reader));
    if (!p->saw_settings)
        derive_settings(p);
    return 0;
}

int tp_event_list_json_parse(const char *text, size_t size, const struct tp_selection *selection,
                             struct tp_event_list *list, struct tp_diag *diag)
{
    struct tp_json_reader reader;
    struct tp_json_parser p;

    int result = parser_init(&p, &reader, selection, list, diag);
    if (!result)
        result = tp_json_reader_feed(&reader, text, size);
    if (!result)
        result = tp_json_reader_finish(&reader);
    if (!result)
        result = finish(&p);
    tp_json_reader_fini(&reader);
    tp_json_parser_fini(&p);
    return result;
}

/* ---- as an input ---- */

static bool contains(const struct tp_input *input, const char *word)
{
    return memmem(input->head, input->head_size, word, strlen(word)) != NULL;
}

static int probe(const struct tp_input *input)
{
    char first = tp_json_begins(input);

    if (!first)
        return 0;
    if (contains(input, "\"start_us\"") || contains(input, "\"producer\": \"tpreport "))
        return 93; /* surer than raw records: a recording's processes have a "start_ns", too */
    if (contains(input, "\"traceEvents\"") || contains(input, "\"ph\""))
        return 0; /* a trace */
    return first == '[' || contains(input, "\"events\"") ? 50 : 10;
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
    struct tp_json_reader reader;
    struct tp_json_parser p;

    int result = check_selection(input->selection, diag);
    if (result < 0)
        return result;
    result = parser_init(&p, &reader, input->selection, list, diag);
    p.extent = &input->extent;
    if (!result)
        result = tp_json_reader_input(&reader, input);
    if (!result)
        result = finish(&p);
    tp_json_reader_fini(&reader);
    tp_json_parser_fini(&p);
    return result;
}

const struct tp_input_kind tp_input_event_list_json = {
    .name = "event-list",
    .help = "an event list in JSON",
    .probe = probe,
    .read_list = read_list,
};
