"""Compares an op's kernel with other candidates: correctness, speed, and an explanation."""

from __future__ import annotations

import dataclasses
import itertools
import json
import math
import pathlib
import sys
import tempfile
import uuid
from typing import Callable

import torch
from torch.utils._pytree import tree_leaves

from ..capture import author_error
from . import candidates, report, steps
from .explanation import bind_arguments, describe
from .job import Against, Job
from .workload import Workload
from .benchmark import COPY
from .supervisor import TIME_LIMIT, supervise
from .steps import OWN

READABLE = (torch.float16, torch.bfloat16, torch.float32, torch.float64, torch.bool, torch.uint8, torch.int8, torch.int16,
            torch.int32, torch.int64)  # the dtypes that the reader of saved tensors supports
EXIT_OK, EXIT_INCORRECT, EXIT_BAD_INPUT, EXIT_TOO_SLOW, EXIT_ENVIRONMENT = range(5)


@dataclasses.dataclass
class Comparison:
    """The result of a comparison. `found` is the whole report as plain data; `ingot compare --json` prints it without listings."""

    found: dict

    def __str__(self) -> str:
        return report.text(self.found)

    def __getitem__(self, name: str) -> dict:
        """The report of one candidate, by its name in the table or by its spec (its argument in `--against`)."""
        for key in ("name", "spec"):
            for candidate in self.found["candidates"]:
                if candidate[key] == name:
                    return candidate
        raise KeyError(name)

    @property
    def is_correct(self) -> bool:
        """Whether no candidate is incorrect and none has failed."""
        return all(c["state"] in (report.CORRECT, report.UNCHECKED) for c in self.found["candidates"])

    def speedup_of(self, name: str) -> float | None:
        """A candidate's speed relative to Ingot's."""
        return self[name].get("speedup")

    def candidates_not_reached(self, share: float) -> list[str]:
        """The candidates that are too fast for Ingot: it reaches less than `share` of their speed, on the given arguments or at a
        size of the sweep."""
        not_reached = [c["name"] for c in self.found["candidates"][1:] if c.get("speedup") and 1 / c["speedup"] < share]
        names = {c["spec"]: c["name"] for c in self.found["candidates"][1:]}
        sweep = self.found.get("sweep", {"points": ()})
        return not_reached + [f"{names[spec]} at {sweep['name']}={point['size']}" for point in sweep["points"]
                              for spec, times in point["candidates"].items()
                              if spec in names and times.get("speedup", 0) * share > 1]

    def untimed(self) -> list[str]:
        """The candidates that were not timed on the given arguments or at a size of the sweep."""
        names = {c["spec"]: c["name"] for c in self.found["candidates"][1:]}
        sweep = self.found.get("sweep", {"points": ()})
        missing = [c["name"] for c in self.found["candidates"][1:] if c.get("speedup") is None]
        return missing + [f"{name} at {sweep['name']}={point['size']}" for point in sweep["points"]
                          for spec, name in names.items() if name not in missing and spec not in point["candidates"]]

    def plot(self):
        """Plots the speeds, or the bandwidth over sizes after a sweep. Needs matplotlib; returns the axes."""
        from matplotlib import pyplot

        from .page import drawings

        with pyplot.rc_context({"text.parse_math": False}):  # a name may contain a dollar sign
            axes = pyplot.subplots()[1]
            draw = drawings.sweep if self.found.get("sweep") else drawings.speeds
            draw(axes, self.found, colour=lambda number: f"C{number}", ink=pyplot.rcParams["text.color"])
            axes.set_title(f"{self.found['op']} on {self.found['device']}")
        return axes

    def html(self) -> str:
        """The HTML page: one file that needs no other."""
        from . import page

        return page.of_comparison(self.found).html()

    def save(self, path: str | pathlib.Path) -> None:
        """Writes the HTML page to a file."""
        pathlib.Path(path).write_text(self.html(), encoding="utf-8")

    def _repr_html_(self) -> str:
        from . import page

        return page.of_comparison(self.found, prefix=uuid.uuid4().hex[:8]).fragment()


@torch.inference_mode(False)  # in inference mode tensors have no version counter, which detects writes
def compare(op, against, *args, backward: bool = False, specials: bool = True, given_only: bool = False, time_incorrect: bool = False,
            warm: bool = False, graph: bool = False, rounds: int = 21, why: bool = True, isolated: bool = True,
            time_limit: float = TIME_LIMIT, **kwargs) -> Comparison:
    """Compares an op with other candidates on these arguments, as `ingot compare` does: correctness, speed and an explanation.

    against: one candidate, a list of them, or a dict by name. A candidate is a spec as in `--against` ("kernel.cu:entry",
        "eager", "torch.compile", "module:function"), an `Against` with its launch (for a spec or a Triton kernel), or a Python
        callable that takes the op's arguments. Specs are run in a process of their own; callables run in this process, on
        copies of the arguments.
    backward: compare the gradient's kernels, with respect to the tensors that require grad, or to all floats if none does.
    specials: also check with NaN, infinities, zeros and other special values injected into the arguments.
    given_only: check candidates on these arguments alone, without special values and other layouts.
    time_incorrect: time incorrect candidates, too.
    warm: use one set of inputs, which the caches may hold.
    graph: time calls in a CUDA graph.
    rounds: the number of samples of each candidate.
    why: inspect the kernels' machine code, too.
    isolated: False for trusted candidates: all run in this process, and no argument is copied to another one.
    time_limit: the time limit of a step in another process, in seconds.
    Raises `ingot.Error` for arguments that the op does not take. Errors of a candidate are in the result."""
    if rounds < 1:
        raise author_error(f"rounds={rounds} is too small", "1 is the minimum")
    for old, new in (("as_asked", "given_only"), ("anyway", "time_incorrect")):
        if old in kwargs and old not in op.signature.parameters:
            raise author_error(f"`{old}=` is now `{new}=`", f"write {new}={kwargs[old]!r}")
    candidates_by_name = _named_candidates(against)
    specs = [dataclasses.replace(each, name=name or each.name) if isinstance(each, Against) else Against(each, name=name)
             for name, each in candidates_by_name if not _is_function(each)]
    values = bind_arguments(op, args, kwargs)
    if composite := [name for name, value in values.items() if not isinstance(value, torch.Tensor)
                     and any(isinstance(leaf, torch.Tensor) for leaf in tree_leaves(value))]:
        raise author_error(f"`{composite[0]}` consists of several tensors, which compare does not support",
                           "compare an op that takes each tensor as a parameter")
    tensors = {name: value for name, value in values.items() if isinstance(value, torch.Tensor)}
    device = next((str(value.device) for value in tensors.values()), "cpu")
    options = {"backward": backward, "specials": specials, "given_only": given_only, "time_incorrect": time_incorrect, "warm": warm,
               "graph": graph, "rounds": rounds, "inspects": why}
    if graph and not device.startswith("cuda"):
        raise author_error("a CUDA graph needs a GPU, and these arguments are not on one", "move them: x.cuda()")
    descriptions = {name: describe(value) for name, value in values.items()}
    job = Job(text=op.text, op=op.name, file="", values=descriptions, against=specs, device=device, numerics=op.numerics,
              lazy=op.lazy, leaves=[name for name, tensor in tensors.items() if tensor.requires_grad], fixed_values=[],
              folders=[folder for folder in sys.path if folder], **options)
    python_candidates = _python_candidates(candidates_by_name, [OWN, COPY, *(each.key for each in specs)])
    if not isolated:
        workload = Workload(op, {n: v.detach() if n in tensors else v for n, v in values.items()}, leaves=frozenset(job.leaves))
        step_results: dict = {}
        remaining = steps.Steps(job, step_results, python_candidates, workload.gradient() if backward else workload)
        steps.run_steps(remaining, lambda *_: None, _raise_broken_context)
        return Comparison(report.document(job, step_results, device_name(device)))
    if unsupported := [name for name, tensor in tensors.items() if tensor.dtype not in READABLE]:
        raise author_error(f"`{unsupported[0]}` is of {tensors[unsupported[0]].dtype}, which cannot be sent to another process",
                           "compare with isolated=False")
    with tempfile.TemporaryDirectory(prefix="ingot-compare-") as folder:
        torch.save({name: value.detach() for name, value in tensors.items()}, f"{folder}/arguments.pt")
        value_texts = {name: f"{folder}/arguments.pt:{name}" if name in tensors else _value_text(name, value)
                       for name, value in values.items() if not _is_default(op, name, value)}
        job.values = value_texts
        step_results = supervise(job, time_limit) if specs or not python_candidates else {}
        if python_candidates:
            # A candidate that has failed while it was timed is not run in this process.
            step_results = {step: result for step, result in step_results.items()
                            if step[0] in ("make", "try") or steps.dropped_in(step)}
            steps.run_steps(steps.Steps(job, step_results, python_candidates), lambda *_: None, _raise_broken_context)
    job.values = descriptions
    return Comparison(report.document(job, step_results, device_name(device)))


def _raise_broken_context(_: int) -> None:
    raise author_error("a candidate has broken this process's GPU context",
                       "restart the process; a candidate given as module:function runs in a process of its own")


def _is_function(each) -> bool:
    candidate = each.spec if isinstance(each, Against) else each
    return callable(candidate) and not isinstance(candidate, str)


def _named_candidates(against) -> list[tuple[str, object]]:
    """The candidates, each with its name in tables; an empty name if none is given, so that the spec is shown."""
    if against is None:
        return []
    if isinstance(against, (str, Against)) or callable(against):
        against = [against]
    pairs = list(against.items()) if isinstance(against, dict) else [("", each) for each in against]
    for name, each in pairs:
        if not isinstance(each, (str, Against)) and not callable(each):
            raise author_error(f"`{name or each!r}` is a {type(each).__name__}, which is not a candidate",
                               f"a Python callable, an ingot.Against, or a spec: {candidates.FORMS}")
        if name in (OWN, COPY):
            raise author_error(
                f"`{name}` is the name of the {'op itself' if name == OWN else 'copy that measures copy bandwidth'}",
                "choose another name")
    return pairs


def _python_candidates(named: list[tuple[str, object]], taken_names: list[str]) -> dict[str, candidates.Candidate]:
    """Python callables and Triton kernels, each by a unique name."""
    by_name: dict[str, candidates.Candidate] = {}
    for given_name, each in named:
        if not _is_function(each):
            continue
        function, launches = (each.spec, each.launches) if isinstance(each, Against) else (each, ())
        given_name = given_name or (each.name if isinstance(each, Against) else "")
        base = name = given_name or getattr(function, "__name__", type(function).__name__)
        for number in itertools.count(2):
            if name not in taken_names and name not in by_name:
                break
            name = f"{base}#{number}"
        by_name[name] = candidates.PythonFunction.of(function, given_name or name, launches=launches)
    return by_name


def _is_default(op, name: str, value) -> bool:
    """Whether the value equals the op's default, so that it need not be sent to the worker process."""
    return not isinstance(value, torch.Tensor) and repr(value) == repr(op.signature.parameters[name].default)


def _value_text(name: str, value) -> str:
    if isinstance(value, (list, tuple, dict)):
        raise author_error(f"`{name}` has several elements and cannot be sent to another process", "compare with isolated=False")
    if isinstance(value, int) and not -(1 << 63) <= value < 1 << 63:
        raise author_error(f"`{name}` does not fit into 64 bits", "an op's integers have 64 bits; pass a float")
    return describe(value)


def compare_job(job: Job, time_limit: float = TIME_LIMIT, watch: Callable = lambda step: None) -> Comparison:
    step_results = supervise(job, time_limit, watch)
    return Comparison(report.document(job, step_results, device_name(job.device, job.threads)))


def device_name(device: str, threads: int | None = None) -> str:
    kind = torch.device(device)
    if kind.type == "cuda":
        return torch.cuda.get_device_name(kind)
    count = threads or torch.get_num_threads()
    return f"{processor()}, {count} thread{'s' * (count != 1)}"


def processor() -> str:
    try:
        for line in pathlib.Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                return " ".join(line.partition(":")[2].split())
    except OSError:
        pass
    return "CPU"


# The fields that must be equal in a baseline and a comparison, each with the words for a difference in the error message.
BASELINE_FIELDS = {"op": "another op", "text": "another op source", "arguments": "other arguments", "sizes": "other sizes",
                   "backward": "another value of --backward", "numerics": "another value of --numerics", "lazy": "another value of --lazy",
                   "graph": "another value of --graph", "warm": "another value of --warm", "device": "another device"}


def slower_than_baseline(current: dict, baseline: dict) -> list[str]:
    """The candidates that are slower than in the baseline, relative to copy bandwidth. Ignores differences within the spread of
    the two measurements."""
    names = {c["spec"]: c["name"] for c in current["candidates"]}
    before, slower = _timed(baseline), []
    for (spec, where), now in _timed(current).items():
        if (then := before.get((spec, where))) is None:
            continue
        tolerance = min(0.5, max(0.02, *((c["us_quartiles"][1] - c["us_quartiles"][0]) / c["us"] for c in (now, then))))
        change = now["share_of_copy"] / then["share_of_copy"]
        if change < 1 - tolerance:
            slower.append(f"{names[spec]} became slower{where}: {change:.2f} of its speed on {baseline['date'][:10]}, relative to "
                          "copy bandwidth")
    return slower


def _timed(document: dict) -> dict[tuple[str, str], dict]:
    """The times of each candidate, by its spec and the size of the sweep ("" for the given arguments)."""
    sweep = document.get("sweep") or {"name": "", "points": ()}
    timed = {(c["spec"], ""): c for c in document["candidates"]}
    timed |= {(spec, f" at {sweep['name']}={point['size']}"): times
              for point in sweep["points"] for spec, times in point["candidates"].items()}
    return {key: times for key, times in timed.items() if times.get("share_of_copy")}


def load_baseline(path: pathlib.Path) -> dict:
    """Reads a report that `--save` has written. Raises ValueError for other files."""
    document = None
    try:
        document = json.loads(path.read_text())
        has_fields = {*BASELINE_FIELDS} <= {*document} and isinstance(document["date"], str)
        is_comparison = has_fields and document["candidates"][0]["spec"] == OWN and all(map(_is_timed, _timed(document).values()))
    except (AttributeError, IndexError, KeyError, TypeError, RecursionError):
        is_comparison = False
    if not is_comparison:
        is_earlier = isinstance(document, dict) and "contenders" in document
        raise ValueError("an earlier version has saved it: save it again" if is_earlier else "it is not a saved comparison")
    return document


def _is_timed(times: dict) -> bool:
    numbers = [times["share_of_copy"], times["us"], *times["us_quartiles"]]
    return len(numbers) == 4 and all(0 < number < math.inf for number in numbers)


def check_baseline(job: Job, baseline: dict) -> None:
    """Raises `ingot.Error` if the baseline is of another op, other arguments, or another machine."""
    current = report.request(job, device_name(job.device, job.threads))
    for field, difference in BASELINE_FIELDS.items():
        if baseline[field] != current[field]:
            raise author_error(f"the baseline has {difference}: {baseline[field]!r}, this comparison {current[field]!r}",
                               "name a report that --save has written for the same op, values and machine")
