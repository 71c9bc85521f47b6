/* SPDX-License-Identifier: MIT */
#include "trace/summary.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "trace/block_header.h"

/* What is being read. The first get that fails makes all after it fail. */
struct source {
    const uint8_t *start;
    struct tp_wire_in in;
    const char *wrong; /* NULL: nothing so far */
};

static uint64_t get(struct source *s)
{
    uint64_t value = 0;

    if (!s->wrong && !tp_wire_get_varint(&s->in, &value))
        s->wrong = "cut";
    return s->wrong ? 0 : value;
}

static int64_t get_signed(struct source *s)
{
    return (int64_t)tp_wire_unzigzag(get(s));
}

static uint8_t get_byte(struct source *s)
{
    uint8_t value = 0;

    if (!s->wrong && !tp_wire_get_u8(&s->in, &value))
        s->wrong = "cut";
    return s->wrong ? 0 : value;
}

static void fail(struct source *s, const char *wrong)
{
    if (!s->wrong)
        s->wrong = wrong;
}

static bool get_flag(struct source *s)
{
    uint8_t value = get_byte(s);

    if (value > 1)
        fail(s, "a flag that is neither 0 nor 1");
    return value;
}

static uint32_t get_u32(struct source *s)
{
    uint64_t value = get(s);

    if (value > UINT32_MAX)
        fail(s, "a number beyond 32 bits");
    return (uint32_t)value;
}

/* How many items of at least @least bytes follow. */
static uint32_t get_count(struct source *s, size_t least)
{
    uint64_t count = get(s);

    if (count > tp_wire_left(&s->in) / least)
        fail(s, "more items than bytes");
    return s->wrong ? 0 : (uint32_t)count;
}

/* A whole record of a known kind. */
static void get_record(struct source *s, uint64_t record[TP_SUMMARY_RECORD_WORDS])
{
    for (unsigned i = 0; i < TP_SLOT_WORDS && !s->wrong; i++)
        if (!tp_wire_get_u64(&s->in, &record[i]))
            fail(s, "cut");
    if (s->wrong)
        return;
    unsigned words = tp_kind_slots(tp_slot_kind(record)) * TP_SLOT_WORDS;
    if (!words || words > TP_SUMMARY_RECORD_WORDS)
        fail(s, "a record of a kind that is not known");
    for (unsigned i = TP_SLOT_WORDS; i < words && !s->wrong; i++)
        if (!tp_wire_get_u64(&s->in, &record[i]))
            fail(s, "cut");
}

static void get_begin(struct source *s, uint64_t record[TP_SUMMARY_RECORD_WORDS])
{
    get_record(s, record);
    if (!s->wrong && tp_kinds[tp_slot_kind(record)].role != TP_ROLE_BEGIN)
        fail(s, "an open range that is no begin");
}

static void get_totals(struct source *s, struct tp_summary_totals *totals)
{
    uint64_t *const values[] = {
        &totals->segments,       &totals->blocks,
        &totals->slots,          &totals->missing_segments,
        &totals->missing_blocks, &totals->missing_slots,
        &totals->missing_ranges, &totals->missing_records,
        &totals->without_sketch, &totals->crowded,
        &totals->first_ticks,    &totals->last_ticks,
        &totals->ranges,         &totals->folded,
        &totals->filtered,       &totals->ends_without_begin,
        &totals->too_deep,       &totals->lost_records,
        &totals->device_memory,
    };

    for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++)
        *values[i] = get(s);
    for (uint32_t kinds = get_count(s, 2); kinds && !s->wrong; kinds--) {
        uint8_t kind = get_byte(s);
        if (kind < TP_EVENT_KIND_END)
            totals->kinds[kind] = get(s);
        else
            fail(s, "a kind that is not known");
    }
    totals->last.row = get_u32(s);
    totals->last.start = get(s);
    totals->last.end = get(s);
    totals->last.has_parent = get_flag(s);
    if (totals->last.end < totals->last.start || totals->last_ticks < totals->first_ticks)
        fail(s, "times that go back");
}

/* ---- rows ---- */

static void get_sums(struct source *s, struct tp_summary_sums *sums)
{
    sums->count = get(s);
    sums->ticks = get(s);
    sums->self_ticks = get_signed(s);
    sums->memory = get_signed(s);
    sums->self_memory = get_signed(s);
    sums->device = get_signed(s);
    sums->self_device = get_signed(s);
    sums->least = get(s);
    sums->most = get(s);
    sums->first_start = get(s);
    sums->first_end = get(s);
    sums->has_parent = get_flag(s);
    if (!s->wrong && (sums->least > sums->most || sums->most > sums->ticks ||
                      sums->first_end < sums->first_start || !sums->count))
        fail(s, "sums that do not fit each other");
}

static void get_buckets(struct source *s, struct tp_summary *summary, struct tp_summary_row *row,
                        uint32_t count)
{
    uint64_t bucket = 0, all = 0;

    row->bucket_count = count;
    for (uint32_t i = 0; i < count && !s->wrong; i++) {
        uint64_t ascent = get(s), there = get(s);
        if (ascent >= TP_SKETCH_BUCKETS || (i && !ascent) || !there ||
            there > row->sums.count - all || (bucket += ascent) >= TP_SKETCH_BUCKETS) {
            fail(s, "a sketch that is none");
            return;
        }
        all += there;
        summary->buckets[summary->bucket_count++] =
            (struct tp_summary_bucket){(uint32_t)bucket, there};
    }
}

static int get_rows(struct source *s, struct tp_summary *summary)
{
    uint32_t count = get_count(s, 32), room = 0;

    summary->rows = calloc((size_t)count + 1, sizeof(*summary->rows));
    if (!summary->rows)
        return -ENOMEM;
    for (; summary->row_count < count && !s->wrong; summary->row_count++) {
        struct tp_summary_row *row = &summary->rows[summary->row_count];
        get_record(s, row->record);
        get_sums(s, &row->sums);
        uint32_t buckets = get_count(s, 2);
        if (summary->bucket_count + buckets > room || !summary->buckets) {
            room = 2 * room + buckets + 64;
            void *grown = realloc(summary->buckets, room * sizeof(*summary->buckets));
            if (!grown)
                return -ENOMEM;
            summary->buckets = grown;
        }
        get_buckets(s, summary, row, buckets);
    }
    if (summary->totals.last.row > count)
        fail(s, "a last one of no row");
    uint32_t at = 0; /* they stay where they are from now on */
    for (uint32_t i = 0; i < summary->row_count; i++) {
        summary->rows[i].buckets = summary->buckets + at;
        at += s->wrong ? 0 : summary->rows[i].bucket_count;
    }
    return 0;
}

/* ---- open ranges ---- */

static void get_kids(struct source *s, struct tp_summary_kids *kids)
{
    kids->ticks = get(s);
    kids->memory = get_signed(s);
    kids->device = get_signed(s);
    kids->count = get_u32(s);
    if (kids->count > 2)
        fail(s, "a number of children beyond 2");
}

static void get_frame(struct source *s, struct tp_summary_frame *frame)
{
    get_begin(s, frame->record);
    frame->start = get(s);
    frame->device_start = get_signed(s);
    get_kids(s, &frame->kids);
    frame->has_held = get_flag(s);
    if (!frame->has_held)
        return;
    get_begin(s, frame->held.record);
    frame->held.start = get(s);
    frame->held.end = get(s);
    frame->held.memory = get_signed(s);
    frame->held.device = get_signed(s);
    get_kids(s, &frame->held.kids);
    if (!s->wrong && (frame->held.end < frame->held.start || frame->kids.count != 1))
        fail(s, "an only child that is none");
}

static int get_frames(struct source *s, struct tp_summary *summary, struct tp_summary_track *track,
                      uint32_t *room)
{
    uint32_t count = get_count(s, TP_SLOT_BYTES);

    track->first_frame = summary->frame_count;
    for (; track->frame_count < count && !s->wrong; track->frame_count++) {
        if (summary->frame_count == *room) {
            *room = *room ? *room * 2 : 16;
            void *grown = realloc(summary->frames, *room * sizeof(*summary->frames));
            if (!grown)
                return -ENOMEM;
            summary->frames = grown;
        }
        struct tp_summary_frame *frame = &summary->frames[summary->frame_count++];
        *frame = (struct tp_summary_frame){0};
        get_frame(s, frame);
    }
    if (track->frame_count > TP_BLOCK_OPEN_MAX)
        fail(s, "more open ranges than a writer makes");
    return 0;
}

static int get_track(struct source *s, struct tp_summary *summary, uint32_t *room)
{
    struct tp_summary_track *track = &summary->tracks[summary->track_count];

    track->track = get_u32(s);
    track->next_slot = get(s);
    track->ticks = get(s);
    for (unsigned i = 0; i < 3; i++)
        track->counters[i] = get(s);
    track->device_bytes = get_signed(s);
    uint8_t classes = get_byte(s);
    for (unsigned i = 0; i < classes && !s->wrong; i++) {
        uint32_t skipped = get_u32(s);
        if (i < TP_CLASS_END)
            track->skipped[i] = skipped;
    }
    if (track->next_slot > UINT64_C(1) << 60)
        fail(s, "a number of slots that no track has");
    return get_frames(s, summary, track, room);
}

static int get_tracks(struct source *s, struct tp_summary *summary)
{
    uint32_t count = get_count(s, 9), room = 0;
    int error = 0;

    summary->tracks = calloc((size_t)count + 1, sizeof(*summary->tracks));
    if (!summary->tracks)
        return -ENOMEM;
    for (; summary->track_count < count && !s->wrong && !error; summary->track_count++)
        error = get_track(s, summary, &room);
    return error;
}

static int get_halves(struct source *s, struct tp_summary *summary)
{
    uint32_t count = get_count(s, TP_SLOT_BYTES);

    summary->halves = calloc((size_t)count + 1, sizeof(*summary->halves));
    if (!summary->halves)
        return -ENOMEM;
    for (; summary->half_count < count && !s->wrong; summary->half_count++) {
        struct tp_summary_half *half = &summary->halves[summary->half_count];
        get_record(s, half->record);
        half->ticks = get(s);
        half->track = get_u32(s);
        unsigned kind = tp_slot_kind(half->record);
        if (!s->wrong && kind != TP_EVENT_ASYNC_BEGIN && kind != TP_EVENT_ASYNC_END)
            fail(s, "half of a start/end range that is none");
    }
    return 0;
}

/* ---- who is credited with the work of devices ---- */

static void get_credits(struct source *s, struct tp_summary *summary)
{
    for (uint32_t count = get_count(s, 3); count && !s->wrong; count--) {
        uint32_t row = get_u32(s);
        uint64_t all = get(s), own = get(s);
        if (!s->wrong && (!row || row > summary->row_count || own > all)) {
            fail(s, "a row that is credited and is none");
            return;
        }
        if (s->wrong)
            return;
        summary->rows[row - 1].sums.work_ticks = all;
        summary->rows[row - 1].sums.own_work_ticks = own;
    }
}

static void get_path(struct source *s, const struct tp_summary *summary,
                     struct tp_summary_path *path)
{
    path->of = get_byte(s);
    if (path->of == TP_SUMMARY_ENDED) {
        path->parent = get_u32(s);
        path->row = get_u32(s);
        if (path->parent > summary->path_count || !path->row || path->row > summary->row_count)
            fail(s, "a path below one that is not there, or of no row");
        return;
    }
    path->track = get_u32(s);
    path->frame = get_u32(s);
    path->own_ticks = get(s);
    path->below_ticks = get(s);
    if (path->of >= TP_SUMMARY_PLACE_END || path->track >= summary->track_count) {
        fail(s, "a path of no track");
        return;
    }
    const struct tp_summary_track *track = &summary->tracks[path->track];
    if (path->frame >= track->frame_count ||
        (path->of == TP_SUMMARY_HELD &&
         !summary->frames[track->first_frame + path->frame].has_held))
        fail(s, "a path of a range that is not open");
}

static void get_call(struct source *s, const struct tp_summary *summary, uint32_t before,
                     struct tp_summary_call *call)
{
    call->id = before + get_u32(s);
    uint64_t path = get(s);
    call->saw_work = path & 1;
    if (path >> 1 > summary->path_count)
        fail(s, "a call in a path that is not there");
    call->path = (uint32_t)(path >> 1);
}

static void *get_room(struct source *s, size_t least, size_t size, uint32_t *ret_count)
{
    *ret_count = get_count(s, least);
    return calloc((size_t)*ret_count + 1, size);
}

static int get_launches(struct source *s, struct tp_summary *summary)
{
    uint32_t count, before = 0;

    summary->has_credits = true;
    get_credits(s, summary);
    summary->paths = get_room(s, 3, sizeof(*summary->paths), &count);
    if (!summary->paths)
        return -ENOMEM;
    for (; summary->path_count < count && !s->wrong; summary->path_count++)
        get_path(s, summary, &summary->paths[summary->path_count]);
    summary->calls = get_room(s, 2, sizeof(*summary->calls), &count);
    if (!summary->calls)
        return -ENOMEM;
    for (; summary->call_count < count && !s->wrong; summary->call_count++) {
        get_call(s, summary, before, &summary->calls[summary->call_count]);
        before = summary->calls[summary->call_count].id;
    }
    summary->works = get_room(s, 3, sizeof(*summary->works), &count);
    if (!summary->works)
        return -ENOMEM;
    before = 0;
    for (; summary->work_count < count && !s->wrong; summary->work_count++) {
        struct tp_summary_waiting *work = &summary->works[summary->work_count];
        work->id = before += get_u32(s);
        work->count = get(s);
        work->ticks = get(s);
    }
    summary->without_launch = get(s);
    summary->without_launch_ticks = get(s);
    return 0;
}

/* ---- the file ---- */

static int get_all(struct tp_summary *summary, const uint8_t *payload, size_t size,
                   struct tp_diag *diag)
{
    struct source s = {.start = payload, .in = {payload, payload + size}};

    get_totals(&s, &summary->totals);
    int error = get_rows(&s, summary);
    if (!error)
        error = get_tracks(&s, summary);
    if (!error)
        error = get_halves(&s, summary);
    if (!error && !s.wrong && tp_wire_left(&s.in)) /* a summary of an earlier writer ends here */
        error = get_launches(&s, summary);
    if (error)
        return tp_diag_fail(diag, error, TP_DIAG_NO_OFFSET, "no memory for a running summary");
    if (tp_wire_left(&s.in))
        fail(&s, "bytes left over");
    if (s.wrong)
        return tp_diag_fail(diag, -TP_ECORRUPT,
                            TP_SUMMARY_HEAD_BYTES + (uint64_t)(s.in.at - s.start),
                            "running summary damaged: %s", s.wrong);
    return 0;
}

static int read_headers(const uint8_t *bytes, uint64_t size, const uint8_t *expect_uuid,
                        uint32_t *ret_segment, struct tp_block_header *ret_block,
                        const uint8_t **ret_payload, struct tp_diag *diag)
{
    struct tp_file_header header;
    int error = tp_file_header_read(&header, bytes, size, TP_SUMMARY_MAGIC, diag);

    if (error)
        return error;
    if (expect_uuid && memcmp(header.uuid, expect_uuid, 16))
        return tp_diag_fail(diag, -TP_EFOREIGN, 16, "of another process instance");
    uint64_t at = header.header_size;
    if (at > size)
        return tp_diag_fail(diag, -TP_ETRUNCATED, size, "cut in the header");
    error = tp_block_header_read(ret_block, bytes + at, size - at, at, diag);
    if (error)
        return error;
    if (ret_block->type != TP_BLOCK_SUMMARY || ret_block->flags)
        return tp_diag_fail(diag, -TP_EUNSUPPORTED, at + 6, "block of type %u with flags %02x",
                            ret_block->type, ret_block->flags);
    *ret_payload = bytes + at + ret_block->header_size;
    uint32_t sum = tp_block_checksum(*ret_payload, ret_block->stored_bytes);
    if (sum != ret_block->checksum)
        return tp_diag_fail(diag, -TP_ECORRUPT, at, "payload's checksum is %08x, expected %08x",
                            sum, ret_block->checksum);
    if (at + tp_block_stride(ret_block) != size)
        return tp_diag_fail(diag, -TP_ECORRUPT, size, "a file of %llu bytes, expected %llu",
                            (unsigned long long)size,
                            (unsigned long long)(at + tp_block_stride(ret_block)));
    for (const uint8_t *p = *ret_payload + ret_block->stored_bytes; p < bytes + size; p++)
        if (*p)
            return tp_diag_fail(diag, -TP_ECORRUPT, (uint64_t)(p - bytes),
                                "padding is %02x, expected 00", *p);
    *ret_segment = header.number;
    return 0;
}

int tp_summary_read(struct tp_summary *ret_summary, const void *bytes, uint64_t size,
                    const uint8_t *expect_uuid, struct tp_diag *diag)
{
    struct tp_block_header block = {0};
    const uint8_t *payload = NULL;

    *ret_summary = (struct tp_summary){0};
    int error = read_headers(bytes, size, expect_uuid, &ret_summary->totals.first_segment, &block,
                             &payload, diag);
    return error ? error : get_all(ret_summary, payload, block.payload_bytes, diag);
}

void tp_summary_free(struct tp_summary *summary)
{
    free(summary->rows);
    free(summary->tracks);
    free(summary->frames);
    free(summary->halves);
    free(summary->buckets);
    free(summary->paths);
    free(summary->calls);
    free(summary->works);
    *summary = (struct tp_summary){0};
}
