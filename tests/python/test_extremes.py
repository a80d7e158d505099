"""Reductions at the limits of a dtype's range: variances whose squares overflow or underflow, and zeros of both
signs."""

import itertools
import math

import pytest
import torch

import ingot

FLOATS = [torch.float32, torch.float64, torch.float16, torch.bfloat16]


@pytest.mark.parametrize("dtype", FLOATS)
def test_variances_at_the_ends_of_the_range_equal_eager(device, dtype):
    """Squares that overflow are infinite, those that underflow are zero, and their difference is never NaN or -0. On
    the CPU eager sums squares of float32 in float64."""
    texts = ["x.var(-1)", "x.std(-1)", "x.var(0)", "x.std()", "torch.std_mean(x, -1)", "torch.var_mean(x)[0]", "x.var(-1, correction=99)",
             "x.std(0, correction=4)", "torch.var_mean(x, 0, correction=4)"]  # fmt: skip
    norms = ["F.batch_norm(x, None, None, training=True)", "F.instance_norm(x.view(2, 2, -1))"]
    values = torch.randn(4, 64, dtype=torch.float64, device=device)
    injected = values.clone()
    injected[1, 7], injected[2, 3] = math.inf, math.nan
    scales = [1e200, 1e-200, 1e160] if dtype == torch.float64 else [1e4, 1e-3] if dtype == torch.float16 else [1e30, 1e-30, 1e19]
    inputs = [*((values * scale).to(dtype) for scale in scales), injected.to(dtype), torch.full_like(values, 3.0).to(dtype)]
    ops = [ingot.op(f"def f(x): return {text}") for text in texts + norms]
    ingot.prepare_all((op, (x,)) for op in ops for x in inputs[:1])
    for op, text in zip(ops, texts + norms):
        for x in inputs:
            for actual, expected in zip(*((r,) if isinstance(r, torch.Tensor) else r for r in (op(x), op.reference(x)))):
                message = f"{text} of {x[0, 0]}: {actual}, eager {expected}"
                if text in norms:  # CUDA's kernels compute infinity times 0 in a thread without elements
                    assert not (actual.isnan() & ~expected.isnan()).any(), message
                    assert device == "cuda" or not (expected.isnan() & ~actual.isnan()).any(), message
                    continue
                near = actual.double() - expected.double()
                near = near.abs() <= (2e-2 if dtype.itemsize == 2 else 1e-5) * expected.abs().double()
                assert ((actual == expected) | near | actual.isnan() & expected.isnan()).all(), message
                assert torch.equal(actual.signbit() & (actual == 0), expected.signbit() & (expected == 0)), message


@pytest.mark.parametrize("scale", [1e30, 1e-30])
def test_gradients_of_variances_at_the_ends_of_the_range(scale):
    for text in ("x.std(-1)", "x.std()", "x.var(-1) / scale"):
        op = ingot.op(f"def f(x, scale: float): return {text}")
        x = (torch.randn(4, 64) * scale).requires_grad_()
        actual, expected = (torch.autograd.grad(f(x, scale).sum(), x)[0] for f in (op, op.reference))
        torch.testing.assert_close(actual, expected, rtol=1e-4, atol=1e-6 * float(expected.abs().max()), msg=text)


@pytest.mark.parametrize("text", ["F.layer_norm(x, (6,))", "F.group_norm(x, 2)", "F.instance_norm(x)", "F.rms_norm(x, (6,))",
                                  "F.batch_norm(x, None, None, training=True)"])  # fmt: skip
def test_gradients_of_normalizations_of_any_scale(text, device):
    """The cube of a row's scale overflows. On the CPU this makes eager's gradient of rms_norm wrong, so the reference is float64."""
    op = ingot.op(f"def f(x, eps): return {text.removesuffix(')')}, eps=eps)")
    for scale in (1e17, 1e-13):
        x = (torch.randn(3, 4, 6, device=device) * scale).requires_grad_()
        wide, cotangent = x.detach().double().requires_grad_(), torch.randn(3, 4, 6, device=device)
        actual = torch.autograd.grad(op(x, 1e-36), x, cotangent)[0].double()
        exact = torch.autograd.grad(op.reference(wide, 1e-36), wide, cotangent.double())[0]
        assert (actual - exact).abs().max() < 1e-5 * exact.abs().max(), scale


def test_gradients_of_variances_whose_correction_exceeds_the_count(device):
    for text in ("x.var(-1, correction=5)", "torch.var_mean(x, -1, correction=4)[0]", "x.std(0, correction=9)"):
        op = ingot.op(f"def f(x): return {text}")
        x = torch.randn(4, 3, device=device, requires_grad=True)
        actual, expected = (torch.autograd.grad(f(x).sum(), x)[0] for f in (op, op.reference))
        torch.testing.assert_close(actual, expected, msg=text)


@pytest.mark.parametrize("dtype", FLOATS)
def test_extremes_of_zeros_have_a_defined_sign(device, dtype):
    """On the CPU the result is the first zero of few elements; with more elements eager's result depends on its
    vectors. On CUDA -0 < 0; eager's result depends on its threads. A function that also returns an index gives the
    first zero, as in eager."""
    op = ingot.op("def f(x): return x.amax(1), x.amin(1), x.max(1).values, x.min(1).values, x.amax(0), x.amin(0)")
    for n in (1, 2, 3, 5):
        x = torch.tensor(list(itertools.product((0.0, -0.0), repeat=n)), dtype=dtype, device=device)[: 8 if device == "cpu" else None]
        if device == "cpu":
            expected = [r.signbit() for r in op.reference(x)]
        else:
            sign = x.signbit()
            expected = [sign.all(1), sign.any(1), sign[:, 0], sign[:, 0], sign.all(0), sign.any(0)]
            assert all(torch.equal(r.signbit(), sign[:, 0]) for r in op.reference(x)[2:4])
        assert [r.signbit().tolist() for r in op(x)] == [sign.tolist() for sign in expected]


@pytest.mark.parametrize("text", ["torch.linalg.vector_norm(x, p, 1)", "x.norm(p, (0, 2), True)", "x[0, :, 0].norm(p, 0)", "F.normalize(x, p, 0)",
                                  "torch.dist(x[0, 0, 0], x[0, 0, 0] * 3, p)"])  # fmt: skip
def test_the_norm_of_one_element_is_its_length_at_any_scale(text, device):
    x = torch.tensor([1e30, -2.0, 0.0, -1e-30, math.inf, math.nan], device=device).view(6, 1, 1)
    for p in (2, 3, 0.5, -1.5):
        op = ingot.op(f"def f(x): return {text.replace('p)', f'{p})').replace('p,', f'{p},')}")
        for each in (x, *x.split(1)):
            torch.testing.assert_close(op(each), op.reference(each), rtol=0, atol=0, equal_nan=True)


@pytest.mark.parametrize("p", [2, 3, 0.5, -1.5])
def test_the_gradient_of_a_norm_of_one_element_at_any_scale(p, device):
    """Eager's gradient is NaN if a power of the element overflows, except for p = 2."""
    x = torch.tensor([[1e30], [-2.0], [0.0], [-1e-30]], device=device, requires_grad=True)
    (gradient,) = torch.autograd.grad(ingot.op(f"torch.linalg.vector_norm(x, {p}, 1)")(x).sum(), x)
    assert gradient.flatten().tolist() == [1.0, -1.0, 0.0, -1.0]


@pytest.mark.parametrize("weight", ["", ", pos_weight=w"])
@pytest.mark.parametrize("dtype, rtol", [(torch.float32, 1e-5), (torch.float64, 1e-12)], ids=str)
def test_the_gradient_of_large_logits(dtype, rtol, weight, device):
    """The gradient is so small that computing it from the terms of the loss would lose all its digits."""
    x = torch.tensor([-60.0, -30, -20, -10, -0.5, 1e-9, 0.5, 10, 20, 100], dtype=dtype, device=device).requires_grad_()
    w = torch.tensor(2.5, dtype=dtype, device=device)
    op = ingot.op(f"def f(x, t, w): return F.binary_cross_entropy_with_logits(x, t, reduction='none'{weight})")
    for target in (0.0, 0.25, 1.0):
        t = torch.full_like(x, target).requires_grad_()
        # At a target of 1, the gradient of the logit is a small number minus 1. The gradient of the target is a
        # difference of two logarithms.
        atol = 0 if target == 0 else 4 * torch.finfo(dtype).eps
        for incoming in (1.0, math.inf):
            actual, expected = (torch.autograd.grad(f(x, t, w), (x, t), torch.full_like(x, incoming)) for f in (op, op.reference))
            torch.testing.assert_close(actual[0], expected[0], rtol=rtol, atol=atol, equal_nan=True)
            finite = expected[1].isfinite()  # elsewhere the probability underflows, and its logarithm is infinite
            torch.testing.assert_close(actual[1][finite], expected[1][finite], rtol=rtol, atol=40 * torch.finfo(dtype).eps)


@pytest.mark.parametrize("statement", ["l[0] = 0", "d = l.detach(); d[0] = 5", "l *= 2", "l[1:] += x[1:]"])
def test_a_loss_may_be_written_and_keeps_its_gradient(statement, device):
    body = "l = F.binary_cross_entropy_with_logits(x, t, reduction='none'); " + statement + "; return l"
    op = ingot.op("def f(x, t):\n    " + body.replace("; ", "\n    ") + "\n")
    x, t = torch.tensor([-2.0, 0.5, 3.0], device=device, requires_grad=True), torch.tensor([0.0, 0.25, 1.0], device=device)
    actual, expected = ((f(x, t), *torch.autograd.grad(f(x, t).sum(), x)) for f in (op, op.reference))
    torch.testing.assert_close(actual, expected)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_sums_of_exponentials_past_the_range_of_16_bits(dtype, device):
    """Values between two ops stay in float32."""
    x = torch.tensor([[100.0, 99.0, -100.0], [-100.0, -99.5, -100.0]], dtype=dtype, device=device)
    result = ingot.op("def f(x): return (x * 1000).logsumexp(1) / 1000")(x)
    torch.testing.assert_close(result, torch.tensor([100.0, -99.5], dtype=dtype, device=device))
