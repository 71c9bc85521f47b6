/* SPDX-License-Identifier: MIT */
#include "source/torch/internal.h"

#include <math.h>
#include <string.h>

#include "base/text.h"

/* The words for kinds of inputs are those of torch.profiler's traces, so that both read alike. */

static void put_numbers(struct tp_text *text, const int64_t *numbers, size_t count)
{
    tp_text_char(text, '[');
    for (size_t i = 0; i < count; i++) {
        if (i != 0)
            tp_text_char(text, ',');
        tp_text_i64(text, numbers[i]);
    }
    tp_text_char(text, ']');
}

/* A list with an undefined tensor in it is shown as unknown. */
static bool all_readable(const struct tp_torch_layout *layout, const unsigned char *elements,
                         size_t count)
{
    struct tp_torch_tensor tensor;

    for (size_t i = 0; i < count; i++)
        if (!tp_torch_tensor_read(layout, tp_torch_pointer(elements, i * TP_TORCH_INPUT_BYTES),
                                  &tensor))
            return false;
    return true;
}

static enum tp_torch_list list_kind(const struct tp_torch_layout *layout,
                                    const unsigned char *input, const unsigned char **ret_elements,
                                    size_t *ret_count)
{
    enum tp_torch_list kind =
        tp_torch_list_read(layout, tp_torch_pointer(input, 0), ret_elements, ret_count);

    if (kind == TP_TORCH_LIST_TENSORS && !all_readable(layout, *ret_elements, *ret_count))
        return TP_TORCH_LIST_OTHER;
    return kind;
}

static void put_tensor(const struct tp_torch_layout *layout, struct tp_text *text, bool strides,
                       const unsigned char *impl)
{
    struct tp_torch_tensor tensor;

    if (!tp_torch_tensor_read(layout, impl, &tensor) || (strides && tensor.strides == NULL))
        tp_text_string(text, "[]");
    else
        put_numbers(text, strides ? tensor.strides : tensor.sizes, tensor.rank);
}

static void put_dims(const struct tp_torch_layout *layout, struct tp_text *text, bool strides,
                     const unsigned char *input)
{
    enum tp_torch_value value = tp_torch_value_of(layout, input);
    const unsigned char *elements = NULL;
    size_t count = 0;

    if (value == TP_TORCH_TENSOR) {
        put_tensor(layout, text, strides, tp_torch_pointer(input, 0));
        return;
    }
    tp_text_char(text, '[');
    if (value == TP_TORCH_LIST &&
        list_kind(layout, input, &elements, &count) == TP_TORCH_LIST_TENSORS) {
        for (size_t i = 0; i < count; i++) {
            if (i != 0)
                tp_text_char(text, ',');
            put_tensor(layout, text, strides, tp_torch_pointer(elements, i * TP_TORCH_INPUT_BYTES));
        }
    }
    tp_text_char(text, ']');
}

static void put_type(const struct tp_torch_layout *layout, struct tp_text *text,
                     const unsigned char *input)
{
    enum tp_torch_value value = tp_torch_value_of(layout, input);
    const char *name = "";
    const unsigned char *elements, *entry;
    struct tp_torch_tensor tensor;
    size_t count;

    if (value == TP_TORCH_TENSOR) {
        if (tp_torch_tensor_read(layout, tp_torch_pointer(input, 0), &tensor)) {
            entry = layout->types + (size_t)tensor.dtype * layout->type_stride;
            tp_text_json(text, tp_torch_pointer(entry, layout->type_text),
                         tp_torch_word(entry, layout->type_length));
            return;
        }
    } else if (value == TP_TORCH_LIST) {
        enum tp_torch_list kind = list_kind(layout, input, &elements, &count);
        if (kind == TP_TORCH_LIST_TENSORS)
            name = "TensorList";
        else if (kind == TP_TORCH_LIST_SCALARS && layout->names_scalar_lists)
            name = "ScalarList";
    } else if (value != TP_TORCH_OTHER) {
        name = "Scalar";
    }
    tp_text_json(text, name, strlen(name));
}

size_t tp_torch_describe_shapes(const struct tp_torch_layout *layout, bool strides,
                                const unsigned char *inputs, size_t count, char *buffer,
                                size_t size)
{
    struct tp_text text;

    tp_text_init(&text, buffer, size);
    tp_text_string(&text, "[[");
    for (size_t i = 0; i < count; i++) {
        if (i != 0)
            tp_text_char(&text, ',');
        put_dims(layout, &text, false, inputs + i * TP_TORCH_INPUT_BYTES);
    }
    tp_text_string(&text, "],");
    if (layout->has & TP_TORCH_HAS_DTYPES) {
        for (size_t i = 0; i < count; i++) {
            tp_text_char(&text, i != 0 ? ',' : '[');
            put_type(layout, &text, inputs + i * TP_TORCH_INPUT_BYTES);
        }
        tp_text_char(&text, ']');
    } else {
        tp_text_string(&text, "null");
    }
    for (size_t i = 0; strides && i < count; i++) {
        tp_text_string(&text, i != 0 ? "," : ",[");
        put_dims(layout, &text, true, inputs + i * TP_TORCH_INPUT_BYTES);
    }
    tp_text_string(&text, strides ? "]]" : "]");
    return text.cut ? 0 : text.used;
}

/* Whole numbers that fit 64 bits end in a point, and 0 has no sign: as torch prints its values. */
static void put_double(struct tp_text *text, double value)
{
    char buffer[32];

    if (fabs(value) < 0x1p63 && value == (double)(int64_t)value) {
        tp_text_i64(text, (int64_t)value);
        tp_text_char(text, '.');
        return;
    }
    tp_text_bytes(text, buffer, tp_torch_decimal(value, buffer));
}

static void put_complex(struct tp_text *text, const unsigned char *value)
{
    double parts[2];

    memcpy(parts, value, sizeof parts);
    put_double(text, parts[0]);
    tp_text_char(text, parts[1] >= 0 ? '+' : '-');
    put_double(text, fabs(parts[1]));
    tp_text_char(text, 'j');
}

/* False for a value that has no text. */
static bool put_scalar(const struct tp_torch_layout *layout, struct tp_text *text,
                       const unsigned char *input)
{
    double number;

    switch (tp_torch_value_of(layout, input)) {
    case TP_TORCH_INT:
        tp_text_i64(text, (int64_t)tp_torch_word(input, 0));
        return true;
    case TP_TORCH_DOUBLE:
        memcpy(&number, input, sizeof number);
        put_double(text, number);
        return true;
    case TP_TORCH_BOOL:
        tp_text_string(text, input[0] ? "True" : "False");
        return true;
    case TP_TORCH_COMPLEX:
        if (!(layout->has & TP_TORCH_HAS_COMPLEX))
            return false;
        put_complex(text, tp_torch_pointer(input, 0) + layout->complex_value);
        return true;
    default:
        return false;
    }
}

static void put_value(const struct tp_torch_layout *layout, struct tp_text *text,
                      const unsigned char *input)
{
    const unsigned char *elements;
    size_t count;

    if (tp_torch_value_of(layout, input) != TP_TORCH_LIST) {
        put_scalar(layout, text, input);
        return;
    }
    if (tp_torch_list_read(layout, tp_torch_pointer(input, 0), &elements, &count) !=
        TP_TORCH_LIST_SCALARS)
        return;
    tp_text_char(text, '[');
    for (size_t i = 0; i < count; i++) {
        if (i != 0)
            tp_text_string(text, ", ");
        if (!put_scalar(layout, text, elements + i * TP_TORCH_INPUT_BYTES))
            tp_text_char(text, '?');
    }
    tp_text_char(text, ']');
}

/* No value has a quote, a backslash or a control character: it is its own JSON. */
size_t tp_torch_describe_inputs(const struct tp_torch_layout *layout, const unsigned char *inputs,
                                size_t count, char *buffer, size_t size)
{
    struct tp_text text;

    tp_text_init(&text, buffer, size);
    for (size_t i = 0; i < count; i++) {
        tp_text_string(&text, i != 0 ? ",\"" : "[\"");
        put_value(layout, &text, inputs + i * TP_TORCH_INPUT_BYTES);
        tp_text_char(&text, '"');
    }
    tp_text_char(&text, ']');
    return text.cut ? 0 : text.used;
}
