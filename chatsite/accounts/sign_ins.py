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


class SignIns:
    """Counts every password before it is checked, and gives it back where it was right: of many
    guesses at the same time as few pass as one after the other."""

    def __init__(self, limiter: Limiter) -> None:
        self._limiter = limiter
        # Accounts and addresses at which somebody has signed in; a dictionary keeps their order.
        self._known: dict[tuple[str, str], None] = {}

    def begin(self, name: str, address: str) -> None:
        """Count a password before it is checked. Raises TooMany; nothing is counted then."""
        account, pair = _keys(name, address)
        if seconds := self._limiter.wait(GUESSES, person=pair):
            raise _too_many_guesses(seconds)
        signed_in_before = (account, address) in self._known
        seconds = 0.0 if signed_in_before else self._limiter.wait(ACCOUNT_GUESSES, person=account)
        if not seconds:
            seconds = self._limiter.wait(PASSWORDS, address=address)
            if seconds and not signed_in_before:
                self._limiter.give_back(ACCOUNT_GUESSES, person=account)
        if seconds:
            self._limiter.give_back(GUESSES, person=pair)
            raise _too_many_guesses(seconds)

    def succeeded(self, name: str, address: str) -> None:
        """Give a right password back, and the wrong ones before it."""
        account, pair = _keys(name, address)
        self._limiter.give_back(GUESSES, person=pair, amount=math.inf)
        if (account, address) not in self._known:
            self._limiter.give_back(ACCOUNT_GUESSES, person=account)
        self._known[(account, address)] = None
        if len(self._known) > COUNTED:
            del self._known[next(iter(self._known))]

    def begin_new(self, address: str) -> None:
        """Count a password before it is hashed for a new account. Raises TooMany."""
        if seconds := self._limiter.wait(PASSWORDS, address=address):
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
