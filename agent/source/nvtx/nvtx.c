/* SPDX-License-Identifier: MIT */
/*
 * The agent is an NVTX injection library. Each object of the program that uses NVTX has a table of
 * function pointers of its own; at its first call it loads the file that NVTX_INJECTION64_PATH
 * names and calls the function exported here, which fills the table. So this is called once per
 * object, by any thread, at any time.
 */
#include "source/nvtx/nvtx.h"

#include "record.h"
#include "self.h"
#include "sources.h"

#define EXPORT __attribute__((visibility("default")))

/* NVTX v3 and the library of v2 ask for these two. */
int InitializeInjectionNvtx2(tp_nvtx_get_table *get_table);
int InitializeInjectionNvtx(tp_nvtx_get_table *get_table);

#define HANDLER(slot, function) [slot] = (tp_nvtx_function *)(uintptr_t)(function)

static tp_nvtx_function *const core[TP_NVTX_CORE_COUNT] = {
    HANDLER(TP_NVTX_CORE_MARK_EX, tp_nvtx_mark_ex),
    HANDLER(TP_NVTX_CORE_MARK_A, tp_nvtx_mark),
    HANDLER(TP_NVTX_CORE_MARK_W, tp_nvtx_mark_wide),
    HANDLER(TP_NVTX_CORE_START_EX, tp_nvtx_start_ex),
    HANDLER(TP_NVTX_CORE_START_A, tp_nvtx_start),
    HANDLER(TP_NVTX_CORE_START_W, tp_nvtx_start_wide),
    HANDLER(TP_NVTX_CORE_END, tp_nvtx_end),
    HANDLER(TP_NVTX_CORE_PUSH_EX, tp_nvtx_push_ex),
    HANDLER(TP_NVTX_CORE_PUSH_A, tp_nvtx_push),
    HANDLER(TP_NVTX_CORE_PUSH_W, tp_nvtx_push_wide),
    HANDLER(TP_NVTX_CORE_POP, tp_nvtx_pop),
    HANDLER(TP_NVTX_CORE_NAME_CATEGORY_A, tp_nvtx_name_category),
    HANDLER(TP_NVTX_CORE_NAME_CATEGORY_W, tp_nvtx_name_category_wide),
    HANDLER(TP_NVTX_CORE_NAME_THREAD_A, tp_nvtx_name_thread),
    HANDLER(TP_NVTX_CORE_NAME_THREAD_W, tp_nvtx_name_thread_wide),
};

/* Resources and initialisation stay as they are: NVTX does nothing where no tool has set a
 * function. */
static tp_nvtx_function *const core2[TP_NVTX_CORE2_COUNT] = {
    HANDLER(TP_NVTX_CORE2_MARK_EX, tp_nvtx_domain_mark_ex),
    HANDLER(TP_NVTX_CORE2_START_EX, tp_nvtx_domain_start_ex),
    HANDLER(TP_NVTX_CORE2_END, tp_nvtx_domain_end),
    HANDLER(TP_NVTX_CORE2_PUSH_EX, tp_nvtx_domain_push_ex),
    HANDLER(TP_NVTX_CORE2_POP, tp_nvtx_domain_pop),
    HANDLER(TP_NVTX_CORE2_NAME_CATEGORY_A, tp_nvtx_domain_name_category),
    HANDLER(TP_NVTX_CORE2_NAME_CATEGORY_W, tp_nvtx_domain_name_category_wide),
    HANDLER(TP_NVTX_CORE2_REGISTER_STRING_A, tp_nvtx_register),
    HANDLER(TP_NVTX_CORE2_REGISTER_STRING_W, tp_nvtx_register_wide),
    HANDLER(TP_NVTX_CORE2_DOMAIN_CREATE_A, tp_nvtx_domain_create),
    HANDLER(TP_NVTX_CORE2_DOMAIN_CREATE_W, tp_nvtx_domain_create_wide),
    HANDLER(TP_NVTX_CORE2_DOMAIN_DESTROY, tp_nvtx_domain_destroy),
};

static bool fill(const struct tp_nvtx_callbacks *callbacks, int module,
                 tp_nvtx_function *const *handlers, unsigned count)
{
    tp_nvtx_function ***table;
    unsigned size;

    if (!callbacks->get_functions(module, &table, &size) || !table)
        return false;
    for (unsigned i = 1; i < count && i < size; i++)
        if (handlers[i] && table[i])
            *table[i] = handlers[i];
    return true;
}

EXPORT int InitializeInjectionNvtx2(tp_nvtx_get_table *get_table)
{
    const struct tp_nvtx_callbacks *callbacks =
        get_table ? get_table(TP_NVTX_TABLE_CALLBACKS) : NULL;

    if (!callbacks || callbacks->struct_size < sizeof(*callbacks) ||
        !tp_source_wanted(TP_SOURCE_NVTX) || !tp_recording() ||
        !fill(callbacks, TP_NVTX_MODULE_CORE, core, TP_NVTX_CORE_COUNT))
        return 0;
    fill(callbacks, TP_NVTX_MODULE_CORE2, core2, TP_NVTX_CORE2_COUNT);
    return 1;
}

EXPORT int InitializeInjectionNvtx(tp_nvtx_get_table *get_table)
{
    return InitializeInjectionNvtx2(get_table);
}

static int start(const struct tp_config *config, const char **ret_why)
{
    static char why[512];

    (void)config;
    int error = tp_self_offer("NVTX_INJECTION64_PATH", why, sizeof(why));
    *ret_why = error ? why : NULL;
    return error;
}

const struct tp_source tp_source_nvtx = {.start = start};
