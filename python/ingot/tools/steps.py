"""The steps of a comparison, run one after another in this process: each candidate is made, checked on every case, timed with
the others, and inspected. A step that fails does not affect the others.
"""

from __future__ import annotations

import contextlib
import gc
import os
import traceback
from typing import Callable, Generator, Iterator

import torch

from .. import _ingot
from ..capture import author_error
from . import profile
from .candidates import Candidate, Ingot
from .counters import hardware_counters
from .job import Job, make
from .check import Expected, check
from .benchmark import COPY, Dropped, run_rounds, sets_for, wait
from .settings import Settings
from .workload import AS_GIVEN, DECISIVE, Case, Workload, cases, copy_values, restore
from .run_case import bind, changed_inputs, run_case

BROKEN_CONTEXT = 75  # the exit status of a process whose GPU context a candidate has broken
OWN = "ingot"  # the key of the compared op among the candidates
TIMING, SWEEP, LEFT_OUT = ("time",), "sweep", "leave out"
# The number of items of each step that times candidates. If a candidate fails in it, its name is one more item.
ITEMS_OF_TIMED_STEPS = {TIMING[0]: 1, SWEEP: 2}
SWEEP_ROUNDS = 9  # at each size of a sweep
LARGE = 1 << 26  # bytes of a case's arguments and results; after a larger case, garbage is collected

# A step: ("make", candidate), ("try", candidate, case), ("leave out", case), ("time",), ("sweep", size), ("profile", candidate)
# or ("count", candidate). A case is left out if memory is short; "count" reads hardware counters. If a candidate fails while it
# is timed, its name follows: ("time", candidate) or ("sweep", size, candidate).
Step = tuple[str, ...]
# Reports an event ("begin", "end", "timing"), its step, and at the end the result. For "timing", the step is the name of the
# candidate that is called from now on, or empty.
Notify = Callable[[str, Step, "dict | None"], None]


class Steps:
    """The steps of one comparison. `step_results`: the results of steps that another process has done. `ready_candidates`: those
    that need not be made from a spec. `workload`: the workload, if it is not to be made from the job's strings."""

    def __init__(self, job: Job, step_results: dict[Step, dict], ready_candidates: dict[str, Candidate] | None = None,
                 workload: Workload | None = None):
        self.job, self.step_results = job, step_results
        self.op = workload.op if workload else job.make_op()
        self.workload = workload or job.workload(self.op)
        self.op.emit("ir", *self.workload.arguments.values())  # raises if the op cannot be compiled for these arguments
        if self.op.uses_random and not job.time_incorrect:
            raise author_error(
                f"`{self.op.name}` uses random numbers: other candidates get different ones, so results cannot be checked",
                "--time-incorrect (in Python: time_incorrect=True) times all candidates in any case")
        self.device = torch.device(job.device)
        self.ready_candidates = ready_candidates or {}
        self.candidates: dict[str, Candidate | None] = {OWN: Ingot(self.op), **{a.key: None for a in job.against}}
        self.candidates |= self.ready_candidates
        self.watch: Callable[[str], None] = lambda name: None  # called with the name of the candidate that is timed
        if job.threads:
            torch.set_num_threads(job.threads)

    def remaining(self) -> Iterator[tuple[Step, Callable[[], dict]]]:
        """The remaining steps, in order. Each step may use the results of earlier steps."""
        for against in self.job.against:
            yield ("make", against.key), lambda against=against: self._make(against)
        for name, candidate in self.ready_candidates.items():
            yield ("make", name), lambda candidate=candidate: self._describe(candidate)
        for case in cases(self.workload, self.job.specials):
            if (yield from self._checks(case)) > LARGE:
                gc.collect()  # else unreferenced results fill the device's memory
            if self.job.given_only:  # the given arguments are the first case
                break
        yield TIMING, lambda: self._time(self.workload, self.job.rounds)
        for size in self.job.sweep_sizes:
            yield (SWEEP, str(size)), lambda size=size: self._time(self.job.workload(self.op, size), SWEEP_ROUNDS)
        for name, candidate in self.candidates.items():
            if candidate is not None and self.job.inspects:
                yield ("profile", name), lambda c=candidate, n=name: profile.of_candidate(
                    c, self.workload, self.job, n in self.candidates_to_time())
            if candidate is not None and self.job.ncu and name in self.candidates_to_time():
                yield ("count", name), lambda n=name: {"kernels": hardware_counters(self.job, n)}

    def _checks(self, case: Case) -> Generator[tuple[Step, Callable[[], dict]], None, int]:
        """The steps of a case. Returns the bytes of its arguments and results."""
        to_try = [(name, candidate) for name, candidate in self.candidates.items()
                  if ("try", name, case.name) not in self.step_results and self._can_try(name, candidate, case)]
        if not to_try:
            return 0
        try:
            if case.workload is None:
                raise torch.OutOfMemoryError
            expected = Expected.of(case.workload)
        except torch.OutOfMemoryError:
            yield (LEFT_OUT, case.name), _no_memory
            return 0
        except Exception:
            if case.name == AS_GIVEN:  # eager PyTorch rejects the given arguments
                raise
            return 0
        for name, candidate in to_try:
            yield ("try", name, case.name), lambda c=candidate: run_case(c, case, expected).as_json()
        return case.workload.bytes_moved(expected.run)

    def _can_try(self, name: str, candidate: Candidate | None, case: Case) -> bool:
        """Whether the candidate can run on the case. It cannot if it has failed on the arguments as given."""
        if candidate is None or candidate.why_not_on(self.device) or "error" in self.step_results.get(("try", name, AS_GIVEN), {}):
            return False
        return candidate.knows_strides or not case.needs_strides

    def candidates_to_time(self) -> list[str]:
        """The names of the candidates to time: the correct ones, or with `time_incorrect` all that returned results; not those that
        have failed while they were timed."""
        names = []
        dropped = {dropped_in(step) for step in self.step_results}
        for name, candidate in self.candidates.items():
            decisive = [self.step_results[step] for case in DECISIVE if (step := ("try", name, case)) in self.step_results]
            if candidate is None or not decisive or any("error" in result for result in decisive):
                continue
            if name in dropped:
                continue
            if self.job.time_incorrect or all(result["correct"] for result in decisive):
                names.append(name)
        return names

    def _make(self, against) -> dict:
        candidate = make(against, self.op)
        description = self._describe(candidate)
        self.candidates[against.key] = candidate
        return description

    def _describe(self, candidate: Candidate) -> dict:
        description = {"name": candidate.name, "kind": candidate.kind, "why_not": candidate.why_not_on(self.device)}
        if hasattr(candidate, "program"):
            architecture = profile.architecture(self.job, self.device)
            program = candidate.program(architecture)
            description |= {"compile_ms": program.seconds * 1e3, "warnings": program.warnings}
            if description["why_not"]:  # else the launch is checked when it is tried
                candidate.check_launches(self.workload.values, profile.results_like(self.workload), architecture)
        return description

    def _time(self, workload: Workload, rounds: int) -> dict:
        """Times the candidates. `seconds` and `cpu_overhead_seconds` are per call, `seconds` one per round. `bytes` must be
        moved by each call. `incorrect` and `not_rechecked` are the results of `_check_again`."""
        expected = Expected.of(workload)
        bytes_moved = workload.bytes_moved(expected.run)
        sets = 1 if self.job.warm else sets_for(bytes_moved, self.device)
        inputs = [copy_values(workload.values) for _ in range(sets)]

        def bound_calls(name: str) -> list[Callable[[], object]]:
            results = expected.run.returned if self.candidates[name].takes_pointers else []
            with self._calls_of(name):
                return [bind(self.candidates[name], workload, values, [torch.empty_like(like) for like in results])
                        for values in inputs]

        def watch(name: str) -> None:
            self.watch(name)
            for values in inputs if expected.written_names and name != COPY else ():
                restore(values, workload.values)  # undo what other candidates have written

        runners = {name: bound_calls(name) for name in self.candidates_to_time()}
        with torch.no_grad():
            times = run_rounds(runners, self.device, min(rounds, self.job.rounds), self.job.graph, watch=watch)
        runners = {name: calls[:1] for name, calls in runners.items()}
        del inputs[1:]  # their memory is needed for the float64 results
        incorrect, not_rechecked = self._check_again(runners, expected, inputs[0])
        return {"bytes": bytes_moved, "sets": sets, "rounds": rounds, "incorrect": incorrect, "not_rechecked": not_rechecked,
                "peak_flops": profile.peak_flops(self.device) if self.device.type == "cuda" else None,
                "seconds": {name: t.seconds for name, t in times.items()},
                "cpu_overhead_seconds": {name: t.cpu_overhead for name, t in times.items() if name != COPY}}

    @contextlib.contextmanager
    def _calls_of(self, name: str) -> Iterator[None]:
        """The calls of one candidate outside of the rounds. Raises `Dropped` if it fails."""
        settings = Settings()
        self.watch(name)
        try:
            yield
            wait(self.device)
        except Exception as error:
            raise Dropped(name) from error
        finally:
            settings.restore()
        self.watch(COPY)  # no candidate is running

    def _check_again(self, runners: dict, expected: Expected, inputs: dict) -> tuple[dict[str, str], dict[str, str]]:
        """Checks the candidates that were correct before timing once more, on the given arguments. Returns messages for the incorrect
        ones, and reasons for those that could not be checked."""
        incorrect, not_rechecked, original = {}, {}, expected.workload.tensors()
        for name, calls in runners.items():
            if all(result.get("correct", False) for step, result in self.step_results.items() if step[:2] == ("try", name) and
                   step[2] in DECISIVE):
                with self._calls_of(name), torch.no_grad():
                    if changed_inputs(original, inputs):
                        restore(inputs, original)
                    results = calls[0]()
                    written = changed_inputs(original, inputs, expected.written_names)
                problems = [f"writes its input {parameter}" for parameter in written]
                try:
                    results = [*(inputs[parameter] for parameter in expected.written_names), *results]
                    if not (verdict := check(expected, results)).correct:
                        problems.append(verdict.message)
                except _ingot.Error as error:
                    not_rechecked[name] = failure(error)["error"]
                if problems:
                    incorrect[name] = f"after it was timed: {'; '.join(problems)}"
        return incorrect, not_rechecked


def _no_memory() -> dict:
    raise author_error("there was not enough memory for it")


def dropped_in(step: Step) -> str | None:
    """The name of the candidate that has failed in this step while it was timed, or None."""
    return step[-1] if len(step) > ITEMS_OF_TIMED_STEPS.get(step[0], len(step)) else None


def run_steps(steps: Steps, notify: Notify, end_process: Callable[[int], None] = os._exit) -> None:
    """Runs all steps, and reports when each begins and ends. If the GPU context is broken, calls `end_process`."""
    steps.watch = lambda name: notify("timing", (name,) if name != COPY else (), None)
    with torch.cuda.device(steps.device) if steps.device.type == "cuda" else contextlib.nullcontext():
        for step, action in steps.remaining():
            if step in steps.step_results and (step[0] != "make" or "error" in steps.step_results[step]):
                continue  # a candidate that another process has made must be made again here
            while not _run_step(steps, step, action, notify, end_process):
                pass


def _run_step(steps: Steps, step: Step, action: Callable[[], dict], notify: Notify, end_process: Callable[[int], None]) -> bool:
    """Runs a step. Returns False if it must be repeated without a candidate that has failed while it was timed."""
    settings, done_step = Settings(), step
    notify("begin", step, None)
    try:
        result = action()
    except Dropped as dropped:
        done_step, result = (*step, dropped.name), failure(dropped.__cause__)
    except Exception as error:  # an error of one candidate, which must not affect the others
        result = failure(error)
    settings.restore()
    steps.step_results[done_step] = result
    notify("end", done_step, result)
    if "error" in result and is_context_broken(steps.device):
        end_process(BROKEN_CONTEXT)
    return done_step == step


def failure(error: Exception) -> dict:
    try:
        text = str(error).strip() or type(error).__name__
    except Exception:  # the exception's own __str__ fails
        text = "its message cannot be read"
    if type(error).__name__ != "Error":
        text = text.splitlines()[0]  # the other lines help to debug PyTorch only
        text = text if text.startswith("CUDA error: ") else f"{type(error).__name__}: {text}"
    return {"error": text.removeprefix("error: "), "trace": traceback.format_exc()}


def is_context_broken(device: torch.device) -> bool:
    if device.type != "cuda":
        return False
    try:
        torch.cuda.synchronize(device)
        torch.zeros(1, device=device).add_(1).item()
    except Exception:
        return True
    return False
