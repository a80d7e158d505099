import typing

import torch

__version__: str

class Error(RuntimeError):
    fault: typing.Literal["author", "environment", "internal"]
    message: str

_ShardDims = list[int | None]  # dims of tensors that are sharded; None: not sharded
# For each dim of the mesh, the sharded dim of each tensor; then the results: dtype, sizes, strides, and the dim that each dim
# of the mesh shards.
_Sharding = tuple[list[_ShardDims], list[tuple[torch.dtype, list[int], list[int], _ShardDims]]]

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
    def _parameters(self) -> list[tuple[str, str, bool]]: ...  # name, annotation or "", whether it has a default
    @property
    def _defined(self) -> bool: ...  # whether `_define` was called
    def _define(
        self,
        text: str,
        source_name: str,
        origins: list[tuple[int, str, int, int]],
        name: str,
        numerics: str,
        debug: bool,
        lazy: str,
        atomics: bool,
        eager: typing.Callable[..., list[torch.Tensor]] | None,
        /,
    ) -> None: ...
    def _check_gradient(self, *args: typing.Any, **kwargs: typing.Any) -> None: ...
    def _define_value_and_grad(self, op: Op, names: list[str], has_aux: bool, /) -> None: ...
    def _register(self, name: str, schema: str, numbers: list[str], /) -> None: ...
    def _emit(
        self, stage: str, device: str | None, architecture: int, /, *args: typing.Any, **kwargs: typing.Any
    ) -> str: ...
    def _explain(
        self, of_gradient: bool, device: str | None, architecture: int, /, *args: typing.Any, **kwargs: typing.Any
    ) -> str: ...
    def _shard(
        self,
        device: torch.device,
        tensors: list[torch.Tensor],
        # For each dim of the mesh: the sharded dim of each tensor, whether a shard has size 1, whether a shard is empty.
        mesh: list[tuple[_ShardDims, bool, bool]],
        recorded: bool,  # whether a gradient is requested
        /,
        *args: typing.Any,
        **kwargs: typing.Any,
    ) -> tuple[bool, _Sharding | None]: ...  # whether the decision depends on numbers; None: no call on shards

def _prepare_all(calls: list[tuple[Op, tuple[typing.Any, ...], tuple[str, ...]]], /) -> None: ...
def _install_dynamo_call(type: type, call: typing.Callable[..., typing.Any], /) -> None: ...
def count_eager_fallback() -> None: ...
def counters() -> dict[str, int]: ...
def cache_info() -> dict[str, typing.Any]: ...
def language() -> list[tuple[str, str, tuple[str, ...], bool, bool, str]]: ...
def _read_value(
    name: str, text: str, seed: int, sizes: dict[str, int], meta: bool = False, /
) -> torch.Tensor | float | int | bool | None: ...
def _compile_cuda(
    source: str, name: str, architecture: int, options: list[str], expressions: list[str], /
) -> tuple[bytes, str, list[str], str]: ...  # a cubin, its PTX, the expressions' names in it, warnings
def _compile_host(source: str, name: str, options: list[str], /) -> bytes: ...
def _demangle(name: str, /) -> str | None: ...
def _load_kernels(cubin: bytes, entries: list[str], device: int, /) -> list[object]: ...
def _kernel_resources(kernel: object, threads: int, shared_bytes: int, /) -> dict[str, int]: ...
def _launch_kernel(
    kernel: object,
    grid: tuple[int, int, int],
    block: tuple[int, int, int],
    shared_bytes: int,
    arguments: tuple[bytes, ...],
    /,
) -> None: ...
