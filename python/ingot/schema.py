"""What can be said of an op's calls from its text alone: what it returns, what it writes, PyTorch's schema for it.

Nothing is guessed: where the text does not say, the answer is None.
"""

from __future__ import annotations

import ast
import functools
import inspect
import typing

import torch

from . import _ingot

# Functions whose results are not one tensor, or not always.
_NO_TENSOR = set("""split chunk unbind tensor_split hsplit vsplit dsplit split_with_sizes unsafe_chunk unsafe_split frexp
std_mean var_mean aminmax broadcast_tensors meshgrid mode median nanmedian kthvalue sort topk cummax cummin unravel_index
size dim len range tuple list zip enumerate numel nelement ndimension item stride isinstance float int bool shape print
atleast_1d atleast_2d atleast_3d sum any all abs round pow""".split())  # the last of these are Python's own where nothing is a tensor
_TWOFOLD = set("sum any all abs round pow".split())
_TYPES = set("float int bool".split())  # Python's; a tensor's methods are casts
# Functions that give a tuple: of as many tensors as an argument says, of two, or of some number that sizes decide.
_SPLITS = set("split chunk unbind unsafe_chunk unsafe_split split_with_sizes tensor_split hsplit vsplit dsplit".split())
_PAIRS = set("std_mean var_mean aminmax frexp".split())
# Functions whose results may lie in their argument's memory.
_VIEWS = set("""view reshape view_as reshape_as t transpose permute adjoint expand expand_as broadcast_to unsqueeze squeeze
flatten unflatten ravel narrow select slice diagonal detach alias contiguous to type type_as float double half bfloat16 int
long short char byte bool unfold movedim moveaxis swapaxes swapdims real T mT H mH values indices atleast_1d atleast_2d
atleast_3d positive conj resolve_conj resolve_neg requires_grad_ split chunk unbind tensor_split hsplit vsplit dsplit
split_with_sizes broadcast_tensors meshgrid squeeze_ dropout dropout1d dropout2d dropout3d alpha_dropout
feature_alpha_dropout einsum imag matrix_transpose as_strided""".split())


_NUMBERS = ("float", "int", "bool")


class Returns(typing.NamedTuple):
    """What an op returns: `count` tensors (1: the tensor itself; None: a tuple of as many as sizes decide), or a list of some
    number of them. `named`: which of torch.return_types the tuple is."""

    count: int | None
    is_list: bool = False
    named: str = ""

    def __str__(self) -> str:
        if self.is_list or self.count is None:
            return "Tensor[]"
        return "Tensor" if self.count == 1 else f"({', '.join(['Tensor'] * self.count)})"


_TENSOR = Returns(1)
_NOTHING = Returns(0)
_SOME = Returns(None)


class Facts(typing.NamedTuple):
    """`returns`: None where the text does not say. `writes`: the parameters that are written; None for perhaps any."""

    returns: Returns | None
    writes: frozenset[str] | None


def facts(tree: ast.Module, name: str) -> Facts:
    """Of the def `name` of a text."""
    definitions = {node.name: node for node in tree.body if isinstance(node, ast.FunctionDef)}
    return Facts(_Function(definitions, definitions[name]).returns(), _writes(definitions, definitions[name], ()))


def signature(tree: ast.Module, name: str) -> inspect.Signature:
    """Of the def `name` of a text, of which nothing is run: a default that is no literal is `...`."""
    (node,) = [node for node in tree.body if isinstance(node, ast.FunctionDef) and node.name == name][-1:]
    positional = [*node.args.posonlyargs, *node.args.args]
    defaults = [None] * (len(positional) - len(node.args.defaults)) + node.args.defaults
    kinds = inspect.Parameter
    listed = [(a, d, kinds.POSITIONAL_OR_KEYWORD) for a, d in zip(positional, defaults)]
    listed += [(a, d, kinds.KEYWORD_ONLY) for a, d in zip(node.args.kwonlyargs, node.args.kw_defaults)]
    return inspect.Signature([
        kinds(a.arg, kind, default=kinds.empty if default is None else _literal(default)) for a, default, kind in listed
    ])


def _literal(node: ast.expr):
    try:
        return ast.literal_eval(node)
    except ValueError:
        return ...


class _Function:
    """A def, and what each of its names was assigned."""

    def __init__(self, definitions: dict, node: ast.FunctionDef, above: tuple = (), given: dict | None = None):
        self.definitions, self.node, self.above, self.given = definitions, node, (*above, node.name), given
        arguments = node.args
        every = (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)
        self.parameters = {a.arg for a in every}
        self.numbers = {a.arg for a in every if isinstance(a.annotation, ast.Name) and a.annotation.id in _NUMBERS}
        self.assigned: dict[str, list] = {}
        for statement in _statements(node):
            if isinstance(statement, ast.Assign):
                for target in statement.targets:
                    self._assign(target, statement.value)
            elif isinstance(statement, ast.AnnAssign) and statement.value:
                self._assign(statement.target, statement.value)
            elif isinstance(statement, ast.For):
                self._assign(statement.target, _Part(statement.iter))

    def _assign(self, target: ast.expr, value: ast.expr | None):
        if isinstance(target, ast.Name):
            self.assigned.setdefault(target.id, []).append(value)
        elif isinstance(target, (ast.Tuple, ast.List)):
            items = value.elts if isinstance(value, (ast.Tuple, ast.List)) else [value and _Part(value)] * len(target.elts)
            for part, item in zip(target.elts, items):
                self._assign(part, item)

    def returns(self) -> Returns | None:
        if any(isinstance(inner, ast.NamedExpr) for inner in ast.walk(self.node)):
            return None
        found = [statement.value for statement in _statements(self.node) if isinstance(statement, ast.Return)]
        kinds = [_NOTHING if value is None or _is_none(value) else self.of(value) for value in found]
        return _one(kinds + ([] if _returns_always(self.node.body) else [_NOTHING]))

    def of_parameter(self, name: str) -> Returns | None:
        """The op's own are tensors; a helper's are what it was called with."""
        return _TENSOR if self.given is None else self.given.get(name)

    def of(self, node, busy: frozenset = frozenset()) -> Returns | None:
        """What an expression is; `busy`: names that are being looked at."""
        look = lambda inner: self.of(inner, busy)  # noqa: E731
        match node:
            case ast.Name(id=name) if name in self.numbers:
                return None
            case ast.Name(id=name) if name in self.assigned and name not in busy:
                kinds = [self.of(value, busy | {name}) for value in self.assigned[name]]
                return _one(kinds + ([self.of_parameter(name)] if name in self.parameters else []))
            case ast.Name(id=name) if name in self.parameters:
                return self.of_parameter(name)
            case ast.Name(id=name) if name in busy:  # what it is made of itself in a loop
                return _TENSOR
            case ast.BinOp(left=left, right=right):
                return _TENSOR if _TENSOR in (look(left), look(right)) else None
            case ast.Compare(left=left, comparators=[right]):
                return _TENSOR if _TENSOR in (look(left), look(right)) else None
            case ast.UnaryOp(op=ast.USub() | ast.UAdd() | ast.Invert(), operand=operand):
                return look(operand)
            case ast.IfExp(body=body, orelse=other):
                return _one([look(body), look(other)])
            case ast.Tuple(elts=items) if any(isinstance(item, ast.Starred) for item in items):
                return _SOME if all(self._is_item(item, look) for item in items) else None
            case ast.Tuple(elts=items):
                return Returns(len(items)) if len(items) > 1 and all(look(i) == _TENSOR for i in items) else None
            case ast.List(elts=items):
                return Returns(len(items), True) if all(look(i) == _TENSOR for i in items) else None
            case ast.Subscript(value=value, slice=index):
                of = look(value)
                if of == _SOME and isinstance(index, ast.Slice):
                    return _SOME
                is_part = of == _TENSOR or (of is not None and not isinstance(index, ast.Slice))
                return _TENSOR if is_part else None
            case ast.Attribute(value=value, attr="T" | "mT" | "H" | "mH"):
                return look(value)
            case ast.Attribute(value=value):
                of = look(value)
                return _TENSOR if of is not None and of.named else None
            case ast.Call():
                return self.of_call(node, look)
            case _Part(value=value):
                whole = look(value)
                return _TENSOR if whole is not None and whole != _TENSOR else None
        return None

    def of_call(self, node: ast.Call, look) -> Returns | None:
        name = _called(node)
        if isinstance(node.func, ast.Name) and name in self.definitions:
            if name in self.above:
                return None
            taken = [a.arg for a in (*self.definitions[name].args.posonlyargs, *self.definitions[name].args.args)]
            given = dict(zip(taken, map(look, node.args))) | {k.arg: look(k.value) for k in node.keywords}
            return _Function(self.definitions, self.definitions[name], self.above, given).returns()
        if name in ("max", "min"):
            return self.of_extreme(node, look)
        if name in _SPLITS or name in _PAIRS:
            return _split(node, name) if self._of_tensor(node, look) else None
        if name == "tuple" and len(node.args) == 1 and look(node.args[0]) == _SOME:
            return _SOME
        if name == "sum" and len(node.args) == 1 and look(node.args[0]) == _SOME:  # Python's
            return _TENSOR
        if name in _TWOFOLD or (name in _TYPES and isinstance(node.func, ast.Attribute)):
            return _TENSOR if self._of_tensor(node, look) else None
        return _TENSOR if name in _tensor_functions() else None

    @staticmethod
    def _of_tensor(node: ast.Call, look) -> bool:
        """Whether the call is of a tensor: its method, or a function of it."""
        of = node.func.value if isinstance(node.func, ast.Attribute) and not _is_module(node.func.value) else None
        subject = of or (node.args[0] if node.args else None)
        return subject is not None and look(subject) == _TENSOR

    @staticmethod
    def _is_item(item: ast.expr, look) -> bool:
        """Whether an item of a tuple is a tensor, or several of them."""
        if not isinstance(item, ast.Starred):
            return look(item) == _TENSOR
        of = look(item.value)
        return of is not None and of != _TENSOR

    def of_extreme(self, node: ast.Call, look) -> Returns | None:
        """x.max() is a tensor, x.max(1) two."""
        is_method = isinstance(node.func, ast.Attribute) and not _is_module(node.func.value)
        subject, *rest = [node.func.value, *node.args] if is_method else node.args or [None]
        if subject is None or look(subject) != _TENSOR:
            return None
        by_dim = any(keyword.arg == "dim" for keyword in node.keywords)
        if not rest and not by_dim:
            return _TENSOR
        if by_dim or isinstance(rest[0], (ast.Constant, ast.UnaryOp)):
            return Returns(2, named=_called(node))
        return None  # another tensor, or a dim


_SPLIT_BY = set("split_size split_sizes split_size_or_sections sections indices indices_or_sections tensor_indices_or_sections".split())


def _split(node: ast.Call, name: str) -> Returns:
    """Of a function that gives several tensors, as many as literal arguments say."""
    if name in _PAIRS:
        return Returns(2, named=name if name in ("aminmax", "frexp") else "")
    is_method = isinstance(node.func, ast.Attribute) and not _is_module(node.func.value)
    by_name = [keyword.value for keyword in node.keywords if keyword.arg in _SPLIT_BY]
    given = node.args[not is_method :][:1] or by_name
    of = _literal(given[0]) if given else ...
    cuts = name in ("tensor_split", "hsplit", "vsplit", "dsplit")
    if cuts and type(of) is int:
        return Returns(of) if of > 1 else _SOME
    if isinstance(of, (tuple, list)) and len(of) + cuts > 1:
        return Returns(len(of) + cuts)
    return _SOME


class _Part(typing.NamedTuple):
    """An item of a value that is unpacked."""

    value: ast.expr


def _writes(definitions: dict, node: ast.FunctionDef, above: tuple) -> frozenset[str] | None:
    """The parameters that a def writes in place."""
    function = _Function(definitions, node)
    written: set[str] = set()
    for scope in (n for n in ast.walk(node) if isinstance(n, _SCOPES) and n is not node):
        if any(True for _ in _written(scope)):  # whose names are its own
            return None
    for target in _written(node):
        roots = _roots(function, target, frozenset())
        if roots is None:
            return None
        written |= roots
    for call in (n for n in ast.walk(node) if isinstance(n, ast.Call)):
        name = _called(call)
        if not isinstance(call.func, (ast.Name, ast.Attribute)):
            return None
        if isinstance(call.func, ast.Attribute):
            continue
        if name in function.assigned or name in function.parameters:  # another function's name
            return None
        if name in definitions:
            inner = None if name in above else _writes(definitions, definitions[name], (*above, node.name))
            if inner is None or inner:  # which of the arguments these are is not followed
                return None
    return frozenset(written)


_SCOPES = (ast.FunctionDef, ast.Lambda, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)


def _written(node: ast.AST):
    """The expressions that are written in place; None for one that the text does not show."""
    for inner in ast.walk(node):
        if isinstance(inner, ast.AugAssign):
            yield inner.target
        elif isinstance(inner, (ast.Assign, ast.For)):
            targets = inner.targets if isinstance(inner, ast.Assign) else [inner.target]
            for target in targets:
                yield from (part for part in ast.walk(target) if isinstance(part, ast.Subscript))
        elif isinstance(inner, ast.Call):
            yield from _written_by(inner)


def _written_by(call: ast.Call):
    name = _called(call)
    keywords = _keywords(call)
    if None in keywords or any(isinstance(argument, ast.Starred) for argument in call.args):
        if _place_of_inplace(name) is not None or name in _WITH_STATISTICS:
            yield None
    if "out" in keywords:
        yield keywords["out"]
    is_method = isinstance(call.func, ast.Attribute) and not _is_module(call.func.value)
    subject = call.func.value if is_method else call.args[0] if call.args else keywords.get("input")
    place = _place_of_inplace(name)
    is_asked = "inplace" in keywords or (place is not None and len(call.args) + is_method > place)
    if ((name.endswith("_") and not name.endswith("__")) or is_asked) and subject is not None:
        yield subject
    if name in _WITH_STATISTICS:
        of_torch = isinstance(call.func, ast.Attribute) and ast.unparse(call.func.value) == "torch"
        yield from call.args[3:5] if of_torch else call.args[1:3]
        yield from (keywords[k] for k in ("running_mean", "running_var") if k in keywords)


_WITH_STATISTICS = ("batch_norm", "instance_norm")  # which may write their running statistics


def _keywords(call: ast.Call) -> dict[str | None, ast.expr]:
    """The arguments by name; those of a dict that is written out are among them, None stands for any other."""
    found = {}
    for keyword in call.keywords:
        of_dict = keyword.value if keyword.arg is None and isinstance(keyword.value, ast.Dict) else None
        if of_dict and all(isinstance(key, ast.Constant) for key in of_dict.keys):
            found.update({key.value: value for key, value in zip(of_dict.keys, of_dict.values)})
        else:
            found[keyword.arg] = keyword.value
    return found


@functools.lru_cache(maxsize=None)
def _place_of_inplace(name: str) -> int | None:
    """Where a function of PyTorch's takes `inplace` by position."""
    function = getattr(torch.nn.functional, name, None)
    try:
        names = list(inspect.signature(function).parameters) if function else []
    except (TypeError, ValueError):
        return None
    return names.index("inplace") if "inplace" in names else None


def _roots(function: _Function, node, busy: frozenset) -> frozenset[str] | None:
    """The parameters in whose memory an expression may lie; None where that is not known."""
    match node:
        case ast.Constant():
            return frozenset()
        case ast.Name(id=name):
            if name in busy:
                return frozenset()
            own = frozenset({name}) if name in function.parameters else frozenset()
            found = [_roots(function, value, busy | {name}) for value in function.assigned.get(name, [])]
            if None in found or not (own or found):
                return None
            return own.union(*found)
        case ast.Subscript(value=value) | ast.Attribute(value=value) | _Part(value=value):
            return _roots(function, value, busy)
        case ast.Tuple(elts=items) | ast.List(elts=items):
            found = [_roots(function, item, busy) for item in items]
            return None if None in found else frozenset().union(*found)
        case ast.BinOp() | ast.UnaryOp() | ast.Compare():
            return frozenset()
        case ast.Call():
            name = _called(node)
            if isinstance(node.func, ast.Name) and name in function.definitions:
                return None
            if name in _tensor_functions() and name not in _VIEWS and not name.endswith("_"):
                return frozenset()
            is_method = isinstance(node.func, ast.Attribute) and not _is_module(node.func.value)
            if is_method and (name in _VIEWS or name.endswith("_")):
                return _roots(function, node.func.value, busy)
    return None


def _statements(node: ast.FunctionDef):
    """Those of the def itself, not of functions in it."""
    waiting = list(node.body)
    while waiting:
        statement = waiting.pop(0)
        yield statement
        for inner in ast.iter_child_nodes(statement):
            if isinstance(inner, ast.stmt) and not isinstance(inner, (ast.FunctionDef, ast.ClassDef)):
                waiting.append(inner)


def _returns_always(body: list[ast.stmt]) -> bool:
    """Whether no way through the statements comes out at their end."""
    last = body[-1]
    if isinstance(last, ast.If):
        return _returns_always(last.body) and bool(last.orelse) and _returns_always(last.orelse)
    if isinstance(last, ast.With):
        return _returns_always(last.body)
    return isinstance(last, (ast.Return, ast.Raise))


def _one(kinds: list) -> Returns | None:
    """What all of them are; as a plain tuple, where only some have names."""
    if len(set(kinds)) > 1 and None not in kinds:
        kinds = [kind._replace(named="") for kind in kinds]
    return kinds[0] if len(set(kinds)) == 1 else None


def _is_none(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is None


def _called(node: ast.Call) -> str:
    function = node.func
    return function.id if isinstance(function, ast.Name) else function.attr if isinstance(function, ast.Attribute) else ""


def _is_module(node: ast.expr) -> bool:
    return isinstance(node, ast.Name) and node.id in ("torch", "F", "nn", "special", "math") or (
        isinstance(node, ast.Attribute) and _is_module(node.value)
    )


_known: set[str] = set()


def _tensor_functions() -> set[str]:
    """The language's functions that give one tensor."""
    if not _known:
        names = (spelled for name, _, aliases, *_ in _ingot.language() for spelled in (name, *aliases))
        _known.update(name for name in names if name not in _NO_TENSOR and name not in ("max", "min"))
    return _known
