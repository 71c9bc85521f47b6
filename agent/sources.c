/* SPDX-License-Identifier: MIT */
#include "sources.h"

#include <stdatomic.h>
#include <string.h>

#include "base/text.h"
#include "capture.h"
#include "log.h"
#include "notes.h"

#define TP_SOURCE(NAME, name, fallback, help) extern const struct tp_source tp_source_##name;
#include "sources.def"
#undef TP_SOURCE

static const struct {
    const char *name;
    const struct tp_source *source;
    bool fallback;
} table[TP_SOURCE_END] = {
#define TP_SOURCE(NAME, name, fallback, help) {#name, &tp_source_##name, fallback},
#include "sources.def"
#undef TP_SOURCE
};

static struct {
    uint32_t mask;
    struct {
        _Atomic uint32_t state;
        const char *_Atomic why;
        _Atomic uint32_t changes;
        uint32_t reported;
    } rows[TP_SOURCE_END];
} sources;

static int find_source(const char *word)
{
    for (int i = 0; i < TP_SOURCE_END; i++)
        if (!strcmp(table[i].name, word))
            return i;
    return -1;
}

static uint32_t default_mask(void)
{
    uint32_t mask = 0;

    for (int i = 0; i < TP_SOURCE_END; i++)
        mask |= (uint32_t)table[i].fallback << i;
    return mask;
}

static const char *nearest_source(const char *word)
{
    unsigned best = 65;
    const char *name = table[0].name;

    for (int i = 0; i < TP_SOURCE_END; i++) {
        unsigned distance = tp_text_distance(table[i].name, word);
        if (distance < best) {
            best = distance;
            name = table[i].name;
        }
    }
    return name;
}

static uint32_t apply_word(uint32_t mask, const char *word)
{
    if (!strcmp(word, "none"))
        return 0;
    if (!strcmp(word, "all"))
        return (1u << TP_SOURCE_END) - 1;
    if (!strcmp(word, "default"))
        return default_mask();
    bool take = *word == '-';
    int id = find_source(word + take);
    if (id < 0) {
        tp_log_warn("TPAGENT_SOURCES: unknown source %s; nearest: %s", word + take,
                    nearest_source(word + take));
        return mask;
    }
    return take ? mask & ~(1u << id) : mask | 1u << id;
}

uint32_t tp_sources_mask(const char *text)
{
    uint32_t mask = default_mask();
    char word[64];

    while (*text) {
        size_t n = strcspn(text, ", ");
        struct tp_text one;
        tp_text_init(&one, word, sizeof(word));
        tp_text_bytes(&one, text, n);
        if (n)
            mask = apply_word(mask, word);
        text += n + (text[n] != '\0');
    }
    return mask;
}

bool tp_source_wanted(enum tp_source_id id)
{
    return sources.mask >> id & 1;
}

void tp_source_say(enum tp_source_id id, enum tp_source_state state, const char *why)
{
    atomic_store_explicit(&sources.rows[id].why, why, memory_order_relaxed);
    atomic_store_explicit(&sources.rows[id].state, state, memory_order_release);
    atomic_fetch_add_explicit(&sources.rows[id].changes, 1, memory_order_release);
}

void tp_sources_start(const struct tp_config *config)
{
    sources.mask = config->source_mask;
    for (int i = 0; i < TP_SOURCE_END; i++) {
        const char *why = NULL;
        if (!tp_source_wanted(i)) {
            tp_source_say(i, TP_SOURCE_OFF, NULL);
        } else if (table[i].source->start && table[i].source->start(config, &why) < 0) {
            tp_source_say(i, TP_SOURCE_FAILED, why);
            if (!config->inherited) /* its descendants' recordings say it, not the stderr of each */
                tp_log_warn("%s: %s", table[i].name, why ? why : "could not start");
        } else {
            tp_source_say(i, TP_SOURCE_STARTED, why);
        }
    }
}

void tp_sources_tick(void)
{
    for (int i = 0; i < TP_SOURCE_END; i++)
        if (tp_source_wanted(i) && table[i].source->tick)
            table[i].source->tick();
}

void tp_sources_look(void)
{
    for (int i = 0; i < TP_SOURCE_END; i++)
        if (tp_source_wanted(i) && table[i].source->look)
            table[i].source->look();
}

void tp_sources_fork_child(void)
{
    for (int i = 0; i < TP_SOURCE_END; i++)
        if (tp_source_wanted(i) && table[i].source->fork_child)
            table[i].source->fork_child();
}

void tp_sources_stop(void)
{
    for (int i = 0; i < TP_SOURCE_END; i++)
        if (tp_source_wanted(i) && table[i].source->stop)
            table[i].source->stop();
}

void tp_sources_report(struct tp_text *text, bool all)
{
    static const char *const states[] = {"off", "started", "failed"};

    for (int i = 0; i < TP_SOURCE_END; i++) {
        uint32_t changes = atomic_load_explicit(&sources.rows[i].changes, memory_order_acquire);
        if (!all && changes == sources.rows[i].reported)
            continue;
        sources.rows[i].reported = changes;
        const char *why = atomic_load_explicit(&sources.rows[i].why, memory_order_relaxed);
        tp_text_format(text, "{\"t\":\"source\",\"name\":\"%s\",\"state\":\"%s\"", table[i].name,
                       states[atomic_load_explicit(&sources.rows[i].state, memory_order_acquire)]);
        if (why) {
            tp_text_string(text, ",\"why\":");
            tp_text_json(text, why, strlen(why));
        }
        tp_text_string(text, "}\n");
    }
    tp_notes_report(text, all);
    tp_capture_report(text, all);
}
