/* SPDX-License-Identifier: MIT */
/*
 * The function that a caller of an interposed name means. RTLD_NEXT does not find a libcudart that
 * came in with RTLD_LOCAL, which is the usual case under Python; and two runtimes may be mapped, 12
 * for one library and 13 for another. So: the object that called, the libcudart that it needs, the
 * function in that one. A runtime that was found stays mapped: the pointers to it are kept.
 */
#include <dlfcn.h>
#include <link.h>
#include <string.h>

#include "base/text.h"
#include "guard.h"
#include "source/cuda/cuda.h"

#define CALLERS 64u
#define SONAME_BYTES 64u

struct caller {
    uintptr_t start, end;
    uint32_t runtime; /* index into handles, + 1 */
};

static struct {
    const char *begins; /* file name of the library */
    _Atomic uint32_t busy;
    void *_Atomic handles[TP_CUDA_RUNTIMES];
    struct caller callers[CALLERS];
    _Atomic uint32_t caller_count;
} libraries[TP_CUDA_LIBRARIES] = {
    [TP_CUDA_RUNTIME] = {.begins = "libcudart.so"},
    [TP_CUDA_DRIVER] = {.begins = "libcuda.so"},
};

struct search {
    uintptr_t address;
    const char *begins;
    struct caller range;
    bool found;
    char soname[SONAME_BYTES];
};

static bool contains(const struct dl_phdr_info *info, uintptr_t address, struct caller *ret_range)
{
    uintptr_t start = UINTPTR_MAX, end = 0;

    for (unsigned i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *header = &info->dlpi_phdr[i];
        if (header->p_type != PT_LOAD)
            continue;
        uintptr_t from = info->dlpi_addr + header->p_vaddr, to = from + header->p_memsz;
        start = from < start ? from : start;
        end = to > end ? to : end;
    }
    ret_range->start = start;
    ret_range->end = end;
    return address >= start && address < end;
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
    if (!contains(info, search->address, &search->range))
        return 0;
    search->found = true;
    find_needed(info, search);
    return 1;
}

static int look_for_mapped(struct dl_phdr_info *info, size_t size, void *argument)
{
    struct search *search = argument;
    const char *base = strrchr(info->dlpi_name, '/');
    struct tp_text text;

    (void)size;
    base = base ? base + 1 : info->dlpi_name;
    if (strncmp(base, search->begins, strlen(search->begins)))
        return 0;
    tp_text_init(&text, search->soname, sizeof(search->soname));
    tp_text_string(&text, base);
    return 1;
}

/* The library that the caller needs, else any that is mapped. A reference is kept. */
static void *open_for(enum tp_cuda_library library, struct search *search)
{
    void *handle = NULL;

    search->begins = libraries[library].begins;
    dl_iterate_phdr(look_at_caller, search);
    if (search->soname[0])
        handle = dlopen(search->soname, RTLD_NOLOAD | RTLD_LAZY);
    if (handle)
        return handle;
    search->soname[0] = '\0';
    if (dl_iterate_phdr(look_for_mapped, search))
        handle = dlopen(search->soname, RTLD_NOLOAD | RTLD_LAZY);
    return handle;
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

/* Index + 1 of the runtime of a caller; 0: no library. */
static uint32_t learn_caller(enum tp_cuda_library library, uintptr_t address)
{
    struct search search = {.address = address};
    uint32_t idle = 0;
    void *handle = open_for(library, &search);

    if (!handle)
        return 0;
    uint32_t runtime = runtime_index(library, handle);
    if (!runtime || !search.found ||
        !atomic_compare_exchange_strong(&libraries[library].busy, &idle, 1))
        return runtime;
    uint32_t count = atomic_load(&libraries[library].caller_count);
    if (count < CALLERS) {
        search.range.runtime = runtime;
        libraries[library].callers[count] = search.range;
        atomic_store_explicit(&libraries[library].caller_count, count + 1, memory_order_release);
    }
    atomic_store(&libraries[library].busy, 0);
    return runtime;
}

static inline uint32_t runtime_of(enum tp_cuda_library library, uintptr_t address)
{
    uint32_t count = atomic_load_explicit(&libraries[library].caller_count, memory_order_acquire);

    for (uint32_t i = 0; i < count; i++) {
        const struct caller *caller = &libraries[library].callers[i];
        if (address >= caller->start && address < caller->end)
            return caller->runtime;
    }
    return 0;
}

void *tp_cuda_real_find(struct tp_cuda_real *real, const void *caller)
{
    uint32_t runtime = runtime_of(real->library, (uintptr_t)caller);

    if (tp_unlikely(!runtime) && !(runtime = learn_caller(real->library, (uintptr_t)caller)))
        return dlsym(RTLD_NEXT, real->name);
    void *function = atomic_load_explicit(&real->found[runtime - 1], memory_order_relaxed);
    if (tp_likely(function != NULL))
        return function;
    function = dlsym(libraries[real->library].handles[runtime - 1], real->name);
    if (function)
        atomic_store_explicit(&real->found[runtime - 1], function, memory_order_relaxed);
    return function;
}
