/* SPDX-License-Identifier: MIT
 * What an event holds beyond what reports show; kept beside a list only when asked for. */
#ifndef TP_MODEL_EVENT_DETAILS_H
#define TP_MODEL_EVENT_DETAILS_H

#include <stdint.h>

#include "model/strings.h"

#define TP_EVENT_DETAIL_TYPE_INTEGER int64_t
#define TP_EVENT_DETAIL_TYPE_TEXT uint32_t
#define TP_EVENT_DETAIL_TYPE_JSON uint32_t

struct tp_event_details {
#define TP_EVENT_DETAIL(name, kind, none) TP_EVENT_DETAIL_TYPE_##kind name;
#include "model/event_details.def"
#undef TP_EVENT_DETAIL
};

/** tp_event_details_none - those of an event that has none */
static inline struct tp_event_details tp_event_details_none(void)
{
    return (struct tp_event_details){
#define TP_EVENT_DETAIL(name, kind, none) .name = none,
#include "model/event_details.def"
#undef TP_EVENT_DETAIL
    };
}

#endif
