/* SPDX-License-Identifier: MIT */
#ifndef TP_SOURCE_CUDA_CUPTI_ABI_H
#define TP_SOURCE_CUDA_CUPTI_ABI_H

/*
 * What is used of CUPTI: own declarations of its C interface, for no header of NVIDIA's is needed
 * to build. Tests compare them with installed headers.
 */

#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum tp_cupti_result {
    TP_CUPTI_SUCCESS = 0,
    TP_CUPTI_MAX_LIMIT_REACHED = 12, /* no more records in the buffer */
    TP_CUPTI_NOT_INITIALIZED = 15,   /* also: newer than the driver */
    TP_CUPTI_INSUFFICIENT_PRIVILEGES = 35,
    TP_CUPTI_MULTIPLE_SUBSCRIBERS = 39,
    TP_CUPTI_UNKNOWN = 999 /* also: no driver */
};

enum tp_cupti_domain {
    TP_CUPTI_DOMAIN_DRIVER = 1,
    TP_CUPTI_DOMAIN_RUNTIME = 2,
    TP_CUPTI_DOMAIN_RESOURCE = 3,
    TP_CUPTI_DOMAIN_STATE = 6
};

enum tp_cupti_resource { /* callback ids of the domain RESOURCE */
                         TP_CUPTI_RESOURCE_GRAPH_NODE_CREATED = 13,
                         TP_CUPTI_RESOURCE_GRAPH_NODE_CLONED = 20
};

enum tp_cupti_state { TP_CUPTI_STATE_FATAL_ERROR = 1, TP_CUPTI_STATE_ERROR = 2 };

enum tp_cupti_kind {
    TP_CUPTI_KIND_MEMCPY = 1,
    TP_CUPTI_KIND_MEMSET = 2,
    TP_CUPTI_KIND_DRIVER = 4,
    TP_CUPTI_KIND_RUNTIME = 5,
    TP_CUPTI_KIND_DEVICE = 8,
    TP_CUPTI_KIND_CONTEXT = 9,
    TP_CUPTI_KIND_KERNEL = 10, /* CONCURRENT_KERNEL; 3 would serialise the program */
    TP_CUPTI_KIND_NAME = 11,
    TP_CUPTI_KIND_OVERHEAD = 17,
    TP_CUPTI_KIND_MEMCPY2 = 22,
    TP_CUPTI_KIND_STREAM = 37,
    TP_CUPTI_KIND_SYNC = 38,
    TP_CUPTI_KIND_EXTERNAL = 39,
    TP_CUPTI_KIND_MEMORY2 = 49,
    TP_CUPTI_KIND_POOL = 50,
    TP_CUPTI_KIND_GRAPH = 51,
    TP_CUPTI_KIND_END = 64
};

enum tp_cupti_object {
    TP_CUPTI_OBJECT_THREAD = 2,
    TP_CUPTI_OBJECT_DEVICE = 3,
    TP_CUPTI_OBJECT_CONTEXT = 4,
    TP_CUPTI_OBJECT_STREAM = 5
};

#define TP_CUPTI_THREAD_ID_SYSTEM 1     /* gettid(), not a piece of pthread_self() */
#define TP_CUPTI_ATTRIBUTE_PER_THREAD 9 /* a buffer for each thread; one byte */
#define TP_CUPTI_FLUSH_FORCED 1
#define TP_CUPTI_SITE_ENTER 0

/* Versions, as cuptiGetVersion counts, from which something is there or is known to be sound. */
enum tp_cupti_api {
    TP_CUPTI_11_1 = 14,
    TP_CUPTI_11_2 = 15,
    TP_CUPTI_11_6 = 17,
    TP_CUPTI_12_3 = 21,
    TP_CUPTI_12_5 = 23,
    TP_CUPTI_12_6 = 24,
    TP_CUPTI_12_9 = 27,
    TP_CUPTI_13_0 = 130000,
    TP_CUPTI_13_1 = 130100
};

/* A callback's data, for the domains of API calls. */
struct tp_cupti_call {
    uint32_t site;
    const char *function;
    const void *parameters;
    void *result;
    const char *symbol; /* kernel, mangled; launches only */
    void *context;
    uint32_t context_uid;
    uint64_t *ours;
    uint32_t correlation;
};

/* For the domain RESOURCE. */
struct tp_cupti_resource_data {
    void *context, *handle, *descriptor;
};

/* What its descriptor is for graphs. */
struct tp_cupti_graph_data {
    void *graph, *original_graph, *node, *original_node;
    uint32_t node_type;
    void *dependency, *exec;
};

struct tp_cupti_subscriber_parameters {
    size_t size;
    const char *name;
    char *holder; /* filled with who has subscribed already */
    size_t holder_size;
};

typedef void tp_cupti_callback(void *data, uint32_t domain, uint32_t id, const void *call);
typedef void tp_cupti_request(uint8_t **ret_buffer, size_t *ret_size, size_t *ret_records);
typedef void tp_cupti_complete(void *context, uint32_t stream, uint8_t *buffer, size_t size,
                               size_t used);

/* X(name, needed, parameters): needed: whether CUPTI cannot be used without it. */
#define TP_CUPTI_FUNCTIONS(X)                                                                      \
    X(GetVersion, 1, (uint32_t *))                                                                 \
    X(Subscribe, 1, (void **, tp_cupti_callback *, void *))                                        \
    X(Subscribe_v2, 0,                                                                             \
      (void **, tp_cupti_callback *, void *, struct tp_cupti_subscriber_parameters *))             \
    X(EnableCallback, 1, (uint32_t, void *, uint32_t, uint32_t))                                   \
    X(GetCallbackName, 1, (uint32_t, uint32_t, const char **))                                     \
    X(SetThreadIdType, 0, (uint32_t))                                                              \
    X(GetTimestamp, 1, (uint64_t *))                                                               \
    X(GetResultString, 0, (uint32_t, const char **))                                               \
    X(GetGraphNodeId, 0, (void *, uint64_t *))                                                     \
    X(GetGraphId, 0, (void *, uint32_t *))                                                         \
    X(ActivityRegisterCallbacks, 1, (tp_cupti_request *, tp_cupti_complete *))                     \
    X(ActivitySetAttribute, 0, (uint32_t, size_t *, void *))                                       \
    X(ActivityRegisterTimestampCallback, 0, (uint64_t(*)(void)))                                   \
    X(ActivityEnable, 1, (uint32_t))                                                               \
    X(ActivityEnableDriverApi, 0, (uint32_t, uint8_t))                                             \
    X(ActivityEnableRuntimeApi, 0, (uint32_t, uint8_t))                                            \
    X(ActivityGetNextRecord, 1, (uint8_t *, size_t, void **))                                      \
    X(ActivityGetNumDroppedRecords, 0, (void *, uint32_t, size_t *))                               \
    X(ActivityFlushAll, 1, (uint32_t))                                                             \
    X(ActivityFlushPeriod, 0, (uint32_t))

/* The functions of one libcupti; NULL where it has none. All return an enum tp_cupti_result. */
struct tp_cupti {
#define X(name, needed, parameters) int(*name) parameters;
    TP_CUPTI_FUNCTIONS(X)
#undef X
};

/* Where a field lies: TP_CUPTI_AT_KERNEL_start. */
enum {
#define TP_CUPTI_FIELD(RECORD, name, type, offset, since, member)                                  \
    TP_CUPTI_AT_##RECORD##_##name = offset,
#include "source/cuda/cupti_layout.def"
    TP_CUPTI_AT_END
};

static inline int tp_cupti_has(uint32_t api, uint32_t since)
{
    return api >= since;
}

/* Readers of the fields of records: tp_cupti_KERNEL_start(record, api). */
#define TP_CUPTI_FIELD(RECORD, name, type, offset, since, member)                                  \
    static inline type tp_cupti_##RECORD##_##name(const void *record, uint32_t api)                \
    {                                                                                              \
        type value = 0;                                                                            \
        if (tp_cupti_has(api, since))                                                              \
            memcpy(&value, (const char *)record + (offset), sizeof(value));                        \
        return value;                                                                              \
    }
#include "source/cuda/cupti_layout.def"

#endif
