"""Where a call goes that is not plain.

A plain call never comes here: C++ takes it, with autograd and autocast. What it refuses as not plain is asked, from the
cheapest test up, who is to have it: a torch-function mode or subclass, by PyTorch's protocol; the op's text in eager,
under a transform and for what is no dense tensor; the registered op, of which what traces calls sees one node; the kernel
again, of the shards that DTensors are made of.
"""

from __future__ import annotations

import contextlib
import sys

import torch
from torch.autograd import forward_ad
from torch.autograd.profiler import record_function
from torch.utils._device import DeviceContext
from torch.utils._pytree import tree_leaves, tree_map_only

from . import _ingot

__all__ = ["call"]

_SYMBOLS = (torch.SymInt, torch.SymFloat, torch.SymBool)
_PLAIN = (torch.Tensor, torch.nn.Parameter)


def call(op, args: tuple, kwargs: dict):
    """The call, by the way that PyTorch's own functions would go."""
    values = tree_leaves((args, kwargs))
    tensors = [value for value in values if isinstance(value, torch.Tensor)]
    if _is_overridden(tensors):
        return torch.overrides.handle_torch_function(op, tensors, *args, **kwargs)
    if _is_transformed(tensors):
        return run_eager(op, args, kwargs)
    if _is_traced(tensors) or any(isinstance(value, _SYMBOLS) for value in values):
        return op._traced_call(*args, **kwargs)
    if _is_sharded(tensors) and "out" not in kwargs and op._shard_plans is not None:
        from . import sharded  # which imports torch.distributed

        results = sharded.call(op, args, kwargs)
        if results is not NotImplemented:
            return results
    out = kwargs.get("out")
    if any(tensor.is_neg() for tensor in tree_leaves(out) if isinstance(tensor, torch.Tensor)):
        return _copied_into(out, op, args, kwargs)
    # A copy of a negative view would take what the op writes, so it must be known that it writes nothing.
    if op.writes == frozenset() and any(tensor.is_neg() for tensor in tensors):
        return _with(torch.Tensor.resolve_neg, torch.Tensor.is_neg, op, args, kwargs)
    # A subclass whose functions have had their turn is the tensor that it was made of.
    if any(map(_is_thin, tensors)):
        results = _with(lambda tensor: tensor.as_subclass(torch.Tensor), _is_thin, op, args, kwargs)
        return results if out is None else out
    return run_eager(op, args, kwargs)


def run_eager(op, args: tuple, kwargs: dict):
    """The op's text in eager, which `ingot.counters().eager_fallbacks` counts."""
    out = kwargs.pop("out", None)
    _ingot.count_eager_fallback()
    named = record_function(op.name) if torch.autograd._profiler_enabled() else contextlib.nullcontext()
    with named:
        results = op.reference.with_torch_random(*args, **kwargs)
    return results if out is None else copied_to(out, results)


def copied_to(out, results):
    """Writes results into the tensors of `out=`, which are of their dtypes and shapes."""
    outs, results = tree_leaves(out), tree_leaves(results)
    if len(outs) != len(results):
        raise RuntimeError(f"out gives {len(outs)} tensors for {len(results)} results: pass one for each")
    for to, result in zip(outs, results):
        if result.requires_grad:
            raise RuntimeError("functions with out=... arguments don't support automatic differentiation, "
                               "but one of the arguments requires grad.")
        if (to.dtype, to.shape, to.device) != (result.dtype, result.shape, result.device):
            raise RuntimeError(f"out is {_described(to)}, the result {_described(result)}")
    for to, result in zip(outs, results):
        to.copy_(result)
    return out


def _described(tensor) -> str:
    return f"{tensor.dtype}{list(tensor.shape)} on {tensor.device}"


def _copied_into(out, op, args: tuple, kwargs: dict):
    """The call, whose results are copied into tensors of `out=` that no kernel can write."""
    return copied_to(out, op(*args, **{name: value for name, value in kwargs.items() if name != "out"}))


def _is_overridden(tensors) -> bool:
    """Whether PyTorch's functions would ask a mode or a subclass first. A default device is a mode, and no stranger."""
    modes = torch.overrides._get_current_function_mode_stack()
    if any(not isinstance(mode, DeviceContext) for mode in modes):
        return True
    return torch._C._is_torch_function_enabled() and any(
        type(tensor) not in _PLAIN and type(tensor).__torch_function__ is not torch._C._disabled_torch_function_impl
        for tensor in tensors
    )


def _is_transformed(tensors) -> bool:
    """Whether a transform of torch.func, forward mode or torch.jit.trace looks at every function."""
    if torch._C._functorch.peek_interpreter_stack() is not None or torch._C._get_tracing_state() is not None:
        return True
    if forward_ad._current_level < 0:
        return False
    return any(forward_ad.unpack_dual(tensor).tangent is not None for tensor in tensors)


def _is_traced(tensors) -> bool:
    """Whether fake, functional or proxy tensors, or a mode that sees PyTorch's dispatcher, are about."""
    from torch._subclasses.fake_tensor import FakeTensor
    from torch._subclasses.functional_tensor import FunctionalTensor

    if torch._C._len_torch_dispatch_stack() > 0:
        return True
    return any(isinstance(tensor, (FakeTensor, FunctionalTensor)) for tensor in tensors)


def _is_sharded(tensors) -> bool:
    """Whether any is a DTensor, whose module takes long to import: there is none where nobody has."""
    module = sys.modules.get("torch.distributed.tensor")
    return module is not None and any(isinstance(tensor, module.DTensor) for tensor in tensors)


def _is_thin(tensor) -> bool:
    return type(tensor) not in _PLAIN and not torch._C._dispatch_keys(tensor).has(torch._C.DispatchKey.Python)


def _with(change, test, op, args: tuple, kwargs: dict):
    args, kwargs = tree_map_only(torch.Tensor, lambda tensor: change(tensor) if test(tensor) else tensor, (args, kwargs))
    return op(*args, **kwargs)
