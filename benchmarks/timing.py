"""How the benchmarks measure: what is compared is timed in the same rounds, in turns, and what is kept of two of them
is the median over the rounds of their ratio, so that a machine that slows down slows both.

On the GPU a sample is ten launches between two events: a single launch between events measures the launch too, which
costs a 150 µs kernel a sixth of its speed.
"""

import statistics
import time
from typing import Callable

import torch

LAUNCHES, LONGEST_SAMPLE = 10, 0.03
CALLS_OF_A_GRAPH = 64
Seconds = dict[str, list[float]]  # of one call, a number a round


def on_the_device(calls: dict[str, Callable[[], object]], rounds: int = 5) -> Seconds:
    """What the GPU spends. What takes long is launched less often than ten times a sample."""
    return _rounds(calls, rounds, _device_seconds,
                   lambda seconds: max(1, min(LAUNCHES, int(LONGEST_SAMPLE / seconds))))


def in_a_graph(calls: dict[str, Callable[[], object]]) -> Seconds:
    """What the GPU spends where calls follow one another in a CUDA graph."""
    seconds = on_the_device({name: _captured(call).replay for name, call in calls.items()})
    return {name: [s / CALLS_OF_A_GRAPH for s in samples] for name, samples in seconds.items()}


def on_the_host(calls: dict[str, Callable[[], object]], rounds: int = 25, at_least: float = 2e-3) -> Seconds:
    """What the caller waits for. A sample repeats the call for `at_least` seconds and waits for the GPU once."""
    return _rounds(calls, rounds, _host_seconds, lambda seconds: max(1, int(at_least / seconds)))


def median(seconds: list[float]) -> float:
    return statistics.median(seconds)


def times_as_fast(own: list[float], peers: list[float]) -> float:
    """How many times as fast as the peer, by the median over the rounds."""
    return statistics.median(peer / mine for mine, peer in zip(own, peers))


def _captured(call: Callable[[], object]) -> torch.cuda.CUDAGraph:
    call()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        for _ in range(CALLS_OF_A_GRAPH):
            call()
    return graph


def _rounds(calls, rounds, sample, repeats_of) -> Seconds:
    repeats = {}
    for name, call in calls.items():
        sample(call, 2)
        repeats[name] = repeats_of(max(sample(call, 1), 1e-9))
    times: Seconds = {name: [] for name in calls}
    for _ in range(rounds):
        for name, call in calls.items():
            times[name].append(sample(call, repeats[name]))
    return times


def _device_seconds(call, repeats: int) -> float:
    begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    torch.cuda._sleep(200_000)  # clocks, a tenth of a millisecond: the host gets ahead
    begin.record()
    for _ in range(repeats):
        call()
    end.record()
    end.synchronize()
    return begin.elapsed_time(end) / repeats / 1e3


def _host_seconds(call, repeats: int) -> float:
    begin = time.perf_counter()
    for _ in range(repeats):
        call()
    if torch.cuda.is_initialized():
        torch.cuda.synchronize()
    return (time.perf_counter() - begin) / repeats
