/* SPDX-License-Identifier: MIT */
/* looked_up LIBCUDART: a program that finds CUDA by dlopen and dlsym, uses it and closes it. */
#include <dlfcn.h>
#include <stdio.h>

int main(int argc, char **argv)
{
    for (int round = 0; round < 2; round++) {
        void *handle = dlopen(argc > 1 ? argv[1] : "libcudart.so.13", RTLD_NOW | RTLD_LOCAL);
        int (*allocate)(void **, size_t), (*release)(void *);
        void *address = NULL;
        if (!handle) {
            fprintf(stderr, "looked_up: %s\n", dlerror());
            return 1;
        }
        *(void **)&allocate = dlsym(handle, "cudaMalloc");
        *(void **)&release = dlsym(handle, "cudaFree");
        printf("%d ", allocate(&address, 4096));
        printf("%d\n", release(address));
        if (dlclose(handle))
            return 1;
    }
    return 0;
}
