"""From a case that shows something to a small one that still shows it: whatever can be left out is left out.

Greedy: of the cases that are smaller by one step, the first that still shows it is taken, until none does.
"""

from dataclasses import fields, is_dataclass, replace

from lapwing.queries.language.expressions import EVERYONE, And, Not, Or
from lapwing.queries.language.joined import Has
from lapwing.queries.statistics.funnel import Funnel

MOST_TRIALS = 400


def shrunk(case, still_shows, trials=MOST_TRIALS):
    """Return a small case for which `still_shows` is true, as it is for `case`."""
    while True:
        for candidate in _smaller(case):
            trials -= 1
            if trials < 0:
                return case
            if still_shows(candidate):
                case = candidate
                break
        else:
            return case


def _smaller(case):
    """Yield cases that are smaller by one step, those first that are much smaller."""
    yield from _fewer_questions(case)
    for asked in case.questions:
        others = tuple(q for q in case.questions if q is not asked)
        yield from (replace(case, questions=(*others, simpler)) for simpler in _simpler(asked))
    yield from _fewer_tables(case)
    for part in ("others", "leaving", "coming"):
        yield from _fewer_rows(case, part)
    yield from _fewer_columns(case)
    for part in ("others", "leaving", "coming"):
        yield from _emptier_rows(case, part)


def _fewer_questions(case):
    if len(case.questions) > 1:
        for asked in case.questions:
            yield replace(case, questions=tuple(q for q in case.questions if q is not asked))


def _simpler(asked):
    if asked.where is not EVERYONE:
        yield from (replace(asked, where=where) for where in _parts(asked.where))
    for by in asked.by:
        yield replace(asked, by=tuple(each for each in asked.by if each is not by))
    if isinstance(asked, Funnel) and len(asked.steps) > 1:
        for i in range(len(asked.steps)):
            steps, names = (tuple(x for j, x in enumerate(xs) if j != i) for xs in (asked.steps, asked.names))
            yield replace(asked, steps=steps, names=names)


def _parts(condition):
    """Yield conditions that are simpler than one."""
    yield EVERYONE
    match condition:
        case And(parts) | Or(parts):
            yield from parts
            for i, part in enumerate(parts):
                yield from (type(condition)((*parts[:i], each, *parts[i + 1 :])) for each in _parts(part))
        case Not(part):
            yield part
            yield from map(Not, _parts(part))
        case Has(where=where, at_least=at_least):
            if at_least > 1:
                yield replace(condition, at_least=1)
            if where is not EVERYONE:
                yield from (replace(condition, where=each) for each in _parts(where))


def _with_rows(case, part, name, rows):
    return replace(case, pair=replace(case.pair, **{part: {**getattr(case.pair, part), name: rows}}))


def _fewer_rows(case, part):
    for name, rows in getattr(case.pair, part).items():
        size = len(rows)
        while size:
            yield from (_with_rows(case, part, name, rows[:i] + rows[i + size :]) for i in range(0, len(rows), size))
            size //= 2


def _emptier_rows(case, part):
    """Yield cases with one cell missing that is not: what is left then matters."""
    keys = {table.name: case.population.person_key(table) for table in case.population.tables}
    for name, rows in getattr(case.pair, part).items():
        for i, row in enumerate(rows):
            for column in (c for c, value in row.items() if value is not None and c != keys[name]):
                yield _with_rows(case, part, name, [*rows[:i], {**row, column: None}, *rows[i + 1 :]])


def _fewer_tables(case):
    for table in case.population.tables if len(case.population.tables) > 1 else ():
        tables = tuple(t for t in case.population.tables if t is not table)
        yield _in_population(case, replace(case.population, tables=tables))


def _fewer_columns(case):
    population = case.population
    for i, table in enumerate(population.tables):
        for column in table.columns:
            if column.name != table.row_key:
                less = replace(
                    table, columns=tuple(c for c in table.columns if c is not column and c.time_of != column.name)
                )
                tables = (*population.tables[:i], less, *population.tables[i + 1 :])
                yield _in_population(case, replace(population, tables=tables))


def _in_population(case, population):
    """Return the case with only the tables and columns of a smaller catalogue."""
    names = {t.name: {population.person_key(t), *(c.name for c in t.columns)} for t in population.tables}

    def cut(tables):
        return {
            name: [{column: value for column, value in row.items() if column in kept} for row in tables[name]]
            for name, kept in names.items()
        }

    pair = replace(case.pair, **{field.name: cut(getattr(case.pair, field.name)) for field in fields(case.pair)})
    return replace(case, population=population, pair=pair)


def shown(noun):
    """Return the Python text of a noun of the language, without what is as it is by default."""
    if not is_dataclass(noun):
        return f"({', '.join(map(shown, noun))},)" if isinstance(noun, tuple) and noun else repr(noun)
    given = [(f.name, getattr(noun, f.name)) for f in fields(noun)]
    parts = [f"{name}={shown(value)}" for name, value in given if value is not None and value is not EVERYONE]
    return f"{type(noun).__name__}({', '.join(parts)})"
