"""Says whether all cases are tested, which takes long: script/gpu-check does so, with INGOT_TEST_EXTENT=full. Otherwise
every function is tested on float32, and on a part of the other cases that differs from function to function."""

import os

FULL_RUN = os.environ.get("INGOT_TEST_EXTENT") == "full"


def subset(items: list, first: int, step: int = 3) -> list:
    """All items in a full run. Otherwise every `step`-th item, beginning at index `first`, which is taken modulo `step`.
    Never empty unless `items` is."""
    return items if FULL_RUN or not items else items[first % min(step, len(items)) :: step]
