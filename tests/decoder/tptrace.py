#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A second reader of recordings, from format.md alone: processes(RECORDING)[0].records()"""
import collections
import ctypes
import json
import pathlib
import struct

SIZE, POINTER, U64 = ctypes.c_size_t, ctypes.c_char_p, ctypes.c_uint64
decompress = ctypes.CDLL("libzstd.so.1").ZSTD_decompress
decompress.restype, decompress.argtypes = SIZE, [POINTER, SIZE, POINTER, SIZE]
xxh3_with_seed = ctypes.CDLL("libxxhash.so.0").XXH3_64bits_withSeed
xxh3_with_seed.restype, xxh3_with_seed.argtypes = U64, [POINTER, SIZE, U64]
MASK56, MASK64 = 2**56 - 1, 2**64 - 1
Kind = collections.namedtuple("Kind", "id name slots role columns")
Column = collections.namedtuple("Column", "id name word shift bits")
Block = collections.namedtuple("Block", """header_size type flags stored size slots track first_slot
                               first_ticks last_ticks lost uuid_low checksum""")
Record = collections.namedtuple("Record", "kind ticks values")
BRIEF = (32, 33)

class Damage(Exception):
    pass

def xxh3(data, seed=0):
    return xxh3_with_seed(data, len(data), seed)

def is_sealed(header):
    """Do the last four bytes hold the checksum of those before?"""
    return xxh3(header[:-4]) & 0xffffffff == int.from_bytes(header[-4:], "little")

def unwrap(ticks, near):
    """The full count nearest to near whose low 56 bits are ticks."""
    apart = (ticks - near) & (2**56 - 1)
    return (near + apart - (2**56 if apart >= 2**55 else 0)) & MASK64

def kind_of_schema(kind):
    columns = [Column(*(column[key] for key in Column._fields)) for column in kind["columns"]]
    return Kind(kind["id"], kind["name"], kind["slots"], kind.get("role"), columns)

class Bytes:
    def __init__(self, data):
        self.data, self.at = data, 0

    def take(self, size):
        if size > len(self.data) - self.at:
            raise Damage("payload is cut")
        self.at += size
        return self.data[self.at - size:self.at]

    def u8(self):
        return self.take(1)[0]

    def varint(self):
        value = 0
        for shift in range(0, 70, 7):
            byte = self.u8()
            value |= (byte & 0x7f) << shift
            if byte < 0x80:
                return value if value <= MASK64 else self.take(len(self.data) + 1)
        raise Damage("varint is too long")

    def many(self, count, planes):
        if not planes:
            return [self.varint() for _ in range(count)]
        planes = [self.take(count) for _ in range(self.u8())]
        return [sum(plane[i] << 8 * k for k, plane in enumerate(planes)) for i in range(count)]

def column_values(encoding, data, count):
    if encoding == 0:
        values = [data.varint()] * count
    elif encoding in (1, 6):
        shift = data.u8()
        values = [value << shift for value in data.many(count, encoding == 6)]
    elif encoding in (2, 7):
        shift, values = data.u8(), [data.varint()]
        for zigzag in data.many(count - 1, encoding == 7):
            values.append((values[-1] + ((zigzag >> 1 ^ -(zigzag & 1)) << shift)) & MASK64)
    elif encoding == 3:
        values = []
        while len(values) < count:
            values += [data.varint()] * (min(data.varint(), count + 1) or count + 1)
    elif encoding == 4:
        width = data.u8()
        values = [int.from_bytes(data.take(width), "little") for _ in range(count)]
    elif encoding == 8:
        shift, least, low = data.u8(), data.varint(), data.u8()
        bits = int.from_bytes(data.take((count * low + 7) // 8), "little")
        values = [least + ((high << low | bits >> i * low & (1 << low) - 1) << shift) & MASK64
                  for i, high in enumerate(data.many(count, True))]
    else:
        raise Damage("encoding %d" % encoding)
    if data.at != len(data.data) or len(values) != count:
        raise Damage("column of another length")
    return values

def read_group(payload):
    kind, count, columns = payload.u8(), payload.varint(), {}
    for _ in range(payload.u8()):
        ident, encoding, size = payload.u8(), payload.u8(), payload.varint()
        if ident in columns:
            raise Damage("column twice")
        columns[ident] = (encoding, Bytes(payload.take(size)))
    return kind, count, columns

def group_values(kind, columns, count):
    """One dict of values a record."""
    rows = [{} for _ in range(count)]
    for column in kind.columns:
        found = columns.get(column.id) if count else None
        values = column_values(*found, count) if found else [0] * count
        for row, value in zip(rows, values):
            if value >> column.bits:
                raise Damage("value is too wide")
            row[column.name] = value
    return rows

class Heap:
    """What the section of allocations leaves to be found out."""
    def __init__(self, payload):
        self.columns, self.allocated, self.freed, self.seats, self.empty = {}, [], [], [], []
        self.pools, self.next, self.behind = collections.defaultdict(list), {}, 0
        for _ in range(payload.u8()):
            count, ident, encoding, size = (payload.varint(), payload.u8(), payload.u8(),
                                            payload.varint())
            data = Bytes(payload.take(size))
            if ident in self.columns or not count:
                raise Damage("column twice or empty")
            if ident in range(1, 13):
                self.columns[ident] = column_values(encoding, data, count)[::-1]

    def get(self, ident):
        if not self.columns.get(ident):
            raise Damage("column %d of allocations is short" % ident)
        return self.columns[ident].pop()

    def reused(self, place, size):
        older = self.pools[size]
        back = self.get(7) if place == 1 else place - 3
        numbers = range(len(self.freed)) if place == 1 else older
        if not 1 <= back <= len(numbers):
            raise Damage("place of an allocation")
        number = numbers[-back]
        address, bytes_then = self.freed[number]
        if number not in self.pools[bytes_then]:
            raise Damage("freed block taken twice")
        self.pools[bytes_then].remove(number)
        return address

    def alloc(self):
        place, asked, zigzag = self.get(3), self.get(9), self.get(11)
        usual = 24 - asked if asked <= 24 else 15 - (asked + 7 & 15)
        slack = (zigzag >> 1 ^ -(zigzag & 1)) + usual & 2**48 - 1
        size = asked + slack & MASK64
        if place >= 20 or zigzag >> 48:
            raise Damage("place or slack of an allocation")
        if place in (0, 2, 3):
            address = self.get(5) if not place else self.behind if place == 2 else (
                self.next.get(size, 0))
            self.next[size], self.behind = address + size & MASK64, address + size + 8 & MASK64
        else:
            address = self.reused(place, size)
        seat = self.empty.pop() if self.empty else len(self.seats)
        self.seats[seat:seat + 1] = [len(self.allocated)]
        self.allocated.append((address, size, seat))
        return {"address": address, "bytes": size, "slack": slack}

    def free(self):
        place = self.get(4)
        if place:
            seat = self.get(8) if place == 255 else 0
            if place > 255 or seat >= len(self.seats) or (
                    place < 255 and place > len(self.allocated)):
                raise Damage("place of a free")
            address, size, seat = self.allocated[self.seats[seat] if place == 255 else -place]
            self.empty.append(seat)
        else:
            address, size = self.get(6), self.get(10)
        self.pools[size].append(len(self.freed))
        self.freed.append((address, size))
        return {"address": address, "bytes": size}

def restore_allocations(rows, heap, has_brief):
    """Puts back what was taken off the rows. Returns how many were brief."""
    ticks = calls = allocated = freed = briefs = 0
    brief = heap.get(12) if has_brief else 0
    for row in rows:
        if row["kind"] in (30, 31):
            is_alloc = row["kind"] == 30
            if row["address"] or is_alloc and (row["bytes"] or row["slack"]):
                raise Damage("address or size twice")
            if brief:
                brief, briefs, row["flags"] = brief - 1, briefs + 1, row["flags"] | 4
            else:
                ticks += heap.get(1 if is_alloc else 2)
                brief = heap.get(12) if has_brief else 0
            found = heap.alloc() if is_alloc else heap.free()
            calls, allocated = calls + is_alloc, allocated + is_alloc * found["bytes"]
            freed += (not is_alloc) * found["bytes"]
            row.update((key, found[key]) for key in found if key in row)
        row["ticks"] = row["ticks"] + ticks & 2**56 - 1
        row["alloc_calls"] = row["alloc_calls"] + calls & 2**32 - 1
        row["allocated_bytes"] = row["allocated_bytes"] + allocated & MASK64
        row["freed_bytes"] = row["freed_bytes"] + freed & MASK64
    if brief or any(heap.columns.values()):
        raise Damage("allocations left over")
    return briefs

def read_section(payload, kinds, ticks, with_allocations=False, has_brief=False):
    """The records of known kinds, how many others, and the slots of the known ones."""
    count, groups = payload.varint(), payload.varint()
    number, group_count, columns = read_group(payload)
    if number or group_count != count:
        raise Damage("first group")
    rows, further, briefs = group_values(kinds[0], columns, count), {}, 0
    if any(row["kind"] in BRIEF for row in rows):
        raise Damage("kind of rings")
    for _ in range(groups - 1):
        number, group_count, columns = read_group(payload)
        if number in further or not number:
            raise Damage("group twice")
        further[number] = group_count, columns
    for number in set(kinds) - {0}:
        mine = [row for row in rows if row["kind"] == number]
        group_count, columns = further.get(number, (len(mine), {}))
        if group_count != len(mine):
            raise Damage("records of a group")
        for row, more in zip(mine, group_values(kinds[number], columns, len(mine))):
            row.update(more)
    if with_allocations:
        briefs = restore_allocations(rows, Heap(payload), has_brief)
    records = []
    for row in rows:
        kind, ticks = kinds.get(row.pop("kind") or None), unwrap(row.pop("ticks"), ticks)
        if kind:
            records.append(Record(kind, ticks, row))
    return records, count - len(records), sum(record.kind.slots for record in records) - briefs

def read_block_header(data, at):
    """A block's header if there is a good one."""
    if len(data) - at < 64 or data[at:at + 4] != b"TPB1":
        return None
    block = Block(*struct.unpack_from("<HBBIIIIQQQIII", data, at + 4))
    sane = block.header_size in range(64, 1 << 16, 8) and max(block.size, block.stored) <= 1 << 24
    return block if sane and is_sealed(data[at:at + 64]) else None

def end_of(at, block):
    return at + block.header_size + block.stored

def read_block(data, at, block, kinds):
    stored = data[at + block.header_size:end_of(at, block)]
    if xxh3(stored) & 0xffffffff != block.checksum or block.flags > 15:
        raise Damage("block at byte %d: checksum or flags" % at)
    if block.flags & 1:
        room = ctypes.create_string_buffer(max(block.size, 1))
        if decompress(room, block.size, stored, len(stored)) != block.size:
            raise Damage("block at byte %d: zstd" % at)
        stored = room.raw[:block.size]
    if block.flags & 12 == 8:
        raise Damage("block at byte %d: no section of allocations" % at)
    payload = Bytes(stored)
    open_records, open_unknown, _ = read_section(payload, kinds, block.first_ticks)
    records, unknown, slots = read_section(payload, kinds, block.first_ticks, block.flags & 4,
                                           block.flags & 8)
    fits = slots + unknown <= block.slots if unknown else slots == block.slots
    if payload.at != len(stored) or not fits:
        raise Damage("block at byte %d: slots" % at)
    return open_records, records, open_unknown + unknown

def read_file_header(data, magic):
    if data[:8] != magic:
        raise Damage("not a file of this kind")
    if len(data) < 64 or not is_sealed(data[:64]):
        raise Damage("file header is damaged")
    major, minor, size, _, uuid, number = struct.unpack_from("<HHHH16sI", data, 8)
    if major != 1:
        raise Damage("format version %d.%d, this reader knows 1.x" % (major, minor))
    return minor, size, uuid, number

def walk(data, at, uuid):
    """(offset, block); (offset, None) is damage, (offset, "torn") the last block, cut."""
    def is_ours(block):
        return block and block.uuid_low == struct.unpack_from("<I", uuid)[0]

    def whole(at):
        block = read_block_header(data, at)
        return block if is_ours(block) and end_of(at, block) <= len(data) else None

    while at < len(data) and not (len(data) - at == 16 and data[at + 8:] == b"TPTRAIL\n"):
        block, start = whole(at), at
        if block:
            at = (end_of(at, block) + 7) // 8 * 8
            yield start, block
            continue
        header = read_block_header(data, at)
        at = next((there for there in range(at + 8, len(data), 8) if whole(there)), len(data))
        cut = at == len(data) and (len(data) - start < 64 or is_ours(header))
        yield start, "torn" if cut else None

def read_name(data, at):
    ident, kind, flags, zero, length, stored = struct.unpack_from("<IBBHII", data, at)
    if not 16 <= ident < 16 + 2**20 or not kind or zero or length > min(65536, len(data) - at - 16):
        return None
    name = data[at + 16:at + 16 + length]
    found = xxh3(name, xxh3(data[at:at + 12])) & 0xffffffff or 1
    return (ident, (kind, flags, name)) if stored == found else None

def read_names(data):
    """Names by id: (kind, flags, bytes); how many places are damaged."""
    _, at, _, _ = read_file_header(data, b"TPNAMES\n")
    end, damaged, good = len(data.rstrip(b"\0")) + 16, 0, True
    names = {1: (1, 0, b"(no room for name)"), 2: (1, 0, b"(too many names)")}
    while at + 16 <= len(data) and at < end:
        found = read_name(data, at)
        damaged += found[0] in names if found else good and any(data[at:])
        good = bool(found)
        if found:
            names.setdefault(*found)
        at += 16 + (len(found[1][2]) + 7) // 8 * 8 if found else 8
    return names, damaged

class Ring:
    def __init__(self, data):
        if len(data) < 4096 or data[:10] != b"TPRING1\0\1\0" or not is_sealed(data[:128]):
            raise Damage("no ring, a damaged one, or one of another version")
        (self.count, self.track, self.tid, self.first, self.head, self.dropped,
         self.tail) = struct.unpack_from("<I88xIIQ112xQQ112xQ", data, 36)
        self.data = data
        if self.track == 0xffffffff:
            self.head = self.tail = self.first = 0
        in_order = self.first <= self.tail <= self.head <= self.tail + self.count
        if len(data) < 4096 + 32 * self.count or not in_order:
            raise Damage("ring is damaged")

    def slot(self, number):
        return struct.unpack_from("<4Q", self.data, 4096 + 32 * (number % self.count))

    def before(self, kinds, number):
        """What was before the records from number on, as far as they tell."""
        calls = allocated = freed = 0
        for number in range(number, self.head):
            word, kind = self.slot(number)[0], kinds.get(self.slot(number)[0] >> 56)
            if not kind or not kind.id or number + kind.slots > self.head:
                break
            if kind.id not in BRIEF:
                is_alloc = kind.id == 30
                allocated += self.slot(number + 1)[1] if is_alloc else 0
                ticks, word1, word2, word3 = self.slot(number)
                return (ticks & MASK56, (word1 >> 32) - calls - is_alloc & 2**32 - 1,
                        word2 - allocated & MASK64, word3 - freed & MASK64)
            calls, allocated, freed = (calls + (kind.id == 32),
                                       allocated + (kind.id == 32) * (word & MASK56),
                                       freed + (kind.id == 33) * (word & MASK56))
        return 0, 0, 0, 0

    def records(self, kinds, covered, ticks):
        """covered: of each block the first slot, the one behind, and the last record's counters."""
        number, last = self.tail, None
        while number < self.head:
            number, last = behind(covered, number, last)
            if number >= self.head:
                break
            kind = kinds.get(self.slot(number)[0] >> 56)
            if not kind or not kind.id or number + kind.slots > self.head:
                raise Damage("damaged slot %d" % number)
            words = [word for i in range(kind.slots) for word in self.slot(number + i)]
            number += kind.slots
            if kind.id in BRIEF:
                words = expand(words, last or self.before(kinds, number - 1))
                kind = kinds[words[0] >> 56]
            last = words[0] & MASK56, words[1] >> 32, words[2], words[3]
            values = {column.name: words[column.word] >> column.shift & (1 << column.bits) - 1
                      for column in kinds[0].columns + kind.columns}
            ticks, _ = unwrap(values.pop("ticks"), ticks), values.pop("kind")
            yield Record(kind, ticks, values)

def expand(brief, before):
    """The words of the record that a brief one stands for."""
    ticks, calls, allocated, freed = before
    size, flags, slack = brief[0] & MASK56, brief[3] >> 48 & 255 | 4, brief[3] & 2**48 - 1
    if brief[0] >> 56 == 32:
        return [30 << 56 | ticks, (calls + 1 << 32 | brief[1] & 2**32 - 1) & MASK64,
                allocated + size & MASK64, freed, brief[2], size, flags << 48 | slack, 0]
    return [31 << 56 | ticks, calls << 32, allocated, freed + size & MASK64, brief[2], flags, 0, 0]

def behind(covered, number, last):
    """The first slot from number on that no block covers; the counters before it."""
    for start, end, block_last in sorted(covered, key=lambda block: block[:2]):
        if start <= number <= end:
            number, last = end, block_last
    return number, last

class Process:
    """One process's directory. What cannot be read is in .damage, a list of texts."""
    def __init__(self, directory):
        self.directory, self.damage = pathlib.Path(directory), []
        self.covered, self.last_ticks = collections.defaultdict(list), collections.defaultdict(int)
        lines = (self.directory / "meta.jsonl").read_text().split("\n")[:-1]
        self.meta = [json.loads(line) for line in lines]
        schema = next(line for line in self.meta if line["t"] == "schema")
        self.kinds = {kind["id"]: kind_of_schema(kind) for kind in schema["kinds"]}
        self.names, self.damaged_names = read_names((self.directory / "names.tpn").read_bytes())

    def name(self, ident):
        name = self.names.get(ident, (0, 0, b"<name %d>" % ident))[2]
        return name.decode(errors="replace")

    def blocks(self, path):
        """(offset, block, open records, records, unknown) for each events block of a segment."""
        data = path.read_bytes()
        _, size, uuid, _ = read_file_header(data, b"TPTRACE\n")
        for at, block in walk(data, size, uuid):
            try:
                if not isinstance(block, Block):
                    raise Damage("%s at byte %d" % (block or "damaged", at))
                if block.type == 1:
                    found = read_block(data, at, block, self.kinds)
                    yield (at, block) + found
                    self.note(block, found[1])
            except Damage as damage:
                self.damage.append("%s: %s" % (path.name, damage))

    def note(self, block, records):
        last = records and (records[-1].ticks & MASK56,) + tuple(
            records[-1].values[name] for name in ("alloc_calls", "allocated_bytes", "freed_bytes"))
        self.covered[block.track].append((block.first_slot, block.first_slot + block.slots, last))
        self.last_ticks[block.track] = block.last_ticks

    def ring(self, path):
        ring = Ring(path.read_bytes())
        return ring, ring.records(self.kinds, self.covered[ring.track], self.last_ticks[ring.track])

    def records(self):
        """(track, record) of all blocks, then of what only the rings hold."""
        for path in sorted(self.directory.glob("*.tpt")):
            for _, block, _, records, _ in self.blocks(path):
                yield from ((block.track, record) for record in records)
        rings = map(self.ring, self.directory.glob("ring/*.tpr"))
        for ring, records in sorted(rings, key=lambda pair: pair[0].first):
            yield from ((ring.track, record) for record in records)

def processes(recording):
    return [Process(path.parent) for path in sorted(pathlib.Path(recording).glob("*/*/meta.jsonl"))]
