import typing

import torch

__version__: str

class Error(RuntimeError):
    fault: typing.Literal["author", "environment", "internal"]
    message: str

class Op:
    def __call__(
        self,
        *args: torch.Tensor | float | int | bool | None,
        out: torch.Tensor | tuple[torch.Tensor, ...] | None = None,
        **kwargs: torch.Tensor | float | int | bool | None,
    ) -> typing.Any: ...
    def prepare(self, *args: torch.Tensor | float | int | bool | None, **kwargs: typing.Any) -> None: ...
    @property
    def name(self) -> str: ...
    @property
    def text(self) -> str: ...
    @property
    def _parameters(self) -> list[tuple[str, str, bool]]: ...
    @property
    def _defined(self) -> bool: ...
    def _define(
        self,
        text: str,
        source_name: str,
        origins: list[tuple[int, str, int, int]],
        name: str,
        numerics: str,
        debug: bool,
        lazy: str,
        /,
    ) -> None: ...
    def _refuse_none(self, names: typing.Collection[str], /) -> None: ...
    def _emit(
        self, stage: str, device: str | None, architecture: int, /, *args: typing.Any, **kwargs: typing.Any
    ) -> str: ...

def _prepare_all(calls: list[tuple[Op, tuple[typing.Any, ...], tuple[str, ...]]], /) -> None: ...
def counters() -> dict[str, int]: ...
def cache_info() -> dict[str, typing.Any]: ...
def language() -> list[tuple[str, str, tuple[str, ...], bool, bool, str]]: ...
