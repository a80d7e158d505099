"""One contender on one case: what it gives, what else it writes, and whether it comes back."""

from __future__ import annotations

import torch

from .canaries import Guarded
from .contenders import Contender
from .judge import Verdict, Wanted, judge
from .subject import Case, Subject, copied


def bind(contender: Contender, subject: Subject, values: dict, results: list[torch.Tensor]):
    """A call of no arguments. Of a gradient, a kernel is launched with `grad` among its names; all else is recorded."""
    if contender.is_raw:
        return contender.bind(values, results)
    return subject.bind(lambda arguments: contender.bind(arguments, results), values)


def trial(contender: Contender, case: Case, wanted: Wanted) -> Verdict:
    """Raises what the contender raises."""
    values, changed = copied(case.subject.values), wanted.changed
    guards = [Guarded(like) for like in wanted.eager[len(changed) :]]
    given = copied(values) if contender.is_raw else {}
    call = bind(contender, case.subject, values, [guard.tensor for guard in guards])
    with torch.no_grad():
        returned = call()
    if any(v.is_cuda for v in case.subject.tensors().values()):
        torch.cuda.synchronize()
    verdict = judge(wanted, [*(values[name] for name in changed), *returned])
    if contender.is_raw:
        _look_around(verdict, guards, {name: (given[name], values[name]) for name in given if name not in changed})
    return verdict


def _look_around(verdict: Verdict, guards: list[Guarded], inputs: dict[str, tuple]) -> None:
    """What a kernel wrote that was not its to write, and what it did not write that was."""
    said = [found for guard in guards if (found := guard.trespass())]
    for name, (before, after) in inputs.items():
        if isinstance(before, torch.Tensor) and not torch.equal(_as_bytes(before), _as_bytes(after)):
            said.append(f"writes its input {name}")
    if not verdict.right and (missing := sum(guard.untouched() for guard in guards)):
        said.append(f"leaves {missing} elements unwritten")
    if said:
        verdict.right, verdict.message = False, "; ".join(said + ([] if verdict.right else [verdict.message]))


def _as_bytes(tensor: torch.Tensor) -> torch.Tensor:
    return tensor.contiguous().view(-1).view(torch.uint8) if tensor.numel() else tensor
