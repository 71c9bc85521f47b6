/* SPDX-License-Identifier: MIT
 * What each thread of a process is inside, and since when: from the last block of its track and
 * what its ring holds. Nothing is stopped; a thread that goes on meanwhile is seen a moment
 * earlier. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "input/tptrace.h"
#include "input/tptrace_blocks.h"
#include "input/tptrace_open.h"
#include "model/python_text.h"

#define NAME_SHOWN 120

struct now {
    struct tp_buffer *out;
    bool json, first_process;
    const struct tp_strings *strings;
    struct tptrace_open_stack *stack;
    struct tptrace_open_block block;

    /* of the process at hand */
    struct tptrace_member *member;
    const struct tp_stream_names *names;
    struct tptrace_piece **tails; /* by ordinal: the last pieces, block first; for free() */
    size_t *tail_counts;
    size_t tracks;
    int64_t now_ns;
    size_t clock_cursor;
};

/* ---- the last pieces of each track ---- */

static int grow(struct now *now, size_t ordinal)
{
    if (ordinal < now->tracks)
        return 0;
    size_t room = (ordinal + 1) * 2;
    struct tptrace_piece **tails = realloc(now->tails, room * sizeof(struct tptrace_piece *));
    if (!tails)
        return -ENOMEM;
    now->tails = tails;
    size_t *counts = realloc(now->tail_counts, room * sizeof(*counts));
    if (!counts)
        return -ENOMEM;
    now->tail_counts = counts;
    for (size_t i = now->tracks; i < room; i++) {
        tails[i] = NULL;
        counts[i] = 0;
    }
    now->tracks = room;
    return 0;
}

/* A block says all that was open before it: pieces before it no longer matter. */
static int keep_piece(struct now *now, const struct tptrace_piece *piece)
{
    size_t at = piece->track->ordinal;

    if (grow(now, at))
        return -ENOMEM;
    if (piece->segment != TPTRACE_RING)
        now->tail_counts[at] = 0;
    struct tptrace_piece *grown =
        realloc(now->tails[at], (now->tail_counts[at] + 1) * sizeof(*piece));
    if (!grown)
        return -ENOMEM;
    now->tails[at] = grown;
    grown[now->tail_counts[at]++] = *piece;
    return 0;
}

static int find_tails(struct now *now, struct tptrace_process *p)
{
    struct tptrace_blocks blocks;
    struct tptrace_piece piece;
    int more = 0, error = 0;

    tptrace_blocks_begin(&blocks, p, false);
    while (!error && (more = tptrace_blocks_next(&blocks, &piece)) > 0)
        error = keep_piece(now, &piece);
    tptrace_blocks_end(&blocks);
    return error ? error : more;
}

static void free_tails(struct now *now)
{
    for (size_t i = 0; i < now->tracks; i++)
        free(now->tails[i]);
    free(now->tails);
    free(now->tail_counts);
    now->tails = NULL;
    now->tail_counts = NULL;
    now->tracks = 0;
}

static int read_stack(struct now *now, const struct tptrace_track *track)
{
    struct tptrace_process *p = &now->member->process;
    int error = 0;

    tptrace_open_clear(now->stack);
    for (size_t i = 0; track->ordinal < now->tracks && i < now->tail_counts[track->ordinal]; i++) {
        const struct tptrace_piece *piece = &now->tails[track->ordinal][i];
        if (!i && piece->segment == TPTRACE_RING)
            tptrace_open_evicted(now->stack, p, track->number, piece->first_slot);
        if (piece->segment != TPTRACE_RING)
            error = tptrace_open_read(now->stack, p, piece, &now->block);
        else
            tptrace_open_replay(now->stack, p->ring_slots + piece->offset * TP_SLOT_WORDS,
                                piece->slots);
        if (error)
            return error;
    }
    return 0;
}

/* ---- text and JSON ---- */

static int64_t ns_of(struct now *now, uint64_t ticks)
{
    return tp_clock_ns(&now->member->process.clock, &now->clock_cursor, ticks);
}

static int64_t age(const struct now *now, int64_t ns)
{
    return now->now_ns > ns ? now->now_ns - ns : 0;
}

static const struct tp_string *name_of(const struct now *now, const uint64_t *record)
{
    const struct tp_stream_names *names = now->names;
    unsigned class_ = tp_kinds[tp_slot_kind(record)].class_;
    uint32_t id = tp_slot_argument(record);
    const struct tp_stream_name *name = NULL;

    if (id < names->count)
        name = class_ == TP_CLASS_NVTX ? names->nvtx[id] : names->plain[id];
    if (!name)
        name = names->unknown(names->context, id);
    return tp_strings_get(now->strings, name->trace_name);
}

static void put_ranges(struct now *now, uint64_t near)
{
    struct tp_buffer *out = now->out;

    for (uint32_t i = 0; i < now->stack->count; i++) {
        const uint64_t *record = now->stack->entries + (size_t)i * TPTRACE_OPEN_WORDS;
        const struct tp_string *name = name_of(now, record);
        int64_t start_ns = ns_of(now, tp_ticks_unwrap(tp_slot_ticks(record), near));
        if (now->json) {
            tp_buffer_format(out,
                             "%s{\"start_ns\": %lld, \"age_ns\": %lld, \"name\": ", i ? ", " : "",
                             (long long)start_ns, (long long)age(now, start_ns));
            tp_json_string(out, name->bytes, name->size);
            tp_buffer_char(out, '}');
            continue;
        }
        tp_buffer_format(out, "%14.6f s  %*s", (double)age(now, start_ns) / 1e9, (int)(2 * i), "");
        tp_json_string(out, name->bytes, name->size < NAME_SHOWN ? name->size : NAME_SHOWN);
        tp_buffer_char(out, '\n');
    }
}

static int put_thread(struct now *now, const struct tptrace_track *track, bool *first)
{
    const struct tptrace_process *p = &now->member->process;
    const struct tptrace_meta_track *said = tptrace_meta_find_track(&p->meta, track->number);
    const char *name = said && said->name ? said->name : "";
    struct tp_buffer *out = now->out;

    if (!track->last_ticks || tptrace_meta_find_total(&p->meta, track->number))
        return 0; /* it is gone, its ranges ended or not */
    int error = read_stack(now, track);
    int64_t last_ns = ns_of(now, track->last_ticks);
    if (error)
        return error;
    if (now->json) {
        tp_buffer_format(out, "%s{\"tid\": %u, \"name\": ", *first ? "" : ", ", track->tid);
        tp_json_string(out, name, strlen(name));
        tp_buffer_format(out, ", \"last_ns\": %lld, \"open\": [", (long long)last_ns);
        put_ranges(now, track->last_ticks);
        tp_buffer_string(out, "]}");
    } else {
        tp_buffer_format(out, "  thread %u%s%.32s: %s, last record ", track->tid, *name ? " " : "",
                         name, now->stack->count ? "inside" : "in no range");
        tptrace_duration(out, age(now, last_ns));
        tp_buffer_string(out, " ago\n");
        put_ranges(now, track->last_ticks);
    }
    *first = false;
    return 0;
}

static void put_process(struct now *now)
{
    const struct tptrace_member *member = now->member;
    const struct tptrace_process *p = &member->process;
    const char *program = p->meta.program ? p->meta.program : "";
    struct tp_buffer *out = now->out;

    if (now->json) {
        tp_buffer_format(out, "%s{\"pid\": %u, \"rank\": ", now->first_process ? "" : ", ",
                         member->pid);
        tp_buffer_format(out, member->rank < 0 ? "null" : "%lld", (long long)member->rank);
        tp_buffer_string(out, ", \"program\": ");
        tp_json_string(out, program, strlen(program));
        tp_buffer_format(out, ", \"state\": \"%s\", \"now_ns\": %lld, \"threads\": [",
                         tptrace_state_name(p->state), (long long)now->now_ns);
        return;
    }
    tp_buffer_format(out, "process %u (%.64s)", member->pid, program);
    if (member->rank >= 0)
        tp_buffer_format(out, ", rank %lld", (long long)member->rank);
    tp_buffer_format(out, ": %s\n",
                     p->state == TPTRACE_RUNNING ? "running"
                     : p->state == TPTRACE_DIED  ? "died; ages at its last record"
                     : p->state == TPTRACE_WENT_ON
                         ? "went on as another program; ages at its last record"
                         : "ended");
}

static int show_member(void *context, struct tptrace_member *member, struct tptrace_names *names)
{
    struct now *now = context;
    struct tptrace_process *p = &member->process;
    bool first = true;

    now->member = member;
    now->names = tptrace_names_stream(names);
    now->clock_cursor = 0;
    int error = find_tails(now, p);
    now->now_ns = p->state == TPTRACE_RUNNING ? p->read_ns
                  : p->last_ticks             ? ns_of(now, p->last_ticks)
                                              : member->start_ns;
    put_process(now);
    for (size_t i = 0; i < p->tracks.count && !error && p->state != TPTRACE_ENDED; i++)
        error = put_thread(now, p->tracks.items[i], &first);
    if (now->json)
        tp_buffer_string(now->out, "]}");
    now->first_process = false;
    free_tails(now);
    return error;
}

int tptrace_now(const char *path, const struct tp_selection *selection, bool json,
                struct tp_buffer *out, bool *ret_cut, struct tp_diag *diag)
{
    struct now now = {.out = out, .json = json, .first_process = true};
    struct tptrace_run_options how = {
        .selection = selection, .instead = show_member, .instead_context = &now};
    struct tptrace_run run;
    struct tp_strings strings;

    if (tp_strings_init(&strings))
        return tp_diag_fail(diag, -ENOMEM, TP_DIAG_NO_OFFSET, "no memory");
    int error = tptrace_run_open(&run, path, selection, diag);
    now.strings = &strings;
    now.stack = calloc(1, sizeof(*now.stack));
    if (!error && !now.stack)
        error = tp_diag_fail(diag, -ENOMEM, TP_DIAG_NO_OFFSET, "no memory");
    if (json)
        tp_buffer_string(out, "{\"processes\": [");
    if (!error)
        error = tptrace_run_read(&run, &how, &strings, NULL, diag);
    if (json)
        tp_buffer_string(out, "]}\n");
    *ret_cut = !error && tptrace_run_was_cut(&run);
    tptrace_open_block_fini(&now.block);
    free(now.stack);
    tptrace_run_close(&run);
    tp_strings_fini(&strings);
    return error;
}
