"""The fallback order: how a call runs that the fast path does not support.

The fast path is in C++ and includes autograd and autocast; its calls never reach this module. `call` tries in this order:

- torch-function modes and subclasses: PyTorch's `__torch_function__` protocol;
- transforms of torch.func, forward mode and torch.jit.trace: the op's source in eager PyTorch;
- tracing: the registered op, which appears as one node in the trace;
- DTensors: the kernel on the local shards;
- negative views and plain tensors inside a subclass: the kernel, on a resolved copy or on the plain tensor;
- anything else, such as tensors that are not dense: the op's source in eager PyTorch.
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
    """Runs a call as PyTorch would run a call of its own functions."""
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
        return _call_and_copy_into(out, op, args, kwargs)
    if op.writes == frozenset() and any(tensor.is_neg() for tensor in tensors):
        return _call_on_copies_of_negatives(op, args, kwargs)
    # The subclass's __torch_function__ has been called already, so the kernel may run on the plain tensor.
    if any(map(_is_plain_subclass, tensors)):
        plain = lambda tensor: tensor.as_subclass(torch.Tensor) if _is_plain_subclass(tensor) else tensor
        args, kwargs = tree_map_only(torch.Tensor, plain, (args, kwargs))
        results = op(*args, **kwargs)
        return results if out is None else out
    return run_eager(op, args, kwargs)


def run_eager(op, args: tuple, kwargs: dict):
    """Runs the op's source in eager PyTorch, and counts the call as `ingot.counters().eager_fallbacks`."""
    out = kwargs.pop("out", None)
    _ingot.count_eager_fallback()
    profiler_range = record_function(op.name) if torch.autograd._profiler_enabled() else contextlib.nullcontext()
    with profiler_range:
        results = op.reference.with_torch_random(*args, **kwargs)
    return results if out is None else copy_to(out, results)


def copy_to(out, results):
    """Copies results into the tensors of `out=`. Raises RuntimeError if dtypes, shapes or devices differ."""
    outs, results = tree_leaves(out), tree_leaves(results)
    if len(outs) != len(results):
        raise RuntimeError(f"out gives {len(outs)} tensors for {len(results)} results: pass one for each")
    for target, result in zip(outs, results):
        if result.requires_grad:
            raise RuntimeError("functions with out=... arguments don't support automatic differentiation, "
                               "but one of the arguments requires grad.")
        if (target.dtype, target.shape, target.device) != (result.dtype, result.shape, result.device):
            raise RuntimeError(f"out is {_described(target)}, the result {_described(result)}")
    for target, result in zip(outs, results):
        target.copy_(result)
    return out


def _described(tensor) -> str:
    return f"{tensor.dtype}{list(tensor.shape)} on {tensor.device}"


def _call_and_copy_into(out, op, args: tuple, kwargs: dict):
    """Runs the call without `out=` and copies the results into tensors that no kernel can write."""
    return copy_to(out, op(*args, **{name: value for name, value in kwargs.items() if name != "out"}))


def _is_overridden(tensors) -> bool:
    """Whether a torch-function mode or subclass overrides PyTorch's functions. The mode of a default device does not count:
    it changes factories only."""
    modes = torch.overrides._get_current_function_mode_stack()
    if any(not isinstance(mode, DeviceContext) for mode in modes):
        return True
    return torch._C._is_torch_function_enabled() and any(
        type(tensor) not in _PLAIN and type(tensor).__torch_function__ is not torch._C._disabled_torch_function_impl
        for tensor in tensors
    )


def _is_transformed(tensors) -> bool:
    """Whether a transform of torch.func, forward-mode autograd or torch.jit.trace is active."""
    if torch._C._functorch.peek_interpreter_stack() is not None or torch._C._get_tracing_state() is not None:
        return True
    if forward_ad._current_level < 0:
        return False
    return any(forward_ad.unpack_dual(tensor).tangent is not None for tensor in tensors)


def _is_traced(tensors) -> bool:
    """Whether a dispatch mode is active, or a tensor is fake or functional: the call is being traced."""
    from torch._subclasses.fake_tensor import FakeTensor
    from torch._subclasses.functional_tensor import FunctionalTensor

    if torch._C._len_torch_dispatch_stack() > 0:
        return True
    return any(isinstance(tensor, (FakeTensor, FunctionalTensor)) for tensor in tensors)


def _is_sharded(tensors) -> bool:
    """Whether any tensor is a DTensor. Does not import its module, which takes long: without the module there is none."""
    module = sys.modules.get("torch.distributed.tensor")
    return module is not None and any(isinstance(tensor, module.DTensor) for tensor in tensors)


def _is_plain_subclass(tensor) -> bool:
    """Whether a tensor is of a subclass that does not define `__torch_dispatch__`, so that a kernel can read it as a plain
    tensor."""
    return type(tensor) not in _PLAIN and not torch._C._dispatch_keys(tensor).has(torch._C.DispatchKey.Python)


def _call_on_copies_of_negatives(op, args: tuple, kwargs: dict):
    """Calls the op with a copy in place of each negative view. By its source the op writes nothing; if it does write a copy,
    the view gets the copy's values."""
    copies = {}  # by the view's id: the view, its copy, the copy's version

    def resolved(tensor):
        if not tensor.is_neg():
            return tensor
        if id(tensor) not in copies:
            copy = _copy_of_negative(tensor)
            copies[id(tensor)] = tensor, copy, copy._version
        return copies[id(tensor)][1]

    args, kwargs = tree_map_only(torch.Tensor, resolved, (args, kwargs))
    results = op(*args, **kwargs)
    for view, copy, version in copies.values():
        if copy._version > version:
            view.copy_(copy)
    return results


def _copy_of_negative(view):
    """A copy that counts its versions, which tensors made in inference mode do not."""
    if not torch.is_inference_mode_enabled():
        return view.resolve_neg()
    with torch.inference_mode(False):
        return view.detach().resolve_neg()
