/* SPDX-License-Identifier: MIT
 * Preloaded behind the agent: the first thread of all cannot be made. */
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdbool.h>

int pthread_create(pthread_t *ret_thread, const pthread_attr_t *attributes, void *(*start)(void *),
                   void *argument)
{
    static bool is_refused;
    int (*next)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);

    if (!is_refused) {
        is_refused = true;
        return EAGAIN;
    }
    *(void **)&next = dlsym(RTLD_NEXT, "pthread_create");
    return next(ret_thread, attributes, start, argument);
}
