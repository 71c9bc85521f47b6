/* SPDX-License-Identifier: MIT */
#ifndef TP_AGENT_SEGMENT_H
#define TP_AGENT_SEGMENT_H

/*
 * The process's segments on disk: append blocks, begin a new segment when one is full, keep the
 * whole under its limit. One drainer at a time.
 */

#include "agent.h"
#include "base/text.h"
#include "summary.h"
#include "trace/file.h"

#define TP_SEGMENTS_MAX 4096u
#define TP_SEGMENT_BLOCKS_MAX 16384u

/* What is known of a finished or current segment. */
struct tp_segment_info {
    uint32_t number, blocks;
    uint64_t slots, bytes, first_ticks, last_ticks;
};

struct tp_segments {
    int fd;             /* of the current one, -1 closed */
    uint64_t bytes;     /* of the current one */
    uint64_t total;     /* of all that exist */
    uint64_t limit;     /* of total: TPAGENT_MAX_SIZE, less while the disk is nearly full */
    uint64_t step;      /* bytes after which a new one begins */
    uint64_t asked;     /* total when free space was last asked for */
    uint64_t ask_after; /* so much more total it is asked for again */
    bool is_low;        /* below TPAGENT_MIN_FREE then */
    uint32_t first,
        next; /* ring of infos: numbers [first, next) exist; next - 1 is the current one */
    uint32_t index_count;
    bool is_indexed;              /* nothing more may follow in the current one */
    int error;                    /* last failure, 0 none */
    uint64_t retry_ns;            /* when to try again after a failure */
    bool stopped;                 /* keep-first, and the limit is reached */
    struct tp_index_entry *index; /* of the current segment: TP_SEGMENT_BLOCKS_MAX */
    char *index_buffer;
    size_t index_buffer_size;
    struct tp_summary_state summary; /* of those that are gone */
    struct tp_segment_info infos[TP_SEGMENTS_MAX];
};

/** tp_segments_init - Context: arming thread. Return: 0 or -ENOMEM. */
int tp_segments_init(struct tp_segments *segments, uint64_t max_bytes);

/**
 * tp_segments_append - one block
 * @dir: of the instance, or TP_OS_NO_DIR
 * @ret_meta: `evict` lines are added here
 *
 * One write; on a short one the file is cut back to its last whole block and -errno comes back: the
 * caller keeps the records in the ring and tries again later. Context: drainer. Return: 0, -errno,
 * -TP_EFULL (keep-first and over the limit), -EAGAIN (a failure was less than 5 s ago).
 */
int tp_segments_append(struct tp_live *live, struct tp_segments *segments, int dir,
                       const void *block, size_t bytes, struct tp_text *ret_meta);

/** tp_segments_close - @final: write index and trailer first, and what of the running summary could
 * not be written; else only give the descriptors back */
void tp_segments_close(struct tp_live *live, struct tp_segments *segments, bool final,
                       struct tp_text *ret_meta);

#endif
