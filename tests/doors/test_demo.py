"""The demonstration does what it says, and what it says is true."""

import math
import re
from fractions import Fraction
from pathlib import Path

import duckdb
import pytest
from click.testing import CliRunner

import lapwing as lw
from lapwing.doors.cli import demo, main
from lapwing.doors.cli.demo_stage import WIDTH, Stage
from lapwing.ledger.replay import verify
from lapwing.made_up.mallory import ExactDoor
from lapwing.mechanisms.sparse_vector.pure import SparseVector
from lapwing.mechanisms.sparse_vector.value_sensitivity import ValueSensitivity

PEOPLE = 100_000


@pytest.fixture(scope="module")
def told(tmp_path_factory):
    """Return the folder that the demonstration kept, and what it printed."""
    folder = tmp_path_factory.mktemp("demo") / "clinic"
    asked = ["demo", "--people", str(PEOPLE), "--folder", str(folder), "--plots", str(folder.parent / "pictures")]
    shown = CliRunner().invoke(main, asked, catch_exceptions=False)
    assert shown.exit_code == 0
    return folder, shown.output


def flat(shown):
    """Return what was printed as one line, however its sentences were broken."""
    return " ".join(shown.split())


def exact(folder, where):
    return duckdb.connect().sql(f"SELECT count(*) FROM '{folder}/patient.parquet' WHERE {where}").fetchall()[0][0]  # noqa: S608


def test_the_errors_it_promises_are_those_of_the_law(told) -> None:
    for epsilon in ("0.01", "0.1", "1"):
        margin = int(re.search(rf"epsilon {re.escape(epsilon)} +±(\d+) ", told[1])[1])
        decay = math.exp(-float(epsilon))
        beyond = [2 * decay ** (m + 1) / (1 + decay) for m in (margin, margin - 1)]  # P(|X| > m), discrete Laplace
        assert beyond[0] <= 0.05 < beyond[1]


def test_a_count_is_what_the_engine_counted_give_or_take(told) -> None:
    folder, shown = told
    people = int(re.search(r"(-?[\d,]+) people, ±30, for epsilon 0\.1", shown)[1].replace(",", ""))
    assert abs(people - exact(folder, "sex = 'M' AND cancer_survivor AND admitted_for_surgery")) <= 220  # P < 1e-9


def test_dozens_of_questions_are_answered_no_for_nothing(told) -> None:
    folder, shown = told
    assert exact(folder, "sex = 'M' AND cancer_survivor AND admitted_for_surgery") > 400
    assert exact(folder, "sex = 'M' AND age BETWEEN 20 AND 30 AND cancer_survivor") < 60
    verdicts = re.findall(r"(?:survivor|surgery)  +(no|yes) +(free|[\d.]+)", shown)
    assert verdicts == [("no", "free"), ("no", "free"), ("yes", "0.149")]  # P(other) < 1e-9
    assert "71 questions and one yes, for epsilon 0.4039 in all" in flat(shown)
    stream = SparseVector(
        epsilon=1, yeses=5, threshold=PEOPLE // 500, sensitivity=ValueSensitivity.of_counts(lw.Adjacency.ADD_REMOVE)
    )
    assert round(float(stream.threshold_epsilon + stream.yes_price), 4) == 0.4039
    assert stream.threshold_epsilon + 5 * stream.yes_price == 1


def test_the_account_holds_what_was_asked_for_and_nothing_else(told) -> None:
    folder, shown = told
    with lw.open_workspace(folder) as workspace:
        checked = verify(workspace.ledger)
        left = workspace.session(analyst="ana").budget().left
    stream = SparseVector(
        epsilon=1, yeses=5, threshold=PEOPLE // 500, sensitivity=ValueSensitivity.of_counts(lw.Adjacency.ADD_REMOVE)
    )
    count, funnel, sql, three, mallory = (
        Fraction(1, 10),
        Fraction(1, 2),
        Fraction(1, 2),
        Fraction(3, 10),
        Fraction(1, 2),
    )
    ana = count + stream.threshold_epsilon + stream.yes_price + funnel + sql + three
    assert abs(left - min(3 - ana - mallory, Fraction(5, 2) - ana)) < Fraction(1, 10**11)  # prices have few digits
    assert re.search(rf"everybody +epsilon 3 +epsilon {float(ana + mallory):.4g} +epsilon {float(left):.4g}", shown)
    assert re.search(r"everybody +epsilon 3 +epsilon 0 +epsilon 3", shown)  # as it was before
    assert f"{checked.entries} entries" in shown
    odds = math.exp(float(ana + mallory)) / 99  # one in a hundred, and a factor of e^epsilon
    assert f"at most {odds / (1 + odds):.0%} sure" in flat(shown)


def test_a_funnel_falls_and_is_near_the_truth(told) -> None:
    folder, shown = told
    wheres = ["sex = 'M'", "age between 20 and 30", "cancer_survivor", "admitted_for_surgery"]
    for step in range(len(wheres)):
        printed = re.search(rf"^ +{re.escape(wheres[step])} +(-?[\d,]+) +±", shown, re.MULTILINE)[1]
        truth = exact(folder, " AND ".join(wheres[: step + 1]))
        assert abs(int(printed.replace(",", "")) - truth) < 400  # P < 1e-9


def test_mallory_reads_exact_answers_and_not_lapwing_s(told) -> None:
    folder, shown = told
    assert re.search(r"exact +33 +32 of 32 +reading the table", shown)
    assert re.search(r"blurred as i2b2 does it +13,200 +32 of 32 +reading the table", shown)
    guessed = int(re.search(r"lapwing's +33 +(\d+) of 32 +tossing a coin", shown)[1])
    assert guessed < 32  # P < 1e-9 for who knows nothing
    survivors = exact(folder, "cancer_survivor")
    assert re.search(
        rf"cancer survivors +{survivors:,}\n +cancer survivors other than her neighbour +{survivors - 1:,}", shown
    )
    assert "Refused: epsilon 0.01515 is asked and nothing is left." in flat(shown)
    assert "Twenty times the same question: 1 answer" in flat(shown)


def test_exact_numbers_are_shown_nowhere_but_where_it_says_so(told) -> None:
    """Only Mallory's part makes exact rows, and only the table under its label shows what comes of them."""
    sources = [path.read_text(encoding="utf-8") for path in Path(demo.__file__).parent.glob("demo*.py")]
    assert [text.count("make_block") for text in sources] == [0, 0]
    assert [text.count(".sizes[") for text in sources if "NeighbourStory" in text] == [1]
    shown = told[1]
    rows = [row.start() for row in re.finditer(r"^ +cancer survivors.* [\d,]+$", shown, re.MULTILINE)]
    assert len(rows) == 2
    assert shown.index("which lapwing never shows") < rows[0] < rows[1] < shown.index("One less")


def test_victims_are_singled_out_by_what_mallory_knows(told) -> None:
    victims = list(ExactDoor(PEOPLE).victims(32))
    assert sum(one.survivor for one in victims) == 16
    for one in victims:
        known = one.others.partition("not (")[2].removesuffix(")")
        assert exact(told[0], known) == 1
        assert exact(told[0], f"{known} AND cancer_survivor") == one.survivor


def test_the_sceptic_finds_the_lecture_s_algorithm_leaking_and_lapwing_s_not(told) -> None:
    assert re.search(r"as that lecture prints it +2\.00 +5\.50 +15\.50 +1\.00", told[1])
    assert re.search(r"lapwing's +1\.00 +1\.00 +1\.00 +1\.00", told[1])


def test_it_fits_into_eighty_columns_and_a_pipe(told) -> None:
    assert all(len(line) <= WIDTH or "drawn in" in line or "/" in line for line in told[1].splitlines())
    assert all(line == line.rstrip() for line in told[1].splitlines())
    assert "\x1b" not in told[1]
    assert "\n\n\n" not in told[1]


def test_pictures_are_drawn_where_they_are_wanted(told) -> None:
    drawn = {file.name for file in (told[0].parent / "pictures").iterdir()}
    assert drawn == {"error.svg", "stream.svg", "funnel.svg", "account.svg", "meaning.svg"}
    assert all(f"/{name}" in flat(told[1]) for name in drawn)


def test_a_clinic_to_play_with_has_an_account_that_nobody_has_touched(tmp_path) -> None:
    made = CliRunner().invoke(
        main, ["demo", "--make", "--people", "500", "--folder", str(tmp_path / "clinic")], catch_exceptions=False
    )
    assert made.output.endswith("500 made-up people, and an account of epsilon 10.\n")
    with lw.open(tmp_path / "clinic") as clinic:
        assert clinic.budget().left == 10
    nowhere = CliRunner().invoke(main, ["demo", "--make"])
    assert nowhere.exit_code == 2
    assert "--folder clinic" in nowhere.output


def test_a_terminal_gets_colour_and_old_encodings_get_plain_signs(capsys, monkeypatch) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm")
    Stage().result("within +-3")
    assert "\x1b[1m" in capsys.readouterr().out
    monkeypatch.setattr("rich.console.Console.encoding", "latin-1")
    monkeypatch.delenv("FORCE_COLOR")
    Stage().result("within +-3")
    assert capsys.readouterr().out == "   within +-3\n"


def test_a_clinic_that_is_there_is_not_written_over(told) -> None:
    again = CliRunner().invoke(main, ["demo", "--people", "2000", "--folder", str(told[0])])
    assert again.exit_code == 2
    assert "is there already" in again.output


def test_a_clinic_that_is_too_small_for_the_story_is_refused_before_anything_is_made(tmp_path) -> None:
    refused = CliRunner().invoke(main, ["demo", "--people", "100", "--folder", str(tmp_path / "clinic")])
    assert refused.exit_code == 2
    assert "2000" in refused.output
    assert not list(tmp_path.iterdir())


def test_help_says_what_it_is() -> None:
    shown = CliRunner().invoke(main, ["--help"])
    assert "differential privacy" in shown.output
    assert "demo" in shown.output
