"""A value on the CPU is the same bits whatever is computed beside it: alone, in vectors, at the end of a row, in a gradient
that computes it again."""

import pytest
import torch

import ingot

FUNCTIONS = ["acos", "acosh", "asin", "asinh", "atan", "atanh", "cos", "cosh", "erf", "erfc", "exp", "exp2", "expm1", "log",
             "log10", "log1p", "log2", "sin", "sinh", "tan", "tanh", "sigmoid", "lgamma", "digamma"]
PAIRS = ["torch.atan2(x, y)", "torch.hypot(x, y)", "x ** y", "torch.logaddexp(x, y)"]
TEXTS = [f"torch.{name}(x)" for name in FUNCTIONS] + PAIRS + ["F.gelu(x)", "F.mish(x)"]
DTYPES = [torch.float32, torch.float64]


def numbers(*shape, dtype):
    generator = torch.Generator().manual_seed(1)
    return torch.rand(shape, generator=generator, dtype=torch.float64).mul(0.9).add(0.05).to(dtype)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("text", TEXTS)
def test_apart_and_among_neighbours(text, dtype):
    x, y = numbers(67, 300, dtype=dtype), numbers(300, dtype=dtype)
    if "acosh" in text:
        x = x + 1
    op = ingot.op(f"def f(x, y): return {text} + 0 * y")
    whole = op(x, y)
    assert torch.equal(op(x[:, ::3], y[::3]), whole[:, ::3])
    assert torch.equal(op(x[:, :5], y[:5]), whole[:, :5])
    assert torch.equal(op(x.t().contiguous().t(), y), whole)
    assert torch.equal(op(x[3:4, 7], y[7]), whole[3:4, 7])


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("text", TEXTS)
def test_the_largest_is_found_again(text, dtype):
    """Its gradient goes to the elements that are it, by their values, which another kernel computes."""
    op = ingot.op(f"def f(x, y): return ({text} + 0 * y).amax(AXIS)".replace("AXIS", "1"))
    one = ingot.op(f"def f(x, y): return ({text} + 0 * y).amax()")
    for shape in ((500, 40), (37, 1023)):
        x, y = numbers(*shape, dtype=dtype), numbers(shape[1], dtype=dtype)
        if "acosh" in text:
            x = x + 1
        x.requires_grad_()
        slopes = torch.autograd.grad(ingot.op(f"def f(x, y): return {text} + 0 * y")(x, y).sum(), x)[0].detach()
        (rows,) = torch.autograd.grad(op(x, y).sum(), x)
        (all_,) = torch.autograd.grad(one(x, y), x)
        shares = (rows / slopes).sum(1)
        torch.testing.assert_close(shares, torch.ones_like(shares), rtol=1e-4, atol=1e-4)
        torch.testing.assert_close((all_ / slopes).sum().item(), 1.0, rtol=1e-4, atol=1e-4)


def test_of_sums_and_norms():
    t = torch.randn(300, 300, dtype=torch.float64, generator=torch.Generator().manual_seed(1)).requires_grad_()
    for text in ("t.sum(0).sin().amax()", "t.sin().norm(float('inf'), 1)", "(t.sin() - t.sin().amax(1, keepdim=True)).exp().sum(1).log()"):
        op = ingot.op(text)
        for create_graph in (False, True):
            (found,) = torch.autograd.grad(op(t).sum(), t, create_graph=create_graph)
            torch.testing.assert_close(found, *torch.autograd.grad(op.reference(t).sum(), t), rtol=1e-9, atol=1e-9)
