"""Reproduces a kernel's random numbers in eager PyTorch.

An op's reference runs under `KernelRandom`, a torch-function mode under which PyTorch's random functions return the numbers
that the op's kernel computes: Philox4x32-10 of the element's index and of the index of the random function's call within the op.
The key is a seed that PyTorch's generator gives to each call of the op. The formulas are those of
frontend/library/random.py.
"""

from __future__ import annotations

import ast
import math

import torch
import torch.nn.functional as F
from torch.overrides import TorchFunctionMode
from torch.utils._pytree import tree_leaves

__all__ = ["KernelRandom", "new_seed", "is_random", "uses_random"]

_LOW = 0xFFFFFFFF


def _times(factor: int, word: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """The high and the low 32-bit word of factor * word. An int64 holds only 63 bits of the product, so it is computed from
    16-bit halves."""
    low, high = factor * (word & 0xFFFF), factor * (word >> 16)
    middle = high + (low >> 16)
    return middle >> 16, ((middle & 0xFFFF) << 16) | (low & 0xFFFF)


def _philox(counter: list[torch.Tensor], key: torch.Tensor) -> list[torch.Tensor]:
    """Philox4x32-10 (Salmon et al., 2011): four random words from a counter of four words and a 64-bit key."""
    a, b, c, d = counter
    first, second = key & _LOW, (key >> 32) & _LOW
    for _ in range(10):
        (high, low), (other_high, other_low) = _times(0xD2511F53, a), _times(0xCD9E8D57, c)
        a, b, c, d = other_high ^ b ^ first, other_low, high ^ d ^ second, low
        first, second = (first + 0x9E3779B9) & _LOW, (second + 0xBB67AE85) & _LOW
    return [a, b, c, d]


def new_seed(values) -> torch.Tensor:
    """Takes a seed for a call on these arguments from PyTorch's generator of the call's device. The seed is a 0-dim int64."""
    device = torch.device("cpu")
    for value in values:
        if isinstance(value, torch.Tensor) and value.device.type != "cpu":
            device = value.device
    return torch.randint(2**63 - 1, (), dtype=torch.int64, device=device)


class KernelRandom(TorchFunctionMode):
    """A mode under which PyTorch's random functions return the random numbers of the kernel for a call on these arguments.

    seed: a 0-dim int64. Without a seed, the first random function takes one from PyTorch's generator, as the kernel's call
    would.
    """

    def __init__(self, arguments, seed: torch.Tensor | None = None):
        super().__init__()
        self._leaves = tree_leaves(arguments)
        self._seed = seed
        self._count = 0

    def __torch_function__(self, function, types, args=(), kwargs=None):
        replacement = _FUNCTIONS.get(function)
        if replacement is None:
            return function(*args, **(kwargs or {}))
        return replacement(self, *args, **(kwargs or {}))

    def words(self, like: torch.Tensor, count: int) -> list[torch.Tensor]:
        """Takes the next sample: `count` random 32-bit words for each element of `like`, in int64 tensors of its shape."""
        if self._seed is None:
            self._seed = new_seed(self._leaves)
        call_index, self._count = self._count, self._count + 1
        blocks = (like.numel() * count + 3) // 4
        index = torch.arange(blocks, dtype=torch.int64, device=like.device)
        zeros = torch.zeros_like(index)
        counter = [index & _LOW, index >> 32, zeros + call_index, zeros]
        words = torch.stack(_philox(counter, self._seed.to(like.device)), -1).flatten()
        return [words[k : like.numel() * count : count].view(like.shape) for k in range(count)]

    def uniform(self, like: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
        """Uniform random numbers in [0, 1), as many as `like` has elements, with as many random
        bits as the significand of `dtype` has."""
        if dtype == torch.float64:
            return _uniform_from_53_bits(*self.words(like, 2))
        bits = {torch.float32: 24, torch.float16: 11, torch.bfloat16: 8}[dtype]
        (word,) = self.words(like, 1)
        return _uniform_from_bits(word, bits).to(dtype)

    def keep_mask(self, like: torch.Tensor, p: float) -> torch.Tensor:
        """The mask of a dropout: a bool tensor, true with probability 1 - p."""
        return self.uniform(like, torch.float32) < 1 - p

    def skips_dropout(self, input: torch.Tensor, p: float, training: bool) -> bool:
        """Whether a dropout returns its input unchanged. In training with p = 0 it still takes a sample, as in the kernel."""
        if training and p == 0:
            self.words(input, 1)
        return not training or p == 0


def _uniform_from_bits(word, bits):
    return (word >> (32 - bits)).to(torch.float32) * 2.0**-bits


def _uniform_from_53_bits(first, second):
    return (((first >> 5) << 26) + (second >> 6)).to(torch.float64) * 2.0**-53


def _compute_dtype(dtype: torch.dtype) -> torch.dtype:
    return torch.float64 if dtype == torch.float64 else torch.float32


def _as_like(like: torch.Tensor, numbers: torch.Tensor) -> torch.Tensor:
    """The numbers with the dtype and the layout of `like`. Numbers that a transform has batched only get its dtype."""
    if torch._C._functorch.is_functorch_wrapped_tensor(numbers):
        return numbers.to(like.dtype)
    return torch.empty_like(like).copy_(numbers)


def _require_floats(tensor: torch.Tensor, name: str):
    if not tensor.is_floating_point():
        raise RuntimeError(f"{name} is not implemented for {tensor.dtype}")


def _takes_size(fill):
    """A function like torch.rand, which makes a tensor of a size and fills it."""
    def sample(mode, *size, generator=None, **options):
        _check_generator(generator)
        return fill(mode, torch.zeros(*size, **options))

    return sample


def _takes_tensor(fill):
    """A function like torch.rand_like, which fills a new tensor like its argument."""
    def sample(mode, input, **options):
        return fill(mode, torch.zeros_like(input, **options))

    return sample


def _uniform(mode, like):
    _require_floats(like, "rand")
    return _as_like(like, mode.uniform(like, like.dtype))


def _normal(mode, like):
    """Normal random numbers by the Box–Muller transform; `turns` is the angle in full turns."""
    _require_floats(like, "randn")
    if like.dtype == torch.float64:
        first, second, third, fourth = mode.words(like, 4)
        uniform, turns = 1 - _uniform_from_53_bits(first, second), _uniform_from_53_bits(third, fourth)
    else:
        first, second = mode.words(like, 2)
        uniform, turns = first.to(torch.float32) * 2.0**-32 + 2.0**-33, _uniform_from_bits(second, 24)
    return _as_like(like, torch.sqrt(-2 * torch.log(uniform)) * torch.cos(turns * (2 * math.pi)))


def _bounds(low, high):
    return (0, low) if high is None else (0 if low is None else low, high)


def _integers(mode, like, low, high):
    if low >= high:
        raise RuntimeError(f"random_ expects 'from' to be less than 'to', but got from={low} >= to={high}")
    if not like.is_floating_point() and like.dtype != torch.bool:
        limits = torch.iinfo(like.dtype)
        if low < limits.min or high - 1 > limits.max:
            raise RuntimeError(f"from {low} to {high - 1} is out of bounds for {like.dtype}")
    first, second = mode.words(like, 2)
    return _as_like(like, ((first >> 1 << 32) + second) % (high - low) + low)


def _randint(mode, low=None, high=None, size=None, *, generator=None, dtype=torch.int64, **options):
    _check_generator(generator)
    if isinstance(high, (tuple, list)):
        low, high, size = 0, low, high
    return _integers(mode, torch.zeros(size, dtype=dtype, **options), *_bounds(low, high))


def _randint_like(mode, input, low=None, high=None, **options):
    return _integers(mode, torch.zeros_like(input, **options), *_bounds(low, high))


def _bernoulli(mode, input, p=None, *, generator=None):
    _check_generator(generator)
    like = input.contiguous()
    if p is None:
        _require_floats(input, "bernoulli")
        return (mode.uniform(like, _compute_dtype(like.dtype)) < like).to(like.dtype)
    if not 0 <= p <= 1:
        raise RuntimeError(f"bernoulli_ expects p to be in [0, 1], but got p={p}")
    return (mode.uniform(like, torch.float32) < p).to(like.dtype)


def _check_probability(p):
    if not 0 <= p <= 1:
        raise ValueError(f"dropout probability has to be between 0 and 1, but got {p}")


def _write_if_inplace(input, result, inplace):
    return input.copy_(result) if inplace else result


def _scale(p):
    return 1 / (1 - p + (p == 1))


def _dropout(mode, input, p=0.5, training=True, inplace=False, *, train=True):
    _check_probability(p)
    if mode.skips_dropout(input, p, training and train):
        return input
    _require_floats(input, "dropout")
    wide = input.to(_compute_dtype(input.dtype))
    return _write_if_inplace(input, (wide * mode.keep_mask(input, p) * _scale(p)).to(input.dtype), inplace)


def _channel_template(input):
    """A tensor with one element per sample and channel, which broadcasts to the input."""
    if input.ndim < 2:
        raise RuntimeError("Feature dropout requires at least 2 dimensions in the input")
    return input.new_zeros((*input.shape[:2], *[1] * (input.ndim - 2)))


def _feature_dropout(mode, input, p=0.5, training=True, inplace=False, *, train=True):
    _check_probability(p)
    if mode.skips_dropout(input, p, training and train):
        return input
    _require_floats(input, "feature_dropout")
    wide = input.to(_compute_dtype(input.dtype))
    return _write_if_inplace(input, (wide * mode.keep_mask(_channel_template(input), p) * _scale(p)).to(input.dtype), inplace)


def _dropout1d(mode, input, p=0.5, training=True, inplace=False):
    if input.ndim not in (2, 3):
        raise RuntimeError("dropout1d: Expected 2D or 3D input")
    if input.ndim == 3:
        return _feature_dropout(mode, input, p, training, inplace)
    return _write_if_inplace(input, _feature_dropout(mode, input.unsqueeze(0), p, training).squeeze(0), inplace)


def _dropout3d(mode, input, p=0.5, training=True, inplace=False):
    if input.ndim == 5:
        return _feature_dropout(mode, input, p, training, inplace)
    return _write_if_inplace(input, _feature_dropout(mode, input.unsqueeze(0), p, training).squeeze(0), inplace)


def _alpha_dropout(per_channel):
    def sample(mode, input, p=0.5, training=False, inplace=False, *, train=True):
        _check_probability(p)
        if mode.skips_dropout(input, p, training and train):
            return input
        _require_floats(input, "alpha_dropout")
        alpha, dtype = 1.7580993408473766, _compute_dtype(input.dtype)
        scale = 1 / ((alpha * alpha * p + 1) * (1 - p) + (p == 1)) ** 0.5
        mask = mode.keep_mask(_channel_template(input) if per_channel else input, p).to(dtype)
        result = input.to(dtype) * (mask * scale) + ((mask - 1) * (alpha * scale) + alpha * scale * p)
        return _write_if_inplace(input, result.to(input.dtype), inplace)

    return sample


def _rrelu(mode, input, lower=1.0 / 8, upper=1.0 / 3, training=False, inplace=False):
    if not training:
        return F.rrelu(input, lower, upper, False, inplace)
    dtype = _compute_dtype(input.dtype)
    slope = lower + mode.uniform(input, dtype) * (upper - lower)
    wide = input.contiguous().to(dtype)
    return _write_if_inplace(input, torch.where(wide <= 0, wide * slope, wide).to(input.dtype), inplace)


def _check_generator(generator):
    if generator is not None:
        raise ValueError("an op uses PyTorch's default generator: omit `generator`, and call torch.manual_seed")


def is_random(function) -> bool:
    """Whether a function is one of PyTorch's random functions that ops support."""
    return function in _FUNCTIONS


_FUNCTIONS = {
    torch.rand: _takes_size(_uniform),
    torch.rand_like: _takes_tensor(_uniform),
    torch.randn: _takes_size(_normal),
    torch.randn_like: _takes_tensor(_normal),
    torch.randint: _randint,
    torch.randint_like: _randint_like,
    torch.bernoulli: _bernoulli,
    torch.Tensor.bernoulli: _bernoulli,
    F.dropout: _dropout,
    torch.dropout: _dropout,
    F.dropout1d: _dropout1d,
    F.dropout2d: _feature_dropout,
    F.dropout3d: _dropout3d,
    torch.feature_dropout: _feature_dropout,
    F.alpha_dropout: _alpha_dropout(False),
    torch.alpha_dropout: _alpha_dropout(False),
    F.feature_alpha_dropout: _alpha_dropout(True),
    torch.feature_alpha_dropout: _alpha_dropout(True),
    F.rrelu: _rrelu,
    torch.rrelu: _rrelu,
    torch.rrelu_: lambda mode, *args, **kwargs: _rrelu(mode, *args, **kwargs, inplace=True),
}

_ALWAYS_RANDOM = set("rand rand_like randn randn_like randint randint_like bernoulli".split())
# Functions that are random only in training: the position of their parameter `training`, and its default.
_RANDOM_IN_TRAINING = {"dropout": (2, True), "dropout1d": (2, True), "dropout2d": (2, True), "dropout3d": (2, True),
                       "feature_dropout": (2, True), "alpha_dropout": (2, False), "feature_alpha_dropout": (2, False),
                       "rrelu": (3, False), "rrelu_": (3, False)}


def uses_random(tree: ast.Module) -> bool:
    """Whether an op's source calls or names a random function. Calls with a literal `training=False` do not count.

    The answer may be a false positive if the source itself defines a name that equals a random function's.
    """
    imported = {alias.asname: alias.name for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)
                for alias in node.names if alias.asname}
    inactive, called_functions = set(), set()
    for call in (node for node in ast.walk(tree) if isinstance(node, ast.Call)):
        called_functions.add(call.func)
        name = _name(call.func, imported)
        if name not in _RANDOM_IN_TRAINING:
            continue
        position, default = _RANDOM_IN_TRAINING[name]
        keywords = {keyword.arg: keyword.value for keyword in call.keywords}
        is_method = isinstance(call.func, ast.Attribute) and not _is_module(call.func.value)
        position -= is_method
        if None in keywords or any(isinstance(argument, ast.Starred) for argument in call.args):
            continue
        training = call.args[position] if len(call.args) > position else keywords.get("training", keywords.get("train"))
        is_training = default if training is None else not (isinstance(training, ast.Constant) and not training.value)
        if not is_training:
            inactive.add(call.func)
    local_names = {node.arg for node in ast.walk(tree) if isinstance(node, ast.arg)} | {
        node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}

    def is_function(node) -> bool:
        return isinstance(node, ast.Attribute) or isinstance(node, ast.Name) and (
            node in called_functions or node.id not in local_names)

    names = {_name(node, imported) for node in ast.walk(tree) if node not in inactive and is_function(node)}
    return not names.isdisjoint(_ALWAYS_RANDOM | _RANDOM_IN_TRAINING.keys())


def _name(node: ast.expr, imported: dict[str, str] | None = None) -> str:
    if isinstance(node, ast.Name):
        return (imported or {}).get(node.id, node.id)
    return node.attr if isinstance(node, ast.Attribute) else ""


def _is_module(node: ast.expr) -> bool:
    return _name(node) in ("torch", "F", "nn", "functional")
