/* SPDX-License-Identifier: MIT */
#include "model/durations.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    ROUNDED_AWAY = 53 - 1 - 10, /* low bits of a double's fraction that go */
    MOST_SLOTS = 2 * TP_DURATIONS_EXACT,
    FEW_VALUES = 1 << 16,
    MANY = 512, /* values, so that room for few ones is worth it */
    TOGETHER = 256,
};

/* How often each came. Memory is waited for once for many values, not for each of them. */
struct tp_durations_few {
    uint32_t counts[FEW_VALUES];
    uint16_t values[TOGETHER]; /* that are not counted yet */
    uint32_t value_count;
};

static uint64_t to_bits(double value)
{
    uint64_t bits;

    memcpy(&bits, &value, sizeof(bits));
    return bits;
}

static double from_bits(uint64_t bits)
{
    double value;

    memcpy(&value, &bits, sizeof(value));
    return value;
}

/* To the nearest; a carry goes into the exponent, where it belongs. */
static uint64_t round_bits(uint64_t bits)
{
    return (bits + (1ull << (ROUNDED_AWAY - 1))) >> ROUNDED_AWAY << ROUNDED_AWAY;
}

void tp_durations_fini(struct tp_durations *durations)
{
    free(durations->slots);
    free(durations->few);
    *durations = (struct tp_durations){0};
}

static uint64_t *find_slot(uint64_t *slots, uint32_t slot_count, uint64_t bits)
{
    uint32_t at = (uint32_t)(bits * 0x9e3779b97f4a7c15u >> 32);

    for (;; at++) {
        uint64_t *slot = slots + 2 * (size_t)(at & (slot_count - 1));
        if (!*slot || *slot == bits)
            return slot;
    }
}

/* All values into a table of @slot_count slots, rounded where that is so. */
static int rehash(struct tp_durations *durations, uint32_t slot_count)
{
    uint64_t *slots = calloc(slot_count, 2 * sizeof(*slots));
    uint32_t used = 0;

    if (!slots)
        return -ENOMEM;
    for (size_t i = 0; i < durations->slot_count; i++) {
        const uint64_t *old = durations->slots + 2 * i;
        if (!old[0])
            continue;
        uint64_t bits = durations->is_rounded ? round_bits(old[0]) : old[0];
        uint64_t *slot = find_slot(slots, slot_count, bits);
        used += !slot[0];
        slot[0] = bits;
        slot[1] += old[1];
    }
    free(durations->slots);
    durations->slots = slots;
    durations->slot_count = slot_count;
    durations->used = used;
    return 0;
}

/* Is a value among those that have a place of their own? */
static bool is_few(uint64_t bits, uint32_t *ret_value)
{
    double value = from_bits(bits);

    *ret_value = value < FEW_VALUES ? (uint32_t)value : 0;
    return (double)*ret_value == value;
}

static int count_value(struct tp_durations *durations, uint64_t bits, uint64_t count);

static void count_few(struct tp_durations *durations)
{
    struct tp_durations_few *few = durations->few;
    uint32_t used = 0;

    for (uint32_t i = 0; few && i < few->value_count; i++)
        used += !few->counts[few->values[i]]++;
    if (few)
        few->value_count = 0;
    durations->few_used += used;
}

/* Values are rounded from now on. */
static int give_up_few(struct tp_durations *durations)
{
    struct tp_durations_few *few = durations->few;
    int result = 0;

    count_few(durations);
    durations->few = NULL;
    durations->few_used = 0;
    for (uint32_t value = 0; few && value < FEW_VALUES && !result; value++) {
        if (few->counts[value])
            result = count_value(durations, to_bits(value), few->counts[value]);
    }
    free(few);
    return result;
}

static void add_few(struct tp_durations *durations, uint32_t value, uint32_t count)
{
    struct tp_durations_few *few = durations->few;

    if (count > 1) {
        durations->few_used += !few->counts[value];
        few->counts[value] += count;
        return;
    }
    few->values[few->value_count++] = (uint16_t)value;
    if (few->value_count == TOGETHER)
        count_few(durations);
}

/* Values that are near each other are near each other in memory then; without memory all stays as
 * it is. */
static void begin_few(struct tp_durations *durations)
{
    uint64_t *slots = durations->slots;
    uint32_t slot_count = durations->slot_count;

    durations->few = calloc(1, sizeof(*durations->few));
    durations->slots = calloc(slot_count, 2 * sizeof(*slots));
    if (!durations->few || !durations->slots) {
        free(durations->few);
        free(durations->slots);
        durations->few = NULL;
        durations->slots = slots;
        return;
    }
    durations->used = 0;
    for (size_t i = 0; i < slot_count; i++) {
        if (slots[2 * i])
            count_value(durations, slots[2 * i], slots[2 * i + 1]);
    }
    free(slots);
}

/* Room for one more value. Rounded ones are fewer than 2 Ki per factor of 4, so that doubling ends.
 */
static int make_room(struct tp_durations *durations)
{
    count_few(durations);
    if (durations->used + durations->few_used >= TP_DURATIONS_EXACT && !durations->is_rounded) {
        durations->is_rounded = true;
        int result = rehash(durations, MOST_SLOTS);
        return result ? result : give_up_few(durations);
    }
    if (durations->used < durations->slot_count / 2)
        return 0;
    return rehash(durations, durations->slot_count ? durations->slot_count * 2 : 8);
}

static int count_value(struct tp_durations *durations, uint64_t bits, uint64_t count)
{
    uint32_t value;
    int result = 0;

    if (durations->few && durations->count < UINT32_MAX / 2 && count < UINT32_MAX / 2 &&
        is_few(bits, &value)) {
        add_few(durations, value, (uint32_t)count);
        return 0;
    }
    if (durations->is_rounded)
        bits = round_bits(bits);
    uint64_t *slot =
        durations->slots ? find_slot(durations->slots, durations->slot_count, bits) : NULL;
    if (!slot || !*slot) {
        result = make_room(durations);
        if (result < 0)
            return result;
        if (durations->is_rounded)
            bits = round_bits(bits);
        slot = find_slot(durations->slots, durations->slot_count, bits);
    }
    durations->used += !slot[0];
    slot[0] = bits;
    slot[1] += count;
    return 0;
}

static void add_whole(struct tp_durations *durations, double value)
{
    uint64_t whole = value <= 0x1p32 ? (uint64_t)value : 0;

    if ((double)whole == value) {
        durations->whole_sum += whole;
        durations->whole_squares += (unsigned __int128)whole * whole;
    } else {
        durations->has_fractions = true;
    }
}

int tp_durations_add(struct tp_durations *durations, double value)
{
    int result = count_value(durations, to_bits(value), 1);

    if (result < 0)
        return result;
    add_whole(durations, value);
    double before = value - durations->mean;
    if (++durations->count == MANY && !durations->is_rounded)
        begin_few(durations);
    durations->mean += before / (double)durations->count;
    durations->squares += before * (value - durations->mean);
    return 0;
}

static void merge_moments(struct tp_durations *into, const struct tp_durations *from)
{
    double count = (double)(into->count + from->count), apart = from->mean - into->mean;
    double share = (double)from->count / count;

    into->squares += from->squares + apart * apart * (double)into->count * share;
    into->mean += apart * share;
    into->has_fractions |= from->has_fractions;
    into->whole_sum += from->whole_sum;
    into->whole_squares += from->whole_squares;
    into->count += from->count;
}

/* From now on. */
static int round_all(struct tp_durations *durations)
{
    if (durations->is_rounded)
        return 0;
    durations->is_rounded = true;
    int result = rehash(durations, MOST_SLOTS);
    return result ? result : give_up_few(durations);
}

int tp_durations_add_many(struct tp_durations *durations, double value, uint64_t count)
{
    struct tp_durations many = {.count = count, .mean = value, .has_fractions = true};
    int result = round_all(durations);

    if (!result)
        result = count_value(durations, to_bits(value), count);
    if (!result && count)
        merge_moments(durations, &many);
    return result;
}

int tp_durations_merge(struct tp_durations *durations, struct tp_durations *from)
{
    int result = from->is_rounded ? round_all(durations) : 0;

    count_few(from);
    for (uint32_t value = 0; !result && from->few && value < FEW_VALUES; value++) {
        if (from->few->counts[value])
            result = count_value(durations, to_bits(value), from->few->counts[value]);
    }
    for (size_t i = 0; !result && i < from->slot_count; i++) {
        const uint64_t *slot = from->slots + 2 * i;
        if (slot[0])
            result = count_value(durations, slot[0], slot[1]);
    }
    if (!result && from->count)
        merge_moments(durations, from);
    return result;
}

/* Positive doubles have the order of their bits. */
static int compare_pairs(const void *a, const void *b)
{
    uint64_t left = *(const uint64_t *)a, right = *(const uint64_t *)b;

    return left < right ? -1 : left > right;
}

/* The value with @rank others before it. */
static double value_at(const uint64_t *pairs, uint64_t rank)
{
    uint64_t before = pairs[1];

    while (before <= rank) {
        pairs += 2;
        before += pairs[1];
    }
    return from_bits(pairs[0]);
}

/* All values and how often, ascending; for free(). NULL without memory. */
static uint64_t *sorted_pairs(struct tp_durations *durations)
{
    size_t used = 0;

    count_few(durations);
    uint64_t *pairs = malloc(((size_t)durations->used + durations->few_used) * 2 * sizeof(*pairs));
    if (!pairs)
        return NULL;
    for (size_t i = 0; i < durations->slot_count; i++) {
        if (durations->slots[2 * i])
            memcpy(pairs + 2 * used++, durations->slots + 2 * i, 2 * sizeof(*pairs));
    }
    for (uint32_t value = 0; durations->few && value < FEW_VALUES; value++) {
        if (!durations->few->counts[value])
            continue;
        pairs[2 * used] = to_bits(value);
        pairs[2 * used++ + 1] = durations->few->counts[value];
    }
    qsort(pairs, used, 2 * sizeof(*pairs), compare_pairs);
    return pairs;
}

static double median_of(const uint64_t *pairs, uint64_t count)
{
    double low = value_at(pairs, (count - 1) / 2), high = value_at(pairs, count / 2);

    return low + (high - low) / 2;
}

int tp_durations_percentiles(struct tp_durations *durations, const unsigned *wanted, unsigned count,
                             double *ret_values)
{
    uint64_t all = durations->count;
    uint64_t *pairs = all ? sorted_pairs(durations) : NULL;

    if (all && !pairs)
        return -ENOMEM;
    for (unsigned i = 0; i < count; i++) {
        uint64_t rank = all / 100 * wanted[i] + (all % 100 * wanted[i] + 99) / 100;
        ret_values[i] = !all              ? 0
                        : wanted[i] == 50 ? median_of(pairs, all)
                                          : value_at(pairs, rank ? rank - 1 : 0);
    }
    free(pairs);
    return 0;
}

int tp_durations_median(struct tp_durations *durations, double *ret_median)
{
    static const unsigned half = 50;

    return tp_durations_percentiles(durations, &half, 1, ret_median);
}

double tp_durations_deviation(const struct tp_durations *durations)
{
    unsigned __int128 count = durations->count;
    double squares = durations->squares;

    if (count < 2)
        return 0.0;
    if (!durations->has_fractions && count < UINT32_MAX / 2)
        squares = (double)(count * durations->whole_squares -
                           durations->whole_sum * durations->whole_sum) /
                  (double)count;
    return sqrt(squares / (double)(count - 1));
}
