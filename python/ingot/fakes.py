"""Fake kernels of registered ops: results with the dtypes, shapes and strides of a call, without values.

Ingot's lowering computes the strides of the results; PyTorch's own fake kernels get them wrong for some functions. If a size
is symbolic or a number is unknown, the op's function runs on fake tensors to find the sizes, and lowering gives only the
order of the dims in memory.
"""

from __future__ import annotations

import torch
from torch.utils._python_dispatch import _disable_current_modes
from torch.utils._pytree import tree_leaves, tree_map

from . import _ingot
from .capture import author_error
from .reference import Unknown

__all__ = ["fake", "fake_backward"]


def fake(op, numbers: list[str], schema, *args, **kwargs):
    """The fake results of a call of the registered op, in the form that its schema declares.

    numbers: the parameters whose values are unknown, because the call passes them as tensors.
    Raises `ingot.Error` if the op returns another number of results than the schema declares.
    """
    arguments = {argument.name: value for argument, value in zip(schema.arguments, args)} | kwargs
    parameters = [name for name, _, _ in op._parameters]
    if "seed" not in parameters:
        arguments.pop("seed", None)
    outs = [arguments.pop(a.name) for a in schema.arguments if a.name in arguments and a.name not in parameters]
    # PyTorch passes None for an argument that was left out. The default applies then.
    with_default = {name for name, _, has_default in op._parameters if has_default}
    arguments = {name: value for name, value in arguments.items() if value is not None or name not in with_default}
    results = _results(op, numbers, arguments)
    if not schema.returns:
        return None
    if outs:
        return outs[0] if len(outs) == 1 else tuple(outs)
    if schema.returns[0].type.kind() == "ListType":
        return results
    if len(results) != len(schema.returns):
        raise author_error(f"{op.name} returns {len(results)} results, but its schema declares {len(schema.returns)}",
                           f"register it with a schema of {len(results)} results")
    return results[0] if len(schema.returns) == 1 else tuple(results)


def fake_backward(*args):
    """The fake gradients, with the strides of their arguments.

    args: the arguments of the call, the incoming gradients, and a list that says for which arguments a gradient is requested.
    """
    return [torch.empty_like(leaf) for leaf, is_needed in zip(tree_leaves(args), args[-1]) if is_needed]


def _results(op, numbers: list[str], arguments: dict) -> list[torch.Tensor]:
    """The fake results: from lowering alone if all sizes and numbers are known, else from the op's function on fake tensors."""
    device = _device_of(arguments)
    layouts = _lowered_layouts(op, device, {name: 0.5 if name in numbers else value for name, value in arguments.items()})
    is_known = not any(name in numbers for name in arguments) and not any(map(_symbols, tree_leaves(arguments)))
    if layouts is not None and is_known:
        return [torch.empty_strided(sizes, strides, dtype=dtype, device=device) for dtype, sizes, strides in layouts]
    results = op.reference.run_on_fakes({name: Unknown("nan") if name in numbers else value for name, value in arguments.items()})
    # Ingot returns new tensors even if the function returns views: their layout is that of a clone.
    results = [torch.empty_like(torch.as_tensor(result)) for result in tree_leaves(results) if result is not None]
    if layouts is None or [result.ndim for result in results] != [len(sizes) for _, sizes, _ in layouts]:
        return results
    return [torch.empty_strided(result.shape, _strides(result.shape, sizes, strides), dtype=result.dtype, device=result.device)
            for result, (_, sizes, strides) in zip(results, layouts)]


def _device_of(arguments: dict) -> torch.device | None:
    """The device that the op runs on: the first that is not the CPU, because 0-dim CPU tensors may accompany CUDA tensors."""
    devices = [value.device for value in tree_leaves(arguments) if isinstance(value, torch.Tensor)]
    return next((device for device in devices if device.type != "cpu"), devices[0] if devices else None)


def _symbols(value) -> list:
    """The symbolic numbers in an argument: among the sizes and strides of a tensor, or the argument itself."""
    parts = (*value.shape, *value.stride()) if isinstance(value, torch.Tensor) else (value,)
    return [part for part in parts if isinstance(part, (torch.SymInt, torch.SymFloat, torch.SymBool))]


def _hinted(value):
    """An argument as a meta tensor or a number. Each symbol is replaced by its hint, the value with which it was traced."""
    def hint(part):
        return part.node.hint if _symbols(part) else part

    if not isinstance(value, torch.Tensor):
        return hint(value)
    sizes, strides = tuple(map(hint, value.shape)), tuple(map(hint, value.stride()))
    return torch.empty_strided(sizes, strides, dtype=value.dtype, device="meta")


def _lowered_layouts(op, device: torch.device | None, arguments: dict) -> list[tuple] | None:
    """The dtype, sizes and strides of each result, from lowering. None if no kernel can run on these arguments, and for an
    op that writes in place."""
    if device is None or device.type not in ("cpu", "cuda"):
        return None
    if any(symbol.node.hint is None for value in tree_leaves(arguments) for symbol in _symbols(value)):
        return None
    try:
        with _disable_current_modes():
            # A mesh without dims shards nothing, so these are the op's own results: (dtype, sizes, strides, …) each.
            _, call = op._shard(device, [], [], False, **tree_map(_hinted, arguments))
    except _ingot.Error:  # running the function reports what is wrong
        return None
    return call and [(dtype, sizes, strides) for dtype, sizes, strides, _ in call[1]]


def _strides(sizes, lowered_sizes: list[int], lowered_strides: list[int]) -> tuple:
    """The strides of a dense tensor of these sizes. Its dims have the order in memory that `lowered_strides` show."""
    if not any(isinstance(size, torch.SymInt) for size in sizes) and list(sizes) == lowered_sizes:
        return tuple(lowered_strides)
    strides, step = [1] * len(lowered_strides), 1
    for dim in sorted(range(len(lowered_strides)), key=lambda dim: (lowered_strides[dim], -dim)):
        strides[dim] = step
        step = step * sizes[dim]
    return tuple(strides)
