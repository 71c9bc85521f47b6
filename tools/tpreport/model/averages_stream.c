/* SPDX-License-Identifier: MIT
 * Averages of a stream: events come finished, so children before parents and threads in any mix.
 * Each group remembers its earliest member by list order and takes all that is not a sum from it.
 */
#include "model/averages.h"

#include <errno.h>
#include <stdlib.h>

#include "model/group.h"
#include "model/strings.h"

/* What a row shows of one of its events, and where that one stands in list order. */
struct member {
    int64_t start_ns, end_ns;
    uint64_t sequence;
    uint32_t overload_name, input_shapes, stack, use_device;
    uint16_t flags;
    uint8_t scope;
    bool is_set; /* else there is only what makes its group */
};

struct sums {
    tp_wide flops; /* of a day's training: more than 63 bits */
    int64_t cpu_total_ns, cpu_self_ns, device_total_ns, device_self_ns;
    int64_t cpu_memory, cpu_memory_self, device_memory, device_memory_self;
    uint64_t count;
};

struct group {
    struct sums sums;
    struct member first;
    struct tp_spread *spread; /* NULL: no length so far */
    uint32_t name;
    int32_t node_id;
    uint8_t device_type;
};

struct tp_averages {
    struct tp_grouping grouping;
    struct group *groups;
    size_t capacity;
    struct member last; /* of all events */
    int32_t last_node_id;
    uint8_t last_device_type;
};

int tp_averages_create(const struct tp_stacks *stacks, const struct tp_averages_options *options,
                       struct tp_averages **ret_averages)
{
    struct tp_averages *averages = calloc(1, sizeof(*averages));

    if (!averages)
        return -ENOMEM;
    tp_grouping_init(&averages->grouping, stacks, options);
    *ret_averages = averages;
    return 0;
}

void tp_averages_destroy(struct tp_averages *averages)
{
    if (!averages)
        return;
    for (uint32_t i = 0; i < averages->grouping.groups.count; i++) {
        if (averages->groups[i].spread)
            tp_spread_fini(averages->groups[i].spread);
        free(averages->groups[i].spread);
    }
    tp_grouping_fini(&averages->grouping);
    free(averages->groups);
    free(averages);
}

/* In list order: by start, longer first, then as numbered. */
static bool comes_before(const struct member *a, const struct member *b)
{
    if (a->start_ns != b->start_ns)
        return a->start_ns < b->start_ns;
    if (a->end_ns != b->end_ns)
        return a->end_ns > b->end_ns;
    return a->sequence < b->sequence;
}

static struct member member_of(const struct tp_average_event *event)
{
    return (struct member){
        .start_ns = event->start_ns,
        .end_ns = event->end_ns,
        .sequence = event->sequence,
        .overload_name = event->overload_name,
        .input_shapes = event->input_shapes,
        .stack = event->stack,
        .use_device = event->use_device,
        .flags = event->flags,
        .scope = event->scope,
        .is_set = true,
    };
}

/* Room for one more group before it is made, so that a failure leaves everything as it was. */
static int reserve_group(struct tp_averages *averages)
{
    size_t capacity = averages->capacity ? averages->capacity * 2 : 64;
    struct group *groups = realloc(averages->groups, capacity * sizeof(*groups));

    if (!groups)
        return -ENOMEM;
    averages->groups = groups;
    averages->capacity = capacity;
    return 0;
}

static inline int find_group(struct tp_averages *averages, const struct tp_group_fields *fields,
                             struct group **ret_group)
{
    uint32_t number;
    int result = 0;

    if (averages->grouping.groups.count == averages->capacity)
        result = reserve_group(averages);
    if (!result)
        result = tp_grouping_find(&averages->grouping, fields, &number);
    if (result < 0)
        return result;
    *ret_group = &averages->groups[number];
    if (result > 0)
        **ret_group = (struct group){.name = fields->name,
                                     .node_id = fields->node_id,
                                     .device_type = fields->device_type,
                                     .first = {.overload_name = fields->overload_name,
                                               .input_shapes = fields->input_shapes,
                                               .stack = fields->stack,
                                               .flags = fields->flags}};
    return 0;
}

/* Sums of hostile sizes (292 years) stop at the end of what there is. */
static inline void add(int64_t *into, int64_t value)
{
    if (__builtin_add_overflow(*into, value, into))
        *into = value < 0 ? INT64_MIN : INT64_MAX;
}

static void add_sums(struct sums *into, const struct sums *from)
{
    into->flops += from->flops;
    add(&into->cpu_total_ns, from->cpu_total_ns);
    add(&into->cpu_self_ns, from->cpu_self_ns);
    add(&into->device_total_ns, from->device_total_ns);
    add(&into->device_self_ns, from->device_self_ns);
    add(&into->cpu_memory, from->cpu_memory);
    add(&into->cpu_memory_self, from->cpu_memory_self);
    add(&into->device_memory, from->device_memory);
    add(&into->device_memory_self, from->device_memory_self);
    into->count += from->count;
}

/* Field by field: going through structs in between costs more than all the rest. */
static inline void add_event(struct sums *into, const struct tp_average_event *event)
{
    if (!(event->flags & TP_EVENT_NO_FLOPS))
        into->flops += event->flops;
    add(&into->cpu_total_ns, event->cpu_total_ns);
    add(&into->cpu_self_ns, event->cpu_self_ns);
    add(&into->device_total_ns, event->device_total_ns);
    add(&into->device_self_ns, event->device_self_ns);
    add(&into->cpu_memory, event->cpu_memory);
    add(&into->cpu_memory_self, event->cpu_memory_self);
    add(&into->device_memory, event->device_memory);
    add(&into->device_memory_self, event->device_memory_self);
    into->count += event->count;
}

static inline bool is_before(const struct tp_average_event *event, const struct member *member)
{
    if (event->start_ns != member->start_ns)
        return event->start_ns < member->start_ns;
    if (event->end_ns != member->end_ns)
        return event->end_ns > member->end_ns;
    return event->sequence < member->sequence;
}

static struct tp_group_fields fields_of(const struct tp_average_event *event)
{
    return (struct tp_group_fields){
        .name = event->name,
        .overload_name = event->overload_name,
        .input_shapes = event->input_shapes,
        .stack = event->stack,
        .node_id = event->node_id,
        .flags = event->flags,
        .device_type = event->device_type,
    };
}

static struct tp_spread *spread_of(struct group *group)
{
    if (!group->spread)
        group->spread = calloc(1, sizeof(*group->spread));
    return group->spread;
}

static struct tp_spread *find_spread(struct tp_averages *averages,
                                     const struct tp_average_event *event)
{
    struct tp_group_fields fields = fields_of(event);
    struct group *group;

    return find_group(averages, &fields, &group) < 0 ? NULL : spread_of(group);
}

int tp_averages_length(struct tp_averages *averages, const struct tp_average_event *event,
                       int64_t ns)
{
    struct tp_spread *spread = find_spread(averages, event);

    return spread ? tp_spread_add(spread, (double)ns) : -ENOMEM;
}

int tp_averages_lengths(struct tp_averages *averages, const struct tp_average_event *event,
                        const struct tp_summed_work *work)
{
    struct tp_spread *spread = find_spread(averages, event);

    return spread ? tp_spread_add_many(spread, work) : -ENOMEM;
}

int tp_averages_credit(struct tp_averages *averages, const struct tp_average_event *event)
{
    struct tp_group_fields fields = fields_of(event);
    struct group *group;

    int result = find_group(averages, &fields, &group);
    if (!result)
        add_event(&group->sums, event);
    return result;
}

void tp_averages_set_device(struct tp_averages *averages, uint32_t use_device)
{
    for (uint32_t i = 0; i < averages->grouping.groups.count; i++)
        averages->groups[i].first.use_device = use_device;
    averages->last.use_device = use_device;
}

int tp_averages_add(struct tp_averages *averages, const struct tp_average_event *event)
{
    struct tp_group_fields fields = fields_of(event);
    struct group *group;

    int result = find_group(averages, &fields, &group);
    if (result < 0)
        return result;
    add_event(&group->sums, event);
    if (!group->first.is_set || is_before(event, &group->first))
        group->first = member_of(event);
    if (!averages->last.is_set || !is_before(event, &averages->last)) {
        averages->last = member_of(event);
        averages->last_node_id = event->node_id;
        averages->last_device_type = event->device_type;
    }
    if (!averages->grouping.options.percentiles || event->has_lengths)
        return 0;
    return tp_averages_length(averages, event,
                              event->device_type == TP_DEVICE_CPU ? event->cpu_total_ns
                                                                  : event->device_total_ns);
}

static int merge_group(struct tp_averages *into, const struct group *from)
{
    struct tp_group_fields fields = {
        .name = from->name,
        .overload_name = from->first.overload_name,
        .input_shapes = from->first.input_shapes,
        .stack = from->first.stack,
        .node_id = from->node_id,
        .flags = from->first.flags,
        .device_type = from->device_type,
    };
    struct group *group;

    int result = find_group(into, &fields, &group);
    if (result < 0)
        return result;
    add_sums(&group->sums, &from->sums);
    if (from->spread) {
        struct tp_spread *spread = spread_of(group);
        result = spread ? tp_spread_merge(spread, from->spread) : -ENOMEM;
        if (result < 0)
            return result;
    }
    if (from->first.is_set && (!group->first.is_set || comes_before(&from->first, &group->first)))
        group->first = from->first;
    return 0;
}

int tp_averages_merge(struct tp_averages *into, const struct tp_averages *from)
{
    for (uint32_t i = 0; i < from->grouping.groups.count; i++) {
        int result = merge_group(into, &from->groups[i]);
        if (result < 0)
            return result;
    }
    if (from->last.is_set && (!into->last.is_set || comes_before(&into->last, &from->last))) {
        into->last = from->last;
        into->last_node_id = from->last_node_id;
        into->last_device_type = from->last_device_type;
    }
    return 0;
}

static struct tp_number microseconds(int64_t ns)
{
    return tp_number_real((double)ns / 1000.0);
}

static void fill_row(const struct sums *sums, const struct member *member,
                     struct tp_average *ret_row)
{
    *ret_row = (struct tp_average){
        .sums = {[TP_MEASURE_CPU_TIME] = microseconds(sums->cpu_total_ns),
                 [TP_MEASURE_SELF_CPU_TIME] = microseconds(sums->cpu_self_ns),
                 [TP_MEASURE_DEVICE_TIME] = microseconds(sums->device_total_ns),
                 [TP_MEASURE_SELF_DEVICE_TIME] = microseconds(sums->device_self_ns),
                 [TP_MEASURE_CPU_MEMORY] = tp_number_integer(sums->cpu_memory),
                 [TP_MEASURE_SELF_CPU_MEMORY] = tp_number_integer(sums->cpu_memory_self),
                 [TP_MEASURE_DEVICE_MEMORY] = tp_number_integer(sums->device_memory),
                 [TP_MEASURE_SELF_DEVICE_MEMORY] = tp_number_integer(sums->device_memory_self),
                 [TP_MEASURE_FLOPS] = tp_number_wide(sums->flops),
                 [TP_MEASURE_COUNT] = tp_number_integer((int64_t)sums->count)},
        .overload_name = member->overload_name,
        .input_shapes = member->input_shapes,
        .use_device = member->use_device,
        .stack = member->stack,
        .flags = member->flags & (uint16_t)~TP_EVENT_NO_FLOPS,
        .scope = member->scope,
    };
}

/* Groups are sorted by pointer, rows written in that order. */
static int compare_groups(const void *a, const void *b)
{
    const struct group *left = *(const struct group *const *)a;
    const struct group *right = *(const struct group *const *)b;

    if (comes_before(&left->first, &right->first))
        return -1;
    return comes_before(&right->first, &left->first);
}

/* @grouping only to learn which frames a row shows; its caches may grow. */
static int fill_group_row(struct tp_grouping *grouping, const struct group *group,
                          struct tp_average *ret_row)
{
    fill_row(&group->sums, &group->first, ret_row);
    ret_row->key = group->name;
    ret_row->node_id = group->node_id;
    ret_row->device_type = group->device_type;
    int result = group->spread ? tp_spread_values(group->spread, &ret_row->spread) : 0;
    if (result < 0)
        return result;
    if (!grouping->options.group_by_input_shapes)
        ret_row->input_shapes = TP_STRING_EMPTY;
    if (!grouping->options.group_by_overload_name)
        ret_row->overload_name = TP_STRING_EMPTY;
    return tp_grouping_stack(grouping, group->first.stack, &ret_row->stack, &ret_row->stack_count);
}

static bool is_shown(const struct tp_averages *averages, const struct group *group)
{
    return averages->grouping.options.include_python_functions ||
           !(group->first.flags & TP_EVENT_PYTHON_FUNCTION);
}

int tp_averages_finish(struct tp_averages *averages, struct tp_average **ret_rows,
                       size_t *ret_count)
{
    size_t total = averages->grouping.groups.count, count = 0;
    const struct group **order = malloc((total + 1) * sizeof(*order));
    struct tp_average *rows = malloc((total + 1) * sizeof(*rows));
    int result = order && rows ? 0 : -ENOMEM;

    for (size_t i = 0; !result && i < total; i++) {
        if (is_shown(averages, &averages->groups[i]))
            order[count++] = &averages->groups[i];
    }
    if (!result)
        qsort(order, count, sizeof(*order), compare_groups);
    for (size_t i = 0; !result && i < count; i++)
        result = fill_group_row(&averages->grouping, order[i], &rows[i]);
    free(order);
    if (result < 0) {
        free(rows);
        return result;
    }
    *ret_rows = rows;
    *ret_count = count;
    return 0;
}

void tp_averages_total(const struct tp_averages *averages, uint32_t key, struct tp_average *ret_row)
{
    struct sums sums = {0};

    if (!averages->last.is_set) {
        tp_average_start(ret_row);
        ret_row->key = key;
        return;
    }
    for (uint32_t i = 0; i < averages->grouping.groups.count; i++)
        add_sums(&sums, &averages->groups[i].sums);
    fill_row(&sums, &averages->last, ret_row);
    ret_row->key = key;
    ret_row->node_id = averages->last_node_id;
    ret_row->device_type = averages->last_device_type;
    ret_row->stack_count =
        averages->grouping.prefixes.stacks
            ? tp_stacks_count(averages->grouping.prefixes.stacks, averages->last.stack)
            : 0;
}

bool tp_averages_host_times(const struct tp_averages *averages, int64_t *ret_cpu_ns,
                            int64_t *ret_self_ns)
{
    bool is_there = false;

    *ret_cpu_ns = *ret_self_ns = 0;
    for (uint32_t i = 0; i < averages->grouping.groups.count; i++) {
        const struct group *group = &averages->groups[i];
        if (group->device_type != TP_DEVICE_CPU)
            continue;
        add(ret_cpu_ns, group->sums.cpu_total_ns);
        add(ret_self_ns, group->sums.cpu_self_ns);
        is_there = true;
    }
    return is_there;
}

uint64_t tp_averages_event_count(const struct tp_averages *averages)
{
    uint64_t count = 0;

    for (uint32_t i = 0; i < averages->grouping.groups.count; i++)
        count += averages->groups[i].sums.count;
    return count;
}
