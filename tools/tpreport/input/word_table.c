/* SPDX-License-Identifier: MIT */
#include "input/word_table.h"

#include <stdbool.h>
#include <string.h>

static unsigned hash_word(const unsigned char *text, size_t size)
{
    return (unsigned)size * 29 + text[0] * 7u + text[size - 1] * 13u + text[size / 2] * 3u;
}

/* Nearly all words are short ones, for which a call would cost more than the comparison: their two
 * halves, which may overlap. */
static inline bool is_equal(const char *word, const unsigned char *text, size_t size)
{
    if (size > 8)
        return !memcmp(word, text, size);
    if (size >= 4)
        return !memcmp(word, text, 4) && !memcmp(word + size - 4, text + size - 4, 4);
    return (unsigned char)word[0] == text[0] && !memcmp(word + size / 2, text + size / 2, 1) &&
           (unsigned char)word[size - 1] == text[size - 1];
}

void tp_word_table_init(struct tp_word_table *table, const struct tp_word *words, size_t count)
{
    memset(table, 0, sizeof(*table));
    table->words = words;
    for (size_t i = 0; i < count; i++) {
        size_t size = strlen(words[i].text);
        unsigned at = hash_word((const unsigned char *)words[i].text, size);
        while (table->slots[at % TP_WORD_SLOTS])
            at++;
        table->slots[at % TP_WORD_SLOTS] = (uint8_t)(i + 1);
        table->sizes[i] = (uint8_t)size;
    }
}

int tp_word_table_find(const struct tp_word_table *table, const void *text, size_t size)
{
    if (!size || size > UINT8_MAX)
        return -1;
    for (unsigned at = hash_word(text, size);; at++) {
        uint8_t slot = table->slots[at % TP_WORD_SLOTS];
        if (!slot)
            return -1;
        if (table->sizes[slot - 1] == size && is_equal(table->words[slot - 1].text, text, size))
            return table->words[slot - 1].number;
    }
}
