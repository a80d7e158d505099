"""Calls that the fast path does not support fall back to PyTorch's own functions: every row of the fallback table in
docs/pytorch.md."""

import pytest
import torch
from torch._subclasses import FakeTensorMode
from torch.autograd import forward_ad
from torch.fx.experimental.proxy_tensor import make_fx
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_map

from small_ops import gated, moments

import ingot


def with_fallbacks(call):
    """The result of a call, and the number of its eager fallbacks."""
    before = ingot.counters()
    result = call()
    return result, ingot.counters().since(before).eager_fallbacks


def assert_close(actual, expected):
    torch.testing.assert_close(actual, expected, rtol=1e-5, atol=1e-6)


X, Y = torch.randn(4, 6), torch.randn(6)


@pytest.mark.parametrize("transform", [
    lambda f: torch.vmap(lambda row: f(row, Y))(X),
    lambda f: torch.vmap(f, in_dims=(1, 0))(X, Y),
    lambda f: torch.vmap(torch.vmap(f), in_dims=(0, None))(X, Y),
    lambda f: torch.func.grad(lambda x: f(x, Y).sum())(X),
    lambda f: torch.func.grad(torch.func.grad(lambda x: f(x, Y[0]).sum()))(X[0, 0]),
    lambda f: torch.func.jvp(f, (X, Y), (Y + X, Y))[1],
    lambda f: torch.func.jacrev(lambda y: f(X, y))(Y),
    lambda f: torch.func.jacfwd(lambda y: f(X, y))(Y),
    lambda f: torch.func.hessian(lambda y: f(X, y).sum())(Y),
    lambda f: torch.vmap(torch.func.grad(lambda x, y: f(x, y).sum()), in_dims=(0, None))(X, Y),
    lambda f: torch.func.linearize(f, X, Y)[1](X, Y),
    lambda f: torch.func.functionalize(f)(X, Y),
], ids=lambda _: "")
def test_transforms_of_torch_func(transform):
    actual, count = with_fallbacks(lambda: transform(gated))
    assert_close(actual, transform(gated.reference))
    assert count >= 1


def test_forward_mode():
    with forward_ad.dual_level():
        actual, count = with_fallbacks(lambda: gated(forward_ad.make_dual(X, X + 1), Y))
        expected = gated.reference(forward_ad.make_dual(X, X + 1), Y)
        assert_close(forward_ad.unpack_dual(actual).tangent, forward_ad.unpack_dual(expected).tangent)
        assert count == 1
        # If only tensors that are not arguments have tangents, a call stays on the fast path.
        assert with_fallbacks(lambda: gated(X, Y))[1] == 0


def test_a_batch_of_gradients():
    """The forward call is recorded by its kernel. The batch of gradients is computed under vmap."""
    jacobian = torch.autograd.functional.jacobian(lambda y: gated(X, y).sum(0), Y, vectorize=True)
    assert_close(jacobian, torch.autograd.functional.jacobian(lambda y: gated.reference(X, y).sum(0), Y))
    x = X.clone().requires_grad_()
    a, b = moments(x)
    gradients = torch.autograd.grad((a, b), x, (torch.randn(3, 4, 1), torch.randn(3, 4)), is_grads_batched=True)
    assert gradients[0].shape == (3, 4, 6)


def test_a_fallback_for_the_gradient_does_not_write_again():
    f = ingot.op("def f(x, y):\n    y.add_(1)\n    return x * x")
    x, y = torch.ones(2, requires_grad=True), torch.zeros(2)
    torch.autograd.grad(f(x, y), x, torch.ones(2, 2), is_grads_batched=True)
    assert y.tolist() == [1.0, 1.0]


class Plain(torch.Tensor):
    pass


class Logged(torch.Tensor):
    seen = []

    @classmethod
    def __torch_function__(cls, function, types, args=(), kwargs=None):
        cls.seen.append(function)
        return super().__torch_function__(function, types, args, kwargs or {})


class Wrapped(torch.Tensor):
    """A subclass below the dispatcher, as DTensor is: it intercepts each of PyTorch's functions."""

    seen = []

    @staticmethod
    def __new__(cls, inner):
        return torch.Tensor._make_wrapper_subclass(cls, inner.shape, dtype=inner.dtype, requires_grad=inner.requires_grad)

    def __init__(self, inner):
        self.inner = inner

    __torch_function__ = torch._C._disabled_torch_function_impl

    @classmethod
    def __torch_dispatch__(cls, function, types, args=(), kwargs=None):
        cls.seen.append(function)
        unwrap = lambda value: value.inner if isinstance(value, Wrapped) else value  # noqa: E731
        result = function(*tree_map(unwrap, args), **tree_map(unwrap, kwargs or {}))
        return tree_map(lambda value: Wrapped(value) if isinstance(value, torch.Tensor) else value, result)


def test_a_subclass_without_torch_function_runs_the_kernel():
    result, count = with_fallbacks(lambda: gated(X.as_subclass(Plain), Y))
    assert type(result) is Plain and count == 0
    assert_close(result.as_subclass(torch.Tensor), gated.reference(X, Y))
    leaf = X.clone().requires_grad_()
    gated(leaf.as_subclass(Plain), Y).sum().backward()
    assert_close(leaf.grad, torch.func.grad(lambda x: gated.reference(x, Y).sum())(X))


def test_a_subclass_with_torch_function_sees_the_op():
    result = gated(X.as_subclass(Logged), Y)
    assert type(result) is Logged and gated in Logged.seen


def test_a_subclass_below_the_dispatcher_sees_the_fallback():
    result, count = with_fallbacks(lambda: gated(Wrapped(X), Y))
    assert type(result) is Wrapped and count == 1 and torch.ops.aten.silu.default in Wrapped.seen
    assert_close(result.inner, gated.reference(X, Y))


class Counted(TorchDispatchMode):
    def __init__(self):
        super().__init__()
        self.seen = []

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        self.seen.append(function)
        return function(*args, **(kwargs or {}))


def test_a_dispatch_mode_sees_one_op():
    with Counted() as mode:
        before = ingot.counters()
        result = gated(X, Y)
        assert ingot.counters().since(before).launches == 1
    assert any(str(function).startswith("ingot.gated_") for function in mode.seen)
    assert_close(result, gated.reference(X, Y))


def test_fake_tensors():
    columns = X.t()
    with FakeTensorMode() as mode:
        x = mode.from_tensor(X)
        result = gated(x, mode.from_tensor(Y))
        assert (result.shape, result.dtype, result.stride()) == (X.shape, X.dtype, X.stride())
        a, b = moments(mode.from_tensor(columns))
        assert a.shape == (6, 1) and b.shape == (6,)
    assert isinstance(result, torch._subclasses.FakeTensor)
    meta, count = with_fallbacks(lambda: gated(X.to("meta"), Y.to("meta")))
    assert meta.is_meta and meta.shape == X.shape and count == 1


@pytest.mark.parametrize("mode", ["real", "fake", "symbolic"])
def test_make_fx_sees_one_op(mode):
    graph = make_fx(lambda x, y: gated(x, y) * 2, tracing_mode=mode)(X, Y)
    assert sum("ingot.gated_" in str(node.target) for node in graph.graph.nodes) == 1
    assert_close(graph(X + 1, Y), gated(X + 1, Y) * 2)
    several = make_fx(lambda x: moments(x)[1], tracing_mode=mode)(X)
    assert_close(several(X + 1), moments(X + 1)[1])


def test_make_fx_traces_a_gradient():
    graph = make_fx(torch.func.grad(lambda x: gated(x, Y).sum()))(X)
    assert_close(graph(X + 1), torch.func.grad(lambda x: gated.reference(x, Y).sum())(X + 1))


def test_jit_trace():
    traced = torch.jit.trace(lambda x: gated(x, Y), X)
    assert_close(traced(X + 1), gated(X + 1, Y))


def test_negative_views_are_resolved():
    result, count = with_fallbacks(lambda: gated(torch._neg_view(X), Y))
    assert_close(result, gated(-X, Y))
    assert count == 0
    conjugate = torch.complex(X, X + 1).conj()
    assert conjugate.imag.is_neg()
    assert_close(gated(conjugate.imag, Y), gated(-(X + 1), Y))
    with torch.inference_mode():
        assert_close(gated(torch._neg_view(X), Y), gated(-X, Y))
        assert_close(gated(torch._neg_view(X + 1), Y), gated(-(X + 1), Y))
    # An op that writes keeps the memory of its arguments.
    x = X.clone()
    ingot.op("def f(x, y): x += y")(torch._neg_view(x), Y)
    assert_close(x, X - Y)


def test_a_write_to_a_negative_view_that_the_source_hides_is_kept():
    op = ingot.op("def f(x, y):\n    tensors = [y * 1]\n    tensors += (x,)\n    tensors[-1] += y\n    return x * 1")
    assert op.writes == frozenset()  # a list plus a tuple is not followed
    for mode in (torch.no_grad(), torch.inference_mode()):
        with mode:
            x = X.clone()
            result = op(torch._neg_view(x), Y)
            assert_close(x, X - Y)
            assert_close(result, Y - X)


@pytest.mark.parametrize("make", [
    lambda: torch._neg_view(torch.zeros(4, 6)), lambda: torch.zeros(4, 6, dtype=torch.complex64).conj().imag,
], ids=["negative", "imaginary"])
def test_out_may_be_a_negative_view(make):
    out = make()
    assert out.is_neg() and gated(X, Y, out=out) is out
    assert_close(out, gated(X, Y))
    negated = torch._neg_view(X)
    assert gated(negated, Y, out=out) is out
    assert_close(out, gated(-X, Y))
    plain = torch.zeros(4, 6)
    assert gated(negated, Y, out=plain) is plain
    assert_close(plain, gated(-X, Y))
    outs = (torch.zeros(4, 1), torch._neg_view(torch.zeros(4)))
    assert moments(X, out=outs) is outs
    assert_close(outs, moments(X))
    with pytest.raises(RuntimeError, match="automatic differentiation"):
        gated(X.clone().requires_grad_(), Y, out=make())
    with pytest.raises(RuntimeError, match="out is"):
        gated(X, Y, out=torch._neg_view(torch.zeros(3)))


@pytest.mark.parametrize("body", [
    "x += y", "x.add_(y)", "x[:] = x + y",
    "for t in [x]: t += y", "for t in (x, x * 1): t.add_(y)", "(lambda t: t.add_(y))(x)", "[t.add_(y) for t in (x,)]",
    "d = {'x': x}; d['x'].add_(y)", "t = x if x.ndim == 2 else x * 1; t += y",
    "def g(t): t.add_(y)\n    g(x)", "t, _ = (x, y); t += y", "F.relu(x, inplace=True)", "F.relu(x, True)",
    "F.relu(x, **{'inplace': True})", "F.relu(*(x, True))", "F.relu(x, **dict(inplace=True))", "k = {'inplace': True}; F.relu(x, **k)",
    "torch.relu_(x)", "F.hardtanh(x, **{'min_val': -2, 'inplace': True})",
])  # fmt: skip
def test_writes_to_a_negative_view_persist(body):
    op = ingot.op(f"def f(x, y):\n    {body}")
    try:
        op(X.clone(), Y)
    except ingot.Error as error:
        pytest.skip(f"not in the language: {error.message}")
    actual, expected = X.clone(), X.clone()
    op(torch._neg_view(actual), Y)
    op.reference(torch._neg_view(expected), Y)
    assert not torch.equal(expected, X)
    assert_close(actual, expected)
    # So does a compiled call.
    compiled = X.clone()
    torch._dynamo.reset()
    torch.compile(lambda x: op(x, Y), backend="aot_eager", fullgraph=True)(compiled)
    op.reference(expected := X.clone(), Y)
    assert_close(compiled, expected)


@pytest.mark.parametrize("make", [
    lambda: torch.empty(4, 6, device="meta"), lambda: torch.empty(4, 6, device="meta").as_subclass(Plain),
], ids=["meta", "subclass on meta"])
def test_an_out_of_another_device_is_rejected(make):
    with pytest.raises(RuntimeError, match="out is .* on meta"):
        gated(X, Y, out=make())


@pytest.mark.parametrize("kind", [Plain, Logged])
def test_a_subclass_as_out_is_returned_itself(kind):
    out, other = torch.zeros(4, 6).as_subclass(kind), torch.zeros(4).as_subclass(kind)
    assert gated(X, Y, out=out) is out
    assert_close(out.as_subclass(torch.Tensor), gated(X, Y))
    outs = (torch.zeros(4, 1), other)
    assert moments(X, out=outs)[1] is other
    assert_close(other.as_subclass(torch.Tensor), moments(X)[1])


@pytest.mark.parametrize("make", [
    lambda: torch.randn(4, 6, dtype=torch.complex64),
    lambda: torch.randn(4, 6).to_sparse(),
    lambda: torch.randn(4, 6).rename("a", "b"),
    lambda: torch._efficientzerotensor((4, 6)),
    lambda: torch.nested.nested_tensor([torch.randn(2), torch.randn(3)]),
], ids=["complex", "sparse", "named", "zero", "nested"])
def test_tensors_that_are_not_dense_fall_back(make):
    double, x = ingot.op("x * 2.0"), make()
    result, count = with_fallbacks(lambda: double(x))
    assert count == 1 and (result.dtype, result.layout) == (x.dtype, x.layout)


def test_errors_of_the_fallback_are_pytorchs():
    with pytest.raises(RuntimeError) as error:
        ingot.op("F.relu(x)")(torch.randn(3, dtype=torch.complex64))
    assert not isinstance(error.value, ingot.Error)
    with pytest.raises(ingot.Error, match="annotated float"):
        torch.vmap(lambda x: gated(x, Y, x))(X)


def test_out_in_the_fallback():
    out = torch.empty(4, 6, device="meta")
    assert gated(X.to("meta"), Y.to("meta"), out=out) is out
    with pytest.raises(RuntimeError, match="out is"):
        gated(X.to("meta"), Y.to("meta"), out=torch.empty(3, device="meta"))
    with pytest.raises(ingot.Error, match="out=... arguments don't support automatic differentiation"):
        gated(X.clone().requires_grad_(), Y, out=torch.empty(4, 6))


def test_lists_and_dicts():
    @ingot.op
    def total(xs, named):
        return torch.stack(xs).sum(0) + named["y"]

    result = torch.vmap(lambda a, b: total([a, b], {"y": a}))(X, X + 1)
    assert_close(result, 3 * X + 1)
    x = X.clone().requires_grad_()
    (gradient,) = torch.autograd.grad(total((x, x), {"y": Y}), x, torch.ones(5, 4, 6), is_grads_batched=True)
    assert_close(gradient, torch.full((5, 4, 6), 2.0))


def test_the_fast_path_does_not_fall_back():
    leaf = X.clone().requires_grad_()
    _, count = with_fallbacks(lambda: gated(leaf, Y).sum().backward())
    assert count == 0
