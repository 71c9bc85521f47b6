/* SPDX-License-Identifier: MIT */
#ifndef TP_AGENT_SCOPE_H
#define TP_AGENT_SCOPE_H

/*
 * Names that stand in a domain (NVTX, ITT), and names given as wide characters. The default domain
 * is a NULL scope: its names are plain texts. All of it is Context: hook, with at most 512 bytes of
 * stack.
 */

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <wchar.h>

#include "intern.h"

/* A domain: lives for ever, is never changed. */
struct tp_scope {
    uint32_t number; /* from 1, one per scope of the process */
    uint32_t length;
    const char *name;
};

/** tp_scope_create - a scope of @size bytes of name (copied; longer than 4 KiB are cut). Return:
 * NULL without memory. */
struct tp_scope *tp_scope_create(const char *name, size_t size);

/** tp_scope_name - id of @size bytes of text in @scope (NULL: the default one) */
uint32_t tp_scope_name(const struct tp_scope *scope, const char *text, size_t size);

struct tp_name_record;

/** tp_scope_record - the same, scope not NULL, names ready, and the record itself (NULL where none
 * was made) */
uint32_t tp_scope_record(const struct tp_scope *scope, const char *text, size_t size,
                         const struct tp_name_record **ret_record);

/** tp_scope_text - id of a terminated text, through the thread's cache; NULL gives TP_NAME_NONE */
uint32_t tp_scope_text(const struct tp_scope *scope, const char *text);

/** tp_scope_wide - id of a terminated wide text; NULL gives TP_NAME_NONE */
uint32_t tp_scope_wide(const struct tp_scope *scope, const wchar_t *text);

/**
 * tp_wide_utf8 - terminated wide text as UTF-8; what is no character becomes U+FFFD
 * @buffer: @size bytes, filled with whole characters, not terminated
 * @ret_whole: whether all of the text is there
 * Return: bytes.
 */
size_t tp_wide_utf8(const wchar_t *text, char *buffer, size_t size, bool *ret_whole);

/* A name that a handle of the program stands for. Its id is made at first use, and again in a
 * forked child. */
struct tp_held_name {
    const struct tp_scope *scope;
    const char *text; /* lives for ever */
    uint32_t length;
    _Atomic uint64_t id; /* kept (intern.h) */
};

/** tp_held_copy - copy a text into the pool. Return: 0 or -ENOMEM. */
int tp_held_copy(struct tp_held_name *held, const struct tp_scope *scope, const char *text,
                 size_t size);
int tp_held_copy_wide(struct tp_held_name *held, const struct tp_scope *scope, const wchar_t *text);

/** tp_held_make - the long way of tp_held_id */
uint32_t tp_held_make(struct tp_held_name *held);

/** tp_held_id - its id in this process's names; TP_NAME_NONE while there are none */
static inline uint32_t tp_held_id(struct tp_held_name *held)
{
    uint32_t id;

    return tp_likely(tp_kept_id(&held->id, &id)) ? id : tp_held_make(held);
}

#endif
