"""Statistics of an op's error over many inputs: how many results equal eager's bits, and the distance of the others from
float64."""

from __future__ import annotations

import dataclasses

import torch

from ..oracle import ULPS_PER_STEP, exceeding_tolerance, bits, difference, integer_of, ulp
from . import check

STEP_BATCH = 1 << 14  # elements whose steps are evaluated at a time
EDGES = (0.5, 1.0, 2.0, 4.0, 8.0)  # of the histogram, in ulps


@dataclasses.dataclass
class ErrorStatistics:
    """The statistics of one op, dtype and device. Errors are in ulps of the result's dtype. NaN and infinite results have none."""

    op: object  # ingot.Op
    dtype: torch.dtype
    inputs: int = 0
    as_eager: int = 0  # the number of results that equal eager's bit for bit
    incorrect: int = 0  # the number of results whose error no rounding explains
    histogram: list[int] = dataclasses.field(default_factory=lambda: [0] * (len(EDGES) + 1))  # of errors, between EDGES
    worst: float = -1.0  # the largest error
    worst_of_eager: float = 0.0
    worst_at: dict | None = None  # the result with the largest error
    first_other: dict | None = None  # the first result whose bits differ from eager's
    first_incorrect: dict | None = None

    def add(self, tensors: dict[str, torch.Tensor], actual: torch.Tensor, eager: torch.Tensor, exact: torch.Tensor) -> None:
        """Adds the results of some inputs, all tensors of one shape."""
        same = bits(actual) == bits(eager)
        self.inputs += same.numel()
        self.as_eager += int(same.sum())
        if not eager.dtype.is_floating_point:
            far = ~same & (actual != exact)  # eager may round before it compares; then Ingot's result may equal float64's
            self._count_incorrect(self._unexplained(far, tensors, actual), tensors, actual, eager, exact)
            return
        rounded = exact.to(eager.dtype)
        error, eager_error = difference(actual, exact), difference(eager, exact)
        unit = ulp(rounded)
        finite = exact.isfinite() & rounded.isfinite() & actual.isfinite()
        ulps = torch.where(finite, error / unit, 0.0)
        edges = torch.tensor(EDGES, dtype=torch.float64, device=actual.device)
        counts = torch.bucketize(ulps[finite], edges).bincount(minlength=len(EDGES) + 1)
        self.histogram = [a + int(b) for a, b in zip(self.histogram, counts)]
        self.worst_of_eager = max(self.worst_of_eager, float(torch.where(finite & eager.isfinite(), eager_error / unit, 0.0).max()))
        if float(ulps.max()) > self.worst:
            self.worst, index = float(ulps.max()), int(ulps.argmax())
            self.worst_at = self._record(index, tensors, actual, eager, exact)
        if not same.all():
            tolerance = check.rounding_tolerance(eager, exact, eager_factor=1.0, ulps=ULPS_PER_STEP)
            far = ~same & (bits(actual) != bits(rounded)) & ~(error <= tolerance)
            self._count_incorrect(self._unexplained(far, tensors, actual), tensors, actual, eager, exact)
            if self.first_other is None:
                self.first_other = self._record(int((~same).flatten().int().argmax()), tensors, actual, eager, exact)

    def _unexplained(self, far: torch.Tensor, tensors: dict[str, torch.Tensor], actual: torch.Tensor) -> torch.Tensor:
        """The elements of `far` whose error exceeds the error that 4 ulp in each step can cause. If terms cancel, a small error of a
        step is many ulps of the result. After the first batch with an unexplained element, later batches are not checked: all their
        elements of `far` count as unexplained."""
        for indices in far.flatten().nonzero().flatten().split(STEP_BATCH):
            arguments = [t.flatten()[indices] for t in tensors.values()]
            wrong = exceeding_tolerance(self.op.reference, arguments, actual.flatten()[indices], self.op.numerics)
            far.view(-1)[indices] = wrong
            if wrong.any():
                break
        return far

    def _count_incorrect(self, wrong: torch.Tensor, tensors, actual, eager, exact) -> None:
        count = int(wrong.sum())
        self.incorrect += count
        if count and self.first_incorrect is None:
            self.first_incorrect = self._record(int(wrong.flatten().int().argmax()), tensors, actual, eager, exact)

    def _record(self, index: int, tensors, actual, eager, exact) -> dict:
        values = {name: t.flatten()[index] for name, t in tensors.items()}
        return {"inputs": {name: repr(v.item()) for name, v in values.items()}, "ours": repr(actual.flatten()[index].item()),
                "eager": repr(eager.flatten()[index].item()), "float64": repr(exact.flatten()[index].item()),
                "call": self._call(values)}

    def _call(self, values: dict[str, torch.Tensor]) -> str:
        """Python code that reproduces the result, after `import ingot, torch`."""
        return f"ingot.op({self.op.text!r})({', '.join(map(_literal, values.values()))})"

    def as_json(self) -> dict:
        fields = {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}
        return fields | {"op": self.op.text, "dtype": str(self.dtype).removeprefix("torch.")}


def _literal(value: torch.Tensor) -> str:
    """Python code for a tensor of this one element, bit for bit."""
    device = f", device={str(value.device)!r}" if value.is_cuda else ""
    if not value.dtype.is_floating_point:
        return f"torch.tensor([{value.item()!r}], dtype={value.dtype}{device})"
    integer = integer_of(value.dtype)
    return f"torch.tensor([{value.view(1).view(integer).item()}], dtype={integer}{device}).view({value.dtype})"
