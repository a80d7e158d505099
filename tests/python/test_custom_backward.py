"""Custom backward functions."""

import copy
import pickle

import pytest
import torch

import ingot

SCALE = 3.0

STRAIGHT_THROUGH = """
def rounded(x, scale: float, b):
    return (x * scale).round() + b

def rounded_backward(grad, x, scale, b):
    return grad * scale, None, grad
"""


def scaled(x):
    return x * SCALE


@ingot.op
def cube(x, y):
    return scaled(x * x * x) + y


@cube.backward
def _(grad, x, y):
    return scaled(3 * x * x) * grad, grad


def square(x):
    return x * x


def square_backward(grad, x):
    return grad * x * 20  # a wrong factor, so that the custom gradient can be told from the derived one


def leaf(*shape, dtype=torch.float32):
    return torch.randn(*shape, dtype=dtype, requires_grad=True)


def test_a_backward_function_next_to_the_op():
    f = ingot.op(STRAIGHT_THROUGH)
    assert f.name == "rounded"
    x, b = leaf(4, 5), leaf(5)
    f(x, 2.0, b).sum().backward()
    assert torch.equal(x.grad, torch.full((4, 5), 2.0)) and torch.equal(b.grad, torch.full((5,), 4.0))
    x, b = leaf(4, 5, dtype=torch.bfloat16), leaf(5)
    f(x, 2.0, b).sum().backward()
    assert x.grad.dtype == torch.bfloat16 and b.grad.dtype == torch.float32


def test_a_decorated_backward_may_use_helpers():
    x, y = leaf(4, 5), leaf(5)
    for f in (cube, pickle.loads(pickle.dumps(cube)), copy.deepcopy(cube)):
        x.grad = y.grad = None
        f(x, y).sum().backward()
        torch.testing.assert_close(x.grad, 9 * x.detach() ** 2)
        torch.testing.assert_close(y.grad, torch.full((5,), 4.0))


def test_a_module_function_named_after_the_op_is_its_backward():
    x = leaf(3)
    ingot.op(square)(x).sum().backward()
    torch.testing.assert_close(x.grad, 20 * x.detach())


def test_a_custom_backward_is_one_kernel():
    x, y = leaf(4, 5), torch.randn(5)
    cube(x, y).sum().backward()
    result = cube(x, y)
    grad = torch.randn(4, 5)
    before = ingot.counters()
    torch.autograd.grad(result, x, grad)
    spent = ingot.counters().since(before)
    assert (spent.launches, spent.eager_fallbacks) == (1, 0)


def test_second_orders_differentiate_the_custom_backward():
    f = ingot.op("def f(x, y): return x * x, y\ndef f_backward(g0, g1, x, y): return 2 * x * g0, g1")
    x, y = leaf(3, dtype=torch.float64), leaf(3, dtype=torch.float64)
    assert torch.autograd.gradcheck(f, (x, y)) and torch.autograd.gradgradcheck(f, (x, y))
    (gradient,) = torch.autograd.grad(f(x, y)[0].sum(), x)  # no gradient of the second result
    torch.testing.assert_close(gradient, 2 * x.detach())


@pytest.mark.parametrize("run", [
    lambda f, x, b: torch.func.grad(lambda x: f(x, 2.0, b).sum())(x),
    lambda f, x, b: torch.vmap(torch.func.grad(lambda x: f(x, 2.0, b).sum()))(x),
    lambda f, x, b: torch.autograd.grad(torch.compile(lambda x: f(x * 1, 2.0, b), fullgraph=True, backend="aot_eager")(x.requires_grad_()).sum(), x)[0],
    lambda f, x, b: torch.autograd.grad(f.reference(x.requires_grad_(), 2.0, b).sum(), x)[0],
], ids=["grad", "vmap of grad", "compile", "reference"])
@pytest.mark.parametrize("traced", ["kernel", "text"])
def test_the_eager_fallback_uses_the_custom_backward(run, traced):
    torch._dynamo.reset()
    gradient = run(ingot.op(STRAIGHT_THROUGH, traced=traced), torch.randn(4, 5), torch.randn(5))
    assert torch.equal(gradient, torch.full((4, 5), 2.0))


@pytest.mark.parametrize("gradient, message", [
    ("def f_backward(grad): return grad", "takes 1 arguments, not 3"),
    ("def f_backward(grad, x, y): return grad", "returns 1 gradients, and `f` has 2 parameters"),
    ("def f_backward(grad, x, y): return 3, grad", "returns a number for `x`"),
    ("def f_backward(grad, x, y): return grad.sum(0), grad", "a gradient for `x` that is smaller than it"),
    ("def f_backward(grad, x, y): return grad.sum(0, keepdim=True), grad", "a gradient for `x` that is smaller than it"),
])
def test_invalid_backward_functions_are_errors(gradient, message):
    f = ingot.op(f"def f(x, y): return x * y\n{gradient}")
    with pytest.raises(RuntimeError, match=message):
        f(leaf(4, 5), leaf(5)).sum().backward()


@pytest.mark.parametrize("text", [
    "def f(x, s: float = 2.0): return x * s\ndef f_backward(g, x, s: float = 5.0): return g * s, None",
    "def f(x, s: float = 2.0): return x * s\ndef f_backward(g, x, s): return g * s, None",
    "def f(x, s=2): return x * s\ndef f_backward(g, x, *, s): return g * s, None",
    "def f(x, y=None): return x * 2 if y is None else x\ndef f_backward(g, x, y): return g * 2 if y is None else g, None",
])
def test_omitted_arguments_have_the_ops_defaults(text):
    f = ingot.op(text)
    for call in (f, f.reference, torch.compile(f, fullgraph=True, backend="aot_eager")):
        x = torch.ones(3, requires_grad=True)
        call(x).sum().backward()
        assert torch.equal(x.grad, torch.full((3,), 2.0))
    torch._dynamo.reset()


def test_results_may_be_a_list():
    f = ingot.op("def f(x): return [x * 2, x * 3]\ndef f_backward(a, b, x): return a * 10 + b * 100")
    x = torch.ones(2)
    assert torch.equal(torch.func.grad(lambda x: f(x)[0].sum())(x), torch.full((2,), 10.0))
    for call in (f, f.reference):
        leaf = x.clone().requires_grad_()
        results = call(leaf)
        assert isinstance(results, list)
        results[1].sum().backward()
        assert torch.equal(leaf.grad, torch.full((2,), 100.0))


def test_setting_a_backward_after_the_first_use_is_an_error():
    f = ingot.op("x * 2")
    with pytest.raises(ingot.Error, match="before the op's first use"):
        f.backward(lambda grad, x: grad)


def test_lists_have_no_custom_backward():
    f = ingot.op("def f(xs): return xs[0] * xs[1]\ndef f_backward(grad, xs): return grad")
    with pytest.raises(ingot.Error, match="takes tensors and numbers"):
        f([leaf(3), leaf(3)])


def test_check_gradient():
    x, y = torch.randn(4, 5), torch.randn(5)
    ingot.check_gradient(cube, x, y)
    ingot.check_gradient(ingot.op("def f(x, n: int): return F.gelu(x).pow(n), x.sum()"), x.bfloat16(), n=3)
    writes, y = ingot.op("def f(x, y):\n    y.add_(1)\n    return x * x"), torch.zeros(5, dtype=torch.float64)
    ingot.check_gradient(writes, x, y)
    assert torch.equal(y, torch.zeros(5, dtype=torch.float64))
    y = torch.randn(5)
    state = torch.get_rng_state()
    with pytest.raises(ingot.Error, match="gradient with respect to `x` is incorrect"):
        ingot.check_gradient(ingot.op(square), x)
    assert torch.equal(state, torch.get_rng_state())
    with pytest.raises(ingot.Error, match="`y`"):
        ingot.check_gradient(ingot.op("def f(x, y): return x * y\ndef f_backward(g, x, y): return g * y, g"), x, y)


def test_debug_mode_checks_before_the_first_use():
    x = leaf(3)
    with pytest.raises(RuntimeError, match="is incorrect"):
        ingot.op(square, debug=True)(x).sum().backward()
    assert x.grad is None
    good = ingot.op("def f(x): return x * x\ndef f_backward(grad, x): return 2 * grad * x", debug=True)
    for _ in range(2):
        good(x).sum().backward()
    torch.testing.assert_close(x.grad, 4 * x.detach())


def test_reading_the_signature_runs_nothing():
    f = ingot.op("def f(x, y=None, k=2, *, s: float = 1.0): return x * k\nz = undefined_name")
    assert str(f.signature) == "(x, y=None, k=2, *, s: float = 1.0)"


@pytest.mark.parametrize("write", ["w += 0", "w *= 2", "w.zero_()", "w[:, :1] += 1", "x += w", "grad *= 2"])
def test_writes_do_not_reach_the_caller(write, device="cpu"):
    """A custom backward writes into copies of the arguments. This also holds when lowering differentiates the op on trial to
    find the residuals."""
    f = ingot.op(f"def f(x, w): return x * w.sum(-1, keepdim=True)\ndef f_backward(grad, x, w):\n    before = grad * 1\n    {write}\n    return before, grad")
    x, w = leaf(40, 50), leaf(40, 50)
    before = x.detach().clone(), w.detach().clone()
    for call in (f, f, f.reference):
        result = call(x, w)
        torch.testing.assert_close(result, before[0] * before[1].sum(-1, keepdim=True))
        cotangent = torch.randn(40, 50)
        of_x, of_w = torch.autograd.grad(result, (x, w), cotangent.clone())
        torch.testing.assert_close(of_x, cotangent)
        torch.testing.assert_close(of_w, cotangent * 2 if "grad" in write else cotangent)
        assert torch.equal(x, before[0]) and torch.equal(w, before[1])


def test_arguments_that_the_op_writes_are_passed_as_written():
    f = ingot.op("def f(x, w):\n    w += 1\n    return x * w\ndef f_backward(grad, x, w): return grad * w, None")
    for call in (f, f.reference):
        x, w = leaf(3), torch.ones(3)
        (gradient,) = torch.autograd.grad(call(x, w).sum(), x)
        assert gradient.tolist() == w.tolist() == [2.0] * 3
