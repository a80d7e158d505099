"""Tensors made from numbers."""


def scalar_tensor(s, *, dtype=None, device=None):
    """a number as a 0-dim tensor"""
    if isinstance(s, torch.Tensor):
        raise TypeError("expected a number, not a tensor: x[0, 0] already is a 0-dim tensor")
    return tensor(s, dtype=get_default_dtype() if dtype is None else dtype, device=device)


def linspace(start, end, steps, *, dtype=None, device=None):
    """evenly spaced numbers from start to end

    Source: aten/src/ATen/native/cuda/RangeFactories.cu
    """
    if isinstance(start, torch.Tensor) or isinstance(end, torch.Tensor):
        raise ValueError("linspace takes numbers: write start + (end - start) * torch.linspace(0, 1, steps)")
    assert steps >= 0, "number of steps must be non-negative"
    dtype = get_default_dtype() if dtype is None else dtype
    return _linspace(start, end, steps, arange(steps, device=device), dtype)


@native
def _linspace(start, end, steps, index, dtype):
    zero = zeros_like(index, dtype=dtype)
    first, last = full_like(zero, _rounded_to_dtype(start, zero)), full_like(zero, _rounded_to_dtype(end, zero))
    is_first_half = index < max(steps // 2, 1)
    if dtype in (torch.float16, torch.bfloat16):
        # Eager's kernel rounds after every operation.
        step = ((last - first).to(dtype) / max(steps - 1, 1)).to(dtype)
        rising = first + (step * index.to(dtype)).to(dtype)
        falling = last - (step * (steps - index - 1).to(dtype)).to(dtype)
        return where(is_first_half, rising, falling)
    if not dtype.is_floating_point:
        wide = torch.float32 if _on_cuda() else torch.float64
        first, last = first.to(wide), last.to(wide)
    step = (last - first) / max(steps - 1, 1)
    return where(is_first_half, _fma(step, index, first), _fma(-step, steps - index - 1, last)).to(dtype)
