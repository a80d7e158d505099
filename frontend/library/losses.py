"""Losses, an element each: reduction="none" is the only reduction as yet."""


def _elementwise(reduction, size_average=None, reduce=None):
    if reduction != "none" or size_average is not None or reduce is not None:
        raise ValueError("reductions are not in the language yet: pass reduction='none' and reduce the op's result")


def _same_shape(input, other, what):
    if input.ndim != other.ndim:
        raise ValueError(what + " must have the same size as the input")
    for dim in range(input.ndim):
        assert input.size(dim) == other.size(dim), what + " must have the same size as the input"


def _weighted(loss, weight, input):
    if weight is None:
        return loss
    _same_shape(input, weight, "the weight")
    return loss * weight


def l1_loss(input, target, size_average=None, reduce=None, reduction="mean", weight=None):
    """abs(input - target)"""
    _elementwise(reduction, size_average, reduce)
    input, target = broadcast_tensors(input, target)
    return _weighted(abs(input - target), weight, input)


@native
def _mse_loss(input, target):
    input, target = _promoted(input, target)
    _check(input, "float")
    error = input - target
    return error * error


def mse_loss(input, target, size_average=None, reduce=None, reduction="mean", weight=None):
    """(input - target) ** 2

    Source: aten/src/ATen/native/cuda/BinaryMiscOpsKernels.cu
    """
    _elementwise(reduction, size_average, reduce)
    input, target = broadcast_tensors(input, target)
    if weight is not None:
        return _weighted(pow(input - target, 2), weight, input)
    return _mse_loss(input, target)


@native
def _huber_loss(input, target, delta):
    _check(input, "float")
    dtype = input.dtype
    input, target = _promoted(input, target)
    error = abs(input - target)
    return where(error < delta, 0.5 * error * error, delta * (error - 0.5 * delta)).to(dtype)


def huber_loss(input, target, reduction="mean", delta=1.0, weight=None):
    """half the squared error where it is less than delta, beyond that linear

    Source: aten/src/ATen/native/cuda/BinaryMiscOpsKernels.cu
    """
    _elementwise(reduction)
    assert delta > 0, "huber_loss does not support non-positive values for delta"
    input, target = broadcast_tensors(input, target)
    return _weighted(_huber_loss(input, target, delta), weight, input)


@native
def _smooth_l1_loss(input, target, beta):
    input, target = _promoted(input, target)
    _check(input, "float")
    error = abs(input - target)
    return where(error < beta, 0.5 * error * error / beta, error - 0.5 * beta)


def smooth_l1_loss(input, target, size_average=None, reduce=None, reduction="mean", beta=1.0):
    """half the squared error over beta where the error is less than beta, beyond that its distance

    Source: aten/src/ATen/native/cuda/BinaryMiscOpsKernels.cu
    """
    _elementwise(reduction, size_average, reduce)
    assert beta >= 0, "smooth_l1_loss does not support negative values for beta"
    input, target = broadcast_tensors(input, target)
    return abs(input - target) if beta == 0 else _smooth_l1_loss(input, target, beta)


@native
def _binary_cross_entropy(input, target):
    inverse = clamp(log1p(-input), min=-100)
    logarithm = clamp(log(input), min=-100)
    return _fma(target - 1, inverse, -(target * logarithm))


def binary_cross_entropy(input, target, weight=None, size_average=None, reduce=None, reduction="mean"):
    """the cross entropy between target and the probabilities input, whose logarithms are at least -100

    Source: aten/src/ATen/native/cuda/Loss.cu, binary_cross_entropy_out_kernel
    """
    _elementwise(reduction, size_average, reduce)
    _check(input, "float")
    _check_same_dtype(input, target)
    _same_shape(input, target, "the target")
    loss = _binary_cross_entropy(input, target)
    if weight is not None:
        loss *= weight
    return loss


def binary_cross_entropy_with_logits(
    input, target, weight=None, size_average=None, reduce=None, reduction="mean", pos_weight=None
):
    """the cross entropy between target and sigmoid(input), positive targets weighted by pos_weight; of target's dtype

    Source: aten/src/ATen/native/Loss.cpp, binary_cross_entropy_with_logits
    """
    _elementwise(reduction, size_average, reduce)
    _same_shape(input, target, "the target")
    loss = 1 - target
    loss *= input
    if pos_weight is None:
        loss -= logsigmoid(input)
    else:
        log_weight = (pos_weight - 1) * target + 1
        log_weight *= logsigmoid(input)
        loss -= log_weight
    if weight is not None:
        loss *= weight
    return loss


def kl_div(input, target, size_average=None, reduce=None, reduction="mean", log_target=False):
    """target * (log(target) - input), where input holds logarithms, and with log_target the target does too

    Source: aten/src/ATen/native/Loss.cpp, kl_div
    """
    _elementwise(reduction, size_average, reduce)
    if not (input.is_floating_point() and target.is_floating_point()):
        raise ValueError("kl_div takes floating point tensors")
    if log_target:
        return exp(target) * (target - input)
    return xlogy(target, target) - target * input


def poisson_nll_loss(
    input, target, log_input=True, full=False, size_average=None, eps=1e-08, reduce=None, reduction="mean"
):
    """the negative log likelihood of a Poisson distribution; full: with Stirling's term for targets above 1

    Source: aten/src/ATen/native/Loss.cpp, poisson_nll_loss
    """
    _elementwise(reduction, size_average, reduce)
    loss = exp(input) - target * input if log_input else input - target * log(input + eps)
    if full:
        stirling = target * log(target) - target + 0.5 * log(2 * math.pi * target)
        loss += masked_fill(stirling, target <= 1, 0)
    return loss


def gaussian_nll_loss(input, target, var, full=False, eps=1e-06, reduction="mean"):
    """the negative log likelihood of a normal distribution of variance var; full: with its constant term

    Source: torch/nn/functional.py, gaussian_nll_loss
    """
    _elementwise(reduction)
    if not isinstance(var, torch.Tensor):
        if not isinstance(var, float):
            raise TypeError("var is a tensor or a float")
        assert var >= 0, "var has negative entry/entries"
        var = full_like(input, var)
    elif not var.is_floating_point():
        raise ValueError("var must be floating point")
    elif var.size() != input.size():
        if var.size() == input.size()[:-1]:
            var = var.unsqueeze(-1)
        else:
            assert var.ndim == input.ndim, "var is of incorrect size"
            others = [var.size(dim) for dim in range(input.ndim) if var.size(dim) != input.size(dim)]
            assert others == [1], "var is of incorrect size"
    var = clamp(var, min=eps)
    loss = 0.5 * (log(var) + (input - target) ** 2 / var)
    if full:
        loss += 0.5 * math.log(2 * math.pi)
    return loss


def soft_margin_loss(input, target, size_average=None, reduce=None, reduction="mean"):
    """log(1 + exp(-target * input))

    Source: aten/src/ATen/native/Loss.cpp, soft_margin_loss_out
    """
    _elementwise(reduction, size_average, reduce)
    _check(input, "float")
    exponent = -input
    exponent *= target
    return _with_strides_of(log1p(exp(exponent)), input)


def hinge_embedding_loss(input, target, margin=1.0, size_average=None, reduce=None, reduction="mean"):
    """input where target is 1, what it lacks to the margin where target is -1

    Source: aten/src/ATen/native/Loss.cpp, hinge_embedding_loss
    """
    _elementwise(reduction, size_average, reduce)
    lacking = clamp(full_like(input, margin) - input, min=0)
    return where(target != 1, lacking, 0) + where(target != -1, input, 0)


def margin_ranking_loss(input1, input2, target, margin=0.0, size_average=None, reduce=None, reduction="mean"):
    """what target * (input1 - input2) lacks to the margin

    Source: aten/src/ATen/native/Loss.cpp, margin_ranking_loss
    """
    _elementwise(reduction, size_average, reduce)
    if input1.ndim != input2.ndim or input1.ndim != target.ndim:
        raise ValueError("margin_ranking_loss: all tensors must have as many dims")
    return clamp(-target * (input1 - input2) + float(margin), min=0)
