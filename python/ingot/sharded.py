"""Runs a call with DTensors as Ingot's kernel on the local shards, if the op's results on shards are the shards of its results.

`OpState::shard` decides whether they are, from properties of the whole tensors, so all ranks make the same decision. A replicated
argument that is read along a sharded dim is sharded as well, which needs no communication. A call that would need
communication falls back to eager, where PyTorch's sharding rules apply. The gradient of an argument that stays replicated
next to shards is the sum of the ranks' gradients: Partial.
"""

from __future__ import annotations

import dataclasses
import typing

import torch
from torch.distributed.tensor import DTensor, Partial, Replicate, Shard
from torch.distributed.tensor._dtensor_spec import DTensorSpec, TensorMeta
from torch.utils._pytree import TreeSpec, tree_flatten, tree_unflatten

from . import _ingot
from .shards import dtensor_of, redistribute, shard_of

__all__ = ["Plans", "call"]

_MAX_PLANS = 4096  # equal to the number of bound calls that an op caches


def call(op, args: tuple, kwargs: dict):
    """The op's results; NotImplemented if the call must fall back to eager."""
    leaves, structure = _flatten(args, kwargs)
    plan = op._shard_plans.find(op, leaves, structure)
    return NotImplemented if plan is None else plan.run(op, leaves, structure)


class CallStructure(typing.NamedTuple):
    """The structure of a call's arguments.

    names: the names of the last arguments, which were passed by name.
    tree: their nesting; None if no argument is a container.
    """

    names: tuple[str, ...]
    tree: TreeSpec | None

    def arguments(self, leaves: list) -> tuple[list, dict]:
        values = leaves if self.tree is None else tree_unflatten(leaves, self.tree)
        count = len(values) - len(self.names)
        return values[:count], dict(zip(self.names, values[count:]))


def _flatten(args: tuple, kwargs: dict) -> tuple[list, CallStructure]:
    leaves, tree = [*args, *kwargs.values()], None
    if any(isinstance(value, (tuple, list, dict)) for value in leaves):
        leaves, tree = tree_flatten(leaves)
    return leaves, CallStructure(tuple(kwargs), tree)


@dataclasses.dataclass(frozen=True)
class Plan:
    """The placements with which a call runs on shards."""

    tensors: list[tuple[tuple, DTensorSpec]]  # for each DTensor: its placements, the spec of its gradient
    results: list[DTensorSpec]

    def run(self, op, leaves: list, structure: CallStructure):
        specs = iter(self.tensors)
        shards = [_shard(leaf, *next(specs)) if type(leaf) is DTensor else leaf for leaf in leaves]
        args, kwargs = structure.arguments(shards)
        results = op(*args, **kwargs)
        if isinstance(results, torch.Tensor):
            return dtensor_of(results, self.results[0])
        return type(results)(map(dtensor_of, results, self.results))


def _shard(tensor: DTensor, placements: tuple, gradient: DTensorSpec) -> torch.Tensor:
    return shard_of(redistribute(tensor, placements), gradient)


class Plans:
    """The plans of one op. The plan is None for calls that fall back to eager."""

    def __init__(self):
        self._plans = {}
        self._needs_numbers = False  # if the plan of any call depends on a number, the keys include numbers

    def find(self, op, leaves: list, structure: CallStructure) -> Plan | None:
        tensors = [leaf for leaf in leaves if isinstance(leaf, torch.Tensor)]
        if not all(type(tensor) is DTensor for tensor in tensors):
            return None
        device = tensors[0]._local_tensor.device.type
        autocast = torch.get_autocast_dtype(device) if torch.is_autocast_enabled(device) else None
        is_recorded = torch.is_grad_enabled() and any(tensor.requires_grad for tensor in tensors)
        state = structure, is_recorded, autocast, torch.get_default_dtype()
        key = (*state, *map(self._key_of, leaves))
        try:
            return self._plans[key]
        except KeyError:
            pass
        needs_numbers, plan = _make_plan(op, leaves, structure, tensors, is_recorded)
        if len(self._plans) >= _MAX_PLANS or needs_numbers > self._needs_numbers:
            self._plans.clear()
        self._needs_numbers |= needs_numbers
        self._plans[(*state, *map(self._key_of, leaves))] = plan
        return plan

    def _key_of(self, leaf):
        if type(leaf) is DTensor:
            return leaf._spec
        return (type(leaf), leaf) if self._needs_numbers else type(leaf)


def _make_plan(op, leaves: list, structure: CallStructure, tensors: list, is_recorded: bool) -> tuple[bool, Plan | None]:
    """Returns (whether the plan depends on the values of numbers, the plan)."""
    mesh = tensors[0].device_mesh
    if any(tensor.device_mesh != mesh for tensor in tensors) or mesh.get_coordinate() is None:
        return False, None
    if any(type(placement) not in (Shard, Replicate) for tensor in tensors for placement in tensor.placements):
        return False, None
    along_mesh = []  # for each dim of the mesh: the tensors' sharded dims, whether a shard has size 1, whether one is empty
    for m in range(mesh.ndim):
        shard_dims = [_shard_dim(tensor.placements[m]) for tensor in tensors]
        sizes = set().union(*(_shard_sizes(t.shape[d], mesh.size(m)) for t, d in zip(tensors, shard_dims) if d is not None))
        along_mesh.append((shard_dims, 1 in sizes, 0 in sizes))
    wholes = [torch.empty_strided(t.shape, t.stride(), dtype=t.dtype, device="meta") for t in tensors]
    remaining = iter(wholes)
    args, kwargs = structure.arguments([next(remaining) if type(leaf) is DTensor else leaf for leaf in leaves])
    device = tensors[0]._local_tensor.device
    try:
        needs_numbers, sharding = op._shard(device, wholes, along_mesh, is_recorded, *args, **kwargs)
    except _ingot.Error:  # eager will report the error
        return False, None
    if sharding is None:
        return needs_numbers, None
    shard_dims, results = sharding
    dims_of_tensors = list(zip(*shard_dims))
    if any(map(_is_sharded_twice, [*dims_of_tensors, *(dims for *_, dims in results)])):
        return needs_numbers, None
    is_sharded = [any(dim is not None for dim in along) for along in shard_dims]
    return needs_numbers, Plan(
        [
            (_placements(dims), DTensorSpec(mesh, _placements(dims, is_sharded), tensor._spec.tensor_meta))
            for dims, tensor in zip(dims_of_tensors, tensors)
        ],
        [
            DTensorSpec(mesh, _placements(dims), TensorMeta(torch.Size(shape), tuple(stride), dtype))
            for dtype, shape, stride, dims in results
        ],
    )


def _shard_dim(placement) -> int | None:
    return placement.dim if isinstance(placement, Shard) else None


def _shard_sizes(size: int, shards: int) -> set[int]:
    """The sizes of shards as torch.chunk makes them: all equal, then one that may be smaller, then empty ones."""
    each = max(-(-size // shards), 1)
    return {min(each, max(size - k * each, 0)) for k in range(shards)}


def _is_sharded_twice(dims) -> bool:
    """Whether two dims of the mesh shard the same dim of the tensor."""
    dims = [dim for dim in dims if dim is not None]
    return len(set(dims)) < len(dims)


def _placements(dims, partial: list[bool] | None = None) -> tuple:
    """The placements of a tensor.

    dims: for each dim of the mesh, the tensor's dim that it shards, or None.
    partial: for each dim of the mesh, whether a tensor that it does not shard is Partial instead of Replicate.
    """
    return tuple(
        Shard(dim) if dim is not None else Partial() if partial and partial[m] else Replicate()
        for m, dim in enumerate(dims)
    )
