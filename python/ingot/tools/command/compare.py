"""`ingot compare`."""

from __future__ import annotations

import argparse
import json
import math
import pathlib
import re
import shlex
import sys

from ...capture import fail
from .. import comparison, candidates, report
from ..job import Against, Job
from ..supervisor import TIME_LIMIT
from ..work import OWN
from .options import (IS_VALUE, VALUES, add_op, clear_progress, device_of, op_of, positive, progress, refuse_unwritable, say, seed,
                      size_of, values_and_sizes, write)


def add(commands) -> None:
    parser = commands.add_parser(
        "compare", help="set an op's kernel beside others", formatter_class=argparse.RawDescriptionHelpFormatter,
        description="Sets an op's kernel beside others: which are right, which is faster, and why.",
        epilog=f"Candidates: {candidates.FORMS}.\n\n{VALUES}\n"
        "A kernel's file says in a comment how it is launched: // launch: grid=ceil(n / 256), block=256, args=x, y, out, n\n\n"
        "Exit status: 1 where a candidate is wrong or failed, 2 for bad input, 3 where --at-least or --baseline is missed,\n"
        "4 where the machine lacks something.")
    add_op(parser)
    parser.add_argument("--against", action=_Against, nargs="+", metavar="CONTENDER", help="what it is compared with")
    parser.add_argument("--launch", action=_OfLast, metavar="LINE",
                        help="how the candidate before it is launched, instead of what its file says")
    parser.add_argument("--options", action=_OfLast, metavar="OPTIONS",
                        help="the compiler's options for the candidate before it, as nvcc takes them")
    parser.add_argument("--backward", action="store_true", help="compare the gradient's kernels")
    parser.add_argument("--device", metavar="DEVICE", help="cuda where there is a GPU, else cpu")
    parser.add_argument("--arch", type=int, default=0, metavar="90", help="of kernels that are only looked at")
    parser.add_argument("--seed", type=seed, default=0, help="of the random tensors")
    parser.add_argument("--threads", type=positive(int), help="of the CPU")
    parser.add_argument("--given-only", action="store_true",
                        help="try them on these arguments alone, and not on special values and other layouts")
    parser.add_argument("--no-specials", action="store_true", help="do not ask what NaN, infinities and zeros become")
    parser.add_argument("--time-incorrect", action="store_true", help="time those that are wrong, too")
    parser.add_argument("--warm", action="store_true", help="one set of inputs, which caches may hold")
    parser.add_argument("--graph", action="store_true", help="time calls in a CUDA graph, which has no host between them")
    parser.add_argument("--ncu", action="store_true", help="ask Nsight Compute what the GPU counts, too")
    parser.add_argument("--rounds", type=positive(int), default=21, help="how often each is sampled")
    parser.add_argument("--sweep", metavar="n=1e3..1e8", help="time them over sizes, powers of ten or n=LOW..HIGH/POINTS")
    parser.add_argument("--time-limit", type=positive(float), default=TIME_LIMIT, metavar="SECONDS",
                        help="of a step; what takes longer is stopped")
    parser.add_argument("--at-least", type=positive(float, or_zero=True), metavar="SHARE",
                        help="exit with 3 where Ingot reaches less of a candidate's speed")
    parser.add_argument("--save", type=pathlib.Path, metavar="FILE", help="keep what was found, as JSON")
    parser.add_argument("--baseline", type=pathlib.Path, metavar="FILE",
                        help="tell what became slower since that was kept, and exit with 3")
    form = parser.add_mutually_exclusive_group()
    form.add_argument("--json", action="store_true", help="print all that was found as JSON")
    form.add_argument("--csv", action="store_true", help="print a line a candidate")
    parser.add_argument("--html", type=pathlib.Path, metavar="FILE",
                        help="write a page: tables, drawings, and every kernel's stages side by side")
    parser.set_defaults(run=run)


class _OfLast(argparse.Action):
    """An option of the candidate that was named last."""

    def __call__(self, parser, options, value, option=None):
        if not options.against:
            parser.error(f"{option} stands behind the --against that it is for")
        against = options.against[-1]
        if self.dest == "launch":
            against.launches.append(value)
            return
        try:
            against.options += shlex.split(value)
        except ValueError as error:
            parser.error(f"{option} {value}: {error}")


class _Against(argparse.Action):
    """Candidates, and values behind them: `--against kernel.cu x=f32:1024`."""

    def __call__(self, parser, options, words, option=None):
        options.against = [*(options.against or []), *(Against(word) for word in words if not IS_VALUE.match(word))]
        options.values = [*getattr(options, "values", []), *(word for word in words if IS_VALUE.match(word))]


def run(options) -> int:
    job = _job(options)
    baseline = _baseline(options.baseline, job)
    for path in filter(None, (options.save, options.html)):
        refuse_unwritable(path)
    found = comparison.compare_job(job, options.time_limit, progress)
    clear_progress()
    kept = report.without_listings(found.found)
    if options.json:
        say(json.dumps(kept, indent=1))
    else:
        say(report.as_csv(found.found) if options.csv else str(found), end="" if options.csv else "\n")
    if options.save:
        write(options.save, json.dumps(kept, indent=1) + "\n")
    if options.html:
        write(options.html, found.html())
    too_slow = [f"{name}: less than {options.at_least:g} of its speed" for name in found.slower_than(options.at_least or 0)]
    if baseline:
        too_slow += comparison.against_baseline(found.found, baseline)
    timed = [c for c in found.found["candidates"] if c.get("speedup") is not None]
    if (baseline or options.at_least) and found.speedup_of(OWN) is None:
        too_slow.append("nothing was timed, so that nothing is known to be fast enough")
    elif options.at_least and len(timed) < 2:
        too_slow.append("nobody was timed beside Ingot, so that nothing is known to be fast enough")
    elif options.at_least:
        too_slow += [f"{name}: not timed, so that nothing is known of its speed" for name in found.untimed()]
    for line in too_slow:
        print(line, file=sys.stderr)
    if not found.is_correct:
        return comparison.EXIT_INCORRECT
    return comparison.EXIT_TOO_SLOW if too_slow else comparison.EXIT_OK


def _job(options) -> Job:
    words = list(options.op)
    op, file = op_of(options, words)
    values, sizes = values_and_sizes(op, [*words, *options.values])
    device = device_of(options.device)
    if options.graph and not device.startswith("cuda"):
        raise fail("a CUDA graph is of a GPU", "leave --graph out, or ask for --device cuda")
    swept, points = _sweep(options.sweep)
    if swept:
        if not any(swept in re.split(dims, value) for value in values.values() for dims in (r"[x,\[\]:@\s]+", r"[,\[\]:@\s]+")):
            raise fail(f"no value has the size `{swept}` that is swept", f"a value names it: x=f32:{swept}")
        sizes.setdefault(swept, points[-1])
    return Job(text=op.text, op=op.name, file=file, values=values, against=options.against or [], device=device,
               numerics=options.numerics, lazy=options.lazy, seed=options.seed, sizes=sizes, swept=swept, points=points,
               backward=options.backward, specials=not options.no_specials, given_only=options.given_only, time_incorrect=options.time_incorrect,
               warm=options.warm, graph=options.graph, ncu=options.ncu, rounds=options.rounds,
               threads=options.threads, architecture=options.arch)


def _sweep(text: str | None) -> tuple[str, list[int]]:
    """`n=1e3..1e8`, `n=1024..1e6/9`: the name, and sizes whose steps are equal factors."""
    if text is None:
        return "", []
    found = re.fullmatch(r"([A-Za-z_]\w*)=([\d.e+]+?)\.\.([\d.e+]+?)(?:/(\d+))?", text)
    low, high = (size_of(found[2]), size_of(found[3])) if found else (None, None)
    if not low or not high or low >= high:
        raise fail(f"`--sweep {text}` is no range of sizes", "it is written n=1e3..1e8, where values name n: x=f32:n")
    count = int(found[4]) if found[4] else max(round(math.log10(high / low)), 1) + 1
    if count < 2:
        raise fail(f"`--sweep {text}` has {count} sizes", "it has two or more: the first and the last are among them")
    factor = (high / low) ** (1 / (count - 1))
    return found[1], list(dict.fromkeys(round(low * factor**k) for k in range(count)))


def _baseline(path: pathlib.Path | None, job: Job) -> dict | None:
    if path is None:
        return None
    try:
        found = comparison.load_baseline(path)
    except (OSError, ValueError) as error:
        raise fail(f"cannot read the baseline {path}: {error}", "it is a file that --save has written") from None
    comparison.refuse_other(job, found)
    return found
