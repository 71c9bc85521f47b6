/* SPDX-License-Identifier: MIT */
/*
 * cuInit and what ends it. Inside the first cuInit, after the driver's own exit handler is
 * registered, the library that CUDA_INJECTION64_PATH names is loaded and its InitializeInjection
 * called: an exit handler that it registers runs before the driver's own.
 */
#include "driver.h"

#include <dlfcn.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

pthread_mutex_t sim_lock = PTHREAD_MUTEX_INITIALIZER;
struct sim_state sim;

void sim_misuse(const char *format, ...)
{
    char text[256];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    fprintf(stderr, "simcuda: misuse: %s\n", text);
    if (strcmp(sim_text("MISUSE"), "warn") != 0)
        abort();
}

int sim_usable(void)
{
    if (__builtin_expect(sim.initialised && !sim.forked && !sim.finished, 1))
        return SIM_OK;
    return sim.finished ? SIM_EDEINIT : SIM_ENOTINIT;
}

static void after_fork_in_child(void)
{
    sim.forked = sim.initialised;
}

static void at_exit(void)
{
    sim.finished = true;
    if (sim_number("SAY_EXIT", 0))
        fprintf(stderr, "simcuda: driver exit\n");
}

static void inject(void)
{
    const char *path = getenv("CUDA_INJECTION64_PATH");
    if (!path || !*path)
        return;
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    int (*initialize)(void) = library ? (int (*)(void))dlsym(library, "InitializeInjection") : NULL;
    if (initialize)
        initialize();
    else if (sim_number("SAY_INJECTION", 0))
        fprintf(stderr, "simcuda: injection: %s\n", dlerror());
}

static void observe(const struct sim_observer *observer)
{
    sim.observer = observer ? *observer : (struct sim_observer){0};
}

static int device_count(void)
{
    return sim.device_count;
}

static struct sim_context *contexts(void)
{
    return sim.contexts;
}

static bool forked(void)
{
    return sim.forked;
}

static bool finished(void)
{
    return sim.finished;
}

/* Read once, when the first of the stand-ins asks for the table. */
__attribute__((constructor)) static void start(void)
{
    sim_script_read();
    sim_clock_init();
    sim_call_init();
    sim_transfer_init();
    sim_devices_init();
    pthread_atfork(NULL, NULL, after_fork_in_child);
    sim.core = (struct sim_core){
        .observe = observe,
        .number = sim_number,
        .text = sim_text,
        .now = sim_now,
        .set_clock = sim_set_clock,
        .call_begin = sim_call_begin,
        .call_end = sim_call_end,
        .current_call = sim_current_call,
        .device_count = device_count,
        .device = sim_device,
        .contexts = contexts,
        .primary_context = sim_primary_context,
        .current_context = sim_current_context,
        .set_current_context = sim_set_current_context,
        .stream_of = sim_stream_of,
        .module_load = sim_module_load,
        .module_unload = sim_module_unload,
        .module_function = sim_module_function,
        .memory_kind = sim_memory_kind,
        .memory_reserve = sim_memory_reserve,
        .forked = forked,
        .finished = finished,
        .misuse = sim_misuse,
        .graph_id = sim_graph_id,
        .node_id = sim_node_id,
        .node_type = sim_node_type,
        .driver_version = (int)sim_number("DRIVER_VERSION", 13000),
    };
}

const struct sim_core *simcuda_core(void)
{
    return &sim.core;
}

ENTRY(cuInit, unsigned flags)
{
    static pthread_mutex_t initialising = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
    if (flags)
        return SIM_EINVAL;
    if (sim.forked)
        return SIM_ENOTINIT;
    if (!sim.device_count)
        return SIM_ENODEVICE;
    pthread_mutex_lock(&initialising);
    if (!sim.initialised && !sim.initialising) {
        sim.initialising = true;
        atexit(at_exit);
        inject();
        sim.initialised = true;
        struct sim_resource resource = {0};
        OBSERVE(resource, SIM_INIT_FINISHED, &resource);
    }
    pthread_mutex_unlock(&initialising);
    return SIM_OK;
}

ENTRY(cuDriverGetVersion, int *version)
{
    if (!version)
        return SIM_EINVAL;
    *version = sim.core.driver_version;
    return SIM_OK;
}

ENTRY(cuGetErrorName, int error, const char **name)
{
    const struct {
        int error;
        const char *name;
    } names[] = {
        {SIM_OK, "CUDA_SUCCESS"},
        {SIM_EINVAL, "CUDA_ERROR_INVALID_VALUE"},
        {SIM_ENOMEM, "CUDA_ERROR_OUT_OF_MEMORY"},
        {SIM_ENOTINIT, "CUDA_ERROR_NOT_INITIALIZED"},
        {SIM_EDEINIT, "CUDA_ERROR_DEINITIALIZED"},
        {SIM_ENODEVICE, "CUDA_ERROR_NO_DEVICE"},
        {SIM_EDEVICE, "CUDA_ERROR_INVALID_DEVICE"},
        {SIM_ECONTEXT, "CUDA_ERROR_INVALID_CONTEXT"},
        {SIM_EHANDLE, "CUDA_ERROR_INVALID_HANDLE"},
        {SIM_ENOTFOUND, "CUDA_ERROR_NOT_FOUND"},
        {SIM_ENOTREADY, "CUDA_ERROR_NOT_READY"},
    };
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (names[i].error == error) {
            *name = names[i].name;
            return SIM_OK;
        }
    return SIM_EINVAL;
}

/* The newest form of each name, as the headers map it: cuMemAlloc is cuMemAlloc_v2. flags 2:
 * per-thread streams. */
static void *newest(const char *symbol, uint64_t flags)
{
    static const char *const versions[] = {"_v4", "_v3", "_v2", ""};
    static const char *const threads[] = {"_ptsz", "_ptds", ""};
    void *self = dlopen("libcuda.so.1", RTLD_NOLOAD | RTLD_NOW), *found = NULL;
    for (size_t v = 0; self && !found && v < 4; v++)
        for (size_t t = flags & 2 ? 0 : 2; !found && t < 3; t++) {
            char name[128];
            snprintf(name, sizeof name, "%s%s%s", symbol, versions[v], threads[t]);
            found = dlsym(self, name);
        }
    if (self)
        dlclose(self);
    return found;
}

ENTRY(cuGetProcAddress_v2, const char *symbol, void **function, int version, uint64_t flags,
      int *status)
{
    (void)version;
    if (!symbol || !function)
        return SIM_EINVAL;
    *function = newest(symbol, flags);
    if (status)
        *status = *function ? 0 : 1;
    return *function ? SIM_OK : SIM_ENOTFOUND;
}

ENTRY(cuGetProcAddress, const char *symbol, void **function, int version, uint64_t flags)
{
    return cuGetProcAddress_v2(symbol, function, version, flags, NULL);
}

static int profiler(struct sim_api api)
{
    BEGIN(api, 0);
    END(SIM_OK);
}

ENTRY(cuProfilerStart, void)
{
    return profiler(API(cuProfilerStart));
}

ENTRY(cuProfilerStop, void)
{
    return profiler(API(cuProfilerStop));
}
