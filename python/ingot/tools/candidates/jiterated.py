"""The candidate `jiterator`: translates the op to C++ for torch.cuda.jiterator, which makes PyTorch's own fused elementwise
kernels.

The op is traced to ATen functions. Elementwise functions become lines of one C++ function. That function computes 16-bit
floats in float32, as a hand-written one would. Views, reductions and other functions cannot be expressed.
"""

from __future__ import annotations

import re

import torch
from torch.fx.experimental.proxy_tensor import make_fx

from ...capture import author_error
from .candidate import Call, Candidate
from .ops import listed

# The C++ expressions of ATen's functions: {0} is the first operand, and A the type in which the C++ function computes.
_UNARY = {
    "abs": "({0} < A(0) ? -{0} : {0})", "ceil": "::ceil({0})", "cos": "::cos({0})", "erf": "::erf({0})", "exp": "::exp({0})",
    "expm1": "::expm1({0})", "floor": "::floor({0})", "log": "::log({0})", "log1p": "::log1p({0})", "log2": "::log2({0})",
    "neg": "-{0}", "reciprocal": "A(1) / {0}", "relu": "({0} < A(0) ? A(0) : {0})", "rsqrt": "::rsqrt({0})",
    "sigmoid": "A(1) / (A(1) + ::exp(-{0}))", "sin": "::sin({0})", "sqrt": "::sqrt({0})", "tanh": "::tanh({0})",
    "silu": "{0} / (A(1) + ::exp(-{0}))", "square": "{0} * {0}", "atan": "::atan({0})", "bitwise_not": "~{0}",
    "gelu": "A(0.5) * {0} * (A(1) + ::erf({0} * A(0.70710678118654752)))", "clone": "{0}", "detach": "{0}", "_to_copy": "{0}",
    "softplus": "({0} > A(20) ? {0} : ::log1p(::exp({0})))", "mish": "{0} * ::tanh({0} > A(20) ? {0} : ::log1p(::exp({0})))",
}
_BINARY = {
    "add": "{0} + {1}", "sub": "{0} - {1}", "rsub": "{1} - {0}", "mul": "{0} * {1}", "div": "{0} / {1}", "pow": "::pow({0}, {1})",
    "maximum": "({0} != {0} ? {0} : {1} != {1} ? {1} : {0} < {1} ? {1} : {0})", "atan2": "::atan2({0}, {1})",
    "minimum": "({0} != {0} ? {0} : {1} != {1} ? {1} : {1} < {0} ? {1} : {0})", "clamp_min": "({0} < {1} ? {1} : {0})",
    "clamp_max": "({1} < {0} ? {1} : {0})", "gt": "{0} > {1}", "ge": "{0} >= {1}", "lt": "{0} < {1}", "le": "{0} <= {1}",
    "eq": "{0} == {1}", "ne": "{0} != {1}", "logical_and": "{0} && {1}", "logical_or": "{0} || {1}",
    "bitwise_and": "{0} & {1}", "bitwise_or": "{0} | {1}", "bitwise_xor": "{0} ^ {1}", "bitwise_right_shift": "{0} >> {1}",
    "bitwise_left_shift": "{0} << {1}",
}
_TERNARY = {"where": "({0} ? {1} : {2})"}
_EXPRESSIONS = _UNARY | _BINARY | _TERNARY
_RETURNING_BOOL = ("gt", "ge", "lt", "le", "eq", "ne", "logical_and", "logical_or")


class Jiterated(Candidate):
    kind = name = spec = "jiterator"

    def __init__(self, op):
        self.op = op

    def why_not_on(self, device: torch.device) -> str:
        return "" if device.type == "cuda" else "jiterator makes kernels for a GPU"

    def bind(self, values: dict, results: list[torch.Tensor]) -> Call:
        tensors = {name: value for name, value in values.items() if isinstance(value, torch.Tensor)}
        numbers = {name: value for name, value in values.items() if name not in tensors}
        function = lambda *arguments: self.op.reference(**dict(zip(tensors, arguments)), **numbers)  # noqa: E731
        text, count = function_text(function, list(tensors.values()))
        make = torch.cuda.jiterator
        function = make._create_jit_fn(text) if count == 1 else make._create_multi_output_jit_fn(text, count)
        return lambda: listed(function(*tensors.values()))


def function_text(function, tensors: list[torch.Tensor]) -> tuple[str, int]:
    """The C++ source of a function of tensors, and the number of its results. Raises `ingot.Error` if it cannot be expressed."""
    dtypes = {t.dtype for t in tensors}
    if len(dtypes) != 1:
        raise author_error("jiterator needs tensors of one dtype, and these have several")
    (dtype,) = dtypes
    with torch.no_grad():
        graph = make_fx(function)(*(t.view_as(t) for t in tensors)).graph  # a tensor that is passed twice is two inputs
    names = [f"x{k}" for k in range(len(tensors))]
    variables, lines, inputs = {}, [], iter(names)
    for node in graph.nodes:
        if node.op == "placeholder":
            variables[node] = f"a{len(variables)}"
            lines.append(f"const A {variables[node]} = {next(inputs)};")
        elif node.op == "call_function":
            variables[node] = f"v{len(lines)}"
            type = "bool" if node.target.overloadpacket.__name__ in _RETURNING_BOOL else "A"
            lines.append(f"const {type} {variables[node]} = {_expression(node, variables)};")
        elif node.op == "output":
            returned = node.args[0] if isinstance(node.args[0], (tuple, list)) else [node.args[0]]
    with torch.no_grad():
        if other_dtypes := {result.dtype for result in listed(function(*tensors))} - dtypes:
            raise author_error(f"jiterator's results have the tensors' dtype, {dtype}, but this op's have {other_dtypes.pop()}")
    if len(returned) > 1:
        outs = [f"T& out{k}" for k in range(len(returned))]
        ends = [f"out{k} = {variables[node]};" for k, node in enumerate(returned)]
    else:
        outs, ends = [], [f"return {variables[returned[0]]};"]
    parameters = ", ".join([*(f"T {name}" for name in names), *outs])
    compute_type = "float" if dtype in (torch.float16, torch.bfloat16) else "T"
    body = "\n  ".join([f"using A = {compute_type};", *lines, *ends])
    return f"template <typename T> {'void' if outs else 'T'} op({parameters}) {{\n  {body}\n}}", len(returned)


def _expression(node, variables: dict) -> str:
    name = node.target.overloadpacket.__name__ if hasattr(node.target, "overloadpacket") else str(node.target)
    if name == "clamp":
        value, low, high = variables[node.args[0]], *(list(node.args[1:]) + [None, None])[:2]
        low = f"({value} < A({low}) ? A({low}) : {value})" if low is not None else value
        return low if high is None else f"(A({high}) < {low} ? A({high}) : {low})"
    if name not in _EXPRESSIONS or not _has_default_keywords(node.kwargs):
        raise author_error(f"jiterator supports elementwise functions only, and this op has `{name}`")
    if len(node.args) != len(set(re.findall(r"{\d}", _EXPRESSIONS[name]))):
        raise author_error(f"jiterator supports `{name}` with its default arguments only")
    arguments = [variables[a] if a in variables else f"A({_literal(a)})" for a in node.args]
    return _EXPRESSIONS[name].format(*arguments)


def _has_default_keywords(keywords: dict) -> bool:
    """Whether the keywords change nothing: no alpha, no rounding mode, no approximation, no cast to integers."""
    dtype = keywords.get("dtype")
    return (keywords.get("alpha", 1) == 1 and not keywords.get("rounding_mode") and keywords.get("approximate", "none") == "none"
            and (dtype is None or dtype.is_floating_point))


def _literal(value) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, (int, float)):
        return {"inf": "INFINITY", "-inf": "-INFINITY", "nan": "NAN"}.get(repr(value), repr(value))
    raise author_error("jiterator supports elementwise functions only")
