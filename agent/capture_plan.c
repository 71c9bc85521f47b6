/* SPDX-License-Identifier: MIT */
#include "capture_plan.h"

#include <signal.h>
#include <string.h>

#include "base/text.h"

/* Digits at *text, which is moved behind them. False: none, or more than @most. */
static bool take_number(const char **text, uint64_t most, uint64_t *ret)
{
    const char *p = *text;
    uint64_t value = 0;

    for (; *p >= '0' && *p <= '9'; p++) {
        uint64_t digit = (uint64_t)(*p - '0');
        if (value > (most - digit) / 10)
            return false;
        value = value * 10 + digit;
    }
    if (p == *text)
        return false;
    *text = p;
    *ret = value;
    return true;
}

/* --- signals
 * ----------------------------------------------------------------------------------------- */

static bool is_suitable(int signal)
{
    return signal == SIGUSR1 || signal == SIGUSR2 || (signal >= SIGRTMIN && signal <= SIGRTMAX);
}

/* "+3" or "-3" behind the name of a real-time signal, or nothing. */
static int real_time(int from, char sign, const char *rest)
{
    uint64_t offset = 0;

    if (*rest && (*rest++ != sign || !take_number(&rest, 64, &offset) || *rest))
        return 0;
    return sign == '+' ? from + (int)offset : from - (int)offset;
}

int tp_capture_signal_parse(const char *text)
{
    uint64_t number;
    int signal = 0;

    if (!strncmp(text, "SIG", 3))
        text += 3;
    const char *p = text;
    if (!strcmp(text, "USR1"))
        signal = SIGUSR1;
    else if (!strcmp(text, "USR2"))
        signal = SIGUSR2;
    else if (!strncmp(text, "RTMIN", 5))
        signal = real_time(SIGRTMIN, '+', text + 5);
    else if (!strncmp(text, "RTMAX", 5))
        signal = real_time(SIGRTMAX, '-', text + 5);
    else if (take_number(&p, 64, &number) && !*p)
        signal = (int)number;
    return is_suitable(signal) ? signal : 0;
}

static void signal_text(int signal, struct tp_text *text)
{
    if (signal == SIGUSR1 || signal == SIGUSR2)
        tp_text_string(text, signal == SIGUSR1 ? "USR1" : "USR2");
    else
        tp_text_format(text, "RTMIN+%d", signal - SIGRTMIN);
}

/* --- TPAGENT_CAPTURE
 * --------------------------------------------------------------------------------- */

bool tp_capture_by_parse(const char *text, struct tp_capture_by_what *ret)
{
    struct tp_capture_by_what what = {0};

    if (!strcmp(text, "cuda-profiler-api")) {
        what.by = TP_CAPTURE_CUDA_PROFILER_API;
    } else if (!strncmp(text, "range:", 6)) {
        size_t size = strlen(text + 6);
        if (!size || size >= sizeof(what.name))
            return false;
        what.by = TP_CAPTURE_RANGE;
        memcpy(what.name, text + 6, size);
    } else if (!strncmp(text, "signal:", 7)) {
        what.by = TP_CAPTURE_SIGNAL;
        what.signal = (uint8_t)tp_capture_signal_parse(text + 7);
        if (!what.signal)
            return false;
    } else if (strcmp(text, "always")) {
        return false;
    }
    *ret = what;
    return true;
}

void tp_capture_by_text(const struct tp_capture_by_what *what, struct tp_text *text)
{
    static const char *const names[] = {"always", "range:", "cuda-profiler-api", "signal:"};

    tp_text_string(text, names[what->by]);
    if (what->by == TP_CAPTURE_RANGE)
        tp_text_string(text, what->name);
    else if (what->by == TP_CAPTURE_SIGNAL)
        signal_text(what->signal, text);
}

bool tp_capture_name_matches(const struct tp_capture_by_what *what, const char *name, size_t size)
{
    size_t length = strlen(what->name);

    if (length && what->name[length - 1] == '*')
        return size >= length - 1 && !memcmp(name, what->name, length - 1);
    return size == length && !memcmp(name, what->name, length);
}

/* --- times
 * ------------------------------------------------------------------------------------------- */

static const struct {
    const char *name;
    uint64_t ns;
} units[] = {
    {"h", 3600000000000u}, {"m", 60000000000u}, {"s", 1000000000u}, {"ms", 1000000u}, {"us", 1000u},
};

#define UNITS (sizeof(units) / sizeof(units[0]))
#define SECONDS 2u

bool tp_time_parse(const char *text, uint64_t *ret_ns)
{
    uint64_t value;
    unsigned unit = 0;

    if (!take_number(&text, INT64_MAX, &value))
        return false;
    if (!*text)
        unit = SECONDS;
    else
        while (unit < UNITS && strcmp(units[unit].name, text))
            unit++;
    if (unit == UNITS || value > INT64_MAX / units[unit].ns)
        return false;
    *ret_ns = value * units[unit].ns;
    return true;
}

void tp_time_text(uint64_t ns, struct tp_text *text)
{
    unsigned unit = 0;

    while (unit < UNITS - 1 && (!ns || ns % units[unit].ns))
        unit++;
    if (!ns)
        unit = SECONDS;
    tp_text_format(text, "%llu%s", (unsigned long long)(ns / units[unit].ns), units[unit].name);
}

/* --- steps
 * ------------------------------------------------------------------------------------------- */

bool tp_schedule_parse(const char *text, struct tp_schedule *ret)
{
    uint64_t numbers[5] = {0};
    unsigned count = 0;

    while (*text && count < 5) {
        if (count && *text++ != ',')
            return false;
        if (!take_number(&text, 1000000000, &numbers[count]))
            return false;
        count++;
    }
    if (*text || (count && (count < 3 || !numbers[2])))
        return false;
    *ret = (struct tp_schedule){.wait = (uint32_t)numbers[0],
                                .warmup = (uint32_t)numbers[1],
                                .active = (uint32_t)numbers[2],
                                .repeat = (uint32_t)numbers[3],
                                .skip_first = (uint32_t)numbers[4]};
    return true;
}

void tp_schedule_text(const struct tp_schedule *schedule, struct tp_text *text)
{
    if (!schedule->active)
        return;
    tp_text_format(text, "%u,%u,%u,%u", schedule->wait, schedule->warmup, schedule->active,
                   schedule->repeat);
    if (schedule->skip_first)
        tp_text_format(text, ",%u", schedule->skip_first);
}

bool tp_schedule_is_active(const struct tp_schedule *schedule, uint32_t step)
{
    uint64_t before = (uint64_t)schedule->wait + schedule->warmup;
    uint64_t cycle = before + schedule->active;

    if (step < schedule->skip_first)
        return false;
    step -= schedule->skip_first;
    return (!schedule->repeat || step / cycle < schedule->repeat) && step % cycle >= before;
}
