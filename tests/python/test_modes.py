"""The modes of the calling thread: a default device applies to factories only, other modes see the op."""

import threading

import pytest
import torch
from torch.overrides import TorchFunctionMode

import ingot

EPS = 0.25


def assert_identical(result, expected):
    assert (result.dtype, result.device, result.stride()) == (expected.dtype, expected.device, expected.stride())
    assert torch.equal(result, expected)


class RecordingMode(TorchFunctionMode):
    def __init__(self):
        super().__init__()
        self.seen = []

    def __torch_function__(self, function, types, args=(), kwargs=None):
        self.seen.append(function)
        return function(*args, **(kwargs or {}))


@pytest.fixture(params=["cpu", "meta", "cuda", "cuda:1"])
def default_device(request):
    before = torch.get_default_device()
    torch.set_default_device(request.param)
    yield request.param
    torch.set_default_device(None if before == torch.device("cpu") else before)


def test_a_default_device_does_not_affect_calls(default_device):
    def f(x, k: float):
        return torch.relu(x) * k + EPS

    captured, text = ingot.op(f), ingot.op("x * 2 + 1")
    x = torch.randn(5, device="cpu")
    assert_identical(captured(x, 3), torch.relu(x) * 3 + EPS)
    assert_identical(text(x), x * 2 + 1)
    assert_identical(text(x, out=torch.empty_like(x)), x * 2 + 1)
    assert "relu" in captured.source(x, 3)


def test_a_device_context_does_not_affect_calls():
    f, x = ingot.op("x * 2 + 1"), torch.randn(5)
    with torch.device("meta"):
        assert_identical(f(x), x * 2 + 1)
        with torch.device("cpu"):
            assert_identical(f(x), x * 2 + 1)
    assert_identical(f(x), x * 2 + 1)


def test_factories_must_use_the_arguments_device():
    f, x = ingot.op("x + arange(5)"), torch.randn(5)
    assert_identical(f(x), x + torch.arange(5))
    with torch.device("cpu"):
        assert_identical(f(x), x + torch.arange(5))
    with torch.device("meta"), pytest.raises(ingot.Error, match="eager makes this tensor on the default device"):
        f(x)
    with torch.device("meta"):
        assert_identical(ingot.op("x + arange(5, device=x.device)")(x), x + torch.arange(5, device="cpu"))
        assert_identical(ingot.op("x + x.new_ones(5)")(x), x + 1)


def test_other_modes_see_the_op():
    f, x = ingot.op("x * 2 + 1"), torch.randn(5)
    with RecordingMode() as mode:
        assert_identical(f(x), x * 2 + 1)
    assert f in mode.seen
    with torch.device("cpu"), RecordingMode() as mode:
        assert_identical(f(x), x * 2 + 1)
    assert f in mode.seen


def test_modes_are_per_thread():
    f, x, results = ingot.op("x * 2 + 1"), torch.randn(5), []
    with RecordingMode():
        other = threading.Thread(target=lambda: results.append(f(x)))
        other.start()
        other.join()
    assert_identical(results[0], x * 2 + 1)
