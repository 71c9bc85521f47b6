/* SPDX-License-Identifier: MIT */
#include <stdlib.h>

#include "records.h"
#include "trace/block_header.h"
#include "trace/file.h"
#include "trace/wire.h"
#include "unit.h"

#define BLOCKS 6
#define SEGMENT_MAX (1 << 16)

static const uint8_t uuid[16] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16};
static uint8_t segment[SEGMENT_MAX];
static size_t segment_size, body_size; /* with and without index and trailer */
static struct tp_index_entry entries[BLOCKS];
static struct tp_block_decoder *decoder;
static struct tp_diag diag;

static void add_block(struct tp_block_encoder *encoder, struct random *random, unsigned number)
{
    static uint64_t slots[64 * TP_SLOT_WORDS];
    struct tp_block_header header;
    struct tp_block_made made;
    uint32_t count = records_mix(random, slots, 60, records_kinds(TP_ROLE_NONE), RECORDS_RISING);

    struct tp_block_source source = {.track = number,
                                     .uuid_low = tp_wire_load_u32(uuid),
                                     .first_slot = number * 100,
                                     .slots = slots,
                                     .slot_count = count,
                                     .near_ticks = 1000 * number};
    ck_assert_int_eq(tp_block_encode(encoder, &source, &made), 0);
    ck_assert_int_eq(tp_block_header_read(&header, made.bytes, made.size, 0, NULL), 0);
    entries[number] = (struct tp_index_entry){
        segment_size, header.first_slot, header.first_ticks, header.last_ticks,
        header.track, header.slots,      header.lost,        0};
    memcpy(segment + segment_size, made.bytes, made.size);
    segment_size += made.size;
}

static void setup(void)
{
    struct random random = {random_seed("segment")};
    size_t need = tp_block_encoder_size(64);
    void *workspace = aligned_alloc(16, (need + 15) / 16 * 16);
    struct tp_block_encoder *encoder = tp_block_encoder_init(workspace, need, 64);

    decoder = tp_block_decoder_create();
    ck_assert(encoder && decoder);
    tp_file_header_write(segment, TP_FILE_MAGIC, uuid, 3);
    segment_size = TP_FILE_HEADER_BYTES;
    for (unsigned i = 0; i < BLOCKS; i++)
        add_block(encoder, &random, i);
    body_size = segment_size;
    int64_t size = tp_index_write(segment + segment_size, SEGMENT_MAX - segment_size, entries,
                                  BLOCKS, segment_size, tp_wire_load_u32(uuid));
    ck_assert_int_eq(size, (int64_t)tp_index_size(BLOCKS));
    segment_size += (size_t)size;
    free(workspace);
}

static void teardown(void)
{
    tp_block_decoder_destroy(decoder);
}

struct found {
    unsigned blocks, readable, errors;
    struct tp_file_walk walk;
};

/* Walks a copy, so that a sanitizer sees each byte read behind it. Return: what reading the header
 * gave. */
static int walk_copy(const uint8_t *bytes, size_t size, struct found *found)
{
    uint8_t *copy = malloc(size ? size : 1);
    struct tp_file_header header;
    struct tp_block_header block_header;
    struct tp_block block;
    uint64_t at;
    int got;

    memset(found, 0, sizeof(*found));
    memcpy(copy, bytes, size);
    int error = tp_file_header_read(&header, copy, size, TP_FILE_MAGIC, &diag);
    if (!error) {
        tp_file_walk_init(&found->walk, copy, size, &header);
        while ((got = tp_file_walk_next(&found->walk, &block_header, &at, &diag))) {
            if (found->blocks + found->errors > 100)
                ck_abort_msg("the walk does not end");
            found->errors += got < 0;
            found->blocks += got > 0;
            if (got > 0 && block_header.type == TP_BLOCK_EVENTS)
                found->readable +=
                    !tp_block_decode(decoder, copy + at, size - at, at, &block, &diag);
        }
    }
    free(copy);
    return error;
}

START_TEST(file_header_comes_back)
{
    struct tp_file_header header;

    ck_assert_int_eq(tp_file_header_read(&header, segment, 64, TP_FILE_MAGIC, &diag), 0);
    ck_assert_uint_eq(header.major, TP_FORMAT_MAJOR);
    ck_assert_uint_eq(header.minor, TP_FORMAT_MINOR);
    ck_assert_uint_eq(header.header_size, 64);
    ck_assert_uint_eq(header.number, 3);
    ck_assert_mem_eq(header.uuid, uuid, 16);
}
END_TEST

START_TEST(cut_or_flipped_file_header_is_refused)
{
    struct tp_file_header header;
    uint8_t bytes[64];

    for (size_t size = 0; size < 64; size++)
        ck_assert_int_eq(tp_file_header_read(&header, segment, size, TP_FILE_MAGIC, &diag),
                         -TP_ETRUNCATED);
    for (size_t at = 0; at < 64; at++)
        for (unsigned bit = 0; bit < 8; bit++) {
            memcpy(bytes, segment, 64);
            bytes[at] ^= (uint8_t)(1u << bit);
            int error = tp_file_header_read(&header, bytes, 64, TP_FILE_MAGIC, &diag);
            ck_assert_int_eq(error, at < 8 ? -TP_EFOREIGN : -TP_ECORRUPT);
        }
    ck_assert_int_eq(tp_file_header_read(&header, segment, 64, TP_NAMES_MAGIC, &diag),
                     -TP_EFOREIGN);
}
END_TEST

static void reseal(uint8_t *header)
{
    tp_wire_store_u32(header + 60, tp_block_checksum(header, 60));
}

START_TEST(other_major_version_is_refused_by_name)
{
    struct tp_file_header header;

    tp_wire_store_u16(segment + 8, 2);
    tp_wire_store_u16(segment + 10, 7);
    reseal(segment);
    ck_assert_int_eq(tp_file_header_read(&header, segment, 64, TP_FILE_MAGIC, &diag), -TP_EVERSION);
    ck_assert_str_eq(diag.text, "format version 2.7, this reader knows 1.x");
}
END_TEST

START_TEST(later_minor_version_with_a_longer_header_is_read)
{
    static uint8_t longer[SEGMENT_MAX];
    struct found found;

    memcpy(longer, segment, 64);
    memcpy(longer + 72, segment + 64, body_size - 64);
    tp_wire_store_u16(longer + 10, 9);
    tp_wire_store_u16(longer + 12, 72);
    reseal(longer);
    ck_assert_int_eq(walk_copy(longer, body_size + 8, &found), 0);
    ck_assert_uint_eq(found.readable, BLOCKS);
    ck_assert_uint_eq(found.errors, 0);
    ck_assert_int_eq(walk_copy(longer, 70, &found), -TP_ETRUNCATED);
    tp_wire_store_u16(longer + 12, 65);
    reseal(longer);
    ck_assert_int_eq(walk_copy(longer, body_size, &found), -TP_ECORRUPT);
}
END_TEST

START_TEST(walk_finds_every_block_and_ends_at_the_trailer)
{
    struct found found;

    ck_assert_int_eq(walk_copy(segment, segment_size, &found), 0);
    ck_assert_uint_eq(found.blocks, BLOCKS + 1);
    ck_assert_uint_eq(found.readable, BLOCKS);
    ck_assert_uint_eq(found.errors, 0);
    ck_assert_uint_eq(found.walk.damaged, 0);
    ck_assert(!found.walk.torn);
    ck_assert_int_eq(walk_copy(segment, body_size, &found), 0);
    ck_assert_uint_eq(found.blocks, BLOCKS);
    ck_assert_uint_eq(found.errors, 0);
}
END_TEST

START_TEST(segment_cut_anywhere_keeps_its_whole_blocks)
{
    struct found found;

    for (size_t cut = 64; cut <= body_size; cut++) {
        unsigned whole = 0;
        for (unsigned i = 0; i < BLOCKS; i++) {
            struct tp_block_header header;
            uint64_t at = entries[i].offset;
            whole += at < cut && !tp_block_header_read(&header, segment + at, cut - at, at, NULL);
        }
        walk_copy(segment, cut, &found);
        if (found.readable != whole || found.walk.damaged || found.walk.skipped_bytes ||
            found.errors > 1 || found.walk.torn != (found.errors == 1))
            ck_abort_msg("cut at %zu: %u blocks, expected %u", cut, found.readable, whole);
    }
}
END_TEST

START_TEST(cut_in_the_middle_of_a_block_is_torn)
{
    struct found found;

    walk_copy(segment, entries[2].offset + 70, &found);
    ck_assert_uint_eq(found.readable, 2);
    ck_assert(found.walk.torn);
    ck_assert_int_eq(diag.code, -TP_ETRUNCATED);
    ck_assert_uint_eq(diag.offset, entries[2].offset);
    walk_copy(segment, entries[2].offset + 20, &found);
    ck_assert_uint_eq(found.readable, 2);
    ck_assert(found.walk.torn);
    walk_copy(segment, entries[2].offset, &found);
    ck_assert(!found.walk.torn);
}
END_TEST

START_TEST(flipped_byte_anywhere_costs_its_block_only)
{
    struct found found;

    for (size_t at = 64; at < segment_size; at++) {
        uint8_t change = (uint8_t)(1u << at % 8);
        segment[at] ^= change;
        walk_copy(segment, segment_size, &found);
        segment[at] ^= change;
        if (found.readable < BLOCKS - 1)
            ck_abort_msg("byte %zu: %u blocks left", at, found.readable);
    }
}
END_TEST

START_TEST(flipped_block_header_is_told_once_with_its_place)
{
    struct found found;

    segment[entries[3].offset + 30] ^= 1;
    walk_copy(segment, segment_size, &found);
    ck_assert_uint_eq(found.errors, 1);
    ck_assert_uint_eq(found.walk.damaged, 1);
    ck_assert_uint_eq(found.walk.skipped_bytes, entries[4].offset - entries[3].offset);
    ck_assert_int_eq(diag.code, -TP_ECORRUPT);
    ck_assert_uint_eq(diag.offset, entries[3].offset + 60);
}
END_TEST

START_TEST(bytes_between_blocks_are_passed_over)
{
    static uint8_t odd[SEGMENT_MAX];
    struct found found;
    size_t at = entries[1].offset;

    memcpy(odd, segment, at);
    memset(odd + at, 'x', 136);
    memcpy(odd + at + 136, segment + at, segment_size - at);
    walk_copy(odd, segment_size + 136, &found);
    ck_assert_uint_eq(found.readable, BLOCKS);
    ck_assert_uint_eq(found.errors, 1);
    ck_assert_uint_eq(found.walk.skipped_bytes, 136);
    memset(odd + at, 0, 136);
    walk_copy(odd, segment_size + 136, &found);
    ck_assert_uint_eq(found.readable, BLOCKS);
}
END_TEST

START_TEST(damage_up_to_the_end_ends_the_walk)
{
    struct found found;

    memset(segment + entries[4].offset, 0xa5, segment_size - entries[4].offset);
    walk_copy(segment, segment_size, &found);
    ck_assert_uint_eq(found.readable, 4);
    ck_assert_uint_eq(found.errors, 1);
    ck_assert_uint_eq(found.walk.skipped_bytes, segment_size - entries[4].offset);
    ck_assert(!found.walk.torn);
}
END_TEST

START_TEST(block_of_another_process_is_passed_over_whole)
{
    struct found found;
    uint8_t *block = segment + entries[2].offset;

    block[52] ^= 1;
    tp_wire_store_u32(block + 60, tp_block_checksum(block, 60));
    walk_copy(segment, segment_size, &found);
    ck_assert_uint_eq(found.readable, BLOCKS - 1);
    ck_assert_uint_eq(found.errors, 1);
    ck_assert_int_eq(diag.code, -TP_EFOREIGN);
    ck_assert_uint_eq(found.walk.skipped_bytes, entries[3].offset - entries[2].offset);
}
END_TEST

START_TEST(block_inside_a_block_of_another_process_is_no_block)
{
    static uint8_t odd[SEGMENT_MAX];
    struct tp_block_header header = {.type = TP_BLOCK_EVENTS, .uuid_low = 5};
    uint32_t inner = (uint32_t)(entries[1].offset - entries[0].offset);
    struct found found;

    memcpy(odd, segment, 64);
    memcpy(odd + 128, segment + 64, inner);
    header.payload_bytes = inner;
    tp_block_header_write(odd + 64, &header, odd + 128, inner);
    memcpy(odd + 128 + inner, segment + 64, segment_size - 64);
    walk_copy(odd, 64 + inner + segment_size, &found);
    ck_assert_uint_eq(found.readable, BLOCKS);
    ck_assert_uint_eq(found.walk.skipped_bytes, 64 + inner);
}
END_TEST

START_TEST(index_comes_back)
{
    struct tp_file_header header;
    struct tp_index_entry back[BLOCKS + 1];

    ck_assert_int_eq(tp_file_header_read(&header, segment, segment_size, TP_FILE_MAGIC, &diag), 0);
    ck_assert_int_eq(tp_index_read(back, BLOCKS + 1, segment, segment_size, &header, &diag),
                     BLOCKS);
    ck_assert_mem_eq(back, entries, sizeof(entries));
    ck_assert_int_eq(tp_index_read(back, 2, segment, segment_size, &header, &diag), BLOCKS);
    ck_assert_int_eq(tp_index_read(back, 2, segment, body_size, &header, &diag), -TP_ENOTFOUND);
}
END_TEST

START_TEST(damaged_index_is_refused)
{
    struct tp_file_header header;
    struct tp_index_entry back[BLOCKS];

    ck_assert_int_eq(tp_file_header_read(&header, segment, segment_size, TP_FILE_MAGIC, &diag), 0);
    for (size_t at = body_size; at < segment_size; at++)
        for (unsigned bit = 0; bit < 8; bit++) {
            segment[at] ^= (uint8_t)(1u << bit);
            if (tp_index_read(back, BLOCKS, segment, segment_size, &header, &diag) >= 0)
                ck_abort_msg("byte %zu", at);
            segment[at] ^= (uint8_t)(1u << bit);
        }
}
END_TEST

START_TEST(index_of_no_blocks_and_index_without_room)
{
    uint8_t bytes[256];

    ck_assert_int_eq(tp_index_write(bytes, tp_index_size(0), NULL, 0, 64, 1), 80);
    ck_assert_int_eq(tp_index_write(bytes, tp_index_size(2) - 1, entries, 2, 64, 1), -TP_EFULL);
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {
        file_header_comes_back,
        cut_or_flipped_file_header_is_refused,
        other_major_version_is_refused_by_name,
        later_minor_version_with_a_longer_header_is_read,
        walk_finds_every_block_and_ends_at_the_trailer,
        segment_cut_anywhere_keeps_its_whole_blocks,
        cut_in_the_middle_of_a_block_is_torn,
        flipped_byte_anywhere_costs_its_block_only,
        flipped_block_header_is_told_once_with_its_place,
        bytes_between_blocks_are_passed_over,
        damage_up_to_the_end_ends_the_walk,
        block_of_another_process_is_passed_over_whole,
        block_inside_a_block_of_another_process_is_no_block,
        index_comes_back,
        damaged_index_is_refused,
        index_of_no_blocks_and_index_without_room,
    };

    return unit_run("file", setup, teardown, tests, UNIT_COUNT(tests));
}
