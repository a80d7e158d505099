"""The contents of the page of an explanation or a comparison."""

from __future__ import annotations

import functools

from .. import explanation_text, report
from ..dtypes import DTYPES
from . import drawings
from .page import Figure, Page, Table, Workbench
from .panes import of_listing


def of_explanation(found: dict, prefix: str = "") -> Page:
    """The page of an explanation. `prefix` makes the ids in its drawings unique if several pages share a document."""
    header, rows = explanation_text.accesses(found)
    tables = [Table("Tensors that the kernels read and write", header, rows, (0, 1, 2, 3, 4, 5, 6))]
    header, kernels = report.kernels([{"name": found["op"], "kernels": found["kernels"]}])
    if kernels:
        tables.append(Table("Kernels", header, kernels))
    return Page(title=explanation_text.heading(found), facts=[_versions(found)], tables=tables,
                figures=[_elements(f"{prefix}access-{number}", access)
                         for number, access in enumerate(found["listing"]["accesses"]) if not access["is_gathered"]],
                is_of_stages=True, workbenches=[Workbench("From the op's source to machine code", of_listing(found["listing"]))],
                notes=["Sizes and strides are in elements, outermost first. Contiguous dims are merged to one axis, and dims of "
                       "size 1 are left out. In the drawings each cell is an element, with its offset in memory. Adjacent cells of "
                       "one colour in a row are in one sector of 32 bytes."])


def of_comparison(found: dict, prefix: str = "") -> Page:
    """The page of a comparison. `prefix`: as for an explanation."""
    header, rows = report.timed(found)
    tables = [Table("Candidates", header, rows, (0, 1))]
    for caption, (header, rows) in {"Kernels": report.kernels(found["candidates"]),
                                    "Hardware counters of Nsight Compute": report.counted(found)}.items():
        if rows:
            tables.append(Table(caption, header, rows))
    remarks = [remark for candidate in found["candidates"] for remark in report.remarks(candidate)]
    benches = [Workbench(c["name"], of_listing(c["listing"])) for c in found["candidates"] if c.get("listing")]
    return Page(title=report.heading(found), facts=[_versions(found)], findings=[*remarks, *found["why"]], tables=tables,
                figures=_figures(found, prefix), workbenches=benches, notes=[*report.lacking(found), *found["how"]])


def _versions(found: dict) -> str:
    return f"Ingot {found['ingot']}, PyTorch {found['torch']}" + (f", {found['date']}" if found.get("date") else "")


def _figures(found: dict, prefix: str) -> list[Figure]:
    figures = []

    def add(key: str, caption: str, draw, data: Table) -> None:
        figures.append(Figure(caption, drawings.drawn(f"{prefix}{key}", caption, lambda axes: draw(axes, found)), data))

    if any(c.get("share_of_copy") is not None for c in found["candidates"]):
        header, rows = report.timed(found)
        add("speeds", "Fraction of copy bandwidth", drawings.speeds, Table("", header, rows, (0, 1)))
    if found.get("sweep") and any(points for _, points in drawings.swept(found)):
        header, rows = report.curve(found)
        add("sweep", f"Bandwidth over {found['sweep']['name']}", drawings.sweep, Table("", header, rows))
    if points := drawings.roofline_points(found):
        rows = [[c["name"], f"{intensity:.3g}", f"{speed:.3g}"] for _, c, intensity, speed in points]
        data = Table("", ["", "FLOP/byte", "FLOP/s"], rows)
        add("roofline", "Roofline", drawings.roofline, data)
    return figures


def _elements(key: str, access: dict) -> Figure:
    itemsize = _itemsize(access["dtype"])
    places = drawings.cells(access)
    what = "written" if access["is_written"] else "read"
    caption = f"{explanation_text.one_line(access['tensor'])} ({access['dtype']}, {what}): {access['how']}"
    size = (6.2, 0.25 + 0.34 * len(places))
    draw = functools.partial(drawings.elements, places=places, itemsize=itemsize)
    columns = len(places[0]) if places else 0
    data = Table("Offsets in memory, in elements", ["", *map(str, range(columns))],
                 [[str(row), *map(str, cells)] for row, cells in enumerate(places)])
    return Figure(caption, drawings.drawn(key, caption, draw, size), data)


def _itemsize(name: str) -> int:
    return DTYPES[name].itemsize if name in DTYPES else 1
