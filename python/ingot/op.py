"""The op as Python sees it."""

from __future__ import annotations

import functools
import inspect
import types
import typing

from . import _ingot
from . import trace as _trace
from .capture import Text, capture, snippet, unwrapped
from .reference import Reference

__all__ = ["Op", "op", "prepare_all"]

_ANNOTATIONS = {"": inspect.Parameter.empty, "float": float, "int": int, "bool": bool, "Tensor": "Tensor"}


class Op(_ingot.Op):
    """An op that runs on tensors as one fused kernel. Made by `ingot.op`.

    A call takes tensors and numbers, by position or by name, and `out=` (a tensor, or a tuple of one for each result;
    exact shape and dtype). It returns what the op returns: a tensor, or a tuple of tensors, with the dtypes, shapes and
    strides that eager PyTorch gives. The first call for new dtypes, ranks or layouts compiles; new sizes and new numbers
    compile nothing. What cannot run raises `ingot.Error`.
    """

    def __init__(self, source, name: str | None = None, numerics: str = "default", debug: bool = False,
                 lazy: str = "auto"):
        self.numerics, self.debug, self.lazy = numerics, debug, lazy
        self._function = self._text = None
        if isinstance(source, str):
            self._define(source, "<text>", [], name or "", numerics, debug, lazy)
            self._text = Text(source, super().name, "<text>")
            return
        # What the module's names mean is read at the first use; what can be wrong with the text itself is found now.
        part = snippet(source, name)
        alone = "\n".join(part.lines) + "\n"
        origins = [(1, part.file, part.line, part.indent)]
        _ingot.Op()._define(alone, part.file, origins, part.name, numerics, debug, lazy)
        self._function, self._name = unwrapped(source), part.name
        functools.update_wrapper(self, self._function)
        self.__name__ = part.name

    def _resolve(self):
        """Reads the text: what the first call needs, of this op or of a copy of it."""
        text = self._text or capture(self._function, self._name)
        self._define(text.text, text.source_name, text.origins, text.name, self.numerics, self.debug, self.lazy)
        self._text = text
        if self._function:
            defaults = inspect.signature(self._function).parameters.values()
            self._refuse_none([p.name for p in defaults if p.default not in (p.empty, None)])

    def __reduce__(self):
        # A function travels as its text here, too.
        return _restored, (self._whole, self.numerics, self.debug, self.lazy)

    def __deepcopy__(self, memo):
        return self

    @property
    def _whole(self) -> Text:
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
        plain = inspect.signature(self.reference.__wrapped__)
        return plain.replace(parameters=[p.replace(annotation=kinds[p.name]) for p in plain.parameters.values()])

    @functools.cached_property
    def reference(self) -> Reference:
        """The same text in eager PyTorch, in Ingot's namespace."""
        return Reference(self._whole, self._parameters)

    def source(self, *args, **kwargs) -> str:
        """The source that is generated for these arguments."""
        return self.emit("source", *args, **kwargs)

    def emit(self, stage: str, *args, device: str | None = None, architecture: int = 0, **kwargs) -> str:
        """The text of a stage for these arguments, whose values are never read: meta tensors will do.

        stage: ast, ir, schedule, kernel, source or ptx.  device: cpu or cuda; that of the arguments where none is given,
        and no GPU is needed for cuda.  architecture: 90 for sm_90; 0 for the current device's, or 90 without one.
        """
        return self._emit(stage, device, architecture, *args, **kwargs)

    def trace(self, *args, at=0, **kwargs) -> None:
        """Prints every named value of the element `at` of the (first) result, beside eager PyTorch's."""
        found = _trace.rows(self, self._whole, self._parameters, args, kwargs, at)
        print(_trace.table(self.name, at, found))

    def __repr__(self):
        return f"<ingot.Op {self.name}{self.signature}>"


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


def _restored(text: Text, numerics: str, debug: bool, lazy: str) -> Op:
    """An op from its pickled parts."""
    made = Op.__new__(Op)
    made.numerics, made.debug, made.lazy = numerics, debug, lazy
    made._function, made._text = None, text
    made._resolve()
    return made


@typing.overload
def op(source: str | types.FunctionType, /, *, name: str | None = None, numerics: str = "default",
       debug: bool = False, lazy: str = "auto") -> Op: ...
@typing.overload
def op(*, name: str | None = None, numerics: str = "default",
       debug: bool = False, lazy: str = "auto") -> typing.Callable[[types.FunctionType], Op]: ...
def op(source=None, /, *, name=None, numerics="default", debug=False, lazy="auto"):
    """Makes an op of a function (`@ingot.op`, `@ingot.op(numerics="eager")`) or of a text (`ingot.op("relu(x) + y")`).

    name: which def of a text is the op (else the last), or what the op of a function or an expression is called.
    numerics: 'default' keeps intermediates of 16-bit floats in float32; 'eager' rounds them after each op, as eager
    PyTorch does; 'fast' allows fast-math.  debug: checks gathered indices on the GPU and synchronises.
    lazy: whether what only one arm of a `where` needs is computed, and read, only where that arm is taken: 'auto' where
    that pays, and whatever is gathered; 'always'; 'never'. Results are the same.
    """
    if source is None:
        return lambda function: op(function, name=name, numerics=numerics, debug=debug, lazy=lazy)
    return Op(source, name, numerics, debug, lazy)
