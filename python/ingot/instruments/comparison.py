"""An op's kernel beside others: which are right, which is faster, and why."""

from __future__ import annotations

import dataclasses
import html
import json
import pathlib
import tempfile
from typing import Callable

import torch

from ..capture import fail
from . import contenders, launch, report, work
from .job import Against, Job
from .supervisor import TIME_LIMIT, supervise

EXIT_OK, EXIT_WRONG, EXIT_BAD_INPUT, EXIT_TOO_SLOW, EXIT_ENVIRONMENT = range(5)


@dataclasses.dataclass
class Comparison:
    """What was found. `found`: all of it as plain data, which `ingot compare --json` prints."""

    found: dict

    def __str__(self) -> str:
        return report.text(self.found)

    def __getitem__(self, name: str) -> dict:
        """What was found of a contender, by the name that the table has, or the word that it was asked for by."""
        for contender in self.found["contenders"]:
            if name in (contender["name"], contender["word"]):
                return contender
        raise KeyError(name)

    @property
    def is_right(self) -> bool:
        """Whether nobody was wrong, and nobody failed."""
        return all(c["state"] in (report.RIGHT, report.UNCHECKED) for c in self.found["contenders"])

    def speed_of(self, name: str) -> float | None:
        """A contender's speed as a multiple of Ingot's."""
        return self[name].get("speed")

    def slower_than(self, share: float) -> list[str]:
        """The contenders of whose speed Ingot does not reach so much."""
        return [c["name"] for c in self.found["contenders"][1:] if c.get("speed") and 1 / c["speed"] < share]


    def plot(self):
        """Draws the speeds, or times over sizes where these were swept. Needs matplotlib; gives its axes."""
        from matplotlib import pyplot

        _, axes = pyplot.subplots()
        if sweep := self.found.get("sweep"):
            for contender in self.found["contenders"]:
                word = contender["word"]
                if points := [(p["size"], p["contenders"][word]["us"]) for p in sweep["points"] if word in p["contenders"]]:
                    axes.loglog(*zip(*points), marker="o", label=contender["name"])
            axes.set(xlabel=sweep["name"], ylabel="µs a call", title=self.found["op"])
            axes.legend()
        else:
            timed = [c for c in self.found["contenders"] if "us" in c]
            axes.barh([c["name"] for c in reversed(timed)], [c["share_of_copy"] for c in reversed(timed)])
            axes.set(xlabel="share of a copy's speed", title=f"{self.found['op']} on {self.found['device']}")
        return axes

    def _repr_html_(self) -> str:
        return f"<pre>{html.escape(str(self))}</pre>"


def compare(op, against, *args, backward: bool = False, specials: bool = True, anyway: bool = False, warm: bool = False,
            rounds: int = 21, time_limit: float = TIME_LIMIT, **kwargs) -> Comparison:
    """Sets an op beside others, on these arguments: which are right, which is faster, and why; as `ingot compare` does.

    against: what it is compared with, by name or in a list: a word as the command line has it ("kernel.cu:entry", "eager",
        "torch.compile", "module:function"), an `Against` with its launch, or a Python callable that takes what the op
        takes. Kernels are tried in a process of their own; callables run in this one.
    backward: compare the gradient's kernels.  specials: ask what NaN, infinities and zeros become.  anyway: time those
    that are wrong, too.  warm: one set of inputs, which caches may hold.  rounds: how often each is sampled.
    time_limit: seconds that a step in another process may take.
    Raises `ingot.Error` for arguments that the op does not take; what is wrong with a contender stands in the result.
    """
    named = against if isinstance(against, dict) else {_word(each): each for each in against}
    functions = {name: contenders.PythonFunction(each, name) for name, each in named.items() if _is_function(each)}
    given = [each if isinstance(each, Against) else Against(each, name=name * isinstance(against, dict))
             for name, each in named.items() if not _is_function(each)]
    bound = op.signature.bind(*args, **kwargs)
    tensors = {name: value for name, value in bound.arguments.items() if isinstance(value, torch.Tensor)}
    device = next((str(value.device) for value in tensors.values()), "cpu")
    with tempfile.TemporaryDirectory(prefix="ingot-compare-") as folder:
        torch.save({name: value.detach() for name, value in tensors.items()}, f"{folder}/arguments.pt")
        texts = {name: f"{folder}/arguments.pt:{name}" if name in tensors else _as_value(value)
                 for name, value in bound.arguments.items()}
        job = Job(text=op.text, op=op.name, file="", values=texts, against=given, device=device, numerics=op.numerics,
                  lazy=op.lazy, backward=backward, specials=specials, anyway=anyway, warm=warm, rounds=rounds)
        done = supervise(job, time_limit) if given or not functions else {}
        if functions:
            done = {step: result for step, result in done.items() if step[0] in ("make", "try")}
            work.do(work.Work(job, done, functions), lambda *_: None, _leave)
    job.values = {name: described(value) for name, value in bound.arguments.items()}
    return Comparison(report.document(job, done, device_name(device)))


def _leave(_: int) -> None:
    raise fail("a contender has broken this process's GPU context",
               "start anew; as module:function it is tried in a process of its own")


def _is_function(each) -> bool:
    return callable(each) and not isinstance(each, (str, Against))


def _word(each) -> str:
    return each if isinstance(each, str) else getattr(each, "word", None) or getattr(each, "__name__", repr(each))


def _as_value(value) -> str:
    return "none" if value is None else str(value)


def described(value) -> str:
    """As a command line would have it."""
    if not isinstance(value, torch.Tensor):
        return _as_value(value)
    short = next(name for name, dtype in launch.DTYPES.items() if dtype == value.dtype)
    return f"{short}:{'x'.join(map(str, value.shape))}"


def compare_job(job: Job, time_limit: float = TIME_LIMIT, watch: Callable = lambda step: None) -> Comparison:
    done = supervise(job, time_limit, watch)
    return Comparison(report.document(job, done, device_name(job.device)))


def device_name(device: str) -> str:
    kind = torch.device(device)
    if kind.type == "cuda":
        return torch.cuda.get_device_name(kind)
    return f"{processor()}, {torch.get_num_threads()} threads"


def processor() -> str:
    try:
        for line in pathlib.Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                return " ".join(line.partition(":")[2].split())
    except OSError:
        pass
    return "CPU"


def against_baseline(found: dict, baseline: dict) -> list[str]:
    """What became slower since: by more than the spread of both, as shares of a copy, which both measured."""
    before = {c["word"]: c for c in baseline["contenders"]}
    slower = []
    for now in found["contenders"]:
        then = before.get(now["word"])
        if not then or "share_of_copy" not in now or "share_of_copy" not in then:
            continue
        room = min(0.5, max(0.02, *((c["us_quartiles"][1] - c["us_quartiles"][0]) / c["us"] for c in (now, then))))
        change = now["share_of_copy"] / then["share_of_copy"]
        if change < 1 - room:
            slower.append(f"{now['name']} became slower: {change:.2f} of its speed on {baseline['date'][:10]}, as a share of a "
                          "copy's")
    return slower


def load_baseline(path: pathlib.Path) -> dict:
    return json.loads(path.read_text())
