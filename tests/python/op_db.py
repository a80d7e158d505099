"""Makes calls of Ingot from `op_db`, PyTorch's own table of its operators.

Each entry of tests/data/op_db_{pointwise,movement,reduction}.txt has dtypes, samples and error inputs. A sample becomes
a source, such as `torch.add(x, y, alpha=2)`: its tensors are parameters and its other arguments are literals.
"""

from __future__ import annotations

import dataclasses
import functools
import operator
import pathlib
import re
import sys
import types
import typing
import unittest

import torch

import ingot
from ingot.capture import literal


def _import_op_db():
    try:
        import expecttest  # noqa: F401
    except ImportError:
        # torch.testing imports the base class of its own tests; without a network its package may be missing.
        substitute = types.ModuleType("expecttest")
        substitute.TestCase = unittest.TestCase
        sys.modules["expecttest"] = substitute
    from torch.testing._internal.common_methods_invocations import op_db

    return {".".join(filter(None, (info.name, info.variant_test_name))): info for info in op_db}


OP_DB = _import_op_db()
DATA = pathlib.Path(__file__).resolve().parents[1] / "data"


def _entries(theme: str) -> list[str]:
    lines = (DATA / f"op_db_{theme}.txt").read_text().splitlines()
    return [line for line in lines if line and not line.startswith("#")]


MOVEMENT = _entries("movement")
REDUCTION = _entries("reduction")
ENTRIES = _entries("pointwise") + MOVEMENT + REDUCTION
# Ops that move elements do not depend on their values; test_movement.py tries all dtypes.
MOVED_DTYPES = {torch.float32, torch.int64, torch.bool}
# test_reductions.py tries the other dtypes of some entries.
REDUCED_DTYPES = {torch.float32, torch.float64, torch.bfloat16, torch.int64, torch.uint8, torch.bool}

# Entries whose function is not called as `name(input, *args)`.
_OPERATORS = {"__radd__": ("+", operator.add), "__rand__": ("&", operator.and_), "__rdiv__": ("/", operator.truediv),
              "__rmod__": ("%", operator.mod), "__rmul__": ("*", operator.mul), "__ror__": ("|", operator.or_),
              "__rmatmul__": ("@", operator.matmul), "__rpow__": ("**", operator.pow), "__rsub__": ("-", operator.sub),
              "__rxor__": ("^", operator.xor)}  # fmt: skip
_METHODS = set("""bfloat16 bool byte char double float half int long short to expand expand_as repeat unfold view view_as
    reshape_as""".split())
# Functions whose second parameter is the sample's input.
_SECOND_FIRST = {"where", "einsum", "polygamma", "special.polygamma", "nn.functional.embedding"}


@dataclasses.dataclass
class Call:
    """`text` is an op's source. Its parameters are named by the tensors' positions: a, b, c…"""

    entry: str
    dtype: torch.dtype
    text: str
    tensors: list[torch.Tensor]
    eager: typing.Callable  # PyTorch's own function, called with the tensors

    @property
    def op(self) -> ingot.Op:
        return self.op_of(f"return {self.text}")

    def op_of(self, statement: str) -> ingot.Op:
        return _op(f"def f({', '.join(_NAMES[: len(self.tensors)])}):\n    {statement}\n")

    def run(self) -> torch.Tensor | tuple:
        return self.op(*self.tensors)

    def __str__(self) -> str:
        tensors = ", ".join(f"{str(t.dtype)[6:]}{list(t.shape)}{_strides(t)}" for t in self.tensors)
        return f"{self.text} of {tensors}"


class InPlaceCall(Call):
    """A call that returns nothing: `text` changes the first tensor, which `run` returns."""

    @property
    def op(self) -> ingot.Op:
        return self.op_of(self.text)

    def run(self) -> torch.Tensor:
        result, *rest = self.tensors
        result = result.clone()
        self.op(result, *rest)
        return result


_NAMES = "abcdeghijk"  # f is the function's name
_op = functools.lru_cache(maxsize=None)(ingot.op)  # samples with the same source are calls of one op


def _strides(tensor) -> str:
    return "" if tensor.is_contiguous() else f" strides {list(tensor.stride())}"


def function_of(entry: str) -> str:
    """The language's name of the function that an entry tests: "special.polygamma.special_polygamma_n_0" tests
    polygamma."""
    return OP_DB[entry].name.removeprefix("nn.functional.").removeprefix("special.").removeprefix("linalg.")


def is_in_the_language(entry: str, language: set[str]) -> bool:
    return OP_DB[entry].name in _OPERATORS or function_of(entry) in language


def dtypes_of(entry: str, device: str) -> list[torch.dtype]:
    supported = (d for d in OP_DB[entry].supported_dtypes(device) if not d.is_complex)
    selected = MOVED_DTYPES if entry in MOVEMENT else REDUCED_DTYPES if entry in REDUCTION else None
    return sorted((d for d in supported if selected is None or d in selected), key=str)


def samples(entry: str, dtype: torch.dtype, device: str, reference: bool = False) -> typing.Iterator[Call]:
    info = OP_DB[entry]
    for sample in (info.reference_inputs if reference else info.sample_inputs)(device, dtype):
        if any(map(_is_complex, (sample.input, *sample.args))):
            continue  # reference inputs of real dtypes contain some
        call = call_of(entry, dtype, sample)
        if not call.tensors or _leaves_the_device(sample, device):
            continue
        if not _divides_by_zero(call, device) and not _never_ends(call, device):
            yield call


def _is_complex(value) -> bool:
    return isinstance(value, complex) or isinstance(value, torch.Tensor) and value.is_complex()


def _leaves_the_device(sample, device: str) -> bool:
    """Whether device= differs from the tensors' device: an op's results are on the device of its tensors."""
    device_argument = sample.kwargs.get("device")
    return device_argument is not None and torch.device(device_argument).type != device


def _divides_by_zero(call: Call, device: str) -> bool:
    """Whether uint8 is divided by zero on CUDA. There the quotient is undefined, and eager's result depends on its compiler."""
    division = re.fullmatch(r"\(\w+\) % (\w+)|torch\.(?:remainder|fmod|floor_divide)\(\w+, (\w+)\)", call.text)
    if not division or device == "cpu" or call.dtype != torch.uint8:
        return False
    divisor = division[1] or division[2]
    return bool((call.tensors[_NAMES.index(divisor)] == 0).any()) if divisor in _NAMES else divisor == "0"


def _never_ends(call: Call, device: str) -> bool:
    """Whether a degree is so large that eager's CUDA kernel does not end: it loops up to the degree, and an infinite degree is
    2 ** 63 - 1. op_db itself skips PyTorch's comparison of the CPU with CUDA for these functions."""
    if device == "cpu" or not re.search("laguerre|legendre", call.entry):
        return False
    return any(bool((tensor.double().abs() > 1e6).any()) for tensor in call.tensors)


def errors(entry: str, device: str) -> typing.Iterator[Call]:
    """The inputs that PyTorch rejects, if a call can be made of them."""
    info = OP_DB[entry]
    for error in info.error_inputs(device) if info.error_inputs_func else ():
        try:
            call = call_of(entry, torch.float32, error.sample_input)
        except ValueError:
            continue
        if call.tensors:
            yield call


def _holds_tensors(value) -> bool:
    return isinstance(value, (tuple, list)) and any(isinstance(item, torch.Tensor) for item in value)


def in_place(entry: str, dtype: torch.dtype, device: str) -> typing.Iterator[InPlaceCall]:
    """The samples for the in-place variant of an entry, including those that PyTorch rejects."""
    info = OP_DB[entry]
    for sample in info.sample_inputs(device, dtype):
        if not isinstance(sample.input, torch.Tensor):
            continue
        tensors, arguments, keywords = _literals(entry, sample)

        def eager(first, *rest, sample=sample):
            result = first.clone()
            args, kwargs = _with_tensors(sample, [result, *rest])
            info.inplace_variant(*args, **kwargs)
            return result

        if hasattr(torch.Tensor, f"{info.name}_"):
            text = f"{arguments[0]}.{info.name}_({', '.join(arguments[1:] + keywords)})"
        else:
            text = f"torch.{info.name}({', '.join([*arguments, *keywords, 'inplace=True'])})"
        yield InPlaceCall(entry, dtype, text, tensors, eager)


def call_of(entry: str, dtype: torch.dtype, sample) -> Call:
    """Raises ValueError if an argument is neither a tensor nor has a literal."""
    info = OP_DB[entry]
    tensors, arguments, keywords = _literals(entry, sample)

    def eager(*operands):
        args, kwargs = _with_tensors(sample, operands)
        if info.name in _OPERATORS:  # Tensor.__rdiv__ itself has another formula than division, and no program calls it
            return _OPERATORS[info.name][1](args[1], args[0])
        return info.op(*args, **kwargs)

    return Call(entry, dtype, _text(info, arguments, keywords), tensors, eager)


def _literals(entry: str, sample) -> tuple[list[torch.Tensor], list[str], list[str]]:
    """A sample's tensors, and its arguments and keywords as source."""
    tensors: list[torch.Tensor] = []

    def as_source(value) -> str:
        if isinstance(value, torch.Tensor):
            tensors.append(value)
            return _NAMES[len(tensors) - 1]
        if _holds_tensors(value):
            return f"[{', '.join(map(as_source, value))}]"
        if isinstance(value, (torch.memory_format, torch.device)):
            return str(value) if isinstance(value, torch.memory_format) else repr(str(value))
        text = literal(value)
        if text is None:
            raise ValueError(f"{entry}: no literal of a {type(value).__name__}")
        return text

    arguments = [as_source(sample.input), *map(as_source, sample.args)]
    return tensors, arguments, [f"{name}={as_source(value)}" for name, value in sample.kwargs.items()]


def _with_tensors(sample, replacements) -> tuple[list, dict]:
    """A sample's arguments and keywords with its tensors replaced."""
    remaining = iter(replacements)

    def replaced(value):
        if _holds_tensors(value):
            return [replaced(item) for item in value]
        return next(remaining) if isinstance(value, torch.Tensor) else value

    args = [replaced(sample.input), *map(replaced, sample.args)]
    return args, {name: replaced(value) for name, value in sample.kwargs.items()}


def _text(info, arguments: list[str], keywords: list[str]) -> str:
    if info.name in _OPERATORS:
        return f"({arguments[1]}) {_OPERATORS[info.name][0]} {arguments[0]}"
    if info.name in _METHODS:
        return f"{arguments[0]}.{info.name}({', '.join(arguments[1:] + keywords)})"
    if info.name in _SECOND_FIRST:
        if len(arguments) == 1:
            arguments.append(keywords.pop(0).partition("=")[2])
        arguments[:2] = arguments[1::-1]
    prefix = "" if info.name == "native_dropout_backward" else "torch."
    return f"{prefix}{info.name}({', '.join(arguments + keywords)})"
