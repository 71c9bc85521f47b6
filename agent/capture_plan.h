/* SPDX-License-Identifier: MIT */
#ifndef TP_AGENT_CAPTURE_PLAN_H
#define TP_AGENT_CAPTURE_PLAN_H

/*
 * What the variables of the capture window say: TPAGENT_CAPTURE, TPAGENT_DELAY, TPAGENT_DURATION,
 * TPAGENT_SCHEDULE. Texts to values and back. Context of all: any; no allocation.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TP_CAPTURE_NAME_MAX 256u

enum tp_capture_by {
    TP_CAPTURE_ALWAYS,
    TP_CAPTURE_RANGE,
    TP_CAPTURE_CUDA_PROFILER_API,
    TP_CAPTURE_SIGNAL
};

struct tp_capture_by_what {
    uint8_t by;                     /* enum tp_capture_by */
    uint8_t signal;                 /* of `signal` */
    char name[TP_CAPTURE_NAME_MAX]; /* of `range`; with '*' at its end: what names begin with */
};

/* Steps, as torch.profiler.schedule counts them; active is 0 where there is no schedule. */
struct tp_schedule {
    uint32_t wait, warmup, active, repeat, skip_first;
};

struct tp_text;

/** tp_capture_by_parse - "always", "range:NAME", "cuda-profiler-api", "signal:NAME". Return: false:
 * none of them; *ret is then unchanged. */
bool tp_capture_by_parse(const char *text, struct tp_capture_by_what *ret);
void tp_capture_by_text(const struct tp_capture_by_what *what, struct tp_text *text);

/** tp_capture_signal_parse - USR1, USR2, RTMIN+n, RTMAX-n, with or without SIG, or a number that is
 * one of them. Return: 0 for any other signal. */
int tp_capture_signal_parse(const char *text);

/** tp_time_parse - "250us", "500ms", "10s", "2m", "1h"; without a unit: seconds. Return: false:
 * none, or beyond 292 years. */
bool tp_time_parse(const char *text, uint64_t *ret_ns);
void tp_time_text(uint64_t ns, struct tp_text *text);

/** tp_schedule_parse - "wait,warmup,active[,repeat[,skip_first]]", active at least 1; empty: none
 */
bool tp_schedule_parse(const char *text, struct tp_schedule *ret);
void tp_schedule_text(const struct tp_schedule *schedule, struct tp_text *text);

/** tp_schedule_is_active - whether step @step, from 0, is to be recorded */
bool tp_schedule_is_active(const struct tp_schedule *schedule, uint32_t step);

/** tp_capture_name_matches - whether @size bytes are, or begin as, what `range:` names */
bool tp_capture_name_matches(const struct tp_capture_by_what *what, const char *name, size_t size);

#endif
