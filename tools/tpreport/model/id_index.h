/* SPDX-License-Identifier: MIT
 * Correlation ids to small numbers 0, 1, 2, ... in order of first sight. */
#ifndef TP_MODEL_ID_INDEX_H
#define TP_MODEL_ID_INDEX_H

#include <stdint.h>

/* Start from zeros. */
struct tp_id_index {
    int64_t *ids; /* by number */
    uint32_t count, capacity;
    uint32_t *slots; /* open addressing; number + 1, 0 = free */
    uint32_t slot_count;
    uint64_t seed; /* of hashes */
};

#define TP_NO_NUMBER UINT32_MAX

/** tp_id_index_fini - takes a zeroed one as well */
void tp_id_index_fini(struct tp_id_index *index);

/** tp_id_index_put - the id's number, a new one if need be. Return: 0 (known), 1 (new) or -ENOMEM.
 */
int tp_id_index_put(struct tp_id_index *index, int64_t id, uint32_t *ret_number);

/** tp_id_index_find - Return: the id's number, or TP_NO_NUMBER */
uint32_t tp_id_index_find(const struct tp_id_index *index, int64_t id);

#endif
