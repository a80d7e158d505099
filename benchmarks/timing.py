"""How the benchmarks measure: everything that is compared is timed in one run, in turns, and the median is kept.

On the GPU a sample is ten launches between two events, over input sets that together exceed the L2 cache: a single
launch between events measures the launch too, which costs a 150 µs kernel a sixth of its speed.
"""

import statistics
import time
from typing import Callable

import torch

LAUNCHES = 10


def gpu_seconds(calls: dict[str, Callable[[int], object]], samples: int = 15) -> dict[str, float]:
    """Median seconds of one call of each, in turns; a call gets a counter to choose its input set by."""
    for call in calls.values():
        for k in range(3):
            call(k)
    torch.cuda.synchronize()
    times: dict[str, list[float]] = {name: [] for name in calls}
    for _ in range(samples):
        for name, call in calls.items():
            begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
            begin.record()
            for k in range(LAUNCHES):
                call(k)
            end.record()
            end.synchronize()
            times[name].append(begin.elapsed_time(end) / LAUNCHES / 1e3)
    return {name: statistics.median(t) for name, t in times.items()}


def cpu_seconds(calls: dict[str, Callable[[], object]], samples: int = 25, at_least: float = 2e-3) -> dict[str, float]:
    """Median seconds of one call of each, in turns; a sample repeats the call until it lasts `at_least` seconds."""
    repeats = {}
    for name, call in calls.items():
        call()
        begin = time.perf_counter()
        call()
        repeats[name] = max(1, int(at_least / max(time.perf_counter() - begin, 1e-9)))
    times: dict[str, list[float]] = {name: [] for name in calls}
    for _ in range(samples):
        for name, call in calls.items():
            begin = time.perf_counter()
            for _ in range(repeats[name]):
                call()
            times[name].append((time.perf_counter() - begin) / repeats[name])
    return {name: statistics.median(t) for name, t in times.items()}
