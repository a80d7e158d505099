"""Says whether all cases are tested, which takes long: script/gpu-check sets INGOT_TEST_EXTENT=full for that. Otherwise
every function is tested in float32, and in a part of the other cases that differs from function to function."""

import os

FULL_RUN = os.environ.get("INGOT_TEST_EXTENT") == "full"


def subset(items: list, first: int, step: int = 3) -> list:
    """All items in a full run. Otherwise every `step`-th item, beginning at index `first`, which is taken modulo `step`.
    Never empty unless `items` is."""
    return items if FULL_RUN or not items else items[first % min(step, len(items)) :: step]
