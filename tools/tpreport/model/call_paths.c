/* SPDX-License-Identifier: MIT */
#include "model/call_paths.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "model/buffer.h"
#include "model/trace_rows.h"

#define OWN_FRAME (1u << 31) /* a string of paths->frames; else one of the list */

const struct tp_string *tp_call_paths_frame(const struct tp_call_paths *paths, uint32_t frame)
{
    return frame & OWN_FRAME ? tp_strings_get(&paths->frames, frame & ~OWN_FRAME)
                             : tp_strings_get(paths->list->strings, frame);
}

/* ---- one more frame ---- */

static uint32_t *find_slot(const struct tp_call_paths *paths, const struct tp_call_path *path)
{
    uint64_t hash = ((uint64_t)path->parent << 32 | path->frame) * 0x9e3779b97f4a7c15u;

    hash ^= (uint64_t)path->step * 0xd6e8feb86659fd93u ^ (uint64_t)(uint32_t)path->device << 7;
    for (hash ^= hash >> 32;; hash++) {
        uint32_t *slot = &paths->slots[hash & (paths->slot_count - 1)];
        if (!*slot)
            return slot;
        const struct tp_call_path *other = &paths->items[*slot - 1];
        if (other->parent == path->parent && other->frame == path->frame &&
            other->step == path->step && other->device == path->device &&
            other->source == path->source)
            return slot;
    }
}

static int grow(struct tp_call_paths *paths)
{
    uint32_t capacity = paths->capacity ? paths->capacity * 2 : 256;

    if (capacity > 1u << 30)
        return -TP_ELIMIT;
    struct tp_call_path *items = realloc(paths->items, capacity * sizeof(*items));
    if (!items)
        return -ENOMEM;
    paths->items = items;
    paths->capacity = capacity;
    uint32_t *slots = calloc((size_t)capacity * 2, sizeof(*slots));
    if (!slots)
        return -ENOMEM;
    free(paths->slots);
    paths->slots = slots;
    paths->slot_count = capacity * 2;
    for (uint32_t i = 0; i < paths->count; i++)
        *find_slot(paths, &items[i]) = i + 1;
    return 0;
}

static int add_path(struct tp_call_paths *paths, const struct tp_call_path *path, uint32_t *ret)
{
    if (paths->count == paths->capacity) {
        int result = grow(paths);
        if (result < 0)
            return result;
    }
    uint32_t *slot = find_slot(paths, path);
    if (!*slot) {
        paths->items[paths->count] = *path;
        *slot = ++paths->count;
    }
    *ret = *slot - 1;
    return 0;
}

/* Below @parent. */
static int add_frame(struct tp_call_paths *paths, uint32_t parent, uint32_t frame, int64_t step,
                     int32_t device, uint32_t *ret)
{
    const struct tp_call_path *above = &paths->items[parent];
    struct tp_call_path path = {
        .parent = parent,
        .frame = frame,
        .thread = above->thread,
        .source = above->source,
        .step = step >= 0 ? step : above->step,
        .device = device,
    };

    return add_path(paths, &path, ret);
}

/* ---- roots ---- */

static int add_own_root(struct tp_call_paths *paths, const struct tp_buffer *text, uint32_t source,
                        uint32_t *ret)
{
    struct tp_call_path path = {
        .parent = TP_NO_PATH, .thread = TP_NO_PATH, .source = source, .step = -1, .device = -1};
    int result = text->failed
                     ? -ENOMEM
                     : tp_strings_put(&paths->frames, text->bytes, text->size, &path.frame);

    path.frame |= OWN_FRAME;
    return result < 0 ? result : add_path(paths, &path, ret);
}

static uint32_t source_of(const struct tp_event_list *list, uint32_t event)
{
    uint32_t source = 0;

    while (list->trace && source + 1 < list->trace->source_count &&
           event >= list->trace->sources[source + 1].first_event)
        source++;
    return source;
}

/* {"name": "worker"}: between the quotes, if it is simple. */
static void put_name(struct tp_buffer *out, const struct tp_string *args)
{
    static const char key[] = "{\"name\": \"";
    size_t head = sizeof(key) - 1;

    if (args->size <= head + 2 || memcmp(args->bytes, key, head) != 0 ||
        memchr(args->bytes, '\\', args->size))
        return;
    if (out->size <= args->size - head && !memcmp(args->bytes + head, out->bytes, out->size))
        tp_buffer_reset(out); /* "thread 7 (worker)" tells the number itself */
    else
        tp_buffer_string(out, " ");
    tp_buffer_bytes(out, args->bytes + head, args->size - head - 2);
}

static void put_mark(struct tp_buffer *out, const struct tp_event_list *list, const char *kind,
                     uint32_t pid, int64_t thread)
{
    for (uint32_t i = 0; list->trace && i < list->trace->mark_count; i++) {
        const struct tp_trace_mark *mark = &list->trace->marks[i];
        if (mark->phase != 'M' || mark->pid != pid ||
            strcmp(tp_strings_get(list->strings, mark->name)->bytes, kind) != 0)
            continue;
        if (*kind == 't' &&
            strtoll(tp_strings_get(list->strings, mark->tid)->bytes, NULL, 10) != thread)
            continue;
        put_name(out, tp_strings_get(list->strings, mark->args));
        return;
    }
}

/* "process 12 python3", if it is known, and below it "thread 34 worker". */
static int add_thread(struct tp_call_paths *paths, uint32_t event, uint32_t *ret)
{
    const struct tp_event_list *list = paths->list;
    int64_t thread = list->events[event].thread;
    uint32_t pid = list->keeps_details ? list->details[event].pid : TP_STRING_NONE;
    uint32_t source = source_of(list, event), process = TP_NO_PATH;
    struct tp_buffer text = {0};
    int result = 0;

    if (pid != TP_STRING_NONE) {
        tp_buffer_format(&text, "process %s", tp_strings_get(list->strings, pid)->bytes);
        put_mark(&text, list, "process_name", pid, 0);
        result = add_own_root(paths, &text, source, &process);
    }
    tp_buffer_reset(&text);
    tp_buffer_format(&text, "thread %lld", (long long)thread);
    put_mark(&text, list, "thread_name", pid, thread);
    if (!result && process == TP_NO_PATH) {
        result = add_own_root(paths, &text, source, ret);
    } else if (!result) {
        uint32_t frame = 0;
        result =
            text.failed ? -ENOMEM : tp_strings_put(&paths->frames, text.bytes, text.size, &frame);
        if (!result)
            result = add_frame(paths, process, frame | OWN_FRAME, -1, -1, ret);
    }
    if (!result)
        paths->items[*ret].thread = *ret;
    tp_buffer_fini(&text);
    return result;
}

/* The last thread asked for, and its path: events of one come in runs. */
struct last_thread {
    bool is_known;
    uint32_t pid, path;
    int64_t thread;
};

static int find_thread(struct tp_call_paths *paths, uint32_t event, struct last_thread *last,
                       uint32_t *ret)
{
    const struct tp_event_list *list = paths->list;
    uint32_t pid = list->keeps_details ? list->details[event].pid : TP_STRING_NONE;
    int result = 0;

    if (!last->is_known || last->pid != pid || last->thread != list->events[event].thread ||
        (list->trace && list->trace->source_count > 1)) {
        result = add_thread(paths, event, &last->path);
        last->is_known = !result;
        last->pid = pid;
        last->thread = list->events[event].thread;
    }
    *ret = last->path;
    return result;
}

/* ---- events ---- */

static int64_t step_of(const struct tp_call_paths *paths, const struct tp_function_event *event)
{
    static const char mark[] = "ProfilerStep#";
    const struct tp_string *name = tp_strings_get(paths->list->strings, event->trace_name);

    if (!paths->by_step || strncmp(name->bytes, mark, sizeof(mark) - 1) != 0)
        return -1;
    return strtoll(name->bytes + sizeof(mark) - 1, NULL, 10);
}

/* An event without a parent, below its thread and its Python stack. */
static int add_outermost(struct tp_call_paths *paths, uint32_t index, struct last_thread *last,
                         uint32_t *ret)
{
    const struct tp_event_list *list = paths->list;
    const struct tp_function_event *event = &list->events[index];
    uint32_t frames = tp_stacks_count(list->stacks, event->stack);
    int result = find_thread(paths, index, last, ret);

    for (uint32_t i = frames; i-- > 0 && !result;)
        result =
            add_frame(paths, *ret, tp_stacks_frames(list->stacks, event->stack)[i], -1, -1, ret);
    return result ? result : add_frame(paths, *ret, event->name, step_of(paths, event), -1, ret);
}

/* @known: by event, number + 1. Ancestors may stand behind in the list: they are found first. */
static int find_path(struct tp_call_paths *paths, uint32_t index, uint32_t *known,
                     struct last_thread *last)
{
    const struct tp_function_event *events = paths->list->events;

    while (!known[index]) {
        uint32_t next = index, path = 0;
        int result;
        while (events[next].parent != TP_NO_EVENT && !known[events[next].parent])
            next = events[next].parent;
        if (events[next].parent == TP_NO_EVENT)
            result = add_outermost(paths, next, last, &path);
        else
            result = add_frame(paths, known[events[next].parent] - 1, events[next].name,
                               step_of(paths, &events[next]), -1, &path);
        if (result < 0)
            return result;
        known[next] = path + 1;
    }
    return 0;
}

static int add_kernels(struct tp_call_paths *paths, const struct tp_function_event *event,
                       uint32_t path)
{
    int result = 0;

    for (uint32_t i = 0; i < event->kernel_count && !result; i++) {
        const struct tp_kernel *kernel = &paths->list->kernels[event->first_kernel + i];
        uint32_t below = 0;
        result = add_frame(paths, path, kernel->name, -1, kernel->device, &below);
        if (result)
            break;
        paths->items[below].values[TP_PATH_DEVICE_NS] += tp_trace_ns(kernel->duration);
        paths->items[below].values[TP_PATH_COUNT]++;
    }
    return result;
}

static int add_host_event(struct tp_call_paths *paths, uint32_t index, uint32_t *known,
                          struct last_thread *last)
{
    const struct tp_function_event *event = &paths->list->events[index];
    int result = find_path(paths, index, known, last);

    if (result < 0)
        return result;
    int64_t *values = paths->items[known[index] - 1].values;
    values[TP_PATH_SELF_CPU_NS] += tp_trace_event_ns(event, TP_EVENT_SELF_CPU_TIME);
    values[TP_PATH_CPU_NS] +=
        event->flags & TP_EVENT_ASYNC ? 0 : tp_trace_ns(tp_event_cpu_time_total(event));
    values[TP_PATH_HOST_BYTES] += tp_number_truncate(tp_event_get(event, TP_EVENT_SELF_CPU_MEMORY));
    values[TP_PATH_DEVICE_BYTES] +=
        tp_number_truncate(tp_event_get(event, TP_EVENT_SELF_DEVICE_MEMORY));
    values[TP_PATH_COUNT]++;
    return event->flags & TP_EVENT_ASYNC ? 0 : add_kernels(paths, event, known[index] - 1);
}

/* Device work that is no operator's, or all of it where none is. */
static int add_device_event(struct tp_call_paths *paths, uint32_t index)
{
    const struct tp_function_event *event = &paths->list->events[index];
    struct tp_buffer text = {0};
    uint32_t path = 0;

    if (event->flags & TP_EVENT_USER_ANNOTATION ||
        (paths->list->kernel_count && !(event->flags & TP_EVENT_NO_LAUNCH)))
        return 0;
    tp_buffer_format(&text, "%s %d", tp_device_type_name(event->device_type), event->device_index);
    if (event->flags & TP_EVENT_NO_LAUNCH)
        tp_buffer_string(&text, " (no launch recorded)");
    int result = add_own_root(paths, &text, source_of(paths->list, index), &path);
    if (!result)
        result = add_frame(paths, path, event->name, -1, event->device_index, &path);
    tp_buffer_fini(&text);
    if (result < 0)
        return result;
    paths->items[path].values[TP_PATH_DEVICE_NS] +=
        tp_trace_event_ns(event, TP_EVENT_SELF_DEVICE_TIME);
    paths->items[path].values[TP_PATH_COUNT]++;
    return 0;
}

int tp_call_paths_init(struct tp_call_paths *paths, const struct tp_event_list *list, bool by_step)
{
    uint32_t *known = calloc((size_t)list->count + 1, sizeof(*known));
    struct last_thread last = {0};

    *paths = (struct tp_call_paths){.list = list, .by_step = by_step};
    int result = known ? tp_strings_init(&paths->frames) : -ENOMEM;
    for (uint32_t i = tp_event_list_next(list, 0); !result && i < list->count;
         i = tp_event_list_next(list, i + 1))
        result = list->events[i].device_type == TP_DEVICE_CPU
                     ? add_host_event(paths, i, known, &last)
                     : add_device_event(paths, i);
    free(known);
    return result;
}

void tp_call_paths_fini(struct tp_call_paths *paths)
{
    tp_strings_fini(&paths->frames);
    free(paths->items);
    free(paths->slots);
    *paths = (struct tp_call_paths){0};
}
