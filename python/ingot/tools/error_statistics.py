"""Statistics of an op's error over many inputs: how many results equal eager's bits, and the distance of the others from
float64."""

from __future__ import annotations

import dataclasses

import torch

from ..oracle import ULPS_PER_STEP, exceeding_tolerance, bits, difference, integer_of, ulp
from . import check

STEPS_CHUNK = 1 << 14  # elements whose steps are evaluated at a time
EDGES = (0.5, 1.0, 2.0, 4.0, 8.0)  # of the histogram, in ulps


@dataclasses.dataclass
class ErrorStatistics:
    """The statistics of one op, dtype and device. Errors are in ulps of the result's dtype. NaN and infinite results have none."""

    op: object  # ingot.Op
    dtype: torch.dtype
    inputs: int = 0
    as_eager: int = 0
    incorrect: int = 0
    histogram: list[int] = dataclasses.field(default_factory=lambda: [0] * (len(EDGES) + 1))
    worst: float = -1.0
    worst_of_eager: float = 0.0
    worst_at: dict | None = None
    first_other: dict | None = None  # the first result whose bits differ from eager's
    first_incorrect: dict | None = None

    def add(self, tensors: dict[str, torch.Tensor], ours: torch.Tensor, eager: torch.Tensor, exact: torch.Tensor) -> None:
        """Adds the results of some inputs, all tensors of one shape."""
        same = bits(ours) == bits(eager)
        self.inputs += same.numel()
        self.as_eager += int(same.sum())
        if not eager.dtype.is_floating_point:
            far = ~same & (ours != exact)  # eager may round before it compares; then our result may equal float64's
            self._count_wrong(self._unexplained(far, tensors, ours), tensors, ours, eager, exact)
            return
        rounded = exact.to(eager.dtype)
        off, of_eager = difference(ours, exact), difference(eager, exact)
        unit = ulp(rounded)
        finite = exact.isfinite() & rounded.isfinite() & ours.isfinite()
        ulps = torch.where(finite, off / unit, 0.0)
        edges = torch.tensor(EDGES, dtype=torch.float64, device=ours.device)
        counts = torch.bucketize(ulps[finite], edges).bincount(minlength=len(EDGES) + 1)
        self.histogram = [a + int(b) for a, b in zip(self.histogram, counts)]
        self.worst_of_eager = max(self.worst_of_eager, float(torch.where(finite & eager.isfinite(), of_eager / unit, 0.0).max()))
        if float(ulps.max()) > self.worst:
            self.worst, at = float(ulps.max()), int(ulps.argmax())
            self.worst_at = self._place(at, tensors, ours, eager, exact)
        if not same.all():
            tolerance = check.allowed(eager, exact, of_eagers=1.0, ulps=ULPS_PER_STEP)
            far = ~same & (bits(ours) != bits(rounded)) & ~(off <= tolerance)
            self._count_wrong(self._unexplained(far, tensors, ours), tensors, ours, eager, exact)
            if self.first_other is None:
                self.first_other = self._place(int((~same).flatten().int().argmax()), tensors, ours, eager, exact)

    def _unexplained(self, far: torch.Tensor, tensors: dict[str, torch.Tensor], ours: torch.Tensor) -> torch.Tensor:
        """Those elements of `far` whose error 4 ulp per step do not explain: where terms cancel, an error of a step exceeds the ulps
        of the result. After the first chunk with an unexplained element, all later elements count without being evaluated."""
        for chosen in far.flatten().nonzero().flatten().split(STEPS_CHUNK):
            given = [t.flatten()[chosen] for t in tensors.values()]
            wrong = exceeding_tolerance(self.op.reference, given, ours.flatten()[chosen], self.op.numerics)
            far.view(-1)[chosen] = wrong
            if wrong.any():
                break
        return far

    def _count_wrong(self, wrong: torch.Tensor, tensors, ours, eager, exact) -> None:
        count = int(wrong.sum())
        self.incorrect += count
        if count and self.first_incorrect is None:
            self.first_incorrect = self._place(int(wrong.flatten().int().argmax()), tensors, ours, eager, exact)

    def _place(self, at: int, tensors, ours, eager, exact) -> dict:
        values = {name: t.flatten()[at] for name, t in tensors.items()}
        return {"inputs": {name: repr(v.item()) for name, v in values.items()}, "ours": repr(ours.flatten()[at].item()),
                "eager": repr(eager.flatten()[at].item()), "float64": repr(exact.flatten()[at].item()),
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
