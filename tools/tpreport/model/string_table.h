/* SPDX-License-Identifier: MIT
 * What becomes of a record's name, worked out once for each name: demangled, steps made equal,
 * names that make no event found out. */
#ifndef TP_MODEL_STRING_TABLE_H
#define TP_MODEL_STRING_TABLE_H

#include <stdbool.h>
#include <stdint.h>

#include "model/strings.h"

enum tp_name_kind {
    TP_NAME_EVENT,
    TP_NAME_FILTERED,      /* the profiler's own calls, and trivial ones: no event */
    TP_NAME_MEMORY,        /* "[memory]" */
    TP_NAME_OUT_OF_MEMORY, /* "[OutOfMemory]" */
};

struct tp_name {
    uint32_t key;        /* string id: demangled, "ProfilerStep#7" as "ProfilerStep*" */
    uint32_t trace_name; /* string id: demangled */
    uint8_t kind;        /* enum tp_name_kind */
    bool is_known;
};

/* Start from zeros and a pool. */
struct tp_string_table {
    struct tp_strings *strings; /* borrowed */
    struct tp_name *names;      /* by string id */
    uint32_t capacity;
};

/** tp_string_table_fini - frees the table, not the pool; takes a zeroed one */
void tp_string_table_fini(struct tp_string_table *table);

/**
 * tp_string_table_name - what a name stands for
 * @name: string id; not NONE
 * @ret:  borrowed until the next call
 *
 * Only "_Z..." is taken for mangled, so that no operator turns into a type.
 *
 * Context: offline, the pool's writer.
 * Return: 0, -ENOMEM or -TP_ELIMIT.
 */
int tp_string_table_name(struct tp_string_table *table, uint32_t name, const struct tp_name **ret);

/**
 * tp_string_table_demangle - the id of the demangled form, @name itself when there is none
 * Cached like the above, of which it is a part.
 */
int tp_string_table_demangle(struct tp_string_table *table, uint32_t name, uint32_t *ret_name);

#endif
