/* SPDX-License-Identifier: MIT */
/* A profiling timer at 1 kHz whose handler runs on its own stack, while allocations go on; and a
 * handler that jumps away. */
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/time.h>
#include <time.h>

static volatile sig_atomic_t ticks;
static sigjmp_buf back;

static void on_tick(int number)
{
    (void)number;
    ticks++;
}

static void jump_away(int number)
{
    (void)number;
    siglongjmp(back, 1);
}

int main(void)
{
    static char stack[65536];
    stack_t alternate = {.ss_sp = stack, .ss_size = sizeof(stack)};
    struct sigaction action = {.sa_handler = on_tick, .sa_flags = SA_ONSTACK | SA_RESTART};
    struct itimerval timer = {{0, 1000}, {0, 1000}};
    unsigned long sum = 0;
    volatile int jumps = 0;

    sigaltstack(&alternate, NULL);
    sigaction(SIGPROF, &action, NULL);
    setitimer(ITIMER_PROF, &timer, NULL);
    while (ticks < 200) {
        void *p = malloc(1 + sum % 3000);
        sum++;
        free(p);
    }
    timer = (struct itimerval){{0, 0}, {0, 0}};
    setitimer(ITIMER_PROF, &timer, NULL);
    signal(SIGUSR1, jump_away);
    for (volatile int i = 0; i < 100; i++)
        if (!sigsetjmp(back, 1))
            raise(SIGUSR1);
        else
            jumps++;
    printf("%d %d\n", ticks >= 200, jumps);
    return 0;
}
