"""The page about sparse vectors is true, and the two applications of the lectures find what is there."""

import doctest
import math
import re
import runpy
from pathlib import Path

from lapwing.mechanisms.sparse_vector.stream import SparseVectorStatus
from lapwing.vocabulary.exact import Sensitive

ROOT = Path(__file__).parents[3]
PAGE = ROOT / "docs" / "sparse_vector.md"


def test_the_examples_of_the_page_say_what_they_print() -> None:
    flags = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
    failed, tried = doctest.testfile(str(PAGE), module_relative=False, optionflags=flags)
    assert tried > 8
    assert not failed


def test_the_page_links_to_what_exists() -> None:
    links = re.findall(r"\]\((\.\./[^)]+)\)", PAGE.read_text(encoding="utf-8"))
    assert len(links) > 8
    assert not [link for link in links if not (PAGE.parent / link).exists()]


def test_the_printed_algorithm_loses_what_the_page_says() -> None:
    assert math.floor(math.exp(11 / 2)) + 1 == 245  # (m + 1) epsilon / 2 for ten noes


def test_cohorts_far_from_the_threshold_are_decided_right() -> None:
    example = runpy.run_path(str(ROOT / "examples" / "cohort_size.py"))
    patients, mechanism = example["clinic"](), example["stream"]()
    sizes = {cohort: cohort.size(patients).open_for_release() for cohort in example["COHORTS"]}
    stream = mechanism.open()
    far = [cohort for cohort, size in sizes.items() if size < 50]  # a yes to one of them has a probability of 1e-10
    assert len(far) >= 3
    assert mechanism.chance_of_yes(50) < 1e-10
    assert not any(stream.ask(cohort.size(patients)) for cohort in far)
    assert stream.status is SparseVectorStatus.OPEN
    assert stream.spent == mechanism.threshold_epsilon
    assert 3 <= sum(size >= 200 for size in sizes.values()) <= 10  # a few deserve a yes


def test_one_patient_moves_every_cohort_by_at_most_one_and_none_down() -> None:
    example = runpy.run_path(str(ROOT / "examples" / "cohort_size.py"))
    patients = example["clinic"]()[:300]
    for newcomer in (patients[0], patients[7], patients[100]):
        for cohort in example["COHORTS"]:
            before, after = (cohort.size(table).open_for_release() for table in (patients, [*patients, newcomer]))
            assert 0 <= after - before <= 1


def test_the_planted_correlations_are_found_and_no_others() -> None:
    example = runpy.run_path(str(ROOT / "examples" / "correlation_screening.py"))
    screen, mechanism = example["screening"]()
    table = example["survey"]()
    scores = dict(zip(screen.pairs(example["FEATURES"]), screen.scores(table).open_for_release(), strict=True))
    margin = min(abs(int(score)) for score in scores.values())
    assert mechanism.chance_all_right(margin, questions=len(scores)) > 1 - 1e-9
    found, spent = example["find"](Sensitive(table))
    assert sorted(found) == example["PLANTED"]
    assert math.isclose(spent, float(mechanism.threshold_epsilon + 6 * mechanism.yes_price))
