"""Calls that eager rejects while autograd records them: arguments without a derivative in PyTorch, and writes to views
that one function returned together. The printed graph has a condition for such calls only if the op
has any."""

import re

import pytest
import torch
import torch.nn.functional as F

import ingot

CLASSES = torch.tensor([0, 1, 2])
LOSSES = {
    "F.binary_cross_entropy(x, y, w)": {"x": (3, 4), "y": (3, 4), "w": (3, 4)},
    "F.binary_cross_entropy_with_logits(x, y, w, pos_weight=v)": {"x": (3, 4), "y": (3, 4), "w": (4,), "v": (4,)},
    "F.nll_loss(x, t, w)": {"x": (3, 4), "w": (4,)},
    "F.nll_loss(x, t, w * 2)": {"x": (3, 4), "w": (4,)},
    "F.nll_loss(x, t, w.detach())": {"x": (3, 4), "w": (4,)},
    "F.cross_entropy(x, t, w)": {"x": (3, 4), "w": (4,)},
    "F.cross_entropy(x, t, w, label_smoothing=0.1)": {"x": (3, 4), "w": (4,)},
    "F.cross_entropy(x, y, w)": {"x": (3, 4), "y": (3, 4), "w": (4,)},
    "F.multi_margin_loss(x, t, weight=w)": {"x": (3, 4), "w": (4,)},
    "F.multilabel_soft_margin_loss(x, y, w)": {"x": (3, 4), "y": (3, 4), "w": (4,)},
    "F.soft_margin_loss(x, y)": {"x": (3, 4), "y": (3, 4)},
    "F.mse_loss(x, y, weight=w)": {"x": (3, 4), "y": (3, 4), "w": (3, 4)},
    "F.l1_loss(x, y, weight=w)": {"x": (3, 4), "y": (3, 4), "w": (3, 4)},
    "F.smooth_l1_loss(x, y)": {"x": (3, 4), "y": (3, 4)},
    "F.huber_loss(x, y, weight=w)": {"x": (3, 4), "y": (3, 4), "w": (3, 4)},
    "F.kl_div(x, y)": {"x": (3, 4), "y": (3, 4)},
    "F.kl_div(x, y, log_target=True)": {"x": (3, 4), "y": (3, 4)},
    "F.poisson_nll_loss(x, y, full=True)": {"x": (3, 4), "y": (3, 4)},
    "F.gaussian_nll_loss(x, y, w, full=True)": {"x": (3, 4), "y": (3, 4), "w": (3, 4)},
    "F.hinge_embedding_loss(x, y)": {"x": (3, 4), "y": (3, 4)},
    "F.margin_ranking_loss(x, y, w)": {"x": (3, 4), "y": (3, 4), "w": (3, 4)},
    "F.cosine_embedding_loss(x, y, w)": {"x": (3, 4), "y": (3, 4), "w": (3,)},
    "F.triplet_margin_loss(x, y, w, swap=True)": {"x": (3, 4), "y": (3, 4), "w": (3, 4)},
    "F.cosine_similarity(x, y)": {"x": (3, 4), "y": (3, 4)},
    "F.pairwise_distance(x, y)": {"x": (3, 4), "y": (3, 4)},
    "torch.cdist(x, y)": {"x": (3, 4), "y": (3, 4)},
}
NORMS = {
    "F.batch_norm(x, m, v, w, b)": {"x": (3, 4, 5), "m": (4,), "v": (4,), "w": (4,), "b": (4,)},
    "F.batch_norm(x, m * 1, v * 1, w, b, True)": {"x": (3, 4, 5), "m": (4,), "v": (4,), "w": (4,), "b": (4,)},
    "F.instance_norm(x, m, v, w, b, False)": {"x": (3, 4, 5), "m": (4,), "v": (4,), "w": (4,), "b": (4,)},
    "F.instance_norm(x, m * 1, v * 1, w, b)": {"x": (3, 4, 5), "m": (4,), "v": (4,), "w": (4,), "b": (4,)},
    "F.layer_norm(x, (5,), w, b)": {"x": (3, 4, 5), "w": (5,), "b": (5,)},
    "F.rms_norm(x, (5,), w)": {"x": (3, 4, 5), "w": (5,)},
    "F.group_norm(x, 2, w, b)": {"x": (3, 4, 5), "w": (4,), "b": (4,)},
    "F.prelu(x, w)": {"x": (3, 4, 5), "w": (4,)},
}
# Statements that write to y, which is x * 1, or to views of it, and reads after a write.
VIEWS = [
    "a, b = y.chunk(2)\n    a += w[:2]",
    "a = y.chunk(1)[0]\n    a += 1",
    "a, b = y.split(2)\n    b.copy_(w[:2])",
    "a, b = y.split_with_sizes([1, 3])\n    a[0] = w[0]",
    "a = y.unbind()[1]\n    a.mul_(w[0])",
    "a = [row for row in y][2]\n    a.zero_()",
    "a = y.chunk(2, 1)[0].t()[1:]\n    a *= 3",
    "a, b = y.chunk(2)\n    y += w\n    return a * 2",
    "a, b = y.chunk(2)\n    y += w\n    return y * 2",
    "a, b = y.tensor_split(2)\n    a += w[0]",
    "a = y[0]\n    a += w[0]",
    "a = y[1:].view(-1)\n    a += w[0, 0]",
    "a, b = y.chunk(2)\n    b = b + w[:2]\n    b += a",
]


def error_with_grad(function, arguments: dict, differentiated: str):
    """The error of a call in which one tensor requires grad; None if there is none."""
    inputs = {n: t.clone().requires_grad_(n == differentiated) if t.is_floating_point() else t for n, t in arguments.items()}
    try:
        function(**inputs)
    except RuntimeError as error:
        return error
    return None


def may_reject(op, arguments: dict) -> bool:
    """Whether the printed graph has a condition that some calls with gradients do not meet."""
    return "true, else eager   ;" in op.emit("ir", **arguments)


def check(op, eager, arguments: dict) -> None:
    """The op rejects the calls that eager rejects, with eager's error."""
    names = [n for n, t in arguments.items() if t.is_floating_point()]
    expected = {n: error_with_grad(eager, arguments, n) for n in names}
    if may_reject(op, arguments):
        actual = {n: error_with_grad(op, arguments, n) for n in names}
        assert {n: str(error) for n, error in actual.items()} == {n: str(error) for n, error in expected.items()}
    else:
        assert expected == dict.fromkeys(names)


def defined(text: str):
    exec(text, names := dict(torch=torch, F=F))
    return names["f"]


def arguments_of(text: str) -> dict:
    arguments = {n: torch.rand(shape) * 0.8 + 0.1 for n, shape in (LOSSES | NORMS)[text].items()}
    return arguments | ({"t": CLASSES} if re.search(r"\bt\b", text) else {})


@pytest.mark.parametrize("text", LOSSES | NORMS)
def test_rejects_gradients_of_arguments_without_a_derivative(text):
    arguments = arguments_of(text)
    source = f"def f({', '.join(arguments)}):\n    return {text}\n"
    check(ingot.op(source), defined(source), arguments)


@pytest.mark.parametrize("body", VIEWS)
def test_rejects_writes_to_views_of_one_function(body):
    source = f"def f(x, w):\n    y = x * 1\n    {body}\n"
    if "return" not in body:
        source += "    return y\n"
    check(ingot.op(source), defined(source), {"x": torch.rand(4, 4), "w": torch.rand(4, 4)})


def test_raises_eagers_error():
    error = error_with_grad(ingot.op("F.nll_loss(x, t, w)"), {"t": CLASSES, "w": torch.rand(4), "x": torch.rand(3, 4)}, "w")
    assert "The function 'nll_loss_forward' is not differentiable with respect to argument 'weight'" in str(error)


def test_without_grad_mode_nothing_is_rejected():
    x, w = torch.rand(3, 4), torch.rand(4, requires_grad=True)
    op = ingot.op("F.nll_loss(x, t, w)")
    with torch.no_grad():
        torch.testing.assert_close(op(t=CLASSES, w=w, x=x), F.nll_loss(x, CLASSES, w))
    assert error_with_grad(op, {"t": CLASSES, "w": w.detach(), "x": x}, "w")


def test_a_custom_derivative_is_used():
    op = ingot.op("""
def f(x, w, t): return F.nll_loss(x, t, w)
def f_backward(grad, x, w, t): return x * grad, w * grad, None
""")
    assert not may_reject(op, {"x": torch.rand(3, 4), "w": torch.rand(4), "t": CLASSES})


@pytest.mark.parametrize("text", ["x // 2", "2.5 // x", "x // y", "floor_divide(x, y)", "torch.heaviside(x, y)", "x.nextafter(y)"])
def test_ops_without_a_derivative_are_rejected_in_the_backward_pass(text):
    op = ingot.op(f"def f(x, y): return {text}")
    x, y = torch.randn(3, requires_grad=True), torch.randn(3, requires_grad=True)
    for function in (op.reference, op):
        with pytest.raises(RuntimeError, match="derivative for .* is not implemented"):
            function(x, y).sum().backward()
    used = ingot.op(f"def f(x, y): return x * ({text}).detach() + y")
    before = ingot.counters()
    torch.testing.assert_close(torch.autograd.grad(used(x, y).sum(), x), torch.autograd.grad(used.reference(x, y).sum(), x))
    assert ingot.counters().since(before).eager_fallbacks == 0


def test_a_floor_of_a_quotient_has_the_derivative_0():
    op = ingot.op("def f(x, y): return torch.div(x, y, rounding_mode='floor') + torch.div(x, 2, rounding_mode='floor')")
    x, y = torch.randn(3, requires_grad=True), torch.randn(3, requires_grad=True)
    for gradient in torch.autograd.grad(op(x, y).sum(), (x, y)):
        assert torch.equal(gradient, torch.zeros(3))


@pytest.mark.parametrize("text", LOSSES)
def test_registered_ops_have_eagers_gradient_or_an_error(text):
    """A dispatched call does not know for which arguments gradients are requested, so the backward pass rejects
    them."""
    arguments = arguments_of(text)
    op = ingot.op(f"def f({', '.join(arguments)}): return {text}")
    registered = ingot.register(f"ingot_rejections::op_{list(LOSSES).index(text)}", op)
    for differentiated in LOSSES[text]:
        leaves = {name: t.detach().requires_grad_(name == differentiated) for name, t in arguments.items() if t.is_floating_point()}
        inputs = [leaves.get(name, t) for name, t in arguments.items()]
        try:
            expected = torch.autograd.grad(op.reference(*inputs).sum(), leaves[differentiated])
        except RuntimeError:
            with pytest.raises(RuntimeError, match="PyTorch has no gradient of .* with respect to `|does not require grad"):
                torch.autograd.grad(registered(*inputs).sum(), leaves[differentiated])
        else:
            torch.testing.assert_close(torch.autograd.grad(registered(*inputs).sum(), leaves[differentiated]), expected)
