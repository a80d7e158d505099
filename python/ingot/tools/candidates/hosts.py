"""Functions of a C++ file or a shared library, for the CPU."""

from __future__ import annotations

import ctypes
import functools
import json
import pathlib
import re
import tempfile

import torch

from ... import _ingot
from ...capture import author_error
from .. import cuda_text, launch
from .candidate import Call, Candidate

OPTIONS = ["-std=c++20", "-O3", "-march=native"]
# Is added to a source: a function that returns the type of the entry, as the compiler spells it.
_PROBE = """
template <typename T> static const char* ingot_signature() {{ return __PRETTY_FUNCTION__; }}
extern "C" const char* ingot_signature_of_entry() {{ return ingot_signature<decltype(&{entry})>(); }}
"""


class HostFunction(Candidate):
    """A function with C linkage, called with the args of a launch."""

    kind = "host"
    takes_pointers = True

    def __init__(self, path: pathlib.Path, entry: str = "", launches: list[str] = (), options: list[str] = ()):
        if not path.is_file():
            raise author_error(f"there is no file `{path}`", "give a library with its folder: ./library.so:entry")
        self.path, self.is_library = path, path.suffix == ".so"
        self.text = "" if self.is_library else cuda_text.read(path)
        self.entry = self._declared_entry(entry) if entry else self._only_entry()
        self.name, self.spec = f"{path.name}:{self.entry}", f"{path}:{self.entry}"
        self.options = [*OPTIONS, *cuda_text.options(self.text), *options, f"-I{path.resolve().parent}"]
        texts = launches or cuda_text.launches(self.text)
        if len(texts) > 1:
            raise author_error(f"{path} has {len(texts)} launches", "a function is called once: args=x, y, out, n")
        if self.is_library and not texts:
            raise author_error(f"the arguments of `{self.entry}` in {path} are not known", 'add --launch "args=x, y, out, n"')
        self.launch = launch.parse(texts[0]) if texts else launch.Launch("", {})
        launch.check_no_constants(self.launch)
        self.knows_strides = "stride" in self.launch.text

    def _declared_entry(self, entry: str) -> str:
        names = [function.name for function in cuda_text.functions(self.text)]
        if names and entry not in names and not re.search(rf"\b{re.escape(entry)}\b", self.text):  # a macro may define it
            raise author_error(f'there is no `extern "C"` function `{entry}` in {self.path}', f"there are {', '.join(names)}")
        return entry

    def _only_entry(self) -> str:
        if self.is_library:
            raise author_error(f"`{self.path}` is a library", f"name the function to call: {self.path}:entry")
        names = [function.name for function in cuda_text.functions(self.text)]
        if len(names) != 1:
            raise author_error(f'{self.path} has {len(names)} `extern "C"` functions', f"name the one to call: {self.path}:entry")
        return names[0]

    def why_not_on(self, device: torch.device) -> str:
        return "" if device.type == "cpu" else "it is a function for the CPU"

    @functools.cached_property
    def _function(self):
        """The function and its parameters; None for a library's parameters, whose types are unknown."""
        if self.is_library:
            return self._symbol(self.path), None
        # An absolute path: the compiler runs in another folder, and shows source lines of the file that it finds.
        text = f'#line 1 {json.dumps(str(self.path.resolve()), ensure_ascii=False)}\n{self.text}{_PROBE.format(entry=self.entry)}'
        library = _ingot._compile_host(text, self.path.name, self.options)
        with tempfile.NamedTemporaryFile(suffix=".so") as file:  # a loaded library needs no file name
            file.write(library)
            file.flush()
            function = self._symbol(pathlib.Path(file.name))
            probe = ctypes.CDLL(file.name).ingot_signature_of_entry
        probe.restype = ctypes.c_char_p
        spelled = re.search(r"T = (.*?)[;\]]", probe().decode())[1]
        types = launch.types_in(spelled.replace("(*)", " (*)"))
        declared = {function.name: function.parameters for function in cuda_text.functions(self.text)}.get(self.entry, ())
        names = declared if len(declared) == len(types) else [""] * len(types)
        return function, [launch.Parameter(t, n) for t, n in zip(types, names)]

    def _symbol(self, library: pathlib.Path):
        try:
            return getattr(ctypes.CDLL(str(library.resolve())), self.entry)
        except AttributeError:
            raise author_error(f"there is no function `{self.entry}` in {self.path}", 'is it `extern "C"`?') from None
        except OSError as error:
            raise author_error(f"cannot load {self.path}: {error}") from None

    def bind(self, values: dict, results: list[torch.Tensor]) -> Call:
        function, parameters = self._function
        scope = launch.scope_of(values, results)
        if parameters is None:
            parameters = [launch.Parameter("")] * len(self.launch.fields.get("args", ()))
        arguments = self.launch.arguments(scope, parameters)
        for argument, parameter in zip(arguments, parameters):
            if not self.is_library or isinstance(argument, launch.Typed):
                launch.pack(argument, parameter)  # raises for a value that does not fit
        c_arguments = [_as_ctypes(a, p) for a, p in zip(arguments, parameters)]
        function.restype = None

        def call(_keep_alive=arguments):
            function(*c_arguments)
            return results

        return call

_CTYPES = {"float": ctypes.c_float, "double": ctypes.c_double, "bool": ctypes.c_bool, "char": ctypes.c_byte,
           "signed char": ctypes.c_byte, "unsigned char": ctypes.c_ubyte, "short": ctypes.c_short,
           "unsigned short": ctypes.c_ushort, "int": ctypes.c_int, "unsigned int": ctypes.c_uint, "long": ctypes.c_long,
           "unsigned long": ctypes.c_ulong, "long long": ctypes.c_longlong, "unsigned long long": ctypes.c_ulonglong}


def _as_ctypes(value, parameter: launch.Parameter):
    if isinstance(value, torch.Tensor):
        return ctypes.c_void_p(value.data_ptr())
    type = parameter.type
    if isinstance(value, launch.Typed):
        value, type = value.value, value.type
    kind = _CTYPES.get(launch.bare(type))
    if kind is None:
        raise author_error(f"the type of the argument `{value}` is not known", "cast it in the launch: i64(n), f32(bias)")
    return kind(float(value) if kind in (ctypes.c_float, ctypes.c_double) else int(value))
