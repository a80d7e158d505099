"""Random expressions, shapes and strides against eager PyTorch.

INGOT_RANDOM_SEED selects other cases, INGOT_RANDOM_SECONDS sets how long new ones are made. A failure prints a script
that shows it.
"""

import os
import random
import time

import pytest
import torch
from eager_bits import must_have_eagers_bits
from random_ops import make_expression, make_form, make_recipes
from full_run import FULL_RUN

import ingot
from ingot.oracle import as_list, compare_to_eager

SEED = int(os.environ.get("INGOT_RANDOM_SEED", "20"))
SECONDS = float(os.environ.get("INGOT_RANDOM_SECONDS", "60" if FULL_RUN else "10"))
FORMS_OF_AN_OP, CALLS_OF_A_FORM = 3, 20
MIN_CASES = 1000 if FULL_RUN else 500


def snippet(expression, recipes, device, numerics) -> str:
    """A script that shows the failure."""
    lines = ["import torch, ingot", "from ingot.oracle import compare_to_eager"]
    lines.append(f"f = ingot.op({expression.source!r}, numerics={numerics!r})")
    for name, recipe in zip(expression.names, recipes):
        lines.append(f"{name} = {recipe.code()}" + (f".to({device!r})" if device != "cpu" else ""))
    arguments = ", ".join(expression.names)
    lines.append(f"print(compare_to_eager(f.reference, ({arguments},), {{}}, f({arguments}), {numerics!r}))")
    return "\n".join(lines)


def attempt(call):
    """The result of a call, or its error."""
    try:
        return call(), None
    except (RuntimeError, IndexError, TypeError) as error:
        return None, error


def run_case(op, expression, recipes, device):
    tensors = [recipe.make().to(device) for recipe in recipes]
    expected, expected_error = attempt(lambda: op.reference(*tensors))
    actual, error = attempt(lambda: op(*tensors))
    if expected_error is not None:
        # Eager lacks some kernels for some dtypes. Ingot rejects all other calls that eager rejects.
        if error is None and "not implemented for" not in str(expected_error):
            return f"eager raises {expected_error!r}, Ingot does not"
        return ""
    if error is not None:
        return f"{type(error).__name__}: {error}"
    requires_bits = not expression.reduces and all(must_have_eagers_bits(expression.text, tensors, result) for result in as_list(actual))
    verdict = compare_to_eager(op.reference, tensors, {}, actual, op.numerics, exact=requires_bits)
    return "" if verdict.ok else verdict.message


@pytest.mark.filterwarnings("ignore:.*degrees of freedom")
@pytest.mark.parametrize("reduces", [False, True], ids=["elements", "reductions"])
def test_random_expressions(device, reduces):
    rng = random.Random(SEED)
    until, cases, failures = time.monotonic() + SECONDS, 0, []
    while time.monotonic() < until or cases < MIN_CASES:
        expression = make_expression(rng, reduces)
        numerics = rng.choice(["default", "default", "eager"])
        op = ingot.op(expression.source, numerics=numerics)
        forms = [make_form(rng, expression) for _ in range(FORMS_OF_AN_OP)]
        for form in forms * CALLS_OF_A_FORM:
            recipes = make_recipes(rng, expression, form)
            cases += 1
            if message := run_case(op, expression, recipes, device):
                failures.append(f"{message}\n\n{snippet(expression, recipes, device, numerics)}")
                break
        if len(failures) >= 3:
            break
    print(f"seed {SEED}: {cases} cases")
    if failures:
        pytest.fail(f"seed {SEED}, {cases} cases\n\n" + "\n\n----\n".join(failures), pytrace=False)


def test_snippets_run():
    rng = random.Random(0)
    expression = make_expression(rng)
    code = snippet(expression, make_recipes(rng, expression, make_form(rng, expression)), "cpu", "default")
    scope = {}
    exec(code, scope)
    assert torch.is_tensor(scope[expression.names[0]])
