/* SPDX-License-Identifier: MIT */
#include "event/brief.h"

#include <string.h>

bool tp_brief_before(const uint64_t *slots, uint64_t count, uint64_t before[TP_SLOT_WORDS])
{
    uint64_t allocated = 0, freed = 0, calls = 0;
    const uint64_t *slot = slots;

    memset(before, 0, TP_SLOT_WORDS * sizeof(*before));
    for (uint64_t i = 0; i < count; i++, slot += TP_SLOT_WORDS) {
        unsigned kind = tp_slot_kind(slot);
        uint64_t bytes = slot[0] & TP_BRIEF_BYTES_MAX;
        if (!tp_is_brief(kind))
            break;
        calls += kind == TP_EVENT_ALLOC_BRIEF;
        allocated += kind == TP_EVENT_ALLOC_BRIEF ? bytes : 0;
        freed += kind == TP_EVENT_FREE_BRIEF ? bytes : 0;
    }
    uint64_t left = count - (uint64_t)(slot - slots) / TP_SLOT_WORDS;
    unsigned need = left ? tp_kind_slots(tp_slot_kind(slot)) : 0;
    if (!need || left < need)
        return false;
    bool is_alloc = tp_slot_kind(slot) == TP_EVENT_ALLOC; /* has counted itself */
    before[0] = slot[0] & TP_TICKS_MASK;
    before[1] = ((slot[1] >> 32) - calls - is_alloc) << 32;
    before[2] = slot[2] - allocated - (is_alloc ? slot[5] : 0);
    before[3] = slot[3] - freed;
    return true;
}
