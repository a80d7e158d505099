"""Sentences that explain a comparison: the main differences between a candidate's kernels and Ingot's, and how times were
measured."""

from __future__ import annotations

from .benchmark import CALLS_OF_A_GRAPH

MOST = 2  # sentences per candidate


def differences(found: dict) -> list[str]:
    """At most MOST sentences per candidate, the most important first."""
    own = found["candidates"][0]
    lines = []
    for other in found["candidates"][1:]:
        said = [sentence for rule in _RULES if (sentence := rule(other, own))][:MOST]
        if said and "speedup" in other:
            said[0] += f": {other['speedup']:.2f} of its speed"
        lines += [f"{other['name']} {sentence}" for sentence in said]
    return lines


def _launches(other: dict, own: dict) -> str:
    theirs, mine = other.get("launched"), own.get("launched")
    if not theirs or not mine or len(theirs) == len(mine):
        return ""
    return f"launches {_count(len(theirs), 'kernel')}, Ingot {len(mine)}"


def _spills(other: dict, own: dict) -> str:
    theirs, mine = (_of_main(c, "local_bytes") for c in (other, own))
    if theirs is None or mine is None or theirs == mine or max(theirs, mine) < 16:
        return ""
    return f"keeps {theirs} bytes a thread in local memory, Ingot {mine}"


def _widths(other: dict, own: dict) -> str:
    """The width of a thread's loads of a tensor, or else of its stores, if it differs from Ingot's."""
    theirs, mine = (_accesses(c, "loads") for c in (other, own))
    differing = [(name, theirs[name], mine[name]) for name in theirs if name in mine and theirs[name] != mine[name]]
    if not differing:
        theirs, mine = (_accesses(c, "stores") for c in (other, own))
        differing = [(name, theirs[name], mine[name]) for name in theirs if name in mine and theirs[name] != mine[name]]
        verb = "writes"
    else:
        verb = "reads"
    if not differing:
        return ""
    names = [name for name, a, b in differing if (a, b) == differing[0][1:]]
    listed = " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)
    return f"{verb} {listed} by {_bytes(differing[0][1])} at a time, Ingot by {differing[0][2]}"


def _occupancy(other: dict, own: dict) -> str:
    theirs, mine = (_of_main(c, "occupancy") for c in (other, own))
    if theirs is None or mine is None or abs(theirs - mine) < 0.2:
        return ""
    return f"keeps {theirs:.0%} of the threads that a multiprocessor has room for, Ingot {mine:.0%}"


def _instructions(other: dict, own: dict) -> str:
    """Instructions per byte that a thread loads or stores. This ratio does not depend on the number of elements per thread."""
    theirs, mine = (_instructions_a_byte(c) for c in (other, own))
    if not theirs or not mine or 0.67 < theirs / mine < 1.5:
        return ""
    return f"spends {theirs:.2g} instructions on a byte that is loaded or stored, Ingot {mine:.2g}"


def _host(other: dict, own: dict) -> str:
    theirs, mine = other.get("cpu_overhead_us"), own.get("cpu_overhead_us")
    if not theirs or not mine or "us" not in other or theirs < other["us"] or theirs < 1.5 * mine:
        return ""
    return f"costs the host {theirs:.1f} µs a call, Ingot {mine:.1f}"


_RULES = [_launches, _spills, _widths, _occupancy, _instructions, _host]


def _accesses(candidate: dict, what: str) -> dict[str, int]:
    """The widest access to each tensor by any of the kernels."""
    found: dict[str, int] = {}
    for kernel in candidate.get("kernels") or ():
        for name, access in kernel[what].items():
            found[name] = max(found.get(name, 0), access["widest"])
    return found


def _of_main(candidate: dict, what: str):
    """A property of the main kernel, which accesses the most tensors. Other kernels only prepare, or combine partial results."""
    kernels = candidate.get("kernels") or ()
    size = lambda k: (len(k["loads"]) + len(k["stores"]), k["instructions"] or 0)  # noqa: E731
    return max(kernels, key=size)[what] if kernels else None


def _instructions_a_byte(candidate: dict) -> float | None:
    kernels = candidate.get("kernels") or ()
    instructions = sum(k["instructions"] or 0 for k in kernels)
    moved = sum(int(width) * count for k in kernels for widths in (k["load_widths"], k["store_widths"])
                for width, count in widths.items())
    return instructions / moved if instructions and moved else None


def _bytes(count: int) -> str:
    return "one byte" if count == 1 else f"{count} bytes"


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'s' * (number != 1)}"


def how(found: dict) -> list[str]:
    """The lines that tell how the table was measured."""
    if found["bytes"] is None:
        return ["nothing was timed: what is shown is who is right, and the kernels' machine code"]
    on_gpu = any(c.get("cpu_overhead_us") is not None for c in found["candidates"])
    where = "between events on the GPU, the host ahead" if on_gpu else "by the clock"
    if found["graph"]:
        where = f"in a CUDA graph of {CALLS_OF_A_GRAPH} of them"
    sets = f"{found['sets']} sets of inputs in turn, more than the cache holds" if found["sets"] > 1 else "one set of inputs"
    return _roofline(found) + [
        f"time: of a call, {where}; the median of {found['rounds']} rounds, in which all take turns, and half the distance of "
        f"the quartiles; {sets}",
        "speed: as a multiple of Ingot's, the median over the rounds; kernels write into results that are there, the others "
        "allocate theirs",
        f"of a copy: {found['bytes'] / 1e6:.4g} MB that must move, beside a large copy's {found['copy_gb_s']:.0f} GB/s in the "
        "same rounds",
    ]


def _roofline(found: dict) -> list[str]:
    """The position of Ingot's kernels in the roofline model."""
    own, peak = found["candidates"][0], found.get("peak_flops")
    if not own.get("operations") or not peak or "us" not in own:
        return []
    intensity, ridge = own["operations"] / found["bytes"], peak / (found["copy_gb_s"] * 1e9)
    bound = "memory bounds it" if intensity < ridge else "arithmetic bounds it"
    share = own["operations"] / (own["us"] * 1e-6) / peak
    return [f"roofline: Ingot does {intensity:.2g} operations on a byte that must move, {share:.1%} of the GPU's peak; up to "
            f"{ridge:.2g} memory bounds a kernel: {bound}"]
