# SPDX-License-Identifier: MIT
"""Ten million launches below the agent: whole, and with buffers that run out."""

import glob
import json
import os
import subprocess
import time

import recorded
import tap
from recorded import program

COUNT = int(os.environ.get("CUDA_SCALE_COUNT", 10000000))
COPIES = COUNT // 1000
KERNEL_US, COPY_US = 10, 1.062


def record(out, count=COUNT, **variables):
    begin = time.monotonic()
    command = [program("cuda_calls"), "millions", str(count)]
    done = tap.run(command, recorded.environment(out, **variables), timeout=400)
    tap.equal((done.returncode, done.stderr), (0, b""), "status and stderr")
    memory = [int(line) for line in done.stdout.split()]
    (recording,) = glob.glob(os.path.join(out, "tpagent-*"))
    print(f"# {count / (time.monotonic() - begin):.0f} launches a second, KiB {memory}")
    return recording, memory


def report(recording):
    done = tap.run([tap.TPREPORT, "--format", "json", recording], tap.clean_environment(), 300)
    found = json.loads(done.stdout)
    rows = {}
    for row in found["rows"]:
        count, device_us = rows.get(row["key"], (0, 0))
        rows[row["key"]] = count + row["count"], device_us + row["self_device_time_total"]
    return rows, found["recording"]["processes"][0]


def kernels_and_memory(recording):
    """Its rows, and how much memory it took in KiB."""
    command = [tap.TPREPORT, "kernels", "--format", "json", recording]
    begin = time.monotonic()
    with subprocess.Popen(
        command, env=tap.clean_environment(), stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    ) as process:
        text = process.stdout.read()
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    tap.equal(process.returncode, 0, "status of tpreport kernels")
    print(f"# kernels: {time.monotonic() - begin:.1f} s, {usage.ru_maxrss} KiB")
    rows = json.loads(text)["rows"]
    return {row["name"]: (row["count"], row["total_us"]) for row in rows}, usage.ru_maxrss


def bytes_copied(recording):
    """Of each copy, from a reader of its own."""
    command = [os.environ["DUMP"], recording]
    found = []
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as dump:
        only = ["grep", "-F", " gpu_memcpy "]
        with subprocess.Popen(only, stdin=dump.stdout, stdout=subprocess.PIPE) as copies:
            for line in copies.stdout:
                found.append(int(line.split(b" bytes=")[1].split()[0]))
    return found


def is_flat(memory):
    """Of ten readings the second half: buffers were made before."""
    assert memory[-1] - memory[4] < 8 << 10, memory


def test_whole():
    with tap.folder() as out:
        recording, memory = record(out, TPAGENT_WHEN_FULL="wait")
        rows, process = report(recording)
        tap.equal(
            rows["scale(float*, float)"], (COUNT, COUNT * KERNEL_US), "kernels and their time"
        )
        count, device_us = rows["Memcpy HtoD (Pageable -> Device)"]
        tap.equal((count, round(device_us, 3)), (COPIES, round(COPIES * COPY_US, 3)), "copies")
        count, device_us = rows["copy"]
        tap.equal((count, round(device_us, 3)), (COPIES, round(COPIES * COPY_US, 3)), "ranges")
        tap.equal(rows["cudaLaunchKernel"], (COUNT, 0), "launches")
        kernels, peak = kernels_and_memory(recording)
        tap.equal(kernels, {"scale(float*, float)": (COUNT, COUNT * KERNEL_US)}, "by kernel")
        assert peak < 160 << 10, peak  # a million launches under way and as many left behind
        tap.equal(bytes_copied(recording), [1000] * COPIES, "bytes of the copies")
        lost = [process[key] for key in ("lost_records", "dropped_records", "missing_slots")]
        lost += [
            process["cuda"][key] for key in ("dropped", "no_room", "invalid", "buffers_refused")
        ]
        lost += [process["cuda"][key] for key in ("without_launch", "late_calls")]
        tap.equal(lost, [0] * 9, "losses")
        is_flat(memory)


def kernels_report(recording):
    done = tap.run(
        [tap.TPREPORT, "kernels", "--format", "json", recording], tap.clean_environment()
    )
    assert done.returncode in (0, 3), done
    return {row["name"]: row for row in json.loads(done.stdout)["rows"]}, done.stderr.decode()


def test_evicted():
    """A quarter of them, most of which is evicted: work of the device is there as sums."""
    with tap.folder() as out:
        # no buffer is refused where what evicts them falls behind
        roomy = {"TPAGENT_WHEN_FULL": "wait", "TPAGENT_CUDA_BUFFERS": "2g"}
        recording, _ = record(out, COUNT // 4, TPAGENT_MAX_SIZE="1m", **roomy)
        rows, process = report(recording)
        assert process["evicted_slots"] > process["records"], process
        kernels, device_us = rows["scale(float*, float)"]
        tap.equal(
            (kernels, device_us), (COUNT // 4, COUNT // 4 * KERNEL_US), "kernels and their time"
        )
        count, device_us = rows["Memcpy HtoD (Pageable -> Device)"]
        tap.equal(count, COPIES // 4, "copies")
        assert abs(device_us - COPIES // 4 * COPY_US) < 1e-6 * device_us + 1, device_us
        count, credited_us = rows["copy"]
        tap.equal((count, credited_us), (COPIES // 4, device_us), "ranges and their device time")
        lost = [process["cuda"][key] for key in ("without_launch", "without_launch_ns")]
        tap.equal(lost, [0, 0], "work whose call is not known")
        table, head = kernels_report(recording)
        row = table["scale(float*, float)"]
        tap.equal((row["count"], row["total_us"]), (COUNT // 4, COUNT // 4 * KERNEL_US), "kernels")
        assert abs(row["minimum_us"] - KERNEL_US) < 0.01 > abs(row["maximum_us"] - KERNEL_US), row
        assert abs(row["median_us"] - KERNEL_US) < 0.01 * KERNEL_US, row
        assert "known in sums only (running summary)" in head, head


def test_buffers_run_out():
    with tap.folder() as out:
        small = {"TPAGENT_CUDA_BUFFERS": "2m", "SIMCUDA_RECORDS_PER_BUFFER": 1000}
        recording, memory = record(out, **small)
        rows, process = report(recording)
        cuda = process["cuda"]
        kernels, device_us = rows["scale(float*, float)"]
        tap.equal(device_us, kernels * KERNEL_US, "time of the kernels that came")
        copies, device_us = rows["Memcpy HtoD (Pageable -> Device)"]
        tap.equal(round(device_us, 3), round(copies * COPY_US, 3), "time of the copies that came")
        tap.equal(bytes_copied(recording), [1000] * copies, "bytes of the copies that came")
        missing = COUNT - kernels + COPIES - copies + COUNT - rows["cudaLaunchKernel"][0]
        print(f"# missing {missing} of {2 * COUNT + COPIES}, dropped {cuda['dropped']}")
        assert cuda["buffers_refused"] > 0 and missing > 0, cuda
        counted = cuda["dropped"] + cuda["no_room"] + process["lost_records"]
        assert counted >= missing, (counted, missing)
        is_flat(memory)


def main():
    t = tap.Tap()
    t.check(f"{COUNT} launches: all of them, their time, the bytes copied", test_whole)
    t.check(f"{COUNT} launches, buffers run out: counted, the rest is right", test_buffers_run_out)
    t.check(f"{COUNT // 4} launches, evicted: the device's work is that of all", test_evicted)
    t.end()


if __name__ == "__main__":
    main()
