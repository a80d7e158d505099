"""Shared by the commands: options, the op and its values, files, devices, and the progress line."""

from __future__ import annotations

import argparse
import errno
import math
import os
import pathlib
import re
import sys

import torch

import ingot

from ...capture import author_error
from .. import candidates, cuda_text

VALUES = """\
Values: f32:1024x4 or f32[1024,4] (random; f16 bf16 f32 f64 u8 i8 i16 i32 i64 bool), f32:nx4 with a size n=1e6,
i64:8@0..50 (elements in a range), f32:64x64:t (transposed memory), saved.pt, saved.pt:key, a number, true, false, none.
"""
IMPORTS_INGOT = re.compile(r"^\s*(import|from) ingot\b", re.MULTILINE)  # the program must run to define its ops
IS_VALUE = re.compile(r"[A-Za-z_]\w*=")


def add_op(parser: argparse.ArgumentParser, takes_functions: bool = False) -> None:
    """Adds the op, and the options that change its kernels. `takes_functions`: whether the names of supported functions may be
    given instead of an op."""
    parser.add_argument("op", nargs="*", metavar=f"FILE[:op] name=value{' | NAME' * takes_functions}",
                        help=f"the op, then a value for each of its parameters{' | supported functions' * takes_functions}")
    parser.add_argument("-e", "--expression", metavar="TEXT", help="the op as an expression, instead of a file")
    parser.add_argument("--numerics", choices=["default", "eager", "fast"], default="default",
                        help="rounding: eager rounds 16-bit floats after each operation, as eager PyTorch; fast allows fast math")
    parser.add_argument("--lazy", choices=["auto", "always", "never"], default="auto",
                        help="whether kernels skip the arm of a where that is not taken (default: auto, if that pays)")


def add_renamed(parser: argparse.ArgumentParser, new_names: dict[str, str]) -> None:
    """Adds options by their former names, which end in an error that gives the new name."""

    class Renamed(argparse.Action):
        def __call__(self, parser, options, value, option=None):
            parser.error(f"{option} is now {new_names[option]}")

    for old in new_names:
        parser.add_argument(old, action=Renamed, nargs=0, help=argparse.SUPPRESS)


def op_of(options, words: list[str]):
    """The requested op and its file; removes the word that names the op from the front of `words`."""
    op_options = {"numerics": options.numerics, "lazy": options.lazy}
    if options.expression is not None:
        return ingot.op(options.expression, **op_options), ""
    if not words:
        raise author_error("no op is given", "name a FILE[:op], or give an expression with -e")
    file, name = file_and_name(words.pop(0))
    text = read(file)
    if not IMPORTS_INGOT.search(text):
        return ingot.op(text, name=name or None, **op_options), file
    if not name:
        raise author_error(f"{file} is a Python program", f"name the op in it: {file}:op")
    op = candidates.PythonFunction.named(file, name).function
    if not isinstance(op, ingot.Op):
        raise author_error(f"`{name}` of {file} is not an Ingot op", "name a function under @ingot.op")
    return ingot.op(op.text, name=op.name, **op_options), file


def values_and_sizes(op, words: list[str]) -> tuple[dict[str, str], dict[str, int]]:
    """The values of the op's parameters, and of size names."""
    values, sizes = {}, {}
    for word in words:
        key, equals, value = word.partition("=")
        if not equals:
            raise author_error(f"`{word}` is not name=value", "name its parameter; candidates come after --against")
        if key in values or key in sizes:
            raise author_error(f"`{key}` is given twice", "give each parameter once")
        if key not in op.signature.parameters and (size := size_of(value)) is not None:
            sizes[key] = size
        else:
            values[key] = value
    return values, sizes


def size_of(text: str) -> int | None:
    """The size that a text such as `1048576` or `1e6` gives; None for other texts."""
    try:
        value = float(text)
    except ValueError:
        return None
    return int(value) if math.isfinite(value) and value == int(value) and value >= 0 else None


def file_and_name(word: str) -> tuple[str, str]:
    """Splits FILE or FILE:op."""
    file, colon, name = word.rpartition(":")
    return (word, "") if not colon or pathlib.Path(word).exists() else (file, name)


def positive_number(kind: type, or_zero: bool = False):
    """A type of argparse: a number above 0, or 0 as well."""

    def read(text: str):
        try:
            value = kind(text)
        except ValueError:
            value = None
        if value is None or not 0 <= value < math.inf or not (value or or_zero):
            minimum = "of at least 0" if or_zero else "above 0"
            raise argparse.ArgumentTypeError(f"`{text}` is not a {'whole ' * (kind is int)}number {minimum}")
        return value

    return read


def seed(text: str) -> int:
    """A type of argparse: a seed of PyTorch's generators."""
    value = positive_number(int, or_zero=True)(text)
    if value >= 2**64:
        raise argparse.ArgumentTypeError(f"`{text}` is not a seed: a seed is a whole number from 0 to 2**64 - 1")
    return value


def count(text: str) -> int:
    """A type of argparse: a number of items, such as 1048576 or 1e6."""
    if (count := size_of(text)) is None:
        raise argparse.ArgumentTypeError(f"`{text}` is not a number")
    return count


def read(file: str) -> str:
    try:
        return cuda_text.read(pathlib.Path(file))
    except IsADirectoryError:
        raise author_error(f"`{file}` is a directory", "name a file in it") from None
    except FileNotFoundError:
        raise author_error(f"there is no file `{file}`", "give an expression with -e") from None
    except OSError as error:
        raise author_error(f"cannot read `{file}`: {error.strerror}") from None


def write(path: pathlib.Path, text: str) -> None:
    try:
        path.write_text(text, encoding="utf-8", errors="backslashreplace")
    except OSError as error:
        raise author_error(f"cannot write `{path}`: {error.strerror}", "name a file in an existing directory") from None


def print_output(text: str, end: str = "\n") -> None:
    """Writes to the standard output. Raises `ingot.Error` if that fails."""
    try:
        if sys.stdout is None:  # it was closed when Python started
            raise OSError(errno.EBADF, os.strerror(errno.EBADF))
        print(text, end=end, flush=True)
    except BrokenPipeError:
        raise
    except OSError as error:
        environment_error = author_error(f"cannot write to the standard output: {error.strerror}")
        environment_error.fault = "environment"
        raise environment_error from None


def check_writable(path: pathlib.Path) -> None:
    """Raises `ingot.Error` if a file cannot be written there. Called before anything is measured."""
    if path.is_dir() or not path.absolute().parent.is_dir():
        raise author_error(f"cannot write `{path}`: {'it is a directory' if path.is_dir() else 'its directory does not exist'}",
                           "name a file in an existing directory")


def device_of(name: str | None) -> str:
    if name is None:
        return "cuda:0" if torch.cuda.is_available() else "cpu"
    if not re.fullmatch(r"cpu|cuda(:\d+)?", name):
        raise author_error(f"there is no device {name}", "the devices are cpu, cuda and cuda:N")
    if name.startswith("cuda"):
        count, index = torch.cuda.device_count(), int(name.partition(":")[2] or 0)
        if index >= count:
            error = author_error(f"there is no device {name}", f"the machine has {count} CUDA devices")
            error.fault = "environment"
            raise error
        return f"cuda:{index}"
    return name


def show_step(step: tuple[str, ...]) -> None:
    if sys.stderr.isatty():
        print(f"\r\033[K{' '.join(step)} …", end="", file=sys.stderr, flush=True)


def show_fraction(what: str, share: float) -> None:
    if sys.stderr.isatty():
        print(f"\r\033[K{what} {share:.0%}", end="", file=sys.stderr, flush=True)


def clear_progress() -> None:
    if sys.stderr.isatty():
        print("\r\033[K", end="", file=sys.stderr, flush=True)
