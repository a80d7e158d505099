"""`ingot compare` on the command line: its output, its saved files, its exit statuses, and its messages about bad
input."""

import json
import pathlib
import re

import pytest
import torch

from comparisons import BODIES, function_file
from ingot.tools import command, comparison, profile, steps

ROOT = pathlib.Path(__file__).parents[2]


def run(capsys, *words) -> tuple[int, str, str]:
    status = command.main(["compare", *words, "--device", "cpu", "--rounds", "3"])
    captured = capsys.readouterr()
    return status, captured.out, captured.err


@pytest.fixture
def in_this_process(monkeypatch):
    """Runs a comparison's steps in this process, which is faster than starting another one."""
    def supervise(job, time_limit, watch):
        steps.run_steps(steps.Steps(job, done := {}), lambda *_: None)
        return done

    monkeypatch.setattr(comparison, "supervise", supervise)


def test_the_table_the_csv_and_the_saved_file(capsys, tmp_path):
    saved = tmp_path / "saved.json"
    status, out, _ = run(capsys, "-e", "x * 2", "x=f32:n", "n=1e4", "--against", "eager", "--save", str(saved))
    assert status == 0
    assert re.search(r"^ingot +bit for bit +[\d.]+ [µm]s +[\d.]+ +1\.00 ", out, re.MULTILINE), out
    document = json.loads(saved.read_text())
    assert document["bytes"] == 80000 and document["sizes"] == {"n": 10000}
    for candidate in document["candidates"]:  # as if all candidates had been a hundred times as fast
        candidate["share_of_copy"] *= 100
    saved.write_text(json.dumps(document))
    status, out, err = run(capsys, "-e", "x * 2", "x=f32:n", "n=1e4", "--against", "eager", "--csv", "--baseline", str(saved))
    assert status == 3 and re.search(r"ingot became slower: 0\.[0-4]", err), err
    assert out.splitlines()[0].startswith("name,spec,kind,state,message,us,") and len(out.splitlines()) == 3
    status, _, err = run(capsys, "-e", "x * 2", "x=f32:n", "n=2e4", "--against", "eager", "--baseline", str(saved))
    assert status == 2 and "the baseline has other sizes: {'n': 10000}, this comparison {'n': 20000}" in err


@pytest.mark.usefixtures("in_this_process")
def test_an_untimed_candidate_misses_the_required_speed(capsys, tmp_path):
    (tmp_path / "k.cu").write_text("// launch: grid=4, block=256, args=x, out\n__global__ void k(const float* x, float* out) {}\n")
    status, _, err = run(capsys, "-e", "x * 2", "x=f32:1000", "--against", str(tmp_path / "k.cu"), "eager", "--at-least", "1e-9")
    assert status == 3 and "k.cu: not timed, so its speed is unknown" in err


@pytest.mark.usefixtures("in_this_process")
def test_a_failed_analysis_is_reported(capsys, monkeypatch):
    monkeypatch.setattr(profile, "of_op", lambda *_: (_ for _ in ()).throw(RuntimeError("no library")))
    status, out, _ = run(capsys, "-e", "x * 2", "x=f32:1000", "--against", "eager")
    assert status == 0 and "ingot has no profile: RuntimeError: no library" in out


def test_an_internal_error_exits_with_4(capsys, monkeypatch):
    monkeypatch.setattr(comparison, "compare_job", lambda *_: 1 / 0)
    status, _, err = run(capsys, "-e", "x * 2", "x=f32:1000", "--against", "eager")
    assert status == 4 and "ZeroDivisionError" in err


@pytest.mark.usefixtures("in_this_process")
def test_exit_statuses(capsys, tmp_path):
    incorrect = function_file(tmp_path, "nan", BODIES["nan"])
    values = ["x=f32:1000x7", "y=f32:7", "bias=0.5"]
    assert run(capsys, "-e", "relu(x) + y + bias", "--against", incorrect, *values)[0] == 1
    assert run(capsys, "-e", "x + 1", "x=f32:1000", "--against", "eager", "--at-least", "1e6")[0] == 3
    assert run(capsys, "-e", "x + 1", "x=f32:1000", "--against", "eager", "--at-least", "1e-6")[0] == 0
    assert run(capsys, "-e", "x + 1", "x=f32:1000", "--against", "eager", "--at-least", "0.0")[0] == 0


@pytest.mark.parametrize("words, message", [
    ([], "no op is given"), (["nowhere.py"], "there is no file `nowhere.py`"), (["-e", "x + 1"], "`x` of "),
    (["-e", "x + 1", "x=f32:3", "y=3.5"], "has no parameter `y`"), (["-e", "x + 1", "x=f32:3", "x=3"], "is given twice"),
    (["-e", "rellu(x)", "x=f32:3"], "did you mean `relu`?"), (["-e", "x + 1", "x=f33:3"], "`x=f33:3`"),
    (["-e", "x + 1", "x=f32:n", "--sweep", "n=5"], "is not a range of sizes"),
    (["-e", "x + 1", "x=f32:3", "--baseline", "nowhere.json"], "cannot read the baseline"),
    (["-e", "x + 1", "x=f32:3", "--baseline", "CMakePresets.json"], "it is not a saved comparison"),
    (["-e", "x + 1", "x=f32:3", "--baseline", "benchmarks/results/2026-11-27-h200-examples.json"], "it is not a saved comparison"),
    (["-e", "x + 1", "x=f32:3", "--save", "nowhere/saved.json"], "its directory does not exist"),
    (["-e", "x + 1", "x=f32:3", "--html", "docs"], "it is a directory"),
    (["-e", "x + 1", "x=f32:3", "--sweep", "n=10..100"], "no value has a size named `n`"),
    (["examples/group_norm_mish.py", "x=f32:3"], "is a Python program"),
])
def test_bad_input_is_reported_and_exits_with_2(capsys, monkeypatch, words, message):
    monkeypatch.chdir(ROOT)
    status, out, err = run(capsys, *words)
    assert status == 2 and message in err and not out


@pytest.mark.usefixtures("in_this_process")
def test_an_invalid_baseline_is_reported_before_measuring(capsys, tmp_path):
    words = ["-e", "x * 2", "x=f32:n", "n=1e4", "--against", "eager", "--sweep", "n=1e4..2e4/2"]
    saved = tmp_path / "saved.json"
    assert run(capsys, *words, "--save", str(saved))[0] == 0
    valid = json.loads(saved.read_text())
    for change in ({"candidates": []}, {"candidates": [{"spec": "ingot", "share_of_copy": "1"}]}, {"date": 3}, {"candidates": [3]},
                   {"candidates": [{"spec": "ingot", "share_of_copy": 1, "us": 0, "us_quartiles": [0, 0]}]}):
        saved.write_text(json.dumps(valid | change))
        status, out, err = run(capsys, *words, "--baseline", str(saved))
        assert status == 2 and "it is not a saved comparison" in err and not out
    saved.write_text(json.dumps({"contenders": valid["candidates"], **{k: v for k, v in valid.items() if k != "candidates"}}))
    status, out, err = run(capsys, *words, "--baseline", str(saved))
    assert status == 2 and "an earlier version has saved it: save it again" in err and not out
    for times in valid["sweep"]["points"][0]["candidates"].values():
        times["share_of_copy"] *= 100
    saved.write_text(json.dumps(valid))
    status, _, err = run(capsys, *words, "--baseline", str(saved))
    assert status == 3 and re.search(r"^ingot became slower at n=10000: 0\.0", err, re.MULTILINE), err
    status, _, err = run(capsys, *words, "--baseline", str(saved), "--warm")
    assert status == 2 and "the baseline has another value of --warm: False" in err


@pytest.mark.parametrize("words, message", [
    (["--against", "eager", "--options", 'a "b'], "No closing quotation"), (["--against", "eager", "--sweep", "n=8..64/1"], "has 1 sizes")])
def test_invalid_options_exit_with_2(capsys, words, message):
    try:
        status = command.main(["compare", "-e", "x * 2", "x=f32:n", *words])
    except SystemExit as raised:
        status = raised.code
    assert status == 2 and message in capsys.readouterr().err


@pytest.mark.parametrize("old, new", [("--anyway", "--time-incorrect"), ("--as-asked", "--given-only")])
def test_renamed_options_are_rejected_with_the_new_name(capsys, old, new):
    with pytest.raises(SystemExit) as exit:
        command.main(["compare", "-e", "x * 2", "x=f32:8", old])
    assert exit.value.code == 2 and f"{old} is now {new}" in capsys.readouterr().err


@pytest.mark.usefixtures("in_this_process")
def test_a_source_may_begin_with_a_dash_and_a_sweep_has_each_size_once(capsys):
    status, out, err = run(capsys, "-e", "-x", "x=f32:n", "--sweep", "n=8..9/4", "--against", "eager")
    assert status == 0 and re.findall(r"^(\d+) ", out, re.MULTILINE) == ["8", "9"], err
    status, out, err = run(capsys, "-e", "x * 2", "x=f32:n", "--sweep", "n=1000..2000", "--against", "eager")
    assert status == 0 and re.findall(r"^(\d+) ", out, re.MULTILINE) == ["1000", "2000"], err


def test_no_gpu_is_an_error_of_the_environment(capsys):
    if torch.cuda.is_available():
        pytest.skip("explained: there is a CUDA device")
    assert command.main(["compare", "-e", "x + 1", "x=f32:3", "--device", "cuda"]) == 4
    assert "there is no device cuda" in capsys.readouterr().err


def test_a_file_that_is_not_text_is_reported(tmp_path, capsys):
    (tmp_path / "bytes.py").write_bytes(b"\xff\xfe def f(x): return x")
    (tmp_path / "marked.py").write_bytes(b"\xef\xbb\xbfdef f(x): return x + 1\n")
    (tmp_path / "leaves.py").write_text("import ingot, sys\nsys.exit(3)\n")
    for name, status, message in (("bytes.py", 2, "is not UTF-8 text"), ("marked.py", 0, ""), ("leaves.py:f", 2, "SystemExit")):
        assert command.main(["explain", str(tmp_path / name), "x=f32:4"]) == status
        assert message in capsys.readouterr().err


@pytest.mark.usefixtures("in_this_process")
@pytest.mark.parametrize("value", ["f32:nx4", "f32[4, n]", "f32[ n,4]", "f32:4xn:t", "f32[n]", "i64:n@0..5"])
def test_a_sweep_replaces_the_size_in_a_value(capsys, value):
    status, out, err = run(capsys, "-e", "x * 2", f"x={value}", "--sweep", "n=8..16/2", "--against", "eager")
    assert status == 0 and re.search(r"^16 ", out, re.MULTILINE), err


@pytest.mark.usefixtures("in_this_process")
def test_an_untimed_size_misses_the_required_speed(capsys):
    # More than a process can address. A smaller size might be allocated if the system overcommits memory.
    words = ["-e", "x * 2", "x=f32:n", "n=8", "--sweep", "n=8..1e15/2", "--against", "eager", "--at-least", "1e-9"]
    status, out, err = run(capsys, *words)
    assert status == 3 and "eager at n=1000000000000000: not timed, so its speed is unknown" in err and "nothing was timed at n=1000000000000000: " in out
