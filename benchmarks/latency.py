"""Measures the latency of a call until its kernel is launched: cold, from the disk cache, and warm. Warm calls are compared
with baselines."""

import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile

import torch

import ingot
from cases.elementwise import FOUR_EXAMPLES
from ingot.tools.benchmark import run_rounds

FIRST_CALL = pathlib.Path(__file__).parent / "first_call.py"


def first_call(device: str, runs: int = 5) -> dict:
    """Milliseconds of each example's first call in a new process (medians): with an empty cache folder, and then with a
    filled one."""

    def run(name: str, folder: str) -> dict:
        env = {**os.environ, "INGOT_CACHE_DIR": folder}
        command = [sys.executable, str(FIRST_CALL), device, name]
        return json.loads(subprocess.run(command, env=env, check=True, capture_output=True, text=True).stdout)

    cold, from_disk = {}, {}
    for name in (case.name for case in FOUR_EXAMPLES):
        pairs = []
        for _ in range(runs):
            with tempfile.TemporaryDirectory() as folder:
                cache = str(pathlib.Path(folder) / "cache")
                pairs.append((run(name, cache), run(name, cache)))
        assert all(a["compiles"] > 0 and b["compiles"] == b["lowerings"] == 0 for a, b in pairs)
        cold[name], from_disk[name] = (1e3 * statistics.median(result["seconds"] for result in results) for results in zip(*pairs))
    return {"device": device, "cold_ms": cold, "warm_disk_ms": from_disk}


def warm_call(device: str, n: int = 1024) -> dict:
    """Microseconds of a warm call from Python on tensors so small that only the call counts; also of a call that autograd
    records (x requires grad), alone and with its backward pass."""
    x, y = torch.randn(n, device=device), torch.randn(n, device=device)
    f = ingot.op("def relu_add(x, y, bias: float): return relu(x) + y + bias")
    out = torch.empty_like(x)
    calls = {"ingot": lambda: f(x, y, 0.5), "ingot_out": lambda: f(x, y, 0.5, out=out), "eager_mul": lambda: x * y,
             "eager": lambda: torch.relu(x) + y + 0.5}
    if device == "cuda":
        jiterated = torch.cuda.jiterator._create_jit_fn(
            "template <typename T> T relu_add(T x, T y, T b) { return (x < T(0) ? T(0) : x) + y + b; }", b=0.5)
        calls["jiterator"] = lambda: jiterated(x, y)
    compiled = torch.compile(lambda x, y, b: torch.relu(x) + y + b)
    calls["torch_compile"] = lambda: compiled(x, y, 0.5)
    leaf, grad = x.clone().requires_grad_(), torch.ones_like(x)
    calls |= {"recorded": lambda: f(leaf, y, 0.5), "recorded_mul": lambda: leaf * y,
              "with_gradient": lambda: torch.autograd.grad(f(leaf, y, 0.5), leaf, grad),
              "with_gradient_mul": lambda: torch.autograd.grad(leaf * y, leaf, grad)}
    times = run_rounds({name: [call] for name, call in calls.items()}, torch.device(device))
    return {"device": device, "microseconds": {name: (times[name].cpu_overhead or times[name].median) * 1e6 for name in calls}}


def cpp_call(build: pathlib.Path, device: str) -> dict | None:
    """Microseconds of a warm call from C++ (benchmarks/call.cpp); None if that program was not built."""
    program = build / "bin" / "ingot_call_benchmark"
    if not program.exists():
        return None
    return json.loads(subprocess.run([program, device], check=True, capture_output=True, text=True).stdout)


def costs(warm: list[dict], cpp: list[dict], first: list[dict]) -> dict[str, float]:
    """The figures that have limits, by the names of their thresholds: the times of warm calls, as ratios to a single eager
    function that was timed in the same run, and the times of first calls on the GPU."""
    costs = {}
    for api, rows, mul in (("Python", warm, "mul"), ("C++", cpp, "add")):
        for row in rows:
            us = row["microseconds"]
            if row["device"] == "cuda":
                costs[f"call on the GPU from {api}, ratio to eager's"] = us["ingot"] / us[f"eager_{mul}"]
            else:
                recorded = us["recorded"] - us["ingot"], us[f"recorded_{mul}"] - us[f"eager_{mul}"]
                costs[f"extra cost of a recorded call on the CPU from {api}, ratio to eager's"] = recorded[0] / recorded[1]
    for row in first:
        if row["device"] == "cuda":
            costs["first call with the disk cache, milliseconds"] = row["warm_disk_ms"]["relu_add"]
            costs["cold call, milliseconds, median of the examples"] = statistics.median(row["cold_ms"].values())
            costs["cold call, milliseconds, slowest example"] = max(row["cold_ms"].values())
    return costs
