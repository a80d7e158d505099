"""The functions of the language that are written in the language.

Each gives what PyTorch's function of its name gives. A function marked `@native` is one kernel in PyTorch: its formula
is that kernel's (aten/src/ATen/native), `/` is IEEE division in it, 16-bit floats are rounded at its end alone, and a
derivative of its own stands at its boundary. The others are what eager PyTorch does op by op. `@method` spells a
function as x.name() too.

Names that begin with an underscore are internal: `_fma(a, b, c)` is a * b + c rounded once, `_promoted` casts its
operands to their common dtype, `_floating` does so and makes integers floating, `_check` refuses dtypes that PyTorch's
kernel has not, `_rounded` rounds a number to a 16-bit dtype, `_number` is the value of a number or a CPU scalar, `_reciprocal_of` is 1 / number in a dtype, and `_on_cuda()` tells the devices apart whose kernels differ.
"""


# Activations


@native
@method
def relu(input, inplace=False):
    """max(input, 0)"""
    _check(input, "int float")
    return clamp(input, min=0)


def relu6(input, inplace=False):
    """min(max(input, 0), 6)"""
    return hardtanh(input, 0.0, 6.0)


@native
def hardtanh(input, min_val=-1.0, max_val=1.0, inplace=False):
    """input held between min_val and max_val"""
    _check(input, "int float")
    if not input.is_floating_point():
        min_val, max_val = int(min_val), int(max_val)
        if input.dtype == torch.uint8 and min_val < 0:
            raise ValueError("hardtanh of an unsigned type needs a min_val that is not negative")
    return clamp(input, min_val, max_val)


@native
@method
def sigmoid(input):
    """1 / (1 + exp(-input))"""
    (input,) = _floating(input)
    return 1 / (1 + exp(-input))


def logsigmoid(input):
    """log(sigmoid(input)), exact for large and small inputs"""
    return _logsigmoid(input if _on_cuda() else input.contiguous())


@native
def _logsigmoid(input):
    _check(input, "float")
    return where(input < 0, input, 0.0) - log1p(exp(-abs(input)))


@native
def silu(input, inplace=False):
    """input * sigmoid(input)"""
    _check(input, "float")
    return input / (1 + exp(-input))


@native
def mish(input, inplace=False):
    """input * tanh(softplus(input))"""
    _check(input, "float")
    return input * tanh(log1p(exp(input)))


@native
def gelu(input, approximate="none"):
    """input times the normal distribution's cumulative probability of it, or its tanh approximation"""
    _check(input, "float")
    if approximate == "none":
        return input * 0.5 * (1 + erf(input * 0.7071067811865476))
    if approximate != "tanh":
        raise ValueError("approximate must be 'none' or 'tanh'")
    cube = input * input * input
    bent = _fma(0.044715, cube, input) if _on_cuda() else input + 0.044715 * cube
    return 0.5 * input * (1 + tanh(0.7978845608028654 * bent))


@native
def softplus(input, beta=1.0, threshold=20.0):
    """log(1 + exp(beta * input)) / beta, the input itself where beta * input exceeds the threshold"""
    _check(input, "float")
    scaled = input * beta
    return where(scaled > threshold, input, log1p(exp(scaled)) / beta)


@native
def _elu(input, alpha, scale, input_scale):
    negative = expm1(input * input_scale) * (full_like(input, alpha) * scale)
    return where(input > 0, input * scale, negative)


def elu(input, alpha=1.0, inplace=False):
    """input where it is positive, else alpha * (exp(input) - 1)"""
    _check(input, "float")
    return _elu(input, alpha, 1.0, 1.0)


def selu(input, inplace=False):
    """elu with the constants that keep the mean and the variance of activations"""
    _check(input, "float")
    return _elu(input, 1.6732632423543772, 1.0507009873554805, 1.0)


def celu(input, alpha=1.0, inplace=False):
    """input where it is positive, else alpha * (exp(input / alpha) - 1)"""
    _check(input, "float")
    return _elu(input, alpha, 1.0, 1.0 / alpha)


@native
def leaky_relu(input, negative_slope=0.01, inplace=False):
    """input where it is positive, else negative_slope * input"""
    _check(input, "float")
    return where(input > 0, input, input * negative_slope)


@native
def hardswish(input, inplace=False):
    """input * relu6(input + 3) / 6"""
    _check(input, "float")
    product = input * clamp(input + 3, 0, 6)
    return product * 0.1666666716337204 if _on_cuda() else product / 6


@native
def hardsigmoid(input, inplace=False):
    """relu6(input + 3) / 6"""
    _check(input, "float")
    held = clamp(input + 3, 0, 6)
    return held * 0.1666666716337204 if _on_cuda() else held / 6


def softsign(input):
    """input / (1 + abs(input))"""
    return input / (abs(input) + 1)


def tanhshrink(input):
    """input - tanh(input)"""
    return input - tanh(input)


@native
def softshrink(input, lambd=0.5):
    """input moved towards 0 by lambd, 0 where it is nearer than that"""
    _check(input, "float")
    lambd = _rounded(lambd, input)
    within = where(isnan(input), input, 0.0)
    return where(input > lambd, input - lambd, where(input < -lambd, input + lambd, within))


@native
def hardshrink(input, lambd=0.5):
    """0 where input is within lambd of it, else input"""
    _check(input, "float")
    lambd = _rounded(lambd, input)
    return where((input >= -lambd) & (input <= lambd), 0.0, input)


@native
def threshold(input, threshold, value, inplace=False):
    """input where it exceeds the threshold, else value"""
    _check(input, "int float")
    if not input.is_floating_point():
        threshold, value = int(threshold), int(value)
    limit = _rounded(threshold, input) if _on_cuda() else threshold
    return where(input <= limit, value, input)


@native
def _glu(a, b):
    return a * (1 / (1 + exp(-b)))


def glu(input, dim=-1):
    """the first half of a dim times the sigmoid of the second"""
    _check(input, "float")
    a, b = input.chunk(2, dim)
    return _glu(a, b)


# Arithmetic


@method
def div(input, other, *, rounding_mode=None):
    """input / other, rounded towards zero or minus infinity where rounding_mode says so"""
    if rounding_mode is None:
        return _div(input, other)
    if rounding_mode == "floor":
        return floor_divide(input, other)
    if rounding_mode != "trunc":
        raise ValueError("div expected rounding_mode to be one of None, 'trunc', or 'floor'")
    if _multiplies_by_reciprocal(input, other):
        return _trunc_divide_number(input, other)
    if _divides_in_16_bits(input, other):
        return _trunc_divide16(input, other)
    return _trunc_divide(input, other)


divide = div


@method
def true_divide(input, other):
    """input / other"""
    return _div(input, other)


@method
def floor_divide(input, other):
    """input // other: the quotient rounded down"""
    if _multiplies_by_reciprocal(input, other):
        return _floor_divide_number(input, other)
    if _divides_in_16_bits(input, other):
        return _floor_divide16(input, other)
    return _floor_divide(input, other)


@native
def _trunc_divide_number(input, other):
    # CUDA's kernel for a number: its reciprocal is taken once, in float32 for the 16-bit floats.
    input, _ = _floating(input, other)
    return trunc(input * _reciprocal_of(_number(other), input))


@native
def _floor_divide_number(input, other):
    input, _ = _floating(input, other)
    other = _number(other)
    inverse = _reciprocal_of(other, input)
    rest = fmod(input, other)
    quotient = (input - rest) * inverse
    quotient = where((rest != 0) & ((rest < 0) != (other < 0)), quotient - 1, quotient)
    floored = floor(quotient)
    floored = where(quotient - floored > 0.5, floored + 1, floored)
    signed_zero = copysign(zeros_like(input), input * inverse)
    result = where(quotient != 0, floored, signed_zero)
    return where(full_like(input, other) == 0, input * inverse, result)


@native
def _trunc_divide16(input, other):
    # The kernel's quotient has 16 bits before it is cut.
    input, other = _promoted(input, other)
    return trunc((input / other).to(input.dtype))


@native
def _floor_divide16(input, other):
    # Every step of the kernel rounds to 16 bits.
    input, other = _promoted(input, other)
    dtype = input.dtype
    rest = fmod(input, other)
    quotient = ((input - rest).to(dtype) / other).to(dtype)
    quotient = where((rest != 0) & ((rest < 0) != (other < 0)), (quotient - 1).to(dtype), quotient)
    floored = floor(quotient)
    floored = where(quotient - floored > 0.5, (floored + 1).to(dtype), floored)
    exact = input / other
    result = where(quotient != 0, floored, copysign(zeros_like(input), exact))
    return where(other == 0, exact, result)


@method
def square(input):
    """input * input"""
    return input ** 2


@native
@method
def frac(input):
    """what input has behind its point, with its sign"""
    _check(input, "float")
    return input - trunc(input)


@native
@method
def lerp(input, end, weight):
    """input + weight * (end - input)"""
    _check(input, "float")
    _check_same_dtype(input, end, weight)
    if not isinstance(weight, torch.Tensor):
        weight = full_like(input, weight)
    span = end - input
    return where(abs(weight) < 0.5, _fma(weight, span, input), _fma(weight - 1, span, end))


@native
@method
def addcmul(input, tensor1, tensor2, *, value=1):
    """input + value * tensor1 * tensor2"""
    input, tensor1, tensor2 = _promoted(input, tensor1, tensor2)
    if not input.is_floating_point():
        return input + int(value) * tensor1 * tensor2
    if _on_cuda():
        scaled = _fma(value, tensor1 * tensor2, input)
        return where(full_like(input, value) == 1, _fma(tensor1, tensor2, input), scaled)
    return _fma(value * tensor1, tensor2, input)


@native
@method
def addcdiv(input, tensor1, tensor2, *, value=1):
    """input + value * tensor1 / tensor2"""
    input, tensor1, tensor2 = _promoted(input, tensor1, tensor2)
    _check(input, "float")
    if _on_cuda():
        return _fma(value, tensor1 / tensor2, input)
    return input + value * tensor1 / tensor2


@method
def float_power(input, exponent):
    """input ** exponent in float64"""
    if isinstance(input, torch.Tensor):
        input = input.double()
    if isinstance(exponent, torch.Tensor):
        exponent = exponent.double()
    return pow(input, exponent if isinstance(exponent, torch.Tensor) else float(exponent))


@method
def ldexp(input, other):
    """input * 2 ** other"""
    return input * pow(2.0, other)


@method
def diff(input, n=1, dim=-1):
    """the differences of neighbours along a dim, n times over"""
    for _ in range(n):
        last = input.size(dim) - 1
        input = input.narrow(dim, 1, last) - input.narrow(dim, 0, last)
    return input


# Exponentials, logarithms, angles


@native
@method
def logaddexp(input, other):
    """log(exp(input) + exp(other)) without overflow"""
    input, other = _promoted(input, other)
    _check(input, "float")
    finite = fmax(input, other) + log1p(exp(-abs(input - other)))
    return where(isinf(input) & (input == other), input, finite)


@native
@method
def logaddexp2(input, other):
    """log2(2**input + 2**other) without overflow"""
    input, other = _promoted(input, other)
    _check(input, "float")
    finite = _fma(log1p(exp2(-abs(input - other))), 1.4426950408889634, fmax(input, other))
    return where(isinf(input) & (input == other), input, finite)


@native
@method
def xlogy(input, other):
    """input * log(other), 0 where input is 0 and other is not NaN"""
    input, other = _floating(input, other)
    return where(isnan(other), other, where(input == 0, 0.0, input * log(other)))


@native
@method
def sinc(input):
    """sin(pi * input) / (pi * input), 1 at 0"""
    (input,) = _floating(input)
    angle = input * 3.141592653589793
    return where(input == 0, 1.0, sin(angle) / angle)


@native
@method
def logit(input, eps=None):
    """log(input / (1 - input)), input first held between eps and 1 - eps"""
    (input,) = _floating(input)
    if eps is not None:
        low = full_like(input, eps)
        high = 1 - low
        input = where(input < low, low, where(input > high, high, input))
    return log(input / (1 - input))


@method
def deg2rad(input):
    """degrees as radians"""
    return input * 0.017453292519943295


@method
def rad2deg(input):
    """radians as degrees"""
    return input * 57.29577951308232


# Tests and special values


@method
def isposinf(input):
    """whether it is +inf"""
    return input == math.inf


@method
def isneginf(input):
    """whether it is -inf"""
    return input == -math.inf


@method
def isclose(input, other, rtol=1e-05, atol=1e-08, equal_nan=False):
    """whether abs(input - other) <= atol + rtol * abs(other)"""
    close = input == other
    if equal_nan:
        close = close | (isnan(input) & isnan(other))
    if input.dtype == torch.bool:
        input = input.to(_default_dtype())
    if not input.is_floating_point() or other.dtype == torch.bool:
        other = other.to(_default_dtype())
    error = abs(input - other)
    return close | (isfinite(error) & (error <= atol + abs(rtol * other)))


def _largest(dtype):
    if dtype == torch.float64:
        return 1.7976931348623157e308
    if dtype == torch.float32:
        return 3.4028234663852886e38
    return 65504.0 if dtype == torch.float16 else 3.3895313892515355e38


@native
@method
def nan_to_num(input, nan=0.0, posinf=None, neginf=None):
    """NaN and the infinities replaced by numbers, by default 0 and the largest of the dtype"""
    if not input.is_floating_point():
        return input
    above = _largest(input.dtype) if posinf is None else posinf
    below = -_largest(input.dtype) if neginf is None else neginf
    nan = 0.0 if nan is None else nan
    finite = where(input == math.inf, above, where(input == -math.inf, below, input))
    return where(isnan(input), nan, finite)


@native
@method
def heaviside(input, values):
    """0 where input is negative, 1 where it is positive, values where it is 0"""
    _check_same_dtype(input, values)
    return where(input == 0, values, (input > 0).to(input.dtype))


# Losses, an element each


def _elementwise(reduction):
    if reduction != "none":
        raise ValueError("reductions are not in the language yet: pass reduction='none' and reduce the op's result")


def l1_loss(input, target, size_average=None, reduce=None, reduction="mean"):
    """abs(input - target)"""
    _elementwise(reduction)
    return abs(input - target)


@native
def _mse_loss(input, target):
    error = input - target
    return error * error


def mse_loss(input, target, size_average=None, reduce=None, reduction="mean"):
    """(input - target) ** 2"""
    _elementwise(reduction)
    return _mse_loss(input, target)


@native
def _huber_loss(input, target, delta):
    error = abs(input - target)
    return where(error < delta, 0.5 * error * error, delta * (error - 0.5 * delta))


def huber_loss(input, target, reduction="mean", delta=1.0):
    """half the squared error where it is less than delta, beyond that linear"""
    _elementwise(reduction)
    return _huber_loss(input, target, delta)


@native
def _smooth_l1_loss(input, target, beta):
    error = abs(input - target)
    return where(error < beta, 0.5 * error * error / beta, error - 0.5 * beta)


def smooth_l1_loss(input, target, size_average=None, reduce=None, reduction="mean", beta=1.0):
    """half the squared error over beta where the error is less than beta, beyond that its distance"""
    _elementwise(reduction)
    return _smooth_l1_loss(input, target, beta)


def binary_cross_entropy_with_logits(input, target, weight=None, size_average=None, reduce=None, reduction="mean"):
    """the cross entropy between target and sigmoid(input)"""
    _elementwise(reduction)
    loss = (1 - target) * input - logsigmoid(input)
    return loss if weight is None else loss * weight


# Shapes


def flipud(input):
    """the order along the first dim reversed"""
    return input.flip(0)


def fliplr(input):
    """the order along the second dim reversed"""
    return input.flip(1)


def hstack(tensors):
    """tensors side by side along the second dim, vectors along their only one"""
    return cat(tensors, 0 if tensors[0].ndim == 1 else 1)


@method
def nextafter(input, other):
    """the next floating-point number after input towards other"""
    input, other = _promoted(input, other)
    if input.dtype in (torch.float16, torch.bfloat16):
        return _nextafter16(input, other)
    return _nextafter(input, other)


@native
def _nextafter16(input, other):
    """the next 16-bit float is one more or one less of its bits read as an integer"""
    input, other = _promoted(input, other)
    sign = -32768
    bits, target = input.view(torch.int16), other.view(torch.int16)
    size, target_size = bits & 32767, target & 32767
    inwards = (size > target_size) | ((bits ^ target) < 0)
    moved = where(inwards, bits - 1, bits + 1)
    smallest = where(target_size == 0, target, (target & sign) | 1)
    stepped = where(size == 0, smallest, where(bits == target, bits, moved)).view(input.dtype)
    return where(isnan(input) | isnan(other), input + other, stepped)
