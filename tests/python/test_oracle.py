"""compare_to_eager itself: the differences that it must accept, and those that it must not."""

import pytest
import torch
import torch.nn.functional as F

from ingot.oracle import compare_to_eager, ulp


def exact(x, y):
    return torch.relu(x) + y * 0.5


def smooth(x, y):
    return torch.exp(x) / (1 + torch.tanh(y)) - y


def tensors(dtype=torch.float32):
    generator = torch.Generator().manual_seed(1)
    return tuple(torch.randn(64, 33, generator=generator).to(dtype) for _ in range(2))


def test_eagers_own_results_are_accepted():
    x, y = tensors()
    assert compare_to_eager(exact, (x, y), {}, exact(x, y)).bit_for_bit
    assert compare_to_eager(smooth, (x,), {"y": y}, smooth(x, y)).message == "bit for bit"


def test_results_closer_to_float64_are_accepted():
    x, y = tensors()
    verdict = compare_to_eager(smooth, (x, y), {}, smooth(x.double(), y.double()).float())
    assert verdict.ok and not verdict.bit_for_bit
    assert compare_to_eager(F.gelu, (x,), {}, F.gelu(x.double()).float()).ok


def test_half_precision_may_keep_its_intermediates():
    x, y = tensors(torch.bfloat16)

    def product(x, y):
        return x * y + y

    actual = product(x.float(), y.float()).bfloat16()
    assert compare_to_eager(product, (x, y), {}, actual).ok
    assert not compare_to_eager(product, (x, y), {}, actual, numerics="eager").ok


@pytest.mark.parametrize("function", [exact, smooth])
@pytest.mark.parametrize("error", ["last", "shift", "swap", "nan", "infinite"])
def test_one_incorrect_element_is_rejected(function, error):
    x, y = tensors()
    result = function(x, y)
    flat = result.view(-1)
    if error == "last":
        flat[-1] = 0
    elif error == "shift":
        flat[7] += 1e-4
    elif error == "swap":
        flat[3], flat[4] = flat[4].clone(), flat[3].clone()
    else:
        flat[5] = float("nan") if error == "nan" else float("inf")
    verdict = compare_to_eager(function, (x, y), {}, result)
    assert not verdict.ok
    assert "1 of 2112" in verdict.message or "2 of 2112" in verdict.message


def test_one_ulp_is_too_much_where_arithmetic_is_exact():
    x, y = tensors()
    result = exact(x, y)
    result.view(-1)[9] += ulp(result).view(-1)[9]
    assert not compare_to_eager(exact, (x, y), {}, result).ok


def test_a_nan_of_eager_must_be_nan():
    x = torch.tensor([1.0, float("nan"), 3.0])
    assert not compare_to_eager(torch.relu, (x,), {}, torch.nan_to_num(torch.relu(x))).ok
    assert compare_to_eager(torch.relu, (x,), {}, torch.relu(x)).bit_for_bit


@pytest.mark.parametrize("wrong", [float("nan"), float("inf"), float("-inf")])
def test_a_finite_result_of_eager_must_be_finite(wrong):
    """Even if the error of a step may be large: log(1 - tanh(x)) is close to -inf if tanh(x) is close to 1."""
    x = torch.tensor([8.7, 1.0])

    def function(x):
        return torch.log(1 - torch.tanh(x))

    result = function(x)
    assert result.isfinite().all() and compare_to_eager(function, (x,), {}, result * (1 + 1e-7)).ok
    result[0] = wrong
    assert not compare_to_eager(function, (x,), {}, result).ok


def test_zeros_of_either_sign_are_equal_in_value():
    verdict = compare_to_eager(lambda x: x * 1, (torch.zeros(3),), {}, -torch.zeros(3))
    assert verdict.ok and not verdict.bit_for_bit


@pytest.mark.parametrize(
    "result, message",
    [
        (lambda r: r.double(), "dtype"),
        (lambda r: r[:, :-1], "shape"),
        (lambda r: r.t().contiguous().t(), "strides"),
        (lambda r: (r, r), "2 results"),
    ],
)
def test_dtype_shape_strides_and_count_must_be_equal(result, message):
    x, y = tensors()
    verdict = compare_to_eager(exact, (x, y), {}, result(exact(x, y)))
    assert not verdict.ok and message in verdict.message


def contracted(x, y, z):
    """exp(x) * y + z with a single rounding for the last two steps."""
    return (torch.exp(x).double() * y.double() + z.double()).float()


def test_a_contracted_sum_is_rejected_if_bits_must_be_equal():
    x, y = tensors()
    assert not compare_to_eager(lambda x, y, z: torch.exp(x) * y + z, (x, y, x), {}, contracted(x, y, x), exact=True).ok
    assert not compare_to_eager(lambda x, y, z: x * y + z, (x, y, x), {}, (x.double() * y + x).float()).ok


def test_bits_include_the_sign_of_zero_and_not_the_payload_of_nan():
    x = torch.tensor([0.0, float("nan")])
    other_nan = torch.tensor([0, 0x7FC12345], dtype=torch.int32).view(torch.float32)
    assert compare_to_eager(lambda x: x + 0, (x,), {}, other_nan, exact=True).ok
    assert not compare_to_eager(lambda x: x + 0, (x,), {}, -other_nan, exact=True).ok


WEIGHT, BIAS = torch.randn(2, 64, generator=torch.Generator().manual_seed(2))
SUMS = {
    "nansum": lambda x: x.nansum(1),
    "softmax of sums": lambda x: x.sum(1).softmax(0),
    "mv": lambda x: x.mv(x[1]),
    "mm": lambda x: x.mm(x.t()),
    "bmm": lambda x: x[None].bmm(x.t()[None]),
    "addmm": lambda x: F.linear(x, x, BIAS),
    "group_norm": lambda x: F.group_norm(x[None], 8, WEIGHT, BIAS),
}


@pytest.mark.parametrize("name", SUMS)
def test_sums_may_be_added_in_any_order(name):
    """Sums of reversed rows; a norm's result is reversed back."""
    x, function = torch.randn(64, 1000, generator=torch.Generator().manual_seed(1)), SUMS[name]
    reversed_result = function(x.flip(1))
    result = reversed_result.flip(2) if "norm" in name else reversed_result
    assert compare_to_eager(function, (x,), {}, result).ok
    assert not compare_to_eager(function, (x,), {}, result + 1e-2).ok


@pytest.mark.parametrize("training", [False, True])
def test_batch_norm_may_be_a_product_and_a_sum(training):
    x = tensors()[0].t().contiguous()
    mean, variance = (x.mean(0), x.var(0, correction=0)) if training else (BIAS, WEIGHT.square())
    scale = WEIGHT / (variance + 1e-5).sqrt()

    def norm(x):
        return F.batch_norm(x, None if training else mean, None if training else variance, WEIGHT, BIAS, training)

    assert compare_to_eager(norm, (x,), {}, x * scale + (BIAS - mean * scale)).ok
    assert not compare_to_eager(norm, (x,), {}, x * scale + (BIAS - mean * scale) + 1e-4).ok


# Without float32 tanh-gelu: there eager's own result is nearly 0.
@pytest.mark.parametrize("approximate, dtype", [("none", torch.float32), ("none", torch.float64), ("tanh", torch.float64)])
def test_gelu_is_not_zero_below_minus_five(approximate, dtype):
    x = torch.tensor([-5.0625, 1.0, -3.0], dtype=dtype)
    zeroed = torch.where(x < -5, 0, F.gelu(x, approximate=approximate))
    assert not compare_to_eager(lambda x: F.gelu(x, approximate=approximate), (x,), {}, zeroed).ok


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("function", [torch.exp, torch.sin, torch.special.i0e, F.silu, F.softplus, torch.digamma])
def test_a_single_function_must_be_within_four_ulp(function, dtype):
    x = tensors(dtype)[0].abs() + 0.5
    result = function(x.double()).to(dtype)
    assert compare_to_eager(function, (x,), {}, result).ok
    direction = (result - function(x)).sign() + (result == function(x))
    for ulps, ok in ((3, True), (9, False)):
        assert compare_to_eager(function, (x,), {}, result + direction * ulps * ulp(result).to(dtype)).ok == ok, ulps


# The searched values. In a 16-bit float, some rows have ties or near ties.
SEARCHED = {"arithmetic": lambda x: (1 - x) * x, "a function": lambda x: x.float().sin().bfloat16()}
SEARCHES = {
    "argmax": lambda x: x.argmax(1),
    "argmin": lambda x: (-x).argmin(1, keepdim=True),
    "of all": lambda x: x[0].argmax(),
    "max": lambda x: x.max(1).indices,
    "used": lambda x: x.argmax(1)[:, None] * 2 - x * 0,
}


@pytest.mark.parametrize("search", SEARCHES)
@pytest.mark.parametrize("searched", SEARCHED)
def test_argmax_of_rounded_values_may_differ(searched, search):
    x = torch.randn(200, 65, generator=torch.Generator().manual_seed(3)).bfloat16()
    searched, search = SEARCHED[searched], SEARCHES[search]

    def function(x):
        return search(searched(x))

    dtype = function(x).dtype
    assert compare_to_eager(function, (x,), {}, search(searched(x.float())).to(dtype)).ok
    assert not compare_to_eager(function, (x,), {}, search(-searched(x.float())).to(dtype)).ok


def test_argmax_of_exact_values_equals_eager():
    wide = torch.tensor([[3.0, 1.0, 3.0, 2.0], [0.0, float("nan"), float("inf"), float("nan")]])
    short = wide.bfloat16()
    for function, x, numerics in ((lambda x: x.argmax(1), short, "default"), (lambda x: (x * x).argmax(1), wide, "default"),
                                  (lambda x: (x * x).argmax(1), short, "eager")):  # fmt: skip
        assert compare_to_eager(function, (x,), {}, torch.tensor([0, 1]), numerics).bit_for_bit
        for wrong in ([2, 1], [0, 3], [0, 2]):
            assert not compare_to_eager(function, (x,), {}, torch.tensor(wrong), numerics).ok
    # The elements at these indices are not the largest, also after rounding to 16 bits. The first NaN counts as the largest.
    for wrong in ([0, 3], [0, 2], [3, 1]):
        assert not compare_to_eager(lambda x: (x * x).argmax(1), (short,), {}, torch.tensor(wrong)).ok
    assert compare_to_eager(lambda x: (x * x).argmax(1), (short,), {}, torch.tensor([2, 1])).ok
