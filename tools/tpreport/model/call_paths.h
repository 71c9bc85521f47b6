/* SPDX-License-Identifier: MIT
 * Who was called from where, as a tree of frames: process and thread, the Python stack of the
 * outermost event, then the chain of ranges; below an operator the kernels that it launched. Equal
 * paths are one, their values summed. */
#ifndef TP_MODEL_CALL_PATHS_H
#define TP_MODEL_CALL_PATHS_H

#include "model/event_list.h"

enum tp_path_value {
    TP_PATH_SELF_CPU_NS,
    TP_PATH_CPU_NS, /* with what is below */
    TP_PATH_DEVICE_NS,
    TP_PATH_HOST_BYTES, /* allocated minus freed, without what is below; so these two */
    TP_PATH_DEVICE_BYTES,
    TP_PATH_COUNT,
    TP_PATH_VALUES
};

#define TP_NO_PATH UINT32_MAX

struct tp_call_path {
    uint32_t parent; /* TP_NO_PATH: this is a root */
    uint32_t frame;  /* see tp_call_paths_frame */
    uint32_t thread; /* the path of its thread; TP_NO_PATH for device work of no thread */
    uint32_t source; /* of list->trace; 0 without */
    int64_t step;    /* the ProfilerStep around it; -1 none */
    int32_t device;  /* of a kernel; -1 none */
    int64_t values[TP_PATH_VALUES];
};

struct tp_call_paths {
    const struct tp_event_list *list; /* borrowed; has its tree and times */
    struct tp_strings frames;         /* of processes and threads */
    bool by_step;                     /* paths of different steps are different */
    struct tp_call_path *items;       /* each behind its parent */
    uint32_t count, capacity;
    uint32_t *slots; /* open addressing; number + 1, 0 = free */
    uint32_t slot_count;
};

/**
 * tp_call_paths_init - the paths of all events of a list
 * tp_call_paths_fini - takes a zeroed one as well
 * Context: offline. Return: 0, -ENOMEM or -TP_ELIMIT.
 */
int tp_call_paths_init(struct tp_call_paths *paths, const struct tp_event_list *list, bool by_step);
void tp_call_paths_fini(struct tp_call_paths *paths);

/** tp_call_paths_frame - the text of a frame; valid until fini */
const struct tp_string *tp_call_paths_frame(const struct tp_call_paths *paths, uint32_t frame);

#endif
