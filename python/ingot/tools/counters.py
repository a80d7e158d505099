"""Reads the GPU's hardware counters during a call with Nsight Compute (ncu), if `--ncu` asks for them.

    python -m ingot.tools.counters FOLDER CANDIDATE

is the profiled process: it makes the candidate of the job in FOLDER that has this key (`Against.key`), and calls it, once
between the profiler's start and stop.
"""

from __future__ import annotations

import csv
import io
import pathlib
import subprocess
import sys
import tempfile

import torch

from ..capture import author_error
from .candidates import Ingot
from .disassembly import tool
from .job import Job, make
from .workload import copy_values
from .run_case import bind

TIME_LIMIT = 100.0  # seconds
METRICS = {  # name in the report: (ncu's metric, the factor that converts its unit to the report's)
    "us": ("gpu__time_duration.sum", 1e-3), "bytes_read": ("dram__bytes_read.sum", 1),
    "bytes_written": ("dram__bytes_write.sum", 1), "l2_hit_rate": ("lts__t_sector_hit_rate.pct", 0.01),
    "instructions": ("smsp__inst_executed.sum", 1), "warps_active": ("sm__warps_active.avg.pct_of_peak_sustained_active", 0.01),
    "memory_busy": ("dram__throughput.avg.pct_of_peak_sustained_elapsed", 0.01),
    "arithmetic_busy": ("sm__throughput.avg.pct_of_peak_sustained_elapsed", 0.01),
}


def hardware_counters(job: Job, candidate_key: str) -> list[dict]:
    """METRICS of each kernel of a call of the candidate, in bytes, microseconds and fractions. Raises `ingot.Error` if they cannot
    be read."""
    if not (ncu := tool("ncu")):
        raise author_error("ncu was found neither on PATH nor in a CUDA toolkit", "Nsight Compute is part of the CUDA toolkit")
    with tempfile.TemporaryDirectory(prefix="ingot-ncu-") as folder:
        job.save(pathlib.Path(folder) / "job.json")
        command = [ncu, "--csv", "--page", "raw", "--print-units", "base", "--profile-from-start", "off", "--metrics",
                   ",".join(metric for metric, _ in METRICS.values()),
                   sys.executable, "-P", "-m", "ingot.tools.counters", folder, candidate_key]
        process = subprocess.run(command, capture_output=True, text=True, timeout=TIME_LIMIT)
    if "ERR_NVGPUCTRPERM" in process.stdout + process.stderr:
        raise author_error("the driver allows only administrators to read the GPU's counters",
                           "https://developer.nvidia.com/ERR_NVGPUCTRPERM tells how to change that")
    kernels = table(process.stdout)
    if not kernels:
        raise author_error("ncu reported no counters", (process.stdout + process.stderr)[-1000:])
    return kernels


def table(text: str) -> list[dict]:
    """Parses ncu's CSV output: ncu's own lines, a header, a line of units, a line per kernel."""
    lines = text.splitlines()
    begin = next((k for k, line in enumerate(lines) if line.startswith('"ID"')), len(lines))
    rows = list(csv.DictReader(io.StringIO("\n".join(lines[begin:]))))
    return [{"name": row["Kernel Name"]} | {name: _number(row.get(metric), scale) for name, (metric, scale) in METRICS.items()}
            for row in rows if row.get("ID")]


def _number(text: str | None, scale: float) -> float | None:
    try:
        return float((text or "").replace(",", "")) * scale
    except ValueError:
        return None


@torch.no_grad()
def main(folder: str, candidate_key: str) -> None:
    job = Job.load(pathlib.Path(folder) / "job.json")
    op = job.make_op()
    torch.cuda.set_device(job.device)
    workload = job.workload(op)
    candidate = next((make(a, op) for a in job.against if a.key == candidate_key), None) or Ingot(op)
    results = [torch.empty_like(result) for result in workload.run_eager().returned]
    call = bind(candidate, workload, copy_values(workload.values), results)
    call()
    torch.cuda.synchronize()
    torch.cuda.cudart().cudaProfilerStart()
    call()
    torch.cuda.synchronize()
    torch.cuda.cudart().cudaProfilerStop()


if __name__ == "__main__":
    main(*sys.argv[1:])
