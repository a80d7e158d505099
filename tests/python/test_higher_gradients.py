"""Gradients of gradients, and gradients of elements that are read through several steps."""

import re

import pytest
import torch
from eager_gradients import evaluate, leaves_of, mismatch, op_of
from gradient_ops import OPS, random_tensor

import ingot


@pytest.mark.parametrize("function", OPS, ids=lambda f: f.__name__)
def test_second_derivatives_pass_gradgradcheck(function, device):
    """The first derivatives also pass gradcheck, and equal eager's."""
    op = ingot.op(function)
    arguments = [(a.to(device).requires_grad_() if a.is_floating_point() else a.to(device)) for a in OPS[function]]
    assert torch.autograd.gradcheck(op, arguments)
    assert torch.autograd.gradgradcheck(op, arguments)
    tensors = {str(k): a for k, a in enumerate(arguments)}
    assert not mismatch(op, lambda leaves: function(*leaves.values()), tensors)


# Reads of an element through several steps, and sources that once failed.
READS = [
    "x[i] * x[j]", "x.flip(0)[i]", "x.flip(0)[1:][i]", "x[::2].flip(0)[i % 3] * x[i]", "x.flip(0).reshape(-1, 1)[i, 0]",
    "m.flip(1).reshape(-1)[2:9] ** 3", "m.flip(-1).reshape(-1)[1:].unfold(0, 2, 1) ** 2", "m.flip(0)[::2] ** 3", "x.flip(0)[::2] ** 3",
    "x.unfold(0, 3, 1)[i % 4] ** 2", "x.unfold(0, 3, 1)[:, i % 3] ** 2", "x.unfold(0, 3, 1)[i % 3, i % 3] ** 2",
    "x.flip(0).unfold(0, 2, 2)[i % 3] ** 2", "x.unfold(0, 2, 1).reshape(2, -1) ** 2", "(x[:4] * m).unfold(-1, 2, 2) ** 3",
    "m.flip(0).diagonal() ** 3", "m[::2, ::3].diagonal() ** 3", "m.diagonal(-2) ** 3", "m[:, 1::2].diagonal() ** 2", "m.t().diagonal() ** 3",
    "torch.where(x > 0, x, x * 2).unfold(-1, 2, 2) ** 3", "m.max(1).values * m.argmax(0).sum()", "m.amin(0) * m.amax((0, 1))",
    "x.lgamma()", "torch.i0(x)", "special.i1(x)", "special.log_ndtr(x)", "torch.polygamma(1, x)", "F.binary_cross_entropy(x / 9, y / 9)",
    "F.softplus(x) * F.mish(x)", "torch.linalg.vector_norm(m, 3, 1)", "x.prod()", "m.cos().prod(1)", "F.cross_entropy(m, i[:3])",
]  # fmt: skip


@pytest.mark.parametrize("text", READS)
def test_second_derivatives_of_indirect_reads_equal_eagers(text):
    generator = torch.Generator().manual_seed(2)
    x = torch.rand(7, generator=generator, dtype=torch.float64) + 0.5
    tensors = {"x": x, "y": x.flip(0).clone(), "m": torch.randn(3, 4, generator=generator, dtype=torch.float64),
               "i": torch.tensor([0, 1, 1, -1]), "j": torch.tensor([-1, 2, 0, 2])}  # fmt: skip
    tensors = {n: t for n, t in tensors.items() if re.search(rf"\b{n}\b", text)}
    op = op_of(text, tensors)

    def both(function):
        """The gradients, and the gradients of a weighted sum of them."""
        leaves = leaves_of(tensors)
        inputs = [t for t in leaves.values() if t.requires_grad]
        result = function(leaves)
        first = torch.autograd.grad(result, inputs, torch.linspace(1, 2, result.numel()).to(result).view_as(result), create_graph=True)
        weighted = sum((g * torch.linspace(-1, 1, g.numel()).to(g).view_as(g)).sum() for g in first)
        second = torch.autograd.grad(weighted, inputs, allow_unused=True) if weighted.requires_grad else [None] * len(inputs)
        return [*first, *(torch.zeros_like(t) if g is None else g for g, t in zip(second, inputs))]

    for actual, expected in zip(both(lambda leaves: op(*leaves.values())), both(lambda leaves: evaluate(text, leaves))):
        torch.testing.assert_close(actual, expected, rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize("values", [[0.0, 2.0, 3.0], [0.0, 2.0, 0.0], [0.0, 0.0, 0.0], [1.5, 2.0, 3.0]])
@pytest.mark.parametrize("text", ["x.prod()", "x.prod(0, keepdim=True) * x", "x.sin().prod()"])
def test_second_derivatives_of_a_product_at_zeros_equal_eagers(text, values):
    op = ingot.op(text)

    def second(call):
        x = torch.tensor(values, dtype=torch.float64, requires_grad=True)
        (first,) = torch.autograd.grad(call(x).sum(), x, create_graph=True)
        return first.detach(), torch.autograd.grad((first * torch.tensor([1.0, 2.0, 4.0])).sum(), x)[0]

    for actual, expected in zip(second(op), second(op.reference)):
        torch.testing.assert_close(actual, expected)


def test_third_derivatives_equal_eagers():
    op = ingot.op("x.sin() * x")
    x = random_tensor(4).requires_grad_()
    expected_leaf = x.detach().requires_grad_()
    expected = expected_leaf.sin() * expected_leaf
    actual = op(x)
    for _ in range(3):
        (actual,) = torch.autograd.grad(actual.sum(), x, create_graph=True)
        (expected,) = torch.autograd.grad(expected.sum(), expected_leaf, create_graph=True)
        torch.testing.assert_close(actual, expected)
