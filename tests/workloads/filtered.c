/* SPDX-License-Identifier: MIT
 * filtered syscall|prctl [threads|asleep]: forbids itself, on pain of death, every system call but
 * what it still makes; ranges and allocations before (but where asleep) and after, and a forked
 * child's first ones. */
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "tpagent.h"

#define ALLOW(number)                                                                              \
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number, 0, 1), BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)

static struct sock_filter rules[] = {
    BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
    ALLOW(SYS_write),
    ALLOW(SYS_exit_group),
    ALLOW(SYS_brk),
    ALLOW(SYS_prctl),
    ALLOW(SYS_execve),
    BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
};

static void *work(void *argument)
{
    for (int i = 0; i < 2000; i++) {
        tpagent_begin("work");
        free(malloc((size_t)i));
        tpagent_end();
    }
    return argument;
}

static int install(const char *way, int all_threads)
{
    struct sock_fprog program = {sizeof(rules) / sizeof(rules[0]), rules};

    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    if (!strcmp(way, "prctl"))
        return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0);
    return (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER,
                        all_threads ? SECCOMP_FILTER_FLAG_TSYNC : 0, &program);
}

int main(int argc, char **argv)
{
    int asleep = argc > 2 && !strcmp(argv[2], "asleep"), threads = argc > 2 && !asleep;
    pthread_t thread;

    printf("can filter: %d\n", prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, NULL, 0, 0));
    fflush(stdout);
    if (!asleep)
        work(NULL);
    if (threads) {
        pthread_create(&thread, NULL, work, NULL);
        pthread_join(thread, NULL);
    }
    if (argc < 2 || install(argv[1], threads))
        return 9;
    work(NULL);
    pthread_setname_np(pthread_self(), "named");
    prctl(PR_SET_NAME, "named again", 0, 0, 0);
    execv("/no/such/program", argv);
    puts("lives");
    return 3;
}
