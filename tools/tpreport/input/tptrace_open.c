/* SPDX-License-Identifier: MIT */
#include "input/tptrace_open.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

void tptrace_open_clear(struct tptrace_open_stack *stack)
{
    memset(stack, 0, offsetof(struct tptrace_open_stack, entries));
}

static void push(struct tptrace_open_stack *stack, const uint64_t *record,
                 const struct tp_kind_info *kind)
{
    if (stack->over[kind->class_] || stack->count == TPTRACE_OPEN_MAX) {
        stack->over[kind->class_]++;
        return;
    }
    uint64_t *entry = stack->entries + (size_t)stack->count++ * TPTRACE_OPEN_WORDS;
    memset(entry, 0, TPTRACE_OPEN_WORDS * sizeof(*entry));
    memcpy(entry, record, kind->slots * (size_t)TP_SLOT_BYTES);
}

static void pop(struct tptrace_open_stack *stack, unsigned class_)
{
    if (stack->over[class_]) {
        stack->over[class_]--;
        return;
    }
    for (uint32_t i = stack->count; i-- > 0;) {
        uint64_t *entry = stack->entries + (size_t)i * TPTRACE_OPEN_WORDS;
        if (tp_kinds[tp_slot_kind(entry)].class_ != class_)
            continue;
        stack->count--;
        memmove(entry, entry + TPTRACE_OPEN_WORDS,
                (stack->count - i) * TPTRACE_OPEN_WORDS * sizeof(*entry));
        return;
    }
}

const uint64_t *tptrace_open_replay(struct tptrace_open_stack *stack, const uint64_t *slots,
                                    uint32_t count)
{
    const uint64_t *last = NULL;

    for (uint32_t i = 0; i < count;) {
        const uint64_t *record = slots + (size_t)i * TP_SLOT_WORDS;
        const struct tp_kind_info *kind = &tp_kinds[tp_slot_kind(record)];
        if (!kind->slots)
            return last;
        last = record;
        if (kind->role == TP_ROLE_BEGIN)
            push(stack, record, kind);
        else if (kind->role == TP_ROLE_END)
            pop(stack, kind->class_);
        i += kind->slots;
    }
    return last;
}

static void keep_last(struct tptrace_open_stack *stack, const uint64_t *record)
{
    if (record)
        memcpy(stack->before, record, sizeof(stack->before));
    stack->knows_before = record != NULL;
}

int tptrace_open_read(struct tptrace_open_stack *stack, struct tptrace_process *process,
                      const struct tptrace_piece *piece, struct tptrace_open_block *block)
{
    struct tp_block decoded;

    if (!block->decoder)
        block->decoder = tp_block_decoder_create();
    if (!block->decoder)
        return -ENOMEM;
    int64_t n = tptrace_process_read_piece(process, piece, &block->bytes, &block->capacity, NULL);
    if (n == -ENOMEM)
        return (int)n;
    if (n < 0 ||
        tp_block_decode(block->decoder, block->bytes, (uint64_t)n, piece->offset, &decoded, NULL))
        return 0;
    tptrace_open_clear(stack);
    tptrace_open_replay(stack, decoded.open, decoded.open_slots);
    keep_last(stack, tptrace_open_replay(stack, decoded.slots, decoded.slot_count));
    return 0;
}

void tptrace_open_evicted(struct tptrace_open_stack *stack, const struct tptrace_process *process,
                          uint32_t track, uint64_t slot)
{
    const struct tp_summary *summary = &process->summary.file;

    for (uint32_t i = 0; i < summary->track_count; i++) {
        const struct tp_summary_track *told = &summary->tracks[i];
        if (told->track != track || told->next_slot != slot)
            continue;
        tptrace_open_clear(stack);
        stack->before[0] = told->ticks & TP_TICKS_MASK;
        memcpy(stack->before + 1, told->counters, sizeof(told->counters));
        stack->knows_before = true;
        for (uint32_t f = 0; f < told->frame_count; f++) {
            const uint64_t *record = summary->frames[told->first_frame + f].record;
            tptrace_open_replay(stack, record, tp_kind_slots(tp_slot_kind(record)));
        }
        return;
    }
}

uint32_t tptrace_open_slots(const struct tptrace_open_stack *stack, uint64_t *ret)
{
    uint32_t used = 0;

    for (uint32_t i = 0; i < stack->count; i++) {
        const uint64_t *entry = stack->entries + (size_t)i * TPTRACE_OPEN_WORDS;
        unsigned slots = tp_kind_slots(tp_slot_kind(entry));
        memcpy(ret + (size_t)used * TP_SLOT_WORDS, entry, slots * (size_t)TP_SLOT_BYTES);
        used += slots;
    }
    return used;
}

void tptrace_open_block_fini(struct tptrace_open_block *block)
{
    tp_block_decoder_destroy(block->decoder);
    free(block->bytes);
    *block = (struct tptrace_open_block){0};
}
