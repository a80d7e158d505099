"""An op after a library kernel: cuDNN's convolution, then group_norm and mish as one Ingot kernel, as in the blocks of
a diffusion policy.

    python examples/group_norm_mish.py
"""

import torch

import ingot


@ingot.op
def group_norm_mish(x, weight, bias, groups: int = 8):
    """x: [batch, channels, time]; weight, bias: [channels]."""
    return F.mish(F.group_norm(x, groups, weight, bias))


def main():
    device = "cuda" if torch.cuda.is_available() else "cpu"
    x = torch.randn(64, 32, 100, device=device)
    kernels = torch.randn(256, 32, 5, device=device)
    weight, bias = torch.randn(256, device=device), torch.randn(256, device=device)

    h = torch.conv1d(x, kernels, padding=2)
    fused = group_norm_mish(h, weight, bias)
    eager = group_norm_mish.reference(h, weight, bias)
    print(f"largest difference from eager: {(fused - eager).abs().max().item():.3g}")

    before = ingot.counters()
    group_norm_mish(h, weight, bias)
    print(f"{ingot.counters().since(before).launches} launch")


if __name__ == "__main__":
    main()
