#!/bin/sh
# SPDX-License-Identifier: MIT
# Builds the observer for one torch: build.sh PYTHON OUTPUT
# NDEBUG matters: without it RecordFunction gets a member that the installed torch does not have.
set -e
here=$(cd "$(dirname "$0")" && pwd)
facts=$("$1" - <<'P'
import os
import torch
from torch.utils import cpp_extension

version = tuple(int(x) for x in torch.__version__.split(".")[:2])
standard = 14 if version < (2, 1) else 17 if version < (2, 13) else 20
paths = cpp_extension.include_paths()
header = next(
    h for h in (os.path.join(p, "ATen/record_function.h") for p in paths) if os.path.exists(h)
)
overloads = "overload_name" in open(header).read()
print(
    f"-std=c++{standard} -D_GLIBCXX_USE_CXX11_ABI={int(torch._C._GLIBCXX_USE_CXX11_ABI)}",
    f"-DSCALAR_LISTS={int(version >= (2, 1))} -DOVERLOAD_NAME={int(overloads)}",
    *("-isystem " + p for p in paths),
    "-L" + os.path.join(os.path.dirname(torch.__file__), "lib"),
)
P
)
# shellcheck disable=SC2086 # words
${CXX:-g++} -O1 -g0 -DNDEBUG -fPIC -shared $facts "$here/torch_observer.cpp" -o "$2" \
    -ltorch_cpu -lc10
