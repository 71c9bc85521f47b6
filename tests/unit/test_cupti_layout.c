/* SPDX-License-Identifier: MIT */
/* Our declarations of CUPTI against the headers that are installed. */
#include <check.h>
#include <stdbool.h>
#include <stddef.h>

#include <cuda.h>
#include <cupti.h>

#include "source/cuda/cupti_abi.h"
#include "unit.h"

#define TP_CUPTI_RECORD(RECORD, kind, size, STRUCT) typedef STRUCT header_##RECORD;
#include "source/cuda/cupti_layout.def"

static const struct {
    const char *name;
    uint32_t kind;
    size_t size, header_size;
} records[] = {
#define TP_CUPTI_RECORD(RECORD, kind, size, STRUCT) {#RECORD, kind, size, sizeof(STRUCT)},
#include "source/cuda/cupti_layout.def"
};

static const struct {
    const char *record, *name;
    size_t offset, size, header_offset, header_size;
} fields[] = {
#define TP_CUPTI_FIELD(RECORD, name, type, offset, since, member)                                  \
    {#RECORD,                                                                                      \
     #name,                                                                                        \
     offset,                                                                                       \
     sizeof(type),                                                                                 \
     offsetof(header_##RECORD, member),                                                            \
     sizeof(((header_##RECORD *)0)->member)},
#include "source/cuda/cupti_layout.def"
};

START_TEST(every_field_lies_where_the_header_has_it)
{
    for (size_t i = 0; i < UNIT_COUNT(fields); i++) {
        bool whole = fields[i].header_size == fields[i].size ||
                     !strncmp(fields[i].name, "uuid", 4); /* bytes, read as two words */
        ck_assert_msg(fields[i].offset == fields[i].header_offset && whole,
                      "%s.%s: %zu bytes at %zu, the header has %zu at %zu", fields[i].record,
                      fields[i].name, fields[i].size, fields[i].offset, fields[i].header_size,
                      fields[i].header_offset);
    }
}
END_TEST

START_TEST(no_record_is_smaller_than_its_oldest_form)
{
    for (size_t i = 0; i < UNIT_COUNT(records); i++)
        ck_assert_msg(records[i].size <= records[i].header_size && records[i].header_size % 8 == 0,
                      "%s: %zu bytes, the header has %zu", records[i].name, records[i].size,
                      records[i].header_size);
}
END_TEST

START_TEST(numbers_are_those_of_the_header)
{
    static const struct {
        uint32_t ours, theirs;
    } numbers[] = {
        {TP_CUPTI_KIND_MEMCPY, CUPTI_ACTIVITY_KIND_MEMCPY},
        {TP_CUPTI_KIND_MEMSET, CUPTI_ACTIVITY_KIND_MEMSET},
        {TP_CUPTI_KIND_DRIVER, CUPTI_ACTIVITY_KIND_DRIVER},
        {TP_CUPTI_KIND_RUNTIME, CUPTI_ACTIVITY_KIND_RUNTIME},
        {TP_CUPTI_KIND_DEVICE, CUPTI_ACTIVITY_KIND_DEVICE},
        {TP_CUPTI_KIND_CONTEXT, CUPTI_ACTIVITY_KIND_CONTEXT},
        {TP_CUPTI_KIND_KERNEL, CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL},
        {TP_CUPTI_KIND_NAME, CUPTI_ACTIVITY_KIND_NAME},
        {TP_CUPTI_KIND_OVERHEAD, CUPTI_ACTIVITY_KIND_OVERHEAD},
        {TP_CUPTI_KIND_MEMCPY2, CUPTI_ACTIVITY_KIND_MEMCPY2},
        {TP_CUPTI_KIND_STREAM, CUPTI_ACTIVITY_KIND_STREAM},
        {TP_CUPTI_KIND_SYNC, CUPTI_ACTIVITY_KIND_SYNCHRONIZATION},
        {TP_CUPTI_KIND_EXTERNAL, CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION},
        {TP_CUPTI_KIND_MEMORY2, CUPTI_ACTIVITY_KIND_MEMORY2},
        {TP_CUPTI_KIND_POOL, CUPTI_ACTIVITY_KIND_MEMORY_POOL},
        {TP_CUPTI_KIND_GRAPH, CUPTI_ACTIVITY_KIND_GRAPH_TRACE},
        {TP_CUPTI_DOMAIN_DRIVER, CUPTI_CB_DOMAIN_DRIVER_API},
        {TP_CUPTI_DOMAIN_RUNTIME, CUPTI_CB_DOMAIN_RUNTIME_API},
        {TP_CUPTI_DOMAIN_RESOURCE, CUPTI_CB_DOMAIN_RESOURCE},
        {TP_CUPTI_DOMAIN_STATE, CUPTI_CB_DOMAIN_STATE},
        {TP_CUPTI_RESOURCE_GRAPH_NODE_CREATED, CUPTI_CBID_RESOURCE_GRAPHNODE_CREATED},
        {TP_CUPTI_RESOURCE_GRAPH_NODE_CLONED, CUPTI_CBID_RESOURCE_GRAPHNODE_CLONED},
        {TP_CUPTI_STATE_FATAL_ERROR, CUPTI_CBID_STATE_FATAL_ERROR},
        {TP_CUPTI_STATE_ERROR, CUPTI_CBID_STATE_ERROR},
        {TP_CUPTI_MAX_LIMIT_REACHED, CUPTI_ERROR_MAX_LIMIT_REACHED},
        {TP_CUPTI_NOT_INITIALIZED, CUPTI_ERROR_NOT_INITIALIZED},
        {TP_CUPTI_INSUFFICIENT_PRIVILEGES, CUPTI_ERROR_INSUFFICIENT_PRIVILEGES},
        {TP_CUPTI_MULTIPLE_SUBSCRIBERS, CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED},
        {TP_CUPTI_UNKNOWN, CUPTI_ERROR_UNKNOWN},
        {TP_CUPTI_OBJECT_THREAD, CUPTI_ACTIVITY_OBJECT_THREAD},
        {TP_CUPTI_OBJECT_DEVICE, CUPTI_ACTIVITY_OBJECT_DEVICE},
        {TP_CUPTI_OBJECT_CONTEXT, CUPTI_ACTIVITY_OBJECT_CONTEXT},
        {TP_CUPTI_OBJECT_STREAM, CUPTI_ACTIVITY_OBJECT_STREAM},
        {TP_CUPTI_THREAD_ID_SYSTEM, CUPTI_ACTIVITY_THREAD_ID_TYPE_SYSTEM},
        {TP_CUPTI_ATTRIBUTE_PER_THREAD, CUPTI_ACTIVITY_ATTR_PER_THREAD_ACTIVITY_BUFFER},
        {TP_CUPTI_FLUSH_FORCED, CUPTI_ACTIVITY_FLAG_FLUSH_FORCED},
        {TP_CUPTI_SITE_ENTER, CUPTI_API_ENTER},
    };

    for (size_t i = 0; i < UNIT_COUNT(numbers); i++)
        ck_assert_msg(numbers[i].ours == numbers[i].theirs, "number %zu: %u, the header has %u", i,
                      numbers[i].ours, numbers[i].theirs);
}
END_TEST

#define SAME(OURS, ours, THEIRS, theirs)                                                           \
    ck_assert_uint_eq(offsetof(struct OURS, ours), offsetof(THEIRS, theirs))

START_TEST(structs_of_callbacks_are_those_of_the_header)
{
    SAME(tp_cupti_call, site, CUpti_CallbackData, callbackSite);
    SAME(tp_cupti_call, function, CUpti_CallbackData, functionName);
    SAME(tp_cupti_call, symbol, CUpti_CallbackData, symbolName);
    SAME(tp_cupti_call, ours, CUpti_CallbackData, correlationData);
    SAME(tp_cupti_call, correlation, CUpti_CallbackData, correlationId);
    SAME(tp_cupti_resource_data, descriptor, CUpti_ResourceData, resourceDescriptor);
    SAME(tp_cupti_graph_data, graph, CUpti_GraphData, graph);
    SAME(tp_cupti_graph_data, node, CUpti_GraphData, node);
    SAME(tp_cupti_graph_data, original_node, CUpti_GraphData, originalNode);
#ifdef CUpti_SubscriberParams_STRUCT_SIZE
    SAME(tp_cupti_subscriber_parameters, name, CUpti_SubscriberParams, subscriberName);
    SAME(tp_cupti_subscriber_parameters, holder, CUpti_SubscriberParams, oldSubscriberName);
    SAME(tp_cupti_subscriber_parameters, holder_size, CUpti_SubscriberParams, oldSubscriberSize);
    ck_assert_uint_eq(sizeof(struct tp_cupti_subscriber_parameters),
                      CUpti_SubscriberParams_STRUCT_SIZE);
#endif
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {
        every_field_lies_where_the_header_has_it,
        no_record_is_smaller_than_its_oldest_form,
        numbers_are_those_of_the_header,
        structs_of_callbacks_are_those_of_the_header,
    };

    return unit_run("cupti_layout", NULL, NULL, tests, UNIT_COUNT(tests));
}
