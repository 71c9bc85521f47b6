/* SPDX-License-Identifier: MIT */
#include "name_index.h"

#include "trace/file.h"

#define STUCK_MAX 64u

/* Bytes of the record at @at, 0 when there is none that is whole. */
static uint64_t record_at(const struct tp_name_index *index, uint64_t at, uint64_t used)
{
    const struct tp_name_record *record = (const struct tp_name_record *)(index->map + at);

    if (at + sizeof(*record) > used)
        return 0;
    uint32_t sum =
        atomic_load_explicit((const _Atomic uint32_t *)&record->checksum, memory_order_acquire);
    uint64_t size = (sizeof(*record) + record->length + 7) & ~UINT64_C(7);
    if (!sum || record->id < TP_NAME_FIRST || record->id >= TP_NAME_FIRST + TP_NAME_LIMIT ||
        !record->kind || record->length > TP_NAME_LENGTH_LIMIT || at + size > used)
        return 0;
    return tp_name_checksum(record, record + 1) == sum ? size : 0;
}

/* A claim that was never finished is waited for, since it mostly is finished a moment later, but
 * not for ever. */
void tp_name_index_update(struct tp_name_index *index)
{
    uint64_t used = atomic_load_explicit(index->used, memory_order_acquire);
    uint64_t at = index->seen, whole = 0;
    bool hole = false;

    while (at + sizeof(struct tp_name_record) <= used) {
        uint64_t size = record_at(index, at, used);
        if (size) {
            const struct tp_name_record *record = (const struct tp_name_record *)(index->map + at);
            index->offsets[record->id] = (uint32_t)(at / 8);
            at += size;
        } else {
            if (!hole)
                whole = at;
            hole = true;
            at += 8;
        }
    }
    if (!hole || ++index->stuck > STUCK_MAX) {
        index->seen = at;
        index->stuck = 0;
        return;
    }
    index->seen = whole;
}

const struct tp_name_look *tp_name_index_look(struct tp_name_index *index, uint32_t id, bool nvtx)
{
    uint64_t tag = ((uint64_t)id << 1 | nvtx) + 2;
    uint32_t at = id < TP_NAME_FIRST + TP_NAME_LIMIT ? index->offsets[id] : 0;
    struct tp_name_look *look = &index->looks[tag % TP_NAME_LOOKS].look;

    if (index->looks[tag % TP_NAME_LOOKS].tag == tag)
        return look;
    index->looks[tag % TP_NAME_LOOKS].tag = at ? tag : 0;
    if (at) {
        const struct tp_name_record *record =
            (const struct tp_name_record *)(index->map + (uint64_t)at * 8);
        *look = tp_name_look(record->kind, (const char *)(record + 1), record->length, nvtx);
    } else {
        *look = (struct tp_name_look){.text = UINT64_C(1) << 63 | id, .launches = true};
    }
    return look;
}
