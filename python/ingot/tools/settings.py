"""PyTorch's process-wide settings, which all candidates in a process share."""

from __future__ import annotations

import sys

import torch


class Settings:
    """A snapshot of the settings that a candidate may change: CPU threads, default dtype and device, current GPU, grad mode,
    deterministic algorithms, float32 matmul precision, cuDNN benchmarking, and flushing of subnormal numbers. Loading a library
    that GCC has linked with -ffast-math changes the last one."""

    def __init__(self):
        self._snapshot = self._now()

    @staticmethod
    def _now() -> tuple:
        return (torch.get_num_threads(), torch.get_default_dtype(), torch.get_default_device(), torch.is_grad_enabled(),
                torch.are_deterministic_algorithms_enabled(), torch.is_deterministic_algorithms_warn_only_enabled(),
                torch.get_float32_matmul_precision(), _flushes_subnormals(), torch.backends.cudnn.benchmark,
                torch.cuda.current_device() if torch.cuda.is_initialized() else None)

    def restore(self) -> None:
        """Undoes all changes since the snapshot."""
        now = self._now()
        if now == self._snapshot or (self._snapshot[-1] is None and now[:-1] == self._snapshot[:-1]):  # no GPU was in use then
            return
        (threads, dtype, device, grad_enabled, is_deterministic, warns_only, precision, flushes_subnormals, benchmarks_cudnn,
         gpu) = self._snapshot
        torch.set_num_threads(threads)
        torch.set_default_dtype(dtype)
        torch.set_default_device(None if device.type == "cpu" else device)
        torch.set_grad_enabled(grad_enabled)
        torch.use_deterministic_algorithms(is_deterministic, warn_only=warns_only)
        torch.set_float32_matmul_precision(precision)
        torch.set_flush_denormal(flushes_subnormals)
        torch.backends.cudnn.benchmark = benchmarks_cudnn
        if gpu is not None:
            torch.cuda.set_device(gpu)


def _flushes_subnormals() -> bool:
    return sys.float_info.min / 2 == 0.0
