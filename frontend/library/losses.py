"""Losses: of each element or row, and their mean or sum."""


def _reduction_of(reduction, size_average=None, reduce=None):
    """reduction, or what the two parameters before it mean"""
    if size_average is not None or reduce is not None:
        if reduce is not None and not reduce:
            return "none"
        return "mean" if size_average is None or size_average else "sum"
    if reduction not in ("none", "mean", "sum"):
        raise ValueError("reduction must be 'none', 'mean' or 'sum', not " + reduction)
    return reduction


def _reduced(loss, reduction):
    return loss if reduction == "none" else mean(loss) if reduction == "mean" else sum(loss)


def _same_shape(input, other, what):
    if input.ndim != other.ndim:
        raise ValueError(what + " must have the same size as the input")
    for dim in range(input.ndim):
        assert input.size(dim) == other.size(dim), what + " must have the same size as the input"


def _weighted_mean(loss, weight, reduction):
    """of losses that are weighted already"""
    return sum(loss) / sum(weight) if reduction == "mean" else _reduced(loss, reduction)


def l1_loss(input, target, size_average=None, reduce=None, reduction="mean", weight=None):
    """abs(input - target)"""
    reduction = _reduction_of(reduction, size_average, reduce)
    input, target = broadcast_tensors(input, target)
    if weight is not None:
        _same_shape(input, weight, "the weight")
        return _weighted_mean(abs(input - target) * weight, weight, reduction)
    return _reduced(abs(input - target), reduction)


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
    reduction = _reduction_of(reduction, size_average, reduce)
    input, target = broadcast_tensors(input, target)
    if weight is not None:
        _same_shape(input, weight, "the weight")
        return _weighted_mean(pow(input - target, 2) * weight, weight, reduction)
    return _reduced(_mse_loss(input, target), reduction)


@native
def _huber_loss(input, target, delta):
    _check(input, "float")
    dtype = input.dtype
    input, target = _promoted(input, target)
    error = abs(input - target)
    return where(error < delta, 0.5 * error * error, delta * (error - 0.5 * delta)).to(dtype)


def _huber_loss_backward(grad, result, input, target, delta):
    input, target = _promoted(input, target)
    return grad * clamp(input - target, -delta, delta), grad * clamp(target - input, -delta, delta)


def huber_loss(input, target, reduction="mean", delta=1.0, weight=None):
    """half the squared error where it is less than delta, beyond that linear

    Source: aten/src/ATen/native/cuda/BinaryMiscOpsKernels.cu
    """
    reduction = _reduction_of(reduction)
    assert delta > 0, "huber_loss does not support non-positive values for delta"
    input, target = broadcast_tensors(input, target)
    loss = _huber_loss(input, target, delta)
    if weight is not None:
        _same_shape(input, weight, "the weight")
        loss = loss * weight
    return _reduced(loss, reduction)


@native
def _smooth_l1_loss(input, target, beta):
    input, target = _promoted(input, target)
    _check(input, "float")
    error = abs(input - target)
    return where(error < beta, 0.5 * error * error / beta, error - 0.5 * beta)


def _smooth_l1_loss_backward(grad, result, input, target, beta):
    input, target = _promoted(input, target)
    error = input - target
    of_input = grad * where(abs(error) >= beta, sign(error), error / beta)
    return of_input, -of_input


def smooth_l1_loss(input, target, size_average=None, reduce=None, reduction="mean", beta=1.0):
    """half the squared error over beta where the error is less than beta, beyond that its distance

    Source: aten/src/ATen/native/cuda/BinaryMiscOpsKernels.cu
    """
    reduction = _reduction_of(reduction, size_average, reduce)
    assert beta >= 0, "smooth_l1_loss does not support negative values for beta"
    input, target = broadcast_tensors(input, target)
    loss = abs(input - target) if beta == 0 else _smooth_l1_loss(input, target, beta)
    return _reduced(loss, reduction)


@native
def _binary_cross_entropy(input, target):
    inverse = clamp(log1p(-input), min=-100)
    logarithm = clamp(log(input), min=-100)
    return _fma(target - 1, inverse, -(target * logarithm))


def _binary_cross_entropy_backward(grad, result, input, target):
    of_input = grad * (input - target) / clamp((1 - input) * input, min=1e-12)
    return of_input, grad * (clamp(log1p(-input), min=-100) - clamp(log(input), min=-100))


def binary_cross_entropy(input, target, weight=None, size_average=None, reduce=None, reduction="mean"):
    """the cross entropy between target and the probabilities input, whose logarithms are at least -100

    Source: aten/src/ATen/native/cuda/Loss.cu, binary_cross_entropy_out_kernel
    """
    reduction = _reduction_of(reduction, size_average, reduce)
    _check(input, "float")
    _check_same_dtype(input, target)
    _same_shape(input, target, "the target")
    loss = _binary_cross_entropy(input, target)
    if weight is not None:
        loss *= weight
    return _reduced(loss, reduction)


def binary_cross_entropy_with_logits(
    input, target, weight=None, size_average=None, reduce=None, reduction="mean", pos_weight=None
):
    """the cross entropy between target and sigmoid(input), positive targets weighted by pos_weight; of target's dtype

    Source: aten/src/ATen/native/Loss.cpp, binary_cross_entropy_with_logits
    """
    reduction = _reduction_of(reduction, size_average, reduce)
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
    return _reduced(loss, reduction)


def kl_div(input, target, size_average=None, reduce=None, reduction="mean", log_target=False):
    """target * (log(target) - input), where input holds logarithms, and with log_target the target does too

    Source: aten/src/ATen/native/Loss.cpp, kl_div
    """
    legacy = size_average is not None or reduce is not None
    a_sample = reduction == "batchmean" and not legacy
    reduction = "sum" if a_sample else _reduction_of(reduction, size_average, reduce)
    if not (input.is_floating_point() and target.is_floating_point()):
        raise ValueError("kl_div takes floating point tensors")
    loss = exp(target) * (target - input) if log_target else xlogy(target, target) - target * input
    loss = _reduced(loss, reduction)
    return loss / input.size(0) if a_sample and input.ndim > 0 else loss


def poisson_nll_loss(
    input, target, log_input=True, full=False, size_average=None, eps=1e-08, reduce=None, reduction="mean"
):
    """the negative log likelihood of a Poisson distribution; full: with Stirling's term for targets above 1

    Source: aten/src/ATen/native/Loss.cpp, poisson_nll_loss
    """
    reduction = _reduction_of(reduction, size_average, reduce)
    loss = exp(input) - target * input if log_input else input - target * log(input + eps)
    if full:
        stirling = target * log(target) - target + 0.5 * log(2 * math.pi * target)
        loss += masked_fill(stirling, target <= 1, 0)
    return _reduced(loss, reduction)


def gaussian_nll_loss(input, target, var, full=False, eps=1e-06, reduction="mean"):
    """the negative log likelihood of a normal distribution of variance var; full: with its constant term

    Source: torch/nn/functional.py, gaussian_nll_loss
    """
    reduction = _reduction_of(reduction)
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
    return _reduced(loss, reduction)


def soft_margin_loss(input, target, size_average=None, reduce=None, reduction="mean"):
    """log(1 + exp(-target * input))

    Source: aten/src/ATen/native/Loss.cpp, soft_margin_loss_out
    """
    reduction = _reduction_of(reduction, size_average, reduce)
    _check(input, "float")
    exponent = -input
    exponent *= target
    return _reduced(_with_strides_of(log1p(exp(exponent)), input), reduction)


def hinge_embedding_loss(input, target, margin=1.0, size_average=None, reduce=None, reduction="mean"):
    """input where target is 1, what it lacks to the margin where target is -1

    Source: aten/src/ATen/native/Loss.cpp, hinge_embedding_loss
    """
    reduction = _reduction_of(reduction, size_average, reduce)
    lacking = clamp(full_like(input, margin) - input, min=0)
    return _reduced(where(target != 1, lacking, 0) + where(target != -1, input, 0), reduction)


def margin_ranking_loss(input1, input2, target, margin=0.0, size_average=None, reduce=None, reduction="mean"):
    """what target * (input1 - input2) lacks to the margin

    Source: aten/src/ATen/native/Loss.cpp, margin_ranking_loss
    """
    reduction = _reduction_of(reduction, size_average, reduce)
    if input1.ndim != input2.ndim or input1.ndim != target.ndim:
        raise ValueError("margin_ranking_loss: all tensors must have as many dims")
    return _reduced(clamp(-target * (input1 - input2) + float(margin), min=0), reduction)


def cosine_embedding_loss(
    input1, input2, target, margin=0, size_average=None, reduce=None, reduction="mean"
):
    """1 - the cosine of two vectors where target is 1, what it exceeds the margin by where target is -1

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
    alike = where(target == 1, 1 - cosine, 0)
    return _reduced(alike + where(target == -1, clamp_min(cosine - margin, 0), 0), reduction)


def _farther_than(near, far, margin, reduction):
    return _reduced(clamp_min(margin + near - far, 0), reduction)


def triplet_margin_loss(
    anchor, positive, negative, margin=1.0, p=2, eps=1e-6, swap=False, size_average=None, reduce=None, reduction="mean"
):
    """by how much the negative is not farther from the anchor than the positive, by the margin at least

    Source: aten/src/ATen/native/Loss.cpp, triplet_margin_loss
    """
    reduction = _reduction_of(reduction, size_average, reduce)
    assert margin > 0, "margin must be greater than 0"
    if anchor.ndim != positive.ndim or anchor.ndim != negative.ndim:
        raise RuntimeError("The anchor, positive, and negative tensors are expected to have the same number of dimensions")
    far = pairwise_distance(anchor, negative, p, eps)
    if swap:
        far = minimum(far, pairwise_distance(positive, negative, p, eps))
    return _farther_than(pairwise_distance(anchor, positive, p, eps), far, margin, reduction)


def triplet_margin_with_distance_loss(
    anchor, positive, negative, *, distance_function=None, margin=1.0, swap=False, reduction="mean"
):
    """triplet_margin_loss with a distance of the caller's

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
    return _farther_than(distance(anchor, positive), far, margin, reduction)


def multilabel_soft_margin_loss(
    input, target, weight=None, size_average=None, reduce=None, reduction="mean"
):
    """the mean over the classes of the cross entropy between each of a row's targets and sigmoid(input)

    Source: torch/nn/functional.py, multilabel_soft_margin_loss
    """
    reduction = _reduction_of(reduction, size_average, reduce)
    loss = -(target * logsigmoid(input) + (1 - target) * logsigmoid(-input))
    if weight is not None:
        loss = loss * weight
    return _reduced(sum(loss, -1) / input.size(-1), reduction)


def _class_indices(input, target, classes, function):
    """A target that holds classes, as int64: what it chooses of input is checked by the gather."""
    if target.dtype != torch.int64 and target.dtype != torch.uint8:
        raise RuntimeError(function + ": expected a target of class indices of dtype torch.int64: write target.long()")
    if input.ndim == 1 and target.ndim == 1:
        assert target.size(0) == 1, "For 1D input, 1D target must have size 1"
        return target.squeeze(0).to(torch.int64)
    if target.ndim != input.ndim - 1:
        raise ValueError(function + ": a target of class indices has one dim less than the input, its classes")
    others = [d for d in range(input.ndim) if d != classes]
    for k, d in enumerate(others):
        assert target.size(k) == input.size(d), "Expected the target to have the input's size but for the classes"
    return target.to(torch.int64)


def _nan_where(is_out_of_range, loss):
    """A loss whose class is none, which CUDA kernels do not tell of but in debug mode; elsewhere the gather raises."""
    return where(is_out_of_range, loss * math.nan, loss) if _on_cuda() else loss


def _class_weight(weight, input, classes, function):
    if weight is not None:
        if weight.ndim != 1:
            raise RuntimeError(function + ": the weight must be 1-D, one of each class")
        assert weight.size(0) == input.size(classes), "weight tensor should be defined either for all classes or no classes"
        if weight.dtype != input.dtype:
            raise RuntimeError(function + ": the weight must have the dtype of the input")


@reduction
def _multi_margin_loss(input, target, p, margin, weight, reduction):
    chosen = target.unsqueeze(-1)
    lacking = margin - gather(input, -1, chosen) + input
    loss = where(lacking > 0, lacking if p == 1 else lacking * lacking, 0)
    if weight is not None:
        loss = loss * weight[chosen]
    loss = where(arange(input.size(-1), device=input.device) == chosen, 0, loss)
    loss = _reduce("sum", loss, -1, False, "multi_margin_loss") / input.size(-1)
    return _reduced(_nan_where((target < 0) | (target >= input.size(-1)), loss), reduction)


def multi_margin_loss(
    input, target, p=1, margin=1.0, weight=None, size_average=None, reduce=None, reduction="mean"
):
    """by how much each other class's score is not below the target's by the margin, over the number of classes

    Source: aten/src/ATen/native/cuda/MultiMarginLoss.cu
    """
    reduction = _reduction_of(reduction, size_average, reduce)
    if p != 1 and p != 2:
        raise ValueError("only p == 1 and p == 2 supported")
    _check(input, "float")
    if input.ndim == 0:
        input = input.unsqueeze(0)
    if input.ndim > 2:
        raise RuntimeError("multi_margin_loss: expected a vector or a matrix of scores")
    if target.dtype != torch.int64:
        raise RuntimeError("multi_margin_loss: expected a target of dtype torch.int64: write target.long()")
    is_row = target.ndim == 1 and input.ndim == 1
    if is_row:
        assert target.size(0) == 1, "multi_margin_loss: inconsistent target size"
        target = target.squeeze(0)
    target = _class_indices(input, target, input.ndim - 1, "multi_margin_loss")
    _class_weight(weight, input, input.ndim - 1, "multi_margin_loss")
    loss = _multi_margin_loss(input, target, p, margin, weight, reduction)
    return loss.unsqueeze(0) if is_row and reduction == "none" else loss


@reduction
def _multilabel_margin_loss(input, target, reduction):
    classes = arange(input.size(-1), device=input.device)
    listed = classes < amin(where(target < 0, classes, input.size(-1)), -1, True)
    chosen = where(listed, target, 0).unsqueeze(-1)
    listed = listed.unsqueeze(-1)
    is_target = any(listed & (chosen == classes), -2, True)
    lacking = 1 - gather(input, -1, chosen.squeeze(-1)).unsqueeze(-1) + input.unsqueeze(-2)
    counts = listed & ~is_target & (lacking > 0)
    loss = _reduce("sum", where(counts, lacking, 0), [-2, -1], False, "multilabel_margin_loss")
    if _on_cuda():  # whose kernel takes any negative number for the end, and reads no further
        loss = _nan_where(any(listed.squeeze(-1) & (target >= input.size(-1)), -1), loss)
    else:
        is_out_of_range = any((target < -1) | (target >= input.size(-1)), -1)
        loss = where(is_out_of_range, math.nan, loss)
    return _reduced(loss / input.size(-1), reduction)


def multilabel_margin_loss(input, target, size_average=None, reduce=None, reduction="mean"):
    """by how much each class that is not a target is not 1 below each that is, over the number of classes; the targets of
    a row are those before its first -1

    Source: aten/src/ATen/native/cuda/MultiLabelMarginCriterion.cu
    """
    reduction = _reduction_of(reduction, size_average, reduce)
    _check(input, "float")
    if input.ndim > 2:
        raise RuntimeError("multilabel_margin_loss: expected a vector or a matrix of scores")
    if target.dtype != torch.int64:
        raise RuntimeError("multilabel_margin_loss: expected a target of dtype torch.int64: write target.long()")
    if input.ndim == 0:
        input = input.unsqueeze(0)
    if target.ndim == 0:
        target = target.unsqueeze(0)
    _same_shape(input, target, "multilabel_margin_loss: the target")
    return _multilabel_margin_loss(input, target, reduction)


@reduction
def _nll_loss(input, target, weight, ignore_index, reduction):
    classes = 0 if input.ndim == 1 else 1
    counted = target != ignore_index
    loss = -gather(input, classes, target.unsqueeze(classes)).squeeze(classes)
    loss = _nan_where((target < 0) | (target >= input.size(classes)), loss)
    total = counted.to(torch.int64)
    if weight is not None:
        each = weight[target]
        loss = loss * each
        total = where(counted, each, 0)
    loss = where(counted, loss, 0)
    if reduction == "none":
        return loss
    loss = _reduce("sum", loss, None, False, "nll_loss")
    return loss if reduction == "sum" else (loss / _reduce("sum", total, None, False, "nll_loss")).to(input.dtype)


def nll_loss(
    input, target, weight=None, size_average=None, ignore_index=-100, reduce=None, reduction="mean"
):
    """the negative of what the logarithms of probabilities hold at each target, which is a class; the mean is weighted

    Source: aten/src/ATen/native/cuda/Loss.cu, nll_loss_forward_out_cuda_template
    """
    reduction = _reduction_of(reduction, size_average, reduce)
    _check(input, "float")
    if input.ndim == 0:
        raise ValueError("nll_loss: expected an input of at least one dim, the classes")
    classes = 0 if input.ndim == 1 else 1
    target = _class_indices(input, target, classes, "nll_loss")
    _class_weight(weight, input, classes, "nll_loss")
    return _nll_loss(input, target, weight, ignore_index, reduction)


def _cross_entropy_of_probabilities(input, target, weight, reduction, label_smoothing, classes):
    if not target.is_floating_point():
        raise RuntimeError("cross_entropy: expected floating point type for target with class probabilities")
    for d in range(input.ndim):
        assert input.size(d) == target.size(d), "a target with class probabilities has the input's size"
    count = input.size(classes)
    if label_smoothing > 0:
        target = target * (1 - label_smoothing) + label_smoothing / count
    loss = log_softmax(input, classes) * target
    if weight is not None:
        loss = loss * _along_classes(weight, input)
    if reduction == "none":
        return -sum(loss, classes)
    if reduction == "sum":
        return -sum(loss)
    return -sum(loss) / (input.numel() / count)


def _along_classes(weight, input):
    for _ in range(input.ndim - 2):
        weight = weight.unsqueeze(-1)
    return weight


def cross_entropy(
    input,
    target,
    weight=None,
    size_average=None,
    ignore_index=-100,
    reduce=None,
    reduction="mean",
    label_smoothing=0.0,
):
    """nll_loss(log_softmax(input), target), where target holds classes, or in the input's shape their probabilities

    Source: aten/src/ATen/native/LossNLL.cpp, cross_entropy_loss
    """
    reduction = _reduction_of(reduction, size_average, reduce)
    _check(input, "float")
    if input.ndim == 0:
        raise ValueError("cross_entropy: expected an input of at least one dim, the classes")
    assert 0 <= label_smoothing and label_smoothing <= 1, "label_smoothing must be between 0.0 and 1.0"
    classes = 0 if input.ndim == 1 else 1
    _class_weight(weight, input, classes, "cross_entropy")
    if target.ndim == input.ndim and (input.ndim > 1 or target.is_floating_point()):
        if ignore_index >= 0:
            raise RuntimeError("cross_entropy: ignore_index is not supported for floating point target")
        return _cross_entropy_of_probabilities(input, target, weight, reduction, label_smoothing, classes)
    target = _class_indices(input, target, classes, "cross_entropy")
    logarithms = log_softmax(input, classes)
    loss = _nll_loss(logarithms, target, weight, ignore_index, reduction)
    if not label_smoothing > 0:
        return loss
    smooth = -sum(logarithms if weight is None else logarithms * _along_classes(weight, input), classes)
    counted = target != ignore_index
    smooth = where(counted, smooth, 0)
    if reduction != "none":
        smooth = sum(smooth)
    if reduction == "mean":
        smooth = smooth / sum(counted if weight is None else where(counted, weight[target], 0))
    return (1 - label_smoothing) * loss + smooth * (label_smoothing / input.size(classes))
