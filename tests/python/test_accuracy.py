"""Tests the error of sums against float64 on hard inputs: sums that cancel, summands of all sizes, and very many
summands. Over thousands of sums, the 99th percentile of the error is at most 1.1 times eager's."""

import re

import pytest
import torch

import ingot

# Keyed by the number of elements of a sum: the number of sums, and how many of them are generated at a time.
SUMS = {1_000: (2000, 1000), 10_000: (2000, 100), 100_000: (1000, 10), 1_000_000: (200, 2)}


def cancelling(rows: int, size: int, random: torch.Generator) -> torch.Tensor:
    """Numbers and their negatives in another order: the sum of each row is 0."""
    half = torch.randn(rows, size // 2, generator=random)
    return torch.cat([half, -half[:, torch.randperm(size // 2, generator=random)]], 1)


def of_all_sizes(rows: int, size: int, random: torch.Generator) -> torch.Tensor:
    return torch.exp2(torch.rand(rows, size, generator=random) * 200 - 100)


def of_all_sizes_and_signs(rows: int, size: int, random: torch.Generator) -> torch.Tensor:
    sign = torch.rand(rows, size, generator=random) - 0.5
    return of_all_sizes(rows, size, random).copysign(sign)


# Sampler → the size that the error of a sum is proportional to, for any number of elements. For sums with terms of both
# signs it is the norm.
SAMPLERS = {
    cancelling: lambda x: x.double().norm(dim=1),
    of_all_sizes: lambda x: x.sum(1, dtype=torch.float64),
    of_all_sizes_and_signs: lambda x: x.double().norm(dim=1),
}
# How a function sums the rows of x.
SUMMATIONS = {
    "x.sum()": lambda f, x: torch.stack([f(row) for row in x]),
    "x.mean()": lambda f, x: torch.stack([f(row) for row in x]) * x.shape[1],
    "x.sum(-1)": lambda f, x: f(x),
    "x.sum(0)": lambda f, x: f(x.t().contiguous()),
}


@pytest.fixture
def one_thread():
    """The order of eager's sums depends on the number of threads."""
    usual = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(usual)


@pytest.mark.usefixtures("one_thread")
@pytest.mark.parametrize("sampler", SAMPLERS, ids=lambda sampler: sampler.__name__)
def test_errors_of_sums_are_about_eagers(device, sampler):
    random, ops = torch.Generator().manual_seed(5), {text: ingot.op(text) for text in SUMMATIONS}
    actual_errors, eager_errors = {text: [] for text in SUMMATIONS}, {text: [] for text in SUMMATIONS}
    for size, (sums, at_a_time) in SUMS.items():
        for _ in range(sums // at_a_time):
            x = sampler(at_a_time, size, random).to(device)
            truth, scale = x.sum(1, dtype=torch.float64), SAMPLERS[sampler](x)
            for text, summation in SUMMATIONS.items():
                for f, errors in ((ops[text], actual_errors), (ops[text].reference, eager_errors)):
                    errors[text].append((summation(f, x).double() - truth).abs() / scale)
    ratios = {text: (torch.cat(actual_errors[text]).quantile(0.99) / torch.cat(eager_errors[text]).quantile(0.99)).item() for text in SUMMATIONS}
    assert max(ratios.values()) <= 1.1, ratios


@pytest.mark.parametrize("text", ["x.sum()", "x.mean()"])
def test_a_sum_of_a_thousand_million_ones_is_accurate(device, text):
    x, op, truth = torch.ones(1, device=device).expand(2**30), ingot.op(text), 2**30 if text == "x.sum()" else 1
    assert abs(op(x).item() - truth) <= 1.1 * abs(op.reference(x).item() - truth)


@pytest.mark.parametrize("columns", [2, 33, 77])
def test_softmax_of_large_differences_is_accurate(columns):
    """The last element is below the others by any number whose exponential is not 0, by a larger number, or NaN."""
    below = torch.cat([torch.linspace(0, 110, 100_001), torch.tensor([1e-30, 1e4, 3e38, float("inf"), float("nan")])])
    x = torch.zeros(len(below), columns)
    x[:, -1] = -below
    expected = torch.softmax(x.double(), -1)
    actual = ingot.op("x.softmax(-1)")(x).double()
    assert torch.equal(actual.isnan(), expected.isnan())
    ulp = torch.exp2(expected.log2().floor().clamp(-126, 0) - 23)
    assert ((actual - expected).abs() / ulp).nan_to_num(0).max() <= 2.5


def test_bfloat16_rounds_as_eager_does():
    """NaNs stay NaNs. Their bits are not compared: float32 results may give other NaNs."""
    x = torch.arange(-(2**15), 2**15, dtype=torch.int16).view(torch.bfloat16)
    y = torch.tensor([0.0, 1.0, 3.0, float("nan"), float("inf")], dtype=torch.bfloat16)[:, None]
    nans = torch.tensor([0x7FFFFFFF, 0x7F800001, -1, 0x7FFF8000], dtype=torch.int32).view(torch.float32)
    for actual, expected in ((ingot.op("x + y")(x, y), x + y), (ingot.op("x / y")(x, y), x / y),
                             (ingot.op("x.to(torch.bfloat16)")(nans), nans.to(torch.bfloat16))):
        same = (actual.view(torch.int16) == expected.view(torch.int16)) | (actual.isnan() & expected.isnan())
        assert same.all()


# Whether the argument of the exponential is surely at most 0: it is an element minus the largest element of its row,
# and both are computed with the same bits.
@pytest.mark.parametrize("text, decays", [
    ("x.softmax(-1)", True), ("x.log_softmax(0)", True), ("(x - x.amax(0, True)).exp()", True),
    ("(x * y).softmax(-1)", True), ("(x - y.amax(-1, True)).exp()", False), ("(x - x.amin(-1, True)).exp()", False),
    ("(x - x.amax(-1)).exp()", False), ("(x - x[:, :3].amax(-1, True)).exp()", False),
    ("(x - x.t().amax(-1, True)).exp()", False), ("(x.amax(-1, True) - x).exp()", False), ("x.logsumexp(-1)", False),
    ("(x.sin() * 1e9).softmax(-1)", False), ("(x * 2 - x.amax(-1, True)).exp()", False),
])  # fmt: skip
def test_exponentials_of_nonpositive_arguments_use_decay_of(text, decays):
    random = torch.Generator().manual_seed(3)
    x, y = torch.randn(37, 37, generator=random) * 60, torch.randn(37, 37, generator=random)
    op = ingot.op(text)
    arguments = (x, y) if "y" in text else (x,)
    assert ("decay_of(" in op.source(*arguments)) == decays
    assert "decay_of(" not in ingot.op(text, numerics="fast").source(*arguments)
    torch.testing.assert_close(op(*arguments), op.reference(*arguments), rtol=1e-3, atol=1e-5)


def test_vectors_fit_the_accumulators_of_a_row():
    """A vector may be computed beyond a row's end, so each array of accumulators has at least as many elements."""
    for columns in range(1, 40):
        source = ingot.op("(x.sum(-1), x.amax(-1), x.var(-1))").source(torch.ones(3, columns))
        arrays = [int(extent) for extent in re.findall(r"float \w+_of\[(\d+)\]", source)]
        assert arrays and ("over(count" not in source or min(arrays) >= 16)
        assert columns < 16 or "over(count" in source
