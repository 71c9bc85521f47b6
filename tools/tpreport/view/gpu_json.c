/* SPDX-License-Identifier: MIT
 * What devices did, as one JSON object, and as CSV: a line for each figure. */
#include "view/view.h"

#include <stdio.h>
#include <string.h>

#include "model/gpu.h"
#include "view/csv_line.h"

static void put_name(struct tp_buffer *out, const struct tp_report *report, const char *key,
                     uint32_t id)
{
    tp_buffer_format(out, ", \"%s\": ", key);
    tp_format_json_string(out, report->strings, id);
}

/* The figures of a device by name. */
struct figure {
    const char *name;
    int64_t value;
};

#define FIGURES 15

static void list_figures(const struct tp_gpu_device *d, struct figure figures[FIGURES])
{
    const struct figure all[FIGURES] = {
        {"kernels", (int64_t)d->kernels},
        {"copies", (int64_t)d->copies},
        {"fills", (int64_t)d->sets},
        {"streams", d->streams},
        {"first_ns", d->first_ns},
        {"last_ns", d->last_ns},
        {"span_ns", d->last_ns - d->first_ns},
        {"busy_ns", d->busy_ns},
        {"idle_ns", d->idle_ns},
        {"kernels_ns", d->compute_ns},
        {"copies_ns", d->copy_ns},
        {"fills_ns", d->set_ns},
        {"overlap_ns", d->overlap_ns},
        {"work_ns", d->work_ns},
        {"gaps", 0},
    };

    memcpy(figures, all, sizeof(all));
    for (unsigned i = 0; i < TP_GAP_CLASSES; i++)
        figures[FIGURES - 1].value += (int64_t)d->gap_counts[i];
}

static void put_gaps(struct tp_buffer *out, const struct tp_report *report,
                     const struct tp_gpu_device *device, int64_t limit)
{
    tp_buffer_string(out, ", \"gap_classes\": [");
    for (unsigned i = 0; i < TP_GAP_CLASSES; i++) {
        tp_buffer_string(out, i ? ", {\"below_ns\": " : "{\"below_ns\": ");
        if (i + 1 < TP_GAP_CLASSES)
            tp_buffer_format(out, "%lld", (long long)tp_gap_class_limit(i));
        else
            tp_buffer_string(out, "null");
        tp_buffer_format(out, ", \"count\": %llu, \"total_ns\": %lld}",
                         (unsigned long long)device->gap_counts[i], (long long)device->gap_ns[i]);
    }
    tp_buffer_string(out, "],\n \"longest_gaps\": [");
    for (size_t i = 0; i < device->gap_count && (int64_t)i != limit; i++) {
        const struct tp_gpu_gap *gap = &device->gaps[i];
        tp_buffer_format(out, "%s{\"start_ns\": %lld, \"length_ns\": %lld", i ? ",\n  " : "",
                         (long long)gap->start_ns, (long long)gap->length_ns);
        put_name(out, report, "ended_by", report->list->events[gap->event].name);
        put_name(out, report, "operator", gap->launcher);
        put_name(out, report, "call", gap->call);
        tp_buffer_char(out, '}');
    }
    tp_buffer_char(out, ']');
}

static void put_device(struct tp_buffer *out, const struct tp_report *report,
                       const struct tp_gpu_device *device, int64_t limit)
{
    struct figure figures[FIGURES];

    list_figures(device, figures);
    tp_buffer_format(out, "{\"type\": \"%s\", \"device\": %d, \"node_id\": %d",
                     tp_device_type_name(device->device_type), device->device, device->node_id);
    for (size_t i = 0; i < FIGURES; i++)
        tp_buffer_format(out, ", \"%s\": %lld", figures[i].name, (long long)figures[i].value);
    put_gaps(out, report, device, limit);
    tp_buffer_char(out, '}');
}

static void put_memory(struct tp_buffer *out, const struct tp_report *report,
                       const struct tp_device_memory *memory)
{
    tp_buffer_format(out, "{\"by\": \"%s\", \"devices\": [",
                     tp_device_memory_source_name(memory->sources));
    for (size_t i = 0; i < memory->device_count; i++) {
        const struct tp_memory_device *d = &memory->devices[i];
        tp_buffer_format(out,
                         "%s{\"device\": %d, \"allocations\": %llu, \"frees\": %llu, "
                         "\"unknown_frees\": %llu, \"allocated_bytes\": %lld, \"freed_bytes\": "
                         "%lld, \"peak_bytes\": %lld, \"peak_ns\": %lld, \"live_bytes\": %lld, "
                         "\"curve\": [",
                         i ? ",\n" : "", d->device, (unsigned long long)d->allocations,
                         (unsigned long long)d->frees, (unsigned long long)d->unknown_frees,
                         (long long)d->allocated, (long long)d->freed, (long long)d->peak,
                         (long long)d->peak_ns, (long long)d->live);
        for (size_t k = 0; k < d->curve_count; k++)
            tp_buffer_format(out, "%s[%lld, %lld]", k ? ", " : "", (long long)d->curve[k].ns,
                             (long long)d->curve[k].bytes);
        tp_buffer_string(out, "]}");
    }
    tp_buffer_string(out, "],\n\"live\": [");
    for (size_t i = 0; i < memory->owner_count; i++) {
        const struct tp_memory_owner *owner = &memory->owners[i];
        tp_buffer_format(out, "%s{\"device\": %d, \"blocks\": %llu, \"bytes\": %lld",
                         i ? ",\n" : "", owner->device, (unsigned long long)owner->blocks,
                         (long long)owner->bytes);
        put_name(out, report, "operator", owner->owner);
        tp_buffer_char(out, '}');
    }
    tp_buffer_string(out, "]}");
}

int tp_gpu_write_json(const struct tp_report *report, const struct tp_view_options *options,
                      struct tp_output *output, struct tp_diag *diag)
{
    const struct tp_gpu_report *gpu = report->gpu;
    int64_t limit = tp_view_row_limit(options, -1);
    struct tp_buffer out = {0};

    (void)diag;
    tp_view_put_head(&out, report);
    tp_buffer_string(&out, "\"devices\": [");
    for (size_t i = 0; i < gpu->count; i++) {
        tp_buffer_string(&out, i ? ",\n" : "");
        put_device(&out, report, &gpu->devices[i], limit);
    }
    tp_buffer_string(&out, "],\n\"memory\": ");
    if (gpu->memory && gpu->memory->device_count)
        put_memory(&out, report, gpu->memory);
    else
        tp_buffer_string(&out, "null");
    tp_buffer_string(&out, "}\n");
    tp_output_buffer(output, &out);
    tp_buffer_fini(&out);
    return 0;
}

/* ---- CSV ---- */

static void put_line(struct tp_csv_line *line, const char *section, int device, const char *name,
                     int64_t value)
{
    tp_csv_line_text(line, section);
    tp_csv_line_format(line, "%d", device);
    tp_csv_line_text(line, name);
    tp_csv_line_format(line, "%lld", (long long)value);
    tp_csv_line_end(line);
}

static void put_device_lines(struct tp_csv_line *line, const struct tp_report *report,
                             const struct tp_gpu_device *device, int64_t limit)
{
    struct figure figures[FIGURES];
    char name[48];

    list_figures(device, figures);
    for (size_t i = 0; i < FIGURES; i++)
        put_line(line, "device", device->device, figures[i].name, figures[i].value);
    for (unsigned i = 0; i < TP_GAP_CLASSES; i++) {
        const char *form = i + 1 < TP_GAP_CLASSES ? "below_%lld_ns" : "longer";
        snprintf(name, sizeof(name), form, (long long)tp_gap_class_limit(i));
        put_line(line, "gap_count", device->device, name, (int64_t)device->gap_counts[i]);
        put_line(line, "gap_ns", device->device, name, device->gap_ns[i]);
    }
    for (size_t i = 0; i < device->gap_count && (int64_t)i != limit; i++) {
        const struct tp_gpu_gap *gap = &device->gaps[i];
        put_line(line, "longest_gap_ns", device->device, tp_gpu_gap_ended_by(report->list, gap),
                 gap->length_ns);
    }
}

static void put_memory_lines(struct tp_csv_line *line, const struct tp_report *report,
                             const struct tp_device_memory *memory)
{
    for (size_t i = 0; i < memory->device_count; i++) {
        const struct tp_memory_device *d = &memory->devices[i];
        put_line(line, "memory", d->device, "allocated_bytes", d->allocated);
        put_line(line, "memory", d->device, "freed_bytes", d->freed);
        put_line(line, "memory", d->device, "peak_bytes", d->peak);
        put_line(line, "memory", d->device, "peak_ns", d->peak_ns);
        put_line(line, "memory", d->device, "live_bytes", d->live);
    }
    for (size_t i = 0; i < memory->owner_count; i++) {
        const struct tp_memory_owner *owner = &memory->owners[i];
        put_line(line, "live_bytes", owner->device,
                 tp_strings_get(report->strings, owner->owner)->bytes, owner->bytes);
    }
}

int tp_gpu_write_csv(const struct tp_report *report, const struct tp_view_options *options,
                     struct tp_output *output, struct tp_diag *diag)
{
    const struct tp_gpu_report *gpu = report->gpu;
    int64_t limit = tp_view_row_limit(options, -1);
    struct tp_csv_line line = {.output = output, .end = "\r\n"};

    (void)diag;
    tp_csv_line_text(&line, "section");
    tp_csv_line_text(&line, "device");
    tp_csv_line_text(&line, "name");
    tp_csv_line_text(&line, "value");
    tp_csv_line_end(&line);
    for (size_t i = 0; i < gpu->count; i++)
        put_device_lines(&line, report, &gpu->devices[i], limit);
    if (gpu->memory)
        put_memory_lines(&line, report, gpu->memory);
    tp_csv_line_fini(&line);
    return 0;
}
