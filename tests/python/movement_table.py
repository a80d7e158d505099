"""Calls of the functions that move elements, as sources that both Ingot and PyTorch evaluate.

x is a matrix, v a vector, cube has rank 3, image rank 4, s rank 0, and i is an integer matrix of small numbers.
"""

MOVED = {
    "roll": ["x.roll(1, 0)", "x.roll(-2, -1)", "torch.roll(cube, (1, -5), (0, 2))", "image.roll(7, 1)", "v.roll(3)", "x.roll(5)",
             "x.roll((1, 2), (0, 1)) + x", "x.roll(0, 0)", "s.roll(1)"],
    "rot90": ["x.rot90()", "torch.rot90(x, 2)", "x.rot90(-1)", "x.rot90(4)", "cube.rot90(1, (0, 2))", "cube.rot90(3, [-1, 1])"],
    "repeat": ["x.repeat(1, 2)", "x.repeat(3, 1, 2)", "v.repeat((2, 2))", "cube.repeat(2, 1, 0)", "s.repeat(3)",
               "x.repeat(2, 1)[1:, 1:]", "x.repeat(2, 2) * 2"],
    "tile": ["x.tile((1, 2))", "x.tile(2)", "torch.tile(cube, (2, 1, 1, 2))", "v.tile(3, 2)", "s.tile(2)", "image.tile((1,))"],
    "repeat_interleave": ["x.repeat_interleave(2, 1)", "torch.repeat_interleave(x, 3)", "cube.repeat_interleave(2, dim=-3)",
                          "x.repeat_interleave(1, 0)", "x.repeat_interleave(0, 0)", "v.repeat_interleave(2, 0, output_size=2 * v.size(0))"],
    "pad": ["F.pad(x, (1, 2))", "F.pad(x, (1, 2, 3, 0), value=7)", "F.pad(image, (1, 1, 2, 2))", "F.pad(x, (-1, 2))", "F.pad(image, (-1, -1))",
            "F.pad(x, (0, 0))", "F.pad(x, ())", "F.pad(v, [2, 3], 'constant', 1.7)", "F.pad(cube, (0, 1, 0, 0, 1, 0))",
            "F.pad(x, (1, 1)) + F.pad(x, (2, 0))", "F.pad(x, (1, 1))[:, 1:-1]"],
    "tril": ["x.tril()", "torch.tril(cube, -1)", "image.tril(1)", "x.tril(100)", "x.t().tril(2) + x.t()"],
    "triu": ["x.triu()", "torch.triu(cube, diagonal=1)", "image.triu(-2)", "x.triu(-100)"],
    "diagonal": ["x.diagonal()", "torch.diagonal(x, 1)", "x.diagonal(-2)", "cube.diagonal(1, -1, 0)", "image.diagonal(0, 2, 3) * 2",
                 "x.diagonal(99)", "x[:, :1].diagonal() + v", "(x + v).diagonal()", "F.pad(x, (1, 1)).diagonal(1)",
                 "x.t().diagonal().unsqueeze(0)"],
    "diag_embed": ["torch.diag_embed(x)", "v.diag_embed(2)", "x.diag_embed(-1)", "x.diag_embed(1, 0, 2)", "cube.diag_embed(0, 1, -1)"],
    "diag": ["x.diag()", "torch.diag(v)", "x.diag(-1)", "v.diag(1)"],
    "diagflat": ["x.diagflat()", "torch.diagflat(v, -1)"],
    "unfold": ["x.unfold(1, 2, 2)", "x.unfold(0, 1, 1)", "cube.unfold(-1, 2, 1) * 2", "v.unfold(0, v.size(0), 3)", "s.unfold(0, 1, 1)",
               "image.unfold(2, 2, 1).unfold(3, 2, 2)", "x.t().unfold(0, 1, 2)", "F.pad(v, (1, 1)).unfold(0, 3, 1)"],
    "pixel_shuffle": ["F.pixel_shuffle(image, 2)", "torch.pixel_shuffle(image[0], 2)", "F.pixel_shuffle(cube.unsqueeze(0), 1)"],
    "pixel_unshuffle": ["F.pixel_unshuffle(image, 2)", "torch.pixel_unshuffle(image[0], 2)"],
    "channel_shuffle": ["torch.channel_shuffle(image, 2)", "F.channel_shuffle(image, 4) + image", "torch.channel_shuffle(image, 1)"],
    "kron": ["torch.kron(v, v)", "torch.kron(x.contiguous(), v)", "cube.contiguous().kron(x.contiguous())", "torch.kron(s, x.contiguous())"],
    "outer": ["torch.outer(v, v)", "x[:, 0].outer(x[0])"],
    "ger": ["torch.ger(v, x[0])"],
    "meshgrid": ["torch.meshgrid(v, x[0], indexing='ij')[0]", "torch.meshgrid([v, x[0]], indexing='xy')[1]",
                 "torch.meshgrid(v, x[0], s, indexing='xy')[0]", "torch.meshgrid(v, indexing='ij')[0]"],
    "one_hot": ["F.one_hot(i, 9)", "F.one_hot(i[0], num_classes=9)"],
    "embedding": ["F.embedding(i.clamp(max=x.size(0) - 1), x)", "F.embedding(i[:, 0] * 0, x, padding_idx=0) * 2"],
    "take_along_dim": ["torch.take_along_dim(x, i * 0, 0)", "x.take_along_dim(i[:1] % 2, dim=-1)"],
    "interpolate": ["F.interpolate(image, scale_factor=2)", "F.interpolate(cube, scale_factor=3.0, mode='nearest')",
                    "F.interpolate(image, scale_factor=0.5)", "F.interpolate(image, size=(8, 4))", "F.interpolate(image, size=5)",
                    "F.interpolate(image, scale_factor=(1.7, 2.5))", "F.interpolate(cube, scale_factor=2, mode='nearest-exact')",
                    "F.interpolate(image, scale_factor=1.3, recompute_scale_factor=True)", "F.interpolate(cube, size=41 * 4)"],
    "atleast_1d": ["torch.atleast_1d(s)", "torch.atleast_1d(x)", "torch.atleast_1d(s, x)[0]"],
    "atleast_2d": ["torch.atleast_2d(s)", "torch.atleast_2d([v, x])[0]"],
    "atleast_3d": ["torch.atleast_3d(v)", "torch.atleast_3d(x)", "torch.atleast_3d(s)"],
    "hstack": ["torch.hstack([v, v])", "torch.hstack((x, x, x))", "torch.hstack([s, v])"],
    "vstack": ["torch.vstack([v, v * 2])", "torch.vstack((cube, cube))"],
    "row_stack": ["torch.row_stack([v, v])"],
    "dstack": ["torch.dstack([v, v])", "torch.dstack([x, x])", "torch.dstack([cube, cube])"],
    "column_stack": ["torch.column_stack([v, v])", "torch.column_stack([x[:, 0], x])", "torch.column_stack([s, s])"],
    "tensor_split": ["x.tensor_split(2, 1)[0]", "x.tensor_split(3, -1)[1]", "torch.tensor_split(x, (1, 3), 1)[1]",
                     "x.tensor_split([3, 1], dim=1)[1]", "x.tensor_split((-2,), 1)[1]", "v.tensor_split(4)[3]"],
    "hsplit": ["x.hsplit(1)[0]", "v.hsplit([2])[1]", "torch.hsplit(x, (1,))[0]"],
    "vsplit": ["x.vsplit([1])[1]", "torch.vsplit(cube, 1)[0]"],
    "dsplit": ["cube.dsplit([1])[0]", "torch.dsplit(image, (2,))[1]"],
    "split_with_sizes": ["x.split_with_sizes([1, x.size(1) - 1], 1)[1]"],
    "fliplr": ["torch.fliplr(x)", "cube.fliplr()"],
    "flipud": ["torch.flipud(v)", "x.flipud()"],
    "flip": ["x.flip(0, 1)", "torch.flip(cube, [-1])", "image.flip((1, 3)) * 2", "x.flip([])"],
    "broadcast_shapes": ["x.expand(torch.broadcast_shapes(x.shape, (3, 1, 1)))", "v.expand(torch.broadcast_shapes(2, (1,), (4, 1)) + v.shape)"],
    "block_diag": ["torch.block_diag(x, v, s)", "torch.block_diag(x)"],
    "cartesian_prod": ["torch.cartesian_prod(v, x[0])", "torch.cartesian_prod(v)"],
}  # fmt: skip

# For floating-point dtypes only. The dims of `cube` and `image` are large enough to be padded by their own elements
# (modes reflect, replicate and circular).
FLOATING = {
    "pad": ["F.pad(image, (1, 2), mode='reflect')", "F.pad(cube, (2, 1), 'reflect')", "F.pad(image, (1, 1, 1, 1), mode='reflect')",
            "F.pad(cube, (1, 0, 0, 1), mode='reflect')", "F.pad(cube, (-1, 2), mode='reflect')", "F.pad(image, (1, 1, 1, 0, 0, 1), mode='reflect')",
            "F.pad(image, (3, 5), mode='replicate')", "F.pad(image, (1, 1, 0, 2), mode='replicate')", "F.pad(cube, (2, -1), mode='replicate')",
            "F.pad(image, (1, 1, 1, 0, 0, 1), mode='replicate')", "F.pad(cube, (2, 1), mode='circular')",
            "F.pad(image, (1, 1, 2, 0), mode='circular')", "F.pad(cube, (-1, 1), mode='circular')", "F.pad(x, (1, 2), mode='circular')"],
    # The condition always holds, also for a NaN; `where` makes the result depend on a tensor without rounding it.
    "linspace": [f"torch.where(v[:1].isnan() >= 0, torch.linspace({arguments}), {other})" for arguments, other in (
                     ("0, 1, v.size(0), dtype=v.dtype", "v"), ("-3, 2.7, 33, dtype=v.dtype", "v[:1]"), ("4, -1.3, steps=2", "1.0"),
                     ("0.1, 9, 1", "1.0"), ("0, 50, 7, dtype=torch.int64", "1"))],
}  # fmt: skip

# Sources with a run-time integer k, and the values of k to call them with.
NUMBERED = {
    "x.roll(k, 1)": (0, 1, -1, 7, -20), "x.repeat(k, 2)": (0, 1, 3), "x.repeat_interleave(k, 0)": (1, 2), "F.pad(x, (k, 1))": (0, 2, -2),
    "F.pad(x, (0, k - x.size(1)))": (6, 8, 4), "x.tril(k)": (0, 1, -3, 50), "x.triu(k)": (0, -1, 3), "x.diagonal(k)": (0, 1, -1, 3, 9, -9),
    "x.rot90(k)": (0, 1, -5), "F.one_hot(i, k)": (9, 12), "cube.unfold(1, k, 1)": (1, 3), "x.tensor_split(k)[0]": (1, 3),
    "F.pad(cube, (k, 1), mode='reflect')": (0, 2, -1), "F.pad(cube, (k, 1), mode='replicate')": (0, 2, -1),
    "F.pad(cube, (k, 1), mode='circular')": (0, 2, -1), "v.diag_embed(k)": (0, 2, -2), "F.interpolate(cube, size=k)": (4, 8, 3, 7),
    "F.interpolate(cube, scale_factor=k)": (1, 2), "(x[:k] + x).diagonal()": (1, 4), "(x[:k] + x).t().diagonal()": (1, 4),
    "(x[:k] + x).unfold(0, 2, 1)": (1, 4),
}  # fmt: skip

# Sources that eager and Ingot reject.
REJECTED = [
    "x.roll((1, 2), 0)", "x.roll(1, 2)", "s.roll(1, 0)", "x.rot90(1, (0, 0))", "x.rot90(1, (0, -2))", "v.rot90()", "x.rot90(1, (0, 1, 1))",
    "x.repeat(2)", "x.repeat(-1, 2)", "x.tile(-1, 1)", "x.repeat_interleave(-1, 0)", "x.repeat_interleave(2, 2)",
    "x.repeat_interleave(2, 0, output_size=3)", "F.pad(x, (1, 1, 1))", "F.pad(x, (1, 1, 1, 1, 1, 1))", "F.pad(x, (-4, -4))",
    "F.pad(x, (1, 1, 1, 1), mode='reflect')", "F.pad(cube, (4, 1), mode='reflect')", "F.pad(cube, (5, 1), mode='circular')",
    "F.pad(cube, (1, 1), mode='reflect', value=1.0)", "F.pad(cube, (1, 1), mode='mirror')", "F.pad(i.to(torch.int8), (1, 1), value=300)",
    "v.tril()", "v.triu(1)", "v.diagonal()", "x.diagonal(0, 1, 1)", "x.diagonal(0, 0, 2)", "torch.diag_embed(x, 0, 1, 1)", "torch.diag(cube)",
    "x.unfold(0, 5, 1)", "x.unfold(0, 2, 0)", "x.unfold(2, 1, 1)", "F.pixel_shuffle(image, 3)", "F.pixel_unshuffle(image, 3)",
    "F.pixel_shuffle(x, 2)", "torch.channel_shuffle(image, 3)", "torch.outer(x, v)", "torch.kron(x.t(), x)", "torch.meshgrid(x, v, indexing='ij')[0]",
    "torch.meshgrid(v, v.double(), indexing='ij')[0]", "torch.meshgrid(v, v, indexing='yx')[0]", "F.one_hot(v, 5)", "F.one_hot(i, -2)",
    "F.embedding(i, v)", "F.embedding(v, x)", "F.embedding(i * 0 - 1, x)", "F.embedding(i, x, padding_idx=4)",
    "torch.take_along_dim(x, i[0], 0)", "torch.take_along_dim(x, x, 0)", "F.interpolate(x, scale_factor=2)", "F.interpolate(image)",
    "F.interpolate(image, size=(4, 4, 4))", "F.interpolate(image, size=8, scale_factor=2)", "F.interpolate(image, scale_factor=2, align_corners=True)",
    "F.interpolate(image, scale_factor=0.1)", "x.hsplit(4)[0]", "v.vsplit(1)[0]", "x.dsplit(1)[0]", "s.hsplit(1)[0]", "s.tensor_split(1)[0]",
    "x.tensor_split(0)[0]", "torch.fliplr(v)", "torch.flipud(s)", "torch.hstack([x, v])", "torch.dstack([x, cube])",
    "x.expand(torch.broadcast_shapes((4, 6), (3, 6)))", "torch.block_diag(cube)", "torch.cartesian_prod(x)", "torch.vstack([])",
    "torch.repeat(x, 2, 2)",
]  # fmt: skip
