"""Ops in place against eager PyTorch, which runs the same text: values, strides, versions, what is shared."""

import os
import random

import pytest
import torch

import ingot

SEED = int(os.environ.get("INGOT_RANDOM_SEED", "20"))
PROGRAMS, MOST_STEPS = 25, 6

MAKE = ["x * 2", "x + y", "torch.zeros_like(x)", "x.clone()", "x * y"]
VIEW = ["{}[1:]", "{}[:-1]", "{}[1]", "{}[..., 1:3]", "{}[..., 0]", "{}.t()", "{}.unsqueeze(0)", "{}.float()", "{}[None]",
        "{}.chunk(2, -1)[1]", "{}.unbind(0)[0]", "{}.detach()", "{}[::2]", "{}.transpose(0, -1)", "{}.clone()"]  # fmt: skip
CHANGE = ["{} += 1", "{} *= 2", "{}.sub_({} * 0.5)", "{}.neg_()", "{}[...] = 3", "{}[0] = 0.5", "{}.clamp_(-1, 1)",
          "{}.copy_({} + 1)", "{}[{} > 1] = 0.25", "{}[..., -1] += 2", "{}.zero_()", "{}[{} < 0] *= 3", "{}.relu_()",
          "F.leaky_relu({}, 0.5, inplace=True)", "{}[0] -= {}[-1] * 2"]  # fmt: skip


def random_program(rng: random.Random) -> str:
    """A def whose names are aliases of a few tensors, changed through any of them and all returned."""
    lines, names = [], []
    for i in range(rng.randint(3, MOST_STEPS)):
        name = f"t{i}"
        if not names or rng.random() < 0.25:
            lines.append(f"{name} = {rng.choice(MAKE)}")
        else:
            lines.append(f"{name} = {rng.choice(VIEW).format(rng.choice(names))}")
        names.append(name)
        target = rng.choice([*names, "x"]) if rng.random() < 0.9 else "x"
        lines.append(rng.choice(CHANGE).replace("{}", target))
    sums = ", ".join(f"{name} * 1" for name in names)
    return "def f(x, y):\n" + "".join(f"    {line}\n" for line in lines) + f"    return {sums}\n"


def run(f, tensors):
    """What a call returns, the tensors after it, and what it raised."""
    try:
        results = f(*tensors)
    except (RuntimeError, IndexError, TypeError, ValueError) as error:
        return None, error
    return [*(results if isinstance(results, tuple) else () if results is None else (results,)), *tensors], None


def compare(source: str, inputs) -> str:
    """What is wrong with Ingot's run of a program, if anything: both start from copies with the inputs' strides."""
    op = ingot.op(source)
    theirs, ours = ([torch.empty_like(t).copy_(t) for t in inputs] for _ in range(2))
    eager, refusal = run(op.reference, theirs)
    mine, error = run(op, ours)
    if refusal is not None:
        return "" if error is not None else f"eager raises {refusal!r}, Ingot does not\n{source}"
    if error is not None:
        return f"{error}\n{source}"
    for i, (a, b) in enumerate(zip(eager, mine, strict=True)):
        if a.dtype != b.dtype or a.shape != b.shape or not torch.equal(a, b):
            return f"value {i}: {b} is not {a}\n{source}"
        if a.stride() != b.stride():
            return f"value {i}: strides {b.stride()}, not {a.stride()}\n{source}"
    changed, expected = ([t._version > 1 for t in tensors] for tensors in (ours, theirs))
    if changed != expected:
        return f"versions bumped: {changed}, not {expected}\n{source}"
    return ""


def test_random_programs():
    rng = random.Random(SEED)
    failures = []
    for _ in range(PROGRAMS):
        source = random_program(rng)
        x = torch.randn(4, 4)
        for inputs in ((x, torch.randn(4, 4)), (x.t(), torch.randn(4, 4))):
            if message := compare(source, inputs):
                failures.append(message)
                break
    assert not failures, f"seed {SEED}: {len(failures)} of {PROGRAMS}\n\n" + "\n\n".join(failures[:3])


@pytest.mark.parametrize(
    "body",
    [
        "x += y",
        "x -= 1\n    x *= y",
        "x //= 2\n    x %= 3",
        "x **= 2",
        "x[1:, 0] = y[1:, 1]",
        "x[x > 0] = 0",
        "x.lerp_(y, 0.25)",
        "x.addcmul_(y, y, value=2)",
        "x.t().copy_(y)",
        "x.eq_(y)",
        "F.relu(x, inplace=True)\n    return x * 2",
        "a = x[0]\n    a += 1\n    return a * 1",
        "b = x.float()\n    b += 1",
        "a = x * 2\n    b = a\n    b += 1\n    return a",
        "a = torch.empty_like(x)\n    a[0] = 1\n    a[1:] = y[1:]\n    return a",
        "x[0] += x[1]",
        "x.abs_().neg_()",
    ],
)
def test_programs(body):
    message = compare(f"def f(x, y):\n    {body}\n", (torch.randn(4, 4), torch.randn(4, 4)))
    assert not message, message


@pytest.mark.parametrize("dtype", [torch.int32, torch.bool, torch.float16, torch.float64])
@pytest.mark.parametrize("body", ["x += y", "x += 1", "x += 1.5", "x /= 2", "x &= y", "x[0] = 1.5", "x.copy_(y)"])
def test_dtypes(dtype, body):
    """The dtype stays, or the op is refused as eager refuses it."""
    message = compare(f"def f(x, y):\n    {body}\n", (torch.ones(4, dtype=dtype), torch.full((4,), 1.0)))
    assert not message, message


def test_every_method_that_pytorch_has_in_place():
    """x.name_() exists where PyTorch's does, for every method of the language that computes values."""
    other = {"t_", "transpose_", "swapaxes_", "swapdims_", "squeeze_", "unsqueeze_", "detach_", "float_power_"}
    for name in ingot.language():
        for method in (name.name, *name.aliases):
            if not name.is_method or method.endswith("_") or not hasattr(torch.Tensor, f"{method}_"):
                continue
            try:
                ingot.op(f"def f(x):\n    m = x.{method}_\n    return x * 1").emit("ir", torch.ones(3), device="cpu")
                assert f"{method}_" not in other, method
            except ingot.Error:
                assert f"{method}_" in other, f"{method}_ is not in the language"


def test_what_autograd_refuses():
    leaf = torch.ones(3, requires_grad=True)
    op = ingot.op("def f(x): x += 1")
    with pytest.raises(ingot.Error, match="requires grad"):
        op(leaf)
    with torch.no_grad():
        assert op(leaf) is None
    assert torch.equal(leaf, torch.full((3,), 2.0))
