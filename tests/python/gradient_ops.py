"""Ops, with their arguments, for gradients that the tables of supported functions (names_table.py …) do not cover."""

import torch
import torch.nn.functional as F


def swiglu(x):
    a, b = x.chunk(2, -1)
    return F.silu(a) * b


def bias_gelu(x, b, r):
    return F.gelu(x + b) + r


def giou_loss(p, q):
    x1, y1, x2, y2 = p.unbind(-1)
    a1, b1, a2, b2 = q.unbind(-1)
    width = (torch.minimum(x2, a2) - torch.maximum(x1, a1)).clamp(min=0)
    inter = width * (torch.minimum(y2, b2) - torch.maximum(y1, b1)).clamp(min=0)
    union = (x2 - x1) * (y2 - y1) + (a2 - a1) * (b2 - b1) - inter
    hull = (torch.maximum(x2, a2) - torch.minimum(x1, a1)) * (torch.maximum(y2, b2) - torch.minimum(y1, b1))
    return (1 - inter / union + (hull - union) / hull).mean()


def norm_gelu(x, w, b):
    return F.gelu(F.layer_norm(x, (x.shape[-1],), w, b))


def softmax_and_double(x):
    return x.softmax(-1), x * 2


def even_times_odd(x):
    return x[:, ::2] * x[:, 1::2]


def flipped_flat(x):
    return x.flip(0).reshape(-1) * 2


def windows(x):
    return x.unfold(1, 3, 2) * x.unfold(1, 3, 2).sum(-1, keepdim=True)


def diagonal(x):
    return x.diagonal() * 3 + x.diagonal(0).sum()


def gathered(x, i):
    return x[i] * x[i.flip(0)]


def outer_product(x, y):
    return x[:, None] * y


def expand_and_square(x):
    return x[:1].expand(4, 6).reshape(2, 12) ** 2


def shares_a_sum(x, y):
    s = x.sum(0)
    return s * y + s.max(), (x - s).square().mean()


def softmax_of_columns(x, y):
    return x.t().softmax(0) * y.t()


BOXES = torch.tensor([0.0, 0.0, 1.0, 1.0], dtype=torch.float64)


def random_tensor(*shape):
    return torch.randn(shape, dtype=torch.float64, generator=torch.Generator().manual_seed(len(shape) + sum(shape)))


OPS = {
    swiglu: [random_tensor(3, 8)],
    bias_gelu: [random_tensor(5, 6), random_tensor(6), random_tensor(5, 6)],
    giou_loss: [random_tensor(6, 4).sigmoid() + BOXES, random_tensor(7, 4)[:6].sigmoid() + BOXES],
    norm_gelu: [random_tensor(3, 8), random_tensor(8), random_tensor(8)],
    softmax_and_double: [random_tensor(3, 7)],
    even_times_odd: [random_tensor(3, 6)],
    flipped_flat: [random_tensor(3, 4)],
    windows: [random_tensor(2, 8)],
    diagonal: [random_tensor(3, 5)],
    gathered: [random_tensor(3, 4), torch.tensor([0, 0, 2])],
    outer_product: [random_tensor(3), random_tensor(4)],
    expand_and_square: [random_tensor(2, 6)],
    shares_a_sum: [random_tensor(4, 5), random_tensor(5)],
    softmax_of_columns: [random_tensor(4, 5), random_tensor(4, 5)],
}
