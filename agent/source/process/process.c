/* SPDX-License-Identifier: MIT */
/*
 * Modules of the process, for whoever turns addresses into functions later: /proc/self/maps is read
 * by the drain (the loader's own list would want the loader's lock), now and then and once more at
 * the end; every file mapped executable is told once. Threads and their names are the drain's
 * business, rank variables the recording's.
 */
#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <string.h>

#include "agent.h"
#include "base/os.h"
#include "base/text.h"
#include "event/names.h"
#include "recording.h"
#include "sources.h"

#define MODULES_MAX 4096u
#define EVERY_NS 10000000000u
#define CHUNK (32u << 10)
#define LINES (64u << 10)
#define ELF_HEAD 4096u

/* What was told already, by hash of path and address; of one process: a fork child begins anew. */
static struct {
    uint32_t pid;
    uint32_t count;
    uint64_t next_ns;
    uint64_t told[MODULES_MAX];
} modules;

struct mapping {
    uint64_t start, end, offset;
    bool executable;
    const char *path;
};

static uint64_t parse_hex(const char **text)
{
    uint64_t value = 0;

    for (;; (*text)++) {
        char c = **text;
        unsigned digit = c >= '0' && c <= '9'   ? (unsigned)(c - '0')
                         : c >= 'a' && c <= 'f' ? (unsigned)(c - 'a') + 10
                                                : 16;
        if (digit == 16)
            return value;
        value = value << 4 | digit;
    }
}

/* "start-end perms offset dev inode   path" */
static bool parse_line(const char *line, struct mapping *ret)
{
    ret->start = parse_hex(&line);
    if (*line++ != '-')
        return false;
    ret->end = parse_hex(&line);
    if (*line++ != ' ' || strnlen(line, 6) < 6)
        return false;
    ret->executable = line[2] == 'x';
    line += 5;
    ret->offset = parse_hex(&line);
    ret->path = strchr(line, '/');
    return ret->path != NULL;
}

/* GNU build id of an ELF file whose notes lie in its first page, as hex digits. */
static void put_build_id(struct tp_text *text, const uint8_t *head, size_t size)
{
    uint64_t phoff;
    uint16_t phnum;

    if (size < 64 || memcmp(head, "\177ELF\2", 5))
        return;
    memcpy(&phoff, head + 32, 8);
    memcpy(&phnum, head + 56, 2);
    for (unsigned i = 0; i < phnum && phoff + (i + 1) * 56u <= size; i++) {
        const uint8_t *ph = head + phoff + i * 56u;
        uint32_t type, note[3];
        uint64_t offset, bytes;
        memcpy(&type, ph, 4);
        memcpy(&offset, ph + 8, 8);
        memcpy(&bytes, ph + 32, 8);
        if (type != 4 /* PT_NOTE */ || offset > size || bytes > size - offset)
            continue;
        for (uint64_t at = offset; at + 12 <= offset + bytes;) {
            memcpy(note, head + at, sizeof(note));
            uint64_t name = at + 12, desc = name + ((note[0] + 3u) & ~3u),
                     next = desc + ((note[1] + 3u) & ~3u);
            if (next > offset + bytes || next <= at)
                break;
            if (note[2] == 3 && note[0] == 4 && !memcmp(head + name, "GNU", 4)) {
                tp_text_string(text, ",\"build_id\":\"");
                for (uint32_t b = 0; b < note[1]; b++)
                    tp_text_hex(text, head[desc + b], 2);
                tp_text_char(text, '"');
                return;
            }
            at = next;
        }
    }
}

static void put_module(struct tp_text *text, const struct mapping *m, uint8_t *head)
{
    int fd = tp_os_open(TP_OS_NO_DIR, m->path, O_RDONLY | O_NONBLOCK, 0);

    tp_text_string(text, "{\"t\":\"module\",\"path\":");
    tp_text_json(text, m->path, strlen(m->path));
    tp_text_format(text, ",\"base\":%llu,\"size\":%llu,\"offset\":%llu",
                   (unsigned long long)m->start, (unsigned long long)(m->end - m->start),
                   (unsigned long long)m->offset);
    if (fd >= 0) {
        int64_t n = tp_os_read(fd, head, ELF_HEAD);
        tp_os_close(fd);
        put_build_id(text, head, n > 0 ? (size_t)n : 0);
    }
    tp_text_string(text, "}\n");
}

static bool is_new(const struct mapping *m)
{
    uint64_t hash = tp_name_hash(0, m->path, strlen(m->path)) ^ m->start;

    for (uint32_t i = 0; i < modules.count; i++)
        if (modules.told[i] == hash)
            return false;
    if (modules.count == MODULES_MAX)
        return false;
    modules.told[modules.count++] = hash;
    return true;
}

/* @memory: CHUNK for the file, LINES for our lines, ELF_HEAD for a file's head */
static void scan(struct tp_live *live, char *memory)
{
    int fd = tp_os_open(TP_OS_NO_DIR, "/proc/self/maps", O_RDONLY, 0);
    struct tp_text text;
    size_t held = 0;
    int64_t n;

    if (fd < 0)
        return;
    tp_text_init(&text, memory + CHUNK, LINES);
    while ((n = tp_os_read(fd, memory + held, CHUNK - held)) > 0) {
        size_t end = held + (size_t)n, line = 0;
        for (char *newline; (newline = memchr(memory + line, '\n', end - line));
             line = (size_t)(newline - memory) + 1) {
            struct mapping m;
            *newline = '\0';
            if (parse_line(memory + line, &m) && m.executable && is_new(&m))
                put_module(&text, &m, (uint8_t *)memory + CHUNK + LINES);
            if (text.used > LINES / 2) {
                tp_recording_meta(live, text.data, text.used);
                tp_text_init(&text, memory + CHUNK, LINES);
            }
        }
        if (line == 0 && end == CHUNK)
            break; /* a line longer than the buffer: not one of the kernel's */
        memmove(memory, memory + line, end - line);
        held = end - line;
    }
    tp_os_close(fd);
    tp_recording_meta(live, text.data, text.used);
}

static void look_alone(struct tp_live *live, bool now)
{
    uint64_t time_ns = tp_os_monotonic_ns();

    if (modules.pid != live->pid) {
        modules.pid = live->pid;
        modules.count = 0;
        modules.next_ns = 0;
    }
    if (!now && time_ns < modules.next_ns)
        return;
    modules.next_ns = time_ns + EVERY_NS;
    char *memory = tp_os_map(CHUNK + LINES + ELF_HEAD);
    if (!memory)
        return;
    scan(live, memory);
    tp_os_unmap(memory, CHUNK + LINES + ELF_HEAD);
}

static void look(bool now)
{
    static _Atomic uint32_t looker; /* process of which a thread looks: not its forked child */
    struct tp_live *live = tp_agent.live;
    uint32_t other = atomic_load(&looker);

    if (other == live->pid || !atomic_compare_exchange_strong(&looker, &other, live->pid))
        return;
    look_alone(live, now);
    atomic_store(&looker, 0);
}

/* Addresses of call stacks need the modules, also where the process is killed before it has the
 * drain thread. */
static void process_look(void)
{
    if (tp_agent.config.alloc.choice >= TP_ALLOC_SAMPLE)
        look(false);
}

/* Once more when the drain has been asked to end: stacks may lead through the newest modules. */
static void process_tick(void)
{
    look(atomic_load(&tp_agent.live->want) != 0);
}

/* The drain thread, where there is one, has just looked or is about to end. */
static void process_stop(void)
{
    if (atomic_load(&tp_agent.live->state) == TP_ARMED)
        look(true);
}

const struct tp_source tp_source_process = {
    .tick = process_tick, .look = process_look, .stop = process_stop};
