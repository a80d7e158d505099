"""Explains an op: the stages of its compilation, and the origin of each line of a stage."""

from __future__ import annotations

import dataclasses
import pathlib
import uuid

import torch
from torch.utils._pytree import tree_leaves

import ingot

from ..capture import author_error
from . import explanation_text, listing, profile
from .candidates.kernels import architecture_of
from .dtypes import DTYPES
from .workload import Workload


@dataclasses.dataclass
class Explanation:
    """The result of `explain`. `found` is all of it as plain data, which `ingot explain --json` prints."""

    found: dict

    def __str__(self) -> str:
        return explanation_text.text(self.found)

    def html(self) -> str:
        """The HTML page: one file that needs no other."""
        from . import page

        return page.of_explanation(self.found).html()

    def save(self, path: str | pathlib.Path) -> None:
        """Writes the HTML page to a file."""
        pathlib.Path(path).write_text(self.html(), encoding="utf-8")

    def _repr_html_(self) -> str:
        from . import page

        return page.of_explanation(self.found, prefix=uuid.uuid4().hex[:8]).fragment()


def explain(op, *args, backward: bool = False, device: str = "cuda", architecture: int = 0, **kwargs) -> Explanation:
    """Compiles the op for these arguments and returns its stages. Nothing runs, no element is read, and no GPU is needed.

    backward: explain the kernels of the gradient instead.
    device: "cuda" or "cpu".
    architecture: 90 for sm_90; 0 for that of the arguments' GPU, or 90 if they are not on a GPU.
    Raises `ingot.Error` for arguments that the op does not take, and if CUDA's compiler is missing."""
    return explain_workload(Workload(op, bind_arguments(op, args, kwargs)), backward, str(device).partition(":")[0], architecture)


def bind_arguments(op, args: tuple, kwargs: dict) -> dict:
    """All arguments by name. Raises `ingot.Error` if they do not fit, or if `op` is not an op."""
    if not isinstance(op, ingot.Op):
        raise author_error(f"a {type(op).__name__} is not an Ingot op", "make one from its source: ingot.op(source)")
    try:
        bound = op.signature.bind(*args, **kwargs)
    except TypeError as error:
        raise author_error(f"{op.name}: {error}", f"its parameters are {', '.join(op.signature.parameters)}") from None
    bound.apply_defaults()
    return dict(bound.arguments)


def explain_workload(workload: Workload, backward: bool, device: str, architecture: int) -> Explanation:
    op = workload.op
    if backward:
        workload.check_no_grad_parameter()
    workload = dataclasses.replace(workload, is_gradient=backward)
    explanation = {"ingot": ingot.__version__, "torch": torch.__version__, "op": op.name, "backward": backward,
                   "device": device, "numerics": op.numerics, "lazy": op.lazy,
                   "arguments": {name: describe(value) for name, value in workload.values.items()}}
    if device == "cuda":
        gpu = next((t.device for t in tree_leaves(workload.values) if isinstance(t, torch.Tensor) and t.is_cuda), None)
        architecture = architecture or (architecture_of(gpu.index) if gpu else 90)
        kernels, stages = profile.of_op(op, workload, architecture, op.name)
        return Explanation(explanation | {"architecture": architecture, "kernels": kernels, "listing": stages})
    if architecture:
        raise author_error("an architecture is for a GPU, but the device is cpu")
    stages = profile.explain(op, workload, device, 0)
    stages |= listing.of_source(op.name, f"{op.name}.cpp", stages["source"])
    return Explanation(explanation | {"architecture": None, "kernels": [], "listing": stages})


def describe(value) -> str:
    """A value in the notation of the command line; a tensor by its dtype and shape."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key}: {describe(item)}" for key, item in value.items()) + "}"
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(map(describe, value)) + "]"
    if not isinstance(value, torch.Tensor):
        return "none" if value is None else str(value).lower() if isinstance(value, bool) else str(value)
    name = next((name for name, dtype in DTYPES.items() if dtype == value.dtype), str(value.dtype))
    return f"{name}:{'x'.join(map(str, value.shape))}"
