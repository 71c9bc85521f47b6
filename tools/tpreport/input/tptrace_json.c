/* SPDX-License-Identifier: MIT */
#include "input/tptrace_json.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <yajl/yajl_tree.h>

#include "base/error.h"

/* The tree is freed by recursion: how deep it gets is checked before it is made. The parser takes
 * comments, in which a bracket or quote would mislead this check: there are none in JSON. */
static int check_depth(const char *bytes, size_t size)
{
    unsigned depth = 0;
    bool text = false;

    for (size_t i = 0; i < size; i++) {
        if (text) {
            if (bytes[i] == '\\')
                i++;
            else if (bytes[i] == '"')
                text = false;
        } else if (bytes[i] == '"') {
            text = true;
        } else if (bytes[i] == '/') {
            return -TP_ESYNTAX;
        } else if (bytes[i] == '[' || bytes[i] == '{') {
            if (++depth > TPTRACE_JSON_DEPTH_MAX)
                return -TP_ELIMIT;
        } else if ((bytes[i] == ']' || bytes[i] == '}') && depth) {
            depth--;
        }
    }
    return 0;
}

int tptrace_json_parse(struct tptrace_json *json, const char *bytes, size_t size)
{
    char error[8];

    if (memchr(bytes, '\0', size))
        return -TP_ESYNTAX;
    int result = check_depth(bytes, size);
    if (result)
        return result;
    char *copy = malloc(size + 1);
    if (!copy)
        return -ENOMEM;
    memcpy(copy, bytes, size);
    copy[size] = '\0';
    yajl_val root = yajl_tree_parse(copy, error, sizeof(error));
    free(copy);
    if (!root)
        return -TP_ESYNTAX;
    json->root = root;
    if (YAJL_IS_OBJECT(root))
        return 0;
    tptrace_json_fini(json);
    return -TP_ESYNTAX;
}

void tptrace_json_fini(struct tptrace_json *json)
{
    yajl_tree_free(json->root);
    json->root = NULL;
}

static yajl_val member(const struct tptrace_json *json, const char *key)
{
    const char *path[] = {key, NULL};

    return yajl_tree_get(json->root, path, yajl_t_any);
}

const char *tptrace_json_text(const struct tptrace_json *json, const char *key)
{
    yajl_val value = member(json, key);

    return YAJL_IS_STRING(value) ? YAJL_GET_STRING(value) : NULL;
}

static const char *digits_of(yajl_val value)
{
    if (!YAJL_IS_NUMBER(value))
        return NULL;
    const char *digits = YAJL_GET_NUMBER(value);
    return digits[strspn(digits, "-0123456789")] ? NULL : digits;
}

static bool get_u64(yajl_val value, uint64_t *ret_value)
{
    const char *digits = digits_of(value);

    if (!digits || *digits == '-')
        return false;
    errno = 0;
    unsigned long long number = strtoull(digits, NULL, 10);
    if (errno)
        return false;
    *ret_value = number;
    return true;
}

bool tptrace_json_u64(const struct tptrace_json *json, const char *key, uint64_t *ret_value)
{
    return get_u64(member(json, key), ret_value);
}

bool tptrace_json_u32(const struct tptrace_json *json, const char *key, uint32_t *ret_value)
{
    uint64_t wide;

    if (!tptrace_json_u64(json, key, &wide) || wide > UINT32_MAX)
        return false;
    *ret_value = (uint32_t)wide;
    return true;
}

bool tptrace_json_i64(const struct tptrace_json *json, const char *key, int64_t *ret_value)
{
    const char *digits = digits_of(member(json, key));

    if (!digits)
        return false;
    errno = 0;
    long long number = strtoll(digits, NULL, 10);
    if (errno)
        return false;
    *ret_value = number;
    return true;
}

static yajl_val item(const struct tptrace_json *json, const char *key, size_t index)
{
    yajl_val value = member(json, key);

    if (!YAJL_IS_ARRAY(value) || index >= YAJL_GET_ARRAY(value)->len)
        return NULL;
    return YAJL_GET_ARRAY(value)->values[index];
}

size_t tptrace_json_items(const struct tptrace_json *json, const char *key)
{
    yajl_val value = member(json, key);

    return YAJL_IS_ARRAY(value) ? YAJL_GET_ARRAY(value)->len : 0;
}

bool tptrace_json_item(const struct tptrace_json *json, const char *key, size_t index,
                       struct tptrace_json *ret_item)
{
    yajl_val value = item(json, key, index);

    if (!YAJL_IS_OBJECT(value))
        return false;
    ret_item->root = value;
    return true;
}

bool tptrace_json_item_u64(const struct tptrace_json *json, const char *key, size_t index,
                           uint64_t *ret_value)
{
    return get_u64(item(json, key, index), ret_value);
}

bool tptrace_json_object(const struct tptrace_json *json, const char *key,
                         struct tptrace_json *ret_object)
{
    yajl_val value = member(json, key);

    if (!YAJL_IS_OBJECT(value))
        return false;
    ret_object->root = value;
    return true;
}

const char *tptrace_json_key(const struct tptrace_json *json, size_t index)
{
    if (index >= YAJL_GET_OBJECT(json->root)->len)
        return NULL;
    return YAJL_GET_OBJECT(json->root)->keys[index];
}
