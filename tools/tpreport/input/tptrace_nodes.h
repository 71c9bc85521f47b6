/* SPDX-License-Identifier: MIT
 * Where the nodes of graphs were captured. A launch replays them somewhere else, and a graph that
 * is made ready to run has copies of them. */
#ifndef TP_INPUT_TPTRACE_NODES_H
#define TP_INPUT_TPTRACE_NODES_H

#include "input/tptrace_stream.h"

/* A thread made or copied a node of a graph. */
struct tptrace_node_item {
    uint64_t user, node, original; /* original 0: it is no copy */
    uint64_t ordinal, sequence;    /* of the record's track, of the innermost range */
    uint32_t name;                 /* string id of that range's; TP_STRING_NONE: there was none */
};

/* Start from zeros. */
struct tptrace_nodes {
    struct tptrace_node_item *items;
    size_t count, capacity;
};

/** tptrace_nodes_take - a CUDA_NODE record. Return: 0 or -ENOMEM. */
int tptrace_nodes_take(struct tptrace_nodes *nodes, const struct tptrace_source *source,
                       const uint64_t *record, const struct tp_stream *stream);

/** tptrace_nodes_sort - there are all of them */
void tptrace_nodes_sort(struct tptrace_nodes *nodes);

/** tptrace_nodes_origin - of sorted ones: the name of the range in which a process's node, or the
 * one that it is a copy of, was captured; TP_STRING_NONE for none, or not known */
uint32_t tptrace_nodes_origin(const struct tptrace_nodes *nodes, uint64_t user, uint64_t node);

void tptrace_nodes_fini(struct tptrace_nodes *nodes);

#endif
