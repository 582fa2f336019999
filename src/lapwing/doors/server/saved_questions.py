"""The saved questions of analysts: a name, a folder, and the question with its price, as it was written.

What is saved is the words of an analyst, and no answer. Like everything in the server's store it changes nothing of
what was spent.
"""

import json
import time
from typing import Any, Final

from lapwing.doors.server.door_store import DoorStore
from lapwing.doors.server.problems import ProblemError
from lapwing.noise.randomness import fresh_name
from lapwing.vocabulary.frozen import frozen

MOST_SAVED: Final = 500
"""How many questions of a population one person may keep."""
_COLUMNS: Final = "id, name, folder, body, page, words, at"


@frozen(kw_only=False)
class SavedQuestion:
    """One saved question; `page` and `words` are where a page shows it again, if a page can build it."""

    id: str
    name: str
    folder: str
    body: dict[str, Any]
    page: str
    words: str
    at: int

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON values."""
        where = {"id": self.id, "name": self.name, "folder": self.folder, "at": self.at}
        return {**where, **self.body, "page": self.page, "words": self.words}


class SavedQuestions:
    """All saved questions, by population and person; a name stands once in a folder."""

    def __init__(self, store: DoorStore) -> None:
        self._store = store

    def of(self, population: str, person: str) -> list[SavedQuestion]:
        """Return all that somebody has saved, by folder and name."""
        rows = self._store.all(
            f"select {_COLUMNS} from saved where population = ? and person = ? order by folder, name",  # noqa: S608
            population,
            person,
        )
        return [
            SavedQuestion(id_, name, folder, json.loads(body), page, words, at)
            for id_, name, folder, body, page, words, at in rows
        ]

    def save(
        self, population: str, person: str, *, name: str, folder: str, body: dict[str, Any], page: str, words: str
    ) -> SavedQuestion:
        """Keep a question; the one that had this name in the folder is replaced."""
        owner, made, at = (population, person), fresh_name(), int(time.time())
        with self._store.together():
            self._store.do(
                "delete from saved where population = ? and person = ? and folder = ? and name = ?",
                *(*owner, folder, name),
            )
            kept = self._store.one("select count(*) from saved where population = ? and person = ?", *owner)
            if kept is not None and kept[0] >= MOST_SAVED:
                words_of_it = f"at most {MOST_SAVED} questions are kept for one person; delete some"
                raise ProblemError(409, "too_many_saved", words_of_it)
            values = (*owner, made, name, folder, json.dumps(body), page, words, at)
            self._store.do("insert into saved values (?, ?, ?, ?, ?, ?, ?, ?, ?)", *values)
        return SavedQuestion(made, name, folder, body, page, words, at)

    def forget(self, population: str, person: str, id_: str) -> bool:
        """Delete a question; False where there was none."""
        values = (population, person, id_)
        return self._store.do("delete from saved where population = ? and person = ? and id = ?", *values) > 0
