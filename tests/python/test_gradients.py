"""The gradients of every supported function, and of ops made of several, compared with eager's. The ops are those of
names_table.py, movement_table.py and reductions_table.py, which also test the forward results, and those of gradient_ops.py."""

import dataclasses
import math
import random
import re
import time

import pytest
import torch
import torch.nn.functional as F
from eager_gradients import KNOWN, check, differentiable, eager_gradients, evaluate, leaves_of, mismatch, op_of, prepare
from gradient_ops import OPS, bias_gelu, giou_loss, norm_gelu, random_tensor, softmax_and_double, swiglu
from movement_table import MOVED
from names_table import BINARY, MORE_VIEWS, OPERATORS, TERNARY, UNARY, VIEWS
from random_ops import make_expression, make_form, make_recipes
from reductions_table import FLOATING, inputs_of, texts_of
from full_run import FULL_RUN, subset

import ingot

ROWS = [row for row in UNARY + BINARY + TERNARY + OPERATORS if "f" in row.kinds]
ROWS_OF_AN_OP = 8


def pointwise_inputs(arity: int, dtype, device: str, seed: int) -> dict[str, torch.Tensor]:
    """Values between 0 and 1 for an even seed, any values for an odd one."""
    generator = torch.Generator().manual_seed(seed)
    make = torch.rand if seed % 2 == 0 else torch.randn
    values = {n: make(4, 6, generator=generator, dtype=torch.float64) for n in "xyz"[:arity]}
    return {n: (v * 0.8 + 0.1 if seed % 2 == 0 else v * 2).to(dtype).to(device) for n, v in values.items()}


@pytest.mark.parametrize("first, seed", [
    (first, seed) for first in range(0, len(ROWS), ROWS_OF_AN_OP) for seed in (0, 1)
    if FULL_RUN or (first // ROWS_OF_AN_OP + seed) % 2 == 0
])
def test_pointwise(device, first, seed):
    """An op joins some rows of the table. Each is on tensors of its own, so their gradients are separate kernels."""
    rows = [row for row in ROWS[first : first + ROWS_OF_AN_OP] if row.text not in KNOWN]
    check_rows(rows, lambda row: pointwise_inputs(row.arity, torch.float64, device, seed))


SPECIAL = [math.nan, math.inf, -math.inf, 0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 1e-40, -1e-40, 3.0, -3.0, 6.0, 20.0, -20.0, 1e30, -1e30]
KNOWN_AT_SPECIAL = {
    "logit(x)": "at -0, the infinity has the sign that eager gives on CUDA; eager gives the other on the CPU",
    "log_ndtr(x)": "eager gives NaN for large negative numbers",
}


def special_inputs(arity: int, device: str) -> dict[str, torch.Tensor]:
    """All combinations of special values."""
    values = torch.tensor(SPECIAL[: len(SPECIAL) if arity < 3 else 8])
    combinations = torch.cartesian_prod(*[values] * arity).view(-1, arity)
    if arity == 1:  # repeated to fill whole vectors: in the tail, eager's CPU kernels give other values than NaN
        combinations = combinations.repeat(2, 1)
    return {n: column.contiguous().to(device) for n, column in zip("xyz", combinations.unbind(1))}


@pytest.mark.parametrize("first", range(0, len(ROWS), ROWS_OF_AN_OP))
def test_special_values(device, first):
    rows = [row for row in ROWS[first : first + ROWS_OF_AN_OP] if row.text not in KNOWN | KNOWN_AT_SPECIAL]
    check_rows(rows, lambda row: special_inputs(row.arity, device), dict(rtol=1e-4, atol=1e-30))


def check_rows(rows: list, inputs, tolerance: dict | None = None) -> None:
    """All rows are in one op, each on its own tensors."""
    tensors: dict[str, torch.Tensor] = {}
    rows_with_gradient = []
    for row in rows:
        inputs_of_row = inputs(row)
        if eager_gradients(lambda leaves, row=row: row.eager(*leaves.values()), leaves_of(inputs_of_row)) is None:
            continue
        number = len(rows_with_gradient)
        rows_with_gradient.append((row, {n: f"{n}{number}" for n in inputs_of_row}))
        tensors |= {f"{n}{number}": t for n, t in inputs_of_row.items()}
    if not rows_with_gradient:
        return
    text = ", ".join(re.sub(r"\b[xyz]\b", lambda m: names[m[0]], row.text) for row, names in rows_with_gradient)

    def eager(leaves):
        return tuple(row.eager(*(leaves[n] for n in names.values())) for row, names in rows_with_gradient)

    check({text: mismatch(op_of(f"({text},)", tensors), eager, tensors, tolerance)})


@pytest.mark.parametrize("name", FLOATING)
def test_reductions(name):
    check_texts(subset(texts_of({name: FLOATING[name]}), list(FLOATING).index(name)), inputs_of(torch.float64, "cpu"))


def check_texts(texts: list[str], tensors: dict) -> None:
    used = {text: {n: t for n, t in tensors.items() if re.search(rf"\b{n}\b", text)} for text in texts}
    ops = {text: op_of(text, names) for text, names in used.items()}
    prepare((op, used[text]) for text, op in ops.items())
    check({text: mismatch(op, lambda leaves, text=text: evaluate(text, leaves), used[text]) for text, op in ops.items()})


def moved_inputs() -> dict[str, torch.Tensor]:
    generator = torch.Generator().manual_seed(3)
    shapes = {"x": (4, 6), "v": (6,), "cube": (2, 3, 4), "image": (2, 4, 6, 8), "s": ()}
    tensors = {n: torch.randn(shape, generator=generator, dtype=torch.float64) for n, shape in shapes.items()}
    return tensors | {"i": torch.randint(0, 4, (3, 4), generator=generator)}


@pytest.mark.parametrize("name", MOVED)
def test_movement(name):
    check_texts(subset(MOVED[name], list(MOVED).index(name), step=2), moved_inputs())


@pytest.mark.filterwarnings("ignore")
def test_gradients_of_random_expressions(device):
    """In float64, without special values."""
    rng, until = random.Random(1), time.monotonic() + (60 if FULL_RUN else 10)
    while time.monotonic() < until:
        expression = make_expression(rng, rng.random() < 0.5)
        op, tensors = ingot.op(expression.source), {}
        for number, recipe in enumerate(make_recipes(rng, expression, make_form(rng, expression))):
            wide = torch.float64 if recipe.dtype.is_floating_point else recipe.dtype
            tensors[str(number)] = dataclasses.replace(recipe, injected=0.0, dtype=wide).make().to(device)
        message = mismatch(op, lambda leaves, op=op: op.reference(*leaves.values()), tensors, dict(rtol=1e-6, atol=1e-8))
        assert not message, f"{message}\n{expression.source}"


# Source → the elements of x and of y; no elements: the source has no such parameter.
AT_EDGES = {
    "x ** y": ([2.0, 3.0, 0.0, 0.0], [0.0, 1.0, 2.0, 0.0]),
    "torch.pow(2, y)": ([], [0.0, 1.0]),
    "torch.atan2(x, y)": ([0.0, 1.0, 0.0], [0.0, 0.0, -1.0]),
    "torch.xlogy(x, y)": ([0.0, 0.0, 1.0], [0.0, 2.0, 3.0]),
    "special.xlog1py(x, y)": ([0.0, 0.0], [-1.0, 2.0]),
    "x.std(0) + y.sum()": ([1.0, 1.0, 1.0], [0.0]),
    "torch.linalg.vector_norm(x, 3) + x.norm() + y.sum()": ([0.0, 0.0], [0.0]),
    "x.max() + x.min() * y.sum()": ([1.0, float("nan"), 0.0], [1.0]),
    "torch.maximum(x, y) + torch.fmin(x, y)": ([1.0, 2.0, float("nan")], [1.0, 3.0, 0.0]),
    "x.clamp(0, 1) + torch.clamp(x, y, y + 1)": ([0.0, 1.0, 2.0, -1.0], [0.0, 0.0, 2.0, -2.0]),
    "x.prod() + y.sum()": ([0.0, 2.0, 3.0], [0.0]),
    "x.logit(0.1) + y.sum()": ([0.05, 0.1, 0.5], [0.0]),
}


@pytest.mark.parametrize("text", AT_EDGES)
def test_gradients_at_edges_equal_eagers(text):
    tensors = {n: torch.tensor(v, dtype=torch.float64) for n, v in zip("xy", AT_EDGES[text]) if v}
    assert not mismatch(op_of(text, tensors), lambda leaves: evaluate(text, leaves), tensors)


@pytest.mark.parametrize("body, expected", [
    ("y += 1\n    return x * y", 2.0),
    ("z = x * y\n    y += 1\n    return z", 1.0),  # eager rejects this: the value that it saved is gone
    ("y[..., -1] *= 2\n    return torch.where(x > 0, x, 0) * y[..., -1]", 2.0),
])  # fmt: skip
def test_values_that_an_op_writes_are_saved_for_its_gradient(body, expected, device):
    x, y = torch.ones(3, device=device, requires_grad=True), torch.ones(3, device=device)
    out = ingot.op(f"def f(x, y):\n    {body}\n")(x, y)
    y.fill_(7)  # the op keeps the value that it wrote, not this one
    (gradient,) = torch.autograd.grad(out.sum(), x, create_graph=True)
    assert gradient.tolist() == [expected] * 3


@pytest.mark.parametrize("text", [
    "torch.where(x > 0, torch.sqrt(x), x * 0)",
    "torch.where(x > 0, torch.log(x), torch.where(x < -1, torch.sqrt(-1 - x), 1 / x))",
    "torch.where(x > 0, 1 / x, 0) + torch.where(x < 0, torch.rsqrt(-x), 0)",
    "torch.where(x > 0, x / y, 0).sum(0)",
])
def test_unselected_arms_have_gradient_0(text, device):
    """The gradient is 0 if eager's is NaN because of 0 times infinity; otherwise it is eager's."""
    x = torch.tensor([-2.0, -1.0, -0.5, 0.0, 0.5, 1.0], dtype=torch.float64, device=device)
    y = torch.tensor([0.0, 0.0, 0.0, 0.0, 2.0, 1.0], dtype=torch.float64, device=device)
    tensors = {n: t for n, t in {"x": x, "y": y}.items() if re.search(rf"\b{n}\b", text)}
    actual_leaves, expected_leaves = leaves_of(tensors), leaves_of(tensors)
    op_of(text, tensors)(*actual_leaves.values()).sum().backward()
    evaluate(text, expected_leaves).sum().backward()
    for name in tensors:
        actual, expected = actual_leaves[name].grad, expected_leaves[name].grad
        finite = torch.isfinite(expected)
        torch.testing.assert_close(actual[finite], expected[finite])
        assert not actual[~finite & (x <= 0)].isnan().any()


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16], ids=str)
def test_gradients_of_float32_and_16_bit_floats(device, dtype):
    """The error against float64 is at most 1.5 times eager's, plus two eps of the largest element. The gradient has the
    argument's dtype."""
    for function in (swiglu, bias_gelu, norm_gelu, giou_loss, softmax_and_double):
        tensors = {str(k): a.to(dtype).to(device) for k, a in enumerate(OPS[function])}
        leaves, wide = leaves_of(tensors), leaves_of({n: t.double() for n, t in tensors.items()})
        cotangents, exact = eager_gradients(lambda leaves, f=function: f(*leaves.values()), wide)
        _, expected_gradients = eager_gradients(lambda leaves, f=function: f(*leaves.values()), leaves_of(tensors))
        results = differentiable(ingot.op(function)(*leaves.values()))
        actual_gradients = torch.autograd.grad(results, list(leaves.values()), [g.to(dtype) for g in cotangents])
        for actual, expected, exact_gradient in zip(actual_gradients, expected_gradients, exact):
            assert actual.dtype == dtype
            step = torch.finfo(dtype).eps * exact_gradient.abs().max()
            assert (actual - exact_gradient).abs().max() <= 1.5 * (expected - exact_gradient).abs().max() + 2 * step


def test_float32_has_eagers_bits(device):
    """The derivative of a library function is PyTorch's formula. On CUDA, PyTorch's kernels are those formulas."""
    if device == "cpu":
        pytest.skip("explained: eager's vector kernels of the CPU have other last bits")
    names = "relu sigmoid tanh silu hardswish hardsigmoid leaky_relu hardtanh softshrink elu".split()
    for name in names:
        function = getattr(F, name)
        x = torch.randn(10000, device=device)
        actual, expected = x.clone().requires_grad_(), x.clone().requires_grad_()
        cotangent = torch.randn_like(x)
        op_of(f"F.{name}(x)", "x")(actual).backward(cotangent)
        function(expected).backward(cotangent)
        assert torch.equal(actual.grad, expected.grad), name


def test_only_requested_gradients_are_computed():
    op = ingot.op("x * y")
    x, y = torch.randn(3, requires_grad=True), torch.randn(3)
    out = op(x, y)
    assert out.grad_fn.name().endswith("Backward")
    out.sum().backward()
    assert torch.equal(x.grad, y) and y.grad is None
    z = torch.randn(3, requires_grad=True)
    (of_z,) = torch.autograd.grad(op(x, z).sum(), z)
    assert torch.equal(of_z, x)


def test_results_require_grad_as_in_eager():
    x = torch.randn(3, 4, requires_grad=True)
    doubled, index, detached = ingot.op("def f(x): return x * 2, x.argmax(-1), x.detach() + 1")(x)
    assert doubled.requires_grad and not index.requires_grad and not detached.requires_grad
    with torch.no_grad():
        assert not ingot.op("x * 2")(x).requires_grad
    assert not ingot.op("(x > 0).float()")(x).requires_grad
    (gradient,) = torch.autograd.grad(ingot.op("x * x.detach()")(x).sum(), x)
    assert torch.equal(gradient, x)


def test_unused_results_need_no_gradient():
    x = torch.randn(3, requires_grad=True)
    a, b = ingot.op("def f(x): return x * 2, x * 3")(x)
    a.sum().backward()
    assert x.grad.tolist() == [2.0] * 3
    (gradient,) = torch.autograd.grad(ingot.op("def f(x): return x * 2, x * 3")(x)[1].sum(), x)
    assert gradient.tolist() == [3.0] * 3


def test_saved_tensors_belong_to_autograd():
    x = torch.randn(3, requires_grad=True)
    y = torch.randn(3)
    op = ingot.op("x * y")
    out = op(x, y)
    y.add_(1)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        out.sum().backward()
    out = op(x, y)
    out.sum().backward()
    with pytest.raises(RuntimeError, match="second time"):
        out.sum().backward()
    packed = []
    with torch.autograd.graph.saved_tensors_hooks(lambda t: packed.append(t) or t, lambda t: t):
        out = op(x, y)
    assert len(packed) == 1 and torch.equal(packed[0], y)  # the gradient does not read x
    out.sum().backward()
    checkpointed = torch.utils.checkpoint.checkpoint(op, x, y, use_reentrant=False)
    (gradient,) = torch.autograd.grad(checkpointed.sum(), x)
    assert torch.equal(gradient, y)


def test_numbers_and_lists_among_the_arguments():
    op = ingot.op("def f(xs, k: float, y=None):\n    return sum(xs) * k if y is None else sum(xs) * y")
    a, b, y = (torch.randn(3, requires_grad=True) for _ in range(3))
    op([a, b], 2.5).sum().backward()
    assert a.grad.tolist() == b.grad.tolist() == [2.5] * 3
    (of_y,) = torch.autograd.grad(op([a, b], 1.0, y).sum(), y)
    torch.testing.assert_close(of_y, (a + b).detach())


def test_several_threads():
    from concurrent.futures import ThreadPoolExecutor

    op = ingot.op("x.softmax(-1) * y")

    def gradients_agree(seed):
        x = torch.randn(5, 6 + seed % 3, requires_grad=True)
        y = torch.randn(6 + seed % 3)
        return torch.allclose(*(torch.autograd.grad(f(x, y).square().sum(), x)[0] for f in (op, lambda x, y: x.softmax(-1) * y)), atol=1e-6)

    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(gradients_agree, range(24)))


def test_a_module_is_trained_as_in_eager():
    """With the op's gradients, an optimiser has the losses that it has with eager's."""
    torch.manual_seed(0)
    block = ingot.op("def block(x, w, b): return F.gelu(F.layer_norm(x, (x.shape[-1],), w, b)) + x")

    def eager(x, w, b):
        return F.gelu(F.layer_norm(x, (x.shape[-1],), w, b)) + x

    data, target = torch.randn(16, 32, dtype=torch.float64), torch.randn(16, 8, dtype=torch.float64)
    curves = []
    for function in (block, eager):
        torch.manual_seed(1)
        head = torch.nn.Linear(32, 8, dtype=torch.float64)
        w, b = (torch.nn.Parameter(t) for t in (torch.ones(32, dtype=torch.float64), torch.zeros(32, dtype=torch.float64)))
        optimiser = torch.optim.AdamW([w, b, *head.parameters()], lr=1e-2)
        losses = []
        for _ in range(20):
            optimiser.zero_grad()
            loss = F.mse_loss(head(function(data, w, b)), target)
            loss.backward()
            optimiser.step()
            losses.append(loss.item())
        curves.append(losses)
    torch.testing.assert_close(torch.tensor(curves[0]), torch.tensor(curves[1]), rtol=1e-9, atol=1e-12)
    assert curves[0][-1] < curves[0][0]


def test_running_statistics_are_written_and_not_differentiated():
    text = "def f(x, mean, var): return F.batch_norm(x, mean, var, training=True)"
    x = random_tensor(4, 3, 5)
    grads, stats = [], []
    for function in (ingot.op(text), lambda x, m, v: F.batch_norm(x, m, v, training=True)):
        leaf, mean, var = x.clone().requires_grad_(), torch.zeros(3, dtype=x.dtype), torch.ones(3, dtype=x.dtype)
        function(leaf, mean, var).square().sum().backward()
        grads.append(leaf.grad), stats.append((mean, var))
    torch.testing.assert_close(grads[0], grads[1])
    torch.testing.assert_close(stats[0], stats[1])


@pytest.mark.parametrize("call, message", [
    (lambda x: ingot.op("torch.nextafter(x, x * 2)")(x).sum().backward(), "derivative for 'nextafter' is not implemented"),
    (lambda x: ingot.op("torch.igamma(x, x)")(x).sum().backward(), "derivative for 'igamma: input' is not implemented"),
    (lambda x: ingot.op("special.zeta(x + 1, x)")(x).sum().backward(), "derivative for 'zeta' is not implemented"),
    (lambda x: ingot.op("def f(x): x += 1")(x), "a leaf Variable that requires grad is being used in an in-place operation"),
    (lambda x: ingot.op("x * 2")(x, out=torch.empty(3)), "don't support automatic differentiation"),
])
def test_unsupported_gradients_raise_eagers_error(call, message):
    with pytest.raises(RuntimeError, match=re.escape(message)):  # autograd's engine does not know ingot.Error
        call(torch.ones(3, requires_grad=True))


def test_written_tensors_have_gradients():
    """The call falls back to eager, because a tensor that a kernel wrote has no autograd history."""
    x, y = random_tensor(3).requires_grad_(), torch.ones(3, dtype=torch.float64)
    ingot.op("def f(x, y): y += x * x")(x, y)
    y.sum().backward()
    torch.testing.assert_close(x.grad, 2 * x.detach())


def test_an_index_has_no_gradient():
    x = torch.randn(4, 6, requires_grad=True)
    with pytest.raises(RuntimeError):
        ingot.op("x.argmax(1)")(x).sum().backward()


def test_views_in_names_table():
    tensors = {"x": random_tensor(4, 6), "i": torch.tensor([0, 2, 2])}
    texts = [text for text in [*VIEWS.values(), *MORE_VIEWS] if isinstance(text, str)]
    lines = {}
    for text in texts:
        used = {n: t for n, t in tensors.items() if re.search(rf"\b{n}\b", text)}
        if "x" in used:
            lines[text] = mismatch(op_of(text, used), lambda leaves, text=text: evaluate(text, leaves), used)
    check(lines)


EXTREMES = ["x.sin().amax(1)", "x.exp().amax()", "x.sum(0).sin().amax()", "x.cos().amin((0, 1))", "x.sin().norm(float('inf'), 1)",
            "F.gelu(x).amax(0)", "(x.sin() - x.sin().amax(1, keepdim=True)).exp().sum(1).log()", "x.exp().sum(1).amax(0)"]


@pytest.mark.parametrize("text", EXTREMES)
@pytest.mark.parametrize("shape", [(500, 40), (37, 1023)], ids=str)
def test_gradients_find_the_same_ties_as_the_forward_pass(text, shape, device):
    """The gradient's kernel computes the elements again. On the CPU, they may be rounded otherwise than in the forward kernel."""
    x = torch.randn(shape, dtype=torch.float64, generator=torch.Generator().manual_seed(1)).to(device).requires_grad_()
    op = ingot.op(text)
    for options in ({}, {"create_graph": True}):
        (gradient,) = torch.autograd.grad(op(x).sum(), x, **options)
        torch.testing.assert_close(gradient, *torch.autograd.grad(op.reference(x).sum(), x), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("text", ["(x * w + b).amax(-1)", "(x * w + b).amin(-1)", "(x * w * b + w * b * x - x).amax(-1)",
                                  "torch.linalg.vector_norm(x * w + b, math.inf, -1)", "(x - y).amax(-1)"])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=str)
def test_gradients_find_the_same_ties_with_fast_arithmetic(text, dtype, device):
    """With fast arithmetic, each kernel chooses which products and sums to fuse."""
    generator = torch.Generator().manual_seed(2)
    names = [name for name in "xwby" if re.search(rf"\b{name}\b", text)]
    args = [torch.randn(70, 333, dtype=dtype, generator=generator).to(device).requires_grad_() for _ in names]
    op = ingot.op(f"def f({', '.join(names)}): return {text}", numerics="fast")
    gradients = torch.autograd.grad(op(*args).sum(), args)
    torch.testing.assert_close(gradients, torch.autograd.grad(op.reference(*args).sum(), args))


@pytest.mark.parametrize("dtype", [torch.bool, torch.int64, torch.uint8, torch.float16, torch.float64])
def test_a_target_may_have_another_dtype(dtype):
    x, target = torch.randn(40, dtype=torch.float32) * 2, (torch.rand(40) * 3).to(dtype)
    lines = {text: mismatch(ingot.op(text), lambda leaves, text=text: evaluate(text, leaves), {"x": x, "y": target})
             for text in ("F.smooth_l1_loss(x, y)", "F.smooth_l1_loss(x, y, beta=0.0)", "F.mse_loss(x, y)")}
    check(lines)
