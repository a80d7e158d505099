"""In-place ops compared with eager PyTorch, which runs the same source: values, dtypes, strides, versions, and shared
memory."""

import copy
import os
import random
import re

import pytest
import torch
import torch.nn.functional as F
from in_place_cases import PROGRAMS as HAND_WRITTEN
from in_place_errors import EXPANDED, OVERLAP, SHARED, STRIDE_DEPENDENT
from in_place_programs import Program, Writer

import ingot
from ingot.oracle import writes_as_results, compare_to_eager

pytestmark = pytest.mark.filterwarnings("ignore:.*on expanded tensors is deprecated")

SEED = int(os.environ.get("INGOT_RANDOM_SEED", "20"))
PROGRAMS, MAX_LINES, MAX_REJECTED_OF_A_PROGRAM = 40, 12, 3


def run(f, tensors):
    """The list of a call's results and None, or None and the error that the call raised."""
    try:
        results = f(*tensors)
    except (RuntimeError, IndexError, TypeError, ValueError) as error:
        return None, error
    return [*(results if isinstance(results, tuple) else () if results is None else (results,))], None


def same_values(a: torch.Tensor, b: torch.Tensor) -> bool:
    """Compares values; NaN equals NaN."""
    return bool(((a == b) | ((a != a) & (b != b))).all())


def strides_of_copy(tensor):
    """The strides that a copy of the tensor has, without dims of one element. Eager's results may be views; Ingot's have
    memory of their own."""
    copy_strides = torch.empty_like(tensor).stride()
    return [stride for stride, size in zip(copy_strides, tensor.shape) if size > 1] if tensor.numel() else []


def mismatch(source: str, inputs, numerics: str = "eager", allowed_errors: str = "$^") -> str:
    """Ingot's first difference from eager on a program, or an empty string. Both start from copies that share memory as
    the inputs do. `allowed_errors` is a pattern of the errors that are allowed."""
    op = ingot.op(source, numerics=numerics)
    expected_inputs, actual_inputs = copy.deepcopy(inputs), copy.deepcopy(inputs)
    before = [t._version for t in expected_inputs]
    expected, expected_error = run(op.reference, expected_inputs)
    actual, error = run(op, actual_inputs)
    if error is not None:
        is_accepted = re.search(allowed_errors, str(error)) if expected_error is None else error.fault == "author"
        return "" if is_accepted else f"{error}\n{source}"
    if expected_error is not None:
        return f"eager raises {expected_error!r}, Ingot does not\n{source}"
    for i, (a, b) in enumerate(zip([*expected, *expected_inputs], [*actual, *actual_inputs], strict=True)):
        if a.dtype != b.dtype or a.shape != b.shape or not same_values(a, b):
            return f"value {i}: {b} is not {a}\n{source}"
        if strides_of_copy(a) != strides_of_copy(b):
            return f"value {i}: strides {b.stride()}, not {strides_of_copy(a)}\n{source}"
    actual_changes, expected_changes = ([t._version > v for t, v in zip(tensors, before)] for tensors in (actual_inputs, expected_inputs))
    if actual_changes != expected_changes:
        return f"versions bumped: {actual_changes}, not {expected_changes}\n{source}"
    return ""


def check(programs: list[Program], allowed_errors: str = "$^") -> None:
    accepted = [p for p in programs if not p.is_rejected]
    try:
        ingot.prepare_all((ingot.op(p.source, numerics="eager"), p.inputs) for p in accepted)
    except ingot.Error:
        pass  # the call itself reports the error
    failures = [d for p in programs if (d := mismatch(p.source, p.inputs, allowed_errors=allowed_errors))]
    assert not failures, f"seed {SEED}: {len(failures)} of {len(programs)}\n\n" + "\n\n".join(failures[:4])


def random_programs(may_depend_on_strides: bool) -> list[Program]:
    rng, programs = random.Random(f"{SEED} {may_depend_on_strides}"), []
    for _ in range(PROGRAMS):
        writer = Writer(rng, may_depend_on_strides)
        programs.append(writer.program(rng.randint(3, MAX_LINES)))
        programs += rng.sample(writer.rejected, min(len(writer.rejected), MAX_REJECTED_OF_A_PROGRAM))
    return programs


def test_random_programs():
    check(random_programs(may_depend_on_strides=False), f"{OVERLAP}|{EXPANDED}")


def test_random_programs_where_aliasing_depends_on_strides():
    check(random_programs(may_depend_on_strides=True), f"{OVERLAP}|{EXPANDED}|{STRIDE_DEPENDENT}")


def overlapping_inputs(rng: random.Random) -> list[torch.Tensor]:
    """Two tensors, mostly of one storage: one tensor twice, a tensor and a view of it, rows of a matrix."""
    base = torch.randint(-3, 5, (5, 4), generator=torch.Generator().manual_seed(rng.randrange(1000))).float()
    choices = [base[:4], base[1:], base[:4].t(), base[:, :2].repeat(1, 2)[:4], base.view(-1)[2:18].view(4, 4), base[:4].clone()]
    return [rng.choice(choices), rng.choice(choices)]


def test_writes_to_overlapping_elements_are_errors():
    for sizes, strides in (((3, 3), (1, 1)), ((2, 2), (3, 0)), ((2, 3), (2, 1)), ((2, 2, 2), (3, 2, 1))):
        x = torch.arange(12.0).as_strided(sizes, strides)
        for text in ("x[0].mul_(2)", "x += 1"):
            with pytest.raises(ingot.Error, match=EXPANDED):
                ingot.op(f"def f(x):\n    {text}")(x)
    for sizes, strides in (((2, 3), (3, 2)), ((3, 2), (2, 3)), ((2, 1), (1, 0))):
        x = torch.arange(12.0).as_strided(sizes, strides)
        expected = x + 1
        ingot.op("def f(x):\n    x += 1")(x)
        assert torch.equal(x, expected)


def test_parameters_that_share_memory_equal_eager_or_are_an_error():
    """The call gives eager's result, or it is rejected, because a kernel would not see a write to one parameter through the
    other."""
    rng, programs = random.Random(SEED), []
    lines = ["x += y", "y *= 2", "z = x[0] * 1", "x[1] = y[0]", "y.t().neg_()", "x.copy_(y)", "x[...] = 3", "y.zero_()"]
    for _ in range(PROGRAMS):
        body = "".join(f"    {line}\n" for line in rng.sample(lines, 3))
        program = Program(f"def f(x, y):\n{body}    return x * 1\n", overlapping_inputs(rng))
        _, eager_error = run(ingot.op(program.source).reference, copy.deepcopy(program.inputs))
        if eager_error is None:  # eager rejects by the tensors' extents, even if they have no common element
            programs.append(program)
    check(programs, SHARED)


STATEMENTS = [
    "x += y",
    "x -= 1\n    x *= y",
    "x //= 2\n    x %= 3",
    "x **= 2",
    "x[1:, 0] = y[1:, 1]",
    "x[x > 0] = 0",
    "x.addcmul_(y, y, value=2)",
    "x.t().copy_(y)",
    "x.eq_(y)",
    "F.relu(x, inplace=True)\n    return x * 2",
    "a = x[0]\n    a += 1\n    return a * 1",
    "b = x.float()\n    b += 1",
    "a = x * 2\n    b = a\n    b += 1\n    return a",
    "a = torch.empty_like(x)\n    a[0] = 1\n    a[1:] = y[1:]\n    return a",
    "x[0] += x[1]",
    "x[::2] += x[1::2]",
    "x.t()[0] -= x[:, 1]",
    "x[:2, 2:] += x.t()[:2, 2:].t()",
    "x.abs_().neg_()",
    "torch.relu_(x)\n    F.leaky_relu_(x, 0.5)\n    torch.neg_(x[0])",
    "x.copy_(x)\n    return x + 1",
    "b = x.contiguous()\n    b += 1\n    return b * 2",
    "b = x.reshape(-1)\n    b[2:5] = 7\n    return x * 1",
    "b = x.t().reshape(-1)\n    b += 1\n    return b * 1",
    "b = x.t().contiguous()\n    x += 1\n    return b * 1",
    "b = x.flatten()\n    x[1] = 0\n    return b * 1",
    "b = x.float(memory_format=torch.contiguous_format)\n    b += 1\n    return b * 2",
    "b = x.t().float(memory_format=torch.contiguous_format)\n    b += 1\n    return b * 2",
    "b = x.to(copy=True, memory_format=torch.contiguous_format)\n    b += 1\n    return b * 2",
    "a = x * 2\n    a.view(a.shape).add_(a)\n    return a",
    "a = x[0] * 2\n    a.view(-1).add_(a)\n    return a",
]


MATRICES = [torch.arange(16.0).view(4, 4) - 7, torch.arange(16.0).view(4, 4) % 5 + 1]


def test_statements():
    check([Program(f"def f(x, y):\n    {body}\n", MATRICES) for body in STATEMENTS])


def test_hand_written_programs():
    inputs = [*MATRICES, torch.tensor([2, 0, 1])]
    check([Program(source, inputs[: 3 if ", k)" in source else 2]) for source in HAND_WRITTEN])


def test_bits_equal_the_out_of_place_functions():
    """Compares results on slices of the same shape: the CPU's vector loop and its tail may differ in the last bit of exp."""
    x = torch.randn(4, 33)
    changed = x.clone()
    ingot.op("def f(x):\n    x[1].exp_().sin_()\n    x[2:].sigmoid_().log_()")(changed)
    row, rest = ingot.op("def f(x): return sin(exp(x[1])), log(sigmoid(x[2:]))")(x)
    assert torch.equal(changed, torch.cat([x[:1], row[None], rest]))


@pytest.mark.parametrize("dtype", [torch.int32, torch.bool, torch.float16, torch.float64, torch.uint8])
def test_dtypes(dtype):
    """The dtype stays, or the op is rejected as in eager."""
    bodies = ["x += y", "x += 1", "x += 1.5", "x /= 2", "x &= y", "x[0] = 1.5", "x.copy_(y)", "x[1:] = 300", "x |= True",
              "x.add_(y, alpha=2)", "x *= y.double()", "x.fill_(-1)", "x[0] = x[1] / 2", "x[x > 0] += 1", "x[x > 0] *= 1.5", "x[x > 0] = 2.5", "x[y > 0] = y[0]"]  # fmt: skip
    inputs = [torch.ones(4, dtype=dtype), torch.full((4,), 1.0)]
    check([Program(f"def f(x, y):\n    {body}\n", inputs) for body in bodies])


def test_tensors_without_dims_are_written():
    bodies = ["x += 1", "x += y", "x.copy_(y[0])", "x[...] = 2", "x[()] = y[1]", "x[None][0] += 3", "y += x", "y[0] = x",
              "x.view(1).mul_(y[2])", "x += y[:1]", "x[x > 0] = 5", "x.expand(3).add_(1)", "x.expand(1).add_(1)"]  # fmt: skip
    check([Program(f"def f(x, y):\n    {body}\n", [torch.tensor(2.0), torch.arange(3.0)]) for body in bodies])


def test_in_place_methods_are_those_of_pytorch():
    """For every method of the language that computes values, x.name_() exists if PyTorch has it."""
    exceptions = {"t_", "transpose_", "swapaxes_", "swapdims_", "squeeze_", "unsqueeze_", "detach_", "float_power_"}
    for name in ingot.language():
        for method in (name.name, *name.aliases):
            if not name.is_method or method.endswith("_") or not hasattr(torch.Tensor, f"{method}_"):
                continue
            assert is_in_the_language(f"x.{method}_") == (f"{method}_" not in exceptions), f"{method}_"


def test_in_place_functions_are_those_of_pytorch():
    """torch.name_ and F.name_ exist if PyTorch has them."""
    exceptions = {"detach_", "squeeze_", "unsqueeze_", "dropout_", "feature_dropout_", "alpha_dropout_", "feature_alpha_dropout_"}
    names = {each for name in ingot.language() for each in (name.name, *name.aliases)}
    for function in sorted({f"{name}_" for name in names} - names):
        for space, module in (("torch", torch), ("F", F)):
            expected = hasattr(module, function) and function not in exceptions
            assert is_in_the_language(f"{space}.{function}") == expected, f"{space}.{function}"


def is_in_the_language(text: str) -> bool:
    try:
        ingot.op(f"def f(x):\n    m = {text}\n    return x * 1").emit("ir", torch.ones(3), device="cpu")
    except ingot.Error:
        return False
    return True


def test_functions_accept_inplace():
    for name in ("relu", "relu6", "elu", "selu", "celu", "leaky_relu", "hardtanh", "hardswish", "hardsigmoid", "silu", "mish"):
        source = f"def f(x):\n    a = F.{name}(x, inplace=True)\n    b = F.{name}(x * 1, inplace=False)\n    a += 1\n    return b"
        x = torch.linspace(-4, 4, 9)
        changed = x.clone()
        ingot.op(source)(changed)
        torch.testing.assert_close(changed, getattr(F, name)(x) + 1, msg=name)


def test_out_works_in_ops_that_write_arguments():
    op = ingot.op("def f(x, y):\n    x += y\n    return x * y")
    x, y, out = torch.ones(3), torch.full((3,), 2.0), torch.empty(3)
    assert op(x, y, out=out) is out
    assert x.tolist() == [3.0] * 3 and out.tolist() == [6.0] * 3
    with pytest.raises(ingot.Error, match="overlap"):
        op(x, y, out=x)
    assert x.tolist() == [3.0] * 3
    with pytest.raises(ingot.Error, match="call the op itself with out="):
        ingot.op("def f(x, y):\n    return torch.add(x, x, out=y)")(x, y)


def test_rejects_writes_that_autograd_rejects():
    leaf = torch.ones(3, requires_grad=True)
    op = ingot.op("def f(x): x += 1")
    for rejected in (leaf, leaf.view(3), leaf[:2]):
        with pytest.raises(RuntimeError, match="leaf Variable"):
            op(rejected)
    product = leaf * 1  # not a leaf: eager may write it and autograd records that; the op falls back to eager
    op(product)
    (gradient,) = torch.autograd.grad((product * product).sum(), leaf)
    assert torch.equal(gradient, torch.full((3,), 4.0))
    with torch.no_grad():
        assert op(leaf) is None
    assert torch.equal(leaf, torch.full((3,), 2.0))
    x = torch.ones(3)
    loss = (leaf * x).sum()
    op(x)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        loss.backward()


def test_trace(capsys):
    """The trace notes a name's value at each statement, and the arguments stay unchanged."""
    op = ingot.op("def f(x):\n    a = x * 2\n    a[1] += 10\n    x.copy_(a)\n    a.neg_()\n")
    x = torch.tensor([1.0, 2.0, 3.0])
    op.trace(x, at=1)
    rows = [line.split()[:3] for line in capsys.readouterr().out.splitlines()[2:]]
    assert rows == [["a", "4", "4"], ["a", "14", "14"], ["x", "14", "14"], ["a", "-14", "-14"]]
    assert x.tolist() == [1.0, 2.0, 3.0]


def test_compare_to_eager_checks_changed_arguments():
    def step(x, y):
        x[0].exp_().mul_(y)
        return x * 1

    x, y = torch.randn(2, 5), torch.randn(5)
    expected = torch.cat([x[:1].exp() * y, x[1:]])
    compared = writes_as_results(step)
    assert compare_to_eager(compared, (x, y), {}, [expected, expected]).bit_for_bit
    assert compare_to_eager(compared, (x, y), {}, [(x.double()[:1].exp() * y).float().expand(2, 5).where(torch.tensor([[True], [False]]), x), expected]).ok
    assert not compare_to_eager(compared, (x, y), {}, [expected * 1.001, expected]).ok
    assert not compare_to_eager(compared, (x, y), {}, [expected]).ok


@pytest.mark.parametrize("layout", ["channels_last", "transposed", "strided", "expanded"])
def test_layouts(layout):
    """A parameter is written in its own layout."""
    base = torch.arange(96.0).view(2, 3, 4, 4)
    x = {"channels_last": lambda: base.to(memory_format=torch.channels_last), "transposed": lambda: base.transpose(1, 3),
         "strided": lambda: base[:, :, ::2, 1:3], "expanded": lambda: base[:, :1].expand(2, 3, 4, 4)}[layout]()  # fmt: skip
    bodies = ["x += 1", "x[:, 1] *= 2\n    return x + 1", "x.mul_(2)\n    a = x.contiguous(memory_format=torch.channels_last) + 1\n    return a",
              "a = x.clone(memory_format=torch.contiguous_format)\n    a[0] = 1\n    return a",
              "a = torch.zeros_like(x, memory_format=torch.channels_last)\n    a[..., 0] = x[..., 0]\n    return a"]  # fmt: skip
    check([Program(f"def f(x):\n    {body}\n", [x]) for body in bodies], EXPANDED)


DETACHED = """a = x * 2; b = a.detach(); a.mul_(3); return a + b
a = x * 2; b = a.view(2, 2).detach(); a.mul_(x); return b + 1, a
a = x * 2; b = a.detach()[0]; a *= 2; return a * b
a = x * 2; b = a[0].detach(); a[0] = x[1] * 3; return a * b
a = x * 2; b = a.contiguous().detach(); a *= 3; return a + b
a = x * 2; a.detach().add_(1); return a
a = x * 2; b = a.detach(); b[0] = 5; return a
a = x * 2; a[0].detach().zero_(); return a
a = x * 2; a.detach().copy_(y); return a
a = x * 2; b = a.detach(); b += y; return a + 0, b + 0
a = x * 2; b = a.detach(); b += y; return a * b
a = x * 2; b = a.detach(); b += y; a *= x; return a + 0, b + 0
a = x * 2; b = a.detach(); c = b.detach(); c += y; b *= y; return a + 0, b + 0, c + 0
a = x * 2; b = a.tensor_split(2)[1]; b.detach().add_(1); return a
a = x * 2; b = a.detach(); p, q = b.chunk(2); a.mul_(x); return p + 0, a + 0
a = x * 2; b = a.detach(); b[1:] += y[1:]; b[0] *= 2; return a[:2] * b[:2]
a = x * 2; b = a[1:].detach(); b *= y[0]; a[2] = y[2]; return a + 0, b + 0
a = (x * 3).int(); b = a.detach(); b += 1; return a * x
a = torch.empty_like(x); a.detach().copy_(y); return a
a = torch.empty_like(x); a[0] = x[0]; a.detach()[1:] = y[1:]; return a * a
a = torch.empty_like(x); b = a.detach(); b[0] = x[0]; b[1:] = y[1:]; return a * a
a = torch.empty_like(x); a.detach()[0] = x[0]; a.detach()[1:] = y[1:]; return a * x
a = torch.empty_like(x); b = a.detach(); b[0] = x[0]; a[1:] = y[1:]; return b * 2
a = x * 2; b = a.detach(); a += 1; return a if b is a else b
a = x * 2; b = a.detach(); b[0] = 5; return a * b
a = x.int().to(x.dtype); a.detach()[0] = 5; return a * y
a = x.bool().to(x.dtype); a.detach().fill_(2); return a + 0, a * y
a = x * 2; a[1:] = y[1:].int(); a.detach()[0] = 5; return a * x
a = x * 2; a.view(torch.int16 if x.dtype == torch.bfloat16 else torch.int64)[0] = 3; return a * y
a = x * 2; b = a.detach(); b[1:] = torch.tensor(3.0, dtype=x.dtype); return a + 0, b + 0
a = x * 2; a.detach().view(2, 2)[0] = 7; a.detach()[::2] = 3; return a * y""".splitlines()


@pytest.mark.parametrize("dtype", [torch.float64, torch.bfloat16])
def test_detached_tensors_share_values_and_have_gradients_of_their_own(dtype):
    ops = [ingot.op("def f(x, y):\n    " + body.replace("; ", "\n    ") + "\n") for body in DETACHED]
    wrong = []
    for body, op in zip(DETACHED, ops):
        outcomes = []
        for f in (op, op.reference):
            x, y = (torch.tensor(numbers, dtype=dtype, requires_grad=True) for numbers in ([1.0, 2, 3, 4], [0.5, -1, 2, 3]))
            results = f(x, y)
            results = results if isinstance(results, tuple) else (results,)
            weighted = [(r * (k + 1)).sum() for k, r in enumerate(results) if r.requires_grad]
            gradients = torch.autograd.grad(weighted, [x, y], allow_unused=True) if weighted else []
            outcomes.append([[r.tolist() for r in results], [r.requires_grad for r in results], [g if g is None else g.tolist() for g in gradients]])
        if outcomes[0] != outcomes[1]:
            wrong.append(f"{body}: {outcomes[0]}, eager {outcomes[1]}")
    assert not wrong, "\n".join(wrong)


def test_written_values_are_on_the_device_of_their_storage():
    """A written number has no device of its own, so it takes that of the storage. No value is read: the test needs no GPU."""
    x, y = torch.empty(2, 4, dtype=torch.float64, requires_grad=True)
    for body in DETACHED:
        ingot.op("def f(x, y):\n    " + body.replace("; ", "\n    ") + "\n").emit("source", x, y, device="cuda")


@pytest.mark.parametrize("statement", ["b *= y", "b[0] = y[0]", "b.copy_(y)", "b.zero_()"])
def test_writes_through_a_view_of_another_dtype_keep_the_gradient(statement):
    """Bits have no gradient in a kernel, so the call falls back to eager."""
    op = ingot.op(f"def f(x, y):\n    a = x * 2\n    b = a.view(torch.int32).view(torch.float32)\n    {statement}\n    return a * 3, b * y\n")
    outcomes = []
    for f in (op, op.reference):
        x, y = (torch.tensor(numbers, requires_grad=True) for numbers in ([1.0, 2], [0.5, -1]))
        results = f(x, y)
        outcomes.append([*results, *torch.autograd.grad(results[0].sum() + 2 * results[1].sum(), [x, y])])
    torch.testing.assert_close(*outcomes)


@pytest.mark.parametrize("text", ["x.ravel()", "torch.ravel(x)", "x.flatten()", "x.reshape(-1)", "x.contiguous().view(-1)"])
@pytest.mark.parametrize("statement", ["y *= 2", "x *= 2"])
def test_merged_dims_share_memory_as_in_eager(text, statement, device):
    """ravel copies a tensor that is not contiguous, even if flatten returns a view."""
    op = ingot.op(f"def f(x):\n    y = {text}\n    {statement}\n    return y * 1\n")
    for view in (lambda t: t, lambda t: t[:, ::2], lambda t: t.t(), lambda t: t[1:], lambda t: t[:, :1], lambda t: t[0], lambda t: t[0, ::2]):
        outcomes = []
        for f in (op, op.reference):
            x = view(torch.arange(12.0, device=device).view(3, 4))
            outcomes.append((f(x), x))
        assert all(map(torch.equal, *outcomes)), (text, statement, outcomes)


REPLACED = [*DETACHED, "a = x * 1; a.detach().copy_(y); return a * a", "a = x * 1; a.detach().copy_(y); return a * a * y",
            "a = x * 1; a.detach().zero_(); return a.exp()", "a = x * 1; a.detach().fill_(2); return a ** 3"]  # fmt: skip


def test_second_gradients_of_tensors_that_detach_replaced():
    """The first gradient reads other values than the tensor with respect to which it is computed."""
    wrong = []
    for body in REPLACED:
        op = ingot.op("def f(x, y):\n    " + body.replace("; ", "\n    ") + "\n")
        outcomes = []
        for f in (op, op.reference):
            x, y = (torch.tensor(numbers, dtype=torch.float64, requires_grad=True) for numbers in ([1.0, 2, 3, 4], [0.5, -1, 2, 3]))
            results = f(x, y)
            total = sum(r.sum() for r in (results if isinstance(results, tuple) else (results,)) if r.requires_grad)
            first = torch.autograd.grad(total, [x, y], create_graph=True, allow_unused=True) if torch.is_tensor(total) else []
            curved = sum((g * torch.arange(1, 5)).sum() for g in first if g is not None and g.requires_grad)
            second = torch.autograd.grad(curved, [x, y], allow_unused=True) if torch.is_tensor(curved) and curved.requires_grad else [None] * 2
            outcomes.append([[0.0] * 4 if g is None else g.tolist() for g in second])
        if outcomes[0] != outcomes[1]:
            wrong.append(f"{body}: {outcomes[0]}, eager {outcomes[1]}")
        assert body in DETACHED or any(any(g) for g in outcomes[1]), body
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("replaced, replacement", [(3, 10), (3, 62), (3, 64), (64, 3)])
def test_second_gradients_of_a_replaced_tensor_among_many_parameters(replaced, replacement):
    """Only the second gradient reads the tensor that was replaced."""
    op = ingot.op(f"def f({', '.join(f'p{k}' for k in range(65))}):\n    a = p{replaced} * 1\n    a.detach().copy_(p{replacement})\n    return a * a * p1\n")
    second = []
    for f in (op, op.reference):
        leaves = [torch.full((3,), k + 1.0, dtype=torch.float64, requires_grad=True) for k in range(65)]
        inputs = [leaves[replaced], leaves[1]]
        first = torch.autograd.grad(f(*leaves).sum(), inputs, create_graph=True)
        second.append(torch.autograd.grad(first[0].sum() + 2 * first[1].sum(), inputs))
    torch.testing.assert_close(*second)
    assert second[0][0].all()


@pytest.mark.parametrize("statement", ["x.detach()[i % 4] = y[i % 4] * i", "x.detach().mul_(0.99).add_(y)"])
def test_detached_tensors_that_are_unused_cost_nothing(statement):
    """If each write reached all of the detached tensors, the op with 300 statements would be too large."""
    op = ingot.op(f"def f(x, y):\n    x = x.clone()\n    for i in range(300):\n        {statement}\n    return x\n")
    x, y = torch.arange(4.0, dtype=torch.float64), torch.tensor([0.5, -1, 2, 3], dtype=torch.float64)
    torch.testing.assert_close(op(x, y), op.reference(x, y))


@pytest.mark.parametrize("statement", ["t[i] = t[i] * 2", "t[i] = y[i % 4] * i", "t[i:i + 1] = y[:1]", "t[i] = x[i // 4, i % 4] - y[0]",
                                       "t[i] = 2.0", "x.view(2, 8).view(-1)[i] *= 3", "x.detach().view(-1)[i] = y[i % 4]", "x[1:].view(-1)[i % 12] *= 3", "t.zero_(); t[i] = i"])  # fmt: skip
def test_many_writes_through_a_flattened_view_equal_eager(statement, device):
    """A write must not multiply the parts of a tensor: Ingot once converted each write to the shape of the storage and back, which
    gave several times as many parts."""
    op = ingot.op(f"def f(x, y):\n    x = x.clone()\n    t = x.view(-1)\n    for i in range(16):\n        {statement}\n    return x, t * y[0]\n")
    outcomes = []
    for f in (op, op.reference):
        x = torch.arange(16.0, device=device).view(4, 4).requires_grad_()
        y = torch.tensor([0.5, -1, 2, 3], device=device, requires_grad=True)
        a, b = f(x, y)
        gradients = torch.autograd.grad((a * a.detach()).sum() + b.sum(), [x, y], allow_unused=True)
        outcomes.append([a, b, *(torch.zeros_like(leaf) if g is None else g for leaf, g in zip([x, y], gradients))])
    torch.testing.assert_close(*outcomes)


@pytest.mark.parametrize("statement", ["x[0] = n", "x[...] = n", "x[x > 0] = n", "x.copy_(n)", "x.fill_(n)", "x.masked_fill_(x > 0, n)"])
def test_numbers_past_the_range_are_assigned_as_eager_does(statement):
    """The statement decides whether they are rejected, infinite or wrapped."""
    for dtype, number in [(torch.float16, 1e6), (torch.bfloat16, 1e39), (torch.float32, 1e300), (torch.int8, 300), (torch.int32, 2**40)]:
        op = ingot.op(f"def f(x):\n    {statement.replace('n)', f'{number})').replace('= n', f'= {number}')}\n    return x.clone()\n")
        results = []
        for f in (op, op.reference):
            try:
                results.append(f(torch.tensor([0, 1, 2], dtype=dtype)).tolist())
            except RuntimeError as error:
                results.append("without overflow" in str(error) or str(error))
        assert results[0] == results[1], (dtype, results)
