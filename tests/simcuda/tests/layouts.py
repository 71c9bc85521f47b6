# SPDX-License-Identifier: MIT
"""The layouts of the records of each CUPTI from 11.0 to 13."""

import os

import sim

# API number: (folder, bytes of a record of each kind); as the specification's table has them.
KINDS = ["KERNEL", "MEMCPY", "MEMCPY2", "MEMSET", "OVERHEAD", "SYNC", "EVENT", "MEMORY2", "POOL"]
KINDS += ["CONTEXT", "GRAPH", "DEVICE"]
NUMBERS = dict(zip(KINDS, [10, 1, 22, 2, 17, 38, 36, 49, 50, 9, 51, 8]))
SIZES = {
    13: [160, 72, 80, 72, 40, 40, 24, 0, 0, 16, 0, 144],
    14: [160, 80, 88, 80, 40, 40, 24, 0, 0, 16, 0, 144],
    15: [168, 80, 88, 80, 40, 40, 24, 112, 64, 16, 0, 176],
    16: [168, 80, 88, 80, 40, 40, 24, 112, 64, 16, 0, 176],
    17: [176, 88, 96, 88, 40, 40, 24, 120, 72, 16, 48, 176],
    18: [200, 88, 96, 88, 40, 40, 24, 120, 72, 16, 48, 184],
    19: [208, 88, 96, 88, 40, 40, 24, 120, 72, 16, 48, 184],
    20: [208, 88, 96, 88, 48, 40, 24, 120, 72, 16, 48, 184],
    21: [208, 88, 96, 88, 48, 40, 24, 120, 72, 16, 56, 184],
    22: [208, 88, 96, 88, 56, 40, 24, 120, 72, 24, 56, 184],
    23: [208, 88, 96, 88, 56, 40, 24, 120, 72, 32, 56, 184],
    24: [208, 88, 96, 88, 56, 40, 24, 128, 72, 32, 56, 184],
    26: [208, 96, 96, 88, 56, 56, 56, 128, 72, 32, 56, 184],
    27: [208, 96, 96, 88, 56, 56, 56, 128, 72, 32, 56, 184],
    28: [208, 96, 96, 88, 56, 56, 56, 128, 72, 32, 56, 184],
    130000: [216, 96, 96, 88, 56, 56, 56, 128, 80, 32, 56, 184],
    130001: [216, 96, 96, 88, 56, 56, 56, 128, 80, 32, 56, 184],
}
FIXED = {4: 40, 5: 40, 37: 24, 39: 24}


def records(api, name, kinds, **more):
    do, toolkit = f"sizes kinds={kinds}", sim.toolkit_of(api)
    run = sim.scenario(name, do=do, toolkit=toolkit, SIMCUDA_CUPTI_API=api, **more)
    sim.equal(run.one("version").api, api)
    return run


def sizes(run):
    """Bytes between the records of a run, by kind."""
    found = {}
    for line in run.all("size"):
        found.setdefault(line.kind, set()).add(line.bytes)
    return found


def records_are_as_long_as_in_api(api):
    found = {}
    kinds = "5,4,10,1,2,38,36,9,8,37"
    for name in ("graphs", "streams"):
        found.update(sizes(records(api, name, kinds)))
    found.update(sizes(records(api, "devices", "22,9,8", SIMCUDA_DEVICES=2)))
    expected = dict(FIXED)
    expected.update({NUMBERS[k]: s for k, s in zip(KINDS, SIZES[api])})
    if api >= 15:
        found.update(sizes(records(api, "memory", "49,50")))
    if api >= 17:
        found.update(sizes(records(api, "graphs", "51")))
    expected = {k: {s} for k, s in expected.items() if s and k in found}
    sim.equal(found, expected)
    wanted = {10, 1, 2, 22, 38, 36, 9, 8} | ({49, 50} if api >= 15 else set())
    sim.true(wanted <= set(found), f"kinds seen: {sorted(found)}")


def every_version_gives_the_same_values():
    """What all versions have is the same in all: offsets of required fields never move."""

    def values(api):
        run = records(api, "graphs", "5,10,1,2,38")
        # Names and numbers of calls may differ by version of the runtime, graph fields are new.
        strip = lambda text: text.split(" node=")[0].split(" graph=")[0]
        run_lines = run.all("kernel") + run.all("memcpy") + run.all("memset")
        return [strip(line.text) for line in run_lines]

    first = values(13)
    sim.true(len(first) == 3 * 4 + 1, len(first))
    for api in SIZES:
        sim.equal(values(api), first, f"API {api}")


def the_real_library_walks_the_newest_layouts():
    if not os.path.exists(sim.REAL_CUPTI):
        return "no CUPTI of NVIDIA's here"
    for name, kinds in (
        ("graphs", "5,4,10,1,2,38,9,8,37,39"),
        ("graphs", "5,51"),
        ("devices", "22,9,8,37"),
        ("memory", "49,50"),
        ("streams", "36,38"),
    ):
        do = f"walk={sim.REAL_CUPTI} external=5:1 kinds={kinds}"
        run = sim.scenario(name, do=do, SIMCUDA_DEVICES=2)
        sim.true(run.all("buffer"), "no buffer")
        sim.equal([line.text for line in run.all("walk")], [])


tap = sim.Tap()
for each in SIZES:
    tap.check(records_are_as_long_as_in_api, each)
tap.check(every_version_gives_the_same_values)
tap.check(the_real_library_walks_the_newest_layouts)
tap.end()
