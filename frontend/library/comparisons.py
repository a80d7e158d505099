"""Predicates on values, and functions that replace selected values."""


@method
def isposinf(input):
    """whether input is +inf"""
    _check_dtype(input, "bool int float unsigned")
    return input == math.inf


@method
def isneginf(input):
    """whether input is -inf"""
    _check_dtype(input, "bool int float unsigned")
    return input == -math.inf


@method
def isclose(input: Tensor, other: Tensor, rtol=1e-05, atol=1e-08, equal_nan=False):
    """whether abs(input - other) <= atol + rtol * abs(other)

    Source: aten/src/ATen/native/TensorCompare.cpp, isclose
    """
    if not isinstance(input, torch.Tensor) or not isinstance(other, torch.Tensor):
        raise TypeError("expected two tensors: compare with a number by abs(x - number) <= atol")
    _check_same_dtype(input, other)
    assert rtol >= 0 and atol >= 0, "rtol and atol must not be negative"
    is_close = input == other
    if equal_nan:
        is_close = is_close | (isnan(input) & isnan(other))
    if input.dtype == torch.bool:
        input = input.to(get_default_dtype())
    if not input.is_floating_point() or other.dtype == torch.bool:
        other = other.to(get_default_dtype())
    error = abs(input - other)
    return is_close | (isfinite(error) & (error <= atol + abs(rtol * other)))


@native
@method
def nan_to_num(input, nan=0.0, posinf=None, neginf=None):
    """NaN and infinities replaced by numbers, by default by 0 and the dtype's maximum and minimum finite value

    Source: aten/src/ATen/native/cuda/UnaryOpsKernel.cu
    """
    if not input.is_floating_point():
        return input
    _check_dtype(input, "float")
    inf_value = torch.finfo(input.dtype).max if posinf is None else posinf
    minus_inf_value = torch.finfo(input.dtype).min if neginf is None else neginf
    nan = 0.0 if nan is None else nan
    without_infinity = where(input == math.inf, inf_value, where(input == -math.inf, minus_inf_value, input))
    return where(isnan(input), nan, without_infinity)


@native
@method
def heaviside(input: Tensor, values: Tensor):
    """0 if input is negative, 1 if it is positive, values if it is 0

    Source: aten/src/ATen/native/cuda/BinaryMiscOpsKernels.cu
    """
    _check_dtype(values, "bool int float")
    _check_same_dtype(input, values)
    return where(input == 0, values, (input > 0).to(input.dtype))


def _heaviside_backward(grad, result, input, values):
    # PyTorch has no derivative of heaviside. A string in place of a gradient names the function in the error.
    return "heaviside", "heaviside"


def _method_where(input, condition, other):
    return where(condition, input, other)


@method
def isreal(input):
    """True for every element: all tensors are real"""
    return ones_like(input, dtype=torch.bool)


def fill(input, value):
    """a tensor like input, filled with a number or with the value of a 0-dim tensor"""
    if not isinstance(value, torch.Tensor):
        return full_like(input, value)
    if value.ndim != 0:
        raise ValueError("expected a number, or a 0-dim tensor")
    # The condition is always true; `input` only gives the result its shape and strides.
    return where(ones_like(input, dtype=torch.bool), value.to(input.dtype), input)


@method
def masked_fill(input, mask, value):
    """value if mask is true, else input"""
    if isinstance(value, torch.Tensor):
        if value.ndim != 0:
            raise ValueError("expected a number, or a 0-dim tensor")
        value = value.to(input.dtype)
    else:
        value = full_like(input, value)
    return _contiguous_copy(where(mask, value, input))
