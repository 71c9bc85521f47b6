/* SPDX-License-Identifier: MIT */
/*
 * The interposed functions: hooks.def, one wrapper for each row. A wrapper of the program's own
 * reference serves whatever version that asks for, since ours has none. It calls the function that
 * its caller would have reached (real.c), and where CUPTI records it does nothing else.
 *
 * Of calls within calls (cudaMalloc asks for cuMemAlloc) the outermost is recorded.
 */
#include "agent.h"
#include "capture.h"
#include "points.h"
#include "record.h"
#include "scope.h"
#include "source/cuda/cuda.h"
#include "source/cuda/launches.h"
#include "source/cuda/memory.h"

#define EXPORT __attribute__((visibility("default")))
#define NOT_INITIALIZED 3 /* the error of both libraries where there is none */
#define CALLER __builtin_return_address(0)

enum { COPY_HTOD = 1, COPY_DTOH = 2, COPY_DTOD = 8, COPY_HTOH = 9, COPY_PEER = 10 };
/* CUDA's structs, as far as they are read; those passed by value, whole. */
struct tp_extent {
    size_t width, height, depth;
};

struct tp_pitched {
    void *pointer;
    size_t pitch, width, height;
};

struct tp_channels {
    int bits[4];
    int format;
};

struct tp_ipc_handle {
    char bytes[64];
};

struct tp_launch_config {
    struct tp_dim3 grid, block;
    size_t shared;
    void *stream;
};

struct tp_driver_launch {
    struct tp_dim3 grid, block;
    unsigned shared;
    void *stream;
};

struct tp_copy_3d {
    const void *from_array;
    size_t from_position[3];
    struct tp_pitched from;
    const void *to_array;
    size_t to_position[3];
    struct tp_pitched to;
    struct tp_extent extent;
    int kind;
};

struct tp_driver_copy_2d { /* CUDA_MEMCPY2D */
    uint64_t ends[2][7];
    size_t width, height;
};

struct tp_driver_array {
    size_t width, height;
    unsigned format, channels;
};

struct tp_driver_array_3d {
    struct tp_extent extent;
    unsigned format, channels;
};

struct tp_external_buffer {
    unsigned long long offset, bytes;
};

/* --- a call on its way */

struct call {
    struct tp_held_name *name;
    const void *caller;
    enum tp_cuda_library library;
    bool late; /* the way was not decided when it began */
    bool on;   /* CUDA_BEGIN is written */
    bool asks; /* only; it gives a device nothing to do */
    uint8_t copy_kind;
    uint64_t kernel; /* its name's id; above, its geometry's */
    uint64_t ticks, stream, bytes;
    uint64_t freed; /* address, 0 none */
    uint8_t freed_kind, freed_flags;
};

static inline bool enter(struct call *call, struct tp_held_name *name, enum tp_cuda_library library,
                         const void *caller)
{
    enum tp_cuda_mode mode = tp_cuda_mode();

    if (tp_likely(mode == TP_CUDA_MODE_CUPTI || mode == TP_CUDA_MODE_OFF) || tp_tls.cuda_depth ||
        tp_tls.ours)
        return false;
    *call = (struct call){
        .name = name,
        .caller = caller,
        .library = library,
        .late = mode == TP_CUDA_MODE_UNDECIDED,
    };
    tp_tls.cuda_depth = 1;
    return true;
}

static inline uint16_t device_of(const struct call *call)
{
    if (call->library == TP_CUDA_DRIVER)
        return 0; /* of the current context, which nobody told us */
    return tp_tls.cuda_device ? tp_tls.cuda_device : 1;
}

static inline void put_begin(struct call *call, uint64_t ticks)
{
    const struct tp_record record = {
        .kind = TP_EVENT_CUDA_BEGIN,
        .class_ = TP_CLASS_CUDA,
        .role = TP_ROLE_BEGIN,
        .slots = 2,
        .argument = tp_held_id(call->name),
        .words = {call->kernel, call->stream, call->bytes,
                  (uint64_t)device_of(call) << 16 | call->copy_kind},
    };

    call->on = true;
    tp_record_write_at(&record, ticks);
    /* before the memory is gone: another thread may get its address at once */
    if (call->freed)
        tp_cuda_memory(2, call->freed_kind, call->freed_flags | MEMORY_SIZE_UNKNOWN, call->freed, 0,
                       device_of(call), 0);
}

static inline void begin(struct call *call)
{
    if (tp_unlikely(call->late)) {
        call->ticks = tp_ticks();
        return;
    }
    tp_cuda_hooks_used(!call->asks);
    if (tp_likely(tp_may_record()))
        put_begin(call, tp_ticks());
}

/* The call may have initialised CUDA: then CUPTI has recorded it, or never will. */
static void decide(struct call *call, int result)
{
    tp_cuda_after_call(result);
    if (!call->late || tp_cuda_mode() != TP_CUDA_MODE_HOOKS)
        return;
    tp_cuda_hooks_used(!call->asks);
    if (tp_may_record())
        put_begin(call, call->ticks);
}

static inline void returned(struct call *call, int result)
{
    if (tp_unlikely(call->late || result))
        decide(call, result);
}

static inline void leave(struct call *call, int result)
{
    tp_tls.cuda_depth = 0;
    if (call->on)
        tp_record_end_with(TP_EVENT_CUDA_END, TP_CLASS_CUDA, (uint32_t)result);
}

/* --- what a record says of its call */

static inline void on_stream(struct call *call, const void *stream)
{
    call->stream = (uintptr_t)stream;
}

static inline void sized(struct call *call, uint64_t bytes, const void *stream)
{
    call->bytes = bytes;
    on_stream(call, stream);
}

static inline void copy_as(struct call *call, uint64_t bytes, unsigned kind, const void *stream)
{
    sized(call, bytes, stream);
    call->copy_kind = (uint8_t)kind;
}

static inline void copy(struct call *call, uint64_t bytes, int kind, const void *stream)
{
    static const uint8_t kinds[] = {COPY_HTOH, COPY_HTOD, COPY_DTOH, COPY_DTOD, 0};

    copy_as(call, bytes, kind >= 0 && kind < 5 ? kinds[kind] : 0, stream);
}

static void copy_block(struct call *call, const struct tp_copy_3d *block, const void *stream)
{
    bool arrays = !block || block->from_array || block->to_array;

    /* with an array the width counts elements, whose size it does not say */
    copy(call, arrays ? 0 : block->extent.width * block->extent.height * block->extent.depth,
         block ? block->kind : -1, stream);
}

static void copy_area(struct call *call, const struct tp_driver_copy_2d *area, const void *stream)
{
    copy_as(call, area ? area->width * area->height : 0, 0, stream);
}

static inline void frees_at(struct call *call, uint64_t address, unsigned kind, unsigned flags)
{
    call->freed = address;
    call->freed_kind = (uint8_t)kind;
    call->freed_flags = (uint8_t)flags;
}

static inline void frees(struct call *call, const void *address, unsigned kind, unsigned flags)
{
    frees_at(call, (uintptr_t)address, kind, flags);
}

static inline void frees_on(struct call *call, const void *address, const void *stream)
{
    frees(call, address, MEMORY_DEVICE, MEMORY_IS_ASYNC);
    on_stream(call, stream);
}

static inline void allocated_at(const struct call *call, uint64_t address, uint64_t bytes,
                                unsigned kind, unsigned flags)
{
    if (call->on)
        tp_cuda_memory(1, kind, flags, address, bytes, device_of(call), 0);
}

static inline void allocated(const struct call *call, const void *address, uint64_t bytes,
                             unsigned kind, unsigned flags)
{
    allocated_at(call, (uintptr_t)address, bytes, kind, flags);
}

static void created(const struct call *call, uint64_t handle, uint64_t bytes,
                    const struct tp_cuda_allocation *where)
{
    if (call->on)
        tp_cuda_memory_created(handle, bytes, where, 0);
}

static inline void asks(struct call *call)
{
    call->asks = true;
}

static inline void chosen(int device)
{
    tp_tls.cuda_device = (uint16_t)(device + 1);
}

static uint64_t levels_bytes(uint64_t element, struct tp_extent extent, unsigned levels)
{
    uint64_t bytes = 0;

    for (unsigned i = 0; i < levels && i < 64; i++) {
        size_t width = extent.width >> i, height = extent.height >> i, depth = extent.depth >> i;
        bytes += element * (width ? width : 1) * (height ? height : 1) * (depth ? depth : 1);
    }
    return bytes;
}

static uint64_t array_bytes(const struct tp_channels *channels, size_t width, size_t height,
                            size_t depth, unsigned levels)
{
    uint64_t bits = 0;

    for (unsigned i = 0; channels && i < 4; i++)
        bits += (unsigned)channels->bits[i];
    return levels_bytes(bits / 8, (struct tp_extent){width, height, depth}, levels);
}

/* Bytes of a channel by CUarray_format's number. */
static uint64_t format_bytes(unsigned format)
{
    switch (format) {
    case 0x02: /* unsigned and signed 16 bits, half */
    case 0x09:
    case 0x10:
        return 2;
    case 0x03: /* unsigned and signed 32 bits, float */
    case 0x0a:
    case 0x20:
        return 4;
    default:
        return 1;
    }
}

static uint64_t driver_array_bytes(const struct tp_driver_array *a)
{
    if (!a)
        return 0;
    return levels_bytes(format_bytes(a->format) * a->channels,
                        (struct tp_extent){a->width, a->height, 0}, 1);
}

static uint64_t driver_array_3d_bytes(const struct tp_driver_array_3d *a, unsigned levels)
{
    return a ? levels_bytes(format_bytes(a->format) * a->channels, a->extent, levels) : 0;
}

/* --- launches */

/* The name of a kernel that came by another way than registration; asked once. */
static uint32_t ask_runtime(const struct call *call, const void *function)
{
    static struct tp_cuda_real peek = {.name = "cudaPeekAtLastError"};
    static struct tp_cuda_real get = {.name = "cudaGetLastError"};
    static struct tp_cuda_real name_of = {.name = "cudaFuncGetName"};
    int (*peek_error)(void) = tp_cuda_real_find(&peek, call->caller);
    int (*get_error)(void) = tp_cuda_real_find(&get, call->caller);
    int (*get_name)(const char **, const void *) = tp_cuda_real_find(&name_of, call->caller);
    const char *name = NULL;

    /* CUDA's last error stays as it is: none before, so none afterwards */
    if (!peek_error || !get_error || !get_name) /* before 12.3 */
        return tp_cuda_kernel_learn(function, NULL);
    if (peek_error())
        return TP_NAME_NONE;
    if (get_name(&name, function)) {
        get_error();
        name = NULL;
    }
    return tp_cuda_kernel_learn(function, name);
}

static uint32_t ask_driver(const struct call *call, const void *function)
{
    static struct tp_cuda_real name_of = {.name = "cuFuncGetName", .library = TP_CUDA_DRIVER};
    int (*get_name)(const char **, const void *) = tp_cuda_real_find(&name_of, call->caller);
    const char *name = NULL;

    if (!get_name || get_name(&name, function))
        name = NULL;
    return tp_cuda_kernel_learn(function, name);
}

static uint32_t launch_geometry(const struct tp_cuda_launch *l)
{
    const struct tp_cuda_geometry geometry = {
        .grid = {l->grid.x, l->grid.y, l->grid.z},
        .block = {l->block.x, l->block.y, l->block.z},
        .dynamic_shared = l->shared,
        .registers = -1,
    };

    return tp_cuda_geometry_id(&geometry);
}

static uint64_t new_launch(const struct call *call, const struct tp_cuda_launch *launch)
{
    uint32_t changes = atomic_load(&tp_cuda_kernel_changes);
    uint32_t kernel, geometry = launch_geometry(launch);

    if (tp_cuda_kernel_name(launch->function, &kernel)) {
        if (geometry >= TP_NAME_FIRST)
            tp_cuda_launch_keep(launch, changes, kernel, geometry);
    } else if (!call->late) {
        kernel = call->library == TP_CUDA_DRIVER ? ask_driver(call, launch->function)
                                                 : ask_runtime(call, launch->function);
    }
    return (uint64_t)geometry << 32 | kernel;
}

static inline void launch(struct call *call, const void *function, struct tp_dim3 grid,
                          struct tp_dim3 block, size_t shared, const void *stream)
{
    const struct tp_cuda_launch now = {function, grid, block, (uint32_t)shared};

    on_stream(call, stream);
    if (tp_unlikely(!tp_may_record()))
        return;
    if (tp_unlikely(!tp_cuda_launch_known(&now, &call->kernel)))
        call->kernel = new_launch(call, &now);
}

static void launch_config(struct call *call, const struct tp_launch_config *config,
                          const void *function)
{
    if (config)
        launch(call, function, config->grid, config->block, config->shared, config->stream);
}

/* --- the wrappers */

#define TP_CUDA_HOOK(LIBRARY, SYMBOL, shown, parameters, arguments, BEFORE, AFTER)                 \
    int SYMBOL parameters;                                                                         \
    EXPORT int SYMBOL parameters                                                                   \
    {                                                                                              \
        static struct tp_cuda_real real = {.name = #SYMBOL, .library = TP_CUDA_##LIBRARY};         \
        static struct tp_held_name held = {.text = shown, .length = sizeof(shown) - 1};            \
        int(*next) parameters = tp_cuda_real_find(&real, CALLER);                                  \
        struct call call;                                                                          \
        if (!next)                                                                                 \
            return NOT_INITIALIZED;                                                                \
        if (!enter(&call, &held, TP_CUDA_##LIBRARY, CALLER))                                       \
            return next arguments;                                                                 \
        BEFORE;                                                                                    \
        begin(&call);                                                                              \
        int result = next arguments;                                                               \
        returned(&call, result);                                                                   \
        if (!result) {                                                                             \
            AFTER;                                                                                 \
        }                                                                                          \
        leave(&call, result);                                                                      \
        return result;                                                                             \
    }
#include "source/cuda/hooks.def"

/* --- the capture window */

static bool has_profiler_window(void)
{
    return tp_agent.config.capture.by == TP_CAPTURE_CUDA_PROFILER_API;
}

static int profiler_call(struct tp_cuda_real *real, struct tp_held_name *held, bool starts,
                         const void *caller)
{
    int (*next)(void) = tp_cuda_real_find(real, caller);
    struct call call;
    int result = NOT_INITIALIZED;

    if (starts && has_profiler_window())
        tp_capture_open();
    if (next && enter(&call, held, real->library, caller)) {
        asks(&call);
        begin(&call);
        result = next();
        returned(&call, result);
        leave(&call, result);
    } else if (next) {
        result = next();
    }
    if (!starts && has_profiler_window())
        tp_capture_close();
    return result;
}

#define PROFILER_HOOK(LIBRARY, SYMBOL, starts)                                                     \
    int SYMBOL(void);                                                                              \
    EXPORT int SYMBOL(void)                                                                        \
    {                                                                                              \
        static struct tp_cuda_real real = {.name = #SYMBOL, .library = TP_CUDA_##LIBRARY};         \
        static struct tp_held_name held = {.text = #SYMBOL, .length = sizeof(#SYMBOL) - 1};        \
        return profiler_call(&real, &held, starts, CALLER);                                        \
    }
PROFILER_HOOK(RUNTIME, cudaProfilerStart, true)
PROFILER_HOOK(RUNTIME, cudaProfilerStop, false)
PROFILER_HOOK(DRIVER, cuProfilerStart, true)
PROFILER_HOOK(DRIVER, cuProfilerStop, false)

/* --- names of kernels, and the first sight of the driver */

void __cudaRegisterFunction(void **binary, const char *function, char *device_function,
                            const char *name, int threads, void *thread_id, void *block_id,
                            void *block_size, void *grid_size, int *warp_size);

EXPORT void __cudaRegisterFunction(void **binary, const char *function, char *device_function,
                                   const char *name, int threads, void *thread_id, void *block_id,
                                   void *block_size, void *grid_size, int *warp_size)
{
    static struct tp_cuda_real real = {.name = "__cudaRegisterFunction"};
    void (*next)(void **, const char *, char *, const char *, int, void *, void *, void *, void *,
                 int *) = tp_cuda_real_find(&real, CALLER);

    if (tp_cuda_mode() != TP_CUDA_MODE_OFF && name)
        tp_cuda_kernel_register(binary, function, name);
    if (next)
        next(binary, function, device_function, name, threads, thread_id, block_id, block_size,
             grid_size, warp_size);
}

void __cudaUnregisterFatBinary(void **binary);

EXPORT void __cudaUnregisterFatBinary(void **binary)
{
    static struct tp_cuda_real real = {.name = "__cudaUnregisterFatBinary"};
    void (*next)(void **) = tp_cuda_real_find(&real, CALLER);

    tp_cuda_kernel_forget(binary);
    if (next)
        next(binary);
}

int __cudaGetKernel(void **ret_handle, const void *function);

EXPORT int __cudaGetKernel(void **ret_handle, const void *function)
{
    static struct tp_cuda_real real = {.name = "__cudaGetKernel"};
    int (*next)(void **, const void *) = tp_cuda_real_find(&real, CALLER);

    if (!next)
        return NOT_INITIALIZED;
    int result = next(ret_handle, function);
    if (!result && ret_handle && tp_cuda_mode() != TP_CUDA_MODE_OFF)
        tp_cuda_kernel_alias(*ret_handle, function);
    return result;
}

int cuInit(unsigned flags);

EXPORT int cuInit(unsigned flags)
{
    static struct tp_cuda_real real = {.name = "cuInit", .library = TP_CUDA_DRIVER};
    int (*next)(unsigned) = tp_cuda_real_find(&real, CALLER);

    if (!next)
        return NOT_INITIALIZED;
    int result = next(flags);
    if (tp_cuda_mode() == TP_CUDA_MODE_UNDECIDED && !tp_tls.cuda_depth)
        tp_cuda_after_call(result);
    return result;
}
