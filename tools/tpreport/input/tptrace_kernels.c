/* SPDX-License-Identifier: MIT */
#include "input/tptrace_kernels.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "input/tptrace_nodes.h"

enum { SHAPES = 64, KINDS = 256 };

/* What a process's launches looked like. */
struct shape {
    uint32_t id;     /* name id */
    uint16_t device; /* for the occupancy */
    bool is_known;
    uint32_t geometry;
    float occupancy;
};

/* Work of graphs' nodes, until it is known where these were captured. */
struct node_work {
    uint64_t node; /* 0: free */
    uint32_t name;
    uint8_t work_class;
    uint64_t calls;
    int64_t ns;
};

struct tptrace_kernels {
    struct tp_kernels *into;
    const struct tp_strings *strings;
    struct shape shapes[SHAPES];
    struct {
        const struct tp_stream_name *name;
        enum tp_work_kind kind;
    } kinds[KINDS];
    uint64_t user; /* the process */
    struct tptrace_nodes nodes;
    struct node_work *works; /* open addressing */
    size_t work_count, work_slots;
};

struct tptrace_kernels *tptrace_kernels_create(const struct tp_strings *strings,
                                               struct tp_kernels *into)
{
    struct tptrace_kernels *kernels = calloc(1, sizeof(*kernels));

    if (!kernels)
        return NULL;
    kernels->strings = strings;
    kernels->into = into;
    into->is_unordered = true;
    return kernels;
}

void tptrace_kernels_destroy(struct tptrace_kernels *kernels)
{
    if (!kernels)
        return;
    tptrace_nodes_fini(&kernels->nodes);
    free(kernels->works);
    free(kernels);
}

struct tp_summed_sink *tptrace_kernels_summed(struct tptrace_kernels *kernels)
{
    return &kernels->into->summed;
}

/* ---- geometry ---- */

static int find_shape(struct tptrace_kernels *kernels, const struct tptrace_source *source,
                      const struct tptrace_activity *activity, const struct shape **ret_shape)
{
    struct shape *shape = &kernels->shapes[(activity->geometry * 31u + activity->device) % SHAPES];
    struct tp_occupancy occupancy;
    struct tp_geometry geometry;

    *ret_shape = shape;
    if (shape->is_known && shape->id == activity->geometry && shape->device == activity->device)
        return 0;
    *shape = (struct shape){
        .id = activity->geometry, .device = activity->device, .is_known = true, .occupancy = -1};
    int error = tptrace_names_geometry(source->names, shape->id, &shape->geometry);
    const struct tp_string *json = tp_strings_get(kernels->strings, shape->geometry);
    if (!error && shape->geometry != TP_STRING_NONE &&
        tp_geometry_parse(&geometry, json->bytes, json->size) &&
        tptrace_cuda_occupancy(&source->process->meta.cuda, shape->device, &geometry, &occupancy))
        shape->occupancy = (float)occupancy.percent;
    return error;
}

/* ---- nodes of graphs ---- */

static size_t slot_of(const struct tptrace_kernels *kernels, const struct node_work *work)
{
    uint64_t hash =
        (work->node ^ (uint64_t)work->name << 40 ^ work->work_class) * UINT64_C(0x9e3779b97f4a7c15);
    size_t at = (size_t)(hash ^ hash >> 32);

    for (;; at++) {
        const struct node_work *slot = &kernels->works[at & (kernels->work_slots - 1)];
        if (!slot->node || (slot->node == work->node && slot->name == work->name &&
                            slot->work_class == work->work_class))
            return at & (kernels->work_slots - 1);
    }
}

static int grow_works(struct tptrace_kernels *kernels)
{
    size_t old_slots = kernels->work_slots, slots = old_slots ? old_slots * 2 : 256;
    struct node_work *old = kernels->works, *works = calloc(slots, sizeof(*works));

    if (!works)
        return -ENOMEM;
    kernels->works = works;
    kernels->work_slots = slots;
    for (size_t i = 0; i < old_slots; i++) {
        if (old[i].node)
            works[slot_of(kernels, &old[i])] = old[i];
    }
    free(old);
    return 0;
}

static int add_node_work(struct tptrace_kernels *kernels, enum tp_work_class work_class,
                         const struct tptrace_activity *activity, int64_t ns)
{
    struct node_work work = {
        .node = activity->graph_node, .name = activity->name->name, .work_class = work_class};

    if (ns <= 0) /* without a time it is in no row */
        return 0;
    if (kernels->work_count * 2 >= kernels->work_slots && grow_works(kernels))
        return -ENOMEM;
    struct node_work *slot = &kernels->works[slot_of(kernels, &work)];
    if (!slot->node) {
        *slot = work;
        kernels->work_count++;
    }
    slot->calls++;
    slot->ns += ns;
    return 0;
}

int tptrace_kernels_node(struct tptrace_kernels *kernels, const struct tptrace_source *source,
                         const uint64_t *record, const struct tp_stream *stream)
{
    kernels->user = source->user;
    return tptrace_nodes_take(&kernels->nodes, source, record, stream);
}

int tptrace_kernels_end(struct tptrace_kernels *kernels)
{
    int error = 0;

    tptrace_nodes_sort(&kernels->nodes);
    for (size_t i = 0; i < kernels->work_slots && !error; i++) {
        const struct node_work *work = &kernels->works[i];
        struct tp_kernel_capture capture = {
            .name = tptrace_nodes_origin(&kernels->nodes, kernels->user, work->node),
            .calls = work->calls,
            .ns = tp_number_integer(work->ns)};
        if (capture.name != TP_STRING_NONE)
            error = tp_kernels_add_capture(kernels->into, work->work_class, work->name, &capture);
    }
    tptrace_nodes_fini(&kernels->nodes);
    free(kernels->works);
    *kernels = (struct tptrace_kernels){.strings = kernels->strings, .into = kernels->into};
    return error;
}

/* ---- work ---- */

static enum tp_work_kind kind_of(struct tptrace_kernels *kernels,
                                 const struct tptrace_activity *activity)
{
    const struct tp_stream_name *name = activity->name;
    size_t at = (uintptr_t)name / sizeof(*name) % KINDS;

    if (activity->kind == TP_EVENT_CUDA_SYNC)
        return TP_WORK_WAIT;
    if (kernels->kinds[at].name != name) {
        kernels->kinds[at].name = name;
        kernels->kinds[at].kind =
            tp_work_kind_of_device_work(tp_strings_get(kernels->strings, name->name));
    }
    return kernels->kinds[at].kind;
}

static struct tp_work work_of(const struct tptrace_activity *activity, enum tp_work_kind kind)
{
    struct tp_number length = tp_number_integer(activity->end_ns - activity->start_ns);

    return (struct tp_work){
        .kind = kind,
        .name = activity->name->name,
        .ns = {[TP_MEASURE_DEVICE_TIME] = length, [TP_MEASURE_SELF_DEVICE_TIME] = length},
        .known = (1u << TP_WORK_TIMES) - 1,
        .has_span = true,
        .start_ns = tp_number_integer(activity->start_ns),
        .end_ns = tp_number_integer(activity->end_ns),
        .device = activity->device,
        .stream = activity->stream,
        .occupancy = -1,
    };
}

int tptrace_kernels_take(struct tptrace_kernels *kernels, const struct tptrace_source *source,
                         const struct tptrace_activity *activity)
{
    const struct shape *shape;
    int error = 0;

    if (!tptrace_is_device_work(activity->kind) && activity->kind != TP_EVENT_CUDA_SYNC)
        return 0;
    struct tp_work work = work_of(activity, kind_of(kernels, activity));
    if (activity->geometry) {
        error = find_shape(kernels, source, activity, &shape);
        work.geometry = shape->geometry;
        work.occupancy = shape->occupancy;
    }
    if (!error)
        error = kernels->into->sink.take(&kernels->into->sink, &work);
    if (error || !activity->graph_node || work.kind == TP_WORK_WAIT)
        return error;
    return add_node_work(kernels, work.kind == TP_WORK_KERNEL ? TP_CLASS_KERNELS : TP_CLASS_COPIES,
                         activity, activity->end_ns - activity->start_ns);
}
