"""Decides whether a candidate's results are correct, by eager PyTorch and by float64.

A correct candidate may round at other places than eager: it may contract a product and a sum, or add in another order. So
its results are compared with float64. An element may be off by the sum of these bounds:

- four times eager's largest error among results of the same magnitude;
- eight units in the last place, or two for 16-bit floats;
- eight times the change that half an ulp in each argument makes (for 16-bit floats: half an ulp of float32), unless the
  function jumps there. If N elements become one, this bound is multiplied by sqrt(N) / 8 if that is more than 1, which covers
  the error of adding them in order;
- if nothing is added up, four ulp of each transcendental step (oracle.py); for 16-bit floats, ulp of float32. The result of
  such a step may nearly cancel against another term, as in gelu, or decide on which side of a jump an element is;
- if the workload says that `terms_may_cancel`, eight ulp of the largest result; for 16-bit floats, ulp of float32.

Values that are not floats must be equal. Any NaN equals any NaN. An infinity is correct only if eager's element is
the same infinity, or if the float64 result rounds to it.
"""

from __future__ import annotations

import dataclasses
import functools
import math

import torch

from ..capture import author_error
from ..oracle import step_tolerances, bits, difference, ulp
from .workload import EagerRun, Workload, in_float64, map_tensors

EAGER_ERROR_FACTOR, ULPS, ULPS_16_BIT, SUM_DIVISOR = 4, 8, 2, 8
JUMP = 64  # the function jumps next to an argument if a step smaller by this factor still makes more than half of the change
FEW_ULPS = 16  # a message gives a distance in ulp only up to here


@dataclasses.dataclass
class Expected:
    """The results that a candidate is compared with: eager's, and float64's (`exact`). `tolerances` has the allowed distance of
    each element from its float64 result."""

    workload: Workload
    run: EagerRun
    exact: list[torch.Tensor] | None = None
    tolerances: list[torch.Tensor] | None = None
    bound_count: int = 0  # the number of bounds that are added to `tolerances` so far

    @classmethod
    def of(cls, workload: Workload) -> Expected:
        return cls(workload, workload.run_eager())

    @property
    def written_names(self) -> list[str]:
        """The parameters that are written in place. Their values come first among the results."""
        return self.run.written_names

    @functools.cached_property
    def eager(self) -> list[torch.Tensor]:
        return self.run.results

    def add_bound(self) -> bool:
        """Adds the next bound to the tolerances; returns False if all are added. The bounds come in order of cost: the rounding of
        the results, then of the arguments (runs in float64), then of each step (runs of eager). Raises `ingot.Error` if memory is
        short."""
        try:
            return self._add_bound()
        except torch.OutOfMemoryError as error:
            raise author_error("its results differ from eager's bits, and there is not enough memory to check them in float64",
                               "compare with fewer elements") from error

    def _add_bound(self) -> bool:
        if self.bound_count == 0:
            self.exact = self.workload.run_in_float64()
            self.tolerances = [rounding_tolerance(e, d) for e, d in zip(self.eager, self.exact)]
        elif self.bound_count == 1:
            largest = max((t.numel() for t in self.workload.tensors().values()), default=1)
            for k, sensitivity in enumerate(_sensitivity(self.workload, self.eager, self.exact)):
                self.tolerances[k] += argument_tolerance(sensitivity, largest / max(self.eager[k].numel(), 1))
        elif self.bound_count == 2 and not self.workload.adds_up and not self.written_names:
            computed = map_tensors(self.workload, _in_compute_dtype)
            step_bounds = step_tolerances(lambda: computed.run_eager().results, computed.run_eager().results)
            for tolerance, bound in zip(self.tolerances, step_bounds):
                tolerance += bound.nan_to_num(nan=0.0, posinf=0.0)
        elif self.bound_count == 2 and self.workload.terms_may_cancel:
            for tolerance, eager, exact in zip(self.tolerances, self.eager, self.exact):
                if eager.dtype.is_floating_point and eager.numel():
                    largest = exact.abs().nan_to_num(nan=0.0, posinf=0.0).max()
                    tolerance += ULPS * torch.finfo(torch.float32 if eager.itemsize == 2 else eager.dtype).eps * largest
        else:
            return False
        self.bound_count += 1
        return True


@dataclasses.dataclass
class Verdict:
    """The result of one check. `ulp` is the distance from float64 in units of eager's dtype; `eager_ulp` is eager's distance."""

    correct: bool
    message: str
    bit_for_bit: bool = False
    ulp: float | None = None
    eager_ulp: float | None = None
    worst: dict | None = None  # the worst element: index, values, inputs

    def as_json(self) -> dict:
        return {k: _finite(v) for k, v in dataclasses.asdict(self).items()}


def check(expected: Expected, results: list[torch.Tensor]) -> Verdict:
    """Checks a candidate's results. Bounds are computed only as far as a result needs them."""
    if message := _mismatch(results, expected.eager):
        return Verdict(False, message)
    if all(torch.equal(bits(actual), bits(expected_result)) for actual, expected_result in zip(results, expected.eager)):
        return Verdict(True, "bit for bit", True, 0.0, 0.0)
    if expected.bound_count == 0:
        expected.add_bound()
    while True:
        worst = [_worst(expected, k, result) for k, result in enumerate(results)]
        largest = max(worst, key=lambda element: element.excess)
        if largest.excess <= 1 or not expected.add_bound():
            break
    ulps, eagers = max(w.ulp for w in worst), max(w.eager_ulp for w in worst)
    if largest.excess > 1:
        others = f" and {largest.count - 1} more" if largest.count > 1 else ""
        message = f"differs at {largest.position}{others}: {largest.actual!r}, eager {largest.eager!r}"
        return Verdict(False, message, False, ulps, eagers, largest.as_json(expected))
    if all(torch.equal(actual, expected_result) for actual, expected_result in zip(results, expected.eager)):
        message = "equal in value; the bits of a zero differ"
    elif ulps <= FEW_ULPS:
        message = f"within {ulps:.2g} ulp"
    else:  # so many ulp are common for results next to zero, and say little there: the distance is relative to eager's error
        message = f"{ulps / eagers:.2g} of eager's error" if eagers else f"{ulps:.2g} ulp off"
    return Verdict(True, message, False, ulps, eagers, largest.as_json(expected))


@dataclasses.dataclass
class _Worst:
    """The element with the largest error relative to the allowed one (`excess`), and the number of incorrect elements."""

    excess: float
    count: int
    ulp: float
    eager_ulp: float
    result: int
    index: tuple[int, ...] = ()
    actual: object = None
    eager: object = None
    exact: object = None

    @property
    def position(self) -> str:
        return f"[{', '.join(map(str, self.index))}]"

    def as_json(self, expected: Expected) -> dict:
        return {"result": self.result, "index": list(self.index), "value": repr(self.actual), "eager": repr(self.eager),
                "float64": repr(self.exact), "inputs": inputs_at(expected, self.result, self.index)}


def _worst(expected: Expected, k: int, actual: torch.Tensor) -> _Worst:
    eager, exact, tolerance = expected.eager[k], expected.exact[k], expected.tolerances[k]
    if actual.numel() == 0:
        return _Worst(0.0, 0, 0.0, 0.0, k)
    if not eager.dtype.is_floating_point:
        excess = (actual != eager).double() * math.inf
        off = torch.zeros_like(excess)
        eagers = off
    else:
        rounded = exact.to(eager.dtype)
        same = (bits(actual) == bits(eager)) | (actual == eager) | (bits(actual) == bits(rounded))
        off = difference(actual, exact)
        excess = torch.where(same, 0.0, off / tolerance.clamp(min=torch.finfo(torch.float64).tiny))
        excess = excess.nan_to_num(nan=math.inf, posinf=math.inf)
        unit = ulp(rounded)
        finite = exact.isfinite() & actual.isfinite() & eager.isfinite()
        off, eagers = (torch.where(finite, x / unit, 0.0) for x in (off, difference(eager, exact)))
    excess = excess.nan_to_num(nan=0.0)  # 0 · inf, from equal elements
    flat_index = int(excess.argmax()) if excess.max() > 0 else int(off.argmax())
    index = tuple(int(i) for i in torch.unravel_index(torch.tensor(flat_index), actual.shape))
    return _Worst(float(excess.max()), int((excess > 1).sum()), float(off.max()), float(eagers.max()), k, index,
                  actual[index].item(), eager[index].item(), exact[index].item())


def inputs_at(expected: Expected, k: int, index: tuple[int, ...]) -> dict:
    """The inputs of element `index` of result k: each tensor's element at that index, with broadcasting; if the result has one
    element per row of the tensor, the first few elements of the row. A tensor whose shape does not fit has no entry."""
    shape, inputs = expected.eager[k].shape, {}
    for name, value in expected.workload.values.items():
        if not isinstance(value, torch.Tensor):
            inputs[name] = repr(value)
            continue
        own_index = _broadcast_index(value.shape, shape, index)
        if own_index is not None:
            element = value[own_index]
            inputs[name] = repr(element.item()) if element.ndim == 0 else repr(element.flatten()[:8].tolist())
    return inputs


def _broadcast_index(own_shape: torch.Size, shape: torch.Size, index: tuple[int, ...]) -> tuple[int, ...] | None:
    aligned = list(zip(reversed(own_shape), reversed(shape), reversed(index)))
    if len(own_shape) <= len(shape) and all(size in (1, result_size) for size, result_size, _ in aligned):
        return tuple(i if size > 1 else 0 for size, _, i in reversed(aligned))
    if own_shape[: len(shape)] == shape:  # the result has one element per row of this tensor
        return index
    return None


def argument_tolerance(sensitivity: torch.Tensor, summed: float, ulps: float = ULPS) -> torch.Tensor:
    """The allowed distance from float64 that accounts for the rounding of arguments. `summed` is the number of input elements per
    result element."""
    return ulps * max(1.0, math.sqrt(summed) / SUM_DIVISOR) * sensitivity


def rounding_tolerance(eager: torch.Tensor, exact: torch.Tensor, eager_factor: float = EAGER_ERROR_FACTOR,
                       ulps: float = ULPS) -> torch.Tensor:
    """The allowed distance from float64 that accounts for the rounding of results."""
    if not eager.dtype.is_floating_point or eager.numel() == 0:
        return torch.zeros_like(eager, dtype=torch.float64)
    rounded = exact.to(eager.dtype)
    error = difference(eager, exact)
    usable = error.isfinite() & rounded.isfinite()
    # Eager's largest error among all results with the same exponent.
    sizes = torch.frexp(rounded.double().abs().nan_to_num(nan=0.0, posinf=0.0)).exponent.clamp(-1200, 1200).long() + 1200
    worst = torch.zeros(2401, dtype=torch.float64, device=eager.device)
    worst.scatter_reduce_(0, sizes[usable].flatten(), error[usable].flatten(), "amax")
    result_ulps = min(ulps, ULPS_16_BIT) if eager.dtype.itemsize == 2 else ulps
    return eager_factor * worst[sizes] + result_ulps * ulp(rounded)


def _sensitivity(workload: Workload, eager: list[torch.Tensor], exact: list[torch.Tensor]) -> list[torch.Tensor]:
    """The change of each result when the arguments change by half an ulp: the total over all arguments and three changes of each.
    The first change scales all elements. The second moves all elements upwards, each by a share of its magnitude. The third
    scales each element up or down, by a fixed random sign; it shows the effect of a subtracted mean on a row of equal elements.
    The total covers the effect of rounding in sums and in terms that cancel. 16-bit floats change by half an ulp of float32,
    since all kernels compute them in float32. An element whose arguments are at a jump of the function, such as round(0.5),
    has one correct result: its tolerance does not grow."""
    changes = [torch.zeros_like(d, dtype=torch.float64) for d in exact]
    for name, value in workload.tensors().items():
        if not value.dtype.is_floating_point:
            continue
        step = torch.finfo(torch.float32 if value.dtype.itemsize == 2 else value.dtype).eps / 2
        for perturb in (lambda x, by: x * (1 + by), lambda x, by: x + by * x.abs(), lambda x, by: x * (1 + by * _signs(x))):
            far, near = (workload.with_values({**workload.values, name: perturb(in_float64(value), amount)}).run_in_float64()
                         for amount in (step, step / JUMP))
            for k in range(len(exact)):
                if eager[k].dtype.is_floating_point:
                    far_change, near_change = (difference(results[k], exact[k]).nan_to_num(nan=0.0, posinf=0.0)
                                               for results in (far, near))
                    changes[k] += torch.where(near_change > far_change / 2, 0.0, far_change)
    return changes


def _in_compute_dtype(tensor: torch.Tensor) -> torch.Tensor:
    """16-bit floats as float32, in which all kernels compute."""
    return tensor.float() if tensor.dtype in (torch.float16, torch.bfloat16) else tensor


def _signs(x: torch.Tensor) -> torch.Tensor:
    """1 or -1 for each element, the same on every call."""
    generator = torch.Generator(x.device).manual_seed(0)
    return 2 * torch.randint(2, x.shape, generator=generator, device=x.device, dtype=x.dtype) - 1


def _mismatch(results: list, eager: list[torch.Tensor]) -> str:
    """Describes a difference in the number, type, dtype, shape or device of the results; empty if there is none."""
    if len(results) != len(eager):
        return f"gives {len(results)} results, eager {len(eager)}"
    for k, (actual, expected) in enumerate(zip(results, eager)):
        which = "the result" if len(eager) == 1 else f"result {k}"
        if not isinstance(actual, torch.Tensor):
            return f"{which} is a {type(actual).__name__}, eager's a tensor"
        properties = [("dtype", actual.dtype, expected.dtype), ("shape", list(actual.shape), list(expected.shape)),
                      ("device", actual.device, expected.device)]
        for property, actual_value, expected_value in properties:
            if actual_value != expected_value:
                return f"{which} has {property} {actual_value}, eager's {expected_value}"
    return ""


def _finite(value):
    """None for nan and inf, which JSON does not have."""
    return None if isinstance(value, float) and not math.isfinite(value) else value


