/* SPDX-License-Identifier: MIT
 * Headers of tar archives (POSIX ustar), as far as a packed recording needs them. */
#ifndef TP_INPUT_USTAR_H
#define TP_INPUT_USTAR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { TP_USTAR_BLOCK = 512, TP_USTAR_NAME_MAX = 256 };

/** tp_ustar_write - of a regular file, mode 0600. Return: 0, -ENAMETOOLONG or -TP_ELIMIT (size). */
int tp_ustar_write(uint8_t header[TP_USTAR_BLOCK], const char *name, uint64_t size, int64_t time_s);

struct tp_ustar_member {
    char name[TP_USTAR_NAME_MAX + 2];
    uint64_t size;
    bool is_file;
};

/** tp_ustar_read - Return: 1 with a member, 0 at the archive's end (zeros), -TP_ECORRUPT. */
int tp_ustar_read(const uint8_t header[TP_USTAR_BLOCK], struct tp_ustar_member *ret_member);

/** tp_ustar_is_ours - is the last part of a path the name of a file that recordings have? */
bool tp_ustar_is_ours(const char *name);

#endif
