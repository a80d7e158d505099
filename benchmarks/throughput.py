"""Times the cases: large tensors on the GPU, small ones with the call that launches them or in a graph; the CPU's."""

from typing import Callable, Iterable, Iterator

import torch

import peers
from cases.case import Case, Program, Tensors
from timing import Seconds, in_a_graph, median, on_the_device, on_the_host, times_as_fast

COPIED = 1 << 30  # bytes


def large(cases: Iterable[Case], asked: tuple[str, ...], checked: Callable = peers.checked) -> Iterator[dict]:
    """Shares of a large device copy's speed, with which each round begins."""
    source = torch.randn(COPIED // 4, device="cuda")
    target = torch.empty_like(source)

    def measure(calls: dict[str, peers.Call], bytes_moved: int) -> dict:
        seconds = on_the_device({"copy": lambda: target.copy_(source), **calls})
        # What a copy of as many bytes would take: half of them are read.
        seconds["copy"] = [s * bytes_moved / (2 * COPIED) for s in seconds["copy"]]
        shares = {who: times_as_fast(seconds[who], seconds["copy"]) for who in calls}
        return {"copy_gb_s": bytes_moved / median(seconds["copy"]) / 1e9, "share_of_copy": shares, **compared(seconds)}

    for case in cases:
        yield attempt(case, "cuda", asked, measure, checked)


def values_and_gradients(cases: Iterable[Case], asked: tuple[str, ...]) -> Iterator[dict]:
    return large(cases, asked, peers.values_and_gradients)


def small(cases: Iterable[Case], asked: tuple[str, ...]) -> Iterator[dict]:
    """Calls one after another, launch included."""
    for case in cases:
        yield attempt(case, "cuda", asked, lambda calls, _: compared(on_the_host(calls)))


def few(cases: Iterable[Case], asked: tuple[str, ...]) -> Iterator[dict]:
    """Kernels one after another in a CUDA graph, without the host that launches them."""
    for case in cases:
        yield attempt(case, "cuda", asked, lambda calls, _: compared(in_a_graph(calls)))


def on_the_cpu(cases: list[Case], asked: tuple[str, ...]) -> Iterator[dict]:
    """On one thread and on all of them; results are allocated by everybody."""
    all_threads = torch.get_num_threads()
    for threads, name in ((1, "one thread"), (all_threads, "all threads")):
        torch.set_num_threads(threads)
        for case in cases:
            row = attempt(case, "cpu", asked, lambda calls, _: compared(on_the_host(calls)))
            yield row | {"case": f"{name}: {case.name}", "group": name}
    torch.set_num_threads(all_threads)


def backward(cases: Iterable[Case], asked: tuple[str, ...]) -> Iterator[dict]:
    """The gradients of a call that was made before, and a call with its gradients."""
    for case in cases:
        for name, kept in (("backward", True), ("both", False)):
            row: dict = {"case": f"{name}: {case.name}", "group": case.name, "errors": {}}
            try:
                args = case.make(Tensors("cuda"))
                row |= compared(on_the_device(peers.gradients(case, args, asked, kept, row["errors"])))
            except Exception as error:
                row["errors"]["ingot"] = peers.first_line(error)
            yield row
            torch.cuda.empty_cache()


def programs(cases: Iterable[Program], asked: tuple[str, ...]) -> Iterator[dict]:
    """What launches many kernels: what the GPU spends, or, if that is longer, the host."""
    for case in cases:
        row: dict = {"case": case.name, "group": case.group, "errors": {}}
        try:
            row |= compared(on_the_device(peers.programs(case, Tensors("cuda"), asked, row["errors"])))
        except Exception as error:
            row["errors"]["ingot"] = peers.first_line(error)
        yield row
        torch.cuda.empty_cache()


def attempt(case: Case, device: str, asked: tuple[str, ...], measure: Callable[[dict, int], dict],
            checked: Callable = peers.checked) -> dict:
    """A row; what fails in it is said there, and keeps nobody from the next."""
    row: dict = {"case": case.name, "group": case.group, "errors": {}}
    try:
        args = case.make(Tensors(device))
        calls = checked(case, args, asked, row["errors"])
        if "ingot" in calls:
            tensors = (a for a in (*args, *peers.results_of(calls["ingot"]())) if isinstance(a, torch.Tensor))
            row |= measure(calls, sum(t.nbytes for t in tensors))
    except Exception as error:
        row["errors"]["ingot"] = peers.first_line(error)
    torch.cuda.empty_cache()
    return row


def compared(seconds: Seconds) -> dict:
    """Microseconds of a call of each, and how many times as fast as each peer ingot is."""
    own = seconds.get("ingot")
    return {"microseconds": {who: median(s) * 1e6 for who, s in seconds.items()},
            "times_as_fast_as": {who: times_as_fast(own, s) for who, s in seconds.items() if who != "ingot" and own}}
