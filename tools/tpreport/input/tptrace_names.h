/* SPDX-License-Identifier: MIT
 * The names of one process as strings of the report: the same text of two processes is the same
 * string. */
#ifndef TP_INPUT_TPTRACE_NAMES_H
#define TP_INPUT_TPTRACE_NAMES_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "model/stream.h"
#include "model/strings.h"
#include "trace/file.h"

struct tptrace_names;

/**
 * tptrace_names_open - read names.tpn and give every name its meaning
 * @strings: the report's; changed here, and by unknown ids later on (under a lock of the names)
 * @path: names.tpn
 * @want_shapes: shapes are converted as well
 * @diag: why the file could not be read; the names are usable all the same, all ids unknown
 *
 * Context: offline, the strings' writer. @ret_names is for tptrace_names_close.
 * Return: 0, -ENOMEM (no names), or 0 with diag->code set.
 */
int tptrace_names_open(struct tptrace_names **ret_names, struct tp_strings *strings,
                       const char *path, const uint8_t *expect_uuid, bool want_shapes,
                       struct tp_diag *diag);
void tptrace_names_close(struct tptrace_names *names);

/** tptrace_names_stream - for the stack machines; any number of threads */
const struct tp_stream_names *tptrace_names_stream(const struct tptrace_names *names);

/** tptrace_names_shapes - string id of the shapes of name @id, TP_STRING_LIST for none */
uint32_t tptrace_names_shapes(const struct tptrace_names *names, uint32_t id);

/** tptrace_names_plain - what name @id means; never NULL, stays put. Any thread. */
const struct tp_stream_name *tptrace_names_plain(const struct tptrace_names *names, uint32_t id);

/** tptrace_names_nvtx - likewise, of an NVTX range */
const struct tp_stream_name *tptrace_names_nvtx(const struct tptrace_names *names, uint32_t id);

/**
 * tptrace_names_call - likewise, as the name of a CUDA call: without CUPTI's version of it
 * tptrace_names_text - a name for something that bears none in the recording; few of them
 */
const struct tp_stream_name *tptrace_names_call(struct tptrace_names *names, uint32_t id);
const struct tp_stream_name *tptrace_names_text(struct tptrace_names *names, const char *text);

/**
 * tptrace_names_geometry - the JSON of a launch's geometry as a string; TP_STRING_NONE for none
 * Context: as tptrace_names_details. Return: 0 or -ENOMEM.
 */
int tptrace_names_geometry(struct tptrace_names *names, uint32_t id, uint32_t *ret_text);

/* What a name of kind SHAPES or INPUTS says, as JSON; string ids, TP_STRING_NONE for what is
 * unknown. */
struct tptrace_details {
    uint32_t shapes, dtypes, strides; /* of SHAPES */
    uint32_t inputs;                  /* of INPUTS */
    bool is_known;
};

/**
 * tptrace_names_details - the details of name @id, put into the strings
 * Context: offline, while nobody else uses names or strings. Return: 0 or -ENOMEM.
 */
int tptrace_names_details(struct tptrace_names *names, uint32_t id,
                          struct tptrace_details *ret_details);

/** tptrace_names_file - what was read, NULL nothing */
const struct tp_names *tptrace_names_file(const struct tptrace_names *names);

/** tptrace_names_bytes - size of the file */
uint64_t tptrace_names_bytes(const struct tptrace_names *names);

/** tptrace_names_unknown - ids that were asked for and not there */
uint32_t tptrace_names_unknown(const struct tptrace_names *names);

#endif
