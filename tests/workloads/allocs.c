/* SPDX-License-Identifier: MIT */
/*
 * Allocations of which it is known who makes them, built with frame pointers.
 *
 *     allocs family          each way to allocate, resize and free, once; says what it did
 *     allocs leak N          N blocks of 1,000 bytes that stay, N that go
 *     allocs quiet N         the same in no range
 *     allocs killed N        the same, and then SIGKILL
 *     allocs threads N       two threads: one allocates N blocks, the other frees them
 *     allocs stacks N        from N different stacks, then thrice from one in a range of its own
 *     allocs before N        N blocks before the range "late", freed in it; 2 N in it
 *     allocs mix N SEED      N blocks of 16 to 65,536 bytes, replaced at random
 *     allocs few N SEED      20 ranges "1 I", and of 2, 5 and 10: that allocate so many times N
 * bytes allocs fork N          the same leak, in a child too allocs forked N        and in a child
 * without a range allocs busy N          the same leak, then says how many threads the process has;
 * and a child allocs alone N         the same leak, then what only a process of one thread may do;
 * twice allocs resizes N       one block, resized N times allocs sizes N         N blocks of all
 * sizes and kinds; says what they held allocs handover N      three threads that free what the
 * others allocated, N blocks each
 */
#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tpagent.h"

#ifdef __clang__
#define NOINLINE __attribute__((noinline))
#else
#define NOINLINE __attribute__((noinline, noclone))
#endif
#define LIVE 512

static void *volatile kept;

static NOINLINE void *take(size_t size)
{
    char *block = malloc(size);

    *block = 1;
    kept = block;
    return block;
}

static NOINLINE void *take_for_leak(size_t size)
{
    void *block = take(size);

    kept = block;
    return block;
}

static NOINLINE void leak(int count)
{
    for (int i = 0; i < count; i++) {
        take_for_leak(1000);
        free(take(1000));
    }
}

static NOINLINE void set_up(int count)
{
    for (int i = 0; i < count; i++)
        take(1000);
}

static NOINLINE void burst(int count)
{
    for (int i = 0; i < count; i++)
        take_for_leak(1000);
}

/* A step of a loop: what it allocated last is there when it is looked at. */
static NOINLINE void step(void **last)
{
    free(*last);
    *last = take(1000);
}

static NOINLINE void with_burst(int count)
{
    void *last = NULL;

    set_up(count);
    for (int i = 0; i < 10 * count; i++) {
        if (i == 6 * count)
            burst(count);
        step(&last);
    }
}

static NOINLINE void family(void)
{
    void *aligned = NULL;
    char *p = malloc(100);

    p = realloc(p, 50000); /* grows: moves or not */
    p = reallocarray(p, 10, 10000);
    free(p);
    p = realloc(NULL, 40);
    kept = realloc(p, 0);
    free(calloc(10, 10));
    free(memalign(256, 1000));
    if (posix_memalign(&aligned, 128, 1000))
        exit(1);
    free(aligned);
    free(aligned_alloc(64, 640));
    free(valloc(100));
    free(pvalloc(100));
    free(strdup("twelve bytes"));
    p = realloc(malloc(10), SIZE_MAX / 4); /* fails and frees nothing */
    kept = p;
}

static NOINLINE void *free_all(void *argument)
{
    void **blocks = argument;

    for (size_t i = 0; blocks[i]; i++)
        free(blocks[i]);
    return NULL;
}

static NOINLINE void threads(int count)
{
    void **blocks = calloc((size_t)count + 1, sizeof(*blocks));
    pthread_t thread;

    for (int i = 0; i < count; i++)
        blocks[i] = take(100);
    pthread_create(&thread, NULL, free_all, blocks);
    pthread_join(thread, NULL);
    free(blocks);
}

static NOINLINE void *turn_left(unsigned way, int turns);

static NOINLINE void *turn_right(unsigned way, int turns)
{
    void *block = !turns    ? take(100)
                  : way & 1 ? turn_left(way >> 1, turns - 1)
                            : turn_right(way >> 1, turns - 1);

    kept = block;
    return block;
}

static NOINLINE void *turn_left(unsigned way, int turns)
{
    void *block = !turns    ? take(200)
                  : way & 1 ? turn_left(way >> 1, turns - 1)
                            : turn_right(way >> 1, turns - 1);

    kept = block;
    return block;
}

/* One path for each number. */
static NOINLINE void stacks(int count)
{
    for (unsigned way = 0; way < (unsigned)count; way++)
        free(turn_left(way, 22));
    tpagent_begin("late");
    for (volatile int i = 0; i < 3; i++) /* from one place, not unrolled */
        free(turn_left((unsigned)count, 22));
    tpagent_end();
}

static void before(int count)
{
    void **blocks = calloc((size_t)count, sizeof(*blocks));

    for (int i = 0; i < count; i++)
        blocks[i] = take(1000);
    tpagent_begin("late");
    for (int i = 0; i < count; i++)
        free(blocks[i]);
    leak(count);
    tpagent_end();
    free(blocks);
}

static uint64_t next_random(uint64_t r)
{
    r ^= r << 13;
    r ^= r >> 7;
    return r ^ r << 17;
}

static void mix(int count, uint64_t seed)
{
    void *live[LIVE] = {NULL};
    uint64_t r = seed * UINT64_C(0x9e3779b97f4a7c15) + 1, bytes = 0;

    for (int i = 0; i < count; i++) {
        r = next_random(r);
        void **slot = &live[r % LIVE];
        size_t size = (size_t)16 << (r >> 12) % 12;
        free(*slot);
        *slot = take(size + (r >> 20) % size);
        bytes += malloc_usable_size(*slot);
    }
    printf("%llu\n", (unsigned long long)bytes);
}

/* Blocks of all sizes to a quarter of @unit. */
static void take_in_parts(size_t bytes, size_t unit, uint64_t *random)
{
    while (bytes) {
        *random = next_random(*random);
        size_t size = (size_t)16 << (*random >> 12) % 20;
        size = size < unit / 4 ? size : unit / 4;
        size = size < bytes ? size : bytes;
        free(take(size));
        bytes -= size;
    }
}

static void few(size_t unit, uint64_t seed)
{
    static const unsigned times[] = {1, 2, 5, 10};
    uint64_t r = seed * UINT64_C(0x9e3779b97f4a7c15) + 1;
    char name[32];

    for (unsigned i = 0; i < 80; i++) {
        snprintf(name, sizeof(name), "%u %u", times[i % 4], i);
        tpagent_begin(name);
        take_in_parts(unit * times[i % 4], unit, &r);
        tpagent_end();
    }
}

static void resizes(int count)
{
    void *block = NULL;

    for (int i = 0; i < count; i++)
        block = i % 2 ? reallocarray(block, 8, 2 + (size_t)i * 37 % 500)
                      : realloc(block, 16 + (size_t)i * 37 % 5000);
    free(block);
}

/* Of this process; without an allocation. */
static int count_threads(void)
{
    char text[4096] = "";
    int fd = open("/proc/self/status", O_RDONLY);

    if (fd < 0 || read(fd, text, sizeof(text) - 1) < 0)
        return -1;
    close(fd);
    const char *line = strstr(text, "\nThreads:");
    return line ? atoi(line + strlen("\nThreads:")) : -1;
}

/* stdout would allocate */
static __attribute__((format(printf, 1, 2))) void say(const char *format, ...)
{
    char line[64];
    va_list arguments;

    va_start(arguments, format);
    int length = vsnprintf(line, sizeof(line), format, arguments);
    va_end(arguments);
    if (write(1, line, (size_t)length) != length)
        exit(1);
}

static void busy(int count)
{
    leak(count);
    int threads = count_threads();
    pid_t child = fork();
    if (!child) {
        leak(10);
        _exit(count_threads());
    }
    int status = 0;
    waitpid(child, &status, 0);
    leak(10);
    say("%d %d\n", threads, WEXITSTATUS(status));
}

/* What the kernel refuses to a process with more threads than one. */
static void alone(int count)
{
    static const int what[] = {CLONE_THREAD, CLONE_SIGHAND, CLONE_NEWUSER};

    for (unsigned i = 0; i < sizeof(what) / sizeof(what[0]); i++) {
        leak(count);
        int error = i % 2 ? (int)syscall(SYS_unshare, what[i]) : unshare(what[i]);
        say("%d %d\n", what[i], error ? errno : 0);
    }
    leak(count);
}

static void sizes(int count)
{
    uint64_t r = 88172645463325252u, bytes = 0;

    for (int i = 0; i < count; i++) {
        r = next_random(r);
        size_t size = (r >> 20) % ((size_t)16 << r % 18);
        void *first = i % 4 == 3 ? take(100) : NULL;
        bytes += first ? malloc_usable_size(first) : 0;
        void *block = i % 4 == 0   ? malloc(size)
                      : i % 4 == 1 ? calloc(1, size)
                      : i % 4 == 2 ? memalign((size_t)16 << i % 9, size)
                                   : realloc(first, size + 1);
        kept = block;
        bytes += malloc_usable_size(block);
        if (i % 3)
            free(block);
    }
    say("%llu\n", (unsigned long long)bytes);
}

#define SLOTS 64

static void *_Atomic slots[SLOTS];

static void *hand_over(void *argument)
{
    uint64_t r = (uint64_t)(uintptr_t)argument;

    for (int i = *(int *)argument; i > 0; i--) {
        r = next_random(r);
        free(atomic_exchange(&slots[r % SLOTS], take(16 + (r >> 20) % 200)));
    }
    return NULL;
}

static void handover(int count)
{
    int counts[3] = {count, count, count};
    pthread_t threads[3];

    for (int i = 0; i < 3; i++)
        pthread_create(&threads[i], NULL, hand_over, &counts[i]);
    for (int i = 0; i < 3; i++)
        pthread_join(threads[i], NULL);
}

int main(int argc, char **argv)
{
    int count = argc > 2 ? atoi(argv[2]) : 0;

    if (argc < 2)
        return 2;
    if (!strcmp(argv[1], "quiet") || !strcmp(argv[1], "killed")) {
        leak(count);
        return *argv[1] == 'k' ? kill(getpid(), SIGKILL) : 0;
    }
    tpagent_begin("work");
    if (!strcmp(argv[1], "family"))
        family();
    else if (!strcmp(argv[1], "leak"))
        leak(count);
    else if (!strcmp(argv[1], "threads"))
        threads(count);
    else if (!strcmp(argv[1], "before"))
        before(count);
    else if (!strcmp(argv[1], "stacks"))
        stacks(count);
    else if (!strcmp(argv[1], "mix"))
        mix(count, argc > 3 ? strtoull(argv[3], NULL, 10) : 1);
    else if (!strcmp(argv[1], "few"))
        few((size_t)count, argc > 3 ? strtoull(argv[3], NULL, 10) : 1);
    else if (!strcmp(argv[1], "burst"))
        with_burst(count);
    else if (!strcmp(argv[1], "busy"))
        busy(count);
    else if (!strcmp(argv[1], "resizes"))
        resizes(count);
    else if (!strcmp(argv[1], "alone"))
        alone(count);
    else if (!strcmp(argv[1], "sizes"))
        sizes(count);
    else if (!strcmp(argv[1], "handover"))
        handover(count);
    else if (!strcmp(argv[1], "forked")) {
        pid_t child = fork();
        leak(count);
        if (!child)
            _exit(0);
        waitpid(child, NULL, 0);
    } else if (!strcmp(argv[1], "fork")) {
        pid_t child = fork();
        if (!child)
            tpagent_begin("child"); /* the child's recording begins with it */
        leak(count);
        if (!child) {
            tpagent_end();
            exit(0);
        }
        waitpid(child, NULL, 0);
    }
    tpagent_end();
    return 0;
}
