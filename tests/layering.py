"""Checks the dependencies between the modules: which modules a module includes, and whether it may include headers of
torch and CUDA. Also checks that the front end does host arithmetic through its builder, which gives the errors of that
arithmetic a location."""

import pathlib
import re
import sys

# The modules that each module may include, besides itself. A file belongs to the module with the longest matching path.
FRONTEND = ["frontend/syntax", "frontend/tensor", "frontend/library", "frontend/interpret", "frontend/gradient",
            "frontend/frontend.h"]
CODEGEN = ["codegen", "codegen/target", "codegen/shape", "codegen/schedule", "codegen/kernel", "codegen/print"]
# The modules below the runtime.
BELOW = ["base", "ir", "frontend", "frontend/frontend.h", *CODEGEN]
MODULES = {
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
    "codegen/print": ["codegen/kernel", "codegen/shape", "codegen/target", "ir", "base"],
    "third_party": [],
    "runtime/cache": ["base", "third_party"],
    "runtime": [*BELOW, "runtime/cache"],
    "runtime/cuda": [*BELOW, "runtime", "runtime/cache"],
    "ingot.h": [*BELOW, "runtime"],
    "tools": [*BELOW, "runtime", "ingot.h"],
    "python": [*BELOW, "runtime", "runtime/cache", "ingot.h"],
}
# The modules that must not include torch's headers.
TORCH_FREE = [*BELOW, "runtime/cache"]
TORCH = re.compile(r"(torch|ATen|c10|caffe2|pybind11)/")
CUDA = re.compile(r"(c10|ATen)/cuda/|cuda|nvrtc|nvJitLink|driver_types")
CUDA_API = re.compile(r"cuda(_runtime(_api)?)?\.h")
GENERATED = ["frontend/library/language.def"]  # the build writes these headers into the build folder
HOST_ARITHMETIC = re.compile(r"\bhost_?\.(make|add|sub|mul|product)\(")
HOST_BUILDER = ["frontend/tensor/builder.h", "frontend/tensor/builder.cpp"]
INCLUDE = re.compile(r'^\s*#\s*include\s+(["<])([^">]+)[">]', re.MULTILINE)


def module_of(path):
    modules = [module for module in MODULES if path == module or path.startswith(module + "/")]
    return max(modules, key=len, default=None)


def violations(root):
    cuda_api = set()
    for file in sorted({file for module in MODULES for file in [root / module, *(root / module).rglob("*")]}):
        path = file.relative_to(root).as_posix()
        module = module_of(path)
        if "/prelude/" in path or file.suffix not in (".h", ".cpp", ".def"):
            continue
        text = file.read_text()
        if module.startswith("frontend") and path not in HOST_BUILDER and (found := HOST_ARITHMETIC.search(text)):
            yield f"{path}: use the builder for host arithmetic, not `{found[0]}…)`"
        for quote, included in INCLUDE.findall(text):
            if quote == '"':
                other = module_of(included)
                if other is None or not (included in GENERATED or (root / included).is_file()):
                    yield f'{path}: "{included}" is not the path from the root to a header of a module'
                elif other != module and other not in MODULES[module]:
                    yield f'{path}: {module} must not include {other} ("{included}")'
            elif TORCH.match(included) and module in TORCH_FREE:
                yield f"{path}: {module} must not include torch (<{included}>)"
            elif CUDA.match(included) and module != "runtime/cuda":
                yield f"{path}: only runtime/cuda may include CUDA (<{included}>)"
            if CUDA_API.fullmatch(included):
                cuda_api.add(file.with_suffix("").relative_to(root).as_posix())
    if len(cuda_api) > 1:
        yield f"only one file may include CUDA's API, not {', '.join(sorted(cuda_api))}"


if __name__ == "__main__":
    found = list(violations(pathlib.Path(sys.argv[1])))
    print("\n".join(found))
    sys.exit(bool(found))
