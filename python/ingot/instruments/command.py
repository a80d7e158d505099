"""The command line of the instruments."""

from __future__ import annotations

import argparse
import json
import math
import os
import pathlib
import re
import shlex
import signal
import sys

import torch

import ingot

from ..capture import fail
from . import comparison, contenders, explanation, report, verification
from .job import Against, Job, promised_in, read_values
from .subject import Subject
from .supervisor import TIME_LIMIT
from .work import OWN

VALUES = """\
Values: f32:1024x4 or f32[1024,4] (random; f16 bf16 f32 f64 u8 i8 i16 i32 i64 bool), f32:nx4 with n=1e6, i64:8@0..50 (a
range), f32:64x64:t (transposed memory), saved.pt, saved.pt:key, a number, true, false, none.
"""


def main(arguments: list[str] | None = None) -> int:
    """Runs a command; gives its exit status."""
    parser = argparse.ArgumentParser(prog="ingot", description="Ingot's instruments.")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    _add_compare(commands)
    _add_explain(commands)
    _add_verify(commands)
    for stream in (sys.stdout, sys.stderr):  # a terminal of few characters is no reason to fail
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")
    options, rest = parser.parse_known_args(arguments)
    if unknown := [word for word in rest if not _VALUE.match(word)]:
        parser.error(f"unrecognized arguments: {' '.join(unknown)}")
    options.values = [*getattr(options, "values", []), *rest]
    try:
        status = options.run(options)
        sys.stdout.flush()
        return status
    except ingot.Error as error:
        print(error, file=sys.stderr)
        return comparison.EXIT_ENVIRONMENT if getattr(error, "fault", "") == "environment" else comparison.EXIT_BAD_INPUT
    except BrokenPipeError:  # whoever read has seen enough; Python flushes once more as it ends
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return EXIT_OF_A_SIGNAL + signal.SIGPIPE
    except KeyboardInterrupt:
        return EXIT_OF_A_SIGNAL + signal.SIGINT


EXIT_OF_A_SIGNAL = 128  # as a shell has it
_IS_PROGRAM = re.compile(r"^\s*(import|from) ingot\b", re.MULTILINE)  # whose ops are found by running it
_VALUE = re.compile(r"[A-Za-z_]\w*=")


class _OfLast(argparse.Action):
    """An option of the contender that was named last."""

    def __call__(self, parser, options, value, option=None):
        if not options.against:
            parser.error(f"{option} stands behind the --against that it is for")
        against = options.against[-1]
        if self.dest == "launch":
            against.launches.append(value)
        else:
            against.options += shlex.split(value)


class _Against(argparse.Action):
    """Contenders, and values behind them: `--against kernel.cu x=f32:1024`."""

    def __call__(self, parser, options, words, option=None):
        options.against = [*(options.against or []), *(Against(word) for word in words if not _VALUE.match(word))]
        options.values = [*getattr(options, "values", []), *(word for word in words if _VALUE.match(word))]


def _add_compare(commands) -> None:
    parser = commands.add_parser(
        "compare", help="set an op's kernel beside others", formatter_class=argparse.RawDescriptionHelpFormatter,
        description="Sets an op's kernel beside others: which are right, which is faster, and why.",
        epilog=f"Contenders: {contenders.FORMS}.\n\n{VALUES}\n"
        "A kernel's file says in a comment how it is launched: // launch: grid=ceil(n / 256), block=256, args=x, y, out, n\n\n"
        "Exit status: 1 where a contender is wrong or failed, 2 for bad input, 3 where --at-least or --baseline is missed,\n"
        "4 where the machine lacks something.")
    parser.add_argument("op", nargs="*", metavar="FILE[:op] name=value", help="the op, then a value for each of its parameters")
    parser.add_argument("-e", "--expression", metavar="TEXT", help="an expression instead of a file")
    parser.add_argument("--against", action=_Against, nargs="+", metavar="CONTENDER", help="what it is compared with")
    parser.add_argument("--launch", action=_OfLast, metavar="LINE",
                        help="how the contender before it is launched, instead of what its file says")
    parser.add_argument("--options", action=_OfLast, metavar="OPTIONS",
                        help="the compiler's options for the contender before it, as nvcc takes them")
    parser.add_argument("--backward", action="store_true", help="compare the gradient's kernels")
    parser.add_argument("--numerics", choices=["default", "eager", "fast"], default="default")
    parser.add_argument("--lazy", choices=["auto", "always", "never"], default="auto")
    parser.add_argument("--device", metavar="DEVICE", help="cuda where there is a GPU, else cpu")
    parser.add_argument("--arch", type=int, default=0, metavar="90", help="of kernels that are only looked at")
    parser.add_argument("--seed", type=int, default=0, help="of the random tensors")
    parser.add_argument("--threads", type=_positive(int), help="of the CPU")
    parser.add_argument("--as-asked", action="store_true",
                        help="try them on these arguments alone, and not on special values and other layouts")
    parser.add_argument("--no-specials", action="store_true", help="do not ask what NaN, infinities and zeros become")
    parser.add_argument("--anyway", action="store_true", help="time those that are wrong, too")
    parser.add_argument("--warm", action="store_true", help="one set of inputs, which caches may hold")
    parser.add_argument("--graph", action="store_true", help="time calls in a CUDA graph, which has no host between them")
    parser.add_argument("--ncu", action="store_true", help="ask Nsight Compute what the GPU counts, too")
    parser.add_argument("--rounds", type=_positive(int), default=21, help="how often each is sampled")
    parser.add_argument("--sweep", metavar="n=1e3..1e8", help="time them over sizes, powers of ten or n=LOW..HIGH/POINTS")
    parser.add_argument("--time-limit", type=_positive(float), default=TIME_LIMIT, metavar="SECONDS",
                        help="of a step; what takes longer is stopped")
    parser.add_argument("--at-least", type=_positive(float), metavar="SHARE",
                        help="exit with 3 where Ingot reaches less of a contender's speed")
    parser.add_argument("--save", type=pathlib.Path, metavar="FILE", help="keep what was found, as JSON")
    parser.add_argument("--baseline", type=pathlib.Path, metavar="FILE",
                        help="tell what became slower since that was kept, and exit with 3")
    form = parser.add_mutually_exclusive_group()
    form.add_argument("--json", action="store_true", help="print all that was found as JSON")
    form.add_argument("--csv", action="store_true", help="print a line a contender")
    parser.add_argument("--html", type=pathlib.Path, metavar="FILE",
                        help="write a page: tables, drawings, and every kernel's stages side by side")
    parser.set_defaults(run=_compare)


def _compare(options) -> int:
    job = _job(options)
    baseline = _baseline(options.baseline, job)
    for path in filter(None, (options.save, options.html)):
        _refuse_unwritable(path)
    found = comparison.compare_job(job, options.time_limit, _progress)
    _clear_progress()
    kept = report.without_listings(found.found)
    if options.json:
        print(json.dumps(kept, indent=1))
    else:
        print(report.as_csv(found.found) if options.csv else found, end="" if options.csv else "\n")
    if options.save:
        _write(options.save, json.dumps(kept, indent=1) + "\n")
    if options.html:
        _write(options.html, found.html())
    too_slow = [f"{name}: less than {options.at_least:g} of its speed" for name in found.slower_than(options.at_least or 0)]
    if baseline:
        too_slow += comparison.against_baseline(found.found, baseline)
    if (baseline or options.at_least) and found.speed_of(OWN) is None:
        too_slow.append("nothing was timed, so that nothing is known to be fast enough")
    for line in too_slow:
        print(line, file=sys.stderr)
    if not found.is_right:
        return comparison.EXIT_WRONG
    return comparison.EXIT_TOO_SLOW if too_slow else comparison.EXIT_OK


def _add_explain(commands) -> None:
    parser = commands.add_parser(
        "explain", help="show what an op becomes", formatter_class=argparse.RawDescriptionHelpFormatter,
        description="Shows what an op becomes for some arguments, stage by stage. Nothing is run, and no GPU is needed.",
        epilog=f"{VALUES}\nExit status: 2 for bad input, 4 where the machine lacks something.")
    parser.add_argument("op", nargs="*", metavar="FILE[:op] name=value", help="the op, then a value for each of its parameters")
    parser.add_argument("-e", "--expression", metavar="TEXT", help="an expression instead of a file")
    parser.add_argument("--backward", action="store_true", help="the kernels of its gradient instead")
    parser.add_argument("--numerics", choices=["default", "eager", "fast"], default="default")
    parser.add_argument("--lazy", choices=["auto", "always", "never"], default="auto")
    parser.add_argument("--device", choices=["cuda", "cpu"], default="cuda", help="cuda needs no GPU here")
    parser.add_argument("--arch", type=int, default=0, metavar="90", help="90 for sm_90: that of the GPU, or 90 without one")
    parser.add_argument("--html", type=pathlib.Path, metavar="FILE",
                        help="write a page: text, graph, schedule, source, PTX and machine code side by side")
    parser.add_argument("--json", action="store_true", help="print all of it as JSON")
    parser.set_defaults(run=_explain)


def _explain(options) -> int:
    words = list(options.op)
    op, _ = _op(options, words)
    values, sizes = _values_and_sizes(op, [*words, *options.values])
    arch = options.arch or (_architecture_here() if options.device == "cuda" else 0)
    subject = Subject(op, read_values(op, values, 0, sizes, shapes_alone=True))
    found = explanation.explain_subject(subject, options.backward, options.device, arch)
    if options.html:
        _write(options.html, found.html())
    if options.json:
        print(json.dumps(found.found, indent=1))
    elif not options.html:
        print(found)
    return comparison.EXIT_OK


def _architecture_here() -> int:
    """Of the GPU; 0 where there is none."""
    return contenders.kernels.architecture_of(0) if torch.cuda.is_available() else 0


def _add_verify(commands) -> None:
    parser = commands.add_parser(
        "verify", help="try an op on every input", formatter_class=argparse.RawDescriptionHelpFormatter,
        description="Tries an op beside eager PyTorch and float64: a function of one number on every input, one of two on very\n"
        "many, and any op on random arguments of every dtype and layout, with its gradient.",
        epilog=f"{VALUES}\nExit status: 1 where something is wrong, 2 for bad input, 4 where the machine lacks something.")
    parser.add_argument("op", nargs="*", metavar="FILE[:op] name=value | NAME", help="an op, or names of the language")
    parser.add_argument("-e", "--expression", metavar="TEXT", help="an expression instead")
    parser.add_argument("--dtype", type=lambda names: tuple(names.split(",")),
                        help="f16,bf16,f32 where nothing is said; of " + ",".join(verification.DTYPES))
    parser.add_argument("--pairs", type=_count, default=verification.PAIRS, metavar="N",
                        help="that a function of two numbers is tried on")
    parser.add_argument("--numerics", choices=["default", "eager", "fast"], default="default")
    parser.add_argument("--lazy", choices=["auto", "always", "never"], default="auto")
    parser.add_argument("--device", metavar="DEVICE", help="cuda where there is a GPU, else cpu")
    parser.add_argument("--seed", type=int, default=0, help="of what is random")
    parser.add_argument("--json", action="store_true", help="print all that was found as JSON")
    parser.set_defaults(run=_verify)


def _positive(kind: type):
    """A type of argparse: a number above 0."""

    def read(text: str):
        try:
            value = kind(text)
        except ValueError:
            value = None
        if value is None or not 0 < value < math.inf:
            raise argparse.ArgumentTypeError(f"`{text}` is no {'whole ' * (kind is int)}number above 0")
        return value

    return read


def _count(text: str) -> int:
    if (count := _size(text)) is None:
        raise argparse.ArgumentTypeError(f"`{text}` is no number")
    return count


def _verify(options) -> int:
    if unknown := [d for d in options.dtype or () if d not in verification.DTYPES]:
        raise fail(f"there is no dtype `{unknown[0]}` to verify", f"there are {', '.join(verification.DTYPES)}")
    found, device = [], _device(options.device)
    for op, values, promised in _verified(options):
        found.append(verification.verify(op, values, options.dtype, device, options.pairs, options.seed, _share, promised))
        _clear_progress()
        if not options.json:
            print(verification.text(found[-1]), flush=True)
    if options.json:
        print(json.dumps([each.as_json() for each in found], indent=1))
    return comparison.EXIT_OK if all(each.is_right for each in found) else comparison.EXIT_WRONG


def _verified(options):
    """The ops that are asked for, with the arguments of one that was given any, and which of them stay what they are."""
    words = list(options.op)
    chosen = {"numerics": options.numerics, "lazy": options.lazy}
    is_file = options.expression is not None or (words and pathlib.Path(_file_and_name(words[0])[0]).suffix == ".py")
    if not is_file:
        if not words:
            raise fail("there is nothing to verify", "name functions of the language, a FILE[:op], or an expression with -e")
        if values := [word for word in [*words, *options.values] if _VALUE.match(word)]:
            raise fail(f"`{values[0]}` is for an op, and {words[0]} is a name", f'say it whole: -e "{words[0]}(x)" {values[0]}')
        yield from ((ingot.op(verification.text_of_name(name), **chosen), None, []) for name in words)
        return
    op, _ = _op(options, words)
    values, sizes = _values_and_sizes(op, [*words, *options.values])
    yield op, read_values(op, values, options.seed, sizes) if values else None, promised_in(values)


def _share(what: str, share: float) -> None:
    if sys.stderr.isatty():
        print(f"\r\033[K{what} {share:.0%}", end="", file=sys.stderr, flush=True)


def _op(options, words: list[str]):
    """The op that is asked for, and its file; the word that names it is taken from the front of the words."""
    chosen = {"numerics": options.numerics, "lazy": options.lazy}
    if options.expression is not None:
        return ingot.op(options.expression, **chosen), ""
    if not words:
        raise fail("there is no op", "name a FILE[:op], or give an expression with -e")
    file, name = _file_and_name(words.pop(0))
    text = _read(file)
    if not _IS_PROGRAM.search(text):
        return ingot.op(text, name=name or None, **chosen), file
    if not name:
        raise fail(f"{file} is a Python program", f"name the op in it: {file}:op")
    found = contenders.PythonFunction.named(file, name).function
    if not isinstance(found, ingot.Op):
        raise fail(f"`{name}` of {file} is no op of Ingot's", "it is a function under @ingot.op")
    return ingot.op(found.text, name=found.name, **chosen), file


def _job(options) -> Job:
    words = list(options.op)
    op, file = _op(options, words)
    values, sizes = _values_and_sizes(op, [*words, *options.values])
    device = _device(options.device)
    if options.graph and not device.startswith("cuda"):
        raise fail("a CUDA graph is of a GPU", "leave --graph out, or ask for --device cuda")
    swept, points = _sweep(options.sweep)
    if swept:
        if not any(swept in re.split(dims, value) for value in values.values() for dims in (r"[x,\[\]:@]", r"[,\[\]:@]")):
            raise fail(f"no value has the size `{swept}` that is swept", f"a value names it: x=f32:{swept}")
        sizes.setdefault(swept, points[-1])
    return Job(text=op.text, op=op.name, file=file, values=values, against=options.against or [], device=device,
               numerics=options.numerics, lazy=options.lazy, seed=options.seed, sizes=sizes, swept=swept, points=points,
               backward=options.backward, specials=not options.no_specials, as_asked=options.as_asked, anyway=options.anyway,
               warm=options.warm, graph=options.graph, ncu=options.ncu, rounds=options.rounds,
               threads=options.threads, architecture=options.arch)


def _values_and_sizes(op, words: list[str]) -> tuple[dict[str, str], dict[str, int]]:
    """What is said of the op's parameters, and of names that stand for sizes."""
    values, sizes = {}, {}
    for word in words:
        key, equals, value = word.partition("=")
        if not equals:
            raise fail(f"`{word}` is not name=value", "say which parameter it is for; contenders stand behind --against")
        if key in values or key in sizes:
            raise fail(f"`{key}` is given twice", "give each parameter once")
        if key not in op.signature.parameters and (size := _size(value)) is not None:
            sizes[key] = size
        else:
            values[key] = value
    return values, sizes


def _sweep(text: str | None) -> tuple[str, list[int]]:
    """`n=1e3..1e8`, `n=1024..1e6/9`: the name, and sizes whose steps are equal factors."""
    if text is None:
        return "", []
    found = re.fullmatch(r"([A-Za-z_]\w*)=([\d.e+]+?)\.\.([\d.e+]+?)(?:/(\d+))?", text)
    low, high = (_size(found[2]), _size(found[3])) if found else (None, None)
    if not low or not high or low >= high:
        raise fail(f"`--sweep {text}` is no range of sizes", "it is written n=1e3..1e8, where values name n: x=f32:n")
    count = int(found[4]) if found[4] else round(math.log10(high / low)) + 1
    factor = (high / low) ** (1 / max(count - 1, 1))
    return found[1], [round(low * factor**k) for k in range(max(count, 2))]


def _size(text: str) -> int | None:
    """`1048576` or `1e6`."""
    try:
        value = float(text)
    except ValueError:
        return None
    return int(value) if value == int(value) and value >= 0 else None


def _file_and_name(word: str) -> tuple[str, str]:
    file, colon, name = word.rpartition(":")
    return (word, "") if not colon or pathlib.Path(word).exists() else (file, name)


def _read(file: str) -> str:
    try:
        return pathlib.Path(file).read_text(encoding="utf-8-sig")
    except UnicodeDecodeError:
        raise fail(f"`{file}` is no text in UTF-8", "save it as UTF-8") from None
    except IsADirectoryError:
        raise fail(f"`{file}` is a folder", "name a file in it") from None
    except OSError:
        raise fail(f"there is no file `{file}` to read", "an expression is given with -e") from None


def _write(path: pathlib.Path, text: str) -> None:
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise fail(f"cannot write `{path}`: {error.strerror}", "name a file in a folder that is there") from None


def _device(name: str | None) -> str:
    if name is None:
        return "cuda:0" if torch.cuda.is_available() else "cpu"
    if not re.fullmatch(r"cpu|cuda(:\d+)?", name):
        raise fail(f"there is no device {name}", "the devices are cpu, cuda and cuda:N")
    if name.startswith("cuda"):
        count, index = torch.cuda.device_count(), int(name.partition(":")[2] or 0)
        if index >= count:
            error = fail(f"there is no device {name}", f"the machine has {count} CUDA devices")
            error.fault = "environment"
            raise error
        return f"cuda:{index}"
    return name


def _refuse_unwritable(path: pathlib.Path) -> None:
    """Before anything is measured."""
    if path.is_dir() or not path.absolute().parent.is_dir():
        raise fail(f"cannot write `{path}`: {'it is a folder' if path.is_dir() else 'there is no such folder'}",
                   "name a file in a folder that is there")


def _baseline(path: pathlib.Path | None, job: Job) -> dict | None:
    if path is None:
        return None
    try:
        found = comparison.load_baseline(path)
    except (OSError, ValueError) as error:
        raise fail(f"cannot read the baseline {path}: {error}", "it is a file that --save has written") from None
    comparison.refuse_other(job, found)
    return found


def _progress(step: tuple[str, ...]) -> None:
    if sys.stderr.isatty():
        print(f"\r\033[K{' '.join(step)} …", end="", file=sys.stderr, flush=True)


def _clear_progress() -> None:
    if sys.stderr.isatty():
        print("\r\033[K", end="", file=sys.stderr, flush=True)
