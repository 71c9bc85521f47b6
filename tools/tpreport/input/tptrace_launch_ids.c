/* SPDX-License-Identifier: MIT */
#include "input/tptrace_launch_ids.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "model/hash.h"

#define WINDOW_FIRST (TPTRACE_ID_PAGES / 4)
#define PAGE_BITS 10
#define PAGE_ENTRIES (1u << PAGE_BITS)

struct tptrace_id_page {
    uint32_t number; /* of the ids */
    bool is_used;
    struct tptrace_launch_entry entries[PAGE_ENTRIES];
};

struct tptrace_straggler {
    struct tptrace_straggler *next;  /* in its slot */
    struct tptrace_straggler *newer; /* by when it was made */
    uint32_t correlation;
    struct tptrace_launch_entry entry;
};

void tptrace_launch_ids_init(struct tptrace_launch_ids *ids, struct tp_launch_tree *tree)
{
    ids->tree = tree;
    ids->window = WINDOW_FIRST;
    ids->straggler_max = TPTRACE_STRAGGLERS_MAX;
    ids->queued_max = TPTRACE_QUEUED_MAX;
    ids->seed = tp_hash_seed();
}

/* ---- waiting ---- */

struct tptrace_wait *tptrace_wait_new(struct tptrace_launch_ids *ids, uint32_t correlation)
{
    struct tptrace_wait *wait = ids->spare;

    if (wait)
        ids->spare = wait->next;
    else
        wait = malloc(sizeof(*wait));
    if (wait)
        *wait = (struct tptrace_wait){.correlation = correlation};
    return wait;
}

void tptrace_wait_join(struct tptrace_launch_ids *ids, struct tptrace_wait *wait,
                       struct tptrace_wait_queue *queue)
{
    wait->queue = queue;
    wait->next = NULL;
    wait->previous = queue->last;
    if (queue->last)
        queue->last->next = wait;
    else
        queue->first = wait;
    queue->last = wait;
    ids->queued_count++;
}

void tptrace_wait_leave(struct tptrace_launch_ids *ids, struct tptrace_wait *wait)
{
    struct tptrace_wait_queue *queue = wait->queue;

    if (!queue)
        return;
    if (wait->previous)
        wait->previous->next = wait->next;
    else
        queue->first = wait->next;
    if (wait->next)
        wait->next->previous = wait->previous;
    else
        queue->last = wait->previous;
    ids->queued_count--;
    wait->queue = NULL;
}

void tptrace_wait_free(struct tptrace_launch_ids *ids, struct tptrace_wait *wait)
{
    tptrace_wait_leave(ids, wait);
    if (wait->node)
        tp_launch_release(ids->tree, wait->node);
    wait->next = ids->spare;
    ids->spare = wait;
}

/* ---- entries that outlive their page ---- */

static struct tptrace_straggler **straggler_slot(struct tptrace_launch_ids *ids,
                                                 uint32_t correlation)
{
    uint64_t hash = tp_hash_bytes(ids->seed, &correlation, sizeof(correlation));
    struct tptrace_straggler **slot = &ids->stragglers[hash % TPTRACE_ID_SLOTS];

    while (*slot && (*slot)->correlation != correlation)
        slot = &(*slot)->next;
    return slot;
}

/* May something for it still come? */
static bool still_waits(const struct tptrace_launch_entry *entry)
{
    if (entry->state == TPTRACE_ID_WAITING)
        return true;
    if (entry->state != TPTRACE_ID_PLACED || entry->seen & TPTRACE_ID_SAW_WORK)
        return false;
    return !(entry->seen & TPTRACE_ID_SAW_CALL) || entry->seen & TPTRACE_ID_LAUNCHES;
}

void tptrace_launch_ids_forget(struct tptrace_launch_ids *ids, struct tptrace_launch_entry *entry)
{
    if (entry->state == TPTRACE_ID_PLACED)
        tp_launch_release(ids->tree, entry->node);
    entry->state = TPTRACE_ID_FREE;
}

void tptrace_wait_take_offer(struct tptrace_launch_ids *ids, struct tptrace_wait *wait)
{
    if (!wait->node)
        return;
    tp_launch_find(ids->tree, &wait->node)->sums.device_ns += wait->device_ns;
    ids->by_external += wait->works;
    wait->works = 0;
    wait->device_ns = 0;
}

/* What has come of this id will never find its place. Calls are in a queue, and find out there. */
static void give_up(struct tptrace_launch_ids *ids, struct tptrace_launch_entry *entry)
{
    struct tptrace_wait *wait = entry->wait, *sums = &ids->given_up;

    if (entry->state != TPTRACE_ID_WAITING || wait->queue) {
        tptrace_launch_ids_forget(ids, entry);
        return;
    }
    tptrace_wait_take_offer(ids, wait);
    sums->works += wait->works;
    sums->device_ns += wait->device_ns;
    if (wait->memories && (!sums->memories || wait->memory_ns < sums->memory_ns))
        sums->memory_ns = wait->memory_ns;
    sums->memory += wait->memory;
    sums->memories += wait->memories;
    tptrace_wait_free(ids, wait);
    entry->state = TPTRACE_ID_FREE;
}

static void drop_oldest(struct tptrace_launch_ids *ids)
{
    struct tptrace_straggler *oldest = ids->oldest;

    *straggler_slot(ids, oldest->correlation) = oldest->next;
    ids->oldest = oldest->newer;
    ids->straggler_count--;
    give_up(ids, &oldest->entry);
    free(oldest);
}

static struct tptrace_straggler *keep_straggler(struct tptrace_launch_ids *ids,
                                                uint32_t correlation)
{
    struct tptrace_straggler **slot = straggler_slot(ids, correlation), *made = *slot;

    if (made)
        return made;
    *slot = made = calloc(1, sizeof(*made));
    if (!made)
        return NULL;
    made->correlation = correlation;
    if (ids->straggler_count++)
        ids->newest->newer = made;
    else
        ids->oldest = made;
    ids->newest = made;
    if (ids->straggler_count > ids->straggler_max)
        drop_oldest(ids);
    return made;
}

/* The page's ids are long past. */
static int retire(struct tptrace_launch_ids *ids, struct tptrace_id_page *page)
{
    for (uint32_t i = 0; i < PAGE_ENTRIES; i++) {
        struct tptrace_launch_entry *entry = &page->entries[i];
        if (still_waits(entry)) {
            struct tptrace_straggler *straggler =
                keep_straggler(ids, page->number << PAGE_BITS | i);
            if (!straggler)
                return -ENOMEM;
            straggler->entry = *entry;
        } else {
            tptrace_launch_ids_forget(ids, entry);
        }
    }
    memset(page->entries, 0, sizeof(page->entries));
    return 0;
}

/* Is so much of it under way that its room should not be another's yet? */
static bool is_busy(const struct tptrace_id_page *page)
{
    uint32_t count = 0;

    for (uint32_t i = 0; i < PAGE_ENTRIES; i++)
        count += still_waits(&page->entries[i]);
    return count > PAGE_ENTRIES / 8;
}

/* Of two pages that had one place by their numbers, each has its own then. */
static void widen(struct tptrace_launch_ids *ids)
{
    for (uint32_t i = 0; i < ids->window; i++) {
        struct tptrace_id_page *page = ids->pages[i];
        ids->pages[i] = NULL;
        if (page)
            ids->pages[page->number % (ids->window * 2)] = page;
    }
    ids->window *= 2;
}

/* Its ids had a page before, in a place that is another's or was, and those that wait are
 * stragglers since: there must be one entry of an id only. */
static void take_stragglers(struct tptrace_launch_ids *ids, struct tptrace_id_page *page)
{
    for (uint32_t i = 0; ids->straggler_count && i < PAGE_ENTRIES; i++) {
        struct tptrace_straggler *straggler = *straggler_slot(ids, page->number << PAGE_BITS | i);
        if (!straggler)
            continue;
        page->entries[i] = straggler->entry;
        straggler->entry = (struct tptrace_launch_entry){.state = TPTRACE_ID_FREE};
    }
}

/* ---- entries by id ---- */

struct tptrace_launch_entry *tptrace_launch_ids_find(struct tptrace_launch_ids *ids,
                                                     uint32_t correlation)
{
    uint32_t number = correlation >> PAGE_BITS;
    struct tptrace_id_page **place = &ids->pages[number % ids->window];
    struct tptrace_straggler *straggler;

    if (*place && (*place)->is_used && (*place)->number == number)
        return &(*place)->entries[correlation % PAGE_ENTRIES];
    if (!*place)
        *place = calloc(1, sizeof(**place));
    if (!*place)
        return NULL;
    if ((*place)->is_used && (int32_t)((number - (*place)->number) << PAGE_BITS) < 0) {
        straggler = keep_straggler(ids, correlation); /* a late one */
        return straggler ? &straggler->entry : NULL;
    }
    if ((*place)->is_used && ids->window < TPTRACE_ID_PAGES && is_busy(*place)) {
        widen(ids);
        return tptrace_launch_ids_find(ids, correlation);
    }
    if ((*place)->is_used && retire(ids, *place))
        return NULL;
    (*place)->number = number;
    (*place)->is_used = true;
    take_stragglers(ids, *place);
    return &(*place)->entries[correlation % PAGE_ENTRIES];
}

struct tptrace_launch_entry *tptrace_launch_ids_look(struct tptrace_launch_ids *ids,
                                                     uint32_t correlation)
{
    uint32_t number = correlation >> PAGE_BITS;
    struct tptrace_id_page *page = ids->pages[number % ids->window];
    struct tptrace_straggler *straggler;

    if (page && page->is_used && page->number == number)
        return &page->entries[correlation % PAGE_ENTRIES];
    straggler = *straggler_slot(ids, correlation);
    return straggler ? &straggler->entry : NULL;
}

struct tptrace_launch_entry *tptrace_launch_ids_look_behind(struct tptrace_launch_ids *ids,
                                                            uint32_t correlation)
{
    struct tptrace_launch_entry *entry = tptrace_launch_ids_look(ids, correlation);

    for (int hops = 0; entry && entry->state == TPTRACE_ID_ALIAS && hops < 4; hops++)
        entry = tptrace_launch_ids_look(ids, (uint32_t)entry->alias);
    return entry;
}

struct tptrace_launch_entry *tptrace_launch_ids_follow(struct tptrace_launch_ids *ids,
                                                       uint32_t correlation)
{
    struct tptrace_launch_entry *entry = tptrace_launch_ids_find(ids, correlation);

    for (int hops = 0; entry && entry->state == TPTRACE_ID_ALIAS && hops < 4; hops++)
        entry = tptrace_launch_ids_find(ids, (uint32_t)entry->alias);
    if (entry && entry->state == TPTRACE_ID_ALIAS) /* they go by each other: this one goes alone */
        tptrace_launch_ids_forget(ids, entry);
    return entry;
}

struct tptrace_wait *tptrace_launch_ids_wait(struct tptrace_launch_ids *ids,
                                             struct tptrace_launch_entry *entry,
                                             uint32_t correlation)
{
    if (entry->state == TPTRACE_ID_FREE) {
        entry->wait = tptrace_wait_new(ids, correlation);
        if (!entry->wait)
            return NULL;
        entry->state = TPTRACE_ID_WAITING;
    }
    return entry->wait;
}

/* ---- all of them ---- */

int tptrace_launch_ids_each(struct tptrace_launch_ids *ids,
                            int (*visit)(void *context, struct tptrace_launch_entry *entry),
                            void *context)
{
    int result = 0;

    for (size_t i = 0; i < TPTRACE_ID_PAGES && !result; i++) {
        for (uint32_t k = 0; ids->pages[i] && k < PAGE_ENTRIES && !result; k++)
            result = visit(context, &ids->pages[i]->entries[k]);
    }
    for (struct tptrace_straggler *s = ids->oldest; s && !result; s = s->newer)
        result = visit(context, &s->entry);
    return result;
}

/* A call's is in a queue, too, and goes there. */
static int drop_wait(void *context, struct tptrace_launch_entry *entry)
{
    if (entry->state == TPTRACE_ID_WAITING && !entry->wait->queue)
        tptrace_wait_free(context, entry->wait);
    return 0;
}

void tptrace_launch_ids_reset(struct tptrace_launch_ids *ids)
{
    tptrace_launch_ids_each(ids, drop_wait, ids);
    for (size_t i = 0; i < TPTRACE_ID_PAGES; i++) {
        free(ids->pages[i]);
        ids->pages[i] = NULL;
    }
    for (struct tptrace_straggler *s = ids->oldest, *newer; s; s = newer) {
        newer = s->newer;
        free(s);
    }
    if (ids->straggler_count)
        memset(ids->stragglers, 0, sizeof(ids->stragglers));
    ids->window = WINDOW_FIRST;
    ids->oldest = ids->newest = NULL;
    ids->straggler_count = 0;
    ids->by_external = 0;
    ids->given_up = (struct tptrace_wait){0};
}

void tptrace_launch_ids_fini(struct tptrace_launch_ids *ids)
{
    for (struct tptrace_wait *wait = ids->spare, *next; wait; wait = next) {
        next = wait->next;
        free(wait);
    }
    ids->spare = NULL;
}
