"""Ops in CUDA graphs: captured once, replayed with new data."""

import time

import pytest
import torch
import torch.nn.functional as F
from conftest import ROOT

import ingot


@pytest.fixture(autouse=True)
def needs_a_gpu():
    if not torch.cuda.is_available():
        pytest.skip("no CUDA device")


def capture(function):
    """The graph of a function's launches, and its result, which each replay writes again."""
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        result = function()
    return graph, result


def fresh_op(text: str) -> ingot.Op:
    """An op that is in no cache: its first call compiles."""
    return ingot.op(f"{text} + 0.{time.time_ns() % 10**8:08}")


@pytest.mark.parametrize("prepared", [True, False], ids=["prepared", "first call"])
def test_a_call_is_captured(prepared):
    op = fresh_op("relu(x) * y")
    x, y = torch.randn(2, 64, 48, device="cuda")
    if prepared:
        op.prepare(x, y)
    before = ingot.counters()
    graph, result = capture(lambda: op(x, y))
    spent = ingot.counters().since(before)
    assert spent.launches == 1 and spent.compiles == (0 if prepared else 1)
    for _ in range(3):
        x.normal_(), y.normal_()
        graph.replay()
        assert torch.equal(result, op.reference(x, y))
    assert ingot.counters().since(before).launches == 1  # a replay launches the graph, not the op
    assert torch.equal(op(x, y), op.reference(x, y))


def test_a_first_call_that_reduces_is_captured():
    """The rows are long, so that the kernels need workspaces and dynamic shared memory."""
    op = fresh_op("softmax(x, -1) * x.sum(0)")
    x = torch.randn(8, 40000, device="cuda")
    graph, result = capture(lambda: op(x))
    for _ in range(3):
        x.normal_()
        graph.replay()
        torch.testing.assert_close(result, op.reference(x))


def test_out_and_in_place_are_captured():
    op, step = fresh_op("x * 0.5"), ingot.op("def step(x, y):\n    x += y\n    y *= 0.5")
    x, y, out = torch.randn(3, 100, device="cuda")
    op.prepare(x), step.prepare(x, y)
    graph, _ = capture(lambda: (op(x, out=out), step(x, y)))
    x.fill_(4), y.fill_(2)
    expected = op.reference(x)
    graph.replay()
    assert torch.equal(out, expected)
    assert x.tolist() == [6.0] * 100 and y.tolist() == [1.0] * 100


def test_a_training_step_is_captured():
    """The op's first backward pass is captured, too."""
    op = fresh_op("x.sin() * w")
    x, w = torch.randn(32, 16, device="cuda"), torch.randn(16, device="cuda", requires_grad=True)

    def step():
        op(x, w).square().mean().backward()

    warm, stream = ingot.op("x * w"), torch.cuda.Stream()  # autograd allocates its own state in its first backward pass
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        warm(x, w).sum().backward()
    torch.cuda.current_stream().wait_stream(stream)
    w.grad = None
    graph, _ = capture(step)
    for _ in range(3):
        x.normal_()
        graph.replay()
        (expected,) = torch.autograd.grad(op.reference(x, w).square().mean(), w)
        torch.testing.assert_close(w.grad, expected)


class Block(torch.nn.Module):
    def __init__(self, op):
        super().__init__()
        self.conv, self.norm, self.op = torch.nn.Conv1d(4, 16, 5, padding=2), torch.nn.GroupNorm(4, 16), op

    def forward(self, x):
        return self.op(self.conv(x), self.norm.weight, self.norm.bias)


@ingot.op
def group_norm_mish(x, weight, bias):
    return F.mish(F.group_norm(x, 4, weight, bias))


def test_graphed_callables_are_trained():
    blocks = []
    for op in (group_norm_mish, group_norm_mish.reference):
        torch.manual_seed(0)
        blocks.append(Block(op).double().cuda())
    like = torch.randn(8, 4, 32, dtype=torch.float64, device="cuda", requires_grad=True)
    graphed = torch.cuda.make_graphed_callables(blocks[0], (like,))
    optimisers = [torch.optim.SGD(block.parameters(), lr=0.1) for block in blocks]
    before = ingot.counters().launches
    for _ in range(5):
        data = torch.randn_like(like, requires_grad=False)
        gradients = []
        for function, optimiser in zip((graphed, blocks[1]), optimisers):
            x = data.clone().requires_grad_()
            optimiser.zero_grad()
            function(x).square().mean().backward()
            optimiser.step()
            gradients.append(x.grad.clone())
        torch.testing.assert_close(gradients[0], gradients[1], rtol=1e-7, atol=1e-9)
    assert ingot.counters().launches == before  # all of it was replayed
    for actual, expected in zip(blocks[0].parameters(), blocks[1].parameters()):
        torch.testing.assert_close(actual, expected, rtol=1e-7, atol=1e-9)


def test_a_sampler_loop_is_captured():
    """Ten steps with a timestep that is counted down on the device: eager's bits."""
    steps, shape = 10, (4, 3, 16, 16)
    denoise = ingot.op((ROOT / "examples/denoise.py").read_text())
    table = torch.rand(5, steps, device="cuda")
    start, t = torch.randn(shape, device="cuda"), torch.empty(4, 1, 1, 1, dtype=torch.int64, device="cuda")
    noise = torch.randn(steps, *shape, device="cuda")

    def sampled(op):
        t.fill_(steps - 1)
        sample = start
        for k in range(steps):
            sample = op(sample.tanh(), sample, noise[k], table, t)
            t.sub_(1)
        return sample

    denoise.prepare(start, start, noise[0], table, t)
    graph, result = capture(lambda: sampled(denoise))
    for _ in range(3):
        start.normal_(), noise.normal_()
        graph.replay()
        assert torch.equal(result, sampled(denoise.reference))
