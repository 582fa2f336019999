"""The figures of one population, and the statement that is made of them, in English or German.

A statement is a page of Markdown with `$names` of figures. A line that begins with `?name` is there where that figure
is; a figure of several lines stands alone on its line. Every figure follows from settings and the account: no data is
read, and nothing is charged.
"""

import re
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from fractions import Fraction
from importlib.resources import files
from math import ceil, exp
from string import Template
from typing import Any, Final, Literal, TypeAlias

from lapwing import __version__
from lapwing.accounting.filters.account import Account, open_account
from lapwing.accounting.filters.charge import SingleRelease
from lapwing.accounting.interpretation import belief_range, factor, likely_loss
from lapwing.answers.budget import budget_record, share_left
from lapwing.ledger.states import Analyst, PopulationRecord
from lapwing.mechanisms.gaussian import DiscreteGaussianMechanism
from lapwing.mechanisms.laplace import GeometricMechanism
from lapwing.queries.catalogue.population import Population
from lapwing.vocabulary.event import Event
from lapwing.vocabulary.guarantee import Adjacency, ApproximateDP, Guarantee, PureDP
from lapwing.workspace.workspace import Workspace

Language: TypeAlias = Literal["en", "de"]
LANGUAGES: Final[tuple[Language, ...]] = ("en", "de")
_SIGNS: Final = {"epsilon": "ε", "delta": "δ", "rho": "ρ"}
_PRIORS: Final = ("0.01", "0.1", "0.5")
_WITHIN: Final = (100, 30, 10)
_MOST_COUNTS: Final = 1_000
_LARGE: Final = 10
_SPELT: Final = 34
_NEARLY: Final = {"en": "almost 100 %", "de": "fast 100 %"}
_COUNTS: Final = {"en": "$times counts within $within people", "de": "$times Zählungen auf $within Personen genau"}


def figures_of(workspace: Workspace, population: str, people: int | None, language: Language) -> dict[str, Any]:
    """Return the figures of a population, as its statement shows them; a figure that is not is None."""
    decided, account = workspace.ledger.population(population), workspace.ledger.account(population)
    declared = workspace.settings.declared(population).population
    epsilon, but_for = likely_loss(account.budget)
    numbers = _Numbers(language)
    clear = None if people is None else int(people * _delta_of(account.budget))
    replaced = declared.unit.adjacency is Adjacency.REPLACE
    figures = {
        "population": population,
        "date": datetime.now(UTC).date().isoformat(),
        "version": __version__,
        "people": None if people is None else numbers.whole(people),
        "budget": numbers.budget(account.budget),
        "spent": numbers.percent(float(1 - share_left(account))),
        "entries": numbers.whole(workspace.ledger.of(population).last_entry()),
        "beliefs": [
            (numbers.percent(float(prior)), numbers.percent(belief_range(prior, epsilon)[1])) for prior in _PRIORS
        ],
        "cases": numbers.whole(int(1 / but_for)) if but_for else None,
        "buys": [numbers.counts(account, decided.unit.protects_groups_of, within, language) for within in _WITHIN],
        "large": epsilon >= _LARGE,
        "factor": numbers.whole(ceil(exp(epsilon))) if epsilon < _SPELT else factor(Fraction(epsilon)),
        "clear": numbers.whole(clear) if clear else None,
        "concerns": epsilon >= _LARGE or bool(clear),
        "replace": replaced,
        "comes": not replaced,
    }
    return figures | _who(declared, decided, numbers)


def _who(declared: Population, decided: PopulationRecord, numbers: "_Numbers") -> dict[str, Any]:
    """Return who is protected, what may be asked about, and who may ask."""
    groups = decided.unit.protects_groups_of
    allowed = [numbers.allowance(name, one) for name, one in sorted(decided.analysts.items()) if one.allowance]
    return {
        "person_key": declared.unit.person_key,
        "groups": numbers.whole(groups) if groups > 1 else None,
        "single": groups == 1,
        "rest": bool(declared.segments),
        "tables": [f"- **{one.name}**: {', '.join(column.name for column in one.columns)}" for one in declared.tables],
        "allowances": allowed or None,
        "no_allowances": not allowed,
        "named_only": decided.only_named,
        "anybody": not decided.only_named,
        "most": None if decided.most is None else numbers.budget(decided.most),
    }


def statement(figures: Mapping[str, Any], language: Language) -> str:
    """Return the statement about these figures, as Markdown."""
    page = (files(__package__) / f"statement.{language}.md").read_text(encoding="utf-8")
    told = {name: "\n".join(map(_line, one)) if isinstance(one, list) else one for name, one in figures.items()}
    lines = list[str]()
    for line in page.splitlines():
        condition = re.match(r"\?(\w+) ?", line)
        if condition is None or told[condition[1]]:
            lines.append(Template(line[condition.end() :] if condition else line).substitute(told))
    return re.sub(r"\n{3,}", "\n\n", "\n".join(lines)) + "\n"


def _line(given: str | tuple[str, ...]) -> str:
    """Return a line of a list as it is, and the cells of a row of a table as such a row."""
    return given if isinstance(given, str) else f"| {' | '.join(given)} |"


class _Numbers:
    """Numbers as a language writes them, rounded so that none promises too much.

    >>> _Numbers("en").percent(0.0273), _Numbers("de").percent(0.0273), _Numbers("de").whole(12000)
    ('2.8 %', '2,8 %', '12.000')
    """

    def __init__(self, language: Language) -> None:
        self._signs = str.maketrans(",.", ".,") if language == "de" else {}
        self._nearly = _NEARLY[language]

    def whole(self, number: int) -> str:
        return f"{number:,}".translate(self._signs)

    def percent(self, share: float) -> str:
        """Return a share, rounded up; what is almost sure is not written as sure."""
        tenths = ceil(share * 1000 - 1e-9)
        if share < 1 and tenths >= 1000:  # noqa: PLR2004 - as many tenths as there are
            return self._nearly
        return f"{tenths / 10:g} %".translate(self._signs)

    def budget(self, budget: Guarantee) -> str:
        parts = (f"{_SIGNS[name]} = {value}" for name, value in budget_record(budget).items())
        return "; ".join(part.translate(self._signs) for part in parts)

    def allowance(self, name: str, analyst: Analyst) -> str:
        about = "" if analyst.tables is None else f" ({', '.join(analyst.tables) or '–'})"
        return f"- **{name}**: {self.budget(analyst.allowance) if analyst.allowance else ''}{about}"

    def counts(self, account: Account, groups: int, within: int, language: Language) -> str:
        times = max(_times(account.budget, event) for event in _counts(account.budget, groups, within))
        shown = self.whole(times) + ("+" if times == _MOST_COUNTS else "")
        return f"- {Template(_COUNTS[language]).substitute(times=shown, within=self.whole(within))}"


def _counts(budget: Guarantee, groups: int, within: int) -> Sequence[Event]:
    """Return the ways in which a count that is so exact can be released under a budget."""
    geometric = GeometricMechanism(l1_sensitivity=groups, within=within, confidence="0.95").event
    if isinstance(budget, PureDP):
        return (geometric,)
    return (geometric, DiscreteGaussianMechanism(l2_sensitivity=groups, within=within, confidence="0.95").event)


def _times(budget: Guarantee, event: Event) -> int:
    return open_account(budget).how_many(SingleRelease(event=event), at_most=_MOST_COUNTS)


def _delta_of(budget: Guarantee) -> Fraction:
    return budget.delta if isinstance(budget, ApproximateDP) else Fraction(0)
