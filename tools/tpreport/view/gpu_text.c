/* SPDX-License-Identifier: MIT
 * What devices did, for people. */
#include "view/view.h"

#include "base/text.h"
#include "model/gpu.h"

enum { LABEL_WIDTH = 24, VALUE_WIDTH = 12, DEFAULT_ROWS = 10 };

struct gpu_text {
    const struct tp_report *report;
    const struct tp_view_options *options;
    struct tp_buffer out, cell;
};

static void put_cell(struct gpu_text *t, size_t width)
{
    for (size_t length = tp_utf8_length(t->cell.bytes, t->cell.size); length < width; length++)
        tp_buffer_char(&t->out, ' ');
    tp_buffer_bytes(&t->out, t->cell.bytes, t->cell.size);
    tp_buffer_reset(&t->cell);
}

static void put_time(struct gpu_text *t, int64_t ns)
{
    tp_format_time(&t->cell, tp_number_real((double)ns / 1000.0), t->options->time_unit);
    put_cell(t, VALUE_WIDTH);
}

static void put_bytes(struct gpu_text *t, int64_t bytes)
{
    tp_format_memory(&t->cell, tp_number_integer(bytes));
    put_cell(t, VALUE_WIDTH);
}

static void put_name(struct gpu_text *t, uint32_t id, const char *none)
{
    const struct tp_string *name = tp_strings_get(t->report->strings, id);
    size_t limit = t->options->max_name_width;

    if (id == TP_STRING_NONE) {
        tp_buffer_string(&t->out, none);
        return;
    }
    tp_format_display(&t->cell, name);
    if (limit && (size_t)tp_utf8_length(t->cell.bytes, t->cell.size) > limit) {
        t->cell.size = tp_format_prefix(t->cell.bytes, t->cell.size, limit > 3 ? limit - 3 : 0);
        tp_buffer_string(&t->cell, "...");
    }
    put_cell(t, 0);
}

static void put_label(struct gpu_text *t, const char *label)
{
    tp_buffer_format(&t->out, "  %-*s", LABEL_WIDTH, label);
}

/* A time and its share. */
static void put_part(struct gpu_text *t, const char *label, int64_t ns, int64_t of_ns)
{
    put_label(t, label);
    put_time(t, ns);
    if (of_ns > 0)
        tp_buffer_format(&t->out, "  %6.2f%%", (double)ns * 100.0 / (double)of_ns);
    tp_buffer_char(&t->out, '\n');
}

static void put_gaps(struct gpu_text *t, const struct tp_gpu_device *device)
{
    static const char *const labels[TP_GAP_CLASSES] = {"gaps below 1 us", "1 us to 10 us",
                                                       "10 us to 100 us", "100 us to 1 ms",
                                                       "1 ms to 10 ms",   "10 ms and longer"};

    for (unsigned i = 0; i < TP_GAP_CLASSES; i++) {
        if (!device->gap_counts[i])
            continue;
        put_label(t, labels[i]);
        put_time(t, device->gap_ns[i]);
        tp_buffer_format(&t->out, "  in %llu\n", (unsigned long long)device->gap_counts[i]);
    }
}

static void put_longest(struct gpu_text *t, const struct tp_gpu_device *device)
{
    const struct tp_event_list *list = t->report->list;
    int64_t limit = tp_view_row_limit(t->options, DEFAULT_ROWS);

    if (device->gap_count && limit)
        tp_buffer_string(&t->out,
                         "  longest gaps: from, length, ended by, which was launched by\n");
    for (size_t i = 0; i < device->gap_count && (int64_t)i != limit; i++) {
        const struct tp_gpu_gap *gap = &device->gaps[i];
        tp_buffer_string(&t->out, "    ");
        put_time(t, gap->start_ns);
        tp_buffer_string(&t->out, "  ");
        put_time(t, gap->length_ns);
        tp_buffer_string(&t->out, "  ");
        put_name(t, list->events[gap->event].name, "");
        tp_buffer_string(&t->out, ", ");
        if (gap->launcher != TP_STRING_NONE)
            put_name(t, gap->launcher, "");
        else if (gap->call != TP_STRING_NONE)
            put_name(t, gap->call, "");
        else
            tp_buffer_string(&t->out, tp_gpu_gap_ended_by(list, gap));
        tp_buffer_char(&t->out, '\n');
    }
}

static void put_device(struct gpu_text *t, const struct tp_gpu_device *device)
{
    int64_t span_ns = device->last_ns - device->first_ns;

    tp_buffer_format(&t->out, "%s %d", tp_device_type_name(device->device_type), device->device);
    if (device->node_id != -1)
        tp_buffer_format(&t->out, " of node %d", device->node_id);
    tp_buffer_string(&t->out, ": ");
    tp_buffer_count(&t->out, device->kernels, "kernel{|s}, ");
    tp_buffer_count(&t->out, device->copies, "cop{y|ies}, ");
    tp_buffer_count(&t->out, device->sets, "fill{|s} on ");
    tp_buffer_count(&t->out, device->streams, "stream{|s}\n");
    put_part(t, "first to last work", span_ns, 0);
    put_part(t, "busy", device->busy_ns, span_ns);
    put_part(t, "idle", device->idle_ns, span_ns);
    put_part(t, "kernels", device->compute_ns, span_ns);
    put_part(t, "copies", device->copy_ns, span_ns);
    put_part(t, "copies beside kernels", device->overlap_ns, device->copy_ns);
    put_part(t, "fills", device->set_ns, span_ns);
    put_part(t, "work of all streams", device->work_ns, span_ns);
    put_gaps(t, device);
    put_longest(t, device);
}

static const char *tell_source(unsigned sources)
{
    switch (sources) {
    case TP_MEMORY_FRAMEWORK:
        return "the framework's allocator";
    case TP_MEMORY_CUDA:
        return "cudaMalloc and its like";
    case TP_MEMORY_SEGMENTS:
        return "cudaMalloc and its like: segments, which the framework's allocator divides";
    default:
        return "the framework's allocator, else by cudaMalloc and its like";
    }
}

static void put_memory(struct gpu_text *t, const struct tp_device_memory *memory)
{
    for (size_t i = 0; i < memory->device_count; i++) {
        const struct tp_memory_device *device = &memory->devices[i];
        tp_buffer_format(&t->out, "Memory of device %d, by %s\n", device->device,
                         tell_source(memory->sources));
        put_label(t, "allocated");
        put_bytes(t, device->allocated);
        tp_buffer_format(&t->out, "  in %llu\n", (unsigned long long)device->allocations);
        put_label(t, "freed");
        put_bytes(t, device->freed);
        tp_buffer_format(&t->out, "  in %llu\n", (unsigned long long)device->frees);
        if (device->unknown_frees) {
            put_label(t, "frees of unknown blocks");
            tp_buffer_format(&t->cell, "%llu", (unsigned long long)device->unknown_frees);
            put_cell(t, VALUE_WIDTH);
            tp_buffer_char(&t->out, '\n');
        }
        put_label(t, "most at once");
        put_bytes(t, device->peak);
        tp_buffer_string(&t->out, "  at");
        put_time(t, device->peak_ns);
        tp_buffer_char(&t->out, '\n');
        put_label(t, "live at the end");
        put_bytes(t, device->live);
        tp_buffer_char(&t->out, '\n');
        for (size_t k = 0; k < memory->owner_count; k++) {
            const struct tp_memory_owner *owner = &memory->owners[k];
            if (owner->device != device->device)
                continue;
            tp_buffer_string(&t->out, "    ");
            put_bytes(t, owner->bytes);
            tp_buffer_format(&t->out, "  in %llu  ", (unsigned long long)owner->blocks);
            put_name(t, owner->owner, "(outside of all ranges)");
            tp_buffer_char(&t->out, '\n');
        }
    }
}

int tp_gpu_write_text(const struct tp_report *report, const struct tp_view_options *options,
                      struct tp_output *output, struct tp_diag *diag)
{
    struct gpu_text t = {.report = report, .options = options};
    const struct tp_gpu_report *gpu = report->gpu;

    (void)diag;
    for (size_t i = 0; i < gpu->count; i++)
        put_device(&t, &gpu->devices[i]);
    if (!gpu->count)
        tp_buffer_string(&t.out, "no work of any device\n");
    if (gpu->memory)
        put_memory(&t, gpu->memory);
    tp_output_buffer(output, &t.out);
    tp_buffer_fini(&t.out);
    tp_buffer_fini(&t.cell);
    return 0;
}
