/* SPDX-License-Identifier: MIT */
#include "model/report.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

int tp_report_init_events(struct tp_report *report, const struct tp_event_list *list)
{
    uint32_t *order = malloc(((size_t)list->count + 1) * sizeof(*order));

    if (!order)
        return -ENOMEM;
    *report = (struct tp_report){
        .strings = list->strings,
        .stacks = list->stacks,
        .list = list,
        .order = order,
        .use_device = list->use_device,
        .profile_memory = list->profile_memory,
        .with_flops = list->with_flops,
    };
    for (uint32_t i = tp_event_list_next(list, 0); i < list->count;
         i = tp_event_list_next(list, i + 1))
        order[report->count++] = i;
    if (report->count)
        report->first_use_device = list->events[order[0]].use_device;
    return 0;
}

int tp_report_init_averages(struct tp_report *report, const struct tp_strings *strings,
                            const struct tp_stacks *stacks, const struct tp_average *averages,
                            size_t count)
{
    static const struct tp_average none;
    uint32_t *order = malloc((count + 1) * sizeof(*order));

    if (!order)
        return -ENOMEM;
    *report = (struct tp_report){
        .strings = strings,
        .stacks = stacks,
        .averages = averages ? averages : &none,
        .order = order,
        .count = count,
    };
    for (size_t i = 0; i < count; i++)
        order[i] = (uint32_t)i;
    if (count)
        report->first_use_device = averages[0].use_device;
    return 0;
}

void tp_report_fini(struct tp_report *report)
{
    free(report->order);
    memset(report, 0, sizeof(*report));
}

const struct tp_average *tp_report_row(const struct tp_report *report, size_t number,
                                       struct tp_average *scratch)
{
    uint32_t index = report->order[number];

    if (report->averages)
        return &report->averages[index];
    tp_average_of_event(report->list, &report->list->events[index], scratch);
    return scratch;
}

void tp_report_total(const struct tp_report *report, uint32_t key, struct tp_average *ret_row)
{
    struct tp_average scratch;

    tp_average_start(ret_row);
    for (size_t i = 0; i < report->count; i++)
        tp_average_total(ret_row, tp_report_row(report, i, &scratch));
    ret_row->key = key;
}
