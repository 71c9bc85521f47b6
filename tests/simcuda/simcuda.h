/* SPDX-License-Identifier: MIT */
#ifndef SIMCUDA_H
#define SIMCUDA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * What the three stand-ins share. libcuda.so.1 is the device: streams, memory, graphs, the clock
 * and the script. It exports one table, struct sim_core, found with dlsym("simcuda_core");
 * libcudart and libcupti are written on top of it. libcupti observes: it puts a struct sim_observer
 * there, and every API call, piece of device work, allocation and object passes by it.
 *
 * An API call is a struct sim_call on its caller's stack from sim_call_begin to sim_call_end. A
 * driver call inside a runtime call on the same thread is nested in it.
 *
 * Time is virtual: see driver/clock.c.
 */

#define SIM_EXPORT __attribute__((visibility("default")))

enum sim_domain { SIM_DRIVER = 1, SIM_RUNTIME = 2 };

/* Errors, which driver and runtime number alike. */
enum {
    SIM_OK = 0,
    SIM_EINVAL = 1,
    SIM_ENOMEM = 2,
    SIM_ENOTINIT = 3,
    SIM_EDEINIT = 4,
    SIM_EFUNCTION = 98,
    SIM_ENODEVICE = 100,
    SIM_EDEVICE = 101,
    SIM_ECONTEXT = 201,
    SIM_EHANDLE = 400,
    SIM_ENOTFOUND = 500,
    SIM_ENOTREADY = 600,
    SIM_ENOTSUPPORTED = 801,
    SIM_ECAPTURE = 901,
};

struct sim_device {
    int ordinal;
    uint64_t memory_bytes;
    uint64_t used_bytes;
    uint32_t multiprocessors;
    uint32_t major, minor;
    char name[64];
    uint8_t uuid[16];
    struct sim_context *primary;
    struct sim_pool *default_pool, *pool;
};

struct sim_context {
    uint32_t id; /* unique in the process, from 1 */
    struct sim_device *device;
    struct sim_stream *null_stream; /* the legacy default stream */
    struct sim_stream *streams;     /* list of all streams, the null stream last */
    uint64_t blocking_end; /* end of the last work on a stream that waits for the null stream */
    uint64_t all_end;      /* end of the last work on any stream */
    struct sim_context *next;
};

struct sim_stream {
    uint32_t id; /* as records name it */
    struct sim_context *context;
    uint64_t end;   /* when all work queued so far is over */
    uint32_t flags; /* bit 0: does not wait for the null stream */
    int priority;
    struct sim_graph *capturing;
    struct sim_stream *next;
};

/* A kernel in a loaded module. */
struct sim_function {
    const char *name; /* mangled; its bytes are used again after the module is unloaded */
    struct sim_module *module;
    uint64_t length;
    uint32_t registers;
    uint32_t static_shared;
    uint32_t local;
    struct sim_function *next;
};

/* An API call in progress. */
struct sim_call {
    enum sim_domain domain;
    uint32_t cbid;
    const char *name;
    const void *params; /* the call's arguments, as a struct in the order of the prototype */
    const char *symbol; /* of a launch: the kernel's name */
    int result;
    struct sim_context *context;
    uint32_t correlation;      /* its own */
    uint32_t work_correlation; /* what the device work that it causes carries */
    uint64_t start, end;
    uint64_t inner_end;   /* where the next nested call begins */
    uint64_t client_data; /* the observer's, from begin to end */
    struct sim_call *outer;
};

enum sim_work_kind { SIM_KERNEL, SIM_COPY, SIM_PEER_COPY, SIM_SET, SIM_SYNC, SIM_GRAPH, SIM_EVENT };

enum sim_memory_kind {
    SIM_PAGEABLE = 1,
    SIM_PINNED = 2,
    SIM_DEVICE_MEMORY = 3,
    SIM_ARRAY = 4,
    SIM_MANAGED = 5,
};

enum sim_sync {
    SIM_SYNC_EVENT = 1,
    SIM_SYNC_WAIT_EVENT = 2,
    SIM_SYNC_STREAM = 3,
    SIM_SYNC_CONTEXT = 4
};

/* One piece of device work, or the wait for some. What a kind does not use is 0. */
struct sim_work {
    enum sim_work_kind kind;
    uint64_t start, end;
    uint32_t correlation;
    struct sim_context *context;
    uint32_t stream;
    uint64_t node; /* graph node: executable graph in the upper half */
    uint32_t graph;

    const struct sim_function *function; /* SIM_KERNEL */
    uint32_t grid[3], block[3];
    uint32_t dynamic_shared;
    uint8_t cooperative;

    uint8_t copy_kind, from_kind, to_kind, async; /* SIM_COPY, SIM_PEER_COPY */
    uint64_t bytes;                               /* and SIM_SET */
    struct sim_context *from, *to;                /* SIM_PEER_COPY */
    uint32_t value;                               /* SIM_SET */

    enum sim_sync sync; /* SIM_SYNC */
    uint32_t event;     /* SIM_SYNC, SIM_EVENT */
    uint64_t event_sync;
};

/* An allocation or a release. */
struct sim_memory {
    bool release;
    enum sim_memory_kind kind;
    uint64_t address, bytes;
    uint64_t time;
    uint32_t correlation;
    struct sim_context *context;
    uint32_t stream; /* of an asynchronous one, else 0 */
    bool async;
    const struct sim_pool *pool;
};

struct sim_pool {
    uint64_t address; /* names the pool in records */
    struct sim_device *device;
    uint64_t size_bytes, used_bytes;
    uint64_t release_threshold;
    bool imported;
    uint32_t process; /* of an imported one: where it came from */
    struct sim_pool *next;
};

/* The driver's description of a copy of rows. */
struct sim_rows_copy {
    size_t from_x, from_y;
    unsigned from_type;
    const void *from_host;
    uint64_t from_device;
    void *from_array;
    size_t from_pitch;
    size_t to_x, to_y;
    unsigned to_type;
    void *to_host;
    uint64_t to_device;
    void *to_array;
    size_t to_pitch;
    size_t width, height;
};

/* The same of blocks of rows. */
struct sim_block_copy {
    size_t from_x, from_y, from_z, from_level;
    unsigned from_type;
    const void *from_host;
    uint64_t from_device;
    void *from_array, *reserved0;
    size_t from_pitch, from_height;
    size_t to_x, to_y, to_z, to_level;
    unsigned to_type;
    void *to_host;
    uint64_t to_device;
    void *to_array, *reserved1;
    size_t to_pitch, to_height;
    size_t width, height, depth;
};

enum sim_pool_operation { SIM_POOL_CREATED = 1, SIM_POOL_DESTROYED = 2, SIM_POOL_TRIMMED = 3 };

/* Numbers of CUPTI's resource callbacks. */
enum sim_resource_event {
    SIM_CONTEXT_CREATED = 1,
    SIM_CONTEXT_DESTROY = 2,
    SIM_STREAM_CREATED = 3,
    SIM_STREAM_DESTROY = 4,
    SIM_INIT_FINISHED = 5,
    SIM_MODULE_LOADED = 6,
    SIM_MODULE_UNLOAD = 7,
    SIM_GRAPH_CREATED = 9,
    SIM_GRAPH_DESTROY = 10,
    SIM_GRAPH_CLONED = 11,
    SIM_NODE_CREATING = 12,
    SIM_NODE_CREATED = 13,
    SIM_NODE_DESTROY = 14,
    SIM_EXEC_CREATING = 17,
    SIM_EXEC_CREATED = 18,
    SIM_EXEC_DESTROY = 19,
    SIM_NODE_CLONED = 20,
};

struct sim_resource {
    struct sim_context *context;
    struct sim_stream *stream;
    uint32_t module; /* id */
    struct sim_graph *graph, *original_graph;
    struct sim_node *node, *original_node;
    struct sim_graph *exec;
};

/* Called on the thread where it happens, with no lock of the core held. */
struct sim_observer {
    void (*enter)(struct sim_call *call);
    void (*leave)(struct sim_call *call);
    void (*work)(const struct sim_work *work);
    void (*memory)(const struct sim_memory *memory);
    void (*pool)(enum sim_pool_operation operation, const struct sim_pool *pool,
                 uint32_t correlation, uint64_t min_bytes);
    void (*resource)(enum sim_resource_event event, const struct sim_resource *resource);
    void (*synchronized)(
        struct sim_context *context); /* a wait ended: what ran before is complete */
    /* Per-node records of a graph launch (1), or one for the launch (0). */
    int (*wants_nodes)(void);
};

struct sim_core {
    /* Copied: NULL members are not called. NULL ends the observation. */
    void (*observe)(const struct sim_observer *observer);

    /* The switch SIMCUDA_<name>; @otherwise when it is not set. */
    uint64_t (*number)(const char *name, uint64_t otherwise);
    const char *(*text)(const char *name); /* "" when it is not set */

    uint64_t (*now)(void);
    /* Times are this function's from now on; NULL is not allowed. */
    void (*set_clock)(uint64_t (*clock)(void));

    void (*call_begin)(struct sim_call *call);
    int (*call_end)(struct sim_call *call, int result);
    struct sim_call *(*current_call)(void);

    int (*device_count)(void);
    struct sim_device *(*device)(int ordinal);
    struct sim_context *(*contexts)(
        void); /* list; stable while no context is created or destroyed */
    struct sim_context *(*primary_context)(int ordinal);
    struct sim_context *(*current_context)(void);
    void (*set_current_context)(struct sim_context *context);
    struct sim_stream *(*stream_of)(struct sim_context *context, void *handle, bool per_thread);

    struct sim_module *(*module_load)(void);
    void (*module_unload)(struct sim_module *module);
    struct sim_function *(*module_function)(struct sim_module *module, const char *name);

    enum sim_memory_kind (*memory_kind)(uint64_t address);
    /* Device memory that no record tells of: variables of a module. */
    int (*memory_reserve)(uint64_t bytes, uint64_t *ret_address);

    bool (*forked)(void);   /* in a child of a process that had initialised */
    bool (*finished)(void); /* the driver's own exit handler has run */
    void (*misuse)(const char *format, ...) __attribute__((format(printf, 1, 2)));

    uint32_t (*graph_id)(const struct sim_graph *graph); /* of an executable one too */
    uint64_t (*node_id)(const struct sim_node *node);
    uint32_t (*node_type)(const struct sim_node *node);

    int driver_version; /* as cuDriverGetVersion says it */
};

/* libcuda.so.1's only export that is not CUDA's. */
SIM_EXPORT const struct sim_core *simcuda_core(void);

#endif
