"""The process that does the steps of a comparison:

    python -m ingot.tools.worker FOLDER PIPE

reads job.json and done.json (the results of earlier processes' steps) in the folder, and reports its steps through an
inherited pipe, one per line.
"""

from __future__ import annotations

import ctypes
import json
import os
import pathlib
import signal
import sys

from .job import Job
from .steps import Step, Steps, failure, run_steps


PR_SET_PDEATHSIG = 1  # <sys/prctl.h>


def main(folder: str, pipe: str) -> None:
    # Ends with its parent, so that a kernel that hangs does not stay.
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    path = pathlib.Path(folder)
    step_results = {tuple(step): result for step, result in json.loads((path / "done.json").read_text())}
    with os.fdopen(int(pipe), "w") as out:
        def notify(event: str, step: Step, result: dict | None) -> None:
            out.write(json.dumps([event, step, result]) + "\n")
            out.flush()

        try:
            job = Job.load(path / "job.json")
            sys.path += [folder for folder in job.folders if folder not in sys.path]
            run_steps(Steps(job, step_results), notify)
            notify("finished", (), None)
        except Exception as error:  # an error of the op or its arguments: nothing can be compared
            notify("refused", (), failure(error) | {"fault": getattr(error, "fault", "author")})


if __name__ == "__main__":
    main(*sys.argv[1:])
