/* SPDX-License-Identifier: MIT */
#include "segment.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "base/error.h"
#include "base/os.h"
#include "losses.h"
#include "recording.h"

#define LOOK_BYTES (1u << 20)
#define LOOK_BYTES_LEAST (64u << 10)
#define LEAST_LIMIT (1u << 20)
#define DEFAULT_MIN_FREE (1u << 30)
#define RETRY_NS 5000000000u

static void set_limit(struct tp_segments *segments, uint64_t limit)
{
    segments->limit = limit;
    segments->step = limit / 8 < TP_SEGMENT_BYTES ? limit / 8 : TP_SEGMENT_BYTES;
}

int tp_segments_init(struct tp_segments *segments, uint64_t max_bytes)
{
    segments->fd = segments->summary.fd = -1;
    segments->first = segments->next = 1;
    set_limit(segments, max_bytes);
    segments->index = tp_os_map(TP_SEGMENT_BLOCKS_MAX * sizeof(*segments->index));
    segments->index_buffer_size = tp_index_size(TP_SEGMENT_BLOCKS_MAX);
    segments->index_buffer = tp_os_map(segments->index_buffer_size);
    if (segments->index && segments->index_buffer)
        return 0;
    tp_os_unmap(segments->index, TP_SEGMENT_BLOCKS_MAX * sizeof(*segments->index));
    tp_os_unmap(segments->index_buffer, segments->index_buffer_size);
    return -ENOMEM;
}

static struct tp_segment_info *info_of(struct tp_segments *segments, uint32_t number)
{
    return &segments->infos[number % TP_SEGMENTS_MAX];
}

static void put_path(struct tp_text *text, const struct tp_live *live, int dir, uint32_t number)
{
    if (dir == TP_OS_NO_DIR)
        tp_text_format(text, "%s/", live->dir);
    tp_text_format(text, "%06u.tpt", number);
}

static int open_segment(struct tp_live *live, struct tp_segments *segments, int dir,
                        uint32_t number, bool make)
{
    char path[TP_PATH_MAX + 32];
    struct tp_text text;

    tp_text_init(&text, path, sizeof(path));
    put_path(&text, live, dir, number);
    int fd =
        tp_os_open(dir, path, O_WRONLY | O_APPEND | (make ? O_CREAT | O_EXCL : O_NOFOLLOW), 0600);
    if (fd >= 0)
        segments->fd = fd;
    return fd < 0 ? fd : 0;
}

static int begin_segment(struct tp_live *live, struct tp_segments *segments, int dir)
{
    uint8_t header[TP_FILE_HEADER_BYTES];
    uint32_t number = segments->next;
    int error = open_segment(live, segments, dir, number, true);

    if (error)
        return error;
    tp_file_header_write(header, TP_FILE_MAGIC, live->uuid, number);
    int64_t n = tp_os_write(segments->fd, header, sizeof(header));
    if (n != (int64_t)sizeof(header)) {
        char path[TP_PATH_MAX + 32];
        struct tp_text text;
        tp_os_close(segments->fd);
        segments->fd = -1;
        tp_text_init(&text, path, sizeof(path));
        put_path(&text, live, dir, number);
        tp_os_unlink(dir, path, false);
        return n < 0 ? (int)n : -ENOSPC;
    }
    segments->next++;
    segments->bytes = sizeof(header);
    segments->total += sizeof(header);
    segments->index_count = 0;
    segments->is_indexed = false;
    *info_of(segments, number) =
        (struct tp_segment_info){.number = number, .bytes = sizeof(header)};
    return 0;
}

/* First it is counted and said, then it goes: a process that is killed in between has lost nothing
 * untold. */
static void evict_oldest(struct tp_live *live, struct tp_segments *segments, int dir,
                         struct tp_text *ret_meta)
{
    struct tp_segment_info *info = info_of(segments, segments->first);
    char path[TP_PATH_MAX + 32];
    struct tp_text text;

    tp_summary_before_eviction(&segments->summary, live, dir, info->number, ret_meta);
    tp_text_format(ret_meta,
                   "{\"t\":\"evict\",\"segment\":%u,\"first_ticks\":%llu,\"last_ticks\":%llu,"
                   "\"blocks\":%u,\"bytes\":%llu,\"reason\":\"%s\"}\n",
                   info->number, (unsigned long long)info->first_ticks,
                   (unsigned long long)info->last_ticks, info->blocks,
                   (unsigned long long)info->bytes,
                   segments->is_low ? "TPAGENT_MIN_FREE" : "TPAGENT_MAX_SIZE");
    tp_recording_meta_text(live, ret_meta);
    tp_loss_set(live, TP_LOSS_EVICTED, info->number);
    tp_loss_add(live, TP_LOSS_EVICTED_SLOTS, info->slots);
    tp_text_init(&text, path, sizeof(path));
    put_path(&text, live, dir, info->number);
    tp_os_unlink(dir, path, false);
    segments->total -= info->bytes;
    segments->asked = segments->asked > info->bytes ? segments->asked - info->bytes : 0;
    segments->first++;
}

/* Index and trailer; a failure costs nothing but the index. */
static void write_index(struct tp_live *live, struct tp_segments *segments)
{
    uint32_t uuid_low;

    memcpy(&uuid_low, live->uuid, 4);
    int64_t bytes =
        tp_index_write(segments->index_buffer, segments->index_buffer_size, segments->index,
                       segments->index_count, segments->bytes, uuid_low);
    if (bytes <= 0)
        return;
    int64_t n = tp_os_write(segments->fd, segments->index_buffer, (size_t)bytes);
    if (n == bytes) {
        segments->is_indexed = true;
        segments->bytes += (uint64_t)bytes;
        segments->total += (uint64_t)bytes;
        info_of(segments, segments->next - 1)->bytes = segments->bytes;
    } else {
        tp_os_truncate(segments->fd, segments->bytes);
    }
}

static void close_segment(struct tp_live *live, struct tp_segments *segments, bool final)
{
    if (final && segments->next > segments->first && segments->index_count &&
        !segments->is_indexed &&
        (segments->fd >= 0 ||
         !open_segment(live, segments, TP_OS_NO_DIR, segments->next - 1, false)))
        write_index(live, segments);
    if (segments->fd >= 0)
        tp_os_close(segments->fd);
    segments->fd = -1;
}

void tp_segments_close(struct tp_live *live, struct tp_segments *segments, bool final,
                       struct tp_text *ret_meta)
{
    close_segment(live, segments, final);
    tp_summary_close(&segments->summary, live, final, ret_meta);
}

/* 5 % of the file system where nobody asked for anything else. */
static uint64_t least_free(uint64_t all_bytes)
{
    uint64_t asked = tp_agent.config.min_free;

    return asked == DEFAULT_MIN_FREE && all_bytes / 20 < asked ? all_bytes / 20 : asked;
}

/* Halfway to where it gets scarce, but no more often than blocks come. */
static uint64_t ask_after(uint64_t free_bytes, uint64_t least)
{
    uint64_t half = free_bytes > least ? (free_bytes - least) / 2 : LOOK_BYTES;

    return half < LOOK_BYTES_LEAST ? LOOK_BYTES_LEAST : half < LOOK_BYTES ? half : LOOK_BYTES;
}

/*
 * While less is free than should be, the recording grows no more: what it has now (but a least) is
 * its limit. Asked once for each mebibyte, and more often where it gets scarce.
 */
static void look_at_disk(struct tp_segments *segments, struct tp_text *ret_meta)
{
    uint64_t free_bytes, all_bytes, least;
    bool was_low = segments->is_low;

    if (segments->fd < 0 ||
        (segments->asked && segments->total - segments->asked < segments->ask_after))
        return;
    segments->asked = segments->total;
    if (tp_os_free_space(segments->fd, &free_bytes, &all_bytes))
        return;
    least = least_free(all_bytes);
    segments->ask_after = ask_after(free_bytes, least);
    /* Not low any more when it could grow to thrice its size: eviction itself makes room, too. */
    segments->is_low = free_bytes < least + (was_low ? 2 * segments->limit : 0);
    if (segments->is_low == was_low)
        return;
    uint64_t now = segments->total > LEAST_LIMIT ? segments->total : LEAST_LIMIT;
    set_limit(segments,
              segments->is_low && now < tp_agent.config.max_size ? now : tp_agent.config.max_size);
    if (segments->is_low)
        tp_text_format(
            ret_meta,
            "{\"t\":\"note\",\"text\":\"%llu bytes free on the disk, %llu are to be left "
            "(TPAGENT_MIN_FREE): events are kept within %llu bytes\"}\n",
            (unsigned long long)free_bytes, (unsigned long long)least,
            (unsigned long long)segments->limit);
}

static bool must_turn(const struct tp_segments *segments, size_t bytes)
{
    return segments->next == segments->first || segments->is_indexed ||
           segments->bytes + bytes > segments->step ||
           segments->index_count >= TP_SEGMENT_BLOCKS_MAX;
}

static int turn_segment(struct tp_live *live, struct tp_segments *segments, int dir, size_t bytes,
                        struct tp_text *ret_meta)
{
    const struct tp_config *config = &tp_agent.config;
    uint64_t need = segments->step > bytes ? segments->step : bytes;

    if (segments->next > segments->first)
        close_segment(live, segments, true);
    while (segments->next > segments->first &&
           ((config->when_big == TP_BIG_KEEP_LAST && segments->total + need > segments->limit) ||
            segments->next - segments->first >= TP_SEGMENTS_MAX))
        evict_oldest(live, segments, dir, ret_meta);
    return begin_segment(live, segments, dir);
}

/*
 * The oldest segment goes when the current one is full: by then it has been read, twice as fast as
 * the other one grows.
 */
static void read_ahead(struct tp_live *live, struct tp_segments *segments, int dir, size_t bytes)
{
    uint64_t then = segments->total + segments->step - segments->bytes;

    if (tp_agent.config.when_big == TP_BIG_KEEP_LAST && segments->next - segments->first >= 2 &&
        segments->bytes < segments->step && then + segments->step > segments->limit)
        tp_summary_ahead(&segments->summary, live, dir, segments->first, 2 * bytes);
}

static int append(struct tp_live *live, struct tp_segments *segments, int dir, const void *block,
                  size_t bytes, struct tp_text *ret_meta)
{
    int error = 0;

    if (tp_agent.config.when_big == TP_BIG_KEEP_FIRST && segments->total + bytes > segments->limit)
        segments->stopped = true;
    if (segments->stopped)
        return -TP_EFULL;
    look_at_disk(segments, ret_meta);
    if (must_turn(segments, bytes))
        error = turn_segment(live, segments, dir, bytes, ret_meta);
    else if (segments->fd < 0)
        error = open_segment(live, segments, dir, segments->next - 1, false);
    if (error)
        return error;
    int64_t n = tp_os_write(segments->fd, block, bytes);
    if (n != (int64_t)bytes) {
        tp_os_truncate(segments->fd, segments->bytes);
        return n < 0 ? (int)n : -ENOSPC;
    }
    return 0;
}

static void note_block(struct tp_segments *segments, const void *block, size_t bytes)
{
    struct tp_segment_info *info = info_of(segments, segments->next - 1);
    struct tp_block_header header;

    if (tp_block_header_read(&header, block, bytes, 0, NULL) < 0)
        return;
    segments->index[segments->index_count++] = (struct tp_index_entry){
        .offset = segments->bytes,
        .first_slot = header.first_slot,
        .first_ticks = header.first_ticks,
        .last_ticks = header.last_ticks,
        .track = header.track,
        .slots = header.slots,
        .lost = header.lost,
    };
    if (!info->blocks || header.first_ticks < info->first_ticks)
        info->first_ticks = header.first_ticks;
    if (header.last_ticks > info->last_ticks)
        info->last_ticks = header.last_ticks;
    info->blocks++;
    info->slots += header.slots;
    segments->bytes += bytes;
    segments->total += bytes;
    info->bytes = segments->bytes;
}

int tp_segments_append(struct tp_live *live, struct tp_segments *segments, int dir,
                       const void *block, size_t bytes, struct tp_text *ret_meta)
{
    if (segments->error && tp_os_monotonic_ns() < segments->retry_ns)
        return -EAGAIN;
    int error = append(live, segments, dir, block, bytes, ret_meta);
    if (!error) {
        segments->error = 0;
        tp_loss_set(live, TP_LOSS_ERROR, 0);
        note_block(segments, block, bytes);
        read_ahead(live, segments, dir, bytes);
    } else if (error != -TP_EFULL) {
        segments->error = error;
        tp_loss_set(live, TP_LOSS_ERROR, (uint64_t)-error);
        segments->retry_ns = tp_os_monotonic_ns() + RETRY_NS;
    }
    return error;
}
