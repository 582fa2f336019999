"""lapwing.toml: what is publicly declared about populations, their budgets, their tables, and who may spend.

    [populations.clinic]
    person_key = "patient_id"
    time_limit = 600                                # seconds that a database may take for one statement, if not 600
    unnamed_analysts = "refused"                    # who has no allowance may ask nothing, if not "allowed"
    budget = { epsilon = "3" }                      # or { rho = "0.5" }, or { epsilon = "3", delta = "1e-6" }

    [populations.clinic.analysts]
    ana = { epsilon = "1" }                         # an allowance of her own, under the budget
    bob = { epsilon = "1", tables = ["patients"], most = { epsilon = "0.1" } }  # of one question, about these

    [populations.clinic.policy]
    most = { epsilon = "0.5" }                      # what one question, or a whole stream, may cost
    noes_a_day = 5000                               # how many questions of streams an analyst may ask in a day

    [populations.clinic.segments]
    north = { first = 1, last = 49999 }             # by person key: each has the whole budget (see docs/ledger.md)

    [populations.clinic.tables.patients]
    source = "patients.parquet"                     # or .csv, or { duckdb = "clinic.duckdb", table = "patients" },
    rows = "one"                                    # or { postgres = "postgresql://...", table = "patients" },
                                                    # or { spark = "ehr.patients" }

    [populations.clinic.tables.patients.columns]
    sex = { type = "category", values = ["F", "M"] }
    age = { type = "integer", low = 0, high = 120, nullable = true }
    bmi = { type = "real", low = 10, high = 60, step = "1/64", unit = "kg/m²", description = "at the last visit" }
    born = { type = "date", first = 1900-01-01, last = 2025-12-31, title = "day of birth" }  # as pages call it
    smoker = { type = "boolean" }
    city = { type = "text" }
    condition = { type = "category", values = { file = "CONCEPT.csv", value = "concept_id", label = "concept_name" } }

    [vocabularies]                                  # public tables, with nobody in them, that conditions may use
    concept = "CONCEPT.csv"                         # or .tsv, .parquet
    concept_ancestor = "CONCEPT_ANCESTOR.parquet"

Nothing here is learned from the data. What is wrong is refused with its line.
"""

from collections.abc import Callable, Mapping
from dataclasses import field, replace
from datetime import date
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from lapwing.accounting.filters.account import Budget
from lapwing.answers.budget import said_budget
from lapwing.engines.reading import LONGEST, TIME_LIMIT
from lapwing.ledger.entries import name as ledger_name
from lapwing.ledger.states import Analyst
from lapwing.queries.catalogue.column import Category
from lapwing.queries.catalogue.population import Population, Segment, Table
from lapwing.queries.catalogue.public_tables import Vocabulary
from lapwing.sources import SOURCES, FileSource, Source, files_below, require_no_password, share_data
from lapwing.vocabulary.errors import BadQuestionError, ParameterError
from lapwing.vocabulary.exact import as_int, as_written
from lapwing.vocabulary.frozen import frozen
from lapwing.vocabulary.guarantee import Adjacency, PrivacyUnit
from lapwing.vocabulary.wording import Setting
from lapwing.workspace.declaration import NUMBER, OF_CELLS, read_table
from lapwing.workspace.toml import Document, Section

if TYPE_CHECKING:
    from lapwing.engines.public_files import PublicFile


@frozen(kw_only=False)
class PublicFiles:
    """The public files of a workspace, by what `lapwing advance` calls them: vocabularies, and values of categories.

    Such a file must hold no person: analysts may learn all of it. Its version is fixed as that of the data is. A file
    that changed is refused until the custodian accepts it: conditions and categories would silently change meaning.
    """

    folder: Path
    section: Section
    files: dict[str, Path]

    @staticmethod
    def read(folder: Path, section: Section, files: dict[str, Path]) -> "PublicFiles":
        """Find the files of the vocabularies, and put them among `files`."""
        public = PublicFiles(folder, section, files)
        for name in section.entries:
            given = section.take(name, (str, dict))
            inner = section.section(name) if isinstance(given, dict) else None
            file = given if inner is None else inner.take("file", str)
            if inner is not None:
                inner.done()
            files[name] = public._path(section, name, file)
        return public

    def vocabularies(self) -> "tuple[PublicFile, ...]":
        """Return the vocabularies that conditions may name."""
        return tuple(_public_file(name, self.files[name]) for name in self.section.entries)

    def category(self, section: Section) -> Category:
        """Return the values that a column of a public file holds, and what they are called in another."""
        named, file = section.take("vocabulary", str, None), section.take("file", str, None)
        value, label = section.take("value", str), section.take("label", str, None)
        where = section.take("where", str, None)
        section.done()
        if (named is None) == (file is None):
            raise section.error(
                (), "values come from one place", 'write file = "CONCEPT.csv" or vocabulary = "concept"'
            )
        if named is not None and named not in self.section.entries:
            known = ", ".join(self.section.entries) or "none"
            raise section.error(("vocabulary",), f"there is no vocabulary {named!r}", f"name one of {known}")
        name = named or self._known_as(section, str(file))
        from lapwing.queries.language.builders import as_condition  # noqa: PLC0415 - see above
        from lapwing.queries.planning.public_values import labelled_values  # noqa: PLC0415 - most workspaces have none

        with section.blamed():
            public = _public_file(Path(name).stem, self.files[name])
            values, labels = labelled_values(public, value, label, as_condition(where))
            return Category(values=values, labels=labels, label_name=label or "label")

    def _known_as(self, section: Section, file: str) -> str:
        """Return the name of a file: that of its vocabulary, or the path as written."""
        path = self._path(section, "file", file)
        name = next((name for name, known in self.files.items() if known == path), file)
        self.files[name] = path
        return name

    def _path(self, section: Section, entry: str, file: str) -> Path:
        from lapwing.engines.public_files import SUFFIXES  # noqa: PLC0415 - see above

        path = self.folder / file
        if path.suffix not in SUFFIXES:
            remedy = f"name a file that ends with {', '.join(SUFFIXES)}"
            raise section.error((entry,), f"{file!r} is not a file that can be read", remedy)
        if not path.is_file():
            raise section.error((entry,), f"{file!r} is not there", "mend its place, or bring it back")
        return path


def _public_file(name: str, path: Path) -> "PublicFile":
    from lapwing.engines.public_files import PublicFile  # noqa: PLC0415 - see above

    return PublicFile(name=name, path=path)


FILE: Final = "lapwing.toml"


@frozen()
class PopulationSettings:
    """The declaration of one population; `section` is its place in the file, for later refusals."""

    population: Population
    budget: Budget
    analysts: Mapping[str, Budget]
    limits: Mapping[str, Analyst]
    sources: Mapping[str, Source]
    section: Section = field(repr=False)
    time_limit: int = TIME_LIMIT
    only_named: bool = False
    most: Budget | None = None
    noes_a_day: int | None = None

    def only(self, table: str) -> "PopulationSettings":
        """Return the same people with one of their tables."""
        alone = replace(self.population, tables=(self.population.table(table),))
        return replace(self, population=alone, sources={table: self.sources[table]})


@frozen()
class Settings:
    """The declarations of a workspace; the address of the ledger is the custodian's, so it is never shown."""

    ledger: str = field(repr=False)
    populations: Mapping[str, PopulationSettings]
    vocabularies: Mapping[str, Path] = field(default_factory=dict)

    def declared(self, population: str | None = None) -> PopulationSettings:
        """Return the settings of a population; by default of the only one."""
        if population is None and len(self.populations) == 1:
            return next(iter(self.populations.values()))
        known = sorted(self.populations)
        if population is None:
            has = f"this workspace has the populations {', '.join(known)}"
            raise BadQuestionError(f"{has}; name one, such as ", Setting("population", known[0]))
        if population not in self.populations:
            reason, remedy = "is not declared in this workspace", f"name one of {', '.join(known)}"
            raise ParameterError("population", population, reason=reason, remedy=remedy)
        return self.populations[population]


class _Public(NamedTuple):
    """Inputs of tables besides their own sections; public files are read only where one is named."""

    folder: Path
    files: Callable[[], PublicFiles]
    vocabularies: tuple[Vocabulary, ...]


def as_folder(given: str | Path) -> Path:
    """Return a folder, if an operating system can have one that is called so."""
    if "\0" in str(given):
        raise ParameterError("folder", str(given), reason="cannot be a folder", remedy="write its name without a NUL")
    return Path(given)


def read_settings(folder: Path, text: str | None = None) -> Settings:
    """Return the settings in the lapwing.toml of a folder, or in `text` in its place; refuse it and name the line."""
    document = Document.read(folder / FILE) if text is None else Document(str(folder / FILE), text)
    top = document.section()
    ledger = top.take("ledger", str, "ledger.db")
    with top.blamed():
        require_no_password("ledger", ledger)
    named, files = top.section("vocabularies", {}), dict[str, Path]()

    @cache
    def read_public() -> PublicFiles:
        return PublicFiles.read(folder, named, files)

    public = _Public(folder, read_public, read_public().vocabularies() if named.entries else ())
    populations = {name: _population(name, one, public) for name, one in top.section("populations").sections()}
    top.done()
    if not populations:
        raise top.error(("populations",), "no population is declared", "write [populations.NAME]")
    _require_one_account(populations, folder)
    _require_names_apart(populations)
    address = ledger if ledger.startswith(("postgresql://", "postgres://")) else str(folder / ledger)
    return Settings(ledger=address, populations=populations, vocabularies=files)


def _require_one_account(populations: Mapping[str, PopulationSettings], folder: Path) -> None:
    """Refuse a table of two populations: its people would have two accounts, and twice the budget."""
    owners: dict[tuple[str, ...], str] = {}
    below = cache(files_below)
    for name, declared in populations.items():
        for table, source in declared.sources.items():
            place = source.place(folder)
            owner = next(
                (whose for one, whose in owners.items() if whose != name and share_data(one, place, folder, below)),
                None,
            )
            owners[place] = name
            if owner is not None:
                reason, remedy = f"this is a table of population {owner!r} too", "let the same people have one account"
                raise declared.section.error(("tables", table, "source"), reason, remedy)


def _require_names_apart(populations: Mapping[str, PopulationSettings]) -> None:
    """Refuse two tables that would be called alike, as "population.table", where their names have dots in them."""
    known: dict[str, tuple[str, str]] = {}
    for name, declared in populations.items():
        for table in declared.sources:
            other = known.setdefault(f"{name}.{table}", (name, table))
            if other != (name, table):
                reason = f"table {table!r} of {name!r} and table {other[1]!r} of {other[0]!r} are both {name}.{table}"
                raise declared.section.error(("tables", table), reason, "write one of the names without a dot")


def _population(name: str, section: Section, public: _Public) -> PopulationSettings:
    analysts, tables = section.section("analysts", {}), section.section("tables", {})
    with section.blamed():
        ledger_name("population", name)  # refused here, before anything is written under it
    for analyst in analysts.entries:
        with analysts.blamed(analyst):
            ledger_name("analyst", analyst)
    named = {analyst: _analyst(analysts, analyst) for analyst in analysts.entries}
    read = [_table(table, one, public) for table, one in tables.sections()]
    with section.blamed():
        population = Population(
            name=name,
            unit=PrivacyUnit(
                person_key=section.take("person_key", str),
                adjacency=section.one_of("adjacency", {one.value: one for one in Adjacency}, Adjacency.ADD_REMOVE),
                protects_groups_of=section.take("protects_groups_of", int, 1),
            ),
            tables=tuple(table for table, _ in read),
            now=section.take("now", date, None),
            salt=section.take("salt", int, 0),
            segments=tuple(_segment(segment, one) for segment, one in section.section("segments", {}).sections()),
            vocabularies=public.vocabularies,
        )
    with section.blamed("time_limit"):
        time_limit = as_int("time_limit", section.take("time_limit", int, TIME_LIMIT), most=LONGEST)
    settings = PopulationSettings(
        population=population,
        budget=_budget(section, "budget"),
        analysts={analyst: one.allowance for analyst, one in named.items() if one.allowance},
        limits={analyst: replace(one, allowance=None) for analyst, one in named.items()},
        sources={table.name: source for table, source in read},
        section=section,
        time_limit=time_limit,
        only_named=section.one_of("unnamed_analysts", {"allowed": False, "refused": True}, False),  # noqa: FBT003 - as toml.py
    )
    policy = section.section("policy", {})
    with policy.blamed("noes_a_day"):
        noes = policy.take("noes_a_day", int, None)
        noes = None if noes is None else as_int("noes_a_day", noes, least=0)
    most = _budget(policy, "most") if "most" in policy.entries else None
    policy.done()
    section.done()
    return replace(settings, most=most, noes_a_day=noes)


def _analyst(outer: Section, name: str) -> Analyst:
    """Return the settings of an analyst: the allowance, and the limits of a question."""
    section = outer.section(name)
    most = _budget(section, "most") if "most" in section.entries else None
    tables = section.take("tables", list, None)
    chosen = None if tables is None else tuple(sorted(set(map(str, tables))))
    return Analyst(allowance=_budget_in(section), tables=chosen, most=most)


def _segment(name: str, section: Section) -> Segment:
    first, last = section.take("first", int), section.take("last", int)
    section.done()
    with section.blamed():
        return Segment(name=name, first=first, last=last)


def _budget(outer: Section, name: str) -> Budget:
    return _budget_in(outer.section(name))


def _budget_in(section: Section) -> Budget:
    epsilon, delta, rho = (as_written(section.take(word, NUMBER, None)) for word in ("epsilon", "delta", "rho"))
    section.done()
    with section.blamed():
        budget = said_budget(epsilon, delta, rho)
    if budget is not None:
        return budget
    remedy = 'write { epsilon = "3" }, { epsilon = "3", delta = "1e-6" } or { rho = "1/2" }'
    raise section.error((), "this is not a budget", remedy)


def _table(name: str, section: Section, public: _Public) -> tuple[Table, Source]:
    table = read_table(name, section, lambda values: public.files().category(values))
    source = _source(section, public.folder)
    section.done()
    is_csv = isinstance(source, FileSource) and source.path.suffix == ".csv"
    told = [word for word in OF_CELLS if word in section.entries]
    if told and not is_csv:
        reason = f"{told[0]} says how cells of a CSV file are written, and this source has types"
        raise section.error((told[0],), reason, "leave it out; values of other sources are read as they are stored")
    return table, source


def _source(section: Section, folder: Path) -> Source:
    given = section.take("source", (str, dict))
    if isinstance(given, str):
        with section.blamed():
            return FileSource.from_settings({"source": given}, folder)
    inner = section.section("source")
    named = [word for word in SOURCES if word in inner.entries]
    words = f"write {', '.join([*SOURCES][:-1])} or {[*SOURCES][-1]}, one of them"
    if "frame" in inner.entries:
        remedy = 'write source = "patients.parquet", and hand it over once: create(..., frames={"patients": df})'
        raise section.error(("source",), "a data frame has no file that could be read again", remedy)
    if not named:
        reason = f"source names no place: it has {', '.join(inner.entries) or 'nothing'}"
        raise section.error(("source",), reason, f'{words}; a file is written as a text, source = "patients.csv"')
    if len(named) > 1:
        raise section.error(("source",), "source names no single place", words)
    kind = SOURCES[named[0]]
    entries = {word: inner.take(word, str, default) for word, default in kind.entries.items()}
    inner.done()
    with inner.blamed():
        return kind.from_settings(entries, folder)
