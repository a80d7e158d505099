"""`ingot compare` with candidates that fail late, leave state behind, or change global state: the other candidates are
not affected."""

import subprocess
import sys

import pytest

from comparisons import LONG_TIME_LIMIT, candidate_of, job, run_comparison

# Candidates for `x * 2`.
CALLABLES = """
import os, threading, time
import torch

calls = {"raises": 0, "exits": 0, "hangs": 0, "forks": 0, "clears": 0}


def late(name):
    calls[name] += 1
    return calls[name] > 100


def raises(x):
    if late("raises"):
        raise ValueError("no more")
    return x * 2


def exits(x):
    if late("exits"):
        os._exit(0)
    return x * 2


def hangs(x):
    if late("hangs"):
        time.sleep(1e6)
    return x * 2


def threads(x):
    if threading.active_count() < 3:
        threading.Thread(target=time.sleep, args=(1e6,)).start()
    return x * 2


def forks(x):
    calls["forks"] += 1
    if calls["forks"] == 1 and os.fork() == 0:
        time.sleep(100)
        os._exit(0)
    return x * 2


def sets(x):
    torch.set_num_threads(1)
    torch.set_default_dtype(torch.float64)
    torch.set_default_device("meta")
    torch.set_grad_enabled(False)
    return x * 2


def makes(x):
    return x * torch.full((), 2.0)


def flushes(x):
    torch.set_flush_denormal(True)
    return x * 2


def doubles_normal_numbers(x):
    return torch.where(x.abs() < 2.0 ** -125, 0.0, x) * 2


def clears(x):
    made = x * 2
    x.zero_()
    return made


def clears_late(x):
    made = x * 2
    if late("clears"):
        x.zero_()
    return made


class Mute(Exception):
    def __str__(self):
        raise ValueError("nothing")


def mute(x):
    raise Mute


def grows_wrong(x):
    return x * 2 + (x.numel() > 5000)


def rejects_much(x):
    if x.numel() > 5000:
        raise ValueError("so many")
    return x * 2
"""


@pytest.fixture
def callables(tmp_path) -> str:
    path = tmp_path / "callables.py"
    path.write_text(CALLABLES)
    return str(path)


def compare_callables(callables: str, *names: str, time_limit: float = LONG_TIME_LIMIT, **options) -> dict:
    specs = [f"{callables}:{name}" for name in names]
    return run_comparison(job(*specs, "eager", text="x * 2", values={"x": "f32:1000"}, **options), time_limit)


def test_a_candidate_that_fails_while_timed_does_not_affect_others(callables):
    document = compare_callables(callables, "raises", "exits", "hangs", time_limit=25)
    for name, message in (("raises", "ValueError: no more"), ("exits", "its process exited with status 0"), ("hangs", "did not finish within 25 s")):
        candidate = candidate_of(document, f"{callables}:{name}")
        assert candidate["state"] == "failed" and candidate["message"] == f"while it was timed: {message}" + " (--time-limit)" * (name == "hangs")
        assert "us" not in candidate
    for name in ("ingot", "eager"):
        assert candidate_of(document, name)["state"] == "correct" and candidate_of(document, name)["us"] > 0


def test_leftover_threads_and_processes_are_not_waited_for(callables):
    document = compare_callables(callables, "threads", "forks", time_limit=30)
    assert all(c["state"] == "correct" and c["us"] > 0 for c in document["candidates"]), document["candidates"]


def test_global_settings_are_restored(callables):
    document = compare_callables(callables, "sets", "makes")
    assert [c["state"] for c in document["candidates"]] == ["correct"] * 4, document["candidates"]
    document = compare_callables(callables, "sets", "makes", backward=True, rounds=1)
    assert [candidate_of(document, spec)["state"] for spec in ("ingot", f"{callables}:makes", "eager")] == ["correct"] * 3


IN_ONE_PROCESS = """
import torch
import ingot
from ingot.tools.settings import Settings

before = Settings()._now()
sets = lambda x: (torch.set_default_dtype(torch.float64), torch.set_num_threads(1), x / 2)[-1]
found = ingot.compare(ingot.op("x / 2"), {"sets": sets, "new": lambda x: x / torch.full((), 2.0)}, torch.randn(100), rounds=3, isolated=False)
assert found.is_correct, found
assert Settings()._now() == before
"""


def test_global_settings_are_restored_in_the_callers_process():
    completed = subprocess.run([sys.executable, "-c", IN_ONE_PROCESS], capture_output=True, text=True)
    assert completed.returncode == 0, completed.stderr


def test_flushing_of_denormals_is_restored(callables, tmp_path):
    fast = tmp_path / "fast.cpp"
    fast.write_text('// options: -ffast-math\n// launch: args=x, out, n\nextern "C" void fast(const float* x, float* out, long n) {\n'
                    "  for (long k = 0; k < n; ++k) out[k] = x[k] * 2;\n}\n")
    small = f"{callables}:doubles_normal_numbers"
    for before in (str(fast), f"{callables}:flushes"):
        document = run_comparison(job(before, small, "eager", text="x * 2", values={"x": "f32:1000"}))
        assert candidate_of(document, "eager")["message"] == "bit for bit", document["candidates"]
        assert candidate_of(document, small)["state"] == "incorrect"  # whichever candidate ran first
        eager = candidate_of(document, "eager")["cases"]["special values"]
        assert eager["bit_for_bit"], eager
    assert candidate_of(document, f"{callables}:flushes")["limits"][0].startswith("subnormal values: differs at [")


def test_a_candidate_that_writes_an_input_is_named_and_the_others_are_correct(callables):
    document = compare_callables(callables, "clears", "makes", time_incorrect=True)
    assert {c["name"]: c["state"] for c in document["candidates"]} == {
        "ingot": "correct", "callables.py:clears": "incorrect", "callables.py:makes": "correct", "eager": "correct"}
    document = compare_callables(callables, "clears_late", "makes")
    late = candidate_of(document, f"{callables}:clears_late")
    assert late["state"] == "incorrect" and late["message"] == "after it was timed: writes its input x"
    assert [c["state"] for c in document["candidates"]].count("correct") == 3


def test_an_exception_without_a_message(callables):
    document = compare_callables(callables, "mute")
    assert candidate_of(document, f"{callables}:mute")["message"] == "Mute: its message cannot be read"
    assert candidate_of(document, "eager")["state"] == "correct"


def test_a_file_is_not_mistaken_for_a_module_of_its_name(tmp_path):
    specs = []
    for name in ("torch", "triton", "random"):
        (tmp_path / f"{name}.py").write_text("def f(x):\n    return x * 2\n")
        specs.append(f"{tmp_path}/{name}.py:f")
    document = run_comparison(job(*specs, "torch.compile", text="x * 2", values={"x": "f32:100"}))
    assert [c["state"] for c in document["candidates"]] == ["correct"] * 5, document["candidates"]


def test_a_failure_at_one_size_of_a_sweep_counts(callables):
    document = compare_callables(callables, "grows_wrong", "rejects_much")
    assert [c["state"] for c in document["candidates"]] == ["correct"] * 4
    specs = [f"{callables}:{name}" for name in ("grows_wrong", "rejects_much")]
    document = run_comparison(job(*specs, text="x * 2", values={"x": "f32:n"}, sizes={"n": 1000}, sweep_name="n", sweep_sizes=[1000, 10000]))
    wrong, failed = (candidate_of(document, spec) for spec in specs)
    assert wrong["state"] == "incorrect" and wrong["message"].startswith("at n=10000: after it was timed: differs at [")
    assert (failed["state"], failed["message"]) == ("failed", "at n=10000: while it was timed: ValueError: so many")
    assert [sorted(p["candidates"]) for p in document["sweep"]["points"]] == [sorted(["ingot", *specs]), sorted(["ingot", specs[0]])]
