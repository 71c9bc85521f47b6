/* SPDX-License-Identifier: MIT
 * Numbers and names as people read them; the reference's own forms. */
#ifndef TP_VIEW_FORMAT_H
#define TP_VIEW_FORMAT_H

#include "model/buffer.h"
#include "model/number.h"
#include "model/strings.h"

enum tp_time_unit {
    TP_TIME_AUTO,
    TP_TIME_S,
    TP_TIME_MS,
    TP_TIME_US,
};

/** tp_format_time - 1.290ms: three decimals; the automatic unit is chosen before rounding */
void tp_format_time(struct tp_buffer *out, struct tp_number us, enum tp_time_unit unit);

/** tp_format_share - 40.31%, or NaN when there is no total to share */
void tp_format_share(struct tp_buffer *out, struct tp_number part, struct tp_number total);

/** tp_format_memory - 6.00 MB, 12 B; signed */
void tp_format_memory(struct tp_buffer *out, struct tp_number bytes);

/** tp_format_number - raw: 286 or 286.0 */
void tp_format_number(struct tp_buffer *out, struct tp_number number);

/** tp_format_json_number - raw, null where JSON has no such number */
void tp_format_json_number(struct tp_buffer *out, struct tp_number number);

/** tp_format_json_string - a string of the pool with its quotes, null for none */
void tp_format_json_string(struct tp_buffer *out, const struct tp_strings *strings, uint32_t id);

/**
 * tp_format_display - a name for a terminal: control characters but tabs as \n \r \xNN
 * tp_format_display_length - how many code points that gives
 */
void tp_format_display(struct tp_buffer *out, const struct tp_string *string);
size_t tp_format_display_length(const struct tp_string *string);

/** tp_format_prefix - bytes that hold the first @points code points (all of them when there are
 * fewer) */
size_t tp_format_prefix(const char *bytes, size_t size, size_t points);

#endif
