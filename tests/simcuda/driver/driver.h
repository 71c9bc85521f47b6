/* SPDX-License-Identifier: MIT */
#ifndef SIM_DRIVER_H
#define SIM_DRIVER_H

#include "../entry.h"
#include "../simcuda.h"

#include <pthread.h>

/* Guards everything that struct sim_state holds, streams and graphs. Never held while an observer
 * is called. */
extern pthread_mutex_t sim_lock;

struct sim_state {
    struct sim_core core;
    struct sim_observer observer;
    int device_count;
    struct sim_device devices[16];
    struct sim_context *contexts;
    uint32_t next_context, next_stream, next_module, next_graph, next_event, next_correlation;
    uint64_t next_event_sync;
    bool initialised, initialising, forked, finished;
    pthread_t initialiser;
};

extern struct sim_state sim;

/* init.c */
int sim_usable(void); /* 0, or the error of every call: not initialised, forked, finished */
void sim_misuse(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* script.c */
void sim_script_read(void);
uint64_t sim_number(const char *name, uint64_t otherwise);
const char *sim_text(const char *name);
uint64_t sim_api_length(enum sim_domain domain, uint32_t cbid, const char *name);
/* Fills in length and shape from the script's line for this kernel, or the defaults. */
void sim_script_kernel(struct sim_function *function);

/* clock.c */
void sim_clock_init(void);
uint64_t sim_now(void);
uint64_t sim_clock_reserve(uint64_t length); /* a span of this length from now on; its start */
void sim_clock_reach(uint64_t time);         /* the clock is not before @time from now on */
void sim_set_clock(uint64_t (*clock)(void));
bool sim_clock_is_foreign(void);
uint64_t sim_units(uint64_t length_ns); /* in units of the clock */

/* call.c */
void sim_call_init(void);
void sim_call_begin(struct sim_call *call);
int sim_call_end(struct sim_call *call, int result);
struct sim_call *sim_current_call(void);
uint32_t sim_work_correlation(void);

/* device.c */
void sim_devices_init(void);
struct sim_device *sim_device(int ordinal);
struct sim_context *sim_primary_context(int ordinal);
struct sim_context *sim_current_context(void);
void sim_set_current_context(struct sim_context *context);

/* stream.c */
struct sim_stream *sim_stream_of(struct sim_context *context, void *handle, bool per_thread);
struct sim_stream *sim_stream_create(struct sim_context *context, uint32_t flags, int priority);
/* Gives @work its place on the stream: start, end, context, stream, correlation. Under sim_lock. */
void sim_stream_place(struct sim_stream *stream, struct sim_work *work, uint64_t length);
/* What is really done when device work runs: bytes moved or set, a host function called. */
enum sim_action_kind { SIM_NOTHING, SIM_MOVE, SIM_FILL, SIM_CALL, SIM_ALLOCATE, SIM_RELEASE };
struct sim_action {
    enum sim_action_kind kind;
    uint64_t to, from;
    size_t to_pitch, from_pitch, width, height; /* a fill's width is in elements */
    uint32_t value;
    size_t element;
    void (*function)(void *data);
    void *data;
};
/*
 * Does @action (may be NULL), places @work and tells the observer. False: the stream captures, both
 * became a node of its graph. @work NULL: the action alone.
 */
bool sim_stream_run(struct sim_stream *stream, struct sim_work *work, uint64_t length,
                    const struct sim_action *action);
/* The API calls of this thread last until @time. */
void sim_block(uint64_t time);
/* The same, told as a synchronization of @kind. */
void sim_wait(struct sim_context *context, struct sim_stream *stream, uint64_t time,
              enum sim_sync kind, uint32_t event, uint64_t event_sync);

/* module.c */
struct sim_module *sim_module_load(void);
void sim_module_unload(struct sim_module *module);
struct sim_function *sim_module_function(struct sim_module *module, const char *name);

/* memory.c */
struct sim_block {
    uint64_t address, bytes;
    enum sim_memory_kind kind;
    struct sim_context *context;
    struct sim_pool *pool; /* of an asynchronous one */
    bool registered;       /* the program's own host memory */
    bool untold;           /* no record tells of it */
};
int sim_memory_allocate(enum sim_memory_kind kind, uint64_t bytes, struct sim_pool *pool,
                        struct sim_stream *stream, uint64_t *ret_address);
int sim_memory_allocate_untold(uint64_t bytes, uint64_t *ret_address);
/* An address of the current device that nobody else gets, told to nobody. */
int sim_memory_reserve(uint64_t bytes, uint64_t *ret_address);
int sim_memory_release(uint64_t address, struct sim_stream *stream);
void sim_memory_add_range(uint64_t address, uint64_t bytes); /* counts as device memory */
int sim_memory_register(uint64_t address, uint64_t bytes);
int sim_memory_unregister(uint64_t address);
bool sim_memory_find(uint64_t address, struct sim_block *ret_block);
enum sim_memory_kind sim_memory_kind(uint64_t address);
bool sim_memory_is_ours(uint64_t address); /* device memory: its bytes may be written */

/* transfer.c */
void sim_transfer_init(void);
void sim_action_do(const struct sim_action *action);
int sim_transfer_block(const struct sim_block_copy *block, struct sim_action *ret_action);
/* The device work that an action is, and its length. */
int sim_transfer_copy_work(const struct sim_action *rows, struct sim_work *ret_work,
                           uint64_t *ret_length);
int sim_transfer_set_work(const struct sim_action *fill, struct sim_work *ret_work,
                          uint64_t *ret_length);

/* graph.c */
enum sim_node_type {
    SIM_NODE_KERNEL = 0,
    SIM_NODE_MEMCPY = 1,
    SIM_NODE_MEMSET = 2,
    SIM_NODE_HOST = 3,
    SIM_NODE_GRAPH = 4,
    SIM_NODE_EMPTY = 5,
    SIM_NODE_ALLOCATE = 10,
    SIM_NODE_FREE = 11,
};
struct sim_node {
    uint64_t id; /* the graph's in the upper half */
    enum sim_node_type type;
    struct sim_graph *graph;
    struct sim_node *original; /* whose clone it is */
    struct sim_graph *child;
    bool has_work;
    struct sim_work work;
    uint64_t length;
    struct sim_action action;
    struct sim_node *next;
};
/* An executable graph is one too: its nodes are clones. */
struct sim_graph {
    uint32_t id;
    bool executable, observed;
    uint32_t node_count;
    struct sim_node *first, **end;
    struct sim_graph *original;
};
/* The stream's capture takes the work, the action, or both as a node. */
void sim_capture(struct sim_stream *stream, const struct sim_work *work, uint64_t length,
                 const struct sim_action *action);
struct sim_graph *sim_graph_create(void);
struct sim_node *sim_graph_add(struct sim_graph *graph, const struct sim_node *like);
struct sim_graph *sim_graph_clone(struct sim_graph *original);
struct sim_graph *sim_graph_instantiate(struct sim_graph *original);
void sim_graph_destroy(struct sim_graph *graph);
void sim_graph_launch(const struct sim_graph *exec, struct sim_stream *stream);
uint32_t sim_graph_id(const struct sim_graph *graph);
uint64_t sim_node_id(const struct sim_node *node);
uint32_t sim_node_type(const struct sim_node *node);

#define OBSERVE(member, ...)                                                                       \
    do {                                                                                           \
        if (sim.observer.member)                                                                   \
            sim.observer.member(__VA_ARGS__);                                                      \
    } while (0)

enum {
#define SIM_CALL(name, cbid) CB_##name = cbid,
#include "driver_calls.def"
#undef SIM_CALL
};

/* Opens the call @api_ whose arguments, each a word, are given; returns where CUDA cannot be used.
 */
#define BEGIN(api_, ...)                                                                           \
    uint64_t params_[] = {__VA_ARGS__};                                                            \
    BEGIN_WITH(api_, params_)
#define BEGIN_WITH(api_, params_struct)                                                            \
    struct sim_api api_used_ = (api_);                                                             \
    struct sim_call call = {.domain = SIM_DRIVER,                                                  \
                            .cbid = api_used_.cbid,                                                \
                            .name = api_used_.name,                                                \
                            .params = (params_struct)};                                            \
    int unusable_ = sim_usable();                                                                  \
    if (unusable_)                                                                                 \
        return unusable_;                                                                          \
    sim_call_begin(&call)
#define END(result) return sim_call_end(&call, (result))

#endif
