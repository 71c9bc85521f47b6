/* SPDX-License-Identifier: MIT */
/* plugin_host LIBRARY...: opens each RTLD_LOCAL, runs it, closes it, twice over. */
#include <dlfcn.h>
#include <stdio.h>

int main(int argc, char **argv)
{
    for (int round = 0; round < 2; round++)
        for (int i = 1; i < argc; i++) {
            void *handle = dlopen(argv[i], RTLD_NOW | RTLD_LOCAL);
            int (*run)(int);
            if (!handle || !(*(void **)&run = dlsym(handle, "plugin_run"))) {
                fprintf(stderr, "plugin_host: %s\n", dlerror());
                return 1;
            }
            printf("%d\n", run(3 + i));
            if (dlclose(handle))
                return 1;
        }
    return 0;
}
