/* SPDX-License-Identifier: MIT */
#include "input/tptrace_meta.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "input/tptrace_file.h"
#include "input/tptrace_json.h"
#include "trace/file.h"

#define CHUNK_BYTES (64u << 10)

/* Times beyond these are damage; they keep every later sum within 64 bits. */
#define MONOTONIC_MAX (INT64_C(1) << 59)
#define REALTIME_MAX (INT64_C(1) << 61)

/* ---- growing lists ---- */

/* Room for one more item of @size bytes. Return: it, zeroed; NULL beyond @limit (counted) or
 * without memory. */
static void *add_item(struct tptrace_meta *meta, void **items, size_t *count, size_t size,
                      size_t limit, int *ret_error)
{
    if (*count >= limit) {
        meta->ignored_entries++;
        return NULL;
    }
    if (!(*count & (*count - 1)) && (*count >= 8 || !*count)) {
        void *grown = realloc(*items, (*count ? *count * 2 : 8) * size);
        if (!grown) {
            *ret_error = -ENOMEM;
            return NULL;
        }
        *items = grown;
    }
    void *item = (char *)*items + (*count)++ * size;
    return memset(item, 0, size);
}

static int put_text(char **place, const char *text)
{
    if (!text)
        return 0;
    char *copy = strdup(text);
    if (!copy)
        return -ENOMEM;
    free(*place);
    *place = copy;
    return 0;
}

static int put_member(char **place, const struct tptrace_json *line, const char *key)
{
    return put_text(place, tptrace_json_text(line, key));
}

/* ---- lines ---- */

static bool parse_uuid(uint8_t uuid[16], const char *text)
{
    uint8_t found[16];

    if (!text || strlen(text) != 32 || text[strspn(text, "0123456789abcdefABCDEF")])
        return false;
    for (unsigned i = 0; i < 16; i++) {
        char pair[3] = {text[2 * i], text[2 * i + 1], '\0'};
        found[i] = (uint8_t)strtoul(pair, NULL, 16);
    }
    memcpy(uuid, found, 16);
    return true;
}

static int check_version(struct tptrace_meta *meta, const struct tptrace_json *line,
                         struct tp_diag *diag)
{
    uint64_t major = 0, minor = 0;

    tptrace_json_item_u64(line, "format", 0, &major);
    tptrace_json_item_u64(line, "format", 1, &minor);
    meta->format_major = (uint32_t)major;
    meta->format_minor = (uint32_t)minor;
    if (major <= TP_FORMAT_MAJOR)
        return 0;
    return tp_diag_fail(diag, -TP_EVERSION, TP_DIAG_NO_OFFSET,
                        "format version %llu.%llu, this reader knows %u.x",
                        (unsigned long long)major, (unsigned long long)minor, TP_FORMAT_MAJOR);
}

static int take_start(struct tptrace_meta *meta, const struct tptrace_json *line,
                      struct tp_diag *diag)
{
    const struct {
        char **place;
        const char *key;
    } texts[] = {
        {&meta->host, "host"},     {&meta->boot_id, "boot_id"},   {&meta->agent, "agent"},
        {&meta->exe, "exe"},       {&meta->program, "program"},   {&meta->clock, "clock"},
        {&meta->memory, "memory"}, {&meta->ring_dir, "ring_dir"}, {&meta->parent, "parent"},
    };
    int error = check_version(meta, line, diag);

    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]) && !error; i++)
        error = put_member(texts[i].place, line, texts[i].key);
    if (error)
        return error;
    meta->has_start = true;
    meta->has_uuid = parse_uuid(meta->uuid, tptrace_json_text(line, "uuid"));
    tptrace_json_u32(line, "pid", &meta->pid);
    tptrace_json_u32(line, "ppid", &meta->parent_pid);
    tptrace_json_u64(line, "ticks_per_second", &meta->ticks_per_second);
    tptrace_json_u64(line, "kernel_start", &meta->kernel_start);
    if (tptrace_json_i64(line, "start_ns", &meta->start_ns) &&
        (meta->start_ns < 0 || meta->start_ns > REALTIME_MAX))
        meta->start_ns = 0;
    return 0;
}

static int take_dist(struct tptrace_meta *meta, const struct tptrace_json *line,
                     struct tp_diag *diag)
{
    (void)diag;
    meta->has_dist = true;
    tptrace_json_i64(line, "rank", &meta->rank);
    tptrace_json_i64(line, "local_rank", &meta->local_rank);
    tptrace_json_i64(line, "world_size", &meta->world_size);
    tptrace_json_i64(line, "node_rank", &meta->node_rank);
    return put_member(&meta->job, line, "job");
}

static int take_clock(struct tptrace_meta *meta, const struct tptrace_json *line,
                      struct tp_diag *diag)
{
    struct tp_clock_pair pair = {0}, *place;
    int error = 0;

    (void)diag;
    if (!tptrace_json_u64(line, "ticks", &pair.ticks) ||
        !tptrace_json_i64(line, "monotonic_ns", &pair.monotonic_ns) ||
        !tptrace_json_i64(line, "realtime_ns", &pair.realtime_ns) || pair.monotonic_ns < 0 ||
        pair.monotonic_ns > MONOTONIC_MAX || pair.realtime_ns < 0 ||
        pair.realtime_ns > REALTIME_MAX)
        return -TP_EVALUE;
    tptrace_json_u64(line, "width", &pair.width);
    place = add_item(meta, (void **)&meta->pairs, &meta->pair_count, sizeof(pair),
                     TPTRACE_META_PAIRS_MAX, &error);
    if (place)
        *place = pair;
    return error;
}

static size_t lower_bound(const struct tptrace_meta *meta, uint32_t track)
{
    size_t low = 0, high = meta->track_count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (meta->tracks[middle].track < track)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Made if it is new. Return: NULL: -ENOMEM, or 0 where there are too many. */
static struct tptrace_meta_track *find_or_add_track(struct tptrace_meta *meta, uint32_t track,
                                                    int *ret_error)
{
    size_t at = lower_bound(meta, track);

    if (at < meta->track_count && meta->tracks[at].track == track)
        return &meta->tracks[at];
    if (!add_item(meta, (void **)&meta->tracks, &meta->track_count, sizeof(*meta->tracks),
                  TPTRACE_META_TRACKS_MAX, ret_error))
        return NULL;
    memmove(&meta->tracks[at + 1], &meta->tracks[at],
            (meta->track_count - 1 - at) * sizeof(*meta->tracks));
    meta->tracks[at] = (struct tptrace_meta_track){.track = track};
    return &meta->tracks[at];
}

static int take_track(struct tptrace_meta *meta, const struct tptrace_json *line,
                      struct tp_diag *diag)
{
    uint32_t number;
    int error = 0;

    (void)diag;
    if (!tptrace_json_u32(line, "track", &number))
        return -TP_EVALUE;
    struct tptrace_meta_track *track = find_or_add_track(meta, number, &error);
    if (!track)
        return error;
    tptrace_json_u32(line, "tid", &track->tid);
    return put_member(&track->name, line, "name");
}

int tptrace_meta_name_track(struct tptrace_meta *meta, uint32_t number, uint32_t tid,
                            const char *name)
{
    int error = 0;
    struct tptrace_meta_track *track = find_or_add_track(meta, number, &error);

    if (!track || (track->name && !strcmp(track->name, name)))
        return error;
    char *copy = strdup(name);
    if (!copy)
        return -ENOMEM;
    free(track->name);
    track->name = copy;
    track->tid = tid;
    track->is_untold = true;
    return 0;
}

static int take_source(struct tptrace_meta *meta, const struct tptrace_json *line,
                       struct tp_diag *diag)
{
    const char *name = tptrace_json_text(line, "name");
    struct tptrace_meta_source *source = NULL;
    int error = 0;

    (void)diag;
    if (!name)
        return -TP_EVALUE;
    for (size_t i = 0; i < meta->source_count && i < 256; i++) {
        if (!strcmp(meta->sources[i].name, name))
            source = &meta->sources[i];
    }
    if (!source)
        source = add_item(meta, (void **)&meta->sources, &meta->source_count, sizeof(*source),
                          TPTRACE_META_OTHERS_MAX, &error);
    if (!source)
        return error;
    free(source->why);
    source->why = NULL;
    error = put_text(&source->name, name);
    if (!source->name) { /* a source always has one */
        meta->source_count--;
        return error;
    }
    if (!error)
        error = put_member(&source->state, line, "state");
    return error ? error : put_member(&source->why, line, "why");
}

static int take_note(struct tptrace_meta *meta, const struct tptrace_json *line,
                     struct tp_diag *diag)
{
    const char *text = tptrace_json_text(line, "text");
    int error = 0;

    (void)diag;
    if (!text)
        return -TP_EVALUE;
    char **place = add_item(meta, (void **)&meta->notes, &meta->note_count, sizeof(*place),
                            TPTRACE_META_OTHERS_MAX, &error);
    if (!place)
        return error;
    *place = strdup(text);
    if (!*place)
        meta->note_count--;
    return *place ? 0 : -ENOMEM;
}

static int take_drop(struct tptrace_meta *meta, const struct tptrace_json *line,
                     struct tp_diag *diag)
{
    int error = 0;

    (void)diag;
    struct tptrace_meta_drop *drop = add_item(meta, (void **)&meta->drops, &meta->drop_count,
                                              sizeof(*drop), TPTRACE_META_OTHERS_MAX, &error);
    if (!drop)
        return error;
    drop->has_track = tptrace_json_u32(line, "track", &drop->track);
    tptrace_json_u64(line, "count", &drop->count);
    return put_member(&drop->reason, line, "reason");
}

static int take_module(struct tptrace_meta *meta, const struct tptrace_json *line,
                       struct tp_diag *diag)
{
    struct tptrace_meta_module found = {0};
    int error = 0;

    (void)diag;
    if (!tptrace_json_text(line, "path") || !tptrace_json_u64(line, "base", &found.base) ||
        !tptrace_json_u64(line, "size", &found.size) || found.size > UINT64_MAX - found.base)
        return -TP_EVALUE;
    tptrace_json_u64(line, "offset", &found.offset);
    struct tptrace_meta_module *module =
        add_item(meta, (void **)&meta->modules, &meta->module_count, sizeof(*module),
                 TPTRACE_META_OTHERS_MAX, &error);
    if (!module)
        return error;
    *module = found;
    error = put_member(&module->path, line, "path");
    return error ? error : put_member(&module->build_id, line, "build_id");
}

static int take_evict(struct tptrace_meta *meta, const struct tptrace_json *line,
                      struct tp_diag *diag)
{
    int error = 0;

    (void)diag;
    struct tptrace_meta_evict *evict =
        add_item(meta, (void **)&meta->evictions, &meta->eviction_count, sizeof(*evict),
                 TPTRACE_META_OTHERS_MAX, &error);
    if (!evict)
        return error;
    tptrace_json_u32(line, "segment", &evict->segment);
    tptrace_json_u32(line, "blocks", &evict->blocks);
    const char *reason = tptrace_json_text(line, "reason");
    evict->for_space = reason && !strcmp(reason, "TPAGENT_MIN_FREE");
    tptrace_json_u64(line, "first_ticks", &evict->first_ticks);
    tptrace_json_u64(line, "last_ticks", &evict->last_ticks);
    return 0;
}

/* A turn, or totals so far. */
static int take_capture(struct tptrace_meta *meta, const struct tptrace_json *line,
                        struct tp_diag *diag)
{
    const char *state = tptrace_json_text(line, "state"), *plan = tptrace_json_text(line, "plan");
    struct tptrace_meta_turn turn = {.is_open = state && !strcmp(state, "open")}, *place;
    int error = 0;

    (void)diag;
    if (plan) {
        tptrace_json_u64(line, "windows", &meta->window_count);
        tptrace_json_u64(line, "open_ticks", &meta->open_ticks);
        tptrace_json_u64(line, "left_out", &meta->turns_left_out);
        return put_text(&meta->capture_plan, plan);
    }
    if (!state || !tptrace_json_u64(line, "ticks", &turn.ticks))
        return -TP_EVALUE;
    place = add_item(meta, (void **)&meta->turns, &meta->turn_count, sizeof(turn),
                     TPTRACE_META_OTHERS_MAX, &error);
    if (place)
        *place = turn;
    return error;
}

static int compare_totals(const void *a, const void *b)
{
    const struct tptrace_meta_total *left = a, *right = b;

    return (left->track > right->track) - (left->track < right->track);
}

static int add_total(struct tptrace_meta *meta, const struct tptrace_json *item)
{
    struct tptrace_meta_total total = {0}, *place;
    int error = 0;

    if (!tptrace_json_u32(item, "track", &total.track))
        return -TP_EVALUE;
    tptrace_json_u64(item, "slots", &total.slots);
    tptrace_json_u64(item, "dropped", &total.dropped);
    place = add_item(meta, (void **)&meta->totals, &meta->total_count, sizeof(total),
                     TPTRACE_META_TRACKS_MAX, &error);
    if (place)
        *place = total;
    return error;
}

static int take_track_end(struct tptrace_meta *meta, const struct tptrace_json *line,
                          struct tp_diag *diag)
{
    (void)diag;
    return add_total(meta, line);
}

static int add_totals(struct tptrace_meta *meta, const struct tptrace_json *line)
{
    size_t count = tptrace_json_items(line, "tracks");
    struct tptrace_json item;
    int error = 0;

    for (size_t i = 0; i < count && error != -ENOMEM; i++) {
        if (tptrace_json_item(line, "tracks", i, &item))
            error = add_total(meta, &item);
    }
    return error == -ENOMEM ? error : 0;
}

static int take_recovered(struct tptrace_meta *meta, const struct tptrace_json *line,
                          struct tp_diag *diag)
{
    (void)diag;
    meta->recovered = true;
    meta->behind_end = 0; /* it came later, with lines about tracks before it */
    return add_totals(meta, line);
}

static int take_end(struct tptrace_meta *meta, const struct tptrace_json *line,
                    struct tp_diag *diag)
{
    int error = put_member(&meta->end_reason, line, "reason");

    (void)diag;
    meta->ended = true;
    tptrace_json_u64(line, "ticks", &meta->end_ticks);
    meta->says_names = tptrace_json_u64(line, "names", &meta->said_names) &&
                       tptrace_json_u64(line, "names_bytes", &meta->said_names_bytes);
    return error ? error : add_totals(meta, line);
}

static int take_nothing(struct tptrace_meta *meta, const struct tptrace_json *line,
                        struct tp_diag *diag)
{
    (void)meta;
    (void)line;
    (void)diag;
    return 0;
}

static const struct {
    const char *type;
    int (*take)(struct tptrace_meta *, const struct tptrace_json *, struct tp_diag *);
} takers[] = {
    {"start", take_start},         {"dist", take_dist},           {"clock", take_clock},
    {"track", take_track},         {"source", take_source},       {"note", take_note},
    {"drop", take_drop},           {"evict", take_evict},         {"end", take_end},
    {"track_end", take_track_end}, {"recovered", take_recovered}, {"schema", take_nothing},
    {"module", take_module},       {"device", take_nothing},      {"capture", take_capture},
};

static int take_object(struct tptrace_meta *meta, const struct tptrace_json *line,
                       struct tp_diag *diag)
{
    const char *type = tptrace_json_text(line, "t");

    if (!type)
        return -TP_EVALUE;
    meta->behind_end += meta->ended;
    for (size_t i = 0; i < sizeof(takers) / sizeof(takers[0]); i++) {
        if (!strcmp(type, takers[i].type))
            return takers[i].take(meta, line, diag);
    }
    int taken = tptrace_meta_cuda_take(&meta->cuda, type, line);
    meta->unknown_lines += !taken;
    return taken < 0 ? taken : 0;
}

static void note_damage(struct tptrace_meta *meta, uint64_t offset)
{
    if (!meta->damaged_lines++) {
        meta->first_damaged = meta->lines;
        meta->first_damaged_at = offset;
    }
}

static int take_line(struct tptrace_meta *meta, const char *bytes, size_t size, uint64_t offset,
                     struct tp_diag *diag)
{
    struct tptrace_json json;

    meta->lines++;
    if (size && bytes[size - 1] == '\r')
        size--;
    if (!size)
        return 0;
    int error = tptrace_json_parse(&json, bytes, size);
    if (!error) {
        error = take_object(meta, &json, diag);
        tptrace_json_fini(&json);
    }
    if (error == -ENOMEM)
        return tp_diag_fail(diag, error, offset, "no memory for line %llu",
                            (unsigned long long)meta->lines);
    if (error == -TP_EVERSION)
        return error;
    if (error)
        note_damage(meta, offset);
    return 0;
}

/* ---- lines out of chunks ---- */

struct line_buffer {
    char *bytes;
    size_t used, capacity;
    bool too_long;
    uint64_t offset; /* of the line's first byte */
};

static int keep_part(struct line_buffer *line, const char *bytes, size_t size)
{
    if (line->too_long || size > TPTRACE_META_LINE_MAX - line->used) {
        line->too_long = true;
        return 0;
    }
    if (!size)
        return 0;
    if (line->used + size > line->capacity) {
        size_t capacity = line->used + size + CHUNK_BYTES;
        char *grown = realloc(line->bytes, capacity);
        if (!grown)
            return -ENOMEM;
        line->bytes = grown;
        line->capacity = capacity;
    }
    memcpy(line->bytes + line->used, bytes, size);
    line->used += size;
    return 0;
}

/* Take the whole lines of a chunk, keep what is behind them. */
static int take_chunk(struct tptrace_meta *meta, struct line_buffer *line, const char *bytes,
                      size_t size, struct tp_diag *diag)
{
    int error = 0;

    while (size && !error) {
        const char *end = memchr(bytes, '\n', size);
        size_t part = end ? (size_t)(end - bytes) : size;
        error = keep_part(line, bytes, part);
        if (!end || error)
            break;
        if (line->too_long) {
            meta->lines++;
            note_damage(meta, line->offset);
        } else {
            error = take_line(meta, line->used ? line->bytes : "", line->used, line->offset, diag);
        }
        bytes += part + 1;
        size -= part + 1;
        line->used = 0;
        line->too_long = false;
        line->offset = meta->bytes - size;
    }
    return error;
}

static void meta_init(struct tptrace_meta *meta)
{
    *meta = (struct tptrace_meta){.rank = -1, .local_rank = -1, .world_size = -1, .node_rank = -1};
}

/* All has been read. */
static void end_lines(struct tptrace_meta *meta, struct line_buffer *line)
{
    meta->torn = line->used || line->too_long;
    meta->torn_at = line->offset;
    if (meta->total_count)
        qsort(meta->totals, meta->total_count, sizeof(*meta->totals), compare_totals);
    free(line->bytes);
}

int tptrace_meta_parse(struct tptrace_meta *meta, const char *bytes, size_t size,
                       struct tp_diag *diag)
{
    struct line_buffer line = {0};

    meta_init(meta);
    meta->bytes = size;
    int error = take_chunk(meta, &line, bytes, size, diag);
    end_lines(meta, &line);
    return error;
}

int tptrace_meta_read(struct tptrace_meta *meta, const char *path, struct tp_diag *diag)
{
    char chunk[CHUNK_BYTES];
    struct line_buffer line = {0};
    uint64_t size;
    int64_t n = 0;

    meta_init(meta);
    int fd = tptrace_open(path, &size, diag), error = fd < 0 ? fd : 0;
    if (fd < 0)
        return error;
    while (!error && (n = tptrace_read_at(fd, chunk, sizeof(chunk), meta->bytes)) > 0) {
        meta->bytes += (uint64_t)n;
        error = take_chunk(meta, &line, chunk, (size_t)n, diag);
    }
    if (!error && n < 0)
        error = tp_diag_fail(diag, (int)n, meta->bytes, "%s", tp_error_text((int)n));
    end_lines(meta, &line);
    close(fd);
    if (error)
        tp_diag_at(diag, path);
    return error;
}

/* ---- the rest ---- */

static void free_lists(struct tptrace_meta *meta)
{
    for (size_t i = 0; i < meta->track_count; i++)
        free(meta->tracks[i].name);
    for (size_t i = 0; i < meta->source_count; i++) {
        free(meta->sources[i].name);
        free(meta->sources[i].state);
        free(meta->sources[i].why);
    }
    for (size_t i = 0; i < meta->note_count; i++)
        free(meta->notes[i]);
    for (size_t i = 0; i < meta->drop_count; i++)
        free(meta->drops[i].reason);
    for (size_t i = 0; i < meta->module_count; i++) {
        free(meta->modules[i].path);
        free(meta->modules[i].build_id);
    }
}

void tptrace_meta_fini(struct tptrace_meta *meta)
{
    char *texts[] = {meta->host,    meta->boot_id, meta->agent,      meta->exe,
                     meta->program, meta->clock,   meta->memory,     meta->ring_dir,
                     meta->parent,  meta->job,     meta->end_reason, meta->capture_plan};

    free_lists(meta);
    tptrace_meta_cuda_fini(&meta->cuda);
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
        free(texts[i]);
    free(meta->pairs);
    free(meta->tracks);
    free(meta->sources);
    free(meta->notes);
    free(meta->drops);
    free(meta->evictions);
    free(meta->totals);
    free(meta->modules);
    free(meta->turns);
    meta_init(meta);
}

const struct tptrace_meta_track *tptrace_meta_find_track(const struct tptrace_meta *meta,
                                                         uint32_t track)
{
    size_t at = lower_bound(meta, track);

    return at < meta->track_count && meta->tracks[at].track == track ? &meta->tracks[at] : NULL;
}

const struct tptrace_meta_total *tptrace_meta_find_total(const struct tptrace_meta *meta,
                                                         uint32_t track)
{
    struct tptrace_meta_total key = {.track = track};

    if (!meta->total_count)
        return NULL;
    return bsearch(&key, meta->totals, meta->total_count, sizeof(key), compare_totals);
}
