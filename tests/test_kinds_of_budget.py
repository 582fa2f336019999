"""Every test of a door runs over all kinds of budget, unless it says why one kind is enough."""

import ast
import re
from pathlib import Path

import pytest

HERE = Path(__file__).parent
DOORS = [HERE / "doors" / name for name in ("server", "client", "cli")]
FILES = [*(file for door in DOORS for file in sorted(door.rglob("*.py"))), HERE / "contracts" / "test_policy.py"]
LITERAL = re.compile(r"""budget\s*=\s*\{+\s*(epsilon|rho)\s*=|^budget = "[\d.]+""", re.MULTILINE)
"""A budget as lapwing.toml has it, or as the answers to `lapwing init`."""
OPTIONS = {"--epsilon", "--rho"}
OWN = {
    "contracts/test_policy.py": "what the most of a question means is told apart for each kind of budget",
    "doors/server/pages/test_cohorts.py": "how cohorts are built and read; nothing in it shows a budget",
    "doors/server/pages/test_custodian_in_browser.py": "the settings of a workspace, filled by hand in a browser",
    "doors/server/pages/visitors.py": "the clinic is given the budget of the fixture before it is opened",
    "doors/server/pages/test_who_spent.py": "each kind with the amount for which its belief is known by hand",
    "doors/server/test_server_page.py": "the examples of the page are typed as they stand there",
    "doors/server/test_told_at_every_door.py": "groups whose keys only the data knows take a delta",
    "doors/cli/test_moving.py": "two workspaces of several populations, which the fixture does not make",
    "doors/cli/test_training.py": "a pure epsilon cannot pay for a training; the other two kinds take turns",
    "doors/cli/test_dashboards.py": "what is typed at the prompt; all kinds are in analyses/test_dashboard.py",
    "doors/cli/test_analysing.py": "what is typed at the prompt; all kinds are in analyses/test_at_the_door.py",
    "doors/server/three_hosts.py": "several servers on one ledger; what they charge is counted in keys",
    "doors/cli/test_asking.py": "undeclared groups take a delta, and each question a workspace of its own",
    "doors/cli/test_custodian_view.py": "what is said under an epsilon, and under one with a delta, to the letter",
    "doors/cli/test_custody.py": "settings are edited by hand, of each kind, and refused to the letter",
    "doors/cli/test_help.py": "the examples of the help are typed as they stand there",
    "doors/cli/test_join.py": "sums are read to the letter; test_every_kind_of_budget joins under every kind",
    "doors/cli/test_printed.py": "how names and values are shown; undeclared groups take a delta",
    "doors/cli/test_regressing.py": "its examples take a delta; tests/analyses/test_regress.py has every kind",
    "doors/cli/test_refusals.py": "settings are edited by hand, and refused to the letter",
    "doors/cli/test_segments.py": "segments have accounts of their own; tests/doors/test_segments.py has their sums",
    "doors/cli/test_vocabularies.py": "how concepts are named and found, in counts that a huge epsilon makes exact",
    "doors/cli/test_wizard.py": "what the wizard asks for a budget, of each kind",
    "doors/cli/test_wording.py": "settings that are refused, to the letter",
}
"""Modules that write a budget of their own, and why."""


def place(file: Path) -> str:
    return file.relative_to(HERE).as_posix()


def writes_a_budget(source: str) -> bool:
    """Say whether a module makes a workspace with a budget of its own, or takes one that is made with an epsilon.

    Such are the clinic of `make_clinic`, where it is not told the kind, and those of the fixtures `omop...`.
    """
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.Constant(value=str(text)) if LITERAL.search(text):
                return True
            case ast.ImportFrom(module="budgets", names=names) if {one.name for one in names} - {"KindOfBudget"}:
                return True
            case ast.Call(args=arguments) if _is_init(arguments):
                return True
            case ast.Call(func=ast.Name(id=name) | ast.Attribute(attr=name), keywords=given) if name == "make_clinic":
                if all(one.arg is not None for one in given):  # `**budget.of(10)` is a kind of the fixture's
                    return True
            case ast.arg(arg=name) if name.startswith("omop"):
                return True
    return False


def _is_init(arguments: list[ast.expr]) -> bool:
    """Say whether something is called with the words of `lapwing init` and an amount."""
    words = [one.value for one in arguments if isinstance(one, ast.Constant)]
    return "init" in words and bool(OPTIONS & {one for one in words if isinstance(one, str)})


def test_who_writes_a_budget_of_their_own_says_why() -> None:
    own = {place(file) for file in FILES if writes_a_budget(file.read_text(encoding="utf-8"))}
    assert own - set(OWN) == set(), "take the fixture `budget`, which is every kind in turn, or say in OWN why not"
    assert set(OWN) - own == set(), "these write none any more"
    assert all(len(reason.split()) >= 5 for reason in OWN.values())


def test_who_runs_with_one_kind_of_budget_says_why() -> None:
    for file in FILES:
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "one_budget":
                (reason,) = (ast.literal_eval(one) for one in node.args)
                assert len(reason.split()) >= 4, (place(file), reason)


@pytest.mark.parametrize(
    ("source", "is_own"),
    [
        ("SETTINGS = 'budget = { epsilon = \"3\" }'", True),
        ("SETTINGS = '''\nbudget = {{ rho = \"{amount}\" }}'''", True),
        ("run(folder, 'init', 'clinic', '--epsilon', '3')", True),
        ("from budgets import PURE", True),
        ("from budgets import KindOfBudget", False),
        ("SETTINGS = 'budget = {budget}'", False),
        ("run(folder, 'count', 'patients', '--epsilon', '3')", False),
        ("make_folder(folder, budget)", False),
        ("lw.make_clinic(folder, people=3000)", True),
        ("make_clinic(folder, 20, epsilon='2000')", True),
        ("lw.make_clinic(folder, people=3000, **budget.of(10))", False),
        ("def test_a_concept_is_found(omop_once): ...", True),
        ("def test_a_count(clinic): ...", False),
    ],
)
def test_a_budget_of_ones_own_is_seen(source, is_own) -> None:
    assert writes_a_budget(source) is is_own


class _Found:
    """What a test says of itself when it is collected, and the kinds that it is run with."""

    def __init__(self, *marks: pytest.MarkDecorator) -> None:
        self.fixturenames = ["door", "budget"]
        self.definition = self
        self.marks = {one.name: one.mark for one in marks}
        self.kinds: list[str] = []

    def get_closest_marker(self, name: str) -> object:
        return self.marks.get(name)

    def iter_markers(self, name: str) -> list[object]:
        return [one for one in [self.marks.get(name)] if one]

    def parametrize(self, _: str, kinds, **__) -> None:
        self.kinds = [str(one) for one in kinds]


def test_every_kind_is_run_unless_a_reason_is_said(request) -> None:
    generate = request.config.pluginmanager.get_plugin(str(HERE / "conftest.py")).pytest_generate_tests
    plain, excused, chosen = (
        _Found(),
        _Found(pytest.mark.one_budget("a reason of some words")),
        _Found(pytest.mark.parametrize("budget", [1])),
    )
    for one in (plain, excused, chosen):
        generate(one)
    assert (plain.kinds, excused.kinds, chosen.kinds) == (["epsilon", "delta", "rho"], ["epsilon"], [])


@pytest.mark.one_budget("this is the test of the exception")
def test_one_kind_is_run_where_the_reason_is_said(budget) -> None:
    assert budget.name == "epsilon"
