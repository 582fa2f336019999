"""SQL by grammar and by bytes, always the same texts; `make fuzz` looks at others."""

import math

import pytest

from fuzz.sql import CORPUS, Truth, examined, run

TEXTS, SEED = 150, 20_261_115


def test_whatever_is_written_is_refused_at_once_or_means_what_it_says() -> None:
    run(math.inf, SEED, most=TEXTS)


@pytest.mark.parametrize("path", sorted(CORPUS.iterdir()), ids=lambda path: path.stem)
def test_what_once_broke_something_is_read_or_refused(path) -> None:
    examined(path.read_text(encoding="utf-8"))


def test_a_wrong_number_would_be_found() -> None:
    """The comparison is able to fail: a plan of another question is not taken for this one's."""
    planned = examined("select sex, count(*) from patients where age > 30 group by sex")
    with Truth() as truth:
        truth.check("select sex, count(*) from patients where age > 30 group by sex", planned)
        with pytest.raises(AssertionError, match="is not"):
            truth.check("select sex, count(*) from patients where age >= 28 group by sex", planned)
