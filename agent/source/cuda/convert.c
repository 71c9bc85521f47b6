/* SPDX-License-Identifier: MIT */
/*
 * CUPTI's activity records -> records in the ring of the converting thread. Times are copied as
 * they are: the reader knows their clock. What is only text (devices, contexts, streams) becomes a
 * line.
 */
#include "source/cuda/cuda.h"

#include "agent.h"
#include "base/os.h"
#include "base/text.h"
#include "capture.h"
#include "intern.h"
#include "record.h"
#include "source/cuda/memory.h"

#define NAMES 128u
#define TURNS 256u

uint8_t tp_cuda_listed[3][TP_CUDA_CBIDS / 8], tp_cuda_launching[3][TP_CUDA_CBIDS / 8];
_Atomic uint32_t tp_cuda_window_turn;

/* --- the capture window, in correlation ids: calls get them in the order in which they begin */

static struct {
    _Atomic uint64_t turns[TURNS]; /* number of the turn << 32 | first correlation id after it */
    _Atomic uint32_t count;
} window;

void tp_cuda_window(uint32_t turn, uint32_t correlation)
{
    uint32_t last = atomic_load(&tp_cuda_window_turn);

    do {
        if ((int32_t)(turn - last) <= 0)
            return;
    } while (!atomic_compare_exchange_weak(&tp_cuda_window_turn, &last, turn));
    uint32_t index = atomic_fetch_add(&window.count, 1);
    atomic_store_explicit(&window.turns[index % TURNS], (uint64_t)turn << 32 | correlation,
                          memory_order_release);
}

static bool was_open(uint32_t correlation)
{
    uint32_t count = atomic_load_explicit(&window.count, memory_order_acquire);
    uint32_t oldest = count > TURNS ? count - TURNS : 0;

    if (!correlation || !count)
        return tp_capture_is_open();
    for (uint32_t i = count; i > oldest; i--) {
        uint64_t turn = atomic_load_explicit(&window.turns[(i - 1) % TURNS], memory_order_relaxed);
        if (correlation >= (uint32_t)turn)
            return !(turn >> 32 & 1);
    }
    uint64_t first = atomic_load_explicit(&window.turns[oldest % TURNS], memory_order_relaxed);
    return first >> 32 & 1; /* before it the window was the other way round */
}

static inline bool is_wanted(uint32_t correlation)
{
    return tp_likely(!tp_capture_turn()) || was_open(correlation);
}

/* --- one buffer */

struct name_line {
    uint64_t address;
    uint32_t id;
};

struct conversion {
    struct tp_cuda_walk *walk;
    uint32_t api;
    uint32_t newest[TP_CUPTI_DOMAIN_RUNTIME + 1], newest_launch, newest_launched; /* as there */
    uint64_t ticks, wait_ns, until;
    struct name_line names[NAMES]; /* CUPTI shares one text among a kernel's records */
};

static inline uint32_t kernel_name(struct conversion *c, uint64_t name)
{
    struct name_line *line = &c->names[(name >> 3 ^ name >> 11) % NAMES];

    if (c->walk->names_are_ids)
        return (uint32_t)name;
    if (tp_unlikely(line->address != name)) {
        if (!name)
            return TP_NAME_NONE;
        /* not through the thread's cache: names are long, and these lines do as well */
        const char *text = (const char *)(uintptr_t)name;
        line->id = tp_intern(TP_NAME_SYMBOL, text, strlen(text));
        line->address = name;
    }
    return line->id;
}

static uint32_t text_name(const struct conversion *c, uint64_t name)
{
    if (c->walk->names_are_ids || !name)
        return (uint32_t)name;
    return tp_intern_text(TP_NAME_TEXT, (const char *)(uintptr_t)name);
}

static inline void count(_Atomic uint64_t *counter)
{
    atomic_fetch_add_explicit(counter, 1, memory_order_relaxed);
}

static inline void note_time(struct conversion *c, uint64_t start, uint64_t end)
{
    if (tp_unlikely(end < start || !end))
        count(&tp_cuda.lost.no_time);
    else if (end > c->until)
        c->until = end;
}

#define F(RECORD, field) tp_cupti_##RECORD##_##field(record, c->api)

static inline void note_newer(uint32_t *newest, uint32_t correlation)
{
    if ((int32_t)(correlation - *newest) > 0)
        *newest = correlation;
}

static inline bool put(const struct conversion *c, unsigned kind, unsigned slots, uint32_t argument,
                       const uint64_t words[4], const uint64_t *more)
{
    const struct tp_record record = {
        .kind = (uint8_t)kind,
        .role = TP_ROLE_POINT,
        .slots = (uint8_t)slots,
        .argument = argument,
        .words = {words[0], words[1], words[2], words[3]},
        .more = more,
    };

    return tp_record_write_at(&record, c->ticks);
}

static uint32_t kernel_geometry(const struct conversion *c, const void *record)
{
    const struct tp_cuda_geometry geometry = {
        .grid = {F(KERNEL, grid_x), F(KERNEL, grid_y), F(KERNEL, grid_z)},
        .block = {F(KERNEL, block_x), F(KERNEL, block_y), F(KERNEL, block_z)},
        .static_shared = F(KERNEL, static_shared),
        .dynamic_shared = F(KERNEL, dynamic_shared),
        .local_per_thread = F(KERNEL, local_per_thread),
        .cluster = {F(KERNEL, cluster_x), F(KERNEL, cluster_y), F(KERNEL, cluster_z)},
        .registers = F(KERNEL, registers),
    };

    return tp_cuda_geometry_id(&geometry);
}

static void convert_kernel(struct conversion *c, const void *record)
{
    uint64_t start = F(KERNEL, start), end = F(KERNEL, end);
    uint32_t correlation = F(KERNEL, correlation);

    note_newer(&c->newest_launched, correlation);
    if (!is_wanted(correlation))
        return;
    uint32_t name = kernel_name(c, F(KERNEL, name));
    note_time(c, start, end);
    const uint64_t words[4] = {start, end, (uint64_t)kernel_geometry(c, record) << 32 | correlation,
                               (uint64_t)F(KERNEL, context) << 32 | F(KERNEL, stream)};
    const uint64_t more[4] = {F(KERNEL, graph_node),
                              (uint64_t)F(KERNEL, device_launched) << 56 |
                                  (uint64_t)F(KERNEL, launch_type) << 48 |
                                  (uint64_t)(F(KERNEL, device) & 0xffff) << 32 | F(KERNEL, graph)};
    put(c, TP_EVENT_GPU_KERNEL, 3, name, words, more);
}

static void put_copy(struct conversion *c, const uint8_t *kinds, uint64_t start, uint64_t end,
                     uint32_t correlation, uint64_t copies, uint64_t place, const uint64_t more[4])
{
    const uint64_t words[4] = {start, end, copies << 32 | correlation, place};

    if (!is_wanted(correlation))
        return;
    note_time(c, start, end);
    uint32_t argument = kinds[0] | (uint32_t)kinds[1] << 8 | (uint32_t)kinds[2] << 16 |
                        (uint32_t)(kinds[3] & 1) << 24;
    put(c, TP_EVENT_GPU_MEMCPY, 3, argument, words, more);
}

static void convert_memcpy(struct conversion *c, const void *record)
{
    const uint8_t kinds[4] = {F(MEMCPY, copy_kind), F(MEMCPY, source_kind), F(MEMCPY, target_kind),
                              F(MEMCPY, flags)};
    const uint64_t more[4] = {F(MEMCPY, graph_node),
                              (uint64_t)(F(MEMCPY, device) & 0xffff) << 32 | F(MEMCPY, graph),
                              F(MEMCPY, bytes), 0};
    uint64_t copies = F(MEMCPY, count);

    put_copy(c, kinds, F(MEMCPY, start), F(MEMCPY, end), F(MEMCPY, correlation),
             copies > UINT32_MAX ? UINT32_MAX : copies,
             (uint64_t)F(MEMCPY, context) << 32 | F(MEMCPY, stream), more);
}

static void convert_peer_copy(struct conversion *c, const void *record)
{
    const uint8_t kinds[4] = {F(MEMCPY2, copy_kind), F(MEMCPY2, source_kind),
                              F(MEMCPY2, target_kind), F(MEMCPY2, flags)};
    const uint64_t more[4] = {F(MEMCPY2, graph_node),
                              (uint64_t)(F(MEMCPY2, device) & 0xffff) << 32 | F(MEMCPY2, graph),
                              F(MEMCPY2, bytes),
                              ((F(MEMCPY2, source_device) + 1) & 0xffff) |
                                  (uint64_t)((F(MEMCPY2, target_device) + 1) & 0xffff) << 16};

    put_copy(c, kinds, F(MEMCPY2, start), F(MEMCPY2, end), F(MEMCPY2, correlation), 0,
             (uint64_t)F(MEMCPY2, context) << 32 | F(MEMCPY2, stream), more);
}

static void convert_memset(struct conversion *c, const void *record)
{
    uint64_t start = F(MEMSET, start), end = F(MEMSET, end);
    uint32_t correlation = F(MEMSET, correlation);

    if (!is_wanted(correlation))
        return;
    note_time(c, start, end);
    const uint64_t words[4] = {start, end,
                               (uint64_t)(F(MEMSET, memory_kind) & 0xff) << 32 | correlation,
                               (uint64_t)F(MEMSET, context) << 32 | F(MEMSET, stream)};
    const uint64_t more[4] = {F(MEMSET, graph_node),
                              (uint64_t)(F(MEMSET, device) & 0xffff) << 32 | F(MEMSET, graph),
                              F(MEMSET, bytes), 0};
    put(c, TP_EVENT_GPU_MEMSET, 3, F(MEMSET, value), words, more);
}

static void put_api(struct conversion *c, const void *record)
{
    unsigned domain = *(const uint32_t *)record == TP_CUPTI_KIND_DRIVER ? TP_CUPTI_DOMAIN_DRIVER
                                                                        : TP_CUPTI_DOMAIN_RUNTIME;
    const uint64_t words[4] = {F(API, start), F(API, end),
                               (uint64_t)F(API, thread) << 32 | F(API, correlation),
                               (uint64_t)domain << 32 | F(API, result)};

    put(c, TP_EVENT_CUDA_API, 2, tp_cuda_api_id(domain, F(API, cbid)), words, NULL);
}

static void put_held(struct conversion *c)
{
    if (c->walk->has_held)
        put_api(c, c->walk->held);
    c->walk->has_held = false;
}

/*
 * A driver call that a runtime call made comes just before it: with the same id on the same thread
 * it says nothing more, and the runtime's record stands for both.
 */
static void convert_api(struct conversion *c, const void *record)
{
    uint32_t kind = *(const uint32_t *)record, cbid = F(API, cbid);
    unsigned domain =
        kind == TP_CUPTI_KIND_DRIVER ? TP_CUPTI_DOMAIN_DRIVER : TP_CUPTI_DOMAIN_RUNTIME;
    const void *held = c->walk->held;

    if (cbid < TP_CUDA_CBIDS && !(tp_cuda_listed[domain][cbid / 8] >> cbid % 8 & 1))
        return;
    note_newer(&c->newest[domain], F(API, correlation));
    if (cbid < TP_CUDA_CBIDS && tp_cuda_launching[domain][cbid / 8] >> cbid % 8 & 1 &&
        !F(API, result))
        note_newer(&c->newest_launch, F(API, correlation));
    if (!is_wanted(F(API, correlation)))
        return;
    if (domain == TP_CUPTI_DOMAIN_DRIVER) {
        put_held(c);
        memcpy(c->walk->held, record, sizeof(c->walk->held));
        c->walk->has_held = true;
        return;
    }
    if (c->walk->has_held && tp_cupti_API_correlation(held, c->api) == F(API, correlation) &&
        tp_cupti_API_thread(held, c->api) == F(API, thread))
        c->walk->has_held = false;
    put_held(c);
    put_api(c, record);
}

static void convert_sync(struct conversion *c, const void *record)
{
    uint32_t correlation = F(SYNC, correlation);
    const uint64_t words[4] = {F(SYNC, start), F(SYNC, end),
                               (uint64_t)(F(SYNC, event) + 1) << 32 | correlation,
                               (uint64_t)F(SYNC, context) << 32 | (F(SYNC, stream) + 1)};

    if (is_wanted(correlation))
        put(c, TP_EVENT_CUDA_SYNC, 2, F(SYNC, type) & 0xff, words, NULL);
}

static void convert_graph(struct conversion *c, const void *record)
{
    uint64_t start = F(GRAPH, start), end = F(GRAPH, end);
    uint32_t correlation = F(GRAPH, correlation);
    const uint64_t words[4] = {start, end, correlation,
                               (uint64_t)F(GRAPH, context) << 32 | F(GRAPH, stream)};
    const uint64_t more[4] = {0, (uint64_t)(F(GRAPH, device) & 0xffff) << 32};

    if (!is_wanted(correlation))
        return;
    note_time(c, start, end);
    put(c, TP_EVENT_GPU_GRAPH, 3, F(GRAPH, graph), words, more);
}

static void convert_memory(struct conversion *c, const void *record)
{
    uint32_t correlation = F(MEMORY, correlation);

    if (!is_wanted(correlation) || tp_cuda_memory_told(correlation))
        return;
    uint32_t argument = (F(MEMORY, operation) & 0xff) | (F(MEMORY, memory_kind) & 0xff) << 8 |
                        (F(MEMORY, pool_type) & 0xff) << 16 |
                        (F(MEMORY, is_async) ? UINT32_C(1) << 24 : 0);
    uint64_t source = F(MEMORY, source) ? F(MEMORY, source) : F(MEMORY, name);
    const uint64_t words[4] = {F(MEMORY, time), F(MEMORY, address),
                               (uint64_t)(F(MEMORY, device) & 0xffff) << 32 | correlation,
                               (uint64_t)F(MEMORY, context) << 32 | (F(MEMORY, stream) + 1)};
    /* of an imported pool this word is the exporting process */
    uint64_t pool_bytes = F(MEMORY, pool_type) == 1 ? F(MEMORY, pool_bytes) : 0;
    const uint64_t more[8] = {F(MEMORY, bytes),
                              F(MEMORY, pool),
                              pool_bytes,
                              F(MEMORY, pool_used),
                              text_name(c, source),
                              0,
                              0,
                              0};

    put(c, TP_EVENT_CUDA_MEMORY, 4, argument, words, more);
}

/* Operations of a pool: 1 made, 2 destroyed, 3 trimmed. */
static void convert_pool(struct conversion *c, const void *record)
{
    uint32_t correlation = F(POOL, correlation);
    uint32_t argument =
        (F(POOL, operation) + 2) % 0xff | 3u << 8 | (F(POOL, pool_type) & 0xff) << 16;
    const uint64_t words[4] = {F(POOL, time), 0,
                               (uint64_t)(F(POOL, device) & 0xffff) << 32 | correlation, 0};
    const uint64_t more[8] = {0, F(POOL, pool), F(POOL, pool_bytes), F(POOL, pool_used)};

    if (is_wanted(correlation))
        put(c, TP_EVENT_CUDA_MEMORY, 4, argument, words, more);
}

static void convert_overhead(struct conversion *c, const void *record)
{
    /* a thread's number is there only where the object is one; wrong ones before 12.4 */
    uint32_t thread = F(OVERHEAD, object_kind) == TP_CUPTI_OBJECT_THREAD ? F(OVERHEAD, thread) : 0;
    uint32_t correlation = F(OVERHEAD, correlation);
    const uint64_t words[4] = {F(OVERHEAD, start), F(OVERHEAD, end),
                               (uint64_t)thread << 32 | correlation, 0};

    if (is_wanted(correlation))
        put(c, TP_EVENT_CUDA_OVERHEAD, 2, F(OVERHEAD, type), words, NULL);
}

static void convert_external(struct conversion *c, const void *record)
{
    const uint64_t words[4] = {F(EXTERNAL, id), F(EXTERNAL, type) & 0xff, 0, 0};

    if (is_wanted(F(EXTERNAL, correlation)))
        put(c, TP_EVENT_CUDA_EXTERNAL, 2, F(EXTERNAL, correlation), words, NULL);
}

/* --- lines */

static void put_text(struct tp_text *text, const char *key, const char *value)
{
    tp_text_format(text, ",\"%s\":", key);
    tp_text_json(text, value, strnlen(value, 255));
}

static void tell_device(const struct conversion *c, const void *record)
{
    char buffer[1024];
    struct tp_text text;
    const char *name = (const char *)(uintptr_t)F(DEVICE, name);
    uint64_t uuid[2] = {F(DEVICE, uuid_0), F(DEVICE, uuid_1)};

    if (c->walk->names_are_ids)
        return;
    tp_text_init(&text, buffer, sizeof(buffer));
    tp_text_format(&text, "{\"t\":\"cuda_device\",\"device\":%u", F(DEVICE, device));
    if (name)
        put_text(&text, "name", name);
    tp_text_string(&text, ",\"uuid\":\"");
    for (unsigned i = 0; i < sizeof(uuid); i++)
        tp_text_hex(&text, ((const uint8_t *)uuid)[i], 2);
    tp_text_format(&text, "\",\"memory\":%llu,\"sms\":%u,\"capability\":[%u,%u]}",
                   (unsigned long long)F(DEVICE, memory), F(DEVICE, sms),
                   F(DEVICE, capability_major), F(DEVICE, capability_minor));
    tp_cuda_line(&text);
}

static void tell_context(const struct conversion *c, const void *record)
{
    char buffer[256];
    struct tp_text text;

    tp_text_init(&text, buffer, sizeof(buffer));
    tp_text_format(&text,
                   "{\"t\":\"cuda_context\",\"context\":%u,\"device\":%u,\"null_stream\":%u}",
                   F(CONTEXT, context), F(CONTEXT, device), F(CONTEXT, null_stream));
    tp_cuda_line(&text);
}

static void tell_stream(const struct conversion *c, const void *record)
{
    char buffer[256];
    struct tp_text text;

    tp_text_init(&text, buffer, sizeof(buffer));
    tp_text_format(
        &text, "{\"t\":\"cuda_stream\",\"context\":%u,\"stream\":%u,\"priority\":%i,\"flags\":%u}",
        F(STREAM, context), F(STREAM, stream), (int)F(STREAM, priority), F(STREAM, flags));
    tp_cuda_line(&text);
}

static void tell_name(const struct conversion *c, const void *record)
{
    static const char *const objects[] = {"device", "context", "stream"};
    const char *name = (const char *)(uintptr_t)F(NAME, name);
    uint32_t object = F(NAME, object_kind);
    char buffer[2048];
    struct tp_text text;

    if (object < TP_CUPTI_OBJECT_DEVICE || object > TP_CUPTI_OBJECT_STREAM || !name ||
        c->walk->names_are_ids)
        return;
    uint32_t id = object == TP_CUPTI_OBJECT_DEVICE    ? F(NAME, device)
                  : object == TP_CUPTI_OBJECT_CONTEXT ? F(NAME, context)
                                                      : F(NAME, stream);
    tp_text_init(&text, buffer, sizeof(buffer));
    tp_text_format(&text, "{\"t\":\"cuda_name\",\"object\":\"%s\",\"context\":%u,\"id\":%u",
                   objects[object - TP_CUPTI_OBJECT_DEVICE], F(NAME, context), id);
    put_text(&text, "name", name);
    tp_text_char(&text, '}');
    tp_cuda_line(&text);
}

/* --- all kinds */

static void convert_record(struct conversion *c, const void *record)
{
    uint32_t kind = *(const uint32_t *)record;

    switch (kind) {
    case TP_CUPTI_KIND_KERNEL:
        convert_kernel(c, record);
        break;
    case TP_CUPTI_KIND_RUNTIME:
    case TP_CUPTI_KIND_DRIVER:
        convert_api(c, record);
        break;
    case TP_CUPTI_KIND_MEMCPY:
        convert_memcpy(c, record);
        break;
    case TP_CUPTI_KIND_MEMCPY2:
        convert_peer_copy(c, record);
        break;
    case TP_CUPTI_KIND_MEMSET:
        convert_memset(c, record);
        break;
    case TP_CUPTI_KIND_SYNC:
        convert_sync(c, record);
        break;
    case TP_CUPTI_KIND_GRAPH:
        convert_graph(c, record);
        break;
    case TP_CUPTI_KIND_MEMORY2:
        convert_memory(c, record);
        break;
    case TP_CUPTI_KIND_POOL:
        convert_pool(c, record);
        break;
    case TP_CUPTI_KIND_OVERHEAD:
        convert_overhead(c, record);
        break;
    case TP_CUPTI_KIND_EXTERNAL:
        convert_external(c, record);
        break;
    case TP_CUPTI_KIND_DEVICE:
        tell_device(c, record);
        break;
    case TP_CUPTI_KIND_CONTEXT:
        tell_context(c, record);
        break;
    case TP_CUPTI_KIND_STREAM:
        tell_stream(c, record);
        break;
    case TP_CUPTI_KIND_NAME:
        tell_name(c, record);
        break;
    default:
        count(&tp_cuda.lost.unknown[kind < TP_CUPTI_KIND_END ? kind : TP_CUPTI_KIND_END - 1]);
        break;
    }
}

/* The record behind @record. Return: NULL at the end, which may lie where the buffer makes no
 * sense. */
static void *next_record(const struct tp_cuda_walk *walk, void *record)
{
    int result = tp_cuda.cupti.ActivityGetNextRecord(walk->buffer, walk->used, &record);

    if (result == TP_CUPTI_SUCCESS)
        return record;
    if (result != TP_CUPTI_MAX_LIMIT_REACHED)
        count(&tp_cuda.lost.invalid);
    return NULL;
}

static bool has_room(struct conversion *c)
{
    struct tp_thread *t;

    /* one call may bring two records: of a held driver call and its own */
    if (tp_likely(tp_fast(&t, 2 + TP_RECORD_SLOTS_MAX)))
        return true;
    uint64_t before_ns = tp_os_monotonic_ns();
    bool result = tp_record_room(2 + TP_RECORD_SLOTS_MAX, c->wait_ns);
    uint64_t waited_ns = tp_os_monotonic_ns() - before_ns;
    c->wait_ns -= waited_ns < c->wait_ns ? waited_ns : c->wait_ns;
    c->ticks = tp_ticks();
    return result;
}

void tp_cuda_newer(_Atomic uint32_t *newest, uint32_t correlation)
{
    uint32_t before = atomic_load_explicit(newest, memory_order_relaxed);

    while ((int32_t)(correlation - before) > 0 &&
           !atomic_compare_exchange_weak(newest, &before, correlation))
        ;
}

bool tp_cuda_convert(struct tp_cuda_walk *walk, uint64_t wait_ns)
{
    struct conversion c = {.walk = walk, .api = tp_cuda.api, .wait_ns = wait_ns};
    bool room = true;
    void *record;

    c.until = atomic_load_explicit(&tp_cuda.until, memory_order_relaxed);
    for (unsigned i = 0; i <= TP_CUPTI_DOMAIN_RUNTIME; i++)
        c.newest[i] = atomic_load_explicit(&tp_cuda.newest[i], memory_order_relaxed);
    c.newest_launch = atomic_load_explicit(&tp_cuda.newest_launch, memory_order_relaxed);
    c.newest_launched = atomic_load_explicit(&tp_cuda.newest_launched, memory_order_relaxed);
    c.ticks = tp_ticks();
    tp_tls.any_window = 1; /* the window was asked by the call's number */
    while ((record = next_record(walk, walk->record)) && (room = has_room(&c))) {
        convert_record(&c, record);
        walk->record = record;
    }
    if (!record && walk->has_held && (room = has_room(&c)))
        put_held(&c);
    tp_tls.any_window = 0;
    uint64_t until = atomic_load_explicit(&tp_cuda.until, memory_order_relaxed);
    while (until < c.until && !atomic_compare_exchange_weak(&tp_cuda.until, &until, c.until))
        ;
    for (unsigned i = 0; i <= TP_CUPTI_DOMAIN_RUNTIME; i++)
        tp_cuda_newer(&tp_cuda.newest[i], c.newest[i]);
    tp_cuda_newer(&tp_cuda.newest_launch, c.newest_launch);
    tp_cuda_newer(&tp_cuda.newest_launched, c.newest_launched);
    return room;
}

static void replace(void *record, size_t offset, uint32_t id)
{
    uint64_t word = id;

    memcpy((char *)record + offset, &word, sizeof(word));
}

void tp_cuda_keep_names(struct tp_cuda_walk *walk)
{
    struct conversion kept = {.walk = walk, .api = tp_cuda.api}, *c = &kept;

    if (walk->names_are_ids)
        return;
    for (void *record = walk->record; (record = next_record(walk, record));) {
        switch (*(const uint32_t *)record) {
        case TP_CUPTI_KIND_KERNEL:
            replace(record, TP_CUPTI_AT_KERNEL_name, kernel_name(c, F(KERNEL, name)));
            break;
        case TP_CUPTI_KIND_MEMORY2:
            replace(record, TP_CUPTI_AT_MEMORY_name, text_name(c, F(MEMORY, name)));
            if (c->api >= TP_CUPTI_12_6)
                replace(record, TP_CUPTI_AT_MEMORY_source, text_name(c, F(MEMORY, source)));
            break;
        case TP_CUPTI_KIND_DEVICE: /* told now, and not again */
            tell_device(c, record);
            break;
        case TP_CUPTI_KIND_NAME:
            tell_name(c, record);
            break;
        default:
            break;
        }
    }
    walk->names_are_ids = true;
}

void tp_cuda_count_rest(struct tp_cuda_walk *walk)
{
    uint64_t rest = walk->has_held;

    for (void *record = walk->record; (record = next_record(walk, record));)
        rest++;
    atomic_fetch_add_explicit(&tp_cuda.lost.no_room, rest, memory_order_relaxed);
}
