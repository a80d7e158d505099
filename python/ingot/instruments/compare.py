"""An op's kernel beside others: which are right, which is faster, and why."""

from __future__ import annotations

import dataclasses
import json
import pathlib
from typing import Callable

import torch

from . import report
from .job import Job
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
        room = max(0.02, *((c["us_quartiles"][1] - c["us_quartiles"][0]) / c["us"] for c in (now, then)))
        change = now["share_of_copy"] / then["share_of_copy"]
        if change < 1 - room:
            slower.append(f"{now['name']} became slower: {change:.2f} of its speed on {baseline['date'][:10]}, as a share of a copy's")
    return slower


def load_baseline(path: pathlib.Path) -> dict:
    return json.loads(path.read_text())
