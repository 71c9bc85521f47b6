/* SPDX-License-Identifier: MIT
 * A few dozen words and their numbers, found in one probe or two. */
#ifndef TP_INPUT_WORD_TABLE_H
#define TP_INPUT_WORD_TABLE_H

#include <stddef.h>
#include <stdint.h>

enum { TP_WORD_SLOTS = 256 };

struct tp_word {
    const char *text;
    int number;
};

struct tp_word_table {
    const struct tp_word *words;      /* borrowed, constant */
    uint8_t slots[TP_WORD_SLOTS];     /* index + 1; 0 = free */
    uint8_t sizes[TP_WORD_SLOTS / 2]; /* by index */
};

/** tp_word_table_init - @count: up to 127 different words, none empty */
void tp_word_table_init(struct tp_word_table *table, const struct tp_word *words, size_t count);

/** tp_word_table_find - Return: the word's number, or -1 */
int tp_word_table_find(const struct tp_word_table *table, const void *text, size_t size);

#endif
