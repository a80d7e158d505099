"""Random expressions, and tensors of random shapes, strides and dtypes to call them with.

An expression is made over the sizes M and N, so one op is called with many shapes; only what a kernel is compiled for
(dtypes, which sizes are 1, classes of strides) costs a compilation.
"""

from __future__ import annotations

import dataclasses
import random
import re

import torch

FLOATS = [torch.float32, torch.float64, torch.float16, torch.bfloat16]
INTEGERS = [torch.int64, torch.int32, torch.int16, torch.int8, torch.uint8]
ALL = FLOATS + INTEGERS + [torch.bool]

UNARY = ["relu({})", "({}).abs()", "exp(clamp({}, max=5))", "sigmoid({})", "tanh({})", "sqrt(abs({}))", "floor({})",
         "square({})", "log1p(abs({}))", "silu({})", "clamp({}, -1, 2)", "sin({})", "({}).float()", "sign({})"]
BINARY = ["({} + {})", "({} - {})", "({} * {})", "maximum({}, {})", "minimum({}, {})", "({} / ({} * 0 + 2))"]
MIXED = ["where({0} > {1}, {0}, {1} * 2)", "({0} * 0.5 + {1})", "(1 - {0}) * {1}", "torch.where({0} < 0.25, {1}, 3)"]
# Views that give back the shape that they take.
SAME_SHAPE = ["({}).flip(-1)", "({}).flip(0)", "({}).unsqueeze(1)[:, 0]", "({})[None][0]"]
# Views of the whole result.
LAST = ["{}", "{}", "{}", "({}).transpose(0, 1)", "({})[..., 0]", "({})[1:]", "({})[:, ::2]", "({})[..., None]",
        "stack([{0}, {0} * 2], -1)", "cat([{0}, {0} + 1], 0)", "({}).flatten()", "({0})[-1] + {0}", "({}).t() * 2"]


@dataclasses.dataclass
class Expression:
    text: str
    names: list[str]
    dtypes: list[torch.dtype]
    squares: bool  # M must be N

    @property
    def source(self) -> str:
        return f"def random_op({', '.join(self.names)}):\n    return {self.text}\n"


def make_expression(rng: random.Random) -> Expression:
    names = ["a", "b", "c", "d"][: rng.randint(1, 4)]
    group = rng.choice([[torch.float32], FLOATS, FLOATS, INTEGERS, ALL])
    squares = rng.random() < 0.2

    def make(depth: int) -> str:
        if depth == 0 or rng.random() < 0.15:
            return rng.choice(names)
        kind = rng.random()
        if kind < 0.35:
            return rng.choice(UNARY).format(make(depth - 1))
        if kind < 0.75:
            return rng.choice(BINARY).format(make(depth - 1), make(depth - 1))
        if kind < 0.9:
            return rng.choice(MIXED).format(make(depth - 1), make(depth - 1))
        if squares and rng.random() < 0.5:
            return f"({whole(make(depth - 1))}).transpose(0, 1)"
        return rng.choice(SAME_SHAPE).format(whole(make(depth - 1)))

    def whole(text: str) -> str:
        """Of the full shape (M, N), so that a view of it is one of a matrix."""
        return f"{text} + {names[0]} * 0"

    text = rng.choice(LAST).format(f"({whole(make(rng.randint(2, 4)))})")
    used = [name for name in names if re.search(rf"\b{name}\b", text)]
    return Expression(text, used, [rng.choice(group) for _ in used], squares)


@dataclasses.dataclass
class Recipe:
    """A tensor that can be written down: numbers of a seed, laid out by strides."""

    dtype: torch.dtype
    sizes: tuple[int, ...]
    strides: tuple[int, ...]
    offset: int
    seed: int
    scale: float

    def length(self) -> int:
        if 0 in self.sizes:
            return self.offset + 1
        return self.offset + 1 + sum((n - 1) * s for n, s in zip(self.sizes, self.strides))

    def code(self) -> str:
        numbers = f"torch.randn({self.length()}, generator=torch.Generator().manual_seed({self.seed}))"
        return f"({numbers} * {self.scale}).to({self.dtype}).as_strided({self.sizes}, {self.strides}, {self.offset})"

    def make(self) -> torch.Tensor:
        return eval(self.code(), {"torch": torch})


def make_recipes(rng: random.Random, expression: Expression) -> list[Recipe]:
    m, n = rng.choice([1, 2, 3, 5, 8, 16, 17, 33]), rng.choice([1, 2, 3, 4, 8, 15, 16, 32, 65])
    n = m if expression.squares else n
    recipes = []
    for k, dtype in enumerate(expression.dtypes):
        sizes = (m, n) if k == 0 else rng.choice([(m, n), (m, n), (m, n), (n,), (m, 1), (1, n), (1, 1), ()])
        strides, offset = _make_strides(rng, sizes)
        scale = rng.choice([1.0, 2.0, 30.0]) if dtype.is_floating_point else 20.0
        recipes.append(Recipe(dtype, sizes, strides, offset, rng.randrange(2**31), scale))
    return recipes


def _make_strides(rng: random.Random, sizes):
    order = list(range(len(sizes)))
    if rng.random() < 0.3:
        order.reverse()
    strides, at = [0] * len(sizes), 1
    for k, dim in enumerate(reversed(order)):
        if k == 0 and rng.random() < 0.15:
            at = rng.choice([2, 3])
        strides[dim] = at
        at *= sizes[dim]
        if rng.random() < 0.2:
            at += rng.choice([1, 4])
    if sizes and rng.random() < 0.1:
        strides[rng.randrange(len(sizes))] = 0
    return tuple(strides), rng.choice([0, 0, 0, 1, 2, 4])
