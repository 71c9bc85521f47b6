# SPDX-License-Identifier: MIT
"""Source lines and inlined functions of native frames, where there is debug information."""

import collections
import csv
import io
import json
import os
import random
import re
import shutil
import socket
import subprocess
import sys
import threading

import tap

SOURCES = os.path.normpath(
    os.path.join(os.path.dirname(os.path.abspath(__file__)), "../workloads")
)
LINES_C = os.path.join(SOURCES, "lines.c")
LINES_CPP = os.path.join(SOURCES, "lines_more.cpp")
MARK = re.compile(r"/\* (\w+(?: \d+)?) \*/")


def need(*programs):
    for program in programs:
        if not shutil.which(program):
            raise tap.Skip(f"no {program} here")


def build(folder, *options, compiler="gcc", source=LINES_C, name="lines"):
    need(compiler)
    program = os.path.join(folder, name)
    command = [compiler, "-O2", "-Wl,--build-id", *options, source, "-o", program]
    subprocess.run(command, check=True, cwd=folder)
    return program


def record(out, program):
    done = tap.run([program], tap.recorded_environment(out, TPAGENT_ALLOC="all"))
    tap.equal((done.returncode, done.stderr), (0, b""), "status and stderr")


def tpreport(out, *options, **variables):
    """Its output, and what it says on stderr."""
    done = tap.run(
        [tap.TPREPORT, "memory", *options, out], tap.clean_environment(**variables), timeout=60
    )
    tap.equal(done.returncode, 0, f"tpreport's status: {done.stderr.decode()}")
    return done.stdout.decode(), done.stderr.decode()


def stacks(out, *options, **variables):
    output, _ = tpreport(out, "--format", "json", "--row-limit", "none", *options, **variables)
    return json.loads(output)["stacks"]


def frames(row):
    """(function, file, line, is inlined) of each frame."""
    places = row.get("places", [None] * len(row["stack"]))
    return tuple(
        (name, *((p["file"], p["line"], p["inlined"]) if p else (None, None, False)))
        for name, p in zip(row["stack"], places, strict=True)
    )


# ---- what others say


def segments(path):
    """(offset, address, bytes in the file) of what is loaded of it."""
    text = subprocess.run(
        ["readelf", "-lW", path], check=True, stdout=subprocess.PIPE
    ).stdout.decode()
    rows = [line.split() for line in text.splitlines() if line.strip().startswith("LOAD ")]
    return [(int(r[1], 16), int(r[2], 16), int(r[4], 16)) for r in rows]


def one_chain(text):
    lines = text.splitlines()
    chain = []
    for name, place in zip(lines[::2], lines[1::2], strict=True):
        file, line = re.sub(r" \(discriminator \d+\)$", "", place).rsplit(":", 1)
        line = int(line) if line.isdigit() and line != "0" else None
        chain.append([name, *((file, line) if file != "??" else (None, None)), True])
    chain[-1][3] = False
    return [tuple(frame) for frame in chain]


def ask(tool, path, offsets):
    """For each place in the file what is there, innermost first, as frames() tells it."""
    loaded = segments(path)
    addresses = [
        next(address + o - start for start, address, size in loaded if start <= o < start + size)
        for o in offsets
    ]
    text = subprocess.run(
        [tool, "-a", "-i", "-f", "-C", "-e", path],
        input="".join(f"{a:#x}\n" for a in addresses).encode(),
        check=True,
        stdout=subprocess.PIPE,
    ).stdout.decode()
    return [one_chain(part) for part in re.split(r"^0x[0-9a-f]+\n", text, flags=re.M)[1:]]


OF_LIBRARY = (None, None, None, False)


def comparable(chain, with_names):
    """Of a function that is there tpreport tells the symbol, others what the source calls it."""
    return tuple(
        (name if inlined and with_names else None, file and os.path.normpath(file), line, inlined)
        for name, file, line, inlined in chain
    )


def agrees_with(tool, *options, compiler="gcc", source=LINES_C):
    """Rows by what @tool says of each address of the program, with their sums."""
    need(tool, "readelf")
    with_names = tool == "addr2line"  # LLVM spells C++ another way
    wanted, got = collections.Counter(), collections.Counter()
    with tap.folder() as work, tap.folder() as out:
        program = build(work, *options, compiler=compiler, source=source)
        record(out, program)
        bare = stacks(out, "--no-symbols")
        mine = {f: int(f[6:], 16) for r in bare for f in r["stack"] if f.startswith("lines+")}
        known = dict(zip(mine, ask(tool, program, mine.values()), strict=True))
        for row in bare:
            chain = [f for frame in row["stack"] for f in known.get(frame, [OF_LIBRARY])]
            wanted[comparable(chain, with_names)] += row["allocated_bytes"]
        for row in stacks(out, "--debug-dir", work):
            got[comparable(frames(row), with_names)] += row["allocated_bytes"]
    differ = [(k, got[k], wanted[k]) for k in got | wanted if got[k] != wanted[k]]
    tap.equal(differ[:2], [], f"{len(differ)} of {len(wanted)} rows differ; (row, got, expected)")
    told = [chain for chain in known.values() if chain[0][1]]
    assert len(told) >= 8 and ("-O0" in options or any(len(c) > 1 for c in told)), known
    print(f"# {len(known)} addresses, {len(told)} with lines, {len(wanted)} rows")


# ---- single claims


def marks():
    """Line numbers by what the marks in the source say."""
    with open(LINES_C, encoding="utf-8") as file:
        return {m: number for number, line in enumerate(file, 1) for m in MARK.findall(line)}


def expected_chains():
    """By the size of a block: its frames up to main."""
    at = marks()
    c, h = "lines.c", "lines.h"
    header = [
        n for n, t in enumerate(open(os.path.join(SOURCES, h), "rb"), 1) if b"return take" in t
    ]
    take = ("take", c, at["take"], False)
    through = [("inner", c, at["inner"], True), ("middle", c, at["middle"], True)]
    return {
        1000: [take, *through, ("outer", c, at["outer 1000"], False)],
        2000: [take, *through, ("outer", c, at["outer 2000"], False)],
        3000: [take, ("from_header", h, header[0], True), ("outer", c, at["outer 3000"], False)],
        4000: [take, ("compare", c, at["compare 4000"], False)],
        5000: [take, ("leave", c, at["leave 5000"], False), ("last", c, at["last 5000"], False)],
        6000: [take, ("next", c, at["next 6000"], False)],
        7000: [take, ("main", c, at["main 7000"], False)],
    }


def short(chain):
    return [(n, f and os.path.basename(f), *rest) for n, f, *rest in chain]


def expect_lines(out, *options, **variables):
    found = {
        r["allocated_bytes"] // r["allocations"] // 1000: r
        for r in stacks(out, *options, **variables)
    }
    for size, chain in expected_chains().items():
        tap.equal(short(frames(found[size // 1000]))[: len(chain)], chain, f"{size} bytes")
    tap.equal(found[7]["allocations"], 3, "allocations of the line in a loop")


def expect_no_lines(out, *options, **variables):
    rows = stacks(out, *options, **variables)
    named = {r["stack"][1] for r in rows}
    assert not any(f[1] and "lines." in f[1] for r in rows for f in frames(r)), rows
    return named


def lines_of_each_block():
    for options in (["-g"], ["-g", "-gdwarf-4"], ["-g", "-gz"], ["-g1"], ["-g", "-no-pie"]):
        with tap.folder() as work, tap.folder() as out:
            record(out, build(work, *options))
            expect_lines(out)


def large_files_are_read():
    """They are mapped, not read."""
    with tap.folder() as work, tap.folder() as out:
        program = build(work, "-g")
        os.truncate(program, 65 << 20)
        record(out, program)
        expect_lines(out)


def forms_of_output():
    at = marks()
    with tap.folder() as work, tap.folder() as out:
        record(out, build(work, "-g"))
        place = f"lines.c:{at['inner']}"
        text, said = tpreport(out)
        tap.equal(said, "", "what is said")
        assert f"  inner ({place}) [inlined]\n" in text, text
        assert f"  outer (lines.c:{at['outer 1000']})\n" in text, text
        folded, _ = tpreport(out, "--format", "folded")
        for line in (
            f";outer (lines.c:{at['outer 2000']});middle (lines.c:{at['middle']})_[i];"
            f"inner ({place})_[i];take (lines.c:{at['take']}) ",
        ):
            assert line in folded, folded
        table = csv.DictReader(io.StringIO(tpreport(out, "--format", "csv")[0]))
        cells = [row["name"].split("\n") for row in table if row["group"] == "stack"]
        assert any(f"inner ({LINES_C}:{at['inner']}) [inlined]" in cell for cell in cells), cells


def profile_has_lines():
    need("go")
    at = marks()
    with tap.folder() as work, tap.folder() as out:
        record(out, build(work, "-g"))
        profile = os.path.join(work, "profile.gz")
        done = tap.run(
            [tap.TPREPORT, "memory", "--format", "pprof", "-o", profile, out],
            tap.clean_environment(),
        )
        if b"built without protobuf-c" in done.stderr:
            raise tap.Skip("no protobuf-c in this build")
        tap.equal((done.returncode, done.stderr), (0, b""), "status and stderr")
        raw = tap.run(
            ["go", "tool", "pprof", "-raw", profile], tap.clean_environment(HOME=work)
        ).stdout.decode()
    locations = raw[raw.index("Locations\n") : raw.index("Mappings\n")]
    one = re.search(
        rf"inner {LINES_C}:{at['inner']}\D.*\n +middle {LINES_C}:{at['middle']}\D.*\n"
        rf" +outer {LINES_C}:{at['outer 1000']}\D",
        locations,
    )
    assert one, raw
    leaves = {line.split()[3] for line in locations.splitlines() if ": 0x" in line}
    assert {"take", "inner", "from_header", "compare", "main"} <= leaves, locations
    assert not {"middle", "outer"} & leaves, locations
    assert re.search(r"^ +1 +1000 .*: \d+ \d+ \d+ ", raw, flags=re.M), raw


def rows_are_by_line():
    """And without lines by function, to the same sums."""
    with tap.folder() as work, tap.folder() as out:
        record(out, build(work, "-g"))
        fine, coarse = stacks(out), stacks(out, "--no-lines")
        assert not any("places" in r for r in coarse), coarse
        sums = collections.Counter()
        for row in fine:
            there = tuple(n for n, *_, inlined in frames(row) if not inlined)
            sums[there] += row["allocated_bytes"]
        of_outer = [s for s in sums if s[:2] == ("take", "outer")]
        tap.equal(len(of_outer), 1, "stacks through outer")
        tap.equal(
            len([r for r in fine if r["stack"][-5:][0] and "outer" in r["stack"]]), 3, "its lines"
        )
        known = {s["stack"][1]: s["allocated_bytes"] for s in coarse}
        for there, size in sums.items():
            tap.equal(known[there[1]], size, f"bytes of {there[1]}")


def no_debug_information_as_before():
    with tap.folder() as work, tap.folder() as out:
        record(out, build(work))
        empty = os.path.join(work, "empty")
        bare = stacks(out, "--no-lines")
        tap.equal(stacks(out, "--debug-dir", empty), bare, "the report")
        tap.equal(
            {"outer", "next", "main"} & {r["stack"][1] for r in bare},
            {"outer", "next", "main"},
            "names",
        )


def nothing_is_opened_without_symbols():
    with tap.folder() as work, tap.folder() as out:
        record(out, build(work, "-g"))
        rows = stacks(out, "--no-symbols")
        assert all(re.match(r"lines\+0x[0-9a-f]+$", r["stack"][0]) for r in rows), rows
        assert not any("places" in r for r in rows), rows


# ---- separate files


def split_off(program, to, *options):
    """The debug information goes to a file of its own."""
    need("objcopy")
    os.makedirs(os.path.dirname(to), exist_ok=True)
    subprocess.run(["objcopy", "--only-keep-debug", *options, program, to], check=True)
    subprocess.run(["objcopy", "--strip-all", program], check=True)


def link(program, to):
    subprocess.run(["objcopy", f"--add-gnu-debuglink={to}", program], check=True)


def build_id(program):
    text = subprocess.run(["readelf", "-n", program], check=True, stdout=subprocess.PIPE).stdout
    return re.search(rb"Build ID: ([0-9a-f]+)", text).group(1).decode()


def by_build_id(folder, program):
    name = build_id(program)
    return os.path.join(folder, ".build-id", name[:2], name[2:] + ".debug")


def separate_files_are_found():
    with tap.folder() as work:
        top = os.path.join(work, "debug")
        for where, linked in (
            (os.path.join(work, "lines.debug"), True),
            (os.path.join(work, ".debug", "lines.debug"), True),
            (os.path.join(top + work, "lines.debug"), True),
            (None, False),
        ):
            with tap.folder() as out:
                program = build(work, "-g")
                to = where or by_build_id(top, program)
                split_off(program, to)
                if linked:
                    link(program, to)
                record(out, program)
                expect_lines(out, "--debug-dir", top)
                os.unlink(to)
                expect_no_lines(out, "--debug-dir", top)


def links_to_separate_files_are_followed():
    """As some distributions make them, in the folder by build id."""
    with tap.folder() as work, tap.folder() as out:
        top, program = os.path.join(work, "debug"), build(work, "-g")
        to, real = by_build_id(top, program), os.path.join(work, "elsewhere")
        split_off(program, real)
        os.makedirs(os.path.dirname(to))
        os.symlink(real, to)
        record(out, program)
        expect_lines(out, "--debug-dir", top)


def other_files_are_refused():
    """A file of another build, and what is no file at all."""
    with tap.folder() as work, tap.folder() as out:
        to, empty = os.path.join(work, "lines.debug"), os.path.join(work, "empty")
        other = build(work, "-g", "-DOTHER", "-O1", name="other")
        program = build(work, "-g")
        split_off(program, to)
        link(program, to)
        split_off(other, to)
        record(out, program)
        _, said = tpreport(out, "--debug-dir", empty)
        assert "1 file whose source lines could not all be read" in said, said
        assert f"{to}: another file than the one that was recorded" in said, said
        expect_no_lines(out, "--debug-dir", empty)
        os.unlink(to)
        os.mkfifo(to)
        expect_no_lines(out, "--debug-dir", empty)


def other_programs_are_refused():
    """Built again since: neither its names nor its lines are those of the recording."""
    with tap.folder() as work, tap.folder() as out:
        record(out, build(work, "-g"))
        build(work, "-g", "-O1")
        _, said = tpreport(out)
        assert "another file than the one that was recorded" in said, said
        named = expect_no_lines(out)
        assert all(n.startswith("lines+0x") for n in named), named


def shared_parts_are_found():
    """dwz moves what several files share to another one; lines are told with it only."""
    need("dwz")
    with tap.folder() as work, tap.folder() as out:
        top, files = os.path.join(work, "debug"), []
        options = {"compiler": "g++", "source": LINES_CPP}
        program = build(work, "-g", **options)
        record(out, program)
        whole = [frames(row) for row in stacks(out, "--debug-dir", top)]
        for one in (program, build(work, "-g", "-O1", name="other", **options)):
            files.append(by_build_id(top, one))
            split_off(one, files[-1])
        shared = os.path.join(work, "shared")
        subprocess.run(["dwz", "-m", shared, "-M", shared, *files], check=True)
        text = subprocess.run(["readelf", "-SW", files[0]], check=True, stdout=subprocess.PIPE)
        assert b".gnu_debugaltlink" in text.stdout, text.stdout
        tap.equal([frames(row) for row in stacks(out, "--debug-dir", top)], whole, "frames")
        os.unlink(shared)
        _, said = tpreport(out, "--debug-dir", top)
        assert f"needs {shared}, which is not there" in said, said
        expect_no_lines(out, "--debug-dir", top)


def parts_elsewhere_are_left_alone():
    """Split units: lines without inlined functions, and the file that they name is not opened."""
    with tap.folder() as work, tap.folder() as out:
        program = build(work, "-g", "-gsplit-dwarf")
        (part,) = [f for f in os.listdir(work) if f.endswith(".dwo")]
        os.unlink(os.path.join(work, part))
        os.mkfifo(os.path.join(work, part))
        record(out, program)
        found = {f[:3] for r in stacks(out) for f in short(frames(r))}
        assert ("next", "lines.c", marks()["next 6000"]) in found, found
        assert not any(f[3] for r in stacks(out) for f in frames(r) if f[1] and "lines" in f[1])


def nobody_is_asked():
    """Of a server of debug information that the environment names."""
    with tap.folder() as work, tap.folder() as out, socket.create_server(
        ("127.0.0.1", 0)
    ) as server:
        asked = []
        server.settimeout(60)

        def wait():
            try:
                asked.append(server.accept())
            except OSError:
                pass

        program = build(work, "-g")
        split_off(program, os.path.join(work, "away"))
        os.unlink(os.path.join(work, "away"))
        record(out, program)
        listener = threading.Thread(target=wait)
        listener.start()
        url = f"http://127.0.0.1:{server.getsockname()[1]}"
        expect_no_lines(out, DEBUGINFOD_URLS=url, DEBUGINFOD_CACHE_PATH=work)
        server.shutdown(socket.SHUT_RDWR)
        listener.join()
        tap.equal(asked, [], "connections")


# ---- damage


def debug_sections(program):
    text = subprocess.run(
        ["readelf", "-SW", program], check=True, stdout=subprocess.PIPE
    ).stdout.decode()
    found = re.findall(r"\] \.debug_\w+ +PROGBITS +\w+ (\w+) (\w+)", text)
    return [(int(offset, 16), int(size, 16)) for offset, size in found if int(size, 16)]


def damage_does_no_harm():
    """Whatever is wrong with debug information: sums stay, and nothing crashes or hangs."""
    seed = random.randrange(1 << 32)
    print(f"# seed {seed}")
    chance = random.Random(seed)
    with tap.folder() as work, tap.folder() as out:
        program = build(work, "-g")
        record(out, program)
        sections = debug_sections(program)
        total = sum(r["allocated_bytes"] for r in stacks(out))
        with open(program, "rb") as file:
            whole = file.read()
        for i in range(120):
            damaged = bytearray(whole)
            offset, size = chance.choice(sections)
            if i % 3 == 0:  # all of a section
                damaged[offset : offset + size] = chance.randbytes(size)
            else:
                for _ in range(1 + i % 5):
                    damaged[offset + chance.randrange(size)] = chance.randrange(256)
            os.unlink(program)
            with open(program, "wb") as file:
                file.write(damaged)
            tap.equal(sum(r["allocated_bytes"] for r in stacks(out)), total, "bytes")


def garbled_sections_are_told():
    with tap.folder() as work, tap.folder() as out:
        program = build(work, "-g")
        record(out, program)
        with open(program, "rb") as file:
            damaged = bytearray(file.read())
        for offset, size in debug_sections(program):
            damaged[offset : offset + size] = b"\xff" * size
        os.unlink(program)
        with open(program, "wb") as file:
            file.write(damaged)
        _, said = tpreport(out)
        assert f"source lines could not all be read, the first: {program}: " in said, said
        tap.equal({"outer", "next", "main"} <= expect_no_lines(out), True, "names")


CHECK = tap.Tap()
CHECK.check("each block's line, and what is inlined around it", lines_of_each_block)
CHECK.check("lines of a large file", large_files_are_read)
for tool in ("addr2line", "llvm-addr2line"):
    for flags in (["-g"], ["-g", "-O3"], ["-g", "-O0"], ["-g", "-gdwarf-4"], ["-g1"]):
        said = f"gcc {' '.join(flags)}: as {tool} tells it"
        CHECK.check(f"C by {said}", agrees_with, tool, *flags)
        CHECK.check(f"C++ by {said}", agrees_with, tool, *flags, compiler="g++", source=LINES_CPP)
    said = f"clang -g: as {tool} tells it"
    CHECK.check(f"C by {said}", agrees_with, tool, "-g", compiler="clang")
# binutils 2.40 misses what clang inlined where a function lies in parts
CHECK.check(f"C++ by {said}", agrees_with, tool, "-g", compiler="clang++", source=LINES_CPP)
CHECK.check("text, folded stacks and CSV", forms_of_output)
CHECK.check("pprof: a location with the lines of what is inlined there", profile_has_lines)
CHECK.check("rows are by line; --no-lines: by function", rows_are_by_line)
CHECK.check("without debug information all is as before", no_debug_information_as_before)
CHECK.check("--no-symbols: no names, no lines", nothing_is_opened_without_symbols)
CHECK.check("separate files, by link and by build id", separate_files_are_found)
CHECK.check("separate files behind symbolic links", links_to_separate_files_are_followed)
CHECK.check("separate files of another build id are refused", other_files_are_refused)
CHECK.check("a program that was built again is refused", other_programs_are_refused)
CHECK.check("what several files share (dwz)", shared_parts_are_found)
CHECK.check("split units: lines alone, nothing else is opened", parts_elsewhere_are_left_alone)
CHECK.check("no server is asked", nobody_is_asked)
CHECK.check("damaged debug information does no harm", damage_does_no_harm)
CHECK.check("garbled debug information is told", garbled_sections_are_told)
CHECK.end()
