"""Gradients in edge cases: second derivatives at 0 and far from it, numbers as operands, `inplace=True`, coinciding
points, operands that are written after they were read, and gradients that no kernel computes."""

import math
import re

import pytest
import torch
import torch.nn.functional as F
from eager_gradients import check, evaluate, leaves_of, mismatch, op_of, prepare

import ingot

EDGES = [0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 3.0, -3.0, 6.0, 20.0, -20.0, 40.0, -40.0, -89.0, -104.0, 100.0]


def second_gradients(results: list, leaves: dict) -> dict:
    """The gradients, with respect to each leaf, of a sum of the gradients with a weight per element."""
    inputs = [leaf for leaf in leaves.values() if leaf.requires_grad]
    total = 0
    for result in results:
        cotangent = torch.linspace(1, 2, result.numel(), dtype=torch.float64).to(result).view_as(result)
        for gradient in torch.autograd.grad(result, inputs, cotangent, create_graph=True, allow_unused=True):
            if gradient is not None and gradient.requires_grad:
                total = total + (gradient * torch.linspace(-1, 1, gradient.numel()).to(gradient).view_as(gradient)).sum()
    if not isinstance(total, torch.Tensor):
        return {name: torch.zeros_like(leaf) for name, leaf in leaves.items()}
    gradients = torch.autograd.grad(total, inputs, allow_unused=True)
    return {name: torch.zeros_like(leaf) if g is None else g for (name, leaf), g in zip(leaves.items(), gradients)}


SECOND = ["F.logsigmoid(x)", "F.silu(x)", "F.mish(x)", "special.log_ndtr(x)", "F.elu(x)", "F.selu(x)", "F.celu(x, 0.7)",
          "F.softplus(x, 2.0, 12.0)", "F.glu(torch.stack([x, x.flip(0)]), 0)"]


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=str)
def test_second_orders_of_activations_at_edges(dtype, device):
    x = torch.tensor([*EDGES, 6.0, 12.0], dtype=dtype, device=device)
    lines = {}
    for text in SECOND:
        if dtype == torch.float32 and "log_ndtr" in text:
            continue  # far below 0 both have lost their digits
        actual_leaves, expected_leaves = leaves_of({"x": x}), leaves_of({"x": x})
        actual = second_gradients([op_of(text, "x")(actual_leaves["x"])], actual_leaves)["x"]
        expected = second_gradients([evaluate(text, expected_leaves)], expected_leaves)["x"]
        wrong = torch.isfinite(expected) & ~torch.isclose(actual, expected, rtol=1e-5, atol=1e-6)
        if wrong.any():
            lines[text] = f"got {actual[wrong].tolist()}, expected {expected[wrong].tolist()} at {x[wrong].tolist()}"
    check(lines)


@pytest.mark.parametrize("text", ["F.soft_margin_loss(x, y, reduction='none')", "F.huber_loss(x, y, reduction='none')"])
def test_second_orders_of_losses_at_edges(text, device):
    x = torch.tensor([-88.0, -60.0, -45.0, -2.0, -1.0, 0.0, 0.5, 1.0, 2.0, 45.0, 88.0], device=device)
    for y in (torch.ones_like(x), -torch.ones_like(x), torch.zeros_like(x)):
        actual_leaves, expected_leaves = leaves_of({"x": x}), leaves_of({"x": x})
        actual = second_gradients([op_of(text, "xy")(actual_leaves["x"], y)], actual_leaves)["x"]
        expected = second_gradients([evaluate(text, expected_leaves | {"y": y})], expected_leaves)["x"]
        torch.testing.assert_close(actual, expected, rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize("reduction", ["none", "mean", "sum"])
def test_second_orders_of_cross_entropies(reduction, device):
    text = f"F.binary_cross_entropy(x.sigmoid(), y.sigmoid(), reduction='{reduction}')"
    tensors = {"x": torch.tensor([4.0, -3.5, 3.0, -1.0, 25.0]), "y": torch.tensor([4.0, -3.0, 1.5, 2.5, 0.0])}
    tensors = {n: t.double().to(device) for n, t in tensors.items()}
    actual_leaves, expected_leaves = leaves_of(tensors), leaves_of(tensors)
    actual = second_gradients([op_of(text, tensors)(*actual_leaves.values())], actual_leaves)
    expected = second_gradients([evaluate(text, expected_leaves)], expected_leaves)
    for name in tensors:
        torch.testing.assert_close(actual[name], expected[name], rtol=1e-9, atol=1e-14)


# Calls that change t, a tensor that the op computed; the gradient passes through the change.
IN_PLACE = ["F.relu(t, inplace=True)", "F.relu(t, True)", "F.leaky_relu(t, 0.2, inplace=True)", "F.silu(t, inplace=True)",
            "F.hardtanh(t, -0.5, 0.5, inplace=True)", "F.threshold(t, 0.1, 0.3, inplace=True)", "F.mish(t, inplace=True)",
            "F.hardswish(t, inplace=True)", "F.hardsigmoid(t, inplace=True)", "F.elu(t, inplace=True)",
            "F.celu(t, inplace=True)", "F.selu(t, inplace=True)", "F.relu6(t, inplace=True)", "F.rrelu(t, inplace=True)",
            "F.dropout(t, 0.0, True, inplace=True)", "torch.relu_(t)", "t.sigmoid_()", "F.elu_(t)"]


def test_functions_with_inplace_have_gradients(device):
    x = torch.tensor([-4.0, -2.0, -0.4, -0.2, 0.2, 0.4, 2.0, 7.0], dtype=torch.float64, device=device)
    lines = {}
    for text in IN_PLACE:
        op = ingot.op(f"def f(x):\n    t = x * 1.5\n    u = {text}\n    return u * t.sin()\n")
        lines[text] = mismatch(op, lambda leaves, op=op: op.reference(*leaves.values()), {"x": x})
    check(lines)


@pytest.mark.parametrize("text", ["torch.xlogy(x, y)", "special.xlog1py(x, y)"])
def test_a_gradient_of_0_stays_0_in_xlogy(text, device):
    """PyTorch's rule is xlogy of the gradient, which is 0 for a gradient of 0, even if the logarithm is infinite."""
    x = torch.linspace(-2, 2, 8, dtype=torch.float64, device=device)
    tensors = {"x": x, "y": torch.full_like(x, -2.5)}
    op = op_of(f"F.layer_norm(F.hardtanh({text}), (8,))", tensors)
    assert not mismatch(op, lambda leaves: op.reference(*leaves.values()), tensors)


NUMBERS = [2, 2.0, 0.5, 0, -1.5]
WITH_NUMBERS = ["torch.xlogy(x, {n})", "torch.xlogy({n}, x)", "special.xlog1py(x, {n})", "special.xlog1py({n}, x)", "x ** {n}", "{n} ** x",
                "torch.pow(x, {n})", "torch.pow({n}, x)", "x * {n}", "x + {n}", "x - {n}", "{n} - x", "x / {n}", "{n} / x",
                "torch.fmod(x, {n})", "torch.remainder(x, {n})", "torch.lerp(x, x * 2, {n})", "torch.add(x, x, alpha={n})",
                "torch.addcmul(x, x, x, value={n})", "torch.addcdiv(x, x, x, value={n})", "torch.where(x > 0.5, x, {n})",
                "torch.where(x > 0.5, {n}, x)", "x.clamp({n})", "x.clamp(max={n})", "x.masked_fill(x > 0.5, {n})",
                "torch.float_power(x, {n})", "torch.copysign(x, {n})", "x // {n}", "torch.sub(x, x, alpha={n})",
                "torch.rsub(x, {n})", "torch.threshold(x, {n}, 3.0)", "torch.logit(x, 0.1) * {n}"]  # fmt: skip


@pytest.mark.parametrize("is_run_time", [False, True])
def test_numbers_may_be_operands(is_run_time, device):
    x = torch.tensor([0.3, 0.7, 1.6, 0.9], dtype=torch.float64, device=device)
    ops, lines = {}, {}
    for text in WITH_NUMBERS:
        for number in NUMBERS[1:2] if is_run_time else NUMBERS:
            body = text.format(n="n" if is_run_time else number)
            parameter = f", n: float = {float(number)}" if is_run_time else ""
            op = ingot.op(f"def f(x{parameter}):\n    return {body}\n")
            try:
                op.reference(x)
            except (RuntimeError, TypeError):
                continue
            ops[f"{text} of {number}"] = op
    prepare((op, {"x": x}) for op in ops.values())
    for text, op in ops.items():
        lines[text] = mismatch(op, lambda leaves, op=op: op.reference(*leaves.values()), {"x": x})
    check(lines)


@pytest.mark.parametrize("p", [0.0, 0.5, 1.0, 1.5, 2.0, 3.0, math.inf])
def test_coinciding_points_have_eagers_gradient(p, device):
    x = torch.tensor([[0.0, 0.0, 0.0], [1.0, 2.0, 2.0], [1.0, 2.0, 0.5]], dtype=torch.float64, device=device)
    y = torch.tensor([[0.0, 0.0, 0.0], [1.0, 2.0, 2.0], [1.0, -1.0, 2.0], [2.0, 1.0, 1.0]], dtype=torch.float64, device=device)
    texts = [f"torch.cdist(x, y, {p})", f"F.pairwise_distance(x, y[:3], {p}, eps=0.0)", f"torch.dist(x, x.flip(0), {p})"]
    texts = [text.replace("inf", "math.inf") for text in texts]
    used = {text: {n: t for n, t in {"x": x, "y": y}.items() if re.search(rf"\b{n}\b", text)} for text in texts}
    check({text: mismatch(op_of(text, inputs), lambda leaves, text=text: evaluate(text, leaves), inputs) for text, inputs in used.items()})


@pytest.mark.parametrize("values", [[0.0, 0.0], [1e-9, 2e-9], [3.0, -1e-12]])
def test_cosine_of_vectors_of_length_0(values, device):
    x = torch.tensor([values, [1.0, 2.0]], dtype=torch.float64, device=device)
    y = torch.tensor([[1.0, -2.0], [0.0, 0.0]], dtype=torch.float64, device=device)
    text = "F.cosine_similarity(x, y, 1)"
    assert not mismatch(op_of(text, "xy"), lambda leaves: evaluate(text, leaves), {"x": x, "y": y})


def test_a_variance_below_eps_has_its_gradient(device):
    inputs = {name: torch.tensor([[0.25, 1e-9, 0.0], [2.0, 1e-6, 3.0]], dtype=torch.float64, device=device) for name in "xyv"}
    inputs["x"], inputs["y"] = inputs["x"] + 0.5, inputs["y"] - 0.25
    text = "F.gaussian_nll_loss(x, y, v, reduction='none')"
    assert not mismatch(op_of(text, inputs), lambda leaves: evaluate(text, leaves), inputs)


def test_a_cosine_has_eagers_dtype():
    x, s = torch.randn(2, 3), torch.tensor(2.0, dtype=torch.float64)
    for a, b in ((x, s), (s, x), (x.double(), s.float()), (x.half(), s.float())):
        assert ingot.op("def f(a, b): return F.cosine_similarity(a, b, 0)")(a, b).dtype == F.cosine_similarity(a, b, 0).dtype


WRITES = {
    "y = x.exp()\n    z = y * y\n    y += 1\n    return z + y": lambda x: x.exp() * x.exp() + x.exp() + 1,
    "y = x * 2\n    z = y.sin()\n    y[:, 1:].mul_(3)\n    return z * y":
        lambda x: (x * 2).sin() * torch.cat([x[:, :1] * 2, x[:, 1:] * 6], 1),
    "y = x.sigmoid()\n    z = y / (1 + y)\n    y.zero_()\n    return z": lambda x: x.sigmoid() / (1 + x.sigmoid()),
}


@pytest.mark.parametrize("body", WRITES)
def test_gradients_use_operands_as_they_were_read(body, device):
    """Eager's autograd rejects these ops, because a later write changed the saved value."""
    x = torch.randn(3, 4, dtype=torch.float64, device=device)
    op = ingot.op(f"def f(x):\n    {body}\n")
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        op.reference(x.clone().requires_grad_()).sum().backward()
    assert not mismatch(op, lambda leaves: WRITES[body](leaves["x"]), {"x": x})


def test_a_gradient_that_is_too_large_falls_back():
    x = torch.randn(0, 9, dtype=torch.float64, requires_grad=True)  # no elements: nothing is compiled
    op = ingot.op("def f(x):\n    y = x\n    for _ in range(20000):\n        y = y.sin()\n    return y.sum(1)\n")
    result, before = op(x), ingot.counters()
    with pytest.warns(UserWarning, match="no kernel computes its gradient(.|\n)*larger than 50000 nodes"):
        (gradient,) = torch.autograd.grad(result.sum(), x)
    assert gradient.shape == x.shape and ingot.counters().since(before).eager_fallbacks == 1


def test_empty_tensors_have_zero_gradients(device):
    x = torch.randn(0, 1, dtype=torch.float64, device=device)
    for text in ("x.diagonal(1, 1, -2)", "torch.diagonal(x, 1, 1, -2) * 2 + x.sum()"):
        assert not mismatch(op_of(text, "x"), lambda leaves, text=text: evaluate(text, leaves), {"x": x})


TIES = ["F.log_softmax(x, 1).amin(0)", "x.exp().amax(1)", "(x - F.log_softmax(x, 1)).amin(1)", "x.sin().amax()", "x.exp().amin()"]


@pytest.mark.parametrize("text", TIES)
def test_ties_share_the_gradient(text, device):
    x = torch.tensor([[0.0, 2.0, 2.0, 1.0], [1.0, 1.0, 1.0, 1.0], [0.0, 2.0, 2.0, -1.0], [-math.inf, 3.0, 0.0, 3.0]], dtype=torch.float64)
    x = x.to(device)[: 3 if "softmax" in text or "sin" in text else 4]
    assert not mismatch(op_of(text, "x"), lambda leaves: evaluate(text, leaves), {"x": x})


@pytest.mark.parametrize("order", [0.5, -1, 1.5, 2, 2.5, 3])
def test_the_norm_of_a_row_with_nan_has_eagers_gradient(order, device):
    """The gradient of the whole row is NaN, also for its zeros."""
    x = torch.tensor([[1.0, math.nan, 0.0], [-math.inf, 2.0, 0.0], [1.0, 0.0, 3.0], [0.0, 0.0, 0.0]], dtype=torch.float64, device=device)
    assert not mismatch(ingot.op(f"torch.linalg.vector_norm(x, {order}, -1)"), lambda leaves: torch.linalg.vector_norm(leaves["x"], order, -1), {"x": x})


@pytest.mark.parametrize("order", [0.5, -1, 1.5, 2, 2.5, 3])
@pytest.mark.parametrize("count", [1, 3])
def test_the_norm_of_a_row_of_zeros_has_gradient_0(order, count, device):
    """An infinite upstream gradient gives 0 too. For some orders eager multiplies it by 0, which is NaN."""
    for then in ("** 0.5", "* math.inf", ".log()"):
        x = torch.zeros(2, count, dtype=torch.float64, device=device, requires_grad=True)
        op = ingot.op(f"def f(x): return torch.linalg.vector_norm(x, {order}, -1) {then}")
        (gradient,) = torch.autograd.grad(op(x).sum(), x)
        (expected,) = torch.autograd.grad(op.reference(x).sum(), x)
        assert torch.equal(gradient, expected.nan_to_num(0.0)) and torch.equal(gradient, torch.zeros_like(x))


def test_the_product_of_one_element_has_gradient_one(device):
    for number in (math.inf, math.nan, 0.0, -2.5):
        x = torch.tensor(number, dtype=torch.float64, device=device)
        for text in ("x.prod()", "x.prod(0)", "torch.prod(x, -1, True) * 3", "x.prod(dtype=torch.float32)"):
            assert not mismatch(op_of(text, "x"), lambda leaves, text=text: evaluate(text, leaves), {"x": x}), (number, text)


@pytest.mark.parametrize("function", ["std_mean", "var_mean"])
def test_the_mean_of_a_row_with_an_infinity_has_eagers_gradient(function, device):
    """The mean returned with a variance is NaN. Its gradient is the share of an element, as in any row."""
    x = torch.tensor([[-math.inf, 2.0, 0.0], [1.0, 0.0, 3.0]], dtype=torch.float64, device=device)
    text = f"torch.{function}(x, 1, correction=2)[1]"
    assert not mismatch(ingot.op(text), lambda leaves: evaluate(text, leaves), {"x": x})


@pytest.mark.parametrize("text", ["x.logsumexp(1)", "x.logsumexp((1,), True)", "torch.logsumexp(x, (0, 1))", "x.t().logsumexp(1)"])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_logsumexp_with_an_infinity_has_zero_gradients_elsewhere(text, dtype, device):
    x = torch.tensor([[math.inf, 100.0, 1.0], [-math.inf] * 3, [1e30, 100.0, math.inf], [90.0, -math.inf, 89.0]], dtype=dtype, device=device)
    assert not mismatch(op_of(text, "x"), lambda leaves: evaluate(text, leaves), {"x": x}, dict(rtol=5e-5, atol=1e-7))
