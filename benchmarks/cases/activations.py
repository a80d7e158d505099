"""Activations of one tensor. The more instructions an activation has, the farther its speed is from the memory
bandwidth."""

import torch

from .case import Handwritten, Case, Tensors


def activation(name: str, elements: int, formula: str, autotune: bool = False) -> Case:
    """`formula` is the jiterator's, in terms of a scalar x. A thread of the hand-written kernel computes `elements` elements."""
    text, function = ("torch.tanh(x)", "tanhf") if name == "tanh" else (f"F.{name}(x)", name)
    handwritten = Handwritten("activation", f"grid=ceil(n / {256 * elements}), block=256, args=x, out, n",
                              (f"-DFUNCTION={function}", f"-DELEMENTS={elements}"))
    return Case(name, text, lambda make: (make.normal(make.n),), autotune=autotune, handwritten=handwritten,
                jiterator=f"template <typename T> T f(T x) {{ return {formula}; }}")


def bfloat16_rows(make: Tensors) -> tuple:
    """One argument: rows of 4096 bfloat16 elements."""
    return (make.normal(make.n // 4096, 4096, dtype=torch.bfloat16),)


CASES = [
    activation("mish", 8, "x * ::tanh(::log1p(::exp(x)))", autotune=True),
    activation("softplus", 4, "x > T(20) ? x : ::log1p(::exp(x))"),
    activation("elu", 4, "x > T(0) ? x : ::expm1(x)"),
    activation("selu", 4, "T(1.0507009873554805) * (x > T(0) ? x : T(1.6732632423543773) * ::expm1(x))"),
    activation("gelu", 4, "T(0.5) * x * (T(1) + ::erf(x * T(0.70710678118654752)))", autotune=True),
    activation("tanh", 4, "::tanh(x)"),
    *(Case(f"{name} bf16", f"F.{name}(x)", bfloat16_rows, autotune=False, on_cpu=False) for name in ("gelu", "softplus", "mish")),
    Case("gelu(x + b) bf16", "F.gelu(x + b)", lambda make: (*bfloat16_rows(make), make.normal(4096, dtype=torch.bfloat16)),
         autotune=False, on_cpu=False),
]
