"""Arithmetic beyond the operators: fused products and quotients, powers, neighbouring numbers."""


@method
def div(input, other, *, rounding_mode=None):
    """input / other; rounding_mode 'trunc' rounds towards zero, 'floor' towards minus infinity"""
    if rounding_mode is None:
        return _div(input, other)
    if rounding_mode == "floor":
        return _floor_quotient(input, other)
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
    quotient = _floor_quotient(input, other)
    return _floor_divide_result(quotient) if quotient.is_floating_point() else quotient


@native
def _floor_divide_result(quotient):
    # PyTorch's derivative of div(rounding_mode="floor") is 0; floor_divide has no derivative.
    return quotient


def _floor_divide_result_backward(grad, result, quotient):
    # A string in place of a gradient names the function that has no derivative.
    return "floor_divide"


def _floor_quotient(input, other):
    if _multiplies_by_reciprocal(input, other):
        return _floor_divide_number(input, other)
    if _divides_in_16_bits(input, other):
        return _floor_divide16(input, other)
    return _floor_divide(input, other)


@native
def _trunc_divide_number(input, other):
    # CUDA's kernel for a number multiplies by its reciprocal, which is computed once, in float32 for 16-bit floats.
    input, _ = _floating(input, other)
    return trunc(input * _reciprocal_of(_number(other), input))


@native
def _floor_divide_number(input, other):
    input, _ = _floating(input, other)
    other = _number(other)
    inverse = _reciprocal_of(other, input)
    residue = fmod(input, other)
    quotient = (input - residue) * inverse
    quotient = where((residue != 0) & ((residue < 0) != (other < 0)), quotient - 1, quotient)
    floored = _floored_to(quotient, input.dtype)
    signed_zero = copysign(zeros_like(input), input * inverse)
    result = where(quotient != 0, floored, signed_zero)
    return where(full_like(input, other) == 0, input * inverse, result)


@native
def _trunc_divide16(input, other):
    # The kernel rounds the quotient to 16 bits before it truncates.
    input, other = _promoted(input, other)
    return trunc((input / other).to(input.dtype))


@native
def _floor_divide16(input, other):
    # On the CPU, every step of the kernel rounds to 16 bits; on CUDA, only the last steps round.
    input, other = _promoted(input, other)
    dtype = torch.float32 if _on_cuda() else input.dtype
    residue = fmod(input, other)
    quotient = ((input - residue).to(dtype) / other).to(dtype)
    quotient = where((residue != 0) & ((residue < 0) != (other < 0)), (quotient - 1).to(dtype), quotient)
    floored = _floored_to(quotient, input.dtype)
    unrounded = input / other
    result = where(quotient != 0, floored, copysign(zeros_like(input), unrounded))
    return where(other == 0, unrounded, result)


def _floored_to(quotient, dtype):
    # The kernels store the floor in the tensors' dtype, in which it may round to less than the quotient's floor.
    floored = floor(quotient).to(dtype)
    return where(quotient - floored > 0.5, (floored + 1).to(dtype), floored)


@method
def square(input):
    """input * input"""
    return input ** 2


@native
@method
def frac(input):
    """the fractional part of input, with its sign

    Source: aten/src/ATen/native/cuda/UnaryFractionKernels.cu
    """
    _check_dtype(input, "float")
    return input - trunc(input)


@native
@method
def lerp(input: Tensor, end: Tensor, weight):
    """input + weight * (end - input)

    Source: aten/src/ATen/native/cuda/Lerp.cu
    """
    _check_dtype(input, "float")
    _check_dtype(end, "float")
    if isinstance(weight, torch.Tensor) and weight.ndim == 0:
        weight = weight.to(input.dtype)
    _check_same_dtype(input, end, weight)
    if not isinstance(weight, torch.Tensor):
        weight = full_like(input, _in_compute_dtype(weight, input))
    span = end - input
    return where(abs(weight) < 0.5, _fma(weight, span, input), _fma(weight - 1, span, end))


def _lerp_backward(grad, result, input, end, weight):
    if isinstance(weight, torch.Tensor):
        return grad * (1 - weight), grad * weight, grad * (end - input)
    return grad * (1 - weight), grad * weight


def _to_int(number):
    # A tensor is truncated when it is cast.
    return number if isinstance(number, torch.Tensor) else int(number)


@native
@method
def addcmul(input: Tensor, tensor1: Tensor, tensor2: Tensor, *, value=1):
    """input + value * tensor1 * tensor2

    Source: aten/src/ATen/native/cuda/PointwiseOpsKernel.cu
    """
    input, tensor1, tensor2 = _promoted(input, tensor1, tensor2)
    if not input.is_floating_point():
        return input + _rounded_to_dtype(_to_int(value), input) * tensor1 * tensor2
    value = _in_compute_dtype(value, input)
    if _on_cuda():
        scaled = _fma(value, tensor1 * tensor2, input)
        return where(full_like(input, value) == 1, _fma(tensor1, tensor2, input), scaled)
    return _fma(value * tensor1, tensor2, input)


@native
@method
def addcdiv(input: Tensor, tensor1: Tensor, tensor2: Tensor, *, value=1):
    """input + value * tensor1 / tensor2

    Source: aten/src/ATen/native/cuda/PointwiseOpsKernel.cu
    """
    if not tensor1.is_floating_point() and not tensor2.is_floating_point():
        raise ValueError("integer division with addcdiv is not supported: cast a tensor first")
    input, tensor1, tensor2 = _promoted(input, tensor1, tensor2)
    _check_dtype(input, "float")
    value = _in_compute_dtype(value, input)
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
def ldexp(input: Tensor, other: Tensor):
    """input * 2 ** other; rounded once if other is an integer tensor"""
    _check_dtype(input, "bool int float unsigned")
    if not input.dtype.is_floating_point or other.dtype.is_floating_point:
        _check_dtype(other, "bool int float unsigned")
        # The power of a number is contiguous; the power of a tensor has the exponent's strides.
        has_exponent_strides = input.dtype.is_floating_point and input.dtype != torch.float32
        return input * pow(torch.tensor(2.0, dtype=input.dtype) if has_exponent_strides else 2.0, other)
    _check_dtype(other, "int")
    return _scaled(input, clamp(other.to(torch.int32).long(), -2200, 2200))


@native
def _scaled(x, n):
    """x * 2 ** n. Narrower dtypes compute in float64, in which the product is exact. float64 scales in steps, of which
    only one rounds.

    Source: aten/src/ATen/native/cuda/BinaryMiscOpsKernels.cu, ldexp_kernel_cuda (C's ldexp)
    """
    if x.dtype != torch.float64:
        return (x.double() * _power_of_two(clamp(n, -300, 300))).to(x.dtype)
    for _ in range(2):
        # -969 is -1022 + 53: a product that rounds here is so small that the remaining factor makes it 0.
        step = where(n < -1022, -969, clamp(n, max=1023))
        x, n = x * _power_of_two(step), n - step
    return x * _power_of_two(clamp(n, max=1023))


def _power_of_two(n):
    """2 ** n as float64 for int64 n from -1022 to 1023, assembled from its bits"""
    return ((n + 1023) << 52).view(torch.float64)


@native
@method
def lcm(input: Tensor, other: Tensor):
    """the least common multiple

    Source: aten/src/ATen/native/cuda/GcdLcmKernel.cu
    """
    _check_dtype(input, "int")
    _check_dtype(other, "int")
    input, other = _promoted(input, other)
    divisor = gcd(input, other)
    # As in C, narrower integers multiply as int32; the result is truncated at the end.
    wide = input.dtype if input.dtype == torch.int64 else torch.int32
    multiple = input.to(wide) // where(divisor == 0, 1, divisor).to(wide) * other.to(wide)
    return where(divisor == 0, 0, abs(multiple).to(input.dtype))


@native
def _round_decimals(input, decimals):
    _check_dtype(input, "float")
    power = full_like(input, 10.0 ** abs(decimals))
    scaled = input * power if decimals > 0 else input / power
    if _on_cuda():
        scaled = scaled.to(input.dtype)  # CUDA's kernel rounds to the dtype before it rounds to an integer
    return _round(scaled) / power if decimals > 0 else _round(scaled) * power


@method
def round(input, *, decimals=0):
    """input rounded to a number of decimals, ties to even"""
    return _round(input) if decimals == 0 else _round_decimals(input, decimals)


@method
def frexp(input):
    """mantissa, of magnitude in [0.5, 1), and exponent as int32: input is mantissa * 2 ** exponent

    Source: aten/src/ATen/native/cuda/UnaryFractionKernels.cu
    """
    _check_dtype(input, "float")
    is_double = input.dtype == torch.float64
    x = input if is_double else input.float()
    # The bias is 1 less than that of the format, because the mantissa is below 1. Denormals are scaled by 2 ** lift.
    width, bias, lift = (52, 1022, 54) if is_double else (23, 126, 25)
    mask = 2 * bias + 3
    is_denormal = abs(x) < torch.finfo(x.dtype).tiny
    bits = where(is_denormal, x * 2.0**lift, x).view(torch.int64 if is_double else torch.int32)
    field = (bits >> width) & mask
    exponent = where(is_denormal, field - lift, field) - bias
    mantissa = (bits & ~(mask << width) | bias << width).view(x.dtype)
    is_regular = (x != 0) & isfinite(x)
    if _is_differentiated():
        mantissa = x / exp2(exponent)
    mantissa, exponent = where(is_regular, mantissa, x).to(input.dtype), where(is_regular, exponent, 0).to(torch.int32)
    return _named("frexp", mantissa=mantissa, exponent=exponent)


@method
def diff(input, n=1, dim=-1, prepend=None, append=None):
    """the n-th differences of neighbouring elements along a dim"""
    assert n >= 0, "order must be non-negative"
    if n > 0 and (prepend is not None or append is not None):
        input = cat([x for x in (prepend, input, append) if x is not None], dim)
    if n > 1 or _known(input.size(dim)):
        n = min(n, input.size(dim))
    for _ in range(n):
        size = input.size(dim)
        count = max(size - 1, 0)
        later, earlier = input.narrow(dim, size - count, count), input.narrow(dim, 0, count)
        input = later != earlier if input.dtype == torch.bool else later - earlier
    return input if n > 0 else input.clone()


@method
def nextafter(input: Tensor, other: Tensor):
    """the next floating-point number after input towards other"""
    input, other = _promoted(input, other)
    if input.dtype in (torch.float16, torch.bfloat16):
        return _nextafter16(input, other)
    return _nextafter(input, other)


@native
def _nextafter16(input, other):
    """steps to a neighbour by adding 1 to, or subtracting 1 from, the bits read as an integer"""
    input, other = _promoted(input, other)
    sign = -32768
    bits, target = input.view(torch.int16), other.view(torch.int16)
    magnitude, target_magnitude = bits & 32767, target & 32767
    moves_inwards = (magnitude > target_magnitude) | ((bits ^ target) < 0)
    neighbour = where(moves_inwards, bits - 1, bits + 1)
    smallest = where(target_magnitude == 0, target, (target & sign) | 1)
    stepped = where(magnitude == 0, smallest, where(bits == target, bits, neighbour)).view(input.dtype)
    return where(isnan(input) | isnan(other), input + other, stepped)


@native
def _determinant(a, b, c, d):
    """a * d - b * c, rounded as in the kernel of cross: after every step for 16-bit floats"""
    dtype = a.dtype
    if dtype in (torch.float16, torch.bfloat16):
        return (a * d).to(dtype) - (b * c).to(dtype)
    return _fma(a, d, -(b * c)) if dtype.is_floating_point else a * d - b * c


@method
def cross(input: Tensor, other: Tensor, dim=None):
    """cross products of vectors of three along a dim; without dim, along the first dim of size 3

    Source: aten/src/ATen/native/cuda/CrossKernel.cu
    """
    if input.ndim != other.ndim:
        raise ValueError("linalg.cross: inputs must have the same number of dimensions.")
    if dim is None:
        dim = ([d for d in range(input.ndim) if input.size(d) == 3] + [None])[0]
        if dim is None:
            raise ValueError("no dimension of size 3 in input")
    assert input.size(dim) == 3 and other.size(dim) == 3, "linalg.cross: inputs dimension must have length 3"
    _check_same_dtype(input, other)
    input, other = broadcast_tensors(input, other)
    (a0, a1, a2), (b0, b1, b2) = input.unbind(dim), other.unbind(dim)
    parts = [_determinant(a1, a2, b1, b2), _determinant(a2, a0, b2, b0), _determinant(a0, a1, b0, b1)]
    return stack(parts, dim).contiguous()
