/* SPDX-License-Identifier: MIT */
/*
 * Modules and their kernels. The bytes of a kernel's name belong to its module: unloading
 * overwrites them, and the next kernel gets the same address, so that a client that kept the
 * pointer is found out.
 */
#include "driver.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct sim_module {
    uint32_t id;
    struct sim_function *functions;
};

struct name_room {
    struct name_room *next;
    size_t size;
    char text[];
};
static struct name_room *free_names;

static const char *name_take(const char *name)
{
    size_t size = (strlen(name) + 1 + 255) / 256 * 256;
    for (struct name_room **at = &free_names; *at; at = &(*at)->next)
        if ((*at)->size == size) {
            struct name_room *found = *at;
            *at = found->next;
            return strcpy(found->text, name);
        }
    struct name_room *made = calloc(1, sizeof *made + size);
    made->size = size;
    return strcpy(made->text, name);
}

static void name_give(const char *name)
{
    struct name_room *room =
        (struct name_room *)((uintptr_t)name - offsetof(struct name_room, text));
    memset(room->text, '?', room->size - 1);
    room->next = free_names;
    free_names = room;
}

struct sim_module *sim_module_load(void)
{
    struct sim_module *module = calloc(1, sizeof *module);
    pthread_mutex_lock(&sim_lock);
    module->id = ++sim.next_module;
    pthread_mutex_unlock(&sim_lock);
    struct sim_resource resource = {.context = sim_current_context(), .module = module->id};
    OBSERVE(resource, SIM_MODULE_LOADED, &resource);
    return module;
}

void sim_module_unload(struct sim_module *module)
{
    if (!module)
        return;
    struct sim_resource resource = {.context = sim_current_context(), .module = module->id};
    OBSERVE(resource, SIM_MODULE_UNLOAD, &resource);
    pthread_mutex_lock(&sim_lock);
    for (struct sim_function *each = module->functions, *next; each; each = next) {
        next = each->next;
        name_give(each->name);
        free(each);
    }
    pthread_mutex_unlock(&sim_lock);
    free(module);
}

struct sim_function *sim_module_function(struct sim_module *module, const char *name)
{
    pthread_mutex_lock(&sim_lock);
    struct sim_function *each = module->functions;
    while (each && strcmp(each->name, name) != 0)
        each = each->next;
    if (!each) {
        each = calloc(1, sizeof *each);
        each->name = name_take(name);
        each->module = module;
        sim_script_kernel(each);
        each->next = module->functions;
        module->functions = each;
    }
    pthread_mutex_unlock(&sim_lock);
    return each;
}

/* An image is not looked into: any kernel that is asked for is there, unless its name begins with
 * "missing". */
static int load(struct sim_api api, void **module, const void *image)
{
    BEGIN(api, WORD(module), WORD(image));
    if (!module || !image)
        END(SIM_EINVAL);
    *module = sim_module_load();
    END(SIM_OK);
}

ENTRY(cuModuleLoad, void **module, const char *path)
{
    return load(API(cuModuleLoad), module, path);
}

ENTRY(cuModuleLoadData, void **module, const void *image)
{
    return load(API(cuModuleLoadData), module, image);
}

ENTRY(cuModuleLoadDataEx, void **module, const void *image, unsigned options, int *names,
      void **values)
{
    (void)options, (void)names, (void)values;
    return load(API(cuModuleLoadDataEx), module, image);
}

ENTRY(cuLibraryLoadData, void **library, const void *image, int *jit, void **jit_values,
      unsigned jit_count, int *options, void **values, unsigned count)
{
    (void)jit, (void)jit_values, (void)jit_count, (void)options, (void)values, (void)count;
    return load(API(cuLibraryLoadData), library, image);
}

static int unload(struct sim_api api, void *module)
{
    BEGIN(api, WORD(module));
    if (!module)
        END(SIM_EHANDLE);
    sim_module_unload(module);
    END(SIM_OK);
}

ENTRY(cuModuleUnload, void *module)
{
    return unload(API(cuModuleUnload), module);
}

ENTRY(cuLibraryUnload, void *library)
{
    return unload(API(cuLibraryUnload), library);
}

static int get(struct sim_api api, void **function, void *module, const char *name)
{
    BEGIN(api, WORD(function), WORD(module), WORD(name));
    if (!module)
        END(SIM_EHANDLE);
    if (!function || !name)
        END(SIM_EINVAL);
    if (!strncmp(name, "missing", 7))
        END(SIM_ENOTFOUND);
    *function = sim_module_function(module, name);
    END(SIM_OK);
}

ENTRY(cuModuleGetFunction, void **function, void *module, const char *name)
{
    return get(API(cuModuleGetFunction), function, module, name);
}

ENTRY(cuLibraryGetKernel, void **kernel, void *library, const char *name)
{
    return get(API(cuLibraryGetKernel), kernel, library, name);
}

ENTRY(cuKernelGetFunction, void **function, void *kernel)
{
    BEGIN(API(cuKernelGetFunction), WORD(function), WORD(kernel));
    *function = kernel; /* kernels and functions are the same thing here */
    END(SIM_OK);
}

static int name_of(struct sim_api api, const char **name, struct sim_function *function)
{
    BEGIN(api, WORD(name), WORD(function));
    if (!name || !function)
        END(SIM_EINVAL);
    *name = function->name;
    END(SIM_OK);
}

ENTRY(cuFuncGetName, const char **name, void *function)
{
    return name_of(API(cuFuncGetName), name, function);
}

ENTRY(cuKernelGetName, const char **name, void *kernel)
{
    return name_of(API(cuKernelGetName), name, kernel);
}

ENTRY(cuFuncGetAttribute, int *value, int attribute, void *handle)
{
    BEGIN(API(cuFuncGetAttribute), WORD(value), WORD(attribute), WORD(handle));
    const struct sim_function *function = handle;
    if (!value || !function)
        END(SIM_EINVAL);
    switch (attribute) {
    case 0: /* threads per block */
        *value = 1024;
        break;
    case 1:
        *value = (int)function->static_shared;
        break;
    case 3:
        *value = (int)function->local;
        break;
    case 4:
        *value = (int)function->registers;
        break;
    default:
        *value = 0;
    }
    END(SIM_OK);
}
