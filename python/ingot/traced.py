"""The Python version of `Op.__call__` that torch.compile traces in place of the C version.

Dynamo traces it like any method. The fallback for fake tensors and other tracers calls it as well. It calls one function of
PyTorch's dispatcher or, for calls that no schema describes, the op's source, of which Dynamo then sees each function.
"""

from __future__ import annotations

import inspect
import typing

import torch

from .capture import author_error
from .random import new_seed
from .fallback import copied_to
from .registered import anonymous, registered_for

__all__ = ["Form", "call", "form"]


class Form(typing.NamedTuple):
    """The value-independent part of a traced call. It contains only plain data, because Dynamo treats it as a constant."""

    overload: tuple[str, ...]  # torch.ops' namespace, name and overload; empty: the op's source
    places: tuple[int, ...]  # for each parameter, the position of its value in the call; -1: its default
    as_tensors: tuple[bool, ...]  # whether its number is passed as a tensor, so that it is no constant of the trace
    kinds: tuple[str, ...]  # the type that its value is converted to; empty: none
    names: tuple[str, ...]  # all arguments are passed by name
    fills: bool  # whether None is passed for arguments that are left out
    takes_seed: bool = False  # whether a seed is passed
    returns: str = ""  # container of the results: tuple, a name in torch.return_types, or empty


def call(self, *args, out=None, **kwargs):
    values = [*args, *kwargs.values()]
    # Dynamo guards on every value that it reads. The key is unique to the op, so ops never share a compiled call.
    form = self._form(self._key, tuple([_kind(value) for value in values]), tuple(kwargs), out is not None)
    named = {}
    for i, place in enumerate(form.places):
        value = None if place < 0 else values[place]
        if form.kinds[i] == "float":
            value = float(value)
        elif form.kinds[i] == "int":
            value = int(value)
        elif form.kinds[i] == "bool":
            value = bool(value)
        if form.as_tensors[i]:
            value = torch.zeros((), dtype=torch.float64, device="cpu") + value
        if place >= 0 or form.fills:
            named[form.names[i]] = value
    if form.takes_seed:
        named["seed"] = new_seed(values)
    if form.overload:
        namespace, name, overload = form.overload
        results = getattr(getattr(getattr(torch.ops, namespace), name), overload)(**named)
        if form.returns == "tuple":
            results = tuple(results)
        elif form.returns:
            results = getattr(torch.return_types, form.returns)(results)
    else:
        results = self._eager.reference.for_tracing(**named)
    return results if out is None else copied_to(out, results)


def form(op, kinds: tuple[str, ...], keywords: tuple[str, ...], has_out: bool) -> Form:
    """The form of a call.

    kinds: those of its values, as `_kind` gives them.
    keywords: the names of the last values.
    Raises `ingot.Error` for arguments that do not fit the op's signature.
    """
    names = [name for name, _, _ in op._parameters]
    annotations = [annotation for _, annotation, _ in op._parameters]
    positional = len(kinds) - len(keywords)
    at = {**{name: i for i, name in enumerate(names[:positional])}, **{k: positional + i for i, k in enumerate(keywords)}}
    places = tuple(at.get(name, -1) for name in names)
    given = ["Tensor?" if place < 0 or kinds[place] == "None" else kinds[place] for place in places]
    is_number = [a in _FITTING and kind in ("float", "int", "bool") for a, kind in zip(annotations, given)]
    changed = tuple(a if number and a != kind else "" for a, kind, number in zip(annotations, given, is_number))
    given = [a or kind for a, kind in zip(changed, given)]
    _check(op, kinds[:positional], dict(zip(keywords, kinds[positional:])))
    names, plain = tuple(names), (False,) * len(places)
    # An operator takes None for an argument that is left out. An explicit None would be lost if the default is another value.
    hides_none = any(kinds[place] == "None" and op.signature.parameters[name].default not in (None, inspect.Parameter.empty)
                     for name, place in at.items())
    if op.traced == "kernel" and not has_out and not hides_none and "" not in given and _has_schema(names):
        if name := registered_for(op, given):
            return Form(name, places, plain, changed, names, fills=False, returns=_container(op))
        if op.is_functional and not (op.uses_random and "seed" in names):
            as_tensors = tuple(kind == "float" for kind in given)
            return Form(anonymous(op, tuple(given)), places, as_tensors, changed, names, fills=True, takes_seed=op.uses_random,
                        returns=_container(op))
    op.reference.for_tracing  # noqa: B018  made now, because Dynamo does not trace this function
    return Form((), places, plain, changed, names, fills=False)


def _container(op) -> str:
    """The container of the op's results, if a PyTorch operator would return another one. Empty otherwise."""
    returns = op.returns
    return "tuple" if returns.count is None and not returns.is_list else returns.named


def _has_schema(names: tuple[str, ...]) -> bool:
    """Whether a PyTorch operator can have these parameters: ASCII names, and at most 64 arguments of the backward
    operator. The limit of 48 parameters leaves room for 16 incoming gradients."""
    return len(names) <= 48 and all(name.isascii() for name in names)


def _check(op, kinds: tuple[str, ...], named: dict[str, str]):
    """Makes the checks of the C++ call that do not depend on tensors. Raises `ingot.Error`."""
    try:
        given = op.signature.bind(*kinds, **named).arguments
    except TypeError as error:
        raise author_error(f"{op.name}{op.signature}: {error}") from None
    for name, annotation, _ in op._parameters:
        if annotation in _FITTING and given.get(name, "None") not in (*_FITTING[annotation], "None"):
            raise author_error(f"{op.name}: `{name}` is annotated {annotation} and was given a {given[name]}")


_FITTING = {"float": ("float", "int", "bool"), "int": ("int", "bool"), "bool": ("bool", "int")}


def _kind(value) -> str:
    """The kind of a value, or an empty string for a type that no schema of ours accepts."""
    if isinstance(value, torch.Tensor):
        return "Tensor"
    if value is None:
        return "None"
    if isinstance(value, (bool, torch.SymBool)):
        return "bool"
    if isinstance(value, (int, torch.SymInt)):
        return "int"
    return "float" if isinstance(value, (float, torch.SymFloat)) else ""
