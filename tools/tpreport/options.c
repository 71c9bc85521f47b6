/* SPDX-License-Identifier: MIT */
#include "options.h"

#include <errno.h>
#include <getopt.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/text.h"

/* An option's value on its way into the options. */
struct argument {
    const char *name; /* of the option, without dashes */
    const char *text; /* NULL for a flag */
    void *field;
    struct tp_options *options;
    struct tp_diag *diag;
};

static int fail_value(const struct argument *a, const char *expected)
{
    return tp_diag_fail(a->diag, -TP_EVALUE, TP_DIAG_NO_OFFSET, "--%s: found '%.*s', expected %s",
                        a->name, 60, a->text, expected);
}

static bool is_none(const char *text)
{
    return !strcmp(text, "none");
}

static bool read_integer(const char *text, int64_t *ret)
{
    char *end;

    errno = 0;
    long long value = strtoll(text, &end, 10);
    if (errno || end == text || *end)
        return false;
    *ret = value;
    return true;
}

/* ---- kinds, one function for each name in the table ---- */

static int read_FLAG(const struct argument *a)
{
    *(bool *)a->field = true;
    return 0;
}

static int read_ON(const struct argument *a)
{
    *(enum tp_switch *)a->field = TP_SWITCH_ON;
    return 0;
}

static int read_OFF(const struct argument *a)
{
    *(enum tp_switch *)a->field = TP_SWITCH_OFF;
    return 0;
}

static int read_TEXT(const struct argument *a)
{
    *(const char **)a->field = a->text;
    return 0;
}

static int read_NAME(const struct argument *a)
{
    *(const char **)a->field = is_none(a->text) ? NULL : a->text;
    return 0;
}

static int read_LIMIT(const struct argument *a)
{
    int64_t limit = -1;

    if (!is_none(a->text) && !read_integer(a->text, &limit))
        return fail_value(a, "a number or none");
    a->options->view.row_limit = limit < 0 ? -1 : limit;
    a->options->view.row_limit_given = true;
    return 0;
}

static int read_WIDTH(const struct argument *a)
{
    int64_t width = 0;

    if (!is_none(a->text) && (!read_integer(a->text, &width) || width <= 0 || width > INT32_MAX))
        return fail_value(a, "a width of at least 1, or none");
    *(uint32_t *)a->field = (uint32_t)width;
    return 0;
}

static int read_COUNT(const struct argument *a)
{
    int64_t count;

    if (!read_integer(a->text, &count) || count < 0 || count > INT32_MAX)
        return fail_value(a, "a number of at least 0");
    *(uint32_t *)a->field = (uint32_t)count;
    return 0;
}

/* The reference ignores a unit it does not know, and so do we, but not silently. */
static int read_TIME_UNIT(const struct argument *a)
{
    static const char *const units[] = {"none", "s", "ms", "us"};
    struct tp_text note;

    for (int i = 0; i < 4; i++) {
        if (!strcmp(units[i], a->text)) {
            *(enum tp_time_unit *)a->field = i == 0   ? TP_TIME_AUTO
                                             : i == 1 ? TP_TIME_S
                                             : i == 2 ? TP_TIME_MS
                                                      : TP_TIME_US;
            return 0;
        }
    }
    tp_text_init(&note, a->options->note, sizeof(a->options->note));
    tp_text_format(&note, "--time-unit: '%.*s' is none of s, ms, us; times are printed as they fit",
                   40, a->text);
    return 0;
}

/* The reference's sentence, and what it does not know. */
static int fail_metric(struct tp_diag *diag)
{
    return tp_diag_fail(
        diag, -TP_EVALUE, TP_DIAG_NO_OFFSET,
        "metric should be one of: ['self_cpu_time_total', 'self_cuda_time_total', "
        "'self_xpu_time_total', 'self_privateuse1_time_total'] (or self_device_time_total; with "
        "--format folded or pprof: cpu_time_total, self_cpu_memory_usage, "
        "self_device_memory_usage, count, cpu, device, bytes)");
}

int tp_options_check_metric(const struct tp_options *options, struct tp_diag *diag)
{
    return options->view.metric == TP_MEASURE_SELF_CPU_TIME ||
                   options->view.metric == TP_MEASURE_SELF_DEVICE_TIME
               ? 0
               : fail_metric(diag);
}

static int read_METRIC(const struct argument *a)
{
    static const struct {
        const char *name;
        enum tp_measure metric;
    } metrics[] = {
        {"self_cpu_time_total", TP_MEASURE_SELF_CPU_TIME},
        {"self_device_time_total", TP_MEASURE_SELF_DEVICE_TIME},
        {"self_cuda_time_total", TP_MEASURE_SELF_DEVICE_TIME},
        {"self_xpu_time_total", TP_MEASURE_SELF_DEVICE_TIME},
        {"self_privateuse1_time_total", TP_MEASURE_SELF_DEVICE_TIME},
        {"cpu_time_total", TP_MEASURE_CPU_TIME},
        {"self_cpu_memory_usage", TP_MEASURE_SELF_CPU_MEMORY},
        {"self_device_memory_usage", TP_MEASURE_SELF_DEVICE_MEMORY},
        {"count", TP_MEASURE_COUNT},
        {"cpu", TP_MEASURE_SELF_CPU_TIME},
        {"device", TP_MEASURE_SELF_DEVICE_TIME},
        {"bytes", TP_MEASURE_SELF_CPU_MEMORY},
    };

    for (size_t i = 0; i < sizeof(metrics) / sizeof(metrics[0]); i++) {
        if (!strcmp(a->text, metrics[i].name)) {
            a->options->view.metric = metrics[i].metric;
            return 0;
        }
    }
    return fail_metric(a->diag);
}

static int read_OF(const struct argument *a)
{
    bool averages = !strcmp(a->text, "averages");

    if (!averages && strcmp(a->text, "events") != 0)
        return fail_value(a, "events or averages");
    *(bool *)a->field = averages;
    return 0;
}

static int read_REPEAT(const struct argument *a)
{
    int64_t count;

    if (!read_integer(a->text, &count) || count < 1 || count > INT32_MAX)
        return fail_value(a, "a number of at least 1");
    a->options->repeat = (uint32_t)count;
    return 0;
}

static int read_PROFILER(const struct argument *a)
{
    char known[128];
    struct tp_text text;
    int profiler = tp_profiler_find(a->text);

    if (profiler >= 0) {
        a->options->profiler = profiler;
        return 0;
    }
    tp_text_init(&text, known, sizeof(known));
    tp_text_string(&text, "one of");
    for (int i = 0; i < TP_PROFILERS; i++)
        tp_text_format(&text, "%s%s", i ? ", " : " ", tp_profiler_name(i));
    return fail_value(a, known);
}

static int read_PID(const struct argument *a)
{
    a->options->selection.has_pid = read_integer(a->text, &a->options->selection.pid);
    return a->options->selection.has_pid ? 0 : fail_value(a, "a process number");
}

static int read_RANK(const struct argument *a)
{
    a->options->selection.has_rank = read_integer(a->text, &a->options->selection.rank);
    return a->options->selection.has_rank ? 0 : fail_value(a, "a rank number");
}

/* N or N-M. */
static bool read_range(const char *text, int64_t *ret_first, int64_t *ret_last)
{
    const char *dash = strchr(text, '-');
    char first[24];

    if (*text < '0' || *text > '9')
        return false;
    if (!dash) {
        bool good = read_integer(text, ret_first);
        *ret_last = *ret_first;
        return good;
    }
    if ((size_t)(dash - text) >= sizeof(first))
        return false;
    memcpy(first, text, (size_t)(dash - text));
    first[dash - text] = '\0';
    return read_integer(first, ret_first) && read_integer(dash + 1, ret_last) &&
           *ret_last >= *ret_first;
}

static int read_STEP(const struct argument *a)
{
    struct tp_selection *s = &a->options->selection;

    s->has_step = read_range(a->text, &s->first_step, &s->last_step);
    return s->has_step ? 0 : fail_value(a, "a step's number or a range such as 3-5");
}

static int read_BY(const struct argument *a)
{
    struct tp_selection *s = &a->options->selection;

    s->by = !strcmp(a->text, "rank")      ? TP_BY_RANK
            : !strcmp(a->text, "process") ? TP_BY_PROCESS
                                          : TP_BY_NOTHING;
    return s->by != TP_BY_NOTHING ? 0 : fail_value(a, "rank or process");
}

/* Decimal seconds, to the nanosecond. */
static bool read_seconds(const char *text, int64_t *ret_ns)
{
    int64_t seconds = 0, fraction = 0, scale = 100000000;

    if ((*text < '0' || *text > '9') && *text != '.')
        return false;
    for (; *text >= '0' && *text <= '9'; text++) {
        seconds = seconds * 10 + (*text - '0');
        if (seconds > INT64_MAX / 1000000000 - 1)
            return false;
    }
    if (*text == '.')
        text++;
    for (; *text >= '0' && *text <= '9'; text++, scale /= 10)
        fraction += (*text - '0') * scale;
    *ret_ns = seconds * 1000000000 + fraction;
    return !*text || !strcmp(text, "s");
}

/* 2026-01-31T12:00:00[.5][Z|+hh:mm]; a zone that is not given is UTC. */
static bool read_date(const char *text, int64_t *ret_ns)
{
    struct tm tm = {0};
    int64_t fraction = 0, scale = 100000000;
    long zone = 0;

    const char *rest = strptime(text, "%Y-%m-%dT%H:%M:%S", &tm);
    if (!rest)
        rest = strptime(text, "%Y-%m-%d %H:%M:%S", &tm);
    if (!rest)
        return false;
    if (*rest == '.') {
        for (rest++; *rest >= '0' && *rest <= '9'; rest++, scale /= 10)
            fraction += (*rest - '0') * scale;
    }
    if (*rest && strcmp(rest, "Z") != 0) {
        struct tm offset = {0};
        const char *end = strptime(rest, "%z", &offset);
        if (!end || *end)
            return false;
        zone = offset.tm_gmtoff;
    }
    *ret_ns = ((int64_t)timegm(&tm) - zone) * 1000000000 + fraction;
    return true;
}

static int read_INSTANT(const struct argument *a)
{
    struct tp_instant *instant = a->field;

    if (read_seconds(a->text, &instant->ns))
        instant->kind = TP_INSTANT_RELATIVE;
    else if (read_date(a->text, &instant->ns))
        instant->kind = TP_INSTANT_WALL;
    else
        return fail_value(a, "seconds such as 12.5, or a time such as 2026-01-31T12:00:00Z");
    return 0;
}

/* ---- the table ---- */

enum {
#define FOR(command) (1u << TP_COMMAND_##command)
#define TP_OPTION_SET(id, commands) SET_##id = (int)(commands),
#include "option_sets.def"
#undef TP_OPTION_SET
#undef FOR
};

static const struct {
    const char *name;
    int letter;
    unsigned commands;
    const char *value; /* NULL: none */
    const char *help;
    size_t offset;
    int (*read)(const struct argument *a);
} table[] = {
#define TP_OPTION(field, name, letter, kind, commands, value, help)                                \
    {name, letter, SET_##commands, value, help, offsetof(struct tp_options, field), read_##kind},
#include "options.def"
#undef TP_OPTION
};

static const struct {
    const char *name;
    const char *help;
} commands[] = {
#define TP_COMMAND(id, name, function, subject, help) {name, help},
#include "commands.def"
#undef TP_COMMAND
};

enum {
    OPTION_COUNT = sizeof(table) / sizeof(table[0]),
    FIRST_CODE = 1000, /* getopt's result for option n is FIRST_CODE + n */
};

const char *tp_command_name(enum tp_command_id id)
{
    return commands[id].name;
}

const char *tp_command_help(enum tp_command_id id)
{
    return commands[id].help;
}

const char *tp_command_example(enum tp_command_id id)
{
    static const char *const examples[TP_COMMANDS] = {
#define TP_EXAMPLE(id, line) [TP_COMMAND_##id] = line,
#include "examples.def"
#undef TP_EXAMPLE
    };

    return examples[id] ? examples[id] : commands[id].name;
}

bool tp_option_text(int number, struct tp_option_text *ret_text)
{
    if (number >= OPTION_COUNT)
        return false;
    *ret_text =
        (struct tp_option_text){table[number].name, table[number].letter, table[number].commands,
                                table[number].value, table[number].help};
    return true;
}

static void make_getopt_tables(struct option *longs, char *letters)
{
    *letters++ =
        '-'; /* words come in their order, so that "--" can be told from a command before it */
    *letters++ = ':';
    for (int i = 0; i < OPTION_COUNT; i++) {
        longs[i] = (struct option){.name = table[i].name,
                                   .has_arg = table[i].value ? required_argument : no_argument,
                                   .val = FIRST_CODE + i};
        if (table[i].letter) {
            *letters++ = (char)table[i].letter;
            if (table[i].value)
                *letters++ = ':';
        }
    }
    longs[OPTION_COUNT] = (struct option){0};
    *letters = '\0';
}

static int find_option(int code)
{
    if (code >= FIRST_CODE)
        return code - FIRST_CODE;
    for (int i = 0; i < OPTION_COUNT; i++) {
        if (table[i].letter == code)
            return i;
    }
    return -1;
}

static int fail_option(const char *word, struct tp_diag *diag)
{
    char name[64];
    struct tp_text text;
    const char *nearest = "help";
    unsigned least = 64;

    while (*word == '-')
        word++;
    tp_text_init(&text, name, sizeof(name));
    tp_text_bytes(&text, word, strcspn(word, "="));
    for (int i = 0; i < OPTION_COUNT; i++) {
        if (!strcmp(name, table[i].name)) /* known, so it is its value */
            return tp_diag_fail(diag, -TP_EVALUE, TP_DIAG_NO_OFFSET, "option --%s takes no value",
                                name);
        unsigned distance = tp_text_distance(name, table[i].name);
        if (distance < least && table[i].help) {
            least = distance;
            nearest = table[i].name;
        }
    }
    return tp_diag_fail(diag, -TP_ENOTFOUND, TP_DIAG_NO_OFFSET,
                        "unknown option '%s'; nearest: --%s", name, nearest);
}

static int take_option(int code, struct tp_options *options, struct tp_diag *diag)
{
    int i = find_option(code);
    struct argument argument = {
        .name = table[i].name,
        .text = optarg,
        .field = (char *)options + table[i].offset,
        .options = options,
        .diag = diag,
    };

    return table[i].read(&argument);
}

const char *tp_command_nearest(const char *word)
{
    const char *nearest = NULL;
    unsigned least = (unsigned)strlen(word) / 2;

    if (strpbrk(word, "./"))
        return NULL;
    for (int i = 0; i < TP_COMMANDS; i++) {
        unsigned distance = tp_text_distance(word, commands[i].name);
        if (distance <= least) {
            least = distance - (distance > 0);
            nearest = commands[i].name;
        }
    }
    return nearest;
}

static bool take_command(const char *word, struct tp_options *options)
{
    for (int i = 0; i < TP_COMMANDS; i++) {
        if (!strcmp(word, commands[i].name)) {
            options->command = (enum tp_command_id)i;
            options->has_command = true;
            return true;
        }
    }
    return false;
}

int tp_options_parse(int argc, char **argv, const char **words, struct tp_options *ret_options,
                     struct tp_diag *diag)
{
    struct option longs[OPTION_COUNT + 1];
    char letters[2 * OPTION_COUNT + 3];
    bool saw_word = false;
    int code, result = 0;

    *ret_options = (struct tp_options){
        .inputs = words,
        .view = {.row_limit = -1,
                 .max_name_width = 55,
                 .max_shapes_width = 80,
                 .max_src_width = 75,
                 .metric = TP_MEASURE_SELF_CPU_TIME},
        .repeat = 1,
        .profiler = TP_PROFILER_AUTO,
    };
    make_getopt_tables(longs, letters);
    opterr = 0;
    optind = 0;
    while (!result && (code = getopt_long(argc, argv, letters, longs, NULL)) != -1) {
        if (code == 1) {
            if (saw_word || !take_command(optarg, ret_options)) {
                ret_options->first_is_word |= !saw_word;
                words[ret_options->input_count++] = optarg;
            }
            saw_word = true;
        } else if (code == ':') {
            result = tp_diag_fail(diag, -TP_EVALUE, TP_DIAG_NO_OFFSET, "option '%s' needs a value",
                                  argv[optind - 1]);
        } else if (code == '?') {
            result = fail_option(argv[optind - 1], diag);
        } else {
            result = take_option(code, ret_options, diag);
        }
    }
    while (!result && optind < argc)
        words[ret_options->input_count++] = argv[optind++];
    return result;
}

void tp_options_names(struct tp_buffer *out)
{
    for (int i = 0; i < OPTION_COUNT; i++) {
        if (table[i].help)
            tp_buffer_format(out, " --%s", table[i].name);
    }
}
