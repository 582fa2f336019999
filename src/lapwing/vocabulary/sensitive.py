"""A value that has no noise on it yet, wrapped so that it cannot be shown by accident."""

from collections.abc import Callable
from typing import Any, Generic, NoReturn, TypeVar

from lapwing.vocabulary.errors import SecrecyError

T_co = TypeVar("T_co", covariant=True)


def _refuse(what: str) -> Callable[..., Any]:
    def refuse(_: object, *__: object, **___: object) -> NoReturn:
        raise SecrecyError(f"an exact value may not be {what}; release it through a mechanism")

    return refuse


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

    __str__ = _refuse("printed")
    __format__ = _refuse("formatted")
    __eq__ = __lt__ = __le__ = __gt__ = __ge__ = _refuse("compared")
    __hash__ = _refuse("hashed")
    __bool__ = _refuse("used as a truth value")
    __int__ = _refuse("turned into an int")
    __float__ = _refuse("turned into a float")
    __index__ = _refuse("used as an index")
    __len__ = _refuse("measured")
    __array__ = _refuse("turned into an array")
    __copy__ = __deepcopy__ = _refuse("copied")
    __getstate__ = __reduce_ex__ = _refuse("pickled")
