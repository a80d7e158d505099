"""The command line as used from a shell."""

import json
import os
import pathlib
import re
import shlex
import subprocess
import sys

import pytest
import torch

import ingot

RELU_ADD = "def relu_add(x, y, bias: float):\n    return relu(x) + y + bias\n"


@pytest.fixture
def cli(command_line, tmp_path):
    (tmp_path / "ops.py").write_text(RELU_ADD + "\ndef minus(x, y):\n    return x - y\n")

    def run(*words, check=True, **environment):
        completed = subprocess.run(
            [command_line, *words],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            env={**os.environ, "INGOT_PYTHON": sys.executable, **environment},
        )
        if check:
            assert completed.returncode == 0, completed.stderr
        return completed

    run.folder = tmp_path
    return run


def test_run_checks_and_times(cli):
    report = cli("run", "ops.py:relu_add", "x=f32:64x48", "y=f32[48]", "bias=0.5").stdout
    assert "bit for bit" in report
    assert "f32[64, 48]" in report
    assert re.search(r"ingot [\d.]+ .s .*eager [\d.]+ .s", report)


def test_none_as_an_argument(cli):
    report = cli("run", "-e", "x * 2 if k is None else x * k", "x=f32:4", "k=none").stdout
    assert "bit for bit" in report


@pytest.mark.parametrize("returned, shapes", [("", [[16]]), ("    return x * y\n", [[16], [16]])])
def test_in_place_ops_are_checked_and_timed(cli, tmp_path, returned, shapes):
    """The report lists the changed arguments first, then the results. Timing makes the changes again."""
    file = tmp_path / "step.py"
    file.write_text(f"def step(x, y):\n    x.mul_(0.5).add_(y)\n{returned}")
    report = json.loads(cli("run", str(file), "x=f32:16", "y=f32:16", "--json").stdout)
    assert report["check"]["ok"] and report["check"]["bit_for_bit"], report["check"]
    assert [result["shape"] for result in report["results"]] == shapes


def test_the_last_def_is_the_op(cli):
    assert "op       minus" in cli("run", "ops.py", "x=f32:8", "y=f32:8").stdout


def test_an_expression(cli):
    report = json.loads(cli("run", "-e", "relu(x) + y", "x=f32:16", "y=i64:16@0..50", "--json").stdout)
    assert report["check"]["ok"] and report["check"]["bit_for_bit"]
    assert report["results"][0]["shape"] == [16]
    assert report["first_call"]["launches"] == 1


@pytest.mark.parametrize(
    "value, text",
    [
        ("f32:4x6:t", "f32[4, 6] strides [1, 4]"),
        ("bf16:3", "bf16[3]"),
        ("f64:", "f64[]"),
        ("i32[2,3]", "i32[2, 3]"),
        ("u8:5@1..3", "u8[5]"),
        ("bool:2", "bool[2]"),
        ("f16:0x4", "f16[0, 4]"),
        ("3", "3"),
        ("0.1", "0.1"),
        ("true", "True"),
    ],
)
def test_arguments_are_parsed(cli, value, text):
    completed = cli("run", "-e", "y * 1", f"y={value}", "--no-check", check=False)
    if text[0].isdigit() or text == "True":  # without a tensor, the first op was rejected
        completed = cli("run", "-e", "x * y", "x=f32:1", f"y={value}", "--no-check")
    assert f"y: {text}" in completed.stdout


def test_saved_tensors_and_saved_results(cli):
    x = torch.arange(6.0).reshape(2, 3)
    torch.save(x, cli.folder / "x.pt")
    torch.save({"y": x * 2, "n": 3}, cli.folder / "more.pt")
    cli("run", "ops.py:minus", "x=x.pt", "y=more.pt:y", "--save", "out.pt")
    assert torch.equal(torch.load(cli.folder / "out.pt"), x - x * 2)
    assert cli("run", "ops.py:minus", "x=x.pt", "y=more.pt:n", check=False).returncode == 2


@pytest.mark.parametrize("words", [
    ("emit", "-e", "x + 1", "x=f32:4"), ("run", "-e", "x + 1", "x=f32:4"), ("ops",), ("--help",),
    ("explain", "ops.py:relu_add", "x=f32:4", "y=f32:4", "bias=0.5"),
], ids=lambda words: words[0])
@pytest.mark.parametrize("target", ["full", "closed"])
def test_an_unwritable_file_is_an_error(command_line, cli, words, target):
    path = {"full": "/dev/full", "closed": "&-"}[target]
    line = f"exec {shlex.join([command_line, *words])} >{path}"
    environment = {**os.environ, "INGOT_PYTHON": sys.executable}
    completed = subprocess.run(["sh", "-c", line], cwd=cli.folder, stderr=subprocess.PIPE, text=True, env=environment)
    assert completed.returncode == 4
    assert re.fullmatch(r"error: cannot write to the standard output: [\w ]+\n", completed.stderr)


@pytest.mark.parametrize("words", [("run", "--threads", "-5"), ("run", "--threads", "100000"), ("run", "--seed", str(2**64)),
                                   ("emit", "--seed", "-1"), ("verify", "--seed", str(2**64)), ("compare", "--seed", "-1"),
                                   ("compare", "--threads", "-5")], ids="{0[0]} {0[1]} {0[2]}".format)  # fmt: skip
def test_options_reject_invalid_numbers(cli, words):
    command, *option = words
    completed = cli(command, "-e", "x + 1", "x=f32:4", *option, check=False)
    assert completed.returncode == 2
    assert option[0] in completed.stderr
    assert completed.stdout == ""


def test_random_tensors_are_seeded(cli):
    def saved(seed):
        cli("run", "-e", "x + 0", "x=f32:8", "--seed", seed, "--save", "out.pt", "--no-check")
        return torch.load(cli.folder / "out.pt")

    assert torch.equal(saved("1"), saved("1"))
    assert not torch.equal(saved("1"), saved("2"))


def test_integers_are_in_the_given_range(cli):
    cli("run", "-e", "x + 0", "x=i64:1000@3..7", "--save", "out.pt", "--no-check")
    assert set(torch.load(cli.folder / "out.pt").tolist()) == {3, 4, 5, 6}


@pytest.mark.parametrize("text, options", [("(x * y.exp()).sum()", ("--value-and-grad", "x,y")), ("x * y.exp()", ("--gradient", "y", "grad=f32:4x3"))])
def test_a_gradient_is_not_compared_with_the_op(cli, text, options):
    """The gradient is not compared with the op itself. The report shows a command that reproduces it."""
    out = cli("run", "-e", text, "x=f32:4x3", "y=f32:4x3", *options).stdout
    assert "MISMATCH" not in out
    (command,) = re.findall(r"^kernel +ingot (.*)$", out, re.M)
    assert " ".join(options[:2]) in command and "void expression_" in cli(*shlex.split(command)).stdout


def test_emit(cli):
    arguments = ("ops.py:relu_add", "x=f32:64x64", "y=f32:64x64", "bias=0.5")
    for stage in ("ast", "ir", "schedule", "kernel", "source"):
        assert cli("emit", *arguments, "--stage", stage).stdout.strip()
    source = cli("emit", *arguments, "--device", "cuda", "--arch", "90").stdout
    assert "__global__" in source and "relu_add" in source
    x = torch.empty(64, 64, device="meta")
    assert source.strip() == ingot.op((cli.folder / "ops.py").read_text(), name="relu_add").emit(
        "source", x, x, 0.5, device="cuda", architecture=90
    ).strip()


def test_ops(cli):
    rows = json.loads(cli("ops", "--json").stdout)
    assert [tuple(row["aliases"]) for row in rows if row["name"] == "maximum"] == [
        n.aliases for n in ingot.language() if n.name == "maximum"
    ]
    assert f"{len(rows)} functions" in cli("ops").stdout


def test_the_page_of_supported_functions_is_current(cli):
    """`build/bin/ingot ops --markdown > docs/ops.md` writes the page"""
    page = pathlib.Path(__file__).parents[2] / "docs" / "ops.md"
    assert page.read_text() == cli("ops", "--markdown").stdout


def test_version_and_help(cli):
    assert cli("--version").stdout.strip() == f"ingot {ingot.__version__}"
    assert "run" in cli("--help").stdout
    assert cli("run", "--help").returncode == 0


def test_cache(cli):
    folder = str(cli.folder / "cache")
    cli("run", "-e", "x + 1", "x=f32:8", "--no-check", INGOT_CACHE_DIR=folder)
    assert "removed" in cli("cache", "--clear", INGOT_CACHE_DIR=folder).stdout
    assert "0 files" in cli("cache", INGOT_CACHE_DIR=folder).stdout


@pytest.mark.parametrize(
    "words, message",
    [
        (("run",), "there is no op"),
        (("run", "missing.py"), "no file `missing.py`"),
        (("run", "ops.py:mius", "x=f32:2"), "minus"),
        (("run", "ops.py:minus", "x=f32:2", "z=f32:2"), "no parameter `z`"),
        (("run", "ops.py:minus", "x=f32:2"), "`y`"),
        (("run", "ops.py:minus", "x=f32:2", "y=g32:2"), "neither a tensor nor a number"),
        (("run", "ops.py:minus", "x=f32:2xx", "y=f32:2"), "is not a size"),
        (("run", "ops.py:minus", "x=f32:2@5", "y=f32:2"), "low..high"),
        (("run", "ops.py:minus", "x=gone.pt", "y=f32:2"), "no such file"),
        (("run", "-e", "x + + ", "x=f32:2"), "1:"),
        (("run", "-e", "x + y", "x=f32:2", "y=f32:3"), "broadcast|size"),
        (("emit", "-e", "x", "x=f32:2", "--device", "xpu"), "device|cpu"),
        (("frobnicate",), "frobnicate|subcommand"),
    ],
)
def test_bad_input_exits_with_two(cli, words, message):
    completed = cli(*words, check=False)
    assert completed.returncode == 2, completed.stdout + completed.stderr
    assert re.search(message, completed.stderr + completed.stdout)


def test_the_command_line_prints_the_apis_error(cli):
    text = "def f(x):\n    return relux(x)\n"
    (cli.folder / "wrong.py").write_text(text)
    completed = cli("run", "wrong.py", "x=f32:2", check=False)
    with pytest.raises(ingot.Error) as caught:
        ingot.op(text)(torch.ones(2))
    assert completed.stderr.strip().replace("wrong.py", "<text>") == str(caught.value).strip()


def test_without_a_python_the_check_is_an_error_of_the_environment(cli):
    completed = cli("run", "-e", "x + 1", "x=f32:8", check=False, INGOT_PYTHON="/nowhere/python")
    assert completed.returncode == 4
    assert "--no-check" in completed.stderr
    assert cli("run", "-e", "x + 1", "x=f32:8", "--no-check", INGOT_PYTHON="/nowhere/python").returncode == 0


def test_a_mismatch_exits_with_one(cli, tmp_path):
    """Runs a Python in which eager's relu gives a result that is one too large."""
    fake = tmp_path / "fake-python"
    fake.write_text(
        "#!/bin/sh\n"
        f"exec {sys.executable} -c 'import sys, torch; relu = torch.relu; torch.relu = lambda x: relu(x) + 1\n"
        "from ingot import _check; _check.main(sys.argv[-1])' \"$@\"\n"
    )
    fake.chmod(0o755)
    completed = cli("run", "-e", "relu(x)", "x=f32:8", check=False, INGOT_PYTHON=str(fake))
    assert completed.returncode == 1, completed.stderr
    assert "MISMATCH" in completed.stdout


def test_run_on_cuda(cli):
    if not torch.cuda.is_available():
        pytest.skip("no CUDA device")
    report = cli("run", "ops.py:relu_add", "x=f32:64x48", "y=f32[48]", "bias=0.5", "--device", "cuda").stdout
    assert "bit for bit" in report and "cuda:0" in report


def test_no_cuda_device_is_an_error_of_the_environment(cli):
    if torch.cuda.is_available():
        pytest.skip("explained: there is a CUDA device")
    completed = cli("run", "-e", "x + 1", "x=f32:8", "--device", "cuda", check=False)
    assert completed.returncode == 4
    assert "CUDA" in completed.stderr


def test_a_directory_and_a_repeated_name_are_errors(cli):
    folder = cli("emit", ".", check=False)
    assert folder.returncode != 0 and "`.` is a folder" in folder.stderr
    twice = cli("run", "-e", "x + 1", "x=f32:4", "x=f32:8", check=False)
    assert twice.returncode != 0 and "`x` is given twice" in twice.stderr


def test_no_module_is_imported_from_the_current_folder(cli, tmp_path):
    for name in ("ingot", "torch", "json", "pathlib"):
        (tmp_path / f"{name}.py").write_text("raise SystemExit(7)\n")
    assert "usage" in cli("verify", "--help").stdout
    cli("run", "-e", "relu(x)", "x=f32:8")
