"""The Python API: how ops are made and called, and what they return."""

import copy
import functools
import importlib.util
import inspect
import math
import pickle
import threading

import pytest
import torch
import torch.nn.functional as functional
from torch import relu as rectified

import ingot

SCALE = 0.25
SIZES = (2, 3)
UNUSED = object()


def shifted(x, by=SCALE):
    return x + by


def twice_shifted(x):
    return shifted(shifted(x), 2.0)


@ingot.op
def relu_add(x, y, bias: float = 0.5):
    """relu(x) + y + bias."""
    return torch.relu(x) + y + bias


@ingot.op(name="renamed", numerics="eager", debug=True)
def with_options(x):
    return x * 2


@ingot.op
def uses_its_module(x):
    return rectified(twice_shifted(x)) * SIZES[1] + functional.relu(x) * math.pi


@ingot.op
def uses_what_comes_later(x):
    return below(x) + BELOW


@ingot.op
def two_results(x, y):
    return x + y, x - y


def below(x):
    return x * 3


BELOW = 7


def pair():
    return torch.randn(3, 5), torch.randn(3, 5)


def test_a_function_becomes_an_op():
    x, y = pair()
    assert torch.equal(relu_add(x, y, 1.5), torch.relu(x) + y + 1.5)
    assert relu_add.name == "relu_add"
    assert relu_add.__doc__ == "relu(x) + y + bias."
    assert relu_add.__wrapped__.__name__ == "relu_add"
    assert str(inspect.signature(relu_add)) == str(relu_add.signature) == "(x, y, bias: float = 0.5)"
    assert repr(relu_add) == "<ingot.Op relu_add(x, y, bias: float = 0.5)>"


def test_keywords_and_defaults():
    x, y = pair()
    expected = torch.relu(x) + y + 0.5
    assert torch.equal(relu_add(x, y), expected)
    assert torch.equal(relu_add(y=y, x=x), expected)
    assert torch.equal(relu_add(x, y, bias=2), torch.relu(x) + y + 2.0)
    assert torch.equal(relu_add(x, **{"".join(["y"]): y}), expected)  # a name that is not interned


def test_an_explicit_none_is_not_the_default():
    def plus(x, w, k=2.0):
        return (x if w is None else x * w) + (5 if k is None else k)

    x = torch.randn(4, requires_grad=True)
    text = "def plus(x, w, k=2.0):\n    return (x if w is None else x * w) + (5 if k is None else k)\n"
    for op in (ingot.op(plus), ingot.op(text)):
        for args in ((x, None), (x, None, None), (x, x, None), (x, None, 3)):
            assert torch.equal(op(*args), plus(*args))
            actual, expected = (torch.autograd.grad(f(*args).sum(), x)[0] for f in (op, plus))
            assert torch.equal(actual, expected)
    assert torch.equal(ingot.op("def f(xs): return xs[0] if xs[1] is None else xs[1]")([x, None]), x)
    ingot.register("ingot_test_api::plus", ingot.op(text), schema="(Tensor x, Tensor? w, float k=2.0) -> Tensor")
    assert torch.equal(torch.ops.ingot_test_api.plus(x, None), plus(x, None))
    assert torch.equal(torch.autograd.grad(torch.ops.ingot_test_api.plus(x, None, 3.0).sum(), x)[0], torch.ones(4))
    custom = ingot.op(text + "def plus_backward(grad, x, w, k=2.0):\n    return grad * (7 if k is None else 8), None, None\n")
    for args, expected_gradient in (((x, None), 8), ((x, None, None), 7)):
        assert torch.equal(torch.autograd.grad(custom(*args).sum(), x)[0], torch.full((4,), float(expected_gradient)))
    with pytest.raises(ingot.Error, match="is missing its argument `w`"):
        ingot.op(text)(x, k=3)


def test_options_of_the_decorator():
    x = torch.randn(4)
    assert torch.equal(with_options(x), x * 2)
    assert with_options.name == "renamed"
    assert with_options.numerics == "eager" and with_options.debug


def test_an_op_from_source():
    x, y = pair()
    assert torch.equal(ingot.op("relu(x) + y")(x, y), torch.relu(x) + y)
    assert ingot.op("x + 1", name="increment").name == "increment"
    text = "def first(x): return x + 1\n\ndef second(x): return first(x) * 2\n"
    assert torch.equal(ingot.op(text)(x), (x + 1) * 2)
    assert torch.equal(ingot.op(text, name="first")(x), x + 1)


def test_names_used_by_a_function_are_captured():
    x = torch.randn(20)
    expected = torch.relu(x + 0.25 + 2.0) * 3 + torch.relu(x) * math.pi
    assert torch.equal(uses_its_module(x), expected)
    assert torch.equal(uses_its_module.reference(x), expected)
    assert "UNUSED" not in uses_its_module.text
    assert torch.equal(uses_what_comes_later(x), x * 3 + 7)


def test_closures_and_ops_inside_ops():
    factor, kind = 3, torch.float64
    inner = ingot.op(lambda x: x * factor)

    @ingot.op
    def outer(x):
        return inner(x).to(kind) + relu_add(x, x)

    x = torch.randn(6)
    assert torch.equal(outer(x), (x * 3).double() + (torch.relu(x) + x + 0.5))


def test_lambdas():
    x, y = pair()
    first, second = ingot.op(lambda a: a * SCALE), ingot.op(lambda b, c=2: (b -
                                                                          c), name="minus")
    assert torch.equal(first(x), x * 0.25)
    assert torch.equal(second(x, y), x - y)
    assert torch.equal(second(x), x - 2)
    assert second.name == "minus"


@pytest.mark.parametrize("value, kind", [(torch.ones(2), "torch.Tensor"), ({"a", "b"}, "set"), ({"a": object()}, "dict"), (object(), "object")])
def test_values_that_cannot_be_captured_are_named(value, kind):
    def body(x):
        return x + value

    with pytest.raises(ingot.Error, match=rf"`body` uses `value`, which is a {kind}") as caught:
        ingot.op(body)(torch.ones(2))
    assert caught.value.fault == "author"
    assert "test_python_api.py" in str(caught.value)


def test_an_unsupported_module_is_named():
    with pytest.raises(ingot.Error, match="uses the module `inspect`"):
        ingot.op(lambda x: x + inspect.CO_NESTED)(torch.ones(2))


def test_a_function_without_source_is_an_error():
    scope = {}
    exec("def made(x): return x", scope)
    with pytest.raises(ingot.Error, match="source of `made` cannot be found"):
        ingot.op(scope["made"])


def test_decorators():
    def doubled(function):
        @functools.wraps(function)
        def outer(x):
            return 2 * function(x)

        return outer

    def plain(x):
        return x + 1

    assert torch.equal(ingot.op(torch.no_grad()(plain))(torch.ones(2)), torch.full((2,), 2.0))
    with pytest.raises(ingot.Error, match="wrapped by a decorator"):
        ingot.op(doubled(plain))


def test_names_of_a_star_import(tmp_path):
    (tmp_path / "starred.py").write_text(
        "from torch import *\n\n"
        "def f(x, b: float):\n"
        "    parts = [x * k for k in range(3)]\n"
        "    return sum(parts) * pi + max(x, abs(-x)) + b\n"
    )
    spec = importlib.util.spec_from_file_location("starred", tmp_path / "starred.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    f, x = ingot.op(module.f), torch.randn(5)
    expected = (0 + x * 0 + x * 1 + x * 2) * math.pi + torch.max(x, torch.abs(-x)) + 0.5
    assert torch.equal(f(x, 0.5), expected)
    assert torch.equal(f.reference(x, 0.5), expected)


def test_ops_are_copied_and_pickled():
    x, y = pair()
    assert copy.deepcopy(relu_add) is relu_add
    for op in (relu_add, uses_its_module, ingot.op("x * 2", name="double")):
        copied = pickle.loads(pickle.dumps(op))
        arguments = (x, y) if op is relu_add else (x,)
        assert torch.equal(copied(*arguments), op(*arguments))
        assert copied.name == op.name


def test_errors_name_the_file_and_the_line():
    def wrong(x):
        y = x + 1
        return sigmoyd(y)

    line = inspect.getsourcelines(wrong)[1] + 2
    with pytest.raises(ingot.Error, match="did you mean `sigmoid`") as caught:
        ingot.op(wrong)(torch.ones(2))
    assert f"test_python_api.py:{line}:16" in str(caught.value)


def test_syntax_is_checked_when_the_op_is_made():
    def tries(x):
        try:
            return x
        finally:
            pass

    with pytest.raises(ingot.Error, match="try") as caught:
        ingot.op(tries)
    assert "test_python_api.py" in str(caught.value)


def test_results():
    x, y = pair()
    total, difference = two_results(x, y)
    assert torch.equal(total, x + y) and torch.equal(difference, x - y)
    assert isinstance(two_results(x, y), tuple)
    assert type(relu_add(torch.nn.Parameter(x, requires_grad=False), y)) is torch.Tensor


# Source → the fields of the named tuple that the op returns.
NAMED = {
    "def f(x): return x.max(1)": ("values", "indices"), "def f(x): return torch.min(x, dim=0, keepdim=True)": ("values", "indices"),
    "x.aminmax(dim=1)": ("min", "max"), "def f(x):\n    y = torch.frexp(x)\n    return y": ("mantissa", "exponent"),
    "def g(x): return x.min(-1)\ndef f(x): return g(x * 2)": ("values", "indices"),
}  # fmt: skip


@pytest.mark.parametrize("text", NAMED)
@pytest.mark.parametrize("recorded", [False, True])
@pytest.mark.parametrize("compiled", ["", "aot_eager"])
def test_named_results(text, recorded, compiled):
    op, x = ingot.op(text), torch.randn(3, 5)
    torch._dynamo.reset()
    call = torch.compile(lambda x: op(x), fullgraph=True, backend=compiled) if compiled else op
    leaves = [x.clone().requires_grad_(recorded) for _ in range(2)]
    actual, expected = call(leaves[0]), op.reference(leaves[1])
    assert type(actual) is type(expected) and type(actual).__module__ == "torch.return_types"
    for name in NAMED[text]:
        assert torch.equal(getattr(actual, name), getattr(expected, name))
    if recorded and "aminmax" not in text:  # PyTorch has no derivative of it
        for result in (actual, expected):
            result[0].sum().backward()
        torch.testing.assert_close(leaves[0].grad, leaves[1].grad)
    outs = tuple(torch.empty_like(t) for t in expected)
    if not recorded and not compiled:
        assert op(x, out=outs) is outs and torch.equal(outs[0], expected[0])


def test_a_tuple_of_named_results_is_a_tuple():
    for text in ("def f(x):\n    a, b = x.max(1)\n    return a, b", "def f(x): return tuple(x.max(1))", "def f(x): return x.max(1)[:]"):
        assert type(ingot.op(text)(torch.randn(3, 5))) is tuple


def test_out():
    x, y = pair()
    out = torch.empty(3, 5)
    assert relu_add(x, y, out=out) is out
    assert torch.equal(out, torch.relu(x) + y + 0.5)
    outs = (torch.empty(3, 5), torch.empty(3, 5))
    assert two_results(x, y, out=outs) is outs
    assert torch.equal(outs[1], x - y)
    strided = torch.empty(5, 3).t()
    relu_add(x, y, out=strided)
    assert torch.equal(strided, torch.relu(x) + y + 0.5)


def test_an_out_of_another_shape_or_dtype_is_an_error():
    x, y = pair()
    for out in (torch.empty(3, 4), torch.empty(3, 5, dtype=torch.float64), (torch.empty(3, 5),) * 2, 3):
        with pytest.raises(ingot.Error):
            relu_add(x, y, out=out)


def test_out_bumps_the_version():
    w = torch.ones(3, requires_grad=True)
    operand = torch.full((3,), 2.0)
    product = w * operand
    with torch.no_grad():
        ingot.op("x + 1")(torch.ones(3), out=operand)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        product.sum().backward()


def test_numbers():
    x = torch.arange(6)
    add = ingot.op("def add(x, n): return x + n")
    for number in (2, 2.5, True, -(2**63), float("inf")):
        result, expected = add(x, number), x + number
        assert result.dtype == expected.dtype and torch.equal(result, expected)
    numpy = pytest.importorskip("numpy")
    assert torch.equal(add(x, numpy.float64(2.5)), x + 2.5)
    assert torch.equal(add(x, numpy.int32(3)), x + 3)
    with pytest.raises(ingot.Error, match="64 bits"):
        add(x, 2**64)
    with pytest.raises(ingot.Error, match="`n` is a str[^$]*an op for each value"):
        add(x, "2")
    with pytest.raises(ingot.Error, match="takes tensors and numbers, not a list"):
        add(x, [1, 2])


@pytest.mark.parametrize(
    "call, message",
    [
        (lambda x: relu_add(x, x, 0.5, 1), "takes 3 arguments, 4 were given"),
        (lambda x: relu_add(x), "`y`"),
        (lambda x: relu_add(x, x, bais=1), "no parameter `bais`(.|\n)*did you mean `bias`"),
        (lambda x: relu_add(x, x, x=x), "given `x` twice"),
        (lambda x: relu_add(x, x, x), "`bias` is annotated float"),
        (lambda x: relu_add(x, torch.ones(7)), "(broadcast|size)"),
    ],
)
def test_invalid_calls_are_errors(call, message):
    with pytest.raises(ingot.Error, match=message) as caught:
        call(torch.ones(2, 3))
    assert caught.value.fault == "author"


def test_errors_survive_pickling():
    with pytest.raises(ingot.Error) as caught:
        relu_add(torch.ones(2))
    copied = pickle.loads(pickle.dumps(caught.value))
    assert isinstance(copied, ingot.Error) and isinstance(copied, RuntimeError)
    assert str(copied) == str(caught.value) and copied.fault == "author"


def test_pytorch_raises_its_own_errors():
    huge = torch.empty(1).expand(2**60)  # larger than any address space
    with pytest.raises(RuntimeError) as caught:
        ingot.op("x + 1")(huge)
    assert not isinstance(caught.value, ingot.Error)


def test_stages():
    x = torch.randn(64, 64)
    assert "relu" in relu_add.source(x, x)
    assert "__global__" in relu_add.emit("source", x, x, device="cuda", architecture=80)
    for stage in ("ast", "ir", "schedule", "kernel"):
        assert relu_add.emit(stage, x, x)
    meta = torch.empty(64, 64, device="meta")
    assert relu_add.emit("source", meta, meta, device="cpu") == relu_add.emit("source", x, x, device="cpu")
    with pytest.raises(ingot.Error, match="the stages are"):
        relu_add.emit("assembly", x, x)
    with pytest.raises(ingot.Error, match="devices are cpu and cuda"):
        relu_add.emit("source", x, x, device="xpu")


def test_trace(capsys):
    @ingot.op
    def shares(x, y):
        total = x + y
        part = x / total
        return part * 100

    x, y = torch.tensor([1.0, 3.0]), torch.tensor([3.0, 1.0])
    shares.trace(x, y, at=1)
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "shares at 1"
    rows = {line.split()[0]: line.split()[1:] for line in lines[2:]}
    assert rows["total"] == ["4", "4", "0"]
    assert rows["part"] == ["0.75", "0.75", "0"]
    assert rows["returns"] == ["75", "75", "0"]
    with pytest.raises(ingot.Error, match="not the index of an element"):
        shares.trace(x, y, at=2)


def test_threads():
    ops = [ingot.op(f"x * {k} + y") for k in range(4)]
    x, y = torch.randn(1000), torch.randn(1000)
    failures = []

    def work():
        for _ in range(50):
            for k, f in enumerate(ops):
                if not torch.equal(f(x, y), x * k + y):
                    failures.append(k)

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures


def test_a_warm_call_is_a_vectorcall():
    assert type(relu_add).__flags__ & (1 << 11)  # Py_TPFLAGS_HAVE_VECTORCALL


def test_the_language_lists_its_names():
    names = ingot.language()
    all_names = {s for n in names for s in (n.name, *n.aliases)}
    assert len(names) >= 80
    assert {"relu", "maximum", "where", "gelu", "stack", "clamp"} <= all_names
