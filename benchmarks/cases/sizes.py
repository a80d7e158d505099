"""Tensors of 10^3 to 10^6 elements, for which the call costs as much as the kernel."""

from .case import Case
from .elementwise import FOUR_EXAMPLES


def sized(case: Case, power: int) -> Case:
    n = 10**power
    numbers = (0.5,) if case.name == "relu_add" else ()
    return Case(f"10^{power} elements: {case.name}", case.text, lambda make: (make.normal(n), make.normal(n), *numbers),
                jiterator=case.jiterator, autotune=False)


CASES = [sized(case, power) for case in FOUR_EXAMPLES[:2] for power in (3, 4, 5, 6)]
