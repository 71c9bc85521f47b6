/* SPDX-License-Identifier: MIT */
#include "model/geometry.h"

#include <string.h>

/* ---- reading ---- */

struct scan {
    const char *at, *end;
};

static bool take(struct scan *scan, char c)
{
    while (scan->at < scan->end && strchr(" \t\r\n", *scan->at) && *scan->at)
        scan->at++;
    if (scan->at >= scan->end || *scan->at != c)
        return false;
    scan->at++;
    return true;
}

static bool take_number(struct scan *scan, int64_t *ret_value)
{
    bool negative = take(scan, '-');
    int64_t value = 0;
    int digits = 0;

    take(scan, '\0'); /* blanks */
    for (; scan->at < scan->end && *scan->at >= '0' && *scan->at <= '9'; scan->at++, digits++)
        value = digits < 18 ? value * 10 + (*scan->at - '0') : value;
    if (!digits || digits > 18)
        return false;
    *ret_value = negative ? -value : value;
    return true;
}

static bool take_three(struct scan *scan, int64_t values[3])
{
    return take(scan, '[') && take_number(scan, &values[0]) && take(scan, ',') &&
           take_number(scan, &values[1]) && take(scan, ',') && take_number(scan, &values[2]) &&
           take(scan, ']');
}

static bool is_size(const int64_t values[3])
{
    for (int i = 0; i < 3; i++) {
        if (values[i] < 1 || values[i] > UINT32_MAX)
            return false;
    }
    return true;
}

bool tp_geometry_parse(struct tp_geometry *geometry, const char *json, size_t size)
{
    struct scan scan = {json, json + size};
    struct tp_geometry g = {
        .registers = -1, .static_shared = -1, .dynamic_shared = -1, .local = -1};
    int64_t *numbers[] = {&g.registers, &g.static_shared, &g.dynamic_shared, &g.local};

    if (!take(&scan, '[') || !take_three(&scan, g.grid) || !take(&scan, ',') ||
        !take_three(&scan, g.block) || !is_size(g.grid) || !is_size(g.block))
        return false;
    for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]) && take(&scan, ','); i++) {
        if (!take_number(&scan, numbers[i]))
            return false;
    }
    if (take(&scan, ',') && !take_three(&scan, g.cluster))
        return false;
    if (!take(&scan, ']'))
        return false;
    *geometry = g;
    return true;
}

/* ---- limits ---- */

enum { KB = 1024, ANY = 255 };

/* The first line that fits counts. */
static const struct {
    uint8_t major, minor; /* ANY: the others */
    uint8_t warps, blocks;
    uint16_t shared_kb;
} capabilities[] = {
    {5, 2, 64, 32, 96},     {5, ANY, 64, 32, 64},   {6, 1, 64, 32, 96},     {6, ANY, 64, 32, 64},
    {7, 5, 32, 16, 64},     {7, ANY, 64, 32, 96},   {8, 0, 64, 32, 164},    {8, 7, 48, 16, 164},
    {8, 9, 48, 24, 100},    {8, ANY, 48, 16, 100},  {9, ANY, 64, 32, 228},  {10, 1, 48, 24, 228},
    {10, ANY, 64, 32, 228}, {11, ANY, 48, 24, 228}, {12, ANY, 48, 24, 100},
};

bool tp_device_limits_find(struct tp_device_limits *limits, unsigned major, unsigned minor,
                           uint32_t multiprocessors)
{
    for (size_t i = 0; i < sizeof(capabilities) / sizeof(capabilities[0]); i++) {
        if (capabilities[i].major != major ||
            (capabilities[i].minor != ANY && capabilities[i].minor != minor))
            continue;
        *limits = (struct tp_device_limits){
            .multiprocessors = multiprocessors,
            .warps = capabilities[i].warps,
            .blocks = capabilities[i].blocks,
            .shared_bytes = capabilities[i].shared_kb * KB,
            .shared_unit = major >= 8 ? 128 : 256,
            .shared_reserved = major >= 8 ? KB : 0,
            .registers = 64 * KB,
            .register_unit = 256,
            .warp_unit = major == 6 && !minor ? 2 : 4,
        };
        return true;
    }
    return false;
}

/* ---- occupancy ---- */

static uint64_t round_up(uint64_t value, uint64_t unit)
{
    return (value + unit - 1) / unit * unit;
}

static uint64_t blocks_by_registers(const struct tp_geometry *geometry,
                                    const struct tp_device_limits *limits, uint64_t warps)
{
    uint64_t of_warp = round_up((uint64_t)geometry->registers * 32, limits->register_unit);

    if (!of_warp)
        return UINT64_MAX;
    uint64_t fit = limits->registers / of_warp;
    return (fit - fit % limits->warp_unit) / warps;
}

static uint64_t blocks_by_shared(const struct tp_geometry *geometry,
                                 const struct tp_device_limits *limits)
{
    uint64_t bytes = limits->shared_reserved;

    if (geometry->static_shared > 0)
        bytes += (uint64_t)geometry->static_shared;
    if (geometry->dynamic_shared > 0)
        bytes += (uint64_t)geometry->dynamic_shared;
    bytes = round_up(bytes, limits->shared_unit);
    return bytes ? limits->shared_bytes / bytes : UINT64_MAX;
}

static uint64_t least(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

bool tp_occupancy_estimate(const struct tp_geometry *geometry,
                           const struct tp_device_limits *limits,
                           struct tp_occupancy *ret_occupancy)
{
    double threads = 1, grid = 1;

    for (int i = 0; i < 3; i++) {
        threads *= (double)geometry->block[i];
        grid *= (double)geometry->grid[i];
    }
    if (!limits->multiprocessors || geometry->registers < 0 || threads > 1024)
        return false;
    uint64_t warps = ((uint64_t)threads + 31) / 32;
    uint64_t blocks = least(limits->blocks, limits->warps / warps);
    blocks = least(blocks, blocks_by_registers(geometry, limits, warps));
    blocks = least(blocks, blocks_by_shared(geometry, limits));
    double per_sm = grid / limits->multiprocessors;
    double resident = per_sm < (double)blocks ? per_sm : (double)blocks;
    *ret_occupancy = (struct tp_occupancy){
        .blocks_per_sm = per_sm,
        .warps_per_sm = per_sm * threads / 32,
        .percent = resident * threads / 32 / limits->warps * 100,
    };
    return true;
}
