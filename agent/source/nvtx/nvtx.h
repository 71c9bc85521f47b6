/* SPDX-License-Identifier: MIT */
#ifndef TP_SOURCE_NVTX_H
#define TP_SOURCE_NVTX_H

#include <wchar.h>

#include "scope.h"
#include "source/nvtx/nvtx_abi.h"

/* The program's handles are pointers to these. They live for ever: other threads may still use
 * them. */
struct tp_nvtx_string {
    struct tp_held_name name;
};

/* A domain's handle is its struct tp_scope; NULL is the default domain. */

/* nvtx_ranges.c: what the program's calls arrive at. All of it Context: hook. */
int tp_nvtx_push(const char *message);
int tp_nvtx_push_wide(const wchar_t *message);
int tp_nvtx_push_ex(const struct tp_nvtx_attributes *attributes);
int tp_nvtx_pop(void);
int tp_nvtx_domain_push_ex(const struct tp_scope *domain,
                           const struct tp_nvtx_attributes *attributes);
int tp_nvtx_domain_pop(const struct tp_scope *domain);
uint64_t tp_nvtx_start(const char *message);
uint64_t tp_nvtx_start_wide(const wchar_t *message);
uint64_t tp_nvtx_start_ex(const struct tp_nvtx_attributes *attributes);
uint64_t tp_nvtx_domain_start_ex(const struct tp_scope *domain,
                                 const struct tp_nvtx_attributes *attributes);
void tp_nvtx_end(uint64_t id);
void tp_nvtx_domain_end(const struct tp_scope *domain, uint64_t id);
void tp_nvtx_mark(const char *message);
void tp_nvtx_mark_wide(const wchar_t *message);
void tp_nvtx_mark_ex(const struct tp_nvtx_attributes *attributes);
void tp_nvtx_domain_mark_ex(const struct tp_scope *domain,
                            const struct tp_nvtx_attributes *attributes);

/* nvtx_names.c: domains, registered strings, names of categories and threads. Context: hook. */
struct tp_scope *tp_nvtx_domain_create(const char *name);
struct tp_scope *tp_nvtx_domain_create_wide(const wchar_t *name);
void tp_nvtx_domain_destroy(struct tp_scope *domain);
struct tp_nvtx_string *tp_nvtx_register(const struct tp_scope *domain, const char *text);
struct tp_nvtx_string *tp_nvtx_register_wide(const struct tp_scope *domain, const wchar_t *text);
void tp_nvtx_name_category(uint32_t category, const char *name);
void tp_nvtx_name_category_wide(uint32_t category, const wchar_t *name);
void tp_nvtx_domain_name_category(const struct tp_scope *domain, uint32_t category,
                                  const char *name);
void tp_nvtx_domain_name_category_wide(const struct tp_scope *domain, uint32_t category,
                                       const wchar_t *name);
void tp_nvtx_name_thread(uint32_t tid, const char *name);
void tp_nvtx_name_thread_wide(uint32_t tid, const wchar_t *name);

#endif
