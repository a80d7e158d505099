"""A benchmark case: an op, its arguments, and the baselines that compute the same."""

import dataclasses
import pathlib
from typing import Callable

import torch

import ingot


class Tensors:
    """Makes arguments. On the GPU a tensor has up to 2^28 elements, more than any cache holds; on the CPU 2^20."""

    def __init__(self, device: str, n: int | None = None):
        self.device = device
        self.n = n or self.either(1 << 28, 1 << 20)

    def either(self, on_gpu, on_cpu):
        return on_gpu if self.device == "cuda" else on_cpu

    def normal(self, *shape: int, dtype: torch.dtype = torch.float32) -> torch.Tensor:
        return torch.randn(shape, device=self.device, dtype=dtype)

    def uniform(self, *shape: int) -> torch.Tensor:
        return torch.rand(shape, device=self.device)

    def integers(self, *shape: int, below: int, dtype: torch.dtype = torch.int64) -> torch.Tensor:
        return torch.randint(0, below, shape, device=self.device, dtype=dtype)


FOLDERS = [pathlib.Path(__file__).parents[1] / "kernels", pathlib.Path(__file__).parents[2] / "examples" / "handwritten"]


@dataclasses.dataclass(frozen=True)
class Handwritten:
    """A hand-written kernel. Those of kernels/ reach copy bandwidth; those of examples/handwritten are as such kernels
    are usually written. The kernel's file or `launch` says how it is launched."""

    name: str
    launch: str = ""
    options: tuple[str, ...] = ()  # options of the compiler

    @property
    def path(self) -> pathlib.Path:
        return next(path for folder in FOLDERS if (path := folder / f"{self.name}.cu").exists())

    @property
    def against(self) -> ingot.Against:
        return ingot.Against(str(self.path), [self.launch] * bool(self.launch), list(self.options), name="handwritten")


@dataclasses.dataclass(frozen=True)
class Case:
    """`text` is an op in Ingot's language, which is also PyTorch code; `make(Tensors)` returns its arguments. A name
    may begin with a group and a colon: the cases of a group share a threshold."""

    name: str
    text: str
    make: Callable[[Tensors], tuple]
    jiterator: str = ""
    handwritten: Handwritten | None = None
    options: dict = dataclasses.field(default_factory=dict)  # arguments of ingot.op
    # Arguments of a call before all others, to which Ingot and torch.compile may specialise before they get those of `make`.
    earlier_arguments: Callable[[Tensors], tuple] | None = None
    is_random: bool = False  # uses random numbers; each candidate has its own
    autotune: bool = True  # also max-autotune and dynamic shapes, which take seconds to compile
    on_cpu: bool = True

    @property
    def group(self) -> str:
        return self.name.split(":")[0]


@dataclasses.dataclass(frozen=True)
class ProgramCase:
    """A case that is more than one call of an op. `makers(Tensors)` returns, for Ingot and each baseline, a function that
    prepares the case and returns a function without parameters. This second function is timed."""

    name: str
    makers: Callable[[Tensors], dict[str, Callable[[], Callable[[], object]]]]

    @property
    def group(self) -> str:
        return self.name.split(":")[0]
