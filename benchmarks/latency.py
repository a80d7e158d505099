"""What a call costs before the kernel runs: cold, from the disk cache, and warm; each beside its alternatives."""

import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile

import torch

import ingot
from timing import cpu_seconds

# A process of its own: the context is made first, then the clock runs from `op` to the launch's return.
COLD = """
import json, sys, time
import torch, ingot
device = sys.argv[1]
x, y = torch.randn(1 << 20, device=device), torch.randn(1 << 20, device=device)
(x + y).relu_()
if device == "cuda": torch.cuda.synchronize()
begin = time.perf_counter()
f = ingot.op("def relu_add(x, y, bias: float): return relu(x) + y + bias")
f(x, y, 0.5)
seconds = time.perf_counter() - begin
counters = ingot.counters()
print(json.dumps({"seconds": seconds, "compiles": counters.compiles, "lowerings": counters.lowerings,
                  "opened_nvrtc_or_compiler": counters.compiles > 0}))
"""


def first_call(device: str, runs: int = 7) -> dict:
    """Milliseconds of the first call in a new process, with an empty cache folder and with a filled one (medians)."""

    def run(folder: str) -> dict:
        env = {**os.environ, "INGOT_CACHE_DIR": folder}
        return json.loads(subprocess.run([sys.executable, "-c", COLD, device], env=env, check=True,
                                         capture_output=True, text=True).stdout)

    cold, warm = [], []
    for _ in range(runs):
        with tempfile.TemporaryDirectory() as folder:
            folder = str(pathlib.Path(folder) / "cache")
            cold.append(run(folder))
            warm.append(run(folder))
    assert all(r["compiles"] > 0 for r in cold) and all(r["compiles"] == 0 and r["lowerings"] == 0 for r in warm)
    return {"device": device, "cold_ms": 1e3 * statistics.median(r["seconds"] for r in cold),
            "warm_disk_ms": 1e3 * statistics.median(r["seconds"] for r in warm)}


def warm_call(device: str, n: int = 1024) -> dict:
    """Microseconds of a warm call from Python on tensors too small to matter."""
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
    return {"device": device, "microseconds": {who: s * 1e6 for who, s in cpu_seconds(calls).items()}}


def cpp_call(build: pathlib.Path, device: str) -> dict | None:
    """The same from C++ (benchmarks/call.cpp), where it was built."""
    program = build / "bin" / "ingot_call_benchmark"
    if not program.exists():
        return None
    return json.loads(subprocess.run([program, device], check=True, capture_output=True, text=True).stdout)
