"""Whether all is tested, which takes long: script/gpu-check does, with INGOT_TESTS=whole. Else every name is tried on float32
and in turn on some of what is left, so that all of it comes up with some names."""

import os

WHOLE = os.environ.get("INGOT_TESTS") == "whole"


def some(items: list, turn: int, of: int = 3) -> list:
    """All; or every `of`-th, others from one turn to the next, and never none of what there is."""
    return items if WHOLE or not items else items[turn % min(of, len(items)) :: of]
