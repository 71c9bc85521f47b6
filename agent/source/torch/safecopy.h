/* SPDX-License-Identifier: MIT */
#ifndef TP_TORCH_SAFECOPY_H
#define TP_TORCH_SAFECOPY_H

#include <stddef.h>

/*
 * Copies from addresses that may be wrong. Calibration follows words that only look like pointers;
 * the kernel does the reading for us and answers with an error where a plain load would end the
 * program.
 */

struct tp_safecopy {
    int by_kernel; /* 1 process_vm_readv works, 0 use the pipe */
    int pipe[2];   /* -1 until the first use of the pipe */
};

/**
 * tp_safecopy_init - choose the way of reading
 * @copy: the caller's storage
 *
 * Context: start, or any thread outside a hook.
 */
void tp_safecopy_init(struct tp_safecopy *copy);

/** tp_safecopy_fini - close what tp_safecopy_read opened; keeps errno */
void tp_safecopy_fini(struct tp_safecopy *copy);

/**
 * tp_safecopy_read - copy bytes that may not be there
 * @to:   at least @size bytes
 * @from: any number at all
 *
 * Context: one thread at a time per @copy; makes system calls; keeps errno.
 * Return: how many bytes from the start of @from were copied, 0 to @size.
 */
size_t tp_safecopy_read(struct tp_safecopy *copy, void *to, const void *from, size_t size);

#endif
