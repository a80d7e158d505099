"""Kernels as they are written for CUDA, compiled for the CPU and run thread by thread: their steps, guards and tails, where
there is no GPU."""

import ctypes
import re
import subprocess

import pytest
import torch

import ingot

# What a pointwise kernel has of CUDA.
SHIM = """
#include <algorithm>
#include <cmath>
#include <cstring>
using std::max, std::min;
#define __device__
#define __global__
#define __launch_bounds__(...)
#define __builtin_assume(condition)
struct Index { unsigned x; };
static Index blockIdx, threadIdx;
inline unsigned __float_as_uint(float a) { unsigned bits; std::memcpy(&bits, &a, sizeof bits); return bits; }
"""
RUN = """
extern "C" void run(void** tensors, {index} n, unsigned blocks, unsigned threads) {{
    for (blockIdx.x = 0; blockIdx.x < blocks; ++blockIdx.x)
        for (threadIdx.x = 0; threadIdx.x < threads; ++threadIdx.x) {entry}({operands}, n);
}}
"""
BEHIND = 64  # elements behind a result that must stay as they are

STEPS = re.compile(r"in_steps<(\d+), (\d+), (\d+)>\(\w+, n,")
VECTORS = re.compile(r"const int i = (\d+) \* \(blockIdx\.x \* (\d+) \+ threadIdx\.x\);")


class OnTheCpu:
    """The CUDA kernel of an op for contiguous tensors like these."""

    def __init__(self, op: ingot.Op, tensors: list[torch.Tensor], folder):
        self.source = op.source(*[t.to("meta") for t in tensors], device="cuda")
        entry, parameters = re.search(r'extern "C" __global__ void __launch_bounds__\(\d+\) (\w+)\((.*?)\) \{', self.source,
                                      re.DOTALL).groups()
        types = [re.sub(r"//.*", "", line).strip(" ,").replace(" __restrict__", "").rsplit(" ", 1)[0]
                 for line in parameters.strip().split("\n")]
        operands = ", ".join(f"({type_})tensors[{k}]" for k, type_ in enumerate(types[:-1]))
        text, library = folder / "kernel.cpp", folder / "kernel.so"
        text.write_text(SHIM + self.source + RUN.format(index=types[-1].replace("const ", ""), entry=entry, operands=operands))
        subprocess.run(["c++", "-std=c++17", "-O1", "-w", "-ffp-contract=off", "-shared", "-fPIC", text, "-o", library], check=True)
        self.run = ctypes.CDLL(str(library)).run

    def block(self) -> tuple[int, int]:
        """Its threads, and the elements that they take."""
        if steps := STEPS.search(self.source):
            lanes, threads, count = map(int, steps.groups())
            return threads, lanes * threads * count
        lanes, threads = map(int, VECTORS.search(self.source).groups())
        return threads, lanes * threads

    def __call__(self, tensors: list[torch.Tensor], results: list[torch.Tensor]) -> list[torch.Tensor]:
        n = tensors[0].numel()
        filled = [torch.full((n + BEHIND,), 1, dtype=r.dtype) for r in results]
        threads, elements = self.block()
        pointers = [t.data_ptr() for t in (*tensors, *filled)]
        self.run((ctypes.c_void_p * len(pointers))(*pointers), ctypes.c_int(n), -(-n // elements), threads)
        assert all((f[n:] == 1).all() for f in filled), "it writes past the end"
        return [f[:n] for f in filled]


def floats(count: int):
    return lambda n: [torch.randn(n) for _ in range(count)]


def integers(n: int) -> list[torch.Tensor]:
    return [torch.randint(-9999, 9999, (n,), dtype=torch.int32), torch.randint(1, 99, (n,), dtype=torch.int32)]


def of_two_dtypes(n: int) -> list[torch.Tensor]:
    return [torch.randn(n), torch.randint(0, 256, (n,), dtype=torch.uint8)]


def and_a_number(n: int) -> list[torch.Tensor]:
    return [torch.randn(n), torch.tensor(0.5)]


HEAVY = {
    "F.gelu(x)": floats(1),
    "F.mish(x)": floats(1),
    "F.softplus(x)": floats(1),
    "F.elu(x)": floats(1),
    "F.gelu(x + y) * torch.sigmoid(y) + x": floats(2),
    "F.gelu(x * 0.5 + s) * torch.tanh(s)": and_a_number,
    "def mixed(x, y):\n    return F.gelu(x + y), F.mish(x) > y": of_two_dtypes,
    "def mixed(a, b):\n    low, high = a & 15, a >> 4\n    return (low * 3 + high) % 7 + b // 2, (a << 1) ^ b": integers,
    "def f(first):\n    whole = F.gelu(first)\n    step = F.mish(whole)\n    return step + whole": floats(1),  # names that it has
}
LIGHT = {"torch.tanh(x - y)": floats(2), "torch.relu(x) + y": floats(2)}  # one vector a thread


@pytest.mark.parametrize("text", [*HEAVY, *LIGHT])
def test_every_element_is_right_and_nothing_is_written_behind_the_last(text, tmp_path):
    torch.manual_seed(0)
    op, arguments = ingot.op(text), (HEAVY | LIGHT)[text]
    kernel = OnTheCpu(op, arguments(4096), tmp_path)
    assert bool(STEPS.search(kernel.source)) == (text in HEAVY)
    elements = kernel.block()[1]
    for n in (2, 3, 5, elements // 2 - 1, elements // 2, elements // 2 + 1, elements - 1, elements, elements + 1, 7 * elements,
              7 * elements + elements // 2 + 3):
        tensors = arguments(n)
        wanted = op.reference(*tensors)
        wanted = list(wanted) if isinstance(wanted, tuple) else [wanted]
        for mine, theirs in zip(kernel(tensors, wanted), wanted, strict=True):
            torch.testing.assert_close(mine, theirs, rtol=1e-4, atol=1e-5)  # eager on the CPU is as far from the truth
