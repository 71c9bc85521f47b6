/* SPDX-License-Identifier: MIT */
#ifndef SIM_RUNTIME_H
#define SIM_RUNTIME_H

#include "../entry.h"
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

struct sim_extent {
    size_t width, height, depth;
};
struct sim_place {
    size_t x, y, z;
};
struct sim_pitched {
    void *address;
    size_t pitch, xsize, ysize;
};
/* The parameters of cudaMemcpy3D. */
struct sim_copy3d {
    void *from_array;
    struct sim_place from_at;
    struct sim_pitched from;
    void *to_array;
    struct sim_place to_at;
    struct sim_pitched to;
    struct sim_extent extent;
    int kind;
};
struct sim_ipc_handle {
    char bytes[64];
};

/* array.c */
void sim_runtime_block(const struct sim_copy3d *params, struct sim_block_copy *ret_block);

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

/* Device memory of a registered variable in the current context's device; 0: not registered. */
uint64_t sim_runtime_variable(const void *host);

enum {
#define SIM_CALL(name, version, cbid) CB_##name = cbid,
#include "runtime_calls.def"
#undef SIM_CALL
};

/* Opens the call @api_ whose arguments, each a word, are given; returns where there is no driver.
 */
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
