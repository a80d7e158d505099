"""Variances, norms and log-sum-exp: reductions of elementwise results."""


@native
def _squared_distance(input, mean):
    distance = input - mean
    return distance * distance


def _squared_distance_backward(grad, result, input, mean):
    """no gradient for the mean: the distances from it sum to 0

    Source: torch/csrc/autograd/FunctionsManual.cpp, var_backward
    """
    return grad * 2 * (input - mean), None


@native
def _divided_by_freedom(squares, freedom):
    return squares / max(freedom, 0)


def _divided_by_freedom_backward(grad, result, squares, freedom):
    """divides by the degrees of freedom even if they are negative; the result itself counts negative ones as 0

    Source: torch/csrc/autograd/FunctionsManual.cpp, var_backward
    """
    return grad / freedom, None


def _widened_for_sums(input):
    """input in the type in which eager's var and std accumulate: float64 on the CPU"""
    return input if _on_cuda() else input.double()


def _shift(input, dim):
    """a number near most elements of a row, without gradient: the median of three of them, or 0 if it is not finite"""
    first, middle, last = [_row_sample(input, dim, sixths) for sixths in (1, 3, 5)]
    low, high = where(first < last, first, last), where(first < last, last, first)
    median = where(middle < low, low, where(middle < high, middle, high))
    return where(abs(median) < math.inf, median, 0).detach()


def _moments(input, dim, function):
    """the mean, the rounding error of the mean, and the sum of the squared distances from it, with dims of size 1

    One pass computes the sums of the distances from a shift and of their squares. A shift near the mean keeps the sums
    small, so that rounding is harmless: T. F. Chan, G. H. Golub and R. J. LeVeque, Algorithms for Computing the Sample
    Variance, 1983 (docs/performance.md: shifted-sums). The error of the mean has no gradient. If only the gradient is
    needed, the mean is that of the elements, because a kernel that also reads it elsewhere would sample the rows again.
    """
    shift = _shift(input, dim)
    distance = input - shift
    total = _reduce("sum", distance, dim, True, function)
    mean_distance = _divided_by_count(total, input, dim)
    mean = shift + mean_distance
    if _is_only_differentiated():
        mean = _divided_by_count(_reduce("sum", input, dim, True, function), input, dim)
    squares = _reduce("sum", distance * distance, dim, True, function)
    squares = squares - _excess(squares, total, mean_distance)
    if _is_differentiated():
        squared_distances = _reduce("sum", _squared_distance(input, mean), dim, True, function)
        squares = _with_derivative_of(squares.detach(), squared_distances)
    return mean, (mean - shift - mean_distance).detach(), squares


def _excess(squares, total, mean_distance):
    """the part of the sum of squares that is due to the shift: at most `squares`

    It is 0 if only the squares overflow, and NaN if a distance is infinite.
    """
    return where(squares == math.inf, total * 0, minimum(total * mean_distance, squares))


def _variance_and_mean(input, dim, unbiased, keepdim, correction, function):
    if isinstance(dim, bool):  # var(x, unbiased)
        if unbiased is not None:
            raise TypeError(function + "(): a bool in the position of `dim` means `unbiased`, which is also given")
        dim, unbiased = None, dim
    if unbiased is not None and correction is not None:
        raise TypeError(function + "() takes `unbiased` or `correction`, not both")
    if isinstance(correction, torch.Tensor):
        raise TypeError(function + "(): `correction` must be a number: the values of a tensor are not known when the op is compiled")
    if not input.is_floating_point():
        raise RuntimeError(function + "() only supports floating point dtypes: write x.float()")
    _check_dtype(input, "float")
    if correction is None:
        correction = 1 if unbiased is None or unbiased else 0
    if not isinstance(keepdim, bool):
        raise TypeError(function + "(): `keepdim` must be True or False")
    count = _count(input, dim)
    mean, _, squares = _moments(_widened_for_sums(input), dim, function)
    if not keepdim:
        mean, squares = [x.squeeze(_reduced_dims(input, dim)) for x in (mean, squares)]
    # Eager updates its mean element by element: an infinity makes it NaN, unless it is the only element. Adding NaN
    # keeps the mean's gradient; adding -0.0 changes no number.
    is_lost = isnan(squares.detach()) & (full_like(mean, count) > 1)
    return _divided_by_freedom(squares, count - correction), mean + where(is_lost, math.nan, -0.0).to(mean.dtype)


def _detach_where(condition, x):
    """x, without a gradient if the condition is true, as in norm_backward and std_backward for a length of 0"""
    return where(condition, x.detach(), x) if _is_differentiated() else x


def _root_of(x):
    """sqrt(x), without a gradient if it is 0"""
    root = sqrt(x)
    return _detach_where(root == 0, root)


@method
@reduction
def var(input, dim=None, unbiased=None, keepdim=False, *, correction=None):
    """the sum of the squared distances from the mean, divided by the number of elements minus correction"""
    return _variance_and_mean(input, dim, unbiased, keepdim, correction, "var")[0].to(input.dtype)


@method
@reduction
def std(input, dim=None, unbiased=None, keepdim=False, *, correction=None):
    """the square root of var"""
    return _root_of(_variance_and_mean(input, dim, unbiased, keepdim, correction, "std")[0]).to(input.dtype)


@reduction
def var_mean(input, dim=None, unbiased=None, keepdim=False, *, correction=None):
    """var and mean, as a tuple"""
    variance, mean = _variance_and_mean(input, dim, unbiased, keepdim, correction, "var_mean")
    return variance.to(input.dtype), mean.to(input.dtype)


@reduction
def std_mean(input, dim=None, unbiased=None, keepdim=False, *, correction=None):
    """std and mean, as a tuple"""
    variance, mean = _variance_and_mean(input, dim, unbiased, keepdim, correction, "std_mean")
    return _root_of(variance).to(input.dtype), mean.to(input.dtype)


@reduction
def _largest(input, dim, keepdim):
    return _reduce("max", input, dim, keepdim, None)  # -inf without elements


def _finite(input):
    """a maximum, with infinities replaced by the dtype's largest number: an infinity minus itself would be NaN"""
    return where(abs(input) == math.inf, torch.finfo(input.dtype).max, input)


@reduction
def _logsumexp_in_one_pass(input, dim):
    largest = _largest(input, dim, True)
    shift = _finite(largest)
    return log(_sum_of_exponentials(input, largest, shift, dim, None)) + shift.detach()


@method
def logsumexp(input, dim, keepdim=False):
    """log(sum(exp(input))) without overflow

    Source: aten/src/ATen/native/ReduceOps.cpp, logsumexp_out_impl
    """
    (input,) = _floating(input)
    if isinstance(dim, (tuple, list)) and len(dim) == 1:
        dim = dim[0]
    if isinstance(dim, (tuple, list)) and len(dim) == 0 and input.ndim > 0 and not keepdim:
        raise ValueError("logsumexp() takes at least one dim, or keepdim=True: write input.flatten().logsumexp(0)")
    if _uses_one_pass(input) and isinstance(dim, int):
        result = _logsumexp_in_one_pass(input, dim)
        return result if keepdim else result.squeeze(dim)
    total = sum(exp(input - _finite(_largest(input, dim, True)).detach()), dim, keepdim)
    return log(total) + _finite(_largest(input, dim, keepdim)).detach()


def _widened(input, dtype, function):
    """input converted to dtype, if a norm accepts the pair of dtypes"""
    if not input.is_floating_point():
        raise RuntimeError(function + ": Expected a floating point or complex tensor as input: write x.float()")
    _check_dtype(input, "float")
    if dtype is None:
        return input
    if not dtype.is_floating_point:
        raise RuntimeError(function + ": dtype should be floating point or complex")
    narrows = dtype.itemsize < input.dtype.itemsize or dtype.itemsize == input.dtype.itemsize and dtype != input.dtype
    if narrows:
        raise RuntimeError(function + ": the dtype of the input should be convertible without narrowing to `dtype`")
    return input.to(dtype)


def _norm_of_one_element(x):
    """abs(x), with the gradient sign(x): 0 at 0, and NaN if x is NaN or infinite, as for a longer row"""
    length = abs(x)
    if not _is_differentiated():
        return length
    return _with_derivative_of(length.detach(), x * where(x == 0, 0, x / length).detach())


@reduction
def vector_norm(x, ord=2, dim=None, keepdim=False, *, dtype=None):
    """sum(abs(x) ** ord) ** (1 / ord); the largest abs(x) for ord=inf, the smallest for -inf, the nonzero count for 0

    Source: aten/src/ATen/native/SharedReduceOps.h, NormOps and related ops
    """
    if isinstance(ord, str) or ord is None:
        raise TypeError("linalg.vector_norm: `ord` must be a number")
    x = _widened(x, dtype, "linalg.vector_norm")
    if ord < 0:
        assert _count(x, dim) != 0, "linalg.vector_norm cannot compute the norm of a negative order of an empty tensor"
    if ord == math.inf:
        return _reduce("max", abs(x), dim, keepdim, "linalg.vector_norm")
    if ord == -math.inf:
        return _reduce("min", abs(x), dim, keepdim, "linalg.vector_norm")
    if ord == 0:
        return _reduce("sum", (x != 0).to(x.dtype), dim, keepdim, "linalg.vector_norm")
    if ord == 1:
        return _reduce("sum", abs(x), dim, keepdim, "linalg.vector_norm")
    if all([x.size(d) == 1 for d in _reduced_dims(x, dim)]):  # a power of x may leave the dtype's range
        length = _reduce("sum", _norm_of_one_element(x), dim, keepdim, "linalg.vector_norm")
    elif ord == 2:
        length = sqrt(_reduce("sum", x * x, dim, keepdim, "linalg.vector_norm"))
    else:
        powers = pow(abs(x), ord)
        if ord < 1 and _is_differentiated():  # the derivative at 0 is infinite: make it 0
            powers = where(x == 0, powers.detach() + x * 0, powers)
        length = pow(_reduce("sum", powers, dim, keepdim, "linalg.vector_norm"), 1.0 / ord)
    return _detach_where(length == 0, length)


def matrix_norm(A, ord="fro", dim=(-2, -1), keepdim=False, *, dtype=None):
    """the norm of matrices: "fro"; for 1 or inf the largest column or row sum of abs(A), for -1 or -inf the smallest

    Source: aten/src/ATen/native/LinearAlgebra.cpp, linalg_matrix_norm
    """
    if not isinstance(dim, (tuple, list)) or len(dim) != 2:
        raise RuntimeError("linalg.matrix_norm: dim must be a 2-tuple")
    if A.ndim < 2:
        raise RuntimeError("linalg.matrix_norm: The input tensor A must have at least 2 dimensions.")
    if isinstance(ord, str):
        if ord != "fro":
            raise ValueError("linalg.matrix_norm: the only named norm in the language is 'fro', not 'nuc'")
        return vector_norm(A, 2, dim, keepdim, dtype=dtype)
    if abs(ord) == 2:
        raise ValueError("linalg.matrix_norm: the largest and smallest singular value are not in the language")
    if abs(ord) != 1 and abs(ord) != math.inf:
        raise RuntimeError("linalg.matrix_norm: this order is not supported: 'fro', 1, -1, inf and -inf are")
    summed_dim, other_dim = dim if abs(ord) == 1 else (dim[1], dim[0])
    summed_dim = summed_dim if summed_dim >= 0 else summed_dim + A.ndim
    other_dim = other_dim if other_dim >= 0 else other_dim + A.ndim
    if summed_dim == other_dim:
        raise RuntimeError("linalg.matrix_norm: dims must be different")
    sums = vector_norm(A, 1, summed_dim, keepdim, dtype=dtype)
    if not keepdim and other_dim > summed_dim:
        other_dim -= 1
    if ord < 0:
        return amin(sums, other_dim, keepdim)
    return clamp_min(_largest(sums, other_dim, keepdim), 0)  # 0 for an empty matrix


def _linalg_norm(A, ord=None, dim=None, keepdim=False, *, dtype=None):
    """vector_norm of a vector, matrix_norm of a matrix; without ord, the vector norm of all elements

    Source: aten/src/ATen/native/LinearAlgebra.cpp, linalg_norm
    """
    if ord is None:
        return vector_norm(A, 2, dim, keepdim, dtype=dtype)
    if dim is None:
        if A.ndim != 1 and A.ndim != 2:
            raise RuntimeError("linalg.norm: If dim is not specified but ord is, the input must be 1D or 2D.")
        return matrix_norm(A, ord, (0, 1), keepdim, dtype=dtype) if A.ndim == 2 else vector_norm(A, ord, None, keepdim, dtype=dtype)
    if not isinstance(dim, (tuple, list)) or len(dim) == 1:
        return vector_norm(A, ord, dim, keepdim, dtype=dtype)
    if len(dim) != 2:
        raise RuntimeError("linalg.norm: If dim is specified, it must be of length 1 or 2.")
    return matrix_norm(A, ord, dim, keepdim, dtype=dtype)


@method
def norm(input, p="fro", dim=None, keepdim=False, out=None, dtype=None):
    """the vector norm of order p of all elements, or along dims

    Source: torch/functional.py, norm
    """
    if out is not None:
        raise TypeError("norm has no `out` in the language: call the op itself with out=")
    if isinstance(p, str):
        has_many_dims = isinstance(dim, (tuple, list)) and len(dim) > 2
        if p != "fro" or has_many_dims:
            raise ValueError("norm: the only named norm in the language is 'fro', along at most two dims: pass p=2")
        return vector_norm(input, 2, dim, keepdim, dtype=dtype)
    return vector_norm(input, 2 if p is None else p, dim, keepdim, dtype=dtype)


@method
def dist(input: Tensor, other: Tensor, p=2):
    """the vector norm of order p of input - other"""
    return vector_norm(input - other, p)


def normalize(input, p=2.0, dim=1, eps=1e-12, out=None):
    """input divided by its norm of order p along dim; the norm is at least eps

    Source: torch/nn/functional.py, normalize
    """
    if out is not None:
        raise TypeError("normalize has no `out` in the language: call the op itself with out=")
    return input / clamp_min(norm(input, p, dim, keepdim=True), eps).expand_as(input)


@method
def cosine_similarity(x1: Tensor, x2: Tensor, dim=1, eps=1e-8):
    """the cosine of the angle between x1 and x2 along dim; their norms are at least eps

    Source: aten/src/ATen/native/Distance.cpp, cosine_similarity
    """
    common = _promoted(x1, x2)[0].dtype
    if not common.is_floating_point:
        raise RuntimeError("cosine_similarity expects a common dtype that is floating point: write x.float()")
    # Floats are promoted later, when both have the same dims.
    x1, x2 = [x if x.is_floating_point() else x.to(common) for x in (x1, x2)]
    x1, x2 = broadcast_tensors(x1, x2)
    return sum(x1 / _clamped_norm(x1, dim, eps) * (x2 / _clamped_norm(x2, dim, eps)), dim)


def _clamped_norm(x, dim, eps):
    """the norm, at least eps, with the gradient of the norm itself"""
    length = vector_norm(x, 2, dim, True)
    clamped = clamp_min(length, eps)
    return _with_derivative_of(clamped.detach(), length) if _is_differentiated() else clamped


def pairwise_distance(x1: Tensor, x2: Tensor, p=2.0, eps=1e-6, keepdim=False):
    """the norm of order p of x1 - x2 + eps along the last dim

    Source: aten/src/ATen/native/Distance.cpp, pairwise_distance
    """
    return vector_norm(x1 - x2 + eps, p, -1, keepdim)


def _distance(differences, p):
    """the norm of order p over several tensors, element by element"""
    total = None
    for d in differences:
        d = abs(d)
        if p == 0:
            term = (d != 0).to(d.dtype)
        elif p == 1 or p == math.inf:
            term = d
        elif p == 2:
            term = d * d
        else:
            term = _detach_where(d == 0, pow(d, p))
        total = term if total is None else maximum(total, term) if p == math.inf else total + term
    if p == math.inf:
        return _with_derivative_of_all(total, differences) if _is_differentiated() else total
    if p == 0 or p == 1:
        return total
    return _detach_where(total == 0, sqrt(total) if p == 2 else pow(total, 1.0 / p))


def _with_derivative_of_all(largest, differences):
    """the largest distance; each distance that equals it gets the whole gradient"""
    total = 0
    for d in differences:
        total = total + where(abs(d) == largest.detach(), abs(d), 0)
    return _with_derivative_of(largest.detach(), total)


@reduction
def _cdist(x1, x2, p):
    columns = _specialized_size(x1, -1)
    if not _known(columns) or columns > 16:
        raise ValueError("cdist() supports points of at most 16 coordinates: call torch.cdist before or after the op")
    if columns == 0:
        return zeros_like(x1.sum(-1).unsqueeze(-1) + x2.sum(-1).unsqueeze(-2))
    return _distance([x1[..., k].unsqueeze(-1) - x2[..., k].unsqueeze(-2) for k in range(columns)], p)


def cdist(x1: Tensor, x2: Tensor, p=2.0, compute_mode="use_mm_for_euclid_dist_if_necessary"):
    """the norm of order p of the difference between each row of x1 and each row of x2, of at most 16 elements"""
    if x1.dtype != x2.dtype or not x1.is_floating_point():
        raise RuntimeError("cdist only supports floating-point dtypes, the same for both: write x.float()")
    if x1.ndim < 2 or x2.ndim < 2:
        raise RuntimeError("cdist only supports at least 2D tensors")
    if p < 0:
        raise RuntimeError("cdist only supports non-negative p values")
    if compute_mode not in (
        "use_mm_for_euclid_dist_if_necessary",
        "use_mm_for_euclid_dist",
        "donot_use_mm_for_euclid_dist",
    ):
        raise ValueError(compute_mode + " is not a valid value for compute_mode")
    assert x1.size(-1) == x2.size(-1), "X1 and X2 must have the same number of columns"
    return _cdist(x1, x2, p)
