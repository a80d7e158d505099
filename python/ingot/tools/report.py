"""What a comparison found, as a document of plain data that can be kept, and as text and CSV."""

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
from .workload import ASKED, DECISIVE
from .work import LEFT_OUT, OWN, RACE, SWEEP, Step

RIGHT, WRONG, FAILED, UNCHECKED = "right", "wrong", "failed", "unchecked"


def asked(job: Job, device: str) -> dict:
    """What a comparison is of."""
    return {"device": device, "op": job.op, "file": job.file, "text": job.text, "numerics": job.numerics, "lazy": job.lazy,
            "backward": job.backward, "arguments": job.values, "sizes": job.sizes, "seed": job.seed, "graph": job.graph,
            "warm": job.warm}


def document(job: Job, done: dict[Step, dict], device: str) -> dict:
    """Everything that was found, as JSON can hold it. `device`: what the machine calls it."""
    race = done.get(RACE, {})
    names = [OWN, *dict.fromkeys(step[1] for step in done if step[0] == "make")]
    made = {
        "ingot": ingot.__version__, "torch": torch.__version__, "cuda": torch.version.cuda,
        "date": datetime.datetime.now().isoformat(timespec="seconds"), **asked(job, device),
        "bytes": race.get("bytes"), "sets": race.get("sets"), "rounds": race.get("rounds"), "race_error": race.get("error"),
        "peak_flops": race.get("peak_flops"),
        "left_out": {step[1]: result["error"] for step, result in done.items() if step[0] == LEFT_OUT},
        "contenders": [_contender(name, done, job) for name in names],
    }
    if job.points:
        made["sweep"] = {"name": job.swept, "points": [_point(size, done) for size in job.points]}
    if "seconds" in race:
        made["copy_gb_s"] = 2 * COPIED_BYTES[job.device.split(":")[0]] / statistics.median(race["seconds"][COPY]) / 1e9
    made["why"] = diagnosis.differences(made)
    made["how"] = diagnosis.how(made)
    return made


def _contender(name: str, done: dict[Step, dict], job: Job) -> dict:
    make, look, race = (done.get(step, {}) for step in (("make", name), ("look", name), RACE))
    operations = done.get(("look", OWN), {}).get("operations")  # of the formula, whoever computes it
    tried = {step[2]: result for step, result in done.items() if step[0] == "try" and step[1] == name}
    state, message = _state(make, tried)
    if state == RIGHT:
        points = [((SWEEP, str(size)), f"at {job.swept}={size}: ") for size in job.points]
        late = (_state_late(name, step, where, done) for step, where in [(RACE, ""), *points])
        state, message = next(filter(None, late), (state, message))
    found = {"name": make.get("name", name), "word": name, "kind": make.get("kind", "ingot" if name == OWN else ""),
             "state": state, "message": message, "cases": tried, "limits": _limits(tried),
             "warnings": make.get("warnings", ""), "kernels": look.get("kernels"), "launched": look.get("launched"),
             "counted": done.get(("count", name), {}).get("kernels"), "count_error": done.get(("count", name), {}).get("error"),
             "operations": operations, "unjudged": race.get("unjudged", {}).get(name), "look_error": look.get("error"), "listing": look.get("listing")}
    if name in race.get("seconds", {}):
        found |= _times(name, race)
    return found


def _state_late(name: str, step: Step, where: str, done: dict[Step, dict]) -> tuple[str, str] | None:
    """Of one who was right until he was timed."""
    if error := done.get((*step, name), {}).get("error"):
        return FAILED, f"{where}while it was timed: {error}"
    if wrong := done.get(step, {}).get("wrong", {}).get(name):
        return WRONG, where + wrong
    return None


def _point(size: int, done: dict[Step, dict]) -> dict:
    race = done.get((SWEEP, str(size)), {})
    names = [name for name in race.get("seconds", {}) if name != COPY]
    return {"size": size, "bytes": race.get("bytes"), "error": race.get("error"),
            "contenders": {name: _times(name, race) for name in names}}


def _state(make: dict, tried: dict) -> tuple[str, str]:
    if "error" in make:
        return FAILED, make["error"]
    if make.get("why_not"):
        return UNCHECKED, make["why_not"]
    for case in DECISIVE:
        result = tried.get(case, {})
        where = "" if case == ASKED else f"on {case}: "
        if "error" in result:
            return FAILED, where + result["error"]
        if result and not result["right"]:
            return WRONG, where + result["message"]
    if ASKED not in tried:
        return FAILED, "it was not tried"
    other = next((case for case in DECISIVE if case in tried and not tried[case]["bit_for_bit"]), ASKED)
    return RIGHT, tried[other]["message"] + ("" if other == ASKED else f" on {other}")


def _limits(tried: dict) -> list[str]:
    """Where it is not right beside what was asked for."""
    return [f"{case}: {result.get('error') or result['message']}" for case, result in tried.items()
            if case not in DECISIVE and not result.get("right")]


def _times(name: str, race: dict) -> dict:
    seconds, host = race["seconds"][name], race["host_seconds"][name]
    low, median, high = statistics.quantiles(seconds, n=4, method="inclusive") if len(seconds) > 1 else seconds * 3
    copied = COPIED_BYTES["cuda" if host is not None else "cpu"]
    # What a copy of as many bytes would take: half of those it moves are read.
    share = statistics.median(c * race["bytes"] / (2 * copied) / s for c, s in zip(race["seconds"][COPY], seconds))
    found = {"us": median * 1e6, "us_quartiles": [low * 1e6, high * 1e6], "host_us": None if host is None else host * 1e6,
             "gb_s": race["bytes"] / median / 1e9, "share_of_copy": share}
    if OWN in race["seconds"]:
        found["speed"] = statistics.median(mine / s for mine, s in zip(race["seconds"][OWN], seconds))
    return found


# --- Text -----------------------------------------------------------------------------------------------------------

Cells = tuple[list[str], list[list[str]]]  # a header, and rows


def heading(found: dict) -> str:
    arguments = ", ".join(f"{name}: {value}" for name, value in {**found["arguments"], **found["sizes"]}.items())
    what = f"the gradient of {found['op']}" if found["backward"] else found["op"]
    return f"{what}({arguments}) on {found['device']}"


def text(found: dict) -> str:
    parts = [heading(found), table(*timed(found))]
    parts += [said for contender in found["contenders"] if (said := "\n".join(remarks(contender)))]
    for header, rows in (kernels(found["contenders"]), counted(found)):
        if rows:
            parts.append(table(header, rows))
    if found.get("sweep") and len(curve(found)[0]) > 1:
        parts.append(table(*curve(found)))
    if lacking(found):
        parts.append("\n".join(lacking(found)))
    if found["why"]:
        parts.append("\n".join(found["why"]))
    parts.append("\n".join(found["how"]))
    return "\n\n".join(parts)


def timed(found: dict) -> Cells:
    """A row a contender."""
    on_gpu = any(c.get("host_us") is not None for c in found["contenders"])
    header = ["", "numbers", "time", "± %", "speed", "of a copy"] + ["host"] * on_gpu
    rows = [[c["name"], _judged(c), duration(c.get("us")), spread(c), ratio(c.get("speed")), ratio(c.get("share_of_copy"))] +
            [duration(c.get("host_us"))] * on_gpu for c in found["contenders"]]
    return header, rows


def _judged(contender: dict) -> str:
    """In a word or two; of who is wrong the rest stands below the table."""
    state = contender["state"]
    return contender["message"] if state == RIGHT else state.upper() if state in (WRONG, FAILED) else state


def curve(found: dict) -> Cells:
    """Times over sizes; behind each other one's the speed, as a multiple of Ingot's."""
    swept = [c for c in found["contenders"] if any(c["word"] in p["contenders"] for p in found["sweep"]["points"])]
    rows = []
    for point in found["sweep"]["points"]:
        cells = [point["contenders"].get(c["word"], {}) for c in swept]
        rows.append([str(point["size"]), *(duration(t.get("us")) + (f" ({t['speed']:.2f})" if t.get("speed") and k else "")
                                           for k, t in enumerate(cells))])
    return [found["sweep"]["name"], *(c["name"] for c in swept)], rows


def remarks(contender: dict) -> list[str]:
    """What has no room in a table: what is wrong, and where else."""
    lines = []
    if contender["state"] != RIGHT and contender["message"]:
        lines.append(f"{contender['name']}: {contender['state']}, {contender['message']}")
        worst = next((r["worst"] for r in contender["cases"].values() if r.get("worst") and not r["right"]), None)
        if worst and worst["inputs"]:
            lines.append(f"  there {', '.join(f'{n} = {v}' for n, v in worst['inputs'].items())}; float64 {worst['float64']}")
    if contender["state"] == RIGHT:
        lines += [f"{contender['name']}: right as asked, not with {limit}" for limit in contender["limits"]]
    return lines


def kernels(contenders: list[dict]) -> Cells:
    """A row a kernel whose machine code is known."""
    header = ["kernel", "registers", "spilled", "shared", "threads", "occupancy", "instructions", "loads", "stores", "branches",
              "compiled"]
    rows = [[f"{c['name']}: {k['kernel']}" if len(c["kernels"]) > 1 else c["name"], k["registers"], k["local_bytes"],
             k["shared_bytes"], k["threads"], ratio(k["occupancy"]), k["instructions"], widths(k["load_widths"]),
             widths(k["store_widths"]), k["branches"], f"{k['compile_ms']:.0f} ms"]
            for c in contenders for k in c["kernels"] or ()]
    return header, [["" if cell is None else str(cell) for cell in row] for row in rows]


def counted(found: dict) -> Cells:
    """What ncu counted."""
    header = ["counted", "time", "read", "written", "L2 hits", "warps active", "memory busy", "arithmetic busy"]
    rows = [[f"{c['name']}: {k['name']}", duration(k["us"]), megabytes(k["bytes_read"]), megabytes(k["bytes_written"]),
             *(ratio(k[name]) for name in ("l2_hit_rate", "warps_active", "memory_busy", "arithmetic_busy"))]
            for c in found["contenders"] for k in c["counted"] or ()]
    return header, rows


def lacking(found: dict) -> list[str]:
    """What is not known though it was asked for, and why."""
    contenders, sweep = found["contenders"], found.get("sweep") or {"points": ()}
    untimed = [("", found["race_error"])] + [(f" at {sweep['name']}={p['size']}", p["error"]) for p in sweep["points"]]
    lines = [f"nobody was tried on {case}: {why}" for case, why in found["left_out"].items()]
    lines += [f"nothing was timed{where}: {why}" for where, why in untimed if why]
    lines += [f"{c['name']} was not judged after it was timed: {c['unjudged']}" for c in contenders if c["unjudged"]]
    lines += [f"{c['name']} was not looked at: {c['look_error']}" for c in contenders if c["look_error"]]
    missing = dict.fromkeys(c["count_error"].splitlines()[0] for c in contenders if c["count_error"])
    return lines + [f"not counted: {why}" for why in missing]


def megabytes(count: float | None) -> str:
    return "-" if count is None else f"{count / 1e6:.4g} MB"


def widths(found: dict) -> str:
    """`2 × 16 B, 8 × 4 B`."""
    return ", ".join(f"{count} × {width} B" for width, count in sorted(found.items(), key=lambda item: -int(item[0])))


def table(header: list[str], rows: list[list[str]]) -> str:
    cells = [header, *rows]
    wide = [max(len(row[k]) for row in cells) for k in range(len(header))]
    left = [k == 0 or header[k] == "numbers" for k in range(len(header))]
    return "\n".join("  ".join(c.ljust(w) if l else c.rjust(w) for c, w, l in zip(row, wide, left)).rstrip() for row in cells)


def duration(microseconds: float | None) -> str:
    if microseconds is None:
        return "-"
    for unit, size in (("s", 1e6), ("ms", 1e3)):
        if microseconds >= size:
            return f"{microseconds / size:.3g} {unit}"
    return f"{microseconds:.3g} µs"


def spread(contender: dict) -> str:
    if "us" not in contender:
        return "-"
    low, high = contender["us_quartiles"]
    return f"{50 * (high - low) / contender['us']:.1f}"


def ratio(value: float | None) -> str:
    return "-" if value is None else f"{value:.2f}"


def without_prelude(source: str) -> str:
    """Generated source from its first kernel on."""
    first = next((k for k, row in enumerate(source.splitlines()) if row.startswith('extern "C"')), 0)
    return "\n".join(source.splitlines()[first:])


def without_listings(found: dict) -> dict:
    """To be kept: of the stages, which are for a page, only the sources."""
    def kept(contender: dict) -> dict:
        listing = contender.get("listing")
        return {k: v for k, v in contender.items() if k != "listing"} | {"source": listing and listing["source"]}

    return found | {"contenders": [kept(contender) for contender in found["contenders"]]}


def as_csv(found: dict) -> str:
    """A line a contender."""
    out = io.StringIO()
    fields = ["name", "word", "kind", "state", "message", "us", "us_low", "us_high", "speed", "share_of_copy", "gb_s", "host_us"]
    writer = csv.DictWriter(out, fields, extrasaction="ignore", lineterminator="\n")
    writer.writeheader()
    for contender in found["contenders"]:
        low, high = contender.get("us_quartiles", (None, None))
        writer.writerow({**contender, "us_low": low, "us_high": high})
    return out.getvalue()
