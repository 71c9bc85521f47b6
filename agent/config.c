/* SPDX-License-Identifier: MIT */
#include "config.h"

#include <stddef.h>
#include <string.h>

#include "base/os.h"
#include "base/text.h"
#include "log.h"
#include "sources.h"

enum variable_type {
    TYPE_TEXT,
    TYPE_BOOL,
    TYPE_SIZE,
    TYPE_CHOICE,
    TYPE_CHOICE_SIZE,
    TYPE_CAPTURE,
    TYPE_TIME,
    TYPE_STEPS
};

struct variable {
    const char *name;
    enum variable_type type;
    size_t offset;
    const char *fallback, *values, *help;
};

static const struct variable variables[] = {
#define TP_VAR(field, name, TYPE, fallback, values, help)                                          \
    {name, TYPE_##TYPE, offsetof(struct tp_config, field), fallback, values, help},
#include "env_vars.def"
#undef TP_VAR
};

#define VARIABLES (sizeof(variables) / sizeof(variables[0]))

/* Index of the choice among "a|b|c", or -1. */
static int choice_index(const char *values, const char *text)
{
    size_t length = strlen(text);

    for (int i = 0;; i++) {
        size_t n = strcspn(values, "|");
        if (n == length && !memcmp(values, text, n))
            return i;
        if (!values[n])
            return -1;
        values += n + 1;
    }
}

static void choice_text(const char *values, unsigned index, struct tp_text *text)
{
    while (index--)
        values += strcspn(values, "|") + 1;
    tp_text_bytes(text, values, strcspn(values, "|"));
}

static bool is_word_of(const char *words, const char *text)
{
    return choice_index(words, text) >= 0;
}

/* The choice with the smallest edit distance; what means yes or no is no matter of letters. */
static unsigned nearest_choice(const struct variable *v, const char *text)
{
    unsigned best = 65, best_index = 0, index = 0;
    char word[64];

    if (is_word_of("on|yes|true|1|enable|enabled", text))
        return (unsigned)choice_index(v->values, v->fallback);
    if (is_word_of("no|false|0|none|disable|disabled", text) && choice_index(v->values, "off") >= 0)
        return (unsigned)choice_index(v->values, "off");
    for (const char *c = v->values;; index++) {
        size_t n = strcspn(c, "|");
        struct tp_text one;
        tp_text_init(&one, word, sizeof(word));
        tp_text_bytes(&one, c, n);
        unsigned distance = tp_text_distance(word, text);
        if (distance < best) {
            best = distance;
            best_index = index;
        }
        if (!c[n])
            return best_index;
        c += n + 1;
    }
}

static bool parse_size(const char *text, uint64_t *ret_bytes)
{
    uint64_t value = 0;
    const char *p = text;

    for (; *p >= '0' && *p <= '9'; p++) {
        if (value > (UINT64_MAX >> 4) / 10)
            return false;
        value = value * 10 + (uint64_t)(*p - '0');
    }
    if (p == text)
        return false;
    unsigned shift = 0;
    switch (*p | 0x20) {
    case 'k':
        shift = 10;
        break;
    case 'm':
        shift = 20;
        break;
    case 'g':
        shift = 30;
        break;
    case 't':
        shift = 40;
        break;
    default:
        break;
    }
    if (shift)
        p++;
    if (*p || (shift && value > UINT64_MAX >> shift))
        return false;
    *ret_bytes = value << shift;
    return true;
}

/* "name" or "name:BYTES", as the list has it; a size of 0 is none. */
static bool set_choice_size(struct tp_choice_size *ret, const char *values, const char *text)
{
    const char *colon = strchr(text, ':');
    char word[64];
    struct tp_text copy;
    uint64_t bytes = 0;

    if (colon && (!parse_size(colon + 1, &bytes) || !bytes))
        return false;
    tp_text_init(&copy, word, sizeof(word));
    tp_text_bytes(&copy, text, colon ? (size_t)(colon - text) : strlen(text));
    if (colon)
        tp_text_string(&copy, ":BYTES");
    int index = choice_index(values, word);
    if (index < 0)
        return false;
    *ret = (struct tp_choice_size){.choice = (uint8_t)index, .bytes = bytes};
    return true;
}

static void choice_size_text(const struct tp_choice_size *value, const char *values,
                             struct tp_text *text)
{
    char word[64];
    struct tp_text copy;

    tp_text_init(&copy, word, sizeof(word));
    choice_text(values, value->choice, &copy);
    tp_text_bytes(text, word, strcspn(word, ":"));
    if (value->bytes)
        tp_text_format(text, ":%llu", (unsigned long long)value->bytes);
}

/* What "BYTES, at least 1m" says. */
static const char least[] = "at least ";

static uint64_t size_minimum(const struct variable *v)
{
    const char *at = strstr(v->values, least);
    uint64_t minimum = 0;

    return at && parse_size(at + strlen(least), &minimum) ? minimum : 0;
}

/* Store @text as the variable's value; false when it is not one. */
static bool variable_set(struct tp_config *config, const struct variable *v, const char *text)
{
    void *at = (char *)config + v->offset;
    struct tp_text copy;
    int index;

    switch (v->type) {
    case TYPE_TEXT:
        tp_text_init(&copy, at, TP_CONFIG_TEXT_MAX);
        tp_text_string(&copy, text);
        return !copy.cut;
    case TYPE_BOOL:
        if (strcmp(text, "0") && strcmp(text, "1"))
            return false;
        *(bool *)at = *text == '1';
        return true;
    case TYPE_SIZE:
        if (!parse_size(text, at))
            return false;
        if (*(uint64_t *)at >= size_minimum(v))
            return true;
        *(uint64_t *)at = size_minimum(v);
        return false;
    case TYPE_CHOICE:
        index = choice_index(v->values, text);
        if (index >= 0)
            *(uint8_t *)at = (uint8_t)index;
        return index >= 0;
    case TYPE_CHOICE_SIZE:
        return set_choice_size(at, v->values, text);
    case TYPE_CAPTURE:
        return tp_capture_by_parse(text, at);
    case TYPE_TIME:
        return tp_time_parse(text, at);
    case TYPE_STEPS:
        return tp_schedule_parse(text, at);
    }
    return false;
}

static void variable_get(const struct tp_config *config, const struct variable *v,
                         struct tp_text *text)
{
    const void *at = (const char *)config + v->offset;

    switch (v->type) {
    case TYPE_TEXT:
        tp_text_string(text, at);
        break;
    case TYPE_BOOL:
        tp_text_char(text, *(const bool *)at ? '1' : '0');
        break;
    case TYPE_SIZE:
        tp_text_u64(text, *(const uint64_t *)at);
        break;
    case TYPE_CHOICE:
        choice_text(v->values, *(const uint8_t *)at, text);
        break;
    case TYPE_CHOICE_SIZE:
        choice_size_text(at, v->values, text);
        break;
    case TYPE_CAPTURE:
        tp_capture_by_text(at, text);
        break;
    case TYPE_TIME:
        tp_time_text(*(const uint64_t *)at, text);
        break;
    case TYPE_STEPS:
        tp_schedule_text(at, text);
        break;
    }
}

/* A size below the least stays the least; anything else that cannot be is the default. */
static bool set_or_fall_back(struct tp_config *config, const struct variable *v, const char *value)
{
    uint64_t number;

    if (variable_set(config, v, value))
        return true;
    if (v->type != TYPE_SIZE || !parse_size(value, &number))
        variable_set(config, v, v->fallback);
    return false;
}

/* The same of a window. Return: what is used. */
static const char *complain_capture(const struct variable *v, const char *value,
                                    struct tp_text *text)
{
    if (!strncmp(value, "signal:", 7))
        tp_text_string(text, "names no signal that can be used: USR1, USR2, RTMIN+n or RTMAX-n");
    else if (!strncmp(value, "range:", 6))
        tp_text_format(text, "names no range: 1 to %u bytes", TP_CAPTURE_NAME_MAX - 1);
    else {
        tp_text_format(text, "is not one of %s; nearest: ", v->values);
        choice_text(v->values, nearest_choice(v, value), text);
    }
    return v->fallback;
}

/* What @value should have been, and what is used instead. */
static void complain_value(const struct variable *v, const char *value)
{
    const char *used = v->fallback;
    char buffer[256];
    struct tp_text text;
    uint64_t number;

    tp_text_init(&text, buffer, sizeof(buffer));
    switch (v->type) {
    case TYPE_TEXT:
        tp_text_format(&text, "is longer than %u bytes", TP_CONFIG_TEXT_MAX - 1);
        break;
    case TYPE_BOOL:
        tp_text_string(&text, "is neither 0 nor 1");
        if (is_word_of("on|yes|true|off|no|false", value))
            tp_text_format(&text, "; nearest: %d", is_word_of("on|yes|true", value));
        break;
    case TYPE_SIZE:
        if (parse_size(value, &number)) {
            used = strstr(v->values, least) + strlen(least);
            tp_text_format(&text, "is too small; the least is %s", used);
        } else {
            tp_text_format(&text, "is no number of bytes, such as 500m or %s", v->fallback);
        }
        break;
    case TYPE_CHOICE:
    case TYPE_CHOICE_SIZE:
        tp_text_format(&text, "is not one of %s; nearest: ", v->values);
        choice_text(v->values, nearest_choice(v, value), &text);
        break;
    case TYPE_CAPTURE:
        used = complain_capture(v, value, &text);
        break;
    case TYPE_TIME:
        tp_text_string(&text, "is no time, such as 500ms, 10s or 2m");
        break;
    case TYPE_STEPS:
        tp_text_string(&text, "is not wait,warmup,active[,repeat[,skip_first]] in steps, with "
                              "active at least 1");
        used = "none";
        break;
    }
    tp_log_warn("%s=%.*s %s; using %s", v->name, 64, value, buffer, used);
}

static void complain_name(const char *name)
{
    char word[64];
    unsigned best = 65, best_index = 0;
    struct tp_text one;

    tp_text_init(&one, word, sizeof(word));
    tp_text_bytes(&one, name, strcspn(name, "="));
    for (unsigned i = 0; i < VARIABLES; i++) {
        unsigned distance = tp_text_distance(variables[i].name, word);
        if (distance < best) {
            best = distance;
            best_index = i;
        }
    }
    tp_log_warn("unknown variable %s; nearest: %s", word, variables[best_index].name);
}

static const struct variable *find_variable(const char *entry)
{
    for (unsigned i = 0; i < VARIABLES; i++) {
        size_t n = strlen(variables[i].name);
        if (!strncmp(entry, variables[i].name, n) && entry[n] == '=')
            return &variables[i];
    }
    return NULL;
}

void tp_config_read(struct tp_config *config, char *const *environment)
{
    memset(config, 0, sizeof(*config));
    for (unsigned i = 0; i < VARIABLES; i++)
        variable_set(config, &variables[i], variables[i].fallback);
    /* these two decide what is said of the others */
    for (char *const *e = environment; e && *e; e++) {
        if (!strncmp(*e, "TPAGENT_RUN_DIR=", 16) && (*e)[16])
            config->inherited = true;
        if (!strncmp(*e, "TPAGENT_LOG=", 12))
            variable_set(config, find_variable(*e), *e + 12);
    }
    tp_log_open(config->log);
    for (char *const *e = environment; e && *e; e++) {
        if (strncmp(*e, "TPAGENT_", 8))
            continue;
        const struct variable *v = find_variable(*e);
        const char *value = *e + strcspn(*e, "=");
        value += *value == '=';
        if (!v && !config->inherited)
            complain_name(*e);
        else if (v && *value && !set_or_fall_back(config, v, value) && !config->inherited)
            complain_value(v, value);
    }
    config->source_mask = tp_sources_mask(config->sources);
    if (config->alloc.choice == TP_ALLOC_OFF)
        config->source_mask &= ~(1u << TP_SOURCE_MALLOC);
}

void tp_config_help(const struct tp_config *config)
{
    char buffer[4096];
    struct tp_text text;

    tp_text_init(&text, buffer, sizeof(buffer));
    tp_text_string(&text, "tpagent " TP_VERSION ": variables, values as resolved\n");
    for (unsigned i = 0; i < VARIABLES; i++) {
        const struct variable *v = &variables[i];
        tp_text_format(&text, "  %s=", v->name);
        variable_get(config, v, &text);
        tp_text_format(&text, "\n      %s: %s\n", v->values, v->help);
    }
    tp_os_write(2, buffer, text.used);
}

void tp_config_json(const struct tp_config *config, struct tp_text *text)
{
    char buffer[TP_CONFIG_TEXT_MAX];

    tp_text_char(text, '{');
    for (unsigned i = 0; i < VARIABLES; i++) {
        struct tp_text value;
        tp_text_init(&value, buffer, sizeof(buffer));
        variable_get(config, &variables[i], &value);
        tp_text_format(text, "%s\"%s\":", i ? "," : "", variables[i].name);
        tp_text_json(text, buffer, value.used);
    }
    tp_text_char(text, '}');
}
