"""A question in SQL: what an analyst would have to write to ask it so. Reading it must give the same plan.

It also makes a finding readable. Not every question of Python has a spelling: then it is None.
"""

from lapwing.queries.language.expressions import Case, Literal
from lapwing.queries.language.speller import Speller
from lapwing.queries.statistics.bernstein import Moment
from lapwing.queries.statistics.counts import CountPeople, CountRows
from lapwing.queries.statistics.distinct import CountDistinct
from lapwing.queries.statistics.moments import MomentQuestion
from lapwing.queries.statistics.quantiles import QuantileQuestion
from lapwing.queries.statistics.top import TopCategories, TopCounts
from lapwing.queries.statistics.total import Sum
from lapwing.vocabulary.errors import BadQuestionError

_MOMENTS = {
    Moment.MEAN: "avg",
    Moment.VARIANCE: "var_pop",
    Moment.COVARIANCE: "covar_pop",
    Moment.CORRELATION: "corr",
}


def in_sql(question, population):
    """Return a SELECT that asks `question`, or None where SQL cannot."""
    if not question.table or getattr(question, "sketch", None) is not None:  # SQL has no word for a sketch
        return None
    table = population.table(question.table)
    spell = Speller(population, table)
    try:
        statistic = _statistic(question, population.person_key(table), spell)
        where = spell.part(question.where)
        by = spell.part(question.by)
    except BadQuestionError:
        return None
    if statistic is None or spell.sets:
        return None
    text = f"select {statistic} from {quoted(table.name)} where {where}"
    if isinstance(question, TopCategories):
        people = f"count(distinct {quoted(population.person_key(table))})"
        return f"{text} group by {statistic} order by {people} desc limit {question.k}"
    if isinstance(question, TopCounts):
        return f"{text} group by {by} order by {statistic} desc limit {question.k}"
    return f"{text} group by {by}" if by else text


def quoted(name):
    return '"' + name.replace('"', '""') + '"'


def _is_of_rows(value):
    """Say whether a case is a value where a condition is true, and missing elsewhere."""
    return value.otherwise is None and len(value.branches) == 1 and not isinstance(value.branches[0][1], Literal)


def _statistic(question, key, spell):  # noqa: PLR0911 - one for each kind of question
    match question:
        case CountPeople() | TopCounts():
            return f"count(distinct {quoted(key)})"
        case CountRows():
            return "count(*)"
        case Sum(value=Case() as value) if not _is_of_rows(value):  # which SQL takes for a count of rows
            return None
        case Sum(value=value):
            return f"sum({spell.part(value)})"
        case MomentQuestion(moment=moment, values=values):
            return f"{_MOMENTS[moment]}({spell.part(values)})"
        case QuantileQuestion(value=value, at=at, cells=None):
            return f"quantile_cont({spell.part(value)}, [{spell.part(tuple(map(Literal, at)))}])"
        case TopCategories(column=column):
            return quoted(column.name)
        case CountDistinct(column=column, others=(_, *_) as others):
            return f"count(distinct ({', '.join(quoted(one.name) for one in (column, *others))}))"
        case CountDistinct(column=column):
            return f"count(distinct {quoted(column.name)})"
    return None
