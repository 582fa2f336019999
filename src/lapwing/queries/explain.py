"""A plan in plain English: what is asked, whose data counts how often, how far one person can move it, and why."""

import itertools
from contextlib import suppress

from lapwing.queries.aggregate import (
    BinnedKey,
    BoundedRowsPerPerson,
    ClippedSumPerPerson,
    CountPerPerson,
    DeclaredKey,
    DistinctKeys,
    GridKey,
    Key,
    LastStepPerPerson,
    PrivateKey,
)
from lapwing.queries.bernstein import basis, products
from lapwing.queries.bounded import plain
from lapwing.queries.intervals import DAYS, DOUBLES, TRUTHS, Domain, Interval, day, double_at
from lapwing.queries.plan import (
    AtLeast,
    Distinct,
    Family,
    Meaning,
    Moments,
    People,
    Plan,
    Quantiles,
    RowCount,
    Steps,
    Top,
    Total,
)
from lapwing.queries.predicate import (
    ALWAYS,
    GAPS,
    AllOf,
    AnyOf,
    Gap,
    HasRows,
    InIntervals,
    InTexts,
    IsMissing,
    IsPresent,
    LacksRows,
    NotInTexts,
    Predicate,
    Ref,
    StartsNotWith,
    StartsWith,
    Unit,
)
from lapwing.queries.term import ConstantTerm, Elapsed, OnGrid, Plus, Rounded, Term, Times, columns
from lapwing.vocabulary.errors import BadQuestionError

_RELEASED = {
    Family.NOISE: "It is released with whole-number noise on every number: discrete Laplace or Gaussian.",
    Family.SELECTION: "It is released by a noisy choice among public candidates: the exponential mechanism or its kin.",
    Family.THRESHOLD: "Its groups are not public: they come with noise, and only above a threshold, for a delta.",
    Family.SPARSE_VECTOR: "It is answered yes or no by a sparse vector, in a stream; a no is paid for by the stream.",
}


def explain(plan: Plan) -> str:
    """Return what a plan asks and why it costs what it costs."""
    aggregate = plan.aggregate
    what = _asked(plan.meaning).replace("<value>", _measured(plan))
    where = "" if aggregate.where == ALWAYS else f" where {words(aggregate.where)}"
    groups = [_key(key) for key in aggregate.keys if not isinstance(key, GridKey)]
    by = f", grouped by {' and '.join(groups)}" if groups and not isinstance(plan.meaning, Top | Distinct) else ""
    if isinstance(plan.meaning, Top | Distinct):
        what = what.format(groups[0])
    sensitivity = plan.sensitivity
    return "\n".join(
        [
            f"Asked: {what}, in {aggregate.table}{where}{by}.",
            f"Bounded: {_bounding(plan)}",
            f"Hidden: {_hidden(plan)}; tighter bounds mean a more exact answer.",
            _RELEASED[plan.family],
            (
                f"Exactly: one person moves what is released by at most {sensitivity.l1} in all (L1), "
                f"{sensitivity.linf} in one number (Linf) and {sensitivity.l2_squared} in squares (L2 squared), in "
                f"whole steps; {sensitivity.reason}."
            ),
        ]
    )


def _hidden(plan: Plan) -> str:
    """Say how far one person can move the answer, in the unit of the answer, and that this much is hidden."""
    moved, groups = plan.sensitivity.l1, " in all groups together" if plan.aggregate.keys else ""
    match plan.meaning:
        case Total(step=step):
            return f"one person changes the total by at most {plain(moved * step)}{groups}, and noise hides that much"
        case Moments():
            return "noise hides whatever one person within these bounds can add"
        case Quantiles() | Top():
            return f"one person moves the order by at most {plan.sensitivity.linf}, and the choice hides that much"
        case AtLeast():
            return f"one person changes the number by at most {moved}, and noise hides that much"
        case _:
            return f"one person changes the answer by at most {moved}{groups}, and noise hides that much"


def _asked(meaning: Meaning) -> str:
    match meaning:
        case Total(step=step):
            return f"the total of <value>, in steps of {step}"
        case Moments(moment=moment):
            return f"the {moment.value} of <value>, and with it the number of rows"
        case Quantiles(at=at):
            return f"the quantiles of <value> at {', '.join(str(q) for q in at)}"
        case Top(k=k):
            return f"which {k} of {{}} have the most people"
        case Steps(names=names):
            return f"how many people pass {len(names)} conditions, one after the other"
        case AtLeast(people=people):
            return f"whether there are at least {people} people"
        case People() | RowCount() | Distinct():
            return _COUNTED[type(meaning)]


_COUNTED = {
    People: "the number of people",
    RowCount: "the number of rows",
    Distinct: "how many of {} there are",
}


def _measured(plan: Plan) -> str:
    """Return what is added up or ranked: columns as they are, or a value that is computed from columns."""
    ranked = tuple(key.term for key in plan.aggregate.keys if isinstance(key, GridKey))
    match plan.aggregate.bounding:
        case ClippedSumPerPerson(term=term):
            measured: tuple[Term, ...] = (term,)
        case BoundedRowsPerPerson(terms=picked):
            measured = ranked or picked
        case _:
            measured = ()
    names = " and ".join(sorted(set().union(*map(columns, measured))))
    return names if _as_they_are(measured) else f"a value of {names}"


def _as_they_are(measured: tuple[Term, ...]) -> bool:
    """Whether one column is measured, or the moments of one or two: nothing else is computed from them."""
    leaves = sorted(set().union(*map(_leaves, measured)), key=repr)
    degree = {2: 1, 3: 2, 4: 1, 9: 2}.get(len(measured), 0)  # of the polynomials of one value, or of two
    if len(measured) == 1 or (degree + 1) ** len(leaves) != len(measured):
        return list(measured) == leaves
    with suppress(BadQuestionError):  # too wide to be what was planned
        return any(
            measured == products([basis(leaf, degree) for leaf in order]) for order in itertools.permutations(leaves)
        )
    return False


def _leaves(term: Term) -> set[Term]:
    """Return the columns that a term is computed from, on the grid they are computed on."""
    match term:
        case OnGrid() | Rounded(OnGrid(), _):
            return {term}
        case Plus(left, right) | Times(left, right):
            return _leaves(left) | _leaves(right)
        case Rounded() | Elapsed() | ConstantTerm():
            return set()


def _bounding(plan: Plan) -> str:
    match plan.aggregate.bounding:
        case CountPerPerson(max_cells=cells) | DistinctKeys(max_cells=cells):
            return f"a person counts once{_in_groups(plan, cells)}, however many rows they have."
        case LastStepPerPerson():
            return "a person counts once, at the last condition that one of their rows reaches."
        case ClippedSumPerPerson(low=low, high=high, max_cells=cells):
            return f"{_clipped(plan, low, high)}{_in_groups(plan, cells)}."
        case BoundedRowsPerPerson(max_rows=rows, max_cells=cells):
            plural = "row" if rows == 1 else "rows"
            return f"at most {rows} {plural} of a person count{_in_groups(plan, cells)}; a public rule picks which."


def _clipped(plan: Plan, low: int, high: int) -> str:
    if isinstance(plan.meaning, Total):
        step = plan.meaning.step
        return f"a person's total is clipped to {plain(low * step)}..{plain(high * step)}"
    return f"at most {high} row{'' if high == 1 else 's'} of a person count"


def _in_groups(plan: Plan, cells: int | None) -> str:
    if not plan.aggregate.keys or cells is None:
        return ""
    return " in one group" if cells == 1 else f" in each of at most {cells} groups"


def _key(key: Key) -> str:
    match key:
        case DeclaredKey(column=column, values=values):
            return f"the {len(values)} declared values of {column}"
        case BinnedKey(column=column, bins=bins):
            return f"{len(bins)} bins of {column}"
        case GridKey():
            return f"{key.cells} cells"
        case PrivateKey(column=column):
            return f"whatever values {column} has"


def words(predicate: Predicate) -> str:
    """Return a predicate in words.

    >>> words(AllOf((IsMissing(column="age"), InTexts(column="sex", texts=("F", "M")))))
    "age is missing and sex is 'F' or 'M'"
    """
    match predicate:
        case AllOf(()) | AnyOf(()):
            return "always" if predicate == ALWAYS else "never"
        case AllOf(parts):
            return " and ".join(_inside(part) for part in parts)
        case AnyOf(parts):
            return " or ".join(_inside(part) for part in parts)
        case HasRows(table=table, where=where, at_least=times):
            return f"the person has {_times(times)} in {table}{_such(where)}"
        case LacksRows(table=table, where=where, at_least=1):
            return f"the person has no row in {table}{_such(where)}"
        case LacksRows(table=table, where=where, at_least=times):
            return f"the person has fewer than {times} rows in {table}{_such(where)}"
        case Gap():
            return _gap(predicate)
        case _:
            return f"{predicate.column} {_value(predicate)}"


def _inside(predicate: Predicate) -> str:
    several = isinstance(predicate, AllOf | AnyOf) and len(predicate.parts) > 1
    return f"({words(predicate)})" if several else words(predicate)


def _such(where: Predicate) -> str:
    return "" if where == ALWAYS else f" where ({words(where)})"


def _times(times: int) -> str:
    return "a row" if times == 1 else f"at least {times} rows"


def _value(
    atom: InIntervals | InTexts | NotInTexts | StartsWith | StartsNotWith | IsMissing | IsPresent,
) -> str:
    match atom:
        case InIntervals(line=line, spans=spans):
            return "is " + " or ".join(_span(line, span) for span in spans)
        case InTexts(texts=texts):
            return "is " + " or ".join(repr(text) for text in texts)
        case NotInTexts(texts=texts):
            return "is neither " + " nor ".join(repr(text) for text in texts)
        case StartsWith(prefix=prefix):
            return f"starts with {prefix!r}"
        case StartsNotWith(prefix=prefix):
            return f"does not start with {prefix!r}"
        case IsMissing():
            return "is missing"
        case IsPresent():
            return "is known"


def _span(line: Domain, span: Interval) -> str:
    low, high = span
    if low == high:
        return _point(line, low)
    least, most = _end(line, low, low - 1, "at least", "over"), _end(line, high, high + 1, "at most", "below")
    if low == line.lowest or high == line.highest:
        return most if low == line.lowest else least
    if least.startswith("over") or most.startswith("below"):
        return f"{least} and {most}"
    return f"from {_point(line, low)} to {_point(line, high)}"


def _end(line: Domain, place: int, beyond: int, within: str, outside: str) -> str:
    """Say where a span of numbers ends: by its last number, or by the first beyond, whichever is the shorter to say."""
    if line == DOUBLES and line.lowest < place < line.highest and len(_point(line, beyond)) < len(_point(line, place)):
        return f"{outside} {_point(line, beyond)}"
    return f"{within} {_point(line, place)}"


def _point(line: Domain, number: int) -> str:
    if line == DAYS:
        return day(number).isoformat()
    if line == DOUBLES:
        return repr(double_at(number)).removesuffix(".0")
    return str(bool(number)).lower() if line == TRUTHS else str(number)


def _gap(gap: Gap) -> str:
    spans = " or ".join(_span(GAPS[gap.unit], span) for span in gap.spans)
    unit = "days" if gap.unit is Unit.DAYS else "completed years"
    return f"from {_ref(gap.since)} to {_ref(gap.until)} it is {spans} {unit}"


def _ref(ref: Ref) -> str:
    return ref.column if ref.up == 0 else f"the outer row's {ref.column}"
