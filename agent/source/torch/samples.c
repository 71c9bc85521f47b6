/* SPDX-License-Identifier: MIT */
#include "source/torch/search.h"

#include <string.h>

/* The part of the search that looks at tensors: their addresses are known, no operator has to run.
 */

enum {
    TYPES_BYTES = 1024,
    X_ELEMENTS = 3 * 5 * 7,
};

struct look {
    struct tp_torch_search *search;
    unsigned char tensors[TP_TORCH_SAMPLES]
                         [TP_TORCH_TENSOR_BYTES]; /* 0 where it could not be read */
    bool present[TP_TORCH_SAMPLES];
};

static uint64_t word_at(const unsigned char *bytes, size_t offset)
{
    uint64_t word;

    memcpy(&word, bytes + offset, sizeof word);
    return word;
}

static bool words_are(const unsigned char *bytes, const uint64_t *words, size_t count)
{
    return memcmp(bytes, words, count * sizeof *words) == 0;
}

static uint32_t flags_of(const struct look *look, enum tp_torch_sample sample)
{
    uint32_t flags;

    memcpy(&flags, look->tensors[sample] + look->search->found.dtype + 4, sizeof flags);
    return flags;
}

/* rank, five sizes, five strides, side by side; the transposed tensor must have them turned around.
 */
static bool search_sizes(struct look *look)
{
    static const uint64_t straight[] = {3, 3, 5, 7}, turned[] = {3, 7, 5, 3};
    static const uint64_t straight_strides[] = {35, 7, 1}, turned_strides[] = {1, 7, 35};
    struct tp_torch_layout *found = &look->search->found;
    size_t fits = 0;

    for (size_t at = 8; at + 88 <= TP_TORCH_TENSOR_BYTES; at += 8) {
        if (!words_are(look->tensors[TP_TORCH_SAMPLE_X] + at, straight, 4) ||
            !words_are(look->tensors[TP_TORCH_SAMPLE_X] + at + 48, straight_strides, 3) ||
            !words_are(look->tensors[TP_TORCH_SAMPLE_TURNED] + at, turned, 4) ||
            !words_are(look->tensors[TP_TORCH_SAMPLE_TURNED] + at + 48, turned_strides, 3))
            continue;
        found->rank = (uint16_t)at;
        found->sizes = (uint16_t)(at + 8);
        found->strides = (uint16_t)(at + 48);
        fits++;
    }
    return fits == 1;
}

static bool out_of_line(struct look *look)
{
    static const uint64_t expected[] = {2, 1, 3, 1, 2, 5, 30, 30, 10, 10, 5, 1};
    const unsigned char *tensor = look->tensors[TP_TORCH_SAMPLE_LONG];
    uint64_t words[12];

    return word_at(tensor, look->search->found.rank) == 6 &&
           tp_safecopy_read(&look->search->copy, words,
                            (const void *)(uintptr_t)word_at(tensor, look->search->found.sizes),
                            sizeof words) == sizeof words &&
           memcmp(words, expected, sizeof words) == 0;
}

/* Behind the sizes: the offset into the storage, 0, and the count of elements. */
static bool search_elements(struct look *look)
{
    struct tp_torch_layout *found = &look->search->found;
    size_t fits = 0;

    for (size_t at = found->sizes + 80u; at + 8 <= found->sizes + 144u; at += 8) {
        if (word_at(look->tensors[TP_TORCH_SAMPLE_X], at) != X_ELEMENTS ||
            word_at(look->tensors[TP_TORCH_SAMPLE_TURNED], at) != X_ELEMENTS ||
            word_at(look->tensors[TP_TORCH_SAMPLE_LONG], at) != 60)
            continue;
        found->elements = (uint16_t)at;
        fits++;
    }
    return fits == 1;
}

/*
 * The type's number follows the count of elements: equal in tensors of one type, different
 * otherwise. The flags and the key set follow it; their bits are proven by tensors that differ in
 * them.
 */
static bool prove_marks(struct look *look)
{
    struct tp_torch_search *search = look->search;
    struct tp_torch_layout *found = &search->found;
    uint32_t number_flags;

    found->dtype = (uint16_t)(found->elements + 8u);
    found->keys = (uint16_t)(found->dtype + 8u);
    if (!(flags_of(look, TP_TORCH_SAMPLE_X) & TP_TORCH_FLAG_CONTIGUOUS) ||
        (flags_of(look, TP_TORCH_SAMPLE_TURNED) & TP_TORCH_FLAG_CONTIGUOUS) ||
        (flags_of(look, TP_TORCH_SAMPLE_X) &
         (TP_TORCH_FLAG_WRAPPED_NUMBER | TP_TORCH_FLAG_POLICY | TP_TORCH_FLAG_SYMBOLIC)))
        return false;
    if (search->sample_keys != 0)
        return word_at(look->tensors[TP_TORCH_SAMPLE_X], found->keys) == search->sample_keys;
    memcpy(&number_flags, search->number_bytes + found->dtype + 4, sizeof number_flags);
    return search->number != 0 && (number_flags & TP_TORCH_FLAG_WRAPPED_NUMBER);
}

/* The key set's bits by functionality: mkldnn, sparse and compressed sparse stand in a row. */
static void prove_keys(struct look *look)
{
    struct tp_torch_search *search = look->search;
    struct tp_torch_layout *found = &search->found;
    uint64_t x = word_at(look->tensors[TP_TORCH_SAMPLE_X], found->keys);
    uint64_t sparse = word_at(look->tensors[TP_TORCH_SAMPLE_SPARSE], found->keys);

    found->keys_opaque =
        search->keys_nested != 0 ? search->keys_nested : search->guess->keys_opaque;
    found->keys_unstrided =
        search->keys_sparse != 0
            ? search->keys_sparse | search->keys_sparse << 1 | search->keys_sparse >> 1
            : search->guess->keys_unstrided;
    if ((x & found->keys_opaque) || (x & found->keys_unstrided))
        found->keys_opaque = found->keys_unstrided = 0;
    else if (look->present[TP_TORCH_SAMPLE_SPARSE] && (sparse & found->keys_unstrided) &&
             (flags_of(look, TP_TORCH_SAMPLE_SPARSE) & TP_TORCH_FLAG_POLICY))
        found->has |= TP_TORCH_HAS_STRIDES;
}

static bool type_named(const unsigned char *types, size_t at, size_t text, size_t length,
                       struct tp_torch_search *search, const char *name)
{
    char copy[16];
    size_t size = strlen(name);

    return at + length + 8 <= TYPES_BYTES && at + text + 8 <= TYPES_BYTES &&
           word_at(types, at + length) == size &&
           tp_safecopy_read(&search->copy, copy, (const void *)(uintptr_t)word_at(types, at + text),
                            size) == size &&
           memcmp(copy, name, size) == 0;
}

/* torch keeps a table of its types; a name in it is a pointer and a length, in either order. */
static void search_type_names(struct look *look)
{
    struct tp_torch_search *search = look->search;
    struct tp_torch_layout *found = &search->found;
    uint16_t f32, f64, f32_again;
    unsigned char types[TYPES_BYTES];
    const void *table = tp_torch.functions.types != NULL ? tp_torch.functions.types() : NULL;

    memcpy(&f32, look->tensors[TP_TORCH_SAMPLE_X] + found->dtype, 2);
    memcpy(&f32_again, look->tensors[TP_TORCH_SAMPLE_LONG] + found->dtype, 2);
    memcpy(&f64, look->tensors[TP_TORCH_SAMPLE_Y] + found->dtype, 2);
    if (f32 == f64 || f32 != f32_again || f32 > 15 || f64 > 15 || table == NULL ||
        tp_safecopy_read(&search->copy, types, table, sizeof types) != sizeof types)
        return;
    for (size_t stride = 16; stride <= 128; stride += 8)
        for (size_t first = 0; first + 16 <= stride; first += 8)
            for (size_t order = 0; order < 2; order++) {
                size_t text = first + 8 * order, length = first + 8 * !order;
                if (!type_named(types, f32 * stride, text, length, search, "float") ||
                    !type_named(types, f64 * stride, text, length, search, "double"))
                    continue;
                found->types = table;
                found->type_stride = (uint16_t)stride;
                found->type_text = (uint16_t)text;
                found->type_length = (uint16_t)length;
                found->has |= TP_TORCH_HAS_DTYPES;
                return;
            }
}

void tp_torch_search_tensors(struct tp_torch_search *search)
{
    struct look look = {.search = search};

    for (size_t i = 0; i < TP_TORCH_SAMPLES; i++)
        look.present[i] = search->samples[i] != NULL &&
                          tp_safecopy_read(&search->copy, look.tensors[i], search->samples[i],
                                           TP_TORCH_TENSOR_BYTES) > 128;
    if (!search_sizes(&look) || !out_of_line(&look) || !search_elements(&look) ||
        !prove_marks(&look))
        return;
    search->found.undefined_tensor = tp_torch.functions.undefined_tensor;
    search->found.opaque_class = tp_torch.functions.nested_class;
    prove_keys(&look);
    if (search->found.undefined_tensor != NULL && search->found.keys_opaque != 0)
        search->found.has |= TP_TORCH_HAS_SIZES;
    search_type_names(&look);
}
