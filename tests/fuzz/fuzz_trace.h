/* SPDX-License-Identifier: MIT */
#ifndef TESTS_FUZZ_FUZZ_TRACE_H
#define TESTS_FUZZ_FUZZ_TRACE_H

/*
 * What the fuzz targets of the trace format share. A checksum stops a fuzzer at the door, so the
 * targets put good ones into their input first: what is tested is what a hostile writer could make.
 */

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "fuzz.h"

#define FUZZ_CHECK(condition)                                                                      \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #condition);                \
            abort();                                                                               \
        }                                                                                          \
    } while (0)

/* Puts good checksums into a file's header at @bytes. */
void fuzz_seal_file(uint8_t *bytes, size_t size);

/* Puts good checksums into the block at @bytes, if @size holds it. */
void fuzz_seal_block(uint8_t *bytes, size_t size);

/* Records must be whole and known. Returns how many. */
uint32_t fuzz_check_records(const uint64_t *slots, uint32_t slot_count);

struct tp_block;

/* Encodes what was decoded, and decodes that: it must be the same. @block is of another decoder. */
void fuzz_check_round_trip(const struct tp_block *block);

/* Encodes records of a small ring, brief ones too, and decodes that: they are the same, or whole.
 * Other bits than those of fields are zero. */
void fuzz_check_ring_records(const uint64_t *slots, uint32_t slot_count);

#endif
