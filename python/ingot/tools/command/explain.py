"""`ingot explain`."""

from __future__ import annotations

import argparse
import json
import pathlib

import torch

from .. import comparison, candidates, explanation
from ..job import read_values
from ..workload import Workload
from .options import VALUES, add_op, op_of, print_output, values_and_sizes, write


def add(commands) -> None:
    parser = commands.add_parser(
        "explain", help="show the stages of an op's compilation", formatter_class=argparse.RawDescriptionHelpFormatter,
        description="Shows the stages of an op's compilation for these arguments: graph, schedule, kernel source, machine code.\n"
                    "Nothing is run, and no GPU is needed.",
        epilog=f"{VALUES}\nExit status: 2 for bad input, 4 if the machine lacks something.")
    add_op(parser)
    parser.add_argument("--backward", action="store_true", help="explain the kernels of the op's gradient instead")
    parser.add_argument("--device", choices=["cuda", "cpu"], default="cuda",
                        help="the device of the kernels (default: cuda, which needs no GPU here)")
    parser.add_argument("--arch", type=int, default=0, metavar="90",
                        help="the GPU architecture: 90 for sm_90; the default is the GPU's, or 90 without a GPU")
    parser.add_argument("--html", type=pathlib.Path, metavar="FILE",
                        help="write a page: the op's source, graph, schedule, kernel source, PTX and machine code side by side")
    parser.add_argument("--json", action="store_true", help="print the whole explanation as JSON")
    parser.set_defaults(run=run)


def run(options) -> int:
    words = list(options.op)
    op, _ = op_of(options, words)
    values, sizes = values_and_sizes(op, [*words, *options.values])
    arch = options.arch or (_gpu_architecture() if options.device == "cuda" else 0)
    workload = Workload(op, read_values(op, values, 0, sizes, shapes_only=True))
    explained = explanation.explain_workload(workload, options.backward, options.device, arch)
    if options.html:
        write(options.html, explained.html())
    if options.json:
        print_output(json.dumps(explained.found, indent=1))
    elif not options.html:
        print_output(str(explained))
    return comparison.EXIT_OK


def _gpu_architecture() -> int:
    """The GPU's architecture; 0 if there is none."""
    return candidates.kernels.architecture_of(0) if torch.cuda.is_available() else 0
