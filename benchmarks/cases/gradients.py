"""Gradients of ops used in training, alone and together with the forward call; and losses together with their
gradients."""

import torch

from .case import Case, Tensors
from .elementwise import example, pairs_of_boxes


WIDTH = 1 << 12


def leaf(*shape: int, make: Tensors, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    return make.normal(*shape, dtype=dtype).requires_grad_()


def rows(count: int = 1, weights: int = 0, dtype: torch.dtype = torch.float32):
    """`count` matrices, of 2^26 elements on the GPU, and `weights` vectors of their width after the first matrix."""

    def arguments(make: Tensors) -> tuple:
        shape = make.either(1 << 26, 1 << 18) // WIDTH, WIDTH
        matrices = [leaf(*shape, make=make, dtype=dtype) for _ in range(count)]
        vectors = [leaf(WIDTH, make=make, dtype=dtype) for _ in range(weights)]
        return matrices[0], *vectors, *matrices[1:]

    return arguments


def classes(make: Tensors) -> tuple:
    count = make.either(1 << 12, 1 << 4)
    return leaf(count, 50257, make=make, dtype=torch.bfloat16), make.integers(count, below=50257)


def predicted_boxes(make: Tensors) -> tuple:
    """2^20 pairs of boxes on the GPU."""
    pred, target, eps = pairs_of_boxes(Tensors(make.device, make.either(1 << 24, 1 << 18)))
    return pred.requires_grad_(), target, eps


def table_rows(make: Tensors) -> tuple:
    """A table, and the indices of the rows that are gathered from it."""
    count = make.either(50257, 5025)
    return leaf(count, 768, make=make), make.integers(make.either(1 << 14, 1 << 10), below=count)


def dropout(name: str, dtype: torch.dtype) -> Case:
    return Case(f"dropout(gelu(x + b), 0.1) + r {name}", "F.dropout(F.gelu(x + b), 0.1) + r", rows(2, 1, dtype), is_random=True)


CASES = [
    Case("swiglu bf16", "def swiglu(x):\n    a, b = x.chunk(2, -1)\n    return F.silu(a) * b", rows(dtype=torch.bfloat16)),
    Case("gelu(x + b) + r bf16", "F.gelu(x + b) + r", rows(2, 1, torch.bfloat16)),
    Case("layer_norm", "F.layer_norm(x, (x.shape[-1],), weight, bias)", rows(1, 2)),
    Case("gelu(layer_norm)", "F.gelu(F.layer_norm(x, (x.shape[-1],), weight, bias))", rows(1, 2)),
    Case("softmax", "F.softmax(x, -1)", rows()),
    Case("cross_entropy bf16", "F.cross_entropy(logits, target)", classes),
    Case("mse", "F.mse_loss(x, y)", rows(2)),
    Case("giou loss", example("giou_loss"), predicted_boxes),
    Case("gelu(table[i])", "F.gelu(table[i])", table_rows),
    dropout("f32", torch.float32),
    dropout("bf16", torch.bfloat16),
]

# --- Losses with their gradients ------------------------------------------------------------------------------------

GIOU_SUM = example("giou") + "\n\ndef giou_sum(pred, target, eps: float):\n    return giou(pred, target, eps).sum()\n"


def box_loss(name: str, text: str, power: int) -> Case:
    """2^power pairs of boxes, 48 bytes each: both boxes of a pair are read, and the gradient of one is written."""

    def arguments(make: Tensors) -> tuple:
        return pairs_of_boxes(Tensors(make.device, make.either(1 << power + 4, 1 << 14)))

    return Case(name, text, arguments)


VALUE_AND_GRAD = [
    box_loss("giou sum of 2^22 boxes", GIOU_SUM, 22),
    box_loss("giou sum of 2^24 boxes", GIOU_SUM, 24),
    box_loss("giou masked mean: 2^22 boxes", example("giou_loss"), 22),
    box_loss("giou masked mean: 2^24 boxes", example("giou_loss"), 24),
]
