"""The periods of a dashboard: days, months, quarters or years from a stated first day on, fixed for ever."""

from datetime import date, datetime, timedelta
from typing import Final

from lapwing.vocabulary.errors import ParameterError
from lapwing.vocabulary.exact import as_int
from lapwing.vocabulary.frozen import frozen

MONTHS: Final = {"month": 1, "quarter": 3, "year": 12}
EVERY: Final = ("day", "week", *MONTHS)
MOST_RELEASES: Final = 1000
_DAYS: Final = {"day": 1, "week": 7}


def as_day(name: str, given: str | date) -> date:
    """Return a day that was given as one, or as text."""
    if isinstance(given, datetime):
        return given.date()
    if isinstance(given, date):
        return given
    try:
        return date.fromisoformat(given)
    except (TypeError, ValueError):
        raise ParameterError(name, given, reason="is no day", remedy="write it as 2024-01-31") from None


@frozen()
class PeriodGrid:
    """So many periods of one length, one after the other; the first begins on `first`.

    >>> grid = PeriodGrid(every="month", first=date(2024, 1, 1), releases=14)
    >>> grid.label(14), grid.begins(14), grid.last, grid.over(date(2024, 3, 1))
    ('2025-02', datetime.date(2025, 2, 1), datetime.date(2025, 2, 28), 2)
    """

    every: str
    first: date
    releases: int

    @staticmethod
    def of(every: str, first: str | date, releases: int | None, last: str | date | None) -> "PeriodGrid":
        """Return the grid that was asked for: by the number of its periods, or by the day on which it ends."""
        if every not in EVERY:
            raise ParameterError("every", every, reason="is no period", remedy=f"write one of {', '.join(EVERY)}")
        begin = as_day("first", first)
        if every in MONTHS and begin.day != 1:
            remedy = f"begin with {begin.replace(day=1)}"
            raise ParameterError("first", str(begin), reason=f"is in the middle of a {every}", remedy=remedy)
        if (releases is None) == (last is None):
            given = "neither is given" if releases is None else "both are given"
            remedy = "say how many releases there will be, or the last day of the last of them"
            raise ParameterError("releases", releases, reason=f"or last=: {given}", remedy=remedy)
        if last is None:
            return PeriodGrid(every=every, first=begin, releases=as_int("releases", releases, most=MOST_RELEASES))
        end = as_day("last", last)
        if end < begin:
            reason = f"is before the first day, {begin}: the grid would end before it begins"
            raise ParameterError("last", str(end), reason=reason, remedy="write a later day")
        widest = PeriodGrid(every=every, first=begin, releases=MOST_RELEASES)
        many = widest.over(end + timedelta(days=1))
        if many == 0 or widest.ends(many) != end:
            remedy = f"write {widest.ends(min(many + 1, MOST_RELEASES))}"
            raise ParameterError("last", str(end), reason=f"is not the last day of a {every}", remedy=remedy)
        return PeriodGrid(every=every, first=begin, releases=many)

    def begins(self, period: int) -> date:
        """Return the first day of a period, counted from 1."""
        if self.every in _DAYS:
            return self.first + timedelta(days=_DAYS[self.every] * (period - 1))
        years, month = divmod(self.first.month - 1 + MONTHS[self.every] * (period - 1), 12)
        return date(self.first.year + years, month + 1, 1)

    def ends(self, period: int) -> date:
        """Return the last day of a period."""
        return self.begins(period + 1) - timedelta(days=1)

    @property
    def last(self) -> date:
        """The last day of the last period."""
        return self.ends(self.releases)

    def over(self, today: date) -> int:
        """Return how many periods are over by a day."""
        low, high = 0, self.releases
        while low < high:
            middle = (low + high + 1) // 2
            low, high = (middle, high) if self.ends(middle) < today else (low, middle - 1)
        return low

    def label(self, period: int) -> str:
        """Return what a period is called: 2024, 2024-Q1, 2024-01, or its first day."""
        begin = self.begins(period)
        match self.every:
            case "year" if begin.month == 1:
                return f"{begin:%Y}"
            case "quarter" if begin.month % 3 == 1:
                return f"{begin.year}-Q{(begin.month + 2) // 3}"
            case "month":
                return f"{begin:%Y-%m}"
            case _:
                return str(begin)

    @property
    def edges(self) -> list[date]:
        """The first day of each period, and the last day of all."""
        return [*(self.begins(period) for period in range(1, self.releases + 1)), self.last]

    def __str__(self) -> str:
        return f"{self.releases:,} {self.every}s from {self.first} to {self.last}"
