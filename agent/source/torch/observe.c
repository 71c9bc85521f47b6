/* SPDX-License-Identifier: MIT */
#include "source/torch/fast.h"

#include <string.h>

#include "record.h"

/*
 * The two functions that torch calls around each operator, in any thread, with any lock held. The
 * records of a thread's open operators are kept in a stack, so that a pause, a stop, or an operator
 * that ends on another thread never leaves an end without its begin, or takes another one's.
 */

/* Of threads that found no caches free: operators open and recorded, taken to nest. */
static _Thread_local uint32_t crowded_depth __attribute__((tls_model("initial-exec")));

/* False when the operator must not be recorded. */
static bool push(struct tp_torch_thread *self, const unsigned char *record)
{
    if (self == NULL) {
        crowded_depth++;
        return true;
    }
    if (self->depth == TP_TORCH_DEPTH) {
        atomic_fetch_add_explicit(&tp_torch.too_deep, 1, memory_order_relaxed);
        return false;
    }
    self->open[self->depth++] = record;
    return true;
}

/* What was begun inside this operator and has not ended here ends with it. */
static __attribute__((noinline, cold)) void pop_through(struct tp_torch_thread *self,
                                                        const unsigned char *record)
{
    uint32_t at = self->depth;

    while (at > 0 && self->open[at - 1] != record)
        at--;
    if (at == 0)
        return;
    for (; self->depth >= at; self->depth--) {
        if (self->depth > at)
            atomic_fetch_add_explicit(&tp_torch.ended_elsewhere, 1, memory_order_relaxed);
        tp_record_op_end();
    }
}

static void string_at(bool old_strings, const unsigned char *string, const char **ret_text,
                      size_t *ret_length)
{
    const unsigned char *text = tp_torch_pointer(string, 0);

    *ret_text = (const char *)text;
    *ret_length = old_strings ? tp_torch_word(text - 24, 0) : tp_torch_word(string, 8);
}

static void name_in_place(const struct tp_torch_layout *layout, const unsigned char *record,
                          struct tp_torch_name *ret_name)
{
    ret_name->key = NULL;
    ret_name->overload = "";
    ret_name->overload_length = 0;
    if (record[layout->name_kind] == 1) {
        const unsigned char *schema = tp_torch_pointer(record, layout->name);
        ret_name->key = schema;
        string_at(layout->old_strings, schema, &ret_name->name, &ret_name->name_length);
        if (layout->has & TP_TORCH_HAS_OVERLOAD)
            string_at(layout->old_strings, schema + layout->schema_overload, &ret_name->overload,
                      &ret_name->overload_length);
    } else {
        string_at(layout->old_strings, record + layout->name, &ret_name->name,
                  &ret_name->name_length);
    }
}

static void name_by_call(const unsigned char *record, struct tp_torch_name *ret_name)
{
    const char *overload = NULL;

    ret_name->key = NULL;
    ret_name->name = tp_torch.functions.name(record);
    if (ret_name->name == NULL)
        ret_name->name = "";
    if (tp_torch.functions.overload != NULL)
        overload = tp_torch.functions.overload(record);
    ret_name->overload = overload != NULL ? overload : "";
    ret_name->name_length = strlen(ret_name->name);
    ret_name->overload_length = strlen(ret_name->overload);
}

/* ProfilerStep#12 -> ProfilerStep* and 12: a name for each step would fill the table of names. */
static bool split_step(struct tp_torch_name *name, int64_t *ret_step)
{
    static const char prefix[] = "ProfilerStep#";
    size_t at = sizeof prefix - 1;
    int64_t step = 0;

    if (name->name[0] != 'P' || name->name_length <= at || name->name_length > at + 18 ||
        memcmp(name->name, prefix, at) != 0)
        return false;
    for (; at < name->name_length; at++) {
        if (name->name[at] < '0' || name->name[at] > '9')
            return false;
        step = step * 10 + (name->name[at] - '0');
    }
    name->name = "ProfilerStep*";
    name->name_length = sizeof prefix - 1;
    *ret_step = step;
    return true;
}

static inline void read_inputs(const struct tp_torch_layout *layout, struct tp_torch_thread *self,
                               const unsigned char *record, struct tp_torch_input_entry *last,
                               struct tp_op_details *details)
{
    size_t count = tp_torch_word(record, layout->inputs + 8u);
    const struct tp_torch_input_entry *entry;

    if (count == 0)
        return;
    entry = tp_torch_inputs_find(self, layout, tp_torch.shapes == TP_TORCH_SHAPES_ALL,
                                 tp_torch_pointer(record, layout->inputs), count, last);
    if (TP_UNLIKELY(entry == NULL)) {
        details->flags = TP_OP_NO_DETAILS;
        return;
    }
    details->shapes = entry->shapes;
    details->inputs = entry->inputs;
}

static void begin_early(struct tp_torch_thread *self, const unsigned char *record)
{
    struct tp_op_details details = {.sequence_nr = -1, .flags = TP_OP_NO_DETAILS};
    struct tp_torch_name name;

    atomic_fetch_add_explicit(&tp_torch.without_details, 1, memory_order_relaxed);
    name_by_call(record, &name);
    if (split_step(&name, &details.sequence_nr))
        details.scope = 7;
    details.torch_thread = (uint32_t)tp_torch.functions.thread();
    if (self != NULL) {
        self->early = true;
        if (self->inside == 0 && strstr(name.name, "::") != NULL)
            self->inside = self->depth;
    }
    tp_record_op_begin(tp_torch_name_look(self, &name), &details);
}

/* Whatever was found, and names of any kind. */
static void begin_partly(struct tp_torch_thread *self, const unsigned char *record)
{
    const struct tp_torch_layout *layout = &tp_torch.found;
    uint32_t has = layout->has;
    struct tp_op_details details = {.sequence_nr = -1, .flags = tp_torch.flags};
    struct tp_torch_input_entry last = {.hash = 0};
    struct tp_torch_name name;

    if (has & TP_TORCH_HAS_NAME)
        name_in_place(layout, record, &name);
    else
        name_by_call(record, &name);
    details.torch_thread = (uint32_t)tp_torch.functions.thread();
    if (has & TP_TORCH_HAS_SCOPE)
        details.scope = record[layout->scope];
    if (has & TP_TORCH_HAS_SEQUENCE)
        details.sequence_nr = (int64_t)tp_torch_word(record, layout->sequence);
    if (has & TP_TORCH_HAS_FORWARD_THREAD)
        details.forward_thread = tp_torch_word(record, layout->forward_thread);
    if (tp_torch.shapes != TP_TORCH_SHAPES_OFF && self != NULL)
        read_inputs(layout, self, record, &last, &details);
    else if (tp_torch.shapes != TP_TORCH_SHAPES_OFF)
        details.flags = TP_OP_NO_DETAILS;
    if (name.key == NULL && split_step(&name, &details.sequence_nr))
        details.scope = 7;
    tp_record_op_begin(tp_torch_name_look(self, &name), &details);
}

static __attribute__((noinline, cold)) void begin_slowly(struct tp_torch_thread *self,
                                                         const unsigned char *record)
{
    enum tp_torch_how how = atomic_load_explicit(&tp_torch.how, memory_order_acquire);

    if (how == TP_TORCH_NOT || (self != NULL && self->quiet))
        return;
    if (self == NULL)
        self = tp_torch_thread_claim();
    if (!push(self, record))
        return;
    if (how == TP_TORCH_EARLY)
        begin_early(self, record);
    else
        begin_partly(self, record);
}

/*
 * The usual operator: everything found, a schema's name, strings of the usual kind. The less code
 * this is the better: between two operators torch and the interpreter run so much that all of it
 * must be fetched again.
 */
static inline void begin_wholly(struct tp_torch_thread *self, const unsigned char *record)
{
    const struct tp_torch_layout *layout = &tp_torch.found;
    const unsigned char *schema = tp_torch_pointer(record, layout->name);
    const unsigned char *overload = schema + layout->schema_overload;
    struct tp_torch_name name = {
        .key = schema,
        .name = (const char *)tp_torch_pointer(schema, 0),
        .name_length = tp_torch_word(schema, 8),
        .overload = (const char *)tp_torch_pointer(overload, 0),
        .overload_length = tp_torch_word(overload, 8),
    };
    struct tp_op_details details = {
        .sequence_nr = (int64_t)tp_torch_word(record, layout->sequence),
        .forward_thread = tp_torch_word(record, layout->forward_thread),
        .torch_thread = self->number,
        .scope = record[layout->scope],
    };

    struct tp_torch_name_entry *entry = tp_torch_name_find(self, &name);

    if (TP_UNLIKELY(entry == NULL)) {
        begin_slowly(self, record);
        return;
    }
    self->open[self->depth++] = record;
    if (tp_torch.shapes != TP_TORCH_SHAPES_OFF && TP_LIKELY(tp_capture_is_open()))
        read_inputs(layout, self, record, &entry->last, &details);
    tp_record_op_begin(entry->id, &details);
}

/*
 * Asks for calibration when an outermost operator has ended: then the interpreter's next quiet
 * moment is not inside an operator that is itself written in Python. Ranges of the user's around it
 * do not count, and what is taken for an operator must not hold it up for ever.
 */
static __attribute__((noinline, cold)) void end_early(struct tp_torch_thread *self)
{
    if (atomic_load_explicit(&tp_torch.how, memory_order_relaxed) != TP_TORCH_EARLY) {
        self->early = false;
        return;
    }
    if (self->inside > self->depth)
        self->inside = 0;
    if (--self->until_ask > 0 || (self->inside != 0 && self->until_ask > -100))
        return;
    if (self->ask_interval < 255)
        self->ask_interval = self->ask_interval * 2 + 1;
    self->until_ask = self->ask_interval;
    tp_torch_calibrate_ask();
}

void *tp_torch_observe_begin(void **ret_context, const unsigned char *record)
{
    struct tp_torch_thread *self = tp_torch_self;

    *ret_context = NULL;
    if (!tp_recording())
        return ret_context;
    if (TP_LIKELY(atomic_load_explicit(&tp_torch.how, memory_order_acquire) == TP_TORCH_WHOLLY &&
                  self != NULL && !self->quiet && self->depth < TP_TORCH_DEPTH &&
                  record[tp_torch.found.name_kind] == 1))
        begin_wholly(self, record);
    else
        begin_slowly(self, record);
    return ret_context;
}

void tp_torch_observe_end(const unsigned char *record, void *context)
{
    struct tp_torch_thread *self = tp_torch_self;

    (void)context;
    if (TP_LIKELY(self != NULL)) {
        if (TP_LIKELY(self->depth != 0 && self->open[self->depth - 1] == record)) {
            self->depth--;
            tp_record_op_end();
            if (TP_UNLIKELY(self->early))
                end_early(self);
        } else if (self->depth != 0) {
            pop_through(self, record);
        }
    } else if (crowded_depth != 0) {
        crowded_depth--;
        tp_record_op_end();
    }
}
