/* SPDX-License-Identifier: MIT
 * Any bytes as a meta.jsonl: lines to fields, clock readings to a clock that never goes backwards.
 */
#include <string.h>

#include "fuzz_trace.h"
#include "input/tptrace_meta.h"

static void check_clock(const struct tptrace_meta *meta)
{
    struct tp_clock clock;
    size_t cursor = 0;
    int64_t last = INT64_MIN;

    if (tp_clock_fit(&clock, meta->pairs, meta->pair_count, meta->start_ns, 1e9))
        return;
    for (unsigned shift = 64; shift-- > 0;) {
        int64_t ns = tp_clock_ns(&clock, &cursor, UINT64_MAX >> shift);
        FUZZ_CHECK(ns >= last);
        last = ns;
    }
    for (size_t i = 0; i < meta->pair_count; i++)
        tp_clock_ns(&clock, &cursor, meta->pairs[i].ticks);
    tp_clock_fini(&clock);
}

static void check_tracks(const struct tptrace_meta *meta)
{
    for (size_t i = 0; i < meta->track_count; i++) {
        FUZZ_CHECK(!i || meta->tracks[i - 1].track < meta->tracks[i].track);
        FUZZ_CHECK(tptrace_meta_find_track(meta, meta->tracks[i].track) == &meta->tracks[i]);
    }
    for (size_t i = 0; i < meta->source_count; i++)
        FUZZ_CHECK(meta->sources[i].name);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct tptrace_meta meta;
    struct tp_diag diag;

    if (!tptrace_meta_parse(&meta, (const char *)data, size, &diag)) {
        FUZZ_CHECK(meta.damaged_lines <= meta.lines);
        check_tracks(&meta);
        check_clock(&meta);
    }
    tptrace_meta_fini(&meta);
    return 0;
}
