"""The check of correctness: compares results with eager's and with float64, on special values and odd sizes."""

import pytest
import torch

import ingot
from ingot.tools import check, workload


def workload_of(text: str, **values) -> workload.Workload:
    return workload.Workload(ingot.op(text), values)


def verdict(case: workload.Workload, *results) -> check.Verdict:
    return check.check(check.Expected.of(case), list(results))


def test_other_rounding_is_correct_and_larger_errors_are_not():
    torch.manual_seed(0)
    x, y, z = torch.randn(3, 4096)
    product = workload_of("x * y + z", x=x, y=y, z=z)
    contracted = torch.addcmul(z.double(), x.double(), y.double()).float()
    assert verdict(product, contracted).correct
    assert verdict(product, x * y + z).bit_for_bit
    inaccurate = contracted.clone()
    inaccurate[7] += 1e-4
    wrong = verdict(product, inaccurate)
    assert not wrong.correct and wrong.worst["index"] == [7] and wrong.worst["inputs"]["x"] == repr(x[7].item())
    assert "differs at [7]: " in wrong.message


def test_another_order_of_addition_is_correct_and_a_lost_element_is_not():
    torch.manual_seed(0)
    x = torch.rand(100, 4096)
    total = workload_of("sum(x, -1)", x=x)
    one_by_one = x[:, 0].clone()
    for k in range(1, x.shape[1]):
        one_by_one += x[:, k]
    assert verdict(total, x.flip(-1).sum(-1)).correct
    assert verdict(total, one_by_one).correct
    assert not verdict(total, x[:, 1:].sum(-1)).correct


@pytest.mark.parametrize("text, wrong", [
    ("relu(x)", lambda x: torch.where(x > 0, x, 0)), ("clamp(x, min=0)", lambda x: torch.fmax(x, torch.zeros(()))),
    ("x - x", torch.zeros_like), ("exp(x)", lambda x: torch.exp(x.clamp(max=88.0)))])
def test_special_values_reveal_an_incomplete_formula(text, wrong):
    x = torch.randn(1000)
    plain = workload_of(text, x=x)
    injected = workload.with_specials(plain)
    assert verdict(plain, wrong(x)).correct
    assert not verdict(injected, wrong(injected.values["x"])).correct
    assert verdict(injected, ingot.op(text)(injected.values["x"])).correct


@pytest.mark.parametrize("text, other", [
    ("round(x)", lambda x: (x.abs() + 0.5).floor() * x.sign()), ("where(x > 0.5, x, 0.0)", lambda x: torch.where(x >= 0.5, x, 0.0)),
    ("floor(x)", lambda x: (x - 1).ceil()), ("sign(x)", lambda x: torch.where(x >= 0, 1.0, -1.0)),
    ("round(x * 2.0)", lambda x: (x * 2 + 0.5).floor()), ("where(x * 2.0 > 1.0, x, -5.0)", lambda x: torch.where(x * 2 >= 1, x, -5.0))])
def test_at_a_jump_only_one_result_is_correct(text, other):
    x = torch.arange(-100, 101) / 4
    case = workload_of(text, x=x)
    assert not verdict(case, other(x)).correct
    assert verdict(case, ingot.op(text)(x)).correct


def test_special_values_include_the_jumps_of_functions():
    injected = workload.with_specials(workload_of("round(x)", x=torch.randn(1000)))
    x = injected.values["x"]
    assert not verdict(injected, torch.where(x.isfinite(), (x.abs() + 0.5).floor() * x.sign(), x)).correct


@pytest.mark.parametrize("text", ["F.gelu(x)", "1 - torch.cos(x)", "torch.exp(x) - 1", "torch.round(torch.exp(x) * 3)"])
def test_cancellation_is_allowed_the_ulps_of_its_steps(text):
    """An exponential may be off by an ulp before its neighbour is subtracted."""
    x = torch.randn(100000, generator=torch.Generator().manual_seed(1))
    case = workload_of(text, x=x)
    assert verdict(case, ingot.op(text)(x)).correct
    off_by_an_ulp = ingot.op(text).reference(x * (1 + torch.finfo(torch.float32).eps))
    assert verdict(case, off_by_an_ulp).correct
    assert not verdict(case, off_by_an_ulp + 1e-4).correct


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_another_function_is_incorrect_in_16_bits(dtype):
    x = torch.randn(64, 512, generator=torch.Generator().manual_seed(0)).to(dtype)
    gelu = torch.nn.functional.gelu
    case = workload_of("F.gelu(x)", x=x)
    assert verdict(case, ingot.op("F.gelu(x)")(x)).correct
    assert verdict(case, gelu(x.float()).to(dtype)).correct
    for other in (lambda x: x * torch.sigmoid(1.702 * x), lambda x: torch.where(x < -2.5, 0.0, gelu(x)), lambda x: torch.where(x < -3, -1, 1) * gelu(x)):
        assert not verdict(case, other(x.float()).to(dtype)).correct


def test_integers_shapes_and_dtypes_must_be_equal():
    x = torch.arange(10)
    assert not verdict(workload_of("x + 1", x=x), x + 2).correct
    assert verdict(workload_of("x + 1", x=x), (x + 1).int()).message == "the result has dtype torch.int32, eager's torch.int64"
    assert "shape [1]" in verdict(workload_of("sum(x)", x=x), x.sum().view(1)).message


def test_special_values_are_paired_with_each_other():
    values = workload.with_specials(workload_of("x + y", x=torch.randn(1000), y=torch.randn(1000))).values
    pairs = {(repr(a), repr(b)) for a, b in zip(values["x"].tolist(), values["y"].tolist())}
    assert {("nan", "inf"), ("inf", "-inf"), ("-0.0", "nan")} <= pairs


def test_odd_sizes_respect_indices_and_related_sizes():
    boxes = workload.with_odd_sizes(workload_of("x * y", x=torch.randn(1024, 4), y=torch.randn(1024, 1)))
    assert [tuple(t.shape) for t in boxes.values.values()] == [(1023, 4), (1023, 1)]
    table = workload.with_odd_sizes(workload_of("t[i]", t=torch.randn(64, 100), i=torch.tensor([0, 63, 5])))
    assert tuple(table.values["t"].shape) == (64, 99)


def test_the_mean_of_a_constant_row_may_be_rounded():
    """A row of equal elements minus its mean is nothing but rounding error, which grows with the row's norm."""
    def in_order(x, weight):
        mean = x.cumsum(-1)[..., -1:] / x.size(-1)
        return (x - mean) * torch.rsqrt(((x - mean) ** 2).mean(-1, keepdim=True) + 1e-5) * weight

    x = torch.randn(8, 1000)
    x[3] = 5.1
    norm = ingot.op("F.layer_norm(x, (1000,), weight)")
    assert ingot.compare(norm, {"in order": in_order}, x, torch.rand(1000) * 1e-3, rounds=3)["in order"]["state"] == "correct"
    off = {"off": lambda x, w: in_order(x, w) + 1e-5}
    assert ingot.compare(norm, off, x, torch.rand(1000) * 1e-3, rounds=3)["off"]["state"] == "incorrect"
