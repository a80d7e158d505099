"""Functions that reshape, join and split tensors, built from views and `cat`."""


def _items(values):
    """the items of *values, given one by one, f(2, 3), or as a tuple or list, f((2, 3))"""
    return values[0] if len(values) == 1 and isinstance(values[0], (tuple, list)) else values


@method
def fliplr(input):
    """elements in reverse order along the second dim"""
    if input.ndim < 2:
        raise ValueError("Input must be >= 2-d.")
    return input.flip(1)


@method
def flipud(input):
    """elements in reverse order along the first dim"""
    if input.ndim < 1:
        raise ValueError("Input must be >= 1-d.")
    return input.flip(0)


def _at_least_1d(input):
    return input.unsqueeze(0) if input.ndim == 0 else input


def _at_least_2d(input):
    return input.unsqueeze(0).unsqueeze(0) if input.ndim == 0 else input.unsqueeze(0) if input.ndim == 1 else input


def _at_least_3d(input):
    return _at_least_2d(input).unsqueeze(-1) if input.ndim < 3 else input


def _map_tensors(function, tensors):
    """one result for one tensor, a tuple for several tensors or a list"""
    if len(tensors) == 1 and isinstance(tensors[0], torch.Tensor):
        return function(tensors[0])
    return tuple([function(x) for x in _items(tensors)])


def atleast_1d(*tensors):
    """with dims of size 1 added, up to at least one dim"""
    return _map_tensors(_at_least_1d, tensors)


def atleast_2d(*tensors):
    """with dims of size 1 added, up to at least two dims"""
    return _map_tensors(_at_least_2d, tensors)


def atleast_3d(*tensors):
    """with dims of size 1 added, up to at least three dims"""
    return _map_tensors(_at_least_3d, tensors)


def hstack(tensors):
    """tensors joined along the second dim; vectors along their only dim"""
    tensors = [_at_least_1d(x) for x in tensors]
    return cat(tensors, 0 if len(tensors) == 0 or tensors[0].ndim == 1 else 1)


def vstack(tensors):
    """tensors joined along the first dim; vectors become rows"""
    return cat([_at_least_2d(x) for x in tensors], 0)


row_stack = vstack


def dstack(tensors):
    """tensors joined along the third dim"""
    return cat([_at_least_3d(x) for x in tensors], 2)


def column_stack(tensors):
    """tensors joined along the second dim; vectors become columns"""
    return hstack([x if x.ndim > 1 else _at_least_1d(x).unsqueeze(1) for x in tensors])


def meshgrid(*tensors, indexing=None):
    """the coordinates of a grid: each vector along its own dim, expanded along the others"""
    tensors = list(_items(tensors))
    if len(tensors) == 0:
        raise ValueError("meshgrid expects a non-empty TensorList")
    if indexing not in (None, "ij", "xy"):
        raise ValueError("torch.meshgrid: indexing must be one of 'xy' or 'ij'")
    for x in tensors:
        if x.ndim > 1:
            raise ValueError("torch.meshgrid: Expected 0D or 1D tensors in the tensor list")
        if x.dtype != tensors[0].dtype:
            raise ValueError("torch.meshgrid expects all tensors to have the same dtype")
    swaps = indexing == "xy" and len(tensors) > 1
    if swaps:
        tensors = [tensors[1], tensors[0]] + tensors[2:]
    sizes = [x.numel() for x in tensors]
    grids = []
    for k, x in enumerate(tensors):
        shape = [n if d == k else 1 for d, n in enumerate(sizes)]
        grids.append(x.reshape(shape).expand(sizes))
    if swaps:
        grids = [grids[1], grids[0]] + grids[2:]
    return tuple(grids)


def _slice(input, dim, start, stop):
    return input.movedim(dim, 0)[start:stop].movedim(0, dim)


@method
def tensor_split(input, indices_or_sections, dim=0):
    """a dim split into equal parts, the first ones one element longer if needed, or split at the given indices"""
    if isinstance(indices_or_sections, torch.Tensor):
        raise ValueError("the split points must be known when the op is compiled: pass numbers")
    if input.ndim == 0:
        raise ValueError("tensor_split expected at least a 1-dimensional tensor, but got a tensor with 0 dims")
    size = input.size(dim)
    if isinstance(indices_or_sections, (tuple, list)):
        bounds = [0] + list(indices_or_sections) + [size]
        return tuple([_slice(input, dim, bounds[k], bounds[k + 1]) for k in range(len(bounds) - 1)])
    sections = indices_or_sections
    if sections <= 0:
        raise ValueError("number of sections must be larger than 0")
    starts = [size // sections * k + min(size % sections, k) for k in range(sections + 1)]
    return tuple([input.narrow(dim, starts[k], starts[k + 1] - starts[k]) for k in range(sections)])


def _split_evenly(input, indices_or_sections, dim):
    if isinstance(indices_or_sections, int):
        if indices_or_sections <= 0:
            raise ValueError("number of sections must be larger than 0")
        assert (
            input.size(dim) % indices_or_sections == 0
        ), "the size of the dimension is not divisible by the number of sections"
    return tensor_split(input, indices_or_sections, dim)


@method
def hsplit(input, indices_or_sections):
    """tensor_split along the second dim; of a vector along its only dim"""
    if input.ndim < 1:
        raise ValueError("torch.hsplit requires a tensor with at least 1 dimension, but got a tensor with 0 dimensions!")
    return _split_evenly(input, indices_or_sections, 0 if input.ndim == 1 else 1)


@method
def vsplit(input, indices_or_sections):
    """tensor_split along the first dim"""
    if input.ndim < 2:
        raise ValueError("torch.vsplit requires a tensor with at least 2 dimensions")
    return _split_evenly(input, indices_or_sections, 0)


@method
def dsplit(input, indices_or_sections):
    """tensor_split along the third dim"""
    if input.ndim < 3:
        raise ValueError("torch.dsplit requires a tensor with at least 3 dimensions")
    return _split_evenly(input, indices_or_sections, 2)


@method
def split_with_sizes(input, split_sizes, dim=0):
    """a dim split into parts of given sizes"""
    return input.split(split_sizes, dim)


def block_diag(*tensors):
    """matrices along the diagonal, 0 elsewhere"""
    for x in tensors:
        if x.ndim > 2:
            raise ValueError("torch.block_diag: Input tensors must have 2 or fewer dimensions")
    blocks = [_at_least_2d(x) for x in _promoted(*tensors)]
    widths = [block.size(1) for block in blocks]
    rows = []
    for k, block in enumerate(blocks):
        left, right = sum(widths[:k]), sum(widths[k + 1 :])
        height = block.size(0)
        rows.append(cat([block.new_zeros((height, left)), block, block.new_zeros((height, right))], 1))
    return cat(rows, 0)


def cartesian_prod(*tensors):
    """all combinations of the elements of vectors, one per row"""
    for x in tensors:
        if x.ndim != 1:
            raise ValueError("Expect a 1D vector")
    if len(tensors) == 1:
        return tensors[0]
    return stack([grid.flatten() for grid in meshgrid(*tensors, indexing="ij")], 1)
