/* SPDX-License-Identifier: MIT */
/* One way to end per argument. */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void exit_now(int number)
{
    _exit(40 + number);
}

static void *allocate_for_ever(void *argument)
{
    for (;;)
        free(malloc(100));
    return argument;
}

static void *sleep_for_ever(void *argument)
{
    for (;;)
        pause();
    return argument;
}

static void say_bye(void)
{
    puts("bye");
}

static void cancel_threads(void)
{
    for (int i = 0; i < 50; i++) {
        pthread_t thread;
        void *result;
        pthread_create(&thread, NULL, sleep_for_ever, NULL);
        pthread_cancel(thread);
        pthread_join(thread, &result);
        if (result != PTHREAD_CANCELED)
            exit(3);
    }
    puts("cancelled");
}

int main(int argc, char **argv)
{
    const char *way = argc > 1 ? argv[1] : "";
    pthread_t thread;

    if (!strcmp(way, "abort"))
        abort();
    if (!strcmp(way, "segv"))
        *(volatile int *)0 = 1;
    if (!strcmp(way, "exit_in_handler")) {
        signal(SIGUSR1, exit_now);
        raise(SIGUSR1);
    }
    atexit(say_bye);
    at_quick_exit(say_bye);
    if (!strcmp(way, "quick_exit"))
        quick_exit(5);
    if (!strcmp(way, "pthread_exit"))
        pthread_exit(NULL);
    if (!strcmp(way, "busy_threads")) {
        for (int i = 0; i < 3; i++)
            pthread_create(&thread, NULL, allocate_for_ever, NULL);
        usleep(20000);
        return 6;
    }
    if (!strcmp(way, "cancel"))
        cancel_threads();
    return 0;
}
