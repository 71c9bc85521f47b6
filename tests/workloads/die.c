/* SPDX-License-Identifier: MIT
 * die WAY RANGES: main makes RANGES ranges, opens one more, and ends in the named way. Ways that
 * make other processes make RANGES in each of them. */
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tpagent.h"

extern char **environ;
static char *self, *count_text;
static char way_return[] = "return";
static long count;

static void make_ranges(void)
{
    for (long i = 0; i < count; i++) {
        tpagent_begin("range");
        tpagent_end();
    }
}

static void *make_in_thread(void *argument)
{
    make_ranges();
    return argument;
}

static void exit_now(int number)
{
    _exit(number);
}

static void use_up_memory(void)
{
    for (;;) {
        volatile char *memory = malloc(1 << 20);
        for (size_t i = 0; memory && i < 1 << 20; i += 4096)
            memory[i] = 1;
    }
}

static void exec_again(char **environment)
{
    char *const arguments[] = {self, way_return, count_text, NULL};

    execve(self, arguments, environment);
    exit(9);
}

static void wait_for(pid_t pid)
{
    int status;

    if (waitpid(pid, &status, 0) != pid || status)
        exit(8);
}

/* The first parent goes at once, the second one too; who is left works on when both are gone. */
static void become_daemon(void)
{
    int done[2];
    char byte;

    if (pipe(done))
        exit(7);
    pid_t pid = fork();
    if (pid) {
        close(done[1]);
        wait_for(pid);
        if (read(done[0], &byte, 1) != 0) /* until the daemon is gone */
            exit(6);
        return;
    }
    setsid();
    if (fork())
        _exit(0);
    close(done[0]);
    while (getppid() != 1 && sched_yield() == 0)
        if (kill(getppid(), 0))
            break;
    make_ranges();
    exit(0);
}

static void spawn(char **environment)
{
    char *const arguments[] = {self, way_return, count_text, NULL};
    pid_t pid;

    if (posix_spawn(&pid, self, NULL, NULL, arguments, environment))
        exit(5);
    wait_for(pid);
}

static void exec_in_vfork(void)
{
    char *const arguments[] = {self, way_return, count_text, NULL};
    pid_t pid = vfork();

    if (!pid) {
        execv(self, arguments);
        _exit(4);
    }
    wait_for(pid);
    pid = vfork();
    if (!pid) {
        execv("/no/such/program", arguments);
        _exit(0);
    }
    wait_for(pid);
}

static void clone_without_handlers(void)
{
    pid_t pid = (pid_t)syscall(SYS_clone, SIGCHLD, NULL, NULL, NULL, 0);

    if (!pid) {
        make_ranges();
        _exit(0);
    }
    wait_for(pid);
}

static void fork_deep(int depth)
{
    pid_t pid = depth ? fork() : 1;

    if (!pid) {
        make_ranges();
        fork_deep(depth - 1);
        exit(0);
    }
    if (depth)
        wait_for(pid);
}

/* Only what the loader needs is left of the environment. */
static char **trimmed(void)
{
    static char *kept[3];
    int used = 0;

    for (char **e = environ; *e && used < 2; e++)
        if (!strncmp(*e, "LD_PRELOAD=", 11) || !strncmp(*e, "TPAGENT_RUN_DIR=", 16))
            kept[used++] = *e;
    return kept;
}

static void do_abort(void)
{
    abort();
}
static void do_segv(void)
{
    *(volatile int *)0 = 1;
}
static void do_kill(void)
{
    kill(getpid(), SIGKILL);
}
static void do_exit(void)
{
    exit(0);
}
static void do_fast_exit(void)
{
    _exit(0);
}
static void do_exit_in_handler(void)
{
    signal(SIGUSR1, exit_now);
    raise(SIGUSR1);
}
static void do_exec(void)
{
    exec_again(environ);
}
static void do_exec_trimmed(void)
{
    exec_again(trimmed());
}
static void do_exec_cleared(void)
{
    static char *nothing[] = {NULL};

    exec_again(nothing);
}
static void do_fork(void)
{
    fork_deep(3);
}
static void do_spawn(void)
{
    spawn(environ);
}
static void do_spawn_trimmed(void)
{
    spawn(trimmed());
}
static void do_spawn_cleared(void)
{
    static char *nothing[] = {NULL};

    spawn(nothing);
}
static void do_thread(void)
{
    pthread_t thread;

    if (pthread_create(&thread, NULL, make_in_thread, NULL))
        exit(8);
    pthread_join(thread, NULL);
}
static void do_nothing(void)
{
}

static const struct {
    const char *name;
    void (*act)(void);
} ways[] = {
    {"return", do_nothing},
    {"thread", do_thread},
    {"exit", do_exit},
    {"_exit", do_fast_exit},
    {"handler", do_exit_in_handler},
    {"abort", do_abort},
    {"segv", do_segv},
    {"kill", do_kill},
    {"oom", use_up_memory},
    {"exec", do_exec},
    {"exec_trimmed", do_exec_trimmed},
    {"exec_cleared", do_exec_cleared},
    {"daemon", become_daemon},
    {"fork", do_fork},
    {"vfork", exec_in_vfork},
    {"spawn", do_spawn},
    {"spawn_trimmed", do_spawn_trimmed},
    {"spawn_cleared", do_spawn_cleared},
    {"clone", clone_without_handlers},
};

int main(int argc, char **argv)
{
    if (argc != 3)
        return 2;
    self = argv[0];
    count_text = argv[2];
    count = atol(count_text);
    make_ranges();
    for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++) {
        if (strcmp(argv[1], ways[i].name) != 0)
            continue;
        if (i)
            tpagent_begin("last");
        ways[i].act();
        return 0;
    }
    return 2;
}
