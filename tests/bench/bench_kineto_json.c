/* SPDX-License-Identifier: MIT
 * Reading a Kineto trace against yajl alone on the same text, and the memory it takes.
 * usage: bench_kineto_json TRACE [COPIES [ROUNDS]]: the entries of TRACE (.json, may be compressed)
 * are repeated, shifted in time, to make a text of useful size. Prints the best of the rounds;
 * fails when a goal is missed (half the speed of yajl alone, 64 bytes per event beyond the list).
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <yajl/yajl_parse.h>

#include "input/kineto_json.h"
#include "model/buffer.h"

enum { CHUNK = 256 << 10, GOAL_BYTES = 64 };

static const struct tp_selection everything;

static double cpu_seconds(void)
{
    struct timespec now;

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

/* ---- the text ---- */

static void read_trace(const char *path, struct tp_buffer *out)
{
    struct tp_input input;
    struct tp_diag diag;
    uint64_t offset = 0;
    ptrdiff_t got;
    char *chunk = malloc(CHUNK);

    if (tp_input_open(&input, path, &everything, &diag) < 0) {
        fprintf(stderr, "%s: %s\n", path, diag.text);
        exit(2);
    }
    while ((got = tp_input_read(&input, &offset, chunk, CHUNK)) > 0)
        tp_buffer_bytes(out, chunk, (size_t)got);
    tp_input_close(&input);
    free(chunk);
}

/* "[" of "traceEvents" and the "]" that ends it. */
static char *find_entries(struct tp_buffer *text, char **ret_end)
{
    tp_buffer_char(text, '\0');
    char *at = strstr(text->bytes, "\"traceEvents\"");
    int depth = 0;
    bool in_string = false;

    if (!at || !(at = strchr(at, '[')))
        exit(2);
    for (char *p = at; *p; p++) {
        if (in_string) {
            p += *p == '\\';
            in_string = *p != '"';
            continue;
        }
        in_string = *p == '"';
        depth += (*p == '[' || *p == '{') - (*p == ']' || *p == '}');
        if (!depth) {
            *ret_end = p;
            return at + 1;
        }
    }
    exit(2);
}

/* The number behind a "ts" that lies between @at and @end; NULL if there is none. */
static char *find_time(char *at, char *end)
{
    static const char mark[] = "\"ts\":";

    at = memmem(at, (size_t)(end - at), mark, sizeof(mark) - 1);
    if (at)
        at += sizeof(mark) - 1;
    while (at && *at == ' ')
        at++;
    return at && *at >= '0' && *at <= '9' ? at : NULL;
}

/* Entries, a second later for each copy. Ids repeat: work is linked to the first operator with its
 * id. */
static void copy_entries(char *begin, char *end, int copy, struct tp_buffer *out)
{
    char *at = begin, *behind;

    for (char *time; (time = find_time(at, end)); at = behind) {
        tp_buffer_bytes(out, at, (size_t)(time - at));
        tp_buffer_format(out, "%llu", strtoull(time, &behind, 10) + copy * 1000000ull);
    }
    tp_buffer_bytes(out, at, (size_t)(end - at));
}

static void repeat(struct tp_buffer *text, int copies, struct tp_buffer *out)
{
    char *end, *begin = find_entries(text, &end);

    tp_buffer_bytes(out, text->bytes, (size_t)(begin - text->bytes));
    for (int i = 0; i < copies; i++) {
        copy_entries(begin, end, i, out);
        if (i + 1 < copies)
            tp_buffer_char(out, ',');
    }
    tp_buffer_string(out, end);
}

/* ---- yajl alone ---- */

static int count_one(void *context)
{
    ++*(unsigned long *)context;
    return 1;
}

static int count_flag(void *context, int value)
{
    (void)value;
    return count_one(context);
}

static int count_number(void *context, const char *text, size_t size)
{
    (void)text;
    (void)size;
    return count_one(context);
}

static int count_string(void *context, const unsigned char *text, size_t size)
{
    (void)text;
    (void)size;
    return count_one(context);
}

static const yajl_callbacks counters = {
    .yajl_null = count_one,
    .yajl_boolean = count_flag,
    .yajl_number = count_number,
    .yajl_string = count_string,
    .yajl_start_map = count_one,
    .yajl_map_key = count_string,
    .yajl_end_map = count_one,
    .yajl_start_array = count_one,
    .yajl_end_array = count_one,
};

static double time_yajl(const struct tp_buffer *text)
{
    unsigned long tokens = 0;
    double start = cpu_seconds();
    yajl_handle yajl = yajl_alloc(&counters, NULL, &tokens);

    yajl_config(yajl, yajl_dont_validate_strings, 1);
    for (size_t at = 0; at < text->size; at += CHUNK) {
        size_t left = text->size - at;
        yajl_parse(yajl, (const unsigned char *)text->bytes + at, left < CHUNK ? left : CHUNK);
    }
    yajl_complete_parse(yajl);
    yajl_free(yajl);
    return cpu_seconds() - start;
}

/* ---- ours ---- */

struct lists {
    struct tp_strings strings;
    struct tp_stacks stacks;
    struct tp_event_list list;
};

static void parse(const struct tp_buffer *text, struct lists *lists)
{
    struct tp_input input = {.selection = &everything, .fd = -1};
    struct tp_diag diag;

    tp_strings_init(&lists->strings);
    tp_stacks_init(&lists->stacks);
    tp_event_list_init(&lists->list, &lists->strings, &lists->stacks);
    if (tp_kineto_json_parse(&input, text->bytes, text->size, &lists->list, &diag) < 0) {
        fprintf(stderr, "%s\n", diag.text);
        exit(2);
    }
}

static double time_ours(const struct tp_buffer *text)
{
    struct lists lists;
    double start = cpu_seconds();

    parse(text, &lists);
    double seconds = cpu_seconds() - start;
    tp_event_list_fini(&lists.list);
    tp_stacks_fini(&lists.stacks);
    tp_strings_fini(&lists.strings);
    return seconds;
}

static long peak_kb(void)
{
    struct rusage usage;

    getrusage(RUSAGE_SELF, &usage);
    return usage.ru_maxrss;
}

/* In a process of its own, whose peak is the parse's: bytes per event beyond events and kernels. */
static double bytes_per_event(const struct tp_buffer *text, unsigned *ret_events)
{
    double answer[2] = {0};
    int ends[2], status;

    if (pipe(ends) < 0)
        exit(2);
    if (!fork()) {
        struct lists lists;
        long before = peak_kb();
        parse(text, &lists);
        double list = (double)lists.list.count * sizeof(*lists.list.events) +
                      (double)lists.list.kernel_count * sizeof(*lists.list.kernels);
        answer[0] = ((double)(peak_kb() - before) * 1024 - list) / lists.list.count;
        answer[1] = lists.list.count;
        _exit(write(ends[1], answer, sizeof(answer)) != sizeof(answer));
    }
    if (read(ends[0], answer, sizeof(answer)) != sizeof(answer))
        exit(2);
    wait(&status);
    *ret_events = (unsigned)answer[1];
    return answer[0];
}

int main(int argc, char **argv)
{
    struct tp_buffer trace = {0}, text = {0};
    int copies = argc > 2 ? atoi(argv[2]) : 60, rounds = argc > 3 ? atoi(argv[3]) : 5;
    double yajl = 1e9, ours = 1e9;
    unsigned events;

    if (argc < 2)
        return 2;
    read_trace(argv[1], &trace);
    repeat(&trace, copies, &text);
    tp_buffer_fini(&trace);
    double bytes = bytes_per_event(&text, &events);
    for (int i = 0; i < rounds; i++) {
        double seconds = time_yajl(&text);
        yajl = seconds < yajl ? seconds : yajl;
        seconds = time_ours(&text);
        ours = seconds < ours ? seconds : ours;
    }
    printf("%.0f MB, %u events: yajl alone %.0f MB/s, ours %.0f MB/s, ratio %.2f; "
           "%.1f bytes per event beyond the list\n",
           (double)text.size / 1e6, events, (double)text.size / yajl / 1e6,
           (double)text.size / ours / 1e6, yajl / ours, bytes);
    tp_buffer_fini(&text);
    return yajl / ours < 0.5 || bytes > GOAL_BYTES;
}
