"""The code in the documents and the examples runs, and the README's outputs are what the program prints."""

import functools
import itertools
import json
import os
import pathlib
import re
import shlex
import subprocess
import sys
import tempfile
import tomllib

import pytest
import torch
from conftest import ROOT

import ingot

DOCUMENTS = ["README.md", "docs/language.md"]


def blocks(document: str, language: str) -> list[str]:
    fences = re.findall(r"^```(\w*)\n(.*?)^```$", (ROOT / document).read_text(), re.M | re.S)
    return [text for fence_language, text in fences if fence_language == language]


PYTHON = [(document, text) for document in DOCUMENTS for text in blocks(document, "python")]


def runnable(text: str) -> str:
    """A block with each `...` body replaced: the function returns its first parameter."""
    return re.sub(r"(def \w+\((\w+).*\n(?:    #.*\n)*)    \.\.\.", r"\1    return \2", text)


@pytest.mark.parametrize("document, text", PYTHON, ids=[f"{d}-{k}" for k, (d, _) in enumerate(PYTHON)])
def test_python_blocks_run(document, text, tmp_path):
    scope = {"x": torch.randn(64, 32), "y": torch.randn(32), "ingot": ingot, "torch": torch}
    if "ingot" in text:  # a program: Ingot reads the source of its functions, which must be in a file
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


# --- The README's outputs -------------------------------------------------------------------------------------------

Command = tuple[str, str]  # a command line and the output that the document shows for it


def commands(document: str) -> list[Command]:
    """The lines that begin with `$`, continued by backslashes, each with the output below it."""
    listed = []
    for text in blocks(document, ""):
        for shown in re.split(r"^\$ ", text, flags=re.M)[1:]:
            line, _, output = re.sub(r" *\\\n *", " ", shown).partition("\n")
            listed.append((line, output.rstrip("\n") + "\n"))
    return listed


COMMANDS = commands("README.md")
COMPARISONS = [command for command in COMMANDS if command[0].startswith("ingot compare")]


def printed(line: str, command_line: str, *more: str) -> str:
    """The output of a command that a document shows, without a GPU and without a cache."""
    words = [*shlex.split(line), *more]
    assert words[0] == "ingot"
    package = str(pathlib.Path(ingot.__file__).parents[1])
    environment = {**os.environ, "PYTHONPATH": package, "INGOT_PYTHON": sys.executable, "INGOT_CACHE": "off",
                   "CUDA_VISIBLE_DEVICES": ""}
    with tempfile.TemporaryDirectory() as folder:
        build = pathlib.Path(folder) / "build"
        build.mkdir()
        (build.parent / "examples").symlink_to(ROOT / "examples")
        if "build/detections.pt" in line:  # script/demo makes this file
            program("examples/detections.py", str(build / "detections.pt"))
        completed = subprocess.run([command_line, *words[1:]], capture_output=True, text=True, cwd=folder, env=environment)
    return completed.stdout + completed.stderr


DURATION = r"\d+(\.\d+)? (ns|µs|ms|s)\b"


def masked(text: str) -> str:
    """Without durations, rates, decimals and numbers of threads, which depend on the machine."""
    return re.sub(r"\d+\.\d+|\d+(?= threads)", "#", re.sub(DURATION, "# s", text))


def pattern(shown: str) -> str:
    """Matches an output; a line `...` matches any lines."""
    return r"(?:.*\n)*".join(re.escape(part) for part in re.split(r"^\.\.\.\n", shown, flags=re.M))


@pytest.mark.parametrize("line, shown", [command for command in COMMANDS if command not in COMPARISONS])
def test_readme_commands_print_the_shown_output(line, shown, command_line):
    output = printed(line, command_line)
    if " emit " not in line:  # generated code does not depend on the machine
        shown, output = masked(shown), masked(output)
    assert re.fullmatch(pattern(shown), output), output


@functools.cache
def comparison(command_line: str) -> tuple[list[str], list[str]]:
    """The lines of the README's comparison, and those of a smaller one on the CPU without torch.compile."""
    ((line, shown),) = COMPARISONS
    line = re.sub(r" torch\.compile|(?<= n=)\d+", lambda match: "" if "torch" in match[0] else "1000000", line)
    output = printed(line, command_line, "--device", "cpu", "--arch", "90", "--rounds", "3")
    return shown.splitlines(), output.splitlines()


def cells(line: str) -> list[str]:
    return re.split(r" {2,}", line.strip())


def form(cell: str) -> str:
    """The cell without its numbers: `1.03` becomes `#.#`, and a duration `# s`."""
    return re.sub(r"\d+", "#", re.sub(DURATION, "# s", cell))


def table(lines: list[str], column: str) -> tuple[list[str], dict[str, list[str]]]:
    """The table that has this column: its header, and its rows by their first cells."""
    (start,) = (k for k, line in enumerate(lines) if column in cells(line))
    header, *rows = (cells(line) for line in itertools.takewhile(lambda line: line not in ("", "..."), lines[start:]))
    return header, {row[0]: row[1:] for row in rows}


def test_readme_table_of_times_has_the_printed_columns(command_line):
    shown, output = comparison(command_line)
    (header, rows), (columns, measured) = table(shown, "± %"), table(output, "± %")
    assert header == [*columns, "CPU overhead"]  # a column of comparisons on a GPU
    assert set(measured) == set(rows) - {"torch.compile"}
    for name in ("ingot", "eager"):
        on_gpu, on_cpu = ([form(cell) for cell in row] for row in (rows[name], measured[name]))
        assert on_gpu[:-1] == on_cpu


def test_readme_comparison_of_machine_code(command_line):
    """The parts of a comparison on a GPU that do not depend on the machine."""
    shown, output = comparison(command_line)
    heading = [re.sub(r"n: \d+\) on .*", "n: #) on #", lines[0]) for lines in (shown, output)]
    assert heading[0] == heading[1]
    (header, rows), (columns, measured) = table(shown, "registers"), table(output, "registers")
    assert header == columns
    assert {name: row[:-1] for name, row in rows.items()} == {name: row[:-1] for name, row in measured.items()}
    explained = [re.sub(r": [\d.]+ of Ingot's speed", "", line) for line in shown if re.match(r"\S+\.cu .*Ingot", line)]
    assert explained and set(explained) <= set(output)


# --- The README's facts ---------------------------------------------------------------------------------------------


def test_the_readme_is_short():
    assert len((ROOT / "README.md").read_text().splitlines()) <= 200


def test_readme_versions():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    text = (ROOT / "README.md").read_text()
    python, torch_version = re.search(r"Python ([\d.]+) or newer, PyTorch ([\d.]+)\.", text).groups()
    assert project["requires-python"] == f">={python}"
    assert any(requirement.startswith(f"torch=={torch_version}.") for requirement in project["dependencies"])


def test_readme_number_of_functions():
    (number,) = re.findall(r"(\d+)\s+supported functions", (ROOT / "README.md").read_text())
    assert int(number) == len(ingot.language())


def test_readme_cpp_is_in_the_example():
    (statement,) = re.findall(r"`(ingot::Op .*;)`", (ROOT / "README.md").read_text())
    assert statement in (ROOT / "examples/cpp/example.cpp").read_text()


def test_readme_scripts_are_there():
    (text,) = blocks("README.md", "sh")
    assert all(os.access(ROOT / line.split()[0], os.X_OK) for line in text.splitlines())


# --- Examples -------------------------------------------------------------------------------------------------------


def program(*arguments: str) -> str:
    environment = {**os.environ, "PYTHONPATH": str(pathlib.Path(ingot.__file__).parents[1]), "INGOT_CACHE": "off"}
    completed = subprocess.run([sys.executable, *arguments], capture_output=True, text=True, cwd=ROOT, env=environment)
    assert completed.returncode == 0, completed.stderr
    return completed.stdout


def test_the_python_example():
    output = program("examples/program.py")
    assert "largest difference from eager" in output and "1 compilation(s)" in output


def test_the_example_after_a_convolution():
    output = program("examples/group_norm_mish.py")
    assert "largest difference from eager" in output and "1 launch" in output


def test_the_example_that_trains():
    output = program("examples/train.py")
    (difference,) = re.findall(r"at most (\S+) apart", output)
    assert float(difference) < 1e-4


def test_demo_commands_run(command_line, tmp_path):
    """script/demo without its build: the commands that it prints."""
    boxes = tmp_path / "detections.pt"
    program("examples/detections.py", str(boxes))
    arguments = ["examples/giou.py:giou", f"pred={boxes}:pred", f"target={boxes}:target", "--device", "cpu"]
    for command in (["emit", *arguments, "--stage", "source"], ["run", *arguments]):
        completed = subprocess.run([command_line, *command], capture_output=True, text=True, cwd=ROOT)
        assert completed.returncode == 0, completed.stderr
    assert "as eager PyTorch" in completed.stdout


def test_every_mutant_can_be_applied():
    """script/mutate finds the place of a mutant by its source line, which a change may have removed."""
    mutants = json.loads((ROOT / "script/mutants.json").read_text())
    unmatched = [mutant["name"] for mutant in mutants if (ROOT / mutant["file"]).read_text().count(mutant["find"]) != 1]
    assert not unmatched
