/* SPDX-License-Identifier: MIT */
#include "view/format.h"

#include <math.h>

#include "base/text.h"
#include "model/python_text.h"

void tp_format_time(struct tp_buffer *out, struct tp_number us, enum tp_time_unit unit)
{
    double value = tp_number_to_double(us);

    if (unit == TP_TIME_AUTO)
        unit = value >= 1e6 ? TP_TIME_S : value >= 1e3 ? TP_TIME_MS : TP_TIME_US;
    if (unit == TP_TIME_S)
        tp_buffer_format(out, "%.3fs", value / 1e6);
    else if (unit == TP_TIME_MS)
        tp_buffer_format(out, "%.3fms", value / 1e3);
    else
        tp_buffer_format(out, "%.3fus", value);
}

void tp_format_share(struct tp_buffer *out, struct tp_number part, struct tp_number total)
{
    if (!tp_number_sign(total))
        tp_buffer_string(out, "NaN");
    else
        tp_buffer_format(out, "%.2f%%",
                         tp_number_to_double(part) * 100.0 / tp_number_to_double(total));
}

void tp_format_memory(struct tp_buffer *out, struct tp_number bytes)
{
    double value = tp_number_to_double(bytes), size = fabs(value);

    if (size >= 0x1p30) {
        tp_buffer_format(out, "%.2f GB", value / 0x1p30);
    } else if (size >= 0x1p20) {
        tp_buffer_format(out, "%.2f MB", value / 0x1p20);
    } else if (size >= 0x1p10) {
        tp_buffer_format(out, "%.2f KB", value / 0x1p10);
    } else {
        tp_format_number(out, bytes);
        tp_buffer_string(out, " B");
    }
}

void tp_format_number(struct tp_buffer *out, struct tp_number number)
{
    char text[TP_NUMBER_TEXT_MAX];

    tp_buffer_bytes(out, text, tp_number_print(number, text));
}

void tp_format_json_number(struct tp_buffer *out, struct tp_number number)
{
    if (number.is_real && !isfinite(number.bits.real))
        tp_buffer_string(out, "null");
    else
        tp_format_number(out, number);
}

void tp_format_json_string(struct tp_buffer *out, const struct tp_strings *strings, uint32_t id)
{
    const struct tp_string *string = tp_strings_get(strings, id);

    if (id == TP_STRING_NONE)
        tp_buffer_string(out, "null");
    else
        tp_json_string(out, string->bytes, string->size);
}

static bool is_control(uint32_t code)
{
    return (code < 0x20 && code != '\t') || (code >= 0x7f && code < 0xa0);
}

void tp_format_display(struct tp_buffer *out, const struct tp_string *string)
{
    const unsigned char *p = (const unsigned char *)string->bytes;
    size_t size = string->size;

    if (!string->has_controls) {
        tp_buffer_bytes(out, string->bytes, string->size);
        return;
    }
    while (size) {
        uint32_t code;
        size_t step = tp_utf8_decode(p, size, &code);
        if (!is_control(code))
            tp_buffer_bytes(out, p, step);
        else if (code == '\n' || code == '\r')
            tp_buffer_string(out, code == '\n' ? "\\n" : "\\r");
        else
            tp_buffer_format(out, "\\x%02x", (unsigned)code);
        p += step;
        size -= step;
    }
}

size_t tp_format_display_length(const struct tp_string *string)
{
    const unsigned char *p = (const unsigned char *)string->bytes;
    size_t size = string->size, length = string->length;

    if (!string->has_controls)
        return length;
    while (size) {
        uint32_t code;
        size_t step = tp_utf8_decode(p, size, &code);
        if (is_control(code))
            length += code == '\n' || code == '\r' ? 1 : 3;
        p += step;
        size -= step;
    }
    return length;
}

size_t tp_format_prefix(const char *bytes, size_t size, size_t points)
{
    size_t used = 0;

    while (points-- && used < size) {
        uint32_t code;
        used += tp_utf8_decode((const unsigned char *)bytes + used, size - used, &code);
    }
    return used;
}
