"""Python callables, such as an extension's function or a function compiled by torch.compile, and Triton kernels."""

from __future__ import annotations

import importlib
import importlib.util
import pathlib
import sys
from typing import Callable

import torch

from ...capture import author_error
from .. import launch
from .candidate import Call, Candidate
from .ops import listed


class PythonFunction(Candidate):
    """A callable that takes the op's arguments, in the order of its parameters."""

    kind = "python"

    def __init__(self, function: Callable, name: str, spec: str = ""):
        self.function, self.name, self.spec = function, name, spec

    @classmethod
    def named(cls, module: str, attribute: str, launches: list[str] = ()) -> Candidate:
        """The attribute `attribute` of a module or of a file `module.py`."""
        value = _import(module)
        for part in attribute.split("."):
            try:
                value = getattr(value, part)
            except AttributeError:
                raise author_error(f"there is no `{attribute}` in {module}",
                                   f"there are {', '.join(n for n in vars(value) if not n.startswith('_'))[:200]}") from None
        return cls.of(value, f"{pathlib.Path(module).name}:{attribute}", f"{module}:{attribute}", launches)

    @classmethod
    def of(cls, value, name: str, spec: str = "", launches: list[str] = ()) -> Candidate:
        """A candidate for a callable or a Triton kernel."""
        if _is_triton_kernel(value):
            return TritonKernel(value, name, spec, launches)
        if not callable(value):
            raise author_error(f"`{spec or name}` is a {type(value).__name__}, which cannot be called")
        if launches:
            raise author_error(f"`{spec or name}` is called, not launched", "a launch is for kernels")
        return cls(value, name, spec)

    def bind(self, values: dict, results: list[torch.Tensor]) -> Call:
        arguments = tuple(values.values())
        return lambda: listed(self.function(*arguments))


class TritonKernel(Candidate):
    """A `triton.jit` function and its launch. The launch also gives the function's constants (`tl.constexpr`): `BLOCK=1024`."""

    kind = "triton"
    takes_pointers = True

    def __init__(self, kernel, name: str, spec: str, launches: list[str]):
        if len(launches) != 1:
            example = "grid=ceil(n / BLOCK), args=x, y, out, n, BLOCK=1024"
            raise author_error(f"the Triton kernel `{spec or name}` needs a launch", f'--launch "{example}"' if spec else
                               f'ingot.Against({name}, launches=["{example}"])')
        self.kernel, self.name, self.spec, self.launch = kernel, name, spec, launch.parse(launches[0])
        self.knows_strides = "stride" in launches[0]

    def why_not_on(self, device: torch.device) -> str:
        return "" if device.type == "cuda" else "it is a kernel for a GPU"

    def bind(self, values: dict, results: list[torch.Tensor]) -> Call:
        scope = launch.scope_of(values, results)
        constants = {name: launch.evaluate(value[0], scope, self.launch.text)
                     for name, value in self.launch.constants.items()}
        arguments = [launch.evaluate(e, scope, self.launch.text) for e in self.launch.fields.get("args", ())]
        arguments = [a.value if isinstance(a, launch.Typed) else a for a in arguments]
        grid = self.launch.extent("grid", scope | constants)

        def call():
            self.kernel[grid](*arguments, **constants)
            return results

        return call


def _is_triton_kernel(value) -> bool:
    return type(value).__module__.startswith("triton.")


def _import(module: str):
    path = pathlib.Path(module)
    if path.suffix != ".py":
        try:
            return importlib.import_module(module)
        except ImportError as error:
            raise author_error(f"cannot import `{module}`: {error}") from None
    if not path.is_file():
        raise author_error(f"there is no file `{module}` to import")
    # A unique module name, so that a file torch.py or triton.py does not replace the module of that name.
    spec = importlib.util.spec_from_file_location(f"candidate_{path.stem}", path)
    imported = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = imported  # torch.compile and pickle look functions up here
    folder = str(path.parent.resolve())
    sys.path.insert(0, folder)
    try:
        spec.loader.exec_module(imported)
    except (Exception, SystemExit) as error:  # any error of the imported file
        raise author_error(f"`{module}` cannot be imported: {type(error).__name__}: {error}") from error
    finally:
        if folder in sys.path:  # the module may have changed the path
            sys.path.remove(folder)
    return imported
