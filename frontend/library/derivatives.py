"""Derivatives of the primitives: the gradient of each operand, None if it is 0 everywhere.

The formulas are those of tools/autograd/derivatives.yaml, as eager PyTorch computes them. The derivatives of `where`
and of casts are in frontend/gradient/differentiate.cpp. The derivative of a native function is next to the function. A
primitive without a rule here has no derivative.
"""


def _add_backward(grad, result, a, b):
    return grad, grad


def _sub_backward(grad, result, a, b):
    return grad, -grad


def _mul_backward(grad, result, a, b):
    return grad * b, grad * a


def _div_backward(grad, result, a, b):
    return grad / b, -grad * (result / b)


def _fma_backward(grad, result, a, b, c):
    return grad * b, grad * a, grad


def _floor_divide_backward(grad, result, a, b):
    return None


def _trunc_divide_backward(grad, result, a, b):
    return None


def _remainder_backward(grad, result, a, b):
    return grad, -grad * _floor_divide(a, b)


def _fmod_backward(grad, result, a, b):
    return grad, -grad * _trunc_divide(a, b)


def _pow_backward(grad, result, base, exponent):
    of_base = where(exponent == 0, 0, grad * (exponent * pow(base, exponent - 1)))
    return of_base, where((base == 0) & (exponent >= 0), 0, grad * (result * log(base)))


def _pow_number_backward(grad, result, base, exponent):
    return where(exponent == 0, 0, grad * (exponent * _pow_number(base, exponent - 1)))


def _neg_backward(grad, result, input):
    return -grad


def _abs_backward(grad, result, input):
    return grad * sign(input)


def _sign_backward(grad, result, input):
    return None


def _reciprocal_backward(grad, result, input):
    return -grad * (result * result)


def _approximate_reciprocal_backward(grad, result, input):
    return -grad * (result * result)


def _sqrt_backward(grad, result, input):
    return grad / (2 * result)


def _rsqrt_backward(grad, result, input):
    return -0.5 * result * result * (grad * result)  # result ** 3 alone may leave the dtype's range


def _floor_backward(grad, result, input):
    return None


def _ceil_backward(grad, result, input):
    return None


def _trunc_backward(grad, result, input):
    return None


def _round_backward(grad, result, input):
    return None


# maximum and minimum propagate NaN. Equal operands share the gradient; if an operand is NaN, both get the whole
# gradient.


def _maximum_backward(grad, result, a, b):
    return _gradient_share(grad, a, b, a <= b), _gradient_share(grad, a, b, b <= a)


def _minimum_backward(grad, result, a, b):
    return _gradient_share(grad, a, b, a >= b), _gradient_share(grad, a, b, b >= a)


def _gradient_share(grad, a, b, goes_to_other):
    return where(a == b, grad / 2, where(goes_to_other, 0, grad))


def _fmax_backward(grad, result, a, b):
    is_first = (a >= b) | isnan(b)
    return where(is_first, grad, 0), where(is_first, 0, grad)


def _fmin_backward(grad, result, a, b):
    is_first = (a <= b) | isnan(b)
    return where(is_first, grad, 0), where(is_first, 0, grad)


def _clamp_backward(grad, result, input, min, max):
    """A limit that is a tensor gets the gradient of the elements that it clamps."""
    is_above_min = True if min is None else input >= min
    is_below_max = True if max is None else input <= max
    grad_input = where(
        is_above_min if max is None else is_below_max if min is None else is_above_min & is_below_max, grad, 0
    )
    grad_min = None
    grad_max = None
    if min is not None:
        is_clamped = input < min
        grad_min = where(is_clamped if max is None else is_clamped & (min < max), grad, 0)
    if max is not None:
        is_clamped = input > max
        grad_max = where(is_clamped if min is None else is_clamped | (max < min), grad, 0)
    return grad_input, grad_min, grad_max


def _exp_backward(grad, result, input):
    return grad * result


def _exp2_backward(grad, result, input):
    return grad * result * 0.6931471805599453


def _expm1_backward(grad, result, input):
    return grad * (result + 1)


def _log_backward(grad, result, input):
    return grad / input


def _log2_backward(grad, result, input):
    return grad / (input * 0.6931471805599453)


def _log10_backward(grad, result, input):
    return grad / (input * 2.3025850929940456)


def _log1p_backward(grad, result, input):
    return grad / (input + 1)


def _log1p_finite_backward(grad, result, input):
    return grad / (input + 1)


def _sin_backward(grad, result, input):
    return grad * cos(input)


def _cos_backward(grad, result, input):
    return grad * -sin(input)


def _tan_backward(grad, result, input):
    return grad * (1 + result * result)


def _asin_backward(grad, result, input):
    return grad * rsqrt(-input * input + 1)


def _acos_backward(grad, result, input):
    return grad * -rsqrt(-input * input + 1)


def _atan_backward(grad, result, input):
    return grad / (input * input + 1)


def _sinh_backward(grad, result, input):
    return grad * cosh(input)


def _cosh_backward(grad, result, input):
    return grad * sinh(input)


def _tanh_backward(grad, result, input):
    return grad * _fma_on_cuda(-result, result, 1)


def _asinh_backward(grad, result, input):
    return grad * rsqrt(input * input + 1)


def _acosh_backward(grad, result, input):
    return grad * rsqrt(input * input - 1)


def _atanh_backward(grad, result, input):
    return grad * (1 / (1 - input * input))


def _atan2_backward(grad, result, a, b):
    square = a * a + b * b
    scale = where(square == 0, 0, 1 / square)
    return grad * b * scale, grad * -a * scale


def _hypot_backward(grad, result, a, b):
    return grad * (a / result), grad * (b / result)


def _erf_backward(grad, result, input):
    return 2 / math.sqrt(math.pi) * exp(-(input * input)) * grad


def _erfc_backward(grad, result, input):
    return -2 / math.sqrt(math.pi) * exp(-(input * input)) * grad


def _erfinv_backward(grad, result, input):
    return 0.5 * math.sqrt(math.pi) * exp(result * result) * grad


def _lgamma_backward(grad, result, input):
    return grad * digamma(input)


def _copysign_backward(grad, result, a, b):
    return where(a == 0, 0, grad * (result / a))


# PyTorch has no derivative of these functions with respect to the first operand. A string instead of a gradient means
# that there is no derivative (None would be a gradient of 0); the error quotes the string.


def _zeta_backward(grad, result, a, b):
    return "zeta", grad * -a * zeta(a + 1, b)


def _igamma_backward(grad, result, a, b):
    return "igamma: input", grad * exp((a - 1) * log(b) - b - lgamma(a))


def _igammac_backward(grad, result, a, b):
    return "igammac: input", -grad * exp((a - 1) * log(b) - b - lgamma(a))


# Reduces the gradient of a custom backward to the argument's shape, and converts it to the argument's dtype.


def _fit_gradient(gradient, argument):
    if gradient.ndim > argument.ndim:
        gradient = gradient.sum(tuple(range(gradient.ndim - argument.ndim)))
    for d in range(gradient.ndim):
        if argument.shape[argument.ndim - gradient.ndim + d] == 1 and gradient.shape[d] != 1:
            gradient = gradient.sum(d, keepdim=True)
    return gradient.expand_as(argument).to(argument.dtype)
