/* SPDX-License-Identifier: MIT
 * make_sample DIR: a small recording with something of everything: two processes, one of which was
 * killed, with blocks, rings, every kind of range, names of every kind, notes, sources. */
#include <stdio.h>
#include <string.h>

#include "make_recording.h"

static uint32_t operator_name(struct recording *r, const char *name, const char *overload)
{
    char text[128];
    int n = snprintf(text, sizeof(text), "%s%c%s", name, 0, overload);

    return recording_name(r, TP_NAME_OPERATOR, text, (size_t)n);
}

static uint32_t scoped_name(struct recording *r, const char *domain, const char *name)
{
    char text[128];
    int n = snprintf(text, sizeof(text), "%s%c%s", domain, 0, name);

    return recording_name(r, TP_NAME_SCOPED, text, (size_t)n);
}

static uint64_t fill(struct recording_track *t, struct recording *r, int rounds)
{
    uint32_t step = operator_name(r, "ProfilerStep*", ""),
             add = operator_name(r, "aten::add", "Tensor");
    uint32_t leaf = operator_name(r, "aten::is_leaf", ""),
             range = scoped_name(r, "nccl", "AllReduce");
    uint32_t emitted =
        scoped_name(r, "", "aten::mm, seq = 3, op_id = 9, sizes = [[8, 16], [16, 4]]");
    uint32_t api = recording_text(r, TP_NAME_TEXT, "epoch"),
             shapes = recording_text(r, TP_NAME_SHAPES, "[[[8,16],[16,32]],[\"float\",\"float\"]]");
    uint64_t ticks = 1000;

    for (int i = 0; i < rounds; i++) {
        uint64_t words[4] = {(uint64_t)i, (uint64_t)1 << 32, 0, 7},
                 op[4] = {UINT64_MAX, 0, shapes, 0};
        uint64_t async[4] = {(uint64_t)i + t->track * 1000, TP_CLASS_NVTX, 0, 0};
        track_put(t, TP_EVENT_OP_BEGIN, ticks += 137, step, words);
        track_put(t, TP_EVENT_API_BEGIN, ticks += 211, api, NULL);
        track_put(t, TP_EVENT_OP_BEGIN, ticks += 318, add, op);
        t->allocated += 4096;
        t->alloc_calls++;
        track_put(t, TP_EVENT_OP_BEGIN, ticks += 45, leaf, op);
        track_put(t, TP_EVENT_OP_END, ticks += 45, 0, NULL);
        track_put(t, TP_EVENT_ASYNC_BEGIN, ticks += 12, range, async);
        track_put(t, TP_EVENT_NVTX_PUSH, ticks += 99, emitted, NULL);
        track_put(t, TP_EVENT_MARK, ticks += 7, range, async);
        track_put(t, TP_EVENT_API_END, ticks += 300, 0, NULL);
        track_put(t, TP_EVENT_NVTX_POP, ticks += 501, 0, NULL);
        t->freed += 1024;
        track_put(t, TP_EVENT_OP_END, ticks += 1200, 0, NULL);
        track_put(t, TP_EVENT_ASYNC_END, ticks += 12, 0, async);
        track_put(t, TP_EVENT_ITT_BEGIN, ticks += 64, range, NULL);
        track_put(t, TP_EVENT_ITT_END, ticks += 64, 0, NULL);
        track_put(t, TP_EVENT_OP_END, ticks += 90, 0, NULL);
        if (i % 16 == 15)
            track_flush(t);
    }
    return ticks;
}

static void make_process(const char *dir, uint32_t pid, bool killed)
{
    struct recording r;
    struct recording_track t[2];
    struct recording_options options = {.run_dir = dir,
                                        .program = killed ? "worker" : "train",
                                        .pid = pid,
                                        .rank = killed ? 1 : 0,
                                        .start_ns = 1700000000000000000 + pid,
                                        .ticks_per_ns = 3,
                                        .counts_memory = true,
                                        .segment_bytes = 4096};

    recording_begin(&r, &options);
    recording_clock(&r, 0);
    recording_meta(&r, "{\"t\":\"source\",\"name\":\"nvtx\",\"state\":\"started\"}");
    recording_meta(&r, "{\"t\":\"source\",\"name\":\"cuda\",\"state\":\"off\",\"why\":\"no GPU\"}");
    for (uint32_t i = 0; i < 2; i++) {
        track_begin(&t[i], &r, i + 1, pid + i);
        fill(&t[i], &r, killed ? 40 : 70);
        if (killed)
            track_leave_in_ring(&t[i], 16);
        else
            track_flush(&t[i]);
    }
    recording_clock(&r, r.last_ticks);
    recording_end(&r, killed ? NULL : "exit");
    for (uint32_t i = 0; i < 2; i++)
        track_end(&t[i]);
}

int main(int argc, char **argv)
{
    if (argc != 2)
        return 2;
    make_process(argv[1], 4000, false);
    make_process(argv[1], 4100, true);
    return 0;
}
