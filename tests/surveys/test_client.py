"""The client is one file: what is proved is what runs, it draws once, and a browser does the same."""

import ast
import inspect
import json
import math
import os
import subprocess
import sys
from collections import Counter
from fractions import Fraction

import numpy as np
import pytest

import lapwing as lw
from doors.server.pages.browsers import a_chromium
from lapwing.errors import ParameterError
from lapwing.surveys import phone
from lapwing.surveys.report_law import ReportLaw
from statistical.goodness import fits, p_value
from surveys.dice import drawn

SMOKING = lw.survey(["never", "sometimes", "daily"], epsilon=1, question='Do you "smoke"?')
WORDS = lw.survey(words=10, epsilon=3)


@pytest.fixture
def client(quick_path):
    """Return a way to run the client of a survey."""

    def run(*words, survey=SMOKING, typed=None):
        program = survey.write_client(quick_path / "client.py")
        command = [sys.executable, "-I", program, "--memory", quick_path / "memory", *words]
        settings = {"input": typed or "", "env": {**os.environ, "HOME": ""}}
        return subprocess.run(command, capture_output=True, text=True, check=False, **settings)

    return run


def test_a_report_is_drawn_once_and_sent_again(client, quick_path) -> None:
    first = client("daily")
    assert first.stderr == "with this report, all that you sent costs epsilon 1\n"
    assert {client(answer).stdout for answer in ("daily", "never", "sometimes")} == {first.stdout}
    with SMOKING.collect(quick_path / "a.db") as collector:
        assert collector.take(first.stdout)
        assert not collector.take(client().stdout)


def test_what_is_kept_is_the_report_and_a_device_and_not_the_answer(client, quick_path) -> None:
    client("daily")
    kept = {path.name: path.read_text(encoding="utf-8") for path in (quick_path / "memory").iterdir()}
    assert set(kept) == {"device", f"{SMOKING.asked.key}.json"}
    assert set(json.loads(kept[f"{SMOKING.asked.key}.json"])) == {"survey", "epsilon", "device", "report"}
    assert "daily" not in "".join(kept.values())


def test_an_unknown_answer_draws_nothing(client, quick_path) -> None:
    refused = client("weekly")
    assert refused.returncode == 1
    assert refused.stderr == "'weekly' is no answer of this survey; write one of: never, sometimes, daily\n"
    assert list((quick_path / "memory").iterdir()) == []


def test_a_report_that_was_not_kept_whole_is_not_drawn_again(client, quick_path) -> None:
    client("daily")
    path = quick_path / "memory" / f"{SMOKING.asked.key}.json"
    path.write_text('{"survey"', encoding="utf-8")
    refused = client("daily")
    assert (refused.returncode, refused.stdout) == (1, "")
    assert "is not whole, so nothing was sent" in refused.stderr


def test_clients_that_start_at_the_same_time_draw_one_report(quick_path) -> None:
    program = lw.survey(words=10, epsilon=1).write_client(quick_path / "client.py")
    command = [sys.executable, program, "influenza", "--memory", quick_path / "memory"]
    started = [subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) for _ in range(6)]
    printed = {one.communicate()[0] for one in started} - {""}  # who saw a report that was not whole printed nothing
    assert len(printed) == 1


def test_who_has_spent_enough_sends_no_more(client) -> None:
    assert client("daily", "--most", "1.5").returncode == 0
    again = lw.survey(["yes", "no"], epsilon=1)
    refused = client("yes", "--most", "1.5", survey=again)
    assert (refused.returncode, refused.stdout) == (1, "")
    assert refused.stderr == "your reports would cost epsilon 2, more than 1.5; nothing was drawn\n"
    assert client("yes", survey=again).stderr == "with this report, all that you sent costs epsilon 2\n"


def test_it_says_what_it_gives_away_and_draws_nothing(client, quick_path) -> None:
    said = client("--about").stdout
    assert said.startswith('Do you "smoke"? (round 1)\n')
    assert f"{SMOKING.asked.law.heads}/4294967296" in said
    assert not (quick_path / "memory").exists()


@pytest.mark.parametrize(
    ("epsilon", "factor", "written"),
    [("1.5", "4.482", "1.5"), (2, "7.39", "2"), ("1/3", "1.396", "0.3334"), ("0.01", "1.011", "0.01")],
)
def test_the_promise_is_a_number_that_is_large_enough(client, epsilon, factor, written) -> None:
    survey = lw.survey(["yes", "no"], epsilon=Fraction(epsilon))
    said = f"No report is more than {factor} times as likely for your answer as for any other (epsilon {written};"
    assert said in client("--about", survey=survey).stdout
    assert math.exp(Fraction(epsilon)) <= float(factor) <= 1.001 * math.exp(Fraction(epsilon))


def test_at_a_prompt_the_answers_are_listed_and_the_report_stands_alone(client) -> None:
    given = client(typed="daily\n")
    assert given.stderr.startswith('Do you "smoke"? (never, sometimes, daily): ')
    assert json.loads(given.stdout)["survey"] == SMOKING.asked.key
    assert client(survey=lw.survey(7, epsilon=1), typed="3\n").stderr.startswith("Your answer (0 to 6): ")
    assert "the first 10 letters count" in client(survey=WORDS, typed="flu\n").stderr


def test_the_end_of_input_draws_nothing_and_says_so(client, quick_path) -> None:
    ended = client()
    assert (ended.returncode, ended.stdout) == (1, "")
    assert ended.stderr.endswith("): \nno answer was given; nothing was drawn\n")
    assert list((quick_path / "memory").iterdir()) == []


def test_it_needs_nothing_and_copies_what_is_proved() -> None:
    text = SMOKING.client()
    imported = {
        (node.names[0].name if isinstance(node, ast.Import) else str(node.module))
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.Import | ast.ImportFrom)
    }
    assert imported <= sys.stdlib_module_names
    assert "secrets" in imported
    for function in (phone.draw_report, phone.name_answers, phone.hash_prefix, phone.encode_word):
        assert inspect.getsource(function) in text
    nodes = list(ast.walk(ast.parse(inspect.getsource(phone))))
    assert not any(isinstance(node, ast.Div) for node in nodes), "whole numbers only"
    assert {type(node.value) for node in nodes if isinstance(node, ast.Constant)} == {int, str}


def test_there_is_a_client_for_python_and_one_for_browsers(tmp_path) -> None:
    with pytest.raises(ParameterError, match=r'is no kind of client; end the name of the file in ".py" or ".html"'):
        SMOKING.write_client(tmp_path / "client.exe")


def test_a_client_in_a_folder_that_is_not_there_is_refused_in_a_sentence(tmp_path) -> None:
    with pytest.raises(ParameterError, match=r"cannot be written \(No such file.*name a file in a folder"):
        SMOKING.write_client(tmp_path / "none" / "client.py")


@pytest.mark.parametrize("empty", ["", " "])
def test_an_answer_without_a_text_is_refused(empty) -> None:
    with pytest.raises(ParameterError, match="have an empty text"):
        lw.survey(["yes", empty], epsilon=1)


MANY = """
import contextlib, io, runpy, sys
program, memory, times = sys.argv[1:]
main = runpy.run_path(program, run_name="client")["main"]
for time in range(int(times)):
    sys.argv = [program, "sometimes", "--memory", f"{memory}/{time}"]
    with contextlib.redirect_stderr(io.StringIO()):
        main()
"""


def test_what_the_shipped_file_prints_has_the_law_that_it_states(quick_path) -> None:
    survey = lw.survey(5, epsilon="1.5")
    law = survey.asked.law
    program = survey.write_client(quick_path / "client.py")
    code = MANY.replace('"sometimes"', '"3"')
    command = [sys.executable, "-c", code, program, quick_path / "memory", "3000"]
    lines = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
    sent = [json.loads(line) for line in lines]
    assert len({one["device"] for one in sent}) == 3000
    counts = Counter(one["report"][0] for one in sent)
    seen = np.array([counts[answer] for answer in range(5)])
    assert law.size == 1
    assert fits(p_value(seen, stated(law)))
    assert not fits(p_value(seen, stated(lw.survey(5, epsilon="2.2").asked.law)))


def stated(law, truth=3):
    """Return the chance of each single answer, by the definition of randomized response."""
    return np.array([float(law.truth if answer == truth else law.lie) for answer in range(law.answers)])


@pytest.fixture(scope="module")
def browser():
    with a_chromium() as chromium:
        yield chromium


def opened(browser, survey, folder):
    page = browser.new_page()
    page.goto(survey.write_client(folder / "client.html").as_uri())
    return page


def test_a_browser_draws_once_and_shows_the_same_report_again(browser, quick_path) -> None:
    page = opened(browser, SMOKING, quick_path)
    shown = []
    for answer in ("daily", "never", "sometimes"):
        page.select_option("select", answer)
        page.click("button")
        shown.append(page.input_value("#report"))
    assert len(set(shown)) == 1
    with SMOKING.collect(quick_path / "a.db") as collector:
        assert collector.take(shown[0])
    assert page.text_content("h1") == 'Do you "smoke"?'
    page.close()


HOSTILE = "</script><script>document.title = 'spoiled'</script> ''' \\\"\"\" {} @PHONE@ @SURVEY@ \u2028 ü"


def test_whatever_is_asked_is_text_and_nothing_else(browser, client, quick_path) -> None:
    survey = lw.survey([HOSTILE, "</script>"], epsilon=1, question=HOSTILE)
    page = opened(browser, survey, quick_path)
    assert (page.text_content("h1"), page.title()) == (HOSTILE, "Survey")
    page.close()
    assert client(HOSTILE, survey=survey).returncode == 0
    assert client("--about", survey=survey).stdout.startswith(HOSTILE)


def test_a_browser_draws_by_the_stated_law(browser, quick_path) -> None:
    survey = lw.survey(7, epsilon=1)
    law, page = survey.asked.law, opened(browser, survey, quick_path)
    drawing = "() => Array.from({length: 6000}, () => drawReport(SURVEY.law, 3, below))"
    reports = page.evaluate(drawing)
    page.close()
    assert all(law.misfit(report) is None for report in reports)
    own = np.array([sum(3 not in one for one in reports), sum(3 in one for one in reports)])
    assert fits(p_value(own, np.array([1 - float(law.truth), float(law.truth)])))
    for answer in {*range(7)} - {3}:
        with_it = sum(answer in one for one in reports)
        assert fits(p_value(np.array([6000 - with_it, with_it]), np.array([1 - float(law.lie), float(law.lie)])))
    more = float(lw.survey(7, epsilon="1.6").asked.law.truth)
    assert not fits(p_value(own, np.array([1 - more, more])))


@pytest.mark.parametrize("survey", [WORDS, lw.survey(words=10, epsilon=2), lw.survey(5000, epsilon="0.7")])
def test_a_browser_reads_and_hashes_as_python_does(browser, quick_path, survey) -> None:
    law, page = survey.asked.law, opened(browser, survey, quick_path)
    for word in ("influenza", "Hay fever!", "zzzzzzzzzz", ""):
        code = page.evaluate("(word) => encodeWord(SURVEY.letters, 10, word)", word)
        assert code == phone.encode_word(survey.asked.letters, 10, word)
        reports = [drawn(law, code % law.domain) for _ in range(20)]
        reports += page.evaluate(
            "(truth) => Array.from({length: 20}, () => drawReport(SURVEY.law, truth, below))", code % law.domain
        )
        for report in map(list, reports):
            assert law.misfit(report) is None
            prefix = code % law.domain // law.prime ** (law.lengths[-1] - law.lengths[report[0]])
            hashed = page.evaluate("([seeds, prefix]) => hashPrefix(SURVEY.law, seeds, prefix)", [report[1:-1], prefix])
            assert hashed == phone.hash_prefix(law.numbers(), report[1:-1], prefix)
    page.close()


@pytest.mark.parametrize("faces", [1, 2, 3, 7, 2**32, 2**48 + 1, 2**53])
def test_the_die_of_the_browser_shows_every_face_and_no_other(browser, quick_path, faces) -> None:
    page = opened(browser, SMOKING, quick_path)
    thrown = page.evaluate("(n) => Array.from({length: 400}, () => below(n))", faces)
    page.close()
    assert all(type(face) is int and 0 <= face < faces for face in thrown)
    if faces <= 7:
        assert set(thrown) == set(range(faces))
    else:
        assert max(thrown) > faces * 0.9
        assert min(thrown) < faces * 0.1


def test_a_survey_says_what_a_report_costs() -> None:
    assert SMOKING.event.epsilon == Fraction(1)
    assert isinstance(SMOKING.asked.law, ReportLaw)
