"""The candidates: Ingot's op, PyTorch's ways to run the same source, and hand-written functions and kernels."""

from __future__ import annotations

import pathlib
import re

from ...capture import author_error
from .candidate import Candidate
from .functions import PythonFunction
from .hosts import HostFunction
from .jiterated import Jiterated
from .kernels import CudaKernel
from .ops import Compiled, Eager, Ingot

__all__ = ["Compiled", "Candidate", "CudaKernel", "Eager", "HostFunction", "Ingot", "Jiterated", "PythonFunction", "named"]

FORMS = ("kernel.cu[:entry], function.cpp[:entry], library.so:entry, module.py:function, module:attribute, eager, "
         "torch.compile[:mode], jiterator, ingot:FILE.py[:op], ingot:numerics=fast or ingot:lazy=never")


def named(spec: str, op, launches: list[str] = (), options: list[str] = ()) -> Candidate:
    """The candidate for an argument of `--against`. `launches` replace those in a kernel's file; `options` are added to the file's."""
    if launches and not _may_be_launched(spec):
        raise author_error(f"`{spec}` is not launched",
                           "a launch is for a kernel of a .cu file, a C++ function or a Triton kernel")
    if spec == "eager":
        return Eager(op)
    if spec == "torch.compile" or spec.startswith("torch.compile:"):
        return Compiled(op, spec.partition(":")[2])
    if spec == "jiterator":
        return Jiterated(op)
    if spec.startswith("ingot:"):
        return Ingot.variant(op, spec.removeprefix("ingot:"))
    path, entry = _path_and_entry(spec)
    if path.suffix == ".cu":
        return CudaKernel(path, entry, launches, options)
    if path.suffix in (".cpp", ".cc", ".cxx", ".c", ".so"):
        return HostFunction(path, entry, launches, options)
    if entry:
        return PythonFunction.named(str(path), entry, launches)
    raise author_error(f"`{spec}` is not a candidate", f"a candidate is one of {FORMS}")


def _may_be_launched(spec: str) -> bool:
    return spec not in ("eager", "jiterator") and not spec.startswith(("torch.compile", "ingot:"))


def _path_and_entry(spec: str) -> tuple[pathlib.Path, str]:
    """Splits FILE or FILE:entry. The entry may have namespaces and template arguments: `kernel.cu:mine::scale<float, 4>`."""
    if pathlib.Path(spec).exists():
        return pathlib.Path(spec), ""
    positions = [colon.start() for colon in re.finditer(r"(?<!:):(?!:)", spec.partition("<")[0])]
    if not positions:
        return pathlib.Path(spec), ""
    colon = next((colon for colon in positions if pathlib.Path(spec[:colon]).is_file()), positions[-1])
    return pathlib.Path(spec[:colon]), spec[colon + 1 :]
