"""Infers which parameters an op writes in place, from its source alone. None means unknown."""

from __future__ import annotations

import ast
import functools
import inspect

import torch

from .op_source import Part, called_name, is_module, fixed_point, tensor_functions
from .returned_kinds import NUMBERS, TENSOR, Function

# Functions whose results may share their argument's storage.
_VIEWS = set("""view reshape view_as reshape_as t transpose permute adjoint expand expand_as broadcast_to unsqueeze squeeze
flatten unflatten ravel narrow select slice diagonal detach alias contiguous to type type_as float double half bfloat16 int
long short char byte bool unfold movedim moveaxis swapaxes swapdims real T mT H mH values indices atleast_1d atleast_2d
atleast_3d positive conj resolve_conj resolve_neg requires_grad_ split chunk unbind tensor_split hsplit vsplit dsplit
split_with_sizes broadcast_tensors meshgrid squeeze_ dropout dropout1d dropout2d dropout3d alpha_dropout
feature_dropout feature_alpha_dropout einsum imag matrix_transpose as_strided conj_physical cartesian_prod""".split())
# Calls that return numbers, which have no storage.
_NUMBER_FUNCTIONS = (*NUMBERS, "len", "range")
_NUMBER_METHODS = ("size", "dim", "numel", "nelement", "ndimension", "item", "stride")


def writes(definitions: dict, name: str, cache: dict) -> frozenset[str] | None:
    """The parameters that a def writes in place. `cache`: the results by def; None for a def that is being analysed."""
    if name not in cache:
        cache[name] = None
        cache[name] = _written_parameters(definitions, definitions[name], cache)
    return cache[name]


def _written_parameters(definitions: dict, node: ast.FunctionDef, cache: dict) -> frozenset[str] | None:
    function = Function(definitions, node)
    names = _roots_of_names(function)
    written: set[str] = set()
    if any(isinstance(inner, ast.NamedExpr) for inner in ast.walk(node)):
        return None
    for scope in (n for n in ast.walk(node) if isinstance(n, _SCOPES) and n is not node):
        if any(True for _ in _write_targets(scope)):  # the names in this scope are different ones
            return None
    for target in _write_targets(node):
        if target is not None and function.changes_list(target):
            continue
        roots = _roots(function, target, names)
        if roots is None:
            return None
        written |= roots
    for call in (n for n in ast.walk(node) if isinstance(n, ast.Call)):
        name = called_name(call)
        if not isinstance(call.func, (ast.Name, ast.Attribute)):
            return None
        if isinstance(call.func, ast.Attribute):
            continue
        if name in function.assigned or name in function.parameters:  # a local name, which may be any function
            return None
        if name in definitions:
            inner = writes(definitions, name, cache)
            if inner is None or inner:  # arguments of helpers are not traced to parameters
                return None
    return frozenset(written)


_SCOPES = (ast.FunctionDef, ast.Lambda, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)


def _write_targets(node: ast.AST):
    """The expressions that are written in place; None for a write whose target is unknown."""
    for inner in ast.walk(node):
        if isinstance(inner, ast.AugAssign):
            yield _as_read(inner.target)
        elif isinstance(inner, (ast.Assign, ast.For)):
            targets = inner.targets if isinstance(inner, ast.Assign) else [inner.target]
            for target in targets:
                yield from _assigned_items(target)
        elif isinstance(inner, ast.Call):
            yield from _targets_of_call(inner)


def _assigned_items(target: ast.expr):
    """The subscripts that an assignment writes: `x[0]` in `x[0], (y, z) = …`, but not `m[1]` in `x[m[1]] = …`."""
    match target:
        case ast.Subscript():
            yield target
        case ast.Starred(value=value):
            yield from _assigned_items(value)
        case ast.Tuple(elts=items) | ast.List(elts=items):
            for item in items:
                yield from _assigned_items(item)


def _as_read(target: ast.expr) -> ast.expr:
    """The target of an augmented assignment, as an expression that is read: `items[k] += v` changes the tensor `items[k]`.
    In contrast, `items[k] = v` puts another tensor into the list."""
    if not isinstance(target, ast.Subscript):
        return target
    return ast.copy_location(ast.Subscript(target.value, target.slice, ast.Load()), target)


def _targets_of_call(call: ast.Call):
    name = called_name(call)
    keywords = _keywords(call)
    if None in keywords or any(isinstance(argument, ast.Starred) for argument in call.args):
        if _position_of_inplace(name) is not None or name in _WITH_STATISTICS:
            yield None
    if "out" in keywords:
        yield keywords["out"]
    is_method = isinstance(call.func, ast.Attribute) and not is_module(call.func.value)
    first = call.func.value if is_method else call.args[0] if call.args else keywords.get("input")
    position = _position_of_inplace(name)
    is_inplace = "inplace" in keywords or (position is not None and len(call.args) + is_method > position)
    if ((name.endswith("_") and not name.endswith("__")) or is_inplace) and first is not None:
        yield first
    if name in _WITH_STATISTICS:
        is_torch = isinstance(call.func, ast.Attribute) and ast.unparse(call.func.value) == "torch"
        yield from call.args[3:5] if is_torch else call.args[1:3]
        yield from (keywords[k] for k in ("running_mean", "running_var") if k in keywords)


_WITH_STATISTICS = ("batch_norm", "instance_norm")  # they may write their running statistics


def _keywords(call: ast.Call) -> dict[str | None, ast.expr]:
    """The keyword arguments of a call, with those of a literal `**{…}`. The key None represents any other `**` argument."""
    keywords = {}
    for keyword in call.keywords:
        literal_dict = keyword.value if keyword.arg is None and isinstance(keyword.value, ast.Dict) else None
        if literal_dict and all(isinstance(key, ast.Constant) for key in literal_dict.keys):
            keywords.update({key.value: value for key, value in zip(literal_dict.keys, literal_dict.values)})
        else:
            keywords[keyword.arg] = keyword.value
    return keywords


@functools.lru_cache(maxsize=None)
def _position_of_inplace(name: str) -> int | None:
    """The position of the parameter `inplace` of a function of torch.nn.functional; None if it has none."""
    function = getattr(torch.nn.functional, name, None)
    try:
        names = list(inspect.signature(function).parameters) if function else []
    except (TypeError, ValueError):
        return None
    return names.index("inplace") if "inplace" in names else None


def _roots_of_names(function: Function) -> dict[str, frozenset[str] | None]:
    """For each name, the parameters whose storage it may share: the smallest set that agrees with every statement."""
    roots = {name: frozenset() for name in function.assigned}
    roots |= {name: frozenset({name} - function.numbers) for name in function.parameters}

    def update_names():
        for name, values in function.assigned.items():
            roots[name] = _union([roots.get(name), *(_roots(function, value, roots) for value in values)])

    return fixed_point(roots, update_names)


def _union(root_sets: list[frozenset[str] | None]) -> frozenset[str] | None:
    return None if None in root_sets else frozenset().union(*root_sets)


def _roots(function: Function, node, names: dict) -> frozenset[str] | None:
    """The parameters whose storage an expression may share; None if unknown. `names`: the same for each name."""
    match node:
        case ast.Constant() | ast.Attribute(attr="shape" | "ndim" | "dtype" | "device"):
            return frozenset()
        case ast.Name(id=name):
            return names.get(name)
        case ast.Subscript(value=value) | ast.Attribute(value=value) | Part(value=value) | ast.UnaryOp(op=ast.UAdd(), operand=value):
            return _roots(function, value, names)
        case ast.Tuple(elts=items) | ast.List(elts=items):
            return _union([_roots(function, item, names) for item in items])
        case ast.BinOp(left=left, right=right) if function.kind_of(node, function.kinds) != TENSOR:
            return _union([_roots(function, left, names), _roots(function, right, names)])
        case ast.BinOp() | ast.UnaryOp() | ast.Compare():
            return frozenset()
        case ast.Call():
            name = called_name(node)
            if isinstance(node.func, ast.Name) and name in function.definitions:
                return None
            if name in tensor_functions() and name not in _VIEWS and not name.endswith("_"):
                return frozenset()
            is_method = isinstance(node.func, ast.Attribute) and not is_module(node.func.value)
            if name in (_NUMBER_METHODS if is_method else _NUMBER_FUNCTIONS):
                return frozenset()
            if is_method and (name in _VIEWS or name.endswith("_")):
                return _roots(function, node.func.value, names)
    return None
