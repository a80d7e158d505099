"""Products of vectors and matrices. A product with a vector is a reduction. A product of two matrices computes each
element separately, so the inner dimension may be at most 16."""


def _check_dtypes(x, y, function):
    _check_dtype(x, "int float")
    _check_dtype(y, "int float")
    if x.dtype != y.dtype:
        raise RuntimeError(function + ": expected two tensors of the same dtype: cast one, x.to(y.dtype)")


def _check_dims(x, x_dims, y, y_dims, function, expected):
    _check_dtypes(x, y, function)
    if x.ndim != x_dims or y.ndim != y_dims:
        raise RuntimeError(function + ": " + expected + ": use matmul for other shapes")


def _is_small(size):
    return _known(size) and size <= 16


def _times_vector(x, vector):
    """matrix-vector product; `vector` broadcasts against the rows of x"""
    assert x.size(-1) == vector.size(-1), "mat1 and mat2 shapes cannot be multiplied: columns and rows do not match"
    columns = _specialized_size(x, -1)
    if not _is_small(columns) or columns == 0:
        return _reduce("sum", x * vector, -1, False, "matmul")
    total = x[..., 0] * vector[..., 0]
    for k in range(1, columns):
        total = total + x[..., k] * vector[..., k]
    return total


def _times_matrix(x, y):
    assert x.size(-1) == y.size(-2), "mat1 and mat2 shapes cannot be multiplied: columns and rows do not match"
    columns = _specialized_size(x, -1)
    if not _known(columns):
        columns = _specialized_size(y, -2)
    if not _is_small(columns):
        raise ValueError(
            "matrix products with an inner dimension above 16 are outside the language: call torch.matmul before or after the op"
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
def matmul(input: Tensor, other: Tensor):
    """the product `@` of vectors or matrices (the last two dims); of two matrices with an inner dimension up to 16"""
    _check_dtypes(input, other, "matmul")
    if input.ndim == 0 or other.ndim == 0:
        raise RuntimeError("both arguments to matmul need to be at least 1D: write x * y")
    return _product(input, other)


@method
def mm(input: Tensor, mat2: Tensor):
    """the product of two matrices, with an inner dimension up to 16"""
    _check_dims(input, 2, mat2, 2, "mm", "two matrices are expected")
    return _product(input, mat2)


@method
def bmm(input: Tensor, mat2: Tensor):
    """batched matrix product, with an inner dimension up to 16"""
    _check_dims(input, 3, mat2, 3, "bmm", "two tensors of 3 dims are expected")
    assert input.size(0) == mat2.size(0), "bmm: both must have the same number of matrices: use matmul to broadcast"
    return _product(input, mat2)


@method
def mv(input: Tensor, vec: Tensor):
    """matrix-vector product"""
    _check_dims(input, 2, vec, 1, "mv", "a matrix and a vector are expected")
    return _product(input, vec)


@method
def dot(input: Tensor, tensor: Tensor):
    """the dot product of two vectors"""
    _check_dims(input, 1, tensor, 1, "dot", "1D tensors expected")
    assert input.size(0) == tensor.size(0), "dot: inconsistent tensor size, expected two vectors of the same size"
    return _product(input, tensor)


@reduction
def _input_plus_product(input, x, y, beta, alpha, function):
    _check_dtypes(input, x, function)
    if not x.is_floating_point():
        beta, alpha = int(beta), int(alpha)
    product = alpha * _product(x, y)
    input = input.expand_as(product)
    return product if beta == 0 else beta * input + product


@method
def addmm(input: Tensor, mat1: Tensor, mat2: Tensor, *, beta=1, alpha=1):
    """beta * input + alpha * (mat1 @ mat2), with an inner dimension up to 16"""
    _check_dims(mat1, 2, mat2, 2, "addmm", "two matrices are expected")
    return _input_plus_product(input, mat1, mat2, beta, alpha, "addmm")


@method
def baddbmm(input: Tensor, batch1: Tensor, batch2: Tensor, *, beta=1, alpha=1):
    """batched addmm: beta * input + alpha * (batch1 @ batch2), with an inner dimension up to 16"""
    _check_dims(batch1, 3, batch2, 3, "baddbmm", "two tensors of 3 dims are expected")
    assert batch1.size(0) == batch2.size(0), "baddbmm: both must have the same number of matrices: use matmul to broadcast"
    return _input_plus_product(input, batch1, batch2, beta, alpha, "baddbmm")


@method
def addmv(input: Tensor, mat: Tensor, vec: Tensor, *, beta=1, alpha=1):
    """beta * input + alpha * (mat @ vec)"""
    _check_dims(mat, 2, vec, 1, "addmv", "a matrix and a vector are expected")
    return _input_plus_product(input, mat, vec, beta, alpha, "addmv")


@method
def vdot(input: Tensor, other: Tensor):
    """dot: all tensors are real"""
    return dot(input, other)


@reduction
def vecdot(x, y, *, dim=-1):
    """the sum of x * y along a dim"""
    if not x.is_floating_point():
        raise RuntimeError("linalg.vecdot: Expected a floating point or complex tensor as input: write x.float()")
    _check_dtypes(x, y, "linalg.vecdot")
    _check_one_dim(dim, "linalg.vecdot")
    return _reduce("sum", x * y, dim, False, "linalg.vecdot")


@method
def inner(input: Tensor, other: Tensor):
    """dot products of all rows of input with all rows of other, with an inner dimension up to 16; dot for vectors"""
    if input.ndim == 0 or other.ndim == 0:
        return input * other
    return dot(input, other) if input.ndim == 1 and other.ndim == 1 else _inner(input, other)


def _inner(input, other):
    """inner for at least one matrix, which eager computes as a matrix product"""
    _check_dtypes(input, other, "inner")
    if input.ndim == 1 or other.ndim == 1:
        return _product(input, other) if other.ndim == 1 else _product(other, input)
    rows = other.flatten(0, -2)
    return _product(input, rows.t()).unflatten(-1, other.shape[:-1])


@reduction
def _linear(input, weight, bias):
    result = _product(input, weight if weight.ndim == 1 else weight.t())
    return result if bias is None else result + bias


def linear(input: Tensor, weight: Tensor, bias=None):
    """input @ weight.T + bias, with an inner dimension up to 16"""
    _check_dtypes(input, weight, "linear")
    if weight.ndim != 1 and weight.ndim != 2 or input.ndim == 0:
        raise RuntimeError("linear: expected a weight that is a matrix or a vector, and an input of at least one dim")
    if bias is not None:
        _check_dtypes(input, bias, "linear")
    return _linear(input, weight, bias)


def _find_label(label, labels):
    for k, each in enumerate(labels):
        if each == label:
            return k
    return None


def _diagonals(x, labels):
    """one dim per label: two dims with the same label become their diagonal"""
    labels = list(labels)
    d = 0
    while d < len(labels):
        next_position = _find_label(labels[d], labels[d + 1 :])
        if next_position is None:
            d += 1
        else:
            other = d + 1 + next_position
            assert x.size(d) == x.size(other), "einsum(): dims with the same subscript must have the same size"
            x = x.diagonal(dim1=d, dim2=other)
            labels = [label for k, label in enumerate(labels) if k != d and k != other] + [labels[d]]
    return x, labels


def _permuted_to(x, labels, order):
    """x with its dims permuted to `order`, with size 1 for missing ones"""
    missing = [label for label in order if _find_label(label, labels) is None]
    labels = labels + missing
    return x[(...,) + (None,) * len(missing)].permute([_find_label(label, labels) for label in order])


@reduction
def _contracted(x, y, both, left, inner):
    """The sums of x * y over the `inner` dims, a matrix product in eager.

    The dims of x and y come in this order: `both` dims of x and y, `left` dims of x alone, `inner` dims, dims of y
    alone. A dim of one tensor alone has size 1 in the other. The result has size 1 in the inner dims.
    """
    _check_dtypes(x, y, "einsum")
    first, end = both + left, both + left + inner
    for d in range(first, end):
        assert x.size(d) == y.size(d), "einsum(): dims with the same subscript must have the same size"
    if inner == 0:
        return x * y
    rows, columns = x.shape[both:first], y.shape[end:]
    if all(n == 1 for n in rows) or all(n == 1 for n in columns):
        return _reduce("sum", x * y, list(range(first, end)), True, "einsum")
    x = x.flatten(first).flatten(both, first - 1)
    y = y.flatten(end).flatten(both, end - 1)
    product = _times_matrix(x, y).unflatten(-1, columns)
    return product.unflatten(both, list(rows) + [1] * inner)


def _sum_of_products(x, y, summed):
    """the sum of x * y over the dims `summed`, which keep size 1

    Source: aten/src/ATen/native/Linear.cpp, sumproduct_pair
    """
    if len(summed) == 0:
        return x * y
    remaining = [d for d in range(x.ndim) if d not in summed]
    both = [d for d in remaining if x.size(d) != 1 and y.size(d) != 1]
    left = [d for d in remaining if x.size(d) != 1 and y.size(d) == 1]
    right = [d for d in remaining if x.size(d) == 1]  # includes the dims of size 1 in both
    # Exchange x and y if all dims of y alone precede those of x alone.
    if len(left) > 0 and len(right) > 0 and right[-1] < left[0]:
        x, left, y, right = y, right, x, left
    order = both + left + summed + right
    product = _contracted(x.permute(order), y.permute(order), len(both), len(left), len(summed))
    return product.permute([_find_label(d, order) for d in range(len(order))])


def einsum(equation, *operands):
    """the sums of products that the equation describes; a product of two matrices has an inner dimension up to 16

    Source: aten/src/ATen/native/Linear.cpp, einsum
    """
    if isinstance(equation, torch.Tensor):  # einsum(x, [0, 1], y, [1, 2], [0, 2])
        operands, output = [equation, *operands], None
        if len(operands) % 2 == 1:  # the result's subscripts come last
            operands, output = operands[:-1], operands[-1]
        equation, operands = (operands[1::2], output), operands[::2]
    elif not isinstance(equation, str):
        raise TypeError('einsum(): the equation must be a string, such as einsum("ij,jk->ik", x, y)')
    operands = list(_items(operands))
    terms, output = _einsum_labels(equation, operands)
    order = list(output)
    for term in terms:
        for label in term:
            if _find_label(label, order) is None:
                order.append(label)
    summed = list(range(len(output), len(order)))
    tensors = []
    for x, term in zip(operands, terms):
        x, labels = _diagonals(x, term)
        tensors.append(_permuted_to(x, labels, order))
    x = tensors[0]
    if len(tensors) == 1:
        return sum(x, summed) if len(summed) > 0 else x
    for k in range(1, len(tensors)):
        y, later = tensors[k], tensors[k + 1 :]
        # Sum now over the dims that no later tensor has; size 1 counts as absent.
        last = [d for d in summed if all(tensor.size(d) == 1 for tensor in later)]
        x_alone = [d for d in last if x.size(d) != 1 and y.size(d) == 1]
        y_alone = [d for d in last if x.size(d) == 1 and y.size(d) != 1]
        shared = [d for d in last if x.size(d) != 1 and y.size(d) != 1]
        x = sum(x, x_alone, True) if len(x_alone) > 0 else x
        y = sum(y, y_alone, True) if len(y_alone) > 0 else y
        x = _sum_of_products(x, y, shared)
    # Reshape as eager does: squeezing would give dims of size 1 other strides.
    return x.view(x.shape[: len(output)]) if len(summed) > 0 else x


def _nonnegative_dims(dims, ndim):
    if not isinstance(dims, (tuple, list)):
        raise TypeError("tensordot: `dims` must be a number, or two tuples of dims")
    return [d + ndim if d < 0 else d for d in dims]


def _sum_against_size_one(x, d, y, other):
    """Dim d of x is contracted with dim `other` of y. If one of them has size 1, sums along the other one: the sum of
    products is then the product with that sum."""
    if x.size(d) == 1 and y.size(other) != 1:
        return x, sum(y, other, True, dtype=y.dtype)
    if x.size(d) != 1 and y.size(other) == 1:
        return sum(x, d, True, dtype=x.dtype), y
    return x, y


def tensordot(a, b, dims=2, out=None):
    """products of elements of two tensors, summed along dims of both; at most 16 terms if the result has dims of both

    `dims` is a number of dims, the last ones of a and the first ones of b, or two lists of dims.

    Source: aten/src/ATen/native/Linear.cpp, tensordot
    """
    if out is not None:
        raise TypeError("tensordot has no `out` in the language: call the op itself with out=")
    _check_dtypes(a, b, "tensordot")
    if isinstance(dims, int):
        if dims < 0 or dims > a.ndim or dims > b.ndim:
            raise RuntimeError("tensordot: dims must be at least 0, and at most the number of dims of each tensor")
        dims = list(range(a.ndim - dims, a.ndim)), list(range(dims))
    a_dims, b_dims = _nonnegative_dims(dims[0], a.ndim), _nonnegative_dims(dims[1], b.ndim)
    if len(a_dims) != len(b_dims):
        raise RuntimeError("tensordot: both dimension lists should have same length")
    for d, other in zip(a_dims, b_dims):
        a, b = _sum_against_size_one(a, d, b, other)
        assert a.size(d) == b.size(other), "tensordot: contracted dimensions need to match"
    left = [d for d in range(a.ndim) if d not in a_dims]
    right = [d for d in range(b.ndim) if d not in b_dims]
    if len(left) + len(right) == 0:
        return dot(a.permute(a_dims).flatten(), b.permute(b_dims).flatten())
    a = a.permute(left + a_dims)[(...,) + (None,) * len(right)]
    b = b.permute(b_dims + right)[(None,) * len(left)]
    product = _contracted(a, b, 0, len(left), len(a_dims))
    return product.squeeze(list(range(len(left), len(left) + len(a_dims)))) if len(a_dims) > 0 else product


@method
@reduction
def trace(input):
    """the sum of a matrix's diagonal"""
    if input.ndim != 2:
        raise RuntimeError("trace: expected a matrix")
    _check_dtype(input, "int float")
    return sum(input.diagonal())
