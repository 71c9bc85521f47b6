/* SPDX-License-Identifier: MIT
 * Kinds of inputs behind one interface. A kind recognises its files by content and reads them into
 * a list of events, or, where it can, straight into averages without holding any event. */
#ifndef TP_INPUT_INPUT_H
#define TP_INPUT_INPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "input/extent.h"
#include "input/progress.h"
#include "input/selection.h"
#include "model/averages.h"
#include "model/buffer.h"
#include "model/event_list.h"
#include "model/kernels.h"
#include "model/work.h"

enum { TP_INPUT_HEAD = 64 << 10 };

struct tp_decompressor;

/* One opened input. */
struct tp_input {
    const struct tp_input_kind *kind;
    const char *path;                     /* borrowed; "-" is standard input */
    const struct tp_selection *selection; /* borrowed */
    int fd;                               /* -1 for a directory */
    bool is_directory;
    char *unpacked;      /* the folder with the files of a packed recording, which is @path then */
    const char *archive; /* that recording; borrowed */
    const unsigned char *head; /* the first bytes, already read from @fd and decompressed */
    size_t head_size;
    struct tp_decompressor *decompressor; /* NULL: the file is not compressed */
    uint64_t file_done;                   /* bytes read of it, as they stand there */
    uint64_t size;                        /* of the file; 0 when it is not known */
    struct tp_progress *progress;         /* borrowed; NULL: silent */
    uint64_t
        lost_count; /* what could not be read or was dropped while recording; > 0: exit status 3 */
    char lost_text[256];        /* about the first of it */
    struct tp_buffer notes;     /* the report's head: lines for stderr, each with its end */
    struct tp_buffer recording; /* the same facts as a JSON object; empty: nothing to say */
    struct tp_extent extent;    /* what there is, whatever is selected */
    bool has_span;              /* the recording says its own start and end; set by reading */
    int64_t start_ns, end_ns;
};

/* What a stream of events came to; the settings that a list would carry. */
struct tp_input_averages {
    struct tp_averages *averages; /* for tp_averages_destroy */
    uint32_t use_device;          /* string id or TP_STRING_NONE */
    bool profile_memory;
    bool with_flops;
};

struct tp_input_kind {
    const char *name;
    const char *help; /* what it is, for messages: "an event list in JSON" */

    /* 0: not mine; 1..100: how sure. Looks at path, is_directory and head; opens nothing big. */
    int (*probe)(const struct tp_input *input);

    /* Optional: something of this kind that lies deeper in a directory; @ret_path for free() or
     * NULL. */
    void (*find_below)(const char *directory, char **ret_path);

    /* Append the selected events in list order. The caller builds the tree. Return: 0 or negative.
     */
    int (*read_list)(struct tp_input *input, struct tp_event_list *list, struct tp_diag *diag);

    /* Optional: the same events into averages. Names go into the pools before threads start. */
    int (*read_averages)(struct tp_input *input, struct tp_strings *strings,
                         struct tp_stacks *stacks, const struct tp_averages_options *options,
                         struct tp_input_averages *ret, struct tp_diag *diag);

    /* Optional: can read_averages do it, with this selection? NULL: always. */
    bool (*can_average)(const struct tp_input *input);

    /* Optional: the sums of a kernels report in which kernels or copies are the rows, their own
     * times counting. Return: 1 done, 0 these are not its rows (@kernels holds anything) or not
     * with this selection, or negative. */
    int (*read_kernels)(struct tp_input *input, struct tp_strings *strings,
                        struct tp_stacks *stacks, struct tp_kernels *kernels, struct tp_diag *diag);

    /* Optional: the same events as pieces of work, none of them held. */
    int (*read_work)(struct tp_input *input, struct tp_strings *strings, struct tp_work_sink *sink,
                     struct tp_diag *diag);
};

/**
 * tp_input_open - find out what @path is
 * @selection: borrowed until close
 * @diag: says what was found there when it is none of the known kinds
 *
 * Context: offline.
 * Return: 0 and an input for tp_input_close (which takes a zeroed one), or negative.
 */
int tp_input_open(struct tp_input *input, const char *path, const struct tp_selection *selection,
                  struct tp_diag *diag);
void tp_input_close(struct tp_input *input);

/** tp_input_lost - note something that the report will lack; keeps the first text, adds up the
 * counts */
void tp_input_lost(struct tp_input *input, uint64_t count, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/**
 * tp_input_read - the next bytes: first the head that was read for probing, then the file; plain,
 * however it is compressed
 * Return: bytes read, 0 at the end, or negative: an errno, -TP_ETRUNCATED, -TP_ECORRUPT.
 */
ptrdiff_t tp_input_read(struct tp_input *input, uint64_t *offset, void *buffer, size_t size);

#endif
