/* SPDX-License-Identifier: MIT */
#include "model/trace_rows.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

int64_t tp_trace_tid(const struct tp_function_event *event)
{
    return event->device_type == TP_DEVICE_CPU ? event->thread : event->device_resource_id;
}

int64_t tp_trace_ns(struct tp_number us)
{
    double ns = tp_number_to_double(us) * 1000.0;

    return fabs(ns) < 9e18 ? llround(ns) : 0;
}

/* ---- order ---- */

static int64_t process_of(const struct tp_event_list *list, uint32_t i)
{
    const struct tp_function_event *event = &list->events[i];

    if (event->device_type != TP_DEVICE_CPU)
        return -1 - (int64_t)event->device_index;
    return list->keeps_details ? list->details[i].pid : 0;
}

static int compare(int64_t a, int64_t b)
{
    return (a > b) - (a < b);
}

static int compare_rows(const struct tp_event_list *list, uint32_t i, uint32_t j)
{
    int order = compare(process_of(list, i), process_of(list, j));

    return order ? order : compare(tp_trace_tid(&list->events[i]), tp_trace_tid(&list->events[j]));
}

static int64_t start_of(const struct tp_event_list *list, uint32_t i)
{
    return tp_trace_event_ns(&list->events[i], TP_EVENT_START);
}

static int64_t end_of(const struct tp_event_list *list, uint32_t i)
{
    return tp_trace_event_ns(&list->events[i], TP_EVENT_END);
}

static int compare_places(const void *a, const void *b, void *context)
{
    const struct tp_event_list *list = context;
    uint32_t i = *(const uint32_t *)a, j = *(const uint32_t *)b;
    int order = compare_rows(list, i, j);

    if (!order)
        order = compare(start_of(list, i), start_of(list, j));
    if (!order)
        order = compare(end_of(list, j), end_of(list, i));
    return order ? order : compare(i, j);
}

/* ---- rows of one thread ---- */

/* The ends of what is open on a row, outermost first. */
struct open_row {
    int64_t *ends;
    uint32_t count, capacity;
    uint32_t item; /* 1 + index into the rows' items; 0: the thread's own */
};

struct thread_rows {
    struct open_row *rows;
    uint32_t count;    /* in use for the present thread */
    uint32_t capacity; /* those behind it keep their room */
};

static int push(struct open_row *row, int64_t end)
{
    if (row->count == row->capacity) {
        uint32_t capacity = row->capacity ? row->capacity * 2 : 16;
        int64_t *ends = realloc(row->ends, capacity * sizeof(*ends));
        if (!ends)
            return -ENOMEM;
        row->ends = ends;
        row->capacity = capacity;
    }
    row->ends[row->count++] = end;
    return 0;
}

static bool nests(struct open_row *row, int64_t start, int64_t end)
{
    while (row->count && row->ends[row->count - 1] <= start)
        row->count--;
    return !row->count || end <= row->ends[row->count - 1];
}

static int add_row(struct thread_rows *thread, struct open_row **ret_row)
{
    if (thread->count == thread->capacity) {
        uint32_t capacity = thread->capacity ? thread->capacity * 2 : 4;
        struct open_row *rows = realloc(thread->rows, capacity * sizeof(*rows));
        if (!rows)
            return -ENOMEM;
        for (uint32_t i = thread->capacity; i < capacity; i++)
            rows[i] = (struct open_row){0};
        thread->rows = rows;
        thread->capacity = capacity;
    }
    *ret_row = &thread->rows[thread->count++];
    (*ret_row)->count = 0;
    (*ret_row)->item = 0;
    return 0;
}

static int add_item(struct tp_trace_rows *rows, uint32_t event, uint32_t number, int64_t tid)
{
    if (rows->count == rows->capacity) {
        uint32_t capacity = rows->capacity ? rows->capacity * 2 : 16;
        struct tp_trace_row *items = realloc(rows->items, capacity * sizeof(*items));
        if (!items)
            return -ENOMEM;
        rows->items = items;
        rows->capacity = capacity;
    }
    rows->items[rows->count++] = (struct tp_trace_row){event, number, tid};
    return 0;
}

static int place_event(struct tp_trace_rows *rows, struct thread_rows *thread,
                       const struct tp_event_list *list, uint32_t event, int64_t free_tid)
{
    int64_t start = start_of(list, event), end = end_of(list, event);
    struct open_row *row = NULL;
    int result = 0;

    for (uint32_t i = 0; i < thread->count && !row; i++) {
        if (nests(&thread->rows[i], start, end))
            row = &thread->rows[i];
    }
    if (!row) {
        result = add_row(thread, &row);
        if (!result && thread->count > 1) {
            result = add_item(rows, event, thread->count, free_tid + rows->count);
            row->item = rows->count;
        }
    }
    if (!result)
        result = push(row, end);
    if (!result)
        rows->of_event[event] = row->item;
    return result;
}

/* ---- all ---- */

int tp_trace_rows_find(struct tp_trace_rows *rows, const struct tp_event_list *list)
{
    uint32_t *order = malloc(((size_t)list->count + 1) * sizeof(*order)), count = 0;
    struct thread_rows thread = {0};
    int64_t free_tid = 1;
    int result = 0;

    *rows = (struct tp_trace_rows){.of_event = calloc((size_t)list->count + 1, sizeof(uint32_t))};
    if (!order || !rows->of_event)
        result = -ENOMEM;
    for (uint32_t i = tp_event_list_next(list, 0); !result && i < list->count;
         i = tp_event_list_next(list, i + 1)) {
        int64_t tid = tp_trace_tid(&list->events[i]);
        order[count++] = i;
        if (tid >= free_tid && tid < INT64_MAX / 2)
            free_tid = tid + 1;
    }
    if (count)
        qsort_r(order, count, sizeof(*order), compare_places, (void *)list);
    for (uint32_t i = 0; !result && i < count; i++) {
        if (!i || compare_rows(list, order[i - 1], order[i]))
            thread.count = 0;
        result = place_event(rows, &thread, list, order[i], free_tid);
    }
    for (uint32_t i = 0; i < thread.capacity; i++)
        free(thread.rows[i].ends);
    free(thread.rows);
    free(order);
    return result;
}

void tp_trace_rows_fini(struct tp_trace_rows *rows)
{
    free(rows->of_event);
    free(rows->items);
    *rows = (struct tp_trace_rows){0};
}
