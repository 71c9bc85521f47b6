/* SPDX-License-Identifier: MIT */
#include "model/gpu.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "model/trace_rows.h"
#include "model/work.h"

enum kind { COMPUTE, COPY, SET, KINDS };

struct item {
    int64_t start_ns, end_ns;
    int64_t stream;
    uint32_t event;
    int32_t device, node_id;
    uint8_t device_type, kind;
};

int64_t tp_gap_class_limit(unsigned class_)
{
    static const int64_t limits[TP_GAP_CLASSES] = {1000,    10000,    100000,
                                                   1000000, 10000000, INT64_MAX};

    return limits[class_];
}

void tp_gpu_fini(struct tp_gpu_report *report)
{
    for (size_t i = 0; i < report->count; i++)
        free(report->devices[i].gaps);
    free(report->devices);
    *report = (struct tp_gpu_report){0};
}

/* ---- the list's work ---- */

static bool is_work(const struct tp_event_list *list, const struct tp_function_event *event,
                    enum kind *ret_kind)
{
    const struct tp_string *name = tp_strings_get(list->strings, event->name);

    if (event->device_type == TP_DEVICE_CPU)
        return false;
    switch (tp_work_kind_of_event(list, event)) {
    case TP_WORK_KERNEL:
        *ret_kind = COMPUTE;
        return true;
    case TP_WORK_COPY:
        *ret_kind = name->size >= 6 && !memcmp(name->bytes, "Memset", 6) ? SET : COPY;
        return true;
    default:
        return false;
    }
}

static size_t collect(const struct tp_event_list *list, struct item *items)
{
    size_t count = 0;
    enum kind kind;

    for (uint32_t i = tp_event_list_next(list, 0); i < list->count;
         i = tp_event_list_next(list, i + 1)) {
        const struct tp_function_event *event = &list->events[i];
        if (!is_work(list, event, &kind))
            continue;
        struct item item = {.start_ns = tp_trace_event_ns(event, TP_EVENT_START),
                            .end_ns = tp_trace_event_ns(event, TP_EVENT_END),
                            .stream = event->device_resource_id,
                            .event = i,
                            .device = event->device_index,
                            .node_id = event->node_id,
                            .device_type = event->device_type,
                            .kind = (uint8_t)kind};
        if (item.end_ns < item.start_ns)
            item.end_ns = item.start_ns;
        if (items)
            items[count] = item;
        count++;
    }
    return count;
}

static int compare_places(const struct item *left, const struct item *right)
{
    if (left->node_id != right->node_id)
        return left->node_id < right->node_id ? -1 : 1;
    if (left->device_type != right->device_type)
        return left->device_type < right->device_type ? -1 : 1;
    return (left->device > right->device) - (left->device < right->device);
}

static int compare_items(const void *a, const void *b)
{
    const struct item *left = a, *right = b;
    int order = compare_places(left, right);

    if (order)
        return order;
    if (left->start_ns != right->start_ns)
        return left->start_ns < right->start_ns ? -1 : 1;
    return (left->event > right->event) - (left->event < right->event);
}

static int compare_streams(const void *a, const void *b)
{
    int64_t left = *(const int64_t *)a, right = *(const int64_t *)b;

    return (left > right) - (left < right);
}

/* ---- one device ---- */

/* A union of stretches that come by their starts. */
struct covered {
    int64_t end_ns, total_ns;
    bool is_begun;
};

static void cover(struct covered *covered, int64_t start_ns, int64_t end_ns)
{
    if (covered->is_begun && start_ns < covered->end_ns)
        start_ns = covered->end_ns;
    if (end_ns > start_ns)
        covered->total_ns += end_ns - start_ns;
    if (!covered->is_begun || end_ns > covered->end_ns)
        covered->end_ns = end_ns;
    covered->is_begun = true;
}

static void keep_gap(struct tp_gpu_device *device, size_t limit, const struct tp_gpu_gap *gap)
{
    size_t at = device->gap_count;

    while (at && device->gaps[at - 1].length_ns < gap->length_ns)
        at--;
    if (at >= limit)
        return;
    if (device->gap_count < limit)
        device->gap_count++;
    memmove(&device->gaps[at + 1], &device->gaps[at], (device->gap_count - 1 - at) * sizeof(*gap));
    device->gaps[at] = *gap;
}

static void count_gap(struct tp_gpu_device *device, int64_t length_ns)
{
    unsigned class_ = 0;

    while (length_ns >= tp_gap_class_limit(class_) && class_ + 1 < TP_GAP_CLASSES)
        class_++;
    device->gap_counts[class_]++;
    device->gap_ns[class_] += length_ns;
}

static int count_streams(const struct item *items, size_t count, uint32_t *ret_streams)
{
    int64_t *streams = malloc(count * sizeof(*streams));

    if (!streams)
        return -ENOMEM;
    for (size_t i = 0; i < count; i++)
        streams[i] = items[i].stream;
    qsort(streams, count, sizeof(*streams), compare_streams);
    *ret_streams = 1;
    for (size_t i = 1; i < count; i++)
        *ret_streams += streams[i] != streams[i - 1];
    free(streams);
    return 0;
}

/* Copies while kernels ran: both unions less the union of both. */
static int sum_device(struct tp_gpu_device *device, const struct item *items, size_t count,
                      size_t gap_limit)
{
    struct covered all = {0}, either = {0}, kinds[KINDS] = {{0}};

    *device = (struct tp_gpu_device){.device = items[0].device,
                                     .node_id = items[0].node_id,
                                     .device_type = items[0].device_type,
                                     .first_ns = items[0].start_ns,
                                     .gaps = calloc(gap_limit + 1, sizeof(*device->gaps))};
    if (!device->gaps)
        return -ENOMEM;
    for (size_t i = 0; i < count; i++) {
        const struct item *item = &items[i];
        if (all.is_begun && item->start_ns > all.end_ns) {
            struct tp_gpu_gap gap = {.start_ns = all.end_ns,
                                     .length_ns = item->start_ns - all.end_ns,
                                     .event = item->event};
            count_gap(device, gap.length_ns);
            keep_gap(device, gap_limit, &gap);
        }
        cover(&all, item->start_ns, item->end_ns);
        cover(&kinds[item->kind], item->start_ns, item->end_ns);
        if (item->kind != SET)
            cover(&either, item->start_ns, item->end_ns);
        device->work_ns += item->end_ns - item->start_ns;
        device->kernels += item->kind == COMPUTE;
        device->copies += item->kind == COPY;
        device->sets += item->kind == SET;
    }
    device->last_ns = all.end_ns;
    device->busy_ns = all.total_ns;
    device->idle_ns = device->last_ns - device->first_ns - device->busy_ns;
    device->compute_ns = kinds[COMPUTE].total_ns;
    device->copy_ns = kinds[COPY].total_ns;
    device->set_ns = kinds[SET].total_ns;
    device->overlap_ns = device->compute_ns + device->copy_ns - either.total_ns;
    return count_streams(items, count, &device->streams);
}

/* ---- who ended a gap ---- */

/* The call bears the work's id and stands below its operator. */
static void find_launcher(const struct tp_event_list *list, struct tp_gpu_gap *gap)
{
    int64_t id = list->events[gap->event].id;

    for (uint32_t i = tp_event_list_next(list, 0); id && i < list->count;
         i = tp_event_list_next(list, i + 1)) {
        const struct tp_function_event *event = &list->events[i];
        if (event->id != id || !(event->flags & TP_EVENT_CALL))
            continue;
        gap->call = event->name;
        if (event->parent != TP_NO_EVENT)
            gap->launcher = list->events[event->parent].name;
        return;
    }
}

const char *tp_gpu_gap_ended_by(const struct tp_event_list *list, const struct tp_gpu_gap *gap)
{
    uint32_t who = gap->launcher != TP_STRING_NONE ? gap->launcher : gap->call;

    if (who != TP_STRING_NONE)
        return tp_strings_get(list->strings, who)->bytes;
    return list->events[gap->event].flags & TP_EVENT_NO_LAUNCH ? "(no launch recorded)"
                                                               : "(call not recorded)";
}

int tp_gpu_of_list(struct tp_gpu_report *report, const struct tp_event_list *list, size_t gap_limit)
{
    size_t count = collect(list, NULL);
    struct item *items = malloc((count + 1) * sizeof(*items));
    int error = items ? 0 : -ENOMEM;

    *report = (struct tp_gpu_report){0};
    if (!error) {
        collect(list, items);
        qsort(items, count, sizeof(*items), compare_items);
    }
    for (size_t i = 0, end; !error && i < count; i = end) {
        for (end = i + 1; end < count && !compare_places(&items[i], &items[end]); end++)
            ;
        struct tp_gpu_device *devices =
            realloc(report->devices, (report->count + 1) * sizeof(*devices));
        if (!devices) {
            error = -ENOMEM;
            break;
        }
        report->devices = devices;
        error = sum_device(&devices[report->count++], items + i, end - i, gap_limit);
    }
    for (size_t i = 0; !error && i < report->count; i++) {
        for (size_t k = 0; k < report->devices[i].gap_count; k++)
            find_launcher(list, &report->devices[i].gaps[k]);
    }
    free(items);
    return error;
}
