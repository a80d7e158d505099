"""A table of every supported function, with PyTorch's own function of that name. test_names.py compares their results.

A row's text is the source that Ingot runs. Its `eager` is a Python function that calls PyTorch directly: for the text
`gelu(x)` it is F.gelu. The inputs of a pointwise row are x, y and z. The inputs of a view are x, a float matrix, or cube,
a float tensor of rank 3, and i, an index.
"""

from __future__ import annotations

import dataclasses
import typing

import torch
import torch.nn.functional as F


@dataclasses.dataclass(frozen=True)
class Row:
    """`name`: the supported function; empty for an operator. `arity`: the number of tensors. `exact`: a single step of IEEE or
    integer arithmetic, so that all platforms have the same bits. `kinds`: the kinds of dtypes to try: b(ool), i(ntegral),
    f(loating)."""

    name: str
    text: str
    eager: typing.Callable
    arity: int
    exact: bool = True
    kinds: str = "bif"

    @property
    def inputs(self) -> str:
        return ", ".join("xyz"[: self.arity])


def named_rows(names: str, arity: int, exact: bool, module=torch, kinds: str = "bif") -> list[Row]:
    """Rows of functions that Ingot and PyTorch call by the same name with the same arguments."""
    inputs = ", ".join("xyz"[:arity])
    return [Row(n, f"{n}({inputs})", getattr(module, n), arity, exact, kinds) for n in names.split()]


POLYNOMIALS = """chebyshev_polynomial_t chebyshev_polynomial_u chebyshev_polynomial_v chebyshev_polynomial_w
    shifted_chebyshev_polynomial_t shifted_chebyshev_polynomial_u shifted_chebyshev_polynomial_v
    shifted_chebyshev_polynomial_w hermite_polynomial_h hermite_polynomial_he laguerre_polynomial_l
    legendre_polynomial_p""".split()

# Random numbers differ from PyTorch's: test_random_numbers.py tests these.
RANDOM = set("""rand rand_like randn randn_like randint randint_like bernoulli dropout1d dropout2d dropout3d feature_dropout
    feature_alpha_dropout""".split())

UNARY = [
    *named_rows("neg negative abs absolute sign sgn floor ceil trunc fix round frac square relu isnan isinf isfinite isneginf", 1, True),
    *named_rows("isposinf signbit logical_not bitwise_not reciprocal positive nan_to_num conj real isreal", 1, True),
    *named_rows("relu6 hardtanh hardswish hardsigmoid leaky_relu hardshrink softshrink", 1, True, F, "if"),
    *named_rows("exp exp2 expm1 log log2 log10 log1p sin cos tan asin arcsin acos arccos atan arctan sinh cosh tanh", 1, False),
    *named_rows("asinh arcsinh acosh arccosh atanh arctanh erf erfc erfinv lgamma digamma sigmoid sqrt rsqrt deg2rad rad2deg", 1, False),
    *named_rows("sinc logit i0 selu celu", 1, False),
    *named_rows("expit erfcx ndtr ndtri gammaln psi entr i0e i1 i1e log_ndtr bessel_j0 bessel_j1", 1, False, torch.special),
    *named_rows("bessel_y0 bessel_y1 modified_bessel_i0 modified_bessel_i1 modified_bessel_k0 modified_bessel_k1", 1, False, torch.special),
    *named_rows("scaled_modified_bessel_k0 scaled_modified_bessel_k1 spherical_bessel_j0 airy_ai", 1, False, torch.special),
    *named_rows("i1", 1, False, torch.special),
    *named_rows("angle conj_physical resolve_conj resolve_neg", 1, True),
    *named_rows("rrelu", 1, True, F, "f"),
    *(Row("frexp", f"torch.frexp(x)[{k}]", lambda x, k=k: torch.frexp(x)[k], 1) for k in (0, 1)),
    *(Row("polygamma", f"torch.polygamma({n}, x)", lambda x, n=n: torch.polygamma(n, x), 1, False) for n in range(5)),
    *(Row("mvlgamma", f"x.mvlgamma({p})", lambda x, p=p: x.mvlgamma(p), 1, False) for p in (1, 3)),
    Row("multigammaln", "special.multigammaln(x, 2)", lambda x: torch.special.multigammaln(x, 2), 1, False),
    *(Row("round", f"torch.round(x, decimals={d})", lambda x, d=d: torch.round(x, decimals=d), 1) for d in (0, 3, -3)),
    Row("fill", "torch.fill(x, 3)", lambda x: torch.fill(x, 3), 1),
    Row("dropout", "F.dropout(x, 0.3, training=False)", lambda x: F.dropout(x, 0.3, training=False), 1),
    Row("alpha_dropout", "F.alpha_dropout(x, 0.3)", lambda x: F.alpha_dropout(x, 0.3), 1),
    Row("expit", "torch.special.expit(x) + special.exp2(x)", lambda x: torch.special.expit(x) + torch.special.exp2(x), 1, False),
    Row("finfo", "x * torch.finfo(x.dtype).eps", lambda x: x * torch.finfo(x.dtype).eps, 1, True, "f"),
    *(Row("finfo", f"x * torch.finfo(x.dtype).{a}", lambda x, a=a: x * getattr(torch.finfo(x.dtype), a), 1, True, "f")
      for a in ("tiny", "smallest_normal", "resolution", "bits")),
    Row("finfo", "torch.maximum(x, torch.full_like(x, torch.finfo(x.dtype).min)) * 1",
        lambda x: torch.maximum(x, torch.full_like(x, torch.finfo(x.dtype).min)) * 1, 1, True, "f"),
    Row("iinfo", "x & torch.iinfo(x.dtype).max", lambda x: x & torch.iinfo(x.dtype).max, 1, True, "i"),
    Row("iinfo", "x | torch.iinfo(x.dtype).min", lambda x: x | torch.iinfo(x.dtype).min, 1, True, "i"),
    *named_rows("silu gelu mish softplus elu logsigmoid softsign tanhshrink", 1, False, F, "f"),
    Row("gelu", "gelu(x, approximate='tanh')", lambda x: F.gelu(x, approximate="tanh"), 1, False, "f"),
    Row("elu", "F.elu(x, 0.5)", lambda x: F.elu(x, 0.5), 1, False, "f"),
    Row("softplus", "F.softplus(x, beta=2, threshold=5)", lambda x: F.softplus(x, beta=2, threshold=5), 1, False, "f"),
    Row("leaky_relu", "F.leaky_relu(x, negative_slope=0.2)", lambda x: F.leaky_relu(x, negative_slope=0.2), 1, True, "f"),
    Row("hardtanh", "F.hardtanh(x, -2.0, 2.0)", lambda x: F.hardtanh(x, -2.0, 2.0), 1, True, "f"),
    Row("threshold", "F.threshold(x, 0.1, 20.0)", lambda x: F.threshold(x, 0.1, 20.0), 1, True, "f"),
    Row("logit", "torch.logit(x, eps=1e-3)", lambda x: torch.logit(x, eps=1e-3), 1, False, "f"),
    Row("nan_to_num", "x.nan_to_num(nan=1.0, posinf=2.0)", lambda x: x.nan_to_num(nan=1.0, posinf=2.0), 1, True, "f"),
    Row("clamp", "clamp(x, -1, 2)", lambda x: torch.clamp(x, -1, 2), 1),
    Row("clamp", "x.clamp(min=0)", lambda x: x.clamp(min=0), 1),
    Row("clip", "clip(x, 0, 1)", lambda x: torch.clip(x, 0, 1), 1),
    Row("clamp_min", "clamp_min(x, 0)", lambda x: torch.clamp_min(x, 0), 1),
    Row("clamp_max", "clamp_max(x, 1)", lambda x: torch.clamp_max(x, 1), 1),
    Row("zeros_like", "zeros_like(x)", torch.zeros_like, 1),
    Row("ones_like", "ones_like(x)", torch.ones_like, 1),
    Row("full_like", "full_like(x, 3)", lambda x: torch.full_like(x, 3), 1),
    Row("detach", "x.detach()", torch.Tensor.detach, 1),
    Row("clone", "x.clone()", torch.clone, 1),
    Row("contiguous", "x.contiguous()", torch.Tensor.contiguous, 1),
    Row("type_as", "x.type_as(x)", lambda x: x.type_as(x), 1),
    Row("is_floating_point", "x * (2 if x.is_floating_point() else 3)", lambda x: x * (2 if x.is_floating_point() else 3), 1),
    Row("numel", "x * x.numel()", lambda x: x * x.numel(), 1),
    Row("dim", "x * x.dim()", lambda x: x * x.dim(), 1),
    Row("ndim", "x * x.ndim", lambda x: x * x.ndim, 1),
    Row("ndimension", "x * x.ndimension()", lambda x: x * x.ndimension(), 1),
    Row("nelement", "x * x.nelement()", lambda x: x * x.nelement(), 1),
    Row("size", "x * len(x.size())", lambda x: x * len(x.size()), 1),
    Row("shape", "x * len(x.shape)", lambda x: x * len(x.shape), 1),
    Row("dtype", "x.to(x.dtype)", lambda x: x.to(x.dtype), 1),
    Row("itemsize", "x * x.itemsize", lambda x: x * x.itemsize, 1),
    Row("element_size", "x * x.element_size()", lambda x: x * x.element_size(), 1),
]

CASTS = [
    Row(name, f"clamp(nan_to_num(x, posinf=100, neginf=-100), -100, 100).{name}()",
        lambda x, name=name: getattr(torch.clamp(torch.nan_to_num(x, posinf=100, neginf=-100), -100, 100), name)(), 1, True, "if")
    for name in ("float", "double", "half", "bfloat16", "int", "long", "short", "char", "bool")
] + [
    Row("byte", "clamp(x, 0, 200).byte()", lambda x: torch.clamp(x, 0, 200).byte(), 1, True, "i"),
    Row("to", "x.to(torch.float64)", lambda x: x.to(torch.float64), 1),
    Row("type", "x.type(torch.float32)", lambda x: x.type(torch.float32), 1),
]  # fmt: skip

BINARY = [
    *named_rows("maximum minimum fmax fmin copysign nextafter eq ne lt le gt ge not_equal less less_equal greater", 2, True),
    *named_rows("greater_equal logical_and logical_or logical_xor bitwise_and bitwise_or bitwise_xor heaviside isclose", 2, True),
    *named_rows("add sub subtract mul multiply div divide true_divide rsub", 2, True),
    # Ingot's results are exact. Eager's vector loops are not exact if the quotient has more digits than the type, and eager
    # rounds 16-bit floats between its steps.
    *named_rows("remainder fmod floor_divide", 2, False),
    *named_rows("bitwise_left_shift bitwise_right_shift", 2, True, kinds="i"),
    *named_rows("atan2 arctan2 hypot xlogy logaddexp logaddexp2 pow ldexp", 2, False, kinds="f"),
    Row("float_power", "float_power(x, y)", torch.float_power, 2, False),
    Row("float_power", "torch.float_power(x, 3)", lambda x, y: torch.float_power(x, 3), 2, False),
    *named_rows("xlog1py", 2, False, torch.special),
    *named_rows("zeta", 2, False, torch.special),
    *named_rows("gcd", 2, True, kinds="i"),
    # Eager's kernel divides the least integer by -1, which raises a processor exception.
    Row("lcm", "lcm(x // 2, y // 2)", lambda x, y: torch.lcm(x // 2, y // 2), 2, True, "i"),
    *(Row(name, f"special.{name}(abs(x), abs(y))", lambda x, y, f=getattr(torch.special, name): f(x.abs(), y.abs()), 2, False, "f")
      for name in ("gammainc", "gammaincc")),
    *named_rows("igamma igammac", 2, False, kinds="f"),
    Row("zeta", "special.zeta(3, y)", lambda x, y: torch.special.zeta(3, y), 2, False),
    Row("zeta", "special.zeta(x, 2.5)", lambda x, y: torch.special.zeta(x, 2.5), 2, False),
    # For NaN, eager's kernels return what the result's memory held before.
    *(Row(name, f"special.{name}(x.nan_to_num(0.5).clamp(-3, 3), y.nan_to_num().clamp(-2, 12))",
          lambda x, y, f=getattr(torch.special, name): f(x.nan_to_num(0.5).clamp(-3, 3), y.nan_to_num().clamp(-2, 12)), 2, False, "if")
      for name in POLYNOMIALS),
    *(Row(name, f"special.{name}(x.nan_to_num(), 4)", lambda x, y, f=getattr(torch.special, name): f(x.nan_to_num(), 4), 2, False)
      for name in POLYNOMIALS),
    Row("add", "torch.add(x, y, alpha=2)", lambda x, y: torch.add(x, y, alpha=2), 2, True, "i"),
    Row("add", "x.add(y, alpha=0.3)", lambda x, y: x.add(y, alpha=0.3), 2, False, "f"),
    Row("sub", "x.sub(y, alpha=0.3)", lambda x, y: x.sub(y, alpha=0.3), 2, False, "f"),
    Row("div", "torch.div(x, y, rounding_mode='floor')", lambda x, y: torch.div(x, y, rounding_mode="floor"), 2, False),
    Row("div", "x.div(y, rounding_mode='trunc')", lambda x, y: x.div(y, rounding_mode="trunc"), 2, False),
    Row("max", "max(x, y)", torch.max, 2),
    Row("min", "min(x, y)", torch.min, 2),
    Row("expand_as", "x.expand_as(y)", lambda x, y: x.expand_as(y), 2),
    Row("view_as", "x.view_as(y) + y", lambda x, y: x.view_as(y) + y, 2, True, "i"),
    Row("reshape_as", "x.reshape_as(y) + y", lambda x, y: x.reshape_as(y) + y, 2, True, "i"),
    Row("mse_loss", "F.mse_loss(x, y, reduction='none')", lambda x, y: F.mse_loss(x, y, reduction="none"), 2, False, "f"),
    Row("l1_loss", "F.l1_loss(x, y, reduction='none')", lambda x, y: F.l1_loss(x, y, reduction="none"), 2, True, "f"),
    Row("smooth_l1_loss", "F.smooth_l1_loss(x, y, reduction='none')",
        lambda x, y: F.smooth_l1_loss(x, y, reduction="none"), 2, False, "f"),
    Row("huber_loss", "F.huber_loss(x, y, reduction='none', delta=0.5)",
        lambda x, y: F.huber_loss(x, y, reduction="none", delta=0.5), 2, False, "f"),
    Row("soft_margin_loss", "F.soft_margin_loss(x, y, reduction='none')",
        lambda x, y: F.soft_margin_loss(x, y, reduction="none"), 2, False, "f"),
    Row("binary_cross_entropy", "F.binary_cross_entropy(x.nan_to_num().clamp(0.1, 0.9), y.nan_to_num().clamp(0.1, 0.9), reduction='none')",
        lambda x, y: F.binary_cross_entropy(x.nan_to_num().clamp(0.1, 0.9), y.nan_to_num().clamp(0.1, 0.9), reduction="none"),
        2, False, "f"),
    Row("binary_cross_entropy_with_logits", "F.binary_cross_entropy_with_logits(x, y, reduction='none')",
        lambda x, y: F.binary_cross_entropy_with_logits(x, y, reduction="none"), 2, False, "f"),
    Row("kl_div", "F.kl_div(x, y, reduction='none')", lambda x, y: F.kl_div(x, y, reduction="none"), 2, False, "f"),
    Row("poisson_nll_loss", "F.poisson_nll_loss(x, y, reduction='none')",
        lambda x, y: F.poisson_nll_loss(x, y, reduction="none"), 2, False, "f"),
    Row("kl_div", "F.kl_div(x, y, reduction='none', log_target=True)",
        lambda x, y: F.kl_div(x, y, reduction="none", log_target=True), 2, False, "f"),
    Row("poisson_nll_loss", "F.poisson_nll_loss(x, y, log_input=False, full=True, reduction='none')",
        lambda x, y: F.poisson_nll_loss(x, y, log_input=False, full=True, reduction="none"), 2, False, "f"),
    Row("hinge_embedding_loss", "F.hinge_embedding_loss(x, sign(y), 0.5, reduction='none')",
        lambda x, y: F.hinge_embedding_loss(x, torch.sign(y), 0.5, reduction="none"), 2, False, "f"),
    Row("smooth_l1_loss", "F.smooth_l1_loss(x, y, reduction='none', beta=0.0)",
        lambda x, y: F.smooth_l1_loss(x, y, reduction="none", beta=0.0), 2, True, "f"),
    Row("glu", "F.glu(stack([x, y], 0), 0)", lambda x, y: F.glu(torch.stack([x, y], 0), 0), 2, False, "f"),
]  # fmt: skip

TERNARY = [
    Row("where", "where(x > y, y, z)", lambda x, y, z: torch.where(x > y, y, z), 3),
    Row("where", "torch.where(x != 0, y, 2)", lambda x, y, z: torch.where(x != 0, y, 2), 3),
    Row("masked_fill", "y.masked_fill(x > z, 3)", lambda x, y, z: y.masked_fill(x > z, 3), 3),
    Row("gaussian_nll_loss", "F.gaussian_nll_loss(x, y, z * z + 1, full=True, reduction='none')",
        lambda x, y, z: F.gaussian_nll_loss(x, y, z * z + 1, full=True, reduction="none"), 3, False, "f"),
    Row("gaussian_nll_loss", "F.gaussian_nll_loss(x, y, 0.3, reduction='none')",
        lambda x, y, z: F.gaussian_nll_loss(x, y, 0.3, reduction="none"), 3, False, "f"),
    Row("margin_ranking_loss", "F.margin_ranking_loss(x, y, sign(z), margin=0.3, reduction='none')",
        lambda x, y, z: F.margin_ranking_loss(x, y, torch.sign(z), margin=0.3, reduction="none"), 3, False, "f"),
    Row("binary_cross_entropy", "F.binary_cross_entropy(x.nan_to_num().clamp(0.1, 0.9), y.nan_to_num().clamp(0.1, 0.9), z, reduction='none')",
        lambda x, y, z: F.binary_cross_entropy(x.nan_to_num().clamp(0.1, 0.9), y.nan_to_num().clamp(0.1, 0.9), z, reduction="none"), 3, False, "f"),
    Row("binary_cross_entropy_with_logits", "F.binary_cross_entropy_with_logits(x, y, x, pos_weight=z, reduction='none')",
        lambda x, y, z: F.binary_cross_entropy_with_logits(x, y, x, pos_weight=z, reduction="none"), 3, False, "f"),
    *(Row(name, f"F.{name}(x, y, weight=z, reduction='none')",
          lambda x, y, z, f=getattr(F, name): f(x, y, weight=z, reduction="none"), 3, False, "f")
      for name in ("mse_loss", "l1_loss", "huber_loss")),
    Row("clamp", "clamp(x, y, z)", torch.clamp, 3, True, "if"),
    Row("lerp", "torch.lerp(x, y, z)", torch.lerp, 3, False, "f"),
    Row("lerp", "x.lerp(y, 0.25)", lambda x, y, z: x.lerp(y, 0.25), 3, False, "f"),
    Row("addcmul", "torch.addcmul(x, y, z, value=0.3)", lambda x, y, z: torch.addcmul(x, y, z, value=0.3), 3, False, "f"),
    Row("addcdiv", "torch.addcdiv(x, y, z, value=0.3)", lambda x, y, z: torch.addcdiv(x, y, z, value=0.3), 3, False, "f"),
]

# Operators on tensors and numbers. In type promotion, a number has a lower priority than a tensor.
OPERATORS = [
    *(Row("", f"x {o} y", eval(f"lambda x, y: x {o} y"), 2) for o in "+ - * / < <= > >= == != & | ^".split()),
    *(Row("", f"x {o} y", eval(f"lambda x, y: x {o} y"), 2, True, "i") for o in ("<<", ">>")),
    *(Row("", f"x {o} y", eval(f"lambda x, y: x {o} y"), 2, False) for o in ("//", "%")),
    *(Row("", t, eval(f"lambda x: {t}"), 1) for t in ("-x", "+x", "~x", "abs(x)", "x + 2", "x - 1", "x * 3", "x + 2.5",
      "x * 0.5", "2 - x", "1.5 - x", "x > 0", "x > 0.3", "x == 1", "x <= 2.5", "x & 3", "x | 1", "x ^ 2", "x * True",
      "x / 2", "x / 3.0", "x // 3", "x % 3", "x // 2.5", "x % 2.5", "x ** 2", "x ** 1", "x ** 0")),
    *(Row("", t, eval(f"lambda x: {t}"), 1, False) for t in ("3 / x", "1 / x", "x ** 3", "x ** 0.5", "x ** -1", "x ** -2", "x ** 2.5",
      "2 ** x", "x ** -0.5", "2.5 ** x")),
    *(Row("", t, eval(f"lambda x: {t}"), 1, True, "i") for t in ("x << 2", "x >> 1", "3 << (x & 3)")),
]  # fmt: skip

# Inputs: x: f32[4, 6] (f32[2, 3, 4] if the source says `cube`), and i: i64[5] with values below 4.
VIEWS = {
    "t": "x.t()", "T": "x.T", "mT": "x.mT", "H": "x.H", "mH": "x.mH", "transpose": "x.transpose(0, 1)", "swapaxes": "x.swapaxes(0, 1)",
    "swapdims": "x.swapdims(0, 1)", "permute": "cube.permute(2, 0, 1)", "movedim": "cube.movedim(0, 2)",
    "moveaxis": "cube.moveaxis(2, 0)", "unsqueeze": "x.unsqueeze(1)", "squeeze": "x[:1].squeeze(0)",
    "select": "x.select(1, 2)", "narrow": "x.narrow(1, 1, 3)", "flip": "cube.flip(0, 2)", "fliplr": "torch.fliplr(x)",
    "flipud": "torch.flipud(x)", "expand": "x[:, :1].expand(4, 5)", "broadcast_to": "torch.broadcast_to(x[0], (3, 6))",
    "flatten": "cube.flatten(1)", "unflatten": "x.unflatten(1, (2, 3))", "view": "x.view(3, 8)",
    "reshape": "cube.reshape(6, 4)", "ravel": "cube.ravel()", "chunk": "x.chunk(2, 1)[1]", "split": "x.split(4, dim=1)[1]",
    "split_with_sizes": "x.split_with_sizes([2, 4], 1)[1]", "tensor_split": "x.tensor_split(2, 1)[1]",
    "unbind": "x.unbind(0)[2]", "stack": "torch.stack([x, x * 2], dim=1)", "cat": "torch.cat([x, x + 1], dim=1)",
    "concat": "torch.concat([x, x + 1], 0)", "concatenate": "torch.concatenate([x, x + 1], 0)",
    "hstack": "torch.hstack([x, x])", "vstack": "torch.vstack([x, x])", "dstack": "torch.dstack([x, x])",
    "column_stack": "torch.column_stack([x, x])", "row_stack": "torch.row_stack([x, x])",
    "take": "torch.take(x, i)", "gather": "x.gather(0, i[:4, None].expand(4, 6))",
    "index_select": "x.index_select(0, i)", "take_along_dim": "torch.take_along_dim(x, i[:, None], 0)",
    "embedding": "F.embedding(i, x)", "roll": "x.roll(1, 0)", "rot90": "x.rot90()", "diagonal": "x.diagonal()",
    "repeat": "x.repeat(1, 2)", "tile": "x.tile((1, 2))", "repeat_interleave": "x.repeat_interleave(2, 1)",
    "one_hot": "F.one_hot(i, 5)", "arange": "x + torch.arange(6)", "zeros": "x + torch.zeros(4, 1)",
    "ones": "x + torch.ones(4, 1)", "full": "x + torch.full((4, 1), 2.5)", "eye": "x[:, :4] + torch.eye(4)",
    "tril": "x.tril()", "triu": "x.triu(1)", "linspace": "x + torch.linspace(0, 1, 6)", "pad": "F.pad(x, (1, 2))",
    "atleast_1d": "torch.atleast_1d(x)", "meshgrid": "torch.meshgrid(x[0], x[1], indexing='ij')[1]",
    "prelu": "F.prelu(x, x[0])", "outer": "torch.outer(x[0], x[1])", "cross": "torch.cross(x[:, :3], x[:, 3:], dim=1)",
    "pixel_shuffle": "F.pixel_shuffle(cube.view(4, 3, 2), 2)", "broadcast_tensors": "torch.broadcast_tensors(x, x[0])[1]",
    "unfold": "x.unfold(1, 2, 2)", "scalar_tensor": "x * torch.scalar_tensor(2.5)", "tensor": "x * torch.tensor(2.5, device=x.device)",
    "empty_like": "torch.empty_like(x).copy_(x)", "copy_": "(x * 1).copy_(x[0])",
    "fill_": "(x * 1).fill_(2.5)", "zero_": "(x * 1).zero_()", "new_zeros": "x + x.new_zeros(6)", "new_ones": "x + x.new_ones(6)",
    "diff": "x.diff()", "get_default_dtype": "x * 2.0 if torch.get_default_dtype() == torch.float32 else x",
    "new_full": "x + x.new_full((6,), 2.0)",
}  # fmt: skip
# More sources with these inputs.
MORE_VIEWS = [
    "x[1]", "x[-1]", "x[1:3]", "x[:, ::2]", "x[..., 0]", "x[:, None]", "x[..., -2:]", "x[1:, 2]", "x[None, ..., None]",
    "cube[:, 1]", "cube[1, ..., 2]", "cube[:, :, -1:]", "x[i]", "x[:, i]", "x[i, i]", "x[i, 1]", "cube[:, i % 3]",
    "x[i[:, None], i]", "cube[0, i % 3]", "x[-i - 1]", "torch.stack([x[0], x[1]]).flatten()", "x.view(torch.int32)",
    "x.view(-1)", "x.reshape(2, -1)", "cube.view(2, 12)", "cube.transpose(0, 2).reshape(-1)", "x.t().flatten()",
    "torch.cat([x, x[:1]])", "cube.unsqueeze(-1).expand(2, 3, 4, 2)", "x.shape[1] * x", "(x + x.t()[:4, :1]).t()",
    "torch.stack([cube[..., 0], cube[..., 1]], -1)", "sum([x, x, 1])", "sum(x[k] for k in range(3))",
    "F.prelu(cube, cube[0, :, 0])", "F.prelu(x, x[0, :1])", "x * torch.tensor([1.5, 2, 3, 4, 5, 6], device=x.device)",
    "x.long() + torch.tensor([[1, 2, 3, 4, 5, 6], [0, 1, 0, 1, 0, 1], [9, 8, 7, 6, 5, 4], [0, 0, 0, 0, 0, -1]], device=x.device)",
    "torch.tensor([[True], [False]], device=x.device) & (x[:2] > 0)", "x[:2, :2] + torch.tensor([[1.0, 2.0], [3.0, 4.0]], device=x.device).t()[1]",
    "torch.fill(x, x[0, 0])", "x.t().masked_fill(x.t() > 0, x[0, 0])",
    "cube.flatten(0, 1).unflatten(0, (2, 3))", "x.chunk(3, dim=-1)[2]", "x[0].expand(3, 6)", "x * math.sqrt(x.size(-1))",
]  # fmt: skip

# Names without elements to compare: Python's own functions, and those that the tests of the API cover.
PYTHON = set(
    """len range zip enumerate isinstance tuple list str print sorted reversed map filter float int bool sum min max abs
    round pow any all Tensor""".split()
)
