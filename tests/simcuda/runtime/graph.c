/* SPDX-License-Identifier: MIT */
/* Graphs and capture. */
#include "runtime.h"

ENTRY(cudaGraphCreate, struct sim_graph **graph, unsigned flags)
{
    BEGIN(API(cudaGraphCreate), WORD(graph), flags);
    END(driver.cuGraphCreate(graph, flags));
}

ENTRY(cudaGraphDestroy, struct sim_graph *graph)
{
    BEGIN(API(cudaGraphDestroy), WORD(graph));
    END(driver.cuGraphDestroy(graph));
}

ENTRY(cudaGraphExecDestroy, struct sim_graph *exec)
{
    BEGIN(API(cudaGraphExecDestroy), WORD(exec));
    END(driver.cuGraphExecDestroy(exec));
}

#define NODE_PARAMETERS                                                                            \
    struct sim_node **node, struct sim_graph *graph, struct sim_node *const *dependencies,         \
        size_t dependency_count
#define NODE_ARGUMENTS node, graph, (const void *)dependencies, dependency_count
#define NODE_WORDS WORD(node), WORD(graph), WORD(dependencies), dependency_count

struct kernel_params {
    const void *function;
    struct sim_dim3 grid, block;
    unsigned shared;
    void **params, **extra;
};

/* The driver's form of them. */
struct driver_kernel_params {
    struct sim_function *function;
    struct sim_dim3 grid, block;
    unsigned shared;
    void **params, **extra;
    void *kernel, *context;
};

static int kernel_params(const struct kernel_params *params, struct driver_kernel_params *ret_below)
{
    struct sim_function *function = params ? sim_runtime_function(params->function) : NULL;
    if (!function)
        return params ? SIM_EFUNCTION : SIM_EINVAL;
    *ret_below = (struct driver_kernel_params){function,       params->grid,   params->block,
                                               params->shared, params->params, params->extra};
    return SIM_OK;
}

ENTRY(cudaGraphAddKernelNode, NODE_PARAMETERS, const struct kernel_params *params)
{
    BEGIN(API(cudaGraphAddKernelNode), NODE_WORDS, WORD(params));
    struct driver_kernel_params below;
    int result = kernel_params(params, &below);
    END(result ? result : driver.cuGraphAddKernelNode_v2(NODE_ARGUMENTS, &below));
}

ENTRY(cudaGraphExecKernelNodeSetParams, struct sim_graph *exec, struct sim_node *node,
      const struct kernel_params *params)
{
    BEGIN(API(cudaGraphExecKernelNodeSetParams), WORD(exec), WORD(node), WORD(params));
    struct driver_kernel_params below;
    int result = kernel_params(params, &below);
    END(result ? result : driver.cuGraphExecKernelNodeSetParams_v2(exec, node, &below));
}

ENTRY(cudaGraphAddMemcpyNode1D, NODE_PARAMETERS, void *to, const void *from, size_t bytes, int kind)
{
    BEGIN(API(cudaGraphAddMemcpyNode1D), NODE_WORDS, WORD(to), WORD(from), bytes, WORD(kind));
    struct sim_block_copy block = {.from_type = 4,
                                   .from_device = WORD(from),
                                   .from_pitch = bytes,
                                   .to_type = 4,
                                   .to_device = WORD(to),
                                   .to_pitch = bytes,
                                   .width = bytes,
                                   .height = 1,
                                   .depth = 1};
    END(driver.cuGraphAddMemcpyNode(NODE_ARGUMENTS, &block, core->current_context()));
}

ENTRY(cudaGraphAddMemcpyNode, NODE_PARAMETERS, const struct sim_copy3d *params)
{
    BEGIN(API(cudaGraphAddMemcpyNode), NODE_WORDS, WORD(params));
    struct sim_block_copy block;
    if (!params)
        END(SIM_EINVAL);
    sim_runtime_block(params, &block);
    END(driver.cuGraphAddMemcpyNode(NODE_ARGUMENTS, &block, core->current_context()));
}

ENTRY(cudaGraphAddMemsetNode, NODE_PARAMETERS, const void *params)
{
    BEGIN(API(cudaGraphAddMemsetNode), NODE_WORDS, WORD(params));
    END(driver.cuGraphAddMemsetNode(NODE_ARGUMENTS, params, core->current_context()));
}

ENTRY(cudaGraphAddEmptyNode, NODE_PARAMETERS)
{
    BEGIN(API(cudaGraphAddEmptyNode), NODE_WORDS);
    END(driver.cuGraphAddEmptyNode(NODE_ARGUMENTS));
}

ENTRY(cudaGraphAddHostNode, NODE_PARAMETERS, const void *params)
{
    BEGIN(API(cudaGraphAddHostNode), NODE_WORDS, WORD(params));
    END(driver.cuGraphAddHostNode(NODE_ARGUMENTS, params));
}

ENTRY(cudaGraphAddChildGraphNode, NODE_PARAMETERS, struct sim_graph *child)
{
    BEGIN(API(cudaGraphAddChildGraphNode), NODE_WORDS, WORD(child));
    END(driver.cuGraphAddChildGraphNode(NODE_ARGUMENTS, child));
}

ENTRY(cudaGraphAddMemAllocNode, NODE_PARAMETERS, void *params)
{
    BEGIN(API(cudaGraphAddMemAllocNode), NODE_WORDS, WORD(params));
    END(driver.cuGraphAddMemAllocNode(NODE_ARGUMENTS, params));
}

ENTRY(cudaGraphAddMemFreeNode, NODE_PARAMETERS, void *address)
{
    BEGIN(API(cudaGraphAddMemFreeNode), NODE_WORDS, WORD(address));
    END(driver.cuGraphAddMemFreeNode(NODE_ARGUMENTS, WORD(address)));
}

static int depend(struct sim_graph *graph, const void *from, const void *to, size_t count)
{
    BEGIN(API(cudaGraphAddDependencies), WORD(graph), WORD(from), WORD(to), count);
    END(driver.cuGraphAddDependencies(graph, from, to, count));
}

/* From 13 on with edge data before the count. */
#if SIM_RUNTIME_VERSION >= 13000
ENTRY(cudaGraphAddDependencies, struct sim_graph *graph, const void *from, const void *to,
      const void *edges, size_t count)
{
    (void)edges;
    return depend(graph, from, to, count);
}
#else
ENTRY(cudaGraphAddDependencies, struct sim_graph *graph, const void *from, const void *to,
      size_t count)
{
    return depend(graph, from, to, count);
}
#endif

ENTRY(cudaGraphGetNodes, struct sim_graph *graph, struct sim_node **nodes, size_t *count)
{
    BEGIN(API(cudaGraphGetNodes), WORD(graph), WORD(nodes), WORD(count));
    END(driver.cuGraphGetNodes(graph, nodes, count));
}

ENTRY(cudaGraphClone, struct sim_graph **clone, struct sim_graph *original)
{
    BEGIN(API(cudaGraphClone), WORD(clone), WORD(original));
    END(driver.cuGraphClone(clone, original));
}

ENTRY(cudaGraphNodeFindInClone, struct sim_node **node, struct sim_node *original,
      struct sim_graph *clone)
{
    BEGIN(API(cudaGraphNodeFindInClone), WORD(node), WORD(original), WORD(clone));
    END(driver.cuGraphNodeFindInClone(node, original, clone));
}

/* Up to 11 the third argument was where to put the node that failed; nothing fails here. */
ENTRY(cudaGraphInstantiate, struct sim_graph **exec, struct sim_graph *graph, uint64_t flags)
{
    BEGIN(API(cudaGraphInstantiate), WORD(exec), WORD(graph), flags);
    END(driver.cuGraphInstantiateWithFlags(exec, graph, 0));
}

ENTRY(cudaGraphInstantiateWithFlags, struct sim_graph **exec, struct sim_graph *graph,
      uint64_t flags)
{
    BEGIN(API(cudaGraphInstantiateWithFlags), WORD(exec), WORD(graph), flags);
    END(driver.cuGraphInstantiateWithFlags(exec, graph, flags));
}

ENTRY(cudaGraphExecUpdate, struct sim_graph *exec, struct sim_graph *graph, int *result_info)
{
    BEGIN(API(cudaGraphExecUpdate), WORD(exec), WORD(graph), WORD(result_info));
    END(driver.cuGraphExecUpdate_v2(exec, graph, result_info));
}

static int do_cudaGraphLaunch(struct sim_api api, bool per_thread, struct sim_graph *exec,
                              void *stream)
{
    BEGIN(api, WORD(exec), WORD(stream));
    END(DRIVER(cuGraphLaunch, _ptsz, per_thread)(exec, stream));
}
PAIR(cudaGraphLaunch, _ptsz, (struct sim_graph * exec, void *stream), exec, stream)

static int do_cudaGraphUpload(struct sim_api api, bool per_thread, struct sim_graph *exec,
                              void *stream)
{
    BEGIN(api, WORD(exec), WORD(stream));
    END(DRIVER(cuGraphUpload, _ptsz, per_thread)(exec, stream));
}
PAIR(cudaGraphUpload, _ptsz, (struct sim_graph * exec, void *stream), exec, stream)

static int do_cudaStreamBeginCapture(struct sim_api api, bool per_thread, void *stream, int mode)
{
    BEGIN(api, WORD(stream), WORD(mode));
    END(DRIVER(cuStreamBeginCapture_v2, _ptsz, per_thread)(stream, mode));
}
PAIR(cudaStreamBeginCapture, _ptsz, (void *stream, int mode), stream, mode)

static int do_cudaStreamEndCapture(struct sim_api api, bool per_thread, void *stream,
                                   struct sim_graph **graph)
{
    BEGIN(api, WORD(stream), WORD(graph));
    END(DRIVER(cuStreamEndCapture, _ptsz, per_thread)(stream, graph));
}
PAIR(cudaStreamEndCapture, _ptsz, (void *stream, struct sim_graph **graph), stream, graph)

static int do_cudaStreamIsCapturing(struct sim_api api, bool per_thread, void *stream, int *status)
{
    BEGIN(api, WORD(stream), WORD(status));
    END(DRIVER(cuStreamIsCapturing, _ptsz, per_thread)(stream, status));
}
PAIR(cudaStreamIsCapturing, _ptsz, (void *stream, int *status), stream, status)
