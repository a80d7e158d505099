"""Cases that are measured on the CPU only, on tensors that fit its cache."""

import torch

from .case import Case, Tensors
from .elementwise import pair

INTEGERS = """
def integers(x, y):
    z = x * 3 + y
    return (z ^ (z >> 7)) & (y | 255)
"""


def layer(make: Tensors) -> tuple:
    return make.normal(1 << 10, 1 << 10), make.normal(1 << 10)


CASES = [
    Case("tanh-gelu with a bias", 'F.gelu(x + b, approximate="tanh")', layer),
    Case("int32 chain", INTEGERS, lambda make: tuple(
        make.integers(make.n, below=1 << 20, dtype=torch.int32) for _ in range(2))),
    Case("where", "torch.where(x > y, x * 0.5, y + 1)", pair),
    Case("float16 chain", "torch.relu(x * 0.5 + y) - x * y", lambda make: pair(make, torch.float16)),
    Case("gelu(x + y) * sigmoid(y) + x", "F.gelu(x + y) * torch.sigmoid(y) + x", pair),
]
