/* SPDX-License-Identifier: MIT */
#include "model/stream.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "event/brief.h"

struct tp_stream_frame {
    struct tp_stream_range range;          /* record, name, start and sequence from the begin */
    struct tp_stream_frame *below, *above; /* in the list of all classes */
    struct tp_stream_frame *class_below;
    int64_t device_start;
    struct tp_stream_kids kids;
    void *note, *held_note; /* the watcher's */
    bool hidden;            /* filtered by name or by window */
    bool has_held;
    struct tp_stream_range held; /* the only child, of the same name */
    struct tp_stream_kids held_kids;
};

void tp_stream_init(struct tp_stream *stream, const struct tp_stream_config *config,
                    uint64_t near_ticks)
{
    *stream = (struct tp_stream){.config = *config, .ticks = near_ticks};
}

static void frame_free_list(struct tp_stream_frame *frame)
{
    while (frame) {
        struct tp_stream_frame *next = frame->class_below;
        free(frame);
        frame = next;
    }
}

void tp_stream_fini(struct tp_stream *stream)
{
    for (unsigned c = 0; c < TP_CLASS_END; c++) {
        frame_free_list(stream->class_top[c]);
        stream->class_top[c] = NULL;
    }
    frame_free_list(stream->spare);
    stream->spare = stream->top = NULL;
}

void tp_stream_rest(struct tp_stream *stream)
{
    if (stream->depth)
        return;
    frame_free_list(stream->spare);
    stream->spare = NULL;
}

static const struct tp_stream_name *name_of(const struct tp_stream *stream, uint32_t id,
                                            unsigned class_)
{
    const struct tp_stream_names *names = stream->config.names;

    if (id < names->count) {
        const struct tp_stream_name *name =
            class_ == TP_CLASS_NVTX ? names->nvtx[id] : names->plain[id];
        if (name)
            return name;
    }
    return names->unknown(names->context, id);
}

static struct tp_stream_frame *take_frame(struct tp_stream *stream)
{
    struct tp_stream_frame *frame = stream->spare;

    if (frame)
        stream->spare = frame->class_below;
    else
        frame = malloc(sizeof(*frame));
    return frame;
}

static void put_on_top(struct tp_stream *stream, struct tp_stream_frame *frame)
{
    frame->above = NULL;
    frame->below = stream->top;
    if (stream->top)
        stream->top->above = frame;
    stream->top = frame;
}

static void take_out(struct tp_stream *stream, struct tp_stream_frame *frame)
{
    if (frame->above)
        frame->above->below = frame->below;
    else
        stream->top = frame->below;
    if (frame->below)
        frame->below->above = frame->above;
}

bool tp_stream_in_windows(const struct tp_stream_window *windows, size_t count, int64_t ns)
{
    size_t low = 0, high = count;

    while (low < high) { /* the first window that ends behind @ns */
        size_t middle = low + (high - low) / 2;
        if (windows[middle].to_ns <= ns)
            low = middle + 1;
        else
            high = middle;
    }
    return low < count && windows[low].from_ns <= ns;
}

static int open_range(struct tp_stream *stream, const uint64_t *record, unsigned kind,
                      uint64_t ticks)
{
    unsigned class_ = tp_kinds[kind].class_, words = tp_kinds[kind].slots * TP_SLOT_WORDS;

    if (__builtin_expect(stream->depth >= TP_STREAM_DEPTH_MAX || stream->skipped[class_], 0)) {
        stream->counts.too_deep++;
        stream->skipped[class_]++;
        return 0;
    }
    struct tp_stream_frame *frame = take_frame(stream);
    if (!frame)
        return -ENOMEM;
    struct tp_stream_range *range = &frame->range;
    memcpy(range->record, record, TP_SLOT_BYTES);
    if (words > TP_SLOT_WORDS)
        memcpy(range->record + TP_SLOT_WORDS, record + TP_SLOT_WORDS, TP_SLOT_BYTES);
    else
        memset(range->record + TP_SLOT_WORDS, 0, TP_SLOT_BYTES);
    range->name = name_of(stream, tp_slot_argument(record), class_);
    range->start_ns = tp_clock_ns(stream->config.clock, &stream->clock_cursor, ticks);
    range->sequence = ++stream->sequence;
    range->class_ = (uint8_t)class_;
    frame->device_start = stream->device_bytes;
    frame->kids = (struct tp_stream_kids){0};
    frame->note = frame->held_note = NULL;
    frame->has_held = false;
    frame->class_below = stream->class_top[class_];
    stream->class_top[class_] = frame;
    frame->hidden = range->name->filtered;
    if (__builtin_expect(stream->config.window_count != 0, 0) && !frame->hidden)
        frame->hidden = !tp_stream_in_windows(stream->config.windows, stream->config.window_count,
                                              range->start_ns);
    if (!frame->hidden)
        put_on_top(stream, frame);
    stream->depth++;
    if (kind == TP_EVENT_OP_BEGIN && record[7] >> 8 & 1)
        stream->counts.without_details++;
    return 0;
}

/* The range's own sums, its children's being known. */
static void sum_up(struct tp_stream *stream, struct tp_stream_frame *frame, uint64_t ticks,
                   const uint64_t counters[3])
{
    struct tp_stream_range *range = &frame->range;
    const uint64_t *begin = range->record;

    range->end_ns = tp_clock_ns(stream->config.clock, &stream->clock_cursor, ticks);
    if (range->end_ns < range->start_ns)
        range->end_ns = range->start_ns;
    range->self_ns = range->end_ns - range->start_ns - frame->kids.ns;
    range->allocated_bytes = counters[1] - begin[2];
    range->memory_bytes = (int64_t)(range->allocated_bytes - (counters[2] - begin[3]));
    range->self_memory_bytes =
        (int64_t)((uint64_t)range->memory_bytes - (uint64_t)frame->kids.memory);
    range->device_bytes = (int64_t)((uint64_t)stream->device_bytes - (uint64_t)frame->device_start);
    range->self_device_bytes =
        (int64_t)((uint64_t)range->device_bytes - (uint64_t)frame->kids.device);
    range->alloc_calls = (uint32_t)(counters[0] >> 32) - (uint32_t)(begin[1] >> 32);
}

static void add_kid(struct tp_stream_kids *kids, const struct tp_stream_range *range)
{
    kids->ns += range->end_ns - range->start_ns;
    kids->memory = (int64_t)((uint64_t)kids->memory + (uint64_t)range->memory_bytes);
    kids->device = (int64_t)((uint64_t)kids->device + (uint64_t)range->device_bytes);
    kids->count = kids->count ? 2 : 1;
}

static int hand_out(struct tp_stream *stream, const struct tp_stream_range *range)
{
    stream->counts.ranges++;
    return stream->config.range(stream->config.context, range);
}

static void give_note(struct tp_stream *stream, struct tp_stream_frame *into, void **note,
                      bool fold)
{
    if (!*note)
        return;
    stream->config.watcher->merge(stream->config.context, into ? &into->range : NULL,
                                  into ? &into->note : NULL, *note, fold);
    *note = NULL;
}

/* The only child was not alone. */
static int let_go(struct tp_stream *stream, struct tp_stream_frame *frame)
{
    frame->has_held = false;
    give_note(stream, frame, &frame->held_note, false);
    return hand_out(stream, &frame->held);
}

/* Give a summed-up range to the frame below it, or out. */
static int deliver(struct tp_stream *stream, struct tp_stream_frame *frame)
{
    struct tp_stream_frame *parent = frame->below;
    int error = 0;

    frame->range.parent = parent ? parent->range.sequence : 0;
    if (stream->config.watcher)
        stream->config.watcher->ended(stream->config.context, &frame->range);
    if (parent) {
        if (stream->config.fold && !parent->kids.count &&
            parent->range.name->name == frame->range.name->name) {
            parent->held = frame->range;
            parent->held_kids = frame->kids;
            parent->has_held = true;
            parent->held_note = frame->note;
            add_kid(&parent->kids, &frame->range);
            return 0;
        }
        if (parent->has_held)
            error = let_go(stream, parent);
        add_kid(&parent->kids, &frame->range);
    }
    give_note(stream, parent, &frame->note, false);
    return error ? error : hand_out(stream, &frame->range);
}

bool tp_stream_top(const struct tp_stream *stream, const struct tp_stream_range **ret_range,
                   void ***ret_note)
{
    if (!stream->top)
        return false;
    *ret_range = &stream->top->range;
    *ret_note = &stream->top->note;
    return true;
}

int tp_stream_add_call(struct tp_stream *stream)
{
    struct tp_stream_frame *top = stream->top;

    if (!top)
        return 0;
    top->kids.count = top->kids.count ? 2 : 1;
    return top->has_held ? let_go(stream, top) : 0;
}

uint64_t tp_stream_last_open(const struct tp_stream *stream, int64_t ns)
{
    const struct tp_stream_frame *frame = stream->top;

    while (frame && frame->range.start_ns > ns)
        frame = frame->below;
    return frame ? frame->range.sequence : 0;
}

bool tp_stream_find(struct tp_stream *stream, uint64_t sequence,
                    const struct tp_stream_range **ret_range, void ***ret_note)
{
    for (struct tp_stream_frame *f = stream->top; f; f = f->below) {
        bool is_held = f->has_held && f->held.sequence == sequence;
        if (!is_held && f->range.sequence != sequence)
            continue;
        *ret_range = is_held ? &f->held : &f->range;
        *ret_note = is_held ? &f->held_note : &f->note;
        return true;
    }
    return false;
}

/* Close a class's innermost range. */
static int close_range(struct tp_stream *stream, unsigned class_, uint64_t ticks,
                       const uint64_t counters[3], enum tp_stream_end how)
{
    struct tp_stream_frame *frame = stream->class_top[class_];
    int error = 0;

    stream->class_top[class_] = frame->class_below;
    stream->depth--;
    if (frame->hidden) {
        stream->counts.filtered++;
    } else {
        if (frame->has_held) { /* the only child bears our name: its children are ours */
            frame->kids = frame->held_kids;
            stream->counts.folded++;
            if (stream->config.watcher)
                stream->config.watcher->folded(stream->config.context, &frame->held, &frame->range);
            give_note(stream, frame, &frame->held_note, true);
        }
        frame->range.how = (uint8_t)how;
        sum_up(stream, frame, ticks, counters);
        error = deliver(stream, frame);
        take_out(stream, frame);
    }
    frame->class_below = stream->spare;
    stream->spare = frame;
    return error;
}

static int end_range(struct tp_stream *stream, const uint64_t *record, unsigned class_,
                     uint64_t ticks)
{
    if (__builtin_expect(stream->skipped[class_] != 0, 0)) {
        stream->skipped[class_]--;
        return 0;
    }
    if (!stream->class_top[class_]) {
        stream->counts.ends_without_begin++;
        return 0;
    }
    return close_range(stream, class_, ticks, record + 1, TP_STREAM_ENDED);
}

uint64_t tp_stream_innermost(const struct tp_stream *stream)
{
    return stream->top ? stream->top->range.sequence : 0;
}

static int see_point(struct tp_stream *stream, const uint64_t *record, unsigned kind,
                     uint64_t ticks)
{
    bool wanted = kind == TP_EVENT_ASYNC_BEGIN || kind == TP_EVENT_ASYNC_END;

    if (kind == TP_EVENT_ALLOC || kind == TP_EVENT_FREE)
        return stream->config.alloc ? stream->config.alloc(stream->config.context, record, ticks)
                                    : 0;
    if (kind >= TP_EVENT_CUDA_CALL)
        return stream->config.cuda ? stream->config.cuda(stream->config.context, record, ticks) : 0;
    if (kind == TP_EVENT_MEMORY && (record[1] & 0xffff) != 0) {
        stream->device_bytes = (int64_t)((uint64_t)stream->device_bytes + record[5]);
        stream->counts.device_memory++;
        wanted = !stream->top;
        int error =
            stream->config.cuda ? stream->config.cuda(stream->config.context, record, ticks) : 0;
        if (error)
            return error;
    }
    if (!wanted || !stream->config.point)
        return 0;
    int64_t ns = tp_clock_ns(stream->config.clock, &stream->clock_cursor, ticks);
    return stream->config.point(stream->config.context, record, ns, ++stream->sequence);
}

static const uint64_t *make_whole(const struct tp_stream *stream, const uint64_t *brief,
                                  uint64_t record[2 * TP_SLOT_WORDS])
{
    uint64_t before[TP_SLOT_WORDS] = {stream->ticks & TP_TICKS_MASK};

    memcpy(before + 1, stream->counters, sizeof(stream->counters));
    tp_brief_expand(brief, before, record);
    return record;
}

int tp_stream_feed(struct tp_stream *stream, const uint64_t *slots, size_t count)
{
    uint64_t whole[2 * TP_SLOT_WORDS];
    size_t at = 0;
    int error = 0;

    while (at < count && !error) {
        const uint64_t *record = slots + at * TP_SLOT_WORDS;
        unsigned kind = tp_slot_kind(record), step = tp_kind_slots(kind);
        if (!step || step > count - at)
            return -TP_ECORRUPT;
        if (__builtin_expect(tp_is_brief(kind), 0)) {
            record = make_whole(stream, record, whole);
            kind = tp_slot_kind(record);
        }
        uint64_t ticks = tp_ticks_unwrap(record[0] & TP_TICKS_MASK, stream->ticks);
        stream->ticks = ticks;
        stream->counts.kinds[kind]++;
        switch (tp_kinds[kind].role) {
        case TP_ROLE_BEGIN:
            error = open_range(stream, record, kind, ticks);
            break;
        case TP_ROLE_END:
            error = end_range(stream, record, tp_kinds[kind].class_, ticks);
            break;
        case TP_ROLE_LOST:
            stream->counts.lost_records += record[4];
            stream->counts.lost_name_bytes += record[7];
            break;
        default:
            error = see_point(stream, record, kind, ticks);
            break;
        }
        memcpy(stream->counters, record + 1, sizeof(stream->counters));
        at += step;
    }
    return error;
}

/* How many of a class's open ranges, from the outermost, are the first ones of that class in @open;
 * how many are not. @frames: room for all open ranges. */
static uint32_t count_kept(const struct tp_stream *stream, unsigned class_, const uint64_t *open,
                           size_t open_slots, const struct tp_stream_frame **frames,
                           uint32_t *ret_cut)
{
    uint32_t depth = 0, kept = 0;

    for (const struct tp_stream_frame *f = stream->class_top[class_]; f; f = f->class_below)
        frames[depth++] = f;
    for (size_t at = 0; at < open_slots && kept < depth;) {
        const uint64_t *record = open + at * TP_SLOT_WORDS;
        const struct tp_kind_info *info = &tp_kinds[tp_slot_kind(record)];
        at += info->slots;
        if (info->class_ != class_)
            continue;
        if (memcmp(frames[depth - 1 - kept]->range.record, record, TP_SLOT_BYTES))
            break;
        kept++;
    }
    *ret_cut = depth - kept;
    return kept;
}

/* Is @open what it says: whole begin records? */
static bool open_is_sane(const uint64_t *open, size_t open_slots)
{
    for (size_t at = 0; at < open_slots;) {
        unsigned kind = tp_slot_kind(open + at * TP_SLOT_WORDS), step = tp_kind_slots(kind);
        if (!step || step > open_slots - at || tp_kinds[kind].role != TP_ROLE_BEGIN)
            return false;
        at += step;
    }
    return true;
}

/* Close the topmost ranges of each class, @cut[class] of them, newest first. */
static int cut_ranges(struct tp_stream *stream, uint32_t cut[TP_CLASS_END])
{
    struct tp_stream_frame *frame = stream->top, *below;
    int error = 0;

    for (; frame && !error; frame = below) {
        unsigned c = frame->range.class_;
        below = frame->below;
        for (; cut[c] && stream->class_top[c] != frame; cut[c]--)
            close_range(stream, c, 0, stream->counters, TP_STREAM_CUT);
        if (!cut[c])
            continue;
        cut[c]--;
        stream->counts.cut_by_gap++;
        error = close_range(stream, c, stream->ticks, stream->counters, TP_STREAM_CUT);
    }
    for (unsigned c = 0; c < TP_CLASS_END && !error; c++) { /* filtered ones are left */
        for (; cut[c]; cut[c]--)
            close_range(stream, c, 0, stream->counters, TP_STREAM_CUT);
        stream->skipped[c] = 0;
    }
    return error;
}

static int open_again(struct tp_stream *stream, const uint64_t *open, size_t open_slots,
                      uint32_t kept[TP_CLASS_END], uint64_t near_ticks)
{
    for (size_t at = 0; at < open_slots;) {
        const uint64_t *record = open + at * TP_SLOT_WORDS;
        unsigned kind = tp_slot_kind(record), class_ = tp_kinds[kind].class_;
        at += tp_kinds[kind].slots;
        if (kept[class_]) {
            kept[class_]--;
            continue;
        }
        int error =
            open_range(stream, record, kind, tp_ticks_unwrap(tp_slot_ticks(record), near_ticks));
        if (error)
            return error;
    }
    return 0;
}

int tp_stream_restart(struct tp_stream *stream, const uint64_t *open, size_t open_slots,
                      uint64_t near_ticks)
{
    uint32_t kept[TP_CLASS_END], cut[TP_CLASS_END];

    if (!open_is_sane(open, open_slots))
        return -TP_ECORRUPT;
    stream->counts.gaps++;
    const struct tp_stream_frame **frames = malloc((stream->depth + 1) * sizeof(const void *));
    if (!frames)
        return -ENOMEM;
    for (unsigned c = 0; c < TP_CLASS_END; c++)
        kept[c] = count_kept(stream, c, open, open_slots, frames, &cut[c]);
    free(frames);
    int error = cut_ranges(stream, cut);
    if (!error)
        error = open_again(stream, open, open_slots, kept, near_ticks);
    stream->ticks = near_ticks;
    return error;
}

/* The child was followed to its end, so all sums but its own are known. */
static void adopt_held(struct tp_stream *stream, struct tp_stream_frame *frame,
                       const struct tp_stream_adopted *range)
{
    const uint64_t *record = range->held.record;
    struct tp_stream_range *held = &frame->held;

    *held = (struct tp_stream_range){
        .name = name_of(stream, tp_slot_argument(record), tp_kinds[tp_slot_kind(record)].class_),
        .start_ns = tp_clock_ns(stream->config.clock, &stream->clock_cursor, range->held.ticks),
        .end_ns = tp_clock_ns(stream->config.clock, &stream->clock_cursor, range->held.end_ticks),
        .memory_bytes = range->held.memory,
        .self_memory_bytes = range->held.memory - range->held.kids.memory,
        .device_bytes = range->held.device,
        .self_device_bytes = range->held.device - range->held.kids.device,
        .sequence = ++stream->sequence,
        .parent = frame->range.sequence,
        .class_ = tp_kinds[tp_slot_kind(record)].class_,
        .how = TP_STREAM_ENDED,
    };
    memcpy(held->record, record, sizeof(held->record));
    held->self_ns = held->end_ns - held->start_ns - range->held.kids.ns;
    frame->held_kids = range->held.kids;
    frame->held_note = range->held.note;
    frame->has_held = true;
}

int tp_stream_adopt(struct tp_stream *stream, const struct tp_stream_adopted *range)
{
    unsigned kind = tp_slot_kind(range->record), class_ = tp_kinds[kind].class_;
    uint64_t counted = stream->counts.without_details;
    int error = open_range(stream, range->record, kind, range->ticks);

    stream->counts.without_details = counted;
    if (error || !stream->class_top[class_])
        return error;
    struct tp_stream_frame *frame = stream->class_top[class_];
    frame->device_start = range->device_start;
    frame->kids = range->kids;
    frame->note = range->note;
    if (range->has_held)
        adopt_held(stream, frame, range);
    return 0;
}

bool tp_stream_has_open(const struct tp_stream *stream, const uint64_t *open, size_t open_slots)
{
    const struct tp_stream_frame **frames = malloc((stream->depth + 1) * sizeof(const void *));
    uint32_t kept = 0, cut = 0, there = 0;

    if (!frames || !open_is_sane(open, open_slots)) {
        free(frames);
        return false;
    }
    for (unsigned c = 0; c < TP_CLASS_END; c++) {
        uint32_t more;
        kept += count_kept(stream, c, open, open_slots, frames, &more);
        cut += more;
    }
    for (size_t at = 0; at < open_slots; there++)
        at += tp_kind_slots(tp_slot_kind(open + at * TP_SLOT_WORDS));
    free(frames);
    return !cut && kept == there;
}

int tp_stream_finish(struct tp_stream *stream, uint64_t ticks)
{
    uint32_t all[TP_CLASS_END] = {0};
    int error = 0;

    if ((int64_t)(ticks - stream->ticks) < 0)
        ticks = stream->ticks;
    while (stream->top && !error) { /* newest first; a class's newest may be a filtered one */
        unsigned c = stream->top->range.class_;
        stream->counts.unfinished += !stream->class_top[c]->hidden;
        error = close_range(stream, c, ticks, stream->counters, TP_STREAM_UNFINISHED);
    }
    for (unsigned c = 0; c < TP_CLASS_END && !error; c++) {
        for (const struct tp_stream_frame *f = stream->class_top[c]; f; f = f->class_below)
            all[c]++;
    }
    return error ? error : cut_ranges(stream, all);
}

void tp_stream_add_counts(struct tp_stream_counts *into, const struct tp_stream_counts *from)
{
    for (unsigned k = 0; k < TP_EVENT_KIND_END; k++)
        into->kinds[k] += from->kinds[k];
    into->ranges += from->ranges;
    into->folded += from->folded;
    into->filtered += from->filtered;
    into->unfinished += from->unfinished;
    into->cut_by_gap += from->cut_by_gap;
    into->gaps += from->gaps;
    into->ends_without_begin += from->ends_without_begin;
    into->too_deep += from->too_deep;
    into->lost_records += from->lost_records;
    into->lost_name_bytes += from->lost_name_bytes;
    into->without_details += from->without_details;
    into->device_memory += from->device_memory;
}
