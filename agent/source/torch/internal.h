/* SPDX-License-Identifier: MIT */
#ifndef TP_TORCH_INTERNAL_H
#define TP_TORCH_INTERNAL_H

/* What the files of this source share. Grouped by the file that defines it. */

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "source/torch/layout.h"
#include "source/torch/torch.h"

#define TP_LIKELY(x) __builtin_expect(!!(x), 1)
#define TP_UNLIKELY(x) __builtin_expect(!!(x), 0)

/* ---- torch.c ---- */

/* Passed by value to torch; the order and sizes are torch's. */
struct tp_torch_callback {
    void *(*start)(void **ret_context, const unsigned char *record);
    void (*end)(const unsigned char *record, void *context);
    double probability;
    uint8_t scopes[10];
    uint8_t needs_inputs;
    uint8_t needs_outputs;
    uint8_t needs_ids;
};

_Static_assert(sizeof(struct tp_torch_callback) == 40, "torch takes 40 bytes on the stack");

/* Functions of the mapped torch. The optional ones may be NULL. */
struct tp_torch_functions {
    uint64_t (*add_global)(struct tp_torch_callback callback);
    const char *(*name)(const void *record);
    uint64_t (*thread)(void);
    uint64_t (*add_local)(struct tp_torch_callback callback); /* optional from here on */
    void (*remove)(uint64_t handle);
    const char *(*overload)(const void *record);
    uint64_t (*sequence)(void);
    const void *(*types)(void);
    const void *undefined_tensor;
    const void *nested_class;
};

enum tp_torch_calibration {
    TP_TORCH_WANTED, /* torch is registered, calibration has not run */
    TP_TORCH_ASKED,  /* a pending call is on its way */
    TP_TORCH_RUNNING,
    TP_TORCH_DONE, /* found holds */
    TP_TORCH_GIVEN_UP,
    TP_TORCH_NOT_YET, /* no torch */
};

/* How begin of an operator reads it. */
enum tp_torch_how {
    TP_TORCH_NOT,    /* nothing is recorded */
    TP_TORCH_EARLY,  /* not calibrated: the name alone */
    TP_TORCH_PARTLY, /* what was found, each field asked for */
    TP_TORCH_WHOLLY, /* everything that is wanted was found */
};

struct tp_torch {
    /* read at every operator */
    _Alignas(
        64) _Atomic uint8_t how; /* enum tp_torch_how; from PARTLY on found never changes again */
    uint8_t shapes; /* enum tp_torch_shapes, OFF also where the inputs cannot be read */
    uint8_t flags;  /* of every operator: TP_OP_NO_DETAILS when a wanted field was not found */
    struct tp_torch_layout found;

    struct tp_torch_options options;
    _Atomic int state;       /* enum tp_torch_state */
    _Atomic int calibration; /* enum tp_torch_calibration */
    struct tp_torch_functions functions;
    bool audited; /* the interpreter tells of imports */
    char version[32];
    uint32_t wanted; /* enum tp_torch_has, for these options */
    uint32_t differs;
    _Atomic uint32_t attempts;
    const char *_Atomic reason;
    _Atomic uint64_t without_details;
    _Atomic uint64_t ended_elsewhere;
    _Atomic uint64_t too_deep;
};

extern struct tp_torch tp_torch;

/**
 * tp_torch_notice - if libtorch_cpu is mapped and not yet observed, register with it
 *
 * Context: start, the audit hook, or a thread of ours; takes the loader's locks.
 */
void tp_torch_notice(void);

/* ---- audit.c ---- */

/** tp_torch_audit_install - ask CPython, not yet started, to tell us about imports. False: no
 * CPython here. */
bool tp_torch_audit_install(void);

/** tp_torch_audit_listed - whether the kernel lists a mapping of libtorch_cpu. Context: drain. */
bool tp_torch_audit_listed(void);

/* ---- calibrate.c ---- */

/**
 * tp_torch_calibrate_ask - have calibration run on the interpreter's main thread, soon
 *
 * Context: hook, drain, audit hook. Needs no interpreter lock; does nothing unless calibration is
 * wanted.
 */
void tp_torch_calibrate_ask(void);

/**
 * tp_torch_calibrate_help - calibrate without the main thread when it does not come to it
 *
 * A main thread that waits in C for others runs no pending call. After some polls a short-lived
 * thread of ours takes the interpreter lock instead.
 *
 * Context: drain, once a poll.
 */
void tp_torch_calibrate_help(void);

/* ---- observe.c ---- */

void *tp_torch_observe_begin(void **ret_context, const unsigned char *record) __attribute__((hot));
void tp_torch_observe_end(const unsigned char *record, void *context) __attribute__((hot));

/* ---- thread.c ---- */

enum {
    TP_TORCH_DEPTH = 256, /* deeper operators are not recorded */
    TP_TORCH_NAME_ENTRIES = 256,
    TP_TORCH_INPUT_ENTRIES = 1024,
    TP_TORCH_TEXT_BYTES = 48 * 1024,
    TP_TORCH_INPUTS = 4096, /* more are not described */
};

struct tp_torch_input_entry {
    uint64_t hash; /* of all that the texts are made from; 0 empty */
    uint32_t shapes;
    uint32_t inputs;
};

struct tp_torch_name_entry {
    uint64_t key; /* address of the schema, or hash of the text; 0 empty */
    uint32_t id;
    uint16_t name_length;
    uint16_t overload_length;
    struct tp_torch_input_entry last; /* inputs of the last operator of this name */
    char text[96];                    /* name, NUL, overload */
};

/* One thread's caches, and its open operators. */
struct tp_torch_thread {
    _Atomic uint32_t owner; /* thread id of the system, 0 free */
    uint32_t number;        /* torch's number of the thread */
    uint32_t depth;         /* operators open and recorded */
    int32_t until_ask;      /* operators until calibration is asked for again; below 0 it is due */
    int32_t ask_interval;
    uint32_t inside; /* before calibration: depth from the outermost open operator on, which is no
                        range of the user's; 0 none */
    bool early;      /* had operators before calibration */
    bool quiet;      /* the operators of this moment are our own */
    bool used;       /* was somebody's, some time */
    const void
        *open[TP_TORCH_DEPTH]; /* records of the open operators; the first share the line above */
    _Alignas(64) struct tp_torch_name_entry names[TP_TORCH_NAME_ENTRIES];
    struct tp_torch_input_entry inputs[TP_TORCH_INPUT_ENTRIES];
    char text[TP_TORCH_TEXT_BYTES];
};

extern _Thread_local struct tp_torch_thread *tp_torch_self
    __attribute__((tls_model("initial-exec")));

/** tp_torch_thread_init - reserve the memory for all threads. Return: 0 or -ENOMEM. Context: start.
 */
int tp_torch_thread_init(void);

/** tp_torch_thread_claim - the calling thread's caches; NULL when all are taken. Context: hook. */
struct tp_torch_thread *tp_torch_thread_claim(void);

/** tp_torch_thread_forget - empty all caches and free those of other threads. Context: fork child.
 */
void tp_torch_thread_forget(void);

/* ---- names.c ---- */

struct tp_torch_name {
    const void *key; /* stable address, or NULL for a text that moves */
    const char *name;
    const char *overload; /* not NULL */
    size_t name_length;
    size_t overload_length;
};

/** tp_torch_name_look - id of any name; slower than the look of fast.h. @self may be NULL. Context:
 * hook. */
uint32_t tp_torch_name_look(struct tp_torch_thread *self, const struct tp_torch_name *name);

/* ---- inputs.c ---- */

/**
 * tp_torch_inputs_look - the ids of the texts that describe an operator's inputs, made at first
 * sight
 * @inputs: @count inputs of TP_TORCH_INPUT_BYTES each, @hash their tp_torch_inputs_hash()
 *
 * Context: hook. The layout has TP_TORCH_HAS_INPUTS and TP_TORCH_HAS_SIZES.
 * Return: false when a text did not fit; *ret_entry is then empty.
 */
bool tp_torch_inputs_look(struct tp_torch_thread *self, uint64_t hash, const unsigned char *inputs,
                          size_t count, struct tp_torch_input_entry *ret_entry);

/** tp_torch_inputs_mix_list - go on with the hash @hash by what is shown of a list */
uint64_t tp_torch_inputs_mix_list(const struct tp_torch_layout *layout, bool all, uint64_t hash,
                                  const unsigned char *list);

/** tp_torch_inputs_mix_scalar - the same with a scalar's value */
uint64_t tp_torch_inputs_mix_scalar(const struct tp_torch_layout *layout, uint64_t hash,
                                    enum tp_torch_value value, const unsigned char *input);

/* A tensor as its profiler sees it: sizes, then strides when it has any. */
struct tp_torch_tensor {
    const int64_t *sizes;
    const int64_t *strides; /* NULL: none */
    uint32_t rank;
    uint16_t dtype;
};

/** tp_torch_tensor_read - false for a tensor without plain sizes: undefined, nested, symbolic */
bool tp_torch_tensor_read(const struct tp_torch_layout *layout, const unsigned char *impl,
                          struct tp_torch_tensor *ret_tensor);

enum tp_torch_list {
    TP_TORCH_LIST_OTHER,
    TP_TORCH_LIST_TENSORS,
    TP_TORCH_LIST_SCALARS,
};

/** tp_torch_list_read - elements of a list and what its profiler calls it */
enum tp_torch_list tp_torch_list_read(const struct tp_torch_layout *layout,
                                      const unsigned char *list, const unsigned char **ret_elements,
                                      size_t *ret_count);

static inline uint64_t tp_torch_word(const unsigned char *object, size_t offset)
{
    uint64_t word;

    __builtin_memcpy(&word, object + offset, sizeof word);
    return word;
}

static inline const unsigned char *tp_torch_pointer(const unsigned char *object, size_t offset)
{
    return (const unsigned char *)(uintptr_t)tp_torch_word(object, offset);
}

static inline enum tp_torch_value tp_torch_value_of(const struct tp_torch_layout *layout,
                                                    const unsigned char *input)
{
    uint32_t tag = *(const uint32_t *)(const void *)(input + 8);

    return tag < TP_TORCH_TAGS ? (enum tp_torch_value)layout->value_of_tag[tag] : TP_TORCH_OTHER;
}

/* ---- describe.c ---- */

/**
 * tp_torch_describe_shapes - [dims,types] or, with @strides, [dims,types,strides]
 * tp_torch_describe_inputs - the concrete inputs, a list of strings
 *
 * Context: hook; no allocation, no locale.
 * Return: bytes of text in @buffer, 0 when it did not fit.
 */
size_t tp_torch_describe_shapes(const struct tp_torch_layout *layout, bool strides,
                                const unsigned char *inputs, size_t count, char *buffer,
                                size_t size);
size_t tp_torch_describe_inputs(const struct tp_torch_layout *layout, const unsigned char *inputs,
                                size_t count, char *buffer, size_t size);

/* ---- decimal.c ---- */

/** tp_torch_decimal - @value as printf's %.17g in the C locale; @buffer of at least 32 bytes.
 * Return: length. */
size_t tp_torch_decimal(double value, char *buffer);

#endif
