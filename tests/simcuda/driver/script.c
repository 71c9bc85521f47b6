/* SPDX-License-Identifier: MIT */
/*
 * What the program under test is made to see: switches SIMCUDA_<NAME> of the environment, and lines
 * of the file SIMCUDA_SCRIPT or of SIMCUDA_INLINE (separated by newlines or semicolons):
 *
 *     kernel NAME LENGTH [registers N] [shared N] [local N]
 *     api NAME LENGTH
 *     set SWITCH VALUE
 *
 * Lengths are ns of virtual time. A name may end in *. The first line that fits counts; the
 * environment comes before `set`.
 */
#include "driver.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LINE_MAX_WORDS = 16 };

struct kernel_line {
    char *name;
    uint64_t length;
    uint32_t registers, shared, local;
    struct kernel_line *next;
};

struct named_value {
    char *name, *value;
    struct named_value *next;
};

static struct kernel_line *kernels, **kernels_end = &kernels;
static struct named_value *settings, **settings_end = &settings;
static struct named_value *apis, **apis_end = &apis;
/* Length of each call, by domain and cbid; 0: not looked up yet. */
static uint64_t api_lengths[3][1024];

static void bad(const char *line, const char *why)
{
    fprintf(stderr, "simcuda: script: %s: %s\n", line, why);
    exit(2);
}

static uint64_t number_of(const char *text, const char *line)
{
    char *end;
    uint64_t value = strtoull(text, &end, 0);
    if (end == text || *end)
        bad(line, "a number was expected");
    return value;
}

static bool fits(const char *pattern, const char *name)
{
    size_t length = strlen(pattern);
    if (length && pattern[length - 1] == '*')
        return strncmp(pattern, name, length - 1) == 0;
    return strcmp(pattern, name) == 0;
}

static void add_value(struct named_value ***end, const char *name, const char *value)
{
    struct named_value *added = calloc(1, sizeof *added);
    added->name = strdup(name);
    added->value = strdup(value);
    **end = added;
    *end = &added->next;
}

static void kernel_words(char **words, int count, const char *line)
{
    struct kernel_line *kernel = calloc(1, sizeof *kernel);
    kernel->name = strdup(words[1]);
    kernel->length = number_of(words[2], line);
    kernel->registers = 32;
    for (int i = 3; i < count; i += 2) {
        if (i + 1 == count)
            bad(line, "a value is missing");
        uint64_t value = number_of(words[i + 1], line);
        if (!strcmp(words[i], "registers"))
            kernel->registers = (uint32_t)value;
        else if (!strcmp(words[i], "shared"))
            kernel->shared = (uint32_t)value;
        else if (!strcmp(words[i], "local"))
            kernel->local = (uint32_t)value;
        else
            bad(line, "unknown word");
    }
    *kernels_end = kernel;
    kernels_end = &kernel->next;
}

static void read_line(char *line)
{
    char whole[512], *words[LINE_MAX_WORDS], *rest = line;
    int count = 0;
    snprintf(whole, sizeof whole, "%s", line);
    for (char *word; count < LINE_MAX_WORDS && (word = strtok_r(rest, " \t", &rest));)
        words[count++] = word;
    if (!count || words[0][0] == '#')
        return;
    if (!strcmp(words[0], "kernel") && count >= 3)
        kernel_words(words, count, whole);
    else if (!strcmp(words[0], "api") && count == 3)
        add_value(&apis_end, words[1], words[2]);
    else if (!strcmp(words[0], "set") && count == 3)
        add_value(&settings_end, words[1], words[2]);
    else
        bad(whole, "neither `kernel NAME LENGTH ...`, `api NAME LENGTH` nor `set SWITCH VALUE`");
}

static void read_lines(char *text)
{
    for (char *line; (line = strsep(&text, ";\n"));)
        read_line(line);
}

void sim_script_read(void)
{
    const char *lines = getenv("SIMCUDA_INLINE"), *path = getenv("SIMCUDA_SCRIPT");
    if (lines) {
        char *copy = strdup(lines);
        read_lines(copy);
        free(copy);
    }
    if (!path || !*path)
        return;
    FILE *file = fopen(path, "re");
    if (!file)
        bad(path, "cannot be opened");
    char line[512];
    while (fgets(line, sizeof line, file))
        read_lines(line);
    fclose(file);
}

const char *sim_text(const char *name)
{
    char variable[64] = "SIMCUDA_";
    snprintf(variable + 8, sizeof variable - 8, "%s", name);
    const char *value = getenv(variable);
    for (struct named_value *each = settings; !value && each; each = each->next)
        if (!strcasecmp(each->name, name))
            value = each->value;
    return value ? value : "";
}

uint64_t sim_number(const char *name, uint64_t otherwise)
{
    const char *value = sim_text(name);
    return *value ? number_of(value, name) : otherwise;
}

uint64_t sim_api_length(enum sim_domain domain, uint32_t cbid, const char *name)
{
    uint64_t *length = &api_lengths[domain][cbid % 1024];
    uint64_t known = __atomic_load_n(length, __ATOMIC_RELAXED);
    if (known)
        return known - 1;
    known = sim_number("API_NS", 2000);
    for (struct named_value *each = apis; each; each = each->next)
        if (fits(each->name, name)) {
            known = number_of(each->value, each->name);
            break;
        }
    __atomic_store_n(length, known + 1, __ATOMIC_RELAXED);
    return known;
}

void sim_script_kernel(struct sim_function *function)
{
    function->length = sim_number("KERNEL_NS", 10000);
    function->registers = 32;
    for (struct kernel_line *each = kernels; each; each = each->next)
        if (fits(each->name, function->name)) {
            function->length = each->length;
            function->registers = each->registers;
            function->static_shared = each->shared;
            function->local = each->local;
            return;
        }
}
