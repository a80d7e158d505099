"""Checks the arrows between the rooms: who includes whom, who may know of torch and CUDA, and that the front end does
host arithmetic through its builder, which gives its errors a place."""

import pathlib
import re
import sys

# What a room may include, beside itself. The longest path that leads to a file names its room.
FRONTEND = ["frontend/syntax", "frontend/tensor", "frontend/library", "frontend/interpret", "frontend/gradient",
            "frontend/frontend.h"]
CODEGEN = ["codegen", "codegen/target", "codegen/shape", "codegen/schedule", "codegen/kernel", "codegen/print"]
BELOW = ["base", "ir", "frontend", "frontend/frontend.h", *CODEGEN]
ROOMS = {
    "base": [],
    "ir": ["base"],
    "frontend": [*FRONTEND, "ir", "base"],
    "frontend/syntax": ["base"],
    "frontend/tensor": ["frontend/frontend.h", "ir", "base"],
    "frontend/library": ["frontend/frontend.h", "frontend/syntax", "frontend/tensor", "ir", "base"],
    "frontend/interpret": ["frontend/frontend.h", "frontend/syntax", "frontend/library", "frontend/tensor", "ir", "base"],
    "frontend/gradient": ["frontend/frontend.h", "frontend/interpret", "frontend/library", "frontend/tensor", "ir", "base"],
    "frontend/frontend.h": ["ir", "base"],
    "codegen": [*CODEGEN, "ir", "base"],
    "codegen/target": ["ir", "base"],
    "codegen/shape": ["codegen/target", "ir", "base"],
    "codegen/schedule": ["codegen/shape", "codegen/target", "ir", "base"],
    "codegen/kernel": ["codegen/schedule", "codegen/shape", "codegen/target", "ir", "base"],
    "codegen/print": ["codegen/kernel", "codegen/target", "ir", "base"],
    "third_party": [],
    "runtime/cache": ["base", "third_party"],
    "runtime": [*BELOW, "runtime/cache"],
    "runtime/cuda": [*BELOW, "runtime", "runtime/cache"],
    "ingot.h": [*BELOW, "runtime"],
    "tools": [*BELOW, "runtime", "ingot.h"],
    "python": [*BELOW, "runtime", "runtime/cache", "ingot.h"],
}
TORCH_FREE = [*BELOW, "runtime/cache"]
TORCH = re.compile(r"(torch|ATen|c10|caffe2|pybind11)/")
CUDA = re.compile(r"(c10|ATen)/cuda/|cuda|nvrtc|nvJitLink|driver_types")
CUDA_API = re.compile(r"cuda(_runtime(_api)?)?\.h")
GENERATED = ["frontend/library/language.def"]  # by the build, into its own folder
HOST_ARITHMETIC = re.compile(r"\bhost_?\.(make|add|sub|mul|product)\(")
HOST_DOOR = ["frontend/tensor/builder.h", "frontend/tensor/builder.cpp"]
INCLUDE = re.compile(r'^\s*#\s*include\s+(["<])([^">]+)[">]', re.MULTILINE)


def room_of(path):
    rooms = [room for room in ROOMS if path == room or path.startswith(room + "/")]
    return max(rooms, key=len, default=None)


def violations(root):
    cuda_api = set()
    for file in sorted({file for room in ROOMS for file in [root / room, *(root / room).rglob("*")]}):
        path = file.relative_to(root).as_posix()
        room = room_of(path)
        if "/prelude/" in path or file.suffix not in (".h", ".cpp", ".def"):
            continue
        text = file.read_text()
        if room.startswith("frontend") and path not in HOST_DOOR and (found := HOST_ARITHMETIC.search(text)):
            yield f"{path}: host arithmetic goes through the builder, not `{found[0]}…)`"
        for quote, included in INCLUDE.findall(text):
            if quote == '"':
                other = room_of(included)
                if other is None or not (included in GENERATED or (root / included).is_file()):
                    yield f'{path}: "{included}" is no path from the root to a header of a room'
                elif other != room and other not in ROOMS[room]:
                    yield f'{path}: {room} must not include {other} ("{included}")'
            elif TORCH.match(included) and room in TORCH_FREE:
                yield f"{path}: {room} must not know torch (<{included}>)"
            elif CUDA.match(included) and room != "runtime/cuda":
                yield f"{path}: only runtime/cuda knows CUDA (<{included}>)"
            if CUDA_API.fullmatch(included):
                cuda_api.add(file.with_suffix("").relative_to(root).as_posix())
    if len(cuda_api) > 1:
        yield f"CUDA's API belongs in one file, not in {', '.join(sorted(cuda_api))}"


if __name__ == "__main__":
    found = list(violations(pathlib.Path(sys.argv[1])))
    print("\n".join(found))
    sys.exit(bool(found))
