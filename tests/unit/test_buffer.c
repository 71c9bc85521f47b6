/* SPDX-License-Identifier: MIT */
#include "fixture.h"

#include <string.h>

#include "model/buffer.h"

static void expect(uint64_t count, const char *text, const char *expected)
{
    struct tp_buffer buffer = {0};

    tp_buffer_count(&buffer, count, text);
    tp_buffer_char(&buffer, '\0');
    ck_assert_str_eq(buffer.bytes, expected);
    tp_buffer_fini(&buffer);
}

START_TEST(one_is_singular)
{
    expect(1, "record{|s} lost: {it|they} found no room", "1 record lost: it found no room");
    expect(0, "record{|s} lost: {it|they} found no room", "0 records lost: they found no room");
    expect(2, "cop{y|ies}", "2 copies");
    expect(1, "cop{y|ies}", "1 copy");
    expect(1, "call{|s} belong{s|} to", "1 call belongs to");
    expect(UINT64_MAX, "call{|s} belong{s|} to", "18446744073709551615 calls belong to");
    expect(7, "", "7 ");
    expect(7, "in all", "7 in all");
}
END_TEST

RUN_TESTS("buffer", one_is_singular)
