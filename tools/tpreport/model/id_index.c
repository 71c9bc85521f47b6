/* SPDX-License-Identifier: MIT */
#include "model/id_index.h"

#include <errno.h>
#include <stdlib.h>

#include "model/hash.h"

void tp_id_index_fini(struct tp_id_index *index)
{
    free(index->ids);
    free(index->slots);
    *index = (struct tp_id_index){0};
}

static uint32_t *find_slot(const struct tp_id_index *index, int64_t id)
{
    for (uint64_t hash = tp_hash_bytes(index->seed, &id, sizeof(id));; hash++) {
        uint32_t *slot = &index->slots[hash & (index->slot_count - 1)];
        if (!*slot || index->ids[*slot - 1] == id)
            return slot;
    }
}

/* Three quarters full at most. */
static int grow_slots(struct tp_id_index *index)
{
    uint32_t count = index->slot_count ? index->slot_count * 2 : 256;
    uint32_t *slots = calloc(count, sizeof(*slots));

    if (!slots)
        return -ENOMEM;
    free(index->slots);
    if (!index->slots)
        index->seed = tp_hash_seed();
    index->slots = slots;
    index->slot_count = count;
    for (uint32_t i = 0; i < index->count; i++)
        *find_slot(index, index->ids[i]) = i + 1;
    return 0;
}

static int grow_ids(struct tp_id_index *index)
{
    uint32_t capacity = index->capacity ? index->capacity * 2 : 256;
    int64_t *ids = realloc(index->ids, capacity * sizeof(*ids));

    if (!ids)
        return -ENOMEM;
    index->ids = ids;
    index->capacity = capacity;
    return 0;
}

int tp_id_index_put(struct tp_id_index *index, int64_t id, uint32_t *ret_number)
{
    int result = 0;

    if (index->count >= index->slot_count / 4 * 3)
        result = grow_slots(index);
    if (result < 0)
        return result;
    uint32_t *slot = find_slot(index, id);
    if (*slot) {
        *ret_number = *slot - 1;
        return 0;
    }
    if (index->count == index->capacity)
        result = grow_ids(index);
    if (result < 0)
        return result;
    *ret_number = index->count;
    index->ids[index->count++] = id;
    *slot = index->count;
    return 1;
}

uint32_t tp_id_index_find(const struct tp_id_index *index, int64_t id)
{
    return index->slot_count ? *find_slot(index, id) - 1 : TP_NO_NUMBER;
}
