/* SPDX-License-Identifier: MIT */
/*
 * Which CUPTI this is, and whether there is a driver for it. SIMCUDA_CUPTI_API changes the version
 * that the library was built to be. Without libcuda each call that needs it looks for it again:
 * a dlopen in vain, some 20 us as with the real one.
 */
#include "cupti.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <time.h>

uint32_t sim_cupti_api(void)
{
    static uint32_t api;
    if (__builtin_expect(!api, 0)) {
        const char *text = getenv("SIMCUDA_CUPTI_API");
        api = text && *text ? (uint32_t)strtoul(text, NULL, 10) : SIM_CUPTI_API;
    }
    return api;
}

/* The CUDA version that goes with an API number, as cuDriverGetVersion would say it. */
static int cuda_version(uint32_t api)
{
    static const struct {
        uint32_t api;
        int version;
    } known[] = {{13, 11000}, {14, 11010}, {15, 11020}, {16, 11050}, {17, 11060},
                 {18, 11080}, {19, 12000}, {20, 12020}, {21, 12030}, {22, 12040},
                 {23, 12050}, {24, 12060}, {26, 12080}, {27, 12090}};
    int version = 11000;
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
        if (api >= known[i].api)
            version = known[i].version;
    return api >= 10000 ? (int)(api / 10000) * 1000 + (int)(api / 100 % 100) * 10 : version;
}

static const struct sim_core *find(void)
{
    static const struct sim_core *found;
    const struct sim_core *core = __atomic_load_n(&found, __ATOMIC_ACQUIRE);
    if (core)
        return core;
    void *library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    const struct sim_core *(*get)(void) = NULL;
    if (library)
        *(void **)&get = dlsym(library, "simcuda_core");
    if (!get)
        return NULL;
    core = get();
    __atomic_store_n(&found, core, __ATOMIC_RELEASE);
    return core;
}

const struct sim_core *sim_cupti_core_if_there(void)
{
    return find();
}

const struct sim_core *sim_cupti_core(const char *function, int *ret_error)
{
    const struct sim_core *core = find();
    *ret_error = CUPTI_EUNKNOWN;
    if (!core)
        return NULL;
    if (core->forked()) {
        core->misuse("%s called in a child that was forked after cuInit", function);
        return NULL;
    }
    if (core->finished())
        return NULL;
    *ret_error = CUPTI_ENOTINIT;
    return cuda_version(sim_cupti_api()) / 1000 > core->driver_version / 1000 ? NULL : core;
}

static pthread_mutex_t lock = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;

struct sim_entered sim_cupti_enter(const struct sim_core *core, const char *what)
{
    static long known_ms = -1;
    long patience_ms = __atomic_load_n(&known_ms, __ATOMIC_RELAXED);
    if (__builtin_expect(patience_ms < 0, 0)) {
        patience_ms = (long)core->number("LOCK", 0);
        __atomic_store_n(&known_ms, patience_ms, __ATOMIC_RELAXED);
    }
    if (__builtin_expect(!patience_ms, 1))
        return (struct sim_entered){false};
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += patience_ms / 1000;
    until.tv_nsec += patience_ms % 1000 * 1000000;
    if (until.tv_nsec >= 1000000000) {
        until.tv_sec++;
        until.tv_nsec -= 1000000000;
    }
    if (pthread_mutex_timedlock(&lock, &until)) {
        core->misuse("%s waits for CUPTI's lock, and another thread for one of the client's", what);
        return (struct sim_entered){false};
    }
    return (struct sim_entered){true};
}

void sim_cupti_leave(struct sim_entered *entered)
{
    if (entered->locked)
        pthread_mutex_unlock(&lock);
}

ENTRY(cuptiGetVersion, uint32_t *version)
{
    if (!version)
        return CUPTI_EPARAMETER;
    *version = sim_cupti_api();
    return CUPTI_OK;
}

/* The time of the clock that records have: CLOCK_REALTIME without a driver. */
ENTRY(cuptiGetTimestamp, uint64_t *timestamp)
{
    if (!timestamp)
        return CUPTI_EPARAMETER;
    const struct sim_core *core = find();
    if (core) {
        *timestamp = core->now();
        return CUPTI_OK;
    }
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    *timestamp = (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
    return CUPTI_OK;
}

ENTRY(cuptiGetResultString, int result, const char **text)
{
    static const struct {
        int result;
        const char *name;
    } names[] = {
        {CUPTI_OK, "CUPTI_SUCCESS"},
        {CUPTI_EPARAMETER, "CUPTI_ERROR_INVALID_PARAMETER"},
        {CUPTI_EOPERATION, "CUPTI_ERROR_INVALID_OPERATION"},
        {CUPTI_ESIZE, "CUPTI_ERROR_PARAMETER_SIZE_NOT_SUFFICIENT"},
        {CUPTI_EMAXLIMIT, "CUPTI_ERROR_MAX_LIMIT_REACHED"},
        {CUPTI_ENOTINIT, "CUPTI_ERROR_NOT_INITIALIZED"},
        {CUPTI_EQUEUEEMPTY, "CUPTI_ERROR_QUEUE_EMPTY"},
        {CUPTI_EKIND, "CUPTI_ERROR_INVALID_KIND"},
        {CUPTI_ENOTSUPPORTED, "CUPTI_ERROR_NOT_SUPPORTED"},
        {35, "CUPTI_ERROR_INSUFFICIENT_PRIVILEGES"},
        {CUPTI_ESUBSCRIBERS, "CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED"},
        {CUPTI_EUNKNOWN, "CUPTI_ERROR_UNKNOWN"},
    };
    if (!text)
        return CUPTI_EPARAMETER;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (names[i].result == result) {
            *text = names[i].name;
            return CUPTI_OK;
        }
    return CUPTI_EPARAMETER;
}
