/* SPDX-License-Identifier: MIT */
/* The names of hooks.def, for CUPTI's callbacks and records. */
#include "source/cuda/cuda.h"

static const struct {
    uint8_t domain;
    uint8_t length;
    const char *name;
} listed[] = {
#define DOMAIN_RUNTIME TP_CUPTI_DOMAIN_RUNTIME
#define DOMAIN_DRIVER TP_CUPTI_DOMAIN_DRIVER
#define TP_CUDA_HOOK(LIBRARY, SYMBOL, shown, parameters, arguments, BEFORE, AFTER)                 \
    {DOMAIN_##LIBRARY, sizeof(shown) - 1, shown},
#define TP_CUDA_LISTED(LIBRARY, shown) {DOMAIN_##LIBRARY, sizeof(shown) - 1, shown},
#include "source/cuda/hooks.def"
};

bool tp_cuda_is_listed(uint32_t domain, const char *plain_name, size_t length)
{
    for (unsigned i = 0; i < sizeof(listed) / sizeof(listed[0]); i++)
        if (listed[i].domain == domain && listed[i].length == length &&
            !memcmp(listed[i].name, plain_name, length))
            return true;
    return false;
}
