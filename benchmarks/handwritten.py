"""The hand-written kernels of examples/handwritten, compiled and launched the way their authors would."""

import ctypes
import pathlib
import re

import torch

FOLDER = pathlib.Path(__file__).parent.parent / "examples" / "handwritten"
THREADS = 256
_TYPES = {"int": ctypes.c_int, "long long": ctypes.c_longlong, "float": ctypes.c_float, "double": ctypes.c_double}


def parameter_types(source: str, name: str) -> list:
    """What each parameter of a kernel is passed as: a launch reads as many bytes as the kernel says."""
    parameters = re.search(rf"__global__\s+void\s+{name}\s*\(([^)]*)\)", source).group(1)
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
    def __init__(self, name: str):
        source = (FOLDER / f"{name}.cu").read_text()
        self._kernel = torch.cuda._compile_kernel(source, name)
        self._types = parameter_types(source, name)
        self._driver = torch.cuda._utils._get_gpu_runtime_library()

    def __call__(self, count: int, *args):
        # Not by calling the compiled kernel: that passes every Python float as a double and every int as an int.
        values = packed(self._types, args)
        pointers = (ctypes.c_void_p * len(values))(*map(ctypes.addressof, values))
        stream = torch.cuda.current_stream()._as_parameter_
        grid, block = (-(-count // THREADS), 1, 1), (THREADS, 1, 1)
        error = self._driver.cuLaunchKernel(self._kernel.func, *grid, *block, 0, stream, pointers, None)
        if error:
            raise RuntimeError(f"the launch of a hand-written kernel failed with {error}")
