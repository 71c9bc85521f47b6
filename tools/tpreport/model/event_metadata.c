/* SPDX-License-Identifier: MIT */
#include "model/event_metadata.h"

#include <math.h>
#include <string.h>

#include "model/number.h"
#include "model/python_text.h"

enum type { TYPE_INT, TYPE_REAL, TYPE_TEXT, TYPE_JSON, TYPE_FLAG };

static const struct {
    const char *field, *key;
    enum type type;
} fields[] = {
#define TP_METADATA_FIELD(field, key, type) {#field, key, TYPE_##type},
#include "model/event_metadata.def"
#undef TP_METADATA_FIELD
};

void tp_event_metadata_reset(struct tp_event_metadata *metadata)
{
    tp_buffer_reset(&metadata->text);
    memset(metadata->values, 0, sizeof(metadata->values));
    metadata->is_known = false;
}

void tp_event_metadata_fini(struct tp_event_metadata *metadata)
{
    tp_buffer_fini(&metadata->text);
    *metadata = (struct tp_event_metadata){0};
}

static int find_field(const char *key, size_t size)
{
    for (int i = 0; i < TP_METADATA_FIELDS; i++) {
        if (strlen(fields[i].key) == size && !memcmp(fields[i].key, key, size))
            return i;
    }
    return -1;
}

static void strip_quotes(const char **text, size_t *size)
{
    while (*size && **text == '"') {
        ++*text;
        --*size;
    }
    while (*size && (*text)[*size - 1] == '"')
        --*size;
}

static void put_number(struct tp_buffer *out, const char *text, size_t size, bool is_real)
{
    char digits[TP_NUMBER_TEXT_MAX];
    struct tp_number number;

    strip_quotes(&text, &size);
    if (tp_number_parse(text, size, &number) < 0)
        return;
    if (is_real)
        number = tp_number_real(tp_number_to_double(number));
    else if (number.is_real)
        number = tp_number_integer(tp_number_truncate(number));
    tp_buffer_bytes(out, digits, tp_number_print(number, digits));
}

static void put_value(struct tp_buffer *out, enum type type, const char *text, size_t size)
{
    switch (type) {
    case TYPE_INT:
    case TYPE_REAL:
        put_number(out, text, size, type == TYPE_REAL);
        break;
    case TYPE_TEXT:
        strip_quotes(&text, &size);
        tp_json_string(out, text, size);
        break;
    case TYPE_JSON:
        tp_buffer_bytes(out, text, size);
        break;
    case TYPE_FLAG:
        strip_quotes(&text, &size);
        tp_buffer_string(out, (size == 1 && *text == '1') || (size == 4 && !memcmp(text, "true", 4))
                                  ? "true"
                                  : "false");
        break;
    }
}

void tp_event_metadata_put(struct tp_event_metadata *metadata, const char *key, size_t key_size,
                           const char *text, size_t size)
{
    int field = find_field(key, key_size);

    if (field < 0)
        return;
    metadata->is_known = true;
    metadata->values[field].begin = metadata->text.size;
    put_value(&metadata->text, fields[field].type, text, size);
    metadata->values[field].size = metadata->text.size - metadata->values[field].begin;
}

void tp_event_metadata_write(const struct tp_event_metadata *metadata, struct tp_buffer *out)
{
    if (!metadata->is_known) {
        tp_buffer_string(out, "null");
        return;
    }
    for (int i = 0; i < TP_METADATA_FIELDS; i++) {
        tp_buffer_format(out, "%s\"%s\": ", i ? ", " : "{", fields[i].field);
        if (metadata->values[i].size)
            tp_buffer_bytes(out, metadata->text.bytes + metadata->values[i].begin,
                            metadata->values[i].size);
        else
            tp_buffer_string(out, "null");
    }
    tp_buffer_char(out, '}');
}
