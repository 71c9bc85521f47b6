/* SPDX-License-Identifier: MIT */
/* Start, devices, errors. */
#include "runtime.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

struct sim_driver driver;
const struct sim_core *core;

static __thread bool initialised; /* this thread has been through cuInit */
static __thread int device;
static __thread int last_error;

enum { INSUFFICIENT_DRIVER = 35 };

static int load_driver(void)
{
    static int result = -1;
    static pthread_mutex_t loading = PTHREAD_MUTEX_INITIALIZER;
    pthread_mutex_lock(&loading);
    if (result) {
        void *library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
        const struct sim_core *(*get)(void) = NULL;
        if (library)
            *(void **)&get = dlsym(library, "simcuda_core");
        result = INSUFFICIENT_DRIVER;
        if (get) {
#define IMPORT(name, ...) *(void **)&driver.name = dlsym(library, #name);
#include "driver_imports.def"
#undef IMPORT
            core = get();
            result = SIM_OK;
        }
    }
    pthread_mutex_unlock(&loading);
    return result;
}

int sim_runtime_ready(void)
{
    if (__builtin_expect(initialised && core->current_context(), 1))
        return core->forked() ? SIM_ENOTINIT : core->finished() ? SIM_EDEINIT : SIM_OK;
    int result = load_driver();
    if (!result)
        result = driver.cuInit(0);
    if (result)
        return result;
    initialised = true;
    if (!core->current_context())
        core->set_current_context(core->primary_context(device));
    return SIM_OK;
}

int sim_runtime_result(int result)
{
    if (result && result != SIM_ENOTREADY)
        last_error = result;
    return result;
}

ENTRY(cudaGetLastError, void)
{
    int error = last_error;
    last_error = 0;
    return error;
}

ENTRY(cudaPeekAtLastError, void)
{
    return last_error;
}

static const struct {
    int error;
    const char *name, *text;
} errors[] = {
    {SIM_OK, "cudaSuccess", "no error"},
    {SIM_EINVAL, "cudaErrorInvalidValue", "invalid argument"},
    {SIM_ENOMEM, "cudaErrorMemoryAllocation", "out of memory"},
    {SIM_ENOTINIT, "cudaErrorInitializationError", "initialization error"},
    {SIM_EDEINIT, "cudaErrorCudartUnloading", "driver shutting down"},
    {INSUFFICIENT_DRIVER, "cudaErrorInsufficientDriver", "no driver, or too old a one"},
    {SIM_EFUNCTION, "cudaErrorInvalidDeviceFunction", "invalid device function"},
    {SIM_ENODEVICE, "cudaErrorNoDevice", "no CUDA-capable device"},
    {SIM_EDEVICE, "cudaErrorInvalidDevice", "invalid device ordinal"},
    {SIM_EHANDLE, "cudaErrorInvalidResourceHandle", "invalid resource handle"},
    {SIM_ENOTREADY, "cudaErrorNotReady", "device not ready"},
};

static size_t error_index(int error)
{
    size_t i = 0;
    while (i < sizeof errors / sizeof errors[0] && errors[i].error != error)
        i++;
    return i;
}

SIM_EXPORT const char *cudaGetErrorName(int error);
const char *cudaGetErrorName(int error)
{
    size_t i = error_index(error);
    return i < sizeof errors / sizeof errors[0] ? errors[i].name : "unrecognized error code";
}

SIM_EXPORT const char *cudaGetErrorString(int error);
const char *cudaGetErrorString(int error)
{
    size_t i = error_index(error);
    return i < sizeof errors / sizeof errors[0] ? errors[i].text : "unrecognized error code";
}

ENTRY(cudaRuntimeGetVersion, int *version)
{
    if (!version)
        return SIM_EINVAL;
    *version = SIM_RUNTIME_VERSION;
    return SIM_OK;
}

ENTRY(cudaDriverGetVersion, int *version)
{
    if (!version)
        return SIM_EINVAL;
    *version = 0;
    return load_driver() ? SIM_OK : driver.cuDriverGetVersion(version);
}

ENTRY(cudaGetDeviceCount, int *count)
{
    if (!count)
        return sim_runtime_result(SIM_EINVAL);
    *count = 0;
    BEGIN(API(cudaGetDeviceCount), WORD(count));
    *count = core->device_count();
    END(SIM_OK);
}

ENTRY(cudaGetDevice, int *ordinal)
{
    BEGIN(API(cudaGetDevice), WORD(ordinal));
    *ordinal = device;
    END(SIM_OK);
}

ENTRY(cudaSetDevice, int ordinal)
{
    BEGIN(API(cudaSetDevice), WORD(ordinal));
    struct sim_context *context = core->primary_context(ordinal);
    if (!context)
        END(SIM_EDEVICE);
    device = ordinal;
    core->set_current_context(context);
    END(SIM_OK);
}

static int entry_point(struct sim_api api, const char *symbol, void **function, int version,
                       uint64_t flags, int *status)
{
    BEGIN(api, WORD(symbol), WORD(function), version, flags, WORD(status));
    int found = 1, result = driver.cuGetProcAddress_v2(symbol, function, version, flags, &found);
    if (status)
        *status = found;
    END(result == SIM_ENOTFOUND ? SIM_OK : result);
}

ENTRY(cudaGetDriverEntryPoint, const char *symbol, void **function, uint64_t flags, int *status)
{
    return entry_point(API(cudaGetDriverEntryPoint), symbol, function, SIM_RUNTIME_VERSION, flags,
                       status);
}

ENTRY(cudaGetDriverEntryPointByVersion, const char *symbol, void **function, unsigned version,
      uint64_t flags, int *status)
{
    return entry_point(API(cudaGetDriverEntryPointByVersion), symbol, function, (int)version, flags,
                       status);
}
