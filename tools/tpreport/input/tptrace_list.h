/* SPDX-License-Identifier: MIT
 * What the collector of a list holds: tptrace_list.c has the ranges, tptrace_list_cuda.c what CUDA
 * did. */
#ifndef TP_INPUT_TPTRACE_LIST_H
#define TP_INPUT_TPTRACE_LIST_H

#include "input/tptrace.h"
#include "input/tptrace_cuda.h"
#include "input/tptrace_nodes.h"
#include "model/geometry.h"

struct tptrace_item {
    int64_t start_ns, end_ns;
    int64_t memory_bytes, device_bytes;
    uint64_t ordinal;          /* of the track */
    uint64_t sequence, parent; /* on the track; parent 0: none */
    uint64_t user;             /* the process */
    struct tptrace_event event;
    uint32_t shapes, inputs; /* name ids, while the process is read */
    struct tptrace_details details;
    uint32_t kernel, geometry; /* string ids: that an interposed call launches, and how */
    uint32_t domain;
    uint32_t tid, framework_thread;
    int32_t node_id;
    bool is_call; /* of CUDA, interposed */
};

#define TPTRACE_NO_ITEM SIZE_MAX

/* Where a thread stood when it entered a call. */
struct tptrace_call_place {
    uint64_t user, ordinal, sequence; /* of the innermost range, 0 none */
    uint32_t correlation, tid;
    bool is_selected;
};

struct tptrace_work_item {
    struct tptrace_activity activity; /* without its name, which goes with the process */
    uint32_t name;                    /* string id */
    uint64_t user;
    int32_t node_id;
    uint32_t geometry;    /* string id of its JSON, TP_STRING_NONE */
    uint32_t captured_in; /* of a graph's node: string id of the range's name; TP_STRING_NONE */
    bool is_selected;
    bool is_inner; /* a call of the driver that a call of the runtime made: left out */
    /* by tptrace_list_cuda_join: */
    uint32_t tid;
    uint32_t id;  /* that it goes by: of an inner call and its work, the outer one's */
    size_t owner; /* the range below which it happened, TPTRACE_NO_ITEM none */
    bool has_launch;
    bool is_by_external; /* its launch is known by an external id only */
    bool is_placed;      /* its thread said where it stood */
};

struct tptrace_memory_item {
    struct tptrace_cuda_memory memory;
    int64_t ns;
    uint64_t user, ordinal, sequence; /* of its own thread, when it is told there and then */
    int64_t bytes;                    /* by the join: signed */
    size_t owner;
    uint32_t tid;
    int32_t node_id;
    bool is_selected;
};

/* The external id of a call. */
struct tptrace_external_item {
    uint64_t user, id;
    uint32_t correlation;
    uint8_t type;
    /* by tptrace_list_join_externals: the range that all calls of the id have in common */
    bool is_known, is_selected;
    uint32_t tid;
    size_t owner;
};

struct tptrace_list {
    struct tptrace_item *items;
    size_t count, capacity;
    size_t detailed;             /* items that have their details */
    struct tptrace_names *names; /* of the items behind those */
    enum tp_by by;

    struct tptrace_work_item *works;
    struct tptrace_call_place *calls;
    struct tptrace_memory_item *memories;
    struct tptrace_nodes nodes;
    struct tptrace_external_item *externals;
    size_t work_count, call_count, memory_count, external_count;
    size_t work_capacity, call_capacity, memory_capacity, external_capacity;
    size_t works_detailed;
    struct tptrace_cuda_cursor cursor;
    struct tptrace_activity_names made; /* of names */
    struct tp_summed_sink *summed;      /* borrowed; NULL: nobody wants them */
};

/** tptrace_list_evicted - a consumer's: device work of the running summary goes to list->summed */
int tptrace_list_evicted(void *context, const struct tptrace_source *source, void **notes);

/** tptrace_items_find - index of the range with a number on a track among items sorted by these;
 * TPTRACE_NO_ITEM for none */
size_t tptrace_items_find(const struct tptrace_item *items, size_t count, uint64_t ordinal,
                          uint64_t sequence);

/** tptrace_list_cuda_take - a record of CUDA, as a consumer takes it. Return: 0 or -ENOMEM. */
int tptrace_list_cuda_take(void *context, const struct tptrace_source *source,
                           const uint64_t *record, uint64_t ticks, struct tp_stream *stream);

/** tptrace_list_cuda_details - texts, while the process's names are there. Return: 0 or -ENOMEM. */
int tptrace_list_cuda_details(struct tptrace_list *list);

/** tptrace_list_cuda_add - move all that @from has behind what @into has. Return: 0 or -ENOMEM. */
int tptrace_list_cuda_add(struct tptrace_list *into, struct tptrace_list *from);
void tptrace_list_cuda_fini(struct tptrace_list *list);

/**
 * tptrace_list_cuda_join - find out below which ranges everything happened
 *
 * Ranges are sorted by track and number there. What is not selected, and calls of the driver that
 * the runtime made, are taken out. Memory is credited to ranges. The run's totals are added to.
 *
 * Return: 0 or -ENOMEM.
 */
int tptrace_list_cuda_join(struct tptrace_list *list, struct tptrace_run *run);

/**
 * tptrace_list_work_details - the details of the event appended last, which @work became
 * @id: its own; @owner_id: of the range that it is credited to, 0 none
 * Context: @events keeps details. Return: 0 or -ENOMEM.
 */
int tptrace_list_work_details(const struct tptrace_run *run, const struct tptrace_work_item *work,
                              int64_t id, int64_t owner_id, struct tp_event_list *events);

#endif
