/* SPDX-License-Identifier: MIT */
#ifndef TPAGENT_H
#define TPAGENT_H

/*
 * tpagent.h: what a program or a framework tells the agent about itself: ranges, counters, marks,
 * memory.
 *
 *     tpagent_begin("step");
 *     tpagent_counter_double("loss", loss);
 *     tpagent_end();
 *
 * This header is all there is to it: nothing to link, nothing to initialise. The agent is looked
 * for at the first call, in the process itself, where `LD_PRELOAD=libtpagent.so program` puts it.
 * Where it is not, each call costs a comparison. With a glibc before 2.34 a program that uses this
 * links with -ldl.
 *
 * Of every call, unless it says otherwise:
 *
 * Context: any thread, inside a signal handler, between fork and exec; takes no lock, allocates
 * nothing, keeps errno. Ownership: texts and arrays are the caller's, and are copied before the
 * call returns; the same text at the same address is cheapest. Texts are UTF-8, terminated; longer
 * than 64 KiB they are cut. NULL is a name that is not known. Errors: none. What finds no room is
 * counted, and the report says how much it was.
 *
 * Works as C99, C11 and C++11, with gcc and clang.
 */

#include <dlfcn.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define TPAGENT_API_VERSION 1

enum tpagent_type {
    TPAGENT_SIGNED = 1,
    TPAGENT_UNSIGNED = 2,
    TPAGENT_DOUBLE = 3,
    TPAGENT_TEXT = 4,
    TPAGENT_SHAPE = 5
};

/** struct tpagent_attribute - a value with a name; made by the functions tpagent_signed() to
 * tpagent_shape() */
struct tpagent_attribute {
    const char *key;
    enum tpagent_type type;
    uint32_t count; /* of a shape: its dimensions */
    union {
        int64_t as_signed;
        uint64_t as_unsigned;
        double as_double;
        const char *as_text;
        const int64_t *as_sizes;
    } value;
};

/* The agent's functions. A newer agent's table is longer; size_bytes says how far it goes. */
struct tpagent_functions {
    size_t size_bytes;
    unsigned version;
    int (*recording)(void);
    void (*begin)(const char *name);
    void (*begin_with)(const char *name, const struct tpagent_attribute *attributes,
                       unsigned count);
    void (*end)(void);
    void (*attribute)(const struct tpagent_attribute *attribute);
    uint64_t (*async_begin)(const char *name);
    void (*async_end)(uint64_t id);
    void (*mark)(const char *name);
    void (*counter)(const char *name, enum tpagent_type type, uint64_t bits);
    void (*memory)(unsigned device_type, unsigned device_index, uint64_t address, int64_t bytes);
};

/* --- inside
 * --------------------------------------------------------------------------------------------- */

#define TPAGENT_NOT_HERE_ ((const struct tpagent_functions *)1)

static inline __attribute__((unused)) const struct tpagent_functions **tpagent_place_(void)
{
    static const struct tpagent_functions *functions;

    return &functions;
}

/* The first call of a translation unit. dlsym is asked through a union: no cast between data and
 * functions in ISO C. */
static __attribute__((unused, noinline, cold)) const struct tpagent_functions *tpagent_find_(void)
{
    union {
        void *data;
        const struct tpagent_functions *(*function)(unsigned version);
    } symbol;
    const struct tpagent_functions *functions;

    symbol.data = dlsym((void *)0, "tpagent_functions"); /* RTLD_DEFAULT, which needs _GNU_SOURCE */
    functions = symbol.data ? symbol.function(TPAGENT_API_VERSION) : NULL;
    if (!functions || functions->size_bytes < sizeof(*functions))
        functions = TPAGENT_NOT_HERE_;
    __atomic_store_n(tpagent_place_(), functions, __ATOMIC_RELEASE);
    return functions;
}

/* NULL where there is no agent. */
static inline __attribute__((unused)) const struct tpagent_functions *tpagent_here_(void)
{
    const struct tpagent_functions *functions = __atomic_load_n(tpagent_place_(), __ATOMIC_ACQUIRE);

    if (__builtin_expect(!functions, 0))
        functions = tpagent_find_();
    return functions == TPAGENT_NOT_HERE_ ? NULL : functions;
}

/* --- asking
 * --------------------------------------------------------------------------------------------- */

/**
 * tpagent_recording - whether somebody records
 *
 * For values that are expensive to compute; the other calls ask themselves.
 * Return: 1, or 0 without an agent or while it does not record.
 */
static inline __attribute__((unused)) int tpagent_recording(void)
{
    const struct tpagent_functions *functions = tpagent_here_();

    return functions ? functions->recording() : 0;
}

/* --- ranges
 * --------------------------------------------------------------------------------------------- */

/**
 * tpagent_begin - a range begins on this thread
 * @name: what it is called in reports
 *
 * Ranges nest: tpagent_end() ends the innermost. They are independent of ranges by NVTX, ITT and
 * PyTorch.
 */
static inline __attribute__((unused)) void tpagent_begin(const char *name)
{
    const struct tpagent_functions *functions = tpagent_here_();

    if (functions)
        functions->begin(name);
}

/** tpagent_begin_with - the same, with @count attributes */
static inline __attribute__((unused)) void
tpagent_begin_with(const char *name, const struct tpagent_attribute *attributes, unsigned count)
{
    const struct tpagent_functions *functions = tpagent_here_();

    if (functions)
        functions->begin_with(name, attributes, count);
}

/** tpagent_end - the innermost range of this thread ends; nothing happens where none is open */
static inline __attribute__((unused)) void tpagent_end(void)
{
    const struct tpagent_functions *functions = tpagent_here_();

    if (functions)
        functions->end();
}

/** tpagent_add - what is known later of the innermost open range of this thread; nothing
 * happens where none is open */
static inline __attribute__((unused)) void tpagent_add(struct tpagent_attribute attribute)
{
    const struct tpagent_functions *functions = tpagent_here_();

    if (functions)
        functions->attribute(&attribute);
}

/**
 * tpagent_async_begin - a range begins that may overlap others and may end on another thread
 * Return: its number for tpagent_async_end(), unique in this process; 0 when nothing was recorded,
 * which may be passed on.
 */
static inline __attribute__((unused)) uint64_t tpagent_async_begin(const char *name)
{
    const struct tpagent_functions *functions = tpagent_here_();

    return functions ? functions->async_begin(name) : 0;
}

/** tpagent_async_end - the range @id ends; 0 is nothing */
static inline __attribute__((unused)) void tpagent_async_end(uint64_t id)
{
    const struct tpagent_functions *functions = tpagent_here_();

    if (functions)
        functions->async_end(id);
}

/* --- attributes
 * ----------------------------------------------------------------------------------------- */

/** tpagent_signed, tpagent_unsigned, tpagent_double, tpagent_text - an attribute @key of that type
 */
static inline __attribute__((unused)) struct tpagent_attribute tpagent_signed(const char *key,
                                                                              int64_t value)
{
    struct tpagent_attribute attribute = {key, TPAGENT_SIGNED, 0, {0}};

    attribute.value.as_signed = value;
    return attribute;
}

static inline __attribute__((unused)) struct tpagent_attribute tpagent_unsigned(const char *key,
                                                                                uint64_t value)
{
    struct tpagent_attribute attribute = {key, TPAGENT_UNSIGNED, 0, {0}};

    attribute.value.as_unsigned = value;
    return attribute;
}

static inline __attribute__((unused)) struct tpagent_attribute tpagent_double(const char *key,
                                                                              double value)
{
    struct tpagent_attribute attribute = {key, TPAGENT_DOUBLE, 0, {0}};

    attribute.value.as_double = value;
    return attribute;
}

static inline __attribute__((unused)) struct tpagent_attribute tpagent_text(const char *key,
                                                                            const char *value)
{
    struct tpagent_attribute attribute = {key, TPAGENT_TEXT, 0, {0}};

    attribute.value.as_text = value;
    return attribute;
}

/** tpagent_shape - @count dimensions of a tensor; more than 64 are cut. @sizes must live until the
 * attribute is passed. */
static inline __attribute__((unused)) struct tpagent_attribute
tpagent_shape(const char *key, const int64_t *sizes, unsigned count)
{
    struct tpagent_attribute attribute = {key, TPAGENT_SHAPE, 0, {0}};

    attribute.count = count;
    attribute.value.as_sizes = sizes;
    return attribute;
}

/* --- instants, counters, memory
 * ------------------------------------------------------------------------- */

/** tpagent_mark - something has happened */
static inline __attribute__((unused)) void tpagent_mark(const char *name)
{
    const struct tpagent_functions *functions = tpagent_here_();

    if (functions)
        functions->mark(name);
}

/** tpagent_counter_signed, _unsigned, _double - the counter @name has a new value from now on */
static inline __attribute__((unused)) void tpagent_counter_signed(const char *name, int64_t value)
{
    const struct tpagent_functions *functions = tpagent_here_();

    if (functions)
        functions->counter(name, TPAGENT_SIGNED, (uint64_t)value);
}

static inline __attribute__((unused)) void tpagent_counter_unsigned(const char *name,
                                                                    uint64_t value)
{
    const struct tpagent_functions *functions = tpagent_here_();

    if (functions)
        functions->counter(name, TPAGENT_UNSIGNED, value);
}

static inline __attribute__((unused)) void tpagent_counter_double(const char *name, double value)
{
    const struct tpagent_functions *functions = tpagent_here_();
    union {
        double value;
        uint64_t bits;
    } both;

    both.value = value;
    if (functions)
        functions->counter(name, TPAGENT_DOUBLE, both.bits);
}

/**
 * tpagent_memory - a framework's allocator gave out or took back memory
 * @device_type: 0 CPU, 1 CUDA, as PyTorch counts them
 * @address:     where it lies; any number that the allocation and its release share
 * @bytes:       how much; negative when it is given back
 */
static inline __attribute__((unused)) void
tpagent_memory(unsigned device_type, unsigned device_index, uint64_t address, int64_t bytes)
{
    const struct tpagent_functions *functions = tpagent_here_();

    if (functions)
        functions->memory(device_type, device_index, address, bytes);
}

#ifdef __cplusplus
}
#endif

#endif
