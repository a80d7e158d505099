"""What an op's source says of its calls: what it returns and what it writes. PyTorch's schema of a registered op follows from it.

Nothing is guessed: where the source does not say, the answer is None.
"""

from __future__ import annotations

import ast
import inspect
import typing

from .op_source import literal
from .returned_kinds import Function, Returns
from .written_parameters import writes


class OpEffects(typing.NamedTuple):
    """`returns`: None where the text does not say. `writes`: the parameters that are written; None for perhaps any."""

    returns: Returns | None
    writes: frozenset[str] | None


def effects_of(tree: ast.Module, name: str) -> OpEffects:
    """Of the def `name` of a text."""
    definitions = {node.name: node for node in tree.body if isinstance(node, ast.FunctionDef)}
    return OpEffects(Function(definitions, definitions[name]).returns(), writes(definitions, name, {}))


def signature(tree: ast.Module, name: str) -> inspect.Signature:
    """Of the def `name` of a text, of which nothing is run: a default that is no literal is `...`."""
    (node,) = [node for node in tree.body if isinstance(node, ast.FunctionDef) and node.name == name][-1:]
    positional = [*node.args.posonlyargs, *node.args.args]
    defaults = [None] * (len(positional) - len(node.args.defaults)) + node.args.defaults
    kinds = inspect.Parameter
    listed = [(a, d, kinds.POSITIONAL_OR_KEYWORD) for a, d in zip(positional, defaults)]
    listed += [(a, d, kinds.KEYWORD_ONLY) for a, d in zip(node.args.kwonlyargs, node.args.kw_defaults)]
    return inspect.Signature([
        kinds(a.arg, kind, default=kinds.empty if default is None else literal(default)) for a, default, kind in listed
    ])
