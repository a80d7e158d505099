"""Reads the source of a `.cu` or `.cpp` file: its kernels, their parameters' names, and comments that tell how a kernel is
launched and compiled:

    // launch: grid=ceil(n / 256), block=256, args=x, y, out, n
    // options: -Iinclude --use_fast_math
"""

from __future__ import annotations

import dataclasses
import pathlib
import re
import shlex
from typing import Iterator

from ..capture import author_error
from . import launch

_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)
# A launch that ends in a comma continues in the next line.
_SAID = re.compile(r"^\s*(?://+|\*+|/\*+)\s*(launch|options):\s*"
                   r"((?:.*,[ \t]*\n\s*(?://|\*)(?!\s*(?:launch|options):))*.*?)\s*(?:\*/)?$", re.MULTILINE)
_ATTRIBUTES = ("__launch_bounds__", "__cluster_dims__", "__block_size__", "__maxnreg__", "__align__", "alignas", "__attribute__")


@dataclasses.dataclass(frozen=True)
class Entry:
    """A function that can be launched or called: its name, and the names of its parameters ("" for one without a name)."""

    name: str
    parameters: tuple[str, ...]
    is_template: bool = False


def read(path: pathlib.Path) -> str:
    """The source in a file, without a byte order mark. Raises `ingot.Error` if it is not UTF-8."""
    try:
        return path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError:
        raise author_error(f"`{path}` is not UTF-8 text", "save it as UTF-8") from None


def launches(text: str) -> list[str]:
    """The launches in its comments, in order."""
    said_in = _SAID.findall(_without_if_0(text))
    return [re.sub(r"\s*\n\s*(//|\*)\s*", " ", said) for word, said in said_in if word == "launch"]


def options(text: str) -> list[str]:
    """The compiler's options in its comments."""
    return [option for word, said in _SAID.findall(_without_if_0(text)) if word == "options" for option in shlex.split(said)]


def _without_if_0(text: str) -> str:
    """The source with empty lines in place of those that `#if 0` leaves out."""
    lines, depth = [], 0  # the nesting depth of conditions inside a left-out one
    for line in text.split("\n"):
        directive = line.strip().replace(" ", "")
        if depth:
            depth += directive.startswith("#if")
            depth -= directive.startswith("#endif") or depth == 1 and directive.startswith(("#else", "#elif"))
            lines.append("")
            continue
        depth = int(re.match(r"#if(0|false)(?!\w)", directive) is not None)
        lines.append("" if depth else line)
    return "\n".join(lines)


def kernels(text: str) -> list[Entry]:
    """The `__global__` functions in the source, before preprocessing."""
    return _once(_entries(text, re.compile(r"\b__global__\b")))


def functions(text: str) -> list[Entry]:
    """The functions with C linkage, alone or in an `extern "C"` block."""
    return _once([*_entries(text, re.compile(r'\bextern\s*"C"(?!\s*\{)')), *_entries_of_blocks(text)])


def _entries_of_blocks(text: str) -> Iterator[Entry]:
    plain = _plain(text)
    for block in re.finditer(r'\bextern\s*"C"\s*\{', plain):
        begin = at = block.end()
        depth = 1
        while depth and at < len(plain):
            depth += (plain[at] == "{") - (plain[at] == "}")
            if depth == 1 and plain[at] in ";}" or depth == 2 and plain[at] == "{":
                if plain[at] == "{" and (found := _entry_behind(plain[begin:at], 0)):
                    yield Entry(*found)
                begin = at + 1
            at += 1


def _once(entries: Iterator[Entry]) -> list[Entry]:
    """Each function once, even if it is declared before it is defined."""
    return list({entry.name: entry for entry in entries}.values())


def _plain(text: str) -> str:
    """The source with blanks in place of comments and left-out lines, so that all positions stay."""
    blank = lambda comment: re.sub(r"[^\n]", " ", comment[0])  # noqa: E731
    return _COMMENT.sub(blank, _without_if_0(text))


def _entries(text: str, mark: re.Pattern):
    plain = _plain(text)
    for found in mark.finditer(plain):
        if entry := _entry_behind(plain, found.end()):
            name, parameters = entry
            declared = re.split(r"[;{}]|^[ \t]*#.*$", plain[: found.start()], flags=re.MULTILINE)[-1]
            yield Entry(name, parameters, is_template=re.search(r"\btemplate\s*<", declared) is not None)


def _entry_behind(text: str, at: int) -> tuple[str, tuple[str, ...]] | None:
    """The first function name and its parameters after position `at`; attributes with arguments are skipped."""
    for word in re.compile(r"([A-Za-z_]\w*)\s*\(").finditer(text, at):
        if re.search(r"[;{}]", text[at : word.start()]):
            return None
        if word.start() < at:
            continue
        end = _closing(text, word.end())
        if word[1] in _ATTRIBUTES:
            at = end
            continue
        parameters = launch.parts(text[word.end() : end - 1], "()<>[]")
        return word[1], tuple(_name_of(p) for p in parameters if p != "void")
    return None


def _closing(text: str, at: int) -> int:
    """The position after the bracket that closes the one before `at`."""
    depth = 1
    while depth and at < len(text):
        depth += (text[at] == "(") - (text[at] == ")")
        at += 1
    return at


def _name_of(parameter: str) -> str:
    words = re.findall(r"[A-Za-z_]\w*", parameter.split("=")[0].split("[")[0])
    return words[-1] if len(words) > 1 else ""


# --- nvcc's options -------------------------------------------------------------------------------------------------

_DROPPED = re.compile(r"-O\d|-c|-rdc=.*|-dc|--?(arch|gpu-architecture|gencode|generate-code|code|gpu-code)=.*|-g|-shared|"
                      r"-l(?!ineinfo).*|-L.*|-W.*|--expt-.*|--extended-lambda|--threads=?\d*|-t=?\d+|-pthread|-march=.*|"
                      r"-f(?!mad=|tz=)[a-z].*|-m(32|64)|-expt-.*|-keep|-v|-M[A-Z]*|-ptx|-cubin|-default-stream=.*|"
                      r"(-Xcompiler|--compiler-options|-Xlinker|--optimize)=.*")
_DROPPED_WITH_VALUE = ("-Xcompiler", "--compiler-options", "-ccbin", "-gencode", "-arch", "-code", "-Xlinker", "-o",
                       "--generate-code", "--gpu-architecture", "-Xcudafe", "--compiler-bindir", "-x", "-t", "-O", "-Werror")
_RENAMED = {"-Xptxas": "--ptxas-options", "--ptxas-options": "--ptxas-options", "-I": "-I", "--include-path": "-I",
            "-isystem": "-I", "-D": "-D", "--define-macro": "-D", "-U": "-U", "-std": "-std", "--std": "-std",
            "-maxrregcount": "--maxrregcount", "--maxrregcount": "--maxrregcount",
            "-include": "--pre-include", "--pre-include": "--pre-include"}


def as_nvrtc(options: list[str]) -> list[str]:
    """nvcc's options as NVRTC options. Options for a host compiler, a linker or the choice of a GPU are dropped."""
    made, words = [], iter(options)
    for word in words:
        name, equals, value = word.partition("=")
        if word in _DROPPED_WITH_VALUE:
            next(words, None)
        elif _RENAMED.get(name if equals else word) == "--ptxas-options":
            made += [f"--ptxas-options={each}" for each in (value if equals else next(words, "")).split(",")]
        elif word in _RENAMED:
            made.append(f"{_RENAMED[word]}{'=' if len(_RENAMED[word]) > 2 else ''}{next(words, '')}")
        elif not _DROPPED.fullmatch(word):
            made.append(word)
    return made
