"""Gradients that need no computation: the upstream gradient itself, and gradients of arguments without influence on a
result."""

import pytest
import torch

import ingot
from ingot import counters


def leaves(*shapes, dtype=torch.float32):
    return [torch.randn(shape, dtype=dtype).requires_grad_() for shape in shapes]


def gradients(f, args, grad, **kwargs):
    inputs = [x for x in args if isinstance(x, torch.Tensor) and x.requires_grad]
    return torch.autograd.grad(f(*args), inputs, grad, **kwargs)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float64])
def test_the_incoming_gradient_is_returned(dtype):
    f = ingot.op("F.gelu(x + b) + r")
    args = leaves((4, 6), (6,), (4, 6), dtype=dtype)
    grad = torch.randn(4, 6, dtype=dtype)
    dx, db, dr = gradients(f, args, grad)
    assert dr.data_ptr() == grad.data_ptr() and dx.data_ptr() != grad.data_ptr() and db.shape == (6,)
    eager = gradients(f.reference, args, grad)
    tolerance = 2e-2 if dtype == torch.bfloat16 else 1e-5
    torch.testing.assert_close((dx, db, dr), eager, rtol=tolerance, atol=tolerance)


def test_nothing_is_launched_if_all_gradients_are_passed_through():
    x, y = leaves((5, 3), (5, 3))
    out = ingot.op("x + y")(x, y)
    before = counters()
    dx, dy = torch.autograd.grad(out, (x, y), torch.ones(5, 3))
    spent = counters().since(before)
    assert torch.equal(dx, torch.ones(5, 3)) and torch.equal(dy, dx)
    assert spent.launches == 0 and spent.allocations == 0 and spent.eager_fallbacks == 0


@pytest.mark.parametrize("text, shapes, grad", [
    ("x.t() + y", [(3, 4), (4, 3)], (4, 3)),
    ("x + y", [(4, 3), (3,)], (4, 3)),
    ("x[1:] + y", [(5, 3), (4, 3)], (4, 3)),
    ("x.flip(0) - y", [(4, 3), (4, 3)], (4, 3)),
    ("x.reshape(3, 4) + y", [(4, 3), (3, 4)], (3, 4)),
    ("x.to(torch.float64) + y", [(4, 3), (4, 3)], (4, 3)),
    ("x + y", [(1, 3), (4, 3)], (4, 3)),
    ("x + y", [(1, 1), (1, 1)], (1, 1)),
    ("x + y", [(0, 3), (0, 3)], (0, 3)),
    ("x + y", [(), ()], ()),
])
def test_gradients_that_differ_from_the_incoming_one_equal_eagers(text, shapes, grad):
    f, args = ingot.op(text), leaves(*shapes)
    grad = torch.randn(grad).to(f.reference(*args).dtype)
    for g in grad, grad.sum().expand(grad.shape), grad.mT.contiguous().mT if grad.dim() == 2 else grad:
        for actual, expected in zip(gradients(f, args, g), gradients(f.reference, args, g)):
            torch.testing.assert_close(actual, expected)
            assert actual.shape == expected.shape


def test_two_leaves_do_not_share_their_grads():
    x, y = leaves((4,), (4,))
    f = ingot.op("x + y")
    for _ in range(2):
        f(x, y).backward(torch.ones(4))
    x.grad.add_(10)
    assert torch.equal(y.grad, torch.full((4,), 2.0))


def test_a_gradient_in_use_is_not_written():
    x, y = leaves((4,), (4,))
    grad = torch.ones(4)
    ingot.op("x + y")(x, y).backward(grad)
    x.grad.mul_(3)
    assert torch.equal(grad, torch.ones(4)) and torch.equal(y.grad, torch.ones(4))


def test_second_orders_have_autograd_history():
    f = ingot.op("x * x + y")
    x, y = leaves((4,), (4,), dtype=torch.float64)
    assert torch.autograd.gradgradcheck(f, (x, y))
    grad = torch.randn(4, dtype=torch.float64, requires_grad=True)
    dx, dy = torch.autograd.grad(f(x, y), (x, y), grad, create_graph=True)
    (of_grad,) = torch.autograd.grad((dx * dx).sum() + (dy * 3).sum(), grad)
    torch.testing.assert_close(of_grad, (8 * x * x * grad + 3).detach())


def test_passed_through_gradients_are_compiled():
    """Under torch.compile, a gradient that needs no computation equals the upstream gradient."""
    compiled = torch.compile(ingot.op("F.relu(x) + y"), backend="aot_eager", fullgraph=True)
    x, y = leaves((4, 3), (4, 3))
    grad = torch.randn(4, 3)
    dx, dy = torch.autograd.grad(compiled(x, y), (x, y), grad)
    assert torch.equal(dy, grad) and torch.equal(dx, grad * (x > 0))


def test_arguments_without_influence_get_no_gradient():
    for text in ("def f(x, y):\n    return x * 2 + y.detach()", "def f(x, y):\n    return x * 2, (y > 0) * 1.0", "def f(x, y):\n    return x * 2"):
        f = ingot.op(text)
        x, y = leaves((3,), (3,))
        hook_calls = []
        y.register_hook(hook_calls.append)
        y.register_post_accumulate_grad_hook(hook_calls.append)
        result = f(x, y)
        (result[0] if isinstance(result, tuple) else result).sum().backward()
        assert y.grad is None and not hook_calls and torch.equal(x.grad, torch.full((3,), 2.0))
        with pytest.raises(RuntimeError, match="not have been used in the graph"):
            torch.autograd.grad(f(x * 1, y)[0].sum(), y)


def test_unused_results_give_gradient_0():
    f = ingot.op("def f(x, y):\n    return x * 2, y * 3")
    x, y = leaves((3,), (3,))
    y.register_hook(lambda grad: grad * 2)
    f(x, y)[0].sum().backward()
    assert torch.equal(x.grad, torch.full((3,), 2.0)) and torch.equal(y.grad, torch.zeros(3))


def test_registered_ops_pass_opcheck():
    op = ingot.register("passed_through::detached", ingot.op("def f(x, y):\n    return y.detach() + x"))
    torch.library.opcheck(op, leaves((4, 6), (4, 6)))


def test_gradients_of_large_gathers_are_added_up_by_pytorch():
    f = ingot.op("x.gather(0, i) * 2")
    x, i = torch.randn(1 << 20, requires_grad=True), torch.randint(1 << 20, (1 << 18,))
    out = f(x, i)
    before = counters()
    (actual,) = torch.autograd.grad(out.sum(), x)
    assert counters().since(before).eager_fallbacks == 0
    (expected,) = torch.autograd.grad(f.reference(x, i).sum(), x)
    assert torch.equal(actual, expected)
    g = ingot.op("def f(x, i):\n    return F.embedding(i, x).sum()")
    table, rows = torch.randn(1 << 17, 8, requires_grad=True), torch.randint(1 << 17, (1 << 20,))
    torch.testing.assert_close(torch.autograd.grad(g(table, rows), table)[0], torch.autograd.grad(g.reference(table, rows), table)[0])
    before = counters()
    value, grad = ingot.value_and_grad(g)(table.detach(), rows)
    assert counters().since(before).eager_fallbacks == 0 and grad.shape == table.shape


def test_emit_lists_the_saved_tensors():
    x, w, r = torch.empty(64, 128, device="meta"), torch.empty(128, device="meta"), torch.empty(64, 128, device="meta")
    text = ingot.op("F.layer_norm(x, (128,), w) + r").emit("backward", x, w, r)
    assert "with respect to x, w, r" in text
    assert "f32[64, 128]                 32.0 KiB\n" in text and "f32[128]                    512 bytes" in text
    assert "32.0 KiB   not read" in text and "residual, one value per row" in text
    assert "a reduction" in ingot.op("F.softmax(x, -1)").emit("backward", torch.empty(64, 8, device="meta"))
    assert "__global__" in ingot.op("F.softmax(x, -1)").emit("backward-source", x, device="cuda")
    assert "the gradient of r is grad itself" in text
    with pytest.raises(ingot.Error, match="no result has a gradient"):
        ingot.op("x > 0").emit("backward", x)
