/* SPDX-License-Identifier: MIT
 * gen_recording DIR OPS [TRACKS [KERNELS]]: a training-like recording of OPS operators, for
 * measuring the reader. With KERNELS every operator without operators below it launches so many;
 * prints the number of launches instead. */
#include <stdio.h>
#include <stdlib.h>

#include "cuda_records.h"
#include "make_recording.h"
#include "records.h"

#define WAITING 4096u /* calls and kernels that are told together, as a buffer of CUPTI's */

static uint32_t names[64], kernels[64], launch_name, geometry;

/* What CUDA did, told by a thread of its own. */
struct device {
    struct recording_track track;
    unsigned kernels; /* of an operator; 0: there is no device */
    uint32_t correlation;
    uint64_t busy_until;
    struct launch {
        uint64_t start, end;
        uint32_t tid;
    } launches[WAITING];
    uint32_t count;
};

struct thread {
    struct recording_track track;
    uint64_t ticks;
    uint64_t ops;
};

static uint64_t step(struct thread *t, struct random *random)
{
    t->ticks += 600 + random_below(random, 4000);
    return t->ticks;
}

/* Calls, then kernels, in the order of their ids. */
static void tell(struct device *d, struct random *random, uint64_t now)
{
    static const struct cuda_place place = {.stream = 7, .context = 1};
    uint32_t first = d->correlation - d->count + 1;

    for (uint32_t i = 0; i < d->count; i++)
        put_cuda_api(&d->track, now, launch_name, d->launches[i].start, d->launches[i].end,
                     first + i, d->launches[i].tid, false);
    for (uint32_t i = 0; i < d->count; i++) {
        uint64_t start = d->launches[i].end > d->busy_until ? d->launches[i].end : d->busy_until;
        d->busy_until = start + 3000 + random_below(random, 30000);
        put_gpu_kernel(&d->track, now, kernels[random_below(random, 64)], start, d->busy_until,
                       first + i, geometry, &place);
    }
    d->count = 0;
}

static void launch(struct thread *t, struct device *d, struct random *random)
{
    uint64_t start = step(t, random);

    if (d->count == WAITING)
        tell(d, random, start);
    put_cuda_call(&t->track, start, ++d->correlation);
    t->ticks += 9000 + random_below(random, 3000);
    d->launches[d->count++] = (struct launch){start + 60, t->ticks - 60, t->track.tid};
}

/* One operator with up to three levels below it. */
static void put_op(struct thread *t, struct device *d, struct random *random, unsigned depth,
                   uint64_t name)
{
    uint64_t words[4] = {UINT64_MAX, (uint64_t)1 << 32, 0, 0};

    track_put(&t->track, TP_EVENT_OP_BEGIN, step(t, random), names[name], words);
    t->ops++;
    uint64_t below = depth < 3 ? random_below(random, 3) : 0;
    for (unsigned i = below ? 0 : d->kernels; i > 0; i--)
        launch(t, d, random);
    for (; below > 0; below--) /* with a device, as a program calls them; else any */
        put_op(t, d, random, depth + 1,
               d->kernels ? (name * 5 + below) % 64 : random_below(random, 64));
    if (random_below(random, 4) == 0) {
        t->track.allocated += 64 * (1 + random_below(random, 64));
        t->track.alloc_calls++;
    }
    track_put(&t->track, TP_EVENT_OP_END, step(t, random), 0, NULL);
}

int main(int argc, char **argv)
{
    struct recording recording;
    struct random random = {.state = 1};
    struct thread threads[64] = {0};
    static struct device device;
    char text[64];

    if (argc < 3)
        return 2;
    uint64_t ops = strtoull(argv[2], NULL, 10), done = 0;
    unsigned count = argc > 3 ? (unsigned)atoi(argv[3]) : 1;
    struct recording_options options = {.run_dir = argv[1],
                                        .pid = 4711,
                                        .rank = -1,
                                        .start_ns = 1700000000000000000,
                                        .ticks_per_ns = 3,
                                        .counts_memory = true};
    recording_begin(&recording, &options);
    for (unsigned i = 0; i < 64; i++) {
        int n = snprintf(text, sizeof(text), "aten::operator_%u%cdefault", i, 0);
        names[i] = recording_name(&recording, TP_NAME_OPERATOR, text, (size_t)n);
    }
    for (unsigned i = 0; i < 64; i++) {
        snprintf(text, sizeof(text), "_Z9kernel_%02uPfi", i);
        kernels[i] = recording_text(&recording, TP_NAME_SYMBOL, text);
    }
    launch_name = recording_text(&recording, TP_NAME_TEXT, "cudaLaunchKernel_v7000");
    geometry = recording_text(&recording, TP_NAME_GEOMETRY, "[[64,1,1],[256,1,1],32,0,0,0]");
    recording_clock(&recording, 0);
    device.kernels = argc > 4 ? (unsigned)atoi(argv[4]) : 0;
    if (device.kernels) {
        recording_meta(&recording, "{\"t\":\"cuda\",\"mode\":\"cupti\",\"clock\":\"ticks\"}");
        track_begin(&device.track, &recording, 99, 99);
    }
    for (unsigned i = 0; i < count && i < 64; i++)
        track_begin(&threads[i].track, &recording, i + 1, 100 + i);
    for (unsigned i = 0; done < ops; i = (i + 1) % count) {
        uint64_t before = threads[i].ops;
        while (threads[i].ops - before < 4000)
            put_op(&threads[i], &device, &random, 0, random_below(&random, 64));
        done += threads[i].ops - before;
    }
    for (unsigned i = 0; i < count; i++)
        track_flush(&threads[i].track);
    if (device.kernels) {
        tell(&device, &random, recording.last_ticks);
        track_flush(&device.track);
        track_end(&device.track);
    }
    recording_clock(&recording, recording.last_ticks);
    recording_end(&recording, "exit");
    for (unsigned i = 0; i < count; i++)
        track_end(&threads[i].track);
    printf("%llu\n", (unsigned long long)(device.kernels ? device.correlation : done));
    return 0;
}
