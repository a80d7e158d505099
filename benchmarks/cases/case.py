"""A row of a table: an op, its arguments, and what else computes it."""

import dataclasses
from typing import Callable

import torch


class Tensors:
    """Makes arguments. On the GPU a tensor has up to 2^28 elements, which no cache holds; on the CPU 2^20."""

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


@dataclasses.dataclass(frozen=True)
class ByHand:
    """A hand-written kernel. It takes the call's arguments, the results and their number of elements, and each thread
    computes `lanes` of these, unless `arguments(args, results)` and `blocks(args)` say otherwise."""

    name: str
    lanes: int = 1
    options: tuple[str, ...] = ()  # of the compiler
    arguments: Callable = lambda args, results: (*args, *results, results[0].numel())
    blocks: Callable | None = None


@dataclasses.dataclass(frozen=True)
class Case:
    """`text` is an op in Ingot's language, and so in PyTorch; `make(Tensors)` gives its arguments. Cases of one
    threshold have its name before a colon."""

    name: str
    text: str
    make: Callable[[Tensors], tuple]
    jiterator: str = ""
    by_hand: ByHand | None = None
    options: dict = dataclasses.field(default_factory=dict)  # of ingot.op
    first: Callable[[Tensors], tuple] | None = None  # arguments of an earlier call, from which a compiler may learn
    draws: bool = False  # random numbers, of which everybody has his own
    autotune: bool = True  # max-autotune takes seconds to compile: of like cases, one has it
    on_cpu: bool = True

    @property
    def group(self) -> str:
        return self.name.split(":")[0]


@dataclasses.dataclass(frozen=True)
class Program:
    """More than a call of an op: `makers(Tensors)` gives, for Ingot and each peer, what makes a call of no arguments."""

    name: str
    makers: Callable[[Tensors], dict[str, Callable[[], Callable[[], object]]]]

    @property
    def group(self) -> str:
        return self.name.split(":")[0]
