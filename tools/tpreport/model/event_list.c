/* SPDX-License-Identifier: MIT */
#include "model/event_list.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"

void tp_event_list_init(struct tp_event_list *list, struct tp_strings *strings,
                        struct tp_stacks *stacks)
{
    memset(list, 0, sizeof(*list));
    list->strings = strings;
    list->stacks = stacks;
}

void tp_event_list_fini(struct tp_event_list *list)
{
    free(list->events);
    free(list->kernels);
    free(list->launches);
    free(list->details);
    memset(list, 0, sizeof(*list));
}

/* Room for one more item of @size bytes in an array of 32-bit counts. */
static int grow(void **items, uint32_t *capacity, size_t size)
{
    uint32_t wanted = *capacity ? *capacity * 2 : 256;

    if (wanted > 1u << 31)
        return -TP_ELIMIT;
    void *larger = realloc(*items, wanted * size);
    if (!larger)
        return -ENOMEM;
    *items = larger;
    *capacity = wanted;
    return 0;
}

/* As many details as there is room for events. */
static int grow_details(struct tp_event_list *list, uint32_t capacity)
{
    struct tp_event_details *details = realloc(list->details, capacity * sizeof(*details));

    if (!details)
        return -ENOMEM;
    list->details = details;
    return 0;
}

static int grow_events(struct tp_event_list *list)
{
    void *events = list->events;
    uint32_t capacity = list->capacity;

    int result = grow(&events, &capacity, sizeof(*list->events));
    list->events = events;
    if (!result && list->keeps_details)
        result = grow_details(list, capacity);
    if (!result)
        list->capacity = capacity;
    return result;
}

int tp_event_list_append(struct tp_event_list *list, const struct tp_function_event *event)
{
    int result = list->count == list->capacity ? grow_events(list) : 0;

    if (result < 0)
        return result;
    list->events[list->count] = *event;
    list->events[list->count].first_kernel = list->kernel_count;
    list->events[list->count].kernel_count = 0;
    if (list->keeps_details)
        list->details[list->count] = tp_event_details_none();
    list->count++;
    return 0;
}

int tp_event_list_append_kernel(struct tp_event_list *list, const struct tp_kernel *kernel)
{
    return tp_event_list_credit_kernel(list, list->count - 1, kernel);
}

int tp_event_list_credit_kernel(struct tp_event_list *list, uint32_t event,
                                const struct tp_kernel *kernel)
{
    if (list->kernel_count == list->kernel_capacity) {
        void *kernels = list->kernels;
        int result = grow(&kernels, &list->kernel_capacity, sizeof(*list->kernels));
        if (result < 0)
            return result;
        list->kernels = kernels;
    }
    if (!list->events[event].kernel_count)
        list->events[event].first_kernel = list->kernel_count;
    list->kernels[list->kernel_count++] = *kernel;
    list->events[event].kernel_count++;
    return 0;
}

int tp_event_list_append_launch(struct tp_event_list *list, const struct tp_event_launch *launch)
{
    if (list->launch_count == list->launch_capacity) {
        void *launches = list->launches;
        int result = grow(&launches, &list->launch_capacity, sizeof(*list->launches));
        if (result < 0)
            return result;
        list->launches = launches;
    }
    list->launches[list->launch_count] = *launch;
    list->launches[list->launch_count++].event = list->count - 1;
    return 0;
}

static int compare_launches(const void *a, const void *b)
{
    const struct tp_event_launch *left = a, *right = b;

    return (left->event > right->event) - (left->event < right->event);
}

const struct tp_event_launch *tp_event_list_launch(const struct tp_event_list *list, uint32_t event)
{
    struct tp_event_launch key = {.event = event};

    if (!list->launch_count)
        return NULL;
    return bsearch(&key, list->launches, list->launch_count, sizeof(key), compare_launches);
}

uint32_t tp_event_list_captured_in(const struct tp_event_list *list, uint32_t event)
{
    const struct tp_event_launch *launch =
        list->events[event].device_type == TP_DEVICE_CPU ? NULL : tp_event_list_launch(list, event);

    return launch ? launch->captured_in : TP_STRING_NONE;
}

uint32_t tp_event_list_next(const struct tp_event_list *list, uint32_t index)
{
    while (index < list->count && list->events[index].flags & TP_EVENT_FOLDED)
        index++;
    return index;
}

struct tp_number tp_event_list_self_cpu_time(const struct tp_event_list *list)
{
    struct tp_number sum = tp_number_integer(0);

    for (uint32_t i = tp_event_list_next(list, 0); i < list->count;
         i = tp_event_list_next(list, i + 1))
        sum = tp_number_add(sum, tp_event_get(&list->events[i], TP_EVENT_SELF_CPU_TIME));
    return sum;
}
