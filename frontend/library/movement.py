"""Functions that move elements. Results are built from views, joined by `cat` if one view is not enough, so that
kernels read with constant strides; only take_along_dim and embedding gather. Masks are computed from the index."""


def _contiguous_copy(input):
    """Copies a tensor into row-major order."""
    return input.clone(memory_format=torch.contiguous_format)


def _rolled(input, shift, dim):
    size = input.size(dim)
    start = -shift % max(size, 1)
    return cat([input.narrow(dim, start, size - start), input.narrow(dim, 0, start)], dim)


@method
def roll(input, shifts, dims=None):
    """elements shifted along dims; those that leave at one end enter at the other

    Source: aten/src/ATen/native/TensorTransformations.cpp
    """
    shifts = shifts if isinstance(shifts, (tuple, list)) else (shifts,)
    if len(shifts) == 0:
        raise ValueError("`shifts` required")
    dims = () if dims is None else dims if isinstance(dims, (tuple, list)) else (dims,)
    if len(dims) == 0 and len(shifts) == 1:
        return _contiguous_copy(_rolled(input.reshape(-1), shifts[0], 0).view(input.shape))
    if len(shifts) != len(dims):
        raise ValueError("shifts and dimensions must align")
    for shift, dim in zip(shifts, dims):
        input = _rolled(input, shift, dim)
    return _contiguous_copy(input) if _on_cuda() else input


@method
def rot90(input, k=1, dims=(0, 1)):
    """input rotated by k right angles in the plane of two dims, from the first towards the second"""
    if len(dims) != 2:
        raise ValueError("expected total rotation dims == 2")
    if input.ndim < 2:
        raise ValueError("expected total dims >= 2")
    first, second = dims
    if first == second or abs(first - second) == input.ndim:
        raise ValueError("expected rotation dims to be different")
    turns = k % 4
    if turns == 0:
        return _contiguous_copy(input)
    if turns == 2:
        return input.flip(dims)
    return input.flip(second if turns == 1 else first).transpose(first, second)


def _repeated(input, times, dim, repeats_elements):
    """Repeats a dim `times` times: each element in place if `repeats_elements`, else the dim as a whole."""
    assert times >= 0, "the number of repeats must not be negative"
    if _known(times) and times == 1:
        return input
    new_dim = dim + 1 if repeats_elements else dim
    repeated = input.unsqueeze(new_dim).expand([times if d == new_dim else -1 for d in range(input.ndim + 1)])
    return repeated.flatten(dim, dim + 1)


@only_method
def repeat(input, *repeats):
    """the tensor repeated along each dim by the given counts"""
    assert len(repeats) > 0, "repeat() needs at least one count"
    repeats = _items(repeats)
    if len(repeats) < input.ndim:
        raise ValueError(
            "Number of dimensions of repeat dims can not be smaller than number of dimensions of tensor"
        )
    for _ in range(len(repeats) - input.ndim):
        input = input.unsqueeze(0)
    for dim in range(len(repeats)):
        input = _repeated(input, repeats[dim], dim, repeats_elements=False)
    return _contiguous_copy(input)


@method
def tile(input, *dims):
    """the tensor repeated along the last dims by the given counts"""
    assert len(dims) > 0, "tile() needs at least one count"
    dims = list(_items(dims))
    return input.repeat([1] * (input.ndim - len(dims)) + dims)


@method
def repeat_interleave(input, repeats, dim=None, *, output_size=None):
    """each element repeated along a dim; without dim, each element of the flattened tensor

    Source: aten/src/ATen/native/Repeat.cpp
    """
    if isinstance(repeats, torch.Tensor):
        raise ValueError("the size of the result would depend on the values of a tensor: `repeats` must be a number")
    if dim is None:
        input, dim = input.flatten(), 0
    size = input.size(dim)
    assert output_size is None or output_size == size * repeats, "repeat_interleave: Invalid output_size"
    return _contiguous_copy(_repeated(input, repeats, dim % input.ndim, repeats_elements=True))


def _rows_and_columns(input):
    """The row and column indices of a matrix's elements, as tensors that broadcast to the matrix."""
    return arange(input.size(-2)).unsqueeze(1), arange(input.size(-1))


def _diagonal(diagonal):
    # Clamp the offset: a larger one makes no difference, and adding a row index to it must not overflow.
    if not isinstance(diagonal, int):
        raise TypeError("diagonal must be an int")
    return max(-(2**62), min(diagonal, 2**62))


@method
def tril(input, diagonal=0):
    """the lower triangle of matrices, 0 above the given diagonal"""
    if input.ndim < 2:
        raise ValueError("tril: input tensor must have at least 2 dimensions")
    row, column = _rows_and_columns(input)
    return _contiguous_copy(masked_fill(input, column > row + _diagonal(diagonal), 0))


@method
def triu(input, diagonal=0):
    """the upper triangle of matrices, 0 below the given diagonal"""
    if input.ndim < 2:
        raise ValueError("triu: input tensor must have at least 2 dimensions")
    row, column = _rows_and_columns(input)
    return _contiguous_copy(masked_fill(input, column < row + _diagonal(diagonal), 0))


@method
def diag_embed(input, offset=0, dim1=-2, dim2=-1):
    """matrices of 0 with the last dim of input on the diagonal at the given offset"""
    rank = input.ndim + 1
    first, second = dim1 % rank, dim2 % rank
    assert -rank <= dim1 < rank and -rank <= dim2 < rank, "diag_embed: Dimension out of range"
    if first == second:
        raise ValueError("diagonal dimensions cannot be identical")
    size, rest = input.size(-1), abs(offset)
    width, batch_shape = size + rest, [input.size(d) for d in range(input.ndim - 1)]
    # For offset >= 0 the elements are in the first rows, else in the first columns; the rest is 0.
    if offset >= 0:
        band, border, dim = input.unsqueeze(-1).expand(batch_shape + [size, width]), [rest, width], -2
    else:
        band, border, dim = input.unsqueeze(-2).expand(batch_shape + [width, size]), [width, rest], -1
    row, column = _rows_and_columns(band)
    band = masked_fill(band, column != row + offset, 0)
    matrix = cat([band, input.new_zeros(batch_shape + border)], dim)
    return _contiguous_copy(matrix.movedim((-2, -1), (first, second)))


@method
def diag(input, diagonal=0):
    """the diagonal of a matrix, or the matrix with a vector on its diagonal"""
    if input.ndim == 1:
        return diag_embed(input, diagonal)
    if input.ndim != 2:
        raise ValueError("diag(): Supports 1D or 2D tensors")
    return _contiguous_copy(input.diagonal(diagonal))


@method
def diagflat(input, offset=0):
    """the matrix with all elements on its diagonal, in row-major order"""
    return diag_embed(input.reshape(-1), offset)


@method
def outer(input: Tensor, vec2: Tensor):
    """the outer product of two vectors"""
    if input.ndim != 1 or vec2.ndim != 1:
        raise ValueError("outer: Expected 1-D arguments")
    return input.unsqueeze(1) * vec2


ger = outer


@method
def kron(input: Tensor, other: Tensor):
    """the Kronecker product: input with each element replaced by its product with other

    Source: aten/src/ATen/native/LinearAlgebra.cpp, KronImpl
    """
    rank = max(input.ndim, other.ndim)
    for _ in range(rank - input.ndim):
        input = input.unsqueeze(0)
    for _ in range(rank - other.ndim):
        other = other.unsqueeze(0)
    for dim in range(rank):
        input, other = input.unsqueeze(2 * dim + 1), other.unsqueeze(2 * dim)
    product = input * other
    return product.view([product.size(2 * dim) * product.size(2 * dim + 1) for dim in range(rank)])


def pixel_shuffle(input, upscale_factor):
    """groups of channels rearranged into square blocks of pixels

    Source: aten/src/ATen/native/PixelShuffle.cpp
    """
    factor, rank = upscale_factor, input.ndim
    if rank < 3:
        raise ValueError("pixel_shuffle expects input to have at least 3 dimensions")
    assert factor > 0, "pixel_shuffle expects a positive upscale_factor"
    channels = input.size(-3)
    assert (
        channels % (factor * factor) == 0
    ), "pixel_shuffle expects its input's 'channel' dimension to be divisible by the square of upscale_factor"
    blocks = input.unflatten(-3, (channels // (factor * factor), factor, factor))
    shuffled = blocks.movedim((rank - 2, rank - 1), (rank - 1, rank + 1))
    shuffled = shuffled.flatten(-2, -1).flatten(-3, -2)
    return _contiguous_copy(shuffled) if _on_cuda() else _in_memory_format_of(shuffled, input)


def pixel_unshuffle(input, downscale_factor):
    """square blocks of pixels rearranged into channels

    Source: aten/src/ATen/native/PixelShuffle.cpp
    """
    factor, rank = downscale_factor, input.ndim
    if rank < 3:
        raise ValueError("pixel_unshuffle expects input to have at least 3 dimensions")
    assert factor > 0, "pixel_unshuffle expects a positive downscale_factor"
    assert (
        input.size(-2) % factor == 0 and input.size(-1) % factor == 0
    ), "pixel_unshuffle expects height and width to be divisible by downscale_factor"
    blocks = input.unflatten(-1, (input.size(-1) // factor, factor))
    blocks = blocks.unflatten(-3, (input.size(-2) // factor, factor))
    shuffled = blocks.movedim((rank - 1, rank + 1), (rank - 2, rank - 1))
    shuffled = shuffled.flatten(-5, -4).flatten(-4, -3)
    return _contiguous_copy(shuffled) if _on_cuda() else _in_memory_format_of(shuffled, input)


def channel_shuffle(input, groups):
    """the channels of several groups interleaved

    Source: aten/src/ATen/native/ChanelShuffle.cpp
    """
    if input.ndim < 3:
        raise ValueError("channel_shuffle expects input with > 2 dims")
    assert groups > 0, "Number of groups to divide channels in must be positive"
    assert input.size(1) % groups == 0, "Number of channels must be divisible by groups"
    shuffled = input.unflatten(1, (groups, input.size(1) // groups)).transpose(1, 2).flatten(1, 2)
    return _contiguous_copy(shuffled) if _on_cuda() else _in_memory_format_of(shuffled, input)


@method
def take_along_dim(input: Tensor, indices: Tensor, dim=None):
    """elements selected along a dim by indices; the other dims are broadcast

    Source: aten/src/ATen/native/TensorAdvancedIndexing.cpp, take_along_dim
    """
    if dim is None:
        return gather(input.reshape(-1), 0, indices.reshape(-1))
    if input.ndim != indices.ndim:
        raise ValueError("torch.take_along_dim(): input and indices should have the same number of dimensions")
    if indices.dtype != torch.int64:
        raise TypeError("torch.take_along_dim(): dtype of indices should be Long")
    axis = dim % input.ndim
    size = input.size(dim)
    shape = broadcast_shapes([n for d, n in enumerate(input.shape) if d != axis],
                             [n for d, n in enumerate(indices.shape) if d != axis])
    before, after = list(shape[:axis]), list(shape[axis:])
    indices = indices % size  # eager wraps indices that are out of range
    return gather(input.expand(before + [size] + after), axis, indices.expand(before + [indices.size(axis)] + after))


def one_hot(tensor, num_classes=-1):
    """1 at the class that each element names, else 0; all 0 for a class that is out of range"""
    if tensor.dtype != torch.int64:
        raise TypeError("one_hot is only applicable to index tensor of type LongTensor.")
    if num_classes < 1:
        raise ValueError("the number of classes would depend on the values of a tensor: pass a positive num_classes")
    return _contiguous_copy((tensor.unsqueeze(-1) == arange(num_classes)).long())


def embedding(
    input, weight, padding_idx=None, max_norm=None, norm_type=2.0, scale_grad_by_freq=False, sparse=False
):
    """the rows of weight that input selects

    Source: aten/src/ATen/native/Embedding.cpp
    """
    if weight.ndim != 2:
        raise ValueError("'weight' must be 2-D")
    if max_norm is not None:
        raise ValueError("max_norm changes the weight in place: renormalise it before the op")
    if padding_idx is not None:
        row_count = weight.size(0)
        assert padding_idx == 0 or -row_count <= padding_idx < row_count, "Padding_idx must be within num_embeddings"
    result = index_select(weight, 0, input.reshape(-1)).view(list(input.shape) + [weight.size(1)])
    if _is_differentiated() and (scale_grad_by_freq or sparse):
        raise ValueError("the gradient of an embedding is dense and not scaled by frequency: leave out sparse and scale_grad_by_freq")
    if padding_idx is None or not _is_differentiated():
        return result
    is_padding = input == (padding_idx if padding_idx >= 0 else padding_idx + row_count)
    return where(is_padding.unsqueeze(-1), result.detach(), result)  # the padding row gets no gradient
