"""The parts of a page, and its HTML."""

from __future__ import annotations

import dataclasses
import functools
import pathlib

import jinja2

from .panes import Pane


@dataclasses.dataclass
class Table:
    """A table of strings. `word_columns` are the columns that contain words and not numbers."""

    caption: str
    header: list[str]
    rows: list[list[str]]
    word_columns: tuple[int, ...] = (0,)


@dataclasses.dataclass
class Figure:
    """A drawing and its data. `svg` is empty without matplotlib; the data is shown in any case."""

    caption: str
    svg: str
    data: Table


@dataclasses.dataclass
class PaneGroup:
    """The stages of one listing, side by side. Highlighting in one pane highlights related lines in all of its panes."""

    title: str
    panes: list[Pane]

    @property
    def columns(self) -> list[list[Pane]]:
        """Three columns of panes: before the kernels' source, the source, after it."""
        columns = (("text", "graph", "schedule"), ("source",), ("ptx", "sass"))
        panes = [[pane for pane in self.panes if pane.key in keys] for keys in columns]
        return [column for column in panes if column]


@dataclasses.dataclass
class Page:
    title: str
    facts: list[str] = dataclasses.field(default_factory=list)  # below the title
    findings: list[str] = dataclasses.field(default_factory=list)  # sentences that explain the comparison
    tables: list[Table] = dataclasses.field(default_factory=list)
    figures: list[Figure] = dataclasses.field(default_factory=list)
    pane_groups: list[PaneGroup] = dataclasses.field(default_factory=list)
    notes: list[str] = dataclasses.field(default_factory=list)  # at the end of the page
    starts_with_stages: bool = False  # whether the groups of panes come first

    def html(self) -> str:
        """The page as one HTML document that needs no other file."""
        return _environment().get_template("page.html").render(page=self)

    def fragment(self) -> str:
        """The page without its groups of panes, for a notebook's cell."""
        return _environment().get_template("fragment.html").render(page=self)


@functools.cache
def _environment() -> jinja2.Environment:
    folder = pathlib.Path(__file__).parent
    return jinja2.Environment(loader=jinja2.FileSystemLoader(folder), autoescape=True, trim_blocks=True, lstrip_blocks=True,
                              undefined=jinja2.StrictUndefined)
