"""What an analyst sees: answers that add up with their account, previews and rehearsals that cost nothing."""

import json
import re
from fractions import Fraction

import pytest

import lapwing as lw
from doors.cli.at_the_prompt import masked, run, spent, start, write_patients
from lapwing.mechanisms.laplace import GeometricMechanism

pytestmark = pytest.mark.one_budget(
    "what is said under an epsilon, to the letter; test_every_kind_of_budget has every command under every kind"
)

MEN = ("count", "patients", "--where", "sex = 'M'")


def test_a_count_is_near_the_truth_and_charged_once(clinic) -> None:
    first = run(clinic, *MEN, "--epsilon", "5", "--json").json
    (row,) = first["rows"]
    assert abs(row["values"]["people"]["value"] - 1000) <= 10
    assert first["columns"] == ["people"]
    assert first["price"]["epsilon"] == "5"
    assert first["left"]["amount"] == "25"
    again = run(clinic, *MEN, "--epsilon", "5", "--json").json
    assert again["free"]
    assert again["rows"] == first["rows"]
    assert again["receipt"] == first["receipt"]
    assert spent(clinic) == "5"


def test_the_grid_of_a_quantile_is_as_fine_as_is_said(clinic) -> None:
    asked = ("ask", "median", "patients", "age", "--epsilon", "1", "--dry-run")
    assert "rounded" not in run(clinic, *asked).out
    assert "rounded" in run(clinic, *asked, "--cells", "10").out
    assert "cells" in run(clinic, *asked, "--cells", "1").err
    assert "--cells" in run(clinic, "ask", "mean", "patients", "age", "--cells", "10", "--epsilon", "1").err


def test_the_mean_of_nobody_is_missing_and_its_bounds_are_told(clinic) -> None:
    where = ("ask", "mean", "patients", "age", "--where", "age = 17 and sex = 'M' and age > 17", "--epsilon")
    tries = ((*where, f"0.1{more}") for more in range(10))  # once in twenty, noise looks like somebody
    asked = next(one for one in tries if "(missing)" in run(clinic, *one).out)
    (row,) = run(clinic, *asked, "--json").json["rows"]
    (cell,) = row["values"].values()
    assert (cell["value"], cell["rounded"]["value"]) == (None, None)
    assert cell["low"] < cell["high"]


def test_the_fields_of_an_answer_are_those_that_are_documented(clinic) -> None:
    told = run(clinic, *MEN, "--epsilon", "1", "--json").json
    assert set(told) == {
        *(
            "asked",
            "bounding",
            "cut",
            "cut_table",
            "keys",
            "columns",
            "rows",
            "confidence",
            "margin",
            "margin_rounded",
            "unit",
            "price",
            "receipt",
            "versions",
        ),
        *("free", "rehearsal", "left_out", "left"),
    }


def test_the_same_question_in_other_words_is_the_stored_answer(clinic) -> None:
    first = run(clinic, *MEN, "--epsilon", "1", "--json").json
    other = run(clinic, "sql", "select count(*) as n from patients where 'M' = sex", "--epsilon", "1", "--json").json
    assert other["free"]
    assert other["rows"][0]["values"]["n"] == first["rows"][0]["values"]["people"]
    assert spent(clinic) == "1"


def test_a_count_in_words(clinic) -> None:
    told = run(clinic, "count", "patients", "--where", "age >= 50", "--epsilon", "0.5")
    assert told.code == 0
    assert told.err == ""
    assert masked(told.out) == (
        "# (with # % confidence from # to #)\n"
        "\n"
        "asked the number of people, in patients where age is at least 50\n"
        "cost epsilon 0.5\n"
        "left epsilon 29.5\n"
        "receipt RECEIPT"
    )


def test_groups_in_words(clinic) -> None:
    told = run(clinic, "count", "patients", "--by", "sex", "--by", "bins(age, 0, 50, 100)", "--epsilon", "5")
    assert masked(told.out).splitlines()[:6] == [
        "sex age people from (# %) to",
        *(f"{sex} from # to # # # #" for sex in "FFMM"),
        "",
    ]
    header, *rows = told.out.splitlines()[:5]
    assert {len(line) for line in (header, *rows)} == {len(header)}  # numbers end where their header ends


def test_the_statistics_are_near_the_truth(clinic) -> None:
    def value(*words: str) -> Fraction:
        (row,) = run(clinic, "ask", *words, "--epsilon", "2", "--json").json["rows"]
        ((_, cell),) = row["values"].items()
        return Fraction(str(cell["value"]))

    assert abs(value("rows", "patients") - 2000) < 20
    assert abs(value("mean", "patients", "age") - Fraction("49.5")) < 2
    assert abs(value("median", "patients", "age") - 50) < 4
    assert abs(value("total", "patients", "age", "--where", "age < 2") - 20) < 1500
    assert abs(value("variance", "patients", "age") - 833) < 200
    assert value("distinct", "patients", "sex") < 20
    assert abs(value("correlation", "patients", "age", "age") - 1) < Fraction("0.6")


def test_several_values_come_in_rows(clinic) -> None:
    told = run(clinic, "ask", "quantiles", "patients", "age", "--at", "0.25, 0.75", "--epsilon", "5", "--json").json
    assert [row["key"] for row in told["rows"]] == [["1/4"], ["3/4"]]
    shown = run(clinic, "ask", "quantiles", "patients", "age", "--at", "0.25, 0.75", "--epsilon", "5")
    assert "each has its place in the order within" in shown.out
    top = run(clinic, "ask", "top", "patients", "sex", "-k", "2", "--epsilon", "1")
    assert "no category that is missing has over" in top.out


def test_sql_from_standard_input(clinic) -> None:
    told = run(clinic, "sql", "-", "--epsilon", "1", "--json", stdin="select sex, count(*) from patients group by sex")
    assert [row["key"] for row in told.json["rows"]] == [["F"], ["M"]]


def test_a_funnel_costs_what_one_count_costs(clinic) -> None:
    told = run(
        clinic, "funnel", "patients", "--step", "sex = 'M'", "--step", "age < 50", "--epsilon", "3", "--json"
    ).json
    counts = [row["values"]["people"]["value"] for row in told["rows"]]
    assert abs(counts[0] - 1000) < 20
    assert abs(counts[1] - 500) < 20
    assert spent(clinic) == "3"


def test_a_preview_and_a_rehearsal_cost_nothing(clinic) -> None:
    told = run(clinic, *MEN, "--epsilon", "0.1", "--dry-run", "--json").json
    assert (
        told == run(clinic, "preview", "count", "patients", "--where", "sex = 'M'", "--epsilon", "0.1", "--json").json
    )
    assert told["margin"] == {"people": 30}
    assert (told["affordable"], told["times"], told["left_afterwards"]["amount"]) == (True, 300, "29.9")
    rehearsed = run(clinic, *MEN, "--epsilon", "0.1", "--rehearse", "--json").json
    assert rehearsed["rehearsal"]
    assert rehearsed["receipt"] is None
    assert "about nobody" in run(clinic, *MEN, "--epsilon", "0.1", "--rehearse").out
    assert spent(clinic) == "0"


def test_a_preview_says_that_it_would_be_refused(clinic) -> None:
    run(clinic, "ask", "count", "patients", "--epsilon", "20")
    told = run(clinic, "preview", "count", "patients", "--where", "age < 50", "--epsilon", "15", "--json").json
    assert not told["affordable"]
    assert (told["refusal"]["asked"], told["refusal"]["left"], told["left_afterwards"]) == ("15", "10", None)
    words = run(clinic, "preview", "count", "patients", "--where", "age < 50", "--epsilon", "15")
    assert words.code == 0
    assert "it would be refused now: epsilon 15 is asked and 10 is left: ask at epsilon 10 or less (within" in " ".join(
        words.out.split()
    )


def test_a_wanted_accuracy_is_bought_at_the_least_price(clinic) -> None:
    dear = run(clinic, "preview", "count", "patients", "--within", "20", "--json").json
    assert dear["margin"]["people"] <= 20
    assert Fraction("0.14") < Fraction(dear["price"]["epsilon"]) < Fraction("0.16")
    surer = run(clinic, "preview", "count", "patients", "--within", "20", "--confidence", "0.99", "--json").json
    assert Fraction(surer["price"]["epsilon"]) > Fraction(dear["price"]["epsilon"])
    assert surer["confidence"] == "0.99"


def test_a_confidence_widens_the_bounds_and_not_the_price(clinic) -> None:
    usual = run(clinic, *MEN, "--epsilon", "1", "--json").json
    surer = run(clinic, *MEN, "--epsilon", "1", "--confidence", "0.999", "--json").json
    assert surer["free"]
    assert surer["margin"]["people"] > usual["margin"]["people"]
    assert "99.9 % confidence" in run(clinic, *MEN, "--epsilon", "1", "--confidence", "0.999").out


def test_a_key_brings_the_answer_back_and_belongs_to_one_question(clinic) -> None:
    first = run(clinic, *MEN, "--epsilon", "1", "--key", "mine", "--json").json
    assert run(clinic, *MEN, "--epsilon", "1", "--key", "mine", "--json").json["receipt"] == first["receipt"]
    other = run(clinic, "count", "patients", "--epsilon", "1", "--key", "mine", "--json")
    assert (other.code, other.json["error"]["code"]) == (2, "request_conflict")
    assert spent(clinic) == "1"


def test_at_least_once_costs_a_part_if_it_is_no(clinic) -> None:
    yes = run(clinic, "ask", "--at-least", "200", "patients", "--where", "age < 50", "--epsilon", "2", "--json").json
    assert yes["verdict"] == "above"
    assert yes["spent"] == "2"
    no = run(clinic, "ask", "--at-least", "1900", "patients", "--where", "age < 50", "--epsilon", "2", "--json").json
    assert no["verdict"] == "below"
    assert no["gap"] is None
    assert 0 < Fraction(no["spent"]) < 2
    told = run(clinic, "ask", "--at-least", "1900", "patients", "--where", "age < 50", "--epsilon", "2", "--key", "k")
    again = run(clinic, "ask", "--at-least", "1900", "patients", "--where", "age < 50", "--epsilon", "2", "--key", "k")
    assert told.out.startswith("NO, fewer than 1,900 (after noise)\n")
    assert again.out == told.out.replace("epsilon 1\n", "nothing: it was asked before, for epsilon 1\n", 1)


def test_json_is_one_object_in_a_pipe(clinic) -> None:
    told = start(clinic, *MEN, "--epsilon", "1", "--json")
    assert told.code == 0
    assert told.err == ""
    assert json.loads(told.out)["columns"] == ["people"]


def test_no_exact_count_is_ever_printed(clinic, monkeypatch) -> None:
    """With noise that is 77 larger than it should be, the exact number stands nowhere in what is printed."""
    released = GeometricMechanism.release

    def shifted(self, exact):
        return [number + 77 for number in released(self, exact)]

    monkeypatch.setattr(GeometricMechanism, "release", shifted)
    told = run(clinic, "count", "patients", "--where", "age < 37 and sex = 'F'", "--epsilon", "20")  # 19 ages, 20 each
    assert re.match(r"45\d ", told.out)
    shown = told.out + run(clinic, "ledger", "show", "--json").out
    assert "380" not in re.sub(r"[0-9a-f]{16,}|\d\d\d\d-\d\d-\d\dT[\d:.]+", "", shown)  # hashes and times may have it


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("mode", "patients", "sex"), "write one of count, rows, distinct, total"),
        (("mean", "patients"), "write: mean TABLE COLUMN"),
        (("mean", "patients", "age", "--at", "0.5"), "--at 0.5 does not go with mean"),
        (("quantiles", "patients", "age"), "quantiles needs --at 0.25"),
        (("top", "patients", "sex", "-k", "two"), "-k two is not a number"),
        (("select count(*) from patients", "--where", "age > 3"), "does not go with a SELECT"),
        (("count", "patients", "--by", "bins(age, 5)"), "bins"),
        (("count", "patients", "--by", "agee"), "has no column 'agee'"),
        (("--at-least", "20", "count", "patients"), "is more than a table and a condition"),
        (("--at-least", "many", "patients"), "--at-least many is not a number"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else "",
)
def test_a_question_that_is_none_is_refused_with_what_to_write(clinic, words, said) -> None:
    told = run(clinic, "ask", *words, "--epsilon", "1")
    assert told.code == 2
    assert said in told.err
    assert told.out == ""
    assert spent(clinic) == "0"


def test_groups_whose_keys_only_the_data_knows_say_what_their_bounds_mean(quick_path) -> None:
    folder = quick_path / "clinic"
    run(folder, "init", str(folder), "--person-key", "patient_id", "--epsilon", "9", "--delta", "1e-3")
    write_patients(folder)
    run(folder, "add", "patients", "--source", str(folder / "patients.csv"), "--text", "city")
    asked = ("count", "patients", "--by", "city", "--epsilon", "1", "--delta", "1e-6")
    assert run(folder, "preview", *asked, "--json").json["margin"] == {"people": None}
    told = run(folder, *asked, "--plot", str(folder / "cities.svg"))
    assert "given that it is shown" in " ".join(told.out.split())
    again = run(folder, *asked, "--json").json
    assert again["margin"] == {"people": None}
    assert [row["key"] for row in again["rows"]] == [["Bern"], ["Oslo"]]
    for row in again["rows"]:
        cell = row["values"]["people"]
        assert (cell["value"] - cell["low"], cell["high"] - cell["value"]) == (3, 3)


def test_an_empty_text_is_labelled_as_one_and_not_as_its_column(quick_path) -> None:
    folder = quick_path / "clinic"
    run(folder, "init", str(folder), "--person-key", "pid", "--epsilon", "9")
    lines = "".join(f'{i},"{["", "Bern", "Basel"][i % 3]}"\n' for i in range(300))
    (folder / "p.csv").write_text("pid,city\n" + lines)
    settings = folder / "lapwing.toml"
    table = '[populations.clinic.tables.p]\nsource = "p.csv"\n'
    column = 'columns.city = { type = "category", values = ["", "Bern", "Basel"], nullable = true }\n'
    settings.write_text(f"{settings.read_text()}\n{table}{column}")
    assert run(folder, "update").code == 0
    picture = folder / "cities.svg"
    told = run(folder, "count", "p", "--by", "city", "--epsilon", "1", "--plot", str(picture))
    assert "(empty)" in told.out
    drawn = picture.read_text()
    assert "(empty)" in drawn
    assert ">people<" not in drawn


def test_a_price_with_many_digits_is_rounded_up_and_said_in_a_sentence(clinic) -> None:
    told = start(clinic, *MEN, "--epsilon", "0.12345678901234567", "--json")
    assert told.err == "lapwing: epsilon is rounded up to 0.123456789013, by less than 1e-12: prices have few digits\n"
    assert json.loads(told.out)["price"]["epsilon"] == "0.123456789013"


def test_a_picture_of_answers_without_bounds_promises_none(clinic) -> None:
    question = lw.quantiles("patients", "age", ["0.25", "0.75"], interval=None)
    with lw.open(clinic, analyst="ana") as opened:
        opened.ask(question, epsilon=1).plot(clinic / "quantiles.svg")
    assert "bounds" not in (clinic / "quantiles.svg").read_text()
    assert run(clinic, "count", "patients", "--by", "sex", "--epsilon", "1", "--plot", str(clinic / "n.svg")).code == 0
    assert "bounds that all hold at once" in (clinic / "n.svg").read_text()


def test_a_file_of_selects_is_charged_together_and_answered_line_by_line(clinic) -> None:
    file = clinic / "selects.sql"
    file.write_text("-- who\nselect count(*) from patients\n\nselect sex, count(*) as n from patients group by sex\n")
    told = run(clinic, "sql", "--file", str(file), "--epsilon", "0.25", "--key", "k")
    lines = [json.loads(line) for line in told.out.splitlines()]
    assert [line["select"] for line in lines] == file.read_text().splitlines()[1::2]
    assert [line["price"]["epsilon"] for line in lines] == ["0.25", "0.25"]
    assert len({line["receipt"] for line in lines}) == 2
    again = run(clinic, "sql", "--file", str(file), "--epsilon", "0.25", "--key", "k")
    assert [json.loads(line)["receipt"] for line in again.out.splitlines()] == [line["receipt"] for line in lines]


def test_the_largest_of_named_selects_is_chosen(clinic) -> None:
    few, many = "few=select count(*) from patients where age = 20", "many=select count(*) from patients"
    told = run(clinic, "choose", few, many, "--epsilon", "1", "--json").json
    assert told["rows"][0]["values"]["best"]["value"] == "many"
    looked = " ".join(run(clinic, "choose", few, many, "--within", "40", "--dry-run").out.split())
    assert "no other has over" in looked
    assert "which of these 2 is the largest: few: the number of people" in looked
    before = spent(clinic)
    for words in (
        (few,),
        (few, many.replace("many=", "few=")),
        ("select count(*) from patients", few),
        (few, "x=select 1"),
    ):
        refused = run(clinic, "choose", *words, "--epsilon", "1")
        assert refused.code == 2, words
    assert "draws numbers" in run(clinic, "choose", few, many, "--epsilon", "1", "--plot", "a.svg").err
    assert spent(clinic) == before


def test_what_people_guess_at_the_prompt_works_or_names_the_right_word(clinic) -> None:
    select = "select count(*) from patients"
    assert (
        run(clinic, "preview", "sql", select, "--epsilon", "1").out
        == run(clinic, "preview", select, "--epsilon", "1").out
    )
    assert run(clinic, "explain", "sql", select).code == 0
    assert "write --json" in run(clinic, *MEN, "--epsilon", "1", "--csv").err
    assert "write lapwing preview" in run(clinic, "explain", "sql", "select 1", "--epsilon", "1").err
    assert run(clinic, "sql", "show tables").out.split() == ["name", "patients"]
    assert run(clinic, "sql", "describe patients", "--json").json["rows"][0][0] == "patient_id"
    assert spent(clinic) == "0"


def test_a_list_of_questions_is_told_apart_from_one(clinic) -> None:
    with lw.open(clinic) as session, pytest.raises(lw.errors.BadQuestionError, match="ask_many"):
        session.ask([lw.count("patients")], epsilon="1")  # type: ignore[arg-type]
    with lw.open(clinic) as session:
        assert session.sql("show tables").rows == (("patients",),)
    assert spent(clinic) == "0"
