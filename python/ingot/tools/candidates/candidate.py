"""What a comparison knows of each that takes part."""

from __future__ import annotations

import abc
import torch

from ..workload import Call


class Candidate(abc.ABC):
    """Something that computes an op. `name` is what a table calls it; `word` what a command line does."""

    name: str
    word: str = ""
    kind: str = ""
    is_raw = False  # takes pointers, knows no strides unless its launch says them, and writes into results that are there
    knows_strides = True

    def why_not_on(self, device: torch.device) -> str:
        """Why it cannot run there; empty where it can."""
        return ""

    @abc.abstractmethod
    def bind(self, values: dict, results: list[torch.Tensor]) -> Call:
        """A call of no arguments with these values, by the names of the op's parameters, all of them and in order. It
        gives what the op returns: tensors of its own or, of one `is_raw`, `results`, which it writes. What the op
        changes in place is changed."""
