# SPDX-License-Identifier: MIT
"""Allocates blocks of sizes of their own, each in a Python stack of its own."""

import asyncio
import ctypes
import os
import sys
import threading

libc = ctypes.CDLL(None)  # its calls let go of the interpreter's lock
libc.malloc.restype = ctypes.c_void_p
held = ctypes.PyDLL(None)  # and these hold it
held.malloc.restype = ctypes.c_void_p
CALLBACK = ctypes.CFUNCTYPE(None)


def take(size):
    libc.malloc(size)


class Model:
    def forward(self):
        take(1 << 20)

    def steps(self):
        held.malloc(2 << 20)
        yield 2
        held.malloc(3 << 20)
        yield 3


def höhe(n):
    if n:
        höhe(n - 1)
    else:
        held.malloc(4 << 20)


async def inner():
    take(5 << 20)


async def outer():
    await inner()


def key(value):
    take(6 << 20)
    return value


def by_callback():
    take(7 << 20)


class Last:
    def __del__(self):
        held.malloc(8 << 20)


def main():
    Model().forward()
    for _ in Model().steps():
        pass
    höhe(3)
    asyncio.run(outer())
    sorted([1], key=key)
    callback = CALLBACK(by_callback)
    ctypes.cast(callback, CALLBACK)()
    thread = threading.Thread(target=lambda: take(9 << 20))
    thread.start()
    thread.join()
    last = Last()
    del last
    # one after the other in the same memory: names, places and sizes take turns
    for i in range(100, 300):
        scope = {"held": held}
        exec(f"def made{i}():\n    held.malloc({(10 << 20) + i})\nmade{i}()", scope)
    # a file's name that is no UTF-8
    code = compile("held.malloc(12 << 20)", os.fsdecode(b"/odd\xff/\xc3\xa9.py"), "exec")
    exec(code, {"held": held})


def at_the_end():
    """Threads that go on allocating while the interpreter goes."""

    def work():
        while True:
            libc.malloc_usable_size(None)
            libc.free(ctypes.c_void_p(libc.malloc(100)))

    for _ in range(4):
        threading.Thread(target=work, daemon=True).start()
    [bytes(600) for _ in range(10000)]


if __name__ == "__main__":
    at_the_end() if sys.argv[1:] == ["end"] else main()
