"""Prints tables of measurements beside their thresholds."""

import statistics
from typing import Iterable

import thresholds

WIDTH = 56  # of the column of case names
WORST_COUNT = 10  # the cases that a summary lists


def print_table(title: str, header: list[str], rows: list[list]) -> None:
    cells = [header] + [[f"{c:.3g}" if isinstance(c, float) else str(c) for c in row] for row in rows]
    widths = [max(len(row[k]) for row in cells) for k in range(len(header))]
    print(f"\n{title}")
    for row in cells:
        print("  " + "  ".join(c.ljust(w) if k == 0 else c.rjust(w) for k, (c, w) in enumerate(zip(row, widths))))


def print_and_check(title: str, part: str, kind: str, candidates: list[str], rows: Iterable[dict],
                    width: int = WIDTH) -> list[str]:
    """Prints one figure of each candidate as the rows arrive, beside the thresholds. Returns a line per failure.

    part: the section of thresholds.toml.
    kind: the key of the figure in a row: "microseconds" or "share_of_copy".
    width: of the column of case names.
    """
    print(f"\n{title}\n  {'':{width}}" + "".join(f"{name:>13}" for name in candidates) + "   at least", flush=True)
    failures, groups = [], {}
    for row in rows:
        limits, ratios = thresholds.each(part, row["case"], row["group"]), thresholds.ratios(row)
        groups.setdefault(row["group"], []).append(ratios)
        missed = thresholds.missed(limits, ratios)
        cells = [f"{row[kind][name]:.3f}" if name in row.get(kind, {}) else "failed" if name in row["errors"] else "-"
                 for name in candidates]
        print(f"  {row['case']:{width}}" + "".join(f"{cell:>13}" for cell in cells) +
              f"   {describe_limits(limits, ratios)}{'  MISSED' * bool(missed)}", flush=True)
        failures += [f"{row['case']}: {ratios[baseline]:.3f} of {baseline}'s speed" for baseline in missed]
        failures += [f"{row['case']}: {baseline} failed: {error}" for baseline, error in row["errors"].items()]
    for group, limits in thresholds.averages(part).items():
        failures += check_averages(group, limits, groups.get(group, []))
    return failures


def describe_limits(limits: dict[str, float], ratios: dict[str, float]) -> str:
    """The thresholds of a row. A fraction of copy bandwidth is already in the table; speedups over baselines are shown
    here."""
    def describe(baseline: str, limit: float) -> str:
        if baseline == "copy":
            return f"{limit:.2f}"
        return f"{limit:.2f} of {baseline}" + (f" ({ratios[baseline]:.3f})" if baseline in ratios else "")

    return ", ".join(describe(baseline, limit) for baseline, limit in limits.items())


def check_averages(group: str, limits: dict[str, float], ratios: list[dict[str, float]]) -> list[str]:
    """Prints the geometric means of a group's speedups beside their thresholds. Returns a line per missed threshold."""
    failures = []
    for baseline, limit in limits.items():
        if baseline_ratios := [r[baseline] for r in ratios if baseline in r]:
            mean = statistics.geometric_mean(baseline_ratios)
            missed = thresholds.missed({baseline: limit}, {baseline: mean})
            line = f"{group}, on average: {mean:.3f} of {baseline}'s speed"
            print(f"  {line}, at least {limit:.2f}{'  MISSED' * bool(missed)}")
            failures += [line] * bool(missed)
    return failures


def summarize(part: str, rows: list[dict]) -> list[dict]:
    """Prints a summary of each group of rows: the geometric means of its speedups, the number of cases below each threshold (the
    tolerance does not apply), and the worst cases. Returns the summaries."""
    summaries = []
    for group in dict.fromkeys(row["group"] for row in rows):
        in_group = [row for row in rows if row["group"] == group]
        timed = sorted((row for row in in_group if row.get("times_as_fast_as")), key=least_speedup)
        summary: dict = {"group": group, "cases": len(in_group), "with_errors": [row["case"] for row in in_group if row["errors"]]}
        print(f"\n{group}: {len(in_group)} cases, {len(summary['with_errors'])} with errors")
        for baseline, limit in thresholds.each(part, "", group).items():
            if speedups := [row["times_as_fast_as"][baseline] for row in timed if baseline in row["times_as_fast_as"]]:
                mean, below = statistics.geometric_mean(speedups), sum(speedup < limit for speedup in speedups)
                print(f"  {mean:.3f} of {baseline}'s speed (geometric mean), {below} of {len(speedups)} cases below {limit:.2f}")
                summary[baseline] = {"geometric_mean": mean, "limit": limit, "below": below}
        worst = timed[:WORST_COUNT]
        print_table(f"the {len(worst)} worst cases", *table_of_speedups(worst))
        summaries.append(summary | {"worst": [row["case"] for row in worst]})
    return summaries


def least_speedup(row: dict) -> float:
    ratios = thresholds.ratios(row)
    return ratios.get("best", ratios["copy"])


def table_of_speedups(rows: list[dict]) -> tuple[list[str], list[list]]:
    """The header and the lines of a table: speedups over the baselines, the fraction of copy bandwidth, and times."""
    baselines = list(dict.fromkeys(name for row in rows for name in row["microseconds"] if name != "ingot"))
    timed = ["ingot", *baselines]
    lines = [[row["case"], *(row["times_as_fast_as"].get(name, "-") for name in [*baselines, "copy"]),
              *(f"{row['microseconds'][name]:.1f}" if name in row["microseconds"] else "-" for name in timed)] for row in rows]
    return ["", *(f"of {name}" for name in [*baselines, "copy"]), *(f"{name}, us" for name in timed)], lines


def check_limits(values: dict[str, float]) -> list[str]:
    """Prints the costs of calls beside their limits. Returns a line per missed limit."""
    limits = thresholds.TABLE["calls"]["at_most"]
    missed = [name for name, value in values.items() if value > limits[name] * (1 + thresholds.TOLERANCE)]
    print_table("calls", ["", "measured", "at most", ""],
                [[name, value, limits[name], "MISSED" * (name in missed)] for name, value in values.items()])
    return [f"{name}: {values[name]:.3g}, at most {limits[name]:.3g}" for name in missed]
