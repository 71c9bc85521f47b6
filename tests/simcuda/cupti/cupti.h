/* SPDX-License-Identifier: MIT */
#ifndef SIM_CUPTI_H
#define SIM_CUPTI_H

#include "../entry.h"
#include "../simcuda.h"

#include <pthread.h>

enum {
    CUPTI_OK = 0,
    CUPTI_EPARAMETER = 1,
    CUPTI_EOPERATION = 7,
    CUPTI_ESIZE = 10,
    CUPTI_EMAXLIMIT = 12,
    CUPTI_ENOTINIT = 15,
    CUPTI_EQUEUEEMPTY = 18,
    CUPTI_EKIND = 21,
    CUPTI_ENOTSUPPORTED = 27,
    CUPTI_ESUBSCRIBERS = 39,
    CUPTI_EUNKNOWN = 999,
};

enum { CUPTI_KINDS = 64 };

/* version.c */
uint32_t sim_cupti_api(void);
/*
 * The driver's table, for a call that needs the driver. NULL with the error that the call returns:
 * no driver (999, after a wait), the driver is too old (15), a forked child or a finished driver
 * (999).
 */
const struct sim_core *sim_cupti_core(const char *function, int *ret_error);
/* The same where the driver may be missing; NULL then. */
const struct sim_core *sim_cupti_core_if_there(void);

/* record.c */
enum sim_record_kind {
#define SIM_KIND(kind, number, name) SIM_RECORD_##kind = number,
#define SIM_SIZE(kind, api, bytes)
#define SIM_FIELD(kind, field, offset, bytes, api)
#include "records.def"
#undef SIM_KIND
#undef SIM_SIZE
#undef SIM_FIELD
};

enum sim_record_field {
#define SIM_KIND(kind, number, name)
#define SIM_SIZE(kind, api, bytes)
#define SIM_FIELD(kind, field, offset, bytes, api) SIM_##kind##_##field,
#include "records.def"
#undef SIM_KIND
#undef SIM_SIZE
#undef SIM_FIELD
    SIM_RECORD_FIELDS
};

enum { SIM_RECORD_MAX = 256 };

/* Values of one record's fields, before they are laid out. */
struct sim_record {
    uint32_t kind;
    uint64_t value[SIM_RECORD_FIELDS];
};

/* All fields of this kind are 0 after it; those of other kinds have no meaning. */
void sim_record_begin(struct sim_record *record, enum sim_record_kind kind);
/* Bytes of a record of this kind in this API version; 0: there is none. */
size_t sim_record_size(uint32_t kind);
void sim_record_lay_out(const struct sim_record *record, uint8_t *to);

/* buffer.c */
/*
 * Puts the record in a buffer, by the order and faults of the script. @work_end: of device work,
 * when it is over; such a record may come late. 0 for others.
 */
void sim_buffer_put(const struct sim_record *record, uint64_t work_end);
void sim_buffers_call_over(void);    /* the outermost API call's record is written */
void sim_buffers_release_late(void); /* the host waited for device work */
void sim_buffers_drop(void);
int sim_buffers_flush(bool forced);
int sim_buffers_flush_period(uint32_t ms);
uint64_t sim_buffers_take_dropped(void);
bool sim_in_buffer_callback(void); /* this thread is inside request or complete */
/* SIMCUDA_KILL_IN_FLUSH=N: whether a flush runs, and the client has read N records meanwhile. */
bool sim_buffers_kill_now(void);
extern struct sim_buffer_calls {
    void (*request)(uint8_t **buffer, size_t *size, size_t *max_records);
    void (*complete)(void *context, uint32_t stream, uint8_t *buffer, size_t size,
                     size_t valid_size);
} sim_buffer_calls;

/* attribute.c */
bool sim_buffers_per_thread(void);
bool sim_buffers_zeroed(void);

/* activity.c */
bool sim_kind_enabled(uint32_t kind);
void sim_activity_give_up(void); /* nothing is recorded from now on */
/* The API record that the call deserves, and what goes before it. */
void sim_activity_call(const struct sim_call *call, bool told);
void sim_activity_work(const struct sim_work *work);
void sim_activity_memory(const struct sim_memory *memory);
void sim_activity_pool(enum sim_pool_operation operation, const struct sim_pool *pool,
                       uint32_t correlation, uint64_t min_bytes);
void sim_activity_context(const struct sim_context *context);
void sim_activity_stream(const struct sim_stream *stream);

/* callback.c */
void sim_observe(const struct sim_core *core);

/*
 * With SIMCUDA_LOCK=MS CUPTI holds one lock around each of its functions and each callback, as the
 * real one is known to: a client that holds a lock of its own around a call, and takes it in a
 * callback, is told so after that time instead of hanging for ever.
 */
struct sim_entered {
    bool locked;
};
struct sim_entered sim_cupti_enter(const struct sim_core *core, const char *what);
void sim_cupti_leave(struct sim_entered *entered);
#define SIM_ENTER(core, what)                                                                      \
    struct sim_entered entered_ __attribute__((cleanup(sim_cupti_leave), unused)) =                \
        sim_cupti_enter(core, what)

/* Opens a function that needs the driver: `core` is its table. */
#define NEED_DRIVER(name)                                                                          \
    int error_ = CUPTI_OK;                                                                         \
    const struct sim_core *core = sim_cupti_core(#name, &error_);                                  \
    if (!core)                                                                                     \
    return error_

#endif
