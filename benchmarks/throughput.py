"""Kernels on large tensors: generated, hand-written, eager and torch.compile, as shares of a device copy's speed."""

import pathlib
import sys
import types

import torch

import ingot
from handwritten import Handwritten
from timing import cpu_seconds, gpu_seconds

EXAMPLES = pathlib.Path(__file__).parent.parent / "examples"


def load(name: str) -> "ingot.Op":
    return ingot.op((EXAMPLES / f"{name}.py").read_text(), name=name)


def module_of(name: str):
    """The same text as a module of its own, which is what torch.compile asks of a function's globals."""
    module = types.ModuleType(f"eager_{name}")
    module.__dict__.update(torch=torch, relu=torch.relu, clamp=torch.clamp)
    sys.modules[module.__name__] = module
    exec(compile((EXAMPLES / f"{name}.py").read_text(), f"{name}.py", "exec"), module.__dict__)
    return getattr(module, name)


def boxes(count: int) -> torch.Tensor:
    box = torch.rand(count, 4, device="cuda")
    box[:, 2:] += box[:, :2]
    return box


def gpu_cases():
    """(op, bytes that one call must move, input sets, the hand-written call on one set and its result)."""
    n = 1 << 28

    def pair():
        return torch.randn(n, device="cuda"), torch.randn(n, device="cuda")

    def relu_add(x, y, bias, out, kernel):
        kernel(n, x, y, bias, out, n)

    def mul(x, y, out, kernel):
        kernel(n, x, y, out, n)

    yield "relu_add", 12 * n, [(*pair(), 0.5)], relu_add
    yield "mul", 12 * n, [pair()], mul

    m = 1 << 24

    def giou(pred, target, out, kernel):
        kernel(m, pred, target, 1e-7, out, m)

    yield "giou", 36 * m, [(boxes(m), boxes(m)) for _ in range(3)], giou

    batch, per_sample, steps = 1024, 3 * 256 * 256, 1000
    shape = (batch, 3, 256, 256)

    def images():
        return [torch.randn(shape, device="cuda") for _ in range(3)]

    def schedule():
        return torch.rand(5, steps, device="cuda"), torch.randint(0, steps, (batch, 1, 1, 1), device="cuda")

    def denoise(eps, sample, noise, table, t, out, kernel):
        kernel(out.numel(), eps, sample, noise, table, t, out, steps, per_sample, out.numel())

    yield "denoise", 16 * batch * per_sample, [(*images(), *schedule())], denoise


def check_peers(calls: dict, expected: torch.Tensor) -> None:
    """That each of them computes what eager PyTorch does: a kernel that does less is no peer. Contraction and other
    spellings may cost it some ulps."""
    for who, call in calls.items():
        torch.testing.assert_close(call(), expected, rtol=1e-4, atol=1e-5, msg=lambda text: f"{who}: {text}")


def gpu() -> list[dict]:
    rows = []
    source = torch.randn(1 << 28, device="cuda")
    target = torch.empty_like(source)
    for name, bytes_moved, sets, by_hand in gpu_cases():
        op, kernel, eager = load(name), Handwritten(name), module_of(name)
        compiled = torch.compile(eager)
        outs = [torch.empty_like(op(*args)) for args in sets]
        pick = lambda k: sets[k % len(sets)]

        def handwritten(k):
            by_hand(*pick(k), outs[k % len(sets)], kernel)
            return outs[k % len(sets)]

        for k, args in enumerate(sets):
            check_peers({"ingot": lambda: op(*args), "handwritten": lambda: handwritten(k),
                         "torch_compile": lambda: compiled(*args)}, eager(*args))
        seconds = gpu_seconds(
            {
                "copy": lambda k: target.copy_(source),
                "ingot": lambda k: op(*pick(k), out=outs[k % len(sets)]),
                "ingot_allocating": lambda k: op(*pick(k)),
                "handwritten": handwritten,
                "eager": lambda k: eager(*pick(k)),
                "torch_compile": lambda k: compiled(*pick(k)),
            }
        )
        copy = 2 * source.nbytes / seconds.pop("copy")
        speed = {who: bytes_moved / s / copy for who, s in seconds.items()}
        rows.append({"op": name, "copy_gb_s": copy / 1e9, "share_of_copy": speed,
                     "microseconds": {who: s * 1e6 for who, s in seconds.items()}})
        del sets, outs
        torch.cuda.empty_cache()
    return rows


CPU_OPS = {
    "gelu(x + y) * sigmoid(y) + x": lambda x, y: torch.nn.functional.gelu(x + y) * torch.sigmoid(y) + x,
    "relu(x) + y + 0.5": lambda x, y: torch.relu(x) + y + 0.5,
}


def cpu(n: int = 1 << 20) -> list[dict]:
    """One thread, results allocated by everybody."""
    torch.set_num_threads(1)
    x, y = torch.randn(n), torch.randn(n)
    rows = []
    for text, eager in CPU_OPS.items():
        op, compiled = ingot.op(text), torch.compile(eager)
        seconds = cpu_seconds({"ingot": lambda: op(x, y), "eager": lambda: eager(x, y),
                               "torch_compile": lambda: compiled(x, y)})
        rows.append({"op": text, "nanoseconds_per_element": {who: s / n * 1e9 for who, s in seconds.items()},
                     "times_eager": seconds["eager"] / seconds["ingot"],
                     "times_torch_compile": seconds["torch_compile"] / seconds["ingot"]})
    return rows
