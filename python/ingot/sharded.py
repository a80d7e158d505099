"""A call with DTensors: our kernel on the shards, where the op is the same op of each of them.

`OpState::split` says whether it is, from the whole tensors' facts, so all ranks decide alike. A replicated argument that is
read along a cut is cut as well, which moves nothing; what would have to move is left to the text, whose functions have
PyTorch's rules. What stays whole beside shards has a gradient that is the sum of the ranks': Partial.
"""

from __future__ import annotations

import dataclasses
import typing

import torch
from torch.distributed.tensor import DTensor, Partial, Replicate, Shard
from torch.distributed.tensor._dtensor_spec import DTensorSpec, TensorMeta
from torch.utils._pytree import TreeSpec, tree_flatten, tree_unflatten

from . import _ingot
from .shards import moved, shard_of, whole_of

__all__ = ["Plans", "call"]

_MAX_PLANS = 4096  # as many as an op remembers calls


def call(op, args: tuple, kwargs: dict):
    """The op's results; NotImplemented where the text is to have the call."""
    leaves, form = _flat(args, kwargs)
    plan = op._shard_plans.find(op, leaves, form)
    return NotImplemented if plan is None else plan.run(op, leaves, form)


class Form(typing.NamedTuple):
    """How a call's arguments are made up: the last ones have names; without a tree they are leaves themselves."""

    names: tuple[str, ...]
    tree: TreeSpec | None

    def arguments(self, leaves: list) -> tuple[list, dict]:
        values = leaves if self.tree is None else tree_unflatten(leaves, self.tree)
        count = len(values) - len(self.names)
        return values[:count], dict(zip(self.names, values[count:]))


def _flat(args: tuple, kwargs: dict) -> tuple[list, Form]:
    leaves, tree = [*args, *kwargs.values()], None
    if any(isinstance(value, (tuple, list, dict)) for value in leaves):
        leaves, tree = tree_flatten(leaves)
    return leaves, Form(tuple(kwargs), tree)


@dataclasses.dataclass(frozen=True)
class Plan:
    """How a call is computed of shards."""

    tensors: list[tuple[tuple, DTensorSpec]]  # of each DTensor its placements, and what its gradient is
    results: list[DTensorSpec]

    def run(self, op, leaves: list, form: Form):
        places = iter(self.tensors)
        shards = [_shard(leaf, *next(places)) if type(leaf) is DTensor else leaf for leaf in leaves]
        args, kwargs = form.arguments(shards)
        results = op(*args, **kwargs)
        if isinstance(results, torch.Tensor):
            return whole_of(results, self.results[0])
        return type(results)(map(whole_of, results, self.results))


def _shard(tensor: DTensor, placements: tuple, gradient: DTensorSpec) -> torch.Tensor:
    return shard_of(moved(tensor, placements), gradient)


class Plans:
    """The plans of one op, None for the text."""

    def __init__(self):
        self._plans = {}
        self._asks_numbers = False  # of some call: then numbers belong to what a plan is known by

    def find(self, op, leaves: list, form: Form) -> Plan | None:
        tensors = [leaf for leaf in leaves if isinstance(leaf, torch.Tensor)]
        if not all(type(tensor) is DTensor for tensor in tensors):
            return None
        device = tensors[0]._local_tensor.device.type
        autocast = torch.get_autocast_dtype(device) if torch.is_autocast_enabled(device) else None
        recorded = torch.is_grad_enabled() and any(tensor.requires_grad for tensor in tensors)
        state = form, recorded, autocast, torch.get_default_dtype()
        key = (*state, *map(self._key_of, leaves))
        try:
            return self._plans[key]
        except KeyError:
            pass
        asks_numbers, plan = _make_plan(op, leaves, form, tensors, recorded)
        if len(self._plans) >= _MAX_PLANS or asks_numbers > self._asks_numbers:
            self._plans.clear()
        self._asks_numbers |= asks_numbers
        self._plans[(*state, *map(self._key_of, leaves))] = plan
        return plan

    def _key_of(self, leaf):
        if type(leaf) is DTensor:
            return leaf._spec
        return (type(leaf), leaf) if self._asks_numbers else type(leaf)


def _make_plan(op, leaves: list, form: Form, tensors: list, recorded: bool) -> tuple[bool, Plan | None]:
    """Whether another number may have another plan, and the plan."""
    mesh = tensors[0].device_mesh
    if any(tensor.device_mesh != mesh for tensor in tensors) or mesh.get_coordinate() is None:
        return False, None
    if any(type(placement) not in (Shard, Replicate) for tensor in tensors for placement in tensor.placements):
        return False, None
    along_mesh = []
    for m in range(mesh.ndim):
        cuts = [_shard_dim(tensor.placements[m]) for tensor in tensors]
        sizes = set().union(*(_shard_sizes(t.shape[d], mesh.size(m)) for t, d in zip(tensors, cuts) if d is not None))
        along_mesh.append((cuts, 1 in sizes, 0 in sizes))
    wholes = [torch.empty_strided(t.shape, t.stride(), dtype=t.dtype, device="meta") for t in tensors]
    rest = iter(wholes)
    args, kwargs = form.arguments([next(rest) if type(leaf) is DTensor else leaf for leaf in leaves])
    device = tensors[0]._local_tensor.device
    try:
        asks_numbers, sharding = op._shard(device, wholes, along_mesh, recorded, *args, **kwargs)
    except _ingot.Error:  # eager has a word for it as well
        return False, None
    if sharding is None:
        return asks_numbers, None
    cuts, results = sharding
    each = list(zip(*cuts))
    if any(map(_is_sharded_twice, [*each, *(dims for *_, dims in results)])):
        return asks_numbers, None
    is_sharded = [any(dim is not None for dim in along) for along in cuts]
    return asks_numbers, Plan(
        [
            (_placements(dims), DTensorSpec(mesh, _placements(dims, is_sharded), tensor._spec.tensor_meta))
            for dims, tensor in zip(each, tensors)
        ],
        [
            DTensorSpec(mesh, _placements(dims), TensorMeta(torch.Size(shape), tuple(stride), dtype))
            for dtype, shape, stride, dims in results
        ],
    )


def _shard_dim(placement) -> int | None:
    return placement.dim if isinstance(placement, Shard) else None


def _shard_sizes(size: int, shards: int) -> set[int]:
    """As torch.chunk makes them: of one size but for the last, and those behind it that are left nothing."""
    each = max(-(-size // shards), 1)
    return {min(each, max(size - k * each, 0)) for k in range(shards)}


def _is_sharded_twice(dims) -> bool:
    """Along one dim of the tensor, by two of the mesh."""
    dims = [dim for dim in dims if dim is not None]
    return len(set(dims)) < len(dims)


def _placements(dims, partial: list[bool] | None = None) -> tuple:
    """Of a tensor that is cut so along each dim of the mesh; where it is whole, Partial along the dims that say so."""
    return tuple(
        Shard(dim) if dim is not None else Partial() if partial and partial[m] else Replicate()
        for m, dim in enumerate(dims)
    )
