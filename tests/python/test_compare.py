"""`ingot compare` from the command line and from Python: who is right, and what is said of who is not. What needs a GPU runs
where there is one; functions of C++ hang, crash and write out of bounds anywhere."""

import importlib
import itertools
import json
import pathlib
import re

import pytest
import torch

import ingot
from comparisons import RELU_ADD, found, job, of, on_a_gpu
from ingot.instruments import command, report
from ingot.instruments.job import Against

ROOT = pathlib.Path(__file__).parents[2]

# --- Functions of C++, which go wrong on a CPU as well ----------------------------------------------------------------

BODIES = {
    "right": "for (long k = 0; k < n; ++k) out[k] = (x[k] < 0 ? 0 : x[k]) + y[k % 7] + bias;",
    "nan": "for (long k = 0; k < n; ++k) out[k] = (x[k] > 0 ? x[k] : 0) + y[k % 7] + bias;",
    "past": "for (long k = 0; k < n + 2; ++k) out[k] = (x[k % n] < 0 ? 0 : x[k % n]) + y[k % 7] + bias;",
    "before": "for (long k = -1; k < n; ++k) out[k] = k < 0 ? 0 : (x[k] < 0 ? 0 : x[k]) + y[k % 7] + bias;",
    "short_of": "for (long k = 0; k < n - 1; ++k) out[k] = (x[k] < 0 ? 0 : x[k]) + y[k % 7] + bias;",
    "input": "for (long k = 0; k < n; ++k) out[k] = ((x[k] < 0 ? 0 : x[k]) + y[k % 7] + bias); const_cast<float*>(x)[3] = 1;",
    "adds": "for (long k = 0; k < n; ++k) out[k] += (x[k] < 0 ? 0 : x[k]) + y[k % 7] + bias;",
    "once": "static int calls; if (calls++ == 0) for (long k = 0; k < n; ++k) out[k] = (x[k] < 0 ? 0 : x[k]) + y[k % 7] + bias;",
    "by_seven": "if (n % 7000 == 0) for (long k = 0; k < n; ++k) out[k] = (x[k] < 0 ? 0 : x[k]) + y[k % 7] + bias;",
    "hangs": "for (volatile int k = 0;; ++k) {}",
    "crashes": "*static_cast<volatile float*>(nullptr) = 1;",
}


def function_file(folder: pathlib.Path, name: str, body: str, launch: str = "args=x, y, bias, out, n") -> str:
    path = folder / f"{name}.cpp"
    path.write_text(f'// launch: {launch}\nextern "C" void {name}(const float* x, const float* y, float bias, float* out, long n) {{\n'
                    f"  {body}\n}}\n")
    return str(path)


def test_who_writes_out_of_bounds_hangs_or_crashes_is_told_from_who_is_right(tmp_path):
    words = {name: function_file(tmp_path, name, body) for name, body in BODIES.items()}
    document = found(job(*words.values(), "eager"), time_limit=25)
    said = {name: of(document, word) for name, word in words.items()}
    assert {name: c["state"] for name, c in said.items()} == {
        "right": "right", "nan": "wrong", "past": "wrong", "before": "wrong", "short_of": "wrong", "input": "wrong",
        "adds": "wrong", "once": "wrong", "by_seven": "right", "hangs": "failed", "crashes": "failed"}
    assert said["right"]["message"] == "bit for bit" and not said["right"]["limits"]
    assert said["nan"]["message"].startswith("on special values: wrong at ")
    assert "writes 8 bytes behind a result" in said["past"]["message"]
    assert "writes 4 bytes before a result" in said["before"]["message"]
    assert "leaves 1 elements unwritten" in said["short_of"]["message"]
    assert "from call 2 on: leaves 7000 elements unwritten" in said["once"]["message"]
    assert "writes its input x" in said["input"]["message"]
    assert said["by_seven"]["limits"][0].startswith("odd sizes: leaves ")
    assert said["hangs"]["message"] == "did not come back within 25 s (--time-limit)"
    assert "SIGSEGV" in said["crashes"]["message"]
    timed = {c["name"] for c in document["contenders"] if "us" in c}
    assert timed == {"ingot", "eager", "right.cpp:right", "by_seven.cpp:by_seven"}
    assert all(0.001 < c["speed"] < 1000 for c in document["contenders"] if "us" in c)


def test_what_is_read_past_one_and_written_past_another_is_noticed(tmp_path):
    """Where both edges hold the same, relu of one added to the other is what was there."""
    path = tmp_path / "rounds_up.cpp"
    path.write_text('// launch: args=x, y, out, n\nextern "C" void rounds_up(const float* x, const float* y, float* out, long n) {\n'
                    "  n = (n + 255) / 256 * 256;\n  for (long k = 0; k < n; ++k) out[k] = (x[k] < 0 ? 0 : x[k]) + y[k];\n}\n")
    document = found(job(str(path), text="relu(x) + y", values={"x": "f32:2001", "y": "f32:2001"}))
    assert "writes 188 bytes behind a result" in of(document, str(path))["message"]


def test_a_library_must_be_told_its_arguments(tmp_path):
    (tmp_path / "library.so").write_bytes(b"")
    document = found(job(f"{tmp_path / 'library.so'}:scale", text="x * 2", values={"x": "f32:10"}))
    assert "nobody says what `scale` of " in document["contenders"][1]["message"]


def test_bad_files_and_words_fail_alone(tmp_path):
    broken, missing = tmp_path / "broken.cpp", tmp_path / "missing.cpp"
    broken.write_text('extern "C" void broken(float* out, long n) { out[0] = unknown; }\n// launch: args=out, n\n')
    unlaunched = function_file(tmp_path, "unlaunched", "", launch="args=x, y, out, n")
    raises = tmp_path / "functions.py"
    raises.write_text("def shape(x, y, b): return x.sum()\ndef raises(x, y, b): raise ValueError('no')\nnumber = 3\n")
    words = [str(broken), str(missing), unlaunched, f"{raises}:shape", f"{raises}:raises", f"{raises}:number", f"{raises}:absent",
             "nonsense", "torch.compile:slow", f"{unlaunched}:other", "eager"]
    document = found(job(*words))
    said = {word: of(document, word) for word in words}
    assert said["eager"]["state"] == "right" and "us" in said["eager"]
    for word, message in zip(words, ["broken.cpp:1:55: error: 'unknown' was not declared", "there is no file", "gives 4 arguments, and the kernel takes 5",
                                     "the result has shape [], eager's [1000, 7]", "ValueError: no", "is a int, which cannot be called",
                                     "there is no `absent` in", "is nothing that an op is compared with", "has no mode `slow`",
                                     "there is no `extern \"C\"` function `other` in"]):
        assert said[word]["state"] in ("failed", "wrong"), word
        assert message in said[word]["message"].replace("‘", "'").replace("’", "'"), (word, said[word]["message"])


SUM = """// launch: args=x, out, x.numel()
extern "C" void {name}(const float* x, float* out, long n) {{ float s = 0; for (long k = 0; k < {end}; ++k) s += x[k]; *out = s; }}
"""


def test_a_lost_tail_is_noticed_where_everything_is_added(tmp_path):
    words = {}
    for name, end in (("whole", "n"), ("tail", "n - n % 4")):
        (tmp_path / f"{name}.cpp").write_text(SUM.format(name=name, end=end))
        words[name] = str(tmp_path / f"{name}.cpp")
    document = found(job(*words.values(), text="sum(x)", values={"x": "f32:40003"}))
    assert of(document, words["whole"])["state"] == "right"
    assert of(document, words["tail"])["state"] == "wrong"


def test_what_python_does_to_its_arguments_and_to_its_process(tmp_path):
    path = tmp_path / "functions.py"
    path.write_text("import os, torch\ndef clears(x):\n    y = x.softmax(-1)\n    x.zero_()\n    return y\n"
                    "def naive(x):\n    e = x.exp()\n    return e / e.sum(-1, keepdim=True)\n"
                    "def leaves(x):\n    os._exit(0)\n")
    names = ("clears", "naive", "leaves")
    document = found(job(*(f"{path}:{name}" for name in names), "eager", text="softmax(x, -1)", values={"x": "f32:100x33"}))
    said = {name: of(document, f"{path}:{name}") for name in names}
    assert said["clears"]["state"] == "wrong" and "writes its input x" in said["clears"]["message"]
    assert said["naive"]["state"] == "wrong" and "on a special value a row" in said["naive"]["message"]
    assert said["leaves"]["state"] == "failed" and "exited with 0" in said["leaves"]["message"]
    assert of(document, "eager")["us"] > 0


def test_one_file_with_two_launches_is_two_contenders(tmp_path):
    word = function_file(tmp_path, "right", BODIES["right"])
    document = found(job(Against(word), Against(word, launches=["args=x, y, 0.25, out, n"])))
    assert [(c["word"], c["state"]) for c in document["contenders"]] == [
        ("ingot", "right"), (word, "right"), (f"{word}#2", "wrong")]


def test_memory_that_is_changed_in_place_has_edges_too(tmp_path):
    path = tmp_path / "adds.cpp"
    path.write_text('// launch: args=x, x.numel()\nextern "C" void adds(float* x, long n) { for (long k = 0; k <= n; ++k) x[k] += 1; }\n')
    document = found(job(str(path), text="def f(x):\n    x.add_(1)\n", values={"x": "f32:1000"}))
    assert "writes 4 bytes behind x" in of(document, str(path))["message"]


def test_a_wrong_one_is_timed_only_where_that_is_asked_for(tmp_path):
    word = function_file(tmp_path, "nan", BODIES["nan"])
    assert "us" not in of(found(job(word)), word)
    anyway = of(found(job(word, anyway=True)), word)
    assert anyway["state"] == "wrong" and anyway["us"] > 0
    finite = of(found(job(word, specials=False)), word)
    assert finite["state"] == "right" and finite["us"] > 0


def test_gradients_are_compared_with_autograds(tmp_path):
    path = tmp_path / "backward.cpp"
    path.write_text('// launch: args=grad, x, y, out0, out1, n\nextern "C" void backward(const float* grad, const float* x, const '
                    "float* y, float* dx, float* dy, long n) { for (long k = 0; k < n; ++k) dx[k] = grad[k] * y[k], dy[k] = grad[k] * x[k]; }\n")
    document = found(job(str(path), "eager", text="x * y", values={"x": "f32:999", "y": "f32:999"}, backward=True))
    assert {c["word"]: (c["state"], c["message"]) for c in document["contenders"]} == {
        word: ("right", "bit for bit") for word in ("ingot", str(path), "eager")}
    assert document["bytes"] == 5 * 999 * 4


def test_times_over_sizes(tmp_path):
    swept = job("eager", text="x * 2", values={"x": "f32:n"}, sizes={"n": 4096}, swept="n", points=[64, 4096])
    document = found(swept)
    assert [(p["size"], p["bytes"], sorted(p["contenders"])) for p in document["sweep"]["points"]] == [
        (64, 512, ["eager", "ingot"]), (4096, 32768, ["eager", "ingot"])]
    assert re.search(r"^n +ingot +eager\n64 ", report.text(document), re.MULTILINE)


# --- On a GPU ---------------------------------------------------------------------------------------------------------

GPU_BODIES = {
    "past": "if (i < n + 2) out[i] = 1;", "faults": "out[i + (1ll << 44)] = 1;", "hangs": "while (true) __nanosleep(1000);",
    "right": "if (i < n) out[i] = x[i] * 2;", "by_four": "if (4 * i < n) { float4 v = ((const float4*)x)[i]; ((float4*)out)[i] = {v.x * 2, v.y * 2, v.z * 2, v.w * 2}; }"}


@on_a_gpu
def test_a_kernel_that_faults_or_hangs_takes_nobody_along(tmp_path):
    words = {}
    for name, body in GPU_BODIES.items():
        words[name] = str(tmp_path / f"{name}.cu")
        pathlib.Path(words[name]).write_text(
            f"// launch: grid=ceil(n / 128) + 1, block=128, args=x, out, n\n__global__ void {name}(const float* x, float* out, int n) "
            f"{{ int i = blockIdx.x * 128 + threadIdx.x; {body} }}\n")
    document = found(job(*words.values(), text="x * 2", values={"x": "f32:4096"}, device="cuda:0"), time_limit=30)
    said = {name: of(document, word) for name, word in words.items()}
    assert said["right"]["state"] == "right" and said["right"]["us"] > 0
    assert "writes 8 bytes behind a result" in said["past"]["message"]
    assert said["faults"]["state"] == "failed" and "illegal memory access" in said["faults"]["message"]
    assert "did not come back" in said["hangs"]["message"]
    assert said["by_four"]["state"] == "right" and any("misaligned" in limit for limit in said["by_four"]["limits"])


# --- Others -----------------------------------------------------------------------------------------------------------


def test_jiterator_is_given_what_the_text_does():
    from ingot.instruments.contenders.jiterated import function_text

    text, count = function_text(lambda x, y: torch.clamp(x, 0, 1) * y + 0.5, [torch.ones(3).bfloat16()] * 2)
    assert count == 1 and text.splitlines()[1:] == [
        "  using A = float;", "  const A a0 = x0;", "  const A a1 = x1;",
        "  const A v2 = (A(1) < (a0 < A(0) ? A(0) : a0) ? A(1) : (a0 < A(0) ? A(0) : a0));", "  const A v3 = v2 * a1;",
        "  const A v4 = v3 + A(0.5);", "  return v4;", "}"]
    for function in (lambda x: x.sum(), lambda x: x.int(), lambda x: torch.add(x, x, alpha=2)):
        with pytest.raises(ingot.Error, match="jiterator expresses functions of elements alone"):
            function_text(function, [torch.ones(3)])


@on_a_gpu
def test_jiterator_runs_it():
    document = found(job("jiterator", text="F.silu(x) * y", values={"x": "f32:4096", "y": "f32:4096"}, device="cuda:0"))
    assert of(document, "jiterator")["state"] == "right" and of(document, "jiterator")["us"] > 0


# --- The command line -------------------------------------------------------------------------------------------------


def run(capsys, *words) -> tuple[int, str, str]:
    status = command.main(["compare", *words, "--device", "cpu", "--rounds", "3"])
    captured = capsys.readouterr()
    return status, captured.out, captured.err


def test_the_table_the_csv_and_what_is_kept(capsys, tmp_path):
    kept = tmp_path / "kept.json"
    status, out, _ = run(capsys, "-e", "x * 2", "x=f32:n", "n=1e4", "--against", "eager", "--save", str(kept))
    assert status == 0
    assert re.search(r"^ingot +bit for bit +[\d.]+ [µm]s +[\d.]+ +1\.00 ", out, re.MULTILINE), out
    document = json.loads(kept.read_text())
    assert document["bytes"] == 80000 and document["sizes"] == {"n": 10000}
    for contender in document["contenders"]:  # as if all had been a hundred times as fast
        contender["share_of_copy"] *= 100
    kept.write_text(json.dumps(document))
    status, out, err = run(capsys, "-e", "x * 2", "x=f32:n", "n=1e4", "--against", "eager", "--csv", "--baseline", str(kept))
    assert status == 3 and re.search(r"ingot became slower: 0\.[0-4]", err), err
    assert out.splitlines()[0].startswith("name,word,kind,state,message,us,") and len(out.splitlines()) == 3
    status, _, err = run(capsys, "-e", "x * 2", "x=f32:n", "n=2e4", "--against", "eager", "--baseline", str(kept))
    assert status == 2 and "the baseline is of other sizes: {'n': 10000}, and here it is {'n': 20000}" in err


def test_exit_statuses(capsys, tmp_path):
    wrong = function_file(tmp_path, "nan", BODIES["nan"])
    values = ["x=f32:1000x7", "y=f32:7", "bias=0.5"]
    assert run(capsys, "-e", "relu(x) + y + bias", "--against", wrong, *values)[0] == 1
    assert run(capsys, "-e", "x + 1", "x=f32:1000", "--against", "eager", "--at-least", "1e6")[0] == 3
    assert run(capsys, "-e", "x + 1", "x=f32:1000", "--against", "eager", "--at-least", "1e-6")[0] == 0
    assert run(capsys, "-e", "x + 1", "x=f32:1000", "--against", "eager", "--at-least", "0.0")[0] == 0


@pytest.mark.parametrize("words, message", [
    ([], "there is no op"), (["nowhere.py"], "there is no file `nowhere.py`"), (["-e", "x + 1"], "`x` of "),
    (["-e", "x + 1", "x=f32:3", "y=3.5"], "has no parameter `y`"), (["-e", "x + 1", "x=f32:3", "x=3"], "is given twice"),
    (["-e", "rellu(x)", "x=f32:3"], "did you mean `relu`?"), (["-e", "x + 1", "x=f33:3"], "`x=f33:3`"),
    (["-e", "x + 1", "x=f32:n", "--sweep", "n=5"], "is no range of sizes"),
    (["-e", "x + 1", "x=f32:3", "--baseline", "nowhere.json"], "cannot read the baseline"),
    (["-e", "x + 1", "x=f32:3", "--baseline", "CMakePresets.json"], "it holds no comparison"),
    (["-e", "x + 1", "x=f32:3", "--baseline", "benchmarks/results/2026-11-27-h200-examples.json"], "it holds no comparison"),
    (["-e", "x + 1", "x=f32:3", "--save", "nowhere/kept.json"], "there is no such folder"),
    (["-e", "x + 1", "x=f32:3", "--html", "docs"], "it is a folder"),
    (["-e", "x + 1", "x=f32:3", "--sweep", "n=10..100"], "no value has the size `n`"),
    (["examples/group_norm_mish.py", "x=f32:3"], "is a Python program"),
])
def test_bad_input_is_said_and_exits_with_two(capsys, monkeypatch, words, message):
    monkeypatch.chdir(ROOT)
    status, out, err = run(capsys, *words)
    assert status == 2 and message in err and not out


def test_what_is_no_baseline_is_told_before_anything_is_measured(capsys, tmp_path):
    words = ["-e", "x * 2", "x=f32:n", "n=1e4", "--against", "eager", "--sweep", "n=1e4..2e4/2"]
    kept = tmp_path / "kept.json"
    assert run(capsys, *words, "--save", str(kept))[0] == 0
    good = json.loads(kept.read_text())
    for change in ({"contenders": []}, {"contenders": [{"word": "ingot", "share_of_copy": "1"}]}, {"date": 3}, {"contenders": [3]},
                   {"contenders": [{"word": "ingot", "share_of_copy": 1, "us": 0, "us_quartiles": [0, 0]}]}):
        kept.write_text(json.dumps(good | change))
        status, out, err = run(capsys, *words, "--baseline", str(kept))
        assert status == 2 and "it holds no comparison" in err and not out
    for times in good["sweep"]["points"][0]["contenders"].values():
        times["share_of_copy"] *= 100
    kept.write_text(json.dumps(good))
    status, _, err = run(capsys, *words, "--baseline", str(kept))
    assert status == 3 and re.search(r"^ingot became slower at n=10000: 0\.0", err, re.MULTILINE), err
    status, _, err = run(capsys, *words, "--baseline", str(kept), "--warm")
    assert status == 2 and "the baseline is of another choice of --warm: False" in err


@pytest.mark.parametrize("words, message", [
    (["--against", "eager", "--options", 'a "b'], "No closing quotation"), (["--against", "eager", "--sweep", "n=8..64/1"], "has 1 sizes")])
def test_options_that_cannot_be_read(capsys, words, message):
    try:
        status = command.main(["compare", "-e", "x * 2", "x=f32:n", *words])
    except SystemExit as left:
        status = left.code
    assert status == 2 and message in capsys.readouterr().err


def test_a_text_may_begin_with_a_dash_and_a_sweep_has_each_size_once(capsys):
    status, out, err = run(capsys, "-e", "-x", "x=f32:n", "--sweep", "n=8..9/4", "--against", "eager")
    assert status == 0 and re.findall(r"^(\d+) ", out, re.MULTILINE) == ["8", "9"], err
    status, out, err = run(capsys, "-e", "x * 2", "x=f32:n", "--sweep", "n=1000..2000", "--against", "eager")
    assert status == 0 and re.findall(r"^(\d+) ", out, re.MULTILINE) == ["1000", "2000"], err


def test_no_gpu_is_an_error_of_the_environment(capsys):
    if torch.cuda.is_available():
        pytest.skip("explained: there is a CUDA device")
    assert command.main(["compare", "-e", "x + 1", "x=f32:3", "--device", "cuda"]) == 4
    assert "there is no device cuda" in capsys.readouterr().err


def test_a_file_that_is_no_text_is_told(tmp_path, capsys):
    (tmp_path / "bytes.py").write_bytes(b"\xff\xfe def f(x): return x")
    (tmp_path / "marked.py").write_bytes(b"\xef\xbb\xbfdef f(x): return x + 1\n")
    (tmp_path / "leaves.py").write_text("import ingot, sys\nsys.exit(3)\n")
    for name, status, message in (("bytes.py", 2, "is no text in UTF-8"), ("marked.py", 0, ""), ("leaves.py:f", 2, "SystemExit")):
        assert command.main(["explain", str(tmp_path / name), "x=f32:4"]) == status
        assert message in capsys.readouterr().err


# --- From Python ------------------------------------------------------------------------------------------------------


def test_from_python_with_functions_of_its_own():
    x, y = torch.randn(1000), torch.randn(1000)
    found = ingot.compare(ingot.op("x * y"), {"mine": lambda x, y: y * x, "off": lambda x, y: x * y + 1}, x, y, rounds=3)
    assert found["mine"]["state"] == "right" and found["mine"]["us"] > 0 and found.speed_of("mine") > 0
    assert found["off"]["state"] == "wrong" and not found.is_right
    assert "off: wrong, wrong at [" in str(found) and "<table>" in found._repr_html_()
    assert found.found["arguments"] == {"x": "f32:1000", "y": "f32:1000"}


def test_from_python_special_values_are_planted_in_copies():
    x, y = torch.randn(1000), torch.randn(1000)
    loses_nan = {"loses NaN": lambda x, y: torch.where(x > 0, x, 0) + y}
    for options in ({}, {"isolated": False}):
        assert ingot.compare(ingot.op("relu(x) + y"), loses_nan, x, y, rounds=3, **options)["loses NaN"]["state"] == "wrong"
        assert ingot.compare(ingot.op("relu(x) + y"), loses_nan, x, y, rounds=3, specials=False, **options).is_right


def test_the_largest_numbers_are_not_asked_of_sums():
    x = torch.randn(1000, 64)
    for text in ("F.layer_norm(x, (64,))", "x.var(0)", "x.std(-1)", "x.prod(0)"):
        assert ingot.compare(ingot.op(text), "eager", x, rounds=3, isolated=False, why=False).is_right, text


def test_a_lost_element_is_noticed_where_sums_do_not_cancel():
    x = torch.randn(1000000)
    loses = {"loses": lambda x: (x.sum(dtype=torch.float64) - x[::1024].sum(dtype=torch.float64)).float()}
    found = ingot.compare(ingot.op("x.sum()"), loses, x, rounds=3, isolated=False, why=False)
    assert found["loses"]["message"].startswith("on positive values: wrong at []")


def test_modules_are_found_where_the_caller_finds_them(tmp_path, monkeypatch):
    (tmp_path / "mine_alone.py").write_text("def f(x):\n    return x * 2\n")
    monkeypatch.syspath_prepend(tmp_path)
    assert ingot.compare(ingot.op("x * 2"), "mine_alone:f", torch.randn(100), rounds=3).is_right


def test_in_inference_mode_and_with_nobody():
    op = ingot.op("x * 2")
    with torch.inference_mode():
        x = torch.randn(100)
        for options in ({}, {"isolated": False}):
            assert ingot.compare(op, "eager", x, rounds=3, why=False, **options)["eager"]["us"] > 0
    assert ingot.compare(op, None, torch.randn(100), rounds=3, why=False)["ingot"]["us"] > 0


def test_a_name_is_drawn_as_it_is():
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("agg")
    found = ingot.compare(ingot.op("x * 2"), {r"$\bad{$": lambda x: x * 2}, torch.randn(100), rounds=3, why=False)
    found.plot().figure.canvas.draw()


def test_bit_for_bit_is_said_of_all_that_decides():
    flushes = {"flushes": lambda x: torch.where(x.abs() < 1e-38, 0.0, x)}
    found = ingot.compare(ingot.op("x * 1"), flushes, torch.randn(1000), rounds=3, isolated=False, why=False)
    assert found["flushes"]["message"].endswith(" on special values") and found["ingot"]["message"] == "bit for bit"


def test_what_does_not_travel_is_said():
    with pytest.raises(ingot.Error, match="`b` does not fit into 64 bits"):
        ingot.compare(ingot.op("def f(x, b: int):\n    return x * b"), "eager", torch.randn(10), 2**70)
    with pytest.raises(ingot.Error, match="`x` is of torch.float8_e4m3fn, which does not travel to another process"):
        ingot.compare(ingot.op("x.float() * 2"), "eager", torch.randn(10).to(torch.float8_e4m3fn))


def test_few_elements_show_what_is_off_by_a_part_in_n():
    x = torch.randn(10, 100000)
    biased = {"biased": lambda x: x.var(-1, correction=0)}
    found = ingot.compare(ingot.op("x.var(-1)"), biased, x, rounds=3, isolated=False, why=False)
    assert any(limit.startswith("few elements: wrong at [") for limit in found["biased"]["limits"])


def test_nobody_is_lost_for_his_name(tmp_path):
    op, x = ingot.op("x * 2"), torch.randn(100)
    right, wrong = (lambda x: x * 2), (lambda x: x * 3)
    options = {"rounds": 3, "isolated": False, "why": False}
    two = ingot.compare(op, [wrong, right], x, **options)
    assert [(c["name"], c["state"]) for c in two.found["contenders"]] == [
        ("ingot", "right"), ("<lambda>", "wrong"), ("<lambda>#2", "right")]
    mine = ingot.compare(op, {"eager": wrong, "theirs": "eager"}, x, **options)
    assert mine["eager"]["state"] == "wrong" and mine["theirs"]["state"] == "right"
    path = tmp_path / "scale.cpp"
    path.write_text('extern "C" void scale(const float* x, float* out, float by, long n) { for (long k = 0; k < n; ++k) out[k] = x[k] * by; }')
    launched = [ingot.Against(str(path), launches=[f"args=x, out, f32({by}), n"]) for by in (2, 3)]
    assert [c["state"] for c in ingot.compare(op, launched, x, **options).found["contenders"]] == ["right", "right", "wrong"]
    for named, message in (({"ingot": right}, "is the name of the op itself"), ({"copy": right}, "is the name of the copy"), ({"f": 3}, "is a int")):
        with pytest.raises(ingot.Error, match=message):
            ingot.compare(op, named, x)


def test_what_draws_is_compared_only_anyway():
    drops, x = ingot.op("F.dropout(x, 0.5)"), torch.randn(1000)
    with pytest.raises(ingot.Error, match="draws random numbers, which nobody else draws"):
        ingot.compare(drops, "eager", x, isolated=False)
    found = ingot.compare(drops, "eager", x, isolated=False, anyway=True, rounds=3)
    assert found["eager"]["us"] > 0


@pytest.mark.parametrize("value", ["f32:nx4", "f32[4, n]", "f32[ n,4]", "f32:4xn:t", "f32[n]", "i64:n@0..5"])
def test_a_size_that_is_swept_is_found_in_a_value(capsys, value):
    status, out, err = run(capsys, "-e", "x * 2", f"x={value}", "--sweep", "n=8..16/2", "--against", "eager")
    assert status == 0 and re.search(r"^16 ", out, re.MULTILINE), err


def test_a_size_at_which_nothing_is_timed_reaches_no_speed(capsys):
    words = ["-e", "x * 2", "x=f32:n", "n=8", "--sweep", "n=8..1e13/2", "--against", "eager", "--at-least", "1e-9"]
    status, out, err = run(capsys, *words)
    assert status == 3 and "nothing was timed at n=10000000000000" in err and "nothing was timed at n=10000000000000: " in out


def test_from_python_with_words_and_names(tmp_path):
    word = function_file(tmp_path, "right", BODIES["right"])
    found = ingot.compare(ingot.op(RELU_ADD), {"by hand": word}, torch.randn(100, 7), torch.randn(7), bias=0.5, rounds=3)
    assert found["by hand"]["state"] == "right" and found[word] is found["by hand"]


def test_one_that_is_right_once_is_wrong_before_it_is_timed():
    calls = itertools.count()
    once = {"once": lambda x: x * 2 + (next(calls) > 0)}
    found = ingot.compare(ingot.op("x * 2"), once, torch.randn(1000), rounds=3, isolated=False, as_asked=True)
    assert found["once"]["message"].startswith("from call 2 on: wrong at [") and "us" not in found["once"]


def test_one_that_is_wrong_only_after_many_calls_is_wrong():
    calls = itertools.count()
    tired = {"tired": lambda x: x * 2 + (next(calls) > 100)}
    found = ingot.compare(ingot.op("x * 2"), tired, torch.randn(1000), rounds=3, isolated=False)
    assert found["tired"]["state"] == "wrong" and "after it was timed: wrong at [" in found["tired"]["message"]
    assert not found.is_right and found["ingot"]["state"] == "right"


def test_in_this_process_nothing_is_copied_and_gradients_are_of_what_requires_them():
    x, y = torch.randn(100, 7, requires_grad=True), torch.randn(7)
    found = ingot.compare(ingot.op("torch.relu(x) * y"), "eager", x, y, backward=True, as_asked=True, isolated=False, rounds=3,
                          why=False)
    assert found.is_right and set(found["eager"]["cases"]) == {"as asked"} and found["ingot"]["kernels"] is None
    moved = found.found["bytes"]  # x, y, the incoming gradient, and x's alone
    assert moved == 4 * (700 + 7 + 700 + 700)
    assert x.grad is None
    both = ingot.compare(ingot.op("torch.relu(x) * y"), "eager", x.detach(), y, backward=True, as_asked=True, rounds=3, why=False)
    assert both.is_right and both.found["bytes"] == moved + 4 * 7


TRITON = """
import triton
import triton.language as tl


@triton.jit
def scaled(x, out, factor, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + at, tl.load(x + at, at < n) * factor, at < n)
"""


def test_a_triton_kernel_is_given_from_python_with_its_launch(tmp_path, monkeypatch):
    pytest.importorskip("triton")
    (tmp_path / "scales_here.py").write_text(TRITON)
    monkeypatch.syspath_prepend(tmp_path)
    kernel, op = importlib.import_module("scales_here").scaled, ingot.op("x * 2")
    x = torch.randn(10000, device="cuda" if torch.cuda.is_available() else "cpu")
    mine = ingot.Against(kernel, launches=["grid=ceil(n / BLOCK), args=x, out, 2.0, n, BLOCK=1024"])
    found = ingot.compare(op, {"mine": mine, "eager": "eager"}, x, rounds=3, why=False)
    assert found["mine"]["state"] == ("right" if x.is_cuda else "unchecked"), found["mine"]["message"]
    with pytest.raises(ingot.Error, match="the Triton kernel `scaled` needs a launch"):
        ingot.compare(op, kernel, x)
    with pytest.raises(ingot.Error, match="`twice` is called, not launched"):
        ingot.compare(op, {"twice": ingot.Against(lambda x: x * 2, launches=["args=x"])}, x)


@on_a_gpu
def test_a_triton_kernel_is_launched(tmp_path):
    (tmp_path / "scales.py").write_text(TRITON)
    word = f"{tmp_path / 'scales.py'}:scaled"
    launches = {"right": "grid=ceil(n / 1024), args=x, out, 2.0, n, BLOCK=1024", "short": "grid=n // 1024, args=x, out, 2.0, n, BLOCK=1024"}
    against = [Against(word, [launch], name=name) for name, launch in launches.items()]
    document = found(job(*against, text="x * 2", values={"x": "f32:10000"}, device="cuda:0"))
    right, short = document["contenders"][1:]
    assert (right["state"], right["kind"]) == ("right", "triton") and right["us"] > 0, right["message"]
    assert short["state"] == "wrong" and "elements unwritten" in short["message"]


def test_an_op_may_have_a_parameter_that_is_called_grad():
    step, x, y = ingot.op("def step(p, grad, rate: float): return p - rate * grad"), torch.randn(100), torch.randn(100)
    assert ingot.compare(step, "eager", x, y, 0.5, rounds=3, as_asked=True).is_right
    with pytest.raises(ingot.Error, match="has a parameter `grad`"):
        ingot.compare(step, "eager", x, y, 0.5, rounds=3, backward=True, isolated=False)
