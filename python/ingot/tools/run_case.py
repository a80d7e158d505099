"""Runs one candidate on one case: checks its results over several calls, and finds writes to other memory."""

from __future__ import annotations

import itertools

import torch

from .canaries import PATTERNS, Guarded
from .candidates import Candidate
from .check import Verdict, Expected, check
from .settings import Settings
from .workload import Case, Workload, as_bytes, copy_values

CALLS = 3  # a candidate whose result depends on memory from an earlier call is incorrect from the second call on


def bind(candidate: Candidate, workload: Workload, values: dict, results: list[torch.Tensor]):
    """Returns a function without parameters that calls the candidate with these arguments. If the workload is a gradient, a
    candidate that takes pointers computes the gradient itself, and takes `grad` as an argument. Other candidates compute the
    forward call, and autograd runs its backward pass."""
    if candidate.takes_pointers:
        return candidate.bind(values, results)
    return workload.bind(lambda arguments: candidate.bind(arguments, results), values)


def run_case(candidate: Candidate, case: Case, expected: Expected) -> Verdict:
    """The verdict on the first incorrect call, else on the last call. Raises what the candidate raises."""
    original, written_names = case.workload.values, expected.written_names
    patterns = itertools.cycle(PATTERNS)
    inputs, results_like = (case.workload.tensors(), expected.run.returned) if candidate.takes_pointers else ({}, [])
    guarded = {name: Guarded(tensor, next(patterns), copy_elements=True) for name, tensor in inputs.items()}
    values = copy_values(original) | {name: guard.tensor for name, guard in guarded.items()}
    results, settings = [Guarded(like, next(patterns)) for like in results_like], Settings()
    call = bind(candidate, case.workload, values, [guard.tensor for guard in results])
    for number in range(CALLS):
        with torch.no_grad():
            returned = call()
        settings.restore()  # before the check: what the candidate has set, or its library when it was loaded
        if any(t.is_cuda for t in case.workload.tensors().values()):
            torch.cuda.synchronize()
        verdict = check(expected, [*(values[name] for name in written_names), *returned])
        _check_memory(verdict, expected, results, guarded, changed_inputs(original, values, written_names))
        if not verdict.correct:
            if number:
                verdict.message = f"from call {number + 1} on: {verdict.message}"
            break
        for name in written_names:
            values[name].detach().copy_(original[name])
        for guard in results:
            guard.refill()
    return verdict


def _check_memory(verdict: Verdict, expected: Expected, results: list[Guarded], inputs: dict[str, Guarded], written: list[str]) -> None:
    """Makes the verdict incorrect if the call wrote outside its results, left elements of its results unwritten, or wrote bools
    that are neither 0 nor 1."""
    problems = [f"{problem} a result" for guard in results if (problem := guard.out_of_bounds())]
    problems += [f"{problem} {name}" for name, guard in inputs.items() if (problem := guard.out_of_bounds())]
    problems += [f"writes its input {name}" for name in written]
    if missing := sum(guard.count_unwritten(eager) for guard, eager in zip(results, expected.run.returned)):
        problems.append(f"leaves {missing} elements unwritten")
    elif any(g.tensor.dtype == torch.bool and (g.tensor.view(torch.uint8) > 1).any() for g in results if g.tensor.numel()):
        problems.append("writes bools that are neither 0 nor 1")
    if problems:
        verdict.correct, verdict.message = False, "; ".join(problems + ([] if verdict.correct else [verdict.message]))


def changed_inputs(original: dict, values: dict, allowed_names: list[str] = ()) -> list[str]:
    """The names of the tensors whose bytes have changed, except for `allowed_names`, which the op itself writes."""
    return [name for name, value in original.items() if isinstance(value, torch.Tensor) and name not in allowed_names
            and not torch.equal(as_bytes(value), as_bytes(values[name].detach()))]
