"""People, their tokens and sign-ins, and invitations. Secrets are kept as hashes only, and shown once.

Whoever is disabled, whose role changed, or whose token was revoked is somebody else at the next request: everything is
looked up each time, or seen to be unchanged. A token may do less than its owner, and never more; one that was made with
another ends with it. The last custodian stays.
"""

import re
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import field
from functools import lru_cache
from typing import Any, Final

from lapwing.app.server.door_store import DoorStore
from lapwing.app.server.passwords import digest_of, fresh_secret, hash_password, matches, require_password
from lapwing.app.server.roles import RIGHTS, Right, Role
from lapwing.noise.randomness import fresh_name
from lapwing.vocabulary.errors import ParameterError
from lapwing.vocabulary.frozen import frozen

IDLE: Final = 30 * 60
LONGEST: Final = 12 * 3600
INVITED_FOR: Final = 24 * 3600
FIRST_LINK_FOR: Final = 15 * 60
_DAY: Final = 24 * 3600
_MOST_KNOWN: Final = 1000
PERSON_ID: Final = re.compile(r"[a-z0-9][a-z0-9._@-]{0,59}")
_TOKEN: Final = re.compile(r"lw_[A-Za-z0-9_-]{20,80}")
_EVERYBODY: Final = "select id, name, role, disabled from people order by id"
_NEVER: Final = 2**62
_GOOD_UNTIL: Final = "select expires from tokens where id = ? and person = ? and revoked = 0 and expires > ?"
_REVOKE: Final = """update tokens set revoked = 1 where person = ? and id in (with recursive ending(id) as (
    select cast(? as text) union select m.token from token_makers m join ending on m.maker = ending.id
) select id from ending)"""
_BY_ID: Final = "select id, name, role, disabled from people where id = ?"


@frozen()
class Person:
    """Who is here, and what they may do now: all that their role may, or what their `token` carries of it."""

    id: str
    name: str
    role: Role
    disabled: bool = False
    rights: frozenset[Right]
    token: str | None = field(default=None, compare=False)

    def to_dict(self) -> dict[str, Any]:
        """Return who it is as JSON values."""
        return {"id": self.id, "name": self.name, "role": self.role.value, "disabled": self.disabled}


class Directory:
    """Everybody who may come in.

    Parameters
    ----------
    store : where they are kept
    most_tokens : how many tokens a person may have that are good
    clock : seconds; for tests
    """

    def __init__(self, store: DoorStore, *, most_tokens: int = 20, clock: Callable[[], float] = time.time) -> None:
        self._store, self._most_tokens, self._clock = store, most_tokens, clock
        self._nobody = ""
        self._known: tuple[object, dict[str, tuple[Any, ...]]] = None, {}

    # People

    def add(self, id_: str, name: str, role: Role, *, password: str | None = None) -> Person:
        """Add a person."""
        if not PERSON_ID.fullmatch(id_):
            remedy = "write small letters, digits and . _ @ - only, 60 at most"
            raise ParameterError("id", id_, reason="is not the name of a person", remedy=remedy)
        kept = None if password is None else hash_password(require_password(password))
        with self._store.together():
            if self._store.one(_BY_ID, id_):
                raise ParameterError("id", id_, reason="is taken", remedy="choose another one")
            self._store.do(
                "insert into people values (?, ?, ?, ?, 0, ?)", id_, name[:200], role.value, kept, self._now()
            )
        return self.person(id_)

    def person(self, id_: str) -> Person:
        """Return a person by their id."""
        row = self._store.one(_BY_ID, id_)
        if row is None:
            raise ParameterError("person", id_, reason="is not known here", remedy="see who is: lapwing people list")
        return _person(row)

    def everybody(self) -> list[Person]:
        """Return all people, by their ids."""
        return [_person(row) for row in self._store.all(_EVERYBODY)]

    def change(
        self, id_: str, *, name: str | None = None, role: Role | None = None, disabled: bool | None = None
    ) -> Person:
        """Change what is known of a person; another role, or being disabled, ends all their sign-ins."""
        with self._store.together():
            known = self.person(id_)
            named = known.name if name is None else name[:200]
            becomes = known.role if role is None else role
            off = known.disabled if disabled is None else disabled
            leaves = known.role is Role.CUSTODIAN and not known.disabled and (becomes is not Role.CUSTODIAN or off)
            if leaves and self._custodians() == 1:
                remedy = "make somebody else a custodian first"
                raise ParameterError("person", id_, reason="is the last custodian", remedy=remedy)
            self._store.do(
                "update people set name = ?, role = ?, disabled = ? where id = ?", named, becomes.value, int(off), id_
            )
            if becomes is not known.role or off:
                self._store.do("delete from sign_ins where person = ?", id_)
        return self.person(id_)

    def _custodians(self) -> int:
        row = self._store.one("select count(*) from people where role = ? and disabled = 0", Role.CUSTODIAN.value)
        return 0 if row is None else int(row[0])

    @property
    def is_empty(self) -> bool:
        """Whether nobody is known yet, so that the first custodian is still to come."""
        return self._store.one("select id from people") is None

    # Passwords and sign-ins

    def by_password(self, id_: str, password: str) -> Person | None:
        """Return who this is, if the password is right. The same work is done for names that nobody has."""
        row = self._store.one("select id, name, role, disabled, password from people where id = ?", id_)
        if not self._nobody:
            self._nobody = hash_password(fresh_secret())
        kept = row[4] if row is not None and row[4] else None
        right = matches(password, kept or self._nobody)
        return _person(row[:4]) if right and row is not None and kept and not row[3] else None

    def vouched_for(self, id_: str, *, adds_guests: bool) -> Person | None:
        """Return who somebody trusted says is there; None if they are not known, or may not come in.

        A person who is not known is added as a guest, who has no role before a custodian gives them one, or refused.
        """
        if self._store.one(_BY_ID, id_) is None:
            if not adds_guests:
                return None
            with suppress(ParameterError):  # somebody else added them just now
                return self.add(id_, id_, Role.GUEST)
        person = self.person(id_)
        return None if person.disabled else person

    def sign_in(self, person: str, *, prefix: str = "") -> str:
        """Return the secret of a new sign-in, for a cookie; it begins with a prefix that says how it was made."""
        secret, now = prefix + fresh_secret(), self._now()
        with self._store.together():
            self._store.do("delete from sign_ins where seen < ? or made < ?", now - IDLE, now - LONGEST)
            self._store.do("insert into sign_ins values (?, ?, ?, ?)", digest_of(secret), person, now, now)
        return secret

    def by_sign_in(self, secret: str) -> Person | None:
        """Return who signed in with this secret, if that is not too long ago."""
        now, hashed = self._now(), digest_of(secret)
        row = self._store.one(
            """select p.id, p.name, p.role, p.disabled, s.seen from sign_ins s join people p on p.id = s.person
               where s.hash = ? and s.seen >= ? and s.made >= ? and p.disabled = 0""",
            hashed,
            now - IDLE,
            now - LONGEST,
        )
        if row is not None and now - row[4] > 60:  # noqa: PLR2004 - a write a minute is enough
            self._store.do("update sign_ins set seen = ? where hash = ?", now, hashed)
        return None if row is None else _person(row[:4])

    def sign_out(self, secret: str) -> None:
        """End a sign-in."""
        self._store.do("delete from sign_ins where hash = ?", digest_of(secret))

    # Tokens

    def make_token(
        self, person: Person, name: str, *, days: int = 90, may: Iterable[Right] | None = None
    ) -> tuple[str, dict[str, Any]]:
        """Return a new token, shown this once, and what is known of it.

        It may do what its maker may, or less. Who came by a token makes one that ends at the latest with that one.
        """
        rights = person.rights if may is None else frozenset(may)
        if not rights <= person.rights or not rights:
            remedy = f"name some of {', '.join(sorted(person.rights))}"
            raise ParameterError("may", ", ".join(sorted(rights)), reason="is not what you may do", remedy=remedy)
        secret, id_, now = f"lw_{fresh_secret()}", fresh_name()[:12], self._now()
        with self._store.together():
            until = min(now + days * _DAY, self._end_of(person))
            row = self._store.one(
                "select count(*) from tokens where person = ? and revoked = 0 and expires > ?", person.id, now
            )
            if row is not None and row[0] >= self._most_tokens:
                remedy = "revoke one first"
                raise ParameterError("tokens", row[0], reason="are all that one person may have", remedy=remedy)
            self._store.do(
                "insert into tokens values (?, ?, ?, ?, ?, ?, ?, null, 0)",
                digest_of(secret),
                id_,
                person.id,
                name[:200],
                " ".join(sorted(rights)),
                now,
                until,
            )
            if person.token is not None:
                self._store.do("insert into token_makers values (?, ?)", id_, person.token)
        return secret, next(one for one in self.tokens(person.id) if one["id"] == id_)

    def _end_of(self, person: Person) -> int:
        """Return when what somebody makes has to end, which is when the token ends by which they came."""
        if person.token is None:
            return _NEVER
        found = self._store.one(_GOOD_UNTIL, person.token, person.id, self._now())
        if found is None:
            raise ParameterError("token", person.token, reason="has ended", remedy="come with another one")
        return int(found[0])

    def by_token(self, token: str) -> Person | None:
        """Return whose token this is, with what it may do now; None if it is dead, whatever the reason."""
        if not _TOKEN.fullmatch(token):
            return None
        now, hashed, known = self._now(), digest_of(token), self._known_tokens()
        row = known.get(hashed) or self._store.one(
            """select p.id, p.name, p.role, p.disabled, t.may, t.used, t.expires, t.id from tokens t
               join people p on p.id = t.person where t.hash = ? and t.revoked = 0 and p.disabled = 0""",
            hashed,
        )
        if row is None or row[6] <= now:
            return None
        known[hashed] = row
        if row[5] is None or now - row[5] > _DAY:  # the day is enough to know
            self._store.do("update tokens set used = ? where hash = ?", now - now % _DAY, hashed)
        return _person(row[:4], may=row[4], token=row[7])

    def _known_tokens(self) -> dict[str, tuple[Any, ...]]:
        """Return the tokens that were looked up since something was last changed, by their hashes."""
        stamp = self._store.stamp()  # before anything is looked up: what changes meanwhile changes the stamp
        then, known = self._known
        if stamp is None or stamp != then or len(known) >= _MOST_KNOWN:
            known = {}
            self._known = stamp, known
        return known

    def tokens(self, person: str) -> list[dict[str, Any]]:
        """Return what is known of the tokens of a person, the newest first; never the tokens."""
        rows = self._store.all(
            "select id, name, may, made, expires, used, revoked from tokens where person = ? order by made desc, id",
            person,
        )
        names = ("id", "name", "may", "made", "expires", "used", "revoked")
        found = [dict(zip(names, row, strict=True)) for row in rows]
        return [{**one, "may": one["may"].split(), "revoked": bool(one["revoked"])} for one in found]

    def revoke_token(self, person: str, id_: str) -> bool:
        """End a token, and all that were made with it; say whether the person had it."""
        with self._store.together():  # while nobody makes another one with it
            return self._store.do(_REVOKE, person, id_) > 0

    def revoke_tokens(self, person: str) -> int:
        """End all tokens of a person, and return how many there were."""
        with self._store.together():  # as above
            return self._store.do("update tokens set revoked = 1 where person = ? and revoked = 0", person)

    # Invitations

    def invite(self, id_: str, name: str, role: Role, *, by: str, seconds: int = INVITED_FOR) -> str:
        """Return the secret of a link that makes this person, once, and in time."""
        if not PERSON_ID.fullmatch(id_):
            remedy = "write small letters, digits and . _ @ - only, 60 at most"
            raise ParameterError("id", id_, reason="is not the name of a person", remedy=remedy)
        if self._store.one(_BY_ID, id_):
            raise ParameterError("id", id_, reason="is taken", remedy="choose another one")
        secret, expires = fresh_secret(128), self._now() + seconds
        values = (digest_of(secret), id_, name[:200], role.value, by, expires)
        self._store.do("insert into invitations values (?, ?, ?, ?, ?, ?, null)", *values)
        return secret

    def invitations(self) -> list[dict[str, Any]]:
        """Return who is invited and has not come yet."""
        rows = self._store.all(
            """select person, name, role, made_by, expires from invitations
               where used is null and expires > ? order by expires""",
            self._now(),
        )
        return [dict(zip(("id", "name", "role", "made_by", "expires"), row, strict=True)) for row in rows]

    def invited(self, secret: str) -> str | None:
        """Return the name with which the person of an invitation will sign in; None where there is none any more."""
        row = self._store.one(
            "select person from invitations where hash = ? and used is null and expires > ?",
            digest_of(secret),
            self._now(),
        )
        return None if row is None or self._store.one(_BY_ID, row[0]) else str(row[0])

    def accept(self, secret: str, *, password: str | None = None) -> Person | None:
        """Make the person of an invitation, once; None where there is no such invitation (any more)."""
        kept, now = None if password is None else hash_password(require_password(password)), self._now()
        with self._store.together():
            row = self._store.one(
                "select person, name, role from invitations where hash = ? and used is null and expires > ?",
                digest_of(secret),
                now,
            )
            if row is None or self._store.one(_BY_ID, row[0]):
                return None
            self._store.do("update invitations set used = ? where hash = ?", now, digest_of(secret))
            self._store.do("insert into people values (?, ?, ?, ?, 0, ?)", row[0], row[1], row[2], kept, now)
        return self.person(str(row[0]))

    def _now(self) -> int:
        return int(self._clock())


@lru_cache(maxsize=1024)
def _person(row: tuple[Any, ...], *, may: str | None = None, token: str | None = None) -> Person:
    role = Role(row[2])
    rights = RIGHTS[role] if may is None else RIGHTS[role] & {Right(one) for one in may.split()}
    return Person(id=row[0], name=row[1], role=role, disabled=bool(row[3]), rights=rights, token=token)
