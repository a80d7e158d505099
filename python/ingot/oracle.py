"""Compares an op's results with eager PyTorch's, within a tolerance that is computed for each element.

IEEE arithmetic has the same bits in every implementation. A transcendental function may be off by 4 ulp, and later steps
propagate that error, so no fixed tolerance fits every expression. `compare_to_eager` therefore runs eager PyTorch many
times, each time with one inexact step perturbed by its error. The tolerance of an element is the sum of the changes that
these perturbations cause in it. An element that no inexact step has affected must be equal.

The perturbation of a step is the sum of:
- 4 ulp for a transcendental function; 1 ulp for arithmetic on inexact values, which may round the other way;
- the distance of eager's own step from float64, because the 4 ulp count from the exact value;
- 4 ulp of an inner value, for functions that add a transcendental value to one that nearly cancels it;
- 4 ulp of the sum of absolute values, for sums and functions made of sums;
- the rounding, for steps in 16-bit floats, because Ingot rounds intermediates only with numerics="eager".

A perturbation moves equal elements alike, so it does not show which of them may be the largest. For a search (argmax) of
inexact values there are two more runs, in which the index of the first, or of the last, element that may be the largest
replaces the search's result. Which elements may be the largest follows from their tolerances.
"""

from __future__ import annotations

import copy
import dataclasses

import torch
from torch.utils._python_dispatch import TorchDispatchMode, _disable_current_modes

MAX_RUNS = 128  # with more steps, each run perturbs several
SLACK = 1.5  # the joint effect of several steps may exceed the sum of their effects
ULPS_PER_STEP = 4

# Functions whose results have the same bits in every implementation, if their operands do.
_EXACT = set("""add sub rsub mul div true_divide neg abs maximum minimum fmax fmin clamp clamp_min clamp_max relu where
eq ne lt le gt ge isnan isinf isfinite signbit floor ceil round trunc frac reciprocal floor_divide
sign sgn copysign nextafter square logical_and logical_or logical_xor logical_not bitwise_and bitwise_or bitwise_xor
bitwise_not bitwise_left_shift bitwise_right_shift heaviside hardtanh threshold leaky_relu nan_to_num
fill full_like ones_like zeros_like empty_like full ones zeros empty empty_strided new_empty new_empty_strided scalar_tensor arange
lift_fresh""".split())
# Exact as well, but eager's vector loops lose digits of the quotient if it has more digits than the type.
_EXACT_IN_FLOAT64 = {"remainder", "fmod"}
# The functions of _EXACT and _EXACT_IN_FLOAT64 that round: on inexact operands, the result may round the other way.
_ROUNDS = set("add sub rsub mul div true_divide reciprocal square remainder fmod".split())
# Functions that find the largest element (sign 1) or the smallest (sign -1).
_SEARCHES = {"argmax": 1, "argmin": -1, "max": 1, "min": -1}
# Functions that only move or convert elements. They are not steps.
_MOVES = set("""_to_copy clone copy cat stack index index_select gather take select slice view reshape _unsafe_view
expand permute transpose t unsqueeze squeeze unbind split split_with_sizes chunk flip detach alias as_strided
unflatten flatten narrow diagonal roll contiguous repeat tril triu unfold constant_pad_nd reflection_pad1d
reflection_pad2d reflection_pad3d replication_pad1d replication_pad2d replication_pad3d diag_embed pixel_shuffle
pixel_unshuffle channel_shuffle upsample_nearest1d upsample_nearest2d upsample_nearest3d embedding""".split())
# Functions that add an inner transcendental value to a value that may nearly cancel it. Each entry returns the size of the
# inner value, scaled so that the returned size times eps is an ulp of the inner value. gelu
# is x / 2 · (1 + erf or tanh), and the ulp of an erf near -1 is eps / 2.
_CANCELS = {
    "gelu": lambda x, *rest: x.abs() / 4,
    "logaddexp": lambda x, y: torch.full_like(x, 0.5),
    "logaddexp2": lambda x, y: torch.full_like(x, 0.5),
    "binary_cross_entropy_with_logits": lambda x, *rest: x.abs() + 1,
    # Sums, and functions made of sums: the sum of the absolute values, of which cancellation may leave little.
    "sum": lambda x, dim=None, keepdim=False: _sum(x.abs(), dim, keepdim),
    "nansum": lambda x, dim=None, keepdim=False: _sum(torch.where(x.isnan(), 0, x.abs()), dim, keepdim),
    "mean": lambda x, dim=None, keepdim=False: _sum(x.abs(), dim, keepdim) / max(1, x.numel()) * _sum(x, dim, True).numel(),
    "var": lambda x, *rest: (x * x).amax(),
    "std": lambda x, *rest: x.abs().amax(),
    "logsumexp": lambda x, *rest: x.abs().amax(),
    # The perturbation moves all operands of a softmax alike, which does not change its result.
    "_softmax": lambda x, dim, *rest: x.softmax(dim) * x.abs().amax(),
    "_log_softmax": lambda x, *rest: x.abs().amax() + 1,
    "native_layer_norm": lambda x, shape, *rest: _normalised(x, tuple(range(x.ndim - len(shape), x.ndim)), *rest),
    "native_group_norm": lambda x, *rest: _normalised_in_groups(x, *rest),
    "native_batch_norm": lambda x, *rest: _normalised_by_channels(x, *rest),
    "cudnn_batch_norm": lambda x, *rest: _normalised_by_channels(x, *rest),
    **{product: lambda x, y: x.abs().matmul(y.abs()) for product in ("dot", "mv", "mm", "bmm")},
    "addmm": lambda x, y, z: x.abs() + y.abs().matmul(z.abs()),
}


def _sum(x, dim, keepdim):
    return x.sum() if dim is None or dim == [] else x.sum(dim, keepdim)


def _normalised(x, dims, weight, bias, eps):
    """The sum of the absolute values of the terms of (x - mean) / deviation · weight + bias."""
    size = (x.abs() + x.abs().mean(dims, keepdim=True)) * (x.var(dims, keepdim=True, correction=0) + eps).rsqrt()
    return _affine(size, weight, bias)


def _affine(size, weight, bias):
    return size * (1 if weight is None else weight.abs()) + (0 if bias is None else bias.abs())


def _normalised_in_groups(x, weight, bias, batch, channels, spatial, groups, eps):
    size = _normalised(x.reshape(batch, groups, -1), (2,), None, None, eps).reshape(batch, channels, spatial)
    weight, bias = (p if p is None else p[:, None] for p in (weight, bias))
    return _affine(size, weight, bias).reshape(x.shape)


def _normalised_by_channels(x, weight, bias, mean, variance, training, momentum, eps):
    dims = [d for d in range(x.ndim) if d != 1]
    weight, bias, mean, variance = (
        p if p is None else p.view([1, -1] + [1] * (x.ndim - 2)) for p in (weight, bias, mean, variance)
    )
    if training:
        return _normalised(x, dims, weight, bias, eps)
    return _affine((x.abs() + mean.abs()) * (variance + eps).rsqrt(), weight, bias)


@dataclasses.dataclass
class Verdict:
    """The outcome of a comparison. `max_ulp`: in units in the last place of eager's result. `message`: one line to print."""

    ok: bool
    bit_for_bit: bool
    max_abs: float
    max_ulp: float
    message: str


def as_list(value) -> list[torch.Tensor]:
    return list(value) if isinstance(value, (tuple, list)) else [value]


def writes_as_results(function):
    """Returns a function that calls `function` on copies of its tensors. The result is one list: the tensors that `function`
    wrote in place, then its results."""

    def on_copies(*args, **kwargs):
        with _disable_current_modes():
            args, kwargs = copy.deepcopy((args, kwargs))
        tensors = [value for value in (*args, *kwargs.values()) if isinstance(value, torch.Tensor)]
        written = changes_of(tensors)
        results = function(*args, **kwargs)
        return [*(tensor.clone() for tensor in written()), *([] if results is None else as_list(results))]

    return on_copies


def changes_of(tensors: list[torch.Tensor]):
    """Returns a function that returns the tensors that have been written in place since `changes_of` was called."""
    before = [(tensor, tensor._version) for tensor in tensors]
    return lambda: [tensor for tensor, version in before if tensor._version > version]


def compare_to_eager(reference, args, kwargs, results, numerics: str = "default", exact: bool = False) -> Verdict:
    """Compares an op's results with those of `reference(*args, **kwargs)`.

    exact: accept only the same bits as eager's; all NaNs count as equal.
    """
    with torch.no_grad():
        eager = [torch.as_tensor(value) for value in as_list(reference(*args, **kwargs))]
        results = as_list(results)
        if message := _shape_difference(results, eager):
            return Verdict(False, False, float("nan"), float("nan"), message)
        if all(torch.equal(bits(actual), bits(expected)) for actual, expected in zip(results, eager)):
            return Verdict(True, True, 0.0, 0.0, "bit for bit")
        max_abs = max(difference(actual, expected).max().item() if actual.numel() else 0.0
                      for actual, expected in zip(results, eager))
        max_ulp = max(
            (difference(actual, expected) / ulp(expected)).max().item() if actual.numel() else 0.0
            for actual, expected in zip(results, eager)
        )
        numbers = f"max difference {max_abs:.3g}, {max_ulp:.3g} ulp"
        if exact:
            return Verdict(False, False, max_abs, max_ulp, f"{numbers}; {_first_difference(results, eager)}")
        if max_abs == 0:
            return Verdict(True, False, 0.0, 0.0, "equal in value; the bits of a zero differ")
        for k, tolerance in enumerate(step_tolerances(lambda: reference(*args, **kwargs), eager, numerics)):
            if message := _excess(results[k], eager[k], tolerance):
                return Verdict(False, False, max_abs, max_ulp, f"{numbers}; {message}")
        return Verdict(True, False, max_abs, max_ulp, f"max difference {max_abs:.3g}, within {ULPS_PER_STEP} ulp a step")


def exceeding_tolerance(reference, args, result: torch.Tensor, numerics: str = "default") -> torch.Tensor:
    """A bool tensor: the elements of an op's only result that exceed their tolerance."""
    with torch.no_grad():
        eager = torch.as_tensor(reference(*args))
        (tolerance,) = step_tolerances(lambda: reference(*args), [eager], numerics)
        return _is_off(result, eager, tolerance)


def bits(tensor: torch.Tensor) -> torch.Tensor:
    """The bits of the elements as integers, with one pattern for all NaNs."""
    if not tensor.dtype.is_floating_point:
        return tensor
    integer = integer_of(tensor.dtype)
    nan = torch.tensor([float("nan")], device=tensor.device).to(tensor.dtype).view(integer)
    return torch.where(tensor.double().isnan(), nan, tensor.contiguous().view(integer))


def integer_of(dtype: torch.dtype) -> torch.dtype:
    """The signed integer type of the same width as a float type."""
    return {1: torch.int8, 2: torch.int16, 4: torch.int32, 8: torch.int64}[dtype.itemsize]


def difference(actual: torch.Tensor, eager: torch.Tensor) -> torch.Tensor:
    """|actual - eager| in float64: 0 if both are NaN or the same infinity, infinite if only one is."""
    a, b = actual.double(), eager.double()
    same = (a == b) | (a.isnan() & b.isnan())
    return torch.where(same, 0.0, (a - b).abs().nan_to_num(nan=float("inf"), posinf=float("inf")))


def ulp(tensor: torch.Tensor) -> torch.Tensor:
    """The unit in the last place of each element, in float64; 1 for integers."""
    if not tensor.dtype.is_floating_point:
        return torch.ones_like(tensor, dtype=torch.float64)
    info = torch.finfo(tensor.dtype)
    value = tensor.double().abs().nan_to_num(nan=0.0, posinf=info.max)
    exponent = torch.frexp(value).exponent - 1
    unit = torch.ldexp(torch.full_like(value, info.eps), exponent)
    return unit.clamp(min=info.smallest_normal * info.eps)


def _first_difference(results, eager) -> str:
    for actual, expected in zip(results, eager):
        wrong = bits(actual) != bits(expected)
        if wrong.any():
            first = tuple(int(i) for i in wrong.nonzero()[0])
            return (
                f"{int(wrong.sum())} of {wrong.numel()} elements have not eager's bits, the first at {list(first)}: "
                f"ingot {actual[first].item()!r}, eager {expected[first].item()!r}"
            )
    return ""


def _shape_difference(results, eager) -> str:
    if len(results) != len(eager):
        return f"{len(results)} results, eager gives {len(eager)}"
    for k, (actual, expected) in enumerate(zip(results, eager)):
        properties = [("dtype", actual.dtype, expected.dtype), ("shape", list(actual.shape), list(expected.shape))]
        if expected.numel() > 0:
            # Ingot returns new dense tensors even if eager returns views.
            properties.append(("strides", _strides(actual), _strides(torch.empty_like(expected, device="meta"))))
        for property, actual_value, expected_value in properties:
            if actual_value != expected_value:
                return f"result {k} has {property} {actual_value}, eager's is {expected_value}"
    return ""


def _strides(tensor: torch.Tensor) -> list[int]:
    """The strides, with 0 for dims of size 1, whose stride has no meaning."""
    return [stride if size > 1 else 0 for size, stride in zip(tensor.shape, tensor.stride())]


def step_tolerances(reference, eager: list[torch.Tensor], numerics: str = "default") -> list[torch.Tensor]:
    """The tolerance of each element of the results of `reference()`, in float64: the sum of the changes that the perturbations
    cause. Infinite if a change is not finite."""

    def run(**perturbation) -> tuple[_Perturbed, list[torch.Tensor]]:
        """A run, and its results followed by the tensors that it searches."""
        with _Perturbed(numerics, **perturbation) as perturbed:
            results = [torch.as_tensor(value) for value in as_list(reference())]
        return perturbed, [*results, *(search.tensor for search in perturbed.searches)]

    def add_changes(perturbations: list[dict], factor: float = 1.0) -> None:
        """Adds, for each element, the largest change that one of these perturbations causes, times the factor."""
        runs = [run(**perturbation)[1] for perturbation in perturbations]
        for k, base in enumerate(unperturbed):
            changes[k] += factor * torch.maximum(*(difference(values[k], base) for values in runs))

    counting, unperturbed = run()
    unperturbed[: len(eager)] = eager
    changes = [ulp(base) if _is_16_bit(base) else torch.zeros_like(base, dtype=torch.float64) for base in unperturbed]
    groups, slack = min(counting.steps, MAX_RUNS // 2), SLACK if counting.steps > 1 else 1.0
    for group in range(groups):
        add_changes([{"group": group, "groups": groups, "sign": sign} for sign in (1, -1)], slack)
    for index, search in enumerate(counting.searches):
        add_changes([{"forced": (index, indices)} for indices in search.first_and_last(changes[len(eager) + index])])
    return changes[: len(eager)]


def _excess(actual: torch.Tensor, eager: torch.Tensor, tolerance: torch.Tensor) -> str:
    wrong = _is_off(actual, eager, tolerance)
    count = int(wrong.sum())
    if not count:
        return ""
    first = tuple(int(i) for i in wrong.nonzero()[0])
    return (
        f"{count} of {actual.numel()} elements are farther off than {ULPS_PER_STEP} ulp a step explain, "
        f"the first at {list(first)}: ingot {actual[first].item()!r}, eager {eager[first].item()!r}"
    )


def _is_off(actual: torch.Tensor, eager: torch.Tensor, tolerance: torch.Tensor) -> torch.Tensor:
    """The elements that exceed their tolerance. An infinity or NaN always does if eager's element is finite, unless the
    computation may overflow."""
    is_lost = eager.isfinite() & ~actual.isfinite()
    return ((difference(actual, eager) > tolerance) | is_lost) & ~_overflows(actual, eager, tolerance)


def _overflows(actual: torch.Tensor, eager: torch.Tensor, tolerance: torch.Tensor) -> torch.Tensor:
    """The infinite elements whose overflow the tolerance explains: eager's element plus its tolerance reaches the largest
    number. With an infinite tolerance, eager's element must be at least half of the largest number."""
    if not actual.dtype.is_floating_point:
        return torch.zeros_like(actual, dtype=torch.bool)
    info = torch.finfo(actual.dtype)
    reach = torch.where(tolerance.isinf(), eager.double().abs(), tolerance)
    return actual.isinf() & (eager.double() * actual.sign().double() + reach >= info.max * (1 + info.eps / 4))


@dataclasses.dataclass
class _Search:
    """A search for the largest element of `sign` times a tensor, along a dim or among all elements."""

    tensor: torch.Tensor
    sign: int
    dim: int | None = None

    def first_and_last(self, reach: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """The first and the last index that the search may find if each element may be off by its reach."""
        # A search prefers NaN to any number. An element with an infinite reach may be NaN.
        largest, top = torch.finfo(torch.float64).max, float("inf")
        value = (self.tensor.double() * self.sign).nan_to_num(nan=top, posinf=largest, neginf=-largest)
        value, reach = self.with_dim_last(value), self.with_dim_last(reach)
        low, high = torch.where(reach.isinf(), -top, value - reach), torch.where(reach.isinf(), top, value + reach)
        best, certain = low.max(-1, keepdim=True)
        indices = torch.arange(low.shape[-1], device=low.device)
        possible = (high > best) | ((high == best) & (indices <= certain))
        return torch.where(possible, indices, len(indices)).amin(-1), torch.where(possible, indices, -1).amax(-1)

    def with_dim_last(self, tensor: torch.Tensor) -> torch.Tensor:
        """The tensor with the searched dim last."""
        return tensor.flatten() if self.dim is None else torch.atleast_1d(tensor).movedim(self.dim, -1)


def _has_alpha(kwargs: dict) -> bool:
    """Whether a step is `x + alpha * y` with another alpha than 1. Depending on the layout, eager's CPU kernel rounds the product or not."""
    return kwargs.get("alpha", 1) != 1


class _Perturbed(TorchDispatchMode):
    """A dispatch mode that perturbs inexact steps of eager PyTorch by the error that is allowed to them.

    group, groups: perturbs the k-th step if k % groups == group; without a group, none.
    sign: the direction, 1 or -1.
    forced: (index of a search, the result that it must return).
    Counts the steps and collects the searches.
    """

    def __init__(self, numerics: str, group: int | None = None, groups: int = 1, sign: int = 1, forced=None):
        super().__init__()
        self.group, self.groups, self.sign = group, groups, sign
        self.forced = forced
        self.rounds_16_bit = numerics == "eager"
        self.steps = 0
        self.searches: list[_Search] = []  # of inexact values
        self.inexact_storages = {}  # of inexact values, by address; kept alive, so that no address is reused

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        name = function.overloadpacket.__name__.rstrip("_")
        operands = args if name == function.overloadpacket.__name__ else _copied(args)
        result = function(*args, **kwargs)
        reads_inexact = any(_address(value) in self.inexact_storages for value in _tensors((args, list(kwargs.values()))))
        if reads_inexact and name in _SEARCHES and (name.startswith("arg") or isinstance(result, tuple)):
            self.search(_Search(args[0].clone(), _SEARCHES[name], *args[1:2]), list(_tensors(result))[-1])
        for tensor in _tensors(result):
            inexact = self.is_inexact(name, kwargs, tensor)
            if inexact or reads_inexact:
                self.inexact_storages[_address(tensor)] = tensor.untyped_storage()
            if inexact or (reads_inexact and name in _ROUNDS and tensor.dtype.is_floating_point):
                self.steps += 1
                if self.group is not None and (self.steps - 1) % self.groups == self.group:
                    self.perturb(tensor, name, function, operands, kwargs)
        return result

    def is_inexact(self, name: str, kwargs: dict, result: torch.Tensor) -> bool:
        if name in _MOVES or not result.dtype.is_floating_point:
            return False
        return name not in _EXACT or _has_alpha(kwargs) or (_is_16_bit(result) and not self.rounds_16_bit)

    def search(self, search: _Search, indices: torch.Tensor) -> None:
        if self.forced and self.forced[0] == len(self.searches):
            indices.copy_(self.forced[1].reshape(indices.shape))
        self.searches.append(search)

    def perturb(self, result, name, function, args, kwargs) -> None:
        """Moves the result of a step by the error that is allowed to it."""
        wide = self.widened(function, args, kwargs, result)
        if name in _EXACT_IN_FLOAT64 and not _is_16_bit(result):
            wide = torch.where(result.isnan(), 0, wide) if wide.dtype == result.dtype else wide
            reach = torch.zeros_like(wide)
        else:
            reach = ulp(result) * (1 if _is_16_bit(result) or name in _ROUNDS else ULPS_PER_STEP)
            if name in _CANCELS:
                inner = _CANCELS[name](*map(_widened, args))
                inner = inner if inner.ndim == 0 or inner.shape == result.shape else inner.amax()
                reach = reach + ULPS_PER_STEP * torch.finfo(result.dtype).eps * inner.nan_to_num(posinf=0.0)
            if _has_alpha(kwargs):
                reach = reach + ulp(torch.as_tensor(args[1]) * torch.as_tensor(kwargs["alpha"], dtype=result.dtype))
            reach = reach + difference(result, wide).nan_to_num(posinf=0.0)
        largest = torch.finfo(result.dtype).max
        perturbed = (result.double() + self.sign * reach).clamp(-largest, largest)
        # If eager's own step overflows or gives NaN, the value in float64 may be the correct one.
        instead = torch.where(wide.isfinite(), wide.double().clamp(-largest, largest), wide.double())
        result.copy_(torch.where(result.isfinite(), perturbed, instead))

    @staticmethod
    def widened(function, args, kwargs, result):
        """The step computed in float64; the step's own result if it cannot run in float64."""
        try:
            wide = function(*map(_widened, args), **kwargs)
        except (RuntimeError, TypeError):
            return result.double()
        wide = _first_result(wide)
        return wide if wide.shape == result.shape else result.double()


def _copied(value):
    """Copies of an op's arguments, taken before it writes them in place."""
    if isinstance(value, torch.Tensor):
        return value.clone()
    return type(value)(map(_copied, value)) if isinstance(value, (list, tuple)) else value


def _first_result(value):
    return value[0] if isinstance(value, (tuple, list)) else value


def _tensors(value):
    """The tensors in an op's arguments or results."""
    if isinstance(value, torch.Tensor):
        yield value
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from _tensors(item)


def _address(tensor: torch.Tensor) -> int:
    return tensor.untyped_storage().data_ptr()


def _is_16_bit(tensor: torch.Tensor) -> bool:
    return tensor.dtype in (torch.float16, torch.bfloat16)


def _widened(value):
    if isinstance(value, torch.Tensor) and value.dtype.is_floating_point:
        return value.double()
    return [_widened(item) for item in value] if isinstance(value, (list, tuple)) else value
