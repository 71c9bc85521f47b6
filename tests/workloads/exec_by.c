/* SPDX-License-Identifier: MIT
 * exec_by FUNCTION[,quiet|,thread|,vfork] PROGRAM ARGUMENT...: makes a range (but where quiet) and
 * calls the function of exec with the program, from a second thread or a child where so asked. When
 * it comes back: says the error, makes one more range, and ends as without. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tpagent.h"

extern char **environ;
static char *function, *path, **arguments;

static int is(const char *name)
{
    return !strncmp(function, name, strcspn(function, ",")) && name[strcspn(function, ",")] == '\0';
}

static void *call(void *unused)
{
    char *a = arguments[0], *b = arguments[1], *c = b ? arguments[2] : NULL;

    if (is("execve"))
        execve(path, arguments, environ);
    else if (is("execv"))
        execv(path, arguments);
    else if (is("execvp"))
        execvp(path, arguments);
    else if (is("execvpe"))
        execvpe(path, arguments, environ);
    else if (is("execl"))
        execl(path, a, b, c, (char *)NULL);
    else if (is("execlp"))
        execlp(path, a, b, c, (char *)NULL);
    else if (is("execle"))
        execle(path, a, b, c, (char *)NULL, environ);
    else if (is("fexecve"))
        fexecve(open(path, O_RDONLY | O_CLOEXEC), arguments, environ);
    else if (is("execveat"))
        execveat(AT_FDCWD, path, arguments, environ, 0);
    else if (is("syscall"))
        syscall(SYS_execve, path, arguments, environ);
    else if (is("bare")) { /* the environment, too */
        char *nothing[] = {NULL};
        execve(path, arguments, nothing);
    } else {
        exit(2);
    }
    return unused;
}

static void call_in_child(void)
{
    int status;
    pid_t pid = vfork();

    if (!pid) {
        call(NULL);
        _exit(0);
    }
    if (waitpid(pid, &status, 0) != pid || status)
        exit(4);
}

int main(int argc, char **argv)
{
    pthread_t thread;

    if (argc < 3)
        return 2;
    function = argv[1];
    path = argv[2];
    arguments = argv + 2;
    if (!strstr(function, "quiet")) {
        tpagent_begin("before");
        tpagent_end();
    }
    if (strstr(function, "thread")) {
        if (pthread_create(&thread, NULL, call, NULL))
            return 3;
        pthread_join(thread, NULL);
    } else if (strstr(function, "vfork")) {
        call_in_child();
    } else {
        call(NULL);
        printf("%s\n", strerror(errno));
        fflush(stdout);
    }
    tpagent_begin("behind");
    tpagent_end();
    if (getenv("DIE"))
        abort();
    return 0;
}
