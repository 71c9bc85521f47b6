/* SPDX-License-Identifier: MIT */
#include "event/event.h"

const struct tp_kind_info tp_kinds[TP_EVENT_KIND_END] = {
#define TP_KIND(id, NAME, name, slots, role, class_, since, help)                                  \
    [id] = {#name, help, slots, TP_ROLE_##role, TP_CLASS_##class_, since},
#include "event/event_kinds.def"
};

const struct tp_field_info tp_fields[] = {
#define TP_FIELD(KIND, column, name, word, shift, bits, encoding, unit, since, help)               \
    {TP_EVENT_##KIND, column, word, shift, bits, TP_ENCODING_##encoding, since, name, unit, help},
#include "event/event_kinds.def"
};

const unsigned tp_field_count = sizeof(tp_fields) / sizeof(tp_fields[0]);
