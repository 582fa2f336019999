"""Identity tokens of OpenID Connect: signature, audience and times. Built on joserfc.

Signatures are RSA or elliptic curves with keys that the provider publishes: "none" and keyed hashes are not on the
list, so that a public key can never be taken for a shared secret; a key inside a token is ignored.
"""

import hmac
from collections.abc import Mapping
from typing import Any, Final

from joserfc import jwt
from joserfc.errors import InvalidKeyIdError, JoseError
from joserfc.jwk import ECKey, KeySet, RSAKey

ALGORITHMS: Final = ("RS256", "PS256", "ES256")
LEEWAY: Final = 60
_LEAST_BYTES: Final = 256
_LONGEST_SUBJECT: Final = 255


class BadTokenError(Exception):
    """A token that proves nothing, and why; for the custodian's log, never for a page."""


class UnknownKeyError(BadTokenError):
    """A token that names a key which is not known: the provider may have a new one."""


def keys_of(published: Mapping[str, Any]) -> KeySet:
    """Return the keys that a provider signs with, of all that it publishes; weak ones, and all others, are left out."""
    entries = published.get("keys")
    signing = [one for one in (entries if isinstance(entries, list) else ()) if isinstance(one, dict) and _is_good(one)]
    try:
        keys: list[Any] = [RSAKey.import_key(one) if one["kty"] == "RSA" else ECKey.import_key(one) for one in signing]
    except (JoseError, ValueError, TypeError, KeyError) as wrong:
        raise BadTokenError(f"the keys of the provider cannot be read ({type(wrong).__name__})") from None
    if not keys:
        raise BadTokenError("the provider publishes no key that may be used")
    return KeySet(keys)


def _is_good(key: Mapping[str, Any]) -> bool:
    """Say whether a key is public, for signatures, and long enough: RSA with 2,048 bits or more, or a curve."""
    if key.get("use", "sig") != "sig":
        return False
    return key.get("kty") == "EC" or (key.get("kty") == "RSA" and len(str(key.get("n"))) * 3 // 4 >= _LEAST_BYTES)


def claims_of(token: str, keys: KeySet, *, issuer: str, client: str, nonce: str) -> dict[str, Any]:
    """Return the claims of a token, if its signature, issuer, audience, times and nonce are right."""
    times = jwt.JWTClaimsRegistry(leeway=LEEWAY, exp={"essential": True}, iat={"essential": True})
    try:
        claims = jwt.decode(token, keys, algorithms=ALGORITHMS).claims
        times.validate(claims)
    except InvalidKeyIdError:
        raise UnknownKeyError("it is signed with a key that is not known") from None
    except (JoseError, ValueError, TypeError, RecursionError) as wrong:
        raise BadTokenError(f"it does not hold: {type(wrong).__name__}") from None
    if claims.get("iss") != issuer:
        raise BadTokenError("it is from another provider")
    _require_for(claims, client)
    said = claims.get("nonce")
    if not isinstance(said, str) or not hmac.compare_digest(said.encode(), nonce.encode()):
        raise BadTokenError("it answers another sign-in")
    subject = claims.get("sub")
    if not isinstance(subject, str) or not 0 < len(subject) <= _LONGEST_SUBJECT or not subject.isprintable():
        raise BadTokenError("it is about nobody")
    return dict(claims)


def _require_for(claims: Mapping[str, Any], client: str) -> None:
    """Refuse a token for another audience, or for several where we are not the authorized party."""
    meant = claims.get("aud")
    audience = [meant] if isinstance(meant, str) else meant
    if not isinstance(audience, list) or client not in audience:
        raise BadTokenError("it is meant for another")
    asked_by = claims.get("azp", client if len(audience) == 1 else None)
    if asked_by != client:
        raise BadTokenError("it was made for another")
