/* SPDX-License-Identifier: MIT */
#include "log.h"

#include <stdarg.h>
#include <stdatomic.h>

#include "base/os.h"
#include "base/text.h"
#include "config.h"

#define LINES_MAX 16

static struct {
    struct tp_os_stat at_start;
    bool known;
    int level;
    atomic_int lines;
} log_state = {.level = TP_LOG_WARN};

void tp_log_open(int level)
{
    log_state.level = level;
    log_state.known = tp_os_stat(2, &log_state.at_start) == 0;
}

bool tp_log_same(void)
{
    struct tp_os_stat now;

    return log_state.known && !tp_os_stat(2, &now) && now.device == log_state.at_start.device &&
           now.inode == log_state.at_start.inode;
}

static void line(const char *format, va_list arguments)
{
    char buffer[512];
    struct tp_text text;
    int count = atomic_fetch_add(&log_state.lines, 1);

    if (count > LINES_MAX)
        return;
    tp_text_init(&text, buffer, sizeof(buffer) - 1);
    tp_text_string(&text, "tpagent: ");
    if (count == LINES_MAX)
        tp_text_string(&text, "more messages are left out");
    else
        tp_text_vformat(&text, format, arguments);
    buffer[text.used++] = '\n';
    tp_os_write(2, buffer, text.used);
}

void tp_log_warn(const char *format, ...)
{
    va_list arguments;

    if (log_state.level < TP_LOG_WARN)
        return;
    va_start(arguments, format);
    line(format, arguments);
    va_end(arguments);
}

void tp_log_info(const char *format, ...)
{
    va_list arguments;

    if (log_state.level < TP_LOG_INFO)
        return;
    va_start(arguments, format);
    line(format, arguments);
    va_end(arguments);
}
