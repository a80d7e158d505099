"""Dtypes that few of PyTorch's functions accept: uint16, uint32, uint64 and the four float8 types.

Ingot gives eager's results, and rejects the calls that eager rejects, except for ops that only move elements.
"""

import itertools
import math

import pytest
import torch
from names_table import BINARY, OPERATORS, TERNARY, UNARY

import ingot

UNSIGNED = [torch.uint16, torch.uint32, torch.uint64]
FLOAT8 = [torch.float8_e4m3fn, torch.float8_e5m2, torch.float8_e4m3fnuz, torch.float8_e5m2fnuz]
COMMON = [torch.bool, torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64,
          torch.float16, torch.bfloat16, torch.float32, torch.float64]  # fmt: skip
# Substrings of sources that only move elements or keep them: Ingot applies these to any dtype.
MOVES = ("decimals=0", "flip", "take", "gather", "index_select", "roll", "rot90", "tril", "triu", "repeat", "fliplr", "flipud")

# Ops that eager accepts and Ingot rejects, because they use a constant that Ingot cannot represent: an infinity in float8,
# an integer beyond int64.
REJECTED = {("isinf(x)", torch.float8_e5m2), ("isfinite(x)", torch.float8_e5m2),
            ("x & torch.iinfo(x.dtype).max", torch.uint64)}  # fmt: skip


def name_of(dtype):
    return str(dtype).removeprefix("torch.")


def comparable(x):
    """The tensor in a dtype that torch.equal accepts; all NaNs are equal."""
    return x.float().nan_to_num(nan=12345.0) if x.dtype in FLOAT8 else x.to(torch.int64) if x.dtype in UNSIGNED else x


def same(a, b) -> bool:
    a, b = comparable(a), comparable(b)
    if a.dtype != b.dtype or a.shape != b.shape:
        return False
    return torch.allclose(a, b, rtol=1e-6, atol=0, equal_nan=True) if a.is_floating_point() else torch.equal(a, b)


def every_float8(dtype, device):
    return torch.arange(256, dtype=torch.uint8).view(dtype).to(device)


def values_of(dtype, device):
    if dtype in FLOAT8:
        return every_float8(dtype, device)
    if dtype in UNSIGNED:
        largest = 2 ** (8 * dtype.itemsize) - 1
        return torch.tensor([0, 1, 2, 3, 7, 200, 255, largest // 2, largest // 2 + 1, largest - 1, largest] * 3, dtype=dtype, device=device)
    if dtype == torch.bool:
        return torch.tensor([True, False], device=device)
    return torch.tensor([0, 1, 2, 3, 7, 100, 127], device=device).to(dtype)


@pytest.mark.parametrize("dtype", UNSIGNED + FLOAT8, ids=name_of)
def test_casts(dtype, device):
    for other in COMMON + UNSIGNED + FLOAT8:
        for source, target in {(dtype, other), (other, dtype)}:
            x = values_of(source, device)
            if source in FLOAT8 and not target.is_floating_point and target != torch.bool:
                x = x[(x.float() >= 0) & (x.float() <= 100)]  # outside this range a conversion to integers is undefined
            assert same(ingot.op(f"x.to(torch.{name_of(target)})")(x), x.to(target)), (source, target)


@pytest.mark.parametrize("dtype", UNSIGNED, ids=name_of)
def test_negative_floats_wrap(dtype):
    for source in (torch.float32, torch.float64, torch.float16, torch.bfloat16):
        x = torch.tensor([-2.7, -1.0, -3.0, 5.5, 7.0] * 5, dtype=source)  # on the CPU; on CUDA it is undefined
        for values in (x, x[:3]):
            assert same(ingot.op(f"x.to(torch.{name_of(dtype)})")(values), values.to(dtype))


@pytest.mark.parametrize("dtype", FLOAT8, ids=name_of)
def test_floats_round_to_float8_as_in_eager(dtype, device):
    generator = torch.Generator().manual_seed(1)
    x = torch.randn(50_000, generator=generator) * 2.0 ** torch.randint(-20, 18, (50_000,), generator=generator)
    values_of_dtype = every_float8(dtype, "cpu").float()
    between = (values_of_dtype[:, None] + values_of_dtype[None, :]).flatten() / 2  # includes ties
    special = torch.tensor([0.0, -0.0, math.inf, -math.inf, math.nan, 464.0, 480.0, 61440.0, 65536.0, 1e-30, 3e38])
    x = torch.cat([x, between, special]).to(device)
    bits = ingot.op(f"x.to(torch.{name_of(dtype)}).view(torch.uint8)")(x)
    eager = x.to(dtype)
    nan = eager.float().isnan()
    assert torch.equal(bits[~nan], eager.view(torch.uint8)[~nan])
    assert torch.equal(bits.view(dtype).float().isnan(), nan)


def outcome(function, *args):
    try:
        return function(*args)
    except ingot.Error as error:
        assert error.fault == "author", error
    except (RuntimeError, NotImplementedError, TypeError, ValueError, IndexError):
        pass
    return None


@pytest.mark.parametrize("dtype", UNSIGNED + FLOAT8, ids=name_of)
def test_functions_accept_the_dtypes_that_eager_accepts(dtype):
    """Functions and operators of one and of two tensors, on the CPU: there, eager has fewer kernels than on CUDA."""
    x = values_of(dtype, "cpu")
    y = x.roll(3)
    wrong = []
    for row in itertools.chain(UNARY, (row for row in BINARY + OPERATORS if row.arity == 2)):
        tensors = (x, y)[: row.arity]
        eager = outcome(row.eager, *tensors)
        result = outcome(ingot.op(f"def f({', '.join('xy'[: row.arity])}): return {row.text}"), *tensors)
        if eager is None:
            if result is not None and not any(word in row.text for word in MOVES):
                wrong.append(f"{row.text}: Ingot accepts it, eager rejects it")
        elif (row.text, dtype) in REJECTED:
            if result is not None:
                wrong.append(f"{row.text}: Ingot accepts it, but it is listed in REJECTED")
        elif result is None:
            wrong.append(f"{row.text}: Ingot rejects it, eager gives {eager.dtype if hasattr(eager, 'dtype') else eager}")
        elif isinstance(eager, torch.Tensor) and not same(result, eager):
            wrong.append(f"{row.text}: {comparable(result)[:8].tolist()}, eager {comparable(eager)[:8].tolist()}")
    assert not wrong, f"{len(wrong)}:\n" + "\n".join(wrong)


@pytest.mark.parametrize("dtype", UNSIGNED + FLOAT8, ids=name_of)
def test_comparisons_promote_as_eager(dtype):
    for other in COMMON + UNSIGNED + FLOAT8:
        for shape in ((7,), ()):
            x, y = values_of(dtype, "cpu")[:7], values_of(other, "cpu")[:1].expand(7).clone() if shape else values_of(other, "cpu")[1]
            for text in ("x == y", "y != x"):
                eager = outcome(lambda x, y, text=text: eval(text), x, y)
                result = outcome(ingot.op(f"def f(x, y): return {text}"), x, y)
                assert (eager is None) == (result is None), (text, dtype, other, shape)
                assert eager is None or torch.equal(result, eager), (text, dtype, other, shape)


@pytest.mark.parametrize("dtype", FLOAT8, ids=name_of)
def test_float8_is_read_scaled_and_written(dtype, device):
    """The usual use of float8: read, scale, compute in float32, write."""
    x, scale = every_float8(dtype, device), torch.rand(256, device=device)
    op = ingot.op(f"(relu(x.float() * scale) * 0.5).to(torch.{name_of(dtype)})")
    assert same(op(x, scale), (torch.relu(x.float() * scale) * 0.5).to(dtype))


MIXED = [torch.bool, torch.uint8, torch.int64, torch.float16, torch.bfloat16, torch.float32, torch.float64]


def test_block_diag_promotes_tensors_without_dims(device):
    """block_diag makes a matrix of a tensor without dims, which keeps its lower priority in type promotion."""
    for a in MIXED:
        for b in MIXED:
            for x, y in ((torch.tensor(2), torch.ones(2, 2)), (torch.ones(2), torch.tensor(3)), (torch.tensor(2), torch.tensor(3))):
                x, y = x.to(a).to(device), y.to(b).to(device)
                result, eager = ingot.op("torch.block_diag(x, y)")(x, y), torch.block_diag(x, y)
                assert result.dtype == eager.dtype and torch.equal(result, eager), (a, b, x.shape, y.shape)


def dtype_of(function, *tensors):
    """The dtype of a function's first result; None if the call is rejected."""
    try:
        result = function(*tensors)
    except NotImplementedError:  # is a RuntimeError
        raise
    except (RuntimeError, TypeError, ValueError):
        return None
    return (result[0] if isinstance(result, tuple) else result).dtype


@pytest.mark.parametrize("first", MIXED, ids=name_of)
def test_functions_promote_several_dtypes_as_eager(first):
    """The dtype of the result is eager's, or the call is rejected as by eager."""
    wrong = []
    for row in (row for row in BINARY + TERNARY + OPERATORS if row.arity > 1):
        for others in itertools.product(MIXED if row.arity == 2 else MIXED[::2], repeat=row.arity - 1):
            tensors = [torch.ones(0).to(dtype) for dtype in (first, *others)]
            try:
                eager = dtype_of(row.eager, *tensors)
            except NotImplementedError:
                continue  # eager has no kernel for this dtype
            result = dtype_of(ingot.op(f"def f({', '.join('xyz'[: row.arity])}): return {row.text}"), *tensors)
            if result != eager:
                wrong.append(f"{row.text} of {[t.dtype for t in tensors]}: {result}, eager {eager}")
    assert not wrong, f"{len(wrong)}:\n" + "\n".join(wrong[:40])
