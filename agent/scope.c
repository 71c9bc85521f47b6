/* SPDX-License-Identifier: MIT */
#include "scope.h"

#include <errno.h>
#include <string.h>

#include "agent.h"
#include "intern.h"
#include "pool.h"

#define STACK_BYTES 384u /* of a name put together on the caller's stack */
#define SCOPE_NAME_MAX 4096u

static _Atomic uint32_t scope_count;

struct tp_scope *tp_scope_create(const char *name, size_t size)
{
    struct tp_scope *scope = tp_pool_get(sizeof(*scope));

    if (size > SCOPE_NAME_MAX)
        size = SCOPE_NAME_MAX;
    if (!scope || !(scope->name = tp_pool_copy(name, size)))
        return NULL;
    scope->number = 1 + atomic_fetch_add(&scope_count, 1);
    scope->length = (uint32_t)size;
    return scope;
}

static uint32_t intern_joined(char *buffer, const struct tp_scope *scope, const char *text,
                              size_t size, const struct tp_name_record **ret_record)
{
    uint32_t id;

    memcpy(buffer, scope->name, scope->length);
    buffer[scope->length] = '\0';
    memcpy(buffer + scope->length + 1, text, size);
    *ret_record = tp_intern_record(TP_NAME_SCOPED, buffer, scope->length + 1 + size, &id);
    return id;
}

uint32_t tp_scope_record(const struct tp_scope *scope, const char *text, size_t size,
                         const struct tp_name_record **ret_record)
{
    char small[STACK_BYTES];

    *ret_record = NULL;
    if (scope->length + 1 + size <= sizeof(small))
        return intern_joined(small, scope, text, size, ret_record);
    char *scratch = tp_scratch_take();
    if (!scratch)
        return TP_NAME_NO_ROOM;
    size_t room =
        TP_SCRATCH_BYTES - scope->length - 1; /* more than a name may be long: the cut is marked */
    uint32_t id = intern_joined(scratch, scope, text, size < room ? size : room, ret_record);
    tp_scratch_give(scratch);
    return id;
}

uint32_t tp_scope_name(const struct tp_scope *scope, const char *text, size_t size)
{
    const struct tp_name_record *record;

    if (!scope)
        return tp_intern(TP_NAME_TEXT, text, size);
    return tp_names_ready() ? tp_scope_record(scope, text, size, &record) : TP_NAME_NONE;
}

uint32_t tp_scope_text(const struct tp_scope *scope, const char *text)
{
    if (!text)
        return TP_NAME_NONE;
    return scope ? tp_intern_scoped(scope, text) : tp_intern_text(TP_NAME_TEXT, text);
}

static size_t put_utf8(char *at, uint32_t c)
{
    if (c < 0x80) {
        at[0] = (char)c;
        return 1;
    }
    if (c < 0x800) {
        at[0] = (char)(0xc0 | c >> 6);
        at[1] = (char)(0x80 | (c & 0x3f));
        return 2;
    }
    if (c < 0x10000) {
        at[0] = (char)(0xe0 | c >> 12);
        at[1] = (char)(0x80 | (c >> 6 & 0x3f));
        at[2] = (char)(0x80 | (c & 0x3f));
        return 3;
    }
    at[0] = (char)(0xf0 | c >> 18);
    at[1] = (char)(0x80 | (c >> 12 & 0x3f));
    at[2] = (char)(0x80 | (c >> 6 & 0x3f));
    at[3] = (char)(0x80 | (c & 0x3f));
    return 4;
}

size_t tp_wide_utf8(const wchar_t *text, char *buffer, size_t size, bool *ret_whole)
{
    size_t used = 0;

    for (; *text && used + 4 <= size; text++) {
        uint32_t c = (uint32_t)*text;
        if (c > 0x10ffff || (c >= 0xd800 && c < 0xe000))
            c = 0xfffd;
        used += put_utf8(buffer + used, c);
    }
    *ret_whole = !*text;
    return used;
}

uint32_t tp_scope_wide(const struct tp_scope *scope, const wchar_t *text)
{
    char small[STACK_BYTES];
    bool whole;

    if (!text)
        return TP_NAME_NONE;
    size_t size = tp_wide_utf8(text, small, sizeof(small), &whole);
    if (whole)
        return tp_scope_name(scope, small, size);
    char *scratch = tp_scratch_take();
    if (!scratch)
        return TP_NAME_NO_ROOM;
    size = tp_wide_utf8(text, scratch, TP_SCRATCH_BYTES, &whole);
    uint32_t id = tp_scope_name(scope, scratch, size);
    tp_scratch_give(scratch);
    return id;
}

/* --- names behind handles
 * ------------------------------------------------------------------------------- */

int tp_held_copy(struct tp_held_name *held, const struct tp_scope *scope, const char *text,
                 size_t size)
{
    if (size > TP_NAME_LENGTH_LIMIT + 1)
        size = TP_NAME_LENGTH_LIMIT + 1; /* one more than a name may be long: the cut is marked */
    held->scope = scope;
    held->text = tp_pool_copy(text, size);
    held->length = (uint32_t)size;
    return held->text ? 0 : -ENOMEM;
}

int tp_held_copy_wide(struct tp_held_name *held, const struct tp_scope *scope, const wchar_t *text)
{
    char *scratch = tp_scratch_take();
    bool whole;

    if (!scratch)
        return -ENOMEM;
    size_t size = tp_wide_utf8(text, scratch, TP_SCRATCH_BYTES, &whole);
    int error = tp_held_copy(held, scope, scratch, size);
    tp_scratch_give(scratch);
    return error;
}

uint32_t tp_held_make(struct tp_held_name *held)
{
    uint32_t id = tp_scope_name(held->scope, held->text, held->length);

    if (id >= TP_NAME_FIRST)
        tp_keep_id(&held->id, id);
    return id;
}
