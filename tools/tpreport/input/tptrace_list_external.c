/* SPDX-License-Identifier: MIT
 * Device work of which neither call nor place is recorded, by external correlation ids: a program
 * gives all that a thread calls between a push and its pop one id. Where the other calls of its id
 * were made in one and the same range, such work was launched there, too. */
#include <errno.h>
#include <stdlib.h>

#include "input/tptrace_list_join.h"

int tptrace_list_take_external(struct tptrace_list *list, const struct tptrace_source *source,
                               const uint64_t *record)
{
    int error = tptrace_list_reserve((void **)&list->externals, &list->external_capacity,
                                     list->external_count + 1, sizeof(*list->externals));

    if (error)
        return error;
    list->externals[list->external_count++] = (struct tptrace_external_item){
        .user = source->user,
        .id = record[4],
        .correlation = tp_slot_argument(record),
        .type = (uint8_t)record[5],
        .owner = TPTRACE_NO_ITEM,
    };
    return 0;
}

static int compare_ids(const void *a, const void *b)
{
    const struct tptrace_external_item *left = a, *right = b;

    if (left->user != right->user)
        return left->user < right->user ? -1 : 1;
    if (left->type != right->type)
        return left->type < right->type ? -1 : 1;
    return (left->id > right->id) - (left->id < right->id);
}

static int compare_correlations(const void *a, const void *b)
{
    const struct tptrace_external_item *left = a, *right = b;

    if (left->user != right->user)
        return left->user < right->user ? -1 : 1;
    if (left->correlation != right->correlation)
        return left->correlation < right->correlation ? -1 : 1;
    return compare_ids(a, b);
}

/* Where the call stands that an id was given to. */
static void find_call(const struct tptrace_list_join *join, struct tptrace_external_item *item)
{
    const struct tptrace_list *list = join->list;
    const struct tptrace_call_place *place =
        tptrace_list_find_place(list, item->user, item->correlation);
    const struct tptrace_work_item *call =
        tptrace_list_find_call(list, item->user, item->correlation);

    item->is_known = place || (call && call->has_launch);
    if (place) {
        item->owner = tptrace_list_owner(list, place);
        item->tid = place->tid;
        item->is_selected = place->is_selected;
    } else if (item->is_known) {
        item->owner = call->owner;
        item->tid = call->tid;
        item->is_selected = call->is_selected;
    }
}

/* Items [first, end) have one id. */
static void join_group(struct tptrace_external_item *items, size_t first, size_t end)
{
    struct tptrace_external_item common = {.owner = TPTRACE_NO_ITEM};

    for (size_t i = first; i < end; i++) {
        if (!items[i].is_known)
            continue;
        if (!common.is_known)
            common = items[i];
        else if (items[i].owner != common.owner)
            common.owner = TPTRACE_NO_ITEM;
    }
    for (size_t i = first; i < end; i++) {
        items[i].is_known = common.owner != TPTRACE_NO_ITEM;
        items[i].owner = common.owner;
        items[i].tid = common.tid;
        items[i].is_selected = common.is_selected;
    }
}

static void join_groups(const struct tptrace_list_join *join)
{
    struct tptrace_list *list = join->list;

    for (size_t i = 0; i < list->external_count; i++)
        find_call(join, &list->externals[i]);
    qsort(list->externals, list->external_count, sizeof(*list->externals), compare_ids);
    for (size_t i = 0, end; i < list->external_count; i = end) {
        for (end = i + 1; end < list->external_count &&
                          !compare_ids(&list->externals[i], &list->externals[end]);)
            end++;
        join_group(list->externals, i, end);
    }
    qsort(list->externals, list->external_count, sizeof(*list->externals), compare_correlations);
}

/* Of the ids of a call the first one that says something: operators come before annotations. */
static const struct tptrace_external_item *find_external(const struct tptrace_list *list,
                                                         uint64_t user, uint32_t correlation)
{
    size_t low = 0, high = list->external_count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;
        const struct tptrace_external_item *item = &list->externals[middle];
        if (item->user < user || (item->user == user && item->correlation < correlation))
            low = middle + 1;
        else
            high = middle;
    }
    for (; low < list->external_count; low++) {
        const struct tptrace_external_item *item = &list->externals[low];
        if (item->user != user || item->correlation != correlation)
            break;
        if (item->is_known)
            return item;
    }
    return NULL;
}

void tptrace_list_join_externals(const struct tptrace_list_join *join)
{
    struct tptrace_list *list = join->list;
    bool is_joined = false;

    for (size_t i = 0; i < list->work_count && list->external_count; i++) {
        struct tptrace_work_item *work = &list->works[i];
        if (work->has_launch || !work->activity.correlation ||
            !tptrace_is_device_work(work->activity.kind))
            continue;
        if (!is_joined)
            join_groups(join);
        is_joined = true;
        const struct tptrace_external_item *item =
            find_external(list, work->user, work->activity.correlation);
        if (!item)
            continue;
        work->owner = item->owner;
        work->tid = item->tid;
        work->is_selected = item->is_selected;
        work->has_launch = work->is_by_external = true;
    }
}
