"""A loss and its gradient, computed in one pass over memory."""

from __future__ import annotations

import typing

import torch
from torch.utils._pytree import tree_flatten, tree_leaves, tree_map, tree_unflatten

from . import _ingot, fallback
from .capture import fail
from .op import Op

__all__ = ["ValueAndGrad", "value_and_grad"]

Argnums = typing.Union[int, str, typing.Sequence[typing.Union[int, str]]]


def value_and_grad(op: Op, argnums: Argnums = 0, has_aux: bool = False) -> ValueAndGrad:
    """The op that gives a loss together with its gradients, in one kernel where that can be.

        loss_and_grad = ingot.value_and_grad(loss)
        value, grad = loss_and_grad(prediction, target)

    op: returns one float, a 0-dim tensor such as `sum()` or `mean()` gives.
    argnums: with respect to which parameters, by number or by name. One gives one gradient, a sequence a tuple; the
    gradient of a list or dict of tensors is one like it. All are of the arguments' dtypes and shapes, and 0 where an
    argument has no part in the value.
    has_aux: the op returns something beside the value, which has no part in the gradients; the call then gives
    ((value, aux), gradients).

    What it gives can be differentiated like any op's results; `requires_grad` of the arguments plays no part otherwise.
    """
    return ValueAndGrad(op, argnums, has_aux)


class ValueAndGrad:
    """What `value_and_grad` makes."""

    def __init__(self, op: Op, argnums: Argnums, has_aux: bool):
        if not isinstance(op, Op):
            raise fail(f"value_and_grad takes an op, not a {type(op).__name__}", "make one of the function: ingot.op(f)")
        self.op, self.argnums, self.has_aux = op, argnums, has_aux
        self._is_single = isinstance(argnums, str) or hasattr(argnums, "__index__")
        if not self._is_single and not isinstance(argnums, (tuple, list)):
            raise fail(f"argnums is {argnums!r}", "name parameters by their numbers or names: one, or a tuple of them")
        parameters = list(op.signature.parameters)
        self._wanted = [_index(parameters, op, of) for of in ([argnums] if self._is_single else argnums)]
        if len({index for index, _ in self._wanted}) != len(self._wanted):
            raise fail(f"argnums names a parameter of `{op.name}` twice", "name each once")
        if not self._wanted:
            raise fail("argnums is empty", "name the parameters whose gradients are wanted")
        # The kernel gives them in the order of the parameters.
        self._order = sorted(range(len(self._wanted)), key=self._wanted.__getitem__)
        self.__name__ = f"{op.name}_value_and_grad"
        self._fused = _Fused(op, [name for _, name in self._wanted], has_aux)

    def __call__(self, *args, **kwargs):
        flat = self._fused(*args, **kwargs)
        return fallback.call(self, args, kwargs) if flat is NotImplemented else self._nested(flat, args, kwargs)

    def _nested(self, flat: tuple, args: tuple, kwargs: dict):
        wanted = [self._wanted[k] for k in self._order]
        given = [args[index] if index < len(args) else kwargs[name] for index, name in wanted]
        leaves, spec = tree_flatten(given)
        in_order = tree_unflatten(flat[len(flat) - len(leaves):], spec)
        found = [None] * len(wanted)
        for k, gradient in zip(self._order, in_order):
            found[k] = gradient
        results = flat[: len(flat) - len(leaves)]
        value = (results[0], results[1] if len(results) == 2 else results[1:]) if self.has_aux else results[0]
        return value, found[0] if self._is_single else tuple(found)

    @property
    def reference(self) -> _Reference:
        """The same in eager PyTorch, of the op's text."""
        return _Reference(self)

    def _run_eager(self, function, args: tuple, kwargs: dict):
        bound = self.op.signature.bind(*args, **kwargs)
        bound.apply_defaults()
        for _, name in self._wanted:
            if name in (self.writes or ()):
                raise fail(f"`{self.op.name}` writes into `{name}`, of which a gradient is asked",
                           "write into a copy of it: x = x.clone()")
        given = tuple(bound.arguments[name] for _, name in self._wanted)

        def results(given):
            wanted = {name: value for (_, name), value in zip(self._wanted, given)}
            returned = function(**{**bound.arguments, **wanted})
            value, *aux = returned if self.has_aux else (returned,)
            return value, aux[0] if len(aux) == 1 else tuple(aux)

        if _is_transformed():
            gradients, (value, aux) = torch.func.grad_and_value(results, has_aux=True)(given)
        else:
            tensors = [leaf for leaf in tree_leaves((args, kwargs)) if isinstance(leaf, torch.Tensor)]
            recorded = torch.is_grad_enabled() and any(tensor.requires_grad for tensor in tensors)
            gradients, (value, aux) = _by_autograd(results, given, recorded)
        return (value, aux) if self.has_aux else value, gradients[0] if self._is_single else gradients

    # What the ladder asks of an op.
    _shard_plans = None  # a value is of all shards

    @property
    def name(self) -> str:
        return self.__name__

    @property
    def writes(self):
        return self.op.writes

    def _traced_call(self, *args, **kwargs):
        return self.reference.with_torch_random(*args, **kwargs)

    def prepare(self, *args, **kwargs) -> None:
        """Compiles and loads what a call with these arguments would need; launches nothing."""
        self._fused.prepare(*args, **kwargs)

    def source(self, *args, **kwargs) -> str:
        """The source that is generated for these arguments."""
        return self.emit("source", *args, **kwargs)

    def emit(self, stage: str, *args, device: str | None = None, architecture: int = 0, **kwargs) -> str:
        """The text of a stage for these arguments, as `Op.emit` gives it."""
        return self._fused._emit(stage, device, architecture, *args, **kwargs)

    def __reduce__(self):
        return value_and_grad, (self.op, self.argnums, self.has_aux)

    def __repr__(self):
        return f"<ingot.value_and_grad of {self.op.name} with respect to {', '.join(name for _, name in self._wanted)}>"


class _Reference:
    """As an op's own: random numbers are those of the kernel, or `elsewhere` PyTorch's."""

    def __init__(self, of: ValueAndGrad):
        self._of = of

    def __call__(self, *args, **kwargs):
        return self._of._run_eager(self._of.op.reference, args, kwargs)

    def with_torch_random(self, *args, **kwargs):
        return self._of._run_eager(self._of.op.reference.with_torch_random, args, kwargs)


class _Fused(_ingot.Op):
    """The op behind it: it gives what the op returns and then the gradients, all in one tuple."""

    def __init__(self, op: Op, names: list[str], has_aux: bool):
        self._of = op, names, has_aux

    def _resolve(self):
        self._define_value_and_grad(*self._of)

    def _fallback(self, *args, **kwargs):
        return NotImplemented


def _index(parameters: list[str], op: Op, of: int | str) -> tuple[int, str]:
    if isinstance(of, str) and of in parameters:
        return parameters.index(of), of
    if hasattr(of, "__index__") and not isinstance(of, bool) and -len(parameters) <= of < len(parameters):
        return of % len(parameters), parameters[of]
    raise fail(f"`{op.name}` has no parameter {of!r}", f"argnums names some of {', '.join(parameters)}, or their numbers")


def _is_transformed() -> bool:
    return torch._C._functorch.peek_interpreter_stack() is not None


def _by_autograd(results, given, recorded: bool):
    """As torch.func.grad_and_value, of whose transforms DTensors and other subclasses know nothing.

    recorded: whether autograd hears of it.
    """
    leaves, spec = tree_flatten(given)
    with torch.enable_grad():
        own = [leaf.clone() if recorded else leaf.detach().clone() for leaf in leaves]
        own = [leaf if leaf.requires_grad else leaf.requires_grad_() for leaf in own]
        value, aux = results(tree_unflatten(own, spec))
        found = [None] * len(own)
        if value.requires_grad:
            found = torch.autograd.grad(value, own, create_graph=recorded, allow_unused=True)
    found = [torch.zeros_like(leaf) if gradient is None else gradient for gradient, leaf in zip(found, own)]
    if not recorded:
        found, value, aux = tree_map(lambda x: x.detach() if isinstance(x, torch.Tensor) else x, (found, value, aux))
    return tree_unflatten(found, spec), (value, aux)
