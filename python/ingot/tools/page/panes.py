"""A listing as panes of lines, split into stretches that know their origins."""

from __future__ import annotations

import dataclasses
import re

_NODE = re.compile(r"^\s*%(\d+) = ")
_USES = re.compile(r"%(\d+)")
_ACCESS = re.compile(r"^\s*access (\d+): ")


@dataclasses.dataclass
class Stretch:
    """Text within a line. `nodes` are the graph's nodes that it represents, `enclosing` these and the nodes of expressions around it.
    `lines` are the lines of source that it is, or that it came from."""

    text: str
    nodes: tuple[int, ...] = ()
    enclosing: tuple[int, ...] = ()
    lines: tuple[int, ...] = ()
    kind: str = ""

    @property
    def is_linked(self) -> bool:
        return bool(self.nodes or self.lines)


@dataclasses.dataclass
class Line:
    stretches: list[Stretch]
    number: str = ""

    @classmethod
    def of(cls, stretch: Stretch, number: str = "") -> Line:
        """A line with one stretch after its indentation."""
        text = stretch.text.lstrip()
        indent = stretch.text[: len(stretch.text) - len(text)]
        return cls([Stretch(indent)] * bool(indent) + [dataclasses.replace(stretch, text=text)], number)


@dataclasses.dataclass
class Pane:
    """The output of one compilation stage. `key` decides its place on the page."""

    key: str
    title: str
    lines: list[Line]

    @property
    def text(self) -> str:
        return "\n".join("".join(stretch.text for stretch in line.stretches) for line in self.lines)


def of_listing(listing: dict) -> list[Pane]:
    """The panes of the stages that the listing has, in order."""
    panes = []
    if listing.get("text"):
        panes.append(Pane("text", "Op source", text_lines(listing["text"], listing["nodes"])))
    if listing.get("graph"):
        panes.append(Pane("graph", "Graph", graph_lines(listing["graph"])))
    if listing.get("schedule"):
        panes.append(Pane("schedule", "Schedule", schedule_lines(listing["schedule"], listing["accesses"])))
    panes.append(Pane("source", f"Source: {listing['file']}", source_lines(listing["source"], listing.get("lines"))))
    if listing.get("ptx"):
        panes.append(Pane("ptx", "PTX", [Line.of(Stretch(text, lines=tuple(lines))) for text, lines in listing["ptx"]]))
    for kernel, instructions in (listing.get("code") or {}).items():
        panes.append(Pane("sass", f"SASS: {kernel}", code_lines(instructions)))
    return panes


def text_lines(text: str, nodes: list[list[list[int]]]) -> list[Line]:
    """The lines of the op's source, split where a node's stretch begins or ends."""
    stretches = [(node, begin, end) for node, ranges in enumerate(nodes) for begin, end in ranges if end > begin]
    boundaries = {offset for _, begin, end in stretches for offset in (begin, end)}
    lines, offset = [], 0
    for number, row in enumerate(text.split("\n"), start=1):
        bounds = sorted({offset, offset + len(row), *(b for b in boundaries if offset < b < offset + len(row))})
        row_stretches = [_make_stretch(text[begin:end], begin, end, stretches) for begin, end in zip(bounds, bounds[1:])]
        lines.append(Line(row_stretches, str(number)))
        offset += len(row) + 1
    while lines and not any(stretch.text.strip() for stretch in lines[-1].stretches):
        lines.pop()
    return lines


def _make_stretch(text: str, begin: int, end: int, stretches: list[tuple[int, int, int]]) -> Stretch:
    containing = [(node, last - first) for node, first, last in stretches if first <= begin and end <= last]
    size = min((size for _, size in containing), default=0)
    innermost = dict.fromkeys(node for node, length in containing if length == size)
    return Stretch(text, tuple(innermost), tuple(dict.fromkeys(node for node, _ in containing)))


def graph_lines(graph: str) -> list[Line]:
    """One line per node. Other lines, such as those of results and conditions, represent the nodes that they name."""
    lines = []
    for row in graph.rstrip("\n").split("\n"):
        match = _NODE.match(row)
        nodes = (int(match[1]),) if match else tuple(int(node) for node in _USES.findall(row))
        lines.append(Line.of(Stretch(row, nodes, nodes)))
    return lines


def schedule_lines(schedule: str, accesses: list[dict]) -> list[Line]:
    """The lines of the schedule. A line such as `access 0: vector` represents the node that is read or written."""
    lines, kernel = [], ""
    for row in schedule.rstrip("\n").split("\n"):
        if row and not row[0].isspace():
            kernel = row.partition(":")[0]
        match = _ACCESS.match(row)
        nodes = tuple(a["node"] for a in accesses if match and a["kernel"] == kernel and a["number"] == int(match[1]))
        lines.append(Line.of(Stretch(row, nodes, nodes)))
    return lines


def source_lines(source: str, nodes: list[list[int]] | None) -> list[Line]:
    """The lines of the kernels' source; other stages may come from any of them."""
    lines = []
    for number, row in enumerate(source.rstrip("\n").split("\n"), start=1):
        computed = tuple(nodes[number - 1]) if nodes and number <= len(nodes) else ()
        own_line = (number,) if row.strip() and not row.lstrip().startswith("//") else ()
        lines.append(Line.of(Stretch(row, computed, computed, own_line), str(number)))
    return lines


def code_lines(instructions: list) -> list[Line]:
    return [Line.of(Stretch(text, lines=tuple(lines), kind=kind), f"{address:04x}")
            for address, text, kind, lines in instructions]
