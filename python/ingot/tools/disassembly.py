"""Disassembles machine code with nvdisasm and cuobjdump, which Triton's package contains and PyTorch installs."""

from __future__ import annotations

import collections
import dataclasses
import functools
import importlib.util
import os
import pathlib
import re
import shutil
import subprocess
import tempfile

_LOCATION = re.compile(r'//## File "(?P<file>.*?)", line (?P<line>\d+)')
_INSTRUCTION = re.compile(r"^\s*/\*(?P<at>[0-9a-f]{4,})\*/\s+(?P<guard>@!?U?P\w+\s+)?(?P<op>[A-Z][A-Z0-9_.]*)(?P<rest>[^;]*);")
_USAGE = re.compile(r"Function (\S+):\s*\n\s*REG:(\d+) STACK:(\d+) SHARED:(\d+)")
_FUNCTION = re.compile(r"^\.text\.(?P<name>\S+):")

# The kinds of instructions, and the names of their instructions. A name may be followed by a number: IADD also means IADD3.
_KINDS = [
    ("global load", "LDG LDGSTS"), ("global store", "STG"), ("shared memory", "LDS STS LDSM ATOMS"), ("local memory", "LDL STL"),
    ("atomic", "ATOM RED"), ("other memory", "LD ST LDC ULDC CCTL MEMBAR UBLKCP"),
    ("special function", "MUFU"), ("float64", "DADD DMUL DFMA DSETP DMNMX"), ("matrix", "HMMA IMMA DMMA HGMMA"),
    ("float16", "HADD HMUL HFMA HSET HMNMX"), ("float32", "FADD FMUL FFMA FSETP FMNMX FSEL FCHK FSWZ"),
    ("conversion", "F2I I2F F2F I2I FRND F2FP I2FP"),
    ("control", "BRA EXIT BSSY BSYNC CALL RET WARPSYNC BREAK BMOV JMP NOP YIELD NANOSLEEP BRX"),
    ("barrier", "BAR DEPBAR SYNCS ERRBAR UCGABAR"), ("shuffle", "SHFL VOTE REDUX MATCH"),
    ("integer", "IADD VIADD VIMNMX VIADDMNMX IMAD ISETP IMNMX LEA LOP SHF SEL PRMT POPC FLO BREV IABS ISCADD XMAD VABSDIFF PLOP BFE BFI SGXT "
     "UIADD UIMAD UISETP ULEA ULOP USHF USEL UPRMT UPLOP UPOPC UFLO UMOV MOV R2UR S2R S2UR CS2R P2R R2P VOTEU R2B B2R UP2UR"),
]


@dataclasses.dataclass(frozen=True)
class Instruction:
    """One machine instruction. `locations` are the file and line that it was compiled from, and the lines of the calls through which
    that code was inlined."""

    address: int
    text: str
    op: str  # LDG.E.128
    locations: tuple[tuple[str, int], ...] = ()

    def lines_of(self, file: str) -> list[int]:
        return [line for name, line in self.locations if os.path.basename(name) == os.path.basename(file)]

    @property
    def kind(self) -> str:
        stem = self.op.split(".")[0]
        for kind, names in _KINDS:
            if any(stem == name or (stem.startswith(name) and stem[len(name) :].isdigit()) for name in names.split()):
                return kind
        return "other"

    @property
    def width(self) -> int:
        """The bytes of a load or a store per thread."""
        parts = self.op.split(".")
        for part, size in (("256", 32), ("128", 16), ("64", 8), ("U16", 2), ("S16", 2), ("U8", 1), ("S8", 1)):
            if part in parts[1:]:
                return size
        return 4


@functools.cache
def tool(name: str) -> str | None:
    """The path of nvdisasm, cuobjdump or ncu: on PATH, in a CUDA toolkit, or in Triton's package. None if there is none."""
    folders = [os.environ.get("CUDA_HOME", ""), "/usr/local/cuda"]
    candidates = [shutil.which(name), *(f"{folder}/bin/{name}" for folder in folders if folder)]
    if spec := importlib.util.find_spec("triton"):
        candidates.append(str(pathlib.Path(spec.origin).parent / "backends/nvidia/bin" / name))
    return next((path for path in candidates if path and os.access(path, os.X_OK)), None)


@functools.lru_cache(maxsize=8)  # a kernel's anatomy and its listing use the same result
def disassemble(cubin: bytes) -> dict[str, list[Instruction]] | None:
    """The instructions of each kernel; None without nvdisasm."""
    text = _output("nvdisasm", ["-gi", "-c"], cubin)
    return None if text is None else _functions(text)


@functools.lru_cache(maxsize=8)
def resources(cubin: bytes) -> dict[str, tuple[int, int, int]]:
    """For each kernel: registers per thread, bytes of local memory per thread, bytes of shared memory per block. Empty without
    cuobjdump."""
    text = _output("cuobjdump", ["-res-usage"], cubin) or ""
    return {name: (int(registers), int(stack), int(shared)) for name, registers, stack, shared in _USAGE.findall(text)}


def _output(name: str, options: list[str], cubin: bytes) -> str | None:
    if not (path := tool(name)):
        return None
    with tempfile.NamedTemporaryFile(suffix=".cubin") as file:
        file.write(cubin)
        file.flush()
        process = subprocess.run([path, *options, file.name], capture_output=True, text=True)
    return process.stdout if process.returncode == 0 else None


def _functions(text: str) -> dict[str, list[Instruction]]:
    functions: dict[str, list[Instruction]] = collections.defaultdict(list)
    name, locations, are_complete = "", [], True
    for row in text.splitlines():
        if match := _FUNCTION.match(row):
            name, locations = match["name"], []
        elif match := _LOCATION.search(row):
            locations = ([] if are_complete else locations) + [(match["file"], int(match["line"]))]
            are_complete = False
        elif name and (match := _INSTRUCTION.match(row)):
            guard, op = match["guard"] or "", match["op"]
            instruction = f"{guard}{op}{match['rest']}".strip()
            functions[name].append(Instruction(int(match["at"], 16), instruction, op, tuple(locations)))
            are_complete = True
    return {name: _without_padding(instructions) for name, instructions in functions.items()}


def _without_padding(instructions: list[Instruction]) -> list[Instruction]:
    """Removes the padding at the end: a branch to itself and NOPs."""
    end = len(instructions)
    while end and instructions[end - 1].op == "NOP":
        end -= 1
    if end and instructions[end - 1].op == "BRA":
        end -= 1
    return instructions[:end]
