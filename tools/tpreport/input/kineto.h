/* SPDX-License-Identifier: MIT
 * The parts of the reader of Kineto traces: kineto_json.c walks through the document,
 * kineto_entry.c makes a record of each entry, kineto_links.c and kineto_stacks.c do what can be
 * told only at the end. */
#ifndef TP_INPUT_KINETO_H
#define TP_INPUT_KINETO_H

#include "input/event_fields.h"
#include "input/input.h"
#include "model/buffer.h"
#include "model/event_metadata.h"
#include "model/id_index.h"
#include "model/raw_record.h"

enum tp_kineto_key {
#define TP_KINETO_KEY(id, text) TP_KINETO_##id,
#include "input/kineto_words.def"
    TP_KINETO_KEYS
};
_Static_assert(TP_KINETO_KEYS <= 64, "tp_kineto_entry has a bit for each");

enum tp_kineto_kind {
    TP_KINETO_IS_SPAN_OF_TRACE, /* the profiler's own: no event */
    TP_KINETO_IS_CPU_OP,
    TP_KINETO_IS_ANNOTATION,
    TP_KINETO_IS_PYTHON,
    TP_KINETO_IS_CALL,   /* of a runtime or driver */
    TP_KINETO_IS_DEVICE, /* this and above: device work */
    TP_KINETO_IS_DEVICE_ANNOTATION,
};

struct tp_kineto_category {
    const char *name;
    const char *activity; /* its modern name */
    enum tp_kineto_kind kind;
};

/* A value of "args" as text: a range of the entry's @captured. */
struct tp_kineto_argument {
    int key; /* enum tp_kineto_key, or -1 */
    uint32_t name, name_size;
    uint32_t begin, size;
};

/* A number or text where either is met. */
struct tp_kineto_place {
    int64_t number;
    uint32_t text; /* string id when it is no number; else TP_STRING_NONE */
    bool is_there;
};

/* One entry of "traceEvents" while it is read. */
struct tp_kineto_entry {
    uint64_t seen;                             /* bit n: key n was there, with a usable value */
    char phase;                                /* 0: none, or not a single letter */
    const struct tp_kineto_category *category; /* NULL: unknown */
    uint32_t name;                             /* string id */
    int64_t ts_ns, duration_ns;
    struct tp_kineto_place pid, tid, device, stream;
    uint32_t own_name;      /* string id: "name" among the arguments, which names a thread */
    uint32_t category_name; /* string id; kept for a trace */
    uint32_t flow_text;     /* string id: JSON; kept for a trace */
    char scope, binding;    /* of an instant, of a flow's end; 0 none */
    bool has_own;           /* it tells what our own writer adds: kineto->own */
    int64_t external_id, correlation, sequence_nr, fwd_thread, bytes, device_type;
    int64_t python_id, python_parent_id, python_module_id;
    int64_t flow_id;
    uint32_t stack; /* in the list's pool */
    struct tp_buffer captured;
    struct tp_kineto_argument *arguments;
    uint32_t argument_count, argument_capacity;
};

/* A window that a step's annotation spans. */
struct tp_kineto_step {
    int64_t number, start_ns, end_ns;
};

struct tp_kineto_thread {
    int64_t tid;
    uint32_t name; /* string id */
};

/* One end of an arrow from a forward operator to its backward one. */
struct tp_kineto_flow {
    int64_t id, tid, ts_ns;
    bool is_start;
};

/* What is known of a file as it is read. */
struct tp_kineto {
    struct tp_input *input; /* borrowed: selection, losses */
    struct tp_raw_records records;
    struct tp_kineto_entry entry;
    struct tp_buffer text; /* scratch */
    struct tp_event_metadata metadata;

    bool is_own;             /* written by us: kineto_own.c */
    bool is_nested;          /* ... with the parents of its events */
    bool has_derived_stacks; /* ... stacks are told only to who asks for them */
    bool has_flops;          /* ... and of any event they are not None */
    bool resource_is_thread; /* ... the resource of host events is their thread, else 0 */
    struct tp_json_parser own;

    struct tp_id_index op_ids; /* External ids of CPU operators and annotations ... */
    int64_t *op_threads;       /* ... and their threads, by the id's number */
    uint32_t op_capacity;
    struct tp_kineto_step *steps;
    uint32_t step_count, step_capacity;
    struct tp_kineto_thread *threads; /* those that have names */
    uint32_t thread_count, thread_capacity;
    struct tp_kineto_flow *flows;
    uint32_t flow_count, flow_capacity;
    uint32_t *frames; /* scratch: of one stack */
    uint32_t frame_capacity;

    int64_t first_start_ns; /* of used entries but device annotations, which may be shifted */
    bool has_start;
    int64_t trace_start_ns; /* where the profiler itself began, if the file says so */
    bool has_trace_start;
    bool knows_category; /* an entry with a known category was there */
    bool has_device, has_memory, has_base_time, has_rank, has_trace_id, has_stacks;
    bool profile_memory, with_flops; /* said by the file */
    int64_t base_time_ns, rank;
    int64_t span_start_ns, span_end_ns;                   /* of a recording; end 0: not known */
    uint32_t use_device;                                  /* string id: said by the file */
    struct tp_buffer device_properties, distributed_info; /* JSON, for a trace */
    uint64_t undated;                                     /* entries that lack a time */
};

/** tp_kineto_init, _fini - fini takes a zeroed one; the list keeps its events */
void tp_kineto_init(struct tp_kineto *kineto, struct tp_input *input, struct tp_event_list *list);
void tp_kineto_fini(struct tp_kineto *kineto);

/** tp_kineto_entry_start - forget the entry before */
void tp_kineto_entry_start(struct tp_kineto_entry *entry);

/**
 * tp_kineto_entry_end - use kineto->entry, if it is one of those that make events
 * Return: 0 or negative, explained in @diag.
 */
int tp_kineto_entry_end(struct tp_kineto *kineto, struct tp_diag *diag);

/**
 * tp_kineto_place_text - a pid or tid in quotes: a number in them, a remote event's, or a text
 * Return: 0 or negative.
 */
int tp_kineto_place_text(struct tp_strings *strings, const char *text, size_t size,
                         struct tp_kineto_place *ret_place);

/** tp_kineto_thread_of - the number of an entry's thread; one with a name for a number gets one
 * below zero */
int64_t tp_kineto_thread_of(const struct tp_strings *strings, const struct tp_kineto_place *tid,
                            bool *ret_remote);

/* Parts of making an event of kineto->entry. Return: 0 or negative. */
int tp_kineto_take_shapes(struct tp_kineto *kineto, uint32_t *ret_shapes);
int tp_kineto_take_flops(struct tp_kineto *kineto, uint32_t name, uint64_t *ret_flops);
int tp_kineto_take_details(struct tp_kineto *kineto, const char *activity,
                           struct tp_event_details *ret);
int tp_kineto_remember_op(struct tp_kineto *kineto, int64_t thread);
int tp_kineto_remember_step(struct tp_kineto *kineto);
int tp_kineto_remember_thread(struct tp_kineto *kineto, struct tp_diag *diag);
bool tp_kineto_is_other_process(const struct tp_kineto *kineto, enum tp_kineto_kind kind);

/** tp_kineto_arguments - all arguments of the entry as one JSON object, for whoever keeps all;
 * none: TP_STRING_NONE */
int tp_kineto_arguments(struct tp_kineto *kineto, uint32_t *ret_id);

/** tp_kineto_place_json - a pid or tid as JSON; TP_STRING_NONE where there is none */
int tp_kineto_place_json(struct tp_kineto *kineto, const struct tp_kineto_place *place,
                         uint32_t *ret_id);

/** tp_kineto_mark - keep an entry that makes no event, if a trace is wanted */
int tp_kineto_mark(struct tp_kineto *kineto, struct tp_diag *diag);

/** tp_kineto_own_entry - as tp_kineto_entry_end, for a file that we have written */
int tp_kineto_own_entry(struct tp_kineto *kineto, struct tp_diag *diag);

/**
 * tp_kineto_own_retain - as tp_raw_records_retain; those below one that is left out go to its
 * parent Return: 0 or -ENOMEM.
 */
int tp_kineto_own_retain(struct tp_kineto *kineto,
                         bool (*keep)(void *context, const struct tp_function_event *event,
                                      int64_t linked_id, const struct tp_memory_record *memory),
                         void *context);

/**
 * tp_kineto_finish - join calls and device work to operators, choose what was selected, and make
 * the list of events
 * Return: 0 or negative, explained in @diag.
 */
int tp_kineto_finish(struct tp_kineto *kineto, struct tp_diag *diag);

/**
 * tp_kineto_take_stack - "Call stack" of kineto->entry: frames with a semicolon between them,
 * innermost first
 * tp_kineto_take_flow - kineto->entry is one end of an arrow
 * tp_kineto_join_stacks - when all is read and calls stand in their threads: stacks from nested
 * calls of Python functions if they are wanted and the file has none, and forward threads
 * Return: 0 or negative.
 */
int tp_kineto_take_stack(struct tp_kineto *kineto, const char *text, size_t size);
int tp_kineto_take_flow(struct tp_kineto *kineto);
int tp_kineto_join_stacks(struct tp_kineto *kineto);

/** tp_kineto_drop - take back all events of this file */
void tp_kineto_drop(struct tp_kineto *kineto);

#endif
