"""Steps in processes of their own: what hangs is stopped, what crashes takes nobody along, and what breaks a GPU's context
breaks another's.
"""

from __future__ import annotations

import json
import os
import pathlib
import selectors
import signal
import subprocess
import sys
import tempfile
import time
from typing import Callable, Iterator

from ..capture import fail
from .job import Job
from .work import BROKEN_CONTEXT, TAKES_TURNS, Step

TIME_LIMIT = 120.0  # seconds of a step
STARTING = 120.0  # seconds until a process tells of its first step, at least: it reads torch from a disk
MOST_STARTS = 40
A_WHILE = 0.2  # seconds, after which it is looked whether a process is still there
TAIL = 2000  # characters of what a process wrote last


def supervise(job: Job, time_limit: float = TIME_LIMIT, watch: Callable[[Step], None] = lambda step: None) -> dict[Step, dict]:
    """Every step's result; of one that failed, {"error": …}. Raises `ingot.Error` where the op itself is refused."""
    done: dict[Step, dict] = {}
    with tempfile.TemporaryDirectory(prefix="ingot-compare-") as folder:
        path = pathlib.Path(folder)
        job.save(path / "job.json")
        for _ in range(MOST_STARTS):
            (path / "done.json").write_text(json.dumps(list(done.items())))
            if _run(path, done, time_limit, watch):
                return done
    raise fail("the comparison does not come to an end", "too many of its steps break their process")


def _run(folder: pathlib.Path, done: dict[Step, dict], time_limit: float, watch: Callable[[Step], None]) -> bool:
    """One process, as far as it comes. Whether everything is done."""
    reading, writing = os.pipe()
    log = folder / "log"
    with open(log, "wb") as output:
        process = subprocess.Popen([sys.executable, "-P", "-m", "ingot.tools.worker", str(folder), str(writing)],
                                   stdout=output, stderr=output, pass_fds=[writing], start_new_session=True)
    os.close(writing)
    under_way: Step | None = None  # in a race with the name of him whose turn it is
    try:
        for line in _lines(reading, time_limit, process):
            what, step, result = json.loads(line)
            match what:
                case "refused":
                    refused = fail(result["error"])
                    refused.fault = result["fault"]
                    raise refused
                case "finished":  # whatever becomes of the process now, and of what it has started
                    return True
                case "turn":
                    under_way = under_way[: TAKES_TURNS[under_way[0]]] + tuple(step)
                case "begin":
                    under_way = tuple(step)
                    watch(under_way)
                case "end":
                    under_way = None
                    done[tuple(step)] = result
        status = process.wait(time_limit)
    except (TimeoutError, subprocess.TimeoutExpired):
        if under_way is None:
            raise fail("the comparison was stopped: nothing came back from its process for too long",
                       f"--time-limit says how long a step may take, which is {time_limit:g} s") from None
        done[under_way] = {"error": f"did not come back within {time_limit:g} s (--time-limit)"}
        return False
    finally:
        os.close(reading)
        _stop(process)
    if under_way is None:
        if status == BROKEN_CONTEXT:
            return False
        raise fail(f"the comparison's process {_ending(status)}", log.read_text(errors="replace")[-TAIL:])
    done[under_way] = {"error": f"its process {_ending(status)}", "trace": log.read_text(errors="replace")[-TAIL:]}
    return False


def _lines(pipe: int, limit: float, process: subprocess.Popen) -> Iterator[bytes]:
    """The lines that come through a pipe, until it is closed or the process has ended: others may hold the pipe open. Raises
    TimeoutError where one keeps us waiting."""
    selector, waiting = selectors.DefaultSelector(), b""
    selector.register(pipe, selectors.EVENT_READ)
    until = time.monotonic() + max(limit, STARTING)
    while True:
        has_ended = process.poll() is not None  # all that it said is in the pipe
        if not selector.select(0.0 if has_ended else min(A_WHILE, max(0.0, until - time.monotonic()))):
            if has_ended:
                return
            if time.monotonic() > until:
                raise TimeoutError
            continue
        if not (read := os.read(pipe, 1 << 16)):
            return
        *lines, waiting = (waiting + read).split(b"\n")
        for line in lines:
            until = time.monotonic() + limit
            yield line


def _stop(process: subprocess.Popen) -> None:
    """With whatever it started: torch.compile has workers."""
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass
    process.wait()


def _ending(status: int) -> str:
    if status >= 0:
        return f"exited with {status}"
    try:
        return f"was ended by {signal.Signals(-status).name}"
    except ValueError:
        return f"was ended by signal {-status}"
