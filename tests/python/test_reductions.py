"""Reductions and ops made of them, compared with eager. A sum does not have eager's bits, because it is added in
another order: its error against float64 may be about eager's. Results that do not depend on the order are exact.

Every source is tried in float32, and some sources in each of the other dtypes, layouts and sizes. INGOT_TEST_EXTENT=full
tries all of them.
"""

import itertools
import math
import re

import pytest
import torch
from reductions_table import (
    COMPOSED,
    EXACT,
    FLOATING,
    KNOWN,
    KNOWN_IN_NUMERICS_OF_EAGER,
    NAMES,
    SIZED,
    SIZED_EXACT,
    SIZED_NONEMPTY,
    inputs_of,
    texts_of,
)
from float64_accuracy import mismatch
from full_run import subset

import ingot

FLOATS = [torch.float32, torch.float64, torch.float16, torch.bfloat16]
SIZES = [0, 1, 2, 3, 15, 16, 17, 63, 64, 65, 255, 1023, 4095, 4096, 4097, 10000]
# Eager lacks a kernel for these dtypes, and Ingot has one.
NO_KERNEL = re.compile(r"not implemented for '(Half|BFloat16)'|mixed dtype")


def short_name(dtype) -> str:
    return str(dtype).removeprefix("torch.")


def used(text: str, tensors: dict) -> dict:
    return {name: tensor for name, tensor in tensors.items() if re.search(rf"\b{name}\b(?!=)", text)}


def eager_of(text: str, names):
    return lambda *tensors: eval(text, {**NAMES, **dict(zip(names, tensors))})


def op_of(text: str, tensors: dict, **options) -> ingot.Op:
    return ingot.op(f"def f({', '.join(tensors)}):\n    return {text}\n", **options)


def mismatches(texts, tensors: dict, ulps: float = 8, strides: bool = True, **options) -> list[str]:
    """The differences from eager in the sources that eager accepts."""
    calls = []
    for text in texts:
        inputs = used(text, tensors)
        try:
            eager_of(text, inputs)(*inputs.values())
        except (RuntimeError, NotImplementedError) as error:
            assert NO_KERNEL.search(str(error)), f"{text}: {error}"
            continue
        calls.append((text, inputs, op_of(text, inputs, **options)))
    try:
        ingot.prepare_all((op, tuple(inputs.values())) for _, inputs, op in calls)
    except ingot.Error:
        pass  # the call itself reports the error
    lines = []
    for text, inputs, op in calls:
        try:
            message = mismatch(eager_of(text, inputs), inputs.values(), op(*inputs.values()), ulps, strides)
        except ingot.Error as error:
            message = str(error)[:400]
        if message:
            lines.append(f"{text}: {message}")
    return lines


def subset_of_dtype(texts: list[str], dtype: torch.dtype) -> list[str]:
    return texts if dtype == torch.float32 else subset(texts, FLOATS.index(dtype), step=6)


def check(lines: list[str], known=()):
    unknown = [line for line in lines if not any(line.startswith(f"{text}:") for text in known)]
    assert not unknown, f"{len(unknown)}:\n" + "\n".join(unknown)
    fixed = [text for text in known if not any(line.startswith(f"{text}:") for line in lines)]
    assert not fixed, f"no longer fails: remove it from reductions_table.py: {fixed}"


@pytest.mark.parametrize("dtype", FLOATS, ids=short_name)
def test_reductions_of_floats_equal_eager(device, dtype):
    texts = subset_of_dtype(texts_of(FLOATING), dtype)
    check(mismatches(texts, inputs_of(dtype, device)), [text for text in KNOWN if text in texts and device == "cpu"])


@pytest.mark.parametrize("dtype", FLOATS, ids=short_name)
def test_order_independent_reductions_have_eagers_bits(device, dtype):
    check(mismatches(subset_of_dtype(texts_of(EXACT), dtype), inputs_of(dtype, device), ulps=0))


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16], ids=short_name)
def test_numerics_of_eager(device, dtype):
    """Without the losses, whose sources have the placeholder REDUCED."""
    texts = subset([text for texts in FLOATING.values() for text in texts if "REDUCED" not in text], FLOATS.index(dtype), step=6)
    known = [text for text in KNOWN_IN_NUMERICS_OF_EAGER if text in texts and device == "cpu"]
    check(mismatches(texts, inputs_of(dtype, device), numerics="eager"), known)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16], ids=short_name)
def test_composed_reductions_equal_eager(device, dtype):
    check(mismatches(subset_of_dtype(COMPOSED, dtype), inputs_of(dtype, device), strides=False))  # Ingot may return a copy of eager's view


def test_integers(device):
    tensors = inputs_of(torch.float32, device)
    texts = [f"{x}.{text}" for x in "kbuj" for text in ("logsumexp(1)", "nansum((0, 1))", "sum(1, dtype=torch.float32)", "mean(1, dtype=torch.float64)",
             "softmax(1, dtype=torch.float32)", "prod(2, dtype=torch.float64)", "sum(dtype=torch.float16)")]  # fmt: skip
    check(mismatches(texts, tensors))


def test_float8(device):
    """The sum is computed in another dtype."""
    x = torch.tensor([[1.5, -2.0, 0.25], [0.5, 3.0, -1.0]], device=device).to(torch.float8_e4m3fn)
    texts = ["x.sum(dtype=torch.float32)", "x.sum(1, dtype=torch.int32)", "x.prod(0, dtype=torch.bfloat16)", "x.nansum(dtype=torch.float16)",
             "x.mean(1, dtype=torch.float32)", "x.nanmean(dtype=torch.float32)", "x.sum(dtype=torch.bool)", "x.int().nansum(dtype=torch.bool)"]  # fmt: skip
    check(mismatches(texts, {"x": x}))


@pytest.mark.parametrize("size", SIZES)
def test_sizes(device, size):
    x = torch.randn(3, size, generator=torch.Generator().manual_seed(size)).to(device)
    texts = SIZED + SIZED_EXACT + (SIZED_NONEMPTY if size else [])
    if size == 0:
        texts = [text for text in texts if "layer_norm" not in text]
    lines = mismatches(subset(texts, SIZES.index(size), step=2), {"x": x}, ulps=16)
    if size in (0, 1, 65, 4097):
        lines += mismatches(SIZED_EXACT + (SIZED_NONEMPTY if size else []) + ["x.sum(1)", "x.softmax(1)"], {"x": x.half()}, ulps=16)
    check(lines)


@pytest.mark.parametrize("shape", [(0,), (0, 3), (3, 0), (2, 0, 3), (1, 1, 1), (4, 1), (1, 4)], ids=str)
def test_few_elements(device, shape):
    x = torch.randn(shape, device=device)
    texts = ["x.sum()", "x.sum(0)", "x.mean(0)", "x.prod(-1)", "x.any(0)", "x.all()", "x.var(0)", "x.std()", "x.logsumexp(0)", "x.softmax(-1)",
             "x.count_nonzero()", "x.norm()", "torch.var_mean(x, -1)", "x.sum(0, keepdim=True)", "x.log_softmax(0)", "x.nanmean()", "x.long().sum(0)",
             "F.mse_loss(x, x)"]  # fmt: skip
    check(mismatches(texts, {"x": x}))


def test_tensors_without_dims_equal_eager(device):
    texts = ["x.sum()", "x.sum(0)", "x.sum(-1, True)", "x.max(0)", "x.argmax()", "x.argmin(-1)", "x.amax(())", "x.softmax(0)", "x.var(0)",
             "x.any()", "x.all(0)", "x.norm(1)", "x.logsumexp(0)", "torch.var_mean(x, 0, correction=0)", "x.mean(0)", "x.prod(0)"]  # fmt: skip
    check(mismatches(texts, {"x": torch.tensor(2.5, device=device)}))


LAYOUTS = {
    "transposed": lambda x: x.permute(2, 0, 1).contiguous().permute(1, 2, 0),
    "reversed": lambda x: x.permute(2, 1, 0).contiguous().permute(2, 1, 0),
    "steps": lambda x: x.repeat_interleave(2, -1)[..., ::2],
    "rows": lambda x: x.repeat_interleave(3, 1)[:, 1::3],
    "offset": lambda x: torch.cat([x.flatten()[:1], x.flatten()])[1:].view(x.shape),
    "expanded": lambda x: x[:, :1].expand(x.shape),
    "expanded at the end": lambda x: x[..., :1].expand(x.shape),
}


@pytest.mark.parametrize("layout", LAYOUTS)
def test_layouts(device, layout):
    cube = inputs_of(torch.float32, device)
    x = torch.randn(5, 6, 67, generator=torch.Generator().manual_seed(3)).to(device)
    tensors = {"x": LAYOUTS[layout](x), "b": LAYOUTS[layout](x > 0), "v": cube["v"], "a": cube["a"]}
    texts = ["x.sum()", "x.sum(0)", "x.sum(1)", "x.sum(2)", "x.sum((0, 2))", "x.sum((1, 2))", "x.mean((0, 1))", "x.amax(1)", "x.max(0)", "x.max(2)",
             "x.argmax()", "x.argmin(1)", "b.any(2)", "b.all(0)", "x.var(1)", "x.var((0, 2))", "torch.std_mean(x, 2)", "x.softmax(0)", "x.softmax(1)",
             "x.softmax(-1)", "x.log_softmax(1)", "F.layer_norm(x, x.shape[2:])", "F.layer_norm(x, x.shape[1:])", "F.rms_norm(x, x.shape[2:])",
             "F.normalize(x)", "F.group_norm(x, 3)", "F.instance_norm(x)", "F.batch_norm(x, None, None, v[:6], training=True)", "x.logsumexp((0, 1))",
             "F.cosine_similarity(x, x[0])", "x.prod(1)", "b.sum((0, 1))"]  # fmt: skip
    if "expanded" in layout:  # the variance of equal values is only the rounding error of their mean
        texts = [text for text in texts if not re.search("var|std|_norm", text)]
    check(mismatches(subset(texts, list(LAYOUTS).index(layout), step=2), tensors, ulps=16))


def test_channels_last(device):
    x = torch.randn(3, 6, 5, 4, device=device)
    v, a = torch.randn(6, device=device), torch.rand(6, device=device) + 0.1
    texts = ["x.sum(1)", "x.sum((2, 3))", "x.softmax(1)", "x.log_softmax(-1)", "F.group_norm(x, 2)", "F.group_norm(x, 3, v, a)", "F.batch_norm(x, v, a)",
             "F.batch_norm(x, None, None, v, a, True)", "F.instance_norm(x)", "F.layer_norm(x, (4,))", "F.rms_norm(x, (4,))", "x.amax((0, 2, 3))", "F.normalize(x)"]  # fmt: skip
    check(mismatches(texts, {"x": x.contiguous(memory_format=torch.channels_last), "v": v, "a": a}))


INJECTED = {
    "nan": [math.nan], "inf": [math.inf], "-inf": [-math.inf], "both": [math.inf, -math.inf], "all": [math.nan, math.inf, -math.inf],
    "rows": None,
}  # fmt: skip


@pytest.mark.parametrize("injected", INJECTED)
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16], ids=short_name)
def test_nan_and_infinities(device, dtype, injected):
    x = torch.randn(9, 70, generator=torch.Generator().manual_seed(5))
    if INJECTED[injected] is None:  # whole rows of one value
        for row, value in enumerate([math.nan, math.inf, -math.inf, 0.0, -0.0]):
            x[row] = value
    else:
        for k, value in enumerate(INJECTED[injected]):
            x[k::3, 7 * k + 3] = value
    texts = ["x.sum(1)", "x.mean()", "x.prod(1)", "x.amax(1)", "x.amin(0)", "x.max(1)", "x.min(1)", "x.max()", "x.argmax(1)", "x.argmin()", "x.any(1)",
             "x.all(0)", "x.nansum(1)", "x.nanmean(1)", "x.var(1)", "x.std(0)", "x.logsumexp(1)", "x.logsumexp(0)", "x.softmax(1)", "x.log_softmax(1)",
             "x.softmax(0)", "x.norm(dim=1)", "x.norm(math.inf, 1)", "x.norm(-math.inf, 0)", "x.norm(0, 1)", "x.count_nonzero(1)", "x.aminmax(dim=1)",
             "F.layer_norm(x, (70,))", "F.normalize(x)", "F.rms_norm(x, (70,))"]  # fmt: skip
    check(mismatches(texts, {"x": x.to(dtype).to(device)}, ulps=16))


@pytest.mark.parametrize("columns", [1, 4, 300, 9001])
def test_exponentials_of_rows_of_one_large_value(device, columns):
    """A mask that excludes a whole row makes such rows."""
    values = [torch.finfo(torch.bfloat16).min, torch.finfo(torch.bfloat16).max, -1e30, 1e10, -1e9, 3e4, 2.0**20, -(2.0**20)]
    x = torch.tensor(values).to(torch.bfloat16)[:, None].expand(-1, columns).contiguous().to(device)
    x[:, columns // 2] += x[:, columns // 2] / 64
    texts = ["x.softmax(1)", "x.log_softmax(1)", "x.logsumexp(1)", "x.logsumexp((1,))", "x.t().softmax(0)", "x[0].log_softmax(0)"]
    check(mismatches(texts, {"x": x}, ulps=2))


FIRST_OF_ROWS = {"far below": -200.0, "a little below": -40.0, "above": 60.0, "-inf": -math.inf, "inf": math.inf, "nan": math.nan}


@pytest.mark.parametrize("dtype, columns", subset(
    [(dtype, columns) for dtype in (torch.float16, torch.bfloat16) for columns in (1, 5, 70, 1000, 9001, 20001, 40000)], 0, step=2
), ids=str)
def test_exponentials_of_rows_with_any_first_element(device, dtype, columns):
    """On CUDA the exponentials are summed relative to the row's first element, unless the largest is much larger."""
    x = torch.randn(2 * len(FIRST_OF_ROWS) + 5, columns, generator=torch.Generator().manual_seed(6)) * 3
    for row, value in enumerate(FIRST_OF_ROWS.values()):
        x[2 * row, 0] = value
    x[-1], x[-2, 1:], x[-3, 1:], x[-4], x[-5] = -math.inf, -math.inf, math.inf, x[-4] * 100 + 3e4, x[-5] * 100 - 3e4
    x = x.to(dtype).to(device)
    texts = ["x.softmax(1)", "x.log_softmax(1)", "x.logsumexp(1)", "x.t().logsumexp(0)", "x.t().log_softmax(0)", "x.exp().log().logsumexp(1)", "x[0].logsumexp(0)",
             "x[1].softmax(0)", "x[2:3].log_softmax(1)", "F.cross_entropy(x, t, reduction='none')", "F.cross_entropy(x[1::2], t[1::2])"]  # fmt: skip
    classes = torch.arange(len(x), device=device) % columns
    check(mismatches(texts, {"x": x, "t": classes}, ulps=2))


def test_variances_of_values_far_from_zero_equal_eager(device):
    x = torch.randn(5, 70, device=device)
    check(mismatches(["(x + 1000).var(1)", "(x + 1000).std()", "F.layer_norm(x + 100, (70,))", "F.rms_norm(x / 1000, (70,))"], {"x": x}))


def test_variances_that_are_small_beside_the_mean(device):
    """A mean is rounded relative to its own size. That rounding error must not count as a deviation from the mean."""
    for mean, spread, n in ((1e4, 0.01, 768), (1e3, 1e-3, 768), (1e6, 1.0, 768), (1e4, 0.01, 5000)):
        x = mean + spread * torch.randn(4, n, device=device)
        for rows in (x, x.t()):
            dim = 1 if rows is x else 0
            exact = rows.double().std(dim)
            assert torch.allclose(ingot.op(f"x.std({dim})")(rows).double(), exact, rtol=1e-5, atol=0), (mean, n, dim)
    for value in (33333.3, 1e7 / 3, 0.1):
        x = torch.full((2, 1000), value, device=device)
        for text in ("F.layer_norm(x, (1000,))", "F.group_norm(x, 1)", "x.std(1)", "x.std()", "x.var(0)"):
            assert ingot.op(text)(x).abs().max() <= 1e-9 * value, (text, value)


def test_variances_of_rows_with_an_outlier(device):
    """Variances are summed relative to the median of three elements of the row, so one outlier does no harm."""
    for position in (0, 128, 384, 640, 767):
        x = torch.randn(4, 768, device=device)
        x[:, position] = 3e4
        for text in ("x.var(1)", "x.t().std(0)", "torch.var_mean(x, 1)[1]", "F.layer_norm(x, (768,))"):
            exact = ingot.op(text).reference(x.double())
            torch.testing.assert_close(ingot.op(text)(x).double(), exact, rtol=2e-6, atol=1e-6, msg=f"{text}, {position}")


def test_a_mean_is_rounded_once(device):
    for x in (torch.tensor([70000.0, 0]), torch.tensor([70000, 0]), torch.tensor([70000.0, 0]).double()):
        check(mismatches(["x.mean(dtype=torch.float16)", "x.mean(0, dtype=torch.bfloat16)"], {"x": x.to(device)}))


def test_ties_go_to_the_first(device):
    for n in (2, 64, 65, 4097, 10000):
        x = torch.zeros(3, n, device=device)
        x[1, n // 2 :] = 1
        x[2, n - 1] = math.nan
        check(mismatches(["x.argmax(1)", "x.argmin(1)", "x.max(1)", "x.min(1)", "x.argmax()", "x.t().argmax(0)", "x.argmax(0)"], {"x": x}))


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16], ids=short_name)
def test_running_statistics(device, dtype):
    tensors = inputs_of(dtype, device)
    for text, eager in (("F.batch_norm(x, mean, var, weight, bias, True, 0.3)", torch.nn.functional.batch_norm),
                        ("F.instance_norm(x, mean, var, weight, bias, True, 0.3)", torch.nn.functional.instance_norm)):  # fmt: skip
        op = ingot.op(f"def f(x, mean, var, weight, bias):\n    return {text}\n")
        actual_statistics, expected_statistics = ([tensors["a"][:6].float(), tensors["a"][1:7].float()] for _ in range(2))
        actual_statistics, expected_statistics = [t.clone() for t in actual_statistics], [t.clone() for t in expected_statistics]
        weight, bias = tensors["v"][:6].float(), tensors["v"][2:8].float()
        versions = [t._version for t in actual_statistics]
        result = op(tensors["x"], *actual_statistics, weight, bias)
        expected = eager(tensors["x"], *expected_statistics, weight, bias, True, 0.3)
        eps = torch.finfo(dtype).eps
        assert torch.allclose(result.double(), expected.double(), rtol=8 * eps, atol=16 * eps) and result.dtype == dtype
        for actual, expected_statistic, version in zip(actual_statistics, expected_statistics, versions):
            assert torch.allclose(actual, expected_statistic, rtol=1e-5, atol=1e-6), text
            assert actual._version == version + 1


def test_empty_inputs_keep_the_running_statistics(device):
    x = {shape: torch.zeros(shape, device=device) for shape in ((0, 3, 4), (2, 3, 0), (0, 3))}
    mean, var = torch.tensor([1.0, 2, 3], device=device), torch.tensor([4.0, 5, 6], device=device)
    of_batch = ingot.op("def f(x, mean, var):\n    return F.batch_norm(x, mean, var, training=True)\n")
    for empty in x.values():
        assert of_batch(empty, mean, var).shape == empty.shape
    ingot.op("def f(x, mean, var):\n    return F.instance_norm(x, mean, var)\n")(x[2, 3, 0], mean, var)
    assert mean.tolist() == [1, 2, 3] and var.tolist() == [4, 5, 6]


def test_one_op_computes_a_training_step(device):
    """A norm in training, a loss and the running statistics in one call."""
    text = """
def f(x, mean, var, weight, bias, target):
    y = F.relu(F.batch_norm(x, mean, var, weight, bias, training=True))
    return F.cross_entropy(y, target), y.argmax(1)
"""
    op = ingot.op(text)
    x, target = torch.randn(64, 10, device=device), torch.randint(0, 10, (64,), device=device)
    mean, var = torch.zeros(10, device=device), torch.ones(10, device=device)
    loss, best = op(x, mean, var, torch.ones(10, device=device), torch.zeros(10, device=device), target)
    m, v = torch.zeros(10, device=device), torch.ones(10, device=device)
    y = torch.relu(torch.nn.functional.batch_norm(x, m, v, training=True))
    assert torch.allclose(loss, torch.nn.functional.cross_entropy(y, target)) and torch.equal(best, y.argmax(1))
    assert torch.allclose(m, mean) and torch.allclose(v, var)


def test_one_row_may_share_an_op_with_a_pointwise_kernel(device):
    single, row, t = torch.randn(1, 1, device=device), torch.randn(1, 70, device=device), torch.zeros(8, dtype=torch.long, device=device)
    for text in ("x[0].log_softmax(0)[t]", "x.softmax(1) * 2, t + 1", "x.log_softmax(1).gather(1, t[:1, None])"):
        op = ingot.op(f"def f(x, t): return {text}")
        torch.testing.assert_close(op(row, t), op.reference(row, t))
    for text in ("F.cross_entropy(x, t[:1], reduction='none')", "x.log_softmax(1).gather(1, t[:1, None])"):
        op = ingot.op(f"def f(x, t): return {text}")
        torch.testing.assert_close(op(single, t), op.reference(single, t))


RARE_DTYPES = [torch.uint16, torch.uint64, torch.float8_e4m3fn, torch.bool, torch.int32]


@pytest.mark.parametrize("dtype", RARE_DTYPES, ids=short_name)
def test_rejects_dtypes_that_pytorch_rejects(dtype):
    x = torch.tensor([[1, 0, 1], [0, 1, 1], [1, 1, 0]]).to(dtype)
    texts = """x.sum() x.mean() x.prod() x.nansum() x.nanmean() x.amax(1) x.aminmax() x.max() x.max(1) x.argmax() x.any() x.all(1) x.count_nonzero()
        x.var() x.logsumexp(1) x.softmax(1) F.layer_norm(x,(3,)) F.group_norm(x,1) F.rms_norm(x,(3,)) x.norm() F.normalize(x) F.mse_loss(x,x)
        F.l1_loss(x,x) F.smooth_l1_loss(x,x) F.huber_loss(x,x) F.kl_div(x,x) F.poisson_nll_loss(x,x) F.soft_margin_loss(x,x)
        F.hinge_embedding_loss(x,x) F.cosine_embedding_loss(x,x,x[0]) F.triplet_margin_loss(x,x,x) F.cosine_similarity(x,x) torch.cdist(x,x) x@x
        x.trace() x[0].dot(x[0]) F.binary_cross_entropy_with_logits(x,x) torch.dist(x,x) x.norm(1) x.norm(0,1) x.norm(-math.inf)
        x.norm(dtype=torch.float32) torch.linalg.matrix_norm(x,1,dtype=torch.float32) x.sum(dtype=torch.float8_e5m2) x.prod(dtype=torch.uint16)
        x.mean(dtype=torch.uint64) x.nansum(dtype=torch.int32) x.float().nansum(dtype=torch.bool) x[0,:1].argmin()""".split()
    accepted = []
    for text in texts:
        try:
            eager_of(text, "x")(x)
        except (RuntimeError, TypeError, ValueError):
            try:
                op_of(text, {"x": x}).emit("ir", x, device="cpu")
                accepted.append(text)
            except ingot.Error as error:
                assert error.fault == "author", error
    assert not accepted, accepted


def test_named_tuples(device):
    x = torch.randn(5, 6, device=device)
    values, indices = ingot.op("def f(x):\n    r = x.max(1)\n    return r.values - 1, r.indices + 1")(x)
    assert torch.equal(values, x.max(1).values - 1) and torch.equal(indices, x.max(1).indices + 1)
    low, high = ingot.op("def f(x):\n    r = torch.aminmax(x)\n    return r.min, r.max")(x)
    assert low == x.min() and high == x.max()


# The tensor that is written → an op that writes it.
IN_PLACE = {
    "operand of several phases": "def f(x, r):\n    x += r\n    return torch.softmax(x, 1)",
    "result of a later phase": "def f(x, r):\n    x.copy_(torch.softmax(x + r, 1))",
    "one element per row": "def f(x, r):\n    m = x.mean(1)\n    r[:, 0] += m\n    return x - r[:, :1]",
    "operand of another kernel": "def f(x, r):\n    s = x.sum(0)\n    x *= 2\n    return s + r",
}


@pytest.mark.parametrize("columns", [7, 1000, 20000])
@pytest.mark.parametrize("case", IN_PLACE)
def test_in_place_reductions_equal_eager(device, case, columns):
    op = ingot.op(IN_PLACE[case])
    x, r = torch.randn(6, columns, device=device), torch.randn(6, columns, device=device)
    actual, expected = [x.clone(), r.clone()], [x.clone(), r.clone()]
    results, expected_results = op(*actual), op.reference(*expected)
    torch.testing.assert_close(actual, expected)
    if expected_results is not None:
        torch.testing.assert_close(results, expected_results)


@pytest.mark.parametrize("columns", [20000, 200000])  # 200000 have a kernel for each phase, unless they are overwritten
def test_out_may_be_an_input(columns):
    x = torch.randn(6, columns)
    op = ingot.op("torch.softmax(x, 1)")
    expected = op(x)
    assert op(x, out=x) is x and torch.equal(x, expected)


@pytest.mark.parametrize("text", ["torch.where(m, x, -1e9).softmax(1)", "(x * m).softmax(1)", "(h + x).log_softmax(1)"])
def test_operands_of_several_dtypes_across_rows(device, text):
    x, m, h = torch.randn(8, 64, 33), torch.rand(8, 64, 33) > 0.5, torch.randn(8, 64, 33).half()
    op, arguments = ingot.op(f"def f(x, m, h): return {text}"), [t.to(device) for t in (x, m, h)]
    torch.testing.assert_close(op(*arguments), op.reference(*arguments))
    op.emit("ptx", *arguments, device="cuda", architecture=90)


@pytest.mark.parametrize("text", ["x[:, k:]", "x[:, :0]", "x.flip(1)[:, k:]", "x[i[k:]]", "x[:, k:].t()"])
@pytest.mark.filterwarnings("ignore:.*degrees of freedom")
def test_statistics_of_rows_without_elements_read_nothing_outside(device, text):
    """The mean and the variance are relative to sampled elements of a row, which such a row does not have."""
    x, i, k = torch.randn(4, 4, device=device), torch.tensor([1, 2, 3, 99], device=device), 4
    dim = 0 if "i[" in text or ".t()" in text else 1
    op = ingot.op(f"def f(x, i, k): return torch.var_mean({text}, {dim})")
    for result, expected in zip(op(x, i, k), op.reference(x, i, k)):
        torch.testing.assert_close(result, expected, equal_nan=True)


ANY_SIZE = ["x.sum(1)", "x.softmax(1)", "x.softmax(-1).sum(0)", "x.var(1)", "(x - x.mean(0, keepdim=True)).square().sum((1, 2))",
            "x.logsumexp((0, 2))", "x.sum((0, 2)) * 2 + 1", "x.sum(0).softmax(0)", "(x.sum(1), x.sum(1).sum())", "x.norm(dim=(1, 2))",
            "F.normalize(x, dim=0)", "x.transpose(0, 2).prod(2)", "x.amax(1)"]  # fmt: skip


@pytest.mark.filterwarnings("ignore:.*degrees of freedom")
def test_sizes_of_0_and_1(device):
    """Calls that eager rejects, such as the largest of no elements, are rejected."""
    for shape in itertools.product([0, 1, 3], [0, 1, 4], [0, 1, 5]):
        x = torch.randn(shape, device=device)
        for op in map(ingot.op, ANY_SIZE):
            try:
                expected = op.reference(x)
            except (RuntimeError, IndexError):
                with pytest.raises(ingot.Error):
                    op(x)
            else:
                torch.testing.assert_close(op(x), expected, equal_nan=True)


UNUSUAL = ["(x * torch.arange(8)).sum(1)", "(x * torch.arange(6)[:, None]).amax(1) + torch.arange(6)", "x.flip(0, 1).sum(0)[::2]", "torch.ones(3, 8).sum(0) + x[0]",
           "s - s.sum(0)[:, None]", "(s - s.sum(1)).sum(0)", "s.t() - s.sum(0)", "s.softmax(0).t() + s.softmax(1)", "torch.cat([x.sum(1), x.amax(0)])",
           "torch.stack([x.sum(0), x.amax(0)], 1)", "torch.where(x > 0, x.sum(1, keepdim=True), x.amax(0))", "x[i].softmax(0)", "x.softmax(1)[i].sum(0)",
           "torch.where((i > 2)[:, None], x[i], 0.5).sum(0)", "x.unfold(1, 3, 1).amax(1)", "s.diagonal().sum()", "x.t().reshape(-1).argmax()", "x.view(2, 3, 8).sum((0, 2))",
           "torch.cat([x, x[:, :3]], 1).softmax(1)", "torch.cat([x.softmax(1), x[:, :3]], 1).sum(1)", "x.sum(1, keepdim=True).expand(-1, 8) * x", "s @ s.sum(1)",
           "F.pad(x, (1, 2)).softmax(1)", "s.tril().sum(0)", "torch.roll(x, 1, 1).amax(1)", "x.view(torch.int32).sum(1)"]  # fmt: skip


@pytest.mark.parametrize("lazy", ["auto", "always", "never"])
def test_unusual_dims_and_offsets(device, lazy):
    tensors = {"x": torch.randn(6, 8), "s": torch.randn(5, 5), "i": torch.tensor([3, 0, 5])}
    with torch.device(device):
        for text in UNUSUAL:
            inputs = {name: tensor.to(device) for name, tensor in used(text, tensors).items()}
            op = op_of(text, inputs, lazy=lazy)
            torch.testing.assert_close(op(*inputs.values()), eager_of(text, inputs)(*inputs.values()), atol=1e-5, rtol=1e-5)


def test_expanded_rows_without_elements_are_not_read(device):
    """A tensor without elements has no memory, even if all rows share an element by its strides."""
    flat, tall = torch.randn(2, device=device).expand(0, 2), torch.randn(2, 1, device=device).expand(2, 0)
    for text in ["x.sum(0)", "x.sum(1)", "x.any(0)", "x.var(0)", "x.softmax(0).sum(0)", "x.softmax(1).sum(1) + 1"]:
        op = ingot.op(text)
        for x in (flat, tall):
            torch.testing.assert_close(op(x), op.reference(x), equal_nan=True)


@pytest.mark.parametrize("dtype", [torch.bool, torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64, torch.bfloat16])
def test_extremes_of_a_constant(device, dtype):
    x = torch.ones(4, 5, device=device).to(dtype)
    for text in ["torch.zeros_like(x).argmin(1)", "torch.ones_like(x).max(1)", "torch.zeros_like(x).amax(0)"]:
        op = ingot.op(text)
        if dtype == torch.bool and "arg" in text:
            continue  # eager has no such kernel
        torch.testing.assert_close(tuple(op(x)), tuple(op.reference(x)))


def test_a_stored_sum_is_not_confused_with_an_argument(device):
    """Sums that a later kernel reads must not be confused with an argument of the same layout and position."""

    def f(w, x):
        s = x.sum(1)
        return s[:, 0] - w[:, 0], s[:, 1] * w[:, 2], s[:, 2] - w[:, 1]

    w, x = torch.randn(5, 3, device=device), torch.randn(5, 4, 3, device=device)
    for actual, expected in zip(ingot.op(f)(w, x), f(w, x)):
        torch.testing.assert_close(actual, expected)


def test_rows_of_two_dims_with_one_flipped(device):
    def f(x, y):
        return (x.flip(0)[:, :, None] * y[:, None]).sum((0, 2))

    x, y = torch.randn(3, 4, device=device), torch.randn(3, 5, device=device)
    torch.testing.assert_close(ingot.op(f)(x, y), f(x, y))
