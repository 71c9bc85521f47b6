/* SPDX-License-Identifier: MIT
 * The state of reading an event list in JSON, shared by its two halves: event_list_json.c knows the
 * document and yajl, event_fields.c what an event is made of. */
#ifndef TP_INPUT_EVENT_FIELDS_H
#define TP_INPUT_EVENT_FIELDS_H

#include "input/input.h"
#include "input/json_reader.h"
#include "model/buffer.h"

enum tp_json_place {
    TP_JSON_AT_TOP,    /* before the document */
    TP_JSON_IN_TOP,    /* its object */
    TP_JSON_IN_LIST,   /* "list": settings */
    TP_JSON_IN_EVENTS, /* the array of events */
    TP_JSON_IN_EVENT,
    TP_JSON_IN_STACK,
    TP_JSON_IN_SHAPES,
    TP_JSON_IN_KERNELS,
    TP_JSON_IN_KERNEL,
    TP_JSON_IN_DETAIL,  /* a value that is kept as text */
    TP_JSON_IN_SKIPPED, /* below an unknown key */
    TP_JSON_AT_END,
};

enum tp_json_type {
    TP_JSON_NULL,
    TP_JSON_FLAG,
    TP_JSON_NUMBER,
    TP_JSON_STRING,
    TP_JSON_LIST,
    TP_JSON_OBJECT
};

struct tp_json_token {
    enum tp_json_type type;
    bool flag;
    struct tp_number number;
    const char *text;
    size_t size;
};

struct tp_event_field;

struct tp_json_parser {
    struct tp_json_reader *reader; /* borrowed */
    struct tp_event_list *list;
    const struct tp_selection *selection;

    enum tp_json_place place, resume; /* resume: behind TP_JSON_IN_SKIPPED */
    unsigned depth, skip_depth;
    bool is_part; /* the document is another one: an event of it stands alone */
    bool saw_events, saw_settings;
    uint32_t first_event; /* of this document in the list */
    char key[32]; /* in TP_JSON_IN_TOP, TP_JSON_IN_LIST, TP_JSON_IN_KERNEL; "" for one that does not
                     matter */

    const struct tp_event_field *field; /* of the present event; NULL: unknown */
    struct tp_function_event event;
    struct tp_event_details details;
    struct tp_buffer detail; /* a value as text */
    uint64_t seen;           /* bit n: fields[n] was there */
    uint32_t event_number;
    struct tp_extent *extent; /* borrowed; NULL: nobody asks */
    bool saw_trace_name, saw_resource;

    struct tp_kernel *kernels;
    size_t kernel_count, kernel_capacity;
    unsigned kernel_seen; /* bits: name, device, duration */
    uint32_t *frames;
    size_t frame_count, frame_capacity;
    struct tp_buffer shapes;
    unsigned shapes_depth;
};

/*
 * Context of all: offline, from yajl's callbacks.
 * Return of all: 1 to go on, 0 to stop, with the reader's result and diag explained.
 *
 * tp_json_fail        - stop: what was found, what was expected
 * tp_json_fail_memory - stop: @code is why there is no room
 * tp_json_fail_token  - stop: @token is not what was expected
 * tp_json_take_text   - a string, or null where @nullable, into the pool
 */
int tp_json_fail(struct tp_json_parser *p, int code, const char *found, const char *expected);
int tp_json_fail_memory(struct tp_json_parser *p, int code);
int tp_json_fail_token(struct tp_json_parser *p, const struct tp_json_token *token,
                       const char *expected);
int tp_json_take_text(struct tp_json_parser *p, const struct tp_json_token *token, bool nullable,
                      uint32_t *ret_id);

/*
 * tp_json_event_begin, _end - around one event; at its end it joins the list if it is selected
 * tp_json_event_key   - a key of the event, which sets parser->field (NULL for an unknown one), or
 *                       one inside a value that is kept as text
 * tp_json_event_take  - a value for a known key, in an event or below one
 * tp_json_event_close - a list or object below an event ends
 */
int tp_json_event_begin(struct tp_json_parser *p, const struct tp_json_token *token);
int tp_json_event_end(struct tp_json_parser *p);
int tp_json_event_key(struct tp_json_parser *p, const unsigned char *key, size_t size);
int tp_json_event_take(struct tp_json_parser *p, const struct tp_json_token *token);
int tp_json_event_close(struct tp_json_parser *p, char bracket);

/*
 * Tokens in the order of the document; what is below unknown keys is stepped over.
 * tp_json_take  - a value, or the beginning of a list or object (then depth has been raised)
 * tp_json_take_number - a value, as digits
 * tp_json_close - the end of one (depth has been lowered)
 * tp_json_key   - a key
 */
int tp_json_take(struct tp_json_parser *p, const struct tp_json_token *token);
int tp_json_take_number(struct tp_json_parser *p, const char *text, size_t size);
int tp_json_close(struct tp_json_parser *p, char bracket);
int tp_json_key(struct tp_json_parser *p, const unsigned char *key, size_t size);

/**
 * tp_json_event_apply - the fields that were there, over those of another event
 * Its kernels are parser->kernels; details are not touched.
 */
void tp_json_event_apply(const struct tp_json_parser *p, struct tp_function_event *event);

/** tp_json_event_has - was a field of this name there? */
bool tp_json_event_has(const struct tp_json_parser *p, const char *name);

/** tp_json_parser_fini - what it grew, not the reader */
void tp_json_parser_fini(struct tp_json_parser *p);

#endif
