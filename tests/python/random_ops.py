"""Random expressions, and tensors of random shapes, strides and dtypes as their arguments.

An expression is made over the sizes M and N, so that one op is called with many shapes. Only a change of a property that
kernels are specialised for (dtypes, which sizes are 1, kinds of strides) costs a compilation. Reductions are at any place
in an expression: their operands are computed, their results are used, and results are reduced again.
"""

from __future__ import annotations

import dataclasses
import random
import re

import torch

FLOATS = [torch.float32, torch.float64, torch.float16, torch.bfloat16]
INTEGERS = [torch.int64, torch.int32, torch.int16, torch.int8, torch.uint8]
ALL = FLOATS + INTEGERS + [torch.bool]

# The special values that are injected among random numbers; integers have no NaN and no infinity.
SPECIAL = "[float('nan'), float('inf'), -float('inf'), 0.0, -0.0, 1e-40, -1e-40, 1e-38, 3e38, -3e38, 1.0, -1.0, 0.5, 2.5]"
# With very large numbers, the order of a sum would decide whether it overflows.
SPECIAL_IN_SUMS = SPECIAL.replace("3e38, -3e38", "300.0, -300.0")

UNARY = ["relu({})", "({}).abs()", "exp(clamp({}, max=5))", "sigmoid({})", "tanh({})", "sqrt(abs({}))", "floor({})",
         "square({})", "log1p(abs({}))", "silu({})", "clamp({}, -1, 2)", "sin({})", "({}).float()", "sign({})"]
BINARY = ["({} + {})", "({} - {})", "({} * {})", "maximum({}, {})", "minimum({}, {})", "({} / ({} * 0 + 2))"]
MIXED = ["where({0} > {1}, {0}, {1} * 2)", "({0} * 0.5 + {1})", "(1 - {0}) * {1}", "torch.where({0} < 0.25, {1}, 3)"]
# Views that keep the shape.
SAME_SHAPE = ["({}).flip(-1)", "({}).flip(0)", "({}).unsqueeze(1)[:, 0]", "({})[None][0]"]
# The last step of an expression: a view or a combination of its result.
LAST = ["{}", "{}", "{}", "({}).transpose(0, 1)", "({})[..., 0]", "({})[1:]", "({})[:, ::2]", "({})[..., None]",
        "stack([{0}, {0} * 2], -1)", "cat([{0}, {0} + 1], 0)", "({}).flatten()", "({0})[-1] + {0}", "({}).t() * 2"]

# Reductions of a matrix along any dims, along one dim, and of all elements.
OF_DIMS = ["sum", "mean", "amax", "amin", "var", "std", "any", "all", "logsumexp"]
OF_ONE_DIM = ["argmax", "argmin", "nansum"]
OF_ALL = ["({}).sum()", "({}).mean()", "({}).amax()", "({}).norm()", "({}).count_nonzero()", "({}).argmin()", "({}).std()"]
DIMS = ["0", "1", "-2", "-1", "(0, 1)", "(1, 0)", "(-1,)"]
# Ops on rows or columns that keep the shape.
OF_ROWS = ["({0}).softmax({dim})", "({0}).log_softmax({dim})", "F.layer_norm({0}, ({0}).shape[1:])", "F.normalize({0}, dim={dim})",
           "(({0}) - ({0}).mean({dim}, keepdim=True))", "({0}).max({dim}, keepdim=True).values"]
# The last step of an expression that reduces; some have several reductions in one op.
LAST_REDUCED = ["({}).sum()", "({}).mean(1)", "({}).sum(0) * 2", "({}).amax((0, 1)) + 1", "({}).t().sum(1)", "({0}).sum(1) + ({0})[:, 0]",
                "(({0}).sum(1), ({0}).amax(0), {0})", "({}).sum(1, keepdim=True).t()", "({}).flatten().sum()", "({}).sum(0).softmax(0)", "({})[1:].sum(1)"]


@dataclasses.dataclass
class Expression:
    text: str
    names: list[str]
    dtypes: list[torch.dtype]
    is_square: bool  # M must equal N
    reduces: bool = False

    @property
    def source(self) -> str:
        return f"def random_op({', '.join(self.names)}):\n    return {self.text}\n"


def random_reduction(rng: random.Random, text: str) -> str:
    """A reduction of a matrix to a shape that broadcasts with it, or an op with a reduction that keeps the matrix's
    shape."""
    kind = rng.random()
    if kind < 0.3:
        return rng.choice(OF_ROWS).format(text, dim=rng.choice(["0", "1", "-1"]))
    if kind < 0.5:
        return rng.choice(OF_ALL).format(text)
    name, dim = rng.choice(OF_DIMS + OF_ONE_DIM), rng.choice(DIMS)
    if name in OF_ONE_DIM:
        dim = rng.choice(["0", "1", "-1"])
    if rng.random() < 0.6:
        return f"({text}).{name}({dim}, keepdim=True)"
    gives_column = dim in ("1", "-1", "(-1,)")
    return f"({text}).{name}({dim})" + "[:, None]" * gives_column


def make_expression(rng: random.Random, reduces: bool = False) -> Expression:
    names = ["a", "b", "c", "d"][: rng.randint(1, 4)]
    group = rng.choice([[torch.float32], FLOATS, FLOATS, INTEGERS, ALL])
    is_square = rng.random() < 0.2

    def make(depth: int) -> str:
        if depth == 0 or rng.random() < 0.15:
            return rng.choice(names)
        if reduces and rng.random() < 0.25:
            return random_reduction(rng, as_matrix(make(depth - 1)))
        kind = rng.random()
        if kind < 0.35:
            return rng.choice(UNARY).format(make(depth - 1))
        if kind < 0.75:
            return rng.choice(BINARY).format(make(depth - 1), make(depth - 1))
        if kind < 0.9:
            return rng.choice(MIXED).format(make(depth - 1), make(depth - 1))
        if is_square and rng.random() < 0.5:
            return f"({as_matrix(make(depth - 1))}).transpose(0, 1)"
        return rng.choice(SAME_SHAPE).format(as_matrix(make(depth - 1)))

    def as_matrix(text: str) -> str:
        """The source broadcast to the full shape (M, N), so that it can be viewed as a matrix."""
        return f"{text} + {names[0]} * 0"

    last = rng.choice(LAST_REDUCED if reduces and rng.random() < 0.6 else LAST)
    text = last.format(f"({as_matrix(make(rng.randint(2, 4)))})")
    used = [name for name in names if re.search(rf"\b{name}\b", text)]
    return Expression(text, used, [rng.choice(group) for _ in used], is_square, reduces)


@dataclasses.dataclass
class Recipe:
    """A tensor given by a seed for its numbers, and by strides for its layout."""

    dtype: torch.dtype
    sizes: tuple[int, ...]
    strides: tuple[int, ...]
    offset: int
    seed: int
    scale: float
    injected: float  # the fraction of elements that are special values
    special: str = SPECIAL

    def length(self) -> int:
        if 0 in self.sizes:
            return self.offset + 1
        return self.offset + 1 + sum((n - 1) * s for n, s in zip(self.sizes, self.strides))

    def code(self) -> str:
        n = self.length()
        numbers = f"torch.randn({n}, generator=torch.Generator().manual_seed({self.seed})) * {self.scale}"
        if self.injected:
            generator = f"generator=torch.Generator().manual_seed({self.seed + 1})"
            special = f"torch.tensor({self.special})[torch.randint({len(self.special.split(','))}, ({n},), {generator})]"
            numbers = f"torch.where(torch.rand({n}, {generator}) < {self.injected}, {special}, {numbers})"
        return f"({numbers}).to({self.dtype}).as_strided({self.sizes}, {self.strides}, {self.offset})"

    def make(self) -> torch.Tensor:
        return eval(self.code(), {"torch": torch})


@dataclasses.dataclass
class Form:
    """Most of the properties that a kernel is specialised for: which sizes are 1, and each tensor's layout in
    memory."""

    m_is_one: bool
    n_is_one: bool
    dims: list[str]  # of each tensor: "mn", "n", "m1", "1n", "11", ""
    reversed_order: list[bool]
    step: list[int]
    padded: list[bool]
    repeated: list[int | None]  # a dim of stride 0
    offset: list[int]
    scale: list[float]
    injected: list[float]


def make_form(rng: random.Random, expression: Expression) -> Form:
    dims = ["mn" if k == 0 else rng.choice(["mn"] * 4 + ["n", "m1", "1n", "11", ""]) for k in range(len(expression.names))]
    # The variance of equal values is only the rounding error of their mean.
    may_repeat = not re.search("var|std|norm", expression.text)
    return Form(
        m_is_one=rng.random() < 0.1,
        n_is_one=rng.random() < 0.1,
        dims=dims,
        reversed_order=[rng.random() < 0.3 for _ in dims],
        step=[rng.choice([1] * 8 + [2, 3]) for _ in dims],
        padded=[rng.random() < 0.2 for _ in dims],
        repeated=[rng.randrange(len(d)) if may_repeat and d and rng.random() < 0.1 else None for d in dims],
        offset=[rng.choice([0, 0, 0, 1, 2, 4]) for _ in dims],
        scale=[rng.choice([1.0, 2.0, 30.0]) for _ in dims],
        injected=[rng.choice([0.0, 0.0, 0.1]) for _ in dims],
    )


def make_recipes(rng: random.Random, expression: Expression, form: Form) -> list[Recipe]:
    """The tensors of one call. Calls of one form differ only in the sizes and the values of their tensors."""
    m = 1 if form.m_is_one else rng.choice([2, 3, 5, 8, 16, 17, 33, 0] if rng.random() < 0.1 else [2, 3, 8, 17, 32])
    if expression.reduces and not all(dtype.is_floating_point for dtype in expression.dtypes):
        m = max(m, 1)  # without elements, eager accepts dtypes that it otherwise rejects
    n = 1 if form.n_is_one else rng.choice([2, 3, 4, 8, 15, 16, 32, 65])
    if expression.reduces and not form.n_is_one and rng.random() < 0.1:
        n = rng.choice([300, 1025, 5000])
    length = {"m": m, "n": m if expression.is_square else n, "1": 1}
    special = SPECIAL_IN_SUMS if expression.reduces else SPECIAL
    recipes = []
    for k, dtype in enumerate(expression.dtypes):
        sizes = tuple(length[d] for d in form.dims[k])
        strides, stride = [0] * len(sizes), form.step[k]
        for dim in range(len(sizes)) if form.reversed_order[k] else reversed(range(len(sizes))):
            strides[dim] = stride
            stride = stride * max(sizes[dim], 1) + 4 * form.padded[k]
        if form.repeated[k] is not None:
            strides[form.repeated[k]] = 0
        injected = form.injected[k] if dtype.is_floating_point else 0.0
        scale = form.scale[k] if dtype.is_floating_point else 20.0
        recipes.append(Recipe(dtype, sizes, tuple(strides), form.offset[k], rng.randrange(2**31), scale, injected, special))
    return recipes
