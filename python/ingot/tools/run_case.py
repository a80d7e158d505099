"""One contender on one case: what it gives, again and again, what else it writes, and whether it comes back."""

from __future__ import annotations

import itertools

import torch

from .canaries import PATTERNS, Guarded
from .candidates import Contender
from .check import Verdict, Wanted, judge
from .settings import Settings
from .workload import Case, Subject, copied

CALLS = 3  # what is counted in memory of a kernel's own shows from the second on


def bind(contender: Contender, subject: Subject, values: dict, results: list[torch.Tensor]):
    """A call of no arguments. Of a gradient, a kernel is launched with `grad` among its names; all else is recorded."""
    if contender.is_raw:
        return contender.bind(values, results)
    return subject.bind(lambda arguments: contender.bind(arguments, results), values)


def trial(contender: Contender, case: Case, wanted: Wanted) -> Verdict:
    """The verdict on the first call that is wrong, else on the last. Raises what the contender raises."""
    given, changed = case.subject.values, wanted.changed
    patterns = itertools.cycle(PATTERNS)
    inputs, fresh = (case.subject.tensors(), wanted.run.returned) if contender.is_raw else ({}, [])
    guarded = {name: Guarded(tensor, next(patterns), keep=True) for name, tensor in inputs.items()}
    values = copied(given) | {name: guard.tensor for name, guard in guarded.items()}
    results, settings = [Guarded(like, next(patterns)) for like in fresh], Settings()
    call = bind(contender, case.subject, values, [guard.tensor for guard in results])
    for number in range(CALLS):
        with torch.no_grad():
            returned = call()
        settings.restore()  # what it set, or its library as it was loaded, ahead of what judges it
        if any(t.is_cuda for t in case.subject.tensors().values()):
            torch.cuda.synchronize()
        verdict = judge(wanted, [*(values[name] for name in changed), *returned])
        _look_around(verdict, wanted, results, guarded, written_of(given, values, changed))
        if not verdict.right:
            if number:
                verdict.message = f"from call {number + 1} on: {verdict.message}"
            break
        for name in changed:
            values[name].detach().copy_(given[name])
        for guard in results:
            guard.refill()
    return verdict


def _look_around(verdict: Verdict, wanted: Wanted, results: list[Guarded], inputs: dict[str, Guarded], written: list[str]) -> None:
    """What was written that was not to be, and what was not written that was."""
    said = [f"{found} a result" for guard in results if (found := guard.trespass())]
    said += [f"{found} {name}" for name, guard in inputs.items() if (found := guard.trespass())]
    said += [f"writes its input {name}" for name in written]
    if missing := sum(guard.untouched(eager) for guard, eager in zip(results, wanted.run.returned)):
        said.append(f"leaves {missing} elements unwritten")
    elif any(g.tensor.dtype == torch.bool and (g.tensor.view(torch.uint8) > 1).any() for g in results if g.tensor.numel()):
        said.append("writes bools that are neither 0 nor 1")
    if said:
        verdict.right, verdict.message = False, "; ".join(said + ([] if verdict.right else [verdict.message]))


def written_of(given: dict, values: dict, changed: list[str] = ()) -> list[str]:
    """The tensors that are not what they were, and that the op does not change."""
    return [name for name, before in given.items() if isinstance(before, torch.Tensor) and name not in changed
            and not torch.equal(_as_bytes(before), _as_bytes(values[name].detach()))]


def _as_bytes(tensor: torch.Tensor) -> torch.Tensor:
    return tensor.contiguous().view(-1).view(torch.uint8) if tensor.numel() else tensor
