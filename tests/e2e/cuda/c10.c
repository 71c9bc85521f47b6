/* SPDX-License-Identifier: MIT */
/* Stands for PyTorch's libc10: what the caching allocator reports arrives here, under the names of
 * both of its forms. */
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct device {
    int8_t type, index;
};

#define FORM(SYMBOL, form)                                                                         \
    void SYMBOL(void *address, long bytes, size_t allocated, size_t reserved,                      \
                struct device device);                                                             \
    __attribute__((visibility("default"))) void SYMBOL(                                            \
        void *address, long bytes, size_t allocated, size_t reserved, struct device device)        \
    {                                                                                              \
        printf("%s %d %ld %zu %zu %d:%d\n", form, address != NULL, bytes, allocated, reserved,     \
               device.type, device.index);                                                         \
    }
FORM(_ZN3c1027reportMemoryUsageToProfilerEPvlmmNS_6DeviceE, "new")
FORM(_ZN3c1027reportMemoryUsageToProfilerEPvlllNS_6DeviceE, "old")
