/* SPDX-License-Identifier: MIT */
#include "notes.h"

#include <stdatomic.h>

#include "base/text.h"
#include "pool.h"
#include "scope.h"

#define NOTES_MAX 1024u
#define NAME_MAX_BYTES 255u
#define LINE_BYTES 8192u /* domain and name, escaped */

struct note {
    _Atomic uint32_t ready;
    bool told; /* the reporter's */
    uint32_t number, length;
    enum tp_note_kind kind;
    const char *source, *name;
    const struct tp_scope *scope;
};

static struct note notes[NOTES_MAX];
static _Atomic uint32_t claimed;
static bool overflow_told;

void tp_note(enum tp_note_kind kind, const char *source, const struct tp_scope *scope,
             uint32_t number, const char *name, size_t size)
{
    size_t length = size < NAME_MAX_BYTES ? size : NAME_MAX_BYTES;
    char *copy = tp_pool_copy(name, length);
    uint32_t index = copy ? atomic_fetch_add(&claimed, 1) : NOTES_MAX;

    if (index >= NOTES_MAX)
        return;
    struct note *note = &notes[index];
    note->number = number;
    note->length = (uint32_t)length;
    note->kind = kind;
    note->source = source;
    note->name = copy;
    note->scope = scope;
    atomic_store_explicit(&note->ready, 1, memory_order_release);
}

static void put_note(struct tp_text *text, const struct note *note)
{
    bool thread = note->kind == TP_NOTE_THREAD;

    tp_text_format(text, "{\"t\":\"%s\",\"source\":\"%s\"", thread ? "thread" : "category",
                   note->source);
    if (note->scope) {
        tp_text_string(text, ",\"domain\":");
        tp_text_json(text, note->scope->name,
                     note->scope->length < 255 ? note->scope->length : 255);
    }
    tp_text_format(text, ",\"%s\":%u,\"name\":", thread ? "tid" : "id", note->number);
    tp_text_json(text, note->name, note->length);
    tp_text_string(text, "}\n");
}

void tp_notes_report(struct tp_text *text, bool all)
{
    uint32_t count = atomic_load(&claimed);

    overflow_told = overflow_told && !all;
    for (uint32_t i = 0; i < count && i < NOTES_MAX; i++) {
        struct note *note = &notes[i];
        note->told = note->told && !all;
        if (note->told || !atomic_load_explicit(&note->ready, memory_order_acquire) ||
            text->used + LINE_BYTES > text->size)
            continue;
        put_note(text, note);
        note->told = true;
    }
    if (count > NOTES_MAX && !overflow_told) {
        overflow_told = true;
        tp_text_string(text, "{\"t\":\"note\",\"text\":\"more than 1024 names of threads and "
                             "categories: the rest is "
                             "left out\"}\n");
    }
}
