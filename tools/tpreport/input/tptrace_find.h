/* SPDX-License-Identifier: MIT
 * Where the recordings are: from what a user names, or does not name, to the directories of
 * processes. */
#ifndef TP_INPUT_TPTRACE_FIND_H
#define TP_INPUT_TPTRACE_FIND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

/* Processes that have no folder. */
struct tptrace_folderless {
    unsigned count;
    char *program;                         /* of the first of them; NULL none or unknown */
    bool more_programs;                    /* others are not that one */
    uint64_t alloc_calls, allocated_bytes; /* that they counted, at least */
};

struct tptrace_place {
    char *run_dir;                      /* the recording's directory, or what comes nearest to it */
    char *run_name;                     /* from run.json; the last part of run_dir without it */
    int64_t start_ns;                   /* from run.json; 0 unknown */
    struct tptrace_folderless filtered; /* by system calls, before their first event */
    struct tptrace_folderless unrecorded; /* but for their allocations */
    struct tp_diag run_json;              /* code 0, or why run.json could not be read */
    bool is_whole;       /* a recording was named, not one of its parts: there must be one */
    char **process_dirs; /* ordered by name */
    size_t count;
};

/**
 * tptrace_find - the recording that @input means
 * @input: a recording, one host's or one process's directory, or a folder of recordings, of which
 * the newest (start_ns in run.json) is taken; NULL: the folder in TPAGENT_OUT, else the working
 * directory
 *
 * Context: offline. @ret_place is for tptrace_place_fini.
 * Return: 0; -TP_ENOTFOUND with a message that says where we looked; -errno.
 */
int tptrace_find(const char *input, struct tptrace_place *ret_place, struct tp_diag *diag);
void tptrace_place_fini(struct tptrace_place *place);

/** tptrace_is_recording - is @path a directory in which tptrace_find would find one? */
bool tptrace_is_recording(const char *path);

/**
 * tptrace_find_below - a recording further down than is looked for by itself
 * @ret_path: for free(); NULL when there is none within four levels
 */
void tptrace_find_below(const char *directory, char **ret_path);

#endif
