/* SPDX-License-Identifier: MIT */
#ifndef TP_BASE_ERROR_H
#define TP_BASE_ERROR_H

#include <stddef.h>
#include <stdint.h>

/* Results: 0 or a count when it worked; negative when not: -errno of the system, or -TP_E... */
enum tp_error {
    TP_ERROR_FIRST = 4095,
#define TP_ERROR(name, text) TP_##name,
#include "base/errors.def"
#undef TP_ERROR
    TP_ERROR_END
};

/**
 * tp_error_name - the symbol of a result, as "TP_EFULL" or "errno 28"
 * tp_error_text - one short clause for people, without a full stop
 * @error: a negative result (a positive one is taken as its negative)
 *
 * Context: any; constant strings for our codes. For an errno the text of strerror_r in a per-thread
 * buffer: offline only.
 * Return: never NULL.
 */
const char *tp_error_name(int error);
const char *tp_error_text(int error);

#define TP_DIAG_NO_OFFSET UINT64_MAX

/* What went wrong, in detail. Filled at the place that knows, printed by who may print. */
struct tp_diag {
    int code;        /* negative result, 0 = nothing recorded */
    uint64_t offset; /* byte offset in the file, or TP_DIAG_NO_OFFSET */
    uint64_t block;  /* block or line number, or TP_DIAG_NO_OFFSET */
    char file[256];  /* path, cut at its front when too long; "" unknown */
    char text[768];  /* found and expected; "" none */
};

/**
 * tp_diag_fail - note an error and return its code, in one statement
 * @diag:   may be NULL; an earlier note is overwritten
 * @code:   negative result
 * @offset: where in the file, or TP_DIAG_NO_OFFSET
 *
 * Context: any thread, signal-safe (bounded formatting of our own: %s %c %d %u %x %zu %llu %lld
 * %llx %p). Return: @code.
 */
int tp_diag_fail(struct tp_diag *diag, int code, uint64_t offset, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/** tp_diag_at - set the file (and keep the rest); NULL @diag or @file is allowed. Return:
 * diag->code, 0 for NULL. */
int tp_diag_at(struct tp_diag *diag, const char *file);

/**
 * tp_diag_print - "FILE: block N at byte N: TEXT" into a bounded buffer, always terminated
 * Return: bytes written, without the terminator.
 */
size_t tp_diag_print(const struct tp_diag *diag, char *buffer, size_t size);

#endif
