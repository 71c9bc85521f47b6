/* SPDX-License-Identifier: MIT */
/*
 * Fat binaries and their kernels, registered by constructors of the program's libraries before main
 * and without a driver. A binary becomes a module at its first launch. Host pointers and kernel
 * handles are keys of one table.
 */
#include "runtime.h"

#include <stdlib.h>
#include <string.h>

struct binary {
    struct sim_module *module;
};

struct kernel {
    const void *host;
    char *name;
    struct binary *binary;
    struct sim_function *function;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* Open addressing; grows by a new table, so that a reader without the lock sees one or the other.
 */
struct table {
    size_t size, used;
    struct {
        const void *key;
        struct kernel *kernel;
    } slots[];
};
static struct table *table;

static size_t home(const struct table *in, const void *key)
{
    return (WORD(key) * 0x9e3779b97f4a7c15u >> 32) & (in->size - 1);
}

static struct kernel *find(const void *key)
{
    const struct table *in = __atomic_load_n(&table, __ATOMIC_ACQUIRE);
    if (!in)
        return NULL;
    for (size_t i = home(in, key);; i = (i + 1) & (in->size - 1)) {
        const void *at = __atomic_load_n(&in->slots[i].key, __ATOMIC_ACQUIRE);
        if (at == key)
            return in->slots[i].kernel;
        if (!at)
            return NULL;
    }
}

static void put(struct table *in, const void *key, struct kernel *kernel)
{
    size_t i = home(in, key);
    while (in->slots[i].key && in->slots[i].key != key)
        i = (i + 1) & (in->size - 1);
    if (!in->slots[i].key)
        in->used++;
    in->slots[i].kernel = kernel;
    __atomic_store_n(&in->slots[i].key, key, __ATOMIC_RELEASE);
}

static void add(const void *key, struct kernel *kernel)
{
    if (!table || table->used * 2 >= table->size) {
        size_t size = table ? table->size * 2 : 256;
        struct table *grown = calloc(1, sizeof *grown + size * sizeof grown->slots[0]);
        grown->size = size;
        for (size_t i = 0; table && i < table->size; i++)
            if (table->slots[i].key)
                put(grown, table->slots[i].key, table->slots[i].kernel);
        put(grown, key, kernel);
        __atomic_store_n(&table, grown,
                         __ATOMIC_RELEASE); /* the old one stays: someone may read it */
        return;
    }
    put(table, key, kernel);
}

SIM_EXPORT void **__cudaRegisterFatBinary(void *image);
void **__cudaRegisterFatBinary(void *image)
{
    (void)image;
    return calloc(1, sizeof(struct binary));
}

SIM_EXPORT void __cudaRegisterFatBinaryEnd(void **handle);
void __cudaRegisterFatBinaryEnd(void **handle)
{
    (void)handle;
}

SIM_EXPORT void __cudaUnregisterFatBinary(void **handle);
void __cudaUnregisterFatBinary(void **handle)
{
    struct binary *binary = (struct binary *)handle;
    if (!binary)
        return;
    pthread_mutex_lock(&lock);
    for (size_t i = 0; table && i < table->size; i++)
        if (table->slots[i].kernel && table->slots[i].kernel->binary == binary)
            table->slots[i].kernel->function = NULL;
    pthread_mutex_unlock(&lock);
    if (binary->module && core && !core->finished())
        core->module_unload(binary->module);
    binary->module = NULL;
}

SIM_EXPORT char __cudaInitModule(void **handle);
char __cudaInitModule(void **handle)
{
    (void)handle;
    return 1;
}

SIM_EXPORT void __cudaRegisterFunction(void **handle, const char *host, char *device_function,
                                       const char *device_name, int limit, void *tid, void *bid,
                                       void *block, void *grid, int *warp);
void __cudaRegisterFunction(void **handle, const char *host, char *device_function,
                            const char *device_name, int limit, void *tid, void *bid, void *block,
                            void *grid, int *warp)
{
    (void)device_function, (void)limit, (void)tid, (void)bid, (void)block, (void)grid, (void)warp;
    struct kernel *kernel = calloc(1, sizeof *kernel);
    kernel->host = host;
    kernel->name = strdup(device_name);
    kernel->binary = (struct binary *)handle;
    pthread_mutex_lock(&lock);
    add(host, kernel);
    add(kernel, kernel);
    pthread_mutex_unlock(&lock);
}

static struct variable {
    const void *host;
    size_t size;
    uint64_t address; /* once a copy needed it */
    struct variable *next;
} * variables;

SIM_EXPORT void __cudaRegisterVar(void **handle, char *host, char *address, const char *name,
                                  int ext, size_t size, int constant, int global);
void __cudaRegisterVar(void **handle, char *host, char *address, const char *name, int ext,
                       size_t size, int constant, int global)
{
    (void)handle, (void)address, (void)name, (void)ext, (void)constant, (void)global;
    struct variable *variable = calloc(1, sizeof *variable);
    variable->host = host;
    variable->size = size;
    pthread_mutex_lock(&lock);
    variable->next = variables;
    variables = variable;
    pthread_mutex_unlock(&lock);
}

/* A managed variable is one whose memory the host reaches too. */
SIM_EXPORT void __cudaRegisterManagedVar(void **handle, void **host, char *address,
                                         const char *name, int ext, size_t size, int constant,
                                         int global);
void __cudaRegisterManagedVar(void **handle, void **host, char *address, const char *name, int ext,
                              size_t size, int constant, int global)
{
    __cudaRegisterVar(handle, (char *)host, address, name, ext, size, constant, global);
}

uint64_t sim_runtime_variable(const void *host)
{
    pthread_mutex_lock(&lock);
    struct variable *each = variables;
    while (each && each->host != host)
        each = each->next;
    if (each && !each->address)
        core->memory_reserve(each->size, &each->address);
    pthread_mutex_unlock(&lock);
    return each ? each->address : 0;
}

struct sim_function *sim_runtime_function(const void *host_or_handle)
{
    struct kernel *kernel = find(host_or_handle);
    if (!kernel)
        return NULL;
    struct sim_function *function = __atomic_load_n(&kernel->function, __ATOMIC_ACQUIRE);
    if (__builtin_expect(!function, 0)) {
        pthread_mutex_lock(&lock);
        if (!kernel->binary->module)
            kernel->binary->module = core->module_load();
        function = core->module_function(kernel->binary->module, kernel->name);
        __atomic_store_n(&kernel->function, function, __ATOMIC_RELEASE);
        pthread_mutex_unlock(&lock);
    }
    return function;
}

const char *sim_runtime_function_name(const void *host_or_handle)
{
    const struct kernel *kernel = find(host_or_handle);
    return kernel ? kernel->name : NULL;
}

/* Without a driver the handle is the host pointer. */
ENTRY(__cudaGetKernel, void **handle, const void *host)
{
    struct kernel *kernel = find(host);
    *handle = kernel && !sim_runtime_ready() ? (void *)kernel : (void *)(uintptr_t)host;
    return kernel ? SIM_OK : sim_runtime_result(SIM_EFUNCTION);
}

ENTRY(cudaGetKernel, void **handle, const void *host)
{
    return __cudaGetKernel(handle, host);
}

ENTRY(cudaFuncGetName, const char **name, const void *host)
{
    int unready = sim_runtime_ready();
    if (unready)
        return sim_runtime_result(unready);
    *name = sim_runtime_function_name(host);
    return *name ? SIM_OK : sim_runtime_result(SIM_EFUNCTION);
}
