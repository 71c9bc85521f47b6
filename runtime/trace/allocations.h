/* SPDX-License-Identifier: MIT */
#ifndef TP_TRACE_ALLOCATIONS_H
#define TP_TRACE_ALLOCATIONS_H

/*
 * What the allocations and frees of a block foretell of each other. An allocator mostly hands out
 * what it got back last, and a free mostly gives back what was allocated not long before: a place
 * among those is columns in a byte where an address would take three. The names of places are for
 * both halves; the lists are the decoder's, straight from the format, and the encoder has its own,
 * made for speed (alloc_pack.h). They begin empty with each block. Private to trace/.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TP_SLACK_BITS 48
#define TP_SLACK_MASK ((UINT64_C(1) << TP_SLACK_BITS) - 1)

/* The columns of the section of allocations (format.md, section 3); even ones below those of both
 * are of frees. */
enum tp_packed {
    TP_PACKED_ALLOC_STEP = 1,
    TP_PACKED_FREE_STEP = 2,
    TP_PACKED_ALLOC_PLACE = 3,
    TP_PACKED_FREE_PLACE = 4,
    TP_PACKED_ALLOC_ADDRESS = 5,
    TP_PACKED_FREE_ADDRESS = 6,
    TP_PACKED_ALLOC_DISTANCE = 7,
    TP_PACKED_FREE_SEAT = 8,
    TP_PACKED_ALLOC_ASKED = 9,
    TP_PACKED_FREE_BYTES = 10,
    TP_PACKED_ALLOC_SLACK = 11,
    TP_PACKED_BRIEF = 12, /* of both */
    TP_PACKED_END
};

/* Columns of allocations and of frees take turns; the two of a pair share an array. */
#define TP_PACKED_ARRAYS (TP_PACKED_END / 2 + 1)

/** tp_packed_most - the most values of a column among so many allocations and frees */
static inline uint32_t tp_packed_most(unsigned column, uint32_t allocs, uint32_t frees)
{
    return column == TP_PACKED_BRIEF ? allocs + frees + 1 : column % 2 ? allocs : frees;
}

/** tp_packed_lay - where the columns' values go, in arrays with room for one more than allocations
 * and frees; @allocs: how many of an array are of allocations */
static inline void tp_packed_lay(uint64_t *columns[TP_PACKED_END],
                                 uint64_t *const arrays[TP_PACKED_ARRAYS], uint32_t allocs)
{
    for (unsigned column = 1; column < TP_PACKED_BRIEF; column++)
        columns[column] = arrays[(column - 1) / 2] + (column % 2 ? 0 : allocs);
    columns[TP_PACKED_BRIEF] = arrays[TP_PACKED_BRIEF / 2];
}

/* Where an allocation is. */
enum tp_alloc_place {
    TP_ALLOC_ELSEWHERE = 0, /* an address tells */
    TP_ALLOC_FREED = 1,     /* at a block that was freed a distance ago */
    TP_ALLOC_BEHIND = 2,    /* behind the last new one and a header of 8 bytes */
    TP_ALLOC_NEXT = 3,      /* behind the last new one of the same size */
    TP_ALLOC_POOL = 4,      /* the last freed one of the same size; then the one before it … */
    TP_ALLOC_POOL_END = 20
};

/* What a free gives back, if not what was allocated so many allocations ago. */
enum tp_free_place {
    TP_FREE_ELSEWHERE = 0, /* an address tells */
    TP_FREE_SEAT = 255,    /* a seat tells */
};

/* A place for each block of one usable size. */
struct tp_pool {
    uint64_t bytes;
    uint64_t next;   /* behind the last new one */
    uint32_t latest; /* number + 1 of the last freed one that is still there, 0 none */
};

struct tp_freed {
    uint64_t address;
    uint32_t pool;
    uint32_t older, newer; /* of the pool: number + 1, 0 none */
    bool is_taken;         /* by an allocation */
};

/*
 * A block that is allocated has a seat: the one that was emptied last, else a new one. So there are
 * no more than blocks at a time, and fewer than there were allocations since a block of any age.
 */
struct tp_allocated {
    uint64_t address;
    uint32_t pool, seat;
};

struct tp_allocations {
    struct tp_allocated *allocated;
    struct tp_freed *freed;
    struct tp_pool *pools;
    uint32_t *seats;          /* number of the allocation that had each last */
    uint32_t *empty;          /* seats, the last one emptied last */
    uint32_t *pools_by_bytes; /* number + 1 of the pool, 0 none */
    uint32_t pools_mask;
    uint32_t allocated_count, freed_count, pool_count, seat_count, empty_count;
    uint64_t behind; /* the last new one and a header */
};

/* Of a table for as many entries as there are records: a power of two, at most half full. */
static inline uint32_t tp_allocations_table(uint32_t records)
{
    uint32_t size = 16;

    while (size < 2 * records)
        size *= 2;
    return size;
}

/** tp_allocations_lay - arrays for @records allocations and frees at @base, 16-byte aligned, or
 * only how much they take where that is NULL. Return: bytes. */
size_t tp_allocations_lay(struct tp_allocations *lists, void *base, uint32_t records);

/** tp_allocations_begin - empty lists; for up to as many records as there is room for */
void tp_allocations_begin(struct tp_allocations *lists, uint32_t records);

/* Nobody who writes a file knows where the lists are, and so which sizes have the same hash. */
static inline uint32_t tp_allocations_hash(const struct tp_allocations *lists, uint64_t bytes)
{
    uint64_t hash = (bytes ^ (uintptr_t)lists->pools) * UINT64_C(0x9e3779b97f4a7c15);

    hash = (hash ^ hash >> 32) * UINT64_C(0xbf58476d1ce4e5b9);
    return (uint32_t)(hash >> 32);
}

/** tp_allocations_pool - the pool of blocks of @bytes. Return: its number. */
static inline uint32_t tp_allocations_pool(struct tp_allocations *lists, uint64_t bytes)
{
    uint32_t at = tp_allocations_hash(lists, bytes) & lists->pools_mask, found;

    for (; (found = lists->pools_by_bytes[at]); at = (at + 1) & lists->pools_mask)
        if (lists->pools[found - 1].bytes == bytes)
            return found - 1;
    lists->pools[lists->pool_count] = (struct tp_pool){.bytes = bytes};
    lists->pools_by_bytes[at] = ++lists->pool_count;
    return lists->pool_count - 1;
}

/** tp_allocations_put - a block was allocated; @is_new: not one of those freed */
static inline void tp_allocations_put(struct tp_allocations *lists, uint64_t address, uint32_t pool,
                                      bool is_new)
{
    uint32_t number = lists->allocated_count++;
    uint32_t seat = lists->empty_count ? lists->empty[--lists->empty_count] : lists->seat_count++;

    lists->allocated[number] = (struct tp_allocated){address, pool, seat};
    lists->seats[seat] = number;
    if (is_new) {
        struct tp_pool *of = &lists->pools[pool];
        of->next = address + of->bytes;
        lists->behind = of->next + 8;
    }
}

/** tp_allocations_take - an allocation is at the place of freed block @number, which is not taken
 */
static inline void tp_allocations_take(struct tp_allocations *lists, uint32_t number)
{
    struct tp_freed *freed = &lists->freed[number];

    if (freed->newer)
        lists->freed[freed->newer - 1].older = freed->older;
    else
        lists->pools[freed->pool].latest = freed->older;
    if (freed->older)
        lists->freed[freed->older - 1].newer = freed->newer;
    freed->is_taken = true;
}

/** tp_allocations_leave - allocation @number is about to be freed: its seat is empty. Return: its
 * pool. */
static inline uint32_t tp_allocations_leave(struct tp_allocations *lists, uint32_t number)
{
    const struct tp_allocated *allocated = &lists->allocated[number];

    lists->empty[lists->empty_count++] = allocated->seat;
    return allocated->pool;
}

/** tp_allocations_free - a block of @pool was freed */
static inline void tp_allocations_free(struct tp_allocations *lists, uint64_t address,
                                       uint32_t pool)
{
    struct tp_pool *of = &lists->pools[pool];
    uint32_t number = lists->freed_count++;

    lists->freed[number] = (struct tp_freed){.address = address, .pool = pool, .older = of->latest};
    if (of->latest)
        lists->freed[of->latest - 1].newer = number + 1;
    of->latest = number + 1;
}

/* Of so many bytes asked for glibc makes so many more usable, unless a remainder is too small for a
 * block of its own. */
static inline uint64_t tp_allocations_usual_slack(uint64_t asked)
{
    return asked <= 24 ? 24 - asked : 15 - ((asked + 7) & 15);
}

#endif
