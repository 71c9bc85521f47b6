/* SPDX-License-Identifier: MIT */
#ifndef SIM_RUNTIME_H
#define SIM_RUNTIME_H

#include "../simcuda.h"

#include <pthread.h>

/*
 * The CUDA runtime on top of libcuda.so.1, which it opens when first needed, as the real one does.
 * Each function is a runtime call with one driver call nested in it. The same objects make
 * libcudart.so.12, libcudart.so.13 and the static archive.
 */

struct sim_dim3 {
    unsigned x, y, z;
};

/* Entry points of the driver that are used here. */
struct sim_driver {
#define IMPORT(name, ...) int (*name)(__VA_ARGS__);
#include "driver_imports.def"
#undef IMPORT
};
extern struct sim_driver driver;
extern const struct sim_core *core;

/* The driver is there, initialised, and this thread has a context; else the error. */
int sim_runtime_ready(void);
/* Keeps @result as the thread's last error when it is one. */
int sim_runtime_result(int result);

/* registration.c: the function of a host pointer or a kernel handle; NULL when it was never
 * registered. */
struct sim_function *sim_runtime_function(const void *host_or_handle);
const char *sim_runtime_function_name(const void *host_or_handle);

struct sim_api {
    uint32_t cbid;
    const char *name;
};

enum {
#define SIM_CALL(name, version, cbid) CB_##name = cbid,
#include "runtime_calls.def"
#undef SIM_CALL
};

#define API(name) ((struct sim_api){CB_##name, #name})
#define WORD(x) ((uint64_t)(uintptr_t)(x))

#define ENTRY(name, ...)                                                                           \
    SIM_EXPORT int name(__VA_ARGS__);                                                              \
    int name(__VA_ARGS__)

#define PAIR(name, suffix, parameters, ...)                                                        \
    SIM_EXPORT int name parameters;                                                                \
    int name parameters                                                                            \
    {                                                                                              \
        return do_##name(API(name), 0, __VA_ARGS__);                                               \
    }                                                                                              \
    SIM_EXPORT int name##suffix parameters;                                                        \
    int name##suffix parameters                                                                    \
    {                                                                                              \
        return do_##name(API(name##suffix), 1, __VA_ARGS__);                                       \
    }

#define BEGIN(api_, ...)                                                                           \
    uint64_t params_[] = {__VA_ARGS__};                                                            \
    BEGIN_WITH(api_, params_)
#define BEGIN_WITH(api_, params_struct)                                                            \
    struct sim_api api_used_ = (api_);                                                             \
    struct sim_call call = {.domain = SIM_RUNTIME,                                                 \
                            .cbid = api_used_.cbid,                                                \
                            .name = api_used_.name,                                                \
                            .params = (params_struct)};                                            \
    int unready_ = sim_runtime_ready();                                                            \
    if (__builtin_expect(unready_, 0))                                                             \
        return sim_runtime_result(unready_);                                                       \
    core->call_begin(&call)
#define END(result) return sim_runtime_result(core->call_end(&call, (result)))

/* The driver's form of a call, with the default stream that the runtime's caller was compiled for.
 */
#define DRIVER(name, suffix, per_thread) ((per_thread) ? driver.name##suffix : driver.name)

#endif
