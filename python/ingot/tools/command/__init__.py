"""The command line of the tools."""

from __future__ import annotations

import argparse
import os
import signal
import sys
import traceback

import ingot

from ..comparison import EXIT_BAD_INPUT, EXIT_ENVIRONMENT
from . import compare, explain, verify
from .options import IS_VALUE

TEXTS = ("-e", "--expression", "--options")  # options whose value may begin with a dash
EXIT_OF_A_SIGNAL = 128  # plus the signal's number, as shells do


def _joined(arguments: list[str]) -> list[str]:
    """Joins each such option with its value into one word."""
    joined: list[str] = []
    for word in arguments:
        if joined and joined[-1] in TEXTS:
            joined[-1] += f"={word}"
        else:
            joined.append(word)
    return joined


def main(arguments: list[str] | None = None) -> int:
    """Runs a command and returns its exit status."""
    parser = argparse.ArgumentParser(prog="ingot", description="Ingot's tools.")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    for each in (compare, explain, verify):
        each.add(commands)
    for stream in (sys.stdout, sys.stderr):  # a terminal may not support all characters
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")
    options, rest = parser.parse_known_args(_joined(sys.argv[1:] if arguments is None else arguments))
    if unknown := [word for word in rest if not IS_VALUE.match(word)]:
        parser.error(f"unrecognized arguments: {' '.join(unknown)}")
    options.values = [*getattr(options, "values", []), *rest]
    try:
        return options.run(options)
    except ingot.Error as error:
        print(error, file=sys.stderr)
        return EXIT_ENVIRONMENT if getattr(error, "fault", "") == "environment" else EXIT_BAD_INPUT
    except BrokenPipeError:  # the reader has closed the pipe; Python flushes it once more at exit
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return EXIT_OF_A_SIGNAL + signal.SIGPIPE
    except KeyboardInterrupt:
        return EXIT_OF_A_SIGNAL + signal.SIGINT
    except Exception:  # a defect of Ingot, not an incorrect candidate
        traceback.print_exc()
        return EXIT_ENVIRONMENT
