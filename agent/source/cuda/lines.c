/* SPDX-License-Identifier: MIT */
/*
 * What goes to meta.jsonl. Whoever has something to tell puts it here, and the drain writes it: a
 * thread of the program opens no file.
 */
#include "source/cuda/cuda.h"

#include "agent.h"
#include "base/text.h"
#include "clock.h"
#include "drain.h"
#include "pool.h"
#include "recording.h"

#define LINES_MAX 8192u
#define PAIRS 64u
#define TRIES 8u
#define REPORT_BYTES (16u << 10)

struct line {
    struct line *next;
    size_t size;
    char text[];
};

struct pair {
    _Atomic uint32_t number; /* + 1; 0 while it is written */
    uint64_t ticks, cupti_ns, width;
};

static struct {
    struct line *_Atomic newest;
    _Atomic uint32_t count, left_out;
    uint32_t left_out_told;
    struct pair pairs[PAIRS];
    _Atomic uint32_t pair_count;
    uint32_t pairs_told;
    uint64_t lost_told[5];
    uint64_t until_told;
} lines;

void tp_cuda_line(const struct tp_text *text)
{
    struct line *line = NULL;

    if (!text->cut && atomic_fetch_add(&lines.count, 1) < LINES_MAX)
        line = tp_pool_get(sizeof(*line) + text->used);
    if (!line) {
        atomic_fetch_add(&lines.left_out, 1);
        return;
    }
    line->size = text->used;
    memcpy(line->text, text->data, text->used);
    line->next = atomic_load(&lines.newest);
    while (!atomic_compare_exchange_weak(&lines.newest, &line->next, line))
        ;
}

void tp_cuda_say(const char *why)
{
    static const char *const modes[] = {"undecided", "cupti", "hooks", "off"};
    char buffer[TP_PATH_MAX + 1024];
    struct tp_text text;
    enum tp_cuda_mode mode = tp_cuda_mode();

    tp_text_init(&text, buffer, sizeof(buffer));
    tp_text_format(&text, "{\"t\":\"cuda\",\"mode\":\"%s\"", modes[mode]);
    if (mode == TP_CUDA_MODE_CUPTI) {
        tp_text_string(&text, ",\"library\":");
        tp_text_json(&text, tp_cuda.library, strlen(tp_cuda.library));
        tp_text_format(&text, ",\"api\":%u,\"clock\":\"%s\",\"graphs\":\"%s\"", tp_cuda.api,
                       tp_cuda.ticks ? "ticks" : "cupti", tp_cuda.graph_nodes ? "node" : "graph");
    }
    if (why && *why) {
        tp_text_string(&text, ",\"why\":");
        tp_text_json(&text, why, strnlen(why, 400));
    }
    if (atomic_load(&tp_cuda.broken))
        tp_text_string(&text, ",\"missing\":1");
    tp_text_char(&text, '}');
    tp_cuda_line(&text);
    tp_drain_tell(tp_agent.live);
}

void tp_cuda_pair(void)
{
    uint32_t number = atomic_fetch_add(&lines.pair_count, 1);
    struct pair *pair = &lines.pairs[number % PAIRS], best = {.width = UINT64_MAX};

    for (unsigned i = 0; i < TRIES; i++) {
        uint64_t ns = 0, before = tp_ticks();
        int result = tp_cuda.cupti.GetTimestamp(&ns);
        uint64_t after = tp_ticks();
        if (result != TP_CUPTI_SUCCESS || after - before >= best.width)
            continue;
        best.ticks = before + (after - before) / 2;
        best.cupti_ns = ns;
        best.width = after - before;
    }
    atomic_store(&pair->number, 0);
    pair->ticks = best.ticks;
    pair->cupti_ns = best.cupti_ns;
    pair->width = best.width;
    atomic_store_explicit(&pair->number, number + 1, memory_order_release);
}

static void put_pairs(struct tp_text *text)
{
    uint32_t count = atomic_load(&lines.pair_count);

    if (count - lines.pairs_told > PAIRS)
        lines.pairs_told = count - PAIRS;
    for (; lines.pairs_told != count && text->used + 256 < text->size; lines.pairs_told++) {
        struct pair *pair = &lines.pairs[lines.pairs_told % PAIRS];
        if (atomic_load_explicit(&pair->number, memory_order_acquire) != lines.pairs_told + 1)
            return; /* being written: the next time */
        if (pair->width != UINT64_MAX)
            tp_text_format(
                text, "{\"t\":\"cuda_clock\",\"ticks\":%llu,\"cupti_ns\":%llu,\"width\":%llu}\n",
                (unsigned long long)pair->ticks, (unsigned long long)pair->cupti_ns,
                (unsigned long long)pair->width);
    }
}

static void put_unknown(struct tp_text *text)
{
    const char *comma = "";

    for (unsigned kind = 0; kind < TP_CUPTI_KIND_END; kind++) {
        uint64_t n = atomic_load_explicit(&tp_cuda.lost.unknown[kind], memory_order_relaxed);
        if (!n)
            continue;
        tp_text_format(text, "%s\"%u\":%llu", comma, kind, (unsigned long long)n);
        comma = ",";
    }
}

/* Only what is not 0, and only when something changed; `until` alone once in a report. */
static void put_lost(struct tp_text *text)
{
    const struct tp_cuda_lost *lost = &tp_cuda.lost;
    static const char *const keys[] = {"dropped", "no_room", "no_time", "invalid", "buffers"};
    uint64_t now[] = {lost->dropped, lost->no_room, lost->no_time, lost->invalid, lost->buffers};
    uint64_t until = atomic_load(&tp_cuda.until);

    if (until == lines.until_told && !memcmp(now, lines.lost_told, sizeof(now)))
        return;
    lines.until_told = until;
    memcpy(lines.lost_told, now, sizeof(now));
    tp_text_string(text, "{\"t\":\"cuda_lost\"");
    for (unsigned i = 0; i < sizeof(now) / sizeof(now[0]); i++)
        tp_text_format(text, ",\"%s\":%llu", keys[i], (unsigned long long)now[i]);
    tp_text_string(text, ",\"unknown\":{");
    put_unknown(text);
    tp_text_format(text, "},\"until\":%llu}\n", (unsigned long long)until);
}

/* Oldest first. */
static struct line *take_lines(void)
{
    struct line *line = atomic_exchange(&lines.newest, NULL), *reversed = NULL;

    while (line) {
        struct line *next = line->next;
        line->next = reversed;
        reversed = line;
        line = next;
    }
    return reversed;
}

static void write_out(struct tp_live *live, struct tp_text *text)
{
    tp_recording_meta(live, text->data, text->used);
    tp_text_init(text, text->data, text->size);
}

void tp_cuda_report(void)
{
    static char buffer[REPORT_BYTES]; /* of the one that drains; a program's stack may be small */
    struct tp_live *live = tp_agent.live;
    struct tp_text text;

    tp_text_init(&text, buffer, sizeof(buffer));
    for (struct line *line = take_lines(); line; line = line->next) {
        if (text.used + line->size + 2 > text.size)
            write_out(live, &text);
        tp_text_bytes(&text, line->text, line->size);
        tp_text_char(&text, '\n');
    }
    if (text.used > REPORT_BYTES / 4)
        write_out(live, &text);
    uint32_t left_out = atomic_load(&lines.left_out);
    if (left_out != lines.left_out_told)
        tp_text_format(
            &text,
            "{\"t\":\"note\",\"text\":\"%u names of CUDA's devices and streams are left out\"}\n",
            left_out);
    lines.left_out_told = left_out;
    put_pairs(&text);
    put_lost(&text);
    write_out(live, &text);
}

void tp_cuda_lines_forget(void)
{
    atomic_store(&lines.newest, NULL);
    atomic_store(&lines.count, 0);
    lines.pairs_told = atomic_load(&lines.pair_count);
    memset(lines.lost_told, 0, sizeof(lines.lost_told));
    lines.until_told = 0;
}
