"""Under torch.autocast a call and its gradients give what eager PyTorch gives there."""

import contextlib
import itertools
import re

import movement_table
import names_table
import pytest
import reductions_table
import torch
import torch.nn.functional as F
from eager_gradients import KNOWN
from torch._subclasses import FakeTensorMode
from float64_accuracy import as_list, mismatch
from full_run import subset

import ingot
from ingot.oracle import compare_to_eager

# PyTorch warns of losses with old parameters and of shapes that broadcast.
pytestmark = pytest.mark.filterwarnings("ignore")

BF16, F16, F32, F64 = torch.bfloat16, torch.float16, torch.float32, torch.float64
# The dtypes of a call's float arguments, in turn: autocast's dtype, the other 16-bit dtype, and wide dtypes.
MIXES = {
    "autocast": lambda low, other: (low,),
    "float32": lambda low, other: (F32,),
    "autocast and float32": lambda low, other: (low, F32),
    "float32 and autocast": lambda low, other: (F32, low),
    "other": lambda low, other: (other,),
    "float32 and other": lambda low, other: (F32, other),
    "float64 and autocast": lambda low, other: (F64, low),
}
CASES = [(autocast_dtype, mix) for autocast_dtype in (BF16, F16) for mix in MIXES]
# PyTorch's kernels of these functions call other functions, to which autocast applies too. Fake tensors do not show
# that.
NOT_OF_FAKES = ("mvlgamma", "multigammaln", "ldexp")


class Call:
    """An op's source on the tensors that it names, and the eager function of the same source."""

    def __init__(self, text: str, names: list[str], tensors, eager=None):
        self.text, self.names = text, names
        self.eager = eager or (lambda *args: eval(text, {**reductions_table.NAMES, **dict(zip(names, args))}))
        self.op = ingot.op(f"def f({', '.join(names)}):\n    return {text}\n")
        self._tensors = tensors

    def inputs(self, autocast_dtype, mix: str, device: str = "cpu") -> list[torch.Tensor]:
        dtypes = itertools.cycle(MIXES[mix](autocast_dtype, F16 if autocast_dtype == BF16 else BF16))
        tensors = self._tensors()
        args = (tensors[name] for name in self.names)
        return [(t.to(next(dtypes)) if t.is_floating_point() else t).to(device) for t in args]


def pointwise_tensors():
    generator = torch.Generator().manual_seed(1)
    return {name: torch.rand(4, 6, generator=generator) * 0.8 + 0.1 for name in "xyz"}


def reduced_tensors():
    return reductions_table.inputs_of(F32, "cpu")


def moved_tensors():
    generator = torch.Generator().manual_seed(1)
    shapes = {"x": (4, 6), "v": (6,), "cube": (2, 3, 4), "image": (2, 4, 6, 8), "volume": (1, 2, 3, 4, 5), "s": ()}
    tensors = {name: torch.randn(shape, generator=generator) for name, shape in shapes.items()}
    return tensors | {"i": torch.randint(0, 4, (3, 4), generator=generator)}


# Calls that the tables of functions lack.
MORE = [
    "F.pad(cube, (1, 2), mode='reflect')", "F.pad(image, (1, 1, 1, 1), mode='replicate')", "F.pad(volume, (1,) * 6, mode='reflect')",
    "F.pad(volume, (1,) * 6, mode='replicate')", "F.pad(cube, (1, 2), mode='circular')", "F.interpolate(cube, scale_factor=2)",
    "torch.cat([x, x.float()])", "torch.stack((x, x * 2), 1)", "torch.hstack([x, x])", "torch.block_diag(x, x)", "torch.einsum('ij,jk->ik', x[:, :1], x[:1])",
    "torch.einsum('ij,ik->jk', x, x)", "torch.tensordot(x, x, 2)", "torch.tensordot(s, s, 0)", "torch.inner(v, v)", "torch.inner(x, v)",
    "1 / x", "2 ** x", "x ** 2 + x", "x.square()", "torch.special.expm1(x)", "x.arccos()", "sum([x, x])", "torch.softmax(x, 0, torch.float64)",
    "F.softmin(x, dim=0)", "x.sum(dtype=x.dtype)", "F.relu(x).exp() * 2", "F.linear(x, x, v[:4]).softmax(-1) @ x", "(x @ x.t()).log()",
    "F.layer_norm(x @ x.t(), (4,)) + x[:, :4]", "x.long() + torch.arange(6)", "torch.where(x > 0, x.exp(), x)", "x.norm() * x", "F.prelu(x, v[:1])",
]  # fmt: skip


def calls() -> list[Call]:
    language = {s for name in ingot.language() for s in (name.name, *name.aliases)}
    rows = names_table.UNARY + names_table.BINARY + names_table.TERNARY + names_table.OPERATORS
    all_calls = [
        Call(row.text, row.inputs.split(", "), pointwise_tensors, row.eager)
        for row in rows
        if not row.name or row.name in language
    ]
    reduced = reductions_table.texts_of(reductions_table.FLOATING) + reductions_table.COMPOSED
    moved = [*itertools.chain(*movement_table.MOVED.values()), *MORE]
    for texts, tensors in ((reduced, reduced_tensors), (moved, moved_tensors)):
        for text in texts:
            names = [name for name in tensors() if re.search(rf"\b{name}\b(?!=)", text)]
            all_calls.append(Call(text, names, tensors))
    return all_calls


CALLS = calls()


def calls_of_case(case: int) -> list[Call]:
    """The calls that a case runs. Together, the cases run every call."""
    return subset(CALLS, case, step=7)


@contextlib.contextmanager
def autocast(device: str, autocast_dtype=BF16):
    """An autocast context that also works without a GPU, where torch.autocast itself does nothing for CUDA."""
    before = torch.is_autocast_enabled(device), torch.get_autocast_dtype(device)
    torch.set_autocast_enabled(device, True)
    torch.set_autocast_dtype(device, autocast_dtype)
    try:
        yield
    finally:
        torch.set_autocast_enabled(device, before[0])
        torch.set_autocast_dtype(device, before[1])
        torch.clear_autocast_cache()


def outcome(function, inputs):
    """The result of a function, or the error that it raises."""
    try:
        return function(*inputs)
    except (RuntimeError, TypeError, ValueError, AssertionError) as error:
        return error


def is_error(result) -> bool:
    return isinstance(result, Exception)


def dtypes(result) -> list:
    return [r.dtype for r in as_list(result) if isinstance(r, torch.Tensor)]


def assert_identical(result, expected):
    assert result.dtype == expected.dtype
    assert torch.equal(result, expected)


@pytest.mark.parametrize("case", range(len(CASES)), ids=lambda k: f"{CASES[k][0]}, {CASES[k][1]}".removeprefix("torch."))
def test_calls_equal_eager_under_autocast(device, case):
    """All calls whose result autocast changes, and some of the other calls."""
    autocast_dtype, mix = CASES[case]
    cases = []
    for number, call in enumerate(calls_of_case(case)):
        inputs = call.inputs(autocast_dtype, mix, device)
        without_autocast = outcome(call.eager, inputs)
        if is_error(without_autocast) or not dtypes(without_autocast):
            continue
        with autocast(device, autocast_dtype):
            eager = outcome(call.eager, inputs)
        if number % 16 == 0 or is_error(eager) or dtypes(eager) != dtypes(without_autocast):
            cases.append((call, inputs, eager))
    mismatches = []
    with autocast(device, autocast_dtype):
        with contextlib.suppress(ingot.Error):
            ingot.prepare_all((call.op, tuple(inputs)) for call, inputs, eager in cases if not is_error(eager))
        for call, inputs, eager in cases:
            result = outcome(call.op, inputs)
            if is_error(eager) or is_error(result):
                if not (is_error(eager) and is_error(result)):
                    mismatches.append(f"{call.text}: {result}; eager: {eager}")
            elif not compare_to_eager(call.eager, inputs, {}, result).ok and (line := mismatch(call.eager, inputs, result)):
                mismatches.append(f"{call.text}: {line}")
    assert not mismatches, "\n".join(mismatches)


SHORT_NAMES = {"bf16": BF16, "f16": F16, "f32": F32, "f64": F64, "i64": torch.int64, "i32": torch.int32, "bool": torch.bool}


@pytest.mark.parametrize("case", range(len(CASES)), ids=lambda k: f"{CASES[k][0]}, {CASES[k][1]}".removeprefix("torch."))
def test_cuda_dtypes_equal_eagers_without_a_gpu(case):
    """Lowers for CUDA and compares with eager on fake tensors, which autocast treats as CUDA tensors."""
    autocast_dtype, mix = CASES[case]
    wrong = []
    for call in calls_of_case(case):
        inputs = call.inputs(autocast_dtype, mix)
        without_autocast = outcome(call.eager, inputs)
        if is_error(without_autocast) or any(name in call.text for name in NOT_OF_FAKES):
            continue
        meta = [tensor.to("meta") for tensor in inputs]

        def lowered_dtypes(*args, call=call):
            text = call.op.emit("ir", *args, device="cuda")
            return [SHORT_NAMES.get(name) for name in re.findall(r"^  \w+: (\w+)\[.*\] =", text, re.MULTILINE)]

        if is_error(outcome(lowered_dtypes, meta)):
            continue
        with FakeTensorMode(allow_non_fake_inputs=True):
            fakes = [torch.empty_strided(t.shape, t.stride(), dtype=t.dtype, device="cuda") for t in inputs]
            in_fake_mode = outcome(call.eager, fakes)
            with autocast("cuda", autocast_dtype):
                eager = outcome(call.eager, fakes)
        if is_error(in_fake_mode) or dtypes(in_fake_mode) != dtypes(without_autocast) or is_error(eager) and "autocast" not in str(eager):
            continue  # fake tensors cannot do this
        with autocast("cuda", autocast_dtype):
            actual = outcome(lowered_dtypes, meta)
        if is_error(eager) != is_error(actual) or not is_error(actual) and actual != dtypes(eager):
            wrong.append(f"{call.text}: {actual}; eager: {eager if is_error(eager) else dtypes(eager)}")
    assert not wrong, "\n".join(wrong)


def gradients(function, tensors: list[torch.Tensor], device: str, autocast_dtype):
    """The gradients of results that are computed under autocast. The backward pass runs outside of autocast, as in
    training."""
    leaves = [t.detach().clone().requires_grad_() if t.is_floating_point() else t for t in tensors]
    with autocast(device, autocast_dtype):
        results = [r for r in as_list(function(*leaves)) if isinstance(r, torch.Tensor) and r.requires_grad]
    generator = torch.Generator().manual_seed(7)
    cotangents = [torch.rand(r.shape, dtype=F64, generator=generator).to(r) for r in results]
    inputs = [leaf for leaf in leaves if leaf.requires_grad]
    return torch.autograd.grad(results, inputs, cotangents, allow_unused=True) if results else None


@pytest.mark.parametrize("mix", ["autocast", "float32", "autocast and float32"])
def test_gradients_equal_eagers_under_autocast(device, mix):
    """Gradients of the calls that autocast changes. They have the arguments' dtypes. Their error against float64 is at
    most 1.5 times eager's, plus four eps of autocast's dtype times the largest element, plus four eps of float32. A leaf
    whose gradient is 0 may have no gradient."""
    autocast_dtype = BF16 if mix != "autocast" else F16
    wrong = []
    for call in subset(CALLS, list(MIXES).index(mix), step=9):
        inputs = call.inputs(autocast_dtype, mix, device)
        without_autocast = outcome(call.eager, inputs)
        with autocast(device, autocast_dtype):
            with_autocast = outcome(call.eager, inputs)
        if is_error(without_autocast) or is_error(with_autocast) or not dtypes(without_autocast) or dtypes(with_autocast) == dtypes(without_autocast) or call.text in KNOWN:
            continue
        expected_gradients = outcome(lambda *t: gradients(call.eager, t, device, autocast_dtype), inputs)
        exact_gradients = outcome(lambda *t: gradients(call.eager, [x.double() if x.is_floating_point() else x for x in t], device, autocast_dtype), inputs)
        if expected_gradients is None or is_error(expected_gradients) or is_error(exact_gradients):
            continue  # eager has no gradient of this call
        actual_gradients = outcome(lambda *t: gradients(call.op, t, device, autocast_dtype), inputs)
        if is_error(actual_gradients):
            wrong.append(f"{call.text}: {actual_gradients}")
            continue
        leaves = (t for t in inputs if t.is_floating_point())
        for leaf, actual, expected, exact in zip(leaves, actual_gradients or itertools.repeat(None), expected_gradients, exact_gradients):
            actual, expected, exact = (torch.zeros_like(leaf) if g is None else g for g in (actual, expected, exact))
            if actual.dtype != leaf.dtype:
                wrong.append(f"{call.text}: the gradient is {actual.dtype}, and the argument {leaf.dtype}")
            finite = exact.isfinite() & expected.isfinite()
            actual, expected, exact = (g[finite].double() for g in (actual, expected, exact))
            if not exact.numel():
                continue
            error, eager_error = (actual - exact).abs().max(), (expected - exact).abs().max()
            if not error <= 1.5 * eager_error + 4 * torch.finfo(autocast_dtype).eps * exact.abs().max() + 4 * torch.finfo(F32).eps:
                wrong.append(f"{call.text}: off by {error}, eager by {eager_error}")
    assert not wrong, "\n".join(wrong)


def test_gradients_follow_the_autocast_state_of_their_call(device):
    """One op under autocast, without it, and with the backward pass inside of the region."""
    text = "def f(x, w):\n    return F.linear(x, w).relu()\n"
    x, w = torch.randn(8, 16, device=device), torch.randn(4, 16, device=device)

    def gradients_of_both_calls(function, backward_inside):
        leaves = x.clone().requires_grad_(), w.clone().requires_grad_()
        plain = function(*leaves)
        with autocast(device):
            cast = function(*leaves)
            assert (plain.dtype, cast.dtype) == (F32, BF16)
            total = (plain + cast).sum()
            if backward_inside:
                total.backward()
        if not backward_inside:
            total.backward()
        return [leaf.grad for leaf in leaves]

    op = ingot.op(text)
    for backward_inside in (False, True):
        for actual, expected in zip(gradients_of_both_calls(op, backward_inside), gradients_of_both_calls(lambda x, w: F.linear(x, w).relu(), backward_inside)):
            torch.testing.assert_close(actual, expected, rtol=2e-2, atol=2e-2)


def test_gradients_use_the_casts_of_the_forward_call(device):
    """1 + 2 ** -10 is rounded to 1 in bfloat16. Under autocast, the gradient of a product is made of the rounded operands."""
    for backward_inside in (False, True):
        x, w = (torch.full((2, 2), 1 + 2**-10, device=device, requires_grad=True) for _ in range(2))
        f = ingot.op("x @ w")
        with autocast(device):
            cast = f(x, w).sum()
            if backward_inside:
                cast.backward()
        if not backward_inside:
            cast.backward()
        assert_identical(x.grad, torch.full_like(x, 2.0))
        f(x, w).sum().backward()
        assert_identical(w.grad, torch.full_like(w, 4 + 2**-9))


def test_second_derivatives_equal_eagers(device):
    x, y = (torch.rand(12, device=device).bfloat16() + 0.5 for _ in range(2))

    def twice(function):
        leaves = [t.clone().requires_grad_() for t in (x, y)]
        with autocast(device):
            result = function(*leaves)
        assert result.dtype == F32
        first = torch.autograd.grad(result.sum(), leaves, create_graph=True)
        return torch.autograd.grad((first[0] * 2 + first[1] * first[0]).sum(), leaves)

    op = ingot.op("def f(x, y):\n    return F.mse_loss(x * y, y, reduction='none') * x\n")
    expected_gradients = twice(lambda x, y: F.mse_loss(x * y, y, reduction="none") * x)
    for actual, expected in zip(twice(op), expected_gradients):
        torch.testing.assert_close(actual, expected, rtol=5e-2, atol=5e-2)


def test_the_autocast_state_is_read_at_each_call(device):
    f = ingot.op("def f(x, y):\n    return F.mse_loss(x, y, reduction='none')\n")
    x, y = (torch.randn(64, device=device).bfloat16() for _ in range(2))
    before = f(x, y)
    assert before.dtype == BF16
    for _ in range(2):
        with torch.autocast(device, dtype=BF16):
            assert_identical(f(x, y), F.mse_loss(x, y, reduction="none"))
            with torch.autocast(device, enabled=False):
                assert_identical(f(x, y), before)
        assert_identical(f(x, y), before)


def test_autocast_of_another_device_has_no_effect():
    f = ingot.op("def f(x, y):\n    return F.mse_loss(x, y, reduction='none')\n")
    x = torch.randn(64).bfloat16()
    with autocast("cuda"):
        assert_identical(f(x, x), torch.zeros(64, dtype=BF16))


def test_each_autocast_dtype_has_its_own_kernel(device):
    f, x, y = ingot.op("x @ y"), torch.randn(8, 4, device=device), torch.randn(4, 8, device=device)
    for autocast_dtype in (BF16, F16, BF16):
        with autocast(device, autocast_dtype):
            assert f(x, y).dtype == autocast_dtype
    assert f(x, y).dtype == F32


def test_rejects_what_pytorch_rejects():
    f = ingot.op("def f(x, y):\n    return cat([x, y])\n")
    x = torch.randn(3)
    with autocast("cpu"):
        assert_identical(f(x, x.half()), torch.cat([x, x.half()]))
        with pytest.raises(ingot.Error, match="under torch.autocast to bfloat16 `cat` takes no float16 tensor"):
            f(x.half(), x.bfloat16())
    unsafe = ingot.op("F.binary_cross_entropy(x, y)")
    assert "float" in unsafe.emit("source", x, x, device="cuda")
    with autocast("cuda"), pytest.raises(ingot.Error, match="binary_cross_entropy_with_logits"):
        unsafe.emit("source", x, x, device="cuda")


def test_emitted_stages_show_the_casts_of_autocast():
    f, x = ingot.op("x.exp()"), torch.randn(3).bfloat16()
    assert "out: bf16" in f.emit("ir", x, device="cuda")
    with autocast("cuda"):
        assert "out: f32" in f.emit("ir", x, device="cuda")
        assert "out: bf16" in f.emit("ir", x, device="cpu")


# Sources in which autocast casts the arguments of calls that the author wrote, at any nesting.
TEXTS = {
    "a helper, a lambda and a nested function": """
def loss(a, b):
    return F.l1_loss(a, b, reduction="none")

def f(x, y):
    def twice(a):
        return loss(a, y) * 2
    return twice(x), (lambda a: F.kl_div(a, y, reduction="none"))(x)
""",
    "a user's function with a name of PyTorch's": """
def mse_loss(x, y):
    return x * y

def f(x, y):
    return mse_loss(x, y), torch.relu(x)
""",
    "a list": """
def f(x, y):
    pieces = [x, y.float()]
    return torch.cat(pieces), pieces[0] + x
""",
    "in place": """
def f(x, y):
    a = x.clone()
    a.addmm_(y, y)
    a.prod(0)
    return a
""",
    "arguments by keyword": """
def f(x, y):
    return F.huber_loss(input=x, target=y, reduction="none"), torch.matmul(other=y, input=x)
""",
}


@pytest.mark.parametrize("name", TEXTS)
def test_casts_apply_at_any_nesting(device, name):
    f = ingot.op(TEXTS[name], name="f")
    x, y = (torch.rand(6, 6, device=device).bfloat16() for _ in range(2))
    with autocast(device):
        verdict = compare_to_eager(f.reference, (x, y), {}, f(x, y))
    assert verdict.ok, verdict.message


def test_numerics_of_eager(device):
    x = torch.randn(6, 6, device=device).bfloat16()
    targets = torch.arange(6, device=device)
    for text in ("F.cross_entropy(x, t)", "(x @ x).relu() * 3", "F.prelu(x, x[0, 0]) + t", "x.prod(1) / 3", "F.l1_loss(x, x.t() * 1.7)"):
        f = ingot.op(f"def f(x, t):\n    return {text}\n", numerics="eager")
        with autocast(device):
            line = mismatch(f.reference, (x, targets), f(x, targets))
        assert not line, f"{text}: {line}"


def test_powers_in_place_keep_their_dtype():
    f = ingot.op("def f(x):\n    y = x.clone()\n    y **= 2\n    y.pow_(2)\n    return y, x ** 2\n")
    x = torch.randn(3).bfloat16()
    with autocast("cuda"):
        text = f.emit("ir", x, device="cuda")
    assert re.findall(r"^  \w+: (\w+)\[", text, re.MULTILINE)[-2:] == ["bf16", "f32"]


def test_lists_and_out(device):
    f = ingot.op("def f(xs):\n    return torch.stack(xs).prod(0)\n")
    xs = [torch.rand(5, device=device).bfloat16() for _ in range(3)]
    with autocast(device):
        result = f(xs)
        torch.testing.assert_close(result, torch.stack(xs).prod(0))
        out = torch.empty_like(result)
        f(xs, out=out)
    assert_identical(out, result)


def test_a_cpu_scalar_with_cuda_tensors_keeps_its_dtype(device):
    if device == "cpu":
        pytest.skip("explained: of tensors on CUDA")
    f = ingot.op("def f(x, s):\n    return torch.atan2(x, x) * s, torch.exp(x) + s\n")
    x, s = torch.rand(5, device=device).half(), torch.tensor(2.0, dtype=BF16)
    with autocast(device, F16):
        assert dtypes(f(x, s)) == dtypes(f.reference(x, s))
