/* SPDX-License-Identifier: MIT
 * The `cuda` lines of a meta.jsonl: how the process's CUDA was seen, on which clock, what its
 * devices are, and what was lost. */
#ifndef TP_INPUT_TPTRACE_META_CUDA_H
#define TP_INPUT_TPTRACE_META_CUDA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct tptrace_json;

#define TPTRACE_CUDA_PAIRS_MAX (1u << 20)
#define TPTRACE_CUDA_ITEMS_MAX (64u << 10) /* devices, contexts, streams, names: each */

struct tptrace_cuda_pair {
    uint64_t ticks, cupti_ns, width; /* width in ticks */
};

struct tptrace_cuda_device {
    uint32_t device;
    char *name, *uuid; /* NULL unknown */
    uint64_t memory;   /* bytes; 0 unknown, as the others */
    uint32_t sms, major, minor;
};

struct tptrace_cuda_context {
    uint32_t context, device, null_stream;
};

struct tptrace_cuda_stream {
    uint32_t context, stream, flags;
    int64_t priority;
};

struct tptrace_cuda_name {
    char *object, *name; /* never NULL */
    uint32_t context, id;
};

struct tptrace_meta_cuda {
    bool is_known;                               /* there is a `cuda` line */
    char *mode, *library, *clock, *graphs, *why; /* NULL unknown */
    uint64_t api;                                /* CUPTI's version, 0 unknown */
    uint64_t missing;                            /* not 0: device records, and `why` tells */
    struct tptrace_cuda_pair *pairs;
    struct tptrace_cuda_device *devices;
    struct tptrace_cuda_context *contexts;
    struct tptrace_cuda_stream *streams;
    struct tptrace_cuda_name *names;
    size_t pair_count, device_count, context_count, stream_count, name_count;
    bool has_lost; /* there is a `cuda_lost` line; the last one: */
    uint64_t dropped, no_room, no_time, invalid, unknown, buffers, until;
    uint64_t ignored; /* entries beyond a limit above */
};

/**
 * tptrace_meta_cuda_take - use a line if its type @type is one of these
 * Return: 1 used, 0 of another type, -TP_EVALUE (makes no sense), -ENOMEM.
 */
int tptrace_meta_cuda_take(struct tptrace_meta_cuda *cuda, const char *type,
                           const struct tptrace_json *line);
void tptrace_meta_cuda_fini(struct tptrace_meta_cuda *cuda);

/** tptrace_cuda_find_device - what is said of a device. Return: borrowed, NULL for nothing. */
const struct tptrace_cuda_device *tptrace_cuda_find_device(const struct tptrace_meta_cuda *cuda,
                                                           uint32_t device);

/** tptrace_cuda_device_of - the device of a context; 0 where nothing is said */
uint32_t tptrace_cuda_device_of(const struct tptrace_meta_cuda *cuda, uint32_t context);

/** tptrace_cuda_is - was CUDA seen in this way? @mode: "cupti", "hooks" */
bool tptrace_cuda_is(const struct tptrace_meta_cuda *cuda, const char *mode);

#endif
