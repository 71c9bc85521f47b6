/* SPDX-License-Identifier: MIT */
#ifndef TP_SOURCE_CUDA_CUDA_H
#define TP_SOURCE_CUDA_CUDA_H

/*
 * CUDA, in one of two ways, chosen once per process:
 *
 *   CUPTI  The driver calls InitializeInjection inside the first cuInit; there we subscribe. A
 *          callback writes CUDA_CALL at each call's enter, in the ring of its thread; all the rest
 *          comes in buffers of activity records, which are converted when CUPTI gives them back.
 *   hooks  Where CUPTI is missing or another tool holds it: the interposed functions of hooks.def
 *          write CUDA_BEGIN and CUDA_END around the call. No device times.
 *
 * While the way is open (UNDECIDED: no cuInit yet) a hook waits with its records until its call has
 * returned: had that one initialised CUDA, the way is known then. So nothing is recorded twice.
 *
 *   cuda.c            the decision, injection, fork, exit
 *   cupti_library.c   which libcupti
 *   cupti_start.c     subscription, kinds, callbacks
 *   buffers.c         activity buffers, to and from CUPTI
 *   convert.c         activity records -> records
 *   flusher.c         our thread: clock pairs, flushes with a deadline, buffers that found no room
 *   names.c           ids of kernels, geometries, API functions
 *   memory.c          device memory of the calling thread
 *   lines.c           what goes to meta.jsonl
 *   clients.c         other clients of CUPTI
 *   allocator.c       blocks of PyTorch's caching allocator
 *   hooks.c hooks.def the interposed functions; real.c what they call; kernels.c kernel handles;
 *                     launches.c launches that came before
 */

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "guard.h"
#include "source/cuda/cupti_abi.h"

#define TP_CUDA_CBIDS 2048u

enum tp_cuda_mode {
    TP_CUDA_MODE_UNDECIDED,
    TP_CUDA_MODE_CUPTI,
    TP_CUDA_MODE_HOOKS,
    TP_CUDA_MODE_OFF
};

/* Totals of what is missing, for the `cuda_lost` line. */
struct tp_cuda_lost {
    _Atomic uint64_t dropped; /* by CUPTI */
    _Atomic uint64_t no_room; /* in a ring, and waiting did not help */
    _Atomic uint64_t no_time; /* kept, without time */
    _Atomic uint64_t invalid; /* not a record */
    _Atomic uint64_t buffers; /* refused at the limit */
    _Atomic uint64_t
        unknown[TP_CUPTI_KIND_END]; /* kinds that nobody enabled, the last for all above */
};

struct tp_cuda {
    _Atomic uint32_t mode; /* enum tp_cuda_mode */
    _Atomic uint32_t starting;
    uint32_t pid; /* in which CUPTI runs, 0 none */
    uint32_t api; /* version of CUPTI */
    bool ticks;   /* CUPTI's times are our ticks */
    bool graph_nodes;
    bool is_started;         /* all of it: what is lost from now on is another client's doing */
    _Atomic uint32_t broken; /* device records are missing: CUPTI gave up, a flush never ended, or
                                another client took the buffers */
    char library[1024];      /* path of libcupti, "" none */
    struct tp_cupti cupti;
    struct tp_cuda_lost lost;
    /* highest correlation id of an API record, by domain, modulo 2^32 */
    _Atomic uint32_t newest[TP_CUPTI_DOMAIN_RUNTIME + 1];
    /* the same of launches that succeeded, and of what came of them: kernels, nodes of a graph */
    _Atomic uint32_t newest_launch, newest_launched;
    _Atomic uint64_t until; /* end of the newest device record, in CUPTI's clock */
};

extern struct tp_cuda tp_cuda;

static inline enum tp_cuda_mode tp_cuda_mode(void)
{
    return (enum tp_cuda_mode)atomic_load_explicit(&tp_cuda.mode, memory_order_relaxed);
}

/** tp_cuda_start - take CUPTI, else hooks, once. @where: for the message. Context: inside cuInit,
 * or behind the first call that initialised CUDA. */
void tp_cuda_start(const char *where);

/** tp_cuda_here - whether CUPTI runs in this process, not in one that it was forked from */
bool tp_cuda_here(void);

/* What hooks have recorded. */
enum { TP_CUDA_HOOKS_SEEN = 1, TP_CUDA_WORK_SEEN = 2 /* more than questions */ };
extern _Atomic uint32_t tp_cuda_hooks_seen;
void tp_cuda_hooks_first(uint32_t what);

/** tp_cuda_hooks_used - before each record of a hook: says so once. @works: the call is more than a
 * question. Context: hook. */
static inline void tp_cuda_hooks_used(bool works)
{
    uint32_t what = TP_CUDA_HOOKS_SEEN | (works ? TP_CUDA_WORK_SEEN : 0);

    if (tp_unlikely(what & ~atomic_load_explicit(&tp_cuda_hooks_seen, memory_order_relaxed)))
        tp_cuda_hooks_first(what);
}

/** tp_cuda_after_call - a call has returned before the way was decided. @result: as CUDA counts */
void tp_cuda_after_call(int result);

#define TP_CUDA_TAKEN "takes CUPTI's buffers: device records end here"

/** tp_cuda_check_end - after the last flush: say it where records of the newest call, or of the
 * newest kernels, never came */
void tp_cuda_check_end(void);

/** tp_cuda_lose - once: @who has done @what, and records are missing from here on. Context: any. */
void tp_cuda_lose(const char *what, const char *who);

/* --- cupti_library.c */

/**
 * tp_cupti_load - the next libcupti to try
 * @state: 0 at first, kept between calls
 * @ret_path: @size bytes, where it was found
 * Context: as dlopen. Return: a handle that is never closed; NULL: no more.
 */
void *tp_cupti_load(unsigned *state, char *ret_path, size_t size);

/** tp_cupti_resolve - all functions of @handle. Return: the name of a needed one that is missing,
 * or NULL. */
const char *tp_cupti_resolve(void *handle, struct tp_cupti *ret_cupti);

/* --- cupti_start.c */

/**
 * tp_cupti_start - load, subscribe, enable
 * @ret_why: @size bytes: why not, or a remark
 * Return: whether CUPTI is ours now.
 */
bool tp_cupti_start(char *ret_why, size_t size);

/** tp_cuda_wants_kind - whether records of this kind were switched on by us */
bool tp_cuda_wants_kind(uint32_t kind);

/* --- buffers.c */

/** tp_cuda_buffers_open - make the first buffers. Return: 0 or -ENOMEM. */
int tp_cuda_buffers_open(void);
extern _Atomic uint32_t tp_cuda_call_sample; /* correlation id of a call now and then */
tp_cupti_request tp_cuda_buffer_request;
tp_cupti_complete tp_cuda_buffer_complete;
/** tp_cuda_buffers_again - convert what found no room. Context: flusher. @wait_ns for each. Return:
 * whether all is done. */
bool tp_cuda_buffers_again(uint64_t wait_ns);
/** tp_cuda_buffers_done - whether nothing waits for that */
bool tp_cuda_buffers_done(void);
/** tp_cuda_buffers_watch - once per second: whether buffers that are out come back. Context:
 * flusher. */
void tp_cuda_buffers_watch(void);
/** tp_cuda_buffers_forget - in a fork's child */
void tp_cuda_buffers_forget(void);

/* --- convert.c */

/* Where the conversion of a buffer stands. */
struct tp_cuda_walk {
    uint8_t *buffer;
    size_t used;
    void *record;       /* the last one done; NULL at first */
    bool names_are_ids; /* the names of all records behind it were replaced */
    bool has_held;      /* a driver call that may lie inside of the runtime call behind it */
    uint8_t held[40] __attribute__((aligned(8)));
};

/** tp_cuda_convert - write the records of a buffer
 * @wait_ns: how long to wait for room, in all
 * Return: true when it is done; false: no room for the record behind walk->record. */
bool tp_cuda_convert(struct tp_cuda_walk *walk, uint64_t wait_ns);

/** tp_cuda_keep_names - before a buffer waits: replace the names of all records behind
 * walk->record, which may be gone tomorrow, by ids */
void tp_cuda_keep_names(struct tp_cuda_walk *walk);

/** tp_cuda_count_rest - the records behind walk->record are lost */
void tp_cuda_count_rest(struct tp_cuda_walk *walk);

/* By domain, a bit each: calls that are recorded, and those that launch a kernel. */
extern uint8_t tp_cuda_listed[3][TP_CUDA_CBIDS / 8], tp_cuda_launching[3][TP_CUDA_CBIDS / 8];

/** tp_cuda_newer - @correlation, if it is newer, into *newest. Context: hook. */
void tp_cuda_newer(_Atomic uint32_t *newest, uint32_t correlation);

/** tp_cuda_window - the capture window turned at the call with this correlation id. Context: hook.
 */
void tp_cuda_window(uint32_t turn, uint32_t correlation);
extern _Atomic uint32_t tp_cuda_window_turn; /* the last one told */

/* --- names.c */

struct tp_cuda_geometry {
    uint32_t grid[3], block[3];
    uint32_t static_shared, dynamic_shared, local_per_thread;
    uint32_t cluster[3];
    int32_t registers; /* -1 unknown */
};

/** tp_cuda_geometry_id - name id of a launch's geometry, 0 where there is none. Context: hook. */
uint32_t tp_cuda_geometry_id(const struct tp_cuda_geometry *geometry);

/** tp_cuda_api_id - name id of an API function. Context: hook. */
uint32_t tp_cuda_api_id(uint32_t domain, uint32_t cbid);

/** tp_cuda_api_plain_name - a function's name without version and variant:
 * "cudaLaunchKernel_ptsz_v7000" becomes "cudaLaunchKernel". Return: length; 0: none. */
size_t tp_cuda_api_plain_name(const char *name, char *ret_plain, size_t size);

/* --- listed.c */

/** tp_cuda_is_listed - whether hooks.def has an API function of this plain name */
bool tp_cuda_is_listed(uint32_t domain, const char *plain_name, size_t length);

/* --- real.c */

enum tp_cuda_library { TP_CUDA_RUNTIME, TP_CUDA_DRIVER, TP_CUDA_PROFILING, TP_CUDA_LIBRARIES };

/* The functions of one interposed name: one for each runtime that is mapped. */
#define TP_CUDA_RUNTIMES 4u
struct tp_cuda_real {
    const char *name;
    enum tp_cuda_library library;
    void *_Atomic found[TP_CUDA_RUNTIMES];
};

/** tp_cuda_real_find - the function that @caller (a return address) means. Context: hook; takes the
 * loader's lock at first sight. Return: NULL: no such library. */
void *tp_cuda_real_find(struct tp_cuda_real *real, const void *caller);

/* --- kernels.c */

/** tp_cuda_kernel_register, _forget - @handle's fat binary has a kernel; the binary goes. Context:
 * hook, before main too. */
void tp_cuda_kernel_register(const void *binary, const void *function, const char *name);
void tp_cuda_kernel_forget(const void *binary);
/** tp_cuda_kernel_alias - @handle is another word for the kernel @function */
void tp_cuda_kernel_alias(const void *handle, const void *function);
/** tp_cuda_kernel_name - name id of a kernel, 0 unknown. Return: false: it may be worth asking
 * CUDA. */
bool tp_cuda_kernel_name(const void *function, uint32_t *ret_id);
/** tp_cuda_kernel_learn - the name of a handle that nobody registered; NULL: it has none. Return:
 * its id. */
uint32_t tp_cuda_kernel_learn(const void *function, const char *name);

/* --- flusher.c */

/** tp_cuda_flusher_start - our thread. Return: 0 or -errno. */
int tp_cuda_flusher_start(void);
/** tp_cuda_flush - everything that CUPTI holds, waiting at most @wait_ns. Context: exit path.
 * Return: whether it was done. */
bool tp_cuda_flush(uint64_t wait_ns);
void tp_cuda_flusher_wake(void);
void tp_cuda_flusher_forget(void);

/* --- lines.c */

/** tp_cuda_say - the `cuda` line; @why may be NULL. Context: any; the last one counts. */
void tp_cuda_say(const char *why);
/** tp_cuda_line - a line for meta.jsonl, without its end. Context: hook. */
struct tp_text;
void tp_cuda_line(const struct tp_text *text);
/** tp_cuda_pair - read both clocks. Context: any of our threads, or start. */
void tp_cuda_pair(void);
/** tp_cuda_report - write what is new. Context: drain, or who ends the process. */
void tp_cuda_report(void);
void tp_cuda_lines_forget(void);

#endif
