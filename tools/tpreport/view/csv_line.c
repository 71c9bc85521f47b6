/* SPDX-License-Identifier: MIT */
#include "view/csv_line.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void tp_csv_line_fini(struct tp_csv_line *line)
{
    tp_buffer_fini(&line->text);
}

void tp_csv_line_field(struct tp_csv_line *line, const char *bytes, size_t size)
{
    bool quoted = false;

    if (line->is_begun)
        tp_buffer_char(&line->text, ',');
    line->is_begun = true;
    for (size_t i = 0; i < size; i++)
        quoted |= bytes[i] == '"' || bytes[i] == ',' || bytes[i] == '\n' || bytes[i] == '\r';
    if (!quoted) {
        tp_buffer_bytes(&line->text, bytes, size);
        return;
    }
    tp_buffer_char(&line->text, '"');
    for (size_t i = 0; i < size; i++) {
        if (bytes[i] == '"')
            tp_buffer_char(&line->text, '"');
        tp_buffer_char(&line->text, bytes[i]);
    }
    tp_buffer_char(&line->text, '"');
}

void tp_csv_line_text(struct tp_csv_line *line, const char *text)
{
    tp_csv_line_field(line, text, strlen(text));
}

void tp_csv_line_number(struct tp_csv_line *line, struct tp_number number)
{
    char text[TP_NUMBER_TEXT_MAX];

    tp_csv_line_field(line, text, tp_number_print(number, text));
}

void tp_csv_line_format(struct tp_csv_line *line, const char *format, ...)
{
    char text[4096];
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(text, sizeof(text), format, arguments);
    va_end(arguments);
    tp_csv_line_text(line, text);
}

void tp_csv_line_end(struct tp_csv_line *line)
{
    tp_buffer_string(&line->text, line->end);
    tp_output_buffer(line->output, &line->text);
    tp_buffer_reset(&line->text);
    line->is_begun = false;
}
