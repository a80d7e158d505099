"""Reductions, and functions made of them, as sources with the same meaning in PyTorch: Ingot and eager run each of
them.

The inputs of a source are those of `inputs_of` that it names.
"""

from __future__ import annotations

import math

import torch
import torch.nn.functional as F

# Names that a source may use besides its inputs.
NAMES = {"torch": torch, "F": F, "math": math, "linalg": torch.linalg, "special": torch.special}


def inputs_of(dtype: torch.dtype, device: str, seed: int = 0) -> dict[str, torch.Tensor]:
    """Floats: x, y, z are cubes; m, n matrices; d, f matrices of three columns; e is a matrix without rows. With the shape of m: s
    are signs, p, q probabilities, w weights. With an element per column of m: v, and a, whose elements are positive. With an
    element per row of m: r, whose elements are positive, and h, which are signs.
    Integers with the shape of x: b are bools, k int64, j int16, u uint8, c uint8 of 0 and 1. Classes of m's rows: t; g, some of
    them ignored; o, all ignored. l are classes of x along dim 1, and i is a single class."""
    generator = torch.Generator().manual_seed(seed)
    cube, matrix = (5, 6, 7), (8, 10)

    def random(*shape):
        return torch.randn(*shape, generator=generator, dtype=torch.float64)

    def integers(low, high, *shape):
        return torch.randint(low, high, shape, generator=generator)

    tensors = {name: random(*cube).to(dtype) for name in "xyz"} | {name: random(*matrix).to(dtype) for name in "mn"}
    tensors |= {"v": random(10).to(dtype), "r": (random(8).abs() + 0.1).to(dtype), "e": random(0, 10).to(dtype)}
    tensors |= {"s": random(*matrix).sign().to(dtype), "h": random(8).sign().to(dtype)}
    tensors |= {name: (random(*matrix).sigmoid() * 0.8 + 0.1).to(dtype) for name in "pqw"}
    tensors |= {"a": (random(10).abs() + 0.1).to(dtype), "d": random(9, 3).to(dtype), "f": random(7, 3).to(dtype)}
    tensors |= {"b": integers(0, 2, *cube).bool(), "k": integers(-9, 9, *cube), "u": integers(0, 256, *cube).to(torch.uint8)}
    tensors |= {"c": integers(0, 2, *cube).to(torch.uint8), "j": integers(-9, 9, *cube).to(torch.int16)}
    tensors |= {"t": integers(0, 10, 8), "g": torch.tensor([0, -100, 9, 3, -100, 5, 1, 1]), "l": integers(0, 6, 5, 7)}
    tensors |= {"i": torch.tensor(3), "o": torch.full((8,), -100)}
    return {name: tensor.to(device) for name, tensor in tensors.items()}


# name → sources on floats. REDUCED represents the arguments that choose a loss's reduction: `texts_of` makes a source for each of them.
FLOATING: dict[str, list[str]] = {
    "sum": ["x.sum()", "torch.sum(x, 1)", "x.sum((0, -1))", "x.sum((), True)", "x.sum(dim=(2, 0), keepdim=True)",
            "torch.sum(x, axis=1, keepdims=True)", "x.sum(1, dtype=torch.float64)", "x.sum(dtype=torch.bool)"],
    "nansum": ["x.nansum()", "torch.nansum(x, 1)", "torch.where(x > 1, math.nan, x).nansum((0, 1))"],
    "prod": ["x.prod()", "torch.prod(x, 1)", "x.prod(-1, True)", "x.prod(0, dtype=torch.float64)"],
    "mean": ["x.mean()", "torch.mean(x, 1)", "x.mean((0, 2), True)", "x.mean(0, dtype=torch.float64)", "torch.mean(x, axis=(1, 2))"],
    "nanmean": ["x.nanmean()", "torch.where(x > 1, math.nan, x).nanmean(1)", "torch.nanmean(x, (0, 1), True)"],
    "var": ["x.var()", "x.var(1)", "x.var(True)", "x.var(False)", "x.var(1, False)", "x.var(-1, True, True)", "torch.var(x, (0, 1))",
            "x.var((0, 2), correction=0, keepdim=True)", "x.var(1, correction=100)", "x.var(1, correction=2.5)",
            "torch.var(x, dim=1, unbiased=False)", "x.var(unbiased=False)"],
    "std": ["x.std()", "x.std(1)", "torch.std(x, (0, 1), correction=2)", "x.std(2, keepdim=True)", "torch.std(x, False)"],
    "var_mean": ["torch.var_mean(x)", "torch.var_mean(x, 1)", "torch.var_mean(x, (0, 2), keepdim=True, correction=0)"],
    "std_mean": ["torch.std_mean(x, False)", "torch.std_mean(x, 1, True)", "torch.std_mean(x, dim=(0, 1), correction=0)"],
    "logsumexp": ["x.logsumexp(1)", "torch.logsumexp(x, (0, -1), True)", "special.logsumexp(x, dim=2)", "(x * 30).logsumexp(0)"],
    "vector_norm": ["linalg.vector_norm(x)", "torch.linalg.vector_norm(x, 2.5, (0, 1))", "linalg.vector_norm(x, math.inf, 1)",
                    "linalg.vector_norm(x, ord=-math.inf, dim=1, keepdim=True)", "linalg.vector_norm(x, 0, -1)",
                    "linalg.vector_norm(x, 1, ())", "linalg.vector_norm(x, -1.5, 1)", "linalg.vector_norm(x, dtype=torch.float64)"],
    "matrix_norm": ["linalg.matrix_norm(x)", "linalg.matrix_norm(x, 1)", "linalg.matrix_norm(x, -1, dim=(2, 0))",
                    "linalg.matrix_norm(x, math.inf, (0, 1), True)", "linalg.matrix_norm(x, -math.inf)"],
    "norm": ["x.norm()", "x.norm(1)", "torch.norm(x, 'fro', (0, 1))", "x.norm(2, dim=1, keepdim=True)", "torch.norm(x, p=3, dim=2)",
             "x.norm(p=float('inf'), dim=(0, 1))", "torch.norm(x, 0, 1)", "torch.norm(x, keepdim=True)", "torch.norm(x, dtype=torch.float64)",
             "linalg.norm(x)", "linalg.norm(m, 1)", "linalg.norm(m, 'fro')", "linalg.norm(m, -math.inf, keepdim=True)",
             "linalg.norm(x, 1, dim=(0, 2))", "linalg.norm(x, 3, dim=1)", "linalg.norm(v, math.inf)", "linalg.norm(x, -1, (2, 0), True)"],
    "dist": ["torch.dist(x, y)", "x.dist(y, 1)", "torch.dist(x, y[0], p=math.inf)"],
    "softmax": ["x.softmax(1)", "torch.softmax(x, -1)", "F.softmax(x, dim=0)", "special.softmax(x, 2)", "x.softmax(-1, torch.float64)",
                "F.softmax(x, 1, dtype=torch.float64)", "F.softmax(x)", "F.softmax(m)", "torch.softmax(x * 50, 1)"],
    "log_softmax": ["x.log_softmax(1)", "torch.log_softmax(x, 0, torch.float64)", "F.log_softmax(x, dim=-1)", "special.log_softmax(x, 2)",
                    "torch.log_softmax(x * 50, 1)"],
    "softmin": ["F.softmin(x, 1)", "F.softmin(x, dim=-1, dtype=torch.float64)"],
    "normalize": ["F.normalize(x)", "F.normalize(x, p=1, dim=-1)", "F.normalize(x, dim=(0, 1), eps=1e-3)", "F.normalize(x * 0)"],
    "cosine_similarity": ["F.cosine_similarity(x, y)", "torch.cosine_similarity(x, y[0], dim=-1)", "F.cosine_similarity(x * 0, y, 0)"],
    "pairwise_distance": ["F.pairwise_distance(m, n)", "F.pairwise_distance(m, v, 1, keepdim=True)", "torch.pairwise_distance(x, y, p=3.0)"],
    "cdist": ["torch.cdist(d, f)", "torch.cdist(x, y)", "torch.cdist(d, f, p=1)", "torch.cdist(d, f, 3.0)", "torch.cdist(d, f, p=math.inf)",
              "torch.cdist(d, f, p=0)"],
    "layer_norm": ["F.layer_norm(x, (7,))", "F.layer_norm(x, [6, 7])", "F.layer_norm(x, x.shape[1:], y[0], z[1], 1e-3)",
                   "torch.layer_norm(m, (10,), v, a)", "F.layer_norm(x + 1, (7,))", "F.layer_norm(x, (7,), bias=y[0, 0])"],
    "rms_norm": ["F.rms_norm(x, (7,))", "F.rms_norm(x, (6, 7), y[0], 1e-3)", "torch.rms_norm(m, (10,), v)", "F.rms_norm(x / 1000, (7,))"],
    "group_norm": ["F.group_norm(x, 2)", "F.group_norm(x, 3, v[:6], a[:6])", "F.group_norm(m, 5, eps=1e-3)", "torch.group_norm(x, 6)"],
    "instance_norm": ["F.instance_norm(x)", "F.instance_norm(x, weight=v[:6], bias=a[:6], eps=1e-3)",
                      "F.instance_norm(x, v[:6], a[:6], use_input_stats=False)"],
    "torch.batch_norm": ["torch.batch_norm(x, v[:6], a[:6], None, None, True, 0.1, 1e-3, False)", "torch.batch_norm(m, None, None, v, a, False, 0.1, 1e-5, True)"],
    "torch.instance_norm": ["torch.instance_norm(x, v[:6], a[:6], None, None, True, 0.1, 1e-3, False)"],
    "batch_norm": ["F.batch_norm(x, None, None, training=True)", "F.batch_norm(m, None, None, v, a, True, 0.1, 1e-3)",
                   "F.batch_norm(m, v, a)", "F.batch_norm(x, v[:6], a[:6], v[1:7], a[1:7], eps=1e-3)"],
    "nll_loss": ["F.nll_loss(m, t, REDUCED)", "F.nll_loss(m, g, a, REDUCED)", "F.nll_loss(m, t, ignore_index=3, REDUCED)",
                 "F.nll_loss(v, i, REDUCED)", "F.nll_loss(v, t[:1], a, REDUCED)", "F.nll_loss(x, l, v[:6], REDUCED)", "F.nll_loss(m, o, REDUCED)", "F.nll_loss(e, t[:0], REDUCED)"],
    "cross_entropy": ["F.cross_entropy(m, t, REDUCED)", "F.cross_entropy(m, g, a, REDUCED)", "F.cross_entropy(x, l, a[:6], REDUCED)",
                      "F.cross_entropy(m, g, label_smoothing=0.1, REDUCED)", "F.cross_entropy(m, g, a, label_smoothing=0.1, REDUCED)",
                      "F.cross_entropy(m, p, REDUCED)", "F.cross_entropy(m, p, a.double(), REDUCED)", "F.cross_entropy(m, p, a, label_smoothing=0.2, REDUCED)",
                      "F.cross_entropy(x, l, label_smoothing=0.3, REDUCED)", "F.cross_entropy(v, i, REDUCED)",
                      "F.cross_entropy(v, t[:1], REDUCED)"],
    "multilabel_margin_loss": ["F.multilabel_margin_loss(m[:5, :7], k[:, 0].clamp(-1, 6), REDUCED)",
                               "F.multilabel_margin_loss(v[:6], l[0, :6], REDUCED)"],
    "multi_margin_loss": ["F.multi_margin_loss(v[:6], l[0, :1].clamp(0, 5), REDUCED)",
                          "F.multi_margin_loss(m, t, REDUCED)", "F.multi_margin_loss(m, t, 2, 0.5, a, REDUCED)", "F.multi_margin_loss(v, i, REDUCED)"],
    "multilabel_soft_margin_loss": ["F.multilabel_soft_margin_loss(m, q, REDUCED)", "F.multilabel_soft_margin_loss(m[0], q, REDUCED)", "F.multilabel_soft_margin_loss(m, q, w, REDUCED)"],
    "cosine_embedding_loss": ["F.cosine_embedding_loss(m, n, h, REDUCED)", "F.cosine_embedding_loss(m, n, h, 0.2, REDUCED)",
                              "F.cosine_embedding_loss(v, a, h[0], REDUCED)"],
    "triplet_margin_loss": ["F.triplet_margin_loss(m, n, p, REDUCED)", "F.triplet_margin_loss(m, n, p, 0.5, 1, swap=True, REDUCED)"],
    "triplet_margin_with_distance_loss": ["F.triplet_margin_with_distance_loss(m, n, p, swap=True)",
                                          "F.triplet_margin_with_distance_loss(m, n, p, margin=0.5, reduction='none')"],
    "mse_loss": ["F.mse_loss(m, n, REDUCED)", "F.mse_loss(m, n, weight=w, REDUCED)", "F.mse_loss(m, v, REDUCED)"],
    "l1_loss": ["F.l1_loss(m, n, REDUCED)", "F.l1_loss(m, n, weight=w, REDUCED)"],
    "smooth_l1_loss": ["F.smooth_l1_loss(m, n, REDUCED)", "F.smooth_l1_loss(m, n, beta=0.0, REDUCED)"],
    "huber_loss": ["F.huber_loss(m, n, reduction='mean')", "F.huber_loss(m, n, 'sum', 0.5)", "F.huber_loss(m, n, weight=w)"],
    "binary_cross_entropy": ["F.binary_cross_entropy(p, q, REDUCED)", "F.binary_cross_entropy(p, q, w, REDUCED)"],
    "binary_cross_entropy_with_logits": ["F.binary_cross_entropy_with_logits(m, q, REDUCED)",
                                         "F.binary_cross_entropy_with_logits(m, q, w, pos_weight=a, REDUCED)"],
    "kl_div": ["F.kl_div(m, p, REDUCED)", "F.kl_div(m, n, log_target=True, REDUCED)", "F.kl_div(m, p, reduction='batchmean')"],
    "poisson_nll_loss": ["F.poisson_nll_loss(m, p, REDUCED)", "F.poisson_nll_loss(p, q, False, True, REDUCED)"],
    "gaussian_nll_loss": ["F.gaussian_nll_loss(m, n, w, reduction='mean')", "F.gaussian_nll_loss(m, n, r, True, 1e-6, 'sum')"],
    "soft_margin_loss": ["F.soft_margin_loss(m, s, REDUCED)"],
    "hinge_embedding_loss": ["F.hinge_embedding_loss(m, s, 0.5, REDUCED)"],
    "margin_ranking_loss": ["F.margin_ranking_loss(m, n, s, 0.3, REDUCED)"],
    "matmul": ["d @ f.t()", "torch.matmul(x, y.mT)", "x @ y[0].t()", "x[0] @ y.mT", "m @ v", "v @ m.t()", "v @ a", "x @ y[0, 0]", "m.matmul(a)",
               "x.mT @ y", "d[:, :0] @ f[:, :0].t()", "x[:, None] @ y[:1].mT", "torch.cat([m, n], 1) @ torch.cat([v, a])"],
    "mm": ["d.mm(f.t())", "torch.mm(m.t(), n)"],
    "bmm": ["torch.bmm(x, y.mT)", "x.bmm(y.transpose(1, 2))"],
    "mv": ["m.mv(v)", "torch.mv(d, f[0])"],
    "dot": ["v.dot(a)", "torch.dot(x.flatten(), y.flatten())"],
    "vdot": ["torch.vdot(v, a)"],
    "vecdot": ["linalg.vecdot(x, y)", "torch.linalg.vecdot(x, y[0], dim=1)"],
    "inner": ["torch.inner(d, f)", "torch.inner(v, a)", "x.inner(y[0])", "torch.inner(m, v)", "torch.inner(x, y[0, 0, 0])"],
    "linear": ["F.linear(d, f)", "F.linear(x, y[0], v[:6])", "F.linear(v, m, r)", "F.linear(m, v)"],
    "einsum": ["torch.einsum('ij,kj->ik', d, f)", "torch.einsum('ij,kj->ki', d, f)", "torch.einsum('bij,bkj->ikb', x, y)", "torch.einsum('bij,bij->b', x, y)",
               "torch.einsum('ij,j', m, v)", "torch.einsum('ij,ij->', m, n)", "torch.einsum('i,j->ji', v, a)", "torch.einsum('...ij,kj->...k', x, y[0])",
               "torch.einsum('ij,kj,k->i', d, f, f[:, 0])", "torch.einsum('ij->j', m)", "torch.einsum('iij->j', x[:, :5])", "torch.einsum('ii,ij->j', m[:, :8], n)", "torch.einsum('abc,adc->bda', [x, y])",
               "torch.einsum('ij->ji', m)", "torch.einsum('abc->ca', x)", "torch.einsum('abc->cb', x.permute(2, 0, 1))", "torch.einsum('abc->b', x)",
                "torch.einsum('abc,dbc->ad', x[:, :2, :3], y[:, :2, :3])"],
    "addmm": ["torch.addmm(m[:, :7], d[:8], f.t())", "torch.addmm(v[:7], d, f.t(), beta=0.5, alpha=2)", "(m[:, :7] * math.nan).addmm(d[:8], f.t(), beta=0)"],
    "baddbmm": ["torch.baddbmm(x[:, :, :6], x, y.mT)", "x[:, :1, :1].baddbmm(x, y.mT, beta=2, alpha=-1)"],
    "addmv": ["torch.addmv(r, m, v)", "r[0].addmv(m, v, alpha=0.5)"],
    "tensordot": ["torch.tensordot(d, f, ([1], [1]))", "torch.tensordot(x[:2, :3], y[:2, :3], ([0, 1], [0, 1]))", "torch.tensordot(x, y[:, 0].t()[:, 0], 1)",
                  "torch.tensordot(m, n)", "torch.tensordot(d, f[0], 0)", "torch.tensordot(x, y[:, :, :3], ([-2], [1]))"],
    "trace": ["m.trace()", "torch.trace(x[0])"],
}  # fmt: skip

REDUCED = ("reduction='none'", "reduction='mean'", "reduction='sum'", "reduction='mean', size_average=False", "reduce=False")

# name → sources whose results have the same bits in any order of addition, on floats, bools and integers
EXACT: dict[str, list[str]] = {
    "amax": ["x.amax()", "torch.amax(x, 1)", "x.amax((0, 2), True)", "b.amax((0, 1))", "u.amax(1)", "j.amax()", "x.amax(dim=())"],
    "amin": ["x.amin()", "torch.amin(x, -1)", "x.amin((0, 2), keepdim=True)", "b.amin(1)", "k.amin((1, 2))"],
    "aminmax": ["torch.aminmax(x)", "x.aminmax(dim=1)", "x.aminmax(dim=0, keepdim=True)", "u.aminmax()", "x.aminmax(keepdim=True)"],
    "max": ["x.max()", "torch.max(x, 1)", "x.max(-1, True)", "torch.max(x, dim=1, keepdim=True)", "b.max(1)", "b.max()", "u.max(0)",
            "torch.max(j)", "x.max(1).values", "x.max(1).indices", "c.max(1)", "torch.max(x, y)"],
    "min": ["x.min()", "torch.min(x, 1)", "x.min(dim=-1)", "c.min(2)", "b.min(0, True)", "k.min()"],
    "argmax": ["x.argmax()", "torch.argmax(x, 1)", "x.argmax(-1, True)", "c.argmax()", "c.argmax(1)", "x.argmax(keepdim=True)", "k.argmax(0)"],
    "argmin": ["x.argmin()", "torch.argmin(x, dim=1)", "u.argmin(2, keepdim=True)", "c.argmin()"],
    "any": ["b.any()", "torch.any(x, 1)", "c.any(1)", "c.any()", "b.any((0, 1), True)", "u.any(dim=())", "b.any(dim=())", "(k > 8).any(0)",
            "x.any(keepdim=True)"],
    "all": ["b.all()", "torch.all(x, 1)", "c.all(1)", "c.all()", "b.all((0, 1), keepdim=True)", "x.all(dim=())", "(k > -9).all(2)"],
    "count_nonzero": ["torch.count_nonzero(k)", "c.count_nonzero(1)", "b.count_nonzero((0, 2))", "x.count_nonzero()", "k.count_nonzero(())"],
    "sum": ["k.sum()", "b.sum(1)", "u.sum()", "j.sum((0, 1))", "k.sum(0, dtype=torch.int32)", "u.sum(1, dtype=torch.uint8)", "k.sum(dtype=torch.bool)",
            "c.sum(-1, keepdim=True)"],
    "nansum": ["k.nansum()", "c.nansum(1)"],
    "prod": ["j[:2, :2].prod(0)", "b.prod(1)", "k.prod(dim=2)", "c.prod()", "k.prod(dtype=torch.bool)"],
    "mean": ["k.float().mean(1)", "b.double().mean()"],
}  # fmt: skip


# Source that fails → the reason. A source that no longer fails must be removed.
KNOWN = {}
KNOWN_IN_NUMERICS_OF_EAGER = {}


def texts_of(table: dict[str, list[str]]) -> list[str]:
    """The sources of a table. A loss has one source per reduction mode."""
    expanded = []
    for text in (text for texts in table.values() for text in texts):
        expanded += [text.replace("REDUCED", reduction) for reduction in REDUCED] if "REDUCED" in text else [text]
    return expanded


# On x of 3 × n, for several n.
SIZED = ["x.sum(1)", "x.sum()", "x.sum(0)", "x.t().sum(0)", "x.mean(1)", "(1 + x / 1000).prod(1)", "x.var(1)", "torch.var_mean(x)",
         "x.logsumexp(1)", "x.softmax(1)", "x.t().softmax(0)", "x.softmax(0)", "x.log_softmax(-1)", "x.norm(dim=1)", "x.norm(3)",
         "F.layer_norm(x, x.shape[1:])", "x.nansum(1)", "F.normalize(x)", "F.mse_loss(x, x * 2)"]  # fmt: skip
SIZED_EXACT = ["x.any(1)", "(x < 9).all(1)", "x.count_nonzero(1)", "(x * 8).long().sum(1)", "(x > 1).sum()", "(x * 8).to(torch.int32).sum(0)"]
SIZED_NONEMPTY = ["x.amax(1)", "x.max(1)", "x.max()", "x.t().max(0)", "(x * 2).round().argmax(1)", "(x * 2).round().argmin()",
                  "(x * 2).round().min(1)", "x.aminmax(dim=1)", "x.amin((0, 1))", "(x > 1).max(1)"]  # fmt: skip

# Views and gathers of results, reductions of reductions, and several reductions in one op, on the inputs of `inputs_of`.
COMPOSED = [
    "x.sum(1).t()", "x.sum(1)[:, 2:5]", "x.sum(1, keepdim=True).expand(5, 6, 7) + x", "x.sum(1)[i]", "x.sum(1).flip(0)",
    "x.amax(1).index_select(0, t % 5)", "x.softmax(-1)[..., 0]", "x.softmax(1).transpose(0, 2)", "x.softmax(1).flatten(1).sum(1)",
    "torch.stack([x.sum(1), x.amax(1)], 1)", "torch.cat([m.sum(0), m.mean(0)])", "m.sum(0) + v", "m.sum(1)[:, None] * m",
    "x.sum(1).sum(0)", "x.sum(1).amax(-1)", "x.mean(0).var()", "(x - x.mean((0, 1), True)).abs().amax(1)", "x.sum(0).softmax(1)",
    "(m - m.amax(1, True)).exp().sum(1).log()", "m.softmax(1).log_softmax(0)", "F.layer_norm(x.softmax(1), (7,)).amax((0, 2))",
    "(x.sum(1), x.sum(2), x.sum())", "(x.sum(1), x.amax(1), x * 2)", "(m.max(1).values, m.min(0).indices, m + v)", "(x.var(1), x.mean(1), x.std(1))",
    "torch.where(x > x.mean(1, True), x, 0).sum(1)", "torch.gather(m, 1, m.argmax(1, True))", "m[m.argmax(0), m[0].argmax()]",
    "m.gather(0, n.argmin(0, keepdim=True)).sum()", "x[x.sum((1, 2)).argmax()]", "x.view(30, 7).sum(1)", "x.flatten(0, 1).sum(0)",
    "x.unflatten(1, (2, 3)).sum(2)", "x.unfold(2, 3, 2).sum(-1)", "x.diagonal(dim1=0, dim2=1).sum(0)", "x[:, ::2].sum(1)", "x[1:, :, None].sum((0, 2))",
    "x[..., 0].sum(0)", "torch.cat([m, n], 1).sum(1)", "torch.stack([m, n]).amax(0)", "torch.cat([m, n]).logsumexp(0)", "F.pad(m, (1, 2)).mean(1)",
    "m.roll(3, 1).argmax(1)", "m.repeat(2, 2).sum(1)", "m[t % 8].sum(0)", "m[:, t].softmax(1)", "v[None].expand(4, 10).sum(0)", "m.tril().sum(1)",
    "x.sum(1) / x.sum(1).sum(1, keepdim=True)", "F.cross_entropy(m, m.argmax(1))", "(m.softmax(1) * m.log_softmax(1)).sum(1).mean()",
    "x.permute(2, 0, 1).sum(0)", "x.mT.amax(-1)", "x[None].sum(2)", "x.sum(1).unsqueeze(1) - x", "v.sum() * v", "i * v.sum() + k.sum()",
    "b.sum(1).argmax(1)", "torch.var_mean(torch.cat([m, n]), 0)[1]",
]  # fmt: skip
