"""The expressions of launches, a subset of Python's. Sizes are written as in PyTorch (`x.size(0)`, `x.shape[-1]`, `x.stride(0)`,
`x.numel()`). `/` is exact. `x + 3` is the address of the element 3 elements after the first one of x. `empty(f32, 1024)` and
`zeros(i32, 1)` are buffers. A cast such as `i32(n)` sets the type of a number if the type of the kernel's parameter is unknown.
Functions: those of `math`; `aligned(x, 16)` for an address that is a multiple of 16 bytes, and `no_overlap(out, x, y)` if no
element of out shares memory with one of x or y.
"""

from __future__ import annotations

import ast
import dataclasses
import fractions
import math
import operator

import torch

from .._ingot import Error
from ..capture import author_error
from .dtypes import DTYPES

_CAST_TYPES = {"f16": "__half", "f32": "float", "f64": "double", "u8": "unsigned char", "i8": "signed char", "i16": "short",
               "i32": "int", "i64": "long long", "bool": "bool"}
_OPERATORS = {ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.FloorDiv: operator.floordiv,
              ast.Mod: operator.mod, ast.Pow: operator.pow, ast.LShift: operator.lshift, ast.RShift: operator.rshift,
              ast.USub: operator.neg, ast.UAdd: operator.pos, ast.Not: operator.not_}
_COMPARISONS = {ast.Eq: operator.eq, ast.NotEq: operator.ne, ast.Lt: operator.lt, ast.LtE: operator.le, ast.Gt: operator.gt,
                ast.GtE: operator.ge}
_METHODS = ("size", "stride", "numel", "dim", "element_size", "is_contiguous")
_ATTRIBUTES = ("shape", "ndim", "dtype")
MAX_EXPONENT = 64  # of ** and <<


@dataclasses.dataclass(frozen=True)
class Typed:
    """A number with the C type that a cast gives it."""

    value: object
    type: str


@dataclasses.dataclass(frozen=True)
class Pointer:
    """The address of an element of a tensor: `offset` elements after the first one."""

    tensor: torch.Tensor
    offset: int

    @property
    def dtype(self) -> torch.dtype:
        return self.tensor.dtype

    def data_ptr(self) -> int:
        return self.tensor.data_ptr() + self.offset * self.tensor.itemsize


def rounded(dtype: torch.dtype):
    return lambda value: torch.tensor(float(value), dtype=torch.float64).to(dtype).double().item()


def broadcast(*sizes: int) -> int:
    return next((size for size in sizes if size != 1), 1)


def address_range(tensor: torch.Tensor) -> range:
    """The addresses from the first to the last byte of a tensor's elements."""
    last = sum((size - 1) * stride for size, stride in zip(tensor.shape, tensor.stride())) if tensor.numel() else -1
    return range(tensor.data_ptr(), tensor.data_ptr() + (last + 1) * tensor.itemsize)


def blocks_of(tensor: torch.Tensor) -> tuple[torch.Tensor, int]:
    """The blocks of adjacent bytes that a tensor with elements consists of: their addresses, ascending, and their length."""
    addresses, length = torch.tensor([tensor.data_ptr()]), tensor.itemsize
    for stride, size in sorted(zip(tensor.stride(), tensor.shape)):
        step = stride * tensor.itemsize
        if step == length:
            length *= size
        elif step:
            addresses = (addresses[:, None] + torch.arange(size) * step).flatten()
    return addresses.sort().values, length


def overlap(a: torch.Tensor, b: torch.Tensor) -> bool:
    """Whether two tensors have a byte in common."""
    a_range, b_range = address_range(a), address_range(b)
    if max(a_range.start, b_range.start) >= min(a_range.stop, b_range.stop):
        return False
    (a_blocks, a_length), (b_blocks, b_length) = blocks_of(a), blocks_of(b)
    following = torch.searchsorted(a_blocks, b_blocks - a_length, right=True)  # for each of b's, the first of a's not before it
    exists = following < len(a_blocks)
    return bool((a_blocks[following[exists]] < b_blocks[exists] + b_length).any())


def no_overlap(tensor: torch.Tensor, *others: torch.Tensor) -> bool:
    return not any(overlap(tensor, other) for other in others)


# The functions of numbers. Those of `math` compute what Ingot computes on the host.
_MATH = ("sqrt", "exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "sin", "cos", "tan", "asin", "acos", "atan", "atan2",
         "sinh", "cosh", "tanh", "asinh", "acosh", "atanh", "floor", "ceil", "trunc", "erf", "erfc", "gamma", "lgamma", "hypot",
         "copysign", "fmod")
_FUNCTIONS = {name: getattr(math, name) for name in _MATH} | {
    "abs": abs, "min": min, "max": max, "round": round, "int": int, "float": float, "broadcast": broadcast,
    "float16": rounded(torch.float16), "bfloat16": rounded(torch.bfloat16), "float32": rounded(torch.float32), "float64": float}


def parse_expression(part: str, place: str, hint: str) -> ast.expr:
    try:
        return ast.parse(part, mode="eval").body
    except SyntaxError:
        raise author_error(f"`{part}` in {place} is not an expression", hint) from None


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


def evaluate(node: ast.expr, scope: dict, text: str):
    """The value of an expression in the launch `text`. The quotient of integers is an exact fraction, or an integer."""

    def value_of(node: ast.expr):
        match node:
            case ast.Constant(value=bool() | int() | float() | str()):
                return node.value
            case ast.Name(id=name) if name in scope:
                return scope[name]
            case ast.Name(id=name) if name in DTYPES:
                return DTYPES[name]
            case ast.UnaryOp(op=op, operand=operand) if type(op) in _OPERATORS:
                return _OPERATORS[type(op)](number(operand))
            case ast.BinOp(left=left, op=ast.Add(), right=right):
                a = value_of(left)
                if isinstance(a, torch.Tensor) and a.ndim:
                    return Pointer(a, int(number(right)))
                return _as_integer(as_number(a, left) + number(right))
            case ast.BinOp(left=left, op=ast.Div(), right=right):
                a, b = number(left), number(right)
                if b == 0:
                    raise author_error(f"`{ast.unparse(node)}` in the launch `{text}` divides by zero")
                return fractions.Fraction(a, b) if isinstance(a, int) and isinstance(b, int) else a / b
            case ast.BinOp(op=ast.Pow() | ast.LShift(), right=right) if abs(number(right)) > MAX_EXPONENT:
                raise author_error(f"`{ast.unparse(node)}` in the launch `{text}` is larger than any size")
            case ast.BinOp(left=left, op=op, right=right) if type(op) in _OPERATORS:
                return _as_integer(_OPERATORS[type(op)](number(left), number(right)))
            case ast.BoolOp(op=op, values=values):
                return (all if isinstance(op, ast.And) else any)(value_of(value) for value in values)
            case ast.Compare(left=left, ops=ops, comparators=comparators) if all(type(op) in _COMPARISONS for op in ops):
                values = [comparable(operand) for operand in (left, *comparators)]
                return all(_COMPARISONS[type(op)](a, b) for op, a, b in zip(ops, values, values[1:]))
            case ast.IfExp(test=test, body=body, orelse=orelse):
                return value_of(body if value_of(test) else orelse)
            case ast.Attribute(value=base, attr=name) if name in _ATTRIBUTES:
                return getattr(tensor_of(base), name)
            case ast.Subscript(value=base, slice=index):
                key = value_of(index)
                return value_of(base)[key if isinstance(key, str) else as_number(key, index)]
            case ast.Call(func=ast.Attribute(value=base, attr=name), args=args, keywords=[]) if name in _METHODS:
                return getattr(tensor_of(base), name)(*map(number, args))
            case ast.Call(func=ast.Name(id=name), args=args, keywords=[]):
                return call(name, args)
        raise author_error(f"`{ast.unparse(node)}` in the launch `{text}` is not supported",
                           f"the names are {', '.join(names_in(scope))}; the functions are ceil, min, max, empty, zeros")

    def call(name: str, args: list[ast.expr]):
        if name in _FUNCTIONS:
            return _FUNCTIONS[name](*map(number, args))
        if name in ("empty", "zeros") and len(args) == 2 and isinstance(args[0], ast.Name) and args[0].id in DTYPES:
            device = next((v.device for v in scope.values() if isinstance(v, torch.Tensor)), "cpu")
            return getattr(torch, name)(int(number(args[1])), dtype=DTYPES[args[0].id], device=device)
        if name in _CAST_TYPES and len(args) == 1:
            return Typed(number(args[0]), _CAST_TYPES[name])
        if name == "aligned" and len(args) == 2:
            return value_of(args[0]).data_ptr() % number(args[1]) == 0
        if name == "no_overlap":
            return no_overlap(*map(tensor_of, args))
        raise author_error(
            f"`{name}` in the launch `{text}` is not a supported call",
            "the functions are ceil(a), min(a, b), max(a, b), empty(dtype, n), zeros(dtype, n), and casts such as i32(n)")

    def comparable(node: ast.expr):
        value = value_of(node)
        return value if isinstance(value, torch.dtype) else as_number(value, node)

    def number(node: ast.expr):
        return as_number(value_of(node), node)

    def as_number(value, node: ast.expr):
        value = value.value if isinstance(value, Typed) else value
        value = value.item() if isinstance(value, torch.Tensor) and value.ndim == 0 and value.device.type == "cpu" else value
        if not isinstance(value, (int, float, fractions.Fraction)):
            raise author_error(f"`{ast.unparse(node)}` in the launch `{text}` is {shown(value)}, not a number")
        return value

    def tensor_of(node: ast.expr) -> torch.Tensor:
        value = value_of(node)
        if not isinstance(value, torch.Tensor):
            raise author_error(f"`{ast.unparse(node)}` in the launch `{text}` is {shown(value)}, not a tensor")
        return value

    try:
        return _as_integer(value_of(node))
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError, RuntimeError) as error:
        if isinstance(error, Error):
            raise
        raise author_error(f"`{ast.unparse(node)}` in the launch `{text}` has no value: {error}") from None


def _as_integer(value):
    """A fraction with denominator 1 becomes an integer."""
    return int(value) if isinstance(value, fractions.Fraction) and value.denominator == 1 else value


def names_in(scope: dict) -> list[str]:
    """The names to list in a message; without `out0` if `out` is the same tensor."""
    return [name for name in scope if not (name == "out0" and isinstance(scope.get("out"), torch.Tensor))]


def shown(value) -> str:
    if isinstance(value, torch.Tensor):
        return "a tensor"
    if isinstance(value, (list, tuple)):
        return f"{len(value)} tensors" if any(isinstance(v, torch.Tensor) for v in value) else f"the sizes {list(value)}"
    return str(float(value)) if isinstance(value, fractions.Fraction) else repr(value)
