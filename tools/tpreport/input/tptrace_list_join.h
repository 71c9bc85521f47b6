/* SPDX-License-Identifier: MIT
 * What the parts of a list's join of CUDA's records need of each other. */
#ifndef TP_INPUT_TPTRACE_LIST_JOIN_H
#define TP_INPUT_TPTRACE_LIST_JOIN_H

#include "input/tptrace_list.h"

/* The ranges of one track among a list's items. */
struct tptrace_span {
    uint64_t user;
    size_t first, end;
    uint32_t tid;
};

struct tptrace_list_join {
    struct tptrace_list *list;
    struct tptrace_run *run;
    struct tptrace_span *spans; /* by process and thread, the last one first */
    size_t span_count, span_capacity;
};

/** tptrace_list_reserve - room for @count items of an array. Return: 0 or -ENOMEM. */
int tptrace_list_reserve(void **items, size_t *capacity, size_t count, size_t size);

/** tptrace_list_find_place - where a thread said that it stood, of sorted places; NULL: nowhere */
const struct tptrace_call_place *tptrace_list_find_place(const struct tptrace_list *list,
                                                         uint64_t user, uint32_t correlation);

/** tptrace_list_find_call - the call that has an id, of works sorted by id; NULL: none */
const struct tptrace_work_item *tptrace_list_find_call(const struct tptrace_list *list,
                                                       uint64_t user, uint32_t correlation);

/** tptrace_list_owner - the range of a place; TPTRACE_NO_ITEM for none */
size_t tptrace_list_owner(const struct tptrace_list *list, const struct tptrace_call_place *place);

/** tptrace_list_take_external - a CUDA_EXTERNAL record. Return: 0 or -ENOMEM. */
int tptrace_list_take_external(struct tptrace_list *list, const struct tptrace_source *source,
                               const uint64_t *record);

/** tptrace_list_join_externals - device work of no known launch; all else is joined, works are
 * sorted by id */
void tptrace_list_join_externals(const struct tptrace_list_join *join);

#endif
