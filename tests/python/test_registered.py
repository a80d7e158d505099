"""Ops that are registered with PyTorch's dispatcher."""

import ast
import itertools
import time

import pytest
import torch

from conftest import ROOT

import ingot
from ingot.oracle import as_list
from ingot.registered import schema_of
from ingot.schema import effects_of

NUMBERS = itertools.count()


def register(op, schema=None):
    """Registers the op under a new name, because a registration is permanent."""
    return ingot.register(f"ingot_tests::op_{next(NUMBERS)}", op, schema)


def leaf(*shape):
    return torch.randn(*shape, requires_grad=True)


@pytest.mark.parametrize("text, schema", [
    ("x + 1", "(Tensor x) -> Tensor"),
    ("def f(x, y=None, k=2, *, s: float = 1.0, n: int = 3): return x * k * s + n", "(Tensor x, Tensor? y=None, Scalar k=2, *, float s=1.0, SymInt n=3) -> Tensor"),
    ("def f(x, flag: bool): return x if flag else x + 1", "(Tensor x, bool flag) -> Tensor"),
    ("def f(x): return x, x + 1", "(Tensor x) -> (Tensor, Tensor)"),
    ("def f(x): return [x, x + 1]", "(Tensor x) -> Tensor[]"),
    ("def f(x): return x.max(1)", "(Tensor x) -> (Tensor, Tensor)"),
    ("def f(x):\n    a, b = x.max(1)\n    return a", "(Tensor x) -> Tensor"),
    ("def f(x, y):\n    x += y", "(Tensor(a0!) x, Tensor y) -> ()"),
    ("def f(x, y):\n    z = x * 2\n    z += y\n    return z", "(Tensor x, Tensor y) -> Tensor"),
    ("def f(x, y):\n    row = x.view(-1)\n    row.add_(y)", "(Tensor(a0!) x, Tensor y) -> ()"),
    ("def f(x, y): x.mul_(2).add_(y)", "(Tensor(a0!) x, Tensor y) -> ()"),
    ("def f(x, y):\n    x[0] = y\n    return x * 1", "(Tensor(a0!) x, Tensor y) -> Tensor"),
    ("def f(x, y):\n    return F.relu(x, inplace=True) + y", "(Tensor(a0!) x, Tensor y) -> Tensor"),
    ("def f(x, y):\n    return F.relu(x, True) + y", "(Tensor(a0!) x, Tensor y) -> Tensor"),
    ("def f(x, y):\n    return F.relu(input=x, inplace=True) + y", "(Tensor(a0!) x, Tensor y) -> Tensor"),
    ("def f(x, w, b, m, v): return torch.batch_norm(x, w, b, m, v, True, 0.1, 1e-5, False)", "(Tensor x, Tensor w, Tensor b, Tensor(a3!) m, Tensor(a4!) v) -> Tensor"),
    ("def f(x, m, v): return F.instance_norm(x, m, v)", "(Tensor x, Tensor(a1!) m, Tensor(a2!) v) -> Tensor"),
    ("def f(x):\n    y, x[0] = x * 2, 0.0\n    return y", "(Tensor(a0!) x) -> Tensor"),
    ("def f(x, y): x[y[0] > 2.5] = 0.0", "(Tensor(a0!) x, Tensor y) -> ()"),
    ("def f(x, y):\n    [y[:], z], x = (x * 1, 2), y\n    return x", "(Tensor x, Tensor(a1!) y) -> Tensor"),
    ("def f(x):\n    y = x.conj_physical()\n    y += 1", "(Tensor(a0!) x) -> ()"),
    ("def f(x, y):\n    items = [x * 1, y]\n    items[-1] += 1\n    return items[0]", "(Tensor x, Tensor(a1!) y) -> Tensor"),
    ("def f(x, y):\n    items = [x * 1, x * 2]\n    items[0] += y\n    return items[0]", "(Tensor x, Tensor y) -> Tensor"),
    ("def f(x, y):\n    counts = [0, 1]\n    counts[0] += 1\n    return x * counts[0] + y", "(Tensor x, Tensor y) -> Tensor"),
    ("def f(x, y):\n    items = [x * 1]\n    if x.dim():\n        def add(): items.append(y)\n        add()\n    last = items[-1]\n    last += 1\n"
     "    return x * 2", "(Tensor x, Tensor(a1!) y) -> Tensor"),
    ("def f(x):\n    def pair(y): return y, y\n    pair(x)\n    return x * 2", "(Tensor x) -> Tensor"),
    ("def g(p): return p\ndef f(x): return g((x, x + 1))", "(Tensor x) -> (Tensor, Tensor)"),
    ("def g(a, b): return a * b\ndef f(x, y): return g(x, y), g(y, x)", "(Tensor x, Tensor y) -> (Tensor, Tensor)"),
    ("def f(x, y):\n    torch.mul(x, 2, out=y)", "(Tensor x, Tensor(a1!) y) -> ()"),
    ("def g(x): return x * 2\ndef f(x): return g(x), g(x + 1)", "(Tensor x) -> (Tensor, Tensor)"),
    ("def f(x):\n    a, b = x.chunk(2, -1)\n    return F.silu(a) * b", "(Tensor x) -> Tensor"),
    ("def f(x):\n    a, b = torch.chunk(x, 2, dim=-1)\n    return a, b", "(Tensor x) -> (Tensor, Tensor)"),
    ("def f(x):\n    y = x * 0\n    for row in x.unbind(): y = y + row\n    return y, row", "(Tensor x) -> (Tensor, Tensor)"),
    ("def f(x): return x.chunk(3)[1], x.split(2)[0]", "(Tensor x) -> (Tensor, Tensor)"),
    ("def f(x): return x.split(2)", "(Tensor x) -> Tensor[]"),
    ("def f(x): return (x, *x.unbind(0))", "(Tensor x) -> Tensor[]"),
    ("def f(x): return x.split([1, 2], 1)", "(Tensor x) -> (Tensor, Tensor)"),
    ("def f(x): return torch.split(x, split_size_or_sections=(1, 2), dim=1)", "(Tensor x) -> (Tensor, Tensor)"),
    ("def f(x): return x.tensor_split(3, -1)", "(Tensor x) -> (Tensor, Tensor, Tensor)"),
    ("def f(x): return torch.hsplit(x, (1, 2))", "(Tensor x) -> (Tensor, Tensor, Tensor)"),
    ("def f(x): return sum(x.unbind(0))", "(Tensor x) -> Tensor"),
    ("def f(x): return tuple(t * 2 for t in x.chunk(2, -1))", "(Tensor x) -> Tensor[]"),
    ("def f(x): return [t for t in x.chunk(2, -1)][0]", "(Tensor x) -> Tensor"),
    ("def f(x): return tuple(x * 2 for x in x)", "(Tensor x) -> Tensor[]"),
    ("def f(x): return [b for i, (a, b) in enumerate(zip(x, x * 2))]", "(Tensor x) -> Tensor[]"),
    ("def f(x):\n    y = (x, x * 2)\n    y = y + y\n    return y", "(Tensor x) -> Tensor[]"),
    ("def f(x):\n    z = [x]\n    y = z\n    return [y[0] for z in x][0]", "(Tensor x) -> Tensor"),
    ("def f(x, y):\n    ys = [x]\n    ys.append(y)\n    ys[1].add_(1)", "(Tensor(a0!) x, Tensor(a1!) y) -> ()"),
    ("def f(x, y):\n    for a in [x] + [y]: a.add_(1)", "(Tensor(a0!) x, Tensor(a1!) y) -> ()"),
    ("def f(x, y):\n    ys = [x * 1]\n    ys += [y * 2]\n    return ys", "(Tensor x, Tensor y) -> Tensor[]"),
    ("def f(x):\n    y = +x\n    y.add_(1)", "(Tensor(a0!) x) -> ()"),
    ("def f(x):\n    n, m = x.shape\n    n //= 2\n    return x * n", "(Tensor x) -> Tensor"),
    ("def f(x):\n    n = x.shape[0] * 2\n    n += 1\n    return x * n", "(Tensor x) -> Tensor"),
    ("def f(x):\n    n = x.size(0) + len(x)\n    n += 1\n    return x * n", "(Tensor x) -> Tensor"),
    ("def f(x, n: int):\n    m = n * 2\n    m += 1\n    return x * m", "(Tensor x, SymInt n) -> Tensor"),
    ("def f(x): return [x, x + 1, x + 2][1:]", "(Tensor x) -> Tensor[]"),
    ("def f(x): return x.unbind(0) + (x,)", "(Tensor x) -> Tensor[]"),
    ("def f(x): return torch.broadcast_tensors(x, x[0])", "(Tensor x) -> Tensor[]"),
    ("def f(x):\n    y = 0.0\n    for row in x: y += row\n    return y", "(Tensor x) -> Tensor"),
    ("def g(x): return x * 2\ndef f(x):\n    for i in range(3): x = g(x)\n    return x", "(Tensor x) -> Tensor"),
    ("def g(x, s, n): return x * s + n\ndef f(x):\n    s, n = 2.0, 1\n    eps = 1e-6\n    return g(x + s, eps, n=3) + n", "(Tensor x) -> Tensor"),
    ("def g(x, n): return x * n\ndef f(x):\n    n = 0\n    for row in x: n = n + 1\n    return g(x, n)", "(Tensor x) -> Tensor"),
    ("def f(x):\n    y = []\n    for row in x: y = y + [row]\n    return y", "(Tensor x) -> Tensor[]"),
    ("def f(x, y):\n    for i in range(3): x, y = y * 2, x + i\n    return x, y", "(Tensor x, Tensor y) -> (Tensor, Tensor)"),
    ("def f(x): return x.max(1).values", "(Tensor x) -> Tensor"),
    ("def f(x): return x.int(), (x > 0).float()", "(Tensor x) -> (Tensor, Tensor)"),
    ("def f(x): return torch.aminmax(x)", "(Tensor x) -> (Tensor, Tensor)"),
    ("def f(x): return torch.var_mean(x, 1)", "(Tensor x) -> (Tensor, Tensor)"),
    ("def f(x, y):\n    for t in [x, y]: t.mul_(2)", "(Tensor(a0!) x, Tensor(a1!) y) -> ()"),
    ("def f(x, y):\n    F.relu(x, **{'inplace': True})\n    return y * 2", "(Tensor(a0!) x, Tensor y) -> Tensor"),
])
def test_the_schema_is_inferred_from_the_source(text, schema):
    assert schema_of(ingot.op(text)) == schema


@pytest.mark.parametrize("text", [
    "def f(x, k): return F.relu(x, **k)",
    "def f(x, k): return F.relu(*k)",
    "def f(x): return x.max(1) if x.ndim == 2 else x",
    "def f(x, n: int): return n",
    "def g(x):\n    x += 1\ndef f(x):\n    g(x)\n    return x * 2",
    "def f(x): return x.max(1) if x.ndim == 2 else [x]",
    "def f(x): return x.max(1) if x.ndim == 2 else x.unbind(0)",
    "def f(x):\n    y = [x]\n    for i in range(1): y = [y[0], y]\n    return y[1]",
    "def f(x):\n    y = [x]\n    y.append([x])\n    return y[1]",
    "def f(x):\n    z = [x]\n    y = z\n    return [y for z in x][0]",
    "def f(x):\n    s = ((x, x), (x, x))\n    return [s for s in s][0]",
    "def g(*ts): return ts[0]\ndef f(x): return g(x, x)",
    "def g(a, b): return b\ndef f(x):\n    ts = (x, [x])\n    return g(*ts)",
    "def zip(a, b): return [(b, a)]\ndef f(x, y):\n    for a, b in zip(x, y): a.add_(1)",
    "def f(x, k: int = 2):\n    y = None\n    if k > 5: y = x * 2\n    return y",
    "def f(x): return (t for t in x)",
    "def f(x):\n    z = (y := x) * 1\n    y.add_(1)\n    return z",
    "def f(x):\n    y = x.max(1)\n    y = y[:1]\n    return y",
    "def f(x):\n    relu = lambda t: (t, t)\n    return relu(x)",
    "def f(x, d=1): return x.max(d)",
    "def f(x, y): return max(x, y)",  # y may be a dim
    "def f(x): return torch.atleast_1d(x, x)",
    "def f(x, flag: bool):\n    if flag: return x * 2",
    "def f(x):\n    h = F.relu_\n    h(x)\n    return x * 1",
    "def relu(x): return x.view(-1)\ndef f(x):\n    y = relu(x)\n    y += 1\n    return y",
    "def f(x):\n    y = torch.einsum('ij->ji', x)\n    y += 1\n    return y * 1",
    "def f(x):\n    def g(y): y.add_(1)\n    g(x)\n    return x * 1",
    "def f(x):\n    y = x * 1\n    [y.add_(1) for y in (x,)]\n    return y",
])
def test_uninferable_schemas_are_requested(text):
    with pytest.raises(ingot.Error, match="cannot be inferred from its source(.|\n)*schema="):
        register(ingot.op(text))


LONG = {
    "values": "def f(x):\n    y0 = x\n" + "".join(f"    y{i + 1} = y{i} * y{i} + x\n" for i in range(1000)) + "    return y1000",
    "in turn": "def f(x):\n    a, b = x.chunk(2)\n" + "    a += b * b\n    b += a * a\n" * 500 + "    return a",
    "tuples": "def f(x):\n    y0 = x\n" + "".join(f"    y{i + 1} = (y{i}, y{i})[0]\n" for i in range(60)) + "    return y60 * 1",
    "counters": "def f(x):\n" + "".join(f"    c{i} = {i}.5\n    n{i} = 0\n    n{i} = n{i} + 1\n" for i in range(300)) + "    return x * n5 * c3",
    "helpers": "".join(f"def g{i}(x): return g{i + 1}(x) * g{i + 1}(x)\n" for i in range(60)) + "def g60(x): return x\ndef f(x): return g0(x)",
}


@pytest.mark.parametrize("kind", LONG)
def test_a_long_source_is_read_fast(kind):
    begin = time.process_time()
    effects = effects_of(ast.parse(LONG[kind]), "f")
    assert time.process_time() - begin < 2
    assert effects.returns.count == 1
    assert effects.writes is not None


@pytest.mark.parametrize("text, schema, message", [
    ("x + y", "(Tensor x) -> Tensor", "parameter 2 is `y`"),
    ("x + y", "(Tensor y, Tensor x) -> Tensor", "parameter 1 is `x`"),
    ("x + 1", "(str x) -> Tensor", "type str"),
    ("x + 1", "(Tensor x, Tensor more) -> Tensor", "no parameter `more`"),
    ("x + 1", "(Tensor x) -> float", "returns a float"),
    ("x + 1", "Tensor x -> Tensor", "is not a schema"),
    ("def f(x): x += 1", "(Tensor x) -> ()", "its schema does not say so"),
])
def test_invalid_schemas_are_errors(text, schema, message):
    with pytest.raises(ingot.Error, match=message):
        register(ingot.op(text), schema)


@pytest.mark.parametrize("text, schema, message", [
    ("def f(x, s: float = 0.5): return x * s", "(Tensor x, float s=3.0) -> Tensor", "default of `s` is 0.5"),
])
def test_different_defaults_are_an_error(text, schema, message):
    with pytest.raises(ingot.Error, match=message):
        register(ingot.op(text), schema)


def test_the_gradient_operator_checks_its_flags_and_keeps_its_name():
    f = register(ingot.op("x * x"))
    backward = getattr(torch.ops.ingot_tests, f"{f._opname}_backward")
    x = torch.ones(3)
    assert torch.equal(backward(x, x, [True])[0], 2 * x)
    for flags in ([], [True, True]):
        with pytest.raises(ingot.Error, match="flags of wanted gradients for 1 arguments"):
            backward(x, x, flags)
    with pytest.raises(ingot.Error, match="registered already"):
        ingot.register(f"ingot_tests::{f._opname}_backward", ingot.op("x + 1"))


def test_invalid_names_are_errors():
    op = ingot.op("x + 1")
    ingot.register("ingot_tests::twice", op)
    with pytest.raises(ingot.Error, match="registered already"):
        ingot.register("ingot_tests::twice", op)
    with pytest.raises(ingot.Error, match="namespace"):
        ingot.register("once", op)


def test_results_that_contradict_the_schema_are_an_error():
    f = register(ingot.op("def f(x): return x, x + 1"), "(Tensor x) -> Tensor")
    with pytest.raises(ingot.Error, match="returns 2 results, but its schema declares 1"):
        f(torch.ones(3))


OPS = [
    ("F.gelu(x + y) * x", lambda: (leaf(4, 6), leaf(6))),
    ("def f(x, y, k: float = 0.5): return (x * y * k).sum(0)", lambda: (leaf(4, 6).t().detach().requires_grad_(), leaf(4))),
    ("def f(x, y): return F.softmax(x, -1), (x * y).mean(1)", lambda: (leaf(4, 6), torch.randn(6))),
    ("def f(x, t): return F.cross_entropy(x, t)", lambda: (leaf(4, 6), torch.randint(6, (4,)))),
    ("def f(x, w, b): return F.layer_norm(x, (6,), w, b)", lambda: (leaf(4, 6), leaf(6), leaf(6))),
    ("def f(x): return x.exp(), x > 0", lambda: (leaf(4, 6)[:, ::2].detach().requires_grad_(),)),
    ("def f(x): return x.t()", lambda: (leaf(1, 6).detach().expand(4, 6).requires_grad_(),)),
    ("def f(x, n: int): return x.repeat(n, 1)", lambda: (leaf(4, 6), 3)),
]


@pytest.mark.parametrize("text, make", OPS, ids=[text for text, _ in OPS])
def test_opcheck(text, make):
    op = ingot.op(text)
    f = register(op)
    args = make()
    torch.library.opcheck(f, args)
    torch.library.opcheck(f, tuple(a.detach() if isinstance(a, torch.Tensor) else a for a in args))
    torch.testing.assert_close(f(*args), op.reference(*args))


@pytest.mark.parametrize("text, make", OPS[:5], ids=[text for text, _ in OPS[:5]])
def test_gradients_run_kernels(text, make):
    op = ingot.op(text)
    f, args = register(op), make()
    before = ingot.counters()
    first = lambda value: value[0] if isinstance(value, tuple) else value  # noqa: E731
    first(f(*args)).square().sum().backward()
    assert ingot.counters().since(before).eager_fallbacks == 0
    gradients = [a.grad for a in args if isinstance(a, torch.Tensor) and a.requires_grad]
    reference_args = [a.detach().clone().requires_grad_(a.requires_grad) if isinstance(a, torch.Tensor) else a for a in args]
    first(op.reference(*reference_args)).square().sum().backward()
    for actual, expected in zip(gradients, [a.grad for a in reference_args if isinstance(a, torch.Tensor) and a.requires_grad]):
        torch.testing.assert_close(actual, expected, rtol=1e-4, atol=1e-5)
        assert actual.stride() == expected.stride()


def boxes():
    corner, size = torch.rand(2, 3, 5, 2)
    return torch.cat([corner, corner + size + 0.1], -1)


EXAMPLES = {
    "relu_add": ("relu_add", lambda: (torch.randn(4, 6), torch.randn(6), 0.5)),
    "mul": ("mul", lambda: (torch.randn(4, 6), torch.randn(4, 1))),
    "giou": ("giou", lambda: (boxes(), boxes())),
    "giou_loss": ("giou_loss", lambda: (boxes(), boxes())),
    "denoise": ("denoise", lambda: (*torch.randn(3, 2, 3, 4, 5), torch.rand(5, 9), torch.randint(9, (2, 1, 1, 1)))),
    "softmax": ("normalization", lambda: (torch.randn(4, 6),)),
    "layer_norm_gelu": ("normalization", lambda: (torch.randn(4, 6), torch.randn(6), torch.randn(6))),
    "rms_norm": ("normalization", lambda: (torch.randn(4, 6), torch.randn(4, 6), torch.randn(6))),
    "cross_entropy": ("normalization", lambda: (torch.randn(4, 6), torch.randint(6, (4,)))),
}


@pytest.mark.parametrize("name", EXAMPLES)
def test_every_example(name):
    """opcheck, and the example under compile, export and vmap."""
    torch._dynamo.reset()
    file, make = EXAMPLES[name]
    op, args = ingot.op((ROOT / f"examples/{file}.py").read_text(), name=name), make()
    f = register(op)
    args_with_grad = tuple(a.clone().requires_grad_() if isinstance(a, torch.Tensor) and a.is_floating_point() else a for a in args)
    torch.library.opcheck(f, args)
    torch.library.opcheck(f, args_with_grad)

    class Module(torch.nn.Module):
        def forward(self, *args):
            return op(*args)

    expected = op(*args)
    torch.testing.assert_close(torch.compile(Module(), fullgraph=True, backend="aot_eager")(*args), expected)
    torch.testing.assert_close(torch.export.export(Module(), args).module()(*args), expected)
    batch = tuple(torch.stack([a, a]) if isinstance(a, torch.Tensor) else a for a in args)
    dims = tuple(0 if isinstance(a, torch.Tensor) else None for a in args)
    for actual, expected_part in zip(as_list(torch.vmap(op, dims)(*batch)), as_list(expected)):
        torch.testing.assert_close(actual, torch.stack([expected_part, expected_part]), rtol=1e-4, atol=1e-5)


def test_arguments_written_in_place():
    f = register(ingot.op("def f(x, y, s: float): x.mul_(s).add_(y)"))
    x, y = torch.randn(4, 6), torch.randn(6)
    expected = x * 0.5 + y
    torch.library.opcheck(f, (x.clone(), y, 0.5))
    assert f(x, y, 0.5) is None
    torch.testing.assert_close(x, expected)
    compiled = torch.compile(lambda x: f(x, y, 0.5), fullgraph=True, backend="aot_eager")
    compiled(x)
    torch.testing.assert_close(x, expected * 0.5 + y)


def test_out_is_an_overload():
    op = ingot.op("x * 2 + y")
    name = f"ingot_tests::op_{next(NUMBERS)}"
    f = ingot.register(name, op)
    into = ingot.register(name + ".out", op, "(Tensor x, Tensor y, *, Tensor(a!) out) -> Tensor(a!)")
    x, y, out = torch.randn(4, 6), torch.randn(6), torch.empty(4, 6)
    assert into(x, y, out=out) is out
    torch.testing.assert_close(out, f(x, y))
    torch.testing.assert_close(f.overloadpacket(x, y, out=out), x * 2 + y)


def test_an_out_overload_that_returns_nothing_is_compiled():
    f = register(ingot.op("x * 2 + y"), "(Tensor x, Tensor y, *, Tensor(a!) out) -> ()")
    x, y, out = torch.randn(4, 6), torch.randn(6), torch.empty(4, 6)
    torch.library.opcheck(f, (x, y), {"out": out})
    torch.compile(lambda x, y, out: f(x, y, out=out), fullgraph=True, backend="aot_eager")(x, y, out)
    torch.testing.assert_close(out, x * 2 + y)


def test_transforms_of_an_overload():
    op = ingot.op("F.silu(x) * y")
    f, x, y = register(op), torch.randn(4, 6), torch.randn(6)
    for transform in (
        lambda f: torch.vmap(f, in_dims=(0, None))(x, y),
        lambda f: torch.func.grad(lambda x: f(x, y).sum())(x),
        lambda f: torch.func.jvp(f, (x, y), (x, y))[1],
        lambda f: torch.func.jacrev(f)(x, y),
        lambda f: torch.func.hessian(lambda y: f(x, y).sum())(y),
    ):
        torch.testing.assert_close(transform(f), transform(op.reference))


def test_autocast_of_an_overload():
    op = ingot.op("F.mse_loss(x, y)")
    f, x, y = register(op), torch.randn(4, 6).bfloat16(), torch.randn(6).bfloat16().expand(4, 6)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert f(x, y).dtype == op.reference(x, y).dtype == torch.float32


def test_lists_of_tensors():
    f = register(ingot.op("def f(xs, s: float): return torch.stack(xs).sum(0) * s"), "(Tensor[] xs, float s) -> Tensor")
    xs = [leaf(3), leaf(3)]
    torch.library.opcheck(f, (xs, 2.0))
    f(xs, 2.0).sum().backward()
    assert all(torch.equal(x.grad, torch.full((3,), 2.0)) for x in xs)


def test_lists_may_be_returned():
    f = register(ingot.op("def f(x): return x.split(2)"), "(Tensor x) -> Tensor[]")
    x = leaf(6, 3)
    assert [part.shape[0] for part in f(x)] == [2, 2, 2]
    torch.library.opcheck(f, (x,))


def test_errors_of_a_call_are_ingot_errors():
    f = register(ingot.op("x + y"))
    with pytest.raises(ingot.Error, match="broadcast|size"):
        f(torch.ones(3), torch.ones(4))
