/* SPDX-License-Identifier: MIT */
/* Arrays, copies of rows and blocks, symbols. */
#include "runtime.h"

struct format {
    int bits[4]; /* of x, y, z, w */
    int kind;    /* 0 signed, 1 unsigned, 2 float */
};

static int driver_format(const struct format *format)
{
    int bytes = format->bits[0] / 8;
    if (format->kind == 2)
        return bytes == 2 ? 0x10 : 0x20;
    int first = format->kind == 0 ? 0x08 : 0x01;
    return first + (bytes == 4 ? 2 : bytes == 2 ? 1 : 0);
}

static unsigned channels(const struct format *format)
{
    unsigned count = 0;
    for (int i = 0; i < 4; i++)
        count += format->bits[i] > 0;
    return count;
}

/* The driver's descriptions. */
struct array {
    size_t width, height;
    int format;
    unsigned channels;
};
struct array3d {
    size_t width, height, depth;
    int format;
    unsigned channels, flags;
};

ENTRY(cudaMallocArray, uint64_t *array, const struct format *format, size_t width, size_t height,
      unsigned flags)
{
    BEGIN(API(cudaMallocArray), WORD(array), WORD(format), width, height, flags);
    if (!format)
        END(SIM_EINVAL);
    struct array shape = {width, height, driver_format(format), channels(format)};
    END(driver.cuArrayCreate_v2(array, &shape));
}

ENTRY(cudaMalloc3DArray, uint64_t *array, const struct format *format, struct sim_extent extent,
      unsigned flags)
{
    BEGIN(API(cudaMalloc3DArray), WORD(array), WORD(format), extent.width, extent.height,
          extent.depth, flags);
    if (!format)
        END(SIM_EINVAL);
    struct array3d shape = {extent.width,          extent.height,    extent.depth,
                            driver_format(format), channels(format), flags};
    END(driver.cuArray3DCreate_v2(array, &shape));
}

ENTRY(cudaMallocMipmappedArray, uint64_t *array, const struct format *format,
      struct sim_extent extent, unsigned levels, unsigned flags)
{
    BEGIN(API(cudaMallocMipmappedArray), WORD(array), WORD(format), extent.width, extent.height,
          extent.depth, levels, flags);
    if (!format)
        END(SIM_EINVAL);
    struct array3d shape = {extent.width,          extent.height,    extent.depth,
                            driver_format(format), channels(format), flags};
    END(driver.cuMipmappedArrayCreate(array, &shape, levels));
}

ENTRY(cudaFreeArray, void *array)
{
    BEGIN(API(cudaFreeArray), WORD(array));
    END(array ? driver.cuArrayDestroy(WORD(array)) : SIM_OK);
}

ENTRY(cudaFreeMipmappedArray, void *array)
{
    BEGIN(API(cudaFreeMipmappedArray), WORD(array));
    END(array ? driver.cuMipmappedArrayDestroy(WORD(array)) : SIM_OK);
}

ENTRY(cudaMalloc3D, struct sim_pitched *pitched, struct sim_extent extent)
{
    BEGIN(API(cudaMalloc3D), WORD(pitched), extent.width, extent.height, extent.depth);
    if (!pitched)
        END(SIM_EINVAL);
    size_t height = extent.height * (extent.depth ? extent.depth : 1);
    pitched->xsize = extent.width;
    pitched->ysize = extent.height;
    END(driver.cuMemAllocPitch_v2((uint64_t *)&pitched->address, &pitched->pitch, extent.width,
                                  height, 4));
}

void sim_runtime_block(const struct sim_copy3d *params, struct sim_block_copy *ret_block)
{
    *ret_block = (struct sim_block_copy){
        .from_x = params->from_at.x,
        .from_y = params->from_at.y,
        .from_z = params->from_at.z,
        .from_type = params->from_array ? 3 : 4,
        .from_device = WORD(params->from.address),
        .from_array = params->from_array,
        .from_pitch = params->from.pitch,
        .from_height = params->from.ysize,
        .to_x = params->to_at.x,
        .to_y = params->to_at.y,
        .to_z = params->to_at.z,
        .to_type = params->to_array ? 3 : 4,
        .to_device = WORD(params->to.address),
        .to_array = params->to_array,
        .to_pitch = params->to.pitch,
        .to_height = params->to.ysize,
        .width = params->extent.width,
        .height = params->extent.height,
        .depth = params->extent.depth,
    };
}

static int do_cudaMemcpy3D(struct sim_api api, bool per_thread, const struct sim_copy3d *params)
{
    BEGIN(api, WORD(params));
    struct sim_block_copy block;
    if (!params)
        END(SIM_EINVAL);
    sim_runtime_block(params, &block);
    END(DRIVER(cuMemcpy3D_v2, _ptds, per_thread)(&block));
}
PAIR(cudaMemcpy3D, _ptds, (const struct sim_copy3d *params), params)

static int do_cudaMemcpy3DAsync(struct sim_api api, bool per_thread,
                                const struct sim_copy3d *params, void *stream)
{
    BEGIN(api, WORD(params), WORD(stream));
    struct sim_block_copy block;
    if (!params)
        END(SIM_EINVAL);
    sim_runtime_block(params, &block);
    END(DRIVER(cuMemcpy3DAsync_v2, _ptsz, per_thread)(&block, stream));
}
PAIR(cudaMemcpy3DAsync, _ptsz, (const struct sim_copy3d *params, void *stream), params, stream)

#define ROWS_PARAMETERS                                                                            \
    void *to, size_t to_pitch, const void *from, size_t from_pitch, size_t width, size_t height,   \
        int kind
#define ROWS                                                                                       \
    {                                                                                              \
        .from_type = 4, .from_device = WORD(from), .from_pitch = from_pitch, .to_type = 4,         \
        .to_device = WORD(to), .to_pitch = to_pitch, .width = width, .height = height,             \
    }

static int do_cudaMemcpy2D(struct sim_api api, bool per_thread, ROWS_PARAMETERS)
{
    BEGIN(api, WORD(to), to_pitch, WORD(from), from_pitch, width, height, WORD(kind));
    struct sim_rows_copy rows = ROWS;
    END(DRIVER(cuMemcpy2D_v2, _ptds, per_thread)(&rows));
}
PAIR(cudaMemcpy2D, _ptds, (ROWS_PARAMETERS), to, to_pitch, from, from_pitch, width, height, kind)

static int do_cudaMemcpy2DAsync(struct sim_api api, bool per_thread, ROWS_PARAMETERS, void *stream)
{
    BEGIN(api, WORD(to), to_pitch, WORD(from), from_pitch, width, height, WORD(kind), WORD(stream));
    struct sim_rows_copy rows = ROWS;
    END(DRIVER(cuMemcpy2DAsync_v2, _ptsz, per_thread)(&rows, stream));
}
PAIR(cudaMemcpy2DAsync, _ptsz, (ROWS_PARAMETERS, void *stream), to, to_pitch, from, from_pitch,
     width, height, kind, stream)

static int do_cudaMemset2D(struct sim_api api, bool per_thread, void *to, size_t pitch, int value,
                           size_t width, size_t height)
{
    BEGIN(api, WORD(to), pitch, WORD(value), width, height);
    END(DRIVER(cuMemsetD2D8_v2, _ptds, per_thread)(WORD(to), pitch, (uint8_t)value, width, height));
}
PAIR(cudaMemset2D, _ptds, (void *to, size_t pitch, int value, size_t width, size_t height), to,
     pitch, value, width, height)

static int do_cudaMemset2DAsync(struct sim_api api, bool per_thread, void *to, size_t pitch,
                                int value, size_t width, size_t height, void *stream)
{
    BEGIN(api, WORD(to), pitch, WORD(value), width, height, WORD(stream));
    END(DRIVER(cuMemsetD2D8Async, _ptsz, per_thread)(WORD(to), pitch, (uint8_t)value, width, height,
                                                     stream));
}
PAIR(cudaMemset2DAsync, _ptsz,
     (void *to, size_t pitch, int value, size_t width, size_t height, void *stream), to, pitch,
     value, width, height, stream)

static int do_cudaMemset3D(struct sim_api api, bool per_thread, struct sim_pitched pitched,
                           int value, struct sim_extent extent)
{
    BEGIN(api, WORD(pitched.address), pitched.pitch, pitched.xsize, pitched.ysize, WORD(value),
          extent.width, extent.height, extent.depth);
    END(DRIVER(cuMemsetD2D8_v2, _ptds, per_thread)(WORD(pitched.address), pitched.pitch,
                                                   (uint8_t)value, extent.width,
                                                   extent.height * extent.depth));
}
PAIR(cudaMemset3D, _ptds, (struct sim_pitched pitched, int value, struct sim_extent extent),
     pitched, value, extent)

/* A device variable's shadow on the host stands for it: registered, it would be found by its name.
 */
static int do_cudaMemcpyToSymbol(struct sim_api api, bool per_thread, const void *symbol,
                                 const void *from, size_t bytes, size_t offset, int kind)
{
    BEGIN(api, WORD(symbol), WORD(from), bytes, offset, WORD(kind));
    uint64_t address = sim_runtime_variable(symbol);
    END(address ? DRIVER(cuMemcpyHtoD_v2, _ptds, per_thread)(address + offset, WORD(from), bytes)
                : 13);
}
PAIR(cudaMemcpyToSymbol, _ptds,
     (const void *symbol, const void *from, size_t bytes, size_t offset, int kind), symbol, from,
     bytes, offset, kind)

static int do_cudaMemcpyFromSymbol(struct sim_api api, bool per_thread, void *to,
                                   const void *symbol, size_t bytes, size_t offset, int kind)
{
    BEGIN(api, WORD(to), WORD(symbol), bytes, offset, WORD(kind));
    uint64_t address = sim_runtime_variable(symbol);
    END(address ? DRIVER(cuMemcpyDtoH_v2, _ptds, per_thread)(WORD(to), address + offset, bytes)
                : 13);
}
PAIR(cudaMemcpyFromSymbol, _ptds,
     (void *to, const void *symbol, size_t bytes, size_t offset, int kind), to, symbol, bytes,
     offset, kind)
