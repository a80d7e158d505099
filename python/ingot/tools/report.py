"""The report of a comparison: a document of plain data that can be saved, and its forms as text and CSV."""

from __future__ import annotations

import csv
import datetime
import io
import statistics

import torch

import ingot

from . import diagnosis
from .job import Job
from .benchmark import COPIED_BYTES, COPY
from .workload import AS_GIVEN, DECISIVE
from .steps import LEFT_OUT, OWN, TIMING, SWEEP, Step

CORRECT, INCORRECT, FAILED, UNCHECKED = "correct", "incorrect", "failed", "unchecked"
# The columns of the table of candidates; the last one is shown on a GPU only.
COLUMNS = ("", "accuracy", "time", "± %", "speedup", "% of copy bandwidth", "CPU overhead")


def request(job: Job, device: str) -> dict:
    """The request: the op, its arguments, and the options that a baseline must share."""
    return {"device": device, "op": job.op, "file": job.file, "text": job.text, "numerics": job.numerics, "lazy": job.lazy,
            "backward": job.backward, "arguments": job.values, "sizes": job.sizes, "seed": job.seed, "graph": job.graph,
            "warm": job.warm}


def document(job: Job, step_results: dict[Step, dict], device: str) -> dict:
    """The whole report as JSON-compatible data. `device`: the device's name."""
    timing = step_results.get(TIMING, {})
    names = [OWN, *dict.fromkeys(step[1] for step in step_results if step[0] == "make")]
    comparison = {
        "ingot": ingot.__version__, "torch": torch.__version__, "cuda": torch.version.cuda,
        "date": datetime.datetime.now().isoformat(timespec="seconds"), **request(job, device),
        "bytes": timing.get("bytes"), "sets": timing.get("sets"), "rounds": timing.get("rounds"), "timing_error": timing.get("error"),
        "peak_flops": timing.get("peak_flops"),
        "left_out": {step[1]: result["error"] for step, result in step_results.items() if step[0] == LEFT_OUT},
        "candidates": [_candidate(name, step_results, job) for name in names],
    }
    if job.sweep_sizes:
        comparison["sweep"] = {"name": job.sweep_name, "points": [_point(size, step_results) for size in job.sweep_sizes]}
    if "seconds" in timing:
        comparison["copy_gb_s"] = 2 * COPIED_BYTES[job.device.split(":")[0]] / statistics.median(timing["seconds"][COPY]) / 1e9
    comparison["why"] = diagnosis.differences(comparison)
    comparison["how"] = diagnosis.how_measured(comparison)
    return comparison


def _candidate(name: str, step_results: dict[Step, dict], job: Job) -> dict:
    make, profile, timing = (step_results.get(step, {}) for step in (("make", name), ("profile", name), TIMING))
    operations = step_results.get(("profile", OWN), {}).get("operations")  # of the formula: the same for every candidate
    counters = step_results.get(("count", name), {})
    case_results = {step[2]: result for step, result in step_results.items() if step[0] == "try" and step[1] == name}
    state, message = _state(make, case_results)
    if state == CORRECT:
        points = [((SWEEP, str(size)), f"at {job.sweep_name}={size}: ") for size in job.sweep_sizes]
        late_states = (_state_after_timing(name, step, prefix, step_results) for step, prefix in [(TIMING, ""), *points])
        state, message = next(filter(None, late_states), (state, message))
    candidate = {"name": make.get("name", name), "spec": name, "kind": make.get("kind", "ingot" if name == OWN else ""),
                 "state": state, "message": message, "cases": case_results, "limits": _limits(case_results),
                 "warnings": make.get("warnings", ""), "kernels": profile.get("kernels"), "launched": profile.get("launched"),
                 "counted": counters.get("kernels"), "count_error": counters.get("error"),
                 "operations": operations, "not_rechecked": timing.get("not_rechecked", {}).get(name),
                 "profile_error": profile.get("error"), "listing": profile.get("listing")}
    if name in timing.get("seconds", {}):
        candidate |= _times(name, timing)
    return candidate


def _state_after_timing(name: str, step: Step, prefix: str, step_results: dict[Step, dict]) -> tuple[str, str] | None:
    """The state and message of a candidate that failed or became incorrect while it was timed."""
    if error := step_results.get((*step, name), {}).get("error"):
        return FAILED, f"{prefix}while it was timed: {error}"
    if message := step_results.get(step, {}).get("incorrect", {}).get(name):
        return INCORRECT, prefix + message
    return None


def _point(size: int, step_results: dict[Step, dict]) -> dict:
    """The results at one size of a sweep."""
    timing = step_results.get((SWEEP, str(size)), {})
    names = [name for name in timing.get("seconds", {}) if name != COPY]
    return {"size": size, "bytes": timing.get("bytes"), "error": timing.get("error"),
            "candidates": {name: _times(name, timing) for name in names}}


def _state(make: dict, case_results: dict) -> tuple[str, str]:
    """The state and the message of a candidate before timing."""
    if "error" in make:
        return FAILED, make["error"]
    if make.get("why_not"):
        return UNCHECKED, make["why_not"]
    for case in DECISIVE:
        result = case_results.get(case, {})
        prefix = "" if case == AS_GIVEN else f"on {case}: "
        if "error" in result:
            return FAILED, prefix + result["error"]
        if result and not result["correct"]:
            return INCORRECT, prefix + result["message"]
    if AS_GIVEN not in case_results:
        return FAILED, "not checked"
    shown = next((case for case in DECISIVE if case in case_results and not case_results[case]["bit_for_bit"]), AS_GIVEN)
    return CORRECT, case_results[shown]["message"] + ("" if shown == AS_GIVEN else f" on {shown}")


def _limits(case_results: dict) -> list[str]:
    """The cases beyond the given arguments in which the candidate is not correct."""
    return [f"{case}: {result.get('error') or result['message']}" for case, result in case_results.items()
            if case not in DECISIVE and not result.get("correct")]


def _times(name: str, timing: dict) -> dict:
    seconds, cpu_overhead = timing["seconds"][name], timing["cpu_overhead_seconds"][name]
    low, median, high = statistics.quantiles(seconds, n=4, method="inclusive") if len(seconds) > 1 else seconds * 3
    copied_bytes = COPIED_BYTES["cuda" if cpu_overhead is not None else "cpu"]
    # The share is the time in which a copy moves as many bytes, divided by the candidate's. A copy reads each byte and writes it.
    share = statistics.median(c * timing["bytes"] / (2 * copied_bytes) / s for c, s in zip(timing["seconds"][COPY], seconds))
    times = {"us": median * 1e6, "us_quartiles": [low * 1e6, high * 1e6],
             "cpu_overhead_us": None if cpu_overhead is None else cpu_overhead * 1e6,
             "gb_s": timing["bytes"] / median / 1e9, "share_of_copy": share}
    if OWN in timing["seconds"]:
        times["speedup"] = statistics.median(own / s for own, s in zip(timing["seconds"][OWN], seconds))
    return times


# --- Text -----------------------------------------------------------------------------------------------------------

Cells = tuple[list[str], list[list[str]]]  # a header, and rows


def heading(comparison: dict) -> str:
    arguments = ", ".join(f"{name}: {value}" for name, value in {**comparison["arguments"], **comparison["sizes"]}.items())
    what = f"the gradient of {comparison['op']}" if comparison["backward"] else comparison["op"]
    return f"{what}({arguments}) on {comparison['device']}"


def text(comparison: dict) -> str:
    parts = [heading(comparison), table(*candidate_table(comparison))]
    parts += [lines for candidate in comparison["candidates"] if (lines := "\n".join(remarks(candidate)))]
    for header, rows in (kernels(comparison["candidates"]), hardware_counters(comparison)):
        if rows:
            parts.append(table(header, rows))
    if comparison.get("sweep") and len(sweep_table(comparison)[0]) > 1:
        parts.append(table(*sweep_table(comparison)))
    if missing_results(comparison):
        parts.append("\n".join(missing_results(comparison)))
    if comparison["why"]:
        parts.append("\n".join(comparison["why"]))
    parts.append("\n".join(comparison["how"]))
    return "\n\n".join(parts)


def candidate_table(comparison: dict) -> Cells:
    """The table of candidates, one row each."""
    on_gpu = any(c.get("cpu_overhead_us") is not None for c in comparison["candidates"])
    header = list(COLUMNS if on_gpu else COLUMNS[:-1])
    rows = [[c["name"], _accuracy(c), duration(c.get("us")), spread(c), ratio(c.get("speedup")), percent(c.get("share_of_copy"))] +
            [duration(c.get("cpu_overhead_us"))] * on_gpu for c in comparison["candidates"]]
    return header, rows


def _accuracy(candidate: dict) -> str:
    """The cell in a few words; the details of an incorrect candidate are printed below the table."""
    state = candidate["state"]
    return candidate["message"] if state == CORRECT else state.upper() if state in (INCORRECT, FAILED) else state


def sweep_table(comparison: dict) -> Cells:
    """Times by size. Candidates other than Ingot also have their speedup over Ingot."""
    candidates = [c for c in comparison["candidates"] if any(c["spec"] in p["candidates"] for p in comparison["sweep"]["points"])]
    rows = []
    for point in comparison["sweep"]["points"]:
        cells = [point["candidates"].get(c["spec"], {}) for c in candidates]
        rows.append([str(point["size"]), *(duration(t.get("us")) + (f" ({t['speedup']:.2f})" if t.get("speedup") and k else "")
                                           for k, t in enumerate(cells))])
    return [comparison["sweep"]["name"], *(c["name"] for c in candidates)], rows


def remarks(candidate: dict) -> list[str]:
    """The details that do not fit in a table: the error, the worst element, and the cases that fail."""
    lines = []
    if candidate["state"] != CORRECT and candidate["message"]:
        lines.append(f"{candidate['name']}: {candidate['state']}, {candidate['message']}")
        worst = next((r["worst"] for r in candidate["cases"].values() if r.get("worst") and not r["correct"]), None)
        if worst and worst["inputs"]:
            lines.append(f"  inputs there: {', '.join(f'{n} = {v}' for n, v in worst['inputs'].items())}; float64 gives {worst['float64']}")
    if candidate["state"] == CORRECT:
        lines += [f"{candidate['name']}: correct as given, but not with {limit}" for limit in candidate["limits"]]
    return lines


def kernels(candidates: list[dict]) -> Cells:
    """One row per kernel whose machine code is known."""
    header = ["kernel", "registers", "spilled", "shared", "threads", "occupancy", "instructions", "loads", "stores", "branches",
              "compiled"]
    rows = [[f"{c['name']}: {k['kernel']}" if len(c["kernels"]) > 1 else c["name"], k["registers"], k["local_bytes"],
             k["shared_bytes"], k["threads"], ratio(k["occupancy"]), k["instructions"], widths(k["load_widths"]),
             widths(k["store_widths"]), k["branches"], f"{k['compile_ms']:.0f} ms"]
            for c in candidates for k in c["kernels"] or ()]
    return header, [["" if cell is None else str(cell) for cell in row] for row in rows]


def hardware_counters(comparison: dict) -> Cells:
    """The hardware counters that ncu read, one row per kernel."""
    header = ["hardware counters", "time", "read", "written", "L2 hits", "warps active", "memory busy", "arithmetic busy"]
    rows = [[f"{c['name']}: {k['name']}", duration(k["us"]), megabytes(k["bytes_read"]), megabytes(k["bytes_written"]),
             *(ratio(k[name]) for name in ("l2_hit_rate", "warps_active", "memory_busy", "arithmetic_busy"))]
            for c in comparison["candidates"] for k in c["counted"] or ()]
    return header, rows


def missing_results(comparison: dict) -> list[str]:
    """The requested results that are missing, each with the reason."""
    candidates, sweep = comparison["candidates"], comparison.get("sweep") or {"points": ()}
    untimed = [("", comparison["timing_error"])] + [(f" at {sweep['name']}={p['size']}", p["error"]) for p in sweep["points"]]
    lines = [f"no candidate was checked on {case}: {why}" for case, why in comparison["left_out"].items()]
    lines += [f"nothing was timed{where}: {why}" for where, why in untimed if why]
    lines += [f"{c['name']} was not checked again after it was timed: {c['not_rechecked']}" for c in candidates if c["not_rechecked"]]
    lines += [f"{c['name']} has no profile: {c['profile_error']}" for c in candidates if c["profile_error"]]
    missing = dict.fromkeys(c["count_error"].splitlines()[0] for c in candidates if c["count_error"])
    return lines + [f"no hardware counters: {why}" for why in missing]


def megabytes(count: float | None) -> str:
    return "-" if count is None else f"{count / 1e6:.4g} MB"


def widths(counts: dict) -> str:
    """`2 × 16 B, 8 × 4 B`."""
    return ", ".join(f"{count} × {width} B" for width, count in sorted(counts.items(), key=lambda item: -int(item[0])))


def table(header: list[str], rows: list[list[str]]) -> str:
    cells = [header, *rows]
    wide = [max(len(row[k]) for row in cells) for k in range(len(header))]
    left = [k == 0 or header[k] == "accuracy" for k in range(len(header))]
    return "\n".join("  ".join(c.ljust(w) if l else c.rjust(w) for c, w, l in zip(row, wide, left)).rstrip() for row in cells)


def duration(microseconds: float | None) -> str:
    if microseconds is None:
        return "-"
    for unit, size in (("s", 1e6), ("ms", 1e3)):
        if microseconds >= size:
            return f"{microseconds / size:.3g} {unit}"
    return f"{microseconds:.3g} µs"


def spread(candidate: dict) -> str:
    """Half the distance between the quartiles of the time, in percent of the median."""
    if "us" not in candidate:
        return "-"
    low, high = candidate["us_quartiles"]
    return f"{50 * (high - low) / candidate['us']:.1f}"


def ratio(value: float | None) -> str:
    return "-" if value is None else f"{value:.2f}"


def percent(share: float | None) -> str:
    return "-" if share is None else f"{100 * share:.0f}"


def without_prelude(source: str) -> str:
    """Generated source from its first kernel on, without the prelude."""
    first = next((k for k, row in enumerate(source.splitlines()) if row.startswith('extern "C"')), 0)
    return "\n".join(source.splitlines()[first:])


def without_listings(comparison: dict) -> dict:
    """The report as it is saved: each candidate has its source in place of its listing, which only a page shows."""
    def without_listing(candidate: dict) -> dict:
        listing = candidate.get("listing")
        return {k: v for k, v in candidate.items() if k != "listing"} | {"source": listing and listing["source"]}

    return comparison | {"candidates": [without_listing(candidate) for candidate in comparison["candidates"]]}


def as_csv(comparison: dict) -> str:
    """One line per candidate."""
    out = io.StringIO()
    fields = ["name", "spec", "kind", "state", "message", "us", "us_low", "us_high", "speedup", "share_of_copy", "gb_s", "cpu_overhead_us"]
    writer = csv.DictWriter(out, fields, extrasaction="ignore", lineterminator="\n")
    writer.writeheader()
    for candidate in comparison["candidates"]:
        low, high = candidate.get("us_quartiles", (None, None))
        writer.writerow({**candidate, "us_low": low, "us_high": high})
    return out.getvalue()
