/* SPDX-License-Identifier: MIT */
#include "source/torch/fast.h"

#include <string.h>

#include "pool.h"
#include "record.h"

/* What is longer than a name may be is cut by tp_intern, which says so. */
static uint32_t intern_joined(char *text, size_t room, const struct tp_torch_name *name)
{
    size_t name_length = name->name_length < room - 1 ? name->name_length : room - 1;
    size_t left = room - 1 - name_length;
    size_t overload_length = name->overload_length < left ? name->overload_length : left;

    memcpy(text, name->name, name_length);
    text[name_length] = '\0';
    memcpy(text + name_length + 1, name->overload, overload_length);
    return tp_intern(TP_NAME_OPERATOR, text, name_length + 1 + overload_length);
}

static uint32_t intern(const struct tp_torch_name *name)
{
    char text[1024];

    if (name->name_length + 1 + name->overload_length <= sizeof text)
        return intern_joined(text, sizeof text, name);
    char *scratch = tp_scratch_take();
    uint32_t id = scratch ? intern_joined(scratch, TP_SCRATCH_BYTES, name)
                          : intern_joined(text, sizeof text, name);
    tp_scratch_give(scratch);
    return id;
}

/* A text that moves is found again by its content. */
static uint64_t key_of(const struct tp_torch_name *name)
{
    const unsigned char *text = (const unsigned char *)name->name;
    size_t at = 0;
    uint64_t key = TP_TORCH_MIX_B + name->name_length;

    if (name->key != NULL)
        return (uint64_t)(uintptr_t)name->key;
    for (; at + 8 <= name->name_length; at += 8)
        key = tp_torch_mix(key, tp_torch_word(text, at), 0);
    for (; at < name->name_length; at++)
        key = tp_torch_mix(key, text[at], 0);
    return key | 1;
}

static bool holds(const struct tp_torch_name_entry *entry, uint64_t key,
                  const struct tp_torch_name *name)
{
    return entry->key == key && entry->name_length == name->name_length &&
           entry->overload_length == name->overload_length &&
           memcmp(entry->text, name->name, name->name_length) == 0 &&
           memcmp(entry->text + name->name_length + 1, name->overload, name->overload_length) == 0;
}

uint32_t tp_torch_name_look(struct tp_torch_thread *self, const struct tp_torch_name *name)
{
    uint64_t key = key_of(name);
    struct tp_torch_name_entry *entry;

    /* fast.h reads 8 bytes of either text */
    if (self == NULL || name->name_length + 1 + name->overload_length + 8 > sizeof entry->text)
        return intern(name);
    entry = tp_torch_name_slot(self, key);
    if (holds(entry, key, name))
        return entry->id;
    entry->key = key;
    entry->last.hash = 0;
    entry->name_length = (uint16_t)name->name_length;
    entry->overload_length = (uint16_t)name->overload_length;
    memcpy(entry->text, name->name, name->name_length);
    entry->text[name->name_length] = '\0';
    memcpy(entry->text + name->name_length + 1, name->overload, name->overload_length);
    entry->id = intern(name);
    return entry->id;
}
