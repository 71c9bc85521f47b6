/* SPDX-License-Identifier: MIT
 *
 * What a dead process left in a ring: positions and slots from the input, under a good checksum
 * where the first byte is odd. The records are taken off as a reader does and go through a block.
 */
#include "fuzz_trace.h"

#include <string.h>

#include "base/error.h"
#include "event/brief.h"
#include "ring/ring.h"
#include "trace/block.h"
#include "trace/wire.h"

#define SLOTS TP_RING_SLOTS_MIN
#define RING_BYTES (TP_RING_HEADER_BYTES + SLOTS * TP_SLOT_BYTES)

/* Whole known records from the tail on. Returns the slots taken. */
static uint32_t take_records(const struct tp_ring_view *view, uint64_t *slots)
{
    uint32_t taken = 0;

    for (uint64_t number = view->tail; number < view->head;) {
        unsigned step = tp_kind_slots(tp_slot_kind(tp_ring_view_slot(view, number)));
        if (!step || step > view->head - number)
            break;
        for (unsigned i = 0; i < step; i++, number++, taken++)
            memcpy(slots + taken * TP_SLOT_WORDS, tp_ring_view_slot(view, number), TP_SLOT_BYTES);
    }
    return taken;
}

static void read_ring(const void *bytes, size_t size)
{
    static uint64_t slots[TP_RING_SLOTS_MIN * TP_SLOT_WORDS];
    struct tp_ring_view view;
    struct tp_diag diag = {0};
    int error = tp_ring_view_open(&view, bytes, size, NULL, &diag);

    FUZZ_CHECK(error == diag.code && error <= 0);
    if (error || view.slot_count != SLOTS)
        return;
    FUZZ_CHECK(view.first <= view.tail || view.track == TP_RING_UNCLAIMED);
    FUZZ_CHECK(view.tail <= view.head && view.head - view.tail <= SLOTS);
    uint32_t count = take_records(&view, slots);
    /* bits that no column has do not survive: a writer leaves them zero */
    for (uint32_t at = 0; at < count;) {
        uint64_t *record = slots + at * TP_SLOT_WORDS, keep[4 * TP_SLOT_WORDS] = {0};
        unsigned kind = tp_slot_kind(record), step = tp_kind_slots(kind);
        for (unsigned i = 0; i < tp_field_count; i++)
            if (tp_fields[i].kind == kind || tp_fields[i].kind == TP_EVENT_ALL)
                keep[tp_fields[i].word] |= UINT64_MAX >> (64 - tp_fields[i].bits)
                                                             << tp_fields[i].shift;
        for (unsigned w = 0; w < step * TP_SLOT_WORDS && !tp_is_brief(kind); w++)
            record[w] &= keep[w];
        at += step;
    }
    fuzz_check_ring_records(slots, count);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const uint8_t uuid[16] = {1, 2, 3, 4};
    uint8_t *bytes = aligned_alloc(8, RING_BYTES);

    if (size < 1 + 40 || size > RING_BYTES) {
        free(bytes);
        return 0;
    }
    memset(bytes, 0, RING_BYTES);
    if (data[0] & 1) {
        struct tp_ring_header *header = (struct tp_ring_header *)bytes;
        tp_ring_header_init(header, uuid, 1, 2, SLOTS);
        header->track = tp_wire_load_u32(data + 1);
        header->first = tp_wire_load_u64(data + 5);
        atomic_store(&header->tail, tp_wire_load_u64(data + 13));
        atomic_store(&header->head, tp_wire_load_u64(data + 21));
        if (data[0] & 2) /* near each other, as they are in life */
            atomic_store(&header->head, atomic_load(&header->tail) + data[29]);
        for (size_t at = TP_RING_HEADER_BYTES, i = 41; i < size && at < RING_BYTES; at++, i++)
            bytes[at] = data[i];
        read_ring(bytes, RING_BYTES);
    } else {
        memcpy(bytes, data + 1, size - 1);
        read_ring(bytes, size - 1);
    }
    free(bytes);
    return 0;
}
