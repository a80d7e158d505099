"""Layouts whose accesses end at the end of an allocation, for compute-sanitizer: overlapping windows, gathered rows.

Run it with PYTORCH_NO_CUDA_MEMORY_CACHING=1. Otherwise memory that PyTorch holds for later tensors follows an
allocation, and an access past the end is not an error.
"""

import torch

import ingot


def check(text: str, *arguments: torch.Tensor, debug: bool = False) -> None:
    op = ingot.op(text, debug=debug)
    torch.testing.assert_close(op(*arguments), op.reference(*arguments), rtol=0, atol=0)


for dtype in (torch.float32, torch.uint8, torch.bfloat16):
    x = torch.arange(9, device="cuda").to(dtype)
    check("x * 2", x.unfold(0, 4, 1)[:6])
    check("x + y", x.unfold(0, 4, 1), x[:4])
for columns in (1, 3, 1001):
    w = torch.arange(3.0 * columns, device="cuda").view(3, columns)
    row, x = torch.tensor([2], device="cuda"), torch.ones(columns, device="cuda")
    for debug in (False, True):
        check("w[t]", w, row, debug=debug)
        check("w[t] + x", w, row, x, debug=debug)
        check("w[t - 100] * x", w, row + 100, x, debug=debug)
# Elements that a mask excludes are not accessed, whatever their index.
far = torch.tensor([0, 5, 1 << 40, -1], device="cuda")
for lazy in ("auto", "always"):
    op = ingot.op("where((i >= 0) & (i < 9), t[i], -1.0)", lazy=lazy)
    torch.testing.assert_close(op(far, torch.arange(9.0, device="cuda")),
                               torch.tensor([0.0, 5.0, -1.0, -1.0], device="cuda"), rtol=0, atol=0)
for count in (1, 255, 257, 511, 513):
    boxes = torch.rand(count, 4, device="cuda")
    boxes[::3] = 0
    check("where(b[..., 2] > b[..., 0], a[..., 0] + a[..., 3], b[..., 1])", boxes.flip(0).contiguous(), boxes)


def reduce(text: str, *arguments: torch.Tensor) -> None:
    """Compare with eager on the CPU. (compute-sanitizer also reports hazards of eager's own reducing CUDA kernels.)"""
    op = ingot.op(text)
    actual = op(*arguments)
    actual = tuple(tensor.cpu() for tensor in actual) if isinstance(actual, tuple) else actual.cpu()
    torch.testing.assert_close(actual, op.reference(*[tensor.cpu() for tensor in arguments]), rtol=2e-2, atol=2e-2)


# Each kind of reducing kernel. First unaligned and aligned rows, along the last dim: short rows, several of which share
# a warp; longer rows, whose elements are cached in registers or in shared memory, or loaded again in each phase; rows
# that are divided among blocks. Then columns, along the first dim: in vectors of adjacent columns or one at a time, with
# some of a column's accumulators at a time, or divided among blocks.
for dtype in (torch.float32, torch.bfloat16):
    for rows, columns in ((3, 7), (5, 1023), (2000, 77), (4, 4096), (2, 33001), (2, 40000), (2, 140001)):
        x = torch.randn(rows, columns, device="cuda").to(dtype)
        for text in ("x.logsumexp(1)", "x.softmax(1)", "x.argmax(1)", "x.sum(1) + x.amax(1)"):
            reduce(text, x)
            reduce(text, torch.randn(rows * columns + 1, device="cuda").to(dtype)[1:].view(rows, columns))
    for rows, columns in ((4097, 3), (4099, 9), (4100, 33), (4101, 75)):
        x = torch.randn(rows, columns, device="cuda").to(dtype)
        for text in ("x.softmax(1)", "(x - x.mean(1, keepdim=True), x.amax(1), x * x.sum(1, keepdim=True))"):
            reduce(text, x)
    for rows, columns in ((9, 130), (9, 136), (700, 131), (700, 256), (5000, 64), (20000, 136)):
        x = torch.randn(rows, columns, device="cuda").to(dtype) / rows**0.5
        for text in ("x.sum(0)", "x.softmax(0)", "x.argmax(0)", "(x.sum(0), x.amax(0))"):
            reduce(text, x)
    reduce("x.sum(1)", torch.randn(3, 65, 132, device="cuda").to(dtype))
    for rows, columns in ((2051, 4096), (8197, 1001), (32771, 129)):  # fused column partials
        x = torch.randn(rows, columns, device="cuda").to(dtype) / rows**0.5
        reduce("(x.softmax(1), x.sum(0), (x * x.mean(1, keepdim=True)).sum(0))", x)
reduce("F.cross_entropy(x, t)", torch.randn(9, 50257, device="cuda").bfloat16(), torch.arange(9, device="cuda"))


def differentiate(text: str, *arguments: torch.Tensor) -> None:
    """Compare first and second gradients with eager's on the CPU."""
    op = ingot.op(text)

    def gradients_of(function, device):
        leaves = [tensor.to(device).detach() for tensor in arguments]
        leaves = [tensor.requires_grad_() if tensor.is_floating_point() else tensor for tensor in leaves]
        wanted = [tensor for tensor in leaves if tensor.requires_grad]
        first = torch.autograd.grad(function(*leaves).square().sum(), wanted, create_graph=True)
        second = torch.autograd.grad(sum(tensor.square().sum() for tensor in first), wanted)
        return [tensor.detach().cpu() for tensor in (*first, *second)]

    torch.testing.assert_close(gradients_of(op, "cuda"), gradients_of(op.reference, "cpu"), rtol=1e-7, atol=1e-7)


def wide(*shape: int) -> torch.Tensor:
    return torch.randn(*shape, device="cuda", dtype=torch.float64)


# Gradients that consist of several output blocks, gradients of strided slices, gathers, windows and diagonals, and
# gradients that sum along rows and columns.
differentiate("F.silu(x.chunk(2, -1)[0]) * x.chunk(2, -1)[1]", wide(33, 130))
differentiate("F.gelu(x + b) + r", wide(129, 33), wide(33), wide(129, 33))
differentiate("F.layer_norm(x, (x.size(-1),), w, b)", wide(17, 75), wide(75), wide(75))
differentiate("F.cross_entropy(x, t)", wide(9, 101), torch.arange(9, device="cuda"))
differentiate("x[:, ::2] * x[:, 1::2]", wide(5, 66))
differentiate("x.flip(0).reshape(-1) * 2", wide(7, 9))
differentiate("x[i] * x[i.flip(0)]", wide(3, 4), torch.tensor([0, 0, 2], device="cuda"))
differentiate("x.unfold(1, 3, 2) * y", wide(5, 9), wide(5, 4, 3))
differentiate("x.diagonal() + F.pad(x, (1, 2)).sum()", wide(7, 9))
differentiate("x.softmax(0) + torch.stack([x, y]).amax(0)", wide(65, 9), wide(65, 9))
print("all results agree with eager")
