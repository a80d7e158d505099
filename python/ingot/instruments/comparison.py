"""An op's kernel beside others: which are right, which is faster, and why."""

from __future__ import annotations

import dataclasses
import json
import pathlib
import tempfile
import uuid
from typing import Callable

import torch

from ..capture import fail
from . import contenders, report, work
from .explanation import bound, described
from .job import Against, Job
from .subject import Subject
from .supervisor import TIME_LIMIT, supervise

EXIT_OK, EXIT_WRONG, EXIT_BAD_INPUT, EXIT_TOO_SLOW, EXIT_ENVIRONMENT = range(5)


@dataclasses.dataclass
class Comparison:
    """What was found. `found`: all of it as plain data, which `ingot compare --json` prints but for the kernels' stages."""

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

        from .page import drawings

        axes = pyplot.subplots()[1]
        (drawings.sweep if self.found.get("sweep") else drawings.speeds)(axes, self.found)
        axes.set_title(f"{self.found['op']} on {self.found['device']}")
        return axes

    def html(self) -> str:
        """The page: a document that needs nothing beside it."""
        from . import page

        return page.of_comparison(self.found).html()

    def save(self, path: str | pathlib.Path) -> None:
        """Writes the page to a file."""
        pathlib.Path(path).write_text(self.html(), encoding="utf-8")

    def _repr_html_(self) -> str:
        from . import page

        return page.of_comparison(self.found, prefix=uuid.uuid4().hex[:8]).fragment()


def compare(op, against, *args, backward: bool = False, specials: bool = True, as_asked: bool = False, anyway: bool = False,
            warm: bool = False, graph: bool = False, rounds: int = 21, why: bool = True, isolated: bool = True,
            time_limit: float = TIME_LIMIT, **kwargs) -> Comparison:
    """Sets an op beside others, on these arguments: which are right, which is faster, and why; as `ingot compare` does.

    against: what it is compared with, alone, in a list or by name: a word as the command line has it ("kernel.cu:entry",
        "eager", "torch.compile", "module:function"), an `Against` with its launch, or a Python callable that takes what
        the op takes. Kernels are tried in a process of their own; callables run in this one.
    backward: compare the gradient's kernels, with respect to the tensors that require grad, or to all floats where none
        does.
    specials: ask what NaN, infinities and zeros become.
    as_asked: try them on these arguments alone, and not on special values and other layouts.
    anyway: time those that are wrong, too.
    warm: one set of inputs, which caches may hold.
    graph: time calls in a CUDA graph.
    rounds: how often each is sampled.
    why: look at kernels' machine code, too.
    isolated: False for contenders that are trusted: all runs in this process, and no argument is copied to another.
    time_limit: seconds that a step in another process may take.
    Raises `ingot.Error` for arguments that the op does not take; what is wrong with a contender stands in the result.
    """
    if isinstance(against, (str, Against)) or callable(against):
        against = [against]
    named = against if isinstance(against, dict) else {_word(each): each for each in against}
    functions = {name: contenders.PythonFunction(each, name) for name, each in named.items() if _is_function(each)}
    given = [each if isinstance(each, Against) else Against(each, name=name * isinstance(against, dict))
             for name, each in named.items() if not _is_function(each)]
    values = bound(op, args, kwargs)
    tensors = {name: value for name, value in values.items() if isinstance(value, torch.Tensor)}
    device = next((str(value.device) for value in tensors.values()), "cpu")
    options = {"backward": backward, "specials": specials, "as_asked": as_asked, "anyway": anyway, "warm": warm,
               "graph": graph, "rounds": rounds, "why": why}
    if graph and not device.startswith("cuda"):
        raise fail("a CUDA graph is of a GPU, and these arguments are not on one")
    shown = {name: described(value) for name, value in values.items()}
    job = Job(text=op.text, op=op.name, file="", values=shown, against=given, device=device, numerics=op.numerics,
              lazy=op.lazy, leaves=[name for name, tensor in tensors.items() if tensor.requires_grad], **options)
    if not isolated:
        subject = Subject(op, {n: v.detach() if n in tensors else v for n, v in values.items()}, leaves=frozenset(job.leaves))
        done: dict = {}
        work.do(work.Work(job, done, functions, subject.gradient() if backward else subject), lambda *_: None, _leave)
        return Comparison(report.document(job, done, device_name(device)))
    with tempfile.TemporaryDirectory(prefix="ingot-compare-") as folder:
        torch.save({name: value.detach() for name, value in tensors.items()}, f"{folder}/arguments.pt")
        texts = {name: f"{folder}/arguments.pt:{name}" if name in tensors else _as_value(value)
                 for name, value in values.items()}
        job.values = texts
        done = supervise(job, time_limit) if given or not functions else {}
        if functions:
            done = {step: result for step, result in done.items() if step[0] in ("make", "try")}
            work.do(work.Work(job, done, functions), lambda *_: None, _leave)
    job.values = shown
    return Comparison(report.document(job, done, device_name(device)))


def _leave(_: int) -> None:
    raise fail("a contender has broken this process's GPU context",
               "start anew; as module:function it is tried in a process of its own")


def _is_function(each) -> bool:
    return callable(each) and not isinstance(each, (str, Against))


def _word(each) -> str:
    return each if isinstance(each, str) else getattr(each, "word", None) or getattr(each, "__name__", repr(each))


def _as_value(value) -> str:
    if isinstance(value, (list, tuple, dict)):
        raise fail("an argument that is made up of several does not travel to another process", "compare with isolated=False")
    return described(value)


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
