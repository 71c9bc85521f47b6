/* SPDX-License-Identifier: MIT */
#ifndef TP_AGENT_OWN_THREAD_H
#define TP_AGENT_OWN_THREAD_H

#include <pthread.h>
#include <stddef.h>

typedef int tp_make_thread(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);

/**
 * tp_own_thread_make - a detached thread of the agent's, to which no signal of the program comes
 * @make_thread: the host libc's pthread_create; NULL where it is not known
 * @stack_bytes: 0 the program's own default
 *
 * Context: as pthread_create.
 * Return: 0 or -errno.
 */
int tp_own_thread_make(tp_make_thread *make_thread, size_t stack_bytes, void *(*run)(void *),
                       void *argument);

#endif
