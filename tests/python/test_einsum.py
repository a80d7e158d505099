"""einsum with random equations and tensordot with random dims: results, dtypes, strides and errors equal eager's."""

import contextlib
import random

import pytest
import torch
from full_run import FULL_RUN

import ingot
from ingot.oracle import compare_to_eager

CASES, SEED = 600 if FULL_RUN else 60, 3
LETTERS = "abcde"
DTYPES = [torch.float32, torch.float64, torch.int32, torch.bool]


def permuted(rng: random.Random, sizes: list[int], dtype: torch.dtype, device: str) -> torch.Tensor:
    order = rng.sample(range(len(sizes)), len(sizes))
    whole = torch.tensor([rng.randint(-3, 3) for _ in range(torch.Size(sizes).numel())], dtype=dtype, device=device)
    return whole.view([sizes[d] for d in order]).permute([order.index(d) for d in range(len(sizes))])


def equation(rng: random.Random) -> tuple[str, list[str]]:
    terms = [rng.choices(LETTERS, k=rng.randint(0, 3)) if rng.random() < 0.1 else rng.sample(LETTERS, rng.randint(0, 3))
             for _ in range(rng.choice([1, 2, 2, 2, 3]))]  # fmt: skip
    terms = ["".join(term) for term in terms]
    used = sorted(set("".join(terms)))
    dots = "..." if rng.random() < 0.2 else ""
    result = "" if rng.random() < 0.1 else "->" + dots + "".join(rng.sample(used, rng.randint(0, len(used))))
    return ",".join(dots + term for term in terms) + result, terms


def case(rng: random.Random, device: str):
    text, terms = equation(rng)
    size = {letter: rng.choice([1, 1, 2, 3, 4] + [0] * (rng.random() < 0.1)) for letter in LETTERS}
    around = [[], [2], [1], [3, 2], [3, 1]] if "..." in text else [[]]
    common, mixed = rng.choice([torch.float32, torch.bfloat16, *DTYPES]), rng.random() < 0.3
    tensors = [permuted(rng, rng.choice(around) + [1 if rng.random() < 0.1 else size[letter] for letter in term],
                        rng.choice(DTYPES) if mixed else common, device) for term in terms]  # fmt: skip
    names = "xyz"[: len(terms)]
    call = with_subscript_lists(text, names) if rng.random() < 0.2 else f"torch.einsum('{text}', {', '.join(names)})"
    return ingot.op(f"def f({', '.join(names)}): return {call}"), text, tensors


def with_subscript_lists(text: str, names: str) -> str:
    """The form of the call that takes lists of numbers instead of an equation."""
    terms, arrow, result = text.partition("->")
    lists = ["[" + ", ".join(["..."] * ("..." in term) + [str(LETTERS.index(c)) for c in term.strip(".")]) + "]"
             for term in [*terms.split(","), result]]  # fmt: skip
    pairs = [f"{name}, {subscripts}" for name, subscripts in zip(names, lists)]
    return f"torch.einsum({', '.join(pairs + lists[-1:] * bool(arrow))})"


def outcome(call, tensors):
    try:
        return call(*tensors)
    except (RuntimeError, ingot.Error) as error:
        return error


def mismatch(op, tensors) -> str:
    actual, expected = outcome(op, tensors), outcome(op.reference, tensors)
    if isinstance(actual, Exception) or isinstance(expected, Exception):
        both_raise = isinstance(actual, Exception) and isinstance(expected, Exception)
        # The GPU's matrix product has no integer kernel; a sum of products needs none.
        lacks_a_kernel = isinstance(expected, NotImplementedError) and tensors[0].is_cuda
        # Eager's product of no elements does not check the dtypes.
        checks_dtypes = "dtype" in str(actual) or "not implemented for" in str(actual)
        has_no_elements = checks_dtypes and not all(t.numel() for t in tensors)
        return "" if both_raise or lacks_a_kernel or has_no_elements else f"eager {expected!r}, ingot {actual!r}"
    verdict = compare_to_eager(op.reference, tensors, {}, actual)
    return "" if verdict.ok else verdict.message


def check(cases: list) -> None:
    with contextlib.suppress(ingot.Error):  # the call itself reports the error
        ingot.prepare_all((op, tensors) for op, _, tensors in cases if isinstance(outcome(op.reference, tensors), torch.Tensor))
    lines = [f"{text} of {[(str(t.dtype), list(t.shape), list(t.stride())) for t in tensors]}: {message}"
             for op, text, tensors in cases if (message := mismatch(op, tensors))]  # fmt: skip
    assert not lines, f"{len(lines)} of {len(cases)}:\n" + "\n".join(lines[:8])


@pytest.fixture(autouse=True)
def from_left_to_right(monkeypatch):
    """With the opt_einsum package installed, eager's order depends on the sizes, and so do the strides."""
    monkeypatch.setattr(torch.backends.opt_einsum, "enabled", False)


def test_random_equations_equal_eager(device):
    rng = random.Random(SEED)
    check([case(rng, device) for _ in range(CASES)])


def contraction(rng: random.Random, device: str):
    sizes = [rng.choice([1, 2, 3] + [0] * (rng.random() < 0.1)) for _ in range(6)]
    shared = rng.randint(0, 2)
    left, right = sizes[: shared + rng.randint(0, 2)], sizes[:shared] + sizes[4 : 4 + rng.randint(0, 2)]
    orders = [rng.sample(range(len(side)), len(side)) for side in (left, right)]
    tensors = [permuted(rng, [side[d] for d in order], torch.float32, device) for side, order in zip((left, right), orders)]
    dims = tuple([order.index(d) for d in range(shared)] for order in orders)
    text = f"torch.tensordot(x, y, {rng.choice([dims, dims, shared])})"
    return ingot.op(text), text, tensors


def test_random_contractions_equal_eager(device):
    rng = random.Random(SEED)
    check([contraction(rng, device) for _ in range(CASES // 2)])
