"""Results have eager's memory layout: every stride is equal, also for dims of size 1 and 0."""

import random

import pytest
import torch

import ingot
from ingot.oracle import compare_to_eager

TEXTS = ["relu(a) * 2 + b", "a + b", "(a + b) + c", "a * (b + c)", "where(a > b, a, c)", "(a - b).float() * c", "-a",
         "clamp(a, -1, 1) + b", "torch.lerp(a, b, c)", "maximum(a, b) - c", "a.flip(0) + b", "(a + b).transpose(0, 1) * 1",
         "a[..., :1] + b", "a.clone() + b * c", "2.0 - a", "torch.where(c > 0, a, 0.5)",
         "a.masked_fill(b > 0, 2.0)", "a.masked_fill(b > c, c.sum())"]  # fmt: skip
CALLS_OF_A_TEXT, SEED = 40, 7


def layout(rng: random.Random, sizes: list[int]) -> torch.Tensor:
    """A tensor of these sizes: contiguous, channels-last, permuted, expanded, sliced with a step, with odd strides for sizes of 1,
    or overlapping."""
    rank, kind = len(sizes), rng.random()
    base = torch.randn(sizes)
    if kind < 0.2:
        return base
    if kind < 0.4 and rank in (4, 5):
        return base.contiguous(memory_format=torch.channels_last if rank == 4 else torch.channels_last_3d)
    if kind < 0.6 and rank:
        order = rng.sample(range(rank), rank)
        return torch.randn([sizes[d] for d in order]).permute([order.index(d) for d in range(rank)])
    if kind < 0.7 and rank:
        dim = rng.randrange(rank)
        return base.narrow(dim, 0, 1).expand(sizes) if sizes[dim] else base
    if kind < 0.8:
        return torch.randn([2 * n for n in sizes])[tuple(slice(None, None, 2) for _ in sizes)]
    if kind < 0.9:
        strides = [rng.choice([1, 3, 7, 100]) if n == 1 else s for n, s in zip(sizes, base.stride())]
        return torch.as_strided(torch.randn(max(base.numel(), 1)), sizes, strides)
    strides = [rng.choice([1, 2]) for _ in sizes]
    return torch.as_strided(torch.randn(1 + sum(max(n - 1, 0) * s for n, s in zip(sizes, strides))), sizes, strides)


def inputs(rng: random.Random) -> list[torch.Tensor]:
    full = [rng.choice([1, 1, 2, 3, 4] + [0] * (rng.random() < 0.1)) for _ in range(rng.randint(2, 5))]
    shapes = [full] + [[n if rng.random() < 0.8 else 1 for n in full] for _ in "bc"]
    shapes = [shape[rng.choice([0, 0, 0, 1]) :] if k else shape for k, shape in enumerate(shapes)]
    return [layout(rng, shape) for shape in shapes]


def accepts(function, tensors) -> bool:
    try:
        function(*tensors)
    except RuntimeError:
        return False
    return True


def arrangement(tensors) -> str:
    return ", ".join(f"{list(t.shape)} {list(t.stride())}" for t in tensors)


@pytest.mark.parametrize("text", TEXTS)
def test_strides_are_eagers(text):
    rng = random.Random(f"{SEED} {text}")
    op = ingot.op(f"def f(a, b, c): return {text}")
    calls = [tensors for tensors in (inputs(rng) for _ in range(CALLS_OF_A_TEXT)) if accepts(op.reference, tensors)]
    ingot.prepare_all((op, tensors) for tensors in calls)
    wrong = []
    for tensors in calls:
        expected, result = op.reference(*tensors), op(*tensors)
        if (result.shape, result.stride()) != (expected.shape, expected.stride()):
            wrong.append(f"{text} of {arrangement(tensors)}: ingot {list(result.stride())}, eager {list(expected.stride())}")
    assert not wrong, f"{len(wrong)} of {len(calls)}:\n" + "\n".join(wrong[:8])


# Eager returns its argument or a view of it, and the op a dense copy.
ALIASES = ["a.float(memory_format=torch.contiguous_format)", "a.to(memory_format=torch.contiguous_format)", "a.float()", "a.contiguous()",
           "a.reshape(a.shape)", "a[...]", "a.expand(a.shape)", "a.to(memory_format=torch.preserve_format)"]  # fmt: skip


@pytest.mark.parametrize("text", ALIASES)
def test_strides_of_results_that_eager_aliases(text):
    rng = random.Random(f"{SEED} {text}")
    op = ingot.op(f"def f(a): return {text}")
    for a in (inputs(rng)[0] for _ in range(CALLS_OF_A_TEXT)):
        verdict = compare_to_eager(op.reference, (a,), {}, op(a))
        assert verdict.bit_for_bit, f"{arrangement([a])}: {verdict.message}"


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32], ids=str)
@pytest.mark.parametrize("numerics", ["default", "eager"])
def test_strides_with_a_run_time_number(dtype, numerics):
    """The op's first parameter is a tensor that the result does not depend on."""
    other, a = torch.ones(4, 4, dtype=torch.float64), torch.ones(4, 2, 1).to(dtype).permute(2, 1, 0)
    for text in ("a ** s", "a * s", "a - s", "a // s", "torch.clamp(a, s)", "F.threshold(a, s, 1.0)"):
        op = ingot.op(f"def f(other, a, s: float): return {text}", numerics=numerics)
        assert op(other, a, 0.5).stride() == op.reference(other, a, 0.5).stride(), text


@pytest.mark.parametrize("dtype", [torch.float16, torch.float32, torch.float64, torch.int32], ids=str)
def test_strides_of_ldexp(dtype):
    """Eager computes 2 to the power b, for some dtypes with the base 2 as a tensor. Then the power has the layout of b; if the base
    is a number, the power is contiguous."""
    op = ingot.op("torch.ldexp(a, b)")
    for a in (torch.tensor(4), torch.ones(1), torch.ones(2, 3), torch.ones(3, 2).t()):
        for other in (torch.float64, torch.bfloat16):
            operands = a.to(dtype), torch.ones(3, 2, dtype=other).t()
            assert op(*operands).stride() == torch.ldexp(*operands).stride(), arrangement(operands)
