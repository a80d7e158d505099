"""Traces one element of a call: every named value, as Ingot's kernel and as eager PyTorch compute it.

The op's source is rewritten to record the value after each assignment and in-place write. The rewritten op runs in eager
PyTorch and in Ingot, where the recorded tensors become additional results. Both run on copies of the arguments.
"""

from __future__ import annotations

import ast
import copy
import dataclasses

import torch

from .capture import Source, author_error
from .random import KernelRandom
from .oracle import as_list, changes_of
from .reference import as_module, compile_source, namespace

_RECORDS = "trace_records"


@dataclasses.dataclass
class Row:
    """A named value of one element. `ingot` is None for a number, which no kernel computes."""

    name: str
    ingot: float | int | bool | None
    eager: float | int | bool


def rows(op, source: Source, parameters, args, kwargs, at) -> list[Row]:
    """The named values of one element, in the order in which they are computed.

    at: the element's index in the first result, or in the first tensor that is written if the op returns nothing.
    Raises `ingot.Error` if the index is out of range, and if no value has the shape of the result.
    """
    names = [name for name, _, _ in parameters]
    records, results = _run_eager(source, names, op, args, kwargs)
    index = _index(at, results[0].shape)
    recorded = [k for k, (_, value) in enumerate(records) if _element(value, results[0].shape, index) is not None]
    tensors = [k for k in recorded if isinstance(records[k][1], torch.Tensor)]
    if not tensors:
        raise author_error("none of the op's values has the shape of its result")
    ingot_values = _run_ingot(op, source, names, tensors, args, kwargs)
    listed = []
    for k in recorded:
        name, value = records[k]
        ingot = _element(ingot_values[k], results[0].shape, index) if k in ingot_values else None
        listed.append(Row(name, ingot, _element(value, results[0].shape, index)))
    return listed


def table(name: str, at, rows: list[Row]) -> str:
    """Formats the rows as a text table."""
    lines = [("", "ingot", "eager", "difference")]
    for row in rows:
        ingot = "" if row.ingot is None else _show(row.ingot)
        lines.append((row.name, ingot, _show(row.eager), _difference(row)))
    widths = [max(len(line[column]) for line in lines) for column in range(4)]
    head = f"{name} at {list(at) if isinstance(at, tuple) else at}"
    body = ["  " + "  ".join(cell.ljust(width) for cell, width in zip(line, widths)).rstrip() for line in lines]
    return "\n".join([head, *body])


def _show(value) -> str:
    return repr(value) if isinstance(value, (bool, int)) else f"{value:.9g}"


def _difference(row: Row) -> str:
    if row.ingot is None or row.ingot == row.eager or (row.ingot != row.ingot and row.eager != row.eager):
        return "" if row.ingot is None else "0"
    return f"{float(row.ingot) - float(row.eager):.3g}"


def _index(at, shape) -> tuple:
    index = at if isinstance(at, tuple) else (at,) if shape else ()
    if len(index) != len(shape) or not all(-n <= i < n for i, n in zip(index, shape)):
        raise author_error(f"at={at} is not the index of an element of a result of shape {list(shape)}",
                           "give one index for each dim")
    return index


def _element(value, shape, index):
    """The element of a value at an index of the result; None if the value does not broadcast to the result's shape."""
    if isinstance(value, (bool, int, float)):
        return value
    if not isinstance(value, torch.Tensor):
        return None
    try:
        return value.detach().broadcast_to(shape)[index].item()
    except RuntimeError:
        return None


def _run_eager(source: Source, names, op, args, kwargs):
    module = _with_records(source, names, None)
    variant = Source(ast.unparse(module), source.name, source.source_name)
    function = compile_source(variant, names, namespace())
    bound = op.signature.bind(*copy.deepcopy(args), **copy.deepcopy(kwargs))
    bound.apply_defaults()
    written = changes_of([value for value in bound.arguments.values() if isinstance(value, torch.Tensor)])
    # fork_rng restores the generators, so that the call in Ingot uses the same random numbers.
    with torch.no_grad(), torch.random.fork_rng(), KernelRandom(bound.arguments):
        records, result = function(*bound.args, **bound.kwargs)
    results = written() if result is None else as_list(result)
    if not results:
        raise author_error("the op returns nothing and writes nothing in place, so there is no value to trace")
    return records, results


def _run_ingot(op, source: Source, names, tensors: list[int], args, kwargs) -> dict:
    module = _with_records(source, names, tensors)
    variant = type(op)(ast.unparse(module), name=source.name, numerics=op.numerics, lazy=op.lazy)
    with torch.no_grad():
        values = variant(*copy.deepcopy(args), **copy.deepcopy(kwargs))
    return dict(zip(tensors, values if isinstance(values, tuple) else (values,)))


def _with_records(source: Source, names, tensors: list[int] | None) -> ast.Module:
    """The source with a record after every assignment and in-place write of the op's own def.

    The changed def returns (the records, the result or None). With `tensors`, the indices of records that are tensors, it
    returns only those tensors.
    """
    module = as_module(source, names)
    for statement in module.body:
        if isinstance(statement, ast.FunctionDef) and statement.name == source.name:
            statement.decorator_list = []
            recorder = _Recorder(tensors)
            body = [new for old in [*statement.body, ast.Return(ast.Constant(None))] for new in recorder.with_records(old)]
            statement.body = [*ast.parse(f"{_RECORDS} = []").body, *body]
    return ast.fix_missing_locations(module)


class _Recorder:
    """Adds statements that record values to the body of a def."""

    def __init__(self, tensors: list[int] | None):
        if tensors is None:
            self.return_statement = f"return {_RECORDS}, trace_result"
        else:
            self.return_statement = "return " + ", ".join(f"{_RECORDS}[{k}][1]" for k in tensors)

    def with_records(self, node: ast.stmt) -> list[ast.stmt]:
        """The statement, followed by statements that record the values that it changes."""
        if isinstance(node, ast.Return):
            return self.with_result(node)
        if names := _changed_names(node):
            return [node, *(self.record_statement(name, name) for name in names)]
        for field in ("body", "orelse"):
            if not isinstance(node, ast.FunctionDef) and getattr(node, field, None):
                setattr(node, field, [new for old in getattr(node, field) for new in self.with_records(old)])
        return [node]

    def with_result(self, node: ast.Return) -> list[ast.stmt]:
        result = ast.parse("trace_result = 0").body[0]
        result.value = node.value or ast.Constant(None)
        items = node.value.elts if isinstance(node.value, ast.Tuple) else None
        records = (
            [self.record_statement("returns", "trace_result")]
            if items is None
            else [self.record_statement(f"returns [{k}]", f"trace_result[{k}]") for k in range(len(items))]
        )
        return [result, *records, *ast.parse(self.return_statement).body]

    @staticmethod
    def record_statement(name: str, value: str) -> ast.stmt:
        # A clone, because the value may be written in place later.
        copied = f"{value}.clone() if isinstance({value}, Tensor) else {value}"
        return ast.parse(f"{_RECORDS}.append(({name!r}, {copied}))").body[0]


def _changed_names(node: ast.stmt) -> list[str]:
    """The names whose values a statement changes."""
    if isinstance(node, (ast.Assign, ast.AugAssign, ast.AnnAssign)) and node.value:
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        return [name for target in targets for name in _names_in(target)]
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call) and isinstance(node.value.func, ast.Attribute):
        return _names_in(node.value.func.value) if node.value.func.attr.endswith("_") else []
    return []


def _names_in(target: ast.expr) -> list[str]:
    """The names in a target: `x` for x, x[0] and x[0].t(); both for `x, y`."""
    if isinstance(target, ast.Name):
        return [target.id]
    if isinstance(target, (ast.Tuple, ast.List)):
        return [name for item in target.elts for name in _names_in(item)]
    if isinstance(target, (ast.Subscript, ast.Attribute, ast.Starred)):
        return _names_in(target.value)
    return _names_in(target.func) if isinstance(target, ast.Call) else []

