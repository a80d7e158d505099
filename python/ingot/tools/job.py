"""The request for a comparison, as data that can be sent to another process."""

from __future__ import annotations

import dataclasses
import json
import pathlib

import torch

import ingot

from .. import _ingot
from ..capture import author_error
from . import candidates
from .workload import Workload


@dataclasses.dataclass
class Against:
    """A candidate as requested. `spec` is a candidate as in `ingot compare --against`; in Python it may also be a Triton kernel.
    `launches` and `options` say how the kernel is launched and compiled, if its file does not say so. `name` is the name in tables."""

    spec: str
    launches: list[str] = dataclasses.field(default_factory=list)
    options: list[str] = dataclasses.field(default_factory=list)
    name: str = ""
    key: str = ""  # the spec; `spec#2` for the second candidate with the same spec


@dataclasses.dataclass
class Job:
    """A request. `values` are by parameter, as on a command line. The other fields are the options of `ingot compare`."""

    text: str  # the op's source
    op: str  # the op's name
    file: str  # the file of the op's source, for the report; may be empty
    values: dict[str, str]
    against: list[Against]
    device: str
    numerics: str = "default"
    lazy: str = "auto"
    seed: int = 0
    sizes: dict[str, int] = dataclasses.field(default_factory=dict)  # the values of the size names in `values`
    sweep_name: str = ""  # the size name that takes each value of `sweep_sizes` in a sweep; empty: no sweep
    sweep_sizes: list[int] = dataclasses.field(default_factory=list)
    backward: bool = False
    leaves: list[str] = dataclasses.field(default_factory=list)  # the inputs of the gradient; all floats if empty
    # The tensors whose elements checks must not replace; None: the tensors with a range or from a file.
    fixed_values: list[str] | None = None
    specials: bool = True
    given_only: bool = False  # check on the arguments alone, without special values and other layouts
    time_incorrect: bool = False
    warm: bool = False
    graph: bool = False  # time calls in a CUDA graph
    inspects: bool = True  # read the kernels' machine code, to explain their speed
    ncu: bool = False
    rounds: int = 21
    threads: int | None = None
    architecture: int = 0  # for kernels that are inspected without a GPU; 0: the device's, or 90 without a GPU
    folders: list[str] = dataclasses.field(default_factory=list)  # more folders for module imports

    def __post_init__(self):
        counts = {"ingot": 1}  # the op itself
        for against in self.against:
            number = counts[against.spec] = counts.get(against.spec, 0) + 1
            against.key = against.spec + f"#{number}" * (number > 1)

    def save(self, path: pathlib.Path) -> None:
        path.write_text(json.dumps(dataclasses.asdict(self)))

    @classmethod
    def load(cls, path: pathlib.Path) -> Job:
        fields = json.loads(path.read_text())
        return cls(**{**fields, "against": [Against(**a) for a in fields["against"]]})

    def make_op(self):
        return ingot.op(self.text, name=self.op or None, numerics=self.numerics, lazy=self.lazy)

    def workload(self, op, sweep_size: int | None = None) -> Workload:
        """The op with its arguments on the device; `sweep_size` is the size at one point of a sweep. Raises `ingot.Error` for an invalid
        value."""
        values = read_values(op, self.values, self.seed, self.sizes | ({} if sweep_size is None else {self.sweep_name: sweep_size}))
        device = torch.device(self.device)
        values = {name: v.to(device) if isinstance(v, torch.Tensor) else v for name, v in values.items()}
        fixed_values = fixed_values_in(self.values) if self.fixed_values is None else self.fixed_values
        workload = Workload(op, values, frozenset(fixed_values), leaves=frozenset(self.leaves))
        return workload.gradient(self.seed) if self.backward else workload


def fixed_values_in(texts: dict[str, str]) -> list[str]:
    """The tensors whose elements were given by a range or a file."""
    return [name for name, text in texts.items() if "@" in text or ".pt" in text]


def read_values(op, texts: dict[str, str], seed: int, sizes: dict[str, int], shapes_only: bool = False) -> dict:
    """A value for each parameter: the given value or the default. `shapes_only`: tensors have shapes, but no elements."""
    parameters, values = op.signature.parameters, {}
    if unknown := [name for name in texts if name not in parameters]:
        raise author_error(f"{op.name} has no parameter `{unknown[0]}`", f"its parameters are {', '.join(parameters)}")
    for name, parameter in parameters.items():
        if name in texts:
            values[name] = _ingot._read_value(name, texts[name], seed, sizes, shapes_only)
        elif parameter.default is parameter.empty:
            raise author_error(f"`{name}` of {op.name} has no value", f"give {name}=f32:1024, a number, or a saved tensor")
        else:
            values[name] = parameter.default
    return values


def make(against: Against, op) -> candidates.Candidate:
    candidate = candidates.named(against.spec, op, against.launches, against.options)
    candidate.name = against.name or candidate.name + against.key[len(against.spec) :]
    return candidate
