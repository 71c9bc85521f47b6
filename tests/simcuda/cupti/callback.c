/* SPDX-License-Identifier: MIT */
/*
 * The subscriber and its callbacks; the observer that the driver calls. One subscriber a process.
 * Who else holds CUPTI: SIMCUDA_CUPTI_HOLDER=NAME refuses every subscription with 39 and says the
 * name to cuptiSubscribe_v2; SIMCUDA_SUBSCRIBE=ERROR refuses with that error. Calls named
 * SIMCUDA_UNTOLD, and those inside of them, have neither callbacks nor API records.
 */
#include "callback_data.h"
#include "cupti.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { DOMAINS = 7, CBIDS = 1024 };
enum { RESOURCE = 3, SYNCHRONIZE = 4, STATE = 6 };
enum { STATE_FATAL = 1 };

typedef void sim_callback(void *data, uint32_t domain, uint32_t cbid, const void *info);

static struct subscriber {
    sim_callback *callback;
    void *data;
    char name[64];
} subscriber;
static bool wanted[DOMAINS][CBIDS];
static __thread bool in_callback;
static bool stale_names;
static uint64_t calls_to_failure;
static const char *untold; /* NULL: all calls are told */

static void call_back(uint32_t domain, uint32_t cbid, const void *info)
{
    SIM_ENTER(sim_cupti_core_if_there(), "a callback");
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

static bool is_told(const struct sim_call *call)
{
    for (; call && untold; call = call->outer)
        if (!strcmp(call->name, untold))
            return false;
    return true;
}

static void enter(struct sim_call *call)
{
    if (__builtin_expect(in_callback || sim_in_buffer_callback(), 0) &&
        !strstr(call->name, "Synchronize"))
        sim_cupti_core_if_there()->misuse("%s called inside a callback", call->name);
    if (is_wanted(call->domain, call->cbid) && is_told(call))
        call_back_at(call, 0);
}

/* SIMCUDA_FATAL_AFTER outermost calls: CUPTI says that it gives up, and does. */
static void count_to_failure(void)
{
    if (__atomic_fetch_sub(&calls_to_failure, 1, __ATOMIC_RELAXED) != 1)
        return;
    struct state_info info = {CUPTI_EUNKNOWN, "simulated failure"};
    if (is_wanted(STATE, STATE_FATAL))
        call_back(STATE, STATE_FATAL, &info);
    sim_activity_give_up();
    memset(wanted, 0, sizeof wanted);
}

static void leave(struct sim_call *call)
{
    bool told = is_told(call);

    if (is_wanted(call->domain, call->cbid) && told)
        call_back_at(call, 1);
    sim_activity_call(call, told);
    if (__builtin_expect(calls_to_failure, 0) && !call->outer)
        count_to_failure();
}

static void tell_resource(enum sim_resource_event event, const struct sim_resource *what)
{
    struct module_info module = {.id = what->module};
    struct resource_info info = {.context = what->context, .stream = what->stream};
    struct graph_info graph = {
        .graph = what->graph,
        .original_graph = what->original_graph,
        .node = what->node,
        .original_node = what->original_node,
        .node_type = what->node ? sim_cupti_core_if_there()->node_type(what->node) : 0,
        .exec = what->exec,
    };
    if (what->module)
        info.descriptor = &module;
    else if (what->graph || what->exec)
        info.descriptor = &graph;
    call_back(RESOURCE, event, &info);
}

static void resource(enum sim_resource_event event, const struct sim_resource *what)
{
    if (event == SIM_CONTEXT_CREATED)
        sim_activity_context(what->context);
    if (event == SIM_STREAM_CREATED)
        sim_activity_stream(what->stream);
    if (is_wanted(RESOURCE, event))
        tell_resource(event, what);
    /* Names go with the module: what is still to be handed out needs them. */
    if (event == SIM_MODULE_UNLOAD && !stale_names && sim_buffer_calls.request)
        sim_buffers_flush(true);
}

static void synchronized(struct sim_context *context)
{
    sim_buffers_release_late();
    struct synchronize_info info = {.context = context};
    if (is_wanted(SYNCHRONIZE, 2))
        call_back(SYNCHRONIZE, 2, &info);
}

/* One record for the launch excludes those of its nodes. */
static int wants_nodes(void)
{
    return !sim_kind_enabled(SIM_RECORD_GRAPH);
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
        .wants_nodes = wants_nodes,
    };
    if (done)
        return;
    done = true;
    calls_to_failure = core->number("FATAL_AFTER", 0);
    stale_names = core->number("STALE_NAMES", 0);
    untold = *core->text("UNTOLD") ? core->text("UNTOLD") : NULL;
    core->observe(&observer);
}

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
