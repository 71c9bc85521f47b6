/* SPDX-License-Identifier: MIT */
#ifndef TP_MODEL_DEMANGLE_H
#define TP_MODEL_DEMANGLE_H

/**
 * tp_demangle - a C++ symbol as its author wrote it
 * @symbol: begins with "_Z"; terminated
 *
 * Context: offline, any thread.
 * Return: a text for free(), or NULL: no such symbol, no memory, or built without a demangler.
 */
char *tp_demangle(const char *symbol);

#endif
