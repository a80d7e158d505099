"""The workload of a case: a call of its op, together with the gradient if an argument requires grad."""

import dataclasses
from typing import Callable

import torch

import ingot
from cases.case import Case
from cases.random_shapes import RandomCase
from ingot.tools.workload import GRAD, Call, Workload


@dataclasses.dataclass(frozen=True)
class CallWithGradient(Workload):
    """A call of an op and, if `is_gradient`, its gradient. The results are those of the op and then the gradients."""

    terms_may_cancel = True  # as in normalizations, gelu, and their gradients

    def bind(self, bind_op: Callable[[dict], Call], values: dict) -> Call:
        if not self.is_gradient:
            return super().bind(bind_op, values)
        arguments = {n: v.detach().requires_grad_() if self.is_leaf(n) else v for n, v in values.items() if n != GRAD}
        leaves = [v for n, v in arguments.items() if self.is_leaf(n)]
        call = bind_op(arguments)

        def call_with_gradient() -> list[torch.Tensor]:
            with torch.enable_grad():
                (result,) = call()
            return [result.detach(), *torch.autograd.grad(result, leaves, values[GRAD])]

        return call_with_gradient


def workload_of(case: Case | RandomCase, args: tuple) -> Workload:
    op = ingot.op(case.text)
    values = dict(zip(op.signature.parameters, args, strict=True))
    leaves = frozenset(name for name, value in values.items() if isinstance(value, torch.Tensor) and value.requires_grad)
    values = {name: value.detach() if name in leaves else value for name, value in values.items()}
    workload = CallWithGradient(op, values, leaves=leaves)
    return workload.gradient() if leaves else workload
