# SPDX-License-Identifier: MIT
"""Who includes whom: a file may include only headers of the layers below it."""

import os
import re

import lint

# Folder -> folders whose headers its files may include, besides its own. The longest match counts.
LAYERS = {
    "runtime/base": [],
    "runtime/event": ["runtime/base"],
    "runtime/ring": ["runtime/base", "runtime/event"],
    "runtime/trace": ["runtime/base", "runtime/event"],
    "agent": ["runtime/base", "runtime/event", "runtime/ring", "runtime/trace", "agent/source"],
    "agent/source": ["agent", "runtime/base", "runtime/event", "runtime/ring", "runtime/trace"],
    "tools/tpreport/model": ["runtime/base", "runtime/event"],
    "tools/tpreport/input": [
        "tools/tpreport/model",
        "runtime/base",
        "runtime/event",
        "runtime/ring",
        "runtime/trace",
    ],
    "tools/tpreport/view": ["tools/tpreport/model", "tools/tpreport", "runtime/base"],
    "tools/tpreport": [
        "tools/tpreport/input",
        "tools/tpreport/model",
        "tools/tpreport/view",
        "runtime/base",
        "runtime/event",
        "runtime/ring",
        "runtime/trace",
    ],
}
# What views may know of tpreport's top folder.
COLUMNS = re.compile(r"tools/tpreport/(\w+_)?columns\.(h|def)")
SEARCH = ["runtime", "agent", "tools/tpreport", "tools", ""]
INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"', re.MULTILINE)
IO_CALL = re.compile(
    r"(?<![\w.>])(f?printf|fopen|fread|fwrite|fputs|puts|open|read|write|mmap)\s*\("
)


def layer_of(path):
    folder = os.path.dirname(path)
    while folder and folder not in LAYERS:
        folder = os.path.dirname(folder)
    return folder


def resolve(path, name):
    """The included file as a path from the root; None when it is nowhere."""
    for folder in [os.path.dirname(path)] + SEARCH:
        candidate = os.path.normpath(os.path.join(folder, name))
        if os.path.isfile(os.path.join(lint.ROOT, candidate)):
            return candidate
    return None


def room(path):
    """agent/source/NAME/... -> NAME."""
    parts = path.split("/")
    return parts[2] if parts[:2] == ["agent", "source"] and len(parts) > 3 else None


def verdict(path, target):
    """Why the include is not allowed, or None."""
    layer, other = layer_of(path), layer_of(target)
    if room(path) and room(target) and room(path) != room(target):
        return "a source must not know another source"
    if (
        layer == "tools/tpreport/view"
        and other == "tools/tpreport"
        and not COLUMNS.fullmatch(target)
    ):
        return "a view may include only the model's headers and columns"
    if other == layer or other in LAYERS[layer]:
        return None
    return f"{layer} must not include {other or 'this'}"


def problems(layer):
    for path in lint.files(".c", ".h", ".cpp", under=["runtime/", "agent/", "tools/"]):
        if layer_of(path) != layer:
            continue
        for name in INCLUDE.findall(lint.read(path)):
            target = resolve(path, name)
            if not target:
                yield f'{path}: includes "{name}", which is nowhere in the tree'
                continue
            why = verdict(path, target)
            if why:
                yield f'{path}: includes "{name}": {why}'


def homeless():
    for path in lint.files(".c", ".h", ".cpp", under=["runtime/", "agent/", "tools/"]):
        if not layer_of(path):
            yield f"{path}: its folder is in no layer of tests/lint/layers.py"


def model_io():
    for path in lint.files(".c", ".h", under=["tools/tpreport/model/"]):
        for number, line in enumerate(lint.read(path).split("\n"), 1):
            if IO_CALL.search(line) and not line.lstrip().startswith(("*", "/*")):
                yield f"{path}:{number}: the model does no input or output: {line.strip()}"


for each in LAYERS:
    lint.check(f"{each} includes only layers below it", problems(each))
lint.check("every file is in a layer", homeless())
lint.check("the model does no input or output", model_io())
lint.done()
