"""SQL about the catalogue: SHOW TABLES, DESCRIBE, and SELECT ... FROM information_schema.

    select column_name, data_type from information_schema.columns where table_name = 'visits'

Which tables and columns there are is public, so this is answered from the declarations alone: it has no price, no noise
and no receipt, and no engine or ledger is asked. A few clauses are read, whatever else is written is refused.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, TypeAlias

from sqlglot import exp

from lapwing.queries.algebra.pattern import canonical, fits, read_as
from lapwing.queries.catalogue.population import Population
from lapwing.queries.language.sql.clauses import items_of
from lapwing.queries.language.sql.nodes import literal, name_of, only, parsed
from lapwing.vocabulary.errors import BadQuestionError
from lapwing.vocabulary.frozen import frozen
from lapwing.vocabulary.results import Result, html_table

_Row: TypeAlias = dict[str, str | int]
_Test: TypeAlias = Callable[[_Row], bool]
_SCHEMA: Final = "information_schema"
_SPEAKS_OF_TABLES: Final = re.compile(
    r"^\W*(show|describe|desc|pragma|summarize)\b|information_schema|pg_catalog|--|/\*", re.IGNORECASE
)
_READ: Final = (
    "of the catalogue there are show tables, describe a table, and select ... from information_schema.tables or "
    "information_schema.columns, with where (=, <>, in, like, and, or, not) and order by; it is free"
)
_COLUMNS: Final = {
    "tables": ("table_catalog", "table_schema", "table_name", "table_type", "rows_of_a_person"),
    "columns": (
        *("table_catalog", "table_schema", "table_name", "column_name"),
        *("ordinal_position", "is_nullable", "data_type", "declared_values"),
    ),
}


@frozen(kw_only=False)
class CatalogueRows(Result):
    """What SQL asked about the catalogue, which is public: `columns` and `rows`. It cost nothing."""

    columns: tuple[str, ...]
    rows: tuple[tuple[str | int, ...], ...]

    def to_dict(self) -> dict[str, Any]:
        """Return the rows as JSON values."""
        return {"columns": list(self.columns), "rows": [list(row) for row in self.rows], "cost": "nothing"}

    def facts(self) -> list[tuple[str, str | None]]:
        """Return each row by its first value."""
        return [(str(row[0]), ", ".join(map(str, row[1:])) or None) for row in self.rows]

    def _repr_html_(self) -> str:
        return html_table(self.columns, self.rows, "the catalogue, which is public and costs nothing")

    def __repr__(self) -> str:
        lines = [self.columns, *([str(cell) for cell in row] for row in self.rows)]
        widths = [max(len(line[place]) for line in lines) for place in range(len(self.columns))]
        return "\n".join("  ".join(map(str.ljust, line, widths)).rstrip() for line in lines)


def asks_for_catalogue(tree: exp.Expr) -> bool:
    """Say whether a text asks which tables and columns there are."""
    if isinstance(tree, exp.Command):
        return str(tree.this).casefold() in {"show", "describe", "desc", "pragma"}
    if isinstance(tree, exp.Show | exp.Describe | exp.Summarize | exp.Pragma):
        return True
    return any(table.db.casefold() in {_SCHEMA, "pg_catalog"} for table in tree.find_all(exp.Table))


def speaks_of_catalogue(text: str) -> bool:
    """Say whether a text may ask about the catalogue: most do not, and need not be read twice."""
    return _SPEAKS_OF_TABLES.search(text) is not None


def read_catalogue(text: str, population: Population) -> CatalogueRows | None:
    """Return what a text asks about the catalogue; None where it asks about rows of people.

    >>> from lapwing.queries.catalogue.population import public_population
    >>> read_catalogue("select count(*) from visits", public_population("visits", ())) is None
    True
    """
    if not speaks_of_catalogue(text):
        return None
    tree = parsed(text)
    if not asks_for_catalogue(tree):
        return None
    match tree:
        case exp.Show() if tree.name.casefold() in {"tables", "all tables"}:
            return CatalogueRows(("name",), tuple((name,) for name in _names(population)))
        case exp.Describe(this=exp.Table() as table) if not table.db:
            return _described(table.name, population)
        case exp.Command() if (words := _words(tree))[:2] in (["columns", "from"], ["columns", "in"]):
            return _described(words[2].strip("\"'`"), population)
        case exp.Select():
            return _selected(tree, population)
        case _:
            raise BadQuestionError(_READ)


def _words(tree: exp.Command) -> list[str]:
    words = str(tree.args.get("expression") or "").replace(";", " ").split()
    return [*(word.casefold() for word in words[:2]), *words[2:]] if len(words) == 3 else []  # noqa: PLR2004 - columns from t


def _names(population: Population) -> list[str]:
    return [*(table.name for table in population.tables), *(one.name for one in population.vocabularies)]


def _described(name: str, population: Population) -> CatalogueRows:
    wanted = [row for row in _rows("columns", population) if str(row["table_name"]).casefold() == name.casefold()]
    if not wanted:
        population.table(name)  # refuses it with the names that there are
    shown = ("column_name", "data_type", "is_nullable", "declared_values")
    return CatalogueRows(shown, tuple(tuple(row[column] for column in shown) for row in wanted))


def _rows(kind: str, population: Population) -> list[_Row]:
    """Return the rows of information_schema.tables or information_schema.columns."""
    common: _Row = {"table_catalog": population.name, "table_schema": "main"}
    if kind == "tables":
        people = [
            {**common, "table_name": one.name, "table_type": "BASE TABLE", "rows_of_a_person": one.rows_in_words}
            for one in population.tables
        ]
        public = [
            {**common, "table_name": one.name, "table_type": "VOCABULARY", "rows_of_a_person": "nobody is in it"}
            for one in population.vocabularies
        ]
        return [*people, *public]
    found = list[_Row]()
    for table in population.tables:
        lines = [[population.person_key(table), "person key", "tells people apart", ""], *table.lines()]
        for place, (name, kind_of, values, missing) in enumerate(lines, start=1):
            own: _Row = {"table_name": table.name, "column_name": name, "ordinal_position": place}
            told: _Row = {"is_nullable": "YES" if missing else "NO", "data_type": kind_of, "declared_values": values}
            found.append({**common, **own, **told})
    for one in population.vocabularies:
        for place, name in enumerate(one.column_names, start=1):
            own = {"table_name": one.name, "column_name": name, "ordinal_position": place}
            found.append({**common, **own, "is_nullable": "YES", "data_type": "", "declared_values": ""})
    return found


def _selected(tree: exp.Select, population: Population) -> CatalogueRows:
    """Return the rows that a SELECT from one table of the information schema gives."""
    only(tree, "expressions", "from_", "where", "order", "limit", "distinct")
    source = tree.args["from_"].this if tree.args.get("from_") else None
    if not isinstance(source, exp.Table) or source.db.casefold() != _SCHEMA or source.name.casefold() not in _COLUMNS:
        raise BadQuestionError(_READ)
    only(tree.args["from_"], "this")
    only(source, "this", "db", "alias")
    kind = source.name.casefold()
    rows = _rows(kind, population)
    if where := tree.args.get("where"):
        only(where, "this")
        test = _test(where.this, _COLUMNS[kind])
        rows = [row for row in rows if test(row)]
    columns = list[tuple[str, str]]()
    for item in items_of(tree):
        if isinstance(item.node, exp.Star):
            only(item.node)
            columns += [(name, name) for name in _COLUMNS[kind]]
        elif isinstance(item.node, exp.Count) and isinstance(item.node.this, exp.Star) and len(tree.expressions) == 1:
            return CatalogueRows((item.alias or "count",), ((len(rows),),))
        else:
            name = _column(item.node, _COLUMNS[kind])
            columns.append((item.alias or name, name))
    rows = _ordered(tree.args.get("order"), rows, dict(columns), _COLUMNS[kind])
    told = [tuple(row[name] for _, name in columns) for row in rows]
    if tree.args.get("distinct"):
        told = list(dict.fromkeys(told))
    if limit := tree.args.get("limit"):
        most = literal(limit.expression).value
        told = told[: most if isinstance(most, int) else None]
    return CatalogueRows(tuple(name for name, _ in columns), tuple(told))


def _column(node: exp.Expr, columns: Sequence[str]) -> str:
    name = name_of(node).name.casefold() if isinstance(node, exp.Column) else ""
    if name not in columns:
        raise BadQuestionError(f"the catalogue has {', '.join(columns)} here; {_READ}")
    return name


def _ordered(order: exp.Expr | None, rows: list[_Row], named: Mapping[str, str], columns: Sequence[str]) -> list[_Row]:
    for one in reversed(order.expressions if order is not None else ()):
        place = one.this.name if isinstance(one.this, exp.Literal) else ""
        by = list(named.values())[int(place) - 1] if place.isdigit() and 0 < int(place) <= len(named) else None
        name = by or named.get(one.this.name) or _column(one.this, columns)
        rows = sorted(rows, key=lambda row, name=name: row[name], reverse=bool(one.args.get("desc")))  # type: ignore[misc]
    return rows


def _test(node: exp.Expr, columns: Sequence[str]) -> _Test:
    """Return what WHERE says of a row of the catalogue."""
    match node:
        case exp.Paren():
            return _test(node.this, columns)
        case exp.Not():
            inner = _test(node.this, columns)
            return lambda row: not inner(row)
        case exp.And() | exp.Or():
            sides, combine = [_test(side, columns) for side in (node.this, node.expression)], all
            if isinstance(node, exp.Or):
                combine = any
            return lambda row: combine(side(row) for side in sides)
        case exp.EQ() | exp.NEQ():
            name, value = _column(node.this, columns), literal(node.expression).value
            return lambda row: (row[name] == value) is isinstance(node, exp.EQ)
        case exp.In(expressions=[_, *_] as given):
            name, values = _column(node.this, columns), [literal(one).value for one in given]
            return lambda row: row[name] in values
        case exp.Like() | exp.ILike():
            name, any_case = _column(node.this, columns), isinstance(node, exp.ILike)
            pattern = read_as(canonical(str(literal(node.expression).value), None), any_case=any_case, trimmed=False)
            return lambda row: fits(pattern, read_as(str(row[name]), any_case=any_case, trimmed=False))
        case _:
            raise BadQuestionError(_READ)
