"""The clock that times all candidates: `runners` has the calls of each candidate, one per set of inputs."""

import time

import pytest
import torch

import ingot
from comparisons import on_a_gpu
from ingot.tools import command, benchmark


def test_every_round_times_all_runners_on_all_sets():
    calls = []
    runners = {name: [lambda name=name, k=k: calls.append((name, k)) for k in range(3)] for name in ("a", "b")}
    times = benchmark.run_rounds(runners, torch.device("cpu"), rounds=3)
    assert set(times) == {"a", "b", "copy"} and all(len(t.seconds) == 3 for t in times.values())
    assert {call for call in calls} == {(name, k) for name in "ab" for k in range(3)}


def test_sets_exceed_the_cache():
    device = torch.device("cpu")
    assert benchmark.sets_for(1 << 40, device) == 1
    assert benchmark.sets_for(1 << 20, device) * (1 << 20) >= min(2 * benchmark.cache_bytes(device), benchmark.MAX_SETS << 20)


class SimulatedGpu:
    """A device queue and a CPU, in seconds: a call takes `device` seconds in the queue and `cpu` seconds of the CPU."""

    COPY = 600e-6  # device seconds of a copy, which takes no CPU time

    def __init__(self, monkeypatch, device: float, cpu: float):
        self.device, self.cpu, self.now, self.queue_end = device, cpu, 0.0, 0.0
        for name, fake in {"_sleep": lambda cycles: self.enqueue(cycles / benchmark.CYCLES_PER_SECOND), "Event": lambda **_: SimulatedEvent(self),
                           "synchronize": lambda _: self.wait()}.items():
            monkeypatch.setattr(torch.cuda, name, fake)
        monkeypatch.setattr(benchmark.time, "perf_counter", lambda: self.now)
        monkeypatch.setattr(benchmark, "_copy", lambda device: lambda: self.enqueue(self.COPY))

    def enqueue(self, seconds: float) -> None:
        self.queue_end = max(self.queue_end, self.now) + seconds

    def call(self) -> None:
        self.now += self.cpu
        self.enqueue(self.device)

    def wait(self) -> None:
        self.now = max(self.now, self.queue_end)


class SimulatedEvent:
    """A CUDA event on the simulated GPU."""

    def __init__(self, gpu: SimulatedGpu):
        self.gpu = gpu

    def record(self) -> None:
        self.time = max(self.gpu.queue_end, self.gpu.now)

    def query(self) -> bool:
        return self.time <= self.gpu.now

    def synchronize(self) -> None:
        self.gpu.now = max(self.gpu.now, self.time)

    def elapsed_time(self, end: "SimulatedEvent") -> float:
        return (end.time - self.time) * 1e3


@pytest.mark.parametrize("device, cpu", [(5e-6, 20e-6), (300e-6, 20e-6), (50e-6, 900e-6), (10e-6, 500e-6)])
def test_device_time_excludes_cpu_overhead_except_in_a_loop(monkeypatch, device, cpu):
    gpu = SimulatedGpu(monkeypatch, device, cpu)
    for sets in (1, 64):
        alone = benchmark.run_rounds({"x": [gpu.call] * sets}, torch.device("cuda"), rounds=3)["x"]
        assert alone.seconds == pytest.approx([device] * 3) and alone.cpu_overhead == pytest.approx(cpu)
    in_a_loop = benchmark.run_rounds({"x": [gpu.call], "y": [gpu.call]}, torch.device("cuda"), rounds=6, ahead=False)
    for name in "xy":  # also the runner that follows the copy
        assert in_a_loop[name].seconds == pytest.approx([max(device, cpu)] * 6, rel=0.1)


def test_a_sample_is_repeated_if_the_cpu_was_late(monkeypatch):
    gpu, paces = SimulatedGpu(monkeypatch, device=5e-6, cpu=0.0), iter([400e-6] * 10 + [20e-6] * 10)

    def call():
        gpu.cpu = next(paces)
        gpu.call()

    assert benchmark._device_sample(benchmark.Rotation(), [call], 10, 500e-6, torch.device("cuda")) == pytest.approx(5e-6)
    assert next(paces, None) is None


def test_a_sample_has_fewer_calls_if_the_cpu_is_too_slow(monkeypatch):
    gpu = SimulatedGpu(monkeypatch, device=5e-6, cpu=1e-3)
    assert benchmark._device_sample(benchmark.Rotation(), [gpu.call], 64, benchmark.MAX_LEAD, torch.device("cuda")) == pytest.approx(5e-6)


def test_no_runner_hits_inputs_that_another_one_cached(monkeypatch):
    """With 1 ms of CPU time per call, the CPU cannot get ahead of the device by all sets of inputs."""
    gpu, calls, hits = SimulatedGpu(monkeypatch, device=10e-6, cpu=1e-3), [], []

    def call(name, k):
        hits.extend([name] * (k in calls[-32:]))
        calls.append(k)
        gpu.call()

    runners = {name: [lambda name=name, k=k: call(name, k) for k in range(64)] for name in "ab"}
    benchmark.run_rounds(runners, torch.device("cuda"), rounds=6)
    assert hits == []


def test_one_result_per_set_stays_alive(monkeypatch):
    gpu, alive, counts = SimulatedGpu(monkeypatch, device=10e-6, cpu=1e-5), set(), []

    class Result:
        def __init__(self):
            alive.add(id(self))
            counts.append(len(alive))

        def __del__(self):
            alive.discard(id(self))

    def call():
        gpu.call()
        return Result()

    benchmark.run_rounds({"x": [call] * 2}, torch.device("cuda"), rounds=3)
    assert max(counts) == 3  # while the next one is made


def test_cpu_overhead_excludes_waiting_for_a_full_queue(monkeypatch):
    """The CPU waits while a thousand kernels are pending. A call here launches 50 kernels."""
    gpu = SimulatedGpu(monkeypatch, device=50 * 20e-6, cpu=50 * 2e-6)

    def call():
        gpu.call()
        gpu.now = max(gpu.now, gpu.queue_end - 1000 * 20e-6)

    assert benchmark._cpu_overhead(benchmark.Rotation(), [call], torch.device("cuda")) == pytest.approx(50 * 2e-6)


@on_a_gpu
def test_a_call_that_waits_takes_longer_in_a_loop():
    x = torch.ones(1000, device="cuda")

    def call():
        begin = time.perf_counter()
        while time.perf_counter() < begin + 2e-4:
            pass
        return x * 2

    device = torch.device("cuda")
    alone, in_a_loop = (benchmark.run_rounds({"x": [call]}, device, rounds=5, ahead=ahead)["x"].median for ahead in (True, False))
    assert alone < 2e-5 and 2e-4 <= in_a_loop < 6e-4


@on_a_gpu
def test_calls_are_timed_in_a_cuda_graph():
    x = torch.randn(1000, device="cuda")
    comparison = ingot.compare(ingot.op("x * 2 + 1"), ["eager", "torch.compile"], x, graph=True, warm=True, isolated=False, rounds=5)
    assert comparison.is_correct and comparison.found["timing_error"] is None and comparison["ingot"]["us"] < 10
    assert "in a CUDA graph of 64 calls" in str(comparison)
    failed = ingot.compare(ingot.op("x * 2"), {"waits": lambda x: (x.sum().item(), x * 2)[1]}, x, graph=True, isolated=False, rounds=3)
    assert "waits cannot be captured in a CUDA graph" in failed["waits"]["message"] and failed["waits"]["state"] == "failed"


def test_a_cuda_graph_needs_a_gpu(capsys):
    with pytest.raises(ingot.Error, match="a CUDA graph needs a GPU"):
        ingot.compare(ingot.op("x * 2"), "eager", torch.randn(8), graph=True)
    assert command.main(["compare", "-e", "x + 1", "x=f32:3", "--graph", "--device", "cpu"]) == 2
    assert "a CUDA graph needs a GPU" in capsys.readouterr().err
