/* SPDX-License-Identifier: MIT */
#ifndef TP_AGENT_SELF_H
#define TP_AGENT_SELF_H

#include <stddef.h>

/** tp_self_path - absolute path of the agent's own file; "" when it cannot be told. Context: start.
 */
const char *tp_self_path(void);

/**
 * tp_self_offer - where an environment variable names the tool that a library is to load, name the
 * agent
 * @variable: set to our own path if it is unset or empty; left alone if it is set to something else
 * @why, @size: filled when the place is taken: "VARIABLE belongs to FILE"
 *
 * Context: start.
 * Return: 0 when the variable names us now, -EEXIST when it names another, -ENOENT when we do not
 * know our path.
 */
int tp_self_offer(const char *variable, char *why, size_t size);

#endif
