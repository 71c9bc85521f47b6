/* SPDX-License-Identifier: MIT */
/*
 * Graphs: a list of nodes in the order in which they were added, which is the order in which a
 * launch runs them, one after the other; dependencies are accepted and not looked at. Instantiation
 * clones the nodes. Ids of graphs and executable graphs are one sequence; a node's id has its
 * graph's in the upper half.
 *
 * A launch gives a record a node, or one for itself where the observer asks for that. Nodes of a
 * graph that was instantiated before anyone observed give none.
 */
#include "driver.h"

#include <stdlib.h>

uint32_t sim_graph_id(const struct sim_graph *graph)
{
    return graph->id;
}

uint64_t sim_node_id(const struct sim_node *node)
{
    return node->id;
}

uint32_t sim_node_type(const struct sim_node *node)
{
    return node->type;
}

static struct sim_graph *make(void)
{
    struct sim_graph *graph = calloc(1, sizeof *graph);
    graph->end = &graph->first;
    graph->id = __atomic_add_fetch(&sim.next_graph, 1, __ATOMIC_RELAXED);
    graph->observed = sim.observer.work;
    return graph;
}

static void tell(enum sim_resource_event event, struct sim_graph *graph, struct sim_node *node,
                 struct sim_graph *original, struct sim_graph *exec)
{
    struct sim_resource resource = {
        .context = sim_current_context(),
        .graph = graph,
        .node = node,
        .original_graph = original,
        .original_node = node ? node->original : NULL,
        .exec = exec,
    };
    OBSERVE(resource, event, &resource);
}

struct sim_graph *sim_graph_create(void)
{
    struct sim_graph *graph = make();
    tell(SIM_GRAPH_CREATED, graph, NULL, NULL, NULL);
    return graph;
}

static struct sim_node *append(struct sim_graph *graph, const struct sim_node *like)
{
    struct sim_node *node = malloc(sizeof *node);
    *node = *like;
    node->graph = graph;
    node->next = NULL;
    pthread_mutex_lock(&sim_lock);
    node->id = (uint64_t)graph->id << 32 | graph->node_count++;
    *graph->end = node;
    graph->end = &node->next;
    pthread_mutex_unlock(&sim_lock);
    return node;
}

struct sim_node *sim_graph_add(struct sim_graph *graph, const struct sim_node *like)
{
    tell(SIM_NODE_CREATING, graph, NULL, NULL, NULL);
    struct sim_node *node = append(graph, like);
    tell(SIM_NODE_CREATED, graph, node, NULL, NULL);
    return node;
}

static void clone_nodes(struct sim_graph *to, const struct sim_graph *from)
{
    for (struct sim_node *each = from->first; each; each = each->next) {
        struct sim_node like = *each;
        like.original = each;
        if (each->child)
            like.child = sim_graph_clone(each->child);
        struct sim_node *node = append(to, &like);
        tell(SIM_NODE_CLONED, to, node, each->graph, NULL);
    }
}

struct sim_graph *sim_graph_clone(struct sim_graph *original)
{
    struct sim_graph *graph = make();
    graph->original = original;
    tell(SIM_GRAPH_CLONED, graph, NULL, original, NULL);
    clone_nodes(graph, original);
    return graph;
}

struct sim_graph *sim_graph_instantiate(struct sim_graph *original)
{
    tell(SIM_EXEC_CREATING, original, NULL, NULL, NULL);
    struct sim_graph *exec = make();
    exec->original = original;
    exec->executable = true;
    clone_nodes(exec, original);
    tell(SIM_EXEC_CREATED, original, NULL, NULL, exec);
    return exec;
}

void sim_graph_destroy(struct sim_graph *graph)
{
    if (graph->executable)
        tell(SIM_EXEC_DESTROY, NULL, NULL, NULL, graph);
    else
        tell(SIM_GRAPH_DESTROY, graph, NULL, NULL, NULL);
    for (struct sim_node *each = graph->first, *next; each; each = next) {
        next = each->next;
        free(each);
    }
    free(graph);
}

static enum sim_node_type type_of(const struct sim_work *work, const struct sim_action *action)
{
    if (work)
        return work->kind == SIM_KERNEL ? SIM_NODE_KERNEL
               : work->kind == SIM_SET  ? SIM_NODE_MEMSET
                                        : SIM_NODE_MEMCPY;
    return action->kind == SIM_ALLOCATE  ? SIM_NODE_ALLOCATE
           : action->kind == SIM_RELEASE ? SIM_NODE_FREE
                                         : SIM_NODE_HOST;
}

void sim_capture(struct sim_stream *stream, const struct sim_work *work, uint64_t length,
                 const struct sim_action *action)
{
    struct sim_node node = {.type = type_of(work, action), .has_work = work, .length = length};
    if (work)
        node.work = *work;
    if (action)
        node.action = *action;
    sim_graph_add(stream->capturing, &node);
}

/* Memory of a graph: allocated and released in the stream's order, at an address that is known
 * before. */
static void run_memory(const struct sim_node *node, struct sim_stream *stream)
{
    struct sim_memory memory = {
        .release = node->type == SIM_NODE_FREE,
        .kind = SIM_DEVICE_MEMORY,
        .address = node->action.to,
        .bytes = node->action.width,
        .time = sim_now(),
        .correlation = sim_work_correlation(),
        .context = stream->context,
        .stream = stream->id,
        .async = true,
    };
    OBSERVE(memory, &memory);
}

static void run(const struct sim_graph *exec, const struct sim_graph *top,
                struct sim_stream *stream, bool nodes, struct sim_work *whole)
{
    for (const struct sim_node *each = exec->first; each; each = each->next) {
        if (each->child)
            run(each->child, top, stream, nodes, whole);
        if (each->type == SIM_NODE_ALLOCATE || each->type == SIM_NODE_FREE)
            run_memory(each, stream);
        sim_action_do(&each->action);
        if (!each->has_work)
            continue;
        struct sim_work work = each->work;
        work.node = each->id;
        work.graph = top->id;
        pthread_mutex_lock(&sim_lock);
        sim_stream_place(stream, &work, each->length);
        pthread_mutex_unlock(&sim_lock);
        if (!whole->end)
            *whole = (struct sim_work){.start = work.start};
        whole->end = work.end;
        if (nodes)
            OBSERVE(work, &work);
    }
}

void sim_graph_launch(const struct sim_graph *exec, struct sim_stream *stream)
{
    bool nodes = !sim.observer.wants_nodes || sim.observer.wants_nodes();
    struct sim_work whole = {0};
    run(exec, exec, stream, nodes && exec->observed, &whole);
    if (nodes)
        return;
    whole.kind = SIM_GRAPH;
    whole.context = stream->context;
    whole.stream = stream->id;
    whole.graph = exec->id;
    whole.correlation = sim_work_correlation();
    OBSERVE(work, &whole);
}
