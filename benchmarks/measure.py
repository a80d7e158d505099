"""Measures the cases by `ingot.compare`, on the given arguments only. All candidates run in this process."""

import contextlib
from typing import Callable, Iterable, Iterator

import torch

import ingot
from call_with_gradient import workload_of
from cases.case import Case, Tensors
from cases.random_shapes import RandomCase
from ingot.tools import report
from ingot.tools.candidates.ops import plain_function
from ingot.tools.comparison import device_name
from ingot.tools.job import Against, Job
from ingot.tools.steps import Steps, run_steps

BASELINES = ("eager", "compile", "autotune", "dynamic", "jiterator", "handwritten")
# The baselines that `ingot.compare` knows: their names here, and the specs by which they are requested.
CANDIDATE_NAMES = {"eager": "eager", "compile": "torch.compile", "autotune": "torch.compile:max-autotune-no-cudagraphs",
                   "dynamic": "torch.compile:dynamic"}
ROUNDS = 9
Selected = tuple[str, ...]  # some of BASELINES


def large(cases: Iterable[Case], selected: Selected) -> Iterator[dict]:
    """Calls on tensors larger than any cache."""
    for case in cases:
        yield attempt(case, Tensors("cuda"), selected)


def small(cases: Iterable[Case], selected: Selected) -> Iterator[dict]:
    """Repeated calls on the same tensors, launch included: GPU time or CPU time, whichever is longer."""
    for case in cases:
        yield attempt(case, Tensors("cuda"), selected, with_cpu_overhead=True, warm=True)


def few(cases: Iterable[Case], selected: Selected) -> Iterator[dict]:
    """Repeated calls on the same tensors in a CUDA graph, without the CPU time."""
    for case in cases:
        yield attempt(case, Tensors("cuda"), selected, warm=True, graph=True)


def on_the_cpu(cases: Iterable[Case], selected: Selected) -> Iterator[dict]:
    """CPU calls on one thread and on all threads, with the tensors in the cache. Each call allocates its results."""
    for case in cases:
        yield from by_threads(case, lambda: attempt(case, Tensors("cpu"), selected, warm=True, rounds=21))


def random_shapes(cases: Iterable[RandomCase], selected: Selected) -> Iterator[dict]:
    """Calls on tensors that no cache holds, alone or together with their gradients."""
    for case in cases:
        yield attempt(case, Tensors("cuda"), selected, compare=compare_workload)


def random_shapes_on_the_cpu(cases: Iterable[RandomCase], selected: Selected) -> Iterator[dict]:
    for case in cases:
        yield from by_threads(case, lambda: attempt(case, Tensors("cpu"), selected, warm=True, compare=compare_workload))


def by_threads(case: Case | RandomCase, measure: Callable[[], dict]) -> Iterator[dict]:
    """The rows of a case on one CPU thread and on all threads."""
    for threads, name in ((1, "one thread"), (torch.get_num_threads(), "all threads")):
        with cpu_threads(threads):
            row = measure()
        yield row | {"case": f"{name}: {case.name}", "group": name}


@contextlib.contextmanager
def cpu_threads(count: int) -> Iterator[None]:
    """A context with this number of CPU threads. Code of torch.compile has the number in it; the key of its cache has the number
    only if the number is in the configuration."""
    from torch._inductor import config

    before = torch.get_num_threads()
    torch.set_num_threads(count)
    try:
        with config.patch({"cpp.threads": count}):
            yield
    finally:
        torch.set_num_threads(before)


def gradients(cases: Iterable[Case], selected: Selected) -> Iterator[dict]:
    """The backward pass alone; the forward call is made before and is not timed."""
    for case in cases:
        # Random numbers differ between candidates, and so do their gradients: these are timed without a check.
        row = attempt(case, Tensors("cuda"), selected, backward=True, time_incorrect=case.is_random)
        yield row | {"case": f"backward: {case.name}", "group": case.name}


def attempt(case: Case | RandomCase, tensors: Tensors, selected: Selected, with_cpu_overhead: bool = False, rounds: int = ROUNDS,
            compare: Callable[..., dict] | None = None, **options) -> dict:
    """The row of a case. An error is stored in the row, so that the next case still runs. `compare`: `compare_case` by default."""
    row: dict = {"case": case.name, "group": case.group, "errors": {}}
    try:
        comparison = (compare or compare_case)(case, case.make(tensors), selected, rounds=rounds, **options)
        row |= row_of(comparison, with_cpu_overhead, must_be_correct=not case.is_random)
    except Exception as error:
        row["errors"]["ingot"] = first_line(error)
    if tensors.device == "cuda":
        torch.cuda.empty_cache()
    return row


def compare_case(case: Case, args: tuple, selected: Selected, **options) -> dict:
    """The document of `ingot.compare` for the case."""
    op = ingot.op(case.text, **case.options)
    against = {name: candidate for name, candidate in candidates(case, op, args[0].device).items() if name in selected}
    return ingot.compare(op, against, *args, isolated=False, given_only=True, why=False, **options).found


def compare_workload(case: RandomCase, args: tuple, selected: Selected, **options) -> dict:
    """The same document for a call or, if an argument requires grad, for a call together with its gradient. Raises an error if
    Ingot's results are incorrect. Baselines are timed in any case: they may round values that Ingot does not round."""
    workload, fallbacks = workload_of(case, args), ingot.counters().eager_fallbacks
    op, device = workload.op, str(args[0].device)
    job = Job(op.text, op.name, file="", values={}, against=[Against(CANDIDATE_NAMES[name], name=name) for name in selected],
              device=device, given_only=True, time_incorrect=True, inspects=False, **options)
    results: dict = {}
    run_steps(Steps(job, results, workload=workload), lambda *_: None, raise_broken_context)
    if ingot.counters().eager_fallbacks > fallbacks:
        raise AssertionError("Ingot fell back to eager")
    document = report.document(job, results, device_name(device))
    own, *baselines = document["candidates"]
    if own["state"] == report.INCORRECT:
        raise AssertionError(own["message"])
    for baseline in baselines:
        if baseline["state"] == report.INCORRECT:
            baseline["state"] = report.UNCHECKED
    return document


def raise_broken_context(_: int) -> None:
    raise RuntimeError("the GPU context is broken")


def candidates(case: Case, op: ingot.Op, device: torch.device) -> dict:
    """The baselines that can run the case, by name."""
    baselines: dict = dict(CANDIDATE_NAMES)
    if not case.autotune or device.type != "cuda":
        del baselines["autotune"], baselines["dynamic"]
    if case.earlier_arguments:
        earlier_arguments = case.earlier_arguments(Tensors(device.type))
        op(*earlier_arguments)
        baselines["compile"] = with_earlier_call(earlier_arguments, torch.compile(plain_function(op), fullgraph=True))
    if device.type == "cuda":
        if case.jiterator:
            baselines["jiterator"] = jiterated(case.jiterator)
        if case.handwritten:
            baselines["handwritten"] = case.handwritten.against
    return baselines


def with_earlier_call(earlier_arguments: tuple, function: Callable) -> Callable:
    """Wraps `function`: before its first call, it is called with `earlier_arguments`."""
    earlier_results = []

    def call(*args):
        if not earlier_results:
            earlier_results.append(function(*earlier_arguments))
        return function(*args)

    return call


def jiterated(text: str) -> Callable:
    """A kernel of torch.cuda.jiterator as a function of the case's arguments. It gets only the tensors: numbers are constants in
    its source."""
    result_count = text.count("T&")  # 0: the function returns its only result
    make = torch.cuda.jiterator
    function = make._create_multi_output_jit_fn(text, result_count) if result_count else make._create_jit_fn(text)
    return lambda *args: function(*(a for a in args if isinstance(a, torch.Tensor)))


def row_of(comparison: dict, with_cpu_overhead: bool = False, must_be_correct: bool = True) -> dict:
    """A row from a comparison's document: microseconds of a call, fractions of copy bandwidth, Ingot's speedups over
    the baselines and over a copy (`times_as_fast_as`), the errors, and why results of baselines are unchecked."""
    timed = {c["name"]: c for c in comparison["candidates"] if "us" in c}
    microseconds = {name: max(c["us"], c["cpu_overhead_us"] or 0.0) if with_cpu_overhead else c["us"]
                    for name, c in timed.items()}
    row: dict = {"microseconds": microseconds, "share_of_copy": {name: c["share_of_copy"] for name, c in timed.items()},
                 "copy_gb_s": comparison.get("copy_gb_s"),
                 "errors": {c["name"]: c["message"] for c in comparison["candidates"] if c["state"] == "failed"
                            or c["state"] == "incorrect" and must_be_correct},
                 "unchecked": {c["name"]: c["message"] for c in comparison["candidates"] if c["state"] == "unchecked"}}
    if comparison["timing_error"]:
        row["errors"]["ingot"] = comparison["timing_error"]
    if ingot_times := timed.get("ingot"):
        row["times_as_fast_as"] = {name: us / microseconds["ingot"] if with_cpu_overhead else 1 / timed[name]["speedup"]
                                   for name, us in microseconds.items() if name != "ingot"} | {"copy": ingot_times["share_of_copy"]}
    return row


def first_line(error: Exception) -> str:
    return f"{type(error).__name__}: {error}".splitlines()[0].removesuffix(": ")
