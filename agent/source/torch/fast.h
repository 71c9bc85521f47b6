/* SPDX-License-Identifier: MIT */
#ifndef TP_TORCH_FAST_H
#define TP_TORCH_FAST_H

/*
 * The halves of names.c and inputs.c that run at every operator: finding in the thread's caches
 * what the thread has seen before. No text, no lock, no call.
 */

#include <string.h>

#include "source/torch/internal.h"

static inline uint64_t tp_torch_fold(uint64_t a, uint64_t b)
{
    unsigned __int128 product = (unsigned __int128)a * b;

    return (uint64_t)product ^ (uint64_t)(product >> 64);
}

#define TP_TORCH_MIX_A UINT64_C(0xd6e8feb86659fd93)
#define TP_TORCH_MIX_B UINT64_C(0xa0761d6478bd642f)

/* A product with 0 would forget the other factor: @hash begins as, and stays, a number without a
 * pattern. */
static inline uint64_t tp_torch_mix(uint64_t hash, uint64_t a, uint64_t b)
{
    return tp_torch_fold(a ^ TP_TORCH_MIX_A, b ^ hash);
}

/*
 * Whether two texts are equal. memcmp costs a call; most names are short. Of each, 8 bytes can be
 * read whatever the size: a string of C++ has room for 16 inside itself, and so has an entry's
 * text.
 */
static inline bool tp_torch_same(const char *a, const char *b, size_t size)
{
    const unsigned char *x = (const unsigned char *)a, *y = (const unsigned char *)b;
    uint64_t first = tp_torch_word(x, 0) ^ tp_torch_word(y, 0);

    if (size < 8)
        return size == 0 || first << (64 - 8 * size) == 0;
    if (TP_LIKELY(size <= 16))
        return (first | (tp_torch_word(x, size - 8) ^ tp_torch_word(y, size - 8))) == 0;
    return memcmp(a, b, size) == 0;
}

static inline struct tp_torch_name_entry *tp_torch_name_slot(struct tp_torch_thread *self,
                                                             uint64_t key)
{
    return &self->names[(key * TP_TORCH_MIX_B) >> 56];
}

_Static_assert(TP_TORCH_NAME_ENTRIES == 256, "the slot is 8 bits of the product");

/* The cache entry of a name whose texts are strings of C++; NULL when it is another one's. */
static inline struct tp_torch_name_entry *tp_torch_name_find(struct tp_torch_thread *self,
                                                             const struct tp_torch_name *name)
{
    uint64_t key = (uint64_t)(uintptr_t)name->key;
    struct tp_torch_name_entry *entry = tp_torch_name_slot(self, key);

    if (TP_LIKELY(entry->key == key && entry->name_length == name->name_length &&
                  entry->overload_length == name->overload_length &&
                  tp_torch_same(entry->text, name->name, name->name_length) &&
                  tp_torch_same(entry->text + name->name_length + 1, name->overload,
                                name->overload_length)))
        return entry;
    return NULL;
}

/*
 * All words of a tensor that decide what its text says, and some that do not; whether they make
 * sense is asked when the text is made.
 */
static inline uint64_t tp_torch_mix_tensor(const struct tp_torch_layout *layout, bool strides,
                                           uint64_t hash, const unsigned char *impl)
{
    uint64_t rank, keys;
    const unsigned char *sizes;
    size_t at;

    if (TP_UNLIKELY(impl == NULL))
        return tp_torch_mix(hash, 1, 1);
    rank = tp_torch_word(impl, layout->rank);
    keys = tp_torch_word(impl, layout->keys) & (layout->keys_opaque | layout->keys_unstrided);
    hash = tp_torch_mix(hash, tp_torch_word(impl, layout->dtype), keys + rank);
    if (TP_UNLIKELY(rank > TP_TORCH_MAX_RANK))
        return hash;
    sizes =
        rank <= TP_TORCH_INLINE_RANK ? impl + layout->sizes : tp_torch_pointer(impl, layout->sizes);
    for (at = 0; at + 1 < rank; at += 2)
        hash = tp_torch_mix(hash, tp_torch_word(sizes, at * 8), tp_torch_word(sizes, at * 8 + 8));
    hash = tp_torch_mix(hash, at < rank ? tp_torch_word(sizes, at * 8) : 0,
                        tp_torch_word(impl, layout->elements));
    if (!strides || keys != 0)
        return hash;
    sizes = rank <= TP_TORCH_INLINE_RANK ? impl + layout->strides : sizes + rank * 8;
    for (at = 0; at < rank; at++)
        hash = tp_torch_mix(hash, tp_torch_word(sizes, at * 8), 0);
    return hash;
}

/* Kinds of all inputs, and words of those that have any. Never 0. */
static inline uint64_t tp_torch_inputs_hash(const struct tp_torch_layout *layout, bool all,
                                            const unsigned char *inputs, size_t count)
{
    uint64_t hash = TP_TORCH_MIX_B + count, kinds = 0;

    for (const unsigned char *input = inputs; input != inputs + count * TP_TORCH_INPUT_BYTES;
         input += TP_TORCH_INPUT_BYTES) {
        enum tp_torch_value value = tp_torch_value_of(layout, input);
        kinds = kinds * TP_TORCH_MIX_B + value;
        if (value == TP_TORCH_TENSOR)
            hash = tp_torch_mix_tensor(layout, all, hash, tp_torch_pointer(input, 0));
        else if (value == TP_TORCH_LIST)
            hash = tp_torch_inputs_mix_list(layout, all, hash, tp_torch_pointer(input, 0));
        else if (all && value != TP_TORCH_OTHER)
            hash = tp_torch_inputs_mix_scalar(layout, hash, value, input);
    }
    hash = tp_torch_mix(hash, kinds, 0);
    return hash != 0 ? hash : 1;
}

/*
 * The cache entry of an operator's inputs; NULL when there is none to be had. Mostly it is @last,
 * which lies beside the operator's name.
 */
static inline const struct tp_torch_input_entry *
tp_torch_inputs_find(struct tp_torch_thread *self, const struct tp_torch_layout *layout, bool all,
                     const unsigned char *inputs, size_t count, struct tp_torch_input_entry *last)
{
    uint64_t hash;

    if (TP_UNLIKELY(count > TP_TORCH_INPUTS))
        return NULL;
    hash = tp_torch_inputs_hash(layout, all, inputs, count);
    if (TP_LIKELY(last->hash == hash))
        return last;
    return tp_torch_inputs_look(self, hash, inputs, count, last) ? last : NULL;
}

#endif
