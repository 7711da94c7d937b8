"""Delays guesses at passwords: of an account from an address, of an account, from an address.

The strictest row counts an account's guesses from one address, so that a stranger who guesses
delays himself. Guesses from everywhere delay an account too, but not at an address where somebody
has signed in to it before: nobody can keep its owner out. The address's row counts right passwords
as well, because to check one takes 0.4 s of the server.
"""

from __future__ import annotations

import math
import unicodedata

from chatsite.errors import TooMany
from chatsite.limits.limiter import COUNTED, Limiter
from chatsite.limits.table import ACCOUNT_GUESSES, GUESSES, PASSWORDS
from chatsite.wording import say, say_count

SIGNED_IN = "signed in"
# How long servers remember it together; one alone, until it ends.
KNOWN_SECONDS = 30 * 24 * 3600.0


class SignIns:
    """Counts every password before it is checked, and gives it back where it was right: of many
    guesses at the same time as few pass as one after the other."""

    def __init__(self, limiter: Limiter) -> None:
        self._limiter = limiter
        # Accounts and addresses at which somebody has signed in; a dictionary keeps their order.
        # Servers that share their limits share this too.
        self._known: dict[str, None] = {}

    async def begin(self, name: str, address: str) -> None:
        """Count a password before it is checked. Raises TooMany; nothing is counted then."""
        account, pair = _keys(name, address)
        if seconds := await self._limiter.wait(GUESSES, person=pair):
            raise _too_many_guesses(seconds)
        signed_in_before = await self._known_for(pair)
        if not signed_in_before:
            seconds = await self._limiter.wait(ACCOUNT_GUESSES, person=account)
        if not seconds:
            seconds = await self._limiter.wait(PASSWORDS, address=address)
            if seconds and not signed_in_before:
                await self._limiter.give_back(ACCOUNT_GUESSES, person=account)
        if seconds:
            await self._limiter.give_back(GUESSES, person=pair)
            raise _too_many_guesses(seconds)

    async def succeeded(self, name: str, address: str) -> None:
        """Give a right password back, and the wrong ones before it."""
        account, pair = _keys(name, address)
        await self._limiter.give_back(GUESSES, person=pair, amount=math.inf)
        known = await self._known_for(pair)
        if not known:
            await self._limiter.give_back(ACCOUNT_GUESSES, person=account)
        if self._limiter.shared is not None:
            await self._limiter.shared({(SIGNED_IN, pair): KNOWN_SECONDS - known}, KNOWN_SECONDS)
            return
        self._known[pair] = None
        if len(self._known) > COUNTED:
            del self._known[next(iter(self._known))]

    async def _known_for(self, pair: str) -> float:
        """For how many seconds it is still known that somebody has signed in to the account at the
        address; 0.0 where it isn't."""
        if self._limiter.shared is None:
            return math.inf if pair in self._known else 0.0
        _, ahead = await self._limiter.shared({(SIGNED_IN, pair): 0.0}, KNOWN_SECONDS)
        return max(*ahead, 0.0)

    async def begin_new(self, address: str) -> None:
        """Count a password before it is hashed for a new account. Raises TooMany."""
        if seconds := await self._limiter.wait(PASSWORDS, address=address):
            raise _too_many(say("Too many accounts were asked for. None was made."), seconds)


def _keys(name: str, address: str) -> tuple[str, str]:
    """Return the keys of the account, and of the account at the address."""
    account = unicodedata.normalize("NFKC", name).casefold()
    return account, f"{account} at {address}"


def _too_many_guesses(seconds: float) -> TooMany:
    return _too_many(say("There were too many wrong passwords. This one wasn't checked."), seconds)


def _too_many(what: str, seconds: float) -> TooMany:
    whole = math.ceil(seconds)
    again = say_count("Try again in {count} second.", "Try again in {count} seconds.", whole)
    return TooMany(f"{what} {again}", seconds=whole)
