/* SPDX-License-Identifier: MIT
 * handlers RESTORER STACK [thread]: a signal's handler allocates, again and again, in the midst of
 * functions that call each other. RESTORER is what the handler returns to: libc (libc's), bare (a
 * function of our own without call frame information, behind a call), told (the same with it).
 * STACK is what it runs on: same, part (of the one it interrupts), static, mapped. */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <unistd.h>

#ifdef __clang__
#define OWN __attribute__((noinline))
#else
#define OWN __attribute__((noinline, noclone))
#endif
#define STACK_BYTES (128 << 10)
#define SIGNALS 300
#define SA_RESTORER_OF_OURS 0x04000000

static void *volatile sink;
static volatile int got;
static volatile unsigned work_done;

OWN static void take(size_t size)
{
    sink = malloc(size);
    __asm__ volatile("" ::: "memory");
}

OWN static void on_signal(int number)
{
    take(1000 + (size_t)number);
    got++;
}

OWN static void innermost(unsigned count)
{
    for (unsigned i = 0; i < count; i++)
        work_done += i;
    __asm__ volatile("" ::: "memory");
}

OWN static void interrupted(unsigned count)
{
    innermost(count);
    work_done++;
    if (count == 7)
        raise(SIGUSR1);
    work_done++;
}

OWN static void outer(void)
{
    for (unsigned i = 0; got < SIGNALS; i++)
        interrupted(i % 16);
    work_done++;
}

#if defined(__x86_64__)
void return_bare(void), return_told(void);
__asm__(".text\n"
        "call abort@PLT\n"
        ".globl return_bare\n"
        "return_bare: mov $15, %rax\n"
        "syscall\n"
        ".cfi_startproc\n"
        ".cfi_signal_frame\n"
        ".cfi_def_cfa rsp, 160\n"
        "call abort@PLT\n"
        ".globl return_told\n"
        "return_told: mov $15, %rax\n"
        "syscall\n"
        ".cfi_endproc\n");

static void handle_with(void (*restorer)(void), int number, int flags)
{
    struct {
        void (*handler)(int);
        unsigned long flags;
        void (*restorer)(void);
        unsigned long mask;
    } action = {on_signal, SA_RESTORER_OF_OURS | (unsigned long)flags, restorer, 0};

    if (syscall(SYS_rt_sigaction, number, &action, NULL, sizeof(action.mask)))
        exit(3);
}
#else
#define return_bare NULL
#define return_told NULL
static void handle_with(void (*restorer)(void), int number, int flags)
{
    (void)restorer;
    (void)number;
    (void)flags;
    exit(77);
}
#endif

static void handle(const char *restorer, int number, int flags)
{
    struct sigaction action = {.sa_handler = on_signal, .sa_flags = flags};

    if (!strcmp(restorer, "bare"))
        handle_with(return_bare, number, flags);
    else if (!strcmp(restorer, "told"))
        handle_with(return_told, number, flags);
    else if (sigaction(number, &action, NULL))
        exit(3);
}

static char **words;

OWN static void *run(void *unused)
{
    static char own[STACK_BYTES];
    char part[STACK_BYTES];
    const char *where = words[1];
    stack_t stack = {.ss_size = STACK_BYTES};

    sink = malloc(1); /* the thread's first, which no handler interrupts */
    if (!strcmp(where, "part"))
        stack.ss_sp = part;
    else if (!strcmp(where, "static"))
        stack.ss_sp = own;
    else if (!strcmp(where, "mapped"))
        stack.ss_sp =
            mmap(NULL, STACK_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (stack.ss_sp && sigaltstack(&stack, NULL))
        exit(4);
    handle(words[0], SIGUSR1, stack.ss_sp ? SA_ONSTACK : 0);
    handle(words[0], SIGPROF, stack.ss_sp ? SA_ONSTACK : 0);
    setitimer(ITIMER_PROF, &(struct itimerval){{0, 1000}, {0, 1000}}, NULL);
    outer();
    setitimer(ITIMER_PROF, &(struct itimerval){{0, 0}, {0, 0}}, NULL);
    stack.ss_flags = SS_DISABLE;
    sigaltstack(&stack, NULL);
    return unused;
}

int main(int argc, char **argv)
{
    pthread_t thread;

    if (argc < 3)
        return 2;
    words = argv + 1;
    if (argc == 3) {
        run(NULL);
    } else {
        if (pthread_create(&thread, NULL, run, NULL))
            return 5;
        pthread_join(thread, NULL);
    }
    printf("%d\n", got >= SIGNALS);
    return 0;
}
