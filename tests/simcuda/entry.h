/* SPDX-License-Identifier: MIT */
#ifndef SIM_ENTRY_H
#define SIM_ENTRY_H

#include "simcuda.h"

/* How the stand-ins write down their exported functions. */

/* Number and name of an entry point, as CUPTI has them. */
struct sim_api {
    uint32_t cbid;
    const char *name;
};

/* The number is the enumerator that the library makes of its table of calls. */
#define API(name) ((struct sim_api){CB_##name, #name})
#define WORD(x) ((uint64_t)(uintptr_t)(x))

/* An exported function, with its declaration. */
#define ENTRY(name, ...)                                                                           \
    SIM_EXPORT int name(__VA_ARGS__);                                                              \
    int name(__VA_ARGS__)

/*
 * The default-stream and the per-thread-default-stream form of @name; both are
 * do_<name>(api, per_thread, ...).
 */
#define PAIR(name, suffix, parameters, ...)                                                        \
    ENTRY(name, UNPACK parameters)                                                                 \
    {                                                                                              \
        return do_##name(API(name), false, __VA_ARGS__);                                           \
    }                                                                                              \
    ENTRY(name##suffix, UNPACK parameters)                                                         \
    {                                                                                              \
        return do_##name(API(name##suffix), true, __VA_ARGS__);                                    \
    }
#define UNPACK(...) __VA_ARGS__

#endif
