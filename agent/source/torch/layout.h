/* SPDX-License-Identifier: MIT */
#ifndef TP_TORCH_LAYOUT_H
#define TP_TORCH_LAYOUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Where torch keeps what we read, in bytes from the start of the object. A value counts only when
 * its TP_TORCH_HAS_ bit is set in has; the bits are set by calibration, never by a table alone.
 */

enum tp_torch_has {
    TP_TORCH_HAS_NAME = 1 << 0, /* name read in place instead of through name() */
    TP_TORCH_HAS_OVERLOAD = 1 << 1,
    TP_TORCH_HAS_SCOPE = 1 << 2,
    TP_TORCH_HAS_SEQUENCE = 1 << 3,
    TP_TORCH_HAS_FORWARD_THREAD = 1 << 4,
    TP_TORCH_HAS_INPUTS = 1 << 5,  /* the array of inputs, the tag of tensors */
    TP_TORCH_HAS_SIZES = 1 << 6,   /* rank, sizes, element count, the undefined tensor */
    TP_TORCH_HAS_STRIDES = 1 << 7, /* strides and which tensors have none */
    TP_TORCH_HAS_DTYPES = 1 << 8,  /* type number and the names of types */
    TP_TORCH_HAS_SCALARS = 1 << 9, /* tags of int, double, bool, None */
    TP_TORCH_HAS_COMPLEX = 1 << 10,
    TP_TORCH_HAS_LISTS = 1 << 11,
    TP_TORCH_HAS_ALL = (1 << 12) - 1,
};

/* What the tag of an input means to us. Every other tag is TP_TORCH_OTHER. */
enum tp_torch_value {
    TP_TORCH_OTHER,
    TP_TORCH_TENSOR,
    TP_TORCH_INT,
    TP_TORCH_DOUBLE,
    TP_TORCH_BOOL,
    TP_TORCH_COMPLEX,
    TP_TORCH_SYMBOLIC, /* a scalar whose value is not known yet */
    TP_TORCH_LIST,
};

enum {
    TP_TORCH_TAGS = 64, /* tags at or above this are TP_TORCH_OTHER */
    TP_TORCH_MAX_RANK = 64,
    TP_TORCH_INLINE_RANK = 5,  /* more dimensions than this are kept out of line */
    TP_TORCH_INPUT_BYTES = 16, /* one input: payload, then a 32-bit tag */
};

struct tp_torch_layout {
    uint32_t has;            /* enum tp_torch_has */
    bool old_strings;        /* strings of the reference-counted kind: one pointer */
    bool names_scalar_lists; /* this version's profiler says ScalarList */

    /* RecordFunction */
    uint16_t name;            /* pointer to the schema, or a string */
    uint16_t name_kind;       /* byte: 1 schema, 0 string */
    uint16_t scope;           /* byte */
    uint16_t sequence;        /* i64 */
    uint16_t inputs;          /* pointer, then u64 count */
    uint16_t forward_thread;  /* u64 */
    uint16_t schema_overload; /* in the schema: the overload's string; the name's is at 0 */

    /* TensorImpl */
    uint16_t rank;        /* u64 */
    uint16_t sizes;       /* i64[5], or a pointer to i64[rank] sizes and then i64[rank] strides */
    uint16_t strides;     /* i64[5], only inline */
    uint16_t elements;    /* i64 */
    uint16_t dtype;       /* u16; at 2 the device, at 4 four bytes of flags, see TP_TORCH_FLAG_ */
    uint16_t keys;        /* u64, the dispatch key set */
    uint64_t keys_opaque; /* tensors whose sizes are not plain numbers (nested) */
    uint64_t keys_unstrided; /* sparse, mkldnn */

    uint8_t value_of_tag[TP_TORCH_TAGS]; /* enum tp_torch_value */

    /* list object: begin and end pointers of its elements, then the element type */
    uint16_t list_elements;
    uint16_t list_type;
    uint16_t complex_value; /* in the complex number's object: two doubles */

    const void *undefined_tensor;  /* the one undefined TensorImpl */
    const void *opaque_class;      /* class pointer of nested tensors, or NULL */
    const void *tensor_type_class; /* class pointer of the type object "Tensor" */

    /* names of types: entry i at types + i * type_stride, its text's pointer and length inside */
    const unsigned char *types;
    uint16_t type_stride;
    uint16_t type_text;
    uint16_t type_length;
};

/* Bits of the flags, four bytes that start four past the type's number. */
enum {
    TP_TORCH_FLAG_CONTIGUOUS = 1u << 8,
    TP_TORCH_FLAG_WRAPPED_NUMBER = 1u << 15,
    TP_TORCH_FLAG_POLICY = 3u << 18,
    TP_TORCH_POLICY_SIZES = 2u << 18, /* the class answers for the sizes itself */
    TP_TORCH_FLAG_SYMBOLIC = 1u << 20,
    TP_TORCH_FLAG_PYTHON_SIZES = 3u << 27,
};

/**
 * tp_torch_layout_guess - where to look first in a torch of this version
 * @version: the text of torch.__version__, or NULL
 *
 * The guess breaks ties between several places that fit what was looked for; it is never trusted
 * alone.
 *
 * Context: any.
 * Return: a table row, the nearest older one when the version is not listed. Never NULL.
 */
const struct tp_torch_layout *tp_torch_layout_guess(const char *version);

/**
 * tp_torch_layout_field - name of one bit of enum tp_torch_has
 * @index: number of the bit
 *
 * Return: a static text, or NULL when there is no such bit. For messages and the manifest.
 */
const char *tp_torch_layout_field(unsigned index);

#endif
