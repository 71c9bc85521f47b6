/* SPDX-License-Identifier: MIT */
/* Children of every kind, from a program whose other threads allocate all the time. */
#include <pthread.h>
#include <spawn.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

static atomic_int stop;

static void *allocate(void *argument)
{
    while (!stop)
        free(malloc(1000));
    return argument;
}

static int status_of(pid_t pid)
{
    int status = -1;

    waitpid(pid, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

static void *work(void *argument)
{
    free(malloc(5000));
    return argument;
}

/* In a child: allocate, make a thread, fork again. */
static void child(int depth)
{
    pthread_t thread;
    void *p = malloc(100000);

    memset(p, 1, 100000);
    free(p);
    if (!pthread_create(&thread, NULL, work, NULL))
        pthread_join(thread, NULL);
    if (depth) {
        pid_t pid = fork();
        if (!pid) {
            child(depth - 1);
            _exit(10 + depth);
        }
        if (status_of(pid) != 10 + depth)
            _exit(99);
    }
}

int main(void)
{
    pthread_t threads[2];
    char *arguments[] = {(char *)"true", NULL}, *missing[] = {(char *)"/does/not/exist", NULL};
    int good = 0;
    pid_t pid;

    for (int i = 0; i < 2; i++)
        pthread_create(&threads[i], NULL, allocate, NULL);
    for (int i = 0; i < 300; i++) {
        if (!(pid = fork())) {
            if (i % 3 == 0)
                child(2);
            _exit(i % 50);
        }
        good += status_of(pid) == i % 50;
    }
    printf("fork %d\n", good);
    pid = vfork();
    if (!pid) {
        execvp("true", arguments);
        _exit(1);
    }
    printf("vfork and exec %d\n", status_of(pid));
    pid = vfork();
    if (!pid) {
        execv(missing[0], missing);
        _exit(33);
    }
    printf("vfork, failed exec, _exit %d\n", status_of(pid));
    printf("posix_spawn %d ", posix_spawnp(&pid, "true", NULL, NULL, arguments, environ));
    printf("%d\n", status_of(pid));
    printf("system %d\n", WEXITSTATUS(system("exit 12")));
    pid = (pid_t)syscall(SYS_clone, 17 /* SIGCHLD */, 0, 0, 0, 0);
    if (!pid) {
        free(malloc(10));
        _exit(21);
    }
    printf("raw clone %d\n", status_of(pid));
    pid = fork();
    if (!pid) {
        execlp("sh", "sh", "-c", "exit 14", (char *)NULL);
        _exit(1);
    }
    printf("fork and exec %d\n", status_of(pid));
    stop = 1;
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    return 0;
}
