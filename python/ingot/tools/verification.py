"""Verifies an op against eager PyTorch. A function of one argument is run on every input, a function of two on many. Any op is
run on random arguments of every dtype and layout; its gradient is verified too."""

from __future__ import annotations

import dataclasses
import itertools
import warnings
from typing import Callable, Iterable, Iterator

import torch

import ingot

from ..capture import author_error
from ..oracle import compare_to_eager, integer_of
from . import workload as workloads
from .candidates import Ingot
from .dtypes import DTYPES
from .check import Expected, check
from .workload import Case, Workload, copy_values, special_values
from .error_statistics import EDGES, ErrorStatistics
from .run_case import bind

FLOATS = ("f16", "bf16", "f32")
BATCH = 1 << 22  # inputs per call
PAIRS = 1 << 28
SHAPE = (96, 33)  # the shape of random arguments

Watch = Callable[[str, float], None]  # the current check, and the fraction that is done


@dataclasses.dataclass
class Check:
    """The result of one check: arguments of one dtype in one layout, or the gradient."""

    what: str  # the dtype and the layout, or the gradient
    correct: bool
    message: str


@dataclasses.dataclass
class Verification:
    """All results for one op."""

    name: str  # the op's name, or the expression
    device: str
    statistics: list[ErrorStatistics] = dataclasses.field(default_factory=list)
    checks: list[Check] = dataclasses.field(default_factory=list)
    rejected: dict[str, str] = dataclasses.field(default_factory=dict)  # the reason why a dtype was not checked in any layout

    @property
    def is_correct(self) -> bool:
        return not any(t.incorrect for t in self.statistics) and all(t.correct for t in self.checks)

    def as_json(self) -> dict:
        return {"name": self.name, "device": self.device, "is_correct": self.is_correct,
                "inputs": [t.as_json() for t in self.statistics], "checks": [dataclasses.asdict(t) for t in self.checks],
                "refused": self.rejected}


def text_of_name(name: str) -> str:
    """A call of a supported function, with one tensor if the function takes one, else with two or three. Raises `ingot.Error` if
    there is no function of that name, or if it takes other arguments."""
    names = {spelled for function in ingot.language() for spelled in (function.name, *function.aliases)}
    if name not in names:
        ingot.op(f"{name}(x)").emit("ir", torch.zeros(2))  # raises an error that suggests similar names
        raise author_error(f"`{name}` is not a supported function", "`ingot ops` lists them")
    for arity, dtype in itertools.product((1, 2, 3), (torch.float32, torch.int32)):
        text = f"{name}({', '.join('xyz'[:arity])})"
        if _accepts(text, [torch.ones(2, 3, dtype=dtype)] * arity):
            return text
    raise author_error(f"`{name}` does not take one, two or three tensors of one dtype",
                       f'write an expression: ingot verify -e "{name}(x, …)" x=f32:64x33')


def _accepts(text: str, tensors: list[torch.Tensor]) -> bool:
    """Whether Ingot and eager PyTorch accept this source with these tensors."""
    try:
        op = ingot.op(text)
        op.emit("ir", *tensors)
        with warnings.catch_warnings(action="ignore"):  # a wrong guess may warn before it fails
            op.reference(*tensors)
    except Exception:  # any error is a rejection
        return False
    return True


def verify(op, values: dict | None = None, dtypes: tuple[str, ...] | None = None, device: str = "cpu", pairs: int = PAIRS,
           seed: int = 0, watch: Watch = lambda what, share: None, fixed_values: Iterable[str] = ()) -> Verification:
    """Verifies an op.

    values: arguments by name, which give the shapes; without them all parameters are tensors of one shape.
    fixed_values: the names of arguments whose elements must stay in their given range.
    pairs: the number of pairs on which a function of two arguments is run.
    watch: is called with the current check and the fraction that is done.
    Raises `ingot.Error` if the op cannot be run on any of the arguments."""
    if op.uses_random:
        raise author_error(f"`{op.name}` uses random numbers, which differ from run to run",
                           "f.reference uses the kernel's random numbers: compare with it")
    verification = Verification(op.name if "def " in op.text else op.text, device)
    if values is None and dtypes is None and not any(_accepts_dtype(op, DTYPES[dtype]) for dtype in FLOATS):
        dtypes = tuple(name for name, dtype in DTYPES.items() if not dtype.is_floating_point and _accepts_dtype(op, dtype))
    dtypes = dtypes or FLOATS
    if values is None:
        verification.statistics += statistics(op, dtypes, device, pairs, seed, watch)
    rejected: dict[str, Exception] = {}
    verification.checks += list(_checks(op, values, frozenset(fixed_values), dtypes, device, seed, watch, rejected))
    if not verification.statistics and not verification.checks:
        why = _first_line(next(iter(rejected.values())))
        if values is not None:
            raise author_error(f"`{op.name}` does not take these arguments: {why}")
        raise author_error(f"`{op.name}` cannot be called with random tensors of {', '.join(rejected)}: {why}",
                           "give its arguments: name=f32:64x33, or a number")
    verification.rejected = {dtype: _first_line(error) for dtype, error in rejected.items()}
    return verification


def _accepts_dtype(op, dtype: torch.dtype) -> bool:
    """Whether the op takes tensors of this dtype for all parameters."""
    names = list(op.signature.parameters)
    return _accepts(op.text, [torch.ones(2, 3, dtype=dtype)] * len(names))


def statistics(op, dtypes: tuple[str, ...], device: str, pairs: int = PAIRS, seed: int = 0,
               watch: Watch = lambda what, share: None) -> list[ErrorStatistics]:
    """The error statistics of an elementwise function, for each dtype that it takes: over all inputs of a function of one tensor,
    over this many pairs for two. An empty list for other ops."""
    names = list(op.signature.parameters)
    functions = [_ElementwiseFunction.of(op, names, DTYPES[dtype], device) for dtype in dtypes] if len(names) in (1, 2) else []
    return [function.statistics(pairs, seed, watch) for function in functions if function is not None]


# --- Elementwise functions ------------------------------------------------------------------------------------------


@dataclasses.dataclass
class _ElementwiseFunction:
    """An op of one or two tensors that computes each element of its result from one element of each tensor."""

    op: object
    names: list[str]
    dtype: torch.dtype
    device: str

    @classmethod
    def of(cls, op, names: list[str], dtype: torch.dtype, device: str) -> _ElementwiseFunction | None:
        """None if the op is not elementwise, or does not take the dtype."""
        probe = [torch.ones(2, 3, dtype=dtype, device=device)] * len(names)
        try:
            result, actual = op.reference(*probe), op(*probe)
            is_one_tensor = all(isinstance(r, torch.Tensor) and r.shape == (2, 3) for r in (result, actual))
            is_elementwise = is_one_tensor and _is_elementwise(op, probe)
        except Exception:
            return None
        return cls(op, names, dtype, device) if is_elementwise else None

    def statistics(self, pairs: int, seed: int, watch: Watch) -> ErrorStatistics:
        result = ErrorStatistics(self.op, self.dtype)
        if len(self.names) == 2:
            batches, total = _value_pairs(self.dtype, self.device, pairs, seed), pairs + len(special_values(self.dtype)) ** 2
        elif self.dtype.itemsize > 4:  # too many values to try all of them
            batches, total = ([pair[0]] for pair in _value_pairs(self.dtype, self.device, pairs, seed)), pairs
        else:
            batches, total = _all_values(self.dtype, self.device), 1 << 8 * self.dtype.itemsize
        for tensors in batches:
            arguments = dict(zip(self.names, tensors))
            with torch.no_grad():
                self._replace_zero_divisors(tensors)
                exact = torch.as_tensor(self.op.reference(*(workloads.in_float64(t) for t in tensors)))
                result.add(arguments, self.op(*tensors), self.op.reference(*tensors), exact)
            watch(f"{self.op.text} {str(self.dtype).removeprefix('torch.')}", result.inputs / total)
        return result

    def _replace_zero_divisors(self, tensors: list[torch.Tensor]) -> None:
        """Replaces the zeros of the last argument by ones if it is a tensor of integers and eager PyTorch rejects the arguments,
        because it would divide by them."""
        try:
            self.op.reference(*tensors)
        except (RuntimeError, ZeroDivisionError):
            if self.dtype.is_floating_point:
                raise
            tensors[-1].masked_fill_(tensors[-1] == 0, 1)


def _is_elementwise(op, probe: list[torch.Tensor]) -> bool:
    """Whether each element of the result depends on one element of each tensor, unlike in a softmax."""
    torch.manual_seed(0)
    tensors = [torch.rand(t.shape, device=t.device).mul(4).add(1).to(t.dtype) for t in probe]
    whole = op.reference(*tensors)
    elements = [op.reference(*(t[k : k + 1, j : j + 1] for t in tensors)) for k in range(2) for j in range(3)]
    separate = torch.cat([element.double().flatten() for element in elements])
    return torch.allclose(whole.double().flatten(), separate, rtol=1e-2, equal_nan=True)


def _all_values(dtype: torch.dtype, device: str) -> Iterator[list[torch.Tensor]]:
    """All bit patterns of a dtype of up to four bytes, in batches."""
    if dtype == torch.bool:
        yield [torch.tensor([False, True], device=device)]
        return
    bits = 8 * dtype.itemsize
    integer = {8: torch.uint8, 16: torch.int16, 32: torch.int32}[bits]
    low = 0 if integer == torch.uint8 else -(1 << bits - 1)
    for begin in range(low, low + (1 << bits), BATCH):
        end = min(begin + BATCH, low + (1 << bits))
        yield [torch.arange(begin, end, dtype=torch.int64, device=device).to(integer).view(dtype)]


def _value_pairs(dtype: torch.dtype, device: str, count: int, seed: int) -> Iterator[list[torch.Tensor]]:
    """All pairs of special values, then batches of random pairs: half are random bit patterns, half are normally distributed
    numbers."""
    special = torch.tensor(special_values(dtype), dtype=dtype, device=device)
    yield [special.repeat_interleave(len(special)), special.repeat(len(special))]
    generator = torch.Generator(device).manual_seed(seed)
    for begin in range(0, count, BATCH):
        yield [_random(dtype, device, min(BATCH, count - begin), generator) for _ in range(2)]


def _random(dtype: torch.dtype, device: str, count: int, generator: torch.Generator) -> torch.Tensor:
    if dtype == torch.bool:
        return torch.randint(0, 2, (count,), generator=generator, device=device).bool()
    if not dtype.is_floating_point:
        info = torch.iinfo(dtype)
        return torch.randint(info.min, info.max, (count,), generator=generator, device=device, dtype=dtype)
    integer = integer_of(dtype)
    info = torch.iinfo(integer)
    patterns = torch.randint(info.min, info.max, (count // 2,), generator=generator, device=device, dtype=integer).view(dtype)
    return torch.cat([patterns, torch.randn(count - count // 2, generator=generator, device=device).to(dtype)])


# --- Any op ---------------------------------------------------------------------------------------------------------


def _checks(op, values: dict | None, fixed_values: frozenset[str], dtypes: tuple[str, ...], device: str, seed: int, watch: Watch,
            rejected: dict[str, Exception]) -> Iterator[Check]:
    """Checks the op in each dtype and layout. Adds to `rejected` the dtypes that eager PyTorch or the op rejects, with the reason."""
    for number, name in enumerate(dtypes):
        try:
            workload = _workload(op, values, fixed_values, DTYPES[name], device, seed)
        except Exception as error:
            rejected[name] = error
            continue
        for case in _layout_cases(workload):
            watch(f"{op.name} {name} {case.name}", number / len(dtypes))
            if _eager_accepts(case.workload):
                yield _check_results(case, f"{name}, {case.name}")
        if DTYPES[name].is_floating_point:
            yield from _check_gradient(workload, name)


def _workload(op, values: dict | None, fixed_values: frozenset[str], dtype: torch.dtype, device: str, seed: int) -> Workload:
    """Arguments whose floats have the dtype. Raises the error of eager PyTorch or of the op if they are rejected."""
    generator = torch.Generator().manual_seed(seed)
    if values is None:
        passed = {name: torch.randn(SHAPE, generator=generator, dtype=torch.float64) for name, p in op.signature.parameters.items()
                  if p.default is p.empty and p.annotation not in (float, int, bool)}
        passed |= {name: 1 for name, p in op.signature.parameters.items() if p.default is p.empty and name not in passed}
        scale = 1 if dtype.is_floating_point else 50
        passed = {n: (v * scale).to(dtype) if isinstance(v, torch.Tensor) else v for n, v in passed.items()}
    else:
        passed = {n: v.to(dtype) if workloads.is_float(v) else v for n, v in values.items()}
    defaults = {n: p.default for n, p in op.signature.parameters.items() if n not in passed}
    arguments = {n: (passed | defaults)[n] for n in op.signature.parameters}
    arguments = {n: v.to(device) if isinstance(v, torch.Tensor) else v for n, v in arguments.items()}
    op.emit("ir", *arguments.values())
    workload = Workload(op, arguments, fixed_values)
    if values is None and not (dtype.is_floating_point or dtype == torch.bool or _eager_accepts(workload)):  # a divisor may be zero
        workload = workloads.map_tensors(workload, lambda tensor: tensor.clamp(min=1))
    workload.run_eager()
    return workload


def _first_line(error: Exception) -> str:
    lines = str(error).removeprefix("error: ").splitlines()
    return lines[0] if lines else type(error).__name__


def _layout_cases(workload: Workload) -> Iterator[Case]:
    """The arguments in each kind of layout that kernels distinguish."""
    yield from (case for case in workloads.cases(workload) if case.workload is not None)
    yield Case("every second element", workloads.map_tensors(workload, _every_second))
    if len(workload.tensors()) > 1:
        name_of_last, last = list(workload.tensors().items())[-1]
        for name, change in (("broadcast row", lambda t: t[:1]), ("broadcast column", lambda t: t[..., :1]),
                             ("broadcast element", lambda t: t[:1, :1].expand(t.shape))):
            broadcast = workload.with_values({**workload.values, name_of_last: change(last)}) if last.ndim == 2 else None
            if broadcast is not None and _eager_accepts(broadcast):
                yield Case(name, broadcast)


def _every_second(tensor: torch.Tensor) -> torch.Tensor:
    if tensor.ndim == 0:
        return tensor
    spread = torch.stack([tensor, tensor], -1).flatten(-2)
    return spread[..., ::2]


def _eager_accepts(workload: Workload) -> bool:
    """Whether eager PyTorch accepts the arguments."""
    try:
        workload.run_eager()
    except Exception:
        return False
    return True


def _check_results(case: Case, what: str) -> Check:
    values = copy_values(case.workload.values)
    versions = {n: v._version for n, v in values.items() if isinstance(v, torch.Tensor)}
    try:
        returned = bind(Ingot(case.workload.op), case.workload, values, [])()
    except Exception as error:
        return Check(what, False, f"{type(error).__name__}: {_first_line(error)}")
    written = [values[n].contiguous() for n, version in versions.items() if values[n]._version > version]
    verdict = compare_to_eager(_reference(case.workload), (), {}, [*written, *returned], case.workload.op.numerics)
    return Check(what, verdict.ok, verdict.message)


def _reference(workload: Workload):
    """A function that runs eager PyTorch on copies of the arguments, since the oracle calls it several times. Arguments that are
    written in place are returned contiguous, as the oracle requires."""

    def results() -> list[torch.Tensor]:
        run = workload.run_eager()
        return [*(t.contiguous() for t in run.written_values), *run.returned]

    return results


def _check_gradient(workload: Workload, dtype: str) -> Iterator[Check]:
    try:
        gradient = workload.gradient()
        expected = Expected.of(gradient)
    except Exception:  # the op has no gradient, or several results
        return
    try:
        results = bind(Ingot(workload.op), gradient, copy_values(gradient.values), [])()
        verdict = check(expected, results)
        yield Check(f"{dtype}, gradient against eager", verdict.correct, verdict.message)
        if dtype == "f32" and (finite := _with_finite_results(workload)):
            ingot.check_gradient(finite.op, *finite.arguments.values())
            yield Check("gradient against finite differences in float64", True, "within 1e-4, relative")
    except Exception as error:
        yield Check(f"{dtype}, gradient", False, _first_line(error))


def _with_finite_results(workload: Workload) -> Workload | None:
    """Arguments whose results are finite, as finite differences need: the given arguments, or else values between 0.1 and 0.9. None
    if both have results that are not finite."""
    def moved_between_bounds(name: str, value):
        is_free = workloads.is_float(value) and name not in workload.fixed_values
        return value.sigmoid() * 0.8 + 0.1 if is_free else value

    between_bounds = workload.with_values({name: moved_between_bounds(name, value) for name, value in workload.values.items()})
    for variant in (workload, between_bounds):
        if _eager_accepts(variant) and all(result.isfinite().all() for result in variant.run_in_float64()):
            return variant
    return None


# --- Text -----------------------------------------------------------------------------------------------------------


def text(verification: Verification) -> str:
    lines = [f"{verification.name} on {verification.device}"]
    for statistics in verification.statistics:
        lines += _statistics_lines(statistics)
    failed = [t for t in verification.checks if not t.correct]
    if verification.checks:
        kinds = ", ".join(dict.fromkeys(t.what.split(", ", 1)[-1] for t in verification.checks if t.correct))
        lines.append(f"  {len(verification.checks) - len(failed)} of {len(verification.checks)} checks correct: {kinds}")
    lines += [f"  INCORRECT {t.what}: {t.message}" for t in failed]
    lines += [f"  {dtype} was not checked in any layout: {why}" for dtype, why in verification.rejected.items()]
    return "\n".join(lines)


def _statistics_lines(statistics: ErrorStatistics) -> list[str]:
    name = str(statistics.dtype).removeprefix("torch.")
    share = statistics.as_eager / statistics.inputs
    percent = "all" if statistics.as_eager == statistics.inputs else f"{min(share, 0.99999):.3%}"
    lines = [f"  {name}: {statistics.inputs} inputs, {percent} equal to eager bit for bit" +
             (f", {statistics.incorrect} INCORRECT" if statistics.incorrect else "")]
    if statistics.worst > 0:
        lines.append(f"    largest error {statistics.worst:.3g} ulp from float64 (eager {statistics.worst_of_eager:.3g}), at " +
                     ", ".join(f"{n} = {v}" for n, v in statistics.worst_at["inputs"].items()))
        lines.append(f"    {_histogram(statistics)}")
    for label, record in (("first difference from eager", statistics.first_other), ("first incorrect", statistics.first_incorrect)):
        if record:
            lines.append(f"    {label}: {record['call']} is {record['ours']}, eager {record['eager']}")
    return lines


def _histogram(statistics: ErrorStatistics) -> str:
    names = [f"≤ {edge:g} ulp" for edge in EDGES] + [f"> {EDGES[-1]:g} ulp"]
    return ", ".join(f"{name}: {count}" for name, count in zip(names, statistics.histogram) if count)
