from collections.abc import Callable, Iterator

import pytest

from attacks.made_up import MadeUpDoors


@pytest.fixture
def doors(quick_path) -> Iterator[Callable[..., MadeUpDoors]]:
    made: list[MadeUpDoors] = []

    def make(**given) -> MadeUpDoors:
        made.append(MadeUpDoors(quick_path, **given))
        return made[-1]

    yield make
    for one in made:
        one.close()
