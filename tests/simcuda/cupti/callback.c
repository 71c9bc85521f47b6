/* SPDX-License-Identifier: MIT */
/*
 * The subscriber and its callbacks; the observer that the driver calls. One subscriber a process.
 * Who else holds CUPTI: SIMCUDA_CUPTI_HOLDER=NAME refuses every subscription with 39 and says the
 * name to cuptiSubscribe_v2; SIMCUDA_SUBSCRIBE=ERROR refuses with that error.
 */
#include "cupti.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { DOMAINS = 7, CBIDS = 1024 };
enum { RESOURCE = 3, SYNCHRONIZE = 4 };

typedef void sim_callback(void *data, uint32_t domain, uint32_t cbid, const void *info);

static struct subscriber {
    sim_callback *callback;
    void *data;
    char name[64];
} subscriber;
static bool wanted[DOMAINS][CBIDS];
static __thread bool in_callback;

/* What a callback of an API call is given. */
struct call_info {
    int site; /* 0 enter, 1 exit */
    const char *function;
    const void *params;
    void *result;
    const char *symbol;
    struct sim_context *context;
    uint32_t context_id;
    uint64_t *data;
    uint32_t correlation;
};

struct resource_info {
    struct sim_context *context;
    struct sim_stream *stream;
    void *descriptor;
};

struct graph_info {
    struct sim_graph *graph, *original_graph;
    struct sim_node *node, *original_node;
    uint32_t node_type;
    struct sim_node *dependency;
    struct sim_exec *exec;
};

struct module_info {
    uint32_t id;
    size_t cubin_size;
    const char *cubin;
};

struct synchronize_info {
    struct sim_context *context;
    struct sim_stream *stream;
};

static void call_back(uint32_t domain, uint32_t cbid, const void *info)
{
    in_callback = true;
    subscriber.callback(subscriber.data, domain, cbid, info);
    in_callback = false;
}

static void call_back_at(struct sim_call *call, int site)
{
    struct call_info info = {
        .site = site,
        .function = call->name,
        .params = call->params,
        .result = site ? &call->result : NULL,
        .symbol = call->symbol,
        .context = call->context,
        .context_id = call->context ? call->context->id : 0,
        .data = &call->client_data,
        .correlation = call->correlation,
    };
    call_back(call->domain, call->cbid, &info);
}

static bool is_wanted(uint32_t domain, uint32_t cbid)
{
    return subscriber.callback && cbid < CBIDS && wanted[domain][cbid];
}

static void enter(struct sim_call *call)
{
    if (__builtin_expect(in_callback || sim_in_buffer_callback(), 0) &&
        !strstr(call->name, "Synchronize"))
        sim_cupti_core_if_there()->misuse("%s called inside a callback", call->name);
    if (is_wanted(call->domain, call->cbid))
        call_back_at(call, 0);
}

static void leave(struct sim_call *call)
{
    if (is_wanted(call->domain, call->cbid))
        call_back_at(call, 1);
    sim_activity_call(call);
}

static void resource(enum sim_resource_event event, const struct sim_resource *what)
{
    if (event == SIM_CONTEXT_CREATED)
        sim_activity_context(what->context);
    if (event == SIM_STREAM_CREATED)
        sim_activity_stream(what->stream);
    if (!is_wanted(RESOURCE, event))
        return;
    struct module_info module = {.id = what->module};
    struct resource_info info = {.context = what->context, .stream = what->stream};
    if (what->module)
        info.descriptor = &module;
    call_back(RESOURCE, event, &info);
}

static void synchronized(struct sim_context *context)
{
    sim_buffers_release_late();
    struct synchronize_info info = {.context = context};
    if (is_wanted(SYNCHRONIZE, 2))
        call_back(SYNCHRONIZE, 2, &info);
}

void sim_observe(const struct sim_core *core)
{
    static bool done;
    static const struct sim_observer observer = {
        .enter = enter,
        .leave = leave,
        .work = sim_activity_work,
        .memory = sim_activity_memory,
        .pool = sim_activity_pool,
        .resource = resource,
        .synchronized = synchronized,
    };
    if (done)
        return;
    done = true;
    core->observe(&observer);
}

/* Parameters of cuptiSubscribe_v2. */
struct subscribe_params {
    size_t size;
    const char *name;
    char *holder;
    size_t holder_size;
};

static int refuse(struct subscribe_params *params, const char *holder)
{
    if (params && params->holder && params->holder_size)
        snprintf(params->holder, params->holder_size, "%s", holder);
    return CUPTI_ESUBSCRIBERS;
}

static int subscribe(const struct sim_core *core, struct subscriber **handle,
                     sim_callback *callback, void *data, struct subscribe_params *params)
{
    const char *holder = core->text("CUPTI_HOLDER");
    int error = (int)core->number("SUBSCRIBE", 0);
    if (!handle || !callback)
        return CUPTI_EPARAMETER;
    if (error)
        return error;
    if (*holder)
        return refuse(params, holder);
    if (subscriber.callback)
        return refuse(params, subscriber.name);
    snprintf(subscriber.name, sizeof subscriber.name, "%s",
             params && params->name ? params->name : "");
    subscriber.data = data;
    subscriber.callback = callback;
    *handle = &subscriber;
    sim_observe(core);
    return CUPTI_OK;
}

ENTRY(cuptiSubscribe, struct subscriber **handle, sim_callback *callback, void *data)
{
    NEED_DRIVER(cuptiSubscribe);
    return subscribe(core, handle, callback, data, NULL);
}

ENTRY(cuptiSubscribe_v2, struct subscriber **handle, sim_callback *callback, void *data,
      struct subscribe_params *params)
{
    NEED_DRIVER(cuptiSubscribe_v2);
    return subscribe(core, handle, callback, data, params);
}

ENTRY(cuptiUnsubscribe, struct subscriber *handle)
{
    NEED_DRIVER(cuptiUnsubscribe);
    if (handle != &subscriber || !subscriber.callback)
        return CUPTI_EPARAMETER;
    memset(wanted, 0, sizeof wanted);
    subscriber.callback = NULL;
    return CUPTI_OK;
}

static int enable(struct subscriber *handle, uint32_t domain, uint32_t first, uint32_t last,
                  uint32_t on)
{
    if (handle != &subscriber || !domain || domain >= DOMAINS || last >= CBIDS)
        return CUPTI_EPARAMETER;
    for (uint32_t cbid = first; cbid <= last; cbid++)
        wanted[domain][cbid] = on;
    return CUPTI_OK;
}

ENTRY(cuptiEnableCallback, uint32_t on, struct subscriber *handle, uint32_t domain, uint32_t cbid)
{
    NEED_DRIVER(cuptiEnableCallback);
    return enable(handle, domain, cbid, cbid, on);
}

ENTRY(cuptiEnableDomain, uint32_t on, struct subscriber *handle, uint32_t domain)
{
    NEED_DRIVER(cuptiEnableDomain);
    return enable(handle, domain, 0, CBIDS - 1, on);
}

ENTRY(cuptiEnableAllDomains, uint32_t on, struct subscriber *handle)
{
    NEED_DRIVER(cuptiEnableAllDomains);
    int result = CUPTI_OK;
    for (uint32_t domain = 1; domain < DOMAINS && !result; domain++)
        result = enable(handle, domain, 0, CBIDS - 1, on);
    return result;
}

ENTRY(cuptiGetCallbackState, uint32_t *on, struct subscriber *handle, uint32_t domain,
      uint32_t cbid)
{
    NEED_DRIVER(cuptiGetCallbackState);
    if (!on || handle != &subscriber || domain >= DOMAINS || cbid >= CBIDS)
        return CUPTI_EPARAMETER;
    *on = wanted[domain][cbid];
    return CUPTI_OK;
}

ENTRY(cuptiSupportedDomains, size_t *count, const uint32_t **table)
{
    static const uint32_t domains[] = {1, 2, 3, 4, 5, 6};
    NEED_DRIVER(cuptiSupportedDomains);
    if (!count || !table)
        return CUPTI_EPARAMETER;
    *count = sizeof domains / sizeof domains[0];
    *table = domains;
    return CUPTI_OK;
}

ENTRY(cuptiFinalize, void)
{
    NEED_DRIVER(cuptiFinalize);
    core->misuse("cuptiFinalize called");
    return CUPTI_OK;
}
