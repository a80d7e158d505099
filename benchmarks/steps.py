"""Measures programs that are more than one call of an op: a call with its gradient, a loss with its gradient, a loop in
a CUDA graph, a training step.

Each candidate is timed as `ingot.compare` times, after its result was found to be close to eager PyTorch's. With `in_loop`,
calls are timed as in a loop of a user's program: by their CPU time or their device time, whichever is longer.
"""

import statistics
from typing import Callable, Iterable, Iterator

import torch

import ingot
from cases.case import Case, ProgramCase, Tensors
from ingot.tools.candidates.ops import plain_function
from ingot.tools.benchmark import COPIED_BYTES, Dropped, run_rounds
from measure import ROUNDS, Selected, first_line

Call = Callable[[], object]
# For each candidate, a function that prepares it and returns the call to time. "eager" is one of the candidates.
Makers = dict[str, Callable[[], Call]]


def calls_with_gradients(cases: Iterable[Case], selected: Selected) -> Iterator[dict]:
    for case in cases:
        yield attempt(f"both: {case.name}", case.name, lambda case=case: with_gradient(case, case.make(Tensors("cuda"))),
                      selected, is_random=case.is_random, in_loop=True)


def losses_with_gradients(cases: Iterable[Case], selected: Selected) -> Iterator[dict]:
    """Losses with their gradients, as fractions of copy bandwidth: a call moves the bytes of its arguments and of the
    gradient."""
    for case in cases:
        yield attempt(case.name, case.group, lambda case=case: loss_with_gradient(case, case.make(Tensors("cuda"))), selected,
                      with_copy=True)


def programs(cases: Iterable[ProgramCase], selected: Selected) -> Iterator[dict]:
    for case in cases:
        yield attempt(case.name, case.group, lambda case=case: case.makers(Tensors("cuda")), selected, in_loop=True)


def with_gradient(case: Case, args: tuple) -> Makers:
    """A call and its gradients with respect to the arguments that require grad."""
    op = ingot.op(case.text, **case.options)
    leaves = [a for a in args if isinstance(a, torch.Tensor) and a.requires_grad]
    grad = torch.randn_like(op.reference(*args))
    functions = {"ingot": lambda: op, "eager": lambda: plain_function(op),
                 "compile": lambda: torch.compile(plain_function(op), fullgraph=True)}

    def bind(function) -> Call:
        def call():
            return torch.autograd.grad(function(*args), leaves, grad)

        return call

    return {name: lambda make=make: bind(make()) for name, make in functions.items()}


def loss_with_gradient(case: Case, args: tuple) -> Makers:
    """A loss and its gradient with respect to the first argument: `ingot.value_and_grad` for Ingot, a call and autograd
    for the baselines."""
    op = ingot.op(case.text, **case.options)
    leaf, other_args = args[0].detach().requires_grad_(), args[1:]

    def by_autograd(function) -> Call:
        def call():
            value = function(leaf, *other_args)
            return value.detach(), *torch.autograd.grad(value, leaf)

        return call

    def with_value_and_grad(function) -> Call:
        def call():
            return function(*args)

        call.bytes_moved = sum(a.nbytes for a in (*args, leaf) if isinstance(a, torch.Tensor))  # the gradient has leaf's size
        return call

    return {"ingot": lambda: with_value_and_grad(ingot.value_and_grad(op)), "eager": lambda: by_autograd(plain_function(op)),
            "compile": lambda: by_autograd(torch.compile(plain_function(op), fullgraph=True))}


def attempt(name: str, group: str, makers: Callable[[], Makers], selected: Selected, is_random: bool = False,
            with_copy: bool = False, in_loop: bool = False) -> dict:
    """The row of a case. An error is stored in the row, so that the next case still runs."""
    row: dict = {"case": name, "group": group, "errors": {}}
    try:
        calls = checked_calls(makers(), selected, row["errors"], is_random)
        row |= time_calls(calls, row["errors"], with_copy, in_loop)
    except Exception as error:
        row["errors"]["ingot"] = first_line(error)
    torch.cuda.empty_cache()
    return row


def time_calls(calls: dict[str, Call], errors: dict[str, str], with_copy: bool = False, in_loop: bool = False) -> dict:
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
    seconds = {name: times[name].seconds for name in calls}
    speedups = {name: statistics.median(baseline / own for baseline, own in zip(samples, seconds["ingot"]))
                for name, samples in seconds.items() if name != "ingot"} if "ingot" in seconds else {}
    row = {"microseconds": {name: times[name].median * 1e6 for name in calls}, "times_as_fast_as": speedups}
    if with_copy and "ingot" in calls:
        # A copy that moves as many bytes takes this fraction of the timed copy's time: that one reads and writes COPIED_BYTES.
        copy_fraction = calls["ingot"].bytes_moved / (2 * COPIED_BYTES["cuda"])
        row["share_of_copy"] = {name: statistics.median(c * copy_fraction / s for c, s in zip(times["copy"].seconds, samples))
                                for name, samples in seconds.items()}
        speedups["copy"] = row["share_of_copy"]["ingot"]
    return row


def checked_calls(makers: Makers, selected: Selected, errors: dict[str, str], is_random: bool = False) -> dict[str, Call]:
    """The calls of Ingot and of the requested baselines whose results are close to eager's. Each is called three times, because
    the changes that a training step makes show in the next step. With random numbers, only the norms are compared."""
    results, calls = {}, {}
    for name in dict.fromkeys(("eager", "ingot", *selected)):
        if name not in makers:
            continue
        try:
            calls[name] = makers[name]()
            results[name] = [tuple(t.detach().clone() for t in as_tuple(calls[name]())) for _ in range(3)]
            for actual, expected in zip(results[name], results["eager"]):
                check(actual, expected, is_random)
        except Exception as error:
            calls.pop(name, None)
            errors[name] = first_line(error)
            if name == "eager":  # eager defines the correct result
                return {}
    return {name: call for name, call in calls.items() if name in ("ingot", *selected)}


def check(actual: tuple, expected: tuple, is_random: bool = False) -> None:
    for result, expected_result in zip(actual, expected, strict=True):
        result, expected_result = result.float(), expected_result.float()
        if is_random:
            difference = (result.norm() - expected_result.norm()).abs() / expected_result.norm()
        else:
            largest = expected_result.abs().max().clamp(min=torch.finfo(torch.float32).tiny)
            difference = (result - expected_result).abs().max() / largest
        if not difference <= 0.05:
            what = "norm" if is_random else "result"
            raise AssertionError(f"the {what} differs from eager's by {difference:.2g} of the largest value")


def as_tuple(result) -> tuple:
    return tuple(result) if isinstance(result, (tuple, list)) else (result,)
