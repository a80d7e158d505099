"""Reads the source of a `.cu` or `.cpp` file: its kernels, their parameters' names, and the comments that tell how a kernel is
launched (launch_comment.py) and compiled:

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
from .expressions import split_at_commas

_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)
_KINDS = "launch|options|where|requires|scratch|incomplete"
# A line that ends in a comma continues in the next line.
_COMMENT_LINE = re.compile(rf"^[ \t]*(?://+|\*+|/\*+)[ \t]*({_KINDS}):[ \t]*"
                        rf"((?:.*,[ \t]*\n\s*(?://|\*)(?!\s*(?:{_KINDS}):))*.*?)\s*(?:\*/)?$", re.MULTILINE)
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


@dataclasses.dataclass(frozen=True)
class CommentLine:
    """A comment line `// KIND: text`, with the lines that continue it."""

    kind: str
    text: str
    number: int  # of the line


def comment_lines(text: str) -> list[CommentLine]:
    """The lines of the source's comments that begin with one of the kinds, in order."""
    code = _without_if_0(text)
    return [CommentLine(match[1], re.sub(r"\s*\n\s*(//|\*)\s*", " ", match[2]), code.count("\n", 0, match.start(1)) + 1)
            for match in _COMMENT_LINE.finditer(code)]


def options(text: str) -> list[str]:
    """The compiler's options in the source's comments."""
    return [option for line in comment_lines(text) if line.kind == "options" for option in shlex.split(line.text)]


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
    return _distinct(_entries(text, re.compile(r"\b__global__\b")))


def functions(text: str) -> list[Entry]:
    """The functions with C linkage, alone or in an `extern "C"` block."""
    return _distinct([*_entries(text, re.compile(r'\bextern\s*"C"(?!\s*\{)')), *_entries_of_blocks(text)])


def _entries_of_blocks(text: str) -> Iterator[Entry]:
    code = _without_comments(text)
    for block in re.finditer(r'\bextern\s*"C"\s*\{', code):
        begin = position = block.end()
        depth = 1
        while depth and position < len(code):
            depth += (code[position] == "{") - (code[position] == "}")
            if depth == 1 and code[position] in ";}" or depth == 2 and code[position] == "{":
                if code[position] == "{" and (entry := _entry_after(code[begin:position], 0)):
                    yield Entry(*entry)
                begin = position + 1
            position += 1


def _distinct(entries: Iterator[Entry]) -> list[Entry]:
    """Each function once, even if it is declared before it is defined."""
    return list({entry.name: entry for entry in entries}.values())


def _without_comments(text: str) -> str:
    """The source with blanks in place of comments and left-out lines, so that all positions stay."""
    blank = lambda comment: re.sub(r"[^\n]", " ", comment[0])  # noqa: E731
    return _COMMENT.sub(blank, _without_if_0(text))


def _entries(text: str, marker: re.Pattern):
    code = _without_comments(text)
    for match in marker.finditer(code):
        if entry := _entry_after(code, match.end()):
            name, parameters = entry
            declaration = re.split(r"[;{}]|^[ \t]*#.*$", code[: match.start()], flags=re.MULTILINE)[-1]
            yield Entry(name, parameters, is_template=re.search(r"\btemplate\s*<", declaration) is not None)


def _entry_after(text: str, position: int) -> tuple[str, tuple[str, ...]] | None:
    """The first function name and its parameters after `position`; attributes with arguments are skipped."""
    for match in re.compile(r"([A-Za-z_]\w*)\s*\(").finditer(text, position):
        if re.search(r"[;{}]", text[position : match.start()]):
            return None
        if match.start() < position:
            continue
        end = _closing(text, match.end())
        if match[1] in _ATTRIBUTES:
            position = end
            continue
        parameters = split_at_commas(text[match.end() : end - 1], "()<>[]")
        return match[1], tuple(_parameter_name(p) for p in parameters if p != "void")
    return None


def _closing(text: str, position: int) -> int:
    """The position after the bracket that closes the one before `position`."""
    depth = 1
    while depth and position < len(text):
        depth += (text[position] == "(") - (text[position] == ")")
        position += 1
    return position


def _parameter_name(parameter: str) -> str:
    words = re.findall(r"[A-Za-z_]\w*", parameter.split("=")[0].split("[")[0])
    return words[-1] if len(words) > 1 else ""


# --- nvcc's options -------------------------------------------------------------------------------------------------

_HOST_OPTIONS = re.compile(r"-O\d|-c|-rdc=.*|-dc|--?(arch|gpu-architecture|gencode|generate-code|code|gpu-code)=.*|-g|-shared|"
                           r"-l(?!ineinfo).*|-L.*|-W.*|--expt-.*|--extended-lambda|--threads=?\d*|-t=?\d+|-pthread|-march=.*|"
                           r"-f(?!mad=|tz=)[a-z].*|-m(32|64)|-expt-.*|-keep|-v|-M[A-Z]*|-ptx|-cubin|-default-stream=.*|"
                           r"(-Xcompiler|--compiler-options|-Xlinker|--optimize)=.*")
_HOST_OPTIONS_WITH_VALUE = ("-Xcompiler", "--compiler-options", "-ccbin", "-gencode", "-arch", "-code", "-Xlinker", "-o",
                            "--generate-code", "--gpu-architecture", "-Xcudafe", "--compiler-bindir", "-x", "-t", "-O", "-Werror")
_NVRTC_NAMES = {"-Xptxas": "--ptxas-options", "--ptxas-options": "--ptxas-options", "-I": "-I", "--include-path": "-I",
                "-isystem": "-I", "-D": "-D", "--define-macro": "-D", "-U": "-U", "-std": "-std", "--std": "-std",
                "-maxrregcount": "--maxrregcount", "--maxrregcount": "--maxrregcount",
                "-include": "--pre-include", "--pre-include": "--pre-include"}


def as_nvrtc(options: list[str]) -> list[str]:
    """nvcc's options as NVRTC options. Options for a host compiler, a linker or the choice of a GPU are dropped."""
    result, remaining = [], iter(options)
    for word in remaining:
        name, equals, value = word.partition("=")
        if word in _HOST_OPTIONS_WITH_VALUE:
            next(remaining, None)
        elif _NVRTC_NAMES.get(name if equals else word) == "--ptxas-options":
            result += [f"--ptxas-options={setting}" for setting in (value if equals else next(remaining, "")).split(",")]
        elif word in _NVRTC_NAMES:
            result.append(f"{_NVRTC_NAMES[word]}{'=' if len(_NVRTC_NAMES[word]) > 2 else ''}{next(remaining, '')}")
        elif not _HOST_OPTIONS.fullmatch(word):
            result.append(word)
    return result
