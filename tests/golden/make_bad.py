#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Makes the files in bad/ from those in v1/, when a kind of damage is added.

make_bad.py
"""

import pathlib
import struct
import sys

here = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(here.parent / "decoder"))
import tptrace  # noqa: E402


def seal(data, end):
    checksum = tptrace.xxh3(data[: end - 4]) & 0xFFFFFFFF
    return data[: end - 4] + struct.pack("<I", checksum) + data[end:]


def change(data, at, new):
    return data[:at] + new + data[at + len(new) :]


def flip(data, at):
    return change(data, at, bytes([data[at] ^ 1]))


def with_payload(data, payload):
    """The smallest segment with another payload, stored plainly, under good checksums."""
    header = change(data[64:128], 8, struct.pack("<II", len(payload), len(payload)))
    header = change(header, 56, struct.pack("<I", tptrace.xxh3(payload) & 0xFFFFFFFF))
    return data[:64] + seal(header, 64) + payload + bytes(-len(payload) % 8)


def main():
    segment = (here / "v1/smallest.tpt").read_bytes()
    process = next((here / "v1/recording").glob("*/*/names.tpn")).parent
    names = (process / "names.tpn").read_bytes()
    ring = (process / "ring/0.tpr").read_bytes()
    payload = segment[128 : 128 + 54]
    block = segment[64:128]
    wide = payload.replace(b"\1\4\3\1\4\6", b"\1\4\5\2\4\0\6\1")
    large = change(block, 7, b"\1" + struct.pack("<II", 54, 1 << 25))
    bad = {
        "empty.tpt": b"",
        "foreign.tpt": b"\x7fELF\x02\x01\x01" + bytes(57),
        "header_cut.tpt": segment[:40],
        "header_flipped.tpt": flip(segment, 33),
        "newer_major.tpt": seal(change(segment, 8, struct.pack("<HH", 2, 1)), 64),
        "block_cut.tpt": segment[:150],
        "block_header_flipped.tpt": flip(segment, 64 + 17),
        "payload_flipped.tpt": flip(segment, 140),
        "payload_cut.tpt": with_payload(segment, payload[:-1]),
        "payload_longer.tpt": with_payload(segment, payload + b"\0"),
        "kind_too_wide.tpt": with_payload(segment, wide),
        "block_of_another_process.tpt": segment[:64] + seal(flip(block, 52), 64) + segment[128:],
        "later_flags.tpt": segment[:64] + seal(change(block, 7, b"\x10"), 64) + segment[128:],
        "brief_alone.tpt": segment[:64] + seal(change(block, 7, b"\x08"), 64) + segment[128:],
        "no_allocations.tpt": segment[:64] + seal(change(block, 7, b"\x04"), 64) + segment[128:],
        "too_large.tpt": segment[:64] + seal(large, 64) + segment[128:],
        "foreign.tpn": segment,
        "newer_major.tpn": seal(change(names, 8, struct.pack("<H", 9)), 64),
        "foreign.tpr": names,
        "cut.tpr": ring[:4095],
        "flipped.tpr": flip(ring[:4096], 37),
    }
    for name, data in bad.items():
        (here / "bad" / name).write_bytes(data)


if __name__ == "__main__":
    main()
