"""A launch comment: the lines above a kernel that say how it is launched and what it requires:

    // where: rows = x.size(0), columns = x.size(1)
    // requires: x.dtype == f32, x.is_contiguous(), aligned(x, 16), columns % 4 == 0
    // scratch: sums = empty(f32, rows)
    // launch: entry=normalize, grid=rows, block=256, args=x, out, sums, columns

A `where:` line names numbers, a `requires:` line lists conditions on the op's arguments and results, and a `scratch:` line names
buffers that all later launches may use. All but the `launch:` line may be missing.
"""

from __future__ import annotations

import ast
import dataclasses
from typing import Iterable

from .._ingot import Error
from ..capture import author_error
from . import cuda_text, launch
from .expressions import evaluate, parse_expression, shown, split_at_commas


@dataclasses.dataclass(frozen=True)
class LaunchComment:
    """A launch, with the definitions, requirements and buffers above it."""

    launch: launch.Launch
    place: str = ""  # the file and line of the launch
    definitions: tuple[tuple[str, ast.expr], ...] = ()
    requirements: tuple[tuple[str, ast.expr], ...] = ()  # each with its file and line
    scratch: tuple[tuple[str, ast.expr], ...] = ()

    @property
    def knows_strides(self) -> bool:
        """Whether the launch passes strides to the kernel, or the requirements exclude strides that the kernel does not support."""
        return "stride" in self.launch.text or any("stride" in ast.unparse(e) for _, e in (*self.definitions, *self.requirements))

    def define(self, scope: dict) -> dict:
        """The scope, and the numbers that the comment names."""
        scope = dict(scope)
        for name, expression in self.definitions:
            scope[name] = evaluate(expression, scope, f"{name} = {ast.unparse(expression)}")
        return scope

    def check(self, scope: dict) -> None:
        """Raises `ingot.Error` if the values do not meet a requirement. `scope`: what `define` has returned."""
        for place, expression in self.requirements:
            text = ast.unparse(expression)
            if not evaluate(expression, scope, text):
                raise author_error(f"the kernel requires `{text}` ({place}){_values_in(expression, scope)}",
                                   "emit a kernel for these arguments")

    def allocate(self, scope: dict) -> dict:
        """The buffers that the comment names."""
        return {name: evaluate(expression, scope, f"{name} = {ast.unparse(expression)}") for name, expression in self.scratch}


def _values_in(expression: ast.expr, scope: dict) -> str:
    """The numbers of a comparison that is not met: ", and n is 5"."""
    if not isinstance(expression, ast.Compare):
        return ""
    parts = [e for e in (expression.left, *expression.comparators) if not isinstance(e, (ast.Constant, ast.Name)) or
             isinstance(e, ast.Name) and e.id in scope]
    return "".join(f"; {ast.unparse(e)} is {shown(evaluate(e, scope, ast.unparse(e)))}" for e in parts)


def from_launches(texts: Iterable[str]) -> list[LaunchComment]:
    """The launches of the command line."""
    return [LaunchComment(launch.parse(text)) for text in texts]


def in_file(text: str, file: str) -> list[LaunchComment]:
    """The launch comments in a source, in order. Raises `ingot.Error`, with the line, for one that is unreadable or has no launch."""
    comments: list[LaunchComment] = []
    pending: dict[str, list] = {"where": [], "requires": [], "scratch": []}
    for line in cuda_text.comment_lines(text):
        place = f"{file}:{line.number}"
        if line.kind == "incomplete":
            raise author_error(f"{place}: the kernels of this file do not compute the op's results: {line.text}")
        if line.kind == "requires":
            pending["requires"] += [(place, parse_expression(part, place, "write conditions: x.is_contiguous(), n % 4 == 0"))
                                    for part in split_at_commas(line.text)]
        elif line.kind in pending:
            pending[line.kind] += [_definition(part, place, line.kind) for part in split_at_commas(line.text)]
        elif line.kind == "launch":
            comments.append(LaunchComment(_located(place, line.text), place, *(tuple(pending[kind]) for kind in pending)))
            pending = {kind: [] for kind in pending}
    if left := next((kind for kind, parts in pending.items() if parts), ""):
        raise author_error(f"{file}: no launch follows the last `{left}`",
                           f"end the comment above each kernel with `// launch: {launch.EXAMPLE}`")
    return comments


def _definition(part: str, place: str, kind: str) -> tuple[str, ast.expr]:
    name, equals, value = part.partition("=")
    hint = f"write {kind}: " + {"where": "rows = x.size(0)", "scratch": "sums = empty(f32, rows)"}[kind]
    if not (equals and name.strip().isidentifier()):
        raise author_error(f"{place}: `{part}` is not a definition", hint)
    return name.strip(), parse_expression(value.strip(), place, hint)


def _located(place: str, text: str) -> launch.Launch:
    try:
        return launch.parse(text)
    except Error as error:
        problem, _, help = str(error).removeprefix("error: ").partition("\n  = help: ")
        raise author_error(f"{place}: {problem}", help) from None
