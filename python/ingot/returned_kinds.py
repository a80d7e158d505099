"""Infers the kind of an op's result (a tensor, a tuple, a list) from its source alone. None means unknown.

Every name has a single kind in the whole function. Passes over the statements join the kinds of all its assignments, until
a fixed point is reached.
"""

from __future__ import annotations

import ast
import typing

from .op_source import Part, called_name, is_module, literal, fixed_point, statements, tensor_functions

_TWOFOLD = set("sum any all abs round pow".split())
_TYPES = set("float int bool".split())  # as functions Python's; as methods of a tensor, casts
# Functions that return a tuple: _SPLITS of a length that arguments or sizes decide, _PAIRS of two tensors.
_SPLITS = set("split chunk unbind unsafe_chunk unsafe_split split_with_sizes tensor_split hsplit vsplit dsplit".split())
_PAIRS = set("std_mean var_mean aminmax frexp".split())
NUMBERS = ("float", "int", "bool")
_ADDING = ("append", "insert", "extend")


class Returns(typing.NamedTuple):
    """The kind of a result or another value.

    count: the number of tensors; 1 is the tensor itself, None a tuple whose length depends on sizes.
    is_list: a list of tensors instead of a tuple.
    named: the name of the tuple's type in torch.return_types, or empty.
    """

    count: int | None
    is_list: bool = False
    named: str = ""

    def __str__(self) -> str:
        if self.is_list or self.count is None:
            return "Tensor[]"
        return "Tensor" if self.count == 1 else f"({', '.join(['Tensor'] * self.count)})"


TENSOR = Returns(1)
_NOTHING = Returns(0)
_SOME = Returns(None)
_LIST = Returns(None, True)
_UNSEEN = Returns(-1)  # bottom: not inferred yet, or a number, to which a sum may add tensors


class Function:
    """A def, with the kinds and the assigned expressions of its names."""

    def __init__(self, definitions: dict, node: ast.FunctionDef, above: tuple = (), given: dict | None = None,
                 known: dict | None = None):
        self.definitions, self.node, self.above, self.given = definitions, node, (*above, node.name), given
        self.known = {} if known is None else known  # (helper, kinds of its arguments) → the kind of its result
        arguments = node.args
        every = (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)
        self.parameters = {a.arg for a in every}
        self.numbers = {a.arg for a in every if isinstance(a.annotation, ast.Name) and a.annotation.id in NUMBERS}
        self.numbers_of: dict[str, set] = {}  # name → the targets where it is assigned a literal number
        self.kinds = self._kinds()
        self.assigned: dict[str, list] = {}
        for statement in statements(node):
            if isinstance(statement, ast.Assign):
                for target in statement.targets:
                    self._assign(target, statement.value)
            elif isinstance(statement, ast.AnnAssign) and statement.value:
                self._assign(statement.target, statement.value)
            elif isinstance(statement, ast.For):
                self._assign(statement.target, Part(statement.iter))
            elif (added := self._added_to_list(statement)) is not None:
                name, values = added
                self.assigned.setdefault(name, []).extend(values)

    def _assign(self, target: ast.expr, value: ast.expr | None):
        if isinstance(target, ast.Name):
            self.assigned.setdefault(target.id, []).append(value)
        elif isinstance(target, (ast.Tuple, ast.List)):
            items = value.elts if isinstance(value, (ast.Tuple, ast.List)) else [value and Part(value)] * len(target.elts)
            for part, item in zip(target.elts, items):
                self._assign(part, item)
        elif self.is_place_in_list(target) and isinstance(target.value, ast.Name):
            self.assigned.setdefault(target.value.id, []).append(value)

    def _added_to_list(self, statement: ast.stmt) -> tuple[str, list] | None:
        """If a statement adds to a list: the list's name and the added expressions."""
        match statement:
            case ast.AugAssign(target=ast.Name(id=name), value=value) if _is_several(self.kinds.get(name)):
                return name, [value]
            case ast.Expr(value=ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr=attr), args=values)) if attr in _ADDING:
                return name, values
        return None

    def is_list_that_is_changed(self, target: ast.expr) -> bool:
        """Whether a write changes a list, or stores into one of its items, rather than into a tensor."""
        if isinstance(target, ast.Name):
            return _is_several(self.kinds.get(target.id))
        return isinstance(getattr(target, "ctx", None), ast.Store) and self.is_place_in_list(target)

    def is_place_in_list(self, target: ast.expr) -> bool:
        return isinstance(target, ast.Subscript) and _is_several(self.of(target.value, self.kinds))

    def _kinds(self) -> dict[str, Returns | None]:
        """Finds the kind of each name: the lowest in the order of kinds that agrees with every statement."""
        arguments, inner = self.node.args, [n for n in ast.walk(self.node) if n is not self.node]
        stored = [n for n in inner if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)]
        kinds = {n.id: _UNSEEN for n in stored}
        kinds |= {n.name: None for n in inner if isinstance(n, ast.FunctionDef)}
        kinds |= {name: None if name in self.numbers else self.of_parameter(name) for name in self.parameters}
        kinds |= {rest.arg: None for rest in (arguments.vararg, arguments.kwarg) if rest}

        def each_statement():
            for statement in statements(self.node):
                self._take(statement, kinds)

        kinds = fixed_point(kinds, each_statement)
        while unseen := [name for name, of in kinds.items() if of == _UNSEEN and name in self.numbers_of]:
            others = {n.id for n in stored if n not in self.numbers_of.get(n.id, ())}
            # The remaining names are numbers, so their kind is None. Names that are only ever numbers come first, because the
            # kinds of sums depend on theirs.
            kinds |= dict.fromkeys([name for name in unseen if name not in others] or unseen[: 1 + len(unseen) // 8])
            kinds = fixed_point(kinds, each_statement)
        return kinds

    def _take(self, statement: ast.stmt, kinds: dict):
        match statement:
            case ast.Assign(targets=targets, value=value):
                for target in targets:
                    self._bind(target, value, kinds)
            case ast.AnnAssign(target=target, value=value) if value:
                self._bind(target, value, kinds)
            case ast.AugAssign(target=ast.Name() as target, op=operator, value=value):
                self._bind(target, ast.BinOp(target, operator, value), kinds)
            case ast.For(target=target, iter=items):
                self._bind_each(target, items, kinds, kinds)
            case ast.Expr(value=ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr=attr), args=[*_, item])) if attr in _ADDING:
                several = self.of(item, kinds) if attr == "extend" else self._of_items([item], True, kinds)
                kinds[name] = _added(kinds.get(name), several)

    def _bind(self, target: ast.expr, value: ast.expr, kinds: dict):
        match target, value:
            case (ast.Tuple(elts=parts) | ast.List(elts=parts)), (ast.Tuple(elts=items) | ast.List(elts=items)) if len(parts) == len(items):
                for part, item in zip(parts, items):
                    self._bind(part, item, kinds)
            case ast.Name(id=name), ast.Constant(value=int() | float() as number) if type(number) is not bool:
                self.numbers_of.setdefault(name, set()).add(target)  # a number is no result, but a sum may start from it
            case ast.Subscript(value=ast.Name(id=name)), _ if _is_several(kinds.get(name)):
                kinds[name] = _added(kinds[name], self._of_items([value], True, kinds))
            case _:
                _join(target, self.of(value if isinstance(target, ast.Name) else _listed(value), kinds), kinds)

    def _bind_each(self, target: ast.expr, items: ast.expr, kinds: dict, bound: dict):
        """Joins into `bound` the kinds of a loop's target. `kinds`: those of the names in `items`."""
        called = items.func.id if isinstance(items, ast.Call) and isinstance(items.func, ast.Name) else ""
        is_pythons = called not in kinds and called not in self.definitions
        match target:
            case ast.Tuple(elts=parts) if is_pythons and called == "zip" and len(parts) == len(items.args):
                for part, one in zip(parts, items.args):
                    self._bind_each(part, one, kinds, bound)
            case ast.Tuple(elts=[count, part]) if is_pythons and called == "enumerate" and items.args:
                _join(count, None, bound)
                self._bind_each(part, items.args[0], kinds, bound)
            case _:
                _join(target, _part(self.of(_listed(items), kinds)), bound)

    def _of_items(self, items: list[ast.expr], is_list: bool, kinds: dict) -> Returns | None:
        """The kind of a tuple or list display with these items."""
        parts = [_part(self.of(_listed(i.value), kinds)) if isinstance(i, ast.Starred) else self.of(i, kinds) for i in items]
        if not all(part in (TENSOR, _UNSEEN) for part in parts):
            return None
        if _UNSEEN in parts:
            return _UNSEEN
        is_counted = not any(isinstance(item, ast.Starred) for item in items) and (is_list or len(items) > 1)
        return Returns(len(items) if is_counted else None, is_list)

    def _of_comprehension(self, item: ast.expr, loops: list[ast.comprehension], kinds: dict) -> Returns | None:
        for loop in loops:
            bound: dict = {}
            self._bind_each(loop.target, loop.iter, kinds, bound)
            kinds = kinds | bound
        return self._of_items([ast.Starred(ast.List([item]))], True, kinds)

    def returns(self) -> Returns | None:
        if any(isinstance(inner, ast.NamedExpr) for inner in ast.walk(self.node)):
            return None
        found = [statement.value for statement in statements(self.node) if isinstance(statement, ast.Return)]
        kinds = [_NOTHING if value is None or _is_none(value) else self.of(value, self.kinds) for value in found]
        of = _one(kinds + ([] if _returns_always(self.node.body) else [_NOTHING]))
        return None if of == _UNSEEN else of

    def of_parameter(self, name: str) -> Returns | None:
        """The kind of a parameter: a tensor for the op's own, the kind of the argument for a helper's."""
        return TENSOR if self.given is None else self.given.get(name)

    def of(self, node, kinds: dict) -> Returns | None:
        """The kind of an expression, given the kinds of names."""
        look = lambda inner: self.of(inner, kinds)  # noqa: E731
        match node:
            case ast.Name(id=name):
                return kinds.get(name)
            case ast.BinOp(left=left, op=operator, right=right):
                return _of_operator(look(left), operator, look(right))
            case ast.Compare(left=left, comparators=[right]):
                return _first_in((look(left), look(right)), TENSOR, _UNSEEN)
            case ast.UnaryOp(op=ast.USub() | ast.UAdd() | ast.Invert(), operand=operand):
                return look(operand)
            case ast.IfExp(body=body, orelse=other):
                return _one([look(body), look(other)])
            case ast.Tuple(elts=items) | ast.List(elts=items):
                return self._of_items(items, isinstance(node, ast.List), kinds)
            case ast.ListComp(elt=item, generators=loops):
                return self._of_comprehension(item, loops, kinds)
            case ast.Subscript(value=value, slice=index):
                of = look(value)
                return _several(of) if isinstance(index, ast.Slice) and of != TENSOR else _part(of)
            case ast.Attribute(value=value, attr="T" | "mT" | "H" | "mH"):
                return look(value)
            case ast.Attribute(value=value):
                of = look(value)
                return _UNSEEN if of == _UNSEEN else TENSOR if of is not None and of.named else None
            case ast.Call():
                return self.of_call(node, kinds)
        return None

    def of_call(self, node: ast.Call, kinds: dict) -> Returns | None:
        name = called_name(node)
        if isinstance(node.func, ast.Name) and name in kinds:
            return None  # a local name, which may be any function
        if isinstance(node.func, ast.Name) and name in self.definitions:
            return self._of_helper(name, node, kinds)
        is_method = isinstance(node.func, ast.Attribute) and not is_module(node.func.value)
        arguments = [node.func.value, *node.args] if is_method else node.args
        subject = self.of(_listed(arguments[0]), kinds) if arguments else None
        if name in ("tuple", "list", "sum") and not is_method and subject is not None:  # Python's functions
            return _UNSEEN if subject == _UNSEEN else {"tuple": _SOME, "list": _LIST, "sum": TENSOR}[name]
        if name in ("broadcast_tensors", "meshgrid"):
            return _SOME
        if name in ("max", "min", *_SPLITS, *_PAIRS, *_TWOFOLD) or (name in _TYPES and isinstance(node.func, ast.Attribute)):
            if subject != TENSOR:
                return _UNSEEN if subject == _UNSEEN else None
            return _extreme(node, arguments[1:]) if name in ("max", "min") else (
                _split(node, name) if name in _SPLITS or name in _PAIRS else TENSOR)
        return TENSOR if name in tensor_functions() else None

    def _of_helper(self, name: str, node: ast.Call, kinds: dict) -> Returns | None:
        if name in self.above or any(isinstance(a, ast.Starred) for a in node.args) or any(k.arg is None for k in node.keywords):
            return None
        taken = [a.arg for a in (*self.definitions[name].args.posonlyargs, *self.definitions[name].args.args)]
        given = {name: self.of(value, kinds) for name, value in zip(taken, node.args)}
        given |= {k.arg: self.of(k.value, kinds) for k in node.keywords}
        if _UNSEEN in given.values():
            return _UNSEEN
        key = name, tuple(given.items())
        if key not in self.known:
            self.known[key] = Function(self.definitions, self.definitions[name], self.above, given, self.known).returns()
        return self.known[key]


def _extreme(node: ast.Call, rest: list[ast.expr]) -> Returns | None:
    """The kind of max or min of a tensor: x.max() is a tensor, x.max(1) a tuple of two."""
    by_dim = any(keyword.arg == "dim" for keyword in node.keywords)
    if not rest and not by_dim:
        return TENSOR
    if by_dim or isinstance(rest[0], (ast.Constant, ast.UnaryOp)):
        return Returns(2, named=called_name(node))
    return None  # the argument may be a tensor or a dim


def _of_operator(of: Returns | None, operator: ast.operator, other: Returns | None) -> Returns | None:
    if TENSOR in (of, other):
        return TENSOR
    if None not in (of, other):
        return _one([_several(of), _several(other)])
    if isinstance(operator, ast.Mult):  # a tuple or list that is repeated
        return _several(of or other)
    return _first_in((of, other), _UNSEEN)


def _first_in(found: tuple, *kinds: Returns) -> Returns | None:
    return next((kind for kind in kinds if kind in found), None)


def _join(target: ast.expr, of: Returns | None, kinds: dict):
    """Joins a kind into the kinds of the target's names."""
    if isinstance(target, ast.Name):
        kinds[target.id] = _one([kinds.get(target.id, _UNSEEN), of])
    elif isinstance(target, (ast.Tuple, ast.List)):
        for part in target.elts:
            _join(part, _part(of), kinds)


def _listed(node: ast.expr) -> ast.expr:
    """The node, with a generator expression replaced by a list: equivalent if the items are consumed."""
    return ast.ListComp(node.elt, node.generators) if isinstance(node, ast.GeneratorExp) else node


def _added(of: Returns | None, several: Returns | None) -> Returns | None:
    """The kind of a list after several items are added to it."""
    if several == _UNSEEN or of == _UNSEEN:
        return of
    return _LIST if of is not None and of.is_list and _is_several(several) else None


def _is_several(of: Returns | None) -> bool:
    return of not in (None, _UNSEEN, TENSOR, _NOTHING)


def _part(of: Returns | None) -> Returns | None:
    """The kind of one item of a tuple or list, or of a slice of a tensor."""
    return TENSOR if of == TENSOR or _is_several(of) else _first_in((of,), _UNSEEN)


def _several(of: Returns | None) -> Returns | None:
    """The kind of a tuple or list with an unknown number of these items."""
    return (_LIST if of.is_list else _SOME) if _is_several(of) else _first_in((of,), _UNSEEN)


_SPLIT_BY = set("split_size split_sizes split_size_or_sections sections indices indices_or_sections tensor_indices_or_sections".split())


def _split(node: ast.Call, name: str) -> Returns:
    """The kind of a result of `_SPLITS` or `_PAIRS`. Literal arguments decide the number of tensors."""
    if name in _PAIRS:
        return Returns(2, named=name if name in ("aminmax", "frexp") else "")
    is_method = isinstance(node.func, ast.Attribute) and not is_module(node.func.value)
    by_name = [keyword.value for keyword in node.keywords if keyword.arg in _SPLIT_BY]
    given = node.args[not is_method :][:1] or by_name
    of = literal(given[0]) if given else ...
    cuts = name in ("tensor_split", "hsplit", "vsplit", "dsplit")
    if cuts and type(of) is int:
        return Returns(of) if of > 1 else _SOME
    if isinstance(of, (tuple, list)) and len(of) + cuts > 1:
        return Returns(len(of) + cuts)
    return _SOME


def _returns_always(body: list[ast.stmt]) -> bool:
    """Whether control flow never reaches the end of these statements."""
    last = body[-1]
    if isinstance(last, ast.If):
        return _returns_always(last.body) and bool(last.orelse) and _returns_always(last.orelse)
    if isinstance(last, ast.With):
        return _returns_always(last.body)
    return isinstance(last, (ast.Return, ast.Raise))


def _one(kinds: list) -> Returns | None:
    """The join of kinds. Tuples of different lengths join to a tuple of unknown length."""
    found = set(kinds) - {_UNSEEN}
    if not found:
        return _UNSEEN if kinds else None
    if len(found) > 1 and all(_is_several(kind) and not kind.named for kind in found):
        found = set(map(_several, found))
    return found.pop() if len(found) == 1 else None


def _is_none(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is None
