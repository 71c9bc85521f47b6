# SPDX-License-Identifier: MIT
"""Each CUPTI from 11.0 to 13: its soname, its symbols, the layouts of its records."""

import os
import subprocess

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
LIBRARIES = {"11.0": 13, "11.2": 15, "11.6": 17, "11.8": 18, "12": 28, "13": 130001}
FIXED = {4: 40, 5: 40, 37: 24, 39: 24}


def toolkit_of(api):
    return "11.0" if api < 19 else "12" if api < 130000 else "13"


def scenario(name, do, toolkit, **more):
    more.setdefault("SIMCUDA_CLOCK", "virtual")
    program = sim.program(f"scenarios-{toolkit}")
    cupti = f"libcupti.so.{toolkit}"
    return sim.run([program, name], do, toolkit, CLIENT_CUPTI=cupti, **more)


def records(api, name, kinds, **more):
    run = scenario(name, f"sizes kinds={kinds}", toolkit_of(api), SIMCUDA_CUPTI_API=api, **more)
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


def kinds_that_came_later_are_refused_in_api(api, *kinds):
    run = scenario(
        "launches", "kinds=" + ",".join(kinds), toolkit_of(api), SIMCUDA_CUPTI_API=api
    )
    sim.equal([e.result for e in run.all("enable")], [21] * len(kinds))


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
        run = scenario(
            name, f"walk={sim.REAL_CUPTI} external=5:1 kinds={kinds}", "13", SIMCUDA_DEVICES=2
        )
        sim.true(run.all("buffer"), "no buffer")
        sim.equal([line.text for line in run.all("walk")], [])


def the_real_library_has_the_same_names():
    if not os.path.exists(sim.REAL_CUPTI):
        return "no CUPTI of NVIDIA's here"
    run = sim.run([sim.program("names"), sim.REAL_CUPTI], CUDA_INJECTION64_PATH="")
    sim.equal(run.out.splitlines()[:-1], [])
    sim.true(int(run.out.split()[-1]) > 300, run.out)


def symbols(path):
    """Exported names of a library, and its version nodes."""
    text = subprocess.run(
        ["readelf", "--wide", "--dyn-syms", "--version-info", "--dynamic", path],
        stdout=subprocess.PIPE,
        check=True,
        text=True,
    ).stdout
    names, nodes, soname = set(), set(), None
    for line in text.splitlines():
        words = line.split()
        if "SONAME" in line:
            soname = line.split("[")[1].split("]")[0]
        if len(words) >= 8 and words[4] == "GLOBAL" and words[6] != "UND" and words[3] == "FUNC":
            name, _, node = words[7].partition("@@")
            names.add(name)
            nodes.add(node)
    return names, nodes, soname


def a_library_has_one_version_node(toolkit, name):
    path = os.path.join(sim.SIMCUDA, toolkit, name)
    names, nodes, soname = symbols(path)
    sim.equal((nodes, soname), ({name}, name))
    sim.true(len(names) > 20, "few symbols")


def a_library_says_its_version(toolkit, api):
    program = "11.0" if toolkit.startswith("11") else toolkit
    run = sim.run(
        [sim.program(f"scenarios-{program}"), "launches", "2"],
        "kinds=5,10",
        toolkit,
        CLIENT_CUPTI=f"libcupti.so.{toolkit}",
    )
    sim.equal(run.one("version").api, api)
    sim.equal(len(run.all("kernel")), 2)


def later_symbols_are_missing(toolkit, *missing):
    names, _, _ = symbols(os.path.join(sim.SIMCUDA, toolkit, f"libcupti.so.{toolkit}"))
    newest, _, _ = symbols(os.path.join(sim.SIMCUDA, "13", "libcupti.so.13"))
    sim.equal(sorted(newest - names), sorted(missing))


def all_entry_points_are_there(library, path):
    names, _, _ = symbols(os.path.join(sim.SIMCUDA, path))
    with open(os.path.join(os.path.dirname(__file__), f"{library}.entry_points")) as file:
        wanted = {line.strip() for line in file if line.strip() and not line.startswith("#")}
    sim.equal(sorted(wanted - names), [])


LATER = {
    "11.0": [
        "cuptiActivityEnableDriverApi",
        "cuptiActivityEnableRuntimeApi",
        "cuptiActivityFlushPeriod",
        "cuptiActivityRegisterTimestampCallback",
        "cuptiGetGraphExecId",
        "cuptiGetGraphId",
        "cuptiGetGraphNodeId",
        "cuptiSubscribe_v2",
    ],
    "12": ["cuptiSubscribe_v2"],
    "13": [],
}

tap = sim.Tap()
for each in SIZES:
    tap.check(records_are_as_long_as_in_api, each)
tap.check(every_version_gives_the_same_values)
tap.check(kinds_that_came_later_are_refused_in_api, 13, "49", "50", "51")
tap.check(kinds_that_came_later_are_refused_in_api, 15, "51")
tap.check(the_real_library_walks_the_newest_layouts)
tap.check(the_real_library_has_the_same_names)
for each, number in LIBRARIES.items():
    tap.check(a_library_says_its_version, each, number)
    tap.check(a_library_has_one_version_node, each, f"libcupti.so.{each}")
for each in ("11.0", "12", "13"):
    tap.check(a_library_has_one_version_node, each, f"libcudart.so.{each}")
    tap.check(later_symbols_are_missing, each, *LATER[each])
tap.check(all_entry_points_are_there, "libcudart", "13/libcudart.so.13")
tap.check(all_entry_points_are_there, "libcuda", "driver/libcuda.so.1")
tap.end()
