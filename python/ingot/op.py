"""The Python class of ops, and the functions that make and prepare them."""

from __future__ import annotations

import ast
import dataclasses
import functools
import inspect
import itertools
import types
import typing

from . import _ingot, random, fallback, schema
from . import traced as _traced
from . import trace as _trace
from .capture import Source, author_error, capture, check_characters, files_of, snippet, unwrapped
from .reference import LazyReference, Reference, as_module

__all__ = ["Op", "check_gradient", "op", "prepare_all"]

_op_numbers = itertools.count()

_ANNOTATIONS = {"": inspect.Parameter.empty, "float": float, "int": int, "bool": bool, "Tensor": "Tensor"}


class Op(_ingot.Op):
    """An op that runs on tensors as one fused kernel. Made by `ingot.op`.

    Arguments: tensors and numbers, by position or by name; `out=`, a tensor, or a tuple with one for each result, of exactly
    the result's shape and dtype.
    Returns: a tensor or a tuple of tensors, with the dtypes, shapes and strides of eager PyTorch's results.
    Compiles: at the first call with new dtypes, ranks or layouts. New values of numbers do not recompile. New sizes recompile
    only if the op reduces rows and their length falls into another range.
    Raises: `ingot.Error` if the call cannot run.

    An op may be used like a function of PyTorch: under autograd, autocast, torch.func's transforms, torch.compile and modes,
    and with tensor subclasses (docs/pytorch.md).
    """

    def __init__(self, source, name: str | None = None, numerics: str = "default", debug: bool = False,
                 lazy: str = "auto", traced: str = "kernel", atomics: bool = False):
        if traced not in ("kernel", "text"):
            raise author_error(f"traced is {traced!a}", "it is one of kernel and text")
        self._set_options(numerics, debug, lazy, traced, atomics)
        for value, description in (("" if name is None else name, "the op's name"), (numerics, "numerics"), (lazy, "lazy")):
            check_characters(value, description)
        if isinstance(source, str):
            check_characters(source, "the op's text")
            self._define_from(Source(source, name or "", "<text>"))
            return
        # Errors in the function itself are reported now. Globals are read at the first use, for they may be assigned later.
        self._files = files_of(unwrapped(source), name or "")
        definition = snippet(source, name, self._files)
        own_source = "\n".join(definition.lines) + "\n"
        origins = [(1, definition.file, definition.line, definition.indent)]
        _ingot.Op()._define(own_source, definition.file, origins, definition.name, numerics, debug, lazy, atomics, None)
        self._function, self._name = unwrapped(source), definition.name
        functools.update_wrapper(self, self._function)
        self.__name__ = definition.name

    def _set_options(self, numerics: str, debug: bool, lazy: str, traced: str, atomics: bool):
        self.numerics, self.debug, self.lazy, self.traced, self.atomics = numerics, debug, lazy, traced, atomics
        self._function = self._source = self._gradient = self._files = None
        self._key = str(next(_op_numbers))  # unique in the process
        self._call_plans, self._overloads = {}, []  # plans of traced calls; overloads that the op is registered as

    def _resolve(self):
        """Captures and parses the op's source. C++ calls this at the op's first use."""
        self._define_from(self._source or capture(self._function, self._name, self._gradient, self._files))

    def _define_from(self, source: Source):
        reference = LazyReference()
        self._define(source.text, source.source_name, source.origins, source.name, self.numerics, self.debug, self.lazy,
                     self.atomics, reference)
        self.__name__ = super().name
        self._source, self._files = dataclasses.replace(source, name=self.__name__), None
        reference.define(self._source, self._parameters)
        self._eager = reference

    def __reduce__(self):
        # A pickled op contains its source, never the function.
        return _restored, (self._captured_source, self.numerics, self.debug, self.lazy, self.traced, self.atomics)

    def __deepcopy__(self, memo):
        return self

    @property
    def _captured_source(self) -> Source:
        if self._source is None:
            self._resolve()
        return self._source

    @property
    def name(self) -> str:
        """The op's name."""
        return self._name if self._function else super().name

    @property
    def signature(self) -> inspect.Signature:
        """The op's parameters: tensors, or numbers if annotated as float, int or bool."""
        if self._function:
            return inspect.signature(self._function)
        kinds = {name: _ANNOTATIONS[kind] for name, kind, _ in self._parameters}
        plain = schema.signature(self._tree, self._captured_source.name)
        return plain.replace(parameters=[p.replace(annotation=kinds[p.name]) for p in plain.parameters.values()])

    @property
    def _tree(self) -> ast.Module:
        return as_module(self._captured_source, [name for name, _, _ in self._parameters])

    @property
    def reference(self) -> Reference:
        """The op's source, run in eager PyTorch with the names that Ingot supports."""
        return self._captured_source and self._eager.reference

    @property
    def returns(self) -> schema.Returns | None:
        """The kind of the op's result; None if it cannot be inferred from the source alone."""
        return self._effects.returns

    @property
    def writes(self) -> frozenset[str] | None:
        """The parameters that the op writes in place; None if they cannot be inferred from the source alone."""
        return self._effects.writes

    @functools.cached_property
    def _effects(self) -> schema.OpEffects:
        return schema.effects_of(self._tree, self._captured_source.name)

    @property
    def is_functional(self) -> bool:
        """Whether the source alone shows that the op writes nothing, and the kind of its result."""
        return self.returns is not None and self.writes == frozenset()

    @functools.cached_property
    def uses_random(self) -> bool:
        """Whether the op may use random numbers, judged by its source alone."""
        return random.uses_random(self._tree)

    def _fallback(self, *args, **kwargs):
        return fallback.call(self, args, kwargs)

    _traced_call = _traced.call  # installed below as the `__call__` that torch.compile traces

    def _call_plan(self, _key: str, kinds: tuple[str, ...], keywords: tuple[str, ...], has_out: bool) -> _traced.CallPlan:
        key = kinds, keywords, has_out
        if key not in self._call_plans:
            self._call_plans[key] = _traced.make_call_plan(self, *key)
        return self._call_plans[key]

    _call_plan._dynamo_marked_constant = True  # as torch.compiler.assume_constant_result does, which would import Dynamo

    @functools.cached_property
    def _shard_plans(self):
        from . import sharded  # which imports torch.distributed

        return sharded.Plans()

    def backward(self, function):
        """A decorator that gives the op a custom backward, a function of the same language.

            @f.backward
            def _(grad, x, y): return grad * y, grad * x

        Its parameters are the gradients with respect to the op's results, then the op's own parameters. It returns one value
        for each of the op's parameters, None for no gradient. Gradients of broadcast arguments are summed to their shape.
        Instead of the decorator, `def f_backward` may be defined next to `def f`, in its module or in the op's source text.
        Raises `ingot.Error` after the op's first use.
        """
        if self._source is not None:
            raise author_error(f"it is too late to give `{self.name}` a custom backward: its source has been read",
                               "do so before the op's first use; in an op made from source text, define f_backward(grad, x)")
        self._gradient = unwrapped(function)
        self._files = files_of(self._gradient) | self._files
        return function

    def source(self, *args, **kwargs) -> str:
        """The kernel source that Ingot generates for these arguments."""
        return self.emit("source", *args, **kwargs)

    def emit(self, stage: str, *args, device: str | None = None, architecture: int = 0, **kwargs) -> str:
        """The output of a compilation stage as text, for these arguments. Their values are not read: meta tensors suffice.

        stage: ast, ir, schedule, kernel, source or ptx; backward: what a call saves for its gradient, and what the gradient
            recomputes; backward-source: the source of the kernels that compute the gradient.
        device: cpu or cuda; by default the device of the arguments. cuda needs no GPU.
        architecture: 90 for sm_90; 0 for that of the current device, or 90 without a GPU.
        Raises `ingot.Error` for an unknown stage or device, and if the op does not compile.
        """
        check_characters(stage, "the stage")
        check_characters("" if device is None else device, "the device")
        return self._emit(stage, device, architecture, *args, **kwargs)

    def trace(self, *args, at=0, **kwargs) -> None:
        """Prints, for one element of the first result, each named value as Ingot and as eager PyTorch compute it.

        at: the index of the element; a tuple with one number for each dim.
        """
        rows = _trace.rows(self, self._captured_source, self._parameters, args, kwargs, at)
        print(_trace.table(self.name, at, rows))

    def __repr__(self):
        return f"<ingot.Op {self.name}{self.signature}>"


def check_gradient(op: Op, *args, **kwargs) -> None:
    """Compares an op's gradient at these arguments with finite differences in float64, along random directions.

    Raises `ingot.Error`, which names the parameter, if the relative difference exceeds 10⁻⁴.
    """
    op._check_gradient(*args, **kwargs)


def prepare_all(calls: typing.Iterable[tuple]) -> None:
    """Compiles and loads the kernels of many calls, without launching them.

    This is faster than `op.prepare` for each call: CPU kernels share source files, and the files are compiled in parallel
    (docs/performance.md: batched-compilation).

    calls: (op, arguments) or (op, arguments, keywords) each.
    Raises TypeError for anything but an op. If some calls cannot be prepared, the others still are; then the first
    `ingot.Error` is raised.
    """
    listed = []
    for op, arguments, *rest in calls:
        if not isinstance(op, Op):
            raise TypeError(f"prepare_all takes ingot's ops, not a {type(op).__name__}")
        keywords = rest[0] if rest else {}
        listed.append((op, (*arguments, *keywords.values()), tuple(keywords)))
    _ingot._prepare_all(listed)


_ingot._install_dynamo_call(Op, Op._traced_call)


def _restored(source: Source, numerics: str, debug: bool, lazy: str, traced: str, atomics: bool) -> Op:
    """Makes an op from its pickled parts."""
    op = Op.__new__(Op)
    op._set_options(numerics, debug, lazy, traced, atomics)
    op._define_from(source)
    return op


@typing.overload
def op(source: str | types.FunctionType, /, *, name: str | None = None, numerics: str = "default",
       debug: bool = False, lazy: str = "auto", traced: str = "kernel", atomics: bool = False) -> Op: ...
@typing.overload
def op(*, name: str | None = None, numerics: str = "default",
       debug: bool = False, lazy: str = "auto", traced: str = "kernel", atomics: bool = False) -> typing.Callable[[types.FunctionType], Op]: ...
def op(source=None, /, *, name=None, numerics="default", debug=False, lazy="auto", traced="kernel", atomics=False):
    """Makes an op from a function (`@ingot.op`, `@ingot.op(debug=True)`) or from source text (`ingot.op("relu(x) + y")`).

    name: in source text with several defs, the one that is the op (by default the last); otherwise the op's name.
    numerics: precision of 16-bit float intermediates: 'default' keeps them in float32; 'eager' rounds them after each
        operation, as eager PyTorch does; 'fast' is 'default' with fast-math.
    debug: on the GPU, checks gathered indices and synchronises after each launch. Checks a custom backward by finite
        differences before its first use.
    lazy: whether values that only one arm of a `where` needs are read and computed only if that arm is taken: 'auto', for
        gathered values, and for other values if that pays; 'always'; 'never'. The results are the same.
    traced: a call as `torch.compile` and other tracers see it: 'kernel', one opaque op with a fused gradient; 'text', the
        PyTorch functions that the op's source calls, which the tracer's compiler may fuse with the surrounding ones.
    atomics: lets the gradient of a gather from a large tensor use atomic additions on a GPU, in any order, which saves a
        sort. This raises an error under torch.use_deterministic_algorithms.
    Raises `ingot.Error` for source that cannot be read or is not valid, and for an unknown option.
    """
    if source is None:
        return lambda function: op(function, name=name, numerics=numerics, debug=debug, lazy=lazy, traced=traced,
                                   atomics=atomics)
    return Op(source, name, numerics, debug, lazy, traced, atomics)
