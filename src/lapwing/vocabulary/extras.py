"""Drivers that come with an extra: loaded when they are needed, and told by name where they are missing."""

from importlib import import_module
from typing import Any

from lapwing.vocabulary.errors import MissingExtraError


def load_extra(module: str, *, extra: str) -> Any:
    """Return a module that is, or stands on, a driver of an extra such as `lapwing[postgres]`.

    >>> load_extra("a_driver_that_nobody_has", extra="postgres")
    Traceback (most recent call last):
    ...
    lapwing.errors.MissingExtraError: a_driver_that_nobody_has is not installed; pip install
    'lapwing[postgres]'
    """
    try:
        return import_module(module)
    except ModuleNotFoundError as missing:
        if missing.name is None or missing.name.partition(".")[0] == "lapwing":
            raise  # a mistake of ours, which no installation mends
        raise MissingExtraError(missing.name, extra=extra) from None
