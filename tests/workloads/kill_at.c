/* SPDX-License-Identifier: MIT
 * kill_at N PROGRAM...: run a program and kill it (SIGKILL) before its system call number N is
 * made. Exit status: 0 it was killed, 1 it ended before (its own status is lost), 2 anything else.
 */
#include <signal.h>
#include <stdlib.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    long left = argc > 2 ? atol(argv[1]) : 0;
    int status;

    if (left < 1)
        return 2;
    pid_t child = fork();
    if (!child) {
        ptrace(PTRACE_TRACEME, 0, NULL, NULL);
        execvp(argv[2], argv + 2);
        _exit(2);
    }
    if (waitpid(child, &status, 0) != child || !WIFSTOPPED(status))
        return 2;
    ptrace(PTRACE_SETOPTIONS, child, NULL, (void *)(PTRACE_O_TRACESYSGOOD | PTRACE_O_EXITKILL));
    for (int entering = 1;; entering = !entering) {
        ptrace(PTRACE_SYSCALL, child, NULL, NULL);
        if (waitpid(child, &status, 0) != child)
            return 2;
        while (WIFSTOPPED(status) && WSTOPSIG(status) != (SIGTRAP | 0x80)) {
            ptrace(PTRACE_SYSCALL, child, NULL, (void *)(long)WSTOPSIG(status));
            if (waitpid(child, &status, 0) != child)
                return 2;
        }
        if (!WIFSTOPPED(status))
            return 1;
        if (entering && !--left)
            break;
    }
    kill(child, SIGKILL);
    return waitpid(child, &status, 0) == child && WIFSIGNALED(status) ? 0 : 2;
}
