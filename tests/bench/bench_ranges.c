/* SPDX-License-Identifier: MIT */
/*
 * What a range costs: begin and end through NVTX, ITT and the C API, against the least that a
 * recorder can do, two readings of the TSC and two 32-byte stores. Both take turns in short chunks
 * of CPU time, so that a busy neighbour slows both, with a rest between, so that the drain keeps
 * up; the lowest tenth of the chunks
 * counts, and the median's ratio stands behind it.
 *
 *     LD_PRELOAD=libtpagent.so bench_ranges [THREADS [MILLIONS]]
 *
 * Without the agent the same lines show what the calls cost where no tool listens.
 */
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <x86intrin.h>

#include "itt_stub.h"
#include "tpagent.h"

#ifdef HAVE_NVTX
#include <nvtx3/nvToolsExt.h>
#endif

#define CHUNK 1000
#define REST_NS 300000
#define SLOTS 8192

typedef void chunk_function(void);

static __thread uint64_t (*bare_slots)[4];
static __thread uint64_t bare_head;

static inline void bare_store(uint64_t name)
{
    uint64_t *slot = bare_slots[bare_head & (SLOTS - 1)];

    slot[0] = __rdtsc();
    slot[1] = name;
    slot[2] = bare_head;
    slot[3] = name;
    __atomic_store_n(&bare_head, bare_head + 1, __ATOMIC_RELEASE);
}

static void bare_chunk(void)
{
    for (int i = 0; i < CHUNK; i++) {
        bare_store(1);
        bare_store(2);
    }
}

#ifdef HAVE_NVTX
static void nvtx_chunk(void)
{
    for (int i = 0; i < CHUNK; i++) {
        nvtxRangePushA("forward pass");
        nvtxRangePop();
    }
}

static void nvtx_long_chunk(void)
{
    for (int i = 0; i < CHUNK; i++) {
        nvtxRangePushA("aten::_scaled_dot_product_flash_attention, seq = 123");
        nvtxRangePop();
    }
}

static nvtxDomainHandle_t domain;
static nvtxEventAttributes_t registered, in_domain;

static void nvtx_registered_chunk(void)
{
    for (int i = 0; i < CHUNK; i++) {
        nvtxDomainRangePushEx(domain, &registered);
        nvtxDomainRangePop(domain);
    }
}

static void nvtx_domain_chunk(void)
{
    for (int i = 0; i < CHUNK; i++) {
        nvtxDomainRangePushEx(domain, &in_domain);
        nvtxDomainRangePop(domain);
    }
}

static void nvtx_prepare(void)
{
    domain = nvtxDomainCreateA("bench");
    in_domain.version = NVTX_VERSION;
    in_domain.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
    registered = in_domain;
    in_domain.messageType = NVTX_MESSAGE_TYPE_ASCII;
    in_domain.message.ascii = "forward pass";
    registered.messageType = NVTX_MESSAGE_TYPE_REGISTERED;
    registered.message.registered = nvtxDomainRegisterStringA(domain, "forward pass");
}
#endif

static struct domain *itt_domain;
static struct string_handle *itt_name;
static const struct id no_id;

static void itt_chunk(void)
{
    for (int i = 0; i < CHUNK; i++) {
        itt_task_begin(itt_domain, no_id, no_id, itt_name);
        itt_task_end(itt_domain);
    }
}

/* Where no collector is named there is no stub to measure. */
static bool load_itt(void)
{
    static bool tried, loaded;

    if (!tried && load_collector()) {
        itt_domain = itt_domain_create("bench");
        itt_name = itt_string_handle_create("forward pass");
        loaded = itt_domain && itt_name;
    }
    tried = true;
    return loaded;
}

/* As PyTorch does: the string handle is asked for at each operator. */
static void itt_by_text_chunk(void)
{
    for (int i = 0; i < CHUNK; i++) {
        itt_task_begin(itt_domain, no_id, no_id, itt_string_handle_create("aten::add"));
        itt_task_end(itt_domain);
    }
}

static void api_chunk(void)
{
    for (int i = 0; i < CHUNK; i++) {
        tpagent_begin("forward pass");
        tpagent_end();
    }
}

static void api_attribute_chunk(void)
{
    for (int i = 0; i < CHUNK; i++) {
        struct tpagent_attribute attribute = tpagent_signed("step", i);
        tpagent_begin_with("forward pass", &attribute, 1);
        tpagent_end();
    }
}

static const struct way {
    bool (*wanted)(void);
    const char *name;
    chunk_function *chunk;
} ways[] = {
    {NULL, "api begin+end", api_chunk},
    {NULL, "api begin+end, one attribute", api_attribute_chunk},
    {load_itt, "itt task", itt_chunk},
    {load_itt, "itt task, string asked for", itt_by_text_chunk},
#ifdef HAVE_NVTX
    {NULL, "nvtx push+pop", nvtx_chunk},
    {NULL, "nvtx push+pop, 52 letters", nvtx_long_chunk},
    /* from here on the program uses domains */
    {NULL, "nvtx push+pop in a domain", nvtx_domain_chunk},
    {NULL, "nvtx push+pop, registered", nvtx_registered_chunk},
    {NULL, "nvtx push+pop, domains used", nvtx_chunk},
#endif
    {NULL, NULL, NULL},
};

static uint64_t cpu_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

struct result {
    double bare_ns, way_ns; /* the lowest tenth of the chunks, a pair each */
    double median_ratio;
};

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

static double timed(chunk_function *chunk)
{
    uint64_t start = cpu_ns();

    chunk();
    return (double)(cpu_ns() - start) / CHUNK;
}

static int chunks;

static struct result measure(chunk_function *chunk)
{
    double *bare = malloc((size_t)chunks * sizeof(*bare)),
           *way = malloc((size_t)chunks * sizeof(*way));

    bare_slots = aligned_alloc(4096, SLOTS * sizeof(*bare_slots));
    memset(bare_slots, 0, SLOTS * sizeof(*bare_slots));
    chunk();
    bare_chunk();
    for (int i = 0; i < chunks; i++) {
        bare[i] = timed(bare_chunk);
        way[i] = timed(chunk);
        nanosleep(&(struct timespec){0, REST_NS}, NULL);
    }
    qsort(bare, (size_t)chunks, sizeof(*bare), by_value);
    qsort(way, (size_t)chunks, sizeof(*way), by_value);
    struct result result = {bare[chunks / 10], way[chunks / 10],
                            way[chunks / 2] / bare[chunks / 2]};
    free(bare_slots);
    free(bare);
    free(way);
    return result;
}

struct thread {
    pthread_t thread;
    chunk_function *chunk;
    struct result result;
};

static void *run_thread(void *argument)
{
    struct thread *thread = argument;

    thread->result = measure(thread->chunk);
    return NULL;
}

static void report(const struct way *way, int threads)
{
    struct thread all[64];
    struct result sum = {0};

    for (int i = 0; i < threads; i++) {
        all[i].chunk = way->chunk;
        if (pthread_create(&all[i].thread, NULL, run_thread, &all[i]))
            abort();
    }
    for (int i = 0; i < threads; i++) {
        pthread_join(all[i].thread, NULL);
        sum.bare_ns += all[i].result.bare_ns / threads;
        sum.way_ns += all[i].result.way_ns / threads;
        sum.median_ratio += all[i].result.median_ratio / threads;
    }
    printf("%-30s %d thread%s %6.2f ns, bare %6.2f ns, ratio %.2f, median %.2f\n", way->name,
           threads, threads > 1 ? "s" : " ", sum.way_ns, sum.bare_ns, sum.way_ns / sum.bare_ns,
           sum.median_ratio);
}

int main(int argc, char **argv)
{
    int threads = argc > 1 ? atoi(argv[1]) : 1;
    double millions = argc > 2 ? atof(argv[2]) : 2;

    if (threads < 1 || threads > 64)
        return 2;
    chunks = (int)(millions * 1e6 / CHUNK) + 1;
#ifdef HAVE_NVTX
    nvtx_prepare();
#endif
    for (const struct way *way = ways; way->name; way++)
        if (!way->wanted || way->wanted())
            report(way, threads);
    return 0;
}
