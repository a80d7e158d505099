"""Padding. Each border is a separate operand of `cat`: a constant, or a view of the tensor."""


def _padding(input, pad):
    """(dim, before, after) for each padded dim, the last dim first"""
    return [(input.ndim - 1 - k, pad[2 * k], pad[2 * k + 1]) for k in range(len(pad) // 2)]


def _cropped(input, dim, before, after):
    """input without the elements that negative padding removes"""
    start = max(-before, 0)
    return input.narrow(dim, start, input.size(dim) - start - max(-after, 0))


def _filled_border(input, dim, width, value):
    return input.new_full([width if d == dim else input.size(d) for d in range(input.ndim)], value)


def _constant_pad(input, pad, value):
    cropped = input
    for dim, before, after in _padding(input, pad):
        cropped = _cropped(cropped, dim, before, after)
    padded = cropped
    for dim, before, after in _padding(input, pad):
        first = _filled_border(padded, dim, max(before, 0), value)
        last = _filled_border(padded, dim, max(after, 0), value)
        padded = cat([first, padded, last], dim)
    return _padded_like(padded, cropped, input)


def _check_not_empty(input, dims):
    """checks that the last `dims` dims, which are padded, and the channel dim before them are not empty"""
    for d in range(input.ndim - dims - 1, input.ndim):
        assert input.size(d) > 0, "expected a tensor with possibly 0 batch size and other non-zero dimensions"


def _check_not_emptied(input, pad):
    """rejects negative sizes, and padding that leaves every padded dim empty; eager's kernels check no more"""
    widths = [input.size(dim) + before + after for dim, before, after in _padding(input, pad)]
    for width in widths:
        assert width >= 0, "the input is too small for its negative padding: a dim would have a negative size"
    assert max(*widths, 0) >= 1, "the input is too small for its negative padding: no element would be left"


def _reflection_pad(input, pad):
    for dim, before, after in _padding(input, pad):
        size = input.size(dim)
        assert (
            before < size and after < size
        ), "Padding size should be less than the corresponding input dimension"
        before_width, after_width = max(before, 0), max(after, 0)
        first = input.narrow(dim, 1, before_width).flip(dim)
        last = input.narrow(dim, size - 1 - after_width, after_width).flip(dim)
        input = cat([first, _cropped(input, dim, before, after), last], dim)
    return input


def _reflection_pad3d(input, pad):
    """a separate function, because autocast does not cast its input"""
    return _reflection_pad(input, pad)


def _edge(input, dim, position, width):
    return input.narrow(dim, position, 1).expand([width if d == dim else -1 for d in range(input.ndim)])


def _border_width(width, other, total):
    """the number of elements of the new size `total` that a border fills; negative padding on the other side may cut
    into it"""
    width = max(width, 0)
    return width if _known(other) and other >= 0 else min(width, total)


def _replication_pad(input, pad):
    for dim, before, after in _padding(input, pad):
        size = input.size(dim)
        total = size + before + after
        first, last = _border_width(before, after, total), _border_width(after, before, total)
        cropped = input.narrow(dim, min(max(-before, 0), size), total - first - last)
        input = cat([_edge(input, dim, 0, first), cropped, _edge(input, dim, size - 1, last)], dim)
    return input


def _circular_pad(input, pad):
    for dim, before, after in _padding(input, pad):
        size_left = input.size(dim) - max(-before, 0) - max(-after, 0)
        assert size_left >= 0, "Negative padding value is resulting in an empty dimension"
        # If negative padding leaves fewer elements than the other side copies, eager reads elements of its result
        # before it writes them.
        assert before <= size_left and after <= size_left, "Padding value causes wrapping around more than once."
        cropped = _cropped(input, dim, before, after)
        before_width = max(before, 0)
        first = cropped.narrow(dim, cropped.size(dim) - before_width, before_width)
        input = cat([first, cropped, cropped.narrow(dim, 0, max(after, 0))], dim)
    return input.clone(memory_format=torch.contiguous_format)


def pad(input, pad, mode="constant", value=None):
    """input extended along the last dims by a number or by its own elements; negative padding crops

    Source: aten/src/ATen/native/PadNd.cpp
    """
    if len(pad) % 2 != 0:
        raise ValueError("Padding length must be divisible by 2")
    if len(pad) > 2 * input.ndim:
        raise ValueError("Padding length should be less than or equal to two times the input dimension")
    if mode == "constant":
        if not isinstance(value, torch.Tensor):
            value = 0 if value is None else float(value)
        return _constant_pad(input, pad, value)
    if mode not in ("reflect", "replicate", "circular"):
        raise NotImplementedError("Unrecognised padding mode " + mode)
    assert value is None or value == 0, "this padding mode doesn't take in value argument"
    dims = len(pad) // 2
    if dims not in (1, 2, 3) or input.ndim not in (dims + 1, dims + 2):
        raise NotImplementedError("Only 2D, 3D, 4D, 5D padding with non-constant padding are supported for now")
    if mode == "circular":
        return _circular_pad(input, pad)
    _check_not_empty(input, dims)
    _check_not_emptied(input, pad)
    reflected = _reflection_pad3d if dims == 3 else _reflection_pad
    padded = _replication_pad(input, pad) if mode == "replicate" else reflected(input, pad)
    return padded.clone(memory_format=torch.contiguous_format) if _on_cuda() else _in_memory_format_of(padded, input)
