"""ingot.value_and_grad: a loss and its gradients in one call."""

import copy
import pickle

import pytest
import torch
import torch.nn.functional as F

import ingot
from ingot import counters


@ingot.op
def squared(x, y):
    return F.mse_loss(x, y, reduction="sum")


@ingot.op
def masked_mean(x, y, m):
    is_kept = m > 0
    loss = torch.where(is_kept, (x - y).abs() * m, 0)
    return loss.sum() / is_kept.sum()


@ingot.op
def with_prediction(x, w, b):
    p = torch.sigmoid(x * w + b)
    return (p * p).mean(), p, p > 0.5


def tensors(*shapes, dtype=torch.float32, seed=0):
    torch.manual_seed(seed)
    return [torch.randn(shape).to(dtype) for shape in shapes]


def by_autograd(f, args, argnums):
    args = [arg.detach().clone() if isinstance(arg, torch.Tensor) else arg for arg in args]
    for i in argnums:
        args[i].requires_grad_()
    value = f(*args)
    first = value[0] if isinstance(value, tuple) else value
    return value, torch.autograd.grad(first, [args[i] for i in argnums])


def assert_near(actual, expected, dtype=torch.float32):
    tolerance = {torch.float32: 1e-5, torch.float64: 1e-12, torch.bfloat16: 2e-2}[dtype]
    torch.testing.assert_close(actual, expected.detach() if isinstance(expected, torch.Tensor) else expected,
                               rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16])
@pytest.mark.parametrize("shapes", [((7, 33), (7, 33)), ((64, 128), (64, 128)), ((0,), (0,)), ((), ())])
def test_the_value_and_one_gradient(dtype, shapes):
    x, y = tensors(*shapes, dtype=dtype)
    value, grad = ingot.value_and_grad(squared)(x, y)
    expected, (expected_grad,) = by_autograd(squared.reference, (x, y), [0])
    assert_near(value, expected, dtype), assert_near(grad, expected_grad, dtype)
    assert grad.dtype == dtype and grad.shape == x.shape and not grad.requires_grad


def test_as_many_launches_as_the_op_alone():
    """One kernel computes a sum and the elementwise gradient. On the CPU a second kernel adds up the rows of a sum over
    all elements."""
    x, y = tensors((64, 1024), (64, 1024))
    f = ingot.value_and_grad(squared, (0, 1))
    f(x, y)
    before = counters()
    f(x, y)
    after = counters()
    squared(x, y)
    spent, spent_by_op = after.since(before), counters().since(after)
    assert spent.eager_fallbacks == 0 and spent.launches == spent_by_op.launches


def test_argnums_may_be_numbers_or_names_in_any_order():
    x, y, m = tensors((5, 9), (5, 9), (9,))
    expected, (dx, dy, dm) = by_autograd(masked_mean.reference, (x, y, m), [0, 1, 2])
    for argnums, grads in [("y", dy), (2, dm), (-1, dm), ((2, 0), (dm, dx)), (["y", "x"], (dy, dx)), ([1], (dy,))]:
        value, actual = ingot.value_and_grad(masked_mean, argnums)(x, y, m=m)
        assert_near(value, expected)
        assert isinstance(actual, tuple) == isinstance(grads, tuple)
        assert_near(actual, grads)


def test_auxiliary_results():
    x, w, b = tensors((8, 16), (16,), (16,))
    (value, (p, above)), (dw, db) = ingot.value_and_grad(with_prediction, ("w", "b"), has_aux=True)(x, w, b)
    (loss, expected_p, expected_above), grads = by_autograd(with_prediction.reference, (x, w, b), [1, 2])
    assert_near((value, p, dw, db), (loss, expected_p, *grads))
    assert torch.equal(above, expected_above)
    with_aux = ingot.op("def f(x):\n    return x.sum(), x + 1")
    (value, aux), grad = ingot.value_and_grad(with_aux, has_aux=True)(x)
    assert torch.equal(aux, x + 1) and torch.equal(grad, torch.ones_like(x))


def test_lists_and_dicts():
    f = ingot.op("def f(ps, named):\n    return (ps[0] * ps[1]).sum() + named['a'].exp().mean()")
    ps, named = tensors((4, 5), (5,)), {"a": tensors((6,))[0]}
    value, (dps, dnamed) = ingot.value_and_grad(f, (0, 1))(ps, named)
    assert_near(dps, [ps[1].expand(4, 5), ps[0].sum(0)])
    assert_near(dnamed, {"a": named["a"].exp() / 6})
    _, (dnamed, dps) = ingot.value_and_grad(f, ("named", "ps"))(ps, named)
    assert_near(dps[1], ps[0].sum(0))


def test_a_batch_of_second_gradients_of_a_list_is_rejected():
    """The eager fallback would take the list, and autograd would record none of its tensors."""
    f = ingot.op("def f(ps):\n    return (ps[0].exp() * ps[1]).sum()")
    ps = [p.requires_grad_() for p in tensors((3,), (3,))]
    _, (grad,) = ingot.value_and_grad(f, (0,))(ps)
    gradients = torch.autograd.grad(grad[0], ps, torch.ones(3), retain_graph=True)
    assert_near(gradients, [(ps[0].exp() * ps[1]).detach(), ps[0].exp().detach()])
    with pytest.raises(RuntimeError, match="one by one"):
        torch.autograd.grad(grad[0], ps, torch.eye(3), is_grads_batched=True)


def test_an_unused_argument_has_gradient_0():
    f = ingot.op("def f(x, y):\n    return x.sum() + y.detach().sum()")
    x, y = tensors((3, 4), (5,))
    _, (dx, dy) = ingot.value_and_grad(f, (0, 1))(x, y)
    assert torch.equal(dx, torch.ones(3, 4)) and torch.equal(dy, torch.zeros(5))


def test_layouts():
    x = tensors((6, 10))[0]
    for a, b in [(x.t(), x.t()), (x[:, ::2], x[:, ::2]), (x.flip(0), x), (x[:1].expand(6, 10), x)]:
        value, grads = ingot.value_and_grad(squared, (0, 1))(a, b + 1)
        expected, expected_grads = by_autograd(squared.reference, (a, b + 1), [0, 1])
        assert_near(value, expected), assert_near(grads, expected_grads)


def test_results_can_be_differentiated():
    x, y = tensors((4, 6), (4, 6), dtype=torch.float64)
    f = ingot.op("def f(x, y):\n    return (x.tanh() * y).sum()")
    vg = ingot.value_and_grad(f)
    assert torch.autograd.gradcheck(lambda x, y: vg(x, y), (x.requires_grad_(), y.requires_grad_()))
    x = x.detach().requires_grad_()
    value, grad = vg(x, y)
    assert value.requires_grad and grad.requires_grad
    expected_gradient = torch.autograd.grad(f.reference(x, y), x, create_graph=True)[0]
    assert_near(torch.autograd.grad(grad.square().sum(), x)[0], torch.autograd.grad(expected_gradient.square().sum(), x)[0], torch.float64)


def test_a_custom_backward():
    f = ingot.op("def f(x):\n    return (x * x).sum()\ndef f_backward(grad, x):\n    return grad * x * 20")
    x = tensors((3, 5))[0]
    assert_near(ingot.value_and_grad(f)(x)[1], 20 * x)
    assert_near(ingot.value_and_grad(f).reference(x)[1], 20 * x)


def test_unselected_arms_have_gradient_0():
    f = ingot.op("def f(x):\n    return torch.where(x > 0, x.sqrt(), 0).sum()")
    assert torch.equal(ingot.value_and_grad(f)(torch.tensor([0.0, -1.0, 4.0]))[1], torch.tensor([0.0, 0.0, 0.25]))


def test_under_autocast():
    f = ingot.op("def f(x, w):\n    return (x.half() * w).exp().sum()")
    x, w = tensors((4, 5), (5,))
    with torch.autocast("cpu", dtype=torch.bfloat16):
        value, grads = ingot.value_and_grad(f, (0, 1))(x, w)
        expected, expected_grads = by_autograd(f.reference, (x, w), [0, 1])
    assert value.dtype == expected.dtype
    torch.testing.assert_close(grads, tuple(expected_grads), rtol=2e-2, atol=2e-2)


def test_written_arguments_have_no_gradient():
    f = ingot.op("def f(x, y):\n    x += 1\n    return (x * y).sum()")
    x, y = tensors((3,), (3,))
    for argument in (x.clone(), x.clone().requires_grad_(), x.neg()._neg_view()):
        with pytest.raises(ingot.Error, match="writes into `x`, but a gradient"):
            ingot.value_and_grad(f)(argument, y)
        with pytest.raises(ingot.Error, match="writes into `x`, but a gradient"):
            ingot.value_and_grad(f).reference(argument, y)
    argument = x.clone()
    value, dy = ingot.value_and_grad(f, "y")(argument, y)  # an argument that the op does not write has a gradient
    assert torch.equal(argument, x + 1) and torch.equal(dy, x + 1)


@pytest.mark.parametrize("text", ["torch.var(x, 1).sum()", "torch.std(x, 1).sum()", "(F.layer_norm(x, (257,)) ** 3).sum()"])
def test_the_value_is_as_exact_as_the_op_alone(text):
    f = ingot.op(text)
    x = tensors((16, 257))[0] + 1e5
    exact = f.reference(x.double())
    error_alone, error_with_gradient = ((v.double() - exact).abs() / exact.abs() for v in (f(x), ingot.value_and_grad(f)(x)[0]))
    assert error_with_gradient <= 4 * error_alone + 1e-6


def test_debug_mode_detects_a_wrong_custom_backward():
    f = ingot.op("def f(x, y):\n    return (x * y).sum()\ndef f_backward(g, x, y):\n    return g * y * 7, g * x", debug=True)
    with pytest.raises(ingot.Error, match="`x`"):
        ingot.value_and_grad(f)(*tensors((3,), (3,)))


def test_random_numbers():
    f = ingot.op("def f(x):\n    return (F.dropout(x, 0.4) * torch.rand_like(x)).square().sum()")
    x = tensors((8, 33))[0]
    vg = ingot.value_and_grad(f)
    torch.manual_seed(3)
    value, grad = vg(x)
    torch.manual_seed(3)
    assert_near((value, grad), vg.reference(x))
    torch.manual_seed(3)
    assert_near(value, f(x))
    assert 0.2 < (grad == 0).float().mean() < 0.6
    torch.manual_seed(3)
    by_backward = x.clone().requires_grad_()
    f(by_backward).backward()
    assert_near(grad, by_backward.grad)


def test_fallbacks():
    x, y = tensors((3, 4, 5), (3, 4, 5))
    vg = ingot.value_and_grad(squared)
    fallbacks = counters().eager_fallbacks
    values, grads = torch.func.vmap(vg)(x, y)
    assert_near(grads, 2 * (x - y)), assert_near(values, (x - y).square().sum((1, 2)))
    hessian = torch.func.jacrev(lambda x: vg(x, y[0, 0])[1])(x[0, 0])
    assert_near(hessian, 2 * torch.eye(5))
    assert counters().eager_fallbacks > fallbacks

    class Subclass(torch.Tensor):
        called = []

        @classmethod
        def __torch_function__(cls, function, types, args=(), kwargs=None):
            cls.called.append(function)
            return super().__torch_function__(function, types, args, kwargs or {})

    assert torch.equal(vg(x.as_subclass(Subclass), y)[1], 2 * (x - y)) and vg in Subclass.called
    mode = torch._subclasses.FakeTensorMode()
    with mode:
        value, grad = vg(torch.empty(2, 3), torch.empty(2, 3))
    assert grad.shape == (2, 3) and value.shape == ()


def test_copies_and_pickles():
    vg = ingot.value_and_grad(ingot.op("def f(x, y):\n    return (x * y).sum()"), ("y", "x"))
    x, y = tensors((3,), (3,))
    for copied in copy.deepcopy(vg), pickle.loads(pickle.dumps(vg)):
        assert torch.equal(copied(x, y)[1][0], x)
    assert "y, x" in repr(vg)


@pytest.mark.parametrize("stage", ["ir", "source"])
def test_emit_before_any_call(stage):
    x, y = tensors((64,), (64,))
    assert ingot.value_and_grad(ingot.op("F.mse_loss(x, y)")).emit(stage, x, y, device="cuda")


def test_emit_and_prepare():
    x, y = tensors((64, 64), (64, 64))
    vg = ingot.value_and_grad(squared)
    vg.prepare(x, y)
    before = counters()
    vg(x, y)
    assert counters().since(before).compiles == 0
    source = vg.emit("source", x, y, device="cuda")
    assert source.count("__global__") == vg.op.emit("source", x, y, device="cuda").count("__global__")


@pytest.mark.parametrize("text, has_aux, message", [
    ("x * 2", False, "a tensor of 2 dims.*sum"),
    ("x.sum(), x", False, "has_aux=True"),
    ("x.sum()", True, "with has_aux=True return a tuple"),
    ("(x > 0).sum()", False, "floating-point tensor with one element"),
])
def test_non_scalar_values_are_errors(text, has_aux, message):
    f = ingot.op(f"def f(x):\n    return {text}")
    with pytest.raises(ingot.Error, match=f"(?s){message}"):
        ingot.value_and_grad(f, has_aux=has_aux)(torch.randn(2, 3))


def test_invalid_argnums_are_errors():
    for argnums, message in [("z", "no parameter 'z'"), (2, "no parameter 2"), ((0, "x"), "twice"), ((), "empty")]:
        with pytest.raises(ingot.Error, match=message):
            ingot.value_and_grad(squared, argnums)
    with pytest.raises(ingot.Error, match="argnums is None"):
        ingot.value_and_grad(squared, None)
    with pytest.raises(ingot.Error, match="register takes an op"):
        ingot.register("value_and_grad::squared", ingot.value_and_grad(squared))
    with pytest.raises(ingot.Error, match="takes an op, not a function"):
        ingot.value_and_grad(lambda x: x)
    f = ingot.op("def f(x, n: float = 2.0, i=None):\n    return (x * n).sum()")
    for argnums, args in [("n", (torch.ones(2),)), ("n", (torch.ones(2), 3.0)), ("i", (torch.ones(2), 3.0, torch.arange(3)))]:
        with pytest.raises(ingot.Error, match="has no gradient"):
            ingot.value_and_grad(f, argnums)(*args)


def test_arguments_without_a_derivative_in_eager_are_errors():
    op = ingot.op("def f(x, t, w): return F.cross_entropy(x, t, w)")
    x, t, w = torch.randn(3, 4), torch.tensor([0, 1, 3]), torch.rand(4)
    value, gradient = ingot.value_and_grad(op, "x")(x, t, w)
    leaf = x.clone().requires_grad_()
    expected = op.reference(leaf, t, w)
    torch.testing.assert_close((value, gradient), (expected.detach(), torch.autograd.grad(expected, leaf)[0]))
    with pytest.raises(ingot.Error, match="PyTorch has no gradient of nll_loss with respect to `weight`"):
        ingot.value_and_grad(op, "w")(x, t, w)
