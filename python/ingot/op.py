"""The op as Python sees it."""

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
from .capture import Text, capture, check_characters, fail, files_of, snippet, unwrapped
from .reference import Eager, Reference, as_module

__all__ = ["Op", "check_gradient", "op", "prepare_all"]

_numbers = itertools.count()

_ANNOTATIONS = {"": inspect.Parameter.empty, "float": float, "int": int, "bool": bool, "Tensor": "Tensor"}


class Op(_ingot.Op):
    """An op that runs on tensors as one fused kernel. Made by `ingot.op`.

    A call takes tensors and numbers, by position or by name, and `out=` (a tensor, or a tuple of one for each result;
    exact shape and dtype). It returns what the op returns: a tensor, or a tuple of tensors, with the dtypes, shapes and
    strides that eager PyTorch gives. The first call for new dtypes, ranks or layouts compiles; new numbers compile
    nothing, and new sizes only where rows of another range of lengths are reduced. What cannot run raises `ingot.Error`.

    Where a built-in function of PyTorch's may stand, an op may: under autograd, autocast, torch.func's transforms,
    torch.compile, modes, and with subclasses of tensors (docs/pytorch.md).
    """

    def __init__(self, source, name: str | None = None, numerics: str = "default", debug: bool = False,
                 lazy: str = "auto", traced: str = "kernel", atomics: bool = False):
        if traced not in ("kernel", "text"):
            raise fail(f"traced is {traced!a}", "it is one of kernel and text")
        self._begin(numerics, debug, lazy, traced, atomics)
        for given, what in (("" if name is None else name, "the op's name"), (numerics, "numerics"), (lazy, "lazy")):
            check_characters(given, what)
        if isinstance(source, str):
            check_characters(source, "the op's text")
            self._read(Text(source, name or "", "<text>"))
            return
        # What the module's names mean is read at the first use; what can be wrong with the text itself is found now.
        self._files = files_of(unwrapped(source), name or "")
        part = snippet(source, name, self._files)
        alone = "\n".join(part.lines) + "\n"
        origins = [(1, part.file, part.line, part.indent)]
        _ingot.Op()._define(alone, part.file, origins, part.name, numerics, debug, lazy, atomics, None)
        self._function, self._name = unwrapped(source), part.name
        functools.update_wrapper(self, self._function)
        self.__name__ = part.name

    def _begin(self, numerics: str, debug: bool, lazy: str, traced: str, atomics: bool):
        self.numerics, self.debug, self.lazy, self.traced, self.atomics = numerics, debug, lazy, traced, atomics
        self._function = self._text = self._gradient = self._files = None
        self._key = str(next(_numbers))  # no two ops of a process share it
        self._forms, self._overloads = {}, []  # of traced calls; under which it was registered

    def _resolve(self):
        """Reads the text: what the first call needs, of this op or of a copy of it."""
        self._read(self._text or capture(self._function, self._name, self._gradient, self._files))

    def _read(self, text: Text):
        eager = Eager()
        self._define(text.text, text.source_name, text.origins, text.name, self.numerics, self.debug, self.lazy,
                     self.atomics, eager)
        self.__name__ = super().name
        self._text, self._files = dataclasses.replace(text, name=self.__name__), None
        eager.define(self._text, self._parameters)
        self._eager = eager

    def __reduce__(self):
        # A function travels as its text here, too.
        return _restored, (self._captured, self.numerics, self.debug, self.lazy, self.traced, self.atomics)

    def __deepcopy__(self, memo):
        return self

    @property
    def _captured(self) -> Text:
        if self._text is None:
            self._resolve()
        return self._text

    @property
    def name(self) -> str:
        """The op's name."""
        return self._name if self._function else super().name

    @property
    def signature(self) -> inspect.Signature:
        """The op's parameters: tensors, or numbers where an annotation says so."""
        if self._function:
            return inspect.signature(self._function)
        kinds = {name: _ANNOTATIONS[kind] for name, kind, _ in self._parameters}
        plain = schema.signature(self._tree, self._captured.name)
        return plain.replace(parameters=[p.replace(annotation=kinds[p.name]) for p in plain.parameters.values()])

    @property
    def _tree(self) -> ast.Module:
        return as_module(self._captured, [name for name, _, _ in self._parameters])

    @property
    def reference(self) -> Reference:
        """The same text in eager PyTorch, in Ingot's namespace."""
        return self._captured and self._eager.reference

    @property
    def returns(self) -> schema.Returns | None:
        """What the op returns, as far as its text alone says."""
        return self._effects.returns

    @property
    def writes(self) -> frozenset[str] | None:
        """The parameters that the op writes in place, as far as its text alone says."""
        return self._effects.writes

    @functools.cached_property
    def _effects(self) -> schema.OpEffects:
        return schema.effects_of(self._tree, self._captured.name)

    @property
    def is_functional(self) -> bool:
        """Whether the text says that the op writes nothing, and what it returns."""
        return self.returns is not None and self.writes == frozenset()

    @functools.cached_property
    def uses_random(self) -> bool:
        """Whether the op may draw random numbers, as far as its text alone says."""
        return random.uses_random(self._tree)

    def _fallback(self, *args, **kwargs):
        return fallback.call(self, args, kwargs)

    _traced_call = _traced.call  # what torch.compile reads in place of __call__, below

    def _form(self, _key: str, kinds: tuple[str, ...], keywords: tuple[str, ...], has_out: bool) -> _traced.Form:
        key = kinds, keywords, has_out
        if key not in self._forms:
            self._forms[key] = _traced.form(self, *key)
        return self._forms[key]

    _form._dynamo_marked_constant = True  # torch.compiler.assume_constant_result, which would import all of Dynamo

    @functools.cached_property
    def _shard_plans(self):
        from . import sharded  # which imports torch.distributed

        return sharded.Plans()

    def backward(self, function):
        """A decorator: the gradient of the op, written by hand in the same language.

            @f.backward
            def _(grad, x, y): return grad * y, grad * x

        It takes the gradients with respect to the op's results, then what the op takes, and returns one value a
        parameter, None where there is none; what was broadcast is summed up. `def f_backward` beside `def f`, in its
        module or in the op's text, is the same.
        """
        if self._text is not None:
            raise fail(f"`{self.name}` has been read already", "give an op its gradient before its first call, "
                       "and to one that is made from text in the text: def f_backward(grad, x): …")
        self._gradient = unwrapped(function)
        self._files = files_of(self._gradient) | self._files
        return function

    def source(self, *args, **kwargs) -> str:
        """The source that is generated for these arguments."""
        return self.emit("source", *args, **kwargs)

    def emit(self, stage: str, *args, device: str | None = None, architecture: int = 0, **kwargs) -> str:
        """The text of a stage for these arguments, whose values are never read: meta tensors will do.

        stage: ast, ir, schedule, kernel, source or ptx; backward: what is kept of a call for its gradient;
            backward-source: the kernels that autograd runs for it.
        device: cpu or cuda; that of the arguments where none is given, and no GPU is needed for cuda.
        architecture: 90 for sm_90; 0 for the current device's, or 90 without one.
        """
        check_characters(stage, "the stage")
        check_characters("" if device is None else device, "the device")
        return self._emit(stage, device, architecture, *args, **kwargs)

    def trace(self, *args, at=0, **kwargs) -> None:
        """Prints every named value of the element `at` of the (first) result, beside eager PyTorch's."""
        found = _trace.rows(self, self._captured, self._parameters, args, kwargs, at)
        print(_trace.table(self.name, at, found))

    def __repr__(self):
        return f"<ingot.Op {self.name}{self.signature}>"


def check_gradient(op: Op, *args, **kwargs) -> None:
    """Compares an op's gradient with differences in float64, along random directions, for these arguments.

    Raises `ingot.Error`, which names the parameter, where they are farther apart than a part in 10⁴.
    """
    op._check_gradient(*args, **kwargs)


def prepare_all(calls: typing.Iterable[tuple]) -> None:
    """Compiles and loads what the calls would need, and launches nothing: `op.prepare` of many at once.

    A call is (op, arguments) or (op, arguments, keywords). Kernels of the CPU are compiled some dozens to a file, and a
    file to a processor at a time: each costs a tenth of what it would alone. Whatever cannot be prepared, the rest is;
    then the first `ingot.Error` is raised.
    """
    listed = []
    for made, arguments, *rest in calls:
        if not isinstance(made, Op):
            raise TypeError(f"prepare_all takes ingot's ops, not a {type(made).__name__}")
        keywords = rest[0] if rest else {}
        listed.append((made, (*arguments, *keywords.values()), tuple(keywords)))
    _ingot._prepare_all(listed)


_ingot._install_dynamo_call(Op, Op._traced_call)


def _restored(text: Text, numerics: str, debug: bool, lazy: str, traced: str, atomics: bool) -> Op:
    """An op from its pickled parts."""
    made = Op.__new__(Op)
    made._begin(numerics, debug, lazy, traced, atomics)
    made._read(text)
    return made


@typing.overload
def op(source: str | types.FunctionType, /, *, name: str | None = None, numerics: str = "default",
       debug: bool = False, lazy: str = "auto", traced: str = "kernel", atomics: bool = False) -> Op: ...
@typing.overload
def op(*, name: str | None = None, numerics: str = "default",
       debug: bool = False, lazy: str = "auto", traced: str = "kernel", atomics: bool = False) -> typing.Callable[[types.FunctionType], Op]: ...
def op(source=None, /, *, name=None, numerics="default", debug=False, lazy="auto", traced="kernel", atomics=False):
    """Makes an op of a function (`@ingot.op`, `@ingot.op(numerics="eager")`) or of a text (`ingot.op("relu(x) + y")`).

    name: which def of a text is the op (else the last), or what the op of a function or an expression is called.
    numerics: 'default' keeps intermediates of 16-bit floats in float32; 'eager' rounds them after each op, as eager
    PyTorch does; 'fast' allows fast-math.  debug: checks gathered indices on the GPU and synchronises.
    lazy: whether what only one arm of a `where` needs is computed, and read, only where that arm is taken: 'auto' where
    that pays, and whatever is gathered; 'always'; 'never'. Results are the same.
    traced: what `torch.compile` and its kin see of a call: 'kernel', one opaque op with its fused gradient; 'text', the
    op's own functions, for their compiler to fuse with what is around them.
    atomics: whether the gradient of a gather from a large tensor may be added up in any order on a GPU, which spares a
    sort; torch.use_deterministic_algorithms refuses it.
    """
    if source is None:
        return lambda function: op(function, name=name, numerics=numerics, debug=debug, lazy=lazy, traced=traced,
                                   atomics=atomics)
    return Op(source, name, numerics, debug, lazy, traced, atomics)
