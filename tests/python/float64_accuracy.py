"""Checks sums that were added in another order than eager's: they must be about as close to the float64 result as
eager's are."""

from __future__ import annotations

import math
import typing

import torch


def as_list(results) -> list[torch.Tensor]:
    return list(results) if isinstance(results, (tuple, list)) else [results]


def error_of(result: torch.Tensor, exact: torch.Tensor) -> torch.Tensor:
    """The error, computed in float64; 0 if both are NaN or the same infinity."""
    result, exact = result.double(), exact.double()
    same = (result == exact) | (result.isnan() & exact.isnan())
    return torch.where(same, 0.0, (result - exact).abs().nan_to_num(nan=math.inf, posinf=math.inf))


def largest(tensor: torch.Tensor) -> float:
    finite = tensor.double().abs().nan_to_num(nan=0.0, posinf=0.0)
    return finite.max().item() if finite.numel() else 0.0


def mismatch(eager: typing.Callable, tensors, results, ulps: float = 8, strides: bool = True) -> str:
    """The first difference in the results of an op, or an empty string. Results that are not floats must equal eager's.
    An error against float64 may be at most twice eager's largest error, plus `ulps` times eps times this sum: the element's
    magnitude, and the largest result of the op in float64 on the absolute values of its inputs."""

    def in_eager(change=lambda tensor: tensor) -> list[torch.Tensor]:
        return as_list(eager(*(change(t.clone()) if t.is_floating_point() else t for t in tensors)))

    results, references = as_list(results), in_eager()
    default = torch.get_default_dtype()
    torch.set_default_dtype(torch.float64)  # for float results of integer inputs
    try:
        exact_results, scales = in_eager(torch.Tensor.double), in_eager(lambda tensor: tensor.double().abs())
    except RuntimeError:  # the source names a dtype narrower than float64, which eager rejects
        exact_results = scales = references
    finally:
        torch.set_default_dtype(default)
    if len(results) != len(references):
        return f"{len(results)} results, eager gives {len(references)}"
    for actual, expected, exact, scale in zip(results, references, exact_results, scales):
        if actual.dtype != expected.dtype or actual.shape != expected.shape:
            return f"{actual.dtype}{list(actual.shape)}, eager gives {expected.dtype}{list(expected.shape)}"
        if strides and actual.numel() and actual.stride() != expected.stride():
            return f"strides {actual.stride()}, eager's are {expected.stride()}"
        if not actual.dtype.is_floating_point:
            if not torch.equal(actual, expected):
                return f"{actual.flatten()[:8].tolist()}, eager gives {expected.flatten()[:8].tolist()}"
            continue
        # If the exact result is outside of the dtype's range, eager's result is the correct one.
        error = torch.where(error_of(actual, expected) == 0, 0.0, error_of(actual, exact))
        eps = torch.finfo(actual.dtype).eps
        magnitude = exact.double().abs().nan_to_num(0, 0, 0) + largest(scale)
        allowed = 2 * largest(error_of(expected, exact)) + ulps * eps * magnitude
        if (error > allowed).any():
            index = tuple((error > allowed).nonzero()[0].tolist())
            return f"at {list(index)} {actual[index].item()!r}, eager {expected[index].item()!r}, in float64 {exact[index].item()!r}"
    return ""
