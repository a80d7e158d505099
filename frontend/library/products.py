"""Products of vectors and matrices. A product with a vector is a reduction; of two matrices each element is computed by
itself, so that the first has 16 columns at most."""


def _two_of_a_dtype(x, y, function):
    _check(x, "int float")
    _check(y, "int float")
    if x.dtype != y.dtype:
        raise RuntimeError(function + ": expected two tensors of one dtype: cast one, x.to(y.dtype)")


def _small(size):
    return _known(size) and size <= 16


def _times_vector(x, vector):
    """the products of the rows of x with a vector, or with as many vectors"""
    assert x.size(-1) == vector.size(-1), "mat1 and mat2 shapes cannot be multiplied: as many columns as rows are expected"
    columns = _touched_size(x, -1)
    if not _small(columns) or columns == 0:
        return _reduce("sum", x * vector, -1, False, "matmul")
    total = x[..., 0] * vector[..., 0]
    for k in range(1, columns):
        total = total + x[..., k] * vector[..., k]
    return total


def _times_matrix(x, y):
    assert x.size(-1) == y.size(-2), "mat1 and mat2 shapes cannot be multiplied: as many columns as rows are expected"
    columns = _touched_size(x, -1)
    if not _known(columns):
        columns = _touched_size(y, -2)
    if not _small(columns):
        raise ValueError(
            "a product of matrices over more than 16 columns is outside the language: call torch.matmul before or after the op"
        )
    if columns == 0:
        return _reduce("sum", x.unsqueeze(-1) * y.unsqueeze(-3), -2, False, "matmul")
    total = x[..., 0].unsqueeze(-1) * y[..., 0, :].unsqueeze(-2)
    for k in range(1, columns):
        total = total + x[..., k].unsqueeze(-1) * y[..., k, :].unsqueeze(-2)
    return total


@reduction
def _product(x, y):
    if y.ndim == 1:
        return _times_vector(x, y)
    return _times_vector(y.transpose(-1, -2), x) if x.ndim == 1 else _times_matrix(x, y)


@method
def matmul(input, other):
    """the product of vectors and matrices, of which the last two dims are: `@`; two matrices over 16 columns at most"""
    _two_of_a_dtype(input, other, "matmul")
    if input.ndim == 0 or other.ndim == 0:
        raise RuntimeError("both arguments to matmul need to be at least 1D: write x * y")
    return _product(input, other)


@method
def mm(input, mat2):
    """the product of two matrices, over 16 columns at most"""
    _two_of_a_dtype(input, mat2, "mm")
    if input.ndim != 2 or mat2.ndim != 2:
        raise RuntimeError("mm: two matrices are expected: matmul takes others")
    return _product(input, mat2)


@method
def bmm(input, mat2):
    """the products of matrices, each with that of the same place, over 16 columns at most"""
    _two_of_a_dtype(input, mat2, "bmm")
    if input.ndim != 3 or mat2.ndim != 3:
        raise RuntimeError("bmm: two tensors of 3 dims are expected: matmul takes others")
    assert input.size(0) == mat2.size(0), "bmm: as many matrices of both are expected: matmul broadcasts"
    return _product(input, mat2)


@method
def mv(input, vec):
    """the product of a matrix and a vector"""
    _two_of_a_dtype(input, vec, "mv")
    if input.ndim != 2 or vec.ndim != 1:
        raise RuntimeError("mv: a matrix and a vector are expected: matmul takes others")
    return _product(input, vec)


@method
def dot(input, tensor):
    """the sum of the products of two vectors' elements"""
    _two_of_a_dtype(input, tensor, "dot")
    if input.ndim != 1 or tensor.ndim != 1:
        raise RuntimeError("dot: 1D tensors expected: matmul takes others")
    assert input.size(0) == tensor.size(0), "dot: inconsistent tensor size, expected two vectors of one size"
    return _product(input, tensor)


@method
def vdot(input, other):
    """dot: every tensor of the language is real"""
    return dot(input, other)


@reduction
def vecdot(x, y, *, dim=-1):
    """the sum along a dim of x * y"""
    if not x.is_floating_point():
        raise RuntimeError("linalg.vecdot: Expected a floating point or complex tensor as input: write x.float()")
    _two_of_a_dtype(x, y, "linalg.vecdot")
    _one_dim(dim, "linalg.vecdot")
    return _reduce("sum", x * y, dim, False, "linalg.vecdot")


@method
def inner(input, other):
    """the products of the rows of two tensors, each with each, over 16 columns at most; of vectors dot"""
    if input.ndim == 0 or other.ndim == 0:
        return input * other
    _two_of_a_dtype(input, other, "inner")
    if input.ndim == 1 or other.ndim == 1:
        return _product(input, other) if other.ndim == 1 else _product(other, input)
    rows = other.flatten(0, -2)
    return _product(input, rows.t()).unflatten(-1, other.shape[:-1])


@reduction
def _linear(input, weight, bias):
    result = _product(input, weight if weight.ndim == 1 else weight.t())
    return result if bias is None else result + bias


def linear(input, weight, bias=None):
    """input @ weight.T + bias, over 16 columns at most"""
    _two_of_a_dtype(input, weight, "linear")
    if weight.ndim != 1 and weight.ndim != 2 or input.ndim == 0:
        raise RuntimeError("linear: expected a weight that is a matrix or a vector, and an input of at least one dim")
    if bias is not None:
        _two_of_a_dtype(input, bias, "linear")
    return _linear(input, weight, bias)


@method
@reduction
def trace(input):
    """the sum of a matrix's diagonal"""
    if input.ndim != 2:
        raise RuntimeError("trace: expected a matrix")
    _check(input, "int float")
    return sum(input.diagonal())
