"""Whether a candidate's results are right: by eager PyTorch and by float64.

Somebody else's formula may round elsewhere than eager's, contract a product and a sum, or add in another order, and be no
worse for it. So it is held to float64: an element may be as far off as eager is anywhere among results of its size, four
times over, and by eight units in the last place (two, of 16-bit floats), and as many times what the arguments, each half an
ulp of float32 off, would make of it, unless they are where the result jumps. Where N elements become one, the latter by
sqrt(N) / 8 as much: one who adds them in order is that far off, as errors go. Where elements are not added up it may also
be as far off as four ulp of each transcendental step make it, in float32 where they are shorter (oracle.py): what such a
step gave may meet what nearly cancels it, as in gelu, or a jump. What is no float must be equal, a NaN is any NaN, and
infinities are where eager's are or float64's round to.
"""

from __future__ import annotations

import dataclasses
import functools
import math

import torch

from ..capture import fail
from ..oracle import allowed_of_steps, bits, difference, ulp
from .workload import EagerRun, Workload, each, in_float64

OF_EAGERS_ERROR, ULPS, SHORT_ULPS, OF_SUMS = 4, 8, 2, 8
JUMP = 64  # a step that is so many times as small, and does more than half as much, is one over a jump
FEW_ULPS = 16


@dataclasses.dataclass
class Expected:
    """What a candidate is held to on some arguments: eager's results, and in float64 the truth and how far from it a
    right result may be."""

    workload: Workload
    run: EagerRun
    exact: list[torch.Tensor] | None = None
    allowed: list[torch.Tensor] | None = None
    measured: int = 0  # how many of the ways there are to measure what is allowed

    @classmethod
    def of(cls, workload: Workload) -> Expected:
        return cls(workload, workload.run_eager())

    @property
    def changed(self) -> list[str]:
        """Parameters that are written in place, whose results come first."""
        return self.run.changed

    @functools.cached_property
    def eager(self) -> list[torch.Tensor]:
        return self.run.results

    def measure(self) -> bool:
        """Finds the truth and what is allowed: at first for the rounding of results, then, which takes runs in float64, for that
        of the arguments, and then, which takes runs of eager, for that of each step. False where all of it is known. Raises
        `ingot.Error` where memory is short."""
        try:
            return self._measure()
        except torch.OutOfMemoryError as error:
            raise fail("its results are not eager's bits, and no memory was left to check them by float64",
                       "compare fewer elements") from error

    def _measure(self) -> bool:
        if self.measured == 0:
            self.exact = self.workload.run_in_float64()
            self.allowed = [allowed(e, d) for e, d in zip(self.eager, self.exact)]
        elif self.measured == 1:
            largest = max((t.numel() for t in self.workload.tensors().values()), default=1)
            for k, sensitivity in enumerate(_sensitivity(self.workload, self.eager, self.exact)):
                self.allowed[k] += of_arguments(sensitivity, largest / max(self.eager[k].numel(), 1))
        elif self.measured == 2 and not self.workload.adds_up and not self.changed:
            computed = each(self.workload, _as_computed)
            of_steps = allowed_of_steps(lambda: computed.run_eager().results, computed.run_eager().results)
            for allowed_already, more in zip(self.allowed, of_steps):
                allowed_already += more.nan_to_num(nan=0.0, posinf=0.0)
        else:
            return False
        self.measured += 1
        return True


@dataclasses.dataclass
class Verdict:
    """On one case. `ulp` counts from float64, in units of eager's dtype; `eager_ulp` is eager's own."""

    correct: bool
    message: str
    bit_for_bit: bool = False
    ulp: float | None = None
    eager_ulp: float | None = None
    worst: dict | None = None  # where: index, values, inputs

    def as_json(self) -> dict:
        return {k: _finite(v) for k, v in dataclasses.asdict(self).items()}


def check(expected: Expected, results: list[torch.Tensor]) -> Verdict:
    if message := _other_form(results, expected.eager):
        return Verdict(False, message)
    if all(torch.equal(bits(ours), bits(theirs)) for ours, theirs in zip(results, expected.eager)):
        return Verdict(True, "bit for bit", True, 0.0, 0.0)
    if expected.measured == 0:
        expected.measure()
    while True:
        worst = [_worst(expected, k, result) for k, result in enumerate(results)]
        largest = max(worst, key=lambda found: found.excess)
        if largest.excess <= 1 or not expected.measure():
            break
    ulps, eagers = max(w.ulp for w in worst), max(w.eager_ulp for w in worst)
    if largest.excess > 1:
        others = f" and {largest.count - 1} more" if largest.count > 1 else ""
        return Verdict(False, f"incorrect at {largest.place}{others}: {largest.ours!r}, eager {largest.eager!r}", False, ulps, eagers,
                       largest.as_json(expected))
    # Next to zero an ulp is worth nothing: there it is eager's error that says what is much.
    if all(torch.equal(ours, theirs) for ours, theirs in zip(results, expected.eager)):
        close = "equal in value; the bits of a zero differ"
    elif ulps <= FEW_ULPS:
        close = f"within {ulps:.2g} ulp"
    else:
        close = f"{ulps / eagers:.2g} of eager's error" if eagers else f"{ulps:.2g} ulp off"
    return Verdict(True, close, False, ulps, eagers, largest.as_json(expected))


@dataclasses.dataclass
class _Worst:
    """The element that is farthest from right, in units of what is allowed, and how many are wrong."""

    excess: float
    count: int
    ulp: float
    eager_ulp: float
    result: int
    index: tuple[int, ...] = ()
    ours: object = None
    eager: object = None
    exact: object = None

    @property
    def place(self) -> str:
        return f"[{', '.join(map(str, self.index))}]"

    def as_json(self, expected: Expected) -> dict:
        return {"result": self.result, "index": list(self.index), "value": repr(self.ours), "eager": repr(self.eager),
                "float64": repr(self.exact), "inputs": inputs_at(expected, self.result, self.index)}


def _worst(expected: Expected, k: int, ours: torch.Tensor) -> _Worst:
    eager, exact, allowed = expected.eager[k], expected.exact[k], expected.allowed[k]
    if ours.numel() == 0:
        return _Worst(0.0, 0, 0.0, 0.0, k)
    if not eager.dtype.is_floating_point:
        excess = (ours != eager).double() * math.inf
        off = torch.zeros_like(excess)
        eagers = off
    else:
        rounded = exact.to(eager.dtype)
        same = (bits(ours) == bits(eager)) | (ours == eager) | (bits(ours) == bits(rounded))
        off = difference(ours, exact)
        excess = torch.where(same, 0.0, off / allowed.clamp(min=torch.finfo(torch.float64).tiny))
        excess = excess.nan_to_num(nan=math.inf, posinf=math.inf)
        unit = ulp(rounded)
        finite = exact.isfinite() & ours.isfinite() & eager.isfinite()
        off, eagers = (torch.where(finite, x / unit, 0.0) for x in (off, difference(eager, exact)))
    excess = excess.nan_to_num(nan=0.0)  # 0 · inf: equal
    at = int(excess.argmax()) if excess.max() > 0 else int(off.argmax())
    index = tuple(int(i) for i in torch.unravel_index(torch.tensor(at), ours.shape))
    return _Worst(float(excess.max()), int((excess > 1).sum()), float(off.max()), float(eagers.max()), k, index,
                  ours[index].item(), eager[index].item(), exact[index].item())


def inputs_at(expected: Expected, k: int, index: tuple[int, ...]) -> dict:
    """What each tensor has at the place of an element of result k, broadcast as it is; a few numbers where that is a row.
    A tensor of another shape has none."""
    shape, found = expected.eager[k].shape, {}
    for name, value in expected.workload.values.items():
        if not isinstance(value, torch.Tensor):
            found[name] = repr(value)
            continue
        own = _broadcast_index(value.shape, shape, index)
        if own is not None:
            element = value[own]
            found[name] = repr(element.item()) if element.ndim == 0 else repr(element.flatten()[:8].tolist())
    return found


def _broadcast_index(own: torch.Size, shape: torch.Size, index: tuple[int, ...]) -> tuple[int, ...] | None:
    aligned = list(zip(reversed(own), reversed(shape), reversed(index)))
    if len(own) <= len(shape) and all(size in (1, of) for size, of, _ in aligned):
        return tuple(i if size > 1 else 0 for size, _, i in reversed(aligned))
    if own[: len(shape)] == shape:  # a box for each result: its own rows
        return index
    return None


def of_arguments(sensitivity: torch.Tensor, summed: float, ulps: float = ULPS) -> torch.Tensor:
    """How far from float64 a right element may be, of which each is made of so many, for the rounding of its arguments."""
    return ulps * max(1.0, math.sqrt(summed) / OF_SUMS) * sensitivity


def allowed(eager: torch.Tensor, exact: torch.Tensor, of_eagers: float = OF_EAGERS_ERROR, ulps: float = ULPS) -> torch.Tensor:
    """How far from float64 a right element may be, for the rounding of results."""
    if not eager.dtype.is_floating_point or eager.numel() == 0:
        return torch.zeros_like(eager, dtype=torch.float64)
    rounded = exact.to(eager.dtype)
    error = difference(eager, exact)
    usable = error.isfinite() & rounded.isfinite()
    # Of all results of one size, what eager is off at worst.
    sizes = torch.frexp(rounded.double().abs().nan_to_num(nan=0.0, posinf=0.0)).exponent.clamp(-1200, 1200).long() + 1200
    worst = torch.zeros(2401, dtype=torch.float64, device=eager.device)
    worst.scatter_reduce_(0, sizes[usable].flatten(), error[usable].flatten(), "amax")
    of_result = min(ulps, SHORT_ULPS) if eager.dtype.itemsize == 2 else ulps
    return of_eagers * worst[sizes] + of_result * ulp(rounded)


def _sensitivity(workload: Workload, eager: list[torch.Tensor], exact: list[torch.Tensor]) -> list[torch.Tensor]:
    """What a relative step of half an ulp of each argument alone does to each result: of all its elements, of their sizes,
    and of each up or down, which shows what is left of a row's equal elements when their mean is taken off. It is what
    rounding is worth where formulas cancel, and in sums. Of 16-bit floats it is float32's, in which all compute. An element
    whose arguments are where the function jumps, as at a half that is rounded, has one answer."""
    moved = [torch.zeros_like(d, dtype=torch.float64) for d in exact]
    for name, value in workload.tensors().items():
        if not value.dtype.is_floating_point:
            continue
        step = torch.finfo(torch.float32 if value.dtype.itemsize == 2 else value.dtype).eps / 2
        for push in (lambda x, by: x * (1 + by), lambda x, by: x + by * x.abs(), lambda x, by: x * (1 + by * _signs(x))):
            far, near = (workload.with_values({**workload.values, name: push(in_float64(value), by)}).run_in_float64()
                         for by in (step, step / JUMP))
            for k in range(len(exact)):
                if eager[k].dtype.is_floating_point:
                    by_far, by_near = (difference(pushed[k], exact[k]).nan_to_num(nan=0.0, posinf=0.0) for pushed in (far, near))
                    moved[k] += torch.where(by_near > by_far / 2, 0.0, by_far)
    return moved


def _as_computed(tensor: torch.Tensor) -> torch.Tensor:
    """16-bit floats as float32, in which all compute."""
    return tensor.float() if tensor.dtype in (torch.float16, torch.bfloat16) else tensor


def _signs(x: torch.Tensor) -> torch.Tensor:
    """1 or -1 for each element, the same at every call."""
    generator = torch.Generator(x.device).manual_seed(0)
    return 2 * torch.randint(2, x.shape, generator=generator, device=x.device, dtype=x.dtype) - 1


def _other_form(results: list, eager: list[torch.Tensor]) -> str:
    if len(results) != len(eager):
        return f"gives {len(results)} results, eager {len(eager)}"
    for k, (ours, theirs) in enumerate(zip(results, eager)):
        which = "the result" if len(eager) == 1 else f"result {k}"
        if not isinstance(ours, torch.Tensor):
            return f"{which} is a {type(ours).__name__}, eager's a tensor"
        for what, mine, its in (("dtype", ours.dtype, theirs.dtype), ("shape", list(ours.shape), list(theirs.shape)),
                                ("device", ours.device, theirs.device)):
            if mine != its:
                return f"{which} has {what} {mine}, eager's {its}"
    return ""


def _finite(value):
    """JSON has no nan and no inf."""
    return None if isinstance(value, float) and not math.isfinite(value) else value


