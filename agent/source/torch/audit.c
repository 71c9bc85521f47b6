/* SPDX-License-Identifier: MIT */
#include "source/torch/internal.h"

#include <dlfcn.h>
#include <link.h>
#include <string.h>

#include "mapped.h"

/*
 * CPython tells an audit hook about each import, and much else, before it happens. The hook can't
 * be removed and must cost next to nothing: it compares one word, then asks the loader whether
 * anything was loaded since it last looked. It answers 0 always, and touches nothing of the
 * interpreter.
 */

static int take_count(struct dl_phdr_info *info, size_t size, void *ret_count)
{
    (void)size;
    *(unsigned long long *)ret_count = info->dlpi_adds;
    return 1;
}

/* Objects that the loader has ever added. */
static unsigned long long loaded_count(void)
{
    unsigned long long count = 0;

    dl_iterate_phdr(take_count, &count);
    return count;
}

bool tp_torch_audit_listed(void)
{
    return tp_mapped_listed("/libtorch_cpu.so");
}

static int audit(const char *event, void *arguments, void *unused)
{
    static _Atomic unsigned long long seen;
    static _Atomic unsigned events;
    int calibration = atomic_load_explicit(&tp_torch.calibration, memory_order_relaxed);

    (void)arguments;
    (void)unused;
    if (calibration == TP_TORCH_NOT_YET) {
        if (strcmp(event, "import") != 0)
            return 0;
        unsigned long long count = loaded_count();
        if (atomic_exchange_explicit(&seen, count, memory_order_relaxed) != count)
            tp_torch_notice();
    } else if (calibration == TP_TORCH_WANTED) {
        /* torch's own import has thousands of events, each of them too early */
        if (atomic_fetch_add_explicit(&events, 1, memory_order_relaxed) % 16 == 0)
            tp_torch_calibrate_ask();
    }
    return 0;
}

bool tp_torch_audit_install(void)
{
    int (*add)(int (*)(const char *, void *, void *), void *);
    void *address = dlsym(RTLD_DEFAULT, "PySys_AddAuditHook");

    if (address == NULL)
        return false;
    memcpy(&add, &address, sizeof add);
    return add(audit, NULL) == 0;
}
