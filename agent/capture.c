/* SPDX-License-Identifier: MIT */
#include "capture.h"

#include "agent.h"
#include "base/text.h"
#include "clock.h"

#define TURNS_KEPT 64u

_Atomic uint32_t tp_capture_closed;

/* When the last turns happened; turn n lies at n % TURNS_KEPT. The number stands in front: a line
 * is written of whole entries only. */
static struct {
    _Atomic uint64_t ticks[TURNS_KEPT];
    uint32_t told; /* the reporter's: turns told so far */
} turns;

static void turn(uint32_t closed)
{
    uint32_t now = atomic_load(&tp_capture_closed);

    do {
        if ((now & 1) == closed)
            return;
    } while (!atomic_compare_exchange_weak(&tp_capture_closed, &now, now + 1));
    atomic_store_explicit(&turns.ticks[(now + 1) % TURNS_KEPT], tp_ticks(), memory_order_relaxed);
    if (closed && tp_agent.live)
        tp_threads_make_careful(tp_agent.live);
}

void tp_capture_start(bool always)
{
    if (!always)
        turn(1);
}

void tp_capture_open(void)
{
    turn(0);
}

void tp_capture_close(void)
{
    turn(1);
}

void tp_capture_report(struct tp_text *text, bool all)
{
    uint32_t now = atomic_load(&tp_capture_closed);

    if (all)
        turns.told = 0;
    if (now - turns.told > TURNS_KEPT) {
        tp_text_format(text, "{\"t\":\"capture\",\"left_out\":%u}\n",
                       now - turns.told - TURNS_KEPT);
        turns.told = now - TURNS_KEPT;
    }
    while (turns.told != now && text->used + 128 < text->size) {
        uint32_t number = ++turns.told;
        tp_text_format(text, "{\"t\":\"capture\",\"state\":\"%s\",\"ticks\":%llu}\n",
                       number & 1 ? "closed" : "open",
                       (unsigned long long)atomic_load_explicit(&turns.ticks[number % TURNS_KEPT],
                                                                memory_order_relaxed));
    }
}
