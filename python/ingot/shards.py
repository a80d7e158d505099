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

__all__ = ["moved", "shard_of", "whole_of"]


def shard_of(tensor: DTensor, gradient: DTensorSpec) -> torch.Tensor:
    """This rank's shard. `gradient`: the spec of the DTensor that the gradients of all ranks' shards form."""
    return _ToShard.apply(tensor, gradient) if tensor.requires_grad else _arrived(tensor)


def whole_of(shard: torch.Tensor, spec: DTensorSpec) -> DTensor:
    """The DTensor that the ranks' shards form."""
    return _ToWhole.apply(shard, spec) if shard.requires_grad else DTensor(shard, spec, requires_grad=False)


def moved(tensor: DTensor, placements: tuple) -> DTensor:
    """The tensor with other placements."""
    return tensor if tensor.placements == placements else _Moved.apply(tensor, placements)


def _arrived(tensor: DTensor) -> torch.Tensor:
    """The local shard, after a pending collective has finished."""
    if isinstance(tensor._local_tensor, AsyncCollectiveTensor):
        tensor._local_tensor = tensor._local_tensor.trigger_wait()
    return tensor._local_tensor


def _of_gradient(placements: tuple) -> tuple:
    return tuple(Replicate() if placement.is_partial() else placement for placement in placements)


class _ToShard(torch.autograd.Function):
    @staticmethod
    def forward(ctx, tensor, gradient):
        ctx.gradient = gradient
        shard = _arrived(tensor)
        return shard.view_as(shard)  # a new tensor, because autograd sets its history

    @staticmethod
    def backward(ctx, gradient):
        return whole_of(gradient, ctx.gradient), None


class _ToWhole(torch.autograd.Function):
    @staticmethod
    def forward(ctx, shard, spec):
        ctx.spec = spec
        return DTensor(shard.view_as(shard), spec, requires_grad=True)

    @staticmethod
    def backward(ctx, gradient):
        return shard_of(moved(gradient, _of_gradient(ctx.spec.placements)), ctx.spec), None


class _Moved(torch.autograd.Function):
    @staticmethod
    def forward(ctx, tensor, placements):
        ctx.placements = tensor.placements, placements
        return tensor.redistribute(placements=placements)

    @staticmethod
    def backward(ctx, gradient):
        before, after = ctx.placements
        back = zip(_of_gradient(before), before, after, gradient.placements)
        return moved(gradient, tuple(is_now if was == became else of_it for of_it, was, became, is_now in back)), None
