/* SPDX-License-Identifier: MIT */
#include "fixture.h"

#include <stdlib.h>
#include <string.h>
#include <zlib.h>
#include <zstd.h>

#include "input/decompress.h"

enum { SIZE = 300000 };

struct file {
    unsigned char *bytes;
    size_t size, used;
    size_t step; /* most that one read gives */
};

static ptrdiff_t read_file(void *context, void *buffer, size_t size)
{
    struct file *file = context;
    size_t left = file->size - file->used;

    size = size < left ? size : left;
    size = size < file->step ? size : file->step;
    memcpy(buffer, file->bytes + file->used, size);
    file->used += size;
    return (ptrdiff_t)size;
}

static char *make_text(void)
{
    uint64_t state = 42;
    char *text = malloc(SIZE);

    for (int i = 0; i < SIZE; i++)
        text[i] = (char)('a' + random_next(&state) % (unsigned)(1 + i % 20));
    return text;
}

static struct file gzip(const char *text, size_t size)
{
    struct file file = {.bytes = malloc(size + 1000), .step = SIZE};
    z_stream z = {.next_in = (unsigned char *)(uintptr_t)text, .avail_in = (uInt)size};

    z.next_out = file.bytes;
    z.avail_out = (uInt)size + 1000;
    ck_assert_int_eq(deflateInit2(&z, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY), Z_OK);
    ck_assert_int_eq(deflate(&z, Z_FINISH), Z_STREAM_END);
    file.size = z.total_out;
    deflateEnd(&z);
    return file;
}

static struct file zstd(const char *text, size_t size)
{
    struct file file = {.bytes = malloc(ZSTD_compressBound(size)), .step = SIZE};

    file.size = ZSTD_compress(file.bytes, ZSTD_compressBound(size), text, size, 3);
    return file;
}

static struct file join(struct file a, struct file b)
{
    struct file both = {.bytes = malloc(a.size + b.size), .size = a.size + b.size, .step = a.step};

    memcpy(both.bytes, a.bytes, a.size);
    memcpy(both.bytes + a.size, b.bytes, b.size);
    free(a.bytes);
    free(b.bytes);
    return both;
}

/* Everything there is, and what came at its end. */
static ptrdiff_t read_all(struct file *file, size_t head_size, char *out, size_t *ret_size)
{
    struct tp_decompressor *d;
    ptrdiff_t got;

    file->used = head_size < file->size ? head_size : file->size;
    *ret_size = 0;
    ck_assert_int_eq(tp_decompressor_create(file->bytes, file->used, &d), 0);
    ck_assert_ptr_nonnull(d);
    while ((got = tp_decompressor_read(d, read_file, file, out + *ret_size, 7777)) > 0)
        *ret_size += (size_t)got;
    tp_decompressor_destroy(d);
    return got;
}

START_TEST(files_come_out_as_they_went_in)
{
    char *text = make_text(), *out = malloc(2 * SIZE + 8000);
    struct file files[] = {gzip(text, SIZE),
                           zstd(text, SIZE),
                           gzip(text, 0),
                           join(gzip(text, 1000), gzip(text + 1000, SIZE - 1000)),
                           join(zstd(text, 1000), zstd(text + 1000, SIZE - 1000)),
                           join(gzip(text, SIZE), (struct file){calloc(1, 512), 512, 0, 0})};
    static const size_t sizes[] = {SIZE, SIZE, 0, SIZE, SIZE, SIZE};

    for (size_t i = 0; i < 6; i++) {
        for (size_t head = 18; head < 100000; head = head * 5 + 1) {
            size_t size;
            files[i].step = head;
            ck_assert_int_eq(read_all(&files[i], head, out, &size), 0);
            ck_assert_uint_eq(size, sizes[i]);
            ck_assert_int_eq(memcmp(out, text, size), 0);
        }
        free(files[i].bytes);
    }
    free(text);
    free(out);
}
END_TEST

START_TEST(a_cut_file_gives_what_it_has_then_says_so)
{
    char *text = make_text(), *out = malloc(SIZE + 8000);
    struct file files[] = {gzip(text, SIZE), zstd(text, SIZE)};

    for (int i = 0; i < 2; i++) {
        size_t whole = files[i].size, size;
        for (files[i].size = 18; files[i].size < whole; files[i].size += 4999) {
            ck_assert_int_eq(read_all(&files[i], 18, out, &size), -TP_ETRUNCATED);
            ck_assert_int_eq(memcmp(out, text, size), 0);
            ck_assert(i == 1 || files[i].size < whole / 2 || size > SIZE / 4);
        }
        free(files[i].bytes);
    }
    free(text);
    free(out);
}
END_TEST

START_TEST(no_changed_byte_crashes_it)
{
    char *text = make_text(), *out = malloc(SIZE * 30);
    struct file files[] = {gzip(text, 3000), zstd(text, 3000)};

    for (int i = 0; i < 2; i++) {
        size_t damaged = 0, size;
        for (size_t at = 4; at < files[i].size; at++) {
            files[i].bytes[at] ^= 0x55;
            damaged += read_all(&files[i], 18, out, &size) < 0;
            files[i].bytes[at] ^= 0x55;
        }
        ck_assert_uint_gt(damaged, i ? 10 : files[i].size / 2); /* zstd has no checksum here */
        free(files[i].bytes);
    }
    free(text);
    free(out);
}
END_TEST

START_TEST(plain_files_need_none)
{
    static const char *const heads[] = {
        "", "{", "\x1f\x8b", "\x28\xb5\x2f", "[1]", "\x1f\x8b\x07 x"};
    struct tp_decompressor *d;

    for (size_t i = 0; i < 6; i++) {
        ck_assert_int_eq(tp_decompressor_create(heads[i], strlen(heads[i]), &d), 0);
        ck_assert_ptr_null(d);
    }
    tp_decompressor_destroy(NULL);
}
END_TEST

RUN_TESTS("decompress", files_come_out_as_they_went_in, a_cut_file_gives_what_it_has_then_says_so,
          no_changed_byte_crashes_it, plain_files_need_none)
