/* SPDX-License-Identifier: MIT */
#ifndef TP_TESTS_CUDA_BATCH_H
#define TP_TESTS_CUDA_BATCH_H

#include <stddef.h>

/* CUDA 12's has one parameter more than that of VERSION 13. */
#if VERSION < 13
#define TAKES_FAILED , size_t *ret_failed
#else
#define TAKES_FAILED
#endif

int cudaMemcpyBatchAsync(void **to, void **from, size_t *sizes, size_t count, void *attributes,
                         size_t *indexes, size_t attribute_count TAKES_FAILED, void *stream);

#endif
