/* SPDX-License-Identifier: MIT */
#include "source/torch/fast.h"

#include "record.h"

/*
 * A program calls an operator with the same shapes again and again. So the inputs' raw words are
 * hashed, and the hash is looked up in the thread's cache (fast.h); texts are made, and interned,
 * only for what the thread has not seen. Everything that a text is made from goes into the hash.
 */

enum {
    SCALAR_LIST_LIMIT = 30, /* longer lists of scalars are not shown by the profiler either */
};

bool tp_torch_tensor_read(const struct tp_torch_layout *layout, const unsigned char *impl,
                          struct tp_torch_tensor *ret_tensor)
{
    uint32_t flags, policy;
    uint64_t rank, keys;
    int64_t elements = 1;
    const int64_t *sizes, *strides;

    if (impl == NULL || impl == layout->undefined_tensor)
        return false;
    flags = (uint32_t)(tp_torch_word(impl, layout->dtype) >> 32);
    keys = tp_torch_word(impl, layout->keys);
    rank = tp_torch_word(impl, layout->rank);
    if (TP_UNLIKELY((flags & TP_TORCH_FLAG_SYMBOLIC) || (keys & layout->keys_opaque) ||
                    rank > TP_TORCH_MAX_RANK))
        return false;
    if (TP_UNLIKELY(layout->opaque_class != NULL &&
                    tp_torch_pointer(impl, 0) == layout->opaque_class))
        return false;
    policy = flags & TP_TORCH_FLAG_POLICY;
    if (TP_UNLIKELY(policy == TP_TORCH_POLICY_SIZES && (flags & TP_TORCH_FLAG_PYTHON_SIZES)))
        return false; /* only Python code knows */
    if (TP_LIKELY(rank <= TP_TORCH_INLINE_RANK)) {
        sizes = (const int64_t *)(const void *)(impl + layout->sizes);
        strides = (const int64_t *)(const void *)(impl + layout->strides);
    } else {
        sizes = (const int64_t *)(const void *)tp_torch_pointer(impl, layout->sizes);
        strides = sizes + rank;
    }
    for (uint64_t i = 0; i < rank; i++)
        if (__builtin_mul_overflow(elements, sizes[i], &elements))
            return false;
    if (TP_UNLIKELY(elements != (int64_t)tp_torch_word(impl, layout->elements)))
        return false;
    ret_tensor->sizes = sizes;
    ret_tensor->strides = keys & layout->keys_unstrided ? NULL : strides;
    ret_tensor->rank = (uint32_t)rank;
    ret_tensor->dtype = (uint16_t)tp_torch_word(impl, layout->dtype);
    return true;
}

enum tp_torch_list tp_torch_list_read(const struct tp_torch_layout *layout,
                                      const unsigned char *list, const unsigned char **ret_elements,
                                      size_t *ret_count)
{
    const unsigned char *begin = tp_torch_pointer(list, layout->list_elements);
    const unsigned char *end = tp_torch_pointer(list, layout->list_elements + 8u);
    const unsigned char *type = tp_torch_pointer(list, layout->list_type);
    enum tp_torch_value first;

    *ret_elements = begin;
    *ret_count = (size_t)(end - begin) / TP_TORCH_INPUT_BYTES;
    if (type != NULL && tp_torch_pointer(type, 0) == layout->tensor_type_class)
        return TP_TORCH_LIST_TENSORS;
    if (*ret_count > SCALAR_LIST_LIMIT)
        return TP_TORCH_LIST_OTHER;
    if (*ret_count == 0)
        return TP_TORCH_LIST_SCALARS;
    first = tp_torch_value_of(layout, begin);
    return first >= TP_TORCH_INT && first <= TP_TORCH_SYMBOLIC ? TP_TORCH_LIST_SCALARS
                                                               : TP_TORCH_LIST_OTHER;
}

/* Only the words that a text shows: the rest of a payload may be anything. */
uint64_t tp_torch_inputs_mix_scalar(const struct tp_torch_layout *layout, uint64_t hash,
                                    enum tp_torch_value value, const unsigned char *input)
{
    const unsigned char *number = tp_torch_pointer(input, 0);

    switch (value) {
    case TP_TORCH_INT:
    case TP_TORCH_DOUBLE:
        return tp_torch_mix(hash, tp_torch_word(input, 0), value);
    case TP_TORCH_BOOL:
        return tp_torch_mix(hash, input[0], value);
    case TP_TORCH_COMPLEX:
        if (!(layout->has & TP_TORCH_HAS_COMPLEX))
            return tp_torch_mix(hash, 0, value);
        return tp_torch_mix(hash, tp_torch_word(number, layout->complex_value),
                            tp_torch_word(number, layout->complex_value + 8u) + TP_TORCH_MIX_A);
    default:
        return tp_torch_mix(hash, 0, value);
    }
}

uint64_t tp_torch_inputs_mix_list(const struct tp_torch_layout *layout, bool all, uint64_t hash,
                                  const unsigned char *list)
{
    const unsigned char *elements;
    size_t count;
    enum tp_torch_list kind = tp_torch_list_read(layout, list, &elements, &count);
    bool shown = kind == TP_TORCH_LIST_TENSORS || (kind == TP_TORCH_LIST_SCALARS && all);

    hash = tp_torch_mix(hash, kind, shown ? count : 0);
    for (size_t i = 0; shown && i < count; i++, elements += TP_TORCH_INPUT_BYTES) {
        if (kind == TP_TORCH_LIST_TENSORS)
            hash = tp_torch_mix_tensor(layout, all, hash, tp_torch_pointer(elements, 0));
        else
            hash = tp_torch_inputs_mix_scalar(layout, hash, tp_torch_value_of(layout, elements),
                                              elements);
    }
    return hash;
}

static bool learn(struct tp_torch_thread *self, const unsigned char *inputs, size_t count,
                  struct tp_torch_input_entry *entry)
{
    const struct tp_torch_layout *layout = &tp_torch.found;
    bool all = tp_torch.shapes == TP_TORCH_SHAPES_ALL;
    bool strides = all && (layout->has & TP_TORCH_HAS_STRIDES);
    size_t length =
        tp_torch_describe_shapes(layout, strides, inputs, count, self->text, sizeof self->text);

    if (length == 0)
        return false;
    entry->shapes = tp_intern(TP_NAME_SHAPES, self->text, length);
    entry->inputs = 0;
    if (!all)
        return true;
    length = tp_torch_describe_inputs(layout, inputs, count, self->text, sizeof self->text);
    if (length != 0)
        entry->inputs = tp_intern(TP_NAME_INPUTS, self->text, length);
    return length != 0;
}

bool tp_torch_inputs_look(struct tp_torch_thread *self, uint64_t hash, const unsigned char *inputs,
                          size_t count, struct tp_torch_input_entry *ret_entry)
{
    struct tp_torch_input_entry *entry = &self->inputs[hash % TP_TORCH_INPUT_ENTRIES];

    ret_entry->hash = 0;
    if (entry->hash != hash) {
        entry->hash = 0;
        if (!learn(self, inputs, count, entry))
            return false;
        entry->hash = hash;
    }
    *ret_entry = *entry;
    return true;
}
