/* SPDX-License-Identifier: MIT
 * make_random SEED DIR [cuda|calls]: a recording of one process with ranges of all classes that
 * nest, cross, bear the names of their parents, or are left out of reports; start/end ranges over
 * threads; memory; and a block after every few records, so that ranges are open where blocks meet.
 * With cuda also work of a device, of which no launch is recorded; with calls also the threads'
 * calls, some of which are never told and some of which have work of several pieces, with records
 * of work on any track, before the call or long after it. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cuda_records.h"
#include "records.h"

#define TRACKS 3
#define NAMES 6
#define DEPTH_MAX 12
#define ASYNC_MAX 64
#define IDS 16u /* calls under way */

struct made {
    struct recording r;
    struct recording_track tracks[TRACKS];
    uint32_t operators[NAMES], scoped[NAMES], texts[NAMES], shapes[2], kernels[2];
    unsigned depth[TRACKS][TP_CLASS_END];
    uint64_t async[ASYNC_MAX], next_async;
    unsigned async_count;
    uint64_t ticks;
    bool cuda, calls;
    struct {
        uint32_t id;
        bool called, worked;
    } ids[IDS];
    uint32_t next_id;
};

static unsigned draw(unsigned below)
{
    return (unsigned)random() % below;
}

static void make_names(struct made *m)
{
    static const char *const names[NAMES] = {"aten::add",     "aten::add",     "aten::mm",
                                             "aten::is_leaf", "ProfilerStep*", "work"};
    static const char *const suffixes[NAMES] = {"", ", seq = 1", ", seq = 2, sizes = [[2, 3]]",
                                                "", "",          ", seq = 4, sizes = [[4]]"};
    char text[128];

    for (unsigned i = 0; i < NAMES; i++) {
        int n = snprintf(text, sizeof(text), "%s%c%s", names[i], 0, i == 1 ? "Tensor" : "");
        m->operators[i] = recording_name(&m->r, TP_NAME_OPERATOR, text, (size_t)n);
        n = snprintf(text, sizeof(text), "%s%c%s%s", i == 5 ? "domain" : "", 0, names[i],
                     suffixes[i]);
        m->scoped[i] = recording_name(&m->r, TP_NAME_SCOPED, text, (size_t)n);
        m->texts[i] = recording_text(&m->r, TP_NAME_TEXT, names[i]);
    }
    m->kernels[0] = recording_text(&m->r, TP_NAME_SYMBOL, "_Z4gemmPf");
    m->kernels[1] = recording_text(&m->r, TP_NAME_SYMBOL, "relu");
    m->shapes[0] = recording_text(&m->r, TP_NAME_SHAPES, "[[[8,16]],[\"float\"]]");
    m->shapes[1] = recording_text(&m->r, TP_NAME_SHAPES, "[[[4]],[\"float\"]]");
}

static void put_begin(struct made *m, unsigned t)
{
    unsigned name = draw(NAMES), class_ = 1 + draw(4), *depth = &m->depth[t][class_];
    uint64_t words[4] = {draw(100), 0, m->shapes[draw(2)], draw(2) ? 0 : 7};

    if (*depth >= DEPTH_MAX)
        return;
    ++*depth;
    if (class_ == TP_CLASS_OP)
        track_put(&m->tracks[t], TP_EVENT_OP_BEGIN, m->ticks, m->operators[name], words);
    else if (class_ == TP_CLASS_NVTX)
        track_put(&m->tracks[t], draw(2) ? TP_EVENT_NVTX_PUSH : TP_EVENT_NVTX_PUSH_EX, m->ticks,
                  m->scoped[name], NULL);
    else if (class_ == TP_CLASS_ITT)
        track_put(&m->tracks[t], TP_EVENT_ITT_BEGIN, m->ticks, m->scoped[name], NULL);
    else
        track_put(&m->tracks[t], TP_EVENT_API_BEGIN, m->ticks, m->texts[name], NULL);
}

static void put_end(struct made *m, unsigned t)
{
    static const unsigned ends[] = {0, TP_EVENT_OP_END, TP_EVENT_NVTX_POP, TP_EVENT_ITT_END,
                                    TP_EVENT_API_END};
    unsigned class_ = 1 + draw(4);

    if (!m->depth[t][class_] && draw(8))
        return;
    m->depth[t][class_] -= m->depth[t][class_] != 0;
    track_put(&m->tracks[t], ends[class_], m->ticks, 0, NULL);
}

static void put_async(struct made *m, unsigned t)
{
    uint64_t words[4] = {0, TP_CLASS_NVTX + draw(3), 0, 0};

    if (m->async_count < ASYNC_MAX && draw(2)) {
        words[0] = m->async[m->async_count++] = ++m->next_async;
        track_put(&m->tracks[t], TP_EVENT_ASYNC_BEGIN, m->ticks, m->scoped[draw(NAMES)], words);
    } else if (m->async_count) {
        unsigned at = draw(m->async_count);
        words[0] = m->async[at];
        words[1] = 0;
        m->async[at] = m->async[--m->async_count];
        track_put(&m->tracks[t], TP_EVENT_ASYNC_END, m->ticks, 0, words);
    }
}

static void put_work(struct made *m, unsigned t, uint32_t id)
{
    const struct cuda_place place = {
        .stream = m->calls ? 7 + draw(2) : 7, .context = 1, .graph = m->calls && !draw(4) ? 3 : 0};
    struct recording_track *track = &m->tracks[t];
    uint64_t end = m->ticks - draw(100), start = end - draw(50) * draw(4000);

    switch (draw(5)) {
    case 0:
        put_gpu_memcpy(track, m->ticks, 1 + draw(2), start, end, id, 4096, &place);
        break;
    case 1:
        put_gpu_memset(track, m->ticks, 3, start, end, id, 4096, &place);
        break;
    case 2:
        put_gpu_graph(track, m->ticks, start, end, id, &place);
        break;
    default:
        put_gpu_kernel(track, m->ticks, m->kernels[draw(2)], start, end, id, 0, &place);
        break;
    }
}

/* Half of one of the calls under way; where a new one takes its place, what has not come of it will
 * never come. */
static void put_call_or_work(struct made *m, unsigned t)
{
    unsigned at = draw(IDS);

    if (!m->ids[at].id || (m->ids[at].called && m->ids[at].worked && draw(3)) || !draw(40)) {
        m->ids[at].id = ++m->next_id;
        m->ids[at].called = m->ids[at].worked = false;
    }
    if (!m->ids[at].called && draw(3)) {
        m->ids[at].called = true;
        put_cuda_call(&m->tracks[t], m->ticks, m->ids[at].id);
        return;
    }
    m->ids[at].worked = true;
    put_work(m, t, m->ids[at].id);
}

static void put_one(struct made *m, unsigned t)
{
    struct recording_track *track = &m->tracks[t];
    uint64_t memory[4] = {draw(1000), (uint64_t)draw(4096), 0, 0};

    m->ticks += 1 + draw(3000);
    if (m->calls && draw(2)) {
        put_call_or_work(m, t);
        return;
    }
    if (m->cuda && !draw(3)) {
        put_work(m, t, 0);
        return;
    }
    switch (draw(10)) {
    case 0:
        put_async(m, t);
        break;
    case 1:
        track->alloc_calls++;
        track->allocated += draw(10000);
        track->freed += draw(5000);
        break;
    case 2:
        if (draw(2))
            track_put(track, TP_EVENT_MEMORY, m->ticks, draw(2), memory);
        else
            track_put(track, TP_EVENT_MARK, m->ticks, m->texts[draw(NAMES)], NULL);
        break;
    default:
        if (draw(100) < 52)
            put_begin(m, t);
        else
            put_end(m, t);
        break;
    }
}

int main(int argc, char **argv)
{
    static struct made m;

    if (argc < 3)
        return 2;
    m.cuda = argc > 3 && !strcmp(argv[3], "cuda");
    m.calls = argc > 3 && !strcmp(argv[3], "calls");
    srandom((unsigned)atoi(argv[1]));
    struct recording_options options = {.run_dir = argv[2],
                                        .pid = 4000,
                                        .rank = -1,
                                        .start_ns = 1700000000000000000,
                                        .ticks_per_ns = 3,
                                        .counts_memory = true};
    recording_begin(&m.r, &options);
    records_write_schema(m.r.meta);
    recording_clock(&m.r, 0);
    if (m.cuda)
        recording_meta(&m.r, "{\"t\":\"cuda\",\"mode\":\"cupti\",\"clock\":\"ticks\"}");
    if (m.calls) { /* times of a device are nanoseconds: sums are exact */
        recording_meta(&m.r, "{\"t\":\"cuda\",\"mode\":\"cupti\",\"clock\":\"cupti\"}");
        recording_meta(&m.r, "{\"t\":\"cuda_clock\",\"ticks\":0,\"cupti_ns\":0}");
        recording_meta(&m.r, "{\"t\":\"cuda_clock\",\"ticks\":3000000000,"
                             "\"cupti_ns\":1000000000}");
    }
    m.ticks = 1000000;
    make_names(&m);
    for (unsigned t = 0; t < TRACKS; t++)
        track_begin(&m.tracks[t], &m.r, t + 1, 4000 + t);
    for (unsigned i = 0; i < (m.calls ? 1200u : 600u); i++) {
        unsigned t = draw(TRACKS);
        put_one(&m, t);
        if (!draw(12))
            track_flush(&m.tracks[t]);
    }
    for (unsigned t = 0; t < TRACKS; t++)
        track_flush(&m.tracks[t]);
    recording_clock(&m.r, m.ticks);
    recording_end(&m.r, "exit");
    for (unsigned t = 0; t < TRACKS; t++)
        track_end(&m.tracks[t]);
    return 0;
}
