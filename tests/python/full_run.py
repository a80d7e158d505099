"""Says whether all cases are tested, which takes long: script/gpu-check does so, with INGOT_TESTS=whole. Otherwise
every name is tried on float32, and on a part of the other cases that changes from name to name."""

import os

WHOLE = os.environ.get("INGOT_TESTS") == "whole"


def some(items: list, turn: int, of: int = 3) -> list:
    """All items; or every `of`-th, beginning at an item that changes with `turn`. Never empty unless `items` is."""
    return items if WHOLE or not items else items[turn % min(of, len(items)) :: of]
