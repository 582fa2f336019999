"""What the reports say: a table of answers, with how many people gave each, and between which numbers that lies."""

from collections.abc import Callable, Sequence
from fractions import Fraction
from html import escape
from typing import Any

import numpy as np

from lapwing.surveys.agreements import Integers, candidates, count_agreements, find_prefixes
from lapwing.surveys.intervals import AgreementLaw, nearest_counts
from lapwing.surveys.report_law import ReportLaw
from lapwing.vocabulary.frozen import frozen
from lapwing.vocabulary.results import Result, html_table

ROWS = 1000  # of a table, unless more are asked for
KEPT = 128  # prefixes that are kept from one group to the next
_SHOWN = 20


@frozen()
class Estimate:
    """One answer: how many people gave it.

    `people` is what fits together: no number is negative, and all add up to everybody. `unbiased` stands by itself, and
    the interval from `low` to `high` is its own: it holds with the stated confidence, whatever the truth is. Where the
    table shows some answers only, those that came out largest, their intervals hold for all answers at once.
    `seen` says that somebody has this answer, and is right for all answers at once with that confidence.
    """

    answer: str
    people: float
    low: int
    high: int
    unbiased: float
    seen: bool


@frozen(repr=False)
class SurveyEstimates(Result):
    """The answers of a round, the most frequent first; numbers are of the `people` who sent a report.

    Of words that cannot be listed, they are of the people of the last group, who were asked for whole words.
    """

    rows: Sequence[Estimate]
    people: int
    confidence: Fraction
    epsilon: Fraction

    def __getitem__(self, answer: str) -> Estimate:
        for row in self.rows:
            if row.answer == answer:
                return row
        raise KeyError(answer)

    def __repr__(self) -> str:
        return f"<estimates of {len(self.rows)} answers from {self.people} people>"

    def __str__(self) -> str:
        head = [("answer", "people", "low", "high", "")]
        lines = head + [tuple(map(str, row)) for row in self._cells()]
        widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
        sides = "<>>><"
        return "\n".join(
            "  ".join(f"{cell:{side}{width}}" for cell, side, width in zip(line, sides, widths, strict=True)).rstrip()
            for line in lines
        )

    def _cells(self) -> list[tuple[object, ...]]:
        return [
            (row.answer, round(row.people), row.low, row.high, "" if row.seen else "may be nobody")
            for row in self.rows[:_SHOWN]
        ]

    def facts(self) -> list[tuple[str, str | None]]:
        """Return the most frequent answers with their intervals."""
        return [(row.answer, f"{row.people:.0f} ({row.low} to {row.high})") for row in self.rows[:_SHOWN]]

    def _repr_html_(self) -> str:
        caption = f"{self.people} people, each at epsilon {self.epsilon}"
        return html_table(["answer", "people", "low", "high", ""], self._cells(), caption)

    def to_dict(self) -> dict[str, Any]:
        """Return all rows as JSON values."""
        names = ("answer", "people", "low", "high", "unbiased", "seen")
        return {
            "people": self.people,
            "confidence": str(self.confidence),
            "epsilon": str(self.epsilon),
            "rows": [{name: getattr(row, name) for name in names} for row in self.rows],
        }

    def svg(self) -> str:
        """Return a picture: a bar for each answer with its number, and a line from end to end of its interval."""
        rows, width, scale = self.rows[:_SHOWN], 640, 260 / max(1, max((row.high for row in self.rows), default=1))
        parts = []
        for place, row in enumerate(rows):
            y, name = 24 * place + 40, escape(row.answer[:24])
            low, high = 180 + row.low * scale, 180 + row.high * scale
            parts.append(
                f'<text x="172" y="{y + 4}" text-anchor="end">{name}</text>'
                f'<rect x="180" y="{y - 8}" width="{row.people * scale:.1f}" height="16" fill="#8fb8a8"/>'
                f'<path d="M{low:.1f} {y}H{high:.1f}M{low:.1f} {y - 5}v10M{high:.1f} {y - 5}v10" stroke="#223"/>'
                f'<text x="{high + 8:.1f}" y="{y + 4}">{row.people:,.0f} ({row.low:,} to {row.high:,})</text>'
            )
        title = (
            f"{self.people:,} people, each at epsilon {self.epsilon}; intervals hold with {float(self.confidence):.4g}"
        )
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {24 * len(rows) + 50}" role="img" '
            f'font-family="sans-serif" font-size="13"><rect width="100%" height="100%" fill="#fff"/>'
            f'<text x="16" y="20">{title}</text>{"".join(parts)}</svg>'
        )


def estimate_answers(
    law: ReportLaw,
    reports: Integers,
    name: Callable[[int], str],
    *,
    epsilon: Fraction,
    confidence: Fraction,
    most: int,
) -> SurveyEstimates:
    """Return the `most` frequent answers of those that reports are about; `name` spells them."""
    if law.groups > 1:
        codes, hits = find_prefixes(law, reports, keep=max(KEPT, most))
        people = int((reports[:, 0] == law.groups - 1).sum())
    else:
        hits, people = count_agreements(law, reports), len(reports)
        codes = np.arange(law.domain)
    agreement, risk = AgreementLaw.of(law, people), float(1 - confidence)
    unbiased = agreement.estimate(hits.astype(np.float64))
    together = nearest_counts(unbiased, people) if len(codes) == law.domain else unbiased.clip(0, people)
    best = np.arange(len(codes)) if law.groups > 1 else np.argsort(-together, kind="stable")  # words are found in order
    chosen = best[:most][np.argsort(-together[best[:most]], kind="stable")]
    for_all = risk / candidates(law, max(KEPT, most))
    low, high = agreement.intervals(hits[chosen].astype(np.float64), risk if len(chosen) == law.domain else for_all)
    seen = hits >= agreement.first_seen(for_all)
    rows = [
        Estimate(
            answer=name(int(codes[i])),
            people=float(together[i]),
            low=int(fewest),
            high=int(largest),
            unbiased=float(unbiased[i]),
            seen=bool(seen[i]),
        )
        for i, fewest, largest in zip(chosen, low, high, strict=True)
    ]
    return SurveyEstimates(rows=rows, people=people, confidence=confidence, epsilon=epsilon)
