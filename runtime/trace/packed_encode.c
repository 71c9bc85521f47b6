/* SPDX-License-Identifier: MIT */
#include "trace/packed_encode.h"

#define LOOKED_AT 1024u /* of the sizes or addresses of a block */

/* The columns of event_kinds.def that are series. */
static const struct {
    uint8_t kind, column, series;
} series_columns[] = {
    {TP_EVENT_ALL, 2, TP_SERIES_TICKS},          {TP_EVENT_ALL, 3, TP_SERIES_CALLS},
    {TP_EVENT_ALL, 4, TP_SERIES_ALLOCATED},      {TP_EVENT_ALL, 5, TP_SERIES_FREED},
    {TP_EVENT_ALLOC, 20, TP_SERIES_ALLOC_FLAGS}, {TP_EVENT_ALLOC, 21, TP_SERIES_ALLOC_PERIOD},
    {TP_EVENT_FREE, 18, TP_SERIES_FREE_FLAGS},
};

#define KIND_COLUMN 1   /* of all records */
#define STACK_COLUMN 16 /* of allocations */

static uint64_t bits_of(uint64_t value)
{
    return 64 - (unsigned)__builtin_clzll(value | 1);
}

/* Whether addresses mostly are nearer to the one before than to the lowest of them. */
static bool is_in_steps(const uint64_t *values, uint32_t count)
{
    uint64_t least = UINT64_MAX, steps = 0, offsets = 0;

    for (uint32_t i = 0; i < count; i++)
        least = values[i] < least ? values[i] : least;
    for (uint32_t i = 1; i < count; i += 1 + count / LOOKED_AT) {
        steps += bits_of(tp_wire_zigzag(values[i] - values[i - 1]));
        offsets += bits_of(values[i] - least);
    }
    return steps < offsets;
}

/* A column of addresses that are not all equal, as differences. */
static struct tp_planes put_steps(const struct tp_packed_out *to, unsigned column,
                                  const uint64_t *values, uint32_t count)
{
    const struct tp_field_info field = {
        .column = (uint8_t)column, .bits = 64, .encoding = TP_ENCODING_PLANES_DELTA};
    uint64_t any = 0, differ = 0;

    for (uint32_t i = 0; i < count; i++) {
        any |= values[i];
        differ |= values[i] ^ values[0];
    }
    return tp_column_put(to->out, &field, values, count, any, differ, to->values);
}

/* Sizes are few in most programs, then they have codes; where none is frequent that is in vain. */
static bool are_sizes_noise(const struct tp_packed_values *sizes)
{
    uint32_t seen[256] = {0}, most = 0, step = 1 + sizes->count / LOOKED_AT, looked_at = 0;
    const uint32_t *values = sizes->values;

    if (sizes->size != sizeof(*values))
        return false;
    for (uint32_t i = 0; i < sizes->count; i += step, looked_at++) {
        uint32_t seen_now = ++seen[values[i] & 0xff];
        most = seen_now > most ? seen_now : most;
    }
    return most < looked_at / 64;
}

static bool is_noise(unsigned column, const struct tp_packed_values *values)
{
    switch (column) {
    case TP_PACKED_FREE_BYTES:
    case TP_PACKED_ALLOC_SLACK:
    case TP_PACKED_BRIEF:
        return false;
    case TP_PACKED_ALLOC_ASKED:
        return are_sizes_noise(values);
    default:
        return true;
    }
}

static void put_section_column(const struct tp_packed_out *to, unsigned column,
                               const struct tp_packed_values *values)
{
    bool is_address = column == TP_PACKED_ALLOC_ADDRESS || column == TP_PACKED_FREE_ADDRESS;

    tp_wire_put_varint(to->out, values->count);
    struct tp_planes planes = is_address && is_in_steps(values->values, values->count)
                                  ? put_steps(to, column, values->values, values->count)
                                  : tp_column_put_packed(to->out, (uint8_t)column, values,
                                                         is_noise(column, values), to->scratch);
    tp_frames_cut(to->frames, to->out, planes, true);
}

static void put_slack(const struct tp_packed_out *to, const struct tp_series *slack, uint32_t count)
{
    const struct tp_field_info field = {
        .column = TP_PACKED_ALLOC_SLACK, .bits = TP_SLACK_BITS, .encoding = TP_ENCODING_PLANES};

    tp_wire_put_varint(to->out, count);
    struct tp_planes planes =
        tp_column_put_series(to->out, &field, slack, count, to->words, to->values);
    tp_frames_cut(to->frames, to->out, planes, true);
}

void tp_packed_put_section(const struct tp_packed_out *to, const struct tp_packer *packer)
{
    uint8_t *column_count = to->out->at, columns = 0;

    tp_wire_put_u8(to->out, 0);
    for (unsigned column = 1; column < TP_PACKED_END; column++)
        if (packer->columns[column].count) {
            put_section_column(to, column, &packer->columns[column]);
            columns++;
        }
    if (packer->allocs) {
        put_slack(to, &packer->series[TP_SERIES_SLACK], packer->allocs);
        columns++;
    }
    if (!to->out->full)
        *column_count = columns;
}

static bool any_of(const struct tp_packed_values *stacks)
{
    const uint32_t *values = stacks->values;
    uint32_t any = 0;

    for (uint32_t i = 0; i < stacks->count; i++)
        any |= values[i];
    return any;
}

static const struct tp_series *find_series(const struct tp_packer *packer,
                                           const struct tp_field_info *field)
{
    for (size_t i = 0; i < sizeof(series_columns) / sizeof(*series_columns); i++)
        if (series_columns[i].kind == field->kind && series_columns[i].column == field->column)
            return &packer->series[series_columns[i].series];
    return NULL;
}

/* Returns the columns put: none where all values are zero, or the section of allocations has them.
 */
static unsigned put_column(const struct tp_packed_out *to, const struct tp_packer *packer,
                           const struct tp_field_info *field, uint32_t count)
{
    const struct tp_series *series = find_series(packer, field);
    struct tp_planes planes = {0};

    if (series && series->changes)
        planes = tp_column_put_series(to->out, field, series, count, to->words, to->values);
    else if (field->kind == TP_EVENT_ALL && field->column == KIND_COLUMN)
        tp_column_put_kinds(to->out, field, packer->kinds, count);
    else if (field->kind == TP_EVENT_ALLOC && field->column == STACK_COLUMN &&
             any_of(&packer->stacks))
        planes = tp_column_put_small(to->out, (uint8_t)field->column, &packer->stacks, to->scratch);
    else
        return 0;
    tp_frames_cut(to->frames, to->out, planes, true);
    return 1;
}

unsigned tp_packed_put_group(const struct tp_packed_out *to, const struct tp_packer *packer,
                             unsigned kind, uint32_t count)
{
    struct tp_wire_out before = *to->out;
    unsigned columns = 0;

    tp_wire_put_u8(to->out, (uint8_t)kind);
    tp_wire_put_varint(to->out, count);
    uint8_t *column_count = to->out->at;
    tp_wire_put_u8(to->out, 0);
    for (unsigned i = 0; i < tp_field_count && count; i++)
        if (tp_fields[i].kind == kind)
            columns += put_column(to, packer, &tp_fields[i], count);
    if (!columns && kind != TP_EVENT_ALL) {
        *to->out = before;
        return 0;
    }
    if (!to->out->full)
        *column_count = (uint8_t)columns;
    return 1;
}
