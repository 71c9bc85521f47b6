/* SPDX-License-Identifier: MIT
 * unwind_rules OBJECT: loads a shared object and prints, for each address in it that stdin has
 * (hex, a line each), the rule that holds there: BASE OFFSET FRAME BELOW. */
#include <dlfcn.h>
#include <inttypes.h>
#include <link.h>
#include <stdio.h>

#include "unwind.h"

int main(int argc, char **argv)
{
    static const char *const bases[] = {"?", "rsp", "rbp", "exp", "chain", "end", "signal"};
    static const char *const frames[] = {"u", "c", "exp"};
    struct link_map *map;
    uintptr_t address;

    if (argc != 2)
        return 2;
    void *object = dlopen(argv[1], RTLD_LAZY | RTLD_LOCAL);
    if (!object || dlinfo(object, RTLD_DI_LINKMAP, &map)) {
        fprintf(stderr, "%s\n", dlerror());
        return 1;
    }
    tp_unwind_start();
    while (scanf("%" SCNxPTR, &address) == 1) {
        struct tp_unwind_rule rule = tp_unwind_find(map->l_addr + address);
        /* and what the table makes of it */
        uint32_t packed = tp_unwind_rule(map->l_addr + address + 1);
        int32_t offset = ((int32_t)(packed << 12) >> 17) * 8;
        if ((packed & 7) != rule.base || (packed >> 3 & 3) != rule.frame || offset != rule.offset ||
            (packed >> 20) * 8 != rule.frame_below)
            return 3;
        printf("%s %d %s %u\n", bases[rule.base], rule.offset, frames[rule.frame],
               rule.frame_below);
    }
    return 0;
}
