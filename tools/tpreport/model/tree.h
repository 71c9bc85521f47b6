/* SPDX-License-Identifier: MIT */
#ifndef TP_MODEL_TREE_H
#define TP_MODEL_TREE_H

#include "base/error.h"
#include "model/event_list.h"

/**
 * tp_tree_build - nest the events that have no tree yet, fold repeated names, join backward stacks
 *
 * With list->is_nested (cleared here) the events' parents are set already, each before its children
 * in the list; only the lists of children are made.
 *
 * @list: events from list->tree_count on are taken as one recording; earlier ones are left alone
 * @diag: names the event when a backward event has no forward thread
 *
 * Any depth: nothing here is recursive.
 *
 * Context: offline, the list's thread.
 * Return: 0, -ENOMEM or -TP_EVALUE.
 */
int tp_tree_build(struct tp_event_list *list, struct tp_diag *diag);

/**
 * tp_tree_times - self CPU times, device times and self memory of every event, children first
 * @diag: names the event whose device type cannot carry device time
 *
 * Context: offline, the list's thread; the tree is built.
 * Return: 0 or -TP_EVALUE.
 */
int tp_tree_times(struct tp_event_list *list, struct tp_diag *diag);

#endif
