/* SPDX-License-Identifier: MIT */
/* Graphs: the driver's entry points, and the capture of streams. */
#include "driver.h"

ENTRY(cuGraphCreate, struct sim_graph **graph, unsigned flags)
{
    BEGIN(API(cuGraphCreate), WORD(graph), flags);
    if (!graph)
        END(SIM_EINVAL);
    *graph = sim_graph_create();
    END(SIM_OK);
}

static int destroy(struct sim_api api, struct sim_graph *graph, bool executable)
{
    BEGIN(api, WORD(graph));
    if (!graph || graph->executable != executable)
        END(SIM_EINVAL);
    sim_graph_destroy(graph);
    END(SIM_OK);
}

ENTRY(cuGraphDestroy, struct sim_graph *graph)
{
    return destroy(API(cuGraphDestroy), graph, false);
}

ENTRY(cuGraphExecDestroy, struct sim_graph *exec)
{
    return destroy(API(cuGraphExecDestroy), exec, true);
}

/* Every function that adds a node begins with these. */
#define NODE_PARAMETERS                                                                            \
    struct sim_node **node, struct sim_graph *graph, struct sim_node *const *dependencies,         \
        size_t dependency_count
#define NODE_WORDS WORD(node), WORD(graph), WORD(dependencies), dependency_count

static int added(struct sim_node **node, struct sim_graph *graph, const struct sim_node *like)
{
    if (!graph || !node)
        return SIM_EINVAL;
    *node = sim_graph_add(graph, like);
    return SIM_OK;
}

struct kernel_params {
    struct sim_function *function;
    unsigned grid[3], block[3];
    unsigned shared;
    void **params, **extra;
};

static int kernel_node(const struct kernel_params *params, struct sim_node *ret_node)
{
    if (!params || !params->function)
        return SIM_EINVAL;
    *ret_node = (struct sim_node){
        .type = SIM_NODE_KERNEL,
        .has_work = true,
        .length = params->function->length,
        .work = {.kind = SIM_KERNEL,
                 .function = params->function,
                 .dynamic_shared = params->shared},
    };
    for (int i = 0; i < 3; i++) {
        ret_node->work.grid[i] = params->grid[i];
        ret_node->work.block[i] = params->block[i];
    }
    return SIM_OK;
}

static int add_kernel(struct sim_api api, NODE_PARAMETERS, const struct kernel_params *params)
{
    BEGIN(api, NODE_WORDS, WORD(params));
    struct sim_node like;
    int result = kernel_node(params, &like);
    END(result ? result : added(node, graph, &like));
}

ENTRY(cuGraphAddKernelNode, NODE_PARAMETERS, const struct kernel_params *params)
{
    return add_kernel(API(cuGraphAddKernelNode), node, graph, dependencies, dependency_count,
                      params);
}

ENTRY(cuGraphAddKernelNode_v2, NODE_PARAMETERS, const struct kernel_params *params)
{
    return add_kernel(API(cuGraphAddKernelNode_v2), node, graph, dependencies, dependency_count,
                      params);
}

ENTRY(cuGraphAddMemcpyNode, NODE_PARAMETERS, const struct sim_block_copy *block, void *context)
{
    BEGIN(API(cuGraphAddMemcpyNode), NODE_WORDS, WORD(block), WORD(context));
    struct sim_node like = {.type = SIM_NODE_MEMCPY, .has_work = true};
    int result = sim_transfer_block(block, &like.action);
    if (!result)
        result = sim_transfer_copy_work(&like.action, &like.work, &like.length);
    END(result ? result : added(node, graph, &like));
}

struct set_params {
    uint64_t to;
    size_t pitch;
    unsigned value, element;
    size_t width, height;
};

ENTRY(cuGraphAddMemsetNode, NODE_PARAMETERS, const struct set_params *params, void *context)
{
    BEGIN(API(cuGraphAddMemsetNode), NODE_WORDS, WORD(params), WORD(context));
    if (!params)
        END(SIM_EINVAL);
    struct sim_node like = {
        .type = SIM_NODE_MEMSET,
        .has_work = true,
        .action = {.kind = SIM_FILL,
                   .to = params->to,
                   .to_pitch = params->pitch,
                   .width = params->width,
                   .height = params->height,
                   .value = params->value,
                   .element = params->element},
    };
    int result = sim_transfer_set_work(&like.action, &like.work, &like.length);
    END(result ? result : added(node, graph, &like));
}

ENTRY(cuGraphAddEmptyNode, NODE_PARAMETERS)
{
    BEGIN(API(cuGraphAddEmptyNode), NODE_WORDS);
    END(added(node, graph, &(struct sim_node){.type = SIM_NODE_EMPTY}));
}

struct host_params {
    void (*function)(void *data);
    void *data;
};

ENTRY(cuGraphAddHostNode, NODE_PARAMETERS, const struct host_params *params)
{
    BEGIN(API(cuGraphAddHostNode), NODE_WORDS, WORD(params));
    if (!params || !params->function)
        END(SIM_EINVAL);
    struct sim_node like = {
        .type = SIM_NODE_HOST,
        .action = {.kind = SIM_CALL, .function = params->function, .data = params->data},
    };
    END(added(node, graph, &like));
}

ENTRY(cuGraphAddChildGraphNode, NODE_PARAMETERS, struct sim_graph *child)
{
    BEGIN(API(cuGraphAddChildGraphNode), NODE_WORDS, WORD(child));
    if (!child)
        END(SIM_EINVAL);
    struct sim_node like = {.type = SIM_NODE_GRAPH, .child = sim_graph_clone(child)};
    END(added(node, graph, &like));
}

/* What of an allocation node's parameters matters here. */
struct allocate_params {
    char pool_properties[88];
    const void *access;
    size_t access_count;
    size_t bytes;
    uint64_t address;
};

ENTRY(cuGraphAddMemAllocNode, NODE_PARAMETERS, struct allocate_params *params)
{
    BEGIN(API(cuGraphAddMemAllocNode), NODE_WORDS, WORD(params));
    if (!params || !params->bytes)
        END(SIM_EINVAL);
    int result = sim_memory_reserve(params->bytes, &params->address);
    struct sim_node like = {
        .type = SIM_NODE_ALLOCATE,
        .action = {.kind = SIM_ALLOCATE, .to = params->address, .width = params->bytes},
    };
    END(result ? result : added(node, graph, &like));
}

ENTRY(cuGraphAddMemFreeNode, NODE_PARAMETERS, uint64_t address)
{
    BEGIN(API(cuGraphAddMemFreeNode), NODE_WORDS, address);
    struct sim_node like = {
        .type = SIM_NODE_FREE,
        .action = {.kind = SIM_RELEASE, .to = address},
    };
    for (const struct sim_node *each = graph ? graph->first : NULL; each; each = each->next)
        if (each->type == SIM_NODE_ALLOCATE && each->action.to == address)
            like.action.width = each->action.width;
    END(like.action.width ? added(node, graph, &like) : SIM_EINVAL);
}

static int depend(struct sim_api api, struct sim_graph *graph, const void *from, const void *to,
                  size_t count)
{
    BEGIN(api, WORD(graph), WORD(from), WORD(to), count);
    END(graph ? SIM_OK : SIM_EINVAL);
}

ENTRY(cuGraphAddDependencies, struct sim_graph *graph, const void *from, const void *to,
      size_t count)
{
    return depend(API(cuGraphAddDependencies), graph, from, to, count);
}

ENTRY(cuGraphAddDependencies_v2, struct sim_graph *graph, const void *from, const void *to,
      const void *edges, size_t count)
{
    (void)edges;
    return depend(API(cuGraphAddDependencies_v2), graph, from, to, count);
}

ENTRY(cuGraphGetNodes, struct sim_graph *graph, struct sim_node **nodes, size_t *count)
{
    BEGIN(API(cuGraphGetNodes), WORD(graph), WORD(nodes), WORD(count));
    if (!graph || !count)
        END(SIM_EINVAL);
    size_t i = 0;
    for (struct sim_node *each = graph->first; each; each = each->next, i++)
        if (nodes && i < *count)
            nodes[i] = each;
    if (!nodes || i < *count)
        *count = i;
    END(SIM_OK);
}

ENTRY(cuGraphClone, struct sim_graph **clone, struct sim_graph *original)
{
    BEGIN(API(cuGraphClone), WORD(clone), WORD(original));
    if (!clone || !original)
        END(SIM_EINVAL);
    *clone = sim_graph_clone(original);
    END(SIM_OK);
}

ENTRY(cuGraphNodeFindInClone, struct sim_node **node, struct sim_node *original,
      struct sim_graph *clone)
{
    BEGIN(API(cuGraphNodeFindInClone), WORD(node), WORD(original), WORD(clone));
    for (struct sim_node *each = clone ? clone->first : NULL; each; each = each->next)
        if (each->original == original) {
            *node = each;
            END(SIM_OK);
        }
    END(SIM_EINVAL);
}

static int instantiate(struct sim_api api, struct sim_graph **exec, struct sim_graph *graph)
{
    BEGIN(api, WORD(exec), WORD(graph), 0);
    if (!exec || !graph || graph->executable)
        END(SIM_EINVAL);
    *exec = sim_graph_instantiate(graph);
    END(SIM_OK);
}

ENTRY(cuGraphInstantiateWithFlags, struct sim_graph **exec, struct sim_graph *graph, uint64_t flags)
{
    (void)flags;
    return instantiate(API(cuGraphInstantiateWithFlags), exec, graph);
}

struct instantiate_params {
    uint64_t flags;
    void *stream;
    struct sim_node *error_node;
    int result;
};

ENTRY(cuGraphInstantiateWithParams, struct sim_graph **exec, struct sim_graph *graph,
      struct instantiate_params *params)
{
    if (params)
        params->result = 0;
    return instantiate(API(cuGraphInstantiateWithParams), exec, graph);
}

static int set_kernel(struct sim_api api, struct sim_graph *exec, struct sim_node *original,
                      const struct kernel_params *params)
{
    BEGIN(api, WORD(exec), WORD(original), WORD(params));
    struct sim_node like;
    int result = kernel_node(params, &like);
    struct sim_node *each = exec ? exec->first : NULL;
    while (each && each->original != original)
        each = each->next;
    if (result || !each)
        END(result ? result : SIM_EINVAL);
    each->work = like.work;
    each->length = like.length;
    END(SIM_OK);
}

ENTRY(cuGraphExecKernelNodeSetParams, struct sim_graph *exec, struct sim_node *node,
      const struct kernel_params *params)
{
    return set_kernel(API(cuGraphExecKernelNodeSetParams), exec, node, params);
}

ENTRY(cuGraphExecKernelNodeSetParams_v2, struct sim_graph *exec, struct sim_node *node,
      const struct kernel_params *params)
{
    return set_kernel(API(cuGraphExecKernelNodeSetParams_v2), exec, node, params);
}

/* Takes the parameters of a graph with the same nodes in the same order. */
ENTRY(cuGraphExecUpdate_v2, struct sim_graph *exec, struct sim_graph *graph, int *result_info)
{
    BEGIN(API(cuGraphExecUpdate_v2), WORD(exec), WORD(graph), WORD(result_info));
    if (!exec || !graph)
        END(SIM_EINVAL);
    struct sim_node *to = exec->first;
    const struct sim_node *from = graph->first;
    for (; to && from && to->type == from->type; to = to->next, from = from->next) {
        to->work = from->work;
        to->length = from->length;
        to->action = from->action;
    }
    bool same = !to && !from;
    if (result_info)
        *result_info = same ? 0 : 2; /* the topology changed */
    END(same ? SIM_OK : 910);
}

static int do_cuGraphLaunch(struct sim_api api, bool per_thread, struct sim_graph *exec,
                            void *handle)
{
    BEGIN(api, WORD(exec), WORD(handle));
    struct sim_stream *stream = sim_stream_of(sim_current_context(), handle, per_thread);
    if (!stream || !exec || !exec->executable)
        END(SIM_EINVAL);
    sim_graph_launch(exec, stream);
    END(SIM_OK);
}
PAIR(cuGraphLaunch, _ptsz, (struct sim_graph * exec, void *stream), exec, stream)

static int do_cuGraphUpload(struct sim_api api, bool per_thread, struct sim_graph *exec,
                            void *handle)
{
    (void)per_thread;
    BEGIN(api, WORD(exec), WORD(handle));
    END(exec && exec->executable ? SIM_OK : SIM_EINVAL);
}
PAIR(cuGraphUpload, _ptsz, (struct sim_graph * exec, void *stream), exec, stream)

static int do_cuStreamBeginCapture_v2(struct sim_api api, bool per_thread, void *handle, int mode)
{
    BEGIN(api, WORD(handle), WORD(mode));
    struct sim_stream *stream = sim_stream_of(sim_current_context(), handle, per_thread);
    if (!stream || stream->capturing || stream == stream->context->null_stream)
        END(SIM_ECAPTURE);
    stream->capturing = sim_graph_create();
    END(SIM_OK);
}
PAIR(cuStreamBeginCapture_v2, _ptsz, (void *stream, int mode), stream, mode)

static int do_cuStreamEndCapture(struct sim_api api, bool per_thread, void *handle,
                                 struct sim_graph **graph)
{
    BEGIN(api, WORD(handle), WORD(graph));
    struct sim_stream *stream = sim_stream_of(sim_current_context(), handle, per_thread);
    if (!stream || !stream->capturing || !graph)
        END(SIM_ECAPTURE);
    *graph = stream->capturing;
    pthread_mutex_lock(&sim_lock);
    for (struct sim_stream *each = stream->context->streams; each; each = each->next)
        if (each->capturing == *graph) /* and those that joined */
            each->capturing = NULL;
    pthread_mutex_unlock(&sim_lock);
    END(SIM_OK);
}
PAIR(cuStreamEndCapture, _ptsz, (void *stream, struct sim_graph **graph), stream, graph)

static int do_cuStreamIsCapturing(struct sim_api api, bool per_thread, void *handle, int *status)
{
    BEGIN(api, WORD(handle), WORD(status));
    struct sim_stream *stream = sim_stream_of(sim_current_context(), handle, per_thread);
    if (!stream || !status)
        END(SIM_EINVAL);
    *status = stream->capturing ? 1 : 0;
    END(SIM_OK);
}
PAIR(cuStreamIsCapturing, _ptsz, (void *stream, int *status), stream, status)
