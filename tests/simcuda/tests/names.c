/* SPDX-License-Identifier: MIT */
/*
 * Asks this libcupti and another (argument 1) for the name of every callback. Prints those where
 * the other has another name, then how many this one has.
 */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

int cuptiGetCallbackName(uint32_t domain, uint32_t cbid, const char **name);

int main(int argc, char **argv)
{
    int (*theirs)(uint32_t, uint32_t, const char **), count = 0;
    void *library = argc > 1 ? dlopen(argv[1], RTLD_NOW | RTLD_LOCAL) : NULL;
    *(void **)&theirs = library ? dlsym(library, "cuptiGetCallbackName") : NULL;
    if (!theirs)
        return 1;
    for (uint32_t domain = 1; domain <= 2; domain++)
        for (uint32_t cbid = 1; cbid < 1024; cbid++) {
            const char *name, *other = NULL;
            if (cuptiGetCallbackName(domain, cbid, &name))
                continue;
            count++;
            if (theirs(domain, cbid, &other) || strcmp(name, other))
                printf("%u %u %s %s\n", domain, cbid, name, other ? other : "-");
        }
    printf("%d\n", count);
    return 0;
}
