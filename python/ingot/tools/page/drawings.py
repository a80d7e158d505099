"""SVG drawings, made with matplotlib if it is installed. They use the page's colours, so they follow its light or dark scheme."""

from __future__ import annotations

import io
import itertools
import re
import warnings
from typing import Callable

# Placeholders for the page's colours --ink-00, --ink-01, …
_PLACEHOLDER = "#0c0c"
INK, EDGE, WARM, COOL = (f"{_PLACEHOLDER}{number}" for number in ("00", "10", "11", "12"))


def colour(number: int) -> str:
    """The colour of the number-th candidate; Ingot is the first."""
    return f"{_PLACEHOLDER}0{number % 8 + 1}"


def draw_svg(key: str, label: str, draw: Callable, size: tuple[float, float] = (6.2, 3.4)) -> str:
    """Draws on axes with `draw` and returns the SVG; empty without matplotlib. `key` is unique among the drawings of a page. `label`
    is for screen readers."""
    try:
        import matplotlib
        from matplotlib.figure import Figure
    except ImportError:
        return ""
    settings = {"svg.fonttype": "none", "svg.hashsalt": "ingot", "font.size": 9, "text.parse_math": False,
                **dict.fromkeys(("text.color", "axes.labelcolor", "xtick.color", "ytick.color"), INK),
                "axes.edgecolor": EDGE, "grid.color": EDGE, "axes.spines.top": False, "axes.spines.right": False,
                "legend.frameon": False}
    with matplotlib.rc_context(settings), warnings.catch_warnings():
        figure = Figure(figsize=size, layout="constrained")
        draw(figure.subplots())
        out = io.StringIO()
        warnings.simplefilter("ignore")  # warnings about glyphs that the measuring font lacks: the browser has its own fonts
        figure.savefig(out, format="svg", transparent=True, metadata={"Date": None, "Creator": None})
    return _for_a_page(out.getvalue(), key, label)


def _for_a_page(svg: str, key: str, label: str) -> str:
    svg = re.sub(r"<metadata>.*?</metadata>", "", svg[svg.index("<svg") :], flags=re.DOTALL)
    svg = re.sub(r'(\bid="|url\(#|href="#)', rf"\g<1>{key}-", svg)
    svg = re.sub(rf"{_PLACEHOLDER}(\d\d)", r"var(--ink-\1)", svg)
    quoted = label.replace("&", "&amp;").replace('"', "&quot;").replace("<", "&lt;")
    return svg.replace("<svg ", f'<svg role="img" aria-label="{quoted}" ', 1)


def speeds(axes, comparison: dict, colour: Callable[[int], str] = colour, ink: str = INK) -> None:
    """A bar for each timed candidate: its fraction of copy bandwidth, with the quartiles. `colour` maps a candidate's number."""
    timed = [(k, c) for k, c in enumerate(comparison["candidates"]) if c.get("share_of_copy") is not None]
    for row, (number, candidate) in enumerate(timed):
        share = candidate["share_of_copy"]
        low, high = (share * candidate["us"] / us for us in reversed(candidate["us_quartiles"]))
        axes.barh(row, share, color=colour(number), xerr=[[max(share - low, 0)], [max(high - share, 0)]], ecolor=ink)
        axes.text(max(share, high), row, f" {share:.2f}", va="center", color=ink)
    axes.set_yticks(range(len(timed)), [c["name"] for _, c in timed])
    axes.invert_yaxis()
    axes.set_xlabel("fraction of copy bandwidth")
    axes.margins(x=0.12)


def sweep(axes, comparison: dict, colour: Callable[[int], str] = colour, ink: str = INK) -> None:
    """Bandwidth over sizes, one line per candidate. `colour` maps a candidate's number."""
    for number, (candidate, points) in enumerate(sweep_points(comparison)):
        if points:
            sizes, bandwidths = zip(*((size, gb_s) for size, _, gb_s in points))
            axes.plot(sizes, bandwidths, marker="o", markersize=4, color=colour(number), label=_label(candidate))
    axes.set_xscale("log")
    axes.set_ylim(bottom=0)
    if comparison.get("copy_gb_s"):
        axes.axhline(comparison["copy_gb_s"], color=ink, linestyle=":", linewidth=1, label="copy bandwidth")
    axes.set_xlabel(comparison["sweep"]["name"])
    axes.set_ylabel("GB/s")
    axes.grid(True, linewidth=0.5)
    axes.legend()


def _label(candidate: dict) -> str:
    """The candidate's name for a legend. A legend omits labels that begin with an underscore, so these get a zero-width space."""
    return "\u200b" + candidate["name"] if candidate["name"].startswith("_") else candidate["name"]


def sweep_points(comparison: dict) -> list[tuple[dict, list[tuple[int, float, float]]]]:
    """For each candidate: sizes with microseconds and GB/s."""
    def points_of(spec: str) -> list[tuple[int, float, float]]:
        points = [(point["size"], point["candidates"].get(spec)) for point in comparison["sweep"]["points"]]
        return [(size, times["us"], times["gb_s"]) for size, times in points if times]

    return [(candidate, points_of(candidate["spec"])) for candidate in comparison["candidates"]]


def roofline(axes, comparison: dict) -> None:
    """FLOP/s over arithmetic intensity, below the limits of copy bandwidth and float32 throughput."""
    points = roofline_points(comparison)
    bandwidth, peak = comparison["copy_gb_s"] * 1e9, comparison["peak_flops"]
    ridge = peak / bandwidth
    low = min(*(intensity for _, _, intensity, _ in points), ridge) / 4
    high = max(*(intensity for _, _, intensity, _ in points), ridge) * 4
    axes.plot([low, ridge, high], [low * bandwidth, peak, peak], color=INK, linewidth=1)
    for number, candidate, intensity, speed in points:
        axes.plot([intensity], [speed], "o", color=colour(number), label=_label(candidate))
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xlabel("arithmetic intensity (FLOP/byte)")
    axes.set_ylabel("FLOP/s")
    axes.grid(True, linewidth=0.5)
    axes.legend()


def roofline_points(comparison: dict) -> list[tuple[int, dict, float, float]]:
    """Number and candidate, arithmetic intensity in FLOP/byte, and FLOP/s, for the candidates for which both are known."""
    if not comparison.get("peak_flops") or not comparison.get("copy_gb_s") or not comparison.get("bytes"):
        return []
    return [(number, c, c["operations"] / comparison["bytes"], c["operations"] / c["us"] * 1e6)
            for number, c in enumerate(comparison["candidates"]) if c.get("operations") and c.get("us")]


ROWS, COLUMNS, SECTOR = 4, 16, 32  # the most cells of a drawing; the bytes of a sector


def cells(access: dict) -> list[list[int]]:
    """The offsets in elements of the first elements along the kernel's last two axes, one list per row. An axis along which a result
    is written only once, such as the row of a sum, does not count."""
    axes = [(e, s) for e, s in zip(access["extents"], access["strides"]) if s or not access["is_written"]]
    extents, strides = zip(*[(1, 0), (1, 0), *axes][-2:])
    rows, columns = min(extents[0], ROWS), min(extents[1], COLUMNS)
    return [[access["offset"] + r * strides[0] + c * strides[1] for c in range(columns)] for r in range(rows)]


def elements(axes, offsets: list[list[int]], itemsize: int) -> None:
    """Draws elements as cells with their offsets. Adjacent cells of one colour are in one sector of 32 bytes."""
    from matplotlib.patches import Rectangle

    sectors: dict[int, int] = {}
    for r, c in itertools.product(range(len(offsets)), range(len(offsets[0]) if offsets else 0)):
        sector = offsets[r][c] * itemsize // SECTOR
        shade = (WARM, COOL)[sectors.setdefault(sector, len(sectors)) % 2]
        axes.add_patch(Rectangle((c, r), 1, 1, facecolor=shade, edgecolor=EDGE, linewidth=0.6))
        axes.text(c + 0.5, r + 0.5, str(offsets[r][c]), ha="center", va="center", fontsize=6.5 if offsets[r][c] < 1e5 else 4.5)
    axes.set(xlim=(0, COLUMNS), ylim=(max(len(offsets), 1), 0))
    axes.axis("off")
