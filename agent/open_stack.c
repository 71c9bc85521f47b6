/* SPDX-License-Identifier: MIT */
#include "open_stack.h"

#include <string.h>

#include "base/os.h"
#include "trace/block.h"

#define ENTRY_WORDS (2u * TP_SLOT_WORDS)
#define FIRST_ENTRIES 64u
#define MOST_ENTRIES (TP_BLOCK_OPEN_MAX / 2u)

static uint64_t entry_bytes(uint32_t entries)
{
    return (uint64_t)entries * ENTRY_WORDS * sizeof(uint64_t);
}

static bool make_room(struct tp_ring_entry *e)
{
    if (e->open_count < e->open_room)
        return true;
    uint32_t room = e->open_room ? e->open_room * 2 : FIRST_ENTRIES;
    if (room > MOST_ENTRIES)
        return false;
    void *memory = e->open ? tp_os_remap(e->open, entry_bytes(e->open_room), entry_bytes(room))
                           : tp_os_map(entry_bytes(room));
    if (!memory)
        return false;
    e->open = memory;
    e->open_room = room;
    return true;
}

static void push(struct tp_ring_entry *e, const uint64_t *record, const struct tp_kind_info *kind)
{
    if (e->over[kind->class_] || !make_room(e)) {
        e->over[kind->class_]++;
        return;
    }
    memcpy(e->open + (uint64_t)e->open_count * ENTRY_WORDS, record,
           kind->slots * (size_t)TP_SLOT_BYTES);
    e->open_count++;
}

static void pop(struct tp_ring_entry *e, unsigned class_)
{
    if (e->over[class_]) {
        e->over[class_]--;
        return;
    }
    for (uint32_t i = e->open_count; i-- > 0;) {
        uint64_t *entry = e->open + (uint64_t)i * ENTRY_WORDS;
        if (tp_kinds[tp_slot_kind(entry)].class_ != class_)
            continue;
        memmove(entry, entry + ENTRY_WORDS, entry_bytes(e->open_count - i - 1));
        e->open_count--;
        return;
    }
}

void tp_open_stack_replay(struct tp_ring_entry *entry, const uint64_t *records, uint32_t slots)
{
    for (uint32_t i = 0; i < slots;) {
        const uint64_t *record = records + (uint64_t)i * TP_SLOT_WORDS;
        const struct tp_kind_info *kind = &tp_kinds[tp_slot_kind(record)];
        if (kind->role == TP_ROLE_BEGIN)
            push(entry, record, kind);
        else if (kind->role == TP_ROLE_END)
            pop(entry, kind->class_);
        i += kind->slots;
    }
}

uint32_t tp_open_stack_compact(const struct tp_ring_entry *entry, uint64_t *ret_slots,
                               uint32_t room)
{
    uint32_t used = 0;

    for (uint32_t i = 0; i < entry->open_count; i++) {
        const uint64_t *record = entry->open + (uint64_t)i * ENTRY_WORDS;
        unsigned slots = tp_kind_slots(tp_slot_kind(record));
        if (used + slots > room)
            break;
        memcpy(ret_slots + (uint64_t)used * TP_SLOT_WORDS, record, slots * (size_t)TP_SLOT_BYTES);
        used += slots;
    }
    return used;
}

void tp_open_stack_move(struct tp_ring_entry *to, struct tp_ring_entry *from)
{
    to->open = from->open;
    to->open_count = from->open_count;
    to->open_room = from->open_room;
    memcpy(to->over, from->over, sizeof(to->over));
    from->open = NULL;
    from->open_count = from->open_room = 0;
}
