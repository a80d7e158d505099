"""An op has few kernels for any number of layouts: a kernel is specialised only for those properties of a layout that it uses."""

import random

import torch

import ingot

MAX_KERNELS = 24
LAYOUTS = 1000


def padded_tensor(rng: random.Random, shape: list[int], device: str) -> torch.Tensor:
    """A tensor with or without padded rows, at an aligned or an unaligned address."""
    padding, offset = rng.choice((0, 1, 4)), rng.choice((0, 1))
    rows, columns = shape[:-1], shape[-1]
    whole = torch.randn(offset + torch.Size(rows).numel() * (columns + padding), device=device)
    return whole[offset:].view(*rows, columns + padding)[..., :columns]


def test_random_layouts_share_few_kernels(device):
    rng = random.Random(0)
    op = ingot.op("def random_layouts(x, y): return torch.relu(x) * 0.375 + y")
    before = ingot.counters()
    for _ in range(LAYOUTS):
        shape = [rng.randint(1, 40) for _ in range(rng.randint(1, 3))]
        x, y = (padded_tensor(rng, shape, device) for _ in range(2))
        torch.testing.assert_close(op(x, y), op.reference(x, y), rtol=0, atol=0)
    # A kernel is loaded once per process, whether it was compiled or found on disk.
    assert ingot.counters().since(before).loads <= MAX_KERNELS
