"""Checks the results of `ingot run`: runs the op in eager PyTorch and compares.

    python -m ingot._check FOLDER

reads request.json, arguments.pt and results.pt from the folder and writes answer.json into it. The program `ingot` starts
this module in a process of its own.
"""

from __future__ import annotations

import json
import pathlib
import statistics
import sys
import time

import torch

from . import op
from .oracle import writes_as_results, compare_to_eager


def main(folder: str) -> None:
    path = pathlib.Path(folder)
    request = json.loads((path / "request.json").read_text())
    torch.set_num_threads(request["threads"])
    device = torch.device(request["device"])
    tensors = [t.to(device) for t in torch.load(path / "arguments.pt", weights_only=True)]
    results = [t.to(device) for t in torch.load(path / "results.pt", weights_only=True)]
    values = {p["name"]: read_value(p["value"], tensors) for p in request["parameters"] if p["value"] is not None}
    reference = op(request["text"], name=request["name"], numerics=request["numerics"]).reference
    (path / "answer.json").write_text(json.dumps(check(reference, values, results, request["numerics"], device)))


def read_value(value: dict, tensors: list):
    """A value of the request: {"tensor": its index in `tensors`}, {"none": …}, or a number by its type, such as {"int": 3}."""
    ((kind, content),) = value.items()
    if kind == "none":
        return None
    return tensors[content] if kind == "tensor" else {"bool": bool, "int": int, "float": float}[kind](content)


def check(reference, values: dict, results: list, numerics: str, device) -> dict:
    on_copies = writes_as_results(reference)

    def pure(**values):
        torch.manual_seed(0)  # the seed of the call that computed the results
        return on_copies(**values)

    try:
        with torch.no_grad():
            pure(**values)
    except Exception as error:  # any error of eager PyTorch is the answer
        return {"ok": False, "message": f"eager PyTorch raises {type(error).__name__}: {error}"}
    verdict = compare_to_eager(pure, (), values, results, numerics)
    return {
        "ok": verdict.ok,
        "bit_for_bit": verdict.bit_for_bit,
        "max_abs": _finite(verdict.max_abs),
        "max_ulp": _finite(verdict.max_ulp),
        "message": verdict.message,
        "eager_us": median_microseconds(reference.as_written(**values), device),
    }


def _finite(value: float) -> float | None:
    """The value, or None for nan and inf, which JSON cannot express."""
    return value if abs(value) < float("inf") else None


def median_microseconds(call, device: torch.device, seconds: float = 0.3) -> float:
    """The median time of a call in µs, measured as tools/timing.h does: by the clock on the CPU and by events on a GPU. A sample
    contains several calls if they are short."""

    def sample(calls: int) -> float:
        """Times this many calls; returns the time per call."""
        if device.type == "cpu":
            begin = time.perf_counter()
            for _ in range(calls):
                call()
            return (time.perf_counter() - begin) * 1e6 / calls
        begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        begin.record()
        for _ in range(calls):
            call()
        end.record()
        end.synchronize()
        return begin.elapsed_time(end) * 1e3 / calls

    with torch.no_grad():
        rough = max([sample(1) for _ in range(3)][-1], 0.1)
        calls = min(max(int(100 / rough), 1), 1000)
        samples = min(max(int(seconds * 1e6 / (calls * rough)), 5), 200)
        return statistics.median(sample(calls) for _ in range(samples))


if __name__ == "__main__":
    main(sys.argv[1])
