"""Where a training is computed: by NumPy on the processor, or by PyTorch on any device that it knows.

Both compute the same whole numbers, so a model does not depend on it. PyTorch is imported where it is asked for.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from lapwing.mechanisms.private_gradients import Arrays, NumpyArrays
from lapwing.vocabulary.errors import BadQuestionError
from lapwing.vocabulary.loading import load_extra


class TorchArrays:
    """Tensors of PyTorch on a device."""

    def __init__(self, device: Any) -> None:
        self.xp = load_extra("torch", extra="learning")
        self._device, self._int64, self._float64 = device, self.xp.int64, self.xp.float64

    def real(self, whole: Any) -> Any:
        """Return whole numbers as float64, which holds them exactly up to 2^53."""
        return whole.to(self._float64)

    def whole(self, real: Any) -> Any:
        """Return whole numbers in float64 as int64."""
        return real.to(self._int64)

    def here(self, numbers: NDArray[np.int64]) -> Any:
        """Return whole numbers of NumPy as tensors of this device."""
        return self.xp.as_tensor(numbers, device=self._device)

    def host(self, numbers: Any) -> NDArray[np.int64]:
        """Return whole numbers as NumPy has them."""
        return np.asarray(numbers.cpu().numpy(), np.int64)


def arrays_on(device: str | None) -> Arrays:
    """Return what to compute with: NumPy where no device is named."""
    if device is None:
        return NumpyArrays()
    torch = load_extra("torch", extra="learning")
    try:
        found = torch.device(device)
        torch.zeros(1, device=found, dtype=torch.float64)  # without which nothing is exact there
    except (RuntimeError, TypeError, AssertionError):
        raise BadQuestionError(
            f'device={device!r} is none on which PyTorch has float64 here; write "cpu" or "cuda", or leave it out and '
            "NumPy computes"
        ) from None
    return TorchArrays(found)
