"""Sentences that explain a comparison: the main differences between a candidate's kernels and Ingot's, and how times were
measured."""

from __future__ import annotations

from .benchmark import CALLS_PER_GRAPH

MAX_SENTENCES = 2  # sentences per candidate


def differences(comparison: dict) -> list[str]:
    """At most MAX_SENTENCES sentences per candidate, the most important first."""
    own = comparison["candidates"][0]
    lines = []
    for other in comparison["candidates"][1:]:
        sentences = [sentence for rule in _RULES if (sentence := rule(other, own))][:MAX_SENTENCES]
        if sentences and "speedup" in other:
            sentences[0] += f": {other['speedup']:.2f} of Ingot's speed"
        lines += [f"{other['name']} {sentence}" for sentence in sentences]
    return lines


def _launches(other: dict, own: dict) -> str:
    other_kernels, own_kernels = other.get("launched"), own.get("launched")
    if not other_kernels or not own_kernels or len(other_kernels) == len(own_kernels):
        return ""
    return f"launches {_count(len(other_kernels), 'kernel')}, Ingot {len(own_kernels)}"


def _spills(other: dict, own: dict) -> str:
    other_value, own_value = (_main_kernel_property(c, "local_bytes") for c in (other, own))
    if other_value is None or own_value is None or other_value == own_value or max(other_value, own_value) < 16:
        return ""
    return f"uses {other_value} bytes of local memory per thread, Ingot {own_value}"


def _widths(other: dict, own: dict) -> str:
    """The width of a thread's loads of a tensor, or else of its stores, if it differs from Ingot's."""
    for verb, access in (("reads", "loads"), ("writes", "stores")):
        widths, own_widths = (_accesses(c, access) for c in (other, own))
        differing = [(n, widths[n], own_widths[n]) for n in widths if n in own_widths and widths[n] != own_widths[n]]
        if differing:
            break
    else:
        return ""
    names = [name for name, a, b in differing if (a, b) == differing[0][1:]]
    listed = " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)
    return f"{verb} {listed} with {differing[0][1]}-byte {access}, Ingot with {differing[0][2]}-byte {access}"


def _occupancy(other: dict, own: dict) -> str:
    other_value, own_value = (_main_kernel_property(c, "occupancy") for c in (other, own))
    if other_value is None or own_value is None or abs(other_value - own_value) < 0.2:
        return ""
    return f"has an occupancy of {other_value:.0%}, Ingot {own_value:.0%}"


def _instructions(other: dict, own: dict) -> str:
    """Instructions per byte that a thread loads or stores. This ratio does not depend on the number of elements per thread."""
    other_value, own_value = (_instructions_per_byte(c) for c in (other, own))
    if not other_value or not own_value or 0.67 < other_value / own_value < 1.5:
        return ""
    return f"has {other_value:.2g} instructions per byte loaded or stored, Ingot {own_value:.2g}"


def _cpu_overhead(other: dict, own: dict) -> str:
    other_value, own_value = other.get("cpu_overhead_us"), own.get("cpu_overhead_us")
    if not other_value or not own_value or "us" not in other or other_value < other["us"] or other_value < 1.5 * own_value:
        return ""
    return f"has a CPU overhead of {other_value:.1f} µs per call, Ingot {own_value:.1f} µs"


_RULES = [_launches, _spills, _widths, _occupancy, _instructions, _cpu_overhead]


def _accesses(candidate: dict, direction: str) -> dict[str, int]:
    """The widest access to each tensor by any of the kernels."""
    widest: dict[str, int] = {}
    for kernel in candidate.get("kernels") or ():
        for name, access in kernel[direction].items():
            widest[name] = max(widest.get(name, 0), access["widest"])
    return widest


def _main_kernel_property(candidate: dict, name: str):
    """A property of the main kernel, which accesses the most tensors. Other kernels only prepare, or combine partial results."""
    kernels = candidate.get("kernels") or ()
    size = lambda k: (len(k["loads"]) + len(k["stores"]), k["instructions"] or 0)  # noqa: E731
    return max(kernels, key=size)[name] if kernels else None


def _instructions_per_byte(candidate: dict) -> float | None:
    kernels = candidate.get("kernels") or ()
    instructions = sum(k["instructions"] or 0 for k in kernels)
    bytes_accessed = sum(int(width) * count for k in kernels for widths in (k["load_widths"], k["store_widths"])
                         for width, count in widths.items())
    return instructions / bytes_accessed if instructions and bytes_accessed else None


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'s' * (number != 1)}"


def how_measured(comparison: dict) -> list[str]:
    """The lines that tell how the table was measured."""
    if comparison["bytes"] is None:
        return ["nothing was timed: the report shows correctness and the kernels' machine code"]
    on_gpu = any(c.get("cpu_overhead_us") is not None for c in comparison["candidates"])
    method = "between GPU events, with the CPU ahead" if on_gpu else "by the clock"
    if comparison["graph"]:
        method = f"in a CUDA graph of {CALLS_PER_GRAPH} calls"
    sets = "one set of inputs"
    if comparison["sets"] > 1:
        sets = f"{comparison['sets']} sets of inputs in turn, more than the caches hold"
    return _roofline(comparison) + [
        f"time: per call, {method}; the median of {comparison['rounds']} rounds of one sample per candidate, ± half the "
        f"interquartile range; {sets}",
        "speedup: relative to Ingot, the median over the rounds; kernels write into existing results, other candidates allocate "
        "theirs",
        f"copy bandwidth: {comparison['copy_gb_s']:.0f} GB/s, of a large copy in the same rounds; "
        f"a call must move {comparison['bytes'] / 1e6:.4g} MB",
    ]


def _roofline(comparison: dict) -> list[str]:
    """The position of Ingot's kernels in the roofline model."""
    own, peak = comparison["candidates"][0], comparison.get("peak_flops")
    if not own.get("operations") or not peak or "us" not in own:
        return []
    intensity, ridge = own["operations"] / comparison["bytes"], peak / (comparison["copy_gb_s"] * 1e9)
    bound = "memory-bound" if intensity < ridge else "compute-bound"
    share = own["operations"] / (own["us"] * 1e-6) / peak
    return [f"roofline: Ingot's arithmetic intensity is {intensity:.2g} FLOP/byte, and the ridge point {ridge:.2g}: {bound}; it reaches "
            f"{share:.1%} of the GPU's peak FLOP/s"]
