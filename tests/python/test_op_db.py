"""Every operator of PyTorch that is pointwise, moves elements or reduces them, on PyTorch's own samples and error
inputs.

Each entry runs in float32 on all samples. Every fifth sample also runs in a third of the entry's dtypes, and the next
entry takes another third. INGOT_TEST_EXTENT=full runs all samples in all dtypes, and on CUDA also the reference inputs,
which are many and large; script/gpu-check does so. op_db_known.py lists the known failures. An entry there that is no
longer needed fails as well.
"""

import itertools

import pytest
import torch
from eager_bits import agree_where_terms_cancel
from op_db import ENTRIES, OP_DB, REDUCTION, dtypes_of, errors, in_place, is_in_the_language, samples
from op_db_known import KNOWN, KNOWN_IN_PLACE, KNOWN_ON_CUDA, OUTSIDE_THE_LANGUAGE, WITHIN_ULP
from test_gradients import mismatch as gradient_mismatch
from test_gradients import prepare as prepare_gradients
from float64_accuracy import mismatch as reduction_mismatch
from full_run import FULL_RUN, subset

import ingot
from ingot.oracle import compare_to_eager

LANGUAGE = {s for name in ingot.language() for s in (name.name, *name.aliases)}
RUN = [entry for entry in ENTRIES if entry not in OUTSIDE_THE_LANGUAGE]
LINES_OF_A_FAILURE = 12
IN_PLACE_DTYPES = {torch.float32, torch.float16, torch.int64, torch.bool}  # in-place variants differ mainly in the dtype that they keep


def test_every_entry_is_listed():
    """An entry is either run or in OUTSIDE_THE_LANGUAGE: never both, never neither."""
    assert set(ENTRIES) <= set(OP_DB)
    in_the_language = {entry for entry in ENTRIES if is_in_the_language(entry, LANGUAGE)}
    assert sorted(in_the_language & OUTSIDE_THE_LANGUAGE) == [], "in the language: remove them from OUTSIDE_THE_LANGUAGE"
    assert sorted(set(ENTRIES) - in_the_language - OUTSIDE_THE_LANGUAGE) == [], "neither in the language nor in OUTSIDE_THE_LANGUAGE"
    assert OUTSIDE_THE_LANGUAGE | set(KNOWN) | set(KNOWN_ON_CUDA) <= set(ENTRIES)


def mismatch(call) -> str:
    """The difference of Ingot's result from PyTorch's; empty if there is none. PyTorch rejects some samples."""
    tensors = [tensor.clone() for tensor in call.tensors]  # batch_norm changes some of them
    try:
        result = call.run()
    except (ingot.Error, RuntimeError) as error:
        return "" if is_rejected(call) else getattr(error, "message", str(error))
    if call.entry in REDUCTION:
        return reduction_mismatch(call.eager, tensors, result)
    verdict = compare_to_eager(call.eager, call.tensors, {}, result)
    if verdict.ok or verdict.max_ulp <= WITHIN_ULP.get(call.entry, 0):
        return ""
    if has_terms_that_cancel(call) and agree_where_terms_cancel(call.text, result, call.eager(*call.tensors)):
        return ""
    return verdict.message


def has_terms_that_cancel(call) -> bool:
    return any(part in call.entry for part in ("airy", "bessel", "igamma", "mvlgamma", "polygamma", "zeta"))


def chosen_dtypes(entry: str, device: str) -> list[torch.dtype]:
    dtypes = dtypes_of(entry, device)
    if FULL_RUN:
        return dtypes
    first = RUN.index(entry) % 3
    return [dtype for number, dtype in enumerate(dtypes) if dtype == torch.float32 or number % 3 == first]


@pytest.mark.parametrize("entry", RUN)
def test_samples(entry, device):
    calls = [call for index, dtype in enumerate(chosen_dtypes(entry, device)) for reference in {False, FULL_RUN and device == "cuda"}
             for call in subset(list(samples(entry, dtype, device, reference)), index, 1 if dtype == torch.float32 else 5)]  # fmt: skip
    assert calls
    try:
        ingot.prepare_all((call.op, call.tensors) for call in calls)
    except ingot.Error:
        pass  # the call itself reports the error
    lines = [f"{call}: {message}" for call in calls if (message := mismatch(call))]
    check_known(lines, KNOWN.get(entry, {}) | (KNOWN_ON_CUDA.get(entry, {}) if device == "cuda" else {}), device)


@pytest.mark.parametrize("entry", [entry for number, entry in enumerate(RUN) if FULL_RUN or number % 5 == 0])
def test_gradients(entry, device):
    """Gradients in float64. Without INGOT_TEST_EXTENT=full: every third sample of every fifth entry."""
    if torch.float64 not in OP_DB[entry].supported_dtypes(device):
        return
    calls = subset(list(samples(entry, torch.float64, device)), RUN.index(entry) // 5)
    prepare_gradients((call.op, dict(enumerate(call.tensors))) for call in calls)
    lines = []
    for call in calls:
        names = dict(enumerate(call.tensors))
        if message := gradient_mismatch(call.op, lambda leaves, call=call: call.eager(*leaves.values()), names):
            lines.append(f"{call}: {message}")
    known = KNOWN.get(entry, {})
    unknown = [line for line in lines if not any(part in line for part in known)]
    assert not unknown, f"{len(unknown)} calls:\n" + "\n".join(unknown[:LINES_OF_A_FAILURE])


def check_known(lines: list[str], known: dict[str, str], device: str):
    """Fails for unknown failures. On the CPU with all dtypes, also fails for known failures that no longer occur."""
    unknown = [line for line in lines if not any(part in line for part in known)]
    assert not unknown, f"{len(unknown)} calls:\n" + "\n".join(unknown[:LINES_OF_A_FAILURE])
    fixed = [part for part in known if FULL_RUN and device == "cpu" and not any(part in line for line in lines)]
    assert not fixed, f"no longer fails: remove it from op_db_known.py: {fixed}"


def is_rejected(call) -> bool:
    try:
        call.eager(*call.tensors)
    except Exception:  # PyTorch's errors have many classes
        return True
    return False  # also for an error input whose only fault is an argument that our call leaves out, such as out=


@pytest.mark.parametrize("entry", [entry for entry in RUN if OP_DB[entry].inplace_variant])
def test_in_place(entry, device):
    dtypes = [dtype for dtype in dtypes_of(entry, device) if dtype in IN_PLACE_DTYPES]
    others = subset([dtype for dtype in dtypes if dtype != torch.float32], RUN.index(entry))
    calls = [call for dtype in dtypes if dtype == torch.float32 or dtype in others for call in in_place(entry, dtype, device)]
    rejected = list(filter(is_rejected, calls))
    allowed = list(itertools.filterfalse(is_rejected, calls))
    try:
        ingot.prepare_all((call.op, call.tensors) for call in allowed)
    except ingot.Error:
        pass  # the call itself reports the error
    lines = [f"{call}: {message}" for call in allowed if (message := mismatch(call))]
    lines += [f"{call}: PyTorch rejects it" for call in filter(is_accepted, rejected)]
    check_known(lines, KNOWN_IN_PLACE.get(entry, {}), device)


def is_accepted(call) -> bool:
    before = ingot.counters()
    try:
        call.run()
    except ingot.Error as error:
        assert error.fault == "author", error
        return False
    except Exception:  # PyTorch's own error for the source in eager: a complex number, 65 dims
        assert ingot.counters().since(before).eager_fallbacks > 0
        return False
    return True


@pytest.mark.parametrize("entry", [entry for entry in RUN if OP_DB[entry].error_inputs_func])
def test_rejects_error_inputs(entry, device):
    accepted = [f"{call}: PyTorch rejects it" for call in filter(is_rejected, errors(entry, device)) if is_accepted(call)]
    assert not accepted, "\n".join(accepted[:LINES_OF_A_FAILURE])
