/* SPDX-License-Identifier: MIT */
#include "input/tptrace_find.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "input/tptrace_file.h"
#include "input/tptrace_json.h"
#include "trace/file.h"

#define RUN_JSON_MAX (64u << 10)

static bool has_file(const char *directory, const char *name)
{
    char path[TPTRACE_PATH_MAX];
    struct stat info;

    return !tptrace_path(path, directory, name) && !stat(path, &info) && S_ISREG(info.st_mode);
}

static bool has_suffix(const char *directory, const char *suffix)
{
    DIR *stream = opendir(directory);
    struct dirent *entry;
    bool found = false;

    while (stream && !found && (entry = readdir(stream))) {
        const char *dot = strrchr(entry->d_name, '.');
        found = dot && !strcmp(dot, suffix);
    }
    if (stream)
        closedir(stream);
    return found;
}

/* Names, segments or rings without a meta.jsonl are a process's as well, one that can't be read. (A
 * folder for rings alone is what one leaves that was killed while it began.) */
static bool is_process(const char *directory)
{
    char path[TPTRACE_PATH_MAX];

    if (has_file(directory, "meta.jsonl") || has_file(directory, "names.tpn"))
        return true;
    if (!tptrace_path(path, directory, "ring") && has_suffix(path, ".tpr"))
        return true;
    return has_suffix(directory, ".tpt");
}

static int check_directory(const char *path)
{
    struct stat info;

    return stat(path, &info) ? -errno : S_ISDIR(info.st_mode) ? 0 : -ENOTDIR;
}

/* ---- directories below a directory ---- */

struct entries {
    char **paths;
    size_t count, capacity;
};

static void entries_fini(struct entries *entries)
{
    for (size_t i = 0; i < entries->count; i++)
        free(entries->paths[i]);
    free(entries->paths);
    *entries = (struct entries){0};
}

static int entries_add(struct entries *entries, const char *path)
{
    if (entries->count == entries->capacity) {
        size_t capacity = entries->capacity ? entries->capacity * 2 : 16;
        char **paths = realloc(entries->paths, capacity * sizeof(*paths));
        if (!paths)
            return -ENOMEM;
        entries->paths = paths;
        entries->capacity = capacity;
    }
    char *copy = strdup(path);
    if (!copy)
        return -ENOMEM;
    entries->paths[entries->count++] = copy;
    return 0;
}

static int compare_paths(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* The directories in @directory, by name; links are not followed out of it. */
static int list_directories(const char *directory, struct entries *entries)
{
    char path[TPTRACE_PATH_MAX];
    struct dirent *entry;
    int error = 0;

    DIR *stream = opendir(directory);
    if (!stream)
        return -errno;
    while (!error && (entry = readdir(stream))) {
        struct stat info;
        if (entry->d_name[0] == '.' || tptrace_path(path, directory, entry->d_name))
            continue;
        if (!lstat(path, &info) && S_ISDIR(info.st_mode))
            error = entries_add(entries, path);
    }
    closedir(stream);
    if (!error && entries->count)
        qsort(entries->paths, entries->count, sizeof(*entries->paths), compare_paths);
    return error;
}

/* Processes in @directory, down to @levels levels below it. */
static int collect_processes(const char *directory, unsigned levels, struct entries *processes)
{
    struct entries below = {0};

    if (is_process(directory))
        return entries_add(processes, directory);
    if (!levels)
        return 0;
    int error = list_directories(directory, &below);
    for (size_t i = 0; i < below.count && !error; i++) {
        if (levels > 1 && has_file(below.paths[i], "run.json"))
            continue; /* a recording of its own */
        error = collect_processes(below.paths[i], levels - 1, processes);
    }
    entries_fini(&below);
    return error == -EACCES || error == -ENOENT ? 0 : error;
}

/* ---- run.json ---- */

static int take_run_json(const char *bytes, uint64_t size, int64_t *ret_start_ns, char **ret_name,
                         struct tp_diag *diag)
{
    struct tptrace_json json;
    uint64_t format = 0;

    if (tptrace_json_parse(&json, bytes, size))
        return tp_diag_fail(diag, -TP_ESYNTAX, 0, "%llu bytes that are no JSON object",
                            (unsigned long long)size);
    const char *name = tptrace_json_text(&json, "run");
    bool whole = tptrace_json_u64(&json, "format", &format) && format && name &&
                 tptrace_json_i64(&json, "start_ns", ret_start_ns) && *ret_start_ns > 0;
    if (ret_name && name)
        *ret_name = strdup(name);
    tptrace_json_fini(&json);
    if (whole)
        return 0;
    return tp_diag_fail(diag, -TP_EVALUE, 0, "expected format, run and start_ns");
}

static int64_t read_run_json(const char *directory, char **ret_name, struct tp_diag *diag)
{
    char path[TPTRACE_PATH_MAX];
    int64_t start_ns = 0;
    uint64_t size;
    void *bytes;

    if (tptrace_path(path, directory, "run.json") ||
        tptrace_read_file(path, RUN_JSON_MAX, &bytes, &size, diag))
        return 0;
    take_run_json(bytes, size, &start_ns, ret_name, diag);
    free(bytes);
    return start_ns > 0 ? start_ns : 0;
}

/* The newest recording in a folder. Return: 1 found, 0 none, or -errno. */
static int find_newest(const char *folder, char **ret_directory)
{
    struct entries below = {0};
    int64_t newest = INT64_MIN;
    const char *best = NULL;

    int error = list_directories(folder, &below);
    for (size_t i = 0; i < below.count; i++) {
        if (!has_file(below.paths[i], "run.json"))
            continue;
        int64_t start_ns = read_run_json(below.paths[i], NULL, NULL);
        if (!best || start_ns >= newest) {
            newest = start_ns;
            best = below.paths[i];
        }
    }
    if (best && !(*ret_directory = strdup(best)))
        error = -ENOMEM;
    entries_fini(&below);
    return error ? error : best != NULL;
}

/* @visits: directories left to look into. */
static int search_below(const char *directory, unsigned levels, unsigned *visits, char **ret_path)
{
    struct entries below = {0};
    int error = list_directories(directory, &below);

    for (size_t i = 0; i < below.count && !error && !*ret_path && *visits; i++) {
        --*visits;
        if (has_file(below.paths[i], "run.json"))
            error = (*ret_path = strdup(below.paths[i])) ? 0 : -ENOMEM;
    }
    for (size_t i = 0; levels && i < below.count && !error && !*ret_path && *visits; i++)
        error = search_below(below.paths[i], levels - 1, visits, ret_path);
    entries_fini(&below);
    return error == -EACCES || error == -ENOENT ? 0 : error;
}

void tptrace_find_below(const char *directory, char **ret_path)
{
    unsigned visits = 2000;

    *ret_path = NULL;
    search_below(directory, 3, &visits, ret_path);
}

/* ---- the whole ---- */

static const char *last_part(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash && slash[1] ? slash + 1 : path;
}

/* The directory that holds run.json: @directory or one of the two above it; else @directory. */
static char *find_run_dir(const char *directory)
{
    char path[TPTRACE_PATH_MAX];

    for (unsigned up = 0; up < 3; up++) {
        static const char *const above[] = {"", "/..", "/../.."};
        int n = snprintf(path, sizeof(path), "%s%s", directory, above[up]);
        if (n < 0 || n >= (int)sizeof(path) || !has_file(path, "run.json"))
            continue;
        return up ? realpath(path, NULL) : strdup(path);
    }
    return strdup(directory);
}

/* Is @process HOST/PROCESS below @directory? */
static bool is_two_above(const char *directory, const char *process)
{
    size_t length = strlen(directory);

    if (strncmp(directory, process, length))
        return false;
    const char *below = process + length + strspn(process + length, "/");
    const char *slash = strchr(below, '/');
    return slash && slash[1];
}

static void take_folderless(struct tptrace_folderless *all, const char *line, size_t size)
{
    struct tptrace_json json;
    uint64_t calls = 0, bytes = 0;
    const char *program;

    if (tptrace_json_parse(&json, line, size))
        return;
    program = tptrace_json_text(&json, "program");
    tptrace_json_u64(&json, "alloc_calls", &calls);
    tptrace_json_u64(&json, "allocated_bytes", &bytes);
    all->count++;
    all->alloc_calls += calls;
    all->allocated_bytes += bytes;
    if (program && all->program)
        all->more_programs |= strcmp(program, all->program) != 0;
    else if (program)
        all->program = strdup(program);
    tptrace_json_fini(&json);
}

static void read_folderless(const char *run_dir, const char *name, struct tptrace_folderless *all)
{
    char path[TPTRACE_PATH_MAX];
    struct tp_diag diag;
    uint64_t size;
    void *bytes;

    if (tptrace_path(path, run_dir, name) ||
        tptrace_read_file(path, 2 * TP_RUN_LINES_MAX, &bytes, &size, &diag))
        return;
    const char *line = bytes, *end = line + size, *next;
    for (; (next = memchr(line, '\n', (size_t)(end - line))); line = next + 1)
        take_folderless(all, line, (size_t)(next - line));
    free(bytes);
}

static int fill_place(struct tptrace_place *place, const char *directory, struct entries *processes)
{
    char *run_dir = find_run_dir(directory), *name = NULL;

    if (!run_dir)
        return -ENOMEM;
    struct tp_diag run_json = {0};
    int64_t start_ns = read_run_json(run_dir, &name, &run_json);
    if (!name)
        name = strdup(last_part(run_dir));
    *place = (struct tptrace_place){.run_dir = run_dir,
                                    .run_name = name,
                                    .run_json = run_json,
                                    .is_whole = is_two_above(run_dir, processes->paths[0]),
                                    .start_ns = start_ns,
                                    .process_dirs = processes->paths,
                                    .count = processes->count};
    *processes = (struct entries){0};
    read_folderless(run_dir, TP_FILTERED_NAME, &place->filtered);
    read_folderless(run_dir, TP_UNRECORDED_NAME, &place->unrecorded);
    return name ? 0 : -ENOMEM;
}

static int find_in(const char *directory, struct tptrace_place *place)
{
    struct entries processes = {0};
    char *newest = NULL;

    int error = collect_processes(directory, 2, &processes);
    if (!error && !processes.count && !has_file(directory, "run.json")) {
        int found = find_newest(directory, &newest);
        error = found < 0 ? found : found ? collect_processes(newest, 2, &processes) : 0;
    }
    if (!error)
        error = processes.count ? fill_place(place, newest ? newest : directory, &processes)
                                : -TP_ENOTFOUND;
    if (error && place->run_dir)
        tptrace_place_fini(place);
    entries_fini(&processes);
    free(newest);
    return error;
}

int tptrace_find(const char *input, struct tptrace_place *ret_place, struct tp_diag *diag)
{
    const char *out = getenv("TPAGENT_OUT");
    const char *where = input ? input : out && *out ? out : ".";
    struct tptrace_place place = {0};

    int error = check_directory(where);
    if (!error)
        error = find_in(where, &place);
    if (!error) {
        *ret_place = place;
        return 0;
    }
    if (error == -TP_ENOTFOUND)
        tp_diag_fail(diag, error, TP_DIAG_NO_OFFSET,
                     "no recording here%s; expected run.json, or meta.jsonl of a process",
                     input         ? ""
                     : out && *out ? " (TPAGENT_OUT)"
                                   : " (the working directory; TPAGENT_OUT is not set)");
    else
        tp_diag_fail(diag, error, TP_DIAG_NO_OFFSET, "%s", tp_error_text(error));
    tp_diag_at(diag, where);
    return error;
}

void tptrace_place_fini(struct tptrace_place *place)
{
    for (size_t i = 0; i < place->count; i++)
        free(place->process_dirs[i]);
    free(place->process_dirs);
    free(place->run_dir);
    free(place->run_name);
    free(place->filtered.program);
    free(place->unrecorded.program);
    *place = (struct tptrace_place){0};
}

bool tptrace_is_recording(const char *path)
{
    struct tptrace_place place;

    if (check_directory(path) || tptrace_find(path, &place, NULL))
        return false;
    tptrace_place_fini(&place);
    return true;
}
