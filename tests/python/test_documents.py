"""What the documents and examples show does run."""

import json
import os
import pathlib
import re
import subprocess
import sys

import pytest
import torch
from conftest import ROOT

import ingot

DOCUMENTS = ["README.md", "docs/language.md"]


def blocks(document: str, language: str) -> list[str]:
    fences = re.findall(r"^```(\w*)\n(.*?)^```$", (ROOT / document).read_text(), re.M | re.S)
    return [text for spoken, text in fences if spoken == language]


PYTHON = [(document, text) for document in DOCUMENTS for text in blocks(document, "python")]


def runnable(text: str) -> str:
    """A block without what stands for more: a def whose body is `...` returns its first parameter."""
    return re.sub(r"(def \w+\((\w+).*\n(?:    #.*\n)*)    \.\.\.", r"\1    return \2", text)


@pytest.mark.parametrize("document, text", PYTHON, ids=[f"{d}-{k}" for k, (d, _) in enumerate(PYTHON)])
def test_python_blocks_run(document, text, tmp_path):
    scope = {"x": torch.randn(64, 32), "y": torch.randn(32), "ingot": ingot, "torch": torch}
    if "ingot" in text:  # a program: it reads the text of its functions, so they must stand in a file
        file = tmp_path / "block.py"
        file.write_text(text)
        exec(compile(text, str(file), "exec"), scope)
        return
    op = ingot.op(runnable(text))
    numbers = {"float": 0.5, "int": 3}
    arguments = [numbers.get(kind, torch.rand(6, 4)) for _, kind, has_default in op._parameters if not has_default]
    before = [t.clone() for t in arguments if torch.is_tensor(t)]
    result = op(*arguments)
    changed = [not torch.equal(t, old) for t, old in zip(filter(torch.is_tensor, arguments), before)]
    assert torch.is_tensor(result) or (result is None and any(changed))


def test_every_document_has_blocks():
    assert {document for document, _ in PYTHON} == set(DOCUMENTS)


def test_the_readmes_kernel_is_what_is_emitted(command_line):
    """Line by line; `...` stands for any lines."""
    (shown,) = blocks("README.md", "cuda")
    command = "emit examples/giou.py pred=f32:64x4 target=u8:64x4 --device cuda --stage source".split()
    emitted = subprocess.run([command_line, *command], capture_output=True, text=True, cwd=ROOT, check=True).stdout
    parts = [re.escape(part.strip()) for part in re.split(r"^ *\.\.\.\n", shown, flags=re.M)]
    assert re.search(r"(.|\n)*".join(parts), emitted), emitted


def test_the_readmes_error_is_what_is_said(command_line):
    shown = next(text for text in blocks("README.md", "") if "rellu" in text)
    message = shown[shown.index("error:") :].rstrip("\n")
    said = subprocess.run([command_line, "run", "-e", "rellu(x) + y", "x=f32:4", "y=f32:4"], capture_output=True, text=True)
    assert said.returncode != 0 and message in said.stdout + said.stderr


def test_the_readmes_number_of_names():
    (number,) = re.findall(r"the language's (\d+) names", (ROOT / "README.md").read_text())
    assert int(number) == len(ingot.language())


def program(*arguments: str) -> str:
    environment = {**os.environ, "PYTHONPATH": str(pathlib.Path(ingot.__file__).parents[1]), "INGOT_CACHE": "off"}
    done = subprocess.run([sys.executable, *arguments], capture_output=True, text=True, cwd=ROOT, env=environment)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_python_example():
    said = program("examples/program.py")
    assert "largest difference from eager" in said and "1 compilation(s)" in said


def test_the_example_behind_a_convolution():
    said = program("examples/group_norm_mish.py")
    assert "largest difference from eager" in said and "1 launch" in said


def test_the_example_that_trains():
    said = program("examples/train.py")
    (apart,) = re.findall(r"at most (\S+) apart", said)
    assert float(apart) < 1e-4


def test_what_the_demo_shows(command_line, tmp_path):
    """script/demo without its build: the commands that it prints."""
    boxes = tmp_path / "detections.pt"
    program("examples/detections.py", str(boxes))
    arguments = ["examples/giou.py:giou", f"pred={boxes}:pred", f"target={boxes}:target", "--device", "cpu"]
    for command in (["emit", *arguments, "--stage", "source"], ["run", *arguments]):
        done = subprocess.run([command_line, *command], capture_output=True, text=True, cwd=ROOT)
        assert done.returncode == 0, done.stderr
    assert "as eager PyTorch" in done.stdout


def test_a_planted_bugs_place_is_there():
    """script/mutate finds it by its text, which a change may have taken away."""
    mutants = json.loads((ROOT / "script/mutants.json").read_text())
    gone = [mutant["name"] for mutant in mutants if (ROOT / mutant["file"]).read_text().count(mutant["find"]) != 1]
    assert not gone
