"""A value that has no noise on it yet, wrapped so that it cannot be shown by accident."""

from collections.abc import Callable
from typing import Any, Generic, NoReturn, TypeVar

from lapwing.vocabulary.errors import SecrecyError

T_co = TypeVar("T_co", covariant=True)

_REMEDY = "release it through a mechanism"


class Sensitive(Generic[T_co]):
    """An exact answer, which only a mechanism may open.

    It refuses to be printed in full, formatted, compared, hashed, counted, copied out, pickled or used as a truth
    value, so that logs, tracebacks, f-strings and test reports never hold it. This guards against accidents, not
    against code that means harm: Python cannot hide a value from the process it lives in.

    >>> cohort = Sensitive(17)
    >>> cohort
    <sensitive>
    >>> f"{cohort}"
    Traceback (most recent call last):
    ...
    lapwing.errors.SecrecyError: an exact value may not be formatted; release it through a mechanism
    >>> cohort == 17
    Traceback (most recent call last):
    ...
    lapwing.errors.SecrecyError: an exact value may not be compared; release it through a mechanism
    """

    __slots__ = ("__opened",)

    def __init__(self, value: T_co) -> None:
        # Inside a function, so that whoever goes through the attributes of objects (inspect, rich) meets no value.
        self.__opened: Callable[[], T_co] = lambda: value

    def open_for_release(self) -> T_co:
        """Return the exact value. Mechanisms call this, and nothing else may (a test reads the source for it)."""
        return self.__opened()

    def __repr__(self) -> str:
        return "<sensitive>"

    def _refuse(self, what: str) -> NoReturn:
        raise SecrecyError(f"an exact value may not be {what}; {_REMEDY}")

    def __str__(self) -> str:
        self._refuse("printed")

    def __format__(self, spec: str) -> str:
        self._refuse("formatted")

    def __eq__(self, other: object) -> bool:
        self._refuse("compared")

    __lt__ = __le__ = __gt__ = __ge__ = __eq__

    def __hash__(self) -> int:
        self._refuse("hashed")

    def __bool__(self) -> bool:
        self._refuse("used as a truth value")

    def __int__(self) -> int:
        self._refuse("turned into an int")

    def __float__(self) -> float:
        self._refuse("turned into a float")

    def __index__(self) -> int:
        self._refuse("used as an index")

    def __len__(self) -> int:
        self._refuse("measured")

    def __array__(self, *_: Any, **__: Any) -> NoReturn:
        self._refuse("turned into an array")

    def __copy__(self) -> NoReturn:
        self._refuse("copied")

    def __deepcopy__(self, memo: object) -> NoReturn:
        self._refuse("copied")

    def __getstate__(self) -> NoReturn:
        self._refuse("pickled")

    def __reduce_ex__(self, protocol: object) -> NoReturn:
        self._refuse("pickled")
