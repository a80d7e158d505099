"""The compilation stages of a candidate's kernels as plain data. Each line has the source lines, or the graph's nodes, that it
came from.

A listing is a dict:

- `name` of the candidate, `file`, `source`;
- `ptx`: pairs of a line and the numbers of its source lines;
- `code`: for each kernel its instructions as (address, text, kind, lines), or None without a disassembler;
- for Ingot's kernels also `text`, `graph`, `schedule`, `nodes`, `lines` and `accesses` (runtime/api/explanation.h).
"""

from __future__ import annotations

import os
import re

from .disassembly import disassemble

_LOCATION = re.compile(r"^\s*\.loc\s+(?P<at>\d+\s+\d+\s+\d+)"
                       r"(?:\s*,\s*function_name\s+\S+?\s*,\s*inlined_at\s+(?P<by>\d+\s+\d+\s+\d+))?")
_FILE = re.compile(r'^\s*\.file\s+(\d+)\s+"(.*?)"', re.MULTILINE)


def of_program(name: str, file: str, source: str, ptx: str, cubin: bytes, kernels: list[str] | None = None) -> dict:
    """The listing of a compiled file. `kernels` selects and orders the kernels whose instructions are listed; None lists all."""
    functions = disassemble(cubin)
    selected = functions and {k: functions[k] for k in kernels or functions if k in functions}
    code = selected and {kernel: [(i.address, i.text, i.kind, i.lines_of(file)) for i in instructions]
                         for kernel, instructions in selected.items()}
    return {"name": name, "file": file, "source": source, "ptx": ptx_lines(ptx, file), "code": code}


def of_source(name: str, file: str, source: str) -> dict:
    """The listing of source code without machine code."""
    return {"name": name, "file": file, "source": source, "ptx": None, "code": None}


def ptx_lines(ptx: str, file: str) -> list[tuple[str, list[int]]]:
    """The lines of PTX without its line table, each with the lines of the file that it came from."""
    files = {int(number): os.path.basename(path) for number, path in _FILE.findall(ptx)}
    file_numbers = {number for number, name in files.items() if name == os.path.basename(file)}
    lines: list[tuple[str, list[int]]] = []
    source_lines: list[int] = []
    inlined_at: dict[str, str | None] = {}  # the location of a call precedes the locations inlined from it
    for row in ptx.split("\n"):
        if match := _LOCATION.match(row):
            inlined_at[match["at"]] = match["by"]
            chain = [match["at"]]
            while (caller := inlined_at.get(chain[-1])) and caller not in chain:
                chain.append(caller)
            locations = [tuple(map(int, location.split()[:2])) for location in chain]
            source_lines = [line for number, line in locations if number in file_numbers and line]
            continue
        if _FILE.match(row) or ".section" in row and ".debug" in row:
            break  # the kernels end here
        is_instruction = row.startswith("\t") and not row.startswith(("\t.", "\t//"))
        lines.append((row.expandtabs(4).rstrip(), source_lines if is_instruction else []))
        if row.startswith("}"):
            source_lines = []
    while lines and not lines[-1][0]:
        lines.pop()
    return lines
