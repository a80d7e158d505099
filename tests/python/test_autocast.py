"""Under torch.autocast a call gives what eager PyTorch gives without it, or is refused: never something in between."""

import contextlib

import names_table
import pytest
import torch

import ingot

SPELLED = {spelled for name in ingot.language() for spelled in (name.name, *name.aliases)}
ROWS = [
    row
    for row in names_table.UNARY + names_table.BINARY + names_table.TERNARY + names_table.OPERATORS
    if not row.name or row.name in SPELLED
]
HALVES = (torch.bfloat16, torch.float16)


def autocast(device, dtype=torch.bfloat16):
    return torch.autocast(device, dtype=dtype)


def exactly(result, expected):
    assert result.dtype == expected.dtype
    assert torch.equal(result, expected)


def outcome(function, inputs):
    """What eager gives, as far as autocast could change it."""
    try:
        result = function(*inputs)
    except (RuntimeError, NotImplementedError, TypeError) as error:
        return type(error)
    if not isinstance(result, torch.Tensor):
        return None
    return result.dtype, torch.nan_to_num(result.double()).tolist()


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.text)
def test_what_autocast_changes_is_refused(row, device):
    for dtypes in [(half, other) for half in HALVES for other in (half, torch.float32)]:
        inputs = [torch.rand(4, dtype=dtypes[k % 2], device=device) for k in range(row.arity)]
        plain = outcome(row.eager, inputs)
        with autocast(device):
            changed = isinstance(plain, tuple) and outcome(row.eager, inputs) != plain
            if changed:
                with pytest.raises(ingot.Error, match="torch.autocast is on"):
                    ingot.op(f"def f({row.inputs}): return {row.text}")(*inputs)


def test_a_call_that_nothing_changes_is_made(device):
    f = ingot.op("torch.relu(x) * y + 1")
    x, y = (torch.randn(64, dtype=torch.bfloat16, device=device) for _ in range(2))
    with autocast(device):
        expected = f(x, y)
    exactly(f(x, y), expected)


def test_float32_is_what_the_losses_would_become(device):
    f = ingot.op("def f(x, y):\n    return F.mse_loss(x, y, reduction='none')\n")
    x, y = (torch.randn(64, device=device) for _ in range(2))
    with autocast(device):
        exactly(f(x, y), torch.nn.functional.mse_loss(x, y, reduction="none"))
        with pytest.raises(ingot.Error, match="`mse_loss`"):
            f(x.bfloat16(), y)


def test_the_state_is_that_of_each_call(device):
    f = ingot.op("def f(x, y):\n    return F.mse_loss(x, y, reduction='none')\n")
    x, y = (torch.randn(64, device=device).bfloat16() for _ in range(2))
    before = f(x, y)
    for _ in range(2):
        with autocast(device):
            with pytest.raises(ingot.Error, match="torch.autocast is on"):
                f(x, y)
            with torch.autocast(device, enabled=False):
                exactly(f(x, y), before)
        exactly(f(x, y), before)


def test_autocast_of_another_device_is_nothing():
    f = ingot.op("def f(x, y):\n    return F.mse_loss(x, y, reduction='none')\n")
    x = torch.randn(64).bfloat16()
    with contextlib.ExitStack() as stack:
        if torch.cuda.is_available():
            stack.enter_context(autocast("cuda"))
        exactly(f(x, x), torch.zeros(64, dtype=torch.bfloat16))


def test_what_becomes_the_widest_type_is_refused_for_halves():
    f = ingot.op("def f(x, y):\n    return cat([x, y])\n")
    x, y = torch.randn(3), torch.randn(3)
    with autocast("cpu"):
        exactly(f(x, y), torch.cat([x, y]))
        with pytest.raises(ingot.Error, match="`cat`"):
            f(x.half(), y.bfloat16())


def test_an_authors_own_function_is_not_pytorchs():
    f = ingot.op("def mse_loss(x):\n    return x * 2\n\ndef f(x):\n    return mse_loss(x)\n", name="f")
    x = torch.randn(3).bfloat16()
    with autocast("cpu"):
        exactly(f(x), x * 2)
