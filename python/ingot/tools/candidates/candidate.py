"""The interface of all candidates."""

from __future__ import annotations

import abc
import torch

from ..workload import Call


class Candidate(abc.ABC):
    """An implementation of the op. `name` is its name in tables; `spec` is the argument of `--against` that selects it."""

    name: str
    spec: str = ""
    kind: str = ""  # for the report: ingot, eager, torch.compile, jiterator, python, triton, cuda or host
    takes_pointers = False  # whether it takes tensors as pointers, and writes into existing results
    knows_strides = True  # whether it knows the strides of its tensors; with pointers, only if its launch passes them

    def why_not_on(self, device: torch.device) -> str:
        """The reason why the candidate cannot run on the device; empty if it can."""
        return ""

    @abc.abstractmethod
    def bind(self, values: dict, results: list[torch.Tensor]) -> Call:
        """Returns a function without parameters that makes the call with these values, by parameter in the op's order. The function
        returns the op's results: new tensors, or `results` if the candidate `takes_pointers` and writes them. It also writes the
        parameters that the op writes in place."""
