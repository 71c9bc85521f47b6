/* SPDX-License-Identifier: MIT */
#include "model/string_table.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "model/demangle.h"

void tp_string_table_fini(struct tp_string_table *table)
{
    free(table->names);
    *table = (struct tp_string_table){0};
}

static int grow(struct tp_string_table *table, uint32_t name)
{
    uint32_t capacity = table->capacity ? table->capacity : 1024;

    while (capacity <= name)
        capacity *= 2;
    struct tp_name *names = realloc(table->names, capacity * sizeof(*names));
    if (!names)
        return -ENOMEM;
    memset(names + table->capacity, 0, (capacity - table->capacity) * sizeof(*names));
    table->names = names;
    table->capacity = capacity;
    return 0;
}

static enum tp_name_kind kind_of(const struct tp_string *name)
{
    static const struct {
        const char *name;
        enum tp_name_kind kind;
    } special[] = {
        {"[memory]", TP_NAME_MEMORY},
        {"[OutOfMemory]", TP_NAME_OUT_OF_MEMORY},
        {"profiler::_record_function_enter", TP_NAME_FILTERED},
        {"profiler::_record_function_enter_new", TP_NAME_FILTERED},
        {"profiler::_record_function_exit", TP_NAME_FILTERED},
        {"aten::is_leaf", TP_NAME_FILTERED},
        {"aten::output_nr", TP_NAME_FILTERED},
        {"aten::_version", TP_NAME_FILTERED},
        {"tensorplay::is_leaf", TP_NAME_FILTERED}, /* a derived implementation */
        {"tensorplay::output_nr", TP_NAME_FILTERED},
        {"tensorplay::_version", TP_NAME_FILTERED},
    };

    for (size_t i = 0; i < sizeof(special) / sizeof(special[0]); i++) {
        if (strlen(special[i].name) == name->size &&
            !memcmp(special[i].name, name->bytes, name->size))
            return special[i].kind;
    }
    return TP_NAME_EVENT;
}

static int demangle(struct tp_strings *strings, uint32_t name, uint32_t *ret)
{
    const struct tp_string *text = tp_strings_get(strings, name);
    int result = 0;

    *ret = name;
    if (text->size < 3 || memcmp(text->bytes, "_Z", 2) != 0 || strlen(text->bytes) != text->size)
        return 0;
    char *plain = tp_demangle(text->bytes);
    if (plain)
        result = tp_strings_put(strings, plain, strlen(plain), ret);
    free(plain);
    return result;
}

static int work_out(struct tp_strings *strings, uint32_t name, struct tp_name *ret)
{
    static const char step[] = "ProfilerStep#";

    ret->kind = (uint8_t)kind_of(tp_strings_get(strings, name));
    int result = demangle(strings, name, &ret->trace_name);
    if (result < 0)
        return result;
    ret->key = ret->trace_name;
    if (!strncmp(tp_strings_get(strings, ret->key)->bytes, step, sizeof(step) - 1))
        result = tp_strings_put(strings, "ProfilerStep*", 13, &ret->key);
    ret->is_known = !result;
    return result;
}

int tp_string_table_name(struct tp_string_table *table, uint32_t name, const struct tp_name **ret)
{
    int result = name >= table->capacity ? grow(table, name) : 0;

    if (!result && !table->names[name].is_known)
        result = work_out(table->strings, name, &table->names[name]);
    *ret = result ? NULL : &table->names[name];
    return result;
}

int tp_string_table_demangle(struct tp_string_table *table, uint32_t name, uint32_t *ret_name)
{
    const struct tp_name *known;
    int result = tp_string_table_name(table, name, &known);

    if (!result)
        *ret_name = known->trace_name;
    return result;
}
