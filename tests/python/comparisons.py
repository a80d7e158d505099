"""Comparisons as tests ask for them."""

import pytest
import torch

import ingot
from ingot.instruments import report, supervisor
from ingot.instruments.job import Against, Job

RELU_ADD = "def relu_add(x, y, bias: float): return relu(x) + y + bias"
PATIENT = 600.0  # seconds of a step of whom nobody expects to hang: a first torch.compile takes over a minute of busy cores
on_a_gpu = pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device")


def job(*against, text=RELU_ADD, device="cpu", **options) -> Job:
    values = {"x": "f32:1000x7", "y": "f32:7", "bias": "0.5"} if text == RELU_ADD else {}
    op = ingot.op(text)
    return Job(**{"text": text, "op": op.name, "file": "", "values": values, "device": device, "rounds": 3,
                  "against": [a if isinstance(a, Against) else Against(a) for a in against], **options})


def found(asked: Job, time_limit: float = PATIENT) -> dict:
    return report.document(asked, supervisor.supervise(asked, time_limit), "here")


def of(document: dict, word: str) -> dict:
    return next(c for c in document["contenders"] if c["word"] == word)
