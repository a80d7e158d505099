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
            said[0] += f": {other['speedup']:.2f} of Ingot's speed"
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
    return f"uses {theirs} bytes of local memory per thread, Ingot {mine}"


def _widths(other: dict, own: dict) -> str:
    """The width of a thread's loads of a tensor, or else of its stores, if it differs from Ingot's."""
    theirs, mine = (_accesses(c, "loads") for c in (other, own))
    differing = [(name, theirs[name], mine[name]) for name in theirs if name in mine and theirs[name] != mine[name]]
    if not differing:
        theirs, mine = (_accesses(c, "stores") for c in (other, own))
        differing = [(name, theirs[name], mine[name]) for name in theirs if name in mine and theirs[name] != mine[name]]
        verb, access = "writes", "stores"
    else:
        verb, access = "reads", "loads"
    if not differing:
        return ""
    names = [name for name, a, b in differing if (a, b) == differing[0][1:]]
    listed = " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)
    return f"{verb} {listed} with {differing[0][1]}-byte {access}, Ingot with {differing[0][2]}-byte {access}"


def _occupancy(other: dict, own: dict) -> str:
    theirs, mine = (_of_main(c, "occupancy") for c in (other, own))
    if theirs is None or mine is None or abs(theirs - mine) < 0.2:
        return ""
    return f"has an occupancy of {theirs:.0%}, Ingot {mine:.0%}"


def _instructions(other: dict, own: dict) -> str:
    """Instructions per byte that a thread loads or stores. This ratio does not depend on the number of elements per thread."""
    theirs, mine = (_instructions_a_byte(c) for c in (other, own))
    if not theirs or not mine or 0.67 < theirs / mine < 1.5:
        return ""
    return f"has {theirs:.2g} instructions per byte loaded or stored, Ingot {mine:.2g}"


def _host(other: dict, own: dict) -> str:
    theirs, mine = other.get("cpu_overhead_us"), own.get("cpu_overhead_us")
    if not theirs or not mine or "us" not in other or theirs < other["us"] or theirs < 1.5 * mine:
        return ""
    return f"has a CPU overhead of {theirs:.1f} µs per call, Ingot {mine:.1f} µs"


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


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'s' * (number != 1)}"


def how(found: dict) -> list[str]:
    """The lines that tell how the table was measured."""
    if found["bytes"] is None:
        return ["nothing was timed: the report shows correctness and the kernels' machine code"]
    on_gpu = any(c.get("cpu_overhead_us") is not None for c in found["candidates"])
    where = "between GPU events, with the CPU ahead" if on_gpu else "by the clock"
    if found["graph"]:
        where = f"in a CUDA graph of {CALLS_OF_A_GRAPH} calls"
    sets = f"{found['sets']} sets of inputs in turn, more than the caches hold" if found["sets"] > 1 else "one set of inputs"
    return _roofline(found) + [
        f"time: per call, {where}; the median of {found['rounds']} rounds of one sample per candidate, ± half the interquartile range; "
        f"{sets}",
        "speedup: relative to Ingot, the median over the rounds; kernels write into existing results, other candidates allocate "
        "theirs",
        f"copy bandwidth: {found['copy_gb_s']:.0f} GB/s, of a large copy in the same rounds; "
        f"a call must move {found['bytes'] / 1e6:.4g} MB",
    ]


def _roofline(found: dict) -> list[str]:
    """The position of Ingot's kernels in the roofline model."""
    own, peak = found["candidates"][0], found.get("peak_flops")
    if not own.get("operations") or not peak or "us" not in own:
        return []
    intensity, ridge = own["operations"] / found["bytes"], peak / (found["copy_gb_s"] * 1e9)
    bound = "memory-bound" if intensity < ridge else "compute-bound"
    share = own["operations"] / (own["us"] * 1e-6) / peak
    return [f"roofline: Ingot's arithmetic intensity is {intensity:.2g} FLOP/byte, and the ridge point {ridge:.2g}: {bound}; it reaches "
            f"{share:.1%} of the GPU's peak FLOP/s"]
