/* SPDX-License-Identifier: MIT */
/* Activity records of every version, made by hand, and what the recording says of them. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "capture.h"
#include "host.h"
#include "record.h"
#include "source/cuda/cuda.h"
#include "trace/losses.h"

struct tp_cuda tp_cuda;

static char lines[4096];

void tp_cuda_line(const struct tp_text *text)
{
    strncat(lines, text->data, sizeof(lines) - strlen(lines) - 2);
    strcat(lines, "\n");
}

/* --- a buffer */

static _Alignas(8) uint8_t buffer[1 << 20];
static size_t used;
static struct tp_cuda_walk walk;

/* Bytes of a record of each kind by version, as CUPTI's own walk knows them. */
static size_t stride(uint32_t kind, uint32_t api)
{
    switch (kind) {
    case TP_CUPTI_KIND_KERNEL:
        return api < 15       ? 160
               : api < 17     ? 168
               : api < 18     ? 176
               : api < 19     ? 200
               : api < 130000 ? 208
                              : 216;
    case TP_CUPTI_KIND_MEMCPY:
        return api < 14 ? 72 : api < 17 ? 80 : api < 26 ? 88 : 96;
    case TP_CUPTI_KIND_MEMCPY2:
        return api < 14 ? 80 : api < 17 ? 88 : 96;
    case TP_CUPTI_KIND_MEMSET:
        return api < 14 ? 72 : api < 17 ? 80 : 88;
    case TP_CUPTI_KIND_OVERHEAD:
        return api < 20 ? 40 : api < 22 ? 48 : 56;
    case TP_CUPTI_KIND_SYNC:
        return api < 26 ? 40 : 56;
    case TP_CUPTI_KIND_MEMORY2:
        return api < 16 ? 112 : api < 24 ? 120 : 128;
    case TP_CUPTI_KIND_POOL:
        return api < 16 ? 64 : api < 130000 ? 72 : 80;
    case TP_CUPTI_KIND_GRAPH:
        return api < 21 ? 48 : 56;
    case TP_CUPTI_KIND_DEVICE:
        return 184;
    case TP_CUPTI_KIND_EXTERNAL:
    case TP_CUPTI_KIND_STREAM:
        return 24;
    case TP_CUPTI_KIND_CONTEXT:
        return api < 22 ? 16 : api < 23 ? 24 : 32;
    case TP_CUPTI_KIND_NAME:
        return 32;
    case TP_CUPTI_KIND_RUNTIME:
    case TP_CUPTI_KIND_DRIVER:
        return 40;
    default:
        return 64;
    }
}

static int next_record(uint8_t *start, size_t valid, void **record)
{
    uint8_t *at = start;

    if (*record)
        at = (uint8_t *)*record + stride(*(uint32_t *)*record, tp_cuda.api);
    if (at >= start + valid)
        return TP_CUPTI_MAX_LIMIT_REACHED;
    if (!*(uint32_t *)(void *)at)
        return 1;
    *record = at;
    return TP_CUPTI_SUCCESS;
}

static int callback_name(uint32_t domain, uint32_t cbid, const char **ret_name)
{
    if (cbid != 211 && cbid != 307)
        return 1;
    *ret_name =
        domain == TP_CUPTI_DOMAIN_DRIVER ? "cuLaunchKernel_ptsz" : "cudaLaunchKernel_ptsz_v7000";
    return 0;
}

static void begin(void)
{
    host_begin();
    memset(&tp_cuda, 0, sizeof(tp_cuda));
    tp_cuda.api = 130001;
    tp_cuda.cupti.ActivityGetNextRecord = next_record;
    tp_cuda.cupti.GetCallbackName = callback_name;
    memset(tp_cuda_listed, 0xff, sizeof(tp_cuda_listed));
    used = 0;
    lines[0] = '\0';
    walk = (struct tp_cuda_walk){.buffer = buffer};
    tp_agent.config.capture.by = TP_CAPTURE_CUDA_PROFILER_API;
    tp_capture_start(&tp_agent.config);
    tp_capture_open();
    ck_assert(tp_agent_arm());
}

static void end(void)
{
    tp_capture_open();
    host_end();
}

/* A record whose byte i is (start + i) % 251, but for its kind. */
static uint8_t *add(uint32_t kind, unsigned start)
{
    uint8_t *record = buffer + used;
    size_t size = stride(kind, tp_cuda.api);

    for (size_t i = 0; i < size; i++)
        record[i] = (uint8_t)((start + i) % 251);
    memcpy(record, &kind, sizeof(kind));
    used += size;
    walk.used = used;
    return record;
}

static void put(uint8_t *record, size_t offset, uint64_t value, size_t size)
{
    memcpy(record + offset, &value, size);
}

static uint64_t get(const uint8_t *record, size_t offset, size_t size)
{
    uint64_t value = 0;

    memcpy(&value, record + offset, size);
    return value;
}

/* What was written, all of it; the test's process ends with it. */
static uint64_t *written(uint64_t *ret_count)
{
    static uint64_t *volatile all; /* whoever walks through it need not keep its beginning */
    uint32_t track = tp_tls.thread->track;

    host_end_keep();
    all = host_collect(track, 0, ret_count);
    return all;
}

static uint64_t column(const uint64_t *record, const char *name)
{
    unsigned kind = tp_slot_kind(record);

    for (unsigned i = 0; i < tp_field_count; i++) {
        const struct tp_field_info *f = &tp_fields[i];
        if (f->kind == kind && !strcmp(f->name, name)) {
            uint64_t value = record[f->word] >> f->shift;
            return f->bits == 64 ? value : value & ((UINT64_C(1) << f->bits) - 1);
        }
    }
    ck_abort_msg("kind %u has no column %s", kind, name);
    return 0;
}

static const char *name_of(uint64_t id)
{
    static char text[512];
    size_t size, at = TP_NAMES_HEADER_BYTES;
    char *bytes = host_read("names.tpn", &size);

    while (at + sizeof(struct tp_name_record) <= size) {
        const struct tp_name_record *record = (const void *)(bytes + at);
        if (!record->id)
            break;
        if (record->id == id) {
            snprintf(text, sizeof(text), "%.*s", (int)record->length, (const char *)(record + 1));
            free(bytes);
            return text;
        }
        at += (sizeof(*record) + record->length + 7) & ~(size_t)7;
    }
    free(bytes);
    return "";
}

#define SAME(name, value) ck_assert_uint_eq(column(record, name), value)

static const uint32_t versions[] = {13, 14, 15, 17, 18, 19,     20,     21,
                                    22, 23, 24, 26, 28, 130000, 130001, 140000};
#define VERSIONS ((int)(sizeof(versions) / sizeof(versions[0])))

START_TEST(kernels_of_every_version)
{
    uint64_t count;

    tp_cuda.api = versions[_i];
    uint8_t *r = add(TP_CUPTI_KIND_KERNEL, 7);
    put(r, 104, (uintptr_t) "_Z4gemmPf", 8);
    put(r, 52, 80, 4); /* geometry: numbers that fit a text */
    ck_assert(tp_cuda_convert(&walk, 0));
    const uint64_t *record = written(&count);
    ck_assert_uint_eq(count, 3);
    ck_assert_uint_eq(tp_slot_kind(record), TP_EVENT_GPU_KERNEL);
    SAME("start", get(r, 16, 8));
    SAME("end", get(r, 24, 8));
    SAME("device", get(r, 40, 2));
    SAME("context", get(r, 44, 4));
    SAME("stream", get(r, 48, 4));
    SAME("correlation", get(r, 92, 4));
    SAME("launch_type", get(r, 136, 1));
    SAME("graph_node", get(r, 144, 8));
    SAME("graph", tp_cuda.api >= 14 ? get(r, 156, 4) : 0);
    SAME("flags", tp_cuda.api >= 130000 ? get(r, 208, 1) : 0);
    ck_assert_str_eq(name_of(column(record, "name")), "_Z4gemmPf");
    char wanted[256], cluster[64] = "";
    if (tp_cuda.api >= 18)
        snprintf(cluster, sizeof(cluster), ",[%u,%u,%u]", (unsigned)get(r, 176, 4),
                 (unsigned)get(r, 180, 4), (unsigned)get(r, 184, 4));
    snprintf(wanted, sizeof(wanted), "[[80,%u,%u],[%u,%u,%u],%u,%u,%u,%u%s]",
             (unsigned)get(r, 56, 4), (unsigned)get(r, 60, 4), (unsigned)get(r, 64, 4),
             (unsigned)get(r, 68, 4), (unsigned)get(r, 72, 4), (unsigned)get(r, 6, 2),
             (unsigned)get(r, 76, 4), (unsigned)get(r, 80, 4), (unsigned)get(r, 84, 4), cluster);
    ck_assert_str_eq(name_of(column(record, "geometry")), wanted);
}
END_TEST

START_TEST(copies_of_every_version)
{
    uint64_t count;

    tp_cuda.api = versions[_i];
    uint8_t *r = add(TP_CUPTI_KIND_MEMCPY, 3);
    ck_assert(tp_cuda_convert(&walk, 0));
    const uint64_t *record = written(&count);
    ck_assert_uint_eq(count, 3);
    SAME("copy_kind", r[4]);
    SAME("source_kind", r[5]);
    SAME("target_kind", r[6]);
    SAME("flags", r[7] & 1u);
    SAME("bytes", get(r, 8, 8));
    SAME("start", get(r, 16, 8));
    SAME("end", get(r, 24, 8));
    SAME("device", get(r, 32, 2));
    SAME("context", get(r, 36, 4));
    SAME("stream", get(r, 40, 4));
    SAME("correlation", get(r, 44, 4));
    SAME("graph_node", get(r, 64, 8));
    SAME("graph", tp_cuda.api >= 14 ? get(r, 72, 4) : 0);
    SAME("count", tp_cuda.api >= 26 ? UINT32_MAX : 0); /* more than 32 bits hold */
    SAME("source_device", 0);
}
END_TEST

START_TEST(peer_copies_and_memsets_of_every_version)
{
    uint64_t count;

    tp_cuda.api = versions[_i];
    uint8_t *peer = add(TP_CUPTI_KIND_MEMCPY2, 11), *set = add(TP_CUPTI_KIND_MEMSET, 5);
    ck_assert(tp_cuda_convert(&walk, 0));
    const uint64_t *record = written(&count);
    ck_assert_uint_eq(count, 6);
    SAME("copy_kind", peer[4]);
    SAME("bytes", get(peer, 8, 8));
    SAME("source_device", get(peer, 44, 2) + 1);
    SAME("target_device", get(peer, 52, 2) + 1);
    SAME("correlation", get(peer, 60, 4));
    SAME("graph_node", get(peer, 72, 8));
    SAME("graph", tp_cuda.api >= 14 ? get(peer, 80, 4) : 0);
    record += 3 * TP_SLOT_WORDS;
    ck_assert_uint_eq(tp_slot_kind(record), TP_EVENT_GPU_MEMSET);
    SAME("value", get(set, 4, 4));
    SAME("bytes", get(set, 8, 8));
    SAME("end", get(set, 24, 8));
    SAME("correlation", get(set, 44, 4));
    SAME("memory_kind", set[50]);
    SAME("graph_node", get(set, 64, 8));
    SAME("graph", tp_cuda.api >= 14 ? get(set, 72, 4) : 0);
}
END_TEST

START_TEST(memory_of_every_version)
{
    uint64_t count;

    tp_cuda.api = versions[_i];
    uint8_t *r = add(TP_CUPTI_KIND_MEMORY2, 9);
    put(r, 64, (uintptr_t) "variable", 8);
    put(r, 80, 1, 4);
    if (tp_cuda.api >= 24)
        put(r, 120, (uintptr_t) "libc10_cuda.so", 8);
    uint8_t *pool = add(TP_CUPTI_KIND_POOL, 2);
    put(pool, 4, 3, 4);
    ck_assert(tp_cuda_convert(&walk, 0));
    const uint64_t *record = written(&count);
    ck_assert_uint_eq(count, 8);
    SAME("operation", r[4]);
    SAME("memory_kind", r[8]);
    SAME("flags", 1);
    SAME("address", get(r, 16, 8));
    SAME("bytes", get(r, 24, 8));
    SAME("time", get(r, 32, 8));
    SAME("correlation", get(r, 12, 4));
    SAME("device", get(r, 52, 2));
    SAME("context", get(r, 56, 4));
    SAME("stream", get(r, 60, 4) + 1);
    SAME("pool", get(r, 88, 8));
    SAME("pool_bytes", get(r, 104, 8));
    SAME("pool_used", tp_cuda.api >= 19 ? get(r, 112, 8) : 0);
    ck_assert_str_eq(name_of(column(record, "source")),
                     tp_cuda.api >= 24 ? "libc10_cuda.so" : "variable");
    record += 4 * TP_SLOT_WORDS;
    SAME("operation", 5);
    SAME("pool", get(pool, 32, 8));
    SAME("pool_bytes", get(pool, 40, 8));
    SAME("time", get(pool, 56, 8));
}
END_TEST

START_TEST(the_rest_of_every_version)
{
    uint64_t count;

    tp_cuda.api = versions[_i];
    uint8_t *sync = add(TP_CUPTI_KIND_SYNC, 1);
    put(sync, 32, UINT32_MAX, 4); /* no stream */
    uint8_t *graph = add(TP_CUPTI_KIND_GRAPH, 2), *overhead = add(TP_CUPTI_KIND_OVERHEAD, 4);
    put(overhead, 8, TP_CUPTI_OBJECT_THREAD, 4);
    uint8_t *external = add(TP_CUPTI_KIND_EXTERNAL, 6);
    ck_assert(tp_cuda_convert(&walk, 0));
    const uint64_t *record = written(&count);
    ck_assert_uint_eq(count, 2 + 3 + 2 + 2);
    SAME("type", sync[4]);
    SAME("start", get(sync, 8, 8));
    SAME("correlation", get(sync, 24, 4));
    SAME("context", get(sync, 28, 4));
    SAME("stream", 0);
    SAME("event", get(sync, 36, 4) + 1);
    record += 2 * TP_SLOT_WORDS;
    SAME("correlation", get(graph, 4, 4));
    SAME("end", get(graph, 16, 8));
    SAME("device", get(graph, 24, 2));
    SAME("graph", get(graph, 28, 4));
    SAME("stream", get(graph, 36, 4));
    record += 3 * TP_SLOT_WORDS;
    SAME("type", get(overhead, 4, 4));
    SAME("thread", get(overhead, 16, 4));
    SAME("start", get(overhead, 24, 8));
    SAME("correlation", tp_cuda.api >= 20 ? get(overhead, 40, 4) : 0);
    record += 2 * TP_SLOT_WORDS;
    SAME("correlation", get(external, 16, 4));
    SAME("id", get(external, 8, 8));
    SAME("type", external[4]);
}
END_TEST

static uint8_t *add_api(uint32_t kind, uint32_t cbid, uint32_t correlation, uint32_t thread)
{
    uint8_t *r = add(kind, correlation);

    put(r, 4, cbid, 4);
    put(r, 28, thread, 4);
    put(r, 32, correlation, 4);
    return r;
}

START_TEST(a_driver_call_inside_a_runtime_call_is_left_out)
{
    uint64_t count;

    add_api(TP_CUPTI_KIND_DRIVER, 307, 1, 100);
    uint8_t *r = add_api(TP_CUPTI_KIND_RUNTIME, 211, 1, 100);
    put(r, 36, 700, 4);
    add_api(TP_CUPTI_KIND_DRIVER, 307, 2, 100); /* on its own */
    add_api(TP_CUPTI_KIND_DRIVER, 307, 3, 100); /* another thread's id is no match */
    add_api(TP_CUPTI_KIND_RUNTIME, 211, 3, 101);
    add_api(TP_CUPTI_KIND_DRIVER, 307, 4, 100); /* two ids: both stay */
    add_api(TP_CUPTI_KIND_RUNTIME, 211, 5, 100);
    add_api(TP_CUPTI_KIND_DRIVER, 307, 6, 100); /* the last one */
    ck_assert(tp_cuda_convert(&walk, 0));
    const uint64_t *record = written(&count);
    static const uint32_t wanted[][2] = {{1, 2}, {2, 1}, {3, 1}, {3, 2}, {4, 1}, {5, 2}, {6, 1}};
    ck_assert_uint_eq(count, 2 * sizeof(wanted) / sizeof(wanted[0]));
    SAME("result", 700);
    SAME("thread", 100);
    ck_assert_str_eq(name_of(column(record, "name")), "cudaLaunchKernel");
    for (unsigned i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++, record += 2 * TP_SLOT_WORDS) {
        SAME("correlation", wanted[i][0]);
        SAME("domain", wanted[i][1]);
    }
}
END_TEST

START_TEST(calls_that_are_not_listed_are_left_out)
{
    uint64_t count;

    memset(tp_cuda_listed, 0, sizeof(tp_cuda_listed));
    tp_cuda_listed[TP_CUPTI_DOMAIN_RUNTIME][211 / 8] |= 1u << 211 % 8;
    add_api(TP_CUPTI_KIND_RUNTIME, 210, 1, 100);
    add_api(TP_CUPTI_KIND_RUNTIME, 211, 2, 100);
    add_api(TP_CUPTI_KIND_DRIVER, 211, 3, 100);
    ck_assert(tp_cuda_convert(&walk, 0));
    const uint64_t *record = written(&count);
    ck_assert_uint_eq(count, 2);
    SAME("correlation", 2);
}
END_TEST

START_TEST(what_has_no_time_is_kept_and_counted)
{
    uint64_t count;

    for (unsigned i = 0; i < 4; i++) {
        uint8_t *r = add(TP_CUPTI_KIND_KERNEL, i);
        put(r, 104, 0, 8);
        put(r, 16, i < 2 ? 0 : 50, 8);
        put(r, 24, i == 0 ? 0 : i == 1 ? 9 : i == 2 ? 40 : 60, 8);
    }
    ck_assert(tp_cuda_convert(&walk, 0));
    ck_assert_uint_eq(tp_cuda.lost.no_time, 2);
    ck_assert_uint_eq(tp_cuda.until, 60);
    free(written(&count));
    ck_assert_uint_eq(count, 12);
}
END_TEST

START_TEST(what_is_no_record_is_counted)
{
    uint64_t count;

    add(TP_CUPTI_KIND_EXTERNAL, 1);
    add(25, 1); /* a kind that nobody enabled */
    add(25, 1);
    memset(add(TP_CUPTI_KIND_EXTERNAL, 1), 0, 4);
    add(TP_CUPTI_KIND_EXTERNAL, 1);
    ck_assert(tp_cuda_convert(&walk, 0));
    ck_assert_uint_eq(tp_cuda.lost.unknown[25], 2);
    ck_assert_uint_eq(tp_cuda.lost.invalid, 1);
    free(written(&count));
    ck_assert_uint_eq(count, 2);
}
END_TEST

/* Kernels until the ring is full; the rest later, when their names are gone. */
START_TEST(what_finds_no_room_is_written_later_with_its_names)
{
    char name[] = "_Z5firstv", other[] = "_Z6secondv";
    uint64_t count, kernels = 4000;

    atomic_store(&tp_agent.live->drain_lock, 1); /* nobody drains */
    for (uint64_t i = 0; i < kernels; i++) {
        uint8_t *r = add(TP_CUPTI_KIND_KERNEL, 1);
        put(r, 52, 80, 4);
        put(r, 92, i, 4);
        put(r, 104, (uintptr_t)(i % 2 ? other : name), 8);
    }
    ck_assert(!tp_cuda_convert(&walk, 0));
    ck_assert_ptr_nonnull(walk.record);
    tp_cuda_keep_names(&walk);
    strcpy(name, "gone");
    strcpy(other, "gone");
    ck_assert(!tp_cuda_convert(&walk, 1000000));
    atomic_store(&tp_agent.live->drain_lock, 0);
    ck_assert(tp_cuda_convert(&walk, 5000000000));
    uint64_t *slots = written(&count);
    ck_assert_uint_eq(count, 3 * kernels);
    uint64_t ids[2] = {column(slots, "name"), column(slots + 12, "name")};
    ck_assert_str_eq(name_of(ids[0]), "_Z5firstv");
    ck_assert_str_eq(name_of(ids[1]), "_Z6secondv");
    for (uint64_t i = 0; i < kernels; i++) {
        const uint64_t *record = slots + 12 * i;
        SAME("correlation", i);
        SAME("name", ids[i % 2]);
    }
    ck_assert_uint_eq(tp_cuda.lost.no_room, 0);
    free(slots);
}
END_TEST

START_TEST(the_rest_of_a_buffer_is_counted)
{
    for (unsigned i = 0; i < 10; i++)
        add(TP_CUPTI_KIND_EXTERNAL, i);
    walk.record = buffer + 24;
    tp_cuda_count_rest(&walk);
    ck_assert_uint_eq(tp_cuda.lost.no_room, 8);
}
END_TEST

START_TEST(a_name_at_the_same_address_is_another_name)
{
    char name[] = "_Z5firstv";
    uint64_t count;

    put(add(TP_CUPTI_KIND_KERNEL, 1), 104, (uintptr_t)name, 8);
    ck_assert(tp_cuda_convert(&walk, 0));
    strcpy(name, "_Z4nextv");
    used = 0;
    walk = (struct tp_cuda_walk){.buffer = buffer};
    put(add(TP_CUPTI_KIND_KERNEL, 1), 104, (uintptr_t)name, 8);
    ck_assert(tp_cuda_convert(&walk, 0));
    uint64_t *slots = written(&count);
    ck_assert_uint_eq(count, 6);
    ck_assert_str_eq(name_of(column(slots, "name")), "_Z5firstv");
    ck_assert_str_eq(name_of(column(slots + 12, "name")), "_Z4nextv");
    free(slots);
}
END_TEST

START_TEST(the_window_is_one_of_correlation_ids)
{
    uint64_t count;

    tp_capture_close();
    tp_cuda_window(tp_capture_turn(), 3); /* 3 and on: closed */
    tp_capture_open();
    tp_cuda_window(tp_capture_turn(), 5);
    tp_capture_close();
    tp_cuda_window(tp_capture_turn(), 8);
    tp_capture_open();
    for (uint32_t i = 1; i < 10; i++)
        put(add(TP_CUPTI_KIND_EXTERNAL, 1), 16, i, 4);
    ck_assert(tp_cuda_convert(&walk, 0));
    uint64_t *slots = written(&count);
    static const uint32_t wanted[] = {1, 2, 5, 6, 7};
    ck_assert_uint_eq(count, 2 * sizeof(wanted) / sizeof(wanted[0]));
    for (unsigned i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++)
        ck_assert_uint_eq(column(slots + 8 * i, "correlation"), wanted[i]);
    free(slots);
}
END_TEST

START_TEST(devices_contexts_streams_and_names_are_lines)
{
    uint8_t *device = add(TP_CUPTI_KIND_DEVICE, 0), *context = add(TP_CUPTI_KIND_CONTEXT, 0),
            *stream = add(TP_CUPTI_KIND_STREAM, 0), *name = add(TP_CUPTI_KIND_NAME, 0);

    put(device, 16, 1 << 30, 8);
    put(device, 44, 108, 4);
    put(device, 104, 8, 4);
    put(device, 108, 6, 4);
    put(device, 112, 1, 4);
    for (unsigned i = 0; i < 16; i++)
        device[120 + i] = (uint8_t)(i * 17);
    put(device, 136, (uintptr_t) "A \"GPU\"", 8);
    put(context, 4, 2, 4);
    put(context, 8, 1, 4);
    put(context, 14, 7, 2);
    put(stream, 4, 2, 4);
    put(stream, 8, 13, 4);
    put(stream, 12, UINT32_MAX, 4);
    put(stream, 16, 1, 4);
    put(name, 4, TP_CUPTI_OBJECT_STREAM, 4);
    put(name, 8, 1, 4);
    put(name, 12, 2, 4);
    put(name, 16, 13, 4);
    put(name, 24, (uintptr_t) "copies", 8);
    ck_assert(tp_cuda_convert(&walk, 0));
    ck_assert_str_eq(
        lines, "{\"t\":\"cuda_device\",\"device\":1,\"name\":\"A \\\"GPU\\\"\",\"uuid\":"
               "\"00112233445566778899aabbccddeeff\",\"memory\":1073741824,\"sms\":108,"
               "\"capability\":[8,6]}\n"
               "{\"t\":\"cuda_context\",\"context\":2,\"device\":1,\"null_stream\":7}\n"
               "{\"t\":\"cuda_stream\",\"context\":2,\"stream\":13,\"priority\":-1,\"flags\":1}\n"
               "{\"t\":\"cuda_name\",\"object\":\"stream\",\"context\":2,\"id\":13,\"name\":"
               "\"copies\"}\n");
}
END_TEST

START_TEST(names_of_functions_lose_version_and_variant)
{
    static const char *const names[][2] = {
        {"cudaLaunchKernel_v7000", "cudaLaunchKernel"},
        {"cudaLaunchKernel_ptsz_v7000", "cudaLaunchKernel"},
        {"cudaMemcpy_ptds_v7000", "cudaMemcpy"},
        {"cudaLaunchKernelExC_v11060", "cudaLaunchKernelExC"},
        {"cuMemAlloc_v2", "cuMemAlloc_v2"},
        {"cuMemcpyHtoDAsync_v2_ptsz", "cuMemcpyHtoDAsync_v2"},
        {"cuLaunchKernel_ptsz", "cuLaunchKernel"},
        {"x", "x"},
    };
    char plain[64];

    for (unsigned i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        ck_assert_uint_eq(tp_cuda_api_plain_name(names[i][0], plain, sizeof(plain)),
                          strlen(names[i][1]));
        ck_assert_str_eq(plain, names[i][1]);
    }
}
END_TEST

int main(void)
{
    TCase *tests = tcase_create("cuda_convert");

    tcase_add_checked_fixture(tests, begin, end);
    tcase_add_loop_test(tests, kernels_of_every_version, 0, VERSIONS);
    tcase_add_loop_test(tests, copies_of_every_version, 0, VERSIONS);
    tcase_add_loop_test(tests, peer_copies_and_memsets_of_every_version, 0, VERSIONS);
    tcase_add_loop_test(tests, memory_of_every_version, 2, VERSIONS);
    tcase_add_loop_test(tests, the_rest_of_every_version, 3, VERSIONS);
    tcase_add_test(tests, a_driver_call_inside_a_runtime_call_is_left_out);
    tcase_add_test(tests, calls_that_are_not_listed_are_left_out);
    tcase_add_test(tests, what_has_no_time_is_kept_and_counted);
    tcase_add_test(tests, what_is_no_record_is_counted);
    tcase_add_test(tests, what_finds_no_room_is_written_later_with_its_names);
    tcase_add_test(tests, the_rest_of_a_buffer_is_counted);
    tcase_add_test(tests, a_name_at_the_same_address_is_another_name);
    tcase_add_test(tests, the_window_is_one_of_correlation_ids);
    tcase_add_test(tests, devices_contexts_streams_and_names_are_lines);
    tcase_add_test(tests, names_of_functions_lose_version_and_variant);
    return host_run(tests, "cuda_convert");
}
