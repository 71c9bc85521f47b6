/* SPDX-License-Identifier: MIT */
#include "model/strings.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/text.h"
#include "model/hash.h"

#define CHUNK_SIZE (256u << 10)

struct tp_strings_chunk {
    struct tp_strings_chunk *next;
    size_t used, size;
    char bytes[];
};

static bool is_valid_utf8(const char *bytes, size_t size)
{
    const unsigned char *p = (const unsigned char *)bytes;

    for (uint64_t word; size >= sizeof(word); p += sizeof(word), size -= sizeof(word)) {
        memcpy(&word, p, sizeof(word));
        if (word & 0x8080808080808080u) /* not ASCII: look closer */
            break;
    }
    while (size) {
        uint32_t code;
        size_t step = *p < 0x80 ? 1 : tp_utf8_decode(p, size, &code);
        if (step == 1 && *p >= 0x80)
            return false;
        p += step;
        size -= step;
    }
    return true;
}

/* C0 and C1 controls and DEL, all of which could break a line or steer a terminal. */
static bool has_controls(const char *bytes, size_t size)
{
    const unsigned char *p = (const unsigned char *)bytes;

    for (size_t i = 0; i < size; i++) {
        if ((p[i] < 0x20 && p[i] != '\t') || p[i] == 0x7f)
            return true;
        if (p[i] == 0xc2 && i + 1 < size && p[i + 1] < 0xa0)
            return true;
    }
    return false;
}

/* Each bad byte grows to three. */
static char *repair_utf8(const char *bytes, size_t size, size_t *ret_size)
{
    const unsigned char *p = (const unsigned char *)bytes;
    char *out = malloc(size * 3);
    size_t used = 0;

    if (!out)
        return NULL;
    while (size) {
        uint32_t code;
        size_t step = tp_utf8_decode(p, size, &code);
        if (step == 1 && *p >= 0x80) {
            memcpy(out + used, "\xef\xbf\xbd", 3);
            used += 3;
        } else {
            memcpy(out + used, p, step);
            used += step;
        }
        p += step;
        size -= step;
    }
    *ret_size = used;
    return out;
}

/* Room for @size bytes that never move. */
static char *take_bytes(struct tp_strings *strings, size_t size)
{
    struct tp_strings_chunk *chunk = strings->chunks;

    if (!chunk || chunk->size - chunk->used < size) {
        size_t room = size > CHUNK_SIZE / 4 ? size : CHUNK_SIZE;
        chunk = malloc(sizeof(*chunk) + room);
        if (!chunk)
            return NULL;
        chunk->used = 0;
        chunk->size = room;
        if (room == size && strings->chunks) { /* a large one of its own: keep filling the front */
            chunk->next = strings->chunks->next;
            strings->chunks->next = chunk;
        } else {
            chunk->next = strings->chunks;
            strings->chunks = chunk;
        }
    }
    char *bytes = chunk->bytes + chunk->used;
    chunk->used += size;
    return bytes;
}

/* The slot that holds the text, or the free one where it belongs. */
static uint32_t *find_slot(const struct tp_strings *strings, const char *bytes, size_t size)
{
    uint32_t mask = strings->slot_count - 1;

    for (uint64_t i = tp_hash_bytes(strings->seed, bytes, size);; i++) {
        uint32_t *slot = &strings->slots[i & mask];
        if (!*slot)
            return slot;
        const struct tp_string *item = &strings->items[*slot - 1];
        if (item->size == size && !memcmp(item->bytes, bytes, size))
            return slot;
    }
}

static int grow_slots(struct tp_strings *strings)
{
    uint32_t old_count = strings->slot_count;
    uint32_t *old = strings->slots;

    uint32_t count = old_count ? old_count * 2 : 1024;
    uint32_t *slots = calloc(count, sizeof(*slots));
    if (!slots)
        return -ENOMEM;
    strings->slots = slots;
    strings->slot_count = count;
    for (uint32_t i = 0; i < old_count; i++) {
        if (!old[i])
            continue;
        const struct tp_string *item = &strings->items[old[i] - 1];
        *find_slot(strings, item->bytes, item->size) = old[i];
    }
    free(old);
    return 0;
}

static int grow_items(struct tp_strings *strings)
{
    uint32_t capacity = strings->capacity ? strings->capacity * 2 : 512;

    if (capacity > 1u << 30)
        return -TP_ELIMIT;
    struct tp_string *items = realloc(strings->items, capacity * sizeof(*items));
    if (!items)
        return -ENOMEM;
    strings->items = items;
    strings->capacity = capacity;
    return 0;
}

static int append(struct tp_strings *strings, const char *bytes, size_t size, uint32_t *ret_id)
{
    int result = strings->count == strings->capacity ? grow_items(strings) : 0;

    if (result < 0)
        return result;
    char *copy = take_bytes(strings, size + 1);
    if (!copy)
        return -ENOMEM;
    if (size)
        memcpy(copy, bytes, size);
    copy[size] = '\0';
    strings->items[strings->count] = (struct tp_string){
        .bytes = copy,
        .size = (uint32_t)size,
        .length = (uint32_t)tp_utf8_length(copy, size) & INT32_MAX,
        .has_controls = has_controls(copy, size),
    };
    *ret_id = strings->count++;
    return 0;
}

static int put_valid(struct tp_strings *strings, const char *bytes, size_t size, uint32_t *ret_id)
{
    if (strings->count + strings->count / 2 >= strings->slot_count) {
        int result = grow_slots(strings);
        if (result < 0)
            return result;
    }
    uint32_t *slot = find_slot(strings, bytes, size);
    if (*slot) {
        *ret_id = *slot - 1;
        return 0;
    }
    int result = append(strings, bytes, size, ret_id);
    if (!result)
        *slot = *ret_id + 1;
    return result;
}

int tp_strings_put(struct tp_strings *strings, const char *bytes, size_t size, uint32_t *ret_id)
{
    if (size >= UINT32_MAX / 3)
        return -TP_ELIMIT;
    if (is_valid_utf8(bytes, size))
        return put_valid(strings, bytes, size, ret_id);
    size_t fixed_size;
    char *fixed = repair_utf8(bytes, size, &fixed_size);
    if (!fixed)
        return -ENOMEM;
    int result = put_valid(strings, fixed, fixed_size, ret_id);
    free(fixed);
    return result;
}

uint32_t tp_strings_find(const struct tp_strings *strings, const char *bytes, size_t size)
{
    uint32_t slot = *find_slot(strings, bytes, size);

    return slot ? slot - 1 : TP_STRING_NONE;
}

int tp_strings_compare(const struct tp_strings *strings, uint32_t a, uint32_t b)
{
    const struct tp_string *left = tp_strings_get(strings, a), *right = tp_strings_get(strings, b);

    if (a == b)
        return 0;
    if (a == TP_STRING_NONE || b == TP_STRING_NONE)
        return a == TP_STRING_NONE ? -1 : 1;
    size_t both = left->size < right->size ? left->size : right->size;
    int order = memcmp(left->bytes, right->bytes, both); /* UTF-8 sorts like its code points */
    if (order)
        return order < 0 ? -1 : 1;
    return (left->size > right->size) - (left->size < right->size);
}

int tp_strings_init(struct tp_strings *strings)
{
    uint32_t id;

    memset(strings, 0, sizeof(*strings));
    strings->seed = tp_hash_seed();
    int result = append(strings, "", 0, &id); /* None: in no slot, so that no text finds it */
    if (!result)
        result = tp_strings_put(strings, "", 0, &id);
    if (!result)
        result = tp_strings_put(strings, "[]", 2, &id);
    if (result < 0)
        tp_strings_fini(strings);
    return result;
}

void tp_strings_fini(struct tp_strings *strings)
{
    while (strings->chunks) {
        struct tp_strings_chunk *next = strings->chunks->next;
        free(strings->chunks);
        strings->chunks = next;
    }
    free(strings->items);
    free(strings->slots);
    memset(strings, 0, sizeof(*strings));
}
