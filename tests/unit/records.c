/* SPDX-License-Identifier: MIT */
#include "records.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

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

uint64_t records_kinds(int role)
{
    uint64_t kinds = 0;

    for (unsigned kind = 1; kind < TP_EVENT_KIND_END; kind++)
        if (tp_kind_slots(kind) && (role == TP_ROLE_NONE || tp_kinds[kind].role == role))
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
