"""CSV files: what a line says depends on the header and on that line, whoever else is in the file."""

import csv
import itertools
import re
from contextlib import suppress
from datetime import date

import pytest

import lapwing as ask
from lapwing.engines.duckdb import DuckDB
from lapwing.engines.files import CSVFile
from lapwing.queries.catalogue.column import Boolean, Column, Date, Integer, Real, Text
from lapwing.queries.catalogue.population import KeyType, Population, Table
from lapwing.queries.planning.planner import plan
from lapwing.vocabulary.errors import ParameterError, RegistrationError
from lapwing.vocabulary.guarantee import PrivacyUnit

COLUMNS = (
    Column(name="born", type=Date(), nullable=True),
    Column(name="name", type=Text(), nullable=True),
    Column(name="age", type=Integer(low=0, high=120), nullable=True),
    Column(name="bmi", type=Real(low=0, high=99), nullable=True),
    Column(name="smoker", type=Boolean(), nullable=True),
)
CLINIC = Population(
    name="clinic", unit=PrivacyUnit(person_key="pid"), tables=(Table(name="patients", columns=COLUMNS),)
)
HEADER = "pid,born,name,age,bmi,smoker"
OTHERS = [f"{i},2020-0{1 + i % 9}-0{1 + i % 7},'t Hooft #{i},{i},{i}.5,true" for i in range(40)]
TOLD = [(i, date(2020, 1 + i % 9, 1 + i % 7), f"'t Hooft #{i}", i, i + 0.5, True) for i in range(40)]


def engine_on(folder, lines, header=HEADER, name="patients.csv"):
    content = "\n".join([header, *lines, ""])
    (folder / name).write_bytes(content.encode("utf-8", "surrogateescape"))
    return DuckDB(CLINIC, {"patients": folder / name}, threads=1)


def rows_of_others(engine):
    return engine._connection.execute("select * from lapwing.patients where pid < 40 order by pid").fetchall()


HOSTILE = {
    "nothing odd": "99,2020-05-13,x,1,1,true",
    "month first": "99,05/13/2020,x,1,1,true",
    "day first": "99,13/05/2020,x,1,1,true",
    "a time": "99,2020-05-13 10:00:00,x,1,1,true",
    "no day at all": "99,never,x,1,1,true",
    "an infinite day": "99,infinity,x,1,1,true",
    "a single quote": "99,,'x,1,1,true",
    "single quotes": "99,,'x,y',1,1,true",
    "quotes": '99,,"x,y",1,1,true',
    "a quote in quotes": '99,,"x""y",1,1,true',
    "a backslash before a quote": '99,,"x\\"y",1,1,true',
    "a quote inside": '99,,x"y,1,1,true',
    "an open quote": '99,,"x,1,1,true',
    "an open quote that is closed later": '99,,"x,1,1,true\n98,,x",1,1,true',
    "text after a quote": '99,,"x"y,1,1,true',
    "a line break": '99,,"x\ny",1,1,true',
    "a carriage return": "99,,x\ry,1,1,true",
    "a line end of Windows": "99,,x,1,1,true\r",
    "a comment": "# 99,,x,1,1,true",
    "only a comment": "#",
    "semicolons": "99;;x;1;1;true",
    "bars and tabs": "99,,x|y\tz;w,1,1,true",
    "too few": "99,,x",
    "too many": "99,,x,1,1,true,7,8",
    "blank": "",
    "blanks": "   ",
    "only commas": ",,,,,",
    "a text for a number": "99,,x,one,1,true",
    "a number too large": "99,,x,99999999999999999999,1,true",
    "a comma for a point": '99,,x,1,"1,5",true',
    "no number": "99,,x,1,nan,true",
    "an infinite number": "99,,x,1,1e400,true",
    "another truth": "99,,x,1,1,yes",
    "a text for a key": "x,,x,1,1,true",
    "no UTF-8": "99,,\udcff\udcfe,1,1,true",
    "a byte of zeros": "99,,x\0y,1,1,true",
    "a mark of byte order": "\ufeff99,,x,1,1,true",
    "NULL": "99,NULL,NULL,NULL,NULL,NULL",
    "another header": HEADER,
    "very long": f"99,,{'x' * 3_000_000},1,1,true",
}


@pytest.mark.parametrize("where", [0, 20, 40], ids=["first", "in the middle", "last"])
@pytest.mark.parametrize("line", HOSTILE)
def test_one_more_line_is_refused_or_leaves_the_others_as_they_are(line, where, tmp_path) -> None:
    with engine_on(tmp_path, OTHERS) as engine:
        assert rows_of_others(engine) == TOLD
    lines = [*OTHERS[:where], HOSTILE[line], *OTHERS[where:]]
    try:
        engine = engine_on(tmp_path, lines)
    except RegistrationError:
        return  # to the custodian, before there is anything to ask
    with engine:
        assert rows_of_others(engine) == TOLD


def test_what_csv_can_say_is_read(tmp_path) -> None:
    texts = {"'x": "'x", '"x,y"': "x,y", '"x""y"': 'x"y', "x|y\tz;w": "x|y\tz;w", "#": "#", '""': None, "NULL": "NULL"}
    lines = [f"{i},2020-05-13 10:00:00,{written},1,1e400,F" for i, written in enumerate(texts)]
    with engine_on(tmp_path, lines) as engine:
        day = date(2020, 5, 13)
        assert rows_of_others(engine) == [
            (i, day, meant, 1, float("inf"), False) for i, meant in enumerate(texts.values())
        ]


@pytest.mark.parametrize("extra", [[], ["99,05/13/2020,x,1,1,true"]], ids=["without", "with"])
def test_days_that_could_be_read_in_two_ways_are_refused_whoever_is_in_the_file(extra, tmp_path) -> None:
    ambiguous = [f"{i},0{1 + i % 9}/01/2020,x,1,1,true" for i in range(40)]
    with pytest.raises(
        RegistrationError, match="line 2 has a cell in column born that is not a day; write days as 2025-12-31"
    ):
        engine_on(tmp_path, [*ambiguous, *extra])


def test_quotes_that_swallow_the_rows_of_others_are_refused_with_the_numbers(tmp_path) -> None:
    lines = ['98,,"x', *OTHERS, '99,,y",1,1,true']
    with pytest.raises(RegistrationError, match="line"):
        engine_on(tmp_path, lines)
    with pytest.raises(RegistrationError, match=r"line 42 has a quote that is not closed.*one line is one row"):
        engine_on(tmp_path, [*OTHERS, '99,,"x\ny",1,1,true'])
    with pytest.raises(RegistrationError, match="has 42 lines below its header, which hold 41 rows"):
        CSVFile("patients", tmp_path / "patients.csv").check_rows(42, 41)


@pytest.mark.parametrize("separator", [",", ";", "\t", "|"], ids=["comma", "semicolon", "tab", "bar"])
def test_the_header_says_the_separator_the_names_and_their_order(separator, tmp_path) -> None:
    header = separator.join(["\ufeff", "SMOKER", " bmi ", "note", '"age"', "name", "born", "note", "pid"])
    line = separator.join(["7", "true", "1.5", "", "40", "x", "2020-05-13", "", "1"])
    with engine_on(tmp_path, [line, ""], header) as engine:
        assert rows_of_others(engine) == [(1, date(2020, 5, 13), "x", 40, 1.5, True)]
        asked = plan(ask.count("patients", "born = '2020-05-13' and smoker and age = 40"), CLINIC).aggregate
        assert engine.number(asked).open_for_release() == 1


def test_a_header_with_a_name_twice_is_refused(tmp_path) -> None:
    with pytest.raises(
        RegistrationError, match="has 2 columns called 'age', whatever their case: 'age', 'age'; rename"
    ):
        engine_on(tmp_path, [], f"{HEADER},age")
    with pytest.raises(RegistrationError, match=r"does not have exactly one column 'pid'; it has $"):
        engine_on(tmp_path, [], "")


MISFITS = {
    ("pid", "7.2"): "pid, that is not a whole number of 64 bits; if keys are texts, say so: --key-type text",
    ("pid", "7.0"): "pid, that is not a whole number",
    (
        "pid",
        "1.23457E+12",
    ): "pid, that was rounded, as a spreadsheet does it, so that several people have one",
    ("pid", "1E+12"): "pid, that was rounded, as a spreadsheet does it",
    ("pid", "007"): "pid, that is a number with more than its digits",
    ("pid", "+7"): "pid, that is a number with more than its digits",
    ("pid", "-0"): "pid, that is a number with more than its digits",
    ("pid", " 7"): "pid, that is a number with more than its digits",
    ("pid", '"7 "'): "pid, that is a number with more than its digits",
    ("pid", "\t7"): "pid, that is a number with more than its digits",
    ("pid", "1_0"): "pid, that is not a whole number",
    ("pid", "0x1F"): "pid, that is not a whole number",
    ("pid", "P-7"): "pid, that is not a whole number",
    ("pid", "9223372036854775808"): "pid, that is not a whole number",
    ("age", "45.5"): "age that is not a whole number of 64 bits; write it with digits alone, such as 1200, or declare",
    ("age", "1_000"): "age that is not a whole number",
    ("age", "1e3"): "age that is not a whole number",
    ("age", "0x1F"): "age that is not a whole number",
    ("age", "NA"): "age that is not a whole number of 64 bits; leave the cell empty where nothing is known",
    ("bmi", "72_5"): "bmi that is not a number; write it as 72.5",
    ("bmi", "0x1F"): "bmi that is not a number",
    ("bmi", "NULL"): "bmi that is not a number; leave the cell empty",
    ("bmi", '"72,5"'): "bmi that is not a number; write a point in place of the comma, such as 72.5",
    ("born", "31.12.1980"): "born that is not a day; write days as 2025-12-31",
    ("born", "2020-02-03 25:00:00"): "born that is not a day",
    ("born", "2020-02-03 10:61:00"): "born that is not a day",
    ("born", "2020-02-30"): "born that is not a day",
    ("born", "2020-02-03 23:30:00+05:00"): "born that is not a day",
    ("born", "20200203"): "born that is not a day",
    ("smoker", "maybe"): "smoker that is not a truth value; write true or false",
}


def line_with(column, cell):
    cells = {"pid": "50", "born": "2020-01-01", "name": "x", "age": "1", "bmi": "1", "smoker": "true", column: cell}
    return ",".join(cells.values())


@pytest.mark.parametrize(("column", "cell"), MISFITS)
def test_a_cell_that_would_be_rounded_guessed_or_merged_is_refused_with_its_line_and_column(
    column, cell, tmp_path
) -> None:
    what = "a person key, in" if column == "pid" else "a cell in"
    told = f"cannot be read: line 42 has {what} column {MISFITS[column, cell]}"
    with pytest.raises(RegistrationError, match=re.escape(told)) as refused:
        engine_on(tmp_path, [*OTHERS, line_with(column, cell)])
    told = str(refused.value).replace("1200", "").replace("such as 007, +7 or", "").replace("such as 7", "")
    assert cell not in told, "what the cell holds is nobody's business"


def test_a_text_key_that_is_a_rounded_number_is_refused_and_one_that_looks_a_little_like_it_is_not(tmp_path) -> None:
    of_texts = Population(
        name="clinic",
        unit=PrivacyUnit(person_key="pid"),
        tables=(Table(name="patients", columns=(), key_type=KeyType.TEXT),),
    )
    (tmp_path / "p.csv").write_text("pid\nE+7\n1E+7\n1.5\nA1.5E+7\n1+1\n\n")
    with DuckDB(of_texts, {"patients": tmp_path / "p.csv"}, threads=1) as engine:
        held = engine._connection.execute("select pid from lapwing.patients where pid is not null").fetchall()
    assert held == [("E+7",), ("1E+7",), ("1.5",), ("A1.5E+7",), ("1+1",)]
    for rounded in ("1.23457E+12", " 1,23457e+12 ", "-7.1E+9"):
        (tmp_path / "p.csv").write_text(f'pid;x\n7;\n"{rounded}";\n')
        with pytest.raises(RegistrationError, match="line 3 has a person key, in column pid, that was rounded") as told:
            DuckDB(of_texts, {"patients": tmp_path / "p.csv"}, threads=1)
        assert rounded.strip() not in str(told.value)


WHOLE = {
    ("age", "45.0"): 45,
    ("age", "+7"): 7,
    ("age", " 7 "): 7,
    ("age", "-9223372036854775808"): -(2**63),
    ("bmi", "7.25e1"): 72.5,
    ("bmi", ".5"): 0.5,
    ("bmi", "-Inf"): float("-inf"),
    ("bmi", "nan"): None,
    ("born", "1937-12-1"): date(1937, 12, 1),
    ("born", "2020-02-03T23:30:00.123Z"): date(2020, 2, 3),
    ("born", "2020-02-03 23:30:00+00:00"): date(2020, 2, 3),
    ("smoker", "No"): False,
}


@pytest.mark.parametrize(("column", "cell"), WHOLE)
def test_a_cell_that_can_be_read_in_one_way_is_read(column, cell, tmp_path) -> None:
    with engine_on(tmp_path, [line_with(column, cell)]) as engine:
        held = engine._connection.execute(f"select {column} from lapwing.patients").fetchall()  # noqa: S608 - ours
    assert held == [(WHOLE[column, cell],)]


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("50,,x,1,1,true,", 'line 42 has 7 cells, and the header has 6; write .* that holds "," in double quotes'),
        ("50,,x,72,5,1,true", "line 42 has 7 cells, and the header has 6"),
        ("50,,x", "line 42 has 3 cells, and the header has 6"),
        ("50,,M\udcfcller,1,1,true", "line 42 is not text in UTF-8; save it as UTF-8"),
        ("50,,x\ry,1,1,true", "line 42 has a CR inside; end lines with LF"),
        ('50,, "x",1,1,true', "line 42 has a blank before a quote; begin the cell with its quote"),
        ('50,,\t"x",1,1,true', "line 42 has a blank before a quote"),
        ('50,,"x" ,1,1,true', "line 42 has a quote that is not closed, or text after one"),
        (f"50,,secret{'x' * 3_000_000},1,1,true", "line 42 cannot be taken apart"),
    ],
    ids=[
        "a cell too many, and empty",
        "a comma for a point",
        "too few",
        "Latin-1",
        "a carriage return",
        "a blank before a quote",
        "a tab before a quote",
        "a blank after a quote",
        "very long",
    ],
)
def test_a_line_of_another_shape_is_refused_with_its_number(line, told, tmp_path) -> None:
    with pytest.raises(RegistrationError, match=told) as refused:
        engine_on(tmp_path, [*OTHERS, line])
    assert "secret" not in str(refused.value), "a line is not quoted"


def test_lines_that_are_blank_are_no_rows_and_count_for_the_number_of_a_line(tmp_path) -> None:
    with pytest.raises(RegistrationError, match="line 45 has a cell in column age"):
        engine_on(tmp_path, ["", *OTHERS, "", "", line_with("age", "x")])


def test_a_file_whose_lines_end_with_a_carriage_return_alone_is_refused(tmp_path) -> None:
    (tmp_path / "patients.csv").write_bytes(b"pid,age\r1,2\r")
    with pytest.raises(RegistrationError, match="end with CR alone; end lines with LF"):
        DuckDB(CLINIC, {"patients": tmp_path / "patients.csv"})


def test_every_short_line_that_is_taken_says_the_same_to_both_readers(tmp_path) -> None:
    """Lines are checked by one reader and read by another: a blank by a quote was text to one, nothing to the other."""
    named = Population(
        name="clinic",
        unit=PrivacyUnit(person_key="pid"),
        tables=(Table(name="patients", columns=(COLUMNS[1],)),),
    )
    file = tmp_path / "patients.csv"
    file.write_text("pid,name\n")
    checked, lines = CSVFile("patients", file), []
    for signs in itertools.chain.from_iterable(itertools.product(' ",a\t\\\0;\u00a0', repeat=n) for n in range(5)):
        line = f"{len(lines)},{''.join(signs)}"
        with suppress(RegistrationError):
            checked._is_row(2, line.encode())
            lines.append(line)
    file.write_text("\n".join(["pid,name", *lines, ""]), encoding="utf-8")
    with DuckDB(named, {"patients": file}, threads=1) as engine:
        read = engine._connection.execute("select pid, name from lapwing.patients order by pid").fetchall()
    assert read == [(int(key), name or None) for key, name in csv.reader(lines, strict=True)]
    assert len(lines) > 3000


WRITTEN = {
    "days first": ({"day_order": "dmy"}, "1,31.12.1999,x,5,1.5,true", (date(1999, 12, 31), "x", 5, 1.5)),
    "days first, with slashes": ({"day_order": "dmy"}, "1,1/2/1999,x,5,1.5,true", (date(1999, 2, 1), "x", 5, 1.5)),
    "days first, with a time": ({"day_order": "dmy"}, "1,1-2-1999 10:00,x,5,2,true", (date(1999, 2, 1), "x", 5, 2.0)),
    "months first": ({"day_order": "mdy"}, "1,12/31/1999,x,5,1.5,true", (date(1999, 12, 31), "x", 5, 1.5)),
    "a comma": ({"decimal": ","}, '1,,x,5,"72,5",true', (None, "x", 5, 72.5)),
    "a comma and points": ({"decimal": ",", "thousands": "."}, '1,,x,1.250,"1.072,5",true', (None, "x", 1250, 1072.5)),
    "a quote between thousands": ({"thousands": "'"}, "1,,x,1'250'000,7,true", (None, "x", 1250000, 7.0)),
    "thousands that are not marked": ({"thousands": "'"}, "1,,x,1250,7.5,true", (None, "x", 1250, 7.5)),
    "nothing": ({"missing": ("NA", "n/a")}, "1,NA,n/a, NA ,n/a,true", (None, None, None, None)),
    "nothing, and days": ({"missing": ("-",), "day_order": "dmy"}, "1,-,-,-,-,true", (None, None, None, None)),
}
NOT_SO = {
    "month 31": ({"day_order": "mdy"}, "1,31.12.1999,x,5,1.5,true", "born"),
    "the year first where the day is": ({"day_order": "dmy"}, "1,1999-12-31,x,5,1.5,true", "born"),
    "two separators": ({"day_order": "dmy"}, "1,31.12/1999,x,5,1.5,true", "born"),
    "a year of two digits": ({"day_order": "dmy"}, "1,31.12.99,x,5,1.5,true", "born"),
    "a point where a comma is": ({"decimal": ","}, "1,,x,5,72.5,true", "bmi"),
    "thousands of two digits": ({"thousands": "'"}, "1,,x,12'50,7,true", "age"),
    "thousands at the end": ({"thousands": "'"}, "1,,x,1250',7,true", "age"),
    "another word for nothing": ({"missing": ("NA",)}, "1,n/a,x,5,7,true", "born"),
    "a comma that nobody declared": ({}, '1,,x,5,"72,5",true', "bmi"),
}


def written_so(folder, line, **cells):
    table = Table(name="patients", columns=COLUMNS, **cells)
    people = Population(name="clinic", unit=PrivacyUnit(person_key="pid"), tables=(table,))
    (folder / "patients.csv").write_text(f"{HEADER}\n{line}\n", encoding="utf-8")
    return DuckDB(people, {"patients": folder / "patients.csv"}, threads=1)


@pytest.mark.parametrize("name", WRITTEN)
def test_cells_are_read_as_the_custodian_says_that_they_are_written(tmp_path, name) -> None:
    cells, line, told = WRITTEN[name]
    with written_so(tmp_path, line, **cells) as engine:
        rows = engine._connection.execute("select born, name, age, bmi from lapwing.patients").fetchall()
    assert rows == [told]


@pytest.mark.parametrize("name", NOT_SO)
def test_cells_that_are_written_otherwise_are_refused_with_their_line(tmp_path, name) -> None:
    cells, line, column = NOT_SO[name]
    with pytest.raises(RegistrationError, match=f"line 2 has a cell in column {column} that is not a"):
        written_so(tmp_path, line, **cells)


def test_a_key_never_stands_for_nothing_and_is_never_spelt_anew(tmp_path) -> None:
    for line, cells in (("NA,,x,5,1,true", {"missing": ("NA",)}), ("1'000,,x,5,1,true", {"thousands": "'"})):
        with pytest.raises(RegistrationError, match="a person key"):
            written_so(tmp_path, line, **cells)


def test_one_sign_cannot_stand_before_decimals_and_between_thousands() -> None:
    with pytest.raises(ParameterError, match="also stands before the decimals"):
        Table(name="patients", columns=COLUMNS, thousands=".")
