/* SPDX-License-Identifier: MIT */
#include "nearest.h"

#include <string.h>

static unsigned distance_to(const char *word, const char *name)
{
    return strstr(name, word) ? 0 : tp_text_distance(word, name);
}

/* @names are put into order: they are few. */
void tp_put_nearest_first(struct tp_text *out, const char *word, const char **names, size_t count,
                          const char *between)
{
    for (size_t i = 1; i < count; i++) {
        const char *name = names[i];
        size_t at = i;
        for (; at && distance_to(word, names[at - 1]) > distance_to(word, name); at--)
            names[at] = names[at - 1];
        names[at] = name;
    }
    for (size_t i = 0; i < count; i++)
        tp_text_format(out, "%s%s", i ? between : "", names[i]);
}
