"""What has changed is found, and the tests that examine it, the nearest first."""

import subprocess

import pytest

from mutation.places import ROOT, SOURCE, TESTS
from quick import choosing
from quick.choosing import GUARDS, begun_at, changed, chosen, near_to

PACKAGE = SOURCE / "lapwing"


@pytest.mark.parametrize(
    ("file", "nearest"),
    [
        ("src/lapwing/queries/planning/planner.py", "tests/queries/planning/test_planner.py"),
        ("src/lapwing/engines/spark.py", "tests/engines/test_spark.py"),
        ("src/lapwing/session.py", "tests/session/"),
        ("src/lapwing/doors/server/pages/static/lapwing.css", "tests/doors/server/pages/"),
        ("tests/ledger/clinic.py", "tests/ledger/"),
        ("tests/noise/conftest.py", "tests/noise/"),
        ("docs/server.md", "tests/doors/server/test_server_page.py"),
        ("docs/first_minutes.md", "tests/doors/cli/test_first_minutes.py"),
        ("examples/custodian.py", "tests/test_examples.py"),
        ("proofs/geometric.md", "tests/proofs/test_proofs.py"),
        ("Makefile", "tests/"),
    ],
)
def test_the_nearest_tests_of_a_file_are_among_the_first_three(file, nearest) -> None:
    found = near_to(ROOT / file)
    assert any(str(test.relative_to(ROOT)).startswith(nearest) for test in found[:3]), found[:5]
    assert all(test.exists() for test in found)


def test_tests_that_take_long_come_after_those_that_do_not() -> None:
    found = [str(test.relative_to(ROOT)) for test in near_to(PACKAGE / "queries" / "statements" / "select.py")]
    assert found.index("tests/queries/statements/test_select.py") < found.index("tests/fuzz/test_truth.py")


def test_a_helper_of_helpers_is_examined_by_the_tests_of_all_of_them() -> None:
    assert TESTS / "engines" / "test_one_person.py" in near_to(TESTS / "engines" / "clinic.py")
    assert TESTS / "workspace" / "test_key_file.py" not in near_to(TESTS / "engines" / "clinic.py")


def test_changed_tests_and_examples_come_first_then_guards_then_the_neighbours_of_each_file_in_turns() -> None:
    files = [
        PACKAGE / "queries" / "statements" / "select.py",
        PACKAGE / "ledger" / "store.py",
        TESTS / "test_readme.py",
    ]
    found = chosen(files)
    assert found[:3] == files
    assert found[3 : 3 + len(GUARDS)] == [ROOT / name for name in GUARDS]
    assert {near_to(file)[0] for file in files[:2]} == set(found[6:8])
    assert len(set(found)) == len(found)


def test_a_page_is_run_where_its_examples_are() -> None:
    page, followed = ROOT / "docs" / "questions.md", ROOT / "docs" / "server.md"
    assert chosen([page])[0] == page
    assert followed not in chosen([followed])


def test_what_is_gone_is_not_run_and_those_who_import_it_are() -> None:
    gone = PACKAGE / "queries" / "gone.py"
    assert chosen([gone]) == [ROOT / name for name in GUARDS]
    assert chosen([TESTS / "test_gone.py"]) == []


def test_nothing_is_run_for_nothing() -> None:
    assert chosen([]) == []


@pytest.fixture
def repository(tmp_path, monkeypatch):
    """A repository with one commit on main, and a way to talk to its git."""

    def git(*words) -> str:
        given = ["-c", "user.name=ana", "-c", "user.email=ana@example.org", "-c", "commit.gpgsign=false"]
        command = ["git", *given, *words]
        return subprocess.run(command, cwd=tmp_path, check=True, capture_output=True, text=True).stdout.strip()

    monkeypatch.setattr(choosing, "ROOT", tmp_path)
    git("init", "--quiet", "--initial-branch=main")
    for name, text in {"kept": "1", "edited": "1", "deleted": "1", ".gitignore": "ignored\n"}.items():
        (tmp_path / name).write_text(text)
    git("add", ".")
    git("commit", "--quiet", "--message=one")
    return tmp_path, git


def test_new_edited_and_deleted_files_have_changed_committed_or_not(repository) -> None:
    folder, git = repository
    first = git("rev-parse", "HEAD")
    assert (begun_at(), changed("HEAD")) == (first, [])
    git("switch", "--quiet", "--create", "work")
    (folder / "edited").write_text("2")
    git("commit", "--quiet", "--all", "--message=two")
    (folder / "deleted").unlink()
    (folder / "new").write_text("1")
    (folder / "ignored").write_text("1")
    assert begun_at() == first
    assert changed(begun_at()) == [folder / name for name in ("deleted", "edited", "new")]
    assert changed("HEAD") == [folder / name for name in ("deleted", "new")]
