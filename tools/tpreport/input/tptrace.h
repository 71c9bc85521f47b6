/* SPDX-License-Identifier: MIT
 * Our own recordings as an input: straight into averages, or as a list of events. */
#ifndef TP_INPUT_TPTRACE_H
#define TP_INPUT_TPTRACE_H

#include "input/input.h"
#include "input/tptrace_stream.h"
#include "input/tptrace_run.h"

extern const struct tp_input_kind tp_input_tptrace;

/* What a range is as an event, but for its times. */
struct tptrace_event {
    uint32_t name, trace_name, overload_name, input_shapes;
    int64_t sequence_nr;
    int64_t step;       /* of a ProfilerStep*; -1 */
    int64_t fwd_thread; /* framework's number; 0 none */
    int32_t node_id;
    uint16_t flags;     /* enum tp_event_flag */
    uint8_t scope;
};

/** tptrace_event_of - from a begin record and its name */
void tptrace_event_of(struct tptrace_event *event, const struct tptrace_source *source,
                      const struct tp_stream_name *name, const uint64_t *record);

/** tptrace_node_of - the node_id of a process's events */
int32_t tptrace_node_of(const struct tptrace_source *source, enum tp_by by);

/* ---- lists (tptrace_list.c) ---- */

struct tptrace_list;

/** tptrace_list_create - collects what a run's consumers take; @by: what node_id stands for. Return: NULL without
 * memory. */
struct tptrace_list *tptrace_list_create(enum tp_by by);
void tptrace_list_destroy(struct tptrace_list *list);

/** tptrace_list_consumer - fills in a consumer; it uses the list alone, so each worker has its own list */
void tptrace_list_consumer(struct tptrace_list *list, struct tptrace_consumer *consumer);

/** tptrace_list_add - move all that @from has behind what @into has. Return: 0 or -ENOMEM. */
int tptrace_list_add(struct tptrace_list *into, struct tptrace_list *from);

/**
 * tptrace_list_finish - append all events in list order, with their parents
 * @start_ns: of the run
 * Return: 0, -ENOMEM or -TP_ELIMIT.
 */
int tptrace_list_finish(struct tptrace_list *list, int64_t start_ns, struct tp_event_list *events);

/* ---- what a report says of its recording (tptrace_head.c) ---- */

/** tptrace_head_lines - short lines about what is missing, each with "tpreport: " and its end */
void tptrace_head_lines(const struct tptrace_run *run, const struct tp_strings *strings, struct tp_buffer *out);

/** tptrace_head_json - the same facts as one JSON object */
void tptrace_head_json(const struct tptrace_run *run, const struct tp_strings *strings, struct tp_buffer *out);

/** tptrace_state_name - "ended", "died", "running" */
const char *tptrace_state_name(enum tptrace_state state);

/** tptrace_source_failed - could it not start, or is it not built in? */
bool tptrace_source_failed(const struct tptrace_meta_source *source);

/** tptrace_duration - "1.234 s" */
void tptrace_duration(struct tp_buffer *out, int64_t ns);

#endif
