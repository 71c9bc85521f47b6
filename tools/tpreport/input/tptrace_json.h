/* SPDX-License-Identifier: MIT
 * Small JSON objects (a line of meta.jsonl, run.json) as a tree; big enough to hold, so no
 * streaming. */
#ifndef TP_INPUT_TPTRACE_JSON_H
#define TP_INPUT_TPTRACE_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TPTRACE_JSON_DEPTH_MAX 32u

struct yajl_val_s;

struct tptrace_json {
    struct yajl_val_s *root; /* an object */
};

/**
 * tptrace_json_parse - one JSON object
 * @bytes: need not be terminated
 * Return: 0 and a tree for tptrace_json_fini; -TP_ESYNTAX; -TP_ELIMIT (nested too deep); -ENOMEM.
 */
int tptrace_json_parse(struct tptrace_json *json, const char *bytes, size_t size);
void tptrace_json_fini(struct tptrace_json *json);

/*
 * Members of the object. Text is borrowed, NULL when the key is missing or no text. The numbers are
 * set only when the key holds an integer that fits. Return: was it there?
 */
const char *tptrace_json_text(const struct tptrace_json *json, const char *key);
bool tptrace_json_i64(const struct tptrace_json *json, const char *key, int64_t *ret_value);
bool tptrace_json_u64(const struct tptrace_json *json, const char *key, uint64_t *ret_value);
bool tptrace_json_u32(const struct tptrace_json *json, const char *key, uint32_t *ret_value);

/** tptrace_json_items - length of the array at @key, 0 for none */
size_t tptrace_json_items(const struct tptrace_json *json, const char *key);

/** tptrace_json_item - its item @index as an object. Return: false when it is none. @ret_item is
 * borrowed. */
bool tptrace_json_item(const struct tptrace_json *json, const char *key, size_t index,
                       struct tptrace_json *ret_item);

/** tptrace_json_item_u64 - its item @index as an integer */
bool tptrace_json_item_u64(const struct tptrace_json *json, const char *key, size_t index,
                           uint64_t *ret_value);

/** tptrace_json_object - the object at @key, borrowed. Return: was it there? */
bool tptrace_json_object(const struct tptrace_json *json, const char *key,
                         struct tptrace_json *ret_object);

/** tptrace_json_key - the name of member @index, NULL behind the last */
const char *tptrace_json_key(const struct tptrace_json *json, size_t index);

#endif
