"""Relatives of the gamma function. lgamma, igamma, igammac and zeta are primitives (ir/ops.def)."""


@method
def mvlgamma(input, p):
    """the multivariate log-gamma function of dimension p

    Source: aten/src/ATen/native/UnaryOps.cpp, mvlgamma
    """
    _check_dtype(input, "int float unsigned")
    if not isinstance(p, int):
        raise TypeError("p must be an int")
    if p < 1:
        raise ValueError("p has to be greater than or equal to 1")
    input = input.contiguous()
    total = 0.0
    for i in range(p):
        total = total + lgamma(input + (0.5 * i - 0.5 * (p - 1)))
    return total + p * (p - 1) * math.log(math.pi) * 0.25


multigammaln = mvlgamma


@native
@method
def digamma(input):
    """the derivative of lgamma

    Source: aten/src/ATen/native/cuda/Math.cuh, digamma_string (Cephes's psi, Stephen L. Moshier)
    """
    (input,) = _floating(input)
    is_negative = input < 0
    dtype = input.dtype
    if dtype != torch.float64:
        input = input.float()
    # pi / tan(pi x) from the fraction of x alone, in double: a narrower product would lose the fraction.
    wide = input.double()
    reflected = -(math.pi / tan(math.pi * (wide - trunc(wide)))).to(input.dtype)
    x = where(is_negative, 1 - input, input)
    result = where(is_negative, reflected, 0.0) if _on_cuda() else zeros_like(x)
    # digamma(x) = digamma(x + 1) - 1 / x moves positive x to 10 or more; from there on, the asymptotic series applies.
    for _ in range(10):
        is_small = x < 10
        result = where(is_small, result - 1 / x, result)
        x = where(is_small, x + 1, x)
    square = 1 / (x * x)
    coefficients = [
        0.08333333333333333, -0.021092796092796094, 0.007575757575757576, -0.004166666666666667,
        0.003968253968253968, -0.008333333333333333, 0.08333333333333333,
    ]
    correction = where(x < 1e17, square * _polynomial(square, coefficients), 0.0)
    if _on_cuda():
        far = log(x) - 0.5 / x - correction + result
    else:
        far = result + log(x) - 0.5 / x - correction
    value = where(x == 10, result + 2.251752589066721, far)
    if not _on_cuda():
        value = where(is_negative, value + reflected, value)
    value = where(is_negative & (input == trunc(input)), math.nan, value)
    return where(input == 0, copysign(full_like(input, math.inf), -input), value).to(dtype)


def _digamma_backward(grad, result, input):
    return grad * polygamma(1, input)


psi = digamma


@native
def _trigamma(input):
    (x,) = _floating(input)
    is_reflected = x < 0.5
    pi = full_like(x, math.pi)
    sine = sin(pi * x)
    result = where(is_reflected, -(pi * pi) / (sine * sine), 0.0)
    x = where(is_reflected, 1 - x, x)
    # trigamma(x) = trigamma(x + 1) + 1 / x**2, six times; then the asymptotic series.
    for _ in range(6):
        result = result + 1 / (x * x)
        x = x + 1
    inverse = 1 / (x * x)
    series = _fma(-inverse, _fma(-inverse, 1.0 / 42, 1.0 / 30), 1.0 / 6)
    result = result + _fma(inverse, series, 1 + 1 / (2 * x)) / x
    return where(is_reflected, -result, result)


def _trigamma_backward(grad, result, input):
    return grad * _polygamma(2, input)


@native
def _polygamma(n, input):
    (x,) = _floating(input)
    factorial = exp(lgamma(full_like(x, n + 1)))
    return (factorial if n % 2 else -factorial) * zeta(n + 1, x)


def _polygamma_backward(grad, result, n, input):
    return None, grad * _polygamma(n + 1, input)


def polygamma(n, input):
    """the n-th derivative of digamma

    Source: aten/src/ATen/native/cuda/Math.cuh, trigamma_string and polygamma_string
    """
    if isinstance(n, torch.Tensor):
        raise TypeError("polygamma(): argument 'n' (position 1) must be int, not Tensor")
    if isinstance(n, bool) or not isinstance(n, int):
        raise TypeError("argument 'n' (position 1) must be an int")
    if n < 0:
        raise ValueError("polygamma(n, x) does not support negative n")
    if n == 0:
        return digamma(input)
    return _trigamma(input) if n == 1 else _polygamma(n, input)


def _method_polygamma(input, n):
    return polygamma(n, input)
