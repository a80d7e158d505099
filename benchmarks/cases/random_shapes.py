"""Random cases: normalizations, reductions, losses and bias gradients, of random shapes, layouts and dtypes.

No schedule rule was derived from these cases. `random_case(seed, index)` is the same on every machine, and does not depend on
the number of cases.
"""

import dataclasses
import math
import random
from typing import Callable

import torch

from .case import Tensors

BYTES = 1 << 22, 1 << 29  # of the first operand
CPU_SCALE = 0.1  # the sizes on the CPU relative to those on the GPU
MAX_WEIGHTS = 1 << 16  # the most elements of a weight
MAX_CHANNELS = 1 << 13  # of a batch_norm
DTYPES = {"f32": torch.float32, "bf16": torch.bfloat16}
LAYOUTS = "contiguous", "channels-last", "transposed"
ACTIVATIONS = "relu", "gelu", "silu", "mish"

# --- Cases ----------------------------------------------------------------------------------------------------------


@dataclasses.dataclass(frozen=True)
class Operand:
    """A tensor argument. `order` has its dims from the outermost to the innermost in memory."""

    shape: tuple[int, ...]
    order: tuple[int, ...] = ()  # empty: contiguous
    is_leaf: bool = True  # whether a gradient is computed with respect to this operand
    classes: int = 0  # if not 0, the elements are integers from 0 to classes - 1
    mean: float = 0.0  # mean and deviation of the elements, which are normally distributed
    deviation: float = 1.0

    def make(self, make: Tensors, dtype: torch.dtype) -> torch.Tensor:
        if self.classes:
            return make.integers(*self.shape, below=self.classes)
        order = self.order or tuple(range(len(self.shape)))
        tensor = make.normal(*(self.shape[dim] for dim in order), dtype=dtype).mul_(self.deviation).add_(self.mean)
        return tensor.permute([order.index(dim) for dim in range(len(order))])


@dataclasses.dataclass(frozen=True)
class RandomCase:
    """Plain data, which can be sent to another process. It is used like a `Case`. Leaves require grad if the case is a call
    together with its gradient."""

    seed: int
    index: int
    label: str
    text: str
    operands: tuple[Operand, ...]
    dtype: str
    layout: str
    has_gradient: bool

    group, is_random = "random shapes", False

    @property
    def name(self) -> str:
        shape, direction = "x".join(map(str, self.operands[0].shape)), "fwd+bwd" if self.has_gradient else "fwd"
        return f"{self.seed}:{self.index} {self.label} {shape} {self.dtype} {self.layout} {direction}"

    def make(self, make: Tensors) -> tuple:
        torch.manual_seed(random.Random(f"{self.seed}:{self.index}").getrandbits(32))
        return tuple(operand.make(make, DTYPES[self.dtype]).requires_grad_(self.has_gradient and operand.is_leaf)
                     for operand in self.operands)


def random_case(seed: int, index: int, scale: float = 1.0) -> RandomCase:
    """A case; every other one is a call together with its gradient. `scale` multiplies the size; the function, its dims, the dtype
    and the layout stay the same."""
    rng, has_gradient = random.Random(f"{seed}:{index}"), index % 2 == 1
    function = rng.choice([name for name in FUNCTIONS if not (has_gradient and name in WITHOUT_GRADIENT)])
    dtype, layout = rng.choice(list(DTYPES)), rng.choice(LAYOUTS)
    elements = max(64, int(scale * log_uniform(rng, *BYTES)) // DTYPES[dtype].itemsize)
    form = FUNCTIONS[function](Shapes(rng, elements, layout), function, has_gradient)
    text = f"def f({', '.join(form.operands)}):\n    {form.body}\n"
    return RandomCase(seed, index, form.label, text, tuple(form.operands.values()), dtype, layout, has_gradient)


# --- Shapes ---------------------------------------------------------------------------------------------------------


@dataclasses.dataclass
class Shapes:
    """Random shapes of about `elements` elements."""

    rng: random.Random
    elements: int
    layout: str

    def rank(self, least: int = 2) -> int:
        return self.rng.randint(4 if self.layout == "channels-last" else least, 5)

    def row_length(self) -> int:
        """The number of elements of a row: large, small, odd, or so large that there are few rows."""
        lengths = {"long": log_uniform(self.rng, 1 << 12, 1 << 20), "short": log_uniform(self.rng, 2, 1 << 6),
                   "odd": log_uniform(self.rng, 1 << 6, 1 << 13) | 1,
                   "few rows": self.elements // log_uniform(self.rng, 2, 1 << 6)}
        length = lengths[kind := self.rng.choice(list(lengths))]
        return max(2, min(length if kind == "odd" else self.maybe_aligned(length), self.elements // 2))

    def maybe_aligned(self, size: int) -> int:
        """The size, or the multiple of 8 below it."""
        return size // 8 * 8 if self.rng.random() < 0.5 and size >= 16 else size

    def split(self, total: int, count: int) -> list[int]:
        """`count` sizes whose product is about `total`. If `total` is odd, so are they."""
        sizes, is_odd = [], total % 2 == 1
        for remaining in range(count, 0, -1):
            size = int(total ** min(1.0, self.rng.uniform(0.5, 1.5) / remaining)) if remaining > 1 else total
            aligned = self.maybe_aligned(size)
            sizes.append(size - 1 | 1 if is_odd else aligned)
            total = max(1, total // sizes[-1])
        return sizes

    def shape(self, rank: int, dims: list[int], length: int) -> list[int]:
        """A shape whose `dims` together have about `length` elements."""
        others = [dim for dim in range(rank) if dim not in dims]
        sizes = dict(zip(dims, self.split(length, len(dims))))
        rows = max(1, self.elements // math.prod(sizes.values()))
        sizes |= zip(others, self.split(max(2, rows // 2 * 2), len(others)))
        return [sizes[dim] for dim in range(rank)]

    def reduction(self, count: int | None = None) -> tuple[list[int], tuple[int, ...]]:
        """A shape, and the dims to reduce: `count` of them, or any number."""
        rank = self.rank()
        dims = sorted(self.rng.sample(range(rank), count or self.rng.randint(1, rank)))
        return self.shape(rank, dims, self.row_length() if len(dims) < rank else self.elements), tuple(dims)

    def operand(self, shape: list[int], **properties) -> Operand:
        """An operand in the layout of the case."""
        order = list(range(len(shape)))
        if self.layout == "channels-last":
            order = [0, *order[2:], 1]
        elif self.layout == "transposed":
            i, j = sorted(order, key=lambda dim: (shape[dim] == 1, self.rng.random()))[:2]  # dims of size 1 only if there are no others
            order[i], order[j] = order[j], order[i]
        return Operand(tuple(shape), tuple(order), **properties)

    def second_operand(self, first: Operand) -> Operand:
        """An operand of the same shape: of the same layout, but if the first operand is transposed, this one is contiguous."""
        return Operand(first.shape, () if self.layout == "transposed" else first.order)


def log_uniform(rng: random.Random, low: int, high: int) -> int:
    return round(math.exp(rng.uniform(math.log(low), math.log(high))))


# --- Functions ------------------------------------------------------------------------------------------------------


@dataclasses.dataclass
class Form:
    """An op: its name in tables, the body of its function, and its operands."""

    label: str
    body: str
    operands: dict[str, Operand]


def along_a_dim(shapes: Shapes, name: str, has_gradient: bool) -> Form:
    shape, (dim,) = shapes.reduction(1)
    x = shapes.operand(shape)
    operands = {"x": x} | ({"y": shapes.second_operand(x)} if name == "cosine_similarity" else {})
    module = "torch" if name in ("argmax", "argmin", "max") else "F"
    value = "[0]" if name == "max" and has_gradient else ""  # the gradient of an op with one result
    return Form(f"{name}({dim})", f"return {module}.{name}({', '.join(operands)}, dim={dim}){value}", operands)


def along_dims(shapes: Shapes, name: str, has_gradient: bool) -> Form:
    shape, dims = shapes.reduction()
    function = "torch.linalg.vector_norm" if name == "norm" else f"torch.{name}"
    return Form(f"{name}({listed(dims)})", f"return {function}(x, dim={dims})", {"x": shapes.operand(shape)})


def product(shapes: Shapes, name: str, has_gradient: bool) -> Form:
    shape, (dim,) = shapes.reduction(1)
    x = shapes.operand(shape, mean=1.0, deviation=shape[dim] ** -0.5)  # the product of all is near 1
    return Form(f"{name}({dim})", f"return torch.prod(x, dim={dim})", {"x": x})


def norm_of_last_dims(shapes: Shapes, name: str, has_gradient: bool) -> Form:
    rank = shapes.rank()
    dims = list(range(shapes.rng.randint(1, rank - 1), rank))
    shape = shapes.shape(rank, dims, shapes.row_length())
    weight = Operand(tuple(shape[dims[0]:]))
    parameters = {"weight": weight, "bias": weight} if name == "layer_norm" else {"weight": weight}
    return normalization(shapes, name, [listed(dims)], [f"x.shape[{dims[0]}:]"], {"x": shapes.operand(shape)}, parameters)


def group_norm(shapes: Shapes, name: str, has_gradient: bool) -> Form:
    rank, groups = shapes.rank(), shapes.rng.choice((1, 2, 4, 8, 32))
    length = min(shapes.row_length(), shapes.elements // groups)
    batch, channels, *image = shapes.shape(rank, list(range(1, rank)), length)
    x = shapes.operand([max(1, batch // groups), groups * channels, *image])
    return normalization(shapes, name, [f"{groups} groups"], [str(groups)], {"x": x}, weight_and_bias(x))


def instance_norm(shapes: Shapes, name: str, has_gradient: bool) -> Form:
    rank = shapes.rank(3)
    x = shapes.operand(shapes.shape(rank, list(range(2, rank)), shapes.row_length()))
    return normalization(shapes, name, [], [], {"x": x}, weight_and_bias(x))


def batch_norm(shapes: Shapes, name: str, has_gradient: bool) -> Form:
    channels = min(shapes.row_length(), log_uniform(shapes.rng, 1 << 6, MAX_CHANNELS), shapes.elements // 4)
    x = shapes.operand(shapes.shape(shapes.rank(), [1], channels))
    mean = Operand(x.shape[1:2], is_leaf=False)
    operands = {"x": x, "mean": mean, "var": dataclasses.replace(mean, mean=1.0, deviation=0.1)}
    return normalization(shapes, "batch_norm", [name.split()[1]], ["mean", "var", f"training={'training' in name}"], operands,
                         weight_and_bias(x))


def weight_and_bias(x: Operand) -> dict[str, Operand]:
    """A weight and a bias with one element per channel."""
    return dict.fromkeys(("weight", "bias"), Operand(x.shape[1:2]))


def normalization(shapes: Shapes, name: str, notes: list[str], arguments: list[str], operands: dict[str, Operand],
                  parameters: dict[str, Operand]) -> Form:
    """A normalization with or without its parameters, and with an activation before it, after it, or without one."""
    is_affine, activation = shapes.rng.random() < 0.5, shapes.rng.choice(ACTIVATIONS)
    before, after = shapes.rng.choice((("", ""), (activation, ""), ("", activation)))
    if not is_affine or math.prod(parameters["weight"].shape) > MAX_WEIGHTS:
        parameters = {}
    x = f"F.{before}(x)" if before else "x"
    result = f"F.{name}({', '.join([x, *arguments, *(f'{p}={p}' for p in parameters)])})"
    label = f"{name}({', '.join([f'{before}(x)'] * bool(before) + notes + ['affine'] * bool(parameters))})"
    return Form(f"{after}({label})" if after else label, f"return F.{after}({result})" if after else f"return {result}",
                operands | parameters)


def cross_entropy(shapes: Shapes, name: str, has_gradient: bool) -> Form:
    batch, classes, *image = shape = shapes.shape(shapes.rank(), [1], shapes.row_length())
    target = Operand((batch, *image), is_leaf=False, classes=classes)
    return Form(name, "return F.cross_entropy(x, target)", {"x": shapes.operand(shape), "target": target})


def bias_gradient(shapes: Shapes, name: str, has_gradient: bool) -> Form:
    """The activation of a sum with a bias: its gradient adds up all dims but one. Without `has_gradient`, the op computes a
    gradient itself."""
    rank = shapes.rank()
    channel = shapes.rng.choice((1, rank - 1))
    x = shapes.operand(shapes.shape(rank, [channel], shapes.row_length()))
    if has_gradient:
        bias = Operand(tuple(size if dim == channel else 1 for dim, size in enumerate(x.shape)))
        return Form(f"gelu(x + bias[{channel}])", "return F.gelu(x + bias)", {"x": x, "bias": bias})
    dims = tuple(dim for dim in range(rank) if dim != channel)
    return Form(f"relu backward and bias gradient({listed(dims)})",
                f"d = torch.where(y > 0, g, 0.0)\n    return d, d.sum({dims})", {"g": x, "y": shapes.second_operand(x)})


def listed(dims: list[int] | tuple[int, ...]) -> str:
    return ",".join(map(str, dims))


FUNCTIONS: dict[str, Callable[[Shapes, str, bool], Form]] = {
    **dict.fromkeys(("softmax", "log_softmax", "normalize", "cosine_similarity", "argmax", "argmin", "max"), along_a_dim),
    **dict.fromkeys(("logsumexp", "mean", "var", "sum", "amax", "norm"), along_dims),
    "prod": product,
    **dict.fromkeys(("layer_norm", "rms_norm"), norm_of_last_dims),
    "group_norm": group_norm,
    "instance_norm": instance_norm,
    **dict.fromkeys(("batch_norm training", "batch_norm inference"), batch_norm),
    "cross_entropy": cross_entropy,
    "bias gradient": bias_gradient,
}
WITHOUT_GRADIENT = "argmax", "argmin"
