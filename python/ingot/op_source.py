"""An op's source as a syntax tree: what the analyses of its results and of its writes share."""

from __future__ import annotations

import ast
import typing

from . import _ingot

# Functions whose results are not one tensor, or not always.
_NO_TENSOR = set("""split chunk unbind tensor_split hsplit vsplit dsplit split_with_sizes unsafe_chunk unsafe_split frexp
std_mean var_mean aminmax broadcast_tensors meshgrid mode median nanmedian kthvalue sort topk cummax cummin unravel_index
size dim len range tuple list zip enumerate numel nelement ndimension item stride isinstance float int bool shape print
atleast_1d atleast_2d atleast_3d sum any all abs round pow""".split())  # the last of these are Python's own where nothing is a tensor


class Part(typing.NamedTuple):
    """An item of a value that is unpacked."""

    value: ast.expr


def literal(node: ast.expr):
    try:
        return ast.literal_eval(node)
    except ValueError:
        return ...


def fixed_point(values: dict, update) -> dict:
    """The facts of names once they no longer change; none, where that does not come soon."""
    for _ in range(16):
        before = dict(values)
        update()
        if values == before:
            return values
    values.update(dict.fromkeys(values))
    return values


def statements(node: ast.FunctionDef):
    """Those of the def itself, not of functions in it."""
    waiting = list(node.body)
    while waiting:
        statement = waiting.pop(0)
        yield statement
        for inner in ast.iter_child_nodes(statement):
            if isinstance(inner, ast.stmt) and not isinstance(inner, (ast.FunctionDef, ast.ClassDef)):
                waiting.append(inner)


def called_name(node: ast.Call) -> str:
    function = node.func
    return function.id if isinstance(function, ast.Name) else function.attr if isinstance(function, ast.Attribute) else ""


def is_module(node: ast.expr) -> bool:
    return isinstance(node, ast.Name) and node.id in ("torch", "F", "nn", "special", "math") or (
        isinstance(node, ast.Attribute) and is_module(node.value)
    )


_known: set[str] = set()


def tensor_functions() -> set[str]:
    """The language's functions that give one tensor."""
    if not _known:
        names = (spelled for name, _, aliases, *_ in _ingot.language() for spelled in (name, *aliases))
        _known.update(name for name in names if name not in _NO_TENSOR and name not in ("max", "min"))
    return _known
