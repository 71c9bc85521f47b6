#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Operators of every kind, for comparing the torch source with the observer.

    workload.py OBSERVER OBSERVER_PREFIX [PART ...]

Runs operators long enough for calibration, starts the observer, runs a marker range named
"observer on", then the parts.
A part that this torch cannot run says so and is left out; the exit status is 1 then only with
--strict.
"""

import contextlib
import ctypes
import os
import sys
import threading

import torch
import torch.utils.checkpoint


def calibrated():
    x = torch.ones(2)
    for _ in range(2000):
        x + x


def training():
    torch.manual_seed(0)
    net = torch.nn.Sequential(
        torch.nn.Conv2d(3, 4, 3),
        torch.nn.BatchNorm2d(4),
        torch.nn.ReLU(),
        torch.nn.AdaptiveAvgPool2d(1),
        torch.nn.Flatten(),
        torch.nn.Linear(4, 3),
    )
    for make in (
        lambda p: torch.optim.SGD(p, lr=0.1, momentum=0.9),
        lambda p: torch.optim.Adam(p, lr=0.01),
    ):
        opt = make(net.parameters())
        for _ in range(3):
            opt.zero_grad()
            loss = torch.nn.functional.cross_entropy(
                net(torch.randn(5, 3, 8, 8)), torch.randint(0, 3, (5,))
            )
            loss.backward()
            opt.step()
    with contextlib.suppress(TypeError):
        opt = torch.optim.SGD(net.parameters(), lr=0.1, foreach=True)
        net(torch.randn(5, 3, 8, 8)).sum().backward()
        opt.step()


class Numbers(torch.utils.data.Dataset):
    def __len__(self):
        return 12

    def __getitem__(self, i):
        return torch.full((3, 2), float(i)) * 2, i


def loader():
    for workers in (0, 2):
        for x, y in torch.utils.data.DataLoader(Numbers(), batch_size=4, num_workers=workers):
            (x + 1).sum()


def lists():
    x, y = torch.ones(2, 3), torch.zeros(2, 3)
    torch.cat([x, y], 1), torch.stack([x, y, x]), torch.cat([x]), torch.broadcast_tensors(
        x, torch.ones(1)
    )
    torch.split(x, [1, 2], 1), torch.chunk(x, 2, 1)
    x[torch.tensor([0, 1])], x[None, ..., 1], x[:, torch.tensor([1])]
    torch.block_diag(x, y), torch.einsum("ij,ij->i", x, y)
    torch._foreach_add([x, y], 1.5), torch._foreach_mul([x, y], [x, y])
    torch.meshgrid(torch.arange(2), torch.arange(3), indexing="ij")
    torch.histogramdd(torch.rand(4, 2), bins=[2, 3])
    torch.tensordot(x, y, dims=([0, 1], [0, 1]))


def scalars():
    x = torch.ones(2, 3)
    for value in (
        3,
        -2,
        True,
        2.5,
        -0.0,
        0.0,
        1e9,
        1e10,
        1e17,
        1e19,
        1 / 3,
        float("inf"),
        float("-inf"),
        2.0**53,
        -1e-5,
        123456789012345678,
    ):
        if value is not True:
            torch.add(x, x, alpha=value)
        torch.full((2,), value, dtype=torch.float64)
        torch.clamp(x, min=value)
    d = torch.ones(2, dtype=torch.float64)
    for value in (1e300, 5e-324, 1.7976931348623157e308, 2.2250738585072014e-308, float("nan")):
        torch.clamp(d, min=value)
    c = torch.ones(2, dtype=torch.complex64)
    for value in (1 + 2j, -1.5 - 0.1j, 1j, complex(0.0, -0.0)):
        torch.add(c, c, alpha=value)
        c * value
    torch.div(x, x, rounding_mode="floor"), torch.sum(x, dtype=torch.float64), x.to("cpu")
    x.view(3, 2), x.reshape(-1), x.permute(1, 0), torch.nn.functional.pad(
        x, (1, 2, 0, 1), value=0.5
    )
    torch.zeros(list(range(1, 3)) + [1] * 20), x.sum([0, 1]), torch.roll(x, (1, 1), (0, 1))
    torch.randperm(4, generator=torch.Generator().manual_seed(1))


def undefined():
    x = torch.randn(3, 3, requires_grad=True)
    a, b = x.split([1, 2])
    a.sum().backward()  # the other output's gradient is undefined
    torch.nn.functional.layer_norm(x, (3,)).sum().backward()
    torch.nn.functional.conv1d(torch.randn(1, 1, 5), torch.randn(1, 1, 2), None)
    lstm = torch.nn.LSTM(2, 3)
    lstm(torch.randn(4, 1, 2))[0].sum().backward()
    y = torch.randn(3, 3, requires_grad=True)
    torch.autograd.grad((x * y).sum(), [x, y], create_graph=True)[0].sum().backward()


def ranks():
    for shape in (
        (),
        (0,),
        (1,),
        (2, 0, 3),
        (1, 2, 3, 4, 5),
        (1, 2, 3, 4, 5, 6),
        (1,) * 7 + (2,),
        (1,) * 40,
    ):
        x = torch.ones(shape)
        x + x, x * 2, x.sum(), x.contiguous()
        if x.dim() > 1:
            x.transpose(0, -1) + 1, x.transpose(0, 1).contiguous()


def dtypes():
    for name in (
        "uint8",
        "int8",
        "int16",
        "int32",
        "int64",
        "float16",
        "float32",
        "float64",
        "bfloat16",
        "bool",
        "complex64",
        "complex128",
        "complex32",
        "float8_e4m3fn",
        "float8_e5m2",
        "uint16",
        "uint32",
        "uint64",
    ):
        if hasattr(torch, name):
            with contextlib.suppress(RuntimeError):
                x = torch.zeros(2, 2, dtype=getattr(torch, name))
                x.clone(), x.view(4), x.to(torch.float32)
                x + x
    q = torch.quantize_per_tensor(torch.rand(3), 0.1, 10, torch.quint8)
    q.dequantize(), q.int_repr()


def jit():
    @torch.jit.script
    def f(x, y: int, z: float):
        for i in range(y):
            x = x * z + i
        return x

    @torch.jit.script
    def g(xs: list[torch.Tensor], names: list[str]):
        return torch.cat(xs), len(names)

    for _ in range(3):
        f(torch.ones(3), 2, 0.5)
        g([torch.ones(2), torch.ones(3)], ["a", "b"])
    net = torch.nn.Sequential(torch.nn.Linear(3, 3), torch.nn.ReLU())
    traced = torch.jit.trace(net, torch.ones(2, 3))
    for _ in range(3):
        traced(torch.ones(2, 3)).sum().backward()
    torch.jit.script(net)(torch.ones(2, 3))
    torch.jit.wait(torch.jit.fork(f, torch.ones(3), 2, 0.5))


def ranges():
    from torch.profiler import record_function

    with record_function("outer"), record_function("inner", "an argument"):
        torch.ones(2) + 1
        with record_function("ProfilerStep" + "x" * 200):
            torch.ones(2)
    with record_function("unicode \u00e9\u4e2d"):
        pass


def threads():
    def work(i):
        x = torch.randn(4, 4, requires_grad=True)
        for _ in range(20):
            (x @ x).relu().sum().backward()

    ts = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    [t.start() for t in ts]
    [t.join() for t in ts]
    torch.randn(300, 300) @ torch.randn(300, 300)


def autograd():
    class Double(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, g):
            return g * 2

    x = torch.randn(3, requires_grad=True)
    Double.apply(x).sum().backward()
    with torch.no_grad():
        x + 1
    with torch.inference_mode():
        torch.ones(2) * 2
    torch.utils.checkpoint.checkpoint(
        lambda v: (v * 3).sin(), x, use_reentrant=False
    ).sum().backward()
    h = torch.randn(3, requires_grad=True)
    torch.autograd.functional.hessian(lambda v: (v**3).sum(), h)
    with torch.autograd.set_detect_anomaly(True):
        (x * 2).sum().backward()


def sparse():
    x = torch.eye(3).to_sparse()
    (x + x).coalesce(), torch.sparse.mm(x, torch.ones(3, 2)), x.to_dense()
    c = torch.eye(3).to_sparse_csr()
    c @ torch.ones(3, 2), c.to_dense(), c.values()


def mkldnn():
    x = torch.rand(2, 3).to_mkldnn()
    (x + x).to_dense()


def nested():
    n = torch.nested.nested_tensor([torch.ones(2, 3), torch.ones(1, 3)])
    n + n, n * 2, torch.nn.Linear(3, 2)(n)


def jagged():
    n = torch.nested.nested_tensor([torch.ones(2, 3), torch.ones(1, 3)], layout=torch.jagged)
    n + n, n * 2


def func():
    try:
        from torch.func import grad, vmap, jacrev
    except ImportError:  # before 2.0 a package of its own, or the older vmap alone
        torch._vmap_internals._vmap(lambda a, b: (a * b).sum())(torch.ones(4, 3), torch.ones(4, 3))
        from functorch import grad, vmap, jacrev
    vmap(lambda a, b: (a * b).sum())(torch.ones(4, 3), torch.ones(4, 3))
    grad(lambda v: (v**2).sum())(torch.ones(3))
    vmap(grad(lambda v: (v**2).sum()))(torch.ones(4, 3))
    jacrev(lambda v: v.sin())(torch.ones(3))


def subclass():
    class Mine(torch.Tensor):
        pass

    m = torch.ones(3).as_subclass(Mine)
    m + m, m.sum()
    from torch.utils._python_dispatch import TorchDispatchMode

    class Log(TorchDispatchMode):
        def __torch_dispatch__(self, f, types, args=(), kwargs=None):
            return f(*args, **(kwargs or {}))

    with Log():
        torch.ones(3) + 1


def fake():
    from torch._subclasses.fake_tensor import FakeTensorMode

    with FakeTensorMode() as mode:
        x = torch.empty(3, 4)
        (x @ x.t()).sum()
    from torch.fx.experimental.symbolic_shapes import ShapeEnv

    with FakeTensorMode(shape_env=ShapeEnv()) as mode:
        x = mode.from_tensor(torch.empty(3, 4), static_shapes=False)
        (x + x).sum(), x.view(-1), torch.cat([x, x]), x.expand(2, 3, 4)


def compiled():
    @torch.compile(dynamic=True)
    def f(x):
        return (x.sin() + x.cos()).sum()

    for n in (3, 4, 5):
        x = torch.ones(n, requires_grad=True)
        f(x).backward()


def compiled_eager():
    f = torch.compile(lambda x: (x.sin() * 2).sum(), backend="aot_eager", dynamic=True)
    for n in (3, 4, 5):
        f(torch.ones(n, requires_grad=True)).backward()


def make_fx():
    from torch.fx.experimental.proxy_tensor import make_fx as trace

    trace(lambda x: (x.sin() * 2).sum(), tracing_mode="symbolic")(torch.ones(3, 4))


def forked():
    pid = os.fork()
    if pid == 0:
        torch.ones(3) * 3
        t = threading.Thread(target=lambda: torch.ones(3) * 4)
        t.start()
        t.join()
        os._exit(0)
    os.waitpid(pid, 0)


def profiled():
    with torch.profiler.profile(
        activities=[torch.profiler.ProfilerActivity.CPU], record_shapes=True
    ):
        torch.ones(3) + 1
    torch.ones(3) + 2


def defaults():
    torch.set_default_dtype(torch.float64)
    torch.ones(3) + 0.5
    torch.set_default_dtype(torch.float32)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        torch.nn.Linear(3, 3)(torch.ones(2, 3)).sum()
    with contextlib.suppress(TypeError):  # gone in newer versions
        torch.ones(3, names=("a",)).sum("a")
    torch.empty(3, device="meta") + 1
    torch.view_as_real(torch.ones(2, dtype=torch.complex64)), torch.ones(
        2, dtype=torch.complex64
    ).conj() + 1


PARTS = [
    training,
    loader,
    lists,
    scalars,
    undefined,
    ranks,
    dtypes,
    jit,
    ranges,
    threads,
    autograd,
    sparse,
    mkldnn,
    nested,
    jagged,
    func,
    subclass,
    fake,
    compiled_eager,
    make_fx,
    compiled,
    forked,
    profiled,
    defaults,
]


def main():
    args = [a for a in sys.argv[1:] if a != "--strict"]
    calibrated()
    observer = ctypes.CDLL(args[0])
    observer.observer_start(args[1].encode())
    with torch.profiler.record_function("observer on"):
        pass
    left_out = 0
    for part in PARTS:
        if args[2:] and part.__name__ not in args[2:]:
            continue
        try:
            part()
        except Exception as error:  # this torch may lack it; what ran until here is still compared
            left_out += 1
            print(
                f"{part.__name__}: {type(error).__name__}: {(str(error).splitlines() or [''])[0]}"
            )
    sys.stdout.flush()
    sys.exit(left_out != 0 and "--strict" in sys.argv)


if __name__ == "__main__":
    main()
