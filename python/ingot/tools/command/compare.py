"""`ingot compare`."""

from __future__ import annotations

import argparse
import json
import math
import pathlib
import re
import shlex
import sys
import textwrap

from ...capture import author_error
from .. import comparison, candidates, report
from ..job import Against, Job
from ..supervisor import TIME_LIMIT
from ..steps import OWN
from .options import (IS_VALUE, VALUES, add_op, add_renamed, check_writable, clear_progress, device_of, op_of, positive_number,
                      print_output, seed, show_step, size_of, values_and_sizes, write)


def add(commands) -> None:
    parser = commands.add_parser(
        "compare", help="compare an op's kernel with others", formatter_class=argparse.RawDescriptionHelpFormatter,
        description="Compares an op's kernel with other candidates: their correctness, their speed, and an explanation.",
        epilog=f"{textwrap.fill(f'Candidates: {candidates.FORMS}.', 118)}\n\n{VALUES}\n"
        "A comment in a kernel's file tells how to launch the kernel: // launch: grid=ceil(n / 256), block=256, args=x, y, out, n\n\n"
        "Exit status: 1 if a candidate is incorrect or failed, 2 for bad input, 3 if --at-least or --baseline is missed,\n"
        "4 if the machine lacks something.")
    add_op(parser)
    parser.add_argument("--against", action=_AddCandidates, nargs="+", metavar="CANDIDATE",
                        help="the candidates to compare with the op: see below")
    parser.add_argument("--launch", action=_CandidateOption, metavar="LINE",
                        help="how the candidate before this option is launched, instead of the launch in its file")
    parser.add_argument("--options", action=_CandidateOption, metavar="OPTIONS",
                        help="the compiler's options for the candidate before this option, as nvcc takes them")
    parser.add_argument("--backward", action="store_true", help="compare the kernels of the op's gradient instead")
    parser.add_argument("--device", metavar="DEVICE", help="cpu, cuda or cuda:N; the default is cuda if there is a GPU, else cpu")
    parser.add_argument("--arch", type=int, default=0, metavar="90",
                        help="the architecture of kernels that are inspected but not run: 90 for sm_90, the default without a GPU")
    parser.add_argument("--seed", type=seed, default=0, metavar="N", help="the seed of the random tensors (default: 0)")
    parser.add_argument("--threads", type=positive_number(int), metavar="N", help="the number of CPU threads")
    parser.add_argument("--given-only", action="store_true",
                        help="check candidates on the given arguments alone, without special values, other sizes and other layouts")
    parser.add_argument("--no-specials", action="store_true",
                        help="do not inject NaN, infinities and other special values into the arguments")
    parser.add_argument("--time-incorrect", action="store_true", help="time candidates that are incorrect, too")
    parser.add_argument("--warm", action="store_true",
                        help="use one set of inputs, which the caches may hold, instead of many sets in turn")
    parser.add_argument("--graph", action="store_true", help="time calls in a CUDA graph: without CPU overhead between them")
    parser.add_argument("--ncu", action="store_true", help="also print hardware counters, which Nsight Compute (ncu) reads")
    parser.add_argument("--rounds", type=positive_number(int), default=21, metavar="N",
                        help="the number of timed samples of each candidate (default: 21)")
    parser.add_argument("--sweep", metavar="n=1e3..1e8",
                        help="also time a range of values of the size n: powers of ten, or n=LOW..HIGH/POINTS")
    parser.add_argument("--time-limit", type=positive_number(float), default=TIME_LIMIT, metavar="SECONDS",
                        help=f"stop a candidate after this time in one step (default: {TIME_LIMIT:g})")
    parser.add_argument("--at-least", type=positive_number(float, or_zero=True), metavar="SHARE",
                        help="exit with status 3 if Ingot reaches less than this fraction of a candidate's speed")
    parser.add_argument("--save", type=pathlib.Path, metavar="FILE", help="save the whole report as JSON, for --baseline")
    parser.add_argument("--baseline", type=pathlib.Path, metavar="FILE",
                        help="print the candidates that are slower than in this saved report, and exit with status 3 if there are any")
    formats = parser.add_mutually_exclusive_group()
    formats.add_argument("--json", action="store_true", help="print the whole report as JSON")
    formats.add_argument("--csv", action="store_true", help="print the table of times as CSV, one line per candidate")
    parser.add_argument("--html", type=pathlib.Path, metavar="FILE",
                        help="write a page with the tables, plots, and the stages of every kernel side by side")
    add_renamed(parser, {"--anyway": "--time-incorrect", "--as-asked": "--given-only"})
    parser.set_defaults(run=run)


class _CandidateOption(argparse.Action):
    """An option of the candidate before it."""

    def __call__(self, parser, options, value, option=None):
        if not options.against:
            parser.error(f"{option} must come after the --against that it is for")
        against = options.against[-1]
        if self.dest == "launch":
            against.launches.append(value)
            return
        try:
            against.options += shlex.split(value)
        except ValueError as error:
            parser.error(f"{option} {value}: {error}")


class _AddCandidates(argparse.Action):
    """Candidates, and values after them: `--against kernel.cu x=f32:1024`."""

    def __call__(self, parser, options, words, option=None):
        options.against = [*(options.against or []), *(Against(word) for word in words if not IS_VALUE.match(word))]
        options.values = [*getattr(options, "values", []), *(word for word in words if IS_VALUE.match(word))]


def run(options) -> int:
    job = _job(options)
    baseline = _baseline(options.baseline, job)
    for path in filter(None, (options.save, options.html)):
        check_writable(path)
    result = comparison.compare_job(job, options.time_limit, show_step)
    clear_progress()
    saved = report.without_listings(result.found)
    if options.json:
        print_output(json.dumps(saved, indent=1))
    else:
        print_output(report.as_csv(result.found) if options.csv else str(result), end="" if options.csv else "\n")
    if options.save:
        write(options.save, json.dumps(saved, indent=1) + "\n")
    if options.html:
        write(options.html, result.html())
    too_slow = [f"Ingot reaches less than {options.at_least:g} of the speed of {name}"
                for name in result.candidates_not_reached(options.at_least or 0)]
    if baseline:
        too_slow += comparison.slower_than_baseline(result.found, baseline)
    timed = [c for c in result.found["candidates"] if c.get("speedup") is not None]
    if (baseline or options.at_least) and result.speedup_of(OWN) is None:
        too_slow.append("no candidate was timed, so Ingot's speed is unknown")
    elif options.at_least and len(timed) < 2:
        too_slow.append("no candidate was timed beside Ingot, so there is no speedup")
    elif options.at_least:
        too_slow += [f"{name}: not timed, so its speed is unknown" for name in result.untimed()]
    for line in too_slow:
        print(line, file=sys.stderr)
    if not result.is_correct:
        return comparison.EXIT_INCORRECT
    return comparison.EXIT_TOO_SLOW if too_slow else comparison.EXIT_OK


def _job(options) -> Job:
    words = list(options.op)
    op, file = op_of(options, words)
    values, sizes = values_and_sizes(op, [*words, *options.values])
    device = device_of(options.device)
    if options.graph and not device.startswith("cuda"):
        raise author_error("a CUDA graph needs a GPU", "leave --graph out, or choose --device cuda")
    sweep_name, sweep_sizes = _sweep(options.sweep)
    if sweep_name:
        separators = r"[x,\[\]:@\s]+", r"[,\[\]:@\s]+"
        if not any(sweep_name in re.split(separator, value) for value in values.values() for separator in separators):
            raise author_error(f"no value has a size named `{sweep_name}`, which --sweep varies",
                               f"name the size in a value: x=f32:{sweep_name}")
        sizes.setdefault(sweep_name, sweep_sizes[-1])
    return Job(text=op.text, op=op.name, file=file, values=values, against=options.against or [], device=device,
               numerics=options.numerics, lazy=options.lazy, seed=options.seed, sizes=sizes, sweep_name=sweep_name,
               sweep_sizes=sweep_sizes, backward=options.backward, specials=not options.no_specials, given_only=options.given_only,
               time_incorrect=options.time_incorrect, warm=options.warm, graph=options.graph, ncu=options.ncu, rounds=options.rounds,
               threads=options.threads, architecture=options.arch)


def _sweep(text: str | None) -> tuple[str, list[int]]:
    """`n=1e3..1e8`, `n=1024..1e6/9`: the name, and sizes in a geometric progression."""
    if text is None:
        return "", []
    match = re.fullmatch(r"([A-Za-z_]\w*)=([\d.e+]+?)\.\.([\d.e+]+?)(?:/(\d+))?", text)
    low, high = (size_of(match[2]), size_of(match[3])) if match else (None, None)
    if not low or not high or low >= high:
        raise author_error(f"`--sweep {text}` is not a range of sizes", "write n=1e3..1e8, where a value uses n: x=f32:n")
    count = int(match[4]) if match[4] else max(round(math.log10(high / low)), 1) + 1
    if count < 2:
        raise author_error(f"`--sweep {text}` has {count} sizes", "a sweep has two or more, its first and last among them")
    factor = (high / low) ** (1 / (count - 1))
    return match[1], list(dict.fromkeys(round(low * factor**k) for k in range(count)))


def _baseline(path: pathlib.Path | None, job: Job) -> dict | None:
    if path is None:
        return None
    try:
        baseline = comparison.load_baseline(path)
    except (OSError, ValueError) as error:
        raise author_error(f"cannot read the baseline {path}: {error}", "name a file that --save has written") from None
    comparison.check_baseline(job, baseline)
    return baseline
