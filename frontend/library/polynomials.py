"""Orthogonal polynomials: PyTorch's recurrences in n, and its closed forms if it has them."""


def _degree(x, n):
    """x and n in their common floating dtype, n truncated to an integer

    Eager converts n to int64. If that gives the smallest int64, n becomes -1 here, another degree below 0: for NaN, and
    on the CPU also for 2 ** 63 and more.
    """
    x, n = _floating(x, n)
    is_representable = n == n if _on_cuda() else n < 2.0**63
    return x, where(is_representable, trunc(n), -1.0)


def _is_even(n):
    return fmod(n, 2) == 0


def _sign_if(is_positive, n):
    """1 if `is_positive` is true, else -1"""
    return where(is_positive, ones_like(n), -1.0)


def _recurrence(twice_x, degree_one, n, has_closed_form):
    """Chebyshev's recurrence, if no closed form applies; `degree_one` is the polynomial of degree 1"""
    return where(n == 0, 1.0, _chebyshev_recurrence(twice_x, degree_one, where(has_closed_form, 0.0, n)))


def _value_of_degree(n, has_closed_form, closed_form, recurrence):
    return where(n < 0, 0.0, where(has_closed_form, closed_form, recurrence))


@native
def chebyshev_polynomial_t(input, n):
    """the Chebyshev polynomial of the first kind, of degree n

    Source: aten/src/ATen/native/cuda/Math.cuh, chebyshev_polynomial_t_string
    """
    x, n = _degree(input, n)
    return _chebyshev_t(x, n, abs(x) == 1, (x > 0) | _is_even(n))


@native
def shifted_chebyshev_polynomial_t(input, n):
    """chebyshev_polynomial_t(2 * input - 1, n)

    Source: aten/src/ATen/native/cuda/Math.cuh, shifted_chebyshev_polynomial_t_string
    """
    x, n = _degree(input, n)
    return _chebyshev_t(x + x - 1, n, (x == 0) | (x == 1), (x == 1) | _is_even(n))


def _chebyshev_t(x, n, is_end, is_positive):
    """`is_end`: abs(x) is 1; `is_positive`: the value there is 1, not -1"""
    is_trigonometric = (n > 6) & (abs(x) < 1)
    recurrence = _recurrence(x + x, x, n, is_end | is_trigonometric)
    value = where(is_end, _sign_if(is_positive, n), cos(n * acos(x)))
    return _value_of_degree(n, is_end | is_trigonometric, value, recurrence)


@native
def chebyshev_polynomial_u(input, n):
    """the Chebyshev polynomial of the second kind, of degree n

    Source: aten/src/ATen/native/cuda/Math.cuh, chebyshev_polynomial_u_string
    """
    x, n = _degree(input, n)
    return _chebyshev_u(x, n, abs(x) == 1, (x > 0) | _is_even(n), 8)


@native
def shifted_chebyshev_polynomial_u(input, n):
    """chebyshev_polynomial_u(2 * input - 1, n)

    Source: aten/src/ATen/native/cuda/Math.cuh, shifted_chebyshev_polynomial_u_string
    """
    x, n = _degree(input, n)
    return _chebyshev_u(x + x - 1, n, (x == 0) | (x == 1), (x == 1) | _is_even(n), 6)


def _chebyshev_u(x, n, is_end, is_positive, max_recurrence_degree):
    is_trigonometric = (n > max_recurrence_degree) & (abs(x) < 1)
    recurrence = _recurrence(x + x, x + x, n, is_end | is_trigonometric)
    angle = acos(x)
    multiple, sine = (n + 1) * angle, sin(angle)
    value = where(sine != 0, sin(multiple) / sine, (n + 1) * cos(multiple) / x)
    value = where(is_end, where(is_positive, n + 1, -(n + 1)), value)
    return _value_of_degree(n, is_end | is_trigonometric, value, recurrence)


@native
def chebyshev_polynomial_v(input, n):
    """the Chebyshev polynomial of the third kind, of degree n

    Source: aten/src/ATen/native/cuda/Math.cuh, chebyshev_polynomial_v_string
    """
    x, n = _degree(input, n)
    return _chebyshev_v(x, n, abs(x) == 1, x > 0, 8)


@native
def shifted_chebyshev_polynomial_v(input, n):
    """chebyshev_polynomial_v(2 * input - 1, n)

    Source: aten/src/ATen/native/cuda/Math.cuh, shifted_chebyshev_polynomial_v_string
    """
    x, n = _degree(input, n)
    return _chebyshev_v(x + x - 1, n, (x == 0) | (x == 1), x == 1, 6)


def _chebyshev_v(x, n, is_end, x_is_one, max_recurrence_degree):
    """`is_end`: abs(x) is 1. Above max_recurrence_degree, the closed form applies."""
    is_trigonometric = (n > max_recurrence_degree) & (abs(x) < 1)
    recurrence = _recurrence(x + x, x + x - 1, n, is_end | is_trigonometric)
    angle = acos(x)
    odd = n + n + 1
    at_minus_one = where(_is_even(n), odd, -odd)
    value = cos((n + 0.5) * angle) / cos(angle / 2)
    value = where(sin(angle / 2) != 1, value, at_minus_one)
    value = where(is_end, where(x_is_one, 1.0, at_minus_one), value)
    return _value_of_degree(n, is_end | is_trigonometric, value, recurrence)


@native
def chebyshev_polynomial_w(input, n):
    """the Chebyshev polynomial of the fourth kind, of degree n

    Source: aten/src/ATen/native/cuda/Math.cuh, chebyshev_polynomial_w_string
    """
    x, n = _degree(input, n)
    near_one = where(x > 0, n + n + 1, _sign_if(_is_even(n), n))
    return _chebyshev_w(x, n, abs(x) == 1, x > 0, near_one, 8)


@native
def shifted_chebyshev_polynomial_w(input, n):
    """chebyshev_polynomial_w(2 * input - 1, n)

    Source: aten/src/ATen/native/cuda/Math.cuh, shifted_chebyshev_polynomial_w_string
    """
    x, n = _degree(input, n)
    # Near 1, eager's kernel returns the value at -1, unlike the kernel of chebyshev_polynomial_w.
    return _chebyshev_w(x + x - 1, n, (x == 0) | (x == 1), x == 1, _sign_if(_is_even(n), n), 4)


def _chebyshev_w(x, n, is_end, x_is_one, near_one, max_recurrence_degree):
    is_trigonometric = (n > max_recurrence_degree) & (abs(x) < 1)
    recurrence = _recurrence(x + x, x + x + 1, n, is_end | is_trigonometric)
    angle = acos(x)
    at_minus_one = _sign_if(_is_even(n), n)
    value = sin((n + 0.5) * angle) / sin(angle / 2)
    value = where(cos(angle / 2) != 1, value, near_one)
    value = where(is_end, where(x_is_one, n + n + 1, at_minus_one), value)
    return _value_of_degree(n, is_end | is_trigonometric, value, recurrence)


def _hermite(x, n, ax, a):
    """The Hermite polynomial with the recurrence's factor a; ax is a * x. Eager gives NaN above max_degree."""
    max_degree = 512 if x.dtype == torch.float64 else 128
    steps = _hermite_recurrence(ax, full_like(x, a), where(n > max_degree, 0.0, n))
    result = where(n > max_degree, math.nan, steps)
    return where(n < 0, 0.0, where(n == 0, 1.0, result))


@native
def hermite_polynomial_h(input, n):
    """the physicists' Hermite polynomial of degree n

    Source: aten/src/ATen/native/cuda/Math.cuh, hermite_polynomial_h_string
    """
    x, n = _degree(input, n)
    return _hermite(x, n, x + x, 2.0)


@native
def hermite_polynomial_he(input, n):
    """the probabilists' Hermite polynomial of degree n

    Source: aten/src/ATen/native/cuda/Math.cuh, hermite_polynomial_he_string
    """
    x, n = _degree(input, n)
    return _hermite(x, n, x, 1.0)


@native
def laguerre_polynomial_l(input, n):
    """the Laguerre polynomial of degree n

    Source: aten/src/ATen/native/cuda/Math.cuh, laguerre_polynomial_l_string
    """
    x, n = _degree(input, n)
    return where(n < 0, 0.0, where((x == 0) | (n == 0), 1.0, _laguerre_recurrence(x, where(x == 0, 0.0, n))))


@native
def legendre_polynomial_p(input, n):
    """the Legendre polynomial of degree n

    Source: aten/src/ATen/native/cuda/Math.cuh, legendre_polynomial_p_string
    """
    x, n = _degree(input, n)
    is_end = abs(x) == 1
    ends = _sign_if((x > 0) | _is_even(n), n)
    inside = where(n == 0, 1.0, _legendre_recurrence(x, where(is_end, 0.0, n)))
    return where(n < 0, 0.0, where(is_end, ends, inside))
