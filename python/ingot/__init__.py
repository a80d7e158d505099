"""Ingot compiles a function of PyTorch operations to fused kernels.

    @ingot.op
    def relu_add(x, y, bias: float):
        return relu(x) + y + bias

    relu_add(x, y, 0.5)             # the tensor that eager PyTorch would return
    relu_add.source(x, y, 0.5)      # the generated kernel's source
    relu_add.reference(x, y, 0.5)   # the same function in eager PyTorch
"""

from __future__ import annotations

import typing

import torch as _torch  # noqa: F401  first: the extension links against the libraries that torch loads

from . import _ingot
from ._ingot import Error, __version__
from .op import Op, check_gradient, op, prepare_all
from .registered import register
from .value_and_grad import value_and_grad

__all__ = [
    "Against", "Comparison", "Counters", "Error", "Explanation", "Name", "Op", "__version__", "cache_info", "check_gradient", "compare",
    "counters", "explain", "language", "op", "prepare_all", "register", "value_and_grad",
]

_TOOLS = ("Against", "Comparison", "Explanation", "compare", "explain")


def __getattr__(name: str):
    """Imports the tools (compare, explain) when one of their names is first used."""
    if name in _TOOLS:
        from . import tools

        return getattr(tools, name)
    raise AttributeError(f"module 'ingot' has no attribute {name!r}")


class Counters(typing.NamedTuple):
    """Counts of this process since it started. No count ever decreases."""

    lowerings: int  # lowerings of an op's source to a program
    plans: int  # generated kernel sources
    compiles: int  # compilations of generated sources
    disk_hits: int  # programs and kernels that were read from the disk cache
    launches: int
    allocations: int  # of results and scratch memory
    loads: int  # loaded binaries, which were compiled or read from the disk cache
    eager_fallbacks: int  # calls that fell back to eager PyTorch, for example under a transform or on a subclass

    def since(self, earlier: Counters) -> Counters:
        """The difference from `earlier`, an older result of `counters()`."""
        return Counters(*(now - then for now, then in zip(self, earlier)))


class Name(typing.NamedTuple):
    """A supported function or other name that an op may use."""

    name: str
    kind: str  # its implementation: primitive, builtin or library
    aliases: tuple[str, ...]
    is_function: bool  # whether an op may call it as torch.name(x) or name(x)
    is_method: bool  # whether an op may call it as x.name()
    summary: str


def counters() -> Counters:
    """Counts of compilations, cache hits, launches and so on of this process since it started."""
    return Counters(**_ingot.counters())


def cache_info() -> dict:
    """The disk cache of compiled kernels: its folder, a line about its state, its files and bytes, hits and misses so far."""
    return _ingot.cache_info()


def language() -> list[Name]:
    """All names that an op may use. The command `ingot ops` prints the same list."""
    return [Name(*row) for row in _ingot.language()]
