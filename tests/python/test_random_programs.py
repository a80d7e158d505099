"""Random programs of many statements against eager PyTorch: results, strides, writes, refusals and gradients.

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
from random_programs import REFUSALS, Program, Writer, shrunk
from torch.utils._python_dispatch import TorchDispatchMode
from full_run import WHOLE

import ingot
from ingot.oracle import as_list, functional, compare_to_eager

SEED = int(os.environ.get("INGOT_RANDOM_SEED", "20"))
SECONDS = float(os.environ.get("INGOT_RANDOM_SECONDS", "150" if WHOLE else "0"))
PROGRAMS_AT_ONCE, FEWEST, MOST_FAILURES = 24, 40, 5
WITH_GRADIENTS = [torch.float64, torch.float64, torch.float64, torch.int64, torch.int32, torch.bool]

# Eager's kernels lack some dtypes that Ingot's have.
MISSING_IN_EAGER = ("not implemented for", "not supported for", "unsupported", "does not support", "only supports")
# Ingot's refusals by design: programs whose result depends on strides, or on values, when the op is lowered.
LIMITS = ("may share memory with this one", "may be in the memory of", "overlap", "single memory location",
          "is in the same memory", "infinity is no", "depends on the values of", "its value is not known",
          "or a view of it is returned", "not implemented for bool", "wrapping around more than once",
          "an in-place write to a slice with step", "instance_norm: not implemented for int")  # eager accepts it without elements
# These functions select elements. The gradients of the other elements are 0, as in the arm of a `where` that is not
# selected.
CHOICES = ("where", "masked_fill", "nan_to_num", "tril", "triu", "] = 0", "take(", "gather", "select", "max", "min", ".long()", "[::2]", "fill_(", "copysign(")
VECTOR_LOOP_SLOPES = ("hardswish", "F.elu", "F.selu", "F.celu", "logit(")


def attempt(call):
    """The result of a call, or its error."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return call(), None
        except REFUSALS as error:
            return None, error


def refusal_differs(refusal, error) -> str | None:
    """The difference between the errors of eager and of Ingot. Empty if both raise an error, if Ingot's error is a known
    limit, or if eager lacks the dtype. None if both give results."""
    if refusal is not None:
        lacks = error is None and any(part in str(refusal) for part in MISSING_IN_EAGER)
        return "" if error is not None or lacks else f"eager raises {type(refusal).__name__}: {refusal}; Ingot does not"
    if error is None:
        return None
    return "" if any(part in str(error) for part in LIMITS) else f"Ingot raises {type(error).__name__}: {error}"


class Unspecified(TorchDispatchMode):
    """Detects steps whose results are not specified: the sign of a NaN, and the mean returned with a variance, which
    depends on the order of the elements once one is infinite. Also detects whether a NaN passes a shrink function, and
    whether a remainder of 16-bit floats is computed, or a 16-bit float overflows. By default, Ingot computes both in
    float32."""

    met = shrinks_nan = depends_on_16_bits = False

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        name = function.overloadpacket.__name__.rstrip("_")
        tensors = [x for x in args if isinstance(x, torch.Tensor)]
        if name in ("signbit", "copysign"):
            self.met |= bool(tensors[-1].isnan().any())
        if name in ("std_mean", "var_mean"):
            self.met |= bool(tensors[0].isinf().any())
        short = [x for x in tensors if x.dtype in (torch.float16, torch.bfloat16)]
        if name in ("fmod", "remainder", "floor_divide") or (kwargs or {}).get("rounding_mode"):
            self.depends_on_16_bits |= bool(short)
        if name in ("hardshrink", "softshrink"):
            self.shrinks_nan |= bool(tensors[0].isnan().any())
        had_infinity = any(x.isinf().any() for x in tensors)
        results = function(*args, **(kwargs or {}))
        if short and not had_infinity:
            self.depends_on_16_bits |= any(r.isinf().any() for r in as_list(results) if isinstance(r, torch.Tensor) and r.dtype == short[0].dtype)
        return results


def unspecified(op, program: Program, device: str) -> Unspecified:
    with Unspecified() as found:
        attempt(lambda: op.reference(*program.make(device)))
    return found


def values_differ(op, program: Program, device: str) -> str:
    arguments = program.make(device)
    if device == "cuda" and "ZeroDivisionError" in str(attempt(lambda: functional(op.reference)(*program.make("cpu")))[1]):
        return ""  # the GPU's quotient of an integer by 0 is undefined
    eager, refusal = attempt(lambda: functional(op.reference)(*arguments))
    ours, error = attempt(lambda: functional(op)(*arguments))
    complaint = refusal_differs(refusal, error)
    if complaint is not None or eager is None:
        return complaint or ""
    # A perturbed step may make a divisor zero or an index too large; then the oracle has no verdict.
    verdict, _ = attempt(lambda: compare_to_eager(functional(op.reference), arguments, {}, ours, program.numerics))
    if verdict is None or verdict.ok:
        return ""
    # The oracle finds unstable results by perturbing a step by an ulp. A bfloat16 above 128 has no fraction, perturbed or
    # not, so the remainder stays 0 and the oracle does not see that it is unstable.
    found = unspecified(op, program, device)
    excused = found.met or (found.depends_on_16_bits and program.numerics == "default")
    return "" if excused else verdict.message


def gradients_of(call, program: Program, device: str):
    """Whether each result requires grad, and the gradients of a weighted sum of the results."""
    leaves = program.make(device, gradients=True)
    # A leaf that requires grad must not be written, so the op gets a copy that is computed from it.
    results = as_list(call(*(x * 1 if isinstance(x, torch.Tensor) and x.requires_grad else x for x in leaves)))
    flags = [isinstance(r, torch.Tensor) and r.requires_grad for r in results]
    wanted = [x for x in leaves if isinstance(x, torch.Tensor) and x.requires_grad]
    if not any(flags) or not wanted:
        return flags, []
    weighed = sum((r * torch.linspace(-1, 1, r.numel()).to(r).view(r.shape)).sum() for r, flag in zip(results, flags) if flag)
    found = torch.autograd.grad(weighed, wanted, allow_unused=True)
    return flags, [torch.zeros_like(x) if g is None else g for x, g in zip(wanted, found)]


def gradients_differ(op, program: Program, device: str) -> str:
    eager, refusal = attempt(lambda: gradients_of(op.reference, program, device))
    # test_in_place.py tests the writes that autograd refuses to record. Eager's kron reads an operand after it was
    # written, and the gradient of its ldexp takes 2 to a negative integer for 0.
    found = unspecified(op, program, device)
    if refusal is not None or "kron" in program.source or "ldexp" in program.source or found.met:
        return ""
    ours, error = attempt(lambda: gradients_of(op, program, device))
    complaint = refusal_differs(None, error)
    if complaint is not None:
        return f"gradient: {complaint}" if complaint else ""
    # A result whose gradients are all 0 need not require grad; the comparison of gradients shows whether they are 0.
    if any(mine and not its for mine, its in zip(ours[0], eager[0])):
        return f"requires_grad of the results is {ours[0]}, eager's {eager[0]}"
    # Eager multiplies gradients of 0 by infinity too, which gives NaN; Ingot omits them.
    chooses = any(part in program.source for part in CHOICES)
    for k, (mine, its) in enumerate(zip(ours[1] or map(torch.zeros_like, eager[1]), eager[1])):
        scale = its.abs().nan_to_num(0, 0, 0).max().item() if its.numel() else 0.0
        wrong = ~torch.isclose(mine, its, rtol=1e-6, atol=1e-9 + 1e-12 * scale, equal_nan=True)
        wrong &= ~(its.isnan() & (~mine.isnan() if chooses else mine == 0))
        # Ingot may multiply each term of a gradient by infinity, and a term may be 0; eager multiplies the sum of the
        # terms.
        wrong &= ~(its.isinf() & mine.isnan())
        # At NaN, eager's vector loops have another gradient for these than its scalar loops: NaN, or 0 for a shrink
        # function. Eager's gradient of prod divides by the factor, but multiplies the other factors where a factor is
        # 0.
        wrong &= ~(mine.isnan() & any(part in program.source for part in (*VECTOR_LOOP_SLOPES, "prod(")))
        wrong &= ~((mine == 0) & found.shrinks_nan)
        if wrong.any():
            at = tuple(wrong.nonzero()[0].tolist())
            return f"gradient {k} at {list(at)}: ingot {mine[at].item()!r}, eager {its[at].item()!r} ({int(wrong.sum())} of {wrong.numel()})"
    return ""


def written(rng: random.Random, gradients: bool) -> list[Program]:
    """A program, and sometimes a variant whose last statement eager rejects."""
    writer = Writer(rng, WITH_GRADIENTS) if gradients else Writer(rng)
    program = writer.program(rng.choice([3, 3, 5, 8, 12, 20]))
    refused = None if gradients or rng.random() < 0.5 else writer.refused
    return [program] if refused is None else [program, refused]


def difference(program: Program, gradients: bool, device: str) -> str:
    op, error = attempt(lambda: ingot.op(program.source, numerics=program.numerics))
    if op is None:
        return "" if program.is_refused else f"ingot.op raises {error}"
    return (gradients_differ if gradients else values_differ)(op, program, device)


@pytest.mark.parametrize("gradients", [False, True], ids=["values", "gradients"])
def test_random_programs(device, gradients):
    rng = random.Random(SEED)
    until, cases, failures = time.monotonic() + SECONDS, 0, []
    while (time.monotonic() < until or cases < FEWEST) and len(failures) < MOST_FAILURES:
        programs = [program for _ in range(PROGRAMS_AT_ONCE) for program in written(rng, gradients)]
        calls = [(attempt(lambda: ingot.op(p.source, numerics=p.numerics))[0], tuple(p.make(device, gradients)))
                 for p in programs if not p.is_refused]  # fmt: skip
        with contextlib.suppress(*REFUSALS):  # the call itself reports the error
            ingot.prepare_all((op, arguments) for op, arguments in calls if op is not None)
        for program in programs:
            cases += 1
            if difference(program, gradients, device):
                smallest = shrunk(program, lambda p: difference(p, gradients, device))
                failures.append(f"{difference(smallest, gradients, device)}\n\n{smallest.snippet()}")
    print(f"seed {SEED}: {cases} programs")
    if failures:
        pytest.fail(f"seed {SEED}, {cases} programs\n\n" + "\n\n----\n".join(failures), pytrace=False)


@pytest.mark.parametrize("lazy", ["auto", "always"])
def test_random_programs_compile_for_a_gpu(lazy):
    """Compiles to PTX with NVRTC, which needs no GPU."""
    rng, cases, compiled, until, broken = random.Random(SEED), 0, 0, time.monotonic() + SECONDS, []
    while (time.monotonic() < until or cases < FEWEST) and len(broken) < MOST_FAILURES:
        cases += 1
        program = written(rng, gradients=False)[0]
        ptx, error = attempt(lambda: ingot.op(program.source, numerics=program.numerics, lazy=lazy).emit("ptx", *program.make("cpu"), device="cuda"))
        compiled += ptx is not None and ".entry" in ptx
        if error is not None and getattr(error, "fault", "author") != "author":
            broken.append(f"{error}\n\n{program.snippet()}")
    print(f"seed {SEED}: {cases} programs, {compiled} of them with kernels")
    assert not broken, "\n\n----\n".join(broken)
    assert compiled > cases / 2
