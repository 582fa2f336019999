"""Deadlines on what is worked out for nothing."""

import threading
import time
from contextlib import suppress

import pytest

from lapwing.vocabulary.deadline import MOST_SECONDS, deadline, no_deadline, seconds_for, spend
from lapwing.vocabulary.errors import BadQuestionError

SAID = "takes more than 0.02 seconds of work to price, and nothing was charged; ask less at once"


def work(seconds: float) -> None:
    until = time.thread_time() + seconds
    while time.thread_time() < until:
        spend()


def test_work_beyond_its_deadline_is_refused() -> None:
    with pytest.raises(BadQuestionError, match=SAID), deadline(0.02):
        work(5)


def test_without_a_deadline_work_has_no_end() -> None:
    work(0.05)


def test_a_deadline_within_another_moves_it_no_further_away() -> None:
    with pytest.raises(BadQuestionError, match=SAID), deadline(0.02), deadline(5):
        work(5)
    with deadline(5):
        with pytest.raises(BadQuestionError, match=SAID), deadline(0.02):
            work(5)
        work(0.05)  # the outer one goes on


def test_who_tries_something_else_after_a_refusal_is_refused_all_the_same() -> None:
    def try_twice() -> None:
        with deadline(0.02), suppress(BadQuestionError):
            work(5)

    with pytest.raises(BadQuestionError, match=SAID):
        try_twice()


def test_what_was_charged_is_brought_to_its_end() -> None:
    with deadline(0.02), no_deadline():
        work(0.05)


def test_the_clock_is_that_of_the_work_and_not_of_the_wall() -> None:
    with deadline(0.02):
        time.sleep(0.1)
        spend(1000)


def test_a_deadline_is_that_of_its_thread() -> None:
    with deadline(0.02):
        other = threading.Thread(target=work, args=(0.05,))
        other.start()
        other.join()
        spend(1000)


def test_several_questions_have_more_time_than_one() -> None:
    assert seconds_for(1) == MOST_SECONDS < seconds_for(2) < seconds_for(1000) < 60
