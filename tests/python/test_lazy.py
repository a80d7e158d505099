"""A lazy `where` gives eager's result, and reads nothing that its condition excludes."""

import math
import pickle
import subprocess

import pytest
import torch

import ingot

MODES = ("auto", "always", "never")
BOXES = """
def loss(pred, target):
    area = (target[..., 2] - target[..., 0]) * (target[..., 3] - target[..., 1])
    wh = (torch.minimum(pred[..., 2:], target[..., 2:]) - torch.maximum(pred[..., :2], target[..., :2])).clamp(0)
    overlap = wh[..., 0] * wh[..., 1]
    return torch.where(area > 0, overlap / area, -1.0), torch.where(area > 0, wh[..., 0], pred[..., 3])
"""
NESTED = """
def nested(x, y, t, i):
    known = (i >= 0) & (i < t.shape[0])
    inner = torch.where(y > 0, torch.exp(t[i]) * x, torch.log1p(y * y))
    return torch.where(known, inner, -x), torch.where(known, t[i] + inner, y), torch.where(x > 0, inner, 0.0)
"""


@pytest.mark.parametrize("lazy", MODES)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.float16])
@pytest.mark.parametrize("shape", [(0,), (1,), (511,), (3, 171), (5, 7, 9)])
def test_where_over_adjacent_columns_equals_eager(lazy, dtype, shape, device):
    pred, target = (torch.rand(*shape, 6, dtype=dtype, device=device)[..., :4].mul(8).round() for _ in range(2))
    op = ingot.op(BOXES, lazy=lazy)
    tolerance = {"rtol": 0, "atol": 0} if dtype != torch.float16 else {"rtol": 2e-3, "atol": 1e-3}
    torch.testing.assert_close(op(pred, target), op.reference(pred, target), **tolerance, equal_nan=True)


@pytest.mark.parametrize("lazy", MODES)
@pytest.mark.parametrize("count", [1, 257, 1000])
def test_nested_wheres_equal_eager(lazy, count, device):
    x, y, t = (torch.randn(n, device=device) for n in (count, count, 50))
    i = torch.randint(0, 50, (count,), device=device)
    op = ingot.op(NESTED, lazy=lazy)
    torch.testing.assert_close(op(x, y, t, i), op.reference(x, y, t, i), rtol=1e-5, atol=1e-6)


def test_out_may_be_the_operand_of_an_arm(device):
    x = torch.randn(1000, 4, device=device)
    for lazy in MODES:
        op = ingot.op("where(x[:, 3] > 0, x[:, 0] + y, y)", lazy=lazy)
        y = torch.randn(1000, device=device)
        expected = op.reference(x, y)
        op(x, y, out=y)
        torch.testing.assert_close(y, expected, rtol=0, atol=0)


def test_an_excluded_index_is_not_checked(device):
    table = torch.arange(9.0, device=device)
    i = torch.tensor([0, 8, 9, -10, 1 << 40, -(1 << 40)], device=device)
    for lazy in ("auto", "always"):
        op = ingot.op("where((i >= 0) & (i < 9), table[i], -1.0)", lazy=lazy, debug=True)
        assert op(i, table).tolist() == [0, 8, -1, -1, -1, -1]
        with pytest.raises(ingot.Error, match="out of range"):
            ingot.op("where(i < 100, table[i], -1.0)", lazy=lazy, debug=True)(i, table)
        # An operand of both arms is needed everywhere.
        with pytest.raises(ingot.Error, match="out of range"):
            ingot.op("where(i < 9, table[i], -table[i])", lazy=lazy, debug=True)(i, table)
    with pytest.raises(ingot.Error, match="out of range"):
        ingot.op("where((i >= 0) & (i < 9), table[i], -1.0)", lazy="never", debug=True)(i, table)


# Sources whose conditions together exclude all indices out of range: -10 and below, 9 and above.
SEVERAL_CONDITIONS = [
    "where(i >= 0, where(i < 9, t[i], 0.0), 0.0) + where(~(i >= 0) | (i >= 9), 1.0, t[i] * 2)",
    "where((i >= 0) & (i < 9) & (x > 0), exp(t[i]), 0.0) - where((i >= 0) & (i < 9) & (x < 1), exp(t[i]), x)",
    "where((i >= 0) & (i < 9), t[i], 0.0), where((i == 3) | (i == 4), 1 + t[i], 2.0), where(i == 5, t[i], x)",
    # The second condition depends on a value that the first one guards.
    "where(where((i >= 0) & (i < 9), t[i], -1.0) >= 0, sqrt(t[i]), x)",
    # Conditions within both arms of an outer `where`; only the inner ones exclude indices.
    "where(x > 0, where((i >= 0) & (i < 9), t[i], 0.0), where((i == 2) | (i == 8), t[i] * x, 1.0))",
    "where(x > 0, t[where((i >= 0) & (i < 9), i, 0)], where((i >= 0) & (i < 9), t[i], x)) * where(i == 1, t[i], x)",
]


@pytest.mark.parametrize("text", SEVERAL_CONDITIONS)
def test_an_index_excluded_by_several_conditions_is_not_read(text, device):
    table, x = torch.arange(9.0, device=device), torch.randn(60, device=device)
    i = torch.randint(0, 9, (60,), device=device)
    is_out_of_range = torch.arange(60, device=device) % 3 == 0
    i[is_out_of_range] = torch.tensor([9, -10, 1 << 40, -(1 << 40)], device=device)[torch.arange(20, device=device) % 4]
    clamped = torch.where(is_out_of_range, torch.where(i < 0, -1, 9), i)
    padded = torch.cat([table, torch.tensor([math.nan], device=device)])  # eager reads every index: entries -1 and 9 are NaN
    for lazy in ("auto", "always"):
        op = ingot.op("def f(i, t, x): return " + text, lazy=lazy, debug=True)
        op(i, table, x), op(i[~is_out_of_range], table, x[~is_out_of_range])
        torch.testing.assert_close(op(i, table, x), op.reference(clamped, padded, x), rtol=1e-6, atol=1e-6)


def test_a_gather_may_be_in_very_many_arms(device):
    """If more `where`s use a gather than the compiler recomputes it for, the gather is read once for all of them."""
    table, i = torch.rand(9, device=device), torch.randint(0, 9, (100,), device=device)
    lines = "".join(f"    y = y + where(i == {k % 9}, t[i] * {k}, y)\n" for k in range(40))
    op = ingot.op(f"def f(i, t):\n    y = t[i]\n{lines}    return y\n", lazy="always")
    torch.testing.assert_close(op(i, table), op.reference(i, table))
    lines = "".join(f"    y = y + where(i == {k}, t[i] * {k}, 1.0)\n" for k in range(40))
    op = ingot.op(f"def f(i, t):\n    y = 0.0\n{lines}    return y\n", lazy="always")
    torch.testing.assert_close(op(i, table), op.reference(i, table))


def arms(count: int, value: str) -> str:
    lines = "".join(f"    y = y + torch.where(i == {k}, {value}, 1.0)\n" for k in range(count))
    return f"def f(i, t):\n    y = 0.0\n{lines}    return y\n"


def test_up_to_eight_arms_exclude_an_index_together(device):
    table, i = torch.rand(9, device=device), torch.tensor([0, 3, 100, 7], device=device)
    expected = [7 + table[0], 7 + table[3], torch.tensor(8.0, device=device), 7 + table[7]]
    torch.testing.assert_close(ingot.op(arms(8, "t[i]"), debug=True)(i, table), torch.stack(expected))
    with pytest.raises(ingot.Error, match="out of range"):
        ingot.op(arms(9, "t[i]"), debug=True)(i, table)
    # Conditions within one arm are merged there first.
    inner = arms(9, "t[i]").replace("return y", "return torch.where(i < 9, y, 0.0) + torch.where(i == 50, t[i], 0.0)")
    torch.testing.assert_close(ingot.op(inner, debug=True)(i, table)[2], torch.tensor(0.0, device=device))


def test_a_where_in_several_arms_is_evaluated_once():
    x = torch.randn(9)
    text = "g = where(x > 0, t[i], 1.0)\nreturn where(y > 0, g, 2.0) + where(z > 0, g * 2, 3.0)"
    op = ingot.op("def f(i, t, x, y, z):\n    " + text.replace("\n", "\n    "))
    assert "lazy: 3 where" in op.emit("schedule", torch.arange(9), x, x, x, x)


def test_row_divisors_in_an_arm_are_checked():
    i, t, x = torch.randint(0, 9, (5,)), torch.randint(1, 100, (9,)), torch.randint(0, 9, (5, 70))
    op = ingot.op("where((c > 0)[:, None], (t[i] // k)[:, None] + x, 0)")
    c, k = torch.tensor([1, 0, 0, 1, 1]), torch.tensor([1, 0, 0, 3, 4])
    expected = torch.where((c > 0)[:, None], (t[i] // k.clamp(1))[:, None] + x, 0)
    assert torch.equal(op(c=c, t=t, i=i, k=k, x=x), expected)
    with pytest.raises(ingot.Error, match="ZeroDivisionError"):
        op(c=torch.ones_like(c), t=t, i=i, k=k, x=x)
    assert "reduction(max : bad)" in op.emit("source", c=c, t=t, i=i, k=k, x=x, device="cpu")


@pytest.mark.parametrize("lazy", MODES)
@pytest.mark.parametrize("text", ["where(k != 0, x // k, 0)", "where(k != 0, x // k + t[k], 0)"])
def test_divisors_in_unselected_arms_are_checked(text, lazy):
    op = ingot.op("def f(k, x, t): return " + text, lazy=lazy)
    with pytest.raises(ingot.Error, match="ZeroDivisionError"):
        op(torch.tensor([1, 2, 0]), torch.tensor([5, 7, 9]), torch.arange(3))


# A condition that is the same for a row is evaluated once before the row's elements, and its index is read there.
ROWS = [
    "where((i >= 0)[:, None] & (i < 9)[:, None], t[i], -1.0)",
    "where(((i >= 0) & (i < 9))[:, None], t[i] * x, where(x > 0.5, x, -x))",
    "where(((i >= 0) & (i < 9))[:, None], where((i > 0)[:, None], t[i - 1] + t[i], t[i]), x)",
    "where(((i >= 0) & (i < 9))[:, None], where(x > 0.5, t[i], x), where((i == 1000)[:, None], t[i], 2.0))",
    "where(x > 0.5, where(((i >= 0) & (i < 9))[:, None], t[i], x), x * 2)",
]


@pytest.mark.parametrize("lazy", ["auto", "always"])
@pytest.mark.parametrize("text", ROWS)
def test_an_excluded_row_is_not_read(text, lazy, device):
    table, i = torch.rand(9, 64, device=device), torch.tensor([0, 8, 9, 3, 1 << 40, -20, 5], device=device)
    x = torch.rand(7, 64, device=device)
    op = ingot.op("def f(i, t, x): return " + text, lazy=lazy, debug=True)
    padded = torch.cat([table, torch.full((1, 64), math.nan, device=device)])
    torch.testing.assert_close(op(i, table, x), op.reference(i.clamp(-1, 9), padded, x), rtol=0, atol=0)
    with pytest.raises(ingot.Error, match="out of range"):
        ingot.op("def f(i, t, x): return " + text.replace("< 9", "< 10"), lazy=lazy, debug=True)(i, table, x)


def test_the_schedule_names_masked_loads():
    boxes = torch.empty(1000, 4, device="meta")
    text = "where(b[:, 0] > 0, a[:, 0] + a[:, 3], 0.0), where(b[:, 0] > 0, b[:, 1] * 2, 1.0)"
    emitted = {lazy: ingot.op(text, lazy=lazy).emit("schedule", boxes, boxes, device="cuda") for lazy in MODES}
    assert "where it is needed" in emitted["auto"] and "lazy: 2 where" in emitted["always"]
    assert "lazy" not in emitted["never"] and "where it is needed" not in emitted["never"]


def test_every_api_accepts_lazy(command_line):
    op = pickle.loads(pickle.dumps(ingot.op("where(x > 0, torch.exp(x), 0.0)", lazy="always")))
    assert op.lazy == "always" and "lazy: 1 where" in op.emit("schedule", torch.ones(9))
    for lazy in MODES:
        command = [command_line, "emit", "-e", "where(x > 0, exp(x), 0.0)", "x=f32:9", "--stage", "schedule", "--lazy", lazy]
        text = subprocess.run(command, capture_output=True, text=True, check=True).stdout
        assert ("lazy: 1 where" in text) == (lazy == "always")


def test_invalid_options_are_rejected():
    with pytest.raises(ingot.Error, match="one of auto, always and never"):
        ingot.op("where(x > 0, x, 0.0)", lazy="often")
