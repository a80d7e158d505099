"""What must be reached (thresholds.toml), and what was missed of it."""

import pathlib
import tomllib

TABLE = tomllib.loads((pathlib.Path(__file__).parent / "thresholds.toml").read_text())
TOLERANCE = TABLE["tolerance"]


def each(part: str, case: str, group: str) -> dict[str, float]:
    """How many times as fast as which baseline a case must be: every one of its group, or it alone."""
    table = TABLE[part]["each"]
    return table.get(case, table.get(group, {}))


def averages(part: str) -> dict[str, dict[str, float]]:
    """The same of the geometric means of whole groups."""
    return TABLE[part].get("average", {})


def ratios(row: dict) -> dict[str, float]:
    """How many times as fast as each baseline and a copy a case was, and as the best of the baselines."""
    found = row.get("times_as_fast_as", {})
    baselines = [ratio for who, ratio in found.items() if who != "copy"]
    return found | ({"best": min(baselines)} if baselines else {})


def missed(limits: dict[str, float], found: dict[str, float]) -> list[str]:
    """The baselines beside which too little was reached. One that was not timed says nothing."""
    return [baseline for baseline, limit in limits.items() if baseline in found and found[baseline] < limit * (1 - TOLERANCE)]
