/* SPDX-License-Identifier: MIT */
#ifndef TP_EVENT_NAME_TEXT_H
#define TP_EVENT_NAME_TEXT_H

/* What a name is in a report: who sums ranges by name must see the same name as who prints it. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** tp_name_is_filtered - does the reference make no event of this name? */
bool tp_name_is_filtered(const char *text, size_t size);

/** tp_name_launches - is it the name of a call of CUDA that has a device do something? */
bool tp_name_launches(const char *text, size_t size);

/* A range text of emit_nvtx: NAME[, seq = N][, op_id = N][, sizes = [[..], ..]][, input_op_ids =
 * [(n,n), ..]] */
struct tp_nvtx_text {
    size_t name_size;
    int64_t sequence_nr; /* -1 none */
    const char *sizes;   /* the list's text, NULL none; it is in the reference's form already */
    size_t sizes_size;
};

/**
 * tp_nvtx_split - take the suffixes off, from the right, each only when it matches to the
 * letter Return: was there any? Else the text is a name as it stands.
 */
bool tp_nvtx_split(const char *text, size_t size, struct tp_nvtx_text *ret_split);

/* What two ranges have in common that are one row of a report, or parent and child of one name. */
struct tp_name_look {
    uint64_t text; /* hash of the text that is shown, never 0 */
    uint64_t row;  /* names of one row have the same; 0: this name alone is a row */
    bool filtered;
    bool launches; /* as of a call of CUDA: it has a device do something */
};

/** tp_name_look - @kind: of the name; @nvtx: it is of an NVTX range, so may carry more than a name
 */
struct tp_name_look tp_name_look(unsigned kind, const char *bytes, size_t size, bool nvtx);

#endif
