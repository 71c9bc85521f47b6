/* SPDX-License-Identifier: MIT */
#ifndef SIM_CALLBACK_DATA_H
#define SIM_CALLBACK_DATA_H

#include <stddef.h>
#include <stdint.h>

/* What clients' callbacks are given; their layout is CUPTI's (tests/headers.c compares). */

struct sim_context;
struct sim_stream;
struct sim_graph;
struct sim_node;

/* What a callback of an API call is given. */
struct call_info {
    int site; /* 0 enter, 1 exit */
    const char *function;
    const void *params;
    void *result;
    const char *symbol;
    struct sim_context *context;
    uint32_t context_id;
    uint64_t *data;
    uint32_t correlation;
};

struct resource_info {
    struct sim_context *context;
    struct sim_stream *stream;
    void *descriptor;
};

struct graph_info {
    struct sim_graph *graph, *original_graph;
    struct sim_node *node, *original_node;
    uint32_t node_type;
    struct sim_node *dependency;
    struct sim_graph *exec;
};

struct module_info {
    uint32_t id;
    size_t cubin_size;
    const char *cubin;
};

struct synchronize_info {
    struct sim_context *context;
    struct sim_stream *stream;
};

/* What goes wrong inside CUPTI. */
struct state_info {
    int result;
    const char *message;
};

/* Parameters of cuptiSubscribe_v2. */
struct subscribe_params {
    size_t size;
    const char *name;
    char *holder;
    size_t holder_size;
};

#endif
