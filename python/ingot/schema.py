"""Infers an op's effects from its source: the kind of its result and the parameters that it writes in place.

They determine the PyTorch schema of a registered op. An effect that the source does not show is None, never a guess.
"""

from __future__ import annotations

import ast
import inspect
import typing

from .op_source import literal
from .returned_kinds import Function, Returns
from .written_parameters import writes


class OpEffects(typing.NamedTuple):
    """`returns`: the kind of the result, None if unknown. `writes`: the parameters written in place, None if unknown."""

    returns: Returns | None
    writes: frozenset[str] | None


def effects_of(tree: ast.Module, name: str) -> OpEffects:
    """The effects of the def `name` of a module."""
    definitions = {node.name: node for node in tree.body if isinstance(node, ast.FunctionDef)}
    return OpEffects(Function(definitions, definitions[name]).returns(), writes(definitions, name, {}))


def signature(tree: ast.Module, name: str) -> inspect.Signature:
    """The signature of the def `name` of a module. Nothing is executed: a default that is not a literal is `...`."""
    (node,) = [node for node in tree.body if isinstance(node, ast.FunctionDef) and node.name == name][-1:]
    positional = [*node.args.posonlyargs, *node.args.args]
    defaults = [None] * (len(positional) - len(node.args.defaults)) + node.args.defaults
    kinds = inspect.Parameter
    listed = [(a, d, kinds.POSITIONAL_OR_KEYWORD) for a, d in zip(positional, defaults)]
    listed += [(a, d, kinds.KEYWORD_ONLY) for a, d in zip(node.args.kwonlyargs, node.args.kw_defaults)]
    return inspect.Signature([
        kinds(a.arg, kind, default=kinds.empty if default is None else literal(default)) for a, default, kind in listed
    ])
