"""Rate limits on passwords, so that nobody guesses one, and nobody keeps somebody else from signing in.

Guesses are counted where they come from: by address, and by name within a network. A try that is refused by address
takes nothing from a name, a name that is tried from one network is as free as before in all others, and a browser in
which somebody signed in before has tries of its own. Names that are made up share a few places of their network,
and so push no other count out.
"""

import ipaddress
from collections.abc import Callable
from hashlib import sha256
from typing import Final, TypeAlias

from lapwing.doors.server.rates import Rate, RateLimit

_PLACES: Final = 256
"""Names of one network that are counted apart."""
_MOST_NAMES, _MOST_PLACES = 10_000, 100_000
_WHOLE_NETWORK: Final = 4
"""The rate of a name in a network, in multiples of that of an address: one neighbour cannot use it up."""
NEAR: Final = {4: 32, 6: 64}
_AROUND: Final = {4: 24, 6: 48}
"""The bits of an address that one subscriber has, and those of the network around it, by the version of IP."""


MakeBuckets: TypeAlias = Callable[[str, Rate, int], RateLimit]
"""What makes the buckets of a kind of tries, with a rate, for at most so many names."""


class SignInLimits:
    """Rate limits on tries with a password: of addresses, of names in their networks, and of known browsers."""

    def __init__(self, rate: Rate, make: MakeBuckets) -> None:
        several = Rate(burst=rate.burst * _WHOLE_NETWORK, a_second=rate.a_second * _WHOLE_NETWORK)
        self._addresses = make("sign-in from", rate, _MOST_NAMES)
        self._browsers = make("sign-in in", rate, _MOST_NAMES)
        self._names = make("sign-in as", several, _MOST_PLACES)

    def wait(self, address: str, *, name: str = "", browser: str = "") -> float:
        """Take one try and return 0, or return in how many seconds there will be one.

        `name` is who is tried, if somebody is, and `browser` what the browser is known by, if they signed in there.
        """
        if browser:
            return self._browsers.take(browser)
        if wait := self._addresses.take(network_of(address, NEAR)):
            return wait
        return self._names.take(self._place(address, name)) if name else 0.0

    def give_back(self, address: str, *, name: str, browser: str = "") -> None:
        """Give back the try of a successful sign-in: it was no guess."""
        if browser:
            self._browsers.give_back(browser)
        else:
            self._addresses.give_back(network_of(address, NEAR))
            self._names.give_back(self._place(address, name))

    def _place(self, address: str, name: str) -> str:
        """Return the bucket of a name in its network, the same at every process."""
        place = int.from_bytes(sha256(name.encode("utf-8", "replace")).digest()[:4]) % _PLACES
        return f"{network_of(address, _AROUND)} {place}"


def network_of(address: str, bits: dict[int, int]) -> str:
    """Return the network of an address, of so many bits for each version of IP.

    >>> network_of("192.0.2.77", {4: 24, 6: 48}), network_of("2001:db8:1:2::3", {4: 24, 6: 48}), network_of("x", {})
    ('192.0.2.0/24', '2001:db8:1::/48', 'x')
    >>> network_of("::ffff:192.0.2.77", {4: 32, 6: 64})
    '192.0.2.77/32'
    """
    try:
        found = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return address
    if isinstance(found, ipaddress.IPv6Address) and found.ipv4_mapped is not None:
        found = found.ipv4_mapped
    return str(ipaddress.ip_network((found, bits[found.version]), strict=False))
