"""Compares every supported function with PyTorch's own for all dtypes and layouts, with injected NaN, zeros of both signs,
infinities and denormals."""

import itertools
import math
import re

import names_table
import pytest
import torch
import torch.nn.functional as F
from eager_bits import agree_where_terms_cancel, must_have_eagers_bits
from movement_table import FLOATING, MOVED
from names_table import (
    BINARY,
    CASTS,
    RANDOM,
    MORE_VIEWS,
    OPERATORS,
    PYTHON,
    TERNARY,
    UNARY,
    VIEWS,
    Row,
)

from reductions_table import EXACT
from reductions_table import FLOATING as REDUCED
from full_run import FULL_RUN

import ingot
from ingot.oracle import difference, compare_to_eager

ROWS = UNARY + CASTS + BINARY + TERNARY + OPERATORS
DTYPES = [torch.float32, torch.float64, torch.float16, torch.bfloat16, torch.int64, torch.int32, torch.int16, torch.int8,
          torch.uint8, torch.bool]  # fmt: skip
LAYOUTS = ["contiguous", "offset", "transposed", "expanded", "scalar", "empty"]
RESULTS_OF_A_KERNEL = 8  # several rows share a kernel, because a compilation costs more than a call


def names_of_the_language():
    return {s: name for name in ingot.language() for s in (name.name, *name.aliases)}


def kind(dtype) -> str:
    return "f" if dtype.is_floating_point else "b" if dtype == torch.bool else "i"


def values(dtype, count: int, seed: int) -> torch.Tensor:
    """Random values with special ones among them. Integers are small, and not 0 if `seed` is odd, so that they can
    be divisors."""
    generator = torch.Generator().manual_seed(seed)
    if dtype == torch.bool:
        return torch.randint(0, 2, (count,), generator=generator).bool()
    if not dtype.is_floating_point:
        info = torch.iinfo(dtype)
        low = 1 if seed % 2 else max(info.min, -20)
        random = torch.randint(low, 20, (count,), generator=generator).to(dtype)
        if seed % 2 == 0:
            hard = torch.tensor([0, 1, info.max, info.min, info.max - 1, 2, 3, 7], dtype=dtype)
            random[: len(hard)] = hard[:count]
        return random[torch.randperm(count, generator=generator)]
    info = torch.finfo(dtype)
    inf, nan = math.inf, math.nan
    hard = [0.0, -0.0, inf, -inf, nan, info.max, info.min, info.tiny, -info.tiny, info.tiny / 4, -info.tiny / 4, 1.0, -1.0,
            0.5, -0.5, 2.0, 3.0, 1.5, 2.5, -2.5, 0.1, 1 - info.eps, 1 + info.eps, 88.0, -88.0, 20.5, -5.844, -5.0625, 1e-3]  # fmt: skip
    random = torch.randn(count, generator=generator, dtype=torch.float64) * 3
    random[: len(hard)] = torch.tensor(hard, dtype=torch.float64)[:count]
    return random[torch.randperm(count, generator=generator)].to(dtype)


def laid_out(layout: str, dtype, seed: int, device: str) -> torch.Tensor:
    rows, columns = 9, 24
    flat = values(dtype, rows * columns + 1, seed).to(device)
    if layout == "contiguous":
        return flat[:-1].clone().view(rows, columns)
    if layout == "offset":
        return flat[1:]
    if layout == "transposed":
        return flat[:-1].view(columns, rows).t() if seed % 2 == 0 else flat[:-1].view(rows, columns)
    if layout == "expanded":
        return flat[:rows].view(rows, 1).expand(rows, columns) if seed % 2 == 0 else flat[:columns].expand(rows, columns)
    if layout == "scalar":
        return flat[seed % 40]
    return flat[:0].view(0, columns)


def batches(rows):
    """Rows with equal inputs, a few at a time."""
    rows = list(rows)
    for arity in (1, 2, 3):
        of_arity = [row for row in rows if row.arity == arity]
        for start in range(0, len(of_arity), RESULTS_OF_A_KERNEL):
            yield of_arity[start : start + RESULTS_OF_A_KERNEL]


def eager_error(row: Row, tensors):
    """The error of PyTorch's own op for these dtypes, or None."""
    try:
        row.eager(*tensors[: row.arity])
    except (RuntimeError, TypeError, IndexError, ValueError) as error:
        return str(error)
    return None


def mismatch(row: Row, tensors, result) -> str:
    """The difference of a row's result from PyTorch's; empty if there is none."""
    requires_bits = must_have_eagers_bits(row.text, tensors[: row.arity], result)
    verdict = compare_to_eager(lambda *args: row.eager(*args), tensors[: row.arity], {}, result, exact=requires_bits)
    if not verdict.ok and not agree_where_terms_cancel(row.text, result, row.eager(*tensors[: row.arity])):
        return verdict.message
    # If two zeros of different signs tie, eager's vector loop and its tail choose differently on the CPU.
    if row.exact and not verdict.bit_for_bit and not equal_values(row, tensors, result):
        return f"not bit for bit: {verdict.message}"
    return ""


def equal_values(row: Row, tensors, result) -> bool:
    expected = torch.as_tensor(row.eager(*tensors[: row.arity]))
    return difference(result, expected).max().item() == 0


def run_batch(rows, tensors) -> list[str]:
    inputs = rows[0].inputs
    op = ingot.op(f"def names({inputs}):\n    return ({', '.join(row.text for row in rows)},)\n")
    try:
        results = op(*tensors[: rows[0].arity])
    except ingot.Error as error:
        if len(rows) > 1:  # find the row that is rejected
            return [line for row in rows for line in run_batch([row], tensors)]
        return [f"{rows[0].text}: {error}"]
    results = results if isinstance(results, tuple) else (results,)
    return [f"{row.text}: {c}" for row, result in zip(rows, results) if (c := mismatch(row, tensors, result))]


def short_name(value) -> str:
    return str(value).removeprefix("torch.")


@pytest.mark.parametrize("dtype, layout", [
    (dtype, layout) for (i, dtype), (k, layout) in itertools.product(enumerate(DTYPES), enumerate(LAYOUTS))
    if FULL_RUN or dtype == torch.float32 or (i + k) % 2 == 0
], ids=short_name)
def test_pointwise(device, dtype, layout):
    tensors = [laid_out(layout, dtype, seed, device) for seed in (2, 3, 4)]
    rows = [row for row in ROWS if kind(dtype) in row.kinds and eager_error(row, tensors) is None]
    failures = [line for batch in batches(rows) for line in run_batch(batch, tensors)]
    assert not failures, f"{len(failures)} of {len(rows)}:\n" + "\n".join(failures)


@pytest.mark.parametrize("dtype", DTYPES, ids=lambda d: str(d).removeprefix("torch."))
def test_rejects_dtypes_that_pytorch_rejects(dtype):
    tensors = [laid_out("contiguous", dtype, seed, "cpu") for seed in (2, 3, 4)]
    accepted = []
    for row in ROWS:
        message = eager_error(row, tensors)
        if message is None or re.search("not implemented for|not supported on|negative entr", message):
            continue  # a missing kernel of eager is no rule of the language, and values are not compared
        try:
            ingot.op(f"def f({row.inputs}): return {row.text}").emit("ir", *tensors[: row.arity], device="cpu")
            accepted.append(f"{row.text}: PyTorch says {message.splitlines()[0]}")
        except ingot.Error as error:
            assert error.fault == "author", error
    assert not accepted, "\n".join(accepted)


def test_every_row_is_run():
    """Every row is run for at least one dtype of its kinds."""
    tensors = {dtype: [laid_out("contiguous", dtype, seed, "cpu") for seed in (2, 3, 4)] for dtype in DTYPES}
    rejected = [row.text for row in ROWS
                if all(kind(d) not in row.kinds or eager_error(row, tensors[d]) is not None for d in DTYPES)]  # fmt: skip
    assert not rejected, "PyTorch rejects it for every dtype of its kinds:\n" + "\n".join(rejected)


def view_inputs(device):
    x = torch.randn(4, 6, device=device)
    cube = torch.randn(2, 3, 4, device=device)
    i = torch.tensor([3, 0, 2, 2, 1], device=device)
    return {"x": x, "cube": cube, "i": i}


@pytest.mark.parametrize("text", [*VIEWS.values(), *MORE_VIEWS])
def test_views(device, text):
    inputs = view_inputs(device)
    used = [name for name in inputs if re.search(rf"\b{name}\b", text)]
    with torch.device(device):  # eager makes its arange there
        expected = eval(text, {"torch": torch, "F": F, "math": math, **inputs})
    result = ingot.op(f"def view({', '.join(used)}): return {text}")(*(inputs[name] for name in used))
    assert result.dtype == expected.dtype and result.shape == expected.shape
    assert torch.equal(result, expected)
    assert result.data_ptr() not in {t.data_ptr() for t in inputs.values()}


def test_no_name_is_missing_from_the_table():
    tested = {row.name for row in ROWS} | set(VIEWS) | set(MOVED) | set(FLOATING) | set(REDUCED) | set(EXACT) | PYTHON | RANDOM
    missing = sorted(set(names_of_the_language()) - tested)
    assert not missing, f"in the language, but not in names_table.py: {missing}"


def test_the_table_does_not_use_ingot():
    """No row's expected result comes from Ingot."""
    assert "ingot" not in vars(names_table)
