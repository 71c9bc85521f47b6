/* SPDX-License-Identifier: MIT */
#include "source/torch/search.h"

#include <string.h>

enum {
    RECORD_BYTES = 512,
    OBJECT_BYTES = 128,
    INPUTS = 8,
};

static const char *const probe_names[TP_TORCH_PROBES] = {
    [TP_TORCH_PROBE_ADD] = "aten::add",    [TP_TORCH_PROBE_GRAD] = "aten::add",
    [TP_TORCH_PROBE_SUM] = "aten::sum",    [TP_TORCH_PROBE_CLAMP] = "aten::clamp",
    [TP_TORCH_PROBE_CAT] = "aten::cat",    [TP_TORCH_PROBE_COMPLEX] = "aten::add",
    [TP_TORCH_PROBE_NUMBER] = "aten::mul", [TP_TORCH_PROBE_USER] = TP_TORCH_PROBE_NAME,
};

/* One record, copied; words that could not be read are 0. */
struct sight {
    struct tp_torch_search *search;
    const unsigned char *record; /* where it really is */
    const char *name;
    unsigned char bytes[RECORD_BYTES];
    unsigned char inputs[INPUTS * TP_TORCH_INPUT_BYTES];
    size_t input_count;
};

static uint64_t word_at(const unsigned char *bytes, size_t offset)
{
    uint64_t word;

    memcpy(&word, bytes + offset, sizeof word);
    return word;
}

static uint32_t tag_of(const struct sight *sight, size_t index)
{
    uint32_t tag;

    memcpy(&tag, sight->inputs + index * TP_TORCH_INPUT_BYTES + 8, sizeof tag);
    return tag;
}

static uint64_t payload_of(const struct sight *sight, size_t index)
{
    return word_at(sight->inputs, index * TP_TORCH_INPUT_BYTES);
}

static bool read_at(struct tp_torch_search *search, void *to, uint64_t from, size_t size)
{
    return tp_safecopy_read(&search->copy, to, (const void *)(uintptr_t)from, size) == size;
}

/* A short text at @at, checked against @expected. */
static bool text_is(struct tp_torch_search *search, uint64_t at, const char *expected)
{
    char text[64];
    size_t size = strlen(expected) + 1;

    return size <= sizeof text && read_at(search, text, at, size) &&
           memcmp(text, expected, size) == 0;
}

/* Among the places that fit, the guess wins; otherwise there must be one. */
struct choice {
    uint16_t guess;
    uint16_t place;
    unsigned fits;
    bool guess_fits;
};

static void offer(struct choice *choice, size_t place)
{
    choice->fits++;
    choice->guess_fits = choice->guess_fits || place == choice->guess;
    choice->place = choice->guess_fits ? choice->guess : (uint16_t)place;
}

static bool decided(const struct choice *choice)
{
    return choice->guess_fits || choice->fits == 1;
}

/*
 * The name is a schema, whose first member is the name and whose second is the overload. A string
 * is a pointer, a length and 16 bytes more; or, of the old kind, a pointer alone.
 */
static void search_name(struct sight *sight)
{
    struct tp_torch_search *search = sight->search;
    struct choice choice = {.guess = search->guess->name};
    bool old_strings = false;

    for (size_t at = 8; at + 8 <= RECORD_BYTES; at += 8) {
        unsigned char schema[64];
        if (!read_at(search, schema, word_at(sight->bytes, at), sizeof schema) ||
            word_at(schema, 0) != (uint64_t)(uintptr_t)sight->name)
            continue;
        if (word_at(schema, 8) == strlen(sight->name) && word_at(schema, 40) == strlen("Tensor") &&
            text_is(search, word_at(schema, 32), "Tensor"))
            offer(&choice, at);
        else if (text_is(search, word_at(schema, 8), "Tensor")) {
            old_strings = true;
            offer(&choice, at);
        }
    }
    if (!decided(&choice))
        return;
    search->found.name = choice.place;
    search->found.old_strings = old_strings;
    search->found.schema_overload = old_strings ? 8 : 32;
    search->found.name_kind = (uint16_t)(choice.place + (old_strings ? 8 : 32));
    search->name_proven = sight->bytes[search->found.name_kind] == 1;
}

static void search_inputs(struct sight *sight)
{
    struct tp_torch_search *search = sight->search;
    struct choice choice = {.guess = search->guess->inputs};
    const uint64_t x = (uint64_t)(uintptr_t)search->samples[TP_TORCH_SAMPLE_X];
    const uint64_t y = (uint64_t)(uintptr_t)search->samples[TP_TORCH_SAMPLE_Y];

    for (size_t at = 8; at + 16 <= RECORD_BYTES; at += 8) {
        struct sight copy = {.input_count = 3};
        if (word_at(sight->bytes, at + 8) != 3 ||
            !read_at(search, copy.inputs, word_at(sight->bytes, at), 3 * TP_TORCH_INPUT_BYTES))
            continue;
        if (payload_of(&copy, 0) != x || payload_of(&copy, 1) != y || payload_of(&copy, 2) != 3 ||
            tag_of(&copy, 0) != tag_of(&copy, 1) || tag_of(&copy, 0) == tag_of(&copy, 2) ||
            tag_of(&copy, 0) >= TP_TORCH_TAGS || tag_of(&copy, 2) >= TP_TORCH_TAGS)
            continue;
        offer(&choice, at);
        memcpy(sight->inputs, copy.inputs, sizeof sight->inputs);
        sight->input_count = 3;
    }
    if (!decided(&choice))
        return;
    search->found.inputs = choice.place;
    search->found.has |= TP_TORCH_HAS_INPUTS;
    search->tag_tensor = tag_of(sight, 0);
    search->found.value_of_tag[tag_of(sight, 0)] = TP_TORCH_TENSOR;
    search->found.value_of_tag[tag_of(sight, 2)] = TP_TORCH_INT;
}

/* The thread's number, then the scope (0 here), then the byte that says that inputs are wanted. */
static void search_scope(struct sight *sight)
{
    struct tp_torch_search *search = sight->search;
    struct choice choice = {.guess = (uint16_t)(search->guess->scope - 8)};
    uint64_t thread = tp_torch.functions.thread();

    for (size_t at = 8; at + 10 <= search->found.name; at += 8)
        if (word_at(sight->bytes, at) == thread && sight->bytes[at + 8] == 0 &&
            sight->bytes[at + 9] == 1)
            offer(&choice, at);
    if (!decided(&choice))
        return;
    search->thread = choice.place;
    search->found.scope = (uint16_t)(choice.place + 8);
    search->scope_proven = true;
}

/*
 * Behind the inputs: in some versions a hash table of named inputs, empty, with its one bucket
 * inside; then the outputs, an empty vector; the forward thread, 0; a handle; a flag; and a debug
 * handle, -1.
 */
static void search_forward_thread(struct sight *sight)
{
    struct tp_torch_search *search = sight->search;
    size_t at = search->found.inputs + 16u;

    if (word_at(sight->bytes, at) == (uint64_t)(uintptr_t)(sight->record + at + 48) &&
        word_at(sight->bytes, at + 8) == 1 && word_at(sight->bytes, at + 24) == 0)
        at += 56;
    for (size_t i = 0; i < 4; i++)
        if (word_at(sight->bytes, at + 8 * i) != 0)
            return;
    at += 24;
    if (sight->bytes[at + 16] > 1 || word_at(sight->bytes, at + 24) != UINT64_MAX)
        return;
    search->found.forward_thread = (uint16_t)at;
    search->found.has |= TP_TORCH_HAS_FORWARD_THREAD;
}

static void look_at_add(struct sight *sight)
{
    struct tp_torch_search *search = sight->search;

    search_name(sight);
    if (!search->name_proven)
        return;
    search_scope(sight);
    search_inputs(sight);
    if (search->found.has & TP_TORCH_HAS_INPUTS) {
        search->found.sequence = (uint16_t)(search->found.inputs - 8u);
        search_forward_thread(sight);
    }
}

/* Without gradients the number is -1, with them it is what the next node will get. */
static void look_at_grad(struct sight *sight)
{
    struct tp_torch_search *search = sight->search;
    uint64_t number = word_at(sight->bytes, search->found.sequence);
    bool expected =
        search->inference_mode
            ? number == UINT64_MAX && search->found.sequence == search->guess->sequence
            : tp_torch.functions.sequence != NULL && number == tp_torch.functions.sequence();

    if (expected)
        search->found.has |= TP_TORCH_HAS_SEQUENCE;
}

static void search_list(struct sight *sight, uint64_t list)
{
    struct tp_torch_search *search = sight->search;
    struct choice choice = {.guess = search->guess->list_elements};
    unsigned char object[OBJECT_BYTES], type[8];

    if (!read_at(search, object, list, sizeof object))
        return;
    for (size_t at = 8; at + 32 <= sizeof object; at += 8) {
        struct sight elements = {.input_count = 2};
        uint64_t begin = word_at(object, at);
        if (word_at(object, at + 8) - begin != 2 * TP_TORCH_INPUT_BYTES ||
            !read_at(search, elements.inputs, begin, 2 * TP_TORCH_INPUT_BYTES))
            continue;
        if (payload_of(&elements, 0) == 0 && payload_of(&elements, 1) == 2 &&
            search->found.value_of_tag[tag_of(&elements, 0) % TP_TORCH_TAGS] == TP_TORCH_INT)
            offer(&choice, at);
    }
    if (!decided(&choice))
        return;
    search->found.list_elements = choice.place;
    search->found.list_type = (uint16_t)(choice.place + 24u);
    if (read_at(search, type, word_at(object, search->found.list_type), sizeof type))
        search->int_type_class = (const void *)(uintptr_t)word_at(type, 0);
}

/* Between the tags of int and bool stand those of symbolic numbers, and in newer versions one more,
 * first. */
static void learn_symbolic(struct tp_torch_search *search, uint32_t bool_tag)
{
    uint32_t int_tag = 0;

    while (int_tag < bool_tag && search->found.value_of_tag[int_tag] != TP_TORCH_INT)
        int_tag++;
    for (uint32_t tag = int_tag + 1; tag < bool_tag; tag++)
        if (bool_tag - tag <= 3)
            search->found.value_of_tag[tag] = TP_TORCH_SYMBOLIC;
}

static void look_at_sum(struct sight *sight)
{
    struct tp_torch_search *search = sight->search;
    uint32_t list = tag_of(sight, 1), yes = tag_of(sight, 2), none = tag_of(sight, 3);

    if (sight->input_count != 4 || tag_of(sight, 0) != search->tag_tensor ||
        list >= TP_TORCH_TAGS || yes >= TP_TORCH_TAGS || none >= TP_TORCH_TAGS ||
        sight->inputs[2 * TP_TORCH_INPUT_BYTES] != 1 || search->found.value_of_tag[list] ||
        search->found.value_of_tag[yes] || search->found.value_of_tag[none] || list == yes ||
        list == none || yes == none)
        return;
    search->found.value_of_tag[yes] = TP_TORCH_BOOL;
    learn_symbolic(search, yes);
    search->tag_list = list;
    search_list(sight, payload_of(sight, 1));
}

static void look_at_clamp(struct sight *sight)
{
    struct tp_torch_search *search = sight->search;
    const double expected[2] = {0.25, 0.75};
    uint32_t tag = tag_of(sight, 1);

    if (sight->input_count != 3 || tag != tag_of(sight, 2) || tag >= TP_TORCH_TAGS ||
        search->found.value_of_tag[tag] ||
        payload_of(sight, 1) != word_at((const void *)&expected[0], 0) ||
        payload_of(sight, 2) != word_at((const void *)&expected[1], 0))
        return;
    search->found.value_of_tag[tag] = TP_TORCH_DOUBLE;
    if (search->tag_list != 0) /* sum went well: int, bool and None are known */
        search->found.has |= TP_TORCH_HAS_SCALARS;
}

static void look_at_cat(struct sight *sight)
{
    struct tp_torch_search *search = sight->search;
    struct sight elements = {.input_count = 2};
    unsigned char object[OBJECT_BYTES], type[8];

    if (search->int_type_class == NULL || sight->input_count != 2 ||
        tag_of(sight, 0) != search->tag_list ||
        !read_at(search, object, payload_of(sight, 0), sizeof object) ||
        !read_at(search, elements.inputs, word_at(object, search->found.list_elements),
                 2 * TP_TORCH_INPUT_BYTES) ||
        !read_at(search, type, word_at(object, search->found.list_type), sizeof type))
        return;
    if (payload_of(&elements, 0) != (uint64_t)(uintptr_t)search->samples[TP_TORCH_SAMPLE_X] ||
        payload_of(&elements, 1) != (uint64_t)(uintptr_t)search->samples[TP_TORCH_SAMPLE_X2] ||
        tag_of(&elements, 0) != search->tag_tensor ||
        word_at(type, 0) == (uint64_t)(uintptr_t)search->int_type_class)
        return;
    search->found.tensor_type_class = (const void *)(uintptr_t)word_at(type, 0);
    search->found.value_of_tag[search->tag_list] = TP_TORCH_LIST;
    search->found.has |= TP_TORCH_HAS_LISTS;
}

static void look_at_complex(struct sight *sight)
{
    struct tp_torch_search *search = sight->search;
    struct choice choice = {.guess = search->guess->complex_value};
    const double expected[2] = {1.0, 2.0};
    uint32_t tag = tag_of(sight, 2);
    unsigned char object[48];

    if (sight->input_count != 3 || tag >= TP_TORCH_TAGS || search->found.value_of_tag[tag] ||
        !read_at(search, object, payload_of(sight, 2), sizeof object))
        return;
    for (size_t at = 8; at + sizeof expected <= sizeof object; at += 8)
        if (memcmp(object + at, expected, sizeof expected) == 0)
            offer(&choice, at);
    search->found.value_of_tag[tag] = TP_TORCH_COMPLEX;
    if (!decided(&choice))
        return;
    search->found.complex_value = choice.place;
    search->found.has |= TP_TORCH_HAS_COMPLEX;
}

/* The number became a tensor that is marked as one: proves where the marks are. */
static void look_at_number(struct sight *sight)
{
    struct tp_torch_search *search = sight->search;

    if (sight->input_count == 2 && tag_of(sight, 1) == search->tag_tensor)
        search->number = payload_of(sight, 1);
    if (search->number != 0 &&
        !read_at(search, search->number_bytes, search->number, sizeof search->number_bytes))
        search->number = 0;
}

/* The name is a text here, and the scope the user's. */
static void look_at_user(struct sight *sight)
{
    struct tp_torch_search *search = sight->search;

    search->scope_proven = search->scope_proven && sight->bytes[search->found.scope] == 7 &&
                           word_at(sight->bytes, search->thread) == tp_torch.functions.thread();
    if (search->scope_proven)
        search->found.has |= TP_TORCH_HAS_SCOPE;
    if (search->name_proven && sight->bytes[search->found.name_kind] == 0 &&
        word_at(sight->bytes, search->found.name) == (uint64_t)(uintptr_t)sight->name)
        search->found.has |= TP_TORCH_HAS_NAME | TP_TORCH_HAS_OVERLOAD;
}

static void copy_inputs(struct sight *sight)
{
    size_t count = word_at(sight->bytes, sight->search->found.inputs + 8u);

    if ((sight->search->found.has & TP_TORCH_HAS_INPUTS) && count <= INPUTS &&
        read_at(sight->search, sight->inputs, word_at(sight->bytes, sight->search->found.inputs),
                count * TP_TORCH_INPUT_BYTES))
        sight->input_count = count;
}

void tp_torch_search_record(struct tp_torch_search *search, const unsigned char *record)
{
    static void (*const looks[TP_TORCH_PROBES])(struct sight *) = {
        [TP_TORCH_PROBE_ADD] = look_at_add,       [TP_TORCH_PROBE_GRAD] = look_at_grad,
        [TP_TORCH_PROBE_SUM] = look_at_sum,       [TP_TORCH_PROBE_CLAMP] = look_at_clamp,
        [TP_TORCH_PROBE_CAT] = look_at_cat,       [TP_TORCH_PROBE_COMPLEX] = look_at_complex,
        [TP_TORCH_PROBE_NUMBER] = look_at_number, [TP_TORCH_PROBE_USER] = look_at_user,
    };
    struct sight sight = {.search = search, .record = record};

    if (search->probe >= TP_TORCH_PROBES || (search->seen & 1u << search->probe))
        return;
    sight.name = tp_torch.functions.name(record);
    if (sight.name == NULL || strcmp(sight.name, probe_names[search->probe]) != 0)
        return;
    search->seen |= 1u << search->probe;
    tp_safecopy_read(&search->copy, sight.bytes, record, sizeof sight.bytes);
    copy_inputs(&sight);
    looks[search->probe](&sight);
}

uint32_t tp_torch_search_differences(const struct tp_torch_search *search)
{
    const struct tp_torch_layout *found = &search->found, *guess = search->guess;
    uint32_t differs = 0;

    if (found->name != guess->name || found->name_kind != guess->name_kind)
        differs |= TP_TORCH_HAS_NAME;
    if (found->schema_overload != guess->schema_overload)
        differs |= TP_TORCH_HAS_OVERLOAD;
    if (found->scope != guess->scope)
        differs |= TP_TORCH_HAS_SCOPE;
    if (found->sequence != guess->sequence)
        differs |= TP_TORCH_HAS_SEQUENCE;
    if (found->forward_thread != guess->forward_thread)
        differs |= TP_TORCH_HAS_FORWARD_THREAD;
    if (found->inputs != guess->inputs)
        differs |= TP_TORCH_HAS_INPUTS;
    if (found->rank != guess->rank || found->sizes != guess->sizes ||
        found->elements != guess->elements)
        differs |= TP_TORCH_HAS_SIZES;
    if (found->strides != guess->strides || found->keys_unstrided != guess->keys_unstrided)
        differs |= TP_TORCH_HAS_STRIDES;
    if (found->dtype != guess->dtype)
        differs |= TP_TORCH_HAS_DTYPES;
    if (found->list_elements != guess->list_elements || found->list_type != guess->list_type)
        differs |= TP_TORCH_HAS_LISTS;
    if (found->complex_value != guess->complex_value)
        differs |= TP_TORCH_HAS_COMPLEX;
    return differs & found->has;
}
