/* SPDX-License-Identifier: MIT */
#include "model/flops.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_DIMS = 16 };

/* Sizes of one tensor; is_tensor is false for anything else at its place. */
struct sizes {
    uint64_t dims[MAX_DIMS];
    int count;
    bool is_tensor;
};

/* ---- lists in text ---- */

static const char *skip_blanks(const char *at)
{
    while (*at == ' ' || *at == '\t' || *at == '\n')
        at++;
    return at;
}

/* Behind one element: a list with all in it, a string, or a word. */
static const char *skip_element(const char *at)
{
    int depth = 0;
    char quote = 0;

    for (; *at; at++) {
        if (quote) {
            if (*at == '\\' && at[1])
                at++;
            else if (*at == quote)
                quote = 0;
        } else if (*at == '"' || *at == '\'') {
            quote = *at;
        } else if (*at == '[' || *at == '{') {
            depth++;
        } else if (*at == ']' || *at == '}') {
            if (!depth--)
                return at;
        } else if (*at == ',' && !depth) {
            return at;
        }
    }
    return at;
}

/* Element @index of the list that begins at @list, or NULL. */
static const char *find_element(const char *list, int index)
{
    const char *at = skip_blanks(list);

    if (*at++ != '[')
        return NULL;
    at = skip_blanks(at);
    for (; index > 0; index--) {
        at = skip_element(at);
        if (*at != ',')
            return NULL;
        at = skip_blanks(at + 1);
    }
    return *at && *at != ']' ? at : NULL;
}

/* "[2, 3]" as integers. Return: how many, or -1 for something else. */
static int read_integers(const char *at, int64_t *values, int room)
{
    int count = 0;
    char *end;

    at = skip_blanks(at);
    if (*at++ != '[')
        return -1;
    at = skip_blanks(at);
    while (*at != ']') {
        if (count == room)
            return -1;
        values[count++] = strtoll(at, &end, 10);
        if (end == at)
            return -1;
        at = skip_blanks(end);
        if (*at == ',')
            at = skip_blanks(at + 1);
        else if (*at != ']')
            return -1;
    }
    return count;
}

static struct sizes sizes_of(const char *shapes, int index)
{
    int64_t values[MAX_DIMS];
    struct sizes sizes = {0};
    const char *element = find_element(shapes, index);
    int count = element ? read_integers(element, values, MAX_DIMS) : -1;

    for (int i = 0; i < count; i++)
        sizes.dims[i] = (uint64_t)values[i];
    sizes.is_tensor = count >= 0;
    sizes.count = count < 0 ? 0 : count;
    return sizes;
}

static uint64_t product(const struct sizes *sizes)
{
    uint64_t all = 1;

    for (int i = 0; i < sizes->count; i++)
        all *= sizes->dims[i];
    return all;
}

/* ---- concrete inputs: strings that hold the values ---- */

/* The text of element @index without its quotes. */
static bool value_text(const char *concrete, int index, char *buffer, size_t size)
{
    const char *at = find_element(concrete, index);

    if (!at)
        return false;
    const char *end = skip_element(at);
    while (end > at && (end[-1] == ' ' || end[-1] == '"' || end[-1] == '\''))
        end--;
    if (*at == '"' || *at == '\'')
        at++;
    if (end < at || (size_t)(end - at) >= size)
        return false;
    memcpy(buffer, at, (size_t)(end - at));
    buffer[end - at] = '\0';
    return true;
}

static bool value_pair(const char *concrete, int index, int64_t *ret)
{
    char text[64];

    return value_text(concrete, index, text, sizeof(text)) && read_integers(text, ret, 2) == 2;
}

static bool value_integer(const char *concrete, int index, int64_t *ret)
{
    char text[32], *end;

    if (!value_text(concrete, index, text, sizeof(text)))
        return false;
    *ret = strtoll(text, &end, 10);
    return end != text && !*end;
}

/* ---- formulas ---- */

static uint64_t conv2d(const char *shapes, const char *concrete)
{
    struct sizes input = sizes_of(shapes, 0), weight = sizes_of(shapes, 1);
    int64_t stride[2], padding[2], dilation[2], groups;

    if (input.count != 4 || weight.count != 4 || !value_pair(concrete, 3, stride) ||
        !value_pair(concrete, 4, padding) || !value_pair(concrete, 5, dilation) ||
        !value_integer(concrete, 6, &groups))
        return 0;
    if (!stride[0] || !stride[1] || !groups)
        return 0;
    uint64_t out[2];
    for (int i = 0; i < 2; i++) {
        int64_t reach = (int64_t)((uint64_t)dilation[i] * (weight.dims[2 + i] - 1));
        int64_t room =
            (int64_t)(input.dims[2 + i] + 2 * (uint64_t)padding[i] - (uint64_t)reach - 1);
        if (room == INT64_MIN) /* divided by -1 it would trap */
            return 0;
        out[i] = (uint64_t)(room / stride[i]) + 1;
    }
    uint64_t all = 2 * input.dims[0] * out[0] * out[1] * weight.dims[2] * weight.dims[3] *
                   input.dims[1] * weight.dims[0];
    return all / (uint64_t)groups;
}

/* @first: place of the left matrix; @batched: its first dimension numbers the pairs. */
static uint64_t multiply(const char *shapes, int first, bool batched)
{
    struct sizes left = sizes_of(shapes, first), right = sizes_of(shapes, first + 1);

    if (!left.is_tensor || !right.is_tensor || !left.count)
        return 0;
    uint64_t inner = left.dims[left.count - 1];
    if (!inner || (batched && !left.dims[0]))
        return 0;
    uint64_t rows = product(&left) / inner;
    if (batched)
        rows /= left.dims[0];
    return rows * product(&right) * 2;
}

static uint64_t elementwise(const char *shapes)
{
    struct sizes sizes = sizes_of(shapes, 0);

    return sizes.is_tensor ? product(&sizes) : 0;
}

enum formula { FORMULA_NONE, CONV2D, MM, ADDMM, BMM, BADDBMM, ELEMENTWISE };

static enum formula find_formula(const char *name)
{
    static const struct {
        const char *name;
        enum formula formula;
    } formulas[] = {
        {"conv2d", CONV2D},   {"mm", MM},           {"addmm", ADDMM},     {"bmm", BMM},
        {"baddbmm", BADDBMM}, {"mul", ELEMENTWISE}, {"add", ELEMENTWISE},
    };

    if (strncmp(name, "aten::", 6) != 0)
        return FORMULA_NONE;
    for (size_t i = 0; i < sizeof(formulas) / sizeof(formulas[0]); i++) {
        if (!strcmp(name + 6, formulas[i].name))
            return formulas[i].formula;
    }
    return FORMULA_NONE;
}

bool tp_flops_has_formula(const char *name)
{
    return find_formula(name) != FORMULA_NONE;
}

uint64_t tp_flops_of(const char *name, const char *shapes, const char *concrete)
{
    switch (find_formula(name)) {
    case FORMULA_NONE:
        break;
    case CONV2D:
        return conv2d(shapes, concrete);
    case MM:
        return multiply(shapes, 0, false);
    case ADDMM:
        return multiply(shapes, 1, false);
    case BMM:
        return multiply(shapes, 0, true);
    case BADDBMM:
        return multiply(shapes, 1, true);
    case ELEMENTWISE:
        return elementwise(shapes);
    }
    return 0;
}
