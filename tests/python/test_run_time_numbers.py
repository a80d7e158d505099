"""Run-time numbers as bounds, sizes and indices: each gives eager's result, or an error if eager raises one."""

import contextlib

import pytest
import torch

import ingot

FORMS = [
    # bounds of slices
    "(x[0] + y[0]) * x[:min(x.size(0), y.size(0), k)]",
    "(x[0] + y[0]) * x[min(k, x.size(0), y.size(0)):]",
    "x[:k] * 2",
    "x[k:] + y[0]",
    "x[-k:] - x[:k]",
    "x[:max(k, -1, 0)] + x[0]",
    "x[max(k, x.size(0) - 1, 1):]",
    "x[:x.size(0) // 2 + k] * 3",
    "x[::2][:k] + 1",
    "x[:k][k:] + 1",
    "x[1:][:k] * x[:1]",
    "x[:abs(k)] + x[0]",
    "x[:k % 2] * 2",
    "x[:k if k > 0 else 1] + 1",
    # lengths and positions
    "arange(k)",
    "arange(k) * 2.0 + x",
    "arange(k) + arange(k) * 2",
    "arange(k) * 2 + x[0]",
    "arange(k, 3) * k",
    "x * arange(k).sub(1).unsqueeze(1)",
    "where(arange(x.size(0)) < k, x, -x)",
    "zeros(k) + x",
    "full((k, 2), 1.5) * 2",
    "x.narrow(0, 0, k) + 1",
    "x.narrow(0, k, 1) + 1",
    "x.expand(k, x.size(0)) * 2",
    "x[:k].expand(2) + 1",
    "x.select(0, k) + y[0]",
    "x[k] * 2",
    "x[:k].flip(0) - x[:k]",
    # concatenations
    "cat([x[:k], y])",
    "stack([x[:k], x[:k] + 1])",
    "cat([x[:k], x[k:]]) + 1",
    "x[:k].chunk(2)[0]",
]
SIZES = [(0, 0), (1, 1), (2, 2), (1, 2), (20, 30)]
NUMBERS = range(-3, 4)


def outcome(call, *arguments):
    try:
        return call(*arguments)
    except Exception as error:  # eager's errors have many classes
        return error


@pytest.mark.parametrize("text", FORMS)
def test_run_time_numbers_give_eagers_result_or_error(text):
    op = ingot.op(f"def f(x, y, k: int):\n    return {text}\n")
    calls = [(torch.randn(m), torch.randn(n), k) for m, n in SIZES for k in NUMBERS]
    with contextlib.suppress(ingot.Error):
        ingot.prepare_all([(op, arguments) for arguments in calls])
    for x, y, k in calls:
        actual, expected = outcome(op, x, y, k), outcome(op.reference, x, y, k)
        message = f"{text} with sizes {len(x)} and {len(y)}, k = {k}: {actual}, eager: {expected}"
        if isinstance(expected, Exception):
            assert isinstance(actual, ingot.Error), message
        else:
            assert not isinstance(actual, Exception), message
            assert actual.dtype == expected.dtype and torch.equal(actual, expected), message
