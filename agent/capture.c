/* SPDX-License-Identifier: MIT */
#include "capture.h"

#include <string.h>

#include "agent.h"
#include "base/text.h"
#include "capture_range.h"
#include "clock.h"

#define TURNS_KEPT 1024u
#define TURNS_TOLD 2048u   /* in lines of their own: meta.jsonl must not grow with the run */
#define LINE_BYTES 2048u   /* the plan's text, escaped */
#define CLOSE_ENOUGH 50000 /* ns: from here on each record reads the clock */

_Atomic uint32_t tp_capture_closed;
bool tp_capture_watches;

/* What the window depends on. */
static struct {
    bool planned; /* any variable says something */
    enum tp_capture_by by;
    uint64_t delay_end_ns, duration_ns;
    _Atomic uint32_t switched_on; /* by a signal or by cudaProfilerStart */
    _Atomic uint32_t delayed, expired;
    _Atomic uint64_t close_ns; /* the open window's end; 0 none */
    _Atomic uint64_t look_at;  /* ticks before which no time can be over */
    _Atomic uint32_t taken;    /* the program handles the signal */
    bool taken_told;           /* the reporter's */
} state;

/* When the last turns happened; turn n lies at n % TURNS_KEPT. The number stands in front: a line
 * is written of whole entries only. */
static struct {
    _Atomic uint64_t ticks[TURNS_KEPT];
    _Atomic uint32_t windows;    /* opened so far, by this process */
    _Atomic uint64_t open_ticks; /* how long those that are closed again were open */
    uint32_t first;              /* turn before this process's first */
    uint32_t told;               /* the reporter's: turns told so far */
    uint32_t left_out;           /* of them without a line */
} turns;

/* --- turning
 * ----------------------------------------------------------------------------------------- */

static uint64_t ticks_of(uint32_t turn)
{
    return atomic_load_explicit(&turns.ticks[turn % TURNS_KEPT], memory_order_relaxed);
}

static void note_turn(uint32_t turn, uint64_t ticks)
{
    uint64_t before = ticks_of(turn - 1);

    if (ticks < before)
        ticks = before;
    atomic_store_explicit(&turns.ticks[turn % TURNS_KEPT], ticks, memory_order_relaxed);
    if (!(turn & 1))
        atomic_fetch_add_explicit(&turns.windows, 1, memory_order_relaxed);
    else if (turn > 1)
        atomic_fetch_add_explicit(&turns.open_ticks, ticks - before, memory_order_relaxed);
}

static void turn(uint32_t closed, uint64_t ticks)
{
    uint32_t now = atomic_load(&tp_capture_closed);

    if ((now & 1) == closed)
        return;
    if (!closed && state.duration_ns) {
        atomic_store(&state.close_ns, tp_os_monotonic_ns() + state.duration_ns);
        atomic_store(&state.look_at, 0);
    }
    do {
        if ((now & 1) == closed)
            return;
    } while (!atomic_compare_exchange_weak(&tp_capture_closed, &now, now + 1));
    note_turn(now + 1, ticks);
    if (closed && tp_agent.live)
        tp_threads_make_careful(tp_agent.live);
}

static bool is_triggered(void)
{
    bool is_switched = state.by == TP_CAPTURE_CUDA_PROFILER_API || state.by == TP_CAPTURE_SIGNAL;

    return (!is_switched || atomic_load(&state.switched_on)) && !atomic_load(&state.delayed) &&
           tp_capture_range_wants();
}

static bool is_wanted(void)
{
    return is_triggered() && !atomic_load(&state.expired);
}

void tp_capture_update(uint64_t ticks)
{
    do {
        if (!is_triggered())
            atomic_store(&state.expired, 0);
        turn(!is_wanted(), ticks);
    } while (is_wanted() != tp_capture_is_open());
}

void tp_capture_open(void)
{
    if (state.by != TP_CAPTURE_CUDA_PROFILER_API)
        return;
    atomic_store(&state.expired, 0);
    atomic_store(&state.switched_on, 1);
    tp_capture_update(tp_ticks());
}

void tp_capture_close(void)
{
    if (state.by != TP_CAPTURE_CUDA_PROFILER_API)
        return;
    atomic_store(&state.switched_on, 0);
    tp_capture_update(tp_ticks());
}

void tp_capture_toggle(void)
{
    atomic_fetch_xor(&state.switched_on, 1);
    tp_capture_update(tp_ticks());
}

void tp_capture_signal_taken(void)
{
    atomic_store(&state.taken, 1);
}

/* --- time
 * -------------------------------------------------------------------------------------------- */

static double ticks_a_ns(uint64_t ticks, uint64_t now_ns)
{
    const struct tp_clock_pair *first = &tp_agent.first_pair;

    return now_ns > first->monotonic_ns && ticks > first->ticks
               ? (double)(ticks - first->ticks) / (double)(now_ns - first->monotonic_ns)
               : 0;
}

/* Half of the way there: the rate is not known well at first. */
static void look_again_later(uint64_t ticks, uint64_t now_ns, uint64_t end_ns)
{
    uint64_t left_ns = end_ns - now_ns;
    double rate = left_ns > CLOSE_ENOUGH ? ticks_a_ns(ticks, now_ns) : 0;

    atomic_store(&state.look_at, ticks + (uint64_t)(rate * (double)(left_ns / 2)));
}

/* The moment in ticks at which the time was over. */
static uint64_t ticks_at(uint64_t ticks, uint64_t now_ns, uint64_t end_ns)
{
    return ticks - (uint64_t)(ticks_a_ns(ticks, now_ns) * (double)(now_ns - end_ns));
}

static bool is_over(uint64_t ticks, uint64_t now_ns, uint64_t end_ns)
{
    if (now_ns >= end_ns)
        return true;
    look_again_later(ticks, now_ns, end_ns);
    return false;
}

void tp_capture_tick(uint64_t ticks)
{
    bool delayed = atomic_load_explicit(&state.delayed, memory_order_relaxed);

    if ((!delayed && !state.duration_ns) ||
        ticks < atomic_load_explicit(&state.look_at, memory_order_relaxed))
        return;
    uint64_t now_ns = tp_os_monotonic_ns(), close_ns = atomic_load(&state.close_ns);
    if (delayed && is_over(ticks, now_ns, state.delay_end_ns)) {
        atomic_store(&state.delayed, 0);
        tp_capture_update(ticks_at(ticks, now_ns, state.delay_end_ns));
    } else if (!delayed && tp_capture_is_open() && close_ns && is_over(ticks, now_ns, close_ns)) {
        atomic_store(&state.expired, 1);
        if (state.by == TP_CAPTURE_SIGNAL)
            atomic_store(&state.switched_on, 0);
        tp_capture_update(ticks_at(ticks, now_ns, close_ns));
    }
}

/* --- start, fork
 * ------------------------------------------------------------------------------------- */

void tp_capture_start(const struct tp_config *config)
{
    const struct tp_clock_pair *first = &tp_agent.first_pair;

    state.by = config->capture.by;
    state.duration_ns = config->duration;
    state.delay_end_ns = first->monotonic_ns + config->delay;
    atomic_store(&state.delayed, config->delay != 0);
    state.planned = state.by != TP_CAPTURE_ALWAYS || config->schedule.active || config->delay ||
                    config->duration;
    if (!state.planned)
        return;
    tp_capture_watches =
        state.by == TP_CAPTURE_RANGE || config->schedule.active || config->duration;
    turn(1, first->ticks);
    tp_capture_update(first->ticks);
}

void tp_capture_fork_child(void)
{
    if (!state.planned)
        return;
    tp_capture_update(tp_ticks());
    uint32_t now = tp_capture_turn();
    turns.first = now ? now - 1 : 0;
    atomic_store(&turns.windows, !(now & 1));
    atomic_store(&turns.open_ticks, 0);
}

/* --- lines
 * ------------------------------------------------------------------------------------------- */

static void put_plan(struct tp_text *text)
{
    const struct tp_config *config = &tp_agent.config;
    char buffer[TP_CAPTURE_NAME_MAX + 256];
    struct tp_text plan;

    tp_text_init(&plan, buffer, sizeof(buffer));
    if (config->capture.by != TP_CAPTURE_ALWAYS) {
        tp_text_string(&plan, ", ");
        tp_capture_by_text(&config->capture, &plan);
    }
    if (config->schedule.active) {
        tp_text_string(&plan, ", schedule ");
        tp_schedule_text(&config->schedule, &plan);
    }
    if (config->delay) {
        tp_text_string(&plan, ", delay ");
        tp_time_text(config->delay, &plan);
    }
    if (config->duration) {
        tp_text_string(&plan, ", duration ");
        tp_time_text(config->duration, &plan);
    }
    tp_text_json(text, plan.data + 2, plan.used - 2);
}

static void put_totals(struct tp_text *text)
{
    tp_text_string(text, "{\"t\":\"capture\",\"plan\":");
    put_plan(text);
    tp_text_format(
        text, ",\"windows\":%u,\"open_ticks\":%llu,\"left_out\":%u}\n",
        atomic_load_explicit(&turns.windows, memory_order_relaxed),
        (unsigned long long)atomic_load_explicit(&turns.open_ticks, memory_order_relaxed),
        turns.left_out);
}

static void put_turn(struct tp_text *text, uint32_t number)
{
    tp_text_format(text, "{\"t\":\"capture\",\"state\":\"%s\",\"ticks\":%llu}\n",
                   number & 1 ? "closed" : "open", (unsigned long long)ticks_of(number));
}

static void report_taken(struct tp_text *text)
{
    if (!atomic_load(&state.taken) || state.taken_told)
        return;
    state.taken_told = true;
    tp_text_string(text, "{\"t\":\"note\",\"text\":\"the program handles the signal of "
                         "TPAGENT_CAPTURE itself: it does not turn the capture window\"}\n");
}

void tp_capture_report(struct tp_text *text, bool all)
{
    if (!state.planned)
        return;
    tp_capture_tick(tp_ticks());
    uint32_t now = atomic_load(&tp_capture_closed);
    bool news = all || turns.told != now;
    if (all) {
        turns.told = turns.first;
        turns.left_out = 0;
        state.taken_told = false;
    }
    if (now - turns.told > TURNS_KEPT) {
        turns.left_out += now - turns.told - TURNS_KEPT;
        turns.told = now - TURNS_KEPT;
    }
    while (turns.told != now && text->used + LINE_BYTES < text->size) {
        uint32_t number = ++turns.told;
        if (number - turns.first <= TURNS_TOLD)
            put_turn(text, number);
        else
            turns.left_out++;
    }
    if (news && text->used + LINE_BYTES < text->size)
        put_totals(text);
    report_taken(text);
}
