"""Loads of columns that a condition selects, in loops that store several elements per step."""

import re

import pytest
import torch

import ingot

COLUMNS = ["a, b = x.chunk(2, 1); return (a + b).relu()", "a, b = x.chunk(2, 1); return F.hardtanh(a + b)",
           "a, b = x[:, :2], x[:, 2:]; c = torch.where(a > b, y, 0); return torch.cat([c, c, c * 2], 1)",
           "c = torch.where(x[:, :2] > 0, y * 2 + 1, y.flip(1)); return torch.stack([c[:, 0], c[:, 1], c[:, 1], c[:, 0]], 1)",
           "p = F.pad(x, (0, 0, 1, 1)); a, b = p.chunk(2, 1); return torch.cat([a.relu(), b.relu(), a.relu(), b.relu()], 1)"]  # fmt: skip


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.float16])
def test_selected_columns_are_loaded_from_their_own_address(dtype, device):
    """A step stores several elements, whose loads a condition selects. For such loads in a `?:`, GCC 12 reads other columns."""
    ops = [ingot.op("def f(x, y):\n    " + body.replace("; ", "\n    ") + "\n") for body in COLUMNS]
    for op, body in zip(ops, COLUMNS):
        for rows in (1, 2, 9, 37):
            x, y = (torch.arange(rows * n).mul(7).remainder(11).sub(5).to(dtype).view(rows, n).to(device) for n in (4, 2))
            results, gradients = [], []
            for f in (op, op.reference):
                leaves = x.clone().requires_grad_(), y.clone().requires_grad_()
                results.append(f(*leaves))
                cotangent = torch.arange(1, 1 + results[-1].numel()).to(results[-1]).view(results[-1].shape)
                gradients.append(torch.autograd.grad(results[-1], leaves, cotangent, allow_unused=True, materialize_grads=True))
            for actual, expected in [results, *zip(*gradients)]:
                assert torch.equal(actual, expected), body


def test_no_load_on_the_cpu_depends_on_a_condition():
    for body in COLUMNS[:-1]:  # padding has loads with bounds checks
        op = ingot.op("def f(x, y):\n    " + body.replace("; ", "\n    ") + "\n")
        x, y = torch.zeros(9, 4, requires_grad=True), torch.zeros(9, 2, requires_grad=True)
        for stage in ("source", "backward-source"):
            source = op.emit(stage, x, y, device="cpu")
            assert "?" in source and not re.search(r"\?[^;]*\[[^;]*:|\?[^;]*:[^;]*\[", source), source
