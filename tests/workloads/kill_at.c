/* SPDX-License-Identifier: MIT
 * kill_at N[:CALL] PROGRAM...: run a program and kill it (SIGKILL) before its system call number N
 * is made; of those of the kernel's number CALL alone, where that is given. Exit status: 0 it was
 * killed, 1 it ended before (its own status is lost), 2 anything else.
 */
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

static int is_wanted(pid_t child, long call)
{
    struct user_regs_struct registers;

    return call < 0 ||
           (!ptrace(PTRACE_GETREGS, child, NULL, &registers) && (long)registers.orig_rax == call);
}

int main(int argc, char **argv)
{
    long left = argc > 2 ? atol(argv[1]) : 0;
    const char *colon = argc > 2 ? strchr(argv[1], ':') : NULL;
    long call = colon ? atol(colon + 1) : -1;
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
        if (entering && is_wanted(child, call) && !--left)
            break;
    }
    kill(child, SIGKILL);
    return waitpid(child, &status, 0) == child && WIFSIGNALED(status) ? 0 : 2;
}
