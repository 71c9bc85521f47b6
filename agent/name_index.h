/* SPDX-License-Identifier: MIT */
#ifndef TP_AGENT_NAME_INDEX_H
#define TP_AGENT_NAME_INDEX_H

/* The names of this process by their ids: records bear ids, and the table of names is by text. */

#include "agent.h"
#include "event/name_text.h"

#define TP_NAME_LOOKS 8192u

struct tp_name_index {
    const char *map;              /* of names.tpn */
    const _Atomic uint64_t *used; /* bytes of it */
    uint64_t seen;                /* all whole records before it are in `offsets` */
    uint32_t stuck;               /* how often the record there was not finished */
    struct {
        uint64_t tag; /* id << 1 | nvtx; 0 none */
        struct tp_name_look look;
    } looks[TP_NAME_LOOKS];
    uint32_t offsets[TP_NAME_FIRST + TP_NAME_LIMIT]; /* in multiples of 8; 0 not known */
};

/** tp_name_index_look - a name's look by id; of an id without a record that of the id alone */
const struct tp_name_look *tp_name_index_look(struct tp_name_index *index, uint32_t id, bool nvtx);

/** tp_name_index_update - learn the names that came since. Context: drainer. */
void tp_name_index_update(struct tp_name_index *index);

#endif
