# SPDX-License-Identifier: MIT
"""Ten million launches, each with three records; nothing is lost."""

import time

import sim

COUNT = 10000000


def ten_million_launches(toolkit):
    begin = time.monotonic()
    command = [sim.program(f"scenarios-{toolkit}"), "launches", str(COUNT)]
    run = sim.run(command, "count kinds=5,4,10", toolkit, SIMCUDA_CLOCK="virtual", timeout=300)
    counted = run.one("counted")
    sim.equal((counted.kernel, counted.runtime, counted.driver), (COUNT, COUNT + 1, COUNT + 1))
    sim.equal(run.one("exit").dropped, 0)
    print(f"# {COUNT / (time.monotonic() - begin):.0f} launches a second")


tap = sim.Tap()
tap.check(ten_million_launches, "13")
tap.check(ten_million_launches, "12")
tap.end()
