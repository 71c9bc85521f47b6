/* SPDX-License-Identifier: MIT */
/*
 * The function that a caller of an interposed name means. RTLD_NEXT does not find a libcudart that
 * came in with RTLD_LOCAL, which is the usual case under Python; and two runtimes may be mapped, 12
 * for one library and 13 for another. So: the object that called, the libcudart that it needs, the
 * function in that one. A runtime that was found stays mapped: the pointers to it are kept.
 *
 * Callers are remembered by their range of addresses. After dlclose another object may lie there,
 * so each call asks the loader's index, which takes no lock, whose it is, and compares the name.
 */
#include <dlfcn.h>
#include <link.h>
#include <string.h>

#include "agent.h"
#include "base/text.h"
#include "mapped.h"
#include "seqlock.h"
#include "source/cuda/cuda.h"

#define CALLERS 64u
#define NAME_BYTES 232u
#define SONAME_BYTES 64u

struct caller {
    _Atomic uint32_t number; /* seqlock.h */
    uint32_t runtime;        /* index into handles, + 1; 0: nobody */
    const void *object;
    char name[NAME_BYTES];
};

/* Where a caller's code lies; without the loader's index. */
struct object {
    uintptr_t address;
    const void *identity;
    const char *name;
};

static struct {
    const char *begins; /* file name of the library; wheels have libcudart-1a2b3c4d.so.11.0 */
    void *_Atomic handles[TP_CUDA_RUNTIMES];
    struct caller callers[CALLERS];
} libraries[TP_CUDA_LIBRARIES] = {
    [TP_CUDA_RUNTIME] = {.begins = "libcudart"},
    [TP_CUDA_DRIVER] = {.begins = "libcuda.so"},
    [TP_CUDA_PROFILING] = {.begins = "libcupti.so"},
};

struct search {
    uintptr_t address;
    const char *begins;
    bool found;
    char soname[SONAME_BYTES];
};

static bool contains(const struct dl_phdr_info *info, uintptr_t address)
{
    for (unsigned i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *header = &info->dlpi_phdr[i];
        if (header->p_type != PT_LOAD)
            continue;
        if (address - (info->dlpi_addr + header->p_vaddr) < header->p_memsz)
            return true;
    }
    return false;
}

/* The needed library of an object whose name begins so. */
static void find_needed(const struct dl_phdr_info *info, struct search *search)
{
    const ElfW(Dyn) *dynamic = NULL;
    const char *strings = NULL;
    struct tp_text text;

    for (unsigned i = 0; i < info->dlpi_phnum; i++)
        if (info->dlpi_phdr[i].p_type == PT_DYNAMIC)
            dynamic = (const ElfW(Dyn) *)(info->dlpi_addr + info->dlpi_phdr[i].p_vaddr);
    for (const ElfW(Dyn) *d = dynamic; d && d->d_tag != DT_NULL; d++)
        if (d->d_tag == DT_STRTAB) /* glibc has made it an address; musl has not */
            strings =
                (const char *)(d->d_un.d_ptr < info->dlpi_addr ? info->dlpi_addr + d->d_un.d_ptr
                                                               : d->d_un.d_ptr);
    for (const ElfW(Dyn) *d = dynamic; strings && d->d_tag != DT_NULL; d++) {
        if (d->d_tag != DT_NEEDED ||
            strncmp(strings + d->d_un.d_val, search->begins, strlen(search->begins)))
            continue;
        tp_text_init(&text, search->soname, sizeof(search->soname));
        tp_text_string(&text, strings + d->d_un.d_val);
        return;
    }
}

static int look_at_caller(struct dl_phdr_info *info, size_t size, void *argument)
{
    struct search *search = argument;

    (void)size;
    if (!contains(info, search->address))
        return 0;
    search->found = true;
    find_needed(info, search);
    return 1;
}

/* The library that the caller needs, else any that is mapped. A reference is kept. */
static void *open_for(enum tp_cuda_library library, struct search *search)
{
    void *handle = NULL;
    char path[TP_PATH_MAX];

    search->begins = libraries[library].begins;
    dl_iterate_phdr(look_at_caller, search);
    if (search->soname[0])
        handle = dlopen(search->soname, RTLD_NOLOAD | RTLD_LAZY);
    if (handle)
        return handle;
    return tp_mapped_path(search->begins, path, sizeof(path))
               ? dlopen(path, RTLD_NOLOAD | RTLD_LAZY)
               : NULL;
}

static uint32_t runtime_index(enum tp_cuda_library library, void *handle)
{
    for (uint32_t i = 0; i < TP_CUDA_RUNTIMES; i++) {
        void *none = NULL;
        if (atomic_compare_exchange_strong(&libraries[library].handles[i], &none, handle) ||
            none == handle)
            return i + 1;
    }
    return 0;
}

static int take_object(struct dl_phdr_info *info, size_t size, void *argument)
{
    struct object *object = argument;

    (void)size;
    if (!contains(info, object->address))
        return 0;
    object->identity = info->dlpi_phdr;
    object->name = info->dlpi_name;
    return 1;
}

static const void *object_without_index(uintptr_t address, const char **ret_name)
{
    struct object object = {.address = address};

    dl_iterate_phdr(take_object, &object);
    *ret_name = object.name;
    return object.identity;
}

/*
 * What stands for the object at an address, and is not another object's at the same time; its file
 * name. Return: NULL: there is none.
 */
static inline const void *object_at(uintptr_t address, const char **ret_name)
{
    struct tp_mapped_object found;

    if (tp_unlikely(!tp_mapped_has_index()))
        return object_without_index(address, ret_name);
    if (!tp_mapped_object(address, &found))
        return NULL;
    *ret_name = found.map->l_name;
    return found.map;
}

static inline struct caller *line_of(enum tp_cuda_library library, const void *object)
{
    return &libraries[library].callers[((uintptr_t)object >> 6) % CALLERS];
}

/* Instead of whatever was remembered there. */
static void remember(enum tp_cuda_library library, const struct search *search, uint32_t runtime)
{
    const char *name;
    const void *object = object_at(search->address, &name);
    struct caller *caller = line_of(library, object);
    struct tp_text text;
    uint32_t before;

    if (!search->found || !object || strlen(name) >= NAME_BYTES ||
        !tp_seq_read_begin(&caller->number, &before) ||
        !tp_seq_write_begin(&caller->number, before))
        return;
    caller->runtime = runtime;
    caller->object = object;
    tp_text_init(&text, caller->name, sizeof(caller->name));
    tp_text_string(&text, name);
    tp_seq_write_end(&caller->number, before);
}

/* Index + 1 of the runtime of a caller; 0: no library. */
static uint32_t learn_caller(enum tp_cuda_library library, uintptr_t address, const char *name)
{
    struct search search = {.address = address};
    void *handle = open_for(library, &search);

    if (!handle && dlsym(RTLD_NEXT, name)) /* a runtime under another file's name */
        handle = RTLD_NEXT;
    uint32_t runtime = handle ? runtime_index(library, handle) : 0;
    if (runtime)
        remember(library, &search, runtime);
    return runtime;
}

static inline uint32_t runtime_of(enum tp_cuda_library library, uintptr_t address)
{
    const char *name;
    const void *object = object_at(address, &name);
    const struct caller *caller = line_of(library, object);
    uint32_t before;

    if (!object || !tp_seq_read_begin(&caller->number, &before) || caller->object != object ||
        strcmp(caller->name, name))
        return 0;
    uint32_t runtime = caller->runtime;
    return tp_seq_read_end(&caller->number, before) ? runtime : 0;
}

void *tp_cuda_real_find(struct tp_cuda_real *real, const void *caller)
{
    uint32_t runtime = runtime_of(real->library, (uintptr_t)caller);

    if (tp_unlikely(!runtime) &&
        !(runtime = learn_caller(real->library, (uintptr_t)caller, real->name)))
        return NULL;
    void *function = atomic_load_explicit(&real->found[runtime - 1], memory_order_relaxed);
    if (tp_likely(function != NULL))
        return function;
    function = dlsym(libraries[real->library].handles[runtime - 1], real->name);
    if (function)
        atomic_store_explicit(&real->found[runtime - 1], function, memory_order_relaxed);
    return function;
}
