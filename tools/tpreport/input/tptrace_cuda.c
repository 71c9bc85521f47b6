/* SPDX-License-Identifier: MIT */
#include "input/tptrace_cuda.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LENGTH_MAX (UINT64_C(1) << 55) /* ns, a year: nothing takes as long */
#define STEP_MIN 10000000u             /* ns, beside a thousandth: no mere adjustment does it */
#define BYTES_MAX (UINT64_C(1) << 44)  /* of one allocation */

/* ---- times ---- */

/* CUPTI's own clock is real time where nothing else is said, and so are the times of a run. */
static int fit_untied(struct tptrace_cuda_clock *clock)
{
    struct tp_clock_pair pair = {.ticks = UINT64_C(1) << 60};

    return tp_clock_fit(&clock->cupti, &pair, 1, INT64_C(1) << 60, 1e9);
}

/* @pairs: in the order in which they were read */
static int64_t largest_step(const struct tp_clock_pair *pairs, size_t count)
{
    int64_t largest = 0;

    for (size_t i = 1; i < count; i++) {
        uint64_t ours_ns = (uint64_t)pairs[i].monotonic_ns - (uint64_t)pairs[i - 1].monotonic_ns;
        int64_t step_ns = (int64_t)(pairs[i].ticks - pairs[i - 1].ticks - ours_ns);
        uint64_t size = step_ns < 0 ? -(uint64_t)step_ns : (uint64_t)step_ns;
        if (size >= STEP_MIN + ours_ns / 1000 && size > (uint64_t)llabs(largest))
            largest = step_ns > -INT64_MAX ? step_ns : -INT64_MAX;
    }
    return largest;
}

int tptrace_cuda_clock_fit(struct tptrace_cuda_clock *clock, const struct tptrace_meta_cuda *meta,
                           const struct tp_clock *process)
{
    size_t cursor = 0;

    *clock = (struct tptrace_cuda_clock){.process = process, .is_tied = true};
    clock->in_ticks = !meta->clock || strcmp(meta->clock, "cupti") != 0;
    if (clock->in_ticks)
        return 0;
    clock->is_tied = meta->pair_count > 0;
    if (!clock->is_tied)
        return fit_untied(clock);
    struct tp_clock_pair *pairs = calloc(meta->pair_count, sizeof(*pairs));
    if (!pairs)
        return -ENOMEM;
    int64_t base_ns = tp_clock_ns(process, &cursor, meta->pairs[0].ticks);
    double ns_per_tick = 1e9 / process->ticks_per_second;
    for (size_t i = 0; i < meta->pair_count; i++)
        pairs[i] = (struct tp_clock_pair){
            .ticks = meta->pairs[i].cupti_ns,
            .monotonic_ns = tp_clock_ns(process, &cursor, meta->pairs[i].ticks) - base_ns,
            .width = (uint64_t)((double)(meta->pairs[i].width >> 1) * ns_per_tick * 2),
        };
    clock->step_ns = largest_step(pairs, meta->pair_count);
    int error = tp_clock_fit(&clock->cupti, pairs, meta->pair_count, base_ns, 1e9);
    free(pairs);
    return error;
}

void tptrace_cuda_clock_fini(struct tptrace_cuda_clock *clock)
{
    if (clock->cupti.pieces)
        tp_clock_fini(&clock->cupti);
    *clock = (struct tptrace_cuda_clock){0};
}

int64_t tptrace_cuda_ns(const struct tptrace_cuda_clock *clock, struct tptrace_cuda_cursor *cursor,
                        uint64_t time)
{
    return clock->in_ticks ? tp_clock_ns(clock->process, &cursor->process, time)
                           : tp_clock_ns(&clock->cupti, &cursor->cupti, time);
}

static void set_times(struct tptrace_activity *a, const uint64_t *record,
                      const struct tptrace_cuda_clock *clock, struct tptrace_cuda_cursor *cursor)
{
    uint64_t start = record[4], end = record[5];

    a->start = start;
    a->end = end;
    a->has_time = start && end >= start;
    if (!a->has_time) {
        a->start_ns = a->end_ns = start ? tptrace_cuda_ns(clock, cursor, start) : INT64_MIN;
        return;
    }
    a->start_ns = tptrace_cuda_ns(clock, cursor, start);
    if (clock->in_ticks)
        a->end_ns = tp_clock_ns(clock->process, &cursor->process, end);
    else /* lengths are CUPTI's own */
        a->end_ns = end - start < LENGTH_MAX ? a->start_ns + (int64_t)(end - start) : INT64_MAX;
    a->has_time = (uint64_t)(a->end_ns - a->start_ns) < LENGTH_MAX;
    if (!a->has_time)
        a->end_ns = a->start_ns;
}

/* ---- names ---- */

static const char *memory_name(unsigned kind)
{
    static const char *const names[] = {"Unknown", "Pageable", "Pinned",        "Device",
                                        "Array",   "Managed",  "Device Static", "Managed Static"};

    return kind < sizeof(names) / sizeof(names[0]) ? names[kind] : names[0];
}

static const char *copy_name(unsigned kind)
{
    static const char *const names[] = {"<unknown>", "HtoD", "DtoH", "HtoA", "AtoH", "AtoA",
                                        "AtoD",      "DtoA", "DtoD", "HtoH", "PtoP"};

    return kind < sizeof(names) / sizeof(names[0]) ? names[kind] : names[0];
}

static const char *sync_name(unsigned type)
{
    static const char *const names[] = {"Unknown Sync", "Event Sync", "Stream Wait Event",
                                        "Stream Sync", "Context Sync"};

    return type < sizeof(names) / sizeof(names[0]) ? names[type] : names[0];
}

static const char *overhead_name(uint32_t type)
{
    static const char *const names[] = {"",
                                        "Buffer Flush",
                                        "Instrumentation",
                                        "Resource",
                                        "Runtime Triggered Module Loading",
                                        "Lazy Function Loading",
                                        "Command Buffer Full",
                                        "Activity Buffer Request",
                                        "UVM Activity Init"};
    uint32_t number = type >> 16;

    if (type == 1)
        return "Driver Compiler";
    return !(type & 0xffff) && number && number < sizeof(names) / sizeof(names[0])
               ? names[number]
               : "Unknown Overhead";
}

static void write_name(char *text, size_t size, unsigned kind, uint64_t key)
{
    uint32_t word = (uint32_t)key;

    switch (kind) {
    case TP_EVENT_GPU_MEMCPY:
        snprintf(text, size, "Memcpy %s (%s -> %s)", copy_name(word & 0xff),
                 memory_name(word >> 8 & 0xff), memory_name(word >> 16 & 0xff));
        break;
    case TP_EVENT_GPU_MEMSET:
        snprintf(text, size, "Memset (%s)", memory_name(word));
        break;
    case TP_EVENT_GPU_GRAPH:
        snprintf(text, size, "CUDA graph %u", word);
        break;
    case TP_EVENT_CUDA_SYNC:
        snprintf(text, size, "%s", sync_name(word));
        break;
    default:
        snprintf(text, size, "%s", overhead_name(word));
        break;
    }
}

static const struct tp_stream_name *make_name(struct tptrace_activity_names *made,
                                              struct tptrace_names *names, unsigned kind,
                                              uint32_t what)
{
    uint64_t key = (uint64_t)kind << 32 | what;
    size_t slot = key * UINT64_C(0x9e3779b97f4a7c15) >> 58;
    char text[80];

    if (made->items[slot].key != key) {
        write_name(text, sizeof(text), kind, key);
        made->items[slot].name = tptrace_names_text(names, text);
        made->items[slot].key = key;
    }
    return made->items[slot].name;
}

/* ---- activities ---- */

static void set_place(struct tptrace_activity *a, const uint64_t *record)
{
    a->stream = (uint32_t)record[7];
    a->context = (uint32_t)(record[7] >> 32);
    a->device = (uint16_t)(record[9] >> 32);
    a->has_stream = true;
}

static void set_graph(struct tptrace_activity *a, const uint64_t *record)
{
    a->graph_node = record[8];
    a->graph = (uint32_t)record[9];
}

void tptrace_activity_read(struct tptrace_activity *a, const uint64_t *record,
                           const struct tptrace_cuda_clock *clock,
                           struct tptrace_cuda_cursor *cursor, struct tptrace_names *names,
                           struct tptrace_activity_names *made,
                           const struct tptrace_meta_cuda *meta)
{
    unsigned kind = tp_slot_kind(record);
    uint32_t argument = tp_slot_argument(record);

    *a = (struct tptrace_activity){.kind = (uint8_t)kind, .correlation = (uint32_t)record[6]};
    set_times(a, record, clock, cursor);
    switch (kind) {
    case TP_EVENT_CUDA_API:
        a->name = tptrace_names_call(names, argument);
        a->thread = (uint32_t)(record[6] >> 32);
        a->result = (uint32_t)record[7];
        a->is_driver = (record[7] >> 32 & 0xff) == 1;
        return;
    case TP_EVENT_GPU_KERNEL:
        a->name = tptrace_names_plain(names, argument);
        a->geometry = (uint32_t)(record[6] >> 32);
        set_place(a, record);
        set_graph(a, record);
        return;
    case TP_EVENT_GPU_MEMCPY:
        a->name = make_name(made, names, kind, argument & 0xffffff);
        a->bytes = record[10];
        set_place(a, record);
        set_graph(a, record);
        return;
    case TP_EVENT_GPU_MEMSET:
        a->name = make_name(made, names, kind, (uint32_t)(record[6] >> 32) & 0xff);
        a->bytes = record[10];
        set_place(a, record);
        set_graph(a, record);
        return;
    case TP_EVENT_GPU_GRAPH:
        a->name = make_name(made, names, kind, argument);
        a->graph = argument;
        set_place(a, record);
        return;
    case TP_EVENT_CUDA_SYNC:
        a->name = make_name(made, names, kind, argument & 0xff);
        a->has_stream = (uint32_t)record[7] != 0;
        a->stream = (uint32_t)record[7] - a->has_stream;
        a->context = (uint32_t)(record[7] >> 32);
        a->device = (uint16_t)tptrace_cuda_device_of(meta, a->context);
        return;
    default: /* CUDA_OVERHEAD */
        a->name = make_name(made, names, kind, argument);
        a->thread = (uint32_t)(record[6] >> 32);
        return;
    }
}

bool tptrace_cuda_occupancy(const struct tptrace_meta_cuda *meta, uint32_t device,
                            const struct tp_geometry *geometry, struct tp_occupancy *ret)
{
    const struct tptrace_cuda_device *found = tptrace_cuda_find_device(meta, device);
    struct tp_device_limits limits;

    return found && tp_device_limits_find(&limits, found->major, found->minor, found->sms) &&
           tp_occupancy_estimate(geometry, &limits, ret);
}

/* ---- memory ---- */

enum { KIND_PAGEABLE = 1, KIND_PINNED = 2 };

void tptrace_cuda_memory_read(struct tptrace_cuda_memory *memory, const uint64_t *record)
{
    uint32_t argument = tp_slot_argument(record);
    int64_t signed_bytes = (int64_t)record[5];

    if (tp_slot_kind(record) == TP_EVENT_MEMORY) {
        *memory = (struct tptrace_cuda_memory){
            .address = record[4],
            .bytes = signed_bytes < 0 ? -(uint64_t)signed_bytes : (uint64_t)signed_bytes,
            .device = (uint16_t)(argument >> 16),
            .flags = TPTRACE_MEMORY_HERE,
            .is_free = signed_bytes < 0,
            .is_framework = true,
            .is_device = true,
        };
        if (memory->bytes > BYTES_MAX)
            memory->bytes = 0;
        return;
    }
    *memory = (struct tptrace_cuda_memory){
        .address = record[5],
        .bytes = record[8],
        .time = record[4],
        .correlation = (uint32_t)record[6],
        .context = (uint32_t)(record[7] >> 32),
        .device = (uint16_t)(record[6] >> 32),
        .memory_kind = (uint8_t)(argument >> 8),
        .flags = (uint8_t)(argument >> 24),
        .is_free = (argument & 0xff) == 2,
    };
    memory->is_device = memory->memory_kind != KIND_PAGEABLE && memory->memory_kind != KIND_PINNED;
    if (memory->flags & TPTRACE_MEMORY_NO_SIZE || memory->bytes > BYTES_MAX)
        memory->bytes = 0;
}
