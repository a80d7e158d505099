"""Counts the work of a call: one launch, one allocation, no other op of PyTorch, and no second compilation."""

import os
import subprocess
import sys

import pytest
import torch
from torch.profiler import ProfilerActivity, profile

import ingot

MAKES_A_RESULT = {"aten::empty", "aten::empty_strided"}


def cost(call):
    before = ingot.counters()
    call()
    return ingot.counters().since(before)


@pytest.fixture
def relu_add():
    return ingot.op("def relu_add(x, y, bias: float): return relu(x) + y + bias")


def test_a_call_is_one_launch_and_one_allocation(device, relu_add):
    x = torch.randn(64, 48, device=device)
    relu_add(x, x, 0.5)
    spent = cost(lambda: relu_add(x, x, 0.5))
    assert spent == ingot.Counters(*[0] * len(spent))._replace(launches=1, allocations=1)


def test_out_allocates_nothing(device, relu_add):
    x, out = torch.randn(64, device=device), torch.empty(64, device=device)
    relu_add(x, x, 0.5, out=out)
    spent = cost(lambda: relu_add(x, x, 0.5, out=out))
    assert spent.allocations == 0 and spent.launches == 1


def test_a_call_runs_no_other_pytorch_op(device, relu_add):
    x = torch.randn(64, 48, device=device)
    relu_add(x, x, 0.5)
    with profile(activities=[ProfilerActivity.CPU]) as profiled:
        relu_add(x, x, 0.5)
    seen = {event.name for event in profiled.events() if event.name.startswith("aten::")}
    assert seen <= MAKES_A_RESULT


@pytest.mark.parametrize("shape", [(64, 96), (128, 48), (16, 16)])
def test_a_new_shape_compiles_nothing(device, relu_add, shape):
    x = torch.randn(64, 48, device=device)
    relu_add(x, x, 0.5)
    y = torch.randn(shape, device=device)
    spent = cost(lambda: relu_add(y, y, 0.5))
    assert (spent.lowerings, spent.compiles, spent.loads, spent.launches) == (0, 0, 0, 1)


def test_a_new_number_compiles_nothing(device, relu_add):
    x = torch.randn(64, device=device)
    relu_add(x, x, 0.5)
    spent = cost(lambda: [relu_add(x, x, value) for value in (0.25, -1.0, float("nan"), 2)])
    assert (spent.lowerings, spent.plans, spent.compiles, spent.loads, spent.launches) == (0, 0, 0, 0, 4)


def test_a_new_number_as_an_index_compiles_nothing(device):
    f = ingot.op("def f(x, k: int): return x[k] * k")
    x = torch.randn(8, 32, device=device)
    f(x, 1)
    spent = cost(lambda: [f(x, k) for k in (0, 2, -1)])
    assert spent.compiles == 0
    assert torch.equal(f(x, 5), x[5] * 5)


def test_a_second_op_of_the_same_source_compiles_nothing(device):
    text = "def twice(x): return x * 2 + 0.125"
    x = torch.randn(64, device=device)
    ingot.op(text)(x)
    assert cost(lambda: ingot.op(text)(x)).compiles == 0


def test_another_dtype_is_another_kernel(device, relu_add):
    x = torch.randn(64, device=device)
    relu_add(x, x, 0.5)
    spent = cost(lambda: relu_add(x.double(), x.double(), 0.5))
    assert spent.loads == 1


def test_an_empty_result_launches_nothing(device, relu_add):
    x = torch.randn(0, 4, device=device)
    relu_add(x, x, 0.5)
    assert cost(lambda: relu_add(x, x, 0.5)).launches == 0


def test_prepare_launches_nothing(device):
    f = ingot.op("def prepared(x): return x * 3 - 0.75")
    x = torch.randn(32, device=device)
    assert cost(lambda: f.prepare(x)).launches == 0
    spent = cost(lambda: f(x))
    assert (spent.compiles, spent.loads, spent.launches) == (0, 0, 1)


def test_a_program_from_disk_is_lowered_once(device, tmp_path):
    """Kernels for new layouts need the op's graph, which a process lowers once, not for each layout."""
    code = f"""
import sys
import torch, ingot
op = ingot.op("(x - x.mean(-1, keepdim=True)).relu()")
transposed, strided = torch.randn(50, 30, device={device!r}).t(), torch.randn(30, 50, 2, device={device!r})[..., 0]
for x in [torch.randn(64, 32, device={device!r}), transposed, torch.randn(64, 33, device={device!r}), strided][:int(sys.argv[1])]:
    op(x)
print(ingot.counters().lowerings, ingot.counters().compiles)
"""
    environment = {**os.environ, "INGOT_CACHE_DIR": str(tmp_path)}

    def run(layouts):
        command = [sys.executable, "-c", code, str(layouts)]
        return subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout.split()

    run(1)
    lowerings, compiles = run(4)
    assert lowerings == "1" and int(compiles) > 1
