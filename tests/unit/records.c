/* SPDX-License-Identifier: MIT */
#include "records.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "event/brief.h"

uint64_t random_u64(struct random *random)
{
    uint64_t z = random->state += UINT64_C(0x9e3779b97f4a7c15);

    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return z ^ z >> 31;
}

uint64_t random_below(struct random *random, uint64_t end)
{
    return end ? random_u64(random) % end : 0;
}

uint64_t random_seed(const char *what)
{
    const char *given = getenv("TEST_SEED");
    uint64_t seed = given ? strtoull(given, NULL, 0) : (uint64_t)time(NULL);

    printf("# %s: TEST_SEED=%llu\n", what, (unsigned long long)seed);
    return seed;
}

static uint64_t draw(struct random *random, const struct tp_field_info *field,
                     enum record_style style, uint64_t number)
{
    uint64_t salt = field->kind * 131u + field->column;

    switch (style) {
    case RECORDS_EQUAL:
        return salt * UINT64_C(0x9e3779b97f4a7c15);
    case RECORDS_SMALL:
        return random_below(random, random_below(random, 4) ? 3 : 300);
    case RECORDS_RISING:
        return (salt << 20) + number * (salt % 7 + 1) * 100 + random_below(random, 128) -
               (random_below(random, 50) ? 0 : 500);
    case RECORDS_ALIGNED:
        return random_u64(random) << (salt % 13);
    case RECORDS_WILD:
        return random_u64(random) >> random_below(random, 64);
    default:
        return 0;
    }
}

unsigned records_fill(struct random *random, uint64_t *slots, unsigned kind,
                      enum record_style style, uint64_t number)
{
    unsigned count = tp_kind_slots(kind);

    memset(slots, 0, count * TP_SLOT_BYTES);
    for (unsigned i = 0; i < tp_field_count; i++) {
        const struct tp_field_info *field = &tp_fields[i];
        if (field->kind != TP_EVENT_ALL && field->kind != kind)
            continue;
        uint64_t mask = field->bits < 64 ? (UINT64_C(1) << field->bits) - 1 : UINT64_MAX;
        slots[field->word] |= (draw(random, field, style, number) & mask) << field->shift;
    }
    if (tp_is_brief(kind))
        slots[1] |= (uint32_t)random_u64(random) >> random_below(random, 32);
    slots[0] = (uint64_t)kind << 56 | tp_slot_ticks(slots);
    return count;
}

uint32_t records_mix(struct random *random, uint64_t *slots, uint32_t room, uint64_t kinds,
                     enum record_style style)
{
    uint32_t used = 0;
    unsigned kind = 0;

    for (uint64_t number = 0;; number++) {
        if (!kind || random_below(random, 3) == 0) {
            do
                kind = (unsigned)random_below(random, TP_EVENT_KIND_END);
            while (!(kinds >> kind & 1));
        }
        if (tp_kind_slots(kind) > room - used)
            return used;
        used += records_fill(random, slots + (size_t)used * TP_SLOT_WORDS, kind, style, number);
    }
}

#define HEAP_BLOCKS 300
#define HEAP_SIZES 40

/* Blocks that are live, and by size the last ones that were freed. */
struct heap {
    struct random *random;
    unsigned wildness;
    uint64_t address[HEAP_BLOCKS], bytes[HEAP_BLOCKS];
    uint64_t freed[HEAP_SIZES][8];
    unsigned live, freed_count[HEAP_SIZES];
    uint64_t top, ticks, calls, allocated, freed_bytes;
};

static bool is_wild(struct heap *heap)
{
    return random_below(heap->random, 256) < heap->wildness;
}

static void put_common(struct heap *heap, uint64_t *slot, unsigned kind)
{
    heap->ticks += 20 + random_below(heap->random, 200);
    if (is_wild(heap))
        heap->ticks += random_u64(heap->random) >> random_below(heap->random, 64);
    if (is_wild(heap))
        heap->freed_bytes += random_u64(heap->random) >> random_below(heap->random, 64);
    slot[0] = (uint64_t)kind << 56 | (heap->ticks & TP_TICKS_MASK);
    slot[1] = heap->calls << 32;
    slot[2] = heap->allocated;
    slot[3] = heap->freed_bytes;
}

static void put_alloc(struct heap *heap, uint64_t *slot)
{
    uint64_t asked = 1 + random_below(heap->random, random_below(heap->random, 2) ? 600 : 60);
    uint64_t bytes = asked <= 24 ? 24 : ((asked + 23) & ~UINT64_C(15)) - 8;
    unsigned size = (unsigned)(bytes / 16);
    uint64_t address = heap->top;

    if (heap->freed_count[size] && !is_wild(heap))
        address = heap->freed[size][--heap->freed_count[size]];
    else
        heap->top += bytes + (random_below(heap->random, 4) ? 8 : 0);
    if (is_wild(heap))
        asked = random_u64(heap->random) >> random_below(heap->random, 64);
    if (is_wild(heap))
        address = heap->live ? heap->address[0] : random_u64(heap->random);
    heap->calls++;
    heap->allocated += bytes;
    put_common(heap, slot, TP_EVENT_ALLOC);
    slot[1] |= 16 + random_below(heap->random, 5);
    slot[4] = address;
    slot[5] = bytes;
    slot[6] = ((bytes - asked) & ((UINT64_C(1) << 48) - 1)) | random_below(heap->random, 2) << 48;
    heap->address[heap->live] = address;
    heap->bytes[heap->live++] = bytes;
}

static void put_free(struct heap *heap, uint64_t *slot)
{
    unsigned which = random_below(heap->random, 2)
                         ? heap->live - 1
                         : (unsigned)random_below(heap->random, heap->live);
    uint64_t address = heap->address[which], bytes = heap->bytes[which];
    unsigned size = (unsigned)(bytes / 16);

    heap->address[which] = heap->address[--heap->live];
    heap->bytes[which] = heap->bytes[heap->live];
    if (is_wild(heap))
        address = random_u64(heap->random);
    if (heap->freed_count[size] < 8)
        heap->freed[size][heap->freed_count[size]++] = address;
    heap->freed_bytes += bytes;
    put_common(heap, slot, TP_EVENT_FREE);
    slot[4] = address;
    slot[5] = random_below(heap->random, 50) ? 0 : 1;
}

uint32_t records_heap(struct random *random, uint64_t *slots, uint32_t room, unsigned wildness)
{
    struct heap heap = {.random = random,
                        .wildness = wildness,
                        .top = UINT64_C(0x55d0c0de0010),
                        .ticks = random_u64(random)};
    unsigned before = (unsigned)random_below(random, HEAP_BLOCKS / 2);
    uint32_t used = 0;

    for (; heap.live < before; heap.live++, heap.top += 64) { /* from before the block */
        heap.address[heap.live] = heap.top;
        heap.bytes[heap.live] = 56;
    }
    for (unsigned step; used + 2 <= room; used += step) {
        uint64_t *slot = slots + (size_t)used * TP_SLOT_WORDS;
        memset(slot, 0, 2 * TP_SLOT_BYTES);
        step = 2;
        if (!random_below(random, 20)) {
            put_common(&heap, slot, TP_EVENT_NVTX_POP);
            step = 1;
        } else if (heap.live == HEAP_BLOCKS || (heap.live && random_below(random, 2))) {
            put_free(&heap, slot);
        } else {
            put_alloc(&heap, slot);
        }
    }
    return used;
}

/* The record at @record, whose track had freed so many bytes before it, in short. */
static void shorten(const uint64_t *record, uint64_t freed_before, uint64_t brief[TP_SLOT_WORDS])
{
    bool is_alloc = tp_slot_kind(record) == TP_EVENT_ALLOC;
    uint64_t bytes = is_alloc ? record[5] : record[3] - freed_before;
    uint64_t kind = is_alloc ? TP_EVENT_ALLOC_BRIEF : TP_EVENT_FREE_BRIEF;

    brief[0] = kind << 56 | (bytes & TP_BRIEF_BYTES_MAX);
    brief[1] = is_alloc ? tp_slot_argument(record) : 0;
    brief[2] = record[4];
    brief[3] = is_alloc ? record[6] : record[5] << TP_ALLOC_FLAGS_SHIFT;
}

uint32_t records_shorten(struct random *random, uint64_t *slots, uint32_t count,
                         unsigned whole_one_in)
{
    uint64_t freed = 0;
    uint32_t used = 0;

    for (uint32_t at = 0, step; at < count; at += step) {
        uint64_t record[16], *to = slots + (size_t)used * TP_SLOT_WORDS;
        unsigned kind = tp_slot_kind(slots + (size_t)at * TP_SLOT_WORDS);
        step = tp_kind_slots(kind);
        memcpy(record, slots + (size_t)at * TP_SLOT_WORDS, step * TP_SLOT_BYTES);
        if ((kind == TP_EVENT_ALLOC || kind == TP_EVENT_FREE) &&
            random_below(random, whole_one_in)) {
            shorten(record, freed, to);
            used++;
        } else {
            memmove(to, record, step * TP_SLOT_BYTES);
            used += step;
        }
        freed = record[3];
    }
    return used;
}

uint32_t records_expand(const uint64_t *slots, uint32_t count, uint64_t before[TP_SLOT_WORDS],
                        uint64_t *whole)
{
    uint32_t used = 0;

    for (uint32_t at = 0, step, steps_whole; at < count; at += step, used += steps_whole) {
        const uint64_t *record = slots + (size_t)at * TP_SLOT_WORDS;
        uint64_t *to = whole + (size_t)used * TP_SLOT_WORDS;
        unsigned kind = tp_slot_kind(record);
        step = steps_whole = tp_kind_slots(kind);
        if (tp_is_brief(kind)) {
            tp_brief_expand(record, before, to);
            steps_whole = TP_BRIEF_WHOLE_SLOTS;
        } else {
            memcpy(to, record, step * TP_SLOT_BYTES);
        }
        memcpy(before, to, TP_SLOT_BYTES);
    }
    return used;
}

uint64_t records_kinds(int role)
{
    uint64_t kinds = 0;

    for (unsigned kind = 1; kind < TP_EVENT_KIND_END; kind++)
        if (tp_kind_slots(kind) && !tp_is_brief(kind) &&
            (role == TP_ROLE_NONE || tp_kinds[kind].role == role))
            kinds |= UINT64_C(1) << kind;
    return kinds;
}

void records_write_schema(FILE *file)
{
    fprintf(file, "{\"t\":\"schema\",\"kinds\":[");
    for (unsigned kind = 0; kind < TP_EVENT_KIND_END; kind++) {
        static const char *const roles[] = {"none", "begin", "end", "point", "lost"};
        static const char *const classes[TP_CLASS_END] = {"none", "op",  "nvtx",
                                                          "itt",  "api", "cuda"};
        const struct tp_kind_info *info = &tp_kinds[kind];
        const char *between = "";
        fprintf(file,
                "%s{\"id\":%u,\"name\":\"%s\",\"slots\":%u,\"role\":\"%s\",\"class\":\"%s\","
                "\"columns\":[",
                kind ? "," : "", kind, kind ? info->name : "all", info->slots, roles[info->role],
                classes[info->class_]);
        for (unsigned i = 0; i < tp_field_count; i++) {
            const struct tp_field_info *field = &tp_fields[i];
            if (field->kind != kind)
                continue;
            fprintf(file,
                    "%s{\"id\":%u,\"name\":\"%s\",\"word\":%u,\"shift\":%u,\"bits\":%u,\"unit\":\"%"
                    "s\"}",
                    between, field->column, field->name, field->word, field->shift, field->bits,
                    field->unit);
            between = ",";
        }
        fprintf(file, "]}");
    }
    fprintf(file, "]}\n");
}
