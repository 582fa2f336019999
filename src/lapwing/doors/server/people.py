"""People, their tokens and sign-ins, and invitations. Secrets are kept as hashes only, and shown once.

A change of role, a revoked token or a disabled person takes effect at the next request: everything is looked up each
time, or seen to be unchanged. A token may do less than its owner, and never more; one that was made with
another ends with it. The last custodian stays.

A link lets whoever holds it choose a password, once and in time: for somebody who is invited, and becomes known by it,
or for somebody who is known and has none, or forgot theirs. Whatever else is decided about a person ends their links.
"""

import hmac
import re
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import field
from functools import lru_cache
from hashlib import sha256
from typing import Any, Final

from lapwing.doors.server.door_store import DoorStore
from lapwing.doors.server.passwords import digest_of, fresh_secret, hash_password, matches, require_password
from lapwing.doors.server.roles import RIGHTS, Right, Role
from lapwing.noise.randomness import fresh_name
from lapwing.vocabulary.errors import ParameterError
from lapwing.vocabulary.frozen import frozen

IDLE: Final = 30 * 60
LONGEST: Final = 12 * 3600
INVITED_FOR: Final = 24 * 3600
FIRST_LINK_FOR: Final = 15 * 60
_DAY: Final = 24 * 3600
_MOST_KNOWN: Final = 1000
_LONGEST_KNOWN: Final = 200
_MOST_SIGN_INS: Final = 50
_MOST_DEAD: Final = 50
"""Sign-ins of one person, and tokens that were revoked or have ended: those made longest ago are forgotten."""
PERSON_ID: Final = re.compile(r"[a-z0-9][a-z0-9._@-]{0,59}")
_TOKEN: Final = re.compile(r"lw_[A-Za-z0-9_-]{20,80}")
_EVERYBODY: Final = "select id, name, role, disabled from people order by id"
_NEVER: Final = 2**62
_GOOD_UNTIL: Final = "select expires from tokens where id = ? and person = ? and revoked = 0 and expires > ?"
_REVOKE: Final = """update tokens set revoked = 1 where person = ? and id in (with recursive ending(id) as (
    select cast(? as text) union select m.token from token_makers m join ending on m.maker = ending.id
) select id from ending)"""
_BY_ID: Final = "select id, name, role, disabled from people where id = ?"
_FORGET_SIGN_INS: Final = """delete from sign_ins where person = ? and hash not in (
    select hash from sign_ins where person = ? order by made desc, seen desc, hash limit ?)"""
_DEAD: Final = "person = ? and (revoked = 1 or expires <= ?)"
_FORGET_TOKENS: Final = f"""delete from tokens where {_DEAD} and id not in (
    select id from tokens where {_DEAD} order by made desc, id limit ?)"""  # noqa: S608 - ours
_FORGET_MAKERS: Final = "delete from token_makers where token not in (select id from tokens)"


@frozen()
class Person:
    """A person and their rights now: all rights of their role, or those that their `token` carries."""

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
            self._end_links(id_)
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
        """Change the record of a person; another role, or being disabled, ends all their sign-ins."""
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
            if becomes is not known.role or off is not known.disabled:
                self._end_links(id_)
        return self.person(id_)

    def _custodians(self) -> int:
        row = self._store.one("select count(*) from people where role = ? and disabled = 0", Role.CUSTODIAN.value)
        return 0 if row is None else int(row[0])

    def custodian_to_come(self) -> str | None:
        """Return who should be the first custodian to choose a password; None where one has chosen theirs."""
        custodians = "select id, password from people where role = ? and disabled = 0 order by id"
        found = self._store.all(custodians, Role.CUSTODIAN.value)
        if any(password for _, password in found):
            return None
        names = [str(id_) for id_, _ in found] or ["custodian", *(f"custodian-{n}" for n in range(2, 1000))]
        return next(name for name in names if found or not self._store.one(_BY_ID, name))

    # Passwords and sign-ins

    def by_password(self, id_: str, password: str) -> Person | None:
        """Return who this is, if the password is right. The same work is done for unknown names."""
        row = self._store.one("select id, name, role, disabled, password from people where id = ?", id_)
        if not self._nobody:
            self._nobody = hash_password(fresh_secret())
        kept = row[4] if row is not None and row[4] else None
        right = matches(password, kept or self._nobody)
        return _person(row[:4]) if right and row is not None and kept and not row[3] else None

    def know_browser(self, person: str) -> str:
        """Return the cookie of a browser in which a person signed in with a password.

        It is signed with the hash of the password, so that it is void once the password changes. It signs nobody in: it
        only gives the browser a rate limit of its own.
        """
        name = fresh_secret(96)
        return f"{name}.{self._signed(person, name)}"

    def browser_of(self, person: str, given: str) -> str:
        """Return by what name a browser is known as one of this person; nothing, where it is not."""
        name, _, signed = given[:_LONGEST_KNOWN].partition(".")
        is_right = hmac.compare_digest(signed.encode("utf-8", "replace"), self._signed(person, name).encode())
        return name if is_right else ""

    def _signed(self, person: str, name: str) -> str:
        row = self._store.one("select password from people where id = ? and disabled = 0", person)
        kept = row[0] if row is not None and row[0] else fresh_secret()  # which signs nothing that anybody has
        return hmac.new(kept.encode(), f"known browser {person} {name}".encode("utf-8", "replace"), sha256).hexdigest()

    def vouched_for(self, id_: str, *, adds_guests: bool) -> Person | None:
        """Return the person that a trusted proxy names; None if they are not known, or may not come in.

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
            self._store.do(_FORGET_SIGN_INS, person, person, _MOST_SIGN_INS - 1)
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
        """Return a new token, shown this once, and its metadata.

        It has the rights of its maker, or fewer. One that was made by a token expires no later than that one.
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
            if self._store.do(_FORGET_TOKENS, person.id, now, person.id, now, _MOST_DEAD):
                self._store.do(_FORGET_MAKERS)  # all that a dead token made is as dead
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
        """Return the expiry of tokens that a person makes: that of the token by which they came."""
        if person.token is None:
            return _NEVER
        found = self._store.one(_GOOD_UNTIL, person.token, person.id, self._now())
        if found is None:
            raise ParameterError("token", person.token, reason="has ended", remedy="come with another one")
        return int(found[0])

    def by_token(self, token: str) -> Person | None:
        """Return the owner of a token, with its rights now; None if it is invalid, for any reason."""
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
        """Return the metadata of a person's tokens, the newest first; never the tokens."""
        rows = self._store.all(
            "select id, name, may, made, expires, used, revoked from tokens where person = ? order by made desc, id",
            person,
        )
        names = ("id", "name", "may", "made", "expires", "used", "revoked")
        found = [dict(zip(names, row, strict=True)) for row in rows]
        return [{**one, "may": one["may"].split(), "revoked": bool(one["revoked"])} for one in found]

    def revoke_token(self, person: str, id_: str) -> bool:
        """End a token, and all that were made with it; say whether the person had it."""
        with self._store.together():  # so that no token is made with it in between
            return self._store.do(_REVOKE, person, id_) > 0

    def revoke_tokens(self, person: str) -> int:
        """End all tokens of a person, and return how many there were."""
        with self._store.together():  # as above
            return self._store.do("update tokens set revoked = 1 where person = ? and revoked = 0", person)

    # Links

    def invite(self, id_: str, name: str, role: Role, *, by: str, seconds: int = INVITED_FOR) -> str:
        """Return the secret of a link that makes this person, once, and in time."""
        if not PERSON_ID.fullmatch(id_):
            remedy = "write small letters, digits and . _ @ - only, 60 at most"
            raise ParameterError("id", id_, reason="is not the name of a person", remedy=remedy)
        if self._store.one(_BY_ID, id_):
            remedy = f"choose another one; for a new password: lapwing people invite {id_}"
            raise ParameterError("id", id_, reason="is taken", remedy=remedy)
        return self._make_link(id_, name[:200], role, by=by, seconds=seconds)

    def link(self, id_: str, *, by: str, seconds: int = INVITED_FOR) -> str:
        """Return the secret of a link by which a known person chooses a new password; older links of theirs end."""
        with self._store.together():  # so that the person is not disabled in between
            person = self.person(id_)
            if person.disabled:
                remedy = f"let them in again first: lapwing people disable {id_} --again"
                raise ParameterError("person", id_, reason="may not come in", remedy=remedy)
            self._end_links(id_)
            return self._make_link(id_, person.name, person.role, by=by, seconds=seconds)

    def _make_link(self, id_: str, name: str, role: Role, *, by: str, seconds: int) -> str:
        secret, now = fresh_secret(128), self._now()
        values = (digest_of(secret), id_, name, role.value, by, now + seconds)
        self._store.do("delete from invitations where expires <= ?", now)
        self._store.do("insert into invitations values (?, ?, ?, ?, ?, ?)", *values)
        return secret

    def _end_links(self, id_: str) -> None:
        self._store.do("delete from invitations where person = ?", id_)

    def invitations(self) -> list[dict[str, Any]]:
        """Return the links that are under way: of who is invited and has not come yet, and of who is known."""
        rows = self._store.all(
            """select i.person, i.name, i.role, i.made_by, i.expires, p.id is not null from invitations i
               left join people p on p.id = i.person where i.expires > ? order by i.expires""",
            self._now(),
        )
        names = ("id", "name", "role", "made_by", "expires", "known")
        return [{**dict(zip(names, row, strict=True)), "known": bool(row[5])} for row in rows]

    def invited(self, secret: str) -> str | None:
        """Return the name with which the person of a link will sign in; None where there is no such link (any more)."""
        row = self._store.one(
            "select person from invitations where hash = ? and expires > ?",
            digest_of(secret),
            self._now(),
        )
        return None if row is None else str(row[0])

    def accept(self, secret: str, *, password: str | None = None) -> tuple[Person, bool] | None:
        """Let the person of a link have this password, once; say who, and whether they are new here.

        Somebody who is known comes in by the password that they choose, and by nothing else that a link gives: whoever
        used it in their place locks them out, and is noticed. All links and sign-ins of theirs end with it. None where
        there is no such link (any more).
        """
        kept, now = None if password is None else hash_password(require_password(password)), self._now()
        with self._store.together():
            row = self._store.one(
                "select person, name, role from invitations where hash = ? and expires > ?",
                digest_of(secret),
                now,
            )
            if row is None:
                return None
            is_new = self._store.one(_BY_ID, row[0]) is None
            if not is_new and kept is None:
                remedy = "choose one"
                raise ParameterError("password", None, reason="is what this link is for", remedy=remedy)
            self._end_links(row[0])
            if is_new:
                self._store.do("insert into people values (?, ?, ?, ?, 0, ?)", row[0], row[1], row[2], kept, now)
            else:
                self._store.do("update people set password = ? where id = ?", kept, row[0])
                self._store.do("delete from sign_ins where person = ?", row[0])
        return self.person(str(row[0])), is_new

    def _now(self) -> int:
        return int(self._clock())


@lru_cache(maxsize=1024)
def _person(row: tuple[Any, ...], *, may: str | None = None, token: str | None = None) -> Person:
    role = Role(row[2])
    rights = RIGHTS[role] if may is None else RIGHTS[role] & {Right(one) for one in may.split()}
    return Person(id=row[0], name=row[1], role=role, disabled=bool(row[3]), rights=rights, token=token)
