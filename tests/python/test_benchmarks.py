"""Tests of the benchmarks that need no GPU: their cases, thresholds and tables."""

import argparse
import dataclasses
import json
import pathlib
import subprocess
import sys
import time

import pytest
import torch

import ingot
from ingot.tools import benchmark, candidates, error_statistics, launch, verification
from ingot.oracle import as_list

ROOT = pathlib.Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "benchmarks"))

import measure  # noqa: E402
import rows  # noqa: E402
import run  # noqa: E402
import saved  # noqa: E402
import steps  # noqa: E402
import tables  # noqa: E402
import thresholds  # noqa: E402
import verify_names  # noqa: E402
from cases import (  # noqa: E402
    FEW_TO_REDUCE,
    GRADIENTS,
    GRAPHS,
    ON_THE_CPU,
    ON_THE_GPU,
    REDUCTIONS,
    REDUCTIONS_ON_THE_CPU,
    SMALL,
    VALUE_AND_GRAD,
    graphs,
)
from cases.case import Case, Tensors  # noqa: E402

HANDWRITTEN = list({(c.handwritten.name, c.handwritten.options, c.handwritten.launch): c
                    for c in ON_THE_GPU + REDUCTIONS if c.handwritten}.values())


@pytest.mark.parametrize("case", HANDWRITTEN, ids=lambda case: case.name)
def test_hand_written_kernels_compile_and_get_their_arguments(case):
    if torch.version.cuda is None:
        pytest.skip("explained: this PyTorch has no NVRTC")
    against = case.handwritten.against
    kernel = candidates.named(against.spec, ingot.op(case.text), against.launches, against.options)
    program = kernel.program(90)
    op, args = ingot.op(case.text), case.make(Tensors("cpu", 1 << 18))
    values = op.signature.bind(*args)
    values.apply_defaults()
    scope = launch.scope_of(dict(values.arguments), as_list(op.reference(*args)))
    for kernel_launch, entry in zip(kernel.launches, kernel.entries):
        packed_arguments = kernel_launch.arguments(scope, program.parameters[entry])
        assert all(launch.pack(a, p) for a, p in zip(packed_arguments, program.parameters[entry]))
        assert kernel_launch.extent("block", scope) == (256, 1, 1)


def test_an_incorrect_baseline_is_reported(monkeypatch):
    monkeypatch.setitem(measure.CANDIDATE_NAMES, "eager", lambda x: x + 0.5)
    row = measure.attempt(Case("a case", "x + 1", lambda make: (make.normal(1000),)), Tensors("cpu"), ("eager",), warm=True)
    assert "differs at [" in row["errors"]["eager"] and set(row["microseconds"]) == {"ingot"}


def test_every_case_has_a_threshold_and_every_threshold_a_case():
    """A gradient need not have a threshold."""
    for part, cases in (("large", ON_THE_GPU), ("small", SMALL), ("reductions", REDUCTIONS), ("few-to-reduce", FEW_TO_REDUCE),
                        ("values-and-gradients", VALUE_AND_GRAD), ("graphs", GRAPHS)):
        assert {case.group for case in cases} == set(thresholds.TABLE[part]["each"])
        assert set(thresholds.averages(part)) <= {case.group for case in cases}
    timed = {f"{kind}{case.name}" for case in GRADIENTS for kind in ("", "backward: ", "both: ")}
    assert set(thresholds.TABLE["gradients"]["each"]) <= timed
    for cases in (ON_THE_GPU, SMALL, ON_THE_CPU, REDUCTIONS + FEW_TO_REDUCE, GRADIENTS, VALUE_AND_GRAD, GRAPHS):
        assert len({case.name for case in cases}) == len(cases)


def test_a_threshold_is_missed_beyond_the_tolerance():
    ratios = thresholds.ratios({"times_as_fast_as": {"copy": 0.985, "compile": 0.97}})
    assert thresholds.missed({"copy": 1.0}, ratios) == []
    assert thresholds.missed({"copy": 1.0, "compile": 1.0, "best": 1.0}, ratios) == ["compile", "best"]
    assert thresholds.missed({"eager": 1.0}, ratios) == []
    assert thresholds.ratios({"times_as_fast_as": {"copy": 0.1, "eager": 2.0, "compile": 1.5}})["best"] == 1.5  # the copy is not a baseline


def test_reductions_equal_eager():
    calls = [(ingot.op(case.text, **case.options), case.make(Tensors("cpu"))) for case in REDUCTIONS_ON_THE_CPU]
    ingot.prepare_all(calls)
    for op, args in calls:
        in_float32 = [a.float() if isinstance(a, torch.Tensor) and a.is_floating_point() else a for a in args]
        for actual, expected in zip(as_list(op(*args)), as_list(op.reference(*in_float32)), strict=True):
            rtol, atol = (1e-2, 1e-3) if actual.dtype.itemsize == 2 else (1e-4, 1e-5)
            torch.testing.assert_close(actual.float(), expected, rtol=rtol, atol=atol)


def test_a_failing_case_is_reported_and_the_others_are_timed():
    cases = [Case("rejected", "x.nonzero()", lambda make: (make.normal(4),)),
             Case("correct", "x + 1", lambda make: (make.normal(4),))]
    failed, _, correct, _ = measure.on_the_cpu(cases, ("eager",))  # on one thread, and on all
    assert "nonzero" in failed["errors"]["ingot"] and "microseconds" not in failed
    assert set(correct["microseconds"]) == {"ingot", "eager"} and not correct["errors"]
    assert correct["times_as_fast_as"]["eager"] == pytest.approx(correct["microseconds"]["eager"] / correct["microseconds"]["ingot"], rel=0.5)


@pytest.mark.parametrize("seconds, messages", [(-1, ["2 more, from b on: ingot failed: no time was left"]), (60, [])])
def test_cases_without_time_left_are_reported(seconds, messages):
    def rows_of(cases, selected):
        for case in cases:
            yield {"case": case.name, "group": case.name, "errors": {}}

    cases = [Case(name, "x + 1", lambda make: (make.normal(4),)) for name in ("a", "b", "c")]
    options = argparse.Namespace(only=["[bc]", "none"], baselines=(), end=time.monotonic() + seconds)
    measured, errors = run.measure_cases(options, "cpu", "a title", "microseconds", (), cases, rows_of)
    assert errors == messages and [row["case"] for row in measured] == ([] if messages else ["b", "c"])


def test_torch_compile_compiles_for_each_number_of_threads():
    from torch._inductor import config

    before = torch.get_num_threads(), config.cpp.threads
    with measure.cpu_threads(1):
        assert torch.get_num_threads() == config.cpp.threads == 1
    assert (torch.get_num_threads(), config.cpp.threads) == before


def test_a_row_is_made_from_a_comparison():
    document = {"timing_error": None, "copy_gb_s": 100.0, "candidates": [
        {"name": "ingot", "state": "correct", "message": "", "us": 2.0, "cpu_overhead_us": 5.0, "share_of_copy": 0.9, "speedup": 1.0},
        {"name": "eager", "state": "correct", "message": "", "us": 8.0, "cpu_overhead_us": 3.0, "share_of_copy": 0.2, "speedup": 0.25},
        {"name": "compile", "state": "failed", "message": "it is late", "cases": {}},
        {"name": "mine", "state": "incorrect", "message": "differs at [3]"}]}
    row = measure.row_of(document)
    assert row["times_as_fast_as"] == {"eager": 4.0, "copy": 0.9} and row["share_of_copy"]["eager"] == 0.2
    assert row["errors"] == {"compile": "it is late", "mine": "differs at [3]"}
    assert measure.row_of(document, with_cpu_overhead=True)["times_as_fast_as"] == {"eager": 8.0 / 5.0, "copy": 0.9}
    assert set(measure.row_of(document, must_be_correct=False)["errors"]) == {"compile"}


@pytest.mark.parametrize("path", tables.DOCUMENTS, ids=lambda path: path.name)
def test_the_documents_tables_match_the_saved_results(path):
    assert tables.with_new_tables(path.read_text()) == path.read_text(), "python benchmarks/tables.py makes them anew"


def test_every_table_is_in_a_document_and_its_cases_are_measured():
    marked = {name for path in tables.DOCUMENTS for _, name, _, table in tables.MARK.findall(path.read_text()) if table}
    assert marked == {*tables.TABLES}
    names = {case.name for case in (*ON_THE_GPU, *REDUCTIONS, *FEW_TO_REDUCE, *ON_THE_CPU, *VALUE_AND_GRAD, *GRAPHS)}
    names |= {f"{kind}: {case.name}" for kind in ("backward", "both") for case in GRADIENTS}
    selected = [name for table in vars(rows).values() if isinstance(table, list) for _, patterns in table for name in patterns]
    assert not [name for name in selected if not any(tables.matches(name, case) for case in names)]


def test_a_table_is_made_from_saved_rows():
    def row(case, **shares):
        return {"case": case, "share_of_copy": shares}

    table = tables.table_of_cases("large", [("`a` · `b*`", ["a", "b*"]), ("`c`", ["c"])], tables.SHARES)
    saved_rows = [row("a", ingot=0.5, eager=0.123), row("b1", ingot=1.0), row("b2", ingot=1.25), row("c", ingot=1.0)]
    assert table({"large": saved_rows}) == (
        "| work | Ingot | eager |\n| --- | --- | --- |\n| `a` · `b*` | 0.50 · 1.00 to 1.25 | 0.12 · – |\n| `c` | 1.00 | – |\n")
    with pytest.raises(KeyError, match="no saved results have a case c"):
        table({"large": saved_rows[:3]})
    assert [tables.digits(2, 1e-3)(us) for us in (82, 200, 1234, 12345)] == ["0.082", "0.20", "1.2", "12"]


def test_results_are_saved_with_one_line_per_row_and_rounded_floats():
    text = saved.as_text({"machine": {"threads": 123456}, "cpu": [{"case": "a", "us": 1.2345678, "errors": {}}, {"case": "b"}],
                          "mul": {"run": {"sizes": {"n": 123456}}, "candidates": [{"name": "ingot", "speedup": None}]}})
    assert text == """{
"machine":{"threads":123456},
"cpu":[
{"case":"a","us":1.2346},
{"case":"b"}
],
"mul":{
"run":{"sizes":{"n":123456}},
"candidates":[
{"name":"ingot"}
]
}
}
"""
    for path in tables.RESULTS.glob("*.json"):
        assert saved.as_text(json.loads(path.read_text())) == path.read_text(), f"{path.name} is not in the saved form"


def test_the_benchmarks_run(tmp_path):
    results = tmp_path / "results.json"
    command = [sys.executable, ROOT / "benchmarks" / "run.py", "cpu", "--quick", "--only", "*off*", "--save", results]
    completed = subprocess.run(command, capture_output=True, text=True)
    assert completed.returncode == 0, completed.stdout + completed.stderr
    rows = json.loads(results.read_text())["cpu"]
    assert [row["case"] for row in rows if "f32" in row["case"]] == [
        f"{threads}: one off f32: x and y" for threads in ("one thread", "all threads")]
    assert all(set(row["microseconds"]) == {"ingot"} for row in rows)


@pytest.mark.parametrize("case", GRADIENTS, ids=lambda case: case.name)
def test_gradients_equal_eager(case):
    args = case.make(Tensors("cpu", 1 << 12))
    row = measure.compare_case(case, args, ("eager",), backward=True, time_incorrect=case.is_random, warm=True, rounds=3)
    assert all(c["state"] == "correct" or case.is_random for c in row["candidates"]), [c["message"] for c in row["candidates"]]
    assert all("us" in c for c in row["candidates"])
    errors: dict[str, str] = {}
    calls = steps.checked_calls(steps.with_gradient(case, case.make(Tensors("cpu", 1 << 12))), ("eager",), errors, case.is_random)
    assert not errors and set(calls) == {"ingot", "eager"}, errors


def test_results_that_differ_from_eager_are_rejected():
    x = torch.randn(1000)
    steps.check((x,), (x * 1.001,))
    steps.check((x.flip(0),), (x,), is_random=True)
    for result, is_random in ((x.flip(0), False), (x * 1.1, True), (x * float("nan"), True)):
        with pytest.raises(AssertionError, match="differs"):
            steps.check((result,), (x,), is_random)
    with pytest.raises(ValueError):
        steps.check((x, x), (x,))


def test_a_candidate_that_fails_while_timed_is_dropped(monkeypatch):
    def run_rounds(runners, *_, **__):
        if "compile" in runners:
            raise benchmark.Dropped("compile") from ValueError("late")
        return {candidate: benchmark.Times([2.0 if candidate == "eager" else 1.0] * 3, None) for candidate in runners}

    monkeypatch.setattr(steps, "run_rounds", run_rounds)
    errors: dict[str, str] = {}
    row = steps.time_calls(dict.fromkeys(("ingot", "eager", "compile"), lambda: None), errors)
    assert errors == {"compile": "ValueError: late"} and row["times_as_fast_as"] == {"eager": 2.0}


def test_values_with_gradients_equal_eager():
    for case in VALUE_AND_GRAD:
        errors: dict[str, str] = {}
        calls = steps.checked_calls(steps.loss_with_gradient(case, case.make(Tensors("cpu"))), ("eager",), errors)
        assert not errors and set(calls) == {"ingot", "eager"}, (case.name, errors)
        pred, target, _ = case.make(Tensors("cpu"))
        assert calls["ingot"].bytes_moved == 2 * pred.nbytes + target.nbytes  # both are read, a gradient is written


@pytest.mark.parametrize("program", [graphs.sampler(2), graphs.training(4)], ids=lambda program: program.group)
def test_programs_that_differ_from_eager_are_not_timed(program):
    errors: dict[str, str] = {}
    assert set(steps.checked_calls(program.makers(Tensors("cpu")), ("eager",), errors)) == {"ingot", "eager"} and not errors
    incorrect = dataclasses.replace(program, makers=lambda make: program.makers(make) | {"ingot": lambda: lambda: torch.full((1,), 3.0)})
    assert set(steps.checked_calls(incorrect.makers(Tensors("cpu")), ("eager",), errors)) == {"eager"} and "ingot" in errors


def test_the_timed_eager_call_has_no_wrappers():
    f = ingot.op("def f(x, b: float):\n    return torch.relu(x) + F.silu(x) * b\n")
    x = torch.randn(8)
    call = f.reference.as_written(x, b=2)
    scope = call.func.__globals__
    assert (scope["torch"], scope["F"]) == (torch, torch.nn.functional)
    assert call.args == (x, 2.0) and type(call.args[1]) is float
    torch.testing.assert_close(call(), f.reference(x, 2), rtol=0, atol=0)


def test_the_timed_eager_call_accepts_torch_gelu():
    f = ingot.op("torch.gelu(x) + torch.relu(x)")
    x = torch.randn(8)
    torch.testing.assert_close(f.reference.as_written(x)(), f.reference(x), rtol=0, atol=0)


def test_run_times_eager_without_wrappers(monkeypatch):
    from ingot import _check

    calls = []
    monkeypatch.setattr(_check, "median_microseconds", lambda call, device: calls.append(call) or 1.0)
    f, x = ingot.op("torch.relu(x)"), torch.randn(8)
    result = _check.check(f.reference, {"x": x}, [torch.relu(x)], "default", torch.device("cpu"))
    assert result["ok"] and calls[0].func.__globals__["torch"] is torch


def test_verify_names_fails_if_a_result_is_incorrect(monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["verify_names.py", "--device", "cpu", "--dtypes", "f16"])
    monkeypatch.setattr(verify_names, "ops_of_unary_functions", lambda: [ingot.op("square(x)")])
    with pytest.raises(SystemExit) as exit_of_a_correct_function:
        verify_names.main()
    assert exit_of_a_correct_function.value.code == 0 and "INCORRECT" not in capsys.readouterr().out
    incorrect = error_statistics.ErrorStatistics(ingot.op("square(x)"), torch.float16)
    x = torch.tensor([2.0, 3.0], dtype=torch.float16)
    incorrect.add({"x": x}, actual=x * x + 1, eager=x * x, exact=(x * x).double())
    monkeypatch.setattr(verification, "statistics", lambda *_: [incorrect])
    with pytest.raises(SystemExit) as exit_of_an_incorrect_function:
        verify_names.main()
    assert exit_of_an_incorrect_function.value.code == 1 and "is 5.0, eager 4.0" in capsys.readouterr().out
