"""Exponentials, logarithms and angles."""


@native
@method
def logaddexp(input: Tensor, other: Tensor):
    """log(exp(input) + exp(other)) without overflow

    Source: aten/src/ATen/native/cuda/LogAddExpKernel.cu
    """
    input, other = _promoted(input, other)
    _check_dtype(input, "float")
    finite = fmax(input, other) + log1p(exp(-abs(input - other)))
    return where(isinf(input) & (input == other), input, finite)


def _logaddexp_backward(grad, result, input, other):
    return grad / (1 + exp(other - input)), grad / (1 + exp(input - other))


@native
@method
def logaddexp2(input: Tensor, other: Tensor):
    """log2(2**input + 2**other) without overflow

    Source: aten/src/ATen/native/cuda/LogAddExpKernel.cu
    """
    input, other = _promoted(input, other)
    _check_dtype(input, "float")
    finite = _fma(log1p(exp2(-abs(input - other))), 1.4426950408889634, fmax(input, other))
    return where(isinf(input) & (input == other), input, finite)


def _logaddexp2_backward(grad, result, input, other):
    return grad / (1 + exp2(other - input)), grad / (1 + exp2(input - other))


@native
@method
def xlogy(input, other):
    """input * log(other), 0 if input is 0 and other is not NaN

    Source: aten/src/ATen/native/cuda/BinaryMiscOpsKernels.cu
    """
    input, other = _floating(input, other)
    logarithm = _rounded(log(other), not _on_cuda())
    return where(isnan(other), other, where(input == 0, 0.0, input * logarithm))


def _xlogy_backward(grad, result, input, other):
    input, other = _floating(input, other)
    return where((input == 0) & (other <= 0), 0, xlogy(grad, other)), grad * input / other


@native
@method
def sinc(input):
    """sin(pi * input) / (pi * input), 1 at 0

    Source: aten/src/ATen/native/cuda/UnarySpecialOpsKernel.cu
    """
    (input,) = _floating(input)
    angle = input * 3.141592653589793
    return where(input == 0, 1.0, sin(angle) / angle)


def _sinc_backward(grad, result, input):
    angle = input * 3.141592653589793
    area = angle * input
    return where(area == 0, 0, grad * ((angle * cos(angle) - sin(angle)) / area))


@native
@method
def logit(input, eps=None):
    """log(input / (1 - input)), with input clamped to [eps, 1 - eps] if eps is given

    Source: aten/src/ATen/native/cuda/UnarySpecialOpsKernel.cu
    """
    (input,) = _floating(input)
    rounds_all = not _on_cuda()  # the CPU's kernel rounds every step
    if eps is not None:
        low = _rounded(full_like(input, eps), rounds_all)
        high = _rounded(1 - low, rounds_all)
        input = where(input < low, low, where(input > high, high, input))
    return log(_rounded(input / _rounded(1 - input, rounds_all), rounds_all))


def _logit_backward(grad, result, input, eps):
    derivative = grad / (input * (1 - input))
    if eps is None:
        return where((input < 0) | (input > 1), math.nan, derivative)
    low = full_like(input, eps)
    high = 1 - low
    return _grad_where((input >= low) & (input <= high), (input < low) | (input > high), derivative)


@method
def deg2rad(input):
    """degrees converted to radians"""
    return input * 0.017453292519943295


@method
def rad2deg(input):
    """radians converted to degrees"""
    return input * 57.29577951308232


@native
@method
def angle(input):
    """the angle of real numbers: pi if input is negative, else 0

    Source: aten/src/ATen/native/cuda/UnaryComplexKernels.cu
    """
    (x,) = _floating(input)
    return where(isnan(x), x, where(x < 0, full_like(x, math.pi), 0.0))


def _angle_backward(grad, result, input):
    return None
