"""Prints an explanation as text."""

from __future__ import annotations

from . import report


def heading(found: dict) -> str:
    what = f"the gradient of {found['op']}" if found["backward"] else found["op"]
    target = f"sm_{found['architecture']}" if found["architecture"] else "the CPU"
    arguments = ", ".join(f"{name}: {value}" for name, value in found["arguments"].items())
    return f"{what}({arguments}) for {target}"


def accesses(found: dict) -> report.Cells:
    """One row per tensor that a kernel reads or writes."""
    header = ["tensor", "kernel", "dtype", "direction", "sizes", "strides", "access"]
    rows = [[one_line(a["tensor"]), a["kernel"], a["dtype"], "written" if a["is_written"] else "read", times(a["extents"]),
             "gathered" if a["is_gathered"] else times(a["strides"]), a["how"]] for a in found["listing"]["accesses"]]
    return header, rows


def one_line(text: str) -> str:
    first, *rest = text.strip().splitlines() or [""]
    return first + " …" * bool(rest)


def times(numbers: list[int]) -> str:
    return " × ".join(map(str, numbers)) or "1"


def text(found: dict) -> str:
    stages = found["listing"]
    parts = [heading(found), stages["text"].rstrip(), stages["graph"].rstrip(), stages["schedule"].rstrip(),
             report.table(*accesses(found)), report.without_prelude(stages["source"])]
    header, rows = report.kernels([{"name": found["op"], "kernels": found["kernels"]}])
    if rows:
        parts.append(report.table(header, rows))
    parts.append("--html FILE writes a page with the op's source, graph, schedule, kernel source, PTX and machine code side by side")
    return "\n\n".join(parts)
