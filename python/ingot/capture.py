"""A Python function as the text that Ingot compiles.

A function travels with what it uses of its module and its closure: other functions as their own text, constants as
assignments, Ingot's ops as the functions that they were made from. Which names those are is read from the compiled
code, so nothing unused travels. Every stretch of the text remembers its file and line, for messages.
"""

from __future__ import annotations

import ast
import builtins
import dataclasses
import dis
import inspect
import math
import types

import torch
import torch.nn.functional as F

from ._ingot import Error

LAMBDA_NAME = "op"

_MODULES = {"torch": torch, "F": F, "nn": torch.nn, "special": torch.special, "math": math}
_MODULE_PATHS = {
    torch: "torch",
    F: "torch.nn.functional",
    torch.nn: "torch.nn",
    torch.special: "torch.special",
    math: "math",
}


@dataclasses.dataclass
class Text:
    """What `_ingot.Op` is defined from. An origin is (line of the text, file, line there, characters of indent)."""

    text: str
    name: str
    source_name: str
    origins: list[tuple[int, str, int, int]] = dataclasses.field(default_factory=list)


@dataclasses.dataclass
class Snippet:
    """The text of one def, without decorators and indentation."""

    name: str
    lines: list[str]
    file: str
    line: int
    indent: int
    node: ast.FunctionDef


def fail(message: str, hint: str = "") -> Error:
    """An author's error, to be raised."""
    error = Error(f"error: {message}" + (f"\n  = help: {hint}" if hint else ""))
    error.fault, error.message = "author", message
    return error


def capture(function: types.FunctionType, name: str, gradient: types.FunctionType | None = None) -> Text:
    """The text of a function, of its gradient where that is written by hand (given, or `name_backward` in its module), and
    of all that they use. Raises `ingot.Error` for what cannot travel."""
    return _Capture(function, name, gradient).text()


def unwrapped(function) -> types.FunctionType:
    """The function itself. Of the decorators below ours only PyTorch's own (torch.no_grad) may be looked through: any
    other means what its text does not say."""
    if not isinstance(function, types.FunctionType):
        raise fail(f"ingot.op takes a Python function or a text, not a {type(function).__name__}")
    inner = getattr(function, "__wrapped__", None)
    if inner is None:
        return function
    if not function.__globals__.get("__name__", "").startswith("torch."):
        raise fail(
            f"`{function.__name__}` is wrapped by a decorator, which would be left out: an op is compiled from its text",
            "take the decorator off, or call the op from a decorated function",
        )
    return unwrapped(inner)


def snippet(function, name: str | None = None) -> Snippet:
    """The function's own text; `name` renames it."""
    function = unwrapped(function)
    try:
        lines, first = inspect.getsourcelines(function)
    except (OSError, TypeError):
        raise fail(
            f"the source of `{function.__name__}` is not to be found",
            "a function travels as its text, so it must come from a file; or pass the text itself to ingot.op",
        ) from None
    file = function.__code__.co_filename
    lines, indent = _dedent([line.rstrip("\r\n") for line in lines])
    if function.__name__ == "<lambda>":
        return _lambda_snippet(function, lines, file, first, indent, name or LAMBDA_NAME)
    node = ast.parse("\n".join(lines)).body[0]
    if not isinstance(node, ast.FunctionDef):
        raise fail(f"`{function.__name__}` is not a plain function", "an op is a def that returns its results")
    lines = lines[node.lineno - 1 : node.end_lineno]
    if name and name != node.name:
        lines[0] = lines[0].replace(node.name, name, 1)
    return Snippet(name or node.name, lines, file, first + node.lineno - 1, indent, node)


def _dedent(lines: list[str]) -> tuple[list[str], int]:
    indent = len(lines[0]) - len(lines[0].lstrip())
    return [line[min(indent, len(line) - len(line.lstrip())) :] for line in lines], indent


def _lambda_snippet(function, lines, file, first, indent, name) -> Snippet:
    """A lambda as a def of one return. Its place in the statement is that of its code's columns."""
    source = "\n".join(lines)
    places = [p for p in function.__code__.co_positions() if None not in p and p[:2] + p[2:3] != p[:2] + p[3:]]
    begin = min((line - first + 1, column - indent) for line, _, column, _ in places)
    found = []
    for tree in _trees(source):
        for node in ast.walk(tree):
            if isinstance(node, ast.Lambda) and (node.body.lineno, node.body.col_offset) <= begin <= (
                node.body.end_lineno,
                node.body.end_col_offset,
            ):
                found.append((node, tree))
        if found:
            break
    if not found:
        raise fail("the text of a lambda is not to be told apart", "write it as a def")
    node = max(found, key=lambda pair: (pair[0].lineno, pair[0].col_offset))[0]
    body = ast.get_source_segment(source, node.body)
    arguments = ast.unparse(node.args)
    if "\n" in body:
        body = f"({body})"
    text = [f"def {name}({arguments}):", *f"    return {body}".split("\n")]
    definition = ast.parse("\n".join(text)).body[0]
    return Snippet(name, text, file, first + node.lineno - 2, 0, definition)


def _trees(source: str):
    """The statement that a lambda stands in, which may be cut off where getsource stopped."""
    for text in (source, source.rstrip().rstrip(","), f"({source.rstrip().rstrip(',')})", source[source.find("lambda") :]):
        try:
            yield ast.parse(text)
        except SyntaxError:
            continue


def names_used(code: types.CodeType) -> list[str]:
    """The global names that a code object and those inside it read, in order of first use."""
    names: dict[str, None] = {}
    for instruction in dis.get_instructions(code):
        if instruction.opname in ("LOAD_GLOBAL", "LOAD_NAME"):
            names[instruction.argval] = None
        elif isinstance(instruction.argval, types.CodeType):
            names.update(dict.fromkeys(names_used(instruction.argval)))
    return list(names)


def _default_names(node: ast.FunctionDef) -> list[str]:
    """The names that the defaults of parameters are made of: they are not in the function's code."""
    defaults = [*node.args.defaults, *(d for d in node.args.kw_defaults if d is not None)]
    return [n.id for d in defaults for n in ast.walk(d) if isinstance(n, ast.Name)]


def literal(value) -> str | None:
    """The text of a constant; None for what is none."""
    if value is None or isinstance(value, (bool, str)):
        return repr(value)
    if isinstance(value, int):
        return repr(int(value))
    if isinstance(value, float):
        if math.isnan(value):
            return "math.nan"
        return repr(float(value)) if math.isfinite(value) else ("math.inf" if value > 0 else "-math.inf")
    if isinstance(value, torch.dtype):
        return str(value)
    if isinstance(value, dict):
        items = [(literal(key), literal(item)) for key, item in value.items()]
        if any(None in pair for pair in items):
            return None
        return f"{{{', '.join(f'{key}: {item}' for key, item in items)}}}"
    if isinstance(value, (tuple, list)):
        items = [literal(item) for item in value]
        if None in items:
            return None
        if isinstance(value, list):
            return f"[{', '.join(items)}]"
        return f"({', '.join(items)}{',' if len(items) == 1 else ''})"
    return None


def torch_spelling(value) -> str | None:
    """`module.name` for a function of PyTorch's or of math, whatever it is called here."""
    name = getattr(value, "__name__", None)
    if not callable(value) or not name:
        return None
    for module in (torch, F, math, torch.special):
        for spelled in (name, name.removeprefix("special_")):
            if getattr(module, spelled, None) is value:
                return f"{module.__name__}.{spelled}"
    return None


class _Capture:
    def __init__(self, function: types.FunctionType, name: str, gradient: types.FunctionType | None):
        self.imports: list[str] = []
        self.constants: dict[str, tuple[str, str]] = {}  # name → (literal, the function that uses it)
        self.functions: dict[str, tuple[object, Snippet]] = {}
        self.aliases: dict[str, str] = {}
        self.root = self.add_function(function, name)
        gradient = gradient or unwrapped(function).__globals__.get(f"{name}_backward")
        if isinstance(gradient, types.FunctionType):
            self.add_function(gradient, f"{name}_backward")

    def text(self) -> Text:
        lines = [*self.imports, *(f"{name} = {value}" for name, (value, _) in self.constants.items())]
        origins = []
        snippets = [snippet for _, snippet in self.functions.values()]
        for part in snippets[1:] + snippets[:1]:
            if lines:
                lines.append("")
            origins.append((len(lines) + 1, part.file, part.line, part.indent))
            lines += part.lines
        if self.aliases:
            at = origins[-1][0] - 1
            added = [f"{name} = {target}" for name, target in self.aliases.items()] + [""]
            lines[at:at] = added
            last = origins[-1]
            origins[-1] = (last[0] + len(added), *last[1:])
        return Text("\n".join(lines) + "\n", self.root.name, self.root.file, origins)

    def add_function(self, function, name: str | None = None) -> Snippet:
        function = unwrapped(function)
        part = snippet(function, name)
        known = self.functions.get(part.name)
        if known:
            if known[0] is not function:
                raise fail(
                    f"two functions are called `{part.name}`: {known[1].file}:{known[1].line} and {part.file}:{part.line}",
                    "an op and all that it uses make one text; rename one of them",
                )
            return known[1]
        self.functions[part.name] = (function, part)
        uses = [*function.__code__.co_freevars, *names_used(function.__code__), *_default_names(part.node)]
        for used in dict.fromkeys(uses):
            found, value = self.lookup(function, used)
            if found:
                self.add_value(used, value, part)
        return part

    @staticmethod
    def lookup(function, name):
        code = function.__code__
        if name in code.co_freevars:
            cell = function.__closure__[code.co_freevars.index(name)]
            try:
                return True, cell.cell_contents
            except ValueError:  # bound after this def, and not yet
                return False, None
        if name in function.__globals__:
            return True, function.__globals__[name]
        return False, None

    def add_value(self, name: str, value, user: Snippet) -> None:
        if inspect.ismodule(value):
            self.add_module(name, value, user)
        elif (constant := literal(value)) is not None:
            self.add_constant(name, constant, user)
        elif getattr(builtins, name, None) is value or value is torch.Tensor:
            pass
        elif spelled := torch_spelling(value):
            module, _, function = spelled.rpartition(".")
            if module == "math" or function != name:
                self.add_import(f"from {module} import {function}" + (f" as {name}" if function != name else ""))
        elif isinstance(value, types.FunctionType):
            self.add_helper(name, value)
        elif isinstance(function := getattr(value, "__wrapped__", None), types.FunctionType):  # another op
            self.add_helper(name, function)
        else:
            raise self.refuse(name, value, user)

    def add_helper(self, name: str, function) -> None:
        part = self.add_function(function, name if function.__name__ == "<lambda>" else None)
        if part.name != name:
            self.aliases[name] = part.name

    def add_module(self, name: str, module, user: Snippet) -> None:
        if module not in _MODULE_PATHS:
            raise fail(
                f"`{user.name}` uses the module `{name}`; an op knows torch, torch.nn.functional and math",
                f"bind what it needs to a name of its own: EPS = {name}.EPS",
            )
        if _MODULES.get(name) is not module:
            self.add_import(f"import {_MODULE_PATHS[module]} as {name}")

    def add_import(self, line: str) -> None:
        if line not in self.imports:
            self.imports.append(line)

    def add_constant(self, name: str, constant: str, user: Snippet) -> None:
        known = self.constants.setdefault(name, (constant, user.name))
        if known[0] != constant:
            raise fail(
                f"`{name}` is {known[0]} where `{known[1]}` uses it and {constant} where `{user.name}` does",
                "an op and all that it uses make one text; rename one of them",
            )

    @staticmethod
    def refuse(name: str, value, user: Snippet) -> Error:
        kind = f"{type(value).__module__}.{type(value).__qualname__}".removeprefix("builtins.")
        if isinstance(value, torch.Tensor):
            hint = "pass it as an argument: a tensor's values are not part of an op"
        elif hasattr(value, "_parameters"):
            hint = "an op made from text is used by its text; make it from a function to use it in another"
        elif callable(value):
            hint = "an op calls plain functions; write what it needs as a def"
        else:
            hint = "what travels with an op are functions, numbers, strings, dtypes, and tuples and lists of these"
        return fail(f"`{user.name}` uses `{name}`, which is a {kind} ({user.file}:{user.line})", hint)
