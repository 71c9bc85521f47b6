/* SPDX-License-Identifier: MIT
 * Allocations and frees by time. An event is credited with those that fall into it: the sum over a
 * stretch of time is a difference of two running sums, found by two binary searches. */
#ifndef TP_MODEL_MEMORY_RECORDS_H
#define TP_MODEL_MEMORY_RECORDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct tp_memory_record {
    int64_t start_ns;
    int64_t bytes; /* freed: negative */
    int64_t thread;
    int32_t device_index;
    uint8_t device_type; /* enum tp_device_type: of the memory */
};

/* Start from zeros; add, sort once, then ask. */
struct tp_memory_records {
    struct tp_memory_record *items;  /* in the order they were added */
    uint32_t *order;                 /* by (start_ns, position) */
    int64_t *cpu_sums, *device_sums; /* before position n of that order; wrapping */
    int32_t *uses;                   /* change of how many events cover position n */
    uint32_t count, capacity;
    uint32_t hint; /* place of the last answer: events that are near in time come one by one */
};

/** tp_memory_records_fini - takes a zeroed one as well */
void tp_memory_records_fini(struct tp_memory_records *records);

/** tp_memory_records_add - Return: 0, -ENOMEM or -TP_ELIMIT */
int tp_memory_records_add(struct tp_memory_records *records, const struct tp_memory_record *record);

/** tp_memory_records_sort - after the last add. Return: 0 or -ENOMEM. */
int tp_memory_records_sort(struct tp_memory_records *records);

/**
 * tp_memory_records_in_interval - places in time order of the records from @start_ns to @end_ns,
 * both included
 * @ret_begin, @ret_end: items[order[begin]] up to, not including, items[order[end]]
 * Two binary searches, which spread out from the last answer.
 */
void tp_memory_records_in_interval(struct tp_memory_records *records, int64_t start_ns,
                                   int64_t end_ns, uint32_t *ret_begin, uint32_t *ret_end);

/**
 * tp_memory_records_credit - sum of the records in an interval, which are used from now on
 * @ret_cpu:    bytes of host memory
 * @ret_device: bytes of device memory
 */
void tp_memory_records_credit(struct tp_memory_records *records, int64_t start_ns, int64_t end_ns,
                              int64_t *ret_cpu, int64_t *ret_device);

/**
 * tp_memory_records_find_unused - which records no event was credited with
 * @ret_unused: as many flags as records, by position of adding; for free()
 * Return: 0 or -ENOMEM.
 */
int tp_memory_records_find_unused(const struct tp_memory_records *records, bool **ret_unused);

/** tp_memory_is_host, tp_memory_is_device - whose bytes are they? Neither is possible. */
bool tp_memory_is_host(unsigned device_type);
bool tp_memory_is_device(unsigned device_type);

#endif
