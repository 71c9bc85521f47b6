/* SPDX-License-Identifier: MIT */
#include "fold.h"

#include <string.h>

#include "credit.h"

#define ROW_SLOTS (4u * TP_FOLD_ROWS)
#define CELLS_USED_MAX (TP_FOLD_CELLS / 4 * 3)
#define TRACK_SLOTS (2u * TP_FOLD_TRACKS)
#define HALVES_USED_MAX (TP_FOLD_HALVES / 4 * 3)
#define CROWDED_ROW 0u

struct row_key {
    uint64_t name; /* id, or what the names of one row have in common */
    uint32_t shapes;
    uint8_t kind, scope;
};

struct row {
    struct row_key key;
    uint32_t number; /* when it is put, from 1; 0: it is not */
    uint64_t record[TP_SUMMARY_RECORD_WORDS];
    struct tp_summary_sums sums;
};

/* Indices are of frames, 0 none. */
struct frame {
    struct tp_summary_frame range;
    uint64_t text; /* of its name */
    uint64_t sequence;
    uint32_t row, held_row;
    uint32_t below, above, class_below;
    uint32_t path, held_path; /* credit.h; 0: no calls so far */
    bool hidden;
};

struct track {
    struct tp_summary_track told;
    uint32_t top, class_top[TP_CLASS_END], depth;
};

struct cell {
    uint32_t what; /* row << 12 | bucket, + 1; 0 free */
    uint64_t count;
};

_Static_assert(TP_SKETCH_BUCKETS <= 1u << 12, "a bucket fits into a cell");

struct tp_fold {
    struct tp_name_index names;
    struct tp_summary_totals totals;

    uint32_t row_count;
    struct row rows[TP_FOLD_ROWS];
    uint32_t row_slots[ROW_SLOTS]; /* row + 1 */

    uint32_t cells_used;
    uint32_t cell_order[CELLS_USED_MAX]; /* as they were made */
    struct cell cells[TP_FOLD_CELLS];
    struct tp_summary_bucket sorted[CELLS_USED_MAX]; /* when it is put: by row, ascending */
    uint32_t row_cells[TP_FOLD_ROWS], row_ends[TP_FOLD_ROWS];

    uint32_t frame_count, spare; /* frames ever used; one that is free again */
    uint64_t sequence;           /* of begins */
    struct frame frames[TP_FOLD_FRAMES + 1];
    uint32_t order[TP_FOLD_FRAMES]; /* of a track's frames, when they are put */

    uint32_t track_count;
    struct track tracks[TP_FOLD_TRACKS]; /* the first track_count are used */
    uint32_t track_slots[TRACK_SLOTS];   /* track + 1 */

    uint32_t half_count;
    struct tp_summary_half halves[TP_FOLD_HALVES]; /* open addressing by id */
    bool half_used[TP_FOLD_HALVES];

    uint32_t room_made_at; /* id of a call: there were no more paths */
    struct tp_credit credit;
};

size_t tp_fold_size(void)
{
    return sizeof(struct tp_fold);
}

struct tp_fold *tp_fold_open(void *memory, const char *map, const _Atomic uint64_t *used)
{
    struct tp_fold *fold = memory;

    fold->names.map = map;
    fold->names.used = used;
    fold->names.seen = tp_wire_load_u16(map + 12); /* the header's size */
    fold->row_count = 1;
    struct row *crowded = &fold->rows[CROWDED_ROW];
    crowded->record[0] = (uint64_t)TP_EVENT_API_BEGIN << 56;
    crowded->record[1] = TP_NAME_TOO_MANY;
    tp_credit_init(&fold->credit);
    return fold;
}

struct tp_summary_totals *tp_fold_totals(struct tp_fold *fold)
{
    return &fold->totals;
}

/* No begin has more. */
#define TP_KIND(id, NAME, name, slots, role, class_, since, help)                                  \
    _Static_assert(TP_ROLE_##role != TP_ROLE_BEGIN || (slots) <= 2, "a begin fits");
#include "event/event_kinds.def"

static uint32_t hash_of(uint64_t value, uint32_t slots)
{
    return (uint32_t)((value * UINT64_C(0x9e3779b97f4a7c15) >> 32) % slots);
}

/* ---- rows ---- */

static inline bool same_key(const struct row_key *a, const struct row_key *b)
{
    return a->name == b->name && a->shapes == b->shapes && a->kind == b->kind &&
           a->scope == b->scope;
}

static uint32_t find_row(struct tp_fold *fold, struct row_key key)
{
    uint64_t hash = key.name * UINT64_C(0xff51afd7ed558ccd) + key.shapes * UINT64_C(37) +
                    key.scope * UINT64_C(101) + key.kind * UINT64_C(211);
    uint32_t at = hash_of(hash, ROW_SLOTS);

    for (; fold->row_slots[at]; at = (at + 1) % ROW_SLOTS)
        if (same_key(&fold->rows[fold->row_slots[at] - 1].key, &key))
            return fold->row_slots[at] - 1;
    if (fold->row_count == TP_FOLD_ROWS)
        return CROWDED_ROW;
    fold->rows[fold->row_count].key = key;
    fold->row_slots[at] = ++fold->row_count;
    return fold->row_count - 1;
}

static const struct tp_name_look *look_of(struct tp_fold *fold, const uint64_t *record)
{
    unsigned kind = tp_slot_kind(record);
    bool nvtx = tp_kinds[kind].class_ == TP_CLASS_NVTX ||
                (kind == TP_EVENT_ASYNC_BEGIN && (record[5] & 0xff) == TP_CLASS_NVTX);

    return tp_name_index_look(&fold->names, tp_slot_argument(record), nvtx);
}

/* The row of a range or start/end range. */
static uint32_t row_of(struct tp_fold *fold, const uint64_t *record,
                       const struct tp_name_look *look)
{
    unsigned kind = tp_slot_kind(record);
    struct row_key key = {
        .name = look->row ? look->row | UINT64_C(1) << 63 : tp_slot_argument(record),
        .kind = kind == TP_EVENT_NVTX_PUSH_EX ? TP_EVENT_NVTX_PUSH : (uint8_t)kind};

    if (kind == TP_EVENT_OP_BEGIN) {
        key.shapes = (uint32_t)record[6];
        key.scope = (uint8_t)record[7];
    } else if (kind == TP_EVENT_ASYNC_BEGIN) {
        key.scope = (uint8_t)record[5];
    }
    return find_row(fold, key);
}

static void sketch(struct tp_fold *fold, uint32_t row, uint64_t ticks)
{
    uint32_t what = (row << 12 | tp_sketch_bucket(ticks)) + 1;
    uint32_t at = hash_of(what, TP_FOLD_CELLS);

    for (; fold->cells[at].what; at = (at + 1) % TP_FOLD_CELLS) {
        if (fold->cells[at].what != what)
            continue;
        fold->cells[at].count++;
        return;
    }
    if (fold->cells_used == CELLS_USED_MAX) {
        fold->totals.without_sketch++;
        return;
    }
    fold->cell_order[fold->cells_used++] = at;
    fold->cells[at] = (struct cell){what, 1};
}

/* Is it in list order before those that were counted? */
static bool is_first(const struct tp_summary_sums *sums, uint64_t start, uint64_t end)
{
    return !sums->count || start < sums->first_start ||
           (start == sums->first_start && end > sums->first_end);
}

static inline void keep_last(struct tp_summary_last *last, uint32_t row, uint64_t start,
                             uint64_t end, bool has_parent)
{
    if (start < last->start || (start == last->start && end > last->end && last->row))
        return;
    last->row = row + 1;
    last->start = start;
    last->end = end;
    last->has_parent = has_parent;
}

static struct tp_summary_sums *count_one(struct tp_fold *fold, uint32_t index,
                                         const uint64_t *record, uint64_t start, uint64_t end,
                                         bool has_parent)
{
    struct row *row = &fold->rows[index];
    struct tp_summary_sums *sums = &row->sums;
    uint64_t ticks = end - start;

    if (is_first(sums, start, end)) {
        if (index != CROWDED_ROW)
            memcpy(row->record, record,
                   (size_t)tp_kind_slots(tp_slot_kind(record)) * TP_SLOT_BYTES);
        sums->first_start = start;
        sums->first_end = end;
        sums->has_parent = has_parent;
    }
    keep_last(&fold->totals.last, index, start, end, has_parent);
    if (!sums->count || ticks < sums->least)
        sums->least = ticks;
    if (ticks > sums->most)
        sums->most = ticks;
    sums->count++;
    sums->ticks += ticks;
    fold->totals.crowded += index == CROWDED_ROW;
    sketch(fold, index, ticks);
    return sums;
}

static void count_range(struct tp_fold *fold, uint32_t row, const uint64_t *record, uint64_t start,
                        uint64_t end, int64_t memory, int64_t device,
                        const struct tp_summary_kids *kids, bool has_parent)
{
    struct tp_summary_sums *sums = count_one(fold, row, record, start, end, has_parent);

    fold->totals.ranges++;
    sums->self_ticks += (int64_t)(end - start - kids->ticks);
    sums->memory += memory;
    sums->self_memory += memory - kids->memory;
    sums->device += device;
    sums->self_device += device - kids->device;
}

/* ---- frames ---- */

static uint32_t take_frame(struct tp_fold *fold)
{
    uint32_t index = fold->spare;

    if (index) {
        fold->spare = fold->frames[index].class_below;
        return index;
    }
    return fold->frame_count < TP_FOLD_FRAMES ? ++fold->frame_count : 0;
}

static void give_frame(struct tp_fold *fold, uint32_t index)
{
    fold->frames[index].class_below = fold->spare;
    fold->spare = index;
}

static void open_range(struct tp_fold *fold, struct track *track, const uint64_t *record,
                       uint64_t ticks)
{
    const struct tp_kind_info *kind = &tp_kinds[tp_slot_kind(record)];
    uint32_t *skipped = &track->told.skipped[kind->class_];
    uint32_t index = *skipped || track->depth >= TP_BLOCK_OPEN_MAX ? 0 : take_frame(fold);

    if (!index) {
        ++*skipped;
        fold->totals.too_deep++;
        return;
    }
    struct frame *frame = &fold->frames[index];
    const struct tp_name_look *look = look_of(fold, record);
    memcpy(frame->range.record, record, TP_SLOT_BYTES);
    if (kind->slots > 1)
        memcpy(frame->range.record + TP_SLOT_WORDS, record + TP_SLOT_WORDS, TP_SLOT_BYTES);
    frame->range.start = ticks;
    frame->range.device_start = track->told.device_bytes;
    frame->range.kids = (struct tp_summary_kids){0};
    frame->range.has_held = false;
    frame->path = frame->held_path = 0;
    frame->text = look->text;
    frame->row = look->filtered ? CROWDED_ROW : row_of(fold, record, look);
    frame->sequence = ++fold->sequence;
    frame->hidden = look->filtered;
    frame->class_below = track->class_top[kind->class_];
    track->class_top[kind->class_] = index;
    frame->above = 0;
    frame->below = track->top;
    track->depth++;
    if (frame->hidden)
        return;
    if (track->top)
        fold->frames[track->top].above = index;
    track->top = index;
}

static void take_out(struct tp_fold *fold, struct track *track, const struct frame *frame)
{
    if (frame->above)
        fold->frames[frame->above].below = frame->below;
    else
        track->top = frame->below;
    if (frame->below)
        fold->frames[frame->below].above = frame->above;
}

/* ---- which ranges called CUDA ---- */

static uint32_t path_of(struct tp_fold *fold, struct frame *frame, bool for_call)
{
    if (!frame->path)
        frame->path = tp_credit_open(&fold->credit, frame->row, for_call);
    return frame->path;
}

/* A range with calls has ended, and its parent (NULL none) is known. */
static void adopt_path(struct tp_fold *fold, struct frame *parent, uint32_t *path)
{
    if (*path)
        tp_credit_adopt(&fold->credit, parent ? path_of(fold, parent, false) : TP_CREDIT_NOWHERE,
                        *path);
    *path = 0;
}

/* It is the same range as its parent. */
static void fold_path(struct tp_fold *fold, struct frame *frame)
{
    if (frame->held_path)
        tp_credit_fold(&fold->credit, path_of(fold, frame, false), frame->held_path);
    frame->held_path = 0;
}

/* The only child was not alone. */
static void let_go(struct tp_fold *fold, struct frame *frame)
{
    if (!frame->range.has_held)
        return;
    frame->range.has_held = false;
    adopt_path(fold, frame, &frame->held_path);
    count_range(fold, frame->held_row, frame->range.held.record, frame->range.held.start,
                frame->range.held.end, frame->range.held.memory, frame->range.held.device,
                &frame->range.held.kids, true);
}

static void add_kid(struct tp_summary_kids *kids, uint64_t ticks, int64_t memory, int64_t device)
{
    kids->ticks += ticks;
    kids->memory += memory;
    kids->device += device;
    kids->count = kids->count ? 2 : 1;
}

/* A range has ended; it goes to its parent or into a row. */
static void deliver(struct tp_fold *fold, struct frame *frame, uint64_t end, int64_t memory,
                    int64_t device)
{
    const struct tp_summary_frame *range = &frame->range;
    struct frame *parent = frame->below ? &fold->frames[frame->below] : NULL;

    if (parent && !parent->range.kids.count && parent->text == frame->text) {
        parent->range.has_held = true;
        memcpy(parent->range.held.record, range->record, 2 * TP_SLOT_BYTES);
        parent->held_row = frame->row;
        parent->held_path = frame->path;
        parent->range.held.start = range->start;
        parent->range.held.end = end;
        parent->range.held.memory = memory;
        parent->range.held.device = device;
        parent->range.held.kids = range->kids;
        add_kid(&parent->range.kids, end - range->start, memory, device);
        return;
    }
    if (parent) {
        let_go(fold, parent);
        add_kid(&parent->range.kids, end - range->start, memory, device);
    }
    adopt_path(fold, parent, &frame->path);
    count_range(fold, frame->row, range->record, range->start, end, memory, device, &range->kids,
                parent != NULL);
}

static void close_range(struct tp_fold *fold, struct track *track, unsigned class_, uint64_t ticks,
                        const uint64_t *counters)
{
    uint32_t index = track->class_top[class_];
    struct frame *frame = &fold->frames[index];
    const uint64_t *begin = frame->range.record;

    track->class_top[class_] = frame->class_below;
    track->depth--;
    if (frame->hidden) {
        fold->totals.filtered++;
        give_frame(fold, index);
        return;
    }
    if (frame->range.has_held) { /* the only child bears our name: its children are ours */
        frame->range.kids = frame->range.held.kids;
        frame->range.has_held = false;
        fold_path(fold, frame);
        fold->totals.folded++;
    }
    uint64_t end = (int64_t)(ticks - frame->range.start) < 0 ? frame->range.start : ticks;
    int64_t memory = (int64_t)(counters[1] - begin[2] - (counters[2] - begin[3]));
    deliver(fold, frame, end, memory, track->told.device_bytes - frame->range.device_start);
    take_out(fold, track, frame);
    give_frame(fold, index);
}

static void end_range(struct tp_fold *fold, struct track *track, unsigned class_, uint64_t ticks,
                      const uint64_t *record)
{
    if (track->told.skipped[class_])
        track->told.skipped[class_]--;
    else if (!track->class_top[class_])
        fold->totals.ends_without_begin++;
    else
        close_range(fold, track, class_, ticks, record + 1);
}

/* ---- start/end ranges ---- */

static uint64_t half_id(const struct tp_summary_half *half)
{
    return half->record[4];
}

/* Where the half with this id is, or where it would be. */
static uint32_t find_half(const struct tp_fold *fold, uint64_t id)
{
    uint32_t at = hash_of(id, TP_FOLD_HALVES);

    while (fold->half_used[at] && half_id(&fold->halves[at]) != id)
        at = (at + 1) % TP_FOLD_HALVES;
    return at;
}

/* And close the gap, so that those behind it are found. */
static void remove_half(struct tp_fold *fold, uint32_t at)
{
    uint32_t next = at;

    fold->half_count--;
    for (;;) {
        fold->half_used[at] = false;
        uint32_t home;
        do {
            next = (next + 1) % TP_FOLD_HALVES;
            if (!fold->half_used[next])
                return;
            home = hash_of(half_id(&fold->halves[next]), TP_FOLD_HALVES);
        } while ((next - home) % TP_FOLD_HALVES < (next - at) % TP_FOLD_HALVES);
        fold->halves[at] = fold->halves[next];
        fold->half_used[at] = true;
        at = next;
    }
}

static void see_half(struct tp_fold *fold, const struct track *track, const uint64_t *record,
                     uint64_t ticks)
{
    uint32_t at = find_half(fold, record[4]);
    struct tp_summary_half *half = &fold->halves[at];
    bool is_end = tp_slot_kind(record) == TP_EVENT_ASYNC_END;

    if (!fold->half_used[at]) {
        if (fold->half_count == HALVES_USED_MAX) {
            fold->totals.missing_ranges++;
            return;
        }
        fold->half_count++;
        fold->half_used[at] = true;
        memset(half, 0, sizeof(*half));
        memcpy(half->record, record, (size_t)tp_kind_slots(tp_slot_kind(record)) * TP_SLOT_BYTES);
        half->ticks = ticks;
        half->track = track->told.track;
        return;
    }
    if ((tp_slot_kind(half->record) == TP_EVENT_ASYNC_END) == is_end)
        return; /* an id that is there twice: not of our making */
    const uint64_t *begin = is_end ? half->record : record;
    uint64_t start = is_end ? half->ticks : ticks, end = is_end ? ticks : half->ticks;
    if ((int64_t)(end - start) < 0)
        end = start;
    const struct tp_name_look *look = look_of(fold, begin);
    if (look->filtered)
        fold->totals.filtered++;
    else
        count_one(fold, row_of(fold, begin, look), begin, start, end, false);
    remove_half(fold, at);
}

/* ---- records ---- */

/* What a device did, by what makes its name. */
static void see_work(struct tp_fold *fold, const uint64_t *record, unsigned kind)
{
    uint64_t start = record[4], end = record[5], key = tp_slot_argument(record);

    if (!start || end < start) {
        fold->totals.missing_records++;
        return;
    }
    if (kind == TP_EVENT_GPU_MEMCPY)
        key &= 0xffffff;
    else if (kind == TP_EVENT_GPU_MEMSET)
        key = record[6] >> 32 & 0xff;
    else if (kind == TP_EVENT_CUDA_SYNC)
        key &= 0xff;
    uint32_t row = find_row(fold, (struct row_key){.name = key, .kind = (uint8_t)kind});
    struct tp_summary_sums *sums = count_one(fold, row, record, start, end, false);
    sums->self_ticks += (int64_t)(end - start);
    if (kind >= TP_EVENT_GPU_KERNEL && kind <= TP_EVENT_GPU_GRAPH)
        tp_credit_work(&fold->credit, (uint32_t)record[6], end - start, (uint32_t)record[9] != 0);
}

static void credit_row(void *context, uint32_t row, uint64_t own, uint64_t total)
{
    struct tp_fold *fold = context;

    fold->rows[row].sums.own_work_ticks += own;
    fold->rows[row].sums.work_ticks += total;
}

/* Without room for its path it is as a call that was not recorded. To make room takes long, so it
 * is tried once in many calls. */
static void see_call(struct tp_fold *fold, const struct track *track, uint32_t id)
{
    struct frame *top = track->top ? &fold->frames[track->top] : NULL;

    if (!top) {
        tp_credit_call(&fold->credit, id, TP_CREDIT_NOWHERE);
        return;
    }
    top->range.kids.count = top->range.kids.count ? 2 : 1;
    let_go(fold, top);
    if (!path_of(fold, top, true) && id - fold->room_made_at > TP_CREDIT_DONE_IDS / 4) {
        tp_credit_tell(&fold->credit, credit_row, fold);
        fold->room_made_at = id;
    }
    if (path_of(fold, top, true))
        tp_credit_call(&fold->credit, id, top->path);
}

static void see_told_call(struct tp_fold *fold, const uint64_t *record)
{
    fold->totals.missing_records++;
    if (!tp_name_index_look(&fold->names, tp_slot_argument(record), false)->launches)
        tp_credit_idle(&fold->credit, (uint32_t)record[6]);
}

/* Of a device, told by a framework: the bytes of the ranges around, else a row of their own. */
static void see_memory(struct tp_fold *fold, struct track *track, const uint64_t *record,
                       uint64_t ticks)
{
    if (!(record[1] & 0xffff))
        return;
    fold->totals.device_memory++;
    track->told.device_bytes += (int64_t)record[5];
    if (track->top)
        return;
    uint32_t row = find_row(fold, (struct row_key){.kind = TP_EVENT_MEMORY});
    struct tp_summary_sums *sums = count_one(fold, row, record, ticks, ticks, false);
    sums->device += (int64_t)record[5];
    sums->self_device += (int64_t)record[5];
}

static void see_point(struct tp_fold *fold, struct track *track, const uint64_t *record,
                      unsigned kind, uint64_t ticks)
{
    switch (kind) {
    case TP_EVENT_ASYNC_BEGIN:
    case TP_EVENT_ASYNC_END:
        see_half(fold, track, record, ticks);
        break;
    case TP_EVENT_MEMORY:
        see_memory(fold, track, record, ticks);
        break;
    case TP_EVENT_CUDA_CALL:
        see_call(fold, track, tp_slot_argument(record));
        break;
    case TP_EVENT_GPU_KERNEL:
    case TP_EVENT_GPU_MEMCPY:
    case TP_EVENT_GPU_MEMSET:
    case TP_EVENT_GPU_GRAPH:
    case TP_EVENT_CUDA_SYNC:
    case TP_EVENT_CUDA_OVERHEAD:
        see_work(fold, record, kind);
        break;
    case TP_EVENT_CUDA_API:
        see_told_call(fold, record);
        break;
    case TP_EVENT_CUDA_MEMORY:
        fold->totals.missing_records++;
        break;
    default: /* in no row of any report */
        break;
    }
}

static void feed(struct tp_fold *fold, struct track *track, const uint64_t *slots, uint32_t count)
{
    for (uint32_t at = 0; at < count;) {
        const uint64_t *record = slots + (size_t)at * TP_SLOT_WORDS;
        unsigned kind = tp_slot_kind(record);
        uint64_t ticks = tp_ticks_unwrap(tp_slot_ticks(record), track->told.ticks);
        track->told.ticks = ticks;
        fold->totals.kinds[kind]++;
        if (tp_kinds[kind].role == TP_ROLE_BEGIN)
            open_range(fold, track, record, ticks);
        else if (tp_kinds[kind].role == TP_ROLE_END)
            end_range(fold, track, tp_kinds[kind].class_, ticks, record);
        else if (tp_kinds[kind].role == TP_ROLE_LOST)
            fold->totals.lost_records += record[4];
        else
            see_point(fold, track, record, kind, ticks);
        memcpy(track->told.counters, record + 1, sizeof(track->told.counters));
        at += tp_kinds[kind].slots;
    }
}

/* ---- tracks ---- */

static uint32_t find_track_slot(const struct tp_fold *fold, uint32_t number)
{
    uint32_t at = hash_of(number + UINT64_C(1), TRACK_SLOTS);

    while (fold->track_slots[at] && fold->tracks[fold->track_slots[at] - 1].told.track != number)
        at = (at + 1) % TRACK_SLOTS;
    return at;
}

/* Its only child so far has ended, and is counted. */
static void drop_frame(struct tp_fold *fold, uint32_t index)
{
    struct frame *frame = &fold->frames[index];

    fold->totals.missing_ranges += !frame->hidden;
    if (!frame->hidden)
        let_go(fold, frame);
    if (frame->path)
        tp_credit_fold(&fold->credit, TP_CREDIT_NOWHERE, frame->path);
    frame->path = 0;
    give_frame(fold, index);
}

static void drop_frames(struct tp_fold *fold, struct track *track)
{
    for (unsigned c = 0; c < TP_CLASS_END; c++)
        while (track->class_top[c]) {
            uint32_t index = track->class_top[c];
            track->class_top[c] = fold->frames[index].class_below;
            drop_frame(fold, index);
        }
    track->top = track->depth = 0;
    memset(track->told.skipped, 0, sizeof(track->told.skipped));
}

/* The last one takes its place. */
static void remove_track(struct tp_fold *fold, struct track *track)
{
    uint32_t slot = find_track_slot(fold, track->told.track), next = slot;

    for (;;) { /* close the gap, so that those behind it are found */
        fold->track_slots[slot] = 0;
        uint32_t home;
        do {
            next = (next + 1) % TRACK_SLOTS;
            if (!fold->track_slots[next])
                goto closed;
            home = hash_of(fold->tracks[fold->track_slots[next] - 1].told.track + UINT64_C(1),
                           TRACK_SLOTS);
        } while ((next - home) % TRACK_SLOTS < (next - slot) % TRACK_SLOTS);
        fold->track_slots[slot] = fold->track_slots[next];
        slot = next;
    }
closed:
    fold->track_count--;
    struct track *last = &fold->tracks[fold->track_count];
    if (track == last)
        return;
    *track = *last;
    fold->track_slots[find_track_slot(fold, track->told.track)] =
        (uint32_t)(track - fold->tracks) + 1;
}

/* Ranges that were open before the block, of a track that we know nothing of. */
static void open_all(struct tp_fold *fold, struct track *track, const struct tp_block *block)
{
    for (uint32_t at = 0; at < block->open_slots;) {
        const uint64_t *record = block->open + (size_t)at * TP_SLOT_WORDS;
        open_range(fold, track, record,
                   tp_ticks_unwrap(tp_slot_ticks(record), block->header.first_ticks));
        at += tp_kinds[tp_slot_kind(record)].slots;
    }
}

static struct track *find_track(struct tp_fold *fold, const struct tp_block *block)
{
    uint32_t slot = find_track_slot(fold, block->header.track);
    struct track *track =
        fold->track_slots[slot] ? &fold->tracks[fold->track_slots[slot] - 1] : NULL;

    if (track && track->told.next_slot == block->header.first_slot)
        return track;
    if (!track) {
        if (fold->track_count == TP_FOLD_TRACKS)
            return NULL;
        track = &fold->tracks[fold->track_count];
        fold->track_slots[slot] = ++fold->track_count;
        memset(track, 0, sizeof(*track));
        track->told.track = block->header.track;
    }
    drop_frames(fold, track); /* behind a gap their ends may be in it */
    track->told.ticks = block->header.first_ticks;
    open_all(fold, track, block);
    return track;
}

static bool is_idle(const struct track *track)
{
    for (unsigned c = 0; c < TP_CLASS_END; c++)
        if (track->told.skipped[c])
            return false;
    return !track->depth;
}

void tp_fold_block(struct tp_fold *fold, const struct tp_block *block)
{
    const struct tp_block_header *header = &block->header;
    struct tp_summary_totals *totals = &fold->totals;

    tp_name_index_update(&fold->names);
    struct track *track = find_track(fold, block);
    if (!track) {
        totals->missing_blocks++;
        totals->missing_slots += header->slots;
        return;
    }
    feed(fold, track, block->slots, block->slot_count);
    track->told.next_slot = header->first_slot + header->slots;
    if (!totals->blocks || header->first_ticks < totals->first_ticks)
        totals->first_ticks = header->first_ticks;
    if (header->last_ticks > totals->last_ticks)
        totals->last_ticks = header->last_ticks;
    totals->blocks++;
    totals->slots += header->slots;
    if (is_idle(track))
        remove_track(fold, track);
}

/* ---- out ---- */

/* The cells by rows, ascending in each: row_cells says where each row's begin. */
static void sort_cells(struct tp_fold *fold)
{
    uint32_t *begins = fold->row_cells, *ends = fold->row_ends, sum = 0;

    memset(ends, 0, fold->row_count * sizeof(*ends));
    for (uint32_t i = 0; i < fold->cells_used; i++)
        ends[(fold->cells[fold->cell_order[i]].what - 1) >> 12]++;
    for (uint32_t row = 0; row < fold->row_count; row++) {
        begins[row] = sum;
        sum += ends[row];
        ends[row] = begins[row];
    }
    for (uint32_t i = 0; i < fold->cells_used; i++) {
        const struct cell *cell = &fold->cells[fold->cell_order[i]];
        uint32_t what = cell->what - 1, at = ends[what >> 12]++;
        struct tp_summary_bucket bucket = {what & 0xfff, cell->count};
        for (; at > begins[what >> 12] && fold->sorted[at - 1].bucket > bucket.bucket; at--)
            fold->sorted[at] = fold->sorted[at - 1];
        fold->sorted[at] = bucket;
    }
}

/* A row is made when a range begins: those of which none has ended are not put. */
static uint32_t count_rows(const struct tp_fold *fold, uint32_t end)
{
    uint32_t count = 0;

    for (uint32_t i = 0; i < end; i++)
        count += fold->rows[i].sums.count != 0;
    return count;
}

static void put_rows(struct tp_fold *fold, struct tp_wire_out *out)
{
    uint32_t number = 0;

    sort_cells(fold);
    tp_wire_put_varint(out, count_rows(fold, fold->row_count));
    for (uint32_t i = 0; i < fold->row_count; i++) {
        struct row *row = &fold->rows[i];
        uint32_t from = fold->row_cells[i], to = fold->row_ends[i], before = 0;
        row->number = row->sums.count ? ++number : 0;
        if (!row->number)
            continue;
        tp_summary_put_row(out, row->record, &row->sums, to - from);
        for (uint32_t c = from; c < to; c++) {
            tp_summary_put_bucket(out, fold->sorted[c].bucket - before, fold->sorted[c].count);
            before = fold->sorted[c].bucket;
        }
    }
}

/* A track's frames in the order of their begins. */
static uint32_t order_frames(struct tp_fold *fold, const struct track *track)
{
    uint32_t tops[TP_CLASS_END], at = track->depth;

    memcpy(tops, track->class_top, sizeof(tops));
    while (at) {
        unsigned newest = 0;
        for (unsigned c = 1; c < TP_CLASS_END; c++)
            if (tops[c] && (!tops[newest] ||
                            fold->frames[tops[c]].sequence > fold->frames[tops[newest]].sequence))
                newest = c;
        fold->order[--at] = tops[newest];
        tops[newest] = fold->frames[tops[newest]].class_below;
    }
    return track->depth;
}

static void put_tracks(struct tp_fold *fold, struct tp_wire_out *out)
{
    tp_wire_put_varint(out, fold->track_count);
    for (uint32_t i = 0; i < fold->track_count; i++) {
        struct track *track = &fold->tracks[i];
        track->told.frame_count = order_frames(fold, track);
        tp_summary_put_track(out, &track->told);
        for (uint32_t f = 0; f < track->told.frame_count; f++)
            tp_summary_put_frame(out, &fold->frames[fold->order[f]].range);
    }
}

static void put_halves(const struct tp_fold *fold, struct tp_wire_out *out)
{
    tp_wire_put_varint(out, fold->half_count);
    for (uint32_t i = 0; i < TP_FOLD_HALVES; i++)
        if (fold->half_used[i])
            tp_summary_put_half(out, &fold->halves[i]);
}

/* ---- out: who is credited with the work of devices ---- */

static void put_credits(const struct tp_fold *fold, struct tp_wire_out *out)
{
    uint32_t count = 0;

    for (uint32_t i = 0; i < fold->row_count; i++)
        count += fold->rows[i].number && fold->rows[i].sums.work_ticks;
    tp_wire_put_varint(out, count);
    for (uint32_t i = 0; i < fold->row_count; i++)
        if (fold->rows[i].number && fold->rows[i].sums.work_ticks)
            tp_summary_put_credit(out, fold->rows[i].number, &fold->rows[i].sums);
}

/* What is told of each path. */
struct putting {
    const struct tp_fold *fold;
    struct tp_wire_out *out;
    uint32_t number;
};

static void put_path(void *context, const struct tp_credit_path *path, uint32_t parent)
{
    struct putting *putting = context;

    tp_summary_put_path(putting->out,
                        &(struct tp_summary_path){.of = TP_SUMMARY_ENDED,
                                                  .parent = parent,
                                                  .row = putting->fold->rows[path->row].number});
}

static void put_open_path(struct tp_fold *fold, struct putting *putting, uint32_t number,
                          struct tp_summary_path place)
{
    if (!number)
        return;
    place.own_ticks = fold->credit.paths[number].own;
    place.below_ticks = fold->credit.paths[number].below;
    tp_summary_put_path(putting->out, &place);
    tp_credit_number(&fold->credit, number, &putting->number, put_path, putting);
}

/* Of open ranges and of what is below them, then of those that have ended. */
static void put_paths(struct tp_fold *fold, struct tp_wire_out *out)
{
    struct putting putting = {.fold = fold, .out = out};

    tp_wire_put_varint(out, fold->credit.paths_used);
    for (uint32_t t = 0; t < fold->track_count; t++) {
        uint32_t count = order_frames(fold, &fold->tracks[t]);
        for (uint32_t f = 0; f < count; f++) {
            const struct frame *frame = &fold->frames[fold->order[f]];
            struct tp_summary_path place = {.of = TP_SUMMARY_OPEN, .track = t, .frame = f};
            put_open_path(fold, &putting, frame->path, place);
            place.of = TP_SUMMARY_HELD;
            put_open_path(fold, &putting, frame->held_path, place);
        }
    }
    tp_credit_number(&fold->credit, TP_CREDIT_NOWHERE, &putting.number, put_path, &putting);
}

void tp_fold_put(struct tp_fold *fold, struct tp_wire_out *out)
{
    struct tp_summary_totals totals = fold->totals;

    tp_credit_tell(&fold->credit, credit_row, fold);
    totals.last.row = count_rows(fold, totals.last.row);
    tp_summary_put_totals(out, &totals);
    put_rows(fold, out);
    put_tracks(fold, out);
    put_halves(fold, out);
    put_credits(fold, out);
    put_paths(fold, out);
    tp_credit_put(&fold->credit, out);
}
