"""What torch.compile sees of an op's call: `Op.__call__` in Python, in place of the one in C.

Dynamo reads it as it reads any method; nothing else ever runs it. It ends in one function of PyTorch's dispatcher, or in
the op's own text, of which Dynamo then sees each function.
"""

from __future__ import annotations

import inspect
import typing

import torch

from .capture import fail
from .random import new_seed
from .fallback import copied_to
from .registered import anonymous, registered_for

__all__ = ["Form", "call", "form"]


class Form(typing.NamedTuple):
    """How a call is traced: what of it does not depend on values. Of plain data, as Dynamo takes it for a constant."""

    overload: tuple[str, ...]  # torch.ops' namespace, name and overload; empty for the text. Both take names
    places: tuple[int, ...]  # of each parameter, where its value stands in the call; -1 for its default
    as_tensors: tuple[bool, ...]  # its number travels in a tensor, lest it become a constant
    kinds: tuple[str, ...]  # what its annotation makes of it, where that is another type than it has
    names: tuple[str, ...]
    fills: bool  # what is left out is given as None
    takes_seed: bool = False  # a seed goes along
    returns: str = ""  # what the results are put into: tuple, or the name of one of torch.return_types


def call(self, *args, out=None, **kwargs):
    values = [*args, *kwargs.values()]
    # Dynamo guards what it reads: the key, which no two ops share, is what keeps their compiled calls apart.
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
    """The form of a call whose values are of these kinds, the last of them given by name."""
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
    # An operator takes None for what is left out: one that is given where the default is another would be lost.
    hides_none = any(kinds[place] == "None" and op.signature.parameters[name].default not in (None, inspect.Parameter.empty)
                     for name, place in at.items())
    if op.traced == "kernel" and not has_out and not hides_none and "" not in given and _has_schema(names):
        if name := registered_for(op, given):
            return Form(name, places, plain, changed, names, fills=False, returns=_container(op))
        if op.is_functional and not (op.uses_random and "seed" in names):
            as_tensors = tuple(kind == "float" for kind in given)
            return Form(anonymous(op, tuple(given)), places, as_tensors, changed, names, fills=True, takes_seed=op.uses_random,
                        returns=_container(op))
    op.reference.for_tracing  # noqa: B018  made here, where Dynamo does not look
    return Form((), places, plain, changed, names, fills=False)


def _container(op) -> str:
    """What holds the results, where that is not what an operator of PyTorch's gives."""
    returns = op.returns
    return "tuple" if returns.count is None and not returns.is_list else returns.named


def _has_schema(names: tuple[str, ...]) -> bool:
    """Whether PyTorch takes such parameters: 64 of them, a gradient's among them, of ASCII."""
    return len(names) <= 48 and all(name.isascii() for name in names)


def _check(op, kinds: tuple[str, ...], named: dict[str, str]):
    """What C++ refuses of a call whatever its tensors are."""
    try:
        given = op.signature.bind(*kinds, **named).arguments
    except TypeError as error:
        raise fail(f"{op.name}{op.signature}: {error}") from None
    for name, annotation, _ in op._parameters:
        if annotation in _FITTING and given.get(name, "None") not in (*_FITTING[annotation], "None"):
            raise fail(f"{op.name}: `{name}` is annotated {annotation} and was given a {given[name]}")


_FITTING = {"float": ("float", "int", "bool"), "int": ("int", "bool"), "bool": ("bool", "int")}


def _kind(value) -> str:
    """Empty for what a schema of ours does not take."""
    if isinstance(value, torch.Tensor):
        return "Tensor"
    if value is None:
        return "None"
    if isinstance(value, (bool, torch.SymBool)):
        return "bool"
    if isinstance(value, (int, torch.SymInt)):
        return "int"
    return "float" if isinstance(value, (float, torch.SymFloat)) else ""
