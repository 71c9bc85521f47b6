/* SPDX-License-Identifier: MIT */
/*
 * A small profiler: the driver loads it (CUDA_INJECTION64_PATH), it uses CUPTI as an agent does,
 * and writes what it got as lines of text into the file CLIENT_OUT. What it does is said by
 * CLIENT_DO, words separated by spaces:
 *
 *     kinds=5,4,10     enable these activity kinds          calls=2:211,1:307  enable these
 * callbacks domain=3         enable a domain of callbacks          clock              register a
 * timestamp callback (ns, monotonic) period=MS        flush on a period size=BYTES         of a
 * buffer null=N           every Nth request gets NULL           slow=MS            each request
 * sleeps noflush          do not flush at exit                  attribute=9:0      set a byte
 * attribute driverapi=CBID   cuptiActivityEnableDriverApi          second             subscribe
 * once more walk=FILE        let this library's cuptiActivityGetNextRecord walk the buffers lines
 * write each line at once
 *
 * A line is a word, then name=value pairs. Offsets are the specification's, written down here a
 * second time.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdio_ext.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))
EXPORT int InitializeInjection(void);

typedef void callback(void *data, uint32_t domain, uint32_t cbid, const void *info);

static struct {
    int (*cuptiGetVersion)(uint32_t *);
    int (*cuptiGetCallbackName)(uint32_t, uint32_t, const char **);
    int (*cuptiGetTimestamp)(uint64_t *);
    int (*cuptiSubscribe)(void **, callback *, void *);
    int (*cuptiSubscribe_v2)(void **, callback *, void *, void *);
    int (*cuptiEnableCallback)(uint32_t, void *, uint32_t, uint32_t);
    int (*cuptiEnableDomain)(uint32_t, void *, uint32_t);
    int (*cuptiActivityRegisterCallbacks)(void (*)(uint8_t **, size_t *, size_t *),
                                          void (*)(void *, uint32_t, uint8_t *, size_t, size_t));
    int (*cuptiActivityEnable)(uint32_t);
    int (*cuptiActivityFlushAll)(uint32_t);
    int (*cuptiActivityFlushPeriod)(uint32_t);
    int (*cuptiActivityGetNextRecord)(uint8_t *, size_t, uint8_t **);
    int (*cuptiActivityGetNumDroppedRecords)(void *, uint32_t, size_t *);
    int (*cuptiActivityRegisterTimestampCallback)(uint64_t (*)(void));
    int (*cuptiActivitySetAttribute)(uint32_t, size_t *, void *);
    int (*cuptiActivityEnableDriverApi)(uint32_t, uint8_t);
    int (*cuptiSetThreadIdType)(int);
    int (*cuptiFinalize)(void);
    int (*cuptiActivityPushExternalCorrelationId)(uint32_t, uint64_t);
    int (*cuptiActivityPopExternalCorrelationId)(uint32_t, uint64_t *);
    int (*cuptiGetGraphNodeId)(void *, uint64_t *);
    int (*cuptiGetGraphId)(void *, uint32_t *);
    int (*cuptiGetGraphExecId)(void *, uint32_t *);
} cupti;

static FILE *out;
static size_t buffer_size = 1 << 20;
static uint64_t null_every, requests, buffers, dropped;
static unsigned slow_ms;
static int await_worker, print_sizes, flush_at_exit = 1, count_only, forked, ignores_fork;
static uint64_t counts[64], called;
static char misuse[32];
static pthread_mutex_t client_lock = PTHREAD_MUTEX_INITIALIZER;
static int (*walker)(uint8_t *, size_t, uint8_t **);
static uint64_t clock_calls;

static uint64_t at(const uint8_t *record, size_t offset, size_t bytes)
{
    uint64_t value = 0;
    memcpy(&value, record + offset, bytes);
    return value;
}

#define U8(offset) (unsigned)at(r, offset, 1)
#define U16(offset) (unsigned)at(r, offset, 2)
#define U32(offset) (unsigned)at(r, offset, 4)
#define U64(offset) (unsigned long long)at(r, offset, 8)
#define TEXT(offset) ((const char *)(uintptr_t)at(r, offset, 8))

static void print_api(const char *word, uint32_t domain, const uint8_t *r)
{
    const char *name = "?";
    cupti.cuptiGetCallbackName(domain, U32(4), &name);
    fprintf(out, "%s cbid=%u name=%s start=%llu end=%llu thread=%u correlation=%u result=%u\n",
            word, U32(4), name, U64(8), U64(16), U32(28), U32(32), U32(36));
}

static void print_record(const uint8_t *r)
{
    switch (U32(0)) {
    case 1:
        fprintf(out,
                "memcpy kind=%u from=%u to=%u async=%u bytes=%llu start=%llu end=%llu device=%u "
                "context=%u stream=%u "
                "correlation=%u node=%llu\n",
                U8(4), U8(5), U8(6), U8(7), U64(8), U64(16), U64(24), U32(32), U32(36), U32(40),
                U32(44), U64(64));
        break;
    case 2:
        fprintf(out,
                "memset value=%u bytes=%llu start=%llu end=%llu device=%u context=%u stream=%u "
                "correlation=%u "
                "node=%llu\n",
                U32(4), U64(8), U64(16), U64(24), U32(32), U32(36), U32(40), U32(44), U64(64));
        break;
    case 4:
        print_api("driver", 1, r);
        break;
    case 5:
        print_api("runtime", 2, r);
        break;
    case 8:
        fprintf(
            out,
            "device id=%u memory=%llu multiprocessors=%u capability=%u.%u uuid_end=%u name=%s\n",
            U32(112), U64(16), U32(44), U32(104), U32(108), U8(135), TEXT(136));
        break;
    case 9:
        fprintf(out, "context context=%u device=%u null_stream=%u\n", U32(4), U32(8), U16(14));
        break;
    case 10:
        fprintf(
            out,
            "kernel name=%s start=%llu end=%llu device=%u context=%u stream=%u correlation=%u "
            "grid=%u,%u,%u "
            "block=%u,%u,%u registers=%u static=%u dynamic=%u node=%llu graph=%u name_at=%llu\n",
            TEXT(104), U64(16), U64(24), U32(40), U32(44), U32(48), U32(92), U32(52), U32(56),
            U32(60), U32(64), U32(68), U32(72), U16(6), U32(76), U32(80), U64(144), U32(156),
            U64(104));
        break;
    case 17:
        fprintf(out, "overhead kind=%u start=%llu end=%llu\n", U32(4), U64(24), U64(32));
        break;
    case 22:
        fprintf(out,
                "memcpy2 bytes=%llu start=%llu end=%llu device=%u from_device=%u to_device=%u "
                "from_context=%u "
                "to_context=%u correlation=%u\n",
                U64(8), U64(16), U64(24), U32(32), U32(44), U32(52), U32(48), U32(56), U32(60));
        break;
    case 36:
        fprintf(out, "event event=%u context=%u stream=%u correlation=%u\n", U32(16), U32(8),
                U32(12), U32(4));
        break;
    case 37:
        fprintf(out, "stream context=%u stream=%u priority=%u flag=%u\n", U32(4), U32(8), U32(12),
                U32(16));
        break;
    case 38:
        fprintf(out,
                "sync type=%u start=%llu end=%llu correlation=%u context=%u stream=%u event=%u\n",
                U32(4), U64(8), U64(16), U32(24), U32(28), U32(32), U32(36));
        break;
    case 39:
        fprintf(out, "external kind=%u id=%llu correlation=%u\n", U32(4), U64(8), U32(16));
        break;
    case 49:
        fprintf(out,
                "memory operation=%u kind=%u correlation=%u address=%llu bytes=%llu time=%llu "
                "device=%u context=%u "
                "async=%u pool=%u\n",
                U32(4), U32(8), U32(12), U64(16), U64(24), U64(32), U32(52), U32(56), U32(72),
                U32(80));
        break;
    case 50:
        fprintf(out, "pool operation=%u device=%u address=%llu size=%llu\n", U32(4), U32(20),
                U64(32), U64(40));
        break;
    case 51:
        fprintf(out, "graph correlation=%u start=%llu end=%llu device=%u graph=%u stream=%u\n",
                U32(4), U64(8), U64(16), U32(24), U32(28), U32(36));
        break;
    default:
        fprintf(out, "unknown kind=%u\n", U32(0));
    }
}

static void request(uint8_t **buffer, size_t *size, size_t *max_records)
{
    uint64_t request_number = __atomic_add_fetch(&requests, 1, __ATOMIC_RELAXED);
    if (slow_ms)
        usleep(slow_ms * 1000);
    *size = buffer_size;
    *max_records = 0;
    *buffer = null_every && request_number % null_every == 0 ? NULL : aligned_alloc(8, buffer_size);
}

static void print_size(const uint8_t *record, const uint8_t *end)
{
    if (print_sizes)
        fprintf(out, "size kind=%u bytes=%zu\n", (unsigned)at(record, 0, 4),
                (size_t)(end - record));
}

static void walk(uint8_t *buffer, size_t valid_size)
{
    uint8_t *record = NULL, *theirs = NULL, *before = NULL;
    size_t records = 0;
    int result;
    while (!(result = cupti.cuptiActivityGetNextRecord(buffer, valid_size, &record))) {
        records++;
        if (before)
            print_size(before, record);
        before = record;
        if (walker && (walker(buffer, valid_size, &theirs) || theirs != record)) {
            fprintf(out, "walk differs record=%zu kind=%u\n", records, (unsigned)at(record, 0, 4));
            walker = NULL;
        }
        if (count_only)
            counts[at(record, 0, 4) % 64]++;
        else
            print_record(record);
    }
    if (before)
        print_size(before, buffer + valid_size);
    if (walker && walker(buffer, valid_size, &theirs) != 12)
        fprintf(out, "walk goes on record=%zu\n", records);
    if (!count_only)
        fprintf(out, "buffer records=%zu bytes=%zu end=%d tid=%d\n", records, valid_size, result,
                gettid());
}

static void complete(void *context, uint32_t stream, uint8_t *buffer, size_t size,
                     size_t valid_size)
{
    (void)context, (void)stream, (void)size;
    buffers++;
    if (!strcmp(misuse, "flush"))
        cupti.cuptiActivityFlushAll(0);
    walk(buffer, valid_size);
    size_t now = 0;
    cupti.cuptiActivityGetNumDroppedRecords(NULL, 0, &now);
    dropped += now;
    free(buffer);
}

struct call_info {
    int site;
    const char *function;
    const void *params;
    int *result;
    const char *symbol;
    void *context;
    uint32_t context_id;
    uint64_t *data;
    uint32_t correlation;
};

struct graph_info {
    void *graph, *original_graph, *node, *original_node;
    uint32_t type;
    void *dependency, *exec;
};

struct resource_info {
    void *context, *stream;
    const struct graph_info *graph;
};

static void print_resource(uint32_t cbid, const struct resource_info *info)
{
    unsigned graph = 0, original = 0, exec = 0;
    uint64_t node = 0, original_node = 0;
    if (cbid >= 9 && cbid <= 20 && info->graph && cupti.cuptiGetGraphId) {
        const struct graph_info *g = info->graph;
        if (g->graph)
            cupti.cuptiGetGraphId(g->graph, &graph);
        if (g->original_graph)
            cupti.cuptiGetGraphId(g->original_graph, &original);
        if (g->node)
            cupti.cuptiGetGraphNodeId(g->node, &node);
        if (g->original_node)
            cupti.cuptiGetGraphNodeId(g->original_node, &original_node);
        if (g->exec && cupti.cuptiGetGraphExecId)
            cupti.cuptiGetGraphExecId(g->exec, &exec);
    }
    fprintf(out, "resource cbid=%u graph=%u original_graph=%u exec=%u node=%llu original=%llu\n",
            cbid, graph, original, exec, (unsigned long long)node,
            (unsigned long long)original_node);
}

/* What a client must not do in a callback. */
static void misbehave(void)
{
    if (!strcmp(misuse, "cuda")) {
        void *library = dlopen("libcudart.so.13", RTLD_NOLOAD | RTLD_NOW), *address;
        int (*allocate)(void **, size_t);
        *(void **)&allocate = dlsym(library, "cudaMalloc");
        allocate(&address, 64);
    }
    if (!strcmp(misuse, "lock")) {
        pthread_mutex_lock(&client_lock);
        pthread_mutex_unlock(&client_lock);
    }
}

/* Holds the client's lock around CUPTI while another thread launches. */
static void *lock_and_flush(void *unused)
{
    for (;;) {
        pthread_mutex_lock(&client_lock);
        usleep(100);
        cupti.cuptiActivityFlushAll(0);
        pthread_mutex_unlock(&client_lock);
    }
    return unused;
}

static void called_back(void *data, uint32_t domain, uint32_t cbid, const void *what)
{
    (void)data;
    if (domain == 3) {
        print_resource(cbid, what);
        return;
    }
    if (domain != 1 && domain != 2) {
        fprintf(out, "callback domain=%u cbid=%u\n", domain, cbid);
        return;
    }
    const struct call_info *info = what;
    if (count_only) {
        called += info->site == 0;
        return;
    }
    misbehave();
    if (info->site == 0)
        *info->data = 1000 + info->correlation;
    fprintf(out,
            "callback domain=%u cbid=%u site=%d name=%s symbol=%s correlation=%u data=%llu "
            "context=%u result=%d\n",
            domain, cbid, info->site, info->function, info->symbol ? info->symbol : "-",
            info->correlation, (unsigned long long)*info->data, info->context_id,
            info->result ? *info->result : -1);
}

static uint64_t own_clock(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    __atomic_add_fetch(&clock_calls, 1, __ATOMIC_RELAXED);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static void at_exit(void)
{
    if (forked && !ignores_fork)
        return;
    for (int i = 0; await_worker && !__atomic_load_n(&buffers, __ATOMIC_RELAXED) && i < 1000; i++)
        usleep(10000);
    int result = flush_at_exit ? cupti.cuptiActivityFlushAll(1) : 0;
    if (flush_at_exit > 1)
        cupti.cuptiActivityFlushAll(1);
    size_t now = 0;
    cupti.cuptiActivityGetNumDroppedRecords(NULL, 0, &now);
    if (count_only)
        fprintf(out, "counted runtime=%llu driver=%llu kernel=%llu callbacks=%llu\n",
                (unsigned long long)counts[5], (unsigned long long)counts[4],
                (unsigned long long)counts[10], (unsigned long long)called);
    fprintf(out, "exit flush=%d requests=%llu buffers=%llu dropped=%llu clock_calls=%llu\n", result,
            (unsigned long long)requests, (unsigned long long)buffers,
            (unsigned long long)(dropped + now), (unsigned long long)clock_calls);
    fflush(out);
}

/* What an agent must do: CUPTI is dead here, and what is not written yet is the parent's. */
static void in_forked_child(void)
{
    forked = 1;
    if (!ignores_fork)
        __fpurge(out);
}

static void load(void)
{
    const char *path = getenv("CLIENT_CUPTI");
    void *library = dlopen(path ? path : "libcupti.so.13", RTLD_NOW | RTLD_LOCAL);
    if (!library) {
        fprintf(stderr, "client: %s\n", dlerror());
        exit(3);
    }
#define FIND(name) *(void **)&cupti.name = dlsym(library, #name)
    FIND(cuptiGetVersion);
    FIND(cuptiGetCallbackName);
    FIND(cuptiGetTimestamp);
    FIND(cuptiSubscribe);
    FIND(cuptiSubscribe_v2);
    FIND(cuptiEnableCallback);
    FIND(cuptiEnableDomain);
    FIND(cuptiActivityRegisterCallbacks);
    FIND(cuptiActivityEnable);
    FIND(cuptiActivityFlushAll);
    FIND(cuptiActivityFlushPeriod);
    FIND(cuptiActivityGetNextRecord);
    FIND(cuptiActivityGetNumDroppedRecords);
    FIND(cuptiActivityRegisterTimestampCallback);
    FIND(cuptiActivitySetAttribute);
    FIND(cuptiActivityEnableDriverApi);
    FIND(cuptiSetThreadIdType);
    FIND(cuptiFinalize);
    FIND(cuptiActivityPushExternalCorrelationId);
    FIND(cuptiActivityPopExternalCorrelationId);
    FIND(cuptiGetGraphNodeId);
    FIND(cuptiGetGraphId);
    FIND(cuptiGetGraphExecId);
}

static void say(const char *what, int result)
{
    fprintf(out, "did %s result=%d\n", what, result);
}

static void subscribe(void **subscriber)
{
    char holder[128] = "";
    struct {
        size_t size;
        const char *name;
        char *holder;
        size_t holder_size;
    } params = {sizeof params, "client", holder, sizeof holder};
    int result = cupti.cuptiSubscribe_v2
                     ? cupti.cuptiSubscribe_v2(subscriber, called_back, NULL, &params)
                     : cupti.cuptiSubscribe(subscriber, called_back, NULL);
    fprintf(out, "subscribe result=%d holder=%s\n", result, *holder ? holder : "-");
}

/* NAME=A:B,C:D calls @each with the numbers; a missing second number is 0. */
static void each_pair(const char *list,
                      void (*each)(unsigned first, unsigned second, void *subscriber),
                      void *subscriber)
{
    for (; *list; list += strcspn(list, ",") + (list[strcspn(list, ",")] == ',')) {
        unsigned first = 0, second = 0;
        sscanf(list, "%u:%u", &first, &second);
        each(first, second, subscriber);
    }
}

static void enable_kind(unsigned kind, unsigned unused, void *subscriber)
{
    (void)unused, (void)subscriber;
    fprintf(out, "enable kind=%u result=%d\n", kind, cupti.cuptiActivityEnable(kind));
}

static void enable_call(unsigned domain, unsigned cbid, void *subscriber)
{
    int result = cupti.cuptiEnableCallback(1, subscriber, domain, cbid);
    if (result)
        say("cuptiEnableCallback", result);
}

static void set_attribute(unsigned attribute, unsigned value, void *subscriber)
{
    uint8_t byte = (uint8_t)value;
    size_t size = 1;
    (void)subscriber;
    say("cuptiActivitySetAttribute", cupti.cuptiActivitySetAttribute(attribute, &size, &byte));
}

static void push_external(unsigned kind, unsigned id, void *subscriber)
{
    (void)subscriber;
    say("push", cupti.cuptiActivityPushExternalCorrelationId(kind, id));
}

static void begin_misuse(const char *what)
{
    pthread_t thread;
    snprintf(misuse, sizeof misuse, "%s", what);
    if (!strcmp(misuse, "finalize"))
        cupti.cuptiFinalize();
    if (!strcmp(misuse, "lock"))
        pthread_create(&thread, NULL, lock_and_flush, NULL);
}

static void obey(const char *word, void *subscriber)
{
    const char *value = strchr(word, '=') ? strchr(word, '=') + 1 : "";
    void *other = NULL;
    if (!strncmp(word, "kinds=", 6))
        each_pair(value, enable_kind, NULL);
    else if (!strncmp(word, "calls=", 6))
        each_pair(value, enable_call, subscriber);
    else if (!strncmp(word, "attribute=", 10))
        each_pair(value, set_attribute, NULL);
    else if (!strncmp(word, "domain=", 7))
        cupti.cuptiEnableDomain(1, subscriber, (uint32_t)atoi(value));
    else if (!strcmp(word, "clock"))
        say("clock", cupti.cuptiActivityRegisterTimestampCallback(own_clock));
    else if (!strncmp(word, "period=", 7))
        say("period", cupti.cuptiActivityFlushPeriod((uint32_t)atoi(value)));
    else if (!strncmp(word, "size=", 5))
        buffer_size = (size_t)atoll(value);
    else if (!strncmp(word, "null=", 5))
        null_every = (uint64_t)atoll(value);
    else if (!strncmp(word, "slow=", 5))
        slow_ms = (unsigned)atoi(value);
    else if (!strcmp(word, "count"))
        count_only = 1;
    else if (!strncmp(word, "misuse=", 7))
        begin_misuse(value);
    else if (!strcmp(word, "sizes"))
        print_sizes = 1;
    else if (!strcmp(word, "lines"))
        setlinebuf(out);
    else if (!strcmp(word, "await"))
        await_worker = 1;
    else if (!strcmp(word, "noatfork"))
        ignores_fork = 1;
    else if (!strcmp(word, "flushtwice"))
        flush_at_exit = 2;
    else if (!strncmp(word, "external=", 9))
        each_pair(value, push_external, NULL);
    else if (!strcmp(word, "noflush"))
        flush_at_exit = 0;
    else if (!strncmp(word, "driverapi=", 10))
        say("driverapi", cupti.cuptiActivityEnableDriverApi((uint32_t)atoi(value), 1));
    else if (!strcmp(word, "second"))
        subscribe(&other);
    else if (!strncmp(word, "walk=", 5)) {
        void *library = dlopen(value, RTLD_NOW | RTLD_LOCAL);
        *(void **)&walker = library ? dlsym(library, "cuptiActivityGetNextRecord") : NULL;
        say("walk", walker ? 0 : -1);
    } else {
        fprintf(stderr, "client: unknown word %s\n", word);
        exit(3);
    }
}

int InitializeInjection(void)
{
    const char *path = getenv("CLIENT_OUT"), *todo = getenv("CLIENT_DO");
    char words[1024];
    uint32_t version = 0;
    void *subscriber = NULL;
    out = path ? fopen(path, "we") : stdout;
    if (!out)
        return 0;
    load();
    fprintf(out, "version result=%d api=", cupti.cuptiGetVersion(&version));
    fprintf(out, "%u\n", version);
    subscribe(&subscriber);
    say("cuptiSetThreadIdType", cupti.cuptiSetThreadIdType(1));
    cupti.cuptiActivityRegisterCallbacks(request, complete);
    snprintf(words, sizeof words, "%s", todo ? todo : "kinds=5,4,10,1,2,49,38,8,9,37");
    char *rest = words;
    for (char *word; (word = strtok_r(rest, " ", &rest));)
        obey(word, subscriber);
    atexit(at_exit);
    pthread_atfork(NULL, NULL, in_forked_child);
    return 1;
}
