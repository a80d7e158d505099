"""Tests of the random benchmark cases that need no GPU."""

import argparse
import math
import pathlib
import pickle
import sys
import time

import pytest
import torch

import ingot
from ingot.tools import check, workload
from ingot.tools.candidates import Ingot
from ingot.tools.run_case import bind, run_case

sys.path.insert(0, str(pathlib.Path(__file__).parents[2] / "benchmarks"))

import measure  # noqa: E402
import report  # noqa: E402
import run  # noqa: E402
import thresholds  # noqa: E402
from call_with_gradient import workload_of  # noqa: E402
from cases import random_shapes  # noqa: E402
from cases.case import Tensors  # noqa: E402
from cases.random_shapes import random_case  # noqa: E402

TINY = 1e-5  # a scale: a few hundred elements
ON_THE_CPU = Tensors("cpu")


def test_a_case_depends_on_its_seed_and_index_alone():
    cases = [random_case(seed, index) for seed in range(3) for index in range(20)]
    assert [random_case(case.seed, case.index) for case in reversed(cases)] == cases[::-1]
    assert len({case.name.partition(" ")[2] for case in cases}) == len(cases)
    assert pickle.loads(pickle.dumps(cases)) == cases
    case = random_case(3, 1, TINY)
    assert all(torch.equal(a, b) for a, b in zip(case.make(ON_THE_CPU), case.make(ON_THE_CPU), strict=True))


def test_scaled_cases_differ_in_their_sizes_only():
    for index in range(50):
        large, small = random_case(0, index), random_case(0, index, TINY)
        assert (large.dtype, large.layout, large.has_gradient) == (small.dtype, small.layout, small.has_gradient)
        assert len(large.operands[0].shape) == len(small.operands[0].shape)
        assert large.label.replace(", affine", "").replace("affine", "") == small.label.replace(", affine", "").replace("affine", "")


def test_cases_cover_all_functions_ranks_layouts_and_dtypes():
    cases = [random_case(seed, index) for seed in range(5) for index in range(200)]
    assert [case.has_gradient for case in cases] == [False, True] * 500
    megabytes = [math.prod(case.operands[0].shape) * random_shapes.DTYPES[case.dtype].itemsize / 2**20 for case in cases]
    assert 2 < min(megabytes) < 5 and 400 < max(megabytes) <= 512
    assert {(case.layout, case.dtype) for case in cases} == {
        (layout, dtype) for layout in random_shapes.LAYOUTS for dtype in random_shapes.DTYPES}
    assert {len(case.operands[0].shape) for case in cases} == {2, 3, 4, 5}
    text = "".join(case.text for case in cases)
    for function in random_shapes.FUNCTIONS:
        assert f"{function.split()[0]}(" in text or function in ("norm", "bias gradient")


@pytest.mark.parametrize("layout", random_shapes.LAYOUTS)
def test_operands_have_the_layout_of_the_case(layout):
    case = next(case for index in range(100) if (case := random_case(0, index, TINY)).layout == layout
                and len(case.operands[0].shape) == 4 and min(case.operands[0].shape) > 1)
    x = case.make(ON_THE_CPU)[0]
    assert x.shape == case.operands[0].shape and x.requires_grad == case.has_gradient
    assert x.is_contiguous() == (layout == "contiguous")
    assert x.is_contiguous(memory_format=torch.channels_last) == (layout == "channels-last")


@pytest.mark.parametrize("seed", range(3))
def test_random_cases_equal_eager(seed):
    workloads = [workload_of(case, case.make(ON_THE_CPU)) for case in (random_case(seed, index, TINY) for index in range(3))]
    ingot.prepare_all([(each.op, tuple(each.arguments.values())) for each in workloads])
    for each in workloads:
        verdict = run_case(Ingot(each.op), workload.Case("as given", each), check.Expected.of(each))
        assert verdict.correct, (verdict.message, each.op.text)


def test_an_incorrect_gradient_is_noticed():
    case = next(case for index in range(1, 100, 2) if "softmax" in (case := random_case(0, index, TINY)).label)
    each = workload_of(case, case.make(ON_THE_CPU))
    result, gradient = bind(Ingot(each.op), each, each.values, [])()
    expected = check.Expected.of(each)
    assert check.check(expected, [result, gradient]).correct
    gradient.view(-1)[gradient.abs().argmax()] *= 1.1
    assert not check.check(expected, [result, gradient]).correct


def test_a_case_is_measured_alone(capsys):
    options = argparse.Namespace(case=(0, 5), only=None, baselines=("eager",), end=time.monotonic() + 60)
    results, _ = run.measure_random_shapes(options, "cpu-random-shapes", "cpu", TINY, measure.random_shapes_on_the_cpu)
    rows, summary = results["cpu_random_shapes"], results["cpu_random_shapes_summary"]
    assert [row["case"] for row in rows] == [f"{threads}: {random_case(0, 5, TINY).name}" for threads in ("one thread", "all threads")]
    assert all(not row["errors"] and set(row["microseconds"]) == {"ingot", "eager"} for row in rows)
    assert summary["seed"] == 0 and [group["group"] for group in summary["groups"]] == ["one thread", "all threads"]
    assert "random shapes of seed 0" in capsys.readouterr().out


def test_only_ingot_must_be_correct(monkeypatch):
    case = next(case for index in range(0, 100, 2) if (case := random_case(0, index, TINY)).label.startswith("log_softmax"))
    monkeypatch.setitem(measure.CANDIDATE_NAMES, "eager", "operator:neg")
    row = measure.attempt(case, ON_THE_CPU, ("eager",), warm=True, rounds=1, compare=measure.compare_workload)
    assert not row["errors"] and row["microseconds"]["eager"] > 0 and "differs at [" in row["unchecked"]["eager"]
    incorrect = {"candidates": [{"name": "ingot", "state": "incorrect", "message": "differs at [3]"}]}
    monkeypatch.setattr(measure.report, "document", lambda *_: incorrect)
    row = measure.attempt(case, ON_THE_CPU, (), warm=True, rounds=1, compare=measure.compare_workload)
    assert row["errors"] == {"ingot": "AssertionError: differs at [3]"} and "microseconds" not in row


def test_the_worst_cases_are_listed_first(capsys):
    def row(case: str, **speedups: float) -> dict:
        return {"case": case, "group": "random shapes", "errors": {}, "microseconds": {"ingot": 2.0} | {n: 2 * s for n, s in speedups.items()},
                "times_as_fast_as": speedups | {"copy": 0.5}}

    failed = {"case": "failed", "group": "random shapes", "errors": {"ingot": "refused"}}
    rows = [row("a", eager=4.0, compile=1.0), failed, row("b", eager=0.9, compile=2.0), row("c", eager=2.0, compile=0.5)]
    summary, = report.summarize("random-shapes", rows)
    assert (summary["worst"], summary["with_errors"], summary["cases"]) == (["c", "b", "a"], ["failed"], 4)
    assert summary["compile"] == {"geometric_mean": pytest.approx(1.0), "limit": 0.95, "below": 1} and summary["eager"]["below"] == 1
    assert "1 of 3 cases below 0.95" in capsys.readouterr().out


def test_the_groups_of_random_cases_have_thresholds():
    for part, groups in (("random-shapes", {random_shapes.RandomCase.group}), ("cpu-random-shapes", {"one thread", "all threads"})):
        assert set(thresholds.TABLE[part]["each"]) == set(thresholds.averages(part)) == groups
