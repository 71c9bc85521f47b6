/* SPDX-License-Identifier: MIT */
/* Launches: <<<>>> as nvcc emits it up to 12 and from 13 on, and the calls. */
#include "runtime.h"

#include <stddef.h>

/* The arguments of cudaLaunchKernel, as a callback sees them. */
struct launch {
    const void *function;
    struct sim_dim3 grid, block;
    void **arguments;
    size_t shared;
    void *stream;
};

static int launch(struct sim_api api, bool per_thread, const struct launch *launch)
{
    struct sim_call call = {
        .domain = SIM_RUNTIME, .cbid = api.cbid, .name = api.name, .params = launch};
    int unready = sim_runtime_ready();
    if (__builtin_expect(unready, 0))
        return sim_runtime_result(unready);
    struct sim_function *function = sim_runtime_function(launch->function);
    call.symbol = function ? function->name : NULL;
    core->call_begin(&call);
    if (!function)
        END(SIM_EFUNCTION);
    END(DRIVER(cuLaunchKernel, _ptsz, per_thread)(
        function, launch->grid.x, launch->grid.y, launch->grid.z, launch->block.x, launch->block.y,
        launch->block.z, (unsigned)launch->shared, launch->stream, launch->arguments, NULL));
}

#define LAUNCH_PARAMETERS                                                                          \
    const void *function, struct sim_dim3 grid, struct sim_dim3 block, void **arguments,           \
        size_t shared, void *stream

static int do_cudaLaunchKernel(struct sim_api api, bool per_thread, struct launch arguments)
{
    return launch(api, per_thread, &arguments);
}
PAIR(cudaLaunchKernel, _ptsz, (LAUNCH_PARAMETERS),
     (struct launch){function, grid, block, arguments, shared, stream})

ENTRY(__cudaLaunchKernel, LAUNCH_PARAMETERS)
{
    return cudaLaunchKernel(function, grid, block, arguments, shared, stream);
}

ENTRY(__cudaLaunchKernel_ptsz, LAUNCH_PARAMETERS)
{
    return cudaLaunchKernel_ptsz(function, grid, block, arguments, shared, stream);
}

static int do_cudaLaunchCooperativeKernel(struct sim_api api, bool per_thread,
                                          struct launch arguments)
{
    BEGIN_WITH(api, &arguments);
    struct sim_function *function = sim_runtime_function(arguments.function);
    if (!function)
        END(SIM_EFUNCTION);
    END(DRIVER(cuLaunchCooperativeKernel, _ptsz,
               per_thread)(function, arguments.grid.x, arguments.grid.y, arguments.grid.z,
                           arguments.block.x, arguments.block.y, arguments.block.z,
                           (unsigned)arguments.shared, arguments.stream, arguments.arguments));
}
PAIR(cudaLaunchCooperativeKernel, _ptsz, (LAUNCH_PARAMETERS),
     (struct launch){function, grid, block, arguments, shared, stream})

#if SIM_RUNTIME_VERSION < 13000
ENTRY(cudaLaunchCooperativeKernelMultiDevice, struct launch *launches, unsigned count,
      unsigned flags)
{
    BEGIN(API(cudaLaunchCooperativeKernelMultiDevice), WORD(launches), count, flags);
    int result = SIM_OK;
    for (unsigned i = 0; i < count && !result; i++) {
        const struct launch *each = &launches[i];
        struct sim_function *function = sim_runtime_function(each->function);
        result = function
                     ? driver.cuLaunchCooperativeKernel(function, each->grid.x, each->grid.y,
                                                        each->grid.z, each->block.x, each->block.y,
                                                        each->block.z, (unsigned)each->shared,
                                                        each->stream, each->arguments)
                     : SIM_EFUNCTION;
    }
    END(result);
}
#endif

struct config {
    struct sim_dim3 grid, block;
    size_t shared;
    void *stream;
    void *attributes;
    unsigned attribute_count;
};

/* The driver's form of the configuration. */
struct driver_config {
    struct sim_dim3 grid, block;
    unsigned shared;
    void *stream;
    void *attributes;
    unsigned attribute_count;
};

static int do_cudaLaunchKernelExC(struct sim_api api, bool per_thread, const struct config *config,
                                  const void *host, void **arguments)
{
    BEGIN(api, WORD(config), WORD(host), WORD(arguments));
    struct sim_function *function = sim_runtime_function(host);
    if (!config || !function)
        END(config ? SIM_EFUNCTION : SIM_EINVAL);
    struct driver_config below = {config->grid,   config->block,      (unsigned)config->shared,
                                  config->stream, config->attributes, config->attribute_count};
    END(DRIVER(cuLaunchKernelEx, _ptsz, per_thread)(&below, function, arguments, NULL));
}
PAIR(cudaLaunchKernelExC, _ptsz,
     (const struct config *config, const void *function, void **arguments), config, function,
     arguments)

static int do_cudaLaunchHostFunc(struct sim_api api, bool per_thread, void *stream,
                                 void (*function)(void *), void *data)
{
    BEGIN(api, WORD(stream), WORD(function), WORD(data));
    END(DRIVER(cuLaunchHostFunc, _ptsz, per_thread)(stream, function, data));
}
PAIR(cudaLaunchHostFunc, _ptsz, (void *stream, void (*function)(void *), void *data), stream,
     function, data)

/* What stands between <<< and >>> waits here for the stub that launches. */
enum { CONFIGURATIONS = 16 };
static __thread struct launch configurations[CONFIGURATIONS];
static __thread int configuration_count;

SIM_EXPORT unsigned __cudaPushCallConfiguration(struct sim_dim3 grid, struct sim_dim3 block,
                                                size_t shared, void *stream);
unsigned __cudaPushCallConfiguration(struct sim_dim3 grid, struct sim_dim3 block, size_t shared,
                                     void *stream)
{
    if (configuration_count == CONFIGURATIONS)
        return SIM_EINVAL;
    configurations[configuration_count++] =
        (struct launch){NULL, grid, block, NULL, shared, stream};
    return SIM_OK;
}

ENTRY(__cudaPopCallConfiguration, struct sim_dim3 *grid, struct sim_dim3 *block, size_t *shared,
      void *stream)
{
    if (!configuration_count)
        return sim_runtime_result(SIM_EINVAL);
    const struct launch *top = &configurations[--configuration_count];
    *grid = top->grid;
    *block = top->block;
    *shared = top->shared;
    *(void **)stream = top->stream;
    return SIM_OK;
}
