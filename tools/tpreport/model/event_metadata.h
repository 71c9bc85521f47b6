/* SPDX-License-Identifier: MIT
 * The fixed record of what a device activity or a collective says about itself, filled from a map
 * of texts. */
#ifndef TP_MODEL_EVENT_METADATA_H
#define TP_MODEL_EVENT_METADATA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "model/buffer.h"

enum tp_metadata_field {
#define TP_METADATA_FIELD(field, key, type) TP_METADATA_##field,
#include "model/event_metadata.def"
#undef TP_METADATA_FIELD
    TP_METADATA_FIELDS
};

/* Start from zeros; may be used again after a reset. */
struct tp_event_metadata {
    struct tp_buffer text; /* the values as JSON, one behind the other */
    struct {
        size_t begin, size; /* in @text; size 0: None */
    } values[TP_METADATA_FIELDS];
    bool is_known; /* one of the keys was there: the record is not None */
};

void tp_event_metadata_reset(struct tp_event_metadata *metadata);
void tp_event_metadata_fini(struct tp_event_metadata *metadata);

/**
 * tp_event_metadata_put - take one entry of the map; keys of no field are passed over
 * @text: the value's text: JSON, or plain for a text field; a number that can't be read is None
 * Context: offline. Failing to get memory shows in metadata->text.failed.
 */
void tp_event_metadata_put(struct tp_event_metadata *metadata, const char *key, size_t key_size,
                           const char *text, size_t size);

/** tp_event_metadata_write - as a JSON object in the order of the table, or null */
void tp_event_metadata_write(const struct tp_event_metadata *metadata, struct tp_buffer *out);

#endif
