"""Run docs/tutorial.md: its Python blocks as one program, its commands, and what both print."""

import os
import pathlib
import re
import shlex
import subprocess
import sys

import pytest
import torch
from conftest import ROOT

import ingot

FENCES = re.findall(r"^```(\w+)\n(.*?)^```$", (ROOT / "docs/tutorial.md").read_text(), re.M | re.S)
FILES = {name: text for _, text in FENCES for name in re.findall(r"\A(?:#|//) file: (\S+)$", text, re.M)}
COMMANDS = [line for language, text in FENCES if language == "sh" for line in text.splitlines()]


def program() -> tuple[str, dict[str, str]]:
    """The blocks as one program, which prints a line before each, and the output that the tutorial shows for each."""
    text, shown, last = "", {}, ""
    for language, block in FENCES:
        if language == "python" and block not in FILES.values():
            last = f"== block {len(shown)} =="
            shown[last] = ""
            text += f"print({last!r}, flush=True)\n{block}\n\n"
        elif language == "text":
            shown[last] = block
    return text, shown


def run(folder: pathlib.Path, *command: str, gpu: bool = False) -> subprocess.CompletedProcess:
    environment = {**os.environ, "PYTHONPATH": str(pathlib.Path(ingot.__file__).parents[1]), "INGOT_CACHE": "off",
                   "INGOT_PYTHON": sys.executable}
    if not gpu:
        environment["CUDA_VISIBLE_DEVICES"] = ""
    return subprocess.run(command, capture_output=True, text=True, cwd=folder, env=environment)


def test_the_program_prints_what_is_shown(tmp_path):
    text, shown = program()
    (tmp_path / "tutorial.py").write_text(text)
    done = run(tmp_path, sys.executable, "tutorial.py")
    assert done.returncode == 0, done.stderr
    printed = re.split(r"^(== block \d+ ==)\n", done.stdout, flags=re.M)[1:]
    assert dict(zip(printed[::2], printed[1::2])) == shown


def test_the_program_runs_on_a_gpu(tmp_path):
    if not torch.cuda.is_available():
        pytest.skip("no CUDA device")
    (tmp_path / "tutorial.py").write_text(program()[0])
    done = run(tmp_path, sys.executable, "tutorial.py", gpu=True)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("line", COMMANDS, ids=[" ".join(line.split()[:2]) for line in COMMANDS])
def test_a_command_runs(line, command_line, tmp_path):
    for name, text in FILES.items():
        (tmp_path / name).write_text(text)
    name, *arguments = shlex.split(line, comments=True)
    assert name == "ingot"
    done = run(tmp_path, command_line, *arguments)
    (status,) = re.findall(r"# exit status (\d+)$", line) or ["0"]
    assert done.returncode == int(status), done.stdout + done.stderr
    assert "relu_bias(x: f32" in done.stdout or "op       relu_bias" in done.stdout


def test_it_has_ten_steps():
    steps = re.findall(r"^## (\d+)\. ", (ROOT / "docs/tutorial.md").read_text(), re.M)
    assert steps == [str(k) for k in range(1, 11)]
