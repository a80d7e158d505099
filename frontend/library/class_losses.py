"""Losses of class scores; targets are class indices or class probabilities."""


def _class_indices(input, target, class_dim, function):
    """Converts a target of class indices to int64. The gather that uses the indices checks their range."""
    if target.dtype != torch.int64 and target.dtype != torch.uint8:
        raise RuntimeError(function + ": expected a target of class indices of dtype torch.int64: write target.long()")
    if input.ndim == 1 and target.ndim == 1:
        assert target.size(0) == 1, "For 1D input, 1D target must have size 1"
        return target.squeeze(0).to(torch.int64)
    if target.ndim != input.ndim - 1:
        raise ValueError(function + ": a target of class indices has one dim fewer than the input, without the class dim")
    others = [d for d in range(input.ndim) if d != class_dim]
    for k, d in enumerate(others):
        assert target.size(k) == input.size(d), "Expected the target to have the input's size except for the class dim"
    return target.to(torch.int64)


def _nan_where(is_out_of_range, loss):
    """Makes the loss NaN if the class is out of range. CUDA kernels report such a class only in debug mode; on the CPU
    the gather raises an error."""
    return where(is_out_of_range, loss * math.nan, loss) if _on_cuda() else loss


def _check_class_weight(weight, input, class_dim, function, any_dtype=False):
    """requires one weight per class, in input's dtype unless any_dtype"""
    if weight is not None:
        if weight.ndim != 1:
            raise RuntimeError(function + ": the weight must be 1-D, with one value per class")
        assert weight.size(0) == input.size(class_dim), "weight tensor should be defined either for all classes or no classes"
        if weight.dtype != input.dtype and not any_dtype:
            raise RuntimeError(function + ": the weight must have the dtype of the input")


@reduction
def _multi_margin_loss(input, target, p, margin, weight, reduction):
    class_index = target.unsqueeze(-1)
    excess = margin - gather(input, -1, class_index) + input  # for each class; the target's own is left out below
    loss = where(excess > 0, excess if p == 1 else excess * excess, 0)
    if weight is not None:
        loss = loss * weight[class_index]
    loss = where(arange(input.size(-1), device=input.device) == class_index, 0, loss)
    loss = _reduce("sum", loss, -1, False, "multi_margin_loss") / input.size(-1)
    return _reduced(_nan_where((target < 0) | (target >= input.size(-1)), loss), reduction)


def multi_margin_loss(
    input: Tensor, target: Tensor, p=1, margin=1.0, weight=None, size_average=None, reduce=None, reduction="mean"
):
    """sum over the other classes of max(0, margin - input[target] + input[class]) ** p, divided by the class count

    Source: aten/src/ATen/native/cuda/MultiMarginLoss.cu
    """
    reduction = _reduction_of(reduction, size_average, reduce)
    if p != 1 and p != 2:
        raise ValueError("only p == 1 and p == 2 supported")
    _check_dtype(input, "float")
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
    _check_class_weight(weight, input, input.ndim - 1, "multi_margin_loss")
    _reject_gradient_of(weight, "multi_margin_loss", "weight")
    loss = _multi_margin_loss(input, target, p, margin, weight, reduction)
    return loss.unsqueeze(0) if is_row and reduction == "none" else loss


@reduction
def _multilabel_margin_loss(input, target, reduction):
    classes = arange(input.size(-1), device=input.device)
    # The targets of a row are listed before its first negative entry.
    is_listed = classes < amin(where(target < 0, classes, input.size(-1)), -1, True)
    class_index = where(is_listed, target, 0).unsqueeze(-1)
    is_listed = is_listed.unsqueeze(-1)
    is_target = any(is_listed & (class_index == classes), -2, True)
    excess = 1 - gather(input, -1, class_index.squeeze(-1)).unsqueeze(-1) + input.unsqueeze(-2)
    is_counted = is_listed & ~is_target & (excess > 0)
    loss = _reduce("sum", where(is_counted, excess, 0), [-2, -1], False, "multilabel_margin_loss")
    if _on_cuda():  # CUDA's kernel ends the list at any negative number and reads no further
        loss = _nan_where(any(is_listed.squeeze(-1) & (target >= input.size(-1)), -1), loss)
    else:
        is_out_of_range = any((target < -1) | (target >= input.size(-1)), -1)
        loss = where(is_out_of_range, math.nan, loss)
    return _reduced(loss / input.size(-1), reduction)


def multilabel_margin_loss(input: Tensor, target: Tensor, size_average=None, reduce=None, reduction="mean"):
    """sum over targets and other classes of max(0, 1 - input[target] + input[class]), divided by the class count

    The targets of a row are the entries before its first -1.

    Source: aten/src/ATen/native/cuda/MultiLabelMarginCriterion.cu
    """
    reduction = _reduction_of(reduction, size_average, reduce)
    _check_dtype(input, "float")
    if input.ndim > 2:
        raise RuntimeError("multilabel_margin_loss: expected a vector or a matrix of scores")
    if target.dtype != torch.int64:
        raise RuntimeError("multilabel_margin_loss: expected a target of dtype torch.int64: write target.long()")
    if input.ndim == 0:
        input = input.unsqueeze(0)
    if target.ndim == 0:
        target = target.unsqueeze(0)
    _check_same_shape(input, target, "multilabel_margin_loss: the target")
    return _multilabel_margin_loss(input, target, reduction)


@reduction
def _nll_loss(input, target, weight, ignore_index, reduction):
    class_dim = 0 if input.ndim == 1 else 1
    is_counted = target != ignore_index
    class_index = where(is_counted, target, 0)  # an ignored target is not a class and must not be read
    loss = -gather(input, class_dim, class_index.unsqueeze(class_dim)).squeeze(class_dim)
    loss = _nan_where((target < 0) | (target >= input.size(class_dim)), loss)
    total = is_counted.to(torch.int64)  # its sum is the divisor of the mean
    if weight is not None:
        class_weight = weight[class_index]
        loss = loss * class_weight
        total = where(is_counted, class_weight, 0)
    loss = where(is_counted, loss, 0)
    if reduction == "none":
        return loss
    loss = _reduce("sum", loss, None, False, "nll_loss")
    return loss if reduction == "sum" else (loss / _reduce("sum", total, None, False, "nll_loss")).to(input.dtype)


def nll_loss(
    input: Tensor, target: Tensor, weight=None, size_average=None, ignore_index=-100, reduce=None, reduction="mean"
):
    """negative log-probability of each target class, from log-probabilities; the mean is weighted

    Source: aten/src/ATen/native/cuda/Loss.cu, nll_loss_forward_out_cuda_template
    """
    reduction = _reduction_of(reduction, size_average, reduce)
    _check_dtype(input, "float")
    if input.ndim == 0:
        raise ValueError("nll_loss: expected an input of at least one dim, the classes")
    class_dim = 0 if input.ndim == 1 else 1
    target = _class_indices(input, target, class_dim, "nll_loss")
    _check_class_weight(weight, input, class_dim, "nll_loss")
    _reject_gradient_of(weight, "nll_loss", "weight")
    return _nll_loss(input, target, weight, ignore_index, reduction)


def _cross_entropy_of_probabilities(input, target, weight, reduction, label_smoothing, class_dim):
    if not target.is_floating_point():
        raise RuntimeError("cross_entropy: expected floating point type for target with class probabilities")
    for d in range(input.ndim):
        assert input.size(d) == target.size(d), "a target with class probabilities has the input's size"
    count = max(input.size(class_dim), 1)  # without classes the mean is 0 / 0, not an error
    if label_smoothing > 0:
        target = target * (1 - label_smoothing) + label_smoothing / count
    loss = log_softmax(input, class_dim) * target
    if weight is not None:
        loss = loss * _with_class_dims(weight, input)
    if reduction == "none":
        return -sum(loss, class_dim)
    if reduction == "sum":
        return -sum(loss)
    return -sum(loss) / (input.numel() / count)


def _with_class_dims(weight, input):
    """one weight per class, with dims of size 1 appended, so that it broadcasts along input's class dim"""
    for _ in range(input.ndim - 2):
        weight = weight.unsqueeze(-1)
    return weight


def cross_entropy(
    input: Tensor,
    target: Tensor,
    weight=None,
    size_average=None,
    ignore_index=-100,
    reduce=None,
    reduction="mean",
    label_smoothing=0.0,
):
    """nll_loss(log_softmax(input), target); target holds class indices, or class probabilities in the input's shape

    Source: aten/src/ATen/native/LossNLL.cpp, cross_entropy_loss
    """
    reduction = _reduction_of(reduction, size_average, reduce)
    _check_dtype(input, "float")
    if input.ndim == 0:
        raise ValueError("cross_entropy: expected an input of at least one dim, the classes")
    assert 0 <= label_smoothing and label_smoothing <= 1, "label_smoothing must be between 0.0 and 1.0"
    class_dim = 0 if input.ndim == 1 else 1
    if target.ndim == input.ndim and (input.ndim > 1 or target.is_floating_point()):
        if ignore_index >= 0:
            raise RuntimeError("cross_entropy: ignore_index is not supported for floating point target")
        _check_class_weight(weight, input, class_dim, "cross_entropy", any_dtype=True)
        return _cross_entropy_of_probabilities(input, target, weight, reduction, label_smoothing, class_dim)
    _check_class_weight(weight, input, class_dim, "cross_entropy")
    target = _class_indices(input, target, class_dim, "cross_entropy")
    _reject_gradient_of(weight, "nll_loss", "weight")  # eager's error names nll_loss
    logarithms = log_softmax(input, class_dim)
    loss = _nll_loss(logarithms, target, weight, ignore_index, reduction)
    if not label_smoothing > 0:
        return loss
    smooth_loss = -sum(logarithms if weight is None else logarithms * _with_class_dims(weight, input), class_dim)
    is_counted = target != ignore_index
    smooth_loss = where(is_counted, smooth_loss, 0)
    if reduction != "none":
        smooth_loss = sum(smooth_loss)
    if reduction == "mean":
        smooth_loss = smooth_loss / sum(
            is_counted if weight is None else where(is_counted, weight[where(is_counted, target, 0)], 0)
        )
    return (1 - label_smoothing) * loss + smooth_loss * (label_smoothing / input.size(class_dim))
