"""Corner cases of eager that no formula shows: divisions by zero, quotients of 16 bits, limits that are NaN, windows,
views."""

import math

import pytest
import torch

import ingot

DIVISIONS = {
    "x // y": lambda x, y: x // y,
    "x % y": lambda x, y: x % y,
    "fmod(x, y)": torch.fmod,
    "div(x, y, rounding_mode='trunc')": lambda x, y: torch.div(x, y, rounding_mode="trunc"),
}
INTEGERS = [torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64]


def equal_with_nan(actual, expected):
    return torch.equal(actual.isnan(), expected.isnan()) and torch.equal(actual.nan_to_num(), expected.nan_to_num())


def both_raise(op, eager, *arguments):
    with pytest.raises(RuntimeError, match="ZeroDivisionError"):
        eager(*arguments)
    with pytest.raises(ingot.Error, match="ZeroDivisionError") as caught:
        op(*arguments)
    return str(caught.value)


@pytest.mark.parametrize("divisor", ["k", "0"])
@pytest.mark.parametrize("text", DIVISIONS)
def test_an_unused_division_by_zero_is_an_error(text, divisor):
    text = f"def f(x, k: int):\n    unused = {text.replace('y', divisor)}\n    return x + 1\n"
    op, eager = ingot.op(text), ingot.op(text).reference
    with pytest.raises(RuntimeError, match="ZeroDivisionError"):
        eager(torch.arange(3), 0)
    with pytest.raises(ingot.Error, match="ZeroDivisionError") as caught:
        op(torch.arange(3), 0)
    assert "unused" in str(caught.value)  # the message shows the line
    assert torch.equal(op(torch.arange(0), 0), eager(torch.arange(0), 0))


@pytest.mark.parametrize("text", DIVISIONS)
@pytest.mark.parametrize("dtype", INTEGERS, ids=str)
def test_integers_divided_by_zero_are_an_error(text, dtype):
    op, eager = ingot.op(text), DIVISIONS[text]
    x = torch.arange(1, 1001).to(dtype)
    y = x.clamp(min=1)
    assert torch.equal(op(x, y), eager(x, y))
    for index in (0, 500, 999):
        zero = y.clone()
        zero[index] = 0
        message = both_raise(op, eager, x, zero)
        assert text in message
    both_raise(op, eager, x, torch.zeros((), dtype=dtype))
    both_raise(op, eager, x.view(10, 100), torch.tensor([1] * 99 + [0], dtype=dtype))
    assert op(x[:0], torch.zeros((), dtype=dtype)).numel() == 0


@pytest.mark.parametrize("text", DIVISIONS)
def test_dividing_by_the_number_zero_is_an_error(text):
    x, eager = torch.arange(10), DIVISIONS[text]
    both_raise(ingot.op(text.replace("y", "0")), lambda x: eager(x, 0), x)
    number = ingot.op(f"def f(x, y: int):\n    return {text}\n")
    assert torch.equal(number(x, 3), eager(x, 3))
    both_raise(number, eager, x, 0)
    assert number(x[:0], 0).numel() == 0


def test_a_zero_divisor_is_an_error_in_an_unselected_arm():
    op = ingot.op("where(y != 0, x // y, 0)")
    both_raise(op, lambda x, y: torch.where(y != 0, x // y, 0), torch.arange(4), torch.tensor([1, 2, 0, 3]))


@pytest.mark.parametrize("text", ["x // y", "div(x, y, rounding_mode='trunc')"])
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16], ids=str)
@pytest.mark.parametrize("numerics", ["default", "eager"])
def test_integral_quotients_of_16_bit_floats(text, dtype, numerics, device):
    generator = torch.Generator().manual_seed(3)
    x, y = ((torch.randn(60_000, generator=generator) * 10.0 ** torch.randint(-3, 4, (60_000,), generator=generator))
            .to(dtype).to(device) for _ in range(2))
    y[::17], y[1::19] = x[::17], (x[1::19].float() / 3).to(dtype)
    special = torch.tensor([0.0, -0.0, math.inf, -math.inf, math.nan, 1.0, -2.5], dtype=dtype, device=device)
    x = torch.cat([x, special.repeat_interleave(7)])
    y = torch.cat([y, special.repeat(7)])
    op, eager = ingot.op(text, numerics=numerics), DIVISIONS[text]
    assert equal_with_nan(op(x, y), eager(x, y))
    assert equal_with_nan(op(x, y[:1]), eager(x, y[:1]))
    number = ingot.op(f"def f(x, y: float):\n    return {text}\n", numerics=numerics)
    for value in (0.3, 3.0, -7.7):
        assert equal_with_nan(number(x, value), eager(x, value)), value


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64], ids=str)
def test_nan_limits_of_clamp_equal_eager(dtype, device):
    x = torch.tensor([-2.0, -0.0, 0.0, 1.0, math.nan, math.inf] * 11, dtype=dtype, device=device)
    for low, high in [(math.nan, None), (None, math.nan), (math.nan, 1.0), (0.0, math.nan), (-1.0, 0.5)]:
        limits = ", ".join(f"{name}={name}" for name, value in (("min", low), ("max", high)) if value is not None)
        numbers = {name: value for name, value in (("min", low), ("max", high)) if value is not None}
        expected = torch.clamp(x, **numbers)
        parameters = ", ".join(f"{name}: float" for name in numbers)
        assert equal_with_nan(ingot.op(f"def f(x, {parameters}):\n    return clamp(x, {limits})\n")(x, *numbers.values()), expected)
        tensors = {name: torch.full_like(x, value) for name, value in numbers.items()}
        op = ingot.op(f"def f(x, {', '.join(tensors)}):\n    return clamp(x, {limits})\n")
        assert equal_with_nan(op(x, *tensors.values()), torch.clamp(x, **tensors))


@pytest.mark.parametrize("text", ["x.clamp_min(n)", "torch.clamp_max(x, n)"])
def test_nan_limits_of_functions_propagate(text, device):
    for dtype in (torch.bool, torch.int32, torch.float16, torch.float32, torch.float64):
        x = torch.tensor([-1.0, 0.5, 2.0, math.nan][: 4 if dtype.is_floating_point else 3], device=device).to(dtype)
        op, constant = ingot.op(f"def f(x, n: float): return {text}"), ingot.op(text.replace("n)", "math.nan)"))
        for f, arguments in ((op, (x, math.nan)), (op, (x, 0.5)), (constant, (x,))):
            assert equal_with_nan(f(*arguments), f.reference(*arguments)), (dtype, arguments)
        if dtype == torch.float64:
            gradients = [torch.autograd.grad(f(leaf, math.nan).sum(), leaf)[0] for f in (op, op.reference) for leaf in [x.clone().requires_grad_()]]
            assert torch.equal(*gradients)


@pytest.mark.parametrize("name", ["binary_cross_entropy_with_logits", "cosine_embedding_loss", "hinge_embedding_loss", "kl_div",
                                  "margin_ranking_loss", "poisson_nll_loss", "triplet_margin_loss"])  # fmt: skip
def test_losses_of_torch_point_to_the_functional_namespace(name):
    with pytest.raises(ingot.Error, match=f"write F.{name}"):
        ingot.op(f"torch.{name}(x, y)")(torch.rand(3), torch.rand(3))


def test_overlapping_windows_equal_eager(device):
    for dtype in (torch.float32, torch.uint8, torch.float16):
        x = torch.arange(100, device=device).to(dtype)
        for windows in (x.unfold(0, 4, 1)[:6], x.unfold(0, 16, 1), x[3:].unfold(0, 8, 2), x.as_strided((5, 4, 8), (1, 0, 1))):
            assert torch.equal(ingot.op("x * 2")(windows), windows * 2)
            assert torch.equal(ingot.op("x + y")(windows, windows[:1]), windows + windows[:1])


def test_gathered_rows_equal_eager(device):
    for columns in (1, 2, 3, 5, 1001):
        w = torch.arange(3.0 * columns, device=device).view(3, columns)
        t, x = torch.tensor([2], device=device), torch.ones(columns, device=device)
        for debug in (False, True):
            assert torch.equal(ingot.op("w[t]", debug=debug)(w, t), w[t])
            assert torch.equal(ingot.op("w[t] + x", debug=debug)(w, t, x), w[t] + x)
            assert torch.equal(ingot.op("w[t - 100] + x", debug=debug)(w, t + 100, x), w[t] + x)


@pytest.mark.parametrize("text", ["return x + torch.cat([y[:k], y[k:]])", "y[:k] = 2; return x + y", "y[k:] *= 2; return x * y",
                                  "z = y.clone(); z[k] = 5; return x + z", "y[:k] = 2; return y.expand(4, 4).clone()",
                                  "return x + torch.cat([y[:k], x[:1]])[:1]"])  # fmt: skip
def test_a_sliced_dim_of_one_is_broadcast(text, device):
    for k in (0, 1):
        for rows in (1, 2, 4):
            tensors = [torch.ones(rows, 4, device=device), torch.full((1, 4), 10.0, device=device)]
            op = ingot.op(f"def f(x, y, k: int):\n    {text}\n")
            try:
                expected = op.reference(*(t.clone() for t in tensors), k)
            except (RuntimeError, IndexError):
                continue
            assert equal_with_nan(op(*tensors, k), expected), (rows, k)


def outcome(function, *arguments):
    """Values, dtype and strides; None if the call is rejected."""
    try:
        result = function(*arguments)
    except (ingot.Error, RuntimeError, IndexError):
        return None
    return result.tolist(), result.dtype, result.stride()


def row_of(size, stride):
    return torch.arange(8.0).as_strided((1, size), (stride, 1))


@pytest.mark.parametrize("text, tensors", [
    ("x.view(24)", [torch.rand(4, 6), torch.rand(6, 4).t(), torch.rand(4, 12)[:, ::2]]),
    ("x.view(2, 12) + 1", [torch.rand(4, 6), torch.rand(6, 4).t()]),
    ("x.view(2, 2, 6)", [torch.rand(4, 6), torch.rand(6, 4).t()]),
    ("(x.t() * 2).view(24)", [torch.rand(4, 6), torch.rand(6, 4).t()]),
    ("x[:, :3].view(-1)", [torch.rand(4, 6), torch.rand(4, 3), torch.rand(1, 6)]),
    ("x.view(x.shape[0], -1)", [torch.rand(0, 3), torch.rand(2, 0), torch.rand(2, 3), torch.rand(4, 2, 3)]),
    ("x.view(-1, x.shape[1])", [torch.rand(0, 3), torch.rand(2, 0), torch.rand(2, 3)]),
    ("x.contiguous()", [row_of(4, 9), torch.rand(4, 6).t(), torch.empty(0, 4).as_strided((0, 4), (7, 2))]),
    ("x.contiguous().view(2, 2, 1)", [row_of(4, 9), torch.rand(2, 2).t()]),
    ("x.view(x.shape)", [row_of(4, 9), torch.rand(2, 3).t()]),
    ("x.reshape(x.shape) * 2", [row_of(4, 9), torch.rand(600)[:400].as_strided((2, 1, 3), (3, 77, 1))]),
    ("x.diff(dim=0)", [torch.rand(0, 3), torch.rand(1, 3), torch.rand(4, 3)]),
    ("x.diff()", [torch.rand(3, 0), torch.rand(3, 1), torch.rand(3, 4)]),
])  # fmt: skip
def test_views_that_depend_on_strides_and_sizes(text, tensors):
    op = ingot.op(text)
    for x in tensors:
        expected = outcome(op.reference, x)
        actual = outcome(op, x)
        # If eager's result is a view of an argument, Ingot returns a copy with dense strides.
        assert (actual is None) == (expected is None) and (actual is None or actual[:2] == expected[:2]), (x.shape, x.stride())
        assert actual is None or "view" in text or actual == expected, (x.shape, x.stride())


def test_indices_along_a_dim_of_one_element(device):
    row, column = torch.rand(1, 3, device=device), torch.rand(3, 1, device=device)
    for index in ([0], [0, -1], [0, 1], [-2]):
        t = torch.tensor(index, device=device)
        for text, x in (("x[t]", row), ("x[:, t]", column), ("(x + 1)[t] * 2", row), ("x[0, t]", column[:1]), ("x[t]", row[0, :1])):
            op = ingot.op(f"def f(x, t): return {text}", debug=True)
            if max(index) > 0 or min(index) < -1:
                with pytest.raises(ingot.Error, match="out of range"):
                    op(x, t)
            else:
                assert torch.equal(op(x, t), op.reference(x, t)), (text, index)


INDEXED = ["torch.cat([x, y])[t]", "torch.cat([x, y], 1)[:, t] * 2", "torch.stack([x, y], 1)[t]", "x.flatten()[t]",
           "torch.stack([x, y], -1).flatten()[t]", "torch.stack([x, y]).flatten(1)[:, t]", "torch.cat([x, y]).take(t)",
           "torch.cat([x, y]).index_select(0, t)", "torch.cat([x, y]).gather(0, t[:, None].expand(-1, 6))",
           "torch.cat([x[:1], torch.cat([x, y], 1)[:1, :6], y])[t] + 1",
           # No part varies along the indexed dim, or the last part does not:
           "x[:1].expand(4, 6)[t]", "x.repeat(2, 1)[t]", "x[0].repeat(2)[t]", "x.expand(2, 4, 6).flatten(0, 1)[t]",
           "F.pad(x, (0, 1))[:, t]", "torch.cat([x, torch.zeros_like(y)])[t]", "torch.cat([x, x[:1].expand(4, 6)])[t]",
           "torch.meshgrid(x[0], x[1], indexing='ij')[1].flatten()[t]"]  # fmt: skip


@pytest.mark.parametrize("text", INDEXED)
def test_indices_into_concatenations(text, device):
    x, y = torch.rand(4, 6, device=device), torch.rand(4, 6, device=device)
    op = ingot.op(f"def f(x, y, t): return {text}", debug=True)
    rejected_count = 0
    for index in ([0, 3, 1], [3, 2, -1], [-4, -3], [7, 5], [23, 0], [0, 4], [8], [-5], [-9], [24], [-24], [-25], [-49], [1000]):
        t = torch.tensor(index)
        expected = outcome(op.reference, x.cpu(), y.cpu(), t)
        actual = outcome(lambda *args: op(*args).cpu(), x, y, t.to(device))
        assert (actual is None) == (expected is None) and (actual is None or actual[:2] == expected[:2]), index
        rejected_count += expected is None
    assert 2 <= rejected_count < 12


@pytest.mark.parametrize("text", [
    "torch.stack([x, y], -1).flatten()[1:]", "torch.stack([x, y], -1).flatten(1)[:, 3:7]", "torch.cat([x, y], 1).view(6, 8)",
    "torch.cat([x, y[:, :5]], 1).view(11, 4)", "torch.cat([torch.stack([x, y], -1).flatten(), x.flatten()])",
    "torch.stack([x, y], -1).flatten().unfold(0, 5, 3)", "torch.cat([x > 0.5, y > 0.5], 1).view(6, 8)",
    "torch.stack([x, y], -1).flatten()[:16] + torch.stack([x.flatten()[:8], y.flatten()[8:16]], -1).flatten()",
    "torch.stack([x, y], -1).flatten()[:18] * torch.stack([x[:3], x[1:], y[:3]], -1)[:, :2].flatten().view(36)[::2]",
    "torch.stack([x, y], -1).flatten(0, 1).diagonal(0, 1, 0)", "torch.stack([x, y], -1).flatten()[torch.tensor([0, 9, 40])]", "torch.cat([x[:k], y[k:], x[:0]])[1:].flatten()[::5]",
])  # fmt: skip
def test_concatenations_that_must_be_materialized(text, device):
    op = ingot.op(f"def f(x, y, k: int): return {text}")
    unsigned = [torch.uint16] if device == "cpu" else []  # eager's cat takes few unsigned dtypes on CUDA
    for dtype in (torch.float32, torch.float16, torch.int64, torch.float64, *unsigned):
        x, y = ((torch.rand(4, 6) * 100).to(dtype).to(device) for _ in range(2))
        for k in (0, 2, 4):
            try:
                expected = op.reference(x, y, k)
            except RuntimeError:
                assert outcome(op, x, y, k) is None
            else:
                assert torch.equal(op(x, y, k).double(), expected.double()), (dtype, k)


@pytest.mark.parametrize("arguments", ["torch.float16, True, True", "torch.float32, False, True", "y, True",
                                       "x.device, torch.int64, False, True"])  # fmt: skip
def test_to_accepts_positional_flags(arguments):
    op = ingot.op(f"def f(x, y): return x.to({arguments})")
    x, y = torch.rand(3), torch.arange(3)
    assert outcome(op, x, y) == outcome(op.reference, x, y)


def test_concatenated_parts_may_have_run_time_sizes(device):
    """The sizes of z and x are run-time values."""
    op = ingot.op("""def f(x, z, t):
        v = torch.cat((z, x), 1)[:, -1:]
        return torch.cat((v, v)).flatten()[t]
    """, debug=True)
    x, z = torch.rand(2, 3, device=device), torch.ones(2, 3, dtype=torch.int64, device=device)
    for index in ([0, 3], [-4, 1]):
        t = torch.tensor(index, device=device)
        assert torch.equal(op(x, z, t), op.reference(x, z, t))
    with pytest.raises(ingot.Error, match="out of range"):
        op(x, z, torch.tensor([7], device=device))


@pytest.mark.parametrize("text, shape", [
    ("x.view(-1)", (6,)), ("x.view(-1) + 1", (6,)), ("x.view(-1).add_(1)", None), ("x.view(-1)[0] = 5", None),
    ("y.copy_(x.view(-1))", None), ("y += x.view(-1)", None)])  # fmt: skip
def test_incompatible_views_leave_the_arguments_unchanged(text, shape):
    op = ingot.op(f"def f(x, y):\n    {'return ' if shape else ''}{text}\n")
    for x, is_view in ((torch.rand(2, 3), True), (torch.rand(3, 2).t(), False)):
        before, out = x.clone(), {"out": torch.empty(shape)} if shape else {}
        if is_view:
            op(x, torch.zeros(6), **out)
            continue
        with pytest.raises(ingot.Error, match="view size is not compatible"):
            op(x, torch.zeros(6), **out)
        assert torch.equal(x, before)


@pytest.mark.parametrize("text", ["v = (x + 1).unfold(0, 2, 1)", "v = (x + 1).unfold(0, 3, 2).flatten(0, 0)", "v = x.unfold(0, 2, 1)"])
def test_overlapping_tensors_are_not_written(text):
    for change in ("v[0] = 9", "v += 1", "v.fill_(3)"):
        with pytest.raises(ingot.Error, match="single memory location|shar|memory of"):
            ingot.op(f"def f(x):\n    {text}\n    {change}\n    return v + 0\n")(torch.arange(6.0))
    for copy in ("v = (x + 1).unfold(0, 2, 2)", "v = (x + 1).expand(2, 6).contiguous()", "v = (x + 1).expand(2, 6).clone()",
                 "v = (x + 1).expand(2, 6).reshape(12)"):  # fmt: skip
        op = ingot.op(f"def f(x):\n    {copy}\n    v[0] = 9\n    return v + 0\n")
        assert torch.equal(op(torch.arange(6.0)), op.reference(torch.arange(6.0)))


@pytest.mark.parametrize("text", ["torch.cat((e, z))", "torch.hstack((e, z))", "torch.cat((z, e), -1)", "torch.cat((e, e.long()))",
                                  "torch.cat((e.double(), z.to(torch.int8)))"])  # fmt: skip
def test_empty_parts_take_part_in_promotion(text):
    op, e, z = ingot.op(f"def f(e, z): return {text}"), torch.zeros(0), torch.arange(6).reshape(2, 3)
    assert outcome(op, e, z) == outcome(op.reference, e, z)


def test_comparing_arguments_by_identity():
    x = torch.ones(3)
    with pytest.raises(ingot.Error, match="is not known when the op is compiled"):
        ingot.op("def f(x, y): return x * 2 if x is y else x + 5")(x, x)
    assert torch.equal(ingot.op("def f(x): return x * 2 if x is x and x is not None else x")(x), x * 2)
    assert torch.equal(ingot.op("def f(x):\n    xs = [x]\n    xs *= 2\n    return x * len(xs)\n")(x), x * 2)


def test_gathers_from_empty_tensors():
    x, i = torch.rand(2, 3), torch.tensor([1, 0])
    for text in ("x[:0].gather(0, x[:0].long())", "x[:, :0][:, i[:0]]", "x[:0][:, i]", "x[:0][i[:0]]", "x[:, :0].take(i[:0])"):
        op = ingot.op(f"def f(x, i): return {text}")
        assert outcome(op, x, i) == outcome(op.reference, x, i), text
    with pytest.raises(ingot.Error, match="dimension of size 0"):
        ingot.op("def f(x, i): return x[:0][i]")(x, i)


@pytest.mark.parametrize("text", ["x[:, i]", "x[i]", "x.index_select(1, i)", "F.embedding(i, x)", "x[:, i].sum()"])
def test_gathers_from_empty_dims_are_rejected_as_by_eager(text):
    """Empty results are computed if no index reads a dim of size 0."""
    op = ingot.op(f"def f(x, i): return {text}")
    for sizes in ((0, 0), (0, 2), (2, 0), (2, 2)):
        for indices in ([], [0], [0, 0]):
            x, i = torch.rand(sizes), torch.tensor(indices, dtype=torch.int64)
            try:
                expected = op.reference(x, i)
            except (IndexError, RuntimeError):
                with pytest.raises(ingot.Error, match="dimension of size 0"):
                    op(x, i)
            else:
                assert torch.equal(op(x, i), expected), (sizes, indices)



def test_dims_of_tensors_without_dims():
    for text in ("x.movedim(0, -1)", "torch.moveaxis(x, 0, 0)", "x.permute(())", "x.flip(0)", "x.gather(0, (x * 0).long())"):
        op = ingot.op(text)
        assert torch.equal(op(torch.tensor(2.0)), op.reference(torch.tensor(2.0)))


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64], ids=str)
def test_ldexp_by_integers_rounds_once(dtype, device):
    values = [1.0, -5.5, 3.0, 1.0009765625, 2.0**-24, 2.0**-149, 1.3 * 2.0**-126, 1e38, 5e-324, math.inf, -math.inf, math.nan, -0.0]
    x = torch.tensor(values, dtype=torch.float64, device=device).to(dtype)[:, None]
    exponents = [0, 3, -3, 130, -130, -24, -149, 1023, -1074, 2000, -2000, 2**31 - 1, -(2**31), 2**31 + 5, 2**40]
    op = ingot.op("ldexp(x, n)")
    for exponent_dtype in INTEGERS:
        n = torch.tensor(exponents, device=device).to(exponent_dtype)
        actual, expected = op(x, n), torch.ldexp(x, n)
        assert actual.dtype == expected.dtype == dtype
        assert equal_with_nan(actual, expected) and torch.equal(actual.signbit(), expected.signbit())


@pytest.mark.parametrize("k", [0.5, -0.5, 2.0, -1.0, 0.25, 2, 3])
def test_powers_by_numbers_known_at_the_call(k, device):
    x = torch.tensor([-math.inf, -0.0, 0.0, 4.0, -2.0, math.inf, math.nan], dtype=torch.float16, device=device)
    actual, expected = ingot.op("x ** k")(x, k), x**k
    assert equal_with_nan(actual, expected) and torch.equal(actual.signbit(), expected.signbit())


# x's dtype, a number that this dtype cannot represent, and a source with the number as k.
DO_NOT_FIT = [
    (torch.int8, 300, "x ** k"), (torch.int8, 300, "add(x, x, alpha=k)"), (torch.int8, -128, "sub(x, x, alpha=k)"),
    (torch.int8, 300, "addcmul(x, x, x, value=k)"), (torch.int8, 300, "torch.tensor(k, dtype=torch.int8) + x"),
    (torch.uint8, -1, "F.pad(x, (1, 1), value=k)"), (torch.int8, 300, "F.threshold(x, k, 1)"),
    (torch.float16, 7e4, "x ** k"), (torch.float16, 7e4, "add(x, x, alpha=k)"), (torch.float16, 7e4, "F.hardshrink(x, k)"),
    (torch.float32, 1e39, "add(x, x, alpha=k)"), (torch.float32, 1e39, "addcdiv(x, x, x, value=k)"),
    (torch.float32, 1e39, "lerp(x, x, k)"), (torch.float32, 1e39, "F.leaky_relu(x, k)"), (torch.float32, 1e39, "F.elu(x, k)"),
    (torch.float32, 1e39, "F.softplus(x, k)"), (torch.float32, 1e39, "F.threshold(x, 0.0, k)"),
    (torch.float32, 1e39, "F.softshrink(x, k)"),
]  # fmt: skip


@pytest.mark.parametrize("dtype, number, text", DO_NOT_FIT)
def test_numbers_outside_the_dtypes_range_are_errors(dtype, number, text):
    x = torch.ones(3, dtype=dtype)
    op = ingot.op(f"def f(x, k): return {text}")
    literal = ingot.op(f"def f(x):\n    k = {number}\n    return {text}")
    with pytest.raises(RuntimeError):
        op.reference(x, number)
    for call in (lambda: op(x, number), lambda: literal(x)):
        with pytest.raises(ingot.Error, match="without overflow|fits in the dtype"):
            call()


@pytest.mark.parametrize("name", ["legendre_polynomial_p", "chebyshev_polynomial_t", "hermite_polynomial_h", "laguerre_polynomial_l"])
def test_degrees_outside_int64_equal_eager(name):
    # For NaN in x, eager returns a variable that it never set.
    x, n = torch.tensor([0.5, 3.0, math.inf])[:, None], torch.tensor([math.nan, math.inf, -math.inf, 1e20, 4.7])
    op = ingot.op(f"special.{name}(x, n)")
    assert torch.allclose(op(x, n), op.reference(x, n), equal_nan=True)


LOSSES = [
    "F.mse_loss(x, y, reduction='none')", "F.smooth_l1_loss(x, y, reduction='none')", "F.huber_loss(x, y, reduction='none')",
    "F.soft_margin_loss(x, y, reduction='none')", "F.binary_cross_entropy_with_logits(x, y, reduction='none')",
    "F.binary_cross_entropy_with_logits(x, x, weight=y, pos_weight=y, reduction='none')",
    "F.hinge_embedding_loss(x, y, 0.3, reduction='none')", "F.poisson_nll_loss(x, y + 2, full=True, reduction='none')",
    "F.margin_ranking_loss(x, y, x, margin=1, reduction='none')",
]  # fmt: skip


@pytest.mark.parametrize("text", LOSSES)
def test_losses_of_two_dtypes(text):
    op, floats = ingot.op(text), [torch.float16, torch.bfloat16, torch.float32, torch.float64]
    for first in floats:
        for second in floats:
            x, y = torch.linspace(-2, 2, 40).to(first), torch.linspace(3, -1, 40).to(second)
            actual, expected = op(x, y), op.reference(x, y)
            eps = max(torch.finfo(first).eps, torch.finfo(second).eps)
            assert actual.dtype == expected.dtype
            assert torch.allclose(actual.double(), expected.double(), rtol=8 * eps, atol=8 * eps)
    for y in (torch.tensor(0.5, dtype=torch.float64), torch.ones(40).double()[:1]):
        if "mse" in text or "l1" in text or "huber" in text:  # these losses broadcast before they promote
            x = torch.linspace(-2, 2, 40)
            assert op(x, y).dtype == op.reference(x, y).dtype


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_differences_of_equal_products_of_16_bits_are_zero(dtype, device):
    a = torch.randn(4000).to(dtype).to(device)
    for text in ("sqrt(x * x - y * y)", "sqrt(x * x - clamp(y * y, max=100.0))", "sqrt(x * z + clamp(x * x, min=0.0))"):
        op = ingot.op(f"def f(x, y):\n    x = x * 1.1\n    y = y * 1.1\n    z = -x\n    return {text}")
        assert not op(a, a.clone()).isnan().any(), text


@pytest.mark.parametrize("name", ["int64", "nearbyintf", "Sum", "math", "memcpy", "inf"])
def test_names_used_by_the_generated_source_are_allowed(name, device):
    """Names of the C library and of the preludes may name an op, a parameter and a local variable."""
    op = ingot.op(f"def {name}({name}, float16):\n    Vec = {name}.exp() * float16\n    return Vec + {name}")
    x, y = torch.randn(2, 50, device=device)
    torch.testing.assert_close(op(x, y), x.exp() * y + x)


@pytest.mark.parametrize("text", ["where(x[:, 3:] > 0, x + x[:, :1], x)", "x * x[:, 1:2] - x[:, 2:3]", "x[:, ::2] * x[:, 3:]"])
def test_columns_of_short_rows_equal_eager(text, device):
    x = torch.randn(1000, 4, device=device)
    op = ingot.op(text)
    torch.testing.assert_close(op(x), op.reference(x), rtol=0, atol=0)


MIXED = ["F.cosine_similarity(x, s)", "F.cosine_similarity(s, x)", "F.cosine_similarity(x.long(), s)", "F.cosine_similarity(x, x.double())",
         "F.gaussian_nll_loss(x.long(), x + 1, 0.5)", "F.gaussian_nll_loss(x.long(), x + 1, 0.0, full=True)",
         "F.hinge_embedding_loss(x.long(), x.sign(), 2.5, reduction='none')"]  # fmt: skip


@pytest.mark.parametrize("text", MIXED)
def test_losses_of_mixed_dtypes(text, device):
    x = torch.tensor([[1.0, 2.0, 3.0], [3.0, -4.0, 5.0]], device=device)
    s = torch.tensor(2.0, dtype=torch.float64, device=device)
    expected = eval(text, {"F": torch.nn.functional, "x": x, "s": s})
    torch.testing.assert_close(ingot.op(f"def f(x, s): return {text}")(x, s), expected)


SCALARS = [
    "torch.full((3,), s) * x[:, :3]", "full_like(x, s) * x", "x.new_full((2, 3), s) * x[:, :3]", "F.elu(x, s)", "F.celu(x, s)",
    "F.threshold(x, s, s)", "F.hardtanh(x, -s, s)", "F.softshrink(x, s)", "F.hardshrink(x, s)", "F.leaky_relu(x, s)",
    "F.softplus(x, s)", "torch.add(x, x.flip(0), alpha=s)", "x.sub(x.flip(0), alpha=s)", "torch.addcmul(x, x, x, value=s)",
    "torch.addcdiv(x, x, x * x + 1, value=s)", "torch.lerp(x, x * 2, s)", "F.pad(x, (1, 2), value=s)",
]  # fmt: skip


@pytest.mark.parametrize("text", SCALARS)
def test_tensors_without_dims_replace_numbers(text):
    op, x = ingot.op(f"def f(x, s):\n    return {text}\n"), torch.linspace(-2, 2, 6).view(2, 3)
    for dtype in (torch.float32, torch.float64, torch.bfloat16):
        for s in (torch.tensor(0.7), torch.tensor(0.7, dtype=torch.float64), torch.tensor(2)):
            actual_leaf, expected_leaf = (x.to(dtype).requires_grad_() for _ in range(2))
            actual, expected = op(actual_leaf, s), op.reference(expected_leaf, s)
            torch.testing.assert_close(actual, expected)
            actual.sum().backward(), expected.sum().backward()
            torch.testing.assert_close(actual_leaf.grad, expected_leaf.grad)


@pytest.mark.parametrize("text", SCALARS)
def test_tensors_without_dims_in_eager_numerics(text):
    op, x = ingot.op(f"def f(x, s):\n    return {text}\n", numerics="eager"), torch.linspace(-2, 2, 128).view(2, 64)
    for dtype in (torch.bfloat16, torch.float16):
        for s in (torch.tensor(0.7), torch.tensor(0.1999, dtype=torch.float64), torch.tensor(2), torch.tensor(0.3, dtype=dtype)):
            assert torch.equal(op(x.to(dtype), s), op.reference(x.to(dtype), s)), s


def test_where_as_a_method():
    x, y, mask = torch.randn(3, 4), torch.randn(4), torch.randn(3, 1) > 0
    for text in ("x.where(m, y)", "x.where(m, 0.0)", "x.where(condition=m, other=y)"):
        op = ingot.op(f"def f(x, m, y): return {text}")
        assert torch.equal(op(x, mask, y), op.reference(x, mask, y)), text
