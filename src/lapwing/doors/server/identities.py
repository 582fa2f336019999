"""Links from accounts at a provider to people here, and the sign-ins that have begun there and are not back yet.

A person is known by issuer and subject together. Somebody new gets an id that follows from both, so that no name which
can be chosen at a provider is ever taken for the id of somebody here.
"""

import json
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Final

from lapwing.doors.server.door_store import DoorStore
from lapwing.doors.server.passwords import digest_of
from lapwing.doors.server.people import Directory, Person
from lapwing.doors.server.roles import Role
from lapwing.doors.server.sign_in_provider import Provider, Subject
from lapwing.doors.server.trusted_proxy import Unknown
from lapwing.vocabulary.errors import ParameterError

BEGUN_FOR: Final = 600


class Identities:
    """The links between people here and at a provider."""

    def __init__(self, store: DoorStore, people: Directory, *, clock: Callable[[], float] = time.time) -> None:
        self._store, self._people, self._clock = store, people, clock

    def link(self, person: str, issuer: str, subject: str) -> None:
        """Link an account at a provider to a person here; an earlier link of that account is replaced."""
        known = self._people.person(person).id
        with self._store.together():
            self._store.do("delete from identities where issuer = ? and subject = ?", issuer, subject)
            self._store.do("insert into identities values (?, ?, ?, ?)", issuer, subject, known, self._now())

    def person_of(self, issuer: str, subject: str) -> Person | None:
        """Return the person linked to an account at a provider, if there is one."""
        row = self._store.one("select person from identities where issuer = ? and subject = ?", issuer, subject)
        return None if row is None else self._people.person(row[0])

    def let_in(self, subject: Subject, provider: Provider) -> Person | None:
        """Return the person of an account at a provider, added or updated; None if they may not sign in.

        Where roles follow from a claim, they follow at every sign-in: who left the group is a guest from then on.
        """
        person = self.person_of(subject.issuer, subject.subject)
        refused = subject.role is None and provider.unknown is Unknown.REFUSED
        if person is None:
            return None if refused else self._add(subject)
        role = person.role if provider.roles is None else subject.role or Role.GUEST
        if role is not person.role:
            try:
                person = self._people.change(person.id, role=role)
            except ParameterError:  # the last custodian stays one, and does not come in so
                return None
        if person.disabled or (refused and provider.roles is not None):
            return None
        return person

    def _add(self, subject: Subject) -> Person | None:
        id_ = f"sso-{digest_of(json.dumps([subject.issuer, subject.subject]))[:20]}"
        with suppress(ParameterError):  # the same person, in another window at the same moment
            self._people.add(id_, subject.name, subject.role or Role.GUEST)
        self._store.do(
            "insert into identities values (?, ?, ?, ?) on conflict do nothing",
            subject.issuer,
            subject.subject,
            id_,
            self._now(),
        )
        person = self.person_of(subject.issuer, subject.subject)
        return None if person is None or person.disabled else person

    def begin(self, secret: str, goal: str) -> None:
        """Remember that the browser with this secret was sent to a provider, and where it wants to go in the end."""
        now = self._now()
        with self._store.together():
            self._store.do("delete from begun_sign_ins where made < ?", now - BEGUN_FOR)
            self._store.do("insert into begun_sign_ins values (?, ?, ?)", digest_of(secret), goal, now)

    def take(self, secret: str) -> str | None:
        """Return where a browser that came back wants to go, once; None if it did not begin here, or too long ago."""
        with self._store.together():
            row = self._store.one("select goal, made from begun_sign_ins where hash = ?", digest_of(secret))
            self._store.do("delete from begun_sign_ins where hash = ?", digest_of(secret))
        return None if row is None or row[1] < self._now() - BEGUN_FOR else str(row[0])

    def _now(self) -> int:
        return int(self._clock())
