"""softmax and related functions, and the normalizations of torch.nn.functional."""


def _softmax_dim(dim, ndim):
    """PyTorch's default dim if none is given"""
    if dim is None:
        return 0 if ndim == 0 or ndim == 1 or ndim == 3 else 1
    return dim


def _softmax_input(input, dim, stacklevel, dtype, function):
    """input in its dtype; torch.softmax(x, dim, dtype) passes the dtype in the position of F.softmax's _stacklevel"""
    _check_one_dim(dim, function)
    if dtype is None and not isinstance(stacklevel, int):
        dtype = stacklevel
    x = input if dtype is None else input.to(dtype)
    if not x.is_floating_point():
        if x.numel() != 0:
            raise RuntimeError(function + "() is not implemented for integers and bools: pass dtype=torch.float32")
        return x
    _check_dtype(x, "float")
    return x


@reduction
def _softmax(input, dim):
    weights = exp(input - _reduce("max", input, dim, True, None).detach())
    return weights / _reduce("sum", weights, dim, True, "softmax")


@reduction
def _log_softmax(input, dim):
    shifted = input - _reduce("max", input, dim, True, None).detach()
    return shifted - log(_reduce("sum", exp(shifted), dim, True, "log_softmax"))


def _uses_one_pass(input):
    """whether sums of exponentials are computed without waiting for the maximum (docs/performance.md: one-pass-softmax)"""
    return _low_precision_output(input) and input.ndim > 0


def _log2_e():
    return 1 / math.log(2)


def _sum_of_exponentials(input, largest, shift, dim, function):
    """sum(exp(input - shift)), computed relative to the first element so that the sum need not wait for the maximum

    `shift` is the maximum, or its replacement if the maximum is not finite. If the first element is far from the
    maximum, or so large that rounding its product with log2(e) loses too much, the plain formula applies. An exponent
    is off by at most 64 * 2**-24.
    """
    first = _row_sample(input, dim, 0)
    offset = first * -_log2_e()
    is_near = (abs(largest - first) <= 64) & (abs(first) <= 2**20)
    terms = where(is_near, exp2(_fma(input, _log2_e(), offset)), exp(input - shift))
    total = _reduce("sum", terms, dim, True, function)
    near = total * exp2(_fma(shift, -_log2_e(), -offset))
    total = where(is_near, where(near < 1 + 2**-21, 1, near), total)  # exactly 1 for a row that one element dominates
    if not _is_differentiated():
        return total
    return _with_derivative_of(total.detach(), _reduce("sum", exp(input - shift.detach()), dim, True, None))


@reduction
def _softmax_in_one_pass(input, dim):
    largest = _reduce("max", input, dim, True, None).detach()
    shifted = input - largest
    total = _sum_of_exponentials(input, largest, largest, dim, "softmax")
    result = exp2(_fma(shifted, _log2_e(), -log2(total)))
    return _with_derivative_of(result.detach(), exp(shifted) * (1 / total)) if _is_differentiated() else result


@reduction
def _log_softmax_in_one_pass(input, dim):
    largest = _reduce("max", input, dim, True, None).detach()
    return input - largest - log(_sum_of_exponentials(input, largest, largest, dim, "log_softmax"))


@method
def softmax(input, dim=None, _stacklevel=3, dtype=None):
    """exp(input) divided by its sum along dim

    Source: aten/src/ATen/native/cuda/SoftMax.cu
    """
    dim = _softmax_dim(dim, input.ndim)
    x = _softmax_input(input, dim, _stacklevel, dtype, "softmax")
    if not x.is_floating_point():
        return _contiguous_copy(x)  # an integer tensor has no elements here
    return _softmax_in_one_pass(x, dim) if _uses_one_pass(x) else _softmax(x, dim)


@method
def log_softmax(input, dim=None, _stacklevel=3, dtype=None):
    """log(softmax(input)), accurate even if softmax is nearly 0

    Source: aten/src/ATen/native/cuda/SoftMax.cu
    """
    dim = _softmax_dim(dim, input.ndim)
    x = _softmax_input(input, dim, _stacklevel, dtype, "log_softmax")
    if not x.is_floating_point():
        return _contiguous_copy(x)
    return _log_softmax_in_one_pass(x, dim) if _uses_one_pass(x) else _log_softmax(x, dim)


def softmin(input, dim=None, _stacklevel=3, dtype=None):
    """softmax(-input)

    Source: torch/nn/functional.py, softmin
    """
    return softmax(-input, dim, _stacklevel, dtype)


def _check_number(value, name, function):
    if isinstance(value, torch.Tensor) and value.ndim > 0:
        raise TypeError(function + "(): argument '" + name + "' must be a number, not a tensor with dims")


def _check_parameter_dtype(parameter, input, function):
    """Checks that a weight or bias has input's dtype, or float32 beside 16-bit floats."""
    if parameter is not None and parameter.dtype != input.dtype:
        if parameter.dtype != torch.float32 or input.dtype not in (torch.float16, torch.bfloat16):
            raise RuntimeError(function + ": weight and bias must have the input's dtype, or float32 for a 16-bit input")


def _normalized_dims(input, normalized_shape, parameters, function):
    """checks the last dims against normalized_shape and the parameters, and returns them"""
    if not isinstance(normalized_shape, (tuple, list)):
        raise TypeError(function + "(): argument 'normalized_shape' must be a tuple of ints: write (n,)")
    count = len(normalized_shape)
    if count == 0:
        raise RuntimeError("Expected normalized_shape to be at least 1-dimensional, i.e., containing at least one element")
    if input.ndim < count:
        raise RuntimeError(function + ": the input has fewer dims than normalized_shape")
    for k in range(count):
        input_message = "Given normalized_shape, expected an input whose last dims have these sizes"
        assert input.size(k - count) == normalized_shape[k], input_message
    for parameter in parameters:
        if parameter is None:
            continue
        parameter_message = "Expected weight and bias to be of same shape as normalized_shape"
        assert parameter.ndim == count, parameter_message
        for k in range(count):
            assert parameter.size(k) == normalized_shape[k], parameter_message
    return [k - count for k in range(count)]


def _fma_on_cuda(a, b, c):
    """a * b + c, rounded once on CUDA, because CUDA's kernels are compiled to fused multiply-adds"""
    return _fma(a, b, c) if _on_cuda() else a * b + c


def _standardized(input, dims, eps, weight=None, bias=None):
    """(input - mean) / standard deviation along dims, times weight, plus bias; computed as deviation * scale + bias;
    the scale contains the weight, and the bias the correction of the rounded mean, which the gradient ignores"""
    mean, mean_error, squares = _moments(input, dims, "mean")
    scale = rsqrt(_divided_by_count(squares, input, dims) + eps)
    if weight is not None:
        scale = scale * weight
    correction = (mean_error * scale).detach()
    return _affine(input - mean, scale, correction if bias is None else correction + bias)


def _affine(x, weight, bias):
    if weight is None:
        return x if bias is None else x + bias
    return x * weight if bias is None else _fma_on_cuda(x, weight, bias)


@reduction
def layer_norm(input, normalized_shape, weight=None, bias=None, eps=1e-5, cudnn_enable=True):
    """(input - mean) / standard deviation along the last dims, times weight, plus bias

    Source: aten/src/ATen/native/cuda/layer_norm_kernel.cu
    """
    _check_dtype(input, "float")
    dims = _normalized_dims(input, normalized_shape, (weight, bias), "layer_norm")
    _check_number(eps, "eps", "layer_norm")
    for parameter in (weight, bias):
        _check_parameter_dtype(parameter, input, "layer_norm")
    return _standardized(input, dims, eps, weight, bias).to(input.dtype)


@reduction
def _rms_norm(input, dims, weight, eps):
    mean = _reduce("sum", input * input, dims, True, "rms_norm") / _count(input, dims)
    if _on_cuda():  # CUDA's kernel updates the mean step by step, and infinity becomes NaN
        mean = where(mean == math.inf, math.nan, mean)
    return _affine(input * rsqrt(mean + eps), weight, None).to(input.dtype)


def rms_norm(input, normalized_shape, weight=None, eps=None):
    """input divided by its root mean square along the last dims, times weight

    Source: aten/src/ATen/native/layer_norm.cpp, rms_norm_composite
    """
    _check_dtype(input, "float")
    dims = _normalized_dims(input, normalized_shape, (weight,), "rms_norm")
    _check_number(eps, "eps", "rms_norm")
    if eps is None:
        eps = torch.finfo(torch.float64 if input.dtype == torch.float64 else torch.float32).eps
    return _in_memory_format_of(_rms_norm(input, dims, weight, eps), input)


def _channel_parameter(parameter, input, name):
    """Reshapes a parameter with one value per channel so that it broadcasts to the input."""
    if parameter is None:
        return None
    message = name + " should contain as many elements as the input has channels"
    assert parameter.ndim == 1, message
    assert parameter.size(0) == input.size(1), message
    for _ in range(input.ndim - 2):
        parameter = parameter.unsqueeze(-1)
    return parameter


def _check_channels(input, function):
    _check_dtype(input, "float")
    if input.ndim < 2:
        raise RuntimeError(function + ": expected an input of at least 2 dims, of which the second is the channels")


def _count_per_channel(input):
    count = input.size(0)
    for d in range(2, input.ndim):
        count = count * input.size(d)
    return count


@reduction
def _group_norm(input, num_groups, weight, bias, eps):
    sizes = (num_groups, input.size(1) // num_groups)
    groups = input.unflatten(1, sizes)
    weight = None if weight is None else weight.unflatten(0, sizes)
    bias = None if bias is None else bias.unflatten(0, sizes)
    return _standardized(groups, list(range(2, groups.ndim)), eps, weight, bias).flatten(1, 2).to(input.dtype)


def group_norm(input, num_groups, weight=None, bias=None, eps=1e-5, cudnn_enabled=True):
    """layer_norm over groups of channels

    Source: aten/src/ATen/native/cuda/group_norm_kernel.cu
    """
    _check_channels(input, "group_norm")
    _check_number(eps, "eps", "group_norm")
    assert num_groups > 0, "Expected num groups to be greater than 0"
    assert input.size(1) % num_groups == 0, "Expected number of channels in input to be divisible by num_groups"
    message = "Expected more than 1 value per channel when training"
    assert _count_per_channel(input) * (input.size(1) // num_groups) != 1, message
    for parameter in (weight, bias):
        _check_parameter_dtype(parameter, input, "group_norm")
    weight = _channel_parameter(weight, input, "weight")
    bias = _channel_parameter(bias, input, "bias")
    result = _group_norm(input, num_groups, weight, bias, eps)
    return result if _on_cuda() else _in_memory_format_of(result, input)


@reduction
def _normalized_by_own_statistics(input, dims, weight, bias, eps):
    return _standardized(input, dims, eps, weight, bias).to(input.dtype)


@native
def _normalized_by_statistics(input, mean, variance, weight, bias, eps):
    return _affine((input - mean) * rsqrt(variance + eps), weight, bias).to(input.dtype)


@reduction
def _batch_statistics(input, dims, correction):
    """mean and variance, in the type in which the input is computed"""
    x = input if input.dtype == torch.float64 else input.float()
    mean, _, squares = [moment.squeeze(dims).detach() for moment in _moments(x, dims, "mean")]
    return mean, squares / (_count(x, dims) - correction)


@native
def _updated_statistic(running, value, momentum, count):
    """a running statistic after one step towards `value`, the statistic of `count` elements; unchanged if count is 0"""
    has_any = full_like(running, count) > 0
    return where(has_any, momentum * value + (1 - momentum) * running, running).to(running.dtype)


def _with_kernel_layout(result, input, affine):
    """Gives a result the layout of PyTorch's kernels. cuDNN, which runs if there are weight and bias (`affine`), and
    the CPU use the input's memory format; PyTorch's own CUDA kernels use the input's strides."""
    return _with_strides_of(result, input) if _on_cuda() and not affine else _in_memory_format_of(result, input)


def batch_norm(input, running_mean, running_var, weight=None, bias=None, training=False, momentum=0.1, eps=1e-5):
    """(input - mean) / standard deviation per channel; training uses batch statistics and updates the running ones

    Source: aten/src/ATen/native/cuda/Normalization.cuh
    """
    _check_channels(input, "batch_norm")
    _check_number(eps, "eps", "batch_norm")
    _check_number(momentum, "momentum", "batch_norm")
    assert eps > 0, "batch_norm eps must be positive"
    for parameter in (weight, bias, running_mean, running_var):
        _check_parameter_dtype(parameter, input, "batch_norm")
    affine = weight is not None and bias is not None
    _reject_gradient_of(running_mean, "batch_norm", "running_mean")
    _reject_gradient_of(running_var, "batch_norm", "running_var")
    mean = _channel_parameter(running_mean, input, "running_mean")
    variance = _channel_parameter(running_var, input, "running_var")
    weight = _channel_parameter(weight, input, "weight")
    bias = _channel_parameter(bias, input, "bias")
    if not training:
        if running_mean is None or running_var is None:
            raise RuntimeError("batch_norm: expected running_mean and running_var to be given when not training")
        return _with_kernel_layout(_normalized_by_statistics(input, mean, variance, weight, bias, eps), input, affine)
    assert _count_per_channel(input) != 1, "Expected more than 1 value per channel when training"
    dims = [d for d in range(input.ndim) if d != 1]
    result = _with_kernel_layout(_normalized_by_own_statistics(input, dims, weight, bias, eps), input, affine)
    batch_mean, batch_variance = _batch_statistics(input, dims, 1)
    count = _count_per_channel(input)
    if running_mean is not None:
        running_mean.copy_(_updated_statistic(running_mean, batch_mean, momentum, count))
    if running_var is not None:
        running_var.copy_(_updated_statistic(running_var, batch_variance, momentum, count))
    return result


def _torch_batch_norm(input, weight, bias, running_mean, running_var, training, momentum, eps, cudnn_enabled=True):
    return batch_norm(input, running_mean, running_var, weight, bias, training, momentum, eps)


def instance_norm(
    input, running_mean=None, running_var=None, weight=None, bias=None, use_input_stats=True, momentum=0.1, eps=1e-5
):
    """batch_norm applied to each sample separately

    Source: aten/src/ATen/native/Normalization.cpp, instance_norm
    """
    _check_channels(input, "instance_norm")
    _check_number(eps, "eps", "instance_norm")
    _check_number(momentum, "momentum", "instance_norm")
    if not use_input_stats:
        if running_mean is None or running_var is None:
            raise RuntimeError("Expected running_mean and running_var to be defined when use_input_stats is false")
        return batch_norm(input, running_mean, running_var, weight, bias, False, momentum, eps).contiguous()
    for parameter in (weight, bias, running_mean, running_var):
        _check_parameter_dtype(parameter, input, "instance_norm")
    spatial_count = 1
    for d in range(2, input.ndim):
        spatial_count = spatial_count * input.size(d)
    assert spatial_count != 1, "Expected more than 1 spatial element when training"
    weight = _channel_parameter(weight, input, "weight")
    bias = _channel_parameter(bias, input, "bias")
    _reject_gradient_of(running_mean, "batch_norm", "running_mean")
    _reject_gradient_of(running_var, "batch_norm", "running_var")
    # These calls only check the shapes.
    _channel_parameter(running_mean, input, "running_mean")
    _channel_parameter(running_var, input, "running_var")
    dims = list(range(2, input.ndim))
    result = _normalized_by_own_statistics(input, dims, weight, bias, eps)
    if running_mean is not None or running_var is not None:
        batch_mean, batch_variance = _batch_statistics(input, dims, 1)
        if running_mean is not None:
            running_mean.copy_(mean(_updated_statistic(running_mean, batch_mean, momentum, spatial_count), 0))
        if running_var is not None:
            running_var.copy_(mean(_updated_statistic(running_var, batch_variance, momentum, spatial_count), 0))
    return result


def _torch_instance_norm(
    input, weight, bias, running_mean, running_var, use_input_stats, momentum, eps, cudnn_enabled=True
):
    return instance_norm(input, running_mean, running_var, weight, bias, use_input_stats, momentum, eps)
