/* SPDX-License-Identifier: MIT */
#include "input/tptrace_meta_cuda.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "input/tptrace_json.h"

/* Room for one more, zeroed. Return: NULL beyond @limit (counted) or without memory. */
static void *add_item(struct tptrace_meta_cuda *cuda, void **items, size_t *count, size_t size,
                      size_t limit, int *ret_error)
{
    if (*count >= limit) {
        cuda->ignored++;
        return NULL;
    }
    if (!(*count & (*count - 1)) && (*count >= 8 || !*count)) {
        void *grown = realloc(*items, (*count ? *count * 2 : 8) * size);
        if (!grown) {
            *ret_error = -ENOMEM;
            return NULL;
        }
        *items = grown;
    }
    return memset((char *)*items + (*count)++ * size, 0, size);
}

static int put_member(char **place, const struct tptrace_json *line, const char *key)
{
    const char *text = tptrace_json_text(line, key);
    char *copy = text ? strdup(text) : NULL;

    if (text && !copy)
        return -ENOMEM;
    free(*place);
    *place = copy;
    return 0;
}

/* The last one counts, whole. */
static int take_cuda(struct tptrace_meta_cuda *cuda, const struct tptrace_json *line)
{
    int error = put_member(&cuda->mode, line, "mode");

    error = error ? error : put_member(&cuda->library, line, "library");
    error = error ? error : put_member(&cuda->clock, line, "clock");
    error = error ? error : put_member(&cuda->graphs, line, "graphs");
    error = error ? error : put_member(&cuda->why, line, "why");
    cuda->api = cuda->missing = 0;
    tptrace_json_u64(line, "api", &cuda->api);
    tptrace_json_u64(line, "missing", &cuda->missing);
    cuda->is_known = true;
    return error;
}

static int take_clock(struct tptrace_meta_cuda *cuda, const struct tptrace_json *line)
{
    struct tptrace_cuda_pair pair = {0};
    int error = 0;

    if (!tptrace_json_u64(line, "ticks", &pair.ticks) ||
        !tptrace_json_u64(line, "cupti_ns", &pair.cupti_ns) || pair.cupti_ns >> 62)
        return -TP_EVALUE;
    tptrace_json_u64(line, "width", &pair.width);
    struct tptrace_cuda_pair *place = add_item(cuda, (void **)&cuda->pairs, &cuda->pair_count,
                                               sizeof(pair), TPTRACE_CUDA_PAIRS_MAX, &error);
    if (place)
        *place = pair;
    return error;
}

static int take_device(struct tptrace_meta_cuda *cuda, const struct tptrace_json *line)
{
    struct tptrace_cuda_device *place = NULL;
    uint64_t major = 0, minor = 0;
    uint32_t device;
    int error = 0;

    if (!tptrace_json_u32(line, "device", &device))
        return -TP_EVALUE;
    for (size_t i = 0; i < cuda->device_count && i < 256; i++) {
        if (cuda->devices[i].device == device)
            place = &cuda->devices[i];
    }
    if (!place)
        place = add_item(cuda, (void **)&cuda->devices, &cuda->device_count, sizeof(*place),
                         TPTRACE_CUDA_ITEMS_MAX, &error);
    if (!place)
        return error;
    place->device = device;
    tptrace_json_u64(line, "memory", &place->memory);
    tptrace_json_u32(line, "sms", &place->sms);
    tptrace_json_item_u64(line, "capability", 0, &major);
    tptrace_json_item_u64(line, "capability", 1, &minor);
    place->major = (uint32_t)major;
    place->minor = (uint32_t)minor;
    error = put_member(&place->name, line, "name");
    return error ? error : put_member(&place->uuid, line, "uuid");
}

static int take_context(struct tptrace_meta_cuda *cuda, const struct tptrace_json *line)
{
    struct tptrace_cuda_context context = {0};
    int error = 0;

    if (!tptrace_json_u32(line, "context", &context.context))
        return -TP_EVALUE;
    tptrace_json_u32(line, "device", &context.device);
    tptrace_json_u32(line, "null_stream", &context.null_stream);
    struct tptrace_cuda_context *place =
        add_item(cuda, (void **)&cuda->contexts, &cuda->context_count, sizeof(context),
                 TPTRACE_CUDA_ITEMS_MAX, &error);
    if (place)
        *place = context;
    return error;
}

static int take_stream(struct tptrace_meta_cuda *cuda, const struct tptrace_json *line)
{
    struct tptrace_cuda_stream stream = {0};
    int error = 0;

    if (!tptrace_json_u32(line, "stream", &stream.stream))
        return -TP_EVALUE;
    tptrace_json_u32(line, "context", &stream.context);
    tptrace_json_i64(line, "priority", &stream.priority);
    tptrace_json_u32(line, "flags", &stream.flags);
    struct tptrace_cuda_stream *place = add_item(cuda, (void **)&cuda->streams, &cuda->stream_count,
                                                 sizeof(stream), TPTRACE_CUDA_ITEMS_MAX, &error);
    if (place)
        *place = stream;
    return error;
}

static int take_name(struct tptrace_meta_cuda *cuda, const struct tptrace_json *line)
{
    int error = 0;

    if (!tptrace_json_text(line, "object") || !tptrace_json_text(line, "name"))
        return -TP_EVALUE;
    struct tptrace_cuda_name *place = add_item(cuda, (void **)&cuda->names, &cuda->name_count,
                                               sizeof(*place), TPTRACE_CUDA_ITEMS_MAX, &error);
    if (!place)
        return error;
    tptrace_json_u32(line, "context", &place->context);
    tptrace_json_u32(line, "id", &place->id);
    error = put_member(&place->object, line, "object");
    if (!error)
        error = put_member(&place->name, line, "name");
    if (error) { /* a name always has both */
        free(place->object);
        cuda->name_count--;
    }
    return error;
}

/* Totals: a key that is not there is 0. */
static int take_lost(struct tptrace_meta_cuda *cuda, const struct tptrace_json *line)
{
    const struct {
        uint64_t *place;
        const char *key;
    } counts[] = {
        {&cuda->dropped, "dropped"}, {&cuda->no_room, "no_room"}, {&cuda->no_time, "no_time"},
        {&cuda->invalid, "invalid"}, {&cuda->buffers, "buffers"}, {&cuda->until, "until"},
    };
    struct tptrace_json unknown;
    uint64_t count;

    for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++) {
        *counts[i].place = 0;
        tptrace_json_u64(line, counts[i].key, counts[i].place);
    }
    cuda->unknown = 0;
    if (tptrace_json_object(line, "unknown", &unknown)) {
        const char *key;
        for (size_t i = 0; (key = tptrace_json_key(&unknown, i)); i++) {
            if (tptrace_json_u64(&unknown, key, &count))
                cuda->unknown += count;
        }
    }
    cuda->has_lost = true;
    return 0;
}

static const struct {
    const char *type;
    int (*take)(struct tptrace_meta_cuda *, const struct tptrace_json *);
} takers[] = {
    {"cuda", take_cuda},          {"cuda_clock", take_clock},
    {"cuda_device", take_device}, {"cuda_context", take_context},
    {"cuda_stream", take_stream}, {"cuda_name", take_name},
    {"cuda_lost", take_lost},
};

int tptrace_meta_cuda_take(struct tptrace_meta_cuda *cuda, const char *type,
                           const struct tptrace_json *line)
{
    for (size_t i = 0; i < sizeof(takers) / sizeof(takers[0]); i++) {
        if (!strcmp(type, takers[i].type)) {
            int error = takers[i].take(cuda, line);
            return error ? error : 1;
        }
    }
    return 0;
}

void tptrace_meta_cuda_fini(struct tptrace_meta_cuda *cuda)
{
    char *texts[] = {cuda->mode, cuda->library, cuda->clock, cuda->graphs, cuda->why};

    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
        free(texts[i]);
    for (size_t i = 0; i < cuda->device_count; i++) {
        free(cuda->devices[i].name);
        free(cuda->devices[i].uuid);
    }
    for (size_t i = 0; i < cuda->name_count; i++) {
        free(cuda->names[i].object);
        free(cuda->names[i].name);
    }
    free(cuda->pairs);
    free(cuda->devices);
    free(cuda->contexts);
    free(cuda->streams);
    free(cuda->names);
    *cuda = (struct tptrace_meta_cuda){0};
}

const struct tptrace_cuda_device *tptrace_cuda_find_device(const struct tptrace_meta_cuda *cuda,
                                                           uint32_t device)
{
    for (size_t i = 0; i < cuda->device_count; i++) {
        if (cuda->devices[i].device == device)
            return &cuda->devices[i];
    }
    return NULL;
}

uint32_t tptrace_cuda_device_of(const struct tptrace_meta_cuda *cuda, uint32_t context)
{
    for (size_t i = cuda->context_count; i-- > 0;) { /* the last one counts */
        if (cuda->contexts[i].context == context)
            return cuda->contexts[i].device;
    }
    return 0;
}

bool tptrace_cuda_is(const struct tptrace_meta_cuda *cuda, const char *mode)
{
    return cuda->mode && !strcmp(cuda->mode, mode);
}
