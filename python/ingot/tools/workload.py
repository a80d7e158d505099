"""The workload of a comparison: an op and its arguments, as given and in variants that hand-written kernels often get wrong."""

from __future__ import annotations

import dataclasses
import functools
import math
import re
from typing import Callable, Iterator

import torch

from ..capture import author_error
from ..oracle import as_list

Call = Callable[[], list[torch.Tensor]]

MAX_ODD_ELEMENTS = 1 << 22  # of the largest tensor in the case of odd sizes
MIN_CHANGED_SIZE = 17  # smaller sizes have a meaning, such as the corners of a box or the channels of a pixel, and are kept
FEW_ELEMENTS = 5  # the size of each dim in the case of few elements


GRAD = "grad"
# A candidate is incorrect if it fails on one of these.
AS_GIVEN, SPECIAL, ONE_PER_ROW, BOUNDARY_SPIKES, POSITIVE = DECISIVE = (
    "as given", "special values", "one special value per row", "boundary spikes", "positive values")


@dataclasses.dataclass(frozen=True)
class EagerRun:
    """The results of eager PyTorch, each tensor in memory of its own."""

    written_names: list[str]  # the parameters that are written in place
    written_values: list[torch.Tensor]  # their values afterwards
    returned: list[torch.Tensor]

    @property
    def results(self) -> list[torch.Tensor]:
        """All results in the order in which they are checked."""
        return [*self.written_values, *self.returned]


@dataclasses.dataclass(frozen=True)
class Workload:
    """An op and all its arguments by name, in the order of its parameters. If `is_gradient`, the workload is the op's gradient
    with respect to `leaves`, or to all float tensors if `leaves` is empty. Then `grad`, the gradient with respect to the op's
    only result, follows the arguments."""

    op: object  # ingot.Op
    values: dict
    fixed_values: frozenset[str] = frozenset()  # tensors whose elements checks must not replace
    is_gradient: bool = False
    leaves: frozenset[str] = frozenset()

    # Whether a result may be the small sum of large terms, so that its tolerance depends on the largest result.
    terms_may_cancel = False

    def tensors(self) -> dict[str, torch.Tensor]:
        return {name: value for name, value in self.values.items() if isinstance(value, torch.Tensor)}

    @property
    def arguments(self) -> dict:
        """The op's own arguments, without a gradient's `grad`."""
        return {name: value for name, value in self.values.items() if not (self.is_gradient and name == GRAD)}

    @property
    def adds_up(self) -> bool:
        """Whether the op reduces several numbers to one by adding or multiplying them. A gradient always counts: it may add up
        along broadcast dims."""
        return self.is_gradient or bool(re.search(r"= reduce \w+ (sum|prod)\b", self._ir))

    @property
    def multiplies(self) -> bool:
        """Whether the op has a product reduction. Then the order of multiplying decides whether an infinity meets a zero."""
        return bool(re.search(r"= reduce \w+ prod\b", self._ir))

    @functools.cached_property
    def _ir(self) -> str:
        return self.op.emit("ir", *self.arguments.values())

    def is_leaf(self, name: str) -> bool:
        return name in self.leaves if self.leaves else is_float(self.values[name])

    def with_values(self, values: dict) -> Workload:
        return dataclasses.replace(self, values=values)

    def check_no_grad_parameter(self) -> None:
        """Raises `ingot.Error` if the op has a parameter named `grad`, the name of a gradient's input."""
        if GRAD in self.values:
            raise author_error(f"`{self.op.name}` has a parameter `{GRAD}`, the name of a gradient's input",
                               "rename the parameter")

    def gradient(self, seed: int = 0) -> Workload:
        """The gradient of the op as a workload. Raises `ingot.Error` unless the op has one float result."""
        self.check_no_grad_parameter()
        results = self.run_eager().returned
        if len(results) != 1 or not results[0].dtype.is_floating_point:
            raise author_error(f"the gradient of `{self.op.name}` cannot be compared: the op must return one float tensor")
        generator = torch.Generator(results[0].device).manual_seed(seed)
        grad = torch.empty_like(results[0]).normal_(generator=generator)
        return dataclasses.replace(self, values={**self.values, GRAD: grad}, is_gradient=True)

    def run_eager(self) -> EagerRun:
        values = copy_values(self.values)
        versions = {name: v._version for name, v in values.items() if isinstance(v, torch.Tensor)}
        with torch.set_grad_enabled(self.is_gradient):
            results = self.bind(lambda arguments: lambda: _result_list(self.op.reference(**arguments)), values)()
        # batch_norm writes its running statistics without a change of their version counters.
        may_be_written = self.op.writes or ()
        written_names = [name for name, version in versions.items() if values[name]._version > version
                         or name in may_be_written and not torch.equal(as_bytes(values[name]), as_bytes(self.values[name]))]
        return EagerRun(written_names, [values[name] for name in written_names], [result.clone() for result in results])

    def run_in_float64(self) -> list[torch.Tensor]:
        """The results of the same arguments in float64."""
        return self.with_values({name: in_float64(value) for name, value in self.values.items()}).run_eager().results

    def bytes_moved(self, run: EagerRun) -> int:
        """The bytes that any kernel must read and write: each element of the arguments and results once, even if it is broadcast."""
        return sum(map(distinct_bytes, [*self.tensors().values(), *run.results]))

    def bind(self, bind_op: Callable[[dict], Call], values: dict) -> Call:
        """Returns a function without parameters that makes the call with these values. `bind_op` does so for the op itself. For a
        gradient, the function runs autograd's backward pass of a forward call that was made before."""
        if not self.is_gradient:
            return bind_op(values)
        grad = values[GRAD]
        arguments = {n: v.detach().requires_grad_() if self.is_leaf(n) else v for n, v in values.items() if n != GRAD}
        leaves = [v for n, v in arguments.items() if self.is_leaf(n)]
        with torch.enable_grad():
            (result,) = bind_op(arguments)()
        if not result.requires_grad:
            raise author_error("its result does not require grad, so autograd has no gradient")
        gradients = torch.autograd.grad(result, leaves, grad, retain_graph=True, allow_unused=True)
        leaves = [leaf for leaf, gradient in zip(leaves, gradients) if gradient is not None]
        return lambda: list(torch.autograd.grad(result, leaves, grad, retain_graph=True))


def is_float(value) -> bool:
    return isinstance(value, torch.Tensor) and value.dtype.is_floating_point


def _result_list(returned) -> list[torch.Tensor]:
    return [] if returned is None else [torch.as_tensor(r) for r in as_list(returned)]


def in_float64(value):
    return value.double() if isinstance(value, torch.Tensor) and value.dtype.is_floating_point else value


def copy_values(values: dict) -> dict:
    """Copies of the tensors with the same strides and alignment."""
    return {name: _copy(value) if isinstance(value, torch.Tensor) else value for name, value in values.items()}


def restore(values: dict, original: dict) -> None:
    """Restores the values in copies, without a change of autograd's version counters."""
    for name, value in original.items():
        if isinstance(value, torch.Tensor):
            memory_of(values[name].data).copy_(memory_of(value.data))


def distinct_bytes(tensor: torch.Tensor) -> int:
    """The bytes of a tensor's elements, without the repetitions along broadcast dims."""
    count = 1
    for size, stride in zip(tensor.shape, tensor.stride()):
        count *= size if stride else min(size, 1)
    return count * tensor.itemsize


def memory_of(tensor: torch.Tensor) -> torch.Tensor:
    """The memory of a tensor from its first to its last element, gaps included, as a one-dimensional tensor."""
    extent = sum((size - 1) * stride for size, stride in zip(tensor.shape, tensor.stride())) + 1 if tensor.numel() else 0
    return tensor.as_strided((extent,), (1,), tensor.storage_offset())


def as_bytes(tensor: torch.Tensor) -> torch.Tensor:
    return tensor.contiguous().view(-1).view(torch.uint8) if tensor.numel() else tensor


def _copy(tensor: torch.Tensor) -> torch.Tensor:
    source = memory_of(tensor)
    offset = tensor.storage_offset() * tensor.itemsize % 16 // tensor.itemsize
    memory = torch.empty(offset + source.numel(), dtype=tensor.dtype, device=tensor.device)
    memory[offset:].copy_(source)
    return memory.as_strided(tensor.shape, tensor.stride(), offset)


@dataclasses.dataclass(frozen=True)
class Case:
    """Arguments on which a candidate is checked. A failure on a case outside of DECISIVE is a limit of the candidate."""

    name: str
    workload: Workload | None  # None if there was not enough memory for the arguments
    needs_strides: bool = False  # whether a kernel needs to know strides to be correct


def cases(workload: Workload, specials: bool = True) -> Iterator[Case]:
    """The arguments as given, then the other DECISIVE cases, then other values, sizes, addresses and strides. `specials`: whether
    to include the cases that inject values."""
    yield Case(AS_GIVEN, workload)
    for name, change, is_injected in _CHANGES:
        if is_injected and not specials:
            continue
        try:
            changed = change(workload)
        except torch.OutOfMemoryError:
            yield Case(name, None)
        else:
            if changed:
                yield Case(name, changed, change is with_transposed_memory)


def map_tensors(workload: Workload, change) -> Workload:
    """The workload with `change` applied to each tensor."""
    return workload.with_values(
        {name: change(v) if isinstance(v, torch.Tensor) else v for name, v in workload.values.items()})


def with_unaligned_memory(workload: Workload) -> Workload:
    return map_tensors(workload, _unaligned)


def with_transposed_memory(workload: Workload) -> Workload | None:
    has_rows = any(t.ndim >= 2 and t.numel() for t in workload.tensors().values())
    return map_tensors(workload, _transposed) if has_rows else None


def _unaligned(tensor: torch.Tensor) -> torch.Tensor:
    """The same elements, contiguous, at an address that is aligned to an element only."""
    memory = torch.empty(tensor.numel() + 1, dtype=tensor.dtype, device=tensor.device)
    return memory[1:].view(tensor.shape).copy_(tensor)


def _transposed(tensor: torch.Tensor) -> torch.Tensor:
    return tensor if tensor.ndim < 2 else tensor.mT.contiguous().mT


# --- Special values -------------------------------------------------------------------------------------------------


def special_values(dtype: torch.dtype, adds_up: bool = False) -> list[float | int]:
    """Values that formulas often get wrong: zeros of both signs, infinities, NaN, the ends of the range, subnormals. If the op adds
    up elements, the ends of the range are replaced by values whose squares can be summed without overflow. The sum of the
    squares of larger values overflows in eager's accumulator but perhaps not in a wider one, and neither result would be
    wrong."""
    if dtype == torch.bool:
        return [False, True]
    if not dtype.is_floating_point:
        info = torch.iinfo(dtype)
        return sorted({0, 1, 2, info.min, info.max, max(info.min, -1)})
    info = torch.finfo(dtype)
    nan, inf = math.nan, math.inf
    wide = torch.finfo(torch.float32) if dtype.itemsize == 2 else info  # the dtype of the accumulator
    largest = min(info.max, math.sqrt(wide.max) / 2**16) if adds_up else info.max
    return [nan, inf, -inf, 0.0, -0.0, 1.0, -1.0, largest, -largest, info.tiny, -info.tiny,
            info.smallest_normal * info.eps, 0.5, -2.5, 88.8, -104.0]


def with_specials(workload: Workload) -> Workload | None:
    """Injects special values into the first elements of every replaceable tensor. With enough elements, each special value in a
    tensor meets each special value in the next tensor. None if no tensor can be changed."""
    values, period = dict(workload.values), 1
    for tensor_index, (name, tensor) in enumerate(_replaceable(workload)):
        special = torch.tensor(special_values(tensor.dtype, workload.adds_up), dtype=tensor.dtype, device=tensor.device)
        if tensor.numel() < len(special) ** 2:  # too few elements for all pairs: a different order in each tensor
            order = torch.arange(-(-tensor.numel() // 2), device=tensor.device) * (2 * tensor_index + 1) + 5 * tensor_index
        else:
            order = torch.arange(min(tensor.numel() // 2, len(special) ** 3), device=tensor.device) // period
            period = period * len(special) if period < len(special) ** 2 else 1
        changed = tensor.contiguous().clone()
        changed.view(-1)[: len(order)] = special[order % len(special)]
        values[name] = torch.empty_like(tensor).copy_(changed)
    return _if_changed(workload, values)


def with_one_special_per_row(workload: Workload) -> Workload | None:
    """Injects one special value per row, a different one in each row, so that the sum of a row has one correct result. None for a
    product, whose result may depend on the order."""
    if workload.multiplies:
        return None
    values = dict(workload.values)
    for name, tensor in _replaceable(workload):
        if tensor.ndim < 2:
            continue
        special = torch.tensor(special_values(tensor.dtype, workload.adds_up), dtype=tensor.dtype, device=tensor.device)
        changed = tensor.contiguous().clone()
        rows = changed.view(-1, tensor.shape[-1])
        row_index = torch.arange(len(rows), device=tensor.device)
        rows[row_index, row_index // len(special) % rows.shape[1]] = special[row_index % len(special)]
        values[name] = torch.empty_like(tensor).copy_(changed)
    return _if_changed(workload, values)


def with_boundary_spikes(workload: Workload) -> Workload | None:
    """Scales every tensor by 2^-10 and sets its last elements along each dim to the unscaled element of largest magnitude. A
    candidate that does not compute its tail then has a large error."""
    values = dict(workload.values)
    for name, tensor in _replaceable(workload):
        if not tensor.dtype.is_floating_point or tensor.ndim == 0 or tensor.numel() < 2:
            continue
        changed, largest = tensor * 2**-10, tensor.flatten()[tensor.abs().argmax()].item()
        for dim in range(tensor.ndim):
            if tensor.shape[dim] > 1:
                changed.select(dim, -1).fill_(largest)
        values[name] = torch.empty_like(tensor).copy_(changed)
    return _if_changed(workload, values)


def with_positive_values(workload: Workload) -> Workload | None:
    """Makes floats positive and of similar magnitude if the op adds up elements. If the terms of a sum cancel, a lost element may
    look like rounding."""
    return _if_changed(workload, workload.values | {
        name: torch.empty_like(t).copy_(t.abs().clamp(max=1) + 0.5) for name, t in _replaceable(workload)
        if t.dtype.is_floating_point and workload.adds_up})


def with_large_values(workload: Workload) -> Workload | None:
    """Floats far from zero, whose exponentials and squares are large."""
    return _if_changed(workload, workload.values | {
        name: torch.empty_like(t).copy_(t * 4 + 100) for name, t in _replaceable(workload) if t.dtype.is_floating_point})


def with_subnormal_values(workload: Workload) -> Workload | None:
    """Floats below the smallest normal number, which --use_fast_math and -ffast-math flush to zero. None for an op that adds up
    elements: the squares of such values are zero anyway."""
    if workload.adds_up or workload.op.numerics == "fast":
        return None
    return _if_changed(workload, workload.values | {
        name: torch.empty_like(t).copy_((t.double().clamp(-1, 1) * torch.finfo(t.dtype).tiny).to(t.dtype))
        for name, t in _replaceable(workload) if t.dtype.is_floating_point})


def _replaceable(workload: Workload) -> list[tuple[str, torch.Tensor]]:
    """The tensors whose elements checks may replace: floats, or integers if the op takes no float tensor. Integers next to floats
    may be indices."""
    tensors = workload.tensors()
    integers_too = all(not t.dtype.is_floating_point for t in tensors.values())
    return [(name, t) for name, t in tensors.items()
            if name not in workload.fixed_values and t.numel() > 0 and (t.dtype.is_floating_point or integers_too)]


def _if_changed(workload: Workload, values: dict) -> Workload | None:
    return workload.with_values(values) if any(values[n] is not workload.values[n] for n in values) else None


# --- Odd sizes ------------------------------------------------------------------------------------------------------


def with_odd_sizes(workload: Workload) -> Workload | None:
    """Slices the tensors to odd sizes, which are no multiple of the length of a vector or block."""
    tensors = workload.tensors()
    new_sizes = _new_sizes(workload, lambda size: size - 1 - size % 2)
    while new_sizes and MAX_ODD_ELEMENTS < max(
            math.prod(new_sizes.get(size, size) for size in t.shape) for t in tensors.values()):
        largest = max(new_sizes, key=new_sizes.get)
        if new_sizes[largest] < 2 * MIN_CHANGED_SIZE:
            break
        new_sizes[largest] = new_sizes[largest] // 2 | 1
        if any(new_sizes[largest] <= index < largest for index in _largest_indices(workload)):
            del new_sizes[largest]
    return _sliced(workload, new_sizes)


def with_few_elements(workload: Workload) -> Workload | None:
    """Slices each dim to a few elements, N. An error of one part in N is then large, such as that of a mean that divides by
    N - 1."""
    return _sliced(workload, _new_sizes(workload, lambda size: FEW_ELEMENTS))


def _new_sizes(workload: Workload, smaller: Callable[[int], int]) -> dict[int, int]:
    """The new size for each size that changes. Sizes below MIN_CHANGED_SIZE stay, and so do sizes that would become too small for
    an index."""
    sizes = {size for t in workload.tensors().values() for size in t.shape if size >= MIN_CHANGED_SIZE}
    indices = _largest_indices(workload)
    return {size: smaller(size) for size in sizes if not any(smaller(size) <= index < size for index in indices)}


def _largest_indices(workload: Workload) -> list[int]:
    """The largest index in each tensor that may hold indices."""
    return [int(t.max()) for t in workload.tensors().values() if t.dtype in (torch.int32, torch.int64) and t.numel()]


def _sliced(workload: Workload, new_sizes: dict[int, int]) -> Workload | None:
    """Slices the tensors to the new sizes; equal sizes stay equal. None if eager PyTorch rejects the result, or nothing changes."""
    tensors = workload.tensors()
    if not new_sizes:
        return None
    values = {name: v[tuple(slice(new_sizes.get(size, size)) for size in v.shape)].contiguous() if name in tensors else v
              for name, v in workload.values.items()}
    changed = workload.with_values(values)
    try:
        if workload.is_gradient:
            changed = dataclasses.replace(changed, values=changed.arguments, is_gradient=False).gradient()
        map_tensors(changed, torch.Tensor.cpu).run_eager()
    except Exception:  # eager PyTorch rejects these sizes
        return None
    return changed


# The changes of the given arguments, in order, and whether each one injects values.
_CHANGES = [
    (SPECIAL, with_specials, True),
    (ONE_PER_ROW, with_one_special_per_row, True),
    (BOUNDARY_SPIKES, with_boundary_spikes, False),
    (POSITIVE, with_positive_values, True),
    ("large values", with_large_values, True),
    ("subnormal values", with_subnormal_values, True),
    ("odd sizes", with_odd_sizes, False),
    ("few elements", with_few_elements, False),
    ("one element off alignment", with_unaligned_memory, False),
    ("transposed memory", with_transposed_memory, False),
]
