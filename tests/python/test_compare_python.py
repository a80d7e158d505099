"""`ingot.compare` with functions, names of candidates, and kernels, in this process and in separate ones."""

import importlib
import itertools

import pytest
import torch

import ingot
from comparisons import BODIES, RELU_ADD, function_file, job, on_a_gpu, run_comparison
from ingot.tools import check, workload
from ingot.tools.job import Against


def test_python_functions_as_candidates():
    x, y = torch.randn(1000), torch.randn(1000)
    comparison = ingot.compare(ingot.op("x * y"), {"mine": lambda x, y: y * x, "off": lambda x, y: x * y + 1}, x, y, rounds=3)
    assert comparison["mine"]["state"] == "correct" and comparison["mine"]["us"] > 0 and comparison.speedup_of("mine") > 0
    assert comparison["off"]["state"] == "incorrect" and not comparison.is_correct
    assert "off: incorrect, differs at [" in str(comparison) and "<table>" in comparison._repr_html_()
    assert comparison.found["arguments"] == {"x": "f32:1000", "y": "f32:1000"}


def test_special_values_are_injected_into_copies():
    x, y = torch.randn(1000), torch.randn(1000)
    loses_nan = {"loses NaN": lambda x, y: torch.where(x > 0, x, 0) + y}
    for options in ({}, {"isolated": False}):
        assert ingot.compare(ingot.op("relu(x) + y"), loses_nan, x, y, rounds=3, **options)["loses NaN"]["state"] == "incorrect"
        assert ingot.compare(ingot.op("relu(x) + y"), loses_nan, x, y, rounds=3, specials=False, **options).is_correct


def test_sums_are_not_checked_on_the_largest_numbers():
    x = torch.randn(1000, 64)
    for text in ("F.layer_norm(x, (64,))", "x.var(0)", "x.std(-1)", "x.prod(0)"):
        assert ingot.compare(ingot.op(text), "eager", x, rounds=3, isolated=False, why=False).is_correct, text


def test_a_lost_element_is_noticed_on_positive_values():
    x = torch.randn(1000000)
    loses = {"loses": lambda x: (x.sum(dtype=torch.float64) - x[::1024].sum(dtype=torch.float64)).float()}
    comparison = ingot.compare(ingot.op("x.sum()"), loses, x, rounds=3, isolated=False, why=False)
    assert comparison["loses"]["message"].startswith("on positive values: differs at []")


def test_statistics_that_batch_norm_writes_are_compared():
    text = "def f(x, mean, var):\n    return F.batch_norm(x, mean, var, training=True)\n"
    x, mean, var = torch.randn(50, 4), torch.zeros(4), torch.ones(4)
    unwritten = {"unwritten": lambda x, mean, var: torch.nn.functional.batch_norm(x, mean.clone(), var.clone(), training=True)}
    comparison = ingot.compare(ingot.op(text), {"eager": "eager"} | unwritten, x, mean, var, rounds=1, isolated=False, why=False,
                               given_only=True, warm=True)
    assert [comparison[name]["state"] for name in ("ingot", "eager", "unwritten")] == ["correct", "correct", "incorrect"]
    assert mean.eq(0).all() and var.eq(1).all()


def test_modules_are_found_where_the_caller_finds_them(tmp_path, monkeypatch):
    (tmp_path / "mine_alone.py").write_text("def f(x):\n    return x * 2\n")
    monkeypatch.syspath_prepend(tmp_path)
    assert ingot.compare(ingot.op("x * 2"), "mine_alone:f", torch.randn(100), rounds=3).is_correct


def test_a_module_may_put_its_folder_on_the_path(tmp_path):
    (tmp_path / "parts").mkdir()
    (tmp_path / "parts" / "late_helper.py").write_text("def twice(x):\n    return x * 2\n")
    (tmp_path / "lazy.py").write_text("import os, sys\nsys.path.insert(0, os.path.join(os.path.dirname(__file__), 'parts'))\n\n\n"
                                      "def f(x):\n    from late_helper import twice\n    return twice(x)\n")
    assert ingot.compare(ingot.op("x * 2"), f"{tmp_path}/lazy.py:f", torch.randn(100), rounds=3).is_correct


def test_expanded_rows_are_passed_unchanged(tmp_path):
    path = tmp_path / "rows.cpp"
    path.write_text("// launch: args=x, x.stride(0), out, n\n"
                    'extern "C" void rows(const float* x, long stride, float* out, long n) {\n'
                    "  for (long k = 0; k < n; ++k) out[k] = x[k / 8 * stride + k % 8] * 2;\n}\n")
    comparison = ingot.compare(ingot.op("x * 2"), {"mine": ingot.Against(str(path))}, torch.randn(8).expand(32, 8), rounds=3)
    assert comparison["mine"]["state"] == "correct", comparison["mine"]["message"]


def test_in_place_changes_are_restored_before_each_round():
    """Otherwise a tensor that is halved a few thousand times is zero, and a candidate that halves something else goes
    unnoticed."""
    op = ingot.op("def f(x):\n    x.mul_(0.5)\n")
    calls = []

    def wrong_after_400_calls(x):
        calls.append(x.abs().max().item())
        x.mul_(0.5 if len(calls) < 400 else 0.25)

    comparison = ingot.compare(op, {"late": wrong_after_400_calls}, torch.full((1000,), 4.0), rounds=5, isolated=False, given_only=True, why=False)
    assert calls.count(4.0) > 64 * 5  # in each of five rounds, for each set of inputs
    assert comparison["ingot"]["state"] == "correct" and len(calls) > 400
    assert comparison["late"]["message"].startswith("after it was timed: differs at [")


def test_compares_in_inference_mode_and_without_candidates():
    op = ingot.op("x * 2")
    with torch.inference_mode():
        x = torch.randn(100)
        for options in ({}, {"isolated": False}):
            assert ingot.compare(op, "eager", x, rounds=3, why=False, **options)["eager"]["us"] > 0
    assert ingot.compare(op, None, torch.randn(100), rounds=3, why=False)["ingot"]["us"] > 0


def test_plots_show_names_unchanged_and_a_colour_per_candidate():
    """The name is invalid as mathtext: drawing it as such would raise an error."""
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("agg")
    comparison = ingot.compare(ingot.op("x * 2"), {r"$\bad{$": lambda x: x * 2}, torch.randn(100), rounds=3, why=False)
    axes = comparison.plot()
    axes.figure.canvas.draw()
    assert [matplotlib.colors.to_hex(bar.get_facecolor()) for bar in axes.patches] == [matplotlib.colors.to_hex(c) for c in ("C0", "C1")]


def test_bit_for_bit_refers_to_all_cases():
    flushes = {"flushes": lambda x: torch.where(x.abs() < 1e-38, 0.0, x)}
    comparison = ingot.compare(ingot.op("x * 1"), flushes, torch.randn(1000), rounds=3, isolated=False, why=False)
    assert comparison["flushes"]["message"].endswith(" on special values") and comparison["ingot"]["message"] == "bit for bit"


def test_arguments_that_compare_does_not_support_are_reported():
    several = ingot.op("def f(xs):\n    return xs[0] + xs[1]")
    for options in ({}, {"isolated": False}):
        with pytest.raises(ingot.Error, match="`xs` consists of several tensors, which compare does not support"):
            ingot.compare(several, "eager", [torch.randn(10), torch.randn(10)], **options)
    summed = ingot.op("def f(x, dims=(0, 1)):\n    return x.sum(dims)\n")
    with pytest.raises(ingot.Error, match="`dims` has several elements and cannot be sent to another process"):
        ingot.compare(summed, "eager", torch.randn(10, 10), (1, 0))
    assert ingot.compare(summed, "eager", torch.randn(10, 10), rounds=3, why=False).is_correct
    assert ingot.compare(summed, ["eager", "torch.compile"], torch.randn(10, 10), [1, 0], rounds=3, given_only=True, isolated=False).is_correct
    with pytest.raises(ingot.Error, match="`b` does not fit into 64 bits"):
        ingot.compare(ingot.op("def f(x, b: int):\n    return x * b"), "eager", torch.randn(10), 2**70)
    with pytest.raises(ingot.Error, match="`x` is of torch.float8_e4m3fn, which cannot be sent to another process"):
        ingot.compare(ingot.op("x.float() * 2"), "eager", torch.randn(10).to(torch.float8_e4m3fn))


def test_small_inputs_reveal_an_error_of_one_in_n():
    x = torch.randn(10, 100000)
    biased = {"biased": lambda x: x.var(-1, correction=0)}
    comparison = ingot.compare(ingot.op("x.var(-1)"), biased, x, rounds=3, isolated=False, why=False)
    assert any(limit.startswith("few elements: differs at [") for limit in comparison["biased"]["limits"])


def test_candidates_with_equal_names_are_all_kept(tmp_path):
    op, x = ingot.op("x * 2"), torch.randn(100)
    double, triple = (lambda x: x * 2), (lambda x: x * 3)
    options = {"rounds": 3, "isolated": False, "why": False}
    comparison = ingot.compare(op, [triple, double], x, **options)
    assert [(c["name"], c["state"]) for c in comparison.found["candidates"]] == [
        ("ingot", "correct"), ("<lambda>", "incorrect"), ("<lambda>#2", "correct")]
    by_name = ingot.compare(op, {"eager": triple, "theirs": "eager"}, x, **options)
    assert by_name["eager"]["state"] == "incorrect" and by_name["theirs"]["state"] == "correct"
    path = tmp_path / "scale.cpp"
    path.write_text('extern "C" void scale(const float* x, float* out, float by, long n) { for (long k = 0; k < n; ++k) out[k] = x[k] * by; }')
    launches = [ingot.Against(str(path), launches=[f"args=x, out, f32({factor}), n"]) for factor in (2, 3)]
    assert [c["state"] for c in ingot.compare(op, launches, x, **options).found["candidates"]] == ["correct", "correct", "incorrect"]
    for named, message in (({"ingot": double}, "is the name of the op itself"), ({"copy": double}, "is the name of the copy"), ({"f": 3}, "is a int")):
        with pytest.raises(ingot.Error, match=message):
            ingot.compare(op, named, x)


def test_a_case_without_enough_memory_is_skipped(monkeypatch):
    def short(*_):
        raise torch.OutOfMemoryError

    monkeypatch.setattr(workload, "_CHANGES", [(name, short if name == "boundary spikes" else change, injects) for name, change, injects in workload._CHANGES])
    comparison = ingot.compare(ingot.op("x * 2"), "eager", torch.randn(100), rounds=3, isolated=False, why=False)
    assert comparison.is_correct and comparison["eager"]["us"] > 0 and "special values" in comparison["eager"]["cases"]
    assert "no candidate was checked on boundary spikes: there was not enough memory for it" in str(comparison)
    monkeypatch.setattr(check.Expected, "_add_bound", short)
    off = ingot.compare(ingot.op("x * 2"), {"off": lambda x: x * (2 + 1e-6)}, torch.randn(100), rounds=3, isolated=False, why=False)
    assert off["ingot"]["us"] > 0 and off["off"]["message"].startswith("its results differ from eager's bits, and there is not enough memory")


@pytest.mark.parametrize("old, new", [("as_asked", "given_only"), ("anyway", "time_incorrect")])
def test_renamed_keywords_are_rejected_with_the_new_name(old, new):
    with pytest.raises(ingot.Error, match=f"`{old}=` is now `{new}=`(.|\\n)*write {new}=True"):
        ingot.compare(ingot.op("x * 2"), "eager", torch.randn(8), **{old: True})


def test_random_ops_need_time_incorrect():
    dropout, x = ingot.op("F.dropout(x, 0.5)"), torch.randn(1000)
    with pytest.raises(ingot.Error, match="uses random numbers: other candidates get different ones"):
        ingot.compare(dropout, "eager", x, isolated=False)
    comparison = ingot.compare(dropout, "eager", x, isolated=False, time_incorrect=True, rounds=3)
    assert comparison["eager"]["us"] > 0


def test_candidates_are_found_by_spec_and_by_name(tmp_path):
    spec = function_file(tmp_path, "correct", BODIES["correct"])
    comparison = ingot.compare(ingot.op(RELU_ADD), {"by hand": spec}, torch.randn(100, 7), torch.randn(7), bias=0.5, rounds=3)
    assert comparison["by hand"]["state"] == "correct" and comparison[spec] is comparison["by hand"]


def test_a_candidate_that_is_correct_only_once_is_caught_before_timing():
    calls = itertools.count()
    once = {"once": lambda x: x * 2 + (next(calls) > 0)}
    comparison = ingot.compare(ingot.op("x * 2"), once, torch.randn(1000), rounds=3, isolated=False, given_only=True)
    assert comparison["once"]["message"].startswith("from call 2 on: differs at [") and "us" not in comparison["once"]


def test_a_candidate_that_fails_after_many_calls_is_incorrect():
    calls = itertools.count()
    tired = {"tired": lambda x: x * 2 + (next(calls) > 100)}
    comparison = ingot.compare(ingot.op("x * 2"), tired, torch.randn(1000), rounds=3, isolated=False)
    assert comparison["tired"]["state"] == "incorrect" and "after it was timed: differs at [" in comparison["tired"]["message"]
    assert not comparison.is_correct and comparison["ingot"]["state"] == "correct"


def test_in_this_process_only_tensors_that_require_grad_get_gradients():
    x, y = torch.randn(100, 7, requires_grad=True), torch.randn(7)
    comparison = ingot.compare(ingot.op("torch.relu(x) * y"), "eager", x, y, backward=True, given_only=True, isolated=False, rounds=3,
                               why=False)
    assert comparison.is_correct and set(comparison["eager"]["cases"]) == {"as given"} and comparison["ingot"]["kernels"] is None
    bytes_moved = comparison.found["bytes"]  # x, y, the incoming gradient, and the gradient of x only
    assert bytes_moved == 4 * (700 + 7 + 700 + 700)
    assert x.grad is None
    wrt_both = ingot.compare(ingot.op("torch.relu(x) * y"), "eager", x.detach(), y, backward=True, given_only=True, rounds=3, why=False)
    assert wrt_both.is_correct and wrt_both.found["bytes"] == bytes_moved + 4 * 7


TRITON = """
import triton
import triton.language as tl


@triton.jit
def scaled(x, out, factor, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + at, tl.load(x + at, at < n) * factor, at < n)
"""


def test_a_triton_kernel_with_its_launch(tmp_path, monkeypatch):
    pytest.importorskip("triton")
    (tmp_path / "scales_here.py").write_text(TRITON)
    monkeypatch.syspath_prepend(tmp_path)
    kernel, op = importlib.import_module("scales_here").scaled, ingot.op("x * 2")
    x = torch.randn(10000, device="cuda" if torch.cuda.is_available() else "cpu")
    candidate = ingot.Against(kernel, launches=["grid=ceil(n / BLOCK), args=x, out, 2.0, n, BLOCK=1024"])
    comparison = ingot.compare(op, {"mine": candidate, "eager": "eager"}, x, rounds=3, why=False)
    assert comparison["mine"]["state"] == ("correct" if x.is_cuda else "unchecked"), comparison["mine"]["message"]
    with pytest.raises(ingot.Error, match="the Triton kernel `scaled` needs a launch"):
        ingot.compare(op, kernel, x)
    with pytest.raises(ingot.Error, match="`twice` is called, not launched"):
        ingot.compare(op, {"twice": ingot.Against(lambda x: x * 2, launches=["args=x"])}, x)


@on_a_gpu
def test_a_triton_kernel_is_launched(tmp_path):
    (tmp_path / "scales.py").write_text(TRITON)
    spec = f"{tmp_path / 'scales.py'}:scaled"
    launches = {"correct": "grid=ceil(n / 1024), args=x, out, 2.0, n, BLOCK=1024", "short": "grid=n // 1024, args=x, out, 2.0, n, BLOCK=1024"}
    against = [Against(spec, [launch], name=name) for name, launch in launches.items()]
    document = run_comparison(job(*against, text="x * 2", values={"x": "f32:10000"}, device="cuda:0"))
    correct, short = document["candidates"][1:]
    assert (correct["state"], correct["kind"]) == ("correct", "triton") and correct["us"] > 0, correct["message"]
    assert short["state"] == "incorrect" and "elements unwritten" in short["message"]


def test_an_op_may_have_a_parameter_named_grad():
    step, x, y = ingot.op("def step(p, grad, rate: float): return p - rate * grad"), torch.randn(100), torch.randn(100)
    assert ingot.compare(step, "eager", x, y, 0.5, rounds=3, given_only=True).is_correct
    with pytest.raises(ingot.Error, match="has a parameter `grad`"):
        ingot.compare(step, "eager", x, y, 0.5, rounds=3, backward=True, isolated=False)
