"""Memory whose edges tell who wrote past them, and whose inside tells what was never written."""

from __future__ import annotations

import torch

from .workload import memory_of

EDGE = 1 << 16  # bytes on each side, so that what lies between is as well aligned as an allocation
# In every byte of an edge, another one in each tensor's. None is another's complement: what is read past one tensor and
# written past another is not what was there.
PATTERNS = [0x81 + 2 * k for k in range(63)]
UNWRITTEN = 0xFF  # in every byte: NaN in every float, so that what is added to it shows


class Guarded:
    """A tensor with the sizes, the strides and the alignment of another one, and edges of a pattern. Its elements are the
    other's, or what no kernel writes by accident."""

    def __init__(self, like: torch.Tensor, pattern: int, keep: bool = False):
        self._pattern = pattern
        reach = sum((size - 1) * stride for size, stride in zip(like.shape, like.stride())) + 1 if like.numel() else 0
        past = like.storage_offset() * like.itemsize % 16
        begin, size = EDGE + past, reach * like.itemsize
        self._memory = torch.full((EDGE + past + size + EDGE,), pattern, dtype=torch.uint8, device=like.device)
        self._before, self._behind = self._memory[:begin], self._memory[begin + size :]
        # Through bytes: past need not be a multiple of what a view asks for.
        inside = torch.empty(0, dtype=like.dtype, device=like.device)
        self.tensor = inside.set_(self._memory.untyped_storage(), begin // like.itemsize, like.shape, like.stride())
        memory_of(self.tensor).copy_(memory_of(like)) if keep else self.refill()

    def refill(self) -> None:
        """Makes every element one that was never written."""
        self._memory[len(self._before) : len(self._memory) - len(self._behind)] = UNWRITTEN

    def trespass(self) -> str:
        """What was written that is not the tensor's; empty where nothing was."""
        reached = {}
        for side, edge in (("before", self._before.flip(0)), ("behind", self._behind)):
            if len(written := (edge != self._pattern).nonzero()):
                reached[side] = int(written.max()) + 1
        if not reached:
            return ""
        farthest = max(reached.values())
        return f"writes {farthest}{' or more' if farthest >= EDGE else ''} bytes {' and '.join(reached)}"

    def untouched(self, eager: torch.Tensor) -> int:
        """How many elements were never written, but for those in which eager's bytes are the same."""
        return int((_bytes(self.tensor) == UNWRITTEN).all(1).logical_and_((_bytes(eager) != UNWRITTEN).any(1)).sum())


def _bytes(tensor: torch.Tensor) -> torch.Tensor:
    """A row of bytes an element."""
    return tensor.contiguous().view(-1).view(torch.uint8).view(-1, tensor.itemsize)
