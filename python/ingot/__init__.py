"""Ingot: ops written in PyTorch's own language, each compiled to one fused kernel.

    @ingot.op
    def relu_add(x, y, bias: float):
        return relu(x) + y + bias

    relu_add(x, y, 0.5)             # a tensor, as eager PyTorch would give it
    relu_add.source(x, y, 0.5)      # the generated kernel
    relu_add.reference(x, y, 0.5)   # the same text in eager PyTorch
"""

from __future__ import annotations

import typing

import torch as _torch  # noqa: F401  first: the extension's libraries are PyTorch's

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
    """The instruments are imported when one is asked for."""
    if name in _TOOLS:
        from . import tools

        return getattr(tools, name)
    raise AttributeError(f"module 'ingot' has no attribute {name!r}")


class Counters(typing.NamedTuple):
    """What the process has done so far; every count only grows."""

    lowerings: int
    plans: int
    compiles: int
    disk_hits: int
    launches: int
    allocations: int
    loads: int
    eager_fallbacks: int  # calls that an op's text was run for in eager: under a transform, on a subclass

    def since(self, earlier: Counters) -> Counters:
        """What happened after `earlier`."""
        return Counters(*(now - then for now, then in zip(self, earlier)))


class Name(typing.NamedTuple):
    """A name of the language."""

    name: str
    kind: str
    aliases: tuple[str, ...]
    is_function: bool
    is_method: bool
    summary: str


def counters() -> Counters:
    """What the process has done so far."""
    return Counters(**_ingot.counters())


def cache_info() -> dict:
    """The folder of compiled kernels: where it is, its state in a line, its files and bytes, hits and misses so far."""
    return _ingot.cache_info()


def language() -> list[Name]:
    """Every name that an op's text may use; `ingot ops` prints them."""
    return [Name(*row) for row in _ingot.language()]
