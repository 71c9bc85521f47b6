/* SPDX-License-Identifier: MIT
 * The geometry of a kernel's launch, and how much of a multiprocessor it can fill. */
#ifndef TP_MODEL_GEOMETRY_H
#define TP_MODEL_GEOMETRY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct tp_geometry {
    int64_t grid[3], block[3];
    int64_t registers;                            /* per thread; -1 unknown, as what follows */
    int64_t static_shared, dynamic_shared, local; /* bytes; local: per thread */
    int64_t cluster[3];                           /* 0 none */
};

/* What limits a launch; from a device's compute capability. */
struct tp_device_limits {
    uint32_t multiprocessors; /* 0 unknown: no figure that depends on the grid */
    uint32_t warps, blocks;   /* of a multiprocessor, resident */
    uint32_t shared_bytes;    /* of a multiprocessor */
    uint32_t shared_unit;     /* shared memory of a block is a multiple of it ... */
    uint32_t shared_reserved; /* ... and has so much that the system keeps */
    uint32_t registers;       /* of a multiprocessor */
    uint32_t register_unit;   /* registers of a warp are a multiple of it */
    uint32_t warp_unit;       /* warps that a multiprocessor has room for by registers, likewise */
};

struct tp_occupancy {
    double blocks_per_sm, warps_per_sm; /* of the whole grid: may exceed what is resident */
    double percent;                     /* warps resident at once of those that can be */
};

/**
 * tp_geometry_parse - JSON [[gx, gy, gz], [bx, by, bz], registers, static shared, dynamic shared,
 *   local per thread, [cx, cy, cz]]
 * Members behind the block may be missing. Return: is it one, with a grid and a block above 0?
 */
bool tp_geometry_parse(struct tp_geometry *geometry, const char *json, size_t size);

/** tp_device_limits_find - Return: false for a capability that is not known */
bool tp_device_limits_find(struct tp_device_limits *limits, unsigned major, unsigned minor,
                           uint32_t multiprocessors);

/**
 * tp_occupancy_estimate - by registers, shared memory and the size of the grid
 * Clusters and other launches on the device are left out of account.
 * Return: false when too little is known: no multiprocessors, no registers.
 */
bool tp_occupancy_estimate(const struct tp_geometry *geometry,
                           const struct tp_device_limits *limits,
                           struct tp_occupancy *ret_occupancy);

#endif
