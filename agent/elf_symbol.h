/* SPDX-License-Identifier: MIT */
#ifndef TP_AGENT_ELF_SYMBOL_H
#define TP_AGENT_ELF_SYMBOL_H

/*
 * Symbols of a loaded object by its own hash table (DT_GNU_HASH), where dlsym(3) must not be
 * called: it takes the loader's locks, and a hook may run inside of the loader.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct link_map;

/**
 * tp_elf_symbol - what @object itself defines under @name, of any version
 * @object: stays loaded meanwhile
 * @ret_size: as the symbol tells it; may be NULL
 *
 * Context: hook. No lock, no allocation. Return: false: nothing, and nothing is set.
 */
bool tp_elf_symbol(const struct link_map *object, const char *name, uintptr_t *ret_address,
                   size_t *ret_size);

#endif
