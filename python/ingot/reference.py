"""The same text in eager PyTorch: what every op's results are compared with.

The text runs in a namespace of Ingot's, where each name of the language is PyTorch's own function, and where bare sum,
min, max, abs, round, pow, any and all are torch's on tensors and Python's on the rest.
"""

from __future__ import annotations

import __future__
import ast
import builtins
import contextlib
import functools
import inspect
import math
import sys
import types

import torch
import torch.nn.functional as F
from torch.overrides import TorchFunctionMode
from torch.utils._pytree import tree_leaves, tree_map

from . import _ingot
from .capture import Text, fail
from .random import KernelRandom, is_random, uses_random

_COERCIONS = {"float": float, "int": int, "bool": bool}
_STATIC = ("float", "int", "bool", "len", "range", "zip", "enumerate", "tuple", "list", "isinstance", "print")
_TWOFOLD = ("sum", "min", "max", "abs", "round", "pow", "any", "all")
_PLAIN = {"torch": torch, "F": F, "special": torch.special}
_MODULES = ("torch", "torch.nn", "torch.nn.functional", "torch.special", "math")


@contextlib.contextmanager
def as_called_by_users():
    """Calls functions as a user does, also within an operator's kernel, where PyTorch leaves out the key of autograd, at which
    it takes composite functions apart. A fake tensor would then take them apart by formulas in Python, of which that of
    hinge_embedding_loss fails."""
    autograd = torch._C.DispatchKey.AutogradFunctionality
    with torch.no_grad(), torch._C._PreserveDispatchKeyGuard():
        torch._C._dispatch_tls_set_dispatch_key_excluded(autograd, False)
        yield


class Reference:
    """An op in eager PyTorch: any tensors that eager takes, on any device, with gradients. Random numbers are those that
    the op's kernel draws."""

    def __init__(self, text: Text, parameters):
        self._annotations = {name: kind for name, kind, _ in parameters if kind in _COERCIONS}
        self._text, self._names = text, [name for name, _, _ in parameters]
        self._uses_random = uses_random(as_module(text, self._names))
        self.__wrapped__ = compile_text(text, self._names, namespace())
        self.__name__ = text.name
        self._signature = inspect.signature(self.__wrapped__)

    def __call__(self, *args, **kwargs):
        bound = self._bind(args, kwargs)
        with KernelRandom(bound.arguments) if self._uses_random else contextlib.nullcontext():
            return self.__wrapped__(*bound.args, **bound.kwargs)

    def with_torch_random(self, *args, **kwargs):
        """The same where PyTorch says how random numbers are drawn: under a transform, on a subclass."""
        bound = self._bind(args, kwargs)
        return self.__wrapped__(*bound.args, **bound.kwargs)

    def with_seed(self, seed: torch.Tensor, **given):
        """The same with the random numbers that the op's kernel draws from a seed."""
        bound = self._bind((), given)
        with KernelRandom(bound.arguments, seed):
            return self.__wrapped__(*bound.args, **bound.kwargs)

    def as_written(self, *args, **kwargs):
        """A call of no arguments that runs the text as its author would, for timing: PyTorch's own modules in place of
        those that know the language's names too, and nothing around the function."""
        bound = self._bind(args, kwargs)
        function = compile_text(self._text, self._names, self._plain_scope())
        return functools.partial(function, *bound.args, **bound.kwargs)

    @functools.cached_property
    def for_tracing(self):
        """The function as torch.compile can read it: it looks up a function's module by its name."""
        module = types.ModuleType(f"ingot.texts.{self.__name__}_{id(self):x}")
        vars(module).update(self._plain_scope(), __name__=module.__name__)
        sys.modules[module.__name__] = module
        return compile_text(self._text, self._names, vars(module))

    def faked(self, given: dict):
        """A call of which some numbers are `Unknown`."""
        bound = {n: coerce(n, self._annotations[n], v) if n in self._annotations else v for n, v in given.items()}
        with AnyProbability(), as_called_by_users():
            return self.for_fakes(**bound)

    @functools.cached_property
    def for_fakes(self):
        """The function for numbers that nobody knows (`Unknown`), into which math's functions would look."""
        scope = namespace()
        function = compile_text(self._text, self._names, scope)
        for name, value in list(scope.items()):
            if value is math:
                scope[name] = types.SimpleNamespace(**{n: propagating_unknown(v) for n, v in vars(math).items()})
            elif getattr(math, getattr(value, "__name__", ""), None) is value:
                scope[name] = propagating_unknown(value)
        return function

    def _plain_scope(self) -> dict:
        scope, tree = namespace(), as_module(self._text, self._names)
        scope.update({name: module for name, module in _PLAIN.items() if _has_all(tree, name, module)})
        return scope

    def _bind(self, args, kwargs):
        bound = self._signature.bind(*args, **kwargs)
        for name, kind in self._annotations.items():
            if name in bound.arguments:
                bound.arguments[name] = coerce(name, kind, bound.arguments[name])
        return bound

    def __repr__(self):
        return f"<eager reference of {self.__name__}>"


class Unknown(float):
    """A number that a traced call does not know: what it is decides nothing about the results' dtypes and shapes."""

    def _refuse(self, *_):
        raise fail("under torch.compile this op's results depend on the value of a number that is not known there",
                   'make the op with traced="text", so that its own functions are compiled')

    __bool__ = __eq__ = __ne__ = __lt__ = __le__ = __gt__ = __ge__ = __int__ = __float__ = __hash__ = _refuse
    __round__ = __trunc__ = __floor__ = __ceil__ = __divmod__ = __rdivmod__ = is_integer = as_integer_ratio = _refuse

    def _same(self, *_):
        return self

    __neg__ = __pos__ = __abs__ = __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __truediv__ = _same
    __rtruediv__ = __pow__ = __rpow__ = __mod__ = __rmod__ = __floordiv__ = __rfloordiv__ = _same


class AnyProbability(TorchFunctionMode):
    """What random functions give has the same dtype and shape whatever their unknown numbers are, into which they look."""

    def __torch_function__(self, function, types, args=(), kwargs=None):
        if is_random(function):
            args, kwargs = tree_map(lambda value: 0.5 if isinstance(value, Unknown) else value, (args, kwargs))
        return function(*args, **(kwargs or {}))


_TO_OTHERS = {"floor", "ceil", "trunc", "isfinite", "isinf", "isnan", "isclose", "frexp", "modf"}


def propagating_unknown(function):
    """A function of math's that makes an unknown number of one, and no bool or int."""
    if not callable(function):
        return function

    @functools.wraps(function)
    def call(*args):
        unknown = next((a for a in args if isinstance(a, Unknown)), None)
        if unknown is None:
            return function(*args)
        return unknown._refuse() if function.__name__ in _TO_OTHERS else unknown

    return call


class Eager:
    """The reference of an op, made when it is first asked for. It knows nothing of the op, which holds it."""

    def define(self, text: Text, parameters):
        self._text, self._parameters = text, parameters

    @functools.cached_property
    def reference(self) -> Reference:
        return Reference(self._text, self._parameters)

    def __call__(self, seed: torch.Tensor | None = None, /, **given) -> list[torch.Tensor]:
        """What the text returns, from left to right."""
        _ingot.count_eager_fallback()
        results = self.reference.with_torch_random(**given) if seed is None else self.reference.with_seed(seed, **given)
        return [torch.as_tensor(value) for value in tree_leaves(results) if value is not None]


def coerce(name: str, kind: str, value):
    """A number as the annotation of its parameter has it. What stands for many while calls are traced stays so."""
    if isinstance(value, torch.Tensor):
        raise fail(f"`{name}` is annotated {kind} and was given a tensor")
    if isinstance(value, (torch.SymInt, torch.SymFloat, torch.SymBool)):
        return torch.sym_float(value) if kind == "float" else value
    if isinstance(value, Unknown) and kind == "float":
        return value
    if value is None or (kind == "int" and isinstance(value, float)) or (kind == "bool" and value not in (0, 1)):
        raise fail(f"`{name}` is annotated {kind}, and {value!r} is not one", f"pass {kind}(…) of it")
    return _COERCIONS[kind](value)


def _with_coerced_defaults(function: types.FunctionType) -> types.FunctionType:
    """`n: float = 2` is 2.0."""
    def coerced(name, value):
        kind = function.__annotations__.get(name)
        return value if value is None or kind not in _COERCIONS else coerce(name, kind, value)

    code = function.__code__
    names = code.co_varnames[: code.co_argcount][code.co_argcount - len(function.__defaults__ or ()) :]
    if function.__defaults__:
        function.__defaults__ = tuple(map(coerced, names, function.__defaults__))
    if function.__kwdefaults__:
        function.__kwdefaults__ = {name: coerced(name, value) for name, value in function.__kwdefaults__.items()}
    return function


def compile_text(text: Text, parameters: list[str], scope: dict):
    """The op's function, ready to be called in eager PyTorch: the text, run in a namespace."""
    module = as_module(text, parameters)
    for statement in module.body:
        if isinstance(statement, ast.ImportFrom) and (statement.names[0].name == "*" or statement.module not in _MODULES):
            continue
        if isinstance(statement, ast.Import):
            statement.names = [alias for alias in statement.names if alias.name in _MODULES]
            if not statement.names:
                continue
        if isinstance(statement, ast.FunctionDef):
            statement.decorator_list = []
        file = _move(statement, text)
        code = compile(
            ast.Module([statement], []), file, "exec", flags=__future__.annotations.compiler_flag, dont_inherit=True
        )
        exec(code, scope)
    function, gradient = _with_coerced_defaults(scope[text.name]), scope.get(f"{text.name}_backward")
    return function if gradient is None else with_custom_backward(function, gradient)


def with_custom_backward(function, gradient):
    """The function with a gradient that was written by hand: it takes the gradients of the results, then the arguments."""
    signature, taken = inspect.signature(function), inspect.signature(gradient).parameters
    returned_list = []  # autograd looks into tuples alone

    class CustomBackward(torch.autograd.Function):
        generate_vmap_rule = True

        @staticmethod
        def forward(*values):
            results = function(**dict(zip(signature.parameters, values)))
            returned_list.append(isinstance(results, list))
            return tuple(results) if isinstance(results, list) else results

        @staticmethod
        def setup_context(ctx, inputs, output):
            ctx.save_for_backward(*(value for value in inputs if isinstance(value, torch.Tensor)))
            ctx.numbers = [None if isinstance(value, torch.Tensor) else (value,) for value in inputs]

        @staticmethod
        def backward(ctx, *grads):
            # The gradient gets copies, as in a kernel: it may write its parameters.
            tensors = iter(ctx.saved_tensors)
            values = [next(tensors) if number is None else number[0] for number in ctx.numbers]
            given = (value.clone() if isinstance(value, torch.Tensor) else value for value in (*grads, *values))
            found = gradient(**dict(zip(taken, given)))
            return tuple(found) if isinstance(found, (tuple, list)) else (found,)

    @functools.wraps(function)
    def call(*args, **kwargs):
        bound = signature.bind(*args, **kwargs)
        bound.apply_defaults()
        results = CustomBackward.apply(*(bound.arguments[name] for name in signature.parameters))
        return list(results) if returned_list.pop() else results

    return call


def as_module(text: Text, parameters: list[str]) -> ast.Module:
    """The text's tree; a bare expression becomes the def that it stands for."""
    module = ast.parse(text.text.expandtabs() if "\t" in text.text else text.text)
    last = module.body[-1]
    if isinstance(last, ast.Expr) and not any(isinstance(s, ast.FunctionDef) for s in module.body):
        definition = ast.parse(f"def {text.name}({', '.join(parameters)}): return 0").body[0]
        definition.body[0].value = last.value
        module.body[-1] = ast.fix_missing_locations(ast.copy_location(definition, last))
    return module


def _move(statement: ast.stmt, text: Text) -> str:
    """Gives a statement the lines that it has in its file, whose name is returned."""
    for line, file, original, _ in reversed(text.origins):
        if statement.lineno >= line:
            ast.increment_lineno(statement, original - line)
            return file
    return text.source_name


def torch_function(name: str):
    """PyTorch's own op of a name of the language; None where it has no such function."""
    # Of a dropout, torch has one that must be told whether it trains.
    for module in (F, torch) if "dropout" in name else (torch, F, torch.special):
        if function := getattr(module, name, None):
            return function
    if hasattr(torch.Tensor, name):
        return lambda x, *args, **kwargs: getattr(x, name)(*args, **kwargs)
    return None


def namespace() -> dict:
    """A fresh namespace for the text of an op."""
    scope = {"__builtins__": builtins, "__name__": "ingot.reference", "Tensor": torch.Tensor}
    for name, _, aliases, is_function, _, _ in _ingot.language():
        for spelled in (name, *aliases):
            if is_function and spelled not in _STATIC and (function := torch_function(spelled)):
                scope[spelled] = function
    scope.update({name: _twofold(name) for name in _TWOFOLD})
    scope.update(torch=_Module(torch, scope), F=_Module(F, scope), special=_Module(torch.special, scope), math=math, nn=torch.nn, inf=math.inf, nan=math.nan)
    return scope


def _twofold(name: str):
    on_tensors, on_the_rest = getattr(torch, name), getattr(builtins, name)

    def function(*args, **kwargs):
        of_items = args and isinstance(args[0], (tuple, list, dict, range))  # whatever stands beside them
        any_tensor = any(isinstance(a, torch.Tensor) for a in args)
        return (on_tensors if any_tensor and not of_items else on_the_rest)(*args, **kwargs)

    function.__name__ = name
    return function


def _has_all(tree: ast.AST, name: str, module) -> bool:
    """Whether the module has whatever the text takes from it under this name."""
    return all(
        hasattr(module, node.attr)
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == name
    )


class _Module:
    """PyTorch's module, and for what it lacks (torch.gelu) the language's name."""

    def __init__(self, module, scope: dict):
        self._module, self._scope = module, scope

    def __getattr__(self, name: str):
        if hasattr(self._module, name):
            return getattr(self._module, name)
        if name in self._scope:
            return self._scope[name]
        raise AttributeError(f"{self._module.__name__} has no {name}")
