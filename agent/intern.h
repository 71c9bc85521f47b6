/* SPDX-License-Identifier: MIT */
#ifndef TP_AGENT_INTERN_H
#define TP_AGENT_INTERN_H

#include "agent.h"
#include "record.h"

/**
 * tp_intern_record - as tp_intern, and the record itself
 * Return: the record in the names file (stays for ever), or NULL: *ret_id then says why, or is 0
 * before arming.
 */
const struct tp_name_record *tp_intern_record(enum tp_name_kind kind, const void *bytes,
                                              size_t size, uint32_t *ret_id);

/**
 * tp_names_ready - make sure that the calling thread has its control block and the process its
 * names
 *
 * A name is always wanted for a record that follows, so this is where a process often meets its
 * first event. Context: hook.
 */
static inline bool tp_names_ready(void)
{
    const struct tp_thread *t = tp_tls.thread;

    return tp_likely(t && t->slots) || tp_thread_attach();
}

#endif
