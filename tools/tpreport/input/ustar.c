/* SPDX-License-Identifier: MIT */
#include "input/ustar.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "trace/file.h"

/* Offset and room of the fields. */
enum {
    NAME = 0,
    NAME_ROOM = 100,
    MODE = 100,
    USER = 108,
    GROUP = 116,
    SIZE = 124,
    TIME = 136,
    SUM = 148,
    TYPE = 156,
    MAGIC = 257,
    PREFIX = 345,
    PREFIX_ROOM = 155
};

static unsigned sum_of(const uint8_t *header)
{
    unsigned sum = 0;

    for (unsigned i = 0; i < TP_USTAR_BLOCK; i++)
        sum += i >= SUM && i < SUM + 8 ? ' ' : header[i];
    return sum;
}

static void put_octal(uint8_t *field, unsigned digits, uint64_t value)
{
    field[digits] = '\0';
    while (digits--) {
        field[digits] = (uint8_t)('0' + (value & 7));
        value >>= 3;
    }
}

/* Digits with blanks or a NUL around them; no more than 12 in any field. */
static bool get_octal(const uint8_t *field, unsigned room, uint64_t *ret_value)
{
    uint64_t value = 0;
    unsigned i = 0;

    while (i < room && field[i] == ' ')
        i++;
    unsigned first = i;
    for (; i < room && field[i] >= '0' && field[i] <= '7'; i++)
        value = value << 3 | (uint64_t)(field[i] - '0');
    *ret_value = value;
    return i > first && (i == room || !field[i] || field[i] == ' ');
}

/* The rightmost '/' that leaves both parts in their rooms. */
static const char *split(const char *name, size_t length)
{
    for (size_t at = length; at-- > 0;)
        if (name[at] == '/' && at <= PREFIX_ROOM && length - at - 1 <= NAME_ROOM)
            return name + at;
    return NULL;
}

int tp_ustar_write(uint8_t header[TP_USTAR_BLOCK], const char *name, uint64_t size, int64_t time_s)
{
    size_t length = strlen(name);
    const char *slash = length <= NAME_ROOM ? NULL : split(name, length);

    if (length > NAME_ROOM && !slash)
        return -ENAMETOOLONG;
    if (size >> 33)
        return -TP_ELIMIT;
    memset(header, 0, TP_USTAR_BLOCK);
    if (slash)
        memcpy(header + PREFIX, name, (size_t)(slash - name));
    const char *last = slash ? slash + 1 : name;
    memcpy(header + NAME, last, strlen(last));
    put_octal(header + MODE, 7, 0600);
    put_octal(header + USER, 7, 0);
    put_octal(header + GROUP, 7, 0);
    put_octal(header + SIZE, 11, size);
    put_octal(header + TIME, 11, time_s > 0 ? (uint64_t)time_s : 0);
    header[TYPE] = '0';
    memcpy(header + MAGIC, "ustar\00000", 8);
    put_octal(header + SUM, 6, sum_of(header));
    header[SUM + 7] = ' ';
    return 0;
}

int tp_ustar_read(const uint8_t header[TP_USTAR_BLOCK], struct tp_ustar_member *ret_member)
{
    uint64_t sum, size;
    bool zeros = true;

    for (unsigned i = 0; i < TP_USTAR_BLOCK && zeros; i++)
        zeros = !header[i];
    if (zeros)
        return 0;
    if (memcmp(header + MAGIC, "ustar", 5) || !get_octal(header + SUM, 8, &sum) ||
        sum != sum_of(header) || !get_octal(header + SIZE, 12, &size))
        return -TP_ECORRUPT;
    int prefix = (int)strnlen((const char *)header + PREFIX, PREFIX_ROOM);
    int name = (int)strnlen((const char *)header + NAME, NAME_ROOM);
    snprintf(ret_member->name, sizeof(ret_member->name), "%.*s%s%.*s", prefix,
             (const char *)header + PREFIX, prefix ? "/" : "", name, (const char *)header + NAME);
    ret_member->size = size;
    ret_member->is_file = header[TYPE] == '0' || !header[TYPE];
    return 1;
}

bool tp_ustar_is_ours(const char *name)
{
    const char *slash = strrchr(name, '/'), *last = slash ? slash + 1 : name;
    size_t digits = strspn(last, "0123456789");

    if (digits && digits < 12)
        return !strcmp(last + digits, ".tpt") || !strcmp(last + digits, ".tpr");
    return !strcmp(last, "meta.jsonl") || !strcmp(last, "names.tpn") ||
           !strcmp(last, "summary.tps") || !strcmp(last, "run.json") ||
           !strcmp(last, TP_FILTERED_NAME) || !strcmp(last, TP_UNRECORDED_NAME);
}
