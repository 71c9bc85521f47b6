/* SPDX-License-Identifier: MIT */
/*
 * CPU time of a malloc and free pair: a random one of 4,096 live blocks is replaced, with sizes of
 * 16 to 4,096 bytes, evenly over the powers of two. Takes turns in short chunks with the same
 * through libc's own names, which no preloaded library sees, so that the difference is what the
 * library adds, and with reading the time stamp counter. The lowest tenth of the chunks counts.
 *
 *     bench_malloc [THREADS [MILLIONS-OF-PAIRS [FRAMES]]]
 *     bench_malloc pairs MILLIONS      nothing but such pairs, in one thread
 *
 * FRAMES functions more are on the stack below the loop.
 */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <x86intrin.h>

#define CHUNK 2000
#define LIVE 4096
#define THREADS_MAX 64

void *__libc_malloc(size_t size);
void __libc_free(void *block);

struct blocks {
    uint64_t random;
    void *live[LIVE];
};

struct worker {
    pthread_t thread;
    struct blocks seen, unseen;
    double pair_ns, bare_ns, clock_ns;
};

static int chunks, frames;
static struct worker workers[THREADS_MAX];

static double cpu_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

static inline void replace(struct blocks *blocks, void *(*take)(size_t), void (*give)(void *))
{
    uint64_t r = blocks->random;

    r ^= r << 13;
    r ^= r >> 7;
    r ^= r << 17;
    blocks->random = r;
    void **slot = &blocks->live[r % LIVE];
    give(*slot);
    size_t size = (size_t)16 << (r >> 12 & 7);
    size += (r >> 20) % size;
    char *block = take(size);
    *block = 1;
    *slot = block;
}

static double pair_chunk(struct blocks *blocks)
{
    double start = cpu_ns();

    for (int i = 0; i < CHUNK; i++)
        replace(blocks, malloc, free);
    return (cpu_ns() - start) / CHUNK;
}

/* Both go through them, so that what the frames themselves cost is no difference. */
static __attribute__((noinline)) double deeper(int depth, double (*chunk)(struct blocks *),
                                               struct blocks *blocks)
{
    double ns = depth > 0 ? deeper(depth - 1, chunk, blocks) : chunk(blocks);

    __asm__ volatile("" : "+x"(ns)); /* no tail call */
    return ns;
}

static double bare_chunk(struct blocks *blocks)
{
    double start = cpu_ns();

    for (int i = 0; i < CHUNK; i++)
        replace(blocks, __libc_malloc, __libc_free);
    return (cpu_ns() - start) / CHUNK;
}

static double clock_chunk(void)
{
    double start = cpu_ns();

    for (int i = 0; i < CHUNK; i++)
        __rdtsc();
    return (cpu_ns() - start) / CHUNK;
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

static double low_tenth(double *values)
{
    qsort(values, (size_t)chunks, sizeof(*values), by_value);
    return values[chunks / 10];
}

static void *work(void *argument)
{
    struct worker *worker = argument;
    double *pairs = calloc((size_t)chunks, sizeof(*pairs));
    double *bares = calloc((size_t)chunks, sizeof(*bares));
    double *clocks = calloc((size_t)chunks, sizeof(*clocks));

    for (int i = 0; i < 4 * LIVE / CHUNK; i++) {
        pair_chunk(&worker->seen);
        bare_chunk(&worker->unseen);
    }
    for (int i = 0; i < chunks; i++) {
        pairs[i] = deeper(frames, pair_chunk, &worker->seen);
        bares[i] = deeper(frames, bare_chunk, &worker->unseen);
        clocks[i] = clock_chunk();
    }
    worker->pair_ns = low_tenth(pairs);
    worker->bare_ns = low_tenth(bares);
    worker->clock_ns = low_tenth(clocks);
    free(pairs);
    free(bares);
    free(clocks);
    return NULL;
}

static int only_pairs(double millions)
{
    struct blocks *blocks = &workers[0].seen;

    blocks->random = UINT64_C(88172645463325252);
    for (double left = millions * 1e6; left >= 1; left--)
        replace(blocks, malloc, free);
    return 0;
}

int main(int argc, char **argv)
{
    if (argc == 3 && !strcmp(argv[1], "pairs"))
        return only_pairs(atof(argv[2]));

    int threads = argc > 1 ? atoi(argv[1]) : 1;
    double millions = argc > 2 ? atof(argv[2]) : 2, pair_ns = 0, bare_ns = 0, clock_ns = 0;

    frames = argc > 3 ? atoi(argv[3]) : 0;
    if (threads < 1 || threads > THREADS_MAX || millions <= 0)
        return 2;
    chunks = (int)(millions * 1e6 / CHUNK) + 1;
    for (int i = 0; i < threads; i++) {
        workers[i].seen.random = UINT64_C(88172645463325252) + (uint64_t)i;
        workers[i].unseen.random = workers[i].seen.random;
        if (pthread_create(&workers[i].thread, NULL, work, &workers[i]))
            return 1;
    }
    for (int i = 0; i < threads; i++) {
        pthread_join(workers[i].thread, NULL);
        pair_ns += workers[i].pair_ns / threads;
        bare_ns += workers[i].bare_ns / threads;
        clock_ns += workers[i].clock_ns / threads;
    }
    printf("{\"threads\": %d, \"pair_ns\": %.3f, \"bare_ns\": %.3f, \"rdtsc_ns\": %.3f}\n", threads,
           pair_ns, bare_ns, clock_ns);
    return 0;
}
