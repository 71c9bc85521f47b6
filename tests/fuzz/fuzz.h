/* SPDX-License-Identifier: MIT */
#ifndef TP_TEST_FUZZ_H
#define TP_TEST_FUZZ_H

#include <stddef.h>
#include <stdint.h>

/* libFuzzer's entry, called by it or by replay.c. Return: 0. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#endif
