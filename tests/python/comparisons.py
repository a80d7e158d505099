"""Helpers that run comparisons in tests."""

import pathlib

import pytest
import torch

import ingot
from ingot.tools import report, supervisor
from ingot.tools.job import Against, Job

RELU_ADD = "def relu_add(x, y, bias: float): return relu(x) + y + bias"
LONG_TIME_LIMIT = 600.0  # time limit in seconds of a step that should not hang: a first torch.compile takes over a minute on busy cores
on_a_gpu = pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device")


def job(*against, text=RELU_ADD, device="cpu", **options) -> Job:
    values = {"x": "f32:1000x7", "y": "f32:7", "bias": "0.5"} if text == RELU_ADD else {}
    op = ingot.op(text)
    return Job(**{"text": text, "op": op.name, "file": "", "values": values, "device": device, "rounds": 3,
                  "against": [a if isinstance(a, Against) else Against(a) for a in against], **options})


def run_comparison(task: Job, time_limit: float = LONG_TIME_LIMIT) -> dict:
    return report.document(task, supervisor.supervise(task, time_limit), "here")


def candidate_of(document: dict, spec: str) -> dict:
    return next(c for c in document["candidates"] if c["spec"] == spec)


# Bodies of C++ functions for RELU_ADD, by name: one is correct, `by_seven` is so for multiples of 7000 elements, and the others give
# wrong results or fail. They run on the CPU.
BODIES = {
    "correct": "for (long k = 0; k < n; ++k) out[k] = (x[k] < 0 ? 0 : x[k]) + y[k % 7] + bias;",
    "nan": "for (long k = 0; k < n; ++k) out[k] = (x[k] > 0 ? x[k] : 0) + y[k % 7] + bias;",
    "past": "for (long k = 0; k < n + 2; ++k) out[k] = (x[k % n] < 0 ? 0 : x[k % n]) + y[k % 7] + bias;",
    "before": "for (long k = -1; k < n; ++k) out[k] = k < 0 ? 0 : (x[k] < 0 ? 0 : x[k]) + y[k % 7] + bias;",
    "short_of": "for (long k = 0; k < n - 1; ++k) out[k] = (x[k] < 0 ? 0 : x[k]) + y[k % 7] + bias;",
    "input": "for (long k = 0; k < n; ++k) out[k] = ((x[k] < 0 ? 0 : x[k]) + y[k % 7] + bias); const_cast<float*>(x)[3] = 1;",
    "adds": "for (long k = 0; k < n; ++k) out[k] += (x[k] < 0 ? 0 : x[k]) + y[k % 7] + bias;",
    "once": "static int calls; if (calls++ == 0) for (long k = 0; k < n; ++k) out[k] = (x[k] < 0 ? 0 : x[k]) + y[k % 7] + bias;",
    "by_seven": "if (n % 7000 == 0) for (long k = 0; k < n; ++k) out[k] = (x[k] < 0 ? 0 : x[k]) + y[k % 7] + bias;",
    "hangs": "for (volatile int k = 0;; ++k) {}",
    "crashes": "*static_cast<volatile float*>(nullptr) = 1;",
}


def function_file(folder: pathlib.Path, name: str, body: str, launch: str = "args=x, y, bias, out, n") -> str:
    path = folder / f"{name}.cpp"
    path.write_text(f'// launch: {launch}\nextern "C" void {name}(const float* x, const float* y, float bias, float* out, long n) {{\n'
                    f"  {body}\n}}\n")
    return str(path)
