/* SPDX-License-Identifier: MIT */
/*
 * Devices and contexts. SIMCUDA_DEVICES of them, alike but for their uuid; CUDA_VISIBLE_DEVICES
 * chooses and orders.
 */
#include "driver.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_DEVICES = sizeof sim.devices / sizeof sim.devices[0] };

static __thread struct sim_context *current;

static void add_device(int physical)
{
    struct sim_device *device = &sim.devices[sim.device_count];
    device->ordinal = sim.device_count++;
    device->memory_bytes = sim_number("DEVICE_MEMORY", 16ull << 30);
    device->multiprocessors = (uint32_t)sim_number("MULTIPROCESSORS", 108);
    device->major = 8;
    device->minor = 0;
    snprintf(device->name, sizeof device->name, "Simulated GPU");
    memset(device->uuid, 0x5a, sizeof device->uuid);
    device->uuid[15] = (uint8_t)physical;
}

void sim_devices_init(void)
{
    int count = (int)sim_number("DEVICES", 1);
    const char *visible = getenv("CUDA_VISIBLE_DEVICES");
    if (count > MAX_DEVICES)
        count = MAX_DEVICES;
    sim.next_stream = 7; /* the first context's default stream is 7 in records */
    if (!visible) {
        for (int i = 0; i < count; i++)
            add_device(i);
        return;
    }
    /* Numbers up to the first that is none, as the driver reads them. */
    for (char *end; *visible && sim.device_count < MAX_DEVICES; visible = end + (*end == ',')) {
        long physical = strtol(visible, &end, 10);
        if (end == visible || physical < 0 || physical >= count)
            return;
        add_device((int)physical);
    }
}

struct sim_device *sim_device(int ordinal)
{
    return ordinal >= 0 && ordinal < sim.device_count ? &sim.devices[ordinal] : NULL;
}

static struct sim_context *context_create(struct sim_device *device)
{
    struct sim_context *context = calloc(1, sizeof *context);
    context->device = device;
    pthread_mutex_lock(&sim_lock);
    context->id = ++sim.next_context;
    struct sim_context **end = &sim.contexts;
    while (*end)
        end = &(*end)->next;
    *end = context;
    pthread_mutex_unlock(&sim_lock);
    struct sim_resource resource = {.context = context};
    OBSERVE(resource, SIM_CONTEXT_CREATED, &resource);
    sim_stream_create(context, 0, 0);
    return context;
}

struct sim_context *sim_primary_context(int ordinal)
{
    static pthread_mutex_t creating = PTHREAD_MUTEX_INITIALIZER;
    struct sim_device *device = sim_device(ordinal);
    if (!device)
        return NULL;
    pthread_mutex_lock(&creating);
    if (!device->primary)
        device->primary = context_create(device);
    pthread_mutex_unlock(&creating);
    return device->primary;
}

struct sim_context *sim_current_context(void)
{
    return current;
}

void sim_set_current_context(struct sim_context *context)
{
    current = context;
}

ENTRY(cuDeviceGetCount, int *count)
{
    BEGIN(API(cuDeviceGetCount), WORD(count));
    *count = sim.device_count;
    END(SIM_OK);
}

ENTRY(cuDeviceGet, int *device, int ordinal)
{
    BEGIN(API(cuDeviceGet), WORD(device), WORD(ordinal));
    if (!sim_device(ordinal))
        END(SIM_EDEVICE);
    *device = ordinal;
    END(SIM_OK);
}

ENTRY(cuDeviceGetName, char *name, int size, int device)
{
    BEGIN(API(cuDeviceGetName), WORD(name), WORD(size), WORD(device));
    if (!sim_device(device))
        END(SIM_EDEVICE);
    snprintf(name, (size_t)size, "%s", sim.devices[device].name);
    END(SIM_OK);
}

static int uuid(struct sim_api api, uint8_t *bytes, int device)
{
    BEGIN(api, WORD(bytes), WORD(device));
    if (!sim_device(device))
        END(SIM_EDEVICE);
    memcpy(bytes, sim.devices[device].uuid, 16);
    END(SIM_OK);
}

ENTRY(cuDeviceGetUuid, uint8_t *bytes, int device)
{
    return uuid(API(cuDeviceGetUuid), bytes, device);
}

ENTRY(cuDeviceGetUuid_v2, uint8_t *bytes, int device)
{
    return uuid(API(cuDeviceGetUuid_v2), bytes, device);
}

ENTRY(cuDeviceTotalMem_v2, size_t *bytes, int device)
{
    BEGIN(API(cuDeviceTotalMem_v2), WORD(bytes), WORD(device));
    if (!sim_device(device))
        END(SIM_EDEVICE);
    *bytes = sim.devices[device].memory_bytes;
    END(SIM_OK);
}

/* Attributes that programs and agents ask for, by CUDA's numbers. */
ENTRY(cuDeviceGetAttribute, int *value, int attribute, int device)
{
    BEGIN(API(cuDeviceGetAttribute), WORD(value), WORD(attribute), WORD(device));
    if (!sim_device(device))
        END(SIM_EDEVICE);
    const struct {
        int attribute, value;
    } known[] = {
        {1, 1024},   /* threads per block */
        {8, 49152},  /* shared memory per block */
        {10, 32},    /* warp size */
        {12, 65536}, /* registers per block */
        {16, (int)sim.devices[device].multiprocessors},
        {39, 2048}, /* threads per multiprocessor */
        {75, (int)sim.devices[device].major},
        {76, (int)sim.devices[device].minor},
        {81, 167936}, /* shared memory per multiprocessor */
        {82, 65536},  /* registers per multiprocessor */
        {106, 32},    /* blocks per multiprocessor */
        {115, 1},     /* memory pools */
    };
    *value = 0;
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
        if (known[i].attribute == attribute)
            *value = known[i].value;
    END(SIM_OK);
}

ENTRY(cuDevicePrimaryCtxRetain, struct sim_context **context, int device)
{
    BEGIN(API(cuDevicePrimaryCtxRetain), WORD(context), WORD(device));
    if (!sim_device(device))
        END(SIM_EDEVICE);
    *context = sim_primary_context(device);
    END(SIM_OK);
}

ENTRY(cuDevicePrimaryCtxRelease_v2, int device)
{
    BEGIN(API(cuDevicePrimaryCtxRelease_v2), WORD(device));
    END(sim_device(device) ? SIM_OK : SIM_EDEVICE);
}

static int create(struct sim_api api, struct sim_context **context, unsigned flags, int device)
{
    BEGIN(api, WORD(context), WORD(flags), WORD(device));
    if (!sim_device(device))
        END(SIM_EDEVICE);
    current = *context = context_create(sim_device(device));
    END(SIM_OK);
}

ENTRY(cuCtxCreate_v2, struct sim_context **context, unsigned flags, int device)
{
    return create(API(cuCtxCreate_v2), context, flags, device);
}

ENTRY(cuCtxCreate_v4, struct sim_context **context, void *parameters, unsigned flags, int device)
{
    (void)parameters;
    return create(API(cuCtxCreate_v4), context, flags, device);
}

ENTRY(cuCtxDestroy_v2, struct sim_context *context)
{
    BEGIN(API(cuCtxDestroy_v2), WORD(context));
    if (!context)
        END(SIM_ECONTEXT);
    struct sim_resource resource = {.context = context};
    OBSERVE(resource, SIM_CONTEXT_DESTROY, &resource);
    pthread_mutex_lock(&sim_lock);
    for (struct sim_context **at = &sim.contexts; *at; at = &(*at)->next)
        if (*at == context) {
            *at = context->next;
            break;
        }
    pthread_mutex_unlock(&sim_lock);
    if (current == context)
        current = NULL;
    /* Its memory stays: records that are still to come name it. */
    END(SIM_OK);
}

ENTRY(cuCtxSetCurrent, struct sim_context *context)
{
    BEGIN(API(cuCtxSetCurrent), WORD(context));
    current = context;
    END(SIM_OK);
}

ENTRY(cuCtxGetCurrent, struct sim_context **context)
{
    BEGIN(API(cuCtxGetCurrent), WORD(context));
    *context = current;
    END(SIM_OK);
}

enum { CONTEXT_STACK = 16 };
static __thread struct sim_context *pushed[CONTEXT_STACK];
static __thread int pushed_count;

ENTRY(cuCtxPushCurrent_v2, struct sim_context *context)
{
    BEGIN(API(cuCtxPushCurrent_v2), WORD(context));
    if (!context || pushed_count == CONTEXT_STACK)
        END(SIM_EINVAL);
    pushed[pushed_count++] = current;
    current = context;
    END(SIM_OK);
}

ENTRY(cuCtxPopCurrent_v2, struct sim_context **context)
{
    BEGIN(API(cuCtxPopCurrent_v2), WORD(context));
    if (!pushed_count)
        END(SIM_ECONTEXT);
    if (context)
        *context = current;
    current = pushed[--pushed_count];
    END(SIM_OK);
}

ENTRY(cuCtxGetDevice, int *device)
{
    BEGIN(API(cuCtxGetDevice), WORD(device));
    if (!current)
        END(SIM_ECONTEXT);
    *device = current->device->ordinal;
    END(SIM_OK);
}

ENTRY(cuCtxSynchronize, void)
{
    BEGIN(API(cuCtxSynchronize), 0);
    if (!current)
        END(SIM_ECONTEXT);
    sim_wait(current, NULL, current->all_end, SIM_SYNC_CONTEXT, UINT32_MAX, 0);
    END(SIM_OK);
}

static int stream_create(struct sim_api api, struct sim_stream **stream, unsigned flags,
                         int priority)
{
    struct {
        struct sim_stream **stream;
        unsigned flags;
        int priority;
    } params = {stream, flags, priority};
    BEGIN_WITH(api, &params);
    if (!current)
        END(SIM_ECONTEXT);
    if (!stream)
        END(SIM_EINVAL);
    *stream = sim_stream_create(current, flags, priority);
    END(SIM_OK);
}

ENTRY(cuStreamCreate, struct sim_stream **stream, unsigned flags)
{
    return stream_create(API(cuStreamCreate), stream, flags, 0);
}

ENTRY(cuStreamCreateWithPriority, struct sim_stream **stream, unsigned flags, int priority)
{
    return stream_create(API(cuStreamCreateWithPriority), stream, flags, priority);
}

ENTRY(cuStreamDestroy_v2, struct sim_stream *stream)
{
    BEGIN(API(cuStreamDestroy_v2), WORD(stream));
    if (WORD(stream) <= 2)
        END(SIM_EHANDLE);
    struct sim_resource resource = {.context = stream->context, .stream = stream};
    OBSERVE(resource, SIM_STREAM_DESTROY, &resource);
    pthread_mutex_lock(&sim_lock);
    for (struct sim_stream **at = &stream->context->streams; *at; at = &(*at)->next)
        if (*at == stream) {
            *at = stream->next;
            break;
        }
    pthread_mutex_unlock(&sim_lock);
    free(stream);
    END(SIM_OK);
}

static int do_cuStreamSynchronize(struct sim_api api, bool per_thread, void *handle)
{
    BEGIN(api, WORD(handle));
    struct sim_stream *stream = sim_stream_of(current, handle, per_thread);
    if (!stream)
        END(SIM_ECONTEXT);
    if (stream->capturing)
        END(SIM_ECAPTURE);
    struct sim_context *context = stream->context;
    uint64_t end = stream == context->null_stream ? context->blocking_end : stream->end;
    sim_wait(context, stream, end, SIM_SYNC_STREAM, UINT32_MAX, 0);
    END(SIM_OK);
}
PAIR(cuStreamSynchronize, _ptsz, (void *handle), handle)

static int do_cuStreamQuery(struct sim_api api, bool per_thread, void *handle)
{
    BEGIN(api, WORD(handle));
    struct sim_stream *stream = sim_stream_of(current, handle, per_thread);
    if (!stream)
        END(SIM_ECONTEXT);
    END(stream->end <= sim_now() ? SIM_OK : SIM_ENOTREADY);
}
PAIR(cuStreamQuery, _ptsz, (void *handle), handle)
