"""Compares an op's gradients with autograd's gradients of the same source."""

import contextlib
import itertools
import warnings

import torch
from reductions_table import NAMES

import ingot


# Known differences from eager, and their reasons.
KNOWN = {
    "torch.fill(x, 3)": "Ingot's result does not require grad, because its gradient is always 0",
    "F.poisson_nll_loss(x, y, log_input=False, full=True, reduction='none')":
        "in eager, the operand of a `where` that is not selected makes the gradient NaN",
    "(m[:, :7] * math.nan).addmm(d[:8], f.t(), beta=0)": "with beta=0, eager's gradient is 0 times NaN; Ingot omits this product",
    "F.interpolate(cube, size=41 * 4)": "eager's backward pass reads other neighbours than its forward pass",
}  # fmt: skip


def differentiable(results) -> list[torch.Tensor]:
    """The results that require grad."""
    results = results if isinstance(results, (tuple, list)) else [results]
    return [r for r in results if isinstance(r, torch.Tensor) and r.requires_grad]


def leaves_of(tensors: dict) -> dict:
    return {name: t.detach().clone().requires_grad_() if t.is_floating_point() else t for name, t in tensors.items()}


def evaluate(text: str, tensors: dict):
    return eval(text, {**NAMES, **tensors})


def eager_gradients(eager, leaves: dict):
    """Random cotangents of the results, and eager's gradients with respect to the leaves; None if eager has no derivative."""
    inputs = [t for t in leaves.values() if t.requires_grad]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            results = differentiable(eager(leaves))
            if not results:
                return None
            generator = torch.Generator().manual_seed(7)
            cotangents = [torch.randn(r.shape, dtype=torch.float64, generator=generator).to(r) for r in results]
            return cotangents, torch.autograd.grad(results, inputs, cotangents, allow_unused=True)
        except (RuntimeError, TypeError, IndexError):
            return None  # PyTorch has no derivative of this op


def leaf_mismatch(name: str, leaf: torch.Tensor, actual, expected, tolerance: dict) -> str:
    """How the gradient of a leaf differs from eager's; empty if it does not. An `actual` or `expected` of None is a gradient of 0."""
    expected = torch.zeros_like(leaf) if expected is None else expected
    actual = torch.zeros_like(leaf) if actual is None else actual
    if actual.shape != expected.shape or actual.dtype != expected.dtype:
        return f"{name}: got {actual.dtype} {tuple(actual.shape)}, expected {expected.dtype} {tuple(expected.shape)}"
    if actual.is_sparse != expected.is_sparse:
        return f"{name}: got {actual.layout}, expected {expected.layout}"
    actual, expected = actual.to_dense(), expected.to_dense()
    wrong = ~torch.isclose(actual, expected, **tolerance, equal_nan=True)
    if not wrong.any():
        return ""
    return f"{name}: got {actual[wrong][:3].tolist()}, expected {expected[wrong][:3].tolist()} at {leaf[wrong][:3].tolist()}"


def mismatch(op, eager, tensors: dict, tolerance=None) -> str:
    """How an op's gradients differ from eager's; empty if they do not, or if eager has no derivative."""
    tolerance = tolerance or dict(rtol=1e-7, atol=1e-9)
    leaves = leaves_of(tensors)
    in_eager = eager_gradients(eager, leaves)
    if in_eager is None:
        return ""
    cotangents, expected = in_eager
    try:
        results = differentiable(op(*leaves.values()))
        if not results and not any(t is not None and t.any() for t in expected):
            return ""  # a result whose gradients are all 0 need not require grad
        if len(results) != len(cotangents):
            return f"{len(results)} of {len(cotangents)} results require grad"
        inputs = {name: t for name, t in leaves.items() if t.requires_grad}
        actual = torch.autograd.grad(results, list(inputs.values()), cotangents, allow_unused=True)
    except RuntimeError as error:
        return str(error).splitlines()[0]
    lines = (leaf_mismatch(name, leaf, a, e, tolerance) for (name, leaf), a, e in zip(inputs.items(), actual, expected))
    return next(filter(None, lines), "")


def prepare(calls) -> None:
    """Compiles the forward kernels of all calls, pairs of an op and its tensors, together."""
    with contextlib.suppress(ingot.Error, RuntimeError):  # the call itself reports the error
        ingot.prepare_all((op, tuple(leaves_of(tensors).values())) for op, tensors in calls)


def op_of(text: str, names) -> ingot.Op:
    return ingot.op(f"def f({', '.join(names)}):\n    return {text}\n")


def check(mismatches: dict[str, str]):
    """Fails for mismatches that are not KNOWN, and for KNOWN ones that no longer occur. `mismatches`: the result of `mismatch` for
    each source."""
    unknown = {text: message for text, message in mismatches.items() if message and text not in KNOWN}
    assert not unknown, "\n".join(f"{text}: {message}" for text, message in itertools.islice(unknown.items(), 12))
    fixed = [text for text, message in mismatches.items() if not message and text in KNOWN]
    assert not fixed, f"no longer differs: remove it from KNOWN: {fixed}"
