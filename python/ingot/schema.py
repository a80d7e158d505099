"""What can be said of an op's calls from its text alone: what it returns, what it writes, PyTorch's schema for it.

Nothing is guessed: where the text does not say, the answer is None. Names have one kind each, wherever they are assigned:
a pass over the statements joins what each of them says, until no kind changes.
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
# Calls that give numbers, which share no memory.
_NUMBER_FUNCTIONS = (*_NUMBERS, "len", "range")
_NUMBER_METHODS = ("size", "dim", "numel", "nelement", "ndimension", "item", "stride")


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
_LIST = Returns(None, True)
_UNSEEN = Returns(-1)  # below all of them: of what was not looked at yet, and of a number that a sum begins with


class Facts(typing.NamedTuple):
    """`returns`: None where the text does not say. `writes`: the parameters that are written; None for perhaps any."""

    returns: Returns | None
    writes: frozenset[str] | None


def facts(tree: ast.Module, name: str) -> Facts:
    """Of the def `name` of a text."""
    definitions = {node.name: node for node in tree.body if isinstance(node, ast.FunctionDef)}
    return Facts(_Function(definitions, definitions[name]).returns(), _writes(definitions, name, {}))


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

    def __init__(self, definitions: dict, node: ast.FunctionDef, above: tuple = (), given: dict | None = None,
                 known: dict | None = None):
        self.definitions, self.node, self.above, self.given = definitions, node, (*above, node.name), given
        self.known = {} if known is None else known  # what helpers return, by what they were given
        arguments = node.args
        every = (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)
        self.parameters = {a.arg for a in every}
        self.numbers = {a.arg for a in every if isinstance(a.annotation, ast.Name) and a.annotation.id in _NUMBERS}
        self.numbers_of: dict[str, set] = {}  # where names are assigned numbers
        self.kinds = self._kinds()
        self.assigned: dict[str, list] = {}
        for statement in _statements(node):
            if isinstance(statement, ast.Assign):
                for target in statement.targets:
                    self._assign(target, statement.value)
            elif isinstance(statement, ast.AnnAssign) and statement.value:
                self._assign(statement.target, statement.value)
            elif isinstance(statement, ast.For):
                self._assign(statement.target, _Part(statement.iter))
            elif (added := self._added_to_list(statement)) is not None:
                name, values = added
                self.assigned.setdefault(name, []).extend(values)

    def _assign(self, target: ast.expr, value: ast.expr | None):
        if isinstance(target, ast.Name):
            self.assigned.setdefault(target.id, []).append(value)
        elif isinstance(target, (ast.Tuple, ast.List)):
            items = value.elts if isinstance(value, (ast.Tuple, ast.List)) else [value and _Part(value)] * len(target.elts)
            for part, item in zip(target.elts, items):
                self._assign(part, item)
        elif self.is_place_in_list(target) and isinstance(target.value, ast.Name):
            self.assigned.setdefault(target.value.id, []).append(value)

    def _added_to_list(self, statement: ast.stmt) -> tuple[str, list] | None:
        """The name of a list, and what a statement adds to it."""
        match statement:
            case ast.AugAssign(target=ast.Name(id=name), value=value) if _is_several(self.kinds.get(name)):
                return name, [value]
            case ast.Expr(value=ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr=attr), args=values)) if attr in _ADDING:
                return name, values
        return None

    def is_list_that_is_changed(self, target: ast.expr) -> bool:
        """Whether what is written is a list, or its place for an item: no tensor."""
        if isinstance(target, ast.Name):
            return _is_several(self.kinds.get(target.id))
        return isinstance(getattr(target, "ctx", None), ast.Store) and self.is_place_in_list(target)

    def is_place_in_list(self, target: ast.expr) -> bool:
        return isinstance(target, ast.Subscript) and _is_several(self.of(target.value, self.kinds))

    def _kinds(self) -> dict[str, Returns | None]:
        """Finds the kind of each name: the lowest that agrees with every statement."""
        arguments, inner = self.node.args, [n for n in ast.walk(self.node) if n is not self.node]
        stored = [n for n in inner if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)]
        kinds = {n.id: _UNSEEN for n in stored}
        kinds |= {n.name: None for n in inner if isinstance(n, ast.FunctionDef)}
        kinds |= {name: None if name in self.numbers else self.of_parameter(name) for name in self.parameters}
        kinds |= {rest.arg: None for rest in (arguments.vararg, arguments.kwarg) if rest}

        def each_statement():
            for statement in _statements(self.node):
                self._take(statement, kinds)

        kinds = _settled(kinds, each_statement)
        while unseen := [name for name, of in kinds.items() if of == _UNSEEN and name in self.numbers_of]:
            others = {n.id for n in stored if n not in self.numbers_of.get(n.id, ())}
            # These stay numbers. Names that are nothing else come first, since sums wait for their kinds.
            kinds |= dict.fromkeys([name for name in unseen if name not in others] or unseen[: 1 + len(unseen) // 8])
            kinds = _settled(kinds, each_statement)
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
                self.numbers_of.setdefault(name, set()).add(target)  # no result, but a sum may begin with it
            case ast.Subscript(value=ast.Name(id=name)), _ if _is_several(kinds.get(name)):
                kinds[name] = _added(kinds[name], self._of_items([value], True, kinds))
            case _:
                _join(target, self.of(value if isinstance(target, ast.Name) else _listed(value), kinds), kinds)

    def _bind_each(self, target: ast.expr, items: ast.expr, kinds: dict, bound: dict):
        """The target of a loop over `items`, whose names are in `kinds`."""
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
        """A tuple or a list of these."""
        parts = [_part(self.of(_listed(i.value), kinds)) if isinstance(i, ast.Starred) else self.of(i, kinds) for i in items]
        if not all(part in (_TENSOR, _UNSEEN) for part in parts):
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
        found = [statement.value for statement in _statements(self.node) if isinstance(statement, ast.Return)]
        kinds = [_NOTHING if value is None or _is_none(value) else self.of(value, self.kinds) for value in found]
        of = _one(kinds + ([] if _returns_always(self.node.body) else [_NOTHING]))
        return None if of == _UNSEEN else of

    def of_parameter(self, name: str) -> Returns | None:
        """The op's own are tensors; a helper's are what it was called with."""
        return _TENSOR if self.given is None else self.given.get(name)

    def of(self, node, kinds: dict) -> Returns | None:
        """The kind of an expression, given the kinds of names."""
        look = lambda inner: self.of(inner, kinds)  # noqa: E731
        match node:
            case ast.Name(id=name):
                return kinds.get(name)
            case ast.BinOp(left=left, op=operator, right=right):
                return _of_operator(look(left), operator, look(right))
            case ast.Compare(left=left, comparators=[right]):
                return _first_in((look(left), look(right)), _TENSOR, _UNSEEN)
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
                return _several(of) if isinstance(index, ast.Slice) and of != _TENSOR else _part(of)
            case ast.Attribute(value=value, attr="T" | "mT" | "H" | "mH"):
                return look(value)
            case ast.Attribute(value=value):
                of = look(value)
                return _UNSEEN if of == _UNSEEN else _TENSOR if of is not None and of.named else None
            case ast.Call():
                return self.of_call(node, kinds)
        return None

    def of_call(self, node: ast.Call, kinds: dict) -> Returns | None:
        name = _called(node)
        if isinstance(node.func, ast.Name) and name in kinds:
            return None  # a function that has a name here
        if isinstance(node.func, ast.Name) and name in self.definitions:
            return self._of_helper(name, node, kinds)
        is_method = isinstance(node.func, ast.Attribute) and not _is_module(node.func.value)
        arguments = [node.func.value, *node.args] if is_method else node.args
        subject = self.of(_listed(arguments[0]), kinds) if arguments else None
        if name in ("tuple", "list", "sum") and not is_method and subject is not None:  # Python's
            return _UNSEEN if subject == _UNSEEN else {"tuple": _SOME, "list": _LIST, "sum": _TENSOR}[name]
        if name in ("broadcast_tensors", "meshgrid"):
            return _SOME
        if name in ("max", "min", *_SPLITS, *_PAIRS, *_TWOFOLD) or (name in _TYPES and isinstance(node.func, ast.Attribute)):
            if subject != _TENSOR:
                return _UNSEEN if subject == _UNSEEN else None
            return _extreme(node, arguments[1:]) if name in ("max", "min") else (
                _split(node, name) if name in _SPLITS or name in _PAIRS else _TENSOR)
        return _TENSOR if name in _tensor_functions() else None

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
            self.known[key] = _Function(self.definitions, self.definitions[name], self.above, given, self.known).returns()
        return self.known[key]


def _extreme(node: ast.Call, rest: list[ast.expr]) -> Returns | None:
    """The kind of max or min of a tensor: x.max() is a tensor, x.max(1) two."""
    by_dim = any(keyword.arg == "dim" for keyword in node.keywords)
    if not rest and not by_dim:
        return _TENSOR
    if by_dim or isinstance(rest[0], (ast.Constant, ast.UnaryOp)):
        return Returns(2, named=_called(node))
    return None  # another tensor, or a dim


def _of_operator(of: Returns | None, operator: ast.operator, other: Returns | None) -> Returns | None:
    if _TENSOR in (of, other):
        return _TENSOR
    if None not in (of, other):
        return _one([_several(of), _several(other)])
    if isinstance(operator, ast.Mult):  # some number of times
        return _several(of or other)
    return _first_in((of, other), _UNSEEN)


def _first_in(found: tuple, *kinds: Returns) -> Returns | None:
    return next((kind for kind in kinds if kind in found), None)


def _settled(facts: dict, look_again) -> dict:
    """The facts of names once they no longer change; none, where that does not come soon."""
    for _ in range(16):
        before = dict(facts)
        look_again()
        if facts == before:
            return facts
    facts.update(dict.fromkeys(facts))
    return facts


def _join(target: ast.expr, of: Returns | None, kinds: dict):
    """A name is also of this kind."""
    if isinstance(target, ast.Name):
        kinds[target.id] = _one([kinds.get(target.id, _UNSEEN), of])
    elif isinstance(target, (ast.Tuple, ast.List)):
        for part in target.elts:
            _join(part, _part(of), kinds)


def _listed(node: ast.expr) -> ast.expr:
    """Where items are taken, a generator is as good as a list; it is no result."""
    return ast.ListComp(node.elt, node.generators) if isinstance(node, ast.GeneratorExp) else node


def _added(of: Returns | None, several: Returns | None) -> Returns | None:
    """A list to which others are added."""
    if several == _UNSEEN or of == _UNSEEN:
        return of
    return _LIST if of is not None and of.is_list and _is_several(several) else None


def _is_several(of: Returns | None) -> bool:
    return of not in (None, _UNSEEN, _TENSOR, _NOTHING)


def _part(of: Returns | None) -> Returns | None:
    """An item of it, or a row of a tensor."""
    return _TENSOR if of == _TENSOR or _is_several(of) else _first_in((of,), _UNSEEN)


def _several(of: Returns | None) -> Returns | None:
    """Some number of its items."""
    return (_LIST if of.is_list else _SOME) if _is_several(of) else _first_in((of,), _UNSEEN)


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


def _writes(definitions: dict, name: str, known: dict) -> frozenset[str] | None:
    """The parameters that a def writes in place; `known`: those of others, None while they are looked at."""
    if name not in known:
        known[name] = None
        known[name] = _written_parameters(definitions, definitions[name], known)
    return known[name]


def _written_parameters(definitions: dict, node: ast.FunctionDef, known: dict) -> frozenset[str] | None:
    function = _Function(definitions, node)
    names = _roots_of_names(function)
    written: set[str] = set()
    if any(isinstance(inner, ast.NamedExpr) for inner in ast.walk(node)):
        return None
    for scope in (n for n in ast.walk(node) if isinstance(n, _SCOPES) and n is not node):
        if any(True for _ in _written(scope)):  # whose names are its own
            return None
    for target in _written(node):
        if target is not None and function.is_list_that_is_changed(target):
            continue
        roots = _roots(function, target, names)
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
            inner = _writes(definitions, name, known)
            if inner is None or inner:  # which of the arguments these are is not followed
                return None
    return frozenset(written)


_ADDING = ("append", "insert", "extend")
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


def _roots_of_names(function: _Function) -> dict[str, frozenset[str] | None]:
    """The parameters in whose memory each name may lie: the fewest that every statement agrees with."""
    roots = {name: frozenset() for name in function.assigned}
    roots |= {name: frozenset({name} - function.numbers) for name in function.parameters}

    def each_name():
        for name, values in function.assigned.items():
            roots[name] = _union([roots.get(name), *(_roots(function, value, roots) for value in values)])

    return _settled(roots, each_name)


def _union(found: list[frozenset[str] | None]) -> frozenset[str] | None:
    return None if None in found else frozenset().union(*found)


def _roots(function: _Function, node, names: dict) -> frozenset[str] | None:
    """The parameters in whose memory an expression may lie; None where that is not known."""
    match node:
        case ast.Constant() | ast.Attribute(attr="shape" | "ndim" | "dtype" | "device"):
            return frozenset()
        case ast.Name(id=name):
            return names.get(name)
        case ast.Subscript(value=value) | ast.Attribute(value=value) | _Part(value=value) | ast.UnaryOp(op=ast.UAdd(), operand=value):
            return _roots(function, value, names)
        case ast.Tuple(elts=items) | ast.List(elts=items):
            return _union([_roots(function, item, names) for item in items])
        case ast.BinOp(left=left, right=right) if function.of(node, function.kinds) != _TENSOR:
            return _union([_roots(function, left, names), _roots(function, right, names)])
        case ast.BinOp() | ast.UnaryOp() | ast.Compare():
            return frozenset()
        case ast.Call():
            name = _called(node)
            if isinstance(node.func, ast.Name) and name in function.definitions:
                return None
            if name in _tensor_functions() and name not in _VIEWS and not name.endswith("_"):
                return frozenset()
            is_method = isinstance(node.func, ast.Attribute) and not _is_module(node.func.value)
            if name in (_NUMBER_METHODS if is_method else _NUMBER_FUNCTIONS):
                return frozenset()
            if is_method and (name in _VIEWS or name.endswith("_")):
                return _roots(function, node.func.value, names)
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
    """The kind that covers all of these; tuples of several lengths are tuples of some length."""
    found = set(kinds) - {_UNSEEN}
    if not found:
        return _UNSEEN if kinds else None
    if len(found) > 1 and all(_is_several(kind) and not kind.named for kind in found):
        found = set(map(_several, found))
    return found.pop() if len(found) == 1 else None


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
