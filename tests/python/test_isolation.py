"""`ingot compare` with candidates that fail late, leave state behind, or change global state: the other candidates are
not affected."""

import subprocess
import sys

import pytest

from comparisons import PATIENT, found, job, of

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


def halves_what_is_normal(x):
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


def refuses_much(x):
    if x.numel() > 5000:
        raise ValueError("so many")
    return x * 2
"""


@pytest.fixture
def callables(tmp_path) -> str:
    path = tmp_path / "callables.py"
    path.write_text(CALLABLES)
    return str(path)


def beside(callables: str, *names: str, time_limit: float = PATIENT, **options) -> dict:
    words = [f"{callables}:{name}" for name in names]
    return found(job(*words, "eager", text="x * 2", values={"x": "f32:1000"}, **options), time_limit)


def test_a_candidate_that_fails_while_timed_does_not_affect_others(callables):
    document = beside(callables, "raises", "exits", "hangs", time_limit=25)
    for name, message in (("raises", "ValueError: no more"), ("exits", "its process exited with status 0"), ("hangs", "did not finish within 25 s")):
        candidate = of(document, f"{callables}:{name}")
        assert candidate["state"] == "failed" and candidate["message"] == f"while it was timed: {message}" + " (--time-limit)" * (name == "hangs")
        assert "us" not in candidate
    for name in ("ingot", "eager"):
        assert of(document, name)["state"] == "correct" and of(document, name)["us"] > 0


def test_leftover_threads_and_processes_are_not_waited_for(callables):
    document = beside(callables, "threads", "forks", time_limit=30)
    assert all(c["state"] == "correct" and c["us"] > 0 for c in document["candidates"]), document["candidates"]


def test_global_settings_are_restored(callables):
    document = beside(callables, "sets", "makes")
    assert [c["state"] for c in document["candidates"]] == ["correct"] * 4, document["candidates"]
    document = beside(callables, "sets", "makes", backward=True, rounds=1)
    assert [of(document, word)["state"] for word in ("ingot", f"{callables}:makes", "eager")] == ["correct"] * 3


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
    done = subprocess.run([sys.executable, "-c", IN_ONE_PROCESS], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_flushing_of_denormals_is_restored(callables, tmp_path):
    fast = tmp_path / "fast.cpp"
    fast.write_text('// options: -ffast-math\n// launch: args=x, out, n\nextern "C" void fast(const float* x, float* out, long n) {\n'
                    "  for (long k = 0; k < n; ++k) out[k] = x[k] * 2;\n}\n")
    small = f"{callables}:halves_what_is_normal"
    for before in (str(fast), f"{callables}:flushes"):
        document = found(job(before, small, "eager", text="x * 2", values={"x": "f32:1000"}))
        assert of(document, "eager")["message"] == "bit for bit", document["candidates"]
        assert of(document, small)["state"] == "incorrect"  # whichever candidate ran first
        eager = of(document, "eager")["cases"]["special values"]
        assert eager["bit_for_bit"], eager
    assert of(document, f"{callables}:flushes")["limits"][0].startswith("subnormal values: differs at [")


def test_a_candidate_that_writes_an_input_is_named_and_the_others_are_correct(callables):
    document = beside(callables, "clears", "makes", time_incorrect=True)
    assert {c["name"]: c["state"] for c in document["candidates"]} == {
        "ingot": "correct", "callables.py:clears": "incorrect", "callables.py:makes": "correct", "eager": "correct"}
    document = beside(callables, "clears_late", "makes")
    late = of(document, f"{callables}:clears_late")
    assert late["state"] == "incorrect" and late["message"] == "after it was timed: writes its input x"
    assert [c["state"] for c in document["candidates"]].count("correct") == 3


def test_an_exception_without_a_message(callables):
    document = beside(callables, "mute")
    assert of(document, f"{callables}:mute")["message"] == "Mute: its message cannot be read"
    assert of(document, "eager")["state"] == "correct"


def test_a_file_is_not_mistaken_for_a_module_of_its_name(tmp_path):
    words = []
    for name in ("torch", "triton", "random"):
        (tmp_path / f"{name}.py").write_text("def f(x):\n    return x * 2\n")
        words.append(f"{tmp_path}/{name}.py:f")
    document = found(job(*words, "torch.compile", text="x * 2", values={"x": "f32:100"}))
    assert [c["state"] for c in document["candidates"]] == ["correct"] * 5, document["candidates"]


def test_a_failure_at_one_size_of_a_sweep_counts(callables):
    document = beside(callables, "grows_wrong", "refuses_much")
    assert [c["state"] for c in document["candidates"]] == ["correct"] * 4
    words = [f"{callables}:{name}" for name in ("grows_wrong", "refuses_much")]
    document = found(job(*words, text="x * 2", values={"x": "f32:n"}, sizes={"n": 1000}, sweep_name="n", sweep_sizes=[1000, 10000]))
    wrong, failed = (of(document, word) for word in words)
    assert wrong["state"] == "incorrect" and wrong["message"].startswith("at n=10000: after it was timed: differs at [")
    assert (failed["state"], failed["message"]) == ("failed", "at n=10000: while it was timed: ValueError: so many")
    assert [sorted(p["candidates"]) for p in document["sweep"]["points"]] == [sorted(["ingot", *words]), sorted(["ingot", words[0]])]
