"""Converts DTensors to their shards and back, with derivatives of any order.

PyTorch's own `to_local`, `from_local` and `redistribute` are differentiable only once: the results of their backward have no
history. Here the backward of each function calls the functions of this module. A gradient has the placements of its
tensor, except that the gradient of a Partial tensor is Replicate: it is the same for each rank's summand.
"""

from __future__ import annotations

import torch
from torch.distributed._functional_collectives import AsyncCollectiveTensor
from torch.distributed.tensor import DTensor, Replicate
from torch.distributed.tensor._dtensor_spec import DTensorSpec

__all__ = ["dtensor_of", "redistribute", "shard_of"]


def shard_of(tensor: DTensor, gradient: DTensorSpec) -> torch.Tensor:
    """This rank's shard. `gradient`: the spec of the DTensor that the gradients of all ranks' shards form."""
    return _ToShard.apply(tensor, gradient) if tensor.requires_grad else _wait_for_shard(tensor)


def dtensor_of(shard: torch.Tensor, spec: DTensorSpec) -> DTensor:
    """The DTensor that the ranks' shards form."""
    return _ToDTensor.apply(shard, spec) if shard.requires_grad else DTensor(shard, spec, requires_grad=False)


def redistribute(tensor: DTensor, placements: tuple) -> DTensor:
    """The tensor with other placements."""
    return tensor if tensor.placements == placements else _Redistribute.apply(tensor, placements)


def _wait_for_shard(tensor: DTensor) -> torch.Tensor:
    """The local shard, after a pending collective has finished."""
    if isinstance(tensor._local_tensor, AsyncCollectiveTensor):
        tensor._local_tensor = tensor._local_tensor.trigger_wait()
    return tensor._local_tensor


def _gradient_placements(placements: tuple) -> tuple:
    return tuple(Replicate() if placement.is_partial() else placement for placement in placements)


class _ToShard(torch.autograd.Function):
    @staticmethod
    def forward(ctx, tensor, gradient):
        ctx.gradient = gradient
        shard = _wait_for_shard(tensor)
        return shard.view_as(shard)  # a new tensor, because autograd sets its history

    @staticmethod
    def backward(ctx, gradient):
        return dtensor_of(gradient, ctx.gradient), None


class _ToDTensor(torch.autograd.Function):
    @staticmethod
    def forward(ctx, shard, spec):
        ctx.spec = spec
        return DTensor(shard.view_as(shard), spec, requires_grad=True)

    @staticmethod
    def backward(ctx, gradient):
        return shard_of(redistribute(gradient, _gradient_placements(ctx.spec.placements)), ctx.spec), None


class _Redistribute(torch.autograd.Function):
    @staticmethod
    def forward(ctx, tensor, placements):
        ctx.placements = tensor.placements, placements
        return tensor.redistribute(placements=placements)

    @staticmethod
    def backward(ctx, gradient):
        before, after = ctx.placements
        # Along a dim of the mesh whose placement did not change, the gradient stays as it is.
        dims = zip(before, after, _gradient_placements(before), gradient.placements)
        return redistribute(gradient, tuple(current if old == new else back for old, new, back, current in dims)), None
