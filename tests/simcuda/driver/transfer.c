/* SPDX-License-Identifier: MIT */
/*
 * Copies and memsets. A copy takes SIMCUDA_COPY_NS + bytes / SIMCUDA_COPY_BYTES_PER_NS, a memset
 * likewise with SIMCUDA_SET_NS and SIMCUDA_SET_BYTES_PER_NS; the bytes are really moved, at the
 * call.
 */
#include "driver.h"

#include <string.h>

enum { HTOD = 1, DTOH = 2, DTOD = 8, HTOH = 9, PTOP = 10 };

struct rate {
    uint64_t fixed_ns, bytes_per_ns;
};
static struct rate copy_rate, set_rate;

void sim_transfer_init(void)
{
    copy_rate = (struct rate){sim_number("COPY_NS", 1000), sim_number("COPY_BYTES_PER_NS", 16)};
    set_rate = (struct rate){sim_number("SET_NS", 1000), sim_number("SET_BYTES_PER_NS", 64)};
}

static uint64_t length(const struct rate *rate, uint64_t bytes)
{
    return rate->fixed_ns + (rate->bytes_per_ns ? bytes / rate->bytes_per_ns : 0);
}

static bool is_device(enum sim_memory_kind kind)
{
    return kind == SIM_DEVICE_MEMORY || kind == SIM_MANAGED || kind == SIM_ARRAY;
}

static uint8_t direction(enum sim_memory_kind from, enum sim_memory_kind to)
{
    return is_device(from) ? is_device(to) ? DTOD : DTOH : is_device(to) ? HTOD : HTOH;
}

/* Describes a copy of rows; one row of @width bytes is a plain one. @kind 0: by the addresses. */
static int describe(struct sim_work *work, const struct sim_action *rows, uint8_t kind, bool async)
{
    if (!rows->to || !rows->from)
        return SIM_EINVAL;
    *work = (struct sim_work){
        .kind = SIM_COPY,
        .bytes = rows->width * rows->height,
        .from_kind = (uint8_t)sim_memory_kind(rows->from),
        .to_kind = (uint8_t)sim_memory_kind(rows->to),
        .async = async,
    };
    work->copy_kind = kind ? kind : direction(work->from_kind, work->to_kind);
    /* A real driver refuses a host pointer in the place of a device's. */
    bool refused = (kind == HTOD && !is_device(work->to_kind)) ||
                   (kind == DTOH && !is_device(work->from_kind)) ||
                   (kind == DTOD && (!is_device(work->to_kind) || !is_device(work->from_kind)));
    return refused ? SIM_EINVAL : SIM_OK;
}

static int copy(struct sim_stream *stream, const struct sim_action *rows, uint8_t kind, bool async)
{
    struct sim_work work;
    if (!stream)
        return SIM_ECONTEXT;
    if (!rows->width || !rows->height)
        return SIM_OK;
    int result = describe(&work, rows, kind, async);
    if (result)
        return result;
    bool ran = sim_stream_run(stream, &work, length(&copy_rate, work.bytes), rows);
    if (ran && !async && work.copy_kind != DTOD)
        sim_block(work.end);
    return SIM_OK;
}

int sim_transfer_copy_work(const struct sim_action *rows, struct sim_work *ret_work,
                           uint64_t *ret_length)
{
    int result = describe(ret_work, rows, 0, true);
    *ret_length = result ? 0 : length(&copy_rate, ret_work->bytes);
    return result;
}

int sim_transfer_set_work(const struct sim_action *fill, struct sim_work *ret_work,
                          uint64_t *ret_length)
{
    *ret_work = (struct sim_work){
        .kind = SIM_SET,
        .bytes = fill->width * fill->height * fill->element,
        .value = fill->value,
        .to_kind = (uint8_t)sim_memory_kind(fill->to),
    };
    *ret_length = length(&set_rate, ret_work->bytes);
    return is_device(ret_work->to_kind) || ret_work->to_kind == SIM_PINNED ? SIM_OK : SIM_EINVAL;
}

static int plain(struct sim_api api, bool per_thread, uint64_t to, uint64_t from, size_t bytes,
                 uint8_t kind, void *handle, bool async)
{
    BEGIN(api, to, from, bytes, WORD(handle));
    struct sim_stream *stream = sim_stream_of(sim_current_context(), handle, per_thread);
    struct sim_action row = {.kind = SIM_MOVE, .to = to, .from = from, .width = bytes, .height = 1};
    END(copy(stream, &row, kind, async));
}

#define SYNC_COPY(name, kind)                                                                      \
    static int do_##name(struct sim_api api, bool per_thread, uint64_t to, uint64_t from,          \
                         size_t bytes)                                                             \
    {                                                                                              \
        return plain(api, per_thread, to, from, bytes, kind, NULL, false);                         \
    }                                                                                              \
    PAIR(name, _ptds, (uint64_t to, uint64_t from, size_t bytes), to, from, bytes)
SYNC_COPY(cuMemcpyHtoD_v2, HTOD)
SYNC_COPY(cuMemcpyDtoH_v2, DTOH)
SYNC_COPY(cuMemcpyDtoD_v2, DTOD)
SYNC_COPY(cuMemcpy, 0)

#define ASYNC_COPY(name, kind)                                                                     \
    static int do_##name(struct sim_api api, bool per_thread, uint64_t to, uint64_t from,          \
                         size_t bytes, void *stream)                                               \
    {                                                                                              \
        return plain(api, per_thread, to, from, bytes, kind, stream, true);                        \
    }                                                                                              \
    PAIR(name, _ptsz, (uint64_t to, uint64_t from, size_t bytes, void *stream), to, from, bytes,   \
         stream)
ASYNC_COPY(cuMemcpyHtoDAsync_v2, HTOD)
ASYNC_COPY(cuMemcpyDtoHAsync_v2, DTOH)
ASYNC_COPY(cuMemcpyDtoDAsync_v2, DTOD)
ASYNC_COPY(cuMemcpyAsync, 0)

/* Between two contexts; the same device twice is an ordinary copy there. */
static int peer(struct sim_api api, bool per_thread, uint64_t to, struct sim_context *to_context,
                uint64_t from, struct sim_context *from_context, size_t bytes, void *handle,
                bool async)
{
    BEGIN(api, to, WORD(to_context), from, WORD(from_context), bytes, WORD(handle));
    struct sim_stream *stream = sim_stream_of(sim_current_context(), handle, per_thread);
    if (!stream || !to_context || !from_context)
        END(SIM_ECONTEXT);
    struct sim_action row = {.kind = SIM_MOVE, .to = to, .from = from, .width = bytes, .height = 1};
    if (to_context == from_context)
        END(copy(stream, &row, 0, async));
    struct sim_work work = {
        .kind = SIM_PEER_COPY,
        .bytes = bytes,
        .copy_kind = PTOP,
        .from_kind = SIM_DEVICE_MEMORY,
        .to_kind = SIM_DEVICE_MEMORY,
        .async = async,
        .from = from_context,
        .to = to_context,
    };
    sim_stream_run(stream, &work, length(&copy_rate, bytes), &row);
    END(SIM_OK);
}

static int do_cuMemcpyPeer(struct sim_api api, bool per_thread, uint64_t to,
                           struct sim_context *to_context, uint64_t from,
                           struct sim_context *from_context, size_t bytes)
{
    return peer(api, per_thread, to, to_context, from, from_context, bytes, NULL, false);
}
PAIR(cuMemcpyPeer, _ptds,
     (uint64_t to, struct sim_context *to_context, uint64_t from, struct sim_context *from_context,
      size_t bytes),
     to, to_context, from, from_context, bytes)

static int do_cuMemcpyPeerAsync(struct sim_api api, bool per_thread, uint64_t to,
                                struct sim_context *to_context, uint64_t from,
                                struct sim_context *from_context, size_t bytes, void *stream)
{
    return peer(api, per_thread, to, to_context, from, from_context, bytes, stream, true);
}
PAIR(cuMemcpyPeerAsync, _ptsz,
     (uint64_t to, struct sim_context *to_context, uint64_t from, struct sim_context *from_context,
      size_t bytes, void *stream),
     to, to_context, from, from_context, bytes, stream)

/* Memory types: 1 host, 2 device, 4 unified. Arrays (3) are plain memory with rows one after the
 * other. */
static uint64_t place(unsigned type, const void *host, uint64_t device, const void *array,
                      size_t pitch, size_t x, size_t y)
{
    return (type == 1 ? WORD(host) : type == 3 ? WORD(array) : device) + y * pitch + x;
}

static int rows_copy(struct sim_api api, bool per_thread, const struct sim_rows_copy *rows,
                     void *handle, bool async)
{
    BEGIN(api, WORD(rows), WORD(handle));
    struct sim_stream *stream = sim_stream_of(sim_current_context(), handle, per_thread);
    if (!rows)
        END(SIM_EINVAL);
    struct sim_action action = {
        .kind = SIM_MOVE,
        .to_pitch = rows->to_type == 3 ? rows->width : rows->to_pitch,
        .from_pitch = rows->from_type == 3 ? rows->width : rows->from_pitch,
        .width = rows->width,
        .height = rows->height,
    };
    action.from = place(rows->from_type, rows->from_host, rows->from_device, rows->from_array,
                        action.from_pitch, rows->from_x, rows->from_y);
    action.to = place(rows->to_type, rows->to_host, rows->to_device, rows->to_array,
                      action.to_pitch, rows->to_x, rows->to_y);
    END(copy(stream, &action, 0, async));
}

static int do_cuMemcpy2D_v2(struct sim_api api, bool per_thread, const struct sim_rows_copy *rows)
{
    return rows_copy(api, per_thread, rows, NULL, false);
}
PAIR(cuMemcpy2D_v2, _ptds, (const struct sim_rows_copy *rows), rows)

static int do_cuMemcpy2DAsync_v2(struct sim_api api, bool per_thread,
                                 const struct sim_rows_copy *rows, void *stream)
{
    return rows_copy(api, per_thread, rows, stream, true);
}
PAIR(cuMemcpy2DAsync_v2, _ptsz, (const struct sim_rows_copy *rows, void *stream), rows, stream)

/* Blocks of rows are taken as rows one below the other: their pitch times their height apart. */
int sim_transfer_block(const struct sim_block_copy *block, struct sim_action *ret_action)
{
    if (!block || (block->depth > 1 &&
                   (block->from_height > block->height || block->to_height > block->height)))
        return SIM_EINVAL;
    *ret_action = (struct sim_action){
        .kind = SIM_MOVE,
        .to_pitch = block->to_type == 3 || !block->to_pitch ? block->width : block->to_pitch,
        .from_pitch =
            block->from_type == 3 || !block->from_pitch ? block->width : block->from_pitch,
        .width = block->width,
        .height = block->height * (block->depth ? block->depth : 1),
    };
    ret_action->from =
        place(block->from_type, block->from_host, block->from_device, block->from_array,
              ret_action->from_pitch, block->from_x, block->from_y);
    ret_action->to = place(block->to_type, block->to_host, block->to_device, block->to_array,
                           ret_action->to_pitch, block->to_x, block->to_y);
    return SIM_OK;
}

static int block_copy(struct sim_api api, bool per_thread, const struct sim_block_copy *block,
                      void *handle, bool async)
{
    BEGIN(api, WORD(block), WORD(handle));
    struct sim_action action;
    int result = sim_transfer_block(block, &action);
    if (result)
        END(result);
    END(copy(sim_stream_of(sim_current_context(), handle, per_thread), &action, 0, async));
}

static int do_cuMemcpy3D_v2(struct sim_api api, bool per_thread, const struct sim_block_copy *block)
{
    return block_copy(api, per_thread, block, NULL, false);
}
PAIR(cuMemcpy3D_v2, _ptds, (const struct sim_block_copy *block), block)

static int do_cuMemcpy3DAsync_v2(struct sim_api api, bool per_thread,
                                 const struct sim_block_copy *block, void *stream)
{
    return block_copy(api, per_thread, block, stream, true);
}
PAIR(cuMemcpy3DAsync_v2, _ptsz, (const struct sim_block_copy *block, void *stream), block, stream)

static int set(struct sim_api api, bool per_thread, uint64_t to, size_t pitch, uint32_t value,
               size_t element, size_t width, size_t height, void *handle)
{
    BEGIN(api, to, value, width, height, WORD(handle));
    struct sim_stream *stream = sim_stream_of(sim_current_context(), handle, per_thread);
    if (!stream)
        END(SIM_ECONTEXT);
    if (!width || !height)
        END(SIM_OK);
    struct sim_action fill = {.kind = SIM_FILL,
                              .to = to,
                              .to_pitch = pitch,
                              .width = width,
                              .height = height,
                              .value = value,
                              .element = element};
    struct sim_work work;
    uint64_t needed;
    int result = sim_transfer_set_work(&fill, &work, &needed);
    if (!result)
        sim_stream_run(stream, &work, needed, &fill);
    END(result);
}

static void move(const struct sim_action *action)
{
    for (size_t row = 0; row < action->height; row++)
        memmove((char *)(uintptr_t)action->to + row * action->to_pitch,
                (char *)(uintptr_t)action->from + row * action->from_pitch, action->width);
}

static void fill_row(char *to, const struct sim_action *action)
{
    if (action->element == 1)
        memset(to, (int)action->value, action->width);
    else
        for (size_t i = 0; i < action->width; i++)
            memcpy(to + i * action->element, &action->value, action->element);
}

void sim_action_do(const struct sim_action *action)
{
    switch (action->kind) {
    case SIM_MOVE:
        move(action);
        break;
    case SIM_FILL:
        for (size_t row = 0; row < action->height; row++)
            fill_row((char *)(uintptr_t)action->to + row * action->to_pitch, action);
        break;
    case SIM_CALL:
        action->function(action->data);
        break;
    default:
        break;
    }
}

#define SET(name, type, element)                                                                   \
    static int do_cuMemset##name##_v2(struct sim_api api, bool per_thread, uint64_t to,            \
                                      type value, size_t count)                                    \
    {                                                                                              \
        return set(api, per_thread, to, 0, value, element, count, 1, NULL);                        \
    }                                                                                              \
    PAIR(cuMemset##name##_v2, _ptds, (uint64_t to, type value, size_t count), to, value, count)    \
    static int do_cuMemset##name##Async(struct sim_api api, bool per_thread, uint64_t to,          \
                                        type value, size_t count, void *stream)                    \
    {                                                                                              \
        return set(api, per_thread, to, 0, value, element, count, 1, stream);                      \
    }                                                                                              \
    PAIR(cuMemset##name##Async, _ptsz, (uint64_t to, type value, size_t count, void *stream), to,  \
         value, count, stream)
SET(D8, uint8_t, 1)
SET(D16, uint16_t, 2)
SET(D32, uint32_t, 4)

static int do_cuMemsetD2D8_v2(struct sim_api api, bool per_thread, uint64_t to, size_t pitch,
                              uint8_t value, size_t width, size_t height)
{
    return set(api, per_thread, to, pitch, value, 1, width, height, NULL);
}
PAIR(cuMemsetD2D8_v2, _ptds,
     (uint64_t to, size_t pitch, uint8_t value, size_t width, size_t height), to, pitch, value,
     width, height)

static int do_cuMemsetD2D8Async(struct sim_api api, bool per_thread, uint64_t to, size_t pitch,
                                uint8_t value, size_t width, size_t height, void *stream)
{
    return set(api, per_thread, to, pitch, value, 1, width, height, stream);
}
PAIR(cuMemsetD2D8Async, _ptsz,
     (uint64_t to, size_t pitch, uint8_t value, size_t width, size_t height, void *stream), to,
     pitch, value, width, height, stream)
