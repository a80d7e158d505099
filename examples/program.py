"""Ingot from Python: write an op, call it, read its kernel.

    python examples/program.py
"""

import torch

import ingot

TEMPERATURE = 0.7


def squash(x):
    return torch.tanh(x / TEMPERATURE)


@ingot.op
def gated(x, gate, bias: float = 0.0):
    """The activation of a network's block between two matrix products."""
    score = torch.sigmoid(gate) * squash(x)
    return score + bias


def main():
    device = "cuda" if torch.cuda.is_available() else "cpu"
    x = torch.randn(4096, 1024, device=device)
    gate = torch.randn(1024, device=device)

    fused = gated(x, gate, bias=0.5)
    eager = gated.reference(x, gate, bias=0.5)
    print(f"largest difference from eager: {(fused - eager).abs().max().item():.3g}")

    print(gated.source(x, gate, bias=0.5))

    # The same op as an expression. A new shape and a new scalar compile nothing.
    inline = ingot.op("sigmoid(gate) * tanh(x / 0.7) + bias", name="gated_inline")
    before = ingot.counters().compiles
    for rows in (16, 1000, 4096):
        inline(gate, x[:rows], 0.25 * rows)
    print(f"three shapes, three scalars, {ingot.counters().compiles - before} compilation(s)")


if __name__ == "__main__":
    main()
