"""Three servers on one PostgreSQL behind a proxy, one killed under load: nothing lost, nothing told twice."""

import asyncio
from collections import Counter

import pytest

from doors.server.test_race import url_of
from doors.server.three_hosts import POPULATIONS, OwnProxy, kill_one_under_load

pytestmark = pytest.mark.one_budget("what is told and charged is the same for every kind of budget")


def test_one_of_three_hosts_dies_and_the_others_go_on(quick_path, database) -> None:
    questions = 90
    found = asyncio.run(kill_one_under_load(quick_path, url_of(database), questions=questions, clients=12))
    assert set(found.statuses) <= {200, 410}, found.statuses
    assert len(found.load.told) == found.charges == questions, "each key has one end and one charge"
    assert (found.keys_charged_twice, found.unsettled, found.different) == (0, 0, [])
    assert found.statuses[410] <= 12, "only what the dead host had in hand can be lost"
    assert set(found.after) == set(POPULATIONS), "also those of the host that died"


def test_the_proxy_of_the_tests_routes_by_population_and_moves_only_those_of_a_host_that_is_gone(tmp_path) -> None:
    proxy, fewer = OwnProxy(tmp_path, [1, 2, 3]), OwnProxy(tmp_path, [1, 3])
    lines = [f"POST /api/v1/populations/p{i}/questions HTTP/1.1".encode() for i in range(300)]
    first = [proxy.order(line)[0] for line in lines]
    assert first == [proxy.order(line.replace(b"/api/v1", b"").replace(b"questions", b"ask"))[0] for line in lines]
    assert min(Counter(first).values()) > 60
    assert all(fewer.order(line)[0] == port for line, port in zip(lines, first, strict=True) if port != 2)
