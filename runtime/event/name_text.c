/* SPDX-License-Identifier: MIT */
#include "event/name_text.h"

#include <string.h>

#include "event/names.h"

static const char *const filtered_names[] = {
    "[memory]",
    "[OutOfMemory]",
    "profiler::_record_function_enter",
    "profiler::_record_function_enter_new",
    "profiler::_record_function_exit",
    "aten::is_leaf",
    "aten::output_nr",
    "aten::_version",
    "tensorplay::is_leaf",
    "tensorplay::output_nr",
    "tensorplay::_version",
};

bool tp_name_is_filtered(const char *text, size_t size)
{
    for (size_t i = 0; i < sizeof(filtered_names) / sizeof(filtered_names[0]); i++) {
        if (strlen(filtered_names[i]) == size && !memcmp(filtered_names[i], text, size))
            return true;
    }
    return false;
}

/* Where the last @mark in @text begins, or -1. */
static ptrdiff_t find_last(const char *text, size_t size, const char *mark)
{
    size_t length = strlen(mark);

    for (size_t at = size < length ? 0 : size - length + 1; at-- > 0;) {
        if (!memcmp(text + at, mark, length))
            return (ptrdiff_t)at;
    }
    return -1;
}

static size_t count_digits(const char *text, size_t size)
{
    size_t n = 0;

    while (n < size && text[n] >= '0' && text[n] <= '9')
        n++;
    return n;
}

/* "[2, 3]": bytes, 0 when it is no list of numbers. */
static size_t match_numbers(const char *text, size_t size)
{
    size_t at = 1;

    if (size < 2 || text[0] != '[')
        return 0;
    if (text[1] == ']')
        return 2;
    for (;;) {
        size_t sign = at < size && text[at] == '-';
        size_t digits = count_digits(text + at + sign, size - at - sign);
        at += sign + digits;
        if (!digits || at >= size)
            return 0;
        if (text[at] == ']')
            return at + 1;
        if (size - at < 2 || memcmp(text + at, ", ", 2))
            return 0;
        at += 2;
    }
}

/* "(12,0)" */
static size_t match_pair(const char *text, size_t size)
{
    size_t at = 1;

    if (size < 5 || text[0] != '(')
        return 0;
    size_t digits = count_digits(text + at, size - at);
    at += digits;
    if (!digits || at >= size || text[at++] != ',')
        return 0;
    digits = count_digits(text + at, size - at);
    at += digits;
    return digits && at < size && text[at] == ')' ? at + 1 : 0;
}

/* A list of @match up to the very end of the text, its '[' included. */
static bool is_list(const char *text, size_t size, size_t (*match)(const char *, size_t))
{
    size_t at = 1;

    if (size < 2 || text[0] != '[')
        return false;
    while (at < size && text[at] != ']') {
        size_t n = match(text + at, size - at);
        at += n;
        if (!n || at >= size)
            return false;
        if (text[at] == ']')
            break;
        if (size - at < 2 || memcmp(text + at, ", ", 2))
            return false;
        at += 2;
        if (at < size && text[at] == ']')
            return false;
    }
    return at + 1 == size;
}

/* Take ", MARK = NUMBER" off the end. */
static bool strip_number(const char *text, size_t *size, const char *mark, int64_t *ret_value)
{
    size_t digits = 0, length = strlen(mark);
    uint64_t value = 0;

    while (digits < *size && digits <= 19 && text[*size - digits - 1] >= '0' &&
           text[*size - digits - 1] <= '9')
        digits++;
    if (!digits || digits > 18 || *size - digits <= length ||
        memcmp(text + *size - digits - length, mark, length))
        return false;
    for (size_t i = *size - digits; i < *size; i++)
        value = value * 10 + (uint64_t)(text[i] - '0');
    *size -= digits + length;
    *ret_value = (int64_t)value;
    return true;
}

static bool strip_list(const char *text, size_t *size, const char *mark,
                       size_t (*match)(const char *, size_t), const char **ret_list,
                       size_t *ret_size)
{
    ptrdiff_t at = find_last(text, *size, mark);
    size_t length = strlen(mark);

    if (at <= 0 || !is_list(text + at + length, *size - (size_t)at - length, match))
        return false;
    *ret_list = text + at + length;
    *ret_size = *size - (size_t)at - length;
    *size = (size_t)at;
    return true;
}

bool tp_nvtx_split(const char *text, size_t size, struct tp_nvtx_text *ret_split)
{
    struct tp_nvtx_text split = {.sequence_nr = -1};
    const char *unused;
    size_t unused_size;
    int64_t op_id;

    bool any = strip_list(text, &size, ", input_op_ids = ", match_pair, &unused, &unused_size);
    any |= strip_list(text, &size, ", sizes = ", match_numbers, &split.sizes, &split.sizes_size);
    any |= strip_number(text, &size, ", op_id = ", &op_id);
    any |= strip_number(text, &size, ", seq = ", &split.sequence_nr);
    split.name_size = size;
    if (any)
        *ret_split = split;
    return any;
}

static bool has_word(const char *text, size_t size, const char *word)
{
    return memmem(text, size, word, strlen(word)) != NULL;
}

bool tp_name_launches(const char *text, size_t size)
{
    return has_word(text, size, "Launch") || has_word(text, size, "Memcpy") ||
           has_word(text, size, "Memset");
}

static uint64_t hash_of(const char *text, size_t size, uint64_t seed)
{
    return tp_name_hash((unsigned)seed, text, size) | 1;
}

/* Steps are one name, whatever their number. */
static bool is_numbered_step(const char *text, size_t size)
{
    static const char numbered[] = "ProfilerStep#";

    return size >= sizeof(numbered) - 1 && !memcmp(text, numbered, sizeof(numbered) - 1);
}

struct tp_name_look tp_name_look(unsigned kind, const char *bytes, size_t size, bool nvtx)
{
    static const char step[] = "ProfilerStep*";
    const char *nul =
        kind == TP_NAME_OPERATOR || kind == TP_NAME_SCOPED ? memchr(bytes, 0, size) : 0;
    struct tp_nvtx_text split;
    struct tp_name_look look = {0};
    const char *text = bytes;
    size_t length = size;
    bool split_here = false;

    if (nul && kind == TP_NAME_OPERATOR) {
        length = (size_t)(nul - bytes);
    } else if (nul) {
        text = nul + 1;
        length = size - (size_t)(text - bytes);
    }
    if (nvtx && kind == TP_NAME_SCOPED && (!nul || nul == bytes))
        split_here = tp_nvtx_split(text, length, &split);
    if (split_here)
        length = split.name_size;
    look.filtered = tp_name_is_filtered(text, length);
    look.launches = tp_name_launches(text, length);
    if (kind != TP_NAME_CODE && is_numbered_step(text, length)) {
        look.text = look.row = hash_of(step, sizeof(step) - 1, 0);
        return look;
    }
    look.text = hash_of(text, length, 0);
    if (split_here)
        look.row = hash_of(split.sizes ? split.sizes : "", split.sizes_size, look.text);
    return look;
}
