/* SPDX-License-Identifier: MIT */
#include "input/input.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/text.h"
#include "input/decompress.h"
#include "input/tptrace_pack.h"

#define TP_INPUT_KIND(symbol) extern const struct tp_input_kind symbol;
#include "input/kinds.def"
#undef TP_INPUT_KIND

static const struct tp_input_kind *const kinds[] = {
#define TP_INPUT_KIND(symbol) &symbol,
#include "input/kinds.def"
#undef TP_INPUT_KIND
};

enum { KIND_COUNT = sizeof(kinds) / sizeof(kinds[0]) };

/* Bytes as they stand in the file. */
static ptrdiff_t read_file(void *context, void *buffer, size_t size)
{
    struct tp_input *input = context;
    ssize_t got;

    do {
        got = read(input->fd, buffer, size);
    } while (got < 0 && errno == EINTR);
    if (got < 0)
        return -errno;
    input->file_done += (uint64_t)got;
    tp_progress_step(input->progress, input->path, input->file_done, input->size);
    return got;
}

static ptrdiff_t read_some(struct tp_input *input, void *buffer, size_t size)
{
    if (!input->decompressor)
        return read_file(input, buffer, size);
    return tp_decompressor_read(input->decompressor, read_file, input, buffer, size);
}

static int fill_head(struct tp_input *input, unsigned char *head)
{
    while (input->head_size < TP_INPUT_HEAD) {
        ptrdiff_t got = read_some(input, head + input->head_size, TP_INPUT_HEAD - input->head_size);
        if (got < 0 && !(input->decompressor && input->head_size))
            return (int)got;
        if (got <= 0) /* a damage behind a good beginning shows again when all is read */
            break;
        input->head_size += (size_t)got;
    }
    return 0;
}

static int read_head(struct tp_input *input)
{
    unsigned char *head = malloc(TP_INPUT_HEAD);

    if (!head)
        return -ENOMEM;
    input->head = head;
    int result = fill_head(input, head);
    if (!result)
        result = tp_decompressor_create(head, input->head_size, &input->decompressor);
    if (result < 0 || !input->decompressor)
        return result;
    input->head_size = 0;
    return fill_head(input, head);
}

static int open_path(struct tp_input *input)
{
    struct stat st;

    if (!strcmp(input->path, "-")) {
        input->fd = dup(STDIN_FILENO);
        return input->fd < 0 ? -errno : read_head(input);
    }
    input->fd = open(input->path, O_RDONLY | O_CLOEXEC);
    if (input->fd < 0)
        return -errno;
    if (fstat(input->fd, &st) < 0)
        return -errno;
    input->size = S_ISREG(st.st_mode) ? (uint64_t)st.st_size : 0;
    if (!S_ISDIR(st.st_mode))
        return read_head(input);
    close(input->fd);
    input->fd = -1;
    input->is_directory = true;
    return 0;
}

/* The first bytes for a message: printable, short. */
static void describe_head(const struct tp_input *input, char *buffer, size_t size)
{
    struct tp_text text;

    tp_text_init(&text, buffer, size);
    if (!input->head_size)
        tp_text_string(&text, "it is empty");
    else
        tp_text_string(&text, "it begins with ");
    if (input->head_size)
        tp_text_json(&text, input->head, input->head_size < 16 ? input->head_size : 16);
}

static int fail_directory(const struct tp_input *input, struct tp_diag *diag)
{
    char *below = NULL;

    for (int i = 0; i < KIND_COUNT && !below; i++) {
        if (kinds[i]->find_below)
            kinds[i]->find_below(input->path, &below);
    }
    int result =
        tp_diag_fail(diag, -TP_ENOTFOUND, TP_DIAG_NO_OFFSET, "no recording in this directory%s%s",
                     below ? "; further down there is " : "", below ? below : "");
    free(below);
    return result;
}

static int fail_unknown(const struct tp_input *input, struct tp_diag *diag)
{
    char known[256], found[160];
    struct tp_text text;

    if (input->is_directory)
        return fail_directory(input, diag);
    tp_text_init(&text, known, sizeof(known));
    for (int i = 0; i < KIND_COUNT; i++)
        tp_text_format(&text, "%s%s", i ? ", " : "", kinds[i]->help);
    describe_head(input, found, sizeof(found));
    return tp_diag_fail(diag, -TP_EFOREIGN, TP_DIAG_NO_OFFSET, "%s; expected %s", found, known);
}

static int choose_kind(struct tp_input *input, struct tp_diag *diag)
{
    int best = 0;

    for (int i = 0; i < KIND_COUNT; i++) {
        int score = kinds[i]->probe(input);
        if (score > best) {
            best = score;
            input->kind = kinds[i];
        }
    }
    return best ? 0 : fail_unknown(input, diag);
}

/* A packed recording becomes the directory that it was. */
static int unpack(struct tp_input *input, struct tp_diag *diag)
{
    if (!tptrace_is_packed(input))
        return 0;
    int result = tptrace_unpack(input, &input->unpacked, diag);
    if (result < 0)
        return result;
    close(input->fd);
    input->fd = -1;
    input->is_directory = true;
    input->archive = input->path;
    input->path = input->unpacked;
    return 0;
}

int tp_input_open(struct tp_input *input, const char *path, const struct tp_selection *selection,
                  struct tp_diag *diag)
{
    *input = (struct tp_input){.path = path, .selection = selection, .fd = -1};
    int result = open_path(input);
    if (result < 0)
        tp_diag_fail(diag, result, TP_DIAG_NO_OFFSET, "can't be read: %s", tp_error_text(result));
    else
        result = unpack(input, diag);
    if (!result)
        result = choose_kind(input, diag);
    if (result < 0) {
        tp_diag_at(diag, path);
        tp_input_close(input);
    }
    return result;
}

void tp_input_close(struct tp_input *input)
{
    if (input->path && input->fd >= 0)
        close(input->fd);
    free((void *)input->head);
    tp_buffer_fini(&input->notes);
    tp_buffer_fini(&input->recording);
    tp_decompressor_destroy(input->decompressor);
    tptrace_unpacked_remove(input->unpacked);
    *input = (struct tp_input){.fd = -1};
}

void tp_input_lost(struct tp_input *input, uint64_t count, const char *format, ...)
{
    va_list arguments;

    input->lost_count += count;
    if (input->lost_text[0])
        return;
    va_start(arguments, format);
    vsnprintf(input->lost_text, sizeof(input->lost_text), format, arguments);
    va_end(arguments);
}

ptrdiff_t tp_input_read(struct tp_input *input, uint64_t *offset, void *buffer, size_t size)
{
    if (*offset < input->head_size) {
        size_t left = input->head_size - (size_t)*offset;
        size = size < left ? size : left;
        memcpy(buffer, input->head + *offset, size);
        *offset += size;
        return (ptrdiff_t)size;
    }
    ptrdiff_t got = read_some(input, buffer, size);
    if (got > 0)
        *offset += (size_t)got;
    return got;
}
