"""Times all candidates in one run, in rounds, over more sets of inputs than a cache holds.

On a GPU a sample is a batch of calls between two events, with the CPU far enough ahead that the GPU never waits for it. The
CPU overhead of a call is measured separately. With `ahead=False` the CPU has no lead, so a sample takes the CPU time or the
GPU time, whichever is longer, as a loop of a user's program does. On the CPU a sample is a batch of calls, timed by the
clock. The runners are the candidates, and a copy of a large tensor that measures copy bandwidth. A round takes one sample of
each runner, in an order that changes from round to round.
"""

from __future__ import annotations

import contextlib
import dataclasses
import statistics
import time
from typing import Callable, Iterator

import torch

from ..capture import author_error
from .settings import Settings

ROUNDS, MAX_CALLS = 21, 1000  # the most calls of a sample
SECONDS_PER_SAMPLE, SECONDS_IN_A_LOOP = 2e-3, 2e-2
PRIMING_SECONDS = 0.2  # of calls before the first round, until clock frequencies are stable
CYCLES_PER_SECOND = 2e9  # of torch.cuda._sleep, approximately
MAX_LEAD = 0.02  # seconds that the device sleeps while the CPU queues calls
COPY = "copy"  # the name of the runner that measures copy bandwidth
COPIED_BYTES = {"cuda": 1 << 30, "cpu": 1 << 28}
MAX_SETS = 64
LONG_OVERHEAD = 1e-4  # seconds of CPU overhead; if a call has less, it is measured again in every round
MAX_SAMPLE_SECONDS = 0.1  # seconds; a sample that would take longer does not use all sets
CALLS_PER_GRAPH = 64
CALLS_AHEAD = 10  # the calls between two synchronisations when CPU overhead is measured

Calls = list[Callable[[], object]]  # the same call, once for each set of inputs


class Dropped(Exception):
    """A candidate has failed while it was timed. `__cause__` is the candidate's error."""

    def __init__(self, name: str):
        super().__init__(name)
        self.name = name


@dataclasses.dataclass
class Rotation:
    """The index of the next set of inputs. All candidates share it, so none finds inputs in a cache that another
    has just read."""

    index: int = 0

    def make(self, calls: Calls, count: int) -> None:
        """Makes `count` calls, each on the next set of inputs. Each result lives until its set is used again, so that the next call
        does not reuse its memory."""
        results, begin = [None] * len(calls), self.index
        if len(calls) > 1:  # a runner with one set, such as the copy, does not move the index
            self.index += count
        for call_number in range(begin, begin + count):
            results[call_number % len(calls)] = calls[call_number % len(calls)]()


@dataclasses.dataclass(frozen=True)
class Times:
    """Seconds per call."""

    seconds: list[float]  # one per round: between events on a GPU, by the clock on the CPU
    cpu_overhead: float | None  # the CPU overhead on a GPU; None on the CPU

    @property
    def median(self) -> float:
        return statistics.median(self.seconds)


def sets_for(nbytes: int, device: torch.device) -> int:
    """The number of sets of inputs of `nbytes` bytes that together exceed the last-level cache twice, at most MAX_SETS."""
    return max(1, min(MAX_SETS, -(-2 * cache_bytes(device) // max(nbytes, 1))))


def cache_bytes(device: torch.device) -> int:
    if device.type == "cuda":
        return torch.cuda.get_device_properties(device).L2_cache_size
    size = 0
    for path in ("/sys/devices/system/cpu/cpu0/cache/index3/size", "/sys/devices/system/cpu/cpu0/cache/index2/size"):
        try:
            with open(path) as file:
                size = size or int(file.read().strip().removesuffix("K")) << 10
        except (OSError, ValueError):
            pass
    return size or 32 << 20


def run_rounds(runners: dict[str, Calls], device: torch.device, rounds: int = ROUNDS, graph: bool = False,
               ahead: bool = True, watch: Callable[[str], None] = lambda name: None) -> dict[str, Times]:
    """Times the runners and a copy of COPIED_BYTES; returns the seconds per call, by name.

    graph: capture the calls of each runner in a CUDA graph, and time launches of the graph.
    ahead: if False, the seconds on a GPU are those of a call in a loop: its CPU overhead or its GPU time, the longer one.
    watch: is called with the name of each runner before its calls.
    Raises `Dropped` if a candidate fails."""
    settings, rotation = Settings(), Rotation()

    @contextlib.contextmanager
    def running(name: str) -> Iterator[None]:
        watch(name)
        try:
            yield
            wait(device)  # errors of asynchronous work belong to this candidate
        except Exception as error:
            if name == COPY:
                raise
            raise Dropped(name) from error
        settings.restore()

    calls_per_run = dict.fromkeys(runners, CALLS_PER_GRAPH if graph else 1) | {COPY: 1}
    if graph:
        for name, calls in runners.items():
            with running(name):
                runners = runners | {name: capture_graph(name, calls)}
    watch(COPY)
    runners = runners | {COPY: [_copy(device)]}
    sample = _device_sample if device.type == "cuda" else _clock_sample
    overheads, call_counts, leads = {}, {}, {}
    for name, calls in runners.items():
        with running(name):
            rotation.make(calls, max(3, len(calls)))  # the first calls compile
            wait(device)
            overheads[name] = _cpu_overhead(rotation, calls, device) if device.type == "cuda" else 0.0
            seconds = max(sample(rotation, calls, max(3, len(calls)), 0.0, device), 1e-7)
        call_counts[name] = _batch(seconds, len(calls), SECONDS_PER_SAMPLE if ahead else SECONDS_IN_A_LOOP)
        if ahead and overheads[name] * call_counts[name] > MAX_LEAD / 1.3:
            call_counts[name] = max(1, int(MAX_LEAD / 1.3 / overheads[name]))
        leads[name] = min(MAX_LEAD, 1.2 * overheads[name] * call_counts[name] + 1e-4) if ahead else 0.0
    _prime(rotation, runners, running)
    names, times = list(runners), {name: [] for name in runners}
    for round_number in range(rounds):
        for name in names[round_number % len(names) :] + names[: round_number % len(names)]:
            with running(name):
                times[name].append(sample(rotation, runners[name], call_counts[name], leads[name], device))
                if device.type == "cuda" and name != COPY and overheads[name] < LONG_OVERHEAD:
                    overheads[name] = min(overheads[name], _cpu_overhead(rotation, runners[name], device, samples=3))
    return {name: Times([seconds / calls_per_run[name] for seconds in times[name]],
                        overheads[name] / calls_per_run[name] if device.type == "cuda" else None) for name in names}


def _batch(seconds_per_call: float, sets: int, seconds: float) -> int:
    """The number of calls in a sample: a multiple of the number of sets, unless that takes too long."""
    if seconds_per_call * sets > MAX_SAMPLE_SECONDS:
        return max(1, int(MAX_SAMPLE_SECONDS / seconds_per_call))
    return max(1, min(MAX_CALLS, int(seconds / seconds_per_call)) // sets) * sets


def capture_graph(name: str, calls: Calls) -> Calls:
    """One call that launches a CUDA graph of CALLS_PER_GRAPH calls, which use the sets of inputs in turn."""
    if not torch.cuda.is_available():
        raise author_error("a CUDA graph needs a GPU, and there is none")
    rotation = Rotation()
    rotation.make(calls, max(3, len(calls)))  # the first calls compile
    graph = torch.cuda.CUDAGraph()
    try:
        with torch.cuda.graph(graph):
            rotation.make(calls, CALLS_PER_GRAPH)
    except RuntimeError as error:
        raise author_error(f"{name} cannot be captured in a CUDA graph: {str(error).splitlines()[0]}") from error
    return [graph.replay]


def _copy(device: torch.device) -> Callable[[], object]:
    source = torch.ones(COPIED_BYTES[device.type] // 4, device=device)
    if device.type == "cuda":
        # Random values: a GPU needs less power for equal bits, so it would run faster on them.
        source.normal_(generator=torch.Generator(device).manual_seed(0))
    target = torch.empty_like(source)
    return lambda: target.copy_(source)


def _device_sample(rotation: Rotation, calls: Calls, count: int, lead: float, device: torch.device) -> float:
    """Seconds per call between two GPU events. With no lead, the time includes CPU overhead. If the CPU was late, the sample is
    repeated with twice the lead or, at the longest lead, with half the calls."""
    while True:
        begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        torch.cuda._sleep(int(lead * CYCLES_PER_SECOND))
        begin.record()
        rotation.make(calls, count)
        end.record()
        was_late = begin.query()
        end.synchronize()
        if not was_late or lead == 0.0 or (lead == MAX_LEAD and count == 1):
            return begin.elapsed_time(end) / count / 1e3
        if lead < MAX_LEAD:
            lead = min(2 * lead, MAX_LEAD)
        else:
            count //= 2


def _clock_sample(rotation: Rotation, calls: Calls, count: int, lead: float, device: torch.device) -> float:
    begin = time.perf_counter()
    rotation.make(calls, count)
    return (time.perf_counter() - begin) / count


def _cpu_overhead(rotation: Rotation, calls: Calls, device: torch.device, samples: int = 15) -> float:
    """The least CPU overhead of a call, in seconds: the time until the call returns. The device is synchronised before every few
    calls, because it queues only about a thousand kernels, and a further launch would block."""
    overheads = []
    for _ in range(samples):
        wait(device)
        begin = time.perf_counter()
        rotation.make(calls, CALLS_AHEAD)
        overheads.append((time.perf_counter() - begin) / CALLS_AHEAD)
        if overheads[0] > 1e-2:
            break
    return min(overheads)


def _prime(rotation: Rotation, runners: dict[str, Calls], running: Callable) -> None:
    begin = time.perf_counter()
    while time.perf_counter() - begin < PRIMING_SECONDS:
        for name, calls in runners.items():
            with running(name):
                rotation.make(calls, 1)


def wait(device: torch.device) -> None:
    if device.type == "cuda":
        torch.cuda.synchronize(device)
