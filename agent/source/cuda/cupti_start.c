/* SPDX-License-Identifier: MIT */
/*
 * CUPTI: subscription, kinds, callbacks. Inside a callback no CUDA and no CUPTI function is called
 * but those that only look something up, and no lock is taken: CUPTI holds its own.
 */
#include <dlfcn.h>

#include "agent.h"
#include "base/text.h"
#include "capture.h"
#include "clock.h"
#include "log.h"
#include "points.h"
#include "source/cuda/cuda.h"
#include "source/cuda/memory.h"

#define HOLDER_BYTES 256u

static void *subscriber;
static uint32_t create_id = TP_CUDA_CBIDS, release_id = TP_CUDA_CBIDS, import_id = TP_CUDA_CBIDS;
static uint8_t profiler_start[3][TP_CUDA_CBIDS / 8], profiler_stop[3][TP_CUDA_CBIDS / 8];

static inline bool has_bit(const uint8_t bits[3][TP_CUDA_CBIDS / 8], uint32_t domain, uint32_t id)
{
    return bits[domain][id / 8] >> id % 8 & 1;
}

/* --- callbacks */

static void window_of_profiler(uint32_t domain, uint32_t id, const struct tp_cupti_call *call)
{
    if (domain > TP_CUPTI_DOMAIN_RUNTIME || id >= TP_CUDA_CBIDS)
        return;
    if (call->site == TP_CUPTI_SITE_ENTER && has_bit(profiler_start, domain, id)) {
        tp_capture_open();
        tp_cuda_window(tp_capture_turn(), call->correlation);
    } else if (call->site != TP_CUPTI_SITE_ENTER && has_bit(profiler_stop, domain, id)) {
        tp_capture_close();
        tp_cuda_window(tp_capture_turn(), call->correlation + 1);
    }
}

/* Physical memory, which no activity record tells: from the call's parameters. */
static void on_virtual_memory(uint32_t id, const struct tp_cupti_call *call)
{
    const struct {
        uint64_t *handle;
        size_t bytes;
        const struct tp_cuda_allocation *where;
    } *created = call->parameters;
    const uint64_t *released = call->parameters;

    if (!call->parameters)
        return;
    if (call->site == TP_CUPTI_SITE_ENTER) {
        if (id == release_id)
            tp_cuda_memory(2, MEMORY_DEVICE, MEMORY_IS_PHYSICAL | MEMORY_SIZE_UNKNOWN, *released, 0,
                           0, call->correlation);
    } else if (call->result && !*(const int *)call->result) {
        if (id == create_id)
            tp_cuda_memory_created(*created->handle, created->bytes, created->where,
                                   call->correlation);
        else if (id == import_id)
            tp_cuda_memory(1, MEMORY_DEVICE, MEMORY_IS_PHYSICAL | MEMORY_IS_IMPORTED,
                           *created->handle, 0, 0, call->correlation);
    }
}

static inline bool is_virtual_memory(uint32_t domain, uint32_t id)
{
    return domain == TP_CUPTI_DOMAIN_DRIVER &&
           (id == create_id || id == release_id || id == import_id);
}

/*
 * A runtime call and the driver call in it have one id: told once, at the outer one. (Should they
 * have two, both are told: the kernel has either.)
 */
static inline void on_call(uint32_t domain, uint32_t id, const struct tp_cupti_call *call)
{
    if (tp_unlikely(tp_agent.config.capture.by == TP_CAPTURE_CUDA_PROFILER_API))
        window_of_profiler(domain, id, call);
    if (call->site != TP_CUPTI_SITE_ENTER || call->correlation == tp_tls.cuda_correlation) {
        if (tp_unlikely(is_virtual_memory(domain, id)))
            on_virtual_memory(id, call);
        return;
    }
    tp_tls.cuda_correlation = call->correlation;
    tp_tls.cuda_domain = (uint8_t)domain;
    if (tp_unlikely(call->correlation % 256 == 0))
        atomic_store_explicit(&tp_cuda_call_sample, call->correlation, memory_order_relaxed);
    if (tp_unlikely(tp_capture_turn() !=
                    atomic_load_explicit(&tp_cuda_window_turn, memory_order_relaxed)))
        tp_cuda_window(tp_capture_turn(), call->correlation);
    tp_record_short(TP_EVENT_CUDA_CALL, call->correlation);
    if (tp_unlikely(is_virtual_memory(domain, id)))
        on_virtual_memory(id, call);
}

/* Which range was open where a node was captured: nodes have no call of their own later. */
static void on_graph_node(uint32_t id, const struct tp_cupti_resource_data *resource)
{
    const struct tp_cupti_graph_data *graph = resource->descriptor;
    uint64_t node = 0, original = 0;
    uint32_t number = 0;

    if (!graph || !tp_cuda.cupti.GetGraphNodeId || !graph->node ||
        tp_cuda.cupti.GetGraphNodeId(graph->node, &node) != TP_CUPTI_SUCCESS)
        return;
    if (id == TP_CUPTI_RESOURCE_GRAPH_NODE_CLONED && graph->original_node)
        tp_cuda.cupti.GetGraphNodeId(graph->original_node, &original);
    if (tp_cuda.cupti.GetGraphId && graph->graph)
        tp_cuda.cupti.GetGraphId(graph->graph, &number);
    tp_record_point(TP_EVENT_CUDA_NODE, number, node, original, 0);
    tp_cuda_newer(&tp_cuda.newest_launched, tp_tls.cuda_correlation);
}

static void on_state(uint32_t id)
{
    if (atomic_exchange(&tp_cuda.broken, 1))
        return;
    tp_cuda_say(id == TP_CUPTI_STATE_FATAL_ERROR
                    ? "CUPTI met a fatal error and gave up: device records end here"
                    : "CUPTI met an error: device records may be missing");
}

static void callback(void *data, uint32_t domain, uint32_t id, const void *call)
{
    (void)data;
    if (tp_likely(domain <= TP_CUPTI_DOMAIN_RUNTIME))
        on_call(domain, id, call);
    else if (domain == TP_CUPTI_DOMAIN_RESOURCE)
        on_graph_node(id, call);
    else if (domain == TP_CUPTI_DOMAIN_STATE)
        on_state(id);
}

static uint64_t timestamp(void)
{
    return tp_ticks();
}

/* --- start */

static const char *result_text(int result, char *buffer, size_t size)
{
    const char *known = NULL;
    struct tp_text text;

    if (tp_cuda.cupti.GetResultString && tp_cuda.cupti.GetResultString((uint32_t)result, &known))
        known = NULL;
    tp_text_init(&text, buffer, size);
    tp_text_format(&text, "%s (%d)", known ? known : "error", result);
    return buffer;
}

/* Tools that hold CUPTI without saying so: by the libraries that they bring. */
static const char *guess_holder(void)
{
    static const struct {
        const char *library, *tool;
    } tools[] = {
        {"libToolsInjection64.so", "Nsight Systems"},
        {"libcuda-injection.so", "Nsight Compute"},
        {"libsanitizer-collection.so", "compute-sanitizer"},
        {"libInterceptorInjectionTarget.so", "compute-sanitizer"},
    };

    for (unsigned i = 0; i < sizeof(tools) / sizeof(tools[0]); i++)
        if (dlopen(tools[i].library, RTLD_NOLOAD | RTLD_LAZY))
            return tools[i].tool;
    return NULL;
}

/*
 * One subscriber per process: with us, torch.profiler is refused and has CPU events only. A tee
 * would interpose cuptiSubscribe and its kin, hand the second client a handle of ours, and copy
 * callbacks here and records in tp_cuda_buffer_complete.
 */
static int subscribe(char *holder)
{
    struct tp_cupti_subscriber_parameters parameters = {
        .size = sizeof(parameters),
        .name = "tpagent",
        .holder = holder,
        .holder_size = HOLDER_BYTES,
    };

    holder[0] = '\0';
    if (tp_cuda.cupti.Subscribe_v2)
        return tp_cuda.cupti.Subscribe_v2(&subscriber, callback, NULL, &parameters);
    return tp_cuda.cupti.Subscribe(&subscriber, callback, NULL);
}

/* Whether CUPTI's timestamp callback is sound: it is there from 11.6, and kernels may come without
 * times from 12.6 up to 13.0. */
static bool callback_is_sound(uint32_t api)
{
    return api >= TP_CUPTI_11_6 && (api < TP_CUPTI_12_6 || api >= TP_CUPTI_13_1);
}

static void choose_clock(void)
{
    uint8_t wanted = tp_agent.config.cupti_clock;
    bool ticks = wanted == TP_CUPTI_CLOCK_TSC ||
                 (wanted == TP_CUPTI_CLOCK_AUTO && callback_is_sound(tp_cuda.api));

    if (!tp_cuda.cupti.ActivityRegisterTimestampCallback || tp_clock_kind == TP_CLOCK_MONOTONIC)
        ticks = false;
    /* once per process, before the first kind */
    tp_cuda.ticks =
        ticks && tp_cuda.cupti.ActivityRegisterTimestampCallback(timestamp) == TP_CUPTI_SUCCESS;
}

/* The calls of hooks.def by their numbers here: callbacks and, of the driver, activity records. */
static void enable_calls(uint32_t domain)
{
    const struct tp_cupti *cupti = &tp_cuda.cupti;
    const char *name;
    char plain[128];

    for (uint32_t id = 1; id < TP_CUDA_CBIDS; id++) {
        size_t length;
        name = NULL;
        if (cupti->GetCallbackName(domain, id, &name) != TP_CUPTI_SUCCESS || !name)
            continue;
        length = tp_cuda_api_plain_name(name, plain, sizeof(plain));
        if (!length || !tp_cuda_is_listed(domain, plain, length))
            continue;
        tp_cuda_listed[domain][id / 8] |= (uint8_t)(1u << id % 8);
        if (strstr(plain, "LaunchKernel") || strstr(plain, "LaunchCooperativeKernel"))
            tp_cuda_launching[domain][id / 8] |= (uint8_t)(1u << id % 8);
        if (strstr(plain, "ProfilerStart"))
            profiler_start[domain][id / 8] |= (uint8_t)(1u << id % 8);
        if (strstr(plain, "ProfilerStop"))
            profiler_stop[domain][id / 8] |= (uint8_t)(1u << id % 8);
        create_id = strcmp(plain, "cuMemCreate") ? create_id : id;
        release_id = strcmp(plain, "cuMemRelease") ? release_id : id;
        import_id = strcmp(plain, "cuMemImportFromShareableHandle") ? import_id : id;
        cupti->EnableCallback(1, subscriber, domain, id);
        if (domain == TP_CUPTI_DOMAIN_DRIVER && cupti->ActivityEnableDriverApi)
            cupti->ActivityEnableDriverApi(id, 1);
    }
}

static const struct {
    uint32_t kind, since;
} kinds[] = {
    {TP_CUPTI_KIND_DEVICE, 0},
    {TP_CUPTI_KIND_CONTEXT, 0},
    {TP_CUPTI_KIND_STREAM, 0},
    {TP_CUPTI_KIND_NAME, 0},
    {TP_CUPTI_KIND_KERNEL, 0},
    {TP_CUPTI_KIND_MEMCPY, 0},
    {TP_CUPTI_KIND_MEMCPY2, 0},
    {TP_CUPTI_KIND_MEMSET, 0},
    {TP_CUPTI_KIND_RUNTIME, 0},
    {TP_CUPTI_KIND_EXTERNAL, 0},
    {TP_CUPTI_KIND_SYNC, 0},
    {TP_CUPTI_KIND_OVERHEAD, 0},
    {TP_CUPTI_KIND_MEMORY2, TP_CUPTI_11_2},
    {TP_CUPTI_KIND_POOL, TP_CUPTI_11_2},
};

bool tp_cuda_wants_kind(uint32_t kind)
{
    bool wants = kind == TP_CUPTI_KIND_DRIVER || kind == TP_CUPTI_KIND_GRAPH;

    for (unsigned i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
        wants |= kinds[i].kind == kind;
    return wants;
}

static void enable_kinds(void)
{
    const struct tp_cupti *cupti = &tp_cuda.cupti;

    if (!cupti->ActivityEnableDriverApi) /* all of the driver's calls, or none */
        cupti->ActivityEnable(TP_CUPTI_KIND_DRIVER);
    for (unsigned i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
        if (tp_cuda.api >= kinds[i].since)
            cupti->ActivityEnable(kinds[i].kind);
    tp_cuda.graph_nodes = tp_agent.config.cuda_graphs == TP_CUDA_GRAPHS_NODE ||
                          tp_cuda.api < TP_CUPTI_11_6 ||
                          cupti->ActivityEnable(TP_CUPTI_KIND_GRAPH) != TP_CUPTI_SUCCESS;
}

/*
 * From 13.0 each thread has a buffer of its own, and what an idle thread's holds comes only with a
 * forced flush: late, and never after a SIGKILL. One for all comes each second.
 */
static void share_buffers(void)
{
    size_t size = 1;
    uint8_t off = 0;

    if (tp_cuda.api >= TP_CUPTI_12_3 && tp_cuda.cupti.ActivitySetAttribute)
        tp_cuda.cupti.ActivitySetAttribute(TP_CUPTI_ATTRIBUTE_PER_THREAD, &size, &off);
}

static bool enable(char *why, size_t size)
{
    const struct tp_cupti *cupti = &tp_cuda.cupti;
    struct tp_text text;
    char buffer[128];

    tp_text_init(&text, why, size);
    choose_clock();
    share_buffers();
    int result = cupti->ActivityRegisterCallbacks(tp_cuda_buffer_request, tp_cuda_buffer_complete);
    if (result != TP_CUPTI_SUCCESS) {
        tp_text_format(&text, "CUPTI takes no buffers: %s",
                       result_text(result, buffer, sizeof(buffer)));
        return false;
    }
    enable_calls(TP_CUPTI_DOMAIN_RUNTIME);
    enable_calls(TP_CUPTI_DOMAIN_DRIVER);
    enable_kinds();
    if (cupti->GetGraphNodeId) {
        cupti->EnableCallback(1, subscriber, TP_CUPTI_DOMAIN_RESOURCE,
                              TP_CUPTI_RESOURCE_GRAPH_NODE_CREATED);
        cupti->EnableCallback(1, subscriber, TP_CUPTI_DOMAIN_RESOURCE,
                              TP_CUPTI_RESOURCE_GRAPH_NODE_CLONED);
    }
    cupti->EnableCallback(1, subscriber, TP_CUPTI_DOMAIN_STATE, TP_CUPTI_STATE_FATAL_ERROR);
    cupti->EnableCallback(1, subscriber, TP_CUPTI_DOMAIN_STATE, TP_CUPTI_STATE_ERROR);
    return true;
}

/* One libcupti. Return: CUPTI's result; -1 with *why filled where it is no use. */
static int try_library(void *handle, const char *path, char *why, size_t size)
{
    char holder[HOLDER_BYTES], buffer[128];
    struct tp_text text;
    const char *missing = tp_cupti_resolve(handle, &tp_cuda.cupti), *tool;

    tp_text_init(&text, why, size);
    if (missing || tp_cuda.cupti.GetVersion(&tp_cuda.api) != TP_CUPTI_SUCCESS) {
        tp_text_format(&text, "%s has no %s", path, missing ? missing : "version");
        return -1;
    }
    if (tp_cuda.cupti.SetThreadIdType)
        tp_cuda.cupti.SetThreadIdType(TP_CUPTI_THREAD_ID_SYSTEM);
    int result = subscribe(holder);
    if (result == TP_CUPTI_SUCCESS)
        return result;
    tool = holder[0] ? holder : guess_holder();
    if (result == TP_CUPTI_MULTIPLE_SUBSCRIBERS)
        tp_text_format(&text, "CUPTI is held by %s", tool ? tool : "another tool");
    else
        tp_text_format(&text, "CUPTI (%s): %s", path, result_text(result, buffer, sizeof(buffer)));
    return result;
}

static bool go(char *why, size_t size)
{
    struct tp_text text;

    tp_text_init(&text, why, size);
    if (tp_cuda_buffers_open()) {
        tp_text_string(&text, "no memory for activity buffers");
        return false;
    }
    if (!enable(why, size))
        return false;
    tp_cuda_pair();
    if (tp_cuda_flusher_start())
        tp_text_string(
            &text, "no thread to flush CUPTI's buffers: the newest device records may be missing");
    tp_cuda_say(why);
    tp_cuda.is_started = true;
    return true;
}

bool tp_cupti_start(char *ret_why, size_t size)
{
    char path[TP_PATH_MAX];
    unsigned state = 0;
    uint32_t below = UINT32_MAX;
    struct tp_text text;
    void *handle;

    tp_text_init(&text, ret_why, size);
    tp_text_string(&text, "no libcupti was found");
    while ((handle = tp_cupti_load(&state, path, sizeof(path)))) {
        uint32_t api = 0;
        int result, (*version)(uint32_t *);
        *(void **)&version = dlsym(handle, "cuptiGetVersion");
        if (version && version(&api) == TP_CUPTI_SUCCESS && api >= below)
            continue; /* not older than one that was too new for the driver */
        result = try_library(handle, path, ret_why, size);
        if (result == TP_CUPTI_SUCCESS) {
            tp_text_init(&text, tp_cuda.library, sizeof(tp_cuda.library));
            tp_text_string(&text, path);
            return go(ret_why, size);
        }
        if (result != TP_CUPTI_NOT_INITIALIZED && result != -1)
            return false;
        below = api ? api : below;
    }
    if (tp_agent.config.cupti[0] && state && !tp_cuda.api) {
        const char *error = dlerror();
        tp_text_init(&text, ret_why, size);
        tp_text_format(&text, "TPAGENT_CUPTI=%s: %s", tp_agent.config.cupti,
                       error ? error : "cannot be loaded");
    }
    return false;
}
