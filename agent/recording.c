/* SPDX-License-Identifier: MIT */
#include "recording.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "clock.h"
#include "log.h"
#include "losses.h"
#include "sources.h"
#include "trace/file.h"

#define SECOND_CLOCK_NS 200000u /* nearer ones tell no rate: a reading is some 30 ns wide */
#define META_BUFFER (64u << 10)
#define FILE_MODE 0600u /* of all files; nobody else is to read them */
#define DIRECTORY_MODE 0700u

/* Rank variables: key, then the names it may have, in order of preference. */
static const struct {
    const char *key;
    const char *variables[4];
} rank_keys[] = {
    {"rank", {"RANK", "SLURM_PROCID", "OMPI_COMM_WORLD_RANK", "PMI_RANK"}},
    {"local_rank", {"LOCAL_RANK", "SLURM_LOCALID", "OMPI_COMM_WORLD_LOCAL_RANK", NULL}},
    {"world_size", {"WORLD_SIZE", "SLURM_NTASKS", "OMPI_COMM_WORLD_SIZE", "PMI_SIZE"}},
    {"node_rank", {"GROUP_RANK", "NODE_RANK", "SLURM_NODEID", "OMPI_COMM_WORLD_NODE_RANK"}},
    {"job", {"TORCHELASTIC_RUN_ID", "SLURM_JOB_ID", "PBS_JOBID", "LSB_JOBID"}},
};
#define RANK_KEYS (sizeof(rank_keys) / sizeof(rank_keys[0]))
enum { KEY_RANK, KEY_LOCAL_RANK, KEY_WORLD_SIZE, KEY_NODE_RANK, KEY_JOB };

/* What could not be made; by the thread that arms. */
static char failed_at[TP_PATH_MAX + 32];

/* Read in the constructor, constant afterwards. */
static struct {
    char values[RANK_KEYS][64];
    const char *from[RANK_KEYS];
    int argc;
    char arguments[4096]; /* JSON list, only when asked for */
    char program[256];    /* last part of argv[0] */
} facts;

static const char *value_of(char *const *environment, const char *name)
{
    size_t n = strlen(name);

    for (; environment && *environment; environment++)
        if (!strncmp(*environment, name, n) && (*environment)[n] == '=')
            return *environment + n + 1;
    return NULL;
}

void tp_recording_read_environment(char *const *environment, int argc, char *const *argv)
{
    struct tp_text text;

    for (unsigned k = 0; k < RANK_KEYS; k++)
        for (unsigned i = 0; i < 4 && rank_keys[k].variables[i] && !facts.from[k]; i++) {
            const char *value = value_of(environment, rank_keys[k].variables[i]);
            if (!value || !*value)
                continue;
            facts.from[k] = rank_keys[k].variables[i];
            tp_text_init(&text, facts.values[k], sizeof(facts.values[k]));
            tp_text_string(&text, value);
        }
    facts.argc = argc;
    if (argc > 0 && argv && argv[0]) {
        const char *base = strrchr(argv[0], '/');
        tp_text_init(&text, facts.program, sizeof(facts.program));
        tp_text_string(&text, base ? base + 1 : argv[0]);
    }
    if (!tp_agent.config.args)
        return;
    tp_text_init(&text, facts.arguments, sizeof(facts.arguments) - 2);
    for (int i = 0; i < argc; i++) {
        tp_text_char(&text, i ? ',' : '[');
        if (text.used + 6 * strlen(argv[i]) + 16 > text.size) {
            tp_text_string(&text, "\"...\"");
            break;
        }
        tp_text_json(&text, argv[i], strlen(argv[i]));
    }
    strcpy(facts.arguments + text.used, "]");
}

int tp_recording_fail_at(const char *path, int error)
{
    struct tp_text text;

    tp_text_init(&text, failed_at, sizeof(failed_at));
    tp_text_string(&text, path);
    return error;
}

const char *tp_recording_failed_at(void)
{
    return failed_at[0] ? failed_at : tp_agent.run_dir;
}

/* TPAGENT_RUN_DIR of processes whose first ancestor could make no recording, and has said so. */
#define NO_RUN "-"
#define RUN_VARIABLE "TPAGENT_RUN_DIR="

static char run_variable[sizeof(RUN_VARIABLE) + TP_PATH_MAX]; /* part of the environment */
static _Atomic uint32_t *refusal_said;                        /* shared with forked children */

void tp_recording_tell_children(bool recorded)
{
    struct tp_text text;

    tp_text_init(&text, run_variable, sizeof(run_variable));
    tp_text_string(&text, RUN_VARIABLE);
    tp_text_string(&text, recorded ? tp_agent.run_dir : NO_RUN);
    putenv(run_variable);
    if (recorded)
        refusal_said = tp_os_map_shared(sizeof(*refusal_said));
}

bool tp_recording_is_none(const char *run_dir)
{
    return !strcmp(run_dir, NO_RUN);
}

/* The recording is another user's, and will be for descendants. */
static bool first_refusal(void)
{
    bool first = !refusal_said || !atomic_exchange(refusal_said, 1);

    if (run_variable[0])
        memcpy(run_variable + strlen(RUN_VARIABLE), NO_RUN, sizeof(NO_RUN));
    return first;
}

void tp_recording_refuse_early(char **environment)
{
    size_t before = strlen(RUN_VARIABLE);

    if (!tp_recording_is_none(run_variable + before))
        return;
    for (; *environment; environment++)
        if (!strncmp(*environment, RUN_VARIABLE, before) && (*environment)[before])
            memcpy(*environment + before, NO_RUN, sizeof(NO_RUN));
}

bool tp_recording_may_complain(void)
{
    char path[TP_PATH_MAX + 16];
    struct tp_text text;

    int error = tp_os_own_directory(tp_agent.run_dir);
    if (error)
        return error == -ENOENT ? tp_agent.root : first_refusal();
    tp_text_init(&text, path, sizeof(path));
    tp_text_format(&text, "%s/.said", tp_agent.run_dir);
    int fd = tp_os_open(TP_OS_NO_DIR, path, O_WRONLY | O_CREAT | O_EXCL, FILE_MODE);
    if (fd >= 0)
        tp_os_close(fd);
    return fd != -EEXIST;
}

/* A word of an environment variable as part of a file name. */
static void put_file_word(struct tp_text *text, const char *word)
{
    for (size_t i = 0; word[i] && i < 48; i++) {
        char c = word[i];
        bool plain = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                     c == '-' || c == '_' || (c == '.' && i);
        tp_text_char(text, plain ? c : '_');
    }
}

/* yyyymmddThhmmss, UTC: the local time zone is not to be asked inside a host. */
static void put_time(struct tp_text *text, uint64_t realtime_ns)
{
    uint64_t seconds = realtime_ns / 1000000000u, day = seconds / 86400, rest = seconds % 86400;
    /* days to a date of the Gregorian calendar, years beginning in March */
    uint64_t z = day + 719468, era = z / 146097, doe = z % 146097;
    uint64_t yoe = (doe - doe / 1460 + doe / 36524 - doe / 146096) / 365;
    uint64_t doy = doe - (365 * yoe + yoe / 4 - yoe / 100), mp = (5 * doy + 2) / 153;
    uint64_t d = doy - (153 * mp + 2) / 5 + 1, m = mp < 10 ? mp + 3 : mp - 9;

    tp_text_format(text, "%04llu%02llu%02lluT%02llu%02llu%02llu",
                   (unsigned long long)(yoe + era * 400 + (m <= 2)), (unsigned long long)m,
                   (unsigned long long)d, (unsigned long long)(rest / 3600),
                   (unsigned long long)(rest / 60 % 60), (unsigned long long)(rest % 60));
}

static int write_small_file(const char *path, const char *bytes, size_t size)
{
    int fd = tp_os_open(TP_OS_NO_DIR, path, O_WRONLY | O_CREAT | O_EXCL, FILE_MODE);

    if (fd < 0)
        return tp_recording_fail_at(path, fd);
    int64_t n = tp_os_write(fd, bytes, size);
    tp_os_close(fd);
    return tp_recording_fail_at(path, n == (int64_t)size ? 0 : n < 0 ? (int)n : -ENOSPC);
}

static int write_run_files(const char *name, uint64_t now_ns)
{
    char path[TP_PATH_MAX + 32], line[1024];
    struct tp_text text;

    tp_text_init(&text, path, sizeof(path));
    tp_text_format(&text, "%s/.gitignore", tp_agent.run_dir);
    int error = write_small_file(path, "*\n", 2);
    if (error && error != -EEXIST)
        return error;
    tp_text_init(&text, line, sizeof(line));
    tp_text_string(&text, "{\"format\":1,\"run\":");
    tp_text_json(&text, name, strlen(name));
    tp_text_format(&text, ",\"start_ns\":%llu,\"host\":", (unsigned long long)now_ns);
    tp_text_json(&text, tp_agent.host, strlen(tp_agent.host));
    tp_text_format(&text, ",\"pid\":%u}\n", tp_os_pid());
    struct tp_text p;
    tp_text_init(&p, path, sizeof(path));
    tp_text_format(&p, "%s/run.json", tp_agent.run_dir);
    error = write_small_file(path, line, text.used);
    return error == -EEXIST ? 0 : error;
}

/* The absolute form of @path, from the working directory of now. */
static bool put_absolute(struct tp_text *text, const char *path)
{
    if (*path != '/') {
        if (tp_os_getcwd(text->data, text->size) <= 0 || text->data[0] != '/')
            return false;
        text->used = strlen(text->data);
        if (!strcmp(path, "."))
            path = "";
        if (*path && text->used > 1)
            tp_text_char(text, '/');
    }
    tp_text_string(text, path);
    return !text->cut;
}

/* The first @end bytes of tp_agent.run_dir as a folder. */
static int make_level(size_t end)
{
    char after = tp_agent.run_dir[end];

    tp_agent.run_dir[end] = '\0';
    int error = tp_os_mkdir(TP_OS_NO_DIR, tp_agent.run_dir, DIRECTORY_MODE);
    tp_recording_fail_at(tp_agent.run_dir, error);
    tp_agent.run_dir[end] = after;
    return error;
}

/* One that was missing a moment ago. Who made it meanwhile is another process of this user's, and
 * nobody who lays links where all may write. */
static int make_missing_level(size_t end)
{
    int error = make_level(end);

    return error == -EEXIST ? tp_os_own_directory(failed_at) : error;
}

static size_t end_of_level_above(size_t end)
{
    while (end && tp_agent.run_dir[end - 1] != '/')
        end--;
    while (end && tp_agent.run_dir[end - 1] == '/')
        end--;
    return end;
}

static size_t end_of_level_below(size_t end)
{
    end += strspn(tp_agent.run_dir + end, "/");
    return end + strcspn(tp_agent.run_dir + end, "/");
}

/* The first @end bytes, with all levels that are missing: up to one that is there, and down again.
 */
static int make_levels(size_t end)
{
    size_t at = end, above;
    int error = make_level(at);

    while (error && error != -EEXIST && (above = end_of_level_above(at)) > 0)
        error = make_level(at = above);
    while (at < end && (!error || error == -EEXIST))
        error = make_missing_level(at = end_of_level_below(at));
    return error;
}

/* What cannot be made below something that is no folder is that one's fault. */
static int blame(size_t level, int error)
{
    size_t above = end_of_level_above(level);
    char after = failed_at[above];

    if ((error != -ENOENT && error != -ENOTDIR) || !above)
        return error;
    failed_at[above] = '\0';
    int fd = tp_os_open(TP_OS_NO_DIR, failed_at, O_PATH | O_DIRECTORY, 0);
    if (fd < 0)
        return fd;
    tp_os_close(fd);
    failed_at[above] = after;
    return error;
}

/* tp_agent.run_dir, and the folder that was asked for (its first @base bytes) where that is
 * missing. */
static int make_run_dir(size_t base)
{
    size_t whole = strlen(tp_agent.run_dir);
    int error = make_level(whole);

    if (!error || error == -EEXIST)
        return error;
    error = make_levels(base);
    if (!error || error == -EEXIST)
        error = make_level(whole);
    return error ? blame(strlen(failed_at), error) : 0;
}

static int make_run(const char *out)
{
    uint64_t now_ns = tp_os_realtime_ns();
    struct tp_text text;
    int error = -EEXIST;

    for (unsigned attempt = 1; attempt < 100 && error == -EEXIST; attempt++) {
        tp_text_init(&text, tp_agent.run_dir, sizeof(tp_agent.run_dir));
        if (!put_absolute(&text, out))
            return -ENAMETOOLONG;
        size_t base = text.used;
        tp_text_string(&text, "/tpagent-");
        if (facts.from[KEY_JOB])
            put_file_word(&text, facts.values[KEY_JOB]);
        else
            tp_text_u64(&text, tp_os_pid());
        tp_text_char(&text, '-');
        put_time(&text, now_ns);
        if (attempt > 1)
            tp_text_format(&text, "-%u", attempt);
        if (text.cut)
            return -ENAMETOOLONG;
        error = make_run_dir(base);
        if (!error)
            return write_run_files(tp_agent.run_dir + base + 1, now_ns);
    }
    return error;
}

/* A folder that was named by hand, for ranks on many hosts, has no run.json before its first
 * process. */
static void complete_run(uint64_t now_ns)
{
    const char *slash = strrchr(tp_agent.run_dir, '/');

    if (tp_agent.config.run_dir[0])
        write_run_files(slash && slash[1] ? slash + 1 : tp_agent.run_dir, now_ns);
}

int tp_recording_begin_run(void)
{
    struct tp_text text;
    const struct tp_config *config = &tp_agent.config;

    if (config->run_dir[0]) {
        tp_text_init(&text, tp_agent.run_dir, sizeof(tp_agent.run_dir));
        return put_absolute(&text, config->run_dir) ? 0 : -ENAMETOOLONG;
    }
    int error = make_run(config->out);
    if (error)
        tp_log_warn("no recording: cannot make %s: %s",
                    error == -ENAMETOOLONG ? config->out : failed_at, tp_error_text(error));
    return error;
}

static void put_uuid(struct tp_text *text, const uint8_t uuid[16])
{
    for (int i = 0; i < 16; i++)
        tp_text_hex(text, uuid[i], 2);
}

static void make_uuid(struct tp_live *live)
{
    if (!tp_os_random(live->uuid, sizeof(live->uuid)))
        return;
    uint64_t seed[4] = {tp_ticks(), tp_os_realtime_ns(), live->pid, (uintptr_t)&seed};
    const uint64_t *kernel = tp_os_auxval_random();
    uint64_t mix = kernel ? kernel[0] ^ kernel[1] : 0;
    for (int i = 0; i < 4; i++)
        mix = (mix ^ seed[i]) * UINT64_C(0x9e3779b97f4a7c15);
    memcpy(live->uuid, &mix, 8);
    mix = (mix ^ mix >> 29) * UINT64_C(0xbf58476d1ce4e5b9);
    memcpy(live->uuid + 8, &mix, 8);
}

static int make_instance_dir(struct tp_live *live)
{
    struct tp_text text;
    int error = tp_os_own_directory(tp_agent.run_dir);

    if (error)
        return tp_recording_fail_at(tp_agent.run_dir, error);
    for (unsigned i = 0; i < 100 && (!i || error == -EEXIST); i++) {
        tp_text_init(&text, live->dir, sizeof(live->dir) - 64);
        tp_text_format(&text, "%s/%s", tp_agent.run_dir, tp_agent.host);
        int host = tp_os_mkdir(TP_OS_NO_DIR, live->dir, DIRECTORY_MODE);
        if (host == -EEXIST)
            host = tp_os_own_directory(live->dir);
        if (host)
            return tp_recording_fail_at(live->dir, host);
        tp_text_format(&text, "/%u-%llx", live->pid, (unsigned long long)(live->start_ns + i));
        if (facts.from[KEY_RANK]) {
            tp_text_string(&text, "-r");
            put_file_word(&text, facts.values[KEY_RANK]);
        }
        if (text.cut)
            return -ENAMETOOLONG;
        error = tp_os_mkdir(TP_OS_NO_DIR, live->dir, DIRECTORY_MODE);
        if (!error)
            live->start_ns += i;
    }
    return tp_recording_fail_at(live->dir, error);
}

static void put_key_text(struct tp_text *text, const char *key, const char *value)
{
    tp_text_format(text, ",\"%s\":", key);
    tp_text_json(text, value, strlen(value));
}

static void put_boot_id(struct tp_text *text)
{
    char id[64];

    if (tp_os_read_file("/proc/sys/kernel/random/boot_id", id, sizeof(id)) > 0) {
        id[strcspn(id, "\n")] = '\0';
        put_key_text(text, "boot_id", id);
    }
}

/* Ticks a second since the constructor, 0 = too early to tell. */
static uint64_t guess_rate(void)
{
    struct tp_clock_pair now;

    if (tp_clock_kind == TP_CLOCK_MONOTONIC)
        return 1000000000u;
    tp_clock_read(&now, 16);
    uint64_t ns = now.monotonic_ns - tp_agent.first_pair.monotonic_ns;
    if (!tp_agent.first_pair.monotonic_ns || ns < 20000 || ns > 1000000000000u)
        return 0;
    return (uint64_t)((double)(now.ticks - tp_agent.first_pair.ticks) * 1e9 / (double)ns);
}

bool tp_recording_counts(void)
{
    return tp_source_wanted(TP_SOURCE_MALLOC) && tp_agent.config.alloc.choice != TP_ALLOC_SAMPLE;
}

/* Of the calling thread. */
static void put_counts(struct tp_text *text)
{
    tp_text_format(text, ",\"alloc_calls\":%llu,\"allocated_bytes\":%llu",
                   (unsigned long long)tp_tls.alloc_calls,
                   (unsigned long long)tp_tls.allocated_bytes);
}

#define START_FIELD 20 /* in /proc/self/stat, behind the name */

/* When the kernel says that the process began, in its own unit: the same behind execve. */
static void put_kernel_start(struct tp_text *text)
{
    char stat[1024];

    if (tp_os_read_file("/proc/self/stat", stat, sizeof(stat)) < 0)
        return;
    const char *field = strrchr(stat, ')');
    for (unsigned i = 0; field && i < START_FIELD; i++)
        field = strchr(field + 1, ' ');
    if (!field)
        return;
    field++;
    tp_text_string(text, ",\"kernel_start\":");
    tp_text_bytes(text, field, strspn(field, "0123456789"));
}

static void put_start_line(struct tp_live *live, struct tp_text *text)
{
    char cwd[TP_PATH_MAX];

    tp_text_format(text,
                   "{\"t\":\"start\",\"format\":[%u,%u],\"agent\":\"" TP_VERSION "\",\"uuid\":\"",
                   TP_FORMAT_MAJOR, TP_FORMAT_MINOR);
    put_uuid(text, live->uuid);
    tp_text_char(text, '"');
    put_key_text(text, "host", tp_agent.host);
    put_boot_id(text);
    tp_text_format(text, ",\"pid\":%u,\"ppid\":%u,\"uid\":%u,\"start_ns\":%llu", live->pid,
                   tp_os_parent_pid(), tp_os_user(), (unsigned long long)live->start_ns);
    put_kernel_start(text);
    put_key_text(text, "exe", tp_agent.program);
    put_key_text(text, "program", facts.program);
    tp_text_format(text, ",\"argc\":%d", facts.argc);
    if (facts.arguments[0])
        tp_text_format(text, ",\"argv\":%s", facts.arguments);
    tp_os_getcwd(cwd, sizeof(cwd));
    put_key_text(text, "cwd", cwd);
    put_key_text(text, "clock", tp_clock_name());
    tp_text_format(text, ",\"ticks_per_second\":%llu", (unsigned long long)guess_rate());
    put_key_text(text, "begun", tp_agent.has_started ? "event" : "start");
    if (tp_recording_counts()) {
        put_key_text(text, "memory", "malloc");
        put_counts(text);
    }
    put_key_text(text, "ring_dir", live->ring_dir);
    if (tp_agent.armed_pid) {
        tp_text_string(text, ",\"parent\":\"");
        put_uuid(text, tp_agent.last_uuid);
        tp_text_char(text, '"');
    }
    tp_text_string(text, ",\"config\":");
    tp_config_json(&tp_agent.config, text);
    tp_text_string(text, "}\n");
}

static void put_dist_line(struct tp_text *text)
{
    bool any = false;

    for (unsigned k = 0; k < RANK_KEYS; k++)
        any |= facts.from[k] != NULL;
    if (!any)
        return;
    tp_text_string(text, "{\"t\":\"dist\"");
    for (unsigned k = 0; k < RANK_KEYS; k++) {
        const char *v = facts.values[k];
        if (!facts.from[k])
            continue;
        if (k != KEY_JOB && v[strspn(v, "0123456789")] == '\0' && strlen(v) < 10) {
            unsigned number = 0;
            for (; *v; v++)
                number = number * 10 + (unsigned)(*v - '0');
            tp_text_format(text, ",\"%s\":%u", rank_keys[k].key, number);
        } else {
            put_key_text(text, rank_keys[k].key, v);
        }
    }
    const char *comma = ",\"from\":{";
    for (unsigned k = 0; k < RANK_KEYS; k++)
        if (facts.from[k]) {
            tp_text_format(text, "%s\"%s\":\"%s\"", comma, rank_keys[k].key, facts.from[k]);
            comma = ",";
        }
    tp_text_string(text, "}}\n");
}

static void put_columns(struct tp_text *text, unsigned kind)
{
    const char *comma = "";

    for (unsigned i = 0; i < tp_field_count; i++) {
        const struct tp_field_info *f = &tp_fields[i];
        if (f->kind != kind)
            continue;
        tp_text_format(
            text,
            "%s{\"id\":%u,\"name\":\"%s\",\"word\":%u,\"shift\":%u,\"bits\":%u,\"unit\":\"%s\"}",
            comma, f->column, f->name, f->word, f->shift, f->bits, f->unit);
        comma = ",";
    }
}

static void put_schema_line(struct tp_text *text)
{
    static const char *const roles[] = {"none", "begin", "end", "point", "lost"};
    static const char *const classes[TP_CLASS_END] = {"none", "op", "nvtx", "itt", "api", "cuda"};

    tp_text_string(text, "{\"t\":\"schema\",\"kinds\":[{\"id\":0,\"name\":\"all\",\"slots\":0,"
                         "\"role\":\"none\",\"class\":\"none\",\"columns\":[");
    put_columns(text, TP_EVENT_ALL);
    tp_text_string(text, "]}");
    for (unsigned k = 1; k < TP_EVENT_KIND_END; k++) {
        const struct tp_kind_info *info = &tp_kinds[k];
        if (!info->name)
            continue;
        tp_text_format(text,
                       ",{\"id\":%u,\"name\":\"%s\",\"slots\":%u,\"role\":\"%s\",\"class\":\"%s\","
                       "\"columns\":[",
                       k, info->name, info->slots, roles[info->role], classes[info->class_]);
        put_columns(text, k);
        tp_text_string(text, "]}");
    }
    tp_text_string(text, "]}\n");
}

static void put_clock_pair(struct tp_text *text, const struct tp_clock_pair *pair)
{
    tp_text_format(text,
                   "{\"t\":\"clock\",\"ticks\":%llu,\"monotonic_ns\":%llu,\"raw_ns\":%llu,"
                   "\"realtime_ns\":%llu,\"width\":%llu}\n",
                   (unsigned long long)pair->ticks, (unsigned long long)pair->monotonic_ns,
                   (unsigned long long)pair->raw_ns, (unsigned long long)pair->realtime_ns,
                   (unsigned long long)pair->width);
}

void tp_recording_clock_line(struct tp_text *text)
{
    struct tp_clock_pair pair;

    tp_clock_read(&pair, 16);
    put_clock_pair(text, &pair);
}

void tp_recording_second_clock(struct tp_live *live)
{
    char buffer[512];
    struct tp_text text;

    if (tp_os_monotonic_ns() - tp_agent.first_pair.monotonic_ns < SECOND_CLOCK_NS)
        return;
    tp_text_init(&text, buffer, sizeof(buffer));
    tp_recording_clock_line(&text);
    tp_recording_meta(live, buffer, text.used);
}

/* meta.jsonl, and its @path. */
static int open_meta(const struct tp_live *live, int flags, char path[TP_PATH_MAX + 16])
{
    struct tp_text text;

    tp_text_init(&text, path, TP_PATH_MAX + 16);
    tp_text_format(&text, "%s/meta.jsonl", live->dir);
    return tp_os_open(TP_OS_NO_DIR, path, O_WRONLY | flags, FILE_MODE);
}

uint64_t tp_recording_meta_bytes(const struct tp_live *live)
{
    char path[TP_PATH_MAX + 16];
    int fd = open_meta(live, O_NOFOLLOW, path);
    struct tp_os_stat stat;

    if (fd < 0)
        return 0;
    int error = tp_os_stat(fd, &stat);
    tp_os_close(fd);
    return error ? 0 : stat.size;
}

void tp_recording_resume(const struct tp_live *live, uint64_t meta_bytes)
{
    char path[TP_PATH_MAX + 16];
    int fd = open_meta(live, O_NOFOLLOW, path);

    tp_os_mkdir(TP_OS_NO_DIR, live->ring_dir, DIRECTORY_MODE);
    if (fd < 0)
        return;
    tp_os_truncate(fd, meta_bytes);
    tp_os_close(fd);
}

static int append_meta(struct tp_live *live, const char *bytes, size_t size, int flags)
{
    char path[TP_PATH_MAX + 16];

    if (!size)
        return 0;
    int fd = open_meta(live, O_APPEND | flags, path);
    if (fd < 0)
        return tp_recording_fail_at(path, fd);
    int64_t before = tp_os_seek_end(fd), n = tp_os_write(fd, bytes, size);
    if (n > 0 && n < (int64_t)size && before >= 0) /* half a line would spoil the next one */
        tp_os_truncate(fd, (uint64_t)before);
    tp_os_close(fd);
    return n == (int64_t)size ? 0 : tp_recording_fail_at(path, n < 0 ? (int)n : -ENOSPC);
}

int tp_recording_meta(struct tp_live *live, const char *bytes, size_t size)
{
    return append_meta(live, bytes, size, O_NOFOLLOW);
}

static uint64_t count_lines(const struct tp_text *text)
{
    uint64_t count = 0;

    for (size_t i = 0; i < text->used; i++)
        count += text->data[i] == '\n';
    return count;
}

void tp_recording_meta_text(struct tp_live *live, struct tp_text *lines)
{
    while (lines->cut && lines->used && lines->data[lines->used - 1] != '\n')
        lines->used--; /* a line that found no room goes whole */
    if (!lines->used)
        return;
    bool written = !tp_recording_meta(live, lines->data, lines->used);
    if (!written && lines->used <= lines->size / 2)
        return;
    if (!written) /* the disk does not take them: the newest must go */
        tp_loss_add(live, TP_LOSS_LINES, count_lines(lines));
    tp_text_init(lines, lines->data, lines->size);
}

int tp_recording_open(struct tp_live *live)
{
    struct tp_text text;

    live->pid = tp_os_pid();
    live->start_ns = tp_os_realtime_ns();
    make_uuid(live);
    int error = make_instance_dir(live);
    if (error)
        return error;
    complete_run(live->start_ns);
    tp_text_init(&text, live->ring_dir, sizeof(live->ring_dir));
    if (tp_agent.config.ring_dir[0])
        tp_text_format(&text, "%s/%u-%llx", tp_agent.config.ring_dir, live->pid,
                       (unsigned long long)live->start_ns);
    else
        tp_text_format(&text, "%s/ring", live->dir);
    error = tp_os_mkdir(TP_OS_NO_DIR, live->ring_dir, DIRECTORY_MODE);
    if (error)
        return tp_recording_fail_at(live->ring_dir, error);
    char *buffer = tp_os_map(META_BUFFER);
    if (!buffer)
        return -ENOMEM;
    tp_text_init(&text, buffer, META_BUFFER);
    put_start_line(live, &text);
    put_dist_line(&text);
    if (tp_agent.first_pair.monotonic_ns)
        put_clock_pair(&text, &tp_agent.first_pair);
    else
        tp_recording_clock_line(&text);
    put_schema_line(&text);
    tp_sources_report(&text, true);
    error = append_meta(live, buffer, text.used, O_CREAT | O_EXCL);
    tp_os_unmap(buffer, META_BUFFER);
    return error;
}

/* Where a process that has no folder can say something: @name is of a file of the recording. */
static void append_run_line(const char *name, const struct tp_text *line)
{
    char path[TP_PATH_MAX + 16];
    struct tp_os_stat stat;
    struct tp_text text;

    tp_text_init(&text, path, sizeof(path));
    tp_text_format(&text, "%s/%s", tp_agent.run_dir, name);
    int fd =
        tp_os_own_directory(tp_agent.run_dir)
            ? -1
            : tp_os_open(TP_OS_NO_DIR, path, O_WRONLY | O_APPEND | O_CREAT | O_NOFOLLOW, FILE_MODE);
    if (fd < 0)
        return;
    if (!line->cut && !tp_os_stat(fd, &stat) && stat.size < TP_RUN_LINES_MAX)
        tp_os_write(fd, line->data, line->used);
    tp_os_close(fd);
}

static void begin_run_line(struct tp_text *text)
{
    tp_text_format(text, "{\"pid\":%u", tp_os_pid());
    put_key_text(text, "program", facts.program);
}

void tp_recording_tell_filtered(void)
{
    char line[512];
    struct tp_text text;

    tp_text_init(&text, line, sizeof(line));
    begin_run_line(&text);
    tp_text_string(&text, "}\n");
    append_run_line(TP_FILTERED_NAME, &text);
}

void tp_recording_tell_unrecorded(void)
{
    char line[512];
    struct tp_text text;

    tp_text_init(&text, line, sizeof(line));
    begin_run_line(&text);
    if (tp_recording_counts())
        put_counts(&text);
    tp_text_string(&text, "}\n");
    append_run_line(TP_UNRECORDED_NAME, &text);
}

#define LEAST_ADDRESS_LIMIT (UINT64_C(1) << 30)

int tp_recording_has_room(void)
{
    return tp_os_address_limit() < LEAST_ADDRESS_LIMIT
               ? tp_recording_fail_at("RLIMIT_AS is below 1 GiB", -ENOMEM)
               : 0;
}
