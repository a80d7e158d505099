"""The launch of a kernel, in terms of the op that it computes:

    grid=ceil(n / 256), block=256, args=x, y, bias, out, n

Names are the op's parameters, its results (`out`; with several results `out0` or `out[0]`), and `n`. `n` is the number of
elements of the first result; for an op that only writes in place, of its first tensor. expressions.py evaluates the values.
"""

from __future__ import annotations

import ast
import dataclasses
import fractions
import math
import struct

import torch

from ..capture import author_error
from .expressions import Pointer, Typed, evaluate, names_in, parse_expression, shown, split_at_commas

EXAMPLE = "grid=ceil(n / 256), block=256, args=x, y, out, n"
# The limits of all GPUs (CUDA Programming Guide, "Technical Specifications per Compute Capability").
LIMITS = {"grid": (2**31 - 1, 65535, 65535), "block": (1024, 1024, 64)}
MAX_THREADS, MAX_SHARED_BYTES = 1024, 227 << 10

# C types as compilers spell them: (their `struct` format, the dtype of a tensor behind a pointer to them).
_SCALARS = {
    "float": ("f", torch.float32), "double": ("d", torch.float64), "bool": ("?", torch.bool),
    "char": ("b", torch.int8), "signed char": ("b", torch.int8), "unsigned char": ("B", torch.uint8),
    "short": ("h", torch.int16), "unsigned short": ("H", torch.uint16), "int": ("i", torch.int32),
    "unsigned int": ("I", torch.uint32), "long": ("q", torch.int64), "unsigned long": ("Q", torch.uint64),
    "long long": ("q", torch.int64), "unsigned long long": ("Q", torch.uint64), "__half": ("e", torch.float16),
    "half": ("e", torch.float16), "__nv_bfloat16": ("", torch.bfloat16),
}

@dataclasses.dataclass(frozen=True)
class Parameter:
    """A kernel's parameter: its type as the compiler spells it, and its name if the source shows it."""

    type: str
    name: str = ""

    def __str__(self):
        return f"{self.type} {self.name}".rstrip()


@dataclasses.dataclass(frozen=True)
class Launch:
    """A parsed launch, whose expressions have no values yet."""

    text: str
    fields: dict[str, tuple[ast.expr, ...]]
    entry: str = ""  # the kernel's name, if the launch gives one

    @property
    def constants(self) -> dict[str, tuple[ast.expr, ...]]:
        """The fields besides _FIELDS: the constants of a Triton kernel."""
        return {name: value for name, value in self.fields.items() if name not in _FIELDS}

    def extent(self, field: str, scope: dict) -> tuple[int, int, int]:
        """The grid or the block, as three numbers. Missing numbers are 1."""
        if field not in self.fields:
            raise author_error(f"the launch `{self.text}` has no {field}", f"a launch is written {EXAMPLE}")
        expressions = [e for value in self.fields[field]
                       for e in (value.elts if isinstance(value, (ast.Tuple, ast.List)) else [value])]
        values = [evaluate(e, scope, self.text) for e in expressions]
        for value in values:
            if isinstance(value, bool) or not isinstance(value, int) or not 0 < value < 1 << 32:
                raise author_error(f"the {field} of `{self.text}` is {shown(value)}",
                                   "it must be one to three integers of at least 1; ceil(n / 256) rounds up")
        if len(values) > 3:
            raise author_error(f"the {field} of `{self.text}` has {len(values)} numbers", "it must have one to three: x, y, z")
        extent = (*values, *[1] * (3 - len(values)))
        if any(size > limit for size, limit in zip(extent, LIMITS[field])):
            raise author_error(f"the {field} of `{self.text}` is {' x '.join(map(str, extent))}",
                               f"the limit of a GPU is {' x '.join(map(str, LIMITS[field]))}")
        if field == "grid" and extent[0] % self._count("cluster", scope):
            raise author_error(f"the grid of `{self.text}` is {extent[0]}, which is no multiple of its cluster")
        if field == "block" and math.prod(extent) > MAX_THREADS:
            raise author_error(f"the block of `{self.text}` has {math.prod(extent)} threads",
                               f"the limit of a GPU is {MAX_THREADS}")
        return extent

    def units(self, scope: dict) -> int:
        """The number of iterations of the loop that a C++ function computes."""
        return self._count("units", scope)

    def _count(self, field: str, scope: dict) -> int:
        """A positive integer; 1 if the launch does not have the field."""
        if not self.fields.get(field):
            return 1
        value = evaluate(self.fields[field][0], scope, self.text)
        if isinstance(value, bool) or not isinstance(value, int) or value < 1:
            raise author_error(f"the {field} of `{self.text}` is {shown(value)}", "it must be an integer of at least 1")
        return value

    def shared(self, scope: dict) -> int:
        """The bytes of dynamic shared memory per block."""
        if not self.fields.get("shared"):
            return 0
        value = evaluate(self.fields["shared"][0], scope, self.text)
        if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= MAX_SHARED_BYTES:
            raise author_error(f"the shared memory of `{self.text}` is {shown(value)}",
                               f"it must be an integer number of bytes; the limit of a GPU is {MAX_SHARED_BYTES} per block")
        return value

    def names(self, parameters: list[Parameter]) -> list[str]:
        """Names for the kernel's parameters: the op's name for a tensor argument, else the name in the kernel's source."""
        arguments = self.fields.get("args", ())
        if len(arguments) != len(parameters):
            return [p.name for p in parameters]
        return [e.id if isinstance(e, ast.Name) and "*" in p.type else p.name for e, p in zip(arguments, parameters)]

    def arguments(self, scope: dict, parameters: list[Parameter]) -> list:
        """A value for each of the kernel's parameters. Without `args`, each parameter takes the op's value of the same name."""
        if "args" in self.fields:
            values = [evaluate(e, scope, self.text) for e in self.fields["args"]]
        else:
            if unknown := [p for p in parameters if p.name not in scope]:
                raise author_error(
                    f"the parameter `{unknown[0]}` has no value: the launch has no args, and the op has no such name",
                    f"list the arguments in the launch: {EXAMPLE}; the names are {', '.join(names_in(scope))}")
            values = [scope[p.name] for p in parameters]
        if len(values) != len(parameters):
            listed = ", ".join(map(str, parameters))
            raise author_error(f"the launch `{self.text}` gives {len(values)} arguments, but the kernel takes {len(parameters)}",
                               f"its parameters are ({listed})")
        return values


_FIELDS = ("entry", "grid", "block", "cluster", "shared", "units", "args")


def parse(text: str) -> Launch:
    """Parses `grid=…, block=…, args=…`. A part without a name belongs to the field before it."""
    fields: dict[str, list[str]] = {}
    field = None
    for part in split_at_commas(text):
        name, equals, value = part.partition("=")
        if equals and name.strip().isidentifier() and not value.startswith("="):
            field = name.strip()
            if field in fields:
                raise author_error(f"the launch `{text}` gives its {field} twice", f"a launch is written {EXAMPLE}")
            fields[field], part = [], value
        if field is None:
            raise author_error(f"the launch `{text}` begins with `{part.strip()}`, which has no name",
                               f"a launch is written {EXAMPLE}")
        fields[field] += [part.strip()] * bool(part.strip())
    entry = ", ".join(fields.pop("entry", ()))  # it may have namespaces and template arguments: `mine::scale<float, 4>`
    return Launch(text, {field: tuple(parse_expression(p, f"the launch `{text}`", f"a launch is written {EXAMPLE}") for p in values) for field, values in fields.items()}, entry)


def check_no_constants(launch: Launch) -> None:
    """Raises `ingot.Error` for a field that only the launch of a Triton kernel may have."""
    if launch.constants:
        raise author_error(f"`{next(iter(launch.constants))}` is not a field of a launch", f"the fields are {', '.join(_FIELDS)}")


def scope_of(values: dict, results: list[torch.Tensor]) -> dict:
    """The values of the names that a launch may use."""
    scope = {f"out{k}": result for k, result in enumerate(results)}
    first = next((v for v in (*results, *values.values()) if isinstance(v, torch.Tensor)), None)
    if first is not None:
        scope["n"] = first.numel()
    if results:
        scope["out"] = results[0] if len(results) == 1 else results
    return scope | values


# --- Arguments as bytes ---------------------------------------------------------------------------------------------


def types_in(signature: str) -> list[str]:
    """The parameter types in the type of a function pointer, as a demangler or a compiler spells it: `void (*)(float const*, int)`."""
    inside = signature[signature.index("(*)(") + 4 :]
    depth, end = 1, 0
    while depth:
        depth += (inside[end] in "(<") - (inside[end] in ")>")
        end += 1
    return [part for part in split_at_commas(inside[: end - 1], "()<>") if part != "void"]


def pack(value, parameter: Parameter) -> bytes:
    """The bytes of a value as an argument for the parameter. Raises `ingot.Error` if the kernel would misread them."""
    if "&" in parameter.type:
        raise author_error(f"the parameter `{parameter}` is a reference", "pass numbers by value, and tensors as pointers")
    pointee = _pointee(parameter.type)
    if isinstance(value, torch.Tensor) and pointee is None and value.ndim == 0 and value.device.type == "cpu":
        value = value.item()  # PyTorch, too, takes such a tensor as a number
    if isinstance(value, (Pointer, torch.Tensor)):
        if pointee is None:
            raise author_error(f"the parameter `{parameter}` is not a pointer, but gets a tensor")
        expected = _dtype_of(pointee)
        if expected is not None and not _may_read(expected, value.dtype):
            raise author_error(f"the parameter `{parameter}` points to {_name_of(expected)}, but gets a tensor of "
                               f"{_name_of(value.dtype)}")
        return struct.pack("P", value.data_ptr())
    if isinstance(value, Typed):
        if pointee is None and bare(parameter.type) not in ("", value.type):
            raise author_error(f"the parameter `{parameter}` gets a number that is cast to {value.type}")
        value, parameter = value.value, Parameter(value.type, parameter.name)
    elif pointee is not None:
        raise author_error(f"the parameter `{parameter}` is a pointer, but gets {shown(value)}")
    format = _SCALARS.get(bare(parameter.type), ("", None))[0]
    if not format:
        raise author_error(f"the parameter `{parameter}` has a type that no number can be passed as",
                           "pass numbers as integers, bool, float, double or __half, and tensors as pointers")
    if not isinstance(value, (int, float, fractions.Fraction)):
        raise author_error(f"the parameter `{parameter}` is a number, but gets {shown(value)}",
                           "write out[0] or x.shape[-1] for one element" if isinstance(value, (list, tuple)) else None)
    if format == "?" and value not in (0, 1):
        raise author_error(f"the parameter `{parameter}` is a bool, but gets {shown(value)}")
    if format not in "fde":
        if value != value or value in (math.inf, -math.inf) or value != int(value):
            raise author_error(f"the parameter `{parameter}` is an integer, but gets {shown(value)}")
        value = int(value)
    try:
        return struct.pack(format, float(value) if format in "fde" else value)
    except (struct.error, OverflowError):
        raise author_error(f"{shown(value)} does not fit the parameter `{parameter}`",
                           "the kernel cannot be launched for so many elements" if format not in "fde" else None) from None


def bare(type: str) -> str:
    """A type without qualifiers, written as in `_SCALARS`; compilers also write `long unsigned int`."""
    words = [word for word in type.split() if word not in ("const", "volatile")]
    if not {"long", "short"} & {*words} or not {*words} <= {"long", "short", "unsigned", "signed", "int"}:
        return " ".join(words)
    return " ".join(["unsigned"] * ("unsigned" in words) + [word for word in words if word in ("long", "short")])


def _pointee(type: str) -> str | None:
    """The type that a pointer points to; None if the type is not a pointer."""
    plain = type.replace("__restrict__", "").replace("__restrict", "").strip()
    plain = plain.removesuffix("const").strip()
    return bare(plain[:-1]) if plain.endswith("*") else None


def _dtype_of(pointee: str) -> torch.dtype | None:
    """The dtype of a tensor for a pointer to this type; None if it may be any. A vector type has the dtype of its elements."""
    if pointee in _SCALARS:
        return _SCALARS[pointee][1]
    for vector, scalar in (("float", "float"), ("double", "double"), ("__half", "__half"), ("half", "__half"),
                           ("__nv_bfloat16", "__nv_bfloat16")):
        if pointee.startswith(vector) and pointee[len(vector) :].strip("_ ") in ("2", "3", "4", "62", "162"):
            return _SCALARS[scalar][1]
    return None


def _may_read(expected: torch.dtype, actual: torch.dtype) -> bool:
    """Whether a pointer to `expected` may read `actual`: the same dtype, integers of the same width, or 16-bit floats as integers."""
    are_integers = not (expected.is_floating_point or actual.is_floating_point)
    if actual in (torch.float16, torch.bfloat16) and expected in (torch.uint16, torch.int16):
        return True  # the kernel unpacks the bits itself
    return expected == actual or (are_integers and expected.itemsize == actual.itemsize)


def _name_of(dtype: torch.dtype) -> str:
    return str(dtype).removeprefix("torch.")
