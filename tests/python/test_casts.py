"""Pairs of casts, to another dtype and back. Floats may be past the range of an integer, and a compiler may fold the
pair."""

import math

import pytest
import torch

import ingot

INTEGERS = [torch.int8, torch.uint8, torch.int16, torch.int32, torch.int64, torch.uint16, torch.uint32, torch.uint64]
FLOATS = [torch.float16, torch.bfloat16, torch.float32, torch.float64]
VALUES = [300.7, -0.5, -0.0, 0.5, math.nan, math.inf, -math.inf, 3e9, -3e9, 2.0**31, -(2.0**31) - 1, 70000.5, -70000.5, 1e10,
          1e19, -1e19, 2.0**63, 2.0**64, 3e38, -1.0, 127.5, 128.0, 255.9, 256.0, 32768.0, 65535.5]  # fmt: skip


@pytest.mark.parametrize("dtype", FLOATS, ids=lambda dtype: str(dtype).removeprefix("torch."))
def test_pairs_of_casts_equal_eagers(dtype, device):
    """Eager's vector loops convert to uint32 in another way than its loop over single elements. Ingot is compared with
    the latter."""
    others = [*INTEGERS, *FLOATS, torch.bool]
    round_trips = ", ".join(f"x.to({integer}).to({other})" for integer in INTEGERS for other in others)
    products = ", ".join(f"x.to({integer}) * 0.5" for integer in INTEGERS[:5])
    op = ingot.op(f"def f(x):\n    return {round_trips}, {products}")
    x = torch.tensor(VALUES, dtype=torch.float64).to(dtype).to(device)
    repeated = x if device == "cuda" else x.repeat(5)  # a vector loop and its tail
    references = [torch.cat(parts) for parts in zip(*(op.reference(each) for each in x.split(1)))]
    wrong = []
    for text, actual, expected in zip(f"{round_trips}, {products}".split(", "), op(repeated), references, strict=True):
        for start in range(0, len(actual), len(x)):
            a, b = (t.double() if t.is_floating_point() else t.to(torch.int64) for t in (actual[start : start + len(x)], expected))
            same = (a == b) & (torch.signbit(a) == torch.signbit(b)) | (a != a) & (b != b)
            wrong += [f"{text} of {v}: {p}, eager {q}" for v, p, q, s in zip(VALUES, a.tolist(), b.tolist(), same) if not s]
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("dtype", FLOATS, ids=lambda dtype: str(dtype).removeprefix("torch."))
def test_casts_of_constants_equal_eagers(dtype, device):
    """A C++ compiler folds casts of constants in its own way, also in the arms of a `where` and for NaN."""
    x = torch.tensor([1.0, -1.0, 2.0, -2.0] * 5).to(dtype).to(device)
    numbers = ["inf", "-inf", "nan", "3e4", *([] if dtype == torch.float16 else ["3e9", "-3e9", "1e20"])]
    for integer in INTEGERS[:5]:
        texts = [text.format(n) + f".to({integer})" for n in numbers
                 for text in ("torch.where(x > 0, {0}, x)", "torch.full_like(x, {0})", "(x + {0}).bfloat16()")]  # fmt: skip
        op = ingot.op(f"def f(x):\n    inf, nan = math.inf, math.nan\n    return {', '.join(texts)}", numerics="eager")
        wrong = [f"{text}: {actual[:2].tolist()}, eager {expected[:2].tolist()}" for text, actual, expected in zip(texts, op(x), op.reference(x))
                 if not torch.equal(actual, expected)]  # fmt: skip
        assert not wrong, "\n".join(wrong)
