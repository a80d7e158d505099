"""Fake kernels give the sizes, strides and dtypes of results, for arguments of any layout."""

import pytest
import torch
from torch._subclasses import FakeTensorMode
from torch.fx.experimental.symbolic_shapes import DimDynamic, ShapeEnv, StatelessSymbolicContext
from torch.utils._pytree import tree_leaves

import ingot
import names_table
from full_run import FULL_RUN, subset

SHAPE = (4, 6, 3, 5)


def base(*order):
    return torch.rand([SHAPE[d] for d in order]).add(0.1).permute([order.index(d) for d in range(4)])


# The layouts of x, y and z.
LAYOUTS = {
    "contiguous": lambda: [base(0, 1, 2, 3)] * 3,
    "transposed": lambda: [base(0, 1, 3, 2)] * 3,
    "permuted": lambda: [base(3, 1, 0, 2)] * 3,
    "channels last": lambda: [base(0, 2, 3, 1)] * 3,
    "channels last beside contiguous": lambda: [base(0, 2, 3, 1), base(0, 1, 2, 3), base(0, 2, 3, 1)],
    "contiguous beside transposed": lambda: [base(0, 1, 2, 3), base(0, 1, 3, 2), base(3, 2, 1, 0)],
    "a row": lambda: [base(0, 1, 2, 3), base(0, 2, 3, 1)[:1], base(0, 1, 2, 3)[0, 0, 0]],
    "slices with step 2": lambda: [torch.rand(4, 6, 3, 10)[..., ::2], base(0, 1, 3, 2), torch.rand(8, 6, 3, 5)[::2]],
    "expanded": lambda: [base(0, 1, 3, 2)[:, :1].expand(SHAPE), base(0, 1, 2, 3), torch.rand(3, 1).expand(SHAPE)],
    "dims of size 1": lambda: [base(0, 2, 3, 1)[:1].as_strided((1, 6, 3, 5), (7, 1, 30, 6)), base(3, 2, 1, 0)[:1], base(0, 1, 2, 3)[:1]],
    "empty": lambda: [base(0, 1, 3, 2)[:0], base(0, 1, 2, 3)[:0], base(0, 2, 3, 1)[:0]],
}

# Functions whose results have other strides in PyTorch's fake kernels than in its kernels.
HARD = ["2 ** x", "copysign(x, y)", "x // y", "x // 2", "floor_divide(x, y)", "torch.div(x, y, rounding_mode='floor')", "xlogy(x, y)",
        "special.xlog1py(x, y)", "F.logsigmoid(x)", "F.rrelu(x)", "F.rrelu(x, training=True)", "F.one_hot((x * 4).long(), 5)",
        "F.batch_norm(x, None, None, training=True)", "x.roll(1, 1)", "x.roll((1, 2), (0, 3))", "torch.channel_shuffle(x, 2)",
        "x.mean(1)", "F.softmax(x.transpose(1, 2), 1)", "torch.cat([x, x], 1)", "F.pad(x, (1, 1))"]  # fmt: skip
ROWS = [*names_table.UNARY, *names_table.CASTS, *names_table.BINARY, *names_table.TERNARY, *names_table.OPERATORS]
TEXTS = list(dict.fromkeys([*HARD, *(row.text for row in ROWS if "f" in row.kinds)]))
# Functions that PyTorch decomposes by other formulas in a fake kernel.
COMPOSITE = [text for text in TEXTS if "hinge_embedding" in text or "margin_ranking" in text]
TESTED = list(dict.fromkeys([*HARD, *subset(TEXTS[len(HARD) :], 0, step=12), *COMPOSITE]))


def register(text: str):
    op = ingot.op(f"def f(x, y, z): return {text}")
    schema = "(Tensor x, Tensor y, Tensor z) -> Tensor" if text in ("max(x, y)", "min(x, y)") else None  # y may be a dim
    return op, ingot.register(f"ingot_fakes::op_{TEXTS.index(text)}", op, schema=schema)


def describe(results, exactly: bool) -> list[tuple]:
    """Shape, strides, dtype and device. Unless `exactly`, without the strides of dims of size 1 and of empty
    tensors."""
    def strides(t):
        return [int(s) for n, s in zip(t.shape, t.stride()) if exactly or (n != 1 and t.numel() > 0)]

    return [(tuple(map(int, t.shape)), strides(t), t.dtype, t.device.type) for t in tree_leaves(results)]


def accepts(function, tensors) -> bool:
    try:
        function(*tensors)
    except (RuntimeError, IndexError, ValueError, TypeError):
        return False
    return True


def symbolic(mode, tensor):
    context = StatelessSymbolicContext(dynamic_sizes=[DimDynamic.DYNAMIC if n > 1 else DimDynamic.STATIC for n in tensor.shape])
    return mode.from_tensor(tensor, symbolic_context=context)


@pytest.mark.parametrize("text", TESTED)
def test_a_fake_has_the_layout_of_the_result(text):
    op, f = register(text)
    # Kernels and eager differ in the strides of tensors with dims of size 1. Only a full run compares with kernels, so only
    # a full run has this layout.
    calls = {name: make() for name, make in LAYOUTS.items() if FULL_RUN or name != "dims of size 1"}
    calls = {name: tensors for name, tensors in calls.items() if accepts(op.reference, tensors)}
    calls = dict(subset(list(calls.items()), TESTED.index(text)))
    if not calls:
        pytest.skip("explained: eager takes no floats here")
    if FULL_RUN:
        ingot.prepare_all((op, tensors) for tensors in calls.values())
    mismatches = []
    for name, tensors in calls.items():
        result = f(*tensors) if FULL_RUN else op.reference(*tensors)
        for kind, environment, fake in (("fake", None, lambda m, t: m.from_tensor(t)), ("symbolic", ShapeEnv(), symbolic)):
            exactly = FULL_RUN and environment is None
            expected = describe(result, exactly)
            with FakeTensorMode(shape_env=environment) as mode:
                fakes = [fake(mode, t) for t in tensors]
                if environment and not accepts(op.reference, fakes):
                    continue  # PyTorch's own fakes have no symbolic sizes here
                actual = describe(f(*fakes), exactly)
            if actual != expected:
                mismatches.append(f"{name}, {kind}: {actual}, real {expected}")
    assert not mismatches, "\n".join(mismatches)


COMPILED = ["2 ** x", "x // y", "F.logsigmoid(x)", "F.one_hot((x * 4).long(), 5)", "F.batch_norm(x, None, None, training=True)",
            "x.roll(1, 1)", "torch.channel_shuffle(x, 2)"]  # fmt: skip


@pytest.mark.parametrize("mode", ["inductor", "aot_eager", "dynamic", "export"])
def test_compiled_calls_with_arguments_of_any_layout(mode):
    ops = [ingot.op(f"def f(x, y, z): return {text}") for text in COMPILED]

    class Module(torch.nn.Module):
        def forward(self, x, y, z):
            return [op(x, y, z) * 2 for op in ops]

    module = Module()
    for name in LAYOUTS if FULL_RUN else ("channels last", "transposed")[: 1 if mode == "inductor" else 2]:
        torch._dynamo.reset()
        tensors = [t.clone(memory_format=torch.preserve_format) for t in LAYOUTS[name]()]
        if mode == "export":
            call = torch.export.export(module, tuple(tensors)).module()
        else:
            backend, dynamic = ("aot_eager", True) if mode == "dynamic" else (mode, None)
            call = torch.compile(module, fullgraph=True, backend=backend, dynamic=dynamic)
        for actual, expected in zip(call(*tensors), [op.reference(*tensors) * 2 for op in ops]):
            torch.testing.assert_close(actual, expected)


WITH_LISTS = ["def f(x): return x.chunk(3, -1)", "def f(x): return (x, *x.unbind(0))", "def f(x): return [x, x + 1]",
        "def f(x): return sum(x.unbind(0))", "def f(x):\n    a, b = x.chunk(2, -1)\n    return F.silu(a) * b",
        "def f(x): return x.split([1, 5], 1)", "def f(x): return x.max(1).values",
        "def f(x): return tuple(t * 2 for t in x.chunk(2, -1))", "def f(x): return [a * b for a, b in zip(x, x.flip(0))]",
        "def f(x): return (x * 2,)", "def f(x):\n    y = 0\n    for row in x: y += row * 2\n    return y"]  # fmt: skip


def test_a_wrong_number_of_results_is_an_error():
    ingot.register("ingot_tests::four", ingot.op("def f(x): return x, x, x, x"), "(Tensor x) -> (Tensor, Tensor)")
    with pytest.raises(Exception, match="4 results, but its schema declares 2"):
        torch.compile(torch.ops.ingot_tests.four, fullgraph=True, backend="aot_eager")(torch.randn(4))


@pytest.mark.parametrize("text", WITH_LISTS)
def test_calls_with_lists_of_tensors_do_not_fall_back(text):
    op, x = ingot.op(text), torch.randn(4, 6, requires_grad=True)
    torch._dynamo.reset()
    call = torch.compile(lambda x: op(x), fullgraph=True, backend="aot_eager")
    with torch.no_grad():
        call(x)
        before = ingot.counters()
        actual, expected = call(x), op.reference(x)
        assert ingot.counters().since(before).eager_fallbacks == 0
    assert type(actual) is type(expected)
    torch.testing.assert_close(tree_leaves(actual), tree_leaves(expected))
    (gradient,) = torch.autograd.grad(sum(t.square().sum() for t in tree_leaves(call(x))), x)
    (expected_gradient,) = torch.autograd.grad(sum(t.square().sum() for t in tree_leaves(op.reference(x))), x)
    torch.testing.assert_close(gradient, expected_gradient)
