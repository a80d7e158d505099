"""Measures programs that are more than one call of an op: a call with its gradient, a loss with its gradient, a loop in
a CUDA graph, a training step.

Each candidate is timed as `ingot.compare` times, after its result was found to be close to eager PyTorch's. A program
with a loop of its own is timed by an iteration's CPU time or device time, whichever is longer.
"""

import statistics
from typing import Callable, Iterable, Iterator

import torch

import ingot
from cases.case import Case, Program, Tensors
from ingot.tools.candidates.ops import plain_function
from ingot.tools.benchmark import COPIED_BYTES, Dropped, run_rounds
from measure import ROUNDS, Selected, first_line

Call = Callable[[], object]
Made = dict[str, Callable[[], Call]]  # by candidate, a function that makes a call without arguments; "eager" is among them


def calls_with_gradients(cases: Iterable[Case], selected: Selected) -> Iterator[dict]:
    for case in cases:
        yield attempt(f"both: {case.name}", case.name, lambda case=case: with_gradient(case, case.make(Tensors("cuda"))),
                      selected, is_random=case.is_random, in_loop=True)


def losses_with_gradients(cases: Iterable[Case], selected: Selected) -> Iterator[dict]:
    """Fractions of copy bandwidth, counting the bytes of the arguments and of the gradient."""
    for case in cases:
        yield attempt(case.name, case.group, lambda case=case: loss_with_gradient(case, case.make(Tensors("cuda"))), selected,
                      with_copy=True)


def programs(cases: Iterable[Program], selected: Selected) -> Iterator[dict]:
    for case in cases:
        yield attempt(case.name, case.group, lambda case=case: case.makers(Tensors("cuda")), selected, in_loop=True)


def with_gradient(case: Case, args: tuple) -> Made:
    """A call and its gradients with respect to the arguments that require grad."""
    op = ingot.op(case.text, **case.options)
    leaves = [a for a in args if isinstance(a, torch.Tensor) and a.requires_grad]
    given = torch.randn_like(op.reference(*args))
    made = {"ingot": lambda: op, "eager": lambda: plain_function(op),
            "compile": lambda: torch.compile(plain_function(op), fullgraph=True)}

    def bound(function) -> Call:
        def call():
            return torch.autograd.grad(function(*args), leaves, given)

        return call

    return {name: lambda make=make: bound(make()) for name, make in made.items()}


def loss_with_gradient(case: Case, args: tuple) -> Made:
    """A loss and its gradient with respect to the first argument: `ingot.value_and_grad` for Ingot, a call and autograd
    for the baselines."""
    op = ingot.op(case.text, **case.options)
    leaf, rest = args[0].detach().requires_grad_(), args[1:]

    def by_autograd(function) -> Call:
        def call():
            value = function(leaf, *rest)
            return value.detach(), *torch.autograd.grad(value, leaf)

        return call

    def at_once(function) -> Call:
        def call():
            return function(*args)

        call.bytes_moved = sum(a.nbytes for a in (*args, leaf) if isinstance(a, torch.Tensor))  # the gradient has leaf's size
        return call

    return {"ingot": lambda: at_once(ingot.value_and_grad(op)), "eager": lambda: by_autograd(plain_function(op)),
            "compile": lambda: by_autograd(torch.compile(plain_function(op), fullgraph=True))}


def attempt(name: str, group: str, makers: Callable[[], Made], selected: Selected, is_random: bool = False,
            with_copy: bool = False, in_loop: bool = False) -> dict:
    """A row. An error is noted in it, so that the next case still runs."""
    row: dict = {"case": name, "group": group, "errors": {}}
    try:
        calls = checked(makers(), selected, row["errors"], is_random)
        row |= timed(calls, row["errors"], with_copy, in_loop)
    except Exception as error:
        row["errors"]["ingot"] = first_line(error)
    torch.cuda.empty_cache()
    return row


def timed(calls: dict[str, Call], errors: dict[str, str], with_copy: bool = False, in_loop: bool = False) -> dict:
    """Times the calls. If one raises an error, it is dropped and the others are timed again."""
    times = None
    while calls and times is None:
        try:
            times = run_rounds({name: [call] for name, call in calls.items()}, torch.device("cuda"), ROUNDS, ahead=not in_loop)
        except Dropped as dropped:
            errors[dropped.name] = first_line(dropped.__cause__)
            calls = {name: call for name, call in calls.items() if name != dropped.name}
    if times is None:
        return {}
    seconds = {name: times[name].device for name in calls}
    faster = {name: statistics.median(theirs / own for theirs, own in zip(samples, seconds["ingot"]))
              for name, samples in seconds.items() if name != "ingot"} if "ingot" in seconds else {}
    row = {"microseconds": {name: times[name].median * 1e6 for name in calls}, "times_as_fast_as": faster}
    if with_copy and "ingot" in calls:
        # The time of a copy of as many bytes. Half of the bytes that a copy moves are reads.
        as_many = calls["ingot"].bytes_moved / (2 * COPIED_BYTES["cuda"])
        row["share_of_copy"] = {name: statistics.median(c * as_many / s for c, s in zip(times["copy"].device, samples))
                                for name, samples in seconds.items()}
        faster["copy"] = row["share_of_copy"]["ingot"]
    return row


def checked(made: Made, selected: Selected, errors: dict[str, str], is_random: bool = False) -> dict[str, Call]:
    """The calls of Ingot and of the requested baselines. Each must have given a result close to eager's three times in
    a row, because the changes that a training step makes show in the next step. With random numbers, only the norms are
    compared."""
    answers, calls = {}, {}
    for name in dict.fromkeys(("eager", "ingot", *selected)):
        if name not in made:
            continue
        try:
            calls[name] = made[name]()
            answers[name] = [tuple(t.detach().clone() for t in listed(calls[name]())) for _ in range(3)]
            for mine, theirs in zip(answers[name], answers["eager"]):
                check(mine, theirs, is_random)
        except Exception as error:
            calls.pop(name, None)
            errors[name] = first_line(error)
            if name == "eager":  # eager defines the correct result
                return {}
    return {name: call for name, call in calls.items() if name in ("ingot", *selected)}


def check(found: tuple, expected: tuple, is_random: bool = False) -> None:
    for mine, theirs in zip(found, expected, strict=True):
        mine, theirs = mine.float(), theirs.float()
        if is_random:
            difference = (mine.norm() - theirs.norm()).abs() / theirs.norm()
        else:
            difference = (mine - theirs).abs().max() / theirs.abs().max().clamp(min=torch.finfo(torch.float32).tiny)
        if not difference <= 0.05:
            what = "norm" if is_random else "result"
            raise AssertionError(f"the {what} differs from eager's by {difference:.2g} of the largest value")


def listed(answer) -> tuple:
    return tuple(answer) if isinstance(answer, (tuple, list)) else (answer,)
