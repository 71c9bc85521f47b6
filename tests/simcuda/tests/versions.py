# SPDX-License-Identifier: MIT
"""Each CUPTI from 11.0 to 13: its soname, its symbols, its kinds."""

import os
import subprocess

import sim

LIBRARIES = {"11.0": 13, "11.2": 15, "11.6": 17, "11.8": 18, "12": 28, "13": 130001}


def kinds_that_came_later_are_refused_in_api(api, *kinds):
    do = "kinds=" + ",".join(kinds)
    run = sim.scenario("launches", do=do, toolkit=sim.toolkit_of(api), SIMCUDA_CUPTI_API=api)
    sim.equal([e.result for e in run.all("enable")], [21] * len(kinds))


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
tap.check(kinds_that_came_later_are_refused_in_api, 13, "49", "50", "51")
tap.check(kinds_that_came_later_are_refused_in_api, 15, "51")
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
