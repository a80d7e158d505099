"""Runs an op's source in eager PyTorch, which defines the correct results of the op.

The source runs in a namespace in which each supported name is PyTorch's own function. The bare names sum, min, max, abs,
round, pow, any and all are PyTorch's functions for tensors, and Python's for other values.
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
from .capture import Source, author_error
from .random import KernelRandom, is_random, uses_random

_NUMBER_TYPES = {"float": float, "int": int, "bool": bool}
_PYTHON_FUNCTIONS = ("float", "int", "bool", "len", "range", "zip", "enumerate", "tuple", "list", "isinstance", "print")
# Functions that Python and torch have under the same name.
_OVERLOADED_BUILTINS = ("sum", "min", "max", "abs", "round", "pow", "any", "all")
_TORCH_MODULES = {"torch": torch, "F": F, "special": torch.special}
_MODULES = ("torch", "torch.nn", "torch.nn.functional", "torch.special", "math")


@contextlib.contextmanager
def as_called_by_users():
    """A context in which functions dispatch as in a user's call, for use inside an operator's kernel.

    Inside an operator's kernel, PyTorch excludes the autograd dispatch key. That key decomposes composite functions. If it
    is excluded, fake tensors use Python decompositions, and the Python decomposition of hinge_embedding_loss fails.
    """
    autograd = torch._C.DispatchKey.AutogradFunctionality
    with torch.no_grad(), torch._C._PreserveDispatchKeyGuard():
        torch._C._dispatch_tls_set_dispatch_key_excluded(autograd, False)
        yield


class Reference:
    """An op as a function of eager PyTorch: for all tensors and devices that eager supports, with gradients. The
    random numbers are those of the op's kernel."""

    def __init__(self, source: Source, parameters):
        self._annotations = {name: kind for name, kind, _ in parameters if kind in _NUMBER_TYPES}
        self._source, self._names = source, [name for name, _, _ in parameters]
        self._uses_random = uses_random(as_module(source, self._names))
        self.__wrapped__ = compile_source(source, self._names, namespace())
        self.__name__ = source.name
        self._signature = inspect.signature(self.__wrapped__)

    def __call__(self, *args, **kwargs):
        bound = self._bind(args, kwargs)
        with KernelRandom(bound.arguments) if self._uses_random else contextlib.nullcontext():
            return self.__wrapped__(*bound.args, **bound.kwargs)

    def with_torch_random(self, *args, **kwargs):
        """A call with PyTorch's own random numbers, for transforms and subclasses, which define how they are drawn."""
        bound = self._bind(args, kwargs)
        return self.__wrapped__(*bound.args, **bound.kwargs)

    def with_seed(self, seed: torch.Tensor, **arguments):
        """A call with the random numbers that the op's kernel computes from this seed."""
        bound = self._bind((), arguments)
        with KernelRandom(bound.arguments, seed):
            return self.__wrapped__(*bound.args, **bound.kwargs)

    def as_written(self, *args, **kwargs):
        """A function without parameters for timing. It runs the source without overhead of this class: with PyTorch's own
        modules instead of `_Module` if possible, and with the arguments already bound."""
        bound = self._bind(args, kwargs)
        function = compile_source(self._source, self._names, self._scope_with_torch_modules())
        return functools.partial(function, *bound.args, **bound.kwargs)

    @functools.cached_property
    def for_tracing(self):
        """The function for torch.compile to trace, in a module of its own: Dynamo looks up a function's module in sys.modules by
        name."""
        module = types.ModuleType(f"ingot.sources.{self.__name__}_{id(self):x}")
        vars(module).update(self._scope_with_torch_modules(), __name__=module.__name__)
        sys.modules[module.__name__] = module
        return compile_source(self._source, self._names, vars(module))

    def run_on_fakes(self, arguments: dict):
        """A call on fake tensors. Some of the numbers may be `Unknown`."""
        bound = {n: coerce(n, self._annotations[n], v) if n in self._annotations else v for n, v in arguments.items()}
        with AnyProbability(), as_called_by_users():
            return self.for_fakes(**bound)

    @functools.cached_property
    def for_fakes(self):
        """The function for numbers that may be `Unknown`: in it, the functions of the math module propagate `Unknown`."""
        scope = namespace()
        function = compile_source(self._source, self._names, scope)
        for name, value in list(scope.items()):
            if value is math:
                scope[name] = types.SimpleNamespace(**{n: propagating_unknown(v) for n, v in vars(math).items()})
            elif getattr(math, getattr(value, "__name__", ""), None) is value:
                scope[name] = propagating_unknown(value)
        return function

    def _scope_with_torch_modules(self) -> dict:
        scope, tree = namespace(), as_module(self._source, self._names)
        scope.update({name: module for name, module in _TORCH_MODULES.items() if _has_all_attributes(tree, name, module)})
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
    """A number whose value is not known while a call is traced. Arithmetic gives another unknown number. An operation that
    needs the value raises `ingot.Error`, because dtypes and shapes of results might depend on it."""

    def _raise_unknown(self, *_):
        raise author_error("under torch.compile this op's results depend on a number whose value is not known there",
                           'make the op with traced="text", so that its own functions are compiled')

    __bool__ = __eq__ = __ne__ = __lt__ = __le__ = __gt__ = __ge__ = __int__ = __float__ = __hash__ = _raise_unknown
    __round__ = __trunc__ = __floor__ = __ceil__ = __divmod__ = __rdivmod__ = is_integer = as_integer_ratio = _raise_unknown

    def _unchanged(self, *_):
        return self

    __neg__ = __pos__ = __abs__ = __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __truediv__ = _unchanged
    __rtruediv__ = __pow__ = __rpow__ = __mod__ = __rmod__ = __floordiv__ = __rfloordiv__ = _unchanged


class AnyProbability(TorchFunctionMode):
    """A mode in which random functions get 0.5 in place of `Unknown` numbers. They check the value of a probability, although
    dtypes and shapes do not depend on it."""

    def __torch_function__(self, function, types, args=(), kwargs=None):
        if is_random(function):
            args, kwargs = tree_map(lambda value: 0.5 if isinstance(value, Unknown) else value, (args, kwargs))
        return function(*args, **(kwargs or {}))


# Functions of `math` whose results are not floats.
_RETURNING_NON_FLOATS = {"floor", "ceil", "trunc", "isfinite", "isinf", "isnan", "isclose", "frexp", "modf"}


def propagating_unknown(function):
    """Wraps a function of the math module: given an unknown number it returns an unknown number. A function that would return
    a bool, an int or a tuple raises `ingot.Error` instead. Other members of the module are returned as they are."""
    if not callable(function):
        return function

    @functools.wraps(function)
    def call(*args):
        unknown = next((a for a in args if isinstance(a, Unknown)), None)
        if unknown is None:
            return function(*args)
        return unknown._raise_unknown() if function.__name__ in _RETURNING_NON_FLOATS else unknown

    return call


class LazyReference:
    """Makes the reference of an op at its first use. C++ calls this object to fall back to eager. The object does not refer to
    the op: the op owns the object, so a reference would be a cycle."""

    def define(self, source: Source, parameters):
        self._source, self._parameters = source, parameters

    @functools.cached_property
    def reference(self) -> Reference:
        return Reference(self._source, self._parameters)

    def __call__(self, seed: torch.Tensor | None = None, /, **arguments) -> list[torch.Tensor]:
        """The tensors that the op's source returns, flattened from left to right. The call counts as an eager fallback."""
        _ingot.count_eager_fallback()
        results = self.reference.with_torch_random(**arguments) if seed is None else self.reference.with_seed(seed, **arguments)
        return [torch.as_tensor(value) for value in tree_leaves(results) if value is not None]


def coerce(name: str, kind: str, value):
    """Converts a number to the type of its parameter's annotation. Symbolic and unknown numbers stay symbolic or unknown.
    Raises `ingot.Error` for a tensor, and for a value that the type cannot hold."""
    if isinstance(value, torch.Tensor):
        raise author_error(f"`{name}` is annotated {kind} and was given a tensor")
    if isinstance(value, (torch.SymInt, torch.SymFloat, torch.SymBool)):
        return torch.sym_float(value) if kind == "float" else value
    if isinstance(value, Unknown) and kind == "float":
        return value
    if value is None or (kind == "int" and isinstance(value, float)) or (kind == "bool" and value not in (0, 1)):
        raise author_error(f"`{name}` is annotated {kind}, and {value!r} is not one", f"pass {kind}(…) of it")
    return _NUMBER_TYPES[kind](value)


def _with_coerced_defaults(function: types.FunctionType) -> types.FunctionType:
    """Converts defaults to the annotated type: `n: float = 2` becomes 2.0."""
    def coerced(name, value):
        kind = function.__annotations__.get(name)
        return value if value is None or kind not in _NUMBER_TYPES else coerce(name, kind, value)

    code = function.__code__
    names = code.co_varnames[: code.co_argcount][code.co_argcount - len(function.__defaults__ or ()) :]
    if function.__defaults__:
        function.__defaults__ = tuple(map(coerced, names, function.__defaults__))
    if function.__kwdefaults__:
        function.__kwdefaults__ = {name: coerced(name, value) for name, value in function.__kwdefaults__.items()}
    return function


def compile_source(source: Source, parameters: list[str], scope: dict):
    """Executes an op's source in a namespace, and returns the op's function with its custom backward, if there is one."""
    module = as_module(source, parameters)
    for statement in module.body:
        if isinstance(statement, ast.ImportFrom) and (statement.names[0].name == "*" or statement.module not in _MODULES):
            continue
        if isinstance(statement, ast.Import):
            statement.names = [alias for alias in statement.names if alias.name in _MODULES]
            if not statement.names:
                continue
        if isinstance(statement, ast.FunctionDef):
            statement.decorator_list = []
        file = _restore_line_numbers(statement, source)
        code = compile(
            ast.Module([statement], []), file, "exec", flags=__future__.annotations.compiler_flag, dont_inherit=True
        )
        exec(code, scope)
    function, gradient = _with_coerced_defaults(scope[source.name]), scope.get(f"{source.name}_backward")
    return function if gradient is None else with_custom_backward(function, gradient)


def with_custom_backward(function, gradient):
    """The function with a custom backward for autograd. `gradient` takes the results' gradients, then the arguments."""
    signature, gradient_parameters = inspect.signature(function), inspect.signature(gradient).parameters
    # Whether each unfinished call returned a list: autograd.Function supports tuples of tensors, but not lists.
    returned_list = []

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
            # The custom backward gets copies, because it may write its parameters. In a kernel they are copies as well.
            tensors = iter(ctx.saved_tensors)
            values = [next(tensors) if number is None else number[0] for number in ctx.numbers]
            copies = (value.clone() if isinstance(value, torch.Tensor) else value for value in (*grads, *values))
            gradients = gradient(**dict(zip(gradient_parameters, copies)))
            return tuple(gradients) if isinstance(gradients, (tuple, list)) else (gradients,)

    @functools.wraps(function)
    def call(*args, **kwargs):
        bound = signature.bind(*args, **kwargs)
        bound.apply_defaults()
        results = CustomBackward.apply(*(bound.arguments[name] for name in signature.parameters))
        return list(results) if returned_list.pop() else results

    return call


def as_module(source: Source, parameters: list[str]) -> ast.Module:
    """The syntax tree of a source. A bare expression becomes a def with these parameters that returns it."""
    module = ast.parse(source.text.expandtabs() if "\t" in source.text else source.text)
    last = module.body[-1]
    if isinstance(last, ast.Expr) and not any(isinstance(s, ast.FunctionDef) for s in module.body):
        definition = ast.parse(f"def {source.name}({', '.join(parameters)}): return 0").body[0]
        definition.body[0].value = last.value
        module.body[-1] = ast.fix_missing_locations(ast.copy_location(definition, last))
    return module


def _restore_line_numbers(statement: ast.stmt, source: Source) -> str:
    """Changes a statement's line numbers to those in its original file, and returns the file's name."""
    for line, file, original, _ in reversed(source.origins):
        if statement.lineno >= line:
            ast.increment_lineno(statement, original - line)
            return file
    return source.source_name


def torch_function(name: str):
    """PyTorch's function for a supported name; None if it has no such function."""
    # torch's own dropout functions require the argument `train`, so torch.nn.functional comes first for these.
    for module in (F, torch) if "dropout" in name else (torch, F, torch.special):
        if function := getattr(module, name, None):
            return function
    if hasattr(torch.Tensor, name):
        return lambda x, *args, **kwargs: getattr(x, name)(*args, **kwargs)
    return None


def namespace() -> dict:
    """A new namespace in which an op's source can run."""
    scope = {"__builtins__": builtins, "__name__": "ingot.reference", "Tensor": torch.Tensor}
    for name, _, aliases, is_function, _, _ in _ingot.language():
        for spelled in (name, *aliases):
            if is_function and spelled not in _PYTHON_FUNCTIONS and (function := torch_function(spelled)):
                scope[spelled] = function
    scope.update({name: _overloaded_builtin(name) for name in _OVERLOADED_BUILTINS})
    scope.update(torch=_Module(torch, scope), F=_Module(F, scope), special=_Module(torch.special, scope), math=math, nn=torch.nn, inf=math.inf, nan=math.nan)
    return scope


def _overloaded_builtin(name: str):
    """A function that calls PyTorch's function of this name if any argument is a tensor, else Python's builtin."""
    torch_function, python_function = getattr(torch, name), getattr(builtins, name)

    def function(*args, **kwargs):
        # A container is passed to Python's function, even if another argument is a tensor.
        is_container = args and isinstance(args[0], (tuple, list, dict, range))
        has_tensor = any(isinstance(a, torch.Tensor) for a in args)
        return (torch_function if has_tensor and not is_container else python_function)(*args, **kwargs)

    function.__name__ = name
    return function


def _has_all_attributes(tree: ast.AST, name: str, module) -> bool:
    """Whether the module has every attribute that the source reads from the name."""
    return all(
        hasattr(module, node.attr)
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == name
    )


class _Module:
    """A module of PyTorch, extended by the supported names that it lacks (torch.gelu)."""

    def __init__(self, module, scope: dict):
        self._module, self._scope = module, scope

    def __getattr__(self, name: str):
        if hasattr(self._module, name):
            return getattr(self._module, name)
        if name in self._scope:
            return self._scope[name]
        raise AttributeError(f"{self._module.__name__} has no {name}")
