"""Calls that eager refuses while autograd records them: arguments without a derivative in PyTorch, and writes to views
that one function returned together. A refused call compiles nothing. For a function without such arguments, the graph
says so."""

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
# A statement that writes, or reads after a write. y is made of the tensors x and w.
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


def refusal(function, arguments: dict, asked: str):
    """The error of a call where one tensor requires grad."""
    given = {n: t.clone().requires_grad_(n == asked) if t.is_floating_point() else t for n, t in arguments.items()}
    try:
        function(**given)
    except RuntimeError as error:
        return error
    return None


def may_refuse(op, arguments: dict) -> bool:
    return "true, else eager   ;" in op.emit("ir", **arguments)


def check(op, eager, arguments: dict) -> None:
    """The op refuses the calls that eager refuses, with eager's error."""
    asked = [n for n, t in arguments.items() if t.is_floating_point()]
    wanted = {n: refusal(eager, arguments, n) for n in asked}
    if may_refuse(op, arguments):
        found = {n: refusal(op, arguments, n) for n in asked}
        assert {n: str(error) for n, error in found.items()} == {n: str(error) for n, error in wanted.items()}
    else:
        assert wanted == dict.fromkeys(asked)


def defined(text: str):
    exec(text, names := dict(torch=torch, F=F))
    return names["f"]


def arguments_of(text: str) -> dict:
    arguments = {n: torch.rand(shape) * 0.8 + 0.1 for n, shape in (LOSSES | NORMS)[text].items()}
    return arguments | ({"t": CLASSES} if re.search(r"\bt\b", text) else {})


@pytest.mark.parametrize("text", LOSSES | NORMS)
def test_arguments_without_a_derivative(text):
    arguments = arguments_of(text)
    source = f"def f({', '.join(arguments)}):\n    return {text}\n"
    check(ingot.op(source), defined(source), arguments)


@pytest.mark.parametrize("body", VIEWS)
def test_views_of_one_function(body):
    source = f"def f(x, w):\n    y = x * 1\n    {body}\n"
    if "return" not in body:
        source += "    return y\n"
    check(ingot.op(source), defined(source), {"x": torch.rand(4, 4), "w": torch.rand(4, 4)})


def test_the_error_is_eagers():
    error = refusal(ingot.op("F.nll_loss(x, t, w)"), {"t": CLASSES, "w": torch.rand(4), "x": torch.rand(3, 4)}, "w")
    assert "The function 'nll_loss_forward' is not differentiable with respect to argument 'weight'" in str(error)


def test_without_grad_mode_nothing_is_refused():
    x, w = torch.rand(3, 4), torch.rand(4, requires_grad=True)
    op = ingot.op("F.nll_loss(x, t, w)")
    with torch.no_grad():
        torch.testing.assert_close(op(t=CLASSES, w=w, x=x), F.nll_loss(x, CLASSES, w))
    assert refusal(op, {"t": CLASSES, "w": w.detach(), "x": x}, "w")


def test_a_custom_derivative_is_used():
    op = ingot.op("""
def f(x, w, t): return F.nll_loss(x, t, w)
def f_backward(grad, x, w, t): return x * grad, w * grad, None
""")
    assert not may_refuse(op, {"x": torch.rand(3, 4), "w": torch.rand(4), "t": CLASSES})


@pytest.mark.parametrize("text", ["x // 2", "2.5 // x", "x // y", "floor_divide(x, y)", "torch.heaviside(x, y)", "x.nextafter(y)"])
def test_ops_without_a_derivative_are_refused_in_the_backward_pass(text):
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
def test_the_gradient_of_a_registered_op_is_refused_or_eagers(text):
    """A dispatched call does not know for which arguments gradients are requested, so the backward pass refuses
    them."""
    arguments = arguments_of(text)
    op = ingot.op(f"def f({', '.join(arguments)}): return {text}")
    registered = ingot.register(f"ingot_refusals::op_{list(LOSSES).index(text)}", op)
    for asked in LOSSES[text]:
        leaves = {name: t.detach().requires_grad_(name == asked) for name, t in arguments.items() if t.is_floating_point()}
        given = [leaves.get(name, t) for name, t in arguments.items()]
        try:
            wanted = torch.autograd.grad(op.reference(*given).sum(), leaves[asked])
        except RuntimeError:
            with pytest.raises(RuntimeError, match="PyTorch has no gradient of .* with respect to `|does not require grad"):
                torch.autograd.grad(registered(*given).sum(), leaves[asked])
        else:
            torch.testing.assert_close(torch.autograd.grad(registered(*given).sum(), leaves[asked]), wanted)
