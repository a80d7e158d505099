"""Captures a Python function as the source text that Ingot compiles.

The source text also defines the names of the function's module and closure that the function uses: other functions by their
source, constants by assignments, Ingot's ops by the functions that they were made from. The function's bytecode tells which
names it uses. The file and line of each section of the text are recorded, for error messages.
"""

from __future__ import annotations

import ast
import builtins
import dataclasses
import dis
import inspect
import math
import re
import types
import typing

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
class Source:
    """An op's source, from which `_ingot.Op` is defined.

    origins: sections of the text: (first line in the text, file, line in that file, characters of indent removed).
    """

    text: str
    name: str
    source_name: str
    origins: list[tuple[int, str, int, int]] = dataclasses.field(default_factory=list)


Text = Source  # the name under which earlier versions pickled it


@dataclasses.dataclass
class Snippet:
    """The source of one def, without decorators and indentation."""

    name: str
    lines: list[str]
    file: str
    line: int  # the number of its first line in the file
    indent: int  # the characters of indentation that were removed from each line
    function: types.FunctionType


def check_characters(text: str, what: str) -> None:
    """Raises `ingot.Error` if `text` is not a str, or contains a NUL or a lone surrogate. `what` names it in the message."""
    if not isinstance(text, str):
        raise author_error(f"{what} is {text!r}, which is not a str", "pass a str")
    position = next((i for i, c in enumerate(text) if c == "\0" or "\ud800" <= c <= "\udfff"), None)
    if position is not None:
        line, column = text.count("\n", 0, position) + 1, position - text.rfind("\n", 0, position)
        description = "a NUL" if text[position] == "\0" else f"a lone surrogate ({text[position]!a})"
        raise author_error(f"{what} contains {description} at {line}:{column}", "remove it")


def shown_path(path: str) -> str:
    """The path for use in messages: bytes that are not valid UTF-8 are escaped."""
    return path.encode("utf-8", "backslashreplace").decode()


def author_error(message: str, hint: str = "") -> Error:
    """Makes (and does not raise) an `ingot.Error` whose fault is 'author': the op, its arguments or the request is wrong."""
    error = Error(f"error: {message}" + (f"\n  = help: {hint}" if hint else ""))
    error.fault, error.message = "author", message
    return error


Files = dict[str, list[str]]  # file name → its lines


def files_of(function: types.FunctionType, name: str = "") -> Files:
    """Reads the files of a function and of all functions that it uses. `name`: the op's name.

    The files are read when the op is made, because a file may be edited before the first call: the op must compile the code
    that Python has loaded.
    """
    files, pending, seen = {}, [function], set()
    while pending:
        function = pending.pop()
        if function in seen:
            continue
        seen.add(function)
        if _lines(function, files) is not None:
            names = (*_names(function), f"{function.__name__}_backward", f"{name}_backward")
            values = [_look_up(function, used)[1] for used in names]
            values += [*(function.__defaults__ or ()), *(function.__kwdefaults__ or {}).values()]
            pending += filter(None, map(_function_of, values))
    return files


def _lines(function: types.FunctionType, files: Files) -> list[str] | None:
    """The lines of a function's file, cached in `files`. None if there is no file."""
    file = function.__code__.co_filename
    if file not in files:
        try:
            files[file] = inspect.findsource(function)[0]
        except (OSError, TypeError):
            return None
    return files[file]


def capture(function: types.FunctionType, name: str, gradient: types.FunctionType | None = None,
            files: Files | None = None) -> Source:
    """The source of a function, of its custom backward (`gradient`, or `name_backward` in its module), and of what they use.

    files: the content of their files, as `files_of` read it.
    Raises `ingot.Error` for a value that cannot be written as source.
    """
    return _Capture(function, name, gradient, {} if files is None else files).source()


def unwrapped(function) -> types.FunctionType:
    """The function below its decorators.

    Only PyTorch's own decorators (torch.no_grad) are accepted. Any other may change the function's behaviour, and the captured
    source would not contain it. Raises `ingot.Error` for other decorators and for anything that is not a Python function.
    """
    if not isinstance(function, types.FunctionType):
        raise author_error(f"ingot.op takes a Python function or source text, not a {type(function).__name__}")
    inner = getattr(function, "__wrapped__", None)
    if inner is None:
        return function
    if not function.__globals__.get("__name__", "").startswith("torch."):
        raise author_error(
            f"`{function.__name__}` is wrapped by a decorator, but an op is compiled from the function's own source",
            "remove the decorator, or call the op from a decorated function",
        )
    return unwrapped(inner)


def snippet(function, name: str | None = None, files: Files | None = None) -> Snippet:
    """The function's own source, in which the defaults are replaced by their values. `name` renames the function."""
    function = unwrapped(function)
    file, first = shown_path(function.__code__.co_filename), function.__code__.co_firstlineno
    lines = _lines(function, {} if files is None else files)
    if lines is None or first > len(lines):
        raise author_error(
            f"the source of `{function.__name__}` cannot be found",
            "an op is compiled from its source: define the function in a file, or pass the source text to ingot.op",
        )
    lines = inspect.getblock(lines[first - 1 :])
    lines, indent = _dedent([line.rstrip("\r\n") for line in lines])
    if is_lambda(function):
        return _lambda_snippet(function, lines, file, first, indent, name or LAMBDA_NAME)
    node = _first_statement(lines)
    if getattr(node, "name", None) != function.__code__.co_name:
        raise author_error(f"there is no `{function.__name__}` at {file}:{first}", "the file was changed after it was imported")
    if not isinstance(node, ast.FunctionDef):
        raise author_error(f"`{function.__name__}` is not a plain function", "an op is a def that returns its results")
    for default, value in reversed(_defaults(node.args, function)):
        if text := _default_text(default, value):
            _replace(lines, default, text)
    lines = lines[node.lineno - 1 : node.end_lineno]
    if name and name != node.name:
        lines[0] = re.sub(rf"\b(def\s+){node.name}\b", rf"\g<1>{name}", lines[0], count=1)
    return Snippet(name or node.name, lines, file, first + node.lineno - 1, indent, function)


def is_lambda(function: types.FunctionType) -> bool:
    return function.__code__.co_name == "<lambda>"


def _first_statement(lines: list[str]) -> ast.stmt | None:
    try:
        return ast.parse("\n".join(lines)).body[0]
    except (SyntaxError, IndexError):
        return None


def _defaults(arguments: ast.arguments, function: types.FunctionType) -> list[tuple[ast.expr, object]]:
    """Each default in source order: its expression, and the value that Python evaluated it to at the def."""
    by_name = function.__kwdefaults__ or {}
    by_name = [(node, by_name[a.arg]) for a, node in zip(arguments.kwonlyargs, arguments.kw_defaults) if a.arg in by_name]
    return [*zip(arguments.defaults, function.__defaults__ or ()), *by_name]


def _default_text(default: ast.expr, value) -> str | None:
    """The source that replaces a default. None if the default stays as written, or its value cannot be written as source. A
    lambda stays as written, because its `__name__` is no name in the text."""
    if isinstance(default, ast.Constant):
        return None
    if function := _function_of(value):
        return None if is_lambda(function) else function.__name__
    return literal(value) or torch_spelling(value)


def _function_of(value) -> types.FunctionType | None:
    """The Python function that a value is, or that an op was made from. None for PyTorch's functions and other values."""
    if not isinstance(value, types.FunctionType):
        value = getattr(value, "__wrapped__", None)
    return value if isinstance(value, types.FunctionType) and not torch_spelling(value) else None


def _replace(lines: list[str], node: ast.expr, text: str) -> None:
    """Replaces an expression by `text`. The number of lines stays the same, so that the lines below keep their numbers."""
    first, last = node.lineno - 1, node.end_lineno - 1
    before = lines[first].encode()[: node.col_offset].decode() + text  # ast counts columns in UTF-8 bytes
    after = lines[last].encode()[node.end_col_offset :].decode()
    lines[first : last + 1] = [before + after] if first == last else [before, *[""] * (last - first - 1), after]


def _dedent(lines: list[str]) -> tuple[list[str], int]:
    indent = len(lines[0]) - len(lines[0].lstrip())
    return [line[min(indent, len(line) - len(line.lstrip())) :] for line in lines], indent


def _lambda_snippet(function, lines, file, first, indent, name) -> Snippet:
    """A lambda as a def with one return. The columns in its code object identify it among the lambdas of a statement; positions
    with an empty span of columns are ignored."""
    source = "\n".join(lines)
    positions = [p for p in function.__code__.co_positions() if None not in p]  # (line, end line, column, end column)
    begin = min((line - first + 1, column - indent) for line, _, column, end in positions if column != end)
    matches = []
    for tree in _possible_trees(source):
        for node in ast.walk(tree):
            if isinstance(node, ast.Lambda) and (node.body.lineno, node.body.col_offset) <= begin <= (
                node.body.end_lineno,
                node.body.end_col_offset,
            ):
                matches.append((node, tree))
        if matches:
            break
    if not matches:
        raise author_error(f"the source of the lambda at {file}:{first} cannot be identified", "write it as a def")
    node = max(matches, key=lambda pair: (pair[0].lineno, pair[0].col_offset))[0]
    body = ast.get_source_segment(source, node.body)
    texts = {id(default): _default_text(default, value) for default, value in _defaults(node.args, function)}

    def evaluated(default: ast.expr | None) -> ast.expr | None:
        text = texts.get(id(default))
        return ast.parse(text, mode="eval").body if text else default

    node.args.defaults = [evaluated(default) for default in node.args.defaults]
    node.args.kw_defaults = [evaluated(default) for default in node.args.kw_defaults]
    if "\n" in body:
        body = f"({body})"
    text = [f"def {name}({ast.unparse(node.args)}):", *f"    return {body}".split("\n")]
    return Snippet(name, text, file, first + node.lineno - 2, 0, function)


def _possible_trees(source: str):
    """Candidate syntax trees of the statement that contains a lambda. inspect may have cut the statement off, so shortened
    and parenthesised forms are tried as well."""
    for text in (source, source.rstrip().rstrip(","), f"({source.rstrip().rstrip(',')})", source[source.find("lambda") :]):
        try:
            yield ast.parse(text)
        except SyntaxError:
            continue


def _names(function: types.FunctionType) -> list[str]:
    """The free and global names that a function reads."""
    return list(dict.fromkeys((*function.__code__.co_freevars, *names_used(function.__code__))))


def names_used(code: types.CodeType) -> list[str]:
    """The global names that a code object and its nested code objects read, in order of first use."""
    names: dict[str, None] = {}
    for instruction in dis.get_instructions(code):
        if instruction.opname in ("LOAD_GLOBAL", "LOAD_NAME"):
            names[instruction.argval] = None
        elif isinstance(instruction.argval, types.CodeType):
            names.update(dict.fromkeys(names_used(instruction.argval)))
    return list(names)


def literal(value, enclosing: tuple[int, ...] = ()) -> str | None:
    """The source of a constant. None for other values, also for a list that contains itself.

    enclosing: the ids of the containers around the value.
    """
    if value is None or isinstance(value, bool):
        return repr(value)
    if isinstance(value, str):
        return str.__repr__(value)  # an enum member's own repr would name the class
    if isinstance(value, int):
        return repr(int(value))
    if isinstance(value, float):
        if math.isnan(value):
            return "math.nan"
        return repr(float(value)) if math.isfinite(value) else ("math.inf" if value > 0 else "-math.inf")
    if isinstance(value, torch.dtype):
        return str(value)
    if not isinstance(value, (dict, tuple, list)) or id(value) in enclosing or len(enclosing) == _MAX_NESTING:
        return None
    enclosing = (*enclosing, id(value))
    if isinstance(value, dict):
        items = [(literal(key, enclosing), literal(item, enclosing)) for key, item in value.items()]
        return None if any(None in pair for pair in items) else f"{{{', '.join(f'{key}: {item}' for key, item in items)}}}"
    items = [literal(item, enclosing) for item in value]
    if None in items:
        return None
    if isinstance(value, list):
        return f"[{', '.join(items)}]"
    return f"({', '.join(items)}{',' if len(items) == 1 else ''})"


_MAX_NESTING = 64  # levels of containers in a constant


def torch_spelling(value) -> str | None:
    """`module.name` of a function of PyTorch or math, under whatever name it was imported. None for other values."""
    name = getattr(value, "__name__", None)
    if not callable(value) or not name:
        return None
    for module in (torch, F, math, torch.special):
        for spelled in (name, name.removeprefix("special_")):
            if getattr(module, spelled, None) is value:
                return f"{module.__name__}.{spelled}"
    return None


class Meaning(typing.NamedTuple):
    """The meaning of a name in a function's module, and a function that uses it so."""

    value: object  # two meanings are the same if their values are equal
    description: str  # for messages
    user: str  # the name of the function that uses it


def _look_up(function: types.FunctionType, name: str) -> tuple[bool, object]:
    """Looks a name up in a function's closure and globals. Returns (whether it was found, its value)."""
    code = function.__code__
    if name in code.co_freevars:
        cell = function.__closure__[code.co_freevars.index(name)]
        try:
            return True, cell.cell_contents
        except ValueError:  # bound after this def, and not yet assigned
            return False, None
    if name in function.__globals__:
        return True, function.__globals__[name]
    return False, None


class _Capture:
    def __init__(self, function: types.FunctionType, name: str, gradient: types.FunctionType | None, files: Files):
        self.files = files
        self.imports: list[str] = []
        self.constants: dict[str, str] = {}  # name → literal
        self.functions: dict[str, tuple[object, Snippet]] = {}  # name in the text → the function and its source
        self.aliases: dict[str, str] = {}  # name → the name in the text of the function that it means
        self.meanings: dict[str, Meaning] = {}  # all names in the text
        self.root = self.add_function(function, name)
        gradient = gradient or unwrapped(function).__globals__.get(f"{name}_backward")
        if isinstance(gradient, types.FunctionType):
            self.add_function(gradient, f"{name}_backward")

    def source(self) -> Source:
        lines = [*self.imports, *(f"{name} = {value}" for name, value in self.constants.items())]
        origins = []
        helpers = [part for _, part in self.functions.values() if part is not self.root]
        for part in [*helpers, self.root]:
            if lines:
                lines.append("")
            origins.append((len(lines) + 1, part.file, part.line, part.indent))
            lines += part.lines
        if self.aliases:
            first, *rest = origins[-1]
            aliases = [f"{name} = {target}" for name, target in self.aliases.items()] + [""]
            lines[first - 1 : first - 1] = aliases
            origins[-1] = (first + len(aliases), *rest)
        return Source("\n".join(lines) + "\n", self.root.name, self.root.file, origins)

    def add_function(self, function, name: str | None = None) -> Snippet:
        function = unwrapped(function)
        part = snippet(function, name, self.files)
        if self.functions.get(part.name, (None,))[0] is function:
            return self.functions[part.name][1]
        self.add_defaults(function, part)  # Python evaluates defaults at the def, so their functions must come first
        if part.name in self.functions:
            other = self.functions[part.name][1]
            raise author_error(
                f"two functions are called `{part.name}`: {other.file}:{other.line} and {part.file}:{part.line}",
                "an op and all that it uses are compiled as one module; rename one of them",
            )
        self.functions[part.name] = (function, part)
        self.add_meaning(part.name, function, f"the function at {part.file}:{part.line}", part)
        self.add_uses(function, part)
        return part

    def add_uses(self, function: types.FunctionType, part: Snippet) -> None:
        """Adds the names that a function reads. `part`: the source of the function, or of the def around it."""
        for used in _names(function):
            is_defined, value = _look_up(function, used)
            if is_defined:
                self.add_value(used, value, part)
            elif used not in function.__code__.co_freevars:
                self.add_meaning(used, None, "a built-in name", part)

    def add_defaults(self, function: types.FunctionType, part: Snippet) -> None:
        """Adds functions that are default values of parameters."""
        named = [p.name for p in inspect.signature(function).parameters.values() if p.default is not p.empty]
        defaults = _defaults(_first_statement(part.lines).args, function)
        for name, (default, value) in zip(named, defaults):
            used = _function_of(value)
            if used and isinstance(default, ast.Lambda):
                self.add_uses(used, part)
            elif used and isinstance(default, ast.Name):
                self.add_helper(default.id, used, part)
            elif used or (literal(value) is None and torch_spelling(value) is None):
                raise self.unsupported_value_error(name, value, part)

    def add_meaning(self, name: str, value, description: str, user: Snippet) -> None:
        """Records the meaning of a name. Raises `ingot.Error` if functions of several modules use the name for different
        things, because the text is a single module."""
        meaning = self.meanings.setdefault(name, Meaning(value, description, user.name))
        if meaning.value != value:
            raise author_error(
                f"`{name}` is {meaning.description} where `{meaning.user}` uses it and {description} where `{user.name}` does",
                "an op and all that it uses are compiled as one module; rename one of them",
            )

    def add_value(self, name: str, value, user: Snippet) -> None:
        if inspect.ismodule(value):
            self.add_module(name, value, user)
        elif (constant := literal(value)) is not None:
            self.add_meaning(name, constant, constant, user)
            self.constants[name] = constant
        elif getattr(builtins, name, None) is value or value is torch.Tensor:
            self.add_meaning(name, None, "a built-in name", user)
        elif spelled := torch_spelling(value):
            module, _, function = spelled.rpartition(".")
            is_own = module != "math" and function == name  # a supported function under its own name needs no import
            self.add_meaning(name, None if is_own else spelled, spelled, user)
            if not is_own:
                self.add_import(f"from {module} import {function}" + (f" as {name}" if function != name else ""))
        elif function := _function_of(value):
            self.add_helper(name, function, user)
        else:
            raise self.unsupported_value_error(name, value, user)

    def add_helper(self, name: str, function, user: Snippet) -> None:
        part = self.add_function(function, name if is_lambda(function) else None)
        self.add_meaning(name, part.function, f"the function at {part.file}:{part.line}", user)
        if part.name != name:
            self.aliases[name] = part.name

    def add_module(self, name: str, module, user: Snippet) -> None:
        if module not in _MODULE_PATHS:
            raise author_error(
                f"`{user.name}` uses the module `{name}`; an op supports torch, torch.nn, torch.nn.functional, torch.special "
                "and math", f"assign the value that it needs to a global name: EPS = {name}.EPS")
        self.add_meaning(name, module, f"the module {_MODULE_PATHS[module]}", user)
        if _MODULES.get(name) is not module:
            self.add_import(f"import {_MODULE_PATHS[module]} as {name}")

    def add_import(self, line: str) -> None:
        if line not in self.imports:
            self.imports.append(line)

    @staticmethod
    def unsupported_value_error(name: str, value, user: Snippet) -> Error:
        kind = f"{type(value).__module__}.{type(value).__qualname__}".removeprefix("builtins.")
        if isinstance(value, torch.Tensor):
            hint = "pass it as an argument: a tensor's values are not part of an op"
        elif isinstance(value, torch.nn.Module):
            hint = "pass its parameters as arguments, and write its computation with torch.nn.functional"
        elif hasattr(value, "_parameters"):
            hint = "an op made from source text cannot be used in another op; make it from a function"
        elif callable(value):
            hint = "an op calls plain functions; define this one with def"
        else:
            hint = "an op can use functions, numbers, strings, dtypes, and tuples, lists and dicts of these"
        return author_error(f"`{user.name}` uses `{name}`, which is a {kind} ({user.file}:{user.line})", hint)
