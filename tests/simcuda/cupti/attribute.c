/* SPDX-License-Identifier: MIT */
/* Attributes, thread ids, and the ids of objects. */
#include "cupti.h"

#include <string.h>

enum { ZEROED_OUT = 5, PER_THREAD = 9, ATTRIBUTES = 11 };

static size_t values[ATTRIBUTES] = {
    [0] = 3200 << 10, /* device buffer size */
    [2] = 250,        /* device buffer pool limit */
    [6] = 3,          /* device buffers allocated ahead */
};
static bool per_thread;

__attribute__((constructor)) static void choose(void)
{
    values[PER_THREAD] = per_thread = sim_cupti_api() >= 130000;
}

bool sim_buffers_per_thread(void)
{
    return per_thread;
}

bool sim_buffers_zeroed(void)
{
    return values[ZEROED_OUT];
}

static bool is_byte(uint32_t attribute)
{
    return attribute == ZEROED_OUT || attribute == PER_THREAD;
}

static int check(uint32_t attribute, const size_t *size, const void *value)
{
    if (!size || !value || attribute >= ATTRIBUTES ||
        (attribute == PER_THREAD && sim_cupti_api() < 21))
        return CUPTI_EPARAMETER;
    return *size < (is_byte(attribute) ? 1 : sizeof(size_t)) ? CUPTI_ESIZE : CUPTI_OK;
}

ENTRY(cuptiActivityGetAttribute, uint32_t attribute, size_t *size, void *value)
{
    NEED_DRIVER(cuptiActivityGetAttribute);
    int result = check(attribute, size, value);
    if (!result)
        memcpy(value, &values[attribute], is_byte(attribute) ? 1 : sizeof(size_t));
    return result;
}

ENTRY(cuptiActivitySetAttribute, uint32_t attribute, size_t *size, void *value)
{
    NEED_DRIVER(cuptiActivitySetAttribute);
    int result = check(attribute, size, value);
    if (result)
        return result;
    values[attribute] = 0;
    memcpy(&values[attribute], value, is_byte(attribute) ? 1 : sizeof(size_t));
    per_thread = values[PER_THREAD];
    return CUPTI_OK;
}

ENTRY(cuptiGetContextId, struct sim_context *context, uint32_t *id)
{
    NEED_DRIVER(cuptiGetContextId);
    if (!context || !id)
        return CUPTI_EPARAMETER;
    *id = context->id;
    return CUPTI_OK;
}

ENTRY(cuptiGetDeviceId, struct sim_context *context, uint32_t *id)
{
    NEED_DRIVER(cuptiGetDeviceId);
    if (!id)
        return CUPTI_EPARAMETER;
    if (!context)
        context = core->current_context();
    if (!context)
        return CUPTI_EPARAMETER;
    *id = (uint32_t)context->device->ordinal;
    return CUPTI_OK;
}

ENTRY(cuptiGetStreamIdEx, struct sim_context *context, void *stream, uint8_t of_thread,
      uint32_t *id)
{
    NEED_DRIVER(cuptiGetStreamIdEx);
    const struct sim_stream *found =
        core->stream_of(context ? context : core->current_context(), stream, of_thread);
    if (!found || !id)
        return CUPTI_EPARAMETER;
    *id = found->id;
    return CUPTI_OK;
}

ENTRY(cuptiGetStreamId, struct sim_context *context, void *stream, uint32_t *id)
{
    return cuptiGetStreamIdEx(context, stream, 0, id);
}

ENTRY(cuptiGetGraphId, struct sim_graph *graph, uint32_t *id)
{
    NEED_DRIVER(cuptiGetGraphId);
    if (!graph || !id)
        return CUPTI_EPARAMETER;
    *id = core->graph_id(graph);
    return CUPTI_OK;
}

ENTRY(cuptiGetGraphExecId, struct sim_graph *exec, uint32_t *id)
{
    NEED_DRIVER(cuptiGetGraphExecId);
    if (!exec || !id)
        return CUPTI_EPARAMETER;
    *id = core->graph_id(exec);
    return CUPTI_OK;
}

ENTRY(cuptiGetGraphNodeId, struct sim_node *node, uint64_t *id)
{
    NEED_DRIVER(cuptiGetGraphNodeId);
    if (!node || !id)
        return CUPTI_EPARAMETER;
    *id = core->node_id(node);
    return CUPTI_OK;
}
