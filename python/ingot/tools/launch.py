"""The launch of a hand-written kernel, in terms of the op that it is compared with:

    grid=ceil(n / 256), block=256, args=x, y, bias, out, n

Names are the op's parameters, its results (`out`; with several results `out0` or `out[0]`), and `n`. `n` is the number of
elements of the first result; for an op that only writes in place, of its first tensor. Sizes are written as in PyTorch
(`x.size(0)`, `x.shape[-1]`, `x.stride(0)`, `x.numel()`), numbers as in Python. `/` is exact; there are `ceil`, `min` and
`max`. `empty(f32, 1024)` and `zeros(i32, 1)` are scratch memory for the kernel, allocated and initialised once. A cast such
as `i32(n)` sets the type of a number if the type of the kernel's parameter is unknown.
"""

from __future__ import annotations

import ast
import dataclasses
import fractions
import math
import operator
import struct

import torch

from .._ingot import Error
from ..capture import author_error
from .dtypes import DTYPES

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
_CAST_TYPES = {"f16": "__half", "f32": "float", "f64": "double", "u8": "unsigned char", "i8": "signed char", "i16": "short",
               "i32": "int", "i64": "long long", "bool": "bool"}
_OPERATORS = {ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.FloorDiv: operator.floordiv,
              ast.Mod: operator.mod, ast.Pow: operator.pow, ast.LShift: operator.lshift, ast.RShift: operator.rshift,
              ast.USub: operator.neg, ast.UAdd: operator.pos, ast.Eq: operator.eq, ast.NotEq: operator.ne,
              ast.Lt: operator.lt, ast.LtE: operator.le, ast.Gt: operator.gt, ast.GtE: operator.ge}
_METHODS = ("size", "stride", "numel", "dim", "element_size")
_ATTRIBUTES = ("shape", "ndim")


@dataclasses.dataclass(frozen=True)
class Typed:
    """A number with the C type that a cast gives it."""

    value: object
    type: str


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
                raise author_error(f"the {field} of `{self.text}` is {_shown(value)}",
                                   "it must be one to three integers of at least 1; ceil(n / 256) rounds up")
        if len(values) > 3:
            raise author_error(f"the {field} of `{self.text}` has {len(values)} numbers", "it must have one to three: x, y, z")
        extent = (*values, *[1] * (3 - len(values)))
        if any(size > limit for size, limit in zip(extent, LIMITS[field])):
            raise author_error(f"the {field} of `{self.text}` is {' x '.join(map(str, extent))}",
                               f"the limit of a GPU is {' x '.join(map(str, LIMITS[field]))}")
        if field == "block" and math.prod(extent) > MAX_THREADS:
            raise author_error(f"the block of `{self.text}` has {math.prod(extent)} threads",
                               f"the limit of a GPU is {MAX_THREADS}")
        return extent

    def shared(self, scope: dict) -> int:
        """The bytes of dynamic shared memory per block."""
        if not self.fields.get("shared"):
            return 0
        value = evaluate(self.fields["shared"][0], scope, self.text)
        if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= MAX_SHARED_BYTES:
            raise author_error(f"the shared memory of `{self.text}` is {_shown(value)}",
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
                    f"list the arguments in the launch: {EXAMPLE}; the names are {', '.join(_names(scope))}")
            values = [scope[p.name] for p in parameters]
        if len(values) != len(parameters):
            listed = ", ".join(map(str, parameters))
            raise author_error(f"the launch `{self.text}` gives {len(values)} arguments, but the kernel takes {len(parameters)}",
                               f"its parameters are ({listed})")
        return values


MAX_EXPONENT = 64  # of ** and <<
_FIELDS = ("entry", "grid", "block", "shared", "args")


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
    return Launch(text, {field: tuple(_expression(p, text) for p in values) for field, values in fields.items()}, entry)


def split_at_commas(text: str, brackets: str = "()[]{}") -> list[str]:
    """The parts between commas that are not inside brackets."""
    parts, depth = [""], 0
    for c in text:
        depth += (c in brackets[::2]) - (c in brackets[1::2])
        if c == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += c
    return [part.strip() for part in parts if part.strip()]


def _expression(part: str, text: str) -> ast.expr:
    try:
        return ast.parse(part, mode="eval").body
    except SyntaxError:
        raise author_error(f"`{part}` in the launch `{text}` is not an expression", f"a launch is written {EXAMPLE}") from None


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


def evaluate(node: ast.expr, scope: dict, text: str):
    """The value of an expression in a launch. The quotient of integers is an exact fraction, or an integer."""

    def value_of(node: ast.expr):
        match node:
            case ast.Constant(value=bool() | int() | float()):
                return node.value
            case ast.Name(id=name) if name in scope:
                return scope[name]
            case ast.UnaryOp(op=op, operand=operand) if type(op) in _OPERATORS:
                return _OPERATORS[type(op)](number(operand))
            case ast.BinOp(left=left, op=ast.Div(), right=right):
                a, b = number(left), number(right)
                if b == 0:
                    raise author_error(f"`{ast.unparse(node)}` in the launch `{text}` divides by zero")
                return fractions.Fraction(a, b) if isinstance(a, int) and isinstance(b, int) else a / b
            case ast.BinOp(op=ast.Pow() | ast.LShift(), right=right) if abs(number(right)) > MAX_EXPONENT:
                raise author_error(f"`{ast.unparse(node)}` in the launch `{text}` is larger than any size")
            case ast.BinOp(left=left, op=op, right=right) if type(op) in _OPERATORS:
                return _as_integer(_OPERATORS[type(op)](number(left), number(right)))
            case ast.Compare(left=left, ops=[op], comparators=[right]) if type(op) in _OPERATORS:
                return _OPERATORS[type(op)](number(left), number(right))
            case ast.IfExp(test=test, body=body, orelse=orelse):
                return value_of(body if value_of(test) else orelse)
            case ast.Attribute(value=base, attr=name) if name in _ATTRIBUTES:
                return getattr(tensor(base), name)
            case ast.Subscript(value=base, slice=index):
                return value_of(base)[number(index)]
            case ast.Call(func=ast.Attribute(value=base, attr=name), args=args, keywords=[]) if name in _METHODS:
                return getattr(tensor(base), name)(*map(number, args))
            case ast.Call(func=ast.Name(id=name), args=args, keywords=[]):
                return call(name, args)
        raise author_error(f"`{ast.unparse(node)}` in the launch `{text}` is not supported",
                           f"the names are {', '.join(_names(scope))}; the functions are ceil, min, max, empty, zeros")

    def call(name: str, args: list[ast.expr]):
        if name == "ceil" and len(args) == 1:
            return math.ceil(number(args[0]))
        if name in ("min", "max"):
            return {"min": min, "max": max}[name](*map(number, args))
        if name in ("empty", "zeros") and len(args) == 2 and isinstance(args[0], ast.Name) and args[0].id in DTYPES:
            device = next((v.device for v in scope.values() if isinstance(v, torch.Tensor)), "cpu")
            return getattr(torch, name)(int(number(args[1])), dtype=DTYPES[args[0].id], device=device)
        if name in _CAST_TYPES and len(args) == 1:
            return Typed(number(args[0]), _CAST_TYPES[name])
        raise author_error(
            f"`{name}` in the launch `{text}` is not a supported call",
            "the functions are ceil(a), min(a, b), max(a, b), empty(dtype, n), zeros(dtype, n), and casts such as i32(n)")

    def number(node: ast.expr):
        value = value_of(node)
        if not isinstance(value, (int, float, fractions.Fraction)):
            raise author_error(f"`{ast.unparse(node)}` in the launch `{text}` is {_shown(value)}, not a number")
        return value

    def tensor(node: ast.expr) -> torch.Tensor:
        value = value_of(node)
        if not isinstance(value, torch.Tensor):
            raise author_error(f"`{ast.unparse(node)}` in the launch `{text}` is {_shown(value)}, not a tensor")
        return value

    try:
        return _as_integer(value_of(node))
    except (ArithmeticError, LookupError, TypeError, ValueError, RuntimeError) as error:
        if isinstance(error, Error):
            raise
        raise author_error(f"`{ast.unparse(node)}` in the launch `{text}` has no value: {error}") from None


def _as_integer(value):
    """A fraction with denominator 1 becomes an integer."""
    return int(value) if isinstance(value, fractions.Fraction) and value.denominator == 1 else value


def _names(scope: dict) -> list[str]:
    """The names to list in a message; without `out0` if `out` is the same tensor."""
    return [name for name in scope if not (name == "out0" and isinstance(scope.get("out"), torch.Tensor))]


def _shown(value) -> str:
    if isinstance(value, torch.Tensor):
        return "a tensor"
    if isinstance(value, (list, tuple)):
        return f"{len(value)} tensors" if any(isinstance(v, torch.Tensor) for v in value) else f"the sizes {list(value)}"
    return str(float(value)) if isinstance(value, fractions.Fraction) else repr(value)


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
    if isinstance(value, torch.Tensor):
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
        raise author_error(f"the parameter `{parameter}` is a pointer, but gets {_shown(value)}")
    format = _SCALARS.get(bare(parameter.type), ("", None))[0]
    if not format:
        raise author_error(f"the parameter `{parameter}` has a type that no number can be passed as",
                           "pass numbers as integers, bool, float, double or __half, and tensors as pointers")
    if not isinstance(value, (int, float, fractions.Fraction)):
        raise author_error(f"the parameter `{parameter}` is a number, but gets {_shown(value)}",
                           "write out[0] or x.shape[-1] for one element" if isinstance(value, (list, tuple)) else None)
    if format == "?" and value not in (0, 1):
        raise author_error(f"the parameter `{parameter}` is a bool, but gets {_shown(value)}")
    if format not in "fde":
        if value != value or value in (math.inf, -math.inf) or value != int(value):
            raise author_error(f"the parameter `{parameter}` is an integer, but gets {_shown(value)}")
        value = int(value)
    try:
        return struct.pack(format, float(value) if format in "fde" else value)
    except (struct.error, OverflowError):
        raise author_error(f"{_shown(value)} does not fit the parameter `{parameter}`",
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
