"""Layouts whose accesses end where an allocation does, for compute-sanitizer: windows that overlap, gathered rows.

Run it with PYTORCH_NO_CUDA_MEMORY_CACHING=1, without which an allocation is followed by PyTorch's own memory.
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
# What a mask excludes is not touched, wherever its index says it is.
far = torch.tensor([0, 5, 1 << 40, -1], device="cuda")
for lazy in ("auto", "always"):
    op = ingot.op("where((i >= 0) & (i < 9), t[i], -1.0)", lazy=lazy)
    torch.testing.assert_close(op(far, torch.arange(9.0, device="cuda")),
                               torch.tensor([0.0, 5.0, -1.0, -1.0], device="cuda"), rtol=0, atol=0)
for count in (1, 255, 257, 511, 513):
    boxes = torch.rand(count, 4, device="cuda")
    boxes[::3] = 0
    check("where(b[..., 2] > b[..., 0], a[..., 0] + a[..., 3], b[..., 1])", boxes.flip(0).contiguous(), boxes)
print("as eager")
