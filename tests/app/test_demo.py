import re

from click.testing import CliRunner

from lapwing.app.cli import main


def test_the_demonstration_runs_and_says_what_is_true():
    shown = CliRunner().invoke(main, ["demo"], catch_exceptions=False)
    assert shown.exit_code == 0
    assert "costs epsilon 0.284" in shown.output  # P(|X| <= 10) of a discrete Laplace law of that epsilon is 95 %
    assert "as printed in a lecture 2.00 after 3 noes, 5.50 after 10 noes, 15.50 after 30 noes" in shown.output
    assert re.search(r"lapwing +1\.00 after 3 noes, 1\.00 after 10 noes, 1\.00 after 30 noes", shown.output)
    assert re.search(r"epsilon 1, delta 1e-6 +558", shown.output)
    assert "<sensitive>" in shown.output


def test_help_says_what_it_is():
    shown = CliRunner().invoke(main, ["--help"])
    assert "differential privacy" in shown.output
    assert "demo" in shown.output
