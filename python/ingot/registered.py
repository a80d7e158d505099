"""Registers ops with PyTorch's dispatcher, as `torch.ops.ns.name`."""

from __future__ import annotations

import functools
import hashlib
import re
import threading

import torch
from torch.utils._pytree import tree_leaves

from . import _ingot, fakes
from .capture import author_error
from .random import new_seed

__all__ = ["anonymous", "register", "registered_for", "schema_of"]

_NUMBERS = {"float": "float", "int": "SymInt", "bool": "bool"}


def register(name: str, op, schema: str | None = None) -> torch._ops.OpOverload:
    """Registers an op as `torch.ops.ns.name`, with kernels for CPU and CUDA, autograd, autocast, vmap and a fake kernel.

    `torch.compile`, `torch.export` and C++ can then call it by that name. Traced calls of the op itself use the name too, if
    the schema accepts their arguments, so an exported program can be loaded wherever the name is registered.

    name: "ns::name", or "ns::name.overload".
    schema: a PyTorch schema, "(Tensor x, Tensor y, float bias=0.5) -> Tensor". The default is derived from the op's source:
        parameters annotated as numbers are numbers, all others are tensors, and those written in place are marked. Arguments
        after the op's own, `*, Tensor(a!) out`, make an out= overload, which writes its results there.
    Returns: the overload.
    Raises `ingot.Error` if the name is taken, or if the schema does not fit the op or cannot be derived from its source.

    An op that uses random numbers gets a second overload, `ns::name.seeded`. It also takes a seed, and is a pure function of
    its arguments. `ns::name` draws a seed and calls it, so traces contain `ns::name.seeded`.
    """
    if not hasattr(op, "_overloads"):
        raise author_error(f"{name}: register takes an op, not a {type(op).__name__}", "make an op of the function: ingot.op(f)")
    if not name.isascii() or "\0" in name:
        raise author_error(f"{name}: names of PyTorch's operators must be ASCII", "choose another name")
    schema = schema or schema_of(op)
    _check_fits(name, op, schema)
    overload = _register_random(name, op, schema) if op.uses_random else _register(name, op, schema, [])
    op._overloads.append(overload)
    op._call_plans.clear()
    return overload


def _check_fits(name: str, op, schema: str) -> None:
    """Raises `ingot.Error` unless a schema has the op's defaults and marks all parameters that the op writes. C++ checks the
    rest."""
    try:
        arguments = torch._C.parse_schema(f"{name}{schema}").arguments
    except RuntimeError:
        return  # the registration itself will report this
    for argument in arguments:
        is_marked = argument.alias_info is not None and argument.alias_info.is_write
        if argument.name in (op.writes or ()) and not is_marked:
            raise author_error(f"{name}: the op writes into `{argument.name}`, and its schema does not say so",
                               f"mark it: Tensor(a!) {argument.name}")
        declared = op.signature.parameters.get(argument.name)
        if declared is None or not argument.has_default_value():
            continue
        if declared.default in (declared.empty, ...):  # no default, or one that is no literal
            continue
        if argument.default_value != declared.default:
            raise author_error(f"{name}: the default of `{argument.name}` is {declared.default} in the op, and "
                               f"{argument.default_value} in its schema", "use the same default in both")


def schema_of(op) -> str:
    """The schema that an op's source implies. Raises `ingot.Error` if it cannot be inferred from the source alone."""
    if op.writes is None or op.returns is None:
        what = "parameters written in place" if op.writes is None else "results"
        raise author_error(f"the {what} of `{op.name}` cannot be inferred from its source",
                           "register it with schema=\"(Tensor x) -> Tensor\"")
    parameters, is_star = [], False
    for number, (parameter, kind, has_default) in enumerate(op._parameters):
        declared = op.signature.parameters[parameter]
        if declared.kind is declared.KEYWORD_ONLY and not is_star:
            parameters.append("*")
            is_star = True
        type_ = _NUMBERS.get(kind, f"Tensor(a{number}!)" if parameter in op.writes else "Tensor")
        default = declared.default
        if default is ...:
            raise author_error(f"the default of `{parameter}` of `{op.name}` is not a literal", "register it with schema=…")
        if default is None:
            type_ += "?"
        elif type_ == "Tensor" and has_default:
            type_ = "Scalar"
        parameters.append(f"{type_} {parameter}" + (f"={default}" if has_default else ""))
    return f"({', '.join(parameters)}) -> {op.returns}"


def registered_for(op, kinds: list[str]) -> tuple[str, str, str] | None:
    """An overload of the op whose schema accepts arguments of these kinds: (namespace, name, overload), or None."""
    for overload in op._overloads:
        arguments = {argument.name: argument for argument in overload._schema.arguments}
        fits = (_accepts(arguments[name], kind) for (name, _, _), kind in zip(op._parameters, kinds))
        has_same_structure = len(arguments) == len(kinds) and str(overload._schema).endswith(f" -> {op.returns}")
        if has_same_structure and all(fits):
            return overload.namespace, overload._opname, overload._overloadname
    return None


def _accepts(argument, kind: str) -> bool:
    """Whether a schema's argument accepts a value of this kind. The kind "Tensor?" is an argument that the call leaves out."""
    type_ = str(argument.type)
    if kind == "Tensor?":
        return argument.has_default_value()
    return type_.removeprefix("Optional[").removesuffix("]") in {
        "Tensor": ("Tensor",), "float": ("float", "number"), "int": ("int", "SymInt", "number"), "bool": ("bool",)
    }[kind]


def anonymous(op, kinds: tuple[str, ...]) -> tuple[str, str, str]:
    """The overload in torch.ops.ingot for traced calls of an op that is not registered, as (namespace, name, overload).

    kinds: the kinds of the arguments: Tensor, Tensor? (left out), float, int or bool.
    Its name contains a digest of the op's source, so compiled code that is cached under the name never meets other source.
    """
    numbers = [n for (n, _, _), kind in zip(op._parameters, kinds) if kind == "float"]
    types = {"float": "Tensor", "int": "SymInt"}
    parameters = ", ".join(f"{types.get(kind, kind)} {n}" for (n, _, _), kind in zip(op._parameters, kinds))
    schema = f"({parameters}) -> {op.returns}"
    if op.uses_random:
        schema = _with_seed(op, schema)
    source = op._captured_source
    properties = (source.text, source.name, op.numerics, op.lazy, op.debug, op.atomics, schema, numbers, _ingot.__version__)
    name = f"{re.sub('[^A-Za-z0-9_]', '_', op.name)}_{hashlib.sha256(repr(properties).encode()).hexdigest()[:40]}"
    with _lock:
        if name not in _anonymous_ops:
            _register(f"ingot::{name}", op, schema, numbers)
            _anonymous_ops[name] = properties
        elif _anonymous_ops[name] != properties:
            raise author_error(f"torch.ops.ingot.{name} is another op with the same digest", "register the op under another name")
    return "ingot", name, "default"


_anonymous_ops: dict[str, tuple] = {}  # the properties of each registered name
_lock = threading.Lock()


def _register(name: str, op, schema: str, numbers: list[str]) -> torch._ops.OpOverload:
    """Registers the op with its fake kernels. `numbers`: the parameters whose numbers a call passes as tensors."""
    op._register(name, schema, numbers)
    op_overload = overload(name)
    torch.library.register_fake(name, functools.partial(fakes.fake, op, numbers, op_overload._schema))
    if not op_overload._schema.is_mutable and str(op_overload._schema.returns[0].type) == "Tensor":
        packet, _, overload_name = name.partition(".")
        torch.library.register_fake(f"{packet}_backward" + (f".{overload_name}" if overload_name else ""), fakes.fake_backward)
    return op_overload


def _register_random(name: str, op, schema: str) -> torch._ops.OpOverload:
    if "seed" in (parameter for parameter, _, _ in op._parameters):
        raise author_error(f"{name}: `{op.name}` uses random numbers, and has a parameter `seed`",
                           "rename the parameter: the registered op takes the seed of its random numbers as `seed`")
    packet, _, overload_name = name.partition(".")
    if _is_taken(packet, overload_name):  # checked first, because a registration of `seeded` cannot be undone
        raise author_error(f"{name}: the name is registered already", "choose another name: a registration cannot be undone")
    seeded_name = f"{packet}.{overload_name}_seeded" if overload_name else f"{packet}.seeded"
    seeded = _register(seeded_name, op, _with_seed(op, schema), [])
    schema = re.sub(r"\)\s*->\s*", ") -> ", schema.strip())  # the form that torch.library requires
    try:
        torch.library.define(name, schema, tags=(torch.Tag.pt2_compliant_tag, torch.Tag.nondeterministic_seeded))
    except RuntimeError as error:
        raise author_error(f"{name}: {error}", "choose another name: a registration cannot be undone") from None

    def call_with_new_seed(*args, **kwargs):
        return seeded(*args, **kwargs, seed=new_seed(tree_leaves((args, kwargs))))

    torch.library.impl(name, "CompositeImplicitAutograd", call_with_new_seed)
    # Also under vmap, whose `randomness=` then decides whether all elements of the batch share a seed.
    torch.library.impl(name, "FuncTorchVmapMode", call_with_new_seed)
    return overload(name)


def _is_taken(packet: str, overload_name: str) -> bool:
    try:
        torch._C._dispatch_find_schema_or_throw(packet, overload_name)
    except RuntimeError:
        return False
    return True


def _with_seed(op, schema: str) -> str:
    """The schema with a keyword-only `Tensor seed` after the op's own parameters."""
    match = re.fullmatch(r"\s*\((.*)\)\s*->(.*)", schema, re.DOTALL)
    if not match:
        return schema  # PyTorch will report the error
    argument_list, returns = match.groups()
    arguments = [argument.strip() for argument in argument_list.split(",") if argument.strip()]
    op_positions = [i for i, argument in enumerate(arguments) if argument != "*"][:len(op._parameters)]
    end = op_positions[-1] + 1 if op_positions else 0
    head, tail = arguments[:end], [argument for argument in arguments[end:] if argument != "*"]
    head += ["Tensor seed"] if "*" in head else ["*", "Tensor seed"]
    return f"({', '.join(head + tail)}) ->{returns}"


def overload(name: str) -> torch._ops.OpOverload:
    """The overload "ns::name" or "ns::name.overload", which was registered just now."""
    namespace, _, rest = name.partition("::")
    packet, _, overload_name = rest.partition(".")
    packet = getattr(getattr(torch.ops, namespace), packet)
    torch._ops._refresh_packet(packet)  # it caches the overloads that existed when it was first used
    return getattr(packet, overload_name or "default")
