/* SPDX-License-Identifier: MIT */
/*
 * Handles made before a fork are used after it, by parent and child: by the fork of libc, and by
 * one that libc does not know of. A range that is open in the parent is none of the child's.
 */
#include <signal.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "itt_stub.h"
#include "tpagent.h"

static const struct id no_id;
static struct domain *domain;
static struct string_handle *before, *unused;

static void in_child(const char *name)
{
    tpagent_end(); /* the parent's range */
    tpagent_begin(name);
    itt_task_begin(domain, no_id, no_id, unused);
    itt_task_begin(domain, no_id, no_id, before);
    itt_task_begin(domain, no_id, no_id, itt_string_handle_create(name));
    itt_task_end(domain);
    itt_task_end(domain);
    itt_task_end(domain);
    tpagent_end();
}

int main(int argc, char **argv)
{
    pid_t child;

    (void)argc;
    (void)argv;
    if (!load_collector())
        return 1;
    domain = itt_domain_create("domain");
    before = itt_string_handle_create("made before the fork");
    unused = itt_string_handle_create("not used before the fork");
    tpagent_begin("parent");
    itt_task_begin(domain, no_id, no_id, before);
    child = fork();
    if (child == 0) {
        in_child("child of fork");
        _exit(0);
    }
    waitpid(child, NULL, 0);
    child = (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
    if (child == 0) {
        in_child("child of clone");
        _exit(0);
    }
    waitpid(child, NULL, 0);
    itt_task_end(domain);
    tpagent_end();
    return 0;
}
