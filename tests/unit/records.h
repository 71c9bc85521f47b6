/* SPDX-License-Identifier: MIT */
#ifndef TESTS_UNIT_RECORDS_H
#define TESTS_UNIT_RECORDS_H

/* Random records of every kind, made from the table; the same seed gives the same records
 * everywhere. */

#include <stdint.h>
#include <stdio.h>

#include "event/event.h"

struct random {
    uint64_t state;
};

uint64_t random_u64(struct random *random);
/* 0..end-1; 0 for an @end of 0 */
uint64_t random_below(struct random *random, uint64_t end);

/* The seed of this run: TEST_SEED from the environment, else the time; printed, so that a failure
 * can be repeated. */
uint64_t random_seed(const char *what);

/* How a field's values are drawn: what an encoder meets, and what it should never meet. */
enum record_style {
    RECORDS_ZERO,
    RECORDS_EQUAL,   /* a value per field, the same in all */
    RECORDS_SMALL,   /* below 300, often repeated */
    RECORDS_RISING,  /* small steps, now and then one back */
    RECORDS_ALIGNED, /* low bits zero */
    RECORDS_WILD,    /* any bits */
    RECORDS_STYLE_END
};

/**
 * records_fill - one record of @kind at @slots, as the @number-th of its kind; bits that no field
 * has are zero, but a brief record's may be any. Return: its slots.
 */
unsigned records_fill(struct random *random, uint64_t *slots, unsigned kind,
                      enum record_style style, uint64_t number);

/**
 * records_mix - whole records of kinds allowed by @kinds (bit k: kind k) until no more fit
 * Return: slots used.
 */
uint32_t records_mix(struct random *random, uint64_t *slots, uint32_t room, uint64_t kinds,
                     enum record_style style);

/**
 * records_heap - allocations and frees as a program makes them, now and then a range between them
 * @wildness: 0: an allocator as in life, all of its blocks the thread's own; more: in so many of
 * 256 records something that does not fit, as blocks of other threads, clocks that go back and
 * sizes that no allocator has
 * Return: slots used.
 */
uint32_t records_heap(struct random *random, uint64_t *slots, uint32_t room, unsigned wildness);

/**
 * records_shorten - makes some of the allocations and frees among whole records brief ones, where
 * they lie, all but one of @whole_one_in of them
 * Return: slots used.
 */
uint32_t records_shorten(struct random *random, uint64_t *slots, uint32_t count,
                         unsigned whole_one_in);

/**
 * records_expand - what records come to as whole ones, and what was before them
 * @whole: room for twice as many slots
 * @before: first slot of the record before, and after the call of the last one
 * Return: slots used.
 */
uint32_t records_expand(const uint64_t *slots, uint32_t count, uint64_t before[TP_SLOT_WORDS],
                        uint64_t *whole);

/* Bit k for every kind of the table that is not brief, or for those of @role. */
uint64_t records_kinds(int role);

#define RECORDS_BRIEF (UINT64_C(1) << TP_EVENT_ALLOC_BRIEF | UINT64_C(1) << TP_EVENT_FREE_BRIEF)

/* The schema line of meta.jsonl, as an agent writes it. */
void records_write_schema(FILE *file);

#endif
