/* SPDX-License-Identifier: MIT */
/* Names of callbacks; works without a driver. */
#include "cupti.h"

#include <stddef.h>

static const char *driver_name(uint32_t cbid)
{
    switch (cbid) {
#define SIM_CALL(name, number)                                                                     \
    case number:                                                                                   \
        return #name;
#include "../driver/driver_calls.def"
#undef SIM_CALL
    default:
        return NULL;
    }
}

static const char *runtime_name(uint32_t cbid)
{
    switch (cbid) {
#define SIM_CALL(name, version, number)                                                            \
    case number:                                                                                   \
        return #name "_" #version;
#include "../runtime/runtime_calls.def"
#undef SIM_CALL
    default:
        return NULL;
    }
}

ENTRY(cuptiGetCallbackName, uint32_t domain, uint32_t cbid, const char **name)
{
    if (!name)
        return CUPTI_EPARAMETER;
    const char *found = domain == SIM_DRIVER    ? driver_name(cbid)
                        : domain == SIM_RUNTIME ? runtime_name(cbid)
                                                : NULL;
    if (!found)
        return CUPTI_EPARAMETER;
    *name = found;
    return CUPTI_OK;
}
