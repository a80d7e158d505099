"""Compiles the programs of many cases in several processes. The process that measures then finds them in the caches on disk.

torch.compile takes seconds for a case, most of them on one core. Which variant of a kernel is the fastest is not stored: it
is measured again by the process that measures, when no other process uses the GPU.
"""

import concurrent.futures
import contextlib
import multiprocessing
import os
import tempfile
import time
from typing import Iterator
from unittest import mock

import torch

from call_with_gradient import workload_of
from cases.case import Tensors
from cases.random_shapes import RandomCase
from ingot.tools.candidates import Compiled, Ingot
from ingot.tools.run_case import bind
from ingot.tools.workload import copy_values
from measure import Selected, cpu_threads

FRACTION_OF_CORES = 0.75
MAX_PROCESSES = 16  # each of them has the tensors of a case on the GPU


@contextlib.contextmanager
def compiled_ahead(cases: list[RandomCase], device: str, selected: Selected) -> Iterator[None]:
    """A context in which the caches of torch.compile hold the programs of these cases. With one case or few cores, nothing is
    compiled ahead. An error of a case is not reported: it occurs again when the case is measured."""
    process_count = min(MAX_PROCESSES, int(FRACTION_OF_CORES * len(os.sched_getaffinity(0))))
    if process_count < 2 or len(cases) < 2:
        yield
        return
    names = ["ingot"] + ["compile"] * ("compile" in selected)
    thread_counts = [1, torch.get_num_threads()] if device == "cpu" else [None]  # torch.compile compiles for a number of threads
    begin = time.monotonic()
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder, mock.patch.dict(
            os.environ, TORCHINDUCTOR_CACHE_DIR=folder, TRITON_CACHE_DIR=f"{folder}/triton"):
        with concurrent.futures.ProcessPoolExecutor(process_count, multiprocessing.get_context("spawn")) as pool:
            jobs = [pool.submit(compile_case, case, device, names, threads) for case in cases for threads in thread_counts]
        compiled = sum(job.exception() is None for job in jobs)
        print(f"\n{process_count} processes compiled {compiled} of {len(jobs)} cases in {time.monotonic() - begin:.0f} s", flush=True)
        yield


def compile_case(case: RandomCase, device: str, names: list[str], threads: int | None) -> None:
    """Calls the candidates once, on this number of CPU threads."""
    from torch._inductor import config

    workload = workload_of(case, case.make(Tensors(device)))
    candidates = {"ingot": Ingot(workload.op), "compile": Compiled(workload.op)}
    context = cpu_threads(threads) if threads else contextlib.nullcontext()
    with context, config.patch(compile_threads=1, autotune_local_cache=False), torch.no_grad():
        for name in names:
            bind(candidates[name], workload, copy_values(workload.values), [])()
    if device == "cuda":
        torch.cuda.synchronize()
        torch.cuda.empty_cache()
