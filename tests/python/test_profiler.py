"""Calls of an op in profiles, under its name."""

import pytest
import torch
import torch.nn.functional as F
from torch.autograd.profiler import emit_nvtx
from torch.profiler import ProfilerActivity, profile

import ingot


@ingot.op
def bias_gelu(x, b, k: float = 0.5):
    return F.gelu(x + b) * k


def profiled_events(function, **options):
    with profile(activities=[ProfilerActivity.CPU], **options) as profiler:
        function()
    return profiler.events()


def events_named(events, name):
    return [event for event in events if event.name == name]


def inputs():
    return torch.randn(4, 8, requires_grad=True), torch.randn(8, requires_grad=True)


def test_calls_and_gradients_have_the_ops_name():
    x, b = inputs()
    events = profiled_events(lambda: [bias_gelu(x, b).sum().backward() for _ in range(3)])
    forward, node, backward = (events_named(events, name) for name in ("bias_gelu", "bias_geluBackward", "bias_gelu_backward"))
    assert (len(forward), len(node), len(backward)) == (3, 3, 3)
    # The call's node of autograd has the call's sequence number, and calls the gradient op.
    assert sorted(e.sequence_nr for e in forward) == sorted(e.sequence_nr for e in node)
    assert all(e.sequence_nr >= 0 for e in forward)
    assert all(e.cpu_parent.name == "bias_geluBackward" for e in backward)


def test_shapes_and_numbers_are_recorded():
    x, b = inputs()
    events = profiled_events(lambda: bias_gelu(x.detach(), b.detach(), 0.25), record_shapes=True)
    (event,) = events_named(events, "bias_gelu")
    assert event.input_shapes == [[4, 8], [8], []]
    assert event.concrete_inputs[2] == 0.25
    assert event.sequence_nr == -1


def test_all_apis_and_the_fallback_are_recorded():
    x, b = (t.detach() for t in inputs())
    out = torch.empty_like(x)
    assert len(events_named(profiled_events(lambda: bias_gelu(x, b, out=out)), "bias_gelu")) == 1
    pair = ingot.op("def pair_sum(xs): return xs[0] + xs[1]")
    assert len(events_named(profiled_events(lambda: pair([x, x])), "pair_sum")) == 1
    registered = ingot.register("profiled::bias_gelu", bias_gelu)
    events = profiled_events(lambda: registered(x, b, 0.5))
    (event,) = events_named(events, "bias_gelu")
    assert event.cpu_parent.name == "profiled::bias_gelu"
    times = ingot.op("def times(x, y): return x * y")
    (event,) = events_named(profiled_events(lambda: times(x.to(torch.complex64), x)), "times")
    assert "aten::mul" in [child.name for child in event.cpu_children]


def test_without_a_profiler_nothing_is_recorded():
    x, b = (t.detach() for t in inputs())
    assert not events_named(profiled_events(lambda: None), "bias_gelu")
    bias_gelu(x, b)
    assert not events_named(profiled_events(lambda: torch.add(x, b)), "bias_gelu")


def test_nvtx():
    if not torch.cuda.is_available():
        pytest.skip("explained: NVTX ranges need CUDA")
    seen = []
    x = torch.randn(8, device="cuda")
    with emit_nvtx():
        seen.append(bias_gelu(x, x))
    assert torch.equal(seen[0], bias_gelu(x, x))
