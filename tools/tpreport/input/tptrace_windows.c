/* SPDX-License-Identifier: MIT */
#include "input/tptrace_windows.h"

#include <inttypes.h>
#include <string.h>

#include "input/tptrace.h"
#include "model/python_text.h"

#define WINDOWS_SHOWN 4

/* Walks over the windows of a process whose turns have lines. */
struct walk {
    const struct tptrace_process *process;
    int64_t begin_ns, end_ns; /* of the process */
    size_t next, cursor;
};

struct window {
    int64_t start_ns, end_ns;
};

static struct walk walk_of(const struct tptrace_member *member)
{
    const struct tptrace_process *p = &member->process;
    struct walk walk = {.process = p, .begin_ns = member->start_ns, .end_ns = p->read_ns};
    size_t cursor = 0;

    if (p->state != TPTRACE_RUNNING)
        walk.end_ns =
            tp_clock_ns(&p->clock, &cursor, p->meta.end_ticks ? p->meta.end_ticks : p->last_ticks);
    if (walk.end_ns < walk.begin_ns)
        walk.end_ns = walk.begin_ns;
    return walk;
}

static int64_t time_of(struct walk *walk, uint64_t ticks)
{
    int64_t ns = tp_clock_ns(&walk->process->clock, &walk->cursor, ticks);

    return ns < walk->begin_ns ? walk->begin_ns : ns > walk->end_ns ? walk->end_ns : ns;
}

static bool next_window(struct walk *walk, struct window *ret)
{
    const struct tptrace_meta *meta = &walk->process->meta;

    while (walk->next < meta->turn_count && !meta->turns[walk->next].is_open)
        walk->next++;
    if (walk->next >= meta->turn_count)
        return false;
    ret->start_ns = time_of(walk, meta->turns[walk->next++].ticks);
    ret->end_ns =
        walk->next < meta->turn_count ? time_of(walk, meta->turns[walk->next].ticks) : walk->end_ns;
    return true;
}

struct sum {
    uint64_t count;
    int64_t open_ns, of_ns;
};

/* Of windows that have no lines the process's own sums tell. */
static struct sum sum_of(const struct tptrace_member *member)
{
    const struct tptrace_meta *meta = &member->process.meta;
    struct walk walk = walk_of(member);
    struct sum sum = {.of_ns = walk.end_ns - walk.begin_ns};
    struct window window;

    while (next_window(&walk, &window)) {
        sum.count++;
        sum.open_ns += window.end_ns - window.start_ns;
    }
    if (meta->turns_left_out && member->process.clock.ticks_per_second > 0) {
        sum.count = meta->window_count;
        sum.open_ns =
            (int64_t)((double)meta->open_ticks / member->process.clock.ticks_per_second * 1e9);
    }
    return sum;
}

void tptrace_windows_line(struct tp_buffer *out, const struct tptrace_member *member)
{
    const struct tptrace_meta *meta = &member->process.meta;
    struct sum sum = sum_of(member);

    if (!sum.count) {
        tp_buffer_format(out, "the capture window (%.300s) never opened", meta->capture_plan);
        return;
    }
    tp_buffer_format(out, "recorded in %" PRIu64 " capture window%s (%.300s): ", sum.count,
                     sum.count == 1 ? "" : "s", meta->capture_plan);
    tptrace_duration(out, sum.open_ns);
    tp_buffer_string(out, " of ");
    tptrace_duration(out, sum.of_ns);
}

void tptrace_windows_text(struct tp_buffer *out, const struct tptrace_member *member)
{
    struct walk walk = walk_of(member);
    struct window window;

    tptrace_windows_line(out, member);
    for (unsigned i = 0; next_window(&walk, &window); i++) {
        if (i == WINDOWS_SHOWN) {
            tp_buffer_string(out, ", ...");
            break;
        }
        tp_buffer_string(out, i ? ", " : "; from ");
        tptrace_duration(out, window.start_ns - walk.begin_ns);
        tp_buffer_string(out, " to ");
        tptrace_duration(out, window.end_ns - walk.begin_ns);
    }
}

void tptrace_windows_json(struct tp_buffer *out, const struct tptrace_member *member, bool all)
{
    const struct tptrace_meta *meta = &member->process.meta;
    struct walk walk = walk_of(member);
    struct sum sum = sum_of(member);
    struct window window;

    tp_buffer_string(out, "{\"plan\": ");
    tp_json_string(out, meta->capture_plan, strlen(meta->capture_plan));
    tp_buffer_format(out, ", \"count\": %" PRIu64 ", \"open_ns\": %" PRId64 ", \"of_ns\": %" PRId64,
                     sum.count, sum.open_ns, sum.of_ns);
    if (all) {
        tp_buffer_format(out, ", \"turns_left_out\": %" PRIu64 ", \"windows\": [",
                         meta->turns_left_out);
        for (unsigned i = 0; next_window(&walk, &window); i++)
            tp_buffer_format(out, "%s{\"start_ns\": %" PRId64 ", \"end_ns\": %" PRId64 "}",
                             i ? ", " : "", window.start_ns, window.end_ns);
        tp_buffer_char(out, ']');
    }
    tp_buffer_char(out, '}');
}
