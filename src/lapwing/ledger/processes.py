"""Processes beside this one that read chains: each opens the database for itself, and takes nothing along."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from concurrent.futures import ProcessPoolExecutor


@contextmanager
def spawned(processes: int) -> "Iterator[ProcessPoolExecutor]":
    """Begin so many processes, and end them."""
    from concurrent.futures import ProcessPoolExecutor  # noqa: PLC0415 - slow to load, and seldom needed
    from multiprocessing import get_context  # noqa: PLC0415

    with ProcessPoolExecutor(processes, mp_context=get_context("spawn")) as pool:
        yield pool
