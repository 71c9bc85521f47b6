/* SPDX-License-Identifier: MIT */
/* The row of sources.def: what the agent calls, and what the manifest says of it. */
#include <string.h>

#include "base/text.h"
#include "log.h"
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
           a->without_details == b->without_details && a->ended_elsewhere == b->ended_elsewhere;
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
        tp_text_format(&text, "; %llu operators ended on another thread",
                       (unsigned long long)report.ended_elsewhere);
    tp_source_say(TP_SOURCE_TORCH,
                  report.state == TP_TORCH_ABSENT ? TP_SOURCE_FAILED : TP_SOURCE_STARTED, why);
}

static int start(const struct tp_config *config, const char **ret_why)
{
    const struct tp_torch_options options = {.shapes = (enum tp_torch_shapes)config->shapes};

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
