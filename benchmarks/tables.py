"""Makes the tables of the documents from saved results.

    python benchmarks/tables.py            makes the tables again, and lists the documents that changed
    python benchmarks/tables.py --check    changes no document; fails and lists the documents that would change

A comment above each table names the table and the files of results/ with its data. If several files have a case, the last
one counts:

    <!-- benchmarks/tables.py: reductions 2026-11-27-h200-reductions.json -->
"""

import argparse
import json
import math
import pathlib
import re
import sys
from typing import Callable, Iterable

import rows
from rows import EXAMPLES, Row

ROOT = pathlib.Path(__file__).parents[1]
RESULTS = ROOT / "benchmarks" / "results"
DOCUMENTS = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
MARK = re.compile(r"(<!-- benchmarks/tables\.py: ([\w-]+) (.+?) -->\n\n)((?:\|.*\n)*)")
ABSENT = "–"  # shown if nothing was measured
BOLD_ABOVE = 1.02  # a speedup over Ingot above which it is in bold

# --- Tables ---------------------------------------------------------------------------------------------------------

CellText = Callable[[list[dict]], str]  # makes a cell's text from the saved rows of the cases that match one name of rows.py
Columns = dict[str, CellText]  # by title
Table = Callable[[dict], str]  # makes a table in Markdown from the saved results, which are keyed by part


def table_of_cases(part: str, table_rows: list[Row], columns: Columns, prefix: str = "") -> Table:
    """The table of the cases that run.py saved under `part`. `prefix` is added to the names of rows.py. A column without any
    measurement is left out."""

    def table(results: dict) -> str:
        def texts_of_column(cell_text: CellText) -> list[str]:
            return [join_cells([cell_text(matching_rows(results[part], prefix + name)) for name in names]) for _, names in table_rows]

        filled = {title: texts for title, cell_text in columns.items() if {*(texts := texts_of_column(cell_text))} != {ABSENT}}
        return markdown(["work", *filled], [[label, *texts] for (label, _), *texts in zip(table_rows, *filled.values())])

    return table


def matching_rows(saved_rows: list[dict], name: str) -> list[dict]:
    if matching := [row for row in saved_rows if matches(name, row["case"])]:
        return matching
    raise KeyError(f"no saved results have a case {name}")


def matches(name: str, case: str) -> bool:
    """Whether a case has this name of rows.py, in which a star matches any characters."""
    return bool(re.fullmatch(re.escape(name).replace(r"\*", ".*"), case))


def join_cells(cells: list[str]) -> str:
    return " · ".join(cells) if {*cells} != {ABSENT} else ABSENT


def figure_of(kind: str, name: str, format: Callable[[float], str]) -> CellText:
    """The figure of one candidate, or the least and the greatest of several cases; a dash if nothing was measured."""

    def cell_text(matching: list[dict]) -> str:
        values = [row[kind][name] for row in matching if name in row.get(kind, {})]
        return " to ".join(dict.fromkeys(format(value) for value in (min(values), max(values)))) if values else ABSENT

    return cell_text


def columns(kind: str, format: Callable[[float], str], *candidates: str, title: str = "{}") -> Columns:
    """A column for each candidate (by default, for each of TITLES), which shows its figure `kind`."""
    return {title.format(TITLES[candidate]): figure_of(kind, candidate, format) for candidate in candidates or TITLES}


def digits(count: int, scale: float = 1.0) -> Callable[[float], str]:
    """Formats a scaled number with `count` significant digits."""
    return lambda value: f"{value * scale:.{max(0, count - 1 - math.floor(math.log10(value * scale)))}f}"


def examples(results: dict) -> str:
    """Ingot's fraction of copy bandwidth, and the speed of each baseline as a multiple of Ingot's."""
    lines = []
    for case, label in EXAMPLES.items():
        candidates = {c["name"]: c for c in results[case]["candidates"]}
        names = (f"{case}.cu", f"{case}_expert.cu", "torch.compile", "eager")
        speeds = [candidates.get(name, {}).get("speedup") for name in names]
        lines.append([label, f"{candidates['ingot']['share_of_copy']:.2f}", *map(speed, speeds)])
    return markdown(["op", "Ingot, share of copy bandwidth", "usual kernel", "expert kernel", "torch.compile", "eager"], lines)


def speed(value: float | None) -> str:
    return ABSENT if value is None else f"**{value:.2f}**" if value > BOLD_ABOVE else f"{value:.2f}"


def markdown(header: list[str], lines: list[list[str]]) -> str:
    return "".join(f"| {' | '.join(line)} |\n" for line in [header, ["---"] * len(header), *lines])


TITLES = {"ingot": "Ingot", "handwritten": "hand-written", "compile": "torch.compile", "eager": "eager"}
SHARES = columns("share_of_copy", "{:.2f}".format)

TABLES: dict[str, Table] = {
    "large": table_of_cases("large", rows.LARGE, SHARES),
    "large-reductions": table_of_cases("reductions", rows.LARGE_REDUCTIONS, SHARES),
    "elementwise": table_of_cases("large", rows.ELEMENTWISE, SHARES),
    "compute-heavy": table_of_cases("large", rows.COMPUTE_HEAVY, SHARES),
    "reductions": table_of_cases("reductions", rows.REDUCTIONS, SHARES),
    "few": table_of_cases("few_to_reduce", rows.FEW, columns("microseconds", digits(2))),
    "gradients": table_of_cases("gradients", rows.GRADIENTS, columns("microseconds", digits(2, 1e-3))),
    "values": table_of_cases("values_and_gradients", rows.VALUE_AND_GRAD, SHARES),
    "graphs": table_of_cases("graphs", rows.GRAPHS, columns("microseconds", digits(3, 1e-3))),
    "cpu": table_of_cases("cpu", rows.CPU, columns("times_as_fast_as", digits(2), "compile", "eager", title="speedup over {}"), "one thread: "),
    "examples": examples,
}

# --- Documents ------------------------------------------------------------------------------------------------------


def load_results(names: Iterable[str]) -> dict:
    """All parts that the files of results/ hold. If several files have a case, the last one counts."""
    results: dict = {}
    for name in names:
        for part, value in json.loads((RESULTS / name).read_text()).items():
            if isinstance(value, list) and all(isinstance(row, dict) and "case" in row for row in value):
                value = list({row["case"]: row for row in (*results.get(part, ()), *value)}.values())
            results[part] = value
    return results


def with_new_tables(text: str) -> str:
    """The document with its tables made again."""
    return MARK.sub(lambda mark: mark[1] + TABLES[mark[2]](load_results(mark[3].split())), text)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="change no document, and fail if a table is out of date")
    options = parser.parse_args()
    changed = [path for path in DOCUMENTS if with_new_tables(path.read_text()) != path.read_text()]
    for path in changed:
        print(f"{path.relative_to(ROOT)}: a table differs from the saved results" if options.check else path.relative_to(ROOT))
        if not options.check:
            path.write_text(with_new_tables(path.read_text()))
    sys.exit(options.check and bool(changed))


if __name__ == "__main__":
    main()
