"""Every function of two tensors on all pairs of special values."""

import itertools
import math

import pytest
import torch
from eager_bits import agree_where_terms_cancel, must_have_eagers_bits
from names_table import BINARY, OPERATORS

import ingot
from ingot.oracle import difference, compare_to_eager

FLOATS = [torch.float32, torch.float64, torch.float16, torch.bfloat16]
INTEGERS = [torch.int64, torch.int32, torch.int16, torch.int8, torch.uint8, torch.bool]
ROWS = [row for row in BINARY + OPERATORS if row.arity == 2]
# Integer division of the least number by -1 overflows; in eager the processor raises an exception.
DIVIDES = ("floor_divide", "remainder", "fmod", "rounding_mode", "//", "%")


def special_values(dtype) -> list:
    if dtype == torch.bool:
        return [False, True]
    if not dtype.is_floating_point:
        info = torch.iinfo(dtype)
        return sorted({info.min, info.min + 1, info.max, info.max - 1, 0, 1, 2, 3, 7} | ({-1, -2, -7} if info.min else set()))
    info = torch.finfo(dtype)
    least = info.smallest_normal * info.eps
    positive = [0.0, least, info.smallest_normal / 4, info.smallest_normal, info.eps, 0.5, 1 - info.eps / 2, 1.0,
                1 + info.eps, 1.5, 2.0, 2.5, 3.0, 7.0, info.max / 2, info.max, math.inf]  # fmt: skip
    return [math.nan, *positive, *(-value for value in positive)]


def pairs(row, dtype, device) -> list[torch.Tensor]:
    combinations = list(itertools.product(special_values(dtype), repeat=2))
    if dtype in INTEGERS and dtype != torch.bool and any(word in row.text for word in DIVIDES):
        combinations = [(a, b) for a, b in combinations if b != 0 and not (a == torch.iinfo(dtype).min < 0 and b == -1)]
    if dtype in INTEGERS and "pow" in row.text:
        combinations = [(a, b) for a, b in combinations if b >= 0]
    columns = [torch.tensor(column, dtype=torch.float64 if dtype in FLOATS else None) for column in zip(*combinations)]
    # Each pair is repeated, so that vector loops compute it at several positions in a vector, except perhaps the last pair.
    return [column.to(dtype).repeat_interleave(17).to(device) for column in columns]


def rejects(row, tensors) -> bool:
    try:
        row.eager(*tensors)
    except (RuntimeError, TypeError):
        return True
    return False


@pytest.mark.parametrize("dtype", FLOATS + INTEGERS, ids=lambda d: str(d).removeprefix("torch."))
def test_pairs(device, dtype):
    kind = "f" if dtype in FLOATS else "b" if dtype == torch.bool else "i"
    cases = [(row, ingot.op(f"def f(x, y): return {row.text}"), pairs(row, dtype, device)) for row in ROWS if kind in row.kinds]
    cases = [(row, op, tensors) for row, op, tensors in cases if not rejects(row, tensors)]
    assert cases
    ingot.prepare_all((op, tensors) for _, op, tensors in cases)
    wrong = [f"{row.text}: {message}" for row, op, tensors in cases if (message := mismatch(row, op, tensors))]
    assert not wrong, f"{len(wrong)} of {len(cases)}:\n" + "\n".join(wrong)


def mismatch(row, op, tensors) -> str:
    result = op(*tensors)
    requires_bits = must_have_eagers_bits(row.text, tensors, result)
    verdict = compare_to_eager(lambda x, y: row.eager(x, y), tensors, {}, result, exact=requires_bits)
    if not verdict.ok and not agree_where_terms_cancel(row.text, result, row.eager(*tensors)):
        wrong_elements = (difference(result, row.eager(*tensors)) > 0).nonzero()
        inputs = [tuple(t[int(i)].item() for t in tensors) for i in wrong_elements[::17][:3, 0]]
        return f"{verdict.message}; of {inputs}"
    return ""
