"""Inspects each candidate's kernels: their anatomy if there is source or a cubin, and on a GPU the kernels that a call launches."""

from __future__ import annotations

import json
import math
import tempfile
import time

import torch

from .. import _ingot
from . import cuda_text, listing
from .anatomy import Anatomy, anatomy
from .candidates import Candidate, CudaKernel, Ingot
from .candidates.kernels import architecture_of
from .job import Job
from .workload import Workload, copy_values
from .run_case import bind

OWN_OPTIONS = ["-default-device", "-minimal", "-lineinfo"]  # Ingot's own options, and line information


def architecture(job: Job, device: torch.device) -> int:
    """The architecture for which kernels are inspected."""
    return job.architecture or (architecture_of(device.index or 0) if device.type == "cuda" else 90)


def of_candidate(candidate: Candidate, workload: Workload, job: Job, is_run: bool) -> dict:
    """The profile of a candidate:

    - `kernels`: the anatomies of its kernels in the order of launches;
    - `listing`: the stages of the kernels (listing.py);
    - `operations` (Ingot only): the floating-point operations of the formula;
    - `launched` (on a GPU): the kernels that CUPTI reports for a call."""
    device, profile = torch.device(job.device), {}
    if isinstance(candidate, CudaKernel):
        profile["kernels"], profile["listing"] = _of_file(candidate, workload, architecture(job, device))
    elif isinstance(candidate, Ingot):
        profile["kernels"], profile["listing"] = of_op(candidate.op, workload, architecture(job, device), candidate.name)
        profile["operations"] = profile["listing"]["operations"]
    if is_run and device.type == "cuda":
        profile["launched"] = launched_kernels(candidate, workload)
    return profile


def peak_flops(device: torch.device) -> float | None:
    """The peak float32 operations per second, by fused multiply-adds per multiprocessor and cycle (CUDA Programming Guide,
    "Arithmetic Instructions"). None if the clock rate is unknown."""
    properties = torch.cuda.get_device_properties(device)
    fmas_per_cycle = 64 if (properties.major, properties.minor) in ((7, 5), (8, 0)) else 128
    clock = getattr(properties, "clock_rate", None)  # kHz
    return clock and properties.multi_processor_count * fmas_per_cycle * 2 * clock * 1e3


def _of_file(candidate: CudaKernel, workload: Workload, architecture: int) -> tuple[list[dict], dict]:
    program, kernels = candidate.program(architecture), []
    configurations = candidate.configurations(workload.values, results_like(workload))
    for launch, (entry, grid, block, shared) in zip(candidate.launches, configurations):
        parameters = program.parameters[entry]
        kernel = anatomy(program.cubin, program.ptx, program.names[entry], launch.names(parameters), math.prod(block),
                         shared, {k for k, p in enumerate(parameters) if "*" in p.type}, architecture)
        kernel.blocks, kernel.compile_ms = math.prod(grid), program.seconds * 1e3
        _read_driver_resources(kernel, program.cubin, architecture, shared, workload)
        kernels.append(kernel.as_json())
    entries = list(dict.fromkeys(program.names[entry] for entry in candidate.entries))
    file = candidate.path.name
    return kernels, listing.of_program(candidate.name, file, candidate.text, program.ptx, program.cubin, entries)


def of_op(op, workload: Workload, architecture: int, name: str = "ingot") -> tuple[list[dict], dict]:
    """The anatomies and the listing of an op's kernels for an architecture. Needs no GPU."""
    stages = explain(op, workload, "cuda", architecture)
    source, file = stages["source"], f"{op.name}.cu"
    entries = cuda_text.kernels(source)
    options = [*OWN_OPTIONS, "--use_fast_math" if op.numerics == "fast" else "--fmad=false"]
    begin = time.perf_counter()
    cubin, ptx, _, _ = _ingot._compile_cuda(source, file, architecture, options, [])
    milliseconds = (time.perf_counter() - begin) * 1e3
    threads = {launch["kernel"]: launch["block"] for launch in stages["launches"]}
    kernels: list[Anatomy] = [anatomy(cubin, ptx, k.name, list(k.parameters), threads[k.name], architecture=architecture)
                              for k in entries]
    for kernel in kernels:
        kernel.compile_ms = milliseconds
        _read_driver_resources(kernel, cubin, architecture, 0, workload)
    listing_data = stages | listing.of_program(name, file, source, ptx, cubin, [k.name for k in entries])
    return [kernel.as_json() for kernel in kernels], listing_data


def _read_driver_resources(kernel: Anatomy, cubin: bytes, architecture: int, shared: int, workload: Workload) -> None:
    """Sets registers, memory and resident blocks to the driver's values, if a device of this architecture is present: GPUs differ in
    the number of blocks that fit."""
    device = next((t.device for t in workload.tensors().values() if t.is_cuda), None)
    if device is None or not kernel.threads or architecture != architecture_of(device.index):
        return
    loaded = _ingot._load_kernels(cubin, [kernel.kernel], device.index)[0]
    resources = _ingot._kernel_resources(loaded, kernel.threads, shared)
    kernel.registers, kernel.local_bytes = resources["registers"], resources["local_bytes"]
    kernel.shared_bytes, kernel.blocks_per_sm = resources["shared_bytes"] + shared, resources["blocks"]


def explain(op, workload: Workload, device: str, architecture: int) -> dict:
    """The stages from the op's source to the kernels' source, with the origin of each part (runtime/api/explanation.h)."""
    values = list(workload.arguments.values())
    if workload.is_gradient:
        values = [v.detach().requires_grad_() if workload.is_leaf(n) else v for n, v in workload.arguments.items()]
    return json.loads(op._explain(workload.is_gradient, device, architecture, *values))


def results_like(workload: Workload) -> list[torch.Tensor]:
    """Tensors of the results' dtypes and shapes, without elements if PyTorch can compute them on meta tensors."""
    shapes = workload.with_values({n: v.to("meta") if isinstance(v, torch.Tensor) else v for n, v in workload.values.items()})
    try:
        return shapes.run_eager().returned
    except Exception:  # a function that needs elements
        return workload.run_eager().returned


@torch.no_grad()
def launched_kernels(candidate: Candidate, workload: Workload) -> list[dict] | None:
    """The kernels, copies and fills of a call: name, microseconds, grid, block, registers. None if CUPTI is not available."""
    results = [torch.empty_like(r) for r in workload.run_eager().returned] if candidate.takes_pointers else []
    call = bind(candidate, workload, copy_values(workload.values), results)
    call()
    torch.cuda.synchronize()
    try:
        activities = [torch.profiler.ProfilerActivity.CUDA, torch.profiler.ProfilerActivity.CPU]
        with torch.profiler.profile(activities=activities) as profiler:
            call()
            torch.cuda.synchronize()
        with tempfile.NamedTemporaryFile(suffix=".json") as file:
            profiler.export_chrome_trace(file.name)
            events = json.load(open(file.name))["traceEvents"]
    except Exception:
        return None
    kernels = [event for event in events if event.get("cat") in ("kernel", "gpu_memcpy", "gpu_memset")]
    return [_kernel_from_event(event) for event in sorted(kernels, key=lambda event: event["ts"])] or None


def _kernel_from_event(event: dict) -> dict:
    details = event.get("args", {})
    return {"name": event["name"], "us": event["dur"], "grid": details.get("grid"), "block": details.get("block"),
            "registers": details.get("registers per thread"), "shared_bytes": details.get("shared memory"),
            "occupancy": (details.get("est. achieved occupancy %") or 0) / 100 or None}
