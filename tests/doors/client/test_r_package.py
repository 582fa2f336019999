"""The client in R sends what the server knows: operations, statistics, fields. It is read as text; no R is needed.

What it does is tested by `make test-r`.
"""

import re
from pathlib import Path

from lapwing import __version__
from lapwing.doors.server.operations import OPERATIONS
from lapwing.doors.server.questions_wire import Bins, Sql, type_of
from lapwing.doors.server.wire import (
    ComparisonBody,
    DashboardBody,
    ExplorerBody,
    Offer,
    PublicationBody,
    RegressionBody,
    RowsBody,
    StreamOfferBody,
    SurvivalBody,
    SynthesisBody,
)
from lapwing.queries.statistics import STATISTICS

PACKAGE = Path(__file__).parents[3] / "clients" / "r"
SOURCE = {path.stem: path.read_text(encoding="utf-8") for path in (PACKAGE / "R").glob("*.R")}
BODIES = {
    "comparison": ComparisonBody,
    "survival": SurvivalBody,
    "rows": RowsBody,
    "regression": RegressionBody,
    "dashboard": DashboardBody,
    "synthesis": SynthesisBody,
    "explorer": ExplorerBody,
}
METHODS = {"print", "plot", "as.data.frame"}


def list_of(text, name):
    """Return the entries of a list of vectors of texts: their names, and their texts."""
    (inside,) = re.findall(rf"^{name} <- list\(\n(.*?)^\)", text, re.MULTILINE | re.DOTALL)
    return {entry: re.findall(r'"([^"]*)"', texts) for entry, texts in re.findall(r"(\w+)\s*= c\((.*?)\)", inside)}


def vector_of(text, name):
    (inside,) = re.findall(rf"^{name} <- c\((.*?)\)$", text, re.MULTILINE | re.DOTALL)
    return re.findall(r'"([^"]*)"', inside)


def test_it_calls_operations_of_the_table_as_the_table_says() -> None:
    theirs = {one.name: [one.method, one.path] for one in OPERATIONS}
    ours = list_of(SOURCE["operations"], "operations")
    assert len(ours) == 37
    assert {name: theirs.get(name) for name in ours} == ours
    everything = " ".join("\n".join(SOURCE.values()).split())
    called = set(re.findall(r'(?:call_\w+|look_at\w*|explored)\( ?[\w$]+, "(\w+)"', everything))
    assert called == set(ours)


def test_it_knows_every_statistic_with_its_columns_and_options() -> None:
    ours = list_of(SOURCE["questions"], "statistics")
    assert {name: sorted(words) for name, words in ours.items()} == {
        name: sorted(type_of(one).__struct_fields__) for name, one in STATISTICS.items()
    }


def test_a_builder_takes_what_its_statistic_takes() -> None:
    exported = set(re.findall(r"^export\((\w+)\)", (PACKAGE / "NAMESPACE").read_text(encoding="utf-8"), re.MULTILINE))
    for name, words in list_of(SOURCE["questions"], "statistics").items():
        found = re.search(rf"^lw_{name} <- function\((.*?)\) {{", SOURCE["questions"], re.MULTILINE)
        if found is not None:
            assert f"lw_{name}" in exported
            assert re.findall(r"(\w+)(?: = NULL)?(?:, |$)", found[1]) == words


def test_its_fields_are_those_of_the_wire() -> None:
    assert set(vector_of(SOURCE["operations"], "price_fields")) == set(Offer.__struct_fields__)
    beside = {"title", "segment"}
    assert set(vector_of(SOURCE["operations"], "stream_fields")) == set(StreamOfferBody.__struct_fields__) - beside
    beside = {"concept_sets", "segment"}
    published = set(vector_of(SOURCE["operations"], "publication_fields"))
    assert published == set(PublicationBody.__struct_fields__) - beside
    for name, body in BODIES.items():
        assert set(vector_of(SOURCE["operations"], f"{name}_fields")) == set(body.__struct_fields__) - beside, name
    assert set(Bins.__struct_fields__) == {"column", "edges"}
    assert set(Sql.__struct_fields__) == {"text", "max_rows", "max_groups"}


def test_what_it_exports_is_there_and_documented() -> None:
    namespace = (PACKAGE / "NAMESPACE").read_text(encoding="utf-8")
    exported = re.findall(r"^export\((\w+)\)", namespace, re.MULTILINE)
    pages = "\n".join(path.read_text(encoding="utf-8") for path in (PACKAGE / "man").glob("*.Rd"))
    defined = set(re.findall(r"^([\w.]+) <- function", "\n".join(SOURCE.values()), re.MULTILINE))
    assert set(exported) <= defined
    assert {name for name in defined if name.startswith("lw_")} == set(exported)
    assert [name for name in exported if f"\\alias{{{name}}}" not in pages] == []
    registered = {
        f"{method}.{kind}" for method, kind in re.findall(r"^S3method\(([\w.]+), (\w+)\)", namespace, re.MULTILINE)
    }
    assert {name for name in defined if name.partition(".lw_")[0] in METHODS and ".lw_" in name} == registered


def test_it_has_the_version_of_the_server() -> None:
    (version,) = re.findall(r"^Version: (.*)$", (PACKAGE / "DESCRIPTION").read_text(encoding="utf-8"), re.MULTILINE)
    assert version == __version__
    assert f"lapwing-r/{version}" in SOURCE["connection"]


def test_what_decides_about_trust_draws_nothing_from_the_generator_of_r() -> None:
    everything = "\n".join(SOURCE.values())
    assert re.findall(r"\b(?:runif|sample|rnorm|set\.seed)\(", everything) == []
    assert re.findall(r"\b(?:eval|parse|source|readRDS|unserialize)\(", everything) == []
