# SPDX-License-Identifier: MIT
"""File systems of a few KiB."""

import contextlib
import subprocess

import tap


@contextlib.contextmanager
def mounted(size):
    """A folder that is a file system of @size (as 64k, 4m) of its own."""
    with tap.folder() as place:
        options = f"size={size},mode=1777"
        mount = ["mount", "-t", "tmpfs", "-o", options, "tmpfs", place]
        if subprocess.run(mount, capture_output=True).returncode:
            raise tap.Skip("no file system may be mounted here")
        try:
            yield place
        finally:
            subprocess.run(["umount", "-l", place], check=True)


def fill(place):
    with open(place + "/filler", "wb", buffering=0) as file, contextlib.suppress(OSError):
        while True:
            file.write(bytes(4096))
