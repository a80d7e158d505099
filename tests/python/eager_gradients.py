"""Compares an op's gradients with autograd's gradients of the same source."""

import contextlib
import itertools
import warnings

import torch
from reductions_table import NAMES

import ingot


# Known differences from eager, and their reasons.
KNOWN = {
    "torch.fill(x, 3)": "requires no grad, of which there is none but 0",
    "F.poisson_nll_loss(x, y, log_input=False, full=True, reduction='none')": "no NaN out of the arm that was not taken",
    "(m[:, :7] * math.nan).addmm(d[:8], f.t(), beta=0)": "no NaN out of what is multiplied by nothing",
    "F.interpolate(cube, size=41 * 4)": "eager's backward takes other neighbours than its forward",
}


def floats(results) -> list[torch.Tensor]:
    """The results that require grad."""
    results = results if isinstance(results, (tuple, list)) else [results]
    return [r for r in results if isinstance(r, torch.Tensor) and r.requires_grad]


def leaves_of(tensors: dict) -> dict:
    return {name: t.detach().clone().requires_grad_() if t.is_floating_point() else t for name, t in tensors.items()}


def evaluated(text: str, tensors: dict):
    return eval(text, {**NAMES, **tensors})


def expected(eager, leaves: dict):
    """The cotangents and eager's gradients; None if eager has no derivative."""
    wanted = [t for t in leaves.values() if t.requires_grad]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            results = floats(eager(leaves))
            if not results:
                return None
            generator = torch.Generator().manual_seed(7)
            given = [torch.randn(r.shape, dtype=torch.float64, generator=generator).to(r) for r in results]
            return given, torch.autograd.grad(results, wanted, given, allow_unused=True)
        except (RuntimeError, TypeError, IndexError):
            return None  # PyTorch has no derivative of this op


def differs(name: str, leaf: torch.Tensor, mine, theirs, tolerance: dict) -> str:
    theirs = torch.zeros_like(leaf) if theirs is None else theirs
    mine = torch.zeros_like(leaf) if mine is None else mine
    if mine.shape != theirs.shape or mine.dtype != theirs.dtype:
        return f"{name}: {mine.dtype} {tuple(mine.shape)} for {theirs.dtype} {tuple(theirs.shape)}"
    if mine.is_sparse != theirs.is_sparse:
        return f"{name}: {mine.layout} for {theirs.layout}"
    mine, theirs = mine.to_dense(), theirs.to_dense()
    wrong = ~torch.isclose(mine, theirs, **tolerance, equal_nan=True)
    if not wrong.any():
        return ""
    return f"{name}: {mine[wrong][:3].tolist()} for {theirs[wrong][:3].tolist()} at {leaf[wrong][:3].tolist()}"


def complaint(op, eager, tensors: dict, tolerance=None) -> str:
    tolerance = tolerance or dict(rtol=1e-7, atol=1e-9)
    leaves = leaves_of(tensors)
    known = expected(eager, leaves)
    if known is None:
        return ""
    given, theirs = known
    try:
        results = floats(op(*leaves.values()))
        if not results and not any(t is not None and t.any() for t in theirs):
            return ""  # a result whose gradients are all 0 need not require grad
        if len(results) != len(given):
            return f"{len(results)} of {len(given)} results require grad"
        wanted = {name: t for name, t in leaves.items() if t.requires_grad}
        mine = torch.autograd.grad(results, list(wanted.values()), given, allow_unused=True)
    except RuntimeError as error:
        return str(error).splitlines()[0]
    lines = (differs(name, leaf, a, b, tolerance) for (name, leaf), a, b in zip(wanted.items(), mine, theirs))
    return next(filter(None, lines), "")


def prepare(calls) -> None:
    """Compiles the forward kernels of all ops and tensors together."""
    with contextlib.suppress(ingot.Error, RuntimeError):  # the call itself reports the error
        ingot.prepare_all((op, tuple(leaves_of(tensors).values())) for op, tensors in calls)


def op_of(text: str, names) -> ingot.Op:
    return ingot.op(f"def f({', '.join(names)}):\n    return {text}\n")


def check(lines: dict[str, str]):
    wrong = {text: line for text, line in lines.items() if line and text not in KNOWN}
    assert not wrong, "\n".join(f"{text}: {line}" for text, line in itertools.islice(wrong.items(), 12))
    mended = [text for text, line in lines.items() if not line and text in KNOWN]
    assert not mended, f"right by now, take it out of KNOWN: {mended}"
