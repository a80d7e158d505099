"""The contents of the page of an explanation or a comparison."""

from __future__ import annotations

import functools

from .. import explanation_text, report
from ..dtypes import DTYPES
from . import drawings
from .page import Figure, Page, PaneGroup, Table
from .panes import of_listing


def of_explanation(explanation: dict, prefix: str = "") -> Page:
    """The page of an explanation. `prefix` makes the ids in its drawings unique if several pages share a document."""
    header, rows = explanation_text.accesses(explanation)
    tables = [Table("Tensors that the kernels read and write", header, rows, word_columns=tuple(range(7)))]
    header, kernels = report.kernels([{"name": explanation["op"], "kernels": explanation["kernels"]}])
    if kernels:
        tables.append(Table("Kernels", header, kernels))
    return Page(title=explanation_text.heading(explanation), facts=[_versions(explanation)], tables=tables,
                figures=[_elements(f"{prefix}access-{number}", access)
                         for number, access in enumerate(explanation["listing"]["accesses"]) if not access["is_gathered"]],
                starts_with_stages=True,
                pane_groups=[PaneGroup("From the op's source to machine code", of_listing(explanation["listing"]))],
                notes=["Sizes and strides are in elements, outermost first. Contiguous dims are merged to one axis, and dims of "
                       "size 1 are left out. In the drawings each cell is an element, with its offset in memory. Adjacent cells of "
                       "one colour in a row are in one sector of 32 bytes."])


def of_comparison(comparison: dict, prefix: str = "") -> Page:
    """The page of a comparison. `prefix`: as in `of_explanation`."""
    header, rows = report.candidate_table(comparison)
    tables = [Table("Candidates", header, rows, word_columns=(0, 1))]
    for caption, (header, rows) in {"Kernels": report.kernels(comparison["candidates"]),
                                    "Hardware counters of Nsight Compute": report.hardware_counters(comparison)}.items():
        if rows:
            tables.append(Table(caption, header, rows))
    remarks = [remark for candidate in comparison["candidates"] for remark in report.remarks(candidate)]
    pane_groups = [PaneGroup(c["name"], of_listing(c["listing"])) for c in comparison["candidates"] if c.get("listing")]
    return Page(title=report.heading(comparison), facts=[_versions(comparison)], findings=[*remarks, *comparison["why"]],
                tables=tables, figures=_figures(comparison, prefix), pane_groups=pane_groups,
                notes=[*report.missing_results(comparison), *comparison["how"]])


def _versions(data: dict) -> str:
    return f"Ingot {data['ingot']}, PyTorch {data['torch']}" + (f", {data['date']}" if data.get("date") else "")


def _figures(comparison: dict, prefix: str) -> list[Figure]:
    figures = []

    def add(key: str, caption: str, draw, data: Table) -> None:
        figures.append(Figure(caption, drawings.draw_svg(f"{prefix}{key}", caption, lambda axes: draw(axes, comparison)), data))

    if any(c.get("share_of_copy") is not None for c in comparison["candidates"]):
        header, rows = report.candidate_table(comparison)
        add("speeds", "Fraction of copy bandwidth", drawings.speeds, Table("", header, rows, word_columns=(0, 1)))
    if comparison.get("sweep") and any(points for _, points in drawings.sweep_points(comparison)):
        header, rows = report.sweep_table(comparison)
        add("sweep", f"Bandwidth over {comparison['sweep']['name']}", drawings.sweep, Table("", header, rows))
    if points := drawings.roofline_points(comparison):
        rows = [[c["name"], f"{intensity:.3g}", f"{speed:.3g}"] for _, c, intensity, speed in points]
        data = Table("", ["", "FLOP/byte", "FLOP/s"], rows)
        add("roofline", "Roofline", drawings.roofline, data)
    return figures


def _elements(key: str, access: dict) -> Figure:
    itemsize = _itemsize(access["dtype"])
    offsets = drawings.cells(access)
    direction = "written" if access["is_written"] else "read"
    caption = f"{explanation_text.one_line(access['tensor'])} ({access['dtype']}, {direction}): {access['how']}"
    size = (6.2, 0.25 + 0.34 * len(offsets))
    draw = functools.partial(drawings.elements, offsets=offsets, itemsize=itemsize)
    columns = len(offsets[0]) if offsets else 0
    data = Table("Offsets in memory, in elements", ["", *map(str, range(columns))],
                 [[str(row), *map(str, cells)] for row, cells in enumerate(offsets)])
    return Figure(caption, drawings.draw_svg(key, caption, draw, size), data)


def _itemsize(name: str) -> int:
    return DTYPES[name].itemsize if name in DTYPES else 1
