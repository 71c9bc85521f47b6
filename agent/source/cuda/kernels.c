/* SPDX-License-Identifier: MIT */
/*
 * Names of kernels by what a launch is given: the host function that stands for the kernel, or a
 * handle of it. Programs register theirs in constructors, before main, thousands of them; so the
 * text is not copied but read at the first launch, and forgotten with the binary that brought it.
 *
 * Open addressing over addresses; entries of one binary form a list. An entry is never taken out:
 * its name goes, and it serves again when the same address is registered again.
 */
#include "source/cuda/cuda.h"

#include "agent.h"
#include "base/os.h"
#include "intern.h"
#include "pool.h"
#include "record.h"
#include "source/cuda/launches.h"

#define KERNELS (256u << 10)
#define BINARIES (32u << 10)
#define PROBES_MAX 256u

struct kernel {
    const void *_Atomic function;
    const char *_Atomic name; /* NULL: gone */
    _Atomic uint64_t id;      /* kept */
    uint32_t next;            /* + 1; of the same binary */
};

struct binary {
    const void *_Atomic handle;
    _Atomic uint32_t first; /* + 1 */
};

static struct kernel *_Atomic kernels;
static struct binary *_Atomic binaries;

static inline uint64_t hash_of(const void *address)
{
    return ((uintptr_t)address >> 4) * UINT64_C(0x9e3779b97f4a7c15) >> 32;
}

static struct kernel *table(bool make)
{
    struct kernel *t = atomic_load_explicit(&kernels, memory_order_acquire);

    if (t || !make)
        return t;
    struct kernel *made = tp_os_map(KERNELS * sizeof(*made));
    struct binary *more = tp_os_map(BINARIES * sizeof(*more));
    if (!made || !more)
        return NULL;
    struct binary *none = NULL;
    if (!atomic_compare_exchange_strong(&binaries, &none, more))
        tp_os_unmap(more, BINARIES * sizeof(*more));
    if (!atomic_compare_exchange_strong(&kernels, &t, made))
        tp_os_unmap(made, KERNELS * sizeof(*made));
    return atomic_load(&kernels);
}

static struct kernel *find(const void *function, bool make)
{
    struct kernel *t = table(make);
    uint64_t at = hash_of(function);

    for (unsigned i = 0; t && i < PROBES_MAX; i++, at++) {
        struct kernel *k = &t[at % KERNELS];
        const void *seen = atomic_load_explicit(&k->function, memory_order_acquire);
        if (!seen && make && atomic_compare_exchange_strong(&k->function, &seen, function))
            return k;
        if (seen == function)
            return k;
        if (!seen)
            return NULL;
    }
    return NULL;
}

static struct binary *find_binary(const void *handle, bool make)
{
    struct binary *t = atomic_load_explicit(&binaries, memory_order_acquire);
    uint64_t at = hash_of(handle);

    for (unsigned i = 0; t && i < PROBES_MAX; i++, at++) {
        struct binary *b = &t[at % BINARIES];
        const void *seen = atomic_load_explicit(&b->handle, memory_order_acquire);
        if (!seen && make && atomic_compare_exchange_strong(&b->handle, &seen, handle))
            return b;
        if (seen == handle)
            return b;
        if (!seen)
            return NULL;
    }
    return NULL;
}

/* What its address stands for is another kernel from now on. */
static void forget_id(struct kernel *k)
{
    if (atomic_exchange(&k->id, 0))
        atomic_fetch_add(&tp_cuda_kernel_changes, 1);
}

void tp_cuda_kernel_register(const void *handle, const void *function, const char *name)
{
    struct kernel *k = find(function, true);
    struct binary *b = k ? find_binary(handle, true) : NULL;

    if (!k || !b) /* no room to forget it in time: rather unknown */
        return;
    forget_id(k);
    if (!atomic_exchange(&k->name, name)) {
        /* the loader registers one binary at a time */
        k->next = atomic_load(&b->first);
        atomic_store(&b->first, (uint32_t)(k - atomic_load(&kernels)) + 1);
    }
}

void tp_cuda_kernel_forget(const void *handle)
{
    struct binary *b = find_binary(handle, false);
    struct kernel *t = table(false);

    if (!b || !t)
        return;
    for (uint32_t i = atomic_exchange(&b->first, 0); i;) {
        struct kernel *k = &t[i - 1];
        i = k->next;
        k->next = 0;
        atomic_store(&k->name, NULL);
        forget_id(k);
    }
}

void tp_cuda_kernel_alias(const void *handle, const void *function)
{
    const struct kernel *known = handle == function ? NULL : find(function, false);
    const char *name = known ? atomic_load(&known->name) : NULL;
    struct kernel *k = name && handle ? find(handle, true) : NULL;
    const char *old = k ? atomic_load(&k->name) : NULL;

    /* a copy: the handle may outlive the binary */
    if (!k || (old && !strcmp(old, name)) || !(name = tp_pool_copy(name, strlen(name))))
        return;
    atomic_store(&k->name, name);
    forget_id(k);
}

bool tp_cuda_kernel_name(const void *function, uint32_t *ret_id)
{
    struct kernel *k = find(function, false);

    *ret_id = TP_NAME_NONE;
    if (!k)
        return false;
    if (tp_likely(tp_kept_id(&k->id, ret_id)))
        return true;
    const char *name = atomic_load(&k->name);
    if (!name)
        return false;
    *ret_id = tp_intern(TP_NAME_SYMBOL, name, strlen(name));
    if (*ret_id >= TP_NAME_FIRST)
        tp_keep_id(&k->id, *ret_id);
    return true;
}

uint32_t tp_cuda_kernel_learn(const void *function, const char *name)
{
    struct kernel *k = find(function, true);
    uint32_t id = name ? tp_intern(TP_NAME_SYMBOL, name, strlen(name)) : TP_NAME_NONE;

    if (k && (id >= TP_NAME_FIRST || !name))
        tp_keep_id(&k->id, id);
    return id;
}
