/* SPDX-License-Identifier: MIT */
#ifndef SIM_DRIVER_H
#define SIM_DRIVER_H

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
/* Places, and tells the observer. */
void sim_stream_run(struct sim_stream *stream, struct sim_work *work, uint64_t length);
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
};
int sim_memory_allocate(enum sim_memory_kind kind, uint64_t bytes, struct sim_pool *pool,
                        struct sim_stream *stream, uint64_t *ret_address);
int sim_memory_release(uint64_t address, struct sim_stream *stream);
bool sim_memory_find(uint64_t address, struct sim_block *ret_block);
enum sim_memory_kind sim_memory_kind(uint64_t address);
bool sim_memory_is_ours(uint64_t address); /* device memory: its bytes may be written */

/* transfer.c */
void sim_transfer_init(void);

#define OBSERVE(member, ...)                                                                       \
    do {                                                                                           \
        if (sim.observer.member)                                                                   \
            sim.observer.member(__VA_ARGS__);                                                      \
    } while (0)

/* cbid and name of an entry point, as CUPTI has them. */
struct sim_api {
    uint32_t cbid;
    const char *name;
};

enum {
#define SIM_CALL(name, cbid) CB_##name = cbid,
#include "driver_calls.def"
#undef SIM_CALL
};

#define API(name) ((struct sim_api){CB_##name, #name})
#define WORD(x) ((uint64_t)(uintptr_t)(x))

/* An exported function, with its declaration. */
#define ENTRY(name, ...)                                                                           \
    SIM_EXPORT int name(__VA_ARGS__);                                                              \
    int name(__VA_ARGS__)

/* The default-stream and the per-thread-default-stream form of @name; both are do_<name>(api,
 * per_thread, ...). */
#define PAIR(name, suffix, parameters, ...)                                                        \
    SIM_EXPORT int name parameters;                                                                \
    int name parameters                                                                            \
    {                                                                                              \
        return do_##name(API(name), false, __VA_ARGS__);                                           \
    }                                                                                              \
    SIM_EXPORT int name##suffix parameters;                                                        \
    int name##suffix parameters                                                                    \
    {                                                                                              \
        return do_##name(API(name##suffix), true, __VA_ARGS__);                                    \
    }

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
