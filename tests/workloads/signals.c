/* SPDX-License-Identifier: MIT */
/*
 * Ranges on a thread, and ranges in the handler of a timer that interrupts it all the time: also in
 * the midst of a record. Prints how many calls there were.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/time.h>

#include "tpagent.h"

static volatile unsigned long handler_calls;

static void on_timer(int number)
{
    (void)number;
    tpagent_begin("in the handler");
    tpagent_begin("deeper in the handler");
    tpagent_end();
    tpagent_end();
    handler_calls += 4;
}

int main(int argc, char **argv)
{
    unsigned long pairs = argc > 1 ? strtoul(argv[1], NULL, 10) : 2000000, calls = 0;
    struct itimerval timer = {{0, 50}, {0, 50}}, stop = {{0, 0}, {0, 0}};
    struct sigaction action = {.sa_handler = on_timer, .sa_flags = SA_RESTART};

    sigaction(SIGALRM, &action, NULL);
    setitimer(ITIMER_REAL, &timer, NULL);
    for (unsigned long i = 0; i < pairs; i++) {
        tpagent_begin("outer");
        tpagent_begin("inner");
        tpagent_end();
        tpagent_end();
        calls += 4;
    }
    setitimer(ITIMER_REAL, &stop, NULL);
    printf("calls %lu\n", calls + handler_calls);
    fprintf(stderr, "%lu of them in the handler\n", handler_calls);
    return handler_calls == 0;
}
