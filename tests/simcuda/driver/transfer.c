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

/* A copy of rows; one row of @width bytes is a plain one. @kind 0: by the addresses. */
static int copy(struct sim_stream *stream, uint64_t to, size_t to_pitch, uint64_t from,
                size_t from_pitch, size_t width, size_t height, uint8_t kind, bool async)
{
    if (!stream)
        return SIM_ECONTEXT;
    if (!width || !height)
        return SIM_OK;
    if (!to || !from)
        return SIM_EINVAL;
    struct sim_work work = {
        .kind = SIM_COPY,
        .bytes = width * height,
        .from_kind = (uint8_t)sim_memory_kind(from),
        .to_kind = (uint8_t)sim_memory_kind(to),
        .async = async,
    };
    work.copy_kind = kind ? kind : direction(work.from_kind, work.to_kind);
    /* A real driver refuses a host pointer in the place of a device's. */
    if ((kind == HTOD && !is_device(work.to_kind)) ||
        (kind == DTOH && !is_device(work.from_kind)) ||
        (kind == DTOD && (!is_device(work.to_kind) || !is_device(work.from_kind))))
        return SIM_EINVAL;
    for (size_t row = 0; row < height && !stream->capturing; row++)
        memmove((char *)(uintptr_t)to + row * to_pitch, (char *)(uintptr_t)from + row * from_pitch,
                width);
    sim_stream_run(stream, &work, length(&copy_rate, work.bytes));
    if (!async && !stream->capturing && work.copy_kind != DTOD)
        sim_block(work.end);
    return SIM_OK;
}

static int plain(struct sim_api api, bool per_thread, uint64_t to, uint64_t from, size_t bytes,
                 uint8_t kind, void *handle, bool async)
{
    BEGIN(api, to, from, bytes, WORD(handle));
    struct sim_stream *stream = sim_stream_of(sim_current_context(), handle, per_thread);
    END(copy(stream, to, bytes, from, bytes, bytes, 1, kind, async));
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
    if (to_context == from_context)
        END(copy(stream, to, bytes, from, bytes, bytes, 1, 0, async));
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
    memmove((void *)(uintptr_t)to, (void *)(uintptr_t)from, bytes);
    sim_stream_run(stream, &work, length(&copy_rate, bytes));
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

/* The driver's description of a copy of rows. */
struct rows {
    size_t from_x, from_y;
    unsigned from_type;
    const void *from_host;
    uint64_t from_device;
    void *from_array;
    size_t from_pitch;
    size_t to_x, to_y;
    unsigned to_type;
    void *to_host;
    uint64_t to_device;
    void *to_array;
    size_t to_pitch;
    size_t width, height;
};

/* Memory types: 1 host, 2 device, 4 unified. Arrays (3) are plain memory with rows one after the
 * other. */
static uint64_t place(unsigned type, const void *host, uint64_t device, const void *array,
                      size_t pitch, size_t x, size_t y)
{
    return (type == 1 ? WORD(host) : type == 3 ? WORD(array) : device) + y * pitch + x;
}

static int rows_copy(struct sim_api api, bool per_thread, const struct rows *rows, void *handle,
                     bool async)
{
    BEGIN(api, WORD(rows), WORD(handle));
    struct sim_stream *stream = sim_stream_of(sim_current_context(), handle, per_thread);
    if (!rows)
        END(SIM_EINVAL);
    size_t from_pitch = rows->from_type == 3 ? rows->width : rows->from_pitch;
    size_t to_pitch = rows->to_type == 3 ? rows->width : rows->to_pitch;
    uint64_t from = place(rows->from_type, rows->from_host, rows->from_device, rows->from_array,
                          from_pitch, rows->from_x, rows->from_y);
    uint64_t to = place(rows->to_type, rows->to_host, rows->to_device, rows->to_array, to_pitch,
                        rows->to_x, rows->to_y);
    END(copy(stream, to, to_pitch, from, from_pitch, rows->width, rows->height, 0, async));
}

static int do_cuMemcpy2D_v2(struct sim_api api, bool per_thread, const struct rows *rows)
{
    return rows_copy(api, per_thread, rows, NULL, false);
}
PAIR(cuMemcpy2D_v2, _ptds, (const struct rows *rows), rows)

static int do_cuMemcpy2DAsync_v2(struct sim_api api, bool per_thread, const struct rows *rows,
                                 void *stream)
{
    return rows_copy(api, per_thread, rows, stream, true);
}
PAIR(cuMemcpy2DAsync_v2, _ptsz, (const struct rows *rows, void *stream), rows, stream)

static void fill(uint64_t to, uint32_t value, size_t element, size_t count)
{
    if (element == 1)
        memset((void *)(uintptr_t)to, (int)value, count);
    else
        for (size_t i = 0; i < count; i++)
            memcpy((char *)(uintptr_t)to + i * element, &value, element);
}

static int set(struct sim_api api, bool per_thread, uint64_t to, size_t pitch, uint32_t value,
               size_t element, size_t width, size_t height, void *handle)
{
    BEGIN(api, to, value, width, height, WORD(handle));
    struct sim_stream *stream = sim_stream_of(sim_current_context(), handle, per_thread);
    if (!stream)
        END(SIM_ECONTEXT);
    if (!width || !height)
        END(SIM_OK);
    struct sim_work work = {
        .kind = SIM_SET,
        .bytes = width * height * element,
        .value = value,
        .to_kind = (uint8_t)sim_memory_kind(to),
    };
    if (!sim_memory_is_ours(to) && work.to_kind == SIM_PAGEABLE)
        END(SIM_EINVAL);
    for (size_t row = 0; row < height && !stream->capturing; row++)
        fill(to + row * pitch, value, element, width);
    sim_stream_run(stream, &work, length(&set_rate, work.bytes));
    END(SIM_OK);
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
