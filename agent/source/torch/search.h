/* SPDX-License-Identifier: MIT */
#ifndef TP_TORCH_SEARCH_H
#define TP_TORCH_SEARCH_H

#include "source/torch/internal.h"
#include "source/torch/safecopy.h"

/*
 * Finding torch's fields by what they hold. probe.c runs operators whose name, inputs and tensors
 * are known; here the memory of the record and of the tensors is searched for those values. A field
 * is found when exactly one place fits, or when the guess is among those that fit.
 */

/* Operators that probe.c runs, each with the record looked at while it runs. */
enum tp_torch_probe {
    TP_TORCH_PROBE_ADD,     /* add(x, y, alpha=3), no gradients */
    TP_TORCH_PROBE_GRAD,    /* the same, gradients on */
    TP_TORCH_PROBE_SUM,     /* sum(x, [0, 2], keepdim=True) */
    TP_TORCH_PROBE_CLAMP,   /* clamp(x, 0.25, 0.75) */
    TP_TORCH_PROBE_CAT,     /* cat([x, x2]) */
    TP_TORCH_PROBE_COMPLEX, /* add(c, c, alpha=1+2j) */
    TP_TORCH_PROBE_NUMBER,  /* mul(x, 2.5): the number becomes a tensor */
    TP_TORCH_PROBE_USER,    /* a range of the user's kind, named TP_TORCH_PROBE_NAME */
    TP_TORCH_PROBES,
};

enum {
    TP_TORCH_TENSOR_BYTES = 320, /* how far into a TensorImpl we look */
};

#define TP_TORCH_PROBE_NAME "calibration of the profiler"

/* Tensors that probe.c makes; the address is the TensorImpl's. */
enum tp_torch_sample {
    TP_TORCH_SAMPLE_X,       /* float32 (3,5,7) */
    TP_TORCH_SAMPLE_Y,       /* float64 (3,5,7) */
    TP_TORCH_SAMPLE_X2,      /* float32 (3,5,7) */
    TP_TORCH_SAMPLE_TURNED,  /* x transposed: (7,5,3), strides (1,7,35) */
    TP_TORCH_SAMPLE_LONG,    /* float32 (2,1,3,1,2,5): sizes out of line */
    TP_TORCH_SAMPLE_COMPLEX, /* complex64 (3,5,7) */
    TP_TORCH_SAMPLE_SPARSE,  /* sparse, empty */
    TP_TORCH_SAMPLES,
};

struct tp_torch_search {
    struct tp_safecopy copy;
    const struct tp_torch_layout *guess;
    struct tp_torch_layout found;                   /* has: what is proven so far */
    const unsigned char *samples[TP_TORCH_SAMPLES]; /* NULL: could not be made */
    uint64_t sample_keys; /* dispatch keys of x as Python tells, 0 unknown */
    uint64_t keys_nested; /* as Python tells, 0 unknown */
    uint64_t keys_sparse;
    bool inference_mode;
    enum tp_torch_probe probe; /* running now */
    uint32_t seen;             /* bit per probe: its record was looked at */
    bool scope_proven, name_proven;
    uint16_t thread; /* of RecordFunction: u64 thread number, before the scope */
    uint32_t tag_tensor, tag_list;
    const void *int_type_class;
    uint64_t number; /* address of the number that became a tensor, 0 unknown; its bytes then: */
    unsigned char number_bytes[TP_TORCH_TENSOR_BYTES];
};

/**
 * tp_torch_search_record - look at the record of the running probe
 * @record: as torch passes it to a start callback; valid during the call
 *
 * Records of other operators than the probe's are told by their name and left alone.
 *
 * Context: torch's start callback on the calibrating thread.
 */
void tp_torch_search_record(struct tp_torch_search *search, const unsigned char *record);

/** tp_torch_search_tensors - find the fields of TensorImpl in the samples */
void tp_torch_search_tensors(struct tp_torch_search *search);

/** tp_torch_search_differences - fields found elsewhere than guessed, enum tp_torch_has */
uint32_t tp_torch_search_differences(const struct tp_torch_search *search);

#endif
