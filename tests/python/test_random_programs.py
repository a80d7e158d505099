"""Random programs of many statements against eager PyTorch: results, strides, writes, errors and gradients.

INGOT_RANDOM_SEED selects other programs, INGOT_RANDOM_SECONDS sets how long new ones are made. By default, CI tries the
same few programs every time. A failing program is shrunk, and printed as a script.
"""

import contextlib
import os
import random
import time
import warnings

import pytest
import torch
from random_programs import EAGER_ERRORS, Program, Writer, shrink
from torch.utils._python_dispatch import TorchDispatchMode
from full_run import FULL_RUN

import ingot
from ingot.oracle import as_list, writes_as_results, compare_to_eager

SEED = int(os.environ.get("INGOT_RANDOM_SEED", "20"))
SECONDS = float(os.environ.get("INGOT_RANDOM_SECONDS", "150" if FULL_RUN else "0"))
PROGRAMS_AT_ONCE, MIN_PROGRAMS, MAX_FAILURES = 24, 40, 5
WITH_GRADIENTS = [torch.float64, torch.float64, torch.float64, torch.int64, torch.int32, torch.bool]

# Eager's kernels lack some dtypes that Ingot's have.
MISSING_IN_EAGER = ("not implemented for", "not supported for", "unsupported", "does not support", "only supports")
# Parts of the errors that Ingot raises by design: for programs whose result depends on strides, or on values that are unknown when
# the op is lowered.
LIMITS = ("may share memory with this one", "may be in the memory of", "overlap", "single memory location",
          "is in the same memory", "infinity is no", "depends on the values of", "its value is not known",
          "or a view of it is returned", "not implemented for bool", "wrapping around more than once",
          "an in-place write to a slice with step", "instance_norm: not implemented for int")  # eager accepts it without elements
# Functions that select elements, as `where` does.
SELECTING_FUNCTIONS = ("where", "masked_fill", "nan_to_num", "tril", "triu", "] = 0", "take(", "gather", "select", "max", "min", ".long()",
                       "[::2]", "fill_(", "copysign(")
# At NaN, eager's vector loops give other gradients of these functions than its scalar loops.
VECTOR_LOOP_GRADIENTS = ("hardswish", "F.elu", "F.selu", "F.celu", "logit(")


def uses(source: str, functions: tuple[str, ...]) -> bool:
    return any(part in source for part in functions)


# Programs whose gradients are not compared: name, predicate on the program's source and on what it does in eager, reason.
PROGRAMS_NOT_COMPARED = [
    ("kron", lambda source, steps: "kron" in source, "eager reads an operand after it was written"),
    ("ldexp", lambda source, steps: "ldexp" in source, "eager's gradient uses 0 in place of 2 to a negative integer"),
    ("unspecified step", lambda source, steps: steps.are_unspecified, "the result of a step is not specified"),
]
# Elements of a gradient that may differ from eager's: name, predicate, reason. A predicate is given Ingot's and eager's
# gradients, the program's source, and what the program does in eager; it returns a mask, or False.
ELEMENTS_NOT_COMPARED = [
    ("0 times infinity", lambda actual, expected, source, steps: expected.isnan() & (actual == 0),
     "eager multiplies a gradient of 0 by infinity, which gives NaN; Ingot omits the product"),
    ("not selected", lambda actual, expected, source, steps: uses(source, SELECTING_FUNCTIONS) & expected.isnan() & ~actual.isnan(),
     "the gradient of an element that is not selected is 0; multiplied by infinity, it is NaN in eager"),
    ("infinite factor", lambda actual, expected, source, steps: expected.isinf() & actual.isnan(),
     "Ingot may multiply each term of a gradient by infinity, and a term may be 0; eager multiplies the sum of the terms"),
    ("vector loop", lambda actual, expected, source, steps: uses(source, VECTOR_LOOP_GRADIENTS) & actual.isnan(),
     "at NaN, Ingot gives NaN, and eager's vector loops give another gradient than its scalar loops"),
    ("prod", lambda actual, expected, source, steps: ("prod(" in source) & actual.isnan(),
     "eager divides the product by the factor, but multiplies the other factors if a factor is 0"),
    ("NaN in a shrink function", lambda actual, expected, source, steps: steps.shrink_nan & (actual == 0),
     "at NaN, Ingot gives 0, and eager's vector loops give another gradient than its scalar loops"),
]  # fmt: skip


def attempt(call):
    """The result of a call, or its error."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return call(), None
        except EAGER_ERRORS as error:
            return None, error


def error_mismatch(expected: Exception | None, actual: Exception | None) -> str:
    """How Ingot's error differs from eager's; None is no error. Empty if both or neither raise an error, if Ingot's error
    is a known limit, or if eager lacks a kernel for the dtype."""
    if (expected is None) == (actual is None):
        return ""
    if actual is None:
        return "" if any(part in str(expected) for part in MISSING_IN_EAGER) else f"eager raises {type(expected).__name__}: {expected}; Ingot does not"
    return "" if any(part in str(actual) for part in LIMITS) else f"Ingot raises {type(actual).__name__}: {actual}"


class Steps(TorchDispatchMode):
    """Records what the steps of a program do in eager. `are_unspecified`: a result is not specified. This holds for the
    sign of a NaN, and for the mean that is returned with a variance if an element is infinite: it depends on the order
    of the elements. `shrink_nan`: a NaN passes a shrink function. `depend_on_16_bits`: a remainder of 16-bit floats is
    computed, or a 16-bit float overflows; by default, Ingot computes both in float32."""

    are_unspecified = shrink_nan = depend_on_16_bits = False

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        name = function.overloadpacket.__name__.rstrip("_")
        tensors = [x for x in args if isinstance(x, torch.Tensor)]
        if name in ("signbit", "copysign"):
            self.are_unspecified |= bool(tensors[-1].isnan().any())
        if name in ("std_mean", "var_mean"):
            self.are_unspecified |= bool(tensors[0].isinf().any())
        short = [x for x in tensors if x.dtype in (torch.float16, torch.bfloat16)]
        if name in ("fmod", "remainder", "floor_divide") or (kwargs or {}).get("rounding_mode"):
            self.depend_on_16_bits |= bool(short)
        if name in ("hardshrink", "softshrink"):
            self.shrink_nan |= bool(tensors[0].isnan().any())
        had_infinity = any(x.isinf().any() for x in tensors)
        results = function(*args, **(kwargs or {}))
        if short and not had_infinity:
            self.depend_on_16_bits |= any(r.isinf().any() for r in as_list(results) if isinstance(r, torch.Tensor) and r.dtype == short[0].dtype)
        return results


def steps_in_eager(op, program: Program, device: str) -> Steps:
    with Steps() as steps:
        attempt(lambda: op.reference(*program.make(device)))
    return steps


def value_mismatch(op, program: Program, device: str) -> str:
    arguments = program.make(device)
    if device == "cuda" and "ZeroDivisionError" in str(attempt(lambda: writes_as_results(op.reference)(*program.make("cpu")))[1]):
        return ""  # the GPU's quotient of an integer by 0 is undefined
    expected, expected_error = attempt(lambda: writes_as_results(op.reference)(*arguments))
    actual, error = attempt(lambda: writes_as_results(op)(*arguments))
    if expected_error is not None or error is not None:
        return error_mismatch(expected_error, error)
    if expected is None:
        return ""
    # The oracle finds unstable results by perturbing steps by an ulp. A perturbed step may make a divisor zero or an index
    # too large; then the oracle has no verdict.
    verdict, _ = attempt(lambda: compare_to_eager(writes_as_results(op.reference), arguments, {}, actual, program.numerics))
    if verdict is None or verdict.ok:
        return ""
    # A bfloat16 above 128 has no fraction, perturbed or not. A remainder such as x % 1 then stays 0, and the oracle does
    # not see that it is unstable.
    steps = steps_in_eager(op, program, device)
    if steps.are_unspecified or (steps.depend_on_16_bits and program.numerics == "default"):
        return ""
    return verdict.message


def gradients_of(call, program: Program, device: str):
    """Whether each result requires grad, and the gradients of a weighted sum of the results."""
    leaves = program.make(device, gradients=True)
    # A leaf that requires grad must not be written, so the op gets a copy that is computed from it.
    results = as_list(call(*(x * 1 if isinstance(x, torch.Tensor) and x.requires_grad else x for x in leaves)))
    flags = [isinstance(r, torch.Tensor) and r.requires_grad for r in results]
    inputs = [x for x in leaves if isinstance(x, torch.Tensor) and x.requires_grad]
    if not any(flags) or not inputs:
        return flags, []
    weighted = sum((r * torch.linspace(-1, 1, r.numel()).to(r).view(r.shape)).sum() for r, flag in zip(results, flags) if flag)
    gradients = torch.autograd.grad(weighted, inputs, allow_unused=True)
    return flags, [torch.zeros_like(x) if g is None else g for x, g in zip(inputs, gradients)]


def gradient_mismatch(op, program: Program, device: str) -> str:
    expected, expected_error = attempt(lambda: gradients_of(op.reference, program, device))
    steps = steps_in_eager(op, program, device)
    if expected_error is not None:
        return ""  # test_in_place.py tests the writes that autograd rejects
    if any(predicate(program.source, steps) for _, predicate, _ in PROGRAMS_NOT_COMPARED):
        return ""
    actual, error = attempt(lambda: gradients_of(op, program, device))
    if error is not None:
        message = error_mismatch(None, error)
        return f"gradient: {message}" if message else ""
    # A result whose gradients are all 0 need not require grad; the comparison of gradients shows whether they are 0.
    if any(a and not e for a, e in zip(actual[0], expected[0])):
        return f"requires_grad of the results is {actual[0]}, eager's {expected[0]}"
    for k, (a, e) in enumerate(zip(actual[1] or map(torch.zeros_like, expected[1]), expected[1])):
        scale = e.abs().nan_to_num(0, 0, 0).max().item() if e.numel() else 0.0
        wrong = ~torch.isclose(a, e, rtol=1e-6, atol=1e-9 + 1e-12 * scale, equal_nan=True)
        for _, predicate, _ in ELEMENTS_NOT_COMPARED:
            wrong &= ~torch.as_tensor(predicate(a, e, program.source, steps))
        if wrong.any():
            index = tuple(wrong.nonzero()[0].tolist())
            return f"gradient {k} at {list(index)}: ingot {a[index].item()!r}, eager {e[index].item()!r} ({int(wrong.sum())} of {wrong.numel()})"
    return ""


def write_programs(rng: random.Random, gradients: bool) -> list[Program]:
    """A program, and sometimes a variant whose last statement eager rejects."""
    writer = Writer(rng, WITH_GRADIENTS) if gradients else Writer(rng)
    program = writer.program(rng.choice([3, 3, 5, 8, 12, 20]))
    rejected = None if gradients or rng.random() < 0.5 else writer.rejected
    return [program] if rejected is None else [program, rejected]


def mismatch(program: Program, gradients: bool, device: str) -> str:
    op, error = attempt(lambda: ingot.op(program.source, numerics=program.numerics))
    if op is None:
        return "" if program.is_rejected else f"ingot.op raises {error}"
    return (gradient_mismatch if gradients else value_mismatch)(op, program, device)


@pytest.mark.parametrize("gradients", [False, True], ids=["values", "gradients"])
def test_random_programs(device, gradients):
    rng = random.Random(SEED)
    until, cases, failures = time.monotonic() + SECONDS, 0, []
    while (time.monotonic() < until or cases < MIN_PROGRAMS) and len(failures) < MAX_FAILURES:
        programs = [program for _ in range(PROGRAMS_AT_ONCE) for program in write_programs(rng, gradients)]
        calls = [(attempt(lambda: ingot.op(p.source, numerics=p.numerics))[0], tuple(p.make(device, gradients)))
                 for p in programs if not p.is_rejected]  # fmt: skip
        with contextlib.suppress(*EAGER_ERRORS):  # the call itself reports the error
            ingot.prepare_all((op, arguments) for op, arguments in calls if op is not None)
        for program in programs:
            cases += 1
            if mismatch(program, gradients, device):
                smallest = shrink(program, lambda p: mismatch(p, gradients, device))
                failures.append(f"{mismatch(smallest, gradients, device)}\n\n{smallest.snippet()}")
    print(f"seed {SEED}: {cases} programs")
    if failures:
        pytest.fail(f"seed {SEED}, {cases} programs\n\n" + "\n\n----\n".join(failures), pytrace=False)


@pytest.mark.parametrize("lazy", ["auto", "always"])
def test_random_programs_compile_for_a_gpu(lazy):
    """Compiles to PTX with NVRTC, which needs no GPU."""
    rng, cases, compiled, until, failures = random.Random(SEED), 0, 0, time.monotonic() + SECONDS, []
    while (time.monotonic() < until or cases < MIN_PROGRAMS) and len(failures) < MAX_FAILURES:
        cases += 1
        program = write_programs(rng, gradients=False)[0]
        ptx, error = attempt(lambda: ingot.op(program.source, numerics=program.numerics, lazy=lazy).emit("ptx", *program.make("cpu"), device="cuda"))
        compiled += ptx is not None and ".entry" in ptx
        if error is not None and getattr(error, "fault", "author") != "author":
            failures.append(f"{error}\n\n{program.snippet()}")
    print(f"seed {SEED}: {cases} programs, {compiled} of them with kernels")
    assert not failures, "\n\n----\n".join(failures)
    assert compiled > cases / 2
