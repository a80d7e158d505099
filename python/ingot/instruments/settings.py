"""What a process has set in PyTorch, which all who compute in it share."""

from __future__ import annotations

import torch


class Settings:
    """As they were found: the threads of the CPU, the default dtype, whether gradients are recorded, whether algorithms must
    be deterministic."""

    def __init__(self):
        self._found = self._now()

    @staticmethod
    def _now() -> tuple:
        return (torch.get_num_threads(), torch.get_default_dtype(), torch.is_grad_enabled(),
                torch.are_deterministic_algorithms_enabled())

    def restore(self) -> None:
        """Undoes what somebody has changed since."""
        if self._now() == self._found:
            return
        threads, dtype, records, is_deterministic = self._found
        torch.set_num_threads(threads)
        torch.set_default_dtype(dtype)
        torch.set_grad_enabled(records)
        torch.use_deterministic_algorithms(is_deterministic)
