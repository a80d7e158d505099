"""The hand-written kernels, compiled and launched the way their authors would.

Those of examples/handwritten are as one usually writes them; those of benchmarks/kernels reach what the memory gives.
"""

import ctypes
import pathlib
import re

import torch

HERE = pathlib.Path(__file__).parent
FOLDERS = (HERE / "kernels", HERE.parent / "examples" / "handwritten")
THREADS = 256
_TYPES = {"int": ctypes.c_int, "long long": ctypes.c_longlong, "float": ctypes.c_float, "double": ctypes.c_double}


def kernel_source(name: str) -> str:
    return next(path for folder in FOLDERS if (path := folder / f"{name}.cu").exists()).read_text()


def parameter_types(source: str, name: str) -> list:
    """What each parameter of a kernel is passed as: a launch reads as many bytes as the kernel says."""
    parameters = re.search(rf"__global__\s+void\s[^{{]*?\b{name}\s*\(([^)]*)\)\s*\{{", source).group(1)
    types = []
    for parameter in parameters.split(","):
        words = parameter.split()
        types.append(ctypes.c_void_p if "*" in parameter else _TYPES[" ".join(words[:-1])])
    return types


def packed(types: list, args: tuple) -> list:
    """The arguments as values of these types."""
    if len(types) != len(args):
        raise TypeError(f"the kernel takes {len(types)} arguments, {len(args)} were given")
    return [kind(a.data_ptr() if isinstance(a, torch.Tensor) else a) for kind, a in zip(types, args)]


class Handwritten:
    """A kernel, called with its blocks along x, y and z and its arguments. The compiler's options may give it a
    function or a constant (`-DLANES=8`)."""

    def __init__(self, name: str, options: tuple[str, ...] = ()):
        source = kernel_source(name)
        self._kernel = torch.cuda._compile_kernel(
            source, name, cuda_include_dirs=[str(FOLDERS[0])], nvcc_options=list(options))
        self._types = parameter_types(source, name)
        self._driver = torch.cuda._utils._get_gpu_runtime_library()

    def __call__(self, blocks: tuple[int, int, int], *args):
        # Not by calling the compiled kernel: that passes every Python float as a double and every int as an int.
        values = packed(self._types, args)
        pointers = (ctypes.c_void_p * len(values))(*map(ctypes.addressof, values))
        stream = torch.cuda.current_stream()._as_parameter_
        error = self._driver.cuLaunchKernel(self._kernel.func, *blocks, THREADS, 1, 1, 0, stream, pointers, None)
        if error:
            raise RuntimeError(f"the launch of a hand-written kernel failed with {error}")


def blocks_of(elements: int, lanes: int = 1) -> tuple[int, int, int]:
    """Of a grid in which each thread computes `lanes` elements."""
    return -(-elements // (lanes * THREADS)), 1, 1
