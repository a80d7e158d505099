"""The Python version of `Op.__call__` that torch.compile traces in place of the C version.

Dynamo traces it like any method. The fallback for fake tensors and other tracers calls it as well. It calls an operator of
PyTorch's dispatcher or, for calls that no schema describes, runs the op's source, so that Dynamo traces the functions in it.
"""

from __future__ import annotations

import inspect
import typing

import torch

from .capture import author_error
from .random import new_seed
from .fallback import copy_to
from .registered import anonymous, registered_for

__all__ = ["CallPlan", "call", "make_call_plan"]


class CallPlan(typing.NamedTuple):
    """The value-independent part of a traced call. It contains only plain data, because Dynamo treats it as a constant."""

    overload: tuple[str, ...]  # torch.ops' namespace, name and overload; empty: the op's source
    positions: tuple[int, ...]  # for each parameter, the position of its value in the call; -1: its default
    as_tensors: tuple[bool, ...]  # for each parameter: whether its number is passed as a tensor, not as a constant
    conversions: tuple[str, ...]  # for each parameter: the type that its value is converted to; empty: none
    names: tuple[str, ...]  # of the parameters; all arguments are passed by name
    passes_none: bool  # whether None is passed for arguments that are left out
    takes_seed: bool = False  # whether a seed is passed
    returns: str = ""  # container of the results: tuple, a name in torch.return_types, or empty


def call(self, *args, out=None, **kwargs):
    values = [*args, *kwargs.values()]
    # Dynamo guards on every value that it reads. The key is unique to the op, so ops never share a compiled call.
    plan = self._call_plan(self._key, tuple([_kind(value) for value in values]), tuple(kwargs), out is not None)
    arguments = {}
    for i, position in enumerate(plan.positions):
        value = None if position < 0 else values[position]
        if plan.conversions[i] == "float":
            value = float(value)
        elif plan.conversions[i] == "int":
            value = int(value)
        elif plan.conversions[i] == "bool":
            value = bool(value)
        if plan.as_tensors[i]:
            value = torch.zeros((), dtype=torch.float64, device="cpu") + value
        if position >= 0 or plan.passes_none:
            arguments[plan.names[i]] = value
    if plan.takes_seed:
        arguments["seed"] = new_seed(values)
    if plan.overload:
        namespace, name, overload = plan.overload
        results = getattr(getattr(getattr(torch.ops, namespace), name), overload)(**arguments)
        if plan.returns == "tuple":
            results = tuple(results)
        elif plan.returns:
            results = getattr(torch.return_types, plan.returns)(results)
    else:
        results = self._eager.reference.for_tracing(**arguments)
    return results if out is None else copy_to(out, results)


def make_call_plan(op, kinds: tuple[str, ...], keywords: tuple[str, ...], has_out: bool) -> CallPlan:
    """Plans a traced call.

    kinds: the kinds of the call's arguments, as `_kind` gives them.
    keywords: the names of the last arguments, which are passed by name.
    Raises `ingot.Error` for arguments that do not fit the op's signature.
    """
    names = [name for name, _, _ in op._parameters]
    annotations = [annotation for _, annotation, _ in op._parameters]
    positional = len(kinds) - len(keywords)
    position_of = {name: i for i, name in enumerate(names[:positional])}
    position_of |= {name: positional + i for i, name in enumerate(keywords)}
    positions = tuple(position_of.get(name, -1) for name in names)
    passed = ["Tensor?" if position < 0 or kinds[position] == "None" else kinds[position] for position in positions]
    is_number = [a in _ACCEPTED_KINDS and kind in ("float", "int", "bool") for a, kind in zip(annotations, passed)]
    conversions = tuple(a if number and a != kind else "" for a, kind, number in zip(annotations, passed, is_number))
    argument_kinds = [a or kind for a, kind in zip(conversions, passed)]
    _check_arguments(op, kinds[:positional], dict(zip(keywords, kinds[positional:])))
    names, no_tensors = tuple(names), (False,) * len(positions)
    # An operator takes None for an argument that is left out. An explicit None would be lost if the default is another value.
    hides_none = any(kinds[position] == "None" and op.signature.parameters[name].default not in (None, inspect.Parameter.empty)
                     for name, position in position_of.items())
    if op.traced == "kernel" and not has_out and not hides_none and "" not in argument_kinds and _has_schema(names):
        if name := registered_for(op, argument_kinds):
            return CallPlan(name, positions, no_tensors, conversions, names, passes_none=False, returns=_container(op))
        if op.is_functional and not (op.uses_random and "seed" in names):
            as_tensors = tuple(kind == "float" for kind in argument_kinds)
            return CallPlan(anonymous(op, tuple(argument_kinds)), positions, as_tensors, conversions, names, passes_none=True,
                            takes_seed=op.uses_random, returns=_container(op))
    op.reference.for_tracing  # noqa: B018  made now, because Dynamo does not trace this function
    return CallPlan((), positions, no_tensors, conversions, names, passes_none=False)


def _container(op) -> str:
    """The container of the op's results, if a PyTorch operator would return another one. Empty otherwise."""
    returns = op.returns
    return "tuple" if returns.count is None and not returns.is_list else returns.named


def _has_schema(names: tuple[str, ...]) -> bool:
    """Whether a PyTorch operator can have these parameters: ASCII names, and at most 64 arguments of the backward
    operator. The limit of 48 parameters leaves room for 16 incoming gradients."""
    return len(names) <= 48 and all(name.isascii() for name in names)


def _check_arguments(op, kinds: tuple[str, ...], keywords: dict[str, str]):
    """Makes the checks of the C++ call that do not depend on tensors. Raises `ingot.Error`."""
    try:
        arguments = op.signature.bind(*kinds, **keywords).arguments
    except TypeError as error:
        raise author_error(f"{op.name}{op.signature}: {error}") from None
    for name, annotation, _ in op._parameters:
        if annotation in _ACCEPTED_KINDS and arguments.get(name, "None") not in (*_ACCEPTED_KINDS[annotation], "None"):
            raise author_error(f"{op.name}: `{name}` is annotated {annotation} and was given a {arguments[name]}")


_ACCEPTED_KINDS = {"float": ("float", "int", "bool"), "int": ("int", "bool"), "bool": ("bool", "int")}


def _kind(value) -> str:
    """The kind of a value, or an empty string for a type that no schema of Ingot accepts."""
    if isinstance(value, torch.Tensor):
        return "Tensor"
    if value is None:
        return "None"
    if isinstance(value, (bool, torch.SymBool)):
        return "bool"
    if isinstance(value, (int, torch.SymInt)):
        return "int"
    return "float" if isinstance(value, (float, torch.SymFloat)) else ""
