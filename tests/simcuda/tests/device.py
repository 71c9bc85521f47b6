# SPDX-License-Identifier: MIT
"""The simulated device: graphs, several devices and streams, memory."""

import time

import sim


# Graphs


def a_launched_graph_gives_a_record_a_node():
    run = sim.scenario("graphs", 3, do="kinds=5,10,1,2 domain=3")
    launches = run.all("runtime", name="cudaGraphLaunch_v10000")
    sim.equal(len(launches), 3)
    for launch in launches:
        having = {"correlation": launch.correlation}
        work = [run.one("memcpy", **having)] + run.all("kernel", **having)
        work.append(run.one("memset", **having))
        sim.equal([w.node & 0xFFFFFFFF for w in work], [0, 1, 2, 3])
        exec_id = run.one("resource", cbid=18).values["exec"]
        sim.equal({w.node >> 32 for w in work}, {exec_id})
        sim.equal({k.graph for k in run.all("kernel")}, {exec_id})
    sim.equal(run.out, "by a graph\n")


def many_launches_of_a_graph_are_all_there():
    run = sim.scenario("graphs", 2000, do="kinds=5,10,1,2 size=65536")
    sim.equal(len(run.all("kernel")), 4000)
    sim.equal(len(run.all("memset")), 2000)
    ids = {k.correlation for k in run.all("kernel")}
    sim.equal(len(ids), 2000)


def nodes_lead_from_launch_to_creation():
    run = sim.scenario("graphs", 1, do="kinds=10 domain=3")
    created = {r.node for r in run.all("resource", cbid=13)}
    cloned = {r.node: r.original for r in run.all("resource", cbid=20)}
    for kernel in run.all("kernel"):
        node = kernel.node
        while node in cloned:
            node = cloned[node]
        sim.true(node in created, kernel.text)
    sim.equal(len(run.all("resource", cbid=11)), 1)
    sim.equal(len(run.all("resource", cbid=9)), 1)


def a_captured_stream_becomes_a_graph():
    run = sim.scenario("capture", 2, do="kinds=5,10 domain=3")
    sim.equal([k.name for k in run.all("kernel")], ["_Z5firstv", "_Z6secondv"] * 2)
    sim.equal(len(run.all("resource", cbid=13)), 2)


def graph_trace_gives_one_record_a_launch():
    nodes = sim.scenario("graphs", 3, do="kinds=5,10,1,2")
    whole = sim.scenario("graphs", 3, do="kinds=5,10,1,2,51")
    sim.equal(len(whole.all("graph")), 3)
    sim.equal(whole.all("kernel"), [])
    first = whole.all("graph")[0]
    work = nodes.all("kernel") + nodes.all("memset") + nodes.all("memcpy")
    work = [w for w in work if w.correlation == first.correlation]
    sim.equal(first.start, min(w.start for w in work))
    sim.equal(first.end, max(w.end for w in work))


# Devices, streams, memory


def two_devices_run_at_once():
    run = sim.scenario("devices", do="kinds=5,10,22,8,9,49", SIMCUDA_DEVICES=2)
    sim.equal(sorted(d.id for d in run.all("device")), [0, 1])
    sim.equal([(c.context, c.device) for c in run.all("context")], [(1, 0), (2, 1), (3, 0)])
    kernels = run.all("kernel")
    sim.equal([(k.device, k.context) for k in kernels], [(0, 1), (1, 2), (0, 3)])
    peer = run.one("memcpy2")
    sim.equal((peer.bytes, peer.from_device, peer.to_device), (4096, 0, 1))


def visible_devices_are_chosen_and_ordered():
    run = sim.scenario(
        "devices", do="kinds=8,10", SIMCUDA_DEVICES=4, CUDA_VISIBLE_DEVICES="3,1"
    )
    devices = sorted(run.all("device"), key=lambda d: d.id)
    sim.equal([(d.id, d.uuid_end) for d in devices], [(0, 3), (1, 1)])


def streams_overlap_and_wait_for_events():
    run = sim.scenario("streams", 4, do="kinds=5,10,38,36")
    one = run.all("kernel", name="_Z5firstv")
    two = run.all("kernel", name="_Z6secondv")
    sim.true(one[0].start < two[0].end and two[0].start < one[0].end, "one after the other")
    sim.true(two[-1].start >= one[-1].end, "did not wait")
    for stream in (one, two):
        for before, after in zip(stream, stream[1:]):
            sim.true(before.end <= after.start, after.text)
    sim.equal([s.type for s in run.all("sync")], [2, 1, 4])
    sim.equal(len(run.all("event")), 1)


def each_thread_has_a_default_stream_of_its_own():
    run = sim.scenario("per_thread", do="kinds=5,10,37")
    sim.equal([k.stream for k in run.all("kernel")], [8, 8, 8, 9, 9, 9])
    names = {c.name for c in run.all("runtime")}
    sim.equal(names, {"cudaLaunchKernel_ptsz_v7000", "cudaStreamSynchronize_ptsz_v7000"})


def all_memory_is_told_once():
    run = sim.scenario("memory", do="kinds=49,50")
    sim.equal(run.out, "100\n")
    live = {}
    for each in run.all("memory"):
        if each.operation == 1:
            sim.true(each.address not in live, each.text)
            live[each.address] = each.bytes
        else:
            sim.equal(live.pop(each.address), each.bytes)
    sim.equal(list(live.values()), [100])
    got = [m.bytes for m in run.all("memory", operation=1)]
    sim.equal(got, [1000, 2000, 3000, 2048, 8192, 4000, 2 << 20, 100])
    sim.equal([p.operation for p in run.all("pool")], [1, 3])


def many_launches_take_no_time():
    begin = time.monotonic()
    run = sim.scenario("launches", 1000000, do="count kinds=5,4,10", timeout=60)
    took = time.monotonic() - begin
    counted = run.one("counted")
    sim.equal((counted.kernel, counted.runtime), (1000000, 1000001))
    print(f"# {1000000 / took:.0f} launches a second with three records each")


def virtual_memory_need_not_be_told():
    run = sim.scenario("memory", do="kinds=49", SIMCUDA_TELL_VIRTUAL=0)
    sim.equal(run.out, "100\n")
    sim.equal([m for m in run.all("memory") if m.bytes == 2 << 20], [])
    sim.equal(len(run.all("memory", operation=1)), 7)


tap = sim.Tap()
tap.check(a_launched_graph_gives_a_record_a_node)
tap.check(many_launches_of_a_graph_are_all_there)
tap.check(nodes_lead_from_launch_to_creation)
tap.check(a_captured_stream_becomes_a_graph)
tap.check(graph_trace_gives_one_record_a_launch)
tap.check(two_devices_run_at_once)
tap.check(visible_devices_are_chosen_and_ordered)
tap.check(streams_overlap_and_wait_for_events)
tap.check(each_thread_has_a_default_stream_of_its_own)
tap.check(all_memory_is_told_once)
tap.check(virtual_memory_need_not_be_told)
tap.check(many_launches_take_no_time)
tap.end()
