"""Activation functions of torch and torch.nn.functional."""


@native
@method
def relu(input, inplace=False):
    """max(input, 0)

    Source: aten/src/ATen/native/Activation.cpp, relu
    """
    _check_dtype(input, "int float")
    return clamp(input, min=0)


def _relu_backward(grad, result, input, inplace):
    return where(result <= 0, 0, grad)


def relu6(input, inplace=False):
    """min(max(input, 0), 6)"""
    return hardtanh(input, 0.0, 6.0)


@native
def hardtanh(input, min_val=-1.0, max_val=1.0, inplace=False):
    """input clamped to [min_val, max_val]

    Source: aten/src/ATen/native/Activation.cpp, hardtanh
    """
    _check_dtype(input, "int float")
    if isinstance(min_val, torch.Tensor) or isinstance(max_val, torch.Tensor):
        return clamp(input, full_like(input, min_val), full_like(input, max_val))
    assert not min_val > max_val, "min_val cannot be greater than max_val"
    if not input.is_floating_point():
        min_val, max_val = int(min_val), int(max_val)
        if input.dtype == torch.uint8 and min_val < 0:
            raise ValueError("hardtanh of an unsigned type needs a min_val that is not negative")
    return clamp(input, min_val, max_val)


def _hardtanh_backward(grad, result, input, min_val, max_val, inplace):
    return _grad_where((input > min_val) & (input < max_val), (input <= min_val) | (input >= max_val), grad)


def _grad_where(passes, blocks, grad):
    """grad if `passes`, 0 if `blocks`. For NaN neither is true: the result is 0 on the CPU, as in eager's vector code,
    and grad on CUDA, as in eager's kernels."""
    return where(blocks, 0, grad) if _on_cuda() else where(passes, grad, 0)


@native
@method
def sigmoid(input):
    """1 / (1 + exp(-input))

    Source: aten/src/ATen/native/cuda/UnarySpecialOpsKernel.cu, sigmoid_kernel_cuda
    """
    (input,) = _floating(input)
    return 1 / (1 + exp(-input))


def _sigmoid_backward(grad, result, input):
    return grad * (1 - result) * result


def logsigmoid(input):
    """log(sigmoid(input)), accurate for large and small inputs

    Source: aten/src/ATen/native/cuda/ActivationLogSigmoidKernel.cu
    """
    return _logsigmoid(input if _on_cuda() else input.contiguous())


@native
def _logsigmoid(input):
    _check_dtype(input, "float")
    return where(input < 0, input, 0.0) - log1p(exp(-abs(input)))


def _logsigmoid_backward(grad, result, input):
    decay = exp(-abs(input))
    # If the exponential underflows to 0, the derivative of this quotient is lost. So the second derivative is that of
    # sigmoid(-input).
    sigmoid_of_minus_abs = decay / (1 + decay)
    derivative = where(input < 0, 1 - sigmoid_of_minus_abs, sigmoid_of_minus_abs)
    return grad * _with_derivative_of(derivative.detach(), sigmoid(-input))


@native
def silu(input, inplace=False):
    """input * sigmoid(input)

    Source: aten/src/ATen/native/cuda/ActivationSiluKernel.cu
    """
    _check_dtype(input, "float")
    return input / (1 + exp(-input))


def _silu_backward(grad, result, input, inplace):
    weight = sigmoid(input)
    return grad * weight * _fma_on_cuda(input, 1 - weight, 1)


@native
def mish(input, inplace=False):
    """input * tanh(softplus(input))

    Source: aten/src/ATen/native/cuda/ActivationMishKernel.cu
    """
    _check_dtype(input, "float")
    # For inputs above 20 the tanh is 1, so the result is the input.
    return input * tanh(_log1p_finite(exp(fmin(input, 20))))


def _mish_backward(grad, result, input, inplace):
    weight = sigmoid(input)
    tanh_value = tanh(_log1p_finite(exp(fmin(input, 20))))
    return grad * (tanh_value + input * weight * (1 - tanh_value * tanh_value))


@native
def gelu(input, *, approximate="none"):
    """input * the normal distribution's cumulative probability at input, or its tanh approximation

    Source: aten/src/ATen/native/cuda/ActivationGeluKernel.cu
    """
    _check_dtype(input, "float")
    if approximate == "none":
        return input * 0.5 * (1 + erf(input * 0.7071067811865476))
    if approximate != "tanh":
        raise ValueError("approximate must be 'none' or 'tanh'")
    cube = input * input * input
    inner = _fma(0.044715, cube, input) if _on_cuda() else input + 0.044715 * cube
    return 0.5 * input * (1 + tanh(0.7978845608028654 * inner))


def _gelu_derivative(x):
    probability = 0.5 * (1 + erf(x * 0.7071067811865476))
    density = exp(-0.5 * x * x) * 0.3989422804014327
    return probability + x * density


def _low_precision_gelu_derivative(x):
    """_gelu_derivative with an error of at most 4e-7, for 16-bit results. It takes one exponential, and a third of
    _gelu_derivative's instructions.

    Source: Abramowitz and Stegun, Handbook of Mathematical Functions, 26.2.17
    """
    density = exp2(x * x * (-0.5 / math.log(2))) * 0.3989422804014327
    t = _approximate_reciprocal(_fma(abs(x), 0.2316419, 1))
    terms = _fma(t, _fma(t, 1.330274429, -1.821255978), 1.781477937)
    tail = density * t * _fma(t, _fma(t, terms, -0.356563782), 0.31938153)
    return where(x < 0, tail, 1 - tail) + x * density


def _gelu_backward(grad, result, input, approximate):
    if approximate == "none" and _low_precision_output(input):
        return grad * _with_derivative_of(_low_precision_gelu_derivative(input).detach(), _gelu_derivative(input))
    if approximate == "none":
        return grad * _gelu_derivative(input)
    square = input * input
    tanh_value = tanh(0.7978845608028654 * (input + 0.044715 * (square * input)))
    inner_derivative = 0.7978845608028654 * (1 + 3 * 0.044715 * square)
    return grad * (0.5 * (1 + tanh_value) + 0.5 * input * (1 - tanh_value * tanh_value) * inner_derivative)


@native
def softplus(input, beta=1.0, threshold=20.0):
    """log(1 + exp(beta * input)) / beta; input if beta * input exceeds threshold

    Source: aten/src/ATen/native/cuda/ActivationSoftplusKernel.cu
    """
    _check_dtype(input, "float")
    beta, threshold = _in_compute_dtype(beta, input), _in_compute_dtype(threshold, input)
    scaled = input * beta
    return where(scaled > threshold, input, log1p(exp(scaled)) / beta)


def _softplus_backward(grad, result, input, beta, threshold):
    beta, threshold = _in_compute_dtype(beta, input), _in_compute_dtype(threshold, input)
    scaled = input * beta
    power = exp(scaled)
    product = grad * power / (power + 1)
    # The second derivative follows softplus_double_backward: the sigmoid's derivative below the threshold, 0 at and
    # above the threshold.
    second_order_product = grad * where(scaled < threshold, sigmoid(scaled), (power / (power + 1)).detach())
    return where(scaled > threshold, grad, _with_derivative_of(product.detach(), second_order_product))


@native
def _elu(input, alpha, scale, input_scale):
    negative = expm1(input * input_scale) * (full_like(input, _in_compute_dtype(alpha, input)) * scale)
    return where(input > 0, input * scale, negative)


def _elu_backward(grad, result, input, alpha, scale, input_scale):
    scaled_alpha = full_like(input, _in_compute_dtype(alpha, input)) * scale
    power = _detach_where(input == 0, exp(input * input_scale))  # no second derivative at 0, as in elu_double_backward
    negative, positive = grad * input_scale * scaled_alpha * power, grad * scale
    # NaN satisfies neither comparison: CUDA's kernel treats it as positive, the CPU's vector code as negative.
    return where(input <= 0, negative, positive) if _on_cuda() else where(input > 0, positive, negative)


def elu(input, alpha=1.0, inplace=False):
    """input if it is positive, else alpha * (exp(input) - 1)

    Source: aten/src/ATen/native/cuda/ActivationEluKernel.cu
    """
    _check_dtype(input, "float")
    return _elu(input, alpha, 1.0, 1.0)


def selu(input, inplace=False):
    """elu with alpha and a scale that make activations keep mean 0 and variance 1 (self-normalising)

    Source: aten/src/ATen/native/cuda/ActivationEluKernel.cu
    """
    _check_dtype(input, "float")
    return _elu(input, 1.6732632423543772, 1.0507009873554805, 1.0)


def celu(input, alpha=1.0, inplace=False):
    """input if it is positive, else alpha * (exp(input / alpha) - 1)

    Source: aten/src/ATen/native/cuda/ActivationEluKernel.cu
    """
    _check_dtype(input, "float")
    if isinstance(alpha, torch.Tensor):
        return _elu(input, alpha, 1.0, _in_compute_dtype(1.0 / alpha.double(), input))
    return _elu(input, alpha, 1.0, 1.0 / alpha)


@native
def leaky_relu(input, negative_slope=0.01, inplace=False):
    """input if it is positive, else negative_slope * input

    Source: aten/src/ATen/native/cuda/ActivationLeakyReluKernel.cu
    """
    _check_dtype(input, "float")
    return where(input > 0, input, input * _in_compute_dtype(negative_slope, input))


def _leaky_relu_backward(grad, result, input, negative_slope, inplace):
    return where(input > 0, grad, grad * _in_compute_dtype(negative_slope, input))


@native
def _prelu(input, weight):
    return where(input > 0, input, weight * input)


def _prelu_backward(grad, result, input, weight):
    return where(input > 0, grad, weight * grad), where(input > 0, 0, input * grad)


@method
def prelu(input: Tensor, weight: Tensor):
    """input if it is positive, else weight * input; one weight for all, or one per coordinate of dim 1

    Source: aten/src/ATen/native/cuda/ActivationPreluKernel.cu
    """
    _check_dtype(input, "float")
    _check_same_dtype(input, weight)
    if weight.ndim > 1:
        raise ValueError("the weight must be a number or a vector")
    if weight.ndim != input.ndim:
        weight = weight.reshape([-1 if dim == 1 else 1 for dim in range(input.ndim)])
    if input.ndim > 1:
        assert weight.numel() == 1 or weight.numel() == input.size(1), "the weight must have one element, or one for each channel"
    else:
        assert weight.numel() == 1, "the weight must have one element, or one for each channel"
    return _prelu(input, weight)


def rrelu(input, lower=0.125, upper=0.3333333333333333, training=False, inplace=False):
    """leaky_relu with random slopes between lower and upper in training, else with their mean

    Source: aten/src/ATen/native/Activation.cpp, rrelu_with_noise_cpu
    """
    assert lower <= upper, "lower must not be greater than upper"
    if training:
        return _rrelu_training(input.contiguous(), lower, upper)
    return leaky_relu(input.contiguous(), (lower + upper) / 2)


@native
def _rrelu_training(input, lower, upper):
    _check_dtype(input, "float")
    slope = lower + _unit_numbers(input, _compute_dtype(input)) * (upper - lower)
    return where(input <= 0, input * slope, input).to(input.dtype)


@native
def hardswish(input, inplace=False):
    """input * relu6(input + 3) / 6

    Source: aten/src/ATen/native/cuda/ActivationHardswishKernel.cu
    """
    _check_dtype(input, "float")
    product = input * clamp(input + 3, 0, 6)
    # CUDA's kernel multiplies by 1 / 6, rounded to float32.
    return product * 0.1666666716337204 if _on_cuda() else product / 6


def _hardswish_backward(grad, result, input, inplace):
    inner_grad = grad * (input / 3 + 0.5)  # also the result for NaN on the CPU, as in eager's vector code
    grad_above_minus_3 = where(input < 3, inner_grad, grad) if _on_cuda() else where(input >= 3, grad, inner_grad)
    return where(input <= -3, 0, grad_above_minus_3)


@native
def hardsigmoid(input, inplace=False):
    """relu6(input + 3) / 6

    Source: aten/src/ATen/native/cuda/ActivationHardsigmoidKernel.cu
    """
    _check_dtype(input, "float")
    clamped = clamp(input + 3, 0, 6)
    return clamped * 0.1666666716337204 if _on_cuda() else clamped / 6


def _hardsigmoid_backward(grad, result, input, inplace):
    return where((input > -3) & (input < 3), grad * 0.1666666716337204, 0)


def softsign(input):
    """input / (1 + abs(input))"""
    return input / (abs(input) + 1)


def tanhshrink(input):
    """input - tanh(input)"""
    return input - tanh(input)


@native
def softshrink(input, lambd=0.5):
    """input moved towards 0 by lambd; 0 if abs(input) is at most lambd

    Source: aten/src/ATen/native/cuda/ActivationSoftshrinkKernel.cu
    """
    _check_dtype(input, "float")
    if not isinstance(lambd, torch.Tensor):
        assert lambd >= 0, "softshrink needs a lambd that is not negative"
        assert lambd <= torch.finfo(input.dtype).max, "softshrink needs a lambd that fits in the dtype"
    lambd = _rounded_to_dtype(lambd, input) if _on_cuda() else _in_compute_dtype(lambd, input)
    nan_or_zero = where(isnan(input), input, 0.0)
    return where(input > lambd, input - lambd, where(input < -lambd, input + lambd, nan_or_zero))


def _softshrink_backward(grad, result, input, lambd):
    return _grad_beyond(input, lambd, grad)


def _grad_beyond(input, lambd, grad):
    """grad if abs(input) exceeds lambd, else 0"""
    return _grad_where((input < -lambd) | (input > lambd), (input >= -lambd) & (input <= lambd), grad)


@native
def hardshrink(input, lambd=0.5):
    """0 if abs(input) is at most lambd, else input

    Source: aten/src/ATen/native/cuda/ActivationHardshrinkKernel.cu
    """
    _check_dtype(input, "float")
    lambd = _rounded_to_dtype(lambd, input)
    return where((input >= -lambd) & (input <= lambd), 0.0, input)


def _hardshrink_backward(grad, result, input, lambd):
    return _grad_beyond(input, lambd, grad)


@native
def threshold(input, threshold, value, inplace=False):
    """input if it exceeds the threshold, else value

    Source: aten/src/ATen/native/cuda/ActivationThresholdKernel.cu
    """
    _check_dtype(input, "int float")
    if not input.is_floating_point():
        threshold, value = _to_int(threshold), _to_int(value)
    is_rounded = _on_cuda() or not input.is_floating_point()
    limit = _rounded_to_dtype(threshold, input) if is_rounded else _in_compute_dtype(threshold, input)
    return where(input <= limit, _rounded_to_dtype(value, input), input)


def _threshold_backward(grad, result, input, threshold, value, inplace):
    return where(input <= threshold, 0, grad)


@native
def _glu(a, b):
    return a * (1 / (1 + exp(-b)))


def _glu_backward(grad, result, a, b):
    weight = sigmoid(b)
    return grad * weight, grad * (1 - weight) * weight * a


def glu(input, dim=-1):
    """the first half of a dim times the sigmoid of the second half

    Source: aten/src/ATen/native/cuda/ActivationGluKernel.cu
    """
    _check_dtype(input, "float")
    assert input.ndim > 0, "glu does not support 0-dimensional tensors"
    assert input.size(dim) % 2 == 0, "Halving dimension must be even"
    a, b = input.chunk(2, dim)
    return _glu(a, b)
