"""PyTorch's reductions, built from the primitives of ir/reductions.def. `dim` is one dim, several, or all."""


def _count(input, dim):
    count = 1
    for d in _reduced_dims(input, dim):
        count = count * input.size(d)
    return count


def _divided_by_count(total, input, dim):
    """a total divided by the number of elements, as eager's kernels divide"""
    count = _count(input, dim)
    return total * _reciprocal_of(count, total) if _on_cuda() else total / count


def _sum_operand(input, dtype):
    """input in the dtype in which its elements are added or multiplied"""
    if dtype is None:
        _check_dtype(input, "bool int float unsigned")
        return input if input.is_floating_point() else input.to(torch.int64)
    is_float8 = dtype.is_floating_point and dtype.itemsize == 1
    if is_float8 or dtype in (torch.uint16, torch.uint32, torch.uint64):
        raise RuntimeError("not implemented for this dtype: omit it and cast the result, .to(dtype)")
    return input.to(dtype)


def _check_one_dim(dim, function):
    if isinstance(dim, (tuple, list)):
        raise TypeError(function + "(): `dim` must be one dim, not several: write input.flatten(…) for adjacent dims")


def _resolved_dim(keepdim, dim, function):
    """dim, or None (all dims) if it is `...`, the default. PyTorch's sum and mean require dim if keepdim is given."""
    if dim is not ...:
        return dim
    if keepdim:
        raise TypeError(function + "() takes keepdim only together with dim: write dim=None, keepdim=True")
    return None


@method
@reduction
def sum(input, dim=..., keepdim=False, *, dtype=None):
    """the sum; 16-bit floats accumulate in float32, integers and bools give int64"""
    dim = _resolved_dim(keepdim, dim, "sum")
    if dtype == torch.bool:
        return _reduce("any", input.to(dtype), dim, keepdim, "sum")
    return _reduce("sum", _sum_operand(input, dtype), dim, keepdim, "sum")


@method
@reduction
def nansum(input, dim=None, keepdim=False, *, dtype=None):
    """the sum of the elements that are not NaN"""
    if not input.is_floating_point():
        return sum(input, dim, keepdim, dtype=dtype)
    if dtype is not None and not dtype.is_floating_point:
        raise RuntimeError("nansum() does not add floats as integers: cast the result, x.nansum().to(dtype)")
    x = _sum_operand(input, dtype)
    return _reduce("sum", where(isnan(x), 0, x), dim, keepdim, "nansum")


@method
@reduction
def prod(input, dim=None, keepdim=False, *, dtype=None):
    """the product; 16-bit floats accumulate in float32, integers and bools give int64"""
    _check_one_dim(dim, "prod")
    if dim is None and keepdim:
        raise TypeError("prod() takes keepdim only together with dim: write prod(x).reshape([1] * x.ndim)")
    if dtype == torch.bool:
        return _reduce("all", input.to(dtype), dim, keepdim, "prod")
    x = _sum_operand(input, dtype)
    result = _reduce("prod", x, dim, keepdim, "prod")
    # The product of a 0-dim tensor is its element, so the derivative is that of the element.
    return _with_derivative_of(result.detach(), x) if x.ndim == 0 and _is_differentiated() else result


@method
@reduction
def mean(input, dim=..., keepdim=False, *, dtype=None):
    """the sum divided by the number of elements"""
    dim = _resolved_dim(keepdim, dim, "mean")
    if dtype is None and not input.is_floating_point():
        raise RuntimeError(
            "mean(): could not infer output dtype. Input dtype must be either a floating point or complex dtype: "
            "write x.float().mean()"
        )
    if dtype is not None and not dtype.is_floating_point:
        raise RuntimeError("mean(): could not infer output dtype. Optional dtype must be either a floating point or complex dtype")
    x = _sum_operand(input, dtype)
    if dtype is not None and dtype.itemsize == 2 and not _on_cuda():
        x = input.float()  # so that the result is rounded once
    mean = _divided_by_count(_reduce("sum", x, dim, keepdim, "mean"), x, dim)
    return mean if dtype is None else mean.to(dtype)


@method
def nanmean(input, dim=None, keepdim=False, *, dtype=None):
    """the mean of the elements that are not NaN

    Source: aten/src/ATen/native/ReduceOps.cpp, nanmean
    """
    _check_dtype(input, "float float8")
    return nansum(input, dim, keepdim, dtype=dtype) / sum(~isnan(input), dim, keepdim)


@method
@reduction
def amax(input, dim=(), keepdim=False):
    """the largest element; NaN if any element is NaN"""
    return _extreme("max", input, dim, keepdim, "amax")


@method
@reduction
def amin(input, dim=(), keepdim=False):
    """the smallest element; NaN if any element is NaN"""
    return _extreme("min", input, dim, keepdim, "amin")


@method
def aminmax(input, *, dim=None, keepdim=False):
    """the smallest and the largest element, as a named tuple"""
    _check_one_dim(dim, "aminmax")
    keepdim = keepdim and not (dim is None and _on_cuda())  # CUDA's kernel for all elements ignores keepdim
    return _named("aminmax", min=_extreme("min", input, dim, keepdim, "aminmax"), max=_extreme("max", input, dim, keepdim, "aminmax"))


@reduction
def _extreme(kind, input, dim, keepdim, function):
    _check_dtype(input, "bool int float")
    return _reduce(kind, input, dim, keepdim, function)


@reduction
def _with_index(kind, input, dim, keepdim, function):
    _check_dtype(input, "bool int float")
    values, indices = _reduce(kind, input, dim, keepdim, function)
    return _named(function, values=values, indices=indices)


def _max_or_min(input, other, dim, keepdim, name):
    if dim is None and isinstance(other, int):
        other, dim = None, other
    _check_one_dim(other, name)
    if isinstance(other, torch.Tensor):
        if dim is not None or not isinstance(keepdim, bool) or keepdim:
            raise TypeError("torch." + name + " of two tensors takes neither dim nor keepdim")
        return maximum(input, other) if name == "max" else minimum(input, other)
    if other is not None:
        limit = "min" if name == "max" else "max"
        raise TypeError("torch." + name + " takes two tensors, not a tensor and a number: write clamp(x, " + limit + "=…)")
    if dim is None:
        if keepdim:
            raise TypeError("torch." + name + " takes keepdim only together with dim: write a" + name + "(x, keepdim=True)")
        return _extreme(name, input, None, False, name)
    _check_one_dim(dim, name)
    return _with_index("arg" + name, input, dim, keepdim, name)


@method
def max(input, other=None, keepdim=False, *, dim=None):
    """the larger of two tensors, as maximum; the largest element of one tensor; along dim, also its first index"""
    return _max_or_min(input, other, dim, keepdim, "max")


@method
def min(input, other=None, keepdim=False, *, dim=None):
    """the smaller of two tensors, as minimum; the smallest element of one tensor; along dim, also its first index"""
    return _max_or_min(input, other, dim, keepdim, "min")


def _index_of_extreme(kind, input, dim, keepdim):
    if input.dtype == torch.bool:
        raise RuntimeError(kind + "(): does not support bool input: write x.int()")
    _check_one_dim(dim, kind)
    if dim is not None:
        return _with_index(kind, input, dim, keepdim, kind).indices
    index = _with_index(kind, input.flatten(), 0, False, kind).indices
    return index.reshape([1] * input.ndim) if keepdim else index


@method
def argmax(input, dim=None, keepdim=False):
    """the index of the first largest element; without dim, in the flattened tensor"""
    return _index_of_extreme("argmax", input, dim, keepdim)


@method
def argmin(input, dim=None, keepdim=False):
    """the index of the first smallest element; without dim, in the flattened tensor"""
    return _index_of_extreme("argmin", input, dim, keepdim)


def _is_nonzero(input):
    return input if input.dtype == torch.bool else input != 0


def _predicate_result(result, input):
    return result.to(torch.uint8) if input.dtype == torch.uint8 else result


@method
@reduction
def any(input, dim=None, keepdim=False):
    """whether any element is nonzero; False without elements; uint8 for uint8 input; dim=() reduces no dim"""
    if isinstance(dim, (tuple, list)) and len(dim) == 0:
        return _predicate_result(_is_nonzero(input), input)
    return _predicate_result(_reduce("any", _is_nonzero(input), dim, keepdim, "any"), input)


@method
@reduction
def all(input, dim=None, keepdim=False):
    """whether all elements are nonzero; True without elements; uint8 for uint8 input; dim=() reduces no dim"""
    if isinstance(dim, (tuple, list)) and len(dim) == 0:
        return _predicate_result(_is_nonzero(input), input)
    return _predicate_result(_reduce("all", _is_nonzero(input), dim, keepdim, "all"), input)


@method
@reduction
def count_nonzero(input, dim=None):
    """the number of nonzero elements"""
    _check_dtype(input, "bool int float")
    return _reduce("sum", _is_nonzero(input).to(torch.int64), dim, False, "count_nonzero")
