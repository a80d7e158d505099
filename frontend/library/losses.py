"""Losses per element or row, and their mean or sum."""


def _reduction_of(reduction, size_average=None, reduce=None):
    """reduction, or its equivalent for the deprecated parameters size_average and reduce"""
    if size_average is not None or reduce is not None:
        if reduce is not None and not reduce:
            return "none"
        return "mean" if size_average is None or size_average else "sum"
    if reduction not in ("none", "mean", "sum"):
        raise ValueError("reduction must be 'none', 'mean' or 'sum', not " + reduction)
    return reduction


def _reduced(loss, reduction):
    return loss if reduction == "none" else mean(loss) if reduction == "mean" else sum(loss)


def _check_same_shape(input, other, what):
    if input.ndim != other.ndim:
        raise ValueError(what + " must have the same size as the input")
    for dim in range(input.ndim):
        assert input.size(dim) == other.size(dim), what + " must have the same size as the input"


def _reduced_weighted(loss, weight, reduction):
    """losses that are already weighted, reduced: "mean" is their weighted mean"""
    return sum(loss) / sum(weight) if reduction == "mean" else _reduced(loss, reduction)


def l1_loss(input: Tensor, target: Tensor, size_average=None, reduce=None, reduction="mean", weight=None):
    """abs(input - target)"""
    reduction = _reduction_of(reduction, size_average, reduce)
    input, target = broadcast_tensors(input, target)
    if weight is not None:
        _check_same_shape(input, weight, "the weight")
        return _reduced_weighted(abs(input - target) * weight, weight, reduction)
    return _reduced(abs(input - target), reduction)


@native
def _mse_loss(input, target):
    input, target = _promoted(input, target)
    _check_dtype(input, "float")
    error = _rounded(input - target)
    return error * error


def mse_loss(input: Tensor, target: Tensor, size_average=None, reduce=None, reduction="mean", weight=None):
    """(input - target) ** 2

    Source: aten/src/ATen/native/cuda/BinaryMiscOpsKernels.cu
    """
    reduction = _reduction_of(reduction, size_average, reduce)
    input, target = broadcast_tensors(input, target)
    if weight is not None:
        _check_same_shape(input, weight, "the weight")
        return _reduced_weighted(pow(input - target, 2) * weight, weight, reduction)
    return _reduced(_mse_loss(input, target), reduction)


@native
def _huber_loss(input, target, delta):
    _check_dtype(input, "float")
    dtype = input.dtype
    # Eager's CUDA kernel computes in the dtype of its result, its CPU kernel in the common dtype.
    input, target = (input, target.to(dtype)) if _on_cuda() else _promoted(input, target)
    # Rounding to 16 bits: on CUDA, the difference and delta; on the CPU, every step for bfloat16 and none for float16.
    rounds_all = not _on_cuda() and input.dtype == torch.bfloat16
    error = abs(_rounded(input - target, rounds_all or _on_cuda()))
    delta = _rounded(full_like(input, delta), rounds_all or _on_cuda())
    near = _rounded(0.5 * error, rounds_all) * error
    far = delta * _rounded(error - _rounded(0.5 * delta, rounds_all), rounds_all)
    return where(error < delta, near, far).to(dtype)


def _huber_loss_backward(grad, result, input, target, delta):
    input, target = _promoted(input, target)
    error = input - target
    grad_input = grad * where(abs(error) >= delta, delta * sign(error), error)
    return grad_input, -grad_input


def huber_loss(input: Tensor, target: Tensor, reduction="mean", delta=1.0, weight=None):
    """half the squared error if the error is less than delta, linear beyond

    Source: aten/src/ATen/native/cuda/BinaryMiscOpsKernels.cu
    """
    reduction = _reduction_of(reduction)
    assert delta > 0, "huber_loss does not support non-positive values for delta"
    input, target = broadcast_tensors(input, target)
    loss = _with_strides_of(_huber_loss(input, target, delta), input)
    if weight is not None:
        _check_same_shape(input, weight, "the weight")
        loss = loss * weight
    return _reduced(loss, reduction)


@native
def _smooth_l1_loss(input, target, beta):
    input, target = _promoted(input, target)
    _check_dtype(input, "float")
    # Rounding to 16 bits: on CUDA, the difference and beta; on the CPU, every step for float16 and none for bfloat16.
    rounds_all = not _on_cuda() and input.dtype == torch.float16
    error = abs(_rounded(input - target, rounds_all or _on_cuda()))
    beta = _rounded(full_like(input, beta), rounds_all or _on_cuda())
    near = _rounded(_rounded(0.5 * error, rounds_all) * error, rounds_all) / beta
    return where(error < beta, near, error - _rounded(0.5 * beta, rounds_all))


def _smooth_l1_loss_backward(grad, result, input, target, beta):
    input, target = _promoted(input, target)
    error = input - target
    grad_input = grad * where(abs(error) >= beta, sign(error), error / beta)
    return grad_input, -grad_input


def smooth_l1_loss(input: Tensor, target: Tensor, size_average=None, reduce=None, reduction="mean", beta=1.0):
    """half the squared error divided by beta if the error is less than beta, linear beyond

    Source: aten/src/ATen/native/cuda/BinaryMiscOpsKernels.cu
    """
    reduction = _reduction_of(reduction, size_average, reduce)
    assert beta >= 0, "smooth_l1_loss does not support negative values for beta"
    input, target = broadcast_tensors(input, target)
    loss = abs(input - target) if beta == 0 else _smooth_l1_loss(input, target, beta)
    return _reduced(loss, reduction)


@native
def _binary_cross_entropy(input, target):
    inverse = clamp(_rounded(log1p(-input)), min=-100)
    logarithm = clamp(_rounded(log(input)), min=-100)
    if _rounds_intermediates(input):
        return _rounded(_rounded(target - 1) * inverse) - _rounded(target * logarithm)
    return _fma(target - 1, inverse, -(target * logarithm))


def _binary_cross_entropy_backward(grad, result, input, target):
    return _entropy_derivative(grad, input, target), grad * (clamp(log1p(-input), min=-100) - clamp(log(input), min=-100))


@native
def _entropy_derivative(grad, input, target):
    return grad * (input - target) / clamp((1 - input) * input, min=1e-12)


def _entropy_derivative_backward(grad, result, grad_of_entropy, input, target):
    from_zero, from_one = input + 1e-12, 1 - input + 1e-12
    curvature = (input * input - 2 * input * target + target) / (from_zero * from_zero * (from_one * from_one))
    grad_input = grad * grad_of_entropy * curvature
    return _entropy_derivative(grad, input, target), grad_input, -grad * grad_of_entropy / (input * (1 - input))


def binary_cross_entropy(
    input: Tensor, target: Tensor, weight: Tensor = None, size_average=None, reduce=None, reduction="mean"
):
    """cross entropy between target and the probabilities input; logarithms are clamped to at least -100

    Source: aten/src/ATen/native/cuda/Loss.cu, binary_cross_entropy_out_kernel
    """
    reduction = _reduction_of(reduction, size_average, reduce)
    _check_dtype(input, "float")
    _check_same_dtype(input, target)
    _check_same_shape(input, target, "the target")
    _reject_gradient_of(weight, "binary_cross_entropy", "weight")
    loss = _with_strides_of(_binary_cross_entropy(input, target), input)
    if weight is not None:
        loss *= weight
    return _reduced(loss, reduction)


@native
def _bce_with_logits(input, target, pos_weight):
    return (1 - target) * input - ((pos_weight - 1) * target + 1) * (where(input < 0, input, 0.0) - log1p(exp(-abs(input))))


def _bce_with_logits_backward(grad, result, input, target, pos_weight):
    """one formula for the whole loss: the gradients of its separate terms cancel for confident logits

    Source: torch/csrc/autograd/FunctionsManual.cpp, binary_cross_entropy_with_logits_backward and _target_backward
    """
    probability = sigmoid(input)
    if not isinstance(pos_weight, torch.Tensor):
        return grad * (probability - target), grad * -input, None
    weighted_target = pos_weight * target
    target_derivative = logsigmoid(-input) - pos_weight * logsigmoid(input)
    return grad * ((weighted_target + 1 - target) * probability - weighted_target), grad * target_derivative, None


def binary_cross_entropy_with_logits(
    input: Tensor,
    target: Tensor,
    weight: Tensor = None,
    size_average=None,
    reduce=None,
    reduction="mean",
    pos_weight: Tensor = None,
):
    """cross entropy between target and sigmoid(input), positive targets weighted by pos_weight; in target's dtype

    Source: aten/src/ATen/native/Loss.cpp, binary_cross_entropy_with_logits
    """
    reduction = _reduction_of(reduction, size_average, reduce)
    _check_same_shape(input, target, "the target")
    _reject_gradient_of(weight, "binary_cross_entropy_with_logits", "weight")
    _reject_gradient_of(pos_weight, "binary_cross_entropy_with_logits", "pos_weight")
    loss = 1 - target
    loss *= input
    if pos_weight is None:
        loss -= logsigmoid(input)
    else:
        logarithm = logsigmoid(input)
        logarithm *= (pos_weight - 1) * target + 1
        loss -= logarithm
    if _is_differentiated():  # the loss above rounds each step as eager does; its derivative is one formula
        loss = _with_derivative_of(loss.detach(), _bce_with_logits(input, target, 1 if pos_weight is None else pos_weight))
    if weight is not None:
        loss *= weight
    return _reduced(loss, reduction)


def kl_div(input: Tensor, target: Tensor, size_average=None, reduce=None, reduction="mean", log_target=False):
    """target * (log(target) - input); input contains logarithms, and so does target with log_target

    Source: aten/src/ATen/native/Loss.cpp, kl_div
    """
    legacy = size_average is not None or reduce is not None
    is_batchmean = reduction == "batchmean" and not legacy
    reduction = "sum" if is_batchmean else _reduction_of(reduction, size_average, reduce)
    if not (input.is_floating_point() and target.is_floating_point()):
        raise ValueError("kl_div takes floating point tensors")
    loss = exp(target) * (target - input) if log_target else xlogy(target, target) - target * input
    loss = _reduced(loss, reduction)
    return loss / input.size(0) if is_batchmean and input.ndim > 0 else loss


def poisson_nll_loss(
    input: Tensor,
    target: Tensor,
    log_input=True,
    full=False,
    size_average=None,
    eps=1e-08,
    reduce=None,
    reduction="mean",
):
    """negative log-likelihood of a Poisson distribution; full adds Stirling's term for targets above 1

    Source: aten/src/ATen/native/Loss.cpp, poisson_nll_loss
    """
    reduction = _reduction_of(reduction, size_average, reduce)
    loss = exp(input) - target * input if log_input else input - target * log(input + eps)
    if full:
        stirling = target * log(target) - target + 0.5 * log(2 * math.pi * target)
        loss += masked_fill(stirling, target <= 1, 0)
    return _reduced(loss, reduction)


def gaussian_nll_loss(input: Tensor, target, var, full=False, eps=1e-06, reduction="mean"):
    """negative log-likelihood of a normal distribution with variance var; full adds the constant term

    Source: torch/nn/functional.py, gaussian_nll_loss
    """
    reduction = _reduction_of(reduction)
    if not isinstance(var, torch.Tensor):
        if not isinstance(var, float):
            raise TypeError("var is a tensor or a float")
        assert var >= 0, "var has negative entry/entries"
        var = var * ones_like(input)
    elif not var.is_floating_point():
        raise ValueError("var must be floating point")
    elif var.size() != input.size():
        if var.size() == input.size()[:-1]:
            var = var.unsqueeze(-1)
        else:
            assert var.ndim == input.ndim, "var is of incorrect size"
            others = [var.size(dim) for dim in range(input.ndim) if var.size(dim) != input.size(dim)]
            assert others == [1], "var is of incorrect size"
    var = _with_derivative_of(clamp(var, min=eps).detach(), var)  # eager clamps under no_grad
    loss = 0.5 * (log(var) + (input - target) ** 2 / var)
    if full:
        loss += 0.5 * math.log(2 * math.pi)
    return _reduced(loss, reduction)


@native
def _log1p_exp(exponent):
    """log(1 + exp(exponent))"""
    return log1p(_rounded(exp(exponent)))


def _log1p_exp_backward(grad, result, exponent):
    return grad * _logistic(exponent)


@native
def _logistic(exponent):
    """exp(exponent) / (1 + exp(exponent)); unlike sigmoid(exponent), NaN if eager's formula is NaN

    Source: torch/csrc/autograd/FunctionsManual.cpp, soft_margin_loss_double_backward
    """
    value = exp(exponent)
    return value / (value + 1)


def _logistic_backward(grad, result, exponent):
    value = exp(exponent)
    return grad * (value / ((value + 1) * (value + 1)))


def soft_margin_loss(input: Tensor, target: Tensor, size_average=None, reduce=None, reduction="mean"):
    """log(1 + exp(-target * input))

    Source: aten/src/ATen/native/Loss.cpp, soft_margin_loss_out
    """
    reduction = _reduction_of(reduction, size_average, reduce)
    _check_dtype(input, "float")
    _reject_gradient_of(target, "soft_margin_loss", "target")
    exponent = -input
    exponent *= target
    return _reduced(_with_strides_of(_log1p_exp(exponent), input), reduction)


def hinge_embedding_loss(input: Tensor, target: Tensor, margin=1.0, size_average=None, reduce=None, reduction="mean"):
    """input if target is 1, max(0, margin - input) if target is -1

    Source: aten/src/ATen/native/Loss.cpp, hinge_embedding_loss
    """
    reduction = _reduction_of(reduction, size_average, reduce)
    excess = clamp(full_like(input, margin) - input, min=0)
    return _reduced(where(target != 1, excess, 0) + where(target != -1, input, 0), reduction)


def margin_ranking_loss(
    input1: Tensor, input2: Tensor, target: Tensor, margin=0.0, size_average=None, reduce=None, reduction="mean"
):
    """max(0, margin - target * (input1 - input2))

    Source: aten/src/ATen/native/Loss.cpp, margin_ranking_loss
    """
    reduction = _reduction_of(reduction, size_average, reduce)
    if input1.ndim != input2.ndim or input1.ndim != target.ndim:
        raise ValueError("margin_ranking_loss: all tensors must have the same number of dims")
    return _reduced(clamp(-target * (input1 - input2) + float(margin), min=0), reduction)


def cosine_embedding_loss(
    input1: Tensor, input2: Tensor, target: Tensor, margin=0, size_average=None, reduce=None, reduction="mean"
):
    """1 - the cosine of two vectors if target is 1, max(0, cosine - margin) if target is -1

    Source: aten/src/ATen/native/Loss.cpp, cosine_embedding_loss
    """
    reduction = _reduction_of(reduction, size_average, reduce)
    if target.ndim > 1:
        raise RuntimeError("cosine_embedding_loss: 0D or 1D target tensor expected, multi-target not supported")
    if input1.ndim != target.ndim + 1 or input2.ndim != target.ndim + 1:
        raise RuntimeError("cosine_embedding_loss: the inputs must have one dim more than the target")
    product = sum(input1 * input2, -1)
    square1 = sum(input1 * input1, -1) + 1e-12
    square2 = sum(input2 * input2, -1) + 1e-12
    cosine = product / sqrt(square1 * square2)
    similar_loss = where(target == 1, 1 - cosine, 0)
    return _reduced(similar_loss + where(target == -1, clamp_min(cosine - margin, 0), 0), reduction)


def _margin_loss(near, far, margin, reduction):
    """max(0, margin + near - far), reduced; near and far are the distances to the positive and the negative example"""
    return _reduced(clamp_min(margin + near - far, 0), reduction)


def triplet_margin_loss(
    anchor: Tensor,
    positive: Tensor,
    negative: Tensor,
    margin=1.0,
    p=2,
    eps=1e-6,
    swap=False,
    size_average=None,
    reduce=None,
    reduction="mean",
):
    """max(0, margin + distance(anchor, positive) - distance(anchor, negative))

    Source: aten/src/ATen/native/Loss.cpp, triplet_margin_loss
    """
    reduction = _reduction_of(reduction, size_average, reduce)
    assert margin > 0, "margin must be greater than 0"
    if anchor.ndim != positive.ndim or anchor.ndim != negative.ndim:
        raise RuntimeError("The anchor, positive, and negative tensors are expected to have the same number of dimensions")
    far = pairwise_distance(anchor, negative, p, eps)
    if swap:
        far = minimum(far, pairwise_distance(positive, negative, p, eps))
    return _margin_loss(pairwise_distance(anchor, positive, p, eps), far, margin, reduction)


def triplet_margin_with_distance_loss(
    anchor: Tensor,
    positive: Tensor,
    negative: Tensor,
    *,
    distance_function=None,
    margin=1.0,
    swap=False,
    reduction="mean",
):
    """triplet_margin_loss with a given distance function

    Source: torch/nn/functional.py, triplet_margin_with_distance_loss
    """
    reduction = _reduction_of(reduction)
    assert margin > 0, "margin must be greater than 0"
    if anchor.ndim != positive.ndim or anchor.ndim != negative.ndim:
        raise RuntimeError("The anchor, positive, and negative tensors are expected to have the same number of dimensions")
    distance = pairwise_distance if distance_function is None else distance_function
    far = distance(anchor, negative)
    if swap:
        far = minimum(far, distance(positive, negative))
    return _margin_loss(distance(anchor, positive), far, margin, reduction)


def multilabel_soft_margin_loss(
    input: Tensor, target: Tensor, weight=None, size_average=None, reduce=None, reduction="mean"
):
    """mean over the classes of the binary cross entropy between target and sigmoid(input)

    Source: torch/nn/functional.py, multilabel_soft_margin_loss
    """
    reduction = _reduction_of(reduction, size_average, reduce)
    loss = -(target * logsigmoid(input) + (1 - target) * logsigmoid(-input))
    if weight is not None:
        loss = loss * weight
    class_dim = input.ndim - 1  # the same dim of the loss is reduced, even if the loss has more dims
    return _reduced(sum(loss, class_dim) / input.size(class_dim), reduction)
