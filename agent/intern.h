/* SPDX-License-Identifier: MIT */
#ifndef TP_AGENT_INTERN_H
#define TP_AGENT_INTERN_H

#include "agent.h"
#include "record.h"

/**
 * tp_intern_record - as tp_intern, and the record itself
 * Return: the record in the names file (stays for ever), or NULL: *ret_id then says why, or is 0
 * before arming.
 */
const struct tp_name_record *tp_intern_record(enum tp_name_kind kind, const void *bytes,
                                              size_t size, uint32_t *ret_id);

/* Shares of all room for names, in 64ths. */
#define TP_NAMES_ALL 64u
#define TP_NAMES_OF_STACKS 62u /* the rest is for the names of ranges */

/**
 * tp_intern_within - the id of a name, made where not more than @share of all room is used
 * @share: 0: none is made
 * Nothing is counted as refused. Return: as tp_intern; TP_NAME_NONE where there is no such name and
 * @share is 0.
 */
uint32_t tp_intern_within(unsigned share, enum tp_name_kind kind, const void *bytes, size_t size);

/** tp_intern_count_refused - a name of @size bytes has found no room. Context: hook, behind
 * tp_intern_within. */
void tp_intern_count_refused(size_t size);

/** tp_names_are_within - whether not more than @share of all room for names is used. Context: hook.
 */
bool tp_names_are_within(unsigned share);

struct tp_scope;

/** tp_intern_scoped - as tp_intern_text, for a name in a domain (scope.h) */
uint32_t tp_intern_scoped(const struct tp_scope *scope, const char *text);

/**
 * tp_names_ready - make sure that the calling thread has its control block and the process its
 * names
 *
 * A name is always wanted for a record that follows, so this is where a process often meets its
 * first event. Context: hook.
 */
static inline bool tp_names_ready(void)
{
    const struct tp_thread *t = tp_tls.thread;

    return tp_likely(t && t->slots) || tp_thread_attach();
}

/* A number that differs between a process and its forked children, 0 before anything is recorded.
 */
static inline uint32_t tp_names_owner(void)
{
    uint32_t owner = 0;

    if (tp_agent.live)
        __builtin_memcpy(&owner, tp_agent.live->uuid, sizeof(owner));
    return owner;
}

/*
 * A name's id, kept beside what it names in memory that a forked child shares, as owner << 32 | id:
 * an id holds in one process only.
 */

/** tp_kept_id - what tp_keep_id kept in this process. Return: false: nothing. Context: hook. */
static inline bool tp_kept_id(const _Atomic uint64_t *kept, uint32_t *ret_id)
{
    uint64_t seen = atomic_load_explicit(kept, memory_order_relaxed);

    if (tp_unlikely(!seen || seen >> 32 != tp_names_owner()))
        return false;
    *ret_id = (uint32_t)seen;
    return true;
}

/** tp_keep_id - @id may be TP_NAME_NONE where that is the answer. Context: hook. */
static inline void tp_keep_id(_Atomic uint64_t *kept, uint32_t id)
{
    uint64_t owner = tp_names_owner();

    if (owner)
        atomic_store_explicit(kept, owner << 32 | id, memory_order_relaxed);
}

/* The line of the thread's cache in which a text is looked for. */
static inline struct tp_name_cache *tp_name_line(const struct tp_thread *t, const void *text,
                                                 uintptr_t salt)
{
    return &t->names[((uintptr_t)text ^ salt << 50) * UINT64_C(0x9e3779b97f4a7c15) >> 55];
}

static inline uint64_t tp_word_at(const void *at)
{
    uint64_t word;

    __builtin_memcpy(&word, at, sizeof(word));
    return word;
}

/*
 * Whether the terminated @text is the @size bytes at @copy, which hold no zero and are followed by
 * 8 readable bytes.
 * @text is read in aligned words, each only after those before it were the same: never past the
 * word with its end.
 */
static inline bool tp_same_text(const char *text, const char *copy, size_t size)
{
    unsigned before = (uintptr_t)text & 7, n = 8 - before;

    if (before) {
        uint64_t word = *(const uint64_t *)(const void *)(text - before) >> 8 * before;
        uint64_t same = tp_word_at(copy);
        if (size < n)
            return (word & UINT64_MAX >> (56 - 8 * size)) ==
                   (same & ((UINT64_C(1) << 8 * size) - 1));
        if (word != (same & UINT64_MAX >> 8 * before))
            return false;
        text += n;
        copy += n;
        size -= n;
    }
    for (; size >= 8; text += 8, copy += 8, size -= 8)
        if (*(const uint64_t *)(const void *)text != tp_word_at(copy))
            return false;
    uint64_t word = *(const uint64_t *)(const void *)text;
    return (word & UINT64_MAX >> (56 - 8 * size)) ==
           (tp_word_at(copy) & ((UINT64_C(1) << 8 * size) - 1));
}

/** tp_intern_known - tp_intern_text for a text that this thread has met at this place: 0 = ask
 * tp_intern_text. The thread has its block. */
static inline uint32_t tp_intern_known(enum tp_name_kind kind, const char *text)
{
    const struct tp_name_record *record = atomic_load_explicit(
        &tp_name_line(tp_tls.thread, text, kind)->record, memory_order_relaxed);

    if (tp_likely(record && record->kind == kind &&
                  tp_same_text(text, (const char *)(record + 1), record->length)))
        return record->id;
    return TP_NAME_NONE;
}

#endif
