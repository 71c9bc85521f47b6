/* SPDX-License-Identifier: MIT */
#include "columns.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "nearest.h"

/* ---- values, one function for each name in the table ---- */

static struct tp_value number(struct tp_number n)
{
    return (struct tp_value){.kind = TP_VALUE_NUMBER, .number = n};
}

static struct tp_value integer(int64_t n)
{
    return number(tp_number_integer(n));
}

static struct tp_value string(uint32_t id)
{
    return (struct tp_value){.kind = id == TP_STRING_NONE ? TP_VALUE_NONE : TP_VALUE_STRING,
                             .id = id};
}

static struct tp_value flag(const struct tp_average *row, enum tp_event_flag bit)
{
    return (struct tp_value){.kind = TP_VALUE_FLAG, .flag = row->flags & bit};
}

static struct tp_value none(void)
{
    return (struct tp_value){.kind = TP_VALUE_NONE};
}

#define MEASURE(name, id)                                                                          \
    static struct tp_value value_##name(const struct tp_average *row)                              \
    {                                                                                              \
        return number(row->sums[TP_MEASURE_##id]);                                                 \
    }
MEASURE(cpu_time_total, CPU_TIME)
MEASURE(self_cpu_time, SELF_CPU_TIME)
MEASURE(device_time_total, DEVICE_TIME)
MEASURE(self_device_time, SELF_DEVICE_TIME)
MEASURE(cpu_memory, CPU_MEMORY)
MEASURE(self_cpu_memory, SELF_CPU_MEMORY)
MEASURE(device_memory, DEVICE_MEMORY)
MEASURE(self_device_memory, SELF_DEVICE_MEMORY)
MEASURE(count, COUNT)

#define ROW_VALUE(name, expression)                                                                \
    static struct tp_value value_##name(const struct tp_average *row)                              \
    {                                                                                              \
        return expression;                                                                         \
    }
ROW_VALUE(key, string(row->key))
ROW_VALUE(overload_name, string(row->overload_name))
ROW_VALUE(input_shapes, string(row->input_shapes))
ROW_VALUE(use_device, string(row->use_device))
ROW_VALUE(node_id, integer(row->node_id))
ROW_VALUE(flops, row->flags &TP_EVENT_NO_FLOPS ? none() : number(row->sums[TP_MEASURE_FLOPS]))
ROW_VALUE(scope, row->flags &TP_EVENT_UNSET ? none() : integer(row->scope))
ROW_VALUE(is_async, flag(row, TP_EVENT_ASYNC))
ROW_VALUE(is_remote, flag(row, TP_EVENT_REMOTE))
ROW_VALUE(is_legacy, flag(row, TP_EVENT_LEGACY))
ROW_VALUE(is_user_annotation,
          row->flags &TP_EVENT_UNSET ? none() : flag(row, TP_EVENT_USER_ANNOTATION))

/* Single events: row->event is set. */
ROW_VALUE(id, integer(row->event->id))
ROW_VALUE(trace_name, string(row->event->trace_name))
ROW_VALUE(thread, integer(row->event->thread))
ROW_VALUE(fwd_thread,
          row->event->flags &TP_EVENT_HAS_FWD_THREAD ? integer(row->event->fwd_thread) : none())
ROW_VALUE(start, number(tp_event_get(row->event, TP_EVENT_START)))
ROW_VALUE(end, number(tp_event_get(row->event, TP_EVENT_END)))
ROW_VALUE(device_index, integer(row->event->device_index))
ROW_VALUE(device_resource_id, integer(row->event->device_resource_id))
ROW_VALUE(sequence_nr, integer(row->event->sequence_nr))
ROW_VALUE(domain, string(row->event->domain))
ROW_VALUE(is_unfinished, flag(row, TP_EVENT_UNFINISHED))
ROW_VALUE(is_python_function, flag(row, TP_EVENT_PYTHON_FUNCTION))

/* What is kept beside them. */
#define DETAIL_VALUE(name) ROW_VALUE(name, row->details ? string(row->details->name) : none())
DETAIL_VALUE(structured_input_shapes)
DETAIL_VALUE(structured_input_strides)
DETAIL_VALUE(input_dtypes)
DETAIL_VALUE(concrete_inputs)

static struct tp_value value_per_call(const struct tp_average *row, enum tp_measure total)
{
    return number(tp_number_real(tp_number_divide(row->sums[total], row->sums[TP_MEASURE_COUNT])));
}
ROW_VALUE(cpu_time, value_per_call(row, TP_MEASURE_CPU_TIME))
ROW_VALUE(device_time, value_per_call(row, TP_MEASURE_DEVICE_TIME))

/* Nothing of rows without events. */
#define SPREAD_VALUE(name, field)                                                                  \
    ROW_VALUE(name,                                                                                \
              row->spread.is_there ? number(tp_number_real(row->spread.field / 1000.0)) : none())
SPREAD_VALUE(time_min, least)
SPREAD_VALUE(time_median, median)
SPREAD_VALUE(time_p90, p90)
SPREAD_VALUE(time_p99, p99)
SPREAD_VALUE(time_max, most)

static struct tp_value value_time_is_exact(const struct tp_average *row)
{
    return row->spread.is_there
               ? (struct tp_value){.kind = TP_VALUE_FLAG, .flag = row->spread.is_exact}
               : none();
}

static struct tp_value value_device_type(const struct tp_average *row)
{
    return (struct tp_value){.kind = TP_VALUE_TEXT, .text = tp_device_type_name(row->device_type)};
}

static struct tp_value value_stack(const struct tp_average *row)
{
    if (row->stack == TP_STACK_NONE)
        return none();
    return (struct tp_value){.kind = TP_VALUE_STACK, .id = row->stack, .count = row->stack_count};
}

static const struct tp_column columns[] = {
#define TP_COLUMN(id, name, heading, unit, where, value, help)                                     \
    {name, heading, TP_UNIT_##unit, TP_WHERE_##where, value_##value, help},
#include "columns.def"
#undef TP_COLUMN
};

const struct tp_column *tp_column_get(enum tp_column_id id)
{
    return &columns[id];
}

bool tp_column_is_shown(enum tp_column_id id, bool rows_are_events, bool percentiles)
{
    return columns[id].where == TP_WHERE_ROWS ||
           (columns[id].where == TP_WHERE_EVENTS && rows_are_events) ||
           (columns[id].where == TP_WHERE_SPREAD && percentiles);
}

bool tp_column_is_sortable(enum tp_column_id id, bool rows_are_events)
{
    return tp_column_is_shown(id, rows_are_events, false) && columns[id].unit != TP_UNIT_STACK &&
           columns[id].unit != TP_UNIT_SHAPES;
}

/* ---- names ---- */

static void replace_all(char *text, size_t size, const char *from, const char *to)
{
    char copy[256], *at;
    size_t from_size = strlen(from), to_size = strlen(to);

    while ((at = strstr(text, from)) && strlen(text) + to_size < size &&
           strlen(text) < sizeof(copy)) {
        strcpy(copy, at + from_size);
        strcpy(at, to);
        strcpy(at + to_size, copy);
    }
}

/* Flags can be sorted by as well, but hardly need naming. */
static int fail_unknown(const char *name, bool rows_are_events, struct tp_diag *diag)
{
    const char *names[TP_COLUMNS];
    size_t count = 0;
    char keys[640];
    struct tp_text text;

    for (int i = 0; i < TP_COLUMNS; i++)
        if (tp_column_is_sortable(i, rows_are_events) && columns[i].unit != TP_UNIT_FLAG)
            names[count++] = columns[i].name;
    tp_text_init(&text, keys, sizeof(keys));
    tp_put_nearest_first(&text, name, names, count, " ");
    return tp_diag_fail(diag, -TP_ENOTFOUND, TP_DIAG_NO_OFFSET,
                        "'%s' object has no attribute '%.*s'; sort keys, the nearest first: %s",
                        rows_are_events ? "FunctionEvent" : "FunctionEventAvg", 40, name, keys);
}

int tp_column_find(const char *name, bool rows_are_events, struct tp_diag *diag)
{
    char wanted[256];
    struct tp_text text;

    tp_text_init(&text, wanted, sizeof(wanted));
    tp_text_string(&text, name);
    replace_all(wanted, sizeof(wanted), "cuda", "device");
    replace_all(wanted, sizeof(wanted), "xpu", "device");
    replace_all(wanted, sizeof(wanted), "privateuse1", "device");
    for (int i = 0; i < TP_COLUMNS; i++) {
        if (strcmp(columns[i].name, wanted) != 0 ||
            (columns[i].where == TP_WHERE_EVENTS && !rows_are_events))
            continue;
        if (columns[i].unit == TP_UNIT_STACK || columns[i].unit == TP_UNIT_SHAPES ||
            columns[i].unit == TP_UNIT_JSON)
            return tp_diag_fail(diag, -TP_ETYPE, TP_DIAG_NO_OFFSET, "rows have no order by '%s'",
                                wanted);
        return i;
    }
    return fail_unknown(wanted, rows_are_events, diag);
}

/* ---- order ---- */

struct sort_item {
    struct tp_value value;
    uint32_t index;    /* goes into the order */
    uint32_t position; /* before sorting */
};

static int compare_values(const struct tp_strings *strings, const struct tp_value *a,
                          const struct tp_value *b)
{
    if (a->kind != b->kind) /* one of them is None: lowest */
        return a->kind == TP_VALUE_NONE ? -1 : 1;
    switch (a->kind) {
    case TP_VALUE_NUMBER:
        return tp_number_compare(a->number, b->number);
    case TP_VALUE_STRING:
        return tp_strings_compare(strings, a->id, b->id);
    case TP_VALUE_TEXT:
        return strcmp(a->text, b->text);
    case TP_VALUE_FLAG:
        return a->flag - b->flag;
    default:
        return 0;
    }
}

static int compare_items(const void *a, const void *b, void *context)
{
    const struct sort_item *left = a, *right = b;
    int order = compare_values(context, &right->value, &left->value);

    return order ? order : left->position < right->position ? -1 : left->position > right->position;
}

int tp_column_sort(struct tp_report *report, enum tp_column_id id)
{
    struct sort_item *items = malloc((report->count + 1) * sizeof(*items));
    struct tp_average scratch;

    if (!items)
        return -ENOMEM;
    for (size_t i = 0; i < report->count; i++)
        items[i] =
            (struct sort_item){.value = columns[id].value(tp_report_row(report, i, &scratch)),
                               .index = report->order[i],
                               .position = (uint32_t)i};
    qsort_r(items, report->count, sizeof(*items), compare_items, (void *)report->strings);
    for (size_t i = 0; i < report->count; i++)
        report->order[i] = items[i].index;
    free(items);
    return 0;
}
