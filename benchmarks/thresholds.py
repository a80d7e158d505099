"""Reads the thresholds (thresholds.toml) and finds those that were missed."""

import pathlib
import tomllib

TABLE = tomllib.loads((pathlib.Path(__file__).parent / "thresholds.toml").read_text())
TOLERANCE = TABLE["tolerance"]


def each(part: str, case: str, group: str) -> dict[str, float]:
    """The required speedups of a case over baselines: the case's own thresholds, or else its group's. `part` is a section of
    thresholds.toml, such as "large"."""
    by_name = TABLE[part]["each"]
    return by_name.get(case, by_name.get(group, {}))


def averages(part: str) -> dict[str, dict[str, float]]:
    """The required geometric means of the speedups of whole groups."""
    return TABLE[part].get("average", {})


def ratios(row: dict) -> dict[str, float]:
    """The speedups of a case over each baseline, over a copy, and over the fastest baseline ("best")."""
    speedups = row.get("times_as_fast_as", {})
    baselines = [ratio for name, ratio in speedups.items() if name != "copy"]
    return speedups | ({"best": min(baselines)} if baselines else {})


def missed(limits: dict[str, float], ratios: dict[str, float]) -> list[str]:
    """The baselines whose threshold was missed. Baselines that were not timed are not among them."""
    return [baseline for baseline, limit in limits.items() if baseline in ratios and ratios[baseline] < limit * (1 - TOLERANCE)]
