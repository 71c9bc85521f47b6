# SPDX-License-Identifier: MIT
"""A second reader of running summaries, from format.md alone."""

import collections
import pathlib
import struct

from tptrace import Bytes, Damage, MASK64, end_of, is_sealed, read_block_header, xxh3

TOTALS = """segments blocks slots missing_segments missing_blocks missing_slots missing_ranges
            missing_records without_sketch crowded first_ticks last_ticks ranges folded filtered
            ends_without_begin too_deep lost_records device_memory""".split()
Row = collections.namedtuple(
    "Row",
    """record count ticks self_ticks memory self_memory device
                             self_device least most first_start first_end has_parent buckets""",
)
Track = collections.namedtuple("Track", "track next_slot ticks words device_bytes skipped frames")
Frame = collections.namedtuple("Frame", "record start device_start kids held")
Half = collections.namedtuple("Half", "record ticks track")
Path = collections.namedtuple("Path", "of parent row track frame own_ticks below_ticks")
Summary = collections.namedtuple(
    "Summary",
    """first_segment totals kinds last rows tracks halves
                                     credits paths calls works without_launch""",
)
ENDED, OPEN, HELD = range(3)


class Payload(Bytes):
    def __init__(self, data, slots):
        super().__init__(data)
        self.slots = slots  # by kind

    def signed(self):
        value = self.varint()
        value = (value >> 1) ^ (MASK64 if value & 1 else 0)
        return value - 2**64 if value >> 63 else value

    def flag(self):
        value = self.u8()
        if value > 1:
            raise Damage("flag")
        return bool(value)

    def record(self):
        words = struct.unpack("<4Q", self.take(32))
        more = 32 * (self.slots[words[0] >> 56] - 1)
        return words + struct.unpack("<%dQ" % (more // 8), self.take(more))

    def many_of(self, read):
        return [read() for _ in range(self.varint())]

    def row(self):
        record, count, ticks = self.record(), self.varint(), self.varint()
        sums = [self.signed() for _ in range(5)] + [self.varint() for _ in range(4)]
        has_parent, buckets, bucket = self.flag(), {}, 0
        for _ in range(self.varint()):
            bucket += self.varint()
            buckets[bucket] = self.varint()
        return Row(record, count, ticks, *sums, has_parent, buckets)

    def kids(self):
        return self.varint(), self.signed(), self.signed(), self.varint()

    def held(self):
        record, start, end = self.record(), self.varint(), self.varint()
        return record, start, end, self.signed(), self.signed(), self.kids()

    def frame(self):
        start = self.record(), self.varint(), self.signed(), self.kids()
        return Frame(*start, self.held() if self.flag() else None)

    def track(self):
        start = self.varint(), self.varint(), self.varint()
        words = [self.varint() for _ in range(3)]
        device_bytes = self.signed()
        skipped = [self.varint() for _ in range(self.u8())]
        return Track(*start, words, device_bytes, skipped, self.many_of(self.frame))

    def half(self):
        return Half(self.record(), self.varint(), self.varint())

    def path(self):
        of = self.u8()
        if of == ENDED:
            return Path(of, self.varint(), self.varint(), None, None, 0, 0)
        if of > HELD:
            raise Damage("path")
        return Path(of, None, None, *(self.varint() for _ in range(4)))

    def by_ids(self, read):
        """Of each id, which is told as the difference to the one before."""
        found, id_ = {}, 0
        for _ in range(self.varint()):
            id_ = (id_ + self.varint()) % 2**32
            if id_ in found:
                raise Damage("id")
            found[id_] = read()
        return found

    def call(self):
        value = self.varint()
        return value >> 1, bool(value & 1)

    def launches(self):
        """(total, own) by row, paths, (path, saw_work) by id, (works, ticks) by id, given up."""
        credits_ = {}
        for _ in range(self.varint()):
            row = self.varint()
            credits_[row] = self.varint(), self.varint()
        paths = self.many_of(self.path)
        calls = self.by_ids(self.call)
        works = self.by_ids(lambda: (self.varint(), self.varint()))
        return credits_, paths, calls, works, (self.varint(), self.varint())


def check_launches(summary):
    """Paths come behind those above them, and are of what is there."""
    for row, (total, own) in summary.credits.items():
        if not 1 <= row <= len(summary.rows) or own > total:
            raise Damage("credit")
    for number, path in enumerate(summary.paths):
        if path.of == ENDED:
            if path.parent > number or not 1 <= path.row <= len(summary.rows):
                raise Damage("path")
            continue
        frame = summary.tracks[path.track].frames[path.frame]
        if path.of == HELD and not frame.held:
            raise Damage("path of no child")
    if any(path > len(summary.paths) for path, _ in summary.calls.values()):
        raise Damage("call")


def read(path, slots):
    """slots: how many a record has, by kind."""
    data = pathlib.Path(path).read_bytes()
    magic, major, _, size = struct.unpack_from("<8sHHH", data)
    if magic != b"TPSUMRY\n" or major != 1 or not is_sealed(data[:64]):
        raise Damage("file header")
    (first_segment,) = struct.unpack_from("<I", data, 32)
    block = read_block_header(data, size)
    stored = data[size + block.header_size : size + block.header_size + block.stored]
    if block.type != 5 or block.flags or (end_of(size, block) + 7) // 8 * 8 != len(data):
        raise Damage("block")
    if xxh3(stored) & 0xFFFFFFFF != block.checksum:
        raise Damage("payload's checksum")
    payload = Payload(stored, slots)
    totals = {name: payload.varint() for name in TOTALS}
    kinds = dict((payload.u8(), payload.varint()) for _ in range(payload.varint()))
    last = payload.varint(), payload.varint(), payload.varint(), payload.flag()
    lists = [payload.many_of(read) for read in (payload.row, payload.track, payload.half)]
    launches = payload.launches() if payload.at < len(stored) else ({}, [], {}, {}, (0, 0))
    if payload.at != len(stored):
        raise Damage("bytes left over")
    summary = Summary(first_segment, totals, kinds, last, *lists, *launches)
    check_launches(summary)
    return summary
