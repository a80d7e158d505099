"""Runs docs/tutorial.md: its Python blocks as one program, its commands, and the output of both."""

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
    text, shown, heading = "", {}, ""
    for language, block in FENCES:
        if language == "python" and block not in FILES.values():
            heading = f"== block {len(shown)} =="
            shown[heading] = ""
            text += f"print({heading!r}, flush=True)\n{block}\n\n"
        elif language == "text":
            shown[heading] = block
    return text, shown


def run(folder: pathlib.Path, *command: str, gpu: bool = False) -> subprocess.CompletedProcess:
    environment = {**os.environ, "PYTHONPATH": str(pathlib.Path(ingot.__file__).parents[1]), "INGOT_CACHE": "off",
                   "INGOT_PYTHON": sys.executable}
    if not gpu:
        environment["CUDA_VISIBLE_DEVICES"] = ""
    return subprocess.run(command, capture_output=True, text=True, cwd=folder, env=environment)


def test_program_prints_the_shown_output(tmp_path):
    text, shown = program()
    (tmp_path / "tutorial.py").write_text(text)
    completed = run(tmp_path, sys.executable, "tutorial.py")
    assert completed.returncode == 0, completed.stderr
    printed = re.split(r"^(== block \d+ ==)\n", completed.stdout, flags=re.M)[1:]
    assert dict(zip(printed[::2], printed[1::2])) == shown


def test_program_runs_on_a_gpu(tmp_path):
    if not torch.cuda.is_available():
        pytest.skip("no CUDA device")
    (tmp_path / "tutorial.py").write_text(program()[0])
    completed = run(tmp_path, sys.executable, "tutorial.py", gpu=True)
    assert completed.returncode == 0, completed.stderr


@pytest.mark.parametrize("line", COMMANDS, ids=[" ".join(line.split()[:2]) for line in COMMANDS])
def test_command_runs(line, command_line, tmp_path):
    for name, text in FILES.items():
        (tmp_path / name).write_text(text)
    name, *arguments = shlex.split(line, comments=True)
    assert name == "ingot"
    completed = run(tmp_path, command_line, *arguments)
    (status,) = re.findall(r"# exit status (\d+)$", line) or ["0"]
    assert completed.returncode == int(status), completed.stdout + completed.stderr
    assert "relu_bias(x: f32" in completed.stdout or "op       relu_bias" in completed.stdout


def test_tutorial_has_ten_steps():
    steps = re.findall(r"^## (\d+)\. ", (ROOT / "docs/tutorial.md").read_text(), re.M)
    assert steps == [str(k) for k in range(1, 11)]
