"""The candidates: Ingot's op, PyTorch's ways to run the same source, and hand-written functions and kernels."""

from __future__ import annotations

import pathlib
import re

from ...capture import fail
from .candidate import Candidate
from .functions import PythonFunction
from .hosts import HostFunction
from .jiterated import Jiterated
from .kernels import CudaKernel
from .ops import Compiled, Eager, Ingot

__all__ = ["Compiled", "Candidate", "CudaKernel", "Eager", "HostFunction", "Ingot", "Jiterated", "PythonFunction", "named"]

FORMS = ("kernel.cu[:entry], function.cpp[:entry], library.so:entry, module.py:function, module:attribute, eager, "
         "torch.compile[:mode], jiterator, ingot:FILE.py[:op], ingot:numerics=fast or ingot:lazy=never")


def named(word: str, op, launches: list[str] = (), options: list[str] = ()) -> Candidate:
    """The candidate that a word of `--against` names. `launches` replace those in a kernel's file, and `options` are added to the
    file's."""
    if launches and not _may_be_launched(word):
        raise fail(f"`{word}` is not launched", "a launch is for a kernel of a .cu file, a C++ function or a Triton kernel")
    if word == "eager":
        return Eager(op)
    if word == "torch.compile" or word.startswith("torch.compile:"):
        return Compiled(op, word.partition(":")[2])
    if word == "jiterator":
        return Jiterated(op)
    if word.startswith("ingot:"):
        return Ingot.variant(op, word.removeprefix("ingot:"))
    path, entry = _path_and_entry(word)
    if path.suffix == ".cu":
        return CudaKernel(path, entry, launches, options)
    if path.suffix in (".cpp", ".cc", ".cxx", ".c", ".so"):
        return HostFunction(path, entry, launches, options)
    if entry:
        return PythonFunction.named(str(path), entry, launches)
    raise fail(f"`{word}` is nothing that an op is compared with", f"one of {FORMS}")


def _may_be_launched(word: str) -> bool:
    return word not in ("eager", "jiterator") and not word.startswith(("torch.compile", "ingot:"))


def _path_and_entry(word: str) -> tuple[pathlib.Path, str]:
    """Splits FILE or FILE:entry. The entry may have namespaces and template arguments: `kernel.cu:mine::scale<float, 4>`."""
    if pathlib.Path(word).exists():
        return pathlib.Path(word), ""
    colons = [colon.start() for colon in re.finditer(r"(?<!:):(?!:)", word.partition("<")[0])]
    if not colons:
        return pathlib.Path(word), ""
    at = next((at for at in colons if pathlib.Path(word[:at]).is_file()), colons[-1])
    return pathlib.Path(word[:at]), word[at + 1 :]
