"""Tensors with guard bytes around them, which show writes out of bounds, and with a fill value that shows unwritten elements."""

from __future__ import annotations

import torch

from .workload import memory_of

EDGE = 1 << 16  # guard bytes on each side; a power of two, so that the tensor between them is as aligned as an allocation
# The fill of the guard bytes, different for each tensor. No pattern is another's complement. So a byte that was read past
# one tensor, and written past another as it is or inverted, differs from the guard bytes there.
PATTERNS = [0x81 + 2 * k for k in range(63)]
UNWRITTEN = 0xFF  # the fill of a result's bytes: a NaN in every float dtype, so that adding to an unwritten element shows


class Guarded:
    """A tensor with the sizes, strides and alignment of `like`, between guard bytes filled with `pattern`. Its elements are those
    of `like` if `copy_elements`, else UNWRITTEN bytes, which no kernel writes by accident."""

    def __init__(self, like: torch.Tensor, pattern: int, copy_elements: bool = False):
        self._pattern = pattern
        extent = sum((size - 1) * stride for size, stride in zip(like.shape, like.stride())) + 1 if like.numel() else 0
        misalignment = like.storage_offset() * like.itemsize % 16
        begin, size = EDGE + misalignment, extent * like.itemsize
        self._memory = torch.full((EDGE + misalignment + size + EDGE,), pattern, dtype=torch.uint8, device=like.device)
        self._before, self._after = self._memory[:begin], self._memory[begin + size :]
        # Views of a byte tensor: the offset need not be a multiple of what a view of another dtype requires.
        inside = torch.empty(0, dtype=like.dtype, device=like.device)
        self.tensor = inside.set_(self._memory.untyped_storage(), begin // like.itemsize, like.shape, like.stride())
        memory_of(self.tensor).copy_(memory_of(like)) if copy_elements else self.refill()

    def refill(self) -> None:
        """Marks every element as unwritten."""
        self._memory[len(self._before) : len(self._memory) - len(self._after)] = UNWRITTEN

    def out_of_bounds(self) -> str:
        """Describes the writes outside of the tensor; empty if there are none."""
        distances = {}
        for side, edge in (("before", self._before.flip(0)), ("after", self._after)):
            if len(written := (edge != self._pattern).nonzero()):
                distances[side] = int(written.max()) + 1
        if not distances:
            return ""
        farthest = max(distances.values())
        sides = " and ".join({"before": "before the start of", "after": "past the end of"}[side] for side in distances)
        return f"writes {farthest}{' or more' if farthest >= EDGE else ''} bytes {sides}"

    def count_unwritten(self, eager: torch.Tensor) -> int:
        """The number of elements that were never written. An element whose bytes in `eager` are UNWRITTEN does not count."""
        return int((_bytes(self.tensor) == UNWRITTEN).all(1).logical_and_((_bytes(eager) != UNWRITTEN).any(1)).sum())


def _bytes(tensor: torch.Tensor) -> torch.Tensor:
    """The bytes of each element, one row per element."""
    return tensor.contiguous().view(-1).view(torch.uint8).view(-1, tensor.itemsize)
