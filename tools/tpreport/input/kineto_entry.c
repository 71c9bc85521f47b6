/* SPDX-License-Identifier: MIT */
#include "input/kineto.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "input/json_capture.h"
#include "model/decimal.h"
#include "model/flops.h"
#include "model/python_text.h"

static const struct tp_kineto_category none = {.kind = TP_KINETO_IS_CPU_OP, .activity = "cpu_op"};

void tp_kineto_init(struct tp_kineto *kineto, struct tp_input *input, struct tp_event_list *list)
{
    *kineto = (struct tp_kineto){.input = input};
    tp_raw_records_init(&kineto->records, list);
}

void tp_kineto_fini(struct tp_kineto *kineto)
{
    tp_raw_records_fini(&kineto->records);
    tp_buffer_fini(&kineto->entry.captured);
    tp_buffer_fini(&kineto->text);
    tp_buffer_fini(&kineto->device_properties);
    tp_buffer_fini(&kineto->distributed_info);
    tp_json_parser_fini(&kineto->own);
    tp_event_metadata_fini(&kineto->metadata);
    tp_id_index_fini(&kineto->op_ids);
    free(kineto->entry.arguments);
    free(kineto->op_threads);
    free(kineto->steps);
    free(kineto->threads);
    free(kineto->flows);
    free(kineto->frames);
    *kineto = (struct tp_kineto){0};
}

void tp_kineto_entry_start(struct tp_kineto_entry *entry)
{
    entry->seen = 0;
    entry->phase = 0;
    entry->category = NULL;
    entry->name = TP_STRING_EMPTY;
    entry->duration_ns = 0;
    entry->pid = entry->tid = entry->device = entry->stream = (struct tp_kineto_place){0};
    entry->own_name = entry->flow_text = entry->category_name = TP_STRING_NONE;
    entry->scope = entry->binding = 0;
    entry->has_own = false;
    entry->external_id = entry->correlation = entry->fwd_thread = entry->bytes = 0;
    entry->sequence_nr = -1;
    entry->device_type = 0;
    entry->python_id = entry->python_parent_id = entry->python_module_id = -1;
    entry->stack = TP_STACK_EMPTY;
    entry->argument_count = 0;
    tp_buffer_reset(&entry->captured);
}

static bool has(const struct tp_kineto_entry *entry, enum tp_kineto_key key)
{
    return entry->seen >> key & 1;
}

/* ---- pids and tids ---- */

/* " node_id:1, thread_id:7 ", what a list of events writes for a remote one: its thread. */
static bool read_remote(const char *text, size_t size, int64_t *ret_thread)
{
    static const char mark[] = "thread_id:";
    const char *at = memmem(text, size, mark, sizeof(mark) - 1);

    if (!at)
        return false;
    at += sizeof(mark) - 1;
    size_t left = size - (size_t)(at - text), digits = 0;
    while (digits < left && (at[digits] == '-' || (at[digits] >= '0' && at[digits] <= '9')))
        digits++;
    return tp_decimal_to_integer(at, digits, ret_thread) == 0;
}

int tp_kineto_place_text(struct tp_strings *strings, const char *text, size_t size,
                         struct tp_kineto_place *ret_place)
{
    struct tp_kineto_place place = {.is_there = true};
    int result = 0;

    if (tp_decimal_to_integer(text, size, &place.number) != 0)
        result = tp_strings_put(strings, text, size, &place.text);
    if (!result)
        *ret_place = place;
    return result;
}

/* Different names, different threads. */
int64_t tp_kineto_thread_of(const struct tp_strings *strings, const struct tp_kineto_place *tid,
                            bool *ret_remote)
{
    int64_t thread;

    *ret_remote = false;
    if (!tid->text)
        return tid->number;
    const struct tp_string *text = tp_strings_get(strings, tid->text);
    *ret_remote = read_remote(text->bytes, text->size, &thread);
    return *ret_remote ? thread : -1 - (int64_t)tid->text;
}

static int32_t node_of(const struct tp_strings *strings, const struct tp_kineto_place *tid)
{
    const char *at = strstr(tp_strings_get(strings, tid->text)->bytes, "node_id:");

    return at ? (int32_t)strtol(at + 8, NULL, 10) : -1;
}

/* ---- arguments as text ---- */

static const struct tp_kineto_argument *find_argument(const struct tp_kineto_entry *entry,
                                                      enum tp_kineto_key key)
{
    for (uint32_t i = 0; i < entry->argument_count; i++) {
        if (entry->arguments[i].key == (int)key)
            return &entry->arguments[i];
    }
    return NULL;
}

/* Lists of numbers only; anything else could not be told from text later. */
static bool is_plain_list(const char *text, size_t size)
{
    for (size_t i = 0; i < size; i++) {
        char c = text[i];
        if ((c < '0' || c > '9') && c != ',' && c != ' ' && c != '[' && c != ']' && c != '-')
            return false;
    }
    return size && *text == '[';
}

int tp_kineto_take_shapes(struct tp_kineto *kineto, uint32_t *ret_shapes)
{
    const struct tp_kineto_entry *entry = &kineto->entry;
    const struct tp_kineto_argument *dims = find_argument(entry, TP_KINETO_INPUT_DIMS);

    if (!dims)
        return 0;
    const char *text = entry->captured.bytes + dims->begin;
    if (!is_plain_list(text, dims->size))
        return 0;
    tp_buffer_reset(&kineto->text);
    tp_json_shapes(&kineto->text, text, dims->size);
    if (kineto->text.failed)
        return -ENOMEM;
    return tp_strings_put(kineto->records.list->strings, kineto->text.bytes, kineto->text.size,
                          ret_shapes);
}

/* An argument's text behind the captured ones, terminated. Offset in captured, for it may move. */
static size_t terminated(struct tp_kineto_entry *entry, enum tp_kineto_key key)
{
    const struct tp_kineto_argument *argument = find_argument(entry, key);
    size_t begin = entry->captured.size;

    if (argument) {
        uint32_t from = argument->begin, size = argument->size;
        for (uint32_t i = 0; i < size; i++)
            tp_buffer_char(&entry->captured, entry->captured.bytes[from + i]);
    }
    tp_buffer_char(&entry->captured, '\0');
    return begin;
}

int tp_kineto_take_flops(struct tp_kineto *kineto, uint32_t name_id, uint64_t *ret_flops)
{
    struct tp_kineto_entry *entry = &kineto->entry;
    const char *name = tp_strings_get(kineto->records.list->strings, name_id)->bytes;

    if (!tp_flops_has_formula(name) || !find_argument(entry, TP_KINETO_INPUT_DIMS))
        return 0;
    size_t dims = terminated(entry, TP_KINETO_INPUT_DIMS);
    size_t concrete = terminated(entry, TP_KINETO_CONCRETE_INPUTS);
    if (entry->captured.failed)
        return -ENOMEM;
    *ret_flops = tp_flops_of(name, entry->captured.bytes + dims, entry->captured.bytes + concrete);
    return 0;
}

/* ---- details ---- */

static int put_argument(struct tp_kineto *kineto, enum tp_kineto_key key, uint32_t *ret_id)
{
    const struct tp_kineto_argument *argument = find_argument(&kineto->entry, key);

    return argument ? tp_strings_put(kineto->records.list->strings,
                                     kineto->entry.captured.bytes + argument->begin, argument->size,
                                     ret_id)
                    : 0;
}

int tp_kineto_arguments(struct tp_kineto *kineto, uint32_t *ret_id)
{
    const struct tp_kineto_entry *entry = &kineto->entry;
    const char *text = entry->captured.bytes;

    if (!entry->argument_count)
        return 0;
    const struct tp_kineto_argument *first = entry->arguments,
                                    *last = &first[entry->argument_count - 1];
    tp_buffer_reset(&kineto->text);
    tp_buffer_string(&kineto->text, "{\""); /* names are kept without their quotes */
    tp_buffer_bytes(&kineto->text, text + first->name, last->begin + last->size - first->name);
    tp_buffer_char(&kineto->text, '}');
    if (kineto->text.failed)
        return -ENOMEM;
    return tp_strings_put(kineto->records.list->strings, kineto->text.bytes, kineto->text.size,
                          ret_id);
}

static int put_metadata(struct tp_kineto *kineto, struct tp_event_details *details)
{
    struct tp_strings *strings = kineto->records.list->strings;
    const struct tp_kineto_entry *entry = &kineto->entry;
    const struct tp_kineto_argument *first = entry->arguments;
    const char *text = entry->captured.bytes;

    if (!entry->argument_count)
        return 0;
    tp_event_metadata_reset(&kineto->metadata);
    int result = tp_kineto_arguments(kineto, &details->metadata);
    for (uint32_t i = 0; i < entry->argument_count; i++)
        tp_event_metadata_put(&kineto->metadata, text + first[i].name, first[i].name_size,
                              text + first[i].begin, first[i].size);
    if (result < 0 || !kineto->metadata.is_known)
        return result;
    tp_buffer_reset(&kineto->text);
    tp_event_metadata_write(&kineto->metadata, &kineto->text);
    if (kineto->text.failed || kineto->metadata.text.failed)
        return -ENOMEM;
    return tp_strings_put(strings, kineto->text.bytes, kineto->text.size, &details->event_metadata);
}

/* A pid or tid as it stood there. */
int tp_kineto_place_json(struct tp_kineto *kineto, const struct tp_kineto_place *place,
                         uint32_t *ret_id)
{
    struct tp_strings *strings = kineto->records.list->strings;
    const struct tp_string *text = tp_strings_get(strings, place->text);

    if (!place->is_there)
        return 0;
    tp_buffer_reset(&kineto->text);
    if (place->text == TP_STRING_NONE)
        tp_buffer_format(&kineto->text, "%lld", (long long)place->number);
    else
        tp_json_string(&kineto->text, text->bytes, text->size);
    if (kineto->text.failed)
        return -ENOMEM;
    return tp_strings_put(strings, kineto->text.bytes, kineto->text.size, ret_id);
}

int tp_kineto_take_details(struct tp_kineto *kineto, const char *activity,
                           struct tp_event_details *ret)
{
    const struct tp_kineto_entry *entry = &kineto->entry;

    *ret = tp_event_details_none();
    ret->external_id = entry->external_id;
    ret->python_id = entry->python_id;
    ret->python_parent_id = entry->python_parent_id;
    ret->python_module_id = entry->python_module_id;
    int result = tp_strings_put(kineto->records.list->strings, activity, strlen(activity),
                                &ret->activity_type);
    if (!result)
        result = put_argument(kineto, TP_KINETO_INPUT_DIMS, &ret->structured_input_shapes);
    if (!result)
        result = put_argument(kineto, TP_KINETO_INPUT_STRIDES, &ret->structured_input_strides);
    if (!result)
        result = put_argument(kineto, TP_KINETO_INPUT_TYPE, &ret->input_dtypes);
    if (!result)
        result = put_argument(kineto, TP_KINETO_CONCRETE_INPUTS, &ret->concrete_inputs);
    if (!result)
        result = put_argument(kineto, TP_KINETO_KWINPUTS, &ret->kwinputs);
    if (!result)
        result = tp_kineto_place_json(kineto, &entry->pid, &ret->pid);
    return result ? result : put_metadata(kineto, ret);
}

/* ---- records ---- */

int tp_kineto_remember_op(struct tp_kineto *kineto, int64_t thread)
{
    uint32_t number;

    int result = tp_id_index_put(&kineto->op_ids, kineto->entry.external_id, &number);
    if (result <= 0) /* the first one counts */
        return result;
    if (number == kineto->op_capacity) {
        uint32_t capacity = kineto->op_capacity ? kineto->op_capacity * 2 : 256;
        int64_t *threads = realloc(kineto->op_threads, capacity * sizeof(*threads));
        if (!threads)
            return -ENOMEM;
        kineto->op_threads = threads;
        kineto->op_capacity = capacity;
    }
    kineto->op_threads[number] = thread;
    return 0;
}

/* "ProfilerStep#12" */
int tp_kineto_remember_step(struct tp_kineto *kineto)
{
    static const char mark[] = "ProfilerStep#";
    const struct tp_kineto_entry *entry = &kineto->entry;
    const struct tp_string *name = tp_strings_get(kineto->records.list->strings, entry->name);
    struct tp_kineto_step step = {.start_ns = entry->ts_ns,
                                  .end_ns = entry->ts_ns + entry->duration_ns};
    size_t head = sizeof(mark) - 1;

    if (name->size <= head || memcmp(name->bytes, mark, head) != 0 ||
        tp_decimal_to_integer(name->bytes + head, name->size - head, &step.number) < 0)
        return 0;
    if (kineto->step_count == kineto->step_capacity) {
        uint32_t capacity = kineto->step_capacity ? kineto->step_capacity * 2 : 16;
        struct tp_kineto_step *steps = realloc(kineto->steps, capacity * sizeof(*steps));
        if (!steps)
            return -ENOMEM;
        kineto->steps = steps;
        kineto->step_capacity = capacity;
    }
    kineto->steps[kineto->step_count++] = step;
    return 0;
}

static bool is_identifier(const char *text, size_t size)
{
    for (size_t i = 0; i < size; i++) {
        if (!(text[i] == '_' || (text[i] >= '0' && text[i] <= '9') ||
              ((text[i] | 32) >= 'a' && (text[i] | 32) <= 'z')))
            return false;
    }
    return size;
}

/* "aten::add.Tensor", as files have it that were made with overloads captured: an operator's name
 * has no point of its own. */
static int split_overload(struct tp_kineto *kineto, struct tp_raw_record *record)
{
    struct tp_strings *strings = kineto->records.list->strings;
    const struct tp_string *name = tp_strings_get(strings, record->name);
    const char *point = memchr(name->bytes, '.', name->size), *at = name->bytes;
    const char *end = name->bytes + name->size;

    if (!point || !is_identifier(point + 1, (size_t)(end - point - 1)))
        return 0;
    for (const char *colon = at; (colon = memmem(at, (size_t)(point - at), "::", 2));
         at = colon + 2) {
        if (!is_identifier(at, (size_t)(colon - at)))
            return 0;
    }
    if (at == name->bytes || !is_identifier(at, (size_t)(point - at)))
        return 0;
    size_t size = (size_t)(point - name->bytes);
    const char *bytes = name->bytes; /* stay put when the pool grows */
    int result = tp_strings_put(strings, bytes, size, &record->name);
    return result ? result
                  : tp_strings_put(strings, point + 1, (size_t)(end - point - 1),
                                   &record->overload_name);
}

static uint8_t scope_of(const struct tp_kineto *kineto, enum tp_kineto_kind kind)
{
    static const char engine[] = "autograd::engine::evaluate_function: ";
    const struct tp_kineto_entry *entry = &kineto->entry;

    if (kind == TP_KINETO_IS_ANNOTATION)
        return TP_SCOPE_USER;
    if (kind != TP_KINETO_IS_CPU_OP || entry->fwd_thread <= 0 ||
        !strncmp(tp_strings_get(kineto->records.list->strings, entry->name)->bytes, engine,
                 sizeof(engine) - 1))
        return TP_SCOPE_FUNCTION;
    return TP_SCOPE_BACKWARD;
}

/* Operators, annotations, Python calls. */
static int fill_front_end(struct tp_kineto *kineto, enum tp_kineto_kind kind,
                          struct tp_raw_record *record)
{
    const struct tp_kineto_entry *entry = &kineto->entry;
    int result = tp_kineto_take_shapes(kineto, &record->input_shapes);

    record->correlation_id = kind == TP_KINETO_IS_PYTHON ? 0 : entry->external_id;
    record->sequence_nr = entry->sequence_nr;
    record->fwd_thread = entry->fwd_thread;
    record->scope = scope_of(kineto, kind);
    record->is_user_annotation = kind == TP_KINETO_IS_ANNOTATION;
    record->is_python_function = kind == TP_KINETO_IS_PYTHON;
    if (!result && kind == TP_KINETO_IS_CPU_OP)
        result = split_overload(kineto, record);
    if (!result && kind == TP_KINETO_IS_CPU_OP)
        result = tp_kineto_take_flops(kineto, record->name, &record->flops);
    if (!result && kind == TP_KINETO_IS_ANNOTATION)
        result = tp_kineto_remember_step(kineto);
    if (!result && kind != TP_KINETO_IS_PYTHON && has(entry, TP_KINETO_EXTERNAL_ID))
        result = tp_kineto_remember_op(kineto, record->start_thread);
    return result;
}

static int32_t small(int64_t number)
{
    return number >= INT32_MIN && number <= INT32_MAX ? (int32_t)number : 0;
}

static void fill_device(const struct tp_kineto_entry *entry, enum tp_kineto_kind kind,
                        struct tp_raw_record *record)
{
    const struct tp_kineto_place *device = entry->device.is_there ? &entry->device : &entry->pid;
    const struct tp_kineto_place *stream = entry->stream.is_there ? &entry->stream : &entry->tid;

    record->device_type = TP_DEVICE_CUDA;
    record->device_index = small(device->number);
    record->device_resource_id = stream->number;
    if (kind == TP_KINETO_IS_DEVICE_ANNOTATION) {
        record->is_user_annotation = true;
        record->correlation_id = entry->external_id;
    }
}

/* What the record is linked to can be told when all operators are known; until then the External id
 * stands in its place. */
static int add_record(struct tp_kineto *kineto, const struct tp_raw_record *record,
                      enum tp_kineto_kind kind, bool is_remote, struct tp_diag *diag)
{
    struct tp_event_list *list = kineto->records.list;
    uint32_t count = list->count;

    int result = tp_raw_records_add(&kineto->records, record, diag);
    if (result < 0 || list->count == count)
        return result;
    struct tp_function_event *event = &list->events[count];
    if (kind == TP_KINETO_IS_CALL || kind == TP_KINETO_IS_DEVICE)
        kineto->records.linked_ids[count - kineto->records.first] = kineto->entry.external_id;
    if (is_remote) {
        event->flags |= TP_EVENT_REMOTE;
        event->node_id = node_of(list->strings, &kineto->entry.tid);
    }
    return 0;
}

static void note_start(struct tp_kineto *kineto, int64_t start_ns)
{
    if (!kineto->has_start || start_ns < kineto->first_start_ns)
        kineto->first_start_ns = start_ns;
    kineto->has_start = true;
}

/* Device entries carry the device's number as their pid; they go with their operators. */
bool tp_kineto_is_other_process(const struct tp_kineto *kineto, enum tp_kineto_kind kind)
{
    const struct tp_selection *selection = kineto->input->selection;

    return selection && selection->has_pid && kind < TP_KINETO_IS_DEVICE &&
           kineto->entry.pid.number != selection->pid;
}

static int use_span(struct tp_kineto *kineto, const struct tp_kineto_category *category,
                    struct tp_diag *diag)
{
    const struct tp_kineto_entry *entry = &kineto->entry;
    enum tp_kineto_kind kind = category->kind;
    struct tp_event_details details;
    struct tp_raw_record record;
    bool is_remote;
    int result = 0;

    tp_raw_record_init(&record);
    record.name = entry->name;
    record.start_ns = entry->ts_ns;
    record.end_ns = (int64_t)((uint64_t)entry->ts_ns + (uint64_t)entry->duration_ns);
    record.start_thread = record.end_thread =
        tp_kineto_thread_of(kineto->records.list->strings, &entry->tid, &is_remote);
    record.correlation_id = entry->correlation;
    record.is_call = kind == TP_KINETO_IS_CALL;
    record.stack = entry->stack;
    if (kind != TP_KINETO_IS_DEVICE_ANNOTATION)
        note_start(kineto, record.start_ns);
    kineto->has_device |= kind >= TP_KINETO_IS_DEVICE;
    if (tp_kineto_is_other_process(kineto, kind))
        return 0;
    if (kind >= TP_KINETO_IS_DEVICE)
        fill_device(entry, kind, &record);
    else if (kind != TP_KINETO_IS_CALL)
        result = fill_front_end(kineto, kind, &record);
    if (!result && kineto->records.list->keeps_details) {
        result = tp_kineto_take_details(kineto, category->activity, &details);
        record.details = &details;
    }
    if (result < 0)
        return tp_diag_fail(diag, result, TP_DIAG_NO_OFFSET, "no memory for an event");
    return add_record(kineto, &record, kind, is_remote, diag);
}

/* Entries without a known category count only while there is none that has one. */
static void forget_unknown(struct tp_kineto *kineto)
{
    const struct tp_memory_records *memory = &kineto->records.memory;

    kineto->knows_category = true;
    kineto->records.list->count = kineto->records.first;
    kineto->has_start = false;
    for (uint32_t i = 0; i < memory->count; i++)
        note_start(kineto, memory->items[i].start_ns);
    tp_id_index_fini(&kineto->op_ids);
    kineto->step_count = 0;
}

static uint8_t memory_device(int64_t type)
{
    static const struct {
        int64_t number;
        uint8_t type;
    } types[] = {{0, TP_DEVICE_CPU},
                 {1, TP_DEVICE_CUDA},
                 {6, TP_DEVICE_HIP},
                 {12, TP_DEVICE_XPU},
                 {20, TP_DEVICE_PRIVATEUSE1}};

    for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
        if (types[i].number == type)
            return types[i].type;
    }
    return TP_DEVICE_META; /* neither the host's nor a device's */
}

static int use_memory(struct tp_kineto *kineto, struct tp_diag *diag)
{
    const struct tp_kineto_entry *entry = &kineto->entry;
    struct tp_raw_record record;
    bool is_remote;

    tp_raw_record_init(&record);
    record.name = entry->name;
    record.start_ns = record.end_ns = entry->ts_ns;
    record.start_thread = record.end_thread =
        tp_kineto_thread_of(kineto->records.list->strings, &entry->tid, &is_remote);
    record.bytes = entry->bytes;
    record.device_type = memory_device(entry->device_type);
    note_start(kineto, entry->ts_ns);
    kineto->has_memory = true;
    if (tp_kineto_is_other_process(kineto, TP_KINETO_IS_CPU_OP))
        return 0;
    return tp_raw_records_add(&kineto->records, &record, diag);
}

/* {"ph": "M", "name": "thread_name", "args": {"name": ...}}: a name for --thread. */
int tp_kineto_remember_thread(struct tp_kineto *kineto, struct tp_diag *diag)
{
    const struct tp_kineto_entry *entry = &kineto->entry;

    if (strcmp(tp_strings_get(kineto->records.list->strings, entry->name)->bytes, "thread_name") ||
        entry->own_name == TP_STRING_NONE)
        return 0;
    if (kineto->thread_count == kineto->thread_capacity) {
        uint32_t capacity = kineto->thread_capacity ? kineto->thread_capacity * 2 : 16;
        struct tp_kineto_thread *threads = realloc(kineto->threads, capacity * sizeof(*threads));
        if (!threads)
            return tp_diag_fail(diag, -ENOMEM, TP_DIAG_NO_OFFSET, "no memory for thread names");
        kineto->threads = threads;
        kineto->thread_capacity = capacity;
    }
    kineto->threads[kineto->thread_count++] =
        (struct tp_kineto_thread){.tid = entry->tid.number, .name = entry->own_name};
    return 0;
}

/* [memory], or the mark of where the profiler's clock began. */
static int use_instant(struct tp_kineto *kineto, struct tp_diag *diag)
{
    static const char mark[] = "Iteration Start: ";
    const struct tp_kineto_entry *entry = &kineto->entry;
    const char *name = tp_strings_get(kineto->records.list->strings, entry->name)->bytes;
    bool is_memory = !strcmp(name, "[memory]");

    if (!is_memory && strncmp(name, mark, sizeof(mark) - 1) != 0)
        return 0;
    if (!has(entry, TP_KINETO_TS)) {
        kineto->undated++;
        return 0;
    }
    if (is_memory)
        return use_memory(kineto, diag);
    if (!kineto->has_trace_start || entry->ts_ns < kineto->trace_start_ns)
        kineto->trace_start_ns = entry->ts_ns;
    kineto->has_trace_start = true;
    return 0;
}

/* Of arrows only those to the backward pass tell what is nowhere else. */
static int use_flow(struct tp_kineto *kineto, struct tp_diag *diag)
{
    const struct tp_kineto_entry *entry = &kineto->entry;
    const char *name = tp_strings_get(kineto->records.list->strings, entry->name)->bytes;

    if ((strcmp(name, "fwdbwd") != 0 && strcmp(name, "fwd_bwd") != 0) ||
        !has(entry, TP_KINETO_TS) || !has(entry, TP_KINETO_FLOW_ID))
        return 0;
    return tp_kineto_take_flow(kineto) < 0
               ? tp_diag_fail(diag, -ENOMEM, TP_DIAG_NO_OFFSET, "no memory for an arrow")
               : 0;
}

static int use_entry(struct tp_kineto *kineto, struct tp_diag *diag)
{
    const struct tp_kineto_entry *entry = &kineto->entry;

    if (entry->phase == 'M')
        return tp_kineto_remember_thread(kineto, diag);
    if (entry->phase == 'i')
        return use_instant(kineto, diag);
    if (entry->phase == 's' || entry->phase == 'f')
        return use_flow(kineto, diag);
    if (!has(entry, TP_KINETO_TS)) {
        kineto->undated++;
        return 0;
    }
    if (entry->category && !kineto->knows_category)
        forget_unknown(kineto);
    return use_span(kineto, entry->category ? entry->category : &none, diag);
}

/* One that makes an event. */
static bool is_span(const struct tp_kineto *kineto)
{
    const struct tp_kineto_entry *entry = &kineto->entry;

    if (entry->phase != 'X')
        return false;
    return entry->category ? entry->category->kind != TP_KINETO_IS_SPAN_OF_TRACE
                           : !kineto->knows_category;
}

int tp_kineto_entry_end(struct tp_kineto *kineto, struct tp_diag *diag)
{
    const struct tp_kineto_entry *entry = &kineto->entry;
    int result = 0;

    if (kineto->is_own)
        return tp_kineto_own_entry(kineto, diag);
    if (strchr("Misf", entry->phase) || is_span(kineto))
        result = use_entry(kineto, diag);
    if (!result && !is_span(kineto))
        result = tp_kineto_mark(kineto, diag);
    return result;
}
