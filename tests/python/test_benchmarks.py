"""What the benchmarks time and what they ask for, where no GPU is needed to know."""

import ctypes
import json
import pathlib
import subprocess
import sys

import pytest
import torch

import ingot

ROOT = pathlib.Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "benchmarks"))

import peers  # noqa: E402
import thresholds  # noqa: E402
import throughput  # noqa: E402
from cases import (  # noqa: E402
    FEW_TO_REDUCE,
    GRADIENTS,
    GRAPHS,
    ON_THE_CPU,
    ON_THE_GPU,
    REDUCTIONS,
    REDUCTIONS_ON_THE_CPU,
    SMALL,
    WITH_VALUES,
    graphs,
)
from cases.case import Case, Program, Tensors  # noqa: E402
from handwritten import FOLDERS, kernel_source, packed, parameter_types  # noqa: E402


def kernels():
    """Those that the cases launch; test_compare.py reads the other examples."""
    launched = {case.by_hand.name for case in ON_THE_GPU + REDUCTIONS if case.by_hand} | {"denoise"}
    return [next(path for folder in FOLDERS if (path := folder / f"{name}.cu").exists()) for name in sorted(launched)]


def test_arguments_are_passed_in_the_kernels_own_types():
    source = "extern \"C\" __global__ void f(const float* x, float b, long long n, int k, double d) {"
    types = parameter_types(source, "f")
    assert types == [ctypes.c_void_p, ctypes.c_float, ctypes.c_longlong, ctypes.c_int, ctypes.c_double]
    x = torch.ones(3)
    values = [value.value for value in packed(types, (x, 0.5, 1 << 40, 3, 0.1))]
    assert values == [x.data_ptr(), 0.5, 1 << 40, 3, 0.1]
    with pytest.raises(TypeError, match="takes 5 arguments, 1 were given"):
        packed(types, (x,))


@pytest.mark.parametrize("path", kernels(), ids=lambda path: path.stem)
def test_every_hand_written_kernel_is_read(path):
    types = parameter_types(path.read_text(), path.stem)
    assert ctypes.c_void_p in types and types[-1] in (ctypes.c_longlong, ctypes.c_int)


def test_the_hand_written_kernels_of_the_cases_compile():
    if torch.version.cuda is None:
        pytest.skip("explained: this PyTorch has no NVRTC")
    for name, options in sorted({(c.by_hand.name, c.by_hand.options) for c in ON_THE_GPU + REDUCTIONS if c.by_hand}):
        binary, _ = torch.cuda._utils._nvrtc_compile(
            kernel_source(name), name, "90", cuda_include_dirs=[str(FOLDERS[0])], nvcc_options=list(options))
        assert binary


def test_a_peer_that_computes_something_else_is_not_timed():
    x = torch.randn(8)
    peers.check(x + 0.5, (x + 0.5,))
    with pytest.raises(AssertionError, match="not close"):
        peers.check(x, (x + 0.5,))
    with pytest.raises(AssertionError, match="2 results instead of 1"):
        peers.check((x, x), (x,))


def test_torch_compile_is_given_functions_that_it_takes_for_different_ones():
    from torch._dynamo.testing import CompileCounter

    for k in range(torch._dynamo.config.recompile_limit + 1):
        function = peers.eager_function(Case("a case", f"x + {k}", lambda make: (make.normal(4),)))
        counter = CompileCounter()
        answer = torch.compile(function, backend=counter, fullgraph=True)(torch.zeros(4))
        assert torch.equal(answer, torch.full((4,), float(k)))
        assert counter.frame_count == 1


def test_every_case_has_a_threshold_and_every_threshold_a_case():
    for part, cases in (("large", ON_THE_GPU), ("small", SMALL), ("reductions", REDUCTIONS), ("few-to-reduce", FEW_TO_REDUCE),
                        ("values-and-gradients", WITH_VALUES), ("graphs", GRAPHS)):
        assert {case.group for case in cases} == set(thresholds.TABLE[part]["each"])
        assert set(thresholds.averages(part)) <= {case.group for case in cases}
    timed = {f"{kind}{case.name}" for case in GRADIENTS for kind in ("", "backward: ", "both: ")}
    assert set(thresholds.TABLE["gradients"]["each"]) <= timed
    for cases in (ON_THE_GPU, SMALL, ON_THE_CPU, REDUCTIONS + FEW_TO_REDUCE, GRADIENTS, WITH_VALUES, GRAPHS):
        assert len({case.name for case in cases}) == len(cases)


def test_a_threshold_is_missed_beyond_the_tolerance():
    found = thresholds.ratios({"times_as_fast_as": {"copy": 0.985, "compile": 0.97}})
    assert thresholds.missed({"copy": 1.0}, found) == []
    assert thresholds.missed({"copy": 1.0, "compile": 1.0, "best": 1.0}, found) == ["compile", "best"]
    assert thresholds.missed({"eager": 1.0}, found) == []


def test_cases_that_reduce_give_what_eager_does():
    made = [(case, case.make(Tensors("cpu"))) for case in REDUCTIONS_ON_THE_CPU]
    ingot.prepare_all((peers.ingot_op(case), args) for case, args in made)
    errors: dict[str, str] = {}
    for case, args in made:
        peers.checked(case, args, (), errors)
        assert not errors, (case.name, errors)


def test_a_case_that_fails_says_so_and_another_is_timed():
    cases = [Case("refused", "x.nonzero()", lambda make: (make.normal(4),)),
             Case("right", "x + 1", lambda make: (make.normal(4),))]
    refused, right = list(throughput.on_the_cpu(cases, ("eager",)))[:2]
    assert "nonzero" in refused["errors"]["ingot"] and "microseconds" not in refused
    assert set(right["microseconds"]) == {"ingot", "eager"} and not right["errors"]


def test_the_benchmarks_run(tmp_path):
    saved = tmp_path / "results.json"
    command = [sys.executable, ROOT / "benchmarks" / "run.py", "cpu", "--quick", "--only", "*off*", "--save", saved]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    rows = json.loads(saved.read_text())["cpu"]
    assert [row["case"] for row in rows if "f32" in row["case"]] == [
        f"{threads}: one off f32: x and y" for threads in ("one thread", "all threads")]
    assert all(set(row["microseconds"]) == {"ingot"} for row in rows)


def test_gradients_are_timed_that_are_eagers():
    for case in GRADIENTS:
        for kept in (True, False):
            errors: dict[str, str] = {}
            calls = peers.gradients(case, case.make(Tensors("cpu", 1 << 12)), ("eager",), kept, errors)
            assert not errors and set(calls) == {"ingot", "eager"}, (case.name, errors)


def test_gradients_that_are_not_eagers_are_not_timed():
    x = torch.randn(1000)
    peers.check_gradients((x,), (x * 1.001,))
    peers.check_gradients((x.flip(0),), (x,), draws=True)
    for found, draws in ((x.flip(0), False), (x * 1.1, True), (x * float("nan"), True)):
        with pytest.raises(AssertionError, match="apart"):
            peers.check_gradients((found,), (x,), draws)


def test_values_are_timed_with_gradients_that_are_eagers():
    for case in WITH_VALUES:
        errors: dict[str, str] = {}
        calls = peers.values_and_gradients(case, case.make(Tensors("cpu")), ("eager",), errors)
        assert not errors and set(calls) == {"ingot", "eager"}, (case.name, errors)


@pytest.mark.parametrize("program", [graphs.sampler(2), graphs.training(4)], ids=lambda program: program.group)
def test_programs_are_timed_that_give_what_eager_does(program):
    errors: dict[str, str] = {}
    assert set(peers.programs(program, Tensors("cpu"), ("eager",), errors)) == {"ingot", "eager"} and not errors
    spoilt = Program("spoilt", lambda make: program.makers(make) | {"ingot": lambda: lambda: torch.full((1,), 3.0)})
    assert set(peers.programs(spoilt, Tensors("cpu"), ("eager",), errors)) == {"eager"} and "ingot" in errors


def test_eager_is_timed_as_its_author_calls_it():
    f = ingot.op("def f(x, b: float):\n    return torch.relu(x) + F.silu(x) * b\n")
    x = torch.randn(8)
    call = f.reference.as_written(x, b=2)
    scope = call.func.__globals__
    assert (scope["torch"], scope["F"]) == (torch, torch.nn.functional)
    assert call.args == (x, 2.0) and type(call.args[1]) is float
    torch.testing.assert_close(call(), f.reference(x, 2), rtol=0, atol=0)


def test_eager_is_timed_with_names_that_only_the_language_puts_there():
    f = ingot.op("torch.gelu(x) + torch.relu(x)")
    x = torch.randn(8)
    torch.testing.assert_close(f.reference.as_written(x)(), f.reference(x), rtol=0, atol=0)


def test_run_times_the_text_and_nothing_around_it(monkeypatch):
    from ingot import _check

    timed = []
    monkeypatch.setattr(_check, "median_microseconds", lambda call, device: timed.append(call) or 1.0)
    f, x = ingot.op("torch.relu(x)"), torch.randn(8)
    answer = _check.check(f.reference, {"x": x}, [torch.relu(x)], "default", torch.device("cpu"))
    assert answer["ok"] and timed[0].func.__globals__["torch"] is torch
