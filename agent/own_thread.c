/* SPDX-License-Identifier: MIT */
#include "own_thread.h"

#include <errno.h>

#include "base/os.h"

int tp_own_thread_make(tp_make_thread *make_thread, size_t stack_bytes, void *(*run)(void *),
                       void *argument)
{
    pthread_attr_t attributes;
    pthread_t thread;
    uint64_t signals;

    if (!make_thread || pthread_attr_init(&attributes))
        return -ENOMEM;
    if (stack_bytes)
        pthread_attr_setstacksize(&attributes, stack_bytes);
    pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    tp_os_block_signals(&signals);
    int error = make_thread(&thread, &attributes, run, argument);
    tp_os_restore_signals(&signals);
    pthread_attr_destroy(&attributes);
    return -error;
}
