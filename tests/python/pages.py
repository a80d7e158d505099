"""Helpers that make the contents of pages in tests."""

import torch

import ingot

RELU_ADD = "def relu_add(x, y, bias: float):\n    return relu(x) + y + bias\n"


def relu_add(**options) -> ingot.Explanation:
    return ingot.explain(ingot.op(RELU_ADD), torch.empty(64, 256, device="meta"), torch.empty(256, device="meta"), 0.5, **options)


def explain(text: str, *args, **options) -> ingot.Explanation:
    return ingot.explain(ingot.op(text), *args, **options)


def measured_document() -> dict:
    """The document of a comparison on a GPU, with made-up figures."""
    def candidate(name, us, **more):
        return {"name": name, "spec": name, "kind": "", "state": "correct", "message": "bit for bit", "cases": {}, "limits": [],
                "warnings": "", "kernels": None, "launched": None, "counted": None, "count_error": None, "operations": None,
                "profile_error": None, "not_rechecked": None, "listing": None, "us": us, "us_quartiles": [us * 0.99, us * 1.02], "cpu_overhead_us": 4.0,
                "gb_s": 1e3 / us, "share_of_copy": 10 / us, "speedup": 11 / us} | more

    times = {"ingot": {"us": 11.0, "gb_s": 90.0, "speedup": 1.0}, "mine.cu": {"us": 22.0, "gb_s": 45.0, "speedup": 0.5}}
    return {"ingot": "1", "torch": "2", "cuda": "13", "date": "2026-01-01T00:00:00", "device": "a GPU", "op": "f", "file": "",
            "text": "", "numerics": "default", "lazy": "auto", "backward": False, "arguments": {"x": "f32:n"}, "sizes": {"n": 9},
            "seed": 0, "bytes": 10**6, "sets": 3, "rounds": 5, "timing_error": None, "left_out": {}, "peak_flops": 6e13, "copy_gb_s": 4000.0,
            "candidates": [candidate("ingot", 11.0, operations=2 * 10**6), candidate("mine.cu", 22.0)],
            "sweep": {"name": "n", "points": [{"size": 10**k, "bytes": 1, "error": None, "candidates": times} for k in (3, 4)]},
            "why": ["mine.cu <reads> x by 4 bytes"], "how": ["somehow"]}
