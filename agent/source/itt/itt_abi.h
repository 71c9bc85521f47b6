/* SPDX-License-Identifier: MIT */
#ifndef TP_ITT_ABI_H
#define TP_ITT_ABI_H

/*
 * The static stub that programs using ITT carry, as far as we use it: layouts and numbers, declared
 * by ourselves for 64-bit Linux. Objects may be made by the stub (before a collector is there) or
 * by us; the program cannot tell.
 */

#include <pthread.h>
#include <stddef.h>
#include <stdint.h>
#include <wchar.h>

/* One function of the stub: its list ends with a NULL name. */
struct tp_itt_function {
    const char *name; /* "__itt_task_begin" */
    void **pointer;   /* what the program calls through */
    void *initial;
    void *null; /* what it is to be where the collector has nothing */
    int group;
};

/* Collectors may use extra1 and extra2 of what follows. */
struct tp_itt_domain {
    volatile int flags; /* 0: the program's macros skip every call */
    const char *name;
    const wchar_t *wide;
    int extra1;
    void *_Atomic extra2; /* ours: struct tp_scope */
    struct tp_itt_domain *next;
};

struct tp_itt_string {
    const char *text;
    const wchar_t *wide;
    int extra1;
    void *_Atomic extra2; /* ours: struct tp_held_name */
    struct tp_itt_string *next;
};

/* Only the head is the same in all versions, and the stub leaves the rest uninitialised. */
struct tp_itt_counter {
    const char *name;
    const wchar_t *wide;
    const char *domain;
    const wchar_t *wide_domain;
    int type;
};

struct tp_itt_global {
    unsigned char magic[8];
    unsigned long major, minor, build;
    volatile long initialized, mutex_initialized, counter;
    pthread_mutex_t mutex;
    void *library;
    void *error_handler;
    const char **library_path;
    struct tp_itt_function *functions;
    struct tp_itt_global *next;
    void *threads;
    struct tp_itt_domain *domains;
    struct tp_itt_string *strings;
    int state;
    struct tp_itt_counter *counters;
};

#define TP_ITT_MAGIC "\xED\xAB\xAB\xEC\x0D\xEE\xDA\x30"
#define TP_ITT_BUILD_MIN 20101002ul /* up to then a function had no `null` */

/* By value, as the program passes it: on the stack. */
struct tp_itt_id {
    unsigned long long d1, d2, d3;
};

enum tp_itt_type {
    TP_ITT_UNKNOWN,
    TP_ITT_U64,
    TP_ITT_S64,
    TP_ITT_U32,
    TP_ITT_S32,
    TP_ITT_U16,
    TP_ITT_S16,
    TP_ITT_FLOAT,
    TP_ITT_DOUBLE
};

#endif
