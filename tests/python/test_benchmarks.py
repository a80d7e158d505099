"""What the benchmarks hand to the kernels and ops that they time, where no GPU is needed to know."""

import ctypes
import pathlib
import sys

import pytest
import torch

import ingot

ROOT = pathlib.Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "benchmarks"))

from handwritten import packed, parameter_types  # noqa: E402
from throughput import check_peers  # noqa: E402


def kernels():
    return sorted((ROOT / "examples" / "handwritten").glob("*.cu"))


def test_arguments_are_passed_in_the_kernels_own_types():
    source = "extern \"C\" __global__ void f(const float* x, float b, long long n, int k, double d) {"
    types = parameter_types(source, "f")
    assert types == [ctypes.c_void_p, ctypes.c_float, ctypes.c_longlong, ctypes.c_int, ctypes.c_double]
    x = torch.ones(3)
    values = [value.value for value in packed(types, (x, 0.5, 1 << 40, 3, 0.1))]
    assert values == [x.data_ptr(), 0.5, 1 << 40, 3, 0.1]
    with pytest.raises(TypeError, match="takes 5 arguments, 1 were given"):
        packed(types, (x,))


@pytest.mark.parametrize("path", kernels(), ids=lambda path: path.stem)
def test_every_hand_written_kernel_is_read(path):
    types = parameter_types(path.read_text(), path.stem)
    assert ctypes.c_void_p in types and ctypes.c_longlong in types


def test_a_peer_that_computes_something_else_is_not_timed():
    x = torch.randn(8)
    check_peers({"itself": lambda: x + 0.5}, x + 0.5)
    with pytest.raises(AssertionError, match="another"):
        check_peers({"itself": lambda: x + 0.5, "another": lambda: x}, x + 0.5)


def test_eager_is_timed_as_its_author_calls_it():
    f = ingot.op("def f(x, b: float):\n    return torch.relu(x) + F.silu(x) * b\n")
    x = torch.randn(8)
    call = f.reference.as_written(x, b=2)
    scope = call.func.__globals__
    assert (scope["torch"], scope["F"]) == (torch, torch.nn.functional)
    assert call.args == (x, 2.0) and type(call.args[1]) is float
    torch.testing.assert_close(call(), f.reference(x, 2), rtol=0, atol=0)


def test_eager_is_timed_with_names_that_only_the_language_puts_there():
    f = ingot.op("torch.gelu(x) + torch.relu(x)")
    x = torch.randn(8)
    torch.testing.assert_close(f.reference.as_written(x)(), f.reference(x), rtol=0, atol=0)


def test_run_times_the_text_and_nothing_around_it(monkeypatch):
    from ingot import _check

    timed = []
    monkeypatch.setattr(_check, "median_microseconds", lambda call, device: timed.append(call) or 1.0)
    f, x = ingot.op("torch.relu(x)"), torch.randn(8)
    answer = _check.check(f.reference, {"x": x}, [torch.relu(x)], "default", torch.device("cpu"))
    assert answer["ok"] and timed[0].func.__globals__["torch"] is torch
