"""Ingot's op, and the same source in eager PyTorch and under torch.compile."""

from __future__ import annotations

import linecache
import pathlib
import sys
import types
from typing import Callable

import torch

import ingot

from ...capture import author_error
from ...oracle import as_list
from .. import cuda_text
from .candidate import Call, Candidate

# The modes of torch.compile; `dynamic` is its default mode with dynamic shapes.
MODES = ("", "default", "reduce-overhead", "max-autotune", "max-autotune-no-cudagraphs", "dynamic")


class Ingot(Candidate):
    """An Ingot op: the compared one, a variant of it with other options, or another op."""

    kind = "ingot"

    def __init__(self, op, name: str = "ingot", spec: str = "ingot"):
        self.op, self.name, self.spec = op, name, spec

    @classmethod
    def variant(cls, op, spec: str) -> Ingot:
        """The same source with `numerics=fast` or `lazy=never`, or the op in FILE.py[:op]."""
        option, equals, value = spec.partition("=")
        if equals:
            if option not in ("numerics", "lazy"):
                raise author_error(f"`{option}` is not an option that changes a kernel", "the options are numerics=… and lazy=…")
            options = {"numerics": op.numerics, "lazy": op.lazy, option: value}
            variant = ingot.op(op.text, name=op.name, **options)
        else:
            file, _, name = spec.rpartition(":") if not pathlib.Path(spec).exists() else (spec, "", "")
            if not pathlib.Path(file or spec).is_file():
                raise author_error(f"there is no file `{file or spec}` to read an op from")
            variant = ingot.op(cuda_text.read(pathlib.Path(file or spec)), name=name or None)
        return cls(variant, f"ingot, {spec}", f"ingot:{spec}")

    def bind(self, values: dict, results: list[torch.Tensor]) -> Call:
        arguments = tuple(values.values())
        return lambda: listed(self.op(*arguments))


class Eager(Candidate):
    """The op's source in eager PyTorch."""

    name = spec = kind = "eager"

    def __init__(self, op):
        self.op = op

    def bind(self, values: dict, results: list[torch.Tensor]) -> Call:
        call = self.op.reference.as_written(**values)
        return lambda: listed(call())


class Compiled(Candidate):
    """The op's source under torch.compile, specialised to these shapes, or with dynamic shapes for `dynamic`."""

    kind = "torch.compile"

    def __init__(self, op, mode: str = ""):
        if mode not in MODES:
            raise author_error(f"torch.compile has no mode `{mode}`", f"the modes are {', '.join(filter(None, MODES))}")
        self.op, self.mode = op, mode
        self.name = self.spec = f"torch.compile{':' * bool(mode)}{mode}"
        self._functions: dict[tuple, Callable] = {}

    def bind(self, values: dict, results: list[torch.Tensor]) -> Call:
        arguments = tuple(values.values())
        key = tuple(_specialization_key(value) for value in arguments)
        if key not in self._functions:
            options = {"dynamic": True} if self.mode == "dynamic" else {"dynamic": False, "mode": self.mode or None}
            self._functions[key] = torch.compile(plain_function(self.op), fullgraph=True, **options)
        function = self._functions[key]
        return lambda: listed(function(*arguments))


def _specialization_key(value) -> tuple:
    """The properties of an argument. Arguments with other properties get another function from torch.compile: a single function
    would check guards for all of them."""
    if not isinstance(value, torch.Tensor):
        return type(value), repr(value)
    return value.dtype, value.shape, value.stride(), value.device, value.data_ptr() % 16, value.requires_grad


def listed(returned) -> list[torch.Tensor]:
    """The returned tensor or tensors as a list; empty for None."""
    return [] if returned is None else as_list(returned)


def plain_function(op):
    """The op's function, in a module of its own and, as far as `inspect` can tell, a file of its own. torch.compile needs both, and
    confuses functions without them."""
    traced = op.reference.for_tracing
    module = types.ModuleType(f"compared_{len(sys.modules)}_{op.name}")
    vars(module).update(vars(sys.modules[traced.__module__]), __name__=module.__name__)
    sys.modules[module.__name__] = module
    file, text = f"{module.__name__}.py", _as_def(op)
    linecache.cache[file] = len(text), None, text.splitlines(keepends=True), file
    exec(compile(text, file, "exec"), vars(module))
    return vars(module)[op.name]


def _as_def(op) -> str:
    """The op's source; for an expression, a function that returns it."""
    if "def " in op.text:
        return op.text
    return f"def {op.name}({', '.join(op.signature.parameters)}):\n    return {op.text}\n"
