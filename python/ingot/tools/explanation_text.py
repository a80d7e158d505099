"""Prints an explanation as text."""

from __future__ import annotations

from . import report


def heading(explanation: dict) -> str:
    subject = f"the gradient of {explanation['op']}" if explanation["backward"] else explanation["op"]
    target = f"sm_{explanation['architecture']}" if explanation["architecture"] else "the CPU"
    arguments = ", ".join(f"{name}: {value}" for name, value in explanation["arguments"].items())
    return f"{subject}({arguments}) for {target}"


def accesses(explanation: dict) -> report.Cells:
    """One row per tensor that a kernel reads or writes."""
    header = ["tensor", "kernel", "dtype", "direction", "sizes", "strides", "access"]
    rows = [[one_line(a["tensor"]), a["kernel"], a["dtype"], "written" if a["is_written"] else "read",
             joined_by_times(a["extents"]), "gathered" if a["is_gathered"] else joined_by_times(a["strides"]), a["how"]]
            for a in explanation["listing"]["accesses"]]
    return header, rows


def one_line(text: str) -> str:
    first, *rest = text.strip().splitlines() or [""]
    return first + " …" * bool(rest)


def joined_by_times(numbers: list[int]) -> str:
    return " × ".join(map(str, numbers)) or "1"


def text(explanation: dict) -> str:
    stages = explanation["listing"]
    parts = [heading(explanation), stages["text"].rstrip(), stages["graph"].rstrip(), stages["schedule"].rstrip(),
             report.table(*accesses(explanation)), report.without_prelude(stages["source"])]
    header, rows = report.kernels([{"name": explanation["op"], "kernels": explanation["kernels"]}])
    if rows:
        parts.append(report.table(header, rows))
    parts.append("--html FILE writes a page with the op's source, graph, schedule, kernel source, PTX and machine code side by side")
    return "\n\n".join(parts)
