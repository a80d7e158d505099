"""Infers the kind of an op's result (a tensor, a tuple, a list) from its source alone. None means unknown.

Every name has a single kind in the whole function. Passes over the statements join the kinds of all its assignments, until
a fixed point is reached.
"""

from __future__ import annotations

import ast
import typing

from .op_source import Part, called_name, is_module, literal, fixed_point, statements, tensor_functions

# Functions that Python and torch have under the same name.
_OVERLOADED_BUILTINS = set("sum any all abs round pow".split())
_TYPES = set("float int bool".split())  # as functions Python's; as methods of a tensor, casts
# Functions that return a tuple: _SPLITS of a length that arguments or sizes decide, _PAIRS of two tensors.
_SPLITS = set("split chunk unbind unsafe_chunk unsafe_split split_with_sizes tensor_split hsplit vsplit dsplit".split())
_PAIRS = set("std_mean var_mean aminmax frexp".split())
NUMBERS = ("float", "int", "bool")
_LIST_ADDERS = ("append", "insert", "extend")


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
_TUPLE = Returns(None)  # of unknown length
_LIST = Returns(None, True)
_UNSEEN = Returns(-1)  # bottom: not inferred yet, or a number, to which a sum may add tensors


class Function:
    """A def, with the kinds and the assigned expressions of its names."""

    def __init__(self, definitions: dict, node: ast.FunctionDef, callers: tuple = (), argument_kinds: dict | None = None,
                 cache: dict | None = None):
        self.definitions, self.node, self.callers, self.argument_kinds = definitions, node, (*callers, node.name), argument_kinds
        self.cache = {} if cache is None else cache  # (helper, kinds of its arguments) → the kind of its result
        arguments = node.args
        parameters = (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)
        self.parameters = {a.arg for a in parameters}
        self.numbers = {a.arg for a in parameters if isinstance(a.annotation, ast.Name) and a.annotation.id in NUMBERS}
        self.number_targets: dict[str, set] = {}  # name → the targets where it is assigned a literal number
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
        """Adds the expression to those that are assigned to the target's names."""
        if isinstance(target, ast.Name):
            self.assigned.setdefault(target.id, []).append(value)
        elif isinstance(target, (ast.Tuple, ast.List)):
            items = value.elts if isinstance(value, (ast.Tuple, ast.List)) else [value and Part(value)] * len(target.elts)
            for part, item in zip(target.elts, items):
                self._assign(part, item)
        elif self.is_list_item(target) and isinstance(target.value, ast.Name):
            self.assigned.setdefault(target.value.id, []).append(value)

    def _added_to_list(self, statement: ast.stmt) -> tuple[str, list] | None:
        """If a statement adds to a list: the list's name and the added expressions."""
        match statement:
            case ast.AugAssign(target=ast.Name(id=name), value=value) if _is_sequence(self.kinds.get(name)):
                return name, [value]
            case ast.Expr(value=ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr=attr), args=values)) if attr in _LIST_ADDERS:
                return name, values
        return None

    def changes_list(self, target: ast.expr) -> bool:
        """Whether a write changes a list, or stores into one of its items, rather than into a tensor."""
        if isinstance(target, ast.Name):
            return _is_sequence(self.kinds.get(target.id))
        return isinstance(getattr(target, "ctx", None), ast.Store) and self.is_list_item(target)

    def is_list_item(self, target: ast.expr) -> bool:
        return isinstance(target, ast.Subscript) and _is_sequence(self.kind_of(target.value, self.kinds))

    def _kinds(self) -> dict[str, Returns | None]:
        """Finds the kind of each name: the lowest in the order of kinds that agrees with every statement."""
        arguments, inner = self.node.args, [n for n in ast.walk(self.node) if n is not self.node]
        assigned = [n for n in inner if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)]
        kinds = {n.id: _UNSEEN for n in assigned}
        kinds |= {n.name: None for n in inner if isinstance(n, ast.FunctionDef)}
        kinds |= {name: None if name in self.numbers else self.kind_of_parameter(name) for name in self.parameters}
        kinds |= {rest.arg: None for rest in (arguments.vararg, arguments.kwarg) if rest}

        def update_kinds():
            for statement in statements(self.node):
                self._bind_statement(statement, kinds)

        kinds = fixed_point(kinds, update_kinds)
        while unseen := [name for name, kind in kinds.items() if kind == _UNSEEN and name in self.number_targets]:
            others = {n.id for n in assigned if n not in self.number_targets.get(n.id, ())}
            # The remaining names are numbers, so their kind is None. Names that are only ever numbers come first, because the
            # kinds of sums depend on theirs.
            kinds |= dict.fromkeys([name for name in unseen if name not in others] or unseen[: 1 + len(unseen) // 8])
            kinds = fixed_point(kinds, update_kinds)
        return kinds

    def _bind_statement(self, statement: ast.stmt, kinds: dict):
        """Joins into `kinds` the kinds of the values that a statement gives to names."""
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
            case ast.Expr(value=ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr=attr), args=[*_, item])) if attr in _LIST_ADDERS:
                added = self.kind_of(item, kinds) if attr == "extend" else self._kind_of_items([item], True, kinds)
                kinds[name] = _extended(kinds.get(name), added)

    def _bind(self, target: ast.expr, value: ast.expr, kinds: dict):
        """Joins the kind of an assigned expression into the kinds of the target's names."""
        match target, value:
            case (ast.Tuple(elts=parts) | ast.List(elts=parts)), (ast.Tuple(elts=items) | ast.List(elts=items)) if len(parts) == len(items):
                for part, item in zip(parts, items):
                    self._bind(part, item, kinds)
            case ast.Name(id=name), ast.Constant(value=int() | float() as number) if type(number) is not bool:
                self.number_targets.setdefault(name, set()).add(target)  # a number is no result, but a sum may start from it
            case ast.Subscript(value=ast.Name(id=name)), _ if _is_sequence(kinds.get(name)):
                kinds[name] = _extended(kinds[name], self._kind_of_items([value], True, kinds))
            case _:
                _join_into(target, self.kind_of(value if isinstance(target, ast.Name) else _as_list(value), kinds), kinds)

    def _bind_each(self, target: ast.expr, items: ast.expr, kinds: dict, bound: dict):
        """Joins into `bound` the kinds of a loop's target. `kinds`: those of the names in `items`."""
        function_name = items.func.id if isinstance(items, ast.Call) and isinstance(items.func, ast.Name) else ""
        is_builtin = function_name not in kinds and function_name not in self.definitions
        match target:
            case ast.Tuple(elts=parts) if is_builtin and function_name == "zip" and len(parts) == len(items.args):
                for part, item in zip(parts, items.args):
                    self._bind_each(part, item, kinds, bound)
            case ast.Tuple(elts=[count, part]) if is_builtin and function_name == "enumerate" and items.args:
                _join_into(count, None, bound)
                self._bind_each(part, items.args[0], kinds, bound)
            case _:
                _join_into(target, _item_kind(self.kind_of(_as_list(items), kinds)), bound)

    def _kind_of_items(self, items: list[ast.expr], is_list: bool, kinds: dict) -> Returns | None:
        """The kind of a tuple or list display with these items."""
        parts = [_item_kind(self.kind_of(_as_list(item.value), kinds)) if isinstance(item, ast.Starred) else
                 self.kind_of(item, kinds) for item in items]
        if not all(part in (TENSOR, _UNSEEN) for part in parts):
            return None
        if _UNSEEN in parts:
            return _UNSEEN
        is_counted = not any(isinstance(item, ast.Starred) for item in items) and (is_list or len(items) > 1)
        return Returns(len(items) if is_counted else None, is_list)

    def _kind_of_comprehension(self, item: ast.expr, loops: list[ast.comprehension], kinds: dict) -> Returns | None:
        for loop in loops:
            bound: dict = {}
            self._bind_each(loop.target, loop.iter, kinds, bound)
            kinds = kinds | bound
        return self._kind_of_items([ast.Starred(ast.List([item]))], True, kinds)

    def returns(self) -> Returns | None:
        if any(isinstance(inner, ast.NamedExpr) for inner in ast.walk(self.node)):
            return None
        own_statements = statements(self.node, in_nested_defs=False)
        values = [statement.value for statement in own_statements if isinstance(statement, ast.Return)]
        kinds = [_NOTHING if value is None or _is_none(value) else self.kind_of(value, self.kinds) for value in values]
        kind = _join_all(kinds + ([] if _always_returns(self.node.body) else [_NOTHING]))
        return None if kind == _UNSEEN else kind

    def kind_of_parameter(self, name: str) -> Returns | None:
        """The kind of a parameter: a tensor for the op's own, the kind of the argument for a helper's."""
        return TENSOR if self.argument_kinds is None else self.argument_kinds.get(name)

    def kind_of(self, node, kinds: dict) -> Returns | None:
        """The kind of an expression, given the kinds of names."""
        kind = lambda inner: self.kind_of(inner, kinds)  # noqa: E731
        match node:
            case ast.Name(id=name):
                return kinds.get(name)
            case ast.BinOp(left=left, op=operator, right=right):
                return _kind_of_operator(kind(left), operator, kind(right))
            case ast.Compare(left=left, comparators=[right]):
                return _first_in((kind(left), kind(right)), TENSOR, _UNSEEN)
            case ast.UnaryOp(op=ast.USub() | ast.UAdd() | ast.Invert(), operand=operand):
                return kind(operand)
            case ast.IfExp(body=body, orelse=other):
                return _join_all([kind(body), kind(other)])
            case ast.Tuple(elts=items) | ast.List(elts=items):
                return self._kind_of_items(items, isinstance(node, ast.List), kinds)
            case ast.ListComp(elt=item, generators=loops):
                return self._kind_of_comprehension(item, loops, kinds)
            case ast.Subscript(value=value, slice=index):
                whole = kind(value)
                return _uncounted(whole) if isinstance(index, ast.Slice) and whole != TENSOR else _item_kind(whole)
            case ast.Attribute(value=value, attr="T" | "mT" | "H" | "mH"):
                return kind(value)
            case ast.Attribute(value=value):
                whole = kind(value)
                return _UNSEEN if whole == _UNSEEN else TENSOR if whole is not None and whole.named else None
            case ast.Call():
                return self.kind_of_call(node, kinds)
        return None

    def kind_of_call(self, node: ast.Call, kinds: dict) -> Returns | None:
        name = called_name(node)
        if isinstance(node.func, ast.Name) and name in kinds:
            return None  # a local name, which may be any function
        if isinstance(node.func, ast.Name) and name in self.definitions:
            return self._kind_of_helper(name, node, kinds)
        is_method = isinstance(node.func, ast.Attribute) and not is_module(node.func.value)
        arguments = [node.func.value, *node.args] if is_method else node.args
        first_kind = self.kind_of(_as_list(arguments[0]), kinds) if arguments else None
        if name in ("tuple", "list", "sum") and not is_method and first_kind is not None:  # Python's functions
            return _UNSEEN if first_kind == _UNSEEN else {"tuple": _TUPLE, "list": _LIST, "sum": TENSOR}[name]
        if name in ("broadcast_tensors", "meshgrid"):
            return _TUPLE
        is_cast = name in _TYPES and isinstance(node.func, ast.Attribute)
        if is_cast or name in ("max", "min", *_SPLITS, *_PAIRS, *_OVERLOADED_BUILTINS):
            if first_kind != TENSOR:
                return _UNSEEN if first_kind == _UNSEEN else None
            return _kind_of_extreme(node, arguments[1:]) if name in ("max", "min") else (
                _kind_of_split(node, name) if name in _SPLITS or name in _PAIRS else TENSOR)
        return TENSOR if name in tensor_functions() else None

    def _kind_of_helper(self, name: str, node: ast.Call, kinds: dict) -> Returns | None:
        if name in self.callers or any(isinstance(a, ast.Starred) for a in node.args) or any(k.arg is None for k in node.keywords):
            return None
        parameters = [a.arg for a in (*self.definitions[name].args.posonlyargs, *self.definitions[name].args.args)]
        argument_kinds = {name: self.kind_of(value, kinds) for name, value in zip(parameters, node.args)}
        argument_kinds |= {k.arg: self.kind_of(k.value, kinds) for k in node.keywords}
        if _UNSEEN in argument_kinds.values():
            return _UNSEEN
        key = name, tuple(argument_kinds.items())
        if key not in self.cache:
            self.cache[key] = Function(self.definitions, self.definitions[name], self.callers, argument_kinds, self.cache).returns()
        return self.cache[key]


def _kind_of_extreme(node: ast.Call, rest: list[ast.expr]) -> Returns | None:
    """The kind of max or min of a tensor: x.max() is a tensor, x.max(1) a tuple of two."""
    by_dim = any(keyword.arg == "dim" for keyword in node.keywords)
    if not rest and not by_dim:
        return TENSOR
    if by_dim or isinstance(rest[0], (ast.Constant, ast.UnaryOp)):
        return Returns(2, named=called_name(node))
    return None  # the argument may be a tensor or a dim


def _kind_of_operator(left: Returns | None, operator: ast.operator, right: Returns | None) -> Returns | None:
    if TENSOR in (left, right):
        return TENSOR
    if None not in (left, right):
        return _join_all([_uncounted(left), _uncounted(right)])
    if isinstance(operator, ast.Mult):  # a tuple or list that is repeated
        return _uncounted(left or right)
    return _first_in((left, right), _UNSEEN)


def _first_in(candidates: tuple, *kinds: Returns) -> Returns | None:
    """The first of `kinds` that is among the candidates, or None."""
    return next((kind for kind in kinds if kind in candidates), None)


def _join_into(target: ast.expr, kind: Returns | None, kinds: dict):
    """Joins a kind into the kinds of the target's names."""
    if isinstance(target, ast.Name):
        kinds[target.id] = _join_all([kinds.get(target.id, _UNSEEN), kind])
    elif isinstance(target, (ast.Tuple, ast.List)):
        for part in target.elts:
            _join_into(part, _item_kind(kind), kinds)


def _as_list(node: ast.expr) -> ast.expr:
    """The node, with a generator expression replaced by a list: equivalent if the items are consumed."""
    return ast.ListComp(node.elt, node.generators) if isinstance(node, ast.GeneratorExp) else node


def _extended(list_kind: Returns | None, items: Returns | None) -> Returns | None:
    """The kind of a list after items are added to it. `items`: the kind of a tuple or list of the added items."""
    if items == _UNSEEN or list_kind == _UNSEEN:
        return list_kind
    return _LIST if list_kind is not None and list_kind.is_list and _is_sequence(items) else None


def _is_sequence(kind: Returns | None) -> bool:
    return kind not in (None, _UNSEEN, TENSOR, _NOTHING)


def _item_kind(kind: Returns | None) -> Returns | None:
    """The kind of one item of a tuple or list, or of a slice of a tensor."""
    return TENSOR if kind == TENSOR or _is_sequence(kind) else _first_in((kind,), _UNSEEN)


def _uncounted(kind: Returns | None) -> Returns | None:
    """The kind without its number of tensors: a tuple or list of unknown length."""
    return (_LIST if kind.is_list else _TUPLE) if _is_sequence(kind) else _first_in((kind,), _UNSEEN)


_SPLIT_BY = set("split_size split_sizes split_size_or_sections sections indices indices_or_sections tensor_indices_or_sections".split())


def _kind_of_split(node: ast.Call, name: str) -> Returns:
    """The kind of a result of `_SPLITS` or `_PAIRS`. Literal arguments decide the number of tensors."""
    if name in _PAIRS:
        return Returns(2, named=name if name in ("aminmax", "frexp") else "")
    is_method = isinstance(node.func, ast.Attribute) and not is_module(node.func.value)
    by_name = [keyword.value for keyword in node.keywords if keyword.arg in _SPLIT_BY]
    sizes = node.args[not is_method :][:1] or by_name
    size = literal(sizes[0]) if sizes else ...
    takes_indices = name in ("tensor_split", "hsplit", "vsplit", "dsplit")
    if takes_indices and type(size) is int:
        return Returns(size) if size > 1 else _TUPLE
    if isinstance(size, (tuple, list)) and len(size) + takes_indices > 1:
        return Returns(len(size) + takes_indices)
    return _TUPLE


def _always_returns(body: list[ast.stmt]) -> bool:
    """Whether control flow never reaches the end of these statements."""
    last = body[-1]
    if isinstance(last, ast.If):
        return _always_returns(last.body) and bool(last.orelse) and _always_returns(last.orelse)
    if isinstance(last, ast.With):
        return _always_returns(last.body)
    return isinstance(last, (ast.Return, ast.Raise))


def _join_all(kinds: list) -> Returns | None:
    """The join of kinds. Tuples of different lengths join to a tuple of unknown length."""
    distinct = set(kinds) - {_UNSEEN}
    if not distinct:
        return _UNSEEN if kinds else None
    if len(distinct) > 1 and all(_is_sequence(kind) and not kind.named for kind in distinct):
        distinct = set(map(_uncounted, distinct))
    return distinct.pop() if len(distinct) == 1 else None


def _is_none(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is None
