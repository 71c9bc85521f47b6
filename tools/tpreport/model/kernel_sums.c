/* SPDX-License-Identifier: MIT */
#include "model/kernel_sums.h"

#include <errno.h>
#include <stdlib.h>

enum { SHORT = 8 }; /* added up faster than looked up */

void tp_kernel_sums_fini(struct tp_kernel_sums *sums)
{
    tp_id_index_fini(&sums->ranges);
    free(sums->sums);
    *sums = (struct tp_kernel_sums){0};
}

static struct tp_number add_up(struct tp_kernel_sums *sums, const struct tp_event_list *list,
                               const struct tp_function_event *event)
{
    struct tp_number sum = tp_number_integer(0);

    for (uint32_t i = 0; i < event->kernel_count; i++)
        sum = tp_number_add(sum, list->kernels[event->first_kernel + i].duration);
    sums->addition_count += event->kernel_count;
    return sum;
}

static int grow(struct tp_kernel_sums *sums)
{
    uint32_t capacity = sums->capacity ? sums->capacity * 2 : 64;
    struct tp_number *larger = realloc(sums->sums, capacity * sizeof(*larger));

    if (!larger)
        return -ENOMEM;
    sums->sums = larger;
    sums->capacity = capacity;
    return 0;
}

int tp_kernel_sums_get(struct tp_kernel_sums *sums, const struct tp_event_list *list,
                       const struct tp_function_event *event, struct tp_number *ret_sum)
{
    uint64_t range = (uint64_t)event->first_kernel << 32 | event->kernel_count;
    uint32_t number;

    if (event->kernel_count <= SHORT) {
        *ret_sum = add_up(sums, list, event);
        return 0;
    }
    int result = tp_id_index_put(&sums->ranges, (int64_t)range, &number);
    if (result > 0) {
        if (number == sums->capacity && grow(sums) < 0)
            return -ENOMEM;
        sums->sums[number] = add_up(sums, list, event);
    }
    if (result >= 0)
        *ret_sum = sums->sums[number];
    return result < 0 ? result : 0;
}
