"""Resizing of images."""


def _per_dim(value, dims, what):
    values = list(value) if isinstance(value, (tuple, list)) else [value] * dims
    if len(values) != dims:
        raise ValueError("Input must have the same number of spatial dimensions as " + what)
    return values


def _source_positions(input, input_size, output_size, scale, is_nearest_exact):
    """The input position for each output position, computed in floating point as in eager's kernels. The sizes are
    those of one dim."""
    in_float64 = input.dtype == torch.float64 and not _on_cuda()
    output_index = arange(output_size).to(torch.float64 if in_float64 else torch.float32)
    # 1 / scale is a number: computed in double, then rounded to the dtype of `output_index`.
    ratio = 1 / scale if scale is not None else full_like(output_index, input_size) / output_size
    position = (output_index + 0.5) * ratio if is_nearest_exact else output_index * ratio
    return clamp(floor(position.float()).long(), max=input_size - 1)


def _repeats_exactly(times, input):
    """Whether eager, which multiplies the output index by 1 / times, reads each element exactly `times` times.

    The position of output index `times` must be 1 in float32. It rounds to 1 from half an ulp below 1 on: 1 - 2**-25.
    """
    in_float64 = input.dtype == torch.float64 and not _on_cuda()
    like = zeros(1, dtype=torch.float64 if in_float64 else torch.float32)
    return times == int(times) and _reciprocal_of(times, like) * times >= 1 - 2.0**-25


def _nearest(input, dim, output_size, scale, is_nearest_exact):
    input_size = input.size(dim)
    assert input_size > 0 and output_size > 0, "Input and output sizes should be greater than 0"
    assert (
        input_size < 2**24 and output_size < 2**24
    ), "interpolate supports sizes below 2 ** 24, because eager computes positions in float32"
    if scale is None and _known(input_size) and _known(output_size) and (
        output_size % input_size == 0 or input_size % output_size == 0
    ):
        scale = output_size / input_size
    if scale is not None and _known(scale):
        if scale >= 1 and _repeats_exactly(scale, input):
            return _repeated(input, int(scale), dim, repeats_elements=True)
        if scale > 0 and 1 / scale == int(1 / scale) and not is_nearest_exact:
            return input.movedim(dim, 0)[:: int(1 / scale)][:output_size].movedim(0, dim)
    return input.index_select(dim, _source_positions(input, input_size, output_size, scale, is_nearest_exact))


def interpolate(
    input,
    size=None,
    scale_factor=None,
    mode="nearest",
    align_corners=None,
    recompute_scale_factor=None,
    antialias=False,
):
    """input resized by nearest-neighbour sampling

    Source: aten/src/ATen/native/cpu/UpSampleKernel.cpp
    """
    # A message that does not say what to write instead is PyTorch's own.
    if mode not in ("nearest", "nearest-exact"):
        raise NotImplementedError(
            "interpolate() supports only mode='nearest' and mode='nearest-exact': call torch's function before the op"
        )
    if align_corners is not None:
        raise ValueError("align_corners option can only be set with the interpolating modes")
    if antialias:
        raise ValueError("Anti-alias option is restricted to bilinear and bicubic modes")
    dims = input.ndim - 2
    if dims not in (1, 2, 3):
        raise NotImplementedError("Input Error: Only 3D, 4D and 5D input Tensors supported")
    if (size is None) == (scale_factor is None):
        raise ValueError("one of size and scale_factor should be defined, and only one")
    if size is not None:
        sizes, scales = _per_dim(size, dims, "size"), [None] * dims
    else:
        scales = _per_dim(scale_factor, dims, "scale_factor")
        sizes = [int(input.size(k + 2) * scales[k]) for k in range(dims)]
    if recompute_scale_factor:
        if size is not None:
            raise ValueError("recompute_scale_factor is not meaningful with an explicit size.")
        scales = [None] * dims
    for d in range(1, input.ndim):
        assert input.size(d) > 0, "Non-empty data tensor expected"
    resized = input
    for k in range(dims):
        resized = _nearest(resized, k + 2, sizes[k], scales[k], mode == "nearest-exact")
    return _in_memory_format_of(resized, input)
