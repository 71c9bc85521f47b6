/* SPDX-License-Identifier: MIT */
#include "base/error.h"

#include <string.h>

#include "base/text.h"

static const char *const names[] = {
#define TP_ERROR(name, text) "TP_" #name,
#include "base/errors.def"
#undef TP_ERROR
};

static const char *const texts[] = {
#define TP_ERROR(name, text) text,
#include "base/errors.def"
#undef TP_ERROR
};

static __thread char system_text[96];

const char *tp_error_name(int error)
{
    int code = error < 0 ? -error : error;

    if (code > TP_ERROR_FIRST && code < TP_ERROR_END)
        return names[code - TP_ERROR_FIRST - 1];
    struct tp_text text;
    tp_text_init(&text, system_text, sizeof(system_text));
    tp_text_format(&text, "errno %d", code);
    return system_text;
}

const char *tp_error_text(int error)
{
    int code = error < 0 ? -error : error;

    if (code > TP_ERROR_FIRST && code < TP_ERROR_END)
        return texts[code - TP_ERROR_FIRST - 1];
    return strerror_r(code, system_text, sizeof(system_text));
}

int tp_diag_fail(struct tp_diag *diag, int code, uint64_t offset, const char *format, ...)
{
    if (!diag)
        return code;
    diag->code = code;
    diag->offset = offset;
    diag->block = TP_DIAG_NO_OFFSET;
    diag->file[0] = '\0';
    va_list arguments;
    va_start(arguments, format);
    struct tp_text text;
    tp_text_init(&text, diag->text, sizeof(diag->text));
    tp_text_vformat(&text, format, arguments);
    va_end(arguments);
    return code;
}

int tp_diag_at(struct tp_diag *diag, const char *file)
{
    if (!diag)
        return 0;
    if (file) {
        size_t length = strlen(file);
        size_t room = sizeof(diag->file) - 1;
        if (length > room)
            file += length - room;
        struct tp_text text;
        tp_text_init(&text, diag->file, sizeof(diag->file));
        tp_text_string(&text, file);
    }
    return diag->code;
}

size_t tp_diag_print(const struct tp_diag *diag, char *buffer, size_t size)
{
    struct tp_text text;

    tp_text_init(&text, buffer, size);
    if (diag->file[0])
        tp_text_format(&text, "%s: ", diag->file);
    if (diag->block != TP_DIAG_NO_OFFSET)
        tp_text_format(&text, "block %llu ", (unsigned long long)diag->block);
    if (diag->offset != TP_DIAG_NO_OFFSET)
        tp_text_format(&text, "at byte %llu", (unsigned long long)diag->offset);
    if (diag->block != TP_DIAG_NO_OFFSET || diag->offset != TP_DIAG_NO_OFFSET)
        tp_text_string(&text, ": ");
    tp_text_string(&text, diag->text[0] ? diag->text : tp_error_text(diag->code));
    return text.used;
}
