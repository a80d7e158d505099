"""Helpers for analyses of an op's syntax tree: literals, statements, called names, functions that return one tensor."""

from __future__ import annotations

import ast
import typing

from . import _ingot

# Functions that do not always return exactly one tensor.
_NOT_ALWAYS_ONE_TENSOR = set("""split chunk unbind tensor_split hsplit vsplit dsplit split_with_sizes unsafe_chunk unsafe_split frexp
std_mean var_mean aminmax broadcast_tensors meshgrid mode median nanmedian kthvalue sort topk cummax cummin unravel_index
size dim len range tuple list zip enumerate numel nelement ndimension item stride isinstance float int bool shape print
atleast_1d atleast_2d atleast_3d sum any all abs round pow""".split())  # sum to pow: Python's own without a tensor


class Part(typing.NamedTuple):
    """An unspecified item of `value`, which is unpacked or iterated over."""

    value: ast.expr


def literal(node: ast.expr):
    """The value of a literal; `...` for any other expression."""
    try:
        return ast.literal_eval(node)
    except ValueError:
        return ...


def fixed_point(values: dict, update) -> dict:
    """Calls `update`, which changes `values`, until they no longer change. After 16 calls without that, every value is None."""
    for _ in range(16):
        before = dict(values)
        update()
        if values == before:
            return values
    values.update(dict.fromkeys(values))
    return values


def statements(node: ast.FunctionDef, in_nested_defs: bool = True):
    """The statements of a def and of the blocks in it, breadth-first. Those of nested defs and classes too, unless
    `in_nested_defs` is False: they may add to a list of the outer def."""
    pending = list(node.body)
    while pending:
        statement = pending.pop(0)
        yield statement
        if not in_nested_defs and isinstance(statement, (ast.FunctionDef, ast.ClassDef)):
            continue
        for inner in ast.iter_child_nodes(statement):
            if isinstance(inner, ast.stmt):
                pending.append(inner)


def called_name(node: ast.Call) -> str:
    function = node.func
    return function.id if isinstance(function, ast.Name) else function.attr if isinstance(function, ast.Attribute) else ""


def is_module(node: ast.expr) -> bool:
    return isinstance(node, ast.Name) and node.id in ("torch", "F", "nn", "special", "math") or (
        isinstance(node, ast.Attribute) and is_module(node.value)
    )


_tensor_functions: set[str] = set()


def tensor_functions() -> set[str]:
    """The supported functions that return exactly one tensor."""
    if not _tensor_functions:
        names = (spelled for name, _, aliases, *_ in _ingot.language() for spelled in (name, *aliases))
        _tensor_functions.update(name for name in names if name not in _NOT_ALWAYS_ONE_TENSOR and name not in ("max", "min"))
    return _tensor_functions
