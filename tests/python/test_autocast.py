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
from float64_accuracy import as_list, complaint
from full_run import some

import ingot
from ingot.oracle import compare_to_eager

# PyTorch warns of losses with old parameters and of shapes that broadcast.
pytestmark = pytest.mark.filterwarnings("ignore")

BF16, F16, F32, F64 = torch.bfloat16, torch.float16, torch.float32, torch.float64
# The dtypes of a call's float arguments, in turn; `own` is autocast's dtype.
MIXES = {
    "own": lambda own, other: (own,),
    "float32": lambda own, other: (F32,),
    "own and float32": lambda own, other: (own, F32),
    "float32 and own": lambda own, other: (F32, own),
    "other": lambda own, other: (other,),
    "float32 and other": lambda own, other: (F32, other),
    "float64 and own": lambda own, other: (F64, own),
}
CASES = [(own, mix) for own in (BF16, F16) for mix in MIXES]
# PyTorch's kernels of these functions call other functions, to which autocast applies too. Fake tensors do not show
# that.
NOT_OF_FAKES = ("mvlgamma", "multigammaln", "ldexp")


class Call:
    """An op's source on the tensors that it names, and the eager function of the same source."""

    def __init__(self, text: str, names: list[str], tensors, eager=None):
        self.text, self.names = text, names
        self.eager = eager or (lambda *given: eval(text, {**reductions_table.NAMES, **dict(zip(names, given))}))
        self.op = ingot.op(f"def f({', '.join(names)}):\n    return {text}\n")
        self._tensors = tensors

    def inputs(self, own, mix: str, device: str = "cpu") -> list[torch.Tensor]:
        dtypes = itertools.cycle(MIXES[mix](own, F16 if own == BF16 else BF16))
        tensors = self._tensors()
        given = (tensors[name] for name in self.names)
        return [(t.to(next(dtypes)) if t.is_floating_point() else t).to(device) for t in given]


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


# Calls that the tables of names lack.
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
    spelled = {s for name in ingot.language() for s in (name.name, *name.aliases)}
    rows = names_table.UNARY + names_table.BINARY + names_table.TERNARY + names_table.OPERATORS
    found = [
        Call(row.text, row.inputs.split(", "), pointwise_tensors, row.eager)
        for row in rows
        if not row.name or row.name in spelled
    ]
    reduced = reductions_table.texts_of(reductions_table.FLOATING) + reductions_table.COMPOSED
    moved = [*itertools.chain(*movement_table.MOVED.values()), *MORE]
    for texts, tensors in ((reduced, reduced_tensors), (moved, moved_tensors)):
        for text in texts:
            names = [name for name in tensors() if re.search(rf"\b{name}\b(?!=)", text)]
            found.append(Call(text, names, tensors))
    return found


CALLS = calls()


def some_of(case: int) -> list[Call]:
    """Some of the cases; every call has a turn."""
    return some(CALLS, case, of=7)


@contextlib.contextmanager
def autocast(device: str, own=BF16):
    """An autocast context that also works without a GPU, where torch.autocast itself does nothing for CUDA."""
    before = torch.is_autocast_enabled(device), torch.get_autocast_dtype(device)
    torch.set_autocast_enabled(device, True)
    torch.set_autocast_dtype(device, own)
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


def exactly(result, expected):
    assert result.dtype == expected.dtype
    assert torch.equal(result, expected)


@pytest.mark.parametrize("case", range(len(CASES)), ids=lambda k: f"{CASES[k][0]}, {CASES[k][1]}".removeprefix("torch."))
def test_every_name(device, case):
    """All calls whose result autocast changes, and some of the other calls."""
    own, mix = CASES[case]
    found = []
    for number, call in enumerate(some_of(case)):
        inputs = call.inputs(own, mix, device)
        plain = outcome(call.eager, inputs)
        if is_error(plain) or not dtypes(plain):
            continue
        with autocast(device, own):
            eager = outcome(call.eager, inputs)
        if number % 16 == 0 or is_error(eager) or dtypes(eager) != dtypes(plain):
            found.append((call, inputs, eager))
    wrong = []
    with autocast(device, own):
        with contextlib.suppress(ingot.Error):
            ingot.prepare_all((call.op, tuple(inputs)) for call, inputs, eager in found if not is_error(eager))
        for call, inputs, eager in found:
            result = outcome(call.op, inputs)
            if is_error(eager) or is_error(result):
                if not (is_error(eager) and is_error(result)):
                    wrong.append(f"{call.text}: {result}; eager: {eager}")
            elif not compare_to_eager(call.eager, inputs, {}, result).ok and (line := complaint(call.eager, inputs, result)):
                wrong.append(f"{call.text}: {line}")
    assert not wrong, "\n".join(wrong)


SHORT_NAMES = {"bf16": BF16, "f16": F16, "f32": F32, "f64": F64, "i64": torch.int64, "i32": torch.int32, "bool": torch.bool}


@pytest.mark.parametrize("case", range(len(CASES)), ids=lambda k: f"{CASES[k][0]}, {CASES[k][1]}".removeprefix("torch."))
def test_dtypes_of_cuda_without_a_gpu(case):
    """Lowers for CUDA and compares with eager on fake tensors, which autocast treats as CUDA tensors."""
    own, mix = CASES[case]
    wrong = []
    for call in some_of(case):
        inputs = call.inputs(own, mix)
        plain = outcome(call.eager, inputs)
        if is_error(plain) or any(name in call.text for name in NOT_OF_FAKES):
            continue
        meta = [tensor.to("meta") for tensor in inputs]

        def lowered(*given, call=call):
            text = call.op.emit("ir", *given, device="cuda")
            return [SHORT_NAMES.get(name) for name in re.findall(r"^  \w+: (\w+)\[.*\] =", text, re.MULTILINE)]

        if is_error(outcome(lowered, meta)):
            continue
        with FakeTensorMode(allow_non_fake_inputs=True):
            fakes = [torch.empty_strided(t.shape, t.stride(), dtype=t.dtype, device="cuda") for t in inputs]
            pretended = outcome(call.eager, fakes)
            with autocast("cuda", own):
                eager = outcome(call.eager, fakes)
        if is_error(pretended) or dtypes(pretended) != dtypes(plain) or is_error(eager) and "autocast" not in str(eager):
            continue  # fake tensors cannot do this
        with autocast("cuda", own):
            ours = outcome(lowered, meta)
        if is_error(eager) != is_error(ours) or not is_error(ours) and ours != dtypes(eager):
            wrong.append(f"{call.text}: {ours}; eager: {eager if is_error(eager) else dtypes(eager)}")
    assert not wrong, "\n".join(wrong)


def gradients(function, tensors: list[torch.Tensor], device: str, own):
    """The gradients of results that are computed under autocast. The backward pass runs outside of autocast, as in
    training."""
    leaves = [t.detach().clone().requires_grad_() if t.is_floating_point() else t for t in tensors]
    with autocast(device, own):
        results = [r for r in as_list(function(*leaves)) if isinstance(r, torch.Tensor) and r.requires_grad]
    generator = torch.Generator().manual_seed(7)
    given = [torch.rand(r.shape, dtype=F64, generator=generator).to(r) for r in results]
    wanted = [leaf for leaf in leaves if leaf.requires_grad]
    return torch.autograd.grad(results, wanted, given, allow_unused=True) if results else None


@pytest.mark.parametrize("mix", ["own", "float32", "own and float32"])
def test_gradients(device, mix):
    """Gradients of the calls that autocast changes. They have the arguments' dtypes. Their error against float64 is at
    most 1.5 times eager's plus four steps of autocast's dtype and of float32 at 1. A leaf whose gradient is 0 may have
    none."""
    own = BF16 if mix != "own" else F16
    wrong = []
    for call in some(CALLS, list(MIXES).index(mix), of=9):
        inputs = call.inputs(own, mix, device)
        plain = outcome(call.eager, inputs)
        with autocast(device, own):
            cast = outcome(call.eager, inputs)
        if is_error(plain) or is_error(cast) or not dtypes(plain) or dtypes(cast) == dtypes(plain) or call.text in KNOWN:
            continue
        eager = outcome(lambda *t: gradients(call.eager, t, device, own), inputs)
        exact = outcome(lambda *t: gradients(call.eager, [x.double() if x.is_floating_point() else x for x in t], device, own), inputs)
        if eager is None or is_error(eager) or is_error(exact):
            continue  # eager has no gradient of this call
        ours = outcome(lambda *t: gradients(call.op, t, device, own), inputs)
        if is_error(ours):
            wrong.append(f"{call.text}: {ours}")
            continue
        leaves = (t for t in inputs if t.is_floating_point())
        for leaf, mine, theirs, truth in zip(leaves, ours or itertools.repeat(None), eager, exact):
            mine, theirs, truth = (torch.zeros_like(leaf) if g is None else g for g in (mine, theirs, truth))
            if mine.dtype != leaf.dtype:
                wrong.append(f"{call.text}: {mine.dtype} for {leaf.dtype}")
            finite = truth.isfinite() & theirs.isfinite()
            mine, theirs, truth = (g[finite].double() for g in (mine, theirs, truth))
            if not truth.numel():
                continue
            error, of_eager = (mine - truth).abs().max(), (theirs - truth).abs().max()
            if not error <= 1.5 * of_eager + 4 * torch.finfo(own).eps * truth.abs().max() + 4 * torch.finfo(F32).eps:
                wrong.append(f"{call.text}: off by {error}, eager by {of_eager}")
    assert not wrong, "\n".join(wrong)


def test_gradients_follow_the_autocast_state_of_their_call(device):
    """One op under autocast, without it, and with the backward pass inside of the region."""
    text = "def f(x, w):\n    return F.linear(x, w).relu()\n"
    x, w = torch.randn(8, 16, device=device), torch.randn(4, 16, device=device)

    def both(function, inside):
        leaves = x.clone().requires_grad_(), w.clone().requires_grad_()
        plain = function(*leaves)
        with autocast(device):
            cast = function(*leaves)
            assert (plain.dtype, cast.dtype) == (F32, BF16)
            total = (plain + cast).sum()
            if inside:
                total.backward()
        if not inside:
            total.backward()
        return [leaf.grad for leaf in leaves]

    op = ingot.op(text)
    for inside in (False, True):
        for mine, theirs in zip(both(op, inside), both(lambda x, w: F.linear(x, w).relu(), inside)):
            torch.testing.assert_close(mine, theirs, rtol=2e-2, atol=2e-2)


def test_gradients_use_the_casts_of_the_forward_call(device):
    """1 + 2 ** -10 is 1 in bfloat16, and that is the gradient of the product."""
    for inside in (False, True):
        x, w = (torch.full((2, 2), 1 + 2**-10, device=device, requires_grad=True) for _ in range(2))
        f = ingot.op("x @ w")
        with autocast(device):
            cast = f(x, w).sum()
            if inside:
                cast.backward()
        if not inside:
            cast.backward()
        exactly(x.grad, torch.full_like(x, 2.0))
        f(x, w).sum().backward()
        exactly(w.grad, torch.full_like(w, 4 + 2**-9))


def test_second_orders(device):
    x, y = (torch.rand(12, device=device).bfloat16() + 0.5 for _ in range(2))

    def twice(function):
        leaves = [t.clone().requires_grad_() for t in (x, y)]
        with autocast(device):
            result = function(*leaves)
        assert result.dtype == F32
        first = torch.autograd.grad(result.sum(), leaves, create_graph=True)
        return torch.autograd.grad((first[0] * 2 + first[1] * first[0]).sum(), leaves)

    op = ingot.op("def f(x, y):\n    return F.mse_loss(x * y, y, reduction='none') * x\n")
    eager = twice(lambda x, y: F.mse_loss(x * y, y, reduction="none") * x)
    for mine, theirs in zip(twice(op), eager):
        torch.testing.assert_close(mine, theirs, rtol=5e-2, atol=5e-2)


def test_the_autocast_state_is_read_at_each_call(device):
    f = ingot.op("def f(x, y):\n    return F.mse_loss(x, y, reduction='none')\n")
    x, y = (torch.randn(64, device=device).bfloat16() for _ in range(2))
    before = f(x, y)
    assert before.dtype == BF16
    for _ in range(2):
        with torch.autocast(device, dtype=BF16):
            exactly(f(x, y), F.mse_loss(x, y, reduction="none"))
            with torch.autocast(device, enabled=False):
                exactly(f(x, y), before)
        exactly(f(x, y), before)


def test_autocast_of_another_device_has_no_effect():
    f = ingot.op("def f(x, y):\n    return F.mse_loss(x, y, reduction='none')\n")
    x = torch.randn(64).bfloat16()
    with autocast("cuda"):
        exactly(f(x, x), torch.zeros(64, dtype=BF16))


def test_each_autocast_dtype_has_its_own_kernel(device):
    f, x, y = ingot.op("x @ y"), torch.randn(8, 4, device=device), torch.randn(4, 8, device=device)
    for own in (BF16, F16, BF16):
        with autocast(device, own):
            assert f(x, y).dtype == own
    assert f(x, y).dtype == F32


def test_what_pytorch_refuses():
    f = ingot.op("def f(x, y):\n    return cat([x, y])\n")
    x = torch.randn(3)
    with autocast("cpu"):
        exactly(f(x, x.half()), torch.cat([x, x.half()]))
        with pytest.raises(ingot.Error, match="under torch.autocast to bfloat16 `cat` takes no float16 tensor"):
            f(x.half(), x.bfloat16())
    unsafe = ingot.op("F.binary_cross_entropy(x, y)")
    assert "float" in unsafe.emit("source", x, x, device="cuda")
    with autocast("cuda"), pytest.raises(ingot.Error, match="binary_cross_entropy_with_logits"):
        unsafe.emit("source", x, x, device="cuda")


def test_stages_are_those_of_the_autocast_call():
    f, x = ingot.op("x.exp()"), torch.randn(3).bfloat16()
    assert "out: bf16" in f.emit("ir", x, device="cuda")
    with autocast("cuda"):
        assert "out: f32" in f.emit("ir", x, device="cuda")
        assert "out: bf16" in f.emit("ir", x, device="cpu")


# Sources whose casts are made at the calls that the author wrote, at any nesting.
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
def test_sources(device, name):
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
            line = complaint(f.reference, (x, targets), f(x, targets))
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
    exactly(out, result)


def test_a_cpu_scalar_with_cuda_tensors_keeps_its_dtype(device):
    if device == "cpu":
        pytest.skip("explained: of tensors on CUDA")
    f = ingot.op("def f(x, s):\n    return torch.atan2(x, x) * s, torch.exp(x) + s\n")
    x, s = torch.rand(5, device=device).half(), torch.tensor(2.0, dtype=BF16)
    with autocast(device, F16):
        assert dtypes(f(x, s)) == dtypes(f.reference(x, s))
