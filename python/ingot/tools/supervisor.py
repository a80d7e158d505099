"""Runs the steps of a comparison in processes of their own. So a candidate that hangs can be stopped, and one that crashes or
breaks the GPU's context does not end the comparison.
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

from ..capture import author_error
from .job import Job
from .steps import BROKEN_CONTEXT, ITEMS_OF_TIMED_STEPS, Step

TIME_LIMIT = 120.0  # seconds per step
START_SECONDS = 120.0  # the time limit until the first step is at least this: importing torch from a disk may take long
MAX_WORKERS = 40  # worker processes that may be started for one comparison
POLL_SECONDS = 0.2  # between two checks that a process is still running
LOG_TAIL = 2000  # characters of the end of a process's output


def supervise(job: Job, time_limit: float = TIME_LIMIT, watch: Callable[[Step], None] = lambda step: None) -> dict[Step, dict]:
    """The result of each step; {"error": …} if it failed. Raises `ingot.Error` if the op itself cannot be compared."""
    step_results: dict[Step, dict] = {}
    with tempfile.TemporaryDirectory(prefix="ingot-compare-") as folder:
        path = pathlib.Path(folder)
        job.save(path / "job.json")
        for _ in range(MAX_WORKERS):
            (path / "done.json").write_text(json.dumps(list(step_results.items())))
            if _run(path, step_results, time_limit, watch):
                return step_results
    raise author_error("the comparison cannot finish", f"its worker process has died {MAX_WORKERS} times")


def _run(folder: pathlib.Path, step_results: dict[Step, dict], time_limit: float, watch: Callable[[Step], None]) -> bool:
    """Runs one process until it ends or is stopped. Returns whether all steps are done."""
    read_end, write_end = os.pipe()
    log = folder / "log"
    with open(log, "wb") as output:
        process = subprocess.Popen([sys.executable, "-P", "-m", "ingot.tools.worker", str(folder), str(write_end)],
                                   stdout=output, stderr=output, pass_fds=[write_end], start_new_session=True)
    os.close(write_end)
    # The current step. While candidates are timed, the name of the current candidate follows the step's own items.
    current_step: Step | None = None
    try:
        for line in _lines(read_end, time_limit, process):
            event, step, result = json.loads(line)
            match event:
                case "refused":
                    error = author_error(result["error"])
                    error.fault = result["fault"]
                    raise error
                case "finished":  # without waiting for the process and those that it has started
                    return True
                case "timing":  # the calls of the named candidate begin; without a name, no candidate is running
                    current_step = current_step[: ITEMS_OF_TIMED_STEPS[current_step[0]]] + tuple(step)
                case "begin":
                    current_step = tuple(step)
                    watch(current_step)
                case "end":
                    current_step = None
                    step_results[tuple(step)] = result
        status = process.wait(time_limit)
    except (TimeoutError, subprocess.TimeoutExpired):
        if current_step is None:
            raise author_error("the comparison was stopped: its process did not answer in time",
                               f"--time-limit is the time limit of a step, now {time_limit:g} s") from None
        step_results[current_step] = {"error": f"did not finish within {time_limit:g} s (--time-limit)"}
        return False
    finally:
        os.close(read_end)
        _stop(process)
    if current_step is None:
        if status == BROKEN_CONTEXT:
            return False
        raise author_error(f"the comparison's process {_ending(status)}", log.read_text(errors="replace")[-LOG_TAIL:])
    step_results[current_step] = {"error": f"its process {_ending(status)}", "trace": log.read_text(errors="replace")[-LOG_TAIL:]}
    return False


def _lines(pipe: int, limit: float, process: subprocess.Popen) -> Iterator[bytes]:
    """Yields the lines from a pipe until it is closed or the process has ended; a child process may keep the pipe open. Raises
    TimeoutError if a line takes too long."""
    selector, partial = selectors.DefaultSelector(), b""
    selector.register(pipe, selectors.EVENT_READ)
    deadline = time.monotonic() + max(limit, START_SECONDS)
    while True:
        has_ended = process.poll() is not None  # then all of its output is in the pipe
        if not selector.select(0.0 if has_ended else min(POLL_SECONDS, max(0.0, deadline - time.monotonic()))):
            if has_ended:
                return
            if time.monotonic() > deadline:
                raise TimeoutError
            continue
        if not (data := os.read(pipe, 1 << 16)):
            return
        *lines, partial = (partial + data).split(b"\n")
        for line in lines:
            deadline = time.monotonic() + limit
            yield line


def _stop(process: subprocess.Popen) -> None:
    """Kills the process and those that it has started, such as torch.compile's workers."""
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass
    process.wait()


def _ending(status: int) -> str:
    if status >= 0:
        return f"exited with status {status}"
    try:
        return f"was killed by {signal.Signals(-status).name}"
    except ValueError:
        return f"was killed by signal {-status}"
