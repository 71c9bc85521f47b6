/* SPDX-License-Identifier: MIT */
/*
 * Names of this process: an append-only file, mapped, and an open-addressing table over it. A
 * thread that meets a new name claims room in the file, writes the record, its checksum last, and
 * then publishes the offset in the table. Whoever loses that race leaves a second record with the
 * same bytes behind: legal, and rare.
 */
#include <string.h>

#include "agent.h"
#include "capture_range.h"
#include "intern.h"
#include "losses.h"
#include "record.h"
#include "recording.h"
#include "scope.h"

#define TABLE_MASK (TP_NAME_TABLE - 1u)
#define PROBES_MAX 4096u

/* Call stacks may be as many as allocations: they, and what they are made of, leave room to the
 * names of ranges. */
static unsigned share_of(enum tp_name_kind kind)
{
    return kind == TP_NAME_ADDRESS || kind == TP_NAME_CODE ? TP_NAMES_OF_STACKS : TP_NAMES_ALL;
}

static bool is_within(const struct tp_live *live, uint64_t share)
{
    return atomic_load_explicit(&live->names.next_id, memory_order_relaxed) <
               TP_NAME_FIRST + TP_NAME_LIMIT / TP_NAMES_ALL * share &&
           (share == TP_NAMES_ALL || atomic_load_explicit(&live->names.used, memory_order_relaxed) <
                                         TP_NAMES_FILE_LIMIT / TP_NAMES_ALL * share);
}

bool tp_names_are_within(unsigned share)
{
    return !tp_agent.live || is_within(tp_agent.live, share);
}

/* 8 bytes behind every name are readable, too: texts are compared in words. */
static uint64_t claim_room(struct tp_live *live, uint64_t bytes)
{
    uint64_t used = atomic_load_explicit(&live->names.used, memory_order_relaxed);

    do {
        if (used + bytes + 8 > atomic_load_explicit(&live->names.allocated, memory_order_acquire))
            return 0;
    } while (!atomic_compare_exchange_weak_explicit(&live->names.used, &used, used + bytes,
                                                    memory_order_relaxed, memory_order_relaxed));
    return used;
}

/* The new record's offset, or 0 with *ret_id saying why there is none. */
static uint64_t make_record(struct tp_live *live, enum tp_name_kind kind, const void *bytes,
                            size_t size, unsigned flags, unsigned share, uint32_t *ret_id)
{
    uint64_t need = (sizeof(struct tp_name_record) + size + 7) & ~UINT64_C(7);
    uint64_t at;

    *ret_id = TP_NAME_TOO_MANY;
    if (!is_within(live, share))
        return 0;
    while (!(at = claim_room(live, need)))
        if (tp_recording_extend_names(live, need) < 0) {
            if (atomic_load(&live->names.allocated) < TP_NAMES_FILE_LIMIT)
                *ret_id = TP_NAME_NO_ROOM;
            return 0;
        }
    struct tp_name_record *record = (struct tp_name_record *)(live->names.map + at);
    record->id = atomic_fetch_add_explicit(&live->names.next_id, 1, memory_order_relaxed);
    record->kind = (uint8_t)kind;
    record->flags = (uint8_t)flags;
    record->length = (uint32_t)size;
    atomic_signal_fence(
        memory_order_seq_cst); /* killed here, a reader sees how far the room goes */
    memcpy(record + 1, bytes, size);
    uint32_t sum = tp_name_checksum(record, bytes);
    atomic_store_explicit((_Atomic uint32_t *)&record->checksum, sum, memory_order_release);
    if (tp_unlikely(tp_capture_watches))
        tp_capture_range_name(live, record);
    *ret_id = record->id;
    return at;
}

static bool same(const struct tp_name_record *record, enum tp_name_kind kind, const void *bytes,
                 size_t size)
{
    return record->kind == kind && record->length == size && !memcmp(record + 1, bytes, size);
}

/* @share: of all room, within which one is made where there is none yet; 0: none is made, and
 * *ret_id is TP_NAME_NONE. Else it says why there is none. */
static const struct tp_name_record *find_record(enum tp_name_kind kind, const void *bytes,
                                                size_t size, unsigned share, uint32_t *ret_id)
{
    struct tp_live *live = tp_agent.live;
    unsigned flags = 0;
    uint64_t made = 0;

    *ret_id = TP_NAME_NONE;
    if (!live || !live->names.map)
        return NULL;
    if (size > TP_NAME_LENGTH_LIMIT) {
        size = TP_NAME_LENGTH_LIMIT;
        flags = TP_NAME_CUT;
    }
    uint64_t hash = tp_name_hash(kind, bytes, size);
    uint64_t high = hash & UINT64_C(0xffffffff00000000);
    for (uint32_t i = (uint32_t)hash, probes = 0; probes < PROBES_MAX; i++, probes++) {
        _Atomic uint64_t *entry = &live->names.table[i & TABLE_MASK];
        uint64_t seen = atomic_load_explicit(entry, memory_order_acquire);
        if (!seen) {
            if (!share)
                return NULL;
            if (!made && !(made = make_record(live, kind, bytes, size, flags, share, ret_id)))
                return NULL;
            if (atomic_compare_exchange_strong_explicit(entry, &seen, high | made / 8,
                                                        memory_order_acq_rel, memory_order_acquire))
                return (const struct tp_name_record *)(live->names.map + made);
        }
        if ((seen & UINT64_C(0xffffffff00000000)) != high)
            continue;
        const struct tp_name_record *record =
            (const struct tp_name_record *)(live->names.map + (seen & UINT32_MAX) * 8);
        if (same(record, kind, bytes, size)) {
            *ret_id = record->id;
            return record;
        }
    }
    if (share)
        *ret_id = TP_NAME_TOO_MANY;
    return NULL;
}

void tp_intern_count_refused(size_t size)
{
    struct tp_live *live = tp_agent.live;
    struct tp_thread *t = tp_tls.thread;

    tp_loss_raise(live, TP_LOSS_NO_NAME,
                  1 + atomic_fetch_add_explicit(&live->names.refused, 1, memory_order_relaxed));
    if (t)
        t->lost_name_bytes += size;
}

const struct tp_name_record *tp_intern_record(enum tp_name_kind kind, const void *bytes,
                                              size_t size, uint32_t *ret_id)
{
    const struct tp_name_record *record = find_record(kind, bytes, size, share_of(kind), ret_id);

    if (tp_unlikely(!record && *ret_id != TP_NAME_NONE))
        tp_intern_count_refused(size);
    return record;
}

uint32_t tp_intern(enum tp_name_kind kind, const void *bytes, size_t size)
{
    uint32_t id;

    if (tp_unlikely(!tp_names_ready()))
        return TP_NAME_NONE;
    tp_intern_record(kind, bytes, size, &id);
    return id;
}

uint32_t tp_intern_within(unsigned share, enum tp_name_kind kind, const void *bytes, size_t size)
{
    uint32_t id;

    if (tp_unlikely(!tp_names_ready()))
        return TP_NAME_NONE;
    find_record(kind, bytes, size, share, &id);
    return id;
}

/*
 * A line is one pointer to a name's record, which never changes: whatever a signal handler puts
 * there meanwhile, the comparison and the id are of the same name.
 */
uint32_t tp_intern_text(enum tp_name_kind kind, const char *text)
{
    if (tp_unlikely(!tp_names_ready()))
        return TP_NAME_NONE;
    uint32_t id = tp_intern_known(kind, text);
    if (tp_likely(id))
        return id;
    size_t size = strlen(text);
    const struct tp_name_record *record = tp_intern_record(kind, text, size, &id);
    if (record && record->length == size)
        atomic_store_explicit(&tp_name_line(tp_tls.thread, text, kind)->record, record,
                              memory_order_relaxed);
    return id;
}

/* Both are ours, with readable bytes up to the next multiple of 8 behind them. */
static inline bool same_bytes(const char *a, const char *b, size_t size)
{
    for (; size >= 8; a += 8, b += 8, size -= 8)
        if (tp_word_at(a) != tp_word_at(b))
            return false;
    return !size || !((tp_word_at(a) ^ tp_word_at(b)) << (64 - 8 * size));
}

static inline bool same_scoped(const struct tp_name_record *record, const struct tp_scope *scope,
                               const char *text)
{
    const char *bytes = (const char *)(record + 1);
    uint32_t before = scope->length + 1;

    return record->kind == TP_NAME_SCOPED && record->length >= before && !bytes[scope->length] &&
           same_bytes(bytes, scope->name, scope->length) &&
           tp_same_text(text, bytes + before, record->length - before);
}

uint32_t tp_intern_scoped(const struct tp_scope *scope, const char *text)
{
    if (tp_unlikely(!tp_names_ready()))
        return TP_NAME_NONE;
    struct tp_name_cache *line = tp_name_line(tp_tls.thread, text, TP_NAME_SCOPED + scope->number);
    const struct tp_name_record *record = atomic_load_explicit(&line->record, memory_order_relaxed);

    if (tp_likely(record && same_scoped(record, scope, text)))
        return record->id;
    size_t size = strlen(text);
    uint32_t id = tp_scope_record(scope, text, size, &record);
    if (record && record->length == scope->length + 1 + size)
        atomic_store_explicit(&line->record, record, memory_order_relaxed);
    return id;
}
