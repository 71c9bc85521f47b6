# SPDX-License-Identifier: MIT
"""The functions that hooks interpose, against the libraries and headers of NVIDIA's toolkit."""

import os
import re
import shutil

import recorded
import tap

SOURCES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../../agent/source/cuda")
GIVE_WORK = re.compile(r"(cuda|cu|__cuda)(Memcpy|Memset|Launch|GraphLaunch)")
LEGACY = {"cuLaunch", "cuLaunchGrid", "cuLaunchGridAsync"}  # before CUDA 4
# of the driver's interface in its first form, which nobody has linked since CUDA 3.2
NEWER = re.compile(r"_v\d+$")


def exported(library):
    path = os.path.realpath(library)
    if not os.path.exists(path):
        raise tap.Skip("no " + library)
    lines = tap.run(["nm", "-D", "--defined-only", path], tap.clean_environment()).stdout.decode()
    return {line.split()[-1].split("@")[0] for line in lines.splitlines()}


def without_variant(name):
    return name.removesuffix("_ptsz").removesuffix("_ptds")


def test_all_are_there():
    """Whatever copies, sets or launches: also in the forms for the default stream of a thread."""
    ours = exported(tap.AGENT)
    for library in ("lib64/libcudart.so.13", "lib64/stubs/libcuda.so"):
        names = {n for n in exported(os.path.join(recorded.CUDA, library)) if GIVE_WORK.match(n)}
        later = {
            NEWER.sub("", without_variant(n)) for n in names if NEWER.search(without_variant(n))
        }
        first = {n for n in names if n in later and not n.endswith("BatchAsync")}
        wanted = names - first - LEGACY
        assert len(wanted) > 30, wanted
        tap.equal(sorted(wanted - ours), [], "functions of " + library)


def hooks():
    """(symbol, parameters) of each row of hooks.def."""
    with open(os.path.join(SOURCES, "hooks.def")) as file:
        rows = re.findall(r'^TP_CUDA_HOOK\w*\(\w+, (\w+), "\w+", \((.*?)\), \(', file.read(), re.M)
    assert len(rows) > 100, len(rows)
    return rows


def structs():
    with open(os.path.join(SOURCES, "hooks.c")) as file:
        text = file.read()
    structs = text[text.index("/* CUDA's structs") : text.index("/* --- a call on its way")]
    return "struct tp_dim3 { unsigned x, y, z; };\nstruct tp_cuda_allocation;\n" + structs


ALIKE = """
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <cuda.h>
#include <cuda_runtime_api.h>
template <class A, class B> constexpr bool one_alike =
    sizeof(A) == sizeof(B) && std::is_class<A>::value == std::is_class<B>::value;
template <class... A> struct list {};
template <class A, class B> struct alike : std::false_type {};
template <> struct alike<list<>, list<>> : std::true_type {};
template <class A, class... As, class B, class... Bs> struct alike<list<A, As...>, list<B, Bs...>> :
    std::integral_constant<bool, one_alike<A, B> && alike<list<As...>, list<Bs...>>::value> {};
template <class F> struct parameters;
template <class R, class... A> struct parameters<R(A...)> { using type = list<A...>; };
template <class F, class G> constexpr bool called_alike =
    alike<typename parameters<F>::type, typename parameters<G>::type>::value;
"""


def compiled(scratch, text):
    path = os.path.join(scratch, "prototypes.cc")
    with open(path, "w") as file:
        file.write(text)
    command = ["g++", "-std=c++17", "-fsyntax-only", "-w", "-I" + recorded.CUDA + "/include", path]
    done = tap.run(command, tap.clean_environment())
    return done.returncode, done.stderr.decode()


def test_parameters():
    """As many as the headers declare, each as large, by value where it is there."""
    include = os.path.join(recorded.CUDA, "include")
    if not shutil.which("g++") or not os.path.exists(include + "/cuda_runtime_api.h"):
        raise tap.Skip("no g++, or no headers of CUDA")
    text = ""
    for header in "cuda.h", "cuda_runtime_api.h":
        done = tap.run(["g++", "-E", "-P", os.path.join(include, header)], tap.clean_environment())
        text += done.stdout.decode()
    # 12.8's have one parameter more, and pass what comes on to either
    both = {"cudaMemcpyBatchAsync", "cudaMemcpy3DBatchAsync"}
    checks = [
        f'static_assert(called_alike<decltype({symbol}), int({parameters})>, "{symbol}");\n'
        for symbol, parameters in hooks()
        if re.search(rf"\b{symbol}\s*\(", text) and symbol not in both
    ]
    assert len(checks) > 100, len(checks)
    with tap.folder() as scratch:
        status, said = compiled(scratch, ALIKE + structs() + "".join(checks))
        tap.equal((status, said[-2000:]), (0, ""), "all of them")
        wrong = checks[0].replace("size_t shared", "unsigned shared")
        assert wrong != checks[0]
        status, said = compiled(scratch, ALIKE + structs() + wrong)
        assert status and "static assertion failed" in said, (status, said)


def main():
    t = tap.Tap()
    t.check("all functions that copy, set or launch are interposed", test_all_are_there)
    t.check("their parameters are those of the headers", test_parameters)
    t.end()


if __name__ == "__main__":
    main()
