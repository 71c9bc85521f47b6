/* SPDX-License-Identifier: MIT */
#include "input/tptrace_losses.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "input/tptrace_file.h"
#include "input/tptrace_process.h"
#include "ring/ring.h"
#include "trace/file.h"
#include "trace/wire.h"

/* Return: @path, or NULL where it is too long. */
static const char *path_of_names(const struct tptrace_process *p, char path[TPTRACE_PATH_MAX])
{
    return tptrace_path(path, p->dir, "names.tpn") ? NULL : path;
}

/* Return: whether there is such a header, of this process. What is wrong with the file is told when
 * its names are read. */
static bool read_header(const struct tptrace_process *p, void *bytes)
{
    char path[TPTRACE_PATH_MAX];
    struct tp_file_header header;
    struct tp_diag diag;
    uint64_t size;

    int fd = path_of_names(p, path) ? tptrace_open(path, &size, &diag) : -1;
    if (fd < 0)
        return false;
    int64_t n = tptrace_read_at(fd, bytes, TP_NAMES_HEADER_BYTES, 0);
    close(fd);
    return n == TP_NAMES_HEADER_BYTES &&
           !tp_file_header_read(&header, bytes, size, TP_NAMES_MAGIC, &diag) &&
           header.header_size >= TP_NAMES_HEADER_BYTES &&
           (!p->meta.has_uuid || !memcmp(header.uuid, p->meta.uuid, sizeof(header.uuid)));
}

static void trouble(struct tptrace_process *p, struct tp_diag *diag)
{
    char path[TPTRACE_PATH_MAX];

    tptrace_trouble(p, diag, path_of_names(p, path));
}

static int take_ring(struct tptrace_process *p, const struct tp_ring_view *view)
{
    struct tptrace_memory_ring *ring = &p->losses.rings[p->losses.ring_count];
    char path[TPTRACE_PATH_MAX], name[16] = "";

    if (view->track == TP_RING_UNCLAIMED || view->head > TPTRACE_SLOT_MAX)
        return 0;
    int error = tptrace_process_find_track(p, view->track, &ring->track);
    if (error)
        return error;
    if (!ring->track->tid)
        ring->track->tid = view->tid;
    ring->track->has_ring = true;
    memcpy(name, (const void *)view->header->name, sizeof(name) - 1);
    tptrace_track_named(ring->track, name, view->tail);
    tptrace_track_dropped(p, ring->track, view->dropped, path_of_names(p, path));
    ring->first = view->tail;
    ring->end = view->head;
    p->losses.ring_count += ring->first < ring->end;
    return 0;
}

int tptrace_memory_rings_read(struct tptrace_process *p)
{
    _Alignas(8) char bytes[TP_NAMES_HEADER_BYTES];
    int error = 0;

    if (!read_header(p, bytes))
        return 0;
    for (unsigned i = 0; i < TP_MEMORY_RINGS_MAX && error != -ENOMEM; i++) {
        uint64_t offset = TP_MEMORY_RINGS_AT + (uint64_t)i * TP_MEMORY_RING_BYTES;
        const struct tp_ring_header *header = (const void *)(bytes + offset);
        struct tp_ring_view view;
        struct tp_diag diag;
        if (!header->checksum) /* never used, or the process died when it made it */
            continue;
        error = tp_ring_view_open(&view, header, UINT64_MAX, p->meta.has_uuid ? p->meta.uuid : NULL,
                                  &diag);
        if (error) {
            diag.offset += offset;
            trouble(p, &diag);
        } else {
            error = take_ring(p, &view);
        }
    }
    return error == -ENOMEM ? error : 0;
}

uint64_t tptrace_execs(const struct tptrace_process *p)
{
    char bytes[TP_NAMES_HEADER_BYTES];

    return read_header(p, bytes) ? tp_wire_load_u64(bytes + TP_EXEC_COUNT_AT) : 0;
}

const char *tptrace_loss_reason(enum tp_loss loss)
{
    static const char *const reasons[TP_LOSS_END] = {
        [TP_LOSS_DISCARDED] = "TPAGENT_MAX_SIZE",
        [TP_LOSS_NO_RING] = "no ring for the thread",
        [TP_LOSS_NO_NAME] = "no room for a name",
    };

    return reasons[loss];
}

static uint64_t count_told(const struct tptrace_meta *meta, const char *reason)
{
    uint64_t count = 0;

    for (size_t i = 0; i < meta->drop_count; i++)
        if (meta->drops[i].reason && !strcmp(meta->drops[i].reason, reason))
            count += meta->drops[i].count;
    return count;
}

void tptrace_losses_read(struct tptrace_process *p)
{
    char bytes[TP_NAMES_HEADER_BYTES];
    struct tptrace_losses *losses = &p->losses;

    if (!read_header(p, bytes))
        return;
    for (unsigned i = 0; i < TP_LOSS_END; i++) {
        uint64_t offset = TP_LOSSES_AT + 8 * i, count = tp_wire_load_u64(bytes + offset);
        struct tp_diag diag;
        if (count > TPTRACE_SLOT_MAX) {
            tp_diag_fail(&diag, -TP_ECORRUPT, offset, "counter of losses %u is %llu", i,
                         (unsigned long long)count);
            trouble(p, &diag);
            continue;
        }
        losses->counts[i] = count;
        const char *reason = tptrace_loss_reason(i);
        uint64_t told = reason ? count_told(&p->meta, reason) : count;
        losses->untold[i] = count > told ? count - told : 0;
        p->totals.dropped_elsewhere += losses->untold[i];
    }
}

uint64_t tptrace_losses_in_memory(const struct tptrace_losses *losses,
                                  const struct tptrace_track *track, uint64_t from, uint64_t slots)
{
    uint64_t count = 0, end = from + slots;

    for (size_t i = 0; i < losses->ring_count; i++) {
        const struct tptrace_memory_ring *ring = &losses->rings[i];
        uint64_t first = ring->first > from ? ring->first : from;
        uint64_t last = ring->end < end ? ring->end : end;
        if (ring->track == track && first < last)
            count += last - first;
    }
    return count < slots ? count : slots; /* a file that lies may tell of slots twice */
}

uint64_t tptrace_losses_memory_end(const struct tptrace_losses *losses,
                                   const struct tptrace_track *track)
{
    uint64_t end = 0;

    for (size_t i = 0; i < losses->ring_count; i++)
        if (losses->rings[i].track == track && losses->rings[i].end > end)
            end = losses->rings[i].end;
    return end;
}
