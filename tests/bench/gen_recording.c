/* SPDX-License-Identifier: MIT
 * gen_recording DIR OPS [TRACKS]: a training-like recording of OPS operators, for measuring the
 * reader. */
#include <stdio.h>
#include <stdlib.h>

#include "make_recording.h"
#include "records.h"

static uint32_t names[64];

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

/* One operator with up to three levels below it. */
static void put_op(struct thread *t, struct random *random, unsigned depth)
{
    uint64_t words[4] = {UINT64_MAX, (uint64_t)1 << 32, 0, 0};

    track_put(&t->track, TP_EVENT_OP_BEGIN, step(t, random), names[random_below(random, 64)],
              words);
    t->ops++;
    if (depth < 3) {
        for (uint64_t i = random_below(random, 3); i > 0; i--)
            put_op(t, random, depth + 1);
    }
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
    recording_clock(&recording, 0);
    for (unsigned i = 0; i < count && i < 64; i++)
        track_begin(&threads[i].track, &recording, i + 1, 100 + i);
    for (unsigned i = 0; done < ops; i = (i + 1) % count) {
        uint64_t before = threads[i].ops;
        while (threads[i].ops - before < 4000)
            put_op(&threads[i], &random, 0);
        done += threads[i].ops - before;
    }
    for (unsigned i = 0; i < count; i++)
        track_flush(&threads[i].track);
    recording_clock(&recording, recording.last_ticks);
    recording_end(&recording, "exit");
    for (unsigned i = 0; i < count; i++)
        track_end(&threads[i].track);
    printf("%llu\n", (unsigned long long)done);
    return 0;
}
