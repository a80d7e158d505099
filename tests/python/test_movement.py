"""The functions that move elements, compared with PyTorch's: bits, dtypes, shapes and strides for all layouts, and
errors."""

import math
import re

import pytest
import torch
import torch.nn.functional as F
from movement_table import FLOATING, MOVED, NUMBERED, REJECTED

import ingot

DTYPES = [torch.float32, torch.float64, torch.float16, torch.bfloat16, torch.int64, torch.int32, torch.int16, torch.int8,
          torch.uint8, torch.bool]  # fmt: skip
SHAPES = {"matrices": ((4, 6), (5,), (2, 3, 4), (2, 8, 4, 4)), "ones": ((1, 6), (1,), (2, 1, 4), (1, 8, 4, 2)),
          "empty": ((0, 6), (0,), (2, 0, 4), (0, 8, 4, 4))}  # fmt: skip
CASES = [("matrices", d) for d in DTYPES] + [("permuted", torch.float32), ("permuted", torch.int64), ("ones", torch.float32),
                                             ("empty", torch.float32)]  # fmt: skip
CALLS_AT_ONCE = 100
# Without elements, eager's CPU kernel returns its argument.
NOT_COMPARED_IF_EMPTY = {"F.pixel_unshuffle(image, 2)"}
EAGER_ERRORS = (RuntimeError, TypeError, IndexError, ValueError, NotImplementedError, AssertionError, AttributeError)


def numbers(generator, shape, dtype):
    if dtype == torch.bool:
        return torch.randint(0, 2, shape, generator=generator).bool()
    values = torch.randn(shape, generator=generator) * 20
    if dtype.is_floating_point and values.numel() > 3:
        values.view(-1)[:3] = torch.tensor([math.nan, -0.0, math.inf])
    return values.abs().to(dtype) if dtype == torch.uint8 else values.to(dtype)


def permuted(tensor):
    """The same values in another memory order: channels-last of rank 4, every second element of a vector."""
    if tensor.ndim == 4:
        return tensor.contiguous(memory_format=torch.channels_last)
    if tensor.ndim == 1:
        return torch.stack([tensor, tensor], 1).flatten()[::2]
    order = tuple(reversed(range(tensor.ndim)))
    return tensor.permute(order).contiguous().permute(order)


def inputs(case, dtype, device):
    generator = torch.Generator().manual_seed(11)
    shapes = SHAPES[case if case in SHAPES else "matrices"]
    values = [numbers(generator, shape, dtype) for shape in (*shapes, ())]
    values.append(torch.randint(0, 9, shapes[0], generator=generator))
    if case == "permuted":
        values = [permuted(t) if t.ndim else t for t in values]
    return dict(zip("x v cube image s i".split(), (t.to(device) for t in values)))


def eager(text, names):
    """PyTorch's own result, or its error."""
    try:
        return eval(text, {"torch": torch, "F": F, **names})
    except EAGER_ERRORS as error:
        return error


def is_a_missing_kernel(outcome):
    return isinstance(outcome, Exception) and "not implemented for" in str(outcome)


def bits(tensor):
    return tensor.contiguous().view(-1).view(torch.uint8 if tensor.dtype == torch.bool else tensor.dtype)


def mismatch(result, expected):
    """The first difference, or an empty string. If eager returns a view, the expected strides are those of a copy of
    it."""
    if isinstance(expected, Exception) or isinstance(result, Exception):
        if isinstance(expected, Exception) and isinstance(result, Exception):
            return "" if result.fault == "author" else f"not the author's fault: {result}"
        return f"eager: {expected if isinstance(expected, Exception) else 'takes it'}; ingot: {result}"
    strides = torch.empty_like(expected).stride() if expected._is_view() else expected.stride()
    layout = (result.dtype, result.shape, result.stride())
    if layout != (expected.dtype, expected.shape, strides):
        return f"{layout}, eager {(expected.dtype, expected.shape, strides)}"
    bits_are_equal = torch.equal(bits(result).nan_to_num(0.5), bits(expected).nan_to_num(0.5))
    if not bits_are_equal or not torch.equal(torch.isnan(result), torch.isnan(expected)):
        return f"other values: {result.tolist()}, eager {expected.tolist()}"
    return ""


def run(op, tensors):
    try:
        return op(*tensors)
    except ingot.Error as error:
        return error


def compare(calls):
    """Compares Ingot's results of the calls, given as (source, names), with eager's."""
    cases = []
    for text, names in calls:
        used = [name for name in names if re.search(rf"\b{name}\b", text)]
        expected = eager(text, names)
        if not is_a_missing_kernel(expected):
            annotated = [f"{name}: int" if isinstance(names[name], int) else name for name in used]
            op = ingot.op(f"def f({', '.join(annotated)}): return {text}")
            cases.append((text, op, [names[name] for name in used], expected))
    for start in range(0, len(cases), CALLS_AT_ONCE):
        try:
            ingot.prepare_all((op, args) for _, op, args, e in cases[start : start + CALLS_AT_ONCE] if not isinstance(e, Exception))
        except ingot.Error:
            pass  # the call itself reports the error
    lines = [f"{text}: {message}" for text, op, args, expected in cases if (message := mismatch(run(op, args), expected))]
    assert not lines, f"{len(lines)} of {len(cases)}:\n" + "\n".join(lines)


@pytest.mark.parametrize("case, dtype", CASES, ids=lambda v: str(v).removeprefix("torch."))
def test_functions_that_move_elements_equal_eager(device, case, dtype):
    names = inputs(case, dtype, device)
    texts = [*MOVED.values(), *(FLOATING.values() if dtype.is_floating_point else ())]
    with torch.device(device):  # eager makes tensors from numbers there
        compare([(text, names) for group in texts for text in group if case != "empty" or text not in NOT_COMPARED_IF_EMPTY])


def test_run_time_positions_and_counts_equal_eager(device):
    """A position or a count is an argument of the call."""
    names = inputs("matrices", torch.float32, device)
    compare([(text, {**names, "k": k}) for text, values in NUMBERED.items() for k in values])


@pytest.mark.parametrize("text", REJECTED)
def test_rejects_what_eager_rejects(text):
    names = inputs("matrices", torch.float32, "cpu")
    used = [name for name in names if re.search(rf"\b{name}\b", text)]
    with pytest.raises(EAGER_ERRORS):
        eval(text, {"torch": torch, "F": F, **names})
    with pytest.raises(ingot.Error) as raised:
        ingot.op(f"def f({', '.join(used)}): return {text}")(*(names[name] for name in used))
    assert raised.value.fault == "author"
    assert text in str(raised.value), "the place is the author's line"


@pytest.mark.parametrize("text, part", {
    "x.repeat_interleave(i[0], 1)": "depend on the values",
    "F.one_hot(i)": "pass a positive num_classes",
    "F.embedding(i % 2, x, max_norm=1.0)": "renormalise it before the op",
    "F.interpolate(image, scale_factor=2, mode='bilinear')": "call torch's function before the op",
    "x.tensor_split(i[0], 1)[0]": "pass numbers",
}.items())  # fmt: skip
def test_unsupported_calls_say_why(text, part):
    names = inputs("matrices", torch.float32, "cpu")
    used = [name for name in names if re.search(rf"\b{name}\b", text)]
    with pytest.raises(ingot.Error, match=part):
        ingot.op(f"def f({', '.join(used)}): return {text}")(*(names[name] for name in used))


@pytest.mark.parametrize("mode", ["nearest", "nearest-exact"])
def test_sizes_from_scales_equal_eager(device, mode):
    """Eager takes the reciprocal of a scale in double."""
    scales = (0.3, 0.55, 0.7, 1.1, 1.3, 1.7, 1.9, 2.3, 2.7, 3.3, 4.1)
    line = ingot.op(f"def f(x): return [F.interpolate(x, scale_factor=s, mode='{mode}') for s in {scales}]")
    number = ingot.op(f"def f(x, s: float): return F.interpolate(x, scale_factor=s, mode='{mode}')")
    for dtype in (torch.float32, torch.float64):
        for size in range(4, 35):
            x = torch.arange(size, dtype=dtype, device=device)[None, None]
            wrong = [s for s, actual, expected in zip(scales, line(x), line.reference(x), strict=True) if not torch.equal(actual, expected)]
            assert not wrong, (size, wrong)
    x = torch.arange(15.0, device=device)[None, None]
    for s in (1.7, 2.3):
        assert torch.equal(number(x, s), number.reference(x, s))
    for rank in (4, 5):
        x = torch.arange(15.0, device=device).view(1, 1, 15, *[1] * (rank - 3)).expand(1, 1, 15, *[3] * (rank - 3)).contiguous()
        scale = (1.7, 2.3, 1.0)[: rank - 2]
        op = ingot.op(f"def f(x): return F.interpolate(x, scale_factor={scale}, mode='{mode}')")
        assert torch.equal(op(x), op.reference(x))


PADS = [([2, 4, 5], (-1, 2)), ([2, 4, 5], (1, -1, 2, -2)), ([2, 1], (3, -2)), ([1, 4, 1], (2, -2, 3, 1)), ([2, 1, 1], (-1, 2, -2, 2)),
        ([2, 2], (-2, 0)), ([1, 2], (-1, -1)), ([1, 2], (-2, 1)), ([2, 3], (3, -2)), ([2, 3, 3], (-1, 1, 2, -1)), ([2, 2, 2], (-2, 0, 1, 1)),
        ([2, 2, 3, 4], (-2, 2, 1, 0, 2, -1)), ([2, 3, 3, 4], (1, 0, -1, 2, 1, -2)), ([1, 2, 2], (-2, 0, -2, 0))]  # fmt: skip


@pytest.mark.parametrize("mode", ["constant", "reflect", "replicate", "circular"])
def test_negative_padding_equals_eager_or_is_an_error(mode):
    """Negative padding on either side, or mixed with positive padding. If circular padding needs more elements than the other
    side leaves, eager returns uninitialised memory, and Ingot rejects the call."""
    for shape, pad in PADS:
        x = torch.randn(shape)
        sizes = [n - max(-a, 0) - max(-b, 0) for n, a, b in zip(shape[::-1], pad[::2], pad[1::2])]
        is_undefined = mode == "circular" and any(max(a, b) > n for n, a, b in zip(sizes, pad[::2], pad[1::2]))
        op = ingot.op(f"def f(x): return F.pad(x, {pad}, mode='{mode}')")
        try:
            expected = None if is_undefined else op.reference(x)
        except RuntimeError:
            expected = None
        if expected is None:
            with pytest.raises(ingot.Error) as raised:
                op(x)
            assert mode != "circular" or "adding" in raised.value.message, (shape, pad)
        else:
            assert torch.equal(op(x), expected), (shape, pad)
            number = ingot.op(f"def f(x, k: int): return F.pad(x, (k, {str(pad[1:])[1:].rstrip(',)')}), mode='{mode}')")
            assert torch.equal(number(x, pad[0]), expected), (shape, pad)


@pytest.mark.parametrize("dim", range(5))
def test_stack_has_eagers_strides(dim):
    op = ingot.op(f"torch.stack([x, y], {dim})")
    x = torch.randn(2, 3, 4, 5)
    for a in (x, x.contiguous(memory_format=torch.channels_last), x.permute(3, 1, 0, 2), x[..., ::2, :]):
        for b in (a, a.contiguous()):
            actual, expected = op(a, b), op.reference(a, b)
            assert actual.stride() == expected.stride() and torch.equal(actual, expected)
