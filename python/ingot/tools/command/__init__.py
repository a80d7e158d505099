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

DASH_VALUE_OPTIONS = ("-e", "--expression", "--options")  # options whose value may begin with a dash
SIGNAL_EXIT_BASE = 128  # plus the signal's number, as shells do


def _join_values(arguments: list[str]) -> list[str]:
    """Joins each of DASH_VALUE_OPTIONS with its value into one word."""
    words: list[str] = []
    for word in arguments:
        if words and words[-1] in DASH_VALUE_OPTIONS:
            words[-1] += f"={word}"
        else:
            words.append(word)
    return words


def main(arguments: list[str] | None = None) -> int:
    """Runs a command and returns its exit status."""
    parser = argparse.ArgumentParser(prog="ingot", description="Ingot's tools.")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    for command in (compare, explain, verify):
        command.add(commands)
    for stream in (sys.stdout, sys.stderr):  # a terminal may not support all characters
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")
    options, remaining = parser.parse_known_args(_join_values(sys.argv[1:] if arguments is None else arguments))
    if unknown := [word for word in remaining if not IS_VALUE.match(word)]:
        parser.error(f"unrecognized arguments: {' '.join(unknown)}")
    options.values = [*getattr(options, "values", []), *remaining]
    try:
        return options.run(options)
    except ingot.Error as error:
        print(error, file=sys.stderr)
        return EXIT_ENVIRONMENT if getattr(error, "fault", "") == "environment" else EXIT_BAD_INPUT
    except BrokenPipeError:  # the reader has closed the pipe; Python flushes it once more at exit
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return SIGNAL_EXIT_BASE + signal.SIGPIPE
    except KeyboardInterrupt:
        return SIGNAL_EXIT_BASE + signal.SIGINT
    except Exception:  # a defect of Ingot, not an incorrect candidate
        traceback.print_exc()
        return EXIT_ENVIRONMENT
