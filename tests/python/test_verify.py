"""`ingot verify`: unary functions on all 16-bit inputs, binary functions on pairs, and whether it would notice an
error."""

import re

import names_table
import pytest
import torch
from full_run import FULL_RUN, subset

import ingot
from ingot.tools import command, verification
from ingot.tools.error_statistics import ErrorStatistics

DEVICES = ["cpu", pytest.param("cuda", marks=pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device"))]
SHORT = {"f16": torch.float16, "bf16": torch.bfloat16}


def rows(arity: int) -> list[names_table.Row]:
    table = {1: names_table.UNARY, 2: names_table.BINARY}[arity]
    return [row for row in table if "f" in row.kinds and row.arity == arity]


@pytest.fixture(scope="module", params=[1, 2])
def ops(request) -> list:
    """Ops of functions, with their kernels compiled together, which takes a tenth of the time."""
    compiled = [ingot.op(row.text) for row in subset(rows(request.param), request.param)]
    for op in compiled:
        calls = [(op, [torch.ones(1 << 16, dtype=dtype)] * request.param) for dtype in SHORT.values()]
        op.calls = calls
    try:
        ingot.prepare_all([call for op in compiled for call in op.calls])
    except ingot.Error:
        pass  # the op rejects a dtype, which verification.statistics leaves out
    return compiled


@pytest.mark.parametrize("device", DEVICES)
def test_functions_of_16_bit_floats(ops, device):
    failures, checked = [], 0
    for op in ops:
        for statistics in verification.statistics(op, ("f16", "bf16"), device, pairs=1 << 16):
            checked += 1
            assert statistics.inputs >= 1 << 16
            if statistics.incorrect:
                failures.append((op.text, statistics.dtype, statistics.incorrect, statistics.first_incorrect["call"], statistics.first_incorrect["ours"], statistics.first_incorrect["eager"]))
    assert not failures
    assert checked > (60 if FULL_RUN else 20)


def test_statistics_notice_one_wrong_element():
    x = torch.arange(-(1 << 15), 1 << 15).to(torch.int16).view(torch.float16)
    exact, expected = x.double().exp(), torch.exp(x)
    actual = expected.clone()
    index = int((x == 1.5).nonzero())
    actual[index] = actual[index] * 1.01
    statistics = ErrorStatistics(ingot.op("exp(x)"), torch.float16)
    statistics.add({"x": x}, actual, expected, exact)
    assert statistics.inputs == 65536 and statistics.as_eager == 65535 and statistics.incorrect == 1
    assert statistics.first_incorrect["inputs"] == {"x": "1.5"} and statistics.first_incorrect == statistics.first_other == statistics.worst_at
    call = statistics.first_incorrect["call"]
    assert eval(call, {"ingot": ingot, "torch": torch}).item() == expected[index].item()
    assert sum(statistics.histogram) == int((exact.half().isfinite()).sum())


def test_statistics_notice_a_lost_nan_and_a_wrong_integer():
    x = torch.tensor([float("nan"), 1.0])
    statistics = ErrorStatistics(ingot.op("relu(x)"), torch.float32)
    statistics.add({"x": x}, torch.tensor([0.0, 1.0]), torch.relu(x), x.double().relu())
    assert statistics.incorrect == 1 and statistics.first_incorrect["ours"] == "0.0"
    n = torch.tensor([1, 2])
    statistics = ErrorStatistics(ingot.op("x + 1"), torch.int64)
    statistics.add({"x": n}, n, n + 1, n + 1)
    assert statistics.incorrect == 2


def run(capsys, *words) -> tuple[int, str, str]:
    status = command.main(["verify", *words, "--device", "cpu"])
    captured = capsys.readouterr()
    return status, captured.out, captured.err


def test_verifies_functions_by_name(capsys):
    status, out, _ = run(capsys, "tanh", "fmax", "--dtype", "f16", "--pairs", "1e5")
    assert status == 0
    assert re.search(r"^tanh\(x\) on cpu\n  float16: 65536 inputs, all equal to eager bit for bit\n    largest error 0\.5 ulp from float64", out)
    assert "fmax(x, y) on cpu\n  float16: 100" in out
    assert "checks correct: as given, special values, one special value per row, boundary spikes, large values, subnormal values, odd sizes, few elements, one element" in out


def test_verifies_an_op_and_its_gradient(capsys, tmp_path):
    path = tmp_path / "norm.py"
    path.write_text("def norm(x, weight, eps: float = 1e-6):\n    return x * torch.rsqrt((x * x).mean(-1, keepdim=True) + eps) * weight\n")
    status, out, _ = run(capsys, str(path), "x=f32:40x50", "weight=f32:50")
    assert status == 0 and out.startswith("norm on cpu\n") and "gradient against finite differences in float64" in out


@pytest.mark.parametrize("words", [
    ["-e", "log(x)", "x=f32:20x33"], ["pow", "--pairs", "1000"],  # random numbers are outside of their domain
    ["-e", "x[i]", "x=i64:64", "i=i64:8@0..63"], ["-e", "x % y", "x=i32:64", "y=i32:64@1..9"],  # ranges that the arguments declare
    ["-e", "(x * 2).to(torch.float8_e5m2)", "x=f32:20x33"], ["-e", "x.to(torch.float8_e4m3fn)", "x=f32:20x33"],
    ["-e", "F.layer_norm(x, (64,))", "x=f32:20x64"], ["-e", "x.std(-1)", "x=f32:20x64"],  # squares of the largest numbers
])
def test_correct_ops_pass(capsys, words):
    status, out, _ = run(capsys, *words, "--dtype", "f32")
    assert status == 0, out
    assert ("differences in float64" in out) == any(word.startswith(("log", "pow", "F.", "x.std")) for word in words)


def test_in_place_changes_for_any_layout(capsys, tmp_path):
    (tmp_path / "scales.py").write_text("def f(x, y):\n    x.mul_(y)\n    x += 1\n")
    status, out, _ = run(capsys, str(tmp_path / "scales.py"), "--dtype", "f32")
    assert status == 0 and "every second element" in out, out


def test_skipped_dtypes_have_a_reason(capsys):
    status, _, err = run(capsys, "-e", "x.cumsum(-1)")
    assert status == 2 and "cannot be called with random tensors of f16, bf16, f32: `cumsum` is not in the language" in err
    status, out, _ = run(capsys, "floor_divide", "--dtype", "i32,bool", "--pairs", "1000")
    assert status == 0 and "checks correct: as given, odd sizes" in out and "bool was not checked in any layout: " in out


def test_integer_divisors_are_nonzero_and_long_integers_are_sampled(capsys):
    assert run(capsys, "-e", "x // y", "--dtype", "i32", "--pairs", "1e4")[0] == 0
    status, out, _ = run(capsys, "abs", "--dtype", "i64,bool", "--pairs", "1e4")
    assert status == 0 and "int64: 10" in out


def test_a_divisor_that_is_the_only_input_may_be_zero(capsys):
    status, out, _ = run(capsys, "-e", "7 // x", "--dtype", "u8")
    assert status == 0 and "uint8: 256 inputs, all equal to eager bit for bit" in out


def test_a_wrong_gradient_is_noticed(capsys, tmp_path):
    path = tmp_path / "cube.py"
    path.write_text("def cube_backward(grad, x):\n    return 2 * grad * x * x\n\ndef cube(x):\n    return x * x * x\n")
    status, out, _ = run(capsys, f"{path}:cube", "x=f32:40x50")
    assert status == 1 and "INCORRECT f32, gradient" in out


@pytest.mark.parametrize("words, message", [
    ([], "there is nothing to verify"), (["sums"], "did you mean `sum`?"), (["rand_like"], "uses random numbers"),
    (["abs", "x=f32:4"], "is a value, but abs is the name of a function"), (["softmax"], "does not take one, two or three tensors"),
    (["exp", "--dtype", "f8"], "there is no dtype `f8`"), (["-e", "x[:, 0]", "x=f32:3"], "does not take these arguments")])
def test_bad_input_exits_with_2(capsys, words, message):
    status, out, err = run(capsys, *words)
    assert status == 2 and message in err and not out
