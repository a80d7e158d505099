"""Comparisons: which candidates are correct, and the messages about those that are not. Tests that need a GPU are
skipped without one. C++ functions hang, crash and write out of bounds on any machine."""

import pathlib
import re

import pytest
import torch

import ingot
from comparisons import BODIES, candidate_of, function_file, job, on_a_gpu, run_comparison
from ingot.tools import report
from ingot.tools.job import Against

ROOT = pathlib.Path(__file__).parents[2]

# --- C++ functions, on the CPU ----------------------------------------------------------------------------------------

def test_out_of_bounds_writes_hangs_and_crashes_are_reported(tmp_path):
    specs = {name: function_file(tmp_path, name, body) for name, body in BODIES.items()}
    document = run_comparison(job(*specs.values(), "eager"), time_limit=25)
    candidates = {name: candidate_of(document, spec) for name, spec in specs.items()}
    assert {name: c["state"] for name, c in candidates.items()} == {
        "correct": "correct", "nan": "incorrect", "past": "incorrect", "before": "incorrect", "short_of": "incorrect", "input": "incorrect",
        "adds": "incorrect", "once": "incorrect", "by_seven": "correct", "hangs": "failed", "crashes": "failed"}
    assert candidates["correct"]["message"] == "bit for bit" and not candidates["correct"]["limits"]
    assert candidates["nan"]["message"].startswith("on special values: differs at ")
    assert "writes 8 bytes past the end of a result" in candidates["past"]["message"]
    assert "writes 4 bytes before the start of a result" in candidates["before"]["message"]
    assert "leaves 1 elements unwritten" in candidates["short_of"]["message"]
    assert "from call 2 on: leaves 7000 elements unwritten" in candidates["once"]["message"]
    assert "writes its input x" in candidates["input"]["message"]
    assert candidates["by_seven"]["limits"][0].startswith("odd sizes: leaves ")
    assert candidates["hangs"]["message"] == "did not finish within 25 s (--time-limit)"
    assert "SIGSEGV" in candidates["crashes"]["message"]
    timed = {c["name"] for c in document["candidates"] if "us" in c}
    assert timed == {"ingot", "eager", "correct.cpp:correct", "by_seven.cpp:by_seven"}
    assert all(0.001 < c["speedup"] < 1000 for c in document["candidates"] if "us" in c)


def test_reading_past_an_input_and_writing_past_a_result_is_noticed(tmp_path):
    """Each tensor's guard bytes have a pattern of their own, a negative number. With one pattern for all tensors, relu(x) + y of
    the guards would be that pattern again, and the writes past the result would go unnoticed."""
    path = tmp_path / "rounds_up.cpp"
    path.write_text('// launch: args=x, y, out, n\nextern "C" void rounds_up(const float* x, const float* y, float* out, long n) {\n'
                    "  n = (n + 255) / 256 * 256;\n  for (long k = 0; k < n; ++k) out[k] = (x[k] < 0 ? 0 : x[k]) + y[k];\n}\n")
    document = run_comparison(job(str(path), text="relu(x) + y", values={"x": "f32:2001", "y": "f32:2001"}))
    assert "writes 188 bytes past the end of a result" in candidate_of(document, str(path))["message"]


def test_a_library_needs_a_launch_line(tmp_path):
    (tmp_path / "library.so").write_bytes(b"")
    document = run_comparison(job(f"{tmp_path / 'library.so'}:scale", text="x * 2", values={"x": "f32:10"}))
    assert "the arguments of `scale` in " in document["candidates"][1]["message"]


def test_bad_files_and_names_do_not_affect_other_candidates(tmp_path):
    broken, missing = tmp_path / "broken.cpp", tmp_path / "missing.cpp"
    broken.write_text('extern "C" void broken(float* out, long n) { out[0] = unknown; }\n// launch: args=out, n\n')
    unlaunched = function_file(tmp_path, "unlaunched", "", launch="args=x, y, out, n")
    raises = tmp_path / "functions.py"
    raises.write_text("def shape(x, y, b): return x.sum()\ndef raises(x, y, b): raise ValueError('no')\nnumber = 3\n")
    specs = [str(broken), str(missing), unlaunched, f"{raises}:shape", f"{raises}:raises", f"{raises}:number", f"{raises}:absent",
             "nonsense", "torch.compile:slow", f"{unlaunched}:other", "eager"]
    document = run_comparison(job(*specs))
    candidates = {spec: candidate_of(document, spec) for spec in specs}
    assert candidates["eager"]["state"] == "correct" and "us" in candidates["eager"]
    for spec, message in zip(specs, ["broken.cpp:1:55: error: 'unknown' was not declared", "there is no file", "gives 4 arguments, but the kernel takes 5",
                                     "the result has shape [], eager's [1000, 7]", "ValueError: no", "is a int, which cannot be called",
                                     "there is no `absent` in", "is not a candidate", "has no mode `slow`",
                                     "there is no `extern \"C\"` function `other` in"]):
        assert candidates[spec]["state"] in ("failed", "incorrect"), spec
        assert message in candidates[spec]["message"].replace("‘", "'").replace("’", "'"), (spec, candidates[spec]["message"])


SUM = """// launch: args=x, out, x.numel()
extern "C" void {name}(const float* x, float* out, long n) {{ float s = 0; for (long k = 0; k < {end}; ++k) s += x[k]; *out = s; }}
"""


def test_a_lost_tail_is_noticed_in_a_full_sum(tmp_path):
    specs = {}
    for name, end in (("whole", "n"), ("tail", "n - n % 4")):
        (tmp_path / f"{name}.cpp").write_text(SUM.format(name=name, end=end))
        specs[name] = str(tmp_path / f"{name}.cpp")
    document = run_comparison(job(*specs.values(), text="sum(x)", values={"x": "f32:40003"}))
    assert candidate_of(document, specs["whole"])["state"] == "correct"
    assert candidate_of(document, specs["tail"])["state"] == "incorrect"


def test_python_functions_may_not_change_arguments_or_the_process(tmp_path):
    path = tmp_path / "functions.py"
    path.write_text("import os, torch\ndef clears(x):\n    y = x.softmax(-1)\n    x.zero_()\n    return y\n"
                    "def naive(x):\n    e = x.exp()\n    return e / e.sum(-1, keepdim=True)\n"
                    "def leaves(x):\n    os._exit(0)\n")
    names = ("clears", "naive", "leaves")
    document = run_comparison(job(*(f"{path}:{name}" for name in names), "eager", text="softmax(x, -1)", values={"x": "f32:100x33"}))
    candidates = {name: candidate_of(document, f"{path}:{name}") for name in names}
    assert candidates["clears"]["state"] == "incorrect" and "writes its input x" in candidates["clears"]["message"]
    assert candidates["naive"]["state"] == "incorrect" and "on one special value per row" in candidates["naive"]["message"]
    assert candidates["leaves"]["state"] == "failed" and "exited with status 0" in candidates["leaves"]["message"]
    assert candidate_of(document, "eager")["us"] > 0


def test_one_file_with_two_launches_is_two_candidates(tmp_path):
    spec = function_file(tmp_path, "correct", BODIES["correct"])
    document = run_comparison(job(Against(spec), Against(spec, launches=["args=x, y, 0.25, out, n"])))
    assert [(c["spec"], c["state"]) for c in document["candidates"]] == [
        ("ingot", "correct"), (spec, "correct"), (f"{spec}#2", "incorrect")]


def test_canaries_surround_memory_that_is_changed_in_place(tmp_path):
    path = tmp_path / "adds.cpp"
    path.write_text('// launch: args=x, x.numel()\nextern "C" void adds(float* x, long n) { for (long k = 0; k <= n; ++k) x[k] += 1; }\n')
    document = run_comparison(job(str(path), text="def f(x):\n    x.add_(1)\n", values={"x": "f32:1000"}))
    assert "writes 4 bytes past the end of x" in candidate_of(document, str(path))["message"]


def test_an_incorrect_candidate_is_timed_only_on_request(tmp_path):
    spec = function_file(tmp_path, "nan", BODIES["nan"])
    assert "us" not in candidate_of(run_comparison(job(spec)), spec)
    time_incorrect = candidate_of(run_comparison(job(spec, time_incorrect=True)), spec)
    assert time_incorrect["state"] == "incorrect" and time_incorrect["us"] > 0
    finite = candidate_of(run_comparison(job(spec, specials=False)), spec)
    assert finite["state"] == "correct" and finite["us"] > 0


def test_gradients_are_compared_with_autograds(tmp_path):
    path = tmp_path / "backward.cpp"
    path.write_text('// launch: args=grad, x, y, out0, out1, n\nextern "C" void backward(const float* grad, const float* x, const '
                    "float* y, float* dx, float* dy, long n) { for (long k = 0; k < n; ++k) dx[k] = grad[k] * y[k], dy[k] = grad[k] * x[k]; }\n")
    document = run_comparison(job(str(path), "eager", text="x * y", values={"x": "f32:999", "y": "f32:999"}, backward=True))
    assert {c["spec"]: (c["state"], c["message"]) for c in document["candidates"]} == {
        spec: ("correct", "bit for bit") for spec in ("ingot", str(path), "eager")}
    assert document["bytes"] == 5 * 999 * 4


def test_times_over_sizes(tmp_path):
    task = job("eager", text="x * 2", values={"x": "f32:n"}, sizes={"n": 4096}, sweep_name="n", sweep_sizes=[64, 4096])
    document = run_comparison(task)
    assert [(p["size"], p["bytes"], sorted(p["candidates"])) for p in document["sweep"]["points"]] == [
        (64, 512, ["eager", "ingot"]), (4096, 32768, ["eager", "ingot"])]
    assert re.search(r"^n +ingot +eager\n64 ", report.text(document), re.MULTILINE)


# --- On a GPU ---------------------------------------------------------------------------------------------------------

GPU_BODIES = {
    "past": "if (i < n + 2) out[i] = 1;", "faults": "out[i + (1ll << 44)] = 1;", "hangs": "while (true) __nanosleep(1000);",
    "correct": "if (i < n) out[i] = x[i] * 2;", "by_four": "if (4 * i < n) { float4 v = ((const float4*)x)[i]; ((float4*)out)[i] = {v.x * 2, v.y * 2, v.z * 2, v.w * 2}; }"}


@on_a_gpu
def test_a_kernel_that_faults_or_hangs_does_not_affect_others(tmp_path):
    specs = {}
    for name, body in GPU_BODIES.items():
        specs[name] = str(tmp_path / f"{name}.cu")
        pathlib.Path(specs[name]).write_text(
            f"// launch: grid=ceil(n / 128) + 1, block=128, args=x, out, n\n__global__ void {name}(const float* x, float* out, int n) "
            f"{{ int i = blockIdx.x * 128 + threadIdx.x; {body} }}\n")
    document = run_comparison(job(*specs.values(), text="x * 2", values={"x": "f32:4096"}, device="cuda:0"), time_limit=30)
    candidates = {name: candidate_of(document, spec) for name, spec in specs.items()}
    assert candidates["correct"]["state"] == "correct" and candidates["correct"]["us"] > 0
    assert "writes 8 bytes past the end of a result" in candidates["past"]["message"]
    assert candidates["faults"]["state"] == "failed" and "illegal memory access" in candidates["faults"]["message"]
    assert "did not finish" in candidates["hangs"]["message"]
    assert candidates["by_four"]["state"] == "correct" and any("misaligned" in limit for limit in candidates["by_four"]["limits"])


# --- Others -----------------------------------------------------------------------------------------------------------


def test_jiterator_is_made_from_the_source():
    from ingot.tools.candidates.jiterated import function_text

    text, count = function_text(lambda x, y: torch.clamp(x, 0, 1) * y + 0.5, [torch.ones(3).bfloat16()] * 2)
    assert count == 1 and text.splitlines()[1:] == [
        "  using A = float;", "  const A a0 = x0;", "  const A a1 = x1;",
        "  const A v2 = (A(1) < (a0 < A(0) ? A(0) : a0) ? A(1) : (a0 < A(0) ? A(0) : a0));", "  const A v3 = v2 * a1;",
        "  const A v4 = v3 + A(0.5);", "  return v4;", "}"]
    for function in (lambda x: x.sum(), lambda x: x.int(), lambda x: torch.add(x, x, alpha=2)):
        with pytest.raises(ingot.Error, match="jiterator supports elementwise functions only"):
            function_text(function, [torch.ones(3)])
    for function, message in ((lambda x: torch.nn.functional.softplus(x, 2.0), "jiterator supports `softplus` with its default arguments only"),
                              (lambda x: x > 0, "results have the tensors' dtype, torch.float32, but this op's have torch.bool")):
        with pytest.raises(ingot.Error, match=message):
            function_text(function, [torch.ones(3)])


@on_a_gpu
def test_jiterator_runs_on_a_gpu():
    document = run_comparison(job("jiterator", text="F.silu(x) * y", values={"x": "f32:4096", "y": "f32:4096"}, device="cuda:0"))
    assert candidate_of(document, "jiterator")["state"] == "correct" and candidate_of(document, "jiterator")["us"] > 0
