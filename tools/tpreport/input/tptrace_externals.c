/* SPDX-License-Identifier: MIT */
#include "input/tptrace_externals.h"

#include <errno.h>
#include <stdlib.h>

struct external_call {
    struct external_call *next;
    uint32_t correlation;
};

struct tptrace_external {
    struct tptrace_external *next;  /* in its slot */
    struct tptrace_external *newer; /* by when it was made */
    uint64_t id;
    uint8_t type;
    bool is_vague;               /* its calls were made in more than one range, or nobody knows */
    uint32_t range;              /* of its calls */
    struct tp_launch_node *node; /* that range's; a reference. NULL: no call has a place */
    struct external_call *calls; /* whose place is not known yet */
};

static struct tptrace_external **slot_of(struct tptrace_externals *x, uint8_t type, uint64_t id)
{
    uint64_t hash = (id ^ (uint64_t)type << 56) * UINT64_C(0x9e3779b97f4a7c15);
    struct tptrace_external **slot = &x->slots[(hash ^ hash >> 32) % TPTRACE_EXTERNAL_SLOTS];

    while (*slot && ((*slot)->id != id || (*slot)->type != type))
        slot = &(*slot)->next;
    return slot;
}

static void add_place(struct tptrace_externals *x, struct tptrace_external *e,
                      struct tptrace_launch_entry *entry)
{
    struct tp_launch_node *node = tp_launch_find(x->ids->tree, &entry->node);

    if (!e->node)
        e->node = tp_launch_hold(node);
    else
        e->is_vague |= e->range != entry->range;
    e->is_vague |= node == &x->ids->tree->root;
    e->range = entry->range;
}

static void learn_places(struct tptrace_externals *x, struct tptrace_external *e)
{
    for (const struct external_call *call = e->calls; call; call = call->next) {
        struct tptrace_launch_entry *entry =
            tptrace_launch_ids_look_behind(x->ids, call->correlation);
        if (!entry)
            e->is_vague = true; /* forgotten */
        else if (entry->state == TPTRACE_ID_PLACED)
            add_place(x, e, entry);
    }
}

/* An id of a lower type counts: operators come before annotations. */
static void offer(struct tptrace_externals *x, const struct tptrace_external *e,
                  struct tptrace_wait *wait)
{
    if (wait->node && wait->type <= e->type)
        return;
    if (wait->node)
        tp_launch_release(x->ids->tree, wait->node);
    wait->node = tp_launch_hold(e->node);
    wait->type = e->type;
}

static void free_external(struct tptrace_externals *x, struct tptrace_external *e)
{
    for (struct external_call *call = e->calls, *next; call; call = next) {
        next = call->next;
        free(call);
        x->call_count--;
    }
    free(e);
}

static void settle_oldest(struct tptrace_externals *x)
{
    struct tptrace_external *e = x->oldest;

    learn_places(x, e);
    bool is_known = e->node && !e->is_vague;
    for (const struct external_call *call = e->calls; call && is_known; call = call->next) {
        struct tptrace_launch_entry *entry =
            tptrace_launch_ids_look_behind(x->ids, call->correlation);
        if (entry && entry->state == TPTRACE_ID_WAITING && !entry->wait->has_call)
            offer(x, e, entry->wait);
    }
    if (e->node)
        tp_launch_release(x->ids->tree, e->node);
    *slot_of(x, e->type, e->id) = e->next;
    x->oldest = e->newer;
    x->last = NULL;
    x->count--;
    free_external(x, e);
}

static struct tptrace_external *find_external(struct tptrace_externals *x, uint8_t type,
                                              uint64_t id)
{
    if (x->last && x->last->id == id && x->last->type == type)
        return x->last;
    struct tptrace_external **slot = slot_of(x, type, id);
    if (!*slot) {
        struct tptrace_external *made = *slot = calloc(1, sizeof(*made));
        if (!made)
            return NULL;
        made->id = id;
        made->type = type;
        if (x->count++)
            x->newest->newer = made;
        else
            x->oldest = made;
        x->newest = made;
    }
    struct tptrace_external *found = *slot;
    if (x->count > TPTRACE_EXTERNALS_MAX)
        settle_oldest(x);
    return x->last = found;
}

int tptrace_externals_add(struct tptrace_externals *x, uint32_t correlation, uint8_t type,
                          uint64_t id)
{
    struct tptrace_external *e = find_external(x, type, id);
    struct tptrace_launch_entry *entry = tptrace_launch_ids_follow(x->ids, correlation);

    if (!e || !entry)
        return -ENOMEM;
    if (entry->state == TPTRACE_ID_PLACED) {
        add_place(x, e, entry);
        return 0;
    }
    if (x->call_count == TPTRACE_EXTERNAL_CALLS_MAX) {
        e->is_vague = true;
        return 0;
    }
    struct external_call *call = malloc(sizeof(*call));
    if (!call)
        return -ENOMEM;
    *call = (struct external_call){.next = e->calls, .correlation = correlation};
    e->calls = call;
    x->call_count++;
    return 0;
}

void tptrace_externals_settle(struct tptrace_externals *x)
{
    while (x->count)
        settle_oldest(x);
}

void tptrace_externals_fini(struct tptrace_externals *x)
{
    for (struct tptrace_external *e = x->oldest, *newer; x->count; e = newer, x->count--) {
        newer = e->newer;
        free_external(x, e);
    }
    *x = (struct tptrace_externals){.ids = x->ids};
}
