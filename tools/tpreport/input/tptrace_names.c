/* SPDX-License-Identifier: MIT */
#include "input/tptrace_names.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "event/name_text.h"
#include "event/names.h"
#include "input/tptrace_file.h"
#include "input/tptrace_text.h"
#include "model/buffer.h"
#include "model/demangle.h"

#define CHUNK 256
#define UNKNOWN_SLOTS 1024u
#define UNKNOWN_MAX (64u << 10)
#define FILE_MAX ((uint64_t)TP_NAMES_FILE_LIMIT + (2u << 20))

struct chunk {
    struct chunk *next;
    uint32_t used;
    struct tp_stream_name names[CHUNK];
};

struct unknown {
    struct unknown *next;
    uint32_t id;
    struct tp_stream_name name;
};

typedef _Atomic(const struct tp_stream_name *) late_name;

struct tptrace_names {
    struct tp_strings *strings;
    struct tp_names *file; /* NULL: could not be read */
    void *bytes;
    uint64_t size;
    const struct tp_stream_name **plain, **nvtx; /* by id */
    uint32_t *shapes; /* string ids by id, TP_STRING_NONE: not one of shapes; NULL: not asked for */
    struct tptrace_details *details; /* by id, as far as asked for; NULL nobody asked */
    struct tp_stream_names stream;
    late_name *calls;     /* by id: names of CUDA calls, as far as asked for */
    pthread_mutex_t lock; /* what is below, and the strings while streams run */
    struct chunk *chunks;
    struct tp_stream_name **texts; /* that no record has, as far as asked for */
    size_t text_count;
    struct unknown *unknown[UNKNOWN_SLOTS];
    struct tp_stream_name last_resort;
    uint32_t unknown_ids,
        unknown_count; /* all that were asked for; those that should have a name */
};

/* ---- one name ---- */

static struct tp_stream_name *new_name(struct tptrace_names *names)
{
    struct chunk *chunk = names->chunks;

    if (!chunk || chunk->used == CHUNK) {
        chunk = malloc(sizeof(*chunk));
        if (!chunk)
            return NULL;
        chunk->next = names->chunks;
        chunk->used = 0;
        names->chunks = chunk;
    }
    struct tp_stream_name *name = &chunk->names[chunk->used++];
    *name = (struct tp_stream_name){
        .overload_name = TP_STRING_EMPTY, .domain = TP_STRING_NONE, .sequence_nr = -1};
    return name;
}

/* The text as the report shows it: steps are one name, the number is theirs alone. */
static int set_text(struct tptrace_names *names, struct tp_stream_name *name, const char *text,
                    size_t size)
{
    static const char step[] = "ProfilerStep*", numbered[] = "ProfilerStep#";

    int error = tp_strings_put(names->strings, text, size, &name->trace_name);
    name->name = name->trace_name;
    if (!error && size >= sizeof(numbered) - 1 && !memcmp(text, numbered, sizeof(numbered) - 1))
        error = tp_strings_put(names->strings, step, sizeof(step) - 1, &name->name);
    name->step = size == sizeof(step) - 1 && !memcmp(text, step, size);
    name->filtered = tp_name_is_filtered(text, size);
    return error;
}

/* Text behind the first NUL; the whole is cut to what is before it. */
static struct tp_name split_at_nul(struct tp_name *name)
{
    const char *nul = memchr(name->bytes, '\0', name->size);
    struct tp_name rest = {.bytes = name->bytes + name->size};

    if (nul) {
        rest.bytes = nul + 1;
        rest.size = name->size - (uint32_t)(rest.bytes - name->bytes);
        name->size = (uint32_t)(nul - name->bytes);
    }
    return rest;
}

static int put_nvtx_form(struct tptrace_names *names, uint32_t id, const struct tp_name *text)
{
    struct tp_nvtx_text split;

    if (!tp_nvtx_split(text->bytes, text->size, &split))
        return 0;
    struct tp_stream_name *name = new_name(names);
    if (!name)
        return -ENOMEM;
    int error = set_text(names, name, text->bytes, split.name_size);
    name->sequence_nr = split.sequence_nr;
    if (!error && split.sizes)
        error = tp_strings_put(names->strings, split.sizes, split.sizes_size, &name->input_shapes);
    names->nvtx[id] = name;
    return error;
}

static int put_scoped(struct tptrace_names *names, uint32_t id, struct tp_stream_name *name,
                      struct tp_name domain)
{
    bool whole = !memchr(domain.bytes, '\0', domain.size);
    struct tp_name text = split_at_nul(&domain);

    if (whole) {
        text = domain;
        domain.size = 0;
    }
    name->annotation = !(domain.size == 7 && !memcmp(domain.bytes, "PyTorch", 7));
    int error = set_text(names, name, text.bytes, text.size);
    if (!error && domain.size)
        error = tp_strings_put(names->strings, domain.bytes, domain.size, &name->domain);
    if (!error && !domain.size)
        error = put_nvtx_form(names, id, &text);
    return error;
}

static int put_operator(struct tptrace_names *names, struct tp_stream_name *name,
                        struct tp_name text)
{
    struct tp_name overload = split_at_nul(&text);
    int error = set_text(names, name, text.bytes, text.size);

    return error ? error
                 : tp_strings_put(names->strings, overload.bytes, overload.size,
                                  &name->overload_name);
}

/* file NUL line NUL qualified name: "FILE(LINE): NAME" */
static int put_code(struct tptrace_names *names, struct tp_stream_name *name, struct tp_name file)
{
    struct tp_buffer text = {0};
    struct tp_name line = split_at_nul(&file), function = split_at_nul(&line);

    tp_buffer_bytes(&text, file.bytes, file.size);
    tp_buffer_char(&text, '(');
    tp_buffer_bytes(&text, line.bytes, line.size);
    tp_buffer_string(&text, "): ");
    tp_buffer_bytes(&text, function.bytes, function.size);
    int error = text.failed ? -ENOMEM : set_text(names, name, text.bytes, text.size);
    tp_buffer_fini(&text);
    return error;
}

/* Device code: what its author called it. */
static int put_symbol(struct tptrace_names *names, struct tp_stream_name *name, struct tp_name text)
{
    char *symbol = strndup(text.bytes, text.size), *plain = NULL;

    if (!symbol)
        return -ENOMEM;
    if (!strncmp(symbol, "_Z", 2))
        plain = tp_demangle(symbol);
    int error = plain ? set_text(names, name, plain, strlen(plain))
                      : set_text(names, name, text.bytes, text.size);
    free(plain);
    free(symbol);
    return error;
}

static int put_shapes(struct tptrace_names *names, uint32_t id, const struct tp_name *json)
{
    struct tp_buffer text = {0};
    int error = 0;

    if (!names->shapes)
        return 0;
    if (tptrace_shapes_text(&text, json->bytes, json->size, false))
        error = text.failed
                    ? -ENOMEM
                    : tp_strings_put(names->strings, text.bytes, text.size, &names->shapes[id]);
    tp_buffer_fini(&text);
    return error;
}

static int put_name(struct tptrace_names *names, uint32_t id, const struct tp_name *text)
{
    if (text->kind == TP_NAME_SHAPES)
        return put_shapes(names, id, text);
    if (text->kind == TP_NAME_STACK || text->kind == TP_NAME_INPUTS || text->kind == TP_NAME_KEY ||
        text->kind == TP_NAME_GEOMETRY)
        return 0; /* never a range's name */
    struct tp_stream_name *name = new_name(names);
    if (!name)
        return -ENOMEM;
    names->plain[id] = names->nvtx[id] = name;
    switch (text->kind) {
    case TP_NAME_OPERATOR:
        return put_operator(names, name, *text);
    case TP_NAME_SCOPED:
        return put_scoped(names, id, name, *text);
    case TP_NAME_CODE:
        return put_code(names, name, *text);
    case TP_NAME_SYMBOL:
        return put_symbol(names, name, *text);
    default:
        name->annotation = 1;
        return set_text(names, name, text->bytes, text->size);
    }
}

/* ---- ids without a name ---- */

static int make_unknown(struct tptrace_names *names, struct tp_stream_name *name, uint32_t id)
{
    char text[32] = "(no name)"; /* what a NULL message is */

    if (id != TP_NAME_NONE)
        snprintf(text, sizeof(text), "<name %u>", id);
    *name = (struct tp_stream_name){
        .overload_name = TP_STRING_EMPTY, .domain = TP_STRING_NONE, .sequence_nr = -1};
    return set_text(names, name, text, strlen(text));
}

static const struct tp_stream_name *find_unknown(struct tptrace_names *names, uint32_t id)
{
    struct unknown **slot = &names->unknown[id * 0x9e3779b1u >> 22];

    for (struct unknown *u = *slot; u; u = u->next) {
        if (u->id == id)
            return &u->name;
    }
    if (names->unknown_ids >= UNKNOWN_MAX)
        return &names->last_resort;
    struct unknown *u = malloc(sizeof(*u));
    if (!u || make_unknown(names, &u->name, id)) {
        free(u);
        return &names->last_resort;
    }
    u->id = id;
    u->next = *slot;
    *slot = u;
    names->unknown_ids++;
    names->unknown_count += id != TP_NAME_NONE;
    return &u->name;
}

static const struct tp_stream_name *unknown_name(void *context, uint32_t id)
{
    struct tptrace_names *names = context;

    pthread_mutex_lock(&names->lock);
    const struct tp_stream_name *name = find_unknown(names, id);
    pthread_mutex_unlock(&names->lock);
    return name;
}

/* ---- names that are made while records are read ---- */

/* The name of a text; under the lock. NULL without memory. */
static struct tp_stream_name *find_text(struct tptrace_names *names, const char *text, size_t size)
{
    uint32_t id;

    if (tp_strings_put(names->strings, text, size, &id))
        return NULL;
    for (size_t i = 0; i < names->text_count; i++) {
        if (names->texts[i]->name == id)
            return names->texts[i];
    }
    if (!(names->text_count & (names->text_count - 1))) {
        size_t capacity = names->text_count ? names->text_count * 2 : 1;
        struct tp_stream_name **texts = realloc(names->texts, capacity * sizeof(*texts));
        if (!texts)
            return NULL;
        names->texts = texts;
    }
    struct tp_stream_name *name = new_name(names);
    if (!name)
        return NULL;
    name->name = name->trace_name = id;
    return names->texts[names->text_count++] = name;
}

const struct tp_stream_name *tptrace_names_text(struct tptrace_names *names, const char *text)
{
    pthread_mutex_lock(&names->lock);
    const struct tp_stream_name *name = find_text(names, text, strlen(text));
    pthread_mutex_unlock(&names->lock);
    return name ? name : &names->last_resort;
}

/* CUPTI names a function with the version that its parameters have since: cudaLaunchKernel_v7000.
 * The driver's own _v2 belongs to the name. */
static size_t call_size(const char *text, size_t size)
{
    size_t digits = 0;

    while (digits < size && text[size - digits - 1] >= '0' && text[size - digits - 1] <= '9')
        digits++;
    bool version = digits >= 4 && size - digits > 2 && !memcmp(text + size - digits - 2, "_v", 2);
    return version ? size - digits - 2 : size;
}

static struct tp_stream_name *find_call(struct tptrace_names *names, const struct tp_name *text)
{
    struct tp_stream_name *name = find_text(names, text->bytes, call_size(text->bytes, text->size));

    if (name)
        name->launches = tp_name_launches(text->bytes, text->size);
    return name;
}

const struct tp_stream_name *tptrace_names_call(struct tptrace_names *names, uint32_t id)
{
    const struct tp_stream_name *name =
        id < names->stream.count ? atomic_load(&names->calls[id]) : NULL;
    struct tp_name text;

    if (name)
        return name;
    if (id >= names->stream.count || !names->plain[id] || !tp_names_get(names->file, id, &text) ||
        text.kind != TP_NAME_TEXT)
        return id < names->stream.count && names->plain[id] ? names->plain[id]
                                                            : unknown_name(names, id);
    pthread_mutex_lock(&names->lock);
    name = find_call(names, &text);
    pthread_mutex_unlock(&names->lock);
    if (!name)
        return names->plain[id];
    atomic_store(&names->calls[id], name);
    return name;
}

const struct tp_stream_name *tptrace_names_plain(const struct tptrace_names *names, uint32_t id)
{
    const struct tp_stream_name *name = id < names->stream.count ? names->plain[id] : NULL;

    return name ? name : names->stream.unknown(names->stream.context, id);
}

const struct tp_stream_name *tptrace_names_nvtx(const struct tptrace_names *names, uint32_t id)
{
    const struct tp_stream_name *name = id < names->stream.count ? names->nvtx[id] : NULL;

    return name ? name : names->stream.unknown(names->stream.context, id);
}

/* ---- all of them ---- */

static int allocate_tables(struct tptrace_names *names, uint32_t count, bool want_shapes)
{
    names->plain = calloc(count, sizeof(*names->plain));
    names->nvtx = calloc(count, sizeof(*names->nvtx));
    names->calls = calloc(count, sizeof(*names->calls));
    if (want_shapes)
        names->shapes = calloc(count, sizeof(*names->shapes));
    if (!names->plain || !names->nvtx || !names->calls || (want_shapes && !names->shapes))
        return -ENOMEM;
    names->stream = (struct tp_stream_names){.plain = names->plain,
                                             .nvtx = names->nvtx,
                                             .count = count,
                                             .unknown = unknown_name,
                                             .context = names};
    return 0;
}

static int put_all(struct tptrace_names *names, bool want_shapes)
{
    uint32_t highest = names->file ? tp_names_highest(names->file) : 0;
    struct tp_name name;

    if (highest < TP_NAME_FIRST)
        highest = TP_NAME_FIRST;
    int error = allocate_tables(names, highest + 1, want_shapes);
    for (uint32_t id = 0; names->file && id <= highest && !error; id++) {
        if (tp_names_get(names->file, id, &name))
            error = put_name(names, id, &name);
    }
    return error ? error : make_unknown(names, &names->last_resort, UINT32_MAX);
}

static void read_names(struct tptrace_names *names, const char *path, const uint8_t *expect_uuid,
                       struct tp_diag *diag)
{
    if (tptrace_read_file(path, FILE_MAX, &names->bytes, &names->size, diag))
        return;
    if (tp_names_open(&names->file, names->bytes, names->size, expect_uuid, diag))
        tp_diag_at(diag, path);
}

int tptrace_names_open(struct tptrace_names **ret_names, struct tp_strings *strings,
                       const char *path, const uint8_t *expect_uuid, bool want_shapes,
                       struct tp_diag *diag)
{
    struct tptrace_names *names = calloc(1, sizeof(*names));

    diag->code = 0;
    if (!names)
        return -ENOMEM;
    names->strings = strings;
    pthread_mutex_init(&names->lock, NULL);
    read_names(names, path, expect_uuid, diag);
    int error = put_all(names, want_shapes);
    if (error) {
        tptrace_names_close(names);
        return error;
    }
    *ret_names = names;
    return 0;
}

void tptrace_names_close(struct tptrace_names *names)
{
    if (!names)
        return;
    for (size_t i = 0; i < UNKNOWN_SLOTS; i++) {
        for (struct unknown *u = names->unknown[i], *next; u; u = next) {
            next = u->next;
            free(u);
        }
    }
    for (struct chunk *c = names->chunks, *next; c; c = next) {
        next = c->next;
        free(c);
    }
    tp_names_close(names->file);
    free(names->bytes);
    free(names->plain);
    free(names->nvtx);
    free(names->calls);
    free(names->texts);
    free(names->shapes);
    free(names->details);
    pthread_mutex_destroy(&names->lock);
    free(names);
}

const struct tp_stream_names *tptrace_names_stream(const struct tptrace_names *names)
{
    return &names->stream;
}

uint32_t tptrace_names_shapes(const struct tptrace_names *names, uint32_t id)
{
    uint32_t shapes =
        names->shapes && id < names->stream.count ? names->shapes[id] : TP_STRING_NONE;

    return shapes == TP_STRING_NONE ? TP_STRING_LIST : shapes;
}

static int put_part(struct tptrace_names *names, const struct tptrace_json_part *part,
                    uint32_t *ret_id)
{
    return part->size ? tp_strings_put(names->strings, part->bytes, part->size, ret_id) : 0;
}

static int put_details(struct tptrace_names *names, const struct tp_name *name,
                       struct tptrace_details *details)
{
    struct tptrace_json_part parts[3];
    struct tptrace_json_part whole = {name->bytes, name->size};

    if (!tptrace_json_split(name->bytes, name->size, parts, 3))
        return 0;
    if (name->kind == TP_NAME_INPUTS)
        return put_part(names, &whole, &details->inputs);
    int error = put_part(names, &parts[0], &details->shapes);
    if (!error)
        error = put_part(names, &parts[1], &details->dtypes);
    return error ? error : put_part(names, &parts[2], &details->strides);
}

int tptrace_names_details(struct tptrace_names *names, uint32_t id,
                          struct tptrace_details *ret_details)
{
    struct tp_name name;

    *ret_details = (struct tptrace_details){0};
    if (!names->file || id >= names->stream.count || !tp_names_get(names->file, id, &name) ||
        (name.kind != TP_NAME_SHAPES && name.kind != TP_NAME_INPUTS))
        return 0;
    if (!names->details)
        names->details = calloc(names->stream.count, sizeof(*names->details));
    if (!names->details)
        return -ENOMEM;
    struct tptrace_details *details = &names->details[id];
    int error = details->is_known ? 0 : put_details(names, &name, details);
    details->is_known = !error;
    *ret_details = *details;
    return error;
}

int tptrace_names_geometry(struct tptrace_names *names, uint32_t id, uint32_t *ret_text)
{
    struct tp_name name;

    *ret_text = TP_STRING_NONE;
    if (!names->file || !tp_names_get(names->file, id, &name) || name.kind != TP_NAME_GEOMETRY)
        return 0;
    return tp_strings_put(names->strings, name.bytes, name.size, ret_text);
}

const struct tp_names *tptrace_names_file(const struct tptrace_names *names)
{
    return names->file;
}

uint64_t tptrace_names_bytes(const struct tptrace_names *names)
{
    return names->size;
}

uint32_t tptrace_names_unknown(const struct tptrace_names *names)
{
    return names->unknown_count;
}
