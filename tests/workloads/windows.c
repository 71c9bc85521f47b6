/* SPDX-License-Identifier: MIT */
/*
 * Does what standard input says, a command a line, and answers each with a line when it is done: a
 * test decides what happens between two commands. Commands of the form "on N COMMAND" are done by
 * thread N, which is made when it is first named.
 *
 *   begin NAME, end              a range of tpagent.h
 *   start N NAME, stop N         one that may end elsewhere; N from 0
 *   push NAME, pop, nstart N NAME, nstop N     the same of NVTX
 *   task NAME, taskend, over N NAME, overend N the same of ITT
 *   own N, ignore N, default N, signal N, unsignal N, ask N    what handles signal N
 *   calls                        how often our handler ran
 *   fork                         a child does what follows, up to its "exit"
 *   quit                         the thread ends
 *   exit
 */
#include <semaphore.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "itt_stub.h"
#include "tpagent.h"

#ifdef WITH_NVTX
#include <nvtx3/nvToolsExt.h>
#else
#define nvtxRangePushA(name) (void)(name)
#define nvtxRangePop() (void)0
#define nvtxRangeStartA(name) ((void)(name), 0ul)
#define nvtxRangeEnd(id) (void)(id)
#endif

#define THREADS 8
#define SLOTS 512

static uint64_t ranges[SLOTS], nvtx_ranges[SLOTS];
static struct domain *domain;
static volatile sig_atomic_t handler_calls;
static bool over;
static pid_t in_child;

static void on_signal(int number)
{
    (void)number;
    handler_calls++;
}

static const char *action_name(void (*handler)(int))
{
    return handler == SIG_DFL     ? "default"
           : handler == SIG_IGN   ? "ignored"
           : handler == on_signal ? "own"
           : handler == SIG_ERR   ? "error"
                                  : "another";
}

/* Set by sigaction; what it was before is the answer. */
static const char *act(int number, void (*handler)(int), bool ask)
{
    struct sigaction action = {.sa_handler = handler, .sa_flags = SA_RESTART}, old;

    if (sigaction(number, ask ? NULL : &action, &old) < 0)
        return "error";
    return action_name(old.sa_handler);
}

static bool do_signals(const char *verb, int number, const char **ret_answer)
{
    if (!strcmp(verb, "own"))
        *ret_answer = act(number, on_signal, false);
    else if (!strcmp(verb, "ignore"))
        *ret_answer = act(number, SIG_IGN, false);
    else if (!strcmp(verb, "default"))
        *ret_answer = act(number, SIG_DFL, false);
    else if (!strcmp(verb, "ask"))
        *ret_answer = act(number, SIG_DFL, true);
    else if (!strcmp(verb, "signal"))
        *ret_answer = action_name(signal(number, on_signal));
    else if (!strcmp(verb, "unsignal"))
        *ret_answer = action_name(signal(number, SIG_DFL));
    else
        return false;
    return true;
}

static bool do_ranges(const char *verb, const char *name)
{
    if (!strcmp(verb, "begin"))
        tpagent_begin(name);
    else if (!strcmp(verb, "end"))
        tpagent_end();
    else if (!strcmp(verb, "push"))
        nvtxRangePushA(name);
    else if (!strcmp(verb, "pop"))
        nvtxRangePop();
    else if (!strcmp(verb, "task"))
        itt_task_begin(domain, (struct id){0}, (struct id){0}, itt_string_handle_create(name));
    else if (!strcmp(verb, "taskend"))
        itt_task_end(domain);
    else
        return false;
    return true;
}

static bool do_elsewhere(const char *verb, unsigned slot, const char *name)
{
    struct id id = {slot + 1, 0, 0};

    if (slot >= SLOTS)
        return false;
    if (!strcmp(verb, "start"))
        ranges[slot] = tpagent_async_begin(name);
    else if (!strcmp(verb, "stop"))
        tpagent_async_end(ranges[slot]);
    else if (!strcmp(verb, "nstart"))
        nvtx_ranges[slot] = nvtxRangeStartA(name);
    else if (!strcmp(verb, "nstop"))
        nvtxRangeEnd(nvtx_ranges[slot]);
    else if (!strcmp(verb, "over"))
        itt_task_begin_overlapped(domain, id, (struct id){0}, itt_string_handle_create(name));
    else if (!strcmp(verb, "overend"))
        itt_task_end_overlapped(domain, id);
    else
        return false;
    return true;
}

static void do_command(const char *line, char *answer, size_t size)
{
    char verb[16] = "", name[200] = "", rest[200] = "";
    const char *text = "done";
    unsigned number = 0;

    sscanf(line, "%15s %199[^\n]", verb, name);
    sscanf(name, "%u %199[^\n]", &number, rest);
    if (!strcmp(verb, "exit")) {
        over = true;
    } else if (!strcmp(verb, "calls")) {
        snprintf(answer, size, "%d", (int)handler_calls);
        return;
    } else if (!strcmp(verb, "fork")) {
        pid_t child = fork();
        in_child = child ? in_child : getpid();
        if (child > 0)
            waitpid(child, NULL, 0);
        text = child ? "parent" : "child";
    } else if (!do_ranges(verb, name) && !do_elsewhere(verb, number, rest) &&
               !do_signals(verb, (int)number, &text)) {
        text = "unknown";
    }
    snprintf(answer, size, "%s", text);
}

static struct worker {
    pthread_t thread;
    sem_t go, done;
    bool made;
    char line[256], answer[64];
} workers[THREADS];

static void *work(void *argument)
{
    struct worker *self = argument;

    for (bool quit = false; !quit;) {
        while (sem_wait(&self->go))
            ;
        quit = !strcmp(self->line, "quit\n");
        do_command(self->line, self->answer, sizeof(self->answer));
        if (!quit)
            sem_post(&self->done);
    }
    return NULL;
}

static const char *on_thread(const char *line)
{
    unsigned number = 0;
    int at = 0;

    sscanf(line, "on %u %n", &number, &at);
    struct worker *worker = &workers[number % THREADS];
    if (!worker->made) {
        worker->made = true;
        sem_init(&worker->go, 0, 0);
        sem_init(&worker->done, 0, 0);
        pthread_create(&worker->thread, NULL, work, worker);
    }
    snprintf(worker->line, sizeof(worker->line), "%s", line + at);
    sem_post(&worker->go);
    if (!strcmp(worker->line, "quit\n")) {
        pthread_join(worker->thread, NULL);
        worker->made = false;
        return "done";
    }
    while (sem_wait(&worker->done))
        ;
    return worker->answer;
}

int main(void)
{
    char line[256], answer[64];

    setvbuf(stdin, NULL, _IONBF, 0); /* a child goes on where its parent is */
    if (load_collector())
        domain = itt_domain_create("domain");
    while (!over && fgets(line, sizeof(line), stdin)) {
        const char *text = answer;
        if (!strncmp(line, "on ", 3))
            text = on_thread(line);
        else
            do_command(line, answer, sizeof(answer));
        printf("%s\n", text);
        fflush(stdout);
    }
    return 0;
}
