/* SPDX-License-Identifier: MIT
 * Any bytes as the payload of a running summary behind good headers, or (first byte even) as the
 * whole file. What can be read goes on in streams, as in a report.
 */
#include <string.h>

#include "fuzz_trace.h"
#include "input/tptrace_summary.h"

static const struct tp_stream_name *one_name(void *context, uint32_t id)
{
    static const struct tp_stream_name name = {.name = 1};

    (void)context;
    (void)id;
    return &name;
}

static int take_range(void *context, const struct tp_stream_range *range)
{
    (void)context;
    FUZZ_CHECK(range->end_ns >= range->start_ns);
    return 0;
}

static void check_rows(const struct tp_summary *summary)
{
    for (uint32_t i = 0; i < summary->row_count; i++) {
        const struct tp_summary_row *row = &summary->rows[i];
        uint64_t count = 0;
        FUZZ_CHECK(tp_kind_slots(tp_slot_kind(row->record)));
        for (uint32_t b = 0; b < row->bucket_count; b++) {
            FUZZ_CHECK(row->buckets[b].bucket < TP_SKETCH_BUCKETS);
            FUZZ_CHECK(!b || row->buckets[b].bucket > row->buckets[b - 1].bucket);
            count += row->buckets[b].count;
        }
        FUZZ_CHECK(count <= row->sums.count);
    }
}

static void check_launches(const struct tp_summary *summary)
{
    for (uint32_t i = 0; i < summary->path_count; i++) {
        const struct tp_summary_path *path = &summary->paths[i];
        if (path->of == TP_SUMMARY_ENDED) {
            FUZZ_CHECK(path->parent <= i && path->row && path->row <= summary->row_count);
            continue;
        }
        FUZZ_CHECK(path->track < summary->track_count &&
                   path->frame < summary->tracks[path->track].frame_count);
    }
    for (uint32_t i = 0; i < summary->call_count; i++)
        FUZZ_CHECK(summary->calls[i].path <= summary->path_count);
}

static void go_on(const struct tptrace_summary *summary)
{
    static const struct tp_stream_names names = {.unknown = one_name};
    struct tp_clock_pair pair = {.ticks = 1, .monotonic_ns = 1};
    struct tp_clock clock;

    if (tp_clock_fit(&clock, &pair, 1, 0, 1e9))
        return;
    for (uint32_t i = 0; i < summary->file.track_count; i++) {
        struct tp_stream_config config = {
            .clock = &clock, .names = &names, .fold = true, .range = take_range};
        struct tp_stream stream;
        tp_stream_init(&stream, &config, 1);
        if (!tptrace_summary_adopt(summary, &summary->file.tracks[i], &clock, NULL, &stream))
            tp_stream_finish(&stream, stream.ticks);
        tp_stream_fini(&stream);
    }
    tp_clock_fini(&clock);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const uint8_t uuid[16] = {1, 2, 3, 4};
    static const struct tp_summary_totals totals = {.first_segment = 3};
    struct tptrace_summary summary = {0};
    struct tp_diag diag;

    if (size < 1 || size > 1 << 20)
        return 0;
    uint8_t *bytes = malloc(TP_SUMMARY_HEAD_BYTES + size + 8);
    size_t total = size - 1;
    if (data[0] & 1) {
        memcpy(bytes + TP_SUMMARY_HEAD_BYTES, data + 1, size - 1);
        total = tp_summary_seal(bytes, size - 1, uuid, &totals);
    } else {
        memcpy(bytes, data + 1, size - 1);
    }
    if (!tp_summary_read(&summary.file, bytes, total, NULL, &diag)) {
        check_rows(&summary.file);
        check_launches(&summary.file);
        go_on(&summary);
    }
    tptrace_summary_close(&summary);
    free(bytes);
    return 0;
}
