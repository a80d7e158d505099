"""Whether results are what eager PyTorch gives.

What is IEEE arithmetic alone has the same bits in any implementation. A transcendental function has not: each may be off
by 4 ulp, and what follows carries that on, so no fixed tolerance is right for a whole expression. The compare_to_eager therefore
runs eager PyTorch again and again, each time with one such step perturbed off by that much, and allows at each element the
sum of what these perturbations do to it. Arithmetic on what such a step gave may round the other way, so it is perturbed as well.
4 ulp count from the truth, so what eager's own step is off float64 is added to them; so is, of a function that adds what
a transcendental one gave to what nearly cancels it, what 4 ulp of that are worth, and of a sum and what is made of one
what 4 ulp of all that was added are. Steps in 16-bit floats are perturbed by their rounding, which Ingot leaves out unless
numerics="eager". What no such step has touched must be equal.

A push moves equal elements alike, so it does not show which of them may be the largest. A search of what was computed is
therefore perturbed itself: to the first and to the last element that may be it, by what the perturbations before do to each.
"""

from __future__ import annotations

import copy
import dataclasses

import torch
from torch.utils._python_dispatch import TorchDispatchMode, _disable_current_modes

MOST_RUNS = 128  # past that, several steps are perturbed at once
SLACK = 1.5  # perturbations that meet are worth more than their sum
ULP_A_STEP = 4

_EXACT = set("""add sub rsub mul div true_divide neg abs maximum minimum fmax fmin clamp clamp_min clamp_max relu where
eq ne lt le gt ge isnan isinf isfinite signbit floor ceil round trunc frac reciprocal floor_divide
sign sgn copysign nextafter square logical_and logical_or logical_xor logical_not bitwise_and bitwise_or bitwise_xor
bitwise_not bitwise_left_shift bitwise_right_shift heaviside hardtanh threshold leaky_relu nan_to_num
fill full_like ones_like zeros_like empty_like full ones zeros empty empty_strided new_empty new_empty_strided scalar_tensor arange
lift_fresh""".split())
# Exact as well, but eager's vector loops lose what is left of a quotient past the digits of its type.
_EXACT_IN_FLOAT64 = {"remainder", "fmod"}
_ROUNDS = set("add sub rsub mul div true_divide reciprocal square remainder fmod".split())
# What says where the largest or, of a sign of -1, the smallest element is.
_SEARCHES = {"argmax": 1, "argmin": -1, "max": 1, "min": -1}
_MOVES = set("""_to_copy clone copy cat stack index index_select gather take select slice view reshape _unsafe_view
expand permute transpose t unsqueeze squeeze unbind split split_with_sizes chunk flip detach alias as_strided
unflatten flatten narrow diagonal roll contiguous repeat tril triu unfold constant_pad_nd reflection_pad1d
reflection_pad2d reflection_pad3d replication_pad1d replication_pad2d replication_pad3d diag_embed pixel_shuffle
pixel_unshuffle channel_shuffle upsample_nearest1d upsample_nearest2d upsample_nearest3d embedding""".split())
# How large what a transcendental function gives inside of these is, in units whose ulp is eps, where it meets what nearly
# cancels it: gelu's is x / 2 · (1 + erf or tanh), and the ulp of an erf near -1 is eps / 2.
_CANCELS = {
    "gelu": lambda x, *rest: x.abs() / 4,
    "logaddexp": lambda x, y: torch.full_like(x, 0.5),
    "logaddexp2": lambda x, y: torch.full_like(x, 0.5),
    "binary_cross_entropy_with_logits": lambda x, *rest: x.abs() + 1,
    # Sums, and what is made of them: what was added, whatever is left of it.
    "sum": lambda x, dim=None, keepdim=False: _sum(x.abs(), dim, keepdim),
    "nansum": lambda x, dim=None, keepdim=False: _sum(torch.where(x.isnan(), 0, x.abs()), dim, keepdim),
    "mean": lambda x, dim=None, keepdim=False: _sum(x.abs(), dim, keepdim) / max(1, x.numel()) * _sum(x, dim, True).numel(),
    "var": lambda x, *rest: (x * x).amax(),
    "std": lambda x, *rest: x.abs().amax(),
    "logsumexp": lambda x, *rest: x.abs().amax(),
    # Its operands are perturbed together, of which it takes no notice.
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
    """`max_ulp` counts in units of eager's result; `message` is one line for people."""

    ok: bool
    bit_for_bit: bool
    max_abs: float
    max_ulp: float
    message: str


def as_list(value) -> list[torch.Tensor]:
    return list(value) if isinstance(value, (tuple, list)) else [value]


def functional(function):
    """The same function of copies of its tensors. What it changes of these in place is returned too, before the rest."""

    def on_copies(*args, **kwargs):
        with _disable_current_modes():
            args, kwargs = copy.deepcopy((args, kwargs))
        tensors = [value for value in (*args, *kwargs.values()) if isinstance(value, torch.Tensor)]
        changed = changes_of(tensors)
        results = function(*args, **kwargs)
        return [*(tensor.clone() for tensor in changed()), *([] if results is None else as_list(results))]

    return on_copies


def changes_of(tensors: list[torch.Tensor]):
    """A function that tells which of the tensors were written since."""
    before = [(tensor, tensor._version) for tensor in tensors]
    return lambda: [tensor for tensor, version in before if tensor._version > version]


def compare_to_eager(reference, args, kwargs, results, numerics: str = "default", exact: bool = False) -> Verdict:
    """Judges what an op gave for the arguments with which `reference` is called again. With `exact` only eager's own
    bits are right, any NaN for any."""
    with torch.no_grad():
        eager = [torch.as_tensor(value) for value in as_list(reference(*args, **kwargs))]
        results = as_list(results)
        if message := _shape_difference(results, eager):
            return Verdict(False, False, float("nan"), float("nan"), message)
        if all(torch.equal(bits(ours), bits(theirs)) for ours, theirs in zip(results, eager)):
            return Verdict(True, True, 0.0, 0.0, "bit for bit")
        max_abs = max(difference(ours, theirs).max().item() if ours.numel() else 0.0 for ours, theirs in zip(results, eager))
        max_ulp = max(
            (difference(ours, theirs) / ulp(theirs)).max().item() if ours.numel() else 0.0
            for ours, theirs in zip(results, eager)
        )
        numbers = f"max difference {max_abs:.3g}, {max_ulp:.3g} ulp"
        if exact:
            return Verdict(False, False, max_abs, max_ulp, f"{numbers}; {_first_difference(results, eager)}")
        if max_abs == 0:
            return Verdict(True, False, 0.0, 0.0, "equal in value; the bits of a zero differ")
        for k, allowed in enumerate(allowed_of_steps(lambda: reference(*args, **kwargs), eager, numerics)):
            if message := _excess(results[k], eager[k], allowed):
                return Verdict(False, False, max_abs, max_ulp, f"{numbers}; {message}")
        return Verdict(True, False, max_abs, max_ulp, f"max difference {max_abs:.3g}, within {ULP_A_STEP} ulp a step")


def beyond(reference, args, result: torch.Tensor, numerics: str = "default") -> torch.Tensor:
    """Which elements of an op's one result are farther off eager's than its steps explain."""
    with torch.no_grad():
        eager = torch.as_tensor(reference(*args))
        (allowed,) = allowed_of_steps(lambda: reference(*args), [eager], numerics)
        return _is_off(result, eager, allowed)


def bits(tensor: torch.Tensor) -> torch.Tensor:
    """The elements as integers, all NaNs alike."""
    if not tensor.dtype.is_floating_point:
        return tensor
    integer = integer_of(tensor.dtype)
    nan = torch.tensor([float("nan")], device=tensor.device).to(tensor.dtype).view(integer)
    return torch.where(tensor.double().isnan(), nan, tensor.contiguous().view(integer))


def integer_of(dtype: torch.dtype) -> torch.dtype:
    """The signed integer that is as wide as a float."""
    return {1: torch.int8, 2: torch.int16, 4: torch.int32, 8: torch.int64}[dtype.itemsize]


def difference(ours: torch.Tensor, eager: torch.Tensor) -> torch.Tensor:
    """|ours - eager| in float64: 0 where both are NaN or the same infinity, infinite where one alone is."""
    a, b = ours.double(), eager.double()
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
    for ours, theirs in zip(results, eager):
        wrong = bits(ours) != bits(theirs)
        if wrong.any():
            first = tuple(int(i) for i in wrong.nonzero()[0])
            return (
                f"{int(wrong.sum())} of {wrong.numel()} elements have not eager's bits, the first at {list(first)}: "
                f"ingot {ours[first].item()!r}, eager {theirs[first].item()!r}"
            )
    return ""


def _shape_difference(results, eager) -> str:
    if len(results) != len(eager):
        return f"{len(results)} results, eager gives {len(eager)}"
    for k, (ours, theirs) in enumerate(zip(results, eager)):
        facts = [("dtype", ours.dtype, theirs.dtype), ("shape", list(ours.shape), list(theirs.shape))]
        if theirs.numel() > 0:
            # A result of Ingot's is dense memory of its own, where eager's may be a view.
            facts.append(("strides", _strides(ours), _strides(torch.empty_like(theirs, device="meta"))))
        for what, mine, its in facts:
            if mine != its:
                return f"result {k} has {what} {mine}, eager's is {its}"
    return ""


def _strides(tensor: torch.Tensor) -> list[int]:
    """Strides that matter: those of dims of size 1 do not."""
    return [stride if size > 1 else 0 for size, stride in zip(tensor.shape, tensor.stride())]


def allowed_of_steps(reference, eager: list[torch.Tensor], numerics: str = "default") -> list[torch.Tensor]:
    """What each element of `reference()` may be off eager's by: the sum of what pushing each step does, infinite where one
    is not finite."""

    def run(**perturbation) -> tuple[_Perturbed, list[torch.Tensor]]:
        """The results of a run, and what it searches."""
        with _Perturbed(numerics, **perturbation) as perturbed:
            results = [torch.as_tensor(value) for value in as_list(reference())]
        return perturbed, [*results, *(search.tensor for search in perturbed.searches)]

    def move(perturbations: list[dict], times: float = 1.0) -> None:
        runs = [run(**perturbation)[1] for perturbation in perturbations]
        for k, before in enumerate(plain):
            moved[k] += times * torch.maximum(*(difference(values[k], before) for values in runs))

    counting, plain = run()
    plain[: len(eager)] = eager
    moved = [ulp(before) if _is_half(before) else torch.zeros_like(before, dtype=torch.float64) for before in plain]
    groups, slack = min(counting.steps, MOST_RUNS // 2), SLACK if counting.steps > 1 else 1.0
    for group in range(groups):
        move([{"group": group, "groups": groups, "sign": sign} for sign in (1, -1)], slack)
    for number, search in enumerate(counting.searches):
        move([{"found": (number, place)} for place in search.first_and_last(moved[len(eager) + number])])
    return moved[: len(eager)]


def _excess(ours: torch.Tensor, eager: torch.Tensor, allowed: torch.Tensor) -> str:
    wrong = _is_off(ours, eager, allowed)
    count = int(wrong.sum())
    if not count:
        return ""
    first = tuple(int(i) for i in wrong.nonzero()[0])
    return (
        f"{count} of {ours.numel()} elements are farther off than {ULP_A_STEP} ulp a step explain, "
        f"the first at {list(first)}: ingot {ours[first].item()!r}, eager {eager[first].item()!r}"
    )


def _is_off(ours: torch.Tensor, eager: torch.Tensor, allowed: torch.Tensor) -> torch.Tensor:
    """Which elements are farther off than what is allowed. Where eager's is a finite number no reach excuses any other."""
    lost = eager.isfinite() & ~ours.isfinite()
    return ((difference(ours, eager) > allowed) | lost) & ~_overflows(ours, eager, allowed)


def _overflows(ours: torch.Tensor, eager: torch.Tensor, allowed: torch.Tensor) -> torch.Tensor:
    """Where the result is infinite and eager's is so near to the largest number that it might have been: within half of it
    where the steps reach infinity."""
    if not ours.dtype.is_floating_point:
        return torch.zeros_like(ours, dtype=torch.bool)
    info = torch.finfo(ours.dtype)
    reach = torch.where(allowed.isinf(), eager.double().abs(), allowed)
    return ours.isinf() & (eager.double() * ours.sign().double() + reach >= info.max * (1 + info.eps / 4))


@dataclasses.dataclass
class _Search:
    """For the largest element along a dim, or of all, of a tensor times `sign`."""

    tensor: torch.Tensor
    sign: int
    dim: int | None = None

    def first_and_last(self, reach: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Of the places where it may be, if each element may be off by its reach."""
        # NaN is found before any number, and is what an element without a finite reach may be.
        largest, top = torch.finfo(torch.float64).max, float("inf")
        value = (self.tensor.double() * self.sign).nan_to_num(nan=top, posinf=largest, neginf=-largest)
        value, reach = self.lines(value), self.lines(reach)
        low, high = torch.where(reach.isinf(), -top, value - reach), torch.where(reach.isinf(), top, value + reach)
        best, certain = low.max(-1, keepdim=True)
        places = torch.arange(low.shape[-1], device=low.device)
        possible = (high > best) | ((high == best) & (places <= certain))
        return torch.where(possible, places, len(places)).amin(-1), torch.where(possible, places, -1).amax(-1)

    def lines(self, tensor: torch.Tensor) -> torch.Tensor:
        """What is searched, along the last dim."""
        return tensor.flatten() if self.dim is None else torch.atleast_1d(tensor).movedim(self.dim, -1)


def _is_scaled(kwargs: dict) -> bool:
    """Whether it is a sum with a multiple, whose product eager's CPU kernel rounds or does not, as the elements lie."""
    return kwargs.get("alpha", 1) != 1


class _Perturbed(TorchDispatchMode):
    """Eager PyTorch with some of its inexact steps perturbed to the edge of what they may be off by, the k-th where
    k % groups == group, or with one search that finds what it is told. Counts the steps and keeps the searches."""

    def __init__(self, numerics: str, group: int | None = None, groups: int = 1, sign: int = 1, found=None):
        super().__init__()
        self.group, self.groups, self.sign = group, groups, sign
        self.found = found  # the search's number and the places
        self.rounds_halves = numerics == "eager"
        self.steps = 0
        self.searches: list[_Search] = []  # of what an inexact step has had a part in
        self.touched = {}  # storages that an inexact step has had a part in, kept alive, by address

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        name = function.overloadpacket.__name__.rstrip("_")
        operands = args if name == function.overloadpacket.__name__ else _copied(args)
        result = function(*args, **kwargs)
        touched = any(_address(value) in self.touched for value in _tensors((args, list(kwargs.values()))))
        if touched and name in _SEARCHES and (name.startswith("arg") or isinstance(result, tuple)):
            self.search(_Search(args[0].clone(), _SEARCHES[name], *args[1:2]), list(_tensors(result))[-1])
        for tensor in _tensors(result):
            inexact = self.is_inexact(name, kwargs, tensor)
            if inexact or touched:
                self.touched[_address(tensor)] = tensor.untyped_storage()
            if inexact or (touched and name in _ROUNDS and tensor.dtype.is_floating_point):
                self.steps += 1
                if self.group is not None and (self.steps - 1) % self.groups == self.group:
                    self.perturb(tensor, name, function, operands, kwargs)
        return result

    def is_inexact(self, name: str, kwargs: dict, result: torch.Tensor) -> bool:
        if name in _MOVES or not result.dtype.is_floating_point:
            return False
        return name not in _EXACT or _is_scaled(kwargs) or (_is_half(result) and not self.rounds_halves)

    def search(self, search: _Search, places: torch.Tensor) -> None:
        if self.found and self.found[0] == len(self.searches):
            places.copy_(self.found[1].reshape(places.shape))
        self.searches.append(search)

    def perturb(self, result, name, function, args, kwargs) -> None:
        """Moves the step's result by as much as it may be off."""
        wide = self.widened(function, args, kwargs, result)
        if name in _EXACT_IN_FLOAT64 and not _is_half(result):
            wide = torch.where(result.isnan(), 0, wide) if wide.dtype == result.dtype else wide
            reach = torch.zeros_like(wide)
        else:
            reach = ulp(result) * (1 if _is_half(result) or name in _ROUNDS else ULP_A_STEP)
            if name in _CANCELS:
                inner = _CANCELS[name](*map(_widened, args))
                inner = inner if inner.ndim == 0 or inner.shape == result.shape else inner.amax()
                reach = reach + ULP_A_STEP * torch.finfo(result.dtype).eps * inner.nan_to_num(posinf=0.0)
            if _is_scaled(kwargs):
                reach = reach + ulp(torch.as_tensor(args[1]) * torch.as_tensor(kwargs["alpha"], dtype=result.dtype))
            reach = reach + difference(result, wide).nan_to_num(posinf=0.0)
        largest = torch.finfo(result.dtype).max
        perturbed = (result.double() + self.sign * reach).clamp(-largest, largest)
        # Where eager's own step overflows or has no answer, float64's may be the right one.
        instead = torch.where(wide.isfinite(), wide.double().clamp(-largest, largest), wide.double())
        result.copy_(torch.where(result.isfinite(), perturbed, instead))

    @staticmethod
    def widened(function, args, kwargs, result):
        """The step in float64; its own result where there is no such thing."""
        try:
            wide = function(*map(_widened, args), **kwargs)
        except (RuntimeError, TypeError):
            return result.double()
        wide = _first(wide)
        return wide if wide.shape == result.shape else result.double()


def _copied(value):
    """An op's arguments as they are before it changes them."""
    if isinstance(value, torch.Tensor):
        return value.clone()
    return type(value)(map(_copied, value)) if isinstance(value, (list, tuple)) else value


def _first(value):
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


def _is_half(tensor: torch.Tensor) -> bool:
    return tensor.dtype in (torch.float16, torch.bfloat16)


def _widened(value):
    if isinstance(value, torch.Tensor) and value.dtype.is_floating_point:
        return value.double()
    return [_widened(item) for item in value] if isinstance(value, (list, tuple)) else value
