"""Functions of a C++ file or a shared library, for the CPU."""

from __future__ import annotations

import ctypes
import functools
import json
import pathlib
import re
import tempfile
from typing import Callable

import torch

from ... import _ingot
from ...capture import author_error
from .. import cuda_text, launch, launch_comment
from .candidate import Call, Candidate

OPTIONS = ["-std=c++20", "-O3", "-march=native"]
# Is added to a source: a function for each entry that returns the entry's type, as the compiler spells it.
_PROBE = "\ntemplate <typename T> static const char* ingot_signature() { return __PRETTY_FUNCTION__; }\n"
_PROBE_OF_ENTRY = 'extern "C" const char* ingot_signature_{number}() {{ return ingot_signature<decltype(&{entry})>(); }}\n'


class HostFunction(Candidate):
    """A function with C linkage, called with the args of a launch; or several functions, called in order. A launch with `units` is
    for a function that Ingot has generated: `entry(arguments, 0, units)`, where arguments[k] points to the k-th argument."""

    kind = "host"
    takes_pointers = True

    def __init__(self, path: pathlib.Path, entry: str = "", launches: list[str] = (), options: list[str] = ()):
        if not path.is_file():
            raise author_error(f"there is no file `{path}`", "give a library with its folder: ./library.so:entry")
        self.path, self.is_library = path, path.suffix == ".so"
        self.text = "" if self.is_library else cuda_text.read(path)
        self.options = [*OPTIONS, *cuda_text.options(self.text), *options, f"-I{path.resolve().parent}"]
        self.launch_comments = launch_comment.from_launches(launches) or launch_comment.in_file(self.text, path.name) or [launch_comment.LaunchComment(launch.Launch("", {}))]
        for each in self.launch_comments:
            launch.check_no_constants(each.launch)
        if len(self.launch_comments) > 1 and not all(each.launch.entry for each in self.launch_comments):
            raise author_error(f"{path} has {len(self.launch_comments)} launches", "begin each with the function to call: entry=name, args=x, out, n")
        self.entries = [self._declared_entry(name) if (name := each.launch.entry or entry) else self._only_entry() for each in self.launch_comments]
        if self.is_library and not self.launch_comments[0].launch.text:
            raise author_error(f"the arguments of `{self.entries[0]}` in {path} are not known", 'add --launch "args=x, y, out, n"')
        shown_entry = f":{self.entries[0]}" * (len(self.entries) == 1)
        self.name, self.spec = path.name + shown_entry, str(path) + shown_entry
        self.knows_strides = any(each.knows_strides for each in self.launch_comments)

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
    def _functions(self) -> list[tuple]:
        """The function of each launch, and its parameters; None for a library's parameters, whose types are unknown."""
        if self.is_library:
            return [(self._symbol(self.path, entry), None) for entry in self.entries]
        # An absolute path: the compiler runs in another folder, and shows source lines of the file that it finds.
        probes = "".join(_PROBE_OF_ENTRY.format(number=number, entry=entry) for number, entry in enumerate(self.entries))
        text = f'#line 1 {json.dumps(str(self.path.resolve()), ensure_ascii=False)}\n{self.text}{_PROBE}{probes}'
        library = _ingot._compile_host(text, self.path.name, self.options)
        with tempfile.NamedTemporaryFile(suffix=".so") as file:  # a loaded library needs no file name
            file.write(library)
            file.flush()
            return [(self._symbol(pathlib.Path(file.name), entry), self._parameters(file.name, number, entry))
                    for number, entry in enumerate(self.entries)]

    def _parameters(self, library: str, number: int, entry: str) -> list[launch.Parameter]:
        probe = getattr(ctypes.CDLL(library), f"ingot_signature_{number}")
        probe.restype = ctypes.c_char_p
        spelled = re.search(r"T = (.*?)[;\]]", probe().decode())[1]
        types = launch.types_in(spelled.replace("(*)", " (*)"))
        declared = {function.name: function.parameters for function in cuda_text.functions(self.text)}.get(entry, ())
        names = declared if len(declared) == len(types) else [""] * len(types)
        return [launch.Parameter(t, n) for t, n in zip(types, names)]

    def _symbol(self, library: pathlib.Path, entry: str):
        try:
            return getattr(ctypes.CDLL(str(library.resolve())), entry)
        except AttributeError:
            raise author_error(f"there is no function `{entry}` in {self.path}", 'is it `extern "C"`?') from None
        except OSError as error:
            raise author_error(f"cannot load {self.path}: {error}") from None

    def bind(self, values: dict, results: list[torch.Tensor]) -> Call:
        calls, scope = [], launch.scope_of(values, results)
        for each, (function, parameters) in zip(self.launch_comments, self._functions):
            defined = each.define(scope)
            each.check(defined)
            scratch = each.allocate(defined)
            scope |= scratch
            function.restype = None
            bind_one = self._call_of_units if "units" in each.launch.fields else self._call
            calls.append(bind_one(each.launch, defined | scratch, function, parameters))

        def call():
            for each in calls:
                each()
            return results

        return call

    def _call(self, parsed: launch.Launch, scope: dict, function, parameters: list[launch.Parameter] | None) -> Callable[[], None]:
        if parameters is None:
            parameters = [launch.Parameter("")] * len(parsed.fields.get("args", ()))
        arguments = parsed.arguments(scope, parameters)
        for argument, parameter in zip(arguments, parameters):
            if not self.is_library or isinstance(argument, launch.Typed):
                launch.pack(argument, parameter)  # raises for a value that does not fit
        c_arguments = [_as_ctypes(a, p) for a, p in zip(arguments, parameters)]
        return lambda _keep_alive=arguments: function(*c_arguments)

    @staticmethod
    def _call_of_units(parsed: launch.Launch, scope: dict, function, parameters: list[launch.Parameter]) -> Callable[[], None]:
        unknown = [launch.Parameter("")] * len(parsed.fields.get("args", ()))  # the function takes pointers to its arguments
        arguments = parsed.arguments(scope, unknown)
        c_arguments = [_as_ctypes(a, p) for a, p in zip(arguments, unknown)]
        addresses = (ctypes.c_void_p * len(c_arguments))(*map(ctypes.addressof, c_arguments))
        units = ctypes.c_longlong(parsed.units(scope))
        return lambda _keep_alive=(arguments, c_arguments): function(addresses, ctypes.c_longlong(0), units)


_CTYPES = {"float": ctypes.c_float, "double": ctypes.c_double, "bool": ctypes.c_bool, "char": ctypes.c_byte,
           "signed char": ctypes.c_byte, "unsigned char": ctypes.c_ubyte, "short": ctypes.c_short,
           "unsigned short": ctypes.c_ushort, "int": ctypes.c_int, "unsigned int": ctypes.c_uint, "long": ctypes.c_long,
           "unsigned long": ctypes.c_ulong, "long long": ctypes.c_longlong, "unsigned long long": ctypes.c_ulonglong}


def _as_ctypes(value, parameter: launch.Parameter):
    if isinstance(value, (launch.Pointer, torch.Tensor)):
        return ctypes.c_void_p(value.data_ptr())
    type = parameter.type
    if isinstance(value, launch.Typed):
        value, type = value.value, value.type
    kind = _CTYPES.get(launch.bare(type))
    if kind is None:
        raise author_error(f"the type of the argument `{value}` is not known", "cast it in the launch: i64(n), f32(bias)")
    return kind(float(value) if kind in (ctypes.c_float, ctypes.c_double) else int(value))
