"""Kernels of a `.cu` file, compiled by NVRTC as Ingot's own kernels are."""

from __future__ import annotations

import dataclasses
import functools
import glob
import importlib.util
import os
import pathlib
import time
from typing import Iterator

import torch

from ... import _ingot
from ...capture import author_error
from .. import cuda_text, launch, launch_comment
from ..expressions import Pointer
from .candidate import Call, Candidate

# Is added to a source: its instance for an entry's type has a mangled name that contains the types of the parameters.
_PROBE = "\ntemplate <typename T> __global__ void ingot_signature() {}\n"


@dataclasses.dataclass(frozen=True)
class CompiledFile:
    """A compiled file: its machine code and PTX, and for each entry its name in them and its parameters."""

    cubin: bytes
    ptx: str
    names: dict[str, str]
    parameters: dict[str, list[launch.Parameter]]
    warnings: str
    seconds: float  # the compile time


class CudaKernel(Candidate):
    """One kernel of a file, or several kernels that are launched in order."""

    kind = "cuda"
    takes_pointers = True

    def __init__(self, path: pathlib.Path, entry: str = "", launches: list[str] = (), options: list[str] = ()):
        if not path.is_file():
            raise author_error(f"there is no file `{path}` to compile")
        self.path, self.text = path, cuda_text.read(path)
        self.name, self.spec = path.name + (f":{entry}" if entry else ""), str(path) + (f":{entry}" if entry else "")
        self.options = [*cuda_text.as_nvrtc([*cuda_text.options(self.text), *options]), *_include_paths(path)]
        self.launch_comments = launch_comment.from_launches(launches) or launch_comment.in_file(self.text, path.name)
        if not self.launch_comments:
            raise author_error(f"the launch of the kernel in `{path}` is not known",
                               f'add a comment to the file, `// launch: {launch.EXAMPLE}`, or pass --launch "{launch.EXAMPLE}"')
        self.launches = [each.launch for each in self.launch_comments]
        for parsed in self.launches:
            launch.check_no_constants(parsed)
        self.knows_strides = any(each.knows_strides for each in self.launch_comments)
        self.entries = [self._entry_of(parsed, entry) for parsed in self.launches]

    def _entry_of(self, parsed: launch.Launch, entry: str) -> str:
        """The kernel of a launch: named by the launch, or by the command line, or the only one in the file."""
        kernels = cuda_text.kernels(self.text)
        names = [kernel.name for kernel in kernels]
        if name := parsed.entry or entry:
            if names and _plain_name(name) not in names:
                raise author_error(f"there is no kernel `{name}` in {self.path}", f"there are {', '.join(names)}")
            if "<" not in name:
                self._check_is_no_template(next((k for k in kernels if k.name == _plain_name(name)), None))
            return name
        if len(kernels) != 1:
            problem = f"has {len(kernels)} kernels" if kernels else "shows no `__global__` function"
            raise author_error(f"{self.path} {problem}", f"name the one to launch: {self.path}:{names[0] if names else 'entry'}")
        self._check_is_no_template(kernels[0])
        return names[0]

    def _check_is_no_template(self, kernel: cuda_text.Entry | None) -> None:
        if kernel is not None and kernel.is_template:
            raise author_error(f"the kernel `{kernel.name}` of {self.path} is a template",
                               f"name an instance: {self.path}:{kernel.name}<float>")

    def why_not_on(self, device: torch.device) -> str:
        return "" if device.type == "cuda" else "it is a kernel for a GPU"

    @functools.cache
    def program(self, architecture: int) -> CompiledFile:
        """Compiles the file. Raises `ingot.Error` with the compiler's log."""
        signatures = {entry: f"ingot_signature<decltype(&{entry})>" for entry in self.entries}
        expressions = [*dict.fromkeys(self.entries), *signatures.values()]
        begin = time.perf_counter()
        options = [*self.options, "-lineinfo"]
        try:
            cubin, ptx, names, log = _ingot._compile_cuda(self.text + _PROBE, str(self.path), architecture, options, expressions)
        except _ingot.Error as error:
            if "-default-device" not in str(error):
                raise
            raise author_error(
                f"{str(error).removeprefix('error: ').rstrip()}", "NVRTC compiles device code only: put host functions "
                "and headers of the C++ library between `#ifndef __CUDACC_RTC__` and `#endif`") from None
        seconds = time.perf_counter() - begin
        mangled_names = dict(zip(expressions, names))
        declared = {kernel.name: kernel.parameters for kernel in cuda_text.kernels(self.text)}
        parameters = {}
        for entry, signature in signatures.items():
            types = launch.types_in(_ingot._demangle(mangled_names[signature]) or "")
            parameter_names = declared.get(_plain_name(entry), ())
            parameter_names = parameter_names if len(parameter_names) == len(types) else [""] * len(types)
            parameters[entry] = [launch.Parameter(t, n) for t, n in zip(types, parameter_names)]
        return CompiledFile(cubin, ptx, {entry: mangled_names[entry] for entry in self.entries}, parameters, log, seconds)

    @functools.cache
    def _loaded(self, device: int) -> dict[str, object]:
        """The loaded kernels of all entries. They are loaded as one module, so they share the file's variables."""
        program = self.program(architecture_of(device))
        loaded = _ingot._load_kernels(program.cubin, list(program.names.values()), device)
        return dict(zip(program.names, loaded))

    def bind(self, values: dict, results: list[torch.Tensor]) -> Call:
        device = next(v.device for v in (*values.values(), *results) if isinstance(v, torch.Tensor))
        loaded, launches, tensors = self._loaded(device.index), [], []
        prepared = self._prepared_launches(values, results, architecture_of(device.index))
        for entry, grid, block, shared, arguments, packed in prepared:
            tensors += [a for a in arguments if isinstance(a, (torch.Tensor, Pointer))]
            launches.append((loaded[entry], grid, block, shared, packed))

        def call(_keep_alive=tensors):
            for kernel in launches:
                _ingot._launch_kernel(*kernel)
            return results

        return call

    def check_launches(self, values: dict, results: list[torch.Tensor], architecture: int) -> None:
        """Raises `ingot.Error` if the arguments do not fit the kernels' parameters, or if a grid or block exceeds the limits of GPUs."""
        for _ in self._prepared_launches(values, results, architecture):
            pass

    def _prepared_launches(self, values: dict, results: list[torch.Tensor], architecture: int) -> Iterator[tuple]:
        """For each launch: its configuration (see `configurations`), the arguments, and their bytes. Launches nothing."""
        scope, parameters = launch.scope_of(values, results), self.program(architecture).parameters
        for each, entry in zip(self.launch_comments, self.entries):
            defined = each.define(scope)
            each.check(defined)
            scratch = each.allocate(defined)
            scope |= scratch
            arguments = each.launch.arguments(defined | scratch, parameters[entry])
            packed = tuple(launch.pack(a, p) for a, p in zip(arguments, parameters[entry]))
            yield *self._configuration(each, entry, defined), arguments, packed

    def configurations(self, values: dict, results: list[torch.Tensor]) -> list[tuple[str, tuple, tuple, int]]:
        """The configuration of each launch: the kernel's entry point, grid, block and bytes of dynamic shared memory."""
        scope = launch.scope_of(values, results)
        return [self._configuration(each, entry, each.define(scope)) for each, entry in zip(self.launch_comments, self.entries)]

    @staticmethod
    def _configuration(each: launch_comment.LaunchComment, entry: str, scope: dict) -> tuple[str, tuple, tuple, int]:
        return entry, each.launch.extent("grid", scope), each.launch.extent("block", scope), each.launch.shared(scope)


def _plain_name(entry: str) -> str:
    """The name without namespaces and template arguments."""
    return entry.split("<")[0].split("::")[-1].strip()


def architecture_of(device: int) -> int:
    """The compute capability: 90 for sm_90."""
    major, minor = torch.cuda.get_device_capability(device)
    return 10 * major + minor


def _include_paths(path: pathlib.Path) -> list[str]:
    """The include paths: the file's own folder, and CUDA's headers."""
    folders = [path.resolve().parent]
    if home := os.environ.get("CUDA_HOME"):
        folders.append(pathlib.Path(home) / "include")
    folders.append(pathlib.Path("/usr/local/cuda/include"))
    if spec := importlib.util.find_spec("nvidia"):
        for folder in spec.submodule_search_locations or ():
            folders += map(pathlib.Path, sorted(glob.glob(f"{folder}/*/include")))
    return [f"-I{folder}" for folder in folders if folder.is_dir()]
