/* SPDX-License-Identifier: MIT */
/* Kernel launches and host functions. */
#include "driver.h"

/* The arguments of cuLaunchKernel, as a callback sees them. */
struct launch {
    struct sim_function *function;
    unsigned grid[3], block[3];
    unsigned shared;
    void *stream;
    void **params, **extra;
};

static int launch(struct sim_api api, bool per_thread, const struct launch *launch,
                  const void *params, uint8_t cooperative)
{
    struct sim_api api_used = api;
    struct sim_call call = {
        .domain = SIM_DRIVER, .cbid = api_used.cbid, .name = api_used.name, .params = params};
    int unusable = sim_usable();
    if (unusable)
        return unusable;
    call.symbol = launch->function ? launch->function->name : NULL;
    sim_call_begin(&call);
    struct sim_stream *stream = sim_stream_of(sim_current_context(), launch->stream, per_thread);
    if (!stream)
        END(SIM_ECONTEXT);
    if (!launch->function)
        END(SIM_EHANDLE);
    struct sim_work work = {.kind = SIM_KERNEL,
                            .function = launch->function,
                            .dynamic_shared = launch->shared,
                            .cooperative = cooperative};
    uint64_t threads = 1;
    for (int i = 0; i < 3; i++) {
        work.grid[i] = launch->grid[i];
        work.block[i] = launch->block[i];
        threads *= launch->block[i];
        if (!launch->grid[i])
            END(SIM_EINVAL);
    }
    if (!threads || threads > 1024)
        END(SIM_EINVAL);
    sim_stream_run(stream, &work, launch->function->length, NULL);
    END(SIM_OK);
}

static int do_cuLaunchKernel(struct sim_api api, bool per_thread, struct launch arguments)
{
    return launch(api, per_thread, &arguments, &arguments, 0);
}
PAIR(cuLaunchKernel, _ptsz,
     (struct sim_function * function, unsigned gx, unsigned gy, unsigned gz, unsigned bx,
      unsigned by, unsigned bz, unsigned shared, void *stream, void **params, void **extra),
     (struct launch){function, {gx, gy, gz}, {bx, by, bz}, shared, stream, params, extra})

static int do_cuLaunchCooperativeKernel(struct sim_api api, bool per_thread,
                                        struct launch arguments)
{
    return launch(api, per_thread, &arguments, &arguments, 1);
}
PAIR(cuLaunchCooperativeKernel, _ptsz,
     (struct sim_function * function, unsigned gx, unsigned gy, unsigned gz, unsigned bx,
      unsigned by, unsigned bz, unsigned shared, void *stream, void **params),
     (struct launch){function, {gx, gy, gz}, {bx, by, bz}, shared, stream, params, NULL})

/* The extensible launch's configuration. */
struct config {
    unsigned grid[3], block[3];
    unsigned shared;
    void *stream;
    void *attributes;
    unsigned attribute_count;
};

static int do_cuLaunchKernelEx(struct sim_api api, bool per_thread, const struct config *config,
                               struct sim_function *function, void **params, void **extra)
{
    const void *words[] = {config, function, params, extra};
    if (!config) {
        BEGIN(api, WORD(config), WORD(function), WORD(params), WORD(extra));
        END(SIM_EINVAL);
    }
    struct launch arguments = {function,
                               {config->grid[0], config->grid[1], config->grid[2]},
                               {config->block[0], config->block[1], config->block[2]},
                               config->shared,
                               config->stream,
                               params,
                               extra};
    return launch(api, per_thread, &arguments, words, 0);
}
PAIR(cuLaunchKernelEx, _ptsz,
     (const struct config *config, struct sim_function *function, void **params, void **extra),
     config, function, params, extra)

/* The function runs at the call: its place in the stream has no length, and nobody could tell. */
static int do_cuLaunchHostFunc(struct sim_api api, bool per_thread, void *handle,
                               void (*function)(void *), void *data)
{
    BEGIN(api, WORD(handle), WORD(function), WORD(data));
    struct sim_stream *stream = sim_stream_of(sim_current_context(), handle, per_thread);
    if (!stream || !function)
        END(SIM_EINVAL);
    struct sim_action action = {.kind = SIM_CALL, .function = function, .data = data};
    sim_stream_run(stream, NULL, 0, &action);
    END(SIM_OK);
}
PAIR(cuLaunchHostFunc, _ptsz, (void *stream, void (*function)(void *), void *data), stream,
     function, data)
