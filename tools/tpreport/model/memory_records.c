/* SPDX-License-Identifier: MIT */
#include "model/memory_records.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "model/function_event.h"

bool tp_memory_is_host(unsigned device_type)
{
    return device_type == TP_DEVICE_CPU || device_type == TP_DEVICE_MKLDNN ||
           device_type == TP_DEVICE_IDEEP;
}

bool tp_memory_is_device(unsigned device_type)
{
    return device_type == TP_DEVICE_CUDA || device_type == TP_DEVICE_PRIVATEUSE1 ||
           device_type == TP_DEVICE_HIP || device_type == TP_DEVICE_XPU;
}

void tp_memory_records_fini(struct tp_memory_records *records)
{
    free(records->items);
    free(records->order);
    free(records->cpu_sums);
    free(records->device_sums);
    free(records->uses);
    *records = (struct tp_memory_records){0};
}

int tp_memory_records_add(struct tp_memory_records *records, const struct tp_memory_record *record)
{
    if (records->count == records->capacity) {
        uint32_t capacity = records->capacity ? records->capacity * 2 : 64;
        if (capacity > 1u << 31)
            return -TP_ELIMIT;
        struct tp_memory_record *items = realloc(records->items, capacity * sizeof(*items));
        if (!items)
            return -ENOMEM;
        records->items = items;
        records->capacity = capacity;
    }
    records->items[records->count++] = *record;
    return 0;
}

static int compare_starts(const void *a, const void *b, void *context)
{
    const struct tp_memory_record *items = context;
    uint32_t left = *(const uint32_t *)a, right = *(const uint32_t *)b;

    if (items[left].start_ns != items[right].start_ns)
        return items[left].start_ns < items[right].start_ns ? -1 : 1;
    return left < right ? -1 : left > right;
}

/* Sums of hostile sizes wrap rather than overflow. */
static int64_t add(int64_t a, int64_t b)
{
    return (int64_t)((uint64_t)a + (uint64_t)b);
}

int tp_memory_records_sort(struct tp_memory_records *records)
{
    size_t room = (size_t)records->count + 1;

    records->order = malloc(room * sizeof(*records->order));
    records->cpu_sums = malloc(room * sizeof(*records->cpu_sums));
    records->device_sums = malloc(room * sizeof(*records->device_sums));
    records->uses = calloc(room, sizeof(*records->uses));
    if (!records->order || !records->cpu_sums || !records->device_sums || !records->uses)
        return -ENOMEM;
    for (uint32_t i = 0; i < records->count; i++)
        records->order[i] = i;
    if (records->count)
        qsort_r(records->order, records->count, sizeof(*records->order), compare_starts,
                records->items);
    records->cpu_sums[0] = records->device_sums[0] = 0;
    for (uint32_t i = 0; i < records->count; i++) {
        const struct tp_memory_record *item = &records->items[records->order[i]];
        int64_t cpu = tp_memory_is_host(item->device_type) ? item->bytes : 0;
        int64_t device = tp_memory_is_device(item->device_type) ? item->bytes : 0;
        records->cpu_sums[i + 1] = add(records->cpu_sums[i], cpu);
        records->device_sums[i + 1] = add(records->device_sums[i], device);
    }
    return 0;
}

static int64_t start_at(const struct tp_memory_records *records, uint32_t place)
{
    return records->items[records->order[place]].start_ns;
}

/* Bounds for find_place: steps away from the hint that double. */
static void spread_out(const struct tp_memory_records *records, int64_t ns, uint32_t *low,
                       uint32_t *high)
{
    uint32_t step = 1;

    *low = *high = records->hint < records->count ? records->hint : records->count;
    while (*low > 0 && start_at(records, *low - 1) >= ns) {
        *high = *low - 1;
        *low = *low > step ? *low - step : 0;
        step *= 2;
    }
    while (*high < records->count && start_at(records, *high) < ns) {
        *low = *high + 1;
        *high = records->count - *high > step ? *high + step : records->count;
        step *= 2;
    }
}

/* The first place whose record starts at @ns or later. */
static uint32_t find_place(const struct tp_memory_records *records, int64_t ns)
{
    uint32_t low, high;

    spread_out(records, ns, &low, &high);
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (start_at(records, middle) < ns)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

void tp_memory_records_in_interval(struct tp_memory_records *records, int64_t start_ns,
                                   int64_t end_ns, uint32_t *ret_begin, uint32_t *ret_end)
{
    *ret_begin = records->hint = find_place(records, start_ns);
    *ret_end = end_ns == INT64_MAX ? records->count : find_place(records, end_ns + 1);
    if (*ret_end < *ret_begin)
        *ret_end = *ret_begin;
}

void tp_memory_records_credit(struct tp_memory_records *records, int64_t start_ns, int64_t end_ns,
                              int64_t *ret_cpu, int64_t *ret_device)
{
    uint32_t begin, end;

    tp_memory_records_in_interval(records, start_ns, end_ns, &begin, &end);
    *ret_cpu = (int64_t)((uint64_t)records->cpu_sums[end] - (uint64_t)records->cpu_sums[begin]);
    *ret_device =
        (int64_t)((uint64_t)records->device_sums[end] - (uint64_t)records->device_sums[begin]);
    if (begin < end) {
        records->uses[begin]++;
        records->uses[end]--;
    }
}

int tp_memory_records_find_unused(const struct tp_memory_records *records, bool **ret_unused)
{
    bool *unused = malloc((size_t)records->count + 1);
    int64_t covered = 0;

    if (!unused)
        return -ENOMEM;
    for (uint32_t i = 0; i < records->count; i++) {
        covered += records->uses[i];
        unused[records->order[i]] = !covered;
    }
    *ret_unused = unused;
    return 0;
}
