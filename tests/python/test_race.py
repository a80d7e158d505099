"""How everybody is timed."""

import pytest
import torch

import ingot
from comparisons import on_a_gpu
from ingot.instruments import command, race


def test_all_take_turns_on_all_sets():
    calls = []
    runners = {name: [lambda name=name, k=k: calls.append((name, k)) for k in range(3)] for name in ("a", "b")}
    times = race.race(runners, torch.device("cpu"), rounds=3)
    assert set(times) == {"a", "b", "copy"} and all(len(t.device) == 3 for t in times.values())
    assert {call for call in calls} == {(name, k) for name in "ab" for k in range(3)}


def test_sets_are_more_than_a_cache_holds():
    device = torch.device("cpu")
    assert race.sets_for(1 << 40, device) == 1
    assert race.sets_for(1 << 20, device) * (1 << 20) >= min(2 * race.cache_bytes(device), race.MOST_SETS << 20)


@on_a_gpu
def test_calls_in_a_cuda_graph():
    x = torch.randn(1000, device="cuda")
    found = ingot.compare(ingot.op("x * 2 + 1"), ["eager", "torch.compile"], x, graph=True, warm=True, isolated=False, rounds=5)
    assert found.is_right and found.found["race_error"] is None and found["ingot"]["us"] < 10
    assert "in a CUDA graph of 64 of them" in str(found)
    refused = ingot.compare(ingot.op("x * 2"), {"waits": lambda x: (x.sum().item(), x * 2)[1]}, x, graph=True, isolated=False, rounds=3)
    assert "waits cannot be captured in a CUDA graph" in refused.found["race_error"]


def test_a_cuda_graph_asks_for_a_gpu(capsys):
    with pytest.raises(ingot.Error, match="a CUDA graph is of a GPU"):
        ingot.compare(ingot.op("x * 2"), "eager", torch.randn(8), graph=True)
    assert command.main(["compare", "-e", "x + 1", "x=f32:3", "--graph", "--device", "cpu"]) == 2
    assert "a CUDA graph is of a GPU" in capsys.readouterr().err
