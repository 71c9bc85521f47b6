#!/bin/sh
# Builds the observer for one torch: build.sh PYTHON OUTPUT
# NDEBUG matters: without it a member of RecordFunction appears that the installed torch does not have.
set -e
here=$(cd "$(dirname "$0")" && pwd)
facts=$("$1" - <<'P'
import os, torch
from torch.utils import cpp_extension
v = tuple(int(x) for x in torch.__version__.split(".")[:2])
std = 14 if v < (2, 1) else 17 if v < (2, 13) else 20
paths = cpp_extension.include_paths()
header = next(h for h in (os.path.join(p, "ATen/record_function.h") for p in paths) if os.path.exists(h))
lib = os.path.join(os.path.dirname(torch.__file__), "lib")
print(f"-std=c++{std} -D_GLIBCXX_USE_CXX11_ABI={int(torch._C._GLIBCXX_USE_CXX11_ABI)}",
      f"-DSCALAR_LISTS={int(v >= (2, 1))} -DOVERLOAD_NAME={int('overload_name' in open(header).read())}",
      *("-isystem " + p for p in paths), f"-L{lib}")
P
)
# shellcheck disable=SC2086
${CXX:-g++} -O1 -g0 -DNDEBUG -fPIC -shared $facts "$here/torch_observer.cpp" -o "$2" -ltorch_cpu -lc10
