#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Makes first inputs for the fuzzers from the golden recording.

    make_seeds.py CORPUS_DIR
"""
import pathlib
import struct
import sys

root = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(root / "decoder"))
import tptrace  # noqa: E402


def payloads(path):
    data = path.read_bytes()
    _, size, uuid, _ = tptrace.read_file_header(data, b"TPTRACE\n")
    for at, block in tptrace.walk(data, size, uuid):
        if isinstance(block, tptrace.Block) and block.type == 1:
            stored = data[at + 64:at + 64 + block.stored]
            room = tptrace.ctypes.create_string_buffer(block.size)
            if block.flags & 1:
                tptrace.decompress(room, block.size, stored, len(stored))
                stored = room.raw
            yield data[at:at + 64 + block.stored], block.slots, stored, block.flags >> 2 & 3


def main():
    corpus = pathlib.Path(sys.argv[1])
    process = next((root / "golden/v1/recording").glob("*/*/meta.jsonl")).parent
    seeds = {"block_decode": [], "segment": [], "names": [], "ring_remains": []}
    for path in sorted((root / "golden/v1").glob("**/*.tpt")):
        seeds["segment"] += [b"\1" + path.read_bytes(), b"\0" + path.read_bytes()]
        for block, slots, payload, allocations in payloads(path):
            slots = struct.pack("<I", slots)[:3]
            first = {0: 0, 1: 3, 3: 6}[allocations]
            plain, compressed = bytes([first + 1]), bytes([first + 2])
            seeds["block_decode"] += [b"\0" + block, plain + slots + payload,
                                      compressed + slots + payload]
    names = (process / "names.tpn").read_bytes()[64:]
    seeds["names"] += [b"\0" + names, b"\1" + names]
    ring = (process / "ring/0.tpr").read_bytes()
    head, tail = (struct.unpack_from("<Q", ring, at)[0] for at in (256, 384))
    slots = bytes(ring[4096:4096 + 40 * 32])
    seeds["ring_remains"] += [
        struct.pack("<BIQQQQI", 1, 0, 0, tail, head, 0, 0) + slots,
        struct.pack("<BIQQQQI", 3, 0, 0, 0, 0, 200, 0) + slots,
        b"\0" + ring[:4200],
    ]
    for target, inputs in seeds.items():
        (corpus / target).mkdir(parents=True, exist_ok=True)
        for number, data in enumerate(inputs):
            (corpus / target / ("seed_%02d" % number)).write_bytes(data)


if __name__ == "__main__":
    main()
