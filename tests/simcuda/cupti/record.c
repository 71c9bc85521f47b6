/* SPDX-License-Identifier: MIT */
/* Activity records as bytes: records.def for the API version of this process. */
#include "cupti.h"

#include <signal.h>
#include <string.h>
#include <unistd.h>

struct field {
    uint16_t kind, index, offset, bytes;
    uint32_t api;
};
static const struct field all_fields[] = {
#define SIM_KIND(kind, number, name)
#define SIM_SIZE(kind, api, bytes)
#define SIM_FIELD(kind, field, offset, bytes, api)                                                 \
    {SIM_RECORD_##kind, SIM_##kind##_##field, offset, bytes, api},
#include "records.def"
#undef SIM_KIND
#undef SIM_SIZE
#undef SIM_FIELD
};

struct size {
    uint32_t kind, api, bytes;
};
static const struct size all_sizes[] = {
#define SIM_KIND(kind, number, name)
#define SIM_SIZE(kind, api, bytes) {SIM_RECORD_##kind, api, bytes},
#define SIM_FIELD(kind, field, offset, bytes, api)
#include "records.def"
#undef SIM_KIND
#undef SIM_SIZE
#undef SIM_FIELD
};

/* What of all_fields is this kind's, and how many bytes it has in this API version. */
static struct layout {
    uint16_t first, count;
    uint32_t bytes;
} layouts[CUPTI_KINDS];

__attribute__((constructor)) static void choose(void)
{
    uint32_t api = sim_cupti_api();
    for (size_t i = 0; i < sizeof all_sizes / sizeof all_sizes[0]; i++)
        if (api >= all_sizes[i].api)
            layouts[all_sizes[i].kind].bytes = all_sizes[i].bytes;
    for (uint16_t i = 0; i < sizeof all_fields / sizeof all_fields[0]; i++) {
        struct layout *layout = &layouts[all_fields[i].kind];
        if (!layout->count++)
            layout->first = i;
    }
}

size_t sim_record_size(uint32_t kind)
{
    return kind < CUPTI_KINDS ? layouts[kind].bytes : 0;
}

void sim_record_begin(struct sim_record *record, enum sim_record_kind kind)
{
    const struct layout *layout = &layouts[kind];
    record->kind = kind;
    memset(&record->value[all_fields[layout->first].index], 0,
           layout->count * sizeof record->value[0]);
}

void sim_record_lay_out(const struct sim_record *record, uint8_t *to)
{
    const struct layout *layout = &layouts[record->kind];
    uint32_t api = sim_cupti_api();
    memset(to, 0, layout->bytes);
    memcpy(to, &record->kind, sizeof record->kind);
    const struct field *field = &all_fields[layout->first], *end = field + layout->count;
    for (; field < end; field++) {
        if (api < field->api)
            continue;
        const uint64_t *value = &record->value[field->index];
        switch (field->bytes) {
        case 1:
            memcpy(to + field->offset, value, 1);
            break;
        case 2:
            memcpy(to + field->offset, value, 2);
            break;
        case 4:
            memcpy(to + field->offset, value, 4);
            break;
        default:
            memcpy(to + field->offset, value, 8);
        }
    }
}

ENTRY(cuptiActivityGetNextRecord, uint8_t *buffer, size_t valid_bytes, uint8_t **record)
{
    if (!record)
        return CUPTI_EPARAMETER;
    if (sim_buffers_kill_now())
        kill(getpid(), SIGKILL);
    if (!buffer || !valid_bytes)
        return CUPTI_EMAXLIMIT;
    uint8_t *next = buffer;
    if (*record) {
        uint32_t kind;
        memcpy(&kind, *record, sizeof kind);
        size_t bytes = sim_record_size(kind);
        if (!bytes)
            return CUPTI_EKIND;
        next = *record + bytes;
    }
    if (next >= buffer + valid_bytes)
        return CUPTI_EMAXLIMIT;
    uint32_t kind;
    memcpy(&kind, next, sizeof kind);
    if (!sim_record_size(kind))
        return CUPTI_EKIND;
    *record = next;
    return CUPTI_OK;
}
