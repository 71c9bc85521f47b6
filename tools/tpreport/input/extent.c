/* SPDX-License-Identifier: MIT */
#include "input/extent.h"

#include <stdio.h>
#include <string.h>

/* Is "12" there as a whole word? */
static bool is_shown(const struct tp_extent *extent, const char *word)
{
    size_t size = strlen(word);

    for (const char *at = extent->threads; (at = strstr(at, word)); at += size) {
        bool begins =
            at == extent->threads || (at[-1] == ' ' && at - extent->threads >= 2 && at[-2] == ',');
        if (begins && (at[size] == ',' || at[size] == ' ' || !at[size]))
            return true;
    }
    return false;
}

void tp_extent_thread(struct tp_extent *extent, int64_t thread, const char *name)
{
    char word[24], entry[80];

    if (extent->thread_count && extent->last_thread == thread)
        return;
    snprintf(word, sizeof(word), "%lld", (long long)thread);
    extent->last_thread = thread;
    if (is_shown(extent, word))
        return;
    int size =
        snprintf(entry, sizeof(entry), "%s%s%s%.40s%s", extent->threads_size ? ", " : "", word,
                 name && *name ? " (" : "", name ? name : "", name && *name ? ")" : "");
    extent->thread_count++;
    if ((size_t)size + 1 > sizeof(extent->threads) - extent->threads_size ||
        extent->threads_shown + 1 != extent->thread_count)
        return;
    memcpy(extent->threads + extent->threads_size, entry, (size_t)size + 1);
    extent->threads_size += (size_t)size;
    extent->threads_shown++;
}

void tp_extent_time(struct tp_extent *extent, int64_t ns)
{
    if (!extent->has_time || ns < extent->first_ns)
        extent->first_ns = ns;
    if (!extent->has_time || ns > extent->last_ns)
        extent->last_ns = ns;
    extent->has_time = true;
}

void tp_extent_step(struct tp_extent *extent, int64_t step)
{
    if (!extent->has_steps || step < extent->first_step)
        extent->first_step = step;
    if (!extent->has_steps || step > extent->last_step)
        extent->last_step = step;
    extent->has_steps = true;
}
