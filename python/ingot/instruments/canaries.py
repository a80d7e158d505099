"""Memory whose edges tell who wrote past them."""

from __future__ import annotations

import torch

EDGE = 4096  # bytes on each side, so that what lies between is as well aligned as an allocation
PATTERN = 0xA5


class Guarded:
    """A result to be written to, of the form of another tensor: dense, with edges, and filled with what no kernel
    writes by accident."""

    def __init__(self, like: torch.Tensor):
        dense = torch.empty_like(like, device="meta")
        size = dense.numel() * dense.itemsize
        self._memory = torch.full((EDGE + size + EDGE,), PATTERN, dtype=torch.uint8, device=like.device)
        inside = self._memory[EDGE : EDGE + size].view(like.dtype)
        self.tensor = inside.as_strided(dense.shape, dense.stride(), inside.storage_offset())

    def trespass(self) -> str:
        """What was written that is not the result's; empty where nothing was."""
        edges = {"before": self._memory[:EDGE].flip(0), "behind": self._memory[-EDGE:]}
        reached = {side: int(written.max()) + 1 for side, edge in edges.items()
                   if len(written := (edge != PATTERN).nonzero())}
        if not reached:
            return ""
        farthest = max(reached.values())
        return f"writes {farthest}{' or more' if farthest == EDGE else ''} bytes {' and '.join(reached)} a result"

    def untouched(self) -> int:
        """How many elements were never written."""
        as_bytes = self.tensor.contiguous().view(-1).view(torch.uint8).view(-1, self.tensor.itemsize)
        return int((as_bytes == PATTERN).all(1).sum()) if self.tensor.numel() else 0
