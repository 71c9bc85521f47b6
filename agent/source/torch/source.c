/* SPDX-License-Identifier: MIT */
/* The row of sources.def: what the agent calls, and what the manifest says of it. */
#include <stdatomic.h>
#include <string.h>

#include "base/text.h"
#include "guard.h"
#include "log.h"
#include "own_thread.h"
#include "real.h"
#include "source/torch/layout.h"
#include "source/torch/torch.h"
#include "sources.h"

static char why[512];
static struct tp_torch_report told;

static void put_missing(struct tp_text *text, uint32_t missing)
{
    tp_text_string(text, "; not found:");
    for (unsigned bit = 0; tp_torch_layout_field(bit); bit++)
        if (missing >> bit & 1)
            tp_text_format(text, " %s", tp_torch_layout_field(bit));
}

static bool same(const struct tp_torch_report *a, const struct tp_torch_report *b)
{
    return a->state == b->state && a->missing == b->missing && a->reason == b->reason &&
           a->without_details == b->without_details && a->ended_elsewhere == b->ended_elsewhere &&
           a->too_deep == b->too_deep;
}

/* A new text only where something changed: who reads the old one meanwhile sees a mixture at worst.
 */
static void tell(void)
{
    struct tp_torch_report report;
    struct tp_text text;

    tp_torch_report(&report);
    if (report.state <= TP_TORCH_WAITING || same(&report, &told))
        return;
    told = report;
    tp_text_init(&text, why, sizeof(why));
    if (report.state == TP_TORCH_ABSENT)
        tp_text_string(&text, "this torch has no RecordFunction to register with");
    else if (report.state == TP_TORCH_FULL)
        tp_text_format(&text, "torch %s", report.version);
    else
        tp_text_string(&text, "names and times only");
    if (report.reason)
        tp_text_format(&text, "; %s", report.reason);
    if (report.missing && report.state != TP_TORCH_ABSENT)
        put_missing(&text, report.missing);
    if (report.without_details)
        tp_text_format(&text, "; %llu operators before calibration have no details",
                       (unsigned long long)report.without_details);
    if (report.ended_elsewhere)
        tp_text_format(&text, "; %llu operators ended out of order or on another thread",
                       (unsigned long long)report.ended_elsewhere);
    if (report.too_deep)
        tp_text_format(&text, "; %llu operators nested too deeply to be recorded",
                       (unsigned long long)report.too_deep);
    tp_source_say(TP_SOURCE_TORCH,
                  report.state == TP_TORCH_ABSENT ? TP_SOURCE_FAILED : TP_SOURCE_STARTED, why);
}

struct work {
    void *(*run)(void *);
    void *argument;
    _Atomic bool taken;
};

static void *work_apart(void *argument)
{
    struct work *work = argument;
    void *(*run)(void *) = work->run;
    void *with = work->argument;

    atomic_store(&work->taken, true);
    tp_tls.ours = 1;
    return run(with);
}

/* Only the drain asks, one at a time; a thread that has not begun yet keeps its work. */
static bool make_thread(void *(*run)(void *), void *argument)
{
    static struct work work = {.taken = true};

    if (!atomic_load(&work.taken))
        return false;
    work.run = run;
    work.argument = argument;
    atomic_store(&work.taken, false);
    if (tp_own_thread_make(tp_real.pthread_create, 0, work_apart, &work) == 0)
        return true;
    atomic_store(&work.taken, true);
    return false;
}

static int start(const struct tp_config *config, const char **ret_why)
{
    const struct tp_torch_options options = {
        .shapes = (enum tp_torch_shapes)config->shapes,
        .make_thread = make_thread,
    };

    if (tp_torch_start(&options) < 0)
        *ret_why = "no memory for the threads' caches: slower";
    return 0;
}

static void tick(void)
{
    tp_torch_poll();
    tell();
}

static void stop(void)
{
    tp_torch_stop();
    tell();
}

const struct tp_source tp_source_torch = {
    .start = start,
    .tick = tick,
    .fork_child = tp_torch_fork_child,
    .stop = stop,
};
