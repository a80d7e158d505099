"""Computes a loss and its gradients in one call, and in one kernel if possible."""

from __future__ import annotations

import typing

import torch
from torch.utils._pytree import tree_flatten, tree_leaves, tree_map, tree_unflatten

from . import _ingot, fallback
from .capture import author_error
from .op import Op

__all__ = ["ValueAndGrad", "value_and_grad"]

Argnums = typing.Union[int, str, typing.Sequence[typing.Union[int, str]]]


def value_and_grad(op: Op, argnums: Argnums = 0, has_aux: bool = False) -> ValueAndGrad:
    """Makes an op that returns a loss together with its gradients, from one kernel if possible.

        loss_and_grad = ingot.value_and_grad(loss)
        value, grad = loss_and_grad(prediction, target)

    op: must return a 0-dim float tensor, as `sum()` or `mean()` does.
    argnums: the parameters to differentiate by, as numbers or names. One gives a gradient, a sequence gives a tuple of them.
        The gradient of a list or dict of tensors is a list or dict. Gradients have the dtypes and shapes of the arguments,
        and are 0 for an argument that the value does not depend on.
    has_aux: the op returns further results after the value, which the gradients ignore. The call then returns
        ((value, aux), gradients).
    Raises `ingot.Error` for anything but an op, and for argnums that name no parameter or one twice.

    The results are differentiable like those of any op. Gradients are computed whether or not arguments require grad.
    """
    return ValueAndGrad(op, argnums, has_aux)


class ValueAndGrad:
    """A loss with its gradients as a callable. Made by `value_and_grad`."""

    def __init__(self, op: Op, argnums: Argnums, has_aux: bool):
        if not isinstance(op, Op):
            raise author_error(f"value_and_grad takes an op, not a {type(op).__name__}",
                               "make an op of the function: ingot.op(f)")
        self.op, self.argnums, self.has_aux = op, argnums, has_aux
        self._is_single = isinstance(argnums, str) or hasattr(argnums, "__index__")
        if not self._is_single and not isinstance(argnums, (tuple, list)):
            raise author_error(f"argnums is {argnums!r}", "pass the position or name of a parameter, or a tuple of them")
        parameters = list(op.signature.parameters)
        # The position and the name of each parameter in argnums.
        self._differentiated = [_index(parameters, op, argnum) for argnum in ([argnums] if self._is_single else argnums)]
        if len({index for index, _ in self._differentiated}) != len(self._differentiated):
            raise author_error(f"argnums names a parameter of `{op.name}` twice", "name each parameter once")
        if not self._differentiated:
            raise author_error("argnums is empty", "name the parameters whose gradients are wanted")
        # The kernel returns the gradients in the order of the parameters.
        self._order = sorted(range(len(self._differentiated)), key=self._differentiated.__getitem__)
        self.__name__ = f"{op.name}_value_and_grad"
        self._fused = _Fused(op, [name for _, name in self._differentiated], has_aux)

    def __call__(self, *args, **kwargs):
        flat = self._fused(*args, **kwargs)
        return fallback.call(self, args, kwargs) if flat is NotImplemented else self._nested(flat, args, kwargs)

    def _nested(self, flat: tuple, args: tuple, kwargs: dict):
        """The results in the structure that a call returns. `flat`: the op's results, then the gradients' tensors in the order
        of the parameters."""
        parameters = [self._differentiated[k] for k in self._order]
        values = [args[index] if index < len(args) else kwargs[name] for index, name in parameters]
        leaves, spec = tree_flatten(values)
        in_order = tree_unflatten(flat[len(flat) - len(leaves):], spec)
        gradients = [None] * len(parameters)
        for k, gradient in zip(self._order, in_order):
            gradients[k] = gradient
        results = flat[: len(flat) - len(leaves)]
        value = (results[0], results[1] if len(results) == 2 else results[1:]) if self.has_aux else results[0]
        return value, gradients[0] if self._is_single else tuple(gradients)

    @property
    def reference(self) -> _Reference:
        """The same value and gradients, computed by eager PyTorch from the op's source."""
        return _Reference(self)

    def _run_eager(self, function, args: tuple, kwargs: dict):
        """Computes the value and the gradients in eager PyTorch. `function` runs the op's source."""
        bound = self.op.signature.bind(*args, **kwargs)
        bound.apply_defaults()
        for _, name in self._differentiated:
            if name in (self.writes or ()):
                raise author_error(f"`{self.op.name}` writes into `{name}`, but a gradient with respect to it is requested",
                                   "write into a copy of it: x = x.clone()")
        values = tuple(bound.arguments[name] for _, name in self._differentiated)

        def results(values):
            differentiated = {name: value for (_, name), value in zip(self._differentiated, values)}
            returned = function(**{**bound.arguments, **differentiated})
            value, *aux = returned if self.has_aux else (returned,)
            return value, aux[0] if len(aux) == 1 else tuple(aux)

        if _is_transformed():
            gradients, (value, aux) = torch.func.grad_and_value(results, has_aux=True)(values)
        else:
            tensors = [leaf for leaf in tree_leaves((args, kwargs)) if isinstance(leaf, torch.Tensor)]
            is_recorded = torch.is_grad_enabled() and any(tensor.requires_grad for tensor in tensors)
            gradients, (value, aux) = _by_autograd(results, values, is_recorded)
        return (value, aux) if self.has_aux else value, gradients[0] if self._is_single else gradients

    # Members of an op that the fallback order uses.
    _shard_plans = None  # the value depends on all shards, so no kernel can run on one shard

    @property
    def name(self) -> str:
        return self.__name__

    @property
    def writes(self):
        return self.op.writes

    def _traced_call(self, *args, **kwargs):
        return self.reference.with_torch_random(*args, **kwargs)

    def prepare(self, *args, **kwargs) -> None:
        """Compiles and loads the kernels of a call with these arguments, without launching them."""
        self._fused.prepare(*args, **kwargs)

    def source(self, *args, **kwargs) -> str:
        """The kernel source that Ingot generates for these arguments."""
        return self.emit("source", *args, **kwargs)

    def emit(self, stage: str, *args, device: str | None = None, architecture: int = 0, **kwargs) -> str:
        """The output of a compilation stage as text. Stages, arguments and errors are those of `Op.emit`."""
        return self._fused._emit(stage, device, architecture, *args, **kwargs)

    def __reduce__(self):
        return value_and_grad, (self.op, self.argnums, self.has_aux)

    def __repr__(self):
        return f"<ingot.value_and_grad of {self.op.name} with respect to {', '.join(name for _, name in self._differentiated)}>"


class _Reference:
    """The eager reference, like that of an op: a call uses the kernel's random numbers, `with_torch_random` PyTorch's."""

    def __init__(self, value_and_grad: ValueAndGrad):
        self._value_and_grad = value_and_grad

    def __call__(self, *args, **kwargs):
        return self._value_and_grad._run_eager(self._value_and_grad.op.reference, args, kwargs)

    def with_torch_random(self, *args, **kwargs):
        return self._value_and_grad._run_eager(self._value_and_grad.op.reference.with_torch_random, args, kwargs)


class _Fused(_ingot.Op):
    """The fused op: it returns a tuple of the op's results and then the gradients."""

    def __init__(self, op: Op, names: list[str], has_aux: bool):
        self._definition = op, names, has_aux

    def _resolve(self):
        self._define_value_and_grad(*self._definition)

    def _fallback(self, *args, **kwargs):
        return NotImplemented


def _index(parameters: list[str], op: Op, argnum: int | str) -> tuple[int, str]:
    if isinstance(argnum, str) and argnum in parameters:
        return parameters.index(argnum), argnum
    if hasattr(argnum, "__index__") and not isinstance(argnum, bool) and -len(parameters) <= argnum < len(parameters):
        return argnum % len(parameters), parameters[argnum]
    raise author_error(f"`{op.name}` has no parameter {argnum!r}",
                       f"argnums takes positions or names of these parameters: {', '.join(parameters)}")


def _is_transformed() -> bool:
    return torch._C._functorch.peek_interpreter_stack() is not None


def _by_autograd(results, values, is_recorded: bool):
    """Computes the same as torch.func.grad_and_value, whose transforms do not support DTensors and other subclasses.

    is_recorded: whether autograd records the computation, so that the results can be differentiated.
    """
    leaves, spec = tree_flatten(values)
    with torch.enable_grad():
        variables = [leaf.clone() if is_recorded else leaf.detach().clone() for leaf in leaves]
        variables = [leaf if leaf.requires_grad else leaf.requires_grad_() for leaf in variables]
        value, aux = results(tree_unflatten(variables, spec))
        gradients = [None] * len(variables)
        if value.requires_grad:
            gradients = torch.autograd.grad(value, variables, create_graph=is_recorded, allow_unused=True)
    gradients = [torch.zeros_like(leaf) if gradient is None else gradient for gradient, leaf in zip(gradients, variables)]
    if not is_recorded:
        gradients, value, aux = tree_map(lambda x: x.detach() if isinstance(x, torch.Tensor) else x, (gradients, value, aux))
    return tree_unflatten(gradients, spec), (value, aux)
