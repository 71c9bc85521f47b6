/* SPDX-License-Identifier: MIT */
/* NVTX domains, registered strings, names of categories and threads. Nothing here is hot, nothing
 * allocates. */
#include <string.h>

#include "notes.h"
#include "pool.h"
#include "source/nvtx/nvtx.h"

/* A wide text as UTF-8 in scratch room, for what is copied at once. NULL without a text or memory.
 */
static char *narrow(const wchar_t *text, size_t *ret_size)
{
    char *scratch = text ? tp_scratch_take() : NULL;
    bool whole;

    if (scratch)
        *ret_size = tp_wide_utf8(text, scratch, TP_SCRATCH_BYTES, &whole);
    return scratch;
}

struct tp_scope *tp_nvtx_domain_create(const char *name)
{
    return name ? tp_scope_create(name, strlen(name)) : NULL;
}

struct tp_scope *tp_nvtx_domain_create_wide(const wchar_t *name)
{
    size_t size;
    char *utf8 = narrow(name, &size);
    struct tp_scope *domain = utf8 ? tp_scope_create(utf8, size) : NULL;

    tp_scratch_give(utf8);
    return domain;
}

/* Other threads may be using it at this moment. */
void tp_nvtx_domain_destroy(struct tp_scope *domain)
{
    (void)domain;
}

struct tp_nvtx_string *tp_nvtx_register(const struct tp_scope *domain, const char *text)
{
    struct tp_nvtx_string *string = text ? tp_pool_get(sizeof(*string)) : NULL;

    return string && !tp_held_copy(&string->name, domain, text, strlen(text)) ? string : NULL;
}

struct tp_nvtx_string *tp_nvtx_register_wide(const struct tp_scope *domain, const wchar_t *text)
{
    struct tp_nvtx_string *string = text ? tp_pool_get(sizeof(*string)) : NULL;

    return string && !tp_held_copy_wide(&string->name, domain, text) ? string : NULL;
}

void tp_nvtx_domain_name_category(const struct tp_scope *domain, uint32_t category,
                                  const char *name)
{
    if (name)
        tp_note(TP_NOTE_CATEGORY, "nvtx", domain, category, name, strlen(name));
}

void tp_nvtx_domain_name_category_wide(const struct tp_scope *domain, uint32_t category,
                                       const wchar_t *name)
{
    size_t size;
    char *utf8 = narrow(name, &size);

    if (utf8)
        tp_note(TP_NOTE_CATEGORY, "nvtx", domain, category, utf8, size);
    tp_scratch_give(utf8);
}

void tp_nvtx_name_category(uint32_t category, const char *name)
{
    tp_nvtx_domain_name_category(NULL, category, name);
}

void tp_nvtx_name_category_wide(uint32_t category, const wchar_t *name)
{
    tp_nvtx_domain_name_category_wide(NULL, category, name);
}

void tp_nvtx_name_thread(uint32_t tid, const char *name)
{
    if (name)
        tp_note(TP_NOTE_THREAD, "nvtx", NULL, tid, name, strlen(name));
}

void tp_nvtx_name_thread_wide(uint32_t tid, const wchar_t *name)
{
    size_t size;
    char *utf8 = narrow(name, &size);

    if (utf8)
        tp_note(TP_NOTE_THREAD, "nvtx", NULL, tid, utf8, size);
    tp_scratch_give(utf8);
}
