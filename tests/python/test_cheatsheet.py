"""Runs every row of docs/cheatsheet.md.

A cell that is one code span is code, with `;` between its statements. `the same` repeats the cell on its left. Any other cell is
prose, and its code span is run outside an op.
"""

import ast
import math
import re

import pytest
import torch
import torch.nn.functional as F
from conftest import ROOT

import ingot

PAGE = (ROOT / "docs/cheatsheet.md").read_text()
NUMBERS = {"s": "float", "n": "int", "flag": "bool"}


def inputs() -> dict:
    torch.manual_seed(0)
    x, y = torch.randn(2, 6, 4)
    return {
        "x": x, "y": y, "v": torch.rand(4), "mask": torch.rand(6, 4) < 0.5, "ids": torch.randint(10, (6,)),
        "labels": torch.tensor([0, 3, 1, 1, 2, 3]), "table": torch.randn(10, 4), "W": torch.randn(32, 32),
        "image": torch.rand(2, 3, 8, 8), "h": torch.randn(6, 4).bfloat16(), "xs": list(torch.randn(3, 6, 4)),
        "d": {"a": torch.randn(6, 4), "b": 2.0}, "s": 0.5, "n": 3, "flag": True,
    }  # fmt: skip


def rows(title: str) -> list[list[str]]:
    """The rows, as lists of cells, that begin with code in the tables under a heading of level two."""
    section = re.search(rf"^## {title}\n(.*?)(?=^## |\Z)", PAGE, re.M | re.S).group(1)
    lines = re.findall(r"^\| (`.*) \|$", section, re.M)
    return [[cell.strip().replace(r"\|", "|") for cell in re.split(r"(?<!\\)\|", line)] for line in lines]


def code(cell: str) -> str | None:
    match = re.fullmatch(r"`([^`]+)`", cell)
    return match and match.group(1)


def code_in_prose(cell: str) -> str | None:
    """The code span in a cell of prose."""
    match = re.search(r"`([^`]+)`", cell)
    return None if code(cell) else match and match.group(1)


def writes_an_input(expression: ast.expr) -> bool:
    """Whether it is a call such as x.mul_(y).add_(1), which an op does not return."""
    is_in_place = False
    while isinstance(expression, ast.Call) and isinstance(expression.func, ast.Attribute):
        is_in_place |= expression.func.attr.endswith("_")
        expression = expression.func.value
    return is_in_place and isinstance(expression, ast.Name) and expression.id in inputs()


def function(statements: str, parameters: list[str] = [], name: str = "row") -> str:
    """The source of a function, which returns its last statement if that is an expression with a value."""
    lines = statements.split("; ")
    try:
        last = ast.parse(lines[-1], mode="eval").body
    except SyntaxError:
        last = None
    if last is not None and not isinstance(last, ast.Yield) and not writes_an_input(last):
        lines[-1] = f"return {lines[-1]}"
    annotated = [f"{p}: {NUMBERS[p]}" if p in NUMBERS else p for p in parameters]
    return f"def {name}({', '.join(annotated)}):\n" + "".join(f"    {line}\n" for line in lines)


def inputs_of(*texts: str) -> list[str]:
    nodes = [node for text in texts for node in ast.walk(ast.parse(function(text)))]
    used = {node.id for node in nodes if isinstance(node, ast.Name)}
    return [name for name in inputs() if name in used]


def call(f, parameters: list[str]):
    """The result, and the arguments after the call."""
    arguments = {name: value for name, value in inputs().items() if name in parameters}
    torch.manual_seed(1)
    return f(*arguments.values()), arguments


def op(statements: str, parameters: list[str]):
    return ingot.op(function(statements, parameters))


def eager(statements: str, parameters: list[str]):
    scope = {"torch": torch, "F": F, "math": math}
    exec(function(statements, parameters), scope)
    return scope["row"]


def assert_same(actual, expected, rtol=1e-5):
    torch.testing.assert_close(actual, expected, rtol=rtol, atol=1e-5, equal_nan=True)


def cases(table: list[list[str]]):
    return pytest.mark.parametrize("row", table, ids=[re.sub(r"\W+", "_", row[0])[:60].strip("_") for row in table])


INSIDE, AROUND = rows("Inside an op"), rows("Around a call")
REJECTED_CALLS = [row for row in rows("Not supported") if re.match(r"`(f|scale|with_\w+|ingot\.op)\(", row[0])]
REJECTED = [row for row in rows("Not supported") if row not in REJECTED_CALLS]
REWRITTEN = [row for row in INSIDE if row[1] != "the same"]
SAMPLES = re.compile(r"dropout\(x, 0.5\)|randn_like|normal|uniform")


@cases(INSIDE)
def test_row_gives_the_result_of_eager(row):
    left = code(row[0])
    right = left if row[1] == "the same" else code(row[1])
    parameters = inputs_of(left, right)
    fused = op(right, parameters)
    before = ingot.counters().launches
    result, arguments = call(fused, parameters)
    assert ingot.counters().launches > before  # no fallback to eager
    expected, expected_arguments = call(fused.reference if SAMPLES.search(left) else eager(left, parameters), parameters)
    assert_same(arguments, expected_arguments)
    if result is None:
        assert "return" not in function(right)
    else:
        assert_same(result, expected)


@cases(REWRITTEN)
def test_left_side_of_a_rewritten_row_is_rejected(row):
    parameters = inputs_of(code(row[0]))
    with pytest.raises(ingot.Error):
        call(op(code(row[0]), parameters), parameters)


@cases(REJECTED)
def test_unsupported_row_is_rejected(row):
    parameters = inputs_of(code(row[0]))
    with pytest.raises(ingot.Error) as raised:
        call(op(code(row[0]), parameters), parameters)
    assert raised.value.fault == "author" and "^" in str(raised.value)  # it shows the location


@cases([row for row in REJECTED if code(row[1])])
def test_replacement_in_an_op_gives_the_result_of_eager(row):
    left, right = code(row[0]), code(row[1])
    parameters = inputs_of(left, right)
    result, arguments = call(op(right, parameters), parameters)
    try:
        expected, expected_arguments = call(eager(left, parameters), parameters)
    except Exception:  # an error in eager too
        return
    if result is None:
        assert_same(arguments, expected_arguments)
    elif isinstance(expected, torch.Tensor):
        assert_same(result, expected)


@cases([row for row in REJECTED if code_in_prose(row[1])])
def test_replacement_outside_an_op_runs(row, around):
    run(code_in_prose(row[1]), inputs() | around)


@pytest.fixture
def around(tmp_path) -> dict:
    """The names that the page's Python block defines. The block is run from a file, because an op reads its function's source."""
    return names_of_the_block(tmp_path)


def names_of_the_block(folder) -> dict:
    (block,) = re.findall(r"^```python\n(.*?)^```$", PAGE, re.M | re.S)
    file = folder / "around.py"
    file.write_text(block)
    torch.manual_seed(0)
    names = {}
    exec(compile(block, str(file), "exec"), names)
    return names


def run(statements: str, names: dict):
    exec(function(statements), names)
    return names["row"]()


@cases(AROUND)
def test_call_gives_the_result_of_eager(row, tmp_path):
    actual, expected = (run(code(cell), names_of_the_block(tmp_path)) for cell in (row[1], row[0]))
    assert_same(actual, expected, rtol=1e-2 if "autocast" in row[0] else 1e-5)


@cases(REJECTED_CALLS)
def test_unsupported_call_is_rejected_and_its_replacement_runs(row, around):
    with pytest.raises(RuntimeError):
        run(code(row[0]), around)
    run(code(row[1]), around)


def test_all_rows_are_read():
    read = [*INSIDE, *AROUND, *REJECTED, *REJECTED_CALLS]
    assert min(map(len, (INSIDE, AROUND, REJECTED, REJECTED_CALLS))) > 5
    legend = 6
    assert len(read) + legend == len(re.findall(r"^\| `", PAGE, re.M))
